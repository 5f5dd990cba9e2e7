"""Inference: executing a syntax graph on what is known of its inputs, and writing the typed graph of the rest.

It is an online partial evaluator (Jones, Gomard & Sestoft 1993): known values are computed with, unknown ones become
typed nodes, calls are inlined, and so one graph comes out per signature. At a branch that is not known both sides are
executed in regions of their own and what they leave behind is merged (`control.py`); a loop is executed until the
types of what it carries no longer change.

    x: f32[N], n = 3        if n > 2: y = x * n           ->      %1 = mul(x, 3.0) : f32[N]
                            else: y = x
"""
from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any

from ..common.config import config
from ..common.dtype import DType
from ..common.errors import ArgumentError, MindliteError, NameLookupError, Refusal, Signal, Stage, fault, is_deep
from ..common.location import Location, Origin, is_framework
from ..common.tensor import Tensor
from ..fallback.log import Trap
from ..fallback.record import ABSENT, ANY, Records
from ..mindir import syntax
from ..mindir.abstract import AbstractAny, AbstractScalar
from ..mindir.builder import tensor_type
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.primitive import interpreting
from ..mindir.syntax import Undefined
from ..parse.parse import parse_function, refuse_undefined
from .branches import continue_exits, each_type, run_raise, run_switch, settle
from .calls import call_value
from .evaluating import Blocks
from .exceptions import believed, run_try
from .fallback import NeedsRecord, ask_python, call_unknown, from_outside
from .iterators import GeneratorCall, drain, iterator_of, mark_of, start
from .jumps import arrive, leave_to
from .kinds import has_nodes, leaves, map_parts, remade
from .loops import run_loop
from .outside import CONTAINERS, VIEWS, guard_contents, is_users
from .program import by_operators
from .recursion import call_recursive
from .region import Region, Tracer
from .sharing import spot
from .state import (MISSING, RETURN, Attempts, Calls, Fallbacks, Frame, Guards, Objects, Outcome, Raises, Recursion, Suspended,
                    Variables, ends_call)
from .trees import data_of, is_tree
from .values import Box, Closure, Conflict, Lives, Mixed, Place, Value, assumed_of, content_of_cell, fits

MAX_DEPTH = 200
# constructs that only hand values on, whatever they are
MOVES = {syntax.load_local, syntax.cell_new, syntax.cell_set, syntax.make_tuple, syntax.make_list, syntax.list_append,
         syntax.store_global, syntax.store_closure, syntax.format_value}


def takes_all_types(fn: Value) -> bool:
    """True for a function that the user wrote, and an exception: what is done with their arguments comes later."""
    return isinstance(fn, Closure) or is_users(getattr(fn, "__func__", fn)) or \
        isinstance(fn, type) and issubclass(fn, BaseException)


def name_of(node: CNode) -> str:
    """The name of a construct; of a cell with that of its variable, as all of them are made where the function begins."""
    return f"cell_new {node.attrs['name']}" if node.fn is syntax.cell_new else node.fn.name


