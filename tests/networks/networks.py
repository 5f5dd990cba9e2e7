"""The test networks as Cells, their data, and one table of them: what test files here walk."""
from dataclasses import dataclass

import numpy as np
import reference

from mindlite import nn, ops
from mindlite.common import dtype as dt
from mindlite.common.tensor import Tensor


class MLP(nn.Cell):
    """784 - 512 - 512 - 10."""

    def __init__(self, dtype):
        super().__init__()
        self.first, self.second = nn.Dense(784, 512, dtype=dtype), nn.Dense(512, 512, dtype=dtype)
        self.third, self.relu = nn.Dense(512, 10, dtype=dtype), nn.ReLU()

    def construct(self, x):
        return self.third(self.relu(self.second(self.relu(self.first(x)))))


class LeNet(nn.Cell):
    """LeNet-5 for pictures [N, 1, 32, 32]."""

    def __init__(self, dtype):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True, dtype=dtype)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True, dtype=dtype)
        self.fc1, self.fc2 = nn.Dense(400, 120, dtype=dtype), nn.Dense(120, 84, dtype=dtype)
        self.fc3 = nn.Dense(84, 10, dtype=dtype)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


class BasicBlock(nn.Cell):
    """Two convolutions of 3 x 3 around a short cut, which is a convolution of 1 x 1 where the size changes."""

    def __init__(self, inputs, outputs, stride, dtype):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, pad_mode="pad", padding=1, dtype=dtype)
        self.norm1 = nn.BatchNorm2d(outputs, dtype=dtype)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, pad_mode="pad", padding=1, dtype=dtype)
        self.norm2, self.relu, self.shrinks = nn.BatchNorm2d(outputs, dtype=dtype), nn.ReLU(), stride != 1
        if self.shrinks:
            self.conv3 = nn.Conv2d(inputs, outputs, 1, stride, pad_mode="valid", dtype=dtype)
            self.norm3 = nn.BatchNorm2d(outputs, dtype=dtype)

    def construct(self, x):
        inner = self.relu(self.norm1(self.conv1(x)))
        inner = self.norm2(self.conv2(inner))
        if self.shrinks:
            x = self.norm3(self.conv3(x))
        return self.relu(x + inner)


class ResNet18(nn.Cell):
    """ResNet-18 for pictures [N, 3, 32, 32]; `width` channels in the first stage (64 in the paper)."""

    def __init__(self, dtype, width=8):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, 1, pad_mode="pad", padding=1, dtype=dtype)
        self.norm, self.relu = nn.BatchNorm2d(width, dtype=dtype), nn.ReLU()
        blocks, channels = [], width
        for stage in range(4):
            for block in range(2):
                outputs = width << stage
                blocks.append(BasicBlock(channels, outputs, 2 if stage and not block else 1, dtype))
                channels = outputs
        self.blocks, self.fc = nn.SequentialCell(blocks), nn.Dense(channels, 10, dtype=dtype)

    def construct(self, x):
        x = self.blocks(self.relu(self.norm(self.conv(x))))
        return self.fc(ops.mean(x, (2, 3)))


class Transformer(nn.Cell):
    """A classifier of sequences [T, N, 16]: two encoder layers, the mean over time, a dense layer."""

    def __init__(self, dtype):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, dropout=0.0, dtype=dtype)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Dense(16, 10, dtype=dtype)

    def construct(self, x):
        return self.head(ops.mean(self.encoder(x), 0))


class LSTM(nn.Cell):
    """A classifier of sequences [N, 20, 8]: an LSTM written as a Python loop over time, its last state classified."""

    def __init__(self, dtype):
        super().__init__()
        self.gates = nn.Dense(8, 4 * 16, dtype=dtype)
        self.hidden = nn.Dense(16, 4 * 16, has_bias=False, dtype=dtype)
        self.head, self.dtype = nn.Dense(16, 10, dtype=dtype), dtype

    def construct(self, x):
        h = c = ops.zeros((x.shape[0], 16), self.dtype)
        for t in range(20):
            i, f, g, o = ops.chunk(self.gates(x[:, t]) + self.hidden(h), 4, -1)
            c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
            h = ops.sigmoid(o) * ops.tanh(c)
        return self.head(h)


@dataclass(frozen=True)
class Case:
    """A network: the class of its Cell, the shape of x, the size of a batch and the function in reference.py."""
    name: str
    cell: object
    shape: tuple
    batch: int
    reference: object

    def make(self, dtype):
        """(network in training, its parameters, x, labels), the same for every call: the network's dtype is `dtype`."""
        rng = np.random.default_rng(20)
        net = self.cell(dtype).set_train()
        for parameter in net.trainable_params():
            shape = parameter.shape
            scale = 1 / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 else 0.1
            offset = 1.0 if parameter.name.endswith("gamma") else 0.0
            parameter.array = np.ascontiguousarray(offset + rng.normal(size=shape) * scale, dtype.numpy)
        x = Tensor(rng.normal(size=self.shape).astype(dtype.numpy))
        labels = Tensor(rng.integers(0, 10, self.batch).astype(np.int32))
        return net, tuple(net.trainable_params()), x, labels

    def __str__(self):
        return self.name


CASES = (
    Case("mlp", MLP, (4, 784), 4, reference.mlp),
    Case("lenet", LeNet, (3, 1, 32, 32), 3, reference.lenet),
    Case("resnet18", ResNet18, (2, 3, 32, 32), 2, reference.resnet),
    Case("transformer", Transformer, (6, 3, 16), 3, reference.transformer),
    Case("lstm", LSTM, (3, 20, 8), 3, reference.lstm),
)
FLOATS = (dt.float32, dt.float64)
