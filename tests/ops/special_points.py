"""Derivatives where there is none, or where a number is no number: the rule is torch's, but for EXCEPTIONS.

    "sqrt": (NUMBERS, ops.sqrt, "torch.sqrt(x)")            at 0.0: inf      at -1.0: nan

A row has its points, the function, and the same in torch. What torch's gradients are stands in special_points.json, which
`python bench/special_points.py` writes where torch is installed; docs/special_points.md is made of both.
"""
import json
import pathlib

from mindlite import Tensor, ops

INF, NAN = float("inf"), float("nan")
NUMBERS = [[[0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0]]]
BENDS = [[[0.0, INF, -INF, NAN, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, -6.0, 100.0, -100.0]]]
PAIRS = [[[0.0, 1.0, -1.0, 0.0, 0.0, 1.0, INF, INF, -INF, NAN, 1.0, INF, 0.0, 0.0, 0.0, -1.0, -2.0, 2.0, -INF],
          [0.0, 1.0, 1.0, 1.0, -1.0, 0.0, INF, 1.0, 2.0, 1.0, NAN, 0.0, INF, 2.0, 0.5, 0.0, 3.0, -INF, 2.0]]]
VECTORS = [[[3.0, 1.0, 3.0, 2.0]], [[NAN, 1.0, 2.0, NAN]], [[INF, INF, 1.0, -INF]], [[0.0, 0.0, 0.0, 0.0]],
           [[-INF, -INF, -INF, -INF]]]
SINGULAR = [[[1.0, 2.0, 2.0, 4.0]], [[0.0, 0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0, 0.0]]]
WEIGHTS, HALVES = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([0, 0, 1, 1])

