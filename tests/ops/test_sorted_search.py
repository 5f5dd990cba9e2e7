"""searchsorted and what is made of it (bucketize, repeat_interleave) halve the rows: NumPy's numbers, NaN behind all others, in
eager mode and in graphs of known and of open sizes; no array of all pairs is made."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

RNG = np.random.default_rng(7)
WAYS = {"eager": lambda f: f, "graph": lambda f: ms.jit(f, fullgraph=True),
        "open": lambda f: ms.jit(f, fullgraph=True, dynamic=1)}


@pytest.mark.parametrize("way, dtype, side", [
    *[(way, dtype, side) for way in ("eager", "graph") for dtype in (np.float32, np.int32) for side in ("left", "right")],
    ("open", np.float32, "left"), ("open", np.int32, "right"), ("open", np.float32, "right")])
def test_positions_are_those_of_numpy(way, dtype, side):
    run = WAYS[way](lambda row, values: ops.searchsorted(row, values, side=side))
    for size in (0, 1, 2, 15, 16, 17, 31, 32, 33, 1000):
        row, values = np.sort((RNG.standard_normal(size) * 9).astype(dtype)), (RNG.standard_normal((4, 9)) * 9).astype(dtype)
        if size:
            values[0, :4] = row[[0, -1, size // 2, size // 3]]
        if dtype is np.float32:
            values[1, :3] = np.nan, np.inf, -np.inf
            row[size - size // 5:] = np.nan                  # they are behind all numbers, as NumPy sorts them
        found = run(Tensor(row), Tensor(values))
        assert found.dtype == ms.int64 and found.asnumpy().tolist() == np.searchsorted(row, values, side).tolist()


@pytest.mark.parametrize("way, size", [("eager", 5), ("eager", 40), ("graph", 5), ("graph", 40), ("open", 40)])
def test_each_row_has_values_of_its_own(way, size):
    rows = np.sort(RNG.standard_normal((2, 3, size)).astype(np.float32), -1)
    values = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    wanted = [[np.searchsorted(rows[i, j], values[i, j]).tolist() for j in range(3)] for i in range(2)]
    assert WAYS[way](ops.searchsorted)(Tensor(rows), Tensor(values)).tolist() == wanted


@pytest.mark.parametrize("way", ["eager", "graph"])
def test_long_rows_and_many_values_need_no_more_memory_than_they_have(way):
    row, values = np.arange(300_000, dtype=np.float32), Tensor(np.arange(300_000, dtype=np.float32) + 0.5)      # 90 G pairs
    assert (WAYS[way](ops.searchsorted)(Tensor(row), values).asnumpy() == np.arange(1, 300_001)).all()


def test_no_gradient_comes_through_and_operands_of_two_dtypes_are_promoted():
    gradients = ms.grad(lambda row, x: (ops.searchsorted(row, x) * x).sum(), (0, 1))(Tensor(np.arange(20.0)), Tensor([3.5, 7.0]))
    assert [g.tolist() for g in gradients] == [[0.0] * 20, [4.0, 7.0]]
    assert ops.searchsorted(Tensor(np.arange(20)), 3.5).tolist() == 4
    assert ops.bucketize(Tensor([0.5, 30.0]), list(range(20))).tolist() == [1, 20]


@pytest.mark.parametrize("way", ["eager", "graph"])
def test_what_has_no_order_or_no_axis_is_refused(way):
    for row, text in ((np.array([1j]), "complex numbers have no order"), (np.array(1.0), "has at least one axis")):
        with pytest.raises((TypeError, ValueError), match=f"searchsorted: .*{text}"):
            WAYS[way](ops.searchsorted)(Tensor(row), Tensor([1.0]))
