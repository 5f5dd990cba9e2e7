"""Flow: what runs. A small structured SSA program over registers, printed as machine code, as a table, or as Python.

    flow main(%0 x: ptr, %1 n: i64) {
      %2 = const 4
      %3 = mul %1, %2
      %4 = alloc %3                           # 4*N bytes
      kernel tanh(%0, %4, %1) over %1         # model.py:3
      return
    }

A register is assigned once and is "i64" (also pointers and bools) or "f64". If and While hold Blocks; a register is
visible in the block that assigns it, after that place, and in blocks inside. The idea of one program with a native
and an interpreted form is DISC's and Nimble's (Zhu et al. 2021; Shen et al. 2021, section 4); structured control flow
keeps lifetimes static. `spine.md`, section 4, is the contract; `flow_builder.py` makes Flows, `memory.py` plans their
storage.

Meaning of arithmetic, the same in every printer: i64 wraps; floordiv and mod round to minus infinity, by zero they
give 0 (NumPy's rule); a shift by 64 or more moves every bit out; f64 is IEEE 754; ffloordiv and fmod follow Python,
except that division by zero gives what IEEE gives; fmax(a, b) is Python's max(a, b): `b if b > a else a`; ftoi cuts
off, saturates, and makes 0 of NaN. Comparisons give 0 or 1; `not` gives 1 for 0 and else 0. Exact arithmetic is that
of Python's ints: where the result needs more than 64 bits the run ends, and Python computes that call again.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import field, fields
from typing import Any, ClassVar

import numpy as np

from ..backend.kernel import Kernel
from ..common.device import Device, name_of
from ..common.dim import Dim, Shape, Size, Symbol
from ..common.dtype import DType
from ..common.location import Origin
from ..common.records import dataclass

Registers = tuple[int, ...]                      # their numbers

INT_ARITH = ("add", "sub", "mul", "floordiv", "mod", "max", "min", "and", "or", "xor", "shl", "shr",
             "eq", "ne", "lt", "le", "gt", "ge")
FLOAT_ARITH = ("fadd", "fsub", "fmul", "fdiv", "fpow", "ffloordiv", "fmod", "fmax", "fmin")
FLOAT_COMPARE = ("feq", "fne", "flt", "fle", "fgt", "fge")
EXACT = ("add", "sub", "mul")
# the message of a Check that stands for what exact arithmetic asks of its operands or result
INEXACT = "numbers of 64 bits do not hold this result"
# operator: (kind of the operand, kind of the result)
UNARY = {"neg": ("i64", "i64"), "not": ("i64", "i64"), "abs": ("i64", "i64"), "itof": ("i64", "f64"),
         "ftoi": ("f64", "i64"), "fneg": ("f64", "f64"), "fabs": ("f64", "f64"), "fsqrt": ("f64", "f64"),
         "fexp": ("f64", "f64"), "flog": ("f64", "f64"), "fsin": ("f64", "f64"), "fcos": ("f64", "f64"),
         "ftanh": ("f64", "f64")}
ARITH = {**{op: ("i64", "i64") for op in INT_ARITH}, **{op: ("f64", "f64") for op in FLOAT_ARITH},
         **{op: ("f64", "i64") for op in FLOAT_COMPARE}}


class Instruction:
    """Base. `reads`: registers it uses itself (not those of its blocks); `writes`: registers it assigns; `blocks`."""
    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]           # each is a dataclass

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The Blocks inside."""
        return ()

    @property
    def reads(self) -> Registers:
        """Registers that the instruction uses, blocks apart."""
        return ()

    @property
    def writes(self) -> Registers:
        """Registers that are assigned when the instruction is done."""
        return ()


@dataclass(frozen=True)
class Block:
    """instructions, and the registers that the block hands to what holds it."""
    instructions: tuple[Instruction, ...]
    results: Registers = ()


