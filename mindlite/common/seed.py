"""The one seed that everything random starts from.

    set_seed(1)        initialisers draw from NumPy's PCG64 seeded with 1; whoever asked by `when_seeded` is told
"""
from typing import Any

import numpy as np

from .errors import ArgumentError, ValueRangeError

_state: dict[str, Any] = {"seed": None, "generator": None}
_listeners: list = []


def set_seed(seed):
    """Make all random numbers from here on repeatable: initialisers, random operators, NumPy's global generator.

    seed   : int in [0, 2**32)
    raises : ArgumentError if it is no int, ValueRangeError outside that range
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise ArgumentError(f"set_seed: the seed is an int, not {type(seed).__name__}")
    seed = seed.__index__()
    if not 0 <= seed < 2 ** 32:
        raise ValueRangeError(f"set_seed: the seed {seed} is outside [0, 2**32)")
    np.random.seed(seed)
    _state["seed"], _state["generator"] = seed, np.random.default_rng(seed)
    for listener in _listeners:
        listener(seed)


def get_seed():
    """The seed last set, or None."""
    return _state["seed"]


def generator():
    """NumPy's Generator that initialisers draw from; seeded by the operating system until `set_seed` is called."""
    if _state["generator"] is None:
        _state["generator"] = np.random.default_rng()
    return _state["generator"]


def when_seeded(listener):
    """Call `listener(seed)` at every `set_seed`, and at once if a seed is set already; returns the listener."""
    _listeners.append(listener)
    if _state["seed"] is not None:
        listener(_state["seed"])
    return listener
