"""Python's ints have no end: what 64 bits do not hold is computed by Python, as if the graph had never begun."""
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import InexactError
from mindlite.compile.jit import FallbackWarning, JitFunction

pytestmark = pytest.mark.python_runs("a number leaves 64 bits: Python runs the call again")
PRINTERS = ("native", "vm", "python")
HIGH, LOW = 2 ** 63 - 1, -2 ** 63


def x():
    return Tensor(np.ones(3, np.float32))


def number(value):
    """A Tensor whose item is known at run time only."""
    return Tensor(np.array(value, np.int64))


def power(x, n):
    s, i = 1, 0
    while i < n:
        s, i = s * 3, i + 1
    return s


@pytest.mark.parametrize("printer", PRINTERS)
def test_a_product_that_grows_in_a_loop_is_exact(printer):
    f = JitFunction(power, printer=printer)
    for n in (39, 38, 40, 41, 200):
        assert f(x(), n) == 3 ** n
    assert len(f.variants) == 2 and sum(n for _, n in f.run_twice.values()) == 3      # 3 ** 39 fits


CASES = {
    "add": (lambda a, b: a + b, [(HIGH, 0), (HIGH, 1), (LOW, -1), (LOW, LOW), (1, 2)]),
    "subtract": (lambda a, b: a - b, [(LOW, 1), (HIGH, -1), (0, LOW), (5, 3)]),
    "multiply": (lambda a, b: a * b, [(2 ** 32, 2 ** 31), (2 ** 32, 2 ** 30), (LOW, -1), (HIGH, HIGH), (-3, 4)]),
    "floor": (lambda a, b: a // b, [(LOW, -1), (LOW, 1), (-7, 2)]),
    "remainder": (lambda a, b: a % b, [(LOW, -1), (-7, 3), (7, -3)]),
    "negative": (lambda a, b: -a, [(LOW, 0), (HIGH, 0), (5, 0)]),
    "absolute": (lambda a, b: abs(a), [(LOW, 0), (-HIGH, 0), (-4, 0)]),
    "invert": (lambda a, b: ~a, [(LOW, 0), (HIGH, 0), (6, 0)]),
    "left shift": (lambda a, b: a << b, [(1, 62), (1, 63), (-1, 63), (3, 200), (0, 100), (5, 2)]),
    "right shift": (lambda a, b: a >> b, [(HIGH, 62), (LOW, 63), (-5, 200), (9, 1)]),
    "square": (lambda a, b: a ** 2 + b, [(2 ** 31, 0), (2 ** 32, 0), (3037000499, 1), (-5, 1)]),
    "odd power": (lambda a, b: a ** 35, [(3, 0), (-3, 0), (7, 0)]),
    "no power": (lambda a, b: a ** 0 + b, [(LOW, 3)]),
    "larger": (lambda a, b: max(a, b) + min(a, b), [(HIGH, LOW), (HIGH, 1)]),
    "compared": (lambda a, b: a + b > a, [(HIGH, HIGH), (1, 2)]),
}


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("name", CASES)
def test_arithmetic_of_numbers_from_tensors_is_that_of_python(name, printer):
    function, pairs = CASES[name]
    f = JitFunction(lambda a, b: function(a.item(), b.item()), printer=printer)
    for a, b in pairs:
        got, expected = f(number(a), number(b)), function(a, b)
        assert got == expected and type(got) is type(expected), (a, b)
    assert len(f.variants) == 1 and not f.in_python


def test_a_negative_shift_raises_as_python_does():
    f = JitFunction(lambda a, b: (a.item() << b.item(), a.item() >> b.item()))
    assert f(number(3), number(1)) == (6, 1)
    with pytest.raises(ValueError, match="negative shift count"):
        f(number(3), number(-1))


def test_powers_of_floats_are_python_s():
    f = JitFunction(lambda a, b: a.item() ** b.item())

    def run(a, b):
        return f(Tensor(np.array(a)), Tensor(np.array(b)))
    assert run(2.0, 0.5) == 2.0 ** 0.5 and run(float("inf"), 2.0) == float("inf")
    assert run(-8.0, 0.5) == (-8.0) ** 0.5
    with pytest.raises(OverflowError):
        run(10.0, 400.0)
    with pytest.raises(ZeroDivisionError):
        run(0.0, -1.0)


def test_a_float_becomes_the_int_that_it_is():
    f = JitFunction(lambda a: int(a.item()))
    for value in (3.7, -3.7, 1e18, 1e30, -2.0 ** 63):
        assert f(Tensor(np.array(value))) == int(value)
    for value, error in ((float("nan"), ValueError), (float("inf"), OverflowError)):
        with pytest.raises(error):
            f(Tensor(np.array(value)))


def test_an_item_without_sign_is_not_taken_for_a_negative_one():
    f = JitFunction(lambda a: a.item() // 2)
    for value in (7, 2 ** 63, 2 ** 64 - 1):
        assert f(Tensor(np.array(value, np.uint64))) == value // 2


def test_sizes_multiply_without_end():
    f = JitFunction(lambda x: x.shape[0] * 10 ** 18 + 1, dynamic=1)
    for n in (3, 9, 10, 100):
        assert f(Tensor(np.ones(n, np.float32))) == n * 10 ** 18 + 1
    assert len(f.variants) == 1


def test_a_constant_of_many_digits_meets_a_number_of_the_run():
    f = JitFunction(lambda a: (a.item() + 2 ** 70, a.item() < 2 ** 70))
    assert f(number(5)) == (5 + 2 ** 70, True) and f(number(HIGH)) == (HIGH + 2 ** 70, True)


def test_a_counter_outside_grows_beyond_64_bits():
    holder = {"n": 1}

    def grow(x):
        global total
        total = total * 2 ** 20
        holder["n"] = holder["n"] + 1
        return x * 2
    globals()["total"] = 1
    f = JitFunction(grow)
    for step in range(1, 7):
        f(x())
        assert total == 2 ** (20 * step) and holder["n"] == step + 1


def test_nothing_is_written_before_python_computes_the_call_again():
    weight = ms.Parameter(Tensor(np.ones(3, np.float32)), name="weight")
    seen = [0]

    def step(x, n, log):
        ops.assign(weight, weight + x)
        log.append(n.item())
        s = n.item() * 2 ** 40
        ops.assign(weight, weight * 2)
        return x * 2, s
    f = JitFunction(step)
    for n in (1, 2 ** 40, 3):
        log = []
        out, s = f(x(), number(n), log)
        seen.append(seen[-1])
        assert s == n * 2 ** 40 and log == [n] and out.asnumpy().tolist() == [2.0] * 3
    assert weight.asnumpy().tolist() == [22.0] * 3          # ((1 + 1) * 2 + 1) * 2 + 1) * 2 as without a graph


def test_random_numbers_go_on_as_if_the_graph_had_not_begun():
    def draw(n):
        a = ops.standard_normal((3,))
        return a, n.item() * 2 ** 40
    ms.set_seed(5)
    expected = [draw(number(n))[0].asnumpy() for n in (1, 2 ** 40, 2)]
    ms.set_seed(5)
    f = JitFunction(draw)
    assert np.allclose([f(number(n))[0].asnumpy() for n in (1, 2 ** 40, 2)], expected, rtol=1e-5)


def test_a_gradient_is_made_of_a_call_that_runs_again():
    f = ms.jit(lambda x, n: (x * x * float(n.item() * 2 ** 40 % 7)).sum())
    for n in (3, 2 ** 40):
        got = ms.grad(f)(x(), number(n))
        assert got.asnumpy().tolist() == [2.0 * (n * 2 ** 40 % 7)] * 3


def test_calls_of_python_that_were_made_are_not_made_again(capsys):
    def loud(n):
        print("loud", n)
        m = n.item() * 2 ** 40
        print("exact", m)
        return m
    f = JitFunction(loud)
    for n in (1, 2, 3, 2 ** 40, 4):
        assert f(number(n)) == n * 2 ** 40
    assert capsys.readouterr().out == "".join(f"loud {n}\nexact {n * 2 ** 40}\n" for n in (1, 2, 3, 2 ** 40, 4))
    assert not f.in_python and "ran again in Python" in f.explain()


def test_fullgraph_makes_it_an_error_at_the_line():
    f = JitFunction(lambda n: n.item() * 2 ** 40, fullgraph=True)
    assert f(number(2)) == 2 ** 41
    with pytest.raises(OverflowError) as caught:
        f(number(2 ** 40))
    assert isinstance(caught.value, InexactError) and caught.value.location.file == __file__
    assert "64 bits" in str(caught.value) and "hint:" in str(caught.value)


def test_a_call_that_ran_again_is_told_of_once_and_explained():
    f = JitFunction(lambda n: n.item() * 2 ** 40)
    f(number(1))
    with pytest.warns(FallbackWarning, match="64 bits") as told:
        f(number(2 ** 40))
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(number(2 ** 41))
    assert "2 call(s) ran again in Python" in f.explain() and "test_large_numbers.py" in f.explain()


def test_integers_in_tensors_wrap_as_those_of_numpy():
    a = np.array([HIGH, 1], np.int64)
    f = JitFunction(lambda x: x + x)
    with np.errstate(over="ignore"):
        assert f(Tensor(a)).asnumpy().tolist() == (a + a).tolist() == (Tensor(a) + Tensor(a)).asnumpy().tolist()
