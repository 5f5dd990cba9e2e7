"""Tables in files: an .npz of two vectors, `code` (i64) and `facts` (JSON as bytes): no pickle, nothing is executed
on reading.

facts names what the table refers to: kernels, texts of errors, the storages of the memory plan with their sizes as
polynomials over the entry's symbols. A file is read with its jumps, opcodes, kernels and registers checked, the
registers against the largest frame only: a damaged file is refused, but a crafted one could still read out of bounds,
so load only files that you trust.
"""
import json

import numpy as np

from ...common.dim import Dim, Operation, Symbol
from ...common.dtype import dtype
from ...common.errors import ArgumentError, InternalError, ValueRangeError
from ...common.files import replacing
from ...common.late import Late
from .. import flow as F
from ..link import Linked
from ..memory import MemoryPlan, Storage
from .vm import Table, instructions, print_table
from .vm_machine import OPERANDS

zipfile = Late("zipfile")
FORMAT = 2
_OPERATIONS = ("floordiv", "mod", "max", "min")


def save_vm(linked, path):
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
        "format": FORMAT, "name": entry.name, "frame": table.frame, "verify": bool(linked.verify),
        "recursive": linked.recursive, "cleans_up": linked.cleans_up,
        "params": [[p.kind, p.name] for p in entry.params], "returns": list(entry.returns),
        "symbols": [[s.name, s.lo, s.hi, [p.register for p in entry.params].index(entry.symbols[s])]
                    for s in linked.plan.symbols],
        "storages": [[_write_dim(s.size, numbers), s.start, s.end, s.register] for s in linked.plan.storages],
        "kernels": [kernel.name for kernel in linked.kernels],
        "handles": [[h.kernel.name, [_write_dim(d, numbers) for d in h.dims]] for h in linked.handles],
        "places": [_write_place(linked, i, n) for n, i in enumerate(linked.places)],
        "outputs": [[o.index, o.dtype.name if o.dtype else None] for o in linked.program.outputs if o.register is None],
    }
    with replacing(path) as file:
        np.savez(file, code=table.code, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8))


def _write_dim(size, numbers):
    if isinstance(size, int):
        return size
    return [[coefficient, [[_write_atom(atom, numbers), power] for atom, power in monomial]]
            for monomial, coefficient in size.terms.items()]


def _write_atom(atom, numbers):
    if isinstance(atom, Symbol):
        return numbers[atom]
    return [atom.op, _write_dim(atom.a, numbers), _write_dim(atom.b, numbers)]


def _read_dim(written, symbols):
    if isinstance(written, int):
        return written
    total = 0
    for coefficient, monomial in written:
        term = coefficient
        for atom, power in monomial:
            term = term * _read_atom(atom, symbols) ** power
        total = total + term
    return total


def _read_atom(written, symbols):
    if isinstance(written, int):
        return symbols[written].dim
    op, a, b = written
    if op not in _OPERATIONS:
        raise ValueRangeError(f"the file has a size with the unknown operation {op!r}")
    return Dim({((Operation(op, _read_dim(a, symbols), _read_dim(b, symbols)), 1),): 1})


