"""Layers of earlier versions, combined layers, and how alike pictures are: against NumPy and SciPy, in both modes."""
import numpy as np
import pytest
import scipy.special

import mindlite as ms
import mindlite.mindspore as mindspore
from mindlite import Tensor
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from mindlite.mindspore import nn

draw = np.random.RandomState(3)
X = draw.rand(2, 3, 4).astype(np.float32) + 0.1
SPD = np.stack([m @ m.T + 3 * np.eye(3) for m in draw.rand(2, 3, 3)]).astype(np.float32)
PICTURES = draw.rand(2, 3, 6, 7).astype(np.float32)


def clipped(x, limit, axis=None):
    norm = np.sqrt((x ** 2).sum(axis=axis, keepdims=True))
    return np.where(norm > limit, x * limit / norm, x)


def windows(x, kernel, stride):
    """[N, KH * KW * C, OH, OW], written as its definition says."""
    n, c, h, w = x.shape
    (kh, kw), (sh, sw) = kernel, stride
    out = [[x[:, :, i + a, j + b] for a in range(kh) for b in range(kw)]
           for i in range(0, h - kh + 1, sh) for j in range(0, w - kw + 1, sw)]
    stacked = np.array(out).reshape(len(out), kh * kw, n, c)
    return stacked.transpose(2, 1, 3, 0).reshape(n, kh * kw * c, (h - kh) // sh + 1, (w - kw) // sw + 1)


CASES = {
    "Norm": (nn.Norm, (), (X,), np.linalg.norm(X)),
    "Norm of axes": (nn.Norm, ((0, 1), True), (X,), np.sqrt((X ** 2).sum((0, 1), keepdims=True))),
    "ClipByNorm": (nn.ClipByNorm, (), (X, np.float32([1.5])), clipped(X, 1.5)),
    "ClipByNorm of an axis": (nn.ClipByNorm, (1,), (X, np.float32(0.9)), clipped(X, 0.9, 1)),
    "OneHot": (nn.OneHot, (-1, 3), (np.int32([[0, 2], [1, 1]]),), np.eye(3)[[[0, 2], [1, 1]]]),
    "Range": (nn.Range, (1, 8, 2), (), np.arange(1, 8, 2)), "Range of nothing": (nn.Range, (5, 1), (), np.arange(0)),
    "Tril": (nn.Tril, (), (X,), np.tril(X)),
    "Triu": (nn.Triu, (), (X,), np.triu(X)),
    "Roll": (nn.Roll, ((1, 2), (0, 2)), (X,), np.roll(X, (1, 2), (0, 2))),
    "ReduceLogSumExp": (nn.ReduceLogSumExp, (1,), (X,), scipy.special.logsumexp(X, 1)),
    "MatrixDiag": (nn.MatrixDiag, (), (X[0],), np.stack([np.diag(row) for row in X[0]])),
    "MatrixDiagPart": (nn.MatrixDiagPart, (), (X,), np.diagonal(X, 0, 1, 2)),
    "MatrixSetDiag": (nn.MatrixSetDiag, (), (SPD, X[:, :, 0]), SPD - np.stack([np.diag(np.diag(m)) for m in SPD])
                      + np.stack([np.diag(d) for d in X[:, :, 0]])),
    "MatInverse": (nn.MatInverse, (), (SPD,), np.linalg.inv(SPD)),
    "MatDet": (nn.MatDet, (), (SPD,), np.linalg.det(SPD)),
    "LGamma": (nn.LGamma, (), (X,), scipy.special.gammaln(X)),
    "DiGamma": (nn.DiGamma, (), (X,), scipy.special.digamma(X)),
    "IGamma": (nn.IGamma, (), (X, 2 * X), scipy.special.gammainc(X, 2 * X)),
    "LBeta": (nn.LBeta, (), (X, X + 1), scipy.special.betaln(X, X + 1)),
    "L1Regularizer": (nn.L1Regularizer, (0.5,), (-X,), 0.5 * X.sum()),
    "Unfold": (nn.Unfold, ([1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 1, 1]), (PICTURES,), windows(PICTURES, (2, 3), (2, 1))),
    "PSNR": (nn.PSNR, (), (PICTURES, PICTURES * 0.9), -10 * np.log10(((PICTURES * 0.1) ** 2).mean((1, 2, 3)))),
}


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=before)


@pytest.mark.parametrize("name", CASES)
def test_a_layer_of_earlier_versions_is_its_formula(mode, name):
    layer, settings, inputs, wanted = CASES[name]
    np.testing.assert_allclose(layer(*settings)(*map(Tensor, inputs)).asnumpy(), wanted, rtol=2e-5, atol=2e-5)


def test_moments_are_mean_and_variance(mode):
    for got, wanted in zip(nn.Moments((0, 2))(Tensor(X)), (X.mean((0, 2)), X.var((0, 2)))):
        np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-5)


def test_gradients_of_pictures_are_differences_of_neighbours(mode):
    dy, dx = nn.ImageGradients()(Tensor(PICTURES))
    np.testing.assert_array_equal(dy.asnumpy(), np.diff(PICTURES, axis=2, append=PICTURES[:, :, -1:]))
    np.testing.assert_array_equal(dx.asnumpy(), np.diff(PICTURES, axis=3, append=PICTURES[:, :, :, -1:]))


