"""Windows of signals, and the Fourier transform of short pieces (stft).

Sources: Harris 1978 (windows); Allen and Rabiner 1977 (short-time Fourier analysis).
"""
from __future__ import annotations

import math
from typing import Any

from ..common import dtype as dt
from ..common.dtype import DTypeLike
from ..common.errors import ShapeError, ValueRangeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.primitive import planned
from .arithmetic import abs
from .axes import as_flag, as_size
from .basic import reshape
from .creation import arange, ones
from .define import as_operand, cast_to, documented, dtype_of
from .elementary import cos, sqrt
from .fourier import fft, rfft
from .indexing import gather_axis
from .special import bessel_i0
from .structure import pad, pad_constant, stack


def _window(name, length, periodic, dtype, shape):
    """shape(t) for the positions t in [0, 1] of a window; periodic: of one that is longer by one, without its end."""
    length = as_size(name, length.item() if hasattr(length, "item") else length)
    if length < 0:
        raise ValueRangeError(f"{name}: the length is not negative", note=f"{length}")
    periodic = as_flag(name, "periodic", periodic)
    made = dt.dtype(dtype) if dtype is not None else dt.float32
    if length < 2:
        return ones((length,), made)
    return cast_to(shape(cast_to(arange(length), dt.float64) / (length if periodic else length - 1)), made)


_LENGTH = documented(settings="""
    window_length : int, 0 or more, or an int Tensor of one element
    periodic : bool; True gives the first elements of a window that is longer by one, as a Fourier transform wants it;
             t is k / window_length then, else k / (window_length - 1)
    """, made="""
    dtype  : of the result, float32 by default; it is computed in float64
    out    : Tensor [window_length]; [1.0] for 1
    raises : ValueRangeError for a negative length, ArgumentError for one that is no int
    """)


@_LENGTH
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Bartlett's window, a triangle: 1 - |2 t - 1|.

    {settings}
    {made}
    source : Harris 1978
    """
    return _window("bartlett_window", window_length, periodic, dtype, lambda t: 1 - abs(2 * t - 1))


def _cosines(*factors):
    return lambda t: sum(a * cos(2 * math.pi * k * t) for k, a in enumerate(factors))


@_LENGTH
def hann_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Hann's window: (1 - cos(2 pi t)) / 2.

    {settings}
    {made}
    source : Harris 1978
    """
    return _window("hann_window", window_length, periodic, dtype, _cosines(0.5, -0.5))


@_LENGTH
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: DTypeLike | None = None) -> Tensor:
    """Hamming's window: alpha - beta cos(2 pi t).

    {settings}
    alpha, beta : float
    {made}
    source : Harris 1978
    """
    return _window("hamming_window", window_length, periodic, dtype, _cosines(alpha, -beta))


@_LENGTH
def blackman_window(window_length: int, periodic: bool = True, *, dtype: DTypeLike | None = None) -> Tensor:
    """Blackman's window: 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t).

    {settings}
    {made}
    source : Harris 1978
    """
    return _window("blackman_window", window_length, periodic, dtype, _cosines(0.42, -0.5, 0.08))


@_LENGTH
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Kaiser's window: I0(beta sqrt(1 - (2 t - 1) ** 2)) / I0(beta), I0 as bessel_i0.

    {settings}
    beta   : float; the larger, the narrower
    {made}
    source : Kaiser and Schafer 1980
    """
    def shape(t):
        inner = 1 - (2 * t - 1) * (2 * t - 1)
        return bessel_i0(beta * sqrt(inner * cast_to(inner > 0, dt.float64))) / bessel_i0(as_operand(float(beta), dt.float64))
    return _window("kaiser_window", window_length, periodic, dtype, shape)


@planned
def stft(x: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: TensorLike | None = None,
         center: bool = True, pad_mode: str = "REFLECT", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None) -> Any:
    """The Fourier transform of overlapping pieces of x : [n] or [batch, n].

    n_fft, hop_length : the length of a piece, and from one to the next (n_fft // 4)
    window            : [win_length], in the middle of a piece; win_length is n_fft by default
    center            : x is continued by n_fft // 2 at both ends first, as pad_mode ("reflect", "constant", ..) says
    normalized        : divided by sqrt(n_fft)      onesided : the first n_fft // 2 + 1 frequencies; by default for real x
    out               : [.., frequencies, pieces] complex, or with return_complex False, and by default for real x, with a
                        last axis of real and imaginary part
    raises            : ShapeError for other ranks, ValueRangeError where x is shorter than a piece
    """
    x = as_operand(x)
    if x.ndim not in (1, 2):
        raise ShapeError("stft: x is [n] or [batch, n]", note=f"x: {list(x.shape)}")
    hop, width = hop_length or n_fft // 4, win_length or n_fft
    whole = dtype_of(x).kind == "c" or window is not None and dtype_of(as_operand(window)).kind == "c"
    if center:
        lead = reshape(x, shape=(1,) * (3 - x.ndim) + tuple(x.shape))
        x = reshape(pad(lead, (n_fft // 2, n_fft // 2), pad_mode.lower()), shape=(*x.shape[:-1], -1))
    if x.shape[-1] < n_fft or hop < 1 or not 0 < width <= n_fft:
        raise ValueRangeError("stft: no piece fits", note=f"n {x.shape[-1]}, n_fft {n_fft}, hop {hop}, window {width}")
    count = (x.shape[-1] - n_fft) // hop + 1
    positions = reshape(arange(count), shape=(-1, 1)) * hop + arange(n_fft)
    pieces = gather_axis(x, positions, axis=x.ndim - 1)
    if window is not None or width < n_fft:
        shape = ones((width,)) if window is None else as_operand(window)
        before = (n_fft - width) // 2
        pieces = pieces * pad_constant(shape, [(before, n_fft - width - before)])
    half = not whole if onesided is None else onesided
    out = (rfft if half else fft)(pieces, None, -1, "ortho" if normalized else None).swapaxes(-1, -2)
    if return_complex or return_complex is None and whole:
        return out
    return stack([out.real(), out.imag()], -1)
