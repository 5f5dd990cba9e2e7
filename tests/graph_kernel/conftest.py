"""Kernels of the tests go to a cache directory of their own."""
import pytest

from mindlite.common.config import config


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    before = config.set(cache_dir=str(tmp_path_factory.mktemp("kernels")))
    yield
    config.set(**before)
