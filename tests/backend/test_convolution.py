"""The convolution kernels against their definition, by oneDNN and im2col: strides, groups, dilation, padding, empty."""
import concurrent.futures
import os
import signal

import numpy as np
import pytest

from mindlite.backend.cpu import convolution, onednn
from mindlite.common import dtype as dtypes
from mindlite.common.config import config

#        N  C  H  W  O KH KW SH SW PT PB PL PR DH DW  G
CASES = {
    "plain":              (2, 3, 7, 8, 4, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "LeNet's first":      (2, 1, 12, 12, 6, 5, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "same":               (1, 8, 6, 6, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "stride":             (2, 3, 9, 10, 4, 3, 2, 2, 3, 1, 1, 0, 0, 1, 1, 1),
    "dilation":           (1, 2, 11, 10, 3, 3, 2, 1, 2, 2, 2, 1, 1, 2, 3, 1),
    "asymmetric padding": (2, 3, 5, 6, 4, 3, 3, 2, 1, 0, 2, 3, 1, 1, 1, 1),
    "padding past taps":  (1, 1, 2, 2, 1, 2, 2, 1, 1, 4, 5, 6, 3, 1, 1, 1),
    "groups":             (2, 6, 5, 7, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3),
    "depthwise":          (2, 5, 6, 6, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 5),
    "pointwise":          (3, 5, 4, 6, 7, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "pointwise, stride":  (2, 4, 5, 6, 8, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1, 2),
    "pointwise, padding": (1, 2, 3, 3, 2, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1),
    "one pixel out":      (2, 3, 4, 5, 2, 4, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "one axis":           (2, 3, 1, 9, 4, 1, 3, 1, 2, 0, 0, 1, 1, 1, 1, 1),
    "empty batch":        (0, 3, 7, 8, 4, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "empty output":       (2, 3, 2, 8, 4, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "empty by stride":    (2, 3, 1, 8, 4, 3, 3, 3, 1, 0, 0, 0, 0, 1, 1, 1),
}
TOLERANCE = {"float32": 1e-4, "float64": 1e-11, "int32": 0}


def definition(x, w, sizes):
    """The convolution, and its two gradients as functions of dout, by loops over the taps (NumPy only)."""
    n, c, h, wide, o, kh, kw, sh, sw, top, bottom, left, right, dh, dw, g = sizes
    oh, ow = convolution.output_sizes(sizes)
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    wg = w.reshape(g, o // g, c // g, kh, kw)

    def patches(p, q, array):
        window = array[:, :, p * dh:p * dh + (oh - 1) * sh + 1 if oh else 0:sh,
                       q * dw:q * dw + (ow - 1) * sw + 1 if ow else 0:sw]
        return window.reshape(n, g, c // g, oh, ow)

    taps = [(p, q) for p in range(kh) for q in range(kw)]
    out = sum(np.einsum("ngcij,goc->ngoij", patches(p, q, padded), wg[..., p, q]) for p, q in taps)

    def gradients(dout):
        dpadded, dweights = np.zeros_like(padded), np.zeros_like(wg)
        by_group = dout.reshape(n, g, o // g, oh, ow)
        for p, q in taps:
            view = dpadded[:, :, p * dh:p * dh + (oh - 1) * sh + 1 if oh else 0:sh,
                           q * dw:q * dw + (ow - 1) * sw + 1 if ow else 0:sw]
            view += np.einsum("ngoij,goc->ngcij", by_group, wg[..., p, q]).reshape(view.shape)
            dweights[..., p, q] = np.einsum("ngoij,ngcij->goc", by_group, patches(p, q, padded))
        return dpadded[:, :, top:top + h, left:left + wide], dweights.reshape(w.shape)
    return out.reshape(n, o, oh, ow), gradients


def drawn(rng, shape, dtype):
    """Random elements of a NumPy dtype, exact in float64."""
    if dtype.kind == "i":
        return rng.integers(-9, 9, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def check(call, sizes, dtype, bias):
    rng, kind = np.random.default_rng(0), np.dtype(dtype.numpy)
    n, c, h, w, o, kh, kw, *_, g = sizes
    x, weights = drawn(rng, (n, c, h, w), kind), drawn(rng, (o, c // g, kh, kw), kind)
    out_shape = (n, o, *convolution.output_sizes(sizes))
    dout, b = drawn(rng, out_shape, kind), drawn(rng, (o,), kind)
    wide = np.int64 if kind.kind == "i" else np.float64
    expected, gradients = definition(x.astype(wide), weights.astype(wide), sizes)
    dx, dweights = gradients(dout.astype(wide))

    def run(kind_of, inputs, shapes, with_bias):
        kernel = convolution.conv2d_kernel(kind_of, dtype, with_bias)
        outputs = [np.full(shape, 77, kind) for shape in shapes]
        call(kernel, [*inputs, *outputs], sizes, handle=kernel.prepare(sizes))
        return outputs

    def same(actual, wanted):
        np.testing.assert_allclose(actual, wanted, rtol=TOLERANCE[dtype.name], atol=TOLERANCE[dtype.name])

    out, = run("forward", [x, weights] + [b] * bias, [out_shape], bias)
    same(out, expected + (b.astype(wide).reshape(1, o, 1, 1) if bias else 0))
    same(run("backward_data", [dout, weights], [x.shape], False)[0], dx)
    found = run("backward_weights", [x, dout], [weights.shape] + [(o,)] * bias, bias)
    same(found[0], dweights)
    if bias:
        same(found[1], dout.astype(wide).sum((0, 2, 3)))


@pytest.fixture(params=["onednn", "im2col"])
def library(request, monkeypatch):
    """With oneDNN wherever it can, and as on a machine without it."""
    monkeypatch.setattr(convolution, "prefers_onednn",
                        lambda kind, sizes: sizes[0] > 0 and 0 not in convolution.output_sizes(sizes))
    before = config.set(onednn=request.param == "onednn")
    if config.onednn and onednn.find_onednn() is None:
        config.set(**before)
        pytest.skip("oneDNN is not installed: " + onednn.ADVICE)
    yield request.param
    config.set(**before)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("name", CASES)
def test_float32_convolutions_and_gradients_follow_the_definition(call, library, name, bias):
    check(call, CASES[name], dtypes.float32, bias)


@pytest.mark.parametrize("dtype", [dtypes.float64, dtypes.int32], ids=str)
def test_other_dtypes_follow_the_definition(call, dtype):
    for sizes in CASES.values():
        check(call, sizes, dtype, bias=True)


def test_pictures_of_several_blocks_agree(call, library):
    check(call, (1, 40, 40, 30, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1), dtypes.float32, True)


def test_handles_are_made_once_per_sizes_and_several_stay_usable(call, library):
    kernel = convolution.conv2d_kernel("forward", "float32")
    first, second = CASES["plain"], CASES["stride"]
    assert kernel.prepare(first) == kernel.prepare(list(first))
    if library == "onednn":
        assert kernel.prepare(first) != kernel.prepare(second)
    for sizes in (first, second, first):
        check(call, sizes, dtypes.float32, False)


@pytest.mark.parametrize("change, said", [({"G": 2}, "divide neither"), ({"SH": 0}, "positive"), ({"PT": -1}, "0"),
                                          ({"KH": 30}, "larger than the padded input")], ids=str)
def test_sizes_that_do_not_fit_are_refused_before_anything_runs(library, change, said):
    sizes = dict(zip(convolution.SIZES, CASES["plain"])) | change
    with pytest.raises(ValueError, match=said):
        convolution.conv2d_kernel("forward", "float32").prepare(tuple(sizes.values()))


def test_unknown_kinds_are_refused_and_dtypes_without_a_kernel_have_none():
    with pytest.raises(ValueError, match="no convolution of kind 'sideways'"):
        convolution.conv2d_kernel("sideways", "float32")
    with pytest.raises(ValueError, match="with bias"):
        convolution.conv2d_kernel("backward_data", "float32", bias=True)
    assert convolution.conv2d_kernel("forward", "float16") is None


def test_the_way_is_chosen_by_the_sizes_alone_and_never_onednn_for_nothing():
    cases, choose = CASES, convolution.prefers_onednn
    assert choose("forward", cases["same"]) and choose("backward_data", cases["depthwise"])
    assert not choose("forward", cases["pointwise"]) and not choose("forward", cases["empty batch"])
    assert not choose("backward_data", cases["LeNet's first"]) and not choose("backward_weights", cases["empty output"])


def test_two_threads_may_use_one_handle_at_the_same_time(call):
    if onednn.find_onednn() is None:
        pytest.skip("oneDNN is not installed: " + onednn.ADVICE)
    sizes = CASES["same"]
    n, c, h, w, o, kh, kw, *_ = sizes
    kernel, rng = convolution.conv2d_kernel("forward", "float32"), np.random.default_rng(1)
    handle, weights = kernel.prepare(sizes), rng.standard_normal((o, c, kh, kw)).astype(np.float32)
    assert handle

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((n, c, h, w)).astype(np.float32)
        expected, out = definition(x, weights, sizes)[0], np.empty((n, o, h, w), np.float32)
        for _ in range(30):
            out[:] = 0
            call(kernel, [x, weights, out], sizes, handle=handle)
            np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
        return True
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_with_the_handles_of_its_parent(call):
    sizes, rng = CASES["same"], np.random.default_rng(0)
    n, c, h, w, o, kh, kw, *_ = sizes
    x, weights = (rng.standard_normal(s).astype(np.float32) for s in ((n, c, h, w), (o, c, kh, kw)))
    kernel, out = convolution.conv2d_kernel("forward", "float32"), np.zeros((n, o, h, w), np.float32)
    handle, expected = kernel.prepare(sizes), definition(x, weights, sizes)[0]
    call(kernel, [x, weights, out], sizes, handle=handle)
    child = os.fork()
    if child == 0:
        status = 1
        signal.alarm(60)                                # a child that hangs fails
        try:
            out[:] = 0
            call(kernel, [x, weights, out], sizes, handle=handle)
            status = 0 if np.allclose(out, expected, rtol=1e-4, atol=1e-4) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
