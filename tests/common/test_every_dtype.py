"""Every row of the table of dtypes x everybody who handles elements: the same bits everywhere."""
import copy
import ctypes
import io
import pickle

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cpu.native import Module
from mindlite.common import dtype as dt
from mindlite.common.config import config
from mindlite.common.errors import DTypeError
from mindlite.compile import flow as F
from mindlite.compile.executable import Executable
from mindlite.compile.flow_builder import FlowBuilder
from mindlite.train.checkpoint import read_safetensors, write_safetensors

ROWS = pytest.mark.parametrize("d", dt.ALL, ids=lambda d: d.name)
REAL = pytest.mark.parametrize("d", [d for d in dt.ALL if d.kind != "c"], ids=lambda d: d.name)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 3.0, 7.0, -8.0, 8.0, 15.0, 100.0, -129.0, 240.0, 448.0, 464.0, 465.0, 57344.0,
           61440.0, 1e5, 2.0 ** -9, 2.0 ** -10, 3 * 2.0 ** -11, 2.0 ** -16, 2.0 ** -17, 2.0 ** -18]


def sample(d):
    """Elements of the type, those at its ends among them."""
    if d.bits <= 8 and d.is_small:                            # all codes
        values = np.arange(1 << d.bits, dtype=np.uint8).view(d.numpy)
        return values[~np.isnan(values.astype(np.float32))] if d.is_float else values
    if d.kind in "iu":
        ends = [d.limits.min, d.limits.max]
        return np.array([*ends, 0, 1, 2, 3, 5, 7, 11], d.numpy)
    return np.array([0, 1, -1, 0.5, 2.25, -3, 100] if d.kind != "b" else [0, 1, 1], np.float64).astype(d.numpy)


def same(a, b):
    """The same dtype, shape and bits."""
    a, b = (np.asarray(x.asnumpy() if isinstance(x, Tensor) else x) for x in (a, b))
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes(), (a, b)


@ROWS
def test_a_row_is_found_under_all_its_names_and_is_one_object(d):
    assert dt.dtype(d.name) is dt.dtype(d.short) is dt.dtype(d.numpy) is dt.dtype(d.numpy.type) is d
    assert copy.deepcopy(d) is d and pickle.loads(pickle.dumps(d)) is d and repr(d) == d.shown
    assert getattr(ms, d.name + "_" * (d is dt.bool_)) is d and d.compute.compute is d.compute
    for field in ("name", "short", "shown", "numpy"):
        assert len({getattr(row, field) for row in dt.ALL}) == len(dt.ALL), field


@ROWS
def test_tensors_are_made_printed_and_indexed(d):
    x = Tensor(sample(d))
    assert x.dtype is d and f"dtype={d.shown}" in repr(x) and str(x)
    same(x[1:], sample(d)[1:])
    same(Tensor([0, 1, 1], d), np.array([0, 1, 1]).astype(d.numpy))
    same(ops.ones((2, 3), d), np.ones((2, 3)).astype(d.numpy))
    same(ops.concat((x, x)).reshape((2, -1)), np.stack((sample(d), sample(d))))


def casts(x, others):
    return tuple([ops.cast(x, other) for other in others])


@pytest.mark.parametrize("lowering", ["llvm", "numba"])
@ROWS
def test_casts_round_and_wrap_as_numpy_does_in_eager_mode_and_in_kernels(d, lowering, monkeypatch):
    if lowering == "numba":
        pytest.importorskip("numba")
    monkeypatch.setitem(config.__dict__, "lowering", lowering)
    others = [other for other in dt.ALL if (d.kind == "c") == (other.kind == "c")]
    if d.is_float:                                            # what does not fit into an integer is up to the CPU
        others = [other for other in others if other.kind not in "iu"]
    values = sample(d)
    eager = casts(Tensor(values), others)
    graph = ms.jit(lambda x: casts(x, others), fullgraph=True)(Tensor(values))
    for other, a, b in zip(others, eager, graph):
        with np.errstate(over="ignore"):
            same(a, values.astype(other.numpy))
        same(a, b)


