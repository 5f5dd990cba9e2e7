"""Operators as classes: colours, sizes and boxes of pictures, sets and sequences, random numbers, LSTM, steps for some rows."""
import colorsys
import inspect
import itertools

import numpy as np
import pytest

import mindlite
from mindlite import Parameter, Tensor, jit, ops
from mindlite.common.errors import ShapeError
from mindlite.ops import operations as P
from mindlite.ops.operations.define import OPERATIONS
from mindlite.ops.operations.optimiser_ops import SETTINGS

DRAW = np.random.default_rng(3)


@pytest.fixture(params=["eager", "graph"])
def run(request):
    """Call an operator by itself, or within a function that is compiled as a whole."""
    if request.param == "eager":
        return lambda operator, *args: operator(*args)
    return lambda operator, *args: jit(lambda *xs: operator(*xs), fullgraph=True)(*args)


def floats(*shape):
    return Tensor(DRAW.random(shape).astype(np.float32))


def of_each(function, colours, *args):
    return np.array([function(*colour, *args) for colour in colours.reshape(-1, 3)]).reshape(colours.shape)


# ---------------------------------------------------------------- pictures

def test_colours_change_between_their_two_forms(run):
    colours = floats(3, 4, 3)
    hsv = run(P.RGBToHSV(), colours)
    np.testing.assert_allclose(hsv.asnumpy(), of_each(colorsys.rgb_to_hsv, colours.asnumpy()), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run(P.HSVToRGB(), hsv).asnumpy(), colours.asnumpy(), rtol=1e-4, atol=1e-6)
    grey = run(P.RGBToHSV(), Tensor([[0.0, 0, 0], [0.5, 0.5, 0.5]])).asnumpy()
    np.testing.assert_array_equal(grey, [[0, 0, 0], [0, 0, 0.5]])


@pytest.mark.parametrize("delta", [0.3, -0.7])
def test_a_hue_is_turned(run, delta):
    def turned(r, g, b):
        h, s, v = colorsys.rgb_to_hsv(r, g, b)
        return colorsys.hsv_to_rgb((h + delta) % 1, s, v)
    colours = floats(5, 3)
    got = run(P.AdjustHue(), colours, Tensor(delta)).asnumpy()
    np.testing.assert_allclose(got, of_each(turned, colours.asnumpy()), atol=1e-5)


def test_a_saturation_is_scaled_and_stays_below_one(run):
    def scaled(r, g, b):
        h, s, v = colorsys.rgb_to_hsv(r, g, b)
        return colorsys.hsv_to_rgb(h, min(s * 1.7, 1), v)
    colours = floats(5, 3)
    got = run(P.AdjustSaturation(), colours, Tensor(1.7)).asnumpy()
    np.testing.assert_allclose(got, of_each(scaled, colours.asnumpy()), atol=1e-5)


def test_a_smaller_picture_is_made_of_means_of_areas():
    x = floats(1, 4, 6, 2)
    got = P.ResizeArea()(x, Tensor([2, 3])).asnumpy()
    np.testing.assert_allclose(got, x.asnumpy().reshape(1, 2, 2, 3, 2, 2).mean((2, 4)), rtol=1e-5)
    row = P.ResizeArea()(Tensor(np.array([1.0, 2, 4], np.float32).reshape(1, 1, 3, 1)), Tensor([1, 2])).asnumpy().ravel()
    np.testing.assert_allclose(row, [(1 + 0.5 * 2) / 1.5, (0.5 * 2 + 4) / 1.5], rtol=1e-6)


