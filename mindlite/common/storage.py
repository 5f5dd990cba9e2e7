"""Storage: where the elements of a Tensor lie. dtype and shape are the Tensor's own.

    Tensor([1.0]).storage                ->  Storage(buffer, device, offset, strides)
    upload(array, Device("GPU"))         ->  DeviceArray          download(device_array)  ->  ndarray

Elements on the CPU are an ndarray, which is the buffer: their Storage is a view that is made when somebody asks, and costs
nothing until then. Elsewhere the buffer is a Buffer and a DeviceArray stands for the ndarray: it has a dtype, a shape and a
Storage, and Python cannot read its elements without a copy. A DeviceArray is contiguous. A ShardedArray stands for elements
that lie in parts on several ranks, of which this rank has one.
"""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from .device import CPU, Device, driver_of
from .dim import product


# Did elements of this process ever lie elsewhere than in an ndarray (used), in parts on several ranks (sharded)?
elsewhere = types.SimpleNamespace(used=False, sharded=False)


class Buffer:
    """Memory of a device, not the CPU, that goes back to its driver when nothing refers to it.

    device, address, nbytes: where it is, and how large; without an address it is new memory
    driver : what it came from, None where there was no memory                raises : MemoryError
    """
    __slots__ = ("device", "address", "nbytes", "driver")

    def __init__(self, device: Device, nbytes: int, address: int | None = None) -> None:
        self.driver, driver = None, driver_of(device)
        self.device, self.nbytes = device, nbytes
        self.address = driver.allocate(device.index, nbytes) if address is None else address
        self.driver = driver

    def __del__(self) -> None:
        if self.driver is not None:
            self.driver.release(self.device.index, self.address)


class Storage:
    """Where elements lie.

    buffer : an ndarray (the CPU) or a Buffer      device: a Device
    offset : bytes from the beginning of the buffer to the first element
    strides: bytes from one element to the next, by axis
    """
    __slots__ = ("buffer", "device", "offset", "strides")

    def __init__(self, buffer: Buffer | np.ndarray, device: Device, offset: int, strides: tuple) -> None:
        self.buffer, self.device, self.offset, self.strides = buffer, device, offset, strides

    @property
    def address(self) -> int:
        """The address of the first element, on the device."""
        start = self.buffer.address if isinstance(self.buffer, Buffer) else self.buffer.__array_interface__["data"][0]
        return start + self.offset

    @property
    def nbytes(self) -> int:
        """Bytes of the whole buffer."""
        return self.buffer.nbytes

    def __repr__(self) -> str:
        return f"Storage({self.nbytes} bytes on {self.device}, offset={self.offset}, strides={self.strides})"


def storage_of(array: np.ndarray) -> Storage:
    """The Storage of an ndarray: the buffer is the array that owns the memory."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return Storage(owner, CPU, offset, array.strides)


class DeviceArray:
    """Elements that lie elsewhere than on the CPU, in row-major order.

    dtype: NumPy's; shape: a tuple of int; device: where they lie; address: of the first one, there. Machine code reads them.
    """
    __slots__ = ("storage", "dtype", "shape", "device", "address")

    def __init__(self, storage: Storage, dtype: np.dtype, shape: tuple) -> None:
        self.storage, self.dtype, self.shape = storage, dtype, shape
        self.device, self.address, elsewhere.used = storage.device, storage.address, True

    @property
    def size(self) -> int:
        """Number of elements."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple:
        """Bytes from one element to the next, by axis."""
        return self.storage.strides


class ShardedArray:
    """This rank's part of a tensor whose elements lie on several ranks.

    part : ndarray, contiguous      shape: that of the whole, a tuple of int      placement: a parallel.Placement
    """
    __slots__ = ("part", "shape", "placement")
    device = CPU

    def __init__(self, part: np.ndarray, shape: tuple, placement: Any) -> None:
        self.part, self.shape, self.placement = part, shape, placement
        elsewhere.used = elsewhere.sharded = True

    @property
    def dtype(self) -> np.dtype:
        """NumPy's."""
        return self.part.dtype

    @property
    def storage(self) -> Storage:
        """Where this rank's part lies."""
        return storage_of(self.part)

    @property
    def address(self) -> int:
        """Where the first element of this rank's part lies."""
        return self.part.__array_interface__["data"][0]

    @property
    def size(self) -> int:
        """Number of elements of the whole."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.part.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the whole; `part.nbytes` are those that lie here."""
        return self.size * self.part.itemsize

    @property
    def strides(self) -> tuple:
        """Bytes from one element of this rank's part to the next, by axis."""
        return self.part.strides

    def whole(self) -> np.ndarray:
        """All elements: a collective, which every rank of the mesh calls."""
        return self.placement.gathered(self.part, self.shape)

    def write(self, value: Any) -> None:
        """The elements become those of a ShardedArray of the same placement, or of an array that every rank has in whole."""
        if isinstance(value, ShardedArray):
            self.part[...] = value.part if value.placement == self.placement else self.placement.part_of(value.whole())
        else:
            self.part[...] = self.placement.part_of(np.broadcast_to(value, self.shape))


def part_here(array: Any) -> Any:
    """What lies in this process of an ndarray, DeviceArray or ShardedArray."""
    return array.part if type(array) is ShardedArray else array


_new: Any = object.__new__


