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
from ..common.storage import DeviceArray, ShardedArray, moved
from ..common.tensor import Parameter, Tensor
from ..mindir.builder import constant, tensor_type
from ..mindir.primitive import infer_rule
from .kernels import Compiled, single_node
from .operation import Operation
from .settings import settings_of, hold_tensors

MAX_SIGNATURES = 1 << 12
_operators = Recent()
listeners.append(_operators.clear)                           # what drives a device may be gone


def has_parts(args):
    """True if ranks have parts of a Tensor among the arguments."""
    for a in args:
        if isinstance(a, Tensor) and type(a.elements) is ShardedArray:
            return True
    return False


def compute_elsewhere(prim, args, attrs):
    """prim(*args, **attrs), where a Tensor among the arguments lies elsewhere: (its Operation, a Tensor or a tuple of them).

    raises : DeviceError for operands on two such devices; what the operator raises
    """
    key, values = [prim], []                                 # each operator comes this way: few calls of Python
    stays = False
    for a in args:
        value = a.elements if isinstance(a, Tensor) else np.asarray(a) if isinstance(a, np.generic) else a
        values.append(value)
        if type(value) is DeviceArray:
            key += (value.device.kind, value.device.index, value.dtype, value.shape)
        elif isinstance(value, np.ndarray):
            key += (value.dtype, value.shape)
            stays = stays or isinstance(a, Parameter)
        else:
            key += (type(value), repr(value))
    for name, value in attrs.items():
        key += (name, type(value), repr(value))
    if stays:                                                # a Parameter moves there, as in a compiled function, and stays
        device = device_of(prim, args)
        for a in args:
            if isinstance(a, Parameter):
                a.move_here(device)
        return compute_elsewhere(prim, args, attrs)
    known = tuple(key)
    found = _operators.get(known)
    if found is None:
        if attrs and hold_tensors(attrs.values()):
            return compute_elsewhere(prim, args, settings_of(prim, attrs))
        found = _operators.put(known, prepared(prim, device_of(prim, args), values, attrs), MAX_SIGNATURES)
    operation, compiled = found
    results = []
    for out in compiled.run(values):
        if isinstance(out, np.ndarray):
            out = moved(out, compiled.device)
        results.append(Tensor.of_elements(out) if type(out) is DeviceArray else out)
    return operation, tuple(results) if operation.several else results[0]


def device_of(prim, args):
    """The device, not the CPU, on which the Tensors among the arguments lie. raises : DeviceError for two of them"""
    devices = dict.fromkeys(a.device_of for a in args if isinstance(a, Tensor) and not a.device_of.is_host)
    if len(devices) > 1:
        names = " and ".join(map(str, devices))
        raise DeviceError(f"{prim.name}: the operands lie on {names}", hint="x.to(device)").at(user_location())
    device, = devices
    return device


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
