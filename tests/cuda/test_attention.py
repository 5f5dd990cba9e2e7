"""Attention on a GPU: kernels by tensor cores, in the simulator, beside float64; and products of halves with odd rows."""
import numpy as np
import pytest
from gpus import assembled, counted, ptxas, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.cuda import attention, library
from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.backend.cuda.simulator import Simulated
from mindlite.common import dtype as dt
from mindlite.common.events import listen

pytestmark = runs_here
HALVES = {"bfloat16": 2e-2, "float16": 3e-3}                 # how far results of about 1 may be off
SIZES = [(2, 150, 200, 64, True), (2, 150, 70, 32, False), (1, 130, 131, 128, True), (1, 5, 3, 16, True), (1, 1, 1, 48, False),
         (1, 3, 300, 80, False)]
_parts: dict = {}


def expected(q, k, v, dout, scale, causal):
    """out, lse, delta and the three gradients in float64."""
    q, k, v, dout = (x.astype(np.float64) for x in (q, k, v, dout))
    scores = q @ k.swapaxes(1, 2) * scale
    if causal:
        scores = np.where(np.arange(scores.shape[1])[:, None] >= np.arange(scores.shape[2]), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    lse = top + np.log(weights.sum(-1, keepdims=True))
    weights = np.exp(scores - lse)
    out = weights @ v
    delta = (dout * out).sum(-1)
    ds = weights * (dout @ v.swapaxes(1, 2) - delta[..., None]) * scale
    return out, lse[..., 0], delta, ds @ k, ds.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ dout


def run(kind, arrays, sizes, backwards=False, **facts):
    """Run a kernel in the simulator; a result that it does not write stays NaN."""
    key = kind, *sorted((name, str(value)) for name, value in facts.items())
    if key not in _parts:
        _parts[key] = Simulated(kernel_text([library.part("attention", kind=kind, **facts)], extent=True))
    words = np.array([1, 1, *[a.ctypes.data for a in arrays], *sizes], np.int64)
    assert _parts[key].run(words, attention.THREADS, 3, backwards)


def drawn(heads, rows, keys, width, dtype):
    rng = np.random.default_rng(rows)
    return [rng.standard_normal((heads, n, width)).astype(dtype.numpy) for n in (rows, keys, keys, rows)]


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("heads, rows, keys, width, causal", SIZES)
def test_each_kernel_computes_attention_and_its_gradients_at_any_size(name, heads, rows, keys, width, causal):
    dtype, tolerance, scale = dt.dtype(name), HALVES[name], 0.2
    q, k, v, dout = drawn(heads, rows, keys, width, dtype)
    want = expected(q, k, v, dout, scale, causal)
    facts, sizes = {"dtype": dtype, "width": width, "causal": causal, "scale": scale}, (heads, rows, keys)

    def empty(like):
        return np.full(like.shape, np.nan, dtype.numpy)
    out, lse = empty(q), np.full((heads, rows), np.nan, np.float32)
    run("forward", [q, k, v, out, lse], sizes, **facts)
    given = [q, k, v, dout, *(x.astype(np.float32) for x in want[1:3])]
    dq, dk, dv = empty(q), empty(k), empty(v)
    run("query_gradient", [*given, dq], sizes, **facts)
    run("key_gradients", [*given, dk, dv], sizes, backwards=True, **facts)
    np.testing.assert_allclose(lse, want[1], atol=1e-4)
    for found, exact in zip((out, dq, dk, dv), (want[0], *want[3:])):
        np.testing.assert_allclose(found.astype(np.float64), exact, rtol=tolerance, atol=tolerance)


def test_threads_do_not_race():
    """The last thread first gives the same bits."""
    q, k, v, dout = drawn(1, 70, 100, 32, dt.bfloat16)
    made = []
    for backwards in (False, True):
        out, lse = np.zeros_like(q), np.zeros((1, 70), np.float32)
        run("forward", [q, k, v, out, lse], (1, 70, 100), backwards, dtype=dt.bfloat16, width=32, causal=False, scale=0.5)
        made.append(out.tobytes() + lse.tobytes())
    assert made[0] == made[1]


def test_other_rows_and_dtypes_have_no_kernel():
    for dtype, width in ((dt.float32, 64), (dt.bfloat16, 40), (dt.bfloat16, 144), (dt.float64, 64)):
        assert not attention.covers(dtype, width)
        assert library.part("attention", dtype=dtype, kind="forward", width=width, causal=False, scale=1.0) is None
    assert library.part("attention", dtype=dt.float16, kind="forward", width=64, causal=False, scale=-1.0) is None


@pytest.mark.skipif(ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("kind", attention.KINDS)
def test_registers_hold_the_tiles(kind, tmp_path):
    text = ptx(kernel_text([library.part("attention", dtype=dt.bfloat16, kind=kind, width=64, causal=True, scale=0.125)],
                           extent=True), "sm_90")
    registers, stack, spills = assembled(text, "sm_90", tmp_path)
    assert (stack, spills) == (0, 0) and registers <= 255


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_products_are_those_of_the_tensor_cores(architecture):
    text = ptx(kernel_text([library.part("attention", dtype=dt.float16, kind="forward", width=64, causal=True, scale=0.125)],
                           extent=True), architecture)
    assert "mma.sync.aligned.m16n8k16" in text and "ldmatrix" in text and "cp.async" in text and ".local" not in text


# ---------------------------------------------------------------- as an operator

def kernels_of(call):
    """(what the call gives, the names of the library kernels that were asked for meanwhile)."""
    names = []
    with listen(lambda event, fields: names.append(fields["kernel"]) if event == "library_kernel" else None):
        return call(), names


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("causal", [False, True])
def test_graph_and_eager_mode_take_the_kernels_and_agree_with_float32(name, causal):
    rng = np.random.default_rng(3)
    q, k, v, w = (Tensor(rng.standard_normal((2, 3, 40, 32)).astype(np.float32)) for _ in range(4))

    def f(q, k, v, w):
        return (ops.scaled_dot_product_attention(q, k, v, is_causal=causal).astype(ms.float32) * w).sum()
    halves = [x.astype(getattr(ms, name)) for x in (q, k, v)]
    value, gradients = ms.value_and_grad(f, (0, 1, 2))(*(x.astype(ms.float32) for x in halves), w)
    with simulated_gpus():
        given = [x.to("GPU") for x in (*halves, w)]
        (_, eager), names = kernels_of(lambda: ms.value_and_grad(f, (0, 1, 2))(*given))
        (graph_value, graph), more = kernels_of(lambda: ms.jit(ms.value_and_grad(f, (0, 1, 2)), fullgraph=True)(*given))
        assert names.count(f"attention_{dt.dtype(name).short}") >= 3 and more.count(f"attention_{dt.dtype(name).short}") == 3
        np.testing.assert_allclose(float(graph_value), float(value), atol=0.2)
        for a, b, exact in zip(eager, graph, gradients):
            np.testing.assert_allclose(a.astype(ms.float32).asnumpy(), b.astype(ms.float32).asnumpy(), rtol=1e-2, atol=1e-5)
            np.testing.assert_allclose(b.astype(ms.float32).asnumpy(), exact.asnumpy(), rtol=HALVES[name], atol=HALVES[name])


def test_one_kernel_serves_all_lengths():
    """Sizes are arguments: a second length with `dynamic` loads nothing."""
    f = ms.jit(lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, is_causal=True), dynamic=True)
    rng = np.random.default_rng(4)
    with simulated_gpus() as library_:
        for length in (70, 33, 1):
            q, k, v = (Tensor(rng.standard_normal((2, length, 16)).astype(np.float16)).to("GPU") for _ in "qkv")
            found, counts = counted(library_, lambda: f(q, k, v))  # noqa: B023
            want = ops.scaled_dot_product_attention(*(x.to("CPU").astype(ms.float32) for x in (q, k, v)), is_causal=True)
            np.testing.assert_allclose(found.astype(ms.float32).asnumpy(), want.asnumpy(), atol=4e-3)
            assert counts.get("ModuleLoadData", 0) == (length == 70)


@pytest.mark.parametrize("rows, keys, heads", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)])
def test_nothing_attends_to_nothing(rows, keys, heads):
    """Without queries or heads there is nothing, without keys zeros; gradients have the operands' shapes."""
    def f(q, k, v):
        return ops.scaled_dot_product_attention(q, k, v).astype(ms.float32).sum()
    with simulated_gpus():
        q, k, v = (Tensor(np.ones((heads, n, 16), np.float16)).to("GPU") for n in (rows, keys, keys))
        for run in (ms.value_and_grad(f, (0, 1, 2)), ms.jit(ms.value_and_grad(f, (0, 1, 2)), fullgraph=True)):
            value, gradients = run(q, k, v)
            assert float(value) == 0 and all(not g.asnumpy().any() for g in gradients)
            assert [g.shape for g in gradients] == [q.shape, k.shape, v.shape]


