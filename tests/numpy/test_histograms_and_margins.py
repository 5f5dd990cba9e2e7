"""Histograms over several axes, margins of arrays, and what else NumPy has: NumPy is the oracle."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindlite.numpy as mnp
from mindlite import Tensor
from mindlite.common.errors import ArgumentError, ValueRangeError

draw = np.random.RandomState(5)


@settings(max_examples=60, deadline=None)
@given(mode=st.sampled_from(["linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "edge", "wrap"]),
       kind=st.sampled_from(["even", "odd"]), shape=st.lists(st.integers(2, 4), min_size=1, max_size=2),
       data=st.data(), dtype=st.sampled_from([np.float32, np.int32]))
def test_margins_are_those_of_numpy(mode, kind, shape, data, dtype):
    x = (draw.rand(*shape) * 9 - 4).astype(dtype)
    widths = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=len(shape), max_size=len(shape)))
    options = {"linear_ramp": {"end_values": data.draw(st.integers(-5, 5))}, "reflect": {"reflect_type": kind},
               "symmetric": {"reflect_type": kind}}.get(mode, {})
    if mode in ("maximum", "mean", "minimum") and data.draw(st.booleans()):
        options["stat_length"] = data.draw(st.integers(1, 4))
    wanted = np.pad(x, widths, mode, **options)
    got = mnp.pad(Tensor(x), widths, mode, **options).asnumpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    assert got.dtype == wanted.dtype


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("bins, limits", [(3, None), ([2, 4], None), ([2, 3], [(0, 1), (0.2, 0.7)]),
                                          ([[0.0, 0.3, 1.0], 4], None)])
def test_histograms_of_points_are_those_of_numpy(bins, limits, density):
    x, y, weights = (draw.rand(40).astype(np.float32) for _ in range(3))
    for weight in (None, weights):
        wanted = np.histogram2d(x, y, bins, limits, density, weight)
        got = mnp.histogram2d(Tensor(x), Tensor(y), bins, limits, None if weight is None else Tensor(weight), density)
        for a, b in zip(got, wanted):
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-4)
    counts, edges = mnp.histogramdd(Tensor(np.stack([x, y, weights], 1)), 2)
    wanted, lines = np.histogramdd(np.stack([x, y, weights], 1), 2)
    np.testing.assert_array_equal(counts.asnumpy(), wanted)
    for a, b in zip(edges, lines):
        np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-5)
    with pytest.raises(ArgumentError):
        mnp.histogramdd(Tensor(np.ones((4, 3), np.float32)), [2, 2])


def test_powers_of_matrices_and_places_are_those_of_numpy():
    m = draw.rand(2, 3, 3).astype(np.float32)
    for n in (0, 1, 5):
        np.testing.assert_allclose(mnp.matrix_power(Tensor(m), n).asnumpy(), np.linalg.matrix_power(m, n), rtol=1e-4)
    with pytest.raises(ValueRangeError):
        mnp.matrix_power(Tensor(m), -1)
    for decimals in (0, 1):
        np.testing.assert_allclose(mnp.around(Tensor(m), decimals).asnumpy(), np.around(m, decimals), rtol=1e-6)
    x = np.array([[1, 0, 2], [0, 0, 3]])
    np.testing.assert_array_equal(mnp.argwhere(Tensor(x)).asnumpy(), np.argwhere(x))
    np.testing.assert_array_equal(mnp.repeat(Tensor(x), [2, 0], axis=0).asnumpy(), np.repeat(x, [2, 0], axis=0))
    assert str(mnp.result_type("i2", np.float32, True)) == "Float32"
