"""Layers and losses whose rows and lengths are open: one graph serves four sizes, forward and backward, as eager mode does."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops

SIZES = ((2, 9), (5, 12), (3, 17), (4, 21))                  # rows, length or side


def floats(*shape):
    return Tensor(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


def labels(classes, *shape):
    return Tensor(np.random.default_rng(sum(shape)).integers(0, classes, shape).astype(np.int32))


def full(n, value):
    return Tensor(np.full(n, value, np.int32))


IMAGE, SIGNAL = (lambda n, t: (floats(n, 4, t, t),)), (lambda n, t: (floats(n, 4, t),))
LAYERS = {
    "attention": (lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda n, t: (floats(n, t, 8),) * 3),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), lambda n, t: (floats(n, t, 8),)),
    "decoder": (lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
                lambda n, t: (floats(n, t, 8), floats(n, t + 3, 8))),
    "embedding": (lambda: nn.Embedding(30, 8), lambda n, t: (labels(30, n, t),)),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3), SIGNAL), "Conv2d": (lambda: nn.Conv2d(4, 6, 3), IMAGE),
    "Conv2d, valid, stride 2": (lambda: nn.Conv2d(4, 6, 3, stride=2, pad_mode="valid"), IMAGE),
    "Conv2dTranspose": (lambda: nn.Conv2dTranspose(4, 6, 3, stride=2), IMAGE),
    "Conv1dTranspose": (lambda: nn.Conv1dTranspose(4, 6, 3, stride=2), SIGNAL),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, 2), IMAGE), "MaxPool2d, same": (lambda: nn.MaxPool2d(3, 2, pad_mode="same"), IMAGE),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, 2), IMAGE), "AvgPool1d, same": (lambda: nn.AvgPool1d(3, 2, pad_mode="same"), SIGNAL),
    "LPPool2d": (lambda: nn.LPPool2d(2.0, 2), IMAGE), "mean of an image": (lambda: nn.AdaptiveAvgPool2d(1), IMAGE),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4).set_train(), IMAGE), "GroupNorm": (lambda: nn.GroupNorm(2, 4), IMAGE),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4), IMAGE), "LRN": (lambda: nn.LRN(), IMAGE),
    "LayerNorm": (lambda: nn.LayerNorm((8,)), lambda n, t: (floats(n, t, 8),)),
    "Flatten": (lambda: nn.Flatten(), lambda n, t: (floats(n, t, 3),)), "PixelShuffle": (lambda: nn.PixelShuffle(2), IMAGE),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(2), IMAGE),
    "Pad": (lambda: nn.Pad(((0, 0), (1, 2))), lambda n, t: (floats(n, t),)),
    "BiDense": (lambda: nn.BiDense(4, 5, 6), lambda n, t: (floats(n, 4), floats(n, 5))),
    "cross entropy": (lambda: nn.CrossEntropyLoss(), lambda n, t: (floats(n, 7, t), labels(7, n, t))),
    "CTC": (lambda: nn.Identity(), lambda n, t: (floats(t, n, 7), labels(6, n, 4) + 1, full(n, t), full(n, 4))),
    "triplets": (lambda: nn.TripletMarginLoss(), lambda n, t: (floats(n, 7),) * 2 + (floats(n, 7) + 1,)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 8), lambda n, t: (floats(n, 4), (floats(n, 8), floats(n, 8))))}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LAYERS)
def test_one_graph_serves_all_sizes_forward_and_backward(name):
    make, given = LAYERS[name]
    net = make()
    weights = [p for p in net.get_parameters() if p.requires_grad]

    def loss(*args):
        y = ops.ctc_loss(ops.log_softmax(args[0], -1), *args[1:])[0] if name == "CTC" else net(*args)
        y = y[0] if isinstance(y, tuple) else y
        return (y * y).sum()
    position = None if name == "embedding" else 0
    gradients = ms.value_and_grad(loss, position, weights) if weights else ms.value_and_grad(loss, position)
    jitted = ms.jit(gradients, dynamic=1, fullgraph=True)
    for rows, length in SIZES:
        args = given(rows, length)
        for a, b in zip(_flat(jitted(*args)), _flat(gradients(*args)), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)
    assert len(jitted.compiled.variants) == 1 and not jitted.compiled.history, jitted.explain()


def _flat(value):
    return [x for v in value for x in _flat(v)] if isinstance(value, (tuple, list)) else [value.asnumpy()]
