"""Sizes that differ between visits become Symbols: one derivative of an operator, and one Flow of a tape, for all lengths.

    visits (4, 5, 256, 20), (4, 9, 256, 36), (4, 7, 256, 28)    ->   4, n, 256, 4 * n         these of (4, 6, 256, 24): n = 6

Places that always had equal numbers share a Symbol, as in signatures of compiled functions; here a place may also be a multiple
of another one, or differ from it by a number, in all visits. Sizes of 0 and 1 broadcast and vanish: they are no part of a visit.
"""
from ..common.dim import Dim, Symbol, compare, evaluate, lone_symbol, symbols_of

MOST_VISITS = 16                                 # that are remembered


class Visits:
    """The tuples of sizes that something was seen with, the patterns that were made of them, and what was made for each."""
    __slots__ = ("seen", "made", "fits")

    def __init__(self):
        self.seen, self.made = [], []            # made: [(pattern, what was made for it)]
        self.fits = []                           # the Fit of each

    def enter(self, sizes):
        """These sizes were there."""
        if sizes not in self.seen and len(self.seen) < MOST_VISITS:
            self.seen.append(sizes)

    def find(self, sizes):
        """(what was made for a pattern that these sizes fit, {Symbol: size}); (None, None)"""
        for fit, (_, made) in zip(self.fits, self.made):
            env = fit(sizes)
            if env is not None:
                return made, env
        return None, None

    def put(self, pattern, made):
        """What was made for a pattern."""
        self.made.append((pattern, made))
        self.fits.append(Fit(pattern))

    def pattern(self, *more):
        """What all visits, and more, have in common: an int or Dim for each place."""
        return common((*self.seen, *more))

    def nearest(self, sizes):
        """What sizes have in common with the earlier visit that leaves the fewest of them open; None if there is none."""
        patterns = [common((seen, sizes)) for seen in self.seen if seen != sizes]
        return min(patterns, key=lambda p: (len(symbols_in(p)), sum(isinstance(size, Dim) for size in p)), default=None)


def symbols_in(pattern):
    """The Symbols of a pattern, in order."""
    return tuple(dict.fromkeys([s for s in map(lone_symbol, pattern) if s is not None]))


def common(visits):
    """An int for each place at which visits are equal, else a Dim; one that stands in a relation to others is made of them."""
    made: dict = {}
    bases: list = []                             # (column, Dim)
    for column in sorted(set(zip(*visits))):
        if len(set(column)) == 1:
            made[column] = column[0]
            continue
        related = [size for base in (*bases, *products(bases)) if (size := relation(column, *base)) is not None]
        made[column] = related[0] if related else Symbol(lo=2).dim
        if not related:
            bases.append((column, made[column]))
    return tuple([made[column] for column in zip(*visits)])


def products(bases):
    """The products of two of these (column, Dim)."""
    return [(tuple([m * n for m, n in zip(a, b)]), d * e) for i, (a, d) in enumerate(bases) for b, e in bases[i:]]


def relation(column, base, dim):
    """c * dim, or dim + c, where a column of numbers is that of the base; None where it is neither."""
    if all(n % b == 0 for n, b in zip(column, base)) and len({n // b for n, b in zip(column, base)}) == 1:
        return column[0] // base[0] * dim
    return dim + (column[0] - base[0]) if len({n - b for n, b in zip(column, base)}) == 1 else None


class Fit:
    """The question whether sizes are those of a pattern, read once: fit(sizes) -> {Symbol: size}, None where they are not."""
    __slots__ = ("fixed", "symbols", "equal", "others")

    def __init__(self, pattern):
        first: dict = {}
        self.fixed: list = []
        self.equal: list = []
        self.others: list = []
        for index, size in enumerate(pattern):
            symbol = lone_symbol(size)
            if symbol is None:
                (self.others if isinstance(size, Dim) else self.fixed).append((index, size))
            elif first.setdefault(symbol, index) != index:
                self.equal.append((index, first[symbol]))
        self.symbols = tuple(first.items())

    def __call__(self, sizes):
        for index, n in self.fixed:
            if sizes[index] != n:
                return None
        for index, other in self.equal:
            if sizes[index] != sizes[other]:
                return None
        env = {symbol: sizes[index] for symbol, index in self.symbols}
        for index, dim in self.others:
            if evaluate(dim, env) != sizes[index]:
                return None
        return env


class Guards:
    """What rules require of open sizes and cannot show, as that an index is less than its axis: asked of each tuple of sizes.

    assumed : [Constraint], as `collecting` gives them;      symbols : those of the sizes
    are_known : they are about these symbols and nothing else
    """
    __slots__ = ("ends", "are_known")

    def __init__(self, assumed, symbols):
        self.ends = tuple(dict.fromkeys([(each.op, each.left, each.right) for each in assumed]))
        self.are_known = all([isinstance(end, (int, Dim)) and symbols_of(end) <= symbols
                              for _, *both in self.ends for end in both])

    def hold(self, env):
        """True where all are true of {Symbol: size}."""
        return all([compare(op, evaluate(left, env), evaluate(right, env)) for op, left, right in self.ends])
