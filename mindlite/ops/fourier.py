"""Discrete Fourier transforms: one primitive, and the transforms of real numbers written in it.

    fourier(x)[k] = sum over j of x[j] exp(-2 pi i j k / n)            inverse: exp(+2 pi i j k / n), not divided by n

It is linear and symmetric, so its transpose in mindlite's convention (conjugate Wirtinger) is the other direction. Of
real numbers only the first n // 2 + 1 results are kept (rfft); irfft makes the others again, as conjugates.

Source: Cooley and Tukey 1965; NumPy computes it (pocketfft).
"""
from __future__ import annotations

import math

import numpy as np

from ..common import dtype as dt
from ..common.annotations import Axes, Ints
from ..common.dim import compare, product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive, vmap_rule
from .axes import as_size, normal_axes, normal_axis
from .basic import cast, move_batch_axis
from .complex_numbers import conj, make_complex, real
from .creation import arange
from .define import as_operand, documented, dtype_of
from .sbp import letters, sbp_rule
from .slicing import take_range
from .structure import concat, flip, pad_constant, roll


@primitive(traits={"library"})
def fourier(x, *, axes, inverse):
    """The discrete Fourier transform of x : complex along `axes`, counted from the front; see the module.

    raises : DTypeError for what is not complex
    """


@infer_rule(fourier)
def fourier_infer(x, *, axes, inverse):
    if x.dtype.kind != "c":
        raise DTypeError("fourier: takes complex numbers", note=f"x: {x}")
    for axis in axes:
        require(">=", x.shape[axis], 1,
                lambda: ShapeError("fourier: an empty axis has no transform", note=f"x: {x}, axis {axis}"))
    return x


@eval_rule(fourier)
def fourier_eval(x, *, axes, inverse):
    out = np.fft.ifftn(x, axes=axes, norm="forward") if inverse else np.fft.fftn(x, axes=axes)
    return np.ascontiguousarray(out, x.dtype)


@bprop_rule(fourier)
def fourier_bprop(x, out, dout, *, axes, inverse):
    return fourier(dout, axes=axes, inverse=not inverse)


@jvp_rule(fourier)
def fourier_jvp(primals, tangents, out, *, axes, inverse):
    return fourier(tangents[0], axes=axes, inverse=inverse)


@vmap_rule(fourier)
def fourier_vmap(args, dims, size, *, axes, inverse):
    x = move_batch_axis(args[0], dims[0])
    return fourier(x, axes=tuple(axis + 1 for axis in axes), inverse=inverse), 0


def _spec(x, *, axes, inverse):
    names = "".join("_" if i in axes else c for i, c in enumerate(letters(len(x.shape))))
    return f"{names}->{names}"


sbp_rule(fourier, _spec, linear=[{0}])


# ---------------------------------------------------------------- sizes, axes and scale

def _float(x):
    """Real numbers as floats that a complex type has."""
    return x if dtype_of(x) is dt.float64 else cast(x, dtype=dt.float32)


def _complex(input):
    x = as_operand(input)
    return x if dtype_of(x).kind == "c" else make_complex(_float(x), 0)


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


def _scale(name, norm, count, inverse):
    """The factor by which the plain sum is multiplied. norm : None or "backward", "ortho", "forward"."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueRangeError(f"{name}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    if norm == "ortho":
        return 1 / math.sqrt(count) if isinstance(count, int) else cast(as_operand(count), dtype=dt.float32) ** -0.5
    return 1 / count if inverse == (norm != "forward") else 1


def _transform(name, x, s, dim, norm, inverse):
    sizes, axes = _axes(name, x, s, dim)
    x = _fit(name, x, sizes, axes)
    scale = _scale(name, norm, product(x.shape[a] for a in axes), inverse)
    out = fourier(x, axes=axes, inverse=inverse)
    return out * scale if not isinstance(scale, int) else out


def _of_real(name, input, s, dim, norm, inverse=False):
    """The transform along all axes, of the last one the first half."""
    x = _real(name, input)
    sizes, axes = _axes(name, x, s, dim)
    out = _transform(name, make_complex(x, 0), s, axes, norm, inverse)
    return take_range(out, axes[-1], 0, out.shape[axes[-1]] // 2 + 1)


def _to_real(name, input, s, dim, norm, inverse=True):
    """The transform whose last axis is half of a row that is its own conjugate, backwards; gives real numbers."""
    x = _complex(input)
    sizes, axes = _axes(name, x, s, dim)
    last = axes[-1]
    n = sizes[-1] if sizes[-1] is not None else 2 * (x.shape[last] - 1)
    if isinstance(n, int) and n < 1:
        raise ValueRangeError(f"{name}: the result has no element", note=f"its size along axis {last}: {n}")
    x = _fit(name, x, (*sizes[:-1], n // 2 + 1), axes)
    if len(axes) > 1:
        x = fourier(x, axes=axes[:-1], inverse=inverse)
    rest = conj(flip(take_range(x, last, 1, n - n // 2), (last,)))
    whole = fourier(concat((x, rest), last), axes=(last,), inverse=inverse)
    scale = _scale(name, norm, product(whole.shape[a] for a in axes), inverse)
    return real(whole) * scale if not isinstance(scale, int) else real(whole)


# ---------------------------------------------------------------- what the docstrings share

_NORM = """
norm   : None or "backward": the inverse is divided by the number n of summed elements; "forward": the other direction
         is; "ortho": both are divided by sqrt(n)