@pytest.mark.parametrize("kernel", "lanczos1 lanczos3 lanczos5 gaussian triangle keyscubic mitchellcubic box".split())
def test_every_kernel_keeps_what_is_even_and_translates(kernel):
    even = Tensor(np.full((1, 5, 6, 1), 3, np.float32))
    out = P.ScaleAndTranslate(kernel)(even, Tensor([4, 5]), Tensor([0.8, 0.8]), Tensor([0.0, 0.0])).asnumpy()
    np.testing.assert_allclose(out, np.full((1, 4, 5, 1), 3), rtol=1e-5)
    x = floats(1, 5, 6, 1)
    if kernel in ("triangle", "keyscubic", "lanczos3", "box"):                # 0 at whole numbers: nothing is smoothed
        moved = P.ScaleAndTranslate(kernel)(x, Tensor([5, 6]), Tensor([1.0, 1.0]), Tensor([1.0, 2.0])).asnumpy()
        np.testing.assert_allclose(moved[0, 1:, 2:, 0], x.asnumpy()[0, :-1, :-2, 0], atol=1e-5)
        assert not moved[0, 0].any()


def test_a_kernel_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="kernel_type is one of lanczos1"):
        P.ScaleAndTranslate("cubic")(floats(1, 2, 2, 1), Tensor([2, 2]), Tensor([1.0, 1.0]), Tensor([0.0, 0.0]))


def test_a_glimpse_is_a_window_and_zeros_outside():
    x = floats(2, 6, 6, 1)
    out = P.ExtractGlimpse(noise="zero")(x, Tensor([4, 2]), Tensor([[0.0, 0.0], [1.0, 1.0]])).asnumpy()
    np.testing.assert_array_equal(out[0], x.asnumpy()[0, 1:5, 2:4])
    np.testing.assert_array_equal(out[1, :2, :1], x.asnumpy()[1, 4:, 5:])
    assert not out[1, 2:].any() and not out[1, :, 1:].any()
    noise = P.ExtractGlimpse()(x, Tensor([4, 2]), Tensor([[1.0, 1.0], [1.0, 1.0]])).asnumpy()[1, 2:]
    assert ((noise >= 0) & (noise < 1)).all() and noise.std() > 0


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_windows_of_a_volume_become_channels(run, padding):
    x = floats(1, 2, 4, 5, 4)
    out = run(P.ExtractVolumePatches([1, 1, 2, 3, 2], [1, 1, 2, 2, 1], padding), x).asnumpy()
    volume = x.asnumpy() if padding == "VALID" else np.pad(x.asnumpy(), [(0, 0), (0, 0), (0, 0), (1, 1), (0, 1)])
    for d, h, w in itertools.product(*map(range, out.shape[2:])):
        window = volume[0, :, 2 * d:2 * d + 2, 2 * h:2 * h + 3, w:w + 2]
        np.testing.assert_array_equal(out[0, :, d, h, w], window.transpose(1, 2, 3, 0).ravel())


# ---------------------------------------------------------------- boxes

def best_first(overlaps, scores, most, threshold, least):
    kept = []
    for i in np.argsort(-scores):
        if scores[i] > least and len(kept) < most and all(overlaps[i, j] <= threshold for j in kept):
            kept.append(i)
    return kept


def overlap(boxes):
    low, high = np.maximum(boxes[:, None, :2], boxes[None, :, :2]), np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return both / (area[:, None] + area[None] - both)


def drawn_boxes(count):
    low = DRAW.random((count, 2))
    return np.concatenate([low, low + DRAW.random((count, 2))], 1).astype(np.float32)


@pytest.mark.parametrize("most", [3, 20])
def test_a_box_that_overlaps_a_better_one_is_left_out(most):
    boxes, scores = drawn_boxes(20), DRAW.random(20).astype(np.float32)
    expected = best_first(overlap(boxes), scores, most, 0.3, 0.2)
    args = Tensor(scores), Tensor(most), Tensor(0.3), Tensor(0.2)
    assert P.NonMaxSuppressionV3()(Tensor(boxes), *args).asnumpy().tolist() == expected
    assert P.NonMaxSuppressionWithOverlaps()(Tensor(overlap(boxes)), *args).asnumpy().tolist() == expected


