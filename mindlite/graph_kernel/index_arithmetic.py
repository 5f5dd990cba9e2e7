"""Indices as sums of products: what divides is divided out, digits that belong together are put together again.

    (r*1024 + i) // 1024   ->  r            where i < 1024                      reshapes there
    (t // 128)*128 + t % 128   ->  t                                            and back
    i // 32, i % 32   ->  a, b   with i = a*32 + b, two loops in place of one   a loop that a reshape cuts
    i // h, i % h     ->  a, b   with i = a*h + b   where i < 4*w*h             sizes may be open

A transpose between two reshapes, as heads of attention are made, is a loop nest whose offsets are polynomials in the
end, so its inner loop reads neighbours; with a division for each element it would be ten times as slow (compare
Halide's and TVM's simplifiers, which know bounds as well).
"""
from ..common import dtype as dt
from ..common.dim import compare, divide_exactly, product
from ..mindir.scalar import (COMPARISONS, BinOp, Const, IndexVar, Load, Reduce, Select, Size, as_expr, binary, constant,
                             index_var, rebuild, walk)
from .rewriter import Rewriter

MOST_CUTS = 16                   # of all loops of a kernel
REMEMBERED = 1 << 16             # indices
LARGEST = 2**62                  # numbers below do not wrap in an int64


class Indices:
    """Simplifies indices; remembers those it has seen, in this kernel and those before it, whose loop variables are the same."""
    seen: tuple[dict, dict] = {}, {}

    def __init__(self):
        if len(self.seen[0]) > REMEMBERED:
            Indices.seen = {}, {}                                   # who works with the former ones keeps them
        self.memo, self.limits = self.seen

    def __call__(self, index):
        """An equal index, simplified. Of numbers that are no loop variables or sizes nothing is known."""
        found = self.memo.get(index)
        if found is not None:
            return found
        if not isinstance(index, BinOp) and not index.inside:
            return index
        for part in walk([index], self.memo):
            self.memo[part] = self.simplify(part)
        return self.memo[index]

    def simplify(self, expr):
        """`expr`, whose parts the memo knows."""
        if not isinstance(expr, BinOp):
            return expr
        op, a, b = expr.fields
        a, b = self.memo[a], self.memo[b]
        if expr.dtype is not dt.int64 or op not in ("add", "sub", "mul", "floordiv", "mod"):
            return rebuild(expr, op, a, b)
        if op in ("floordiv", "mod") and self.is_positive(b):
            return self.divided(a, b)[op == "mod"]
        made = binary(op, a, b)
        return self.total(self.together(_terms(made))) if op == "add" else made

    def divided(self, a, size):
        """(a // size, a % size)"""
        terms = _terms(a)
        for divide in (_divide, _divide_product):
            parts = [divide(term, size) for term in terms]
            whole = [part for part in parts if part is not None]
            left = self.total([term for term, part in zip(terms, parts) if part is None])
            if self.is_inside(left, _number(size)):
                return self.total(whole), left
            if divide is _divide:
                made = self.total([*whole, (binary("floordiv", left, size), ())]), binary("mod", left, size)
        return made

    def together(self, terms):
        """Terms in which x // c * c + x % c is x."""
        for position, (atom, factors) in enumerate(terms):
            if not (isinstance(atom, BinOp) and atom.fields[0] == "mod"):
                continue
            _, x, size = atom.fields
            wanted = binary("floordiv", x, size)
            for other, (quotient, scale) in enumerate(terms):
                if quotient is wanted and _same(scale, (*factors, size)):
                    left = [t for k, t in enumerate(terms) if k not in (position, other)]
                    low = min(position, other)
                    back = [(inner, own + factors) for inner, own in _terms(x)]
                    return self.together(left[:low] + back + left[low:])
        return terms

    @staticmethod
    def total(terms):
        """The sum of terms as an expression."""
        out = as_expr(0)
        for atom, factors in terms:
            for factor in factors:
                atom = binary("mul", atom, factor)
            out = binary("add", out, atom)
        return out

    def is_positive(self, size):
        """True for a number or a size above 0."""
        return isinstance(size, Const) and size.fields[0] > 0 or isinstance(size, Size)

    def bounds(self, expr):
        """(lowest, highest) of an index, ints or Dims; None for what is not known."""
        if expr not in self.limits:
            low, high = self._bounds(expr)
            wraps = any(isinstance(end, int) and abs(end) > LARGEST for end in (low, high))
            self.limits[expr] = (None, None) if wraps else (low, high)
        return self.limits[expr]

    def _bounds(self, expr):
        if isinstance(expr, IndexVar):
            return 0, expr.fields[1] - 1
        if isinstance(expr, (Const, Size)):
            return expr.fields[0], expr.fields[0]
        if not isinstance(expr, BinOp) or expr.dtype is not dt.int64:
            return None, None
        op, (low, high), (least, most) = expr.fields[0], self.bounds(expr.fields[1]), self.bounds(expr.fields[2])
        if None in (low, high, least, most):
            return (0, most - 1) if op == "mod" and self.is_positive(expr.fields[2]) else (None, None)
        if op == "add":
            return low + least, high + most
        if op == "sub":
            return low - most, high - least
        if op == "mul" and compare(">=", low, 0) and compare(">=", least, 0):
            return low * least, high * most
        if op == "floordiv" and isinstance(least, int) and least > 0 and compare(">=", low, 0):
            return low // least, high // least
        if op == "mod" and self.is_positive(expr.fields[2]):
            return 0, high if compare(">=", low, 0) and compare("<", high, most) else most - 1
        return None, None

    def is_inside(self, index, size):
        """True if `index` is known to lie in an axis of `size`."""
        low, high = self.bounds(index)
        return low is not None and high is not None and bool(compare(">=", low, 0) and compare("<", high, size))

    def answer(self, op, a, b):
        """True or False where a comparison of two indices has the same result for all their values, else None."""
        (low, high), (least, most) = self.bounds(a), self.bounds(b)
        if None in (low, high, least, most):
            return None
        if op in ("gt", "ge"):
            op, low, high, least, most = {"gt": "lt", "ge": "le"}[op], least, most, low, high
        if op in ("eq", "ne"):
            apart = compare("<", high, least) or compare("<", most, low)
            return None if not apart else op == "ne"
        sign, flipped = ("<", ">=") if op == "lt" else ("<=", ">")
        return True if compare(sign, high, least) else False if compare(flipped, low, most) else None


