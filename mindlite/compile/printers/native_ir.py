"""A Flow as LLVM IR, one function per Flow.

    define i64 @flow_0(ptr %ctx, ptr %ret, i64 %r0, i64 %r1)       0, or 1 with the place that failed in the context

Registers become SSA values, so If and While become branches and phis. Kernels are called by addresses that stand in a
table, with a buffer on the stack for their args: 2-4 ns a launch, and no launch where the work is known to be one
thread's. Most launches of a long program are data (launch_list.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir

from ...backend.target import current
from ...backend.words import BIT, BYTE, DOUBLE, NOTHING, POINTER, WORD, call, call_at, pointer_to, read, room, word, write
from ...common.device import COPY, GIVE, LAUNCH, POISON, TAKE, Device
from ...common.errors import InternalError
from .. import flow as F
from ..link import Linked
from ..memory import Site
from . import runtime as R
from . import scalar_ir
from .launch_list import LINKS, TABLE, LaunchList, has_lists
from .python import copy_kind
from .scalar_ir import type_of

COMPARED = 8                    # pointers that are compared in place to choose a storage; for more, `rt_static` is called


def print_native(linked: Linked) -> str:
    """The LLVM IR of a Linked program, as text."""
    module = ir.Module("native")
    flows = linked.program.all_flows()
    functions = {flow.name: _declared(module, f"flow_{n}", flow) for n, flow in enumerate(flows)}
    for flow in flows:
        lists = LaunchList(module, linked, is_small) if flow is linked.program.entry and has_lists(linked) else None
        _FlowPrinter(linked, flow, functions, lists).write()
    _write_entry(module, linked.program.entry)
    return str(module)


def _declared(module: ir.Module, name: str, flow: F.Flow) -> ir.Function:
    """The function of a Flow: (context, where its results go, its parameters)."""
    types = [POINTER, POINTER, *(type_of(flow.kinds[p.register]) for p in flow.params)]
    function = ir.Function(module, ir.FunctionType(WORD, types), name)
    for argument, given in zip(function.args, ("ctx", "ret", *(f"r{p.register}" for p in flow.params))):
        argument.name = given
    return function


def _write_entry(module: ir.Module, flow: F.Flow) -> None:
    function = ir.Function(module, ir.FunctionType(WORD, [POINTER]), "run")
    ctx, = function.args
    ctx.name = "ctx"
    b = ir.IRBuilder(function.append_basic_block("entry"))
    given = [read(b, ctx, R.PARAMS + n, type_of(flow.kinds[p.register])) for n, p in enumerate(flow.params)]
    b.ret(b.call(module.globals["flow_0"], [ctx, pointer_to(b, ctx, R.PARAMS + len(given)), *given]))


def is_small(i: F.CallKernel, literals: dict[int, int | float]) -> bool:
    """True if the work of a launch is known here, and too small for a second thread. literals: {register: number}"""
    extent, cost = [literals.get(x) for x in i.over]
    return extent is not None and cost is not None and extent * cost < current().parallel_from


class _FlowPrinter:
    def __init__(self, linked: Linked, flow: F.Flow, functions: dict[str, ir.Function], lists: LaunchList | None) -> None:
        self.linked, self.flow, self.functions, self.function = linked, flow, functions, functions[flow.name]
        self.lists = lists                              # its LaunchList, or None
        self.ctx, self.ret, *params = self.function.args
        self.values = {p.register: value for p, value in zip(flow.params, params)}
        self.literals: dict[int, int | float] = {}      # register -> the number that it is
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.fail = ir.Block(self.function, "fail")      # the shared ends are appended last, where they are reached
        self.abort: ir.Block | None = None
        self.failed_place, self.failed_status = (ir.PhiInstr(self.fail, WORD, "", ()) for _ in range(2))

    def block_named(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def value(self, register: int) -> ir.Value:
        if register in self.values or self.lists is None:
            return self.values[register]
        where = self.lists.where[register]              # of what needed no code
        return read(self.b, {TABLE: self.table, LINKS: self.links}[where % 4], where // 4)

    def all(self, registers: Iterable[int]) -> list[ir.Value]:
        return [self.value(r) for r in registers]

    def write(self) -> None:
        """Write the function."""
        flow, linked, b = self.flow, self.linked, self.b
        scratch, slots = linked.scratch(flow), linked.plan.slots[flow.name]
        self.args, self.results = room(b, scratch, "args"), room(b, scratch, "results")
        self.table, self.links = (read(b, self.ctx, at, POINTER) for at in (R.TABLE, R.KERNELS))
        self.launch = read(b, self.ctx, R.LAUNCHER)
        if slots:
            self.slots = room(b, slots, "slots")
            call(b, "llvm.memset.p0.i64", self.slots, BYTE(0), 8 * slots, BIT(0), result=NOTHING)
        self.block(flow.body)
        if self.failed_place.incomings:
            self.function.blocks.append(self.fail)
            self.fail.instructions += [self.failed_place, self.failed_status]
            b.position_at_end(self.fail)
            write(b, self.ctx, R.FAIL_SITE, self.failed_place)
            write(b, self.ctx, R.FAIL_STATUS, self.failed_status)
            b.ret(word(1))
        if self.abort is not None:
            self.function.blocks.append(self.abort)
            b.position_at_end(self.abort)
            b.ret(word(1))

    def failing(self, i: F.Instruction, status: int | ir.Value = 0) -> None:
        """The code that stands here may go to the shared end `fail`."""
        self.failed_place.add_incoming(word(self.linked.place(i)), self.b.block)
        self.failed_status.add_incoming(word(status), self.b.block)

    def fail_if(self, condition: ir.Value, i: F.Instruction, status: int | ir.Value = 0) -> None:
        """Leave for the shared end `fail` if a condition holds."""
        go_on = self.block_named("ok")
        self.failing(i, status)
        self.b.cbranch(condition, self.fail, go_on)
        self.b.position_at_end(go_on)

    def fail_if_null(self, address: ir.Value, i: F.Instruction) -> None:
        self.fail_if(self.b.icmp_signed("==", address, word(0)), i)

    def fail_unless_zero(self, status: ir.Value, i: F.Instruction) -> None:
        self.fail_if(self.b.icmp_signed("!=", status, word(0)), i, status)

    def fill(self, values: Iterable[int | ir.Value], buffer: ir.Value | None = None) -> None:
        """Store values into a buffer on the stack."""
        for n, value in enumerate(values):
            write(self.b, self.args if buffer is None else buffer, n, value)

    def read(self, registers: Sequence[int]) -> None:
        """Make registers of the results' buffer."""
        for n, register in enumerate(registers):
            self.values[register] = read(self.b, self.results, n, type_of(self.flow.kinds[register]))

    def block(self, block: F.Block) -> None:
        for instruction in block.instructions:
            if self.lists is not None:
                self.launch_before(self.lists, instruction)
                if id(instruction) in self.lists.taken and type(instruction) is not F.Const:
                    continue
            _EMIT[type(instruction)](self, instruction)
        if self.lists is not None:
            self.launch_before(self.lists, block)

    def launch_before(self, lists: LaunchList, what: F.Instruction | F.Block) -> None:
        """Run the list that stands before an instruction or the end of a Block, if there is one."""
        if id(what) in lists.runs:
            begin, names = lists.runs[id(what)]
            self.b.comment(f"launches of {', '.join(names)}")
            code, numbers = (self.b.ptrtoint(words, WORD) for words in (lists.launches, lists.constants))
            status = call(self.b, "rt_launches", self.ctx, self.b.add(code, word(8 * begin)), len(names), numbers,
                          self.args)
            self.abort_if(self.b.icmp_signed("!=", status, word(0)))

    def abort_if(self, condition: ir.Value) -> None:
        """Leave for the shared end `abort` if a condition holds: the context says what failed."""
        self.abort = self.abort or ir.Block(self.function, "abort")
        go_on = self.block_named("called")
        self.b.cbranch(condition, self.abort, go_on)
        self.b.position_at_end(go_on)

    # ---- one method per instruction

    def const(self, i: F.Const) -> None:
        self.values[i.dst] = ir.Constant(DOUBLE, i.value) if isinstance(i.value, float) else word(i.value)
        self.literals[i.dst] = i.value

    def link(self, number: int) -> ir.Value:
        """An address from the table of links."""
        return read(self.b, self.links, number)

    def data(self, i: F.Data) -> None:
        self.values[i.dst] = self.link(len(self.linked.kernels) + self.linked.array_number(i.array, i.device))

    def arith(self, i: F.Arith) -> None:
        self.values[i.dst] = scalar_ir.arith(self.b, i.op, self.value(i.a), self.value(i.b))

    def exact(self, i: F.Exact) -> None:
        self.values[i.dst], overflow = scalar_ir.exact(self.b, i.op, self.value(i.a), self.value(i.b))
        self.fail_if(overflow, i)

    def unary(self, i: F.Unary) -> None:
        self.values[i.dst] = scalar_ir.unary(self.b, i.op, self.value(i.a))

    def load(self, i: F.Load) -> None:
        self.values[i.dst] = scalar_ir.load(self.b, i.dtype, self.value(i.ptr))

    def store(self, i: F.Store) -> None:
        scalar_ir.store(self.b, i.dtype, self.value(i.ptr), self.value(i.value))

    def ask(self, device: Device, i: F.Instruction, what: int, *words: int | ir.Value) -> None:
        """Call a device's driver; words: what it finds in the arguments' buffer."""
        linked = self.linked
        self.fill(words)
        entry = self.link(len(linked.kernels) + len(linked.arrays) + linked.device_number(device))
        self.fail_unless_zero(call_at(self.b, entry, what, self.args, len(words)), i)

    def take(self, device: Device, i: F.Instruction, owner: int | ir.Value, nbytes: ir.Value) -> ir.Value:
        """Memory of a device until the run ends, or for ever (owner 0); its address."""
        self.ask(device, i, TAKE, owner, nbytes)
        return read(self.b, self.args, 0)

    def run_itself(self) -> ir.Value:
        """The number that stands for this run."""
        return self.b.ptrtoint(self.ctx, WORD)

    def copied(self, device: Device, i: F.Instruction, owner: int | ir.Value, source: ir.Value, nbytes: ir.Value) -> ir.Value:
        """A copy on the device of what lies at `source` there; its address."""
        made = self.take(device, i, owner, nbytes)
        self.ask(device, i, COPY, 0, made, source, nbytes, 2)
        return made

    def alloc(self, i: F.Alloc) -> None:
        site, verify = self.linked.site(self.flow, i.dst), self.linked.verify
        nbytes, count = self.value(i.nbytes), len(site.avoid)
        if i.device is not None:
            self.values[i.dst] = self.chosen(site) if site.planned else self.take(i.device, i, self.run_itself(), nbytes)
            return
        if site.planned and not verify and (site.count - 1) * count <= COMPARED:
            self.values[i.dst] = self.chosen(site)
            return
        self.fill(self.all(site.avoid))
        if site.planned:
            made = call(self.b, "rt_static", self.ctx, site.first, site.count, nbytes, self.args, count)
        else:
            slot = pointer_to(self.b, self.slots, site.slot)
            made = call(self.b, "rt_alloc", self.ctx, slot, site.count, nbytes, self.args, count, site.first)
        self.fail_if_null(made, i)
        self.values[i.dst] = made

    def chosen(self, site: Site) -> ir.Value:
        """The first of a site's planned storages that none of the pointers to avoid points into, else its last."""
        b, numbers = self.b, range(site.first, site.first + site.count)
        *others, chosen = [read(b, self.table, 2 * number) for number in numbers]
        for number, address in reversed(list(zip(numbers, others))):
            size, free = read(b, self.table, 2 * number + 1), address
            for pointer in self.all(site.avoid):
                free = b.select(b.icmp_unsigned("<", b.sub(pointer, address), size), chosen, free)
            chosen = free
        return chosen

    def kill(self, i: F.Kill) -> None:
        site = self.linked.site(self.flow, i.ptr)
        alloc = self.linked.alloc_of(self.flow, i.ptr)
        if alloc.device is not None:
            self.kill_on_device(alloc.device, alloc, site)
        elif not site.planned:
            slot = pointer_to(self.b, self.slots, site.slot)
            call(self.b, "rt_kill", self.ctx, slot, site.count, site.first, result=NOTHING)
        elif self.linked.verify:
            call(self.b, "rt_kill_static", self.ctx, site.first, site.count, result=NOTHING)

    def kill_on_device(self, device: Device, alloc: F.Alloc, site: Site) -> None:
        if not site.planned and site.count == 1:             # what loops carry is given back when the run ends
            self.ask(device, alloc, GIVE, self.run_itself(), self.value(alloc.dst))
        for number in range(site.first, site.first + site.count) if site.planned and self.linked.verify else ():
            self.ask(device, alloc, POISON, 0, *(read(self.b, self.table, at) for at in (2 * number, 2 * number + 1)))

    def call_kernel(self, i: F.CallKernel) -> None:
        kernel, over = self.linked.kernel_number(i.kernel), self.all(i.over)
        if i.device is not None:
            self.ask(i.device, i, LAUNCH, i.stream, self.link(kernel), *(over or (-1, 0)), *self.all(i.kernel_args))
            return
        self.fill(self.all(i.kernel_args))
        address = self.link(kernel)
        if not over or is_small(i, self.literals):
            status = call_at(self.b, address, self.args, 0, over[0] if over else 1)
        else:
            status = call_at(self.b, self.launch, address, self.args, *over)
        self.fail_unless_zero(status, i)

    def handle(self, i: F.Handle) -> None:
        index = self.linked.table_index(i)
        if index is None:
            self.callback(i, i.sizes, (i.dst,))
        else:
            self.values[i.dst] = read(self.b, self.table, index)

    def callback(self, i: F.Instruction, args: F.Registers, dsts: F.Registers) -> None:
        self.fill(self.all(args))
        function = read(self.b, self.ctx, R.CALLBACK)
        self.fail_unless_zero(call_at(self.b, function, self.linked.place(i), self.args, self.results), i)
        self.read(dsts)

    def python_segment(self, i: F.PythonSegment) -> None:
        self.callback(i, i.args, i.dsts)

    def call_flow(self, i: F.CallFlow) -> None:
        b = self.b
        before = read(b, self.ctx, R.DEPTH)
        now = b.add(before, word(1))
        self.fail_if(b.icmp_signed(">", now, read(b, self.ctx, R.LIMIT)), i)
        write(b, self.ctx, R.DEPTH, now)
        status = b.call(self.functions[i.flow], [self.ctx, self.results, *self.all(i.args)])
        write(b, self.ctx, R.DEPTH, before)
        self.abort_if(b.icmp_signed("!=", status, word(0)))
        self.read(i.dsts)

    def if_(self, i: F.If) -> None:
        b, (then, other, end) = self.b, map(self.block_named, ("then", "other", "end"))
        b.cbranch(b.icmp_signed("!=", self.value(i.cond), word(0)), then, other)
        incoming = []
        for label, block in ((then, i.then), (other, i.other)):
            b.position_at_end(label)
            self.block(block)
            incoming.append((self.all(block.results), b.block))
            b.branch(end)
        b.position_at_end(end)
        for n, dst in enumerate(i.dsts):
            phi = self.values[dst] = b.phi(type_of(self.flow.kinds[dst]))
            for values, label in incoming:
                phi.add_incoming(values[n], label)

    def while_(self, i: F.While) -> None:
        b, (head, body, end) = self.b, map(self.block_named, ("head", "body", "end"))
        inits, before = self.all(i.inits), b.block
        b.branch(head)
        b.position_at_end(head)
        for param, init in zip(i.params, inits):
            self.values[param] = b.phi(type_of(self.flow.kinds[param]))
            self.values[param].add_incoming(init, before)
        self.block(i.cond)
        b.cbranch(b.icmp_signed("!=", self.value(i.cond.results[0]), word(0)), body, end)
        b.position_at_end(body)
        self.block(i.body)
        for param, result in zip(i.params, self.all(i.body.results)):
            self.values[param].add_incoming(result, b.block)
        b.branch(head)
        b.position_at_end(end)
        for dst, param in zip(i.dsts, i.params):
            self.values[dst] = self.values[param]

    def check(self, i: F.Check) -> None:
        if len(i.args) > R.MAX_VALUES:
            raise InternalError(f"a check has more than {R.MAX_VALUES} values")
        b, (failed, go_on) = self.b, map(self.block_named, ("failed", "checked"))
        b.cbranch(b.icmp_signed("==", self.value(i.cond), word(0)), failed, go_on)
        b.position_at_end(failed)
        self.fill(self.all(i.args), pointer_to(b, self.ctx, R.FAIL_VALUES))
        self.failing(i)
        b.branch(self.fail)
        b.position_at_end(go_on)

    def copy(self, i: F.Copy) -> None:
        to, source, nbytes = self.all((i.dst, i.src, i.nbytes))
        if i.device is not None:
            self.ask(i.device, i, COPY, i.stream, to, source, nbytes, copy_kind(i))
            return
        pointers = (self.b.inttoptr(address, POINTER) for address in (to, source))
        call(self.b, "llvm.memmove.p0.p0.i64", *pointers, nbytes, BIT(0), result=NOTHING)

    def tape_new(self, i: F.TapeNew) -> None:
        self.values[i.dst] = call(self.b, "rt_tape_new", self.ctx)
        self.fail_if_null(self.values[i.dst], i)

    def tape_push(self, i: F.TapePush) -> None:
        tape, value = self.value(i.tape), self.value(i.value)
        if i.nbytes is None:
            status = call(self.b, "rt_tape_push_scalar", tape, self.b.bitcast(value, WORD))
        elif i.device is None:
            status = call(self.b, "rt_tape_push", tape, value, self.value(i.nbytes))
        else:                                                # the tape holds the address of a copy
            held = self.copied(i.device, i, self.run_itself(), value, self.value(i.nbytes))
            status = call(self.b, "rt_tape_push_scalar", tape, held)
        self.fail_unless_zero(status, i)

    def tape_pop(self, i: F.TapePop) -> None:
        record = call(self.b, "rt_tape_pop", self.value(i.tape))
        self.fail_if_null(record, i)
        held = i.scalar or i.device is not None
        self.values[i.dst] = read(self.b, record, 0, type_of(self.flow.kinds[i.dst])) if held else record

    def output(self, i: F.Output) -> None:
        if len(i.dims) > R.MAX_DIMS:
            raise InternalError(f"an output has more than {R.MAX_DIMS} axes")
        source, nbytes = self.value(i.ptr), self.value(i.nbytes)
        if i.device is not None:                             # the record holds the address of a copy
            write(self.b, self.results, 0, self.copied(i.device, i, 0, source, nbytes))
            source, nbytes = self.b.ptrtoint(self.results, WORD), word(8)
        self.fill(self.all(i.dims))
        self.fail_unless_zero(call(self.b, "rt_output", self.ctx, i.index, source, nbytes, self.args, len(i.dims)), i)

    def return_(self, i: F.Return) -> None:
        self.fill(self.all(i.values), self.ret)
        self.b.ret(word(0))


_EMIT: dict[type[F.Instruction], Callable[[_FlowPrinter, Any], None]] = {
         F.Const: _FlowPrinter.const, F.Data: _FlowPrinter.data, F.Arith: _FlowPrinter.arith,
         F.Exact: _FlowPrinter.exact, F.Unary: _FlowPrinter.unary, F.Load: _FlowPrinter.load, F.Store: _FlowPrinter.store,
         F.Alloc: _FlowPrinter.alloc, F.Kill: _FlowPrinter.kill,
         F.CallKernel: _FlowPrinter.call_kernel, F.Handle: _FlowPrinter.handle, F.CallFlow: _FlowPrinter.call_flow,
         F.If: _FlowPrinter.if_, F.While: _FlowPrinter.while_, F.Check: _FlowPrinter.check, F.Copy: _FlowPrinter.copy,
         F.TapeNew: _FlowPrinter.tape_new, F.TapePush: _FlowPrinter.tape_push, F.TapePop: _FlowPrinter.tape_pop,
         F.Output: _FlowPrinter.output, F.PythonSegment: _FlowPrinter.python_segment, F.Return: _FlowPrinter.return_}
