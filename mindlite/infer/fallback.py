"""JIT Fallback in inference: what a graph cannot say becomes a `segment`, a Python call between native code at run
time.

What such a call gives is not known before it has run once. So the first call of a function with a segment is executed
statement by statement (`concrete.py`), for real, and what every construct gave is recorded; from then on the function
is compiled with those types, sizes staying open. A path that was not taken then ends in a `Trap`; and a call that gives
another type than the recorded one is one: the run begins again in Python, with the results of the calls that it made
(`fallback/log.py`), and what is learnt goes into the next variant.
"""
from __future__ import annotations

import functools
import operator
import time
from collections.abc import Sequence
from types import CellType
from typing import Any

import numpy as np

from ..common.errors import Passed, Refusal, Signal, Stage
from ..common.location import Location
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..common.tracebacks import call_at, namespace_of, passed_through
from ..fallback.handed import Lent, changed as overwritten, restore
from ..fallback.log import Call, Log, Raised, Trap, current_log
from ..fallback.record import Given, abstracts_in, filled, fits, opened, values_in
from ..fallback.segment import run_segment, unbound
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTensor
from ..mindir.control import segment
from ..mindir.graph import AnfNode, CNode
from ..mindir.primitive import interpreting
from ..mindir.syntax import Undefined
from ..ops.state import pause_gradients, resume_gradients
from .evaluating import Evaluating
from .kinds import data_in
from .outside import CONTAINERS, again, changed, pending, restorer, undoing, watch, whole
from .sharing import flatten, spot
from .state import AmbiguousTarget, Frame, Raises
from .values import Value


A_BOOL, AN_INT = Given(abstract=AbstractScalar(bool)), Given(abstract=AbstractScalar(int))


class NeedsRecord(Signal):
    """A segment was met whose result is not known yet: the function must run once."""

    def __init__(self, reason: str, key: tuple) -> None:
        super().__init__(reason)
        self.key = key


@dataclass(eq=False)
class Site:
    """A piece of Python code in a graph. runs, seconds: how often it ran, how long in all"""
    location: Location | None
    reason: str
    cure: str
    runs: int = 0
    seconds: float = 0.0


CURES = {"numpy": "compute with ops instead of NumPy",
         "library": "move it out of the function, or write it with ops",
         "object": "give the value a type: Tensor(x), int(x)",
         "statement": "move the statement out of the function"}


def call_key(ev: Evaluating, name: str | None = None) -> tuple:
    """The identity of a call: its location, its construct, the called function (None: the
    construct itself), and the chain of calls that leads to it."""
    location = ev.tracer.origin.location
    return spot(location), ev.fallback.construct, name, tuple([graph.origin.location for (graph, _), _ in ev.calls.active])


def construct_key(ev: Evaluating) -> tuple:
    """The identity of a construct: its location, its name, and the places of the calls that lead to it."""
    return spot(ev.tracer.origin.location), ev.fallback.construct, tuple([spot(frame.called_at) for frame in ev.calls.frames])


def call_unknown(ev: Evaluating, fn: Value, args: Sequence[Value], kwargs: dict[str, Any], reason: str, returns: Any = None,
                 keeps: bool = True, cure: str = "library") -> Value:
    """Call fn at run time, between native code.

    returns : the record of what it gives, where that is known (() for nothing)
    keeps   : False where nothing that it is given stays anywhere: print
    """
    if ev.concrete:
        recorder: Any = ev
        return recorder.call_unknown(fn, args, kwargs)
    key = call_key(ev, getattr(fn, "__qualname__", type(fn).__name__))
    return _write(ev, key, fn, args, kwargs, reason, returns, keeps, keeps, CURES[cure])


def ask_python(ev: Evaluating, fn: Value, args: Sequence[Value], reason: str, returns: Any = None,
               kwargs: dict[str, Any] | None = None) -> Value:
    """What a construct gives whose operand is an object that only Python knows: fn(*args, **kwargs), at run time."""
    key = call_key(ev)
    if key == ev.fallback.asked:
        raise Refusal(f"a construct asks Python several times: {reason}")
    ev.fallback.asked = key
    return _write(ev, key, fn, args, kwargs or {}, reason, returns, True, ev.fallback.construct == "call", CURES["object"])


