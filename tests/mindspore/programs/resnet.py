"""Residual blocks with batch norm: train, freeze, evaluate; Momentum with weight decay."""
from fixed import fill, numbers, show

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeNormal, Normal, initializer


class Block(nn.Cell):
    expansion = 1

    def __init__(self, in_channel, out_channel, stride=1, norm=None):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channel, out_channel, 3, stride, weight_init=HeNormal())
        self.norm = norm or nn.BatchNorm2d(out_channel)
        self.conv2 = nn.Conv2d(out_channel, out_channel, 3, pad_mode="pad", padding=1, weight_init=Normal(0.02))
        self.norm2 = nn.BatchNorm2d(out_channel, momentum=0.8)
        self.relu = nn.ReLU()
        self.down_sample = None
        if stride != 1 or in_channel != out_channel:
            self.down_sample = nn.SequentialCell([nn.Conv2d(in_channel, out_channel, 1, stride), nn.BatchNorm2d(out_channel)])

    def construct(self, x):
        identity = x
        out = self.relu(self.norm(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 7, stride=2, pad_mode="same", has_bias=True)
        self.max_pool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layers = nn.CellList([Block(4, 4), Block(4, 8, 2), Block(8, 8)])
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(8, 5)

    def construct(self, x):
        x = self.max_pool(ops.relu(self.conv1(x)))
        for layer in self.layers:
            x = layer(x)
        return self.fc(self.flatten(self.avg_pool(x)))


net = fill(ResNet(), scale=0.2)
for p in net.get_parameters():
    if p.name.startswith("conv1"):
        p.requires_grad = False
optimizer = nn.Momentum(net.trainable_params(), nn.cosine_decay_lr(0.001, 0.05, 6, 3, 2), 0.9, weight_decay=1e-3)
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
show("trained", [p.name for p in optimizer.parameters])


def forward(x, y):
    return loss_fn(net(x), y)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
net.set_train()
for step in range(4):
    loss, grads = grad_fn(Tensor(numbers(4, 3, 32, 32, seed=step)), Tensor([1, 0, 4, 2], ms.int32))
    optimizer(grads)
    show("loss", loss)
net.set_train(False)
show("logits", net(Tensor(numbers(2, 3, 32, 32, seed=9))))
show("moving", [float(p.asnumpy().sum()) for p in net.get_parameters() if "moving" in p.name])
show("initial", list(initializer("ones", [2, 2], ms.float16).init_data().asnumpy().sum(0)) == [2, 2])
