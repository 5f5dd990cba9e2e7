"""Tables in files: an .npz of three vectors, `code` (i64), `facts` (JSON as bytes) and the `digest` of both: no pickle,
nothing is executed on reading.

facts names what the table refers to: kernels, texts of errors, the storages of the memory plan with their sizes as
polynomials over the entry's symbols. A damaged file does not have its digest (SHA-256). Of a crafted one every fact is
checked here, and every index, size and jump of the table by `vm_verify.py`, before the first instruction runs.
"""
from __future__ import annotations

import hashlib
import io
import json
import os
import string
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...backend.kernel import Kernel
from ...common.dim import Dim, Operation, Size, Symbol
from ...common.dtype import dtype
from ...common.errors import ArgumentError, InternalError, ValueRangeError
from ...common.files import replacing
from ...common.lazy import LazyModule
from .. import flow as F
from ..link import Linked
from ..memory import MemoryPlan, Storage
from .vm import OPCODES, Table, print_table
from .vm_verify import verify_table

zipfile, zlib, tokenize = LazyModule("zipfile"), LazyModule("zlib"), LazyModule("tokenize")
FORMAT = 3
_KINDS = ("i64", "f64")
_MOST = 1 << 40                                  # no size, count or bound of a file is larger
# what the readers of zip, npy and JSON raise for a file that is none
_UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, EOFError, OSError, RuntimeError,
               MemoryError, AssertionError)
_OPERATIONS = ("floordiv", "mod", "max", "min")


def save_vm(linked: Linked, path: str | os.PathLike) -> None:
    """Write a Linked program, atomically.

    raises : InternalError if it holds what a file cannot: a PythonSegment, a constant array, or a Check whose message is a
             function
    """
    if linked.arrays:
        raise InternalError("a program with constant arrays cannot be saved: their addresses hold in this process only",
                            hint="hand the arrays over as arguments")
    table, entry = print_table(linked), linked.program.entry
    numbers = {symbol: n for n, symbol in enumerate(linked.plan.symbols)}
    facts = {
        "format": FORMAT, "opcodes": _opcodes(), "name": entry.name, "frame": table.frame, "verify": bool(linked.verify),
        "recursive": linked.recursive, "cleans_up": linked.cleans_up,
        "params": [[p.kind, p.name] for p in entry.params], "returns": list(entry.returns),
        "symbols": [[s.name, s.lo, s.hi, [p.register for p in entry.params].index(entry.symbols[s])]
                    for s in linked.plan.symbols],
        "storages": [[_write_dim(s.size, numbers), s.start, s.end, s.register] for s in linked.plan.storages],
        "kernels": [kernel.name for kernel in linked.kernels],
        "handles": [[h.kernel.name, [_write_dim(d, numbers) for d in h.dims or ()]] for h in linked.handles],
        "places": [_write_place(linked, i, n) for n, i in enumerate(linked.places)],
        "outputs": [[o.index, o.dtype.name if o.dtype else None] for o in linked.program.outputs if o.register is None],
    }
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with replacing(path) as file:
        np.savez(file, code=table.code, facts=text, digest=np.frombuffer(digest_of(table.code, text), np.uint8))


def _opcodes() -> str:
    """What tells a table with other opcodes, as one from before a dtype was added."""
    return hashlib.sha256(" ".join(OPCODES).encode()).hexdigest()[:16]


def digest_of(code: np.ndarray, facts: np.ndarray) -> bytes:
    """What tells a damaged file: a hash of its two vectors."""
    return hashlib.sha256(code.tobytes() + facts.tobytes()).digest()


def _write_dim(size: Size, numbers: dict[Symbol, int]) -> Any:
    if isinstance(size, int):
        return size
    return [[coefficient, [[_write_atom(atom, numbers), power] for atom, power in monomial]]
            for monomial, coefficient in size.terms.items()]


def _write_atom(atom: Symbol | Operation, numbers: dict[Symbol, int]) -> Any:
    if isinstance(atom, Symbol):
        return numbers[atom]
    return [atom.op, _write_dim(atom.a, numbers), _write_dim(atom.b, numbers)]


def _need(holds: Any, text: str) -> None:
    if not holds:
        raise ValueRangeError(f"the file is damaged: {text}")


