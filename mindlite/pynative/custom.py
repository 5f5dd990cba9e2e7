"""Gradients that the user writes or looks at: `bprop` methods, hooks on gradients, recomputation.

    custom(f, bprop, (x,))      f runs unrecorded; backwards bprop(x, out, dout) gives the gradient
    gate((x, y), hook)          x, y again; backwards the gradients pass through hook
    recompute(f, x)             f runs unrecorded; backwards it runs a second time, recorded (Chen et al. 2016)

Each is one entry whose backward is Python. A tape with such an entry is walked entry by entry, never compiled as one.
"""
import inspect


from ..common.errors import GradientError
from ..common.storage import full_like
from ..common.tensor import Parameter, Tensor
from ..common.threads import here
from ..mindir.builder import constant
from ..mindir.derivative import check_bprop, check_gradient, gradients_of_parts
from ..mindir.hooks import replaced
from ..mindir.protocol import Gate
from ..ops.basic import cast, sum_to
from ..ops.random import current_state
from .differentiate import Recorded, map_leaves, tensors_in
from .tape import paused


class PythonBackward:
    """A Backward that is a Python function: run(saved, cotangents) -> gradients of the inputs, None for none.

    materialize : a cotangent of a result that nothing flows to is zeros, else None
    """

    in_python, of_function = True, False

    def __init__(self, wrt, seeds, douts, run, materialize=True):
        self.wrt, self.seeds, self.douts, self.run, self.materialize = wrt, seeds, douts, run, materialize

    def of_sizes(self, outs):
        """Itself: its sizes are known."""
        return self


def is_float(tensor):
    """True for Tensors that can have a gradient."""
    return tensor.dtype.is_differentiable


def enter_python(inputs, outs, saved, run, materialize=True):
    """Record on every tape that watches one of `inputs`: outs (Tensors) came from inputs by a function whose backward
    is run(saved, cotangents of the float outs) -> a gradient, or None, for each input."""
    seeds = tuple([i for i, out in enumerate(outs) if is_float(out)])
    douts = tuple([constant(outs[i]).abstract for i in seeds])
    if not seeds:
        return
    for tape in here.state.tapes:
        numbers = [tape.number(x) for x in inputs]
        wrt = tuple([i for i, n in enumerate(numbers) if n is not None and is_float(inputs[i])])
        if wrt:
            def only(saved, douts, wrt=wrt):
                gradients = run(saved, douts)
                return [gradients[i] for i in wrt]
            tape.append(PythonBackward(wrt, seeds, douts, only, materialize), [numbers[i] for i in wrt], outs, list(saved))


def custom(function, bprop, args, kwargs=None):
    """function(*args), whose gradient is bprop(*args, out, dout): one gradient per argument, None (or 0) for none.

    out, dout : as the function's result: a Tensor, or a tuple of them
    raises    : when gradients are made: GradientError where bprop gives another number of them, or another shape
    """
    if not here.state.tapes:
        return function(*args, **(kwargs or {}))
    name = getattr(bprop, "__qualname__", "bprop").replace("<locals>.", "")
    check_bprop(name, inspect.signature(bprop), len(args))
    with paused():
        out = function(*args, **(kwargs or {}))
    inputs, out = tensors_in(args), own_tensors(out, args)
    outs = tensors_in(out)

    def run(saved, douts):
        each, floats = iter(saved), iter(douts)
        again = map_leaves(tuple(args), lambda x: next(each) if isinstance(x, Tensor) else x)
        result = map_leaves(out, lambda x: next(each) if isinstance(x, Tensor) else x)
        cotangent = map_leaves(out, lambda x: (next(floats) if is_float(x) else Tensor.of_elements(full_like(x.elements, 0)))
                               if isinstance(x, Tensor) else x)
        given = bprop(*again, result, cotangent)
        given = given if isinstance(given, (tuple, list)) else (given,)
        if len(given) != len(args):
            raise GradientError(f"{name} gives {len(given)} gradients for {len(args)} arguments",
                                hint="return one gradient for each argument of construct")
        return [g for arg, gradient in zip(args, given) for g in _gradients_of(name, arg, gradient)]
    enter_python(inputs, outs, [*inputs, *outs], run)
    return out


