"""What a user says of sizes that change: `Tensor(shape=[None, Symbol(divisor=16)])` in set_inputs, jit and enable_dynamic."""
from . import dim
from .errors import ArgumentError, ValueRangeError


class Symbol:
    """A size of which something is known. Graphs are compiled with it, and a call with another size is an error.

    max       : the largest size; counts where it is above min
    min       : the smallest size, at least 1
    divisor, remainder : sizes are divisor * N + remainder, N >= 1
    unique    : all axes with this very Symbol have one size
    raises    : ArgumentError for what is no int (unique: no bool), ValueRangeError for numbers that no size can have
    source    : MindSpore's Symbol
    """

    def __init__(self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0, unique: bool = False) -> None:
        for name, value in (("max", max), ("min", min), ("divisor", divisor), ("remainder", remainder)):
            if type(value) is not int:
                raise ArgumentError(f"Symbol: {name} is an int, not {type(value).__name__}")
        if type(unique) is not bool:
            raise ArgumentError(f"Symbol: unique is a bool, not {type(unique).__name__}")
        if min < 1 or divisor < 1 or not 0 <= remainder < divisor:
            raise ValueRangeError("Symbol: min and divisor are at least 1, and 0 <= remainder < divisor",
                                  note=f"min: {min}, divisor: {divisor}, remainder: {remainder}")
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique

    def open(self) -> dim.Symbol:
        """A new size with these facts."""
        least = self.min if self.divisor == 1 else max(self.min, self.divisor + self.remainder)
        return dim.Symbol(lo=least, hi=self.max if self.max > self.min else None, divisor=self.divisor, remainder=self.remainder)

    def __repr__(self) -> str:
        facts = [f"{name}={getattr(self, name)}" for name, usual in (("max", 0), ("min", 1), ("divisor", 1), ("remainder", 0),
                                                                     ("unique", False)) if getattr(self, name) != usual]
        return f"Symbol({', '.join(facts)})"
