"""Loops cut where a condition changes: joins, pads and slices written next to one another run without a branch."""
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
from clusters import execute                                                                            # noqa: E402

from mindlite import Tensor, ops                                                                           # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.common.config import config                                                               # noqa: E402
from mindlite.common.dim import Symbol                                                                  # noqa: E402
from mindlite.graph_kernel import lowering                                                              # noqa: E402
from mindlite.graph_kernel.expand import expand_composites                                              # noqa: E402
from mindlite.backend.printers.python_source import python_source                                       # noqa: E402
from run_text import run_source                                                                         # noqa: E402
from mindlite.mindir.abstract import AbstractTensor                                                     # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402


def check(function, *inputs, env=None, abstracts=None):
    """The text of the kernel of `function`, whose results by text and machine code are those of the operators."""
    abstracts = abstracts or [AbstractTensor(dt.dtype(x.dtype), x.shape) for x in inputs]
    lowered = lowering(expand_composites(typed(function, *abstracts)))
    expected = function(*map(Tensor, inputs)).asnumpy()
    for outs in (run_source(lowered.nest, *inputs, sizes=env), execute(lowered, inputs, env),
                 execute(lowered, inputs, env, chunks=2)):
        np.testing.assert_allclose(outs[0], expected, rtol=1e-5, atol=1e-6)
    return python_source(lowered.nest)


def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_join_of_three_is_three_loops_without_a_branch(axis):
    parts = [normal(*(size if a == axis else n for a, n in enumerate((5, 20, 33)))) for size in (7, 30, 18)]
    text = check(lambda a, b, c: ops.exp(ops.concat((a * 2.0, b, c), axis)), *parts)
    assert "if " not in text and "where(" not in text and text.count("exp(") == 3


def test_pads_that_are_added_up_are_cut_at_every_edge():
    def gates(a, b):
        return ops.pad(a, (0, 30)) + ops.pad(b, (20, 0)) * 2.0
    text = check(gates, normal(6, 20), normal(6, 30))
    assert "if " not in text and "where(" not in text


def test_an_edge_inside_a_fold_over_rows_stays_a_condition():
    def total(a, b):
        return ops.sum(ops.concat((a, b), 1), dim=1)
    check(total, normal(6, 20), normal(6, 30))


def test_rows_of_a_softmax_behind_a_join_are_right():
    def softmax(a, b):
        return ops.softmax(ops.concat((a, b), 1), axis=-1)
    check(softmax, normal(6, 40), normal(6, 70))


def test_more_than_eight_pieces_stay_one_loop():
    parts = [normal(3, 4 + k) for k in range(10)]
    text = check(lambda *xs: ops.concat(xs, 1), *parts)
    assert "where(" in text or "if " in text


def test_an_open_size_may_end_before_the_edge():
    n = Symbol("n", lo=0)

    def shifted(a):
        return ops.where(ops.less(ops.arange(a.shape[1]), 50), a * 2.0, a + 1.0)
    for size in (0, 3, 50, 51, 80):
        text = check(shifted, normal(4, size), env={n: size}, abstracts=[AbstractTensor(dt.float32, (4, n.dim))])
        assert "minimum(50" in text


def test_a_value_written_over_an_operand_is_read_before():
    def half(a):
        return ops.where(ops.less(ops.arange(60), 25), a * 2.0, a + 1.0)
    graph = typed(half, AbstractTensor(dt.float32, (4, 60)))
    lowered = lowering(graph, in_place=((0, 0),))
    assert "minimum(25" in python_source(lowered.nest)


def test_both_lowerings_cut_alike():
    a, b = normal(5, 20), normal(5, 13)
    graph = typed(lambda a, b: ops.exp(ops.concat((a, b), 1)), *(AbstractTensor(dt.float32, x.shape) for x in (a, b)))
    outs = []
    for name in ("llvm", "numba"):
        before = config.set(lowering=name)
        try:
            outs.append(execute(lowering(graph), [a, b])[0])
        finally:
            config.set(**before)
    np.testing.assert_array_equal(*outs)
