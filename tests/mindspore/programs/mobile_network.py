"""A small MobileNet in the manner of collections of image models: inverted residuals, squeeze and excitation, groups without
decay, warm-up, label smoothing, clipped gradients and a moving average of the weights in a step of one's own."""
import math

from fixed import fill, numbers, show, totals

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore import Parameter, ParameterTuple, Tensor
from mindspore.amp import all_finite
from mindspore.common.initializer import Constant, Normal, initializer

_GROUPS = {"small": [[3, 8, 8, True, "HS", 2], [3, 24, 12, False, "RE", 2], [5, 48, 12, True, "HS", 1]]}


def make_divisible(v, divisor=8, min_value=None):
    min_value = min_value or divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    return new_v + divisor if new_v < 0.9 * v else new_v


class SqueezeExcite(nn.Cell):
    def __init__(self, channels, rate=0.25):
        super().__init__()
        reduced = make_divisible(channels * rate)
        self.conv_reduce = nn.Conv2d(channels, reduced, 1, has_bias=True)
        self.act = nn.ReLU()
        self.conv_expand = nn.Conv2d(reduced, channels, 1, has_bias=True)
        self.gate = nn.HSigmoid()

    def construct(self, x):
        scale = ops.mean(x, axis=(2, 3), keep_dims=True)
        return x * self.gate(self.conv_expand(self.act(self.conv_reduce(scale))))


class Bottleneck(nn.Cell):
    def __init__(self, inside, middle, outside, kernel, stride, activation, use_se):
        super().__init__()
        self.use_res_connect = stride == 1 and inside == outside
        act = {"HS": nn.HSwish, "RE": nn.ReLU6}[activation]
        layers = [nn.Conv2d(inside, middle, 1, 1, pad_mode="pad", padding=0, has_bias=False), nn.BatchNorm2d(middle), act(),
                  nn.Conv2d(middle, middle, kernel, stride, pad_mode="pad", padding=(kernel - 1) // 2, group=middle),
                  nn.BatchNorm2d(middle), act()]
        if use_se:
            layers.append(SqueezeExcite(middle))
        layers.extend([nn.Conv2d(middle, outside, 1), nn.BatchNorm2d(outside)])
        self.layers = nn.SequentialCell(layers)

    def construct(self, x):
        if self.use_res_connect:
            return x + self.layers(x)
        return self.layers(x)


class MobileNet(nn.Cell):
    def __init__(self, arch, num_classes=4):
        super().__init__()
        features = [nn.Conv2d(3, 8, 3, 2, pad_mode="pad", padding=1), nn.BatchNorm2d(8), nn.HSwish()]
        inside = 8
        for kernel, middle, outside, use_se, activation, stride in _GROUPS[arch]:
            features.append(Bottleneck(inside, middle, outside, kernel, stride, activation, use_se))
            inside = outside
        self.feature_info = [dict(chs=inside, reduction=8, name=f"features.{len(features)}")]
        self.features = nn.SequentialCell(features)
        self.pool = lambda x: x.mean((2, 3))
        self.classifier = nn.SequentialCell([nn.Dense(inside, 16), nn.HSwish(), nn.Dropout(p=0.0), nn.Dense(16, num_classes)])
        self._initialize_weights()

    def _initialize_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                n = cell.kernel_size[0] * cell.kernel_size[1] * cell.out_channels
                cell.weight.set_data(initializer(Normal(math.sqrt(2.0 / n)), cell.weight.shape, cell.weight.dtype))
                if cell.bias is not None:
                    cell.bias.set_data(initializer("zeros", cell.bias.shape, cell.bias.dtype))
            elif isinstance(cell, nn.BatchNorm2d):
                cell.gamma.set_data(initializer(Constant(1), cell.gamma.shape))
            elif isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer(Normal(0.01, 0), cell.weight.shape, cell.weight.dtype))

    def forward_features(self, x):
        return self.features(x)

    def construct(self, x):
        return self.classifier(self.pool(self.forward_features(x)))


