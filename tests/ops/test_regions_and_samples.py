"""Regions of interest, fractional pooling, drawn classes, sparse sums and steps of optimisers, against plain loops in NumPy."""
import numpy as np
import pytest

import mindlite as ms
import mindlite.mindspore as mindspore
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.mindspore import ops as mops
from mindlite.mindspore.ops import operations as P

draw = np.random.RandomState(11)
WAYS = {"eager": lambda f: f, "graph": lambda f: ms.jit(f, fullgraph=True)}


@pytest.fixture(params=list(WAYS))
def way(request):
    return WAYS[request.param]


def between(picture, y, x):
    """The picture[C, H, W] at a point between its elements; 0 outside."""
    _, height, width = picture.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(picture))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    i, j = int(y), int(x)
    k, m = min(i + 1, height - 1), min(j + 1, width - 1)
    return ((picture[:, i, j] * (i + 1 - y) + picture[:, k, j] * (y - i)) * (j + 1 - x)
            + (picture[:, i, m] * (i + 1 - y) + picture[:, k, m] * (y - i)) * (x - j))


@pytest.mark.parametrize("scale, samples, end", [(0.5, 2, 1), (0.5, 3, 0), (1.0, 1, 1), (1.0, -1, 0), (0.5, -1, 1), (0.7, 0, 1)])
def test_a_region_is_the_mean_of_samples_between_the_points(way, scale, samples, end):
    """Of samples of a given number, or (0 and below) of as many as a cell has whole elements."""
    features = draw.rand(2, 3, 9, 8).astype(np.float32)
    rois = np.float32([[0, 1, 2, 9, 11], [1, -3, -2, 4, 30], [0, 3, 3, 3, 3], [1, 10, 12, 11, 13], [0, 1, -40, 30, 45]])
    wanted = np.zeros((5, 3, 2, 3))
    for r, (number, *box) in enumerate(rois):
        x0, y0, x1, y1 = (float(c) * scale for c in box)
        wide, high = x1 + end * scale - x0, y1 + end * scale - y0
        if not end:
            wide, high = max(wide, 1), max(high, 1)
        down, across = (samples, samples) if samples > 0 else (max(int(high // 2), 1), max(int(wide // 3), 1))
        for i, j in np.ndindex(2 * down, 3 * across):
            y, x = y0 + (i + 0.5) * high / (2 * down), x0 + (j + 0.5) * wide / (3 * across)
            wanted[r, :, i // down, j // across] += between(features[int(number)], y, x) / (down * across)
    got = way(lambda f, b: ops.roi_align(f, b, 2, 3, scale, samples, end))(Tensor(features), Tensor(rois))
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    slope = way(ms.grad(lambda f: ops.roi_align(f, Tensor(rois), 2, 3, scale, samples, end).sum()))(Tensor(features))
    np.testing.assert_allclose((slope * Tensor(features)).sum().asnumpy(), wanted.sum(), rtol=1e-4)   # linear in f


def test_a_cell_of_position_sensitive_pooling_is_the_mean_of_its_own_channel(way):
    features = draw.rand(2, 2 * 4, 7, 6).astype(np.float32)
    rois = np.float32([[[0], [1.3], [2], [9], [12]], [[1], [0], [2.6], [5], [5]]])
    got = way(lambda f, b: ops.ps_roi_pooling(f, b, 0.5, 2, 2))(Tensor(features), Tensor(rois)).asnumpy()
    for r, (number, x0, y0, x1, y1) in enumerate(rois[:, :, 0]):
        x0, y0, x1, y1 = (np.floor(c * 0.5 + 0.5) for c in (x0, y0, x1, y1))
        high, wide = max(y1 - y0, 0.1) / 2, max(x1 - x0, 0.1) / 2
        for d, i, j in np.ndindex(2, 2, 2):
            rows = slice(int(np.clip(np.floor(i * high + y0), 0, 7)), int(np.clip(np.ceil((i + 1) * high + y0), 0, 7)))
            columns = slice(int(np.clip(np.floor(j * wide + x0), 0, 6)), int(np.clip(np.ceil((j + 1) * wide + x0), 0, 6)))
            part = features[int(number), (d * 2 + i) * 2 + j, rows, columns]
            assert np.isclose(got[r, d, i, j], part.mean() if part.size else 0, rtol=1e-4)
    with pytest.raises(ShapeError, match="channels"):
        ops.ps_roi_pooling(Tensor(features), Tensor(rois), 0.5, 2, 3)
    with pytest.raises(ArgumentError, match="group_size"):
        P.PSROIPooling(0.5, 2.0, 2)(Tensor(features), Tensor(rois))


@pytest.mark.parametrize("threshold", [0.1, 0.4])
def test_boxes_that_overlap_a_better_one_are_dropped(way, threshold):
    boxes = draw.rand(12, 5).astype(np.float32)
    boxes[:, 2:4] = boxes[:, :2] + 0.3 + boxes[:, 2:4] * 0.4
    found, numbers, mask = way(lambda b: ops.nms_with_mask(b, threshold))(Tensor(boxes))
    best, kept = boxes[np.argsort(-boxes[:, 4])], []
    for i, (x0, y0, x1, y1, _) in enumerate(best):
        def overlap(j):
            a0, b0, a1, b1, _ = best[j]
            common = max(min(x1, a1) - max(x0, a0), 0) * max(min(y1, b1) - max(y0, b0), 0)
            return common / ((x1 - x0) * (y1 - y0) + (a1 - a0) * (b1 - b0) - common)
        if all(overlap(j) <= threshold for j in kept):
            kept.append(i)
    np.testing.assert_array_equal(found.asnumpy(), best)
    np.testing.assert_array_equal(numbers.asnumpy(), np.arange(12))
    np.testing.assert_array_equal(np.nonzero(mask.asnumpy())[0], kept)


def starts(u, size, kernel, count):
    step = (size - kernel) / (count - 1) if count > 1 else 0
    return [int((i + u) * step) - int(u * step) for i in range(count - 1)] + [size - kernel]


def test_fractional_pooling_takes_maxima_of_windows_at_drawn_steps(way):
    x, u = draw.rand(2, 3, 9, 8).astype(np.float32), draw.rand(2, 3, 2).astype(np.float32)
    got, places = way(lambda a, b: ops.fractional_max_pool2d(a, (2, 3), (4, 3), None, True, b))(Tensor(x), Tensor(u))
    for n, c in np.ndindex(2, 3):
        rows, columns = starts(u[n, c, 1], 9, 2, 4), starts(u[n, c, 0], 8, 3, 3)
        wanted = [[x[n, c, i:i + 2, j:j + 3].max() for j in columns] for i in rows]
        np.testing.assert_array_equal(got.asnumpy()[n, c], wanted)
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(2, 3, -1), places.asnumpy().reshape(2, 3, -1), 2).ravel(),
                                  got.asnumpy().ravel())
    volume = Tensor(draw.rand(2, 5, 6, 7).astype(np.float32))
    assert nn.FractionalMaxPool3d(2, (2, 3, 4))(volume).shape == (2, 2, 3, 4)
    assert nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.6))(Tensor(x)).shape == (2, 3, 4, 4)
    with pytest.raises(ValueRangeError, match="fit"):
        ops.fractional_max_pool2d(Tensor(x), 3, (8, 2))
    with pytest.raises(ValueRangeError, match="wanted"):
        nn.FractionalMaxPool2d(2)(Tensor(x))


