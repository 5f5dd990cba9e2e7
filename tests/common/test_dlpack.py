"""DLPack: memory that is shared with other frameworks."""
import numpy as np
import pytest

import mindlite as ms
import mindlite.mindspore as mindspore
from mindlite import Tensor
from mindlite.common.errors import ArgumentError, DTypeError
from mindlite.mindspore.utils.dlpack import from_dlpack, to_dlpack


def test_a_capsule_shares_the_memory_both_ways():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = from_dlpack(to_dlpack(x))
    x[0, 0] = 9
    assert y.shape == (2, 3) and y.dtype == ms.float32 and y.asnumpy()[0, 0] == 9


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.uint8, np.int64, np.complex64, np.bool_])
def test_objects_with_dlpack_become_tensors_and_tensors_arrays(dtype):
    array = np.ones((3, 2), dtype)
    if dtype is np.bool_ and np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("this NumPy shares no bools")
    tensor = from_dlpack(array)
    array[1, 1] = 0
    assert tensor.asnumpy()[1, 1] == 0 and tensor.asnumpy().dtype == dtype
    assert np.shares_memory(np.from_dlpack(tensor), array)


def test_elements_with_gaps_are_copied_and_what_cannot_be_shared_is_refused():
    array = np.arange(8.0)[::2]
    assert from_dlpack(array).asnumpy().tolist() == [0, 2, 4, 6]
    with pytest.raises(ArgumentError, match="DLPack"):
        from_dlpack([1, 2])
    with pytest.raises(ArgumentError, match="Tensor"):
        to_dlpack(np.ones(3))
    with pytest.raises(DTypeError, match="BFloat16"):
        to_dlpack(Tensor([1.0], ms.bfloat16))
    assert mindspore.utils.from_dlpack is from_dlpack
