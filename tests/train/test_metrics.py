"""Metrics: what scikit-learn, SciPy or the formula gives; batches one after the other give what all samples at once give."""
import math

import numpy as np
import pytest
from sklearn import metrics as reference

from mindlite import Tensor, nn
from mindlite.train import metrics as m

RANDOM = np.random.default_rng(5)
SCORES = RANDOM.random((30, 4)).astype(np.float32)
TRUTH = RANDOM.integers(0, 4, 30).astype(np.int32)
GUESS = SCORES.argmax(axis=1)
ONES, OTHERS = RANDOM.integers(0, 2, (30, 5)), RANDOM.integers(0, 2, (30, 5))
VALUES, TARGETS = RANDOM.normal(size=(30, 2)).astype(np.float32), RANDOM.normal(size=(30, 2)).astype(np.float32)
CHANCE, YES = RANDOM.random(30).astype(np.float32), RANDOM.integers(0, 2, 30)
PROBABILITIES = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)


def dice():
    return 2 * float((ONES * OTHERS).sum()) / ((ONES ** 2).sum() + (OTHERS ** 2).sum() + 1e-5)


def by_class(function):
    return function(TRUTH, GUESS, average=None, zero_division=0)


NONE = np.array([[1, 0], [0, 0]])                    # a sample without labels


CASES = {                                            # name: (metric, inputs, what it gives)
    "accuracy": (m.Accuracy(), (SCORES, TRUTH), lambda: reference.accuracy_score(TRUTH, GUESS)),
    "accuracy, one-hot": (m.Accuracy(), (SCORES, np.eye(4)[TRUTH]), lambda: reference.accuracy_score(TRUTH, GUESS)),
    "accuracy, labels": (m.Accuracy("multilabel"), (ONES, OTHERS), lambda: reference.accuracy_score(OTHERS, ONES)),
    "precision": (m.Precision(), (SCORES, TRUTH), lambda: by_class(reference.precision_score)),
    "recall": (m.Recall(), (SCORES, TRUTH), lambda: by_class(reference.recall_score)),
    "precision, labels": (m.Precision("multilabel"), (ONES, OTHERS), lambda: np.array(
        [reference.precision_score(o, s, zero_division=0) for o, s in zip(OTHERS, ONES)])),
    "recall, labels": (m.Recall("multilabel"), (ONES, OTHERS), lambda: np.array(
        [reference.recall_score(o, s, zero_division=0) for o, s in zip(OTHERS, ONES)])),
    "precision, no labels": (m.Precision("multilabel"), (NONE.astype(np.float32), NONE), lambda: np.array([1.0, 0.0])),
    "recall, no labels": (m.Recall("multilabel"), (NONE, NONE.astype(np.float32)), lambda: np.array([1.0, 0.0])),
    "F1": (m.F1(), (SCORES, TRUTH), lambda: by_class(reference.f1_score)),
    "F2": (m.Fbeta(2), (SCORES, TRUTH), lambda: reference.fbeta_score(TRUTH, GUESS, beta=2, average=None)),
    "top 1": (m.Top1CategoricalAccuracy(), (SCORES, TRUTH), lambda: reference.top_k_accuracy_score(TRUTH, SCORES, k=1)),
    "top 2": (m.TopKCategoricalAccuracy(2), (SCORES, TRUTH), lambda: reference.top_k_accuracy_score(TRUTH, SCORES, k=2)),
    "top 5": (m.Top5CategoricalAccuracy(), (np.tile(SCORES, 2), TRUTH), lambda: np.mean(
        [t in np.argsort(-np.tile(s, 2))[:5] for s, t in zip(SCORES, TRUTH)])),
    "mae": (m.MAE(), (VALUES, TARGETS), lambda: 2 * reference.mean_absolute_error(TARGETS, VALUES)),
    "mse": (m.MSE(), (VALUES, TARGETS), lambda: 2 * reference.mean_squared_error(TARGETS, VALUES)),
    "confusion": (m.ConfusionMatrix(4), (SCORES, TRUTH), lambda: reference.confusion_matrix(TRUTH, GUESS)),
    "confusion, rows": (m.ConfusionMatrix(4, "target"), (GUESS, TRUTH), lambda: reference.confusion_matrix(
        TRUTH, GUESS, normalize="true")),
    "confusion, columns": (m.ConfusionMatrix(4, "prediction"), (GUESS, TRUTH), lambda: reference.confusion_matrix(
        TRUTH, GUESS, normalize="pred")),
    "confusion, all": (m.ConfusionMatrix(4, "all"), (GUESS, TRUTH), lambda: reference.confusion_matrix(
        TRUTH, GUESS, normalize="all")),
    "confusion, threshold": (m.ConfusionMatrix(2, threshold=0.3), (CHANCE, YES), lambda: reference.confusion_matrix(
        YES, CHANCE >= 0.3)),
    "cosine": (m.CosineSimilarity(zero_diagonal=False), (SCORES,), lambda: reference.pairwise.cosine_similarity(SCORES)),
    "dot": (m.CosineSimilarity("dot", "mean", False), (SCORES,), lambda: (SCORES @ SCORES.T).mean(axis=1)),
    "perplexity": (m.Perplexity(), (PROBABILITIES, TRUTH), lambda: math.exp(reference.log_loss(TRUTH, PROBABILITIES))),
    "perplexity without 2": (m.Perplexity(2), (PROBABILITIES, TRUTH), lambda: math.exp(reference.log_loss(
        TRUTH[TRUTH != 2], PROBABILITIES[TRUTH != 2], labels=[0, 1, 2, 3]))),
    "sensitivity": (m.ConfusionMatrixMetric(), (ONES, OTHERS), lambda: [reference.recall_score(OTHERS.ravel(), ONES.ravel())]),
    **{name: (m.ConfusionMatrixMetric(metric_name=name), (ONES, OTHERS), lambda f=f: [f(OTHERS.ravel(), ONES.ravel())])
       for name, f in (("precision", reference.precision_score), ("f1 score", reference.f1_score),
                       ("accuracy", reference.accuracy_score), ("threat score", reference.jaccard_score),
                       ("balanced accuracy", reference.balanced_accuracy_score),
                       ("matthews correlation coefficient", reference.matthews_corrcoef),
                       ("fowlkes mallows index", lambda t, p: math.sqrt(
                           reference.precision_score(t, p) * reference.recall_score(t, p))))},
}


