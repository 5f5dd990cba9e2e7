"""Python's operators and the methods of Tensor, given to Tensor and to graph nodes alike: one table."""
from ..common import dtype as dt
from ..common.tensor import Tensor
from ..mindir.graph import AnfNode
from . import arithmetic, basic, complex_numbers, elementary, linalg, logic

METHODS = {}


def method(name, function):
    """Make `function(self, ...)` the method `name` of Tensor and AnfNode."""
    METHODS[name] = function
    setattr(Tensor, name, function)
    setattr(AnfNode, name, function)


def _binary(name, operator, reflected=True):
    def forward(self, other):
        return NotImplemented if isinstance(other, (str, bytes, dict, set)) or other is None else operator(self, other)

    def backward(self, other):
        return NotImplemented if isinstance(other, (str, bytes, dict, set)) or other is None else operator(other, self)
    method(f"__{name}__", forward)
    if reflected:
        method(f"__r{name}__", backward)


for _name, _operator in [("add", arithmetic.add), ("sub", arithmetic.sub), ("mul", arithmetic.mul),
                         ("truediv", arithmetic.true_divide), ("floordiv", arithmetic.floor_divide),
                         ("mod", arithmetic.remainder), ("pow", arithmetic.pow), ("and", logic.bitwise_and),
                         ("or", logic.bitwise_or), ("xor", logic.bitwise_xor),
                         ("lshift", logic.bitwise_left_shift), ("rshift", logic.bitwise_right_shift)]:
    _binary(_name, _operator)
for _name, _operator in [("lt", logic.less), ("le", logic.less_equal), ("gt", logic.greater), ("ge", logic.greater_equal)]:
    _binary(_name, _operator, reflected=False)
method("__neg__", lambda self: arithmetic.neg(self))
method("__pos__", lambda self: self)
method("__invert__", lambda self: logic.bitwise_not(self))
method("__abs__", lambda self: arithmetic.abs(self))
method("__round__", lambda self, n=0: arithmetic.round(self, decimals=n or 0))


def _tensor_only(name, operator):
    """Tensors compare element by element; graph nodes keep Python's identity, which the graph's dictionaries need."""
    def compare(self, other):
        if other is None or isinstance(other, (str, bytes, dict, set)):
            return NotImplemented
        return operator(self, other)
    setattr(Tensor, name, compare)


_tensor_only("__eq__", logic.equal)
_tensor_only("__ne__", logic.not_equal)

UNARY = {
    arithmetic: "neg square reciprocal sign abs floor ceil trunc round negative absolute",
    elementary: "exp exp2 expm1 log log1p log2 log10 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
                "atanh erf erfc sigmoid arccos arcsin arctan arccosh arcsinh arctanh",
    logic: "logical_not bitwise_not isnan isinf isfinite nan_to_num",
    complex_numbers: "real imag conj angle",
}
BINARY = {
    arithmetic: "add sub mul div floor_divide floor_div remainder fmod pow hypot maximum minimum clamp clip lerp addcmul "
                "addcdiv true_divide subtract multiply divide",
    elementary: "logaddexp atan2 arctan2",
    logic: "equal not_equal less less_equal greater greater_equal eq ne lt le gt ge logical_and logical_or logical_xor "
           "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift isclose masked_fill",
}
for _table in (UNARY, BINARY):
    for _module, _names in _table.items():
        for _name in _names.split():
            method(_name, (lambda f: lambda self, *args, **attrs: f(self, *args, **attrs))(getattr(_module, _name)))
method("where", lambda self, condition, y: logic.where(condition, self, y))
method("astype", lambda self, dtype, copy=True: basic.cast(self, dtype=dtype))
method("to", lambda self, dtype: basic.cast(self, dtype=dtype))
for _name, _dtype in [("bool", dt.bool_), ("int", dt.int32), ("long", dt.int64), ("half", dt.float16),
                      ("float", dt.float32), ("double", dt.float64)]:
    method(_name, (lambda d: lambda self: basic.cast(self, dtype=d))(_dtype))