class Settled(Rewriter):
    """Values with simplified indices, with comparisons of indices decided where they are always true or always false,
    and with other expressions for some loop variables.

    cut   : {IndexVar: the IndexVars in its subscript, outer first}
    notes : {expression: CNode} of the values before, which move along
    """

    def __init__(self, indices, notes, cut=()):
        super().__init__(notes, notes)
        self.indices, self.cut = indices, dict(cut)
        for variable, (outer, inner) in self.cut.items():
            self.memo[variable] = outer * inner.fields[1] + inner

    def make(self, expr):
        """What becomes of `expr`, of whose parts the memo knows."""
        made = super().make(expr)
        if isinstance(made, Load):
            operand, indices = made.fields
            return rebuild(made, operand, tuple([self.indices(x) for x in indices]))
        if isinstance(made, Reduce):
            kind, _, body = made.fields
            left = [w for v in expr.fields[1] for w in self.cut.get(v, (v,))]
            return rebuild(made, kind, tuple(left), body)
        if isinstance(made, BinOp) and made.fields[1].dtype is dt.int64:
            op, a, b = made.fields
            if op in COMPARISONS:
                answer = self.indices.answer(op, a, b)
                return made if answer is None else constant(answer, dt.bool_)
            return made if None in self.indices.bounds(made) else self.indices(made)
        return folded(made)


def folded(expr):
    """`expr` where a condition in it is a constant: the chosen side of a Select, what decides an `and` or `or`."""
    if isinstance(expr, Select) and isinstance(expr.fields[0], Const):
        return expr.fields[1 if expr.fields[0].fields[0] else 2]
    if isinstance(expr, BinOp) and expr.dtype is dt.bool_ and expr.fields[0] in ("and", "or"):
        op, *sides = expr.fields
        for side, other in (sides, sides[::-1]):
            if isinstance(side, Const):
                return other if side.fields[0] == (op == "and") else side
    return expr


def settled(values, subscripts, loops, notes, indices, fewest):
    """(values, subscripts, loops) of a kernel, simplified, and with loops cut in two where their variable is divided.

    subscripts  : for each value its index, a tuple;   indices : the Indices of the kernel
    loops   : for each value the IndexVars around it, outer first. The outermost loop, which threads share, stays whole
              if it would be left with less than `fewest` items: what is divided there is divided once for a row
    """
    if not any(isinstance(e, BinOp) and e.fields[1].dtype is dt.int64 for e in walk(values)):
        return values, subscripts, loops
    settle = Settled(indices, notes)
    values = [settle(value) for value in values]
    for _ in range(MOST_CUTS):
        cut = _cut(values, loops, fewest, indices)
        if cut is None:
            break
        settle = Settled(indices, notes, [cut])
        values = [settle(value) for value in values]
        subscripts = [tuple([settle(x) for x in subscript]) for subscript in subscripts]
        loops = [tuple(w for v in around for w in settle.cut.get(v, (v,))) for around in loops]
    return values, subscripts, loops


