"""grad, value_and_grad, vjp, jvp, linearize: functions of functions, with the signatures of MindSpore 2.x.

    grad_fn = value_and_grad(forward, None, optimizer.parameters)          loss, grads = grad_fn(x, y)

In eager mode the function runs with a tape (pynative); inside jit, and in GRAPH_MODE, it becomes a graph and ad derives
its gradient. What the objects here answer to `__mindir__` is how inference knows them.
"""
from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from ..common.config import GRAPH_MODE, config
from ..common.errors import ArgumentError, GradientError, ValueRangeError
from ..common.tensor import Parameter, Tensor
from ..compile.jit import JitFunction
from ..mindir.derivative import USED, first_of, weights_of
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf, Derivative, Recomputed
from ..ops.state import pause_gradients, resume_gradients
from ..pynative import Linearized, Recorded, differentiate, forward, recompute as recompute_at_once
from ..pynative.differentiate import numbers_in
from ..pynative.jitted import call_compiled

P = ParamSpec("P")
R = TypeVar("R")


class Derived(Generic[P, R]):
    """A function made by differentiating another one. kind, options: as protocol.Derivative has them."""

    def __init__(self, function, kind, options):
        self.function, self.kind, self.options = function, kind, options
        self._compiled: JitFunction | None = None
        self._walks: collections.Counter = collections.Counter()

    def __mindir__(self):
        return Derivative(self.function, self.kind, self.options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if (self.kind == "jvp" or config.mode == GRAPH_MODE) and not is_interpreting():
            return call_compiled(self.compiled, args, kwargs)
        if self.kind == "jvp":
            return forward(self.function, args, kwargs)
        return differentiate(self.function, self.kind, self.options, args, kwargs, self._walks)

    @property
    def compiled(self):
        """The JitFunction that runs the whole derivative as one graph."""
        if self._compiled is None:
            self._compiled = JitFunction(self, name=name_of(self))
        return self._compiled

    def explain(self, details=False):
        """What was compiled of it as a graph, and how its calls in eager mode went back along their tapes: a text.

        details : stages, kernels, and what was not fused, too
        """
        lines = [f"  {count} {how}" for how, count in self._walks.items()]
        if not lines:
            return self.compiled.explain(details)
        compiled = self._compiled
        return "\n".join([f"{name_of(self)}: {sum(self._walks.values())} call(s) in eager mode; their tapes were walked", *lines,
                          *([compiled.explain(details)] if compiled and (compiled.variants or compiled.in_python) else [])])

    def __repr__(self):
        return f"<{self.kind} of {name_of(self.function)}>"


def name_of(function: Any) -> str:
    """A name for a function, a Cell, or what was made of one: "jacfwd grad f"."""
    kind = getattr(function, "kind", None)
    if isinstance(kind, str) and hasattr(function, "function"):
        return f"{kind} {name_of(function.function)}"
    return getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")


def checked(what: str, fn: Any) -> Any:
    if not callable(fn) and not hasattr(fn, "signature"):           # a function inside a graph has a signature
        raise ArgumentError(f"{what}: takes a function or a Cell, not {type(fn).__name__}")
    return fn


@overload
def grad(fn: Callable[P, Any], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None, has_aux: bool = False,
         return_ids: bool = False, sens_param: Literal[False] = False) -> Derived[P, Any]:
    """The arguments are those of `fn`."""


@overload
def grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None, has_aux: bool = False,
         return_ids: bool = False, sens_param: bool = False) -> Derived[..., Any]:
    """A cotangent follows them."""


def grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None, has_aux: bool = False,
         return_ids: bool = False, sens_param: bool = False) -> Derived:
    """A function that gives the gradient of `fn`.

    grad_position : int: the gradient of that argument; tuple of int: a tuple of gradients (of one: that gradient, as
                    MindSpore has it); None: none. Arguments by name count behind those by position
    weights       : Parameter or sequence of them, whose gradients are given too; None: none
    has_aux       : only the first output is differentiated; the others are given after the gradients
    return_ids    : gradients come with the position or name of what they belong to: (id, gradient)
    sens_param    : the last argument of the call is the cotangent of fn's output, of its shape, else it is ones
    result        : gradients of inputs, of weights, or (inputs, weights) where both are wanted. Numbers, strings, .. are
                    constants: an argument without a Tensor has no gradient, and leaves no gap. grad(f)(3.0) is the
                    derivative at 3.0: where an int asks for one argument, a float is taken for a Tensor
    raises        : when called: GradientError where the output is no Tensor, IndexRangeError for a position that
                    the call does not have, ShapeError where a cotangent is not like the output, ArgumentError where
                    has_aux finds one output
    """
    return _derived("grad", fn, grad_position, weights, has_aux, return_ids, sens_param)


def _derived(kind, fn, grad_position, weights, has_aux, return_ids, sens_param):
    if grad_position is None and weights is None:
        raise ValueRangeError(f"{kind}: grad_position and weights are both None", hint="say what to differentiate by")
    return Derived(checked(kind, fn), kind, {"grad_position": grad_position, "weights": weights, "has_aux": has_aux,
                                             "return_ids": return_ids, "sens_param": sens_param})


@overload
def value_and_grad(fn: Callable[P, R], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None,
                   has_aux: bool = False, return_ids: bool = False,
                   sens_param: Literal[False] = False) -> Derived[P, tuple[R, Any]]:
    """The arguments are those of `fn`."""


@overload
def value_and_grad(fn: Callable[..., R], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None,
                   has_aux: bool = False, return_ids: bool = False,
                   sens_param: bool = False) -> Derived[..., tuple[R, Any]]:
    """A cotangent follows them."""


def value_and_grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0, weights: Any = None,
                   has_aux: bool = False, return_ids: bool = False, sens_param: bool = False) -> Derived:
    """A function that gives (fn's value, its gradient).

    fn, grad_position, weights, return_ids, sens_param : as `grad` has them: a function or Cell; an int, a tuple of ints or None;
               Parameters or None; bools
    has_aux  : bool; the gradient is that of fn's first result only, the value is all of it
    out      : (fn's value, what grad(fn, ..) gives): gradients have the shapes and dtypes of what they belong to
    raises   : as `grad`
    """
    return _derived("value_and_grad", fn, grad_position, weights, has_aux, return_ids, sens_param)


def get_grad(gradients: Any, identifier: int | Parameter) -> Any:
    """The gradient of one input or weight, out of what grad(..., return_ids=True) gave.

    gradients  : what such a function returned, tuples of (identifier, Tensor)
    identifier : a position (int) or a Parameter      raises : GradientError where there is no gradient of it
    """
    wanted = identifier.name if isinstance(identifier, Parameter) else identifier

    def search(value):
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], (int, str)) \
                and isinstance(value[1], Tensor):
            return value[1] if type(value[0]) is type(wanted) and value[0] == wanted else None
        if isinstance(value, tuple):
            return next((found for found in map(search, value) if found is not None), None)
        return None
    found = search(gradients)
    if found is None:
        raise GradientError(f"get_grad: there is no gradient of {wanted!r}", hint="was it made with return_ids=True?")
    return found


class GradOperation:
    """MindSpore's older way: GradOperation(get_all, get_by_list, sens_param)(fn, weights) takes fn's arguments.

    get_all     : gradients of all inputs, else of the first      get_by_list: gradients of the weights
    sens_param  : the last argument is the cotangent of fn's output, else ones
    result      : one gradient, a tuple of them, or with both (inputs, weights)
    """

    def __init__(self, get_all=False, get_by_list=False, sens_param=False):
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise ArgumentError(f"For 'GradOperation', the '{name}' should be bool, but got {type(value).__name__}")
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __mindir__(self):
        return CallOf(self.derived)

    def __call__(self, fn, weights=None, grad_position="first"):
        """The gradient function of `fn`, see `derived`."""
        return self.derived(fn, weights, grad_position)

    def derived(self, fn, weights=None, grad_position="first"):
        """The gradient function of `fn`.

        weights : Parameters, for get_by_list; None: those that fn reads, in the order of their first use
        raises  : ArgumentError for what is no function or no Parameter
        """
        if not self.get_by_list:
            weights = None
        elif weights is None:
            weights = USED
        elif not isinstance(weights, Parameter):             # the gradient of one Parameter comes without a list
            weights = weights_of(weights, Parameter)
        position = "all" if self.get_all else None if self.get_by_list else grad_position
        if not callable(fn) and not hasattr(fn, "signature"):
            raise ArgumentError("For 'GradOperation', the first argument must be a 'Function' or 'Cell', "
                                f"but got {type(fn).__name__}")
        return Derived(fn, "grad",
                       {"grad_position": position, "weights": weights, "sens_param": self.sens_param})


