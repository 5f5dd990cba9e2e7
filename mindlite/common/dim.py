"""Sizes that may be symbols: integer polynomials in normal form. Ints stay ints.

    n = Symbol("N", lo=1);  (n + 1) * (n - 1)  ->  N*N - 1         4 * n // 4  ->  N         dim_max(n, 0)  ->  N

A Dim is a sum of monomials, each an int times a product of atoms; an atom is a Symbol or an uninterpreted
`floordiv`, `mod`, `max`, `min` of two Dims. Equal polynomials are equal Dims, so `==` is a proof; `!=` is only
"not proven": `N == 1` is False for an N that may be 1. A choice that depends on the answer asks `compare`, or
`decide_equal` (mindir/constraints.py), under which a call with the other answer is compiled anew.

A Dim printed is a Python expression over its symbols, so it is the run-time shape function as well (DISC's shape
constraints, section 4; Nimble's shape functions, section 4.2). A size that is computed step by step contains the earlier
ones many times: they are shared, and each is looked at once. Only its text is that of a tree.
"""
from __future__ import annotations

import itertools
import weakref
import zlib
from typing import Any, Union

from .annotations import Function

_counter = itertools.count()
LONG = 16                        # atoms: the text of an atom with more of them is not written to find its place among others
TOO_LONG = 400                   # atoms: one with more of them is shown by its digest


class UnknownValueError(TypeError):
    """A Dim or a node of a graph was used as a number or a truth value, which is known at run time only."""


class Symbol:
    """A size that is known at run time. Fields: name, lo and hi (inclusive bounds, hi None for none); it is divisor * N +
    remainder."""
    __slots__ = ("name", "lo", "hi", "number", "divisor", "remainder")

    def __init__(self, name: str | None = None, lo: int = 1, hi: int | None = None, min: Any = None, max: Any = None,
                 divisor: int = 1, remainder: int = 0) -> None:
        self.divisor, self.remainder = divisor, remainder
        self.number = next(_counter)
        self.name = name or f"s{self.number}"
        self.lo, self.hi = (lo if min is None else min), (hi if max is None else max)

    def __repr__(self) -> str:
        return self.name

    @property
    def dim(self) -> Dim:
        """The Dim that is this symbol and nothing else."""
        return Dim({((self, 1),): 1})

    def bounds(self) -> tuple[int, int | None]:
        """(lo, hi)"""
        return self.lo, self.hi

    def accepts(self, size: int) -> bool:
        """True if it may be this int."""
        return size >= self.lo and (self.hi is None or size <= self.hi) and size % self.divisor == self.remainder

    def facts(self) -> str:
        """What is known of it, as text."""
        return ", ".join([f"at least {self.lo}", *([] if self.hi is None else [f"at most {self.hi}"]), *(
            [] if self.divisor == 1 else [f"{self.divisor} * N + {self.remainder}" if self.remainder else
                                          f"{self.divisor} * N"])])

    def symbols(self) -> set[Symbol]:
        """The symbols in this atom."""
        return {self}

    def evaluate(self, env: dict[Symbol, int], done: dict[Operation, int]) -> int:
        """The atom's value under env: {Symbol: int}."""
        return env[self]

    def substitute(self, env: dict[Symbol, Size], done: dict) -> Size:
        """The atom with symbols replaced by env: {Symbol: int or Dim}."""
        return env.get(self, self.dim)


_operations: "weakref.WeakValueDictionary[tuple, Operation]" = weakref.WeakValueDictionary()


