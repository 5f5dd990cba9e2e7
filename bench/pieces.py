"""The table of the cliff detector: operators and pieces of networks, each as one line of text for all frameworks.

    Piece("softmax", "axis", "softmax(x, axis)")        drawn:  x = f32[3, 31, 100], axis = 1

A name in a text is looked up in the modules of each framework (mindlite: ops; torch: torch, torch.nn.functional, ..; jax:
jax.numpy, jax.nn, ..); where the frameworks differ, a piece has a text of its own for one of them, and None where it has no
such thing. A draw (draws.py) says what operands there are.
"""
import importlib
import inspect
import itertools
import linecache
import math
from dataclasses import dataclass, field

import numpy as np

from draws import DRAWS
from measure import ROWS, Row
from recent import RECENT, RECENT_DRAWS

SIZES = {"tiny": (1, 256), "cache": (1 << 13, 1 << 17), "memory": (1 << 20, 1 << 22)}       # elements of the largest operand
DTYPES = {"f": ("float64", "float16", "bfloat16"), "i": ("int32",), "b": ("bool",)}
STATISTICS = ("mean", "variance")                  # operands that nobody differentiates
MODES = ("forward", "gradients", "eager", "eager gradients")
MODULES = {"mindspore": ("ops",), "torch": ("", "nn.functional", "special", "linalg", "fft"),
           "jax": ("numpy", "nn", "lax", "scipy.special", "numpy.linalg", "numpy.fft", "")}


@dataclass(frozen=True)
class Piece:
    """One line of the table. draw: a name in DRAWS; kinds: of dtypes that are drawn for it; own: {framework: its text or "
          "None}"""
    name: str
    draw: str
    text: str
    kinds: str = "f"
    own: dict = field(default_factory=dict)
    differentiable: bool = True


# ---------------------------------------------------------------- the table

def alike(draw, names, form="{}(x)", title="{}", **options):
    """Pieces that are one operator with the same name everywhere; `a:b:c` is the name in mindlite, torch and jax, - for "
          "none."""
    for name in names.split():
        mindlite, torch, jax = name.split(":") if ":" in name else (name,) * 3
        own = {peer: None if other == "-" else form.format(other) for peer, other in (("torch", torch), ("jax", jax))
               if other != mindlite}
        yield Piece(title.format(mindlite), draw, form.format(mindlite), own=own, **options)


