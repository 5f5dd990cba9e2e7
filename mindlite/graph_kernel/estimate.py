"""What a cluster costs, from shapes alone: no loop nest is built.

    x: f32[32, 1000]      exp(x) read by a sum of rows and by a quotient:  computed in both loops, 2 * 32000 times
    max(x, rows)          read by exp(x - max): 32 times, before the loop over a row

An operator is computed along a *path*, the loops of who reads it: those of a result, or those of a fold. A value that is
one number for each block of the innermost loops is computed outside of them. The sum of (operations of an element) x
(iterations of its paths) is the cost. `cluster` joins groups by it; a loop nest judges what has come together in the end.

Known so are elementwise work, reshapes, and folds of trailing axes, whose results stay in the order of memory; what moves
elements (transposes, slices, joins) only where no fold is above it. Sizes are numbers.
"""
import math
from collections.abc import Sequence
from typing import Any

from ..mindir.abstract import AbstractTensor
from ..mindir.control import tuple_getitem

MOVES = frozenset(("broadcast_to", "pad_slice", "slice_update", "concatenate", "gather_axis", "gather_nd", "gather_elements",
                   "dynamic_slice", "dynamic_update", "scalar_to_tensor", "transpose", "slice"))
SAME, FOLD, MOVE = "same", "fold", "move"


def estimated(members: Sequence, results: Sequence, units: dict) -> int | None:
    """Operations of a kernel of `members`, which are in program order; None where shapes alone do not tell.

    units : {id of a member: operations of one element of it, of a fold of one element that it reads}, without storing it
    """
    if not _is_known(members):
        return None
    first = _equals(members)
    seen: set = set()
    todo = [(first[id(r)], sizes_of(r)) for r in results]
    cost = sum(math.prod(r.abstract.shape) for r in results)              # to store them
    while todo:
        node, path = todo.pop()
        if (id(node), path) in seen:
            continue
        seen.add((id(node), path))
        if kind_of(node) is FOLD:
            if _iterations(path) != math.prod(node.abstract.shape):
                return None                                   # a fold that other loops would repeat
            path += ((math.prod(node.args[0].abstract.shape) // max(1, _iterations(path)), id(node)),)
        cost += units[id(node)] * _iterations(path)
        for arg in node.args:
            if id(arg) in first:
                inner = _path_of(arg, node, path)
                if inner is None:
                    return None
                todo.append((first[id(arg)], inner))
    return cost


def sizes_of(node: Any) -> tuple:
    """The loops that write a result: its axes but those of one element."""
    return tuple([size for size in node.abstract.shape if size != 1])


def kind_of(node: Any) -> str | None:
    """SAME: elementwise, and what keeps the order of memory; FOLD: of trailing axes; MOVE; None for what is not known."""
    traits = node.fn.traits
    if "elementwise" in traits or "creation" in traits or node.fn.name == "reshape":
        return SAME
    if "reduction" in traits and not node.fn.name.startswith("arg"):
        shape, folded = node.args[0].abstract.shape, node.attrs["axis"]
        kept = [axis for axis, size in enumerate(shape) if axis not in folded and size != 1]
        return FOLD if kept and folded and all(axis > kept[-1] for axis in folded if shape[axis] != 1) else None
    return MOVE if node.fn.name in MOVES else None


def _equals(members: Sequence) -> dict:
    """{id of a member: the first one that computes the same}"""
    first: dict = {}
    known: dict = {}
    for node in members:
        key = node.fn, id(node.attrs), node.abstract, *[id(first.get(id(arg), arg)) for arg in node.args]
        first[id(node)] = known.setdefault(key, node)
    return first


def _is_known(members: Sequence) -> bool:
    """True if sizes are numbers, each operator is known, and nothing moves the results of folds."""
    folded: set = set()
    for node in members:
        plain = node.fn is not tuple_getitem and isinstance(node.abstract, AbstractTensor)
        if not plain or kind_of(node) is None:
            return False
        sizes = node.args[0].abstract.shape if kind_of(node) is FOLD else node.abstract.shape
        if not all(isinstance(size, int) for size in sizes):
            return False
        below = not folded.isdisjoint(map(id, node.args))
        if below and kind_of(node) is MOVE:
            return False
        if below or kind_of(node) is FOLD:
            folded.add(id(node))
    return True


def _path_of(arg: Any, node: Any, path: tuple) -> tuple | None:
    """The loops in which `node`, computed along `path`, reads its operand; None where no known cut of a loop gives them."""
    size = math.prod(arg.abstract.shape)
    whole = _iterations(path)
    if "elementwise" not in node.fn.traits or size >= whole or math.prod(node.abstract.shape) != whole:
        return path
    blocks = _blocks(arg.abstract.shape, node.abstract.shape)
    if blocks is None:
        return path
    for count in range(len(path)):
        if _iterations(path[:count]) == blocks:
            return path[:count]
    return _cut(path, blocks)


def _blocks(shape: tuple, larger: tuple) -> int | None:
    """How many numbers of `shape` are read, each for a block of `larger` that is one piece of memory; None if it is not so."""
    aligned = (1,) * (len(larger) - len(shape)) + tuple(shape)
    differing = [axis for axis, (size, whole) in enumerate(zip(aligned, larger)) if size != whole]
    if not differing or any(aligned[axis] != 1 for axis in range(differing[0], len(larger))):
        return None
    return math.prod(aligned)


def _cut(path: tuple, blocks: int) -> tuple | None:
    """The loops outside of blocks that end inside an axis, which is cut there; the first one, which threads share, is not."""
    for count in range(1, len(path)):
        outer = _iterations(path[:count])
        size = path[count] if isinstance(path[count], int) else path[count][0]
        if blocks % outer == 0 and size % (blocks // outer) == 0:
            return ((blocks, path),)
    return None


def _iterations(path: tuple) -> int:
    return math.prod(part if isinstance(part, int) else part[0] for part in path)
