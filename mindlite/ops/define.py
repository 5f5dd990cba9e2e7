"""How operators are declared: `@elementwise`, `@composite`, and what all families share (promotion, broadcasting).

    @elementwise(scalar=math.tanh, array=np.tanh, derivatives=[lambda x, out: 1 - out * out])
    def tanh(x): ...

One declaration fills a row of every table: infer (broadcast), eval (array), bprop and jvp (derivatives), vmap (align
the axes), kernel (scalar), sbp (each axis split alike).
"""
from __future__ import annotations

import contextvars
import functools
import inspect
import re
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, overload

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Function
from ..common.dim import Dim
from ..common.errors import ArgumentError, DTypeError, ValueRangeError, user_level
from ..common.tensor import Tensor, as_array
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.graph import AnfNode
from ..mindir.primitive import (P, Primitive, R, bprop_rule, eval_rule, expand_rule, find_primitive, infer_rule, jvp_rule,
                                kernel_rule, primitive, vmap_rule)
from ..mindir.scalar import scalar_function
from .axes import as_flag, as_number, broadcast_index, broadcast_shapes
from .basic import broadcast_to, cast, move_batch_axis, reshape, scalar_to_tensor, sum_to
from .sbp import elementwise_spec, sbp_rule

KINDS = {"b": "bool", "u": "unsigned", "i": "integer", "f": "float", "c": "complex"}


# ---------------------------------------------------------------- operands

def is_array(value):
    """True for what is a tensor to an operator: Tensor, graph node of tensor type, ndarray."""
    if isinstance(value, AnfNode):
        return isinstance(value.abstract, AbstractTensor)
    return isinstance(value, (Tensor, np.ndarray, np.generic))


def is_scalar(value):
    """True for a Python number, known (bool, int, float, complex, Dim) or a graph node of scalar type."""
    if isinstance(value, AnfNode):
        return isinstance(value.abstract, AbstractScalar)
    return isinstance(value, (bool, int, float, complex, Dim))


def dtype_of(value):
    """The DType of an array-like."""
    if isinstance(value, (Tensor, AnfNode)):
        return value.dtype
    if not hasattr(value, "dtype"):
        raise ArgumentError(f"a tensor is wanted, not {type(value).__name__}", note=repr(value)[:80])
    return dt.dtype(value.dtype)


_HOLDS = "biufc"                                             # kinds of dtype: each holds those before it, i and u each other


def as_update(operator: str, value: Any, dtype: dt.DType) -> Any:
    """What is written into a tensor of `dtype`, cast to it.

    raises : DTypeError for a tensor of another kind than dtype holds: a float into integers, a complex number into floats
    """
    value = as_operand(value)
    if _HOLDS.index(dtype_of(value).kind) > max(_HOLDS.index(dtype.kind), 2 if dtype.kind in "iu" else 0):
        raise DTypeError(f"{operator}: a tensor of {dtype.name} does not hold {dtype_of(value).name}", hint="cast it first")
    return cast_to(value, dtype)


def conjugate(x: Any) -> Any:
    """The conjugate of complex numbers, by which a gradient multiplies; other numbers as they are."""
    return find_primitive("conj")(x) if dtype_of(x).kind == "c" else x


def rounded_once(function: Callable[P, Any]) -> Callable[P, Any]:
    """A decorator of a function of floats, written in smaller operators: of float16 and bfloat16 it computes in float32 and
    rounds the result, as torch does. In halves, x - tanh(x) of a small x would have no correct digit."""
    @functools.wraps(function)
    def wide(*args: P.args, **attrs: P.kwargs) -> Any:
        kinds = {dtype_of(x) for x in (*args, *attrs.values()) if is_array(x)}
        if not kinds or not all(kind in (dt.float16, dt.bfloat16) for kind in kinds):
            return function(*args, **attrs)
        made = function(*map(_single, args), **{name: _single(x) for name, x in attrs.items()})
        return cast_to(made, kinds.pop()) if len(kinds) == 1 else made
    return wide


def _single(value):
    return cast(value, dtype=dt.float32) if is_array(value) else value


def is_in_graph(x):
    """True for what stands for a Tensor in a graph."""
    return isinstance(x, AnfNode)


