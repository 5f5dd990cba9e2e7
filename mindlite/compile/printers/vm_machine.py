"""The register machine: machine code that runs the table of any Flow (vm.py), made once and kept on disk.

    i64 vm_run(context)        CODE -> table, FRAME numbers of registers, results from RESULTS on

A frame is the registers of one call of a Flow, then its slots for dynamic storages, then two areas for lists of values.
It is a plain switch in a loop; scalar instructions are the same IR as in native code (`scalar_ir.py`), storages the
same functions.
"""
from __future__ import annotations

from llvmlite import ir

from ...backend.low_python import source_of
from ...backend.low_writer import write_functions
from ...backend.words import BIT, NOTHING, POINTER, WORD, call, call_at, read, word, write
from .. import flow as F
from . import runtime as R
from . import scalar_ir
from .vm import DTYPES, OPCODES, OPERANDS


class _Machine:
    """Writes `vm(context, code, where it begins, frame, results)`: a loop around a switch, a case for each opcode."""

    def __init__(self, module: ir.Module) -> None:
        function = ir.Function(module, ir.FunctionType(WORD, [WORD] * 5), "vm")
        function.linkage = "internal"
        self.ctx, self.code, start, self.frame, self.ret = function.args
        entry, self.loop, self.fail, self.abort = [function.append_basic_block(x) for x in ("entry", "loop", "fail", "abort")]
        self.function, b = function, ir.IRBuilder(entry)
        self.following, self.args, self.results, self.place, self.status = (b.alloca(WORD) for _ in range(5))
        b.store(start, self.following)
        b.branch(self.loop)
        b.position_at_end(self.loop)
        self.pc = b.load(self.following, typ=WORD)
        switch = b.switch(read(b, self.code, self.pc), self.abort)
        for opcode, name in enumerate(OPCODES):
            block = function.append_basic_block(name.replace(".", "_"))
            switch.add_case(opcode, block)
            case = _Case(self, ir.IRBuilder(block))
            (_special if name in OPERANDS else _simple)(case, name)
        b.position_at_end(self.fail)
        write(b, self.ctx, R.FAIL_SITE, b.load(self.place, typ=WORD))
        write(b, self.ctx, R.FAIL_STATUS, b.load(self.status, typ=WORD))
        b.branch(self.abort)
        b.position_at_end(self.abort)
        b.ret(word(1))


class _Case:
    """Writes what one opcode does: `o(k)` its k-th operand, `r(k)` the register it names, `end(n)` goes on."""

    def __init__(self, machine: _Machine, builder: ir.IRBuilder) -> None:
        self.machine, self.b = machine, builder

    def address(self, base: ir.Value, number: int | ir.Value) -> ir.Value:
        """Where the word with a number lies from an address on."""
        return self.b.add(base, self.b.shl(word(number), word(3)))

    def code_at(self, k: int, more: ir.Value | None = None) -> ir.Value:
        """The address of the operand number k, or k + more."""
        number = self.b.add(self.machine.pc, word(k))
        return self.address(self.machine.code, number if more is None else self.b.add(number, more))

    def o(self, k: int) -> ir.Value:
        return read(self.b, self.machine.code, self.b.add(self.machine.pc, word(k)))

    def r(self, k: int, kind: str = "i64") -> ir.Value:
        return read(self.b, self.machine.frame, self.o(k), scalar_ir.type_of(kind))

    def set(self, k: int, value: ir.Value) -> None:
        write(self.b, self.machine.frame, self.o(k), value)

    def slot(self, number: ir.Value) -> ir.Value:
        return self.address(self.machine.frame, number)

    def area(self, slot: ir.Value) -> ir.Value:
        return self.slot(self.b.load(slot, typ=WORD))

    def call(self, name: str, *args: int | ir.Value, result: ir.Type | None = None) -> ir.Value:
        return call(self.b, name, *args, result=result)

    def gather(self, k: int, n: ir.Value, to: ir.Value) -> None:
        """The registers whose numbers stand from operand k on, into memory."""
        self.call("vm_gather", self.code_at(k), self.machine.frame, to, n)

    def scatter(self, k: int, more: ir.Value, source: ir.Value, n: ir.Value) -> None:
        """Memory into the registers whose numbers stand from operand k + more on."""
        self.call("vm_scatter", self.code_at(k, more), self.machine.frame, source, n)

    def context(self, place: int) -> ir.Value:
        return read(self.b, self.machine.ctx, place)

    def block(self) -> ir.Block:
        return self.machine.function.append_basic_block()

    def fail_if(self, condition: ir.Value, place: ir.Value, status: int | ir.Value = 0,
                values: tuple[int, ir.Value] | None = None) -> None:
        """Leave where a condition holds. values: (k, n) of the operands that a failed Check shows"""
        m, b, failed, go_on = self.machine, self.b, self.block(), self.block()
        b.cbranch(condition, failed, go_on)
        b.position_at_end(failed)
        if values is not None:
            k, n = values
            self.gather(k, n, self.address(m.ctx, R.FAIL_VALUES))
        b.store(place, m.place)
        b.store(word(status), m.status)
        b.branch(m.fail)
        b.position_at_end(go_on)

    def fail_unless_zero(self, status: ir.Value, place: ir.Value) -> None:
        self.fail_if(self.b.icmp_signed("!=", status, word(0)), place, status)

    def fail_if_null(self, address: ir.Value, place: ir.Value) -> None:
        self.fail_if(self.b.icmp_signed("==", address, word(0)), place)

    def end(self, length: int, more: ir.Value | None = None) -> None:
        following = self.b.add(self.machine.pc, word(length))
        self.go(following if more is None else self.b.add(following, more))

    def go(self, target: ir.Value) -> None:
        self.b.store(target, self.machine.following)
        self.b.branch(self.machine.loop)


