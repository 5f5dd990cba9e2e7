"""What computing and sending cost: the prices by which plans are chosen."""
from dataclasses import replace

from ..common.dim import evaluate, symbols_of
from ..common.ranks import engine
from ..common.records import dataclass

OPEN = 64                                        # what an open size counts in prices and in the report, nowhere else


@dataclass(frozen=True)
class Machine:
    """What a price is made of.

    message, byte : seconds of a collective, of a byte that is sent      point: of an element that is computed
    flop          : of a floating-point operation in a product of matrices or a convolution
    resident      : of a byte of a Parameter in memory, where that is chosen
    kinds         : ((operator, reach), (seconds of a collective, of a byte)), where they are other ones than those above

    Round numbers of a small CPU; what they are decides which plan is cheapest, not whether it is right, as long as all ranks have
    the same.
    """
    message: float = 2e-5
    byte: float = 5e-10
    point: float = 1e-10
    flop: float = 1e-11
    resident: float = 1e-13
    kinds: tuple = ()

    def sending(self, operator, nbytes, reach="near"):
        """Seconds of a collective in which a rank sends so many bytes; reach: as of `Engine.reach`."""
        message, byte = dict(self.kinds).get((operator, reach), (self.message, self.byte))
        return message + byte * nbytes

    def with_free_sums(self):
        """This Machine, on which an all_reduce costs the bytes alone."""
        kinds = dict(self.kinds)
        for key in (("all_reduce", "near"), ("all_reduce", "far")):
            kinds[key] = 0.0, kinds.get(key, (self.message, self.byte))[1]
        return replace(self, kinds=tuple(sorted(kinds.items())))


def machine_here(**prices):
    """The Machine on which this program runs, with the prices that were measured on and between the ranks, if they were
    (communication/links.py). prices: those that are other ones"""
    here = engine()
    found: dict = {} if here.link is None else {"message": here.link[0], "byte": here.link[1]}
    if not {"message", "byte"} & prices.keys():
        found["kinds"] = tuple(sorted(here.links.items()))
    found.update({} if here.pace is None else {"flop": here.pace[0], "point": here.pace[1]})
    return Machine(**{**found, **prices})


def typical(size):
    """An int or Dim with OPEN, or the nearest number that it may be, in place of each open size."""
    return evaluate(size, {symbol: _number_of(symbol) for symbol in symbols_of(size)})


def _number_of(symbol):
    lo, hi = symbol.bounds()
    number = max(OPEN, lo or 0) if hi is None else min(max(OPEN, lo or 0), hi)
    return number - (number - symbol.remainder) % symbol.divisor
