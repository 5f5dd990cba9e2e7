"""Samples for test_every_op: primitive name -> list of (args, attrs), small NumPy arrays. Second half."""
import numpy as np

from mindlite.common import dtype as dt

_rng = np.random.default_rng(7)


def _f(*shape):
    return _rng.standard_normal(shape)


def _positive(*shape):
    return _rng.uniform(0.5, 2, shape)


def _i(high, *shape):
    return _rng.integers(-high, high, shape)


_STATE = np.array([12, 5], np.int64)
_CONV = dict(stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1)
_CONV2 = dict(stride=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2), groups=2)
_POOL = dict(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0, 0, 0), dilation=(1, 1), ceil_mode=False)
_POOL2 = dict(kernel_size=(3, 2), stride=(2, 1), padding=(1, 1, 0, 1), dilation=(1, 2), ceil_mode=True)
_AVG = dict(count_include_pad=True, divisor=0)
_AVG2 = dict(count_include_pad=False, divisor=0)
_RATES = (0.1, 0.9, 0.99)
_ATTENTION = ((*(np.random.default_rng(8).standard_normal((2, n, 4)) for n in (3, 5, 5, 3)), np.full((2, 3), 1.5),
               np.random.default_rng(9).standard_normal((2, 3))), dict(scale=0.5, is_causal=True))

