"""grad in eager mode: run the function with a tape, then walk the tape backwards. The rules are those of graph mode.

    value_and_grad(f, 0, weights)(x)    ->    tape: f on a watched copy of x    ->    (f(x), (df/dx, df/dweights))
"""
import numpy as np

from ..common.errors import ArgumentError, MindliteError, user_location
from ..common.storage import full_like
from ..common.tensor import HOOKS, Parameter, Tensor
from ..common.threads import here
from ..mindir.builder import constant
from ..mindir.derivative import (USED, arrange, check_direction, check_loss, cotangents_in, first_of, in_order, inputs_of,
                                 weights_of)
from .backward import gradients
from .hooks import through
from .tape import Tape, owner_of, recording


class Recorded:
    """A function that has run under a tape: its value, and its gradients for any cotangents."""

    def __init__(self, function, args, kwargs, positions, weights, kind, hooked=True, numbers=True):
        self.tape, self.kind, self.hooked, self.numbers = Tape(), kind, hooked, numbers
        self.inputs, inside = [], list(args)
        for position in positions:
            inside[position] = map_leaves(args[position], self._input)
        self.args = inside
        self.structures = [map_leaves(inside[position], lambda x: x) for position in positions]     # as they are now
        trained = {id(w): w for w in weights if w.requires_grad}
        watched = {key: self.tape.watch(weight) for key, weight in trained.items()}
        self.weights, self.weight_numbers = weights, [watched.get(id(weight)) for weight in weights]
        if not hooked:                                      # the caller has the gradients seen by them
            self.tape.hooks.clear()
        self.tape.used = [] if weights is USED else None
        with recording(self.tape):
            self.value = function(*inside, **kwargs)
        if weights is USED:
            for tensor in tensors_in(self.value):
                self.tape.number(tensor)                    # a Parameter that is returned is used too
        if self.tape.used:
            self.weights, self.weight_numbers = [list(each) for each in zip(*self.tape.used)]
        self.tape.used = None

    def _input(self, value):
        """The watched copy of an input: another Tensor on the same memory; a number stays where `numbers` is False."""
        if not (self.numbers or is_tensor(value)):
            return value
        if isinstance(value, Parameter):
            made: Tensor = Parameter.__new__(Parameter)
            made.__dict__.update(value.__dict__)
            made.elements, made.tape, made.init, made._shape = value.init_data().elements, None, None, None
        else:
            made = Tensor.of_elements((value.init_data() if isinstance(value, Tensor) else Tensor(value)).elements)
            if self.hooked and isinstance(value, Tensor) and HOOKS in value.__dict__:
                made.__dict__[HOOKS] = dict(value.__dict__[HOOKS])      # what the function registers ends with it
        for tape in here.state.tapes:                       # outer tapes know it too
            number = tape.number(value) if isinstance(value, Tensor) else None
            if number is not None:
                tape.set_number(made, number)
        self.inputs.append((made, self.tape.watch(made)))
        return made

    def seeds(self, loss, sens=()):
        """[(number, cotangent)] of the float Tensors in `loss`: ones, or what `sens` holds."""
        every = [t for t in numbers_in(loss) if sens or isinstance(t, Tensor)]
        found = [t for t in every if isinstance(t, Tensor) and t.dtype.is_differentiable]
        if not found and not tensors_in(loss) and (self.inputs or self.weights):
            check_loss(loss)
        given = len(sens)
        for leaves in (every, tensors_in(loss)) if given != len(found) else ():     # for all results, the Tensors, or the floats
            if len(leaves) == given:
                sens = tuple([c for c, t in zip(sens, leaves) if any(t is x for x in found)])
                break
        if sens and len(sens) != len(found):
            raise ArgumentError(f"{self.kind}: {len(found)} cotangents are wanted, {len(sens)} were given")
        seeds = []
        for i, tensor in enumerate(found):
            number = self.tape.number(tensor)
            if number is not None:
                seeds.append((number, direction(sens[i], tensor, (f"{self.kind}: a cotangent", "its result")) if sens
                              else Tensor.of_elements(full_like(tensor.elements, 1))))
        return seeds

    def gradients(self, seeds, last=False):
        """(gradients of the inputs in the form of the arguments, gradients of the weights). last: as `gradients` has it"""
        numbers = [number for _, number in self.inputs] + self.weight_numbers
        values = [value for value, _ in self.inputs] + list(self.weights)
        found, hooks, changed = [], self.tape.hooks, {}
        seen = {owner_of(c.elements): [c.elements] for _, c in seeds}
        frozen = {id(weight) for weight in self.weights if not weight.requires_grad}           # by now
        for number, gradient, value in zip(numbers, gradients(self.tape, seeds, numbers, last), values):
            if gradient is None or frozen and id(value) in frozen:
                gradient = Tensor.of_elements(full_like(value.elements, 0))
            if hooks and number in hooks:
                if number not in changed:
                    changed[number] = through(hooks[number], gradient)
                gradient = changed[number]
            found.append(of_its_own(gradient, seen))
        each = iter(found)
        made = [map_leaves(structure, lambda x: next(each) if self.numbers or is_tensor(x) else x * 0)
                for structure in self.structures]
        return made, tuple(each)


