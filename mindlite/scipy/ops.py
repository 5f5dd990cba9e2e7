"""Decompositions and solvers as operator classes: the settings are given to the constructor, the matrices to the call."""
from .. import ops
from ..common.tensor import Tensor
from ..ops.operations.define import operation
from . import linalg
from .optimize import linear_sum_assignment


@operation
def Eig(a: Tensor, *, compute_v: bool = True) -> tuple[Tensor, Tensor]:
    """(eigenvalues, eigenvectors as columns), complex; without compute_v (eigenvalues, an empty Tensor).

    a      : float[.., n, n] or complex
    raises : ShapeError for matrices that are not square
    """
    if compute_v:
        return ops.eig(a)
    values = ops.eigvals(a)
    return values, values[..., :0]


@operation
def Eigh(a: Tensor, *, compute_eigenvectors: bool = True, lower: bool = True) -> Tensor | tuple[Tensor, Tensor]:
    """(eigenvalues, rising; eigenvectors as columns) of a symmetric or Hermitian matrix; see scipy.linalg.eigh.

    a                    : float[n, n] or complex
    compute_eigenvectors : False: the eigenvalues alone
    lower                : bool: the lower triangle is read, else the upper one
    raises               : ShapeError for a matrix that is not square
    """
    return linalg.eigh(a, lower=lower, eigvals_only=not compute_eigenvectors)


@operation
def SolveTriangular(a: Tensor, b: Tensor, *, lower: bool = False, unit_diagonal: bool = False, trans: str = "N") -> Tensor:
    """x with a x = b for a triangular a; see scipy.linalg.solve_triangular. a : float[.., n, n]; b : float[.., n, k] or [n]

    raises : ShapeError for sizes that differ, ValueRangeError for another trans
    """
    return linalg.solve_triangular(a, b, trans, lower, unit_diagonal)


@operation
def LinearSumAssignment(cost_matrix: Tensor, dimension_limit: Tensor, maximize: bool) -> tuple[Tensor, Tensor]:
    """(rows, columns) of least or largest summed cost; see scipy.optimize.linear_sum_assignment.

    cost_matrix     : Tensor [m, n]
    dimension_limit : Tensor []: the columns from here on are left out
    maximize        : bool
    """
    return linear_sum_assignment(cost_matrix, maximize, dimension_limit)
