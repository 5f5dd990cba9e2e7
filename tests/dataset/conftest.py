"""Each test of data pipelines begins without a seed, and leaves the one that was set."""
import pytest

from mindlite.dataset import config


@pytest.fixture(autouse=True)
def no_seed(monkeypatch):
    """As in a process in which nobody has set a seed."""
    monkeypatch.setattr(config.settings, "seed", config.DEFAULT_SEED)