def test_drawn_classes_lie_in_range_and_do_not_repeat(way):
    labels = Tensor(np.array([[1], [3]]))
    drawn, expected, each = way(lambda x: ops.uniform_candidate_sampler(x, 1, 4, True, 5))(labels)
    assert len(set(drawn.asnumpy().tolist())) == 4 and set(drawn.asnumpy().tolist()) <= set(range(5))
    np.testing.assert_allclose(expected.asnumpy(), [[0.8], [0.8]])
    np.testing.assert_allclose(each.asnumpy(), [0.8] * 4)
    with pytest.raises(ValueRangeError):
        ops.uniform_candidate_sampler(labels, 1, 6, True, 5)


@pytest.mark.parametrize("unique", [True, False])
def test_drawn_classes_are_no_true_ones_where_hits_are_removed(way, unique):
    labels = Tensor(np.array([[1, 3], [3, 6]]))
    sample = way(lambda x: ops.uniform_candidate_sampler(x, 2, 4, unique, 8, 0, True))
    seen = []
    for _ in range(30):
        drawn, expected, each = sample(labels)
        seen.append(drawn.asnumpy().tolist())
        assert not unique or len(set(seen[-1])) == 4
    assert {k for row in seen for k in row} == {0, 2, 4, 5, 7}
    np.testing.assert_allclose(expected.asnumpy(), np.full((2, 2), 0.8), rtol=1e-6)
    np.testing.assert_allclose(each.asnumpy(), [0.8] * 4, rtol=1e-6)
    drawn, _, each = way(lambda x: ops.uniform_candidate_sampler(x, 2, 6, True, 8, 0, True))(labels)   # one more than the others
    assert {0, 2, 4, 5, 7} < set(drawn.asnumpy().tolist()) and each.asnumpy().tolist() == [1.0] * 6