def _int(value: Any, low: int = 0, high: int = _MOST) -> int:
    _need(type(value) is int and low <= value <= high, f"{value!r:.40} is no number from {low} to {high}")
    return value


def _text(value: Any) -> str:
    _need(type(value) is str, f"{value!r:.40} is no text")
    return value


def _read_dim(written: Any, symbols: tuple[Symbol, ...]) -> Size:
    if not isinstance(written, list):
        return _int(written, -_MOST)
    total = 0
    for coefficient, monomial in written:
        term = _int(coefficient, -_MOST)
        for atom, power in monomial:
            term = term * _read_atom(atom, symbols) ** _int(power, 1, 8)
        total = total + term
    return total


def _read_atom(written: Any, symbols: tuple[Symbol, ...]) -> Dim:
    if not isinstance(written, list):
        return symbols[_int(written, 0, len(symbols) - 1)].dim
    op, a, b = written
    _need(op in _OPERATIONS, f"a size has the unknown operation {op!r}")
    return Dim({((Operation(op, _read_dim(a, symbols), _read_dim(b, symbols)), 1),): 1})


def _write_place(linked: Linked, i: F.Instruction, number: int) -> dict[str, Any]:
    kinds = linked.kinds_of(number)
    if isinstance(i, F.PythonSegment):
        name = getattr(i.function, "__name__", i.function)
        raise InternalError(f"a program that calls Python cannot be saved: {name}")
    if isinstance(i, F.Handle) and linked.table_index(i) is None:
        raise InternalError(f"the kernel {i.kernel.name} has sizes that are not known on entry, it cannot be saved")
    fact: dict[str, Any] = {"kind": type(i).__name__, "reads": kinds[0], "writes": kinds[1]}
    if isinstance(i, F.Check):
        if not isinstance(i.message, str):
            raise InternalError("a check whose message is a function cannot be saved", hint="give its text")
        fact["message"] = i.message
    elif isinstance(i, F.CallKernel):
        fact["kernel"] = linked.kernel_number(i.kernel)
    elif isinstance(i, F.CallFlow):
        fact["flow"] = i.flow
    elif isinstance(i, F.Alloc):
        fact["dst"] = i.dst
    elif isinstance(i, F.Output):
        fact["index"] = i.index
    return fact


