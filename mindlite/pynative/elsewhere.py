"""Eager mode elsewhere than on the CPU: an operator runs where its operands lie.

    x.to("GPU") + 1     ->  add compiled for that device and these sizes, once; the 1 is copied there; the result lies there

Nothing waits for the device until somebody reads numbers. Operands on the CPU are copied to the device of the others, and
Parameters move there; two other devices are refused. Gradients in eager mode are made on the CPU alone.
"""
import numpy as np

from ..common.device import CPU, listeners
from ..common.errors import DeviceError, MindliteError, user_location
from ..common.storage import DeviceArray, moved
from ..common.tensor import Parameter, Tensor
from ..common.threads import here
from ..mindir.builder import constant, tensor_type
from ..mindir.primitive import infer_rule
from ..ops.state import assign
from ..ops.views import WRITE_BACK, written
from .kernels import Compiled, single_node
from .operation import Operation
from .tape import protect
from .views import link

MAX_SIGNATURES = 1 << 12
_operators: dict = {}
listeners.append(_operators.clear)                           # what drives a device may be gone


def bind_elsewhere(prim, args, attrs):
    """prim(*args, **attrs), where a Tensor among the arguments lies elsewhere; gives a Tensor or a tuple of them.

    raises : DeviceError for operands on two such devices, or one whose gradient is being made; what the operator raises
    """
    devices = dict.fromkeys(a.device_of for a in args if isinstance(a, Tensor))
    devices.pop(CPU, None)
    if len(devices) > 1:
        names = " and ".join(map(str, devices))
        raise DeviceError(f"{prim.name}: the operands lie on {names}", hint="x.to(device)").at(user_location())
    for tape in here.state.tapes:
        if any(isinstance(a, Tensor) and tape.number(a) is not None for a in args):
            raise DeviceError(f"{prim.name}: gradients of single operators are made on the CPU alone, an operand lies on "
                              f"{next(iter(devices))}", hint="compile the function: ms.jit").at(user_location())
    device, = devices
    for a in args:
        if isinstance(a, Parameter):                         # it stays there, as in a compiled function
            a.move_here(device)
    if prim is assign and isinstance(args[0], Tensor):
        write(*args)
        written(args[0], write)
        return args[0]
    made = run(prim, device, [a.elements if isinstance(a, Tensor) else np.asarray(a) if isinstance(a, np.generic) else a
                              for a in args], attrs)
    if prim in WRITE_BACK and isinstance(args[0], Tensor):
        link(made, args[0], prim, args[1:], attrs)
    return made


def write(variable, value):
    """The elements of `variable` become those of `value`."""
    protect(variable.elements)
    variable.overwrite(value)
    return variable


def run(prim, device, values, attrs):
    """The operator on ndarrays, DeviceArrays and numbers, compiled for their types and the device."""
    key = [prim, device]
    for value in values:
        key += (type(value), *((value.dtype, value.shape) if isinstance(value, (np.ndarray, DeviceArray)) else (repr(value),)))
    key += [part for name, value in attrs.items() for part in (name, type(value), repr(value))]
    found = _operators.get(tuple(key))
    if found is None:
        found = prepared(prim, device, values, attrs)
        if len(_operators) >= MAX_SIGNATURES:
            _operators.clear()
        _operators[tuple(key)] = found
    compiled, several = found
    results = [Tensor.of_elements(moved(out, device)) if isinstance(out, (np.ndarray, DeviceArray)) else out
               for out in compiled.run(values)]
    return tuple(results) if several else results[0]


def prepared(prim, device, values, attrs):
    """(the operator compiled, whether it gives several results)."""
    try:
        abstracts = tuple([tensor_type(Tensor.of_elements(v)) if isinstance(v, DeviceArray) else constant(v).abstract
                           for v in values])
        operation = Operation(prim, abstracts, attrs, infer_rule[prim](*abstracts, **attrs))
    except MindliteError as error:
        raise error.at(user_location())
    graph = single_node(operation)
    for p, value in zip(graph.parameters, values):
        if isinstance(value, DeviceArray):
            p.abstract = p.abstract.on(value.device)
    return Compiled(graph, device=device), operation.several
