"""The entry of inference: a Python function and a description of its arguments give a typed graph.

    specialise(f, (AbstractTensor(f32, (N, 3)), 2), {})  ->  Specialised(graph, output, inputs, updates, guards, ...)
"""
import functools
import itertools
from dataclasses import field
from typing import Any

from ..common.errors import (DTypeError, EndlessRecursionError, GradientError, IndexRangeError, InternalError, MindliteError,
                             Refusal, ShapeError, UndefinedNameError, ValueRangeError, fault, is_deep, placing)
from ..common.records import dataclass
from ..common.storage import copied
from ..common.tensor import Tensor
from ..fallback.log import Trap
from ..fallback.record import Records
from ..mindir.abstract import Abstract, AbstractAny
from ..mindir.builder import constant
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import AnfNode, Parameter
from ..mindir.inline import has_effects
from .calls import call_value
from .evaluator import Evaluator, can_vary
from .fallback import NeedsRecord
from .hooks import hooks_at
from .jumps import may_wait
from .outcome import Raises
from .region import AmbiguousTarget, HookHandle
from .outside import CONTAINERS
from .sharing import spot
from .values import BoundMethod, Box, Closure, Conflict, Formatted, MadeException, Mixed, Place, Range
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


@dataclass(frozen=True)
class Result:
    """Stands for output `number` of the graph in a Specialised's output; argument: which argument it is, if it is
    one."""
    number: int
    argument: Any = None


@dataclass(frozen=True)
class Leaf:
    """Stands, among the arguments, for a Parameter: what is assigned to it gets no gradient."""
    abstract: Any


@dataclass(frozen=True)
class Same:
    """Stands, among the arguments, for the very Tensor that is number `number` of them; below 0 for a list or dict."""
    number: int


@dataclass(frozen=True)
class HookOn:
    """Stands, among what the function did, for argument `number`, on which it has registered a hook."""
    number: int


@dataclass(frozen=True)
class Container:
    """Stands for list or dict `number` of the arguments, itself."""
    number: int


@dataclass(frozen=True)
class Made:
    """Stands for what Python makes of results: make(*items)."""
    make: Any
    items: tuple


def specialise(function, args, kwargs, name="f", fullgraph=False, fallbacks=None, pure=False,
               weights=(), varying=()):
    """Infer `function` for arguments in which Abstracts stand for run-time values; everything else is constant.

    args, kwargs: pytrees (tuple, list, dict) of Abstract and constants. An Abstract met twice is two parameters.
    fallbacks   : the Records of the function; what inference leaves to Python is marked there
    weights     : Parameters of which gradients are wanted: what runs in Python reads them as inputs of the graph
    varying     : Places outside that are inputs of the graph, as those are that it reads and assigns
    pure    : True where Python has run such a call without an exception: one that comes up here is no user's
    """
    variables = set(varying)                                 # what is read and assigned: an input of the graph
    records = Records() if fallbacks is None else fallbacks
    before = dict(records.marks)
    while True:
        variables |= {key[:2] for key in records.volatile if key[0] == "content"}
        known = set(variables)
        ev = Evaluator(name, fullgraph, records, variables)
        try:
            made = _specialise(ev, function, args, kwargs, weights)
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
        found = {key for key in ev.store if isinstance(key, Place) and key.key in ev.guards
                 and can_vary(ev.guards[key.key][3])}
        stale = {key for key in variables if isinstance(key, tuple) and (*key, "") in ev.guards}
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


def refused(ev, error):
    """The Refusal by which inference ends; None for an error that the user is to see, and for a fault."""
    if isinstance(error, Raises) and isinstance(error.exception, Trap):
        error = NeedsRecord(*ev.needed)
    if isinstance(error, NeedsRecord):
        return Refusal(str(error), None, certain=False, awaits=error.key)
    if isinstance(error, Raises):
        return Refusal(repr(error.exception), location=error.origin and error.origin.location, certain=False,
                       cause=error.exception if isinstance(error.exception, BaseException) else None)
    if isinstance(error, Refusal):
        error.at(ev.failed[1] if ev.failed and ev.failed[0] is error else None)
        return error
    if isinstance(error, OF_THE_USER):
        return None
    if isinstance(error, MindliteError):                     # Python has its own words for it
        refusal = Refusal.uncertain(error)
        refusal.statements = ()
        return refusal.at(ev.failed[1] if ev.failed and ev.failed[0] is error else None)
    return Refusal("the code is nested too deeply for a graph", None) if is_deep(error) else None