class Operation:
    """An atom: op in floordiv, mod, max, min, over two Dims or ints. What is derived from the operands is derived once, as an
    operand may stand in both of them, at every depth. Equal ones are one object (hash consing, Ershov 1958), so comparing two
    sizes does not go into their operands; only two threads that make one at the same time may hold two."""
    __slots__ = ("op", "a", "b", "_hash", "_bounds", "_symbols", "_order", "_text", "atoms", "__weakref__")

    def __new__(cls, op: str, a: Size, b: Size) -> Operation:
        key = op, a, b
        self = _operations.get(key)
        if self is None:
            self = super().__new__(cls)
            self._derive(op, a, b)
            _operations[key] = self                          # another thread is to find it whole
        return self

    def _derive(self, op: str, a: Size, b: Size) -> None:
        self.op, self.a, self.b = op, a, b
        self._hash = hash((op, a, b))
        self._bounds: tuple[int | None, int | None] | None = None
        self._symbols: set[Symbol] | None = None
        self._order: tuple[int, int, str] | None = None
        self._text: str | None = None
        self.atoms = 1 + atoms_in(a) + atoms_in(b)             # in its text

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Operation) and self._hash == other._hash and \
            (self.op, self.a, self.b) == (other.op, other.a, other.b)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> Any:
        if self._text is None:
            self._text = self._show() if self.atoms <= TOO_LONG else f"{self.op}_{self.order()[1]:08x}"
        return self._text

    def _show(self) -> str:
        if self.op in ("max", "min"):
            return f"{self.op}({self.a}, {self.b})"
        a = f"({self.a})" if " " in repr(self.a) or isinstance(self.a, int) and self.a < 0 else self.a
        b = f"({self.b})" if set(" *-") & set(repr(self.b)) else self.b
        return f"({a} {'//' if self.op == 'floordiv' else '%'} {b})"

    def order(self) -> Any:
        """Its place among other atoms."""
        if self._order is None:
            self._order = (1, 0, repr(self)) if self.atoms <= LONG else (
                2, zlib.crc32(f"{self.op}({_digest(self.a)}, {_digest(self.b)})".encode()), "")
        return self._order

    def bounds(self) -> tuple[int | None, int | None]:
        """(lo, hi) derived from the operands' bounds; None where unknown."""
        if self._bounds is None:
            self._bounds = self._find_bounds()
        return self._bounds

    def _find_bounds(self) -> tuple[int | None, int | None]:
        (alo, ahi), (blo, bhi) = bounds(self.a), bounds(self.b)
        if self.op == "max":
            los = [x for x in (alo, blo) if x is not None]
            return (max(los) if los else None), (max(ahi, bhi) if ahi is not None and bhi is not None else None)
        if self.op == "min":
            his = [x for x in (ahi, bhi) if x is not None]
            return (min(alo, blo) if alo is not None and blo is not None else None), (min(his) if his else None)
        if self.op == "mod" and blo is not None and blo > 0:
            return 0, (bhi - 1 if bhi is not None else None)
        if self.op == "floordiv" and isinstance(self.b, int) and self.b > 0:
            return (alo // self.b if alo is not None else None), (ahi // self.b if ahi is not None else None)
        if self.op == "floordiv" and alo is not None and alo >= 0 and blo is not None and blo > 0:
            return 0, ahi
        return None, None

    def of(self, a: Size, b: Size) -> Size:
        """The same operation of other operands."""
        return _OPERATIONS[self.op](a, b)

    def symbols(self) -> Any:
        """The symbols in this atom."""
        if self._symbols is None:
            self._symbols = symbols_of(self.a) | symbols_of(self.b)
        return self._symbols

    def evaluate(self, env: dict[Symbol, int], done: dict[Operation, int]) -> int:
        """The atom's value under env: {Symbol: int}. done: {atom: its value under env} of those that have been asked for"""
        if self not in done:
            done[self] = _OPERATIONS[self.op](evaluate(self.a, env, done), evaluate(self.b, env, done))
        return done[self]

    def substitute(self, env: dict[Symbol, Size], done: dict[Operation, Size]) -> Size:
        """The atom with symbols replaced by env: {Symbol: int or Dim}. done: as in `evaluate`"""
        if self not in done:
            done[self] = _OPERATIONS[self.op](substitute(self.a, env, done), substitute(self.b, env, done))
        return done[self]


def _order(atom: Operation | Symbol) -> tuple[int, int, str]:
    """The place of an atom in a monomial: a Symbol by its number, others by their text, or by what stands for a long one."""
    return (0, atom.number, "") if isinstance(atom, Symbol) else atom.order()


def _digest(value: Size) -> str:
    """A short text for an int or Dim, the same for equal ones."""
    return "+".join(sorted("*".join([str(c), *[f"{_order(atom)}^{power}" for atom, power in monomial]])
                           for monomial, c in _terms(value).items()))


Monomial = tuple[tuple[Union[Symbol, Operation], int], ...]      # (atom, power) in order; () is the constant


class Dim:
    """A polynomial: {monomial: coefficient}, a monomial being a sorted tuple of (atom, power); () is the constant."""
    __slots__ = ("terms", "_hash")

    def __init__(self, terms: dict[Any, int]) -> None:
        self.terms = terms
        self._hash = hash(frozenset(terms.items()))

    @staticmethod
    def make(terms: dict[Any, int]) -> Size:
        """The Dim of `terms` without zero terms, or the int that it is."""
        terms = {m: c for m, c in terms.items() if c}
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        return Dim(terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def _with(self, other: Any) -> Any:
        """What arithmetic with anything but a size gives: a float of it is known at run time only."""
        return self.__bool__() if isinstance(other, float) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self._with(float(other) if isinstance(other, int) else other)

    __rtruediv__ = __truediv__

    def __add__(self, other: Size) -> Size:
        if not isinstance(other, (int, Dim)):
            return self._with(other)
        terms = dict(self.terms)
        for monomial, c in _terms(other).items():
            terms[monomial] = terms.get(monomial, 0) + c
        return Dim.make(terms)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + other * -1 if isinstance(other, (int, Dim)) else self._with(other)

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other if isinstance(other, (int, Dim)) else self._with(other)

    def __mul__(self, other: Size) -> Size:
        if isinstance(other, int):
            return self if other == 1 else Dim({m: c * other for m, c in self.terms.items()}) if other else 0
        if not isinstance(other, Dim):
            return self._with(other)
        terms: dict = {}
        for (m1, c1), (m2, c2) in itertools.product(self.terms.items(), other.terms.items()):
            monomial = _times(m1, m2)
            terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return Dim.make(terms)

    __rmul__ = __mul__

    def __pow__(self, power: float | int) -> Any:
        if not isinstance(power, int):
            return self._with(power)
        if power < 0:
            raise ValueError(f"({self}) ** {power} is no size: the power is negative")
        return product([self] * power)

    def __floordiv__(self, other: Size) -> Dim:
        return floordiv(self, other) if isinstance(other, (int, Dim)) else self._with(other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self) if isinstance(other, int) else self._with(other)

    def __mod__(self, other: Size) -> Size:
        return mod(self, other) if isinstance(other, (int, Dim)) else self._with(other)

    def __rmod__(self, other: int) -> Dim:
        return mod(other, self) if isinstance(other, int) else self._with(other)

    def __repr__(self) -> str:
        def show(monomial, c):
            factors = [repr(a) for a, p in monomial for _ in range(p)]
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            return "*".join(factors)
        parts = sorted(self.terms.items(), key=lambda t: (-sum(p for _, p in t[0]), repr(t[0])))
        text = "".join((" - " if c < 0 else " + ") + show(m, c) for m, c in parts)
        return ("-" + text[3:]) if text.startswith(" - ") else text[3:]

    def __bool__(self, *_: Any) -> Any:
        raise UnknownValueError(f"the size {self} is known at run time only")

    __int__ = __index__ = __float__ = __complex__ = __abs__ = __round__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__


Size = Any                                       # int or Dim: rules reckon with either as with a number
Shape = tuple[Size, ...]


def _times(m1: Monomial, m2: Monomial) -> Monomial:
    """The product of two monomials."""
    if not m1 or not m2:
        return m1 or m2
    powers = dict(m1)
    for atom, power in m2:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: _order(item[0])))