def test_what_is_no_operator_is_written_in_products():
    """A mask, dropout, other widths: the same values by the long way."""
    rng = np.random.default_rng(5)
    q, k, v = (Tensor(rng.standard_normal((2, 9, 16)).astype(np.float32)).astype(ms.float16) for _ in "qkv")
    mask = Tensor(np.tril(np.ones((9, 9), bool)))
    plain = ops.scaled_dot_product_attention(q, k, v, is_causal=True).astype(ms.float32).asnumpy()
    masked = ops.scaled_dot_product_attention(q, k, v, mask).astype(ms.float32).asnumpy()
    np.testing.assert_allclose(masked, plain, atol=4e-3)
    with simulated_gpus():
        _, names = kernels_of(lambda: ops.scaled_dot_product_attention(*(x.to("GPU") for x in (q, k, v)), mask.to("GPU")))
        assert not any(name.startswith("attention") for name in names)


# ---------------------------------------------------------------- products with odd rows

def test_a_training_step_with_an_odd_number_of_classes_multiplies_rows_of_16_bytes():
    """Forward, both gradients and the bias's have the values of the CPU, and no product has a row of 75 halves."""
    rng = np.random.default_rng(6)
    shapes = (2, 64, 72), (75, 72), (75,)
    x, w, b = (Tensor(rng.standard_normal(s).astype(np.float32) * 0.1).astype(ms.bfloat16) for s in shapes)
    y = Tensor(rng.integers(0, 75, 128).astype(np.int32))

    def f(x, w, b, y):
        return ops.cross_entropy((ops.matmul(x, w.T) + b).reshape(-1, 75), y)
    step = ms.value_and_grad(f, (0, 1, 2))
    value, gradients = step(x, w, b, y)
    with simulated_gpus():
        compiled = ms.jit(step, fullgraph=True)
        found, given = compiled(*(t.to("GPU") for t in (x, w, b, y)))
        text = ms.debug.ir(compiled, "fuse", source=False)
        found, given = float(found), [a.astype(ms.float32).asnumpy() for a in given]
    products = [line for line in text.splitlines() if "batch_matmul(" in line]
    assert len(products) == 3 and all("75" not in line.split("batch_matmul", 1)[1].split(":")[-1] for line in products)
    assert text.count("80]") > 3
    np.testing.assert_allclose(found, float(value), rtol=2e-2)
    for a, exact in zip(given, gradients):
        np.testing.assert_allclose(a, exact.astype(ms.float32).asnumpy(), rtol=5e-2, atol=2e-4)
