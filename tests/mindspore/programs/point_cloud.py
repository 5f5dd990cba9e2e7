"""Points in space (PointNet): a network that turns them, shared layers, the largest over all points, neighbours by distance,
farthest points chosen in a loop, a penalty that keeps a matrix orthogonal."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
import mindspore.ops.functional as F
from mindspore import Tensor, jit, nn, ops


class Turn(nn.Cell):
    def __init__(self, size):
        super(Turn, self).__init__()
        self.size = size
        self.conv = nn.Conv1d(size, 8, 1, has_bias=True)
        self.fc = nn.Dense(8, size * size)
        self.relu = nn.ReLU()
        self.eye = Tensor(np.eye(size).reshape(1, -1), ms.float32)

    def construct(self, x):
        x = self.relu(self.conv(x))
        x = ops.ReduceMax(keep_dims=False)(x, 2)
        x = self.fc(x) + self.eye
        return x.view(-1, self.size, self.size)


class PointNet(nn.Cell):
    def __init__(self, classes=3):
        super(PointNet, self).__init__()
        self.turn = Turn(3)
        self.conv1 = nn.Conv1d(3, 8, 1)
        self.bn1 = nn.BatchNorm1d(8, momentum=0.8)
        self.conv2 = nn.Conv1d(8, 12, 1)
        self.norm = nn.GroupNorm(3, 12)
        self.drop = nn.Dropout(p=0.0)
        self.fc = nn.Dense(12, classes)

    def construct(self, points):
        turn = self.turn(points)
        x = ops.bmm(points.swapaxes(2, 1), turn).swapaxes(2, 1)
        x = F.relu(self.bn1(self.conv1(x)))
        x = ops.expand_dims(self.conv2(x), 3)
        x = self.norm(x).squeeze(3)
        x = ops.max(x, 2)[0]
        return ops.log_softmax(self.fc(self.drop(x)), -1), turn


def orthogonal(turn):
    rest = ops.matmul(turn, turn.transpose(0, 2, 1)) - ops.eye(3, 3, ms.float32)
    return ops.norm(rest, dim=(1, 2)).mean()


@jit
def farthest(points, count):
    """Indices of points, each the farthest from those before it."""
    chosen = ops.zeros((count,), ms.int32)
    distance = ops.full((points.shape[0],), 1e10, dtype=ms.float32)
    last = ops.zeros((), ms.int32)
    k = 0
    while k < count:
        chosen[k] = last
        new = ((points - points[last]) ** 2).sum(-1)
        distance = ops.minimum(distance, new)
        last = ops.argmax(distance).astype(ms.int32)
        k += 1
    return chosen


points = numbers(6, 3, 20, seed=11)
labels = Tensor(np.array([0, 1, 2, 0, 1, 2]), ms.int32)
net = fill(PointNet(), seed=12)
net.set_train()
optimizer = nn.AdaMax(net.trainable_params(), learning_rate=nn.ExponentialDecayLR(0.02, 0.9, 2))
loss_fn = nn.NLLLoss()


def forward(x, y):
    scores, turn = net(x)
    return loss_fn(scores, y) + 0.01 * orthogonal(turn), scores


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
for _ in range(5):
    (loss, scores), grads = grad_fn(Tensor(points), labels)
    optimizer(ops.clip_by_global_norm(grads, 1.0))
    show("loss", loss)
show("scores", scores)
cloud = Tensor(points[0].T)
show("farthest", farthest(cloud, 5))
square = (cloud ** 2).sum(-1)
apart = square.expand_dims(1) + square.expand_dims(0) - 2 * ops.matmul(cloud, cloud.T)
near, places = ops.topk(-apart, 4, sorted=True)
show("near", -near[:5])
groups = ops.gather(cloud, places, 0)
show("groups", (groups - cloud.expand_dims(1)).abs().sum((1, 2))[:5])
net.set_train(False)
show("eval", net(Tensor(points[:2]))[0])
totals(net)
