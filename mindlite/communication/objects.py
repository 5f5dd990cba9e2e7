"""Python objects as bytes, and back, for who sends them between ranks: no code travels, and what comes is what went.

    to_bytes({"loss": (1.5, 2)})  ->  b'{"dict": [["loss", {"tuple": [1.5, 2]}]]}'

JSON says numbers, text, None and lists by itself; every other kind stands in a dict whose one key names it.
"""
import base64
import json

import numpy as np

from ..common.dtype import dtype
from ..common.errors import ArgumentError
from ..common.tensor import Tensor

PLAIN = (type(None), bool, int, float, str)
GROUPS = {kind.__name__: kind for kind in (tuple, set, frozenset)}


def to_bytes(name, value):
    """uint8[..] that `from_bytes` makes the value of again.

    value  : None, numbers, text, bytes, arrays and Tensors, in lists, tuples, dicts and sets
    raises : ArgumentError for another object, which the function `name` was given
    """
    return np.frombuffer(json.dumps(_told(name, value)).encode(), np.uint8)


def from_bytes(array):
    """The value of what `to_bytes` has given."""
    return _understood(json.loads(array.tobytes()))


def _told(name, value):
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [_told(name, item) for item in value]
    if kind.__name__ in GROUPS and kind is GROUPS[kind.__name__]:
        return {kind.__name__: [_told(name, item) for item in value]}
    if kind is dict:
        return {"dict": [[_told(name, key), _told(name, item)] for key, item in value.items()]}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is bytes:
        return {"bytes": _text(value)}
    if kind is Tensor:
        return {"Tensor": [value.dtype.name, list(value.shape), _text(value.asnumpy().tobytes())]}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        return {"array" if kind is np.ndarray else "number": [value.dtype.str, list(value.shape), _text(value.tobytes())]}
    raise ArgumentError(f"{name}: None, numbers, text, bytes, arrays and Tensors, lists, tuples, dicts and sets travel, not "
                        f"{kind.__name__}")


def _understood(told):
    if isinstance(told, list):
        return [_understood(item) for item in told]
    if not isinstance(told, dict):
        return told
    (kind, held), = told.items()
    if kind in GROUPS:
        return GROUPS[kind]([_understood(item) for item in held])
    if kind == "dict":
        return {_understood(key): _understood(item) for key, item in held}
    if kind == "complex":
        return complex(*held)
    if kind == "bytes":
        return base64.b64decode(held)
    element, shape, text = held
    array = np.frombuffer(base64.b64decode(text), dtype(element).numpy if kind == "Tensor" else element).reshape(shape)
    return Tensor.wrap(array.copy()) if kind == "Tensor" else array.copy() if kind == "array" else array[()]


def _text(data):
    return base64.b64encode(data).decode()
