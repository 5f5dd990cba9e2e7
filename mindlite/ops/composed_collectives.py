"""What users' names of collectives mean, made of the operators in collectives.py."""
from typing import Any

from ..common.errors import DTypeError
from ..common.ranks import WORLD, engine
from .collectives import ReduceOp, _check_axis, _check_root, _count, _parts, all_to_all
from .define import as_operand


def fold_by(fold: Any, x: Any, op: str, *, group: Any, **attrs: Any) -> Any:
    """`fold`, one of all_reduce, reduce_scatter and reduce_to, by a ReduceOp: "avg" is the sum divided by the number of ranks.

    raises : DTypeError for the avg of what are no floats
    """
    if op != ReduceOp.AVG:
        return fold(x, reduction=op, group=group, **attrs)
    x = as_operand(x)
    if x.dtype.kind not in "fc":
        raise DTypeError(f"a collective: the avg of {x.dtype}", hint="sum, and divide")
    return fold(x, reduction="sum", group=group, **attrs) / _count(group)


def gather_to(x: Any, *, root: int = 0, group: Any = WORLD) -> Any:
    """All ranks' x along axis 0 on the group's rank `root`; no row on the others, which have to go on with that, so that a
    gradient finds its way back from the root. raises : ShapeError, ValueRangeError"""
    _check_root(root, group)
    _check_axis(x)
    count, rows, mine = _count(group), x.shape[0], engine().place(group) == root
    return all_to_all(x, split_axis=0, gather_axis=0, group=group, splits=tuple([rows * (i == root) for i in range(count)]),
                      gathers=(rows * mine,) * count)


def scatter_from(x: Any, *, root: int = 0, group: Any = WORLD) -> Any:
    """This rank's even part, along axis 0, of the x of the group's rank `root`; the others' x is of that shape and not looked at.

    raises : ShapeError where the parts are not even, ValueRangeError
    """
    _check_root(root, group)
    _check_axis(x)
    part = _parts("scatter", x, 0, None, group)[0]
    mine, count = engine().place(group) == root, _count(group)
    return all_to_all(x if mine else x[:0], split_axis=0, gather_axis=0, group=group, splits=(part * mine,) * count,
                      gathers=tuple([part * (i == root) for i in range(count)]))
