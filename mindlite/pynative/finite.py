"""check_nan: the first operator that makes NaN or infinity out of finite operands is an error at its line.

    set_context(check_nan=True);  jit(f)(x)    ->    NotFiniteError: log makes -inf out of finite operands   --> model.py:7

An interpreter under all others computes, and looks at what goes in and what comes out. While it is there nothing is
compiled: graphs run in Python, and gradients walk their tape operation by operation, so that in both modes, forward and
backward, the operator is known, and the line of the forward call. Operators that are given NaN or infinity (-inf in a
mask) may pass it on.
"""
import numpy as np

from ..common.errors import NotFiniteError, user_location
from ..common.tensor import Tensor
from ..common.threads import EVERYWHERE, here
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import ValueNode
from ..mindir.primitive import set_base_interpreter, unset_base_interpreter
from .interpreter import PyNative, enter, wrap
from .tape import Entry, paused
from .walks import can_walk


class LocatedEntry(Entry):
    """An entry of a tape that knows the line of the forward call."""
    __slots__ = ("location",)

    def __init__(self, entry, location):
        super().__init__(entry.backward, entry.inputs, entry.outputs, entry.saved)
        self.location = location


class FiniteCheck(PyNative):
    """Eager mode that refuses what is not finite, and on whose tapes entries know their lines."""

    def bind(self, prim, args, attrs):
        """As PyNative.bind. raises : NotFiniteError"""
        tapes = here.state.tapes
        counts: list = [len(tape.entries) for tape in tapes]
        out = super().bind(prim, args, attrs)
        location = user_location()
        refuse_not_finite(prim.name, args, attrs, out if isinstance(out, tuple) else (out,), "", location)
        for tape, count in zip(tapes, counts):
            tape.entries[count:] = [LocatedEntry(entry, location) for entry in tape.entries[count:]]
        return out


def _array(value):
    return value.asnumpy() if isinstance(value, Tensor) else value          # here the CPU waits for another device


def _is_finite(value):
    value = _array(value)
    if isinstance(value, (tuple, list)):
        return all(map(_is_finite, value))
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":
        value = value.astype(np.float32)                     # bfloat16
    return not isinstance(value, (np.ndarray, float, complex)) or bool(np.all(np.isfinite(value)))


def refuse_not_finite(name, args, attrs, outs, where, location):
    """raises : NotFiniteError where finite operands, of which there is one, gave NaN or infinity"""
    bad = next((out for out in outs if not _is_finite(out)), None)
    given = [a for a in args if isinstance(a, (Tensor, np.ndarray))]
    if bad is None or not given or not all(map(_is_finite, (*args, *attrs.values()))):
        return
    values = np.asarray(_array(bad))
    values = values if values.dtype.kind in "fc" else values.astype(np.float32)
    at = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
    raise NotFiniteError(f"{name} makes {values[at]} out of finite operands{where}",
                         note=f"at {list(at)} of {list(values.shape)}, of " + ", ".join(str(float(abs(_array(a)).max())) if
                              _array(a).size else "nothing" for a in given) + " at most",
                         hint="set_context(check_nan=False) ends this check", location=location)


def apply_checked(operation, tensors, location):
    """As `interpreter.apply`, node by node, for a part of a gradient. location : of the forward call that it belongs to

    raises : NotFiniteError
    """
    outs = [Tensor.wrap(v) if isinstance(v, np.ndarray) else wrap(v)
            for v in _run(operation, [_array(t) for t in tensors], location)]
    if here.state.tapes and operation.differentiable:
        enter(operation, tensors, outs)
    return outs


def _run(operation, arrays, location):
    graph = operation.graph
    where = f", in {graph.name}"
    if not can_walk(graph):
        outs = operation.run(arrays)
        refuse_not_finite(graph.name, arrays, {}, outs, "", location)
        return outs
    values = dict(zip(graph.parameters, arrays))
    with paused():
        for node in graph.nodes:
            args = [_array(a.value) if isinstance(a, ValueNode) else values[a] for a in node.args]
            if node.fn is tuple_getitem:
                values[node] = args[0][node.attrs["index"]]
            elif node.fn is make_tuple:
                values[node] = tuple(args)
            else:
                out = PyNative.bind(CHECK, node.fn, tuple(args), node.attrs)
                values[node] = tuple(map(_array, out)) if isinstance(out, tuple) else _array(out)
                refuse_not_finite(node.fn.name, args, node.attrs, out if isinstance(out, tuple) else (out,), where, location)
    return [_array(o.value) if isinstance(o, ValueNode) else values[o] for o in graph.outputs]


CHECK = FiniteCheck()


def watch(on):
    """Check from now on, in this thread and those that it starts, or (False) no more."""
    if on == (CHECK in EVERYWHERE):
        return
    if on:
        set_base_interpreter(CHECK)
        EVERYWHERE.append(CHECK)
        here.state.interpreters.insert(0, CHECK)
    else:
        unset_base_interpreter(CHECK)
        EVERYWHERE.remove(CHECK)
        here.state.interpreters.remove(CHECK)


def is_watching():
    """True while what operators make is checked."""
    return bool(EVERYWHERE)
