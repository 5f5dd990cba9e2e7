"""What is made once in a process, though several threads ask for it at the same time: machine code above all.

    @once
    def launcher_code(): ..              launcher_code() is the same object for all

`functools.cache` calls the function for every thread that comes before the first result, gives each its own and remembers one.
Machine code that another thread had linked to was unloaded that way, under its callers. Here all get the result that came
first, and no result is ever let go. No lock is held while the function runs, so it may run twice.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class once(Generic[P, R]):
    """Decorator of a function of hashable arguments. made: {arguments: result}; kept: all results, also those that came late"""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.made: dict[Any, R] = {}
        self.kept: list[R] = []
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        key = (args, tuple(named.items())) if named else args
        try:
            return self.made[key]
        except KeyError:
            pass
        result = self.function(*args, **named)
        self.kept.append(result)
        return self.made.setdefault(key, result)

    def cache_clear(self) -> None:
        """From now on results are made anew; who uses an old one goes on."""
        self.made.clear()
