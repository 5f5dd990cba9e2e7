"""Machine code written in Python: a thin, structured layer over llvmlite, for the kernels that surround a library.

Numba would do, but costs 0.5 s of import and 0.1-0.3 s per kernel; the same loops written as LLVM IR compile in about
15 ms. A kernel here is a Python function that *writes* code, and reads like the loops that it writes:

    module = Module("negate")
    with module.kernel("negate") as f:              # int64 negate(int64 *args, int64 begin, int64 end)
        x, out = f.array(float32, f.arg(0)), f.array(float32, f.arg(1))
        with f.loop(f.begin, f.end) as i:
            out[i] = -x[i]
    address = module.compile().address("negate")

`code_of(write, float32, target=t)` is the machine code of the module that `write(t, float32)` writes; where the disk has
it, nothing is written.

A `Value` is a number that the machine will know, with Python's operators; an `Array` is an address with an element
type; `f.loop`, `f.repeat`, `f.when` and `f.choose` are structured control flow; `f.variable` is a mutable local
(LLVM's mem2reg makes it a register). Functions of libraries have names that begin with mindlite_, and LIBRARIES says who
knows their addresses, so the text holds no addresses and the machine code can be cached on disk.
"""
import contextlib
import functools
import inspect

from llvmlite import ir

from ...common.lazy import LazyModule
from ...common.once import once
from ..loops import counted_loop
from ..kernel import Kernel
from ..machine_code import compile_ir, compile_made
from ..narrow_floats import is_narrow, narrow, raw_type, widen
from ..operators import Operators
from ..target import current

llvm = LazyModule("llvmlite.binding")
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
HALF, F32, F64, PTR, VOID = ir.HalfType(), ir.FloatType(), ir.DoubleType(), ir.PointerType(), ir.VoidType()


def compute_type(dtype):
    """The LLVM type in which elements of `dtype` are computed: float for narrower floats, else their own."""
    return F64 if dtype.name == "float64" else F32 if dtype.is_float else ir.IntType(dtype.compute.bits)


class Value(Operators):
    """A number known at run time, with Python's operators."""
    __slots__ = ("code", "builder", "ir")

    def __init__(self, code, value):
        self.code, self.builder, self.ir = code, code.builder, value

    @property
    def fastmath(self):
        """What the function allows."""
        return self.code.fastmath

    def of(self, number):
        """A Value, a Variable or a Python number as a Value of this one's type."""
        return self.code.lift(number, self.ir.type)

    def made(self, value):
        """An LLVM value as a Value."""
        return Value(self.code, value)


class Array:
    """`dtype` elements at an address (a Value of 64 bits); `x[i]` reads in compute_type(dtype), `x[i] = v` writes."""

    def __init__(self, code, dtype, address):
        self.code, self.dtype, self.address = code, dtype, address
        self.stored = HALF if dtype.name == "float16" else raw_type(dtype) if is_narrow(dtype) else compute_type(dtype)
        self.pointer = code.builder.inttoptr(address.ir, PTR)

    def at(self, index):
        """The Array that begins at element `index`."""
        return Array(self.code, self.dtype, self.address + index * self.dtype.itemsize)

    def _pointer_at(self, index):
        index = self.code.lift(index, I64).ir
        return self.code.builder.gep(self.pointer, [index], inbounds=True, source_etype=self.stored)

    def __getitem__(self, index):
        build = self.code.builder
        value = build.load(self._pointer_at(index), typ=self.stored, align=self.dtype.itemsize)
        if self.dtype.name == "float16":
            value = build.fpext(value, F32)
        elif is_narrow(self.dtype):
            value = widen(build, value, self.dtype)
        return Value(self.code, value)

    def __setitem__(self, index, value):
        build = self.code.builder
        value = self.code.lift(value, compute_type(self.dtype)).ir
        if self.dtype.name == "float16":
            value = build.fptrunc(value, HALF)
        elif is_narrow(self.dtype):
            value = narrow(build, value, self.dtype)
        build.store(value, self._pointer_at(index), align=self.dtype.itemsize)


class Variable:
    """A mutable local: get(), set(value)."""

    def __init__(self, code, slot, kind):
        self.code, self.slot, self.kind = code, slot, kind

    def get(self):
        """The current Value."""
        return Value(self.code, self.code.builder.load(self.slot, typ=self.kind))

    def set(self, value):
        """Assign."""
        self.code.builder.store(self.code.lift(value, self.kind).ir, self.slot)