def as_operand(value, dtype=None):
    """An operand in the form that rules take: lists become arrays, Python numbers arrays of `dtype`; the rest stays."""
    if isinstance(value, (Tensor, np.ndarray)):
        return value
    if isinstance(value, AnfNode):
        if isinstance(value.abstract, AbstractScalar):
            return scalar_to_tensor(value, dtype=dtype or dt.dtype(value.abstract.type))
        return value
    if isinstance(value, Dim):
        return scalar_to_tensor(value, dtype=dtype or dt.int64)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        wanted = (dtype or dt.dtype(type(value))).numpy
        return of_int(value, wanted) if type(value) is int and wanted.kind in "iu" else np.asarray(value, wanted)
    if isinstance(value, (list, tuple)):
        return as_sequence(value, dtype)
    raise ArgumentError(f"a tensor or a number is wanted, not {type(value).__name__}", note=repr(value)[:80])


def of_int(value, dtype):
    """A Python int as an array of an integer NumPy dtype; what the dtype does not hold wraps around: -1 is 255 in uint8.

    raises : ValueRangeError for an int outside of 64 bits
    """
    try:
        return np.asarray(value if holds(dtype, value) else np.asarray(value).astype(dtype), dtype)
    except OverflowError:
        raise ValueRangeError(f"an operand is an int of at most 64 bits, not {value}") from None


def holds(dtype, value):
    """True where an integer NumPy dtype has the int `value`."""
    ends = np.iinfo(dtype)
    return ends.min <= value <= ends.max


def as_mask(operator, mask):
    """A mask as an operand. raises : DTypeError for numbers, which may be indices that were meant"""
    mask = as_operand(mask)
    if dtype_of(mask) is not dt.bool_:
        raise DTypeError(f"{operator}: a mask is bool, not {dtype_of(mask).name}", hint="compare first: mask != 0")
    return mask


def check_tensors(operator, **operands):
    """raises : ArgumentError for an operand that is a Python number, a list or anything else that is no tensor"""
    for name, value in operands.items():
        if not isinstance(value, (Tensor, np.ndarray)) and (
                not isinstance(value, AnfNode) or isinstance(value.abstract, AbstractScalar)):
            raise ArgumentError(f"{operator}: {name} is a tensor, not {type(value).__name__}")


def as_sequence(values, dtype=None):
    """A tensor of nested lists and tuples of numbers: an array where all are known, else those of the graph, stacked.

    raises : ArgumentError where Tensors are among them: the results of a function are no operand
    """
    if _holds_tensor(values):
        raise ArgumentError(f"a tensor or a number is wanted, not a {type(values).__name__} of tensors",
                            hint="take the one that is meant, or make one Tensor of them by ops.stack")
    return as_stack(values, dtype)


def as_stack(values, dtype=None):
    """A tensor of nested lists and tuples: an array where all is known, else their tensors, stacked."""
    if not any(map(_holds_tensor, values)) and not _holds_number(values):
        return as_array(values, dtype)
    rows = [as_stack(v, dtype) if isinstance(v, (list, tuple)) else as_operand(v, dtype) for v in values]
    rows = [reshape(row, shape=(1, *row.shape)) for row in promote_operands(tuple(rows), {})[0]]
    return find_primitive("concatenate")(*rows, axis=0)


def _holds_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensor, value))
    return isinstance(value, Tensor) or isinstance(value, AnfNode) and not isinstance(value.abstract, AbstractScalar)


def _holds_number(value):
    """True where a number that only a graph knows is among them."""
    return any(map(_holds_number, value)) if isinstance(value, (list, tuple)) else isinstance(value, AnfNode)


def promote_operands(args, attrs):
    """Bring operands to one dtype: tensors by the promotion table, Python numbers by their kind."""
    a = args[0]
    if type(a) is Tensor:                                    # the common case, kept short
        array = a.elements.dtype
        for b in args:
            if type(b) is not Tensor or b.elements.dtype != array:
                break
        else:
            return args, attrs
        if len(args) == 2 and (type(b) is float and array.kind == "f" or type(b) is int and array.kind in "fi"):
            return (a, of_int(b, array) if array.kind == "i" else np.asarray(b, array)), attrs   # x * 2: the tensor's dtype
    args = tuple(as_sequence(x) if isinstance(x, (list, tuple)) else x for x in args)
    arrays = [x for x in args if is_array(x)]
    if not arrays:
        args = tuple(as_operand(x) for x in args)
        arrays = args
    wanted = dtype_of(arrays[0])
    for x in arrays[1:]:
        wanted = dt.promote(wanted, dtype_of(x))
    for x in args:
        if not is_array(x):
            value = x.abstract.type(0) if isinstance(x, AnfNode) and isinstance(x.abstract, AbstractScalar) else \
                0 if isinstance(x, Dim) else x
            if not isinstance(value, (bool, int, float, complex)):
                raise ArgumentError(f"a tensor or a number is wanted, not {type(x).__name__}", note=repr(x)[:80])
            wanted = dt.promote_scalar(wanted, value)
    return tuple(cast_to(x, wanted) for x in args), attrs


