"""mint: functions, layers and optimisers with torch's names, arguments, defaults and results, as MindSpore's `mint`.

    mint.add(x, y, alpha=2)      mint.nn.Conv2d(3, 8, 3, padding=1)      mint.nn.functional.gelu(x)      mint.optim.AdamW(..)

Nothing here is a relative of `nn` or `ops` with other defaults: a name means what it means in torch, or is missing.
"""
import importlib

from . import arithmetic, creation, reductions, shaping
from .arithmetic import *  # noqa: F401,F403
from .creation import *  # noqa: F401,F403
from .reductions import *  # noqa: F401,F403
from .shaping import *  # noqa: F401,F403

_ROOMS = ("distributed", "linalg", "nn", "optim", "special")
__all__ = sorted({*arithmetic.__all__, *creation.__all__, *reductions.__all__, *shaping.__all__, *_ROOMS})


def __getattr__(name):
    if name in _ROOMS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
