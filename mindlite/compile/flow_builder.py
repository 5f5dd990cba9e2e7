"""Writing Flows: fresh registers, nested blocks, sizes as arithmetic.

    b = FlowBuilder("main")
    x, out = b.param("ptr", "x"), b.param("ptr", "out")
    n = b.param("i64", "n", symbol=N)
    t = b.alloc(b.dim(4 * N), size=4 * N)
    b.kernel(tanh, [x, t, n], extent=n)
    loop = b.while_([n, t])                          # loop.params, two of them
    with loop.cond:
        loop.cond.results(b.arith("gt", loop.params[0], b.const(0)))
    with loop.body:
        ...
        loop.body.results(next_n, next_t)
    last_n, last_t = loop.end()
    flow = b.finish()

Equal constants and equal arithmetic in one scope are written once (value numbering), so sizes may be asked for freely.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..backend.kernel import Kernel
from ..common.device import Device
from ..common.dim import Operation, Size, Symbol
from ..common.dtype import DType
from ..common.errors import InternalError
from ..common.location import Origin
from . import flow as F
from .flow import Registers


class BlockBuilder:
    """A block being written: `with block:` writes into it, `block.results(*registers)` says what it hands out."""

    def __init__(self, builder: FlowBuilder) -> None:
        self.builder = builder
        self.instructions: list[F.Instruction] = []
        self.values: F.Registers = ()
        self.numbers: dict[tuple, int] = {}          # value numbering of this scope

    def __enter__(self) -> BlockBuilder:
        self.builder.scopes.append(self)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self.builder.scopes.pop()

    def results(self, *registers: int) -> None:
        """The registers that the block hands to the If or While that holds it."""
        self.values = tuple(registers)

    def finish(self) -> F.Block:
        """The Block."""
        return F.Block(tuple(self.instructions), self.values)


class LoopBuilder:
    """A While being written. params: the state registers; cond, body: its blocks; `end()` gives the last state."""

    def __init__(self, builder: FlowBuilder, inits: Sequence[int]) -> None:
        self.builder, self.inits = builder, tuple(inits)
        self.params = tuple(builder.like(r) for r in inits)
        self.cond, self.body = BlockBuilder(builder), BlockBuilder(builder)

    def end(self) -> Registers:
        """Write the While; returns the registers of its last state."""
        dsts = tuple(self.builder.like(r) for r in self.params)
        self.builder.emit(F.While(self.params, self.inits, self.cond.finish(), self.body.finish(), dsts))
        return dsts


class FlowBuilder:
    """Writes one Flow. Every method that makes a value returns its register. devices: {register: Device}, see Flow"""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: list[str] = []
        self.params: list[F.Param] = []
        self.symbols: dict[Symbol, int] = {}
        self.devices: dict[int, Device] = {}
        self.scopes = [BlockBuilder(self)]           # the blocks that are being written, the innermost last

    def fresh(self, kind: str = "i64") -> int:
        """A new register of that kind."""
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def like(self, *registers: int) -> int:
        """A new register of the kind of these, which points where one of them does."""
        made = self.fresh(self.kinds[registers[0]])
        for register in registers:
            if register in self.devices:
                self.devices[made] = self.devices[register]
        return made

    def on(self, register: int, device: Device | None) -> int:
        """The register, which points to memory of a device (None: the CPU)."""
        if device is not None:
            self.devices[register] = device
        return register

    def emit(self, instruction: F.Instruction) -> None:
        """Append an instruction to the block being written."""
        self.scopes[-1].instructions.append(instruction)

    def param(self, kind: str, name: str = "", symbol: Symbol | None = None, device: Device | None = None) -> int:
        """A parameter of kind "ptr", "i64" or "f64"; symbol: the Symbol whose value it is."""
        register = self.on(self.fresh("f64" if kind == "f64" else "i64"), device)
        self.params.append(F.Param(register, kind, name, device))
        if symbol is not None:
            self.symbols[symbol] = register
        return register

    def _number(self, key: tuple, kind: str, make: Callable[[int], F.Instruction]) -> int:
        """The register of an equal value in scope, else of a new instruction."""
        for scope in self.scopes:
            if key in scope.numbers:
                return scope.numbers[key]
        register = self.scopes[-1].numbers[key] = self.fresh(kind)
        self.emit(make(register))
        return register

    def const(self, value: float | int) -> int:
        """An int or a float; a bool counts as an int."""
        value = value if isinstance(value, float) else int(value)
        kind = "f64" if isinstance(value, float) else "i64"
        return self._number((kind, repr(value)), kind, lambda dst: F.Const(dst, value))

    def data(self, array: np.ndarray, device: Device | None = None) -> int:
        """The address of a contiguous array, or of a copy on a device, which is kept alive and never written."""
        return self.on(self._number(("data", id(array), device), "i64", lambda dst: F.Data(dst, array, device)), device)

    def arith(self, op: str, a: int, b: int) -> int:
        """a op b, op being one of flow.ARITH."""
        made = self._number((op, a, b), F.ARITH[op][1], lambda dst: F.Arith(dst, op, a, b))
        return self.on(made, self.devices.get(a)) if a in self.devices and op in ("add", "sub") else made

    def exact(self, op: str, a: int, b: int, origin: Origin | None = None) -> int:
        """a op b, op being one of flow.EXACT; what 64 bits do not hold ends the run."""
        return self._number(("exact " + op, a, b), "i64", lambda dst: F.Exact(dst, op, a, b, origin))

    def unary(self, op: str, a: int) -> int:
        """op a, op being one of flow.UNARY."""
        return self._number((op, a), F.UNARY[op][1], lambda dst: F.Unary(dst, op, a))

    def dim(self, size: Size, env: Mapping[Symbol, int] | None = None, arith: Callable[[str, int, int], int] | None = None,
            done: dict[Operation, int] | None = None) -> int:
        """The value of an int or Dim.

        env  : {Symbol: register}, by default the symbols of the parameters
        arith: how products and sums are written: `arith`, which is enough for sizes of what is in memory, or `exact`
        done : {atom: register} of those that this size has had before
        """
        env, arith, done = self.symbols if env is None else env, arith or self.arith, {} if done is None else done
        if isinstance(size, int):
            return self.const(size)
        total: int | None = None
        for monomial, coefficient in size.terms.items():
            factors = [self._atom(atom, env, done) for atom, power in monomial for _ in range(power)]
            if not factors or abs(coefficient) != 1:
                factors.append(self.const(abs(coefficient)))
            value = factors[0]
            for factor in factors[1:]:
                value = arith("mul", value, factor)
            if total is None:
                total = value if coefficient > 0 else self.unary("neg", value)
            else:
                total = arith("add" if coefficient > 0 else "sub", total, value)
        return self.const(0) if total is None else total

    def _atom(self, atom: Operation | Symbol, env: Mapping[Symbol, int], done: dict[Operation, int]) -> int:
        if isinstance(atom, Symbol):
            if atom not in env:
                raise InternalError(f"flow {self.name}: no register holds the size {atom}")
            return env[atom]
        if atom not in done:
            done[atom] = self.arith(atom.op, self.dim(atom.a, env, done=done), self.dim(atom.b, env, done=done))
        return done[atom]

    def load(self, ptr: int, dtype: DType) -> int:
        """Element 0 at ptr, of a DType."""
        ptr = self.cell(ptr, dtype) if ptr in self.devices else ptr
        dst = self.fresh("f64" if dtype.is_float else "i64")
        self.emit(F.Load(dst, ptr, dtype))
        return dst

    def store(self, ptr: int, value: int, dtype: DType) -> None:
        """Element 0 at ptr becomes value."""
        if ptr not in self.devices:
            self.emit(F.Store(ptr, value, dtype))
            return
        nbytes = self.const(dtype.itemsize)
        cell = self.alloc(nbytes, dtype.itemsize)
        self.emit(F.Store(cell, value, dtype))
        self.copy(ptr, cell, nbytes)

    def cell(self, ptr: Any, dtype: DType) -> int:
        """Element 0 at ptr, which lies on a device, in a storage of the CPU: the run waits for the device."""
        nbytes = self.const(dtype.itemsize)
        cell = self.alloc(nbytes, dtype.itemsize)
        self.copy(cell, ptr, nbytes)
        return cell

    def alloc(self, nbytes: int, size: Size | None = None, device: Device | None = None) -> int:
        """A storage; nbytes: a register; size: the same as int or Dim, where it is known."""
        dst = self.on(self.fresh(), device)
        self.emit(F.Alloc(dst, nbytes, size, device))
        return dst

    def kernel(self, kernel: Kernel, args: Sequence[int], extent: int | None = None, handle: int | None = None,
               origin: Origin | None = None, cost: int | None = None, device: Device | None = None) -> None:
        """Run a kernel on the args (registers). cost: of an item of extent, by default what the kernel says."""
        if extent is not None and cost is None:
            cost = self.const(kernel.cost)
        self.emit(F.CallKernel(kernel, tuple(args), extent, handle, origin, cost, device))

    def handle(self, kernel: Kernel, sizes: Sequence[int], dims: Sequence[Size] | None = None) -> int:
        """The handle that kernel.prepare makes for sizes (registers; dims: the same as ints and Dims)."""
        dst = self.fresh()
        self.emit(F.Handle(dst, kernel, tuple(sizes), None if dims is None else tuple(dims)))
        return dst

    def call(self, flow: str, args: Sequence[int], returns: Sequence[str] = (), origin: Origin | None = None) -> Registers:
        """Call a Flow of the program by name; returns: the kinds of its results."""
        dsts = tuple(self.fresh(kind) for kind in returns)
        self.emit(F.CallFlow(dsts, flow, tuple(args), origin))
        return dsts

    def block(self) -> BlockBuilder:
        """A new block, to be written with `with` and given to `if_`."""
        return BlockBuilder(self)

    def if_(self, cond: int, then: BlockBuilder, other: BlockBuilder) -> Registers:
        """Registers that hold the results of the block `then` or `other`."""
        dsts = tuple(self.like(*both) for both in zip(then.values, other.values))
        self.emit(F.If(cond, then.finish(), other.finish(), dsts))
        return dsts

    def while_(self, inits: Sequence[int]) -> LoopBuilder:
        """A LoopBuilder whose state starts as inits (registers)."""
        return LoopBuilder(self, inits)

    def check(self, cond: int, message: str | Callable[..., Exception], args: Sequence[int] = (), origin: Origin | None = None,
              again: bool = False) -> None:
        """Stop with an error unless cond; again: Python is to run the call instead, where it can."""
        self.emit(F.Check(cond, message, tuple(args), origin, again))

    def copy(self, dst: int, src: int, nbytes: int, origin: Origin | None = None) -> None:
        """nbytes from where src points to where dst does"""
        self.emit(F.Copy(dst, src, nbytes, self.devices.get(dst), self.devices.get(src), 0, origin))

    def tape(self) -> int:
        """The handle of a new tape."""
        dst = self.fresh()
        self.emit(F.TapeNew(dst))
        return dst

    def push(self, tape: int, value: int, nbytes: int | None = None) -> None:
        """Push nbytes at the pointer `value`, or the register itself."""
        self.emit(F.TapePush(tape, value, nbytes, None if nbytes is None else self.devices.get(value)))

    def pop(self, tape: int, scalar: str | None = None, device: Device | None = None) -> int:
        """Pop a pointer, to memory of a device, or a scalar of kind "i64" or "f64"."""
        dst = self.on(self.fresh(scalar or "i64"), device)
        self.emit(F.TapePop(dst, tape, scalar is not None, device))
        return dst

    def output(self, index: int, ptr: int, nbytes: int, dims: Sequence[int] = ()) -> None:
        """Hand out a result of data-dependent size."""
        self.emit(F.Output(index, ptr, nbytes, tuple(dims), self.devices.get(ptr)))

    def python(self, function: Callable[..., Any], args: Sequence[int] = (), returns: Sequence[str] = (),
               origin: Origin | None = None, pure: bool = False) -> Registers:
        """Call back into Python; returns: the kinds of the results; pure: it only computes."""
        dsts = tuple(self.fresh(kind) for kind in returns)
        self.emit(F.PythonSegment(function, tuple(args), dsts, origin, pure))
        return dsts

    def finish(self, values: Sequence[int] = ()) -> F.Flow:
        """The Flow, which returns `values`."""
        self.emit(F.Return(tuple(values)))
        return F.Flow(self.name, tuple(self.params), tuple(self.kinds), self.scopes[0].finish(), dict(self.symbols),
                      self.devices)