def comparable_operands(args, attrs):
    """As promote_operands, but a Python int that a tensor's integer dtype does not hold is equal to none of its elements."""
    for x, number in (args, args[::-1]) if len(args) == 2 else ():
        if is_array(x) and is_scalar(number) and dtype_of(x).kind in "iu" and dtype_of(x).bits < 64:
            unknown = isinstance(number, Dim) or isinstance(number, AnfNode) and number.abstract.type is int
            if unknown or type(number) is int and not holds(dtype_of(x).numpy, number):
                args = tuple(cast(a, dtype=dt.int64) if a is x else a for a in args)
    return promote_operands(args, attrs)


def cast_to(value, dtype):
    """`value` with element type `dtype`, through `cast` where it is an array of another one."""
    if is_array(value):
        return value if dtype_of(value) is dtype else cast(value, dtype=dtype)
    return as_operand(value, dtype)


_noted: set = set()


def layer_operands(name, x, weight):
    """The input and the weight of a layer as operands of one dtype. A float64 input of a float32 layer is noted, once."""
    x, weight = as_operand(x), as_operand(weight)
    if dtype_of(x) is dt.float64 and dtype_of(weight) is dt.float32 and name not in _noted:
        _noted.add(name)
        warnings.warn(f"{name}: the input is float64 and the weight float32, so it computes in float64; "
                      "x.astype(mindlite.float32) avoids it (NumPy makes float64)", stacklevel=user_level())
    return promote_operands((x, weight), {})[0]


def to_float(args, attrs):
    """As promote_operands; integers and bools become float32."""
    args, attrs = promote_operands(args, attrs)
    if dtype_of(args[0]).kind in "bui":
        args = tuple(cast(x, dtype=dt.float32) for x in args)
    return args, attrs


class _Quiet(threading.local):
    """A context of this thread in which NumPy says nothing of inf and NaN: entering it costs a tenth of np.errstate."""

    def __init__(self):
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()
_by_context = np.lib.NumpyVersion(np.__version__) >= "2.0.0"     # before, NumPy kept these settings elsewhere


def quietly(function, args, attrs):
    """function(*args, **attrs) of ndarrays, without warnings about inf and NaN."""
    if _by_context and type(function) is np.ufunc:          # calls nothing that would enter the context again
        return _quiet.run(function, *args, **attrs)
    with np.errstate(all="ignore"):
        return function(*args, **attrs)


# ---------------------------------------------------------------- elementwise operators

