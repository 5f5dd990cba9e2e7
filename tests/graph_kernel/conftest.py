"""Kernels of the tests go to a cache directory of their own.
`lanes`: a test runs with vectors of 4, 8 and 16 numbers; LLVM splits what the processor lacks."""
import pytest

from mindlite.backend.cpu.target import WIDTHS
from mindlite.common.config import config


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    before = config.set(cache_dir=str(tmp_path_factory.mktemp("kernels")))
    yield
    config.set(**before)


@pytest.fixture(params=WIDTHS, ids=lambda lanes: f"{lanes} lanes")
def lanes(request):
    """Every width of the vectors."""
    before = config.set(lanes=request.param)
    yield request.param
    config.set(**before)
