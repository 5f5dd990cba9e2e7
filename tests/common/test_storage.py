"""Where elements lie: storages of the CPU are views, made when asked for; elsewhere Python reads nothing without a copy."""
import copy
import ctypes
import gc
import pickle

import numpy as np
import pytest

import mindlite as ms
from mindlite.common import device as devices
from mindlite.common.device import CPU, Device
from mindlite.common.errors import DeviceError
from mindlite.common.storage import DeviceArray, empty_on, moved
from mindlite.common.tensor import Parameter, Tensor

FAR = Device("SHELF")


class Shelf:
    """A driver whose memory is bytes in a dict, under addresses that are none of this process."""
    count = 1

    def __init__(self):
        self.boxes, self.next, self.copies = {}, 1 << 62, []

    def allocate(self, index, nbytes):
        self.next += nbytes + 64
        self.boxes[self.next - nbytes] = bytearray(nbytes)
        return self.next - nbytes

    def release(self, index, address):
        del self.boxes[address]

    def copy(self, to, target, source, start, nbytes):
        self.copies.append((str(source), str(to), nbytes))
        data = ctypes.string_at(start, nbytes) if source == CPU else bytes(self.boxes[start][:nbytes])
        if to == CPU:
            ctypes.memmove(target, data, nbytes)
        else:
            self.boxes[target][:nbytes] = data


@pytest.fixture
def shelf():
    driver = Shelf()
    devices.provide("SHELF", driver)
    yield driver
    gc.collect()
    devices.provide("SHELF", None)


def test_a_storage_of_the_cpu_is_a_view_of_the_array():
    x = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    part = Tensor.wrap(x.asnumpy()[1:, ::2])
    assert x.storage.device == CPU == part.storage.device and x.device == "CPU"
    assert x.storage.offset == 0 and x.storage.strides == (16, 4) and x.storage.nbytes == 48
    assert part.storage.buffer is x.storage.buffer and part.storage.offset == 16 and part.storage.strides == (16, 8)
    assert part.storage.address == x.storage.address + 16
    assert x.array is x.host_array is x.elements is x.asnumpy()


def test_a_moved_tensor_knows_all_but_its_elements(shelf):
    x = Tensor(np.arange(6, dtype=np.int16).reshape(2, 3))
    far = x.moved_to(FAR)
    assert isinstance(far.elements, DeviceArray) and far.storage.device == FAR and far.device == "SHELF:0"
    assert (far.shape, far.dtype, far.ndim, far.size, far.itemsize, far.nbytes) == ((2, 3), ms.int16, 2, 6, 2, 12)
    assert far.strides == far.storage.strides == (6, 2) and far.moved_to(FAR) is far
    assert len(shelf.copies) == 1                            # none of these asked for the elements
    for read in (lambda: far.array, lambda: far.host_array):
        with pytest.raises(DeviceError, match="lie on SHELF:0, where Python cannot read them"):
            read()


def test_who_asks_for_numbers_gets_a_copy(shelf):
    far = Tensor([[1.5, 2.5]]).moved_to(FAR)
    assert far.tolist() == [[1.5, 2.5]] and far.asnumpy() is not far.asnumpy() and np.asarray(far).sum() == 4.0
    assert "1.5" in repr(far) and float(Tensor(3.0).moved_to(FAR)) == 3.0 and Tensor(far).device == "CPU"
    twin, read = copy.deepcopy(far), pickle.loads(pickle.dumps(far))
    assert twin.device == "SHELF:0" and twin.storage.address != far.storage.address and twin.tolist() == far.tolist()
    assert read.device == "CPU" and read.tolist() == far.tolist()
    back = far.moved_to(CPU)
    assert back.device == "CPU" and back.array.tolist() == [[1.5, 2.5]]


def test_a_parameter_moves_and_stays_the_same_object(shelf):
    p = Parameter(np.ones((2, 2), np.float32), name="w")
    p.move_here(FAR)
    address = p.storage.address
    p.set_data(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert p.storage.address == address and p.tolist() == [[1.0, 2.0], [3.0, 4.0]] and p.clone().tolist() == p.tolist()
    p.set_dtype(ms.float64)
    assert p.device == "SHELF:0" and p.dtype == ms.float64
    p.move_here(CPU)
    p.move_here(CPU)
    assert p.device == "CPU" and p.array[1, 1] == 4.0
    p.array = np.zeros(3, np.float32)
    assert p.shape == (3,)


def test_memory_of_a_device_goes_back_when_nobody_refers_to_it(shelf):
    far = Tensor(np.zeros(100)).moved_to(FAR)
    again = moved(far.elements, FAR)
    assert again is far.elements and len(shelf.boxes) == 1
    part = empty_on(FAR, (0, 3), np.dtype(np.int8))
    assert len(shelf.boxes) == 2 and part.nbytes == 0 and isinstance(empty_on(CPU, (2,), np.dtype(np.int8)), np.ndarray)
    del far, again, part
    gc.collect()
    assert not shelf.boxes


def test_what_the_cpu_lacks_a_tensor_does_not_have():
    x = Tensor.__new__(Tensor)
    with pytest.raises(AttributeError, match="host_array"):
        x.host_array
