"""Convolution, pooling, normalisation, embedding, padding, dropout and containers against NumPy."""
import numpy as np
import pytest

from mindlite import nn
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, IndexRangeError, MissingAttributeError, ShapeError, ValueRangeError
from mindlite.common.seed import set_seed
from mindlite.common.tensor import Tensor

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def out_of(layer, x):
    return layer(Tensor(x)).asnumpy()


# ---------------------------------------------------------------- convolution

def convolve(x, w, stride, ends, dilation, group):
    """The definition, element by element."""
    (sh, sw), (dh, dw), (top, bottom, left, right) = stride, dilation, ends
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, c, h, width = x.shape
    o, per, kh, kw = w.shape
    oh, ow = (h - (kh - 1) * dh - 1) // sh + 1, (width - (kw - 1) * dw - 1) // sw + 1
    out = np.zeros((n, o, oh, ow))
    for k in range(o):
        first = k // (o // group) * per
        for y in range(oh):
            for z in range(ow):
                window = x[:, first:first + per, y * sh:y * sh + kh * dh:dh, z * sw:z * sw + kw * dw:dw]
                out[:, k, y, z] = (window * w[k]).sum(axis=(1, 2, 3))
    return out


@pytest.mark.parametrize("settings, ends", [
    ({"pad_mode": "valid"}, (0, 0, 0, 0)), ({"pad_mode": "same"}, (1, 1, 1, 1)),
    ({"pad_mode": "same", "stride": 2}, (1, 1, 0, 1)), ({"pad_mode": "pad", "padding": 2, "dilation": 2}, (2, 2, 2, 2)),
    ({"pad_mode": "pad", "padding": (1, 0, 2, 3), "stride": (1, 2), "group": 2, "has_bias": True}, (1, 0, 2, 3))])
def test_conv2d_is_the_sum_over_its_window(settings, ends):
    layer = nn.Conv2d(4, 6, 3, **settings)
    x = normal(2, 4, 7, 6)
    expected = convolve(x, layer.weight.asnumpy(), layer.stride, ends, layer.dilation, layer.group)
    if layer.has_bias:
        expected += layer.bias.asnumpy()[None, :, None, None]
    assert layer.weight.shape == (6, 4 // layer.group, 3, 3)
    assert np.allclose(out_of(layer, x), expected, atol=1e-4)


def test_conv1d_is_conv2d_of_height_one_and_keeps_mindspores_weight_shape():
    layer = nn.Conv1d(2, 3, 4, stride=2, pad_mode="pad", padding=(1, 2), has_bias=True)
    x = normal(2, 2, 9)
    expected = convolve(x[:, :, None], layer.weight.asnumpy(), (1, 2), (0, 0, 1, 2), (1, 1), 1)[:, :, 0]
    assert layer.weight.shape == (3, 2, 1, 4)
    assert np.allclose(out_of(layer, x), expected + layer.bias.asnumpy()[:, None], atol=1e-5)


@pytest.mark.parametrize("settings, size", [
    ({"pad_mode": "same", "stride": 2}, (6, 8)), ({"pad_mode": "valid", "stride": 2}, (7, 9)),
    ({"pad_mode": "pad", "padding": 1, "stride": 2, "output_padding": 1}, (6, 8)),
    ({"pad_mode": "valid", "stride": 4}, (12, 16)), ({"pad_mode": "pad", "padding": 1, "group": 2}, (3, 4))])
def test_conv2d_transpose_is_the_adjoint_of_conv2d(settings, size):
    layer = nn.Conv2dTranspose(4, 2, 3, **settings)
    y = out_of(layer, normal(1, 4, 3, 4))
    assert y.shape == (1, 2) + size and layer.weight.shape == (4, 2 // layer.group, 3, 3)
    if layer.pad_mode == "pad":                    # <conv(a), b> = <a, conv_transpose(b)>
        a, b = normal(1, 2, *size), normal(1, 4, 3, 4)
        forward = convolve(a, layer.weight.asnumpy(), layer.stride, (1, 1, 1, 1), (1, 1), layer.group)
        assert np.allclose((forward * b).sum(), (a * out_of(layer, b)).sum(), rtol=1e-3)


def test_conv1d_transpose_has_the_sizes_of_its_rule():
    x = normal(2, 3, 5)
    assert out_of(nn.Conv1dTranspose(3, 4, 3, stride=2), x).shape == (2, 4, 10)
    assert out_of(nn.Conv1dTranspose(3, 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=True), x).shape == (2, 4, 9)


def test_a_convolution_prints_its_settings_and_refuses_bad_ones():
    text = repr(nn.Conv2d(1, 6, 5, has_bias=True, weight_init="normal"))
    assert text.startswith("Conv2d(input_channels=1, output_channels=6, kernel_size=(5, 5), stride=(1, 1), "
                           "pad_mode=same, padding=0, dilation=(1, 1), group=1, has_bias=True, "
                           "weight_init=normal, bias_init=")
    for bad in ({"stride": 0}, {"pad_mode": "full"}, {"padding": 1}, {"group": 2}, {"data_format": "NHWC"},
                {"has_bias": "no"}, {"kernel_size": (3, 3, 3)}, {"pad_mode": "pad", "padding": (1, 2)}):
        with pytest.raises((ValueRangeError, ArgumentError)):
            nn.Conv2d(**{"in_channels": 3, "out_channels": 4, "kernel_size": 3, **bad})
    with pytest.raises(ShapeError, match="4 axes"):
        nn.Conv2d(3, 4, 3)(Tensor(normal(3, 5, 5)))
    with pytest.raises(ValueRangeError):
        nn.Conv2dTranspose(1, 1, 3, stride=2, pad_mode="pad", output_padding=2)


# ---------------------------------------------------------------- pooling

def windows(x, kernel, stride, pad=0.0, ends=0):
    x = np.pad(x, ((0, 0), (0, 0), (ends, ends), (ends, ends)), constant_values=pad)
    view = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))
    return view[:, :, ::stride, ::stride]