# ---------------------------------------------------------------- vjp and jvp

class _Vjp:
    """The function `vjp`: with a tape in eager mode, as a gradient with a cotangent inside graphs."""

    __name__ = __qualname__ = "vjp"

    def __mindir__(self):
        return CallOf(_vjp_in_graph)

    def __call__(self, fn, *inputs, weights=None, has_aux=False):
        """fn(*inputs), and the function that takes cotangents of the result to gradients of the inputs.

        weights : Parameter or sequence of them: the function gives (gradients of inputs, gradients of weights)
        has_aux : only the first result is differentiated; the others are the third value
        result  : (value, function), or with has_aux (first value, function, the others)
        raises  : GradientError where the value is no float Tensor; the function: ShapeError where a cotangent is not
                  like the value
        """
        pullback = Pullback(checked("vjp", fn), inputs, weights, has_aux)
        return (pullback.loss, pullback, aux_of(pullback.value)) if has_aux else (pullback.value, pullback)


class Pullback:
    """What eager `vjp` gives: cotangents of fn(*inputs) -> gradients, by a walk along the tape that is kept here."""

    def __init__(self, fn, inputs, weights, has_aux):
        self.function, self.inputs, self.weights, self.has_aux = fn, inputs, weights, has_aux
        self.run = Recorded(fn, inputs, {}, tuple(range(len(inputs))), weights_of(weights, Parameter), "vjp")
        self.run.tape.keep()
        self.value = self.run.value
        self.loss = first_of(self.value) if has_aux else self.value

    def __mindir__(self):
        return CallOf(_pullback_in_graph(self.function, self.inputs, self.weights, self.has_aux))

    def __call__(self, *cotangents):
        grads, weight_grads = self.run.gradients(self.run.seeds(self.loss, tuple(numbers_in(cotangents))))
        if self.weights is None:
            return tuple(grads)
        return tuple(grads), weight_grads[0] if isinstance(self.weights, Parameter) else weight_grads


vjp = _Vjp()


def aux_of(value: Any) -> Any:
    """The other results, a single one without a tuple."""
    return value[1] if len(value) == 2 else value[1:]


class _Parted:
    """vjp or linearize inside a graph: called, it gives (value, what is kept, the function of that and of the directions)."""

    def __init__(self, function, kind, **options):
        self.function, self.kind, self.options = function, kind, options

    def __mindir__(self):
        return Derivative(self.function, self.kind, self.options)

    def __call__(self, *args):
        made = Pushforward(self.function, args[0]) if self.kind == "linearize" else Pullback(self.function, args, **self.options)
        return made.value, (), _Later(made)


class _Later:
    """A Pullback or Pushforward with the arguments that graphs have."""

    def __init__(self, made):
        self.made = made

    def __mindir__(self):
        return Derivative(self, "later")

    def __call__(self, kept, given):
        return self.made(*given) if isinstance(self.made, Pullback) else self.made(given)


def _vjp_in_graph(fn, *inputs, weights=None, has_aux=False):
    value, kept, pull = _Parted(fn, "vjp", weights=weights, has_aux=has_aux)(*inputs)

    def pullback(*cotangents):
        return pull(kept, cotangents)
    if has_aux:
        return first_of(value), pullback, aux_of(value)
    return value, pullback