PIECES = [
    # elements
    *alike("x", "abs ceil floor neg:neg:negative sign square", kinds="fi"),
    *alike("x", "logical_not", kinds="fib", differentiable=False),
    *alike("x", "cos cosh:cosh:cosh erf erfc exp exp2 expm1 sin sinh tanh atan:atan:arctan asinh:asinh:arcsinh relu relu6 "
           "sigmoid silu mish logsigmoid:logsigmoid:log_sigmoid softsign:softsign:soft_sign selu elu celu softplus "
           "tanhshrink:tanhshrink:- hardsigmoid:hardsigmoid:hard_sigmoid hardswish:hardswish:hard_swish "
           "hardtanh:hardtanh:hard_tanh "
           "hardshrink:hardshrink:- softshrink:softshrink:- sinc deg2rad rad2deg bessel_i0:i0:i0 bessel_i1:i1:i1 "
           "bessel_i0e:i0e:i0e bessel_i1e:i1e:i1e bessel_j0:bessel_j0:- round trunc frac:frac:- nan_to_num"),
    *alike("positive",
        "log log10 log1p log2 sqrt rsqrt reciprocal lgamma:lgamma:gammaln digamma bessel_k0:modified_bessel_k0:- "),
    *alike("unit", "acos:acos:arccos asin:asin:arcsin atanh:atanh:arctanh tan erfinv:erfinv:erf_inv"),
    *alike("above one", "acosh:acosh:arccosh"),
    *alike("x", "isfinite isinf isnan signbit isneginf isposinf", differentiable=False),
    Piece("gelu", "x", "gelu(x)", own={"jax": "gelu(x, approximate=False)"}),
    Piece("gelu, tanh", "x", "gelu(x, approximate='tanh')", own={"jax": "gelu(x, approximate=True)"}),
    Piece("leaky_relu", "x", "leaky_relu(x, 0.1)"), Piece("logit", "positive", "logit(x / 4)"),
    Piece("clamp", "x", "clamp(x, -0.5, 0.5)", own={"jax": "clip(x, -0.5, 0.5)"}),
    Piece("threshold", "x", "threshold(x, 0.3, 0.1)", own={"jax": "where(x > 0.3, x, 0.1)"}),
    Piece("polygamma", "positive", "polygamma(1, x)", own={"jax": None}),
    Piece("x + 1.5", "x", "x + 1.5", "fi"), Piece("2 x - x ** 2", "x", "2 * x - x ** 2", "fi"),
    Piece("1 / x", "positive", "1 / x"),
    Piece("x ** 3", "x", "x ** 3", "fi"), Piece("x ** 0.5", "positive", "x ** 0.5"), Piece("x ** -2", "positive", "x ** -2"),
    *alike("xy", "add sub:sub:subtract mul:mul:multiply maximum minimum", "{}(x, y)", kinds="fi"),
    *alike("xy", "atan2:atan2:arctan2 hypot copysign logaddexp logaddexp2 fmax fmin", "{}(x, y)"),
    *alike("xy", "equal:eq:equal not_equal less less_equal greater greater_equal", "{}(x, y)",
          kinds="fi", differentiable=False),
    *alike("xy", "logical_and logical_or logical_xor", "{}(x, y)", kinds="fib", differentiable=False),
    *alike("xy", "isclose nextafter", "{}(x, y)", kinds="", differentiable=False),
    *alike("positive xy",
        "div:div:divide pow:pow:power float_power fmod remainder floor_divide xlogy", "{}(x, y)"),
    *alike("whole xy", "bitwise_and bitwise_or bitwise_xor gcd lcm floor_divide remainder", "{}(x, y)",
           "{} of integers", kinds="", differentiable=False),
    Piece("lerp", "alike", "lerp(x, y, z)", own={"jax": "x + z * (y - x)"}),
    Piece("addcmul", "xyz", "addcmul(x, y, z)", own={"jax": "x + y * z"}),
    Piece("addcdiv", "alike", "addcdiv(x, y, z)", own={"jax": "x + y / z"}),
    Piece("where", "xyz", "where(x > 0, y, z)", "fi"),
    Piece("masked_fill", "xy", "masked_fill(x, y > 0, 0.5)", own={"jax": "where(y > 0, 0.5, x)"}),
    Piece("squared difference", "xy", "(x - y) ** 2", "fi"), Piece("fused chain", "xyz", "tanh(x * y + z) * sigmoid(x) + y"),
    Piece("four operands", "xyzw", "x * y + z * w"), Piece("heaviside", "xy", "heaviside(x, y)", differentiable=False),
    Piece("sum of powers", "x", "x + x ** 2 + x ** 3 + x ** 4 + x ** 5 + x ** 6"),
    Piece("cube and root", "positive", "sqrt(x * x * x)"),
    Piece("difference over sum", "positive xy", "(x - y) / (x + y)"),
    Piece("gaussian", "xy", "exp(-0.5 * (x - y) ** 2) / 2.5066"),
    # reductions, scans, orders
    *alike("axis", "sum mean", "{}(x, axis)", kinds="fi"), *alike("axis", "amax amin", "{}(x, axis)"),
    *alike("positive axis", "prod", "{}(x, axis)"), *alike("axis", "argmax argmin", "{}(x, axis)",
          kinds="fi", differentiable=False),
    *alike("axis", "any all", "{}(x > 0, axis)", kinds="fi", differentiable=False),
    *alike("axis", "logsumexp nansum softmax log_softmax cumsum:cumsum:cumsum", "{}(x, axis)"),
    *alike("positive axis", "cumprod:cumprod:cumprod", "{}(x, axis)"),
    Piece("std", "axis", "std(x, axis)", own={"mindspore": "std(x, axis, 1)", "jax": "std(x, axis, ddof=1)"}),
    Piece("var", "axis", "var(x, axis)", own={"mindspore": "var(x, axis, 1)", "jax": "var(x, axis, ddof=1)"}),
    Piece("softmin", "axis", "softmin(x, axis)", own={"jax": "softmax(-x, axis)"}),
    Piece("count_nonzero", "axis", "count_nonzero(x > 0, axis)", differentiable=False),
    Piece("cummax", "axis", "cummax(x, axis)[0]", own={"jax": "cummax(x, axis)"}),
    Piece("logcumsumexp", "axis", "logcumsumexp(x, axis)", own={"jax": "cumlogsumexp(x, axis)"}),
    Piece("sort", "axis", "sort(x, axis)[0]", own={"jax": "sort(x, axis)"}),
    Piece("argsort", "axis", "argsort(x, axis)", differentiable=False),
    Piece("median", "axis", "median(x, axis)[0]", own={"jax": None}),
    Piece("topk", "last", "topk(x, 2)[0]", own={"jax": "top_k(x, 2)[0]"}),
    Piece("diff", "axis", "diff(x, 1, axis)"), Piece("norm", "axis", "norm(x, 2, axis)"),
    Piece("sum of all", "x", "x.sum()", "fi"), Piece("mean of all", "x", "x.mean()"), Piece("max of all", "x", "x.max()"),
    Piece("sum of squares", "axis", "(x * x).sum(axis)"), Piece("mean of magnitudes", "axis", "abs(x).mean(axis)"),
    Piece("sum of products", "alike", "(x * y).sum(-1)"),
    Piece("variance by hand", "axis", "((x - x.mean(axis)) ** 2).mean(axis)"
          .replace("x.mean(axis))", "unsqueeze(x.mean(axis), axis))"),
                own={"jax": "((x - expand_dims(x.mean(axis), axis)) ** 2).mean(axis)"}),
    Piece("standardised", "last", "(x - mean(x, -1, True)) / (std(x, -1, keepdim=True) + 1e-5)", own={
        "mindspore": "(x - mean(x, -1, True)) / (std(x, -1, 1, True) + 1e-5)",
        "jax": "(x - mean(x, -1, keepdims=True)) / (std(x, -1, ddof=1, keepdims=True) + 1e-5)"}),
    Piece("cosine similarity", "alike", "cosine_similarity(x, y, -1)", own={
        "jax": "(x * y).sum(-1) / sqrt((x * x).sum(-1) * (y * y).sum(-1))"}),
    Piece("pairwise distance", "alike", "sqrt(((x - y) ** 2).sum(-1) + 1e-6)"),
    # shapes
    Piece("permute", "axes", "permute(x, order) + 1", own={"jax": "transpose(x, order) + 1"}, kinds="fi"),
    Piece("permute and multiply", "axes", "permute(x, order) * permute(x * x, order)", own={
        "jax": "transpose(x, order) * transpose(x * x, order)"}),
    Piece("swapaxes", "axes", "swapaxes(x, 0, 1) * 2"), Piece("moveaxis", "axes", "moveaxis(x, 0, -1) * 2"),
    Piece("flip", "axes", "flip(x, (0,))"), Piece("roll", "axes", "roll(x, 3, 1)"),
    Piece("concat", "alike", "cat((x, y, x), 0)", own={"jax": "concatenate((x, y, x), 0)"}, kinds="fi"),
    Piece("concat last", "alike", "cat((x, y), -1)", own={"jax": "concatenate((x, y), -1)"}),
    Piece("stack", "alike", "stack((x, y, z), 0)"), Piece("stack last", "alike", "stack((x, y), -1)"),
    Piece("split and multiply", "alike", "x[:x.shape[0] // 2] * y[x.shape[0] - x.shape[0] // 2:]"),
    Piece("chunks", "last", "x[..., :size // 2] * sigmoid(x[..., size - size // 2:])"),
    Piece("every other", "axes", "x[::2] + x[::2]"), Piece("without borders", "axes", "x[..., 1:] - x[..., :-1]"),
    Piece("reshape", "axes", "reshape(x, (-1,)) + 1"), Piece("tile", "axes", "tile(x, (2, ) + (1,) * (rank - 1))"),
    Piece("expand and add", "axes", "unsqueeze(x[0], 0) + x", own={"jax": "expand_dims(x[0], 0) + x"}),
    Piece("repeat_interleave", "axes", "repeat_interleave(x, 2, 0)", own={"jax": "repeat(x, 2, 0)"}),
    Piece("pad", "axes", "pad(x, (1, 2))", own={"jax": "pad(x, ((0, 0),) * (rank - 1) + ((1, 2),))"}),
    Piece("tril", "axes", "tril(x)"), Piece("triu", "axes", "triu(x, 1)"), Piece("diagonal", "axes", "diagonal(x) * 2"),
    Piece("rot90", "axes", "rot90(x, 1, (0, 1))"), Piece("broadcast_to", "axes", "broadcast_to(x, (3,) + shape) * 2"),
    Piece("first row", "axes", "x[0] * 2"), Piece("last column", "axes", "x[..., -1] * 2"),
    Piece("hstack", "alike", "hstack((x, y))"),
    Piece("outer of rows", "axes", "x[0].reshape(-1)[:256].reshape(-1, 1) * x[-1].reshape(-1)[:256]"),
    # indices
    Piece("gather", "table", "index_select(x, 0, i)",
          own={"mindspore": "gather(x, i, 0)", "jax": "take(x, i, 0)"}, kinds="fi"),
    Piece("embedding", "table", "embedding(i, x)", own={"torch": "nn.functional.embedding(i, x)", "jax": "x[i]"}),
    Piece("rows by index", "table", "x[i] * rows"),
    Piece("gather_elements", "table", "gather(x, 0, e.long())", own={
        "mindspore": "gather_elements(x, 0, e)", "jax": "take_along_axis(x, e, 0)"}),
    Piece("index_add", "table", "index_add(x, 0, i, rows)",
          own={"mindspore": "index_add(x, i, rows, 0)", "jax": "x.at[i].add(rows)"}),
    Piece("scatter_add", "table", "scatter_add(x, 0, e.long(), x)", own={
        "mindspore": "tensor_scatter_elements(x, e, x, 0, 'add')",
        "jax": "x.at[e, arange(x.shape[1])].add(x)"}),
    Piece("one_hot", "classes", "one_hot(labels.long(), count) + x", own={
        "mindspore": "one_hot(labels, count) + x", "jax": "one_hot(labels, count) + x"}),
    Piece("picked logits", "classes", "x[arange(rows), labels]"),
    Piece("messages of a graph", "table", "index_add(zeros_like(x), 0, i, x[i] * rows)", own={
        "mindspore": "index_add(zeros_like(x), i, x[i] * rows, 0)", "jax": "zeros_like(x).at[i].add(x[i] * rows)"}),
    # products
    *alike("product", "matmul", "{}(a, b)"), Piece("matmul of a transpose", "product", "matmul(a, t.T)"),
    Piece("matrix and vector", "product", "matmul(a, v)"),
    Piece("addmm", "product", "addmm(c, a, b)", own={"jax": "c + a @ b"}),
    *alike("products", "bmm:bmm:matmul", "{}(a, b)"),
    Piece("baddbmm", "products", "baddbmm(c, a, b)", own={"jax": "c + a @ b"}),
    Piece("product and relu", "product", "relu(matmul(a, b) + c)"), Piece("outer", "product", "outer(a[0], b[0])"),
    Piece("inner of rows", "product", "a[0] @ v"), Piece("gram", "product", "a @ a.T"),
    Piece("einsum ij,jk->k", "product", "einsum('ij,jk->k', a, b)"),
    Piece("einsum ij,kj->ik", "product", "einsum('ij,kj->ik', a, t)"),
    Piece("einsum bij,bjk->bik", "products", "einsum('bij,bjk->bik', a, b)"),
    Piece("einsum bij,bjk,bik->b", "products", "einsum('bij,bjk,bik->b', a, b, c)"),
    Piece("einsum bij,bj->i", "products", "einsum('bij,bj->i', a, v)"),
    Piece("quadratic form", "products", "(a * (c @ swapaxes(b, 1, 2))).sum((1, 2))"),
    Piece("trace of a product", "product", "(a * (c @ b.T)).sum()"),
    Piece("cdist", "product", "cdist(a, t)", own={"jax": "sqrt(((a[:, None] - t) ** 2).sum(-1))"}),
    Piece("squared distances", "product", "(a * a).sum(1)[:, None] - 2 * (a @ t.T) + (t * t).sum(1)"),
    *alike("square", "inverse:inv:inv cholesky matrix_exp:matrix_exp:- det", "{}(s)", kinds=""),
    Piece("solve", "square", "solve(s, b)", "",
          own={"mindspore": "matrix_solve(s, b)", "torch": "linalg.solve(s, b)"}),
    Piece("slogdet", "square", "slogdet(s)[1]", ""),
    Piece("qr", "square", "qr(s)[1]", ""), Piece("trace", "square", "trace(s)", ""),
    Piece("matrix_power", "square", "matrix_power(s, 5)", ""),
    Piece("inverse and product", "square", "inv(s) @ b", "", own={"mindspore": "inverse(s) @ b"}),
    Piece("log of a determinant by Cholesky", "square", "2 * log(diagonal(cholesky(s))).sum()", ""),
    # transforms
    Piece("fft", "last", "abs(fft(x))", "",
          own={"torch": "abs(torch.fft.fft(x))", "jax": "abs(jax.numpy.fft.fft(x))"}),
    Piece("rfft and back", "last", "irfft(rfft(x))", ""),
    # pictures
    Piece("conv2d 3 x 3", "picture", "conv2d(x, w, None, 1, 1)", own={
        "mindspore": "conv2d(x, w, None, 1, 'pad', 1)", "jax": "conv_general_dilated(x, w, (1, 1), [(1, 1), (1, 1)])"}),
    Piece("conv2d 3 x 3, stride 2", "picture", "conv2d(x, w, None, 2, 1)", own={
        "mindspore": "conv2d(x, w, None, 2, 'pad', 1)", "jax": "conv_general_dilated(x, w, (2, 2), [(1, 1), (1, 1)])"}),
    Piece("conv2d 1 x 1", "picture", "conv2d(x, p)", own={"jax": "conv_general_dilated(x, p, (1, 1), 'VALID')"}),
    Piece("conv2d, groups", "picture", "conv2d(x, g, None, 1, 1, 1, 4)", own={
        "mindspore": "conv2d(x, g, None, 1, 'pad', 1, 1, 4)",
        "jax": "conv_general_dilated(x, g, (1, 1), [(1, 1), (1, 1)], feature_group_count=4)"}),
    Piece("conv2d, depthwise", "picture", "conv2d(x, d, None, 1, 1, 1, channels)", own={
        "mindspore": "conv2d(x, d, None, 1, 'pad', 1, 1, channels)",
        "jax": "conv_general_dilated(x, d, (1, 1), [(1, 1), (1, 1)], feature_group_count=channels)"}),
    Piece("conv2d, dilation 2", "picture", "conv2d(x, w, None, 1, 2, 2)", own={
        "mindspore": "conv2d(x, w, None, 1, 'pad', 2, 2)",
        "jax": "conv_general_dilated(x, w, (1, 1), [(2, 2), (2, 2)], rhs_dilation=(2, 2))"}),
    Piece("conv1d", "picture", "conv1d(line, l, None, 1, 1)", own={
        "mindspore": "conv1d(line, l, None, 1, 'pad', 1)", "jax": "conv_general_dilated(line, l, (1,), [(1, 1)])"}),
    Piece("conv2d and relu", "picture", "relu(conv2d(x, w, None, 1, 1))", own={
        "mindspore": "relu(conv2d(x, w, None, 1, 'pad', 1))",
          "jax": "relu(conv_general_dilated(x, w, (1, 1), [(1, 1), (1, 1)]))"}),
    Piece("max_pool2d", "picture", "max_pool2d(x, 2)", own={"mindspore": "max_pool2d(x, 2, 2)", "jax": None}),
    Piece("max_pool2d 3, stride 2", "picture", "max_pool2d(x, 3, 2, 1)", own={"jax": None}),
    Piece("avg_pool2d", "picture", "avg_pool2d(x, 2)", own={"mindspore": "avg_pool2d(x, 2, 2)", "jax": None}),
    Piece("adaptive_avg_pool2d", "picture", "adaptive_avg_pool2d(x, (1, 1))", own={"jax": "x.mean((2, 3), keepdims=True)"}),
    Piece("global pooling", "picture", "x.mean((2, 3))"),
    Piece("interpolate, nearest", "picture", "interpolate(x, (2 * side, 2 * side))", own={
        "jax": "image.resize(x, (batch, channels, 2 * side, 2 * side), 'nearest')"}),
    Piece("interpolate, bilinear", "picture", "interpolate(x, (2 * side, 2 * side), mode='bilinear')", own={
        "jax": "image.resize(x, (batch, channels, 2 * side, 2 * side), 'linear')"}),
    Piece("pixel_shuffle", "picture", "pixel_shuffle(x, 2)", own={"jax": None}),
    Piece("group_norm", "picture", "group_norm(x, 4, gain, shift)", own={"jax": None}),
    Piece("instance_norm", "picture", "(x - x.mean((2, 3), True)) / sqrt(((x - x.mean((2, 3), True)) ** 2).mean((2, 3), "
          "True) + 1e-5)",
          own={"jax": "(x - x.mean((2, 3), keepdims=True)) / sqrt(((x - x.mean((2, 3), keepdims=True)) ** 2)"
               ".mean((2, 3), keepdims=True) + 1e-5)"}),
    Piece("batch_norm, trained", "picture", "nn.functional.batch_norm(x, mean.clone(), variance.clone(), gain, shift, True)",
          own={"mindspore": "batch_norm_train(x, gain, shift)[0]", "jax": None}),
    Piece("batch_norm, fixed", "picture", "batch_norm(x, mean, variance, gain, shift)", own={
        "torch": "nn.functional.batch_norm(x, mean, variance, gain, shift)",
        "jax": "(x - mean[:, None, None]) * lax.rsqrt(variance + 1e-5)[:, None, None] * gain[:, None, None] + shift[:, None, "
          "None]"}),
    Piece("batch statistics", "picture", "(x - x.mean((0, 2, 3), True)) * gain.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, "
          "1)",
          own={"jax": "(x - x.mean((0, 2, 3), keepdims=True)) * gain.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)"}),
    Piece("squeeze and excite", "picture", "x * sigmoid(x.mean((2, 3)) * gain + shift)[:, :, None, None]"),
    Piece("residual of channels", "picture", "relu(x * gain[:, None, None] + shift[:, None, None] + x)"),
    Piece("total variation", "picture", "abs(x[:, :, 1:] - x[:, :, :-1]).mean() + abs(x[:, :, :, 1:] - x[:, :, :, "
          ":-1]).mean()"),
    Piece("patches as rows", "picture", "permute(x.reshape(batch, channels, -1), (0, 2, 1)) * 2", own={
        "jax": "transpose(x.reshape(batch, channels, -1), (0, 2, 1)) * 2"}),
    # normalisation along the last axis
    Piece("layer_norm", "last", "layer_norm(x, (size,), g, b)", own={
        "jax": "(x - x.mean(-1, keepdims=True)) * rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b"}),
    Piece("rms_norm", "last", "x * rsqrt((x * x).mean(-1, True) + 1e-6) * g", own={
        "jax": "x * rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g"}),
    Piece("bias and gelu", "last", "gelu(x + b)", own={"jax": "gelu(x + b, approximate=False)"}),
    Piece("scale and shift", "last", "x * g + b"),
    Piece("l2 normalised", "last", "x / sqrt((x * x).sum(-1, True) + 1e-6)", own={
        "mindspore": "x / sqrt((x * x).sum(-1, keepdims=True) + 1e-6)",
          "jax": "x / sqrt((x * x).sum(-1, keepdims=True) + 1e-6)"}),
    Piece("bias of columns", "last", "x * g + x.reshape(-1, size).sum(0)"), Piece("prelu", "last", "where(x > 0, x, g * x)"),
    Piece("softmax with temperature", "last", "softmax(x / 0.7, -1)"),
    Piece("layer_norm of a sum", "last", "layer_norm(x + x * g, (size,), g, b)", own={
        "jax": "(lambda y: (y - y.mean(-1, keepdims=True)) * rsqrt(y.var(-1, keepdims=True) + 1e-5) * g + b)(x + x * g)"}),
    # losses
    Piece("cross_entropy", "classes", "cross_entropy(x, labels.long())", own={
        "mindspore": "cross_entropy(x, labels)", "jax": "-take_along_axis(log_softmax(x), labels[:, None], 1).mean()"}),
    Piece("cross_entropy of probabilities", "classes", "-(y * log_softmax(x, -1)).sum(-1).mean()"),
    Piece("nll_loss", "classes", "nll_loss(x, labels.long())", own={
        "mindspore": "nll_loss(x, labels)", "jax": "-take_along_axis(x, labels[:, None], 1).mean()"}),
    Piece("mse_loss", "alike", "mse_loss(x, y)", own={"jax": "((x - y) ** 2).mean()"}),
    Piece("l1_loss", "alike", "l1_loss(x, y)", own={"jax": "abs(x - y).mean()"}),
    Piece("smooth_l1_loss", "alike", "smooth_l1_loss(x, y)", own={
        "mindspore": "smooth_l1_loss(x, y, reduction='mean')",
          "jax": "where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5).mean()"}),
    Piece("huber_loss", "alike", "huber_loss(x, y)",
          own={"jax": "where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5).mean()"}),
    Piece("huber by hand", "alike", "where(abs(x - y) < 1, 0.5 * (x - y) ** 2, abs(x - y) - 0.5).mean()"),
    Piece("binary_cross_entropy", "classes", "binary_cross_entropy(y, y * 0.5 + 0.2)", own={
        "jax": "-((y * 0.5 + 0.2) * log(y) + (0.8 - y * 0.5) * log1p(-y)).mean()"}),
    Piece("binary_cross_entropy_with_logits", "classes", "binary_cross_entropy_with_logits(x, y)", own={
        "torch": "nn.functional.binary_cross_entropy_with_logits(x, y)",
        "jax": "(maximum(x, 0) - x * y + log1p(exp(-abs(x)))).mean()"}),
    Piece("kl_div", "classes", "kl_div(x, y, reduction='mean')", own={
        "torch": "nn.functional.kl_div(x, y, reduction='mean')", "jax": "(y * (log(y) - x)).mean()"}),
    Piece("soft_margin_loss", "classes", "soft_margin_loss(x, signs)", own={"jax": "log1p(exp(-signs * x)).mean()"}),
    Piece("hinge", "classes", "relu(1 - signs * x).mean()"),
    Piece("focal", "classes", "(-(1 - sigmoid(x)) ** 2 * log(sigmoid(x)) * y).mean()"),
    Piece("dice", "classes", "1 - 2 * (sigmoid(x) * y).sum(1) / (sigmoid(x).sum(1) + y.sum(1) + 1)"),
    Piece("label smoothing", "classes", "-(log_softmax(x, -1) * (0.9 * y + 0.1 / count)).sum(-1).mean()"),
    Piece("entropy", "classes", "-(softmax(x, -1) * log_softmax(x, -1)).sum(-1)"),
    Piece("Kullback-Leibler of normals", "alike", "-0.5 * (1 + y - x ** 2 - exp(y)).sum()"),
    Piece("reparametrised sample", "alike", "x + exp(0.5 * y) * z"),
    Piece("log of a normal density", "alike", "-0.5 * ((x - y) / z) ** 2 - log(z)"),
    # updates
    Piece("Adam", "alike", "x - 0.001 * (0.9 * y + 0.1 * z) / (sqrt(0.999 * z + 0.001 * y * y) + 1e-8)"),
    Piece("momentum", "xyz", "x - 0.1 * (0.9 * y + z)"), Piece("moving average", "xy", "0.99 * x + 0.01 * y"),
    # sequences
    *alike("sequence", "scaled_dot_product_attention:scaled_dot_product_attention:-", "{}(q, k, v)"),
    Piece("attention by hand", "sequence", "matmul(softmax(matmul(q, swapaxes(k, -1, -2)) * scale, -1), v)"),
    Piece("causal scores", "sequence", "softmax(where(mask, -1e4, matmul(q, swapaxes(k, -1, -2)) * scale), -1)"),
    Piece("heads", "sequence", "permute(x.reshape(batch, length, heads, size), (0, 2, 1, 3)) * 2", own={
        "jax": "transpose(x.reshape(batch, length, heads, size), (0, 2, 1, 3)) * 2"}),
    Piece("heads back", "sequence", "permute(q, (0, 2, 1, 3)).reshape(batch, length, e) @ wo", own={
        "jax": "transpose(q, (0, 2, 1, 3)).reshape(batch, length, e) @ wo"}),
    Piece("rotary", "sequence", "cat((q[..., :half] * cos - q[..., half:] * sin, q[..., :half] * sin + q[..., half:] * cos), "
          "-1)",
          own={"jax": "concatenate((q[..., :half] * cos - q[..., half:] * sin, q[..., :half] * sin + q[..., half:] * cos), "
          "-1)"}),
    Piece("feed forward", "sequence", "gelu(x @ w1 + b1) @ w2 + b",
          own={"jax": "gelu(x @ w1 + b1, approximate=False) @ w2 + b"}),
    Piece("SwiGLU", "sequence", "(silu(x @ w1) * (x @ w3)) @ w2"), Piece("projection", "sequence", "x @ wq"),
    Piece("block before attention", "sequence", "layer_norm(x, (e,), g, b) @ wq", own={
        "jax": "((x - x.mean(-1, keepdims=True)) * rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b) @ wq"}),
    Piece("residual and norm", "sequence", "layer_norm(x + x @ wo, (e,), g, b)", own={
        "jax": "(lambda y: (y - y.mean(-1, keepdims=True)) * rsqrt(y.var(-1, keepdims=True) + 1e-5) * g + b)(x + x @ wo)"}),
    Piece("gates of experts", "sequence", "softmax(x @ wg, -1)"), Piece("mean over time", "sequence", "x.mean(1)"),
    Piece("RNN cell", "sequence", "tanh(step @ wo + h @ wo + b)"),
    Piece("gated cell", "sequence", "(lambda z, c: sigmoid(z[:, :e]) * c + sigmoid(z[:, e:2 * e]) * tanh(z[:, "
          "2 * e:3 * e]))(step @ wi + h @ wh, c)"),
    Piece("LSTM cell", "sequence", "(lambda z, c: sigmoid(z[:, 3 * e:]) * tanh(sigmoid(z[:, :e]) * c + sigmoid(z[:, "
          "e:2 * e]) "
          "* tanh(z[:, 2 * e:3 * e])))(step @ wi + h @ wh, c)"),
    Piece("GRU update", "sequence", "(lambda z: (1 - z) * tanh(step @ wo) + z * h)(sigmoid(step @ wo + h @ wo))"),
    Piece("contrast of a batch", "sequence", "log_softmax(step @ h.T / 0.1, -1).mean()"),
    Piece("linear and softmax", "sequence", "softmax(step @ wo + b, -1)"),
    Piece("bilinear", "sequence", "((step @ wo) * h).sum(-1)"),
    Piece("tiny MLP", "sequence", "tanh(tanh(step @ wo + b) @ wo + b) @ wo + b"),
    # what users write besides
    Piece("layer_norm over two axes", "picture", "layer_norm(x, (side, side), plane, plane * 0.5)", own={
        "jax": "(x - x.mean((2, 3), keepdims=True)) * rsqrt(x.var((2, 3), keepdims=True) + 1e-5) * plane + plane * 0.5"}),
    Piece("masked softmax", "sequence", "softmax(masked_fill(matmul(q, swapaxes(k, -1, -2)) * scale, mask, float('-inf')), -1)",
          own={"jax": "softmax(where(mask, -inf, matmul(q, swapaxes(k, -1, -2)) * scale), -1)"}),
    Piece("cross_entropy, label_smoothing", "classes", "cross_entropy(x, labels.long(), label_smoothing=0.1)", own={
        "mindspore": "cross_entropy(x, labels, label_smoothing=0.1)",
        "jax": "-(0.9 * take_along_axis(log_softmax(x), labels[:, None], 1)[:, 0] + 0.1 * log_softmax(x).mean(-1)).mean()"}),
    Piece("cross_entropy, ignore_index", "classes", "cross_entropy(x, labels.long(), ignore_index=0)", own={
        "mindspore": "cross_entropy(x, labels, ignore_index=0)", "jax": None}),
    Piece("bags of embeddings", "table", "x[bags].mean(1)"),
    Piece("triangular systems", "triangles", "solve_triangular(s, b, lower=True)", "", own={
        "torch": "torch.linalg.solve_triangular(s, b, upper=False)",
        "jax": "jax.scipy.linalg.solve_triangular(s, b, lower=True)"}),
    Piece("product and gelu", "product", "gelu(matmul(a, b) + c)", own={"jax": "gelu(matmul(a, b) + c, approximate=False)"}),
    Piece("unfold", "picture", "unfold(x, 3, 1, 1)", own={"jax": "conv_general_dilated_patches(x, (3, 3), (1, 1), 'SAME')"}),
    Piece("fold", "picture", "fold(unfold(x, 3, 1, 1) * 0.5, (side, side), 3, 1, 1)", own={"jax": None}),
    Piece("grid_sample", "picture", "grid_sample(x, grid, align_corners=False)", own={"jax": None}),
    Piece("quantile", "axis", "quantile(x, 0.3, axis)", "", differentiable=False),
    Piece("sorted and weighed", "last", "(sort(x, -1)[0] * g).sum(-1)", own={"jax": "(sort(x, -1) * g).sum(-1)"}),
    Piece("searchsorted", "table", "searchsorted(edges, rows)", differentiable=False),
    Piece("bincount", "table", "bincount(i)", "", differentiable=False, own={"jax": "bincount(i, length=number)"}),
    Piece("flip last", "axes", "flip(x, (-1,)) * x"), Piece("roll all", "axes", "roll(x, (1, -1), (0, 1)) - x"),
    Piece("sum of bytes", "small", "x.sum(axis)", "", differentiable=False),
    Piece("max of bytes", "small", "amax(x, axis)", "", differentiable=False),
    Piece("sum of booleans", "small", "m.sum(axis)", "", differentiable=False),
    Piece("complex product", "small", "u * v + u", "", differentiable=False),
    Piece("complex magnitude", "small", "abs(u * v)", "", differentiable=False),
    Piece("selected sum", "x", "x[x > 0].sum()", own={"jax": None}, differentiable=False),
    Piece("logsumexp over two axes", "axes", "logsumexp(x, (0, 1))"),
    Piece("var over two axes", "axes", "var(x, (0, -1))", own={
        "mindspore": "var(x, (0, -1), 1)", "jax": "var(x, (0, -1), ddof=1)"}),
    Piece("einsum ij,jk,ik->i", "product", "einsum('ij,jk,ik->i', a, b, c)"),
    Piece("20 RNN cells", "sequence", "steps(20, lambda h: tanh(step @ wo + h @ wo + b), h)"),
    # rows by number, order, and what else graphs, queries and samplers write
    Piece("segment sum", "table", "unsorted_segment_sum(rows, i, number)", own={
        "torch": "zeros_like(x).index_add(0, i, rows)", "jax": "jax.ops.segment_sum(rows, i, number)"}),
    Piece("segment max", "table", "maximum(unsorted_segment_max(rows, i, number), -9.0)", own={
        "torch": "full_like(x, -9.0).index_reduce(0, i, rows, 'amax')",
        "jax": "maximum(jax.ops.segment_max(rows, i, number), -9.0)"}),
    Piece("largest rows", "table", "tensor_scatter_max(x, i[:, None], rows)", own={
        "torch": "x.index_reduce(0, i, rows, 'amax')", "jax": "x.at[i].max(rows)"}),
    Piece("rows written", "table", "tensor_scatter_update(x, apart[:, None], few)", own={
        "torch": "x.index_copy(0, apart, few)", "jax": "x.at[apart].set(few)"}),
    Piece("index_copy", "table", "index_copy(x, 0, apart, few)", own={
        "torch": "x.index_copy(0, apart, few)", "jax": "x.at[apart].set(few)"}),
    Piece("index_fill", "table", "index_fill(x, 0, i, 0.5)", own={
        "torch": "x.index_fill(0, i.long(), 0.5)", "jax": "x.at[i].set(0.5)"}),
    Piece("differences of edges", "table", "((x[i] - x[j]) ** 2).sum(-1)"),
    Piece("weighted edges", "table", "index_add(zeros_like(x), 0, i, x[j] * weights[:, None])", own={
        "mindspore": "index_add(zeros_like(x), i, x[j] * weights[:, None], 0)",
        "jax": "zeros_like(x).at[i].add(x[j] * weights[:, None])"}),
    Piece("mean of neighbours", "table", "unsorted_segment_sum(x[j], i, number) / "
          "(unsorted_segment_sum(weights, i, number)[:, None] + 1)",
          own={"torch": "zeros_like(x).index_add(0, i, x[j]) / (zeros_like(x[:, 0]).index_add(0, i, weights)[:, None] + 1)",
               "jax": "jax.ops.segment_sum(x[j], i, number) / (jax.ops.segment_sum(weights, i, number)[:, None] + 1)"}),
    Piece("dot products of pairs", "table", "(x[i] * x[j]).sum(-1) * weights"),
    Piece("one column of rows", "table", "x[i, 0] * 2"),
    Piece("sorted rows", "table", "x[argsort(x[:, 0])]", own={"mindspore": "x[argsort(x[:, 0], 0)]"}),
    Piece("ranks", "axis", "argsort(argsort(x, axis), axis)", differentiable=False),
    Piece("sort, descending", "axis", "sort(x, axis, True)[0]", own={"jax": "-sort(-x, axis)"}),
    Piece("sum of the best", "last", "topk(x, 2)[0].sum(-1)", own={"jax": "top_k(x, 2)[0].sum(-1)"}),
    Piece("largest to one", "last", "x / amax(abs(x), -1)[..., None]"),
    Piece("argmax is label", "classes", "(argmax(x, 1) == labels)",
          differentiable=False),
    Piece("cummin", "axis", "cummin(x, axis)[0]", own={"jax": "cummin(x, axis)"}),
    Piece("running sum from the end", "last", "flip(cumsum(flip(x, (-1,)), -1), (-1,))"),
    Piece("running mean", "last", "cumsum(x, -1) / (g * size)"), Piece("running sum of squares", "axis", "cumsum(x * x, axis)"),
    Piece("discounted scan", "last", "cumsum(x * g, -1) / g"),
    Piece("moving average of two", "last", "x[..., :-1] * 0.5 + x[..., 1:] * 0.5"),
    Piece("norm, infinite", "axis", "norm(x, float('inf'), axis)", own={"jax": "norm(x, inf, axis)"}),
    Piece("norm, one", "axis", "norm(x, 1, axis)"), Piece("norm, cube", "axis", "(abs(x) ** 3).sum(axis)"),
    Piece("between zero and one", "last", "(x - amin(x, -1)[..., None]) / (amax(x, -1) - amin(x, -1) + 1e-3)[..., None]"),
    Piece("weight norm", "last", "x * (g / sqrt((x * x).sum(0) + 1e-6))"),
    Piece("standardised columns", "last", "(x - x.mean(0)) / sqrt(((x - x.mean(0)) ** 2).mean(0) + 1e-5) * g + b"),
    Piece("softmax of columns, weighed", "last", "softmax(x, 0) * g"),
    Piece("log-sum-exp pooling", "last", "logsumexp(x * g, -1)"),
    Piece("sum of columns of a square", "last", "(x * x).sum(0) * g + b"),
    Piece("mean of rows plus bias", "last", "(x + b).mean(0)"),
    Piece("gradient clipped by norm", "alike", "x * minimum(1.0 / sqrt((x * x).sum() + 1e-6), 1.0)", own={
        "torch": "x * clamp(1.0 / sqrt((x * x).sum() + 1e-6), None, 1.0)"}),
    # elements
    Piece("quick gelu", "x", "x * sigmoid(1.702 * x)"), Piece("signed root", "positive", "sign(x) * sqrt(abs(x))"),
    Piece("log of one and magnitude", "x", "sign(x) * log1p(abs(x))"),
    Piece("Horner", "x", "((0.1 * x + 0.2) * x + 0.3) * x + 0.4"),
    Piece("hard mask", "x", "x * (x > 0)", "fi"), Piece("soft cap", "x", "30 * tanh(x / 30)"),
    Piece("squared relu", "x", "relu(x) ** 2"), Piece("sine of a line", "x", "sin(30 * x + 0.1)"),
    Piece("bounds", "xy", "minimum(maximum(x, -1), abs(y))"), Piece("pinball", "xy", "maximum(0.3 * (x - y), -0.7 * (x - y))"),
    Piece("log of a mixture", "xyz", "logaddexp(x + y, z)"), Piece("Charbonnier", "xy", "sqrt((x - y) ** 2 + 1e-6)"),
    Piece("whole arithmetic", "whole xy", "(x * 31 + y) % 1000", "", differentiable=False),
    Piece("whole choice", "whole xy", "where(x > y, x - y, y)", "", differentiable=False),
    Piece("bits", "whole xy", "(x & y) | (x ^ 7)", "", differentiable=False),
    Piece("logic", "xy", "(x > 0) & (y < 1) | (x < -1)", differentiable=False),
    Piece("count of agreement", "xy", "((x > 0) == (y > 0)).sum()",
          differentiable=False),
    # losses
    Piece("multi_margin_loss", "classes", "multi_margin_loss(x, labels.long())", own={
        "mindspore": "multi_margin_loss(x, labels)", "jax": None}),
    Piece("multilabel_soft_margin_loss", "classes", "multilabel_soft_margin_loss(x, y)", own={"jax": None}),
    Piece("triplet_margin_loss", "alike", "triplet_margin_loss(x, y, z)", own={"jax": None}),
    Piece("gaussian_nll_loss", "alike", "gaussian_nll_loss(x, y, z)", own={
        "torch": "nn.functional.gaussian_nll_loss(x, y, z)",
        "jax": "(0.5 * (log(maximum(z, 1e-6)) + (x - y) ** 2 / maximum(z, 1e-6))).mean()"}),
    Piece("poisson_nll_loss", "alike", "poisson_nll_loss(x, y)", own={
        "torch": "nn.functional.poisson_nll_loss(x, y)", "jax": "(exp(x) - y * x).mean()"}),
    Piece("cosine distance matrix", "product", "1 - (a @ t.T) / (sqrt((a * a).sum(1))[:, None] * sqrt((t * t).sum(1)) + 1e-6)"),
    Piece("angular margin", "classes", "30 * where(arange(count) == labels[:, None], x * 0.8 - 0.2, x)"),
    Piece("soft labels and temperature", "classes", "-(softmax(y / 2, -1) * log_softmax(x / 2, -1)).sum(-1).mean()"),
    Piece("Jensen-Shannon", "classes", "(lambda p, q: (p * log(p / (p + q)) + q * log(q / (p + q))).sum(-1))(softmax(x, -1), "
          "softmax(y, -1))"),
    Piece("cross_entropy by classes", "classes", "(logsumexp(x, 1) - x[arange(rows), labels]) * y[:, 0]"),
    Piece("Tversky", "classes", "1 - (lambda p: (p * y).sum(0) / ((p * y).sum(0) + 0.3 * (p * (1 - y)).sum(0) + 0.7 * "
          "((1 - p) * y).sum(0)))(sigmoid(x))"),
    # products
    Piece("low rank", "product", "a @ b + (a[:, :4] @ b[:4]) * 0.5"), Piece("both transposed", "product", "matmul(b.T, a.T)"),
    Piece("einsum bij,bkj->bik", "products", "einsum('bij,bkj->bik', a, t)"),
    Piece("einsum bij,bij->b", "products", "einsum('bij,bij->b', a, a)"),
    Piece("einsum ij,kj,k->i", "product", "einsum('ij,kj,k->i', a, t, b[0])"),
    Piece("einsum ij->j", "product", "einsum('ij->j', a * a)"),
    Piece("einsum ij,ik->ijk", "product", "einsum('ij,ik->ijk', a[:, :16], c[:, :16])"),
    Piece("Mahalanobis", "product", "((a @ (b @ b.T)) * a).sum(1)"), Piece("three in a chain", "product", "a @ b @ c.T"),
    Piece("product of columns", "product", "(a * v).sum(1)"),
    Piece("batched vectors", "products", "(a @ v[:, :, None])[:, :, 0]"),
    Piece("centred covariance", "product", "(a - a.mean(0)).T @ (a - a.mean(0))"),
    # pictures
    Piece("conv_transpose2d, stride 2", "picture", "conv_transpose2d(x, up, None, 2)", own={
        "mindspore": "conv2d_transpose(x, up, None, 2)", "jax": None}),
    Piece("conv2d 3 x 3, weights standardised", "picture", "conv2d(x, w - w.mean((1, 2, 3), True), None, 1, 1)", own={
        "mindspore": "conv2d(x, w - w.mean((1, 2, 3), True), None, 1, 'pad', 1)",
        "jax": "conv_general_dilated(x, w - w.mean((1, 2, 3), keepdims=True), (1, 1), [(1, 1), (1, 1)])"}),
    Piece("conv2d, depthwise, stride 2", "picture", "conv2d(x, d, None, 2, 1, 1, channels)", own={
        "mindspore": "conv2d(x, d, None, 2, 'pad', 1, 1, channels)",
        "jax": "conv_general_dilated(x, d, (2, 2), [(1, 1), (1, 1)], feature_group_count=channels)"}),
    Piece("depthwise and pointwise", "picture", "conv2d(relu(conv2d(x, d, None, 1, 1, 1, channels)), p)", own={
        "mindspore": "conv2d(relu(conv2d(x, d, None, 1, 'pad', 1, 1, channels)), p)",
        "jax": "conv_general_dilated(relu(conv_general_dilated(x, d, (1, 1), [(1, 1), (1, 1)], "
        "feature_group_count=channels)), p, "
               "(1, 1), 'VALID')"}),
    Piece("adaptive_max_pool2d", "picture", "adaptive_max_pool2d(x, 3)", own={"jax": None}),
    Piece("adaptive_avg_pool2d to 3", "picture", "adaptive_avg_pool2d(x, (3, 3))", own={"jax": None}),
    Piece("global max pooling", "picture", "amax(x, (2, 3))"),
    Piece("pad, reflect", "picture", "pad(x, (1, 1, 1, 1), 'reflect')", own={
        "jax": "pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), 'reflect')"}),
    Piece("interpolate, bicubic", "picture", "interpolate(x, (2 * side, 2 * side), mode='bicubic')", own={"jax": None}),
    Piece("interpolate, smaller", "picture", "interpolate(x, (side // 2, side // 2), mode='bilinear')", own={"jax": None}),
    Piece("pixel_unshuffle", "picture", "pixel_unshuffle(x[:, :, :side // 2 * 2, :side // 2 * 2], 2)", own={"jax": None}),
    Piece("layer_norm of channels", "picture", "(lambda y: layer_norm(y, (channels,), gain, shift))(permute(x, (0, 2, 3, 1)))",
          own={"jax": "(lambda y: (y - y.mean(-1, keepdims=True)) * rsqrt(y.var(-1, keepdims=True) + 1e-5) * gain + shift)("
                      "transpose(x, (0, 2, 3, 1)))"}),
    Piece("group_norm and silu", "picture", "silu(group_norm(x, 2, gain, shift))", own={"jax": None}),
    Piece("instance_norm of a library", "picture", "nn.functional.instance_norm(x, None, None, gain, shift)", own={
        "mindspore": "instance_norm(x, gain, shift)", "jax": None}),
    Piece("local structure", "picture", "avg_pool2d(x * x, 3, 1) - avg_pool2d(x, 3, 1) ** 2", own={"jax": None}),
    Piece("gram of channels", "picture", "einsum('bcl,bdl->bcd', line, line)"),
    Piece("horizontal flip", "picture", "flip(x, (3,)) + x"),
    Piece("channels last", "picture", "permute(x, (0, 2, 3, 1)) * gain", own={"jax": "transpose(x, (0, 2, 3, 1)) * gain"}),
    Piece("conv3d", "volume", "conv3d(x, w, None, 1, 1)", own={
        "mindspore": "conv3d(x, w, None, 1, 'pad', 1)", "jax": "conv_general_dilated(x, w, (1, 1, 1), [(1, 1)] * 3)"}),
    Piece("max_pool3d", "volume", "max_pool3d(x, 2)", own={"mindspore": "max_pool3d(x, 2, 2)", "jax": None}),
    Piece("avg_pool3d", "volume", "avg_pool3d(x, 2)", own={"mindspore": "avg_pool3d(x, 2, 2)", "jax": None}),
    Piece("volume statistics", "volume", "(x - x.mean((2, 3, 4), True)) * gain[:, None, None, None]", own={
        "jax": "(x - x.mean((2, 3, 4), keepdims=True)) * gain[:, None, None, None]"}),
    # sequences
    Piece("attention with a bias", "sequence", "matmul(softmax(matmul(q, swapaxes(k, -1, -2)) * scale + bias, -1), v)"),
    Piece("attention with a key mask", "sequence", "matmul(softmax(where(seen[:, None, None], matmul(q, swapaxes(k, -1, "
          "-2)) * scale, "
          "-1e4), -1), v)"),
    Piece("attention of one head of keys", "sequence", "matmul(softmax(matmul(q, swapaxes(k[:, :1], -1, -2)) * scale, -1), "
          "v[:, :1])"),
    Piece("linear attention", "sequence", "(elu(q) + 1) @ (swapaxes(elu(k) + 1, -1, -2) @ v)"),
    Piece("scores by einsum", "sequence", "einsum('bhqd,bhkd->bhqk', q, k) * scale"),
    Piece("causal mean", "sequence", "cumsum(x, 1) / (arange(length) + 1)[:, None]"),
    Piece("masked mean", "sequence", "(x * seen[:, :, None]).sum(1) / (seen.sum(1)[:, None] + 1)"),
    Piece("rotate half", "sequence", "cat((-q[..., half:], q[..., :half]), -1) * 2", own={
        "jax": "concatenate((-q[..., half:], q[..., :half]), -1) * 2"}),
    Piece("token shift", "sequence", "x + cat((zeros_like(x[:, :1]), x[:, :-1]), 1) * 0.5", own={
        "jax": "x + concatenate((zeros_like(x[:, :1]), x[:, :-1]), 1) * 0.5"}),
    Piece("norm of queries", "sequence", "q / sqrt((q * q).sum(-1) + 1e-6)[..., None]"),
    Piece("capped scores", "sequence", "20 * tanh(matmul(q, swapaxes(k, -1, -2)) * (scale / 20))"),
    Piece("adapter", "sequence", "x @ wo + (x @ low) @ high"), Piece("last of each", "sequence", "x[:, -1] @ wo + b"),
    Piece("depthwise over time", "sequence", "conv1d(swapaxes(x, 1, 2), taps, None, 1, 1, 1, e)", own={
        "mindspore": "conv1d(swapaxes(x, 1, 2), taps, None, 1, 'pad', 1, 1, e)",
        "jax": "conv_general_dilated(swapaxes(x, 1, 2), taps, (1,), [(1, 1)], feature_group_count=e)"}),
    Piece("best two experts", "sequence", "softmax(topk(x @ wg, 2)[0], -1)", own={"jax": "softmax(top_k(x @ wg, 2)[0], -1)"}),
    Piece("queries, keys and values", "sequence", "permute((x @ wq).reshape(batch, length, 3, heads, size), "
          "(2, 0, 3, 1, 4)) * 2",
          own={"jax": "transpose((x @ wq).reshape(batch, length, 3, heads, size), (2, 0, 3, 1, 4)) * 2"}),
]


