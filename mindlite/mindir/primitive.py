"""Primitives and the tables of their rules: one door, many interpreters.

An operator is a name; what it means depends on who is asking. `primitive(*args, **attrs)` hands itself to the
interpreter on top of the stack: NumPy numbers (eager), graph nodes (infer, ad, vmap), batched values. A new
transformation is one new RuleTable plus rows in it (the design of JAX's autodidax).
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

from ..common.annotations import Function
from ..common.errors import ArgumentError, InternalError, user_location
from ..common.threads import here

P = ParamSpec("P")
R = TypeVar("R")


class Shown:
    """An attribute that is made when help or an editor asks for it: what `made` gives for (an object or None, its class); None:
    there is no such attribute."""

    def __init__(self, made: Callable[[Any, type], Any]) -> None:
        self.made = made

    def __get__(self, instance: Any, owner: type) -> Any:
        found = self.made(instance, owner)
        if found is None:
            raise AttributeError
        return found


def by_position(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """`parameters` with those by keyword only as parameters that may stand at their place too, where Python can say so."""
    made: list[inspect.Parameter] = []
    for parameter in parameters:
        before = made[-1] if made else None
        required = parameter.default is parameter.empty
        stays = before is not None and (before.kind is not parameter.POSITIONAL_OR_KEYWORD
                                        or required and before.default is not parameter.empty)
        if parameter.kind is parameter.KEYWORD_ONLY and not stays:
            parameter = parameter.replace(kind=parameter.POSITIONAL_OR_KEYWORD)
        made.append(parameter)
    return made


class Primitive(Generic[P, R]):
    """An operator: name, inputs, attrs, traits, doc, which help shows below the call.

    `parameters_of(function)` gives inputs and attrs as a function has them.

    inputs : names of the positional parameters, the arrays; a name that starts with * takes any number
    attrs  : {name: default} of the keyword-only parameters, static values
    traits : words such as "elementwise", "effect", "random", "reduction", "view", "composite"
    prepare: optional function (args, attrs) -> (args, attrs) that brings what the user wrote to the primitive's form
             (axis numbers counted from the front, dtypes promoted, Python numbers made arrays)
    native : where machine code knows the operator (pynative/native.py), else None
    plans  : where it finds the plans of its signatures (pynative/plans.py), else None
    """
    __slots__ = ("native", "plans", "__dict__", "__weakref__")
    other_names: dict[str, str] = {}                        # {MindSpore's other name of an argument: its name}

    def __init__(self, name: str, inputs: tuple[str, ...], attrs: dict[str, Any], *, traits: Any = (), doc: str = "",
                 prepare: Function | None = None, origin: tuple[str, int] | None = None) -> None:
        self.name, self.inputs, self.attrs, self.traits, self.doc = name, inputs, attrs, frozenset(traits), doc
        self.prepare, self.origin, self.native, self.plans = prepare, origin, None, None
        self.variadic = any(name.startswith("*") for name in self.inputs)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """The inspect.Signature of a call; made when it is asked for, as most are not."""
        kind = inspect.Parameter
        return inspect.Signature([
            *(kind(name.lstrip("*"), kind.VAR_POSITIONAL if name.startswith("*") else kind.POSITIONAL_OR_KEYWORD)
              for name in self.inputs),
            *(kind(name, kind.KEYWORD_ONLY, default=default) for name, default in self.attrs.items())])

    def shown(self) -> str:
        """The text of help: the call, as attributes may be given by their place too, and what was declared."""
        attrs = [name if default is inspect.Parameter.empty else f"{name}={default!r}" for name, default in self.attrs.items()]
        return f"{self.name}({', '.join([*self.inputs, *attrs])})\n\n{inspect.cleandoc(self.doc)}"

    def __repr__(self) -> str:
        return f"<Primitive {self.name}>"

    def __reduce__(self) -> tuple[Function, tuple[str, ...]]:
        return (find_primitive, (self.name,))

    def __deepcopy__(self, memo: dict) -> Primitive:
        return self

    def __call__(self, *args: Any, **attrs: Any) -> R:
        given, named = self.prepared(args, attrs)
        stack = here.state.interpreters                     # bind, written out: every eager operator comes this way
        return (stack[-1] if stack else _base[-1]).bind(self, given, named)

    def prepared(self, args: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, attrs) of a call in the form of the rules."""
        if (attrs or self.attrs) and attrs.keys() != self.attrs.keys() or (
                len(args) != len(self.inputs) and not self.variadic):
            args, attrs = self._fill(args, attrs)
        if self.prepare is not None:
            args, attrs = self.prepare(args, attrs)
        return args, attrs

    def also(self, **names: str) -> Primitive:
        """Let arguments have other names too: {other: name}. Returns the Primitive."""
        self.other_names = {**self.other_names, **names}
        return self

    def _fill(self, args: Any, attrs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bring a call to the form: all inputs positional, all attributes by keyword."""
        for other in self.other_names.keys() & attrs.keys():
            if self.other_names[other] in attrs:
                raise ArgumentError(f"{self.name}: the argument {self.other_names[other]!r} is given twice, as {other!r} too")
            attrs[self.other_names[other]] = attrs.pop(other)
        args = [*args]
        n = len(self.inputs)
        if self.variadic:
            extra: list = []
        else:
            args, extra = args[:n], args[n:]                # attributes may be given by position, as in MindSpore
            for name in self.inputs[len(args):]:
                if name not in attrs:
                    raise ArgumentError(f"{self.name}: the argument {name!r} is missing", hint=f"{self.name}{self.signature}")
                args.append(attrs.pop(name))
        if len(extra) > len(self.attrs):
            raise ArgumentError(f"{self.name}: takes at most {n + len(self.attrs)} arguments, {n + len(extra)} were given",
                                hint=f"{self.name}{self.signature}")
        for name, value in zip(self.attrs, extra):
            if name in attrs:
                raise ArgumentError(f"{self.name}: the argument {name!r} is given twice")
            attrs[name] = value
        for name in attrs:
            if name not in self.attrs:
                raise ArgumentError(f"{self.name}: no argument is named {name!r}", hint=f"{self.name}{self.signature}")
        for name, default in self.attrs.items():
            if name not in attrs:
                if default is inspect.Parameter.empty:
                    raise ArgumentError(f"{self.name}: the argument {name!r} is missing", hint=f"{self.name}{self.signature}")
                attrs[name] = default
        return tuple(args), attrs


_OF_THE_CLASS = Primitive.__doc__
setattr(Primitive, "__doc__", Shown(lambda prim, cls: _OF_THE_CLASS if prim is None else prim.shown()))
setattr(Primitive, "__signature__", Shown(lambda prim, cls: None if prim is None else prim.signature.replace(
    parameters=by_position(prim.signature.parameters.values()))))

PRIMITIVES: dict = {}
HOMES: dict = {}                # {name: module} of primitives whose module is imported when they are asked for


def find_primitive(name: str) -> Primitive[..., Any]:
    """The Primitive of that name; KeyError if there is none."""
    if name not in PRIMITIVES and name in HOMES:
        importlib.import_module(HOMES[name])
    return PRIMITIVES[name]


def parameters_of(function: Function) -> tuple[tuple[str, ...], dict[str, Any]]:
    """(inputs, attrs) of a Primitive from a function's parameters: those by position, and those by keyword only."""
    code, defaults = function.__code__, function.__kwdefaults__ or {}
    given, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    rest = code.co_varnames[named:named + 1] if code.co_flags & inspect.CO_VARARGS else ()
    attrs = {name: defaults.get(name, inspect.Parameter.empty) for name in code.co_varnames[given:named]}
    return (*code.co_varnames[:given], *("*" + name for name in rest)), attrs


class Planned:
    """A call of a function that is written in operators, for eager mode: machine code has plans of the signatures that come often
    (pynative/functions.py), one kernel each where the function is no view; all else is the function's.

    plans : where machine code finds them, else None;     seen : {signature: what is known of it}
    paths : {kind of a call: ways to what was traced for other sizes}, or None
    """
    __slots__ = ("function", "paths", "plans", "seen")

    def __init__(self, function: Function) -> None:
        self.function, self.plans = function, None
        self.paths: dict[tuple, Any] | None = None
        self.seen: dict[tuple, Any] = {}

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        return self.function(*args, **attrs)


def planned(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator for a function of Tensors that only computes: no state, no random numbers, nothing read but its arguments."""
    entry = Planned(function)

    @functools.wraps(function)
    def call(*args: P.args, **attrs: P.kwargs) -> R:
        try:
            return entry(*args, **attrs)
        except TypeError as error:
            if takes(function, args, attrs):
                raise
            text = str(error)
        raise ArgumentError(text).at(user_location())
    return call


def takes(function: Function, args: tuple, attrs: dict[str, Any]) -> bool:
    """Can the function be called with these arguments?"""
    try:
        inspect.signature(function).bind(*args, **attrs)
    except TypeError:
        return False
    return True


@overload
def primitive(function: Callable[P, R], *, traits: Iterable[str] = (), prepare: Callable[..., Any] | None = None,
              name: str | None = None) -> Primitive[P, R]:
    """Of a function."""


@overload
def primitive(function: None = None, *, traits: Iterable[str] = (), prepare: Callable[..., Any] | None = None,
              name: str | None = None) -> Callable[[Callable[P, R]], Primitive[P, R]]:
    """A decorator."""


def primitive(function: Any = None, *, traits: Iterable[str] = (), prepare: Callable[..., Any] | None = None,
              name: str | None = None) -> Any:
    """Make a Primitive of a function whose signature and docstring declare it; its body is not used."""
    if function is None:
        return lambda f: primitive(f, traits=traits, prepare=prepare, name=name)
    made: Primitive[..., Any] = Primitive(name or function.__name__, *parameters_of(function), traits=traits,
                     doc=function.__doc__ or "", prepare=prepare,
                     origin=(function.__code__.co_filename, function.__code__.co_firstlineno))
    if made.name in PRIMITIVES:
        raise InternalError(f"two primitives are named {made.name!r}: {PRIMITIVES[made.name].origin} and {made.origin}")
    PRIMITIVES[made.name] = made
    return made


class RuleTable:
    """One kind of rule for every operator: table[primitive] = function; used as a decorator, `@bprop_rule(tanh)`."""

    def __init__(self, kind: str, doc: str) -> None:
        self.kind, self.doc = kind, doc
        self.rules: dict[Any, Any] = {}
        TABLES[kind] = self

    def __call__(self, *primitives: Primitive) -> Function:
        def register(rule):
            for prim in primitives:
                if prim in self.rules:
                    raise InternalError(f"{prim.name} has two {self.kind} rules")
                self.rules[prim] = rule
            return rule
        return register

    def __contains__(self, prim: object) -> bool:
        return prim in self.rules

    def __getitem__(self, prim: Any) -> Any:
        return self.rules[prim]

    def get(self, prim: Any, default: Any = None) -> Any:
        """The rule, or `default`."""
        return self.rules.get(prim, default)


TABLES: dict = {}
infer_rule = RuleTable("infer", "(*abstracts, **attrs) -> abstract: the only shape rule")
eval_rule = RuleTable("eval", "(*ndarrays, **attrs) -> ndarray or tuple: the meaning, in NumPy")
bprop_rule = RuleTable("bprop", "(*args, out, dout, **attrs) -> gradient or tuple of them, None for none")
jvp_rule = RuleTable("jvp", "(primals, tangents, out, **attrs) -> tangent of out; a tangent may be None (zero)")
vmap_rule = RuleTable("vmap", "(args, dims, size, **attrs) -> (out, out_dim); a dim is an axis or None")
sbp_rule_table = RuleTable("sbp", "an SbpRule: the index string and its linear and reduction facts")
expand_rule = RuleTable("expand", "(*args, **attrs) -> the same value in smaller operators")
kernel_rule = RuleTable("kernel", "(*operands, out, **attrs) -> function of out's indices giving a scalar expression")
cost_rule = RuleTable("cost", "(*abstracts, out, **attrs) -> floating-point operations, an int or Dim")


_base: list = []                             # the eager interpreter: pynative's, or ops' plain NumPy below it


def bind(prim: Primitive, args: Sequence[Any], attrs: dict) -> Any:
    """Let the interpreter on top give `prim` its meaning."""
    stack = here.state.interpreters
    return (stack[-1] if stack else _base[-1]).bind(prim, args, attrs)


def set_base_interpreter(interpreter: Any) -> None:
    """Make `interpreter` the one that answers when no other is pushed (eager mode)."""
    _base.append(interpreter)


def unset_base_interpreter(interpreter: Any) -> None:
    """The reverse of `set_base_interpreter`."""
    _base.remove(interpreter)


def current_interpreter() -> Any:
    """The interpreter on top."""
    return here.state.interpreters[-1] if here.state.interpreters else _base[-1]


def is_interpreting() -> bool:
    """True inside an `interpreting` or `eager` block of this thread: something is traced, or eager mode is forced.

    A single interpreter that only `observes` (a profiler) changes nothing: what is compiled runs compiled.
    """
    stack = here.state.interpreters
    return bool(stack) and not (len(stack) == 1 and getattr(stack[0], "observes", False))


class interpreting:
    """Push `interpreter` for the `with` block, in this thread."""
    __slots__ = ("interpreter",)

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter

    def __enter__(self) -> Any:
        here.state.interpreters.append(self.interpreter)
        return self.interpreter

    def __exit__(self, *raised: Any) -> None:
        here.state.interpreters.pop()


@contextlib.contextmanager
def eager() -> Iterator[Any]:
    """Run the `with` block eagerly, whatever is being traced."""
    with interpreting(_base[-1]):
        yield
