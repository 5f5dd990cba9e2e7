"""Discrete Fourier transforms: three primitives, of complex numbers, of real ones, and to real ones.

    fourier(x)[k] = s sum over j of x[j] exp(-2 pi i j k / n)           inverse: exp(+2 pi i j k / n)
    fourier_of_real(x)  its first n // 2 + 1 results for real x: the others are their conjugates, backwards
    fourier_to_real(y)  the sum over n numbers of which these are given, which is real

scale "sum", "mean", "ortho": s is 1, 1 / n, 1 / sqrt(n). All are linear. In mindlite's convention (conjugate Wirtinger) the
transpose of `fourier` is the other direction; those of the other two are each other's, with `weighted`: numbers that stand for
two count twice (of_real) or half (to_real).

Source: Cooley and Tukey 1965; pocketfft, which NumPy brings, computes them.
"""
from __future__ import annotations

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Axes, Ints
from ..common.dim import compare
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive, vmap_rule
from .axes import as_size, normal_axes, normal_axis
from .basic import cast, move_batch_axis
from .complex_numbers import make_complex, part_dtype, real
from .creation import arange
from .define import as_operand, documented, dtype_of
from .sbp import letters, sbp_rule
from .slicing import take_range
from .structure import pad_constant, roll


_WHOLE = {dt.float32: dt.complex64, dt.float64: dt.complex128}
_REALS = tuple(_WHOLE)


def _check(name, x, axes, dtypes):
    if x.dtype not in dtypes:
        raise DTypeError(f"{name}: takes {', '.join(d.name for d in dtypes)}", note=f"x: {x}")
    for axis in axes:
        require(">=", x.shape[axis], 1,
                lambda: ShapeError(f"{name}: an empty axis has no transform", note=f"x: {x}, axis {axis}"))


def _norm(scale, inverse):
    """NumPy's word for a scale: "backward" divides the inverse, "forward" the other direction."""
    return "ortho" if scale == "ortho" else "backward" if inverse == (scale == "mean") else "forward"


@primitive(traits={"library"})
def fourier(x, *, axes, inverse, scale="sum"):
    """The discrete Fourier transform of x : float or complex along `axes`, counted from the front; see the module.

    out    : complex, of x's shape
    raises : DTypeError for what is neither complex nor float32 or float64
    """


@infer_rule(fourier)
def fourier_infer(x, *, axes, inverse, scale):
    _check("fourier", x, axes, (*_REALS, *_WHOLE.values()))
    return AbstractTensor(_WHOLE.get(x.dtype, x.dtype), x.shape)


@eval_rule(fourier)
def fourier_eval(x, *, axes, inverse, scale):
    transform = np.fft.ifftn if inverse else np.fft.fftn
    out = transform(x, axes=axes, norm=_norm(scale, inverse))
    return np.ascontiguousarray(out, np.result_type(x.dtype, np.complex64))


@bprop_rule(fourier)
def fourier_bprop(x, out, dout, *, axes, inverse, scale):
    dx = fourier(dout, axes=axes, inverse=not inverse, scale=scale)
    return dx if x.dtype.kind == "c" else real(dx)


@jvp_rule(fourier)
def fourier_jvp(primals, tangents, out, *, axes, inverse, scale):
    return fourier(tangents[0], axes=axes, inverse=inverse, scale=scale)


@vmap_rule(fourier)
def fourier_vmap(args, dims, size, *, axes, inverse, scale):
    x = move_batch_axis(args[0], dims[0])
    return fourier(x, axes=tuple(axis + 1 for axis in axes), inverse=inverse, scale=scale), 0


def _spec(x, *, axes=(), axis=None, **attrs):
    names = "".join("_" if i in axes or i == axis else c for i, c in enumerate(letters(len(x.shape))))
    return f"{names}->{names}"


sbp_rule(fourier, _spec, linear=[{0}])


# ---------------------------------------------------------------- of and to real numbers

