"""A CallPlan as generated Python: one function for each signature that comes again, and one builtin below it.

    def call(args):                                        # step(x, y), seen before
        try:
            if not (g0["net"] is v0): return refuse(0)     # a line for each guard
            if not (g1.training is v1): return refuse(1)
        except (LookupError, ..): ..
        if arenas.depth >= 0 or plan.executable is not executable: return refuse(None)
        if arenas.buffers[0] is not context.buffer: renew()
        o0 = empty(s0, d0)
        status = enter(*args, o0)                          # checks, takes the addresses, runs (backend/python_entry.py)
        if status: ..
        plan.calls += 1
        t0 = new(Tensor); t0.host_array = o0; t0.tape = t0.init = t0._shape = None
        return t0

Reading the whole signature and looping over guards and parameters costs some 20 us; this costs about one. It is a
way for arguments that are Tensors and plain constants, and for results of known size; whatever does not fit is MISS,
nothing has run, and the call goes the general way: `call.refused` is the number of the guard that did not hold, None where
it was something else. Each thread makes its own, because the context in it belongs to one thread.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..infer.outside import Guard
from ..backend import python_entry
from ..common.config import config
from ..common.device import kinds
from ..common.dtype import dtype as as_dtype
from ..common.location import CALL
from ..common.storage import ShardedArray, part_here
from ..common.tensor import Parameter, Tensor
from ..infer.results import Container, Made, Result
from ..mindir.abstract import AbstractScalar
from .call_plan import CallPlan
from .guards import guard_holds, refused_by
from .known_call import KnownCall
from .short_plan import ABSENT, ATTRIBUTE, CELL, ITEM, MAX_ARRAYS, METHOD, Check, ShortPlan, check_of
from .signature import Part, SameSpec, Signature, TensorSpec
from .variant import Variant

MISS = object()
_PLAIN = (int, bool, str, bytes, type(None))
_new = Tensor.__new__


class Unfit(Exception):
    """Why a call cannot go the fast path."""


def quick_call(variant: Variant, signature: Signature, args: tuple) -> Any:
    """call(args) -> the function's value or MISS, for this variant and exactly this signature; call.short: the same for machine
    code, a ShortPlan or None.

    out : None where there is no fast path
    """
    try:
        return _KnownWriter(variant.plan, signature, args).function()
    except Unfit:
        return None


class Writer:
    """Writes such a function: `names` are its globals, `leaves` the paths, classes and specs of its Tensors.

    known : what has `order`, the numbers of the new arrays that are results, and `is_on_host(number)` of those arrays
    """
    known: Any

    def __init__(self, plan: CallPlan, signature: Signature, args: tuple) -> None:
        self.plan, self.executable = plan, plan.executable
        why_not = plan.why_not_fast()
        if why_not:
            raise Unfit(why_not)
        self.names: dict[str, Any] = {"config": config, "Tensor": Tensor, "new": _new, "empty": np.empty, "plan": plan}
        self.leaves: list[tuple[str, type, TensorSpec]] = []
        self.tests: list[str] = []
        self.tensors: list[str] = []                         # paths
        tensors = [id(value) for value in args if type(value) in (Tensor, Parameter)]
        self.flat = all(type(value) in (Tensor, Parameter, np.ndarray) for value in args) and len(set(tensors)) == len(tensors)
        self.distinct = len(tensors) > 1
        self.values = False                                 # are there numbers among the results?
        self.read(signature[1], args, "args")
        self.plain = not self.tests and self.flat           # machine code can see that none of them is another one
        if len(self.tensors) > 1:                          # none of them is another one
            self.tests.append(f"len({{{', '.join(f'id({path})' for path in self.tensors)}}}) == {len(self.tensors)}")

    def name(self, stem: str, value: Any) -> str:
        """A name for a value in the function."""
        name = f"{stem}{len(self.names)}"
        self.names[name] = value
        return name

    def read(self, signature: Part, value: Any, path: str) -> None:
        """Tests for what a part of the arguments must be; its Tensors become arguments of the builtin."""
        if isinstance(signature, TensorSpec):
            if type(value) not in (Tensor, Parameter, np.ndarray):
                raise Unfit(f"an argument of class {type(value).__name__}")
            if type(value) is not np.ndarray:
                self.tensors.append(path)
            if signature.placement is not None:
                self.read_part(signature, value, path)
            else:
                self.leaves.append((path, type(value), signature))
        elif isinstance(signature, SameSpec):
            self.tests.append(f"{path} is {self.leaves[signature.number][0]}")
        elif type(value) is tuple:
            if path != "args":
                self.tests.append(f"type({path}) is tuple")
            if path != "args" or not self.flat:            # the builtin counts what it is given
                self.tests.append(f"len({path}) == {len(value)}")
            for number, (inner, item) in enumerate(zip(signature[1:], value)):
                self.read(inner, item, f"{path}[{number}]")
        elif type(value) in _PLAIN:
            test = f"{path} is {self.name('c', value)}"
            if type(value) in (int, str, bytes) and value == value:
                test = f"({test} or type({path}) is {type(value).__name__} and {path} == {value!r})"
            self.tests.append(test)
        elif type(value) is float:
            if value != value or value == 0.0:
                raise Unfit("a float argument that is 0.0 or not a number")
            self.tests.append(f"type({path}) is float and {path} == {self.name('c', value)}")
        elif isinstance(value, (tuple, list, dict)):
            raise Unfit(f"an argument of class {type(value).__name__}")
        else:
            self.tests.append(f"{path} is {self.name('c', value)}")

    def read_part(self, spec: TensorSpec, tensor: Tensor, path: str) -> None:
        """Tests that a Tensor lies on the ranks as it did; this rank's part becomes an argument of the builtin."""
        lies, placement = f"{path}.away", self.name("p", spec.placement)
        self.names["ShardedArray"] = ShardedArray
        self.tests += [f"type({path}) is {self.name('k', type(tensor))}", f"type({lies}) is ShardedArray",
                       f"{lies}.shape == {self.name('s', tuple(spec.shape))}",
                       f"({lies}.placement is {placement} or {lies}.placement == {placement})"]
        self.leaves.append((f"{lies}.part", np.ndarray, TensorSpec(spec.dtype, part_here(tensor.elements).shape)))
        self.flat = False

    # -- guards

    def guard(self, guard: Guard) -> str:
        """The test of one guard: what is read is the same object, or an equal number or text; Python compares what is neither."""
        check, holds = check_of(*guard), f"{self.name('holds', guard_holds)}({self.name('guard', guard)})"
        if check is None or check[0] in (ATTRIBUTE, METHOD) and not check[2].isidentifier():
            return holds
        kind, owner, name, value, bound = check
        outside, known = self.name("g", owner), self.name("v", value)
        if value is ABSENT:
            return f"{name!r} not in {outside}"
        read = {ITEM: f"{outside}[{name!r}]", CELL: f"{outside}.cell_contents"}.get(kind, f"{outside}.{name}")
        if kind == METHOD:
            return f"{read}.__func__ is {known} and {read}.__self__ is {self.name('s', bound)}"
        if type(value) in (int, float, str) and value != 0.0:
            return f"({read} is {known} or type({read}) is {type(value).__name__} and {read} == {known})"
        return f"({read} is {known} or {holds})" if guard[0] == "protocol" else f"{read} is {known}"

    # -- the value

    def build(self, value: Any, lines: list[str]) -> str:
        """The expression of the function's value."""
        if isinstance(value, Result):
            if value.argument is not None:
                return self.leaf(value.argument)
            kind, number = self.plan.results[value.number]
            if kind == "param":
                made, where = f"t{value.number}", self.known.order[value.number]
                slot, array = "host_array" if self.known.is_on_host(where) else "away", f"o{where}"
                if value.number in self.plan.parts:
                    placement, shape = self.plan.parts[value.number]
                    self.names["ShardedArray"] = ShardedArray
                    slot, array = "away", f"ShardedArray({array}, {self.name('s', shape)}, {self.name('p', placement)})"
                lines += [f"{made} = new(Tensor)", f"{made}.{slot} = {array}",
                          f"{made}.tape = {made}.init = {made}._shape = None"]
                return made
            abstract = self.plan.abstracts[value.number]
            if kind == "value" and isinstance(abstract, AbstractScalar):
                self.values = True
                return f"{self.name('kind', abstract.type)}(values[{number}])"
            raise Unfit("a result that is no Tensor and no number")
        if type(value) is tuple:
            return "(" + "".join(self.build(v, lines) + ", " for v in value) + ")"
        if type(value) is list:
            return "[" + ", ".join(self.build(v, lines) for v in value) + "]"
        if isinstance(value, (tuple, dict, Container, Made)):
            raise Unfit(f"a result of class {type(value).__name__}")
        return self.name("c", value)

    def leaf(self, number: int) -> str:
        path, owner, _ = self.leaves[number]
        if owner is np.ndarray:
            raise Unfit("an array that is handed through")
        return path

    def checks(self, tests: Sequence[str], guards: Iterable[tuple[int, str]]) -> list[str]:
        """Lines that leave where a test of the arguments or a guard, (its number, its test), does not hold."""
        lines = [f"    if not ({' and '.join(tests)}): return refuse(None)"] if tests else []
        lines += [f"    if not ({text}): return refuse({number})" for number, text in guards]
        return lines and ["try:", *lines, "except (LookupError, AttributeError, ValueError, TypeError):",
                          "    return refuse(refused_by(plan.guards))    # what is gone is not the same"]

    def define(self, head: str, lines: Iterable[str]) -> str:
        """The function with these lines."""
        text = "\n    ".join([head, *lines])
        exec(compile(text, f"{CALL}{self.executable.name}>", "exec"), self.names)
        return text

    def head(self) -> tuple[list[str], list[tuple[int, str]], Sequence[str]]:
        """(lines that refuse a call, the tests of guards, settings that must be as now)."""
        plan = self.plan
        if refused_by(plan.guards) is not None:
            raise Unfit("a guard does not hold")
        guards = [(number, self.guard(guard)) for number, guard in enumerate(plan.guards)]
        lines = self.checks(self.tests, guards)
        settings = ("device_target",) if plan.device is None else ("device_target", "device_id")
        where = settings if len(kinds()) > 1 else ()
        lines += [f"if config.{name} != {getattr(config, name)!r}: return refuse(None)" for name in where]
        return [*lines, "if arenas.depth >= 0 or plan.executable is not executable: return refuse(None)"], guards, where

    def entered(self, line: str) -> list[str]:
        """The line that runs the Flow. Where that calls operators in Python, what they give lives until it ends, and what they
        run has arenas of its own."""
        if not self.executable.linked.has_python:
            return [line]
        self.names["runs"] = self.plan.objects
        return ["arenas.depth += 1", "runs.runs.append([])", "try:", f"    {line}", "finally:", "    runs.runs.pop()",
                "    arenas.depth -= 1"]

    def end(self) -> list[str]:
        """Lines behind a run: its context is tidied, and the value is built and given."""
        results: list[str] = []
        out = self.build(self.plan.output, results)
        return [*["context.end()"] * self.executable.cleans_up, "plan.calls += 1", *["values = read(context)"] * self.values,
                *results, f"return {out}"]

    def refusal(self) -> Any:
        """The function by which a call says that nothing has run: a guard, or None, does not hold."""
        def refuse(number: int | None) -> Any:
            self.names["call"].refused = number
            return MISS
        return refuse


