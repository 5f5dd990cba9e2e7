"""What a Cell lists of itself is known to a graph: its Parameters and Cells, until one of them changes."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.compile.jit import JitFunction


def network():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3), nn.Dense(3, 1))
    for number, param in enumerate(net.get_parameters()):
        param.set_data(Tensor(np.full(param.shape, number + 1, np.float32)))
    return net


LISTS = {
    "trainable_params": lambda net: [p.sum() for p in net.trainable_params()],
    "untrainable_params": lambda net: [p.sum() for p in net.untrainable_params()],
    "get_parameters": lambda net: [p * 2 for p in net.get_parameters() if p.ndim == 1],
    "parameters_and_names": lambda net: {name: p.sum() for name, p in net.parameters_and_names()},
    "cells_and_names": lambda net: [(name, type(cell).__name__) for name, cell in net.cells_and_names()],
    "of one Cell": lambda net: [p.name for p in net[0].trainable_params(recurse=False)],
}


def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value.asnumpy().tolist() if isinstance(
        value, Tensor) else value


@pytest.mark.parametrize("name", LISTS)
def test_a_graph_lists_what_python_lists_also_after_a_change(name):
    net = network()
    compiled = ms.jit(lambda x: LISTS[name](net), fullgraph=True)

    def check():
        assert plain(compiled(Tensor(1.0))) == plain(LISTS[name](net))
    check()
    net[0].bias.requires_grad = False
    check()
    net[0].extra = Parameter(Tensor([7.0]), name="extra")
    check()
    net[0].weight.set_data(Tensor(np.full((3, 2), 9, np.float32)))
    check()
    net.append(nn.Dense(1, 1, has_bias=False))
    check()


def test_a_counter_of_the_cell_does_not_compile_its_lists_again():
    class Counted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense, self.calls = nn.Dense(2, 2), 0

        def construct(self, x):
            self.calls += 1
            return self.dense(x) + sum(ops.sum(p) for p in self.trainable_params())
    net = Counted()
    compiled = JitFunction(lambda x: net(x), fullgraph=True)
    x = Tensor(np.ones((1, 2), np.float32))
    given = [compiled(x).asnumpy() for _ in range(4)]
    assert net.calls == 4 and all((g == given[0]).all() for g in given)
    np.testing.assert_allclose(given[0], net(x).asnumpy(), rtol=1e-6)
    assert len(compiled.variants) <= 2
