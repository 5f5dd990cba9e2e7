"""Counting, runs, choices, blocks and boxes give what their definitions say, in graphs too."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ShapeError, ValueRangeError

NUMBERS = np.array([0, 1, 1, 3, 2, 1, 7])


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_numbers_are_counted(run):
    counts = run(lambda x: (ops.bincount(x), ops.bincount(x, x * 0.5, 10), ops.sequence_mask(x)))
    plain, weighted, mask = counts(Tensor(NUMBERS))
    assert plain.tolist() == np.bincount(NUMBERS).tolist()
    np.testing.assert_allclose(weighted.asnumpy(), np.bincount(NUMBERS, NUMBERS * 0.5, 10))
    assert mask.tolist() == (np.arange(7) < NUMBERS[:, None]).tolist()


def test_numbers_that_cannot_be_counted_are_errors():
    with pytest.raises(ValueRangeError, match="negative"):
        ops.bincount(Tensor([1, -1]))
    with pytest.raises(ShapeError, match="vector"):
        ops.bincount(Tensor([[1]]))


def test_histograms_are_those_of_numpy():
    x = np.random.default_rng(0).standard_normal(50).astype(np.float32)
    for low, high in ((0, 0), (-1, 0.5)):
        want = np.histogram(x, 7, None if low == high else (low, high))[0]
        assert ops.histc(Tensor(x), 7, low, high).tolist() == want.tolist()
    assert ops.histc(Tensor([2.0, 2.0]), 3).sum().item() == 2
    for right in (False, True):
        want = np.digitize([[3, 6, 9]], [1.0, 3, 5, 7, 9], right=not right)
        assert ops.bucketize(Tensor([[3, 6, 9]]), [1.0, 3, 5, 7, 9], right=right).tolist() == want.tolist()


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_runs_of_equals_are_found(run):
    values, inverse, counts = run(lambda x: ops.unique_consecutive(x, True, True))(Tensor([1, 1, 2, 2, 2, 1]))
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 1, 1, 2], [2, 3, 1])
    rows = run(lambda x: ops.unique_consecutive(x, dim=0))(Tensor([[1, 2], [1, 2], [3, 2]]))
    assert rows.tolist() == [[1, 2], [3, 2]]


def test_choices_are_those_of_itertools():
    a, b = [1, 2, 3], [5, 6]
    assert ops.cartesian_prod(Tensor(a), Tensor(b)).tolist() == [list(p) for p in itertools.product(a, b)]
    assert ops.combinations(Tensor(a)).tolist() == [list(p) for p in itertools.combinations(a, 2)]
    again = itertools.combinations_with_replacement(a, 3)
    assert ops.combinations(Tensor(a), 3, True).tolist() == [list(p) for p in again]
    for offset in (-1, 0, 2):
        np.testing.assert_array_equal(ops.tril_indices(3, 4, offset).asnumpy(), np.tril_indices(3, offset, 4))
        np.testing.assert_array_equal(ops.triu_indices(3, 4, offset).asnumpy(), np.triu_indices(3, offset, 4))
    assert ops.unravel_index(Tensor([22, 41]), (7, 6)).tolist() == np.array(np.unravel_index([22, 41], (7, 6))).tolist()


def test_the_beginning_of_sequences_is_turned():
    x = np.arange(9.0).reshape(3, 3)
    want = np.array([[0, 1, 2], [4, 3, 5], [8, 7, 6]])
    assert ops.reverse_sequence(Tensor(x), Tensor([1, 2, 3]), 1).tolist() == want.tolist()
    assert ops.reverse_sequence(Tensor(x.T), Tensor([1, 2, 3]), 0, 1).tolist() == want.T.tolist()


@pytest.mark.parametrize("there, back", [
    (lambda x: ops.pixel_shuffle(x, 2), lambda x: ops.pixel_unshuffle(x, 2)),
    (lambda x: ops.space_to_depth(x, 2), lambda x: ops.depth_to_space(x, 2)),
    (lambda x: ops.channel_shuffle(x, 2), lambda x: ops.channel_shuffle(x, 4)),
    (lambda x: ops.space_to_batch_nd(x, [3, 2], [[1, 2], [0, 0]]),
     lambda x: ops.batch_to_space_nd(x, [3, 2], [[1, 2], [0, 0]]))])
def test_blocks_come_back_and_so_do_their_gradients(there, back):
    x = Tensor(np.random.default_rng(0).standard_normal((2, 8, 6, 4)))
    assert (back(there(x)) == x).all() and there(x).tolist() != x.tolist()
    np.testing.assert_allclose(ms.grad(lambda x: (there(x) ** 2).sum())(x).asnumpy(), 2 * x.asnumpy())


def test_a_block_that_does_not_divide_is_an_error():
    with pytest.raises(ValueRangeError, match="cannot be cut"):
        ops.pixel_shuffle(Tensor(np.zeros((1, 3, 2, 2))), 2)


def test_boxes_are_encoded_and_decoded_and_overlap():
    anchors = Tensor([[10.0, 12, 30, 40], [5, 5, 8, 20]])
    boxes = Tensor([[11.0, 10, 28, 44], [4, 6, 9, 15]])
    means, stds = (0.1, 0.0, -0.1, 0.2), (0.5, 0.5, 0.2, 0.2)
    deltas = ops.bounding_box_encode(anchors, boxes, means, stds)
    np.testing.assert_allclose(ops.bounding_box_decode(anchors, deltas, (60, 60), means, stds).asnumpy(),
                               boxes.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(ops.iou(Tensor([[0.0, 0, 1, 1]]), Tensor([[0.0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]])).asnumpy(),
                               [[1], [1 / 7], [0]], rtol=1e-6)
    inside = ops.check_valid(Tensor([[0.0, 0, 5, 3], [-1, 0, 5, 3], [0, 0, 5, 6]]), Tensor([3.0, 4.0, 2.0]))
    assert inside.tolist() == [True, False, False]