@pytest.mark.parametrize("per_class", [False, True])
def test_the_best_boxes_of_all_classes_are_found(per_class):
    boxes, scores = drawn_boxes(9), DRAW.random((9, 3)).astype(np.float32)
    found = [best_first(overlap(boxes), scores[:, c], 2, 0.3, 0.2) for c in range(3)]
    kept = sorted([(scores[i, c], c, i) for c in range(3) for i in found[c]], reverse=True)
    made, values, kinds, count = (x.asnumpy()[0] for x in P.CombinedNonMaxSuppression(per_class, False)(
        Tensor(boxes[None, :, None]), Tensor(scores[None]), 2, 10, 0.3, 0.2))
    size = 6 if per_class else 10
    assert values.shape == (size,) and count == len(kept)
    np.testing.assert_allclose(values, [v for v, _, _ in kept] + [0] * (size - len(kept)), rtol=1e-6)
    np.testing.assert_array_equal(kinds[:count], [c for _, c, _ in kept])
    np.testing.assert_array_equal(made[:count], boxes[[i for _, _, i in kept]])


# ---------------------------------------------------------------- sets and sequences

def test_what_another_list_has_is_left_out():
    values, places = P.ListDiff()(Tensor([1, 2, 3, 2, 7]), Tensor([2, 9]))
    assert values.asnumpy().tolist() == [1, 3, 7] and places.asnumpy().tolist() == [0, 2, 4] and places.dtype == mindlite.int32
    values, places = P.SubAndFilter()(Tensor([1, 3, 5, 8, 10]), 4, 5)
    assert values.asnumpy().tolist() == [0, 3] and places.asnumpy().tolist() == [2, 3]


def test_comparisons_are_packed_as_bits(run):
    x = floats(3, 16)
    packed = run(P.CompareAndBitpack(), x, Tensor(0.5)).asnumpy()
    np.testing.assert_array_equal(packed, np.packbits(x.asnumpy() > 0.5, axis=-1))


def test_labels_are_counted_by_what_was_predicted(run):
    made = run(P.ConfusionMatrix(3), Tensor([0, 1, 1, 2]), Tensor([0, 2, 2, 1])).asnumpy()
    np.testing.assert_array_equal(made, [[1, 0, 0], [0, 0, 2], [0, 1, 0]])


def test_sampled_classes_that_are_true_ones_are_found():
    rows, places, weights = P.ComputeAccidentalHits(2)(Tensor([[1, 2], [0, 4], [3, 3]]), Tensor([0, 1, 2, 3, 5]))
    assert rows.asnumpy().tolist() == [0, 0, 1, 2] and places.asnumpy().tolist() == [1, 2, 0, 3]
    assert (weights.asnumpy() == np.finfo(np.float32).min).all()


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_ranges_stand_one_after_the_other(kind):
    starts, limits, deltas = np.array([0, 2, 5, 1], kind), np.array([3, 4, 1, 1], kind), np.array([1, 1, -2, 1], kind)
    splits, values = P.RaggedRange(mindlite.int32)(*map(Tensor, (starts, limits, deltas)))
    parts = [np.arange(*ends) for ends in zip(starts, limits, deltas)]
    np.testing.assert_array_equal(splits.asnumpy(), np.cumsum([0] + [len(part) for part in parts]))
    np.testing.assert_array_equal(values.asnumpy(), np.concatenate(parts))


def test_a_part_of_a_sparse_tensor_is_taken():
    indices, values, shape = P.SparseSlice()(
        Tensor([[0, 1], [1, 2], [2, 2]]), Tensor([1.0, 2, 3]), Tensor([3, 3]), Tensor([1, 0]), Tensor([5, 3]))
    assert indices.asnumpy().tolist() == [[0, 2], [1, 2]]
    assert values.asnumpy().tolist() == [2, 3] and shape.asnumpy().tolist() == [2, 3]


def steps_between(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(row[j + 1] + 1, new[j] + 1, row[j] + (x != y)))
        row = new
    return row[-1]


