"""The samples are importable by name; kernels of the tests go to a cache directory of their own."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from mindlite.common.config import config                                                               # noqa: E402


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    before = config.set(cache_dir=str(tmp_path_factory.mktemp("kernels")))
    yield
    config.set(**before)
