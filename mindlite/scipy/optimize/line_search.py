"""A step along a direction that meets Wolfe's strong conditions.

    f(x + a p) <= f(x) + c1 a f'p     and     |f'(x + a p) p| <= c2 |f'(x) p|

First the step is doubled until an interval has such a step in it, then the interval shrinks, by the minimum of a cubic, of a
parabola, or its middle (Nocedal and Wright 2006, algorithms 3.5 and 3.6). Both are loops without branches, on Tensors.
"""
from typing import Any, NamedTuple

from ... import ops
from ...functional import value_and_grad

_ZOOMS = 10


class LineSearchResults(NamedTuple):
    """failed: no such step was found; nit, k: iterations; nfev, ngev: values and gradients of f; a_k: the step; f_k, g_k: the
    value and gradient there; status: 0, or 1 where the step was doubled too often, 3 where the interval shrank too often."""
    failed: Any
    nit: Any
    nfev: Any
    ngev: Any
    k: Any
    a_k: Any
    f_k: Any
    g_k: Any
    status: Any


def derivative(f, jac):
    """x -> (f(x), its gradient there); jac : a function that gives the gradient; None: it is derived."""
    return value_and_grad(f) if jac is None else lambda x: (f(x), jac(x))


def _both(condition, other):
    return ops.logical_and(condition, other)


def _cubic_minimum(a, fa, da, b, fb, c, fc):
    """Where the cubic through (a, fa) of slope da there, (b, fb) and (c, fc) has its minimum; NaN where it has none."""
    db, dc = b - a, c - a
    left, right = fb - fa - da * db, fc - fa - da * dc
    scale = ops.square(db * dc) * (db - dc)
    cubic = (ops.square(dc) * left - ops.square(db) * right) / scale
    square = (ops.pow(db, 3) * right - ops.pow(dc, 3) * left) / scale
    return a + (-square + ops.sqrt(square * square - 3 * cubic * da)) / (3 * cubic)


def _parabola_minimum(a, fa, da, b, fb):
    """Where the parabola through (a, fa) of slope da there and (b, fb) has its minimum; NaN or inf where it has none."""
    width = b - a
    return a - da / (2 * (fb - fa - da * width) / ops.square(width))


def _inside(place, low, high, margin):
    return _both(place <= high - margin, place >= low + margin)          # false for NaN


def line_search(f, xk, pk, jac=None, gfk=None, old_fval=None, old_old_fval=None, c1=1e-4, c2=0.9, maxiter=20):
    """A step a along pk from xk that meets Wolfe's strong conditions.

    f, jac         : of a Tensor of xk's shape, a number; its gradient, None: derived
    xk, pk         : Tensors of floats, where to begin and the direction, along which f falls
    gfk, old_fval  : the gradient and value at xk, where they are known; old_old_fval : the value before, which gives the first
                     step that is tried; None: 1
    maxiter        : how often the step may be doubled
    out            : LineSearchResults of Tensors; where it failed, a_k is the best step seen, or 0
    """
    at = derivative(f, jac)
    if gfk is None or old_fval is None:
        f0, g0 = at(xk)
    else:
        f0, g0 = old_fval, gfk
    d0, zero = ops.sum(g0 * pk), ops.zeros_like(f0)
    step = zero + 1
    if old_old_fval is not None:
        guess = 1.01 * 2 * (f0 - old_old_fval) / ops.where(d0 == 0, 1.0, d0)
        step = ops.where(_both(d0 != 0, guess > 0), ops.minimum(step, guess), step)
    count = ops.cast(zero, "int32")
    evaluations = count

    # the interval
    before, f_before, d_before = zero, f0, d0
    low, f_low, d_low, g_low = zero, f0, d0, g0
    high, f_high = zero, f0
    going, found = zero == 0, zero != 0
    while going:
        value, gradient = at(xk + step * pk)
        slope = ops.sum(gradient * pk)
        over = ops.logical_or(value > f0 + c1 * step * d0, _both(value >= f_before, count > 0))
        over = ops.logical_or(over, ops.logical_not(value == value))
        found = _both(ops.logical_not(over), ops.abs(slope) <= -c2 * d0)
        turned = _both(ops.logical_not(ops.logical_or(over, found)), slope >= 0)
        high, f_high = ops.where(over, step, before), ops.where(over, value, f_before)
        low, f_low = ops.where(over, before, step), ops.where(over, f_before, value)
        d_low = ops.where(over, d_before, slope)
        g_low = ops.where(over, g_low, gradient)
        count, evaluations = count + 1, evaluations + 1
        going = _both(ops.logical_not(ops.logical_or(ops.logical_or(over, found), turned)), count < maxiter)
        before, f_before, d_before = step, value, slope
        step = ops.where(going, 2 * step, step)
    bracketed = ops.logical_or(over, ops.logical_or(found, turned))

    # what is in it
    last, f_last = zero, f0
    zooms = ops.cast(zero, "int32")
    going = _both(bracketed, ops.logical_not(found))
    while going:
        width = high - low
        left, right = ops.minimum(low, high), ops.maximum(low, high)
        cubic = _cubic_minimum(low, f_low, d_low, high, f_high, last, f_last)
        parabola = _parabola_minimum(low, f_low, d_low, high, f_high)
        place = ops.where(_inside(parabola, left, right, 0.1 * width), parabola, low + 0.5 * width)
        place = ops.where(_both(zooms > 0, _inside(cubic, left, right, 0.2 * width)), cubic, place)
        value, gradient = at(xk + place * pk)
        slope = ops.sum(gradient * pk)
        worse = ops.logical_or(value > f0 + c1 * place * d0, value >= f_low)
        worse = ops.logical_or(worse, ops.logical_not(value == value))
        found = _both(ops.logical_not(worse), ops.abs(slope) <= -c2 * d0)
        across = _both(ops.logical_not(worse), slope * (high - low) >= 0)
        keeps = ops.logical_not(ops.logical_or(worse, across))
        last, f_last = ops.where(keeps, low, high), ops.where(keeps, f_low, f_high)
        high = ops.where(worse, place, ops.where(across, low, high))
        f_high = ops.where(worse, value, ops.where(across, f_low, f_high))
        low, f_low, d_low = ops.where(worse, low, place), ops.where(worse, f_low, value), ops.where(worse, d_low, slope)
        g_low = ops.where(worse, g_low, gradient)
        zooms, evaluations = zooms + 1, evaluations + 1
        going = _both(ops.logical_not(found), zooms < _ZOOMS)
    status = ops.where(found, 0, ops.where(bracketed, 3, 1))
    return LineSearchResults(ops.logical_not(found), count, evaluations, evaluations, count, low, f_low, g_low, status)