def _terms(value: Size) -> dict[Monomial, int]:
    return value.terms if isinstance(value, Dim) else ({(): value} if value else {})


def is_dim(value: int) -> bool:
    """True for an int (not a bool) or a Dim."""
    return isinstance(value, Dim) or (isinstance(value, int) and not isinstance(value, bool))


def bounds(value: Size, splits: int = 4) -> tuple[int | None, int | None]:
    """Inclusive (lo, hi) of an int or Dim; None for a side that is unknown.

    A term c * max(a, b) or c * min(a, b) is one of c * a and c * b, and the rest may be of the same symbols: n - min(1, n)
    is at least 0. splits: of so many of them, one in another, both cases are looked at.
    """
    if isinstance(value, int):
        return value, value
    lo: int | None = 0
    hi: int | None = 0
    for monomial, c in value.terms.items():
        mlo: int | None = 1
        mhi: int | None = 1
        for atom, power in monomial:
            alo, ahi = atom.bounds()
            if alo is None or alo < 0:
                mlo = mhi = None
                break
            mlo = None if mlo is None else mlo * alo ** power
            mhi = None if mhi is None or ahi is None else mhi * ahi ** power
        low, high = (mlo, mhi) if c > 0 else (mhi, mlo)
        lo = None if lo is None or low is None else lo + c * low
        hi = None if hi is None or high is None else hi + c * high
    choice = next(((m, c) for m, c in value.terms.items() if _is_choice(m)), None) if splits and len(value.terms) > 1 else None
    if choice is not None:
        lo, hi = _within((lo, hi), *choice, Dim.make({m: c for m, c in value.terms.items() if m != choice[0]}), splits - 1)
    return lo, hi


