"""Layers over volumes, of shuffled elements, and losses of margins: what their operators and definitions say."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import ShapeError, ValueRangeError

RNG = np.random.default_rng(8)
VOLUME = RNG.standard_normal((2, 3, 5, 6, 7)).astype(np.float32)


def _windows(x, kernel, stride, pad, dilation=1, fill=-np.inf):
    x = np.pad(x, [(0, 0), (0, 0)] + [(pad, pad)] * 3, constant_values=fill)
    reach = (kernel - 1) * dilation + 1
    view = np.lib.stride_tricks.sliding_window_view(x, (reach,) * 3, (2, 3, 4))
    return view[:, :, ::stride, ::stride, ::stride, ::dilation, ::dilation, ::dilation]


@pytest.mark.parametrize("kernel, stride, pad, dilation", [(2, 1, 0, 1), (3, 2, 1, 1), (2, 1, 1, 3)])
def test_the_largest_of_volumes_and_their_places(kernel, stride, pad, dilation):
    mode = "pad" if pad else "valid"
    values, places = nn.MaxPool3d(kernel, stride, mode, pad, dilation, return_indices=True)(Tensor(VOLUME))
    want = _windows(VOLUME, kernel, stride, pad, dilation).max((-3, -2, -1))
    np.testing.assert_array_equal(values.asnumpy(), want)
    np.testing.assert_array_equal(nn.MaxPool3d(kernel, stride, mode, pad, dilation)(Tensor(VOLUME)).asnumpy(), want)
    flat = VOLUME.reshape(2, 3, -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, places.asnumpy().reshape(2, 3, -1), 2).reshape(want.shape), want)


def test_means_of_volumes_count_or_are_divided():
    windows = _windows(VOLUME, 3, 2, 1, fill=0)
    pool = nn.AvgPool3d(3, 2, "pad", 1)
    np.testing.assert_allclose(pool(Tensor(VOLUME)).asnumpy(), windows.mean((-3, -2, -1)), rtol=1e-4, atol=1e-6)
    summed = nn.AvgPool3d(3, 2, "pad", 1, divisor_override=5)(Tensor(VOLUME))
    np.testing.assert_allclose(summed.asnumpy(), windows.sum((-3, -2, -1)) / 5, rtol=1e-4, atol=1e-5)
    by_class = ops.operations.AvgPool3D(3, 2, "pad", 1, divisor_override=5)(Tensor(VOLUME))
    np.testing.assert_array_equal(by_class.asnumpy(), summed.asnumpy())
    assert nn.AvgPool3d(2)(Tensor(VOLUME[0])).shape == (3, 4, 5, 6)
    with pytest.raises(ShapeError, match="5 axes"):
        nn.MaxPool3d(2)(Tensor(VOLUME[0, 0]))


@pytest.mark.parametrize("mode", ["same", "valid", "pad"])
def test_convolutions_of_volumes_are_those_of_ops_and_transposes_of_each_other(mode):
    net = nn.Conv3d(3, 4, (2, 3, 1), 2, mode, has_bias=True)
    x = Tensor(VOLUME)
    want = ops.conv3d(x, net.weight, net.bias, 2, mode)
    np.testing.assert_array_equal(net(x).asnumpy(), want.asnumpy())
    back = nn.Conv3dTranspose(4, 3, (2, 3, 1), 2, mode)
    assert back(want).shape[:2] == (2, 3) and back.weight.shape == (4, 3, 2, 3, 1)
    with pytest.raises(ValueRangeError, match="NCDHW"):
        nn.Conv3d(3, 4, 1, data_format="NDHWC")
    if mode == "pad":
        grads = ms.grad(lambda v: (net(v) ** 2).sum())(x)
        assert grads.shape == x.shape


def test_layers_that_move_elements_give_them_back():
    x = Tensor(VOLUME.reshape(2, 3, 10, 21)[:, :, :, :20])
    assert (nn.PixelShuffle(5)(nn.PixelUnshuffle(5)(x)) == x).all()
    y = Tensor(VOLUME.reshape(2, 6, 5, 21))
    assert (nn.ChannelShuffle(3)(nn.ChannelShuffle(2)(y)) == y).all()
    assert nn.Unflatten(1, (2, 3))(y).shape == (2, 2, 3, 5, 21)
    np.testing.assert_allclose(nn.Softmax2d()(y).asnumpy().sum(1), 1, rtol=1e-5)
    np.testing.assert_array_equal(nn.LRN()(y).asnumpy(), ops.lrn(y).asnumpy())
    assert nn.ReflectionPad3d(1)(Tensor(VOLUME)).shape == nn.ReplicationPad3d(1)(Tensor(VOLUME)).shape == (2, 3, 7, 8, 9)
    positive = Tensor(np.abs(VOLUME))
    np.testing.assert_array_equal(nn.RReLU()(positive).asnumpy(), positive.asnumpy())
    slopes = nn.RReLU(0.2, 0.4)(-positive).asnumpy() / -positive.asnumpy()
    assert slopes.min() >= 0.2 - 1e-5 and slopes.max() <= 0.4 + 1e-5


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_are_those_of_ops(reduction):
    x, y = Tensor(VOLUME[0, 0, 0]), Tensor([1, 0, 3, 2, 6, 5])
    many = Tensor(RNG.integers(-1, 7, (6, 7)))
    pairs = [(nn.MultiMarginLoss(2, 0.5, reduction), ops.multi_margin_loss(x, y, 2, 0.5, None, reduction), (x, y)),
             (nn.MultilabelMarginLoss(reduction), ops.multilabel_margin_loss(x, many, reduction), (x, many)),
             (nn.MultiLabelSoftMarginLoss(None, reduction), ops.multilabel_soft_margin_loss(x, many, None, reduction),
              (x, many)),
             (nn.PoissonNLLLoss(full=True, reduction=reduction), None, (x, ops.abs(x) * 3)),
             (nn.TripletMarginWithDistanceLoss(reduction=reduction),
              ops.triplet_margin_loss(x, x + 1, x - 2, reduction=reduction), (x, x + 1, x - 2))]
    for net, want, args in pairs:
        if want is None:
            a, b = (v.asnumpy().astype(np.float64) for v in args)
            large = np.where(b > 1, b, 2)                   # Stirling's part counts above 1, as in MindSpore and torch
            each = np.exp(a) - b * a + np.where(b > 1, large * np.log(large) - large + 0.5 * np.log(2 * np.pi * large), 0)
            want = {"mean": each.mean(), "sum": each.sum(), "none": each}[reduction]
        np.testing.assert_allclose(net(*args).asnumpy(), np.asarray(want), rtol=1e-4)


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_a_margin_and_a_weight_of_the_call_count_where_the_layer_has_none(run):
    x, y = Tensor(VOLUME[0, 0, 0]), Tensor([1, 0, 3, 2, 6, 5])
    weight, others = Tensor(RNG.random(7, np.float32)), Tensor(np.ones(7, np.float32))
    triple, margin = (x, x + 1, x - 2), Tensor(2.5)
    for net, given, want in ((nn.TripletMarginLoss(), 2.5, 2.5), (nn.TripletMarginLoss(), margin, 2.5),
                             (nn.TripletMarginLoss(margin=4.0), 2.5, 4.0)):
        found = run(lambda *parts, net=net: net(*parts))(*triple, given)
        np.testing.assert_allclose(found.asnumpy(), ops.triplet_margin_loss(*triple, margin=want).asnumpy(), rtol=1e-5)
    for net, given in ((nn.MultiMarginLoss(), weight), (nn.MultiMarginLoss(weight=weight), others)):
        found = run(lambda *parts, net=net: net(*parts))(x, y, given)
        np.testing.assert_allclose(found.asnumpy(), ops.multi_margin_loss(x, y, weight=weight).asnumpy(), rtol=1e-5)


def test_focal_losses_look_away_from_what_is_known():
    logits, labels = np.array([[0.8, 1.4], [0.5, 0.9], [1.2, 0.9]], np.float32), np.array([[1], [1], [0]], np.int32)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    right = np.take_along_axis(p, labels, 1)[:, 0]
    weight = np.array([1.0, 2.0], np.float32)
    want = -weight[labels[:, 0]] * (1 - right) ** 2 * np.log(right)
    np.testing.assert_allclose(nn.FocalLoss(Tensor(weight), 2.0, "none")(Tensor(logits), Tensor(labels)).asnumpy(), want,
                               rtol=1e-5)
    logs = Tensor(np.log(p[:, None, :]))
    args = Tensor([[1]]), Tensor([3]), Tensor([1])
    np.testing.assert_allclose(nn.CTCLoss(reduction="sum")(logs, *args).item(),
                               ops.ctc_loss(logs, *args, reduction="sum")[0].item())