class Evaluator:
    """The state of inferring one function: the Tracer, the stack of calls, the guards and fallbacks that were met."""

    concrete = False                                 # True where every value is real (concrete.py)

    def __init__(self, name: str = "f", fullgraph: bool = False, fallbacks: Records | None = None, variables: set | None = None,
                 refuted: Set[Place] = frozenset()) -> None:
        self.tracer = Tracer(Region(name))
        self.calls, self.objects, self.guards, self.attempts = Calls(), Objects(), Guards(), Attempts()
        self.fallback = Fallbacks(fullgraph, Records() if fallbacks is None else fallbacks)
        self.variables = Variables(set() if variables is None else variables, refuted)
        self.reasons: list[tuple[Location | None, str | Refusal]] = []     # (Location, why a loop is unrolled)
        self.after: tuple[dict, dict] = {}, {}       # what the stores of the two regions hold that are merged
        self.read_unassigned: set[str] = set()       # names of variables that were read where they have no value

    @property
    def store(self) -> dict[Any, Value]:
        """What was assigned to Tensors, and the content of mutable values."""
        return self.tracer.store

    # -- values of syntax nodes

    def read(self, frame: Frame, node: AnfNode) -> Value:
        """The value of a syntax node in `frame`."""
        if isinstance(node, ValueNode):
            value = node.value
        else:
            value = frame.lookup(node)
            if value is MISSING:
                raise NameLookupError("a variable is used before it is assigned", location=node.origin.location)
        if isinstance(value, AnfNode):
            return self.tracer.read(value)
        if isinstance(value, Conflict):
            raise value.error
        if value is ABSENT:
            raise Raises(Trap(None, (), self.tracer.origin.location), self.tracer.origin)
        return value

    def defined(self, value: Value, origin: Origin | None = None) -> Value:
        """`value`, or NameError where it is Undefined."""
        if isinstance(value, Undefined):
            raise NameLookupError(f"name {value.name!r} is not defined on this path",
                                  location=(origin or self.tracer.origin).location)
        return value

    # -- blocks

    def run_block(self, frame: Frame, block: FuncGraph, payload: tuple, stops: Blocks) -> Outcome:
        """Execute a block and those that it jumps to, until a return or a jump to one of `stops`."""
        if block in stops:
            return Outcome({block: leave_to(frame, block, payload[0])})
        return self.go_on(frame, Outcome({block: payload}), stops)

    def go_on(self, frame: Frame, outcome: Outcome, stops: Blocks) -> Outcome:
        """Execute the blocks that an outcome leads to, until a return or a jump to one of `stops`."""
        while outcome.single is not None:
            block = outcome.single
            if ends_call(block) or block in stops:
                return outcome
            arrive(frame, block, outcome.exits[block])
            args = [frame.env[p] for p in block.parameters]
            if getattr(block, "loop", None):
                outcome = run_loop(self, frame, block, args, stops)
            else:
                outcome = self.run_straight(frame, block, args, stops)
        return continue_exits(self, frame, outcome, stops)

    def run_once(self, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks) -> Outcome:
        """Execute one round of a loop: from its header until it comes back there (it is in `stops`) or leaves."""
        return self.go_on(frame, self.run_straight(frame, header, args, stops), stops)

    def run_nodes(self, frame: Frame, block: FuncGraph, args: Sequence[Value]) -> None:
        """Bind a block's parameters and execute its nodes."""
        frame.env.update(zip(block.parameters, args))
        frame.block = block
        for node in block.nodes:
            frame.env[node] = self.execute(frame, node)

    def run_straight(self, frame: Frame, block: FuncGraph, args: Sequence[Value], stops: Blocks) -> Outcome:
        """Execute the nodes of one block and its terminator."""
        self.run_nodes(frame, block, args)
        end = block.output
        self.tracer.move_to(end.origin)
        if end.fn is syntax.return_:
            return Outcome({RETURN: self.defined(self.read(frame, end.args[0]), end.origin)})
        if end.fn is syntax.switch:
            return run_switch(self, frame, end, stops)
        if end.fn is syntax.raise_:
            return run_raise(self, [self.read(frame, a) for a in end.args], end.origin, "again" in end.attrs)
        if end.fn is syntax.try_:
            return run_try(self, frame, end, stops)
        if end.fn is syntax.yield_:
            target = end.attrs.setdefault("target", Suspended(end))
            handled = sum(handles for _, handles in end.attrs["parts"])
            lives = Lives()
            for block in (end.attrs["resume"], *[outer.attrs["handler"] for outer, _ in end.attrs["parts"]]):
                lives.update(leave_to(frame, block, ())[1])
            return Outcome({target: (self.read(frame, end.args[0]), ((), lives),
                                     tuple(self.attempts.handling[len(self.attempts.handling) - handled:]))})
        args = [self.read(frame, a) for a in end.args]
        return Outcome({end.fn: leave_to(frame, end.fn, args) if end.fn in stops else (tuple(args), {})})

    def execute(self, frame: Frame, node: CNode) -> Value:
        """The value of one syntax node; errors get its place."""
        self.tracer.move_to(node.origin)
        fallback = self.fallback
        before = fallback.construct, fallback.asked          # what is asked of Python here is asked by this construct
        fallback.construct, fallback.asked = name_of(node), None
        try:
            return self.execute_on(frame, node, [self.read(frame, a) for a in node.args])
        except Exception as error:
            self.judge(error)
            raise
        finally:
            fallback.construct, fallback.asked = before

    def execute_on(self, frame: Frame, node: CNode, values: list) -> Value:
        """The construct for these values; for each type that one of them may be of."""
        if Mixed not in map(type, values) or node.fn in MOVES or node.fn is syntax.call and takes_all_types(values[0]):
            return EXECUTE[node.fn](self, frame, node, values)
        number = [type(value) for value in values].index(Mixed)

        def with_value(value):
            self.fallback.asked = None
            return self.execute_on(frame, node, [*values[:number], value, *values[number + 1:]])
        return each_type(self, values[number], with_value)

    def judge(self, error: Exception) -> None:
        """Raise what an exception of a construct stands for, where that is another one: a signal is itself, an error of mindlite
        may belong to the program inside a `try`, any other is an internal fault."""
        if isinstance(error, (Signal, MemoryError)) or is_deep(error):
            return
        if not isinstance(error, MindliteError):
            raise fault(error, "infer", self.users_place) from error
        error.at(self.tracer.origin.location)
        found = believed(self, error) if self.attempts.around else error
        if found is not error:
            raise found from error

    def users_place(self) -> Location | None:
        """The user's line that is executed, or that has called what is: a Location."""
        places = [frame.called_at for frame in self.calls.frames] + [self.tracer.origin.location]
        return next((place for place in reversed(places) if place is not None and not is_framework(place.file)), None)

    # -- calls

    def inside_cell(self, cell: Value) -> AbstractContextManager:
        """What is executed in the block is code of this Cell, if it is one."""
        return self.calls.inside_cell(cell, self.tracer)

    def call(self, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """fn(*args, **kwargs), whatever fn is."""
        return call_value(self, fn, args, kwargs)

    def call_graph(self, graph: Any, signature: Any, defaults: tuple | None, args: Sequence[Value], kwargs: dict[str, Any],
                   function: Value = None, outer: Frame | None = None, outer_env: Any = None, scope: str = "") -> Value:
        """Call a function given as a syntax graph."""
        bound = bind_arguments(graph.name, signature, defaults, args, kwargs)
        if signature.parameters and list(signature.parameters.values())[-1].kind is inspect.Parameter.VAR_KEYWORD:
            bound[-1] = self.new_box("dict", tuple(bound[-1].items()))
        if graph.generator:
            if function is not None and mark_of(self, function) in self.fallback.marks:
                return call_unknown(self, function, args, kwargs, "a generator is shared with Python code")
            return start(self, GeneratorCall(graph, function, outer, outer_env, scope), bound)
        key = (graph, outer_env and id(outer_env))
        place = graph.origin.location                        # jvp of a function that calls jvp is no recursion
        own = place is not None and is_framework(place.file)
        if key in self.calls.recursive or not own and self.calls.is_active(key, self.tracer.region.home):
            return call_recursive(self, key, lambda values: self.enter_call(
                key, graph, values, function, outer, outer_env, scope), bound)
        if len(self.calls.active) >= MAX_DEPTH:
            raise Refusal(f"{graph.name}: calls are nested more than {MAX_DEPTH} deep",
                                   location=self.tracer.origin.location, hint="is the recursion's end known?")
        try:
            return self.enter_call(key, graph, bound, function, outer, outer_env, scope)
        except Recursion as found:
            if found.key != key or self.calls.is_active(key):
                raise
            return call_recursive(self, key, lambda values: self.enter_call(
                key, graph, values, function, outer, outer_env, scope), bound)

    def enter_call(self, key: Any, graph: FuncGraph, values: Sequence[Value], function: Value, outer: Frame | None,
                   outer_env: Any, scope: str) -> Value:
        """Execute the graph in a new frame."""
        frame = Frame(graph, function, outer, outer_env, scope)
        outcome = self.within(frame, key, lambda: self.run_block(frame, graph, (tuple(values), {}), frozenset()))
        exits = settle(self, outcome).exits
        if RETURN not in exits:                              # on no path anything is known of what Python code gives
            if self.fallback.needed is not None:
                raise NeedsRecord(*self.fallback.needed)
            raise Refusal(f"no path of {graph.name} is known to come to its end", None, graph.origin.location)
        return exits[RETURN]

    def new_frame(self, call: GeneratorCall) -> Frame:
        """A Frame for a GeneratorCall."""
        return Frame(call.graph, call.function, call.outer, call.outer_env, call.scope)

    def within(self, frame: Frame, key: Any, body: Callable[[], Any]) -> Any:
        """body(), which executes something of `frame`."""
        with self.calls.inside(frame, key, self.tracer):
            try:
                return body()
            except (MindliteError, Signal) as error:
                self.calls.fail(error, self.tracer.origin.location)
                raise
            except Exception as error:
                self.judge(error)
                raise

    def call_function(self, function: Value, args: Sequence[Value], kwargs: dict[str, Any], scope: str = "") -> Value:
        """Call a Python function whose source can be parsed."""
        with Stage("parse", self.users_place):
            graph = parse_function(function, self.fallback.marks)
        self.fallback.left |= graph.left
        if config.mindspore_rules:
            refuse_undefined(graph, function)
        if not is_framework(function.__code__.co_filename):
            self.guard("attr", function, "__code__", function.__code__)
        if function.__defaults__ or function.__kwdefaults__:
            for name in ("__defaults__", "__kwdefaults__"):
                self.guard("attr", function, name, getattr(function, name))
            self.guard_content(function.__kwdefaults__)
        signature = inspect.signature(function, follow_wrapped=False)
        return self.call_graph(graph, signature, None, args, kwargs, function=function, scope=scope)

    # -- running Python over nodes

    def trace(self, function: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """Run a Python function of the framework on the values: its operators write nodes."""
        guard_contents(self, (args, tuple(kwargs.values())))
        args, kwargs = self.unbox(args), self.unbox(kwargs)
        with interpreting(self.tracer):
            made = self.box(by_operators(self, function, *args, **kwargs))
        if type(made) is Tensor and (args or kwargs) and is_plain((args, kwargs)):     # ops.arange(3): made here, of nothing else
            self.make_object(made)
        return made

    def unbox(self, value: Value) -> Value:
        """`value` with Boxes replaced by Python lists, dicts and sets with their content, and nodes by their newest value."""
        if isinstance(value, Box):
            content = self.store[value]
            if value.kind == "list":
                return [self.unbox(v) for v in content]
            if value.kind == "dict":
                return {k: self.unbox(v) for k, v in content}
            if value.kind == "set":
                return set(content)
            if value.kind == "iterator":
                raise Refusal("an iterator is given to Python code", value.marks, self.tracer.origin.location)
            return self.unbox(content)
        if type(value) is dict:
            return remade(value, [self.unbox(v) for v in value.values()])
        if is_tree(value):                                   # an operator asks
            return data_of(self, value)
        return self.tracer.current(value) if isinstance(value, AnfNode) else map_parts(self.unbox, value)

    def box(self, value: Value) -> Value:
        """`value` with the lists and dicts that hold nodes replaced by Boxes."""
        if isinstance(value, list) and has_nodes(value, self.store):
            return self.new_box("list", tuple(self.box(v) for v in value))
        if type(value) is dict and has_nodes(value, self.store):
            return self.new_box("dict", tuple((k, self.box(v)) for k, v in value.items()))
        return map_parts(self.box, value)

    def new_box(self, kind: str, content: Value, name: str = "") -> Value:
        """A fresh mutable value; one that is marked is an object that Python makes."""
        mark = self.mark_of(f"{kind} {name}")
        if mark in self.fallback.marks:
            return ask_python(self, MAKE[kind], (content,), f"a {kind} is shared with Python code", ANY)
        box = Box(kind, name, (mark,))
        self.store[box] = content
        return box

    def drain(self, value: Value) -> list:
        """The items that are left of an iterator, or all of what has one, as a list."""
        return drain(self, iterator_of(self, value))

    def is_object(self, value: Value) -> bool:
        """True for a Python object of which nothing is known until run time."""
        return isinstance(value, AnfNode) and isinstance(value.abstract, AbstractAny)

    # -- objects that are made inside

    def make_object(self, value: Value, what: str | None = None) -> Value:
        """Remember that `value` is an object of this run: it is no variable outside, and new in every run."""
        self.objects.add(value, self.mark_of(what or type(value).__name__), self.tracer.region)
        return value

    def mark_of(self, what: str) -> tuple:
        """The mark that makes what is made here, now, Python's from the beginning."""
        return "made", what, spot(self.tracer.origin.location)

    def is_marked(self, what: str) -> bool:
        """True if it is."""
        return not self.concrete and bool(self.fallback.marks) and self.mark_of(what) in self.fallback.marks

    def made_here(self, value: Value) -> bool:
        """True for an object that the function makes."""
        return value in self.objects

    def made_inside(self, key: Value) -> bool:
        """True for a list or node in the store of a region that is left, if it was made there."""
        if isinstance(key, AnfNode):
            return not self.tracer.region.can_see(key)
        return isinstance(key, Box) and key not in self.store

    # -- guards

    def guard(self, kind: str, owner: Any, name: Any, value: Value) -> None:
        """Remember that `name` of `owner` was read at compile time and was `value`."""
        if owner not in self.objects:
            self.guards.add(kind, owner, name, value)

    def guard_content(self, value: Value) -> bool:
        """Guard the content of a Python list, dict or set; False if it changes during the run, so that it is not known."""
        if self.variables.is_changed(value) or isinstance(value, VIEWS) and not (self.concrete or self.made_here(value)):
            return False
        if not self.concrete and isinstance(value, CONTAINERS):
            self.guard("content", value, "", copy.copy(value))
        return True

    # -- variables outside of the graph

    def read_place(self, place: Place) -> Value:
        """The value of a Place: the value that the graph assigned; an input, if it
        changes between runs; otherwise a constant with a guard."""
        if place in self.store:
            return self.store[place]
        if self.is_restless(place):
            return ask_python(self, place.read, (), "a variable that Python code changes is read")
        return self.initial(place)

    def is_restless(self, place: Place) -> bool:
        """True for a variable that is read at run time: Python code changes it, or saw it after the graph assigned it."""
        return place in self.variables.written or place.key in self.fallback.records.volatile

    def initial(self, place: Place) -> Value:
        """The value of a Place at the beginning of a run."""
        value = place.read()
        if self.made_here(place.owner):
            return value
        if place not in self.variables.varying and not self.foresees(place, value) or not can_vary(value):
            self.guard(place.kind, place.owner, place.name, value)
            return from_outside(self, value)
        inputs = self.variables.inputs
        if place not in inputs:
            abstract = AbstractScalar(type(value)) if not isinstance(value, Tensor) else tensor_type(value)
            inputs[place] = self.tracer.root.graph.add_parameter(place.name or "cell", abstract)
            self.guard("kind of " + place.kind, place.owner, place.name, assumed_of(value))
        return self.tracer.lift(inputs[place])

    def foresees(self, place: Place, value: Any) -> bool:
        """True for a variable to which the block that reads it assigns, as `self.n += 1` does: it is an input from now on."""
        if self.concrete or place in self.variables.refuted or not can_vary(value):
            return False
        frame = self.calls.frames[-1] if self.calls.frames else None
        if frame is None or not assigns_in(frame, place):
            return False
        self.variables.varying.add(place)
        self.variables.foreseen.add(place)
        return True

    def write_place(self, place: Place, value: Value) -> None:
        """Assign to a Place: it happens when the run is over."""
        if self.concrete:
            place.write(value)
        else:
            self.store[place] = value


def is_plain(value: Value) -> bool:
    """True for numbers, names and types, and tuples, lists and dicts of them: nothing that anybody could change."""
    return all(leaf is None or isinstance(leaf, (bool, int, float, complex, str, DType)) for leaf in leaves(value))


def can_vary(value: Value) -> bool:
    """True for what a Place may hold as an input of the graph: a number or a Tensor."""
    return type(value) in (int, float, bool) and fits(value) or type(value) is Tensor


def will_be(frame: Frame, node: AnfNode) -> Any:
    """What a node of a frame is, or will be if it is a name, or an attribute of one, to which nothing is assigned before."""
    if isinstance(node, ValueNode):
        return node.value
    value = frame.lookup(node)
    if value is not MISSING or not isinstance(node, CNode):
        return value
    if node.fn is syntax.load_global:
        return frame.globals.get(node.attrs["name"])
    if node.fn is syntax.load_closure:
        return content_of_cell(frame.closure_cell(node.attrs["name"]), None)
    return getattr(will_be(frame, node.args[0]), "__dict__", {}).get(node.attrs["name"]) if node.fn is syntax.load_attr else None


def assigns_in(frame: Frame, place: Place) -> bool:
    """True if the block that a frame executes assigns to a Place."""
    for node in frame.block.nodes if frame.block is not None else ():
        if node.fn is syntax.store_attr and place.kind == "attr" and node.attrs["name"] == place.name:
            if will_be(frame, node.args[0]) is place.owner:
                return True
        elif node.fn is syntax.store_global and place.kind == "item" and node.attrs["name"] == place.name:
            return True
        elif node.fn is syntax.store_closure and place.kind == "cell" and frame.closure_cell(
                node.attrs["name"]) is place.owner:
            return True
    return False


def bind_arguments(name: str, signature: inspect.Signature, defaults: tuple | None, args: Sequence[Value],
                   kwargs: dict[str, Any]) -> list:
    """The values of a function's parameters, by Python's rules. raises : ArgumentError with Python's own sentence."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        raise ArgumentError(_complaint(name, signature, args, kwargs), hint=f"{name}{_show(signature)}") from None
    values = []
    for parameter in signature.parameters.values():
        if parameter.name in bound.arguments:
            values.append(bound.arguments[parameter.name])
        elif parameter.kind is parameter.VAR_POSITIONAL:
            values.append(())
        elif parameter.kind is parameter.VAR_KEYWORD:
            values.append({})
        else:
            values.append(parameter.default if defaults is None else defaults[parameter.default])
    return values


def _complaint(name: str, signature: inspect.Signature, args: Sequence[Value], kwargs: dict[str, Any]) -> str:
    """What Python says when a function of this signature is called with these arguments."""
    parameters = [p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else 0)
                  for p in signature.parameters.values()]
    namespace: dict = {}
    exec(f"def f{inspect.Signature(parameters)}: pass", namespace)
    stand_in = namespace["f"]
    stand_in.__qualname__ = name
    try:
        stand_in(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return f"{name}() cannot be called like this"


def _show(signature: inspect.Signature) -> str:
    return "(" + ", ".join(str(p.replace(annotation=inspect.Parameter.empty))
                           for p in signature.parameters.values()) + ")"


def _cell(content: Value) -> types.CellType:
    return types.CellType() if isinstance(content, Undefined) else types.CellType(content)


MAKE: dict[str, Callable[..., Any]] = {"list": list, "dict": dict, "set": set, "cell": _cell}

# {Syntax: (evaluator, frame, node, values) -> value}, filled by execute.py
EXECUTE: dict = {}
