"""Collectives as functions, as MindSpore's `communication.comm_func`. They are the operators of `ops.collectives`: they have
gradients and run in graphs, too, where the handle of a call that need not be waited for is a Python object and stays outside.

    all_reduce(x)  ->  (sum over the ranks, None)          all_reduce(x, async_op=True)  ->  (sum, a handle with wait())

The sum of the second call may be read after wait(): it travels while the program goes on.
"""
import math

import numpy as np

from ..common.errors import ArgumentError, ShapeError
from ..common.ranks import WORLD, Pending, engine
from ..common.tensor import Tensor
from ..common.threads import here
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import eval_rule, infer_rule, is_interpreting
from ..ops import collectives, concat
from ..ops.collectives import ReduceOp

__all__ = ["CommHandle", "P2POp", "ReduceOp", "all_gather_into_tensor", "all_reduce", "all_to_all_single_with_output_shape",
           "all_to_all_with_output_shape", "barrier", "batch_isend_irecv", "broadcast", "gather_into_tensor", "irecv", "isend",
           "recv", "reduce", "reduce_scatter_tensor", "scatter_tensor", "send"]


class CommHandle:
    """What a call that need not be waited for gives; without `pending` the call is complete when it returns."""

    def __init__(self, pending: Pending | None = None) -> None:
        self.pending = pending

    def wait(self):
        """Wait until it is complete: what it has given may be read then. raises : RankError"""
        if self.pending is not None:
            self.pending.wait()

    def is_completed(self):
        """True once it is complete."""
        return self.pending is None or self.pending.over.is_set()


def _with_handle(value, async_op):
    return value, CommHandle() if async_op else None


def _called(operator, tensor, async_op, **attrs):
    """(what a collective gives, a handle or None). In eager mode, where no gradient is recorded, an async_op runs beside the
    program."""
    plain = isinstance(tensor, Tensor) and isinstance(tensor.elements, np.ndarray)
    if not async_op or not plain or is_interpreting() or here.state.tapes:
        return _with_handle(operator(tensor, **attrs), async_op)
    array, (_, attrs) = np.array(tensor.elements, order="C"), operator.prepared((tensor,), attrs)
    abstract = infer_rule[operator](AbstractTensor(tensor.dtype, tuple(tensor.shape)), **attrs)
    out, run = np.empty(abstract.shape, abstract.dtype.numpy), eval_rule[operator]

    def fill():
        out[...] = run(array, **attrs)
    return Tensor.wrap(out), CommHandle(engine().begin(fill))


def all_reduce(tensor, op=ReduceOp.SUM, group=WORLD, async_op=False):
    """(the fold of all ranks' tensors, a handle or None). raises : RankError"""
    return _called(collectives.all_reduce, tensor, async_op, reduction=op, group=group)


def all_gather_into_tensor(tensor, group=WORLD, async_op=False):
    """(all ranks' tensors along axis 0, a handle or None). raises : RankError"""
    return _called(collectives.all_gather, tensor, async_op, axis=0, group=group, sizes=None, place=None)


def reduce_scatter_tensor(tensor, op=ReduceOp.SUM, group=WORLD, async_op=False):
    """(this rank's part along axis 0 of the fold, a handle or None). raises : ShapeError, RankError"""
    return _called(collectives.reduce_scatter, tensor, async_op, reduction=op, axis=0, group=group, sizes=None, place=None)


def reduce(tensor, dst, op=ReduceOp.SUM, group=WORLD):
    """The fold on rank dst, zeros on the others."""
    return collectives.reduce_to(tensor, reduction=op, root=dst, group=group)


def broadcast(tensor, src=0, group=WORLD):
    """The tensor of rank src."""
    return collectives.broadcast_from(tensor, root=src, group=group)


def gather_into_tensor(tensor, dst=0, group=WORLD):
    """All ranks' tensors along axis 0 on rank dst, zeros of that shape on the others."""
    gathered = collectives.all_gather(tensor, group=group)
    return gathered if engine().place(group) == dst else gathered * 0


def scatter_tensor(tensor, src=0, group=WORLD):
    """This rank's part along axis 0 of the tensor of rank src. raises : ShapeError if the parts are not even"""
    return collectives.reduce_scatter(tensor if engine().place(group) == src else tensor * 0, group=group)


def barrier(group=WORLD):
    """Wait until all ranks are here."""
    collectives.synchronise(group=group)


def send(tensor, dst=0, group=WORLD, tag=0):
    """Send to a rank, which calls recv."""
    collectives.send(tensor, to=dst, tag=tag, group=group)


