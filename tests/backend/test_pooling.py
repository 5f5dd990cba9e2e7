"""The pooling kernels against their definition: strides, dilation, padding, ceiling, ties, NaN, counts."""
import itertools

import numpy as np
import pytest

from mindlite.backend.cpu.pooling import KINDS, SIZES, WINDOW, pool2d_kernel
from mindlite.common import dtype as dtypes

#        N  C  H  W  OH OW KH KW SH SW PT PB PL PR DH DW include divisor
CASES = {
    "halves":            (2, 3, 6, 8, 3, 4, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0, 0),
    "odd sizes":         (1, 2, 7, 5, 3, 2, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0, 0),
    "apart, wide":       (2, 2, 5, 41, 2, 20, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0, 0),
    "apart, padded":     (1, 2, 7, 25, 4, 13, 2, 2, 2, 2, 1, 0, 1, 0, 1, 1, 0, 0),
    "three lines":       (1, 2, 9, 22, 3, 11, 3, 2, 3, 2, 0, 0, 0, 0, 1, 1, 0, 0),
    "overlapping":       (2, 2, 6, 7, 4, 5, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0),
    "padded":            (1, 3, 6, 7, 3, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0),
    "padding counts":    (1, 3, 6, 7, 3, 4, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 0),
    "rounded up":        (1, 2, 6, 6, 3, 3, 3, 3, 2, 2, 0, 0, 0, 0, 1, 1, 1, 0),
    "asymmetric":        (1, 2, 5, 6, 3, 2, 2, 3, 2, 3, 0, 1, 1, 0, 1, 1, 1, 0),
    "divisor":           (1, 2, 6, 8, 3, 4, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0, 3),
    "dilated":           (1, 2, 9, 9, 5, 7, 3, 2, 1, 1, 0, 0, 0, 0, 2, 2, 0, 0),
    "stride three":      (1, 2, 9, 10, 3, 4, 3, 1, 3, 3, 0, 0, 0, 0, 1, 1, 0, 0),
    "the whole picture": (2, 3, 4, 5, 1, 1, 4, 5, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0),
    "empty batch":       (0, 3, 6, 8, 3, 4, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0, 0),
    "empty output":      (1, 3, 1, 8, 0, 4, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0, 0),
}
NAMES = ("N", "C", "H", "W", "OH", "OW", "KH", "KW", "SH", "SW", "PT", "PB", "PL", "PR", "DH", "DW", "INCLUDE_PAD", "DIVISOR")
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}


def windows(sizes):
    """For every output (i, j): the places inside the picture in row-major order, and the divisor of avg."""
    s = dict(zip(NAMES, sizes))
    for i, j in itertools.product(range(s["OH"]), range(s["OW"])):
        rows = [i * s["SH"] - s["PT"] + p * s["DH"] for p in range(s["KH"])]
        columns = [j * s["SW"] - s["PL"] + q * s["DW"] for q in range(s["KW"])]
        places = [(r, c) for r in rows for c in columns if 0 <= r < s["H"] and 0 <= c < s["W"]]
        padded = [(r, c) for r in rows for c in columns if r < s["H"] + s["PB"] and c < s["W"] + s["PR"]]
        yield i, j, places, s["DIVISOR"] or max(1, len(padded if s["INCLUDE_PAD"] else places))


def definition(kind, x, dout, sizes):
    """The pooling or its gradient in float64, pixel by pixel."""
    out, dx = np.zeros(dout.shape), np.zeros(x.shape)
    for n, c in np.ndindex(x.shape[:2]):
        picture, wanted = x[n, c].astype(np.float64), dout[n, c].astype(np.float64)
        for i, j, places, count in windows(sizes):
            values = [picture[place] for place in places]
            if kind.startswith("avg"):
                out[n, c, i, j] = sum(values) / count
                for place in places:
                    dx[n, c][place] += wanted[i, j] / count
            elif places:
                nans = [k for k, value in enumerate(values) if np.isnan(value)]
                winner = nans[-1] if nans else int(np.argmax(values))
                out[n, c, i, j] = values[winner]
                dx[n, c][places[winner]] += wanted[i, j]
            else:
                out[n, c, i, j] = -np.inf
    return out if kind.endswith("forward") else dx