@pytest.mark.parametrize("d", [d for d in dt.ALL if d.is_small], ids=lambda d: d.name)
def test_wide_floats_are_rounded_once_and_saturate_as_ml_dtypes_does(d):
    draw = np.random.default_rng(0)
    values = np.array([*SPECIAL, *draw.normal(size=400) * 2.0 ** draw.integers(-20, 17, 400)])
    values = np.concatenate([values, -values])
    if not d.is_float:
        values = np.trunc(values[np.abs(values) < 2 ** 31])
    for wide in (np.float32, np.float64):
        given = values.astype(wide)
        with np.errstate(over="ignore"):
            want = given.astype(d.numpy)
        cast = ms.jit(lambda x: ops.cast(x, d), fullgraph=True)(Tensor(given))
        same(ops.cast(Tensor(given), d), want)
        assert np.array_equal(cast.asnumpy().astype(np.float32), want.astype(np.float32), equal_nan=True)


def test_eight_bit_floats_saturate_as_in_torch():
    """What torch 2.13 gives: E4M3 has no infinity, beyond 464 comes NaN; E5M2 has one, from 61440 on."""
    x = Tensor(np.array([448, 464, 465, 1e9, np.inf, -500, 2 ** -9, 2 ** -10, 3 * 2 ** -11], np.float32))
    got = ops.cast(x, ms.float8_e4m3fn).astype(ms.float32).asnumpy()
    np.testing.assert_array_equal(got, [448, 448, np.nan, np.nan, np.nan, np.nan, 2 ** -9, 0, 2 ** -9])
    x = Tensor(np.array([57344, 61439, 61440, 1e9, np.inf, -np.inf, 2 ** -16, 2 ** -17], np.float32))
    got = ops.cast(x, ms.float8_e5m2).astype(ms.float32).asnumpy()
    np.testing.assert_array_equal(got, [57344, 57344, np.inf, np.inf, np.inf, -np.inf, 2 ** -16, 0])
    assert Tensor([7, 8, 9, -9, 300], ms.int4).asnumpy().tolist() == [7, -8, -7, 7, -4]


def arithmetic(x, y):
    return x + y, x - y, x * y, ops.maximum(x, y), x * 2, ops.where(x > y, x, y), x == y, (x + y) * x - y, x.sum(), \
        ops.cast(x, ms.float32) * 0.5


@pytest.mark.parametrize("lowering", ["llvm", "numba"])
@pytest.mark.parametrize("d", [d for d in dt.ALL if d.kind not in "bc"], ids=lambda d: d.name)
def test_arithmetic_is_the_same_in_eager_mode_and_in_kernels(d, lowering, monkeypatch):
    monkeypatch.setitem(config.__dict__, "lowering", lowering)
    x, y = np.array([1, 2, 3, 5, 7, 1, 0, 4]).astype(d.numpy), np.array([3, 2, 7, 1, 6, 0, 5, 4]).astype(d.numpy)
    if d.is_float:
        x, y = (x.astype(np.float32) / 3).astype(d.numpy), (y.astype(np.float32) * 0.37).astype(d.numpy)
    eager = arithmetic(Tensor(x), Tensor(y))
    for a, b in zip(eager, ms.jit(arithmetic, fullgraph=True)(Tensor(x), Tensor(y))):
        if d.bits >= 32 and a.shape == () and d.is_float:     # the order of a sum is the kernel's
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)
        else:
            same(a, b)
    wide = x.astype(d.compute.numpy) + y.astype(d.compute.numpy)
    same(eager[0], wide.astype(d.numpy))