def _simple(c: _Case, name: str) -> None:
    """The opcodes of scalars: arithmetic, load, store."""
    if name in F.ARITH:
        source = F.ARITH[name][0]
        c.set(1, scalar_ir.arith(c.b, name, c.r(2, source), c.r(3, source)))
        c.end(4)
    elif name in F.UNARY:
        c.set(1, scalar_ir.unary(c.b, name, c.r(2, F.UNARY[name][0])))
        c.end(3)
    else:
        what, short = name.split(".")
        dtype = next(d for d in DTYPES if d.short == short)
        if what == "load":
            c.set(1, scalar_ir.load(c.b, dtype, c.r(2)))
        else:
            scalar_ir.store(c.b, dtype, c.r(1), c.r(2, "f64" if dtype.is_float else "i64"))
        c.end(3)


def _special(c: _Case, name: str) -> None:
    """The opcodes that are not scalar arithmetic."""
    m, b = c.machine, c.b
    if name == "enter":
        for k, slot in ((1, m.args), (2, m.results)):
            b.store(c.o(k), slot)
        c.end(3)
    elif name == "param":
        c.set(1, read(b, m.ctx, b.add(c.o(2), word(R.PARAMS))))
        c.end(3)
    elif name == "const":
        c.set(1, c.o(2))
        c.end(3)
    elif name == "move":
        c.set(1, c.r(2))
        c.end(3)
    elif name == "jump":
        c.go(c.o(1))
    elif name == "jump_if_zero":
        c.go(b.select(b.icmp_signed("==", c.r(1), word(0)), c.o(2), b.add(m.pc, word(3))))
    elif name == "table":
        c.set(1, read(b, c.context(R.TABLE), c.o(2)))
        c.end(3)
    elif name in ("static", "alloc"):
        _storage(c, name)
    elif name == "kill_static":
        c.call("rt_kill_static", m.ctx, c.o(1), c.o(2), result=NOTHING)
        c.end(3)
    elif name == "kill":
        c.call("rt_kill", m.ctx, c.slot(c.o(1)), c.o(2), c.o(3), result=NOTHING)
        c.end(4)
    elif name in ("kernel", "launch"):
        _kernel(c, name)
    elif name == "callback":
        place, n, ndsts, args, results = c.o(1), c.o(2), c.o(3), c.area(m.args), c.area(m.results)
        c.gather(4, n, args)
        c.fail_unless_zero(call_at(b, c.context(R.CALLBACK), place, args, results), place)
        c.scatter(4, n, results, ndsts)
        c.end(4, b.add(n, ndsts))
    elif name == "call":
        _call(c)
    elif name == "check":
        n = c.o(3)
        c.fail_if(b.icmp_signed("==", c.r(1), word(0)), c.o(2), values=(4, n))
        c.end(4, n)
    elif name.startswith("exact_"):
        out, overflow = scalar_ir.exact(b, name.partition("_")[2], c.r(2), c.r(3))
        c.fail_if(overflow, c.o(4))
        c.set(1, out)
        c.end(5)
    elif name == "copy":
        to, source = (b.inttoptr(c.r(k), POINTER) for k in (1, 2))
        c.call("llvm.memmove.p0.p0.i64", to, source, c.call("llvm.smax.i64", c.r(3), 0), BIT(0), result=NOTHING)
        c.end(4)
    elif name == "tape_new":
        tape = c.call("rt_tape_new", m.ctx)
        c.fail_if_null(tape, c.o(2))
        c.set(1, tape)
        c.end(3)
    elif name == "tape_push":
        c.fail_unless_zero(c.call("rt_tape_push", c.r(1), c.r(2), c.r(3)), c.o(4))
        c.end(5)
    elif name == "tape_push_scalar":
        c.fail_unless_zero(c.call("rt_tape_push_scalar", c.r(1), c.r(2)), c.o(3))
        c.end(4)
    elif name in ("tape_pop", "tape_pop_scalar"):
        record = c.call("rt_tape_pop", c.r(2))
        c.fail_if_null(record, c.o(3))
        c.set(1, record if name == "tape_pop" else read(b, record, 0))
        c.end(4)
    elif name == "output":
        n, dims = c.o(5), c.area(m.args)
        c.gather(6, n, dims)
        c.fail_unless_zero(c.call("rt_output", m.ctx, c.o(1), c.r(2), c.r(3), dims, n), c.o(4))
        c.end(6, n)
    elif name == "return":
        c.gather(2, c.o(1), m.ret)
        b.ret(word(0))


