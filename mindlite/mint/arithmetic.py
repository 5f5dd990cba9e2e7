"""Functions of elements, products and comparisons, with torch's names, arguments, defaults and results.

    add(x, y, alpha=2)     div(x, y, rounding_mode="floor")     equal(x, y) is a bool

Each is a thin definition over operators where the meaning is the same, and code of its own where it differs. Unless a
docstring says otherwise, shapes, dtypes and errors are those of the operator of that name; the source is the function of
that name in torch 2, whose names MindSpore's `mint` has.
"""
from typing import TYPE_CHECKING, Any

from .. import ops
from ..common import dtype as dt
from ..common.errors import ShapeError
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..ops.axes import axes_of
from ..ops.define import as_operand, cast_to, dtype_of
from ..ops.linalg import added
from ..ops.methods import METHODS, doc_of
from ..ops.scalar import tensor_to_scalar
from .define import publisher

__all__ = []
_public = publisher(globals())


def _of_one(name, function, doc=None):
    def call(input):
        return function(as_operand(input))
    call.__doc__ = doc or doc_of(function)
    _public(call, name)


def _of_two(name, function, doc=None):
    def call(input, other):
        return function(input, other)
    call.__doc__ = doc or doc_of(function)
    _public(call, name)


for _name in ("abs acos acosh arccos arccosh arcsinh arctan arctanh asin asinh atan atanh ceil cos cosh erf erfc erfinv exp exp2 "
              "expm1 floor frac imag inverse isfinite isinf log log10 log1p log2 logical_not neg negative real "
              "reciprocal rsqrt sigmoid sin sinh sqrt tan tanh trunc bitwise_not").split():
    _of_one(_name, getattr(ops, _name))
for _name, _function in {"fix": ops.trunc, "isneginf": ops.isneginf, "sinc": ops.sinc, "trace": ops.trace,
                         "ravel": ops.ravel, "t": ops.t}.items():
    _of_one(_name, _function)
for _name in ("arctan2 atan2 bitwise_and bitwise_or bitwise_xor bmm dot eq floor_divide fmod ge greater greater_equal gt le less "
              "less_equal logaddexp logical_and logical_or logical_xor lt matmul maximum minimum mul ne not_equal "
              "remainder").split():
    _of_two(_name, getattr(ops, _name))
for _name in "gcd", "logaddexp2", "xlogy":
    _of_two(_name, getattr(ops, _name))


@_public
def arcsin(x):
    """The arc sine of each element."""
    return ops.asin(x)


@_public
def isnan(tensor):
    """True where an element is NaN."""
    return ops.isnan(tensor)


@_public
def sign(input):
    """-1, 0 or 1 by the sign of each element; 0 for NaN. A bool stays."""
    x = as_operand(input)
    if x.dtype.kind == "b":
        return x
    return ops.where(ops.isnan(x), 0, ops.sign(x)) if x.dtype.kind == "f" else ops.sign(x)


@_public
def square(input):
    """The square of each element, int64 of bools."""
    x = as_operand(input)
    return ops.square(cast_to(x, dt.int64) if x.dtype.kind == "b" else x)


@_public
def clone(input):
    """A copy."""
    return METHODS["copy"](as_operand(input))


@_public
def item(input):
    """The number of a Tensor of one element. raises : ShapeError for another count"""
    x = as_operand(input)
    require("==", x.size, 1, lambda: ShapeError("only a tensor of one element is a number",
                                                note=f"x: {x.dtype.short}{list(x.shape)}"))
    return tensor_to_scalar(ops.reshape(input, ())) if isinstance(x, AnfNode) else x.item()


# ---------------------------------------------------------------- arithmetic

def _scaled(input, other, factor):
    return ops.add(input, other if isinstance(factor, int) and factor == 1 else ops.mul(other, factor))


@_public
def add(input, other, *, alpha=1):
    """input + alpha * other."""
    return _scaled(input, other, alpha)


@_public
def sub(input, other, *, alpha=1):
    """input - alpha * other."""
    return ops.sub(input, other if isinstance(alpha, int) and alpha == 1 else ops.mul(other, alpha))


@_public
def div(input, other, *, rounding_mode=None):
    """input / other; rounding_mode : None, "trunc" (to zero) or "floor"."""
    return ops.div(input, other, rounding_mode=rounding_mode)


@_public
def divide(input, other, *, rounding_mode=None):
    """The same as div."""
    return ops.div(input, other, rounding_mode=rounding_mode)


@_public
def pow(input, exponent):
    """input to the power of exponent."""
    return ops.pow(input, exponent)


@_public
def float_power(input, exponent):
    """input to the power of exponent, in float64; complex numbers in complex128."""
    return ops.float_power(input, exponent)


@_public
def lerp(input, end, weight):
    """input + weight * (end - input)."""
    return ops.lerp(input, end, weight)