class Opened(Recorded):
    """A recording that the program begins itself, by making this, and ends by `close`: MindSpore's new_graph and end_graph."""

    def __init__(self, function, args):
        self.function, self.tape, self.kind, self.hooked, self.numbers = function, Tape(), "grad", True, False
        self.watched = [(t, self.tape.watch(t)) for t in {id(t): t for t in tensors_in(args)}.values()]
        self.value, self.known = None, {id(t): number for t, number in self.watched}
        self.tape.used = []
        self.recording = recording(self.tape)
        self.recording.__enter__()

    def is_open(self):
        """False once what was around it has ended."""
        return self.tape in here.state.tapes

    def close(self, value):
        """The recording ends; `value` is what the function gave."""
        for tensor in tensors_in(value):
            self.tape.number(tensor)                        # a Parameter that is returned is used too
        self.value, self.used, self.tape.used = value, self.tape.used or [], None
        self.known.update((id(weight), number) for weight, number in self.used)
        self.drop()

    def drop(self):
        """Nothing more is recorded."""
        if self.is_open():
            self.recording.__exit__()

    def forget(self):
        """The arguments are those of no recording any more."""
        for tensor, _ in self.watched:
            self.tape.set_number(tensor, None)
        self.tape.clear()

    def derived(self, options, args):
        """Gradients by `options` (protocol.Derivative) of what the recorded function gave for `args`."""
        args, _, sens = cotangents_in(options, args, {})
        positions, _ = inputs_of(options, args, holds_tensor, is_float)
        self.structures = [args[position] for position in positions]
        self.inputs = [(as_tensor(x), self.known.get(id(x))) for x in numbers_in(tuple(self.structures)) if is_tensor(x)]
        weights = options.get("weights")
        self.weights = [weight for weight, _ in self.used] if weights is USED else self.trained(weights)
        self.weight_numbers = [self.known.get(id(weight)) for weight in self.weights]
        loss = first_of(self.value) if options.get("has_aux") else self.value
        input_grads, weight_grads = self.gradients(self.seeds(loss, numbers_in(sens)))
        return arrange("grad", self.value, zip(positions, input_grads), zip(self.weights, weight_grads), options)

    def trained(self, weights):
        """The weights that are named, as a tuple: Parameters, and Tensors of a class that gives them `requires_grad`."""
        made = (weights,) if isinstance(weights, Tensor) else tuple(weights or ())
        for weight in made:
            if not (isinstance(weight, Tensor) and hasattr(weight, "requires_grad")):
                raise ArgumentError(f"grad: weights holds Parameters, not {type(weight).__name__}")
        return made


def of_its_own(gradient, seen):
    """The gradient, its sum with 0 where it shares memory with another one or a cotangent. seen: {owner: [elements]} of these"""
    others = seen.setdefault(owner_of(gradient.elements), [])
    if any([shares_memory(other, gradient.elements) for other in others]):
        return gradient + 0
    others.append(gradient.elements)
    return gradient


def shares_memory(a, b):
    """True where two elements of one owner may overlap."""
    return not (type(a) is type(b) is np.ndarray) or np.may_share_memory(a, b)


def differentiate(function, kind, options, args, kwargs, walks=None):
    """grad(function)(*args, **kwargs) and value_and_grad, in eager mode; options as protocol.Derivative has them.

    walks : a Counter of the ways in which tapes were walked, for `explain`
    """
    try:
        args, kwargs, sens = cotangents_in(options, args, kwargs)
        called = function
        if kwargs:
            args, called = in_one(function, args, kwargs)
        positions, numbers = inputs_of(options, args, holds_tensor, is_float)
        weights = options.get("weights")
        weights = weights if weights is USED else weights_of(weights, Parameter)
        run = Recorded(called, args, {}, positions, weights, kind, numbers=numbers)
        loss = first_of(run.value) if options.get("has_aux") else run.value
        input_grads, weight_grads = run.gradients(run.seeds(loss, numbers_in(sens)), last=True)
        run.tape.clear()
        if walks is not None:
            walks[run.tape.walk] += 1
    except MindliteError as error:
        raise error.at(user_location())
    return arrange(kind, run.value, zip(positions, input_grads), zip(run.weights, weight_grads), options)


