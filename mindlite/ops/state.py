"""Effects and markers: assign, print_, stop_gradient, depend, and what is known of a tensor without looking at it.

An effect (trait "effect") stays where it is written: the order of a graph's nodes is the order of its effects, so no
token is threaded. `assign` is the only operator that writes into memory; all else is a function of its operands.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..common.dim import product
from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTuple
from ..mindir.constraints import require
from ..mindir.graph import AnfNode
from ..mindir.primitive import bprop_rule, current_interpreter, eval_rule, infer_rule, jvp_rule, kernel_rule, primitive, vmap_rule
from .basic import batched, reshape
from .define import as_operand, cast_to, composite, dtype_of, elementwise, is_array, is_scalar
from .sbp import elementwise_spec, sbp_rule
from .slicing import slice_


# ---------------------------------------------------------------- assign

def _assign_prepare(args, attrs):
    variable, value = args
    if not is_array(variable):
        raise ArgumentError(f"assign: the variable is a Parameter or Tensor, not {type(variable).__name__}")
    value = cast_to(as_operand(value), dtype_of(variable))
    if tuple(value.shape) != tuple(variable.shape):              # checked here: inference only notes what was assigned
        _check_assign(variable, value)
    return (variable, value), attrs


def _check_assign(variable, value, name="assign"):
    error = lambda: ShapeError(f"{name}: the shapes differ", note=f"variable: {list(variable.shape)}, "  # noqa: E731
                               f"value: {list(value.shape)}")
    if len(variable.shape) != len(value.shape):
        raise error()
    for have, want in zip(value.shape, variable.shape):
        require("==", have, want, error)


@primitive(traits={"effect", "assign"}, prepare=_assign_prepare)
def assign(variable: Any, value: TensorLike):
    """Write `value` into the memory of `variable` (a Parameter or Tensor) and return the variable.

    value  : of variable's shape; it is cast to variable's dtype
    raises : ShapeError if the shapes differ
    """


@infer_rule(assign)
def assign_infer(variable, value):
    _check_assign(variable, value)
    return variable


@eval_rule(assign)
def assign_eval(variable, value):
    value = np.array(value)                     # variable and value may share memory; the result must not
    np.copyto(variable, value)
    return value


@kernel_rule(assign)
def assign_kernel(variable, value, out):
    return lambda *i: value[i]


@bprop_rule(assign)
def assign_bprop(variable, value, out, dout):
    return None, dout


@jvp_rule(assign)
def assign_jvp(primals, tangents, out):
    return tangents[1]


@vmap_rule(assign)
def assign_vmap(args, dims, size):
    variable, value = args
    if dims[0] is None and dims[1] is not None:
        raise ArgumentError("vmap: a value that differs along the mapped axis is assigned to a variable that does not",
                            hint="map over the variable as well, or assign after the vmap")
    return assign(batched(variable, dims[0], size), batched(value, dims[1], size)), 0


sbp_rule(assign, elementwise_spec, linear=[{0, 1}])


@composite(infer=lambda variable, value: variable)
def stored(variable, value):
    """What a Parameter holds once `value` was assigned to it: the value, whose gradient is the Parameter's.

    A Parameter is a leaf: all that reads it, before or after an assignment, adds to its gradient, and none flows into
    what was assigned. Inference writes this node for an assignment; once derivatives are made it is `value`.

    variable : what the Parameter held before         value : of variable's shape and dtype
    source   : MindSpore, in both modes; so are TensorFlow's Variables
    """
    return value


@bprop_rule(stored)
def stored_bprop(variable, value, out, dout):
    return dout, None


@jvp_rule(stored)
def stored_jvp(primals, tangents, out):
    return tangents[0]


@vmap_rule(stored)
def stored_vmap(args, dims, size):
    variable, value = args
    if dims[1] is None and variable.dtype.kind in "bui":
        return value, None                                   # one value for all items, and no gradient that each one has
    if dims[1] is None and isinstance(size, int) and size > 0:
        # One value for all items. What items stored before are values of one Parameter, so that the gradient, which is
        # a sum over the items, may reach it by any of them, and tangents are equal.
        sizes = tuple([1 if axis == dims[0] else n for axis, n in enumerate(variable.shape)])
        first = slice_(variable, start=(0,) * len(sizes), sizes=sizes, step=(1,) * len(sizes))
        return stored(reshape(first, shape=value.shape), value), None
    return stored(*[batched(x, dim, size) for x, dim in zip(args, dims)]), 0


sbp_rule(stored, elementwise_spec, linear=[{0, 1}])


_ORDER = "biufc"                                          # of kinds of dtype: a variable holds its own and those before


def _added(name, variable, value):
    """The operand of variable += value: a number, or a tensor of the variable's shape, as nothing is repeated in place."""
    if not is_array(variable):
        raise ArgumentError(f"{name}: the variable is a Parameter or Tensor, not {type(variable).__name__}")
    if is_scalar(value):
        return value
    value = as_operand(value)
    if tuple(value.shape) != tuple(variable.shape):
        _check_assign(variable, value, name)
    return value