def _of(*names: str) -> Any:
    """A property: the registers (or Blocks) in these fields, a tuple."""
    if len(names) > 1:
        return property(operator.attrgetter(*names))
    get = operator.attrgetter(*names)
    return property(lambda i: held if isinstance(held := get(i), tuple) else (held,))


def _all(*names: str) -> Any:
    """The same of fields that may hold several registers, or None."""
    get = operator.attrgetter(*names)
    return property(lambda i: tuple([one for held in get(i) if held is not None
                                     for one in (held if isinstance(held, tuple) else (held,))]))


class _OneResult(Instruction):
    dst: int
    writes = _of("dst")


@dataclass(frozen=True)
class Const(_OneResult):
    """dst = value, an int (i64) or a float (f64)."""
    dst: int
    value: int | float


@dataclass(frozen=True, eq=False)
class Data(_OneResult):
    """dst = the address of a contiguous array that is never written; the program keeps it alive.

    device : where a copy of it lies; None for the CPU, as in all instructions
    """
    dst: int
    array: np.ndarray
    device: Device | None = None


@dataclass(frozen=True)
class Arith(_OneResult):
    """dst = a op b, op being one of ARITH."""
    dst: int
    op: str
    a: int
    b: int
    reads = _of("a", "b")


@dataclass(frozen=True)
class Exact(_OneResult):
    """dst = a op b, op being one of EXACT; the run ends here if 64 bits do not hold the result."""
    dst: int
    op: str
    a: int
    b: int
    origin: Origin | None = field(default=None, compare=False)
    reads = _of("a", "b")


@dataclass(frozen=True)
class Unary(_OneResult):
    """dst = op a, op being one of UNARY."""
    dst: int
    op: str
    a: int
    reads = _of("a")


@dataclass(frozen=True)
class Load(_OneResult):
    """dst = element 0 of the storage at ptr; bool and integers give i64, floats f64."""
    dst: int
    ptr: int
    dtype: DType
    reads = _of("ptr")


@dataclass(frozen=True)
class Store(Instruction):
    """Element 0 of the storage at ptr becomes value: integers wrap, float16 and bfloat16 round through float32."""
    ptr: int
    value: int
    dtype: DType
    reads = _of("ptr", "value")


@dataclass(frozen=True)
class Alloc(_OneResult):
    """dst = a storage of nbytes (a register) on a device. size: the same as int or Dim; planned if it has entry symbols only."""
    dst: int
    nbytes: int
    size: Size | None = None
    device: Device | None = None
    reads = _of("nbytes")


@dataclass(frozen=True)
class Kill(Instruction):
    """The storages that the Alloc of ptr made may be reused. Only the planner writes it."""
    ptr: int


@dataclass(frozen=True)
class CallKernel(Instruction):
    """Run kernel over [0, extent) (a register; None: one piece, [0, 1)) with args; a handle goes first among them.

    cost: a register, operations per item; it goes with extent, and decides how many threads are worth it.
    device, stream: where it runs, and in which of the device's streams, one launch after the other; on the CPU the next
    instruction waits for it, elsewhere what comes after it in the stream does
    """
    kernel: Kernel
    args: Registers
    extent: int | None = None
    handle: int | None = None
    origin: Origin | None = field(default=None, compare=False)
    cost: int | None = None
    device: Device | None = None
    stream: int = 0

    reads = _all("kernel_args", "over")

    @property
    def kernel_args(self) -> Registers:
        """The registers in the order in which the kernel finds them in its args."""
        return ((self.handle,) if self.handle is not None else ()) + self.args

    @property
    def over(self) -> Registers:
        """The registers of extent and cost; () for one piece."""
        return () if self.extent is None or self.cost is None else (self.extent, self.cost)


@dataclass(frozen=True)
class Handle(_OneResult):
    """dst = kernel.prepare(sizes): once per instance where all dims have entry symbols only, else each time."""
    dst: int
    kernel: Kernel
    sizes: Registers
    dims: Shape | None = None
    reads = _of("sizes")