def as_sparse(rows, width):
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    return Tensor(np.array(places)), Tensor(np.array([x for row in rows for x in row])), Tensor([len(rows), width])


@pytest.mark.parametrize("normalize", [False, True])
def test_the_distance_of_sequences(normalize):
    first = [list(DRAW.integers(0, 3, DRAW.integers(0, 6))) for _ in range(9)] + [[], [1]]
    second = [list(DRAW.integers(0, 3, DRAW.integers(1, 8))) for _ in range(9)] + [[], []]
    got = P.EditDistance(normalize)(*as_sparse(first, 6), *as_sparse(second, 8)).asnumpy()
    expected = [float(steps_between(a, b)) for a, b in zip(first, second)]
    if normalize:
        expected = [e / len(b) if b else (np.inf if a else 0) for e, a, b in zip(expected, first, second)]
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_sequence_of_a_sparse_tensor_has_no_gaps():
    first = Tensor([[0, 1], [0, 3], [1, 2]]), Tensor([1, 2, 3]), Tensor([2, 4])
    second = Tensor([[0, 2], [0, 0], [1, 0]]), Tensor([2, 1, 4]), Tensor([2, 4])
    assert P.EditDistance(False)(*first, *second).asnumpy().tolist() == [0, 1]


# ---------------------------------------------------------------- random numbers

def test_a_cut_normal_distribution_has_its_moments():
    x = P.TruncatedNormal()((100, 200)).asnumpy()
    assert np.abs(x).max() <= 2 and abs(x.mean()) < 0.03 and abs(x.var() - 0.7737) < 0.03
    settings = [Tensor(v, mindlite.float32) for v in ([1, 5], [2, 1], [1, 4], [9, 5])]
    y = P.ParameterizedTruncatedNormal()((2, 20000), *settings).asnumpy()
    assert y[0].min() >= 1 and 4 <= y[1].min() <= y[1].max() <= 5
    assert abs(y[0].mean() - (1 + 2 * 0.7977)) < 0.06 and abs(y[1].mean() - 4.54) < 0.02       # of halves of normal distributions


def test_orders_are_drawn_and_filled_up():
    assert sorted(P.RandpermV2()(7).asnumpy().tolist()) == list(range(7))
    order = P.Randperm(6, -1)(Tensor([4])).asnumpy().tolist()
    assert sorted(order[:4]) == list(range(4)) and order[4:] == [-1, -1]
    with pytest.raises(ValueError, match=r"n is in \[0, 6\]"):
        P.Randperm(6)(Tensor([7]))


def test_integers_of_the_whole_range_are_drawn():
    for kind in (mindlite.int32, mindlite.int64):
        x = P.NonDeterministicInts(dtype=kind)((4000,))
        bound = 2.0 ** (kind.bits - 1)
        assert x.dtype == kind and x.asnumpy().max() > 0.9 * bound and x.asnumpy().min() < -0.9 * bound


@pytest.mark.parametrize("unique", [False, True])
def test_candidates_are_drawn_by_the_law_of_their_rank(unique):
    chance = np.log((np.arange(8) + 2) / (np.arange(8) + 1)) / np.log(9)
    counts, rounds = np.zeros(8), 3000
    for _ in range(rounds):
        drawn, expected, each = ops.log_uniform_candidate_sampler(Tensor([[0, 7]]), 2, 3 if unique else 1, unique, 8)
        counts += np.bincount(drawn.asnumpy(), minlength=8)
        assert not unique or len(set(drawn.asnumpy().tolist())) == 3
    if not unique:
        np.testing.assert_allclose(counts / rounds, chance, atol=0.03)
        np.testing.assert_allclose(expected.asnumpy()[0], chance[[0, 7]], rtol=1e-5)
        np.testing.assert_allclose(each.asnumpy(), chance[drawn.asnumpy()], rtol=1e-5)
    else:
        assert (np.diff(counts) < 100).all() and counts[0] > 1.5 * counts[7]


