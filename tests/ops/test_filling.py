"""Filling, order statistics, windows, margins and CTC, sizes: what their definitions say, in graphs too."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 5)).astype(np.float32)
BOTH = pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])


@BOTH
def test_elements_are_replaced_where_it_is_said(run):
    def fill(x, index, mask, source):
        return (ops.index_fill(x, 1, index, -1.0), ops.index_copy(x, 1, index, source), ops.masked_scatter(x, mask, source),
                ops.put(x, index, source[0, :2]), ops.fill_diagonal(x, 7.0))
    index, mask, source = np.array([3, 0]), X > 0, RNG.standard_normal((4, 2)).astype(np.float32)
    source = np.concatenate([source] * 3, 1)[:, :2]
    mask = mask & (np.cumsum(mask).reshape(mask.shape) <= source.size)
    filled, copied, scattered, put, diagonal = run(fill)(*map(Tensor, (X, index, mask, source)))
    want = [X.copy() for _ in range(5)]
    want[0][:, index] = -1
    want[1][:, index] = source
    want[2][mask] = source.ravel()[:mask.sum()]
    want[3].ravel()[index] = source[0, :2]
    np.fill_diagonal(want[4], 7)
    for got, expected in zip((filled, copied, scattered, put, diagonal), want):
        np.testing.assert_array_equal(got.asnumpy(), expected)


def test_a_tall_diagonal_wraps_as_numpys_does_and_choices_are_chosen():
    tall = np.zeros((7, 3), np.float32)
    np.fill_diagonal(tall, 1, wrap=True)
    np.testing.assert_array_equal(ops.fill_diagonal(Tensor(np.zeros((7, 3), np.float32)), 1.0, True).asnumpy(), tall)
    with pytest.raises(ShapeError, match="fill_diagonal"):
        ops.fill_diagonal(Tensor(np.zeros((2, 3, 2))), 1.0)
    index, rows = np.array([2, 0, 1]), np.arange(12).reshape(4, 3)
    assert Tensor(index).choose(Tensor(rows)).tolist() == np.choose(index, rows).tolist()
    assert Tensor(X).resize(2, 3).tolist() == X.ravel()[:6].reshape(2, 3).tolist()
    assert Tensor([1.0, 2.0]).resize((2, 2)).tolist() == [[1, 2], [0, 0]]
    x = Tensor([[1, 2], [3, 4]])
    assert x.itemset(2, 9).tolist() == [[1, 2], [9, 4]] and x.itemset((0, 1), 9).tolist() == [[1, 9], [3, 4]]
    assert x.tolist() == [[1, 2], [3, 4]] and Tensor([7]).itemset(8).tolist() == [8]


@BOTH
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_medians_and_quantiles_are_numpys(run, axis):
    odd = X[:3] if axis == 0 else X[:, :5]
    value, index = run(lambda x: ops.median(x, axis))(Tensor(odd))
    if axis is not None:
        np.testing.assert_array_equal(value.asnumpy(), np.median(odd, axis))
        np.testing.assert_array_equal(np.take_along_axis(odd, np.expand_dims(index.asnumpy(), axis), axis).squeeze(axis),
                                      np.median(odd, axis))
    for q in (0.0, 0.3, 1.0, [0.25, 0.5]):
        got = run(lambda x: ops.quantile(x, q if isinstance(q, float) else Tensor(q), axis))(Tensor(X))
        np.testing.assert_allclose(got.asnumpy(), np.quantile(X, q, axis), rtol=1e-5)
    holes = np.where(X > 0.8, np.nan, X)
    np.testing.assert_allclose(run(lambda x: ops.nanquantile(x, 0.4, axis))(Tensor(holes)).asnumpy(),
                               np.nanquantile(holes, 0.4, axis), rtol=1e-5)


def test_a_nan_is_the_median_unless_it_is_left_out():
    x = Tensor([1.0, float("nan"), 3.0, 2.0])
    value, index = ops.median(x)
    assert np.isnan(value.item()) and index.item() == 1
    assert [y.item() for y in ops.nanmedian(x)] == [2.0, 3]
    assert np.isnan(ops.nanmedian(Tensor([float("nan")]))[0].item()) and np.isnan(ops.quantile(x, 0.5).item())


def test_largest_elements_have_indices_as_torch_has_them_or_not_as_numpy_has_them():
    x = Tensor([[3.0, 1.0, 2.0]])
    assert [y.tolist() for y in x.max(1)] == [[3.0], [0]] == [y.tolist() for y in x.max(dim=1)]
    assert [y.tolist() for y in x.min(0, keepdim=True)] == [[[3.0, 1.0, 2.0]], [[0, 0, 0]]]
    assert x.max(axis=1).tolist() == [3.0] and x.max(1, keepdims=True).tolist() == [[3.0]] and x.max().item() == 3.0
    y = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert y.gather(1, Tensor([[0], [1]])).tolist() == [[1], [4]] and y.gather(Tensor([1]), 0).tolist() == [[3, 4]]
    assert y.take(Tensor([3, 9])).tolist() == [4, 4] and y.take(Tensor([1]), axis=1).tolist() == [[2], [4]]
    assert y.flatten(0, 1).shape == y.flatten().shape == y.flatten("C").shape == (4,)


def test_sums_of_small_integers_do_not_overflow():
    x = Tensor([100, 100], ms.int8)
    assert ops.sum(x).item() == x.sum().item() == 200 and ops.prod(x).dtype is ms.int64
    assert ops.sum(x, dtype=ms.int32).dtype is ms.int32


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name, shape", [("bartlett", np.bartlett), ("hann", np.hanning), ("hamming", np.hamming),
                                         ("blackman", np.blackman), ("kaiser", lambda n: np.kaiser(n, 12.0))])
def test_windows_are_numpys(name, shape, periodic):
    want = shape(8)[:-1] if periodic else shape(7)
    np.testing.assert_allclose(getattr(ops, name + "_window")(7, periodic).asnumpy(), want, atol=1e-6)


def test_short_transforms_are_those_of_the_pieces():
    x, window = RNG.standard_normal(40), np.hanning(8)
    got = ops.stft(Tensor(x), 8, 3, window=Tensor(window), center=False).asnumpy()
    pieces = np.stack([x[k * 3:k * 3 + 8] * window for k in range(11)])
    want = np.fft.rfft(pieces).T
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, atol=1e-12)
    padded = ops.stft(Tensor(x), 8, 3, center=True, return_complex=True)
    assert padded.shape == (5, 14) and padded.dtype is ms.complex128
    with pytest.raises(ValueRangeError, match="no piece"):
        ops.stft(Tensor(x), 64, center=False)


def _ctc(logs, label, blank=0):
    """Minus the logarithm of the probability of all paths that read as the label."""
    total = 0
    for path in itertools.product(range(logs.shape[1]), repeat=logs.shape[0]):
        read = [c for c, _ in itertools.groupby(path) if c != blank]
        if read == list(label):
            total += np.exp(sum(logs[t, c] for t, c in enumerate(path)))
    return -np.log(total)


@BOTH
def test_the_loss_of_a_sequence_is_that_of_all_its_paths(run):
    logs = np.log(np.exp(RNG.standard_normal((3, 3, 3))) / 9)
    labels, lengths, times = np.array([[1, 2], [1, 1], [2, 0]]), np.array([2, 2, 1]), np.array([3, 3, 2])
    loss, table = run(lambda x: ops.ctc_loss(x, Tensor(labels), Tensor(times), Tensor(lengths), 0, "none"))(Tensor(logs))
    want = [_ctc(logs[:n, i], label[:k]) for i, (n, k, label) in enumerate(zip(times, lengths, labels))]
    np.testing.assert_allclose(loss.asnumpy(), want, rtol=1e-9)
    assert table.shape == (3, 3, 5)
    one, row = ops.ctc_loss(Tensor(logs[:, 0]), Tensor(labels[0]), Tensor(3), Tensor(2), 0, "none")
    assert one.shape == () and one.item() == pytest.approx(want[0]) and row.shape == (3, 5)
    slope = run(ms.grad(lambda x: ops.ctc_loss(x, Tensor(labels), Tensor(times), Tensor(lengths), 0, "sum")[0]))(Tensor(logs))
    np.testing.assert_allclose(slope.asnumpy().sum((0, 2)), -times, rtol=1e-9)      # each step's probabilities are read once
    short = ops.ctc_loss(Tensor(logs[:1, :1]), Tensor([[1, 1]]), Tensor([1]), Tensor([2]), 0, "none")[0]
    assert short.tolist() == [np.inf]
    assert ops.ctc_loss(Tensor(logs[:1, :1]), Tensor([[1, 1]]), Tensor([1]), Tensor([2]), zero_infinity=True)[0].item() == 0


def test_the_greedy_reading_leaves_out_blanks_and_repeats():
    scores = np.eye(3, dtype=np.float32)[[[0], [0], [2], [0], [1]]]
    indices, values, shape, chance = ops.ctc_greedy_decoder(Tensor(scores), Tensor([5]))
    assert (indices.tolist(), values.tolist(), shape.tolist(), chance.tolist()) == (
        [[0, 0], [0, 1], [0, 2]], [0, 0, 1], [1, 3], [[-5.0]])
    assert ops.ctc_greedy_decoder(Tensor(scores), Tensor([2]), False)[1].tolist() == [0, 0]


def test_margins_are_sums_over_other_classes():
    x, y = X[:, :3], np.array([2, 0, 1, 1])
    want = [sum(max(0, 1 - row[t] + row[i]) ** 2 for i in range(3) if i != t) / 3 for row, t in zip(x, y)]
    np.testing.assert_allclose(ops.multi_margin_loss(Tensor(x), Tensor(y), 2, reduction="none").asnumpy(), want, rtol=1e-5)
    labels = np.array([[2, 0, -1], [1, -1, 0], [0, 1, 2], [-1, 0, 0]])
    named = [list(itertools.takewhile(lambda t: t >= 0, row)) for row in labels.tolist()]
    want = [sum(max(0, 1 - row[t] + row[i]) for t in ts for i in range(3) if i not in ts) / 3 for row, ts in zip(x, named)]
    np.testing.assert_allclose(ops.multilabel_margin_loss(Tensor(x), Tensor(labels), "none").asnumpy(), want, rtol=1e-5)
    target = (X > 0).astype(np.float32)
    p = 1 / (1 + np.exp(-X.astype(np.float64)))
    np.testing.assert_allclose(ops.multilabel_soft_margin_loss(Tensor(X), Tensor(target)).item(),
                               -np.mean(target * np.log(p) + (1 - target) * np.log(1 - p)), rtol=1e-5)


@pytest.mark.parametrize("mode, rank", [("nearest", 1), ("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3),
                                        ("area", 2), ("nearest-exact", 2)])
def test_interpolation_keeps_constants_and_the_same_size(mode, rank):
    x = RNG.standard_normal((2, 3) + (5,) * rank)
    np.testing.assert_allclose(ops.interpolate(Tensor(x), size=5, mode=mode).asnumpy(), x, atol=1e-12)
    wide = ops.interpolate(Tensor(np.ones_like(x)), scale_factor=1.7, mode=mode)
    np.testing.assert_allclose(wide.asnumpy(), np.ones((2, 3) + (8,) * rank), rtol=1e-12)


def test_interpolation_is_linear_between_points():
    x = Tensor([[[1.0, 3.0, 7.0]]])
    assert ops.interpolate(x, size=5, mode="linear", align_corners=True).tolist() == [[[1, 2, 3, 5, 7]]]
    assert ops.interpolate(x, size=6, mode="linear").tolist() == [[[1, 1.5, 2.5, 4, 6, 7]]]
    assert ops.interpolate(x, size=(2,), mode="area").tolist() == [[[2, 5]]]
    with pytest.raises(ValueRangeError, match="is not for a tensor"):
        ops.interpolate(x, size=2, mode="bilinear")
    with pytest.raises(ArgumentError, match="one of size"):
        ops.interpolate(x)


def test_drawn_numbers_have_the_moments_of_their_distributions():
    ms.set_seed(4)
    for alpha, beta in ((0.4, 2.0), (3.0, 0.5)):
        x = ops.gamma((20000,), Tensor(alpha), Tensor(beta)).asnumpy()
        np.testing.assert_allclose([x.mean(), x.var()], [alpha / beta, alpha / beta ** 2], rtol=0.08)
    for rate in (0.7, 40.0):
        x = ops.poisson((20000,), Tensor(rate)).asnumpy()
        np.testing.assert_allclose([x.mean(), x.var()], [rate, rate], rtol=0.05)
    x = ops.laplace((20000,), Tensor(1.0), Tensor(2.0)).asnumpy()
    np.testing.assert_allclose([x.mean(), x.var()], [1, 8], rtol=0.1)
    assert ops.gamma((3, 1), Tensor([1.0, 2.0]), Tensor(1.0)).shape == (3, 2)
    assert ops.random_poisson((2,), Tensor([1.0, 2.0, 3.0])).shape == (2, 3)
    index, there = ops.choice_with_mask(Tensor([[True, False], [False, True]]), 3)
    assert sorted(index.tolist()[:2]) == [[0, 0], [1, 1]] and there.tolist() == [True, True, False]
    hard = ops.gumbel_softmax(Tensor(X), hard=True)
    assert hard.sum(-1).tolist() == [1.0] * 4 and ops.rrelu(Tensor([-4.0, 2.0]))[1].item() == 2


def test_older_functions_are_written_in_newer_ones():
    a, b = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 4, 5))
    np.testing.assert_allclose(ops.batch_dot(Tensor(a), Tensor(b), (2, 1)).asnumpy(), a @ b)
    np.testing.assert_array_equal(ops.mirror_pad(Tensor(X), Tensor([[1, 2], [0, 3]]), "SYMMETRIC").asnumpy(),
                                  np.pad(X, [(1, 2), (0, 3)], "symmetric"))
    assert ops.strided_slice(Tensor(X), [0, 4], [3, 0], [2, -2]).tolist() == X[0:3:2, 4:0:-2].tolist()
    assert ops.intopk(Tensor([[1.0, 8, 5, 2]]), Tensor([2]), 2).tolist() == [True]
    assert ops.dyn_shape(Tensor(X)).tolist() == [4, 5] and ops.eps(Tensor([1.0], ms.float64)).item() == 2.0 ** -52
    pairs = list(itertools.combinations(range(4), 2))
    np.testing.assert_allclose(ops.pdist(Tensor(X)).asnumpy(), [np.linalg.norm(X[i] - X[j]) for i, j in pairs], rtol=1e-5)
