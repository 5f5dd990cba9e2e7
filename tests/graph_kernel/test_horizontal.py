"""Kernels that have nothing to do with one another in one launch: the same values, whatever the chunks are."""
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, evaluate_graph, execute, tensor                                            # noqa: E402

import mindlite as ms                                                                                   # noqa: E402
from mindlite import Tensor, nn, ops                                                                    # noqa: E402
from mindlite.common.dim import Symbol                                                                  # noqa: E402
from mindlite.compile.flow import Copy, walk                                                            # noqa: E402
from mindlite.debug import ir, kernel                                                                   # noqa: E402
from mindlite.graph_kernel import lowering                                                              # noqa: E402
from mindlite.graph_kernel.cluster import cluster                                                       # noqa: E402
from mindlite.graph_kernel.horizontal import TOGETHER, parts_of                                           # noqa: E402
from mindlite.mindir.graph import FuncGraph                                                             # noqa: E402

rng = np.random.default_rng(0)
N = Symbol("N").dim


def apart(*sizes):
    """A graph of four things to do: a map, a fold of rows, a fold of everything, a map that reads the first one's size."""
    first, rows, all_of_it, last = sizes
    w = Writer("apart", x=tensor("float32", first), y=tensor("float32", rows, 6), z=tensor("float32", all_of_it),
               s=tensor("float32", last, 3))
    return w.graph(w(c.tanh, w(c.add, w.x, 1.0)), w(c.reduce_sum, w.y, axis=(1,)), w(c.reduce_sum, w.z, axis=(0,)),
                   w(c.mul, w.s, w(c.exp, w.s)))


@pytest.mark.parametrize("sizes", [(10, 4, 7, 5), (1, 1, 1, 1), (1000, 3, 200, 1), (0, 2, 3, 0), (2, 0, 0, 0)])
@pytest.mark.parametrize("chunks", [1, 2, 3, 64])
def test_every_item_is_done_once_wherever_the_chunks_end(sizes, chunks):
    graph = apart(*sizes)
    node, = [n for n in cluster(graph).nodes if isinstance(n.fn, FuncGraph)]
    assert node.fn.kind == TOGETHER and len(parts_of(node.fn)) == 4
    inputs = [rng.standard_normal(p.abstract.shape).astype(np.float32) for p in graph.parameters]
    for found, want in zip(execute(lowering(node.fn), inputs, chunks=chunks), evaluate_graph(graph, inputs)):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_sizes_are_those_of_the_call():
    graph = apart(N, N, 5, 5)
    node, = [n for n in cluster(graph).nodes if isinstance(n.fn, FuncGraph)]
    symbol, = N.terms
    (symbol, _), = symbol
    for size in (1, 9, 300):
        inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((size,), (size, 6), (5,), (5, 3))]
        found = execute(lowering(node.fn), inputs, {symbol: size}, chunks=3)
        for out, want in zip(found, evaluate_graph(graph, inputs, {symbol: size})):
            np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)


def test_what_reads_another_ones_result_or_a_large_value_is_launched_alone():
    @ms.jit
    def f(x, y, w):
        a, b = ops.tanh(x), ops.exp(y)
        return (a @ w).sum(), b @ w
    f(*(Tensor(rng.standard_normal((300, 300)).astype(np.float32)) for _ in range(3)))
    text = ir(f, "fuse", source=False)
    assert "@fused_tanh(" in text and "@fused_exp(" in text


def network():
    np.random.seed(0)
    net = nn.SequentialCell([nn.Dense(7, 30), nn.ReLU(), nn.Dense(30, 50), nn.ReLU(), nn.Dense(50, 4)])
    for p in net.trainable_params():
        p.set_data(Tensor(np.random.standard_normal(p.shape).astype(np.float32) * 0.3))
    return net


@pytest.mark.parametrize("make", [lambda p: nn.Adam(p, 0.01), lambda p: nn.Momentum(p, 0.01, 0.9, weight_decay=0.1),
                                  lambda p: nn.AdamWeightDecay(p, 0.01)])
def test_an_optimiser_updates_all_parameters_by_one_kernel_in_place(make):
    x, y = Tensor(rng.standard_normal((16, 7)).astype(np.float32)), Tensor(np.arange(16).astype(np.int32) % 4)
    ends = []
    for compiled in (False, True):
        net, loss_of = network(), nn.CrossEntropyLoss()
        optimiser = make(net.trainable_params())
        gradients = ms.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimiser.parameters)

        def step(x, y):
            loss, grads = gradients(x, y)
            optimiser(grads)
            return loss
        run = ms.jit(step) if compiled else step
        losses = [float(run(x, y)) for _ in range(4)]
        ends.append((losses, [p.asnumpy() for p in net.trainable_params()]))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-5)
    for a, b in zip(*(end[1] for end in ends)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    full = run.variants[0].compiled.full
    last = [n for n in full.stages["fuse"].nodes if isinstance(n.fn, FuncGraph)][-1]
    assert last.fn.kind == TOGETHER and len(parts_of(last.fn)) >= 6
    assert not any(isinstance(i, Copy) for i in walk(full.lowered.program.entry.body))


def test_equal_parts_are_one_function_that_is_printed_once():
    @ms.jit
    def f(a, b, c):
        return ops.tanh(a) + 1, ops.tanh(b) + 1, ops.tanh(c) + 1
    args = [Tensor(rng.standard_normal(n).astype(np.float32)) for n in (3, 40, 500)]
    for out, x in zip(f(*args), args):
        np.testing.assert_allclose(out.asnumpy(), np.tanh(x.asnumpy()) + 1, atol=1e-6)
    assert kernel(f).count("def fused_tanh_add(") == 1