def empty_on(device: Device, shape: tuple, dtype: np.dtype) -> DeviceArray | np.ndarray:
    """A new array on a device, with any elements: an ndarray on the CPU, else a DeviceArray. raises : MemoryError"""
    if driver_of(device) is None:
        return np.empty(shape, dtype)
    return DeviceForm(device, tuple(shape), dtype).new()


class DeviceForm:
    """A device, sizes and a dtype: what all arrays of a result have in common. `new()` gives one, in two calls of Python."""
    __slots__ = ("device", "shape", "dtype", "strides", "nbytes", "driver", "allocate")

    def __init__(self, device: Device, shape: tuple, dtype: np.dtype) -> None:
        self.device, self.shape, self.dtype = device, shape, dtype
        strides, step = [], dtype.itemsize
        for size in reversed(shape):
            strides.append(step)
            step *= size or 1
        self.strides, self.nbytes = tuple(reversed(strides)), 0 if 0 in shape else step
        self.driver = driver_of(device)
        self.allocate, elsewhere.used = self.driver.allocate, True

    def new(self) -> DeviceArray:
        """A DeviceArray of new memory, with any elements. raises : MemoryError"""
        buffer, storage, array = _new(Buffer), _new(Storage), _new(DeviceArray)      # their __init__, written out
        buffer.driver, buffer.device, buffer.nbytes = None, self.device, self.nbytes
        address = buffer.address = self.allocate(self.device.index, self.nbytes)
        buffer.driver = self.driver
        storage.buffer, storage.device, storage.offset, storage.strides = buffer, self.device, 0, self.strides
        array.storage, array.device, array.address, array.dtype, array.shape = storage, self.device, address, self.dtype, \
            self.shape
        return array


def adopted(device: Device, address: int, shape: tuple, dtype: np.dtype) -> DeviceArray:
    """The DeviceArray of what lies at an address of a device, which it gives back in the end."""
    form = DeviceForm(device, shape, dtype)
    return DeviceArray(Storage(Buffer(device, form.nbytes, address), device, 0, form.strides), dtype, shape)


def address_of(array: Any) -> int:
    """Where the first element of an ndarray or DeviceArray lies, on its device."""
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else array.address


def upload(array: Any, device: Device) -> Any:
    """A copy of an ndarray on a device other than the CPU. It is read before this returns."""
    driver, elements = driver_of(device), np.ascontiguousarray(array)        # which gives a number an axis
    if hasattr(driver, "upload"):
        address = driver.upload(device.index, elements.__array_interface__["data"][0], elements.nbytes)
        return adopted(device, address, array.shape, array.dtype)
    made = empty_on(device, array.shape, array.dtype)
    write_on(made, elements)
    return made


def write_on(target: Any, array: np.ndarray) -> None:
    """The elements of a DeviceArray become those of a contiguous ndarray of its dtype and shape."""
    driver_of(target.device).copy(target.device, target.address, CPU, array.__array_interface__["data"][0], array.nbytes)


def copy_on(target: Any, source: Any) -> None:
    """The elements of a DeviceArray become those of another one of its dtype and shape."""
    driver_of(target.device).copy(target.device, target.address, source.device, source.address, source.nbytes)


def download(source: Any) -> np.ndarray:
    """A copy in an ndarray; it waits for what is computed there. Of a ShardedArray: collected from all ranks, which all ask."""
    if isinstance(source, ShardedArray):
        return source.whole()
    array = np.empty(source.shape, source.dtype)
    driver_of(source.device).copy(CPU, array.__array_interface__["data"][0], source.device, source.address, array.nbytes)
    return array


def copied(array: DeviceArray | np.ndarray) -> DeviceArray | np.ndarray:
    """A copy of an ndarray or DeviceArray on its own device, or of this rank's part."""
    if isinstance(array, np.ndarray):
        return array.copy()
    if isinstance(array, ShardedArray):
        return ShardedArray(array.part.copy(), array.shape, array.placement)
    made = empty_on(array.device, array.shape, array.dtype)
    copy_on(made, array)
    return made


def full_like(array: np.ndarray, value: int) -> Any:
    """An array of the dtype and shape of an ndarray or DeviceArray, on its device, with `value` in each place."""
    return moved(np.full(array.shape, value, array.dtype), CPU if isinstance(array, np.ndarray) else array.device)


def is_view(array: Any) -> bool:
    """True if other arrays may show the same elements."""
    return isinstance(array, np.ndarray) and array.base is not None


def may_share(a: Any, b: Any) -> bool:
    """True if two ndarrays, DeviceArrays or parts may show the same elements."""
    a, b = part_here(a), part_here(b)
    if isinstance(a, DeviceArray) or isinstance(b, DeviceArray):
        return isinstance(a, DeviceArray) and isinstance(b, DeviceArray) and a.storage.buffer is b.storage.buffer
    return np.may_share_memory(a, b)


def moved(array: DeviceArray | np.ndarray, device: Device) -> DeviceArray | np.ndarray:
    """An ndarray or DeviceArray on another device; itself if it lies there."""
    source = CPU if isinstance(array, np.ndarray) else array.device
    if source == device:
        return array
    if driver_of(device) is None:
        return download(array)
    if driver_of(source) is not None:
        made = empty_on(device, array.shape, array.dtype)     # from device to device
        copy_on(made, array)
        return made
    return upload(array, device)
