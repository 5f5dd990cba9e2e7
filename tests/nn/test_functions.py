"""Activations, losses and learning-rate schedules against their formulas."""
import math

import numpy as np
import pytest

from mindlite import nn
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.common.tensor import Parameter, Tensor

RNG = np.random.default_rng(11)
X = np.concatenate([RNG.normal(size=(4, 6)) * 3, [[0.1, -0.4, 0.6, -0.7, 2.0, -5.0]]]).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
ERF = np.vectorize(math.erf)


@pytest.mark.parametrize("layer, formula", [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
    (nn.LeakyReLU(0.3), lambda x: np.where(x >= 0, x, 0.3 * x)),
    (nn.LeakyReLU(), lambda x: np.where(x >= 0, x, 0.2 * x)),
    (nn.PReLU(), lambda x: np.where(x >= 0, x, 0.25 * x)),
    (nn.PReLU(6, 0.5), lambda x: np.where(x >= 0, x, 0.5 * x)),
    (nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    (nn.CELU(2.0), lambda x: np.maximum(x, 0) + np.minimum(2 * np.expm1(x / 2), 0)),
    (nn.SeLU(), lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x))),
    (nn.GELU(), lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))),
    (nn.GELU(False), lambda x: 0.5 * x * (1 + ERF(x / math.sqrt(2)))),
    (nn.SiLU(), lambda x: x * sigmoid(x)),
    (nn.Mish(), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    (nn.HSwish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.HSigmoid(), lambda x: np.clip(x + 3, 0, 6) / 6),
    (nn.Sigmoid(), sigmoid),
    (nn.LogSigmoid(), lambda x: np.log(sigmoid(x.astype(np.float64)))),
    (nn.Tanh(), np.tanh),
    (nn.Tanhshrink(), lambda x: x - np.tanh(x)),
    (nn.Hardtanh(-0.5, 2.0), lambda x: np.clip(x, -0.5, 2)),
    (nn.HShrink(), lambda x: np.where(abs(x) > 0.5, x, 0)),
    (nn.SoftShrink(), lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0)),
    (nn.Softsign(), lambda x: x / (1 + abs(x))),
    (nn.Threshold(0.2, 7.0), lambda x: np.where(x > 0.2, x, 7)),
    (nn.GLU(), lambda x: x[:, :3] * sigmoid(x[:, 3:])),
    (nn.Softmax(0), lambda x: softmax(x, 0)),
    (nn.Softmin(), lambda x: softmax(-x)),
    (nn.LogSoftmax(), lambda x: np.log(softmax(x))),
], ids=lambda value: value.cls_name if isinstance(value, nn.Cell) else None)
def test_an_activation_is_its_formula(layer, formula):
    assert np.allclose(layer(Tensor(X)).asnumpy(), formula(X), atol=1e-5)


def test_activations_are_found_by_name():
    assert isinstance(nn.get_activation("relu"), nn.ReLU) and nn.get_activation(None) is None
    with pytest.raises(ValueRangeError, match="Dense: no activation is named 'nosuch'"):
        nn.get_activation("nosuch", "Dense")
    for bad in (lambda: nn.PReLU(0), lambda: nn.Hardtanh(1, 0)):
        with pytest.raises(ValueRangeError):
            bad()


# ---------------------------------------------------------------- losses

A, B = X[:4], (X[:4] + RNG.normal(size=(4, 6))).astype(np.float32)
P, Q = sigmoid(A), softmax(B)
LABELS = np.array([0, 5, 2, 2], np.int32)
SIGNS = np.array([1, -1, 1, -1], np.int32)
BITS = (B > 0).astype(np.float32)
WEIGHT = np.arange(1, 7, dtype=np.float32)


