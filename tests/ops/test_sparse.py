"""Sparse tensors are named tuples: their products and conversions are those of the dense tensor, in graphs too."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import COOTensor, CSRTensor, RowTensor, Tensor, ops
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError

DENSE = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
MATRIX = np.random.default_rng(0).standard_normal((4, 2)).astype(np.float32)


def coo():
    indices = np.argwhere(DENSE)
    return COOTensor(Tensor(indices), Tensor(DENSE[tuple(indices.T)]), DENSE.shape)


def as_graph(function):
    return ms.jit(function, fullgraph=True)


@pytest.mark.parametrize("run", [lambda f: f, as_graph], ids=["eager", "graph"])
def test_conversions_keep_the_elements(run):
    def convert(z):
        rows = z.to_csr()
        dtype = rows.astype(ms.float64).values.dtype
        return z.to_dense(), rows.to_dense(), rows.to_coo().to_dense(), rows.indptr, dtype
    one, two, three, indptr, dtype = run(convert)(coo())
    for dense in (one, two, three):
        np.testing.assert_array_equal(dense.asnumpy(), DENSE)
    assert indptr.tolist() == [0, 2, 2, 4] and dtype is ms.float64


@pytest.mark.parametrize("run", [lambda f: f, as_graph], ids=["eager", "graph"])
def test_products_are_those_of_the_dense_matrix(run):
    def multiply(z, m, d):
        return z.mm(m), (z * d).to_dense(), (z * 2).to_dense(), z.mv(m[:, :1])
    product, squares, doubled, column = run(multiply)(coo().to_csr(), Tensor(MATRIX), Tensor(DENSE))
    np.testing.assert_allclose(product.asnumpy(), DENSE @ MATRIX, rtol=1e-6)
    np.testing.assert_array_equal(squares.asnumpy(), DENSE * DENSE)
    np.testing.assert_array_equal(doubled.asnumpy(), 2 * DENSE)
    np.testing.assert_allclose(column.asnumpy(), DENSE @ MATRIX[:, :1], rtol=1e-6)


@pytest.mark.parametrize("run", [lambda f: f, as_graph], ids=["eager", "graph"])
def test_a_matrix_by_rows_may_hold_blocks(run):
    rows, blocks = coo().to_csr(), DENSE[..., None] * np.array([1, -2], np.float32)
    values = Tensor(blocks[DENSE != 0])

    def functions(values, d):
        z = CSRTensor(rows.indptr, rows.indices, values, (3, 4, 2))
        return z.to_dense(), (z * d).to_dense(), (z / 4).to_dense(), z.sum(1), z.abs().values
    dense, product, quarter, sums, sizes = run(functions)(values, Tensor(MATRIX))
    np.testing.assert_array_equal(dense.asnumpy(), blocks)
    np.testing.assert_allclose(product.asnumpy(), blocks * MATRIX, rtol=1e-6)
    np.testing.assert_array_equal(quarter.asnumpy(), blocks / 4)
    np.testing.assert_array_equal(sums.asnumpy(), blocks.sum(1, keepdims=True))
    np.testing.assert_array_equal(sizes.asnumpy(), abs(values.asnumpy()))
    z = CSRTensor(rows.indptr, rows.indices, values, (3, 4, 2))
    for call in (z.to_coo, lambda: z.mm(Tensor(MATRIX)), lambda: z.add(z), lambda: ops.csr_softmax(z, ms.float32)):
        with pytest.raises(ShapeError, match="a sparse matrix is wanted"):
            call()
    with pytest.raises(ShapeError):
        CSRTensor(rows.indptr, rows.indices, values, (3, 4, 3))


def test_equal_indices_add_up_and_rows_need_not_be_in_order():
    z = COOTensor(Tensor([[2, 1], [0, 0], [2, 1]]), Tensor([1.0, 5.0, 2.0]), (3, 2))
    np.testing.assert_array_equal(z.to_dense().asnumpy(), [[5, 0], [0, 0], [0, 3]])
    np.testing.assert_array_equal(z.to_csr().to_dense().asnumpy(), [[5, 0], [0, 0], [0, 3]])
    np.testing.assert_array_equal(z.add(z).to_dense().asnumpy(), [[10, 0], [0, 0], [0, 6]])


def test_a_sparse_tensor_is_state_of_a_loop():
    def f(z, x, y):
        while x < y:
            z = CSRTensor(z.indptr, z.indices, z.values + x, z.shape)
            x = x + 1
        return z, isinstance(z, CSRTensor)
    z, is_sparse = as_graph(f)(coo().to_csr(), Tensor(2.0), Tensor(4.0))
    assert is_sparse and type(z) is CSRTensor and z.values.tolist() == [7, 6, 8, 9]


def test_gradients_reach_the_values():
    z = coo().to_csr()

    def f(values):
        return CSRTensor(z.indptr, z.indices, values, z.shape).mm(Tensor(MATRIX)).sum()
    for run in (ms.grad(f), as_graph(ms.grad(f))):
        np.testing.assert_allclose(run(z.values).asnumpy(), MATRIX.sum(1)[z.indices.asnumpy()], rtol=1e-6)


def test_what_a_sparse_tensor_is():
    z = coo()
    assert (z.shape, z.ndim, z.size, z.itemsize, z.dtype) == ((3, 4), 2, 4, 4, ms.float32)
    assert z.to_tuple() == tuple(z) and COOTensor(coo_tensor=z) is z
    assert z.abs().values.tolist() == np.abs(z.values.asnumpy()).tolist()
    rows = RowTensor(Tensor([2, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
    np.testing.assert_array_equal(rows.to_dense().asnumpy(), [[3, 4], [0, 0], [1, 2]])
    assert rows.shape == (3, 2)


def test_parts_that_do_not_fit_together_are_errors():
    two, four = Tensor([[0, 1], [1, 0]]), Tensor([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ShapeError):
        COOTensor(two, four, (2, 2))
    with pytest.raises(DTypeError):
        COOTensor(Tensor([[0.0, 1.0]]), Tensor([1.0]), (2, 2))
    with pytest.raises(ArgumentError):
        COOTensor(two, Tensor([1.0, 2.0]), 2)
    with pytest.raises(ShapeError):
        CSRTensor(Tensor([0, 1]), Tensor([0]), Tensor([1.0]), (2, 2))
    with pytest.raises(ShapeError):
        coo().to_csr().mm(Tensor(DENSE))
    with pytest.raises(ArgumentError):
        coo().add(coo(), 0.5)


@pytest.mark.parametrize("run", [lambda f: f, as_graph], ids=["eager", "graph"])
def test_functions_of_sparse_tensors_are_those_of_their_values(run):
    def functions(z):
        rows = z.to_csr()
        return ops.coo_tanh(z).values, ops.csr_inv(rows).values, ops.csr_to_coo(rows).indices, ops.csr_reduce_sum(rows, 1)
    tanh, inverse, indices, sums = run(functions)(coo())
    values = DENSE[DENSE != 0]
    np.testing.assert_allclose(tanh.asnumpy(), np.tanh(values), rtol=1e-6)
    np.testing.assert_allclose(inverse.asnumpy(), 1 / values)
    np.testing.assert_array_equal(indices.asnumpy(), np.argwhere(DENSE))
    np.testing.assert_array_equal(sums.asnumpy(), DENSE.sum(1, keepdims=True))


def test_a_dense_matrix_is_sparse_again_and_another_kind_is_an_error():
    again = ops.dense_to_sparse_csr(Tensor(DENSE))
    np.testing.assert_array_equal(again.to_dense().asnumpy(), DENSE)
    with pytest.raises(ArgumentError, match="a CSRTensor is wanted"):
        ops.csr_abs(coo())


ARITHMETIC = {"-a": lambda a, b, d: -a, "a + b": lambda a, b, d: a + b, "a - b": lambda a, b, d: a - b,
              "a + d": lambda a, b, d: a + d, "d + a": lambda a, b, d: d + a, "a - d": lambda a, b, d: a - d,
              "d - a": lambda a, b, d: d - a, "a * d": lambda a, b, d: a * d, "d * a": lambda a, b, d: d * a,
              "a / d": lambda a, b, d: a / d, "2 * a": lambda a, b, d: 2 * a, "a * row": lambda a, b, d: a * d[0]}


@pytest.mark.parametrize("run", [lambda f: f, as_graph], ids=["eager", "graph"])
@pytest.mark.parametrize("by_rows", [False, True], ids=["coo", "csr"])
def test_python_s_operators_of_sparse_tensors_are_those_of_the_dense_ones(run, by_rows):
    """They are tuples, whose own + and * would join and repeat the parts; `a` has two values at one place."""
    dense = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    twice = COOTensor(Tensor([[0, 1], [2, 0], [0, 1]]), Tensor([1.0, 3.0, 2.0]), (3, 4))
    plain = twice.to_dense().asnumpy()
    made = run(lambda a, b, d: tuple([x if isinstance(x, Tensor) else x.to_dense() for x in [
        f(*((z.to_csr() if by_rows else z) for z in (a, b)), d) for f in ARITHMETIC.values()]]))(twice, coo(), Tensor(dense))
    for (name, function), result in zip(ARITHMETIC.items(), made):
        np.testing.assert_allclose(result.asnumpy(), function(plain, DENSE, dense), rtol=1e-5, err_msg=name)


def test_sums_of_sparse_tensors_keep_one_value_for_a_place_and_other_operands_are_refused():
    z = coo()
    total = z + COOTensor(Tensor([[1, 1], [0, 1]]), Tensor([5.0, 1.0]), (3, 4))
    assert total.indices.tolist() == [[0, 1], [0, 3], [1, 1], [2, 0], [2, 2]] and total.values.tolist() == [3, 1, 5, 3, 4]
    for call in (lambda: z + z.to_csr(), lambda: z * z, lambda: z.to_csr() / z.to_csr()):
        with pytest.raises(ArgumentError):
            call()
    for call in (lambda: z + 1, lambda: z + Tensor(DENSE[0]), lambda: Tensor(DENSE[0]) - z, lambda: z * Tensor(MATRIX)):
        with pytest.raises(ShapeError):
            call()
