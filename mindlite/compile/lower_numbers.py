"""Lowering of Python numbers: arithmetic on registers, i64 for int and bool, f64 for float."""
from ..ops.basic import scalar_to_tensor
from ..ops.scalar import scalar_binary, scalar_cast, scalar_compare, scalar_unary, tensor_to_scalar

NUMBERS = {}                                 # {Primitive: (lowering, node) -> register}


def number(prim):
    """Register how a primitive is lowered."""
    def register(function):
        NUMBERS[prim] = function
        return function
    return register


_INT = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod", "&": "and", "|": "or", "^": "xor", "<<": "shl",
        ">>": "shr", "max": "max", "min": "min"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv", "//": "ffloordiv", "%": "fmod", "**": "fpow", "max": "fmax",
          "min": "fmin"}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def _as_float(lowering, node):
    register = lowering.value(node)
    return register if node.abstract.type is float else lowering.b.unary("itof", register)


@number(scalar_binary)
def lower_scalar_binary(lowering, node):
    b, op = lowering.b, node.attrs["op"]
    x, y = node.args
    if node.abstract.type is float or op in ("/", "**"):
        result = b.arith(_FLOAT[op], _as_float(lowering, x), _as_float(lowering, y))
        return result if node.abstract.type is float else b.unary("ftoi", result)
    return b.arith(_INT[op], lowering.value(x), lowering.value(y))


@number(scalar_compare)
def lower_scalar_compare(lowering, node):
    x, y = node.args
    word = _COMPARE[node.attrs["op"]]
    if float in (x.abstract.type, y.abstract.type):
        return lowering.b.arith("f" + word, _as_float(lowering, x), _as_float(lowering, y))
    return lowering.b.arith(word, lowering.value(x), lowering.value(y))


@number(scalar_unary)
def lower_scalar_unary(lowering, node):
    b, op, x = lowering.b, node.attrs["op"], node.args[0]
    value, floating = lowering.value(x), x.abstract.type is float
    if op == "+":
        return value
    if op == "not":
        return b.arith("feq", value, b.const(0.0)) if floating else b.unary("not", value)
    if op == "~":
        return b.arith("sub", b.unary("neg", value), b.const(1))
    return b.unary({"-": "neg", "abs": "abs"}[op] if not floating else {"-": "fneg", "abs": "fabs"}[op], value)


@number(scalar_cast)
def lower_scalar_cast(lowering, node):
    b, x, kind = lowering.b, node.args[0], node.attrs["type"]
    value, have = lowering.value(x), x.abstract.type
    if kind is float:
        return _as_float(lowering, x)
    if kind is bool:
        return b.arith("fne", value, b.const(0.0)) if have is float else b.arith("ne", value, b.const(0))
    return b.unary("ftoi", value) if have is float else value


@number(tensor_to_scalar)
def lower_tensor_to_scalar(lowering, node):
    return lowering.b.load(lowering.value(node.args[0]), node.args[0].abstract.dtype)


@number(scalar_to_tensor)
def lower_scalar_to_tensor(lowering, node):
    b, x, dtype = lowering.b, node.args[0], node.attrs["dtype"]
    value = lowering.value(x)
    if dtype.is_float:
        value = _as_float(lowering, x)
    elif x.abstract.type is float:
        value = b.unary("ftoi", value)
    if dtype.kind == "b":
        value = b.arith("ne", value, b.const(0))
    out = lowering.allocate(node.abstract, node)
    b.store(out, value, dtype)
    return out
