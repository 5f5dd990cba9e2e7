"""One graph serves all sizes of operators that read a diagonal or cut an axis in parts, and of their gradients."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops

SIZES = (4, 5), (5, 4), (6, 6), (1, 1), (2, 7), (7, 2), (3, 1)


def matrix(n, m):
    return ms.Tensor(np.random.default_rng(n * 8 + m).normal(size=(n, m)))


def flat(value):
    return [part for v in value for part in flat(v)] if isinstance(value, (tuple, list)) else [value]


PROGRAMS = {
    "diag of a vector": lambda x: ops.diag(x[0]),
    "diag of a matrix": lambda x: ops.diag(x),
    "trace": lambda x: ops.trace(x),
    "diagonals beside the main one": lambda x: (ops.diagonal(x, 1), ops.diagonal(x, -1), ops.diagonal(x, -3), ops.diagonal(x, 3)),
    "diagonal of other axes": lambda x: ops.diagonal(ops.stack([x.T, x.T * 2, x.T + 1], 1), 1, 2, 0),
    "diag_embed": lambda x: (ops.diag_embed(x), ops.diag_embed(x, 2), ops.diag_embed(x, -1, 0, 2)),
    "diagonal_scatter": lambda x: (ops.diagonal_scatter(x, 7.0, -2), ops.diagonal_scatter(x, ops.diagonal(x, 1) * 2, 1)),
    "diagflat": lambda x: ops.diagflat(x),
    "tensor_split": lambda x: ops.tensor_split(x, 3),
    "tensor_split at places": lambda x: ops.tensor_split(x, (1, -2)),
    "hsplit": lambda x: ops.hsplit(x, 2),
    "array_split": lambda x: ms.numpy.array_split(x, 3, 1),
    "split at places": lambda x: ms.numpy.split(ops.concat([x, x]), [1, 3]),
    "split in halves": lambda x: ms.numpy.split(ops.concat([x, x]), 2),
    "linspace": lambda x: ops.linspace(0.5, 2.0, x.shape[0]) + x[:, 0],
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_all_sizes_are_one_graph(f):
    def loss(x):
        return sum([(part * part).sum() for part in flat(f(x))])
    compiled = ms.jit(f, dynamic=1, fullgraph=True), ms.jit(ms.grad(loss), dynamic=1, fullgraph=True)
    for n, m in SIZES:
        x = matrix(n, m)
        for graph, plain in zip(compiled, (f, ms.grad(loss))):
            for got, want in zip(flat(graph(x)), flat(plain(x)), strict=True):
                assert got.shape == want.shape
                np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-12)
    assert [len(graph.variants) for graph in compiled] == [1, 1]


def test_an_array_that_has_no_equal_parts_is_refused_at_every_size():
    graph = ms.jit(lambda x: ms.numpy.split(x, 2), dynamic=1, fullgraph=True)
    assert [part.shape for part in graph(matrix(4, 3))] == [(2, 3), (2, 3)]
    with pytest.raises(ms.ShapeError, match="5 elements have no 2 equal parts"):
        graph(matrix(5, 3))


def test_an_axis_inside_a_kernel_may_be_empty():
    """The kernel divided by its size: the process ended with SIGFPE. Nothing is read of such an axis."""
    def loss(x):
        return (ops.diagonal(x, 1, 2, 0) ** 2).sum()
    gradient = ms.jit(ms.grad(loss), fullgraph=True)
    for n, m in ((4, 5), (5, 4), (6, 6), (1, 1), (2, 1)):
        x = ms.Tensor(np.ones((m, 3, n)))
        assert np.array_equal(gradient(x).asnumpy(), ms.grad(loss)(x).asnumpy())
