"""mindlite.scipy.linalg and fft against SciPy: values with drawn arguments in Python and in graphs, gradients by differences."""
import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import mindlite as ms
from mindlite import Tensor, ops, scipy as msp

_rng = np.random.default_rng(4)
GENERAL = _rng.normal(size=(4, 4)) + 3 * np.eye(4)
OTHER = _rng.normal(size=(4, 4))
POSITIVE = OTHER @ OTHER.T + np.eye(4)
SYMMETRIC = OTHER + OTHER.T
TALL, COLUMNS, VECTOR = _rng.normal(size=(5, 3)), _rng.normal(size=(4, 2)), _rng.normal(size=4)

# name: (function of ours or SciPy's linalg and of ndarrays or Tensors, the arrays)
CALLS = {
    "inv": (lambda la, a: la.inv(a), GENERAL),
    "det": (lambda la, a: la.det(a), GENERAL),
    "solve": (lambda la, a, b: la.solve(a, b), GENERAL, COLUMNS),
    "solve vector": (lambda la, a, b: la.solve(a, b), GENERAL, VECTOR),
    "cholesky": (lambda la, a: la.cholesky(a), POSITIVE),
    "cholesky lower": (lambda la, a: la.cholesky(a, lower=True), POSITIVE),
    "cholesky of the upper triangle": (lambda la, a: la.cholesky(a), np.triu(POSITIVE) + np.tril(OTHER, -1)),
    "cholesky of the lower triangle": (lambda la, a: la.cholesky(a, lower=True), np.tril(POSITIVE) + np.triu(OTHER, 1)),
    **{f"solve {word} {lower}": (lambda la, a, b, word=word, lower=lower: la.solve(a, b, lower=lower, assume_a=word),
                                 np.tril(a) + np.triu(OTHER, 1) if lower else np.triu(a) + np.tril(OTHER, -1), b)
       for word, a, b in (("sym", SYMMETRIC, VECTOR), ("her", SYMMETRIC, COLUMNS), ("pos", POSITIVE, VECTOR))
       for lower in (True, False)},
    "cho_solve": (lambda la, a, b: la.cho_solve(la.cho_factor(a), b), POSITIVE, VECTOR),
    "cho_solve lower": (lambda la, a, b: la.cho_solve(la.cho_factor(a, lower=True), b), POSITIVE, COLUMNS),
    "lu": (lambda la, a: la.lu(a), GENERAL[[2, 0, 3, 1]]),
    "lu permuted": (lambda la, a: la.lu(a, permute_l=True), OTHER),
    "lu_factor": (lambda la, a: la.lu_factor(a), OTHER),
    "lu_solve": (lambda la, a, b: la.lu_solve(la.lu_factor(a), b), OTHER, VECTOR),
    "lu_solve transposed": (lambda la, a, b: la.lu_solve(la.lu_factor(a), b, trans=1), OTHER, COLUMNS),
    "eigvalsh": (lambda la, a: la.eigh(a, eigvals_only=True), SYMMETRIC),
    "block_diag": (lambda la, a, b: la.block_diag(a, b), COLUMNS, TALL),
    **{f"solve_triangular {trans} {lower} {unit}": (
        lambda la, a, b, trans=trans, lower=lower, unit=unit: la.solve_triangular(a, b, trans, lower, unit), GENERAL, b)
       for trans, lower, unit, b in ((0, True, False, VECTOR), ("T", False, True, COLUMNS), ("N", False, False, VECTOR),
                                     (1, True, True, COLUMNS))},
}


