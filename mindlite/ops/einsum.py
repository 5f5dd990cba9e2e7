"""Einstein summation onto transpose, reshape and batch_matmul.

    einsum("bik,bkj->bij", a, b)      letters in both and in the output: batch; in both only: contracted
"""
from __future__ import annotations

import itertools
import math
from typing import Any

from ..common.dim import compare, product
from ..common.errors import ArgumentError, ShapeError
from ..common.tensor import Tensor
from ..mindir.constraints import require
from ..mindir.primitive import planned
from .basic import broadcast_to, reduce_sum, reshape, transpose
from .define import as_operand, promote_operands
from .linalg import batch_matmul
from .slicing import slice_


@planned
def einsum(equation: str, *operands: Any) -> Tensor:
    """The sum of products that `equation` names, by letters for axes.

    equation : str, as "ij,jk->ik". A letter twice in one operand takes its diagonal; "..." stands for axes that broadcast;
             without "->" the output has the letters that occur once, sorted
    operands : Tensors or numbers, promoted to one dtype, or one tuple or list of them
    out    : Tensor; of three or more operands the two are contracted next that take the fewest multiplications, from left to
             right where a size is open
    raises : ArgumentError for an equation that is no str or does not fit the operands, ShapeError for sizes that differ

    einsum("bij,bjk->bik", a, b) is the product of stacks of matrices.
    """
    if not isinstance(equation, str):
        raise ArgumentError(f"einsum: the equation is a str, not {type(equation).__name__}", hint='einsum("ij,jk->ik", a, b)')
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    args = promote_operands(tuple(as_operand(x) for x in operands), {})[0] if operands else ()
    terms, output = read_equation(equation, [x.ndim for x in args])
    parts = []
    sizes: dict = {}
    for x, term in zip(args, terms):
        x, term = _take_diagonals(x, term)
        for letter, n in zip(term, x.shape):
            if sizes.get(letter, 1) == 1:
                sizes[letter] = n
            elif compare("==", n, 1) is not True:
                require("==", n, sizes[letter], lambda n=n, letter=letter: ShapeError(
                    f"einsum: the letter {letter!r} stands for {sizes[letter]} and {n} in {equation!r}"))
        parts.append((x, term))
    for letter in output:
        if letter not in sizes:
            raise ArgumentError(f"einsum: the output's letter {letter!r} is in no operand", note=equation)
    while len(parts) > 1:
        first, second = next_pair([term for _, term in parts], sizes)
        (a, ta), (b, tb) = parts[first], parts[second]
        rest = [part for i, part in enumerate(parts) if i not in (first, second)]
        needed = set(output).union(*(term for _, term in rest))
        parts = [_pair(a, ta, b, tb, needed, sizes)] + rest
    x, term = parts[0]
    gone = tuple(k for k, letter in enumerate(term) if letter not in output)
    if gone:
        x, term = reduce_sum(x, axis=gone), [letter for letter in term if letter in output]
    return _arrange(x, list(term), output, sizes)


def next_pair(terms, sizes):
    """The numbers of the two operands that are contracted next: those with the fewest multiplications, the first of equals."""
    if len(terms) == 2 or not all(isinstance(n, int) for n in sizes.values()):
        return 0, 1

    def multiplications(pair):
        return math.prod([sizes[letter] for letter in {*terms[pair[0]], *terms[pair[1]]}])
    return min(itertools.combinations(range(len(terms)), 2), key=multiplications)


def read_equation(equation, ranks):
    """The letters of each operand and of the output; an ellipsis becomes the letters "0", "1", .. from the right."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ArgumentError(f"einsum: {len(terms)} operands in {equation!r}, {len(ranks)} given")
    widest, made = 0, []
    for term, ndim in zip(terms, ranks):
        letters = term.replace("...", "")
        if not all(c.isalpha() for c in letters) or term.count("...") > 1:
            raise ArgumentError(f"einsum: {term!r} is no list of letters", note=equation)
        extra = ndim - len(letters)
        if extra < 0 or (extra and "..." not in term):
            raise ArgumentError(f"einsum: {term!r} for an operand of {ndim} axes", note=equation)
        widest = max(widest, extra)
        made.append(_replace_dots(term, extra))
    if arrow:
        output = _replace_dots(right, widest)
    else:
        letters = [c for term in made for c in term if c.isalpha()]
        output = _replace_dots("...", widest) + sorted(c for c in set(letters) if letters.count(c) == 1)
    if len(set(output)) != len(output):
        raise ArgumentError("einsum: a letter stands twice in the output", note=equation)
    return made, output


def _replace_dots(term, count):
    before, dots, after = term.partition("...")
    return list(before) + ([str(k) for k in range(count)][::-1] if dots else []) + list(after)


def _take_diagonals(x, term):
    """x with the axes of a repeated letter replaced by their diagonal: every (n + 1)-th of n * n elements."""
    while len(set(term)) != len(term):
        letter = next(c for c in term if term.count(c) > 1)
        a = term.index(letter)
        b = term.index(letter, a + 1)
        n = x.shape[a]
        require("==", n, x.shape[b],
                lambda: ShapeError(f"einsum: the axes of {letter!r} have sizes {n} and {x.shape[b]}"))
        rest = [k for k in range(x.ndim) if k not in (a, b)]
        others = tuple(x.shape[k] for k in rest)
        if not isinstance(n, int):
            raise ArgumentError(f"einsum: a diagonal of an axis of size {n}, known at run time only")
        flat = reshape(transpose(x, perm=(a, b) + tuple(rest)), shape=(n * n,) + others)
        x = slice_(flat, start=(0,) * flat.ndim, sizes=(n,) + others, step=(n + 1,) + (1,) * len(others))
        term = [letter] + [term[k] for k in rest]
    return x, term


def _pair(a, ta, b, tb, needed, sizes):
    """The product of two operands, summed over the letters that nobody needs any more."""
    for letter in [c for c in ta if c not in tb and c not in needed]:
        a, ta = reduce_sum(a, axis=ta.index(letter)), [c for c in ta if c != letter]
    for letter in [c for c in tb if c not in ta and c not in needed]:
        b, tb = reduce_sum(b, axis=tb.index(letter)), [c for c in tb if c != letter]
    both = [c for c in ta if c in tb]
    batch, inner = [c for c in both if c in needed], [c for c in both if c not in needed]
    rows, columns = [c for c in ta if c not in tb], [c for c in tb if c not in ta]
    left = _arrange(a, ta, batch + rows + inner, sizes)
    right = _arrange(b, tb, batch + inner + columns, sizes)
    lead, m, k, n = (tuple(sizes[c] for c in letters) for letters in (batch, rows, inner, columns))
    left = reshape(left, shape=(product(lead), product(m), product(k)))
    right = reshape(right, shape=(product(lead), product(k), product(n)))
    return reshape(batch_matmul(left, right), shape=lead + m + n), batch + rows + columns


def _arrange(x, term, order, sizes):
    """x, whose axes are `term`, with its axes in `order`, of the letters' sizes."""
    missing = [c for c in order if c not in term]
    if missing:
        x, term = reshape(x, shape=(1,) * len(missing) + tuple(x.shape)), missing + term
    perm = tuple(term.index(c) for c in order)
    if perm != tuple(range(len(perm))):
        x = transpose(x, perm=perm)
    shape = tuple(sizes[c] for c in order)
    return x if tuple(x.shape) == shape else broadcast_to(x, shape=shape)
