"""Attention of the library: MultiheadAttention with masks, encoder layers, positions, label smoothing by hand, warm-up."""
import math

import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.nn.learning_rate_schedule import LearningRateSchedule


class WarmUp(LearningRateSchedule):
    def __init__(self, size, steps):
        super().__init__()
        self.factor, self.steps = size ** -0.5, steps

    def construct(self, global_step):
        step = ops.cast(global_step, ms.float32) + 1.0
        return self.factor * ops.minimum(step ** -0.5, step * self.steps ** -1.5)


class Positions(nn.Cell):
    def __init__(self, size, length=20):
        super().__init__()
        at = np.arange(length)[:, None] * np.exp(np.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = np.zeros((1, length, size), np.float32)
        table[0, :, 0::2], table[0, :, 1::2] = np.sin(at), np.cos(at)
        self.table = Parameter(Tensor(table), name="table", requires_grad=False)

    def construct(self, x):
        return x + self.table[:, :x.shape[1]]


class Classifier(nn.Cell):
    def __init__(self, words, size):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.positions = Positions(size)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(size, 2, 16, dropout=0.0, batch_first=True), 2)
        self.attention = nn.MultiheadAttention(size, 2, batch_first=True)
        self.out = nn.Dense(size, words)

    def construct(self, x, padding):
        h = self.positions(self.embedding(x))
        h = self.layers(h, src_key_padding_mask=padding)
        mixed, weights = self.attention(h, h, h, key_padding_mask=padding)
        return self.out(h + mixed), weights


net = fill(Classifier(12, 8))
net.positions.table.set_data(Tensor(numbers(1, 20, 8, seed=4)))
optimizer = nn.Momentum(net.trainable_params(), WarmUp(8, 4), 0.9)


def loss_fn(x, padding, y):
    logits, weights = net(x, padding)
    logs = ops.log_softmax(logits, -1)
    smooth = ops.one_hot(y, 12, Tensor(0.9, ms.float32), Tensor(0.1 / 11, ms.float32))
    real = 1.0 - padding.astype(ms.float32)
    return -((smooth * logs).sum(-1) * real).sum() / real.sum(), weights


grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters, has_aux=True)
random = np.random.RandomState(1)
for step in range(4):
    length = 5 + step % 2
    x, y = (Tensor(random.randint(0, 12, (3, length)), ms.int32) for _ in range(2))
    padding = Tensor(np.arange(length)[None] >= np.array([[length], [length - 2], [3]]))
    (loss, weights), grads = grad_fn(x, padding, y)
    optimizer(grads)
    show("loss", loss)
show("weights", weights)
totals(net)
