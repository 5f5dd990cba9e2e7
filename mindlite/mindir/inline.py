"""Copying typed graphs: into another graph (inlining), or node by node through a function (the frame of most passes)."""
from ..common.location import Origin
from .control import make_tuple
from .graph import FuncGraph, CNode, ValueNode


def inline(target, graph, args, by=""):
    """Append copies of `graph`'s nodes to `target`, its parameters being `args`; returns the nodes of its outputs.

    Nested graphs in attributes are shared, not copied: typed graphs are closed, and passes make new ones.
    """
    env = dict(zip(graph.parameters, args))
    for node in graph.nodes:
        origin = Origin(node.origin.location, node, by) if by else node.origin
        copy = CNode(target, node.fn, [_read(env, a) for a in node.args], node.attrs, node.abstract, origin)
        target.nodes.append(copy)
        env[node] = copy
    return [_read(env, output) for output in graph.outputs]


def _read(env, node):
    return node if isinstance(node, ValueNode) else env[node]


def copy_graph(graph, name=None, emit=None):
    """A copy of a typed graph. emit(target, node, args) -> node may replace a node (None keeps it as it is)."""
    target = FuncGraph(name or graph.name, graph.origin)
    env = {}
    for p in graph.parameters:
        env[p] = target.add_parameter(p.name, p.abstract, p.origin, p.default)
    for node in graph.nodes:
        args = [_read(env, a) for a in node.args]
        made = emit(target, node, args) if emit else None
        if made is None:
            made = CNode(target, node.fn, args, node.attrs, node.abstract, node.origin)
            target.nodes.append(made)
        env[node] = made
    target.set_outputs([_read(env, output) for output in graph.outputs], make_tuple)
    return target


def drop_dead_nodes(graph, keep=None):
    """Remove, in place, the nodes of a typed graph that no output needs; nodes with an effect stay. Returns the graph.

    keep: a function of a node that is true where it must stay, instead of "its primitive has the trait effect"
    """
    keep = keep or (lambda node: "effect" in node.fn.traits)
    used = set(graph.outputs)
    live = []
    for node in reversed(graph.nodes):
        if node in used or keep(node):
            used.update(node.args)
            live.append(node)
    graph.nodes[:] = reversed(live)
    return graph
