"""DLPack: the same memory under the names of two frameworks, without a copy.

    torch.from_dlpack(x)            x : Tensor, for it has __dlpack__
    from_dlpack(torch.ones(3))      a Tensor that shares the memory

Source: the Python specification of DLPack, https://dmlc.github.io/dlpack/latest/python_spec.html
"""
from typing import Any

import numpy as np

from ..common.errors import ArgumentError, DTypeError
from ..common.tensor import Tensor

CPU = (1, 0)                                     # kDLCPU, the only device whose memory Python can share here


class _Capsule:
    """A capsule as NumPy wants it: an object that has one."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


def to_dlpack(tensor: Tensor) -> Any:
    """The capsule of a Tensor's memory, which its consumer may take once.

    tensor : on the CPU, of a dtype that DLPack has here (no bfloat16, no float8)
    raises : ArgumentError for no Tensor, DTypeError for another dtype, DeviceError for a Tensor of another device
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"to_dlpack: a Tensor is wanted, not {type(tensor).__name__}")
    try:
        return tensor.__dlpack__()
    except (BufferError, TypeError) as fault:
        raise DTypeError(f"to_dlpack: memory of {tensor.dtype} cannot be shared: {fault}") from fault


def from_dlpack(dlpack: Any) -> Tensor:
    """A Tensor that shares the memory of a capsule, or of any object with __dlpack__ (a torch or jax array, say).

    dlpack : memory of the CPU; its elements, where they do not lie one after the other, are copied
    raises : ArgumentError for another object, or for memory of another device
    """
    if type(dlpack).__name__ == "PyCapsule":
        dlpack = _Capsule(dlpack)
    if not hasattr(dlpack, "__dlpack__") or not hasattr(dlpack, "__dlpack_device__"):
        raise ArgumentError("from_dlpack: a capsule of DLPack, or an object with __dlpack__, is wanted, "
                            f"not {type(dlpack).__name__}")
    if tuple(map(int, dlpack.__dlpack_device__())) != CPU:
        raise ArgumentError(f"from_dlpack: memory of the CPU is wanted, not of device {tuple(dlpack.__dlpack_device__())}")
    return Tensor.from_numpy(np.from_dlpack(dlpack))
