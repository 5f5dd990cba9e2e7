"""What a table from a file is checked for before its first instruction runs: every index, size and jump.

    verify_table(table, linked)         raises ValueRangeError("the table is damaged at 17: ..")

The table is cut into functions at its `enter`s. In each of them all instructions are read, jumps stay inside and end on an
instruction, nothing runs past the end, and the frame is as large as its registers, slots and lists. Then the values of the
registers are followed along all paths until nothing changes (abstract interpretation, Cousot & Cousot 1977): a register
holds a number, a pointer or a tape; a number that is a constant is known, and of a pointer how many bytes lie behind it,
where that is known, or from which tape it was popped. A pointer is made by a storage, a parameter or a tape, and by adding
a number to one; nothing else can be read or written through, and not beyond the bytes that are known.

What no check before the run can know are sizes that are numbers of the run: how much a kernel reads follows from the
numbers that it is given. A negative number of bytes is refused while it runs (runtime.py).
"""
from __future__ import annotations

import functools
from typing import Any, NoReturn

from ...common.dim import Size
from ...common.dtype import dtype
from ...common.errors import ValueRangeError
from .. import flow as F
from ..link import Linked
from . import runtime as R
from .vm import FIXED, Table, instructions

NUMBER, POINTER, POPPED, TAPE, MIXED = "number", "pointer", "popped pointer", "tape", "something else on each path"
MOVED = "pointer moved by a number of the run"   # for kernels and copies only
Held = tuple[str, int | None]                    # what a register holds, and its value, the bytes behind it or the tape it is of
State = dict[int, Held]                          # by register
Instructions = dict[int, tuple[str, list[int], int]]
_ANY_NUMBER: Held = (NUMBER, None)
_KIND_OF_PLACE = {"static": "Alloc", "alloc": "Alloc", "kernel": "CallKernel", "launch": "CallKernel", "call": "CallFlow",
                  "check": "Check", "tape_new": "TapeNew", "tape_push": "TapePush", "tape_push_scalar": "TapePush",
                  "tape_pop": "TapePop", "tape_pop_scalar": "TapePop", "output": "Output",
                  **{f"exact_{op}": "Exact" for op in F.EXACT}}
_LIMIT = 1 << 16                                 # numbers of a frame beyond what the length of the table explains


class _Function:
    """One function of the table. code: {place: (name, operands, next place)}; given: kinds of its parameters,
    by register; gives: kinds of its results, None until a return has been reached."""

    def __init__(self, start: int, code: Instructions) -> None:
        self.start, self.code = start, code
        self.given: State = {}
        self.gives: list[Held] | None = None
        self.callers: set[int] = set()
        name, (self.args_at, self.results_at), _ = code[start]
        self.room = self.results_at - self.args_at
        self.size = self.results_at + self.room

    @functools.cached_property
    def slots(self) -> set[int]:
        """The numbers of the frame that are slots of storages."""
        return {number for name, operands, _ in self.code.values() if name in ("alloc", "kill")
                for slot, count in [operands[1:3] if name == "alloc" else operands[:2]]
                for number in range(slot, slot + min(count, _LIMIT))}


def verify_table(table: Table, linked: Linked) -> None:
    """Check a Table against what its file says of the program, a LinkedFile.

    raises : ValueRangeError that names the place
    """
    _Verifier(table.code.tolist(), table.frame, linked).run()


