"""The reference interpreter of typed graphs."""
import numpy as np
import pytest

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError, InternalError
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.control import check, cond, segment, tape_new, tape_pop, tape_push, while_loop
from mindlite.mindir.evaluate import run


def f32(*shape):
    return AbstractTensor(dt.float32, shape)


def test_a_graph_computes_what_its_function_says():
    graph = typed(lambda x, y: (ops.tanh(x) * y, x + 1), f32(2), f32(2))
    x, y = np.float32([1, 2]), np.float32([3, 4])
    out = run(graph, x, y)
    np.testing.assert_allclose(out[0], np.tanh(x) * y)
    np.testing.assert_array_equal(out[1], x + 1)


def test_symbols_take_the_sizes_of_the_operands():
    n = Symbol("N").dim
    graph = typed(lambda x: ops.reshape(x, shape=(2 * n,)), f32(n, 2))
    assert run(graph, np.zeros((3, 2), np.float32))[0].shape == (6,)


def test_a_branch_runs_one_side():
    double, square = typed(lambda x: x * 2, f32()), typed(lambda x: x * x, f32())
    graph = typed(lambda x: cond(x > 0, x, true=double, false=square), f32())
    assert run(graph, 3)[0] == 6 and run(graph, -3)[0] == 9


def test_a_loop_runs_while_its_condition_holds():
    test = typed(lambda i, x, k: i < 3, f32(), f32(2), f32())
    body = typed(lambda i, x, k: (i + 1, x * k), f32(), f32(2), f32())
    graph = typed(lambda x, k: while_loop(0.0 * k, x, k, cond=test, body=body, invariants=1)[1], f32(2), f32())
    np.testing.assert_array_equal(run(graph, [1, 2], 2)[0], [8, 16])


def test_a_tape_gives_back_what_came_last():
    def program(x, n):
        tape = tape_push(tape_push(tape_new(), x), x + 1, n)
        tape, top, number = tape_pop(tape, abstracts=(f32(), AbstractScalar(int)))
        tape, bottom = tape_pop(tape, abstracts=(f32(),))
        return top, bottom, number
    assert run(typed(program, f32(), AbstractScalar(int)), 1, 7) == (2, 1, 7)


def test_popping_an_empty_tape_is_an_error():
    with pytest.raises(InternalError, match="empty tape"):
        run(typed(lambda x: tape_pop(tape_new(), abstracts=(f32(),))[1], f32()), 1)


def test_a_missing_array_is_an_error():
    with pytest.raises(ArgumentError, match="takes 1 arrays, 0 were given"):
        run(typed(lambda x: x, f32()))


def test_a_check_that_fails_raises_its_error():
    graph = typed(lambda x: (check(x > 0, x, error=lambda value: ArgumentError(f"{value} is too small")), x)[1], f32())
    assert run(graph, 1)[0] == 1
    with pytest.raises(ArgumentError, match="-1.0 is too small"):
        run(graph, -1)


def test_a_segment_calls_python_with_tensors():
    graph = typed(lambda x: segment(x, function=lambda t: (t.asnumpy() + 1,), abstracts=(f32(2),), reason="a test"),
                  f32(2))
    np.testing.assert_array_equal(run(graph, [1, 2])[0], [2, 3])
