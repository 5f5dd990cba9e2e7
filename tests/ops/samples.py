"""Samples for test_every_op: primitive name -> list of (args, attrs), small NumPy arrays. First half, and all together.

Floats are float64, away from ties and bends, so that central differences are derivatives; special points have tests of
their own. Sizes are small, and mostly different from axis to axis.
"""
import numpy as np

import samples_nn
from mindlite.common import dtype as dt
from mindlite.ops.later import load_all

load_all()
_rng = np.random.default_rng(11)


def _f(*shape):
    return np.asarray(_rng.standard_normal(shape) * 1.3)


def _within(low, high, *shape):
    return np.asarray(_rng.uniform(low, high, shape))


def _i(low, high, *shape):
    return _rng.integers(low, high, shape)


def _bits(*shape):
    return np.asarray(_rng.integers(0, 2, shape)).astype(bool)


def _c(*shape):
    return _f(*shape) + 1j * _f(*shape)


def _apart(*shape):
    """Different numbers, at least 0.1 from each other: no ties even after a small step."""
    n = int(np.prod(shape))
    return ((_rng.permutation(n) - n / 2) * 0.3 + 0.07).reshape(shape)


def _unary(make):
    return [((make(4, 3),), {}), ((make(),), {})]


def _binary(make, other=None):
    return [((make(4, 3), (other or make)(4, 3)), {}), ((make(2, 1, 3), (other or make)(4, 1)), {}),
            ((make(5), (other or make)()), {})]


_NUMBERS = _binary(_f) + [((_i(-9, 9, 4), _i(-9, 9, 4)), {})]
_ORDERED = _NUMBERS + [((np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), {})]
_LOGIC = [((_bits(4, 3), _bits(3)), {}), ((_i(-1, 2, 4), _f(4)), {})]
_BITS = [((_i(-99, 99, 4, 3), _i(-99, 99, 3)), {}), ((_bits(5), _bits(5)), {})]
_REDUCED = [dict(axis=1, keepdims=False), dict(axis=(0, 2), keepdims=True), dict(axis=None, keepdims=False)]


def _reduced(make, scalar=True):
    return [((make(4, 3, 2),), attrs) for attrs in _REDUCED] + ([((make(),), _REDUCED[2])] if scalar else [])


_PART_OF_ONE = [((_apart(4, 3),), dict(axis=1)), ((_apart(5),), dict(axis=0)), ((_apart(),), dict(axis=0))]
_ZEROS = np.array([[2.0, 0.0, 3.0, -1.0], [1.0, 4.0, 5.0, 0.5], [0.0, 0.0, 2.0, 1.0]])
_SCANS = [dict(axis=axis, exclusive=exclusive, reverse=reverse)
          for axis, exclusive, reverse in [(0, False, False), (1, True, False), (1, False, True), (0, True, True)]]

