"""Signatures: what a call of a jitted function looks like, which variant fits it, and which sizes should be open.

    f(x, 2, bias=None)   ->   (f32[32, 784], 2, bias=None)        fits the variant  (f32[N, 784], 2, bias=None)
"""
from dataclasses import dataclass, field

import numpy as np

from ..common import dtype as dt
from ..common.dim import Symbol
from ..common.tensor import Parameter, Tensor
from ..mindir.abstract import AbstractTensor


@dataclass(frozen=True)
class ObjectSpec:
    """A constant that is compared by identity."""
    number: int
    keep: object = field(compare=False, hash=False, default=None)


@dataclass(frozen=True)
class TensorSpec:
    """What a signature says of a Tensor: dtype and sizes (int, or Symbol in a variant)."""
    dtype: object
    shape: tuple

    def __str__(self):
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]"


class Leaves(list):
    """The Tensors of a call, in order; `containers` are the lists and dicts among its arguments."""
    __slots__ = ("containers",)

    def __init__(self):
        super().__init__()
        self.containers = []


def signature_of(value, leaves):
    """The signature of a pytree of arguments, hashable.

    Tensors and arrays are appended to `leaves`, lists and dicts (which the function may change) to its `containers`.
    """
    cls = type(value)
    if cls is Tensor or cls is Parameter:
        leaves.append(value)
        return TensorSpec(value.dtype, value.array.shape)
    if cls is tuple:
        return ("tuple", *[signature_of(v, leaves) for v in value])
    if cls is list:
        leaves.containers.append(value)
        return ("list", *[signature_of(v, leaves) for v in value])
    if cls is dict:
        leaves.containers.append(value)
        return ("dict", *[(k, signature_of(v, leaves)) for k, v in value.items()])
    if cls in (int, float, bool, str, type(None), complex, bytes):
        return (cls.__name__ + "=", value, repr(value)) if cls is float else (cls.__name__ + "=", value)
    if isinstance(value, Tensor):
        leaves.append(value)
        return TensorSpec(value.dtype, value.array.shape)
    if isinstance(value, np.ndarray):
        leaves.append(Tensor.wrap(np.ascontiguousarray(value)))
        return TensorSpec(dt.dtype(value.dtype), value.shape)
    if isinstance(value, tuple):
        return (ObjectSpec(id(cls), cls), *[signature_of(v, leaves) for v in value])
    return ObjectSpec(id(value), value)


def flat_specs(signature, found):
    """The TensorSpecs of a signature, in the order of the leaves."""
    if isinstance(signature, TensorSpec):
        found.append(signature)
    elif isinstance(signature, tuple):
        for part in signature:
            flat_specs(part, found)


def abstract_values(signature, value):
    """`value` with an AbstractTensor in place of each Tensor, by the signature."""
    if isinstance(signature, TensorSpec):
        return AbstractTensor(signature.dtype, tuple(s.dim if isinstance(s, Symbol) else s for s in signature.shape))
    if isinstance(value, (tuple, list)):
        items = [abstract_values(s, v) for s, v in zip(signature[1:], value)]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if type(value) is dict:
        return {k: abstract_values(s[1], v) for s, (k, v) in zip(signature[1:], value.items())}
    return value


def arguments_of(signature, args, kwargs):
    """(args, kwargs) of a call with an AbstractTensor in place of each Tensor."""
    inside, named = abstract_values(signature, (args, tuple(kwargs.items())))
    return inside, dict(named)


def matches(pattern, signature, env):
    """Does a call's signature fit a variant's, Symbols standing for sizes? env collects {Symbol: size}."""
    if isinstance(pattern, TensorSpec):
        if not isinstance(signature, TensorSpec) or pattern.dtype is not signature.dtype or \
                len(pattern.shape) != len(signature.shape):
            return False
        for want, have in zip(pattern.shape, signature.shape):
            if isinstance(want, Symbol):
                lo, hi = want.bounds()
                if env.setdefault(want, have) != have or have < lo or (hi is not None and have > hi):
                    return False
            elif want != have:
                return False
        return True
    if isinstance(pattern, tuple) and isinstance(signature, tuple):
        return len(pattern) == len(signature) and all(matches(p, s, env) for p, s in zip(pattern, signature))
    return type(pattern) is type(signature) and pattern == signature


def sizes_in(signature, path="x"):
    """(path, size) of every size in a signature."""
    if isinstance(signature, TensorSpec):
        for axis, size in enumerate(signature.shape):
            yield f"{path}.shape[{axis}]", size
    elif isinstance(signature, tuple):
        for number, part in enumerate(signature):
            yield from sizes_in(part, f"{path}{number}" if path == "x" else f"{path}.{number}")


def without_sizes(signature):
    """The signature with sizes left out (the number of axes stays)."""
    if isinstance(signature, TensorSpec):
        return TensorSpec(signature.dtype, (None,) * len(signature.shape))
    return tuple(without_sizes(p) for p in signature) if isinstance(signature, tuple) else signature


def sizes_that_differ(pattern, signature):
    """[(path, size there, size here)] if the signatures differ in sizes alone, else None."""
    if without_sizes(pattern) != without_sizes(signature):
        return None
    return [(path, a, b) for (path, a), (_, b) in zip(sizes_in(pattern), sizes_in(signature))
            if not isinstance(a, Symbol) and a != b]


def open_sizes(signature, chosen, path="x", symbols=None):
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
        return TensorSpec(signature.dtype, tuple(shape))
    if isinstance(signature, tuple):
        return tuple(open_sizes(part, chosen, f"{path}{n}" if path == "x" else f"{path}.{n}", symbols)
                     for n, part in enumerate(signature))
    return signature


def declared_spec(inputs, signature):
    """The signature with the open sizes of placeholders (set_inputs) as Symbols."""
    symbols = {}

    def merge(placeholder, spec):
        if isinstance(spec, TensorSpec) and isinstance(placeholder, Tensor):
            if len(placeholder.shape) != len(spec.shape):
                return spec
            return TensorSpec(spec.dtype, tuple(
                symbols.setdefault((p, n) if p is None else p, p if isinstance(p, Symbol) else Symbol(lo=0))
                if not isinstance(p, int) or p == -1 else n for p, n in zip(placeholder.shape, spec.shape)))
        if isinstance(spec, tuple) and isinstance(placeholder, (tuple, list)):
            return (spec[0], *[merge(p, s) for p, s in zip(placeholder, spec[1:])], *spec[1 + len(placeholder):])
        return spec
    args, kwargs = signature[1], signature[2]
    return (signature[0], merge(tuple(inputs), args), kwargs)


def first_difference(a, b):
    """Words for the first place where two signatures differ."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        for x, y in zip(a, b):
            if x != y:
                return first_difference(x, y)
    return f"{show_signature(a)} -> {show_signature(b)}"


def show_signature(signature):
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