class Code:
    """One function being written. For kernels: begin, end (Values), arg(i); for others: parameters (Values)."""

    def __init__(self, module, function):
        self.module, self.function = module, function
        self.entry = function.append_basic_block("entry")
        self.builder = ir.IRBuilder(function.append_basic_block("start"))
        self.parameters = [Value(self, p) for p in function.args]
        self.fastmath = ("contract",)

    @property
    def begin(self):
        """Where the chunk begins (kernels)."""
        return self.parameters[1]

    @property
    def end(self):
        """Where the chunk ends (kernels)."""
        return self.parameters[2]

    def arg(self, index):
        """args[index] of a kernel, an int64."""
        pointer = self.builder.gep(self.parameters[0].ir, [self.lift(index, I64).ir], source_etype=I64)
        return Value(self, self.builder.load(pointer, typ=I64))

    def lift(self, value, kind):
        """A Value of LLVM type `kind` from a Value, a Variable or a Python number."""
        if isinstance(value, Variable):
            return value.get()
        return value if isinstance(value, Value) else Value(self, ir.Constant(kind, value))

    def number(self, kind, value):
        """The constant `value` of LLVM type `kind`."""
        return Value(self, ir.Constant(kind, value))

    def array(self, dtype, address):
        """The Array of `dtype` at `address`."""
        return Array(self, dtype, address)

    def variable(self, kind, value):
        """A new Variable of LLVM type `kind`; its slot stands in the entry block, so loops do not grow the stack."""
        with self.builder.goto_block(self.entry):
            slot = self.builder.alloca(kind)
        variable = Variable(self, slot, kind)
        variable.set(value)
        return variable

    @contextlib.contextmanager
    def loop(self, start, stop, step=1, iterations="many"):
        """for i in range(start, stop, step), step > 0; yields i.

        iterations : "many", or a key of `loops.ITERATIONS`
        """
        start, stop, step = (self.lift(v, I64).ir for v in (start, stop, step))
        with counted_loop(self.builder, start, stop, step, None if iterations == "many" else iterations) as index:
            yield Value(self, index)

    @contextlib.contextmanager
    def repeat(self):
        """The block, again while the condition holds that it hands over: `with f.repeat() as again: ...; again(c)`."""
        head, done = self.function.append_basic_block("repeat"), self.function.append_basic_block("done")
        conditions: list = []
        self.builder.branch(head)
        self.builder.position_at_end(head)
        yield conditions.append
        self.builder.cbranch(conditions[0].ir, head, done)
        self.builder.position_at_end(done)

    @contextlib.contextmanager
    def when(self, condition):
        """if condition: the block."""
        with self.builder.if_then(condition.ir):
            yield

    @contextlib.contextmanager
    def choose(self, condition):
        """if / else: `with f.choose(c) as (then, other): with then: ...; with other: ...`"""
        with self.builder.if_else(condition.ir) as branches:
            yield branches

    def select(self, condition, a, b):
        """a if condition else b, without a branch; at least one of a, b is a Value."""
        kind = (a if isinstance(a, Value) else b).ir.type
        return Value(self, self.builder.select(condition.ir, self.lift(a, kind).ir, self.lift(b, kind).ir))

    def minimum(self, a, b):
        """The smaller of two numbers."""
        a = self.lift(a, I64)
        return self.select(a < b, a, b)

    def maximum(self, a, b):
        """The larger of two numbers."""
        a = self.lift(a, I64)
        return self.select(a > b, a, b)

    def integer(self, pointer):
        """The address that a pointer is, an int64."""
        return Value(self, self.builder.ptrtoint(pointer.ir, I64))

    def convert(self, value, kind):
        """An int64 Value as float or int of LLVM type `kind`."""
        if value.ir.type == kind:
            return value
        if isinstance(kind, ir.IntType):
            wide = kind.width > value.ir.type.width
            return Value(self, (self.builder.zext if wide else self.builder.trunc)(value.ir, kind))
        return Value(self, self.builder.sitofp(value.ir, kind))

    def call(self, function, *args):
        """Call an ir.Function with Values and numbers; returns its Value (None for void)."""
        kinds = function.function_type.args
        values = [self.lift(a, k).ir for a, k in zip(args, kinds, strict=True)]
        for i, kind in enumerate(kinds):
            if kind == PTR and values[i].type == I64:
                values[i] = self.builder.inttoptr(values[i], PTR)
        result = self.builder.call(function, values)
        return None if isinstance(result.type, ir.VoidType) else Value(self, result)

    def allocate(self, nbytes):
        """malloc: the address as a Value, 0 when memory is out."""
        made = self.call(self.module.external("malloc", PTR, [I64]), nbytes)
        return Value(self, self.builder.ptrtoint(made.ir, I64))

    def free(self, address):
        """free(address)."""
        self.call(self.module.external("free", VOID, [PTR]), address)

    def room(self, dtype, count):
        """An Array of so many elements on the stack, which begins at a cache line."""
        with self.builder.goto_block(self.entry):
            memory = self.builder.alloca(compute_type(dtype), count)
            memory.align = 64
        return Array(self, dtype, Value(self, self.builder.ptrtoint(memory, I64)))

    def fill(self, address, byte, nbytes):
        """memset."""
        self.call(self.module.external("memset", PTR, [PTR, I32, I64]), address, byte, nbytes)

    def copy(self, target, source, nbytes):
        """memcpy."""
        self.call(self.module.external("memcpy", PTR, [PTR, PTR, I64]), target, source, nbytes)

    def give(self, value=0):
        """return value (an int64 status in kernels)."""
        kind = self.function.function_type.return_type
        if isinstance(kind, ir.VoidType):
            self.builder.ret_void()
        else:
            self.builder.ret(self.lift(value, kind).ir)