def equal(found, expected):
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_a_metric_is_what_the_reference_gives_at_once_and_in_batches(name):
    metric, inputs, expected = CASES[name]
    metric.clear()
    with pytest.raises(RuntimeError, match="no samples"):
        metric.eval()
    equal(metric(*[Tensor(x) for x in inputs]), expected())
    metric.clear()
    for part in (slice(0, 7), slice(7, 8), slice(8, 30)):
        metric.update(*[x[part] for x in inputs])
    equal(metric.eval(), expected())
    if hasattr(metric, "_hits"):
        equal(metric.eval(average=True), np.mean(expected()))


def test_a_curve_is_scikit_learns_and_its_area_too():
    curve = m.ROC(pos_label=1)
    for part in (slice(0, 11), slice(11, 30)):
        curve.update(CHANCE[part], YES[part])
    false, true, thresholds = curve.eval()
    a, b, c = reference.roc_curve(YES, CHANCE, drop_intermediate=False)
    equal(false, a), equal(true, b), equal(thresholds[1:], c[1:])
    assert m.auc(false, true) == pytest.approx(reference.roc_auc_score(YES, CHANCE))
    assert m.auc(false[::-1].copy(), true[::-1].copy()) == pytest.approx(reference.roc_auc_score(YES, CHANCE))
    shuffled = RANDOM.permutation(len(false))
    assert m.auc(false[shuffled], true[shuffled], reorder=True) == pytest.approx(reference.roc_auc_score(YES, CHANCE))
    for number, area in enumerate(map(m.auc, *m.ROC(4)(SCORES, TRUTH)[:2])):
        assert area == pytest.approx(reference.roc_auc_score(TRUTH == number, SCORES[:, number]))