class _Verifier:
    def __init__(self, code: list[int], frame: int, linked: Linked) -> None:
        self.code, self.frame, self.linked = code, frame, linked
        self.at, self.name = 0, ""
        self.waiting: set[int] = set()
        self.function: Any = None

    def fail(self, text: str) -> NoReturn:
        raise ValueRangeError(f"the table is damaged at {self.at}: {self.name} {text}")

    def check(self, holds: Any, text: str) -> None:
        if not holds:
            self.fail(text)

    def run(self) -> None:
        """All checks."""
        self.functions = self.cut()
        entry = self.functions[0]
        self.check(entry.size == self.frame, f"has a frame of {entry.size}, the file says {self.frame}")
        for function in self.functions.values():
            self.function = function
            for self.at, (self.name, operands, following) in function.code.items():
                self.structure(function, operands, following)
        self.waiting = {0}
        while self.waiting:
            self.follow(self.functions[self.waiting.pop()])

    def cut(self) -> dict[int, _Function]:
        """{place: _Function}"""
        try:
            read = list(instructions(self.code))
        except (ValueError, IndexError) as error:
            raise ValueRangeError(f"the table is damaged: {error}") from error
        if not read or read[0][1] != "enter":
            raise ValueRangeError("the table does not start with enter")
        ends = [at for at, _, _ in read[1:]] + [len(self.code)]
        found: dict = {}
        for (at, name, operands), end in zip(read, ends):
            if name == "enter":
                found[at] = inside = {}
            inside[at] = name, operands, end
        return {at: _Function(at, inside) for at, inside in found.items()}

    # ---------------------------------------------------------------- each instruction for itself

    def structure(self, function: _Function, operands: list[int], following: int) -> None:
        """Indices that stand in the table itself."""
        name, linked, n = self.name, self.linked, 0
        words = FIXED[name]
        given = dict(zip(words, operands))
        storages = len(linked.plan.storages)
        if name == "enter":
            self.check(0 <= function.args_at < function.results_at <= 4 * len(self.code) + _LIMIT,
                       f"has lists at {function.args_at} and {function.results_at}")
            return
        self.check(following in function.code or name in ("jump", "return"), "runs past the end of its function")
        if "target" in given and name != "call":
            self.check(given["target"] in function.code and given["target"] != function.start, f"goes to {given['target']}")
        if "n" in given:
            n = given["n"]
            room = R.MAX_VALUES if name == "check" else min(R.MAX_DIMS, function.room) if name == "output" else \
                len(linked.returns) if name == "return" and function.start == 0 else function.room
            self.check(0 <= n <= room, f"has a list of {n}, there is room for {room}")
        if "place" in given:
            place = given["place"]
            self.check(0 <= place < len(linked.places), f"has the place {place}")
            kind = type(linked.places[place]).__name__
            self.check(kind == _KIND_OF_PLACE.get(name), f"has the place of a {kind}")
        if name == "check":
            self.check(len(linked.kinds_of(place)[0]) == n + 1, f"has a list of {n}, its message another")
        elif name in ("kernel", "launch"):
            self.check(0 <= given["number"] < len(linked.kernels), f"has the kernel {given['number']}")
            self.check(linked.places[place].kernel is linked.kernels[given["number"]], "has the place of another kernel")
        elif name == "param":
            self.check(function.start == 0 and 0 <= given["number"] < len(linked.program.entry.params),
                       f"has the parameter {given['number']}")
        elif name in ("static", "kill_static"):
            self.check(given["first"] >= 0 and 1 <= given["count"] and given["first"] + given["count"] <= storages,
                       f"has {given['count']} storages from {given['first']} on, there are {storages}")
        elif name in ("alloc", "kill"):
            self.check(0 <= given["slot"] and 1 <= given["count"] <= _LIMIT
                       and given["slot"] + given["count"] <= function.args_at, f"has the slot {given['slot']}")
        elif name == "table":
            self.check(0 <= given["index"] < 2 * storages + len(linked.handles) and (
                given["index"] >= 2 * storages or given["index"] % 2 == 0), f"has the index {given['index']}")
        elif name == "output":
            self.check(0 <= given["index"] < linked.outputs, f"has the index {given['index']}")
        elif name == "callback":
            self.fail("is in no file")
        elif name == "call":
            callee = self.functions.get(given["target"])
            if callee is None or callee is self.functions[0]:
                self.fail(f"calls {given['target']}")
            self.check(given["frame"] == callee.size, f"makes a frame of {given['frame']} for one of {callee.size}")
            self.check(0 <= given["ndsts"] <= function.room, f"has {given['ndsts']} results")
            for number in operands[len(words) + n:len(words) + 2 * n]:
                self.check(0 <= number < callee.args_at and number not in callee.slots, f"sets {number} of what it calls")
        slots = function.slots
        for number in (*self.reads(operands, given, n), *self.writes(operands, given, n)):
            self.check(0 <= number < function.args_at and number not in slots, f"has the register {number}")

    def reads(self, operands: list[int], given: dict[str, int], n: int) -> list[int]:
        """The registers whose values an instruction takes."""
        name, count = self.name, len(given)
        if name in F.ARITH:
            return operands[1:]
        if name in F.UNARY or name.startswith("load."):
            return operands[1:]
        if name.startswith("store."):
            return operands
        singles = [number for word, number in given.items() if word in (
            "src", "cond", "nbytes", "extent", "cost", "a", "b", "tape", "ptr", "value") or (word, name) == ("dst", "copy")]
        return singles + operands[count:count + n]

    def writes(self, operands: list[int], given: dict[str, int], n: int) -> list[int]:
        """The registers that an instruction sets."""
        name = self.name
        if name in F.ARITH or name in F.UNARY or name.startswith("load."):
            return operands[:1]
        if name == "call":
            return operands[len(given) + 2 * n:]
        return [given["dst"]] if "dst" in given and name != "copy" else []

    # ---------------------------------------------------------------- along all paths

    def follow(self, function: _Function) -> None:
        """What the registers of a function hold at each place, until nothing changes."""
        self.function = function
        states, waiting = {function.start: dict(function.given)}, [function.start]
        while waiting:
            self.at = waiting.pop()
            self.name, operands, following = function.code[self.at]
            state = dict(states[self.at])
            for target in self.step(operands, following, state):
                before = states.get(target)
                after = state if before is None else joined(before, state)
                if after != before:
                    states[target] = after
                    waiting.append(target)

    def step(self, operands: list[int], following: int, state: State) -> list[int]:
        """Change `state` as the instruction does; the places that come after it."""
        name = self.name
        given = dict(zip(FIXED[name], operands))
        if name == "enter":
            return [following]
        n = given.get("n", 0)
        for number in self.reads(operands, given, n):
            self.check(number in state, f"reads the register {number}, which holds nothing there")
        made = _ANY_NUMBER
        if name == "return":
            self.returned([state[number] for number in operands[1:]])
            return []
        if name == "jump":
            return operands
        if name == "jump_if_zero":
            return [operands[1], following]
        if name == "call":
            return self.called(given, operands, n, state, following)
        if name == "param":
            made = (POINTER, None) if self.linked.program.entry.params[given["number"]].kind == "ptr" else _ANY_NUMBER
        elif name == "const":
            made = NUMBER, given["bits"]
        elif name == "move":
            made = state[given["src"]]
        elif name in F.ARITH:
            made = self.arithmetic(name, state[operands[1]], state[operands[2]])
        elif name.startswith("load."):
            self.pointer(state[operands[1]], dtype(name[5:]).itemsize)
        elif name.startswith("store."):
            self.pointer(state[operands[0]], dtype(name[6:]).itemsize)
        elif name == "table":
            storages = self.linked.plan.storages
            made = (POINTER, _known(storages[given["index"] // 2].size)) if given["index"] < 2 * len(storages) else _ANY_NUMBER
        elif name in ("static", "alloc"):
            made = POINTER, self.bytes(state[given["nbytes"]])
            if name == "static" and made[1] is not None:
                for storage in self.linked.plan.storages[given["first"]:given["first"] + given["count"]]:
                    size = _known(storage.size)
                    self.check(size is None or made[1] <= size, f"asks for {made[1]} bytes of a storage of {size}")
        elif name == "copy":
            for word in ("dst", "src"):
                if state[given[word]][0] != MOVED:
                    self.pointer(state[given[word]], self.bytes(state[given["nbytes"]]))
        elif name == "output":
            self.pointer(state[given["ptr"]], self.bytes(state[given["nbytes"]]))
        elif name.startswith("tape_"):
            made = self.tape(name, given, state)
        elif name == "launch":
            self.bytes(state[given["extent"]]), self.bytes(state[given["cost"]])
        for number in self.writes(operands, given, n):
            state[number] = made
        return [following]

    def arithmetic(self, name: str, a: Held, b: Held) -> Held:
        kinds = a[0], b[0]
        if kinds == (NUMBER, NUMBER):
            if a[1] is not None and b[1] is not None and name in ("add", "sub", "mul"):
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

    def tape(self, name: str, given: dict[str, int], state: State) -> Held:
        if name == "tape_new":
            return TAPE, None
        self.check(state[given["tape"]][0] == TAPE, f"uses a {state[given['tape']][0]} as a tape")
        if name == "tape_push":
            self.pointer(state[given["ptr"]], self.bytes(state[given["nbytes"]]))
        if name == "tape_push_scalar":
            self.check(state[given["value"]][0] == NUMBER, f"pushes a {state[given['value']][0]}")
        if name.startswith("tape_push"):                     # the tape may move
            for number, value in list(state.items()):
                if value == (POPPED, given["tape"]):
                    state[number] = MIXED, None
        return (POPPED, given["tape"]) if name == "tape_pop" else _ANY_NUMBER

    def called(self, given: dict[str, int], operands: list[int], n: int, state: State, following: int) -> list[int]:
        callee, words = self.functions[given["target"]], len(given)
        args, params, results = operands[words:words + n], operands[words + n:words + 2 * n], operands[words + 2 * n:]
        values = {to: state[number] for to, number in zip(params, args)}
        after = joined(callee.given, values) if callee.given else values
        if after != callee.given or not callee.callers:
            callee.given = after
            self.waiting.add(callee.start)
        callee.callers.add(self.function.start)
        if callee.gives is None:                             # not known yet: its first return comes back to here
            return []
        self.check(len(callee.gives) == len(results), f"takes {len(results)} of {len(callee.gives)} results")
        state.update(zip(results, callee.gives))
        return [following]

    def returned(self, values: list[Held]) -> None:
        function = self.function
        if function.start == 0:
            self.check(len(values) == len(self.linked.returns), f"gives {len(values)} values")
            return
        self.check(function.gives is None or len(function.gives) == len(values), "gives another number of values")
        values = [(POINTER if kind == POPPED else kind, size) for kind, size in values]
        after = values if function.gives is None else [_either(a, b) for a, b in zip(function.gives, values)]
        if after != function.gives:
            function.gives = after
            self.waiting |= function.callers


def joined(a: State, b: State) -> State:
    """What registers hold where two paths meet."""
    return {number: _either(a[number], b[number]) for number in a.keys() & b.keys()}


def _either(a: Held, b: Held) -> Held:
    return a if a == b else (a[0], None) if a[0] == b[0] else (MIXED, None)


def _known(size: Size) -> int | None:
    return size if isinstance(size, int) else None
