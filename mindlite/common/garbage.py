"""Complete garbage collections are seldom: each one stops the program while it walks over all objects.

CPython walks over its oldest objects whenever a quarter as many new ones have survived, as tapes of an eager loop do. What
mindlite and the program hold at import is therefore frozen (`gc.freeze`): such a collection walks past it. Two places keep that
from hiding garbage. They collect everything, with what is frozen, and freeze again what lives behind it:

    gc.collect() of the program           always: `collect` below takes its place
    the end of a thread's outermost tape  once in EVERY seconds; twice as seldom, up to SELDOM times, each time that finds
                                          almost nothing: it stops the program for as long as it takes (0.1 s and more)

What is frozen does not count as old, so that few new objects are a quarter of what does: a first pass over new lengths, or
the compilation of a network, had 3 to 10 complete collections. They come a fifth as often, unless the program has set a number
itself.

Nothing of mindlite is in `gc.callbacks`. Python code there takes the signals that came during a collection or before it, and
CPython ignores what their handlers raise: a Ctrl-C would be lost.

Source: CPython's developer guide, "Garbage collector design" (generations), and the documentation of `gc.callbacks`.
"""
from __future__ import annotations

import gc
import math
import time

EVERY = 60.0                                     # seconds between two complete collections that nobody asked for
SELDOM = 16.0                                    # times as long at most, while they find almost nothing
USUAL, FEWER = 10, 50                            # collections of the middle generation until a complete one: CPython's, ours
WORTH = 1e-2                                     # of the objects: garbage below this share is almost nothing


class Frozen:
    """What is walked past. count: how many objects were frozen last; since: when; plain: `gc.collect` as it was before;
    patience: how many times EVERY passes until the next complete collection"""

    def __init__(self) -> None:
        self.count, self.since, self.plain, self.patience = 0, math.inf, gc.collect, 1.0

    def freeze(self) -> None:
        """What lives is walked past from now on."""
        gc.freeze()
        self.count, self.since = gc.get_freeze_count(), time.monotonic()

    def is_ours(self) -> bool:
        """False where the program has frozen more objects, or has taken it back: then it decides."""
        return 0 < gc.get_freeze_count() <= self.count


frozen = Frozen()


def collect(generation: int = 2) -> int:
    """Run the garbage collector; a complete collection looks at what mindlite has frozen, too.

    generation : 0, 1 or 2 (all), as of `gc.collect`
    returns    : how many unreachable objects were found
    raises     : ValueError where there is no such generation
    """
    if generation != 2 or not frozen.is_ours():
        return frozen.plain(generation)
    gc.unfreeze()
    try:
        return frozen.plain(generation)
    finally:
        frozen.freeze()


def collect_seldom() -> None:
    """The outermost tape of a thread has ended: a complete collection, if the last one was EVERY seconds ago."""
    if time.monotonic() - frozen.since >= EVERY * frozen.patience:
        frozen.since = math.inf                  # until something is frozen again; never, where the program decides
        found = collect()
        frozen.patience = min(SELDOM, 2 * frozen.patience) if found < WORTH * frozen.count else 1.0


def freeze() -> None:
    """From now on complete collections are seldom. What is garbage already is collected first."""
    gc.collect()
    frozen.freeze()
    youngest, middle, until = gc.get_threshold()
    if until == USUAL:
        gc.set_threshold(youngest, middle, FEWER)
    if gc.collect is not collect:
        frozen.plain, gc.collect = gc.collect, collect