@pytest.mark.parametrize("d", [d for d in dt.ALL if d.kind == "f"], ids=lambda d: d.name)
def test_gradients_have_the_dtype(d):
    x = Tensor(np.array([0.5, 1.0, 2.0]).astype(d.numpy))

    def f(x):
        return (x * x * x).sum()
    eager, graph = ms.grad(f)(x), ms.jit(ms.grad(f), fullgraph=True)(x)
    assert eager.dtype is d
    np.testing.assert_allclose(eager.asnumpy().astype(float), [0.75, 3, 12])
    np.testing.assert_allclose(graph.asnumpy().astype(float), [0.75, 3, 12])


@pytest.mark.parametrize("printer", ["native", "vm", "python"])
@REAL
def test_numbers_of_a_run_are_read_and_written_with_the_same_bits(d, printer):
    b = FlowBuilder("main")
    x, out = b.param("ptr", "x"), b.param("ptr", "out")
    value = b.load(x, d)
    b.store(out, value, d)
    wide = b.param("f64" if d.is_float else "i64", "wide")
    b.store(b.arith("add", out, b.const(8)), wide, d)
    executable = Executable(F.Program(b.finish((value,))), printer)
    for element in sample(d)[:64]:
        for number in ([*SPECIAL, float("inf")] if d.is_float else [0, 1, -1, 7, 8, 100]) if element == sample(d)[1] else [1]:
            given, made = np.array([element]), np.zeros(2, np.int64)
            (found,), _ = executable.run([given.ctypes.data, made.ctypes.data, number])
            assert found == float(element.astype(np.float64)) if d.is_float else found == wrapped(int(element))
            assert made[:1].tobytes()[:d.itemsize] == given.tobytes()
            with np.errstate(all="ignore"):
                want = np.array([np.float32(number) if d.is_small and d.is_float else number]).astype(d.numpy)
            assert made[1:].tobytes()[:d.itemsize] == want.tobytes(), (number, want)


def wrapped(number):
    return (number + 2 ** 63) % 2 ** 64 - 2 ** 63


@pytest.mark.parametrize("d", [d for d in dt.ALL if d.is_float or d.kind in "iu" and not d.is_small], ids=lambda d: d.name)
def test_the_language_of_kernels_reads_and_writes_it(d):
    module = Module(f"copy_{d.name}")
    with module.kernel(module.name) as f:
        source, to = f.array(d, f.arg(0)), f.array(d, f.arg(1))
        with f.loop(f.begin, f.end) as i:
            to[i] = source[i]
    code = module.compile()
    values = sample(d)
    made = np.zeros_like(values)
    args = np.array([values.ctypes.data, made.ctypes.data], np.int64)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(code.address(module.name))
    assert run(args.ctypes.data, 0, len(values)) == 0
    same(made, values)


@ROWS
def test_parameters_are_saved_and_loaded(d, tmp_path):
    x = ms.Parameter(Tensor(sample(d)), name="x")
    ms.save_checkpoint([{"name": "x", "data": x}], str(tmp_path / "a.ckpt"))
    same(ms.load_checkpoint(str(tmp_path / "a.ckpt"))["x"], sample(d))
    stream = io.BytesIO()
    if d.safe is None:
        with pytest.raises(DTypeError, match=d.name):
            write_safetensors(stream, {"x": sample(d)})
        return
    write_safetensors(stream, {"x": sample(d)})
    same(read_safetensors(stream.getvalue(), "x.safetensors")["x"], sample(d))


@ROWS
def test_a_graph_with_such_constants_goes_through_files(d, tmp_path):
    values = sample(d)[:5] if d.kind == "c" else np.resize(sample(d), 300)
    constant = Tensor(values)

    class Net(ms.nn.Cell):
        def construct(self, x):
            return ops.where(x == x, x, constant), constant[:2]
    net, x = Net(), Tensor(values[::-1].copy())
    ms.export(net, x, file_name=str(tmp_path / "net"), file_format="MINDIR")
    loaded = ms.nn.GraphCell(ms.load(str(tmp_path / "net.mindir")))
    for a, b in zip(loaded(x), net(x)):
        same(a, b)
