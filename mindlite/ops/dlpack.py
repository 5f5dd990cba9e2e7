"""DLPack: the same memory under the names of two frameworks, without a copy.

    torch.from_dlpack(x)            x : Tensor, for it has __dlpack__
    from_dlpack(torch.ones(3))      a Tensor that shares the memory

Source: the Python specification of DLPack, https://dmlc.github.io/dlpack/latest/python_spec.html
"""
from typing import Any

import numpy as np

from ..common import dlpack as memory
from ..common.config import config
from ..common.device import device, driver_of
from ..common.errors import ArgumentError, DTypeError
from ..common.tensor import Tensor

CPU = (1, 0)                                     # kDLCPU


class _Capsule:
    """A capsule as NumPy wants it: an object that has one."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return memory.device_of(self.capsule)


def to_dlpack(tensor: Tensor) -> Any:
    """The capsule of a Tensor's memory, which its consumer may take once.

    tensor : on the CPU or a GPU, of a dtype that DLPack has there (no float8; bfloat16 on a GPU only)
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

    dlpack : memory of the CPU or of a GPU that mindlite drives; elements on the CPU that have gaps are copied.
             An object with __cuda_array_interface__ only (Numba's) is taken, too: it lies on the GPU of set_context's device_id
    raises : ArgumentError for another object, memory of another device, or on a GPU with gaps; DTypeError; DeviceError
    """
    if type(dlpack).__name__ == "PyCapsule":
        dlpack = _Capsule(dlpack)
    if hasattr(dlpack, "__dlpack__") and hasattr(dlpack, "__dlpack_device__"):
        kind, index = map(int, dlpack.__dlpack_device__())
        if (kind, index) == CPU:
            return Tensor.from_numpy(np.from_dlpack(dlpack))
        if kind not in memory.KINDS:
            raise ArgumentError(f"from_dlpack: memory of the CPU or of CUDA is wanted, not of device {kind, index}")
        where = device(f"{memory.KINDS[kind]}:{index}", "from_dlpack")
        return Tensor.of_elements(memory.borrowed(dlpack.__dlpack__(stream=driver_of(where).stream(index))))
    if hasattr(dlpack, "__cuda_array_interface__"):
        return Tensor.of_elements(memory.of_cuda_array_interface(dlpack, config.device_id))
    raise ArgumentError("from_dlpack: a capsule of DLPack, or an object with __dlpack__, is wanted, "
                        f"not {type(dlpack).__name__}")


setattr(Tensor, "to_dlpack", to_dlpack)
setattr(Tensor, "from_dlpack", staticmethod(from_dlpack))
