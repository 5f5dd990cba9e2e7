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
from ..common.dim import Dim, Symbol
from ..common.errors import InternalError
from . import flow as F


class BlockBuilder:
    """A block being written: `with block:` writes into it, `block.results(*registers)` says what it hands out."""

    def __init__(self, builder):
        self.builder, self.instructions, self.values = builder, [], ()
        self.numbers = {}                            # value numbering of this scope
        self.outer = None

    def __enter__(self):
        self.outer, self.builder.current = self.builder.current, self
        return self

    def __exit__(self, kind, value, traceback):
        self.builder.current = self.outer

    def results(self, *registers):
        """The registers that the block hands to the If or While that holds it."""
        self.values = tuple(registers)

    def finish(self):
        """The Block."""
        return F.Block(tuple(self.instructions), self.values)


class LoopBuilder:
    """A While being written. params: the state registers; cond, body: its blocks; `end()` gives the last state."""

    def __init__(self, builder, inits):
        self.builder, self.inits = builder, tuple(inits)
        self.params = tuple(builder.like(r) for r in inits)
        self.cond, self.body = BlockBuilder(builder), BlockBuilder(builder)

    def end(self):
        """Write the While; returns the registers of its last state."""
        dsts = tuple(self.builder.like(r) for r in self.params)
        self.builder.emit(F.While(self.params, self.inits, self.cond.finish(), self.body.finish(), dsts))
        return dsts