def test_max_pool_takes_the_greatest_of_each_window():
    x = normal(2, 3, 7, 7)
    assert np.array_equal(out_of(nn.MaxPool2d(3, 2), x), windows(x, 3, 2).max(axis=(4, 5)))
    padded = windows(x, 3, 2, -np.inf, 1).max(axis=(4, 5))
    assert np.array_equal(out_of(nn.MaxPool2d(3, 2, "pad", 1), x), padded)
    assert np.array_equal(out_of(nn.MaxPool2d(3, 2, "same"), x), padded)
    assert np.array_equal(out_of(nn.MaxPool2d(3, 2), x[0]), windows(x, 3, 2).max(axis=(4, 5))[0])
    values, places = nn.MaxPool2d(3, 2, return_indices=True)(Tensor(x))
    found = np.take_along_axis(x.reshape(2, 3, -1), places.asnumpy().reshape(2, 3, -1), 2)
    assert np.array_equal(found.reshape(values.shape), values.asnumpy())


def test_average_pool_takes_the_mean_and_counts_padding_as_told():
    x = normal(2, 3, 7, 7)
    assert np.allclose(out_of(nn.AvgPool2d(3, 2), x), windows(x, 3, 2).mean(axis=(4, 5)), atol=1e-6)
    zeros = windows(x, 3, 2, 0.0, 1)
    assert np.allclose(out_of(nn.AvgPool2d(3, 2, "pad", 1), x), zeros.mean(axis=(4, 5)), atol=1e-6)
    counted = zeros.sum(axis=(4, 5)) / windows(np.ones_like(x), 3, 2, 0.0, 1).sum(axis=(4, 5))
    assert np.allclose(out_of(nn.AvgPool2d(3, 2, "pad", 1, count_include_pad=False), x), counted, atol=1e-6)
    assert np.allclose(out_of(nn.AvgPool2d(3, 2, "same"), x), counted, atol=1e-6)
    assert np.allclose(out_of(nn.AvgPool2d(3, 2, "same", ceil_mode=True), x), zeros.mean(axis=(4, 5)), atol=1e-6)
    depth = np.broadcast_to(x[:, :, None], (2, 3, 1, 7, 7))
    assert np.allclose(out_of(nn.AvgPool3d((1, 3, 3), (1, 2, 2), "same"), depth)[:, :, 0], zeros.mean(axis=(4, 5)), atol=1e-6)
    left = nn.AvgPool3d((1, 3, 3), (1, 2, 2), "same", count_include_pad=False)
    assert np.allclose(out_of(left, depth)[:, :, 0], counted, atol=1e-6)
    halves = windows(x, 3, 2).sum(axis=(4, 5)) / 2
    assert np.allclose(out_of(nn.AvgPool2d(3, 2, divisor_override=2), x), halves, atol=1e-6)