def close(found, expected, rtol=1e-9, atol=1e-9):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            close(f, e, rtol, atol)
        return
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(found), expected, rtol, atol)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_what_scipys_does(name):
    call, *arrays = CALLS[name]
    expected = call(scipy.linalg, *arrays)
    tensors = [Tensor(a) for a in arrays]
    for run in (call, None):
        if run is None:
            close(ms.jit(lambda *ts: call(msp.linalg, *ts), fullgraph=True)(*tensors), expected)
        else:
            close(run(msp.linalg, *tensors), expected)


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("lu_factor", "eigvalsh", "block_diag")])
def test_a_gradient_is_that_of_differences(name):
    call, *arrays = CALLS[name]

    def weighed(la, total, *xs):
        out = call(la, *xs)
        parts = out[1:] if name == "lu" else out if isinstance(out, tuple) else (out,)
        return sum(total(part * np.cos(np.arange(np.prod(part.shape))).reshape(part.shape)) for part in parts)
    slopes = ms.grad(lambda *xs: weighed(msp.linalg, ops.sum, *xs), tuple(range(len(arrays))))(*[Tensor(a) for a in arrays])
    slopes = slopes if isinstance(slopes, tuple) else (slopes,)
    for k, slope in enumerate(slopes):
        step = _rng.normal(size=arrays[k].shape)
        ends = [weighed(scipy.linalg, np.sum, *[a + h * step if j == k else a for j, a in enumerate(arrays)])
                for h in (1e-6, -1e-6)]
        close(float((slope.asnumpy() * step).sum()), (ends[0] - ends[1]) / 2e-6, 1e-5, 1e-6)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_eigenvectors_of_one_matrix_and_of_pairs(kind, lower):
    run = ms.jit(lambda a, b: (msp.linalg.eigh(a, lower=lower), msp.linalg.eigh(a, b, lower=lower, type=kind)), fullgraph=True)
    for (w, v), (pair_w, pair_v) in (run(Tensor(SYMMETRIC), Tensor(POSITIVE)),):
        w, v, pair_w, pair_v = (x.asnumpy() for x in (w, v, pair_w, pair_v))
        close(SYMMETRIC @ v, v * w)
        close(v.T @ v, np.eye(4))
        close(pair_w, scipy.linalg.eigh(SYMMETRIC, POSITIVE, lower=lower, type=kind, eigvals_only=True))
        left, right = {1: (SYMMETRIC, POSITIVE), 2: (SYMMETRIC @ POSITIVE, np.eye(4)), 3: (POSITIVE @ SYMMETRIC, np.eye(4))}[kind]
        close(left @ pair_v, right @ pair_v * pair_w)
    triangle = np.tril(SYMMETRIC) if lower else np.triu(SYMMETRIC)
    close(msp.linalg.eigh(Tensor(triangle), lower=lower, eigvals_only=True, eigvals=(1, 2)), w[1:3])


def test_least_squares():
    for a, b in ((TALL, _rng.normal(size=(5, 2))), (TALL.T, VECTOR[:3]), (TALL, _rng.normal(size=5))):
        ours = ms.jit(lambda a, b: msp.linalg.lstsq(a, b, driver="gelsd"), fullgraph=True)(Tensor(a), Tensor(b))
        x, residuals, rank, s = scipy.linalg.lstsq(a, b)
        close(ours[0], x)
        close(ours[1], residuals if np.size(residuals) else np.zeros(0))
        close(ours[3], s)
        assert int(ours[2]) == rank
    slope = ms.grad(lambda b: msp.linalg.lstsq(Tensor(TALL), b)[0].sum())(Tensor(np.ones(5)))
    close(slope, np.linalg.pinv(TALL).sum(0))
    wide, b, step = TALL.T, np.ones((3, 2)), _rng.normal(size=(3, 5))
    slope = ms.grad(lambda a: sum(part.sum() for part in msp.linalg.lstsq(a, Tensor(b), driver="gelss")))(Tensor(wide))
    ends = [scipy.linalg.lstsq(wide + h * step, b)[0].sum() for h in (1e-6, -1e-6)]
    close((slope.asnumpy() * step).sum(), (ends[0] - ends[1]) / 2e-6, 1e-6)


def test_hermitian_matrices():
    a = OTHER + 1j * GENERAL
    a = a + a.conj().T
    w, v = ms.jit(lambda a: msp.linalg.eigh(a, lower=False), fullgraph=True)(Tensor(a))
    assert w.dtype == ms.float64
    close(a @ v.asnumpy(), v.asnumpy() * w.asnumpy())

    def cubes(x, y, eigh, total):
        w, v = eigh(x + 1j * y)
        return total(w ** 3) + total(abs(v) ** 2 * np.arange(16.0).reshape(4, 4))
    parts = a.real.copy(), a.imag.copy()
    slopes = ms.grad(lambda x, y: cubes(x, y, lambda a: msp.linalg.eigh(a), ops.sum), (0, 1))(*map(Tensor, parts))
    for k, slope in enumerate(slopes):
        step = np.tril(_rng.normal(size=(4, 4)))
        ends = [cubes(*[p + h * step if j == k else p for j, p in enumerate(parts)], lambda a: np.linalg.eigh(a), np.sum)
                for h in (1e-6, -1e-6)]
        close((slope.asnumpy() * step).sum(), (ends[0] - ends[1]) / 2e-6, 1e-6, 1e-5)


