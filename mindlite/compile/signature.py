"""Signatures: what a call of a jitted function looks like, which variant fits it, and which sizes should be open.

    f(x, 2, bias=None)   ->   (f32[32, 784], 2, bias=None)        fits the variant  (f32[N, 784], 2, bias=None)
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ..common import dtype as dt
from ..common.device import Device, target_device
from ..common.declared import Symbol as DeclaredSymbol
from ..common.dim import Symbol
from ..common.dtype import DType
from ..common.errors import ShapeError, ValueRangeError
from ..common.records import dataclass
from ..common.storage import ShardedArray
from ..common.tensor import Parameter, Tensor
from ..common.trees import NotATree, Tree, TreeType, encode, is_deep, is_recursive
from ..infer.results import Leaf, Same
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTree

Signature = tuple[Any, ...]      # of a call: "tuple", that of its args, that of its kwargs
Part = Any                       # of a signature: a spec, a constant, or a tuple: a word ("list", "int=", ..) and parts
MAX_INT = (1 << 63) - 1          # larger ints stay constants: arithmetic in registers has 64 bits


@dataclass(frozen=True)
class ObjectSpec:
    """A constant that is compared by identity."""
    number: int
    keep: Any = field(compare=False, hash=False, default=None)


@dataclass(frozen=True)
class TensorSpec:
    """A Tensor in a signature: dtype, sizes (int, or Symbol in a variant), whether it is a Parameter, its
    device (a Device, or None for the CPU) and its Placement on several ranks."""
    dtype: DType
    shape: tuple[Any, ...]
    parameter: bool = False
    device: Device | None = None
    placement: Any = None

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]" + ("" if self.device is None else f"@{self.device}")


@dataclass(frozen=True)
class SameSpec:
    """The very Tensor that is leaf `number`: what is done to the one is done to the other."""
    number: int

    def __str__(self) -> str:
        return f"argument {self.number} again"


@dataclass(frozen=True)
class ScalarSpec:
    """A number whose value is known at run time only, of class `type`."""
    type: type

    def __str__(self) -> str:
        return self.type.__name__


@dataclass(frozen=True)
class TreeSpec:
    """A tree (common.trees) of a type: one argument, whatever is in it."""
    type: TreeType

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True)
class Trees:
    """Which arguments of a function are trees.

    places  : positions of those of which an earlier call has shown it
    refused : why none is, a text: a graph cannot say what the function does with one
    """
    places: frozenset[int] = frozenset()
    refused: str = ""


class Leaves(list):
    """The Tensors and trees of a call, in order.

    no_trees   : tuples and dataclasses are taken apart, or constants, however deep they are

    containers : the lists and dicts among its arguments
    numbers    : (how many Tensors come before it, the number) for each int and float
    known      : {id: number} of the Tensors, {(id,): number} of the containers; one that comes again is no other leaf
    """
    __slots__ = ("containers", "numbers", "known", "no_trees")

    def __init__(self, no_trees: bool = False) -> None:
        super().__init__()
        self.no_trees = no_trees
        self.containers: list[Any] = []
        self.numbers: list[tuple[int, int | float]] = []
        self.known: dict[int | tuple[int], int] = {}

    def tensor(self, value: Tensor) -> SameSpec | TensorSpec:
        """The signature of a Tensor, which is entered."""
        number = self.known.setdefault(id(value), len(self))
        if number != len(self):
            return SameSpec(number)
        self.append(value)
        is_parameter = isinstance(value, Parameter)
        where = target_device() if is_parameter else None
        if where is not None:
            value.move_here(where)
        elements = value.init_data().elements
        if isinstance(elements, np.ndarray):
            return TensorSpec(value.dtype, elements.shape, is_parameter)
        if isinstance(elements, ShardedArray):
            return TensorSpec(value.dtype, elements.shape, is_parameter, None, elements.placement)
        return TensorSpec(value.dtype, elements.shape, is_parameter, elements.device)

    def tree(self, value: Any) -> TreeSpec | None:
        """The signature of a tree, which is entered; None for what cannot be one."""
        if self.no_trees:
            return None
        try:
            tree, of = encode(value)
        except NotATree:
            return None
        self.append(tree)
        return TreeSpec(of)

    def container(self, value: list | dict) -> SameSpec | None:
        """None, or the SameSpec of a list or dict that has come before: they are counted from -1 downwards."""
        number = self.known.setdefault((id(value),), len(self.containers))
        if number != len(self.containers):
            return SameSpec(-1 - number)
        self.containers.append(value)
        return None

    def with_numbers(self, chosen: frozenset[int]) -> Leaves:
        """The Leaves with the numbers of these ordinals in their places among the Tensors."""
        made, done = Leaves(), 0
        made.containers = self.containers
        for ordinal, (place, value) in enumerate(self.numbers):
            if ordinal in chosen:
                made.extend(self[done:place])
                made.append(value)
                done = place
        made.extend(self[done:])
        return made


def signature_of(value: Any, leaves: Leaves) -> Part:
    """The signature of a pytree of arguments, hashable.

    Tensors and arrays are appended to `leaves`, lists and dicts (which the function may change) to its `containers`.
    """
    cls: Any = type(value)
    if cls is Tensor or cls is Parameter:
        return leaves.tensor(value)
    if cls is tuple:
        found = is_deep(value, len(value)) and leaves.tree(value)
        return found or ("tuple", *[signature_of(v, leaves) for v in value])
    if cls is list:
        return leaves.container(value) or ("list", *[signature_of(v, leaves) for v in value])
    if cls is dict:
        return leaves.container(value) or ("dict", *[(k, signature_of(v, leaves)) for k, v in value.items()])
    if cls is int or cls is float:
        leaves.numbers.append((len(leaves), value))
        return ("int=", value) if cls is int else ("float=", value, repr(value))
    if cls in (bool, str, type(None), complex, bytes):
        return (cls.__name__ + "=", value)
    if isinstance(value, Tensor):
        return leaves.tensor(value)
    if isinstance(value, np.ndarray):
        leaves.append(Tensor.wrap(np.asarray(value, order="C")))
        return TensorSpec(dt.dtype(value.dtype), value.shape)
    if is_recursive(cls):
        found = leaves.tree(value)
        if found is not None:
            return found
    if isinstance(value, tuple):
        return (ObjectSpec(id(cls), cls), *[signature_of(v, leaves) for v in value])
    return ObjectSpec(id(value), value)


def signature_of_call(args: tuple, kwargs: dict[str, Any], trees: Trees) -> tuple[Signature, Leaves]:
    """(the signature of a call, its Leaves). trees: the Trees of the function"""
    leaves = Leaves(no_trees=bool(trees.refused))
    inside = ("tuple", *[number in trees.places and leaves.tree(value) or signature_of(value, leaves)
                         for number, value in enumerate(args)])
    by_name = ("tuple", *[("tuple", ("str=", name), signature_of(value, leaves)) for name, value in kwargs.items()])
    signature = ("tuple", inside, by_name)
    found = [leaf for leaf in leaves if type(leaf) is Tree]
    if found and any(id(part) in leaves.known for tree in found for part in tree.keep if isinstance(part, Tensor)):
        return signature_of_call(args, kwargs, Trees(refused="a Tensor of it is an argument, too"))
    return signature, leaves


def has_trees(signature: Part) -> bool:
    """True if a tree stands in a signature."""
    return isinstance(signature, TreeSpec) or isinstance(signature, tuple) and any(has_trees(x) for x in signature)


def with_wider_trees(pattern: Part, signature: Part) -> Part:
    """`signature` with trees of types that cover those in `pattern`, if the two differ in the types of trees only, else None."""
    if isinstance(pattern, TreeSpec) and isinstance(signature, TreeSpec):
        return TreeSpec(pattern.type.join(signature.type))
    if isinstance(pattern, tuple) and isinstance(signature, tuple) and len(pattern) == len(signature):
        parts = [with_wider_trees(p, s) for p, s in zip(pattern, signature)]
        return None if any(part is None and s is not None for part, s in zip(parts, signature)) else tuple(parts)
    env: dict[Symbol, int] = {}
    return signature if matches(pattern, signature, env) else None


def places_of_trees(signature: Signature) -> frozenset[int]:
    """The positions of the arguments that are trees."""
    return frozenset([n for n, part in enumerate(signature[1][1:]) if isinstance(part, TreeSpec)])


def differing_trees(pattern: Signature, signature: Signature, args: tuple) -> frozenset[int]:
    """The positions of arguments that are nested tuples of different structure in two
    signatures, if one of them contains a tuple of its own length."""
    if len(pattern[1]) != len(signature[1]) or pattern[2] != signature[2]:
        return frozenset()
    return frozenset([n for n, (p, s, value) in enumerate(zip(pattern[1][1:], signature[1][1:], args))
                      if type(value) is tuple and isinstance(p, tuple) and isinstance(s, tuple) and p[:1] == s[:1] == ("tuple",)
                      and len(p) == len(s) and without_sizes(p) != without_sizes(s)
                      and any(isinstance(part, tuple) and part[:1] == ("tuple",) and len(part) == len(whole)
                              for whole in (p, s) for part in whole[1:])])


def specs_in(signature: Part) -> Iterator[TensorSpec | ScalarSpec | TreeSpec]:
    """The TensorSpecs, ScalarSpecs and TreeSpecs of a signature, in the order of the leaves."""
    if isinstance(signature, (TensorSpec, ScalarSpec, TreeSpec)):
        yield signature
    elif isinstance(signature, tuple):
        for part in signature:
            yield from specs_in(part)


def map_tensors(function: Callable[[TensorSpec], TensorSpec], signature: Part) -> Part:
    """The signature with function(spec) in place of each TensorSpec."""
    if isinstance(signature, TensorSpec):
        return function(signature)
    return tuple([map_tensors(function, part) for part in signature]) if isinstance(signature, tuple) else signature


def lying(what: str, signature: Part) -> tuple:
    """The "device" or the "placement" of each leaf of a signature, in order; empty if all lie on the CPU, or whole."""
    found = tuple([getattr(spec, what, None) for spec in specs_in(signature)])
    return found if any(found) else ()


def alike(a: Part, b: Part) -> bool:
    """True for TensorSpecs that differ in sizes at most."""
    return isinstance(a, TensorSpec) and isinstance(b, TensorSpec) and a.dtype is b.dtype and a.parameter is b.parameter and \
        a.device == b.device and a.placement == b.placement and len(a.shape) == len(b.shape)


def is_number(signature: Part) -> bool:
    """True for the signature of an int or float."""
    return isinstance(signature, ScalarSpec) or (isinstance(signature, tuple) and len(signature) > 1
                                                 and signature[0] in ("int=", "float="))


def numbers_in(signature: Part) -> Iterator[Part]:
    """The signatures of the ints and floats, in order."""
    if is_number(signature):
        yield signature
    elif isinstance(signature, tuple) and not (signature and isinstance(signature[0], str)
                                               and signature[0].endswith("=")):
        for part in signature:
            yield from numbers_in(part)


def open_numbers(pattern: Part, signature: Part) -> Part:
    """`signature` with ScalarSpecs for the numbers that are open in `pattern` or differ from it; None if more differs."""
    if isinstance(signature, TensorSpec):
        return signature if alike(pattern, signature) else None
    if is_number(signature) and is_number(pattern):
        kinds = [s.type if isinstance(s, ScalarSpec) else type(s[1]) for s in (pattern, signature)]
        if kinds[0] is not kinds[1]:
            return None
        return signature if pattern == signature else ScalarSpec(kinds[0])
    if pattern == signature:
        return signature
    if isinstance(signature, tuple) and isinstance(pattern, tuple) and len(signature) == len(pattern):
        parts = [open_numbers(p, s) for p, s in zip(pattern, signature)]
        return None if any(part is None and s is not None for part, s in zip(parts, signature)) else tuple(parts)
    return None


def abstract_values(signature: Part, value: Any) -> Any:
    """`value` with an Abstract in place of each Tensor and of each number that varies, by the signature."""
    if isinstance(signature, TensorSpec):
        sizes = tuple(s.dim if isinstance(s, Symbol) else s for s in signature.shape)
        made = AbstractTensor(signature.dtype, sizes)
        return Leaf(made) if signature.parameter else made
    if isinstance(signature, ScalarSpec):
        return AbstractScalar(signature.type)
    if isinstance(signature, TreeSpec):
        return AbstractTree(signature.type)
    if isinstance(signature, SameSpec):
        return Same(signature.number)
    if isinstance(value, (tuple, list)):
        items = [abstract_values(s, v) for s, v in zip(signature[1:], value)]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if type(value) is dict:
        return {k: abstract_values(s[1], v) for s, (k, v) in zip(signature[1:], value.items())}
    return value


def arguments_of(signature: Signature, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """(args, kwargs) of a call with an AbstractTensor in place of each Tensor."""
    inside, named = abstract_values(signature, (args, tuple(kwargs.items())))
    return inside, dict(named)


def matches(pattern: Part, signature: Part, env: dict[Symbol, int]) -> bool:
    """Does a call's signature fit a variant's, Symbols standing for sizes? env collects {Symbol: size}."""
    if isinstance(pattern, TensorSpec):
        if not alike(pattern, signature):
            return False
        for want, have in zip(pattern.shape, signature.shape):
            if isinstance(want, Symbol):
                if env.setdefault(want, have) != have or not want.accepts(have):
                    return False
            elif want != have:
                return False
        return True
    if isinstance(pattern, TreeSpec):
        return isinstance(signature, TreeSpec) and pattern.type.covers(signature.type)
    if isinstance(pattern, ScalarSpec):
        if pattern == signature or not is_number(signature):
            return pattern == signature
        kind = type(signature[1])
        return kind is pattern.type and (kind is float or -MAX_INT <= signature[1] <= MAX_INT)
    if isinstance(pattern, tuple) and isinstance(signature, tuple):
        return len(pattern) == len(signature) and all(matches(p, s, env) for p, s in zip(pattern, signature))
    return type(pattern) is type(signature) and pattern == signature


def sizes_in(signature: Part, path: str = "x") -> Iterator[tuple[str, Any]]:
    """(path, size) of every size in a signature."""
    if isinstance(signature, TensorSpec):
        for axis, size in enumerate(signature.shape):
            yield f"{path}.shape[{axis}]", size
    elif isinstance(signature, tuple):
        for number, part in enumerate(signature):
            yield from sizes_in(part, f"{path}{number}" if path == "x" else f"{path}.{number}")


def without_sizes(signature: Part) -> Part:
    """The signature with sizes left out (the number of axes stays)."""
    return map_tensors(lambda spec: replace(spec, shape=(None,) * len(spec.shape)), signature)


def sizes_that_differ(pattern: Signature, signature: Signature) -> list[tuple[str, int, int]] | None:
    """[(path, size there, size here)] if the signatures differ in sizes only, else None."""
    if without_sizes(pattern) != without_sizes(signature):
        return None
    return [(path, a, b) for (path, a), (_, b) in zip(sizes_in(pattern), sizes_in(signature))
            if not isinstance(a, Symbol) and a != b]


def open_sizes(signature: Part, chosen: Callable[[str, int], bool], path: str = "x",
               symbols: dict[int, Symbol] | None = None) -> Part:
    """The signature with a Symbol for each chosen size; equal sizes share one."""
    symbols = {} if symbols is None else symbols
    if isinstance(signature, TensorSpec):
        shape = []
        for axis, size in enumerate(signature.shape):
            if not isinstance(size, Symbol) and chosen(f"{path}.shape[{axis}]", size):
                if size not in symbols:
                    symbols[size] = Symbol(lo=0)
                size = symbols[size]
            shape.append(size)
        return replace(signature, shape=tuple(shape))
    if isinstance(signature, tuple):
        return tuple(open_sizes(part, chosen, f"{path}{n}" if path == "x" else f"{path}.{n}", symbols)
                     for n, part in enumerate(signature))
    return signature


def sizes_above_zero(pattern: Signature, signature: Signature) -> Signature:
    """The pattern with open sizes that are at least 1 where this call's are: `x[:, :1]` has one column then, and broadcasts."""
    env: dict[Symbol, int] = {}
    matches(pattern, signature, env)
    above = {s: Symbol(lo=1, hi=s.hi) for s, size in env.items() if s.lo < 1 <= size}
    return map_tensors(lambda spec: replace(spec, shape=tuple(above.get(s, s) for s in spec.shape)), pattern)


