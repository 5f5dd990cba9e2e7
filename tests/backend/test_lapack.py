"""Matrices by LAPACK at its address: NumPy's results and errors in both modes, gradients by differences, stacks."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cpu import library_kernel
from mindlite.backend.launcher import set_threads
from mindlite.common.errors import ValueRangeError
from mindlite.ops.decomposition import cofactors, cofactors_eval
from mindlite.ops.factors import matrix_exp_eval

SIZES = [((), 0), ((), 1), ((), 2), ((3,), 5), ((2, 2), 33), ((0,), 4), ((), 130)]
TOLERANCE = {"float32": dict(rtol=3e-3, atol=3e-3), "float64": dict(rtol=1e-9, atol=1e-9)}
WAYS = pytest.mark.parametrize("way", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
needs_lapack = pytest.mark.skipif(library_kernel("lapack", kind="inverse", dtype="float64") is None, reason="no LAPACK was found")


def matrices(lead, n, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((*lead, n, n)) + 2 * np.eye(n)).astype(dtype)


def positive(lead, n, dtype="float64"):
    x = matrices(lead, n)
    return (x @ np.swapaxes(x, -1, -2) / max(n, 1) + np.eye(n)).astype(dtype)


def run(f, *args):
    found = f(*(Tensor(a) for a in args))
    return [y.asnumpy() for y in found] if isinstance(found, tuple) else [found.asnumpy()]


@WAYS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_of_any_size_are_as_numpy_has_them(dtype, way):
    for lead, n in SIZES:
        x, p = matrices(lead, n, dtype), positive(lead, n, dtype)
        b = np.random.default_rng(1).standard_normal((*lead, n, 3)).astype(dtype)

        def same(got, want):
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, **TOLERANCE[dtype])
        same(run(way(ops.inverse), x), [np.linalg.inv(x)])
        same(run(way(ops.slogdet), x), np.linalg.slogdet(x))
        same(run(way(ops.det), x / 3), [np.linalg.det(x / 3)])
        same(run(way(ops.cholesky), p), [np.linalg.cholesky(p)])
        same(run(way(lambda a, c: ops.solve(a, c)), x, b), [np.linalg.solve(x, b)])
        small = x / max(1, n) ** 0.5
        same(run(way(ops.matrix_exp), small), [matrix_exp_eval(small.astype("float64")).astype(dtype)])
        for lower in (True, False):
            half = (np.tril if lower else np.triu)(p)
            for trans in (0, 1):
                wanted = np.linalg.solve(np.swapaxes(half, -1, -2) if trans else half, b)
                same(run(way(lambda a, c: ops.solve_triangular(a, c, trans, lower)), p, b), [wanted])


@WAYS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 5), (2, 7, 3), (3, 7), (40, 33), (33, 70), (4, 0), (0, 3), (130, 1)])
def test_orthogonal_factors_of_any_shape_are_as_numpy_has_them(shape, dtype, way):
    x = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
    for mode in ("reduced", "complete"):
        got, want = run(way(lambda a: ops.qr(a, mode)), x), np.linalg.qr(x, mode)
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype and g.shape == w.shape
            np.testing.assert_allclose(g, w, atol=2e-5 if dtype == "float32" else 1e-12)


@WAYS
def test_the_exponential_of_large_and_of_infinite_matrices(way):
    x = np.stack([30 * np.eye(3), np.diag([-60.0, 1e-3, 0]), np.zeros((3, 3)), np.triu(np.full((3, 3), 8.0), 1)])
    got = run(way(ops.matrix_exp), x)[0]
    want = np.stack([np.diag(np.exp(np.diag(x[i]))) for i in range(3)] + [np.eye(3) + x[3] + x[3] @ x[3] / 2])
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    assert not np.isfinite(run(way(ops.matrix_exp), np.full((40, 40), np.inf))[0]).any()


@needs_lapack
@pytest.mark.parametrize("f", [ops.inverse, ops.slogdet, ops.det, ops.cholesky, lambda x: ops.solve(x, x),
                               lambda x: ops.solve_triangular(x, x), lambda x: ops.qr(x), ops.matrix_exp],
                         ids=["inverse", "slogdet", "det", "cholesky", "solve", "triangular", "qr", "matrix_exp"])
def test_compiled_factors_have_no_python_between(f):
    compiled = ms.jit(f, fullgraph=True)
    compiled(Tensor(positive((2,), 6)))
    assert len(compiled.kernels()) and all(kernel.recipe[:2] == ("library", "lapack") for kernel in compiled.kernels())


@WAYS
@pytest.mark.parametrize("n", [3, 40])
def test_singular_and_indefinite_matrices_are_errors_that_say_so(n, way):
    singular = np.ones((2, n, n))
    for f, text in ((ops.inverse, "inverse: Singular matrix"), (lambda x: ops.solve(x, x), "solve: Singular matrix"),
                    (lambda x: ops.solve_triangular(x * 0, x), "solve_triangular: Singular matrix"),
                    (lambda x: ops.cholesky(-x), "cholesky: Matrix is not positive definite")):
        with pytest.raises(ValueRangeError, match=text):
            run(way(f), singular)
    np.testing.assert_array_equal(run(way(ops.det), singular * 0)[0], [0, 0])
    signs, logs = run(way(ops.slogdet), singular * 0)
    np.testing.assert_array_equal((signs, logs), ([0, 0], [-np.inf, -np.inf]))


@WAYS
def test_determinants_beyond_the_range_of_partial_products_are_found(way):
    diagonal = np.array([1e200, 1e200, -1e-200, 1e-200])
    np.testing.assert_allclose(run(way(ops.det), np.diag(diagonal)[::-1].copy())[0], -1)
    assert run(way(ops.det), np.diag([1e200, 1e200]))[0] == np.inf
    assert np.isnan(run(way(ops.det), np.full((40, 40), np.nan))[0])


@WAYS
def test_one_matrix_meets_a_stack_on_the_other_side(way):
    a, b = matrices((), 40), np.random.default_rng(2).standard_normal((5, 40, 2))
    np.testing.assert_allclose(run(way(lambda x, y: ops.solve(x, y)), a, b)[0], np.linalg.solve(a, b), rtol=1e-8)
    many, one = matrices((3,), 40, seed=4), b[0]
    np.testing.assert_allclose(run(way(lambda x, y: ops.solve(x, y)), many, one)[0], np.linalg.solve(many, one[None]), rtol=1e-7)
    lower = np.tril(many) + 40 * np.eye(40)
    got = run(way(lambda x, y: ops.solve_triangular(x, y, 0, True)), lower, one)[0]
    np.testing.assert_allclose(got, np.linalg.solve(lower, one[None]), rtol=1e-8)
    across = run(way(lambda x, y: ops.solve(x, y)), many[:, None], b[None, :, :, :])[0]
    np.testing.assert_allclose(across, np.linalg.solve(many[:, None], b[None]), rtol=1e-7)


def test_other_triangles_are_not_read():
    a, b = positive((), 40), np.random.default_rng(3).standard_normal((40, 2))
    for lower in (True, False):
        spoiled = np.where((np.tril if lower else np.triu)(np.ones_like(a)) > 0, a, np.nan)
        for unit in (False, True):
            matrix = np.where(np.eye(40) > 0, np.nan, spoiled) if unit else spoiled
            for way in (lambda f: f, ms.jit):
                for trans in (0, 1):
                    matrix = matrix / 40 if unit else matrix
                    got = run(way(lambda x, y: ops.solve_triangular(x, y, trans, lower, unit)), matrix, b)[0]
                    whole = np.nan_to_num(matrix) + (np.eye(40) if unit else 0)
                    np.testing.assert_allclose(got, np.linalg.solve(whole.T if trans else whole, b), rtol=1e-8)


FUNCTIONS = {"cholesky": lambda x: ops.cholesky(x), "upper": lambda x: ops.cholesky(x, True), "inverse": ops.inverse,
             "slogdet": lambda x: ops.slogdet(x)[1], "det": lambda x: ops.det(x), "solve": lambda x: ops.solve(x, x * x),
             "lower": lambda x: ops.solve_triangular(x, x * x, 0, True),
             "transposed": lambda x: ops.solve_triangular(x, x * x, 1),
             "unit": lambda x: ops.solve_triangular(x, x * x, 1, True, True), "qr": lambda x: ops.qr(x)[1],
             "given a factor": lambda x: ops.cholesky_solve(x * x, x)}


@WAYS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_their_gradients_are_those_of_differences(name, way):
    rng = np.random.default_rng(5)
    for lead, n in (((), 1), ((2,), 4), ((), 34)):
        x, direction = positive(lead, n), rng.standard_normal((*lead, n, n))
        if name in ("cholesky", "upper"):
            direction = direction + np.swapaxes(direction, -1, -2)
        w = rng.standard_normal(FUNCTIONS[name](Tensor(x)).shape)

        def loss(t):
            return (FUNCTIONS[name](t) * Tensor(w)).sum()
        gradient = way(ms.grad(loss))

        def slope(t):
            return (ms.grad(loss)(t) * Tensor(direction)).sum()
        step = 1e-5
        ahead, behind = x + step * direction, x - step * direction
        by_differences = (run(loss, ahead)[0] - run(loss, behind)[0]) / (2 * step)
        np.testing.assert_allclose((run(gradient, x)[0] * direction).sum(), by_differences, rtol=1e-5, atol=1e-5)
        second = (run(gradient, ahead)[0] - run(gradient, behind)[0]) / (2 * step)
        largest = max(1, abs(second).max(initial=0))
        np.testing.assert_allclose(run(way(ms.grad(slope)), x)[0], second, rtol=2e-4, atol=2e-4 * largest)


def test_stacks_do_not_depend_on_the_threads():
    x, found = Tensor(positive((37,), 24)), []
    for threads in (1, 2, 3):
        set_threads(threads)
        try:
            functions = map(ms.jit, (ops.inverse, ops.cholesky, ops.det, lambda a: ops.solve(a, a)))
            found.append([f(x).asnumpy().tobytes() for f in functions])
        finally:
            set_threads(2)
    assert found[0] == found[1] == found[2]


def test_stacks_of_open_sizes_are_one_graph():
    compiled = ms.jit(lambda x: ops.cholesky(x), dynamic=1, fullgraph=True)
    for lead, n in ((1, 1), (7, 3), (2, 50), (0, 4)):
        x = positive((lead,), n)
        np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), np.linalg.cholesky(x), rtol=1e-9)


@WAYS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_slopes_of_determinants_are_the_minors_of_regular_and_of_singular_matrices(dtype, way):
    gradient = way(ms.grad(lambda t: ops.det(t).sum()))
    rtol = {"float16": 2e-2, "bfloat16": 6e-2, "float32": 2e-5, "float64": 1e-10}[dtype]
    for lead, n in (((), 1), ((3,), 4), ((2, 2), 7), ((), 0), ((0,), 3), ((1500,), 5)):
        regular = np.random.default_rng(7).integers(-1, 2, (*lead, n, n)) + np.eye(n)
        again, nought = regular.copy(), regular.copy()
        if n > 1:
            again[..., -1, :] = again[..., 0, :]             # of rank n - 1 at most
            nought[..., :2, :] = 0                           # of rank n - 2
        spoiled = regular.copy()
        spoiled.reshape(-1)[:1] = np.nan
        for x in (regular, again, nought, regular * 0, spoiled):
            minors = np.zeros_like(x)
            for r in range(n):
                for c in range(n):
                    minors[..., r, c] = np.linalg.det(np.delete(np.delete(x, r, -2), c, -1)) * (-1) ** (r + c)
            minors[~np.isfinite(x).all((-2, -1))] = np.nan
            given = Tensor(x).astype(getattr(ms, dtype))
            for _ in range(2):
                found = gradient(given).asnumpy().astype(np.float64)
                np.testing.assert_allclose(found, minors, rtol=rtol, atol=rtol * 10)


@needs_lapack
def test_slopes_of_large_determinants_and_of_nearly_singular_matrices_are_numpys():
    x = matrices((3,), 65) / 8
    x[1, 3] = x[1, 5] + 1e-11 * x[1, 4]
    x[2, 0, 0] = np.inf
    compiled = ms.jit(cofactors, fullgraph=True)
    wanted, found = cofactors_eval(x), compiled(Tensor(x)).asnumpy()
    assert all(kernel.recipe[:2] == ("library", "lapack") for kernel in compiled.kernels())
    assert np.isnan(found[2]).all() and np.isfinite(found[:2]).all()
    for f, w in zip(found[:2], wanted):
        np.testing.assert_allclose(f, w, atol=1e-7 * abs(w).max())
