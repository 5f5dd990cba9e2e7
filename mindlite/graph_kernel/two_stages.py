"""A reduction of everything to one number in two stages, so that threads can share it and it fuses with work on rows.

    %s = reduce_sum(%x : f32[4096, 1024])     ->     %r = reduce_sum(%x; axis=1);  %s = reduce_sum(%r)
    %s = reduce_sum(%x : f32[1000000])        ->     rows of 4096 of its first 999424 elements, and the 576 that are left

The stages depend on the sizes, not on the number of threads, and so does the result.
"""
from ..common.dim import product
from ..common.location import Origin
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import building
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph, ValueNode
from ..ops.arithmetic import add, maximum, minimum
from ..ops.basic import reduce_sum, reshape
from ..ops.logic import logical_and, logical_or
from ..ops.reduction import reduce_all, reduce_any, reduce_max, reduce_min
from ..ops.slicing import slice_

_TOGETHER = {reduce_sum: add, reduce_max: maximum, reduce_min: minimum, reduce_any: logical_or, reduce_all: logical_and}


def in_two_stages(graph, target):
    """A copy of `graph` whose large reductions of everything have two stages; `graph` itself where there is none.

    Graphs in attributes stay as they are.
    """
    if not any(_leading(node, target) is not None for node in graph.nodes):
        return graph
    made = FuncGraph(graph.name, graph.origin, graph.kind)
    made.signature = graph.signature
    env: dict = {p: made.add_parameter(p.name, p.abstract, p.origin, p.default) for p in graph.parameters}

    def read(arg):
        return arg if isinstance(arg, ValueNode) else env[arg]
    for node in graph.nodes:
        leading = _leading(node, target)
        if leading is None:
            env[node] = made.add_copy(node, [read(a) for a in node.args])
            continue
        with building(made, Origin(node.origin.location, node, "two stages")):
            env[node] = _write(node, read(node.args[0]), leading, target.stage_row)
    made.set_outputs([read(o) for o in graph.outputs], make_tuple)
    return made


def _leading(node, target):
    """How many leading axes the first stage keeps, 0 for a vector; None for a node that stays as it is."""
    if node.fn not in _TOGETHER or not isinstance(node.args[0].abstract, AbstractTensor):
        return None
    shape, dtype = node.args[0].abstract.shape, node.args[0].abstract.dtype
    if len(node.attrs["axis"]) < len(shape) or not all(isinstance(s, int) for s in shape) or \
            product(shape) < target.stages_from or (dtype.kind == "f" and dtype.itemsize < 4) or dtype.kind == "c":
        return None
    if len(shape) == 1:
        return 0
    return next((k for least in target.stage_rows for k in range(1, len(shape)) if product(shape[:k]) >= least), None)


def _write(node, x, leading, row):
    """The two stages of `node`, of the operand x; a vector in rows of `row`."""
    fn, keepdims, rank = node.fn, node.attrs["keepdims"], len(x.abstract.shape)
    if leading:
        rows = fn(x, axis=tuple(range(leading, rank)), keepdims=keepdims)
        return fn(rows, axis=tuple(range(len(rows.abstract.shape))), keepdims=keepdims)
    count = x.abstract.shape[0]
    whole = count // row * row
    front = reshape(slice_(x, start=(0,), sizes=(whole,), step=(1,)), shape=(whole // row, row))
    out = fn(fn(front, axis=(1,), keepdims=False), axis=(0,), keepdims=keepdims)
    if whole < count:
        rest = slice_(x, start=(whole,), sizes=(count - whole,), step=(1,))
        out = _TOGETHER[fn](out, fn(rest, axis=(0,), keepdims=keepdims))
    return out
