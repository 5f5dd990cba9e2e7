"""Pooling over volumes [N, C, D, H, W], which is pooling over the pictures and then along the depth.

A maximum of maxima, and a mean of means of equally many, is the maximum and the mean of the whole window.
"""
from ..common.errors import ArgumentError, ShapeError
from .basic import reshape
from .define import as_operand
from .nn_pool import avg_pool2d, max_pool2d


def _triple(name, value):
    made = tuple(value) if isinstance(value, (tuple, list)) else (value,) * 3
    made = made[2:] if len(made) == 5 else made
    if len(made) != 3:
        raise ArgumentError(f"{name}: an int or three of them are wanted", note=repr(value))
    return made


def _sides(name, padding):
    """Six paddings: (front, back, top, bottom, left, right)."""
    made = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 6
    return tuple(p for p in made for _ in range(2)) if len(made) == 3 else made


def _pool(name, pool, x, kernel_size, stride, padding, pad_mode, **options):
    x = as_operand(x)
    if x.ndim != 5:
        raise ShapeError(f"{name}: a tensor [N, C, D, H, W] is wanted", note=f"x: {list(x.shape)}")
    kernel = _triple(name, kernel_size)
    step = kernel if stride is None else _triple(name, stride)
    mode, sides = str(pad_mode).lower(), _sides(name, padding)
    n, c, d, h, w = x.shape
    flat = pool(
        reshape(x, shape=(n, c * d, h, w)),
        kernel[1:],
        step[1:],
        sides[2:] if mode == "pad" else 0, pad_mode=mode, **options)
    oh, ow = flat.shape[2:]
    deep = pool(reshape(flat, shape=(n, c, d, oh * ow)),
                (kernel[0], 1), (step[0], 1), (*sides[:2], 0, 0) if mode == "pad" else 0, pad_mode=mode, **options)
    return reshape(deep, shape=(n, c, deep.shape[2], oh, ow))


def max_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, *, pad_mode="pad"):
    """The maximum of each window of x[N, C, D, H, W]; stride is kernel_size by default.

    padding : of -inf: an int, three (depth, height, width) or six of them; pad_mode "same" or "valid": computed
    """
    return _pool("max_pool3d", max_pool2d, x, kernel_size, stride, padding, pad_mode, ceil_mode=ceil_mode)


def avg_pool3d(input_x, kernel_size=1, stride=None, padding=0,
               ceil_mode=False, count_include_pad=True, *, pad_mode="pad"):
    """The mean of each window of input_x[N, C, D, H, W]; zeros of the padding count where count_include_pad is True."""
    return _pool("avg_pool3d", avg_pool2d, input_x, kernel_size, stride, padding, pad_mode, ceil_mode=ceil_mode,
                 count_include_pad=count_include_pad)