def test_stacks_of_matrices_are_solved_one_by_one():
    stack = np.stack([GENERAL, POSITIVE])
    for name in ("inv", "det"):
        close(getattr(msp.linalg, name)(Tensor(stack)), np.stack([getattr(scipy.linalg, name)(a) for a in stack]))
    p, lower, upper = msp.linalg.lu(Tensor(stack))
    close(ops.matmul(p, ops.matmul(lower, upper)), stack)
    close(ms.vmap(lambda a: msp.linalg.lu_factor(a)[0])(Tensor(stack)), np.stack([scipy.linalg.lu_factor(a)[0] for a in stack]))


@pytest.mark.parametrize("make, error", [
    (lambda: msp.linalg.inv(Tensor(np.ones((2, 3)))), ValueError), (lambda: msp.linalg.inv(np.eye(2)), TypeError),
    (lambda: msp.linalg.inv(Tensor(np.zeros((2, 2)))), ValueError), (lambda: msp.linalg.cholesky(Tensor(-np.eye(2))), ValueError),
    (lambda: msp.linalg.solve_triangular(Tensor(GENERAL), Tensor(VECTOR), trans="X"), ValueError),
    (lambda: msp.linalg.solve_triangular(Tensor(GENERAL), Tensor(VECTOR[:3])), ValueError),
    (lambda: msp.linalg.lu_solve(msp.linalg.lu_factor(Tensor(GENERAL)), Tensor(VECTOR), trans=3), ValueError),
    (lambda: msp.linalg.solve(Tensor(GENERAL), Tensor(VECTOR), assume_a="banded"), ValueError),
    (lambda: msp.linalg.solve(Tensor(-POSITIVE), Tensor(VECTOR), assume_a="pos"), ValueError),
    (lambda: msp.linalg.solve_triangular(Tensor(GENERAL), Tensor(VECTOR), debug=True), TypeError),
    (lambda: msp.linalg.eigh(Tensor(GENERAL), 42), TypeError), (lambda: msp.linalg.eigh(Tensor(GENERAL), eigvals=42), TypeError),
    (lambda: msp.linalg.eigh(Tensor(GENERAL), type=4), ValueError),
    (lambda: msp.linalg.eigh(Tensor(np.ones((2, 2, 2)))), ValueError),
    (lambda: msp.linalg.eigh(Tensor(GENERAL), turbo=1), TypeError),
    (lambda: msp.linalg.inv(Tensor(np.eye(2, dtype=np.float16))), TypeError),
    (lambda: msp.linalg.lstsq(Tensor(TALL), Tensor(VECTOR)), ValueError),
    (lambda: msp.linalg.lstsq(Tensor(TALL), Tensor(TALL), driver="x"), ValueError),
    (lambda: msp.fft.dct(Tensor(VECTOR), type=9), ValueError),
    (lambda: msp.fft.dct(Tensor(VECTOR), norm="other"), ValueError), (lambda: msp.fft.dct(1.0), TypeError)])
def test_what_does_not_fit_is_an_error(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
@pytest.mark.parametrize("type_", [2, 3])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_cosine_transforms(name, type_, norm):
    ours, theirs = getattr(msp.fft, name), getattr(scipy.fft, name)
    for x in (TALL, COLUMNS):
        close(ours(Tensor(x), type_, norm=norm), theirs(x, type_, norm=norm))
        ready = ms.jit(lambda x: ours(x, type_, norm=norm), fullgraph=True)(Tensor(x)) if norm is None else None
        if ready is not None:
            close(ready, theirs(x, type_))
    more = dict(axes=(0,), s=(3,)) if name.endswith("n") else dict(axis=0, n=7)
    close(ours(Tensor(TALL), type_, norm=norm, **more), theirs(TALL, type_, norm=norm, **more))
    slope = ms.grad(lambda x: (ours(x, type_, norm=norm) * TALL).sum())(Tensor(TALL)).asnumpy()
    step = _rng.normal(size=TALL.shape)
    close((slope * step).sum(), (theirs(step, type_, norm=norm) * TALL).sum())
