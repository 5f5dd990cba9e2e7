"""The convolution kernels against their definition, every way: strides, groups, dilation, padding, empty."""
import concurrent.futures
import gc
import os
import signal

import numpy as np
import pytest

from mindlite.backend.cpu import convolution, convolution_ways, library_kernel, onednn
from mindlite.backend.target import current
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
    "several of each":    (2, 4, 7, 19, 12, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 4),
    "depthwise, wide":    (1, 3, 21, 70, 3, 3, 3, 1, 2, 1, 1, 1, 1, 1, 1, 3),
    "depthwise, tall":    (2, 2, 150, 45, 4, 7, 3, 3, 1, 3, 3, 1, 1, 1, 2, 2),
    "depthwise, steps":   (2, 3, 13, 17, 6, 2, 3, 3, 4, 0, 2, 5, 1, 3, 2, 3),
    "pointwise":          (3, 5, 4, 6, 7, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "pointwise, stride":  (2, 4, 5, 6, 8, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1, 2),
    "pointwise, padding": (1, 2, 3, 3, 2, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1),
    "one pixel out":      (2, 3, 4, 5, 2, 4, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "one axis":           (2, 3, 1, 9, 4, 1, 3, 1, 2, 0, 0, 1, 1, 1, 1, 1),
    "gaps by stride":     (2, 3, 8, 7, 5, 1, 2, 2, 3, 0, 0, 0, 0, 1, 1, 1),
    "gaps by dilation":   (1, 3, 9, 9, 4, 3, 3, 2, 2, 1, 1, 1, 1, 2, 2, 1),
    "several pieces":     (2, 60, 9, 19, 14, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "pieces and stride":  (3, 90, 9, 9, 70, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1),
    "small pictures":     (9, 40, 3, 2, 34, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "wide border":        (2, 4, 5, 21, 3, 3, 3, 1, 1, 4, 3, 5, 2, 1, 1, 1),
    "empty batch":        (0, 3, 7, 8, 4, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "empty output":       (2, 3, 2, 8, 4, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1),
    "empty by stride":    (2, 3, 1, 8, 4, 3, 3, 3, 1, 0, 0, 0, 0, 1, 1, 1),
}
TOLERANCE = {"float32": 1e-4, "float64": 1e-11}


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
    """Random elements of a NumPy dtype."""
    return rng.standard_normal(shape).astype(dtype)


def run_way(call, way, kind, dtype, sizes, arrays, finish="", **more):
    """Run the steps of a way, each cut in two. more: arrays of the epilogue"""
    size, steps = convolution_ways.WAYS[way](kind, dtype, sizes, *([finish] if finish else []), target=current())
    places = dict(zip(("left", "right", "out"), arrays)) | {"workspace": np.full(size, np.nan, dtype.numpy)} | more
    for step in steps:
        kernel = library_kernel(**step.kernel)
        handle = kernel.prepare(step.sizes) if kernel.prepare is not None else None
        used, extent = [places[name] for name in step.arrays], 1 if step.extent is None else step.extent
        for begin, end in ((0, extent // 2), (extent // 2, extent)):
            call(kernel, used, step.sizes, begin=begin, extent=end, handle=handle)


def ways(kind, dtype, sizes):
    """The names of the ways that such a convolution can go."""
    n, c, h, w, o, kh, kw, sh, sw, *border, dh, dw, g = sizes
    small = dtype is dtypes.float32 and (kh, kw, sh, sw, dh, dw, g) == (3, 3, 1, 1, 1, 1, 1)
    alone = ["depthwise"] * (c == g)
    if kind == "backward_weights":
        return ["dot"] + ["winograd"] * small + alone
    found = ["patches", *alone] + ["direct"] * (kind == "backward_data" or (sh, sw) == (1, 1))
    found += ["product"] * ((kh, kw, sh, sw, g, *border) == (1, 1, 1, 1, 1, 0, 0, 0, 0))
    found += ["winograd"] * small
    return found + ["library"]


def check(call, sizes, dtype, taken=None):
    """All ways, or those that are `taken`, give the definition's result."""
    rng, kind = np.random.default_rng(0), np.dtype(dtype.numpy)
    n, c, h, w, o, kh, kw, *_, g = sizes
    x, weights = drawn(rng, (n, c, h, w), kind), drawn(rng, (o, c // g, kh, kw), kind)
    dout = drawn(rng, (n, o, *convolution.output_sizes(sizes)), kind)
    expected, gradients = definition(x.astype(np.float64), weights.astype(np.float64), sizes)
    dx, dweights = gradients(dout.astype(np.float64))
    for name, left, right, wanted in (("forward", x, weights, expected), ("backward_data", dout, weights, dx),
                                      ("backward_weights", x, dout, dweights)):
        for way in ways(name, dtype, sizes):
            if taken is None or way in taken:
                out = np.full(wanted.shape, 77, kind)
                run_way(call, way, name, dtype, sizes, (left, right, out))
                np.testing.assert_allclose(out, wanted, rtol=TOLERANCE[dtype.name], atol=TOLERANCE[dtype.name],
                                           err_msg=f"{name} by {way}")


@pytest.fixture(params=["onednn", "im2col"])
def library(request):
    """With oneDNN wherever it can, and as on a machine without it."""
    before = config.set(onednn=request.param == "onednn")
    if config.onednn and onednn.find_onednn() is None:
        config.set(**before)
        pytest.skip("oneDNN is not installed: " + onednn.ADVICE)
    yield request.param
    config.set(**before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_float32_convolutions_and_gradients_follow_the_definition_every_way(call, lanes, name):
    check(call, CASES[name], dtypes.float32)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_float64_follows_the_definition_every_way(call, lanes, name):
    check(call, CASES[name], dtypes.float64)


@pytest.mark.parametrize("finish", ["relu", "bias", "bias+relu", "residual+relu", "bias+residual", "bias+residual+relu"])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
def test_an_epilogue_gives_the_bits_of_bias_residual_and_relu_one_after_the_other_every_way(call, dtype, finish):
    for name, sizes in CASES.items():
        rng = np.random.default_rng(3)
        n, c, h, w, o, kh, kw, *_, g = sizes
        kind, made = np.dtype(dtype.numpy), (n, o, *convolution.output_sizes(sizes))
        x, weights = drawn(rng, (n, c, h, w), kind), drawn(rng, (o, c // g, kh, kw), kind)
        bias, residual = drawn(rng, (o,), kind), drawn(rng, made, kind)
        residual.ravel()[::7] = np.nan
        for way in ways("forward", dtype, sizes):
            plain, out = np.full(made, 77, kind), np.full(made, 77, kind)
            run_way(call, way, "forward", dtype, sizes, (x, weights, plain))
            run_way(call, way, "forward", dtype, sizes, (x, weights, out), finish, bias=bias, residual=residual)
            for step in finish.split("+"):
                plain = (plain + bias[:, None, None] if step == "bias" else plain + residual if step == "residual" else
                         np.maximum(plain, np.zeros((), kind)))
            np.testing.assert_array_equal(out, plain, err_msg=f"{name} by {way}")


def test_the_library_and_its_understudy_follow_the_definition(call, library):
    for sizes in [*CASES.values(), (1, 40, 40, 30, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1)]:
        check(call, sizes, dtypes.float32, ("library",))


def test_an_infinity_stays_where_the_window_reaches_but_for_the_squares_of_winograd(call, lanes):
    sizes = (1, 2, 9, 40, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    x, weights = np.ones((1, 2, 9, 40), np.float32), np.ones((3, 2, 3, 3), np.float32)
    x[0, 1, 4, 20] = np.inf
    for way, low, high in (("direct", 0, 0), ("patches", 0, 0), ("winograd", 1, 0)):
        out = np.empty((1, 3, 9, 40), np.float32)
        run_way(call, way, "forward", dtypes.float32, sizes, (x, weights, out))
        bad = ~np.isfinite(out[0, 0])
        assert bad[3:6, 19:22].all() and not bad[:3 - low].any() and not bad[6 + high:].any()
        assert not bad[:, :19 - low].any() and not bad[:, 22 + high:].any()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("sizes", [(2, 3, 9, 10, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3),
                                   (1, 3, 9, 11, 6, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 3),
                                   (1, 2, 13, 12, 4, 5, 3, 3, 2, 2, 1, 0, 1, 2, 1, 2)], ids=str)
def test_a_weight_that_is_not_finite_spoils_the_gradient_only_where_its_tap_reaches(call, sizes, value):
    n, c, h, w, o, kh, kw, *_, g = sizes
    rng = np.random.default_rng(0)
    weights, x = drawn(rng, (o, 1, kh, kw), np.float32), np.zeros((n, c, h, w))
    weights[1, 0, 0, kw - 1], weights[0, 0, kh - 1, 0] = value, value
    dout, out = drawn(rng, (n, o, *convolution.output_sizes(sizes)), np.float32), np.empty((n, c, h, w), np.float32)
    with np.errstate(invalid="ignore"):
        wanted, _ = definition(x, weights.astype(np.float64), sizes)[1](dout.astype(np.float64))
    run_way(call, "depthwise", "backward_data", dtypes.float32, sizes, (dout, weights, out))
    assert not np.isfinite(wanted).all() and np.isfinite(wanted).any()
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


def test_handles_are_made_once_per_sizes_and_several_stay_usable(call, library):
    kernel = convolution.conv2d_kernel("forward", "float32")
    first, second = CASES["plain"], CASES["stride"]
    handle = kernel.prepare(first)
    assert handle is kernel.prepare(list(first))
    if library == "onednn":
        assert handle is not kernel.prepare(second)
    for sizes in (first, second, first):
        check(call, sizes, dtypes.float32, ("library",))


def test_what_onednn_made_for_sizes_goes_with_the_last_who_holds_it(monkeypatch):
    if onednn.find_onednn() is None:
        pytest.skip("oneDNN is not installed: " + onednn.ADVICE)
    destroyed, library = [], onednn.find_onednn()
    monkeypatch.setattr(library, "call", lambda name, *args: (destroyed.append(name), type(library).call(library, name, *args)))
    sizes = (3, *CASES["same"][1:])
    for kind in convolution.KINDS:
        handle = convolution.conv2d_kernel(kind, "float32").prepare(sizes)
        made = [name for name in destroyed if name.endswith(("_create", "_strides", "_tag"))]
        del destroyed[:], handle
        gc.collect()
        assert len(destroyed) == len(made) > 8 and all(name.endswith("_destroy") for name in destroyed)
        del destroyed[:]


@pytest.mark.parametrize("change, said", [({"G": 2}, "divide neither"), ({"SH": 0}, "positive"), ({"PT": -1}, "0"),
                                          ({"KH": 30}, "larger than the padded input")], ids=str)
def test_sizes_that_do_not_fit_are_refused_before_anything_runs(library, change, said):
    sizes = dict(zip(convolution.SIZES, CASES["plain"])) | change
    with pytest.raises(ValueError, match=said):
        convolution.conv2d_kernel("forward", "float32").prepare(tuple(sizes.values()))


def test_unknown_kinds_are_refused_and_dtypes_without_a_kernel_have_none():
    with pytest.raises(ValueError, match="no convolution of kind 'sideways'"):
        convolution.conv2d_kernel("sideways", "float32")
    assert convolution.conv2d_kernel("forward", "float16") is None
    assert convolution_ways.conv2d_plan("forward", "float16", CASES["plain"]) is None


def test_the_way_is_chosen_by_the_sizes_alone(library, lanes):
    def choose(kind, sizes, dtype=dtypes.float32):
        return convolution_ways.conv2d_plan(kind, dtype, sizes).way
    else_ = "library" if library == "onednn" else "patches"
    wide = (32, 64, 32, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    assert {choose(kind, wide) for kind in convolution.KINDS} == {"winograd"}
    assert choose("forward", wide, dtypes.float64) == "direct" and choose("backward_weights", wide) == "winograd"
    assert choose("backward_weights", (2, 512, 4, 4, 512, 3, 3, *wide[7:])) == "dot"
    assert choose("forward", CASES["LeNet's first"]) == "direct" and choose("forward", CASES["pointwise"]) == "product"
    assert choose("forward", CASES["groups"]) == "direct" and choose("forward", CASES["one pixel out"]) == "patches"
    assert {choose(kind, CASES["depthwise"]) for kind in (*convolution.KINDS, "backward_weights")} == {"depthwise"}
    full = 4 * current().tile_rows                                                              # four channels of a whole tile
    assert choose("forward", (2, 4, 7, 7, full, *CASES["depthwise"][5:15], 4)) == else_
    assert choose("forward", (2, 4, 7, 7, full - 4, *CASES["depthwise"][5:15], 4)) == "depthwise"
    assert choose("backward_data", CASES["pieces and stride"]) == else_
    assert choose("forward", CASES["pieces and stride"]) == "patches"


def test_two_threads_may_use_one_handle_at_the_same_time(call):
    if onednn.find_onednn() is None:
        pytest.skip("oneDNN is not installed: " + onednn.ADVICE)
    sizes = CASES["same"]
    n, c, h, w, o, kh, kw, *_ = sizes
    kernel, rng = convolution.conv2d_kernel("forward", "float32"), np.random.default_rng(1)
    handle, weights = kernel.prepare(sizes), rng.standard_normal((o, c, kh, kw)).astype(np.float32)
    assert handle.address

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
