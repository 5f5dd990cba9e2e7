"""A Flow as Python source: to read, to step through, and to compare the other printers with.

    def main(rt, x, n):
        r2 = wrap(n * 4)
        r3 = rt.static(0, 0, 1, r2)              # 4*N bytes
        rt.kernel(1, (x, r3, n), n)              # tanh  model.py:3
        return ()

Registers are Python ints and floats; `wrap` brings an int back to 64 bits. Storages, tapes and outputs are those of
`runtime.py`; a place that fails raises Stop, which `run` turns into the same record that machine code leaves.
"""
from __future__ import annotations

import contextlib
import ctypes
import linecache
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backend.launcher import launch_address
from ...backend.narrow_floats import is_narrow
from ...common.device import COPY, GIVE, LAUNCH, POISON, TAKE, Device, driver_of
from ...common.dtype import DType
from .. import flow as F
from ..link import Linked
from . import runtime as R

if TYPE_CHECKING:
    from ..executable import Context

_INFIX = {"add": "wrap({a} + {b})", "sub": "wrap({a} - {b})", "mul": "wrap({a} * {b})", "and": "{a} & {b}",
          "or": "{a} | {b}", "xor": "{a} ^ {b}", "floordiv": "(wrap({a} // {b}) if {b} else 0)",
          "mod": "({a} % {b} if {b} else 0)", "max": "max({a}, {b})", "min": "min({a}, {b})",
          "shl": "(wrap({a} << {b}) if 0 <= {b} < 64 else 0)", "shr": "({a} >> ({b} if 0 <= {b} < 64 else 63))",
          "fadd": "{a} + {b}", "fsub": "{a} - {b}", "fmul": "{a} * {b}", "fdiv": "rt.fdiv({a}, {b})",
          "fpow": "rt.pow({a}, {b})", "ffloordiv": "rt.ffloordiv({a}, {b})", "fmod": "rt.fmod({a}, {b})",
          "fmax": "max({a}, {b})", "fmin": "min({a}, {b})"}
_EXACT = {"add": "+", "sub": "-", "mul": "*"}
_COMPARE = dict(zip(("eq", "ne", "lt", "le", "gt", "ge"), ("==", "!=", "<", "<=", ">", ">=")))
_INFIX.update({prefix + op: "int({a} " + sign + " {b})" for op, sign in _COMPARE.items() for prefix in ("", "f")})
_PREFIX = {"neg": "wrap(-{a})", "not": "int({a} == 0)", "abs": "wrap(abs({a}))", "itof": "float({a})",
           "ftoi": "rt.ftoi({a})", "fneg": "-{a}", "fabs": "abs({a})", "fsqrt": "rt.fsqrt({a})",
           "fexp": "rt.exp({a})", "flog": "rt.log({a})",
           "fsin": "rt.sin({a})", "fcos": "rt.cos({a})", "ftanh": "rt.tanh({a})"}
_HALF, _MASK = 1 << 63, (1 << 64) - 1


def wrap(value: int) -> int:
    """An int as 64 bits in two's complement hold it."""
    return value if -_HALF <= value < _HALF else ((value + _HALF) & _MASK) - _HALF


def to_bits(value: int | float) -> int:
    """The i64 that holds a register: a float's bits."""
    return struct.unpack("<q", struct.pack("<d", value))[0] if isinstance(value, float) else value


def from_bits(bits: int, kind: str) -> int | float:
    """The register of that kind that an i64 holds."""
    return struct.unpack("<d", struct.pack("<q", bits))[0] if kind == "f64" else bits


class Stop(Exception):
    """A place failed. place, status, values"""

    def __init__(self, place: int, status: int = 0, values: tuple[int | float, ...] = ()) -> None:
        super().__init__(place)
        self.place, self.status, self.values = place, status, values


def print_python(linked: Linked) -> str:
    """The Python source of a Linked program; the entry is its first function."""
    return "\n\n".join(_SourcePrinter(linked, flow).text() for flow in linked.program.all_flows()) + "\n"


