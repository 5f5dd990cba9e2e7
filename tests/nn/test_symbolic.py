"""Every layer runs on graph nodes whose batch size is not known, and the graph computes what eager mode computes."""
import numpy as np
import pytest

from mindlite import nn
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol, evaluate
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import building
from mindlite.mindir.control import make_tuple
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph

RNG = np.random.default_rng(19)


def typed(function, samples, symbol):
    """`function` as a typed graph of the samples, whose first size is `symbol`; and the number of its results."""
    graph = FuncGraph("f")
    nodes = [graph.add_parameter(f"x{i}", AbstractTensor(dt.dtype(x.dtype), (symbol.dim,) + x.shape[1:]))
             for i, x in enumerate(samples)]
    with building(graph):
        out = function(*nodes)
    graph.set_outputs(list(out) if isinstance(out, tuple) else [out], make_tuple)
    return graph


def image(n):
    return RNG.normal(size=(n, 4, 6, 6)).astype(np.float32)


def rows(n):
    return RNG.normal(size=(n, 4)).astype(np.float32)


def sequence(n):
    return RNG.normal(size=(n, 3, 4)).astype(np.float32)


def labels(n):
    return RNG.integers(0, 4, (n,)).astype(np.int32)


@pytest.mark.parametrize("layer, makers", [
    (nn.Dense(4, 3, activation="tanh"), [rows]), (nn.Dense(4, 3), [sequence]), (nn.Flatten(), [image]),
    (nn.Conv2d(4, 2, 3, stride=2, has_bias=True), [image]), (nn.Conv1d(3, 2, 3), [sequence]),
    (nn.Conv2dTranspose(4, 2, 3, stride=2), [image]), (nn.MaxPool2d(2, 2), [image]), (nn.AvgPool2d(3, 2, "same"), [image]),
    (nn.AdaptiveAvgPool2d(2), [image]), (nn.BatchNorm2d(4), [image]), (nn.GroupNorm(2, 4), [image]),
    (nn.InstanceNorm2d(4), [image]), (nn.LayerNorm((4,)), [sequence]), (nn.Embedding(4, 3), [labels]),
    (nn.Embedding(4, 3, use_one_hot=True), [labels]), (nn.ZeroPad2d(1), [image]), (nn.GLU(), [rows]),
    (nn.LSTMCell(4, 2), [rows, None]), (nn.GRU(4, 2, batch_first=True, bidirectional=True), [sequence]),
    (nn.MultiheadAttention(4, 2, batch_first=True), [sequence] * 3),
    (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), [sequence]),
    (nn.CrossEntropyLoss(), [rows, labels]), (nn.MSELoss(), [rows, rows]), (nn.L1Loss("none"), [rows, rows]),
    (nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), [rows, labels]),
], ids=lambda value: value.cls_name if isinstance(value, nn.Cell) else "")
def test_a_layer_runs_on_nodes_with_an_open_batch_size(layer, makers):
    symbol = Symbol("N")
    function = layer
    if None in makers:                                           # a state pair for LSTMCell
        makers = [rows, lambda n: rows(n)[:, :2].copy(), lambda n: rows(n)[:, :2].copy()]
        function = lambda x, h, c: layer(x, (h, c))  # noqa: E731
    graph = typed(function, [make(2) for make in makers], symbol)
    for size in (1, 3):
        args = [make(size) for make in makers]
        eager = function(*map(Tensor, args))
        eager = eager if isinstance(eager, tuple) else (eager,)
        shapes = [tuple(evaluate(s, {symbol: size}) for s in node.shape) for node in graph.outputs]
        assert shapes == [x.shape for x in flat(eager)]
        for seen, expected in zip(run(graph, *args), flat(eager)):
            assert np.allclose(seen, expected.asnumpy(), atol=1e-5)


def flat(values):
    return [x for value in values for x in (flat(value) if isinstance(value, tuple) else [value])]
