"""What inference knows of a value: the types that stand on every node of a typed graph.

Printed as in docs and errors: `f32[N, C]`, `i32[]`, `int`, `(f32[2], int=3)`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.dim import Dim, Size, Symbol, product, symbols_of
from ..common.dtype import DType
from ..common.records import dataclass
from ..common.trees import TreeType


class Abstract:
    """Base of abstract values."""


@dataclass(frozen=True)
class AbstractTensor(Abstract):
    """A tensor: dtype (DType) and shape (tuple of int or Dim).

    device, placement, sbp: where it lies, which processes have it, and how they share it; None: the default, which is the
    CPU where it is a parameter of a compiled function, and what compile/placement.py says elsewhere. They are no part of
    the type: abstracts that differ in them only are equal.
    """
    dtype: DType
    shape: tuple
    device = placement = sbp = None

    def on(self, device: Any) -> AbstractTensor:
        """The same tensor on a Device."""
        made = AbstractTensor(self.dtype, self.shape)
        object.__setattr__(made, "device", device)
        return made

    def __str__(self) -> str:
        where = "" if self.device is None else f"@{self.device}"
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]{where}"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Size:
        """Number of elements, an int or a Dim."""
        return product(self.shape)


@dataclass(frozen=True)
class AbstractScalar(Abstract):
    """A Python number known at run time only: type is bool, int or float. `dim` is its Dim where it is a size."""
    type: type
    dim: Any = None

    def __str__(self) -> str:
        return self.type.__name__ + (f"={self.dim}" if self.dim is not None else "")


@dataclass(frozen=True)
class AbstractTuple(Abstract):
    """A tuple of known length."""
    elements: tuple

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))}{',' if len(self.elements) == 1 else ''})"


@dataclass(frozen=True)
class AbstractTape(Abstract):
    """A stack of saved values: `tape_push` and `tape_pop` move tensors and scalars on and off, last in first out."""

    def __str__(self) -> str:
        return "tape"


@dataclass(frozen=True)
class AbstractTree(Abstract):
    """A tree as records (common.trees), or a part of one: the address of a record. type: its TreeType"""
    type: TreeType

    def __str__(self) -> str:
        return "tree"


@dataclass(frozen=True)
class AbstractAny(Abstract):
    """A Python object of which nothing is known until run time (JIT Fallback)."""

    def __str__(self) -> str:
        return "any"


def dims_in(value: Any) -> list[Dim]:
    """The Dims in an abstract, an attribute or a constant, in order."""
    if isinstance(value, AbstractTensor):
        return [size for size in value.shape if isinstance(size, Dim)]
    if isinstance(value, AbstractScalar):
        return dims_in(value.dim)
    if isinstance(value, Dim):
        return [value]
    parts: Any = value.elements if isinstance(value, AbstractTuple) else value if isinstance(value, (tuple, list)) \
        else (*value, *value.values()) if isinstance(value, dict) \
        else (value.start, value.stop, value.step) if isinstance(value, slice) else ()
    return [dim for part in parts for dim in dims_in(part)]


def map_dims(change: Callable[[Dim], Any], value: Any) -> Any:
    """An abstract, or an attribute, with change(dim) for each Dim in it."""
    kind = type(value)
    if kind is tuple:
        return tuple([part if type(part) is int else map_dims(change, part) for part in value])
    if kind is int or kind is str:
        return value
    if isinstance(value, Dim):
        return change(value)
    if kind is dict:
        return {key: map_dims(change, part) for key, part in value.items()}
    if isinstance(value, AbstractTensor):
        return AbstractTensor(value.dtype, map_dims(change, value.shape))
    if isinstance(value, AbstractScalar):
        return AbstractScalar(value.type, map_dims(change, value.dim))
    if isinstance(value, AbstractTuple):
        return AbstractTuple(map_dims(change, value.elements))
    return value


_INTS = frozenset((int,))


def symbols_of_abstract(abstract: Any) -> set[Symbol]:
    """The Symbols in the sizes of an abstract, or in an attribute."""
    if type(abstract) is AbstractTensor and set(map(type, abstract.shape)) <= _INTS:         # most are, kept short
        return set()
    return set().union(*map(symbols_of, dims_in(abstract)))