def param_groups(params, weight_decay):
    decay, no_decay = [], []
    for param in params:
        (no_decay if param.ndim <= 1 or param.name.endswith(".bias") else decay).append(param)
    return [{"params": no_decay, "weight_decay": 0.0}, {"params": decay, "weight_decay": weight_decay},
            {"order_params": params}]


_ema_op = ops.MultitypeFuncGraph("ema_op")


@_ema_op.register("Tensor", "Tensor", "Tensor")
def _ema_weights(factor, ema_weight, weight):
    return ops.assign(ema_weight, ema_weight * factor + weight * (1 - factor))


class TrainStep(nn.TrainOneStepWithLossScaleCell):
    """What trainers of such collections write: unscale, accumulate the status, clip, update, average."""

    def __init__(self, network, optimizer, scale_sense=1.0, ema_decay=0.9, clip_value=0.5):
        super().__init__(network, optimizer, scale_sense)
        self.clip_value = clip_value
        self.map = ops.Map()
        self.partial = ops.Partial()
        self.ema_decay = ema_decay
        self.updates = Parameter(Tensor(0.0, ms.float32), requires_grad=False, name="updates")
        self.ema_weight = self.weights.clone("ema", init="same")

    def ema_update(self):
        self.updates += 1
        decay = self.ema_decay * (1 - ops.exp(-self.updates / 2))
        return self.hyper_map(self.partial(_ema_op, decay), self.ema_weight, self.weights)

    def construct(self, *inputs):
        weights = self.weights
        scaling_sens = self.scale_sense
        loss, grads = ops.value_and_grad(self.network, None, weights)(*inputs)
        grads = self.hyper_map(ops.partial(_enlarge, scaling_sens), grads)
        grads = self.hyper_map(ops.partial(_scale, scaling_sens), grads)
        cond = ops.logical_not(all_finite(grads))
        overflow = self.process_loss_scale(cond)
        if not overflow:
            grads = ops.clip_by_global_norm(grads, clip_norm=self.clip_value)
            loss = ops.depend(loss, self.optimizer(grads))
            loss = ops.depend(loss, self.ema_update())
        return loss, cond, scaling_sens


_enlarge = ops.MultitypeFuncGraph("enlarge")


@_enlarge.register("Tensor", "Tensor")
def tensor_enlarge(scale, grad):
    return grad * ops.cast(scale, grad.dtype)


_scale = ops.MultitypeFuncGraph("grad_scale")


@_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * ops.cast(ops.Reciprocal()(scale), grad.dtype)


net = fill(MobileNet("small"), scale=0.3)
show("names", [name for name, cell in net.cells_and_names() if isinstance(cell, (nn.Conv2d, SqueezeExcite))])
show("size", sum(p.size for p in net.get_parameters()))
steps, warmup = 8, 3
lr = [0.05 * (i + 1) / warmup for i in range(warmup)]
lr += nn.cosine_decay_lr(0.001, 0.05, steps - warmup, steps - warmup, 1)
optimizer = nn.SGD(param_groups(net.trainable_params(), 1e-2), learning_rate=lr, momentum=0.9, nesterov=True, loss_scale=1.0)
show("groups", [optimizer.is_group, optimizer.is_group_lr, [round(float(d), 5) for d in optimizer.weight_decay]
                if isinstance(optimizer.weight_decay, (list, tuple)) else float(optimizer.weight_decay)])
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
train = TrainStep(nn.WithLossCell(net, criterion), optimizer, nn.FixedLossScaleUpdateCell(64.0))
train.set_train()
for step in range(5):
    loss, cond, scale = train(Tensor(numbers(4, 3, 32, 32, seed=step)), Tensor([0, 3, 1, 2], ms.int32))
    show("loss", [float(loss.asnumpy()), bool(cond), float(scale.asnumpy())])
show("ema", [float(abs(p.asnumpy()).sum()) for p in train.ema_weight])
show("kind", isinstance(train.weights, ParameterTuple))
totals(net)
net.set_train(False)
show("logits", net(Tensor(numbers(2, 3, 32, 32, seed=9))))
