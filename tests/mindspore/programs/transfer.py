"""Transfer learning: a checkpoint without its head, frozen layers, groups with their own rates and decay, moments that stay."""
import os
import tempfile

from fixed import fill, numbers, show

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn


class Network(nn.Cell):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d((2, 2)),
                                      nn.Flatten())
        self.head = nn.Dense(16, classes)

    def construct(self, x):
        return self.head(self.body(x))


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "base.ckpt")
    ms.save_checkpoint(fill(Network(10)), path)
    net = fill(Network(3))
    missing, _ = ms.load_param_into_net(net, ms.load_checkpoint(path, filter_prefix="head"))
show("missing", sorted(missing))
for parameter in net.body.get_parameters():
    parameter.requires_grad = False
weights = [p for p in net.trainable_params() if "weight" in p.name]
others = [p for p in net.trainable_params() if "weight" not in p.name]
optimizer = nn.Adam([{"params": weights, "weight_decay": 0.01, "lr": 0.02}, {"params": others},
                     {"order_params": net.trainable_params()}], 0.01)
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
step.set_train()
net.body.set_train(False)
images, labels = Tensor(numbers(6, 3, 8, 8)), Tensor(np.array([0, 2, 1, 1, 0, 2], np.int32))
for _ in range(4):
    show("loss", step(images, labels))
show("trained", [p.name for p in net.trainable_params()])
show("moments", net.body[1].moving_mean)
show("frozen", net.body[0].weight.sum())