def _write_place(linked, i, number):
    kinds = linked.kinds_of(number)
    if isinstance(i, F.PythonSegment):
        name = getattr(i.function, "__name__", i.function)
        raise InternalError(f"a program that calls Python cannot be saved: {name}")
    if isinstance(i, F.Handle) and linked.table_index(i) is None:
        raise InternalError(f"the kernel {i.kernel.name} has sizes that are not known on entry, it cannot be saved")
    fact = {"kind": type(i).__name__, "reads": kinds[0], "writes": kinds[1]}
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

    def __init__(self, facts, kernels):
        def find(name):
            if name not in kernels:
                given = ", ".join(kernels) or "none"
                raise ArgumentError(f"the program needs the kernel {name!r}", hint=f"given: {given}")
            return kernels[name]

        symbols = tuple(Symbol(name, lo=lo, hi=hi) for name, lo, hi, _ in facts["symbols"])
        self.devices = ()
        self.verify, self.recursive, self.cleans_up = facts["verify"], facts["recursive"], facts["cleans_up"]
        self.segments, self.frame_bytes = {}, 1024
        self.kernels = [find(name) for name in facts["kernels"]]
        self.handles = [F.Handle(0, find(name), (), tuple(_read_dim(d, symbols) for d in dims))
                        for name, dims in facts["handles"]]
        storages = tuple(Storage(n, facts["name"], register, _read_dim(size, symbols), start, end)
                         for n, (size, start, end, register) in enumerate(facts["storages"]))
        self.plan = MemoryPlan(storages, {}, {facts["name"]: 0}, symbols)
        self.places = [self._place_of(fact) for fact in facts["places"]]
        self._kinds = [(tuple(fact["reads"]), tuple(fact["writes"])) for fact in facts["places"]]
        count = len(facts["params"])
        kinds = ["f64" if kind == "f64" else "i64" for kind, _ in facts["params"]] + list(facts["returns"])
        params = tuple(F.Param(n, kind, name) for n, (kind, name) in enumerate(facts["params"]))
        outputs = tuple(i for i in self.places if isinstance(i, F.Output))
        body = F.Block((*outputs, F.Return(tuple(range(count, len(kinds))))))
        registers = {symbol: fact[3] for symbol, fact in zip(symbols, facts["symbols"])}
        entry = F.Flow(facts["name"], params, tuple(kinds), body, registers)
        specs = tuple(F.OutputSpec(index, dtype(name) if name else None) for index, name in facts["outputs"])
        self.program, self.returns = F.Program(entry, {}, specs), entry.returns
        self.outputs = 1 + max((i.index for i in outputs), default=-1)

    def _place_of(self, fact):
        kind = fact["kind"]
        if kind == "Check":
            return F.Check(0, fact["message"])
        if kind == "Exact":
            return F.Exact(0, "add", 0, 0)
        if kind == "CallKernel":
            return F.CallKernel(self.kernels[fact["kernel"]], ())
        if kind == "CallFlow":
            return F.CallFlow((), fact["flow"], ())
        if kind == "Output":
            return F.Output(fact["index"], 0, 0)
        return {"Alloc": F.Alloc(fact.get("dst", 0), 0), "Handle": F.Handle(0, None, ()), "TapeNew": F.TapeNew(0),
                "TapePush": F.TapePush(0, 0), "TapePop": F.TapePop(0, 0)}[kind]


def read_vm(path, kernels):
    """(LinkedFile, Table) of a file. kernels: {name: Kernel}.

    raises : ArgumentError if a kernel is missing; ValueRangeError if the file is damaged or of another format
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            code, facts = np.array(file["code"]), json.loads(file["facts"].tobytes())
        if code.dtype != np.int64 or code.ndim != 1 or facts["format"] != FORMAT:
            raise ValueRangeError(f"{path} is no Flow of format {FORMAT}")
        linked = LinkedFile(facts, kernels)
        table = Table(code, facts["frame"])
        _examine(table, linked)
    except (KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, (ArgumentError, ValueRangeError)):
            raise
        raise ValueRangeError(f"{path} is no readable Flow: {type(error).__name__}: {error}") from error
    return linked, table


def _examine(table, linked):
    """Refuse a table whose numbers point outside of what there is."""
    read = list(instructions(table.code.tolist()))
    starts, frame = {at for at, _, _ in read}, table.frame
    frames = [frame] + [operands[1] for _, name, operands in read if name == "call"]
    limits = {"target": starts, "number": range(max(len(linked.kernels), len(linked.program.entry.params))),
              "place": range(len(linked.places)),
              "index": range(2 * len(linked.plan.storages) + len(linked.handles) + len(linked.places))}
    plain = {"bits", "cost", "n", "ndsts", "frame", "first", "count"}
    registers = range(max(frames))
    for at, name, operands in read:
        words = OPERANDS.get(name, "").split()
        singles = [w for w in words if "*" not in w]
        for position, number in enumerate(operands):
            word = singles[position] if position < len(singles) else "register"
            if word not in plain and number not in limits.get(word, registers):
                raise ValueRangeError(f"the table is damaged at {at}: {name} has {word} {number}")
    if not read or read[-1][1] != "return":
        raise ValueRangeError("the table does not end in a return")
