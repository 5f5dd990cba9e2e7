"""Sparse tensors by coordinates as classes that take their parts: against dense arithmetic by NumPy, in both modes."""
import numpy as np
import pytest
from scipy import sparse as scipy_sparse

import mindlite
import mindlite.mindspore as ms
from mindlite import Tensor
from mindlite.common.errors import ShapeError
from mindlite.mindspore.ops.operations import array_ops, sparse_ops as S

INDICES = ms.Tensor([[0, 1], [1, 0], [2, 3]], ms.int64)
VALUES = ms.Tensor([1.0, 2.0, 4.0])
SHAPE = ms.Tensor([3, 4], ms.int64)
DENSE = np.zeros((3, 4), np.float32)
DENSE[[0, 1, 2], [1, 0, 3]] = [1.0, 2.0, 4.0]
ROWS = np.random.default_rng(0).standard_normal((5, 2, 3)).astype(np.float32)
PICKED, SEGMENTS = np.array([0, 2, 4, 4, 1]), np.array([0, 0, 2, 2, 2])


def in_both_modes(function, *args):
    """The results of the function, the same in both modes, as arrays."""
    made = []
    for call in (function, mindlite.jit(function, fullgraph=True)):
        out = call(*args)
        made.append([x.asnumpy() for x in (out if isinstance(out, tuple) else (out,))])
    for eager, graph in zip(*made):
        np.testing.assert_allclose(graph, eager, rtol=1e-6)
    return made[0] if len(made[0]) > 1 else made[0][0]


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (4,), (1,), ()])
@pytest.mark.parametrize("name, by", [("Add", np.add), ("Mul", np.multiply), ("Div", np.divide)])
def test_values_meet_the_elements_of_a_dense_tensor_that_is_repeated(shape, name, by):
    dense = np.random.default_rng(1).random(shape).astype(np.float32) + 1
    got = in_both_modes(getattr(S, f"SparseDenseCwise{name}")(), INDICES, VALUES, SHAPE, ms.Tensor(dense))
    np.testing.assert_allclose(got, by(DENSE, dense)[DENSE != 0], rtol=1e-6)


def test_a_dense_tensor_of_more_axes_is_refused():
    with pytest.raises(ValueError, match="more axes than the sparse one"):
        S.SparseDenseCwiseAdd()(INDICES, VALUES, SHAPE, ms.Tensor(np.ones((2, 3, 4), np.float32)))


def test_a_sparse_product_is_added_to_a_dense_matrix():
    x2, x3 = ROWS[:4, 0], ROWS[:3, 1]
    got = in_both_modes(lambda a, b: S.SparseAddmm()(INDICES, VALUES, SHAPE, a, b, 2.0, 3.0), ms.Tensor(x2), ms.Tensor(x3))
    np.testing.assert_allclose(got, 2 * DENSE @ x2 + 3 * x3, rtol=1e-5)


def test_sums_of_sparse_tensors_are_in_order_and_small_ones_are_left_out():
    other = ms.Tensor([[1, 0], [0, 0]], ms.int64), ms.Tensor([-1.5, 3.0]), SHAPE
    indices, values, shape = in_both_modes(lambda t: S.SparseAdd()(INDICES, VALUES, SHAPE, *other, t), ms.Tensor(0.75))
    assert indices.tolist() == [[0, 0], [0, 1], [2, 3]] and values.tolist() == [3.0, 1.0, 4.0] and shape.tolist() == [3, 4]


def test_places_are_brought_into_order_and_into_another_shape():
    order = ms.Tensor([2, 0, 1])
    indices, values = in_both_modes(S.SparseReorder(), INDICES[order], VALUES[order], SHAPE)
    assert indices.tolist() == INDICES.asnumpy().tolist() and values.tolist() == [1.0, 2.0, 4.0]
    places, shape = in_both_modes(S.SparseReshape(), INDICES, SHAPE, ms.Tensor([2, -1, 3], ms.int64))
    assert shape.tolist() == [2, 2, 3] and places.dtype == np.int64
    assert places.tolist() == np.argwhere(DENSE.reshape(2, 2, 3)).tolist()


