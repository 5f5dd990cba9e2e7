"""grad in eager mode: run the function with a tape, then walk the tape backwards. The rules are those of graph mode.

    value_and_grad(f, 0, weights)(x)    ->    tape: f on a watched copy of x    ->    (f(x), (df/dx, df/dweights))
"""
import numpy as np

from ..common.errors import ArgumentError, MindliteError, user_location
from ..common.tensor import HOOKS, Parameter, Tensor
from ..mindir.derivative import arrange, check_loss, positions_of, weights_of
from .backward import gradients
from .hooks import through
from .tape import Tape, recording, state


class Recorded:
    """A function that has run under a tape: its value, and its gradients for any cotangents."""

    def __init__(self, function, args, kwargs, positions, weights, kind, hooked=True):
        self.tape, self.kind, self.hooked = Tape(), kind, hooked
        self.inputs, inside = [], list(args)
        for position in positions:
            inside[position] = map_leaves(args[position], self._input)
        self.args = inside
        self.structures = [inside[position] for position in positions]
        watched = {id(weight): self.tape.watch(weight) for weight in {id(w): w for w in weights}.values()}
        self.weights, self.weight_numbers = weights, [watched[id(weight)] for weight in weights]
        if not hooked:                                      # the caller has the gradients seen by them
            self.tape.hooks.clear()
        with recording(self.tape):
            self.value = function(*inside, **kwargs)

    def _input(self, value):
        """The watched copy of an input: another Tensor on the same memory."""
        if isinstance(value, Parameter):
            made = Parameter.__new__(Parameter)
            made.__dict__.update(value.__dict__)
            made.array, made.tape, made.init, made._shape = value.init_data().array, None, None, None
        else:
            made = Tensor.wrap(value.init_data().array if isinstance(value, Tensor) else Tensor(value).array)
            if self.hooked and isinstance(value, Tensor) and HOOKS in value.__dict__:
                made.__dict__[HOOKS] = value.__dict__[HOOKS]
        for tape in state.tapes:                            # outer tapes know it too
            number = tape.number(value) if isinstance(value, Tensor) else None
            if number is not None:
                tape.set_number(made, number)
        self.inputs.append((made, self.tape.watch(made)))
        return made

    def seeds(self, loss, sens=()):
        """[(number, cotangent)] of the float Tensors in `loss`: ones, or what `sens` holds."""
        found = [t for t in tensors_in(loss) if t.dtype.is_differentiable]
        if not found and not tensors_in(loss):
            check_loss(loss)
        if sens and len(sens) != len(found):
            raise ArgumentError(f"{self.kind}: {len(found)} cotangents are wanted, {len(sens)} were given")
        seeds = []
        for i, tensor in enumerate(found):
            number = self.tape.number(tensor)
            if number is not None:
                seeds.append((number, as_tensor(sens[i]) if sens else Tensor.wrap(np.ones_like(tensor.array))))
        return seeds

    def gradients(self, seeds):
        """(gradients of the inputs in the form of the arguments, gradients of the weights)"""
        numbers = [number for _, number in self.inputs] + self.weight_numbers
        values = [value for value, _ in self.inputs] + list(self.weights)
        seen, found, hooks, changed = {id(c) for _, c in seeds}, [], self.tape.hooks, {}
        for number, gradient, value in zip(numbers, gradients(self.tape, seeds, numbers), values):
            if gradient is None:
                gradient = Tensor.wrap(np.zeros(value.array.shape, value.array.dtype))
            if number in hooks:
                if number not in changed:
                    changed[number] = through(hooks[number], gradient)
                gradient = changed[number]
            if id(gradient) in seen:
                gradient = gradient + 0                     # results do not share memory with each other
            seen.add(id(gradient))
            found.append(gradient)
        each = iter(found)
        return [map_leaves(structure, lambda x: next(each)) for structure in self.structures], tuple(each)


def differentiate(function, kind, options, args, kwargs):
    """grad(function)(*args, **kwargs) and value_and_grad, in eager mode; options as protocol.Derivative has them."""
    try:
        sens = ()
        if options.get("sens_param"):
            args, sens = args[:-1], args[-1]
            sens = tuple(tensors_in(sens)) if isinstance(sens, (tuple, list)) else (sens,)
        positions = positions_of(options.get("grad_position", 0), len(args))
        weights = weights_of(options.get("weights"), Parameter)
        run = Recorded(function, args, kwargs, positions, weights, kind)
        loss = run.value[0] if options.get("has_aux") and isinstance(run.value, tuple) else run.value
        input_grads, weight_grads = run.gradients(run.seeds(loss, sens))
        run.tape.clear()
    except MindliteError as error:
        raise error.at(user_location())
    return arrange(kind, run.value, input_grads, weight_grads, options)


def map_leaves(value, function):
    """`value` with function(x) for each tensor or number x in it, through tuples, lists and dicts."""
    if isinstance(value, tuple):
        made = [map_leaves(v, function) for v in value]
        return value._make(made) if hasattr(value, "_make") else tuple(made)
    if type(value) is list:
        return [map_leaves(v, function) for v in value]
    if type(value) is dict:
        return {k: map_leaves(v, function) for k, v in value.items()}
    if isinstance(value, (Tensor, bool, int, float, complex, np.ndarray, np.generic)):
        return function(value)
    return value


def tensors_in(value):
    """The Tensors in a value, through tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors_in(v)]
    return []


def as_tensor(value):
    """A Tensor of a cotangent that the user gave."""
    return value if isinstance(value, Tensor) else Tensor(value)