def _fits(name, variable, made):
    have, want = dtype_of(variable), dtype_of(made)
    if _ORDER.index(want.kind) > max(_ORDER.index(have.kind), 2 if have.kind in "ui" else 0):
        raise DTypeError(f"{name}: a variable of {have.name} does not hold {want.name}", hint="cast the value")
    return made


def assign_add(variable: Any, value: TensorLike) -> Tensor:
    """variable += value, in the variable's memory.

    variable : Parameter or Tensor
    value  : number, or Tensor of the variable's shape
    out    : the variable; its dtype stays
    raises : ShapeError where the shapes differ, DTypeError where the variable's dtype does not hold the sum's
             kind (a float added to integers)
    """
    return assign(variable, _fits("assign_add", variable, variable + _added("assign_add", variable, value)))


def assign_sub(variable: Any, value: TensorLike) -> Tensor:
    """variable -= value, in the variable's memory.

    variable : Parameter or Tensor
    value  : number, or Tensor of the variable's shape
    out    : the variable; its dtype stays
    raises : ShapeError where the shapes differ, DTypeError where the variable's dtype does not hold its
             kind (a float taken off integers)
    """
    return assign(variable, _fits("assign_sub", variable, variable - _added("assign_sub", variable, value)))


# ---------------------------------------------------------------- print

@primitive(traits={"effect"})
def print_values(*values, pieces):
    """Print `pieces` joined by blanks; each None among them is the next of `values`. Gives an empty tuple."""


@infer_rule(print_values)
def print_values_infer(*values, pieces):
    return AbstractTuple(())


@eval_rule(print_values)
def print_values_eval(*values, pieces):
    each = iter(values)
    sys.stdout.write(" ".join(str(next(each)) if piece is None else piece for piece in pieces) + "\n")
    sys.stdout.flush()
    return ()


@bprop_rule(print_values)
def print_values_bprop(*values, out, dout, pieces):
    return (None,) * len(values)


@vmap_rule(print_values)
def print_values_vmap(args, dims, size, *, pieces):
    return print_values(*args, pieces=pieces), ()


def print_(*values: Any) -> Any:
    """Print values as Python's print, at run time also in graph mode; Tensors show their elements."""
    pieces = tuple(None if is_array(v) else str(v) for v in values)
    print_values(*(v for v in values if is_array(v)), pieces=pieces)


# ---------------------------------------------------------------- identities

@elementwise(scalar=lambda x: x, array=np.array, derivatives=[1])
def identity(x: Any):
    """x itself: a Tensor with the same elements, and the gradient that comes.

    x      : Tensor or number; any dtype and shape
    out    : Tensor like x
    """


def pause_gradients():
    """From here on operators are recorded on no tape, and gradients pass none of a graph, until `resume_gradients`."""
    current_interpreter().pause()


def resume_gradients():
    """See `pause_gradients`."""
    current_interpreter().resume()


@elementwise(scalar=lambda x: x, array=np.array, derivatives=[None], traits={"stop_gradient"}, name="stop_gradient")
def constant_of(x: TensorLike):
    """x, through which no gradient flows."""


def stop_gradient(value: Any) -> Any:
    """`value`, through which no gradient flows.

    value : Tensor; a tuple, list or dict of values, each of which is stopped; anything else stays as it is
    out   : like value
    """
    if is_array(value) or isinstance(value, AnfNode) and is_scalar(value) and value.abstract.type is float:
        return constant_of(value)
    if isinstance(value, (tuple, list)):
        parts = [stop_gradient(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: stop_gradient(part) for key, part in value.items()}
    return value


def depend(value: Any, expr: Any) -> Any:
    """`value`, after `expr` has run. Effects run in the order in which they are written, so nothing is to be done.

    value  : anything, as a Tensor
    expr   : anything
    out    : value
    """
    return value


# ---------------------------------------------------------------- sizes

def shape(input_x: Any) -> Any:
    """The sizes of `input_x`: a tuple of int, or of Dims where they are known at run time only.

    raises : ArgumentError, a TypeError, for what is no tensor
    """
    if not hasattr(input_x, "shape"):
        raise ArgumentError(f"a tensor is wanted, not {type(input_x).__name__}", note=repr(input_x)[:80])
    return tuple(input_x.shape)


def rank(input_x: Any) -> Any:
    """The number of axes of `input_x`, an int."""
    return len(shape(input_x))


def size(input_x: Any) -> Any:
    """The number of elements of `input_x`, an int or a Dim."""
    return product(shape(input_x))