PIECES += [Piece(name, draw, text, own=own, differentiable=differentiable) for name, draw, text, own, differentiable in RECENT]
DRAWS.update(RECENT_DRAWS)


def steps(count, function, state):
    """function(..(function(state)))"""
    for _ in range(count):
        state = function(state)
    return state


def scanned(count, function, state):
    """[out of (state, out) = function(state, t) for each t]"""
    outs = []
    for t in range(count):
        state, out = function(state, t)
        outs.append(out)
    return outs


# ---------------------------------------------------------------- rows

def modules_of(F):
    """The modules in which a framework's names are found, and the framework's package."""
    package = importlib.import_module({"mindspore": F.name}.get(F.kind, F.kind))
    found = [importlib.import_module(f"{package.__name__}.{name}".rstrip(".")) for name in MODULES[F.kind]]
    return found, package


def function_of(F, piece, operands):
    """The function of the arrays among `operands` that a piece is in a framework; None if it has no such thing.

    raises : NameError for a name that the framework has not
    """
    text = piece.own.get(F.kind, piece.text)
    if text is None:
        return None
    arrays = [name for name, value in operands.items() if isinstance(value, np.ndarray)]
    code = compile(text, "text", "eval")
    read = set(code.co_names).union(*(c.co_names + c.co_freevars for c in nested(code)))
    modules, package = modules_of(F)
    names = {"steps": steps, "scanned": scanned, package.__name__: package,
             **{name: value for name, value in operands.items() if not isinstance(value, np.ndarray)}}
    for name in read - set(operands) - set(names):
        found = next((getattr(m, name) for m in modules if callable(getattr(m, name, None))), getattr(package, name, None))
        if found is not None:
            names[name] = found
    used = [name for name in arrays if name in read]
    source = f"def piece({', '.join(used)}):\n    return {text}\n"
    path = f"<piece {piece.name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)         # compilers read the source
    exec(compile(source, path, "exec"), names)
    return names["piece"]