def test_rates_by_sample_are_averaged_without_those_that_have_no_sense():
    predicted, truth = RANDOM.integers(0, 2, (6, 3, 4, 4)), RANDOM.integers(0, 2, (6, 3, 4, 4))
    truth[0] = 0                                                                     # no sample is positive: recall is 0 / 0
    metric = m.ConfusionMatrixMetric(metric_name="recall", calculation_method=True)
    for part in (slice(0, 2), slice(2, 6)):
        metric.update(predicted[part], truth[part])
    rates = [np.mean([reference.recall_score(t.ravel(), p.ravel()) for t, p in zip(ts, ps)])
             for ts, ps in zip(truth[1:], predicted[1:])]
    equal(metric.eval(), np.mean(rates))
    alone = m.ConfusionMatrixMetric(skip_channel=False, metric_name="recall")(predicted, truth)
    equal(alone, [reference.recall_score(truth[:, 1:].ravel(), predicted[:, 1:].ravel())])
    with pytest.raises(NotImplementedError, match="no rate"):
        m.ConfusionMatrixMetric(metric_name="other")(predicted, truth)


def test_losses_are_averaged_over_batches():
    metric = m.Loss()
    for loss in (Tensor(0.25), np.array([0.5, 1.0]), [2.0]):
        metric.update(loss)
    assert metric.eval() == pytest.approx((0.25 + 0.75 + 2) / 3)


def test_dice_is_the_overlap_of_two_masks():
    assert m.Dice()(ONES, OTHERS) == pytest.approx(dice() / 30)
    metric = m.Dice()
    for one, other in zip(ONES, OTHERS):
        metric.update(one[None], other[None])
    expected = np.mean([2 * (a * b).sum() / (a.sum() + b.sum() + 1e-5) for a, b in zip(ONES, OTHERS)])
    assert metric.eval() == pytest.approx(expected)


def test_bleu_is_the_mean_precision_of_short_phrases():
    candidate = [["the", "cat", "is", "on", "the", "mat", "now"], ["a", "dog", "ran", "home"]]
    references = [[["there", "is", "a", "cat", "on", "the", "mat"], ["the", "cat", "is", "on", "the", "rug"]],
                  [["a", "dog", "ran", "home", "fast"]]]
    hits, totals = [6 + 4, 5 + 3, 4 + 2, 2 + 1], [7 + 4, 6 + 3, 5 + 2, 4 + 1]        # counted by hand
    length, wanted = 7 + 4, 7 + 5
    expected = math.exp(1 - wanted / length) * math.exp(np.mean([math.log(h / t) for h, t in zip(hits, totals)]))
    metric = m.BleuScore()
    for pair in zip(candidate, references):
        metric.update([pair[0]], [pair[1]])
    assert metric.eval() == pytest.approx(expected)
    assert m.BleuScore(n_gram=1)([["a"]], [[["b"]]]) == 0


def surfaces():
    first, second = np.zeros((9, 9), int), np.zeros((9, 9), int)
    first[2:6, 2:6], second[3:8, 3:7] = 1, 1
    return first, second


def edge(mask):
    inner = mask.copy()
    for axis in (0, 1):
        inner &= np.roll(mask, 1, axis) & np.roll(mask, -1, axis)
    return np.argwhere(mask & ~inner)


@pytest.mark.parametrize("distance, between", [
    ("euclidean", lambda d: np.sqrt((d ** 2).sum(-1))), ("chessboard", lambda d: np.abs(d).max(-1)),
    ("taxicab", lambda d: np.abs(d).sum(-1))])
