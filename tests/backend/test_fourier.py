"""Fourier transforms by pocketfft at its address: NumPy's results in both modes, transposes as gradients, no Python between."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cpu.fourier import has_fourier
from mindlite.backend.launcher import set_threads
from mindlite.ops.fourier import fourier, fourier_of_real, fourier_to_real

needs_loops = pytest.mark.skipif(not has_fourier("float64"), reason="this NumPy has no loops of transforms")
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


def numbers(shape, dtype="float64", whole=False):
    rng = np.random.default_rng(len(shape) + sum(shape))
    x = rng.standard_normal(shape)
    made = x + 1j * rng.standard_normal(shape) if whole else x
    return made.astype({"float32": "complex64", "float64": "complex128"}[dtype] if whole else dtype)


def compiled(f):
    return ms.jit(f, fullgraph=True)


def same(got, want, dtype):
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, atol=TOLERANCE[dtype] * np.abs(want).max(initial=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, axis", [((5,), 0), ((1,), 0), ((7, 2), 1), ((3, 31), 1), ((31, 3), 0), ((2, 8, 600), 1),
                                         ((9, 4097), 1), ((1000, 3), 1), ((0, 4), 1)])
def test_compiled_transforms_of_any_size_are_those_of_numpy(shape, axis, dtype):
    real, whole = numbers(shape, dtype), numbers(shape, dtype, True)
    for norm in (None, "ortho", "forward"):
        for name in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft"):
            given = real if name in ("rfft", "ihfft") else whole
            for n in ((None, shape[axis] + 1) if name in ("irfft", "hfft") and shape[axis] > 1 else (shape[axis],)):
                want = getattr(np.fft, name)(given, n, axis, norm)
                got = compiled(lambda x: getattr(ops, name)(x, n, axis, norm))(Tensor(given)).asnumpy()
                same(got, want.astype(got.dtype), dtype)
        for name in ("fft", "ifft"):
            got = compiled(lambda x: getattr(ops, name)(x, None, axis, norm))(Tensor(real)).asnumpy()
            same(got, getattr(np.fft, name)(real, None, axis, norm).astype(got.dtype), dtype)


@pytest.mark.parametrize("axes", [(0, 2), (2, 0, 1), (1,)])
def test_compiled_transforms_along_several_axes_are_those_of_numpy(axes):
    real, whole = numbers((4, 5, 6)), numbers((4, 5, 6), whole=True)
    for name, given in (("fftn", whole), ("fftn", real), ("ifftn", whole), ("rfftn", real), ("irfftn", whole)):
        got = compiled(lambda x: getattr(ops, name)(x, None, axes))(Tensor(given)).asnumpy()
        same(got, getattr(np.fft, name)(given, None, axes), "float64")


def pieces():
    """(what, function, an operand, a cotangent) of each primitive with each of its attributes."""
    for inverse, scale, n in itertools.product((False, True), ("sum", "mean", "ortho"), (1, 2, 5, 6)):
        whole, real, half = numbers((n, 3), whole=True), numbers((n, 3)), numbers((n // 2 + 1, 3), whole=True)
        for x in (whole, real):
            yield "fourier", lambda v, i=inverse, s=scale: fourier(v, axes=(0,), inverse=i, scale=s), x, whole[::-1].copy()
        for weighted in (False, True):
            facts = {"axis": 0, "inverse": inverse, "scale": scale, "weighted": weighted}
            yield "of_real", lambda v, f=facts: fourier_of_real(v, **f), real, half
            yield "to_real", lambda v, f=facts, n=n: fourier_to_real(v, n=n, **f), half, real


def inner(a, b):
    return float(np.real(np.vdot(a, b)))


@pytest.mark.parametrize("way", [lambda f: f, compiled], ids=["eager", "jit"])
def test_gradients_are_the_transposes(way):
    for what, function, x, cotangent in pieces():
        out = way(function)(Tensor(x)).asnumpy()

        def pulled(v, c):
            return ops.real(ops.conj(c) * function(v)).sum()
        dx = way(ms.grad(pulled))(Tensor(x), Tensor(cotangent)).asnumpy()
        assert dx.dtype == x.dtype
        np.testing.assert_allclose(inner(x, dx), inner(out, cotangent), atol=1e-9, err_msg=what)
        np.testing.assert_allclose(out, function(Tensor(x)).asnumpy(), atol=1e-12, err_msg=what)


@needs_loops
@pytest.mark.parametrize("f, given", [(ops.fft, (6, 5)), (ops.rfft, (6, 5)), (lambda x: ops.irfft(ops.rfft(x)), (6, 8)),
                                      (lambda x: ops.rfft2(x), (2, 6, 5))])
def test_compiled_transforms_have_no_python_between(f, given):
    run = compiled(f)
    run(Tensor(numbers(given, "float32")))
    assert len(run.kernels()) and all(kernel.recipe[:2] == ("library", "fourier") for kernel in run.kernels())


def test_one_compile_serves_open_sizes_even_and_odd():
    run = ms.jit(lambda x: ops.irfft(ops.rfft(x), x.shape[-1]), fullgraph=True, dynamic=1)
    for shape in ((3, 8), (2, 9), (5, 31), (1, 100), (1, 1)):
        x = numbers(shape)
        np.testing.assert_allclose(run(Tensor(x)).asnumpy(), x, atol=1e-12)
    assert len(run.compiled.variants) == 1


@needs_loops
def test_the_bits_do_not_depend_on_the_threads():
    x = numbers((37, 1000), "float32")
    whole = numbers((3, 64, 1001), "float32", True)
    found = []
    for threads in (1, 3):
        set_threads(threads)
        try:
            functions = (ops.rfft, x), (lambda z: ops.fft(z, None, 1), whole)
            found.append([compiled(f)(Tensor(given)).asnumpy() for f, given in functions])
        finally:
            set_threads(2)
    for one, three in zip(*found):
        np.testing.assert_array_equal(one, three)