def _write(ev: Evaluating, key: tuple, fn: Value, args: Sequence[Value], kwargs: dict[str, Any], reason: str, returns: Any,
           keeps: bool, sees: bool, cure: str) -> Value:
    """The segment. sees: the code may read and change variables outside"""
    location = ev.tracer.origin.location
    if ev.fallback.fullgraph and returns != ():
        raise Refusal(f"fullgraph=True, but {reason}", location=location,
                               hint=f"{cure}; or leave out fullgraph=True to let this run in Python")
    if key in ev.fallback.records.in_place:
        raise AmbiguousTarget("Python code changes a Tensor that it is given in place", location=location,
                              hint="change it with operators, as x[0] = 1, or give the code a copy: x + 0")
    record = returns if returns is not None else _recorded(ev, key, reason)
    weights = [t for t in ev.store if isinstance(t, Tensor)] if keeps else []
    variables = pending(ev) if sees else []
    check_aliases(ev, (args, kwargs))
    operands, rebuild = flatten(ev, (fn, tuple(args), tuple(kwargs.items()), tuple([v for _, v in variables])), not keeps)
    count, pattern = len(operands), opened(record) if returns is None else returns
    site, attempted = Site(location, reason, cure), bool(ev.attempts.around)
    ev.fallback.sites.append(site)
    places, later = tuple([place for place, _ in variables]), watch(ev) if sees else {}
    namespace, unrecorded, construct = namespace_of(ev.calls.frames), ev.tracer.unrecorded, construct_key(ev)

    def run(*values):
        with Stage("run", lambda: location):
            return call(*values)

    def call(*values):
        fn_now, args_now, kwargs_now, variables_now = rebuild(values[:count])
        held = whole(later.values()) if sees else {}
        log, outside = current_log() or Log(), [variable.guard(None) for variable in places]
        for variable, value in zip(places, variables_now):
            log.undo.append(restorer(*variable.guard(variable.read())))
            variable.write(value)
        for weight, value in zip(weights, values[count:]):
            if weight.host_array.ctypes.data != value.host_array.ctypes.data:         # what the graph has assigned so far
                log.undo.append(functools.partial(np.copyto, weight.host_array, weight.host_array.copy()))
                weight.host_array[...] = value.host_array
        lent = Lent(log.lent if keeps else ())
        start = time.perf_counter()
        if unrecorded:
            pause_gradients()
        try:
            given = call_at(location, namespace, fn_now, args_now, dict(kwargs_now))
        except Exception as error:
            in_place = tuple(changed_in_place(log, lent))
            log.add(construct, key[2], Call(Raised(error), again(outside), values, places, changed=in_place))
            if in_place:
                raise Trap(key, (), location, in_place=True) from error
            if not attempted or current_log() is None:
                raise Passed(passed_through(error, location)) from error
            raise Trap(key, (), location) from error             # a `try` of the graph is around: Python goes on there
        finally:
            if unrecorded:
                resume_gradients()
        site.runs += 1
        site.seconds += time.perf_counter() - start
        wrong = changed(later) if sees else []
        log.undo += undoing(wrong, held)
        in_place = tuple(changed_in_place(log, lent)) if keeps else ()
        log.add(construct, key[2], Call(given, again([*outside, *wrong]), values, places, changed=in_place))
        if in_place:
            raise Trap(key, [given], location, in_place=True)
        if wrong:
            raise Trap(key, [given], location, [((kind, id(owner), name), owner) for kind, owner, name, _ in wrong])
        if returns == ():
            return ()
        if not fits(given, record):
            raise Trap(key, [given], location)
        return tuple(values_in(given, record))
    operands += [ev.tracer.lift(weight) for weight in weights]
    with interpreting(ev.tracer):
        values = segment(*operands, function=run, abstracts=tuple(abstracts_in(pattern)), reason=reason, keeps=keeps,
                         weights=tuple(weights))
    made = filled(pattern, iter(values)) if returns != () else None
    note_aliases(ev, fn, args, made)
    return made


def changed_in_place(log: Log, lent: Any) -> list:
    """[(array, new content)] of the arguments that Python code changed in place; the old
    content is restored. Arrays that the call keeps are watched from now on."""
    held = lent.held() + log.handed.alive()
    found = overwritten(held)
    if found:
        restore(held)
    for array, content in lent.kept():
        log.handed.give(array, content.copy())
    return found


def check_aliases(ev: Evaluating, given: Value) -> None:
    """Memory of a Tensor that the graph has assigned to since is given to Python code. raises : AmbiguousTarget"""
    for root, then in [ev.tracer.effects.aliases[v] for v in data_in(given, ev.store) if v in ev.tracer.effects.aliases]:
        if ev.tracer.current(root) is not then:
            raise AmbiguousTarget("Python code has the memory of a Tensor that was assigned to since", hint="make a copy: "
                                  "x.asnumpy().copy()", location=ev.tracer.origin.location)


def note_aliases(ev: Evaluating, fn: Value, args: Sequence[Value], made: Value) -> None:
    """Remember which Tensors of the graph Python code holds from now on."""
    tracer, name = ev.tracer, getattr(fn, "__name__", "")
    if name in ("asnumpy", "numpy") and ev.is_object(made) and isinstance(args[0], AnfNode):
        root = tracer.root_of(args[0])[0]
        tracer.effects.aliases[made] = root, tracer.current(root)
    if fn in KEEP or name in CHANGERS:
        tracer.effects.held.update([tracer.root_of(v)[0] for v in data_in(args, ev.store) if isinstance(v, AnfNode)])
    if fn is not Tensor and any(ev.is_object(x) for x in data_in((fn, args), ev.store)):       # it may stand in that object
        tracer.effects.held.update([v for v in data_in(made, ev.store) if isinstance(v, AnfNode)])


