"""Edges as sparse matrices: COO and CSR tensors, a normalised adjacency, two layers that gather and scatter over it, attention
over edges by segments, walks that are counted, link scores; the same numbers by a dense matrix."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import COOTensor, CSRTensor, Tensor, nn, ops

NODES = 9
EDGES = np.array([[a, b] for a in range(NODES) for b in range(NODES) if (a * 5 + b * 3) % 7 < 2 or a == b], np.int32)
degree = np.bincount(EDGES[:, 0], minlength=NODES)
entering = np.maximum(np.bincount(EDGES[:, 1], minlength=NODES), 1)
values = (1 / np.sqrt(degree[EDGES[:, 0]] * entering[EDGES[:, 1]])).astype(np.float32)
pointers = Tensor(np.append(0, np.cumsum(degree)).astype(np.int32))


class Convolution(nn.Cell):
    def __init__(self, into, out):
        super().__init__()
        self.fc = nn.Dense(into, out, has_bias=False)

    def construct(self, rows, columns, values, x):
        parts = values.expand_dims(1) * ops.gather(self.fc(x), columns, 0)
        return ops.tensor_scatter_add(ops.zeros((NODES, parts.shape[1]), parts.dtype), rows.expand_dims(1), parts)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.one, self.two = Convolution(4, 6), Convolution(6, 3)

    def construct(self, rows, columns, values, x):
        return self.two(rows, columns, values, ops.elu(self.one(rows, columns, values, x)))


class EdgeAttention(nn.Cell):
    def __init__(self, into, out):
        super().__init__()
        self.fc = nn.Dense(into, out)
        self.left, self.right = nn.Dense(out, 1, has_bias=False), nn.Dense(out, 1, has_bias=False)
        self.act = nn.LeakyReLU(0.2)

    def construct(self, x, source, target):
        h = self.fc(x)
        score = self.act(ops.gather(self.left(h), source, 0) + ops.gather(self.right(h), target, 0)).squeeze(-1)
        score = ops.exp(score - score.max())
        total = ops.unsorted_segment_sum(score, target, NODES)
        share = score / ops.gather(total, target, 0)
        return ops.unsorted_segment_sum(share.expand_dims(1) * ops.gather(h, source, 0), target, NODES), share


coo = COOTensor(Tensor(EDGES), Tensor(values), (NODES, NODES))
show("shape", [list(coo.shape), coo.values.size, str(coo.dtype)])
dense = coo.to_dense()
show("dense", dense.sum(axis=1))
csr = CSRTensor(pointers, Tensor(EDGES[:, 1]), Tensor(values), (NODES, NODES))
show("csr", [list(csr.shape), csr.astype(ms.float64).dtype == ms.float64])
show("pointers", csr.indptr)
columns, rows = Tensor(EDGES[:, 1]), Tensor(EDGES[:, 0])
x = Tensor(numbers(NODES, 4, seed=1))
net = fill(Network(), seed=2, scale=0.5)
labels = Tensor(np.arange(NODES) % 3, ms.int32)
mask = Tensor((np.arange(NODES) < 6).astype(np.float32))


def loss_fn(rows, columns, values, x):
    each = ops.cross_entropy(net(rows, columns, values, x), labels, reduction="none")
    return (each * mask).sum() / mask.sum()


optimizer = nn.ProximalAdagrad(net.trainable_params(), accum=0.1, learning_rate=0.1)
grad_fn = ms.value_and_grad(loss_fn, 3, optimizer.parameters)
for _ in range(4):
    loss, (dx, grads) = grad_fn(rows, columns, Tensor(values), x)
    optimizer(grads)
    show("loss", loss)
show("by x", dx.sum(axis=0))
show("same", bool(np.allclose(net(rows, columns, Tensor(values), x).asnumpy(),
                              ops.matmul(dense, net.two.fc(ops.elu(ops.matmul(dense, net.one.fc(x))))).asnumpy(), atol=1e-5)))
attention = fill(EdgeAttention(4, 5), seed=8)
out, share = attention(x, Tensor(EDGES[:, 0]), Tensor(EDGES[:, 1]))
show("out", out[:3])
show("shares", ops.unsorted_segment_sum(share, Tensor(EDGES[:, 1]), NODES))
show("weights", ms.grad(lambda a: (attention(a, Tensor(EDGES[:, 0]), Tensor(EDGES[:, 1]))[0] ** 2).sum())(x)[0])
walk = ops.matrix_power((dense > 0).astype(ms.float32), 3)
show("walks", walk[0])
unique, inverse = ops.unique(Tensor(EDGES[:, 1] % 4))
show("unique", unique)
show("links", ops.sigmoid(ops.matmul(out, out.T)).diagonal())
totals(net)
