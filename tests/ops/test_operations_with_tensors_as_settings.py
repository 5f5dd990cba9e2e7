"""Operator classes whose sizes, axes and places are Tensors of the call, in both modes."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import DTypeError
from mindlite.compile.jit import FallbackWarning
from mindlite.ops import operations as P

X = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
PLACES = Tensor(np.array([0, 2], np.int32))
CALLS = {
    "StridedSlice": (lambda x: P.StridedSlice()(x, Tensor([0, 1, 0]), Tensor([2, 3, 4]), Tensor([1, 1, 2])),
                     lambda x: x[0:2, 1:3, 0:4:2]),
    "IndexFill": (lambda x: P.IndexFill()(x, Tensor(1), PLACES, Tensor(-1.0)), lambda x: _filled(x)),
    "PadV3": (lambda x: P.PadV3()(x, Tensor([1, 2]), Tensor(7.0)),
              lambda x: np.pad(x, ((0, 0), (0, 0), (1, 2)), constant_values=7)),
}


def _filled(x):
    x = x.copy()
    x[:, [0, 2]] = -1
    return x


@pytest.mark.parametrize("jit", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
@pytest.mark.parametrize("name", CALLS)
def test_a_setting_may_be_a_tensor(name, jit):
    call, wanted = CALLS[name]
    np.testing.assert_array_equal(jit(call)(X).asnumpy(), wanted(X.asnumpy()))


def test_an_axis_that_is_an_input_of_the_graph_is_read_when_it_runs():
    fill = ms.jit(lambda x, axis: P.IndexFill()(x, axis, PLACES, Tensor(-1.0)))
    with pytest.warns(FallbackWarning, match="runs in Python"):
        np.testing.assert_array_equal(fill(X, Tensor(1)).asnumpy(), _filled(X.asnumpy()))
    np.testing.assert_array_equal(fill(X, Tensor(2)).asnumpy(), _filled(X.asnumpy().swapaxes(1, 2)).swapaxes(1, 2))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_uniform_draws_between_two_numbers_in_the_shape_and_dtype_of_its_argument(dtype):
    drawn = P.Uniform(minval=2.0, maxval=3.0, seed=4)
    first, second = (drawn(Tensor(np.zeros((40, 30), dtype))).asnumpy() for _ in range(2))
    assert first.dtype == dtype and first.shape == (40, 30) and first.min() >= 2 and first.max() <= 3
    assert abs(first.astype(np.float64).mean() - 2.5) < 0.05 and (first != second).any()
    with pytest.raises(DTypeError, match="Uniform: takes floats, not Int32"):
        drawn(Tensor(np.zeros(3, np.int32)))


def test_truncate_div_does_not_take_bools():
    with pytest.raises(DTypeError, match="truncate_div: does not take bool"):
        P.TruncateDiv()(Tensor([True]), Tensor([False]))


SHAPES = {"ones": lambda shape: ops.ones(shape), "full": lambda shape: ops.full(shape, 2.0),
          "broadcast_to": lambda shape: ops.broadcast_to(Tensor([1.0, 2.0, 3.0]), shape),
          "reshape": lambda shape: ops.reshape(Tensor(np.arange(6)), shape), "rand": lambda shape: ops.rand(shape, seed=1)}


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_in_a_tensor_are_read_when_the_graph_runs(name):
    made = ms.jit(SHAPES[name], fullgraph=True)
    for sizes in ([2, 3], [1, 2, 3][1:], [2, 3][::1]):
        np.testing.assert_array_equal(made(Tensor(sizes)).asnumpy(), SHAPES[name](tuple(sizes)).asnumpy())
    if name in ("ones", "full"):
        assert made(Tensor([4, 5])).shape == (4, 5) and len(made.variants) == 1


def test_tensors_round_to_places_given_by_position():
    x = Tensor([1.26, -2.34])
    np.testing.assert_allclose(x.round(1).asnumpy(), [1.3, -2.3], rtol=1e-6)
    np.testing.assert_allclose(ms.jit(lambda x: x.round(1), fullgraph=True)(x).asnumpy(), [1.3, -2.3], rtol=1e-6)
