"""Eager mode elsewhere than on the CPU: an operator runs where its operands lie.

    x.to("GPU") + 1     ->  add compiled for that device and these sizes, once; the 1 is copied there; the result lies there

Nothing waits for the device until somebody reads numbers. Operands on the CPU are copied to the device of the others, and
Parameters move there; two other devices are refused. A tape records these operators as all others, and their backward graphs run
where what they read lies (`GraphOperation.run`).
"""
import numpy as np

from ..common.device import listeners
from ..common.errors import DeviceError, MindliteError, user_location
from ..common.recent import Recent
from ..common.storage import DeviceArray, moved
from ..common.tensor import Parameter, Tensor
from ..mindir.builder import constant, tensor_type
from ..mindir.primitive import infer_rule
from .kernels import Compiled, single_node
from .operation import Operation

MAX_SIGNATURES = 1 << 12
_operators = Recent()
listeners.append(_operators.clear)                           # what drives a device may be gone


def compute_elsewhere(prim, args, attrs):
    """prim(*args, **attrs), where a Tensor among the arguments lies elsewhere: (its Operation, a Tensor or a tuple of them).

    raises : DeviceError for operands on two such devices; what the operator raises
    """
    devices = dict.fromkeys(a.device_of for a in args if isinstance(a, Tensor) and not a.device_of.is_host)
    if len(devices) > 1:
        names = " and ".join(map(str, devices))
        raise DeviceError(f"{prim.name}: the operands lie on {names}", hint="x.to(device)").at(user_location())
    device, = devices
    for a in args:
        if isinstance(a, Parameter):                         # it stays there, as in a compiled function
            a.move_here(device)
    values = [a.elements if isinstance(a, Tensor) else np.asarray(a) if isinstance(a, np.generic) else a for a in args]
    operation, compiled = prepared_for(prim, device, values, attrs)
    results = [Tensor.of_elements(moved(out, device)) if isinstance(out, (np.ndarray, DeviceArray)) else out
               for out in compiled.run(values)]
    return operation, tuple(results) if operation.several else results[0]


def prepared_for(prim, device, values, attrs):
    """(the Operation of an operator, the same compiled) for the types of ndarrays, DeviceArrays and numbers, and a device."""
    key = [prim, device]
    for value in values:
        key += (type(value), *((value.dtype, value.shape) if isinstance(value, (np.ndarray, DeviceArray)) else (repr(value),)))
    key += [part for name, value in attrs.items() for part in (name, type(value), repr(value))]
    found = _operators.get(tuple(key))
    if found is None:
        found = _operators.put(tuple(key), prepared(prim, device, values, attrs), MAX_SIGNATURES)
    return found


def prepared(prim, device, values, attrs):
    """(the Operation, compiled)."""
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
    return operation, Compiled(graph, device=device)
