"""Sizes that may be symbols: whatever normal form a Dim takes, it is worth what Python's ints are worth."""
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mindlite.common.dim import (Dim, Symbol, bounds, coefficient, compare, dim_max, dim_min, evaluate, floordiv,
                                 is_dim, lone_symbol, mod, order_of, product, substitute, symbols_of, total)
from mindlite.common.ranks import even_sizes

N, M, K = Symbol("N", 0), Symbol("M", 1), Symbol("K", 2, 9)
SYMBOLS = (N, M, K)
OPERATIONS = {
    "+": (lambda a, b: a + b, lambda a, b: a + b),
    "-": (lambda a, b: a - b, lambda a, b: a - b),
    "*": (lambda a, b: a * b, lambda a, b: a * b),
    "//": (floordiv, lambda a, b: a // b),
    "%": (mod, lambda a, b: a % b),
    "max": (dim_max, max),
    "min": (dim_min, min),
}
environments = st.fixed_dictionaries({N: st.integers(0, 40), M: st.integers(1, 40), K: st.integers(2, 9)})


@st.composite
def expressions(draw, depth=3):
    """(a Dim or int, the function of an environment that Python would compute)"""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        if draw(st.booleans()):
            symbol = draw(st.sampled_from(SYMBOLS))
            return symbol.dim, lambda env: env[symbol]
        number = draw(st.integers(-9, 9))
        return number, lambda env: number
    ours, pythons = OPERATIONS[draw(st.sampled_from(sorted(OPERATIONS)))]
    (a, value_a), (b, value_b) = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    try:
        made = ours(a, b)
    except ZeroDivisionError:
        assume(False)
    return made, lambda env: pythons(value_a(env), value_b(env))


@given(expressions(), environments)
@settings(max_examples=500, deadline=None)
def test_an_expression_is_worth_what_python_computes(expression, env):
    dim, meaning = expression
    try:
        expected = meaning(env)
    except ZeroDivisionError:
        return                                   # where Python has no value, a normal form may have one: N // N is 1
    assert evaluate(dim, env) == expected


@given(expressions(), environments)
@settings(max_examples=300, deadline=None)
def test_bounds_hold_for_every_value_of_the_symbols(expression, env):
    try:
        value = evaluate(expression[0], env)
    except ZeroDivisionError:
        return
    lo, hi = bounds(expression[0])
    assert lo is None or lo <= value
    assert hi is None or value <= hi


@given(expressions(), expressions(), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), environments)
@settings(max_examples=500, deadline=None)
def test_compare_never_lies(left, right, op, env):
    decided = compare(op, left[0], right[0])
    try:
        a, b = evaluate(left[0], env), evaluate(right[0], env)
    except ZeroDivisionError:
        return
    truth = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]
    assert decided is None or decided is truth


@given(expressions(), environments)
@settings(max_examples=300, deadline=None)
def test_a_printed_dim_is_a_python_expression_for_its_value(expression, env):
    dim = expression[0]
    try:
        expected = evaluate(dim, env)
    except ZeroDivisionError:
        return
    assert eval(repr(dim), {"max": max, "min": min}, {s.name: v for s, v in env.items()}) == expected


@given(expressions(), environments, st.sampled_from(SYMBOLS))
@settings(max_examples=300, deadline=None)
def test_substituting_a_number_changes_no_value(expression, env, symbol):
    dim = expression[0]
    try:
        expected = evaluate(dim, env)
        replaced = substitute(dim, {symbol: env[symbol]})
    except ZeroDivisionError:
        return
    assert symbol not in symbols_of(replaced)
    assert evaluate(replaced, env) == expected


@given(expressions(), environments, st.sampled_from(SYMBOLS))
@settings(max_examples=300, deadline=None)
def test_the_coefficient_of_a_symbol_is_what_the_size_grows_by_with_it(expression, env, symbol):
    dim = expression[0]
    factor = coefficient(dim, symbol)
    if factor is None:
        assert symbol in symbols_of(dim)
        return
    assert symbol not in symbols_of(factor)
    try:
        at_zero, value = evaluate(dim, {**env, symbol: 0}), evaluate(dim, env)
    except ZeroDivisionError:
        return
    assert value == at_zero + evaluate(factor, env) * env[symbol]


@given(st.lists(st.tuples(st.integers(-5, 5), st.lists(st.sampled_from(SYMBOLS), max_size=3)), max_size=4),
       st.randoms())
@settings(max_examples=200, deadline=None)
def test_equal_polynomials_are_equal_dims_however_they_are_written(terms, random):
    def total(of):
        value = 0
        for times, factors in of:
            factors = list(factors)
            random.shuffle(factors)
            value = value + times * product(f.dim for f in factors)
        return value
    shuffled = list(terms)
    random.shuffle(shuffled)
    a, b = total(terms), total(shuffled)
    assert a == b and hash(a) == hash(b) and repr(a) == repr(b)
    assert a - b == 0 and compare("==", a, b) is True


def test_a_polynomial_that_is_a_number_is_an_int():
    n = N.dim
    assert type(n - n) is int and type(0 * n) is int and type((n + 3) - n) is int


