"""A Flow as a table for the register machine (`vm_machine.py`): a vector of i64 that runs without a compiler.

    0000  enter     args_at=12 results_at=20
    0003  param     dst=0 number=0
    0006  const     dst=3 bits=4
    0009  mul       2 3 4

An opcode is followed by its operands, which are numbers of registers unless said otherwise. If and While become jumps, their
results moves. `vm_file.py` writes programs that are run so to files.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...backend.launcher import launch_address
from ...backend.machine_code import compile_made
from ...common.dtype import ALL
from ...common.errors import ValueRangeError
from ...common.lazy import LazyModule
from ...common.once import once
from ...common.sources import sources_hash
from .. import flow as F
from ..link import Linked
from . import runtime as R
from .python import to_bits

vm_machine = LazyModule("mindlite.compile.printers.vm_machine")
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
FIXED = {name: tuple([w for w in OPERANDS.get(name, "").split() if "*" not in w]) for name in OPCODES}      # those of each


def print_table(linked: Linked) -> tuple[list[int], int]:
    """(the table of a Linked program, how many numbers the frame of its entry has)."""
    if linked.devices:
        raise ValueRangeError(f"the register machine runs on the CPU only, this program on {linked.devices[0]} too",
                              hint="printer='native'")
    flows = linked.program.all_flows()
    starts, frames = {}, {}
    code: list = []
    calls: list = []
    for flow in flows:
        writer = _Writer(linked, flow, code, calls)
        starts[flow.name] = len(code)
        writer.write(flow is flows[0])
        frames[flow.name] = writer.size
    for at, name in calls:
        code[at], code[at + 1] = starts[name], frames[name]
    return code, frames[flows[0].name]


def print_vm(linked: Linked) -> str:
    """The table in words."""
    lines = []
    for at, name, operands in instructions(print_table(linked)[0]):
        shown = [f"{w}={n}" for w, n in zip(FIXED[name], operands)] + [str(n) for n in operands[len(FIXED[name]):]]
        lines.append(f"{at:04}  {name:<12} {' '.join(shown)}")
    return "\n".join(lines)


def instructions(code: list[int]) -> Iterator[tuple[int, str, list[int]]]:
    """(place, opcode, operands) of each instruction of a table."""
    at = 0
    while at < len(code):
        length = _length(code, at)
        yield at, OPCODES[code[at]], code[at + 1:at + length]
        at += length


def _length(code: list[int], at: int) -> int:
    """How many numbers the instruction at that place takes."""
    name = OPCODES[code[at]]
    if name not in OPERANDS:
        return 4 if name in F.ARITH else 3
    fixed = 1 + len(FIXED[name])
    count = {w: code[at + 1 + n] for n, w in enumerate(FIXED[name])}
    if name == "call":
        return fixed + 2 * count["n"] + count["ndsts"]
    if name == "callback":
        return fixed + count["n"] + count["ndsts"]
    return fixed + (count["n"] if "*" in OPERANDS[name] else 0)


class _Writer:
    """Writes one Flow into `code`. After its registers the frame has slots, temporaries and two areas for lists."""

    def __init__(self, linked: Linked, flow: F.Flow, code: list[int], calls: list[tuple[int, str]]) -> None:
        self.linked, self.flow, self.code, self.calls = linked, flow, code, calls
        self.slots_at = len(flow.kinds)
        scratch = linked.scratch(flow)
        self.temporaries = self.slots_at + linked.plan.slots[flow.name]
        self.args_at = self.temporaries + scratch
        self.results_at = self.args_at + scratch
        self.size = self.results_at + scratch

    def emit(self, name: str, *operands: int) -> None:
        self.code.append(NUMBER[name])
        self.code.extend(operands)

    def write(self, is_entry: bool) -> None:
        self.emit("enter", self.args_at, self.results_at)
        if is_entry:
            for n, param in enumerate(self.flow.params):
                self.emit("param", param.register, n)
        self.block(self.flow.body)

    def block(self, block: F.Block) -> None:
        for i in block.instructions:
            self.instruction(i)

    def moves(self, dsts: F.Registers, values: F.Registers) -> None:
        """dsts = values, all at once."""
        pairs = [(d, v) for d, v in zip(dsts, values) if d != v]
        if {d for d, _ in pairs} & {v for _, v in pairs}:
            for n, (_, v) in enumerate(pairs):
                self.emit("move", self.temporaries + n, v)
            pairs = [(d, self.temporaries + n) for n, (d, _) in enumerate(pairs)]
        for d, v in pairs:
            self.emit("move", d, v)

    def instruction(self, i: F.Instruction) -> None:
        linked = self.linked
        place = linked.place(i) if linked.is_place(i) else -1
        if type(i) in _PLAIN:
            self.emit(*_PLAIN[type(i)](i, place))
        elif isinstance(i, F.Alloc):
            self.alloc(i, place)
        elif isinstance(i, F.Kill):
            site = linked.site(self.flow, i.ptr)
            if not site.planned:
                self.emit("kill", self.slots_at + site.slot, site.count, site.first)
            elif linked.verify:
                self.emit("kill_static", site.first, site.count)
        elif isinstance(i, F.CallKernel):
            args, number = i.kernel_args, linked.kernel_number(i.kernel)
            self.emit("launch" if i.over else "kernel", number, place, len(args), *i.over, *args)
        elif isinstance(i, F.Handle):
            index = linked.table_index(i)
            if index is None:
                self.emit("callback", place, len(i.sizes), 1, *i.sizes, i.dst)
            else:
                self.emit("table", i.dst, index)
        elif isinstance(i, F.CallFlow):
            callee = next(f for f in linked.program.all_flows() if f.name == i.flow)
            self.calls.append((len(self.code) + 1, i.flow))
            self.emit("call", 0, 0, place, len(i.args), len(i.dsts), *i.args,
                      *(p.register for p in callee.params), *i.dsts)
        elif isinstance(i, F.If):
            self.if_(i)
        elif isinstance(i, F.While):
            self.while_(i)

    def alloc(self, i: F.Alloc, place: int) -> None:
        site = self.linked.site(self.flow, i.dst)
        if not site.planned:
            self.emit("alloc", i.dst, self.slots_at + site.slot, site.count, i.nbytes, site.first, place,
                      len(site.avoid), *site.avoid)
        elif site.count == 1 and not self.linked.verify:
            self.emit("table", i.dst, 2 * site.first)
        else:
            self.emit("static", i.dst, site.first, site.count, i.nbytes, place, len(site.avoid), *site.avoid)

    def if_(self, i: F.If) -> None:
        self.emit("jump_if_zero", i.cond, 0)
        to_other = len(self.code) - 1
        self.block(i.then)
        self.moves(i.dsts, i.then.results)
        self.emit("jump", 0)
        to_end = len(self.code) - 1
        self.code[to_other] = len(self.code)
        self.block(i.other)
        self.moves(i.dsts, i.other.results)
        self.code[to_end] = len(self.code)

    def while_(self, i: F.While) -> None:
        self.moves(i.params, i.inits)
        head = len(self.code)
        self.block(i.cond)
        self.emit("jump_if_zero", i.cond.results[0], 0)
        to_end = len(self.code) - 1
        self.block(i.body)
        self.moves(i.params, i.body.results)
        self.emit("jump", head)
        self.code[to_end] = len(self.code)
        self.moves(i.dsts, i.params)


# (opcode, *operands) of the instructions that look at nothing but themselves and their place
_PLAIN: dict[type[F.Instruction], Callable[[Any, int], tuple]] = {
    F.Const: lambda i, place: ("const", i.dst, to_bits(i.value)),
    F.Data: lambda i, place: ("const", i.dst, i.array.ctypes.data),
    F.Arith: lambda i, place: (i.op, i.dst, i.a, i.b),
    F.Exact: lambda i, place: (f"exact_{i.op}", i.dst, i.a, i.b, place),
    F.Unary: lambda i, place: (i.op, i.dst, i.a),
    F.Load: lambda i, place: (f"load.{i.dtype.short}", i.dst, i.ptr),
    F.Store: lambda i, place: (f"store.{i.dtype.short}", i.ptr, i.value),
    F.PythonSegment: lambda i, place: ("callback", place, len(i.args), len(i.dsts), *i.args, *i.dsts),
    F.Check: lambda i, place: ("check", i.cond, place, len(i.args), *i.args),
    F.Copy: lambda i, place: ("copy", i.dst, i.src, i.nbytes),
    F.TapeNew: lambda i, place: ("tape_new", i.dst, place),
    F.TapePush: lambda i, place: ("tape_push_scalar", i.tape, i.value, place) if i.nbytes is None else
    ("tape_push", i.tape, i.value, i.nbytes, place),
    F.TapePop: lambda i, place: ("tape_pop_scalar" if i.scalar else "tape_pop", i.dst, i.tape, place),
    F.Output: lambda i, place: ("output", i.index, i.ptr, i.nbytes, place, len(i.dims), *i.dims),
    F.Return: lambda i, place: ("return", len(i.values), *i.values),
}


@once
def machine() -> tuple[int, int, tuple]:
    """(address of vm_run, address of the launcher, objects to keep)"""
    shared = R.runtime()

    def make():
        text, names = vm_machine.print_machine()
        return "machine", text, names
    _, code = compile_made(sources_hash("compile"), make, shared.address.__getitem__, passes=2)
    return code.address("vm_run"), launch_address(), (code, shared)


def load_vm(linked: Linked) -> tuple[int, tuple, dict[int, int]]:
    """(run, objects to keep, numbers for a context: {place: value}) of a Linked program."""
    table, frame = print_table(linked)
    code = np.array(table, np.int64)
    address, launcher, keep = machine()
    kernels = np.array([k.address for k in linked.kernels] or [0], np.int64)
    places = {R.CODE: code.ctypes.data, R.FRAME: frame, R.KERNELS: kernels.ctypes.data,
              R.LAUNCHER: launcher, R.RESULTS: R.PARAMS + len(linked.program.entry.params)}
    return address, (code, kernels, keep, linked), places