SAMPLES = {
    # basic
    "cast": [((_f(3, 2),), dict(dtype="float64")), ((_f(3, 2) * 9,), dict(dtype="int32")),
             ((_i(0, 9, 4),), dict(dtype="bool")),
             ((_bits(4),), dict(dtype="float64"))],
    "scalar_to_tensor": [((2.5,), dict(dtype=dt.float64)), ((3,), dict(dtype=dt.int64))],
    "reshape": [((_f(4, 6),), dict(shape=(4, 3, 2))), ((_f(4, 6),), dict(shape=(-1,))),
                ((_f(2, 3, 4),), dict(shape=(6, 4)))],
    "path_sums": [((_f(4, 2, 3), _f(2, 3)), dict(nothing=-1e30)), ((_f(1, 1, 1), _f(1, 1)), dict(nothing=-1e30))],
    "lattice_recurrence": [((_f(4, 2, 3), _f(4, 2, 3), _f(4, 2, 3), _f(4, 2, 3)), dict(reverse=False)),
                           ((_f(3, 1, 2), _f(3, 1, 2), _f(3, 1, 2), _f(3, 1, 2)), dict(reverse=True))],
    "linear_recurrence": [((_f(4), _f(4)), dict(axis=0, reverse=False)), ((_f(2, 3), _f(2, 3)), dict(axis=1, reverse=True))],
    "barrier": [((_f(2, 3), _f(4)), {}), ((_f(), _f(2, 1)), {})],
    "transpose": [((_f(2, 3, 4),), dict(perm=(2, 0, 1))), ((_f(4, 2),), dict(perm=None))],
    "broadcast_to": [((_f(3, 1),), dict(shape=(2, 3, 4))), ((_f(),), dict(shape=(4,))), ((_f(1),), dict(shape=(1,)))],
    "reduce_sum": _reduced(_f) + [((_bits(4, 3),), _REDUCED[0]), ((_i(-9, 9, 4, 3),), dict(axis=0, keepdims=False))],
    # arithmetic
    "add": _NUMBERS, "sub": _NUMBERS, "mul": _NUMBERS + [((_c(3), _c(3)), {})], "maximum": _ORDERED[:3] + _NUMBERS[3:],
    "minimum": _ORDERED[:3] + _NUMBERS[3:],
    "div": _binary(_f, lambda *s: _within(0.5, 2, *s)) + [((_i(-9, 9, 4), _i(1, 9, 4)), {}), ((_c(3), _c(3) + 2), {})],
    "floor_divide": [((_within(1.1, 1.9, 4) * 7, _within(2.1, 2.2, 4)), {}),
                     ((_i(-9, 9, 6), np.array([2, -3, 4, -5, 7, 1])), {})],
    "remainder": [((np.array([5.3, -5.3, 7.7, -7.7]), np.array([2.0, 2.0, -3.0, -3.0])), {}),
                  ((_i(-9, 9, 6), np.array([2, -3, 4, -5, 7, 1])), {})],
    "fmod": [((np.array([5.3, -5.3, 7.7, -7.7]), np.array([2.0, 2.0, -3.0, -3.0])), {}),
             ((_i(-9, 9, 6), np.array([2, -3, 4, -5, 7, 1])), {})],
    "pow": [((_within(0.3, 2, 4, 3), _f(3)), {}), ((np.array([2, -3, 1, -1, 0]), np.array([3, 2, -2, -3, 0])), {})],
    "integer_pow": [((_within(0.5, 2, 4, 3),), {"exponent": 7}), ((_f(5),), {"exponent": 1}), ((_f(5),), {"exponent": 4}),
                    ((_within(0.5, 2, 3, 2),), {"exponent": -3}), ((np.array([2, -3, 0]),), {"exponent": 5})],
    "neg": _unary(_f), "square": _unary(_f), "abs": _unary(_f), "sign": _unary(_f),
    "reciprocal": _unary(lambda *s: _within(0.5, 2, *s)), "hypot": _binary(_f),
    "floor": _unary(_f), "ceil": _unary(_f), "trunc": _unary(_f), "round": _unary(_f),
    "matmul_add": [((_f(4, 2), _f(4, 3), _f(3, 2)), dict(transpose_a=False, transpose_b=False))],
    "panel_matmul": [((_f(2, 3, 4), _f(2, 4, 3)), dict(columns=5))],
    "batch_matmul": [((_f(4, 3), _f(3, 2)), dict(transpose_a=False, transpose_b=False)),
                     ((_f(3, 4), _f(2, 3)), dict(transpose_a=True, transpose_b=True)),
                     ((_f(2, 1, 4, 3), _f(5, 3, 2)), dict(transpose_a=False, transpose_b=False)),
                     ((_i(-9, 9, 3, 4), _i(-9, 9, 2, 3, 2)), dict(transpose_a=True, transpose_b=False))],
    # elementary functions
    **{name: _unary(_f) for name in
       "exp exp2 expm1 sin cos sinh cosh tanh atan asinh erf erfc normal_cdf normal_pdf sigmoid".split()},
    **{name: _unary(lambda *s: _within(0.3, 3, *s)) for name in "log log1p log2 log10 sqrt rsqrt".split()},
    **{name: _unary(lambda *s: _within(-0.9, 0.9, *s)) for name in "tan asin acos atanh".split()},
    "acosh": _unary(lambda *s: _within(1.2, 3, *s)), "atan2": _binary(_f), "logaddexp": _binary(_f),
    "bessel_j": [((_f(4, 3) * 9,), dict(n=n)) for n in (0, 1)] + [((_within(24, 60, 5),), dict(n=2))],
    "bessel_y": [((_within(0.3, 9, 4, 3),), dict(n=0)), ((_within(0.3, 60, 5),), dict(n=1))],
    "bessel_k": [((_within(0.3, 9, 4, 3),), dict(n=0, scaled=False)), ((_within(0.3, 60, 5),), dict(n=1, scaled=True))],
    "incomplete_gamma": [((_within(0.5, 4, 4, 3), _within(0.3, 6, 3)), dict(order=0, upper=upper))
                         for upper in (False, True)],
    "incomplete_beta": [((_within(0.5, 4, 4), _within(0.5, 4, 4), _within(0.1, 0.9, 4)), dict(orders=orders))
                        for orders in ((0, 0), (1, 0), (1, 1))],
    "hurwitz_zeta": [((_within(1.5, 4, 4), _within(0.5, 4, 4)), dict(order=order)) for order in (0, 1)],
    "nextafter": _binary(_f),
    "orthogonal_triangular": [((_f(4, 3),), dict(full=False)), ((_f(2, 3, 4),), dict(full=False)),
                              ((_f(3, 3),), dict(full=True))],
    "eigenpairs": [((_f(3, 3),), {}), ((_f(2, 4, 4),), {})],
    "matrix_exp": [((_f(3, 3),), {}), ((_f(2, 2, 2) * 3,), {})],
    # logic
    **{name: _ORDERED for name in "equal not_equal less less_equal greater greater_equal".split()},
    "logical_not": _unary(_bits), "logical_and": _LOGIC, "logical_or": _LOGIC, "logical_xor": _LOGIC,
    "bitwise_and": _BITS, "bitwise_or": _BITS, "bitwise_xor": _BITS,
    "bitwise_not": [((_i(-99, 99, 4),), {}), ((_bits(4),), {})],
    "bitwise_left_shift": [((_i(-99, 99, 4, 3), _i(0, 9, 3)), {})],
    "bitwise_right_shift": [((_i(-999, 999, 4, 3), _i(0, 9, 3)), {})],
    **{name: [((np.array([1.0, np.nan, np.inf, -np.inf]),), {}), ((_i(0, 9, 3),), {})]
       for name in ("isnan", "isinf", "isfinite")},
    "flowing": [((_bits(), _f(4, 3)), {}), ((_bits(4, 1), _f(4, 3)), {}), ((_bits(), _f()), {})],
    "where": [((_bits(4, 3), _f(4, 3), _f(3)), {}), ((_bits(4, 1), _f(3), _f()), {}),
              ((_bits(4), _i(0, 9, 4), _i(0, 9, 4)), {})],
    # complex numbers
    "real": [((_c(4, 3),), {})], "imag": [((_c(4, 3),), {})], "conj": [((_c(4, 3),), {}), ((_f(4),), {})],
    "complex": [((_f(4, 3), _f(3)), {})],
    # activations
    **{name: _unary(_f) for name in
       "relu relu6 silu logsigmoid mish gelu_erf gelu_tanh hardsigmoid hardswish softsign tanhshrink".split()},
    "leaky_relu": [((_f(4, 3),), dict(alpha=0.2))], "elu": [((_f(4, 3),), dict(alpha=1.5))],
    "hardshrink": [((_f(4, 3),), dict(lambd=0.5))], "softplus": [((_f(4, 3) * 5,), dict(beta=2, threshold=9))],
    "softmax": [((_f(4, 3),), dict(axis=-1)), ((_f(2, 4, 3),), dict(axis=1)), ((_f(),), dict(axis=0))],
    "log_softmax": [((_f(4, 3),), dict(axis=-1)), ((_f(2, 4, 3),), dict(axis=1)), ((_f(),), dict(axis=0))],
    # reductions
    "reduce_max": _reduced(_apart), "reduce_min": _reduced(_apart), "reduce_mean": _reduced(_f),
    "reduce_any": _reduced(_bits), "reduce_all": _reduced(_bits),
    "logsumexp": _reduced(_f), "reduce_norm": _reduced(_f),
    "row_distances": [((_f(4, 3), _f(5, 3)), {}), ((_f(2, 3, 4), _f(2, 5, 4) + 1e3), {}), ((_f(3, 1), _f(2, 1)), {})],
    "reduce_prod": _reduced(_f) + [((_ZEROS,), dict(axis=1, keepdims=False)), ((_i(1, 4, 4, 2),), _REDUCED[0])],
    **{name: [((_apart(4, 3),), dict(axis=0, keepdims=True)), ((_apart(4, 3),), dict(axis=1, keepdims=False)),
              ((_apart(),), dict(axis=0, keepdims=False))] for name in ("argmax", "argmin")},
    # scans
    "cumulative_sum": [((_f(4, 3),), attrs) for attrs in _SCANS] + [((_bits(4),), _SCANS[0]), ((_f(),), _SCANS[3])],
    "cumulative_product": [((_f(4, 3),), attrs) for attrs in _SCANS] + [((_ZEROS,), attrs) for attrs in _SCANS],
    "cumulative_logsumexp": [((_f(4, 3),), dict(axis=0)), ((_f(2, 5) * 9,), dict(axis=1)), ((_f(),), dict(axis=0))],
    "cummax": _PART_OF_ONE, "cummin": _PART_OF_ONE,
    "as_pairs": [((_c(4, 3),), {})], "as_complex": [((_f(4, 3, 2),), {})],
    "fourier": [((_c(4, 3),), dict(axes=(0,), inverse=False)), ((_c(2, 3, 5),), dict(axes=(2, 0), inverse=True, scale="mean")),
                ((_f(2, 6, 5),), dict(axes=(0, 1), inverse=True, scale="ortho"))],
    "fourier_of_real": [((_f(4, 3),), dict(axis=0)), ((_f(2, 5),), dict(axis=1, inverse=True, scale="mean", weighted=True))],
    "fourier_to_real": [((_c(3, 2),), dict(n=4, axis=0)), ((_c(3, 3),), dict(n=5, axis=1, inverse=False, scale="ortho",
                                                                            weighted=True))],
    "occurrences": [((np.array([0, 3, 3, 1]), _f(4)), dict(minlength=2)), ((np.array([1, 1]), _f(2)), dict(minlength=5))],
    # collectives, of one rank; of more: tests/communication
    "all_reduce": [((_f(4, 3),), dict(reduction="sum")), ((_within(0.5, 2, 4),), dict(reduction="prod")),
                   ((_apart(4),), dict(reduction="max")), ((_bits(4),), dict(reduction="any"))],
    "all_reduce_coalesced": [((_f(4, 3), _f(2)), dict(reduction="sum")), ((_apart(4), _apart(2, 3)), dict(reduction="max"))],
    "all_gather": [((_f(4, 3),), dict(axis=1)), ((_f(4),), dict(axis=0, sizes=(4,)))],
    "reduce_scatter": [((_f(4, 3),), dict(reduction="sum", axis=1)), ((_apart(4),), dict(reduction="max", axis=0))],
    "all_to_all": [((_f(4, 3),), dict(split_axis=0, gather_axis=1)), ((_f(4, 3),), dict(split_axis=1, gather_axis=1))],
    "broadcast_from": [((_f(4, 3),), dict(root=0))],
    "reduce_to": [((_f(4, 3),), dict(root=0)), ((_apart(4),), dict(reduction="max", root=0))],
    "placed": [((_f(4, 3),), dict(placement=None))],
    # order
    "sort": [((_apart(4, 3),), dict(axis=0, descending=False)), ((_apart(2, 5),), dict(axis=1, descending=True)),
             ((np.array([3, 1, 3, 2, 1]),), dict(axis=0, descending=True)),
             ((_apart(),), dict(axis=0, descending=False))],
    "median_along": [((_apart(4, 3),), dict(axis=0, skip=False)), ((_apart(2, 5),), dict(axis=1, skip=True)),
                     ((np.array([3, 1, 3, 2, 1]),), dict(axis=0, skip=False)), ((_apart(),), dict(axis=0, skip=False))],
    "sorted_positions": [((np.sort(_apart(20)), _apart(3, 4)), dict(inclusive=False)),
                         ((np.sort(_apart(2, 18)), _apart(2, 3)), dict(inclusive=True)),
                         ((np.arange(3.0), np.array([1.0, 0.5])), dict(inclusive=True))],
    "topk": [((_apart(4, 3),), dict(k=2, axis=1, largest=True)), ((_apart(5),), dict(k=3, axis=0, largest=False))],
    "nonzero": [((_i(0, 2, 4, 3),), {}), ((_bits(5),), {})],
    "masked_select": [((_f(4, 3), _bits(4, 3)), {}), ((_f(4, 3), _bits(3)), {})],
    "masked_put": [((_f(3), np.array([[True, False, True], [False, True, False]])), {})],
    "unique": [((np.array([[3.0, 1.0], [3.0, 2.0]]),), {}), ((_i(0, 4, 6),), {})],
    # creation
    "full": [((), dict(shape=(4, 3), value=2.5, dtype=dt.float32)), ((), dict(shape=(), value=True, dtype=dt.bool_))],
    "gamma_quantile_slope": [((_within(0.3, 6, 4, 3), _within(0.3, 6, 3)), {})],
    "symmetric_eigenpairs": [((_f(3, 3),), {}), ((_f(2, 4, 4),), {})],
    "eliminated": [((_f(3, 3),), {}), ((_f(2, 4, 4),), {}), ((_f(2, 4, 3),), {}), ((_f(2, 4),), {})],
    "assignment": [((_f(3, 4), np.array(4)), dict(maximize=False)), ((_f(2, 4, 3), np.array(2)), dict(maximize=True))],
}
TWICE = sorted(SAMPLES.keys() & samples_nn.SAMPLES.keys())
SAMPLES = {**samples_nn.SAMPLES, **SAMPLES}
