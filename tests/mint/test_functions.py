"""MindSpore's mint: torch's argument names, defaults and results."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, mint, ops
from mindlite.common.errors import ArgumentError

A = np.array([[3.0, 1, 2], [6, 5, 4]], np.float32)
X = Tensor(A)


def test_what_is_no_tensor_is_taken_where_a_function_takes_it():
    assert mint.ones((2, 2)).shape == (2, 2) and mint.zeros([2]).tolist() == [0, 0]
    assert mint.cat((X, X), dim=1).shape == (2, 6) and mint.stack([X, X], dim=2).shape == (2, 3, 2)
    with pytest.raises(ArgumentError, match="called on list"):
        Tensor.add([1], [2])


def test_spreads_are_divided_by_one_less_than_the_number():
    assert mint.std(X).item() == pytest.approx(A.std(ddof=1)) and ops.std(X).item() == pytest.approx(A.std(), rel=1e-4)
    np.testing.assert_allclose(mint.var(X, 1, keepdim=True).asnumpy(), A.var(1, ddof=1, keepdims=True))
    np.testing.assert_allclose(mint.var(X, correction=0).item(), A.var(), rtol=1e-6)
    deviation, mean = mint.std_mean(X, dim=0)
    np.testing.assert_allclose(deviation.asnumpy(), A.std(0, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(mean.asnumpy(), A.mean(0))


def test_elements_are_gathered_and_scattered_along_an_axis():
    assert mint.gather(X, 1, Tensor([[0], [2]])).tolist() == [[3], [4]]
    assert mint.scatter(X, 1, Tensor([[0], [1]]), Tensor([[9.0], [8.0]])).tolist() == [[9, 1, 2], [6, 8, 4]]
    assert mint.scatter_add(X, 1, Tensor([[0, 0]]), Tensor([[1.0, 1.0]])).tolist() == [[5, 1, 2], [6, 5, 4]]
    assert mint.take(X, Tensor([4, 0])).tolist() == [5, 3]


def test_extrema_and_medians_are_of_all_of_an_axis_or_of_two():
    assert mint.max(X).item() == 6 and [y.tolist() for y in mint.max(X, 1)] == [[3, 6], [0, 0]]
    assert mint.min(X, X * 0 + 2).tolist() == [[2, 1, 2], [2, 2, 2]] == mint.min(X, other=X * 0 + 2).tolist()
    assert mint.median(X).item() == 3 and [y.tolist() for y in mint.median(X, 1)] == [[2, 5], [2, 1]]
    assert mint.count_nonzero(X).dtype is ms.int64


def test_different_elements_come_in_order():
    values, inverse, counts = mint.unique(Tensor([3, 1, 3, 2]), return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 3], [2, 0, 2, 1], [1, 1, 2])
    rows, columns = mint.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5]))
    assert rows.shape == columns.shape == (2, 3)
    assert [y.tolist() for y in mint.where(X > 4)] == [[1, 1], [0, 1]]


def test_drawn_numbers_take_their_size_first_and_a_generator():
    ms.set_seed(1)
    assert mint.randint(3, (2, 2)).shape == mint.randint(1, 3, (2, 2)).shape == (2, 2)
    assert mint.normal(size=(3,)).shape == (3,) and mint.randn(2, 3, dtype=ms.float64).dtype is ms.float64
    assert mint.bernoulli(Tensor([0.0, 1.0])).tolist() == [0, 1]
    assert sorted(mint.multinomial(Tensor([1.0, 1.0, 1.0]), 3).tolist()) == [0, 1, 2]
    assert set(mint.randint_like(X, 2).asnumpy().ravel()) <= {0, 1}


def test_silu_writes_into_its_input_where_it_is_told_to():
    x = Tensor([1.0])
    mint.nn.functional.silu(x)
    assert x.tolist() == [1.0]
    mint.nn.functional.silu(x, inplace=True)
    assert x.item() == pytest.approx(0.7310586)


@pytest.mark.parametrize("dtype", [ms.int8, ms.int32, ms.uint8, ms.float64])
@pytest.mark.parametrize("name", ["sum", "prod", "nansum"])
def test_what_is_summed_in_a_dtype_has_that_dtype(name, dtype):
    add = lambda x: getattr(mint, name)(x, 1, dtype=dtype)                                                    # noqa: E731
    eager, graph = add(X), ms.jit(add, fullgraph=True)(X)
    assert eager.dtype is graph.dtype is dtype
    assert eager.tolist() == graph.tolist() == getattr(A, name.removeprefix("nan"))(1).tolist()


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
@pytest.mark.parametrize("shape, dim", [((4, 1), 1), ((6, 2, 3), 0), ((5, 7), 1), ((7,), 0), ((3, 5, 2), -1)])
def test_different_slices_are_found_in_the_order_of_their_elements(run, shape, dim):
    x = np.random.default_rng(0).integers(0, 2, shape)
    found = run(lambda x: mint.unique(x, True, True, True, dim))(Tensor(x))
    for made, want in zip(found, np.unique(x, axis=dim, return_inverse=True, return_counts=True)):
        np.testing.assert_array_equal(made.asnumpy(), want)


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_bools_have_squares_and_signs_and_one_element_without_axes_is_a_row(run):
    flags, one = Tensor([True, False]), Tensor(3.0)
    square, sign = run(lambda x: (mint.square(x), mint.sign(x)))(flags)
    assert square.dtype is ms.int64 and square.tolist() == [1, 0] and sign.dtype is ms.bool_ and sign.tolist() == [True, False]
    grids = run(lambda x, y: mint.meshgrid(x, y, indexing="ij"))(one, Tensor([1.0, 2.0]))
    assert [g.tolist() for g in grids] == [[[3, 3]], [[1, 2]]]
    taken, moved = run(lambda x: (mint.index_select(x, -1, Tensor([0])), ops.movedim(x, 0, -1)))(one)
    assert taken.shape == () == moved.shape and taken.item() == 3 == moved.item()
    for call in (lambda x: mint.index_select(x, 0, Tensor([0, 0])), lambda x: ops.movedim(x, 1, 0)):
        with pytest.raises(ValueError):
            run(call)(one)