def similarity(a, b, size, sigma, largest):
    """SSIM by its definition, window by window."""
    place = np.arange(size) - (size - 1) / 2
    weight = np.exp(-(place[:, None] ** 2 + place ** 2) / (2 * sigma ** 2))
    weight = weight / weight.sum()
    c1, c2 = (0.01 * largest) ** 2, (0.03 * largest) ** 2
    means = []
    for x, y in zip(a.reshape(-1, *a.shape[2:]), b.reshape(-1, *b.shape[2:])):
        places = [(i, j) for i in range(x.shape[0] - size + 1) for j in range(x.shape[1] - size + 1)]
        values = []
        for i, j in places:
            u, v = x[i:i + size, j:j + size].astype(float), y[i:i + size, j:j + size].astype(float)
            mu, mv = (weight * u).sum(), (weight * v).sum()
            covariance = (weight * u * v).sum() - mu * mv
            variances = (weight * (u * u + v * v)).sum() - mu ** 2 - mv ** 2
            values.append((2 * mu * mv + c1) / (mu ** 2 + mv ** 2 + c1) * (2 * covariance + c2) / (variances + c2))
        means.append(np.mean(values))
    return np.reshape(means, a.shape[:2]).mean(-1)


def test_structural_similarity_is_its_definition_and_one_for_equal_pictures(mode):
    other = PICTURES + draw.rand(*PICTURES.shape).astype(np.float32) * 0.2
    got = nn.SSIM(filter_size=5)(Tensor(PICTURES), Tensor(other)).asnumpy()
    np.testing.assert_allclose(got, similarity(PICTURES, other, 5, 1.5, 1.0), rtol=1e-4)
    big = Tensor(draw.rand(1, 1, 40, 40).astype(np.float32))
    np.testing.assert_allclose(nn.MSSSIM(power_factors=(0.3, 0.3), filter_size=5)(big, big).asnumpy(), [1.0], rtol=1e-4)


def test_a_lookup_is_zero_outside_and_clipped_to_its_norm(mode):
    layer = nn.EmbeddingLookup(4, 3, Tensor(np.arange(12, dtype=np.float32).reshape(4, 3)), max_norm=5.0)
    got = layer(Tensor(np.int32([[0, 1], [3, 4]]))).asnumpy()
    table = clipped(np.arange(12, dtype=np.float32).reshape(4, 3), 5.0, 1)
    np.testing.assert_allclose(got, [[table[0], table[1]], [table[3], np.zeros(3)]], rtol=1e-5)


def test_a_combined_layer_trains_what_its_parts_hold(mode):
    layer = nn.Conv2dBnAct(3, 2, 3, has_bn=True, activation="relu")
    assert [p.name for p in layer.trainable_params()] == ["conv.weight", "batchnorm.gamma", "batchnorm.beta"]
    out = layer(Tensor(PICTURES))
    plain = nn.ReLU()(layer.batchnorm(layer.conv(Tensor(PICTURES))))
    np.testing.assert_allclose(out.asnumpy(), plain.asnumpy(), rtol=1e-5)
    dense = nn.DenseBnAct(4, 2, activation="leakyrelu", alpha=0.5)
    x = Tensor(X[0])
    y = dense.dense(x).asnumpy()
    np.testing.assert_allclose(dense(x).asnumpy(), np.where(y > 0, y, 0.5 * y), rtol=1e-5)


@pytest.mark.parametrize("error, call", [
    (ArgumentError, lambda: nn.L1Regularizer("a")), (ValueRangeError, lambda: nn.L1Regularizer(0)),
    (DTypeError, lambda: nn.LBeta()(Tensor([1, 2]), Tensor([1, 2]))), (ValueRangeError, lambda: nn.PSNR(0)),
    (ShapeError, lambda: nn.PSNR()(Tensor(X), Tensor(X))), (ArgumentError, lambda: nn.ClipByNorm("a")),
    (ValueRangeError, lambda: nn.Unfold([1, 2], [1, 1, 1, 1], [1, 1, 1, 1])),
    (ValueRangeError, lambda: nn.EmbeddingLookup(3, 2, target="GPU"))],
    ids=["scale", "zero", "ints", "range", "axes", "axis", "window", "target"])
def test_bad_arguments_of_these_layers_are_refused(error, call):
    with pytest.raises(error):
        call()


def test_names_that_nn_shares_with_metrics_and_mint_are_the_very_objects():
    from mindlite import mint
    from mindlite.train import metrics
    assert mindspore.nn.Top1CategoricalAccuracy is metrics.Top1CategoricalAccuracy
    assert mindspore.nn.LayerNormExt is mint.nn.LayerNorm and mindspore.nn.Linear is mint.nn.Linear


@pytest.mark.parametrize("settings, shape", [(dict(size=(1, 2, 2), mode="area"), (1, 2, 2)), (dict(scale_factor=2.0), (8, 8)),
                                             (dict(size=5, mode="linear"), (5,)),
                                             (dict(size=(3, 3, 3), mode="trilinear"), (3, 3, 3))],
                         ids=["area", "nearest", "linear", "trilinear"])
def test_upsample_is_interpolate_for_lines_pictures_and_volumes(mode, settings, shape):
    x = Tensor(draw.rand(1, 2, *(2, 4, 4)[-len(shape):]).astype(np.float32))
    got = nn.Upsample(**settings)(x)
    assert tuple(got.shape) == (1, 2, *shape)
    np.testing.assert_array_equal(got.asnumpy(), ms.ops.interpolate(x, **settings).asnumpy())
    if settings.get("mode") == "area":
        np.testing.assert_allclose(got.asnumpy(), x.asnumpy().reshape(1, 2, 2, 1, 2, 2, 2, 2).mean((2, 5, 7)).reshape(got.shape),
                                   rtol=1e-5)
