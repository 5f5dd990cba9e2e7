"""Indices in Tensors: one that is outside of its axis is the same error in graphs, gradients and vmap as in eager mode."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops

X = Tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))


def ids(*values, dtype=np.int32):
    return Tensor(np.array(values, dtype))


FUNCTIONS = {
    "rows": lambda i: X[i],
    "columns": lambda i: X[:, i],
    "gather": lambda i: ops.gather(X, i, 1),
    "elements": lambda i: ops.gather_elements(X, 1, i.reshape(1, -1).expand_dims(0).reshape(1, -1)),
    "in a branch": lambda i: X[i] if i.sum() > -100 else X,
    "in a loop": lambda i: rows_in_a_loop(i),
}


def rows_in_a_loop(i):
    total, n = X[0], 0
    while n < i.sum() + 2:
        total, n = total + X[i].sum(0), n + 1
    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_index_outside_is_the_same_error_in_both_modes(name):
    function = FUNCTIONS[name]
    f = ms.jit(function)
    for values in ((0, 1), (-1, -2), (1, 2), (5, 0), (0, -4), (1, 1)):
        i = ids(*values)
        try:
            expected = function(i).asnumpy()
        except IndexError as error:
            for _ in range(2):
                with pytest.raises(IndexError) as caught:
                    f(i)
                assert str(caught.value) == str(error)
        else:
            np.testing.assert_allclose(f(i).asnumpy(), expected)
    assert len(f.variants) == 1


def test_an_embedding_and_its_gradient_refuse_ids_outside():
    ms.set_seed(1)
    embedding = nn.Embedding(4, 3)
    weights = embedding.trainable_params()
    step = ms.jit(ms.value_and_grad(lambda i: embedding(i).sum(), None, weights))
    value, (dw,) = step(ids(0, 1, 1, 3))
    assert dw.asnumpy()[:, 0].tolist() == [1.0, 2.0, 0.0, 1.0]
    with pytest.raises(IndexError, match="index 4"):
        step(ids(0, 4))
    assert np.allclose(step(ids(0, 1, 1, 3))[0].asnumpy(), value.asnumpy())


def test_vmap_checks_the_indices_of_all_elements():
    f = ms.jit(ms.vmap(lambda x, i: x[i], in_axes=(0, 0)))
    x, i = Tensor(np.arange(12.0).reshape(2, 6)), ids((0, 5), (3, -1))
    assert f(x, i).asnumpy().tolist() == [[0.0, 5.0], [9.0, 11.0]]
    with pytest.raises(IndexError):
        f(x, ids((0, 5), (6, 0)))


def test_an_index_without_sign_is_checked_too():
    f = ms.jit(lambda i: X[i])
    assert f(ids(1, 0, dtype=np.uint8)).shape == (2, 3)
    with pytest.raises(IndexError, match="index 200"):
        f(ids(1, 200, dtype=np.uint8))


def test_indices_that_are_inside_by_how_they_are_made_are_not_checked():
    from mindlite.mindir.control import check
    f = ms.jit(lambda x: x[x > 1])
    assert f(Tensor(np.array([0.0, 2.0, 3.0]))).asnumpy().tolist() == [2.0, 3.0]
    assert not any(node.fn is check for g in f.graph("infer").reachable() for node in g.nodes)


def test_no_indices_at_all_are_inside():
    f = ms.jit(lambda i: X[i])
    assert f(Tensor(np.zeros(0, np.int32))).shape == (0, 3)


def reads(x):
    if x.sum() > 1:
        return x[3 % len(x)] * x
    return x * 2


def writes(x):
    m = ops.stack([x, x * 2])
    if x.sum() > 1:
        m[1, 3 % len(x)] = 5.0
        m[:, 3 % len(x) - 1] += x[0]
        m[3 % len(x) - 1, 1:] *= 2.0
    return m


@pytest.mark.parametrize("function", [reads, writes])
def test_an_index_may_be_a_size_whose_sign_is_not_known(function):
    total = lambda x: function(x).sum()  # noqa: E731
    f, slope = ms.jit(function, dynamic=1, fullgraph=True), ms.grad(ms.jit(total, dynamic=1, fullgraph=True))
    for values in ([0.0, 2.0], [3.0, 4.0, 5.0], [-1.0, -2.0, -3.0, -4.0], [1.0, 2.0, 3.0, 4.0, 9.0]):
        x = Tensor(np.array(values))
        try:
            expected = function(x).tolist()
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error).split("\n")[0]):
                f(x)
        else:
            assert f(x).tolist() == expected
            assert slope(x).tolist() == ms.grad(total)(x).tolist()
