"""Convolution over two axes, forward and its two gradients: oneDNN for float32, im2col and a matrix product otherwise.

    out[n, o, i, j] = bias[o] + sum x[n, g C/G + c, i SH - PT + p DH, j SW - PL + q DW] * w[o, c, p, q]
                                over c in C/G, p in KH, q in KW;   g = o // (O/G)

x is [N, C, H, W], w [O, C/G, KH, KW], out [N, O, OH, OW] with OH = (H + PT + PB - DH (KH - 1) - 1) // SH + 1.
Both implementations stand behind one signature, so that the plan of a program does not depend on what is installed:

| kind             | args after the handle, before the 16 sizes |
|---|---|
| forward          | x, w, [bias,] out                          |
| backward_data    | dout, w, dx                                |
| backward_weights | x, dout, dw [, dbias]                      |
"""
import functools
import threading

from ...common.dtype import dtype as to_dtype, float32
from ..kernel import Kernel
from . import im2col, onednn
from .onednn import (BIAS, CONVOLUTION_DIRECT, DIFF_BIAS, DIFF_DST, DIFF_SRC, DIFF_WEIGHTS, DST, FORWARD_INFERENCE, SRC,
                     WEIGHTS, Recipe)

KINDS = ("forward", "backward_data", "backward_weights")
SIZES = ("N", "C", "H", "W", "O", "KH", "KW", "SH", "SW", "PT", "PB", "PL", "PR", "DH", "DW", "G")
_preparing = threading.RLock()


def output_sizes(sizes):
    """(OH, OW) of the 16 sizes."""
    _, _, h, w, _, kh, kw, sh, sw, top, bottom, left, right, dh, dw, _ = sizes
    return (h + top + bottom - dh * (kh - 1) - 1) // sh + 1, (w + left + right - dw * (kw - 1) - 1) // sw + 1


def conv2d_kernel(kind, dtype, bias=False):
    """The kernel of a convolution, or None if there is none for the dtype (float16, bfloat16, bool, complex).

    kind   : "forward", "backward_data" or "backward_weights"; bias: with a bias, or with its gradient
    args   : [handle, arrays as in the module's table, N, C, H, W, O, KH, KW, SH, SW, PT, PB, PL, PR, DH, DW, G]
    handle : kernel.prepare(those 16 sizes), once per sizes; thread-safe
    [begin, end) is not read: the kernel is one piece, the libraries use threads of their own
    sizes  : an empty batch or output gives empty or zero results
    raises : ValueError for an unknown kind or for a bias with backward_data; prepare: ValueError for sizes that do not fit
    """
    if kind not in KINDS or (bias and kind == "backward_data"):
        raise ValueError(f"no convolution of kind {kind!r}{' with bias' * bool(bias)}; kinds: {', '.join(KINDS)}")
    dtype = to_dtype(dtype)
    if dtype is float32 and onednn.onednn() is not None:
        return _onednn_kernel(kind, bool(bias))
    if dtype.kind not in "fiu" or dtype.name in ("float16", "bfloat16"):
        return None
    return _im2col_kernel(kind, dtype, bool(bias))


def check_sizes(sizes):
    """raises ValueError if 16 sizes do not describe a convolution."""
    if len(sizes) != len(SIZES):
        raise ValueError(f"a convolution has {len(SIZES)} sizes ({', '.join(SIZES)}), not {len(sizes)}")
    named = dict(zip(SIZES, sizes))
    if min(sizes) < 0 or any(named[n] < 1 for n in SIZES if n[0] not in "NP"):
        raise ValueError(f"a convolution's sizes are positive, but for the batch and the padding, which may be 0: {named}")
    if named["C"] % named["G"] or named["O"] % named["G"]:
        raise ValueError(f"{named['G']} groups divide neither {named['C']} channels into equal parts nor {named['O']}")
    if min(output_sizes(sizes)) < 0:
        raise ValueError(f"the kernel is larger than the padded input: {named}")


@functools.cache
def _im2col_kernel(kind, dtype, bias):
    module = im2col.write_convolution(kind, dtype, bias)
    machine = module.compile()

    def prepare(sizes):
        check_sizes(sizes)
        return 0
    return Kernel(module.name, machine[module.name], source=module.source(), prepare=prepare, errors=im2col.ERRORS,
                  keep=machine)


@functools.cache
def _onednn_kernel(kind, bias):
    machine, handles = onednn.runner(), {}

    def prepare(sizes):
        with _preparing:
            sizes = tuple(sizes)
            if sizes not in handles:
                check_sizes(sizes)
                handles[sizes] = RECIPES[kind](onednn.onednn(), sizes, bias)
            return handles[sizes].address
    name = f"conv2d_{kind}_f32{'_bias' * bias}"
    return Kernel(name, machine["onednn_run"], source=f"# {name}: oneDNN\n" + machine.module.source(), prepare=prepare,
                  errors=onednn.ERRORS, keep=(machine, handles))


