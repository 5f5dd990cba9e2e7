"""Trees as data: a nested tuple or dataclass of unknown depth as records in one array of words.

    (x, None, (y, None, None))   ->   [(tuple of 3), @x, @None, @(..)] [(tuple of 3), @y, @None, @None] [(None)] [(Tensor), ..] ..

The first word of a record is the number of its kind, the others are addresses of records (of a node), the address and the
sizes of a Tensor, or the bits of a number. What stands in a tree twice is one record. Compiled code reads records only
(ops.trees); a TreeType says which kinds there are, so that one compiled function fits all trees of these kinds (Nimble's
ADTs, section 4.1).
"""
from __future__ import annotations

import dataclasses
import functools
import operator
import struct
import zlib
from typing import Any

import numpy as np

from .dtype import DType
from .errors import InternalError
from .records import dataclass
from .tensor import Tensor

WORD = 8                         # bytes
LEVELS = 3                       # tuples of one length that lie in each other by more levels than this are a tree
NUMBERS = (bool, int, float)
MOST = 1 << 63


class NotATree(Exception):
    """What a tree cannot hold: nobody outside of compile sees it."""


@dataclass(frozen=True)
class LeafKind:
    """A Tensor (dtype and shape, None for sizes that differ), a number (its class), or None."""
    number: int
    cls: Any
    dtype: DType | None = None
    shape: tuple | None = None

    def __str__(self) -> str:
        sizes = "" if self.shape is None else ", ".join("?" if n is None else str(n) for n in self.shape)
        return self.cls.__name__ if self.dtype is None else f"{self.dtype.short}[{sizes}]"


@dataclass(frozen=True)
class NodeKind:
    """A tuple or dataclass. parts: for each the LeafKind that it is in all nodes (but for None, in whose place a node may
    stand in another tree), or None: it is any kind of the tree's"""
    number: int
    cls: Any
    names: tuple
    parts: tuple

    def __str__(self) -> str:
        parts = ", ".join("tree" if part is None else str(part) for part in self.parts)
        return f"{'' if self.cls is tuple else self.cls.__name__}({parts})"


@dataclass(frozen=True)
class TreeType:
    """Which kinds of nodes there are, and which leaves stand where a node may stand."""
    nodes: tuple
    leaves: tuple

    def __str__(self) -> str:
        return "tree of " + " | ".join(map(str, (*self.nodes, *self.leaves)))

    def join(self, other: TreeType) -> TreeType:
        """The smallest type that covers both."""
        nodes, leaves = {n.number: n for n in self.nodes}, {leaf.number: leaf for leaf in self.leaves}

        def free(leaf):
            leaves[leaf.number] = _joined(leaves.get(leaf.number, leaf), leaf)
        for leaf in other.leaves:
            free(leaf)
        for node in other.nodes:
            known = nodes.get(node.number, node)
            parts = []
            for a, b in zip(known.parts, node.parts):
                part = None if a is None or b is None or a.number != b.number or a.cls is type(None) else _joined(a, b)
                parts.append(part)
                for leaf in (a, b):
                    if part is None and leaf is not None:
                        free(leaf)
            nodes[node.number] = NodeKind(node.number, node.cls, node.names, tuple(parts))
        return TreeType(tuple([nodes[n] for n in sorted(nodes)]), tuple([leaves[n] for n in sorted(leaves)]))

    def covers(self, other: TreeType) -> bool:
        """True if a tree of the type `other` is one of this type."""
        return self == other or self.join(other) == self


def _joined(a: LeafKind, b: LeafKind) -> LeafKind:
    """Leaves of one number: sizes that differ are open."""
    if a == b or a.shape is None:
        return a
    return LeafKind(a.number, a.cls, a.dtype, tuple([n if n == m else None for n, m in zip(a.shape, b.shape or ())]))


class Tree(int):
    """The address of a tree's first record, which is what a compiled function is given.

    words : the array of the records;   keep : what they point to
    """
    words: np.ndarray
    keep: list


# ---------------------------------------------------------------- kinds

_known: dict = {}                # {number: what it stands for}: two of them with one number would be a fault


def _numbered(*what: Any) -> int:
    """The number of a kind, the same in every process."""
    text = repr(what).encode()
    number = zlib.crc32(text) | zlib.adler32(text) << 31
    if _known.setdefault(number, what) != what:
        raise InternalError(f"two kinds of trees have the number {number}: {what}, {_known[number]}")
    return number


@functools.lru_cache(maxsize=1024)
def _node_layout(cls: Any, length: int) -> Any:
    """(number, names of the parts, a function from the object to its parts) of a class of nodes; None for other classes."""
    if cls is tuple:
        return _numbered("tuple", length), (), None
    names = getattr(cls, "_fields", None) if issubclass(cls, tuple) else tuple(
        field.name for field in dataclasses.fields(cls)) if dataclasses.is_dataclass(cls) else None
    if names is None:
        return None
    number = _numbered(cls.__module__, cls.__qualname__, id(cls), names)
    if issubclass(cls, tuple):
        return number, names, None
    read = operator.attrgetter(*names) if names else lambda value: ()
    return number, names, read if len(names) != 1 else lambda value: (read(value),)


