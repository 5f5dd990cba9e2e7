"""A mixture of experts with top-2 gates, a load loss, one-hot dispatch, einsum; sorting, topk, cumsum, masked selections."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class Expert(nn.Cell):
    def __init__(self, size):
        super().__init__()
        self.w1, self.w2 = nn.Dense(size, 2 * size), nn.Dense(2 * size, size)

    def construct(self, x):
        return self.w2(ops.gelu(self.w1(x)))


class MoE(nn.Cell):
    def __init__(self, size, experts, k=2):
        super().__init__()
        self.gate = nn.Dense(size, experts, has_bias=False)
        self.experts = nn.CellList([Expert(size) for _ in range(experts)])
        self.k = k

    def construct(self, x):
        probabilities = ops.softmax(self.gate(x), -1)
        top, chosen = ops.topk(probabilities, self.k, dim=-1)
        top = top / top.sum(-1, keepdims=True)
        out = ops.zeros_like(x)
        for number, expert in enumerate(self.experts):
            weight = (top * (chosen == number).astype(ms.float32)).sum(-1, keepdims=True)
            out = out + weight * expert(x)
        load = ops.one_hot(chosen[:, 0], probabilities.shape[1], Tensor(1.0), Tensor(0.0)).mean(0)
        return out, (load * probabilities.mean(0)).sum() * probabilities.shape[1]


net = fill(MoE(5, 4))
optimizer = nn.AdamWeightDecay(net.trainable_params(), nn.ExponentialDecayLR(0.02, 0.9, 2, True), weight_decay=0.01)


def loss_fn(x, y):
    out, load = net(x)
    return ops.mse_loss(out, y) + 0.1 * load, load


grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters, has_aux=True)
for step in range(4):
    (loss, load), grads = grad_fn(Tensor(numbers(6, 5, seed=step)), Tensor(numbers(6, 5, seed=20 + step)))
    optimizer(grads)
    show("loss", [float(loss.asnumpy()), float(load.asnumpy())])
x = Tensor(numbers(4, 6, seed=2))
values, order = ops.sort(x, axis=1, descending=True)
show("sort", values)
show("order", order)
show("cumsum", ops.cumsum(x, 0))
show("masked", ops.masked_select(x, x > 0.5))
show("nonzero", ops.nonzero(x > 1.0))
show("unique", ops.unique(Tensor([3, 1, 3, 2, 1], ms.int32))[0])
show("where", ops.where(x > 0, x, ops.full_like(x, -1.0)).sum(1))
show("tril", ops.tril(x).sum())
show("std", x.std(1))
show("norm", ops.norm(x, ord=2, dim=1))
show("pad", ops.pad(x, (1, 2), value=0.5)[0])
show("gather_nd", ops.gather_nd(x, Tensor([[0, 1], [3, 2]], ms.int32)))
show("select", x[Tensor([0, 2], ms.int32), 1:4:2])
show("meshgrid", [g.asnumpy().tolist() for g in ops.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5]), indexing="ij")])
show("einsum", np.round((x.T @ x).asnumpy()[0], 4))
totals(net)