def _cut(values, loops, fewest, indices):
    """(an IndexVar that is divided by a number which divides its extent, (outer, inner) IndexVars), or None."""
    first = {around[0] for around in loops if around}
    alone = {around[0] for around in loops if len(around) == 1}
    best, most = None, None
    for expr in walk(values):
        if not isinstance(expr, BinOp) or expr.fields[0] not in ("floordiv", "mod"):
            continue
        size = expr.fields[2]
        if not isinstance(size, (Const, Size)):
            continue
        rest = [term for term in _terms(expr.fields[1]) if _divide_product(term, size) is None]
        variable, size = _divided_variable(rest, _number(size), indices)
        if variable is None or not _may_be_cut(variable, size, variable in first, alone, fewest):
            continue
        if best is None or isinstance(size, int) and isinstance(most, int) and most < size:
            best, most = variable, size
    if best is None:
        return None
    name, extent, _ = best.fields
    return best, (index_var(name, divide_exactly(extent, most)), index_var(name, most))


def _may_be_cut(variable, size, is_first, alone, fewest):
    """True if a number or an open size divides the extent of a loop; an outermost one keeps enough items, or is all there is."""
    extent = variable.fields[1]
    if isinstance(extent, int) and isinstance(size, int):
        return 1 < size < extent and extent % size == 0 and (not is_first or extent // size >= fewest)
    return size != 1 and divide_exactly(extent, size) not in (None, 1) and (not is_first or variable in alone)


def _divided_variable(terms, size, indices):
    """(the IndexVar that a division of a sum by `size` divides, by which number), (None, 0) if there is none.

    i // 32: (i, 32);   (c*256 + j) // 1024 with j below 256: (c, 4);   (c*h + j) // (4*h) with j below h: (c, 4)
    """
    for position, (atom, factors) in enumerate(terms):
        if isinstance(atom, IndexVar) and all(isinstance(factor, (Const, Size)) for factor in factors):
            scale = product([_number(factor) for factor in factors])
            others = terms[:position] + terms[position + 1:]
            if isinstance(scale, int) and scale <= 0:
                continue
            part = divide_exactly(size, scale)
            if part is not None and (not others or indices.is_inside(indices.total(others), scale)):
                return atom, part
    return None, 0


def _number(size):
    return size.fields[0]


def _terms(expr):
    """`expr` as a sum: [(expression, factors)], the factors numbers or sizes."""
    if isinstance(expr, BinOp) and expr.dtype is dt.int64:
        op, a, b = expr.fields
        if op == "add":
            return _terms(a) + _terms(b)
        if op == "sub" and isinstance(b, Const):
            return [*_terms(a), (as_expr(-b.fields[0]), ())]
        if op == "mul":
            a, b = (b, a) if isinstance(a, (Const, Size)) else (a, b)
            if isinstance(b, (Const, Size)):
                return [(atom, (*factors, b)) for atom, factors in _terms(a)]
    return [(expr, ())]


def _divide(term, size):
    """The term without one of its factors, or neighbours of them, that are `size`; None if there are none."""
    atom, factors = term
    for position in reversed(range(len(factors))):
        if _number(factors[position]) == _number(size):
            return atom, factors[:position] + factors[position + 1:]
    if not isinstance(size, Const):
        return None
    numbers = [f for f in factors if isinstance(f, Const)]
    sizes = tuple(f for f in factors if not isinstance(f, Const))
    for first in range(len(numbers)):
        for last in range(first + 1, len(numbers) + 1):
            if product([_number(x) for x in numbers[first:last]]) == _number(size):
                return atom, sizes + tuple(numbers[:first] + numbers[last:])
    return None


def _divide_product(term, size):
    """The same with the product of all numbers in the term, then of its sizes too; what is left may be no operand's size."""
    made = _divide(term, size)
    if made is not None or _number(size) == 0:                   # 0: of an empty axis, where nothing is computed
        return made
    atom, factors = term
    for kinds in ((Const,), (Const, Size)):
        left = tuple(f for f in factors if not isinstance(f, kinds))
        part = divide_exactly(product(_number(f) for f in (*factors, atom) if isinstance(f, kinds)), _number(size))
        if part is not None:
            return (as_expr(part), left) if isinstance(atom, kinds) else (atom, (*left, as_expr(part)))
    return None


def _same(factors, others):
    """Do the factors have one product?"""
    return product([_number(x) for x in factors]) == product([_number(x) for x in others])