def test_a_mask_of_bits_drops_its_share():
    x = Tensor(np.ones((64, 64), np.float32))
    mask = P.DropoutGenMask()((64, 64), Tensor(0.75))
    out = P.DropoutDoMask()(x, mask, Tensor(0.75)).asnumpy()
    assert mask.dtype == mindlite.uint8 and mask.shape == (512,) and abs((out > 0).mean() - 0.75) < 0.03
    np.testing.assert_array_equal(np.unpackbits(mask.asnumpy(), bitorder="little").reshape(64, 64), out > 0)


# ---------------------------------------------------------------- LSTM, matrices, steps

@pytest.mark.parametrize("layers, both, bias", [(1, False, True), (1, False, False), (2, True, True)])
def test_an_lstm_of_one_flat_weight_is_the_layer(run, layers, both, bias):
    net, ways = mindlite.nn.LSTM(3, 4, layers, has_bias=bias, bidirectional=both), 1 + both
    values = {p.name: p for p in net.trainable_params()}
    kinds = [[v for n, v in values.items() if word in n] for word in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    flat = [p.asnumpy().ravel() for kind in kinds[:2] for p in kind]
    flat += [(a.asnumpy() + b.asnumpy()).ravel() for a, b in zip(*kinds[2:])]
    x, h, c = floats(5, 2, 3), floats(layers * ways, 2, 4), floats(layers * ways, 2, 4)
    out, (last, cell) = net(x, (h, c))
    got = run(P.LSTM(3, 4, layers, bias, both, 0.0), x, h, c, Tensor(np.concatenate(flat).reshape(-1, 1, 1)))
    for ours, expected in zip(got, (out, last, cell)):
        np.testing.assert_allclose(ours.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


def test_an_lstm_says_how_long_its_weight_is():
    with pytest.raises(ValueError, match="w has 112 elements"):
        P.LSTM(3, 4, 1, False, False, 0.0)(floats(5, 2, 3), floats(1, 2, 4), floats(1, 2, 4), floats(120, 1, 1))


def test_a_matrix_of_three_diagonals_is_multiplied(run):
    upper, middle, lower, rhs = floats(2, 1, 4), floats(2, 1, 4), floats(2, 1, 4), floats(2, 4, 3)
    got = run(P.TridiagonalMatMul(), upper, middle, lower, rhs).asnumpy()
    u, m, low = (x.asnumpy()[:, 0] for x in (upper, middle, lower))
    whole = np.stack([np.diag(m[b]) + np.diag(u[b, :-1], 1) + np.diag(low[b, 1:], -1) for b in range(2)])
    np.testing.assert_allclose(got, whole @ rhs.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("shape, fast", [((5, 2), True), ((2, 5), True), ((5, 2), False), ((2, 5), False)])
def test_least_squares_with_a_weight_on_the_length(shape, fast):
    a, b, weight = floats(*shape), floats(shape[0], 3), 0.1 if fast else 0.0
    got = P.MatrixSolveLs(fast)(a, b, Tensor(weight)).asnumpy()
    m = a.asnumpy().astype(np.float64)
    normal = m.T @ m + weight * np.eye(shape[1])
    expected = np.linalg.solve(normal, m.T @ b.asnumpy()) if weight else np.linalg.pinv(m) @ b.asnumpy()
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


def rows_of(operator, states, given, gradient, indices):
    """(what the operator leaves in the named rows, what stays in the others as it was)"""
    params = [Parameter(Tensor(DRAW.random((4, 2)).astype(np.float32)), name=f"p{i}") for i in range(states)]
    before = [p.asnumpy().copy() for p in params]
    out = operator(*params, *given, Tensor(gradient), Tensor(indices))
    for p, old, result in zip(params, before, out):
        np.testing.assert_array_equal(p.asnumpy(), result.asnumpy())
        np.testing.assert_array_equal(np.delete(p.asnumpy(), indices, 0), np.delete(old, indices, 0))
    return [b[indices].astype(np.float64) for b in before], [p.asnumpy()[indices] for p in params]


def test_steps_for_some_rows_are_the_formulas():
    g, places = DRAW.random((2, 2)).astype(np.float32), np.array([3, 1])
    (w, a), got = rows_of(P.SparseApplyProximalAdagrad(), 2, (0.1, 0.2, 0.3), g, places)
    total = a + g * g
    rate = 0.1 / np.sqrt(total)
    moved = w - rate * g
    expected = [np.sign(moved) * np.maximum(np.abs(moved) - rate * 0.2, 0) / (1 + rate * 0.3), total]
    (w, a, u), more = rows_of(P.SparseApplyAdadelta(1e-3), 3, (0.1, 0.9), g, places)
    total = a * 0.9 + g * g * 0.1
    change = np.sqrt(u + 1e-3) / np.sqrt(total + 1e-3) * g
    expected += [w - 0.1 * change, total, u * 0.9 + change ** 2 * 0.1]
    (w, s, m), last = rows_of(P.SparseApplyRMSProp(0.9, 0.5, 1e-3), 3, (0.1,), g, places)
    squares = s * 0.9 + g * g * 0.1
    moment = m * 0.5 + 0.1 * g / np.sqrt(squares + 1e-3)
    expected += [w - moment, squares, moment]
    for ours, wanted in zip(got + more + last, expected):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5)


def test_steps_of_momentum_with_decay_and_by_keras():
    w, a, g = (DRAW.random(3).astype(np.float32) for _ in range(3))
    p, q = Parameter(Tensor(w), name="p"), Parameter(Tensor(a), name="q")
    P.FusedWeightScaleApplyMomentum()(Tensor(0.1), Tensor(2.0), p, q, 0.5, Tensor(g), 0.9)
    total = a * 0.9 + g * 2 + w * 0.1
    np.testing.assert_allclose(q.asnumpy(), total, rtol=1e-6)
    np.testing.assert_allclose(p.asnumpy(), w - 0.5 * total, rtol=1e-5)
    for nesterov in (False, True):
        p, q = Parameter(Tensor(w), name="p"), Parameter(Tensor(a), name="q")
        P.ApplyKerasMomentum(False, nesterov)(p, q, 0.5, Tensor(g), 0.9)
        total = a * 0.9 - 0.5 * g
        np.testing.assert_allclose(p.asnumpy(), w + (total * 0.9 - 0.5 * g if nesterov else total), rtol=1e-5)


# ---------------------------------------------------------------- sparse forms

def test_values_at_one_place_are_added(run):
    indices, values, shape = run(P.Coalesce(), Tensor([[0, 0, 1], [1, 1, 2]]), Tensor([1.0, 5, 4]), Tensor([3, 3]))
    assert indices.asnumpy().tolist() == [[0, 1], [1, 2]]
    assert values.asnumpy().tolist() == [6, 4] and shape.asnumpy().tolist() == [3, 3]
    coo = mindlite.COOTensor(Tensor([[1, 2], [0, 1], [1, 2]]), Tensor([1.0, 2, 3]), (2, 3))
    np.testing.assert_array_equal(coo.coalesce().to_dense().asnumpy(), coo.to_dense().asnumpy())
    assert coo.coalesce().size == 2


def test_rows_are_told_by_their_begins_and_back():
    assert ops.coo2csr(Tensor([0, 0, 2]), 4).asnumpy().tolist() == [0, 2, 2, 3, 3]
    assert ops.csr2coo(Tensor([0, 2, 2, 3, 3]), 3).asnumpy().tolist() == [0, 0, 2]
    dense = Tensor(np.arange(8.0).reshape(2, 4))
    assert ops.csr_gather(Tensor([0, 1, 2]), Tensor([3, 1]), dense, (2, 4)).asnumpy().tolist() == [3, 5]


def test_a_sparse_matrix_is_added_summed_and_divided():
    csr = mindlite.CSRTensor(Tensor([0, 2, 3]), Tensor([0, 2, 1]), Tensor([1.0, 2, 3]), (2, 3))
    other = mindlite.CSRTensor(Tensor([0, 1, 1]), Tensor([2]), Tensor([5.0]), (2, 3))
    dense = csr.to_dense().asnumpy()
    np.testing.assert_array_equal(csr.add(other, 2, 3).to_dense().asnumpy(), 2 * dense + 3 * other.to_dense().asnumpy())
    np.testing.assert_array_equal(csr.sum(1).asnumpy(), dense.sum(1, keepdims=True))
    np.testing.assert_allclose(ops.csr_div(csr, Tensor([[2.0], [4.0]])).to_dense().asnumpy(), dense / [[2], [4]])
    np.testing.assert_allclose(ops.csr_div(csr, 2).to_dense().asnumpy(), dense / 2)
    np.testing.assert_array_equal((csr / 3).to_dense().asnumpy(), dense / np.float32(3))      # not times a rounded 1 / 3
    by_place = Tensor(np.arange(1, 7, dtype=np.float32).reshape(2, 3))
    for quotient in (lambda: csr / by_place, jit(lambda: csr / by_place)):
        np.testing.assert_array_equal(quotient().to_dense().asnumpy(), dense / by_place.asnumpy())
    with pytest.raises(TypeError, match="a Tensor is wanted"):
        csr / other


def test_what_does_not_hold_is_an_error():
    assert P.Assert()(Tensor(True), [Tensor([1])]) is True
    with pytest.raises(AssertionError, match="the condition does not hold; .*1 2"):
        P.Assert(2)(Tensor(False), [Tensor([1, 2, 3])])
    assert P.CheckNumerics()(Tensor([1.0])).asnumpy().tolist() == [1]
    with pytest.raises(FloatingPointError, match="inf or nan"):
        P.CheckNumerics()(Tensor([1.0, float("nan")]))


def test_sizes_of_axes_in_another_layout(run):
    assert run(P.DataFormatVecPermute(), Tensor([1, 2, 3, 4])).asnumpy().tolist() == [1, 4, 2, 3]
    assert P.DataFormatVecPermute("NCHW", "NHWC")(Tensor([[1, 2], [3, 4], [5, 6], [7, 8]])).asnumpy().tolist() == [
        [1, 2], [5, 6], [7, 8], [3, 4]]


@pytest.mark.parametrize("nesterov", [False, True])
def test_rows_that_are_named_twice_are_added(nesterov):
    g, places = DRAW.random((3, 2)).astype(np.float32), np.array([3, 1, 3])
    total = np.stack([g[0] + g[2], g[1], g[0] + g[2]])
    (w, m, v), got = rows_of(P.FusedSparseLazyAdam(False, nesterov), 3, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-3), g, places)
    mean, square = m * 0.9 + total * 0.1, v * 0.99 + total * total * 0.01
    ahead = mean * 0.9 + total * 0.1 if nesterov else mean
    expected = [w - 0.1 * np.sqrt(1 - 0.99) / (1 - 0.9) * ahead / (np.sqrt(square) + 1e-3), mean, square]
    (w, a), more = rows_of(P.FusedSparseProximalAdagrad(), 2, (0.1, 0.2, 0.3), g, places)
    squares = a + total * total
    rate = 0.1 / np.sqrt(squares)
    moved = w - rate * total
    expected += [np.sign(moved) * np.maximum(np.abs(moved) - rate * 0.2, 0) / (1 + rate * 0.3), squares]
    for ours, wanted in zip(got + more, expected):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4)


