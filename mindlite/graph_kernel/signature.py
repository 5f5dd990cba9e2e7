"""What tells fused graphs apart: operators, attributes, types, who reads whom.

A network repeats its layers. Equal clusters are judged once (`cluster`) and written, scheduled and compiled once (`lower`).
"""
import numpy as np


def signature(graph, texts=None):
    """A hashable value that two fused graphs share if and only if they are the same up to the names of their nodes.

    texts : {id of a constant or of attributes: its text}, filled as it goes; for a caller who asks often and keeps them alive
    """
    texts = {} if texts is None else texts
    number = {id(n): k for k, n in enumerate([*graph.parameters, *graph.nodes])}

    def source(arg):
        return number[id(arg)] if id(arg) in number else constant_text(arg, texts)
    return (tuple(p.abstract for p in graph.parameters),
            tuple((n.fn, attributes_text(n, texts), n.abstract, *map(source, n.args)) for n in graph.nodes),
            tuple(map(source, graph.outputs)))


def constant_text(node, texts):
    """What tells a constant apart."""
    if id(node) not in texts:
        array = np.asarray(node.value)
        bits = repr(node.value) if array.dtype.hasobject else array.tobytes()
        texts[id(node)] = node.abstract, type(node.value), bits
    return texts[id(node)]


def attributes_text(node, texts):
    """What tells the attributes of a node apart."""
    if not node.attrs:
        return ""
    if id(node.attrs) not in texts:
        texts[id(node.attrs)] = repr(sorted(node.attrs.items()))
    return texts[id(node.attrs)]