# name: (points: for each the arguments, the function, torch's with torch, F, x, y, weights)
TABLE = {
    "abs": (NUMBERS, ops.abs, "torch.abs(x)"),
    "sign": (NUMBERS, ops.sign, "torch.sign(x)"),
    "relu": (NUMBERS, ops.relu, "torch.relu(x)"),
    "sqrt": (NUMBERS, ops.sqrt, "torch.sqrt(x)"),
    "rsqrt": (NUMBERS, ops.rsqrt, "torch.rsqrt(x)"),
    "exp": (NUMBERS, ops.exp, "torch.exp(x)"),
    "log": (NUMBERS, ops.log, "torch.log(x)"),
    "log1p": (NUMBERS, ops.log1p, "torch.log1p(x)"),
    "expm1": (NUMBERS, ops.expm1, "torch.expm1(x)"),
    "sin": (NUMBERS, ops.sin, "torch.sin(x)"),
    "cos": (NUMBERS, ops.cos, "torch.cos(x)"),
    "tan": (NUMBERS, ops.tan, "torch.tan(x)"),
    "tanh": (NUMBERS, ops.tanh, "torch.tanh(x)"),
    "asin": (NUMBERS, ops.asin, "torch.asin(x)"),
    "acos": (NUMBERS, ops.acos, "torch.acos(x)"),
    "atan": (NUMBERS, ops.atan, "torch.atan(x)"),
    "acosh": (NUMBERS, ops.acosh, "torch.acosh(x)"),
    "atanh": (NUMBERS, ops.atanh, "torch.atanh(x)"),
    "sigmoid": (NUMBERS, ops.sigmoid, "torch.sigmoid(x)"),
    "erf": (NUMBERS, ops.erf, "torch.erf(x)"),
    "floor": (NUMBERS, ops.floor, "torch.floor(x)"),
    "reciprocal": (NUMBERS, ops.reciprocal, "torch.reciprocal(x)"),
    "erfinv": ([[[0.0, 1.0, -1.0, 2.0]]], ops.erfinv, "torch.erfinv(x)"),
    "softplus": (BENDS, ops.softplus, "F.softplus(x)"),
    "logsigmoid": (BENDS, ops.logsigmoid, "F.logsigmoid(x)"),
    "gelu": (BENDS, ops.gelu, "F.gelu(x)"),
    "silu": (BENDS, ops.silu, "F.silu(x)"),
    "mish": (BENDS, ops.mish, "F.mish(x)"),
    "elu": (BENDS, ops.elu, "F.elu(x)"),
    "selu": (BENDS, ops.selu, "F.selu(x)"),
    "relu6": (BENDS, ops.relu6, "F.relu6(x)"),
    "hardswish": (BENDS, ops.hardswish, "F.hardswish(x)"),
    "hardsigmoid": (BENDS, ops.hardsigmoid, "F.hardsigmoid(x)"),
    "softsign": (BENDS, ops.softsign, "F.softsign(x)"),
    "softshrink": (BENDS, ops.softshrink, "F.softshrink(x)"),
    "hardtanh": (BENDS, ops.hardtanh, "F.hardtanh(x)"),
    "maximum": (PAIRS, ops.maximum, "torch.maximum(x, y)"),
    "minimum": (PAIRS, ops.minimum, "torch.minimum(x, y)"),
    "fmax": (PAIRS, ops.fmax, "torch.fmax(x, y)"),
    "fmin": (PAIRS, ops.fmin, "torch.fmin(x, y)"),
    "atan2": (PAIRS, ops.atan2, "torch.atan2(x, y)"),
    "hypot": (PAIRS, ops.hypot, "torch.hypot(x, y)"),
    "xlogy": (PAIRS, ops.xlogy, "torch.xlogy(x, y)"),
    "fmod": (PAIRS, ops.fmod, "torch.fmod(x, y)"),
    "remainder": (PAIRS, ops.remainder, "torch.remainder(x, y)"),
    "div": (PAIRS, ops.div, "torch.div(x, y)"),
    "pow": (PAIRS, ops.pow, "torch.pow(x, y)"),
    "logaddexp": (PAIRS, ops.logaddexp, "torch.logaddexp(x, y)"),
    "logaddexp2": (PAIRS, ops.logaddexp2, "torch.logaddexp2(x, y)"),
    "pow(x, 0.0)": (NUMBERS, lambda x: ops.pow(x, 0.0), "torch.pow(x, 0.0)"),
    "pow(x, 0.5)": (NUMBERS, lambda x: ops.pow(x, 0.5), "torch.pow(x, 0.5)"),
    "pow(x, 1.0)": (NUMBERS, lambda x: ops.pow(x, 1.0), "torch.pow(x, 1.0)"),
    "pow(x, 2.0)": (NUMBERS, lambda x: ops.pow(x, 2.0), "torch.pow(x, 2.0)"),
    "pow(x, -1.0)": (NUMBERS, lambda x: ops.pow(x, -1.0), "torch.pow(x, -1.0)"),
    "pow(x, 3.0)": (NUMBERS, lambda x: ops.pow(x, 3.0), "torch.pow(x, 3.0)"),
    "pow(0.0, x)": (NUMBERS, lambda x: ops.pow(0.0, x), "torch.pow(0.0, x)"),
    "pow(2.0, x)": (NUMBERS, lambda x: ops.pow(2.0, x), "torch.pow(2.0, x)"),
    "pow(0.5, x)": (NUMBERS, lambda x: ops.pow(0.5, x), "torch.pow(0.5, x)"),
    "fmod(x, 2)": (NUMBERS, lambda x: ops.fmod(x, 2.0), "torch.fmod(x, 2.0)"),
    "x % 2": (NUMBERS, lambda x: x % 2.0, "x % 2.0"),
    "clamp": (NUMBERS, lambda x: ops.clamp(x, -1.0, 1.0), "torch.clamp(x, -1.0, 1.0)"),
    "clamp min": (NUMBERS, lambda x: ops.clamp(x, min=1.0), "torch.clamp(x, min=1.0)"),
    "clamp tensor": ([[[1.0, 1.0, 2.0, 0.0], [1.0, 2.0, 1.0, 0.0]]], lambda x, y: ops.clamp(x, min=y),
        "torch.clamp(x, min=y)"),
    "amax": (VECTORS, lambda x: ops.amax(x, 0), "torch.amax(x, 0)"),
    "amin": (VECTORS, lambda x: ops.amin(x, 0), "torch.amin(x, 0)"),
    "max along an axis": (VECTORS, lambda x: ops.max(x, 0)[0], "torch.max(x, 0)[0]"),
    "min along an axis": (VECTORS, lambda x: ops.min(x, 0)[0], "torch.min(x, 0)[0]"),
    "x.max()": (VECTORS, lambda x: x.max(), "x.max()"),
    "x.min()": (VECTORS, lambda x: x.min(), "x.min()"),
    "sort": (VECTORS, lambda x: ops.sort(x)[0] * WEIGHTS, "torch.sort(x, stable=True)[0]*weights"),
    "topk": (VECTORS, lambda x: ops.topk(x, 2)[0] * WEIGHTS[:2], "torch.topk(x, 2)[0]*weights[:2]"),
    "median": (VECTORS, lambda x: ops.median(x, None)[0], "torch.median(x)"),
    "median along an axis": (VECTORS, lambda x: ops.median(x, 0)[0], "torch.median(x, 0)[0]"),
    "cummax": (VECTORS, lambda x: ops.cummax(x, 0)[0] * WEIGHTS, "torch.cummax(x, 0)[0]*weights"),
    "cummin": (VECTORS, lambda x: ops.cummin(x, 0)[0] * WEIGHTS, "torch.cummin(x, 0)[0]*weights"),
    "norm 2": (VECTORS, ops.norm, "torch.linalg.vector_norm(x)"),
    "norm 1": (VECTORS, lambda x: ops.norm(x, 1), "torch.linalg.vector_norm(x, 1)"),
    "norm inf": (VECTORS, lambda x: ops.norm(x, INF), "torch.linalg.vector_norm(x, float('inf'))"),
    "norm 0": (VECTORS, lambda x: ops.norm(x, 0), "torch.linalg.vector_norm(x, 0)"),
    "norm 3": (VECTORS, lambda x: ops.norm(x, 3), "torch.linalg.vector_norm(x, 3)"),
    "prod": (VECTORS, ops.prod, "torch.prod(x)"),
    "cumprod": (VECTORS, lambda x: ops.cumprod(x, 0) * WEIGHTS, "torch.cumprod(x, 0)*weights"),
    "std": (VECTORS, lambda x: ops.std(x, None, 1), "torch.std(x, correction=1)"),
    "var": (VECTORS, lambda x: ops.var(x, None, 1), "torch.var(x, correction=1)"),
    "logsumexp": (VECTORS, lambda x: ops.logsumexp(x, 0), "torch.logsumexp(x, 0)"),
    "softmax": (VECTORS, lambda x: ops.softmax(x, 0) * WEIGHTS, "torch.softmax(x, 0)*weights"),
    "where, log on the other side": (VECTORS, lambda x: ops.where(x > 0, x, ops.log(x)),
        "torch.where(x>0, x, torch.log(x))"),
    "where, sqrt on the other side": (VECTORS, lambda x: ops.where(x > 0, ops.sqrt(x), x * 0),
        "torch.where(x>0, torch.sqrt(x), x*0)"),
    "cross_entropy": (VECTORS, lambda x: ops.cross_entropy(x.reshape(1, 4), Tensor([1])),
        "F.cross_entropy(x.reshape(1, 4), torch.tensor([1]))"),
    "binary_cross_entropy": ([[[0.0, 1.0, 0.5, 0.5]]],
        lambda x: ops.binary_cross_entropy(x, ops.ones_like(x) * 0.5, ops.ones_like(x)),
        "F.binary_cross_entropy(x, torch.ones_like(x)*0.5)"),
    "smooth_l1_loss": (VECTORS, lambda x: ops.smooth_l1_loss(x, ops.ones_like(x), reduction="mean"),
        "F.smooth_l1_loss(x, torch.ones_like(x))"),
    "l1_loss": (VECTORS, lambda x: ops.l1_loss(x, ops.ones_like(x)), "F.l1_loss(x, torch.ones_like(x))"),
    "huber_loss": (VECTORS, lambda x: ops.huber_loss(x, ops.ones_like(x)), "F.huber_loss(x, torch.ones_like(x))"),
    "cosine_similarity": (VECTORS, lambda x: ops.cosine_similarity(x, ops.ones_like(x), 0),
        "F.cosine_similarity(x, torch.ones_like(x), 0)"),
    "unsorted_segment_max": (VECTORS, lambda x: ops.unsorted_segment_max(x, HALVES, 2),
        "torch.zeros(2, dtype=x.dtype).index_reduce(0, torch.tensor([0, 0, 1, 1]), x, 'amax', include_self=False)"),
    "unsorted_segment_min": (VECTORS, lambda x: ops.unsorted_segment_min(x, HALVES, 2),
        "torch.zeros(2, dtype=x.dtype).index_reduce(0, torch.tensor([0, 0, 1, 1]), x, 'amin', include_self=False)"),
    "relu(x)*log(x)": (VECTORS, lambda x: ops.relu(x) * ops.log(x), "torch.relu(x)*torch.log(x)"),
    "sqrt(x)*0": (NUMBERS, lambda x: ops.sqrt(x) * 0, "torch.sqrt(x)*0"),
    "x/x": (VECTORS, lambda x: x / x, "x/x"),
    "det": (SINGULAR, lambda x: ops.det(x.reshape(2, 2)), "torch.det(x.reshape(2, 2))"),
    "renorm": ([[[0.0, 0.0, 3.0, 4.0]], [[0.6, 0.8, 1.0, 0.0]]], lambda x: ops.renorm(x.reshape(2, 2), 2, 0, 1.0),
        "torch.renorm(x.reshape(2, 2), 2, 0, 1.0)"),
}