def own_tensors(out, args):
    """`out` with new Tensors in place of those that are arguments or Parameters: they get a number of their own."""
    known = {id(x) for x in tensors_in(args)}

    def own(x):
        return Tensor.of_elements(x.elements) if isinstance(x, Parameter) or id(x) in known else x
    return map_leaves(out, own)


def _gradients_of(name, arg, gradient):
    """The gradients of the Tensors in one argument."""
    if isinstance(arg, Tensor):
        if gradient is None or (isinstance(gradient, (int, float)) and gradient == 0):
            return [None]
        return [fitted(name, gradient if isinstance(gradient, Tensor) else Tensor(gradient, arg.dtype), arg)]
    return [g for part, dx in gradients_of_parts(name, arg, gradient) for g in _gradients_of(name, part, dx)]


def fitted(name, gradient, arg):
    """A gradient in the dtype and shape of its argument. raises : as check_gradient"""
    to_sum, to_cast = check_gradient(name, constant(gradient).abstract, constant(arg).abstract)
    gradient = cast(gradient, dtype=arg.dtype) if to_cast else gradient
    return sum_to(gradient, arg.shape) if to_sum else gradient


def is_watched(values):
    """True where a gradient of one of these Tensors is being made."""
    return any(tape.number(x) is not None for tape in here.state.tapes for x in values if isinstance(x, Tensor))


def gate(tensors, hook):
    """The same Tensors, new objects; backwards hook(gradients) -> gradients sees them all at once. Others just pass."""
    if not here.state.tapes:
        return tuple(tensors)
    inside = [x for x in tensors if isinstance(x, Tensor) and is_float(x)]
    outs = [Tensor.of_elements(x.elements) for x in inside]
    for x, out in zip(inside, outs):
        for tape in here.state.tapes:
            tape.set_number(out, tape.number(x))

    if inside:
        enter_python(inside, outs, [], lambda saved, douts: replaced(hook(tuple(douts)), tuple(douts)))
    each = iter(outs)
    return tuple([next(each) if isinstance(x, Tensor) and is_float(x) else x for x in tensors])


setattr(gate, "__mindir__", Gate)


def recompute(function, *args, **kwargs):
    """function(*args, **kwargs), of which nothing is kept for the gradient: it is run a second time when that is made.

    Gradients flow to Tensors among the arguments and to weights. Random numbers are the same in both runs.
    """
    if not here.state.tapes:
        return function(*args, **kwargs)
    seeded = current_state().host_array.copy()
    with paused():
        out = function(*args, **kwargs)
    inputs, out = tensors_in(args), own_tensors(out, args)
    weights = tuple({id(t): t for tape in here.state.tapes for t, number in tape.named.values()
                     if number is not None and isinstance(t, Parameter)}.values())
    floats = tuple([i for i, x in enumerate(inputs) if is_float(x)])

    def run(saved, douts):
        each = iter(saved)
        again = map_leaves(tuple(args), lambda x: next(each) if isinstance(x, Tensor) else x)
        leaves = tensors_in(again)
        now = current_state().host_array.copy()
        current_state().host_array[:] = seeded

        def flat(*values):
            given = dict(zip(floats, values))
            every = iter([given.get(i, x) for i, x in enumerate(leaves)])
            return function(*map_leaves(again, lambda x: next(every) if isinstance(x, Tensor) else x), **kwargs)
        try:
            made = Recorded(flat, [leaves[i] for i in floats], {}, tuple(range(len(floats))), weights, "recompute", hooked=False)
        finally:
            current_state().host_array[:] = now
        seeds = made.seeds(made.value, douts)
        found, of_weights = made.gradients(seeds)
        gradients = [None] * len(inputs)
        for i, gradient in zip(floats, found):
            gradients[i] = gradient
        return [*gradients, *of_weights]
    enter_python([*inputs, *weights], tensors_in(out), inputs, run)
    return out
