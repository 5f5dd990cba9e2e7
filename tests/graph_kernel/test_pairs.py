"""Complex numbers in graphs are pairs of floats in kernels: eager mode's results, without Python between."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops

_rng = np.random.default_rng(3)


def whole(*shape, dtype="complex64"):
    return Tensor((_rng.standard_normal(shape) + 1j * _rng.standard_normal(shape)).astype(dtype))


def real(*shape, dtype="float32"):
    return Tensor(_rng.standard_normal(shape).astype(dtype))


def loop(z, n):
    total = z
    while n > 0:
        total = total * z + ops.conj(total)
        n = n - 1
    return total


CASES = {
    "abs": (ops.abs, whole(5, 7)), "abs of a transform": (lambda x: ops.abs(ops.fft(x)), real(5, 9)),
    "mul": (lambda a, b: a * b, whole(4, 3), whole(3)), "conj": (lambda a: ops.conj(a) * 2.0 - a, whole(3, 4)),
    "parts": (lambda a: ops.real(a) + ops.imag(a), whole(3, 4)), "sum": (lambda a: (a * a).sum(0), whole(5, 4)),
    "make": (lambda a, b: ops.complex(a, b) * ops.complex(b, a), real(3, 1), real(4)), "view": (ops.view_as_real, whole(3)),
    "moved": (lambda a: (a * a).T.reshape(-1), whole(3, 5)), "repeated": (lambda a: ops.broadcast_to(-a, (2, 3, 4)), whole(4)),
    "angle": (ops.angle, whole(6)), "of a real": (lambda a, b: a * b + 1.5, whole(6), real(6)),
    "scalar": (lambda a: a.sum(), whole(6)), "double": (lambda a: ops.abs(a * a), whole(6, dtype="complex128")),
    "wider": (lambda a: ops.cast(a, ms.complex128) * a, whole(4)),
    "none": (lambda a: a * a, whole(0, 3)), "one number": (lambda a: a * ops.conj(a), whole()),
    "gradient": (ms.grad(lambda x: (ops.abs(ops.fft(x)) ** 2).sum()), real(3, 8)),
    "gradient of a product": (ms.grad(lambda a, b: ops.real(a * ops.conj(b)).sum(), (0, 1)), whole(4), whole(3, 4))}


def parts(found):
    return [x.asnumpy() for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("case", CASES)
def test_graphs_compute_what_eager_mode_does_without_python(case):
    function, *args = CASES[case]
    compiled = ms.jit(function, fullgraph=True)
    for _ in range(2):
        for got, want in zip(parts(compiled(*args)), parts(function(*args)), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)
    assert not compiled.compiled.variants[0].calls_python


@pytest.mark.parametrize("n", [0, 3])
def test_loops_and_open_sizes_have_pairs_too(n):
    compiled = ms.jit(loop, fullgraph=True, dynamic=1)
    for shape in ((3,), (5,), (7,)):
        z = whole(*shape) * 0.5
        np.testing.assert_allclose(compiled(z, Tensor(n)).asnumpy(), loop(z, n).asnumpy(), rtol=1e-4, atol=1e-5)


def test_numbers_that_are_not_finite_are_multiplied_as_numpy_does_it():
    special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    z = np.array([[complex(a, b) for a in special for b in special]], np.complex128)
    with np.errstate(invalid="ignore"):
        want = (Tensor(z) * Tensor(z.T.copy())).asnumpy()
    got = ms.jit(lambda a, b: a * b, fullgraph=True)(Tensor(z), Tensor(z.T.copy())).asnumpy()
    np.testing.assert_array_equal(np.stack([got.real, got.imag]), np.stack([want.real, want.imag]))


def test_a_result_is_no_memory_of_an_argument():
    z = whole(3, 4)
    before = z.asnumpy().copy()
    compiled = ms.jit(lambda a: (ops.reshape(a, (4, 3)), ops.conj(a)), fullgraph=True)
    same, conjugate = compiled(z)
    same += 1
    conjugate += 1
    np.testing.assert_array_equal(z.asnumpy(), before)
