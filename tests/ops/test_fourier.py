"""Fourier transforms are NumPy's, for every size, norm and choice of axes, and the inverse takes them back."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import DTypeError, ShapeError, ValueRangeError

_rng = np.random.default_rng(5)
COMPLEX = _rng.standard_normal((3, 5, 6)) + 1j * _rng.standard_normal((3, 5, 6))
REAL = COMPLEX.real.copy()


def _input(name):
    return REAL if name.startswith(("rfft", "ihfft")) else COMPLEX


def _same(name, *args):
    got, want = getattr(ops, name)(Tensor(_input(name)), *args).asnumpy(), getattr(np.fft, name)(_input(name), *args)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_along_an_axis_are_those_of_numpy(name, norm):
    for size in (None, 4, 5, 6, 9):
        _same(name, size, -2, norm)


@pytest.mark.parametrize("s, axes", [(None, (0, 2)), ((4, 3), (2, 0)), ((7, 2), (-2, -1))])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_along_several_axes_are_those_of_numpy(name, s, axes):
    _same(name, s, axes)


@pytest.mark.parametrize("forward, back", [("hfftn", "ihfftn"), ("hfft2", "ihfft2"), ("irfftn", "rfftn")])
def test_the_inverse_takes_a_transform_back(forward, back):
    half = getattr(ops, back)(Tensor(REAL[0]))
    there = getattr(ops, forward)(half, REAL[0].shape)
    np.testing.assert_allclose(there.asnumpy(), REAL[0], atol=1e-12)


def test_frequencies_and_shifts_are_those_of_numpy():
    for n in (7, 8):
        np.testing.assert_allclose(ops.fftfreq(n, 0.5).asnumpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(ops.rfftfreq(n, 0.5).asnumpy(), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
    np.testing.assert_array_equal(ops.fftshift(Tensor(REAL)).asnumpy(), np.fft.fftshift(REAL))
    np.testing.assert_array_equal(ops.ifftshift(Tensor(REAL), (1,)).asnumpy(), np.fft.ifftshift(REAL, (1,)))


def test_parseval_gives_the_gradient_in_every_mode_and_under_vmap():
    def energy(x):
        return (ops.real(ops.fft(x)) ** 2 + ops.imag(ops.fft(x)) ** 2).sum()
    x = Tensor(REAL[0])
    want = 2 * REAL.shape[-1] * REAL[0]
    for run in (ms.grad(energy), ms.jit(ms.grad(energy), fullgraph=True), ms.vmap(ms.grad(energy))):
        np.testing.assert_allclose(run(x).asnumpy(), want, rtol=1e-12)


def test_what_has_no_transform_is_an_error():
    with pytest.raises(DTypeError, match="takes real numbers"):
        ops.rfft(Tensor(COMPLEX))
    with pytest.raises(ValueRangeError, match="norm is"):
        ops.fft(Tensor(REAL), norm="half")
    with pytest.raises(ValueRangeError, match="at least 1"):
        ops.fft(Tensor(REAL), 0)


@pytest.mark.parametrize("call", [lambda: ops.fft(Tensor(2.0)), lambda: ops.rfft(Tensor(2.0)),
                                  lambda: ops.pdist(Tensor([1.0, 2.0])),
                                  lambda: ops.interpolate(ops.zeros((1, 1, 0, 3)), size=(2, 2), mode="bilinear"),
                                  lambda: ops.interpolate(ops.zeros((1, 1, 4)), size=0)])
def test_tensors_without_the_axes_or_points_that_are_wanted_are_refused(call):
    with pytest.raises(ShapeError):
        call()
