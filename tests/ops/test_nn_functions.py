"""Convolution, pooling, normalisation, attention and losses are their textbook formulas, also with Dims."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.constraints import collecting
from mindlite.mindir.evaluate import run

rng = np.random.default_rng(3)


def close(got, want, **tolerance):
    np.testing.assert_allclose(got.asnumpy() if isinstance(got, Tensor) else got, want,
                               **{"atol": 1e-6, "rtol": 1e-5, **tolerance})


def windows(x, kernel, stride, padding, dilation=(1, 1), value=0.0):
    """Every window of x[N, C, H, W] as a list of (y, z, [N, C, kh, kw])."""
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)
    high, wide = ((k - 1) * d + 1 for k, d in zip(kernel, dilation))
    for y in range((x.shape[2] - high) // stride[0] + 1):
        for z in range((x.shape[3] - wide) // stride[1] + 1):
            h, w = y * stride[0], z * stride[1]
            yield y, z, x[:, :, h:h + high:dilation[0], w:w + wide:dilation[1]]


# ---------------------------------------------------------------- convolution

@pytest.mark.parametrize("mode, padding, stride, dilation, groups, ends", [
    ("valid", 0, 1, 1, 1, (0, 0, 0, 0)), ("same", 0, 2, 1, 1, (1, 1, 0, 1)), ("pad", 1, (2, 1), 1, 2, (1, 1, 1, 1)),
    ("pad", (1, 0, 2, 1), 1, (1, 2), 4, (1, 0, 2, 1)), ("pad", (2, 1), 1, 1, 1, (2, 2, 1, 1))])
def test_a_convolution_is_the_sum_over_each_window(mode, padding, stride, dilation, groups, ends):
    x, w, b = rng.standard_normal((2, 4, 7, 6)), rng.standard_normal((4, 4 // groups, 3, 2)), rng.standard_normal(4)
    got = ops.conv2d(Tensor(x), Tensor(w), Tensor(b), stride, mode, padding, dilation, groups)
    pair = lambda v: v if isinstance(v, tuple) else (v, v)                                               # noqa: E731
    want = np.zeros(got.shape)
    for y, z, window in windows(x, (3, 2), pair(stride), ends, pair(dilation)):
        for o in range(4):
            group = o // (4 // groups)
            part = window[:, group * (4 // groups):(group + 1) * (4 // groups)]
            want[:, o, y, z] = (part * w[o]).sum((1, 2, 3)) + b[o]
    close(got, want)


def test_a_transposed_convolution_is_the_transpose():
    x, w, y = rng.standard_normal((1, 2, 5, 5)), rng.standard_normal((3, 2, 3, 3)), rng.standard_normal((1, 3, 3, 3))
    forward = ops.conv2d(Tensor(x), Tensor(w), stride=2, pad_mode="pad", padding=1).asnumpy()
    back = ops.conv2d_transpose(Tensor(y), Tensor(w), stride=2, pad_mode="pad", padding=1).asnumpy()
    assert back.shape == x.shape
    close((forward * y).sum(), (back * x).sum())
    assert ops.conv2d_transpose(Tensor(y), Tensor(w), stride=2, pad_mode="same").shape == (1, 2, 6, 6)


def test_a_one_dimensional_convolution_slides_along_the_last_axis():
    x, w = rng.standard_normal((2, 3, 9)), rng.standard_normal((4, 3, 3))
    want = np.stack([(x[:, None, :, i:i + 3] * w).sum((2, 3)) for i in range(7)], -1)
    close(ops.conv1d(Tensor(x), Tensor(w)), want)
    assert ops.conv1d(Tensor(x), Tensor(w), pad_mode="same", stride=2).shape == (2, 4, 5)


@pytest.mark.parametrize("x, w", [((1, 0, 5), (3, 0, 2)), ((1, 2, 5), (0, 2, 2)), ((1, 2, 5), (3, 2, 0)), ((0, 2, 5), (3, 2, 2))])
def test_a_convolution_of_no_channels_is_a_sum_of_nothing(x, w):
    x, w = Tensor(np.ones(x)), Tensor(np.ones(w))
    want = np.zeros((x.shape[0], w.shape[0], 6 - w.shape[2]))
    for f in (ops.conv1d, ms.jit(ops.conv1d, fullgraph=True)):
        np.testing.assert_array_equal(f(x, w).asnumpy(), want)
    grad = ms.grad(lambda x, w: ops.conv1d(x, w).sum(), (0, 1))
    for gradients in (grad, ms.jit(grad)):
        for found, given in zip(gradients(x, w), (x, w)):
            np.testing.assert_array_equal(found.asnumpy(), np.zeros(given.shape))


@pytest.mark.parametrize("call, error", [
    (lambda x, w: ops.conv2d(x[0], w), ShapeError), (lambda x, w: ops.conv2d(x, w, groups=2), ShapeError),
    (lambda x, w: ops.conv2d(x[:, :, :2], w), ShapeError), (lambda x, w: ops.conv2d(x, w, stride=0), ValueRangeError),
    (lambda x, w: ops.conv2d(x, w, pad_mode="half"), ValueRangeError),
    (lambda x, w: ops.conv2d(x, w, padding=1), ValueRangeError),
    (lambda x, w: ops.conv2d(x.astype("int32"), w.astype("int32")), DTypeError),
    (lambda x, w: ops.max_pool2d(x, 9), ShapeError), (lambda x, w: ops.max_pool2d(x[0, 0], 2), ShapeError)])
def test_operands_that_do_not_fit_are_errors(call, error):
    with pytest.raises(error):
        call(Tensor(np.ones((2, 3, 6, 6), np.float32)), Tensor(np.ones((4, 3, 3, 3), np.float32)))


# ---------------------------------------------------------------- pooling

@pytest.mark.parametrize("kernel, stride, padding",
                         [((2, 2), (2, 2), 0), ((3, 2), (2, 1), 1), ((2, 3), (1, 2), (0, 1, 1, 0))])
def test_pooling_takes_the_maximum_or_the_mean_of_each_window(kernel, stride, padding):
    x = rng.standard_normal((2, 3, 7, 6))
    ends = padding if isinstance(padding, tuple) else (padding,) * 4
    largest = ops.max_pool2d(Tensor(x), kernel, stride, padding)
    mean = ops.avg_pool2d(Tensor(x), kernel, stride, padding)
    inside = ops.avg_pool2d(Tensor(x), kernel, stride, padding, count_include_pad=False)
    for y, z, window in windows(x, kernel, stride, ends, value=np.nan):
        close(largest.asnumpy()[:, :, y, z], np.nanmax(window, (2, 3)))
        close(mean.asnumpy()[:, :, y, z], np.nansum(window, (2, 3)) / (kernel[0] * kernel[1]))
        close(inside.asnumpy()[:, :, y, z], np.nanmean(window, (2, 3)))


def test_rounding_up_keeps_the_window_that_ends_outside():
    x = Tensor(np.arange(25.0).reshape(1, 1, 5, 5))
    assert ops.max_pool2d(x, 2).shape == (1, 1, 2, 2)
    out = ops.max_pool2d(x, 2, ceil_mode=True).asnumpy()
    close(out[0, 0], [[6, 8, 9], [16, 18, 19], [21, 23, 24]])
    close(ops.avg_pool2d(x, 2, 2, ceil_mode=True).asnumpy()[0, 0, 2], [20.5, 22.5, 24])


def test_the_first_of_equal_maxima_is_meant():
    maxima, places = ops.max_pool2d(Tensor(np.ones((1, 1, 4, 4))), 2, return_indices=True)
    assert places.asnumpy().ravel().tolist() == [0, 2, 8, 10] and maxima.asnumpy().min() == 1


def test_nan_is_the_maximum():
    x = np.zeros((1, 1, 2, 2))
    x[0, 0, 1, 1] = np.nan
    assert np.isnan(ops.max_pool2d(Tensor(x), 2).asnumpy()).all()


@pytest.mark.parametrize("size", [1, 2, (3, 4), (None, 2)], ids=str)
def test_adaptive_pooling_is_the_mean_of_each_part(size):
    x = rng.standard_normal((2, 3, 7, 5))
    rows, columns = size if isinstance(size, tuple) else (size, size)
    rows = rows or 7
    want = np.array([[x[:, :, 7 * i // rows:-(-7 * (i + 1) // rows),
                        5 * j // columns:-(-5 * (j + 1) // columns)].mean((2, 3))
                      for j in range(columns)] for i in range(rows)]).transpose(2, 3, 0, 1)
    close(ops.adaptive_avg_pool2d(Tensor(x), size), want)


# ---------------------------------------------------------------- normalisation

def standardized(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_normalisations_have_mean_zero_and_variance_one_over_their_axes():
    x, g, b = rng.standard_normal((4, 6, 3, 5)) * 3 + 1, rng.standard_normal(6), rng.standard_normal(6)
    channel = lambda v: v[None, :, None, None]                                                           # noqa: E731
    y, mean, var = ops.batch_norm_train(Tensor(x), Tensor(g), Tensor(b))
    close(y, standardized(x, (0, 2, 3)) * channel(g) + channel(b))
    close(mean, x.mean((0, 2, 3)))
    close(var, x.var((0, 2, 3)))
    close(ops.batch_norm(Tensor(x), mean, var, Tensor(g), Tensor(b)), y.asnumpy())
    close(ops.batch_norm(Tensor(x), mean, var, Tensor(g), Tensor(b), training=True), y.asnumpy())
    close(ops.instance_norm(Tensor(x), Tensor(g), Tensor(b)), standardized(x, (2, 3)) * channel(g) + channel(b))
    grouped = standardized(x.reshape(4, 2, -1), 2).reshape(x.shape)
    close(ops.group_norm(Tensor(x), 2, Tensor(g), Tensor(b)), grouped * channel(g) + channel(b))
    w = rng.standard_normal((3, 5))
    close(ops.layer_norm(Tensor(x), (3, 5), Tensor(w)), standardized(x, (2, 3)) * w)
    close(ops.rms_norm(Tensor(x), Tensor(w[0]))[0], x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[0])
    with pytest.raises(ShapeError):
        ops.layer_norm(Tensor(x), (4, 5))
    with pytest.raises(ArgumentError):
        ops.group_norm(Tensor(x), 4)


def test_statistics_of_half_precision_are_single():
    x = (rng.standard_normal((2, 512)) * 100).astype(np.float16)
    y = ops.layer_norm(Tensor(x), (512,))
    assert y.dtype is dt.float16
    close(y.asnumpy().astype(float), standardized(x.astype(float), (1,)), atol=2e-3, rtol=2e-3)


# ---------------------------------------------------------------- attention

@pytest.mark.parametrize("causal", [False, True])
def test_attention_weighs_the_values_by_the_softmax_of_scaled_products(causal):
    q, k, v = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 5, 4)), rng.standard_normal((2, 5, 6))
    scores = q @ k.swapaxes(1, 2) / 2
    seen = np.tril(np.ones((3, 5), bool)) if causal else np.ones((3, 5), bool)
    weights = np.exp(scores) * seen
    want = weights / weights.sum(-1, keepdims=True) @ v
    close(ops.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), is_causal=causal), want)
    close(ops.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), Tensor(seen)), want)
    close(ops.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), Tensor(np.where(seen, 0, -1e30))), want)


def test_attention_with_heads_of_size_zero_is_the_mean_of_the_values():
    q, k, v = Tensor(np.ones((2, 3, 0))), Tensor(np.ones((2, 5, 0))), rng.standard_normal((2, 5, 6))
    want = np.broadcast_to(v.mean(1, keepdims=True), (2, 3, 6))
    close(ops.scaled_dot_product_attention(q, k, Tensor(v)), want)
    close(ms.jit(ops.scaled_dot_product_attention, fullgraph=True)(q, k, Tensor(v)), want)


# ---------------------------------------------------------------- losses

LOGITS, LABELS, WEIGHT = rng.standard_normal((4, 5)), np.array([0, 4, -100, 2]), rng.uniform(1, 2, 5)
LOGS = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))


def test_cross_entropy_of_labels_leaves_out_what_is_ignored_and_weighs_classes():
    rows = np.array([0, 1, 3])
    losses, weights = -LOGS[rows, LABELS[rows]], WEIGHT[LABELS[rows]]
    x, t, w = Tensor(LOGITS), Tensor(LABELS), Tensor(WEIGHT)
    close(ops.cross_entropy(x, t), losses.mean())
    close(ops.cross_entropy(x, t, w), (losses * weights).sum() / weights.sum())
    close(ops.cross_entropy(x, t, w, reduction="sum"), (losses * weights).sum())
    close(ops.cross_entropy(x, t, reduction="none"), np.insert(losses, 2, 0))
    smooth = 0.9 * losses - 0.1 * LOGS[rows].mean(1)
    close(ops.cross_entropy(x, t, label_smoothing=0.1), smooth.mean())
    close(ops.nll_loss(Tensor(LOGS), t), losses.mean())
    close(ops.cross_entropy(x[0], Tensor(3)), -LOGS[0, 3])


def test_cross_entropy_of_pictures_has_its_classes_on_axis_one():
    x, t = rng.standard_normal((2, 3, 4)), rng.integers(0, 3, (2, 4))
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    close(ops.cross_entropy(Tensor(x), Tensor(t)), -np.take_along_axis(logs, t[:, None], 1).mean())


def test_cross_entropy_of_probabilities_is_the_mean_over_rows():
    p = np.exp(LOGS)[::-1]
    close(ops.cross_entropy(Tensor(LOGITS), Tensor(p)), -(p * LOGS).sum() / 4)
    close(ops.softmax_cross_entropy_with_logits(Tensor(LOGITS), Tensor(p)), -(p * LOGS).sum(1))


X, Y = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
P, B = 1 / (1 + np.exp(-X)), (Y > 0) * 1.0
D = np.abs(X - Y)
COS = (X * Y).sum(1) / np.sqrt((X * X).sum(1) * (Y * Y).sum(1))
BCE = -(B * np.log(P) + (1 - B) * np.log(1 - P))


@pytest.mark.parametrize("name, got, want", [
    ("mse", lambda: ops.mse_loss(Tensor(X), Tensor(Y)), (D * D).mean()),
    ("l1", lambda: ops.l1_loss(Tensor(X), Tensor(Y), "sum"), D.sum()),
    ("smooth l1", lambda: ops.smooth_l1_loss(Tensor(X), Tensor(Y), 0.5), np.where(D < 0.5, D * D, D - 0.25)),
    ("huber", lambda: ops.huber_loss(Tensor(X), Tensor(Y), delta=0.7),
     np.where(D <= 0.7, D * D / 2, 0.7 * (D - 0.35)).mean()),
    ("bce", lambda: ops.binary_cross_entropy(Tensor(P), Tensor(B)), BCE.mean()),
    ("bce weight", lambda: ops.binary_cross_entropy(Tensor(P), Tensor(B), Tensor(D), "none"), BCE * D),
    ("bce logits", lambda: ops.binary_cross_entropy_with_logits(Tensor(X), Tensor(B)), BCE.mean()),
    ("bce pos_weight", lambda: ops.binary_cross_entropy_with_logits(Tensor(X), Tensor(B), None, Tensor(3.0), "none"),
     -(3 * B * np.log(P) + (1 - B) * np.log(1 - P))),
    ("kl", lambda: ops.kl_div(Tensor(X), Tensor(B * P), "none"),
     np.where(B > 0, B * P * (np.log(np.where(B > 0, P, 1)) - X), 0)),
    ("kl batch", lambda: ops.kl_div(Tensor(X), Tensor(P), "batchmean"), (P * (np.log(P) - X)).sum() / 3),
    ("cosine", lambda: ops.cosine_similarity(Tensor(X), Tensor(Y)), COS),
    ("cosine loss", lambda: ops.cosine_embedding_loss(Tensor(X), Tensor(Y), Tensor(np.array([1, -1, 1])), 0.1, "none"),
     np.where([True, False, True], 1 - COS, np.maximum(COS - 0.1, 0))),
    ("ranking", lambda: ops.margin_ranking_loss(Tensor(X), Tensor(Y), Tensor(np.ones((3, 4))), 0.5),
     np.maximum(0.5 - (X - Y), 0).mean()),
    ("triplet", lambda: ops.triplet_margin_loss(Tensor(X), Tensor(X), Tensor(Y), eps=0.0),
     np.maximum(1 - np.sqrt((D * D).sum(1)), 0).mean()),
    ("soft margin", lambda: ops.soft_margin_loss(Tensor(X), Tensor(2 * B - 1)),
     np.log1p(np.exp(-X * (2 * B - 1))).mean()),
    ("hinge", lambda: ops.hinge_embedding_loss(Tensor(X), Tensor(2 * B - 1), 0.5),
     np.where(B > 0, X, np.maximum(0.5 - X, 0)).mean()),
    ("gaussian", lambda: ops.gaussian_nll_loss(Tensor(X), Tensor(Y), Tensor(P)),
     (0.5 * (np.log(P) + D * D / P)).mean()),
], ids=lambda v: v if isinstance(v, str) else "")
def test_a_loss_is_its_formula(name, got, want):
    close(got(), want)


def test_the_loss_of_large_logits_is_finite():
    loss = ops.binary_cross_entropy_with_logits(Tensor(np.array([1e4, -1e4])), Tensor(np.array([0.0, 1.0])),
                                                reduction="none")
    close(loss, [1e4, 1e4])
    assert np.isfinite(ops.cross_entropy(Tensor(np.array([[1e4, -1e4]])), Tensor([1])).asnumpy())


@pytest.mark.parametrize("call, error", [
    (lambda: ops.cross_entropy(Tensor(LOGITS), Tensor(LABELS[:3])), ShapeError),
    (lambda: ops.cross_entropy(Tensor(LOGITS), Tensor(LABELS), reduction="average"), ValueRangeError),
    (lambda: ops.cross_entropy(Tensor(LOGITS), Tensor(LABELS), label_smoothing=2.0), ValueRangeError),
    (lambda: ops.nll_loss(Tensor(LOGS), Tensor(LABELS * 1.0)), DTypeError)])
def test_wrong_labels_and_words_are_errors(call, error):
    with pytest.raises(error):
        call()


# ---------------------------------------------------------------- symbolic sizes

@pytest.mark.parametrize("function", [
    lambda x: ops.conv2d(x, np.ones((2, 3, 3, 3), np.float32), pad_mode="same", stride=2),
    lambda x: ops.conv2d(x, np.ones((2, 3, 3, 3), np.float32), pad_mode="pad", padding=1),
    lambda x: ops.max_pool2d(x, 2), lambda x: ops.max_pool2d(x, 3, 2, ceil_mode=True),
    lambda x: ops.avg_pool2d(x, 2, count_include_pad=False, padding=1), lambda x: ops.adaptive_avg_pool2d(x, 1),
    lambda x: ops.batch_norm_train(x, np.ones(3, np.float32), np.zeros(3, np.float32))[0],
    lambda x: ops.group_norm(x, 3),
    lambda x: ops.cross_entropy(x[:, :, 0, 0], ops.getitem(x, (slice(None), 0, 0, 0)).astype("int64") % 3),
    lambda x: ops.cross_entropy(x[:, 0], ops.softmax(x[:, 1], 1), label_smoothing=0.1),
    lambda x: ops.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.5), lambda x: ops.mse_loss(x, 1.0),
])
def test_a_graph_with_symbolic_batch_and_height_gives_the_eager_numbers(function):
    n, h = Symbol("N").dim, Symbol("H", lo=4).dim
    with collecting():
        graph = typed(function, AbstractTensor(dt.float32, (n, 3, h, 6)))
    for sizes in ((1, 5), (2, 8)):
        x = rng.standard_normal((sizes[0], 3, sizes[1], 6)).astype(np.float32)
        close(run(graph, x)[0], function(Tensor(x)).asnumpy())


def test_windows_of_a_mean_move_by_one_unless_a_stride_is_given():
    x = ops.ones((1, 1, 4, 4))
    assert ops.avg_pool2d(x, 2).shape == (1, 1, 3, 3) and ops.avg_pool2d(x, 2, None).shape == (1, 1, 2, 2)
    assert ops.avg_pool1d(x[0], 2).shape == (1, 4, 3) and ops.avg_pool3d(ops.ones((1, 1, 4, 4, 4)), 2).shape[2:] == (3, 3, 3)
