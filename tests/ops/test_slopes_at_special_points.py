"""The table of docs/special_points.md: derivatives where there is none, in eager mode and as a graph, by both modes."""
import pathlib

import numpy as np
import pytest
import special_points

import mindlite as ms
from mindlite import ops, Tensor

OF_TORCH = special_points.of_torch()


@pytest.mark.parametrize("name", special_points.TABLE)
def test_the_slope_at_a_special_point_is_torchs_or_said(name):
    points, function, _ = special_points.TABLE[name]
    _, expected = special_points.EXCEPTIONS.get(name, ("", OF_TORCH[name]))
    gradient = ms.grad(function, tuple(range(len(points[0]))))
    jitted = ms.jit(gradient)
    forward = ms.jit(lambda *xs: ms.jvp(function, xs, tuple([ops.ones_like(x) for x in xs])))
    for point, wanted in zip(points, expected, strict=True):
        args = [Tensor(np.array(values)) for values in point]
        with np.errstate(all="ignore"):
            for found in gradient(*args), jitted(*args):
                for a, b in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
                    np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-6, atol=1e-9)
            pushed = forward(*args)[1].asnumpy()
        if np.isfinite(wanted).all() and np.isfinite(pushed).all():
            np.testing.assert_allclose(pushed.sum(), np.sum(wanted), rtol=1e-6, atol=1e-9)
    assert not jitted.compiled.in_python and not forward.compiled.in_python


def test_an_exception_has_a_reason_and_is_one():
    for name, (why, gradients) in special_points.EXCEPTIONS.items():
        assert why and not all(np.allclose(a, b, 1e-6, 1e-9, equal_nan=True) for a, b in zip(gradients, OF_TORCH[name]))


def test_the_page_of_special_points_is_the_table():
    page = pathlib.Path(__file__).parents[2] / "docs" / "special_points.md"
    assert page.read_text() == special_points.page()


def test_the_slope_of_xlogy_and_xdivy_at_zero_is_that_of_the_other_factor():
    zero, y = Tensor(np.zeros(2)), Tensor(np.array([2.0, 0.5]))
    np.testing.assert_allclose(ms.grad(ops.xlogy)(zero, y).asnumpy(), np.log([2.0, 0.5]))
    np.testing.assert_allclose(ms.grad(ops.xdivy)(zero, y).asnumpy(), [0.5, 2.0])


def test_the_gradient_of_a_determinant_of_rank_n_minus_1_are_its_cofactors():
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    expected = [[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]]
    for gradient in ms.grad(ops.det), ms.jit(ms.grad(ops.det)):
        np.testing.assert_allclose(gradient(Tensor(x)).asnumpy(), expected, atol=1e-9)


@pytest.mark.parametrize("point", [[1.0, 2, 3, 4], [0.0, 2, 3, 4], [0.0, 0, 3, 4], [2.0, 0, 3, 0], [1.0, 0, 0, 0]])
@pytest.mark.parametrize("second", [ms.jacfwd, ms.jacrev])
@pytest.mark.parametrize("function", [ops.prod, lambda x: (ops.cumprod(x, 0) * Tensor(np.arange(1.0, 5))).sum()],
                         ids=["prod", "cumprod"])
def test_second_derivatives_of_products_are_right_at_zeros(function, second, point):
    n = 4
    expected = np.zeros((n, n))                                 # a sum of products of distinct elements
    sums = [(range(n), 1.0)] if function is ops.prod else [(range(k + 1), k + 1.0) for k in range(n)]
    for factors, weight in sums:
        for i in factors:
            for j in factors:
                if i != j:
                    expected[i, j] += weight * np.prod([point[k] for k in factors if k not in (i, j)] + [1.0])
    np.testing.assert_allclose(second(ms.grad(function))(Tensor(np.array(point))).asnumpy(), expected, atol=1e-12)
