"""A program: training steps of four small networks, and what each asks of the system once it is warm, as JSON.

It runs in a process of its own, because the function that counts must stand before malloc before any kernel is loaded.
"""
import json
import pathlib
import sys

import numpy as np

import mindlite as ms
from mindlite import Tensor, nn, ops

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
from steady import count_allocations, counts                                                            # noqa: E402


def normal(*shape):
    return Tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32))


class Attention(nn.Cell):
    """A block of a transformer: 4 heads of 16, and a layer of twice the width."""

    def __init__(self):
        super().__init__()
        self.project, self.merge = nn.Dense(64, 192), nn.Dense(64, 64)
        self.wide, self.narrow = nn.Dense(64, 128), nn.Dense(128, 64)
        self.first, self.second = nn.LayerNorm((64,)), nn.LayerNorm((64,))

    def construct(self, x):
        n, words, _ = x.shape
        q, k, v = ops.split(self.project(self.first(x)).reshape((n, words, 12, 16)).transpose(0, 2, 1, 3), 4, 1)
        weights = ops.softmax(ops.matmul(q, k.transpose(0, 1, 3, 2)) / 4.0, -1)
        x = x + self.merge(ops.matmul(weights, v).transpose(0, 2, 1, 3).reshape((n, words, 64)))
        return x + self.narrow(ops.gelu(self.wide(self.second(x))))


class Recurrent(nn.Cell):
    """An LSTM as a loop over the rows of x."""

    def __init__(self):
        super().__init__()
        self.inputs, self.states = nn.Dense(24, 128), nn.Dense(32, 128)

    def construct(self, x):
        h = c = ops.zeros((x.shape[1], 32), ms.float32)
        for t in range(x.shape[0]):
            i, f, g, o = ops.split(self.inputs(x[t]) + self.states(h), 32, 1)
            c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
            h = ops.sigmoid(o) * ops.tanh(c)
        return h


class Residual(nn.Cell):
    """A block of a ResNet with 16 channels, and a strided one with a shortcut."""

    def __init__(self):
        super().__init__()
        self.a, self.b = (nn.Conv2d(16, 16, 3, pad_mode="pad", padding=1) for _ in range(2))
        self.c, self.short = nn.Conv2d(16, 24, 3, 2, pad_mode="pad", padding=1), nn.Conv2d(16, 24, 1, 2)
        self.norms = nn.CellList([nn.BatchNorm2d(16), nn.BatchNorm2d(16), nn.BatchNorm2d(24)])

    def construct(self, x):
        x = ops.relu(self.norms[1](self.b(ops.relu(self.norms[0](self.a(x))))) + x)
        return ops.relu(self.norms[2](self.c(x)) + self.short(x))


def lenet():
    return nn.SequentialCell(nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
                             nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
                             nn.Dense(256, 84), nn.ReLU(), nn.Dense(84, 10))


def step_of(net, x):
    """A compiled step with Adam."""
    optimiser = nn.Adam(net.trainable_params(), 1e-3)
    gradients = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimiser.parameters)

    @ms.jit
    def step(x):
        loss, grads = gradients(x)
        optimiser(grads)
        return loss
    return lambda: step(x)


STEPS = {"LeNet": (lenet, (32, 1, 28, 28)), "transformer": (Attention, (8, 48, 64)), "LSTM": (Recurrent, (12, 16, 24)),
         "ResNet": (Residual, (16, 16, 24, 24))}


def main():
    """Print {network: what a warm step asks for}."""
    counted, found = count_allocations(), {}
    for name, (make, shape) in STEPS.items():
        run = step_of(make(), normal(*shape))
        for _ in range(40):
            run()
        found[name] = counts(run, 40, counted)
    print(json.dumps({"allocations in all": counted(), "steps": found}))


if __name__ == "__main__":
    main()