def test_one_axis_pools_run_over_lengths():
    x = normal(2, 3, 8)
    pairs = x.reshape(2, 3, 4, 2)
    assert np.array_equal(out_of(nn.MaxPool1d(2, 2), x), pairs.max(axis=3))
    assert np.allclose(out_of(nn.AvgPool1d(2, 2), x), pairs.mean(axis=3), atol=1e-6)
    assert np.allclose(out_of(nn.AdaptiveAvgPool1d(4), x), pairs.mean(axis=3), atol=1e-6)


def test_adaptive_pool_cuts_the_plane_into_parts():
    x = normal(2, 3, 6, 8)
    assert np.allclose(out_of(nn.AdaptiveAvgPool2d((3, None)), x), x.reshape(2, 3, 3, 2, 8).mean(axis=3), atol=1e-6)
    assert np.allclose(out_of(nn.AdaptiveAvgPool2d(1), x)[:, :, 0, 0], x.mean(axis=(2, 3)), atol=1e-6)


def test_pools_print_and_refuse_bad_arguments():
    pool = nn.MaxPool2d(2, (2, 2))
    assert repr(pool) == "MaxPool2d(kernel_size=2, stride=2, pad_mode=VALID)"
    assert pool.kernel_size == 2 and pool.stride == 2 and nn.AvgPool2d((2, 3)).kernel_size == (2, 3)
    for bad in (lambda: nn.MaxPool2d(0), lambda: nn.MaxPool2d(2, padding=1), lambda: nn.AvgPool2d(2, pad_mode="full"),
                lambda: nn.AvgPool2d(2, divisor_override=0), lambda: nn.MaxPool2d(2, data_format="NHWC")):
        with pytest.raises(ValueRangeError):
            bad()
    with pytest.raises(ShapeError):
        nn.MaxPool2d(2)(Tensor(normal(5, 5)))


# ---------------------------------------------------------------- normalisation

def standard(x, axes, eps):
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + eps)


@pytest.mark.parametrize("layer, shape", [
    (nn.BatchNorm1d, (8, 3)), (nn.BatchNorm1d, (8, 3, 5)), (nn.BatchNorm2d, (4, 3, 5, 5)),
    (nn.BatchNorm3d, (4, 3, 2, 3, 2))])
def test_batch_norm_uses_the_batch_in_training_and_the_moving_moments_after(layer, shape):
    net, x = layer(3, momentum=0.8), normal(*shape) * 2 + 1
    names = ["bn2d." + name for name in ("moving_mean", "moving_variance", "gamma", "beta")] if hasattr(net, "bn2d") else \
        ["mean", "variance", "gamma", "beta"]
    assert [param.name for param in net.get_parameters()] == names
    axes = tuple(a for a in range(len(shape)) if a != 1)
    wide = (1, 3) + (1,) * (len(shape) - 2)
    assert np.allclose(out_of(net, x), x / np.sqrt(1 + 1e-5), atol=1e-5)
    net.set_train()
    assert np.allclose(out_of(net, x), standard(x, axes, 1e-5), atol=1e-4)
    mean, var = 0.2 * x.mean(axis=axes), 0.8 + 0.2 * x.var(axis=axes, ddof=1)
    moments = getattr(net, "bn2d", net)
    assert np.allclose(moments.moving_mean.asnumpy(), mean, atol=1e-5)
    assert np.allclose(moments.moving_variance.asnumpy(), var, atol=1e-5)
    net.set_train(False)
    expected = (x - mean.reshape(wide)) / np.sqrt(var.reshape(wide) + 1e-5)
    assert np.allclose(out_of(net, x), expected, atol=1e-4)
    assert [param.name for param in net.trainable_params()] == names[2:]


