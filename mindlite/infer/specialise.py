"""The entry of inference: a Python function and a description of its arguments give a typed graph.

    specialise(f, (AbstractTensor(f32, (N, 3)), 2), {})  ->  Specialised(graph, output, inputs, updates, guards, ...)
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from ..common.errors import (DTypeError, EndlessRecursionError, GradientError, IndexRangeError, InternalError, MindliteError,
                             Refusal, ShapeError, UndefinedNameError, ValueRangeError, fault, is_deep, placing)
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..fallback.log import Trap
from ..fallback.record import Records
from ..mindir.abstract import AbstractTree
from ..mindir.constraints import Constraint, collecting
from ..mindir.control import make_tuple
from ..mindir.inline import has_effects
from .calls import call_value
from .evaluator import Evaluator, can_vary
from .fallback import NeedsRecord
from .jumps import may_wait
from .state import NEVER, Departs, Raises
from .region import Tracer
from .results import Arguments, Results
from .sharing import spot
from .trees import refuse_misuse
from .values import Box, Place, Value
from . import execute, library  # noqa: F401  (they fill the tables of constructs and of functions)


@dataclass
class Specialised:
    """What inference gives.

    graph      : the typed graph; its first parameters are the run-time arguments in order, then implicit inputs (their
                 Tensor is the parameter's `default`)
    output     : the function's value with Results in place of run-time parts
    changes    : what the function did: (number of a list or dict among the arguments, or a Place outside; its new
                 content), (HookOn, the hook)
    places     : the Places whose values at the call are further run-time arguments, in order
    updates    : (Tensor, number of the output that it is assigned)
    guards     : what was read at compile time: (kind, owner, name, value)
    constraints: facts about sizes that must hold
    reasons    : (Location, why something was unrolled)
    sites      : the pieces of Python code
    keys       : the keys of the records that it was compiled by
    objects    : numbers of the lists and dicts among the arguments that are run-time arguments, after the rest
    made       : the implicit inputs that the function makes itself: constants
    differentiated: numbers of the arguments by which a derivative is taken, and that may have hooks
    acts_and_raises: True if on some path something is assigned, and then an exception raised
    """
    graph: Any
    output: Any
    changes: list
    places: list
    updates: list
    guards: list
    constraints: list
    reasons: list
    sites: list = field(default_factory=list)
    keys: frozenset = frozenset()
    objects: tuple = ()
    made: tuple = ()
    acts_and_raises: bool = False
    differentiated: tuple = ()


def specialise(function: Any, args: Sequence[Any], kwargs: dict[str, Any], name: str = "f", fullgraph: bool = False,
               fallbacks: Records | None = None, pure: bool = False, weights: Sequence[Tensor] = (),
               varying: Iterable[Place] = ()) -> Specialised:
    """Infer `function` for arguments in which Abstracts stand for run-time values; everything else is constant.

    args, kwargs: pytrees (tuple, list, dict) of Abstract and constants. An Abstract met twice is two parameters.
    fallbacks   : the Records of the function; what inference leaves to Python is marked there
    weights     : Parameters of which gradients are wanted: what runs in Python reads them as inputs of the graph
    varying     : Places outside that are inputs of the graph, as those are that it reads and assigns
    pure    : True where Python has run such a call without an exception: one that comes up here is no user's
    """
    variables: set = set(varying)                            # what is read and assigned: an input of the graph
    refuted: set[Place] = set()
    records = Records() if fallbacks is None else fallbacks
    before = dict(records.marks)
    while True:
        variables |= {key[:2] for key in records.volatile if key[0] == "content"}
        known = set(variables)
        ev = Evaluator(name, fullgraph, records, variables, refuted)
        try:
            made = infer(ev, function, args, kwargs, weights)
        except Exception as error:
            refusal = refused(ev, error)
            if refusal is not None and refusal.awaits is not None:
                raise refusal from None
            if refusal is None or fullgraph or not (refusal.certain or pure) or not leave_to_python(ev, refusal):
                records.marks = before
                if refusal is None and not isinstance(error, MindliteError):
                    raise fault(error, "infer", ev.users_place) from error
                raise (refusal or error) from error.__cause__
            continue
        unassigned = ev.variables.foreseen - ev.variables.written - set(ev.store)
        if unassigned:                                       # a constant, as nothing assigns to it after all
            variables -= unassigned
            refuted |= unassigned
            continue
        found = {key for key in ev.store if isinstance(key, Place) and key.key in ev.guards.found
                 and can_vary(ev.guards.found[key.key][3])}
        read = {key[:2] for key in ev.guards.found}
        stale = {key for key in variables if isinstance(key, tuple) and key in read}
        if not found and not stale:
            return made
        variables |= found
        if variables == known:                               # what a gradient takes for a constant is assigned
            raise Refusal(f"the function assigns what its graph was made with: {sorted(map(str, found))}")


# errors of operators are the user's to see, before anything runs
OF_THE_USER = (DTypeError, EndlessRecursionError, GradientError, IndexRangeError, InternalError, ShapeError, UndefinedNameError,
               ValueRangeError)
MAX_MARKS = 64                   # of one function: beyond, it is Python's as a whole
MAX_AROUND = 8                   # statements around a place that are tried, the innermost first


def refused(ev: Evaluator, error: Exception) -> Any:
    """The Refusal by which inference ends; None for an error that the user is to see, and for a fault."""
    if isinstance(error, Raises) and isinstance(error.exception, Trap):
        error = NeedsRecord(*ev.fallback.needed)
    if isinstance(error, NeedsRecord):
        return Refusal(str(error), None, certain=False, awaits=error.key)
    if isinstance(error, Raises):
        return Refusal(repr(error.exception), location=error.origin.location if error.origin else None, certain=False,
                       cause=error.exception if isinstance(error.exception, BaseException) else None)
    if isinstance(error, Refusal):
        return error.at(ev.calls.place_of(error))
    if isinstance(error, OF_THE_USER):
        return None
    if isinstance(error, MindliteError):                     # Python has its own words for it
        refusal = Refusal.uncertain(error)
        refusal.statements = ()
        return refusal.at(ev.calls.place_of(error))
    return Refusal("the code is nested too deeply for a graph", None) if is_deep(error) else None


def leave_to_python(ev: Evaluator, refusal: Refusal) -> bool:
    """Mark what Python has to do so that this does not come up again; False where nothing is left to mark."""
    marks, location = ev.fallback.marks, refusal.location
    if refusal.statements is None:
        return False
    wanted = list(refusal.statements)
    if location is not None:
        wanted += statements_around(ev, spot(location))
    new = next((mark for mark in wanted if mark not in marks), None)
    if new is None or len(marks) >= MAX_MARKS:
        return False
    marks[new] = refusal.message
    return True


def statements_around(ev: Evaluator, place: tuple) -> Iterator[tuple]:
    """The marks of the statements around a place, the innermost first. If a marked one is not in the
    function, nor any around it, the place is in a lambda, or in code that Python calls."""
    found = [n for around, n in ev.fallback.left if around == place]
    for n in range(MAX_AROUND):
        if ("statement", place, n) in ev.fallback.marks and n > max(found, default=-1):
            return
        yield "statement", place, n


class Facts(list):
    """Facts about sizes of the arguments, which the choice of a variant checks. A fact about a computed size
    (`ops.glu` requires an even size) is checked in the graph, where it is required."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def append(self, constraint: Constraint) -> None:
        """Take a Constraint."""
        if self.tracer.is_of_arguments(constraint):
            super().append(constraint)
        else:
            self.tracer.demand(constraint)


def infer(ev: Evaluator, function: Any, args: Sequence[Any], kwargs: dict[str, Any], weights: Sequence[Tensor]) -> Specialised:
    """Execute the function on its arguments, and write down what it gives: a Specialised."""
    arguments = Arguments(ev)
    inside = tuple([arguments.enter(v, f"x{i}" if len(args) > 1 else "x") for i, v in enumerate(args)])
    named = {k: arguments.enter(v, k) for k, v in kwargs.items()}
    graph = ev.tracer.root.graph
    graph.parameters += arguments.objects.values()
    for weight in weights:
        ev.store[weight] = ev.tracer.input(weight)
    with collecting(Facts(ev.tracer)) as constraints:
        value = execute_function(ev, function, inside, named, arguments)
    results = Results(ev, arguments)
    output = results.leave(value)
    if ev.attempts.left_waiting or may_wait(ev.store):
        raise Refusal("a generator is left in the middle of a try or with statement")
    changes, updates = results.changes(), results.updates()
    graph.set_outputs(results.outputs, make_tuple)
    if any(isinstance(p.abstract, AbstractTree) for p in graph.parameters):
        refuse_misuse(graph)
    made = tuple([p.default for p in graph.parameters if p.default is not None and ev.made_here(p.default)])
    return Specialised(graph, output, changes, list(ev.variables.inputs), updates, list(ev.guards.found.values()),
                       list(constraints), ev.reasons, ev.fallback.sites, frozenset(ev.fallback.keys),
                       tuple(arguments.objects), made, ev.attempts.after_effects,
                       tuple(sorted(results.numbers[x] for x in ev.tracer.derivatives.differentiated)))


def execute_function(ev: Evaluator, function: Any, args: tuple, kwargs: dict[str, Value], arguments: Arguments) -> Value:
    """What the function gives for values inside.

    raises : what inference does; an uncertain Refusal for an error behind something that is seen outside
    """
    with placing(lambda: ev.tracer.origin.location):
        try:
            try:
                with ev.inside_cell(getattr(function, "__self__", None)):      # of a method of a Cell
                    value = call_value(ev, function, args, kwargs)
            except Departs as departed:
                if departed.outcome is not NEVER:
                    raise
                value = None                                 # the run ends with an exception
            ev.tracer.root.finish()
            return value
        except (InternalError, UndefinedNameError):
            raise
        except (MindliteError, Raises) as error:
            if not (arguments.have_changed() or has_acted(ev)):
                raise
            refusal = refused(ev, error) if isinstance(error, (Refusal, Raises)) else Refusal.uncertain(error)
            refusal.acts = refusal.cause is not None and not communicates(ev)
            raise refusal from error


def communicates(ev: Evaluator) -> bool:
    """True if ranks have to meet in what is written: then nothing of it is done, on any rank, for the sake of an error."""
    graphs = ev.tracer.root.graph.reachable()
    return any("collective" in getattr(node.fn, "traits", ()) for graph in graphs for node in graph.nodes)


def has_acted(ev: Evaluator) -> bool:
    """True if something that is seen outside has been done."""
    return has_effects(ev.tracer.root.graph) or any(
        not isinstance(key, Box) and not (isinstance(key, Place) and ev.made_here(key.owner)) for key in ev.store)
