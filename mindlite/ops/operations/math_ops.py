"""Arithmetic, comparison, reduction and linear algebra as classes."""
from .. import (
    abs, acos, acosh, addcdiv, addcmul, all, angle, any, argmax, argmin, arithmetic, asin, asinh, atan, atan2, atanh,
    bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, ceil, combined,
    complex_numbers, conj, cos, cosh, cumprod, cumsum, elementary, equal, erf, erfc, exp, expm1, floor, floor_divide,
    floor_mod, greater, greater_equal, hypot, imag, isclose, isfinite, isinf, isnan, l2_normalize, lerp, less,
    less_equal, linspace, log, log1p, logical_and, logical_not, logical_or, logical_xor, matmul, max, maximum, mean,
    min, minimum, mul, nan_to_num, neg, not_equal, outer, pow, prod, real, reciprocal, round, rsqrt, sigmoid,
    sign, sin, sinh, sqrt, square, std_mean, sub, sum, tan, tanh, true_divide, trunc)
from ...common import dtype as dt
from ...common.errors import DTypeError
from ...common.tensor import Tensor
from .. import (amax, amin, cast, concat, cummax, cummin, flip, reshape, swapaxes, zeros_like)
from ..define import as_operand, dtype_of
from ..diagonal import trace
from ..norms import vector_norm
from ..whole_numbers import gcd, lcm
from .define import operation, table

globals().update(table({
    "Abs": abs, "ACos": acos, "Acosh": acosh, "Add": arithmetic.add, "AddV2": arithmetic.add,
    "TensorAdd": arithmetic.add,
    "AddN": combined.addn, "AccumulateNV2": combined.addn, "Addcdiv": addcdiv, "Addcmul": addcmul, "Angle": angle,
    "Gcd": gcd, "Lcm": lcm,
    "Asin": asin,
    "Asinh": asinh, "Atan": atan, "Atan2": atan2, "Atanh": atanh, "BitwiseAnd": bitwise_and, "BitwiseOr": bitwise_or,
    "BitwiseXor": bitwise_xor, "Ceil": ceil, "Complex": complex_numbers.make_complex, "Conj": conj, "Cos": cos,
    "Cosh": cosh,
    "Div": true_divide, "RealDiv": true_divide, "DivNoNan": combined.div_no_nan, "MulNoNan": combined.mul_no_nan,
    "Equal": equal,
    "Erf": erf, "Erfc": erfc, "Exp": exp, "Expm1": expm1, "Floor": floor, "FloorDiv": floor_divide,
    "FloorMod": floor_mod,
    "Ger": outer, "Greater": greater, "GreaterEqual": greater_equal, "Hypot": hypot, "Imag": imag, "Inv": reciprocal,
    "Invert": bitwise_not, "IsFinite": isfinite, "IsInf": isinf, "IsNan": isnan, "LeftShift": bitwise_left_shift,
    "Lerp": lerp,
    "Less": less, "LessEqual": less_equal, "Log": log, "Log1p": log1p, "LogicalAnd": logical_and,
    "LogicalNot": logical_not,
    "LogicalOr": logical_or, "LogicalXor": logical_xor, "Maximum": maximum, "Minimum": minimum,
    "Mod": combined.truncate_mod,
    "Mul": mul, "Neg": neg, "NotEqual": not_equal, "Pow": pow, "Real": real,
    "Reciprocal": reciprocal,
    "RightShift": bitwise_right_shift, "Rint": combined.rint, "Round": round, "Rsqrt": rsqrt, "Sigmoid": sigmoid,
    "Sign": sign,
    "Sin": sin, "Sinh": sinh, "Sinc": combined.sinc, "Sqrt": sqrt, "Square": square,
    "SquaredDifference": combined.squared_difference,
    "Sub": sub, "Tan": tan, "Tanh": tanh, "Trunc": trunc, "TruncateDiv": combined.truncate_div,
    "TruncateMod": combined.truncate_mod,
    "Xdivy": combined.xdivy, "Xlogy": combined.xlogy, "Log2": elementary.log2, "Log10": elementary.log10,
    "LogAddExp": elementary.logaddexp, "LogAddExp2": combined.logaddexp2,
}))


# ---------------------------------------------------------------- reductions

def _reduction(reduce):
    def call(x, axis=(), *, keep_dims=False):
        """Over `axis`, an int, a tuple, or a Tensor of them whose value is known; () is all of them."""
        axis = tuple(axis.tolist()) if isinstance(axis, Tensor) and axis.ndim else axis
        return reduce(x, None if isinstance(axis, tuple) and not axis else axis, keep_dims)
    return call


def _named(name, function):
    function.__name__ = name
    return operation(function)


_sum = _reduction(sum)


@operation
def ReduceSum(x, axis=(), *, keep_dims=False, skip_mode=False):
    """The sum over `axis`, an int, a tuple, or a Tensor of them whose value is known; () is all axes, with skip_mode none."""
    if skip_mode and (axis.size if isinstance(axis, Tensor) else isinstance(axis, int) or len(axis)) == 0:
        return x
    return _sum(x, axis, keep_dims=keep_dims)


for _name, _reduce in {"ReduceMean": mean, "ReduceProd": prod, "ReduceMax": amax, "ReduceMin": amin,
                       "ReduceAll": all, "ReduceAny": any}.items():
    globals()[_name] = _named(_name, _reduction(_reduce))