def test_batch_norm_can_be_told_which_moments_to_use():
    x = normal(8, 3)
    always = nn.BatchNorm1d(3, use_batch_statistics=True)
    assert np.allclose(out_of(always, x), standard(x, (0,), 1e-5), atol=1e-4)
    never = nn.BatchNorm1d(3, use_batch_statistics=False).set_train()
    assert np.allclose(out_of(never, x), x / np.sqrt(1 + 1e-5), atol=1e-5)
    assert not never.moving_mean.asnumpy().any() and not nn.BatchNorm1d(3, affine=False).trainable_params()


def test_batch_norm_parameters_are_named_by_attribute_inside_a_network():
    net = nn.SequentialCell(nn.BatchNorm2d(2))
    assert list(net.parameters_dict()) == ["0.moving_mean", "0.moving_variance", "0.gamma", "0.beta"]


def test_layer_norm_covers_the_axes_from_begin_norm_axis():
    x = normal(2, 3, 4)
    assert np.allclose(out_of(nn.LayerNorm((4,)), x), standard(x, (2,), 1e-7), atol=1e-4)
    net = nn.LayerNorm((3, 4), 1, 1, gamma_init="normal", beta_init="ones")
    assert np.allclose(out_of(net, x), standard(x, (1, 2), 1e-7) * net.gamma.asnumpy() + 1, atol=1e-4)
    with pytest.raises(ShapeError):
        nn.LayerNorm((3, 4), 1)(Tensor(x))
    with pytest.raises(ArgumentError):
        nn.LayerNorm(4)


def test_group_and_instance_norm_cover_their_planes():
    x = normal(2, 4, 3, 3)
    grouped = standard(x.reshape(2, 2, 2, 3, 3), (2, 3, 4), 1e-5).reshape(x.shape)
    assert np.allclose(out_of(nn.GroupNorm(2, 4), x), grouped, atol=1e-4)
    assert np.allclose(out_of(nn.InstanceNorm2d(4), x), standard(x, (2, 3), 1e-5), atol=1e-4)
    with pytest.raises(ValueRangeError):
        nn.GroupNorm(3, 4)
    with pytest.raises(ShapeError):
        nn.InstanceNorm1d(4)(Tensor(x))


# ---------------------------------------------------------------- embedding, padding, dropout

@pytest.mark.parametrize("one_hot", [False, True])
def test_embedding_looks_rows_up(one_hot):
    net = nn.Embedding(5, 3, use_one_hot=one_hot, padding_idx=2)
    ids = np.array([[0, 4], [2, 1]], np.int32)
    assert np.allclose(out_of(net, ids), net.embedding_table.asnumpy()[ids])
    assert not net.embedding_table.asnumpy()[2].any() and net.embedding_table.name == "embedding_table"
    with pytest.raises(ValueRangeError):
        nn.Embedding(5, 3, padding_idx=5)


