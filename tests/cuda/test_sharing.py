"""Memory of a simulated GPU, shared with other libraries without a copy: DLPack and __cuda_array_interface__, both ways."""
import gc

import numpy as np
import pytest
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import ArgumentError, DeviceError, DTypeError
from mindlite.ops.dlpack import from_dlpack, to_dlpack

pytestmark = runs_here
X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Foreign:
    """An array of another library: a description of memory, and who keeps it."""

    def __init__(self, keeper, **changes):
        self.keeper, self.said = keeper, {**keeper.__cuda_array_interface__, **changes}

    @property
    def __cuda_array_interface__(self):
        return self.said


@pytest.mark.parametrize("share", [lambda x: from_dlpack(to_dlpack(x)), from_dlpack, lambda x: from_dlpack(Foreign(x))],
                         ids=["capsule", "object", "interface"])
def test_the_memory_is_shared_both_ways_without_a_copy_and_lives_as_long_as_either(share):
    with simulated_gpus() as library:
        x = Tensor(X).to("GPU")
        y, counts = counted(library, lambda: share(x))
        assert not {"MemAlloc", "MemcpyHtoD", "MemcpyDtoH", "MemcpyDtoD"} & set(counts)
        assert y.device == "GPU:0" and y.shape == (2, 3) and y.storage.address == x.storage.address
        x.overwrite(Tensor(X + 1))
        np.testing.assert_array_equal(y.asnumpy(), X + 1)
        np.testing.assert_array_equal(ms.jit(lambda y: y * 2.0, fullgraph=True)(y).asnumpy(), (X + 1) * 2)
        library.target.driver.synchronize(0)
        gc.collect()
        before = library.live
        x = None
        gc.collect()
        library.target.driver.synchronize(0)
        assert library.live == before                         # y has it still
        np.testing.assert_array_equal(y.asnumpy(), X + 1)
        y = None
        gc.collect()
        library.target.driver.synchronize(0)
        assert library.live == before - X.nbytes


def test_a_capsule_that_nobody_takes_gives_its_memory_back_and_one_is_taken_once():
    with simulated_gpus() as library:
        capsule = to_dlpack(Tensor(X).to("GPU"))
        held = library.live
        del capsule
        gc.collect()
        library.target.driver.synchronize(0)
        assert library.live == held - X.nbytes
        capsule = to_dlpack(Tensor(X).to("GPU:1"))
        assert from_dlpack(capsule).device == "GPU:1"
        with pytest.raises(ArgumentError, match="used before"):
            from_dlpack(capsule)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int8", "uint16", "int64", "bool", "complex64"])
def test_each_dtype_is_the_same_on_the_other_side(dtype):
    with simulated_gpus():
        x = Tensor(X > 2 if dtype == "bool" else X, getattr(ms, dtype) if dtype != "bool" else ms.bool_).to("GPU")
        assert x.__dlpack_device__() == (2, 0)
        y = from_dlpack(x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())
        if dtype != "bfloat16":
            said = x.__cuda_array_interface__
            assert (said["shape"], said["typestr"], said["version"]) == ((2, 3), x.asnumpy().dtype.str, 3) and said["stream"]


def test_what_was_asked_for_before_is_done_when_another_library_has_the_memory():
    with simulated_gpus() as library:
        jitted = ms.jit(lambda x: x + 1.0, fullgraph=True)
        out = jitted(Tensor(X))
        assert library.queue
        out.__dlpack__(stream=-1)                             # -1: the consumer will wait itself
        assert library.queue
        out.__dlpack__()
        assert not library.queue


def test_what_cannot_be_shared_is_refused():
    with simulated_gpus():
        x = Tensor(X).to("GPU")
        with pytest.raises(ArgumentError, match="one after the other"):
            from_dlpack(Foreign(x, strides=(4, 8)))
        with pytest.raises(ArgumentError, match="mask"):
            from_dlpack(Foreign(x, mask=x))
        with pytest.raises(DTypeError, match="float8"):
            to_dlpack(Tensor(X, ms.float8_e5m2).to("GPU"))
        with pytest.raises(DTypeError, match="bfloat16"):
            Tensor(X, ms.bfloat16).to("GPU").__cuda_array_interface__
        assert not hasattr(Tensor(X), "__cuda_array_interface__") and hasattr(x, "__cuda_array_interface__")
        lost = Foreign(x, stream=None)
    with pytest.raises(DeviceError):                          # nothing drives a GPU any more
        from_dlpack(lost)
