"""Initialisers against the moments and bounds that their papers give."""
import math

import numpy as np
import pytest

from mindlite.common import dtype as dt
from mindlite.common import initializer as init
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.common.seed import generator, get_seed, set_seed, when_seeded
from mindlite.common.tensor import Parameter, Tensor


@pytest.fixture(autouse=True)
def seeded():
    set_seed(7)


def test_the_same_seed_gives_the_same_values_and_another_seed_does_not():
    first = init.initializer("normal", (4, 5)).asnumpy().copy()
    set_seed(7)
    assert np.array_equal(init.initializer("normal", (4, 5)).asnumpy(), first)
    set_seed(8)
    assert not np.array_equal(init.initializer("normal", (4, 5)).asnumpy(), first)


def test_set_seed_is_remembered_tells_listeners_and_seeds_numpy():
    told = []
    when_seeded(told.append)
    set_seed(11)
    first = np.random.rand()
    set_seed(11)
    assert (told, get_seed(), np.random.rand()) == ([7, 11, 11], 11, first)


@pytest.mark.parametrize("seed, error", [(-1, ValueRangeError), (2 ** 32, ValueRangeError), (1.5, ArgumentError),
                                         (True, ArgumentError)])
def test_a_bad_seed_is_refused(seed, error):
    with pytest.raises(error):
        set_seed(seed)


@pytest.mark.parametrize("name, sigma", [
    ("normal", 0.01), ("uniform", 0.07 / math.sqrt(3)),
    ("xavier_uniform", math.sqrt(2 / 500)), ("XavierNormal", math.sqrt(2 / 500)),
    ("he_uniform", math.sqrt(2 / 200)), ("he_normal", math.sqrt(2 / 200)), ("variance_scaling", math.sqrt(1 / 200)),
    ("truncatedNormal", 0.01 * 0.87962566), ("orthogonal", math.sqrt(1 / 300))])
def test_random_initialisers_have_the_standard_deviation_of_their_formula(name, sigma):
    values = init.initializer(name, (300, 200)).asnumpy()
    assert values.dtype == np.float32
    assert abs(values.mean()) < 4 * sigma / math.sqrt(values.size)
    assert values.std() == pytest.approx(sigma, rel=0.02)


def test_truncated_normal_stays_inside_its_bounds():
    values = init.initializer(init.TruncatedNormal(sigma=2.0, mean=1.0, a=-0.5, b=1.0), (1000,)).asnumpy()
    assert values.min() >= 0.0 and values.max() <= 3.0


def test_the_fan_of_a_convolution_counts_its_window():
    assert init.fans((8, 3, 5, 5)) == (75, 200)
    values = init.initializer(init.HeUniform(math.sqrt(5)), (64, 3, 5, 5)).asnumpy()
    assert np.abs(values).max() <= 1 / math.sqrt(75) and np.abs(values).max() > 0.95 / math.sqrt(75)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 2)])
def test_orthogonal_rows_or_columns_are_orthonormal(shape):
    matrix = init.initializer(init.Orthogonal(2.0), shape, dt.float64).asnumpy().reshape(shape[0], -1) / 2
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    assert np.allclose(product, np.eye(len(product)))


def test_dirac_is_the_kernel_that_passes_its_input_through():
    kernel = init.initializer(init.Dirac(groups=2), (4, 2, 3, 3)).asnumpy()
    image = np.random.default_rng(0).normal(size=(4, 5, 5))
    for channel in range(4):
        window = image[channel // 2 * 2:channel // 2 * 2 + 2]
        out = [[(window[:, i:i + 3, j:j + 3] * kernel[channel]).sum() for j in range(3)] for i in range(3)]
        assert np.allclose(out, image[channel, 1:4, 1:4])


def test_sparse_leaves_that_fraction_of_each_column_at_zero():
    assert ((init.initializer(init.Sparse(0.25), (8, 3)).asnumpy() == 0).sum(axis=0) == 2).all()


def test_constants_names_numbers_and_tensors_are_taken():
    assert init.initializer("ones", 3).asnumpy().tolist() == [1, 1, 1]
    assert init.initializer(2, [2], dt.int32).dtype is dt.int32
    assert init.initializer(init.Identity(), (2, 3)).asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.initializer(Tensor([1.0, 2.0]), (2,)).asnumpy().tolist() == [1, 2]
    assert Parameter(init.initializer("zeros", (2, 2)), name="w").shape == (2, 2)
    assert repr(init.HeUniform(negative_slope=1)) == "HeUniform(negative_slope=1, mode=fan_in, nonlinearity=leaky_relu)"


def test_what_is_no_initialiser_is_refused():
    for bad, shape, error in [("nosuch", (2,), ValueRangeError), (None, (2,), ArgumentError),
                              (True, (2,), ArgumentError), (Tensor([1.0]), (2,), ShapeError),
                              ("he_normal", (2,), ShapeError),
                              ("zeros", (-1,), ArgumentError), ("zeros", 2.5, ArgumentError)]:
        with pytest.raises(error):
            init.initializer(bad, shape)
    with pytest.raises(ValueRangeError):
        init.HeNormal(mode="fan_avg")
    assert generator() is generator()
