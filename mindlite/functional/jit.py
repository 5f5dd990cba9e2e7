"""jit: run a function, a method or a Cell as compiled graphs.

    @jit                                    @jit(fullgraph=True, dynamic=1)                 net = jit(net)
    def step(x): ...                        def construct(self, x): ...

What it gives is called like the function. It compiles once per kind of arguments (compile/jit.py) and can be looked
into: `graph(stage)`, `kernels()`, `explain()`, `source()`. While a gradient is being made, a call is one entry on the
tape.
"""
from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypedDict, TypeVar, overload

from ..common.errors import ArgumentError, Stage, ValueRangeError, user_location
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..compile.jit import JitFunction
from ..compile.short_plan import HasPlans
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf, Rematerialised
from ..pynative.jitted import call_compiled
from ..pynative.native import install_calls
from .derivative import name_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

LEVELS = ("O0", "O1", "O2")
P = ParamSpec("P")
R = TypeVar("R")


class HasConstruct(Protocol):
    """A Cell, or a class of Cells, which are above this module."""

    @property
    def construct(self) -> Any:
        """What it computes."""

    @property
    def __mindir__(self) -> Any:
        """What a call of it is in a graph."""


C = TypeVar("C", bound=HasConstruct)


class JitOptions(TypedDict, total=False):
    """The keyword arguments of `jit`, which its docstring explains."""
    fullgraph: bool | None
    dynamic: int
    jit_level: str | None
    jit_config: JitConfig | None
    input_signature: Any
    printer: str | None
    remat: str | None
    mode: str
    capture_mode: str
    backend: str
    hash_args: Any
    compile_once: bool
    fn: Any


@dataclass(frozen=True)
class JitConfig:
    """How `jit` compiles, as MindSpore's class of that name.

    jit_level       : "O0" one kernel per operator, "O1" fused, "O2" as O1; "" for config.jit_level
    jit_syntax_level: "STRICT": no statement runs in Python (fullgraph); "LAX", "COMPATIBLE", "": it does where a graph
                      cannot say it
    exc_mode        : accepted for MindSpore's sake: there is one way of executing
    """
    jit_level: str = ""
    exc_mode: str = "auto"
    jit_syntax_level: str = ""

    def __post_init__(self):
        if self.jit_level not in ("", *LEVELS):
            raise ValueRangeError(f"JitConfig: there is no jit_level {self.jit_level!r}",
                                  hint=f"one of {', '.join(LEVELS)}")
        if self.jit_syntax_level not in ("", "STRICT", "COMPATIBLE", "LAX"):
            raise ValueRangeError(f"JitConfig: there is no jit_syntax_level {self.jit_syntax_level!r}",
                                  hint="STRICT, COMPATIBLE or LAX")

    @property
    def fullgraph(self):
        """True for STRICT, False for the others, None where the context says it."""
        return self.jit_syntax_level == "STRICT" if self.jit_syntax_level else None