SAMPLES = {
    # structure
    "slice": [((_f(4, 5),), dict(start=(1, 4), sizes=(3, 3), step=(1, -2))),
              ((_f(4, 6),), dict(start=(0, 1), sizes=(4, 2), step=(1, 3)))],
    "pad_slice": [((_f(2, 3),), dict(shape=(5, 7), start=(1, 6), step=(2, -3), value=0)),
                  ((_f(2, 3),), dict(shape=(2, 5), start=(0, 1), step=(1, 1), value=1.5))],
    "concatenate": [((_f(2, 3), _f(2, 1), _f(2, 2)), dict(axis=1)), ((_f(2), _f(3)), dict(axis=0))],
    # indexing
    "count_up": [((), dict(size=5))],
    "bounded_indices": [((np.array([[0, 2, 1], [1, 2, 0]]),), dict(what="label", low=0, high=3, ignored=None)),
                        ((np.array([-4, 8]),), dict(what="id", low=None, high=9, ignored=None))],
    "gather_axis": [((_f(3, 4, 2), _i(4, 2, 3)), dict(axis=1)), ((_f(5, 2), np.array([4, 0, 0])), dict(axis=0))],
    "index_add_axis": [((_f(3, 4), np.array([1, 1, -1]), _f(3, 3)), dict(axis=1)),
                       ((_f(4, 2), np.array([[0, 3], [3, 1]]), _f(2, 2, 2)), dict(axis=0))],
    "gather_nd": [((_f(3, 4, 2), np.array([[0, 1], [2, -1], [0, 1]])), {}), ((_f(3, 2), np.array([[[1], [2]]])), {})],
    "scatter_nd_add": [((_f(3, 4), np.array([[0], [2], [0]]), _f(3, 4)), {})],
    "scatter_nd_update": [((_f(3, 4), np.array([[0, 1], [2, -1]]), _f(2)), {})],
    "scatter_nd_max": [((_f(3, 4), np.array([[0], [2], [0]]), _f(3, 4)), dict(include_self=True)),
                       ((_f(3, 4), np.array([[0, 1], [2, -1], [0, 1]]), _f(3)), dict(include_self=False))],
    "scatter_nd_min": [((_f(3, 4), np.array([[0], [2], [0]]), _f(3, 4)), dict(include_self=False)),
                       ((_f(3, 4), np.array([[0, 1], [2, -1], [0, 1]]), _f(3)), dict(include_self=True))],
    "scatter_nd_mul": [((_f(3, 4), np.array([[0], [2], [0]]), _f(3, 4)), {}),
                       ((_f(3, 4), np.array([[0, 1], [2, -1], [0, 1]]), _f(3)), {})],
    "scatter_nd_div": [((_f(3, 4), np.array([[0], [2], [0]]), 2 + abs(_f(3, 4))), {}),
                       ((_f(3, 4), np.array([[0, 1], [2, -1], [0, 1]]), 1 + abs(_f(3))), {})],
    "gather_elements": [((_f(3, 4), _i(3, 2, 4)), dict(axis=0)), ((_f(2, 3), _i(3, 2, 5)), dict(axis=1))],
    "scatter_elements_add": [((_f(3, 4), _i(3, 2, 4), _f(2, 4)), dict(axis=0))],
    "slice_update": [((_f(4, 5), _f(4, 2)), dict(start=(0, 4), step=(1, -3))),
                     ((_f(4, 5), _f(2, 3)), dict(start=(2, 1), step=(1, 1)))],
    "dynamic_slice": [((_f(4, 5), np.array(2), np.array(0)), dict(sizes=(1, 5))),
                      ((_f(4, 5), np.array(-3), np.array(1)), dict(sizes=(2, 3)))],
    "dynamic_update": [((_f(4, 5), _f(1, 5), np.array(2), np.array(0)), {}),
                       ((_f(4, 5), _f(2, 3), np.array(-3), np.array(1)), {})],
    "write_slice": [((_f(4, 5), _f(1, 5), np.array(2), np.array(0)), {})],
    # nets
    "convolution": [((_f(2, 3, 5, 4), _f(2, 3, 3, 2)), _CONV), ((_f(2, 4, 6, 7), _f(4, 2, 3, 2)), _CONV2)],
    "convolution_backward_data": [((_f(2, 2, 3, 3), _f(2, 3, 3, 2)), dict(input_size=(5, 4), **_CONV)),
                                  ((_f(2, 4, 3, 8), _f(4, 2, 3, 2)), dict(input_size=(6, 7), **_CONV2))],
    "convolution_backward_weight": [((_f(2, 3, 5, 4), _f(2, 2, 3, 3)), dict(kernel_size=(3, 2), **_CONV)),
                                    ((_f(2, 4, 6, 7), _f(2, 4, 3, 8)), dict(kernel_size=(3, 2), **_CONV2))],
    "max_pooling": [((_f(2, 3, 4, 6),), _POOL), ((_f(2, 2, 6, 5),), _POOL2)],
    "max_pooling_index": [((_f(2, 3, 4, 6),), _POOL), ((_f(2, 2, 6, 5),), _POOL2)],
    "max_pooling_backward": [((_f(2, 3, 4, 6), _f(2, 3, 2, 3)), _POOL), ((_f(2, 2, 6, 5), _f(2, 2, 4, 4)), _POOL2)],
    "avg_pooling": [((_f(2, 3, 4, 6),), {**_POOL, **_AVG}), ((_f(2, 2, 6, 5),), {**_POOL2, **_AVG2}),
                    ((_f(2, 2, 6, 5),), {**_POOL2, **_AVG}), ((_f(1, 2, 4, 4),), {**_POOL, **_AVG, "divisor": 3})],
    "avg_pooling_backward": [((_f(2, 3, 2, 3),), dict(input_size=(4, 6), **_POOL, **_AVG)),
                             ((_f(2, 2, 4, 4),), dict(input_size=(6, 5), **_POOL2, **_AVG2))],
    "standardize": [((_f(3, 5),), dict(axis=(1,), epsilon=1e-3)), ((_f(3, 2, 4),), dict(axis=(0, 2), epsilon=1e-3))],
    # state and random
    "assign": [((_f(2, 3), _f(2, 3)), {})],
    "stored": [((_f(2, 3), _f(2, 3)), {})],
    "summary_value": [((_f(2),), dict(plugin="histogram", tag="x"))],
    "print_values": [((_f(2),), dict(pieces=("x", None)))],
    "identity": [((_f(2, 3),), {})],
    "stop_gradient": [((_f(2, 3),), {})],
    "gamma_numbers": [((_STATE, np.array([0.3, 1.0, 7.5])), dict(shape=(3,)))],
    "random_uniform": [((_STATE,), dict(shape=(3, 5), dtype=dt.float32)),
                       ((_STATE,), dict(shape=(7,), dtype=dt.float64)),
                       ((_STATE,), dict(shape=(2, 3), dtype=dt.float16))],
    "random_integers": [((_STATE,), dict(shape=(3, 5), low=-3, high=9, dtype=dt.int64)),
                        ((_STATE,), dict(shape=(6,), low=0, high=2 ** 32, dtype=dt.int64))],
    "random_advance": [((_STATE,), dict(blocks=7))],
    # optimisers
    "cut_log": [((_positive(4, 3),), {})],
    "probabilities": [((np.array([[0.25, 0.5], [0.875, 0.125]]),), dict(what="p"))],
    "lgamma": [((_positive(4, 3) * 3,), {})], "digamma": [((_positive(4, 3) * 3,), {})],
    "polygamma": [((_positive(4, 3) * 3,), dict(n=n)) for n in (1, 2)],
    "bessel_i": [*(((np.array([[-2.5, 0.5, 1.5], [31.0, -40.0, 3.0]]),), dict(n=n, scaled=True)) for n in (0, 1, 2)),
                 *(((np.array([[-2.5, 0.0, 1.5]]),), dict(n=n, scaled=False)) for n in (0, 1))],
    "erfinv": [((np.array([[-0.9, -0.3, 0.1], [0.4, 0.7, 0.95]]),), {})],
    **{name: [((_f(2, 3, 3) * 0.5 + 2 * np.eye(3),), {}), ((_f(2, 2) + 3 * np.eye(2),), {})]
       for name in ("inverse", "cofactors", "determinant", "sign_and_log_determinant")},
    "first_apart": [((_f(2, 4, 4) > 0.3,), {}), ((_f(5, 5) > 0.5,), {})],
    "triangular_system": [((_f(2, 3, 3) * 0.5 + 2 * np.eye(3), _f(3, 2)), dict(lower=True, transpose=False, unit=False)),
                          ((_f(3, 3) + 3 * np.eye(3), _f(4, 3, 1)), dict(lower=False, transpose=True, unit=False)),
                          ((_f(3, 3) * 0.5, _f(3, 1)), dict(lower=False, transpose=False, unit=True))],
    "linear_solve": [((_f(2, 3, 3) * 0.5 + 2 * np.eye(3), _f(3, 2)), {}), ((_f(2, 2) + 3 * np.eye(2), _f(4, 2, 1)), {})],
    "singular_decomposition": [((_f(2, 3, 2),), dict(full=False)), ((_f(2, 4),), dict(full=False))],
    "pseudo_inverse": [((_f(2, 3, 2),), dict(atol=None, rtol=None)), ((_f(2, 4),), dict(atol=0.1, rtol=None))],
    "cholesky_factor": [((_f(2, 3, 3) * 0.3 + 2 * np.eye(3),), {})],
    "adam_update": [((_f(2, 3), _f(2, 3), _positive(2, 3), _f(2, 3), *map(np.array, _RATES)),
                     dict(beta1=0.9, beta2=0.99, epsilon=1e-3, use_nesterov=nesterov)) for nesterov in (False, True)],
    "adamw_update": [((_f(2, 3), _f(2, 3), _positive(2, 3), _f(2, 3), *map(np.array, _RATES)),
                      dict(beta1=0.9, beta2=0.99, epsilon=1e-3, weight_decay=0.1))],
    "adam_weight_decay_update": [((_f(2, 3), _f(2, 3), _positive(2, 3), _f(2, 3), np.array(0.1)),
                                  dict(beta1=0.9, beta2=0.99, epsilon=1e-3, weight_decay=0.1))],
    "lamb_update": [((_f(2, 3), _f(2, 3), _positive(2, 3), _f(2, 3), *map(np.array, _RATES)),
                     dict(beta1=0.9, beta2=0.99, epsilon=1e-3, weight_decay=0.1))],
    "momentum_update": [((_f(3), _f(3), _f(3), np.array(0.1), np.array(0.9)), dict(use_nesterov=nesterov))
                        for nesterov in (False, True)],
    "sgd_update": [((_f(3), _f(3), _f(3), np.array(0.1), np.array(0.9), np.array(first)),
                    dict(dampening=0.2, nesterov=True))
                   for first in (0.0, 1.0)],
    "adagrad_update": [((_f(3), _positive(3), _f(3), np.array(0.1)), dict(epsilon=1e-3))],
    "rmsprop_update": [((_f(3), _positive(3), _f(3), _f(3), np.array(0.1)),
                        dict(decay=0.9, momentum=0.5, epsilon=1e-3))],
    "centered_rmsprop_update": [((_f(3), np.zeros(3) + 0.1, _positive(3), _f(3), _f(3), np.array(0.1)),
                                 dict(decay=0.9, momentum=0.5, epsilon=1e-3))],
    # attention
    "attention": [((_f(2, 3, 4), _f(2, 5, 4), _f(2, 5, 4)), dict(scale=0.5, is_causal=causal)) for causal in (False, True)],
    "attention_query_gradient": [_ATTENTION],
    "attention_key_gradients": [_ATTENTION],
}
