"""Networks that the tests of rewrite edit, and a helper that runs one in both modes."""
import numpy as np
import mindlite as ms
from mindlite import Tensor, nn, ops


def double(x, k=2):
    y = ops.abs(x) * k
    return y


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.dense(x))


class Chain(nn.Cell):
    """A chain of layers over one variable."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)
        self.relu = nn.ReLU()
        self.tanh = nn.Tanh()

    def construct(self, x):
        x = self.dense(x)
        x = self.relu(x)
        x = self.tanh(x)
        return x


class Everything(nn.Cell):
    """Calls, branches, loops, containers, methods, functions."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)
        self.block = Block()
        self.seq = nn.SequentialCell(nn.Dense(4, 4), Block(), nn.Tanh())
        self.blocks = nn.CellList([nn.Tanh(), Block()])
        self.k = 3

    def twice(self, x):
        """Two results."""
        return self.dense(x) + 1, x

    @staticmethod
    def minus(x):
        return -x

    def construct(self, x, y=None, *, scale=2.0):
        """The statements."""
        a, b = self.twice(x)
        c = double(self.block(a), k=self.k)
        if self.k > 2 and x.shape[0] == 2:
            c = self.seq(c + b)
        elif y is not None:
            c = y
        else:
            c = -c
        for block in self.blocks:
            c = block(c)
        total = 0
        while total < 3:
            total += 1
        values = [i * total for i in range(3)]
        return self.minus(c) * scale, values[1], (a, b)


def inputs():
    return Tensor(np.linspace(-1, 1, 8).reshape(2, 4).astype(np.float32))


def run(net, *args, **kwargs):
    """What a network gives, as nested lists; the same in both modes."""
    outs = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            outs.append(_plain(net(*args, **kwargs)))
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert _close(outs[0], outs[1])
    return outs[0]


def _plain(value):
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else \
        value.asnumpy().tolist() if isinstance(value, Tensor) else value


def _close(left, right):
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(_close, left, right))
    return abs(left - right) <= 1e-5 * (1 + abs(left))
