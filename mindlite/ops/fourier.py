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
from ..common.dim import product
from ..common.dtype import DTypeLike
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive, vmap_rule
from .axes import as_size, normal_axes, normal_axis
from .basic import cast, move_batch_axis
from .complex_numbers import conj, make_complex, real
from .creation import arange
from .define import as_operand, dtype_of
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
    """(sizes, or None where they stay; axes counted from the front): `s` alone means the last axes."""
    if x.ndim == 0:
        raise ShapeError(f"{name}: a tensor without axes has no transform")
    if dim is None:
        dim = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = tuple(normal_axis(name, a, x.ndim) for a in (dim if not isinstance(dim, int) else (dim,)))
    sizes = (None,) * len(axes) if s is None else tuple(s) if not isinstance(s, int) else (s,)
    if len(sizes) != len(axes):
        raise ArgumentError(f"{name}: as many sizes as axes are wanted", note=f"s: {s}, dim: {dim}")
    return tuple(None if n is None or n == -1 else as_size(name, n) for n in sizes), axes


def _fit(name, x, sizes, axes):
    """x cut, or continued with zeros, to the sizes along the axes."""
    for n, axis in zip(sizes, axes):
        if n is None or n == x.shape[axis]:
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


# ---------------------------------------------------------------- complex transforms

def fft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along one axis.

    n      : the axis is cut, or continued with zeros, to this size first
    norm   : None or "backward": a sum; "ortho": divided by sqrt(n); "forward": divided by n
    out    : complex, of input's shape but for n
    raises : ValueRangeError for another norm or a size below 1
    """
    return _transform("fft", _complex(input), None if n is None else (n,), (dim,), norm, False)


def ifft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of fft: with norm None it is divided by n."""
    return _transform("ifft", _complex(input), None if n is None else (n,), (dim,), norm, True)


def fftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """fft along several axes: `dim`, else the last of as many as `s` has sizes, else all."""
    return _transform("fftn", _complex(input), s, dim, norm, False)


def ifftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of fftn."""
    return _transform("ifftn", _complex(input), s, dim, norm, True)


def fft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """fft along two axes."""
    return _transform("fft2", _complex(input), s, dim, norm, False)


def ifft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of fft2."""
    return _transform("ifft2", _complex(input), s, dim, norm, True)


# ---------------------------------------------------------------- transforms of, and to, real numbers

def rfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """fft of real numbers: the first n // 2 + 1 results, which say all. raises : DTypeError for complex numbers"""
    return _of_real("rfft", input, None if n is None else (n,), (dim,), norm)


def irfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of rfft: n real numbers, by default 2 (m - 1) of an axis of m. Imaginary parts that such numbers do not
    have are left out."""
    return _to_real("irfft", input, None if n is None else (n,), (dim,), norm)


def rfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """fftn of real numbers, of the last axis the first half."""
    return _of_real("rfftn", input, s, dim, norm)


def irfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of rfftn."""
    return _to_real("irfftn", input, s, dim, norm)


def rfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """rfftn along two axes."""
    return _of_real("rfft2", input, s, dim, norm)


def irfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of rfft2."""
    return _to_real("irfft2", input, s, dim, norm)


def hfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """fft of a row that is its own conjugate backwards, given by its first half: n real numbers."""
    return _to_real("hfft", input, None if n is None else (n,), (dim,), norm, False)


def ihfft(input: TensorLike, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of hfft: the first half, of real numbers."""
    return _of_real("ihfft", input, None if n is None else (n,), (dim,), norm, True)


def hfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """hfft along the last axis, fft along the others."""
    return _to_real("hfftn", input, s, dim, norm, False)


def ihfftn(input: TensorLike, s: Ints | None = None, dim: Axes = None, norm: str | None = None) -> Tensor:
    """The inverse of hfftn."""
    return _of_real("ihfftn", input, s, dim, norm, True)


def hfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """hfftn along two axes."""
    return _to_real("hfft2", input, s, dim, norm, False)


def ihfft2(input: TensorLike, s: Ints | None = None, dim: Axes = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of hfft2."""
    return _of_real("ihfft2", input, s, dim, norm, True)


# ---------------------------------------------------------------- frequencies

def fftfreq(n: int, d: float = 1.0, *, dtype: DTypeLike | None = None) -> Tensor:
    """The frequency of each result of fft: 0, 1, .., -2, -1 over n d, float32 unless `dtype` is given."""
    k = arange(n)
    k = k - n * cast(k >= (n + 1) // 2, dtype=dt.int64)
    return cast(k, dtype=dt.dtype(dtype) if dtype is not None else dt.float32) / (n * d)


def rfftfreq(n: int, d: float = 1.0, *, dtype: DTypeLike | None = None) -> Tensor:
    """The frequency of each result of rfft: 0, 1, .., n // 2 over n d."""
    return cast(arange(n // 2 + 1), dtype=dt.dtype(dtype) if dtype is not None else dt.float32) / (n * d)


def _shifted(name, input, dim, back):
    x = as_operand(input)
    axes = normal_axes(name, dim, x.ndim)
    return roll(x, tuple(x.shape[a] // 2 if not back else -(x.shape[a] // 2) for a in axes), axes)


def fftshift(input: TensorLike, dim: Axes = None) -> Tensor:
    """The frequency 0 in the middle of the axes `dim` (all by default)."""
    return _shifted("fftshift", input, dim, False)


def ifftshift(input: TensorLike, dim: Axes = None) -> Tensor:
    """The inverse of fftshift."""
    return _shifted("ifftshift", input, dim, True)