@pytest.mark.parametrize("unique", [True, False])
def test_where_all_classes_are_true_ones_the_draw_is_among_all(way, unique):
    sample = way(lambda x: ops.uniform_candidate_sampler(x, 2, 1, unique, 2, 0, True))
    drawn = [sample(Tensor(np.array([[0, 1]]))) for _ in range(40)]
    assert {int(d[0]) for d, _, _ in drawn} == {0, 1} and all(float(e[0]) == 0.5 for _, _, e in drawn)


def test_the_sampled_softmax_of_all_classes_is_the_softmax(way):
    weights, bias, x = (Tensor(draw.rand(*s).astype(np.float32)) for s in ((5, 4), (5,), (3, 4)))
    labels = Tensor(np.array([0, 4, 2]))
    everything = (Tensor(np.arange(5)), Tensor(np.ones((3, 1), np.float32)), Tensor(np.ones(5, np.float32)))
    loss = nn.SampledSoftmaxLoss(5, 5, sampled_values=everything)
    got = way(loss)(weights, bias, labels, x)
    wanted = ops.cross_entropy(ops.matmul(x, weights.T) + bias, labels, reduction="none")
    np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-4)


def test_the_dice_loss_of_classes_is_the_mean_of_each(way):
    logits, label = draw.rand(4, 3).astype(np.float32), np.eye(3, dtype=np.float32)[[0, 1, 2, 1]]
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    each = [1 - 2 * (p[:, i] * label[:, i]).sum() / ((p[:, i] ** 2).sum() + (label[:, i] ** 2).sum() + 1e-5) for i in range(3)]
    got = way(nn.MultiClassDiceLoss())(Tensor(logits), Tensor(label))
    np.testing.assert_allclose(got.asnumpy(), np.mean(each), rtol=1e-5)
    got = way(nn.MultiClassDiceLoss(ignore_indiex=1))(Tensor(logits), Tensor(label))
    np.testing.assert_allclose(got.asnumpy(), (each[0] + each[2]) / 3, rtol=1e-5)


def coo(indices, values, shape=(3, 4)):
    return ms.COOTensor(Tensor(np.array(indices)), Tensor(np.array(values, np.float32)), shape)


def test_sums_of_sparse_tensors_are_those_of_the_dense_ones():
    a, b = coo([[0, 1], [1, 2]], [1, 2]), coo([[0, 1], [1, 1]], [3, 4])
    total = ops.coo_add(a, b, Tensor(0.0))
    np.testing.assert_array_equal(total.to_dense().asnumpy(), (a.to_dense() + b.to_dense()).asnumpy())
    assert total.indices.asnumpy().tolist() == [[0, 1], [1, 1], [1, 2]]
    assert ops.coo_add(a, b, Tensor(3.0)).values.asnumpy().tolist() == [4, 4]
    for axis in (0, 1):
        np.testing.assert_array_equal(ops.coo_concat((a, b), axis).to_dense().asnumpy(),
                                      np.concatenate([a.to_dense().asnumpy(), b.to_dense().asnumpy()], axis))
    first, second = a.to_csr(), b.to_csr()
    mixed = ops.csr_add(first, second, Tensor(2.0), Tensor(3.0))
    np.testing.assert_array_equal(mixed.to_dense().asnumpy(), 2 * a.to_dense().asnumpy() + 3 * b.to_dense().asnumpy())
    soft = ops.csr_softmax(coo([[0, 1], [0, 3], [2, 0]], [1, 2, 5]).to_csr(), ms.float32).values.asnumpy()
    np.testing.assert_allclose(soft, [1 / (1 + np.e), np.e / (1 + np.e), 1], rtol=1e-5)
    assert repr(a).startswith("COOTensor(shape=[3, 4], dtype=Float32, indices=Tensor(shape=[2, 2], dtype=Int64, value=[[0 1]")
    with pytest.raises(ShapeError):
        ops.coo_add(a, coo([[0, 0]], [1], (2, 2)), Tensor(0.0))


def parameter(*values):
    return Parameter(Tensor(np.array(values, np.float32)))


