"""nn.RNN, GRU and LSTM over lengths that are open: one graph for all of them, forward and with gradients."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn

RNG = np.random.default_rng(19)
LAYERS = {
    "RNN": (nn.RNN, {"nonlinearity": "relu", "batch_first": True}), "GRU": (nn.GRU, {}), "LSTM": (nn.LSTM, {}),
    "LSTM of two layers in both directions": (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True})}


def network(name):
    """(a Cell, a function of a sequence and its lengths, or None, that gives a number)"""
    kind, settings = LAYERS[name]
    net = kind(4, 8, **settings)

    def run(x, lengths=None):
        y, last = net(x, None, lengths)
        return (y ** 2).sum() + sum([(part ** 3).sum() for part in (last if isinstance(last, tuple) else (last,))])
    return net, run


def sequences(name, with_lengths):
    for count, length in ((2, 3), (5, 7), (3, 9), (6, 11), (1, 1), (2, 40)):
        shape = (count, length, 4) if LAYERS[name][1].get("batch_first") else (length, count, 4)
        given = [Tensor(RNG.standard_normal(shape).astype(np.float32))]
        yield given + [Tensor(RNG.integers(1, length + 1, count).astype(np.int32))] * with_lengths


@pytest.mark.parametrize("name, with_lengths", [("RNN", True), ("GRU", False), ("LSTM", True),
                                                ("LSTM of two layers in both directions", False)])
def test_one_graph_serves_all_lengths_and_has_the_gradients_of_eager_mode(name, with_lengths):
    net, run = network(name)
    weights = net.trainable_params()
    jitted = ms.jit(ms.value_and_grad(run, 0, weights), dynamic=1, fullgraph=True)
    eager = ms.value_and_grad(run, 0, weights)
    for given in sequences(name, with_lengths):
        (value, (slope, slopes)), (wanted, (other, others)) = jitted(*given), eager(*given)
        np.testing.assert_allclose(value.asnumpy(), wanted.asnumpy(), rtol=1e-4)
        for a, b in zip((slope, *slopes), (other, *others), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-3)
    assert len(jitted.compiled.variants) == 1 and not jitted.compiled.history


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_sequences_without_steps_have_no_outputs_and_the_first_state(name):
    net, _ = network(name)
    jitted, static = ms.jit(lambda x: net(x), dynamic=1, fullgraph=True), ms.jit(lambda x: net(x), fullgraph=True)
    for length in (3, 0, 5):
        x = Tensor(RNG.standard_normal((length, 2, 4)).astype(np.float32))
        y, last = net(x)
        for call in (jitted, static):
            found, state = call(x)
            np.testing.assert_allclose(found.asnumpy(), y.asnumpy(), atol=1e-6)
            for a, b in zip(state if isinstance(state, tuple) else (state,), last if isinstance(last, tuple) else (last,)):
                np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=1e-6)
    assert net(Tensor(np.ones((0, 2, 4), np.float32)))[0].shape == (0, 2, 8)


@pytest.mark.parametrize("dynamic", [0, 1])
def test_steps_are_a_loop_whatever_the_length(dynamic):
    """They were written out where the length is known: 64 steps took 13 s to compile, with gradients, and ran slower."""
    net, run = network("LSTM")
    jitted = ms.jit(ms.value_and_grad(run, 0, net.trainable_params()), dynamic=dynamic, fullgraph=True)
    for length in (30, 300):
        jitted(Tensor(np.ones((length, 2, 4), np.float32)))
        assert sum(len(graph.nodes) for graph in jitted.compiled.latest().compiled.graph.reachable()) < 200
    assert len(jitted.compiled.variants) == 2 - dynamic


@pytest.mark.parametrize("kinds", [("float16", None), ("float64", None), ("float32", "float64"), ("float16", "float16")])
def test_a_graph_computes_in_the_dtype_of_eager_mode(kinds):
    own, state = kinds
    net, x = nn.GRU(4, 8), Tensor(RNG.standard_normal((5, 3, 4)).astype(own))
    hx = None if state is None else Tensor(np.ones((1, 3, 8), state))
    for found, wanted in zip(ms.jit(lambda x: net(x, hx), fullgraph=True)(x), net(x, hx), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-3, atol=1e-3)
