"""Masked language modelling: embeddings, attention written out, gathered positions, a schedule with warm-up, groups."""
import math

import numpy as np
from fixed import fill, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import TruncatedNormal, initializer
from mindspore.nn import PolynomialDecayLR, WarmUpLR
from mindspore.nn.learning_rate_schedule import LearningRateSchedule


class Schedule(LearningRateSchedule):
    def __init__(self, rate, warmup, total):
        super().__init__()
        self.warmup_lr, self.decay_lr = WarmUpLR(rate, warmup), PolynomialDecayLR(rate, 1e-4, total, 1.0)
        self.warmup = Tensor([warmup], ms.float32)
        self.one = Tensor([1.0], ms.float32)

    def construct(self, global_step):
        is_warmup = ops.cast(ops.greater(self.warmup, global_step), ms.float32)
        return (self.one - is_warmup) * self.decay_lr(global_step) + is_warmup * self.warmup_lr(global_step)


class SelfAttention(nn.Cell):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.head_size = heads, size // heads
        self.query, self.key, self.value = (nn.Dense(size, size, TruncatedNormal(0.02)) for _ in range(3))
        self.dropout = nn.Dropout(p=0.1)

    def split(self, x):
        shape = x.shape[:-1] + (self.heads, self.head_size)
        return x.view(*shape).permute(0, 2, 1, 3)

    def construct(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = ops.matmul(q, k.swapaxes(-1, -2)) / math.sqrt(self.head_size) + mask
        out = ops.matmul(self.dropout(ops.softmax(scores, -1)), v).permute(0, 2, 1, 3)
        return out.view(*(out.shape[:-2] + (self.heads * self.head_size,)))


class Layer(nn.Cell):
    def __init__(self, size, heads):
        super().__init__()
        self.attention, self.output = SelfAttention(size, heads), nn.Dense(size, size)
        self.norm1, self.norm2 = nn.LayerNorm((size,), epsilon=1e-12), nn.LayerNorm([size], epsilon=1e-12)
        self.up, self.down = nn.Dense(size, 2 * size, activation="gelu"), nn.Dense(2 * size, size)

    def construct(self, x, mask):
        x = self.norm1(x + self.output(self.attention(x, mask)))
        return self.norm2(x + self.down(self.up(x)))


class Bert(nn.Cell):
    def __init__(self, words, size, heads, layers):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, size), nn.Embedding(16, size), nn.Embedding(2, size)
        self.norm = nn.LayerNorm((size,))
        self.layers = nn.CellList([Layer(size, heads) for _ in range(layers)])
        self.bias = Parameter(initializer("zeros", words, ms.float32), "bias")

    def construct(self, ids, kinds, mask, positions):
        at = ops.broadcast_to(ops.arange(ids.shape[1]).expand_dims(0), ids.shape)
        x = self.norm(self.words(ids) + self.places(at) + self.kinds(kinds))
        mask = (1.0 - mask[:, None, None, :]) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        chosen = ops.gather_elements(x, 1, positions.expand_dims(-1).broadcast_to(positions.shape + (x.shape[-1],)))
        return ops.matmul(chosen, self.words.embedding_table.T) + self.bias


net = fill(Bert(20, 8, 2, 2), scale=0.15)
net.set_train(False)
decay = [p for p in net.trainable_params() if "norm" not in p.name and "bias" not in p.name]
other = [p for p in net.trainable_params() if "norm" in p.name or "bias" in p.name]
optimizer = nn.Momentum([{"params": decay, "weight_decay": 0.01}, {"params": other, "weight_decay": 0.0},
                         {"order_params": net.trainable_params()}], Schedule(0.05, 2, 10), 0.9)


def forward(ids, kinds, mask, positions, labels, weights):
    logits = net(ids, kinds, mask, positions)
    loss = ops.cross_entropy(logits.view(-1, 20), labels.view(-1), reduction="none")
    return (loss * weights.view(-1)).sum() / (weights.sum() + 1e-5)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
random = np.random.RandomState(3)
for step in range(4):
    ids = Tensor(random.randint(0, 20, (3, 7)), ms.int32)
    mask = Tensor(np.arange(7)[None] < np.array([[7], [5], [6]]), ms.float32)
    positions = Tensor(random.randint(0, 5, (3, 2)), ms.int32)
    loss, grads = grad_fn(ids, ops.zeros_like(ids), mask, positions, Tensor(random.randint(0, 20, (3, 2)), ms.int32),
                          Tensor([[1, 1], [1, 0], [1, 1]], ms.float32))
    grads = ops.clip_by_global_norm(grads, 1.0)
    optimizer(grads)
    show("loss", loss)
totals(net)
