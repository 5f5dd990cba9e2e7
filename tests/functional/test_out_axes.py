"""out_axes of vmap name the results: an int for all, a tuple with one for each, also for a single result."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError

X = Tensor(np.arange(24.0).reshape(2, 3, 4))
BOTH = pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "graph"])


@BOTH
def test_a_tuple_of_one_axis_is_that_of_a_single_result(run):
    def upper(x, k):
        return ops.triu(x, k)
    for axis in (0, 2):
        got = run(ms.vmap(upper, in_axes=(0, None), out_axes=(axis,)))(X, 1)
        want = np.moveaxis(np.triu(X.asnumpy(), 1), 0, axis)
        np.testing.assert_array_equal(got.asnumpy(), want)
    assert run(ms.vmap(lambda x: (x, x + 1), out_axes=(0, 1)))(X)[1].shape == (3, 2, 4)


@BOTH
@pytest.mark.parametrize("function, out_axes, given", [(lambda x: x, (0, 1), 1), (lambda x: (x, x), (0, 0, 0), 2),
                                                       (lambda x: (x, x), (0,), 2)])
def test_another_number_of_axes_than_of_results_is_an_error(run, function, out_axes, given):
    with pytest.raises(ArgumentError, match=f"names {len(out_axes)} results, the function gives {given}"):
        run(ms.vmap(function, out_axes=out_axes))(X)


def test_in_python_it_is_the_same():
    def seen(x):
        numbers.append(x.asnumpy().sum())
        return x
    numbers = []
    assert ms.vmap(seen, out_axes=(1,))(X).shape == (3, 2, 4)


def test_a_result_that_is_given_once_is_the_same_for_all_items():
    def both(x, y):
        return x + 1, y * 2

    def item_by_item(x, y):
        x.asnumpy()                                          # Python code
        return both(x, y)
    y = Tensor([1.0, 2.0])
    for function in (both, item_by_item):
        assert ms.vmap(function, (0, None), (0, None))(X, y)[1].tolist() == [2.0, 4.0]
        for run in (lambda f: f, ms.jit):
            with pytest.raises(ArgumentError, match="out_axes None"):
                run(ms.vmap(function, (0, None), (None, 0)))(X, y)
    with pytest.raises(ArgumentError, match="a result of 2 Cells has the out_axes None"):
        ms.vmap(ms.nn.CellList([ms.nn.ReLU(), ms.nn.ReLU()]), out_axes=None)(X)