def in_one(function, args, kwargs):
    """(all arguments of a call, a function of them that calls `function` with those by name)."""
    args, parted = in_order(args, kwargs)

    def called(*every):
        by_position, by_name = parted(every)
        return function(*by_position, **by_name)
    return args, called


class Linearized:
    """The tangents of `function` at `args`, for any tangents of the arguments: forward mode on tapes.

        tape A: x -> out      tape B: u -> pullback of A (u)       tangent v -> gradient of B's results, seeded with v

    What pulls cotangents back is linear in them, so its own gradient pushes tangents forward (J. Townsend 2017). The
    function runs once; only tape B is walked for each v.
    """

    def __init__(self, function, args, kind="jvp"):
        run = Recorded(function, args, {}, tuple(range(len(args))), (), kind)
        self.value, self.tape, self.kind = run.value, Tape(), kind
        outs = {id(t): t for t in tensors_in(run.value)}
        reached = {key: run.tape.number(t) for key, t in outs.items() if t.dtype.is_differentiable}
        cotangents = {key: Tensor.of_elements(full_like(outs[key].elements, 0)) for key, n in reached.items() if n is not None}
        self.numbers = {key: self.tape.watch(u) for key, u in cotangents.items()}
        with recording(self.tape):
            self.pulled = run.gradients([(reached[key], u) for key, u in cotangents.items()])[0]
        self.tape.keep()

    def __call__(self, tangents):
        """The tangents of the function's value, in its form. raises : ShapeError where one is not like its input"""
        pulled, given = tensors_in(self.pulled), [as_tensor(t) for t in numbers_in(tangents)]
        if len(pulled) != len(given):
            raise ArgumentError(f"{self.kind}: {len(given)} tangents were given for {len(pulled)} inputs")
        seeds = []
        for gradient, tangent in zip(pulled, given):
            tangent = direction(tangent, gradient, (f"{self.kind}: a tangent", "its input"))
            if self.tape.number(gradient) is not None:
                seeds.append((self.tape.number(gradient), tangent))
        found = gradients(self.tape, seeds, list(self.numbers.values())) if seeds else [None] * len(self.numbers)
        tangent_of = dict(zip(self.numbers, found))

        def pushed(x):
            made = tangent_of.get(id(x))
            return Tensor.of_elements(full_like(as_tensor(x).elements, 0)) if made is None else made
        return map_leaves(self.value, pushed)


def forward(function, args, kwargs):
    """jvp(function)(primals, tangents) in eager mode: (value, tangents of the value)."""
    primals, tangents = args
    try:
        made = Linearized(lambda *xs: function(*xs, **kwargs), _as_tuple(primals))
        return made.value, made(_as_tuple(tangents))
    except MindliteError as error:
        raise error.at(user_location())


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def numbers_in(value):
    """The leaves that can be tangents, in order."""
    if type(value) is Tensor:
        return [value]
    found: list = []
    map_leaves(value, found.append)
    return found


def map_leaves(value, function):
    """`value` with function(x) for each tensor or number x in it, through tuples, lists and dicts."""
    if type(value) is Tensor:
        return function(value)
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


def holds_tensor(value):
    """True for a Tensor or array, and for what holds one."""
    return type(value) is Tensor or any(map(is_tensor, numbers_in(value)))


def is_float(value):
    """True for a float of Python."""
    return isinstance(value, float)


def is_tensor(value):
    """True for what gets a gradient: a Tensor or an array, not a number."""
    return isinstance(value, (Tensor, np.ndarray, np.generic))


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
    """A Tensor of a tangent or cotangent that the user gave."""
    return value if isinstance(value, Tensor) else Tensor(value)


def are_alike(tensor, other):
    """True for two Tensors on the CPU of the same sizes and dtype."""
    a, b = tensor.elements, other.elements if isinstance(other, Tensor) else None
    return type(a) is type(b) is np.ndarray and a.shape == b.shape and a.dtype == b.dtype


def direction(given, value, what):
    """What the user gave as the tangent or cotangent of a Tensor, in its dtype. what, raises : as check_direction"""
    given = as_tensor(given)
    if are_alike(given, value):
        return given
    to_cast = check_direction(what, constant(given).abstract, constant(value).abstract)
    return given.astype(value.dtype) if to_cast else given
