"""The operator classes of mindspore.scipy.ops give what the functions of scipy.linalg and scipy.optimize give."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.scipy import linalg
from mindlite.scipy.ops import Eig, Eigh, LinearSumAssignment, SolveTriangular

A = np.random.default_rng(3).normal(size=(4, 4))


def both(operator, *args):
    """What the operator gives in eager mode, after it was found equal in a graph."""
    made = operator(*args)
    in_graph = ms.jit(lambda *args: operator(*args), fullgraph=True)(*args)
    for one, other in zip(made, in_graph) if isinstance(made, tuple) else [(made, in_graph)]:
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=1e-12)
    return made


def test_eigenvectors_belong_to_eigenvalues():
    values, vectors = both(Eig(True), Tensor(A))
    np.testing.assert_allclose(A @ vectors.asnumpy(), vectors.asnumpy() * values.asnumpy(), atol=1e-10)
    alone, nothing = both(Eig(False), Tensor(A))
    np.testing.assert_allclose(np.sort(alone.asnumpy()), np.sort(values.asnumpy()), atol=1e-10)
    assert nothing.size == 0


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("matrix", [A, A + 1j * A.T])
def test_one_triangle_of_a_hermitian_matrix_is_read(matrix, lower):
    whole = np.tril(matrix, -1) if lower else np.triu(matrix, 1)
    whole = whole + whole.conj().T + np.diag(matrix.diagonal().real)
    matrix = matrix - 1j * np.diag(matrix.diagonal().imag) if np.iscomplexobj(matrix) else matrix
    values, vectors = both(Eigh(True, lower), Tensor(matrix))
    np.testing.assert_allclose(values.asnumpy(), np.linalg.eigvalsh(whole), atol=1e-10)
    np.testing.assert_allclose(whole @ vectors.asnumpy(), vectors.asnumpy() * values.asnumpy(), atol=1e-10)
    np.testing.assert_array_equal(both(Eigh(False, lower), Tensor(matrix)).asnumpy(), values.asnumpy())


@pytest.mark.parametrize("trans", ["N", "T"])
def test_triangular_systems(trans):
    expected = linalg.solve_triangular(Tensor(A), Tensor(A[0]), trans, True)
    x = both(SolveTriangular(True, False, trans), Tensor(A), Tensor(A[0]))
    np.testing.assert_array_equal(x.asnumpy(), expected.asnumpy())


def test_an_assignment_of_some_columns():
    rows, columns = LinearSumAssignment()(Tensor([[2, 3, 3], [3, 2, 3], [3, 3, 2]]), Tensor(2), False)
    assert rows.tolist() == columns.tolist() == [0, 1, -1]


def test_sizes_that_do_not_fit():
    with pytest.raises(ms.ShapeError):
        Eig()(Tensor(A[:3]))
    with pytest.raises(ms.ShapeError):
        Eigh()(Tensor(A[:3]))