def test_padding_layers_pad_as_numpy_does():
    x = normal(2, 3, 4, 5)
    ends = ((0, 0), (0, 0), (1, 2), (2, 1))
    for mode, word in (("CONSTANT", "constant"), ("REFLECT", "reflect"), ("SYMMETRIC", "symmetric")):
        assert np.array_equal(out_of(nn.Pad(ends, mode), x), np.pad(x, ends, word))
    assert np.array_equal(out_of(nn.ZeroPad2d((2, 1, 1, 2)), x), np.pad(x, ends))
    assert np.array_equal(out_of(nn.ConstantPad1d(1, 7), x), np.pad(x, ((0, 0),) * 3 + ((1, 1),), constant_values=7))
    assert np.array_equal(out_of(nn.ReflectionPad2d((2, 1, 1, 2)), x), np.pad(x, ends, "reflect"))
    assert np.array_equal(out_of(nn.ReplicationPad2d((2, 1, 1, 2)), x), np.pad(x, ends, "edge"))
    with pytest.raises(ArgumentError):
        nn.ZeroPad2d((1, 2, 3))


def test_dropout_acts_in_training_only_and_keeps_the_mean():
    set_seed(1)
    x = np.ones((100, 100), np.float32)
    net = nn.Dropout(p=0.25)
    assert np.array_equal(out_of(net, x), x)
    out = out_of(net.set_train(), x)
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.75)} and 0.22 < (out == 0).mean() < 0.28
    assert repr(net) == "Dropout(p=0.25)" and nn.Dropout(keep_prob=0.9).p == pytest.approx(0.1)
    for bad in (lambda: nn.Dropout(p=1.0), lambda: nn.Dropout(keep_prob=0), lambda: nn.Dropout2d(1.5)):
        with pytest.raises(ValueRangeError):
            bad()


def test_channel_dropout_drops_whole_channels():
    set_seed(2)
    out = out_of(nn.Dropout2d(0.5).set_train(), np.ones((20, 10, 3, 3), np.float32))
    planes = out.reshape(200, 9)
    assert (planes == planes[:, :1]).all() and 0.3 < (planes[:, 0] == 0).mean() < 0.7
    assert not out_of(nn.Dropout1d(1.0).set_train(), np.ones((2, 3, 4), np.float32)).any()


def test_flatten_joins_axes():
    x = normal(2, 3, 4, 5)
    assert out_of(nn.Flatten(), x).shape == (2, 60) and out_of(nn.Flatten(0, 1), x).shape == (6, 4, 5)
    with pytest.raises(ArgumentError):
        nn.Flatten(1.0)


# ---------------------------------------------------------------- containers

def test_a_sequence_is_indexed_sliced_and_changed_and_keeps_names_right():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 4))
    assert len(net) == 3 and isinstance(net[-1], nn.Dense) and isinstance(net[0:2], nn.SequentialCell)
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.Dense(3, 4))
    net.append(nn.Dense(4, 5))
    net[1] = nn.Identity()
    assert out_of(net, normal(1, 2)).shape == (1, 5)
    assert list(net.parameters_dict())[-2:] == ["3.weight", "3.bias"]
    del net[1]
    assert list(net.parameters_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"]
    net.insert(0, nn.Dense(2, 2))
    assert len(net.parameters_dict()) == 8 and out_of(net, normal(1, 2)).shape == (1, 5)
    with pytest.raises(IndexRangeError):
        net[4]
    with pytest.raises(ArgumentError):
        net.append(3)
    named = nn.SequentialCell({"first": nn.Dense(2, 3), "second": nn.Tanh()})
    assert list(named.parameters_dict()) == ["first.weight", "first.bias"] and "(second): Tanh()" in repr(named)


def test_names_follow_when_a_list_inside_a_network_changes():
    net = nn.Cell()
    net.layers = nn.CellList([nn.Dense(1, 1, has_bias=False), nn.Dense(1, 1, has_bias=False)])
    net.layers.insert(0, nn.Dense(1, 1, has_bias=False))
    net.layers.extend([nn.Dense(1, 1, has_bias=False)])
    assert list(net.parameters_dict()) == [f"layers.{i}.weight" for i in range(4)]
    del net.layers[1:3]
    assert list(net.parameters_dict()) == ["layers.0.weight", "layers.1.weight"]
    with pytest.raises(MissingAttributeError, match="not called"):
        net.layers(1)


def test_a_dict_of_cells_is_a_dict():
    net = nn.CellDict({"a": nn.Dense(1, 2)})
    net.update([("b", nn.Tanh())])
    net["c"] = nn.Identity()
    assert list(net) == list(net.keys()) == ["a", "b", "c"] and "b" in net and len(net) == 3
    assert list(net.parameters_dict()) == ["a.weight", "a.bias"] and [k for k, _ in net.items()] == list(net)
    assert isinstance(net.pop("b"), nn.Tanh) and "b" not in net
    for key, value in (("keys", nn.Tanh()), ("x.y", nn.Tanh()), (3, nn.Tanh()), ("d", 3)):
        with pytest.raises(ArgumentError):
            net[key] = value
    with pytest.raises(KeyError):
        net["nosuch"]
    net.clear()
    assert not len(net) and not net.parameters_dict()


def test_layers_compute_in_half_precision_after_to_float():
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(18, 2)).to_float(dt.float16)
    assert net(Tensor(normal(1, 1, 3, 3))).dtype is dt.float16