def bce(p, y):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def cosine(a, b):
    return (a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def picked(x):
    return np.take_along_axis(x, LABELS[:, None], 1)[:, 0]


D = abs(A - B)
ELEMENTWISE = [
    (nn.L1Loss, {}, (A, B), D),
    (nn.MSELoss, {}, (A, B), D ** 2),
    (nn.MAELoss, {}, (A, B), D),
    (nn.SmoothL1Loss, {"beta": 0.5}, (A, B), np.where(D < 0.5, D * D, D - 0.25)),
    (nn.HuberLoss, {"delta": 0.5}, (A, B), np.where(D <= 0.5, D * D / 2, 0.5 * (D - 0.25))),
    (nn.BCELoss, {}, (P, BITS), bce(P, BITS)),
    (nn.BCELoss, {"weight": Tensor(WEIGHT)}, (P, BITS), bce(P, BITS) * WEIGHT),
    (nn.BCEWithLogitsLoss, {}, (A, BITS), bce(P, BITS)),
    (nn.BCEWithLogitsLoss, {"pos_weight": Tensor(WEIGHT)}, (A, BITS), bce(P, BITS) * np.where(BITS == 1, WEIGHT, 1)),
    (nn.KLDivLoss, {}, (np.log(P), Q), Q * (np.log(Q) - np.log(P))),
    (nn.CrossEntropyLoss, {}, (A, LABELS), -np.log(picked(softmax(A)))),
    (nn.NLLLoss, {}, (A, LABELS), -picked(A)),
    (nn.SoftmaxCrossEntropyWithLogits, {"sparse": True}, (A, LABELS), -np.log(picked(softmax(A)))),
    (nn.SoftmaxCrossEntropyWithLogits, {}, (A, Q), -(Q * np.log(softmax(A))).sum(1)),
    (nn.CosineEmbeddingLoss, {"margin": 0.1}, (A, B, SIGNS),
     np.where(SIGNS == 1, 1 - cosine(A, B), np.maximum(cosine(A, B) - 0.1, 0))),
    (nn.MarginRankingLoss, {"margin": 0.1}, (A[:, 0], B[:, 0], SIGNS),
     np.maximum(0.1 - SIGNS * (A[:, 0] - B[:, 0]), 0)),
    (nn.HingeEmbeddingLoss, {}, (A[:, 0], SIGNS), np.where(SIGNS == 1, A[:, 0], np.maximum(1 - A[:, 0], 0))),
    (nn.SoftMarginLoss, {}, (A[:, 0], SIGNS.astype(np.float32)), np.log1p(np.exp(-SIGNS * A[:, 0]))),
    (nn.TripletMarginLoss, {}, (A, B, X[1:]),
     np.maximum(np.linalg.norm(A - B + 1e-6, axis=1) - np.linalg.norm(A - X[1:] + 1e-6, axis=1) + 1, 0)),
    (nn.GaussianNLLLoss, {"full": True}, (A, B, P), 0.5 * (np.log(P) + (A - B) ** 2 / P) + 0.5 * math.log(2 * math.pi)),
]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("loss, settings, args, elements", ELEMENTWISE, ids=lambda x: getattr(x, "__name__", None))
def test_a_loss_is_its_formula_under_each_reduction(loss, settings, args, elements, reduction):
    out = loss(**settings, reduction=reduction)(*(Tensor(arg) for arg in args)).asnumpy()
    expected = {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](elements)
    assert out.shape == expected.shape and np.allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_cross_entropy_weighs_ignores_and_smooths():
    logs, weight = -np.log(softmax(A)), WEIGHT[LABELS]
    out = nn.CrossEntropyLoss(Tensor(WEIGHT))(Tensor(A), Tensor(LABELS)).asnumpy()
    assert np.allclose(out, (picked(logs) * weight).sum() / weight.sum(), rtol=1e-5)
    out = nn.CrossEntropyLoss(ignore_index=2)(Tensor(A), Tensor(LABELS)).asnumpy()
    assert np.allclose(out, picked(logs)[:2].mean(), rtol=1e-5)
    out = nn.CrossEntropyLoss(label_smoothing=0.1)(Tensor(A), Tensor(LABELS)).asnumpy()
    assert np.allclose(out, (0.9 * picked(logs) + 0.1 * logs.mean(1)).mean(), rtol=1e-5)


def test_losses_of_the_whole_input_are_their_formulas():
    assert np.allclose(nn.RMSELoss()(Tensor(A), Tensor(B)).asnumpy(), np.sqrt((D ** 2).mean()))
    dice = 1 - 2 * (P * BITS).sum() / ((P ** 2).sum() + (BITS ** 2).sum() + 1e-5)
    assert np.allclose(nn.DiceLoss()(Tensor(P), Tensor(BITS)).asnumpy(), dice)
    batch = (Q * (np.log(Q) - np.log(P))).sum() / 4
    assert np.allclose(nn.KLDivLoss("batchmean")(Tensor(np.log(P)), Tensor(Q)).asnumpy(), batch)


def test_a_loss_of_ones_own_reduces_by_get_loss():
    class Cubic(nn.LossBase):
        def construct(self, logits, labels):
            return self.get_loss((logits - labels) * (logits - labels) * (logits - labels), 2.0)
    assert np.allclose(Cubic()(Tensor(A), Tensor(B)).asnumpy(), 2 * ((A - B) ** 3).mean(), rtol=1e-4)


def test_bad_loss_arguments_are_refused():
    for bad, error in ((lambda: nn.MSELoss("max"), ValueRangeError), (lambda: nn.BCELoss(weight=3), ArgumentError),
                       (lambda: nn.CosineEmbeddingLoss(2.0), ValueRangeError),
                       (lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=1), ArgumentError),
                       (lambda: nn.L1Loss()(Tensor(A), Tensor(B[:, :4])), ShapeError)):
        with pytest.raises(error):
            bad()


# ---------------------------------------------------------------- learning rates

STEPS = range(9)


