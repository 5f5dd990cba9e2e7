"""Kernels for a GPU: their numbers in the simulator, with any number and order of threads; their PTX; no size in their text."""

import clusters as c
import numpy as np
import pytest
from clusters import Writer, for_gpu, simulate, tensor
from gpus import assembled, ptxas, runs_here

from mindlite import ops
from mindlite.backend.cuda import nvptx
from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.backend.cuda.simulator import Simulated
from mindlite.backend.cuda.target import CUDA
from mindlite.backend.cuda.threads import plan
from mindlite.backend.target import current
from mindlite.graph_kernel import fusable, lowering
from mindlite.graph_kernel.expand import expand_composites
from mindlite.graph_kernel.loopnest import build
from mindlite.graph_kernel.schedule import schedule
from mindlite.mindir.builder import typed
from mindlite.mindir.loops import CannotFuse

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def written(function, *shapes, dtype="float32"):
    """The graph of a function of tensors, its composites written in smaller operators."""
    return expand_composites(typed(function, *(tensor(dtype, *shape) for shape in shapes)))


def column_moments(x):
    return ops.reduce_sum(x, axis=(0,)), ops.reduce_sum(x * x, axis=(0,))


CASES = {                                                    # name: (how its work is shared out, its graph for two sizes)
    "elementwise": ("items", lambda n: written(lambda x, y: ops.tanh(x) * y + 1.0, (5 * n, 70), (5 * n, 70))),
    "broadcast": ("items", lambda n: written(lambda x, b: ops.maximum(x + b, 0.0), (9 * n, 70), (70,))),
    "bfloat16": ("items", lambda n: written(lambda x, y: x * y + x, (9 * n, 70), (9 * n, 70), dtype="bfloat16")),
    "softmax": ("rows", lambda n: c.softmax_graph(5 * n, 77 + n)),
    "means of rows": ("rows", lambda n: written(lambda x: ops.exp(x).mean(-1), (5 * n, 77 + n))),
    "layer_norm": ("rows", lambda n: c.layer_norm_graph(3 * n, 300 + n)),
    "long row": ("rows", lambda n: c.softmax_graph(2, 3000 * n)),
    "argmax": ("rows", lambda n: written(lambda x: ops.argmax(x, -1), (5, 333 * n))),
    "sum of all": ("rows", lambda n: written(lambda x: ops.reduce_sum(x, axis=(0, 1)), (17 * n, 70))),
    "concat": ("rows", lambda n: written(lambda x, y: ops.concat((x, y), -1), (7 * n, 40), (7 * n, 50))),
    "column sums": ("columns", lambda n: written(column_moments, (50 * n, 70))),
    "sums of planes": ("columns", lambda n: written(lambda x: ops.reduce_sum(x, axis=(1,)), (3 * n, 40, 50))),
    "transpose": ("squares", lambda n: written(lambda x: ops.tanh(ops.transpose(x, perm=(1, 0))), (50 * n, 70))),
    "transpose of planes": ("squares", lambda n: written(lambda x, y: ops.transpose(x, perm=(0, 2, 1)) + y,
                                                        (3 * n, 40, 50), (3 * n, 50, 40))),
    "gather": ("items", lambda n: gathered(n)),
    "windows": ("items", lambda n: written(lambda x: ops.reduce_max(ops.reshape(x, shape=(-1, 4)), axis=(1,)), (40 * n, 4))),
}


def gathered(n):
    w = Writer("gather", x=tensor("float32", 100, 20 * n), index=tensor("int64", 33))
    return w.graph(w(c.tanh, w(c.gather, w.x, w.index)))


def scheduled(graph):
    return for_gpu(graph)


def inputs_of(graph):
    rng = np.random.default_rng(5)
    return [c.sample(p.abstract, rng) for p in graph.parameters]


@runs_here
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_gives_the_numbers_of_the_cpu_with_any_number_and_order_of_threads(name):
    way, make = CASES[name]
    graph = make(1)
    nest, inputs = scheduled(graph), inputs_of(graph)
    assert plan(nest).way == way
    expected = c.execute(lowering(graph), inputs)
    for threads, blocks, backwards in ((32, 1, False), (64, 3, True), (256, 2, False)):
        for out, want in zip(simulate(nest, inputs, None, threads, blocks, backwards), expected):
            if way in ("items", "squares"):
                np.testing.assert_array_equal(out, want)
            else:
                np.testing.assert_allclose(out, want, rtol=2e-6, atol=2e-5)


