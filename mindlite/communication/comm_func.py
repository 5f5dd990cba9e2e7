"""Collectives as functions, as MindSpore's `communication.comm_func`. They are the operators of `ops.collectives`: they have
gradients and run in graphs, too, where the handle of a call that need not be waited for is a Python object and stays outside.

    all_reduce(x)  ->  (sum over the ranks, None)          all_reduce(x, async_op=True)  ->  (sum, a handle with wait())

The sum of the second call may be read after wait(): it travels while the program goes on.
"""
import math

import numpy as np

from ..common.checks import check_value_type
from ..common.errors import ArgumentError, ShapeError
from ..common.ranks import WORLD, Pending, engine
from ..common.tensor import Tensor
from ..common.threads import here
from ..mindir.abstract import AbstractTensor
from ..mindir.primitive import eval_rule, infer_rule, is_interpreting
from ..ops import assign, collectives, concat, zeros
from ..ops.collectives import ReduceOp
from ..ops.composed_collectives import fold_by, gather_to, scatter_from

__all__ = ["CommHandle", "P2POp", "ReduceOp", "all_gather_into_tensor", "all_reduce", "all_to_all_single_with_output_shape",
           "all_to_all_v_c", "all_to_all_with_output_shape", "barrier", "batch_isend_irecv", "broadcast", "gather_into_tensor",
           "irecv", "isend", "recv", "reduce", "reduce_scatter_tensor", "scatter_tensor", "send"]


class Arrival:
    """Of an array that this rank expects: fill(array) is called once, when it is waited for."""

    def __init__(self, expected, fill):
        self.expected, self.fill = expected, fill

    def wait(self):
        """Fill in what comes. raises : RankError"""
        if self.fill is not None:
            self.fill(self.expected.wait())
            self.fill = None

    def is_over(self):
        """True once it has come; it is filled in then."""
        if self.fill is not None and self.expected.is_over():
            self.wait()
        return self.fill is None


class CommHandle:
    """What a call that need not be waited for gives; without `pending` the call is complete when it returns."""

    def __init__(self, pending: Pending | Arrival | None = None) -> None:
        self.pending = pending

    def wait(self):
        """Wait until it is complete: what it has given may be read then. raises : RankError"""
        if self.pending is not None:
            self.pending.wait()

    def is_completed(self):
        """True once it is complete."""
        return self.pending is None or self.pending.is_over()


def _with_handle(value, async_op):
    return value, CommHandle() if async_op else None


def called(operator, tensor, async_op, **attrs):
    """(what a collective gives, a handle or None). In eager mode, where no gradient is recorded, an async_op runs beside the
    program. raises : what the operator says of these operands, before it begins"""
    check_value_type("async_op", async_op, bool, operator.name)
    if not async_op or not _is_plain(tensor) or here.state.tapes:
        return _with_handle(operator(tensor, **attrs), async_op)
    array, (_, attrs) = np.array(tensor.elements, order="C"), operator.prepared((tensor,), attrs)
    abstract = infer_rule[operator](AbstractTensor(tensor.dtype, tuple(tensor.shape)), **attrs)
    in_place = operator is collectives.all_reduce            # in the copy that is needed anyhow
    out = array if in_place else np.empty(abstract.shape, abstract.dtype.numpy)

    def fill():
        value = engine().all_reduce(out, **attrs, owned=True) if in_place else eval_rule[operator](array, **attrs)
        if value is not out:
            out[...] = value
    return Tensor.wrap(out), CommHandle(engine().begin(fill))


def fold_called(operator, tensor, op, group, async_op, **attrs):
    """`called` of one that folds; an avg is there when the call returns."""
    if op == ReduceOp.AVG:
        check_value_type("async_op", async_op, bool, operator.name)
        return _with_handle(fold_by(operator, tensor, op, group=group, **attrs), async_op)
    return called(operator, tensor, async_op, reduction=op, group=group, **attrs)


def when_there(collective, write):
    """write(value) of a (value, handle or None) that `called` has given, once the value is there; the handle for that."""
    value, handle = collective
    if handle is None or handle.pending is None:
        write(value)
        return handle
    return CommHandle(Arrival(handle.pending, lambda _: write(value)))


def all_reduce(tensor, op=ReduceOp.SUM, group=WORLD, async_op=False):
    """(the fold of all ranks' tensors, a handle or None). raises : RankError"""
    return fold_called(collectives.all_reduce, tensor, op, group, async_op)


