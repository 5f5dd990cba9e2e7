"""Gradients through Python code in a graph: the code runs on a tape, and the recording is handed to its pullback.

    out = segment(x; f)     ->     (recording, out) = segment(x; forward)      dx = segment(recording, dout; pullback)

A Tensor that one piece of Python code leaves in a list or an object may be read there by another. Their tapes belong
to one derivative (they have one key), so a number of an earlier tape is *adopted* by the later one: its pullback hands
on what flows to such a Tensor, and the earlier pullback, which runs after it, takes it along. Both functions are
Python code themselves, on the tapes of derivatives around this one: the order is unbounded.
"""
import weakref

import numpy as np

from .. import ops
from ..common.tensor import Tensor
from ..mindir.derivative import recording_python, set_recorder
from .backward import gradients
from .tape import Tape, recording


class Recording:
    """What one run left: its tape's entries, the numbers of its arguments and results, and what flows to the latter
    from code that runs behind it (pending)."""

    def __init__(self, key):
        self.tape = SegmentTape(self, key)
        self.entries, self.hooks, self.inputs, self.shapes, self.outputs, self.pending = [], {}, [], [], [], {}
        self.count = 0

    def add(self, number, cotangent):
        """A cotangent of a value that Python code behind this has read."""
        before = self.pending.get(number)
        self.pending[number] = cotangent if before is None else ops.add(before, cotangent)


class SegmentTape(Tape):
    """A tape that knows the values of tapes with the same key. It does not keep its recording alive: Tensors that are
    kept in lists for long have a number on it."""

    def __init__(self, owner, key):
        super().__init__()
        self.owner, self.key = weakref.ref(owner), key
        self.adopted = {}                           # {own number: (recording, number there)}

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
                    self.adopted[found] = owner, number
                    return found
        return None


def record(function, wrt, seeds, abstracts, weights, key):
    """(forward, pullback) of Python code; see mindir.derivative.record_python."""
    def forward(*args):
        made = Recording(key)
        named = dict(zip(range(len(args) - len(weights), len(args)), weights))
        watched = [named.get(i, args[i]) for i in wrt]
        made.inputs, made.shapes = [made.tape.watch(x) for x in watched], [x.shape for x in watched]
        with recording(made.tape), recording_python():
            given = function(*args)
        given = given if isinstance(given, tuple) else (given,)
        made.outputs = [made.tape.number(x) if isinstance(x, Tensor) else None for x in given]
        made.entries, made.hooks, made.count = made.tape.entries, made.tape.hooks, made.tape.count
        made.tape.clear()
        return (made, *given)

    def pullback(made, *cotangents):
        given = [(made.outputs[i], c) for i, c in zip(seeds, cotangents) if made.outputs[i] is not None]
        given += made.pending.items()
        made.pending = {}
        adopted = made.tape.adopted
        wanted = [*made.inputs, *adopted]
        found = gradients(made, given, wanted) if given else [None] * len(wanted)
        for (owner, number), gradient in zip(adopted.values(), found[len(wrt):]):
            if gradient is not None:
                owner.add(number, gradient)
        return tuple([Tensor.wrap(np.zeros(shape, abstract.dtype.numpy)) if gradient is None else gradient
                      for gradient, shape, abstract in zip(found, made.shapes, abstracts)])
    return forward, pullback


set_recorder(record)
