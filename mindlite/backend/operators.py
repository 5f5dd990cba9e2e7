"""Python's operators for values that the machine will know: what the kernels of `cpu/native.py` and of `printers/` share."""
from typing import Any

from llvmlite import ir


class Operators:
    """Base of a value. Subclasses have `ir`, the LLVM value; `builder`, which writes; `of(x)`, a number or value as one of this
    one's type; `made(x)`, an LLVM value as one like this. / is of floats; // and % truncate, so both operands must be >= 0."""
    __slots__ = ()
    ir: Any
    builder: Any

    @property
    def fastmath(self):
        """What may be done to sums and products of floats."""
        return ()

    def of(self, number):
        """A number, or a value, as a value of this one's type."""
        raise NotImplementedError

    def made(self, value):
        """An LLVM value as one like this."""
        raise NotImplementedError

    @property
    def type(self):
        """The LLVM type, of a vector that of its elements."""
        return self.ir.type.element if isinstance(self.ir.type, ir.VectorType) else self.ir.type

    def _arith(self, name, other, swap=False):
        a, b = self.ir, self.of(other).ir
        if swap:
            a, b = b, a
        if isinstance(self.type, ir.IntType):
            return self.made(getattr(self.builder, name)(a, b))
        return self.made(getattr(self.builder, "f" + name)(a, b, flags=self.fastmath))

    def __add__(self, other):
        return self._arith("add", other)

    def __radd__(self, other):
        return self._arith("add", other, swap=True)

    def __sub__(self, other):
        return self._arith("sub", other)

    def __rsub__(self, other):
        return self._arith("sub", other, swap=True)

    def __mul__(self, other):
        return self._arith("mul", other)

    def __rmul__(self, other):
        return self._arith("mul", other, swap=True)

    def __truediv__(self, other):
        return self._arith("div", other)

    def __rtruediv__(self, other):
        return self._arith("div", other, swap=True)

    def __floordiv__(self, other):
        return self._arith("sdiv", other)

    def __rfloordiv__(self, other):
        return self._arith("sdiv", other, swap=True)

    def __mod__(self, other):
        return self._arith("srem", other)

    def __and__(self, other):
        return self._arith("and_", other)

    def __or__(self, other):
        return self._arith("or_", other)

    def __xor__(self, other):
        return self._arith("xor", other)

    def __lshift__(self, other):
        return self._arith("shl", other)

    def __rshift__(self, other):
        return self._arith("ashr", other)

    def __neg__(self):
        return 0 - self if isinstance(self.type, ir.IntType) else self.made(self.builder.fneg(self.ir))

    def _compare(self, op, other):
        other = self.of(other)
        if isinstance(self.type, ir.IntType):
            return self.made(self.builder.icmp_signed(op, self.ir, other.ir))
        compare = self.builder.fcmp_unordered if op == "!=" else self.builder.fcmp_ordered
        return self.made(compare(op, self.ir, other.ir))

    def __lt__(self, other):
        return self._compare("<", other)

    def __le__(self, other):
        return self._compare("<=", other)

    def __gt__(self, other):
        return self._compare(">", other)

    def __ge__(self, other):
        return self._compare(">=", other)

    def equals(self, other):
        """self == other, false for NaN (== itself stays Python's identity)."""
        return self._compare("==", other)

    def differs(self, other):
        """self != other; true for NaN."""
        return self._compare("!=", other)
