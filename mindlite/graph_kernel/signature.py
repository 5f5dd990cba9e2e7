"""What tells fused graphs apart: operators, attributes, types, who reads whom.

A network repeats its layers. Equal clusters are judged once (`cluster`) and written, scheduled and compiled once (`lower`). Who
judges has made the loop nest that is written: it is kept until then.
"""
import numpy as np

from ..common.dim import Dim

KEPT = 1024
_nests: dict = {}                # {signature: a scheduled LoopNest of which no argument shares its memory}


def keep_nest(key, nest):
    """Keep the scheduled LoopNest of a fused graph. key: its signature"""
    if len(_nests) >= KEPT:
        _nests.clear()
    _nests[key] = nest


def take_nest(key, target):
    """The LoopNest that was kept, which is not kept any longer, if it was made for this Target; else None."""
    nest = _nests.pop(key, None)
    return nest if nest is not None and nest.target == target else None


def signature(graph, keys=None):
    """A hashable value that two fused graphs share if and only if they are the same up to the names of their nodes.

    keys : {id of a constant or of attributes: its key}, filled as it goes; for a caller who asks often and keeps them alive
    """
    keys = {} if keys is None else keys
    number = {id(n): k for k, n in enumerate([*graph.parameters, *graph.nodes])}

    def source(arg):
        return number[id(arg)] if id(arg) in number else constant_key(arg, keys)
    return (tuple(p.abstract for p in graph.parameters),
            tuple((n.fn, attributes_key(n, keys), n.abstract, *[source(x) for x in n.args]) for n in graph.nodes),
            tuple([source(x) for x in graph.outputs]))


def constant_key(node, keys):
    """What tells a constant apart."""
    if id(node) not in keys:
        array = np.asarray(node.value)
        bits = (repr(node.value), _sizes_in(node.value)) if array.dtype.hasobject else array.tobytes()
        keys[id(node)] = node.abstract, type(node.value), bits
    return keys[id(node)]


def attributes_key(node, keys):
    """What tells the attributes of a node apart."""
    if not node.attrs:
        return ""
    if id(node.attrs) not in keys:
        keys[id(node.attrs)] = repr(sorted(node.attrs.items())), _sizes_in([node.attrs[name] for name in sorted(node.attrs)])
    return keys[id(node.attrs)]


def _sizes_in(value):
    """The Dims in it, in order: their text does not tell Symbols of one name apart, and is a digest where it would be long."""
    if isinstance(value, (tuple, list)):
        return tuple([size for part in value for size in _sizes_in(part)])
    return (value,) if isinstance(value, Dim) else ()
