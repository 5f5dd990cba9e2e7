"""Iterative solvers and minima against SciPy, in Python and in graphs; gradients of solutions; assignments."""
import numpy as np
import pytest
import scipy.optimize
from scipy.optimize._linesearch import line_search_wolfe2

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.scipy import optimize, sparse

_rng = np.random.default_rng(7)
_A = _rng.normal(size=(5, 5))
POSITIVE, GENERAL, B = _A @ _A.T + np.eye(5), _A + 4 * np.eye(5), _rng.normal(size=5)
SOLVERS = {"cg": POSITIVE, "bicgstab": GENERAL, "gmres": GENERAL}


def close(found, expected, rtol=1e-6, atol=1e-7):
    np.testing.assert_allclose(np.asarray(found), expected, rtol, atol)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_solves_and_has_the_gradient_of_the_solution(name):
    solver, a, weights = getattr(sparse.linalg, name), SOLVERS[name], np.cos(np.arange(5))

    def solved(a, b):
        return solver(a, b, tol=1e-12)

    def by_function(a, b):
        return solver(lambda x: ops.matmul(a, x), b, tol=1e-12)[0]

    def weighed(a, b):
        return (by_function(a, b) * weights).sum()
    across = np.linalg.solve(a.T, weights)
    for wrap in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        x, info = wrap(solved)(Tensor(a), Tensor(B))
        close(x, np.linalg.solve(a, B))
        assert int(info) == 0
        close(wrap(by_function)(Tensor(a), Tensor(B)), np.linalg.solve(a, B))
        for f in (lambda a, b: (solved(a, b)[0] * weights).sum(), weighed):
            by_a, by_b = wrap(ms.grad(f, (0, 1)))(Tensor(a), Tensor(B))
            close(by_b, across)
            close(by_a, -np.outer(across, np.linalg.solve(a, B)))


def test_a_gradient_of_a_gradient_of_a_solution():
    def f(b):
        return sparse.linalg.cg(Tensor(POSITIVE) * (1 + b[0]), b, tol=1e-12)[0].sum()

    def exact(b):
        return ops.solve(Tensor(POSITIVE) * (1 + b[0]), b).sum()
    b = Tensor(B)
    close(ms.grad(f)(b), ms.grad(exact)(b).asnumpy())
    twice = [ms.grad(lambda b: (ms.grad(g)(b) * Tensor(np.arange(5.0))).sum())(b) for g in (f, exact)]
    close(twice[0], twice[1].asnumpy(), 1e-5)


def test_a_start_a_preconditioner_and_too_few_iterations():
    big = np.diag(np.arange(1.0, 41.0)) + 0.1
    b = np.ones(40)
    for name in SOLVERS:
        solver = getattr(sparse.linalg, name)
        x, info = solver(Tensor(big), Tensor(b), Tensor(np.ones(40)), tol=1e-10, M=Tensor(np.diag(1 / np.diag(big))))
        close(x, np.linalg.solve(big, b))
        assert int(info) == 0
        assert int(solver(Tensor(big), Tensor(b), tol=1e-14, maxiter=1, **({"restart": 2} if name == "gmres" else {}))[1]) == 1
    close(sparse.linalg.cg(lambda x: 2 * x, Tensor(np.ones((2, 3))))[0], np.full((2, 3), 0.5))
    close(sparse.linalg.gmres(Tensor(GENERAL), Tensor(np.zeros(5)))[0], np.zeros(5))


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(p):
    x, y = p
    return (x ** 2 + y - 11) ** 2 + (x + y ** 2 - 7) ** 2


@pytest.mark.parametrize("method", ["BFGS", "LBFGS"])
@pytest.mark.parametrize("f, start", [(rosenbrock, np.zeros(2)), (himmelblau, np.zeros(2)), (rosenbrock, np.full(6, 1.3))])
def test_a_minimum_is_that_of_scipy(method, f, start):
    theirs = scipy.optimize.minimize(f, start, method="BFGS", options=dict(gtol=1e-6))
    found = optimize.minimize(f, Tensor(start), method=method, options=dict(gtol=1e-6))
    close(found.x, theirs.x, 1e-4, 1e-5)
    assert bool(found.success) and int(found.status) == 0 and int(found.nit) <= 2 * theirs.nit + 10
    close(found.fun, theirs.fun, 1e-4, 1e-9)
    close(found.jac, np.zeros(len(start)), atol=1e-6)