@primitive(traits={"library"})
def fourier_of_real(x, *, axis, inverse=False, scale="sum", weighted=False):
    """The first n // 2 + 1 numbers of the transform of x : float32 or float64 along an axis of n, counted from the front.

    weighted : the numbers between the first and the middle one count twice
    """


@infer_rule(fourier_of_real)
def fourier_of_real_infer(x, *, axis, inverse, scale, weighted):
    _check("fourier_of_real", x, (axis,), _REALS)
    return AbstractTensor(_WHOLE[x.dtype], (*x.shape[:axis], x.shape[axis] // 2 + 1, *x.shape[axis + 1:]))


def _between(axis, n):
    """Where the numbers lie that stand for two: not for the first, nor for the middle one of an even n."""
    return (slice(None),) * axis + (slice(1, (n + 1) // 2),)


@eval_rule(fourier_of_real)
def fourier_of_real_eval(x, *, axis, inverse, scale, weighted):
    out = np.ascontiguousarray(np.fft.rfft(x, axis=axis, norm=_norm(scale, False)), np.result_type(x.dtype, np.complex64))
    twice = out[_between(axis, x.shape[axis])]
    if weighted:
        twice *= 2
    if inverse:
        np.conj(twice, out=twice)
    return out


@bprop_rule(fourier_of_real)
def fourier_of_real_bprop(x, out, dout, *, axis, inverse, scale, weighted):
    return fourier_to_real(dout, n=x.shape[axis], axis=axis, inverse=not inverse, scale=scale, weighted=not weighted)


@jvp_rule(fourier_of_real)
def fourier_of_real_jvp(primals, tangents, out, **attrs):
    return fourier_of_real(tangents[0], **attrs)


@vmap_rule(fourier_of_real)
def fourier_of_real_vmap(args, dims, size, *, axis, **attrs):
    return fourier_of_real(move_batch_axis(args[0], dims[0]), axis=axis + 1, **attrs), 0


sbp_rule(fourier_of_real, _spec, linear=[{0}])


@primitive(traits={"library"})
def fourier_to_real(x, *, n, axis, inverse=True, scale="sum", weighted=False):
    """The transform of n complex numbers along an axis, counted from the front, of which x has the first n // 2 + 1: the others
    are their conjugates, backwards. Of the first one, and of the middle one of an even n, the real part counts.

    weighted : the others, which are no numbers of their own, do not count; out : float
    """


@infer_rule(fourier_to_real)
def fourier_to_real_infer(x, *, n, axis, inverse, scale, weighted):
    _check("fourier_to_real", x, (axis,), tuple(_WHOLE.values()))
    require("==", x.shape[axis], n // 2 + 1,
            lambda: ShapeError("fourier_to_real: n // 2 + 1 numbers are wanted", note=f"x: {x}, n: {n}, axis {axis}"))
    return AbstractTensor(part_dtype(x.dtype), (*x.shape[:axis], n, *x.shape[axis + 1:]))


@eval_rule(fourier_to_real)
def fourier_to_real_eval(x, *, n, axis, inverse, scale, weighted):
    norm = _norm(scale, True)
    out = np.fft.irfft(x if inverse else np.conj(x), n=n, axis=axis, norm=norm)
    if weighted:                                             # half of: the sum, and what stands for itself alone once more
        alone = x.real.copy()
        alone[_between(axis, n)] = 0
        out = (out + np.fft.irfft(alone, n=n, axis=axis, norm=norm)) / 2
    return np.ascontiguousarray(out, x.real.dtype)


@bprop_rule(fourier_to_real)
def fourier_to_real_bprop(x, out, dout, *, n, axis, inverse, scale, weighted):
    return fourier_of_real(dout, axis=axis, inverse=not inverse, scale=scale, weighted=not weighted)


@jvp_rule(fourier_to_real)
def fourier_to_real_jvp(primals, tangents, out, **attrs):
    return fourier_to_real(tangents[0], **attrs)


@vmap_rule(fourier_to_real)
def fourier_to_real_vmap(args, dims, size, *, axis, **attrs):
    return fourier_to_real(move_batch_axis(args[0], dims[0]), axis=axis + 1, **attrs), 0


sbp_rule(fourier_to_real, _spec, linear=[{0}])


# ---------------------------------------------------------------- sizes, axes and scale

def _float(x):
    """Real numbers as floats that a complex type has."""
    return x if dtype_of(x) is dt.float64 else cast(x, dtype=dt.float32)


def _number(input):
    """Complex numbers as they are, others as floats."""
    x = as_operand(input)
    return x if dtype_of(x).kind == "c" else _float(x)


def _real(name, input):
    x = as_operand(input)
    if dtype_of(x).kind == "c":
        raise DTypeError(f"{name}: takes real numbers", note=f"input: {dtype_of(x).name}")
    return _float(x)


def _axes(name, x, s, dim):
    """(sizes, or None where they stay; axes counted from the front): `s` without axes means the last ones."""
    if x.ndim == 0:
        raise ShapeError(f"{name}: a tensor without axes has no transform")
    if dim is None:
        dim = range(x.ndim) if s is None else range(-len(s), 0)
    axes = tuple(normal_axis(name, a, x.ndim) for a in (dim if not isinstance(dim, int) else (dim,)))
    if len(set(axes)) != len(axes):
        raise ValueRangeError(f"{name}: an axis is named twice in {tuple(dim)}")
    sizes = (None,) * len(axes) if s is None else tuple(s) if not isinstance(s, int) else (s,)
    if len(sizes) != len(axes):
        raise ArgumentError(f"{name}: as many sizes as axes are wanted", note=f"s: {s}, dim: {dim}")
    return tuple(None if n is None or n == -1 else as_size(name, n) for n in sizes), axes


def _fit(name, x, sizes, axes):
    """x cut, or continued with zeros, to the sizes along the axes."""
    for n, axis in zip(sizes, axes):
        if n is None or n == x.shape[axis]:
            if isinstance(x.shape[axis], int) and x.shape[axis] == 0:
                raise ShapeError(f"{name}: an empty axis has no transform", note=f"axis {axis} of {list(x.shape)}")
            continue
        if n < 1:
            raise ValueRangeError(f"{name}: a size is at least 1", note=f"{n}")
        if n < x.shape[axis]:
            x = take_range(x, axis, 0, n)
        else:
            x = pad_constant(x, [(0, n - x.shape[axis] if i == axis else 0) for i in range(x.ndim)])
    return x


def _scale(name, norm, inverse):
    """What the plain sum becomes, as the primitives say it. norm : None or "backward", "ortho", "forward"."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueRangeError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return "ortho" if norm == "ortho" else "mean" if inverse == (norm != "forward") else "sum"


def _transform(name, x, s, dim, norm, inverse):
    sizes, axes = _axes(name, x, s, dim)
    x = _fit(name, x, sizes, axes)
    return fourier(x, axes=axes, inverse=inverse, scale=_scale(name, norm, inverse))


def _of_real(name, input, s, dim, norm, inverse=False):
    """The transform along all axes, of the last one the first half."""
    x = _real(name, input)
    sizes, axes = _axes(name, x, s, dim)
    x, scale = _fit(name, x, sizes, axes), _scale(name, norm, inverse)
    out = fourier_of_real(x, axis=axes[-1], inverse=inverse, scale=scale)
    return fourier(out, axes=axes[:-1], inverse=inverse, scale=scale) if len(axes) > 1 else out


def _to_real(name, input, s, dim, norm, inverse=True):
    """The transform whose last axis is half of a row that is its own conjugate, backwards; gives real numbers."""
    x = _number(input)
    sizes, axes = _axes(name, x, s, dim)
    last = axes[-1]
    n = sizes[-1] if sizes[-1] is not None else 2 * (x.shape[last] - 1)
    if isinstance(n, int) and n < 1:
        raise ValueRangeError(f"{name}: the result has no element", note=f"its size along axis {last}: {n}")
    x, scale = _fit(name, x, (*sizes[:-1], n // 2 + 1), axes), _scale(name, norm, inverse)
    if len(axes) > 1:
        x = fourier(x, axes=axes[:-1], inverse=inverse, scale=scale)
    x = x if dtype_of(x).kind == "c" else make_complex(x, 0)
    return fourier_to_real(x, n=n, axis=last, inverse=inverse, scale=scale)


# ---------------------------------------------------------------- what the docstrings share

_NORM = """
norm   : None or "backward": the inverse is divided by the number n of summed elements; "forward": the other direction
         is; "ortho": both are divided by sqrt(n)
"""
_ERRORS = """
raises : ValueRangeError for another norm, a size below 1, an axis outside the tensor or named twice; ArgumentError for
         a size that is no int or sizes for other axes; ShapeError for a tensor without axes or an empty axis
source : Cooley and Tukey 1965, computed by pocketfft
"""
_AXES = """
s      : ints, a size for each axis, to which it is cut or continued with zeros first (-1 keeps it); None keeps all
dim    : ints, the axes; None: the last ones, as many as `s` has sizes, or all
"""
_ONE_AXIS = documented(axis="dim    : int, the axis" + _NORM, errors=_ERRORS)
_SEVERAL_AXES = documented(axes=_AXES + _NORM.lstrip(), errors=_ERRORS)


# ---------------------------------------------------------------- complex transforms

@planned
@_ONE_AXIS
def fft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along one axis: out[k] = sum_j input[j] exp(-2 pi i j k / n).

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    n      : int or None; the axis is cut, or continued with zeros, to this size first
    {axis}
    out    : complex, of input's shape but for n
    {errors}
    """
    return _transform("fft", _number(input), None if n is None else (n,), (dim,), norm, False)


@planned
@_ONE_AXIS
def ifft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of fft: out[j] = 1 / n sum_k input[k] exp(2 pi i j k / n).

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    n      : int or None; the axis is cut, or continued with zeros, to this size first
    {axis}
    out    : complex, of input's shape but for n
    {errors}
    """
    return _transform("ifft", _number(input), None if n is None else (n,), (dim,), norm, True)


@planned
@_SEVERAL_AXES
def fftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """`fft` along several axes.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("fftn", _number(input), s, dim, norm, False)


@planned
@_SEVERAL_AXES
def ifftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of fftn.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("ifftn", _number(input), s, dim, norm, True)


@planned
@_SEVERAL_AXES
def fft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft` along two axes, the last by default.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("fft2", _number(input), s, dim, norm, False)


@planned
@_SEVERAL_AXES
def ifft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of fft2.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("ifft2", _number(input), s, dim, norm, True)


# ---------------------------------------------------------------- transforms of, and to, real numbers

@planned
@_ONE_AXIS
def rfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """fft of real numbers: the first n // 2 + 1 results; the others are their conjugates, backwards.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    n      : int or None; the axis is cut, or continued with zeros, to this size first
    {axis}
    out    : complex, n // 2 + 1 along the axis
    {errors}
    """
    return _of_real("rfft", input, None if n is None else (n,), (dim,), norm)


@planned
@_ONE_AXIS
def irfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of rfft: real numbers. Imaginary parts that no rfft has (at 0 and n / 2) are left out.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    n      : int or None, the size of the axis in the result; None: 2 (m - 1) for an axis of m
    {axis}
    out    : float, n along the axis
    {errors}
    """
    return _to_real("irfft", input, None if n is None else (n,), (dim,), norm)


@planned
@_SEVERAL_AXES
def rfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: of the last axis the first half, n // 2 + 1 results.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex
    {errors}
    """
    return _of_real("rfftn", input, s, dim, norm)


@planned
@_SEVERAL_AXES
def irfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of rfftn: real numbers. A size for the last axis is the result's; without it, it is 2 (m - 1) for m.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float
    {errors}
    """
    return _to_real("irfftn", input, s, dim, norm)


@planned
@_SEVERAL_AXES
def rfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along two axes, the last by default.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex
    {errors}
    """
    return _of_real("rfft2", input, s, dim, norm)


@planned
@_SEVERAL_AXES
def irfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of rfft2.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float
    {errors}
    """
    return _to_real("irfft2", input, s, dim, norm)


@planned
@_ONE_AXIS
def hfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """fft of numbers that are their own conjugates backwards, given by their first half: the result is real.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    n      : int or None, the size of the axis in the result; None: 2 (m - 1) for an axis of m
    {axis}
    out    : float, n along the axis
    {errors}
    """
    return _to_real("hfft", input, None if n is None else (n,), (dim,), norm, False)


@planned
@_ONE_AXIS
def ihfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of hfft: the first half, n // 2 + 1 results.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    n      : int or None; the axis is cut, or continued with zeros, to this size first
    {axis}
    out    : complex, n // 2 + 1 along the axis
    {errors}
    """
    return _of_real("ihfft", input, None if n is None else (n,), (dim,), norm, True)


@planned
@_SEVERAL_AXES
def hfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last axis, fft along the others.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float; a size for the last axis is the result's; without it, it is 2 (m - 1) for m
    {errors}
    """
    return _to_real("hfftn", input, s, dim, norm, False)


@planned
@_SEVERAL_AXES
def ihfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of hfftn.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex, of the last axis the first half
    {errors}
    """
    return _of_real("ihfftn", input, s, dim, norm, True)


@planned
@_SEVERAL_AXES
def hfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two axes, the last by default.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float
    {errors}
    """
    return _to_real("hfft2", input, s, dim, norm, False)


@planned
@_SEVERAL_AXES
def ihfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of hfft2.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex, of the last axis the first half
    {errors}
    """
    return _of_real("ihfft2", input, s, dim, norm, True)


# ---------------------------------------------------------------- frequencies

def _frequencies(name, n, d, dtype):
    n = as_size(name, n)
    if compare("<", n, 1) or d == 0:
        raise ValueRangeError(f"{name}: n is at least 1 and d is not 0", note=f"n {n}, d {d}")
    if dtype is not None and dt.dtype(dtype).kind != "f":
        raise DTypeError(f"{name}: makes floats, not {dt.dtype(dtype).name}")
    return n


def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None) -> Tensor:
    """The frequency of each result of fft: 0, 1, .., -2, -1 over n d, float32 unless `dtype` is given."""
    n = _frequencies("fftfreq", n, d, dtype)
    k = arange(n)
    k = k - n * cast(k >= (n + 1) // 2, dtype=dt.int64)
    return cast(k, dtype=dt.dtype(dtype) if dtype is not None else dt.float32) / (n * d)


def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None) -> Tensor:
    """The frequency of each result of rfft: 0, 1, .., n // 2 over n d.

    n      : int >= 1, the number of samples;     d : float, the time between two of them, not 0
    dtype  : a float dtype, float32 by default
    out    : [n // 2 + 1]
    raises : ValueRangeError for another n or d, DTypeError for a dtype of integers, ArgumentError for an n that is no int
    """
    n = _frequencies("rfftfreq", n, d, dtype)
    return cast(arange(n // 2 + 1), dtype=dt.dtype(dtype) if dtype is not None else dt.float32) / (n * d)


def _shifted(name, input, dim, back):
    x = as_operand(input)
    axes = normal_axes(name, dim, x.ndim)
    return roll(x, tuple(x.shape[a] // 2 if not back else -(x.shape[a] // 2) for a in axes), axes)


def fftshift(input: TensorLike, dim: Axes = None) -> Tensor:
    """Roll the axes so that the frequency 0, which fft puts first, stands in the middle.

    input  : Tensor of any dtype
    dim    : int, ints, or None for all axes
    out    : like input; along an axis of n each element moves n // 2 positions up
    raises : ValueRangeError for an axis outside the tensor or named twice
    """
    return _shifted("fftshift", input, dim, False)


def ifftshift(input: TensorLike, dim: Axes = None) -> Tensor:
    """The inverse of fftshift, for odd sizes too.

    input  : Tensor of any dtype
    dim    : int, ints, or None for all axes
    out    : like input; along an axis of n each element moves n // 2 positions down
    raises : ValueRangeError for an axis outside the tensor or named twice
    """
    return _shifted("ifftshift", input, dim, True)