@pytest.mark.parametrize("schedule, formula", [
    (nn.ExponentialDecayLR(0.1, 0.9, 4), lambda t: 0.1 * 0.9 ** (t / 4)),
    (nn.ExponentialDecayLR(0.1, 0.9, 4, True), lambda t: 0.1 * 0.9 ** (t // 4)),
    (nn.NaturalExpDecayLR(0.1, 0.9, 4), lambda t: 0.1 * math.exp(-0.9 * t)),
    (nn.NaturalExpDecayLR(0.1, 0.9, 4, True), lambda t: 0.1 * math.exp(-0.9 * (t // 4 * 4))),
    (nn.InverseDecayLR(0.1, 0.9, 4), lambda t: 0.1 / (1 + 0.9 * t / 4)),
    (nn.InverseDecayLR(0.1, 0.9, 4, True), lambda t: 0.1 / (1 + 0.9 * (t // 4))),
    (nn.CosineDecayLR(0.01, 0.1, 4), lambda t: 0.01 + 0.045 * (1 + math.cos(math.pi * min(t, 4) / 4))),
    (nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5), lambda t: 0.09 * (1 - min(t, 4) / 4) ** 0.5 + 0.01),
    (nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5, True),
     lambda t: 0.09 * (1 - t / (4 * max(1, math.ceil(t / 4)))) ** 0.5 + 0.01),
    (nn.WarmUpLR(0.1, 4), lambda t: 0.1 * min(t, 4) / 4)])
def test_a_schedule_is_its_formula_of_the_step(schedule, formula):
    rates = [float(schedule(Tensor(t, dt.int32)).asnumpy()) for t in STEPS]
    assert rates == pytest.approx([formula(t) for t in STEPS], rel=1e-5, abs=1e-7)
    assert schedule(Parameter(Tensor([3], dt.int32))).shape == (1,)


@pytest.mark.parametrize("rates, formula", [
    (nn.exponential_decay_lr(0.1, 0.9, 9, 2, 2), lambda e: 0.1 * 0.9 ** (e / 2)),
    (nn.exponential_decay_lr(0.1, 0.9, 9, 2, 2, True), lambda e: 0.1 * 0.9 ** (e // 2)),
    (nn.natural_exp_decay_lr(0.1, 0.9, 9, 2, 2), lambda e: 0.1 * math.exp(-0.9 * e)),
    (nn.natural_exp_decay_lr(0.1, 0.9, 9, 2, 2, True), lambda e: 0.1 * math.exp(-0.9 * (e // 2 * 2))),
    (nn.inverse_decay_lr(0.1, 0.9, 9, 2, 2), lambda e: 0.1 / (1 + 0.9 * e / 2)),
    (nn.cosine_decay_lr(0.01, 0.1, 9, 2, 2), lambda e: 0.01 + 0.045 * (1 + math.cos(math.pi * min(e, 2) / 2))),
    (nn.polynomial_decay_lr(0.1, 0.01, 9, 2, 2, 0.5), lambda e: 0.09 * (1 - min(e, 2) / 2) ** 0.5 + 0.01),
    (nn.polynomial_decay_lr(0.1, 0.01, 9, 2, 2, 0.5, True),
     lambda e: 0.09 * (1 - e / (2 * max(1, math.ceil(e / 2)))) ** 0.5 + 0.01),
    (nn.warmup_lr(0.1, 9, 2, 2), lambda e: 0.1 * min(e, 2) / 2)])
def test_a_list_of_rates_is_its_formula_of_the_epoch(rates, formula):
    assert rates == pytest.approx([formula(t // 2) for t in STEPS])


def test_piecewise_rates_change_at_their_milestones():
    assert nn.piecewise_constant_lr([2, 3, 5], [0.3, 0.2, 0.1]) == [0.3, 0.3, 0.2, 0.1, 0.1]
    assert nn.piecewise_constant_lr([2, 2], [0.1, 0.2]) == [0.1, 0.1] and nn.warmup_lr(0.0, 2, 1, 1) == [0, 0]


def test_bad_rates_are_refused():
    for bad, error in ((lambda: nn.ExponentialDecayLR(0, 0.9, 4), ValueRangeError),
                       (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4.0), ArgumentError),
                       (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, 1), ArgumentError),
                       (lambda: nn.CosineDecayLR(0.1, 0.1, 4), ValueRangeError),
                       (lambda: nn.PolynomialDecayLR(0.1, 0.1, 0, 1), ValueRangeError),
                       (lambda: nn.piecewise_constant_lr([2, 1], [0.1, 0.1]), ValueRangeError),
                       (lambda: nn.piecewise_constant_lr([2], [0.1, 0.1]), ValueRangeError),
                       (lambda: nn.piecewise_constant_lr(2, 0.1), ArgumentError),
                       (lambda: nn.cosine_decay_lr(0.1, 0.01, 6, 2, 2), ValueRangeError),
                       (lambda: nn.warmup_lr(0.1, 6.0, 2, 2), ArgumentError),
                       (lambda: nn.warmup_lr(0.1, 6, 0, 2), ValueRangeError)):
        with pytest.raises(error):
            bad()