def _is_choice(monomial: Monomial) -> bool:
    """True for a single max or min."""
    return len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Operation) \
        and monomial[0][0].op in ("max", "min")


def _within(known: tuple[int | None, int | None], monomial: Monomial,
            c: int, rest: Size, splits: int) -> tuple[int | None, int | None]:
    """The bounds of rest + c * (a max or min), given some that are known."""
    atom: Any = monomial[0][0]
    cases = [bounds(rest + c * part, splits) for part in (atom.a, atom.b)]
    larger = (atom.op == "max") == (c > 0)                   # it is the larger one of the two cases, or the smaller one
    lows, highs = ([x for x in found if x is not None] for found in zip(*cases))
    lo = (max(lows) if larger and lows else min(lows) if len(lows) == 2 else None)
    hi = (min(highs) if not larger and highs else max(highs) if len(highs) == 2 else None)
    return (max([x for x in (lo, known[0]) if x is not None], default=None),
            min([x for x in (hi, known[1]) if x is not None], default=None))


def divide_exactly(value: Size, divisor: Size) -> Size | None:
    """value / divisor if every term divides, else None; the divisor is an int or a single monomial."""
    terms = _terms(divisor)
    if len(terms) != 1:
        return 1 if value == divisor else None
    (dm, dc), out = next(iter(terms.items())), {}
    for monomial, c in _terms(value).items():
        powers = dict(monomial)
        if c % dc:
            return None
        for atom, power in dm:
            if powers.get(atom, 0) < power:
                return None
            powers[atom] -= power
        out[tuple((a, p) for a, p in monomial if powers[a] for p in (powers[a],))] = c // dc
    return Dim.make(out)


def _split(value: Size, divisor: Size) -> tuple[Size, Size]:
    """value = divisor * whole + rest, with `whole` taking every term that divides."""
    whole, rest = 0, 0
    for monomial, c in _terms(value).items():
        term = Dim.make({monomial: c})
        if isinstance(divisor, int) and isinstance(term, int):
            whole, rest = whole + term // divisor, rest + term % divisor
            continue
        part = divide_exactly(term, divisor)
        whole, rest = (whole + part, rest) if part is not None else (whole, rest + term)
    return whole, rest


def floordiv(a: Size, b: Size) -> Size:
    """a // b, for ints and Dims; exact parts are divided out: (4*N + 2) // 4 -> N."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(b, int) and b in (0, 1):
        return a if b else _divided_by_zero(a)
    whole, rest = _split(a, b)
    lo, hi = bounds(rest)
    blo = bounds(b)[0]
    if rest == 0 or (lo is not None and hi is not None and blo is not None and 0 <= lo and hi < blo):
        return whole
    return whole + _operation("floordiv", rest, b)


def _divided_by_zero(a: Size) -> None:
    raise ZeroDivisionError(f"the size {a} is divided by zero")


def mod(a: Size, b: Size) -> Size:
    """a % b, for ints and Dims."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if isinstance(b, int) and b == 0:
        _divided_by_zero(a)
    _, rest = _split(a, b)
    if isinstance(b, int) and b > 0 and isinstance(rest, Dim):
        rest = _with_remainders(rest, b)
        if isinstance(rest, int):
            return rest % b
    lo, hi = bounds(rest)
    blo = bounds(b)[0]
    if rest == 0 or (lo is not None and hi is not None and blo is not None and 0 <= lo and hi < blo):
        return rest
    return _operation("mod", rest, b)