@operation
def ReduceStd(x, *, axis=(), unbiased=True, keep_dims=False):
    """(the standard deviation over `axis`, the mean); () is all axes; unbiased: divided by one less than the number."""
    return std_mean(x, None if isinstance(axis, (tuple, list)) and not axis else axis, int(unbiased), keep_dims)


@operation
def Argmax(x, *, axis=-1, output_type=dt.int32):
    """The index of the largest element along `axis`."""
    return cast(argmax(x, axis), dtype=output_type)


@operation
def Argmin(x, *, axis=-1, output_type=dt.int32):
    """The index of the smallest element along `axis`."""
    return cast(argmin(x, axis), dtype=output_type)


@operation
def ArgMaxWithValue(x, *, axis=0, keep_dims=False):
    """(index, value) of the largest element along `axis`."""
    value, index = max(x, axis, keep_dims)
    return index, value


@operation
def ArgMinWithValue(x, *, axis=0, keep_dims=False):
    """(index, value) of the smallest element along `axis`."""
    value, index = min(x, axis, keep_dims)
    return index, value


@operation
def CumSum(x, axis, *, exclusive=False, reverse=False):
    """Sums of the elements up to each; exclusive: without itself; reverse: from the end."""
    return _cumulated(cumsum, x, axis, exclusive, reverse)


@operation
def CumProd(x, axis, *, exclusive=False, reverse=False):
    """Products of the elements up to each; exclusive: without itself; reverse: from the end."""
    return _cumulated(cumprod, x, axis, exclusive, reverse)


def _cumulated(scan, x, axis, exclusive, reverse):
    if reverse:
        x = flip(x, (axis,))
    if exclusive:
        size, first = x.shape[axis], (slice(None),) * (axis % x.ndim)
        start = zeros_like(x[first + (slice(0, 1),)]) + (1 if scan is cumprod else 0)
        x = concat((start, x[first + (slice(0, size - 1),)]), axis)
    out = scan(x, axis)
    return flip(out, (axis,)) if reverse else out


@operation
def Cummax(x, *, axis):
    """(largest element so far, its index) along `axis`."""
    return cummax(x, axis)


@operation
def Cummin(x, *, axis):
    """(smallest element so far, its index) along `axis`."""
    return cummin(x, axis)


@operation
def SquareSumAll(x, y):
    """(sum of x squared, sum of y squared)"""
    return sum(square(x)), sum(square(y))


@operation
def LpNorm(x, *, axis, p=2, keep_dims=False, epsilon=1e-12):
    """The p-norm of the elements over `axis`, an int or several."""
    return vector_norm(x, p, tuple(axis) if isinstance(axis, list) else axis, keep_dims)


@operation
def L2Normalize(x, *, axis=0, epsilon=1e-4):
    """x divided by its 2-norm along `axis`."""
    return l2_normalize(x, axis, epsilon)


@operation
def ApproximateEqual(x, y, *, tolerance=1e-5):
    """True where |x - y| < tolerance."""
    return less(abs(x - y), tolerance)


@operation
def IsClose(x, y, *, rtol=1e-5, atol=1e-8, equal_nan=False):
    """True where |x - y| <= atol + rtol |y|."""
    return isclose(x, y, rtol, atol, equal_nan)


@operation
def NanToNum(x, *, nan=None, posinf=None, neginf=None):
    """x with NaN, inf and -inf replaced; None stands for 0 and the largest and least finite number of the dtype."""
    return nan_to_num(x, nan, posinf, neginf)


@operation
def EqualCount(x, y):
    """The number of equal elements, [1]."""
    return reshape(sum(cast(equal(x, y), dtype=dtype_of(x))), shape=(1,))


# ---------------------------------------------------------------- matrices

@operation
def MatMul(a, b, *, transpose_a=False, transpose_b=False):
    """The product of two matrices."""
    return matmul(swapaxes(a, -1, -2) if transpose_a else a, swapaxes(b, -1, -2) if transpose_b else b)


@operation
def BatchMatMul(a, b, *, transpose_a=False, transpose_b=False):
    """The products of two batches of matrices."""
    return matmul(swapaxes(a, -1, -2) if transpose_a else a, swapaxes(b, -1, -2) if transpose_b else b)


@operation
def ClipByNorm(x, clip_norm, *, axis=None):
    """x with what lies along `axis` (an int, ints, or None for all) shortened to the length clip_norm where it is longer."""
    x, most = as_operand(x), as_operand(clip_norm)
    axes = axis if isinstance(axis, (tuple, list)) else tuple(range(x.ndim)) if axis is None else (axis,)
    return x * most / maximum(vector_norm(x, 2, tuple(axes), True), most)


@operation
def LinSpace(start, stop, num):
    """`num` numbers from start to stop."""
    return linspace(start, stop, num)


@operation
def Trace(x):
    """The sum of a matrix's diagonal."""
    return trace(x)


@operation
def FloatStatus(x):
    """float32[1]: 1 where an element is NaN or infinite, else 0. raises : DTypeError for what is no float"""
    x = as_operand(x)
    if dtype_of(x).kind != "f":
        raise DTypeError(f"FloatStatus: floats are wanted, not {dtype_of(x).name}")
    return reshape(cast(any(logical_not(isfinite(x))), dtype=dt.float32), shape=(1,))