@pytest.mark.parametrize("draw", [lambda std: ops.normal((2,), 0.0, std), lambda std: ops.log_normal(ops.ones(2), 0.0, std),
                                  lambda std: mindlite.mint.normal(0.0, std, (2,))])
def test_a_deviation_is_not_negative(draw):
    assert draw(0.0).shape == (2,)
    with pytest.raises(ValueError, match="is at least 0, not -1.0"):
        draw(-1.0)
    with pytest.raises(ValueError, match="is at least 0, not -1.0"):
        jit(lambda: draw(-1.0), fullgraph=True)()


def test_the_last_argument_of_batch_normalisation_of_volumes_is_the_dtype():
    net = mindlite.nn.BatchNorm3d(2, 1e-5, 0.9, True, "ones", "zeros", "zeros", "ones", None, mindlite.float16)
    assert net.bn2d.gamma.dtype == mindlite.float16


# ---------------------------------------------------------------- tuples and lists

def test_tuples_of_tensors_are_joined_cut_stacked_and_made_of_tensors(run):
    def parts(x):
        first, second = P.SequenceUnstack(axis=0)(x)
        both = P.SequenceAdd()((first,), (second, x))
        return (P.SequenceStack(axis=1)(both[:2]), P.SequenceZerosLike()(both)[2], P.SequenceSlice()(both, 0, 3, 2)[1],
                P.TupleToTensor()((1, 2), mindlite.float32), P.TensorToList()(Tensor([4, 5])), P.TensorToScalar()(Tensor(3)))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    stacked, zeros, cut, made, numbers, number = run(parts, Tensor(x))
    np.testing.assert_array_equal(stacked.asnumpy(), x.T)
    assert not zeros.asnumpy().any() and cut.shape == (2, 3) and made.asnumpy().tolist() == [1, 2]
    assert numbers == [4, 5] and number == 3