class _KnownWriter(Writer):
    """Of calls whose sizes are known."""

    def __init__(self, plan: CallPlan, signature: Signature, args: tuple) -> None:
        super().__init__(plan, signature, args)
        parts: dict[int, int] = {}                           # {number of a held Tensor: of the argument that is its part}
        for number, held in enumerate(plan.held):
            if isinstance(held.tensor.elements, ShardedArray):
                parts[number] = len(self.leaves)
                spec = TensorSpec(as_dtype(held.dtype), held.shape, placement=held.lies)
                self.read_part(spec, held.tensor, self.name("h", held.tensor))
        self.known = KnownCall(plan, [
            (python_entry.ARRAY if owner is np.ndarray else python_entry.TENSOR, owner, spec.dtype.numpy, spec.shape,
             spec.device) for _, owner, spec in self.leaves], plan.sizes([spec for _, _, spec in self.leaves]), parts)

    def function(self) -> Any:
        """The function `call`."""
        known, executable = self.known, self.executable
        lines, guards, where = self.head()
        moved = ["arenas.buffers[0] is not context.buffer"] * bool(known.peak) + [
            "arenas.version is not keep.version"] * known.elsewhere
        if moved:
            lines += [f"if {' or '.join(moved)}: renew()"]
        flat = "*args" if self.flat else ", ".join(path for path, _, _ in self.leaves)
        if known.asks_for_memory:                            # of a device: only for a call that fits
            lines += [f"if not fits({flat}): return refuse(None)"]
        lines += [f"o{n} = {self.name('make', known.makers[n])}()" if not known.is_on_host(n) else
                  f"o{n} = empty({self.name('shape', shape)}, {self.name('dtype', dtype)})"
                  for n, (_, shape, dtype) in enumerate(known.made)]
        given = ", ".join([*([flat] if flat else []), *(f"o{n}" for n in range(len(known.made)))])
        lines += [*self.entered(f"status = enter({given})"),
                  "if status:", "    if status == -1: return refuse(None)", "    raise failure()"]
        self.names.update(enter=known.enter, fits=known.entry.fits, executable=executable, arenas=known.arenas,
                          context=known.context, refuse=self.refusal(), renew=known.point_into_arena, failure=known.failure,
                          refused_by=refused_by, keep=known, read=executable.results)
        text = self.define("def call(args):", [*lines, *self.end()])
        call = self.names["call"]
        call.source, call.failure, call.refused, call.short = text, known.failure, None, self.short(guards, where)
        return call

    def short(self, guards: Sequence[tuple[int, str]], where: Sequence[str]) -> ShortPlan | None:
        """The same for machine code, a ShortPlan; None where that cannot make the result. where: settings that must be as now"""
        known, output, count = self.known, self.plan.output, len(self.known.made)
        results = output if type(output) is tuple else (output,)
        if not self.flat or self.executable.cleans_up or self.executable.linked.has_python:
            return None
        if len(self.leaves) + count > MAX_ARRAYS or not all(isinstance(r, Result) and r.argument is None for r in results):
            return None
        numbers = tuple([known.order[r.number] for r in results])
        if not numbers or sorted(numbers) != list(range(count)):
            return None
        found = [check_of(*self.plan.guards[number]) for number, _ in guards]
        unseen = [guard for guard, check in zip(guards, found) if check is None]
        checks: list[tuple[int | None, Check]] = [(number, c) for (number, _), c in zip(guards, found) if c is not None]
        lines = self.checks([] if self.plain else self.tests, unseen)
        if lines:
            self.define("def holds(*args):", [*lines, "return True"])
        checks += [(None, (ATTRIBUTE, config, name, getattr(config, name), None)) for name in where]
        return ShortPlan(known, numbers if type(output) is tuple else numbers[0], checks,
                         self.names.get("holds") if lines else None, self.plain and self.distinct)
