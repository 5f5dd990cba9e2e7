"""Which way a convolution goes, and the steps of that way: kernels that run one after the other.

    plan = conv2d_plan("forward", float32, sizes)      plan.way "winograd", plan.workspace bytes, plan.steps

| way       | what it is                                       | where it is taken                                   |
|---|---|---|
| product   | one matrix product per picture                   | windows of 1 x 1, stride 1, no border               |
| winograd  | 16 multiplications for 36 (`winograd`)           | float32, 3 x 3, stride 1, at least 16 channels      |
| direct    | the tile reads lines of the picture (`direct`)   | stride 1, pictures at least 6 wide                  |
| patches   | the tile reads patches (`implicit`)              | narrow pictures, strides                            |
| dot       | rows of dout times rows of patches (`implicit`)  | gradients of weights that winograd does not take    |
| depthwise | a weight meets eight vectors (`depthwise`)       | groups of one channel, fewer results than the tile  |
|           |                                                  | has rows                                            |
| library   | oneDNN (`convolution`), where it is installed    | float32: gradients of the input with groups or      |
|           |                                                  | strides, groups with strides                        |

Measured with AVX2, processor time of all threads by that of oneDNN: winograd 0.5-0.8 with 16 to 512 channels, 1.0 with
3; direct from 1, 3, 6 channels 0.4-0.7, from 64 channels 1.0-1.1, groups 0.7-1.0, their gradients 1.1-1.5; patches
0.8-1.1, the gradient of the input with strides 1.0-1.4; 1 x 1 with strides 0.5; dot 0.8-1.2; gradients of weights by
winograd 0.7-0.9 of dot with 16 to 256 channels, but 1.2 where there are fewer squares than channels, as their sums are
16 numbers for 9; depthwise by direct, patches and dot: forward 0.3-0.5, gradients 0.3-0.6, of weights 0.1-0.3. The
choice depends on the sizes only, so results do not change from run to run.
"""
import functools
from dataclasses import dataclass
from typing import Any

from ...common.dim import product
from ...common.dtype import dtype as to_dtype, float32
from ...common.once import once
from ..kernel import Kernel
from ..target import current
from . import depthwise, implicit, onednn, winograd
from .blas import blas_width, write_gemm
from .convolution import output_sizes
from .finish import Finish, named, operands, write_finish
from .native import Module, code_of
from .patches import Window
from .tile import tile_shape
from collections.abc import Callable

OUT_OF_MEMORY = ("convolution: out of memory",)


@dataclass(frozen=True)
class Step:
    """A kernel and what it is called with.

    kernel : facts for library_kernel, by name;   sizes: ints or Dims
    arrays : of "left", "right", "out", "workspace", and "bias" and "residual" of an epilogue
    extent : items that may be cut, None if it is one piece;   cost: operations of an item
    """
    kernel: dict
    arrays: tuple
    sizes: tuple
    extent: Any = None
    cost: Any = None


@dataclass(frozen=True)
class Plan:
    """way: its name; workspace: elements that the steps share; steps."""
    way: str
    workspace: Any
    steps: tuple


def conv2d_plan(kind, dtype, sizes, finish="", target=None):
    """The Plan of a convolution, or None for a dtype without one (all but float32 and float64).

    kind   : "forward" (left x, right w), "backward_data" (left dout, right w), "backward_weights" (left x, right dout)
    sizes  : the 16 of convolution.SIZES, ints or Dims
    finish : of kind "forward": what is done with the result (`finish`), as "bias+relu"
    """
    dtype = to_dtype(dtype)
    if dtype.name not in ("float32", "float64"):
        return None
    target = target or current()
    way = choose(kind, dtype, sizes, target)
    return Plan(way, *WAYS[way](kind, dtype, tuple(sizes), *([finish] if finish else []), target=target))


