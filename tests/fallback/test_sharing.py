"""Only the statement runs in Python: values, effects and containers are those of plain Python, whoever changes them."""
import copy

import pytest
from shared_with_python import PROGRAMS, T

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


@pytest.mark.parametrize("what, function, calls", PROGRAMS, ids=[what for what, _, _ in PROGRAMS])
def test_a_program_that_shares_values_with_python_does_what_python_does(what, function, calls):
    jitted = JitFunction(function)
    assert results(jitted, calls * 3) == results(function, calls * 3)
    left = [reason for _, reason, *_ in jitted.in_python.values()]
    assert left == WHOLE.get(what, []), jitted.explain()


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
        table = [10, 20, 30]
        return x * table[int(x.sum())]
    with pytest.raises(GraphSyntaxError, match="index of a list") as caught:
        JitFunction(f, fullgraph=True)(T(1, 1))
    assert caught.value.location.line == f.__code__.co_firstlineno + 2 and caught.value.hint
    with pytest.raises(GraphSyntaxError, match="fullgraph=True, but") as caught:
        JitFunction(lambda x: eval("x * 2"), fullgraph=True)(T(1, 1))
    assert "leave out fullgraph=True" in caught.value.hint
