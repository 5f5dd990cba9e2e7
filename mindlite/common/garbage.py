"""Complete garbage collections are seldom: each one stops the program while it walks over all objects.

CPython walks over its oldest objects whenever a quarter as many new ones have survived, as tapes of an eager loop do. What
mindlite and the program hold at import is therefore frozen (`gc.freeze`): such a collection walks past it. A callback of the
collector keeps that from hiding garbage. These collections are complete, with what is
frozen, and what lives is frozen again behind them:

    gc.collect() of the program                     always
    a collection of the oldest objects by itself    once in EVERY seconds, where no tape records in this thread

Source: CPython's developer guide, "Garbage collector design" (generations), and the documentation of `gc.callbacks`.
"""
from __future__ import annotations

import gc
import time

from .threads import here

EVERY = 60.0                                     # seconds between two complete collections that nobody asked for


class Frozen:
    """What the callback knows. count: how many objects were frozen last; since: when; walks: this collection is complete"""

    def __init__(self) -> None:
        self.count, self.since, self.walks = 0, 0.0, False

    def freeze(self) -> None:
        """What lives is walked past from now on."""
        gc.freeze()
        self.count, self.since = gc.get_freeze_count(), time.monotonic()

    def is_ours(self) -> bool:
        """False where the program has frozen more objects, or has taken it back: then it decides."""
        return 0 < gc.get_freeze_count() <= self.count

    def __call__(self, phase: str, info: dict) -> None:
        """A collection begins or has ended (gc.callbacks)."""
        if info["generation"] != 2:
            return
        if phase == "start":
            self.walks = is_due(self.since) and self.is_ours()
            if self.walks:
                gc.unfreeze()
        elif self.walks:
            self.walks = False
            self.freeze()


def is_due(since: float) -> bool:
    """True if the collection of the oldest objects that begins is to be complete. since: when the last one was"""
    counts, limits = gc.get_count(), gc.get_threshold()
    by_itself = limits[0] > 0 and counts[0] > limits[0] and counts[2] > limits[2]
    return not by_itself or not here.state.tapes and time.monotonic() - since >= EVERY


frozen = Frozen()


def freeze() -> None:
    """From now on complete collections are seldom. What is garbage already is collected first."""
    gc.collect()
    frozen.freeze()
    if frozen not in gc.callbacks:
        gc.callbacks.append(frozen)
