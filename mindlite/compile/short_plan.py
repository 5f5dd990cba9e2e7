"""A CallPlan as numbers, for machine code that makes a whole call of a compiled function (pynative/native_calls.py).

    f(x, y)  ->  for each plan of f for this thread: the test, new arrays, the builtin, new Tensors

A plan holds for one variant, one signature and one thread, as the Python function of quick.py does, which stands beside
it and does what does not fit. Words of a plan, then three for each new array (dtype, rank, address of the sizes; of a
device: 0, 0, the function that makes it), then the numbers of the arrays that are results. Checks lie apart: how many, then the
words of each. REFUSED says why the latest call did not run: check n (from 1), BY_TEST, or 0 for all else.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..infer.outside import current_value
from ..common.threads import here
from ..mindir.syntax import Undefined
from .known_call import KnownCall

(STATE, ENTER, ENTRY, ARENAS, BUFFER, ARGUMENTS, OUTS, CHECKS, TEST, DISTINCT, CALLS, RESULTS, FAILED, REFUSED, FITS,
 HEAD) = range(16)
BY_TEST = -1
MAX_ARRAYS = 24                                  # arguments and results of one call
ITEM, ATTRIBUTE, CELL, METHOD = range(4)         # kinds of checks
VALUE = 3                                        # the word of a check with the object
CHECK = 5                                        # words of a check: kind, owner, name, object, what a method is bound to
Check = tuple[int, Any, str, Any, Any]           # kind, owner, name, object, what a method is bound to
ABSENT = object()                                # the object of an ITEM that must not be there


class HasPlans:
    """Base of what machine code may call. plans: a list of (plan, the function that keeps it alive), newest first, flat."""
    __slots__ = ("plans", "__dict__", "__weakref__")


class ShortPlan:
    """The plan of a fast path.

    known    : the KnownCall;     results: the number, among its new arrays, of the only result, or a tuple of numbers
    checks   : (number of the guard, (kind, owner, name, object, bound to)): what must still be the same object, an entry of a
               dict, an attribute, the content of a closure's cell, or a method (of this function, bound to that object)
    test     : None, or a function of the arguments that gives True if all else is as expected
    """

    def __init__(self, known: KnownCall, results: int | tuple[int, ...], checks: Sequence[tuple[int | None, Check]],
                 test: Callable[..., bool] | None, distinct: bool) -> None:
        entry, made, buffer = known.entry, known.made, known.context.buffer if known.peak else None
        sizes = [np.array(shape or (0,), np.int64) for _, shape, _ in made]
        numbers = results if isinstance(results, tuple) else (results,)
        outs = [word for n, ((_, shape, dtype), each) in enumerate(zip(made, sizes)) for word in (
            (id(dtype), len(shape), each.ctypes.data) if known.is_on_host(n) else (0, 0, id(known.makers[n])))]
        if known.elsewhere:
            checks = [(None, (ATTRIBUTE, known.arenas, "version", known.version, None)), *checks]
        looked_at = np.array([len(checks), *[word for _, (kind, owner, name, value, bound) in checks for word in (
            kind, id(owner), id(name), 0 if value is ABSENT else id(value), id(bound))]], np.int64)
        count = len(results) if isinstance(results, tuple) else -1
        self.words = np.array([id(here.state), entry.code_address, entry.plan_address, id(known.arenas), id(buffer), known.count,
                               len(made), looked_at.ctypes.data, id(test), distinct, 0, count, id(None), 0,
                               entry.fit_address if known.asks_for_memory else 0, *outs, *numbers],
                              np.int64)
        if buffer is None:
            self.words[BUFFER] = 0
        if buffer is not None or known.elsewhere:
            known.short = self
        if test is None:
            self.words[TEST] = 0
        self.known, self.looked_at, self.version = known, looked_at, getattr(known, "version", None)
        self.keep, self.guards = (here.state, known, sizes, checks, looked_at, test), [number for number, _ in checks]

    @property
    def refused(self) -> int | None:
        """The number of the guard, among those that machine code looks at, by which the latest call did not run, or None."""
        return self.guards[self.words[REFUSED] - 1] if self.words[REFUSED] > 0 else None

    def use_arenas(self, buffer: np.ndarray, version: object) -> None:
        """The context points into other arenas: the host's, and those of devices, whose version the first check looks at."""
        if self.words[BUFFER]:
            self.buffer, self.words[BUFFER] = buffer, id(buffer)
        if self.known.elsewhere:
            self.version, self.looked_at[1 + VALUE] = version, id(version)

    def on_failure(self, function: Callable[..., NoReturn]) -> None:
        """function(*args) is called where a run has failed; it raises."""
        self.failed, self.words[FAILED] = function, id(function)

    def end(self) -> None:
        """Never use this plan again."""
        self.words[STATE] = 0


def check_of(kind: str, owner: Any, name: str, value: Any) -> Check | None:
    """How machine code checks a guard (see ShortPlan): it reads the object again. If it passes,
    `guard_holds` would pass; if not, Python decides. None if only Python can check it."""
    if kind == "item" and type(owner) is dict and not isinstance(value, (list, dict, set)):
        return ITEM, owner, name, ABSENT if isinstance(value, Undefined) else value, None
    if kind == "protocol":
        return ATTRIBUTE, owner, "_version", owner._version, None
    if kind not in ("cell", "attr") or isinstance(value, (Undefined, list, dict, set)):
        return None                                          # of these the content counts
    if isinstance(value, types.MethodType) and kind == "attr":
        return METHOD, owner, name, value.__func__, value.__self__
    if current_value(kind, owner, name) is not value:        # equal, and another object each time it is read
        return None
    return CELL if kind == "cell" else ATTRIBUTE, owner, name, value, None
