"""The two lowerings are equal paths: what Numba compiles from the text is what the emitted LLVM IR gives, and NumPy."""
import os
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, tensor                                                                     # noqa: E402

from mindlite.common import dtype as dt                                                                 # noqa: E402
from mindlite.common.config import config                                                               # noqa: E402
from mindlite.common.dim import Symbol                                                                  # noqa: E402
from mindlite.common.errors import ValueRangeError                                                      # noqa: E402
from mindlite.backend import kernel_cache as cache                                                      # noqa: E402
from mindlite.graph_kernel import lowering                                                              # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.backend.printers.languages import text_of                                                         # noqa: E402
from mindlite.backend.printers.lower_numba import llvm_ir                                                  # noqa: E402
from run_text import assembly                                                                           # noqa: E402
from mindlite.graph_kernel.schedule import schedule                                                     # noqa: E402
from mindlite.mindir.abstract import AbstractScalar                                                     # noqa: E402
from mindlite.mindir.scalar import BINARY_FUNCTIONS, UNARY_FUNCTIONS, call                              # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(autouse=True)
def _numba():
    before = config.set(lowering="numba")
    yield
    config.set(**before)


def both(graph, inputs=None, env=None, exact=True, **tolerances):
    """`check` of the Numba kernel, then the same bits from both lowerings (sums may differ in their order)."""
    if inputs is None:
        rng = np.random.default_rng(7)
        inputs = [c.sample(p.abstract, rng, env) for p in graph.parameters]
    lowered = c.check(graph, inputs, env, **tolerances)
    outs = c.execute(lowered, inputs, env)
    before = config.set(lowering="llvm")
    other = lowering(graph)
    config.set(**before)
    assert other.kernel.address != lowered.kernel.address
    for out, want in zip(outs, c.execute(other, inputs, env)):
        if exact:
            np.testing.assert_array_equal(np.atleast_1d(out).view(np.uint8), np.atleast_1d(want).view(np.uint8))
        else:
            np.testing.assert_allclose(out, want, rtol=2e-6, atol=1e-6)
    return lowered


@pytest.mark.parametrize("shape", [(), (1,), (7,), (0,), (3, 5), (1, 5), (2, 1, 3), (4, 33)])
def test_elementwise_chains(shape):
    w = Writer(x=tensor("float32", *shape), y=tensor("float32", *shape[-1:]))
    both(w.graph(w(c.mul, w(c.tanh, w(c.add, w.x, w.y)), 2.0), w(c.neg, w(c.exp, w.x))))


def test_softmax_and_layer_norm():
    n, m = Symbol("N"), Symbol("M")
    for sizes in [(5, 40), (1, 1), (0, 4), (3, 1500)]:
        both(c.softmax_graph(n.dim, m.dim), env={n: sizes[0], m: sizes[1]}, exact=False)
    both(c.layer_norm_graph(6, 40), exact=False, rtol=1e-5)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float64", "float16", "bfloat16"])
def test_reductions(name, axis, dtype):
    w = Writer(x=tensor(dtype, 6, 20))
    both(w.graph(w(getattr(c, name), w.x, axis=axis)), rtol=1e-5,
         exact=name not in ("reduce_sum", "reduce_prod") or "float" not in dtype)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "argmax", "argmin", "reduce_sum"])
def test_a_nan_wins(name):
    x = np.random.default_rng(0).standard_normal((3, 70)).astype(np.float32)
    x[1, 40] = x[1, 50] = np.nan
    x[2, :] = -np.inf
    for axis in [(1,), (0,)]:
        w = Writer(x=tensor("float32", 3, 70))
        c.check(w.graph(w(getattr(c, name), w.x, axis=axis)), [x])


@pytest.mark.parametrize("name", ["reduce_any", "reduce_all"])
def test_any_and_all(name):
    for axis in [(0,), (1,)]:
        w = Writer(x=tensor("float32", 4, 9), y=tensor("float32", 4, 9))
        both(w.graph(w(getattr(c, name), w(c.less, w.x, w.y), axis=axis)))


def test_column_statistics_over_lanes():
    w = Writer(x=tensor("float32", 40, 300))
    mean = w(c.divide_by_size, w.x, w(c.reduce_sum, w.x, axis=(0,), keepdims=True), axis=(0,))
    both(w.graph(mean, w(c.reduce_sum, w(c.square, w(c.sub, w.x, mean)), axis=(0,), keepdims=True)), exact=False,
         rtol=1e-5)


def test_transposes_slices_pads_gathers_and_reshapes():
    w = Writer(x=tensor("float32", 3, 4, 5))
    both(w.graph(w(c.tanh, w(c.transpose, w.x, perm=(2, 0, 1)))))
    w = Writer(x=tensor("float32", 3, 20))
    both(w.graph(w(c.neg, w(c.cut, w.x, start=2, step=3, size=5)), w(c.tanh, w(c.pad, w.x, before=4, after=2))))
    for index in ("int32", "int64", "uint8"):
        w = Writer(x=tensor("float32", 6, 5), i=tensor(index, 2, 3))
        x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
        both(w.graph(w(c.tanh, w(c.gather, w.x, w.i))), [x, np.array([[0, 5, 2], [3, 3, 1]], index)])
    w = Writer(x=tensor("float32", 4, 6), b=tensor("float32", 6))
    both(w.graph(w(c.tanh, w(c.reshape, w(c.add, w.x, w.b), shape=(8, 3)))))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_and_divide_as_in_numpy(dtype):
    info = np.iinfo(dtype)
    edge = np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, info.max - 1, info.max, 100], dtype)
    if info.min < 0:
        edge = np.append(edge, np.array([-1, -2, -7, -100], dtype))
    a, b = (v.ravel() for v in np.meshgrid(edge, edge))
    for prim in (c.add, c.sub, c.mul, c.floordiv, c.mod, c.maxi, c.mini):
        w = Writer(x=tensor(dtype, len(a)), y=tensor(dtype, len(a)))
        both(w.graph(w(prim, w.x, w.y)), [a, b], text=False)


