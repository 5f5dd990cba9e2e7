"""Library kernels of a GPU, in the simulator, beside the CPU's or NumPy."""
import ctypes
import itertools
import subprocess

import numpy as np
import pytest
from gpus import ptxas, runs_here

from mindlite.backend.cpu import library_kernel
from mindlite.backend.cuda import library
from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.backend.cuda.simulator import Simulated
from mindlite.common import dtype as dt

rng = np.random.default_rng(1)


def numbers(*shape, dtype=np.float32):
    """Some with many equal ones, so that ties are met."""
    return (np.round(rng.standard_normal(shape) * 4) / 2).astype(dtype)


def words_of(args):
    return [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]


def on_cpu(name, args, extent, **facts):
    words = np.array(words_of(args), np.int64)
    kernel = library_kernel(name, **facts)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(kernel.address)
    assert function(words.ctypes.data, 0, extent) == 0


def on_gpu(name, args, extent, backwards=False, **facts):
    kernel = Simulated(kernel_text([library.part(name, **facts)], extent=True))
    words = np.array([extent, 1, *words_of(args)], np.int64)
    assert kernel.run(words, library.WORKERS_OF.get(name, 32), 3, backwards)


@runs_here
@pytest.mark.parametrize("batched", ["none", "both", "a", "b"])
@pytest.mark.parametrize("transpose_a, transpose_b", [(False, False), (True, False), (False, True)])
def test_products_of_any_size_are_those_of_numpy(batched, transpose_a, transpose_b):
    batch, m, n, k = (1 if batched == "none" else 3), 70, 67, 33
    a = numbers(*((batch,) if batched in ("both", "a") else ()), *((k, m) if transpose_a else (m, k)))
    b = numbers(*((batch,) if batched in ("both", "b") else ()), *((n, k) if transpose_b else (k, n)))
    out = np.full((batch, m, n), np.nan, np.float32)
    on_gpu("matmul", [a, b, out, batch, m, n, k] + [1] * (batched == "none"), batch, dtype=dt.float32, batched=batched,
           transpose_a=transpose_a, transpose_b=transpose_b)
    want = (a.swapaxes(-1, -2) if transpose_a else a) @ (b.swapaxes(-1, -2) if transpose_b else b)
    np.testing.assert_array_equal(out, np.broadcast_to(want, out.shape))     # multiples of 1/4: every order gives the same


@runs_here
@pytest.mark.parametrize("name", ["float64", "int32", "bfloat16"])
def test_products_of_other_dtypes(name):
    dtype = dt.dtype(name)
    a, b = numbers(5, 9).astype(dtype.numpy), numbers(9, 66).astype(dtype.numpy)
    out = np.ones((5, 66), dtype.numpy)
    on_gpu("matmul", [a, b, out, 1, 5, 66, 9, 1], 1, dtype=dtype, accumulate=True)
    want = (a.astype(np.float64) @ b.astype(np.float64) + 1).astype(dtype.numpy)
    np.testing.assert_array_equal(out, want)


def convolve(kind, x, w, dout, sizes):
    """A convolution as its definition has it."""
    n, _, h, width, o, kh, kw, sh, sw, pt, _, pl, _, dh, dw, g = sizes
    out = np.zeros({"forward": dout, "backward_data": x, "backward_weights": w}[kind].shape)
    each = o // g
    for i, j, y, v, c, q, r in itertools.product(range(n), range(o), *map(range, dout.shape[2:]), *map(range, w.shape[1:])):
        line, column, channel = y * sh - pt + q * dh, v * sw - pl + r * dw, j // each * w.shape[1] + c
        if not (0 <= line < h and 0 <= column < width):
            continue
        if kind == "forward":
            out[i, j, y, v] += w[j, c, q, r] * x[i, channel, line, column]
        elif kind == "backward_data":
            out[i, channel, line, column] += w[j, c, q, r] * dout[i, j, y, v]
        else:
            out[j, c, q, r] += dout[i, j, y, v] * x[i, channel, line, column]
    return out


@runs_here
@pytest.mark.parametrize("kind", ["forward", "backward_data", "backward_weights"])
@pytest.mark.parametrize("sizes", [(2, 3, 6, 5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1),
                                   (2, 4, 7, 6, 6, 3, 2, 2, 1, 1, 0, 0, 1, 1, 2, 2),
                                   (1, 4, 8, 8, 4, 3, 3, 2, 2, 1, 1, 1, 1, 2, 1, 4)], ids=["3 x 3", "strides", "depthwise"])
