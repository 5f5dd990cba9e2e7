"""An index outside of its axis is an error in a graph, as in eager mode, also where it is known at run time only; what is
inside by how it was made is not looked at."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, jit, ops
from mindlite.common.errors import IndexRangeError
from mindlite.compile.jit import JitFunction
from mindlite.mindir.printer import show


def put(x, i):
    x = x * 1
    x[i] = 5.0
    return x


def summed(x, i):
    total, k = 0.0, 0
    while k < i:
        total, k = total + x[k] * 2, k + 1
    return total


def text_of(f):
    """The graph of the first variant as text."""
    return show(f.variants[0].compiled.specialised.graph)


NUMBERS = {
    "x[i]": lambda x, i: x[i],
    "x[i % 2]": lambda x, i: x[i % 2] * 2,
    "x[..., i, None]": lambda x, i: x[..., i, None],
    "x[-i]": lambda x, i: x[-i],
    "x[i] = 5": put,
    "x[k] in a while": summed,
    "x[Tensor(0) + i]": lambda x, i: x[Tensor(0) + i],
}


@pytest.mark.python_runs("summed: a loop without iterations leaves a variable as it was")
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_outside_of_the_axis_ends_a_graph_as_it_ends_eager_mode(name):
    function = NUMBERS[name]
    graph, ends = jit(function), set()
    for n, i in ((2, 1), (2, 0), (2, 2), (2, -2), (2, -3), (1, 1), (3, 1), (1, 4), (1, -3), (3, 2)):
        results = []
        for run in function, graph:
            try:
                results.append(np.asarray(run(Tensor(np.arange(n, dtype=np.float32)), i)).tolist())
            except IndexRangeError as error:
                results.append(str(error).split("\n")[0])
        assert results[0] == results[1], (n, i)
        ends.add(type(results[0]))
    assert len(ends) == 2                                     # some raised and some did not


TENSORS = {
    "x[t, t]": lambda x, t: x[t, t % 3],
    "x[t, 1]": lambda x, t: x[t, 1],
    "gather": lambda x, t: ops.gather(x, t, 0),
    "gather_nd": lambda x, t: ops.gather_nd(x, t.reshape(-1, 1)),
    "tensor_scatter_update": lambda x, t: ops.tensor_scatter_update(x, t.reshape(-1, 1), ops.ones((t.size, 3), x.dtype)),
    "index_add": lambda x, t: ops.index_add(x, t, ops.ones((t.size, 3), x.dtype), 0),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_of_indices_outside_of_the_axis_ends_a_graph_as_it_ends_eager_mode(name):
    function = TENSORS[name]
    graph, raised = jit(function), 0
    for n, indices in ((2, [1, 0]), (2, [1, -1]), (2, [1, 2]), (2, [-3, 0]), (3, [0, 3]), (3, [0, 2])):
        results = []
        for run in function, graph:
            x = Tensor(np.arange(3 * n, dtype=np.float32).reshape(n, 3))
            try:
                results.append(run(x, Tensor(np.array(indices, np.int32))).asnumpy().tolist())
            except IndexRangeError as error:
                results.append(str(error).split("\n")[0])
                raised += 1
        assert results[0] == results[1], (n, indices)
    assert raised == 6


def test_the_numbers_of_a_loops_turns_are_not_checked():
    def function(x, n):
        total = x[0]
        for t in range(x.shape[0]):
            total = total + x[t] * x[x.shape[0] - 1 - t] + x[t % 3]
        for t in range(1, x.shape[0], 1):
            total = total + x[t - 1]
        for row in x:
            total = total + row
        return total
    f = JitFunction(function)
    x = Tensor(np.arange(12, dtype=np.float32).reshape(6, 2))
    assert np.allclose(f(x, 1).asnumpy(), function(x, 1).asnumpy())
    assert "= check(" not in text_of(f)


def test_places_of_what_is_true_are_not_checked_in_the_axes_where_they_were_found():
    def checks(function, *args):
        f = JitFunction(function)
        assert np.allclose(f(*args).asnumpy(), function(*args).asnumpy())
        return text_of(f).count("= check(")
    wide, low = Tensor(np.arange(24, dtype=np.float32).reshape(8, 3)), Tensor(np.arange(3, dtype=np.float32))
    assert checks(lambda x, m: x[m], wide, wide > 5) == 0
    assert checks(lambda x, m: x[m.nonzero()[:, 0]], wide, wide > 5) == 0
    assert checks(lambda x, m: x[m.nonzero()[:, 0]], low, wide < 9) == 1      # rows of 8 in an axis of 3


def test_what_is_kept_between_bounds_is_not_checked():
    def checks(function):
        f, x, t = JitFunction(function), Tensor(np.arange(24, dtype=np.float32)), Tensor(np.array([3, -70, 9, 50]))
        assert np.allclose(f(x, t).asnumpy(), function(x, t).asnumpy())
        return text_of(f).count("= check(")
    assert checks(lambda x, t: x[ops.minimum(ops.maximum(t, 0), 23)]) == 0
    assert checks(lambda x, t: x[ops.minimum(ops.maximum(t, -24), 23)]) == 0
    assert checks(lambda x, t: ops.gather(x, ops.maximum(ops.minimum(t, 3), 0) * 4 + ops.where(t > 5, 3, 1), 0)) == 0
    assert checks(lambda x, t: ops.gather(x, ops.arange(4) * 5 + ops.arange(3).reshape((3, 1)), 0)) == 0
    assert checks(lambda x, t: x[ops.minimum(ops.maximum(t, 0), 24) - 1]) == 1          # what is known of differences is not used
    assert checks(lambda x, t: x[ops.minimum(t, 3) * 0]) == 1
    assert checks(lambda x, t: x[ops.cast(ops.maximum(ops.minimum(t, 3), 0) - 0, ms.int8) * 5 % 24]) == 1


def test_what_is_kept_between_wrong_bounds_is_checked():
    x, t = Tensor(np.arange(24, dtype=np.float32)), Tensor(np.array([3, 50]))
    for function in (lambda x, t: x[ops.minimum(ops.maximum(t, 0), 24)], lambda x, t: x[ops.maximum(t, 0)],
                     lambda x, t: x[ops.minimum(ops.maximum(t, 0), 11) * 3]):
        with pytest.raises(IndexRangeError):
            jit(function)(x, t)