def load_python(linked: Linked, context_of: Callable[[int], Context]) -> Callable[[int], int]:
    """`run(context address) -> 0 or 1`. context_of: gives the Context of an address."""
    source = print_python(linked)
    file = f"<flow {linked.program.entry.name} {id(linked):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"wrap": wrap, "inf": float("inf"), "nan": float("nan")}
    exec(compile(source, file, "exec"), names)
    entry = linked.program.entry
    function = names[_name(entry)]

    def run(address):
        context = context_of(address)
        rt = PythonRuntime(linked, context)
        try:
            with _deep_recursion(context.limit) if linked.recursive else contextlib.nullcontext():
                values = function(rt, *context.params())
        except Stop as stop:
            place = context.array
            place[R.FAIL_SITE], place[R.FAIL_STATUS] = stop.place, stop.status
            place[R.FAIL_VALUES:R.FAIL_VALUES + len(stop.values)] = [to_bits(v) for v in stop.values]
            return 1
        start = R.PARAMS + len(entry.params)
        context.array[start:start + len(values)] = [to_bits(v) for v in values]
        return 0
    return run


@contextlib.contextmanager
def _deep_recursion(limit: int) -> Iterator[None]:
    """Lets Python recurse as deep as a Flow may."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + limit + 100)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class PythonRuntime:
    """What the source calls: one run's context with the shared functions. See the instructions in flow.py."""

    def __init__(self, linked: Linked, context: Context) -> None:
        self.linked, self.context, self.shared = linked, context, R.runtime()
        self.ctx, self.launch = context.address, _LAUNCH(launch_address())
        self.depth = 0
        shared = self.shared
        self.fdiv, self.fsqrt = shared.rt_fdiv, shared.rt_fsqrt
        self.ffloordiv, self.fmod = shared.rt_ffloordiv, shared.rt_fmod
        self.pow, self.exp, self.log = shared.pow, shared.exp, shared.log
        self.sin, self.cos, self.tanh = shared.sin, shared.cos, shared.tanh

    def ftoi(self, value: float) -> int:
        if value != value:
            return 0
        if abs(value) >= 2.0 ** 63:
            return _HALF - 1 if value > 0 else -_HALF
        return int(value)

    def load(self, ptr: int, dtype: DType) -> int | float:
        if is_narrow(dtype):
            return getattr(self.shared, f"rt_load_{dtype.short}")(ptr)
        raw = np.frombuffer(ctypes.string_at(ptr, dtype.itemsize), dtype.numpy)[0]
        if dtype.is_float:
            return float(raw)
        return int(raw != 0) if dtype.kind == "b" else wrap(int(raw))

    def store(self, ptr: int, value: int | float, dtype: DType) -> None:
        if is_narrow(dtype):
            getattr(self.shared, f"rt_store_{dtype.short}")(ptr, value)
            return
        if dtype.is_float:
            with np.errstate(over="ignore"):
                single = np.float32(value)
                cell = np.array([value if dtype.name == "float64" else single]).astype(dtype.numpy)
        elif dtype.kind == "b":
            cell = np.array([value != 0])
        else:
            cell = np.array([value], np.int64).astype(dtype.numpy)
        ctypes.memmove(ptr, cell.tobytes(), dtype.itemsize)

    def slots(self, count: int) -> ctypes.Array:
        return (ctypes.c_int64 * count)()

    def made(self, place: int, address: int) -> int:
        """The address, which is 0 where the place has failed."""
        if not address:
            raise Stop(place)
        return address

    def done(self, place: int, status: int) -> None:
        """What a place gave says that it has not failed."""
        if status:
            raise Stop(place, status)

    def static(self, place: int, first: int, count: int, nbytes: int, avoid: F.Registers = ()) -> int:
        pointers = (ctypes.c_int64 * max(1, len(avoid)))(*avoid)
        return self.made(place, self.shared.rt_static(self.ctx, first, count, nbytes, ctypes.addressof(pointers), len(avoid)))

    def chosen(self, first: int, count: int, avoid: F.Registers) -> int:
        """The address of the first of those storages that none of the pointers points into, else of the last."""
        for number in range(first, first + count):
            address, nbytes = self.context.table(2 * number), self.context.table(2 * number + 1)
            if not any(0 <= pointer - address < nbytes for pointer in avoid):
                break
        return address

    def alloc(self, place: int, slots: ctypes.Array, slot: int, count: int, nbytes: int, first: int,
              avoid: F.Registers = ()) -> int:
        pointers = (ctypes.c_int64 * max(1, len(avoid)))(*avoid)
        return self.made(place, self.shared.rt_alloc(self.ctx, ctypes.addressof(slots) + 8 * slot, count, nbytes,
                                                     ctypes.addressof(pointers), len(avoid), first))

    def kill_static(self, first: int, count: int) -> None:
        self.shared.rt_kill_static(self.ctx, first, count)

    def kill(self, slots: ctypes.Array, slot: int, count: int, first: int) -> None:
        self.shared.rt_kill(self.ctx, ctypes.addressof(slots) + 8 * slot, count, first)

    def kernel(self, place: int, args: tuple[int | float, ...], extent: int | None = None, cost: int | None = None) -> None:
        kernel, device = self.linked.places[place].kernel, self.linked.places[place].device
        if device is not None:
            stream = self.linked.places[place].stream
            self.device(place, device, LAUNCH, stream, kernel.address, -1 if extent is None else extent, cost or 0, *args)
            return
        buffer = (ctypes.c_int64 * max(1, len(args)))(*[to_bits(a) for a in args])
        if extent is None:
            status = _KERNEL(kernel.address)(buffer, 0, 1)
        else:
            status = self.launch(kernel.address, ctypes.addressof(buffer), extent, cost)
        self.done(place, status)

    def device(self, place: int, device: Device, what: int, *args: int | float) -> int:
        """Ask a device's driver; gives the first number of what it was given."""
        buffer = (ctypes.c_int64 * len(args))(*[to_bits(a) for a in args])
        self.done(place, _DEVICE(driver_of(device).entry(device.index))(what, buffer, len(args)))
        return buffer[0]

    def handle(self, index: int) -> int:
        return self.context.table(index)

    def python(self, place: int, *args: int | float) -> tuple[int | float, ...]:
        kinds = self.linked.kinds_of(place)[1]
        results = (ctypes.c_int64 * max(1, len(kinds)))()
        buffer = (ctypes.c_int64 * max(1, len(args)))(*[to_bits(a) for a in args])
        if self.context.segment(place, buffer, results):
            raise Stop(place)
        return tuple(from_bits(bits, kind) for bits, kind in zip(results, kinds))

    def call(self, place: int, function: Callable[..., tuple], *args: int | float) -> tuple:
        if self.depth >= self.context.limit:
            raise Stop(place)
        self.depth += 1
        try:
            return function(self, *args)
        finally:
            self.depth -= 1

    def check(self, place: int, condition: int, *values: int | float) -> None:
        if not condition:
            raise Stop(place, 0, values)

    def exact(self, place: int, value: int) -> int:
        if not -_HALF <= value < _HALF:
            raise Stop(place)
        return value

    def copy(self, place: int, dst: int, src: int, nbytes: int) -> None:
        if place < 0:
            ctypes.memmove(dst, src, nbytes)
        else:
            i = self.linked.places[place]
            self.device(place, i.device, COPY, i.stream, dst, src, nbytes, copy_kind(i))

    def take(self, place: int, nbytes: int) -> int:
        """Memory of a device until the run ends, or for ever for an Output."""
        i = self.linked.places[place]
        return self.device(place, i.device, TAKE, 0 if isinstance(i, F.Output) else self.ctx, nbytes)

    def give(self, place: int, ptr: int) -> None:
        self.device(place, self.linked.places[place].device, GIVE, self.ctx, ptr)

    def poison(self, place: int, first: int, count: int) -> None:
        for number in range(first, first + count):
            address, nbytes = self.context.table(2 * number), self.context.table(2 * number + 1)
            self.device(place, self.linked.places[place].device, POISON, 0, address, nbytes)

    def push_device(self, place: int, tape: int, ptr: int, nbytes: int) -> None:
        self.push_scalar(place, tape, self.copied(place, ptr, nbytes))

    def copied(self, place: int, ptr: int, nbytes: int) -> int:
        """A copy on the device of what lies at ptr there."""
        made = self.take(place, nbytes)
        self.device(place, self.linked.places[place].device, COPY, 0, made, ptr, nbytes, 2)
        return made

    def tape(self, place: int) -> int:
        return self.made(place, self.shared.rt_tape_new(self.ctx))

    def push(self, place: int, tape: int, pointer: int, nbytes: int) -> None:
        self.done(place, self.shared.rt_tape_push(tape, pointer, nbytes))

    def push_scalar(self, place: int, tape: int, value: int | float) -> None:
        self.done(place, self.shared.rt_tape_push_scalar(tape, to_bits(value)))

    def pop(self, place: int, tape: int) -> int:
        return self.made(place, self.shared.rt_tape_pop(tape))

    def pop_scalar(self, place: int, tape: int, kind: str) -> int | float:
        return from_bits(ctypes.c_int64.from_address(self.pop(place, tape)).value, kind)

    def output(self, place: int, index: int, pointer: int, nbytes: int, *dims: int) -> None:
        if self.linked.places[place].device is not None:     # the record holds a pointer to the pointer
            cell = (ctypes.c_int64 * 1)(self.copied(place, pointer, nbytes))
            pointer, nbytes = ctypes.addressof(cell), 8
        buffer = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        self.done(place, self.shared.rt_output(self.ctx, index, pointer, nbytes, ctypes.addressof(buffer), len(dims)))