class LinkedFile(Linked):
    """What a file says of its program, in the form of a Linked; the program itself is the table."""

    def __init__(self, facts: dict[str, Any], kernels: Mapping[str, Kernel]) -> None:
        def find(name):
            if _text(name) not in kernels:
                given = ", ".join(kernels) or "none"
                raise ArgumentError(f"the program needs the kernel {name!r}", hint=f"given: {given}")
            return kernels[name]

        name = _text(facts["name"])
        for kind, param in facts["params"]:
            _need(kind in ("ptr", *_KINDS), f"a parameter is of kind {kind!r}")
            _text(param)
        count = len(facts["params"])
        self._check_kinds(facts["returns"])
        symbols = tuple([Symbol(_text(symbol), lo=_int(lo), hi=None if hi is None else _int(hi, lo))
                         for symbol, lo, hi, _ in facts["symbols"]])
        self.devices = ()
        self.verify, self.recursive, self.cleans_up = [bool(facts[word]) for word in ("verify", "recursive", "cleans_up")]
        self.segments, self.frame_bytes = {}, 1024
        self.kernels = [find(kernel) for kernel in facts["kernels"]]
        self.handles = [F.Handle(0, find(kernel), (), tuple([_read_dim(d, symbols) for d in dims]))
                        for kernel, dims in facts["handles"]]
        _need(all(handle.kernel.prepare is not None for handle in self.handles), "a handle of a kernel that has none")
        storages = tuple([Storage(n, name, _int(register), self._size(_read_dim(size, symbols)), _int(start), _int(end, start))
                          for n, (size, start, end, register) in enumerate(facts["storages"])])
        self.plan = MemoryPlan(storages, {}, {name: 0}, symbols)
        self.places = [self._place_of(fact) for fact in facts["places"]]
        self._kinds = [(self._check_kinds(fact["reads"]), self._check_kinds(fact["writes"])) for fact in facts["places"]]
        for place, (reads, _) in zip(self.places, self._kinds):
            if isinstance(place, F.Check):
                _check_message(str(place.message), len(reads) - 1)
        kinds = ["f64" if kind == "f64" else "i64" for kind, _ in facts["params"]] + list(facts["returns"])
        params = tuple([F.Param(n, kind, param) for n, (kind, param) in enumerate(facts["params"])])
        outputs = tuple([i for i in self.places if isinstance(i, F.Output)])
        body = F.Block((*outputs, F.Return(tuple(range(count, len(kinds))))))
        registers = {symbol: _int(fact[3], 0, count - 1) for symbol, fact in zip(symbols, facts["symbols"])}
        _need(all(params[number].kind == "i64" for number in registers.values()), "a symbol is no whole number")
        entry = F.Flow(name, params, tuple(kinds), body, registers)
        specs = tuple([F.OutputSpec(_int(index, 0, len(self.places)), dtype(spec) if spec else None)
                       for index, spec in facts["outputs"]])
        self.program, self.returns = F.Program(entry, {}, specs), entry.returns
        self.outputs = 1 + max((i.index for i in outputs), default=-1)

    @staticmethod
    def _check_kinds(kinds: Any) -> tuple[str, ...]:
        _need(isinstance(kinds, list) and all(kind in _KINDS for kind in kinds), "a register is of no kind")
        return tuple(kinds)

    @staticmethod
    def _size(size: Size) -> Size:
        return _int(size) if isinstance(size, int) else size

    def _place_of(self, fact: dict[str, Any]) -> F.Instruction:
        kind = fact["kind"]
        if kind == "Check":
            return F.Check(0, _text(fact["message"]))
        if kind == "Exact":
            return F.Exact(0, "add", 0, 0)
        if kind == "CallKernel":
            return F.CallKernel(self.kernels[_int(fact["kernel"], 0, len(self.kernels) - 1)], ())
        if kind == "CallFlow":
            return F.CallFlow((), _text(fact["flow"]), ())
        if kind == "Output":
            return F.Output(_int(fact["index"], 0, 1 << 12), 0, 0)
        return {"Alloc": F.Alloc(_int(fact.get("dst", 0)), 0), "Handle": F.Handle(0, Kernel("", 0), ()), "TapeNew": F.TapeNew(0),
                "TapePush": F.TapePush(0, 0), "TapePop": F.TapePop(0, 0)}[kind]


def _check_message(message: str, count: int) -> None:
    """A text whose fields are numbers below `count`, in no other form."""
    automatic = 0
    for _, field, form, conversion in string.Formatter().parse(message):
        if field is not None:
            _need(not form and not conversion and (field == "" or field.isdecimal()), f"the message {message!r:.60}")
            _need((int(field) if field else automatic) < count, f"the message {message!r:.60} has {count} values")
            automatic += field == ""


def read_vm(path: str | os.PathLike, kernels: Mapping[str, Kernel]) -> tuple[LinkedFile, Table]:
    """(LinkedFile, Table) of a file. kernels: {name: Kernel}.

    raises : ArgumentError if a kernel is missing; ValueRangeError if the file is damaged or of another format; OSError if it
             cannot be read
    """
    with open(path, "rb") as file:
        data = io.BytesIO(file.read())
    try:
        with np.load(data, allow_pickle=False) as arrays:
            code, facts, digest = [np.array(arrays[name]) for name in ("code", "facts", "digest")]
        described = json.loads(facts.tobytes())
        _need(digest.tobytes() == digest_of(code, facts), "its digest is another")
        _need(code.dtype == np.int64 and code.ndim == 1 and facts.ndim == 1 and described["format"] == FORMAT
              and described["opcodes"] == _opcodes(), f"it is no Flow of format {FORMAT} with the opcodes of this version")
        linked = LinkedFile(described, kernels)
        table = Table(code, _int(described["frame"]))
    except (ArgumentError, ValueRangeError):
        raise
    except (*_UNREADABLE, zipfile.BadZipFile, zlib.error, tokenize.TokenError) as error:
        raise ValueRangeError(f"{path} is no readable Flow: {type(error).__name__}: {error}") from error
    verify_table(table, linked)
    return linked, table
