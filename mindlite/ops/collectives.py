"""Collectives: operators that the ranks of a group compute together (`common/ranks.py`). With one rank each is the identity.

    all_reduce(x)                   x0 + x1 + ..  on each rank
    all_gather(x, axis=0)           [x0, x1, ..]  on each rank
    reduce_scatter(x, axis=0)       rank r: part r of x0 + x1 + ..
    all_to_all(x, split_axis=0, gather_axis=1)      rank r: part r of each, side by side

Each is an effect: all ranks have to call the same ones in the same order, so none is dropped, shared or moved.

Gradients are those of the *sum over the ranks* of what each rank differentiates, MindSpore's convention: the derivative of
all_reduce is all_reduce, that of all_gather reduce_scatter. A loss that every rank has in whole is counted once by each rank;
`shard` (mindlite/parallel), which differentiates the logical program and knows that it is one value, has no such factor.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..common.checks import check_non_negative_int, check_value_type
from ..common.dim import total
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.ranks import FOLDS, WORLD, engine, unpacked
from ..common.tensor import TensorLike
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from .axes import normal_axis
from .basic import batched, cast
from .define import as_operand
from .logic import equal
from .sbp import elementwise_spec, sbp_rule

TRAITS = {"effect", "collective", "library"}


class ReduceOp:
    """How a collective folds: SUM, PROD, MAX, MIN, AVG."""
    SUM, PROD, MAX, MIN, AVG = "sum", "prod", "max", "min", "avg"


def _prepare(args, attrs):
    args = tuple(map(as_operand, args))
    for name in ("root", "to", "source") if attrs.keys() & {"root", "to", "source"} else ():
        if name in attrs:
            check_value_type(name, attrs[name], int, "a collective")
    check_non_negative_int(attrs.get("tag", 0), "tag", "a collective")
    place = engine().place(attrs["group"])
    attrs = {**attrs, "group": engine().members(attrs["group"])}         # a graph names ranks: names may change
    for name in ("sizes", "splits", "gathers"):
        if attrs.get(name) is not None:
            _check_sizes(attrs[name], len(attrs["group"]))
    if attrs.get("place") is None and (attrs.get("sizes") or attrs.get("splits")):
        attrs["place"] = place
    for name in ("axis", "split_axis", "gather_axis"):
        if name in attrs:
            _check_axis(args[0])
            attrs[name] = normal_axis("a collective", attrs[name], len(args[0].shape))
    if attrs.get("reduction", "sum") not in FOLDS:
        raise ValueRangeError(f"a collective folds by one of {', '.join(FOLDS)}, avg, not by {attrs['reduction']!r}")
    return args, attrs


def _check_sizes(sizes, count):
    if len(sizes) != count:
        raise ShapeError(f"a collective: {len(sizes)} sizes of parts for {count} ranks")
    if any([isinstance(size, int) and size < 0 for size in sizes]):
        raise ShapeError(f"a collective: sizes of parts are not negative: {list(sizes)}")


def _check_axis(x):
    if not x.shape:
        raise ShapeError("a collective along an axis takes a tensor that has one", hint="x.reshape(1)")


def _count(group):
    """How many ranks a group has."""
    return len(engine().members(group))


def _parts(name, x, axis, sizes, group):
    """The sizes of the parts of x along `axis`: those that are given, else even ones. raises : ShapeError, for open sizes before
    anything runs"""
    size, count = x.shape[axis], _count(group)
    if sizes is not None:
        whole = total(sizes)
        require("==", whole, size, lambda: ShapeError(f"{name}: sizes with the sum {whole} for an axis of {size}"))
        return tuple(sizes)
    require("==", size % count, 0, lambda: ShapeError(f"{name}: an axis of {size} cannot be parted evenly between {count} ranks",
                                                      hint="give the sizes of the parts"))
    return (size // count,) * count


def _with(shape, axis, size):
    return (*shape[:axis], size, *shape[axis + 1:])


def _mapped(args, dims, size):
    """The operand with its batch axis in front, for rules of operators whose axes then count one more."""
    return batched(args[0], dims[0], size)


# ---------------------------------------------------------------- all_reduce

@primitive(traits=TRAITS, prepare=_prepare)
def all_reduce(x, *, reduction="sum", group=WORLD):
    """The elementwise fold of all ranks' x, on each rank.

    x         : any[...] of one shape and dtype on all ranks; sums of float16 and bfloat16 are made in float32
    reduction : sum, prod, max, min, any or all         group: its name, or a tuple of ranks
    out       : like x
    raises    : RankError if a rank fails, does not come, or calls something else
    """


@infer_rule(all_reduce)
def all_reduce_infer(x, *, reduction, group):
    _check_fold("all_reduce", x, reduction)
    return AbstractTensor(x.dtype, x.shape)


def _check_fold(name, x, reduction):
    if x.dtype.kind == "b" and reduction not in ("any", "all", "max", "min"):
        raise DTypeError(f"{name}: a {reduction} of bool", hint='reduction="any" or "all"')


@eval_rule(all_reduce)
def all_reduce_eval(x, *, reduction, group):
    return engine().all_reduce(x, reduction, group)


@bprop_rule(all_reduce)
def all_reduce_bprop(x, out, dout, *, reduction, group):
    summed = all_reduce(dout, reduction="sum", group=group)
    return _slope(x, out, summed, reduction)


@jvp_rule(all_reduce)
def all_reduce_jvp(primals, tangents, out, *, reduction, group):
    return all_reduce(_slope(primals[0], out, tangents[0], reduction), reduction="sum", group=group)


def _slope(x, out, change, reduction):
    """The change of the fold with x, times `change`."""
    if reduction == "sum":
        return change
    if reduction == "prod":
        return change * out / x
    return change * cast(equal(x, out), dtype=change.dtype)


@vmap_rule(all_reduce)
def all_reduce_vmap(args, dims, size, *, reduction, group):
    return all_reduce(args[0], reduction=reduction, group=group), dims[0]


@primitive(traits=TRAITS, prepare=_prepare)
def all_reduce_coalesced(*xs, reduction="sum", group=WORLD):
    """all_reduce of each of several tensors, which travel as one array: one message where there would be many.

    xs      : any[...] each of one shape on all ranks, and all of one dtype       reduction, group: as of all_reduce
    out     : a tuple like xs
    raises  : DTypeError for different dtypes, ValueRangeError for no tensor, RankError
    """


@infer_rule(all_reduce_coalesced)
def all_reduce_coalesced_infer(*xs, reduction, group):
    if not xs:
        raise ValueRangeError("all_reduce_coalesced: there is no tensor")
    if any(x.dtype != xs[0].dtype for x in xs):
        raise DTypeError("all_reduce_coalesced: the tensors have different dtypes", note=", ".join(map(str, xs)))
    return AbstractTuple(tuple([all_reduce_infer(x, reduction=reduction, group=group) for x in xs]))


@eval_rule(all_reduce_coalesced)
def all_reduce_coalesced_eval(*xs, reduction, group):
    return tuple(unpacked(engine().all_reduce_joined(xs, reduction, group), [x.shape for x in xs]))


@bprop_rule(all_reduce_coalesced)
def all_reduce_coalesced_bprop(*xs, out, dout, reduction, group):
    summed = all_reduce_coalesced(*dout, reduction="sum", group=group)
    return tuple([_slope(x, y, change, reduction) for x, y, change in zip(xs, out, summed)])


@jvp_rule(all_reduce_coalesced)
def all_reduce_coalesced_jvp(primals, tangents, out, *, reduction, group):
    changes = [x * 0 if change is None else _slope(x, y, change, reduction) for x, y, change in zip(primals, out, tangents)]
    return all_reduce_coalesced(*changes, reduction="sum", group=group)


@vmap_rule(all_reduce_coalesced)
def all_reduce_coalesced_vmap(args, dims, size, *, reduction, group):
    made = all_reduce_coalesced(*[batched(x, d, size) for x, d in zip(args, dims)], reduction=reduction, group=group)
    return made, (0,) * len(args)


# ---------------------------------------------------------------- all_gather, reduce_scatter

@primitive(traits=TRAITS, prepare=_prepare)
def all_gather(x, *, axis=0, group=WORLD, sizes=None, place=None):
    """All ranks' x one after the other along `axis`, on each rank.

    x      : any[...]; the sizes along `axis` may differ between ranks, then `sizes` holds those of all ranks
    place  : this rank's number in the group; it stands in graphs where sizes differ between ranks
    raises : ShapeError, RankError
    """


@infer_rule(all_gather)
def all_gather_infer(x, *, axis, group, sizes, place):
    if sizes is None:
        return AbstractTensor(x.dtype, _with(x.shape, axis, x.shape[axis] * len(group)))

    def error():
        return ShapeError(f"all_gather: rank {place} has {x.shape[axis]} along axis {axis}, and the sizes are {list(sizes)}")
    if len(sizes) != len(group):
        raise error()
    require("==", sizes[place], x.shape[axis], error)
    return AbstractTensor(x.dtype, _with(x.shape, axis, total(sizes)))


@eval_rule(all_gather)
def all_gather_eval(x, *, axis, group, sizes, place):
    return engine().all_gather(x, sizes or (x.shape[axis],) * _count(group), axis, group)


@bprop_rule(all_gather)
def all_gather_bprop(x, out, dout, *, axis, group, sizes, place):
    return reduce_scatter(dout, reduction="sum", axis=axis, group=group, sizes=sizes)


@jvp_rule(all_gather)
def all_gather_jvp(primals, tangents, out, *, axis, group, sizes, place):
    return all_gather(tangents[0], axis=axis, group=group, sizes=sizes)


@vmap_rule(all_gather)
def all_gather_vmap(args, dims, size, *, axis, group, sizes, place):
    return all_gather(_mapped(args, dims, size), axis=axis + 1, group=group, sizes=sizes), 0


@primitive(traits=TRAITS, prepare=_prepare)
def reduce_scatter(x, *, reduction="sum", axis=0, group=WORLD, sizes=None, place=None):
    """Rank r gets part r, along `axis`, of the fold of all ranks' x.

    x      : any[...] of one shape and dtype on all ranks      sizes: those of the parts; even ones by default
    raises : ShapeError if the parts do not fit, RankError
    """


@infer_rule(reduce_scatter)
def reduce_scatter_infer(x, *, reduction, axis, group, sizes, place):
    _check_fold("reduce_scatter", x, reduction)
    return AbstractTensor(x.dtype, _with(x.shape, axis, _parts("reduce_scatter", x, axis, sizes, group)[place or 0]))


@eval_rule(reduce_scatter)
def reduce_scatter_eval(x, *, reduction, axis, group, sizes, place):
    return engine().reduce_scatter(x, reduction, _parts("reduce_scatter", x, axis, sizes, group), axis, group)


@bprop_rule(reduce_scatter)
def reduce_scatter_bprop(x, out, dout, *, reduction, axis, group, sizes, place):
    return _slope_of_part(x, out, all_gather(dout, axis=axis, group=group, sizes=sizes), reduction, axis, group, sizes)


def _slope_of_part(x, out, change, reduction, axis, group, sizes):
    if reduction == "sum":
        return change
    return _slope(x, all_gather(out, axis=axis, group=group, sizes=sizes), change, reduction)


@jvp_rule(reduce_scatter)
def reduce_scatter_jvp(primals, tangents, out, *, reduction, axis, group, sizes, place):
    change = _slope_of_part(primals[0], out, tangents[0], reduction, axis, group, sizes)
    return reduce_scatter(change, reduction="sum", axis=axis, group=group, sizes=sizes)


@vmap_rule(reduce_scatter)
def reduce_scatter_vmap(args, dims, size, *, reduction, axis, group, sizes, place):
    return reduce_scatter(_mapped(args, dims, size), reduction=reduction, axis=axis + 1, group=group, sizes=sizes), 0


# ---------------------------------------------------------------- all_to_all

def _prepare_exchange(args, attrs):
    args, attrs = _prepare(args, attrs)
    x, axis, group = args[0], attrs["split_axis"], attrs["group"]
    splits = attrs["splits"] or (x.shape[axis] // _count(group),) * _count(group)
    of_each = splits[attrs["place"] or 0] if axis == attrs["gather_axis"] else x.shape[attrs["gather_axis"]]
    return args, {**attrs, "splits": splits, "gathers": attrs["gathers"] or (of_each,) * _count(group)}


@primitive(traits=TRAITS, prepare=_prepare_exchange)
def all_to_all(x, *, split_axis, gather_axis, group=WORLD, splits=None, gathers=None, place=None):
    """Rank r gets part r, along split_axis, of each rank's x, one after the other along gather_axis.

    splits, gathers : the sizes of the parts of x, and of what comes along gather_axis, by rank; even ones by default
    raises          : ShapeError if the parts do not fit, RankError
    """


@infer_rule(all_to_all)
def all_to_all_infer(x, *, split_axis, gather_axis, group, splits, gathers, place):
    mine = _parts("all_to_all", x, split_axis, splits, group)[place or 0]
    return AbstractTensor(x.dtype, _with(_with(x.shape, split_axis, mine), gather_axis, total(gathers)))


@eval_rule(all_to_all)
def all_to_all_eval(x, *, split_axis, gather_axis, group, splits, gathers, place):
    return engine().all_to_all(x, splits, split_axis, gathers, gather_axis, group)


@bprop_rule(all_to_all)
def all_to_all_bprop(x, out, dout, *, split_axis, gather_axis, group, splits, gathers, place):
    return all_to_all(dout, split_axis=gather_axis, gather_axis=split_axis, group=group, splits=gathers, gathers=splits)


@jvp_rule(all_to_all)
def all_to_all_jvp(primals, tangents, out, **attrs):
    return all_to_all(tangents[0], **attrs)


@vmap_rule(all_to_all)
def all_to_all_vmap(args, dims, size, *, split_axis, gather_axis, group, splits, gathers, place):
    return all_to_all(_mapped(args, dims, size), split_axis=split_axis + 1, gather_axis=gather_axis + 1, group=group,
                      splits=splits, gathers=gathers), 0


# ---------------------------------------------------------------- broadcast_from, reduce_to

@primitive(traits=TRAITS, prepare=_prepare)
def broadcast_from(x, *, root=0, group=WORLD):
    """The x of the group's rank `root`, on each rank; x has one shape and dtype on all. Its derivative is `reduce_to` that rank.

    raises : ValueRangeError for no rank of the group, RankError
    """


@primitive(traits=TRAITS, prepare=_prepare)
def reduce_to(x, *, reduction="sum", root=0, group=WORLD):
    """The fold of all ranks' x on the group's rank `root`; zeros on the others.

    raises : ValueRangeError for no rank of the group, RankError
    """


def _check_root(root, group):
    check_value_type("root", root, int, "a collective")
    if not 0 <= root < _count(group):
        raise ValueRangeError(f"there is no rank {root} in a group of {_count(group)}")


@infer_rule(reduce_to)
def reduce_to_infer(x, *, reduction, root, group):
    _check_fold("reduce_to", x, reduction)
    return broadcast_from_infer(x, root=root, group=group)


@infer_rule(broadcast_from)
def broadcast_from_infer(x, *, root, group):
    _check_root(root, group)
    return AbstractTensor(x.dtype, x.shape)


@eval_rule(broadcast_from)
def broadcast_from_eval(x, *, root, group):
    return engine().broadcast(x, root, group)


@bprop_rule(broadcast_from)
def broadcast_from_bprop(x, out, dout, *, root, group):
    return reduce_to(dout, reduction="sum", root=root, group=group)


@jvp_rule(broadcast_from)
def broadcast_from_jvp(primals, tangents, out, *, root, group):
    return broadcast_from(tangents[0], root=root, group=group)


@vmap_rule(broadcast_from)
def broadcast_from_vmap(args, dims, size, *, root, group):
    return broadcast_from(args[0], root=root, group=group), dims[0]


@eval_rule(reduce_to)
def reduce_to_eval(x, *, reduction, root, group):
    flat = x.reshape(-1)
    sizes = [flat.size if i == root else 0 for i in range(_count(group))]
    out = engine().reduce_scatter(flat, reduction, sizes, 0, group)
    return out.reshape(x.shape) if engine().place(group) == root else np.zeros_like(x)


@bprop_rule(reduce_to)
def reduce_to_bprop(x, out, dout, *, reduction, root, group):
    change, whole = broadcast_from(dout, root=root, group=group), out
    if reduction != "sum":
        whole = broadcast_from(out, root=root, group=group)
    return _slope(x, whole, change, reduction)


@jvp_rule(reduce_to)
def reduce_to_jvp(primals, tangents, out, *, reduction, root, group):
    whole = out if reduction == "sum" else broadcast_from(out, root=root, group=group)
    return reduce_to(_slope(primals[0], whole, tangents[0], reduction), reduction="sum", root=root, group=group)


@vmap_rule(reduce_to)
def reduce_to_vmap(args, dims, size, *, reduction, root, group):
    return reduce_to(args[0], reduction=reduction, root=root, group=group), dims[0]


# ---------------------------------------------------------------- send, receive, synchronise

@primitive(traits=TRAITS | {"message"}, prepare=_prepare)
def send(x, *, to, tag=0, group=WORLD):
    """Send x to the group's rank `to`, which calls `receive`. Gives an empty tuple; no gradient comes back.

    raises : ValueRangeError for this rank itself, RankError
    """


@infer_rule(send)
def send_infer(x, *, to, tag, group):
    _check_other("sends to", to, group)
    return AbstractTuple(())


def _check_other(does, other, group):
    if not 0 <= other < _count(group) or other == engine().place(group):
        raise ValueRangeError(f"rank {engine().place(group)} of {_count(group)} {does} rank {other}")


@eval_rule(send)
def send_eval(x, *, to, tag, group):
    _check_other("sends to", to, group)                      # what is known of a call is that of all ranks of a SimWorld
    engine().send(x, to, tag, group)
    return ()


@primitive(traits=TRAITS | {"message"}, prepare=_prepare)
def receive(*, shape, dtype, source, tag=0, group=WORLD):
    """What the group's rank `source` has sent with that tag: a tensor of that shape and dtype.

    raises : ValueRangeError for this rank itself, RankError
    """


@infer_rule(receive)
def receive_infer(*, shape, dtype, source, tag, group):
    _check_other("receives from", source, group)
    return AbstractTensor(dtype, tuple(shape))


@eval_rule(receive)
def receive_eval(*, shape, dtype, source, tag, group):
    _check_other("receives from", source, group)
    return engine().receive(shape, dtype.numpy, source, tag, group)


@primitive(traits=TRAITS | {"message"}, prepare=_prepare)
def post(x, *, to, tag=0, credits=1, group=WORLD):
    """`send` that goes on at once. Where `credits` messages to that rank with this tag are under way, it waits until the oldest
    has been received. Gives an empty tuple; no gradient comes back.

    raises : ValueRangeError for this rank itself, RankError
    """


@infer_rule(post)
def post_infer(x, *, to, tag, credits, group):
    return send_infer(x, to=to, tag=tag, group=group)


@eval_rule(post)
def post_eval(x, *, to, tag, credits, group):
    engine().post_within(credits, x, to, tag, group)
    return ()


@primitive(traits=TRAITS | {"message"})
def settle():
    """Wait until all that this rank has posted is received. Gives an empty tuple. raises : RankError"""


@infer_rule(settle)
def settle_infer():
    return AbstractTuple(())


@eval_rule(settle)
def settle_eval():
    engine().settle()
    return ()


@primitive(traits=TRAITS | {"message"}, prepare=_prepare)
def synchronise(*, group=WORLD):
    """Wait until all ranks of the group are here. Gives an empty tuple. raises : RankError"""


@infer_rule(synchronise)
def synchronise_infer(*, group):
    return AbstractTuple(())


@eval_rule(synchronise)
def synchronise_eval(*, group):
    engine().barrier(group)
    return ()


@bprop_rule(send)
def message_bprop(x, out, dout, **attrs):
    return None


@jvp_rule(send)
def message_jvp(primals, tangents, out, **attrs):
    return ()


@vmap_rule(send)
def send_vmap(args, dims, size, *, to, tag, group):
    return send(_mapped(args, dims, size), to=to, tag=tag, group=group), ()


# ---------------------------------------------------------------- placed

@primitive(prepare=lambda args, attrs: ((as_operand(args[0]),), attrs))
def placed(x, *, placement, lasting=False):
    """x, of which each rank has the part that `placement` says (parallel/layout.py). Where nothing parts the program: x itself.

    placement : a parallel.Placement, or None for no wish
    lasting   : as a result of the program it lies so too
    """


def place_as(x: TensorLike, placement: Any) -> Any:
    """In a graph x, `placed`; x itself in eager mode, where each operator runs at once and there is nothing to choose.

    x : Tensor;     placement : where its parts lie, a mindlite.parallel placement or the str of one, else ArgumentError
    """
    if not isinstance(placement, str) and not hasattr(placement, "mesh"):
        raise ArgumentError("place_as: a placement says where parts lie", note=repr(placement)[:80])
    return placed(x, placement=placement) if isinstance(x, AnfNode) else x


@infer_rule(placed)
def placed_infer(x, *, placement, lasting):
    return AbstractTensor(x.dtype, x.shape)


@eval_rule(placed)
def placed_eval(x, *, placement, lasting):
    return x.copy()


@kernel_rule(placed)
def _placed_kernel(x, out, *, placement, lasting):
    return lambda *i: x[i]


@bprop_rule(placed)
def placed_bprop(x, out, dout, *, placement, lasting):
    return placed(dout, placement=placement)


@jvp_rule(placed)
def placed_jvp(primals, tangents, out, *, placement, lasting):
    return placed(tangents[0], placement=placement, lasting=lasting)


@vmap_rule(placed)
def placed_vmap(args, dims, size, *, placement, lasting):
    behind = placement and placement.behind_axis(dims[0])
    return placed(args[0], placement=behind, lasting=lasting), dims[0]


sbp_rule(placed, elementwise_spec, linear=[{0}])
