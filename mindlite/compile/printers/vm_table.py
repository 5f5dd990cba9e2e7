"""The register machine's opcodes.

The table of a program is a vector of i64: an opcode, then its operands, which are numbers of registers unless said otherwise.
"""
from ...common.dtype import ALL
from .. import flow as F

DTYPES = tuple(d for d in ALL if d.kind != "c")
# opcode: operands, for reading a table; * repeats to the end
OPERANDS = {
    "enter": "args_at results_at", "param": "dst number", "const": "dst bits", "move": "dst src", "jump": "target",
    "jump_if_zero": "cond target", "table": "dst index", "static": "dst first count nbytes place n avoid*",
    "alloc": "dst slot count nbytes first place n avoid*", "kill_static": "first count", "kill": "slot count first",
    "kernel": "number place n args*", "launch": "number place n extent cost args*",
    "callback": "place n ndsts args* dsts*",
    "call": "target frame place n ndsts args* params* dsts*", "check": "cond place n args*", "copy": "dst src nbytes",
    "tape_new": "dst place", "tape_push": "tape ptr nbytes place", "tape_push_scalar": "tape value place",
    "tape_pop": "dst tape place", "tape_pop_scalar": "dst tape place", "output": "index ptr nbytes place n dims*",
    "return": "n values*", **{f"exact_{op}": "dst a b place" for op in F.EXACT},
}
OPCODES = tuple(OPERANDS) + tuple(F.ARITH) + tuple(F.UNARY) + tuple(
    f"{word}.{d.short}" for d in DTYPES for word in ("load", "store"))
NUMBER = {name: n for n, name in enumerate(OPCODES)}