@dataclass(frozen=True)
class CallFlow(Instruction):
    """dsts = the values that the Flow named `flow` of the same program returns for args."""
    dsts: Registers
    flow: str
    args: Registers
    origin: Origin | None = field(default=None, compare=False)
    reads = _of("args")
    writes = _of("dsts")


@dataclass(frozen=True)
class If(Instruction):
    """dsts = the results of `then` if cond is not 0, else those of `other`."""
    cond: int
    then: Block
    other: Block
    dsts: Registers = ()
    blocks = _of("then", "other")
    reads = _of("cond")
    writes = _of("dsts")


@dataclass(frozen=True)
class While(Instruction):
    """params = inits; while cond's one result is not 0: params = body's results; dsts = params."""
    params: Registers
    inits: Registers
    cond: Block
    body: Block
    dsts: Registers
    blocks = _of("cond", "body")
    reads = _of("inits")
    writes = _of("dsts")


@dataclass(frozen=True)
class Check(Instruction):
    """If cond is 0 the run ends with an error: message(*values) if message is callable, else its text formatted.

    again : Python is to run the call instead
    """
    cond: int
    message: str | Callable[..., Exception]
    args: Registers = ()
    origin: Origin | None = field(default=None, compare=False)
    again: bool = False
    reads = _all("cond", "args")


@dataclass(frozen=True)
class Copy(Instruction):
    """nbytes from src to dst (pointers), which lie on devices: memmove on the CPU.

    On devices it is done in the order of the stream. What comes from the CPU is read before the next instruction; what
    goes there has arrived, so the run waits for the stream.
    """
    dst: int
    src: int
    nbytes: int
    to: Device | None = None
    source: Device | None = None
    stream: int = 0
    origin: Origin | None = field(default=None, compare=False)

    @property
    def device(self) -> Device | None:
        """The device that does it; None for the CPU."""
        return self.source if self.to is None else self.to
    reads = _of("dst", "src", "nbytes")


@dataclass(frozen=True)
class TapeNew(_OneResult):
    """dst = the handle of an empty tape, which lives until the run ends."""
    dst: int


@dataclass(frozen=True)
class TapePush(Instruction):
    """Push nbytes (a register) from the pointer `value`, or with nbytes None the register `value` itself.

    device : where the pointer points, and a copy stays until the run ends
    """
    tape: int
    value: int
    nbytes: int | None = None
    device: Device | None = None
    reads = _all("tape", "value", "nbytes")


@dataclass(frozen=True)
class TapePop(_OneResult):
    """dst = what was pushed last: a pointer, valid until the next push on this tape, or (scalar) the value."""
    dst: int
    tape: int
    scalar: bool = False
    device: Device | None = None
    reads = _of("tape")


@dataclass(frozen=True)
class Output(Instruction):
    """Result number `index`, of a size known only now: nbytes are copied out from ptr; dims are registers."""
    index: int
    ptr: int
    nbytes: int
    dims: Registers = ()
    device: Device | None = None
    reads = _all("ptr", "nbytes", "dims")


@dataclass(frozen=True)
class PythonSegment(Instruction):
    """dsts = function(*args), called in Python; one value for one dst, a tuple for several, None for none.

    pure: it only computes, so that a run may begin again after it
    """
    function: Callable[..., Any]
    args: Registers = ()
    dsts: Registers = ()
    origin: Origin | None = field(default=None, compare=False)
    pure: bool = False
    reads = _of("args")
    writes = _of("dsts")


@dataclass(frozen=True)
class Return(Instruction):
    """Ends the flow with these values; the last instruction of every Flow, and nowhere else."""
    values: Registers = ()
    reads = _of("values")


@dataclass(frozen=True)
class Param:
    """A parameter of a Flow: register, kind ("ptr", "i64" or "f64"), name, and for a pointer the device."""
    register: int
    kind: str
    name: str = ""
    device: Device | None = None


@dataclass(frozen=True)
class OutputSpec:
    """A result of a Program. register: the ptr param of a result whose size the caller knows, None for an Output."""
    index: int
    dtype: DType | None = None
    shape: Shape | None = None
    register: int | None = None
    device: Device | None = None


