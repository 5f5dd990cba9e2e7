"""Gradients of a user's own for functions and for values: custom_vjp, InsertGradientOf, HookBackward; Custom operators.

    @custom_vjp                                     clip = InsertGradientOf(lambda dout: ops.clamp(dout, -1, 1))
    def f(x): return x * x                          clip(x) is x; backwards the gradient goes through the function
    f.defbwd(lambda x, out, dout: 2 * x * dout)

All three are parts of graphs: a hook, too, is a function like any other (infer/hooks.py).
"""
import functools

from ..common.errors import ArgumentError, DTypeError, Refusal, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..mindir.protocol import CallOf, CustomGradient
from ..pynative import custom, gate
from .compiled_operators import compiled_function, results_of
from .registration import Registration


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
    """The identity; backwards hook_fn((gradient, ..)) sees the gradients, and may give others, single or in a tuple.

    cell_id : a word for the user's own messages
    """

    def __init__(self, hook_fn, cell_id=""):
        self.hook_fn, self.cell_id = _function("HookBackward", hook_fn), cell_id

    def __mindir__(self):
        return CallOf(self._between)

    def __call__(self, *inputs):
        return self._between(*inputs)

    def _between(self, *inputs):                             # plain Python: parsed in graph mode, run in eager mode
        outs = gate(inputs, self.hook_fn)
        return outs[0] if len(outs) == 1 else outs


class Custom:
    """An operator that a Python function of ndarrays computes, or a compiled one (compiled_operators.py).

    func                : (*ndarrays) -> ndarray, or a tuple of them; of another func_type see there
    out_shape, out_dtype: what it gives: values, or functions of the inputs' shapes and dtypes; of several results a tuple of
                          each; None: not checked, only for "pyfunc"
    func_type           : "pyfunc"; "aot", a function of C by "path:name"; "llvm", LLVM IR; "numba", a function for Numba
    bprop               : bprop(*inputs, out, dout), one gradient for each input; None: it has no gradient
    reg_info            : registrations (CustomRegOp), dicts or JSON; None: those that custom_info_register gave the function
    raises              : ValueRangeError for another func_type, ArgumentError for a compiled function that is none, or without
                          out_shape and out_dtype; when called: ShapeError, DTypeError where the result is not what was promised,
                          ArgumentError, DTypeError where the inputs are not as registered, ArgumentError for a function of C
                          that says that it failed
    """
    KINDS = "pyfunc", "aot", "llvm", "numba"

    def __init__(self, func, out_shape=None, out_dtype=None, func_type="pyfunc", bprop=None, reg_info=None):
        if func_type not in self.KINDS:
            raise ValueRangeError(f"Custom: func_type is one of {', '.join(self.KINDS)}, not {func_type!r}")
        if func_type != "pyfunc" and (out_shape is None or out_dtype is None):
            raise ArgumentError(f"Custom: a function of func_type {func_type!r} has out_shape and out_dtype")
        self.func = _function("Custom", func) if func_type == "pyfunc" else func
        self.compute = None if func_type == "pyfunc" else compiled_function(func, func_type)
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self.bprop = bprop if bprop is None else _function("Custom", bprop)
        self.registration = Registration(func, reg_info)

    def __mindir__(self):
        if self.compute is not None:
            raise Refusal("Custom calls a compiled function, which is no part of a graph")
        raise Refusal(f"Custom calls the Python function {getattr(self.func, '__name__', 'func')}")

    def __call__(self, *inputs):
        return self._run(*inputs) if self.bprop is None else custom(self._run, self.bprop, inputs)

    def _run(self, *inputs):
        fitting = self.registration.check_inputs(inputs)
        if self.compute is not None:
            made = results_of(self.compute, inputs, self._promised("shape", inputs), self._promised("dtype", inputs))
            self.registration.check_outputs(fitting, list(made) if isinstance(made, tuple) else [made])
            return made
        given = self.func(*[x.asnumpy() if isinstance(x, Tensor) else x for x in inputs])
        outs = [Tensor(x) for x in (given if isinstance(given, tuple) else (given,))]
        self.registration.check_outputs(fitting, outs)
        for what, error in (("shape", ShapeError), ("dtype", DTypeError)):
            if getattr(self, "out_" + what) is None:
                continue
            wanted = self._promised(what, inputs)
            found = tuple([getattr(out, what) for out in outs])
            found = found if isinstance(given, tuple) else found[0]
            if _plain(found) != _plain(wanted):
                raise error(f"Custom: the function gives the {what} {found}, {wanted} was promised")
        return tuple(outs) if isinstance(given, tuple) else outs[0]

    def _promised(self, what, inputs):
        promised = getattr(self, "out_" + what)
        return promised(*[getattr(x, what) for x in inputs]) if callable(promised) else promised


def _plain(value):
    return tuple(map(_plain, value)) if isinstance(value, (tuple, list)) else value


class Morph:
    """A function as an operator: applied to inputs, it is `fn` of them, also to what transforms it.

    fn                       : a function, or one with a gradient of its own
    infer_shape, infer_dtype : functions of the inputs' shapes and dtypes, MindSpore's; shapes and dtypes are those of fn's values
    bprop_fn                 : bprop_fn(*inputs, out, dout), one gradient for each input; None: that of fn
    raises                   : ArgumentError for what is no function
    """

    def __init__(self, fn, infer_shape, infer_dtype, bprop_fn=None):
        self.infer_shape, self.infer_dtype = _function("Morph", infer_shape), _function("Morph", infer_dtype)
        self._applied = custom_vjp(fn)
        if bprop_fn is not None:
            self._applied.defbwd(bprop_fn)

    def __mindir__(self):
        return self._applied.__mindir__()

    def __call__(self, *inputs):
        return self._applied(*inputs)