def declared_spec(inputs: Sequence[Any], signature: Signature) -> Signature:
    """The signature with the open sizes of placeholders (set_inputs) as Symbols.

    raises : ValueRangeError for a size that a declared Symbol does not allow, ShapeError for one that differs where it is unique
    """
    symbols: dict[Any, Symbol] = {}
    sizes: dict[Symbol, int] = {}

    def size_of(p: Any, n: int) -> int | Symbol:
        """The size in the signature of what is declared p and is n in this call."""
        if isinstance(p, int) and p != -1:
            return n
        if not isinstance(p, DeclaredSymbol):
            return symbols.setdefault(p if isinstance(p, Symbol) else (None, n), p if isinstance(p, Symbol) else Symbol(lo=0))
        made = symbols.setdefault(p, p.open()) if p.unique else p.open()
        if not made.accepts(n):
            raise ValueRangeError(f"a size is {n}, and was declared as {made.facts()}")
        if sizes.setdefault(made, n) != n:
            raise ShapeError(f"two sizes are {sizes[made]} and {n}, and were declared to be one", note=str(p))
        return made

    def merge(placeholder: Any, spec: Part) -> Part:
        if isinstance(spec, TensorSpec) and isinstance(placeholder, Tensor):
            if placeholder.shape == (-2,):                   # any rank
                return replace(spec, shape=tuple([size_of(None, n) for n in spec.shape]))
            if len(placeholder.shape) != len(spec.shape):
                return spec
            return replace(spec, shape=tuple([size_of(x, y) for x, y in zip(placeholder.shape, spec.shape)]))
        if isinstance(spec, tuple) and isinstance(placeholder, (tuple, list)):
            return (spec[0], *[merge(p, s) for p, s in zip(placeholder, spec[1:])], *spec[1 + len(placeholder):])
        return spec
    args, kwargs = signature[1], signature[2]
    return (signature[0], merge(tuple(inputs), args), kwargs)


def show_signature(signature: Part) -> str:
    """A signature as text."""
    if isinstance(signature, TensorSpec):
        return str(signature)
    if isinstance(signature, ObjectSpec):
        return type(signature.keep).__name__
    if isinstance(signature, tuple) and signature and isinstance(signature[0], str):
        if signature[0].endswith("="):
            return repr(signature[1])
        if signature[0] == "dict":
            return "{" + ", ".join(f"{k}: {show_signature(v)}" for k, v in signature[1:]) + "}"
        return "(" + ", ".join(show_signature(p) for p in signature[1:]) + ")"
    return str(signature)