def nested(code):
    """The code objects in one."""
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield constant
            yield from nested(constant)


def drawn(piece, size, seed):
    """The operands of a piece, {name: ndarray or number}: the same in all processes."""
    rng = np.random.default_rng([seed, *piece.name.encode(), *size.encode()])
    low, high = SIZES[size]
    return DRAWS[piece.draw](rng, int(round(math.exp(rng.uniform(math.log(low), math.log(high))))))


def dtypes_of(piece, seed):
    """float32, or int32 where the draw says so, and one other dtype that is drawn."""
    others = [name for kind in piece.kinds for name in DTYPES[kind]]
    rng = np.random.default_rng([seed, *piece.name.encode()])
    return [None, *([others[int(rng.integers(0, len(others)))]] if others else [])]


def row_of(piece, size, dtype, mode, seed):
    """The Row of a piece; the peers run their own way: jax compiled, torch eagerly."""
    eager, gradients = mode.startswith("eager"), mode.endswith("gradients")

    def make(F):
        if eager and F.name == "jax" or F.name not in ("mindlite", "torch", "jax"):
            return None
        operands = drawn(piece, size, seed)
        function = function_of(F, piece, operands)
        if function is None:
            return None
        names = list(inspect.signature(function).parameters)
        arrays = [operands[name] for name in names]
        floats = tuple(i for i, a in enumerate(arrays) if a.dtype == np.float32)
        wrt = tuple(i for i in floats if names[i] not in STATISTICS)
        values = [F.converted(a, dtype) if i in floats else F.array(a) for i, a in enumerate(arrays)]
        if gradients:
            out = F.numpy(function(*values))
            rng = np.random.default_rng(seed)
            values.append(F.converted(rng.standard_normal(out.shape, np.float32), dtype))
            function = F.pullback(function, wrt)
        run = function if eager else F.jit(function)
        return lambda: run(*values)
    named = f"{piece.name} | {size} | {dtype or 'float32'} | {mode}"
    return Row(named, 2.0, make, settles=eager)


def register(seed):
    """Make ROWS those of this table, drawn by `seed`."""
    ROWS.clear()
    for piece, size, mode in itertools.product(PIECES, SIZES, MODES):
        for dtype in dtypes_of(piece, seed):
            if mode.endswith("gradients") and (not piece.differentiable or dtype in ("int32", "bool")):
                continue
            row = row_of(piece, size, dtype, mode, seed)
            ROWS[row.name] = row