@pytest.mark.parametrize("count", [None, 3, 4])
@pytest.mark.parametrize("name, scale", [("Sum", lambda n: 1), ("Mean", lambda n: n), ("SqrtN", np.sqrt)])
def test_rows_are_gathered_and_folded_by_segments(name, scale, count):
    given = [] if count is None else [ms.Tensor(count, ms.int32)]
    operator = getattr(S, f"SparseSegment{name}" + ("WithNumSegments" if given else ""))()
    got = operator(ms.Tensor(ROWS), ms.Tensor(PICKED), ms.Tensor(SEGMENTS), *given).asnumpy()
    expected = np.zeros((count or 3, 2, 3), np.float32)
    for k in {*SEGMENTS}:
        chosen = ROWS[PICKED[SEGMENTS == k]]
        expected[k] = chosen.sum(0) / scale(len(chosen))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mindlite.jit(operator)(
        ms.Tensor(ROWS), ms.Tensor(PICKED), ms.Tensor(SEGMENTS), *given).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_row_that_is_folded_by_segments_has_the_gradient_of_all_its_places():
    def loss(x):
        return (S.SparseSegmentMean()(x, ms.Tensor(PICKED), ms.Tensor(SEGMENTS)) * 6).sum()
    slopes = mindlite.grad(loss)(ms.Tensor(ROWS)).asnumpy()
    np.testing.assert_allclose(slopes[:, 0, 0], [3.0, 2.0, 3.0, 0.0, 4.0], rtol=1e-6)


def test_shapes_begin_one_after_the_other_along_the_axis():
    shapes = tuple(ms.Tensor(x, ms.int32) for x in ([1, 2, 3], [1, 5, 3], [1, 4, 3]))
    got = in_both_modes(lambda axis: array_ops.ConcatOffsetV1()(axis, shapes), ms.Tensor(-2, ms.int32))
    assert np.stack(got).tolist() == [[0, 0, 0], [0, 2, 0], [0, 7, 0]]


@pytest.mark.parametrize("way", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_a_matrix_of_many_rows_takes_the_memory_of_its_values(way):
    rows, columns, count = 120_000, 90_000, 150_000            # a value for each pair of row and value would be 18e9 of them
    rng = np.random.default_rng(0)
    whole = scipy_sparse.csr_matrix((rng.random(count), (rng.integers(0, rows, count), rng.integers(0, columns, count))),
                                    shape=(rows, columns))
    whole.sort_indices()
    parts = [Tensor(whole.indptr.astype(np.int32)), Tensor(whole.indices.astype(np.int32)), Tensor(whole.data)]
    vector, scale = rng.random((columns, 1)), rng.random((rows, 1)) + 1

    def products(indptr, indices, values, vector, scale):
        matrix = ms.CSRTensor(indptr, indices, values, (rows, columns))
        back = matrix.to_coo().to_csr()
        scaled = (matrix * scale).values, (matrix / scale.T[:, :1]).values
        return matrix.mv(vector), matrix.sum(1), back.indptr, back.indices, *scaled
    made = [x.asnumpy() for x in way(products)(*parts, Tensor(vector), Tensor(scale))]
    scaled = whole.multiply(scale).tocsr().data, whole.data / scale[0, 0]
    wanted = [whole @ vector, whole.sum(1), whole.indptr, whole.indices, *scaled]
    for got, expected in zip(made, wanted):
        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-9)


def test_a_factor_that_does_not_broadcast_to_the_matrix_is_refused():
    matrix = ms.CSRTensor(Tensor([0, 1, 2]), Tensor([0, 2]), Tensor([1.0, 2.0]), (2, 3))
    with pytest.raises(ShapeError, match=r"CSRTensor \* other"):
        matrix * Tensor(np.ones((4, 2, 3), np.float32))