_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_DEVICE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def copy_kind(i: F.Copy) -> int:
    """What a Copy between devices is: 0 from the CPU, 1 to the CPU, 2 on devices."""
    return 0 if i.source is None else 1 if i.to is None else 2


def _name(flow: F.Flow) -> str:
    """The name of a Flow's function."""
    return "flow_" + "".join(c if c.isalnum() else "_" for c in flow.name)


class _SourcePrinter:
    def __init__(self, linked: Linked, flow: F.Flow) -> None:
        self.linked, self.flow, self.indent = linked, flow, "    "
        self.lines: list[str] = []

    def text(self) -> str:
        flow = self.flow
        params = "".join(f", r{p.register}" for p in flow.params)
        named = ", ".join(f"r{p.register} {p.name}" for p in flow.params if p.name)
        self.lines.append(f"def {_name(flow)}(rt{params}):" + (f"    # {named}" if named else ""))
        if self.linked.plan.slots[flow.name]:
            self.emit(f"slots = rt.slots({self.linked.plan.slots[flow.name]})")
        self.block(flow.body)
        return "\n".join(self.lines)

    def emit(self, text: str, comment: str = "") -> None:
        line = self.indent + text
        self.lines.append(f"{line:<48}  # {comment}" if comment else line)

    def block(self, block: F.Block, dsts: F.Registers = ()) -> None:
        for i in block.instructions:
            self.instruction(i)
        if dsts:
            self.emit(f"{_list(dsts)} = {_list(block.results)}")

    def nested(self, block: F.Block, dsts: F.Registers = ()) -> None:
        outer, self.indent = self.indent, self.indent + "    "
        self.block(block, dsts)
        if not block.instructions and not dsts:
            self.emit("pass")
        self.indent = outer

    def instruction(self, i: F.Instruction) -> None:
        place = self.linked.place(i) if self.linked.is_place(i) else -1
        location = getattr(getattr(i, "origin", None), "location", None)
        comment = str(location) if location is not None else ""
        if type(i) in _PLAIN:
            self.emit(_PLAIN[type(i)](i, place), comment if isinstance(i, (F.Exact, F.Check)) else "")
        elif isinstance(i, F.Data):
            address = self.linked.array_address(self.linked.array_number(i.array, i.device))
            self.emit(f"r{i.dst} = {address}", f"{i.array.dtype}{list(i.array.shape)}")
        elif isinstance(i, F.Alloc):
            self.alloc(i, place)
        elif isinstance(i, F.Kill):
            site = self.linked.site(self.flow, i.ptr)
            alloc = self.linked.alloc_of(self.flow, i.ptr)
            if alloc.device is not None:
                at = self.linked.place(alloc)
                if site.planned and self.linked.verify:
                    self.emit(f"rt.poison({at}, {site.first}, {site.count})", f"r{i.ptr}")
                elif not site.planned and site.count == 1:
                    self.emit(f"rt.give({at}, r{i.ptr})")
            elif not site.planned:
                self.emit(f"rt.kill(slots, {site.slot}, {site.count}, {site.first})", f"r{i.ptr}")
            elif self.linked.verify:
                self.emit(f"rt.kill_static({site.first}, {site.count})", f"r{i.ptr}")
        elif isinstance(i, F.CallKernel):
            self.emit(f"rt.kernel({place}, {_tuple(i.kernel_args)}{_more(i.over)})", f"{i.kernel.name}  {comment}".rstrip())
        elif isinstance(i, F.Handle):
            index = self.linked.table_index(i)
            self.emit(f"r{i.dst}, = rt.python({place}{_more(i.sizes)})" if index is None else
                      f"r{i.dst} = rt.handle({index})", i.kernel.name)
        elif isinstance(i, F.CallFlow):
            callee = next(f for f in self.linked.program.all_flows() if f.name == i.flow)
            into = f"{_list(i.dsts)} = " if i.dsts else ""
            self.emit(f"{into}rt.call({place}, {_name(callee)}{_more(i.args)})")
        elif isinstance(i, F.If):
            self.emit(f"if r{i.cond}:")
            self.nested(i.then, i.dsts)
            if i.other.instructions or i.dsts:
                self.emit("else:")
                self.nested(i.other, i.dsts)
        elif isinstance(i, F.While):
            self.while_(i)
        elif isinstance(i, F.TapePush):
            push = "push" if i.device is None else "push_device"
            self.emit(f"rt.{push}({place}, r{i.tape}, r{i.value}, r{i.nbytes})" if i.nbytes is not None else
                      f"rt.push_scalar({place}, r{i.tape}, r{i.value})")
        elif isinstance(i, F.TapePop):
            scalar = i.scalar or i.device is not None        # of what lies on a device, the tape holds the address
            self.emit(f"r{i.dst} = rt.pop_scalar({place}, r{i.tape}, {self.flow.kinds[i.dst]!r})" if scalar else
                      f"r{i.dst} = rt.pop({place}, r{i.tape})")
        elif isinstance(i, F.PythonSegment):
            into = f"{_list(i.dsts)} = " if i.dsts else ""
            name = getattr(i.function, "__name__", "")
            self.emit(f"{into}rt.python({place}{_more(i.args)})", f"{name}  {comment}".strip())

    def alloc(self, i: F.Alloc, place: int) -> None:
        site = self.linked.site(self.flow, i.dst)
        avoid = f", {_tuple(site.avoid)}" if site.avoid else ""
        size = f"{i.size} bytes" if i.size is not None else ""
        if i.device is not None and not site.planned:
            self.emit(f"r{i.dst} = rt.take({place}, r{i.nbytes})", size)
        elif i.device is not None:
            self.emit(f"r{i.dst} = rt.chosen({site.first}, {site.count}, {_tuple(site.avoid)})", size)
        elif site.planned:
            self.emit(f"r{i.dst} = rt.static({place}, {site.first}, {site.count}, r{i.nbytes}{avoid})", size)
        else:
            self.emit(f"r{i.dst} = rt.alloc({place}, slots, {site.slot}, {site.count}, r{i.nbytes}, {site.first}{avoid})", size)

    def while_(self, i: F.While) -> None:
        if i.params:
            self.emit(f"{_list(i.params)} = {_list(i.inits)}")
        self.emit("while True:")
        outer, self.indent = self.indent, self.indent + "    "
        self.block(i.cond)
        self.emit(f"if not r{i.cond.results[0]}:")
        self.emit("    break")
        self.block(i.body, i.params)
        self.indent = outer
        if i.dsts:
            self.emit(f"{_list(i.dsts)} = {_list(i.params)}")


