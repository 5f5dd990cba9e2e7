"""What `grad` and `value_and_grad` take and give: the same rules for graph mode and PyNative (MindSpore 2.x).

  grad_position  int or tuple of one: one gradient; tuple: a tuple; None: none      weights  a Parameter, several, None
  both given: (gradients of inputs, gradients of weights)
  has_aux: only the first output is differentiated, the others are handed through
"""
from ..common.errors import ArgumentError, GradientError, InternalError

_recorders = []                                      # how Python code is differentiated: eager mode says it


def set_recorder(recorder):
    """Make `recorder` what `record_python` calls: eager mode, which has the tape, stands above ad, which asks."""
    _recorders.append(recorder)


def record_python(function, wrt, seeds, abstracts, weights, key):
    """(forward, pullback) of a function that runs in Python.

    wrt, seeds: numbers of the arguments that are differentiated, and of the results that have cotangents
    abstracts : the types of the gradients;   weights: the Parameters that the last arguments stand for
    key       : calls of one derivative have one key: what one of them keeps in Python objects, others find there
    forward   : (*args) -> (recording, *results);   pullback: (recording, *cotangents) -> a gradient for each of wrt
    """
    if not _recorders:
        raise InternalError("nothing records Python code: import mindlite.pynative")
    return _recorders[-1](function, wrt, seeds, abstracts, weights, key)


def positions_of(grad_position, count):
    """The argument positions as a tuple. raises : ArgumentError for a position that the call does not have."""
    if grad_position is None:
        return ()
    if grad_position == "all":                       # GradOperation(get_all=True): known when it is called
        return tuple(range(count))
    positions = (grad_position,) if isinstance(grad_position, int) else tuple(grad_position)
    for position in positions:
        if not isinstance(position, int) or isinstance(position, bool) or position < 0:
            raise ArgumentError(f"grad: grad_position holds ints that are not negative, not {position!r}")
        if position >= count:
            raise ArgumentError(f"grad: grad_position {position} is outside the {count} arguments of the call")
    return positions


def weights_of(weights, parameter_class):
    """The weights as a tuple. raises : ArgumentError for what is no Parameter."""
    if weights is None:
        return ()
    made = (weights,) if isinstance(weights, parameter_class) else tuple(weights)
    for weight in made:
        if not isinstance(weight, parameter_class):
            raise ArgumentError(f"grad: weights holds Parameters, not {type(weight).__name__}")
    return made


def check_loss(loss):
    """Raise the error for a loss that has no gradient: `loss` is the value, or its abstract."""
    what = "None" if loss is None else str(loss) if hasattr(loss, "shape") else type(loss).__name__
    raise GradientError(f"the function to differentiate gives {what}, which has no gradient",
                        hint="return a float Tensor (is a `return` missing?)")


def arrange(kind, value, input_grads, weight_grads, options):
    """Put values and gradients into the form that the caller expects."""
    position, weights = options.get("grad_position", 0), options.get("weights")
    alone = isinstance(position, int) or isinstance(position, (tuple, list)) and len(position) == 1
    inputs = input_grads[0] if alone else tuple(input_grads)
    one = weights is not None and not isinstance(weights, (tuple, list))
    of_weights = weight_grads[0] if one else tuple(weight_grads)
    if position is None:
        grads = of_weights
    else:
        grads = inputs if weights is None else (inputs, of_weights)
    if kind == "value_and_grad":
        return value, grads
    if options.get("has_aux"):
        return grads, value[1:]
    return grads
