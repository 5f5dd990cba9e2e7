"""GraphCell: a graph that was read from a file, as a Cell.

    net = nn.GraphCell(load("net.mindir"));  net(x);  grad(net)(x);  net.trainable_params()
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..common.errors import ArgumentError, GradientError, ShapeError
from ..common.tensor import Parameter, Tensor
from ..compile.jit import JitFunction
from ..infer.modules import filled, tensors_of
from ..mindir.evaluate import run
from ..mindir.file import Module
from ..mindir.inline import copy_graph
from ..mindir.protocol import CallOfModule
from ..ops.state import assign
from ..pynative import is_recording
from ..pynative.jitted import call_compiled
from .cell import Cell


class ModuleFunction:
    """A Module as a function: in eager mode it is compiled for each kind of arguments, in a graph it is written out."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.compiled = JitFunction(_Reference(self), name=module.name)

    def __mindir__(self) -> CallOfModule:
        return CallOfModule(self.module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors_of(self.module, args, kwargs)
        return call_compiled(self.compiled, args, {})

    def __deepcopy__(self, memo: Any) -> ModuleFunction:
        return ModuleFunction(self.module)


class _Reference:
    """What Python does where compiled code cannot go on: the graph is executed operator by operator."""

    def __init__(self, function: ModuleFunction) -> None:
        self.function = function

    def __mindir__(self) -> CallOfModule:
        return self.function.__mindir__()

    def __call__(self, *args: Any) -> Any:
        module = self.function.module
        if is_recording():
            raise GradientError(f"{module.name} has a gradient in compiled code only, which these values do not fit")
        given = tensors_of(module, args, {})
        parameters, values = module.graph.parameters, iter(given)
        outputs = run(module.graph, *[next(values) if p.default is None else p.default for p in parameters])
        for number, output in module.updates:
            targets = [p.default for p in parameters]
            target = targets[number] if targets[number] is not None else given[targets[:number].count(None)]
            assign(target, Tensor(outputs[output]))
        return filled(module.output, [x if isinstance(x, (bool, int, float)) else Tensor(x) for x in outputs], given)


class GraphCell(Cell):
    """A graph that `load` read from a .mindir file, with its Parameters, called as the network was that was exported.

    graph       : what `load` gives
    params_init : {name: Parameter or Tensor}: other values for Parameters of the graph
    raises      : ArgumentError for what is no graph, ShapeError for a value of another shape or dtype
    """

    def __init__(self, graph: Module, params_init: dict[str, Tensor] | None = None) -> None:
        super().__init__(auto_prefix=True)
        if not isinstance(graph, Module):
            raise ArgumentError(f"GraphCell: the graph is what `load` gives, not {type(graph).__name__}")
        params_init = {} if params_init is None else params_init
        if not isinstance(params_init, dict) or not all(
                isinstance(k, str) and isinstance(v, Tensor) for k, v in params_init.items()):
            raise ArgumentError("GraphCell: params_init is a dict of names and Parameters or Tensors")
        made = copy_graph(graph.graph)
        for p in made.parameters:
            if isinstance(p.default, Parameter):
                p.default = parameter_of(p.default, params_init)
                self.insert_param_to_cell(p.default.name, p.default, check_name_contain_dot=False)
        self.function = ModuleFunction(replace(graph, graph=made))

    def construct(self, *inputs: Any) -> Any:
        """The result of the graph."""
        return self.function(*inputs)


def parameter_of(parameter: Parameter, values: dict[str, Tensor]) -> Parameter:
    """The Parameter itself, or one of another value where `values` has its name. raises : ShapeError"""
    given = values.get(parameter.name)
    if given is None:
        return parameter
    if given.shape != parameter.shape or given.dtype is not parameter.dtype:
        raise ShapeError(f"GraphCell: the Parameter {parameter.name!r} is {parameter.dtype.short}{list(parameter.shape)}",
                         note=f"given: {given.dtype.short}{list(given.shape)}")
    return given if isinstance(given, Parameter) else Parameter(given, parameter.name, parameter.requires_grad)
