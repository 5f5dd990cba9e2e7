"""Gradients through Python code in a graph: the code runs on a tape, and the recording is handed to its pullback.

    out = segment(x; f)     ->     (recording, out) = segment(x; forward)      dx = segment(recording, dout; pullback)

A Tensor that one piece of Python code leaves in a list or an object may be read there by another. Their tapes belong
to one derivative (they have one key), so a number of an earlier tape is *adopted* by the later one: its pullback hands
on what flows to such a Tensor, and the earlier pullback, which runs after it, takes it along. Both functions are
Python code themselves, on the tapes of derivatives around this one: the order is unbounded. Forward mode,

    (recording, out, dout) = segment(dx, x; forward)

is the gradient of a pullback, which is linear; the tangent of an adopted number is found on the earlier tape.

Where compiled code has to begin again in Python (`fallback/log.py`), a call is not made a second time; its recording
*enters* the tape of the new run: the entries under new numbers, and every Tensor that is still there with its own.
"""
import weakref

import numpy as np

from ..common.tensor import Tensor
from ..common.threads import here
from ..fallback.handed import tensors_in
from ..fallback.log import CannotReplay, current_log
from ..mindir.derivative import set_recorder
from .backward import Cotangents, gradients
from .tape import Entry, Tape, recording


class Recording:
    """What one run left: its tape's entries, the numbers of its arguments and results, and what flows to the latter
    from code that runs behind it (pending). weights: {number: the Parameter}; tangents: {number of an argument: its tangent};
    entered: {number: that on the tape of a run that begins again}"""

    def __init__(self, key):
        self.tape = SegmentTape(self, key)
        self.entries, self.hooks, self.inputs, self.shapes, self.outputs, self.pending = [], {}, [], [], [], Cotangents()
        self.count, self.weights, self.entered, self.tangents = 0, {}, {}, {}

    def watch(self, args, wrt, weights, tangents):
        """These of the arguments are differentiated; the last are weights, the first so many are tangents, which a run that
        begins again makes itself."""
        named = dict(zip(range(len(args) - len(weights), len(args)), weights))
        for i in wrt:
            number = self.tape.watch(named.get(i, args[i]))
            self.inputs.append(number)
            self.shapes.append(args[i].shape)
            if i in named:
                self.weights[number] = named[i]
            if i < tangents:
                self.entered[number] = None

    def run(self, function, args):
        """What function(*args) gives, a tuple, recorded; the Call that it adds to the log of the run has this recording."""
        log, tape = current_log(), self.tape
        before = log and log.last
        try:
            with recording(tape):
                given = function(*args)
            given = given if isinstance(given, tuple) else (given,)
            self.outputs = [tape.number(x) if isinstance(x, Tensor) else None for x in given]
            return given
        finally:
            if log is not None and log.last is not before:
                log.last.tapes += (self,)
            self.entries, self.hooks, self.count = tape.entries, tape.hooks, tape.count
            tape.clear()

    def push(self, values):
        """The tangent of each of these (number, shape, dtype), None where nothing flows: what pulls cotangents back is linear
        in them, so its own gradient pushes tangents forward (as `Linearized` does)."""
        for own, (owner, *value) in self.tape.adopted.items():
            if own not in self.tangents:
                self.tangents[own], = owner.push([value])
        tangents = {number: tangent for number, tangent in self.tangents.items() if tangent is not None}
        linear, cotangents = Tape(), {}                     # a value that is given twice has one tangent
        for number, shape, dtype in values:
            if number is not None and number not in cotangents:
                cotangents[number] = Tensor.wrap(np.zeros(shape, dtype))
        numbers = {number: linear.watch(cotangent) for number, cotangent in cotangents.items()}
        with recording(linear):
            pulled = gradients(self, list(cotangents.items()), list(tangents))
        seeds = [(linear.number(p), t) for p, t in zip(pulled, tangents.values()) if p is not None]
        seeds = [(number, tangent) for number, tangent in seeds if number is not None]
        found = dict(zip(numbers, gradients(linear, seeds, list(numbers.values())))) if seeds else {}
        return [found.get(number) for number, _, _ in values]

    def enter(self, depth, call, operands, log):
        """A run that begins again takes what `call` gave from the log: what it left enters the tape of that run.

        depth  : how many derivatives lie within this one;    operands: what the new run gives the call
        raises : CannotReplay where it is not known which Tensor of the new run one is that the call was given
        """
        tapes: list = [tape for tape in here.state.tapes if tape not in log.outside]
        if depth >= len(tapes):                             # the new run records nothing: no_grad
            return
        tape, entered, given = tapes[-1 - depth], self.entered, self.tape.numbered()
        for number, weight in self.weights.items():
            entered[number] = tape.number(weight)
        numbers, new = {id(tensor): number for tensor, number in given}, tensors_in(operands, log.passed, objects=False)
        for old in tensors_in(call.operands, objects=False):
            if id(old) in numbers:
                found = _counterpart(old, new, log)
                if found is not None:
                    entered[numbers[id(old)]] = tape.number(found)
        for own, (owner, number, _, _) in self.tape.adopted.items():
            if own not in entered and number in owner.entered:
                entered[own] = owner.entered[number]
        if any(number not in entered for number in (*self.inputs, *self.tape.adopted)):
            raise CannotReplay("a call that runs in Python met what it never did, after a call whose gradient is wanted, and "
                               "what that was given is not found again", hint="call the function again")

        def place(number):
            if number is not None and entered.get(number) is None:
                entered[number] = tape.new_number()
            return None if number is None else entered[number]
        tape.entries += [Entry(e.backward, map(place, e.inputs), map(place, e.outputs), e.saved) for e in self.entries]
        tape.hooks.update({place(number): hooks for number, hooks in self.hooks.items()})
        for tensor, number in given:
            tape.set_number(tensor, place(number))


