"""Derivatives of a network as Cells: Jvp, forward mode, and Vjp, reverse mode.

    value, tangent = nn.Jvp(net)(x, y, (u, v))             value, (dx, dy) = nn.Vjp(net)(x, y, dout)
"""
from __future__ import annotations

from typing import Any

from .. import functional
from ..common.annotations import Function
from ..common.errors import ArgumentError
from .cell import Cell


class _Derivative(Cell):
    """fn : a function or a Cell; the last argument of a call is the tangent or cotangent."""

    def __init__(self, fn: Function) -> None:
        super().__init__(auto_prefix=False)
        if not callable(fn):
            raise ArgumentError(f"{type(self).__name__}: takes a function or a Cell, not {type(fn).__name__}")
        self.fn = fn


class Jvp(_Derivative):
    """(fn(*inputs), its directional derivative) for inputs and v, their tangents: one, or a tuple of as many."""

    def construct(self, *args: Any) -> Any:
        inputs, v = args[:-1], args[-1]
        return functional.jvp(self.fn, inputs, v if isinstance(v, (tuple, list)) else (v,))


class Vjp(_Derivative):
    """(fn(*inputs), the gradients of the inputs) for inputs and v, the cotangent of the result, or a tuple of them."""

    def construct(self, *args: Any) -> Any:
        inputs, v = args[:-1], args[-1]
        value, pullback = functional.vjp(self.fn, *inputs)
        gradients = pullback(*v) if isinstance(v, (tuple, list)) else pullback(v)
        return value, gradients if len(inputs) > 1 else gradients[0]