def test_operations_that_write_return_what_the_parameter_holds(way):
    p = parameter(1, 2, 3)
    out = way(lambda i, u: P.ScatterAdd()(p, i, u))(Tensor([0, 2, 0]), Tensor(np.float32([1, 1, 1])))
    assert not isinstance(out, Parameter) and out.asnumpy().tolist() == p.asnumpy().tolist() == [3, 2, 4]
    before = out.asnumpy().copy()
    P.ScatterUpdate()(p, Tensor([0]), Tensor(np.float32([9])))
    assert out.asnumpy().tolist() == before.tolist() and p.asnumpy()[0] == 9


def test_steps_of_more_optimisers_follow_their_formulas(way):
    g = np.float32([0.5, -1.0])
    p, accum, stat = parameter(1, 2), parameter(0.1, 0.2), parameter(0, 0)
    way(lambda x: P.SGD(0.1, 0.0, True)(p, x, 0.1, accum, 0.9, stat))(Tensor(g))
    total = np.float32([0.1, 0.2]) * 0.9 + g * 0.9
    np.testing.assert_allclose(p.asnumpy(), [1, 2] - 0.1 * (g + 0.9 * total), rtol=1e-5)
    p, m, v = parameter(1, 2), parameter(0.1, 0.2), parameter(0.3, 0.4)
    way(lambda x: P.AdamWeightDecay()(p, m, v, 0.1, 0.9, 0.99, 1e-8, 0.01, x))(Tensor(g))
    new_m, new_v = np.float32([0.1, 0.2]) * 0.9 + g * 0.1, np.float32([0.3, 0.4]) * 0.99 + g * g * 0.01
    np.testing.assert_allclose(p.asnumpy(), [1, 2] - 0.1 * (new_m / np.sqrt(new_v) + 0.01 * np.float32([1, 2])), rtol=1e-5)
    p, mean, square, moment = parameter(1, 2), parameter(0.1, 0.2), parameter(2, 3), parameter(0.5, 0.6)
    way(lambda x: P.ApplyCenteredRMSProp()(p, mean, square, moment, x, 0.1, 0.9, 0.8, 1e-3))(Tensor(g))
    average, squares = np.float32([0.1, 0.2]) * 0.9 + g * 0.1, np.float32([2, 3]) * 0.9 + g * g * 0.1
    step = np.float32([0.5, 0.6]) * 0.8 + 0.1 * g / np.sqrt(squares - average ** 2 + 1e-3)
    np.testing.assert_allclose(p.asnumpy(), [1, 2] - step, rtol=1e-5)
    p, first, second = parameter(1, 2), parameter(0.1, 0.2), parameter(0.3, 0.4)
    way(lambda x: P.ApplyAdagradDA()(p, first, second, x, 0.1, 0.01, 0.02, Tensor(3)))(Tensor(g))
    a, b = np.float32([0.1, 0.2]) + g, np.float32([0.3, 0.4]) + g * g
    shrunk = np.sign(a) * np.maximum(np.abs(a) - 0.03, 0)
    np.testing.assert_allclose(p.asnumpy(), -0.1 * shrunk / (0.02 * 3 * 0.1 + np.sqrt(b)), rtol=1e-5)


def test_pictures_are_resized_by_cubics():
    x = Tensor(np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 2, 2))
    np.testing.assert_allclose(P.ResizeBicubic()(x, (1, 4)).asnumpy(), [[[[1, 1.5, 2, 2.09375]]]], rtol=1e-6)
    straight = Tensor(np.arange(6, dtype=np.float32).reshape(1, 1, 1, 6))
    got = P.ResizeBicubic(False, True)(straight, (1, 12)).asnumpy().ravel()
    np.testing.assert_allclose(got[4:8], [1.75, 2.25, 2.75, 3.25], rtol=1e-5)        # inside, a line stays a line


def test_indices_are_int32_where_mindspore_has_them_so():
    x = Tensor(np.float32([3, 1, 2]))
    assert mops.argmin(x).dtype == mops.argsort(x).dtype == mops.sort(x)[1].dtype == mops.topk(x, 2)[1].dtype == ms.int32
    assert ops.sort(x)[1].dtype == ops.topk(x, 2)[1].dtype == ms.int64
    assert mindspore.ops.scalar_to_tensor(1).dtype == ms.float32 and ops.scalar_cast(255.7, ms.int64) == 255
    assert ops.view_as(x, Tensor(np.ones((3, 1)))).shape == (3, 1)


@pytest.mark.parametrize("settings, error", [((0.5, 2.5, 3), TypeError), ((0.5, -1, 3), ValueError), ((0.5, 2, True), TypeError),
                                             ((0.5, 2, 0), ValueError), (("a", 2, 3), TypeError), ((-0.5, 2, 3), ValueError)])
