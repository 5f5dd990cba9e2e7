"""Running statistics, the order and names of Parameters, and what is loaded into them are MindSpore's and torch's."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops

RNG = np.random.default_rng(3)
NORMS = {nn.BatchNorm1d: (6, 3), nn.BatchNorm2d: (2, 3, 2, 2), nn.BatchNorm3d: (2, 3, 2, 1, 2)}
RUNS = {"eager": lambda f: f, "jit": lambda f: ms.jit(f, fullgraph=True)}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("layer", NORMS, ids=lambda c: c.__name__)
def test_a_moving_variance_is_that_of_a_sample(layer, run):
    net, x = layer(3, momentum=0.9).set_train(), RNG.standard_normal(NORMS[layer]).astype(np.float32) * 2 + 1
    axes = tuple(a for a in range(x.ndim) if a != 1)
    out = RUNS[run](net)(Tensor(x))
    net = getattr(net, "bn2d", net)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), 0.1 * x.mean(axes), rtol=1e-5)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), 0.9 + 0.1 * x.var(axes, ddof=1), rtol=1e-5)
    shape = (1, 3) + (1,) * (x.ndim - 2)
    np.testing.assert_allclose(out.asnumpy(), (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes).reshape(shape) + 1e-5),
                               rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("run", RUNS)
def test_so_is_that_of_the_function_and_of_the_primitive_which_write_their_operands(run):
    x = np.array([[1, 2], [3, 6], [5, 1]], np.float32)
    for step in (lambda x, m, v, g, b: ops.batch_norm(x, m, v, g, b, training=True, momentum=0.1),
                 lambda x, m, v, g, b: ops.operations.BatchNorm(is_training=True, momentum=0.1)(x, g, b, m, v)[0]):
        state = [Parameter(Tensor(np.array(v, np.float32)), name=str(i)) for i, v in enumerate(([0, 0], [1, 1], [1, 1], [0, 0]))]
        RUNS[run](lambda x: step(x, *state))(Tensor(x))
        np.testing.assert_allclose(state[0].asnumpy(), [0.3, 0.3], rtol=1e-6)
        np.testing.assert_allclose(state[1].asnumpy(), [1.3, 1.6], rtol=1e-6)


def test_parameters_are_attributes_by_mindspores_names():
    volumes, slopes = nn.BatchNorm3d(3), nn.PReLU(2, [0.1, 0.2])
    assert [p.name for p in volumes.trainable_params()] == ["bn2d.gamma", "bn2d.beta"] and volumes.bn2d.gamma.shape == (3,)
    assert slopes.w.name == "a" and slopes.w.asnumpy().tolist() == np.float32([0.1, 0.2]).tolist()
    with pytest.raises(ValueError, match="w is a list of 2 floats"):
        nn.PReLU(2, [0.1])
    layers = nn.GRU(2, 3, num_layers=2)
    assert [p.name for p in layers.w_hh_list] == ["weight_hh_l0", "weight_hh_l1"] and layers.b_ih_list[1] is layers.bias_ih_l1
    assert nn.GRU(2, 3, has_bias=False).b_hh_list == ()


def test_one_value_for_a_channel_makes_no_nan():
    net = nn.BatchNorm1d(2).set_train()
    net(Tensor([[1.0, 2.0]]))
    assert np.isfinite(net.moving_variance.asnumpy()).all()


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU], ids=lambda c: c.__name__)
def test_parameters_of_recurrent_layers_stand_kind_by_kind(layer):
    kinds, places = ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), ("l0", "l0_reverse", "l1", "l1_reverse")
    net = layer(2, 3, num_layers=2, bidirectional=True)
    assert [p.name for p in net.trainable_params()] == [f"{kind}_{place}" for kind in kinds for place in places]
    assert [p.name for p in layer(2, 3, num_layers=2, has_bias=False).get_parameters()] == [
        "weight_ih_l0", "weight_ih_l1", "weight_hh_l0", "weight_hh_l1"]
    assert net.weight_ih_l1.shape[1] == 6 and net(Tensor(np.ones((4, 1, 2), np.float32)))[0].shape == (4, 1, 6)


def ones(name, shape, value=1.0):
    return Parameter(ops.ones(shape) * value, name=name)


def test_parameters_behind_a_prefix_are_found():
    net = nn.Dense(2, 3)
    given = {"backbone.weight": ones("a", (3, 2), 5), "backbone.bias": ones("b", (3,), 6), "head": ones("c", (1,))}
    assert ms.load_param_into_net(net, given) == ([], ["backbone.weight", "backbone.bias", "head"])
    assert net.weight.asnumpy()[0, 0] == 5 and net.bias.asnumpy()[0] == 6


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kind", [tuple, list])
def test_several_tensors_are_clipped_each(kind, run):
    def clipped(x, y):
        return ops.clip_by_value(kind((x, y)), 2, 4)
    found = RUNS[run](clipped)(Tensor([1.0, 5.0]), Tensor([[9.0]]))
    assert isinstance(found, tuple) and [f.tolist() for f in found] == [[2, 4], [[4]]]


@pytest.mark.parametrize("run", RUNS)
def test_index_add_takes_the_axis_first_or_last(run):
    x, i = np.arange(12, dtype=np.float32).reshape(3, 4), Tensor(np.array([1, 1], np.int32))
    want = x.copy()
    np.add.at(want, [1, 1], x[:2])
    for way in (lambda x, y: x.index_add(0, i, y), lambda x, y: x.index_add(dim=0, index=i, source=y),
                lambda x, y: x.index_add(i, y, 0), lambda x, y: x.index_add(indices=i, y=y, axis=0),
                lambda x, y: x.index_add(0, i, y * 0.5, alpha=2)):
        np.testing.assert_array_equal(RUNS[run](way)(Tensor(x), Tensor(x[:2])).asnumpy(), want)
