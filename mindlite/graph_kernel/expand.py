"""Composites in smaller operators, so that they fuse with what stands around them: softmax, gelu, layer_norm, adam.

    %1 = log_softmax(%x; axis=1)     ->     %1 = reduce_max(%x); %2 = sub(%x, %1); %3 = exp(%2); ..
"""
from ..common.location import Origin
from ..mindir.builder import building, constant
from ..mindir.constraints import collecting
from ..mindir.control import custom_vjp, gate, port
from ..mindir.graph import FuncGraph
from ..mindir.inline import copy_graph, copy_nodes, inline
from ..mindir.primitive import expand_rule, kernel_rule
from ..ops.rank_program import in_stages


GRADIENTS = {custom_vjp, gate, port}                # they say what the gradient is, which has been made


def expand_composites(graph, stays=None):
    """`graph` without operators that have an expand rule and no kernel rule, and without custom
    gradients and hooks that are no longer needed; also in the graphs below it.

    stays : node -> is it one operator to the Target, which has a library kernel for it?
    """
    return _expand(graph, {}, stays or (lambda node: False))


def drop_gradients(graph):
    """`graph` with what custom gradients and hooks are of, in their places; the same graph without any. Composites stay."""
    return expand_composites(graph, lambda node: True)


def expand_stages(graph):
    """`graph` with schedules in place of those `in_stages` whose ranks have the same rows, so that they may split the operators
    of a stage; the same graph without any. The others stay closed: their values differ between ranks."""
    found = {node for node in graph.nodes if node.fn is in_stages and node.attrs["schedule"].same_rows}
    return copy_graph(graph, emit=lambda target, node, args: _by_rule(target, node, args) if node in found else None) \
        if found else graph


def _expand(graph, done, stays):
    if graph in done:
        return done[graph]
    if not any(is_composite(node) and not stays(node) or node.fn in GRADIENTS for below in graph.reachable()
               for node in below.nodes):
        done[graph] = graph
        return graph
    done[graph] = FuncGraph(graph.name, graph.origin)
    return copy_graph(graph, emit=lambda target, node, args: _emit(target, node, args, done, stays), into=done[graph])


def _emit(target, node, args, done, stays):
    """What becomes of a node, a tuple for several results."""
    if is_composite(node) and not stays(node):
        return _write(target, node, args, done, stays)
    if node.fn is custom_vjp:
        return tuple(inline(target, _expand(node.attrs["graph"], done, stays), args))
    if node.fn is gate:
        return tuple(args[:node.attrs["count"]])
    if node.fn is port:
        return *args, constant(False)
    attrs = {k: _expand(v, done, stays) if isinstance(v, FuncGraph) else v for k, v in node.attrs.items()}
    return target.add_copy(node, args, attrs=attrs)


def is_composite(node):
    """True for an operator that `expand_composites` writes in smaller ones."""
    return node.fn in expand_rule and node.fn not in kernel_rule


def _by_rule(target, node, args):
    """Append the expansion; a node, or a tuple of nodes.

    What the composite demands of open sizes was collected when it was inferred. Its parts may demand more than it does
    (softmax takes an empty axis, the maximum inside does not); such demands are void.
    """
    with collecting(), building(target, Origin(node.origin.location, node, "expand")) as builder:
        out = expand_rule[node.fn](*args, **node.attrs)
        return tuple(map(builder.lift, out)) if isinstance(out, tuple) else builder.lift(out)


def _write(target, node, args, done, stays):
    """The same; composites made of composites are expanded too."""
    start = len(target.nodes)
    out = _by_rule(target, node, args)
    inner = target.nodes[start:]
    if any(is_composite(n) for n in inner):
        del target.nodes[start:]
        env: dict = {}
        copy_nodes(target, inner, env, lambda target, node, args: _emit(target, node, args, done, stays))
        return tuple([env.get(r, r) for r in out]) if isinstance(out, tuple) else env.get(out, out)
    return out