def _with_remainders(value: Dim, b: int) -> Size:
    """A Dim that leaves the same remainder when it is divided by b: Symbols whose divisor b divides are their remainders."""
    env = {s: s.remainder % b for s in symbols_of(value) if s.divisor % b == 0 and s.divisor > 1}
    direct = all(isinstance(atom, Symbol) or not set(env) & atom.symbols() for monomial in value.terms for atom, _ in monomial)
    return substitute(value, env) if env and direct else value


def dim_max(a: Size, b: Size) -> Size:
    """max(a, b); decided where the bounds of a - b decide it."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    lo, hi = bounds(a - b)
    if lo is not None and lo >= 0:
        return a
    if hi is not None and hi <= 0:
        return b
    return _operation("max", a, b)


def dim_min(a: Size, b: Size) -> Size:
    """min(a, b); decided where the bounds of a - b decide it."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    lo, hi = bounds(a - b)
    if lo is not None and lo >= 0:
        return b
    if hi is not None and hi <= 0:
        return a
    return _operation("min", a, b)


def _operation(op: str, a: Size, b: Size) -> Dim:
    """The Dim that is the one atom op(a, b)."""
    return Dim({((Operation(op, a, b), 1),): 1})


_OPERATIONS = {"floordiv": floordiv, "mod": mod, "max": dim_max, "min": dim_min}


def atoms_in(value: Size) -> int:
    """How many atoms stand in the text of an int or Dim."""
    return 0 if isinstance(value, int) else sum([getattr(atom, "atoms", 1) for monomial in value.terms for atom, _ in monomial])


def symbols_of(value: Size) -> set[Symbol]:
    """The set of Symbols in an int or Dim."""
    if isinstance(value, int):
        return set()
    return set().union(*(atom.symbols() for monomial in value.terms for atom, _ in monomial))


