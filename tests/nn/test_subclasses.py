"""Layers and optimisers of one's own on top of MindSpore's: the parts that its layers show a subclass."""
import functools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, MindliteError

X = Tensor(np.random.RandomState(0).randn(2, 3, 4, 4).astype(np.float32))


class Standardised(nn.Conv2d):
    """A convolution with normalised weights, as BiT has it."""

    def construct(self, x):
        weight = self.weight - self.weight.mean()
        out = self.conv2d(x, weight)
        return self.bias_add(out, self.bias)


class Channels(nn.LayerNorm):
    """Normalises axis 1, as ConvNeXt has it."""

    def construct(self, x):
        y, mean, variance = self.layer_norm(x.transpose(0, 2, 3, 1), self.gamma, self.beta)
        return y.transpose(0, 3, 1, 2)


class Doubled(nn.Dense):
    def construct(self, x):
        return self.bias_add(self.matmul(x, 2 * self.weight), self.bias)


def run(net, *args):
    return net(*args).asnumpy(), ms.jit(lambda *xs: net(*xs), fullgraph=True)(*args).asnumpy()


def test_a_convolution_of_ones_own_has_the_layers_settings():
    net = Standardised(3, 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=True)
    wanted = nn.Conv2d(3, 4, 3, stride=2, pad_mode="pad", padding=1, has_bias=True)
    wanted.weight.set_data(net.weight - net.weight.mean())
    wanted.bias.set_data(net.bias)
    for found in run(net, X):
        np.testing.assert_allclose(found, wanted(X).asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_normalisation_of_ones_own_has_the_layers_settings():
    x = X.asnumpy()
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6)
    for found in run(Channels((3,), epsilon=1e-6), X):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_dense_layer_of_ones_own_multiplies_and_adds():
    net = Doubled(4, 5)
    wanted = X.asnumpy() @ (2 * net.weight.asnumpy().T) + net.bias.asnumpy()
    for found in run(net, X):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


class Plain(nn.Optimizer):
    """What a script writes that has MindSpore's protected names."""

    @nn.optim.own.opt_init_args_register
    def __init__(self, params, learning_rate=0.1, weight_decay=0.0, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.moments = self._parameters.clone(prefix="m", init="zeros")

    @ms.jit
    def construct(self, gradients):
        gradients = self.flatten_gradients(gradients)
        gradients = self.scale_grad(self._grad_sparse_indices_deduplicate(gradients))
        lr = self.get_lr()
        done = self.hyper_map(functools.partial(step, lr), self._parameters, self.moments, gradients)
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        return done

    @nn.Optimizer.target.setter
    def target(self, value):
        self._set_base_target(value)


def step(lr, param, moment, grad):
    ops.assign(moment, 0.5 * moment + grad)
    return ops.assign(param, param - lr * moment)


def test_an_optimiser_of_ones_own_steps_by_mindspores_protected_names():
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    optimizer = Plain([weight], nn.ExponentialDecayLR(0.1, 0.5, 1), loss_scale=2.0)
    for _ in range(2):
        optimizer((Tensor([2.0, 4.0]),))
    np.testing.assert_allclose(weight.asnumpy(), [1 - 0.1 - 0.05 * 1.5, 2 - 0.2 - 0.05 * 3], rtol=1e-6)
    assert optimizer.init_args == {"weight_decay": 0.0, "loss_scale": 2.0} and optimizer.need_scale
    assert optimizer._is_dynamic_lr_or_weight_decay() and not optimizer.exec_weight_decay and optimizer.param_length == 1


def test_a_target_is_a_known_device():
    optimizer = Plain([Parameter(Tensor([1.0]), name="w")])
    assert optimizer.target == "CPU"
    optimizer.target = "CPU"
    assert optimizer.target == "CPU" and optimizer.reciprocal_scale == 1.0 and not optimizer.dynamic_weight_decay
    with pytest.raises(MindliteError, match="'TPU'"):
        optimizer.target = "TPU"
    with pytest.raises(ArgumentError, match="target is a str"):
        optimizer.target = 3


class Scaled(nn.Optimizer):
    """Sets what MindSpore's Optimizer sets, too, and filters parameters, as mindcv's AdamW does."""

    def __init__(self, params, learning_rate=0.1, loss_scale=1.0):
        super().__init__(learning_rate, params)
        self.reciprocal_scale = 1 / loss_scale
        self.dynamic_lr = False

    def construct(self, gradients):
        return self.hyper_map(functools.partial(filtered, self.get_lr(), self.reciprocal_scale), self.parameters, gradients,
                              self.optim_filter, self.ps_parameters)


def filtered(lr, scale, param, grad, chosen, remote):
    if chosen and not remote:
        ops.assign(param, param - lr * grad * scale)
    return chosen


@pytest.mark.parametrize("graph", [False, True])
def test_an_optimiser_of_ones_own_may_set_what_the_base_computes(graph):
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    optimizer = Scaled([weight], loss_scale=4.0)
    (ms.jit(optimizer, fullgraph=True) if graph else optimizer)((Tensor([2.0, 4.0]),))
    np.testing.assert_allclose(weight.asnumpy(), [1 - 0.05, 2 - 0.1], rtol=1e-6)
    assert optimizer.reciprocal_scale == 0.25 and not optimizer.dynamic_lr


class ScaledStep(nn.TrainOneStepWithLossScaleCell):
    """A step that divides the gradients itself and asks for an overflow, as MindSpore's documentation has it."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        grads = self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss) * scale)
        grads = self.grad_reducer(self.hyper_map(functools.partial(unscaled, scale), grads))
        overflow = self.process_loss_scale(self.get_overflow_status(status, grads))
        if not overflow:
            self.optimizer(grads)
        return loss, overflow


def unscaled(scale, grad):
    return grad / scale


@pytest.mark.parametrize("graph", [False, True])
def test_a_scaled_step_of_ones_own_leaves_the_weights_where_a_gradient_overflows(graph):
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
    try:
        weight = Parameter(Tensor([1.0, 2.0]), name="w")

        class Loss(nn.Cell):
            def __init__(self):
                super().__init__()
                self.weight, self.bias = weight, Parameter(Tensor([3.0]), name="b")       # its gradient is always finite

            def construct(self, x):
                return (self.weight * x).sum() + self.bias.sum()
        net = Loss()
        train = ScaledStep(net, nn.SGD(net.trainable_params(), 0.5), nn.DynamicLossScaleUpdateCell(8.0, 2, 10))
        _, overflow = train(Tensor([1.0, 2.0]))
        assert not overflow
        np.testing.assert_allclose(weight.asnumpy(), [0.5, 1.0], rtol=1e-6)
        _, overflow = train(Tensor([1.0, np.inf]))
        assert overflow and train.scale_sense.asnumpy() == 4.0
        np.testing.assert_allclose(weight.asnumpy(), [0.5, 1.0], rtol=1e-6)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
