"""Calls of mint's functions, layers and optimisers with drawn arguments: what `make_expected.py` asks torch, and the tests ask
mindlite. An argument is a number, a word, or a drawn array: f (normal), p (in (0, 1)), i (integers), b (bools), c (complex).
"""
import zlib

import numpy as np


class Draw:
    """An array that is drawn: kind, shape, and for integers the bounds; a fixed one (it is read-only) gets no gradient."""

    def __init__(self, kind, *shape, low=0, high=5, dtype=None, fixed=False):
        self.kind, self.shape, self.low, self.high, self.dtype, self.fixed = kind, shape, low, high, dtype, fixed

    def array(self, rng):
        """The array."""
        if self.kind == "f":
            made = np.asarray(np.round(rng.standard_normal(self.shape) * 1.5, 3), np.float32)
        elif self.kind == "p":
            made = np.round(rng.uniform(0.05, 0.95, self.shape), 3).astype(np.float32)
        elif self.kind == "i":
            made = np.asarray(rng.integers(self.low, self.high, self.shape))
        elif self.kind == "b":
            made = np.asarray(rng.integers(0, 2, self.shape)).astype(bool)
        else:
            made = (rng.standard_normal(self.shape) + 1j * rng.standard_normal(self.shape)).astype(np.complex64)
        made = made if self.dtype is None else made.astype(self.dtype)
        made.flags.writeable = not self.fixed
        return made


def f(*shape):
    return Draw("f", *shape)


def p(*shape):
    return Draw("p", *shape)


def fixed(kind, *shape):
    return Draw(kind, *shape, fixed=True)


def i(high, *shape, low=0, dtype=None):
    return Draw("i", *shape, low=low, high=high, dtype=dtype)


b = Draw("b", 2, 3)
X, Y, M, W3 = f(2, 3), f(2, 3), f(3, 3), Draw("p", 3, fixed=True)


def call(*args, **settings):
    return args, settings


def each(names, *calls):
    return {name: calls for name in names.split()}


