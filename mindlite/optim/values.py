"""Passes over values: constants are computed, equal nodes merged, dead ones dropped, calls inlined."""
from operator import itemgetter

import numpy as np

from ..common.dim import Dim
from ..common.errors import MindliteError
from ..mindir.abstract import AbstractScalar, AbstractTensor, symbols_of_abstract
from ..mindir.builder import constant
from ..mindir.control import call, cond, make_tuple, tuple_getitem
from ..mindir.graph import ValueNode
from ..mindir.inline import drop_dead_nodes, inline
from ..mindir.primitive import current_interpreter, eval_rule
from .rewrite import rebuild

UNFOLDED = {"effect", "random", "control", "tape", "dynamic", "composite"}
UNSHARED = {"effect", "random", "tape", "dynamic"}


def inline_calls(graph):
    """Leaves no call of a graph that does not call itself, and that has the sizes of its operands and results."""
    recursive = {node.attrs["graph"] for node in graph.nodes if node.fn is call and _calls_itself(node.attrs["graph"])}

    def visit(node):
        if node.attrs["graph"] in recursive or not _is_sized_alike(node, node.attrs["graph"], node.args):
            return None
        return inline(current_interpreter().graph, node.attrs["graph"], node.args)
    return rebuild(graph, visit, {call})


def _is_sized_alike(node, graph, operands):
    """True if the Symbols in a graph's types are those around the node that runs it: what is inlined binds no others."""
    pairs = [*zip(graph.parameters, operands), *zip(node.abstract.elements, graph.outputs)]
    return all(inside == outside or not symbols_of_abstract(inside) for inside, outside in [
        (getattr(a, "abstract", a), b.abstract) for a, b in pairs])


def _calls_itself(graph):
    return any(graph in below.reachable() for below in graph.subgraphs())


def fold_constants(graph):
    """Leaves no operator of constants only, unless its result is larger than they are, and no cond on a constant.

    What is random, has an effect or would raise is left for the run.
    """
    def visit(node):
        if node.fn is cond and isinstance(node.args[0], ValueNode) and not isinstance(node.args[0].value, Dim):
            side, operands = node.attrs["true" if bool(node.args[0].value) else "false"], node.args[1:]
            return inline(current_interpreter().graph, side, operands) if _is_sized_alike(node, side, operands) else None
        if not node.args or node.fn not in eval_rule or node.fn.traits & UNFOLDED:
            return None
        if not all(_is_known(x) for x in node.args) or _has_dims(tuple(node.attrs.values())) or not _is_small(node):
            return None
        try:
            value = eval_rule[node.fn](*[a.value for a in node.args], **node.attrs)
        except (MindliteError, ArithmeticError, ValueError):
            return None                                   # the error belongs to the run, if the node is reached at all
        if isinstance(node.abstract, AbstractScalar):
            fits = type(value) is node.abstract.type and (type(value) is not int or -1 << 63 <= value < 1 << 63)
            return ValueNode(value, node.abstract, node.origin) if fits else None
        made = constant(np.asarray(value))
        return made if made.abstract == node.abstract else None
    return rebuild(graph, visit)


def _is_known(node):
    return isinstance(node, ValueNode) and not isinstance(node.value, Dim)


def _is_small(node):
    if isinstance(node.abstract, AbstractScalar):
        return True
    return isinstance(node.abstract, AbstractTensor) and isinstance(node.size, int) and \
        node.size <= max(np.size(a.value) for a in node.args)


def _has_dims(value):
    return isinstance(value, Dim) or (isinstance(value, tuple) and any(_has_dims(x) for x in value))


def merge_equal_nodes(graph):
    """Leaves no two nodes with the same operator, operands and attributes (common subexpression elimination)."""
    seen: dict = {}

    def visit(node):
        if node.fn.traits & UNSHARED or ("control" in node.fn.traits and node.fn not in (tuple_getitem, make_tuple)):
            return None
        attrs = tuple(sorted(node.attrs.items(), key=itemgetter(0)))
        key = node.fn, tuple([_identity(a) for a in node.args]), attrs, node.abstract
        try:
            hash(key)
        except TypeError:                                 # an attribute that has no hash: a node of its own
            return None
        earlier = seen.setdefault(key, node)
        return earlier if earlier is not node else None
    return rebuild(graph, visit)


def _identity(node):
    """Equal for equal constants; otherwise the node itself."""
    if isinstance(node, ValueNode):
        value = node.value
        if isinstance(value, np.ndarray):
            return (value.dtype.str, value.shape, value.tobytes()) if value.size <= 64 else id(value)
        return type(value), repr(value) if isinstance(value, float) else value
    return node


def drop_dead(graph):
    """Leaves no node that neither an output nor an effect needs."""
    before = len(graph.nodes)
    return before - len(drop_dead_nodes(graph).nodes)
