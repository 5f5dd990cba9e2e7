"""Executing a function through inference's eyes, on real values: the first run of what has JIT Fallback in it.

Every operator is computed at once, lists are lists and functions are functions, so this is Python; but what every
construct gives, and every call that would become a segment of a graph, is recorded, under the key by which inference
asks for it.

    y = np.sort(x.asnumpy())          runs, and records   (line, "sort") -> any

With the log of a compiled run that was trapped it begins that run again: calls that were made then are not made twice.
"""
from __future__ import annotations

import copy
import dataclasses
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..common.errors import InternalError, MindliteError, Passed, Stage, is_deep
from ..common.location import is_framework
from ..common.tensor import Parameter as TensorParameter
from ..common.tracebacks import call_at, namespace_of, passed_through, users_part
from ..fallback.handed import changed, tensors_in
from ..fallback.log import Log, Raised
from ..fallback.record import Records
from ..mindir import syntax
from ..mindir.graph import CNode
from ..mindir.primitive import Primitive, eager
from ..mindir.protocol import CallOf, CustomGradient, Hooked, Recomputed
from ..mindir.syntax import Undefined
from ..ops.state import pause_gradients, resume_gradients
from .access import LEAVES_TENSORS, OPERATORS, binary_value, is_tensor
from .builtins import BUILTINS
from .calls import FRAMEWORK, dataclass_object, is_coroutine, is_plain_class, make_exception, only_keeps_its_arguments
from .evaluating import Evaluating
from .evaluator import EXECUTE, MAKE, Evaluator, name_of
from .fallback import call_key, construct_key, read_cell
from .kinds import leaves
from .library import replace
from .outside import from_library, is_users, own_method
from .program import by_python, own_exceptions
from .region import Tracer
from .state import Frame, Raises
from .values import BoundMethod, Closure, LeavingMethod, LiveIterator, Place, Value

CHANGE = {syntax.inplace, syntax.store_item, syntax.delete_item, syntax.store_attr}     # what Python's objects do in place
CONCRETE: dict = {}                                  # {Syntax: function} for the constructs that differ from EXECUTE


class _Values(Tracer):
    """A Tracer that computes."""

    def lift(self, value: Value) -> Any:
        """Values stand for themselves."""
        return value

    def current(self, value: Value) -> Value:
        """The value."""
        return value

    def write(self, prim: Any, args: Sequence[Value], attrs: dict[str, Any]) -> Any:
        """Compute."""
        try:
            with eager():
                return prim(*args, **attrs)
        except MindliteError:
            raise
        except Exception as error:
            raise Passed(error) from error

    def pause(self) -> None:
        """From here on nothing is recorded on tapes, until `resume`."""
        with eager():
            pause_gradients()

    def resume(self) -> None:
        """See `pause`."""
        with eager():
            resume_gradients()

    def assign(self, target: Any, value: Value) -> Any:
        """Write into the Tensor's memory."""
        target.overwrite(value)
        return target