@functools.lru_cache(maxsize=1024)
def leaf_kind(cls: Any, dtype: DType | None = None, shape: tuple | None = None) -> LeafKind:
    """The LeafKind of a number's class, of None's, or of a Tensor with this dtype and shape."""
    number = _numbered(cls.__name__) if dtype is None else _numbered("Tensor", dtype.name, len(shape or ()))
    return LeafKind(number, cls, dtype, shape)


@functools.lru_cache(maxsize=1024)
def is_recursive(cls: Any) -> bool:
    """True for a dataclass, or a namedtuple, whose fields are declared to hold it again."""
    names = getattr(cls, "__annotations__", {}).values() if dataclasses.is_dataclass(cls) or hasattr(cls, "_fields") else ()
    return any(cls.__name__ in (text if isinstance(text, str) else getattr(text, "__forward_arg__", repr(text))).replace(
        "[", " ").replace("]", " ").replace("|", " ").replace(",", " ").replace("'", " ").replace(".", " ").replace(
            "(", " ").replace(")", " ").split() for text in names)


def is_deep(value: tuple, length: int, levels: int = LEVELS) -> bool:
    """True for a tuple in which tuples of its length lie in each other by more than `levels` levels."""
    for part in value:
        if type(part) is tuple and len(part) == length and (levels == 1 or is_deep(part, length, levels - 1)):
            return True
    return False


# ---------------------------------------------------------------- encoding

def encode(root: Any) -> tuple[Tree, TreeType]:
    """(the Tree of an object, its TreeType).

    raises : NotATree for what holds anything but tuples, dataclasses, Tensors on the CPU, numbers and None
    """
    return _Encoder().run(root)


class _Encoder:
    """words: of all records; links: places of those that are places of records; placed: {id of an object: (the place of its
    record, its LeafKind or None)}; waiting: nodes whose parts have no place yet"""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.links: list[int] = []
        self.placed: dict[int, tuple[int, LeafKind | None]] = {}
        self.waiting: list[tuple] = []
        self.keep: list = []

    def run(self, root: Any) -> tuple[Tree, TreeType]:
        """(Tree, TreeType)"""
        _, root_kind = self.enter(root)
        seen, words, links, placed, enter = {}, self.words, self.links, self.placed, self.enter
        while self.waiting:
            value, at, (number, names, read) = self.waiting.pop()
            kinds = []
            for part in value if read is None else read(value):
                at += 1
                words[at], kind = placed.get(id(part)) or enter(part)
                kinds.append(kind)
                links.append(at)
            key = number, *map(id, kinds)                    # a LeafKind is made once
            if key not in seen:
                seen[key] = NodeKind(number, type(value), names, tuple(kinds))
        array = np.array(words, np.int64)
        base = address(array)
        array[links] = array[links] * WORD + base
        made = Tree(base)
        made.words, made.keep = array, self.keep
        return made, type_of_nodes(tuple(seen.values())) if root_kind is None else TreeType((), (root_kind,))

    def enter(self, value: Any) -> tuple[int, LeafKind | None]:
        """(the place of its record, its LeafKind or None)"""
        cls: Any = type(value)
        words, kind = self.words, None
        at = len(words)
        if cls is Tensor:
            array = value.init_data().elements
            if type(array) is not np.ndarray:                # it lies elsewhere
                raise NotATree
            if not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            self.keep.append(array)
            kind = leaf_kind(Tensor, value.dtype, array.shape)
            words += kind.number, address(array), *array.shape
        elif value is None or cls in NUMBERS:
            kind = leaf_kind(cls)
            if cls is float:
                words += kind.number, *struct.unpack("<q", struct.pack("<d", value))
            elif value is None or -MOST <= value < MOST:
                words += kind.number, value or 0
            else:
                raise NotATree
        else:
            layout = _node_layout(cls, len(value) if cls is tuple else 0)
            if layout is None:
                raise NotATree
            count = len(value) if layout[2] is None else len(layout[1])
            words += layout[0], *[0] * count
            self.waiting.append((value, at, layout))
        self.keep.append(value)
        self.placed[id(value)] = at, kind
        return at, kind


def address(array: np.ndarray) -> int:
    """Where the elements of an ndarray lie."""
    return array.__array_interface__["data"][0]


@functools.lru_cache(maxsize=1024)
def type_of_nodes(seen: tuple) -> TreeType:
    """The TreeType of nodes of these kinds."""
    made = TreeType((), ())
    for node in seen:
        made = made.join(TreeType((node,), ()))
    return made