def recv(tensor, src=0, group=WORLD, tag=0):
    """What rank src has sent: of the shape and dtype of `tensor`."""
    return collectives.receive(shape=tuple(tensor.shape), dtype=tensor.dtype, source=src, tag=tag, group=group)


def isend(tensor, dst=0, group=WORLD, tag=0):
    """send, and a handle."""
    send(tensor, dst, group, tag)
    return CommHandle()


def irecv(tensor, src=0, group=WORLD, tag=0):
    """(what rank src has sent, a handle)."""
    return recv(tensor, src, group, tag), CommHandle()


class P2POp:
    """One sending or receiving of `batch_isend_irecv`. op: "isend" or "irecv", or these functions; peer: the other rank.

    raises : ArgumentError for another op
    """

    def __init__(self, op, tensor, peer, group=WORLD, tag=0, recv_dtype=None):
        name = op if isinstance(op, str) else getattr(op, "__name__", "")
        if name not in ("isend", "irecv"):
            raise ArgumentError(f"P2POp: op is isend or irecv, not {op!r}")
        if not isinstance(tensor, Tensor) and name == "isend":
            raise ArgumentError(f"P2POp: a Tensor is sent, not {type(tensor).__name__}")
        self.op, self.tensor, self.peer, self.group, self.tag = name, tensor, peer, group, tag
        self.shape = tuple(tensor.shape) if isinstance(tensor, Tensor) else tuple(tensor)
        self.dtype = recv_dtype or getattr(tensor, "dtype", None)


def batch_isend_irecv(p2p_op_list):
    """What came, in order of the irecv's; for an isend its own tensor. Sendings go first, by the lower rank of each pair, so no
    two wait for each other."""
    order = sorted(range(len(p2p_op_list)), key=lambda i: (
        min(p2p_op_list[i].peer, engine().place(p2p_op_list[i].group)),
        max(p2p_op_list[i].peer, engine().place(p2p_op_list[i].group)),
        (p2p_op_list[i].op == "irecv") == (engine().place(p2p_op_list[i].group) < p2p_op_list[i].peer), i))
    results = [op.tensor for op in p2p_op_list]
    for i in order:
        op = p2p_op_list[i]
        if op.op == "isend":
            send(op.tensor, op.peer, op.group, op.tag)
        else:
            results[i] = collectives.receive(shape=op.shape, dtype=op.dtype, source=op.peer, tag=op.tag, group=op.group)
    return tuple(results)


def all_to_all_with_output_shape(output_shape_list, input_tensor_list, group=WORLD, async_op=False):
    """(the tuple of what each rank has for this one, a handle or None): tensor r of the list goes to rank r.

    raises : ShapeError where a list is not as long as the group
    """
    count = len(engine().members(group))
    if len(output_shape_list) != count or len(input_tensor_list) != count:
        raise ShapeError(f"all_to_all: {len(input_tensor_list)} tensors and {len(output_shape_list)} shapes for {count} ranks")
    shapes = [tuple(s.shape) if isinstance(s, Tensor) else tuple(s) for s in output_shape_list]
    flat, sizes = [x.reshape(-1) for x in input_tensor_list], [math.prod(shape) for shape in shapes]
    gathered = collectives.all_to_all(concat(flat), split_axis=0, gather_axis=0, group=group,
                                      splits=tuple([x.shape[0] for x in flat]), gathers=tuple(sizes))
    ends = [sum(sizes[:i + 1]) for i in range(count)]
    return _with_handle(tuple([gathered[end - size:end].reshape(shape) for size, end, shape in zip(sizes, ends, shapes)]),
                        async_op)


def all_to_all_single_with_output_shape(output_shape, tensor, output_split_sizes=None, input_split_sizes=None, group=WORLD,
                                        async_op=False):
    """(the parts along axis 0 that the ranks have for this one, one after the other; a handle or None).

    output_shape : of the result, or a Tensor of that shape
    input_split_sizes, output_split_sizes: sizes of the parts that go and come; even ones by default
    raises       : ShapeError
    """
    shape = tuple(output_shape.shape) if isinstance(output_shape, Tensor) else tuple(output_shape)
    count = len(engine().members(group))
    goes = list(input_split_sizes or [tensor.shape[0] // count] * count)
    comes = list(output_split_sizes or [shape[0] // count] * count)
    result = collectives.all_to_all(tensor, split_axis=0, gather_axis=0, group=group, splits=tuple(goes), gathers=tuple(comes))
    if tuple(result.shape) != shape:
        raise ShapeError(f"all_to_all: {list(result.shape)} comes, and {list(shape)} is wanted")
    return _with_handle(result, async_op)