def elementwise(*, scalar: Any, array: Any, derivatives: Any = None, accepts: str = "buifc", out_dtype: Any = None,
                prepare: Function | None = promote_operands, kernel: bool = True, traits: Iterable[str] = (),
                name: str | None = None, sbp_linear: Any = None) -> Callable[[Callable[P, Any]], Primitive[P, Tensor]]:
    """Declare an operator that works element by element, with NumPy's broadcasting.

    scalar     : the function of one element (Python scalars), or of ScalarExprs; gives the kernel
    array      : the function of ndarrays; gives eval
    derivatives: per operand a function (*args, out) -> d out / d arg, a number, or None for none
    accepts    : kinds of dtype taken: any of b(ool) u(nsigned) i(nteger) f(loat) c(omplex)
    out_dtype  : None for the operands' dtype, or a DType, or a function of it
    prepare    : brings the operands to one dtype; None leaves them
    kernel     : False for what kernels cannot compute
    name       : the primitive's name where it is not the function's
    sbp_linear : sets of operands in which the operator is jointly linear (see sbp.py); found where derivatives are
                 numbers
    """
    operator_name = name

    def declare(function: Callable[P, Any]) -> Primitive[P, Tensor]:
        prim = primitive(function, traits={"elementwise", *traits}, prepare=prepare, name=operator_name)
        name, n = prim.name, len(prim.inputs)
        prim.doc = with_dtypes(prim, accepts, prepare)

        checks = [(setting, as_number if kind == "float" else as_flag) for setting, kind in function.__annotations__.items()
                  if setting in prim.attrs and kind in ("float", "bool")]

        @infer_rule(prim)
        def infer(*args, **attrs):
            dtype = args[-1].dtype
            for setting, check in checks:
                check(name, setting, attrs[setting])
            for label, arg in zip(prim.inputs, args):
                if arg.dtype.kind not in accepts:
                    raise DTypeError(f"{name}: does not take {arg.dtype.name}", note=f"{label}: {arg}",
                                     hint="takes " + ", ".join(KINDS[k] for k in accepts))
            made = dtype if out_dtype is None else out_dtype(dtype) if callable(out_dtype) else out_dtype
            shape = args[0].shape if n == 1 else broadcast_shapes(name, *(a.shape for a in args))
            return AbstractTensor(made, shape)

        if type(array) is np.ufunc and out_dtype is None and not prim.attrs and _by_context:
            eval_rule(prim)(ufunc_evaluator(array))
        else:
            eval_rule(prim)(array_evaluator(array, out_dtype))

        if kernel:
            @kernel_rule(prim)
            def kernel_of(*operands, out, **attrs):
                expression = scalar_function(scalar)

                def element(*index):
                    return expression(*(x[broadcast_index(x, index)] for x in operands), **attrs)
                return element

        vmap_rule(prim)(lambda args, dims, size, **attrs: vmap_elementwise(prim, args, dims, size, attrs))
        if derivatives is not None:
            _differentiate(prim, derivatives)
        constant = derivatives is not None and all(isinstance(d, (int, float)) for d in derivatives)
        linear = sbp_linear if sbp_linear is not None else [set(range(n))] if constant else []
        sbp_rule(prim, elementwise_spec, linear=linear)
        return prim
    return declare


def with_dtypes(prim: Primitive, accepts: str, prepare: Function | None) -> str:
    """The docstring of an elementwise operator, with the dtypes of operands of which it does not speak, as infer checks them."""
    doc = inspect.cleandoc(prim.doc)
    if all(re.search(rf"^[\w, ]*\b{name}\b[\w, ]*:", doc, re.MULTILINE) for name in prim.inputs):
        return doc
    taken = "buif" if prepare is to_float and accepts == "f" else "buifc" if prepare is to_float and accepts == "fc" else accepts
    lines = [f"{', '.join(prim.inputs)} : Tensor or number, of {', '.join(KINDS[kind] for kind in taken)} dtype"]
    lines += ["raises : DTypeError for another dtype"] if taken != "buifc" and "raises" not in doc else []
    return doc + ("\n" if "\n" in doc else "\n\n") + "\n".join(lines)