@dataclass(frozen=True)
class Flow:
    """name, params, kinds ("i64" or "f64" by register number), body (ends in Return), symbols {Symbol: register}.

    devices : {register: Device} of the pointers to memory that is not the CPU's
    """
    name: str
    params: tuple[Param, ...]
    kinds: tuple[str, ...]
    body: Block
    symbols: dict[Symbol, int] = field(default_factory=dict)
    devices: dict[int, Device] = field(default_factory=dict)

    @property
    def returns(self) -> tuple[str, ...]:
        """The kinds of the returned values."""
        return tuple(self.kinds[r] for r in self.returned)

    @property
    def returned(self) -> Registers:
        """The registers that it returns."""
        ending: Any = self.body.instructions[-1]
        return ending.values

    def __str__(self) -> str:
        return show(self)


@dataclass(frozen=True)
class Program:
    """The Flow that is entered, the Flows it calls ({name: Flow}), and what its results are (tuple of OutputSpec)."""
    entry: Flow
    flows: dict[str, Flow] = field(default_factory=dict)
    outputs: tuple[OutputSpec, ...] = ()

    def all_flows(self) -> tuple[Flow, ...]:
        """The entry and then the others."""
        return (self.entry, *self.flows.values())

    def __str__(self) -> str:
        return "\n\n".join(show(flow) for flow in self.all_flows())


def devices_of(program: Program) -> tuple[Device, ...]:
    """The devices, other than the CPU, that a program uses, in the order in which it names them."""
    found: dict[Device | None, None] = {}
    for flow in program.all_flows():
        found.update(dict.fromkeys(flow.devices.values()))
        for i in walk(flow.body):
            found.update(dict.fromkeys((getattr(i, "device", None), getattr(i, "to", None), getattr(i, "source", None))))
    return tuple([device for device in found if device is not None])


def walk(block: Block) -> Iterator[Instruction]:
    """Every instruction of the block and of the blocks inside, in program order."""
    for instruction in block.instructions:
        yield instruction
        for inner in instruction.blocks:
            yield from walk(inner)


# ----------------------------------------------------------------------------------------------------------- printing

def show(flow: Flow) -> str:
    """The Flow as text that people read."""
    params = ", ".join(f"%{p.register} {p.name}: {p.kind}{_on(p.device)}".replace("  ", " ").replace(" :", ":")
                       for p in flow.params)
    lines = [f"flow {flow.name}({params}) {{"]
    _show_block(flow.body, "  ", lines, "yield")
    return "\n".join([*lines, "}"])


def _registers(registers: Registers) -> str:
    return ", ".join(f"%{r}" for r in registers)


def _show_block(block: Block, indent: str, lines: list[str], word: str) -> None:
    for instruction in block.instructions:
        line, comment = indent + head(instruction), _comment(instruction)
        lines.append(f"{line:<44}  # {comment}" if comment else line)
        if isinstance(instruction, If):
            _show_block(instruction.then, indent + "  ", lines, "yield")
            if instruction.other.instructions or instruction.other.results:
                lines.append(f"{indent}}} else {{")
                _show_block(instruction.other, indent + "  ", lines, "yield")
            lines.append(f"{indent}}}")
        elif isinstance(instruction, While):
            _show_block(instruction.cond, indent + "  ", lines, "test")
            lines.append(f"{indent}}} do {{")
            _show_block(instruction.body, indent + "  ", lines, "next")
            lines.append(f"{indent}}}")
    if block.results:
        lines.append(f"{indent}{word} {_registers(block.results)}")


def _comment(instruction: Instruction) -> str:
    if isinstance(instruction, Alloc) and isinstance(instruction.size, (int, Dim)):
        return f"{instruction.size} bytes"
    location = getattr(getattr(instruction, "origin", None), "location", None)
    return str(location) if location is not None else ""


