"""Only the statement runs in Python: values, effects and containers are those of plain Python, whoever changes them."""
import copy
import sys

import numpy as np
import pytest
from shared_with_python import PROGRAMS, T

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import GraphSyntaxError
from mindlite.compile.jit import JitFunction

# Programs of which a graph can say nothing: they run in Python as a whole, for this reason.
WHOLE = {}


def plain(value):
    """A value that can be compared: Tensors by dtype and elements, containers and objects by what they hold."""
    if isinstance(value, Tensor):
        return "Tensor", str(value.dtype), value.asnumpy().round(3).tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return (type(value).__name__, plain(vars(value))) if hasattr(value, "__dict__") else value


def results(call, calls):
    """What calls give, and what they leave in their arguments."""
    found = []
    for args in calls:
        args = copy.deepcopy(args)
        found.append((plain(call(*args)), plain(args)))
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what, function, calls", PROGRAMS, ids=[what for what, _, _ in PROGRAMS])
def test_a_program_that_shares_values_with_python_does_what_python_does(what, function, calls):
    jitted = JitFunction(function)
    assert results(jitted, calls * 3) == results(function, calls * 3)
    left = [reason for _, reason, *_ in jitted.in_python.values()]
    assert left == WHOLE.get(what, []), jitted.explain()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what, function, calls", PROGRAMS, ids=[what for what, _, _ in PROGRAMS])
def test_after_the_first_calls_nothing_is_run_statement_by_statement(what, function, calls):
    jitted = JitFunction(function)
    results(jitted, calls * 4)
    before = jitted.runs_in_python
    results(jitted, calls)
    assert jitted.runs_in_python == before


def test_no_program_of_the_table_runs_in_python_as_a_whole():
    assert not WHOLE and len(PROGRAMS) > 30


def test_a_list_is_the_same_object_everywhere():
    def f(x, given):
        xs = [x]
        eval("given.append(xs)")
        xs.append(2)
        return xs, xs
    for call in (f, JitFunction(f), JitFunction(f)):
        for _ in range(3):
            given = []
            a, b = call(T(1), given)
            assert a is b and given[0] is a and len(a) == 2


def test_a_statement_is_named_with_its_text_its_cost_and_a_cure():
    def f(x):
        order = sorted([x[0], x[1]], key=lambda v: float(v))
        return order[0]
    jitted = JitFunction(f)
    for _ in range(3):
        jitted(T(2, 1))
    told = jitted.explain()
    assert "order = sorted(" in told and "crossing(s)" in told and "instead: " in told
    line = f.__code__.co_firstlineno + 1
    assert f"test_sharing.py:{line}: " in told


def test_an_error_of_fullgraph_names_the_construct_the_line_and_a_cure():
    def f(x):
        table = ["ten", 20, 30]
        return x * table[int(x.sum())]
    with pytest.raises(GraphSyntaxError, match="index of a list") as caught:
        JitFunction(f, fullgraph=True)(T(1, 1))
    assert caught.value.location.line == f.__code__.co_firstlineno + 2 and caught.value.hint
    with pytest.raises(GraphSyntaxError, match="fullgraph=True, but") as caught:
        JitFunction(lambda x: eval("x * 2"), fullgraph=True)(T(1, 1))
    assert "leave out fullgraph=True" in caught.value.hint


def test_one_list_given_twice_is_one_list():
    def f(x, a, b):
        a.append(x)
        return len(b), a is b
    jitted = JitFunction(f)
    one, other = [], [1]
    assert [jitted(T(1), one, one), jitted(T(1), one, one)] == [(1, True), (2, True)] and len(one) == 2
    assert jitted(T(1), one, other) == (1, False) and len(one) == 3


def test_a_list_that_holds_itself_is_an_argument():
    def f(x, a):
        return x * len(a) + len(a[1])
    ring = [1]
    ring.append(ring)
    jitted = JitFunction(f)
    assert [jitted(T(1), ring).tolist() for _ in range(2)] == [[4.0], [4.0]]


def test_a_tensor_of_constants_is_new_in_each_call():
    def f(x):
        t = Tensor([1.0, 2.0])
        t[0] = x.sum()
        return t, Tensor([5.0])
    jitted = JitFunction(f)
    for n in (1, 2, 3):
        a, b = jitted(T(n)), jitted(T(n + 1))
        assert a[0].tolist() == [n, 2] and b[0].tolist() == [n + 1, 2] and a[1] is not b[1]
        a[1][0] = 9.0
        assert jitted(T(n))[1].tolist() == [5.0]


def test_arrays_of_numpy_that_change_are_seen():
    small, large = np.arange(3, dtype=np.float32), np.zeros(100_000, np.float32)

    def f(x):
        return x * Tensor(small) + Tensor(large).sum()
    jitted = JitFunction(f)
    assert jitted(T(1, 2, 3)).tolist() == [0, 2, 6]
    small[0] = 5
    assert jitted(T(1, 2, 3)).tolist() == [5, 2, 6]
    large[7] = 3
    assert jitted(T(1, 2, 3)).tolist() == [8, 5, 9]


def test_recursion_may_pass_python_code():
    def f(x, n):
        return x if n.sum() <= 0 else eval("x * 2") * f(x, n - 1)
    jitted = JitFunction(f)
    for n in (3, 0, 2, 5):
        assert jitted(T(1, 2), T(n)).tolist() == f(T(1, 2), T(n)).tolist()
    assert not jitted.in_python


def test_vmap_runs_python_code_item_by_item_and_explain_says_so():
    @ms.jit
    def f(xs):
        return ms.vmap(lambda x: Tensor(np.sin(x.asnumpy())) + x)(xs)
    for _ in range(3):
        np.testing.assert_allclose(f(T(1, 2, 3)).asnumpy(), np.sin([1, 2, 3]) + [1, 2, 3], rtol=1e-6)
    assert "element by element" in f.explain() and not f.compiled.in_python


def test_forward_mode_passes_python_code():
    f = ms.jit(lambda x: ms.jvp(lambda v: eval("v * v"), (x,), (x,)))
    for _ in range(3):
        value, tangent = f(T(1, 2))
        assert value.tolist() == [1, 4] and tangent.tolist() == [2, 8]
    assert f.compiled.fallbacks and not f.compiled.in_python, f.explain()


def test_breakpoint_stops_in_the_users_function_where_it_stands(monkeypatch):
    stops = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(
        (sys._getframe(1).f_code.co_name, sorted(sys._getframe(1).f_locals))))

    def stopping(x):
        y = x * 2
        breakpoint()
        return y
    jitted = JitFunction(stopping)
    for n in range(1, 4):
        jitted(T(1))
        assert stops == [("stopping", ["x", "y"])] * n
