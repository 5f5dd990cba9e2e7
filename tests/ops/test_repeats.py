"""repeat_interleave by numbers that are data is NumPy's repeat, in both modes, with gradients; select by a condition is where."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, mint, ops
from mindlite.common.errors import DTypeError, IndexRangeError, ShapeError

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def both(f, *args):
    """What f gives in eager mode, after a graph of the whole of it was found to give the same."""
    made = f(*args)
    graph = ms.jit(f, fullgraph=True)(*args)
    np.testing.assert_array_equal(made.asnumpy(), graph.asnumpy())
    return made.asnumpy()


@pytest.mark.parametrize("repeats, axis", [([1, 0, 2], 0), ([2, 1, 0, 3], 1), ([2, 1, 0, 3], -1), ([3], 0), ([0, 0, 0], 0),
                                           (list(range(12)), None)])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_each_slice_is_repeated_as_often_as_its_number_says(repeats, axis, dtype):
    made = both(lambda x, n: ops.repeat_interleave(x, n, axis), Tensor(X), Tensor(np.array(repeats, dtype)))
    np.testing.assert_array_equal(made, np.repeat(X, repeats, axis))
    np.testing.assert_array_equal(ops.repeat_interleave(Tensor(X), repeats, axis).asnumpy(), made)


def test_one_program_serves_all_numbers_and_lengths():
    f = ms.jit(lambda x, n: ops.repeat_interleave(x, n, 0), fullgraph=True)
    for repeats in ([1, 2], [0, 7], [3, 1, 2], [1] * 9, [5]):
        x = np.arange(2.0 * len(repeats), dtype=np.float32).reshape(len(repeats), 2)
        np.testing.assert_array_equal(f(Tensor(x), Tensor(repeats)).asnumpy(), np.repeat(x, repeats, 0))
    assert len(f.variants) <= 3                            # the first, one of open length, one of a single number


def test_gradients_add_up_over_the_repeats():
    def loss(x, n):
        return (ops.repeat_interleave(x, n, 0) ** 2).sum()
    made = both(ms.grad(loss), Tensor(X), Tensor([1, 0, 2]))
    np.testing.assert_array_equal(made, 2 * X * np.array([[1], [0], [2]]))


def test_output_size_is_the_sum_of_the_repeats():
    f = lambda x, n: mint.repeat_interleave(x, n, 0, output_size=3)               # noqa: E731
    np.testing.assert_array_equal(both(f, Tensor(X), Tensor([1, 0, 2])), np.repeat(X, [1, 0, 2], 0))
    for run in (f, ms.jit(f, fullgraph=True)):
        with pytest.raises(IndexRangeError, match="the sum of repeats"):
            run(Tensor(X), Tensor([1, 1, 2]))


@pytest.mark.parametrize("repeats, error, text", [
    ([1, -1, 2], IndexRangeError, "is less than 0"), ([1, 2], ShapeError, "one number of repeats"),
    ([[1, 2, 3]], ShapeError, "one number of repeats"), ([1.0, 2.0, 3.0], DTypeError, "repeats are integers")])
def test_repeats_that_mean_nothing_are_refused_in_both_modes(repeats, error, text):
    f = lambda x, n: ops.repeat_interleave(x, n, 0)                               # noqa: E731
    for run in (f, ms.jit(f, fullgraph=True)):
        with pytest.raises(error, match=text):
            run(Tensor(X), Tensor(repeats))


def test_select_takes_a_condition_or_an_axis():
    condition, other = Tensor(X > 5), Tensor(-X)
    for f in (lambda x, c, y: x.select(c, y), lambda x, c, y: x.select(condition=c, y=y)):
        np.testing.assert_array_equal(both(f, Tensor(X), condition, other), np.where(X > 5, X, -X))
    np.testing.assert_array_equal(both(lambda x, c: x.select(c, 1.5), Tensor(X), condition), np.where(X > 5, X, np.float32(1.5)))
    np.testing.assert_array_equal(both(lambda x: x.select(1, -1), Tensor(X)), X[:, -1])
    np.testing.assert_array_equal(both(lambda x: x.select(dim=0, index=2), Tensor(X)), X[2])