# name: (why it is not as in torch, the gradients)
EXCEPTIONS = {
    "abs": ("a nan has no sign",
        [[[0.0, 1.0, -1.0, NAN, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]]]),
    "relu": ("nan is not above 0",
        [[[0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]]),
    "hardtanh": ("as clamp",
        [[[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]]),
    "maximum": ("nan is neither larger nor equal",
        [[[0.5, 0.5, 0.0, 0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.5, 0.5, 1.0,
         1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0]]]),
    "minimum": ("nan is neither smaller nor equal",
        [[[0.5, 0.5, 1.0, 1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0], [0.5, 0.5, 0.0,
         0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]]),
    "fmax": ("equals share, as in maximum",
        [[[0.5, 0.5, 0.0, 0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.5, 0.5, 1.0,
         1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0]]]),
    "fmin": ("equals share, as in minimum",
        [[[0.5, 0.5, 1.0, 1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0], [0.5, 0.5, 0.0,
         0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]]),
    "hypot": ("0 at the origin, as norm",
        [[[0.0, 0.707106781187, -0.707106781187, 0.0, 0.0, 1.0, NAN, NAN, NAN, NAN, NAN, NAN, 0.0, 0.0, 0.0, -1.0,
         -0.554700196225, 0.0, NAN], [0.0, 0.707106781187, 0.707106781187, 1.0, -1.0, 0.0, NAN, 0.0, 0.0, NAN, NAN, 0.0,
         NAN, 1.0, 1.0, 0.0, 0.832050294338, NAN, 0.0]]]),
    "xlogy": ("0 where 0 * log(0) = 0 is the value, by both; finite at (0, inf)",
        [[[0.0, 0.0, 0.0, 0.0, 0.0, -INF, INF, 0.0, 0.69314718056, 0.0, NAN, -INF, 0.0, 0.69314718056, -0.69314718056, -INF,
         1.09861228867, NAN, 0.69314718056], [0.0, 1.0, -1.0, 0.0, 0.0, INF, NAN, INF, -INF, NAN, NAN, INF, 0.0, 0.0, 0.0,
         -INF, -0.666666666667, 0.0, -INF]]]),
    "fmod": ("the quotient is (x - out) / y, which is whole for large x too",
        [[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [NAN, -1.0, 1.0,
         0.0, 0.0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0.0, 0.0, 0.0, NAN, 0.0, 0.0, NAN]]]),
    "clamp": ("nan passes, and bounds do",
        [[[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]]]),
    "clamp min": ("nan passes, and bounds do",
        [[[0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]]]),
    "x.max()": ("as amax, for which torch gives nan too",
        [[[0.5, 0.0, 0.5, 0.0]], [[NAN, NAN, NAN, NAN]], [[0.5, 0.5, 0.0, 0.0]], [[0.25, 0.25, 0.25, 0.25]], [[0.25, 0.25,
         0.25, 0.25]]]),
    "x.min()": ("as amin, for which torch gives nan too",
        [[[0.0, 1.0, 0.0, 0.0]], [[NAN, NAN, NAN, NAN]], [[0.0, 0.0, 0.0, 1.0]], [[0.25, 0.25, 0.25, 0.25]], [[0.25, 0.25,
         0.25, 0.25]]]),
    "topk": ("of equals the first come first",
        [[[1.0, 0.0, 2.0, 0.0]], [[1.0, 0.0, 0.0, 2.0]], [[1.0, 2.0, 0.0, 0.0]], [[1.0, 2.0, 0.0, 0.0]], [[1.0, 2.0, 0.0,
         0.0]]]),
    "median": ("one element is the median",
        [[[0.0, 0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0,
         0.0]]]),
    "norm 1": ("a nan has no sign",
        [[[1.0, 1.0, 1.0, 1.0]], [[NAN, 1.0, 1.0, NAN]], [[1.0, 1.0, 1.0, -1.0]], [[0.0, 0.0, 0.0, 0.0]], [[-1.0, -1.0,
         -1.0, -1.0]]]),
    "norm inf": ("as amax of abs",
        [[[0.5, 0.0, 0.5, 0.0]], [[NAN, NAN, NAN, NAN]], [[0.333333333333, 0.333333333333, 0.0, -0.333333333333]], [[0.0,
         0.0, 0.0, 0.0]], [[-0.25, -0.25, -0.25, -0.25]]]),
    "prod": ("the product of the others, exactly",
        [[[6.0, 18.0, 6.0, 9.0]], [[NAN, NAN, NAN, NAN]], [[-INF, -INF, -INF, INF]], [[0.0, 0.0, 0.0, 0.0]], [[-INF, -INF,
         -INF, -INF]]]),
    "cumprod": ("the product of the others, exactly",
        [[[36.0, 105.0, 33.0, 36.0]], [[NAN, NAN, NAN, NAN]], [[-INF, -INF, -INF, INF]], [[1.0, 0.0, 0.0, 0.0]], [[-INF,
         -INF, -INF, -INF]]]),
    "l1_loss": ("a nan has no sign",
        [[[0.25, 0.0, 0.25, 0.25]], [[NAN, 0.0, 0.25, NAN]], [[0.25, 0.25, 0.0, -0.25]], [[-0.25, -0.25, -0.25, -0.25]],
         [[-0.25, -0.25, -0.25, -0.25]]]),
    "unsorted_segment_max": ("torch's index_reduce counts the zeros that it began with",
        [[[1.0, 0.0, 1.0, 0.0]], [[NAN, NAN, NAN, NAN]], [[0.5, 0.5, 1.0, 0.0]], [[0.5, 0.5, 0.5, 0.5]], [[0.5, 0.5, 0.5,
         0.5]]]),
    "unsorted_segment_min": ("as unsorted_segment_max",
        [[[0.0, 1.0, 0.0, 1.0]], [[NAN, NAN, NAN, NAN]], [[0.5, 0.5, 0.0, 1.0]], [[0.5, 0.5, 0.5, 0.5]], [[0.5, 0.5, 0.5,
         0.5]]]),
    "det": ("the cofactors, exactly",
        [[[4.0, -2.0, -2.0, 1.0]], [[0.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 1.0]]]),
}


def of_torch():
    """{name: torch's gradients, as EXCEPTIONS has them}"""
    return json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())


def page():
    """The text of docs/special_points.md."""
    lines = ["# Derivatives at special points", "",
             "Made of `tests/ops/special_points.py`, which the tests run in eager mode and as graphs, backward and forward;",
             "torch's values are those of torch 2.13 (`python bench/special_points.py --check` asks another). The rule is",
             "torch's; else torch's value stands in brackets, and the reason behind it. A list is one point of a function of",
             "a list, and its gradient; sums of several results have the weights 1, 2, 3, 4.", "",
             "| function | gradient at points | why not torch's |", "|---|---|---|"]
    torch = of_torch()
    for name, (points, _, _) in TABLE.items():
        why, ours = EXCEPTIONS.get(name, ("", torch[name]))
        cells = [cell for each in zip(points, ours, torch[name]) for cell in (_listed if len(points) > 1 else _each)(*each)]
        lines.append(f"| `{name}` | {'; '.join(cells)} | {why} |")
    lines += ["", "MindSpore 2.10 on a CPU gives otherwise: nan for `norm`, `hypot` and `atan2` at the origin, for `std` of",
              "equals, by x of `pow(0, 0)`, by y of `xlogy(0, 0)` and at the zero of `cumprod`; 0.5 for `hardtanh` at its",
              "bounds, 1 for `relu6` at 6, and 0 for `abs` and `clamp` at nan."]
    return "\n".join(lines) + "\n"


def _each(point, ours, torch):
    """The cells of an elementwise function: each element is a point."""
    cells = []
    for at, own, other in zip(zip(*point), zip(*ours), zip(*torch)):
        at, own, other = (", ".join(map(_number, values)) for values in (at, own, other))
        cells.append(f"{at}: {own}" + (f" [{other}]" if own != other else ""))
    return cells


def _listed(point, ours, torch):
    at, own, other = (" ".join(map(_number, values[0])) for values in (point, ours, torch))
    return [f"({at}): ({own})" + (f" [{other}]" if own != other else "")]


def _number(value):
    return f"{value + 0.0:.4g}"


if __name__ == "__main__":
    pathlib.Path(__file__).parents[2].joinpath("docs", "special_points.md").write_text(page())
