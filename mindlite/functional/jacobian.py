"""Jacobians and Taylor series: vmap over the directions of jvp and vjp, and jvp of jvp.

    jacfwd(f)(x)[.., j] = linearize(f, x)[1](e_j)   one column for each element of x, all of them at once by vmap
    jacrev(f)(x)[i, ..] = vjp(f, x)[1](e_i)         one row for each element of f(x)
    jet(f, x, (v1, v2)) = derivatives of f(x + v1 t + v2 t^2 / 2) at t = 0, forward mode over forward mode

All is Python over `jvp`, `vjp` and `vmap` (as in JAX's autodidax), which runs as one graph, so that what the directions
share is computed once, and that any of them may be differentiated, mapped and compiled again.
"""
import math
from collections.abc import Callable
from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.tensor import Tensor
from ..compile.jit import JitFunction
from ..mindir.derivative import first_of, positions_of
from ..mindir.primitive import is_interpreting
from ..mindir.protocol import CallOf
from ..pynative.jitted import call_compiled
from .derivative import aux_of, checked, jvp, linearize, name_of, vjp
from .vmap import vmap


class Jacobian:
    """A function that gives Jacobians; see `jacfwd` and `jacrev`. directions: the function that finds them, and the value."""

    def __init__(self, name, function, grad_position, has_aux, directions):
        self.kind, self.function = name, checked(name, function)
        if not isinstance(has_aux, bool):
            raise ArgumentError(f"{name}: has_aux is a bool, not {type(has_aux).__name__}")
        if grad_position is None:
            raise ArgumentError(f"{name}: grad_position is None", hint="an int or a tuple of ints")
        self.grad_position, self.has_aux, self.directions = grad_position, has_aux, directions
        self._compiled = None

    def __mindir__(self):
        return CallOf(self.call)

    def __call__(self, *args):
        if is_interpreting():
            return self.call(*args)
        return call_compiled(self.compiled, args, {})

    @property
    def compiled(self):
        """The JitFunction that runs the whole as one graph."""
        if self._compiled is None:
            self._compiled = JitFunction(self, name=name_of(self))
        return self._compiled

    def call(self, *args):
        """The Jacobian, as Python over jvp, vjp and vmap."""
        positions = positions_of(self.grad_position, len(args), self.kind)

        def chosen(*values):
            inside = list(args)
            for position, value in zip(positions, values):
                inside[position] = value
            return self.function(*inside)
        inputs = tuple([as_tensor(args[position]) for position in positions])
        single = len(positions) == 1
        found, value = self.directions(chosen, inputs, single, self.has_aux)
        return (found, aux_of(value)) if self.has_aux else found

    def __repr__(self):
        return f"<{self.kind} of {name_of(self.function)}>"


