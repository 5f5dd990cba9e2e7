"""Joining, cutting, repeating and padding give NumPy's results, with sizes that are ints and that are Dims."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import tensor_type, typed
from mindlite.mindir.constraints import collecting
from mindlite.mindir.evaluate import run

CASES = [
    ("concat", lambda x: ops.concat([x, x, x[1:]], 0), lambda x: np.concatenate([x, x, x[1:]])),
    ("stack", lambda x: ops.stack((x, x * 2), 1), lambda x: np.stack([x, x * 2], 1)),
    ("split", lambda x: ops.split(x, 3, 1), lambda x: (x[:, :3], x[:, 3:])),
    ("split by sizes", lambda x: ops.split(x, (1, 3, 1), 1), lambda x: (x[:, :1], x[:, 1:4], x[:, 4:])),
    ("chunk", lambda x: ops.chunk(x, 2, 1), lambda x: (x[:, :3], x[:, 3:])),
    ("unstack", lambda x: ops.unstack(x, 1), lambda x: tuple(x[:, i] for i in range(5))),
    ("squeeze", lambda x: ops.squeeze(ops.expand_dims(x, 1), 1), lambda x: x),
    ("diag", lambda x: ops.diag(x), lambda x: np.diag(x.ravel()).reshape(x.shape * 2)),
    ("the part that diag has put there", lambda x: ops.operations.DiagPart()(ops.diag(x) + 1), lambda x: x + 1),
    ("flatten", lambda x: ops.flatten(x[None], start_dim=1), lambda x: x.reshape(1, -1)),
    ("unflatten", lambda x: ops.unflatten(x[:, :4], 1, (2, -1)), lambda x: x[:, :4].reshape(-1, 2, 2)),
    ("swapaxes", lambda x: ops.swapaxes(x, 0, -1), lambda x: x.T),
    ("movedim", lambda x: ops.movedim(x[None], (0, 1), (1, 2)), lambda x: np.moveaxis(x[None], (0, 1), (1, 2))),
    ("tile", lambda x: ops.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    ("repeat_interleave", lambda x: ops.repeat_interleave(x, 2, 0), lambda x: np.repeat(x, 2, 0)),
    ("roll", lambda x: ops.roll(x, (1, -2), (0, 1)), lambda x: np.roll(x, (1, -2), (0, 1))),
    ("roll all", lambda x: ops.roll(x, 3), lambda x: np.roll(x, 3)),
    ("flip", lambda x: ops.flip(x, (0, 1)), lambda x: x[::-1, ::-1]),
    ("pad", lambda x: ops.pad(x, (1, 2, 0, 3), value=7), lambda x: np.pad(x, ((0, 3), (1, 2)), constant_values=7)),
    ("cut", lambda x: ops.pad(x, (-1, 2)), lambda x: np.pad(x[:, 1:], ((0, 0), (0, 2)))),
    ("reflect", lambda x: ops.pad(x, (1, 2, 1, 1), mode="reflect"), lambda x: np.pad(x, ((1, 1), (1, 2)), "reflect")),
    ("replicate", lambda x: ops.pad(x, (1, 2), mode="replicate"), lambda x: np.pad(x, ((0, 0), (1, 2)), "edge")),
    ("circular", lambda x: ops.pad(x, (2, 1), mode="circular"), lambda x: np.pad(x, ((0, 0), (2, 1)), "wrap")),
    ("narrow", lambda x: ops.narrow(x, 1, 1, 3), lambda x: x[:, 1:4]),
    ("meshgrid", lambda x: ops.meshgrid(x[0], x[:, 0]), lambda x: tuple(np.meshgrid(x[0], x[:, 0]))),
    ("broadcast_tensors", lambda x: ops.broadcast_tensors(x, x[:1]), lambda x: tuple(np.broadcast_arrays(x, x[:1]))),
]


@pytest.mark.parametrize("function, meaning", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_results_are_those_of_numpy_for_ints_and_for_symbolic_sizes(function, meaning):
    n = Symbol("N", lo=2).dim
    with collecting():
        graph = typed(function, AbstractTensor(dt.float32, (n, 5)))
    for size in (2, 4):
        x = np.arange(size * 5, dtype=np.float32).reshape(size, 5)
        want = meaning(x)
        want = want if isinstance(want, tuple) else (want,)
        eager = function(Tensor(x))
        eager = eager if isinstance(eager, tuple) else (eager,)
        for wanted, got, by_graph in zip(want, eager, run(graph, x), strict=True):
            np.testing.assert_array_equal(got.asnumpy(), wanted)
            np.testing.assert_array_equal(by_graph, wanted)


def test_joining_promotes_to_one_dtype():
    assert ops.concat([Tensor(np.ones(2, np.int32)), Tensor(np.ones(2, np.float16))]).dtype is dt.float16


@pytest.mark.parametrize("call, error", [
    (lambda x: ops.concat([]), ArgumentError), (lambda x: ops.concat([x, x[:, :2]], 0), ShapeError),
    (lambda x: ops.split(x, (1, 1), 0), ShapeError), (lambda x: ops.squeeze(x, 0), ShapeError),
    (lambda x: ops.pad(x, (1,)), ArgumentError), (lambda x: ops.pad(x, (5, 0), mode="reflect"), ShapeError),
    (lambda x: ops.pad(x, (1, 1), mode="mirror"), ValueRangeError),
    (lambda x: ops.meshgrid(x[0], indexing="x"), ValueRangeError),
    (lambda x: ops.flip(x, 2), ValueRangeError), (lambda x: ops.split(x, 0), ValueRangeError),
])
def test_what_does_not_fit_is_an_error(call, error):
    with pytest.raises(error):
        call(Tensor(np.ones((3, 4), np.float32)))


def test_a_chunk_that_a_symbolic_size_may_leave_without_elements_is_a_residual_check():
    n = Symbol("N").dim
    with collecting() as found:
        typed(lambda x: ops.chunk(x, 2), AbstractTensor(dt.float32, (n,)))
    assert found


@pytest.mark.parametrize("equation, shapes", [
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("bij,bjk->b", [(2, 3, 4), (2, 4, 5)]),
    ("bij,bjk,ki->b", [(2, 3, 4), (2, 4, 5), (5, 3)]),
    ("...j,...jk->...k", [(2, 3, 4), (2, 1, 4, 5)]), ("bij->jb", [(2, 3, 4)]), ("ba", [(2, 3)]),
    ("ij,ij", [(2, 3), (2, 3)]),
    ("ii->i", [(4, 4)]), ("iij->j", [(4, 4, 2)]), ("i,j->ij", [(3,), (4,)]), ("ij,kl->ijkl", [(2, 3), (4, 5)]),
    ("i,i->", [(3,), (3,)]),
])
def test_einsum_is_numpys(equation, shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    np.testing.assert_allclose(ops.einsum(equation, *map(Tensor, arrays)).asnumpy(), np.einsum(equation, *arrays),
                               atol=1e-12)


@pytest.mark.parametrize("equation, shapes, most", [
    ("bij,bjk,k->bi", [(3, 13, 5), (3, 5, 17), (17,)], 3 * 5 * 17), ("ij,jk,kl->il", [(11, 2), (2, 12), (12, 3)], 36),
    ("i,ij,j,k->k", [(7,), (7, 8), (8,), (9,)], 56), ("ab,bc,cd,de->ae", [(6, 2), (2, 7), (7, 2), (2, 9)], 54)])
def test_einsum_of_many_operands_makes_no_larger_value_than_its_cheapest_order(equation, shapes, most):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    graph = typed(lambda *xs: ops.einsum(equation, *xs), *map(tensor_type, map(Tensor, arrays)))
    assert max(node.abstract.size for node in graph.nodes) <= most
    np.testing.assert_allclose(ops.einsum(equation, *map(Tensor, arrays)).asnumpy(), np.einsum(equation, *arrays), atol=1e-12)
    got = ms.jit(lambda *xs: ops.einsum(equation, *xs), dynamic=1)(*map(Tensor, arrays))
    np.testing.assert_allclose(got.asnumpy(), np.einsum(equation, *arrays), atol=1e-12)


@pytest.mark.parametrize("equation", ["ij,jk", "i->j", "ij->ii", "i1->i"])
def test_an_equation_that_does_not_fit_is_an_error(equation):
    with pytest.raises(ArgumentError):
        ops.einsum(equation, Tensor(np.ones((2, 3))))


@pytest.mark.parametrize("left, right", [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((0, 3), (3, 2))])
def test_matmul_is_numpys(left, right):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    for got in (ops.matmul(Tensor(a), Tensor(b)), Tensor(a) @ Tensor(b), Tensor(a) @ b):
        np.testing.assert_allclose(got.asnumpy(), a @ b, atol=1e-12)


def test_products_under_other_names():
    rng = np.random.default_rng(0)
    a, b, v = rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), rng.standard_normal(3)
    A, B, V = Tensor(a), Tensor(b), Tensor(v)
    for got, want in [(ops.dense(A, Tensor(b.T), Tensor(np.ones(4))), a @ b + 1), (ops.outer(V, V), np.outer(v, v)),
                      (ops.addmm(Tensor(1.0), A, B, beta=2, alpha=3), 2 + 3 * a @ b), (ops.mv(A, V), a @ v),
                      (ops.dot(V, V), v @ v),
                      (ops.tensor_dot(A, B, 1), a @ b), (ops.tensor_dot(A, B, ((1,), (0,))), a @ b),
                      (ops.bias_add(A, V), a + v)]:
        np.testing.assert_allclose(got.asnumpy(), want, atol=1e-6)
    with pytest.raises(ShapeError):
        ops.matmul(A, A)
    with pytest.raises(ShapeError):
        ops.matmul(A, Tensor(2.0))


def test_an_ndarray_on_the_left_gives_a_tensor():
    x = Tensor(np.ones((2, 2), np.float32))
    for out in (np.ones((2, 2)) + x, np.float32(2) * x, np.ones((2, 2)) @ x, np.ones((2, 2)) < x):
        assert isinstance(out, Tensor)
    graph = typed(lambda x: np.ones((2, 2), np.float32) @ (np.ones((2, 2), np.float32) - x),
                  AbstractTensor(dt.float32, (2, 2)))
    np.testing.assert_array_equal(run(graph, x)[0], np.zeros((2, 2)))


def test_several_axes_stand_in_a_tensor():
    x = Tensor(np.arange(24.0).reshape(2, 3, 4))
    for reduce in ops.reduce_min, ops.reduce_sum, ops.reduce_mean:
        assert reduce(x, axis=Tensor([0, -1])).tolist() == reduce(x, axis=(0, 2)).tolist()


@pytest.mark.parametrize("way", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_the_value_of_a_padding_may_be_a_tensor_and_has_a_gradient(way):
    x, value = Tensor(np.ones((2, 3), np.float32)), Tensor(5.0)
    padded = way(lambda x, value: ops.pad(x, (1, 2), value=value))
    np.testing.assert_array_equal(padded(x, value).asnumpy(), np.pad(np.ones((2, 3)), ((0, 0), (1, 2)), constant_values=5))
    slopes = way(ms.grad(lambda x, value: (ops.pad(x, (1, 2), value=value) * 3).sum(), (0, 1)))(x, value)
    np.testing.assert_array_equal(slopes[0].asnumpy(), np.full((2, 3), 3))
    assert float(slopes[1]) == 2 * 3 * 3


def test_a_number_is_cast_and_reshaped_as_a_tensor_without_axes():
    def both(n, x):
        return ops.cast(2.5, ms.float16), ops.reshape(3, (1, -1)), ops.cast(n, ms.int8), ops.cast(x.shape[0], ms.float32)

    for function in (both, ms.jit(both, fullgraph=True), ms.jit(both, dynamic=1, fullgraph=True)):
        made = function(True, Tensor(np.zeros(4, np.float32)))
        assert [(str(t.dtype), t.shape, t.tolist()) for t in made] == [
            ("Float16", (), 2.5), ("Int64", (1, 1), [[3]]), ("Int8", (), 1), ("Float32", (), 4.0)]