FUNCTIONS = {
    **each(
        "abs arctan arcsinh asinh atan ceil cos cosh erf erfc exp exp2 expm1 floor frac neg negative sigmoid sign sin sinc sinh "
        "square tan tanh trunc fix isfinite isinf isnan isneginf ravel clone t", call(X), call(f())),
    **each("log log10 log1p log2 reciprocal rsqrt sqrt acos arccos arcsin asin arctanh atanh erfinv", call(p(2, 3))),
    **each("acosh arccosh", call(Draw("f", 2, 3, dtype=None)),),
    **each("logical_not", call(b), call(X)), **each("bitwise_not", call(i(9, 4)), call(b)),
    **each("mul ne not_equal eq ge greater greater_equal gt le less less_equal lt maximum minimum logaddexp logaddexp2 atan2 "
           "arctan2", call(X, Y), call(X, f(3))),
    **each("logical_and logical_or logical_xor", call(b, X)), **each("bitwise_and bitwise_or bitwise_xor",
        call(i(99, 4), i(99, 4))),
    **each("floor_divide fmod remainder", call(X, Y), call(i(9, 5, low=-9), 4), call(X, -1.3)),
    "gcd": [call(i(40, 5), i(40, 5))], "xlogy": [call(X, p(2, 3))], "imag": [call(Draw("c", 3))], "real": [call(Draw("c", 3))],
    "add": [call(X, Y), call(X, Y, alpha=2), call(X, 1.5), call(i(9, 3), i(9, 3), alpha=3)],
    "sub": [call(X, Y), call(X, Y, alpha=0.5), call(X, 2)],
    "div": [call(X, Y), call(X, Y, rounding_mode="floor"), call(X, Y, rounding_mode="trunc"), call(i(9, 4), 2)],
    "divide": [call(X, Y), call(X, Y, rounding_mode="floor")], "pow": [call(p(2, 3), Y), call(X, 2), call(X, 3)],
    "float_power": [call(p(2, 3), 2), call(i(9, 3), 2)], "lerp": [call(X, Y, 0.3), call(X, Y, p(2, 3))],
    "addcmul": [call(X, Y, f(3)), call(X, Y, Y, value=2)], "addcdiv": [call(X, Y, p(3)), call(X, Y, p(2, 3), value=0.5)],
    "clamp": [call(X, -1, 1), call(X, max=0.5), call(X, min=f(3))], "clip": [call(X, -1, 1)],
    "round": [call(X), call(X, decimals=1)], "nan_to_num": [call(X), call(X, 1.0, 2.0, 3.0)],
    "polar": [call(p(3), f(3))],
    "mm": [call(X, M)], "matmul": [call(X, M), call(f(3), M), call(f(2, 2, 3), f(3, 2))], "bmm": [call(f(2, 2, 3), f(2, 3, 2))],
    "mv": [call(X, f(3))], "dot": [call(f(3), f(3))], "vdot": [call(f(3), f(3))], "outer": [call(f(2), f(3))],
    "addmm": [call(X, X, M), call(X, X, M, beta=0.5, alpha=2)], "addmv": [call(f(2), X, f(3), beta=2, alpha=0.5)],
    "addbmm": [call(f(2, 2), f(2, 2, 3), f(2, 3, 2), beta=0.5)], "baddbmm": [call(f(2, 2, 2), f(2, 2, 3), f(2, 3, 2), alpha=2)],
    "cdist": [call(X, f(4, 3)), call(X, f(4, 3), 1.0)], "cross": [call(X, Y), call(f(3, 4), f(3, 4)), call(M, M, dim=0)],
    "einsum": [call("ij,jk->ik", X, M), call("ij->j", X)], "inverse": [call(M)],
    "triangular_solve": [call(X, f(2, 2)), call(f(3, 2), M, False), call(f(3, 2), M, True, True),
        call(f(3, 2), M, True, False, True)],
    "conv2d": [call(f(1, 2, 5, 5), f(3, 2, 3, 3)), call(f(1, 2, 5, 5), f(4, 1, 3, 3), f(4), 2, 1, 1, 2),
               call(f(2, 5, 5), f(3, 2, 2, 2), None, 1, "same")],
    "conv_tbc": [call(f(5, 1, 2), f(3, 2, 3), f(3), 1)],
    "equal": [call(X, Y), call(i(1, 3), i(1, 3)), call(X, M)], "allclose": [call(X, Y),
        call(i(1, 3, dtype="f"), i(1, 3, dtype="f"))],
    "isclose": [call(X, Y, 0.5, 0.5)], "where": [call(b, X, Y), call(b), call(b, X, 1.0)],
    "sum": [call(X), call(X, 1), call(X, (0, 1), True), call(i(9, 3, dtype="int32")), call(b, 0)],
    "nansum": [call(X), call(X, 1, True)], "prod": [call(X), call(X, 1), call(i(5, 3, dtype="int32"))],
    "mean": [call(X), call(X, 1), call(X, (0, 1), True), call(i(9, 3), dtype="float32")],
    "all": [call(b), call(b, 1), call(b, 0, True)], "any": [call(b), call(b, 1), call(b, 0, True)],
    "amax": [call(X), call(X, 1), call(X, (0, 1), True)], "amin": [call(X), call(X, 1), call(X, 0, True)],
    "max": [call(X), call(X, 1), call(X, 1, True), call(X, Y)], "min": [call(X), call(X, 1), call(X, 1, True), call(X, Y)],
    "argmax": [call(X), call(X, 1), call(X, 1, True)], "argmin": [call(X), call(X, 1), call(X, 1, True)],
    "logsumexp": [call(X, 1), call(X, (0, 1), True)],
    "std": [call(X), call(X, 1), call(X, 1, correction=0, keepdim=True)], "var": [call(X), call(X, 1),
        call(X, (0, 1), correction=0)],
    "std_mean": [call(X, 1)], "var_mean": [call(X, 1), call(X)], "median": [call(X), call(X, 1), call(f(4), 0, True)],
    "kthvalue": [call(X, 2), call(X, 1, 0, True)], "count_nonzero": [call(b), call(b, 1)],
    "norm": [call(X), call(X, 1), call(X, 3, 1), call(X, "fro", 1, True)],
    "histc": [call(X, 4, -2, 2), call(X, 3)], "bincount": [call(i(5, 9)), call(i(5, 9), None, 8), call(i(5, 4), f(4))],
    "softmax": [call(X, 1), call(X, 0)], "cumsum": [call(X, 1), call(i(9, 3, dtype="int32"), 0)], "cumprod": [call(X, 1)],
    "cummax": [call(X, 1)], "cummin": [call(X, 0)], "sort": [call(X), call(X, dim=0, descending=True)],
    "argsort": [call(X), call(X, 0, True)], "topk": [call(X, 2), call(X, 1, 0), call(X, 2, 1, False)],
    "searchsorted": [call(i(1, 4, dtype="float32"), f(2, 3)), call(i(1, 4, dtype="float32"), f(3), right=True)],
    "unique": [call(i(4, 7)), call(i(4, 7), True, True, True)], "unique_consecutive": [call(i(2, 7), True, True)],
    "nonzero": [call(b), call(b, as_tuple=True)], "masked_select": [call(X, b)],
    "gather": [call(X, 1, i(3, 2, 2)), call(X, 0, i(2, 1, 3))], "scatter": [call(X, 1, i(1, 2, 1), f(2, 1)),
        call(X, 0, i(2, 1, 3), 2.0)],
    "scatter_add": [call(X, 1, i(3, 2, 3), Y)], "take": [call(X, i(6, 4)), call(X, i(0, 4, low=-6))],
    "index_select": [call(X, 1, i(3, 4))], "index_add": [call(X, 1, i(3, 2), f(2, 2)), call(X, 0, i(2, 2), Y, alpha=2)],
    "select": [call(X, 1, -1)], "narrow": [call(X, 1, 1, 2)], "reshape": [call(X, (3, 2)), call(X, (-1,))],
    "flatten": [call(f(2, 2, 3)), call(f(2, 2, 3), 1), call(f(2, 2, 3), 0, 1)], "squeeze": [call(f(1, 2, 1)),
        call(f(1, 2, 1), 0), call(X, 0)],
    "unsqueeze": [call(X, 1), call(X, -1)], "transpose": [call(X, 0, 1)], "swapaxes": [call(X, 0, 1)],
    "permute": [call(f(1, 2, 3), (2, 0, 1))],
    "broadcast_to": [call(f(3), (2, 3))], "tile": [call(X, (2, 1))], "repeat_interleave": [call(X, 2), call(X, 2, 1)],
    "roll": [call(X, 1), call(X, (1, 2), (0, 1))], "flip": [call(X, (1,))], "cat": [call((X, Y)), call((X, Y), 1)],
    "concat": [call((X, Y), 1)],
    "stack": [call((X, Y)), call((X, Y), 2)], "hstack": [call((X, Y)), call((f(2), f(3)))], "dstack": [call((X, Y))],
    "split": [call(f(5, 2), 2), call(f(5, 2), (1, 4)), call(X, 2, 1)], "chunk": [call(f(5, 2), 2), call(X, 3, 1)],
    "unbind": [call(X), call(X, 1)],
    "meshgrid": [call(f(2), f(3)), call(f(2), f(3), indexing="xy")], "diff": [call(X), call(X, 1, 0), call(X, 2)],
    "diag": [call(f(3)), call(M), call(f(2), 1), call(M, -1)], "tril": [call(M), call(M, 1)], "triu": [call(M),
        call(M, -1)], "trace": [call(M)],
    "zeros": [call((2, 3))], "ones": [call((2,))], "full": [call((2,), 3), call((2,), 1.5), call((2,), True)],
    "zeros_like": [call(X)], "ones_like": [call(i(3, 2))], "full_like": [call(X, 2)],
    "arange": [call(4), call(1, 4), call(0, 1, 0.25), call(5, 1, -2)], "linspace": [call(0, 1, 5)], "eye": [call(2),
        call(2, 3)],
}
FUNCTIONS["acosh"] = FUNCTIONS["arccosh"] = [call(i(9, 4, low=2, dtype="float32"))]
IMAGE, SMALL = f(1, 2, 4, 4), f(2, 2, 4)
FUNCTIONAL = {
    **each(
        "relu relu6 elu gelu glu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish selu sigmoid silu softplus softshrink "
        "hardshrink tanh", call(f(3, 4))),
    "elu": [call(X), call(X, 0.5)], "gelu": [call(X), call(X, approximate="tanh")], "glu": [call(f(2, 4)), call(f(2, 4), 0)],
    "hardtanh": [call(X), call(X, -0.5, 0.25)], "leaky_relu": [call(X), call(X, 0.2)], "softplus": [call(X), call(X, 2, 1)],
    "softshrink": [call(X), call(X, 1.0)], "threshold": [call(X, 0.1, 2.0)], "prelu": [call(SMALL, f(1)), call(SMALL, f(2))],
    "softmax": [call(X, 1), call(f(4)), call(f(2, 3, 4))], "log_softmax": [call(X, 1), call(f(2, 3, 4))],
    "linear": [call(X, f(4, 3)), call(X, f(4, 3), f(4))],
    "conv1d": [call(f(1, 2, 6), f(3, 2, 3)), call(f(1, 2, 6), f(4, 1, 3), f(4), 2, 1, 1, 2),
        call(f(2, 6), f(3, 2, 3), None, 1, "same")],
    "conv3d": [call(f(1, 2, 3, 4, 4), f(2, 2, 2, 2, 2)), call(f(1, 2, 3, 4, 4), f(2, 2, 3, 3, 3), f(2), (1, 2, 2), 1)],
    "conv_transpose2d": [call(IMAGE, f(2, 3, 3, 3)), call(IMAGE, f(2, 2, 3, 3), f(4), 2, 1, 1, 2, 1)],
    "avg_pool1d": [call(f(1, 2, 6), 2), call(f(1, 2, 6), 3, 2, 1), call(f(1, 2, 6), 3, 2, 1, False, False)],
    "avg_pool2d": [call(IMAGE, 2), call(IMAGE, 3, 2, 1), call(IMAGE, 3, 2, 1, True, False),
        call(IMAGE, 2, None, 0, False, True, 3)],
    "avg_pool3d": [call(f(1, 1, 4, 4, 4), 2), call(f(1, 1, 4, 4, 4), 3, 2, 1)],
    "max_pool2d": [call(IMAGE, 2), call(IMAGE, 3, 2, 1), call(IMAGE, 2, 1, 0, 1, False, True), call(IMAGE, 2, 2, 0, 2)],
    **each("adaptive_avg_pool1d adaptive_max_pool1d", call(f(1, 2, 6), 3), call(f(1, 2, 5), 2)),
    **each("adaptive_avg_pool2d adaptive_max_pool2d", call(IMAGE, 2), call(f(1, 2, 5, 4), (3, 2))),
    "adaptive_avg_pool3d": [call(f(1, 1, 4, 4, 4), 2)],
    "fold": [call(f(1, 8, 4), (3, 3), (2, 2))], "unfold": [call(IMAGE, 2), call(IMAGE, (2, 3), 1, 1, 2)],
    "grid_sample": [call(IMAGE, f(1, 3, 3, 2)), call(IMAGE, f(1, 3, 3, 2), "nearest", "border", True)],
    "interpolate": [call(IMAGE, (8, 6)), call(IMAGE, scale_factor=2), call(IMAGE, (6, 6), mode="bilinear"),
                    call(IMAGE, (6, 6), mode="bilinear", align_corners=True), call(IMAGE, (6, 6), mode="bicubic")],
    "upsample": [call(IMAGE, (8, 6)), call(IMAGE, (6, 6), mode="bilinear")],
    "pad": [call(X, (1, 2)), call(X, (1, 0, 0, 1), "constant", 2.0), call(IMAGE, (1, 1, 1, 1), "reflect"),
        call(IMAGE, (1, 2), "replicate"),
            call(IMAGE, (1, 1, 1, 1), "circular")][:3] + [call(IMAGE, (1, 1, 2, 2), "replicate"), call(IMAGE, (1, 1, 1, 1),
            "circular")],
    "pixel_shuffle": [call(f(1, 4, 2, 2), 2)],
    "batch_norm": [call(SMALL, fixed("f", 2), fixed("p", 2)), call(SMALL, fixed("f", 2), fixed("p", 2), f(2), f(2)),
        call(SMALL, None, None, f(2), f(2), True)],
    "group_norm": [call(f(2, 4, 3), 2), call(f(2, 4, 3), 2, f(4), f(4))], "layer_norm": [call(X, (3,)),
        call(SMALL, (2, 4), f(2, 4), f(2, 4))],
    "normalize": [call(X), call(X, 1.0, 0)], "embedding": [call(i(4, 5), f(4, 3)), call(i(4, 5), f(4, 3), 1),
        call(i(4, 5), f(4, 3), None, None, 2.0, True)],
    "one_hot": [call(i(4, 5), 6), call(i(4, 5))],
    "binary_cross_entropy": [call(p(2, 3), p(2, 3)), call(p(2, 3), fixed("p", 2, 3), fixed("p", 2, 3), reduction="sum")],
    "binary_cross_entropy_with_logits": [call(X, fixed("p", 2, 3)),
        call(X, fixed("p", 2, 3), fixed("p", 2, 3), reduction="sum"),
                                         call(X, fixed("p", 2, 3), reduction="none", pos_weight=fixed("p", 3))],
    "cosine_embedding_loss": [call(X, Y, i(2, 2, low=1)), call(X, Y, i(0, 2, low=-1), 0.1, reduction="none")],
    "cross_entropy": [call(f(4, 3), i(3, 4)), call(f(4, 3), i(3, 4), W3),
        call(f(4, 3), i(3, 4), ignore_index=1, reduction="sum"),
                      call(f(4, 3), p(4, 3)), call(f(2, 3, 4), i(3, 2, 4), reduction="none"),
                      call(f(4, 3), i(3, 4), W3, label_smoothing=0.1),
                      call(f(4, 3), i(3, 4), ignore_index=1, label_smoothing=0.1),
                      call(f(2, 3, 4), p(2, 3, 4)), call(f(4, 3), p(4, 3), W3, label_smoothing=0.1)],
    "kl_div": [call(X, p(2, 3)), call(X, p(2, 3), reduction="batchmean"), call(X, Y, reduction="sum", log_target=True),
               call(X, Y, reduction="batchmean", log_target=True)],
    "l1_loss": [call(X, Y), call(X, Y, reduction="none")], "mse_loss": [call(X, Y), call(X, Y, reduction="sum")],
    "nll_loss": [call(f(4, 3), i(3, 4)), call(f(4, 3), i(3, 4), W3, ignore_index=1), call(f(4, 3), i(3, 4), reduction="none")],
    "smooth_l1_loss": [call(X, Y), call(X, Y, reduction="none", beta=0.5)],
    "soft_margin_loss": [call(X, fixed("f", 2, 3)), call(X, fixed("f", 2, 3), reduction="sum")],
}
# {layer: [(settings of the constructor, arguments of the call)]}
LAYERS = {
    "Linear": [(call(3, 2), (X,)), (call(3, 2, False), (X,))],
    "Conv1d": [(call(2, 4, 3), (f(2, 2, 6),)), (call(2, 4, 3, 2, 1, 1, 2, False), (f(2, 2, 6),)),
               (call(2, 4, 3, padding=1, padding_mode="circular"), (f(2, 2, 6),))],
    "Conv2d": [(call(2, 4, 3), (f(2, 2, 5, 5),)), (call(2, 4, (3, 2), 2, 1, 1, 2, False), (f(2, 2, 5, 5),)),
               (call(2, 2, 3, padding="same"), (f(2, 2, 5, 5),)),
                   (call(2, 2, 3, padding=1, padding_mode="reflect"), (f(2, 2, 5, 5),)),
               (call(2, 2, 3, padding="same", padding_mode="replicate"), (f(2, 2, 5, 5),))],
    "Conv3d": [(call(1, 2, 2), (f(1, 1, 3, 3, 3),))],
    "ConvTranspose2d": [(call(2, 3, 3), (IMAGE,)), (call(2, 4, 3, 2, 1, 1, 2, False), (IMAGE,))],
    "BatchNorm1d": [(call(3), (f(5, 3),)), (call(3, 1e-3, None, False), (f(5, 3, 2),))],
    "BatchNorm2d": [(call(2), (f(3, 2, 2, 2),)), (call(2, momentum=0.3), (f(3, 2, 2, 2),)),
                    (call(2, track_running_stats=False), (f(3, 2, 2, 2),))],
    "BatchNorm3d": [(call(2), (f(2, 2, 2, 2, 2),))],
    "GroupNorm": [(call(2, 4), (f(2, 4, 3),)), (call(2, 4, affine=False), (f(2, 4, 3),))],
    "LayerNorm": [(call(3), (X,)), (call((2, 3), 1e-3, False), (f(4, 2, 3),)), (call(3, bias=False), (X,))],
    "Embedding": [(call(5, 3), (i(5, 4),)), (call(5, 3, 1, scale_grad_by_freq=True), (i(5, 6),)),
        (call(5, 3, max_norm=0.5), (i(5, 4),))],
    "PReLU": [(call(), (X,)), (call(3, 0.1), (X,))],
    **{name: [(call(), (f(3, 4),))] for name in (
        "ReLU Tanh Sigmoid LogSigmoid Hardsigmoid Hardswish Mish SELU ELU ReLU6 SiLU GELU GLU "
        "Hardshrink Softshrink Hardtanh Softmax LogSoftmax Identity").split()},
    "Flatten": [(call(), (f(2, 2, 3),)), (call(0, 1), (f(2, 2, 3),))], "PixelShuffle": [(call(2), (f(1, 4, 2, 2),))],
    "Threshold": [(call(0.1, 2.0), (X,))], "Fold": [(call((3, 3), (2, 2)), (f(1, 8, 4),))], "Unfold": [(call(2), (IMAGE,))],
    "AvgPool1d": [(call(2), (f(1, 2, 6),))], "AvgPool2d": [(call(2), (IMAGE,)), (call(3, 2, 1, divisor_override=2), (IMAGE,))],
    "AvgPool3d": [(call(2), (f(1, 1, 4, 4, 4),))], "MaxPool2d": [(call(2), (IMAGE,)), (call(3, 2, 1), (IMAGE,))],
    **{name: [(call(2), (f(1, 2, 6),))] for name in ("AdaptiveAvgPool1d", "AdaptiveMaxPool1d")},
    **{name: [(call(2), (IMAGE,))] for name in ("AdaptiveAvgPool2d", "AdaptiveMaxPool2d")},
    "AdaptiveAvgPool3d": [(call(2), (f(1, 1, 4, 4, 4),))],
    "Upsample": [(call((6, 6)), (IMAGE,)), (call(scale_factor=2, mode="bilinear", align_corners=True), (IMAGE,))],
    "UpsamplingNearest2d": [(call(scale_factor=2), (IMAGE,))], "UpsamplingBilinear2d": [(call((6, 6)), (IMAGE,))],
    **{f"{kind}{n}d": [(call(1, *value), (f(*(1, 2, 3, 4, 5)[:n + 2]),)),
        (call((1, 0) * n, *value), (f(*(1, 2, 3, 4, 5)[:n + 2]),))]
       for kind, value in (("ConstantPad", (1.5,)), ("ZeroPad", ()), ("ReflectionPad", ()), ("ReplicationPad", ()))
       for n in (1, 2, 3)},
    **{name: [(call(), (X, Y)), (call(reduction="none"), (X, Y))] for name in ("L1Loss", "MSELoss", "SmoothL1Loss")},
    "SoftMarginLoss": [(call(), (X, fixed("f", 2, 3)))],
    "KLDivLoss": [(call(), (X, p(2, 3))), (call(reduction="batchmean", log_target=True), (X, Y))],
    "BCELoss": [(call(), (p(2, 3), p(2, 3)))], "BCEWithLogitsLoss": [(call(), (X, p(2, 3))),
        (call(reduction="sum"), (X, p(2, 3)))],
    "CrossEntropyLoss": [(call(), (f(4, 3), i(3, 4))), (call(label_smoothing=0.2), (f(4, 3), i(3, 4)))],
    "NLLLoss": [(call(), (f(4, 3), i(3, 4)))], "CosineEmbeddingLoss": [(call(0.2), (X, Y, i(2, 2, low=1)))],
}
OPTIMISERS = {
    "SGD": [dict(lr=0.1), dict(lr=0.1, momentum=0.9), dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1, maximize=True),
            dict(lr=0.1, momentum=0.9, nesterov=True)],
    "Adam": [dict(), dict(lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1), dict(lr=0.1, amsgrad=True),
             dict(lr=0.1, maximize=True)],
    "AdamW": [dict(), dict(lr=0.1, betas=(0.8, 0.9), weight_decay=0.2), dict(lr=0.1, amsgrad=True, maximize=True)],
}
LINALG = {"inv": [call(M)], "vector_norm": [call(X), call(X, 1), call(X, 3, 1), call(X, float("inf"), 0, True)],
          "matrix_norm": [call(M), call(M, 1), call(M, float("inf")), call(f(2, 2, 3), "fro", (1, 2), True)],
          "norm": [call(X), call(X, 1), call(f(3), 3), call(X, None, 1), call(X, "fro")],
          "qr": [call(f(4, 3))]}
SPECIAL = {name: FUNCTIONS[name] for name in "erfc exp2 expm1 log1p sinc".split()} | {
    "round": [call(X)], "log_softmax": [call(X, 1)]}
TABLES = {"": FUNCTIONS, "nn.functional": FUNCTIONAL, "linalg": LINALG, "special": SPECIAL}
GRADIENT_LESS = {"qr"}                                        # the signs of a factor are nobody's


def rng_of(*key):
    """The generator of a case: the same for everybody."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def built(value, rng):
    """The value with its arrays drawn."""
    if isinstance(value, (tuple, list)):
        return type(value)(built(v, rng) for v in value)
    return value.array(rng) if isinstance(value, Draw) else value


def cotangent(shape):
    """What an output's gradient begins with."""
    return np.cos(np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32)).reshape(shape)


def step_of(kind, number, shape):
    """The gradients that an optimiser is given."""
    return rng_of(kind, number).standard_normal(shape).astype(np.float32)