def choose(kind, dtype, sizes, target):
    """The name of the way, by kind and sizes; a size that is known at run time only is taken for a large one."""
    n, c, h, w, o, kh, kw, sh, sw, top, bottom, left, right, dh, dw, g = sizes
    near, borders = (sh, sw) == (1, 1), (top, bottom, left, right)
    if kind != "backward_weights" and (kh, kw, *borders) == (1, 1, 0, 0, 0, 0) and near and g == 1:
        return "product"
    made = (h, w) if kind == "backward_data" else output_sizes(sizes)
    small, known = (kh, kw, sh, sw, dh, dw, g) == (3, 3, 1, 1, 1, 1, 1), isinstance(c, int) and isinstance(o, int)
    if dtype is float32 and small and known:
        squares = product((n, *((size + 1) // 2 for size in made)))
        enough = 2 * max(c, o) if kind == "backward_weights" else target.winograd_least
        if min(c, o) >= target.winograd_channels and (not isinstance(squares, int) or squares >= enough):
            return "winograd"
    if g != 1 and c == g and isinstance(o, int) and isinstance(g, int) and o // g < target.tile_rows:
        return "depthwise"
    if kind == "backward_weights":
        return "dot"
    wide = not isinstance(made[1], int) or made[1] >= target.narrow
    if near and wide and (g == 1 or kind == "forward"):
        return "direct"
    if dtype is float32 and (kh, kw) != (1, 1) and (kind, g) != ("forward", 1) and onednn.find_onednn() is not None:
        return "library"
    return "direct" if near and wide else "patches"


def part(name, dtype, **facts):
    """What library_kernel takes for a part of a convolution."""
    return {"name": "conv2d_part", "part": name, "dtype": dtype, **facts}


@once
def conv2d_part(part, dtype, *, target, **facts):
    """The kernel of one step: a writer of PARTS, by name, with its facts."""
    name, machine, text = code_of(write_part, part, to_dtype(dtype), tuple(sorted(facts.items())), target=target,
                                  given=blas_width())
    return Kernel(name, lambda: machine.address(name), text=text, errors=OUT_OF_MEMORY, keep=machine)


def write_part(target, part, dtype, facts):
    """The Module of one of PARTS. facts : pairs"""
    return PARTS[part](target, dtype=dtype, **dict(facts))


def write_fill(target, dtype):
    """The Module of `zeros`: args out; [begin, end): elements."""
    module = Module(f"zeros_{dtype.short}", target)
    with module.kernel(module.name) as f:
        f.fill(f.arg(0) + f.begin * dtype.itemsize, 0, (f.end - f.begin) * dtype.itemsize)
    module.written_by += [write_fill]
    return module


def write_product(target, dtype, finish):
    """The Module of `conv2d_product`: args w, x, out, the operands of `finish`, 16 sizes; [begin, end): pictures."""
    module = Module(f"conv2d_product_{dtype.short}{named(finish)}", target)
    gemm, size = write_gemm(module, dtype), dtype.itemsize
    with module.kernel(module.name) as f:
        rest = Finish(f, dtype, finish, 2)
        s = Window(f, rest.arguments)
        with f.loop(f.begin, f.end) as n:
            status = f.call(gemm, 0, 0, s.o, s.plane, s.c, f.arg(0), s.c, f.arg(1) + n * s.c * s.plane * size, s.plane, 0,
                            f.arg(2) + n * s.o * s.plane * size, s.plane)
            with f.when(status.differs(0)):
                f.give(status)
            rest.write(n * s.o * s.plane, s.plane, s.o, s.plane)
    module.written_by += [write_product, write_gemm, Finish]
    return module


PARTS: dict[str, Callable[..., Any]]
PARTS = {"pack": implicit.write_pack, "forward": implicit.write_forward, "backward_data": implicit.write_backward_data,
         "backward_weights": implicit.write_backward_weights, "winograd_weights": winograd.write_transform,
         "winograd": winograd.write_winograd, "winograd_backward_weights": winograd.write_weights_gradient,
         "zeros": write_fill, "product": write_product, "finish": write_finish, "depthwise": depthwise.write_depthwise,
         "depthwise_backward_weights": depthwise.write_weights_gradient}


PART_REASONS = {
    "product": "one matrix product per picture, finished while it is in the cache",
    "finish": "what follows a convolution of oneDNN",
    "pack": "weights for the register tile", "zeros": "pixels that no tap reaches",
    "forward": "the register tile of our own: as fast as oneDNN, faster for few channels",
    "backward_data": "the register tile of our own: as fast as oneDNN where the stride is 1",
    "backward_weights": "rows times rows in registers, cut over threads",
    "depthwise": "each result has a channel of its own: a weight meets eight vectors of pixels, no product would fill its tile",
    "depthwise_backward_weights": "a vector of dout meets nine taps",
    "winograd_weights": "weights for Winograd's convolution",
    "winograd": "3 x 3 with stride 1 from 16 channels: 16 multiplications for 36, 0.5-0.8 of oneDNN's time",
    "winograd_backward_weights": "3 x 3 with stride 1, more squares than channels: 16 multiplications for 36"}


def work(sizes):
    """(multiplications of one pixel of the output, pixels of the output)."""
    n, c, _, _, o, kh, kw, *_, g = sizes
    return o * (c // g) * kh * kw, product((n, *output_sizes(sizes)))


def by_tile(kind, dtype, sizes, finish="", *, target, direct):
    """Weights are packed; then the tile runs over pixels (implicit)."""
    n, c, h, w, o, kh, kw, sh, sw, *_, dh, dw, g = sizes
    shape, forward = tile_shape(dtype, target), kind == "forward"
    each, pixels = work(sizes)
    rows = (o if forward else c) // g
    pack = Step(part("pack", dtype, kind=kind), ("right", "workspace"), sizes, g * up(rows, shape.rows),
                shape.rows * (c if forward else o) // g * kh * kw)
    if forward:
        runs = Step(part("forward", dtype, direct=direct, finish=finish), ("left", "workspace", "out", *operands(finish)),
                    sizes, up(pixels, shape.columns), 2 * each * shape.columns)
        return o * (c // g) * kh * kw, (pack, runs)
    phase = n * up(h, sh) * up(w, sw)
    strided = not (isinstance(sw, int) and sw == 1)
    runs = Step(part("backward_data", dtype, direct=direct, strided=strided), ("left", "workspace", "out"), sizes,
                up(phase, shape.columns), 2 * each * shape.columns)
    fill = (Step(part("zeros", dtype), ("out",), (), n * c * h * w, 1),) if leaves_gaps(sizes) else ()
    return o * (c // g) * kh * kw, (*fill, pack, runs)


def leaves_gaps(sizes):
    """True unless every phase of the gradient of the input is known to have a tap: then some pixels get nothing."""
    kh, kw, sh, sw = sizes[5:9]
    dh, dw = sizes[13:15]
    for k, s, d in ((kh, sh, dh), (kw, sw, dw)):
        if not all(isinstance(size, int) for size in (k, s, d)) or len({p * d % s for p in range(k)}) < s:
            return True
    return False


def up(a, b):
    """a / b, rounded up."""
    return (a + b - 1) // b


def one_product(kind, dtype, sizes, finish="", *, target):
    """out[n] = w @ x[n], or dx[n] = w^T @ dout[n]."""
    n, c, h, w, o = sizes[:5]
    m, k = (o, c) if kind == "forward" else (c, o)
    if finish:
        return 0, (Step(part("product", dtype, finish=finish), ("right", "left", "out", *operands(finish)), sizes, n,
                        2 * m * k * h * w),)
    facts = {"name": "matmul", "dtype": dtype, "transpose_a": kind != "forward", "batched": "b"}
    return 0, (Step(facts, ("right", "left", "out"), (n, m, h * w, k), n, 2 * m * k * h * w),)


def by_winograd(kind, dtype, sizes, finish="", *, target):
    """Weights are transformed; then squares of pixels. Their gradient is cut by channels of x."""
    n, c, h, w, o = sizes[:5]
    shape, (high, wide) = tile_shape(dtype, target), ((h, w) if kind == "backward_data" else output_sizes(sizes))
    if kind == "backward_weights":
        sums = part("winograd_backward_weights", dtype)
        return winograd.workspace(o, c), (Step(sums, ("left", "right", "out", "workspace"), sizes, c,
                                                 32 * o * n * up(high, 2) * up(wide, 2)),)
    rows, depth = (o, c) if kind == "forward" else (c, o)
    transform = Step(part("winograd_weights", dtype, kind=kind), ("right", "workspace"), sizes, up(rows, shape.rows),
                     shape.rows * depth * 60)
    runs = Step(part("winograd", dtype, kind=kind, finish=finish), ("left", "workspace", "out", *operands(finish)), sizes,
                up(n * up(high, 2) * up(wide, 2), shape.columns), 32 * rows * depth * shape.columns)
    return winograd.workspace(rows, depth), (transform, runs)


def by_dot(kind, dtype, sizes, *, target):
    """The gradient of the weights, cut by rows (group, channel, tap)."""
    each, pixels = work(sizes)
    _, c, _, _, o, kh, kw, *_, g = sizes
    return 0, (Step(part("backward_weights", dtype), ("left", "right", "out"), sizes, c * kh * kw,
                    2 * (o // g) * pixels),)


def by_channels(kind, dtype, sizes, finish="", *, target):
    """Depthwise: cut by planes of the picture, the gradient of weights by channels of dout."""
    n, _, h, w, o, kh, kw, *_, g = sizes
    if kind == "backward_weights":
        sums = part("depthwise_backward_weights", dtype)
        return 0, (Step(sums, ("left", "right", "out"), sizes, o, 2 * kh * kw * product((n, *output_sizes(sizes)))),)
    plane = product(output_sizes(sizes)) if kind == "forward" else h * w
    runs = part("depthwise", dtype, kind=kind, finish=finish)
    return 0, (Step(runs, ("left", "right", "out", *operands(finish)), sizes, n * g, 2 * (o // g) * kh * kw * plane),)


def by_library(kind, dtype, sizes, finish="", *, target):
    """oneDNN, which has threads of its own."""
    run = Step({"name": "conv2d", "kind": kind, "dtype": dtype}, ("left", "right", "out"), sizes)
    if not finish:
        return 0, (run,)
    n, o, plane = sizes[0], sizes[4], product(output_sizes(sizes))
    return 0, (run, Step(part("finish", dtype, finish=finish), ("out", *operands(finish)), (o, plane), n * o, plane))


WAYS: dict[str, Callable[..., Any]]
WAYS = {"product": one_product, "winograd": by_winograd, "dot": by_dot, "library": by_library, "depthwise": by_channels,
        "direct": functools.partial(by_tile, direct=True), "patches": functools.partial(by_tile, direct=False)}