@_public
def addcmul(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 * tensor2."""
    return ops.addcmul(input, tensor1, tensor2, value)


@_public
def addcdiv(input, tensor1, tensor2, *, value=1):
    """input + value * tensor1 / tensor2."""
    return ops.addcdiv(input, tensor1, tensor2, value)


@_public
def clamp(input, min=None, max=None):
    """input limited to [min, max]; a bound is a number, a Tensor or None."""
    return ops.clamp(input, min, max)


@_public
def clip(input, min=None, max=None):
    """The same as clamp."""
    return ops.clamp(input, min, max)


@_public
def round(input, *, decimals=0):
    """The nearest number with that many decimals, halves to even."""
    return ops.round(input, decimals=decimals)


@_public
def nan_to_num(input, nan=None, posinf=None, neginf=None):
    """NaN and infinities replaced: by 0 and the dtype's extremes unless numbers are given."""
    return ops.nan_to_num(input, 0.0 if nan is None else nan, posinf, neginf)


@_public
def polar(abs, angle):
    """The complex numbers of these lengths and angles."""
    return ops.polar(abs, angle)


@_public
def npu_gelu(input, approximate="none"):
    """gelu; approximate : "none" or "tanh"."""
    return ops.gelu(input, approximate)


# ---------------------------------------------------------------- products

@_public
def mm(input, mat2):
    """The product of two matrices. raises : ShapeError for other ranks"""
    if axes_of("mm", input) != 2 or axes_of("mm", mat2) != 2:
        raise ShapeError("mm: two matrices are wanted", note=f"{list(input.shape)}, {list(mat2.shape)}")
    return ops.matmul(input, mat2)


@_public
def mv(input, vec):
    """The product of a matrix and a vector."""
    if axes_of("mv", input) != 2:
        raise ShapeError("mv: a matrix and a vector are wanted", note=f"input: {list(input.shape)}")
    return ops.mv(input, vec)


@_public
def bmm(input, mat2):
    """The products of the matrices of two batches."""
    if axes_of("bmm", input) != 3 or axes_of("bmm", mat2) != 3:
        raise ShapeError("bmm: two batches of matrices are wanted", note=f"{list(input.shape)}, {list(mat2.shape)}")
    return ops.bmm(input, mat2)


@_public
def vdot(input, other):
    """The inner product of two vectors, the first one conjugated."""
    return ops.dot(ops.conj(input) if dtype_of(input).kind == "c" else input, other)


@_public
def outer(input, vec2):
    """out[i, j] = input[i] * vec2[j]."""
    return ops.outer(input, vec2)


@_public
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1 @ mat2."""
    return added("addmm", input, beta, mm(mat1, mat2), alpha)


@_public
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """beta * input + alpha * mat @ vec."""
    return added("addmv", input, beta, mv(mat, vec), alpha)


@_public
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * the sum of the products of the matrices of two batches."""
    return ops.addbmm(input, batch1, batch2, beta, alpha)


@_public
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * the products of the matrices of two batches."""
    return added("baddbmm", input, beta, bmm(batch1, batch2), alpha)


@_public
def addr_(input, vec1, vec2, beta=1, alpha=1):
    """input, into which beta * input + alpha * vec1 vec2^T is written."""
    return ops.assign(input, added("addr_", input, beta, ops.outer(vec1, vec2), alpha))


@_public
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norms of the differences of all rows; compute_mode is torch's and says how it would compute."""
    return ops.cdist(x1, x2, p)


@_public
def cross(input, other, dim=None):
    """The cross product along `dim`, by default the first axis of size 3."""
    return ops.cross(input, other, dim)


@_public
def einsum(equation, *operands):
    """Sums of products by Einstein's convention."""
    return ops.einsum(equation, *(operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands))


@_public
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(X with A X = b for a triangular A, A); transpose : A^T X = b; unitriangular : A's diagonal counts as ones."""
    return METHODS["triangular_solve"](b, A, upper, transpose, unitriangular)


@_public
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """2-D convolution of input[N, C, H, W] or [C, H, W]; padding is sizes, "valid" or "same"."""
    mode, ends = (padding, 0) if isinstance(padding, str) else ("pad", padding)
    input = as_operand(input)
    out = ops.conv2d(input[None] if input.ndim == 3 else input, weight, bias, stride, mode, ends, dilation, groups)
    return out[0] if input.ndim == 3 else out


@_public
def conv_tbc(input, weight, bias, pad=0):
    """1-D convolution of input[T, N, C] with weight[K, C, O], plus bias[O]."""
    out = ops.conv1d(ops.transpose(input, (1, 2, 0)), ops.transpose(weight, (2, 1, 0)), bias, 1, "pad", pad)
    return ops.transpose(out, (2, 0, 1))


# ---------------------------------------------------------------- comparisons

@_public
def equal(input, other):
    """True (a bool) where both have one shape and equal elements."""
    a, b = as_operand(input), as_operand(other)
    if tuple(a.shape) != tuple(b.shape):
        return False
    return tensor_to_scalar(ops.all(ops.equal(a, b)))


@_public
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True (a bool) where abs(input - other) <= atol + rtol * abs(other) everywhere."""
    return tensor_to_scalar(ops.all(isclose(input, other, rtol, atol, equal_nan)))


@_public
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where abs(input - other) <= atol + rtol * abs(other)."""
    return ops.isclose(input, other, rtol, atol, equal_nan)


@_public
def where(condition, input=None, other=None):
    """input where the condition holds, else other; with only a condition: the indices where it holds."""
    return ops.nonzero(condition, as_tuple=True) if input is None and other is None else ops.where(condition, input, other)


if TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        """The functions that the tables above make."""