"""
_ERRORS = """
raises : ValueRangeError for another norm, a size below 1, an axis outside the tensor or named twice; ArgumentError for
         a size that is no int or sizes for other axes; ShapeError for a tensor without axes or an empty axis
source : Cooley and Tukey 1965, computed by NumPy
"""
_AXES = """
s      : ints, a size for each axis, to which it is cut or continued with zeros first (-1 keeps it); None keeps all
dim    : ints, the axes; None: the last ones, as many as `s` has sizes, or all
"""
_ONE_AXIS = documented(axis="dim    : int, the axis" + _NORM, errors=_ERRORS)
_SEVERAL_AXES = documented(axes=_AXES + _NORM.lstrip(), errors=_ERRORS)


# ---------------------------------------------------------------- complex transforms

@_ONE_AXIS
def fft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along one axis: out[k] = sum_j input[j] exp(-2 pi i j k / n).

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    n      : int or None; the axis is cut, or continued with zeros, to this size first
    {axis}
    out    : complex, of input's shape but for n
    {errors}
    """
    return _transform("fft", _complex(input), None if n is None else (n,), (dim,), norm, False)


@_ONE_AXIS
def ifft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of fft: out[j] = 1 / n sum_k input[k] exp(2 pi i j k / n).

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    n      : int or None; the axis is cut, or continued with zeros, to this size first
    {axis}
    out    : complex, of input's shape but for n
    {errors}
    """
    return _transform("ifft", _complex(input), None if n is None else (n,), (dim,), norm, True)


@_SEVERAL_AXES
def fftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """`fft` along several axes.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("fftn", _complex(input), s, dim, norm, False)


@_SEVERAL_AXES
def ifftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of fftn.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("ifftn", _complex(input), s, dim, norm, True)


@_SEVERAL_AXES
def fft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft` along two axes, the last by default.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("fft2", _complex(input), s, dim, norm, False)


@_SEVERAL_AXES
def ifft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of fft2.

    input  : Tensor of any dtype; float64 and complex128 give complex128, others complex64
    {axes}
    out    : complex, of input's shape but for s
    {errors}
    """
    return _transform("ifft2", _complex(input), s, dim, norm, True)


# ---------------------------------------------------------------- transforms of, and to, real numbers

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


@_SEVERAL_AXES
def rfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: of the last axis the first half, n // 2 + 1 results.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex
    {errors}
    """
    return _of_real("rfftn", input, s, dim, norm)


@_SEVERAL_AXES
def irfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of rfftn: real numbers. A size for the last axis is the result's; without it, it is 2 (m - 1) for m.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float
    {errors}
    """
    return _to_real("irfftn", input, s, dim, norm)


@_SEVERAL_AXES
def rfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along two axes, the last by default.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex
    {errors}
    """
    return _of_real("rfft2", input, s, dim, norm)


@_SEVERAL_AXES
def irfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of rfft2.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float
    {errors}
    """
    return _to_real("irfft2", input, s, dim, norm)


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


@_SEVERAL_AXES
def hfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last axis, fft along the others.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float; a size for the last axis is the result's; without it, it is 2 (m - 1) for m
    {errors}
    """
    return _to_real("hfftn", input, s, dim, norm, False)


@_SEVERAL_AXES
def ihfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of hfftn.

    input  : Tensor of real dtype, else DTypeError; float64 gives complex128, others complex64
    {axes}
    out    : complex, of the last axis the first half
    {errors}
    """
    return _of_real("ihfftn", input, s, dim, norm, True)


@_SEVERAL_AXES
def hfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two axes, the last by default.

    input  : Tensor of any dtype; float64 and complex128 give float64, others float32
    {axes}
    out    : float
    {errors}
    """
    return _to_real("hfft2", input, s, dim, norm, False)


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
