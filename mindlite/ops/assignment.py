"""The linear sum assignment problem: rows and columns are paired so that the sum of their costs is the least.

Each row finds the shortest augmenting path to a free column, by Dijkstra's algorithm on reduced costs, which duals keep
from being negative (Crouse 2016, "On implementing 2D rectangular assignment algorithms"). O(n^3), in NumPy.
"""
import numpy as np

from ..common import dtype as dt
from ..common.dim import dim_min
from ..common.errors import DTypeError, ShapeError, ValueRangeError
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive, vmap_rule
from .axes import broadcast_shapes
from .basic import batched, reshape
from .define import as_operand
from .sbp import sbp_rule


def _prepare(args, attrs):
    return (as_operand(args[0]), as_operand(args[1], dt.int64)), attrs


@primitive(traits={"library"}, prepare=_prepare)
def assignment(cost, columns, *, maximize):
    """(rows, columns) int64[.., min(m, n)]: the pairs of the least sum of cost[.., m, n], rows rising, then -1.

    columns  : int64[..], how many of the columns are there      maximize : the largest sum
    raises   : when run: ValueRangeError where no pairing has a finite cost
    """


@infer_rule(assignment)
def assignment_infer(cost, columns, *, maximize):
    if cost.dtype.kind == "c":
        raise DTypeError(f"linear_sum_assignment: does not take {cost.dtype.name}")
    if cost.ndim < 2:
        raise ShapeError("linear_sum_assignment: the costs are a matrix", note=f"cost_matrix: {cost}")
    if columns.dtype is not dt.int64:
        raise DTypeError("linear_sum_assignment: dimension_limit is int64", note=f"dimension_limit: {columns}")
    pairs = AbstractTensor(dt.int64, (*broadcast_shapes("linear_sum_assignment", cost.shape[:-2], columns.shape),
                                    dim_min(*cost.shape[-2:])))
    return AbstractTuple((pairs, pairs))


def _pair(cost):
    """The column of each row of cost[m, n], m <= n."""
    m, n = cost.shape
    row_dual, column_dual = np.zeros(m), np.zeros(n)
    row_of, column_of = np.full(n, -1), np.full(m, -1)
    for start in range(m):
        shortest, before, closed, seen = np.full(n, np.inf), np.full(n, -1), np.zeros(n, bool), []
        row, length = start, 0.0
        while True:
            seen.append(row)
            reached = length + cost[row] - row_dual[row] - column_dual
            better = ~closed & (reached < shortest)
            shortest[better], before[better] = reached[better], row
            open_ = np.where(closed, np.inf, shortest)
            length = open_.min()
            if not np.isfinite(length):
                raise ValueRangeError("linear_sum_assignment: no pairing has a finite cost")
            ties = np.flatnonzero(open_ == length)
            free = ties[row_of[ties] < 0]
            column = free[0] if len(free) else ties[0]
            closed[column] = True
            if len(free):
                break
            row = row_of[column]
        row_dual[start] += length
        for row in seen[1:]:
            row_dual[row] += length - shortest[column_of[row]]
        column_dual[closed] -= length - shortest[closed]
        while True:
            row = before[column]
            row_of[column] = row
            column, column_of[row] = column_of[row], column
            if row == start:
                break
    return column_of


@eval_rule(assignment)
def assignment_eval(cost, columns, *, maximize):
    m, n = cost.shape[-2:]
    lead, k = np.broadcast_shapes(cost.shape[:-2], columns.shape), min(m, n)
    out = np.full((2, *lead, k), -1, np.int64)
    for position in np.ndindex(*lead):
        count = int(np.clip(np.broadcast_to(columns, lead)[position], 0, n))
        costs = np.broadcast_to(cost, (*lead, m, n))[position][:, :count].astype(np.float64)
        costs = -costs if maximize else costs
        if m <= count:
            rows, found = np.arange(m), _pair(costs)
        else:
            found = _pair(costs.T)
            order = np.argsort(found)
            rows, found = found[order], order
        out[(0, *position, slice(0, len(rows)))], out[(1, *position, slice(0, len(rows)))] = rows, found
    return out[0], out[1]


@bprop_rule(assignment)
def assignment_bprop(cost, columns, out, dout, *, maximize):
    return None, None


@jvp_rule(assignment)
def assignment_jvp(primals, tangents, out, *, maximize):
    return None, None


def _spec(cost, columns, *, maximize):
    """Nothing is split."""
    pairs = "_" * (max(cost.ndim - 2, columns.ndim) + 1)
    return "_" * cost.ndim + "," + "_" * columns.ndim + f"->{pairs},{pairs}"


sbp_rule(assignment, _spec)


@vmap_rule(assignment)
def assignment_vmap(args, dims, size, *, maximize):
    cost, columns = (batched(x, dim, size) for x, dim in zip(args, dims))
    rank = max(cost.ndim - 2, columns.ndim)
    cost = reshape(cost, shape=(size,) + (1,) * (rank + 2 - cost.ndim) + tuple(cost.shape[1:]))
    columns = reshape(columns, shape=(size,) + (1,) * (rank - columns.ndim) + tuple(columns.shape[1:]))
    return assignment(cost, columns, maximize=maximize), (0, 0)