def _on(device: Device | None) -> str:
    return "" if device is None else f" on {device}"


def _in(stream: int) -> str:
    return f" stream {stream}" if stream else ""


def head(i: Instruction) -> str:
    """The first line of an instruction, as text."""
    text = _HEADS[type(i)](i) if type(i) in _HEADS else ""
    return (f"{_registers(i.writes)} = " if i.writes else "") + (
        text or f"{type(i).__name__.replace('Tape', 'Tape_').lower()} {_registers(i.reads)}".rstrip())


_HEADS: dict[type[Instruction], Callable[[Any], str]] = {        # "": the name and what it reads
    Const: lambda i: f"const {i.value!r}",
    Data: lambda i: f"data {i.array.dtype}{list(i.array.shape)}{_on(i.device)}",
    Alloc: lambda i: f"alloc {_registers(i.reads)}{_on(i.device)}",
    Copy: lambda i: "" if i.device is None else (
        f"copy {_registers(i.reads)} from {name_of(i.source)} to {name_of(i.to)}{_in(i.stream)}"),
    Arith: lambda i: f"{i.op} {_registers(i.reads)}",
    Unary: lambda i: f"{i.op} {_registers(i.reads)}",
    Exact: lambda i: f"exact {i.op} {_registers(i.reads)}",
    Load: lambda i: f"load.{i.dtype.short} {_registers(i.reads)}",
    Store: lambda i: f"store.{i.dtype.short} {_registers(i.reads)}",
    Kill: lambda i: f"kill %{i.ptr}",
    CallKernel: lambda i: f"kernel {i.kernel.name}({_registers(i.kernel_args)})" + (
        f" over %{i.extent}" if i.extent is not None else "") + f"{_on(i.device)}{_in(i.stream)}",
    Handle: lambda i: f"handle {i.kernel.name}({_registers(i.sizes)})",
    CallFlow: lambda i: f"call {i.flow}({_registers(i.args)})",
    If: lambda i: f"if %{i.cond} {{",
    While: lambda i: f"while ({', '.join(f'%{p} = %{v}' for p, v in zip(i.params, i.inits))}) {{",
    Check: lambda i: f"check %{i.cond} else {_message(i)!r}({_registers(i.args)})",
    Output: lambda i: f"output {i.index} = %{i.ptr}, %{i.nbytes} bytes [{_registers(i.dims)}]",
    PythonSegment: lambda i: f"python {getattr(i.function, '__name__', 'segment')}({_registers(i.args)})",
}


def _message(i: Check) -> str:
    return i.message if isinstance(i.message, str) else getattr(i.message, "__name__", "error")


def rename(instruction: Instruction, registers: dict[int, int]) -> Instruction:
    """The instruction with registers replaced as {old: new} says, in its blocks too; others stay.

    Used to copy a part of a Flow: the copy must assign registers of its own.
    """
    def block(b):
        return Block(tuple(rename(i, registers) for i in b.instructions), many(b.results))

    def many(values):
        return tuple(registers.get(v, v) for v in values)

    constants = {"value"} if isinstance(instruction, Const) else {"index"} if isinstance(instruction, Output) else set()
    changes = {}
    for entry in fields(instruction):
        value = getattr(instruction, entry.name)
        if isinstance(value, Block):
            changes[entry.name] = block(value)
        elif entry.name in _TUPLES and value is not None and entry.name not in constants:
            changes[entry.name] = many(value)
        elif entry.name in _SINGLES and entry.name not in constants and value is not None:
            changes[entry.name] = registers.get(value, value)
    if isinstance(instruction, Handle):
        changes["dims"] = instruction.dims
    return type(instruction)(**{f.name: changes.get(f.name, getattr(instruction, f.name)) for f in fields(instruction)})


_TUPLES = {"args", "sizes", "dsts", "params", "inits", "dims", "values"}
_SINGLES = {"dst", "a", "b", "ptr", "value", "nbytes", "extent", "cost", "handle", "cond", "src", "tape"}
