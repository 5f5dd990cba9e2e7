"""MindSpore's CTCLoss: the loss against the sum over all alignments, its gradient against differences; Morph."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.errors import ArgumentError, ShapeError
from mindlite.mindspore import ops

WAYS = {"eager": lambda f: f, "graph": lambda f: ms.jit(f, fullgraph=True)}
X = np.random.RandomState(3).randn(4, 3, 3).astype(np.float32)
LABELS, STEPS = [[0, 1], [1, 1], [0]], [4, 3, 2]
PLACES = Tensor([[n, k] for n, row in enumerate(LABELS) for k in range(len(row))])
VALUES = Tensor([label for row in LABELS for label in row], ms.int32)


def by_alignments(logits, steps, labels, blank=2):
    """-log of the chance of all sequences of classes that become the labels: equal neighbours are one, blanks go."""
    chances = np.exp(logits.astype(np.float64)) / np.exp(logits.astype(np.float64)).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(logits.shape[1]), repeat=steps):
        if [k for k, _ in itertools.groupby(path) if k != blank] == labels:
            total += np.prod([chances[t, k] for t, k in enumerate(path)])
    return -np.log(total)


@pytest.mark.parametrize("way", WAYS)
def test_the_loss_is_that_of_all_alignments_and_the_gradient_its_slope(way):
    loss, slopes = WAYS[way](lambda x: ops.CTCLoss()(x, PLACES, VALUES, Tensor(STEPS, ms.int32)))(Tensor(X))
    wanted = [by_alignments(X[:, n], STEPS[n], LABELS[n]) for n in range(3)]
    np.testing.assert_allclose(loss.asnumpy(), wanted, rtol=1e-5)
    for place in [(0, 0, 1), (2, 1, 2), (1, 2, 0), (3, 1, 0)]:
        n, more, less = place[1], X.copy(), X.copy()
        more[place] += 1e-2
        less[place] -= 1e-2
        slope = (by_alignments(more[:, n], STEPS[n], LABELS[n]) - by_alignments(less[:, n], STEPS[n], LABELS[n])) / 2e-2
        assert slopes.asnumpy()[place] == pytest.approx(slope, abs=2e-3)


@pytest.mark.parametrize("way", WAYS)
def test_a_loss_that_is_differentiated_has_the_gradient_that_it_gives(way):
    def loss(x):
        return ops.CTCLoss()(x, PLACES, VALUES, Tensor(STEPS, ms.int32))[0].sum()
    given = ops.CTCLoss()(Tensor(X), PLACES, VALUES, Tensor(STEPS, ms.int32))[1]
    np.testing.assert_allclose(WAYS[way](ms.grad(loss))(Tensor(X)).asnumpy(), given.asnumpy(), atol=1e-6)


def test_labels_that_do_not_fit_cost_infinitely_much_or_nothing():
    short = Tensor([4, 2, 2], ms.int32)                       # two equal labels need a blank between them: three steps
    assert np.isinf(ops.CTCLoss()(Tensor(X), PLACES, VALUES, short)[0].asnumpy()[1])
    loss, slopes = ops.CTCLoss(ignore_longer_outputs_than_inputs=True)(Tensor(X), PLACES, VALUES, short)
    assert loss.asnumpy()[1] == 0 and not slopes.asnumpy()[:, 1].any()


def test_what_is_not_here_is_named():
    with pytest.raises(ArgumentError, match="equal neighbours"):
        ops.CTCLoss(ctc_merge_repeated=False)(Tensor(X), PLACES, VALUES, Tensor(STEPS))
    for way in WAYS.values():
        with pytest.raises(IndexError, match="CTCLoss: label 2 is outside 0..1"):                # the blank is no label
            way(lambda x: ops.CTCLoss()(x, PLACES, VALUES * 2, Tensor(STEPS, ms.int32)))(Tensor(X))
    with pytest.raises(ShapeError, match="labels_values"):
        ops.CTCLoss()(Tensor(X), PLACES, PLACES, Tensor(STEPS))


@pytest.mark.parametrize("way", WAYS)
def test_morph_is_its_function_and_has_its_gradient_or_the_one_that_is_given(way):
    x, same = Tensor([2.0, 3.0]), lambda given: given
    plain, own = ops.Morph(lambda x: x ** 3, same, same), \
        ops.Morph(lambda x: x ** 3, same, same, lambda x, out, dout: (dout * out,))
    for morph, slope in ((plain, [12, 27]), (own, [8, 27])):
        assert WAYS[way](lambda x: morph(x))(x).tolist() == [8, 27]                                # noqa: B023
        assert WAYS[way](ms.grad(lambda x: morph(x).sum()))(x).tolist() == slope                  # noqa: B023


def test_settings_of_a_layer_that_ranks_share_are_checked():
    for groups, error in (([0], TypeError), ([[1, 2]], ValueError), ([[0], [0]], ValueError)):
        with pytest.raises(error, match="SyncBatchNorm"):
            nn.SyncBatchNorm(2, process_groups=groups)
