"""Cosine transforms by a Fourier transform of the same length.

    y[k] = 2 sum over j of x[j] cos(pi k (2 j + 1) / (2 n))            type 2; type 3 is its inverse times 2 n

source : Makhoul 1980, "A fast cosine transform in one and two dimensions"
"""
import math

from .. import ops
from ..common.errors import ArgumentError, ValueRangeError
from ..common.tensor import Tensor
from ..ops.define import as_operand

_INVERSE = {2: 3, 3: 2}


def _real(name, x, type, norm):
    """x in floats. raises : ArgumentError, ValueRangeError for another type or norm"""
    if not isinstance(x, Tensor) or x.dtype.kind == "c":
        raise ArgumentError(f"{name}: a real Tensor is wanted, not {x.dtype.name if isinstance(x, Tensor) else x!r}")
    if type not in _INVERSE:
        raise ValueRangeError(f"{name}: type is 2 or 3, not {type!r}")
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueRangeError(f"{name}: norm is None, 'backward', 'ortho' or 'forward', not {norm!r}")
    if x.dtype.kind != "f":
        return ops.cast(x, "float64" if x.dtype.numpy.itemsize == 8 else "float32")
    return ops.cast(x, "float32") if x.dtype.numpy.itemsize == 2 else x


def _resized(x, n):
    """The last axis cut, or continued with zeros, to n."""
    if n < 1:
        raise ValueRangeError(f"dct: a size is at least 1, not {n}")
    size = x.shape[-1]
    if n <= size:
        return x[..., :n]
    return ops.concat((x, ops.zeros((*x.shape[:-1], n - size), dtype=x.dtype)), -1)


def _angles(n, dtype):
    return ops.arange(n, dtype=dtype) * (math.pi / (2 * n))


def _second(x):
    """Type 2 along the last axis: even places, then odd ones from the end, are transformed."""
    n = x.shape[-1]
    mixed = ops.concat((x[..., ::2], ops.flip(x[..., 1::2], (-1,))), -1)
    made = ops.fft(mixed)
    angles = _angles(n, x.dtype)
    return 2 * (ops.real(made) * ops.cos(angles) + ops.imag(made) * ops.sin(angles))


def _third(y):
    """Type 3 along the last axis: 2 n times the inverse of type 2."""
    n = y.shape[-1]
    turned = ops.concat((ops.zeros_like(y[..., :1]), -ops.flip(y[..., 1:], (-1,))), -1)     # -y[n - k], and 0 for k = 0
    angles = _angles(n, y.dtype)
    cos, sin = ops.cos(angles), ops.sin(angles)
    made = ops.complex(y * cos - turned * sin, turned * cos + y * sin)
    mixed = ops.real(ops.ifft(made)) * n
    even, odd = mixed[..., :(n + 1) // 2], ops.flip(mixed[..., (n + 1) // 2:], (-1,))
    if n % 2:
        odd = ops.concat((odd, ops.zeros_like(even[..., :1])), -1)
    return ops.reshape(ops.stack((even, odd), -1), (*y.shape[:-1], n + n % 2))[..., :n]


def _ends(n, first, others, dtype):
    """The factors `first`, others, others, .. of n numbers."""
    at_first = ops.cast(ops.equal(ops.arange(n), 0), dtype)
    return others + (first - others) * at_first


def _along(x, type, n, axis, norm, inverse):
    x = ops.movedim(x, axis, -1)
    x = _resized(x, x.shape[-1] if n is None else n)
    n = x.shape[-1]
    kind = _INVERSE[type] if inverse else type
    if norm == "ortho":
        even = (2 * n) ** -0.5                               # n may be a symbol
        out = _second(x) * _ends(n, even / math.sqrt(2), even, x.dtype) if kind == 2 else \
            _third(x * _ends(n, even * math.sqrt(2), even, x.dtype))
    else:
        out = _second(x) if kind == 2 else _third(x)
        out = out / (2 * n) if (norm == "forward") != inverse else out
    return ops.movedim(out, -1, axis)


def dct(x, type=2, n=None, axis=-1, norm=None):
    """The cosine transform along an axis.

    x : real Tensor; type : 2 or 3; n : the axis is cut, or continued with zeros, to this size
    norm   : None, "backward": as above; "ortho": orthogonal; "forward": divided by 2 n
    raises : ArgumentError for what is no real Tensor, ValueRangeError for another type, norm or size
    """
    return _along(_real("dct", x, type, norm), type, n, axis, norm, False)


def idct(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of `dct` of the same arguments."""
    return _along(_real("idct", x, type, norm), type, n, axis, norm, True)


def _several(name, x, type, s, axes, norm, inverse):
    x = _real(name, as_operand(x), type, norm)
    if axes is None:
        axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    sizes = (None,) * len(axes) if s is None else (s,) if isinstance(s, int) else tuple(s)
    if len(sizes) != len(axes):
        raise ValueRangeError(f"{name}: s and axes are of one length", note=f"s: {s}, axes: {axes}")
    for axis, size in zip(axes, sizes):
        x = _along(x, type, size, axis, norm, inverse)
    return x


def dctn(x, type=2, s=None, axes=None, norm=None):
    """`dct` along several axes: `axes`, else the last of as many as `s` has sizes, else all."""
    return _several("dctn", x, type, s, axes, norm, False)


def idctn(x, type=2, s=None, axes=None, norm=None):
    """The inverse of `dctn` of the same arguments."""
    return _several("idctn", x, type, s, axes, norm, True)