@runs_here
@pytest.mark.parametrize("name", ["softmax", "column sums", "sum of all", "argmax"])
def test_the_order_in_which_threads_come_does_not_change_a_bit(name):
    graph = CASES[name][1](1)
    nest, inputs = scheduled(graph), inputs_of(graph)
    first, second = (simulate(nest, inputs, None, 64, blocks, backwards) for blocks, backwards in ((1, False), (5, True)))
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("layer_norm", "means of rows")])     # which divide
def test_no_size_is_in_the_text_of_a_kernel(name):
    one, two = (nvptx.emit(scheduled(CASES[name][1](n))) for n in (2, 3))
    assert one == two


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", ["layer_norm", "column sums", "transpose", "argmax", "bfloat16"])
def test_a_kernel_becomes_ptx_with_its_sizes_as_parameters(name, architecture):
    nest = scheduled(CASES[name][1](1))
    text = ptx(kernel_text([nvptx.emit(nest)]), architecture)
    words = 2 + len(nest.inputs) + len(nest.outputs) + len(nest.sizes)
    assert f".target {architecture}" in text and ".visible .entry kernel(" in text
    assert text.count(".param .u64") == words and ".maxntid 256" in text
    assert ".extern" not in text and ".local" not in text    # nothing of a C library, no local memory
    assert ("bar.sync" in text) == (CASES[name][0] != "items")
    assert ("shfl.sync.bfly" in text) == (CASES[name][0] == "rows")


def test_products_and_sums_round_one_by_one_as_on_the_cpu():
    text = ptx(kernel_text([nvptx.emit(scheduled(written(lambda x, y: x * y + x, (9,), (9,))))]), "sm_90")
    assert "mul.rn.f32" in text and "add.rn.f32" in text and "fma" not in text


