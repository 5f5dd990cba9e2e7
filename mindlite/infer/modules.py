"""Calling a typed graph that was read from a file: its nodes are written into the graph that is being made.

    GraphCell(load("net.mindir"))(x)      x: f32[8, 3]  fits  %x: f32[N, 3]      ->      the nodes of the file, with N = 8
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..common.dim import Dim, lone_symbol
from ..common.errors import ArgumentError, DTypeError, ShapeError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.file import Input, Output
from ..mindir.graph import AnfNode
from ..mindir.inline import inline, with_sizes
from ..mindir.protocol import CallOfModule, CallOfModuleFor
from .evaluating import Evaluating
from .kinds import parts_of, remade
from .transforms import as_tensor
from .values import Value


def call_module_for(ev: Evaluating, what: CallOfModuleFor, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """The result of the Module that is made for arguments like these. raises : ArgumentError for arguments by name"""
    operands = [as_tensor(ev, value) for value in ev.unbox(args)]
    return call_module(ev, CallOfModule(what.function(*[x.abstract for x in operands])), tuple(operands), kwargs)


def call_module(ev: Evaluating, what: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """The result of a mindir.file.Module for these arguments.

    raises : ArgumentError, DTypeError, ShapeError where they are not like those that it was made for
    """
    module = what.module
    args = ev.unbox(args)
    given = tensors_of(module, args, kwargs)
    values, operands = iter(given), []
    sizes: dict = {}
    for number, p in enumerate(module.graph.parameters):
        if p.default is None:
            operands.append(as_tensor(ev, next(values)))
            unify(module.name, p, operands[-1].abstract, sizes)
        else:
            operands.append(ev.tracer.lift(p.default))
    outputs = inline(ev.tracer.graph, with_sizes(module.graph, sizes), operands)
    if ev.tracer.unrecorded:
        outputs = ev.tracer.without_gradient(tuple(outputs))
    arguments = [number for number, p in enumerate(module.graph.parameters) if p.default is None]
    for number, output in module.updates:
        target = module.graph.parameters[number].default
        ev.tracer.assign(given[arguments.index(number)] if target is None else target, outputs[output])
    return ev.box(filled(module.output, outputs, given))


def tensors_of(module: Any, args: Sequence[Value], kwargs: dict[str, Any]) -> Any:
    """The tensors in the arguments of a Module. raises : ArgumentError where their structure is another one"""
    if kwargs or len(args) != len(module.inputs):
        raise ArgumentError(f"{module.name} takes {len(module.inputs)} arguments by position",
                            note=f"{len(args)} are given" + (f", and {', '.join(kwargs)}" if kwargs else ""))
    given: list = []
    for number, (pattern, value) in enumerate(zip(module.inputs, args)):
        fit(module.name, f"argument {number}", pattern, value, given)
    return given


def fit(name: str, where: str, pattern: Any, value: Value, given: Any) -> None:
    """Add the tensors in an argument to `given`; what else is in it must be as it was when the graph was made."""
    if isinstance(pattern, Input):
        if not isinstance(value, (AnfNode, Tensor, np.ndarray, bool, int, float, Dim)):
            raise ArgumentError(f"{name}: {where} is a Tensor, not {type(value).__name__}")
        given.append(value)
    elif isinstance(pattern, (tuple, list)):
        if not isinstance(value, (tuple, list)) or len(value) != len(pattern):
            raise ArgumentError(f"{name}: {where} is a {type(pattern).__name__} of {len(pattern)} values")
        for number, (p, v) in enumerate(zip(pattern, value)):
            fit(name, f"{where}[{number}]", p, v, given)
    elif isinstance(pattern, dict):
        if not isinstance(value, dict) or value.keys() != pattern.keys():
            raise ArgumentError(f"{name}: {where} is a dict with the keys {', '.join(map(repr, pattern))}")
        for key, p in pattern.items():
            fit(name, f"{where}[{key!r}]", p, value[key], given)
    elif isinstance(value, (AnfNode, Tensor, np.ndarray)) or type(value) is not type(pattern) or value != pattern:
        raise ArgumentError(f"{name}: {where} is {pattern!r} in the graph, which was made for this value",
                            hint="export the network with a Tensor there to have it vary")


def unify(name: str, parameter: Any, abstract: Any, sizes: dict) -> None:
    """Does an operand have the type of the parameter? sizes: {Symbol: int or Dim}, to which those of this one are added."""
    wanted = parameter.abstract
    note = f"%{parameter.name}: {wanted}, given: {abstract}"
    if not isinstance(wanted, AbstractTensor) or wanted.dtype is not abstract.dtype:
        raise DTypeError(f"{name}: an argument of another type than the graph was made for", note=note)

    def error():
        return ShapeError(f"{name}: an argument of another shape than the graph was made for", note=note)
    if wanted.ndim != abstract.ndim:
        raise error()
    for size, actual in zip(wanted.shape, abstract.shape):
        symbol = lone_symbol(size)
        if symbol is None or symbol in sizes:
            require("==", sizes.get(symbol, size), actual, error)
        else:
            lo, hi = symbol.bounds()
            require(">=", actual, lo, error)
            if hi is not None:
                require("<=", actual, hi, error)
            sizes[symbol] = actual


def filled(pattern: Any, outputs: Any, given: Any) -> Value:
    """The result, with values in place of Outputs."""
    if isinstance(pattern, Output):
        return outputs[pattern.number] if pattern.input is None else given[pattern.input]
    return remade(pattern, [filled(p, outputs, given) for p in parts_of(pattern)])
