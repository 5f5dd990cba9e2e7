"""Is a Program well formed? Every register is assigned once, before it is read, of the kind its readers expect."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn

from ..backend.target import target_of
from ..common.device import Device, name_of
from ..common.errors import InternalError
from . import flow as F


def verify(program: F.Program) -> None:
    """Check that every Flow of the program is well formed.

    raises : InternalError naming the flow, the instruction and what is wrong with it
    """
    for flow in program.all_flows():
        _Verifier(program, flow).run()


class _Verifier:
    def __init__(self, program: F.Program, flow: F.Flow) -> None:
        self.program, self.flow = program, flow
        self.flows = {f.name: f for f in program.all_flows()}
        self.assigned: set[int] = set()
        pointers = [p.register for p in flow.params if p.kind == "ptr"]
        pointers += [i.dst for i in F.walk(flow.body) if isinstance(i, (F.Alloc, F.Data))]
        self.here = {register for register in pointers if register not in flow.devices}         # to memory of the CPU

    def fail(self, instruction: F.Instruction | None, text: str) -> NoReturn:
        note = F.head(instruction) if instruction is not None else ""
        raise InternalError(f"flow {self.flow.name}: {text}", note=note)

    def run(self) -> None:
        flow = self.flow
        for param in flow.params:
            if param.kind not in ("ptr", "i64", "f64"):
                self.fail(None, f"the parameter {param.name} is of kind {param.kind!r}")
            self.assign(None, param.register, "f64" if param.kind == "f64" else "i64")
        for symbol, register in flow.symbols.items():
            if register not in self.assigned or flow.kinds[register] != "i64":
                self.fail(None, f"the symbol {symbol} stands for %{register}, which is no i64 parameter")
        if not flow.body.instructions or not isinstance(flow.body.instructions[-1], F.Return) or flow.body.results:
            self.fail(None, "the body has to end in a Return, and has no results of its own")
        self.block(flow.body, frozenset(p.register for p in flow.params), top=True)

    def assign(self, instruction: F.Instruction | None, register: int, kind: str | None = None) -> None:
        if register in self.assigned:
            self.fail(instruction, f"%{register} is assigned twice")
        if not 0 <= register < len(self.flow.kinds):
            self.fail(instruction, f"%{register} has no kind")
        if kind is not None and self.flow.kinds[register] != kind:
            self.fail(instruction, f"%{register} is {self.flow.kinds[register]}, its value {kind}")
        self.assigned.add(register)

    def block(self, block: F.Block, visible: Collection[int], top: bool = False) -> set[int]:
        """Check a block in which `visible` registers can be read; gives what can be read at its end."""
        visible = set(visible)
        for position, instruction in enumerate(block.instructions):
            for register in instruction.reads:
                if register not in visible:
                    self.fail(instruction, f"%{register} is read where it has no value")
            last = position == len(block.instructions) - 1
            if isinstance(instruction, F.Return) and not (top and last):
                self.fail(instruction, "a Return has to be the last instruction of the flow")
            self.instruction(instruction, visible)
            visible.update(instruction.writes)
        for register in block.results:
            if register not in visible:
                self.fail(None, f"a block results in %{register}, which has no value there")
        return visible

    def kinds(self, instruction: F.Instruction | None, registers: Iterable[int], expected: Iterable[str], what: str) -> None:
        seen = tuple(self.flow.kinds[r] for r in registers)
        if seen != tuple(expected):
            self.fail(instruction, f"{what} are {seen}, {tuple(expected)} is expected")

    def instruction(self, i: F.Instruction, visible: set[int]) -> None:
        kinds = self.flow.kinds
        written = {}                                      # register: kind, where it has to be a certain one
        integers: tuple = ()                                 # registers that have to be i64
        if isinstance(i, F.Const):
            written = {i.dst: "f64" if isinstance(i.value, float) else "i64"}
        elif isinstance(i, F.Data):
            written = {i.dst: "i64"}
            if not i.array.flags.c_contiguous:
                self.fail(i, "the array is not contiguous")
        elif isinstance(i, (F.Arith, F.Unary)):
            table = F.ARITH if isinstance(i, F.Arith) else F.UNARY
            if i.op not in table:
                self.fail(i, f"there is no operator {i.op!r}")
            self.kinds(i, i.reads, [table[i.op][0]] * len(i.reads), "the operands")
            written = {i.dst: table[i.op][1]}
        elif isinstance(i, F.Exact):
            if i.op not in F.EXACT:
                self.fail(i, f"there is no exact {i.op!r}")
            written, integers = {i.dst: "i64"}, i.reads
        elif isinstance(i, (F.Load, F.Store)):
            if i.dtype.kind == "c":
                self.fail(i, "a register cannot hold a complex number")
            kind, integers = ("f64" if i.dtype.is_float else "i64"), (i.ptr,)
            if isinstance(i, F.Load):
                written = {i.dst: kind}
            else:
                self.kinds(i, (i.value,), (kind,), "the value")
            self.reachable(i, (i.ptr,), None)
        elif isinstance(i, F.Alloc):
            written, integers = {i.dst: "i64"}, (i.nbytes,)
        elif isinstance(i, F.CallKernel):
            self.reachable(i, i.args, i.device)
            if i.kernel.device != target_of(i.device).kind:
                self.fail(i, f"the kernel is for {i.kernel.device}")
            integers = tuple(r for r in (i.handle, i.extent, i.cost) if r is not None)
        elif isinstance(i, F.Handle):
            if i.kernel.prepare is None:
                self.fail(i, f"the kernel {i.kernel.name} has no prepare")
            written, integers = {i.dst: "i64"}, i.sizes
        elif isinstance(i, F.CallFlow):
            self.call_flow(i)
        elif isinstance(i, F.If):
            integers = (i.cond,)
            for block in i.blocks:
                self.block(block, visible)
                self.kinds(i, block.results, [kinds[r] for r in i.dsts], "the results of a branch")
        elif isinstance(i, F.While):
            self.kinds(i, i.inits, [kinds[r] for r in i.params], "the first values")
            self.kinds(i, i.dsts, [kinds[r] for r in i.params], "the last values")
            for register in i.params:
                self.assign(i, register)
            inside = visible | set(i.params)
            self.block(i.cond, inside)
            self.kinds(i, i.cond.results, ("i64",), "the condition's results")
            self.block(i.body, inside)
            self.kinds(i, i.body.results, [kinds[r] for r in i.params], "the body's results")
        elif isinstance(i, F.Check):
            integers = (i.cond,)
        elif isinstance(i, (F.Copy, F.Output)):
            integers = i.reads
            for register, device in [(i.dst, i.to), (i.src, i.source)] if isinstance(i, F.Copy) else [(i.ptr, i.device)]:
                self.reachable(i, (register,), device)
        elif isinstance(i, (F.TapeNew, F.TapePop)):
            integers = i.reads
            written = {} if isinstance(i, F.TapePop) and i.scalar else {i.dst: "i64"}
        elif isinstance(i, F.TapePush):
            integers = (i.tape,) + ((i.value, i.nbytes) if i.nbytes is not None else ())
        elif not isinstance(i, (F.PythonSegment, F.Return, F.Kill)):
            self.fail(None, f"{type(i).__name__} is no instruction")
        self.kinds(i, integers, ["i64"] * len(integers), "pointers, sizes and conditions")
        for register in i.writes:
            self.assign(i, register, written.get(register))

    def reachable(self, i: F.Instruction, registers: Sequence[int], device: Device | None) -> None:
        """Pointers among the registers point to memory of the device."""
        for register in registers:
            lies = self.flow.devices.get(register)
            if lies != device and (lies is not None or register in self.here):
                self.fail(i, f"%{register} points to memory of {name_of(lies)}, which {name_of(device)} cannot reach")

    def call_flow(self, i: F.CallFlow) -> None:
        if i.flow not in self.flows:
            self.fail(i, f"the program has no flow {i.flow!r}")
        callee = self.flows[i.flow]
        expected = ["f64" if p.kind == "f64" else "i64" for p in callee.params]
        self.kinds(i, i.args, expected, "the arguments")
        self.kinds(i, i.dsts, callee.returns, "the results")
