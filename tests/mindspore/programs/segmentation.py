"""A small U-Net: strided and depthwise convolutions, transposed convolution, resize, dice loss, evaluation in eval mode."""
import numpy as np
from fixed import fill, numbers, show

import mindspore as ms
from mindspore import Tensor, nn, ops


class Separable(nn.Cell):
    def __init__(self, a, b, stride=1):
        super().__init__()
        self.body = nn.SequentialCell([
            nn.Conv2d(a, a, 3, stride, pad_mode="pad", padding=1, group=a), nn.BatchNorm2d(a), nn.ReLU6(),
            nn.Conv2d(a, b, 1), nn.BatchNorm2d(b, eps=1e-3), nn.HSwish()])

    def construct(self, x):
        return self.body(x)


class SE(nn.Cell):
    def __init__(self, c):
        super().__init__()
        self.fc1, self.fc2, self.gate = nn.Conv2d(c, 2, 1, has_bias=True), nn.Conv2d(2, c, 1, has_bias=True), nn.HSigmoid()

    def construct(self, x):
        pooled = ops.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.fc2(ops.relu(self.fc1(pooled))))


class UNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.e1, self.e2 = Separable(2, 4), Separable(4, 8, 2)
        self.se, self.pool = SE(8), nn.MaxPool2d(2, 2)
        self.bridge = nn.Conv2d(8, 8, 3, dilation=2, pad_mode="same")
        self.up = nn.Conv2dTranspose(8, 4, 2, 2, has_bias=True)
        self.d1 = nn.Conv2d(12, 4, 3)
        self.head = nn.Conv2d(8, 1, 1, has_bias=True)

    def construct(self, x):
        a = self.e1(x)
        b = self.se(self.e2(a))
        c = ops.leaky_relu(self.bridge(self.pool(b)), 0.1)
        d = self.d1(ops.concat((self.up(c), b), 1))
        d = ops.interpolate(d, size=a.shape[-2:], mode="bilinear", align_corners=False)
        return self.head(ops.concat((d, a), 1))


def dice(logits, mask, smooth=1.0):
    p = ops.sigmoid(logits)
    inter = (p * mask).sum((1, 2, 3))
    return 1 - ((2 * inter + smooth) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + smooth)).mean()


net = fill(UNet())
optimizer = nn.RMSProp(net.trainable_params(), learning_rate=0.001, momentum=0.5, decay=0.9, epsilon=1e-4)


def loss_fn(x, mask):
    logits = net(x)
    weight = ops.ones_like(logits) + mask
    return dice(logits, mask) + ops.binary_cross_entropy_with_logits(logits, mask, weight, ops.ones_like(logits))


grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters)
net.set_train()
for step in range(3):
    x = numbers(2, 2, 16, 16, seed=step)
    loss, grads = grad_fn(Tensor(x), Tensor((x[:, :1] > 0.3).astype(np.float32)))
    optimizer(grads)
    show("loss", loss)
net.set_train(False)
show("logits", net(Tensor(numbers(1, 2, 16, 16, seed=5)))[:, :, ::5, ::5])