class Shapes:
    """The 16 sizes as oneDNN's arguments: shapes of x, w, bias, out; `window` = strides, dilates, padding left, right."""

    def __init__(self, sizes):
        n, c, h, w, o, kh, kw, sh, sw, top, bottom, left, right, dh, dw, g = sizes
        self.x, self.bias, self.out = (n, c, h, w), (o,), (n, o, *output_sizes(sizes))
        self.w = (o, c, kh, kw) if g == 1 else (g, o // g, c // g, kh, kw)
        self.window = [onednn.dims(pair) for pair in ((sh, sw), (dh - 1, dw - 1), (top, left), (bottom, right))]
        self.empty = 0 in self.x + self.w + self.out

    def layouts(self, library):
        """Memory descriptors for x, w, out as the caller has them, and as the primitive should get them."""
        plain = [library.plain(s) for s in (self.x, self.w, self.out)]
        return plain, [library.any(s) for s in (self.x, self.w, self.out)]


def _nbytes(shape):
    return 4 * functools.reduce(lambda a, b: a * b, shape, 1)


def forward_recipe(library, sizes, bias):
    """x, w, [bias,] out -> a Handle."""
    shapes, recipe = Shapes(sizes), Recipe(library)
    if shapes.empty:
        return recipe.finish()
    (x, w, out), (any_x, any_w, any_out) = shapes.layouts(library)
    b = library.plain(shapes.bias) if bias else None
    desc = forward_desc(library, shapes, any_x, any_w, b, any_out)
    arguments = {SRC: recipe.brought(1, x, library.wanted(desc, SRC)),
                 WEIGHTS: recipe.brought(2, w, library.wanted(desc, WEIGHTS))}
    if bias:
        arguments[BIAS] = recipe.array(3, b)
    recipe.apply_into(3 + bias, out, desc, DST, arguments)
    return recipe.finish()


def forward_desc(library, shapes, x, w, b, out):
    """The primitive descriptor of the forward convolution; the gradients take it as their hint."""
    return library.make("dnnl_convolution_forward_primitive_desc_create", library.engine, FORWARD_INFERENCE,
                        CONVOLUTION_DIRECT, x, w, b, out, *shapes.window, library.attributes)


def backward_data_recipe(library, sizes, bias):
    """dout, w, dx -> a Handle."""
    shapes, recipe = Shapes(sizes), Recipe(library)
    if shapes.empty:
        recipe.fills.append((3, _nbytes(shapes.x)))
        return recipe.finish()
    (x, w, out), (any_x, any_w, any_out) = shapes.layouts(library)
    hint = forward_desc(library, shapes, any_x, any_w, None, any_out)
    desc = library.make("dnnl_convolution_backward_data_primitive_desc_create", library.engine, CONVOLUTION_DIRECT,
                        any_x, any_w, any_out, *shapes.window, hint, library.attributes)
    arguments = {DIFF_DST: recipe.brought(1, out, library.wanted(desc, DIFF_DST)),
                 WEIGHTS: recipe.brought(2, w, library.wanted(desc, WEIGHTS))}
    recipe.apply_into(3, x, desc, DIFF_SRC, arguments)
    return recipe.finish()


def backward_weights_recipe(library, sizes, bias):
    """x, dout, dw [, dbias] -> a Handle."""
    shapes, recipe = Shapes(sizes), Recipe(library)
    if shapes.empty:
        recipe.fills += [(3, _nbytes(shapes.w))] + [(4, _nbytes(shapes.bias))] * bias
        return recipe.finish()
    (x, w, out), (any_x, any_w, any_out) = shapes.layouts(library)
    b = library.plain(shapes.bias) if bias else None
    hint = forward_desc(library, shapes, any_x, any_w, b, any_out)
    desc = library.make("dnnl_convolution_backward_weights_primitive_desc_create", library.engine, CONVOLUTION_DIRECT,
                        any_x, any_w, b, any_out, *shapes.window, hint, library.attributes)
    arguments = {SRC: recipe.brought(1, x, library.wanted(desc, SRC)),
                 DIFF_DST: recipe.brought(2, out, library.wanted(desc, DIFF_DST))}
    if bias:
        arguments[DIFF_BIAS] = recipe.array(4, b)
    recipe.apply_into(3, w, desc, DIFF_WEIGHTS, arguments)
    return recipe.finish()


RECIPES = {"forward": forward_recipe, "backward_data": backward_data_recipe,
           "backward_weights": backward_weights_recipe}