def lone_symbol(size: Size | None) -> Symbol | None:
    """The Symbol that a Dim is, or None for other Dims, ints and None."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        (monomial, coefficient), = size.terms.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Symbol):
            return monomial[0][0]
    return None


def fold_atoms(value: Size, of_atom: Function) -> Size:
    """An int or Dim with of_atom(atom) in place of each of its atoms."""
    total = 0
    for monomial, c in _terms(value).items():
        product = c
        for atom, power in monomial:
            for _ in range(power):
                product = product * of_atom(atom)
        total = total + product
    return total


def evaluate(value: Size, env: dict[Symbol, int], done: dict[Operation, int] | None = None) -> int:
    """The int that `value` is under env: {Symbol: int}."""
    if isinstance(value, int):
        return value
    symbol = lone_symbol(value)
    if symbol is not None:
        return symbol.evaluate(env, {})
    done = {} if done is None else done
    return fold_atoms(value, lambda atom: atom.evaluate(env, done))


def substitute(value: Size, env: dict[Symbol, Size], done: Any = None) -> Size:
    """`value` with symbols replaced by env: {Symbol: int or Dim}; symbols that are not in env stay."""
    if isinstance(value, int):
        return value
    symbol = lone_symbol(value)
    if symbol is not None:
        return env.get(symbol, value)
    done = {} if done is None else done
    stay: dict = {}
    change: dict = {}
    for monomial, c in value.terms.items():
        same = all(env.keys().isdisjoint(atom.symbols()) for atom, _ in monomial)
        (stay if same else change)[monomial] = c
    if not change:
        return value
    changed = fold_atoms(Dim(change), lambda atom: atom.substitute(env, done))
    return Dim(stay) + changed if any(stay) else changed + stay.get((), 0)


def coefficient(value: Size, symbol: Symbol) -> Size | None:
    """The factor of `symbol` in an int or Dim that is linear in it, 0 where it does not occur, None for any other."""
    factor = {}
    for monomial, c in _terms(value).items():
        for k, (atom, power) in enumerate(monomial):
            if atom is symbol and power == 1:
                factor[monomial[:k] + monomial[k + 1:]] = c
            elif atom is symbol or (isinstance(atom, Operation) and symbol in atom.symbols()):
                return None
    return Dim.make(factor)


def compare(op: str, a: Size, b: Size) -> bool | None:
    """True or False where `a op b` (one of < <= > >= == !=) is decided for every value of the symbols, else None."""
    lo, hi = bounds(a - b)
    decided = {
        "<": (hi is not None and hi < 0, lo is not None and lo >= 0),
        "<=": (hi is not None and hi <= 0, lo is not None and lo > 0),
        ">": (lo is not None and lo > 0, hi is not None and hi <= 0),
        ">=": (lo is not None and lo >= 0, hi is not None and hi < 0),
        "==": (a == b, (lo is not None and lo > 0) or (hi is not None and hi < 0)),
        "!=": ((lo is not None and lo > 0) or (hi is not None and hi < 0), a == b),
    }[op]
    return True if decided[0] else False if decided[1] else None


def product(sizes: Any) -> Size:
    """The product of ints and Dims; 1 for none."""
    total = 1
    for size in sizes:
        total = total * size
    return _multiplied_out(total) if isinstance(total, Dim) else total


def order_of(value: Size) -> tuple:
    """A key that orders ints and Dims alike in all processes that have made their Symbols in one order: names play no part."""
    def key(atom: Operation | Symbol) -> tuple:
        return (0, atom.number) if isinstance(atom, Symbol) else (1, atom.op, order_of(atom.a), order_of(atom.b))
    return tuple(sorted([(c, tuple(sorted([(key(atom), power) for atom, power in monomial])))
                         for monomial, c in _terms(value).items()]))


def total(sizes: Any) -> Size:
    """The sum of ints and Dims, in which the parts of a size are the size: (n + 2) // 3 + (n + 1) // 3 + n // 3  ->  n

    source : Hermite's identity (Graham, Knuth and Patashnik 1994, section 3.4)
    """
    value = sum(sizes)
    if not isinstance(value, Dim):
        return value
    parts: dict[tuple[Size, int, Monomial], dict[int, tuple[Monomial, int]]] = {}
    for monomial, c in value.terms.items():
        for atom, power in monomial:
            if power == 1 and isinstance(atom, Operation) and atom.op == "floordiv" and isinstance(atom.b, int):
                constant = _terms(atom.a).get((), 0)
                others = tuple([factor for factor in monomial if factor[0] is not atom])
                parts.setdefault((atom.a - constant, atom.b, others), {})[constant] = monomial, c
    for (size, count, others), found in parts.items():
        times = {c for _, c in found.values()}
        exact = len(found) == 1 and 0 in found and mod(size, count) == 0 and min(times) % count == 0
        if not isinstance(value, Dim) or len(times) > 1 or len(found) < count and not exact or any(
                value.terms.get(monomial) != c for monomial, c in found.values()):
            continue
        (_, c), *_ = found.values()
        value = value - Dim({monomial: c for monomial, _ in found.values()}) + \
            size * Dim.make({others: c // count if exact else c})
    return value


def _multiplied_out(value: Dim) -> Size:
    """16 * (n // 16) -> n, of an n that 16 divides."""
    for monomial, c in value.terms.items():
        atom = monomial[0][0] if len(monomial) == 1 and monomial[0][1] == 1 else None
        if isinstance(atom, Operation) and atom.op == "floordiv" and isinstance(atom.b, int) and c % atom.b == 0 \
                and any(s.divisor > 1 for s in atom.symbols()) and mod(atom.a, atom.b) == 0:
            value = value + atom.a * (c // atom.b) - Dim({monomial: c})
    return value