def documented(**parts: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: `{name}` in the docstring stands for the part of that name, which several functions share."""
    def complete(function):
        doc = inspect.cleandoc(function.__doc__ or "")
        for name, part in parts.items():
            doc = doc.replace(f"{{{name}}}", inspect.cleandoc(part))
        function.__doc__ = doc
        return function
    return complete


def ufunc_evaluator(array):
    """The eval rule of a NumPy ufunc whose result has the operands' dtype: short, as eager mode runs it most of all."""
    def evaluate(*args):
        if args[-1].dtype is dt.int4.numpy:
            return evaluate(*[a.astype(np.int8) for a in args]).astype(args[-1].dtype)
        out = _quiet.run(array, *args)
        return out if type(out) is np.ndarray and out.dtype is args[-1].dtype else np.asarray(out, args[-1].dtype)
    setattr(evaluate, "ufunc", array)                       # eager mode calls its loops (pynative/native.py)
    return evaluate


# NumPy has no arithmetic on int4, and rounds halves after each step; kernels round them once
_COMPUTED_IN = {dt.int4.numpy: np.int8, dt.float16.numpy: np.float32, dt.bfloat16.numpy: np.float32}


def array_evaluator(array, out_dtype):
    """The eval rule of any function of ndarrays."""
    def evaluate(*args, **attrs):
        wide = [a.astype(_COMPUTED_IN[a.dtype]) if a.dtype in _COMPUTED_IN else a for a in args]
        out = quietly(array, wide, attrs)                       # inf and NaN are results
        made = out_dtype if isinstance(out_dtype, dt.DType) else \
            out_dtype(dt.dtype(args[-1].dtype)) if out_dtype else None
        wanted = made.numpy if made else args[-1].dtype
        return out if isinstance(out, np.ndarray) and out.dtype == wanted else quietly(np.asarray(out).astype, (wanted,), {})
    setattr(evaluate, "ufunc", array if type(array) is np.ufunc else None)
    return evaluate


def _differentiate(prim, derivatives):
    def slope(d, args, out, attrs):
        if not callable(d):
            return d
        return d(*args, out, **attrs) if _takes_attrs(d) else d(*args, out)

    @bprop_rule(prim)
    def bprop(*args, out, dout, **attrs):
        grads: list = []
        for x, d in zip(args, derivatives):
            if d is None or not dtype_of(x).is_differentiable:
                grads.append(None)
                continue
            g = slope(d, args, out, attrs)
            if dtype_of(x).kind == "c" and is_array(g):
                g = conjugate(g)
            grads.append(sum_to(dout if _is_one(g) else -dout if _is_minus_one(g) else dout * g, x.shape))
        return tuple(grads)

    @jvp_rule(prim)
    def jvp(primals, tangents, out, **attrs):
        total = None
        for d, t in zip(derivatives, tangents):
            if d is None or t is None:
                continue
            g = slope(d, primals, out, attrs)
            part = t if _is_one(g) else t * g
            total = part if total is None else total + part
        return total if total is None else same_shape_tangent(total, out)


def same_shape_tangent(tangent, out):
    """A tangent repeated to the shape of `out`, where only operands that were broadcast have one."""
    return tangent if tangent.shape == out.shape else broadcast_to(tangent, shape=out.shape)


def _takes_attrs(function):
    return any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in inspect.signature(function).parameters.values())


def _is_one(value):
    return isinstance(value, (int, float)) and value == 1


def _is_minus_one(value):
    return isinstance(value, (int, float)) and value == -1


def vmap_elementwise(prim, args, dims, size, attrs):
    """Batch an elementwise operator: batch axes in front, missing axes after them inserted as ones."""
    rank = max(x.ndim - (d is not None) for x, d in zip(args, dims))
    ready = []
    for x, d in zip(args, dims):
        if d is not None:
            x = move_batch_axis(x, d)
            missing = rank - (x.ndim - 1)
            if missing:
                x = reshape(x, shape=x.shape[:1] + (1,) * missing + x.shape[1:])
        ready.append(x)
    return prim(*ready, **attrs), 0


# ---------------------------------------------------------------- composites

@overload
def composite(function: Callable[P, R], *, infer: Function, prepare: Function | None = None, traits: Iterable[str] = (),
              name: str | None = None, once: bool = False) -> Primitive[P, R]:
    """Of a function."""


@overload
def composite(function: None = None, *, infer: Function, prepare: Function | None = None, traits: Iterable[str] = (),
              name: str | None = None, once: bool = False) -> Callable[[Callable[P, R]], Primitive[P, R]]:
    """A decorator."""


def composite(function: Any = None, *, infer: Function, prepare: Function | None = None, traits: Iterable[str] = (),
              name: str | None = None, once: bool = False) -> Any:
    """Declare an operator whose meaning is its body, written in smaller operators: the body is its `expand` rule.

    infer: its shape rule. eval runs the body eagerly; bprop, jvp and vmap, unless given, come from the body.
    once : halves are computed in float32 and rounded once (`rounded_once`)
    """
    if function is None:
        return lambda f: composite(f, infer=infer, prepare=prepare, traits=traits, name=name, once=once)
    prim = primitive(function, traits={"composite", *traits}, prepare=prepare, name=name)
    infer_rule(prim)(infer)
    body = rounded_once(function) if once else function
    expand_rule(prim)(body)

    @eval_rule(prim)
    def evaluate(*args, **attrs):
        out = body(*(Tensor.wrap(a) for a in args), **attrs)
        return tuple(x.host_array for x in out) if isinstance(out, tuple) else out.host_array
    return prim


def same_as_first(x, *others, **attrs):
    """An infer rule: the result is like the first operand."""
    return x
