"""A result written over a parameter is the result written elsewhere, in both lowerings and through a whole program."""
import ctypes
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, tensor                                                                     # noqa: E402

from mindlite.common.config import config                                                               # noqa: E402
from mindlite.common.errors import InternalError                                                        # noqa: E402
from mindlite.compile.executable import Executable                                                      # noqa: E402
from mindlite.compile.lower import lower                                                                # noqa: E402
from mindlite.graph_kernel import lowering                                                              # noqa: E402
from mindlite.graph_kernel.cluster import cluster                                                       # noqa: E402
from run_text import assembly                                                                           # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.backend.printers.languages import text_of                                                         # noqa: E402
from mindlite.graph_kernel.schedule import schedule                                                     # noqa: E402
from mindlite.ops.basic import reshape                                                                  # noqa: E402


@pytest.fixture(params=["llvm", "numba"])
def either_lowering(request):
    before = config.set(lowering=request.param)
    yield
    config.set(**before)


def adam(*shape, old=True):
    """(p, m, v, g) -> the new p, m, v, and with `old` p's old value doubled: everything reads the old values."""
    w = Writer("adam", **{name: tensor("float32", *shape) for name in "pmvg"})
    m = w(c.add, w(c.mul, w.m, 0.9), w(c.mul, w.g, 0.1))
    v = w(c.add, w(c.mul, w.v, 0.999), w(c.mul, w(c.square, w.g), 0.001))
    p = w(c.sub, w.p, w(c.mul, w(c.mul, m, w(c.rsqrt_eps, v)), 0.01))
    return w.graph(p, m, v, w(c.mul, w.p, 2.0)) if old else w.graph(p, m, v)


def run_over(lowered, arrays, pairs):
    """The results when output n's memory is parameter k's, for (n, k) in pairs; the other results are new arrays."""
    arrays = [a.copy() for a in arrays]
    over = dict(pairs)
    outs = [arrays[over[n]] if n in over else np.full_like(arrays[0], np.nan) for n in range(len(lowered.outputs))]
    args = np.array([a.ctypes.data for a in [*arrays, *outs]] + list(lowered.sizes), np.int64)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lowered.kernel.address)
    extent = lowered.extent
    for k in range(2):
        assert function(args.ctypes.data, extent * k // 2, extent * (k + 1) // 2) == 0
    return outs


@pytest.mark.parametrize("shape", [(1000,), (1,), (3, 37), (0,)])
def test_an_optimiser_step_in_place_is_the_step_out_of_place(shape, either_lowering):
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape).astype(np.float32) for _ in range(4)]
    graph, pairs = adam(*shape), ((0, 0), (1, 1), (2, 2))
    want = c.execute(lowering(graph), arrays)
    for out, expected in zip(run_over(lowering(graph, in_place=pairs), arrays, pairs), want):
        np.testing.assert_array_equal(out, expected)


def test_the_same_graph_in_place_is_another_kernel(either_lowering):
    graph = adam(1000)
    texts = {text_of(schedule(build(graph, pairs))) for pairs in ((), ((0, 0),), ((0, 0), (1, 1)), ((1, 1), (0, 0)))}
    assert len(texts) == 3


def test_an_update_in_place_is_vectorised():
    code = assembly(text_of(schedule(build(adam(1000), ((0, 0), (1, 1), (2, 2))))))
    assert any(word in code for word in ("vmulps", "mulps", "fmul\tv"))


def test_a_sum_of_rows_may_be_written_over_a_parameter_that_is_read_at_its_index():
    w = Writer(x=tensor("float32", 5, 30), s=tensor("float32", 5))
    graph = w.graph(w(c.add, w.s, w(c.reduce_sum, w.x, axis=(1,))))
    x, s = np.random.default_rng(0).random((5, 30)).astype(np.float32), np.ones(5, np.float32)
    want, = c.execute(lowering(graph), [x, s])
    lowered = lowering(graph, in_place=((0, 1),))
    args = np.array([x.ctypes.data, s.ctypes.data, s.ctypes.data, *lowered.sizes], np.int64)
    ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lowered.kernel.address)(
        args.ctypes.data, 0, lowered.extent)
    np.testing.assert_array_equal(s, want)


def test_what_is_read_at_another_index_cannot_be_written_over():
    w = Writer(x=tensor("float32", 4, 4))
    with pytest.raises(InternalError, match="read elsewhere"):
        lowering(w.graph(w(c.transpose, w.x, perm=(1, 0))), in_place=((0, 0),))
    with pytest.raises(InternalError, match="read elsewhere"):
        lowering(c.softmax_graph(4, 4), in_place=((0, 0),))
    w = Writer(x=tensor("float32", 4), y=tensor("float32", 4))
    with pytest.raises(InternalError, match="two results"):
        lowering(w.graph(w(c.neg, w.x), w(c.tanh, w.x)), in_place=((0, 0), (1, 0)))


def test_a_program_updates_its_parameters_in_place(either_lowering):
    arrays = [np.random.default_rng(0).random(500).astype(np.float32) for _ in range(4)]
    graph = adam(500, old=False)
    want = c.execute(lowering(graph), arrays)
    lowered = lower(cluster(graph), ((0, 0), (1, 1), (2, 2)))
    assert [p.name for _, p in lowered.parameters] == list("pmvg")
    Executable(lowered.program).run([a.ctypes.data for a in arrays])
    for out, expected in zip(arrays, want):
        np.testing.assert_array_equal(out, expected)
    assert " copy " not in str(lowered.program) and len(lowered.kernels) == 1


def test_an_old_value_that_is_read_through_a_reshape_is_still_there():
    w = Writer(x=tensor("float32", 6))
    flat = w(reshape, w.x, shape=(2, 3))
    graph = w.graph(w(c.neg, w.x), w(c.tanh, flat))
    x, out = np.arange(6, dtype=np.float32), np.empty((2, 3), np.float32)
    Executable(lower(graph, ((0, 0),)).program).run([x.ctypes.data, out.ctypes.data])
    np.testing.assert_array_equal(x, -np.arange(6, dtype=np.float32))
    np.testing.assert_allclose(out, np.tanh(np.arange(6.0).reshape(2, 3)), rtol=1e-6)