def _storage(c: _Case, name: str) -> None:
    ctx, args = c.machine.ctx, c.area(c.machine.args)
    if name == "static":
        first, count, nbytes, place, n = c.o(2), c.o(3), c.r(4), c.o(5), c.o(6)
        c.gather(7, n, args)
        data = c.call("rt_static", ctx, first, count, nbytes, args, n)
    else:
        slots, count, nbytes, first, place, n = c.slot(c.o(2)), c.o(3), c.r(4), c.o(5), c.o(6), c.o(7)
        c.gather(8, n, args)
        data = c.call("rt_alloc", ctx, slots, count, nbytes, args, n, first)
    c.fail_if_null(data, place)
    c.set(1, data)
    c.end(7 if name == "static" else 8, n)


def _kernel(c: _Case, name: str) -> None:
    number, place, n, args = c.o(1), c.o(2), c.o(3), c.area(c.machine.args)
    kernel, length = read(c.b, c.context(R.KERNELS), number), 4 if name == "kernel" else 6
    c.gather(length, n, args)
    if name == "kernel":
        status = call_at(c.b, kernel, args, 0, 1)
    else:
        status = call_at(c.b, c.context(R.LAUNCHER), kernel, args, c.r(4), c.r(5))
    c.fail_unless_zero(status, place)
    c.end(length, n)


def _call(c: _Case) -> None:
    m, b = c.machine, c.b
    target, size, place, n, ndsts = c.o(1), c.o(2), c.o(3), c.o(4), c.o(5)
    depth = c.context(R.DEPTH)
    now = b.add(depth, word(1))
    c.fail_if(b.icmp_signed(">", now, c.context(R.LIMIT)), place)
    results = c.area(m.results)
    write(b, m.ctx, R.DEPTH, now)
    status = c.call("vm_call", m.ctx, m.code, target, size, results, m.frame, c.code_at(6), c.code_at(6, n), n)
    write(b, m.ctx, R.DEPTH, depth)
    called = c.block()
    b.cbranch(b.icmp_signed("!=", status, word(0)), m.abort, called)
    b.position_at_end(called)
    both = b.shl(n, word(1))
    c.scatter(6, both, results, ndsts)
    c.end(6, b.add(both, ndsts))


def print_machine() -> tuple[str, set[str]]:
    """(the machine's LLVM IR, the names that it uses from outside)."""
    module = ir.Module("machine")
    _Machine(module)
    write_functions(module, source_of(__file__, "vm_code"), R.PLACES)
    return str(module), {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")}
