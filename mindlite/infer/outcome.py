"""How a piece of a function can end."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..common.errors import Signal
from ..common.location import Location, Origin
from ..mindir.graph import CNode
from .state import Attempts
from .values import Value

RETURN = "return"


class Attempt:
    """A `try` whose body is being executed. barrier: what no exception can leave on a run-time condition, as it is a
    graph of its own, or None; targets: {kind of exception: Caught}."""

    def __init__(self, barrier: str | None = None) -> None:
        self.barrier = barrier
        self.targets: dict[Any, Caught] = {}


@contextlib.contextmanager
def barrier(attempts: Attempts, what: str) -> Iterator[None]:
    """Inside, no exception finds the `try` around on a condition that is known at run time only."""
    with attempts.inside(Attempt(what)) if attempts.around else contextlib.nullcontext():
        yield


class Caught:
    """Target: the handler of `attempt`, with an exception, which is the payload."""
    __slots__ = ("attempt",)
    name = "except"

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt


class Suspended:
    """Target: who goes on with a generator behind the yield whose terminator is `end`."""
    __slots__ = ("end",)
    name = "yield"

    def __init__(self, end: CNode) -> None:
        self.end = end


class Outcome:
    """{target: payload}, and the number of the target (an int, or a node where several are left).

    A target is RETURN, with the value, or a block, with the values that `leave_to` gives, or Caught with an exception,
    or Suspended with (the value, what `leave_to` gives for the block behind it, the exceptions being handled).
    """

    def __init__(self, exits: dict[Any, Any], code: Value = 0) -> None:
        self.exits, self.code = exits, code

    @property
    def single(self) -> Any:
        """The only target, or None."""
        return next(iter(self.exits)) if len(self.exits) == 1 else None


def ends_call(target: Any) -> bool:
    """True for a target that is not a block of the function."""
    return target == RETURN or isinstance(target, (Caught, Suspended))


class Raises(Signal):
    """The code raises `exception`, an exception or a MadeException; calls: the Locations of the calls around."""
    exits: dict = {}

    def __init__(self, exception: Value, origin: Origin | None = None, calls: Sequence[Location | None] = ()) -> None:
        super().__init__(exception)
        self.exception, self.origin, self.calls = exception, origin, calls


NEVER = Outcome({})                                          # the code does not go on: it has ended the run


class Departs(Signal):
    """A call that does not return: it ends with `outcome`, whose targets are all Caught."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class Recursion(Signal):
    """A function calls itself under a condition that is known at run time only."""

    def __init__(self, key: Any) -> None:
        super().__init__(key)
        self.key = key


class NoResultYet(Signal):
    """A recursive call whose result type is not known yet: the path that makes it is left out of this round."""