def run(call, kind, dtype, x, dout, sizes, begin=0, end=None):
    named = dict(zip(NAMES, sizes))
    kernel = pool2d_kernel(kind, dtype, [named[name] for name in WINDOW])
    result = np.full(dout.shape if kind.endswith("forward") else x.shape, 77, dtype.numpy)
    inputs = {"max_forward": [x], "avg_forward": [x], "max_backward": [x, dout], "avg_backward": [dout]}[kind]
    call(kernel, [*inputs, result], [named[name] for name in SIZES],
         begin=begin, extent=sizes[0] * sizes[1] if end is None else end)
    return result


def drawn(sizes, dtype, values=None):
    """x and dout: normal, or drawn from `values`."""
    n, c, h, w, oh, ow, *_ = sizes
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, c, h, w)) if values is None else rng.choice(values, (n, c, h, w))
    return x.astype(dtype.numpy), rng.standard_normal((n, c, oh, ow)).astype(dtype.numpy)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_pooling_follows_its_definition(call, lanes, kind, dtype, part):
    for sizes in [*CASES.values()][part::3]:
        x, dout = drawn(sizes, dtype)
        np.testing.assert_allclose(run(call, kind, dtype, x, dout, sizes).astype(np.float64),
                                   definition(kind, x, dout, sizes), rtol=TOLERANCE[dtype.name],
                                   atol=TOLERANCE[dtype.name])


def test_of_equal_maxima_the_first_gets_the_gradient(call):
    for name in ("halves", "overlapping", "padded"):
        x, dout = drawn(CASES[name], dtypes.float32, values=[0, 1])
        np.testing.assert_allclose(run(call, "max_backward", dtypes.float32, x, dout, CASES[name]),
                                   definition("max_backward", x, dout, CASES[name]), rtol=1e-5, atol=1e-6)


def test_nan_and_infinities_go_through_a_maximum(call):
    for values in ([np.nan, 1, 2, 3], [-np.inf, np.inf, 0], [-np.inf]):
        x, dout = drawn(CASES["padded"], dtypes.float32, values=values)
        for kind in ("max_forward", "max_backward"):
            np.testing.assert_allclose(run(call, kind, dtypes.float32, x, dout, CASES["padded"]),
                                       definition(kind, x, dout, CASES["padded"]), rtol=1e-5, atol=1e-6)


def test_a_window_outside_the_picture_gives_minus_infinity_or_zero(call):
    sizes = (1, 1, 2, 2, 3, 3, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0)
    x, dout = drawn(sizes, dtypes.float32)
    assert run(call, "max_forward", dtypes.float32, x, dout, sizes)[0, 0, 0, 0] == -np.inf
    assert run(call, "avg_forward", dtypes.float32, x, dout, sizes)[0, 0, 0, 0] == 0
    np.testing.assert_array_equal(run(call, "max_backward", dtypes.float32, x, dout, sizes), dout[:, :, 1:, 1:])


def test_a_chunk_of_planes_writes_those_planes_alone(call):
    x, dout = drawn(CASES["halves"], dtypes.float32)
    for kind in KINDS:
        whole, part = (run(call, kind, dtypes.float32, x, dout, CASES["halves"], *chunk) for chunk in ((0, 6), (2, 5)))
        whole, part = (a.reshape(6, -1) for a in (whole, part))
        np.testing.assert_array_equal(part[2:5], whole[2:5])
        assert (part[[0, 1, 5]] == 77).all()


def test_unknown_kinds_are_refused_and_integers_have_no_kernel():
    with pytest.raises(ValueError, match="no pooling of kind 'median'"):
        pool2d_kernel("median", "float32", (2, 2, 2, 2, 1, 1))
    assert pool2d_kernel("max_forward", "int32", (2, 2, 2, 2, 1, 1)) is None
