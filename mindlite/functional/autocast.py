"""A function whose operators run under a policy of mixed precision (ops/autocast.py), in eager mode and in graphs."""
import functools

from ..mindir.primitive import interpreting
from ..mindir.protocol import Autocasted
from ..ops.autocast import Autocast


class WithPolicy:
    """`function`, whose operators cast their operands as `policy` says."""

    def __init__(self, function, policy):
        self.function, self.policy = function, policy
        if hasattr(function, "__name__"):
            functools.update_wrapper(self, function, updated=())

    def __eq__(self, other):
        return type(other) is WithPolicy and (self.function, self.policy) == (other.function, other.policy)

    def __hash__(self):
        return hash((self.function, self.policy))

    def __mindir__(self):
        return Autocasted(self.function, self.policy)

    def __call__(self, *args, **kwargs):
        with interpreting(Autocast(self.policy)):
            return self.function(*args, **kwargs)