def test_distances_of_surfaces_are_those_of_their_points(distance, between):
    first, second = surfaces()
    table = between(edge(first == 1)[:, None] - edge(second == 1)[None])
    there, back = table.min(axis=1), table.min(axis=0)
    assert m.HausdorffDistance(distance)(first, second, 1) == pytest.approx(max(there.max(), back.max()))
    assert m.HausdorffDistance(distance, directed=True, crop=False)(first, second, 1) == pytest.approx(there.max())
    assert m.HausdorffDistance(distance, 50.0, True)(first, second, 1) == pytest.approx(np.percentile(there, 50))
    assert m.MeanSurfaceDistance(False, distance)(first, second, 1) == pytest.approx(there.mean())
    assert m.MeanSurfaceDistance(True, distance)(first, second, 1) == pytest.approx((there.mean() + back.mean()) / 2)
    assert m.RootMeanSquareDistance(False, distance)(first, second, 1) == pytest.approx((there ** 2).mean())
    assert m.RootMeanSquareDistance(True, distance)(first, second, 1) == pytest.approx(
        math.sqrt(((there ** 2).mean() + (back ** 2).mean()) / 2))
    assert m.HausdorffDistance()(first, np.zeros_like(first), 1) == math.inf


def test_occlusion_is_what_a_score_loses():
    class Sum(nn.Cell):
        def construct(self, x):
            return x.reshape((x.shape[0], -1)).sum(axis=1, keepdims=True) * Tensor(np.array([[1.0, 2.0]], np.float32))
    image = RANDOM.random((1, 3, 4)).astype(np.float32)
    found = m.OcclusionSensitivity(margin=1, n_batch=5)(Sum(), image, np.array([[1]]))
    expected = np.array([[2 * image[0, max(0, i - 1):i + 1, max(0, j - 1):j + 1].sum() for j in range(4)] for i in range(3)])
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    boxed = m.OcclusionSensitivity(margin=1, b_box=[1, 2, 0, 1])(Sum(), image, 1)
    np.testing.assert_allclose(boxed, expected[1:3, 0:2], rtol=1e-4)


def test_inputs_are_chosen_by_their_numbers():
    metric = m.Accuracy().set_indexes([2, 0])
    assert metric.indexes == [2, 0] and metric(TRUTH, "not looked at", SCORES) == pytest.approx(np.mean(GUESS == TRUTH))
    with pytest.raises(ValueError, match="list of ints"):
        m.Accuracy().set_indexes((0, 1))


def test_metrics_have_names():
    assert "acc" in m.names() and isinstance(m.get_metric_fn("topk", 3), m.TopKCategoricalAccuracy)
    with pytest.raises(KeyError, match="no metric"):
        m.get_metric_fn("nothing")


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda: m.Accuracy()(SCORES, TRUTH[:5])), (TypeError, lambda: m.Accuracy("other")),
    (ValueError, lambda: m.Accuracy()(SCORES)), (TypeError, lambda: m.Accuracy()(3, TRUTH)),
    (ValueError, lambda: m.Accuracy("multilabel")(SCORES, SCORES)), (ValueError, lambda: m.Recall()(SCORES, TRUTH + 2)),
    (ValueError, lambda: m.Fbeta(0)), (ValueError, lambda: m.TopKCategoricalAccuracy(0)),
    (TypeError, lambda: m.TopKCategoricalAccuracy(1.5)), (ValueError, lambda: m.Loss()(SCORES)),
    (RuntimeError, lambda: m.Perplexity()(PROBABILITIES, TRUTH[:4])), (ValueError, lambda: m.BleuScore(5)),
    (ValueError, lambda: m.ROC()(CHANCE, np.ones(30))), (ValueError, lambda: m.auc(CHANCE, CHANCE[:5])),
    (TypeError, lambda: m.auc([1], [2])), (ValueError, lambda: m.ConfusionMatrix(3)(GUESS, TRUTH)),
    (ValueError, lambda: m.ConfusionMatrix(3, "other")), (ValueError, lambda: m.HausdorffDistance()(GUESS, TRUTH, 77)),
    (ValueError, lambda: m.MeanSurfaceDistance(distance_metric="other")), (ValueError, lambda: m.Dice(0.0)),
    (ValueError, lambda: m.CosineSimilarity("other")), (ValueError, lambda: m.MAE()(VALUES, TARGETS[:3]))])
def test_what_does_not_fit_is_refused(error, call):
    with pytest.raises(error):
        call()