def _recorded(ev: Evaluating, key: tuple, reason: str) -> Any:
    """The record of a call. raises : NeedsRecord if the function has not run yet; Raises (a Trap) on a path that was
    not taken when it ran"""
    ev.fallback.keys.add(key)
    if key in ev.fallback.records.given:
        return ev.fallback.records.given[key]
    if not ev.fallback.records.has_run():
        raise NeedsRecord(reason, key)
    ev.fallback.needed = reason, key
    raise Raises(Trap(key, (), ev.tracer.origin.location), ev.tracer.origin)


def as_object(ev: Evaluating, value: Value) -> Value:
    """`value` as a node of unknown type."""
    if ev.is_object(value):
        return value
    operands, rebuild = flatten(ev, value)
    with interpreting(ev.tracer):
        node, = segment(*operands, function=lambda *now: (rebuild(now),), abstracts=(AbstractAny(),), reason="a value of "
                        "several types", keeps=True, weights=())
    return node


def from_outside(ev: Evaluating, value: Value) -> Value:
    """A value from outside. A list, dict, set or array that the function changes is an opaque
    object; so is one that the function returns, to keep its identity."""
    if not isinstance(value, (*CONTAINERS, tuple)) or ev.concrete:
        return value
    if ev.variables.is_changed(value):
        node = as_object(ev, value)
        ev.tracer.containers[node] = value
        return node
    ev.guards.shared[id(value)] = value
    return value


def change_outside(ev: Evaluating, fn: Value, args: Sequence[Value], kwargs: dict[str, Any] | None = None) -> Value:
    """A call that changes a list, dict or array that the graph did not make: it happens at run time, in program order.

    What is read of the object in this function is then read at run time too.
    """
    owner, returns = args[0], None
    if fn in RETURN_NOTHING or getattr(fn, "__name__", "") in RETURN_NOTHING_NAMES:
        returns = ()
    if not ev.concrete:
        if ev.made_here(owner):
            raise Refusal(f"a {type(owner).__name__} that was made when the graph was is changed",
                                [ev.objects.mark_of(owner)], ev.tracer.origin.location)
        ev.variables.change(owner)
    return call_unknown(ev, fn, args, kwargs or {}, f"{fn.__name__} changes an object outside of the graph", returns)


def read_cell(cell: CellType, name: str, free: bool) -> Value:
    """The content of a closure cell. raises : UnboundLocalError, or NameError, if it is empty"""
    try:
        return cell.cell_contents
    except ValueError:
        raise unbound(name, free) from None


def write_cell(cell: CellType, value: Value) -> None:
    """Assign to a closure cell; Undefined empties it."""
    if not isinstance(value, Undefined):
        cell.cell_contents = value
    else:
        del cell.cell_contents


KEEP = (operator.setitem, setattr, write_cell)           # what they are given stays in an object
RETURN_NOTHING = (operator.setitem, operator.delitem)
RETURN_NOTHING_NAMES = ("append", "extend", "insert", "clear", "sort", "reverse", "remove", "update", "add", "discard",
                        "appendleft", "extendleft", "rotate", "fill")
CHANGERS = frozenset(RETURN_NOTHING_NAMES + (
    "pop", "popitem", "setdefault", "popleft", "__setitem__", "__delitem__", "__iadd__", "__ior__", "resize", "put",
    "difference_update", "intersection_update", "symmetric_difference_update", "subtract"))


def interpret_statement(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    """A statement that graph mode leaves to Python (a class, ...): a segment. Python is given copies of Tensors, so to
    assign to their items is not left to it.

    raises : AmbiguousTarget
    """
    namespace = frame.globals
    for name, value in zip(node.attrs["reads"], values):
        if name in node.attrs["changes"] and isinstance(value, AnfNode) and isinstance(value.abstract, AbstractTensor):
            raise AmbiguousTarget(f"a statement that runs in Python changes {name!r}, and a Tensor is given to it as a copy",
                                  location=node.origin.location)

    def statement(*reads):
        return run_segment(node, list(reads), namespace)
    location = node.origin.location
    # Its closure holds the namespace: all that the program has.
    setattr(statement, "reaches", [namespace[name] for name in node.attrs["code"].co_names if name in namespace])
    statement.__qualname__ = f"statement at line {location.line if location is not None else 0}"
    return call_unknown(ev, statement, tuple(values), {}, node.attrs["reason"], cure="statement")