class Jitted(HasPlans, Generic[P, R]):
    """A function that runs as compiled graphs: what `jit` gives.

    function : the Python function or bound method;   options : the keyword arguments of JitFunction
    """

    def __init__(self, function, options):
        if hasattr(function, "__name__"):
            functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self.set_options(options)

    def set_options(self, options: dict[str, Any]) -> None:
        """Compile with these options from now on; what was compiled before is dropped."""
        function, remat = self.__wrapped__, options.get("remat")
        self.options, self.inside = options, Remat(function, remat) if remat else function
        with Stage("jit", user_location):
            self.compiled = JitFunction(self.inside, name=name_of(function),
                                        **{k: v for k, v in options.items() if k != "remat"})
        self.plans = self.compiled.plans

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if is_interpreting():
            return self.__wrapped__(*args, **kwargs)
        return call_compiled(self.compiled, args, kwargs)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        """The method of `owner`: one Jitted for each instance, which lives with it."""
        if owner is None:
            return self
        method = types.MethodType(self.__wrapped__, owner)
        kept = getattr(owner, "__dict__", None)
        if kept is None:
            return Jitted(method, self.options)
        name = f"_jit_{getattr(self.__wrapped__, '__name__', id(self))}"
        bound = kept.get(name)
        if bound is None or bound.__wrapped__.__func__ is not self.__wrapped__:
            bound = kept[name] = Jitted(method, self.options)
        return bound

    def __deepcopy__(self, memo):
        if isinstance(self.__wrapped__, types.MethodType):
            return Jitted(copy.deepcopy(self.__wrapped__, memo), self.options)
        return self

    def __reduce__(self):
        if isinstance(self.__wrapped__, types.MethodType):
            return getattr, (self.__wrapped__.__self__, self.__wrapped__.__name__)
        return getattr(self, "__qualname__")

    def __mindir__(self):
        """Inside a graph the call is inlined."""
        return CallOf(self.inside)

    def __repr__(self):
        return f"<jit {self.compiled.name}>"

    # ---------------------------------------------------------------- looking inside

    @property
    def variants(self):
        """What was compiled: one for each kind of arguments."""
        return self.compiled.variants

    def graph(self, stage="optimise"):
        """The FuncGraph after a stage of the latest variant; "plan" gives its Program. raises : ArgumentError"""
        return self.compiled.graph(stage)

    def kernels(self):
        """The kernels of the latest variant."""
        return self.compiled.kernels()

    def explain(self, details=False):
        """What was compiled and why, what runs in Python and why, as text; details: stages, kernels, what was not fused."""
        return self.compiled.explain(details)

    def source(self):
        """The Flow of the latest variant as its printer writes it. raises : ArgumentError before the first call"""
        return self.compiled.latest().compiled.executable.source()


install_calls(Jitted)


class Remat:
    """A function whose loops are differentiated by the policy `remat`."""

    def __init__(self, function, remat):
        self.function, self.remat = function, remat
        if hasattr(function, "__name__"):
            functools.update_wrapper(self, function, updated=())

    def __mindir__(self):
        return Rematerialised(self.function, self.remat)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


@overload
def jit(function: C, **options: Unpack[JitOptions]) -> C:
    """A Cell, or a class of them."""


@overload
def jit(function: Callable[P, R], **options: Unpack[JitOptions]) -> Jitted[P, R]:
    """A function."""


@overload
def jit(function: None = None, **options: Unpack[JitOptions]) -> Callable[[Callable[P, R]], Jitted[P, R]]:
    """A decorator."""


def jit(function: Any = None, *, fullgraph: bool | None = None, dynamic: int = 0, jit_level: str | None = None,
        jit_config: Any = None, input_signature: Any = None, printer: str | None = None,
        remat: str | None = None, mode: str = "PSJit", capture_mode: str = "ast", backend: str = "", hash_args: Any = None,
        compile_once: bool = False, fn: Any = None) -> Any:
    """Compile `function`, a function, method, Cell or Cell class; a decorator with or without arguments.

    fullgraph      : True: a statement that would run in Python is an error; None: as set_context(jit_syntax_level=..) says
    dynamic        : 1: all sizes are open from the start
    jit_level      : "O0" one kernel per operator, "O1" (and "O2") fused; None for config.jit_level
    jit_config     : a JitConfig, for what is not given here
    input_signature: Tensors whose shapes may hold None: the arguments' declared sizes
    printer        : how the Flow runs: "native", "vm", "python"; None for config.printer
    remat          : "sqrt": a gradient through a loop of n iterations keeps the values of 2 sqrt(2 n) iterations, and runs the
                     loop once more; None: it keeps those of every iteration
    fn             : the same as function
    backend        : "", "ms_backend" or "GE", MindSpore's names; on one device they compile alike
    mode, capture_mode, hash_args, compile_once: MindSpore's; there is one way of capture, and a function is
                     compiled once for each kind of arguments
    result         : a Jitted; a Cell or class comes back itself, its construct compiled
    raises         : ArgumentError, ValueRangeError for what is none of these
    """
    if backend not in ("", "ms_backend", "GE"):
        raise ValueRangeError(f"jit: there is no backend {backend!r}", hint="leave it out")
    if mode not in ("PSJit", "PIJit") or capture_mode not in ("ast", "bytecode", "trace"):
        raise ValueRangeError(f"jit: there is no mode {mode!r}" if mode not in ("PSJit", "PIJit") else
                              f"jit: there is no capture_mode {capture_mode!r}", hint="leave it out")
    if jit_config is not None:
        jit_level = jit_level or jit_config.jit_level or None
        fullgraph = fullgraph or jit_config.fullgraph
    if jit_level not in (None, *LEVELS):
        raise ValueRangeError(f"jit: there is no jit_level {jit_level!r}", hint=f"one of {', '.join(LEVELS)}")
    if remat not in (None, "sqrt"):
        raise ValueRangeError(f"jit: there is no remat {remat!r}", hint="'sqrt', or leave it out")
    if dynamic not in (0, 1):
        raise ValueRangeError(f"jit: dynamic is 0 or 1, not {dynamic!r}")
    if input_signature is not None and not isinstance(input_signature, (tuple, list)):
        input_signature = (input_signature,)
    options = {"fullgraph": fullgraph, "dynamic": dynamic, "jit_level": "O1" if jit_level == "O2" else jit_level,
               "printer": printer, "inputs": input_signature, "remat": remat}
    function = fn if function is None else function
    if function is None:
        return functools.partial(_jitted, options=options)
    return _jitted(function, options)