class Recorder(Evaluator):
    """An Evaluator over real values. fallbacks: the Records, to which it adds; log: of the run that begins again."""
    concrete = True

    def __init__(self, name: str, fallbacks: Records, log: Log) -> None:
        super().__init__(name, False, fallbacks)
        self.tracer, self.log = _Values(self.tracer.root), log

    # -- values are Python's own

    def new_box(self, kind: str, content: Value, name: str = "") -> Value:
        """A list, dict, set or closure cell of Python."""
        return MAKE[kind](content)

    def unbox(self, value: Value) -> Value:
        """The value."""
        return value

    box = unbox

    def make_object(self, value: Value, what: str | None = None) -> Value:
        """The object."""
        return value

    def read_place(self, place: Place) -> Value:
        """The value of a variable outside."""
        return place.read()

    def is_restless(self, place: Place) -> bool:
        """Every variable is read when it is."""
        return False

    def guard(self, kind: str, owner: Any, name: Any, value: Value) -> None:
        """Nothing is compiled, so nothing is guarded."""

    def execute(self, frame: Frame, node: CNode) -> Value:
        """The value of one syntax node."""
        self.tracer.move_to(node.origin)
        with self.fallback.inside(name_of(node)):
            return self.execute_recorded(frame, node)

    def execute_recorded(self, frame: Frame, node: CNode) -> Value:
        """The value of a syntax node, taken from the log or computed, and recorded."""
        key = call_key(self)

        def operands():
            return [self.read(frame, a) for a in node.args]

        def run():
            return CONCRETE.get(node.fn, EXECUTE[node.fn])(self, frame, node, operands())
        try:
            given = self.taken(key, operands)
            changes = node.fn in CHANGE and not is_tensor(self.read(frame, node.args[0]))
            value = given[0] if given else self.watched(key, (), run) if changes else run()
        except Raises as raised:
            passed_through(raised.exception, node.origin.location)
            raise
        except MindliteError as error:
            if isinstance(error, InternalError):
                raise
            if users_part(error) is None and node.origin.location is not None:     # an operator saw the line of the whole call
                error.location = node.origin.location
            raise passed_through(error, node.origin.location)
        except Exception as error:
            self.judge(error)
            raise
        self.fallback.records.add(key, value)
        if self.log.met is not None:
            self.log.met += [*operands(), value]
        return value

    def taken(self, key: Any, operands: Callable[..., Any]) -> list:
        """The recorded result of a call, for a run that begins again, or []; a recorded
        exception is raised again. operands: () -> the call's operands"""
        given = self.log.take(construct_key(self), key[2], operands)
        if given and isinstance(given[0], Raised):
            raise Raises(given[0].error, self.tracer.origin)
        return given

    def call_unknown(self, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """Make the call that inference would leave to run time, and record what it gives."""
        key = call_key(self, getattr(fn, "__qualname__", type(fn).__name__))

        def run():
            return by_python(self, call_at, self.tracer.origin.location, namespace_of(self.calls.frames), fn,
                             tuple([self.live(x) for x in args]), {k: self.live(v) for k, v in kwargs.items()})
        given = self.taken(key, lambda: [fn, args, kwargs]) or [self.watched(key, (fn, args, kwargs), run)]
        self.fallback.records.add(key, given[0])
        return given[0]

    def watched(self, key: Any, values: Any, run: Callable[[], Value]) -> Value:
        """What run() gives, which calls Python code with these values; if that changes Tensors in place, so it is noted."""
        handed = self.log.handed
        given = {id(v) for v in leaves(values)}            # what an object holds of Parameters may be a whole network
        for tensor in tensors_in(values):
            if id(tensor) in given or not isinstance(tensor, TensorParameter):
                handed.give(tensor.host_array)
        handed.refresh()
        try:
            return run()
        finally:
            if changed(handed.alive()):
                self.fallback.records.learn_in_place(key)

    # -- calls

    def call(self, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """fn(*args, **kwargs): users' functions are executed here, the rest by Python."""
        twin, origin = getattr(fn, "executes", (None, None))
        if twin is fn:                                           # functools.wraps copies the attribute
            fn = origin
        if isinstance(fn, Closure):
            return self.call_graph(fn.graph, fn.signature, fn.defaults, args, kwargs, outer=fn.frame, outer_env=fn.env)
        if isinstance(fn, functools.partial):
            return self.call(fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
        if isinstance(fn, LeavingMethod):
            return self.call_unknown(fn.function, (fn.self, *args), kwargs)
        if isinstance(fn, BoundMethod):
            return self.trace(fn.function, (fn.self, *args), kwargs)
        if isinstance(fn, Primitive):
            return self.trace(fn, args, kwargs)
        protocol = getattr(fn, "__mindir__", None)
        if protocol is not None and not isinstance(fn, type):
            return self.call_protocol(fn, protocol(), args, kwargs)
        if isinstance(fn, types.MethodType):
            return self.call(fn.__func__, (fn.__self__, *args), kwargs)
        if isinstance(fn, types.FunctionType):
            return self.call_python(fn, args, kwargs)
        if isinstance(fn, type) and issubclass(fn, BaseException):
            return make_exception(self, fn, tuple([self.live(x) for x in args]), {k: self.live(v) for k, v in kwargs.items()})
        if isinstance(fn, type) and is_plain_class(fn):
            made: Any = object.__new__(fn)
            init = getattr(fn, "__init__")
            if init is not object.__init__:
                self.call(init, (made, *args), kwargs)
                return made
        if isinstance(fn, type) and only_keeps_its_arguments(fn):
            return self.dataclass_object(fn, args, kwargs)
        if fn is dataclasses.replace:                            # as inference executes it: objects that it makes are in the log
            return self.call_function(replace, args, kwargs)
        if fn is print:
            return self.call_unknown(fn, args, kwargs)
        if self.is_native(fn):
            return by_python(self, fn, *[self.live(x) for x in args], **{k: self.live(v) for k, v in kwargs.items()})
        call = getattr(type(fn), "__call__", None)
        if isinstance(call, types.FunctionType) and not is_framework(call.__code__.co_filename):
            return self.call(call, (fn, *args), kwargs)
        return self.call_unknown(fn, args, kwargs)

    def dataclass_object(self, cls: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """An object of a dataclass: that of the log, if Python made it there, else one whose parts may be in the log."""
        key = call_key(self, cls.__qualname__)
        given = self.taken(key, lambda: [cls, args, kwargs]) or [dataclass_object(
            self, cls, tuple([self.live(x) for x in args]), {k: self.live(v) for k, v in kwargs.items()})]
        self.fallback.records.add(key, given[0])
        return given[0]

    def is_native(self, fn: Value) -> bool:
        """True for a builtin that inference knows."""
        try:
            return fn in BUILTINS
        except TypeError:                                        # not hashable
            return False

    def call_protocol(self, fn: Value, what: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """A Cell, or what jit, grad, vmap made: what it calls is executed here."""
        if isinstance(what, CallOf):
            return self.call(what.function, args, kwargs)
        if isinstance(what, Hooked):
            with eager():
                return by_python(self, what.at_once, lambda *args, **kwargs: own_exceptions(
                    self.call_protocol, fn, what.call, args, kwargs), args, kwargs)
        if isinstance(what, (CustomGradient, Recomputed)):
            with eager():
                return by_python(self, what.at_once, lambda *args, **kwargs: own_exceptions(
                    self.call, what.function, args, kwargs), args, kwargs)
        if getattr(fn, "function", None) is getattr(what, "function", fn) and hasattr(what, "kind"):
            fn = copy.copy(fn)
            fn.function = self.live(what.function)
        with eager():
            return by_python(self, fn, *args, **kwargs)

    def call_python(self, fn: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
        """A function of Python."""
        if (fn.__module__ or "").startswith(FRAMEWORK):
            if fn.__name__ in LEAVES_TENSORS:
                return self.call_unknown(fn, args, kwargs)
            return self.trace(fn, args, kwargs)
        if is_coroutine(fn) or from_library(fn):
            return self.call_unknown(fn, args, kwargs)
        return self.call_function(fn, args, kwargs)

    def live(self, value: Value) -> Value:
        """`value` as Python can use it: a function comes back here when it is called."""
        fn = value
        if getattr(fn, "executes", (None,))[0] is fn or not isinstance(fn, (Closure, types.FunctionType)):
            return value
        if isinstance(fn, types.FunctionType) and (is_coroutine(fn) or from_library(fn)
                                                   or is_framework(fn.__code__.co_filename)):
            return value

        def function(*args, **kwargs):
            return own_exceptions(self.call, fn, args, kwargs)
        if isinstance(fn, types.FunctionType):
            functools.update_wrapper(function, fn)
        else:
            function.__name__ = fn.graph.name.rpartition(".")[2]
            function.__qualname__ = fn.graph.name
        setattr(function, "executes", (function, fn))
        return function


def concretely(prim: syntax.Syntax) -> Callable[..., Any]:
    """Register what a construct does with real values: (recorder, frame, node, values) -> value."""
    def register(function):
        CONCRETE[prim] = function
        return function
    return register


@concretely(syntax.cell_set)
def cell_set(ev: Evaluating, frame: Frame, node: CNode, values: list) -> None:
    if not isinstance(values[1], Undefined):
        values[0].cell_contents = values[1]
        return
    by_python(ev, read_cell, values[0], node.attrs["name"], False)
    del values[0].cell_contents


@concretely(syntax.inplace)
def inplace(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    op, (a, b) = node.attrs["op"], values
    if is_tensor(a) or is_tensor(b):
        return binary_value(ev, op, a, b)
    changed = getattr(type(a), f"__i{OPERATORS[op].__name__.strip('_')}__", None)
    made = by_python(ev, changed, a, b) if changed is not None else NotImplemented
    return by_python(ev, OPERATORS[op], a, b) if made is NotImplemented else made


@concretely(syntax.load_attr)
def load_attr(ev: Evaluating, frame: Frame, node: CNode, values: list) -> Value:
    getter = own_method(type(values[0]), node.attrs["name"])
    if isinstance(getter, property) and is_users(getter.fget) and not hasattr(type(values[0]), "__getattr__"):
        return ev.call(getter.fget, (values[0],), {})
    return by_python(ev, getattr, values[0], node.attrs["name"])


@concretely(syntax.format_value)
def format_value(ev: Evaluating, frame: Frame, node: CNode, values: list) -> str:
    value, spec = values[0], values[1] if len(values) > 1 else ""
    if node.attrs["conversion"]:
        value = by_python(ev, {"s": str, "r": repr, "a": ascii}[node.attrs["conversion"]], value)
    return by_python(ev, format, value, spec or "")


@concretely(syntax.iter_more)
def iter_more(ev: Evaluating, frame: Frame, node: CNode, values: list) -> bool:
    iterator = values[0]
    while iterator.number < values[1]:
        try:
            iterator.item = by_python(ev, next, iterator.iterator)
        except Raises as raised:
            if not isinstance(raised.exception, StopIteration):
                raise
            iterator.item = raised.exception.value
            return False
        iterator.number += 1
    return True


CONCRETE.update({
    syntax.cell_get: lambda ev, frame, node, values: by_python(ev, read_cell, values[0], node.attrs["name"], node.attrs["free"]),
    syntax.list_append: lambda ev, frame, node, values: by_python(ev, values[0].append, values[1]),
    syntax.set_add: lambda ev, frame, node, values: by_python(ev, values[0].add, values[1]),
    syntax.store_attr: lambda ev, frame, node, values: by_python(ev, setattr, values[0], node.attrs["name"], values[1]),
    syntax.delete_attr: lambda ev, frame, node, values: by_python(ev, delattr, values[0], node.attrs["name"]),
    syntax.make_function: lambda ev, frame, node, values: ev.live(
        Closure(node.attrs["graph"], frame, frame.env, tuple(values), node.attrs["signature"])),
    syntax.get_iter: lambda ev, frame, node, values: LiveIterator(by_python(ev, iter, values[0])),
    syntax.iter_item: lambda ev, frame, node, values: values[0].get(values[1]),
})


def run_concretely(function: Value, args: Sequence[Value], kwargs: dict[str, Any], fallbacks: Records,
                   log: Log | None = None) -> Value:
    """function(*args, **kwargs), recording what its constructs give; log: of the run that it begins again.

    raises : Passed with what the program raises
    """
    if log is not None:
        log.rewind()
    recorder = Recorder("concrete", fallbacks, log or Log())
    with Stage("infer", lambda: recorder.tracer.origin.location):
        try:
            return recorder.call(function, args, kwargs)
        except Raises as raised:
            raise Passed(raised.exception) from raised
        except MindliteError as error:
            raise error if isinstance(error, InternalError) else Passed(error) from error
        except RecursionError as error:                      # of the program: Python's stack was about to end
            raise Passed(error) if is_deep(error) else error from error
