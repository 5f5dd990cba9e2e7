"""Bayesian layers: what they draw, what they lose, what they learn, in Python and in graphs."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.nn.probability import bnn_layers


def close(found, expected, rtol=1e-4, atol=1e-5):
    np.testing.assert_allclose(np.asarray(found), expected, rtol, atol)


def fixed(name, shape):
    """A posterior that does not spread."""
    return bnn_layers.NormalPosterior(name, shape, untransformed_scale_mean=-40, untransformed_scale_std=0)


X, PICTURE = Tensor(np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)), Tensor(np.ones((2, 2, 5, 5), np.float32))
LAYERS = {"DenseReparam": (lambda **k: bnn_layers.DenseReparam(3, 2, activation="relu", **k), X, (4, 2)),
          "DenseLocalReparam": (lambda **k: bnn_layers.DenseLocalReparam(3, 2, **k), X, (4, 2)),
          "ConvReparam": (lambda **k: bnn_layers.ConvReparam(2, 4, 3, group=2, has_bias=True, pad_mode="valid", **k), PICTURE,
                          (2, 4, 3, 3))}


@pytest.mark.parametrize("name", LAYERS)
def test_without_spread_a_layer_is_the_plain_one_and_with_it_every_call_draws(name):
    make, x, shape = LAYERS[name]
    layer = make(weight_posterior_fn=fixed, bias_posterior_fn=fixed)
    weight, bias = layer.weight_posterior.mean, layer.bias_posterior.mean
    plain = ops.conv2d(x, weight, bias, pad_mode="valid", groups=2) if name == "ConvReparam" else \
        ops.matmul(x, ops.transpose(weight, (1, 0))) + bias
    plain = ops.relu(plain) if name == "DenseReparam" else plain
    for run in (layer, ms.jit(layer, fullgraph=True)):
        out = run(x)
        assert out.shape == shape
        close(out, plain.asnumpy(), 1e-3, 1e-4)
    spread = make()
    run = ms.jit(spread, fullgraph=True)
    assert not np.array_equal(run(x).asnumpy(), run(x).asnumpy())
    assert len(spread.trainable_params()) == 4


def test_the_local_draw_has_the_spread_of_the_sum():
    layer = bnn_layers.DenseLocalReparam(3, 1, has_bias=False)
    std = np.log1p(np.exp(layer.weight_posterior.untransformed_std.asnumpy())) + 1e-6
    x = np.array([[1.0, -2.0, 0.5]], np.float32)
    outs = layer(Tensor(np.repeat(x, 4000, 0))).asnumpy()
    close(outs.std(), np.sqrt((x ** 2 * std ** 2).sum()), 0.06)


def test_the_divergence_is_that_of_the_posterior_from_the_prior():
    layer = bnn_layers.DenseReparam(3, 2)
    expected = 0.0
    for posterior in (layer.weight_posterior, layer.bias_posterior):
        mean, std = posterior.mean.asnumpy(), np.log1p(np.exp(posterior.untransformed_std.asnumpy())) + 1e-6
        expected += ((mean / 0.1) ** 2 / 2 + (std / 0.1) ** 2 / 2 - 0.5 - np.log(std / 0.1)).sum()
    close(layer.compute_kl_loss(), expected)
    close(ms.jit(layer.compute_kl_loss, fullgraph=True)(), expected)


def test_a_bayesian_network_learns_in_both_modes():
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    target = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    for graph in (False, True):
        ms.set_seed(3)
        net = nn.SequentialCell(bnn_layers.DenseReparam(3, 8, activation="tanh"), bnn_layers.DenseLocalReparam(8, 1))
        whole = bnn_layers.WithBNNLossCell(net, nn.MSELoss(), 1, 1e-4)
        assert whole.backbone_network is net and len(whole.kl_loss) == 2
        step = nn.TrainOneStepCell(whole, nn.Adam(net.trainable_params(), 0.05))
        step = ms.jit(step, fullgraph=True) if graph else step
        losses = [float(step(Tensor(x), Tensor(target))) for _ in range(60)]
        assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("make, error", [
    (lambda: bnn_layers.DenseReparam(0, 2), ValueError), (lambda: bnn_layers.DenseReparam(3, 2, has_bias=1), TypeError),
    (lambda: bnn_layers.DenseReparam(3, 2, weight_prior_fn=nn.ReLU), TypeError),
    (lambda: bnn_layers.DenseReparam(3, 2, weight_posterior_fn=lambda name, shape: nn.ReLU()), TypeError),
    (lambda: bnn_layers.ConvReparam(3, 4, 3, group=2), ValueError),
    (lambda: bnn_layers.ConvReparam(3, 4, 3, pad_mode="x"), ValueError),
    (lambda: bnn_layers.NormalPosterior("w", 3), TypeError), (lambda: bnn_layers.NormalPosterior("w",
    (3,), loc_std=-1), ValueError),
    (lambda: bnn_layers.WithBNNLossCell(nn.ReLU(), nn.MSELoss(), -1), ValueError),
    (lambda: bnn_layers.WithBNNLossCell(nn.ReLU(), nn.MSELoss(), 1, True), TypeError)])
def test_what_does_not_fit_is_an_error(make, error):
    with pytest.raises(error):
        make()
