"""With the same lanes a kernel gives the same bits: wherever its work is cut, on any number of threads, on any processor.

Sizes are odd: no axis is a whole number of vectors, tiles or squares. The launcher is called as printed code calls it, with a
cost that makes it cut. Another processor is an older one of the same family, for which the kernel is compiled anew.
"""
import ctypes
import os
import platform
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402

from mindlite import ops                                                                                # noqa: E402
from mindlite.backend import object_code                                                                # noqa: E402
from mindlite.backend.launcher import default_threads, launch_address, set_threads                     # noqa: E402
from mindlite.backend.machine_code import host_features                                                 # noqa: E402
from mindlite.backend.target import current, using                                                      # noqa: E402
from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.common.config import config                                                               # noqa: E402
from mindlite.common.dim import evaluate                                                                # noqa: E402
from mindlite.common.errors import ValueRangeError                                                      # noqa: E402
from mindlite.backend import kernel_cache as cache                                                      # noqa: E402
from mindlite.graph_kernel import lowering                                         # noqa: E402
from mindlite.graph_kernel.expand import expand_composites                                              # noqa: E402
from mindlite.backend.printers.languages import text_of                                                         # noqa: E402
from mindlite.mindir.abstract import AbstractTensor                                                     # noqa: E402
from mindlite.mindir.builder import typed                                                               # noqa: E402

LAUNCH = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)
CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
rng = np.random.default_rng(0)


def floats(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


FAMILIES = {
    "elementwise, long": (lambda x, y: ops.tanh(x) * ops.exp(y) + ops.erf(x) / ops.sigmoid(y), floats(37, 53), floats(37, 53)),
    "elementwise, short": (lambda x, y, z: x * y + z - x * z, floats(1237), floats(1237), floats(1237)),
    "sums of rows": (lambda x: ops.sum(x * x, dim=-1), floats(13, 1277)),
    "softmax of rows": (lambda x: ops.softmax(x, axis=-1), floats(13, 277)),
    "normalised rows": (lambda x, g, b: ops.layer_norm(x, (277,), g, b), floats(13, 277), floats(277), floats(277)),
    "places of maxima": (lambda x: ops.argmax(x, 1), floats(13, 277)),
    "short rows": (lambda x: ops.softmax(x, axis=-1), floats(137, 7)),
    "sums of columns": (lambda x: ops.sum(ops.exp(x), dim=0), floats(113, 333)),
    "a middle axis": (lambda x: ops.sum(x, dim=1), floats(9, 71, 37)),
    "outer and inner axes": (lambda x: ops.sum(x, dim=(0, 2)), floats(9, 71, 37)),
    "sums with a stride": (lambda x: ops.sum(x[:, ::3] * 2, dim=1), floats(19, 371)),
    "sums by an index": (lambda x, i: ops.sum(ops.gather(x, i, 1), dim=1), floats(19, 371), rng.integers(0, 371, 401)),
    "float64, with a stride": (lambda x: ops.sum(x[:, ::2], dim=-1), floats(13, 1277, dtype=np.float64)),
    "float16": (lambda x: ops.sum(x, dim=-1), floats(13, 1277, dtype=np.float16)),
    "a transpose": (lambda x, y: ops.tanh(ops.transpose(x, (1, 0))) + y, floats(75, 70), floats(70, 75)),
    "everything": (lambda x: ops.sum(x) * 2, floats(131, 77)),
    **{f"sums of {n}": (lambda x: ops.sum(x * x, dim=-1), floats(137, n)) for n in (3, 8, 9, 10, 11, 12, 15, 16)},
    **{f"differences from means of {n}": (lambda x, w: (x - x.mean(-1, keep_dims=True)) * w, floats(137, n), floats(n))
       for n in (4, 7, 10, 16)},
    "float64, sums of 12": (lambda x: ops.sum(x, dim=-1), floats(137, 12, dtype=np.float64)),
}


def older_code(text):
    """The address of a kernel compiled for an older processor than this one; None where we know of none."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not host_features().get("avx2"):
        return None
    triple = object_code.processor()[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_code, "processor", lambda: (triple, "ivybridge", ""))     # no AVX2, no fused multiply-add
        return cache.load(object_code.object_code(cache.request(text)), "kernel")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_kernel_gives_the_same_bits_however_it_is_cut_and_on_an_older_processor(lanes, name):
    function, *inputs = FAMILIES[name]
    lowered = lowering(expand_composites(typed(function, *(AbstractTensor(dt.dtype(x.dtype), x.shape) for x in inputs))))
    extent, (output,) = evaluate(lowered.extent, None), lowered.outputs
    out = np.empty(output.abstract.shape, output.abstract.dtype.numpy)
    args = np.array([x.ctypes.data for x in (*inputs, out)] + [evaluate(s, None) for s in lowered.sizes], np.int64)
    results = []

    def run(how, *calls):
        out.reshape(-1).view(np.uint8)[...] = 0x55
        for call in calls:
            assert call() == 0
        results.append((how, out.copy()))
    for where, address in (("here", lowered.kernel.address), ("on an older one", older_code(text_of(lowered.nest)))):
        if address is not None:
            for cuts in ((0, extent), (0, extent // 2, extent), sorted({0, 1, 2, extent // 3, extent - 1, extent} - {-1})):
                run(f"{where}, cut at {cuts}", *(lambda b=b, e=e: CALL(address)(args.ctypes.data, b, e)
                                                 for b, e in zip(cuts, cuts[1:])))
    try:
        for count in (1, 2, 3, 4, 7):
            assert set_threads(count)
            for iteration in range(2):
                run(f"{count} threads, iteration {iteration}", lambda: LAUNCH(launch_address())(
                    lowered.kernel.address, args.ctypes.data, extent, current().parallel_from))
    finally:
        set_threads(default_threads())
    for how, result in results[1:]:
        np.testing.assert_array_equal(result.reshape(-1).view(np.uint8), results[0][1].reshape(-1).view(np.uint8), err_msg=how)


def test_a_kernel_for_other_lanes_is_other_code_and_an_equal_one_is_the_same():
    def of(lanes):
        before = config.set(lanes=lanes)
        lowered = lowering(c.softmax_graph(5, 77))
        config.set(**before)
        return lowered
    texts = {lanes: text_of(of(lanes).nest) for lanes in (4, 8, 16)}
    assert all(f"<{lanes} x float>" in text and f"<{8 * lanes} x float>" not in text for lanes, text in texts.items())
    assert len({cache.key_of(text) for text in texts.values()}) == 3
    assert of(8).kernel.address == of(8).kernel.address != of(16).kernel.address


def test_a_target_is_used_in_its_block_alone_and_decides_about_the_kernels_that_are_cached():
    w = c.Writer(x=c.tensor("float32", 40, 333))
    graph = w.graph(w(c.reduce_sum, w.x, axis=(0,), keepdims=False))
    wide = lowering(graph).kernel
    with using(current().replace(tile=64)) as target:
        assert current() is target and lowering(graph).kernel.source.count("64") > wide.source.count("64")
    assert current().tile == 256 and lowering(graph).kernel.source == wide.source
    assert current().key != target.key and current() != target


def test_lanes_that_no_target_has_are_refused_by_name():
    before = config.set(lanes=5)
    try:
        with pytest.raises(ValueRangeError, match="MINDLITE_LANES.* is 5; .*4, 8, 16"):
            current()
    finally:
        config.set(**before)
