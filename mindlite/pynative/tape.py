"""The tape: what eager mode remembers while a gradient is being made (Wengert 1964; as autograd and torch keep it).

    with recording(Tape()) as tape:              tape.entries:  mul(%0, 2.0) -> %1     saved: 2.0
        x = tape.watch(x)   # %0                                tanh(%1) -> %2         saved: the result
        y = ops.tanh(x * 2)                      backward.py walks them from the end

Values that depend on a watched one have a *number*; it stands in the Tensor's `tape` slot as a pair (tape, number), one
for each tape that is recording, so that gradients of gradients are tapes inside each other. An entry keeps only what
the operator's backward graph reads. Each thread has tapes of its own.
"""
import contextlib
import threading

import numpy as np

from ..common.tensor import Tensor


class _State(threading.local):
    def __init__(self):
        self.tapes = ()                         # those that record, innermost last


state = _State()


class Entry:
    """One operation: its backward (with `wrt`, `saved` and a way to run), the numbers of its differentiated inputs and
    of its results (None for a result without a gradient), and the Tensors that backward reads."""
    __slots__ = ("backward", "inputs", "outputs", "saved")

    def __init__(self, backward, inputs, outputs, saved):
        self.backward, self.inputs, self.outputs, self.saved = backward, inputs, outputs, saved


class Tape:
    """Entries in the order of execution. count: how many numbers have been given."""

    def __init__(self):
        self.entries, self.count = [], 0
        self.named = {}                     # id: (Parameter, number); threads share Parameters, so no slot is used

    def number(self, tensor):
        """The number of a Tensor's value on this tape, None if it depends on nothing that is watched."""
        pairs = tensor.tape
        if pairs is not None:
            for pair in pairs:
                if pair[0] is self:
                    return pair[1]
            return None
        if self.named and id(tensor) in self.named:
            return self.named[id(tensor)][1]
        return None

    def new_number(self):
        """A number for a new value."""
        self.count += 1
        return self.count - 1

    def set_number(self, tensor, number):
        """From now on `tensor` is the value `number`, or (None) one that depends on nothing watched."""
        if type(tensor) is not Tensor:
            self.named[id(tensor)] = (tensor, number)
            return
        others = tuple([pair for pair in tensor.tape or () if pair[0] is not self])
        tensor.tape = (others if number is None else (*others, (self, number))) or None

    def watch(self, tensor):
        """Give `tensor` a number: gradients with respect to it will be wanted. Returns the number."""
        number = self.new_number()
        self.set_number(tensor, number)
        return number

    def append(self, backward, numbers, outs, saved):
        """Record an operation. numbers: of the inputs in backward.wrt; outs: its results, Tensors and others."""
        outputs = []
        for i, out in enumerate(outs):
            if i in backward.seeds and isinstance(out, Tensor):
                outputs.append(self.new_number())
                self.set_number(out, outputs[-1])
            else:
                outputs.append(None)
        self.entries.append(Entry(backward, numbers, outputs, saved))

    def protect(self, array, tapes):
        """`array` is about to be overwritten: what was saved of its memory is copied first."""
        copies = {}
        for entry in self.entries:
            for place, tensor in enumerate(entry.saved):
                if isinstance(tensor, Tensor) and np.may_share_memory(tensor.array, array):
                    if id(tensor) not in copies:
                        copy = copies[id(tensor)] = Tensor.wrap(tensor.array.copy())
                        for tape in tapes:
                            number = tape.number(tensor)
                            if number is not None:
                                tape.set_number(copy, number)
                    entry.saved[place] = copies[id(tensor)]

    def clear(self):
        """Forget the entries, and with them the saved values."""
        self.entries, self.named = [], {}


@contextlib.contextmanager
def recording(tape):
    """Operators inside the block are recorded on `tape` too; yields it."""
    before = state.tapes
    state.tapes = (*before, tape)
    try:
        yield tape
    finally:
        state.tapes = before


@contextlib.contextmanager
def paused():
    """Operators inside the block are recorded on no tape."""
    before = state.tapes
    state.tapes = ()
    try:
        yield
    finally:
        state.tapes = before


def is_recording():
    """True while a gradient is being made in this thread."""
    return bool(state.tapes)
