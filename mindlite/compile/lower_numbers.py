"""Lowering of Python numbers: arithmetic on registers, i64 for int and bool, f64 for float.

Python's ints have no end. What 64 bits do not hold ends the run (flow.Exact, or a Check that says INEXACT), before any
Parameter is written, and Python computes the call again (compile/jit.py). An Exact is one add and one branch that is
never taken.
"""
from __future__ import annotations

from ..common.dtype import DType
from ..common.location import Origin
from ..mindir.abstract import AbstractScalar
from ..mindir.graph import AnfNode, CNode, ValueNode
from ..ops.basic import scalar_to_tensor
from ..ops.scalar import number_to_size, scalar_binary, scalar_cast, scalar_compare, scalar_unary, tensor_to_scalar
from .flow import INEXACT
from .flow_builder import FlowBuilder
from .lowering import Lowering, lowers

LOWEST = -1 << 63
NUMBERS = {number_to_size, scalar_binary, scalar_cast, scalar_compare, scalar_to_tensor, scalar_unary, tensor_to_scalar}
_EXACT = {"+": "add", "-": "sub", "*": "mul"}
_INT = {"//": "floordiv", "%": "mod", "&": "and", "|": "or", "^": "xor", "<<": "shl", ">>": "shr", "max": "max",
        "min": "min"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv", "//": "ffloordiv", "%": "fmod", "**": "fpow", "max": "fmax",
          "min": "fmin"}
_SAFE = {"%", "&", "|", "^", "max", "min", "/"}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def _as_float(lowering: Lowering, node: AnfNode) -> int:
    register = lowering.value(node)
    return register if node.abstract.type is float else lowering.b.unary("itof", register)


@lowers(scalar_binary)
def lower_scalar_binary(lowering: Lowering, node: CNode) -> int:
    b, op = lowering.b, node.attrs["op"]
    x, y = node.args
    if node.abstract.type is float:
        x, y = _as_float(lowering, x), _as_float(lowering, y)
        result = b.arith(_FLOAT[op], x, y)
        if op == "**":                                       # Python raises, or gives a complex number
            fine = b.arith("or", _finite(b, result), b.unary("not", b.arith("and", _finite(b, x), _finite(b, y))))
            b.check(fine, INEXACT, (), node.origin)
        return result
    if op == "**":
        return _power(b, lowering.value(x), y.value, node.origin)
    x, y = lowering.value(x), lowering.value(y)
    if op in _EXACT:
        return b.exact(_EXACT[op], x, y, node.origin)
    if op in ("<<", ">>"):
        b.check(b.arith("ge", y, b.const(0)), INEXACT, (), node.origin)
    result = b.arith(_INT[op], x, y)
    if op == "<<":
        b.check(b.arith("eq", b.arith("shr", result, y), x), INEXACT, (), node.origin)
    if op == "//":
        overflows = b.arith("and", b.arith("eq", x, b.const(LOWEST)), b.arith("eq", y, b.const(-1)))
        b.check(b.unary("not", overflows), INEXACT, (), node.origin)
    return result


def _finite(b: FlowBuilder, x: int) -> int:
    return b.arith("flt", b.unary("fabs", x), b.const(float("inf")))


def _power(b: FlowBuilder, x: int, exponent: int, origin: Origin) -> int:
    """x to the power of a known int >= 0, by squaring (Knuth, The Art of Computer Programming, 4.6.3)."""
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else b.exact("mul", result, x, origin)
        exponent >>= 1
        if exponent:
            x = b.exact("mul", x, x, origin)
    return b.const(1) if result is None else result


def may_be_inexact(node: CNode) -> bool:
    """True for arithmetic that may end the run."""
    if node.fn is scalar_binary:
        return node.attrs["op"] not in _SAFE if node.abstract.type is not float else node.attrs["op"] == "**"
    if node.fn is scalar_unary:
        return node.attrs["op"] in ("-", "abs") and node.abstract.type is int
    if node.fn is scalar_cast:
        return node.attrs["type"] is int and node.args[0].abstract.type is float
    return node.fn is tensor_to_scalar and _may_exceed(node.args[0].abstract.dtype)


def _may_exceed(dtype: DType) -> bool:
    return dtype.name == "uint64"


def is_scalar(node: CNode) -> bool:
    """True for a number, or arithmetic on numbers only."""
    return isinstance(node.abstract, AbstractScalar) and (isinstance(node, ValueNode) or node.fn in NUMBERS)


@lowers(scalar_compare)
def lower_scalar_compare(lowering: Lowering, node: CNode) -> int:
    x, y = node.args
    word = _COMPARE[node.attrs["op"]]
    if float in (x.abstract.type, y.abstract.type):
        return lowering.b.arith("f" + word, _as_float(lowering, x), _as_float(lowering, y))
    return lowering.b.arith(word, lowering.value(x), lowering.value(y))


@lowers(scalar_unary)
def lower_scalar_unary(lowering: Lowering, node: CNode) -> int:
    b, op, x = lowering.b, node.attrs["op"], node.args[0]
    value, floating = lowering.value(x), x.abstract.type is float
    if op == "+":
        return value
    if op == "not":
        return b.arith("feq", value, b.const(0.0)) if floating else b.unary("not", value)
    if op == "~":
        return b.arith("xor", value, b.const(-1))
    if floating:
        return b.unary({"-": "fneg", "abs": "fabs"}[op], value)
    negative = b.exact("sub", b.const(0), value, node.origin)
    return negative if op == "-" else b.arith("max", value, negative)


@lowers(scalar_cast)
def lower_scalar_cast(lowering: Lowering, node: CNode) -> int:
    b, x, kind = lowering.b, node.args[0], node.attrs["type"]
    value, have = lowering.value(x), x.abstract.type
    if kind is float:
        return _as_float(lowering, x)
    if kind is bool:
        return b.arith("fne", value, b.const(0.0)) if have is float else b.arith("ne", value, b.const(0))
    if have is float:
        b.check(b.arith("flt", b.unary("fabs", value), b.const(2.0 ** 63)), INEXACT, (), node.origin)
        return b.unary("ftoi", value)
    return value


@lowers(tensor_to_scalar)
def lower_tensor_to_scalar(lowering: Lowering, node: CNode) -> int:
    b, dtype = lowering.b, node.args[0].abstract.dtype
    value = b.load(lowering.value(node.args[0]), dtype)
    if _may_exceed(dtype):
        b.check(b.arith("ge", value, b.const(0)), INEXACT, (), node.origin)
    return value


@lowers(scalar_to_tensor)
def lower_scalar_to_tensor(lowering: Lowering, node: CNode) -> int:
    b, x, dtype = lowering.b, node.args[0], node.attrs["dtype"]
    value = lowering.value(x)
    if dtype.is_float:
        value = _as_float(lowering, x)
    elif x.abstract.type is float:
        value = b.unary("ftoi", value)
    if dtype.kind == "b":
        value = b.arith("ne", value, b.const(0))
    out = lowering.allocate(node.abstract, node) if lowering.device is None else b.alloc(b.const(dtype.itemsize), dtype.itemsize)
    b.store(out, value, dtype)
    return out
