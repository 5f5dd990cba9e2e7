"""Convolution over two axes and the gradient of its input by oneDNN; its understudy is im2col and a matrix product.

    out[n, o, i, j] = sum x[n, g C/G + c, i SH - PT + p DH, j SW - PL + q DW] * w[o, c, p, q]
                      over c in C/G, p in KH, q in KW;   g = o // (O/G)

x is [N, C, H, W], w [O, C/G, KH, KW], out [N, O, OH, OW] with OH = (H + PT + PB - DH (KH - 1) - 1) // SH + 1.
When a convolution comes here, and where gradients of weights go, is said in `convolution_ways`.

| kind             | args after the handle, before the 16 sizes |
|---|---|
| forward          | x, w, out                                  |
| backward_data    | dout, w, dx                                |

`prepare` makes a handle of oneDNN, or gives NO_HANDLE for im2col: for nothing at all, and without the library. Arrays are plain
NCHW; oneDNN may choose its layouts (format "any"), reorders are part of its time. A forked child must not run it and
goes by im2col too.
"""
import weakref

from ...common.dtype import dtype as to_dtype, float32
from ...common.locks import new_lock
from ...common.once import once
from ..kernel import NO_HANDLE, Kernel
from ..target import current
from . import im2col, onednn
from .blas import blas_width
from .native import code_of
from .onednn import CONVOLUTION_DIRECT, DIFF_DST, DIFF_SRC, DST, FORWARD_INFERENCE, SRC, WEIGHTS, Recipe

KINDS = ("forward", "backward_data")
SIZES = ("N", "C", "H", "W", "O", "KH", "KW", "SH", "SW", "PT", "PB", "PL", "PR", "DH", "DW", "G")
ERRORS = ("convolution: out of memory", "convolution: oneDNN failed")
_preparing = new_lock()


def output_sizes(sizes):
    """(OH, OW) of the 16 sizes."""
    _, _, h, w, _, kh, kw, sh, sw, top, bottom, left, right, dh, dw, _ = sizes
    return (h + top + bottom - dh * (kh - 1) - 1) // sh + 1, (w + left + right - dw * (kw - 1) - 1) // sw + 1


def conv2d_kernel(kind, dtype, target=None):
    """The kernel of a convolution, or None if there is none for the dtype (float16, bfloat16, bool, complex).

    kind   : "forward" or "backward_data"
    args   : [handle, arrays as in the module's table, N, C, H, W, O, KH, KW, SH, SW, PT, PB, PL, PR, DH, DW, G]
    handle : kernel.prepare(those 16 sizes).address; thread-safe; who holds what prepare gave shares it with who asks again
    [begin, end) is not read: the kernel is one piece, the libraries use threads of their own
    sizes  : an empty batch or output gives empty or zero results
    raises : ValueError for an unknown kind; prepare: ValueError for sizes that do not fit
    """
    if kind not in KINDS:
        raise ValueError(f"no convolution of kind {kind!r}; kinds: {', '.join(KINDS)}")
    dtype = to_dtype(dtype)
    if dtype.kind not in "fiu" or dtype.name in ("float16", "bfloat16"):
        return None
    return _conv2d_kernel(kind, dtype, onednn.find_onednn() if dtype is float32 else None, target or current())


@once
def _conv2d_kernel(kind, dtype, library, target):
    name, machine, text = code_of(im2col.write_convolution, kind, dtype, library is not None, target=target,
                                  given=blas_width())
    handles: weakref.WeakValueDictionary = weakref.WeakValueDictionary()

    def prepare(sizes):
        sizes = tuple(sizes)
        check_sizes(sizes)
        if library is None or sizes[0] == 0 or 0 in output_sizes(sizes):
            return NO_HANDLE
        with _preparing:
            found = handles.get(sizes)
            if found is None:
                found = handles[sizes] = RECIPES[kind](library, sizes)
            return found
    return Kernel(name, lambda: machine.address(name), text=text, prepare=prepare, errors=ERRORS, keep=(machine, handles))


def check_sizes(sizes):
    """raises ValueError if 16 sizes do not describe a convolution."""
    if len(sizes) != len(SIZES):
        raise ValueError(f"a convolution has {len(SIZES)} sizes ({', '.join(SIZES)}), not {len(sizes)}")
    named = dict(zip(SIZES, sizes))
    if min(sizes) < 0 or any(named[n] < 1 for n in SIZES if n[0] not in "NP"):
        raise ValueError(f"a convolution's sizes are positive (batch and padding may be 0): {named}")
    if named["C"] % named["G"] or named["O"] % named["G"]:
        raise ValueError(f"{named['G']} groups divide neither {named['C']} channels into equal parts nor {named['O']}")
    if min(output_sizes(sizes)) < 0:
        raise ValueError(f"the kernel is larger than the padded input: {named}")


class Shapes:
    """The 16 sizes as oneDNN wants them: shapes of x, w, out; window: strides, dilates, padding before, after."""

    def __init__(self, sizes):
        n, c, h, w, o, kh, kw, sh, sw, top, bottom, left, right, dh, dw, g = sizes
        self.x, self.out = (n, c, h, w), (n, o, *output_sizes(sizes))
        self.w = (o, c, kh, kw) if g == 1 else (g, o // g, c // g, kh, kw)
        self.window = [onednn.dims(pair) for pair in ((sh, sw), (dh - 1, dw - 1), (top, left), (bottom, right))]

    def layouts(self, library):
        """Memory descriptors for x, w, out as the caller has them, and as the primitive should get them."""
        plain = [library.plain(s) for s in (self.x, self.w, self.out)]
        return plain, [library.any(s) for s in (self.x, self.w, self.out)]


def forward_recipe(library, sizes):
    """x, w, out -> a Handle."""
    shapes, recipe = Shapes(sizes), Recipe(library)
    (x, w, out), (any_x, any_w, any_out) = shapes.layouts(library)
    desc = forward_desc(library, shapes, any_x, any_w, any_out)
    arguments = {SRC: recipe.brought(1, x, library.wanted(desc, SRC)),
                 WEIGHTS: recipe.brought(2, w, library.wanted(desc, WEIGHTS))}
    recipe.apply_into(3, out, desc, DST, arguments)
    return recipe.finish()


def forward_desc(library, shapes, x, w, out):
    """The primitive descriptor of the forward convolution; the gradient takes it as its hint."""
    return library.make("dnnl_convolution_forward_primitive_desc_create", library.engine, FORWARD_INFERENCE,
                        CONVOLUTION_DIRECT, x, w, None, out, *shapes.window, library.attributes)


def backward_data_recipe(library, sizes):
    """dout, w, dx -> a Handle."""
    shapes, recipe = Shapes(sizes), Recipe(library)
    (x, w, out), (any_x, any_w, any_out) = shapes.layouts(library)
    hint = forward_desc(library, shapes, any_x, any_w, any_out)
    desc = library.make("dnnl_convolution_backward_data_primitive_desc_create", library.engine, CONVOLUTION_DIRECT,
                        any_x, any_w, any_out, *shapes.window, hint, library.attributes)
    arguments = {DIFF_DST: recipe.brought(1, out, library.wanted(desc, DIFF_DST)),
                 WEIGHTS: recipe.brought(2, w, library.wanted(desc, WEIGHTS))}
    recipe.apply_into(3, x, desc, DIFF_SRC, arguments)
    return recipe.finish()


RECIPES = {"forward": forward_recipe, "backward_data": backward_data_recipe}
