"""The tape: what eager mode remembers while a gradient is being made (Wengert 1964; as autograd and torch keep it).

    with recording(Tape()) as tape:              tape.entries:  mul(%0, 2.0) -> %1     saved: 2.0
        x = tape.watch(x)   # %0                                tanh(%1) -> %2         saved: the result
        y = ops.tanh(x * 2)                      backward.py walks them from the end

Values that depend on a watched one have a *number*; it stands in the Tensor's `tape` slot behind the tape: (tape, number),
(tape, number, outer tape, number there), .. so that gradients of gradients are tapes inside each other. An entry keeps
only what the operator's backward graph reads. Each thread has tapes of its own. Machine code appends entries as well
(native_code.py): what a tape and an entry hold are slots.
"""
import contextlib
import weakref

from ..common.garbage import collect_seldom
from ..common.locks import new_lock
from ..common.storage import DeviceArray, copied, is_view, part_here
from ..common.tensor import HOOKS, ROOT, Tensor
from ..common.threads import here


_keeping = new_lock()
_kept: weakref.WeakSet = weakref.WeakSet()  # tapes that outlive their functions, of all threads


class Entry:
    """One operation: its backward (with `wrt`, `saved` and a way to run), the numbers of its differentiated inputs and
    of its results (None for a result without a gradient), and the Tensors that backward reads; three tuples."""
    __slots__ = ("backward", "inputs", "outputs", "saved")

    def __init__(self, backward, inputs, outputs, saved):
        self.backward, self.inputs, self.outputs, self.saved = backward, tuple(inputs), tuple(outputs), tuple(saved)


def owner_of(array):
    """What identifies the memory of an ndarray or DeviceArray: arrays that share memory have the same owner."""
    if isinstance(array, DeviceArray):
        return id(array.storage.buffer)
    array = part_here(array)
    base = array.base
    while base is not None:
        array, base = base, getattr(base, "base", None)
    return id(array)


class Tape:
    """Entries in the order of execution. count: how many numbers have been given."""
    __slots__ = ("entries", "count", "owners", "owned", "hooks", "named", "used", "walk", "__weakref__")

    def __init__(self):
        self.entries, self.count = [], 0
        self.owners, self.owned = {}, 0     # owner_of(saved array): [(entry, index)], of the first `owned` entries
        self.hooks = {}                     # number: {..: function of the value's gradient}, the Tensor's own table
        self.named = {}                     # id: (Parameter, number); threads share Parameters, so no slot is used
        self.used = None                    # [(Parameter, number)] of those that are watched when they are first used
        self.walk = None                    # how it was walked backwards, in words

    def number(self, tensor):
        """The number of a Tensor's value on this tape, None if it depends on nothing that is watched."""
        pairs = tensor.tape
        if pairs is not None:
            for i in range(0, len(pairs), 2):
                if pairs[i] is self:
                    return pairs[i + 1]
            return None
        if self.named and id(tensor) in self.named:
            return self.named[id(tensor)][1]
        if self.used is not None and type(tensor) is not Tensor and getattr(tensor, "requires_grad", False):
            self.used.append((tensor, self.watch(tensor)))
            return self.used[-1][1]
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
        pairs = tensor.tape or ()
        others = sum([pairs[i:i + 2] for i in range(0, len(pairs), 2) if pairs[i] is not self], ())
        tensor.tape = (others if number is None else (*others, self, number)) or None

    def watch(self, tensor):
        """Give `tensor` a number: gradients with respect to it will be wanted. Returns the number."""
        number = self.new_number()
        self.set_number(tensor, number)
        hooks = tensor.__dict__.get(HOOKS)
        if hooks is not None:
            self.hooks[number] = hooks
        return number

    def append(self, backward, numbers, outs, saved):
        """Record an operation. numbers: of the inputs in backward.wrt; outs: its results, Tensors and others."""
        outputs = [None] * len(outs)
        for i in backward.seeds:
            if isinstance(outs[i], Tensor):
                outputs[i] = self.new_number()
                self.set_number(outs[i], outputs[i])
        self.entries.append(Entry(backward.of_sizes(outs), numbers, outputs, saved))

    def protect(self, array, tapes):
        """`array` is about to be overwritten: what was saved of its memory is copied first."""
        for entry in self.entries[self.owned:]:
            for index, value in enumerate(entry.saved):
                if isinstance(value, Tensor):
                    self.owners.setdefault(owner_of(value.elements), []).append((entry, index))
        self.owned = len(self.entries)
        self._copy(self.owners.pop(owner_of(array), ()), tapes)

    def keep(self):
        """The tape outlives its function: Parameters, which will be trained, and views are copied where they are saved; other
        Tensors when they are written."""
        self._copy([(entry, index) for entry in self.entries for index, value in enumerate(entry.saved)
                    if isinstance(value, Tensor) and (type(value) is not Tensor or is_view(value.elements)
                                                      or ROOT in value.__dict__)],
                   (*here.state.tapes, self))
        with _keeping:
            _kept.add(self)

    def _copy(self, indices, tapes):
        """Replace the saved values at these (entry, index) by copies of their own, with the same numbers."""
        copies = {}
        for entry, index in indices:
            tensor = entry.saved[index]
            if id(tensor) not in copies:
                copy = copies[id(tensor)] = Tensor.of_elements(copied(tensor.elements))
                for tape in tapes:
                    number = tape.number(tensor)
                    if number is not None:
                        tape.set_number(copy, number)
            entry.saved = (*entry.saved[:index], copies[id(tensor)], *entry.saved[index + 1:])

    def clear(self):
        """Forget the entries, and with them the saved values."""
        self.entries, self.named, self.owners, self.owned = [], {}, {}, 0


def holding():
    """The tapes that may have saved what is about to be overwritten: those that record, are paused or are kept."""
    tapes = here.state.tapes + here.state.paused
    if not _kept:
        return tapes
    with _keeping:
        return (*tapes, *_kept)


def protect(array):
    """`array` is about to be overwritten: what tapes have saved of it is copied first."""
    tapes = holding()
    for tape in tapes:
        tape.protect(array, tapes)


class recording:
    """Operators inside the `with` block are recorded on `tape` too; gives it."""
    __slots__ = ("tape", "before")

    def __init__(self, tape):
        self.tape = tape

    def __enter__(self):
        self.before = here.state.tapes
        here.state.tapes = (*self.before, self.tape)
        return self.tape

    def __exit__(self, *_):
        here.state.tapes = self.before
        if not self.before:
            collect_seldom()


@contextlib.contextmanager
def paused():
    """Operators inside the block are recorded on no tape."""
    before = here.state.tapes, here.state.paused
    here.state.tapes, here.state.paused = (), here.state.paused + here.state.tapes
    try:
        yield
    finally:
        here.state.tapes, here.state.paused = before


def is_recording():
    """True while a gradient is being made in this thread."""
    return bool(here.state.tapes)