def _pullback_in_graph(fn, inputs, weights, has_aux):
    options = {"grad_position": "all", "weights": weights, "has_aux": has_aux, "sens_param": True, "numbers": True,
               "again": True}
    gradient: Derived[..., Any] = Derived(fn, "grad", options)

    def pullback(*cotangents):
        return gradient(*inputs, cotangents)
    return pullback


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """(fn(*inputs), its directional derivative along `v`), by forward mode.

    inputs, v : a Tensor, or a tuple or list of them, alike in shape
    has_aux   : only the first result is differentiated; the others are the third value (a single one without a tuple)
    raises    : ShapeError where a tangent is not like its input
    """
    derived: Derived[..., Any] = Derived(checked("jvp", fn), "jvp", {})
    value, tangent = derived(inputs, v)
    if has_aux:
        return first_of(value), tangent[0], aux_of(value)
    return value, tangent


class no_grad:
    """with no_grad(): .. or @no_grad(): gradients pass no operator inside, in eager mode and in graphs."""

    def __enter__(self):
        pause_gradients()
        return self

    def __exit__(self, kind, error, trace):
        resume_gradients()
        return False

    def __call__(self, function):
        """`function`, run inside such a block."""
        @functools.wraps(function)
        def run(*args, **kwargs):
            with no_grad():
                return function(*args, **kwargs)
        return run


class _Recompute:
    """The function `recompute`."""

    __name__ = __qualname__ = "recompute"

    def __mindir__(self):
        return CallOf(_recompute_in_graph)

    def __call__(self, block, *args, use_reentrant=True, output_recompute=False, early_stop=True, context_fn=None,
                 **kwargs):
        """block(*args, **kwargs), of which a gradient keeps nothing but the inputs: it is run again when that is made.

        Random numbers are the same in both runs. In a graph effects come once; in eager mode Python runs again.
        block : a Cell or a function;   use_reentrant, output_recompute, early_stop, context_fn: MindSpore's; there is
                one way of recomputing
        """
        return recompute_at_once(checked("recompute", block), *args, **kwargs)


recompute = _Recompute()


class Recomputing:
    """A function that is recomputed, inside a graph."""

    def __init__(self, function):
        self.function = function

    def __mindir__(self):
        return Recomputed(self.function, lambda run, args, kwargs: recompute_at_once(run, *args, **kwargs))

    def __call__(self, *args, **kwargs):
        return recompute_at_once(self.function, *args, **kwargs)


def _recompute_in_graph(block, *args, use_reentrant=True, output_recompute=False, early_stop=True, context_fn=None,
                        **kwargs):
    return Recomputing(checked("recompute", block))(*args, **kwargs)


class _Linearize:
    """The function `linearize`."""

    __name__ = __qualname__ = "linearize"

    def __mindir__(self):
        return CallOf(_linearize_in_graph)

    def __call__(self, fn, inputs):
        """fn(*inputs), and the function that takes tangents of the inputs to the tangents of the result.

        The function itself runs once: in eager mode what depends on the inputs only is stored, in a graph it is shared.

        inputs : a Tensor, or a tuple or list of them; its like is what the second result takes
        raises : ShapeError where a tangent is not like its input
        """
        made = Pushforward(checked("linearize", fn), inputs)
        return made.value, made


class Pushforward:
    """What eager `linearize` gives: tangents of the inputs -> tangents of the result."""

    def __init__(self, fn, inputs):
        self.function, self.inputs = fn, inputs
        self.linear = Linearized(fn, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), "linearize")
        self.value = self.linear.value

    def __mindir__(self):
        return CallOf(_pushforward_in_graph(self.function, self.inputs))

    def __call__(self, tangents):
        return self.linear(tangents)


linearize = _Linearize()


def _linearize_in_graph(fn, inputs):
    value, kept, push = _Parted(fn, "linearize")(inputs)

    def pushforward(tangents):
        return push(kept, tangents)
    return value, pushforward


def _pushforward_in_graph(fn, inputs):
    tangent: Derived[..., Any] = Derived(fn, "jvp", {"again": True})

    def pushforward(tangents):
        return tangent(inputs, tangents)[1]
    return pushforward