class SegmentTape(Tape):
    """A tape that knows the values of tapes with the same key. It does not keep its recording alive: Tensors that are
    kept in lists for long have a number on it."""

    def __init__(self, owner, key):
        super().__init__()
        self.owner, self.key = weakref.ref(owner), key
        self.adopted = {}                           # {own number: (recording, number there, shape, dtype)}
        self.known = []                             # [a weak reference to a Tensor that has, or had, a number]

    def set_number(self, tensor, number):
        """From now on `tensor` is the value `number`."""
        super().set_number(tensor, number)
        self.known.append(weakref.ref(tensor))

    def numbered(self):
        """[(Tensor, number)] of the Tensors that are still there."""
        alive = {id(tensor): tensor for tensor in [each() for each in self.known] if tensor is not None}
        pairs = [(tensor, Tape.number(self, tensor)) for tensor in alive.values()]
        return [(tensor, number) for tensor, number in pairs if number is not None]

    def number(self, tensor):
        """The number of a Tensor's value; what an earlier tape knows gets one here."""
        found = super().number(tensor)
        if found is not None:
            return found
        pairs = tensor.tape or ()
        for tape, number in zip(pairs[::2], pairs[1::2]):
            if isinstance(tape, SegmentTape) and tape.key is self.key:
                owner = tape.owner()
                if owner is not None:
                    found = self.watch(tensor)
                    self.adopted[found] = owner, number, tensor.host_array.shape, tensor.host_array.dtype
                    return found
        return None


def record(function, wrt, seeds, abstracts, weights, key):
    """(forward, pullback) of Python code; see mindir.derivative.record_python."""
    def forward(*args):
        made = Recording(key)
        made.watch(args, wrt, weights, getattr(forward, "tangents"))
        return (made, *made.run(function, args))

    def pullback(made, *cotangents):
        given = [(made.outputs[i], c) for i, c in zip(seeds, cotangents) if made.outputs[i] is not None]
        given += made.pending.items()
        made.pending = Cotangents()
        adopted = made.tape.adopted
        wanted = [*made.inputs, *adopted]
        found = gradients(made, given, wanted) if given else [None] * len(wanted)
        for (owner, number, _, _), gradient in zip(adopted.values(), found[len(wrt):]):
            if gradient is not None:
                owner.pending.add(number, gradient)
        return tuple([Tensor.wrap(np.zeros(shape, abstract.dtype.numpy)) if gradient is None else gradient
                      for gradient, shape, abstract in zip(found, made.shapes, abstracts)])
    setattr(forward, "tangents", getattr(function, "tangents", 0))
    return forward, pullback


def push(function, wrt, results, weights, key):
    """Forward mode of Python code; see mindir.derivative.push_through_python."""
    def forward(*given):
        tangents, args = given[:len(wrt)], given[len(wrt):]
        made = Recording(key)
        made.watch(args, wrt, weights, inner)
        made.tangents = dict(zip(made.inputs, tangents))
        values = made.run(function, args)
        pushed = made.push([(made.outputs[i], values[i].host_array.shape, values[i].host_array.dtype) for i in results])
        zeros = [Tensor.wrap(np.zeros_like(values[i].host_array)) if t is None else None for i, t in zip(results, pushed)]
        return (made, *values, *[z if t is None else t for t, z in zip(pushed, zeros)])
    inner = getattr(function, "tangents", 0)
    setattr(forward, "tangents", len(wrt) + inner)
    return forward


def _counterpart(old, new, log):
    """Which Tensor of the run that begins again has the value of `old`: the first of `new`, what the call is given, which is
    taken off it; else the only one that the run has met (an iterator may hold it), or None."""
    for i, tensor in enumerate(new):
        if _alike(old, tensor):
            return new.pop(i)
    found = {tensor.tape: tensor for tensor in tensors_in(log.met, log.passed, objects=False) if _alike(old, tensor)}
    return found.popitem()[1] if len(found) == 1 else None


def _alike(old, new):
    """True if two Tensors are the same value, once computed by compiled code and once by Python."""
    a, b = old.host_array, new.host_array
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-3, 1e-5, equal_nan=True)


set_recorder(record, push)
