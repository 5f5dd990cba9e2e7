"""A graph convolution over edges: gather, scatter, degrees; semi-supervised loss with a mask."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class GCNConv(nn.Cell):
    def __init__(self, size, out):
        super().__init__()
        self.fc = nn.Dense(size, out, has_bias=False)
        self.bias = ms.Parameter(ops.zeros((out,), ms.float32), name="bias")

    def construct(self, x, source, target, norm):
        messages = ops.gather(self.fc(x), source, 0) * norm.expand_dims(1)
        shape = (x.shape[0], messages.shape[1])
        gathered = ops.tensor_scatter_add(ops.zeros(shape, ms.float32), target.expand_dims(1), messages)
        return gathered + self.bias


class GAT(nn.Cell):
    def __init__(self, size, out):
        super().__init__()
        self.fc, self.left, self.right = nn.Dense(size, out), nn.Dense(out, 1), nn.Dense(out, 1)

    def construct(self, x, source, target, nodes):
        h = self.fc(x)
        e = ops.leaky_relu(self.left(h)[source] + self.right(h)[target], 0.2).squeeze(1)
        top = ops.unsorted_segment_max(e, target, nodes)
        weights = ops.exp(e - top[target])
        total = ops.unsorted_segment_sum(weights, target, nodes)
        return ops.unsorted_segment_sum(h[source] * (weights / total[target]).expand_dims(1), target, nodes)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = GCNConv(5, 8), GAT(8, 6), GCNConv(6, 3)

    def construct(self, x, source, target, norm):
        h = ops.relu(self.first(x, source, target, norm))
        h = ops.elu(self.second(h, source, target, x.shape[0]))
        return self.third(h, source, target, norm)


random = np.random.RandomState(4)
nodes = 9
edges = random.randint(0, nodes, (20, 2))
edges = np.concatenate([edges, edges[:, ::-1], np.repeat(np.arange(nodes)[:, None], 2, 1)])
degree = np.bincount(edges[:, 1], minlength=nodes).astype(np.float32)
norm = Tensor((degree[edges[:, 0]] * degree[edges[:, 1]]) ** -0.5, ms.float32)
source, target = Tensor(edges[:, 0], ms.int32), Tensor(edges[:, 1], ms.int32)
x, y = Tensor(numbers(nodes, 5)), Tensor(random.randint(0, 3, nodes), ms.int32)
mask = Tensor([1, 1, 0, 1, 0, 1, 0, 0, 1], ms.float32)
net = fill(Net())
optimizer = nn.Adagrad(net.trainable_params(), learning_rate=0.1)


def loss_fn():
    loss = ops.cross_entropy(net(x, source, target, norm), y, reduction="none")
    return (loss * mask).sum() / mask.sum()


grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters)
for _ in range(5):
    loss, grads = grad_fn()
    optimizer(grads)
    show("loss", loss)
show("logits", net(x, source, target, norm))
totals(net)
