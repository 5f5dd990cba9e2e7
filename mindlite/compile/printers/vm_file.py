"""Programs in files: a line with a digest, then the program as JSON (`flow_text.py`). Nothing is executed on reading.

A damaged file does not have its digest (SHA-256). Of a crafted one everything is checked before its first instruction runs:
numbers and names here, registers by `flow_verify.py`, what is read and written through pointers by `vm_verify.py`. Lifetimes are
planned, and the table is printed, anew.
"""
from __future__ import annotations

import hashlib
import json
import os
import string
from collections.abc import Mapping
from typing import Any

from ...backend.kernel import Kernel
from ...common.dim import Dim, Operation, Symbol
from ...common.dtype import DType
from ...common.errors import ArgumentError, InternalError, MindliteError, ValueRangeError
from ...common.files import replacing
from ...common.location import Origin
from .. import flow as F
from ..description import Json
from ..flow_text import READ, RECORDS, Reader, Writer
from ..flow_verify import verify
from ..link import Linked
from ..memory import plan
from .vm_verify import verify_pointers

FORMAT = 4
_MOST = 1 << 63
# what JSON, and what it is not written for, raise for a text that no FileWriter wrote
_UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, MemoryError)
_VALUES = {kind: READ[kind] for kind in ("tuple", "dict", "bool", "kernel", "symbol", "dtype")}
_RECORDS = {cls.__name__: cls for cls in RECORDS.values() if cls in (F.Program, F.Flow, F.Block, F.Param, F.OutputSpec) or (
    issubclass(cls, F.Instruction) and cls not in (F.Data, F.PythonSegment, F.Kill))}


class FileWriter(Writer):
    """Writes a Program without what is made anew: lines of its source, Kills."""

    def write(self, value: Any) -> Json:
        """The text of a value."""
        if isinstance(value, Origin):
            return None
        if isinstance(value, F.Block):
            value = F.Block(tuple([i for i in value.instructions if not isinstance(i, F.Kill)]), value.results)
        return super().write(value)

    def kernel(self, kernel: Kernel) -> list[Json]:
        """A kernel, which the reader has under its name."""
        return [kernel.name, kernel.cost, None]


class FileReader(Reader):
    """Reads what a FileWriter wrote, and nothing else. kernels: {name: Kernel}"""

    def __init__(self, tables: dict[str, list], kernels: Mapping[str, Kernel]) -> None:
        self.given = kernels
        for name, lo, hi, least, most, divisor, remainder in tables["symbols"]:
            _need(type(name) is str and least is most is None, f"a symbol {name!r:.40}")
            _int(_int(lo) if hi is None else hi, lo)
            _int(remainder, 0, _int(divisor, 1))
        super().__init__({**tables, "locations": []}, [])

    def kernel(self, name: str, cost: int, recipe: Json, number: int) -> Kernel:
        """The Kernel of that name. raises : ArgumentError"""
        if name not in self.given:
            raise ArgumentError(f"the program needs the kernel {name!r}", hint=f"given: {', '.join(self.given) or 'none'}")
        return self.given[name]

    def read(self, text: Json) -> Any:
        """The value of a text."""
        if type(text) is not list:
            return text if text is None or type(text) is str else _int(text, -_MOST)
        kind, *rest = text
        if kind == "dim":
            return self.size(rest)
        if kind == "op":
            op, a, b = rest
            _need(op in ("floordiv", "mod", "max", "min"), f"a size has the unknown operation {op!r:.40}")
            return Operation(op, self.read(a), self.read(b))
        if kind in _VALUES:
            return _VALUES[kind](self, text)
        _need(kind in _RECORDS, f"{kind!r:.40} is in no file")
        if kind == "Const" and type(rest[1]) is list:
            return F.Const(self.read(rest[0]), READ["float"](self, rest[1]))
        return _RECORDS[kind](*[self.read(x) for x in rest])

    def size(self, terms: list) -> Any:
        """A size, an int where it is a constant."""
        total: Any = 0
        for coefficient, *monomial in terms:
            term: Any = _int(coefficient, -_MOST)
            for written, power in monomial:
                atom = self.read(written)
                _need(isinstance(atom, (Symbol, Operation)), "a size of something else than sizes")
                term = term * Dim({((atom, 1),): 1}) ** _int(power, 1, 8)
            total = total + term
        return total