class FlowBuilder:
    """Writes one Flow. Every method that makes a value returns its register. devices: {register: Device}, see Flow"""

    def __init__(self, name):
        self.name, self.kinds, self.params, self.symbols, self.devices = name, [], [], {}, {}
        self.top = self.current = BlockBuilder(self)

    def fresh(self, kind="i64"):
        """A new register of that kind."""
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def like(self, *registers):
        """A new register of the kind of these, which points where one of them does."""
        made = self.fresh(self.kinds[registers[0]])
        for register in registers:
            if register in self.devices:
                self.devices[made] = self.devices[register]
        return made

    def on(self, register, device):
        """The register, which points to memory of a device (None: the CPU)."""
        if device is not None:
            self.devices[register] = device
        return register

    def emit(self, instruction):
        """Append an instruction to the block being written; returns it."""
        self.current.instructions.append(instruction)
        return instruction

    def param(self, kind, name="", symbol=None, device=None):
        """A parameter of kind "ptr", "i64" or "f64"; symbol: the Symbol (or the Dim that is one) whose value it is."""
        register = self.on(self.fresh("f64" if kind == "f64" else "i64"), device)
        self.params.append(F.Param(register, kind, name, device))
        if symbol is not None:
            if isinstance(symbol, Dim):
                (((symbol, _),),) = symbol.terms
            self.symbols[symbol] = register
        return register

    def _number(self, key, kind, make):
        """The register of an equal value in scope, else of a new instruction."""
        scope: BlockBuilder | None = self.current
        while scope is not None:
            if key in scope.numbers:
                return scope.numbers[key]
            scope = scope.outer
        register = self.fresh(kind)
        self.emit(make(register))
        self.current.numbers[key] = register
        return register

    def const(self, value):
        """An int or a float; a bool counts as an int."""
        value = value if isinstance(value, float) else int(value)
        kind = "f64" if isinstance(value, float) else "i64"
        return self._number((kind, repr(value)), kind, lambda dst: F.Const(dst, value))

    def data(self, array, device=None):
        """The address of a contiguous array, or of a copy on a device, which is kept alive and never written."""
        return self.on(self._number(("data", id(array), device), "i64", lambda dst: F.Data(dst, array, device)), device)

    def arith(self, op, a, b):
        """a op b, op being one of flow.ARITH."""
        made = self._number((op, a, b), F.ARITH[op][1], lambda dst: F.Arith(dst, op, a, b))
        return self.on(made, self.devices.get(a)) if a in self.devices and op in ("add", "sub") else made

    def exact(self, op, a, b, origin=None):
        """a op b, op being one of flow.EXACT; what 64 bits do not hold ends the run."""
        return self._number(("exact " + op, a, b), "i64", lambda dst: F.Exact(dst, op, a, b, origin))

    def unary(self, op, a):
        """op a, op being one of flow.UNARY."""
        return self._number((op, a), F.UNARY[op][1], lambda dst: F.Unary(dst, op, a))

    def dim(self, size, env=None, arith=None, done=None):
        """The value of an int or Dim.

        env  : {Symbol: register}, by default the symbols of the parameters
        arith: how products and sums are written: `arith`, which is enough for sizes of what is in memory, or `exact`
        done : {atom: register} of those that this size has had before
        """
        env, arith, done = self.symbols if env is None else env, arith or self.arith, {} if done is None else done
        if isinstance(size, int):
            return self.const(size)
        total = None
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
        return total

    def _atom(self, atom, env, done):
        if isinstance(atom, Symbol):
            if atom not in env:
                raise InternalError(f"flow {self.name}: no register holds the size {atom}")
            return env[atom]
        if atom not in done:
            done[atom] = self.arith(atom.op, self.dim(atom.a, env, done=done), self.dim(atom.b, env, done=done))
        return done[atom]

    def load(self, ptr, dtype):
        """Element 0 at ptr, of a DType."""
        ptr = self.cell(ptr, dtype) if ptr in self.devices else ptr
        dst = self.fresh("f64" if dtype.is_float else "i64")
        self.emit(F.Load(dst, ptr, dtype))
        return dst

    def store(self, ptr, value, dtype):
        """Element 0 at ptr becomes value."""
        if ptr not in self.devices:
            self.emit(F.Store(ptr, value, dtype))
            return
        nbytes = self.const(dtype.itemsize)
        cell = self.alloc(nbytes, dtype.itemsize)
        self.emit(F.Store(cell, value, dtype))
        self.copy(ptr, cell, nbytes)

    def cell(self, ptr, dtype):
        """Element 0 at ptr, which lies on a device, in a storage of the CPU: the run waits for the device."""
        nbytes = self.const(dtype.itemsize)
        cell = self.alloc(nbytes, dtype.itemsize)
        self.copy(cell, ptr, nbytes)
        return cell

    def alloc(self, nbytes, size=None, device=None):
        """A storage; nbytes: a register; size: the same as int or Dim, where it is known."""
        dst = self.on(self.fresh(), device)
        self.emit(F.Alloc(dst, nbytes, size, device))
        return dst

    def kernel(self, kernel, args, extent=None, handle=None, origin=None, cost=None, device=None):
        """Run a kernel on the args (registers). cost: of an item of extent, by default what the kernel says."""
        if extent is not None and cost is None:
            cost = self.const(kernel.cost)
        self.emit(F.CallKernel(kernel, tuple(args), extent, handle, origin, cost, device))

    def handle(self, kernel, sizes, dims=None):
        """The handle that kernel.prepare makes for sizes (registers; dims: the same as ints and Dims)."""
        dst = self.fresh()
        self.emit(F.Handle(dst, kernel, tuple(sizes), None if dims is None else tuple(dims)))
        return dst

    def call(self, flow, args, returns=(), origin=None):
        """Call a Flow of the program by name; returns: the kinds of its results."""
        dsts = tuple(self.fresh(kind) for kind in returns)
        self.emit(F.CallFlow(dsts, flow, tuple(args), origin))
        return dsts

    def block(self):
        """A new block, to be written with `with` and given to `if_`."""
        return BlockBuilder(self)

    def if_(self, cond, then, other):
        """Registers that hold the results of the block `then` or `other`."""
        dsts = tuple(self.like(*both) for both in zip(then.values, other.values))
        self.emit(F.If(cond, then.finish(), other.finish(), dsts))
        return dsts

    def while_(self, inits):
        """A LoopBuilder whose state starts as inits (registers)."""
        return LoopBuilder(self, inits)

    def check(self, cond, message, args=(), origin=None, again=False):
        """Stop with an error unless cond; again: Python is to run the call instead, where it can."""
        self.emit(F.Check(cond, message, tuple(args), origin, again))

    def copy(self, dst, src, nbytes, origin=None):
        """nbytes from where src points to where dst does"""
        self.emit(F.Copy(dst, src, nbytes, self.devices.get(dst), self.devices.get(src), 0, origin))

    def tape(self):
        """The handle of a new tape."""
        dst = self.fresh()
        self.emit(F.TapeNew(dst))
        return dst

    def push(self, tape, value, nbytes=None):
        """Push nbytes at the pointer `value`, or the register itself."""
        self.emit(F.TapePush(tape, value, nbytes, None if nbytes is None else self.devices.get(value)))

    def pop(self, tape, scalar=None, device=None):
        """Pop a pointer, to memory of a device, or a scalar of kind "i64" or "f64"."""
        dst = self.on(self.fresh(scalar or "i64"), device)
        self.emit(F.TapePop(dst, tape, scalar is not None, device))
        return dst

    def output(self, index, ptr, nbytes, dims=()):
        """Hand out a result of data-dependent size."""
        self.emit(F.Output(index, ptr, nbytes, tuple(dims), self.devices.get(ptr)))

    def python(self, function, args=(), returns=(), origin=None, pure=False):
        """Call back into Python; returns: the kinds of the results; pure: it only computes."""
        dsts = tuple(self.fresh(kind) for kind in returns)
        self.emit(F.PythonSegment(function, tuple(args), dsts, origin, pure))
        return dsts

    def finish(self, values=()):
        """The Flow, which returns `values`."""
        self.emit(F.Return(tuple(values)))
        return F.Flow(self.name, tuple(self.params), tuple(self.kinds), self.top.finish(), dict(self.symbols), self.devices)