def all_gather_into_tensor(tensor, group=WORLD, async_op=False):
    """(all ranks' tensors along axis 0, a handle or None). raises : RankError"""
    return called(collectives.all_gather, tensor, async_op, axis=0, group=group, sizes=None, place=None)


def reduce_scatter_tensor(tensor, op=ReduceOp.SUM, group=WORLD, async_op=False):
    """(this rank's part along axis 0 of the fold, a handle or None). raises : ShapeError, RankError"""
    return fold_called(collectives.reduce_scatter, tensor, op, group, async_op, axis=0, sizes=None, place=None)


def reduce(tensor, dst, op=ReduceOp.SUM, group=WORLD):
    """The fold on rank dst of the world, zeros on the others. raises : ValueRangeError if that is not in the group, RankError"""
    return fold_by(collectives.reduce_to, tensor, op, root=engine().place_of(dst, group), group=group)


def broadcast(tensor, src=0, group=WORLD):
    """The tensor of rank src of the world. raises : ValueRangeError if that is not in the group, RankError"""
    return collectives.broadcast_from(tensor, root=engine().place_of(src, group), group=group)


def gather_into_tensor(tensor, dst=0, group=WORLD):
    """All ranks' tensors along axis 0 on rank dst of the world, zeros of that shape on the others.

    raises : ShapeError where the tensors differ; ValueRangeError, RankError
    """
    root = engine().place_of(dst, group)
    gathered = gather_to(tensor, root=root, group=group)
    if engine().place(group) == root:
        return gathered
    return concat([gathered, zeros((tensor.shape[0] * len(engine().members(group)), *tensor.shape[1:]), dtype=tensor.dtype)])


def scatter_tensor(tensor, src=0, group=WORLD):
    """This rank's even part, along axis 0, of the tensor of rank src of the world; the others give one of its shape.

    raises : ShapeError if the parts are not even; ValueRangeError, RankError
    """
    return scatter_from(tensor, root=engine().place_of(src, group), group=group)


def barrier(group=WORLD):
    """Wait until all ranks are here."""
    collectives.synchronise(group=group)


def send(tensor, dst=0, group=WORLD, tag=0):
    """Send to rank dst of the world, which calls recv. raises : ValueRangeError if that is not in the group, or this rank"""
    collectives.send(tensor, to=engine().place_of(dst, group), tag=tag, group=group)


def recv(tensor, src=0, group=WORLD, tag=0):
    """What rank src of the world has sent: of the shape and dtype of `tensor`. raises : ValueRangeError as of send, RankError"""
    return collectives.receive(shape=tuple(tensor.shape), dtype=tensor.dtype, source=engine().place_of(src, group),
                               tag=tag, group=group)


def isend(tensor, dst=0, group=WORLD, tag=0):
    """send that goes on at once, and a handle; the tensor may change at once. raises : ValueRangeError as of send"""
    to = engine().place_of(dst, group)
    if _is_plain(tensor):
        _, attrs = collectives.send.prepared((tensor,), {"to": to, "tag": tag, "group": group})
        infer_rule[collectives.send](AbstractTensor(tensor.dtype, tuple(tensor.shape)), **attrs)
        engine().leave(tensor.elements, **attrs)
    else:
        collectives.send(tensor, to=to, tag=tag, group=group)
    return CommHandle()


def irecv(tensor, src=0, group=WORLD, tag=0):
    """(what rank src sends: of the shape and dtype of `tensor`, a handle): it may be read after wait().

    raises : ValueRangeError as of send; RankError (wait)
    """
    if not _is_plain(tensor):
        return recv(tensor, src, group, tag), CommHandle()
    out = np.empty(tuple(tensor.shape), tensor.dtype.numpy)

    def fill(array):
        out[...] = array
    return Tensor.wrap(out), CommHandle(Arrival(expected(tensor, src, group, tag), fill))


def expected(tensor, src, group, tag):
    """The ticket of what rank src of the world sends, of the shape and dtype of `tensor`."""
    _, attrs = collectives.receive.prepared((), {"shape": tuple(tensor.shape), "dtype": tensor.dtype, "tag": tag, "group": group,
                                                 "source": engine().place_of(src, group)})
    infer_rule[collectives.receive](**attrs)
    return engine().expect(**{**attrs, "dtype": tensor.dtype.numpy})