@pytest.mark.skipif(ptxas() is None, reason="ptxas is not installed: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize("name", CASES)
def test_nvidias_assembler_takes_a_kernel_and_spills_nothing(name, tmp_path):
    text = ptx(kernel_text([nvptx.emit(scheduled(CASES[name][1](1)))]), "sm_90")
    assert assembled(text, "sm_90", tmp_path)[1:] == (0, 0)


@runs_here
def test_remainders_of_floats_are_exact():
    graph = Writer("mod", x=tensor("float32", 1000), y=tensor("float32", 1000))
    graph = graph.graph(graph(c.mod, graph.x, graph.y))
    rng = np.random.default_rng(0)
    x = np.ldexp(rng.standard_normal(1000), rng.integers(-30, 90, 1000)).astype(np.float32)
    y = np.ldexp(rng.standard_normal(1000), rng.integers(-30, 30, 1000)).astype(np.float32)
    x[:6], y[:6] = [1, np.inf, np.nan, 5, -5, 0.0], [0, 2, 1, np.inf, 3, 4]
    out, = simulate(scheduled(graph), [x, y])
    np.testing.assert_array_equal(out, c.evaluate_graph(graph, [x, y])[0])
    assert ".extern" not in ptx(kernel_text([nvptx.emit(scheduled(graph))]), "sm_90")


# ---------------------------------------------------------------- what the simulator sees

HEAD = """; shared 1024
@shared = external addrspace(3) global [0 x i8]
declare i64 @thread()
declare void @barrier()
define i64 @blocks(i64 %out) { ret i64 1 }
"""
RACE = HEAD + """define void @part(i64 %block, i64 %out) {
  %t = call i64 @thread()
  %mine = getelementptr i64, ptr addrspace(3) @shared, i64 %t
  store i64 %t, ptr addrspace(3) %mine
  BARRIER
  %other = xor i64 %t, 1
  %place = getelementptr i64, ptr addrspace(3) @shared, i64 %other
  %value = load i64, ptr addrspace(3) %place
  %base = inttoptr i64 %out to ptr addrspace(1)
  %at = getelementptr i64, ptr addrspace(1) %base, i64 %t
  store i64 %value, ptr addrspace(1) %at
  ret void
}
"""
APART = HEAD + """define void @part(i64 %block, i64 %out) {
  %t = call i64 @thread()
  %few = icmp slt i64 %t, 5
  br i1 %few, label %meet, label %done
meet:
  call void @barrier()
  br label %done
done:
  ret void
}
"""


def run_text(text, backwards=False):
    """(Did all threads meet, what 32 of them wrote)."""
    out = np.zeros(32, np.int64)
    met = Simulated(kernel_text([text])).run(np.array([1, 1, out.ctypes.data], np.int64), 32, 1, backwards)
    return met, out


@runs_here
def test_threads_that_race_give_other_numbers_in_the_other_order():
    met = RACE.replace("BARRIER", "call void @barrier()")
    expected = np.arange(32) ^ 1
    for backwards in (False, True):
        np.testing.assert_array_equal(run_text(met, backwards)[1], expected)
    raced = [run_text(RACE.replace("BARRIER", ""), backwards)[1] for backwards in (False, True)]
    assert not np.array_equal(*raced)


@runs_here
def test_threads_that_wait_at_different_barriers_are_reported():
    assert not run_text(APART)[0] and not run_text(APART, backwards=True)[0]
    assert run_text(RACE.replace("BARRIER", ""))[0]


def test_functions_of_the_c_library_are_refused_before_anything_is_fused():
    graph = written(lambda x: ops.atan(x), (9,), dtype="float64")
    assert "atan of float64 calls the C library" in fusable(graph, CUDA()) and fusable(graph) is None
    assert fusable(written(lambda x: ops.exp(x), (9,)), CUDA()) is None


VECTORS = {                                                  # name: (a graph of arrays whose rows are so long, its dtypes' bytes)
    "float32": lambda *shape: written(lambda x, y: x * y + x, shape, shape),
    "float32 and a row": lambda *shape: written(lambda x, b: ops.maximum(x + b, 0.0), shape, shape[-1:]),
    "bfloat16": lambda *shape: written(lambda x, y: x * y + x, shape, shape, dtype="bfloat16"),
    "float16": lambda *shape: written(lambda x, y: x * y + x, shape, shape, dtype="float16"),
    "float64": lambda *shape: written(lambda x, y: x * y + x, shape, shape, dtype="float64"),
    "bool": lambda *shape: written(lambda x, y: x > y, shape, shape),
    "used often": lambda *shape: written(lambda x: x * x * x + ops.exp(x) + 1.0 / x, shape),
}


@pytest.mark.sampled(3)
@runs_here
@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("shape", [(6, 64), (5, 66), (3, 7), (1003,), (8,), (3,)], ids=str)
def test_items_side_by_side_give_the_cpus_numbers_at_all_lengths_and_addresses(name, shape):
    graph = VECTORS[name](*shape)
    nest, inputs = scheduled(graph), inputs_of(graph)
    expected = c.execute(lowering(graph), inputs)
    shifted = []
    for x in inputs:                                          # an address that is no multiple of a vector's bytes
        room = np.empty(x.size + 1, x.dtype)
        room[1:] = x.reshape(-1)
        shifted.append(room[1:].reshape(x.shape))
    for given in (inputs, shifted, [shifted[0], *inputs[1:]]):
        for threads, backwards in ((32, False), (64, True)):
            for out, want in zip(simulate(nest, given, None, threads, 2, backwards), expected):
                np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("name", ["float32", "float32 and a row", "bfloat16", "float16", "float64", "used often"])
def test_what_lies_side_by_side_is_loaded_and_stored_as_128_bits(name, tmp_path):
    graph = VECTORS[name](6, 64)
    text = ptx(kernel_text([nvptx.emit(scheduled(graph))]), "sm_90")
    assert text.count("ld.global.v2.b64") == len(inputs_of(graph)) and ".local" not in text
    assert ("st.global.v2" if name == "float64" else "st.global.v4") in text
    if ptxas() is not None:
        assert assembled(text, "sm_90", tmp_path)[1:] == (0, 0)


def test_long_work_is_done_item_by_item():
    def long(x):
        for _ in range(20):
            x = ops.tanh(x) * 1.5
        return x
    text = nvptx.emit(scheduled(written(long, (6, 64))))
    assert "<4 x float>" not in text and "<4 x float>" in nvptx.emit(scheduled(VECTORS["float32"](6, 64)))


@pytest.mark.parametrize("rows, blocks, sums", [(160, 8, 2048), (4, 8, 2048), (160, 4000, 2048), (160, 8, 0)])
def test_rows_are_not_done_in_the_few_blocks_of_sums_beside_them(rows, blocks, sums):
    """Results that share an outermost axis of 8 would have 8 blocks, and each of them 160 rows to do."""
    def both(x, g):
        return ops.reduce_sum(x * x, axis=(1, 2)), x * g
    target = current().replace(cut_parallel=False, row_buffers=False, long_sums=((sums, 1000), (0, 0)))
    nest = build(written(both, (blocks, rows, 96), (blocks, rows, 1)), target=target)
    if rows > 4 and blocks < sums:
        with pytest.raises(CannotFuse, match="few blocks"):
            schedule(nest)
    else:
        assert plan(schedule(nest)).way == "rows"