def test_a_minimum_in_a_graph_and_with_a_gradient_of_ones_own():
    def least(x, target):
        return optimize.minimize(lambda x, t: ((x - t) ** 4 + (x - t) ** 2).sum(), x, (target,), "BFGS", tol=1e-8).x
    x, target = Tensor(np.zeros(3)), Tensor(np.array([1.0, -2.0, 0.5]))
    close(ms.jit(least, fullgraph=True)(x, target), target.asnumpy())
    calls = []

    def gradient(x):
        calls.append(1)
        return 2 * x
    found = optimize.minimize(lambda x: (x * x).sum(), Tensor([3.0, 4.0]), method="LBFGS", jac=gradient)
    close(found.x, [0, 0], atol=1e-5)
    assert len(calls) == int(found.njev)
    assert int(optimize.minimize(rosenbrock, Tensor(np.zeros(4)), method="BFGS", options=dict(maxiter=2)).status) == 1


@pytest.mark.parametrize("f, x, p", [
    (lambda x: -x - x ** 3 + x ** 4, 0.0, 1.0), (lambda x: ops.exp(-4 * x) + x ** 2, 0.0, 1.0),
    (lambda x: -ops.sin(10 * x), 0.0, 1.0),
    (lambda x: (x * x).sum(), [1.1, 0.1, 0.6, -0.4], [-1.3, 1.6, -0.1, -0.7]), (rosenbrock, [0.0, 0.3, -0.4], [0.2, -0.5, 0.6])])
def test_a_step_is_that_of_scipy(f, x, p):
    x, p = np.array(x), np.array(p)
    value = lambda x: f(Tensor(x)).asnumpy().item()                                                   # noqa: E731
    slope = lambda x: ms.grad(lambda x: f(x).sum())(Tensor(x)).asnumpy()                              # noqa: E731
    step, _, _, fun, _, _ = line_search_wolfe2(value, slope, x, p, maxiter=20)
    search = lambda x, p: optimize.line_search(f, x, p)                                               # noqa: E731
    for run in (search, ms.jit(search, fullgraph=True)):
        found = run(Tensor(x), Tensor(p))
        close(found.a_k, step)
        close(found.f_k, fun)
        assert not bool(found.failed)


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (1, 1), (7, 7)])
def test_an_assignment_costs_as_little_as_scipys(shape):
    run = ms.jit(lambda c: (optimize.linear_sum_assignment(c), optimize.linear_sum_assignment(c, True)), fullgraph=True)
    for k in range(6):
        cost = _rng.integers(0, 9, shape).astype(np.float64) if k % 2 else _rng.normal(size=shape)
        for maximize, (rows, columns) in enumerate(run(Tensor(cost))):
            theirs = scipy.optimize.linear_sum_assignment(cost, bool(maximize))
            close(cost[rows.asnumpy(), columns.asnumpy()].sum(), cost[theirs].sum())
            assert rows.tolist() == theirs[0].tolist() and len(set(columns.tolist())) == min(shape)


def test_an_assignment_to_some_of_the_columns():
    rows, columns = optimize.linear_sum_assignment(Tensor([[2.0, 3, 3], [3, 2, 3], [3, 3, 2]]), False, Tensor(2))
    assert rows.tolist() == [0, 1, -1] and columns.tolist() == [0, 1, -1]
    with pytest.raises(ValueError, match="finite"):
        optimize.linear_sum_assignment(Tensor([[np.inf, np.inf], [1.0, 2.0]]))


@pytest.mark.parametrize("make, error", [
    (lambda: sparse.linalg.cg(Tensor(np.ones((2, 3))), Tensor(B)), ValueError),
    (lambda: sparse.linalg.cg(3, Tensor(B)), TypeError),
    (lambda: sparse.linalg.gmres(Tensor(GENERAL), B), TypeError),
    (lambda: sparse.linalg.gmres(Tensor(GENERAL), Tensor(B), restart=0), ValueError),
    (lambda: sparse.linalg.cg(Tensor(POSITIVE), Tensor(B), callback=print), TypeError),
    (lambda: sparse.linalg.bicgstab(Tensor(GENERAL), Tensor(B), callback=print), TypeError),
    (lambda: sparse.linalg.gmres(Tensor(GENERAL), Tensor(B), callback=print), TypeError),
    (lambda: sparse.linalg.gmres(Tensor(GENERAL), Tensor(B), solve_method="other"), ValueError),
    (lambda: optimize.minimize(rosenbrock, Tensor(B), method="BFGS", options={"disp": True}), TypeError),
    (lambda: optimize.minimize(rosenbrock, Tensor(B), method=3), ValueError),
    (lambda: optimize.minimize(rosenbrock, Tensor(B)), ValueError), (lambda: optimize.minimize(rosenbrock, Tensor(B), 3,
    "BFGS"), TypeError),
    (lambda: optimize.minimize(rosenbrock, Tensor(B), method="BFGS", bounds=[(0, 1)]), TypeError),
    (lambda: optimize.linear_sum_assignment(np.eye(2)), TypeError),
    (lambda: optimize.linear_sum_assignment(Tensor(B)), ValueError)])
def test_what_does_not_fit_is_an_error(make, error):
    with pytest.raises(error):
        make()