def _is_plain(tensor):
    """True for a Tensor that holds an array, in eager mode."""
    return isinstance(tensor, Tensor) and isinstance(tensor.elements, np.ndarray) and not is_interpreting()


class P2POp:
    """One sending or receiving of `batch_isend_irecv`. op: "isend" or "irecv", or these functions; peer: the other rank, of the
    world.

    raises : ArgumentError for another op, for what is no Tensor, or no rank
    """

    def __init__(self, op, tensor, peer, group=WORLD, tag=0, recv_dtype=None):
        name = op if isinstance(op, str) else getattr(op, "__name__", "")
        if name not in ("isend", "irecv"):
            raise ArgumentError(f"P2POp: op is isend or irecv, not {op!r}")
        if not isinstance(tensor, Tensor) and name == "isend":
            raise ArgumentError(f"P2POp: a Tensor is sent, not {type(tensor).__name__}")
        check_value_type("peer", peer, int, "P2POp")
        self.op, self.tensor, self.peer, self.group, self.tag = name, tensor, peer, group, tag
        self.shape = tuple(tensor.shape) if isinstance(tensor, Tensor) else tuple(tensor)
        self.dtype = recv_dtype or getattr(tensor, "dtype", None)


def batch_isend_irecv(p2p_op_list):
    """What came, in order of the irecv's; for an isend its own tensor. Sendings go first, by the lower rank of each pair, so no
    two wait for each other."""
    mine = engine().rank
    order = sorted(range(len(p2p_op_list)), key=lambda i: (
        min(p2p_op_list[i].peer, mine), max(p2p_op_list[i].peer, mine),
        (p2p_op_list[i].op == "irecv") == (mine < p2p_op_list[i].peer), i))
    results = [op.tensor for op in p2p_op_list]
    for i in order:
        op = p2p_op_list[i]
        if op.op == "isend":
            send(op.tensor, op.peer, op.group, op.tag)
        else:
            results[i] = collectives.receive(shape=op.shape, dtype=op.dtype, tag=op.tag, group=op.group,
                                             source=engine().place_of(op.peer, op.group))
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
    gathered, handle = exchanged(concat(flat), [x.shape[0] for x in flat], sizes, group, async_op)
    ends = [sum(sizes[:i + 1]) for i in range(count)]
    if handle is not None and handle.pending is not None:                # parts of the memory that will be filled
        whole = gathered.elements
        return tuple([Tensor.wrap(whole[end - size:end].reshape(shape)) for size, end, shape in zip(sizes, ends, shapes)]), handle
    return tuple([gathered[end - size:end].reshape(shape) for size, end, shape in zip(sizes, ends, shapes)]), handle


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
    result, handle = exchanged(tensor, goes, comes, group, async_op)
    if tuple(result.shape) != shape:
        raise ShapeError(f"all_to_all: {list(result.shape)} comes, and {list(shape)} is wanted")
    return result, handle


def exchanged(rows, splits, gathers, group, async_op):
    """`called` of an all_to_all along axis 0, with these sizes of the parts that go and come; None: even ones."""
    splits, gathers = [None if sizes is None else tuple(sizes) for sizes in (splits, gathers)]
    return called(collectives.all_to_all, rows, async_op, split_axis=0, gather_axis=0, group=group, splits=splits,
                  gathers=gathers, place=None)


def all_to_all_v_c(output, input, send_count_matrix, group=None, async_op=False):
    """output becomes the parts along axis 0 that the ranks have for this one, one after the other; a handle or None, behind whose
    wait() they are there.

    send_count_matrix : how many rows rank i of the group sends to rank j, at i * ranks + j
    group             : its name; None for that of all ranks
    raises            : ShapeError where the counts do not fit
    """
    group = WORLD if group is None else group
    count, place = len(engine().members(group)), engine().place(group)
    if len(send_count_matrix) != count * count:
        raise ShapeError(f"all_to_all_v_c: {len(send_count_matrix)} counts for {count} ranks", hint=f"{count} * {count} of them")
    goes, comes = send_count_matrix[place * count:(place + 1) * count], send_count_matrix[place::count]
    return when_there(all_to_all_single_with_output_shape(output, input, comes, goes, group, async_op),
                      lambda result: assign(output, result))