def _dtype(dtype: DType) -> str:
    return f"rt.linked.dtypes[{dtype.name!r}]"


# the line of the instructions that look at nothing but themselves and their place
_PLAIN: dict[type[F.Instruction], Callable[[Any, int], str]] = {
    F.Const: lambda i, place: f"r{i.dst} = {i.value!r}",
    F.Arith: lambda i, place: f"r{i.dst} = " + _INFIX[i.op].format(a=f"r{i.a}", b=f"r{i.b}"),
    F.Exact: lambda i, place: f"r{i.dst} = rt.exact({place}, r{i.a} {_EXACT[i.op]} r{i.b})",
    F.Unary: lambda i, place: f"r{i.dst} = " + _PREFIX[i.op].format(a=f"r{i.a}"),
    F.Load: lambda i, place: f"r{i.dst} = rt.load(r{i.ptr}, {_dtype(i.dtype)})",
    F.Store: lambda i, place: f"rt.store(r{i.ptr}, r{i.value}, {_dtype(i.dtype)})",
    F.Check: lambda i, place: f"rt.check({place}, r{i.cond}{_more(i.args)})",
    F.Copy: lambda i, place: f"rt.copy({place}, r{i.dst}, r{i.src}, r{i.nbytes})",
    F.TapeNew: lambda i, place: f"r{i.dst} = rt.tape({place})",
    F.Output: lambda i, place: f"rt.output({place}, {i.index}, r{i.ptr}, r{i.nbytes}{_more(i.dims)})",
    F.Return: lambda i, place: f"return {_tuple(i.values)}",
}


def _list(registers: Sequence[int]) -> str:
    return ", ".join(f"r{r}" for r in registers) + ("," if len(registers) == 1 else "")


def _tuple(registers: Sequence[int]) -> str:
    return f"({_list(registers)})"


def _more(registers: Sequence[int]) -> str:
    return "".join(f", r{r}" for r in registers)
