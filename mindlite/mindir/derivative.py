"""What `grad` and `value_and_grad` take and give: the same rules for graph mode and PyNative (MindSpore 2.x).

  grad_position  int or tuple of one: one gradient; tuple: a tuple; None: none      weights  a Parameter, several, None
  both given: (gradients of inputs, gradients of weights)
  numbers are constants: an argument without a Tensor gets no gradient (the one that an int asks for does, if it is a float)
  weights is USED: the Parameters that the function reads, in the order of their first use (GradOperation without weights)
  a Parameter with requires_grad=False gets zeros
  has_aux: only the first output is differentiated, the others are handed through
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..common.annotations import Function
from ..common.config import config
from ..common.errors import ArgumentError, GradientError, IndexRangeError, InternalError, ShapeError
from ..common.tensor import Parameter
from .constraints import require


class _Used:
    """The class of USED: no Parameters are named beforehand. (No tuple: in a graph those are made anew.)"""

    def __iter__(self) -> Any:
        return iter(())

    def __repr__(self) -> str:
        return "USED"


USED = _Used()
_recorders: list = []                                # how Python code is differentiated: eager mode says it


def set_recorder(record: Function, push: Function) -> None:
    """Make these what `record_python` and `push_through_python` call: eager mode, which has the tape, stands above ad, which
    asks."""
    _recorders.append((record, push))


def record_python(function: Function, wrt: Any, seeds: Any, abstracts: Any, weights: Any, key: Any) -> Any:
    """(forward, pullback) of a function that runs in Python.

    wrt, seeds: numbers of the arguments that are differentiated, and of the results that have cotangents
    abstracts : the types of the gradients;   weights: the Parameters that the last arguments stand for
    key       : calls of one derivative have one key: what one of them keeps in Python objects, others find there
    forward   : (*args) -> (recording, *results);   pullback: (recording, *cotangents) -> a gradient for each of wrt
    """
    return _recorder()[0](function, wrt, seeds, abstracts, weights, key)


def push_through_python(function: Function, wrt: Any, results: Any, weights: Any, key: Any) -> Any:
    """The forward mode of a function that runs in Python: (*tangents, *args) -> (recording, *results, *their tangents).

    wrt, results: numbers of the arguments that have tangents, and of the results whose tangents are given
    weights, key: as `record_python` has them
    """
    return _recorder()[1](function, wrt, results, weights, key)


def _recorder() -> Any:
    if not _recorders:
        raise InternalError("nothing records Python code: import mindlite.pynative")
    return _recorders[-1]


def positions_of(grad_position: int | tuple[int, int] | None, count: int, what: str = "grad") -> tuple[int, ...]:
    """The argument positions as a tuple.

    grad_position : as `grad` has it; "all", "first": those that the call has      what: the function's name, for the error
    raises        : ArgumentError for what is no position, GradientError for none and for one that is named twice,
                    IndexRangeError for one that the call does not have
    """
    if grad_position is None:
        return ()
    if grad_position in ("all", "first"):            # GradOperation: known when it is called
        return tuple(range(count if grad_position == "all" else min(count, 1)))
    positions = (grad_position,) if isinstance(grad_position, int) else tuple(grad_position)
    for position in positions:
        if not isinstance(position, int) or isinstance(position, bool) or position < 0:
            raise ArgumentError(f"{what}: grad_position holds ints that are not negative, not {position!r}")
        if position >= count:
            raise IndexRangeError(f"{what}: grad_position {position} is outside the {count} arguments of the call")
    if not positions or len(set(positions)) != len(positions):
        raise GradientError(f"{what}: grad_position names {'an argument twice' if positions else 'no argument'}",
                            note=repr(grad_position), hint="None for the gradients of weights only")
    return positions


def inputs_of(options: dict[str, Any], args: tuple[Any, ...], holds_tensor: Function,
              is_float: Function) -> tuple[tuple[int, ...], bool]:
    """(positions of the arguments that get a gradient, whether numbers get one too).

    Numbers, strings, .. are constants (MindSpore 2.x); vjp counts numbers, and so does grad by the one argument that an int
    asks for, if it is a float.
    """
    position = options.get("grad_position", 0)
    positions = positions_of(position, len(args))
    if options.get("numbers", False) or type(position) is int and is_float(args[position]):
        return positions, True
    return tuple([p for p in positions if holds_tensor(args[p])]), False


def in_order(args: tuple[Any, ...], kwargs: dict) -> tuple[tuple[Any, ...], Function]:
    """(all arguments of a call, a function that gives (args, kwargs) of such arguments): those by name count behind those
    by position, in the order in which they are given (MindSpore 2.x)."""
    count, names = len(args), tuple(kwargs)
    return (*args, *kwargs.values()), lambda every: (tuple(every[:count]), dict(zip(names, every[count:])))


def cotangents_in(options: dict[str, Any], args: tuple[Any, ...], kwargs: dict) -> tuple[tuple[Any, ...], dict, tuple[Any, ...]]:
    """(args, kwargs, cotangents) with sens_param: the last argument, or the one named `sens`, is taken off."""
    if not options.get("sens_param"):
        return args, kwargs, ()
    if "sens" in kwargs:
        return args, {name: value for name, value in kwargs.items() if name != "sens"}, (kwargs["sens"],)
    if not args:
        raise ArgumentError("grad: with sens_param the last argument is the cotangent of the result")
    return args[:-1], kwargs, (args[-1],)


def weights_of(weights: Sequence[Parameter] | None, parameter_class: type) -> Any:
    """The weights that are named, as a tuple. raises : ArgumentError for what is no Parameter."""
    if weights is None or weights is USED:
        return ()
    made = (weights,) if isinstance(weights, parameter_class) else tuple(weights)
    for weight in made:
        if not isinstance(weight, parameter_class):
            raise ArgumentError(f"grad: weights holds Parameters, not {type(weight).__name__}")
    return made


def first_of(value: Any) -> Any:
    """The first of several results, the one that is differentiated where has_aux is said. raises : ArgumentError"""
    if not isinstance(value, tuple) or len(value) < 2:
        raise ArgumentError("has_aux: the function gives one result", hint="return several; the first is differentiated")
    return value[0]


def check_direction(what: tuple[str, str], given: Any, wanted: Any) -> Any:
    """A tangent or cotangent of the type `given`, an abstract, for a value of the type `wanted`.

    what   : two words for the error: "grad: a cotangent", "its result"
    result : has it to be cast?      raises : ShapeError for another shape, GradientError for a complex one of real values
    """
    def error():
        return ShapeError(f"{what[0]} has another shape than {what[1]}", note=f"{given}, {wanted}")
    if len(given.shape) != len(wanted.shape):
        raise error()
    for have, want in zip(given.shape, wanted.shape):
        require("==", have, want, error)
    if given.dtype.kind == "c" and wanted.dtype.kind != "c":
        raise GradientError(f"{what[0]} is complex, and {what[1]} is not", note=f"{given}, {wanted}")
    return given.dtype is not wanted.dtype


def check_loss(loss: Any) -> None:
    """Raise the error for a loss that has no gradient: `loss` is the value, or its abstract.

    MindSpore gives zeros then, in both modes: so does a script of its names (config.mindspore_rules).
    """
    if config.mindspore_rules:
        return
    what = "None" if loss is None else str(loss) if hasattr(loss, "shape") else type(loss).__name__
    raise GradientError(f"the function to differentiate gives {what}, which has no gradient",
                        hint="return a float Tensor (is a `return` missing?)")


def check_bprop(name: str, signature: Any, count: int) -> None:
    """raises : GradientError where a bprop with this signature does not take `count` arguments, the result and its
    cotangent"""
    takes = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    least = sum(p.default is p.empty for p in takes)
    if least <= count + 2 and (rest or len(takes) >= count + 2):
        return
    note, hint = f"{name}{signature}", f"{count + 2} arguments: {count} inputs, out, dout"
    if len(takes) < 2 and not rest:
        raise GradientError("The function 'bprop' of Primitive or Cell requires at least 2 params 'out' and 'dout', "
                            f"but got only {len(takes)}", note=note, hint=hint)
    raise GradientError("The params of function 'bprop' of Primitive or Cell requires the forward inputs as well as "
                        "the 'out' and 'dout'.", note=note, hint=hint)


def check_gradient(name: str, made: Any, wanted: Any) -> tuple[bool, bool]:
    """What a user's bprop gave, abstract `made`, as the gradient of an argument, abstract `wanted`.

    It is summed over the axes that broadcasting the argument added or repeated, and cast to the argument's dtype.
    result : (is there something to sum, is there something to cast);  raises : GradientError where that cannot be
    """
    lead = len(made.shape) - len(wanted.shape)
    differ = [(m, w) for m, w in zip(made.shape[max(lead, 0):], wanted.shape)
              if isinstance(m, int) and isinstance(w, int) and m != w]
    cast = wanted.dtype.is_differentiable and made.dtype is not wanted.dtype
    if lead < 0 or any(w != 1 for _, w in differ) or cast and made.dtype.kind == "c":
        raise GradientError(f"{name} gives {made} as the gradient of {wanted}")
    return lead > 0 or bool(differ), cast


def gradients_of_parts(name: str, arg: Any, gradient: Any) -> list[tuple[Any, Any]]:
    """[(part, its gradient)] of a tuple, list or dict for which a user's bprop gave `gradient`, [] for what has no parts. One
    gradient is that of every part; a key that is missing has none.

    raises : GradientError where there are more or fewer gradients than parts
    """
    if isinstance(arg, dict):
        return [(part, gradient.get(key) if isinstance(gradient, dict) else gradient) for key, part in arg.items()]
    if not isinstance(arg, (tuple, list)):
        return []
    gradient = gradient if isinstance(gradient, (tuple, list)) else [gradient] * len(arg)
    if len(gradient) != len(arg):
        raise GradientError(f"{name} gives {len(gradient)} gradients for an argument of {len(arg)} parts",
                            hint="return a gradient, or None, for each part")
    return list(zip(arg, gradient))


def arrange(kind: str, value: Any, input_grads: Any, weight_grads: Any, options: dict[str, Any]) -> Any:
    """Put values and gradients into the form that the caller expects.

    input_grads: [(position, gradient)];   weight_grads: [(Parameter, gradient)]
    """
    position, weights, ids = options.get("grad_position", 0), options.get("weights"), options.get("return_ids")
    inputs = tuple([pair if ids else pair[1] for pair in input_grads])
    inputs = inputs[0] if len(inputs) == 1 and position != "all" else inputs
    of_weights = tuple([(weight.name, gradient) if ids else gradient for weight, gradient in weight_grads])
    if weights is not None and weights is not USED and not isinstance(weights, (tuple, list)):
        of_weights = of_weights[0]
    if position is None:
        grads = of_weights
    else:
        grads = inputs if weights is None else (inputs, of_weights)
    if kind == "value_and_grad":
        return value, grads
    if options.get("has_aux"):
        return grads, value[1:]
    return grads
