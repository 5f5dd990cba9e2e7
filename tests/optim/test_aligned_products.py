"""Products of halves whose rows are no multiple of 16 bytes: padded, cut, and the same values."""
import dataclasses

import numpy as np
import pytest

from mindlite import Tensor
from mindlite.backend.target import current
from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.ops.basic import reduce_sum, reshape
from mindlite.ops.linalg import batch_matmul
from mindlite.ops.slicing import pad_slice, slice_
from mindlite.optim import optimise
from mindlite.optim.aligned_products import align_products
from passes import text

MINDS = dataclasses.replace(current(), halves_of_a_row=8)


def f16(*shape):
    return AbstractTensor(dt.float16, shape)


def check(before, after, *abstracts):
    assert text(optimise(align_products(typed(before, *abstracts), MINDS))) == text(optimise(typed(after, *abstracts)))


def padded(x, *shape):
    return pad_slice(x, shape=shape, start=(0, 0), step=(1, 1), value=0)


def test_odd_columns_are_padded_and_cut():
    check(lambda x, w: batch_matmul(x, w, transpose_b=True),
          lambda x, w: slice_(batch_matmul(x, padded(w, 80, 64), transpose_b=True), start=(0, 0), sizes=(100, 75), step=(1, 1)),
          f16(100, 64), f16(75, 64))


def test_what_is_added_up_is_padded_in_both():
    check(lambda x, w: batch_matmul(x, w), lambda x, w: batch_matmul(padded(x, 100, 80), padded(w, 80, 64)),
          f16(100, 75), f16(75, 64))


def test_rows_of_a_transposed_operand_are_cut_from_the_result():
    check(lambda x, w: batch_matmul(x, w, transpose_a=True),
          lambda x, w: slice_(batch_matmul(padded(x, 100, 80), w, transpose_a=True), start=(0, 0), sizes=(75, 64), step=(1, 1)),
          f16(100, 75), f16(100, 64))


def test_a_stack_of_matrices_is_one_matrix():
    check(lambda x, w: batch_matmul(x, w),
          lambda x, w: reshape(slice_(batch_matmul(reshape(x, shape=(100, 64)), padded(w, 64, 80)), start=(0, 0), sizes=(100, 75),
                                      step=(1, 1)), shape=(2, 50, 75)), f16(2, 50, 64), f16(64, 75))


def test_the_sum_of_the_rows_reads_the_padded_ones():
    def before(x, w):
        return batch_matmul(x, w), reduce_sum(x, axis=(0,))

    def after(x, w):
        wide = padded(x, 100, 80)
        return batch_matmul(wide, padded(w, 80, 64)), slice_(reduce_sum(wide, axis=(0,)), start=(0,), sizes=(75,), step=(1,))
    check(before, after, f16(100, 75), f16(75, 64))


@pytest.mark.parametrize("abstracts", [
    (f16(100, 64), f16(64, 80)), (f16(100, 30), f16(30, 75)), (f16(3, 100, 75), f16(3, 75, 64)),
    (AbstractTensor(dt.float32, (100, 75)), AbstractTensor(dt.float32, (75, 64)))],
    ids=["even rows", "small", "a matrix for each", "float32"])
def test_other_products_stay(abstracts):
    graph = typed(lambda x, w: batch_matmul(x, w), *abstracts)
    assert align_products(graph, MINDS) is graph


def test_a_target_that_does_not_mind_leaves_the_graph_alone():
    graph = typed(lambda x, w: batch_matmul(x, w), f16(100, 75), f16(75, 64))
    assert align_products(graph, current()) is graph


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_values_stay_whatever_is_transposed(transpose_a, transpose_b):
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (75, 101) if transpose_a else (101, 75)).astype(np.float16)
    b = rng.integers(-3, 4, (67, 75) if transpose_b else (75, 67)).astype(np.float16)
    made = []

    def product(x, w):
        made.append(align_products(typed(lambda x, w: batch_matmul(x, w, transpose_a=transpose_a, transpose_b=transpose_b),
                                         f16(*a.shape), f16(*b.shape)), MINDS))
        values = dict(zip(made[0].parameters, (x, w)))
        for node in made[0].nodes:
            values[node] = node.fn(*(values[arg] for arg in node.args), **node.attrs)
        return values[made[0].outputs[0]]
    found = product(Tensor(a), Tensor(b)).asnumpy()
    assert any(node.fn is pad_slice for node in made[0].nodes)
    np.testing.assert_array_equal(found, (a.T if transpose_a else a) @ (b.T if transpose_b else b))
