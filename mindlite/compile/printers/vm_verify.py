"""What a Program from a file is checked for before its first instruction runs: what it reads and writes through pointers.

    verify_pointers(program)         raises ValueRangeError("flow main: store.i64 %4, %0 uses a number as a pointer")

The values of the registers are followed along all paths until nothing changes (abstract interpretation, Cousot & Cousot
1977): a register holds a number, a pointer or a tape; a number that is a constant is known, and of a pointer how many bytes
lie behind it, where that is known, or from which tape it was popped. A pointer is made by a storage, a parameter or a tape,
and by adding a number to one; nothing else can be read or written through, and not beyond the bytes that are known.

What no check before the run can know are sizes that are numbers of the run: how much a kernel reads follows from the
numbers that it is given. A negative number of bytes is refused while it runs (runtime.py).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...common.dim import Size, evaluate, symbols_of
from ...common.errors import ValueRangeError
from .. import flow as F
from . import runtime as R

NUMBER, POINTER, POPPED, TAPE, MIXED = "number", "pointer", "popped pointer", "tape", "something else on each path"
MOVED = "pointer moved by a number of the run"   # for kernels and copies only
Held = tuple[str, Any]                           # what a register holds, and its value, the bytes behind it or its tape
State = dict[int, Held]                          # by register
_ANY_NUMBER: Held = (NUMBER, None)
MAX_OUTPUTS = 1 << 12


def verify_pointers(program: F.Program) -> None:
    """Check a Program that `flow_verify.verify` found well formed.

    raises : ValueRangeError that names the flow and the instruction
    """
    _Verifier(program).run()


class _Verifier:
    """given, gives: what the parameters and the results of a flow hold, by its name; callers: the names of those that call it."""

    def __init__(self, program: F.Program) -> None:
        self.program = program
        self.flow, self.at = program.entry, F.Instruction()
        self.given: dict[str, list[Held]] = {}
        self.gives: dict[str, list[Held]] = {}
        self.callers: dict[str, set[str]] = {}
        self.waiting: list[str] = []

    def check(self, holds: Any, text: str) -> None:
        if not holds:
            raise ValueRangeError(f"flow {self.flow.name}: {F.head(self.at)} {text}")

    def run(self) -> None:
        """All checks."""
        entry = self.program.entry
        self.enter(entry.name, [(POINTER, None) if p.kind == "ptr" else _ANY_NUMBER for p in entry.params])
        while self.waiting:
            name = self.waiting.pop()
            self.flow = self.program.flows.get(name, entry)
            self.block(self.flow.body, dict(zip([p.register for p in self.flow.params], self.given[name])))

    def enter(self, name: str, values: list[Held]) -> None:
        """A flow is called with these values."""
        before = self.given.get(name)
        after = values if before is None else _either_of_each(before, values)
        if after != before:
            self.given[name] = after
            self.waiting.append(name)

    def block(self, block: F.Block, state: State) -> State | None:
        """Change `state` as the block does, and give it; None if its end is not reached, as far as is known."""
        for i in block.instructions:
            self.at = i
            if isinstance(i, F.If):
                ends = [end for end in [self.inner(inner, dict(state), i.dsts) for inner in i.blocks] if end is not None]
                if not ends:
                    return None
                state = _joined(ends[0], ends[-1])
            elif isinstance(i, F.While):
                end = self.loop(i, state)
                if end is None:
                    return None
                state = end
            elif isinstance(i, F.CallFlow):
                results = self.called(i, state)
                if results is None:
                    return None
                state.update(zip(i.dsts, results))
            elif isinstance(i, F.Return):
                self.returned([state[register] for register in i.values])
            else:
                state.update(dict.fromkeys(i.writes, self.step(i, state)))
        return state

    def inner(self, block: F.Block, state: State, dsts: F.Registers) -> State | None:
        """The state at the end of a block whose results become dsts."""
        end = self.block(block, state)
        return None if end is None else {**end, **dict(zip(dsts, [end[register] for register in block.results]))}

    def loop(self, i: F.While, state: State) -> State | None:
        """The state behind a While."""
        state.update(zip(i.params, [state[register] for register in i.inits]))
        while True:
            tested = self.block(i.cond, dict(state))
            if tested is None:
                return None
            again = self.inner(i.body, dict(tested), i.params)
            after = state if again is None else _joined(state, again)
            if after == state:
                return {**tested, **dict(zip(i.dsts, [tested[register] for register in i.params]))}
            state = after

    def step(self, i: Any, state: State) -> Held:
        """Check an instruction without blocks; what it gives."""
        if isinstance(i, F.Const):
            self.check(isinstance(i.value, (int, float)), "is no number")
            return NUMBER, i.value
        if isinstance(i, F.Arith):
            return self.arithmetic(i.op, state[i.a], state[i.b])
        if isinstance(i, (F.Load, F.Store)):
            self.pointer(state[i.ptr], i.dtype.itemsize)
        elif isinstance(i, F.Alloc):
            asked, size = self.bytes(state[i.nbytes]), _known(i.size) if self.flow is self.program.entry else None
            self.check(size is None or 0 <= (asked or 0) <= size, f"asks for {asked} bytes of a storage of {size}")
            return POINTER, asked if size is None else size
        elif isinstance(i, F.Copy):
            for register in (i.dst, i.src):
                if state[register][0] != MOVED:
                    self.pointer(state[register], self.bytes(state[i.nbytes]))
        elif isinstance(i, F.Output):
            self.check(0 <= i.index < MAX_OUTPUTS, "has no such number")
            self.check(len(i.dims) <= R.MAX_DIMS, f"has more than {R.MAX_DIMS} axes")
            self.pointer(state[i.ptr], self.bytes(state[i.nbytes]))
        elif isinstance(i, F.Check):
            self.check(len(i.args) <= R.MAX_VALUES, f"has more than {R.MAX_VALUES} values")
        elif isinstance(i, F.CallKernel):
            for register in i.over:
                self.bytes(state[register])
        elif isinstance(i, F.TapeNew):
            return TAPE, i.dst
        elif isinstance(i, (F.TapePush, F.TapePop)):
            return self.tape(i, state)
        return _ANY_NUMBER

    def arithmetic(self, name: str, a: Held, b: Held) -> Held:
        kinds = a[0], b[0]
        if kinds == (NUMBER, NUMBER):
            if isinstance(a[1], int) and isinstance(b[1], int) and name in ("add", "sub", "mul"):
                value = a[1] + b[1] if name == "add" else a[1] - b[1] if name == "sub" else a[1] * b[1]
                return NUMBER, (value + 2 ** 63) % 2 ** 64 - 2 ** 63
            return _ANY_NUMBER
        fits = name == "add" and NUMBER in kinds or name == "sub" and kinds[1] == NUMBER
        self.check(fits, f"takes a {kinds[0]} and a {kinds[1]}")
        pointer, (_, number) = (a, b) if kinds[1] == NUMBER else (b, a)
        self.check(pointer[0] in (POINTER, POPPED, MOVED), f"takes a {pointer[0]}")
        if number is None or pointer[0] != POINTER:
            return MOVED, None
        if pointer[1] is not None:
            left = pointer[1] - (number if name == "add" else -number)
            self.check(0 <= left <= pointer[1], f"points {number} bytes into {pointer[1]}")
            return POINTER, left
        return POINTER, None

    def pointer(self, value: Held, nbytes: int | None) -> None:
        """Refuse what is no pointer, or one behind which there are less bytes."""
        self.check(value[0] in (POINTER, POPPED), f"uses a {value[0]} as a pointer")
        self.check(value[0] == POPPED or value[1] is None or nbytes is not None and nbytes <= value[1],
                   f"takes {'a number of the run' if nbytes is None else nbytes} bytes of {value[1]}")

    def bytes(self, value: Held) -> int | None:
        """A number of bytes, None if it is not known."""
        self.check(value[0] == NUMBER and (value[1] is None or value[1] >= 0), f"uses a {value[0]} as a size")
        return value[1]

    def tape(self, i: F.TapePush | F.TapePop, state: State) -> Held:
        kind, tape = state[i.tape]
        self.check(kind == TAPE, f"uses a {kind} as a tape")
        if isinstance(i, F.TapePop):
            return _ANY_NUMBER if i.scalar else (POPPED, tape)
        if i.nbytes is not None:
            self.pointer(state[i.value], self.bytes(state[i.nbytes]))
        else:
            self.check(state[i.value][0] == NUMBER, f"pushes a {state[i.value][0]}")
        _moves(tape, state)
        return _ANY_NUMBER

    def called(self, i: F.CallFlow, state: State) -> list[Held] | None:
        """What a flow gives; None as long as no return of it is known: its first one comes back to here."""
        self.check(i.flow in self.program.flows, "calls the entry")
        values = [state[register] for register in i.args]
        for kind, tape in values:
            if kind == TAPE:
                _moves(tape, state)
        self.callers.setdefault(i.flow, set()).add(self.flow.name)
        self.enter(i.flow, values)
        return self.gives.get(i.flow)

    def returned(self, values: list[Held]) -> None:
        name = self.flow.name
        before, values = self.gives.get(name), [(POINTER if kind == POPPED else kind, None if kind == POPPED else value)
                                                for kind, value in values]
        after = values if before is None else _either_of_each(before, values)
        if after != before:
            self.gives[name] = after
            self.waiting += self.callers.get(name, ())


def _moves(tape: int | None, state: State) -> None:
    """A tape may move: what was popped from it is no pointer any more."""
    for register, (kind, value) in state.items():
        if kind == POPPED and (tape is None or value in (tape, None)):
            state[register] = MIXED, None


def _joined(a: State, b: State) -> State:
    """What registers hold where two paths meet."""
    return {register: _either(a[register], b[register]) for register in a.keys() & b.keys()}


def _either_of_each(a: Sequence[Held], b: Sequence[Held]) -> list[Held]:
    return [_either(x, y) for x, y in zip(a, b)]


def _either(a: Held, b: Held) -> Held:
    return a if a == b else (a[0], None) if a[0] == b[0] else (MIXED, None)


def _known(size: Size | None) -> int | None:
    return evaluate(size, {}) if size is not None and not symbols_of(size) else None
