"""Operands without elements or axes, infinities and other dtypes: what functions made of several operators give for them, in both
modes. The numbers are torch's."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, mint, ops

F, INF, NAN = mint.nn.functional, np.inf, np.nan
NONE, GRID = np.zeros((0, 1, 4, 4), np.float32), np.full((1, 1, 2, 2), NAN, np.float32)
MASK = np.array([[1, 0, 1], [0, 0, 0]], bool)
Q, KEYS = np.ones((2, 4), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
ONE = np.float32(1)


def masked(mask):
    """Attention, and its gradient by the query, where a row may see nothing."""
    attend = lambda q: ops.scaled_dot_product_attention(q, Tensor(KEYS), Tensor(KEYS), Tensor(mask))  # noqa: E731
    return lambda q: ops.isfinite(ms.grad(lambda q: attend(q).sum())(q)).all() & ops.equal(attend(q)[1], 0).all()


CALLS = {
    "unfold": (lambda x: F.unfold(x, 2), [NONE], np.zeros((0, 4, 9))),
    "fold": (lambda x: F.fold(x, (4, 4), 2), [np.zeros((0, 4, 9), np.float32)], np.zeros((0, 1, 4, 4))),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), [NONE], np.zeros((0, 1, 3, 2))),
    "grid_sample": (F.grid_sample, [NONE, np.zeros((0, 2, 3, 2), np.float32)], np.zeros((0, 1, 2, 3))),
    "grid_sample at nan": (F.grid_sample, [np.ones((1, 1, 3, 3), np.float32), GRID], [[[[NAN, NAN]]]]),
    "index_copy": (lambda x, i, s: ops.index_copy(x, 0, i, s), [KEYS, np.zeros(0, np.int64), np.zeros((0, 4), np.float32)], KEYS),
    "trapz": (ops.trapz, [np.zeros((2, 0), np.float32)], [0, 0]), "histc": (lambda x: ops.histc(x, 3), [NONE], [0, 0, 0]),
    "gather": (lambda x, i: mint.gather(x, 0, i), [ONE, np.int64(0)], 1), "index_fill": (
        lambda x, i: ops.index_fill(x, 0, i, 3), [ONE, np.array([0])], 3),
    "scatter": (lambda x, i: mint.scatter(x, 0, i, x * 2), [ONE, np.int64(0)], 2),
    "scatter_add": (lambda x, i: mint.scatter_add(x, 0, i, x * 2), [ONE, np.int64(0)], 3),
    "complex": (ops.complex, [np.array([1, INF]), np.array([INF, 2.0])], [complex(1, INF), complex(INF, 2)]),
    "complex of halves": (ms.grad(lambda x: ops.real(ops.complex(x, x) ** 2).sum() + ops.imag(ops.complex(x, 2 * x)).sum()),
                          [np.array([1, 2], np.float16)], [2, 2]),
    "isclose": (ops.isclose, [np.array([1j, INF, 2j]), np.array([1j + 1e-9, INF, 2])], [True, True, False]),
    "float_power": (lambda x: mint.float_power(x, 2), [np.array([1j], np.complex64)], [-1 + 0j]),
    "bincount": (ops.bincount, [np.array([1, 1, 1]), np.array([100, 100, 100], np.int8)], [0, 300]),
    "bincount of mint": (mint.bincount, [np.array([1, 1]), np.array([0.5, 0.25], np.float16)], [0, 0.75]),
    "addbmm": (lambda x, y: mint.addbmm(x, y, y).astype(ms.float32), [np.ones((2, 2), np.int8), np.ones((3, 2, 2), np.int8)],
               [[7, 7], [7, 7]]),
    "vander": (lambda x: ops.vander(x, 3), [np.array([INF, NAN])], [[INF, INF, 1], [NAN, NAN, 1]]),
    "vander of bytes": (lambda x: ops.vander(x, 3), [np.array([200], np.uint8)], [[40000, 200, 1]]),
    "logsumexp": (lambda x: ops.logsumexp(x, 0), [np.array([0, 0])], np.log(2)),
    "digamma": (ops.digamma, [np.array([0.0, -1.0, -2.0])], [-INF, NAN, NAN]),
    "polygamma": (lambda x: ops.polygamma(2, x), [np.array([0.0, -1.0])], [-INF, -INF]),
    "igamma": (ops.igamma, [np.array([INF, INF, 2, 0, 0, -1]), np.array([1.5, INF, INF, 1, 0, INF])], [0, NAN, 1, 1, NAN, NAN]),
    "igammac": (ops.igammac, [np.array([INF, INF, 2, 0]), np.array([1.5, INF, INF, 1])], [1, NAN, 0, 0]),
    "attention": (masked(MASK), [Q], True), "attention, -inf": (masked(np.where(MASK, 0, -INF).astype(np.float32)), [Q], True),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_has_no_elements_no_axes_or_no_end_gives_what_torch_gives(name):
    run, operands, wanted = CALLS[name]
    for made in (run, ms.jit(run, fullgraph=True)):
        out = made(*map(Tensor, operands)).asnumpy()
        assert out.shape == np.shape(wanted)
        np.testing.assert_allclose(out, wanted, 1e-6)


def test_means_of_an_axis_without_elements_are_refused():
    with pytest.raises(ms.common.errors.ShapeError, match="an axis without elements has no means"):
        F.adaptive_avg_pool3d(Tensor(np.ones((1, 2, 3, 0), np.float32)), 1)
