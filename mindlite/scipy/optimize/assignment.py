"""The linear sum assignment problem."""
import sys

from ...common.checks import check_value_type
from ...common.errors import ArgumentError
from ...common.tensor import Tensor
from ...ops.assignment import assignment


def linear_sum_assignment(cost_matrix, maximize=False, dimension_limit=sys.maxsize):
    """(rows, columns) int64[min(m, n)]: the pairs of the least sum of cost_matrix[m, n], then -1.

    maximize        : the largest sum instead
    dimension_limit : Tensor int64 or int: how many of the columns are there
    raises          : ArgumentError, ShapeError, DTypeError; ValueRangeError where no pairing has a finite cost
    source          : Crouse 2016, "On implementing 2D rectangular assignment algorithms"
    """
    if not isinstance(cost_matrix, Tensor):
        raise ArgumentError(f"linear_sum_assignment: cost_matrix is a Tensor, not {type(cost_matrix).__name__}")
    return assignment(cost_matrix, dimension_limit, maximize=check_value_type("maximize", maximize, bool,
    "linear_sum_assignment"))