def test_a_bilinear_layer_is_the_sum_over_both_inputs():
    layer, random = nn.BiDense(3, 4, 2), np.random.default_rng(0)
    x, y = random.normal(size=(5, 3)).astype(np.float32), random.normal(size=(5, 4)).astype(np.float32)
    want = np.einsum("ni,kij,nj->nk", x, layer.weight.asnumpy(), y) + layer.bias.asnumpy()
    np.testing.assert_allclose(layer(Tensor(x), Tensor(y)).asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_matmul_of_two_inputs_may_be_transposed():
    x, y = np.ones((2, 3), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(nn.MatMul(transpose_x2=True)(Tensor(x), Tensor(y)).asnumpy(), x @ y.T)


def test_upsampling_repeats_or_interpolates():
    x = Tensor(np.array([[[[1.0, 3.0]]]], np.float32))
    np.testing.assert_array_equal(nn.Upsample(scale_factor=(1.0, 2.0))(x).asnumpy(), [[[[1, 1, 3, 3]]]])
    aligned = nn.Upsample(size=(1, 3), mode="bilinear", align_corners=True)
    np.testing.assert_array_equal(aligned(x).asnumpy(), [[[[1, 2, 3]]]])
    np.testing.assert_array_equal(nn.Upsample(size=(1, 4), mode="bilinear")(x).asnumpy(), [[[[1, 1.5, 2.5, 3]]]])


def test_unpooling_puts_the_maxima_back():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 6)).astype(np.float32)
    values, places = nn.MaxPool2d(2, 2, return_indices=True)(Tensor(x))
    back = nn.MaxUnpool2d(2, 2)(values, places).asnumpy()
    np.testing.assert_array_equal(back, np.where(back == 0, 0, x))
    assert (back != 0).sum() == values.size and back.shape == x.shape


def test_power_pooling_is_the_norm_of_the_window():
    x = np.array([[[3.0, 4.0, 6.0, 8.0]]], np.float32)
    np.testing.assert_allclose(nn.LPPool1d(2, 2)(Tensor(x)).asnumpy(), [[[5, 10]]], rtol=1e-6)


def test_the_middle_of_a_picture():
    x = Tensor(np.arange(16.0).reshape(1, 4, 4))
    np.testing.assert_array_equal(nn.CentralCrop(0.5)(x).asnumpy(), [[[5, 6], [9, 10]]])
    with pytest.raises(ValueRangeError):
        nn.CentralCrop(0.0)


def test_a_gated_unit_takes_an_even_size():
    with pytest.raises(ShapeError, match="odd size"):
        nn.GLU(0)(Tensor(normal(3, 2)))


@pytest.mark.parametrize("layer", [nn.TransformerEncoderLayer, nn.TransformerDecoderLayer])
def test_gelu_of_a_transformer_is_the_exact_one(layer):
    made = layer(4, 1, dim_feedforward=3, dropout=0.0, activation="gelu")
    np.testing.assert_allclose(out_of(made.activation, np.float32([1.0, -1.0])), [0.8413447, -0.1586553], rtol=1e-5)