def save_vm(linked: Linked, path: str | os.PathLike) -> None:
    """Write a Linked program, atomically.

    raises : InternalError if it holds what a file cannot: a PythonSegment, a constant array, a Check whose message is a
             function, another device than the CPU
    """
    if linked.arrays:
        raise InternalError("a program with constant arrays cannot be saved: their addresses hold in this process only",
                            hint="hand the arrays over as arguments")
    for segment, *_ in linked.segments.values():
        if isinstance(segment, F.Handle):
            raise InternalError(f"the kernel {segment.kernel.name} has sizes that are not known on entry, it cannot be saved")
        name = getattr(segment.function, "__name__", segment.function)
        raise InternalError(f"a program that calls Python cannot be saved: {name}")
    if any(isinstance(i, F.Check) and not isinstance(i.message, str) for i in linked.places):
        raise InternalError("a check whose message is a function cannot be saved", hint="give its text")
    if linked.devices:
        raise InternalError(f"a program that runs on {linked.devices[0]} cannot be saved")
    writer = FileWriter()
    facts = {"format": FORMAT, "verify": int(linked.verify), "program": writer.write(linked.program), **writer.tables}
    text = json.dumps(facts, separators=(",", ":")).encode()
    with replacing(path) as file:
        file.write(digest_of(text) + b"\n" + text)


def digest_of(text: bytes) -> bytes:
    """What tells a damaged file: a hash of its text."""
    return hashlib.sha256(text).hexdigest().encode()


def read_vm(path: str | os.PathLike, kernels: Mapping[str, Kernel]) -> Linked:
    """The Linked program of a file. kernels: {name: Kernel}.

    raises : ArgumentError if a kernel is missing; ValueRangeError if the file is damaged or of another format; OSError if it
             cannot be read
    """
    with open(path, "rb") as file:
        digest, _, text = file.read().partition(b"\n")
    try:
        _need(digest == digest_of(text), "its digest is another")
        facts = json.loads(text)
        _need(facts["format"] == FORMAT, f"it is of no format {FORMAT}")
        program = FileReader({name: facts[name] for name in ("symbols", "kernels")}, kernels).read(facts["program"])
        _check(program)
        verify(program)
        verify_pointers(program)
        linked = Linked(*plan(program), bool(facts["verify"]))
        _need(not linked.has_python, "the sizes of a handle are no sizes of the entry")
        return linked
    except (ArgumentError, ValueRangeError):
        raise
    except (*_UNREADABLE, MindliteError) as error:
        raise ValueRangeError(f"{path} is no readable Flow: {type(error).__name__}: {error}") from error


def _need(holds: Any, text: str) -> None:
    if not holds:
        raise ValueRangeError(f"the file is damaged: {text}")


def _int(value: Any, low: int = 0, high: int = _MOST - 1) -> int:
    _need(type(value) is int and low <= value <= high, f"{value!r:.40} is no number from {low} to {high}")
    return value


def _check(program: F.Program) -> None:
    """Names, kinds, devices and messages."""
    _need(all(flow.name == name for name, flow in program.flows.items()) and program.entry.name not in program.flows,
          "the name of a flow")
    _need(not F.devices_of(program), "a device")
    _need(all(spec.device is None and isinstance(spec.dtype, (DType, type(None))) for spec in program.outputs), "an output")
    for flow in program.all_flows():
        _need({*flow.kinds} <= {"i64", "f64"} and not any(p.device for p in flow.params), f"the registers of {flow.name}")
        for i in F.walk(flow.body):
            if isinstance(i, F.Check):
                _check_message(i.message, len(i.args))


def _check_message(message: Any, count: int) -> None:
    """A text whose fields are numbers below `count`, in no other form."""
    automatic = 0
    for _, field, form, conversion in string.Formatter().parse(message):
        if field is not None:
            _need(not form and not conversion and (field == "" or field.isdecimal()), f"the message {message!r:.60}")
            _need((int(field) if field else automatic) < count, f"the message {message!r:.60} has {count} values")
            automatic += field == ""