@pytest.mark.parametrize("have", ["bool", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_casts_are_astype(have):
    x = c.sample(tensor(have, 40), np.random.default_rng(0))
    for want in ("bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64"):
        w = Writer(x=tensor(have, 40))
        both(w.graph(w(c.cast_to, w.x, dtype=dt.dtype(want))), [x], text=have != "bool")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats(dtype):
    w = Writer(x=tensor(dtype, 3, 50), y=tensor(dtype, 50))
    both(w.graph(w(c.mul, w(c.add, w.x, w.y), w.y), w(c.neg, w.x)))


def test_every_function_is_the_same_code():
    x = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e-40, 30.0], np.float32)
    y = x[::-1].copy()
    for name in UNARY_FUNCTIONS:
        if not name.startswith("is"):
            w = Writer(x=tensor("float32", len(x)))
            graph = w.graph(w(c.elementwise(f"n_{name}", lambda v, name=name: call(name, v), np.abs), w.x))
            _same(graph, [x])
    for name in BINARY_FUNCTIONS:
        w = Writer(x=tensor("float32", len(x)), y=tensor("float32", len(x)))
        _same(w.graph(w(c.elementwise(f"n_{name}", lambda u, v, name=name: call(name, u, v), np.add), w.x, w.y)), [x, y])


def _same(graph, inputs):
    first, = c.execute(lowering(graph), inputs)
    before = config.set(lowering="llvm")
    second, = c.execute(lowering(graph), inputs)
    config.set(**before)
    np.testing.assert_array_equal(first, second)


def test_scalars_are_arguments_and_conditions_choose():
    w = Writer(x=tensor("float32", 30), s=AbstractScalar(float))
    both(w.graph(w(c.scale, w.x, w.s)), [np.arange(30, dtype=np.float32), 0.25])
    w = Writer(x=tensor("int32", 30), s=AbstractScalar(int))
    both(w.graph(w(c.scale, w.x, w.s)), [np.arange(30, dtype=np.int32), -3])
    w = Writer(x=tensor("float32", 30), y=tensor("float32", 30))
    mask = w(c.invert, w(c.less, w.x, w.y))
    both(w.graph(w(c.select, mask, w.x, w.y), mask))


def test_what_numba_makes_is_vectorised_and_calls_nothing():
    w = Writer(x=tensor("float32", 500, 4), y=tensor("float32", 500, 4))
    text = text_of(schedule(build(w.graph(w(c.tanh, w(c.exp, w(c.mul, w.x, w.y)))))))
    code = assembly(llvm_ir(text))
    assert text.startswith(cache.NUMBA)
    assert any(line.split()[0] in ("vmulps", "mulps", "fmul") and ("mm" in line or ".4s" in line)
               for line in code.splitlines() if line.split())
    assert "call" not in code


def test_a_sum_of_rows_is_vectorised():
    w = Writer(x=tensor("float32", 500, 400))
    code = assembly(llvm_ir(text_of(schedule(build(w.graph(w(c.reduce_sum, w.x, axis=(1,))))))))
    assert any(line.split()[0] in ("vaddps", "addps", "fadd") and ("mm" in line or ".4s" in line)
               for line in code.splitlines() if line.split())


def test_equal_kernels_of_other_names_and_lines_are_one():
    texts = set()
    for name, line in (("a", 3), ("b", 4)):
        w = Writer(name, **{name: tensor("float32", 30)})
        texts.add(text_of(schedule(build(w.graph(w(c.tanh, w.inputs[name], line=line))))))
    assert len(texts) == 1


def test_a_second_process_loads_the_object_code_without_numba(tmp_path):
    code = (f"import sys; sys.path[:0] = [{ROOT!r}, {os.path.dirname(os.path.abspath(__file__))!r}]; import clusters as c; "
            "from mindlite.common.events import counters; c.check(c.softmax_graph(3, 21), text=False); "
            "print(counters['kernel_compile'], counters['kernel_load'], 'numba' in sys.modules)")
    environment = {**os.environ, "MINDLITE_CACHE_DIR": str(tmp_path), "MINDLITE_LOWERING": "numba"}
    runs = [subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            for _ in range(2)]
    assert [r.stdout.split() for r in runs] == [["1", "0", "True"], ["0", "1", "False"]], runs[0].stderr


def test_an_unknown_lowering_is_an_error():
    config.set(lowering="fortran")
    with pytest.raises(ValueRangeError, match="'llvm' or 'numba'"):
        lowering(c.softmax_graph(3, 20))
