"""Diagonals as rows, places in sorted rows, different elements, divisors and bits; steps of optimisers for some rows."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, ops
from mindlite.common.errors import ShapeError, ValueRangeError
from mindlite.ops import operations as P

rng = np.random.default_rng(7)


def diagonals(x, lower, upper, padding, align):
    """By the definition, one matrix after the other."""
    rows, columns = x.shape[-2:]
    longest = min(rows + min(upper, 0), columns - max(lower, 0))
    lines = []
    for k in range(upper, lower - 1, -1):
        line = np.diagonal(x, k, -2, -1)
        right = align.startswith("RIGHT") if k >= 0 else align.endswith("RIGHT")
        missing = longest - line.shape[-1]
        lines.append(np.pad(line, ((0, 0), (missing, 0) if right else (0, missing)), constant_values=padding))
    return lines[0] if lower == upper else np.stack(lines, -2)


@pytest.mark.parametrize("align", ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("shape, k", [((3, 4), (-1, 2)), ((4, 3), (-2, 0)), ((3, 3), (1, 1)), ((2, 5), (0, 0)),
                                      ((4, 2), (-3, -2))])
def test_diagonals_are_read_written_and_made_into_matrices(shape, k, align):
    x = rng.standard_normal((2, *shape)).astype(np.float32)
    for run in (lambda f: f, ms.jit):
        part = run(lambda t: ops.matrix_diag_part(t, k, 9.0, align))(Tensor(x))
        np.testing.assert_array_equal(part.asnumpy(), diagonals(x, *k, 9, align))
        np.testing.assert_array_equal(run(lambda t, d: ops.matrix_set_diag(t + 1, d, k, align))(Tensor(x), part).asnumpy(),
                                      np.where(np.tri(*shape, k[1]) - np.tri(*shape, k[0] - 1) > 0, x, x + 1))
        made = run(lambda d: ops.matrix_diag(d, k, *shape, 7.0, align))(part).asnumpy()
        np.testing.assert_array_equal(diagonals(made, *k, 9, align), part.asnumpy())
        assert (made[:, np.tri(*shape, k[1]) - np.tri(*shape, k[0] - 1) == 0] == 7).all()


def test_a_matrix_has_the_diagonals_that_it_has():
    for k in (3, -3, (1, 5), (2, 1)):
        with pytest.raises(ValueRangeError):
            ops.matrix_diag_part(ops.ones((3, 3)), k, 0.0)
    with pytest.raises(ShapeError, match=r"\[3\] elements|elements are wanted"):
        ops.matrix_set_diag(ops.ones((3, 3)), ops.ones((2,)))


# ---------------------------------------------------------------- order

@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_rows_are_those_of_numpy(right):
    rows, values = np.sort(rng.integers(0, 9, (3, 6)), -1), rng.integers(-1, 10, (3, 4))
    side = "right" if right else "left"
    for run in (lambda f: f, ms.jit):
        made = run(lambda r, v: ops.searchsorted(r, v, right=right))(Tensor(rows), Tensor(values))
        assert made.dtype == ms.int64
        np.testing.assert_array_equal(made.asnumpy(), [np.searchsorted(r, v, side) for r, v in zip(rows, values)])
    one = ops.searchsorted(Tensor(rows[0]), Tensor(values), side=side, out_int32=True)
    assert one.dtype == ms.int32 and (one.asnumpy() == np.searchsorted(rows[0], values, side)).all()
    mixed = rng.permutation(7)
    assert (ops.searchsorted(Tensor(mixed), Tensor([2, 5]), sorter=Tensor(np.argsort(mixed))).asnumpy() == [2, 5]).all()
    with pytest.raises(ShapeError, match="not as many rows"):
        ops.searchsorted(Tensor(rows), Tensor(values[:2]))


@pytest.mark.parametrize("count", [1, 2, 9, 40])
def test_the_different_elements_come_first_and_then_the_padding(count):
    x = rng.integers(0, 8, (3, count)).astype(np.int32)
    made = ms.vmap(lambda row: ops.unique_with_pad(row, -1))(Tensor(x))
    for row, values, index in zip(x, *(part.asnumpy() for part in made)):
        for run in (ops.unique_with_pad, ms.jit(ops.unique_with_pad)):
            assert [part.asnumpy().tolist() for part in run(Tensor(row), -1)] == [values.tolist(), index.tolist()]
        different = list(dict.fromkeys(row.tolist()))
        assert values.tolist() == different + [-1] * (count - len(different))
        assert index.tolist() == [different.index(v) for v in row.tolist()]


def test_divisors_multiples_and_bits_are_those_of_python():
    a, b = rng.integers(-200, 200, 50), rng.integers(-200, 200, 50)
    a[:3], b[0], b[2] = 0, 0, 7
    for run in (lambda f: f, ms.jit):
        np.testing.assert_array_equal(run(ops.gcd)(Tensor(a), Tensor(b)).asnumpy(), np.gcd(a, b))
        np.testing.assert_array_equal(run(ops.lcm)(Tensor(a), Tensor(b)).asnumpy(), np.lcm(a, b))
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16"):
            x = a.astype(dtype)
            mask = (1 << 8 * x.itemsize) - 1
            made = run(ops.population_count)(Tensor(x))
            assert made.dtype == ms.uint8 and made.asnumpy().tolist() == [bin(int(v) & mask).count("1") for v in x]


def test_padding_puts_zeros_behind_a_last_axis_of_one():
    assert ops.padding(Tensor([[1.0], [2.0]]), 3).asnumpy().tolist() == [[1, 0, 0], [2, 0, 0]]
    with pytest.raises(ShapeError, match="size 1"):
        ops.padding(ops.ones((2, 2)))


def test_numbers_of_axes_go_from_one_layout_to_the_other():
    x = Tensor(np.arange(-4, 4, dtype=np.int32))
    assert P.DataFormatDimMap()(x).asnumpy().tolist() == [0, 3, 1, 2] * 2
    assert P.DataFormatDimMap("NCHW", "NHWC")(x).asnumpy().tolist() == [0, 2, 3, 1] * 2


# ---------------------------------------------------------------- decompositions

def test_singular_values_and_vectors_give_the_matrix_again():
    for shape in ((3, 2), (2, 4, 4), (2, 3)):
        x = rng.standard_normal(shape).astype(np.float32)
        for full in (False, True):
            s, u, v = (part.asnumpy() for part in ms.jit(ops.svd)(Tensor(x), full))
            k = s.shape[-1]
            np.testing.assert_allclose(u[..., :k] * s[..., None, :] @ np.swapaxes(v[..., :k], -1, -2), x, atol=1e-5)
            np.testing.assert_allclose(np.swapaxes(u, -1, -2) @ u, np.broadcast_to(np.eye(u.shape[-1]), (
                *x.shape[:-2], u.shape[-1], u.shape[-1])), atol=1e-5)
            np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), atol=1e-5)
        np.testing.assert_allclose(ops.svd(Tensor(x), compute_uv=False).asnumpy(), s, atol=1e-6)


# ---------------------------------------------------------------- steps for some rows

def followed(w, n, z, g, lr, l1, l2, power):
    """FTRL-proximal as in McMahan et al. 2013, one number."""
    sigma = ((n + g * g) ** -power - n ** -power) / lr
    z, n = z + g - sigma * w, n + g * g
    return (0.0 if abs(z) <= l1 else -(z - np.sign(z) * l1) / (n ** -power / lr + 2 * l2)), n, z


@pytest.mark.parametrize("jit", [False, True])
def test_ftrl_steps_for_all_rows_for_some_and_for_rows_named_twice(jit):
    start = [rng.uniform(0.1, 1, (4, 2)) for _ in range(3)]
    g, settings = rng.standard_normal((3, 2)), (0.1, 0.05, 0.2, -0.5)
    step = np.vectorize(followed)

    def run(operation, *rest):
        state = [Parameter(Tensor(x), name=f"s{i}") for i, x in enumerate(start)]
        call = lambda *rest: operation(*state, *rest)                  # noqa: E731
        (ms.jit(call) if jit else call)(*[Tensor(x) for x in rest])
        return [p.asnumpy() for p in state]

    whole = np.concatenate([g, g[:1]])
    for made, wanted in zip(run(lambda *a: P.ApplyFtrl()(*a, *settings), whole), step(*start, whole, *settings)):
        np.testing.assert_allclose(made, wanted, rtol=1e-6)
    rows = np.array([3, 0, 1])
    new = step(*[x[rows] for x in start], g, *settings)
    for kind in (P.SparseApplyFtrl, P.FusedSparseFtrl):
        for made, old, changed in zip(run(kind(*settings), g, rows), start, new):
            wanted = old.copy()
            wanted[rows] = changed
            np.testing.assert_allclose(made, wanted, rtol=1e-6)
    twice = np.array([2, 2, 0])
    new = step(*[x[[2, 0]] for x in start], np.stack([g[0] + g[1], g[2]]), *settings)
    for made, old, changed in zip(run(P.FusedSparseFtrl(*settings), g, twice), start, new):
        wanted = old.copy()
        wanted[[2, 0]] = changed
        np.testing.assert_allclose(made, wanted, rtol=1e-6)


def test_adagrad_steps_for_some_rows():
    for update in (True, False):
        w, a = Parameter(Tensor([[1.0], [2.0], [3.0]]), name="w"), Parameter(Tensor([[0.1], [0.2], [0.3]]), name="a")
        P.SparseApplyAdagradV2(lr=0.5, epsilon=1e-3, update_slots=update)(w, a, Tensor([[2.0], [1.0]]), Tensor([2, 0]))
        sums = np.array([1.1, 0.2, 4.3]) if update else np.array([0.1, 0.2, 0.3])
        np.testing.assert_allclose(a.asnumpy().ravel(), sums, rtol=1e-6)
        np.testing.assert_allclose(w.asnumpy().ravel(), np.array([1, 2, 3]) - 0.5 * np.array([1, 0, 2])
                                   / (np.sqrt(sums) + 1e-3), rtol=1e-6)
    with pytest.raises(ShapeError, match="rows of the gradient do not fit"):
        P.SparseApplyAdagrad(lr=0.5)(w, a, ops.ones((2, 1)), Tensor([0]))
