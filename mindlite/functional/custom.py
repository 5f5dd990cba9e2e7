"""Gradients of a user's own for functions and for values: custom_vjp, InsertGradientOf, HookBackward.

    @custom_vjp                                     clip = InsertGradientOf(lambda dout: ops.clamp(dout, -1, 1))
    def f(x): return x * x                          clip(x) is x; backwards the gradient goes through the function
    f.defbwd(lambda x, out, dout: 2 * x * dout)

The first two are graphs in graph mode; a hook is a Python function, which sees values.
"""
import functools

from ..common.errors import ArgumentError, GraphSyntaxError
from ..mindir.protocol import CallOf, CustomGradient
from ..pynative import custom, gate


def _function(what, value):
    if not callable(value) and not hasattr(value, "signature"):       # a function inside a graph has a signature
        raise ArgumentError(f"{what}: takes a function, not {type(value).__name__}")
    return value


class custom_vjp:
    """A function whose gradient is written by hand; until `defbwd` is called it has its own gradient.

    fn     : the function
    raises : ArgumentError for what is no function; as `bprop` of a Cell where the gradient does not fit
    """

    def __init__(self, fn):
        self.function, self.bprop = _function("custom_vjp", fn), None
        if hasattr(fn, "__name__"):
            functools.update_wrapper(self, fn, updated=())

    def defbwd(self, bwd):
        """Make bwd(*arguments, out, dout) the gradient: one for each argument. Returns bwd."""
        self.bprop = _function("defbwd", bwd)
        return bwd

    def __mindir__(self):
        if self.bprop is None:
            return CallOf(self.function)
        return CustomGradient(self.function, self.bprop, at_once=lambda run, args, kwargs:
                              custom(run, self.bprop, args, kwargs), scope=getattr(self, "__qualname__", ""))

    def __call__(self, *args, **kwargs):
        if self.bprop is None:
            return self.function(*args, **kwargs)
        return custom(self.function, self.bprop, args, kwargs)


class InsertGradientOf:
    """The identity, whose gradient is what `f` makes of it."""

    def __init__(self, f):
        self.f = _function("InsertGradientOf", f)

    def _identity(self, x):
        return x

    def _bprop(self, x, out, dout):
        return (self.f(dout),)

    def __mindir__(self):
        return CustomGradient(self._identity, self._bprop, scope="InsertGradientOf",
                              at_once=lambda run, args, kwargs: custom(run, self._bprop, args, kwargs))

    def __call__(self, x):
        return custom(self._identity, self._bprop, (x,))


class HookBackward:
    """The identity; backwards hook_fn((gradient, ..)) sees the gradients, and may give others, alone or in a tuple.

    cell_id : a word for the user's own messages
    """

    def __init__(self, hook_fn, cell_id=""):
        self.hook_fn, self.cell_id = _function("HookBackward", hook_fn), cell_id

    def __mindir__(self):
        raise GraphSyntaxError("HookBackward calls a Python function with the gradient, in PYNATIVE_MODE only",
                               hint="InsertGradientOf is its like for graphs")

    def __call__(self, *inputs):
        outs = gate(inputs, self.hook_fn)
        return outs[0] if len(outs) == 1 else outs
