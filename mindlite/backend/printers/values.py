"""An LLVM value with Python's operators, and what functions of it are written with: polynomials, fused products, powers of two.

    Value(builder, x) * 2.0 + 1.0     ->     %1 = fmul float %x, 2.0; %2 = fadd float %1, 1.0       x: a number or a vector
"""
import llvmlite
from llvmlite import ir

from ..operators import Operators

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
INTEGER = {FLOAT: ir.IntType(32), DOUBLE: ir.IntType(64)}
FRACTION = {FLOAT: 23, DOUBLE: 52}
BIAS = {FLOAT: 127, DOUBLE: 1023}

_SPLAT = tuple(map(int, llvmlite.__version__.split(".")[:2])) >= (0, 45)      # since LLVM 19


def as_many(type_, value):
    """`type_`, or where `value` is a vector, a vector of as many."""
    return ir.VectorType(type_, value.type.count) if isinstance(value.type, ir.VectorType) else type_


def constant_like(value, number):
    """`number` as a constant of the type of `value`, in each lane of a vector."""
    if isinstance(value.type, ir.VectorType):
        return Repeated(ir.Constant(value.type.element, number), value.type.count)
    return ir.Constant(value.type, number)


class Repeated(ir.Constant):
    """The vector of `count` times a constant, in few words where LLVM knows them; llvmlite would write lane by lane."""

    def __init__(self, constant, count):
        self.type, one = ir.VectorType(constant.type, count), f"{constant.type} {constant.get_reference()}"
        self.constant = f"splat ({one})" if _SPLAT else "<" + ", ".join([one] * count) + ">"

    def _get_reference(self):
        return self.constant


class Value(Operators):
    """An LLVM value with Python's operators; a Python number in an operation becomes a constant of its type."""
    __slots__ = ("builder", "ir")

    def __init__(self, builder, value):
        self.builder, self.ir = builder, value

    def of(self, number):
        """`number` (a number or a Value) as a Value of this one's type."""
        return number if isinstance(number, Value) else Value(self.builder, constant_like(self.ir, number))

    def made(self, value):
        """An LLVM value as a Value."""
        return Value(self.builder, value)

    def _as(self, operation, type_):
        """A conversion by the builder's `operation` to `type_`, lane by lane."""
        return Value(self.builder, operation(self.ir, as_many(type_, self.ir)))

    def where(self, a, b):
        """a where this bool is true, else b."""
        if not isinstance(a, Value):
            a = b.of(a)
        return Value(self.builder, self.builder.select(self.ir, a.ir, a.of(b).ir))

    def intrinsic(self, name, *others):
        """The LLVM intrinsic `llvm.name` of this value (and others) of one type."""
        values = [self.ir, *(self.of(o).ir for o in others)]
        return Value(self.builder, call(self.builder, f"llvm.{name}.{suffix(self.ir.type)}", self.ir.type, values))

    def bits(self):
        """The float's bits as an integer of its width."""
        return self._as(self.builder.bitcast, INTEGER[self.type])

    def floats(self):
        """The integer's bits as a float of its width."""
        return self._as(self.builder.bitcast, FLOAT if self.type.width == 32 else DOUBLE)

    def to_integer(self):
        """The float (integral and small) as an integer of its width."""
        return self._as(self.builder.fptosi, INTEGER[self.type])

    def to_float(self):
        """The integer as a float of its width."""
        return self._as(self.builder.sitofp, FLOAT if self.type.width == 32 else DOUBLE)

    def extend(self):
        """A float as a double."""
        return self._as(self.builder.fpext, DOUBLE)

    def truncate(self):
        """A double as a float."""
        return self._as(self.builder.fptrunc, FLOAT)


def suffix(type_):
    """How the names of LLVM's intrinsics write a type: f32, v8i64."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{suffix(type_.element)}"
    return {FLOAT: "f32", DOUBLE: "f64", ir.HalfType(): "f16"}.get(type_) or f"i{type_.width}"


def call(builder, name, type_, values):
    """Call the C function or intrinsic `name` from values to `type_`."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(type_, [v.type for v in values]), name)
        if not name.startswith("llvm."):
            function.attributes.add("nounwind")
    return builder.call(function, values)


def fma(a, b, c):
    """a * b + c, rounded once."""
    return a.intrinsic("fma", b, c)


def polynomial(x, coefficients):
    """A polynomial, the highest power's coefficient first: Horner's rule in x^2 over pairs of coefficients, which
    waits for half as many results and costs one operation more; in x where it is short."""
    first, *rest = (x.of(c) for c in coefficients)
    if len(rest) < 7:
        for c in rest:
            first = fma(first, x, c)
        return first
    if len(rest) % 2:
        first = fma(first, x, rest.pop(0))
    square = x * x
    for c, d in zip(rest[::2], rest[1::2]):
        first = fma(first, square, fma(c, x, d))
    return first


def fabs(x):
    """|x|."""
    return x.intrinsic("fabs")


def is_nan(x):
    """True for NaN."""
    return x.differs(x)


def within(x, low, high):
    """x within [low, high]; NaN stays NaN."""
    x = (x < low).where(low, x)
    return (x > high).where(high, x)


def power_of_two(k):
    """2^k for an integer Value k in the range of normal exponents."""
    kind = FLOAT if k.type.width == 32 else DOUBLE
    return ((k + BIAS[kind]) << FRACTION[kind]).floats()


def at_most(x, high):
    """The smaller of x and a number; NaN stays NaN."""
    return (x > high).where(high, x)