def test_convolutions_are_those_of_their_definition(kind, sizes):
    n, c, h, w, o, kh, kw, sh, sw, pt, pb, pl, pr, dh, dw, g = sizes
    oh, ow = (h + pt + pb - dh * (kh - 1) - 1) // sh + 1, (w + pl + pr - dw * (kw - 1) - 1) // sw + 1
    x, weight, dout = numbers(n, c, h, w), numbers(o, c // g, kh, kw), numbers(n, o, oh, ow)
    left, right, like = {"forward": (x, weight, dout), "backward_data": (dout, weight, x),
                         "backward_weights": (x, dout, weight)}[kind]
    out = np.full(like.shape, np.nan, np.float32)
    on_gpu("conv2d", [left, right, out, *sizes], n, dtype=dt.float32, kind=kind)
    np.testing.assert_array_equal(out, convolve(kind, x, weight, dout, sizes))


@runs_here
@pytest.mark.parametrize("kind", ["max_forward", "max_backward", "avg_forward", "avg_backward"])
@pytest.mark.parametrize("window, padding", [((2, 2, 2, 2, 1, 1), (0, 0, 0, 0)), ((3, 3, 2, 1, 1, 2), (1, 1, 1, 0)),
                                             ((3, 3, 2, 2, 1, 1), (1, 1, 1, 1)), ((9, 8, 1, 1, 1, 1), (4, 4, 4, 4))])
def test_pooling_is_the_cpus_with_its_ties_and_nans(kind, window, padding):
    n, c, h, w = 2, 3, 9, 8
    (kh, kw, sh, sw, dh, dw), (pt, pb, pl, pr) = window, padding
    oh, ow = (h + pt + pb - dh * (kh - 1) - 1) // sh + 1, (w + pl + pr - dw * (kw - 1) - 1) // sw + 1
    x, dout = numbers(n, c, h, w), numbers(n, c, oh, ow)
    x[0, 0, 3, 4] = np.nan
    arrays = {"max_forward": [x], "max_backward": [x, dout], "avg_forward": [x], "avg_backward": [dout]}[kind]
    like = dout if "forward" in kind else x
    for include, divisor in ((0, 0), (1, 0), (0, 3)):
        outs = [np.full_like(like, 7) for _ in range(2)]
        for run, out in zip((on_cpu, on_gpu), outs):
            run("pool2d", [*arrays, out, n, c, h, w, oh, ow, *padding, include, divisor], n * c, dtype=dt.float32, kind=kind,
                window=window)
        np.testing.assert_allclose(*outs, rtol=1e-6, atol=1e-5)


@runs_here
@pytest.mark.parametrize("threads", [1, 4, 256])
@pytest.mark.parametrize("name", ["index_add", "elements_add"])
def test_sums_into_tables_are_the_cpus_and_by_atomics_too(name, threads, monkeypatch):
    monkeypatch.setattr(library, "SHARING", ((11, 2 * threads), (10, threads), (0, 2 * threads)))      # of 10 columns
    index = rng.integers(-6, 6, (9, 1) if name == "index_add" else (2, 9, 5))
    updates, facts = numbers(2, 9, 5), {"depth": 1} if name == "index_add" else {}
    outs = [np.ones((2, 6, 5), np.float32) for _ in range(3)]
    args = [index, updates, None, 2, 5, 9, 6]
    for out, (run, more) in zip(outs, ((on_cpu, {}), (on_gpu, {}), (on_gpu, {"deterministic": False}))):
        run(name, [*args[:2], out, *args[3:]], 5, dtype=dt.float32, index=dt.int64, **facts, **more)
    np.testing.assert_array_equal(outs[1], outs[0])
    np.testing.assert_array_equal(outs[2], outs[0])           # multiples of 1/2 have one sum
    part = library.part(name, dtype=dt.float32, index=dt.int64, deterministic=False, **facts)
    text = ptx(kernel_text([part], extent=True), "sm_90")
    assert "atom" in text or "red." in text


@runs_here
@pytest.mark.parametrize("kind", ["sum", "product", "recurrence"])
@pytest.mark.parametrize("exclusive, reverse", [(0, 0), (1, 1)])
def test_running_sums_are_the_cpus_to_the_last_bit(kind, exclusive, reverse):
    arrays = [rng.standard_normal((5, 17, 3)).astype(np.float32) for _ in range(1 + (kind == "recurrence"))]
    outs = [np.zeros((5, 17, 3), np.float32) for _ in range(2)]
    for run, out in zip((on_cpu, on_gpu), outs):
        run("scan", [*arrays, out, 17, 3, exclusive, reverse], 15, dtype=dt.float32, kind=kind)
    np.testing.assert_array_equal(*outs)


@runs_here
def test_the_best_of_each_line_are_the_cpus():
    x, made = numbers(5, 17, 3), []
    for run in (on_cpu, on_gpu):
        made.append((np.zeros((5, 4, 3), np.float32), np.zeros((5, 4, 3), np.int64)))
        run("topk", [x, *made[-1], 17, 4, 3], 15, dtype=dt.float32, largest=True)
    for a, b in zip(*made):
        np.testing.assert_array_equal(a, b)


FACTS = {"matmul": {}, "conv2d": {"kind": "backward_data"}, "pool2d": {"kind": "max_backward", "window": (3, 3, 2, 2, 1, 1)},
         "index_add": {"index": dt.int64, "depth": 2}, "elements_add": {"index": dt.int32}, "scan": {"kind": "sum"},
         "topk": {"largest": False},
         "attention": {"dtype": dt.float16, "kind": "forward", "width": 32, "causal": True, "scale": 0.5}}


@pytest.mark.parametrize("name", library.MAKERS)
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_each_becomes_ptx(name, architecture, tmp_path):
    text = ptx(kernel_text([library.part(name, **{"dtype": dt.float32, **FACTS[name]})], extent=True), architecture)
    assert f".target {architecture}" in text and ".extern" not in text and ".local" not in text
    if name in ("matmul", "conv2d"):
        assert text.count("fma.rn.f32") >= 16 and "ld.shared" in text
    if ptxas() is not None and architecture == "sm_90":
        (tmp_path / "kernel.ptx").write_text(text)
        done = subprocess.run([ptxas(), "-arch=sm_90", "-v", "kernel.ptx", "-o", "kernel.cubin"], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 0 and "0 bytes stack frame" in done.stderr
