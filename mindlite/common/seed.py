"""The one seed that everything random starts from.

    set_seed(1)        initialisers draw from NumPy's PCG64 seeded with 1; what was given to `when_seeded` is called
"""
from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

from .annotations import Function
from .errors import ArgumentError, ValueRangeError

process_seed: dict[str, Any] = {"seed": None, "generator": None}
_listeners: list = []


class _Own(threading.local):
    state: dict | None = None


_own = _Own()


def seed_state() -> dict[str, Any]:
    """What this rank's random numbers start from: the process', or that of a rank which is a thread (`begin_own_seed`)."""
    return process_seed if _own.state is None else _own.state


def begin_own_seed() -> None:
    """From here on this thread is a rank: it has a seed and streams of its own, which begin as the process' are now."""
    _own.state = {"seed": process_seed["seed"], "generator": copy.deepcopy(process_seed["generator"])}


def end_own_seed() -> None:
    """The reverse of `begin_own_seed`."""
    _own.state = None


def set_seed(seed: int) -> None:
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
    seed_state().update(seed=seed, generator=np.random.default_rng(seed))
    for listener in _listeners:
        listener(seed)


def get_seed() -> int | None:
    """The seed last set, or None."""
    return seed_state()["seed"]


def generator() -> Any:
    """NumPy's Generator that initialisers draw from; seeded by the operating system until `set_seed` is called."""
    state = seed_state()
    if state["generator"] is None:
        state["generator"] = np.random.default_rng()
    return state["generator"]


def when_seeded(listener: Function) -> Function:
    """Call `listener(seed)` at every `set_seed`, and at once if a seed is set already; returns the listener."""
    _listeners.append(listener)
    if process_seed["seed"] is not None:
        listener(process_seed["seed"])
    return listener