@pytest.mark.parametrize("made, expected", [
    ((N.dim + 1) * (N.dim - 1), "N*N - 1"),
    (4 * N.dim // 4, "N"),
    ((4 * N.dim + 2) // 4, "N"),
    ((4 * N.dim + 2) % 4, "2"),
    (dim_max(N.dim, 0), "N"),
    (dim_min(N.dim, -1), "-1"),
    (dim_max(K.dim, 9), "9"),
    (N.dim * 6 % 3, "0"),
    ((N.dim + 1) // 2, "((N + 1) // 2)"),
    (7 % M.dim, "(7 % M)"),
    (-N.dim, "-N"),
    (N.dim ** 2, "N*N"),
])
def test_normal_forms(made, expected):
    assert str(made) == expected


def test_numbers_on_the_left_work_too():
    n = N.dim
    assert evaluate(7 - n, {N: 3}) == 4 and evaluate(7 // (n + 1), {N: 1}) == 3 and evaluate(7 % (n + 2), {N: 1}) == 1


def test_a_power_is_a_whole_number_that_is_not_negative():
    assert N.dim ** 0 == 1
    with pytest.raises(ValueError):
        N.dim ** -1
    with pytest.raises(TypeError):
        N.dim ** 0.5


def test_the_truth_of_a_dim_is_not_known():
    for question in (bool, int, lambda d: [0][d]):
        with pytest.raises(TypeError, match="run time"):
            question(N.dim)


def test_a_dim_takes_no_fractions():
    with pytest.raises(TypeError):
        N.dim + 0.5
    with pytest.raises(TypeError):
        0.5 * N.dim


def test_division_by_zero_is_pythons_error():
    for operation in (floordiv, mod):
        with pytest.raises(ZeroDivisionError):
            operation(N.dim, 0)


def test_two_symbols_of_one_name_are_two_sizes():
    a, b = Symbol("N"), Symbol("N")
    assert a.dim != b.dim and compare("==", a.dim, b.dim) is None
    assert evaluate(a.dim * 10 + b.dim, {a: 1, b: 2}) == 12


def test_is_dim_and_lone_symbol():
    assert is_dim(3) and is_dim(N.dim) and not is_dim(True) and not is_dim(2.0)
    assert lone_symbol(N.dim) is N
    assert [lone_symbol(x) for x in (2 * N.dim, N.dim + 1, N.dim * N.dim, 3, None, dim_max(N.dim, 4))] == [None] * 6


def test_what_a_slice_leaves_is_never_of_a_size_below_zero():
    n = Symbol("n", lo=0).dim
    assert bounds(n - dim_min(1, n)) == (0, None)
    assert bounds(dim_max(n - 2, 0) - n) == (-2, 0)
    assert bounds(dim_min(n, 3) - dim_min(n, 1)) == (0, 3)
    assert bounds(n - 1) == (-1, None)


def test_a_size_that_stands_in_another_twice_at_every_depth_is_computed_once():
    n, m = Symbol("n", lo=0), Symbol("m", lo=0)
    size = n.dim
    for k in range(2, 40):                                   # as a tree it has more nodes than memory has room for
        size = size // 2 + dim_min(size, k)
    known = 37
    for k in range(2, 40):
        known = known // 2 + min(known, k)
    assert symbols_of(size) == {n} and bounds(size) == (0, None)
    assert evaluate(size, {n: 37}) == evaluate(substitute(size, {n: m.dim}), {m: 37}) == known


def test_sizes_made_in_the_same_way_are_equal_without_a_look_at_what_they_are_made_of():
    n = Symbol("n", lo=0)

    def grown(size):
        for _ in range(200):
            size = 2 * size - dim_min(1, size)               # concat([x[1:], x]); each size stands twice in the next one
        return size
    assert grown(n.dim) == grown(n.dim) and grown(n.dim) != grown(Symbol("n", lo=0).dim)
    (once,), (again,) = [max(size.terms, key=len) for size in (n.dim // 3, n.dim // 3)]
    assert once[0] is again[0]


def test_what_does_not_hold_the_symbols_stays_the_same_object():
    n, m = Symbol("n"), Symbol("m")
    size = n.dim // 2 + n.dim % 3
    assert substitute(size, {m: 4}) is size
    assert substitute(size * m.dim, {m: 4}) == 4 * size


def test_symbols_have_bounds_and_names_of_their_own():
    assert Symbol(min=2, max=5).bounds() == (2, 5)
    assert Symbol().name != Symbol().name
    assert isinstance(Symbol("B").dim, Dim) and repr(Symbol("B")) == "B"


def test_the_parts_of_a_size_add_up_to_it():
    """Parts of N, of a polynomial, of a part; what is no whole set of parts stays as it is."""
    n, m = Symbol("N", lo=0).dim, Symbol("M", lo=0).dim
    for size in (n, 3 * n + 5, n * m, 4 * n, 2 * n - 3, even_sizes(n, 2)[0], Symbol("E", divisor=6).dim, 7):
        for count in (1, 2, 3, 4, 6):
            parts = even_sizes(size, count)
            assert total(parts) == size
            assert total([m * part for part in parts]) == m * size
            assert count == 1 or not isinstance(size, Dim) or total(parts[1:]) != size
    assert total([(n + 1) // 2, (n + 1) // 2]) == 2 * ((n + 1) // 2)
    for size in range(9):
        assert even_sizes(size, 3) == tuple([evaluate(part, {next(iter(symbols_of(n))): size}) for part in even_sizes(n, 3)])


def test_the_order_of_sizes_is_that_of_their_symbols_and_not_of_names():
    """Ranks have Symbols of other numbers and names, and are to order what they read alike."""
    def ordered(names):
        a, b = [Symbol(name).dim for name in names]
        sizes = {"b": b, "3": 3, "a b": a * b, "a": a, "(a + 1) // 2": (a + 1) // 2, "2 a": 2 * a, "1": 1}
        return sorted(sizes, key=lambda name: order_of(sizes[name]))
    assert ordered(("s9", "s10")) == ordered(("s10", "s9")) == ordered(("x", "b"))
    assert ordered(("s9", "s10")).index("a") < ordered(("s9", "s10")).index("b")