def leave_to_python(ev, refusal):
    """Mark what Python has to do so that this does not come up again; False where nothing is left to mark."""
    marks, location = ev.fallbacks.marks, refusal.location
    if refusal.statements is None:
        return False
    wanted = list(refusal.statements)
    if location is not None:
        wanted += [("statement", spot(location), n) for n in range(MAX_AROUND)]
    new = next((mark for mark in wanted if mark not in marks), None)
    if new is None or len(marks) >= MAX_MARKS:
        return False
    marks[new] = refusal.message
    return True


def _has_acted(ev, entered):
    """True if something that is seen outside has been done. entered: {Box of an argument: its first content}"""
    outside = [key for key in ev.store if not isinstance(key, Box) and not (isinstance(key, Place)
                                                                            and ev.made_here(key.owner))]
    return bool(outside) or any(ev.store[box] is not content for box, content in entered.items()) or has_effects(
        ev.tracer.root.graph)


def copy_of(tensor):
    """A Tensor of its own with the same elements."""
    return Tensor.of_elements(copied(tensor.elements))


def _holds_container(value):
    return isinstance(value, CONTAINERS) or isinstance(value, tuple) and any(map(_holds_container, value))


def _itself(value):
    return value


def _chosen(*parts):
    return Mixed.choose(parts)


def _set_of(*items):
    return set(items)


