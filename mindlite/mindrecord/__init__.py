"""MindRecord files: MindSpore's `mindspore.mindrecord`. What stands behind the names is `mindlite.dataset.mindrecord`."""
from ..dataset import mindrecord as _room
from ..dataset.mindrecord import *  # noqa: F401, F403

__all__ = [name for name in _room.__all__ if name not in ("MindDataset", "MindRecordError")]
