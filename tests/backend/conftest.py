"""`call`: call a kernel the way native code does, with an int64 array of pointers and sizes, by its address.
`lanes`: a test runs with vectors of 4, 8 and 16 numbers; LLVM splits what the processor lacks."""
import ctypes

import numpy as np
import pytest

from mindlite.backend.cpu.target import WIDTHS
from mindlite.common.config import config

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def call_kernel(kernel, arrays, sizes, *, begin=0, extent=1, handle=None):
    """Run `kernel` over [begin, extent) on contiguous arrays; raises RuntimeError with the kernel's text on failure."""
    for array in arrays:
        assert array.flags.c_contiguous
    numbers = ([] if handle is None else [handle.address]) + [a.ctypes.data for a in arrays] + list(sizes)
    args = np.array(numbers, np.int64)
    status = FUNCTION(kernel.address)(args.ctypes.data, begin, extent)
    if status:
        raise RuntimeError(kernel.errors[status - 1])


@pytest.fixture
def call():
    """The function call_kernel."""
    return call_kernel


@pytest.fixture(params=WIDTHS, ids=lambda lanes: f"{lanes} lanes")
def lanes(request):
    """Every width of the vectors."""
    before = config.set(lanes=request.param)
    yield request.param
    config.set(**before)