def _specialise(ev, function, args, kwargs, weights):
    graph = ev.tracer.root.graph
    # the Boxes of the arguments: their numbers, their first content
    containers, entered, objects, numbers = {}, {}, {}, itertools.count()
    marks = ev.fallbacks.marks
    tensors = []
    boxes: dict = {}  # the arguments that Same counts

    def enter(value, label):
        if isinstance(value, Abstract):
            made = graph.add_parameter(label, value)
            if hasattr(value, "shape"):
                tensors.append(made)
            return made
        if isinstance(value, Leaf):
            made = enter(value.abstract, label)
            ev.tracer.leaves.append(made)
            return made
        if isinstance(value, Same):
            return tensors[value.number] if value.number >= 0 else boxes[-1 - value.number]
        if isinstance(value, tuple):
            made = [enter(v, f"{label}_{i}") for i, v in enumerate(value)]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if type(value) in (list, dict):
            kind, number = type(value).__name__, next(numbers)
            if ("argument", label) in marks:
                boxes[number] = objects[number] = Parameter(graph, label, AbstractAny())
            else:
                boxes[number] = box = Box(kind, marks=(("argument", label),))
                containers[box] = number
            content = tuple(enter(v, f"{label}_{i}") for i, v in enumerate(value)) if kind == "list" else \
                tuple((k, enter(v, f"{label}_{k}")) for k, v in value.items())
            if number not in objects:
                ev.store[box] = entered[box] = content
            return boxes[number]
        return value
    inside = tuple(enter(v, f"x{i}" if len(args) > 1 else "x") for i, v in enumerate(args))
    named = {k: enter(v, k) for k, v in kwargs.items()}
    graph.parameters += objects.values()
    for weight in weights:
        ev.store[weight] = ev.tracer.input(weight)
    with collecting() as constraints, placing(lambda: ev.tracer.origin.location):
        try:
            with ev.inside_cell(getattr(function, "__self__", None)):      # of a method of a Cell
                value = call_value(ev, function, inside, named)
            ev.tracer.root.finish()
        except (InternalError, Refusal, UndefinedNameError):
            raise
        except MindliteError as error:
            if _has_acted(ev, entered):
                raise Refusal.uncertain(error) from error
            raise
    arguments = {p: i for i, p in enumerate(p for p in graph.parameters if p.default is None)}
    outputs, gone = [], set()

    def leave(value):
        value = ev.tracer.current(value) if isinstance(value, (AnfNode, Tensor)) else value
        if isinstance(value, AnfNode):
            outputs.append(value)
            return Result(len(outputs) - 1, arguments.get(value))
        if id(value) in ev.shared and _holds_container(value):
            return Made(functools.partial(_itself, value), ())
        if isinstance(value, tuple):
            made = [leave(v) for v in value]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if isinstance(value, Box):
            return Container(containers[value]) if value in containers else content_of(value)
        if type(value) is dict:
            return {k: leave(v) for k, v in value.items()}
        if isinstance(value, Formatted):
            return Made(lambda *values: value.make(list(values)), tuple(leave(v) for v in value.values))
        if isinstance(value, Mixed):
            return Made(_chosen, tuple(leave(v) for v in value.parts))
        if isinstance(value, Range):
            return Made(range, (leave(value.start), leave(value.stop), leave(value.step)))
        if isinstance(value, Conflict):
            raise value.error
        if isinstance(value, Closure):
            raise Refusal("a function that was made inside the graph leaves it",
                                [("statement", spot(value.graph.origin.location), 0)])
        if isinstance(value, HookHandle):
            raise AmbiguousTarget("the handle of a hook leaves the graph")
        if isinstance(value, BoundMethod):
            raise Refusal(f"the method {value.name!r} of a value that is made at run time leaves the graph")
        if isinstance(value, MadeException):
            raise Refusal("an exception that was made inside the graph leaves it", value.marks)
        if isinstance(value, Tensor) and ev.made_here(value):
            return Made(functools.partial(copy_of, value), ())
        if ev.made_here(value):
            raise Refusal(f"a {type(value).__name__} that was made inside the graph leaves it",
                                [ev.made_marks[id(value)]])
        if hasattr(value, "terms"):                          # a Dim
            outputs.append(constant(value))
            return Result(len(outputs) - 1)
        return value

    def content_of(value):
        content = ev.store[value]
        if isinstance(content, Conflict):
            raise content.error
        if value.kind == "iterator":
            raise Refusal("an iterator that was made inside the graph leaves it", value.marks)
        if value in gone:
            raise Refusal(f"a {value.kind} leaves the graph in several places", value.marks)
        gone.add(value)
        return {k: leave(v) for k, v in content} if value.kind == "dict" else \
            [leave(v) for v in content] if value.kind == "list" else Made(_set_of, tuple(leave(v) for v in content))
    output = leave(value)
    if ev.left_waiting or may_wait(ev.store):
        raise Refusal("a generator is left in the middle of a try or with statement")
    changes: list[tuple[Any, Any]] = [(number, content_of(box)) for box, number in containers.items()
                                      if ev.store[box] is not entered[box]]
    for place, value in ev.store.items():
        if isinstance(place, Place) and not ev.made_here(place.owner):
            changes.append((place, leave(value)))            # one that is there now, too: it may not be next time
    changes += [(HookOn(arguments[x]), leave(hook)) for x in ev.tracer.root.hooks if x in arguments
                for hook in hooks_at(ev, ev.tracer.root, x)]
    updates = []
    for target, newest in ev.store.items():
        owner: Any = None
        if isinstance(target, Tensor) and not ev.made_here(target) and newest is not ev.tracer.input(target):
            owner = target
        if owner is None and isinstance(target, AnfNode) and target in arguments:
            owner = arguments[target]                        # an argument that the function changes in place
        if owner is not None:
            outputs.append(ev.tracer.current(newest))
            updates.append((owner, len(outputs) - 1))
    graph.set_outputs(outputs, make_tuple)
    return Specialised(graph, output, changes, list(ev.inputs), updates, list(ev.guards.values()), constraints,
                       ev.reasons, ev.sites, frozenset(ev.keys), tuple(objects),
                       tuple([p.default for p in graph.parameters if p.default is not None and ev.made_here(p.default)]),
                       ev.acts_and_raises, tuple(sorted(arguments[x] for x in ev.tracer.differentiated)))