def test_a_slice_is_copied_into_a_tensor_and_lengths_are_cut():
    x = np.zeros((4, 3), np.float32)
    got = P.TensorCopySlices()(Tensor(x), Tensor(np.ones((2, 3), np.float32)), (1,), (3,), (1,))
    assert got.asnumpy()[1:3].all() and not got.asnumpy()[[0, 3]].any()
    y = P.ClipByNorm(axis=1)(Tensor([[3.0, 4.0], [0.3, 0.4]]), Tensor([1.0]))
    np.testing.assert_allclose(y.asnumpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_each_channel_is_convolved_with_a_kernel_of_its_own(run):
    x, weight = floats(2, 3, 5, 5), floats(1, 3, 2, 2)
    got = run(P.DepthwiseConv2dNative(1, 2), x, weight).asnumpy()
    each = [ops.conv2d(x[:, c:c + 1], weight[:, c:c + 1], pad_mode="valid").asnumpy() for c in range(3)]
    np.testing.assert_allclose(got, np.concatenate(each, 1), rtol=1e-5)
    with pytest.raises(ValueError, match="channel_multiplier is 1, not 2"):
        run(P.DepthwiseConv2dNative(2, 2), x, weight)
    with pytest.raises(TypeError, match="DepthwiseConv2dNative: x is a tensor"):
        run(P.DepthwiseConv2dNative(1, 2), 5.0, weight)


STEPS = {name: made.function for name, made in OPERATIONS.items()
         if made.function.__module__.startswith("mindlite.ops.operations") and hasattr(made.function, "__wrapped__")}


@pytest.mark.parametrize("name", sorted(STEPS))
def test_a_step_refuses_gradients_and_states_of_another_shape(name):
    """They would be broadcast, and change all rows alike."""
    operands = [p.name for p in inspect.signature(STEPS[name]).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    variable, *states = [operand for operand in operands if operand not in SETTINGS]
    for wrong in states:
        given = [Tensor(0.5) if operand in SETTINGS else floats(4) if operand == wrong else floats(3, 4) for operand in operands]
        stored = given[operands.index(variable)] = Parameter(floats(3, 4), name="variable")
        before = stored.asnumpy().copy()
        with pytest.raises(ShapeError, match=f"{name}: {wrong} has another shape than {variable}"):
            OPERATIONS[name](**dict(epsilon=1e-6) if name == "ApplyAdagradV2" else {})(*given)
        np.testing.assert_array_equal(stored.asnumpy(), before)
    assert states
