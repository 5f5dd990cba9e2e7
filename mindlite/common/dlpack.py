"""DLPack's capsules for memory of devices: of the CPU's memory NumPy makes and takes them.

    capsule = capsule_of(device_array, (2, 0))      DLManagedTensor, which keeps the storage until its consumer lets it go
    borrowed(capsule)                                a DeviceArray of the same memory, which keeps the producer's

A capsule is called "dltensor" until it is consumed, then "used_dltensor"; who holds an unused one calls its deleter.
Source: https://dmlc.github.io/dlpack/latest/c_api.html and python_spec.html
"""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .device import Device, device, driver_of
from .dim import product
from .dtype import dtype as to_dtype
from .errors import ArgumentError, DTypeError
from .storage import Buffer, DeviceArray, Storage

CUDA = 2                                         # DLDeviceType: kDLCUDA
KINDS = {CUDA: "GPU"}
_NAME, _USED = b"dltensor", b"used_dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4


class _Tensor(ctypes.Structure):
    """DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("index", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_lent: dict = {}                                 # {address of a DLManagedTensor of ours: what lives as long}


@_DELETER
def _returned(address: int) -> None:
    _lent.pop(address, None)


@_DESTRUCTOR
def _unused(capsule: int) -> None:
    if _is(capsule, _NAME):
        _returned(_pointer(capsule, _NAME))


def kind_of(array: Any) -> int | None:
    """DLPack's number of the kind of device on which an array lies; None where DLPack has none, and for an array on the CPU."""
    kind = array.device.kind if isinstance(array, DeviceArray) else None
    return next((number for number, name in KINDS.items() if name == kind), None)


def cuda_array_interface(array: DeviceArray) -> dict[str, Any]:
    """Numba's and CuPy's description of memory of a GPU, version 3; the stream is that in which the array is made.

    raises : DTypeError for a dtype that NumPy does not have
    """
    if array.dtype.kind not in "biufc" or array.dtype.isbuiltin != 1:
        raise DTypeError(f"__cuda_array_interface__: memory of {to_dtype(array.dtype).name} cannot be described",
                         hint="x.__dlpack__()")
    return {"shape": array.shape, "typestr": array.dtype.str, "data": (array.address, False), "strides": None, "version": 3,
            "stream": driver_of(array.device).stream(array.device.index)}


def of_cuda_array_interface(owner: Any, index: int) -> DeviceArray:
    """The DeviceArray of the memory that an object describes, on the GPU with a number; what its stream does is done.

    raises : ArgumentError for memory with gaps or a mask, DTypeError, DeviceError
    """
    said = owner.__cuda_array_interface__
    dtype, shape = np.dtype(said["typestr"]), tuple(said["shape"])
    if said.get("mask") is not None:
        raise ArgumentError("from_dlpack: memory with a mask cannot be shared")
    check_row_major(shape, said.get("strides"), dtype.itemsize)
    where = device(f"{KINDS[CUDA]}:{index}", "from_dlpack")
    if said.get("stream") is not None:
        driver_of(where).wait_for(where.index, said["stream"])
    return lent(where, said["data"][0], to_dtype(dtype).numpy, shape, owner)


def capsule_of(array: DeviceArray, kind: int) -> Any:
    """The capsule of an array's memory; what was asked for there is done. raises : DTypeError for a dtype that DLPack lacks

    kind : of DLPack's devices
    """
    dtype = to_dtype(array.dtype)
    if dtype.is_small and dtype.name not in ("float16", "bfloat16"):
        raise DTypeError(f"DLPack: memory of {dtype.name} cannot be shared")
    shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
    strides = (ctypes.c_int64 * len(array.shape))(*(s // array.itemsize for s in array.strides))
    code = _BFLOAT if dtype.name == "bfloat16" else _CODES[dtype.kind]
    tensor = _Tensor(array.address, kind, array.device.index, len(shape), code, dtype.itemsize * 8, 1, shape, strides, 0)
    managed = _Managed(tensor, None, ctypes.cast(_returned, ctypes.c_void_p))
    address = ctypes.addressof(managed)
    _lent[address] = managed, shape, strides, array.storage
    return _new(address, _NAME, ctypes.cast(_unused, ctypes.c_void_p))


class Borrowed(Buffer):
    """Memory of a device that somebody else gives back, when `owner` is gone."""
    __slots__ = ("owner",)

    def __init__(self, device: Device, nbytes: int, address: int, owner: Any) -> None:
        self.driver, self.device, self.nbytes, self.address, self.owner = None, device, nbytes, address, owner


class _Lease:
    """A DLManagedTensor of somebody else's, until it is given back."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __del__(self) -> None:
        managed = _Managed.from_address(self.address)
        if managed.deleter:
            _DELETER(managed.deleter)(self.address)


def device_of(capsule: Any) -> tuple[int, int]:
    """(kind, number) of DLPack's of the device on which the memory of a capsule lies; the CPU for one that NumPy may know.

    raises : ArgumentError for a capsule that was used
    """
    if _is(id(capsule), _USED):
        raise ArgumentError("from_dlpack: the capsule was used before")
    if not _is(id(capsule), _NAME):
        return 1, 0
    tensor = _Managed.from_address(_pointer(id(capsule), _NAME)).tensor
    return tensor.kind, tensor.index


def borrowed(capsule: Any) -> DeviceArray:
    """The DeviceArray of what a capsule holds on a device; the capsule is used up.

    raises : ArgumentError for one that was used, memory of a device that nobody drives or with gaps; DTypeError; DeviceError
    """
    where = device_of(capsule)
    if not _is(id(capsule), _NAME):
        raise ArgumentError("from_dlpack: the capsule is of another version of DLPack")
    if where[0] not in KINDS:
        raise ArgumentError(f"from_dlpack: memory of the CPU or of CUDA is wanted, not of device {where}")
    address = _pointer(id(capsule), _NAME)
    tensor = _Managed.from_address(address).tensor
    kind = next((k for k, code in _CODES.items() if code == tensor.code), None)
    name = "bfloat16" if (tensor.code, tensor.bits) == (_BFLOAT, 16) else "bool" if kind == "b" else \
        f"{ {'i': 'int', 'u': 'uint', 'f': 'float', 'c': 'complex'}.get(kind or '', '')}{tensor.bits}"
    if kind is None and name != "bfloat16" or tensor.lanes != 1:
        raise DTypeError(f"from_dlpack: there is no dtype of DLPack's code {tensor.code} with {tensor.bits} bits")
    shape = tuple(tensor.shape[:tensor.ndim])
    check_row_major(shape, tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None, 1)
    there = device(f"{KINDS[tensor.kind]}:{tensor.index}", "from_dlpack")
    made = lent(there, (tensor.data or 0) + tensor.offset, to_dtype(name).numpy, shape, _Lease(address))
    _rename(id(capsule), _USED)
    return made


def check_row_major(shape: tuple, strides: tuple | None, step: int) -> None:
    """ArgumentError for elements that do not lie one after the other, `step` apart; strides None: they do."""
    if strides is None or 0 in shape:
        return
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size > 1 and stride != step:
            raise ArgumentError("from_dlpack: the elements do not lie one after the other", hint="a contiguous copy of them")
        step *= size


def lent(where: Device, address: int, dtype: np.dtype, shape: tuple, owner: Any) -> DeviceArray:
    """The DeviceArray of elements that lie one after the other in memory of somebody else's, which `owner` keeps."""
    strides, step = [], dtype.itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    buffer = Borrowed(where, product(shape) * dtype.itemsize, address, owner)
    return DeviceArray(Storage(buffer, where, 0, tuple(reversed(strides))), dtype, shape)