def _jitted(fn, options):
    if isinstance(fn, Jitted):
        return Jitted(fn.__wrapped__, options)
    if hasattr(fn, "construct") and hasattr(fn, "__mindir__"):          # a Cell, or a class of Cells
        construct = fn.construct
        if not isinstance(fn, type) and options["inputs"] is None:
            options = {**options, "inputs": fn.get_inputs()}
        fn.construct = Jitted(construct.__wrapped__ if isinstance(construct, Jitted) else construct, options)
        return fn
    if not callable(fn):
        raise ArgumentError(f"jit: takes a function, a method or a Cell, not {type(fn).__name__}")
    return Jitted(fn, options)


def enable_dynamic(**declared: Any) -> Callable[[Any], Any]:
    """A decorator above `jit` that declares which sizes of its arguments change.

    declared : for the name of an argument a Tensor, or a tuple or list of them, whose shape holds None, -1 or Symbols; without
               a shape all sizes are open, and there is a graph for each rank
    raises   : ArgumentError for what is no jitted function, a name that it does not take, what is no Tensor
    source   : MindSpore's enable_dynamic
    """
    for name, value in declared.items():
        if not isinstance(value, Tensor) and not (isinstance(value, (tuple, list)) and all(isinstance(v, Tensor) for v in value)):
            raise ArgumentError(f"enable_dynamic: {name} is declared by a Tensor, or a tuple or list of them, "
                                f"not {type(value).__name__}")

    def decorate(function: Any) -> Any:
        if not isinstance(function, Jitted):
            raise ArgumentError("enable_dynamic: stands above @jit, on a function", hint="for a Cell: set_inputs")
        names = [name for name in inspect.signature(function.__wrapped__).parameters if name != "self"]
        unknown = [name for name in declared if name not in names]
        if unknown:
            raise ArgumentError(f"enable_dynamic: the function has no argument {unknown[0]!r}", note=", ".join(names))
        inputs = tuple([declared.get(name) for name in names])
        return Jitted(function.__wrapped__, {**function.options, "inputs": inputs})
    return decorate


def jit_class(cls: type) -> type:
    """Mark a class whose objects are used inside graphs. Graph mode reads any object's attributes and inlines its
    methods, so nothing needs to be done; the mark is for MindSpore's sake.

    cls    : a class, which is given back: of type `type`
    raises : ArgumentError for what is no class
    """
    if not isinstance(cls, type):
        raise ArgumentError(f"jit_class: takes a class, not {type(cls).__name__}")
    setattr(cls, "__ms_class__", True)
    return cls


def cell_attr_register(fn: Callable[..., Any] | None = None, attrs: Any = None) -> Any:
    """Mark the __init__ of a Cell whose arguments, or `attrs`, decide what its graph is. Graphs are guarded by all that
    they read, so nothing needs to be done; the mark is for MindSpore's sake."""
    return fn if fn is not None else lambda init: init


def no_recursive(fn: Any) -> Any:
    """Mark a function or Cell whose calls do not come back to it. Inference finds out by itself what recurses, so nothing
    needs to be done; the mark is for MindSpore's sake."""
    return fn


ms_function = jit