def test_a_setting_is_checked_when_an_operation_is_made(settings, error):
    with pytest.raises(error, match="PSROIPooling: "):
        P.PSROIPooling(*settings)


def test_a_list_or_a_number_in_place_of_a_tensor_is_named():
    x, rows = Tensor(np.ones((1, 12, 4, 4), np.float32)), Tensor(np.ones((1, 5, 1), np.float32))
    for operands in ((1.0, rows), (x, 1.0), ([x], rows)):
        with pytest.raises(TypeError, match="ps_roi_pooling: (features|rois) is a tensor, not"):
            P.PSROIPooling(0.5, 2, 3)(*operands)
    table = [Parameter(Tensor(np.ones((3, 2), np.float32)), name=name) for name in ("w", "m", "v")]
    gradient, numbers, rate = Tensor(np.ones((1, 2), np.float32)), Tensor([0], ms.int32), Tensor(0.1, ms.float32)
    for operands in (([gradient], numbers), (gradient, [numbers])):
        with pytest.raises(TypeError, match="FusedSparseAdam: (gradient|indices) is a tensor, not list"):
            P.FusedSparseAdam()(*table, rate, rate, rate, 0.9, 0.99, 1e-8, *operands)


def test_means_of_rows_that_share_a_number():
    x, rows, numbers = draw.randn(5, 2).astype(np.float32), [4, 0, 0, 2], [0, 0, 2, 2]
    mean = lambda x: ops.sparse_segment_mean(x, Tensor(rows, ms.int32), Tensor(numbers, ms.int32))                 # noqa: E731
    np.testing.assert_allclose(mean(Tensor(x)).asnumpy(), [(x[4] + x[0]) / 2, [0, 0], (x[0] + x[2]) / 2], rtol=1e-6)
    assert ms.grad(lambda x: mean(x).sum())(Tensor(x)).tolist() == [[1, 1], [0, 0], [0.5, 0.5], [0, 0], [0.5, 0.5]]
    with pytest.raises(IndexError, match="index 9"):
        ops.sparse_segment_mean(Tensor(x), Tensor([9]), Tensor([0]))


def test_pieces_are_transformed_without_ends(way):
    x, window = Tensor(draw.randn(2, 40).astype(np.float32)), Tensor(np.hanning(16).astype(np.float32))
    made = way(lambda x, w: P.STFT(16, 4, 16, False, True, True)(x, w))(x, window).asnumpy()
    pieces = np.stack([x.asnumpy()[:, 4 * k:4 * k + 16] * window.asnumpy() for k in range(7)], -1)
    np.testing.assert_allclose(made, np.fft.rfft(pieces, axis=1), atol=1e-4)


def test_what_is_added_in_place_is_returned_as_a_tensor():
    table = Parameter(Tensor(np.ones((3, 2), np.float32)), name="t")
    out = P.InplaceIndexAdd(axis=0)(table, Tensor([0, 2], ms.int32), Tensor(np.ones((2, 2), np.float32)))
    assert not isinstance(out, Parameter) and out.tolist() == table.tolist() == [[2, 2], [1, 1], [2, 2]]


def test_the_status_of_floats_is_one_where_one_is_not_finite(way):
    for row, wanted in (([1.0, 2.0], 0), ([1.0, np.inf], 1), ([np.nan, 0.0], 1), ([-np.inf], 1), ([[6e4]], 0)):
        made = way(lambda x: P.FloatStatus()(x))(Tensor(np.array(row, np.float16)))
        assert made.tolist() == [wanted] and made.dtype is ms.float32
    with pytest.raises(TypeError, match="FloatStatus: floats"):
        P.FloatStatus()(Tensor([1]))


@pytest.mark.parametrize("mode, word", [("constant", "constant"), ("reflect", "reflect"), ("edge", "edge"), ("wrap", "wrap"),
                                        ("circular", "wrap")])
@pytest.mark.parametrize("contiguous", [True, False])
def test_paddings_stand_in_pairs_or_in_halves(way, mode, word, contiguous):
    x, ends = draw.randn(3, 4).astype(np.float32), ((0, 2), (1, 3))                     # of the first axis, of the last
    sizes = (1, 3, 0, 2) if contiguous else (1, 0, 3, 2)
    value = (9.0,) if mode == "constant" else ()
    wanted = np.pad(x, ends, word, constant_values=9.0) if value else np.pad(x, ends, word)
    made = way(lambda x: P.PadV3(mode, contiguous)(x, sizes, *value))(Tensor(x))
    np.testing.assert_array_equal(made.asnumpy(), wanted)
