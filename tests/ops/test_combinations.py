"""Operators that are combinations of others are NumPy's functions (or their formulas), in eager mode, compiled, mapped."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, IndexRangeError, ShapeError
from mindlite.ops.methods import METHODS

rng = np.random.default_rng(4)


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def segments(fold, start):
    def by_definition(x, ids, n):
        out = np.full((n, *x.shape[1:]), start, x.dtype)
        for k in range(n):
            if (ids == k).any():
                out[k] = fold(x[ids == k], 0)
        return out
    return by_definition


def distances(x, y, p):
    return (np.abs(x[:, None] - y[None]) ** p).sum(-1) ** (1 / p)


IDS = np.array([1, 0, 1, 3, 3])
LIMITS = np.finfo(np.float32)
TRAPEZOID = np.trapezoid if hasattr(np, "trapezoid") else np.trapz         # NumPy 1
CASES = {
    "atleast_1d": (lambda x: ops.atleast_1d(x), np.atleast_1d, [f()]),
    "atleast_2d": (lambda x: ops.atleast_2d(x), np.atleast_2d, [f(3)]),
    "atleast_3d": (lambda x, y: ops.atleast_3d((x, y)), lambda x, y: np.atleast_3d(x, y), [f(3), f(2, 3)]),
    "hstack": (lambda x, y: ops.hstack((x, y)), lambda x, y: np.hstack((x, y)), [f(2, 3), f(2, 1)]),
    "hstack rows": (lambda x, y: ops.hstack((x, y)), lambda x, y: np.hstack((x, y)), [f(2), f(3)]),
    "vstack": (lambda x, y: ops.vstack([x, y]), lambda x, y: np.vstack((x, y)), [f(3), f(3)]),
    "dstack": (lambda x, y: ops.dstack([x, y]), lambda x, y: np.dstack((x, y)), [f(2, 3), f(2, 3)]),
    "column_stack": (lambda x, y: ops.column_stack([x, y]), lambda x, y: np.column_stack((x, y)), [f(3), f(3, 2)]),
    "tensor_split": (lambda x: ops.tensor_split(x, 3, 1), lambda x: np.array_split(x, 3, 1), [f(2, 7)]),
    "tensor_split at": (lambda x: ops.tensor_split(x, (2, -1)), lambda x: np.array_split(x, (2, -1)), [f(5)]),
    "hsplit": (lambda x: ops.hsplit(x, 2), lambda x: np.hsplit(x, 2), [f(2, 4)]),
    "vsplit": (lambda x: ops.vsplit(x, (1,)), lambda x: np.vsplit(x, (1,)), [f(3, 4)]),
    "dsplit": (lambda x: ops.dsplit(x, 2), lambda x: np.dsplit(x, 2), [f(2, 1, 4)]),
    "block_diag": (lambda x, y: ops.block_diag(x, y), lambda x, y: np.block(
        [[x, np.zeros((2, 3))], [np.zeros((1, 1)), y[None]]]), [f(2, 1), f(3)]),
    "cross": (lambda x, y: ops.cross(x, y, 1), lambda x, y: np.cross(x, y, axis=1), [f(2, 3), f(2, 3)]),
    "kron": (ops.kron, np.kron, [f(2, 3), f(3, 1)]),
    "kron of a row": (ops.kron, np.kron, [f(3), f(2, 2)]),
    "ger": (ops.ger, np.outer, [f(3), f(2)]),
    "addr": (lambda a, x, y: ops.addr(a, x, y, 2, 3), lambda a, x, y: 2 * a + 3 * np.outer(x, y), [f(3, 2), f(3), f(2)]),
    "addbmm": (ops.addbmm, lambda a, x, y: a + (x @ y).sum(0), [f(2, 4), f(5, 2, 3), f(5, 3, 4)]),
    "vecdot": (ops.vecdot, lambda x, y: (x * y).sum(-1), [f(2, 3), f(2, 3)]),
    "bidense": (ops.bidense, lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b,
                [f(4, 2), f(4, 3), f(5, 2, 3), f(5)]),
    "cdist": (ops.cdist, lambda x, y: distances(x, y, 2), [f(4, 3), f(5, 3)]),
    "cdist 1": (lambda x, y: ops.cdist(x, y, 1.0), lambda x, y: distances(x, y, 1), [f(4, 3), f(5, 3)]),
    "cdist 3": (lambda x, y: ops.cdist(x, y, 3.0), lambda x, y: distances(x, y, 3), [f(4, 3), f(5, 3)]),
    "dist": (ops.dist, lambda x, y: np.linalg.norm(x - y), [f(4), f(4)]),
    "vander": (lambda x: ops.vander(x, 3), lambda x: np.vander(x, 3), [f(4)]),
    "trapz": (lambda y: ops.trapz(y, dx=0.5, dim=0), lambda y: TRAPEZOID(y, dx=0.5, axis=0), [f(5, 2)]),
    "trapz at": (lambda y, x: ops.trapz(y, x), lambda y, x: TRAPEZOID(y, x), [f(2, 5), f(5)]),
    "matrix_band_part": (lambda x: ops.matrix_band_part(x, 1, -1), lambda x: np.triu(x, -1), [f(2, 4, 3)]),
    "matrix_band_part both": (lambda x: ops.matrix_band_part(x, 0, 1), lambda x: np.tril(np.triu(x), 1), [f(4, 4)]),
    "matrix_diag": (ops.matrix_diag, lambda x: x[..., None] * np.eye(3, dtype=x.dtype), [f(2, 3)]),
    "ptp": (lambda x: ops.ptp(x, 1), lambda x: np.ptp(x, 1), [f(2, 4)]),
    "unsorted_segment_sum": (lambda x: ops.unsorted_segment_sum(x, Tensor(IDS), 4),
                             lambda x: segments(np.sum, 0)(x, IDS, 4), [f(5, 2)]),
    "unsorted_segment_max": (lambda x: ops.unsorted_segment_max(x, Tensor(IDS), 4),
                             lambda x: segments(np.max, LIMITS.min)(x, IDS, 4), [f(5, 2)]),
    "unsorted_segment_min": (lambda x: ops.unsorted_segment_min(x, Tensor(IDS), 4),
                             lambda x: segments(np.min, LIMITS.max)(x, IDS, 4), [f(5)]),
    "unsorted_segment_prod": (lambda x: ops.unsorted_segment_prod(x, Tensor(IDS), 4),
                              lambda x: segments(np.prod, 1)(x, IDS, 4), [f(5, 2)]),
    "signbit": (ops.signbit, np.signbit, [np.array([1, -1, 0.0, -0.0], np.float32)]),
    "copysign": (ops.copysign, np.copysign, [f(4), np.array([1, -1, 0.0, -0.0], np.float32)]),
    "logit": (ops.logit, lambda x: np.log(x / (1 - x)), [rng.uniform(0.1, 0.9, 4).astype(np.float32)]),
    "fast_gelu": (ops.fast_gelu, lambda x: x / (1 + np.exp(-1.702 * x)), [f(4)]),
    "swiglu": (ops.swiglu, lambda x: x[:, :2] / (1 + np.exp(-x[:, :2])) * x[:, 2:], [f(3, 4)]),
    "approximate_equal": (lambda x, y: ops.approximate_equal(x, y, 0.5), lambda x, y: np.abs(x - y) < 0.5, [f(4), f(4)]),
    "renorm": (lambda x: ops.renorm(x, 2, 0, 1.0),
               lambda x: x * np.minimum(1, 1 / np.linalg.norm(x, axis=1, keepdims=True)), [f(3, 4)]),
    "clip_by_norm": (lambda x, y: ops.clip_by_norm((x, y), 1.0),
                     lambda x, y: [v / np.sqrt((x * x).sum() + (y * y).sum()) for v in (x, y)], [f(3, 4), f(5)]),
    "inplace_add": (lambda x, v: ops.inplace_add(x, v, (2, 0)),
                    lambda x, v: x + np.stack([v[1], v[0] * 0, v[0]]), [f(3, 2), f(2, 2)]),
    "inplace_update": (lambda x, v: ops.inplace_update(x, v, 1), lambda x, v: np.stack([x[0], v[0], x[2]]),
                       [f(3, 2), f(1, 2)]),
}


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, (tuple, list)) else \
        [value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_combination_is_its_definition_in_eager_mode_and_compiled(case):
    function, definition, arrays = case
    want = flat(definition(*arrays))
    for way in (function, ms.jit(function)):
        got = flat(way(*map(Tensor, arrays)))
        assert len(got) == len(want)
        for a, b in zip(got, want):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", [c for name, c in CASES.items() if name not in ("atleast_1d", "clip_by_norm")],
                         ids=[name for name in CASES if name not in ("atleast_1d", "clip_by_norm")])
def test_a_combination_is_mapped_item_by_item(case):
    function, _, arrays = case
    several = [Tensor(np.stack([x, x * 0.5 + 0.1])) for x in arrays]
    got = flat(ms.vmap(function)(*several))
    for i in range(2):
        for a, b in zip(got, flat(function(*[x[i] for x in several]))):
            np.testing.assert_allclose(a[i], b, rtol=1e-4, atol=1e-5)


def test_the_distance_of_equal_rows_has_the_gradient_zero():
    x = Tensor(f(3, 2))
    gradient = ms.grad(lambda a: ops.cdist(a, a).sum())(x).asnumpy()
    assert np.isfinite(gradient).all()
    np.testing.assert_array_equal(ms.grad(lambda a: ops.dist(a, a))(x).asnumpy(), np.zeros((3, 2)))


def test_gradients_of_distances_are_sums_over_pairs_far_from_zero_and_for_no_rows():
    x, y, weights = f(6, 3) + 1e4, f(7, 3) + 1e4, f(6, 7)
    wide = [a.astype(np.float64) for a in (x, y, weights)]
    apart = wide[0][:, None] - wide[1][None]
    pulled = (wide[2] / np.sqrt((apart ** 2).sum(-1)))[..., None] * apart
    for way in (lambda g: g, ms.jit):
        derive = way(ms.grad(ops.cdist, (0, 1), sens_param=True))
        got = derive(Tensor(x), Tensor(y), Tensor(weights))
        np.testing.assert_allclose(got[0].asnumpy(), pulled.sum(1), atol=2e-5)
        np.testing.assert_allclose(got[1].asnumpy(), -pulled.sum(0), atol=2e-5)
        for rows, others in ((0, 4), (4, 0)):
            got = derive(Tensor(f(rows, 3)), Tensor(f(others, 3)), Tensor(f(rows, others)))
            assert [g.shape for g in got] == [(rows, 3), (others, 3)] and not any(g.asnumpy().any() for g in got)


def test_gradients_of_segments_go_to_the_rows_that_they_came_from():
    x = Tensor(f(5))
    weights = Tensor(np.arange(1, 5, dtype=np.float32))
    gradient = ms.grad(lambda a: (ops.unsorted_segment_sum(a, Tensor(IDS), 4) * weights).sum())(x)
    np.testing.assert_array_equal(gradient.asnumpy(), [2, 1, 2, 4, 4])
    dropped = ops.unsorted_segment_sum(x, Tensor(np.array([0, -1, 3, -1, 1])), 4)
    np.testing.assert_allclose(dropped.asnumpy(), [x.array[0], x.array[4], 0, x.array[2]])
    with pytest.raises(IndexRangeError, match="segment id 4"):
        ops.unsorted_segment_sum(x, Tensor(np.array([0, -1, 4, 9, 1])), 4)


def test_what_the_combinations_do_not_take_is_refused():
    x = Tensor(f(2, 3))
    for call, error, words in ((lambda: ops.cross(x, x[:, :2]), ShapeError, "axis of size 3"),
                               (lambda: ops.hstack(x), ArgumentError, "tuple or list"),
                               (lambda: ops.tensor_split(x, 0), ArgumentError, "at least one part"),
                               (lambda: ops.dsplit(x, 2), ShapeError, "three axes"),
                               (lambda: ops.cdist(x, x, -1.0), ArgumentError, "not negative"),
                               (lambda: ops.is_nonzero(x), ArgumentError, "one element"),
                               (lambda: ops.unsorted_segment_sum(x, Tensor([0, 1, 2]), 3), ShapeError, "first axes"),
                               (lambda: ops.vander(x), ShapeError, "one-axis")):
        with pytest.raises(error, match=words):
            call()
    assert ops.is_nonzero(Tensor([2.0])) and not ops.is_nonzero(Tensor(0))


def test_every_method_of_a_tensor_is_bound_to_it():
    """What stands in the class itself and is not a function is not bound by Python: a method would miss its Tensor."""
    for name, function in METHODS.items():
        assert not callable(function) or hasattr(type(function), "__get__"), name
    x = Tensor([1.0, 2.0])
    for out in (x.detach(), ms.jit(lambda x: x.detach() * 1, fullgraph=True)(x)):
        np.testing.assert_array_equal(out.asnumpy(), x.asnumpy())
    np.testing.assert_array_equal(ms.grad(lambda x: (x * x.detach()).sum())(x).asnumpy(), x.asnumpy())


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("ends", [(-1, 2), (2, -1), (-1, -2), (3, 0)])
def test_negative_sizes_of_padding_cut_before_it_goes_round_and_after_it_is_reflected(mode, ends):
    x = np.arange(10.0, dtype=np.float32).reshape(2, 5)

    def wide(x):
        name = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
        return np.pad(x, [(0, 0), [max(e, 0) for e in ends]], name)

    def cut(x):
        return x[:, max(-ends[0], 0):x.shape[1] - max(-ends[1], 0)]
    expected = wide(cut(x)) if mode == "circular" else cut(wide(x))         # as torch

    def padded(x):
        return ms.ops.pad(x, ends, mode)
    for call in (padded, ms.jit(padded, fullgraph=True)):
        np.testing.assert_array_equal(call(ms.Tensor(x)).asnumpy(), expected)


@pytest.mark.parametrize("way", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_stop_gradient_keeps_the_form_of_what_it_is_given(way):
    def stopped(x, y):
        parts = ms.ops.stop_gradient({"pair": (x * 2, [y]), "number": 3.0, "name": "a"})
        return (parts["pair"][0] * x + parts["pair"][1][0] * y).sum(), parts["number"], parts["name"]

    def loss(x, y):
        return stopped(x, y)[0]
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    value, number, name = way(stopped)(x, y)
    assert value.asnumpy() == 35 and number == 3.0 and type(number) is float and name == "a"
    dx, dy = way(ms.grad(loss, (0, 1)))(x, y)
    assert dx.asnumpy().tolist() == [2, 4] and dy.asnumpy().tolist() == [3, 4]


@pytest.mark.parametrize("call", [ms.ops.sign, ms.ops.sgn, Tensor.sign, Tensor.sgn], ids=["sign", "sgn", "x.sign", "x.sgn"])
def test_the_sign_of_a_complex_number_has_its_angle_and_the_size_one(call):
    z = np.array([3 + 4j, 0, 7 - 24j, -2], np.complex64)
    for way in (call, ms.jit(lambda z: call(z), fullgraph=True)):
        np.testing.assert_allclose(way(Tensor(z)).asnumpy(), [0.6 + 0.8j, 0, 0.28 - 0.96j, -1], rtol=1e-6)


def test_an_extremum_of_all_elements_with_its_index_has_no_axes():
    x = Tensor([[1, 5], [9, -7]])
    for keep in (False, True):
        assert [int(v) for v in x.argmax_with_value(None, keep)] == [9, 2] and x.argmax_with_value(None, keep)[0].shape == ()
        assert [int(v) for v in x.argmin_with_value(None, keep)] == [-7, 3] and x.argmin_with_value(None, keep)[1].shape == ()
    assert x.argmax_with_value(0, True)[0].shape == (1, 2)