def jacfwd(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> Jacobian:
    """A function that gives the Jacobian of `fn` by forward mode: for functions with more outputs than inputs.

    grad_position : int, or tuple of int: by which arguments      has_aux: only the first output is differentiated
    result        : Tensor of shape output.shape + input.shape; several outputs: a tuple of them; several positions:
                    a tuple for each output; with has_aux (Jacobian, the other outputs)
    raises        : when called: ArgumentError for a bad position, DTypeError where an input is no float
    """
    return Jacobian("jacfwd", fn, grad_position, has_aux, _columns)


def jacrev(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> Jacobian:
    """A function that gives the Jacobian of `fn` by reverse mode: for functions with more inputs than outputs.

    fn            : a function or Cell of Tensors
    grad_position : int or tuple of ints, the inputs that are differentiated by
    has_aux       : bool; only fn's first result is differentiated, the others are given as they are
    out           : as `jacfwd`: [*out's shape, *input's shape] for each result and input
    raises        : ArgumentError for a has_aux that is no bool, for grad_position None
    """
    return Jacobian("jacrev", fn, grad_position, has_aux, _rows)


def _columns(function, inputs, single, has_aux):
    """(the Jacobian, the function's value); has_aux: the Jacobian of the first of several"""
    found = []
    value, push = linearize(function, inputs)
    for k in range(len(inputs)):
        def along(direction, k=k):
            made = push(tuple([direction if i == k else ops.zeros_like(x) for i, x in enumerate(inputs)]))
            return first_of(made) if has_aux else made
        shape = inputs[k].shape
        columns = vmap(along, 0, -1)(basis(inputs[k]))
        found.append(_mapped(columns, lambda c, shape=shape: ops.reshape(c, c.shape[:-1] + shape)))
    return found[0] if single else _transposed(found), value


def _rows(function, inputs, single, has_aux):
    """(the Jacobian, the function's value; has_aux: (the first, the others))"""
    value, pullback, *aux = vjp(function, *inputs, has_aux=has_aux)
    several = isinstance(value, (tuple, list))
    outputs = list(value) if several else [value]
    found = []
    for k in range(len(outputs)):
        def along(direction, k=k):
            return pullback(*[direction if i == k else ops.zeros_like(y) for i, y in enumerate(outputs)])
        shape = outputs[k].shape
        rows = vmap(along)(basis(outputs[k]))
        rows = [ops.reshape(row, shape + x.shape) for row, x in zip(rows, inputs)]
        found.append(rows[0] if single else tuple(rows))
    return tuple(found) if several else found[0], (value, *aux)


def basis(x: Any) -> Any:
    """The unit tensors of x's shape: f[size, *shape]."""
    if not x.dtype.is_float:
        raise DTypeError(f"a Jacobian wants floats, not {x.dtype}")
    return ops.reshape(ops.eye(x.size, x.size, x.dtype), (x.size,) + x.shape)


def as_tensor(x: Any) -> Any:
    """A number or array as a Tensor."""
    return x if isinstance(x, Tensor) else Tensor(x)


def _mapped(value, function):
    if isinstance(value, (tuple, list)):
        return tuple([_mapped(v, function) for v in value])
    return function(value)


def _transposed(columns):
    """From one structure of outputs for each input to one tuple of inputs for each output."""
    if isinstance(columns[0], (tuple, list)):
        return tuple([_transposed([c[i] for c in columns]) for i in range(len(columns[0]))])
    return tuple(columns)


# ---------------------------------------------------------------- Taylor series

class Taylor:
    """A function that gives derivatives along a curve; see `jet`."""

    kind = "jet"

    def __init__(self, function):
        self.function = function
        self._compiled = None

    def __mindir__(self):
        return CallOf(self.call)

    def __call__(self, inputs, series):
        if is_interpreting():
            return self.call(inputs, series)
        return call_compiled(self.compiled, (inputs, series), {})

    @property
    def compiled(self):
        """The JitFunction that runs the whole as one graph."""
        if self._compiled is None:
            self._compiled = JitFunction(self, name=name_of(self))
        return self._compiled

    def call(self, inputs, series):
        """(value, derivatives of order 1, 2, ..) of function at inputs + sum series[k] t^k / k! where t = 0."""
        def curve(t):
            inside = []
            for x, terms in zip(inputs, series):
                power = t
                for k in range(len(terms)):
                    x = x + terms[k] * ops.cast(power, x.dtype) / math.factorial(k + 1)
                    power = power * t
                inside.append(x)
            return self.function(*inside)
        derivatives = with_derivatives(curve, len(series[0]))
        return derivatives(ops.zeros((), inputs[0].dtype))


def with_derivatives(curve: Any, order: int) -> Any:
    """The function t -> (curve(t), its derivatives up to `order`) of a number t."""
    if order == 0:
        return lambda t: (curve(t),)
    lower = with_derivatives(curve, order - 1)

    def further(t):
        values, slopes = jvp(lower, t, ops.ones_like(t))
        return values + (slopes[-1],)
    return further


def jet(fn: Callable[..., Any], primals: Any, series: Any) -> Any:
    """Derivatives of higher order along a curve through `primals`: Taylor mode.

    primals : a Tensor or a tuple of them; integers become float32
    series  : like primals, with an axis in front: series[k - 1] is the derivative of order k of the input (without that
              axis: the first only). (1, 0, 0, ..) gives derivatives with respect to the input itself
    result  : (fn(*primals), derivatives of order 1, 2, .. stacked in front); lists of them where fn has several outputs
    raises  : ShapeError where series and primals do not fit, ArgumentError where they are not of one kind
    """
    inputs, terms = _curve(primals, series)
    values = _taylor(fn)(inputs, terms)
    return _outputs(values[0], values, lambda parts: ops.stack(parts[1:]))


def derivative(fn: Callable[..., Any], primals: Any, order: int) -> Any:
    """The derivative of a given order of `fn` along (1, 1, ..): of elementwise functions, that of each element.

    primals : a Tensor or a tuple of them; integers become float32
    order   : an int from 1
    result  : (fn(*primals), its derivative of that order); lists of them where fn has several outputs
    raises  : ValueRangeError for an order below 1, ArgumentError where it is no int
    """
    if isinstance(order, bool) or not isinstance(order, int):
        raise ArgumentError(f"derivative: order is an int, not {type(order).__name__}")
    if order < 1:
        raise ValueRangeError(f"derivative: order is {order}; it is at least 1")
    inputs = tuple([_as_float(x) for x in (primals if isinstance(primals, (tuple, list)) else (primals,))])
    terms = tuple([tuple([ops.ones_like(x)] + [ops.zeros_like(x)] * (order - 1)) for x in inputs])
    values = _taylor(fn)(inputs, terms)
    return _outputs(values[0], values, lambda parts: parts[-1])


def _taylor(fn):
    return Taylor(checked("jet", fn))


def _curve(primals, series):
    if isinstance(primals, (tuple, list)) != isinstance(series, (tuple, list)):
        raise ArgumentError("jet: primals and series are both Tensors or both tuples")
    if not isinstance(primals, (tuple, list)):
        primals, series = (primals,), (series,)
    if len(primals) != len(series):
        raise ArgumentError(f"jet: {len(primals)} primals, but {len(series)} series")
    inputs, terms = [], []
    for x, s in zip(primals, series):
        x, s = _as_float(x), _as_float(s)
        if s.shape == x.shape:
            s = ops.expand_dims(s, 0)
        if s.shape[1:] != x.shape:
            raise ShapeError("jet: each element of series has the shape of its primal", note=f"{s.shape}, {x.shape}")
        inputs.append(x)
        terms.append(tuple([s[k] for k in range(s.shape[0])]))
    return tuple(inputs), tuple(terms)


def _as_float(x):
    x = as_tensor(x)
    return x if x.dtype.is_float else ops.cast(x, dt.float32)


def _outputs(first, values, choose):
    """The value and what `choose` makes of the values, output by output."""
    if isinstance(first, (tuple, list)):
        pairs = [_outputs(v, [value[i] for value in values], choose) for i, v in enumerate(first)]
        return [v for v, _ in pairs], [d for _, d in pairs]
    return first, choose(values)
