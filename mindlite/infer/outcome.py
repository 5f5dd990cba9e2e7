"""How a piece of a function can end."""
from ..mindir.syntax import Undefined

RETURN = "return"
BOTTOM = Undefined("the result of an endless recursion")


class Outcome:
    """{target: payload}, and the number of the target (an int, or a node where several are left).

    A target is RETURN, with the value, or a block, with the values that `leave_to` gives.
    """

    def __init__(self, exits, code=0):
        self.exits, self.code = exits, code

    @property
    def single(self):
        """The only target, or None."""
        return next(iter(self.exits)) if len(self.exits) == 1 else None


class Raises(Exception):
    """The code raises `exception`, an exception or a LazyException over `operands`."""
    exits = {}

    def __init__(self, exception, operands=(), origin=None):
        super().__init__(exception)
        self.exception, self.operands, self.origin = exception, operands, origin


class LazyException:
    """An exception whose arguments hold run-time values: make(*operand values) when it is raised."""

    def __init__(self, make, operands):
        self.make, self.operands = make, operands


class Recursion(Exception):
    """A function calls itself under a condition that is known at run time only."""

    def __init__(self, key):
        super().__init__(key)
        self.key = key


class NoResultYet(Exception):
    """A recursive call whose result type is not known yet: the path that makes it is left out of this round."""