class Module:
    """A set of functions compiled together; `written_by` collects the Python source of their writers, for people."""

    def __init__(self, name, target=None):
        self.name, self.ir, self.written_by, self.arguments = name, ir.Module(name), [], ""
        self.target = target or current()
        self.ir.triple = llvm.get_process_triple()
        self.symbols = set()

    def external(self, name, result, args):
        """A function of the process, or of one of LIBRARIES."""
        if name.startswith(tuple(LIBRARIES)):
            self.symbols.add(name)
        if name in self.ir.globals:
            return self.ir.globals[name]
        return ir.Function(self.ir, ir.FunctionType(result, args), name)

    @contextlib.contextmanager
    def function(self, name, args, result=None, inline=False):
        """Write a function of LLVM types `args`; yields its Code, whose end returns 0 (or nothing)."""
        made = ir.Function(self.ir, ir.FunctionType(result or VOID, args), name)
        if inline:
            made.linkage = "internal"
        made.attributes.add("nounwind")
        code = Code(self, made)
        yield code
        if not code.builder.block.is_terminated:
            code.give()
        with code.builder.goto_block(code.entry):
            code.builder.branch(made.blocks[1])

    @contextlib.contextmanager
    def kernel(self, name):
        """Write int64 name(int64 *args, int64 begin, int64 end); yields its Code."""
        with self.function(name, [PTR, I64, I64], I64) as code:
            yield code

    def text(self):
        """The LLVM IR."""
        return str(self.ir)

    def source(self):
        """The Python text of the functions that wrote this module."""
        return "\n\n".join(inspect.getsource(writer) for writer in self.written_by)

    def compile(self, passes=2):
        """The machine code, optimised, from the disk if it was made before: `address(name)`, valid while it lives.

        passes : level of LLVM's passes over the IR; 0 for code that is written as it should be
        """
        symbols = {name: library_address(name, self.target) for name in self.symbols}
        return compile_ir(self.text(), symbols, passes=passes, level=2, keep=True, name=self.name)


LIBRARIES: dict = {}           # {how the names of a library's functions begin in texts: (rest of a name, Target) -> its address}


def library_address(name, target):
    """The address of a function of one of LIBRARIES, as a Target has it."""
    head = next(head for head in LIBRARIES if name.startswith(head))
    return LIBRARIES[head](name[len(head):], target)


def code_of(write, *facts, target, given=(), passes=2):
    """(name, MachineCode, () -> text for people) of the Module that `write(target, *facts)` writes.

    facts : with the sources of this package and the Target they decide what is written; they have a repr that tells them apart
    given : what else decides, as which libraries there are
    """
    def make():
        module = write(target, *facts)
        return module.name, module.text(), module.symbols
    described = (write.__module__, write.__qualname__, repr(facts), repr(given), target.key)
    name, machine = compile_made(described, make, functools.partial(library_address, target=target), passes=passes, ahead=True)
    return name, machine, lambda: write(target, *facts).source()


@once
def kernel_of(write, *facts, target, given=(), **rest):
    """The Kernel of the module that `write(target, *facts)` writes, which has a kernel of its name; one for equal facts.

    given : as for `code_of`;   rest: other fields of the Kernel
    """
    name, machine, text = code_of(write, *facts, target=target, given=given)
    return Kernel(name, lambda: machine.address(name), text=text, keep=machine, **rest)


def kernel_writer(name):
    """Decorator of `body(f, *facts)`, which writes a kernel: made `write(target, *facts)`, which gives its Module.

    name : (*facts) -> the kernel's
    """
    def decorate(body):
        @functools.wraps(body)
        def write(target, *facts):
            module = Module(name(*facts), target)
            module.written_by.append(body)
            with module.kernel(module.name) as f:
                body(f, *facts)
            return module
        return write
    return decorate
