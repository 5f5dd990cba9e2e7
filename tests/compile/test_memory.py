"""The memory plan: who shares, how well it packs, what verify shows."""
import random

import numpy as np
import pytest
from flow_kernels import flip
from hypothesis import given, settings
from hypothesis import strategies as st

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common import dtype as D
from mindlite.common.dim import Symbol
from mindlite.common.errors import InternalError
from mindlite.compile import flow as F
from mindlite.compile.executable import Executable
from mindlite.compile.flow_builder import FlowBuilder
from mindlite.compile import memory as memory_plan
from mindlite.compile.memory import Storage, _conflicts, pack, plan
from mindlite.compile.printers import runtime as R

PRINTERS = ("native", "vm", "python")


def chain(sizes):
    """x -> t1 -> t2 -> ... -> out, with a storage of each size (elements) in between."""
    N = Symbol("N")
    b = FlowBuilder("main")
    x, out, n = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "n", symbol=N)
    t, zero = x, b.const(0.5)
    for size in sizes:
        u = b.alloc(b.dim(8 * size * N.dim), 8 * size * N.dim)
        b.kernel(flip, [t, x, zero, u, n], extent=n)
        t = u
    b.kernel(flip, [t, x, zero, out, n], extent=n)
    return F.Program(b.finish())


@pytest.mark.parametrize("sizes", [[1] * 30, [1, 2, 3, 4, 5, 6, 7, 8], [8, 1, 8, 1, 8, 1], [5, 3, 9, 2, 7, 7, 1, 4]])
def test_a_chain_needs_what_lives_at_once_and_no_more(sizes):
    _, memory = plan(chain(sizes))
    for n in (1, 16, 1000):
        layout = memory.layout((n,))
        assert layout.peak == layout.lower_bound == memory.peak
    assert len(memory.storages) == len(sizes)
    assert str(memory).endswith(f"arena {memory.peak} bytes, lower bound {memory.lower_bound}")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 900)), max_size=25))
def test_storages_that_live_together_never_overlap(lives):
    storages = [Storage(n, "f", n, size, start, start + length) for n, (start, length, size) in enumerate(lives)]
    layout = pack(storages, [s.size for s in storages], _conflicts(storages))
    assert layout.peak >= layout.lower_bound
    for a in storages:
        assert layout.offsets[a.number] % 64 == 0 and layout.offsets[a.number] + a.size <= layout.peak
        for b in storages:
            if a.number < b.number and a.start <= b.end and b.start <= a.end and a.size and b.size:
                x, y = layout.offsets[a.number], layout.offsets[b.number]
                assert x + a.size <= y or y + b.size <= x


def test_what_a_training_step_saves_and_uses_lies_within_the_bound():
    """Layers save a value that their gradients read, in the other order, and have values of their own both ways."""
    over, depth = [], 60
    for seed in range(8):
        draw = random.Random(seed)
        lives = [(k, 2 * depth - k) for k in range(depth)]
        lives += [(k, k + draw.randint(0, 3)) for k in range(2 * depth) for _ in range(3)]
        storages = [Storage(n, "f", n, draw.randint(1, 4000), start, end) for n, (start, end) in enumerate(lives)]
        layout = pack(storages, [s.size for s in storages], _conflicts(storages))
        over.append(layout.peak / layout.lower_bound)
    assert sum(ratio == 1 for ratio in over) >= 6 and max(over) < 1.01, over


def test_a_layout_is_found_once_for_each_tuple_of_sizes():
    executable = Executable(chain([1, 2, 3]))
    out = np.zeros(200)
    for n in (5, 60, 5, 60, 5):
        x = np.arange(float(n))
        executable.run([x.ctypes.data, out.ctypes.data, n])
    assert sorted(executable.plan.layouts) == [(5,), (60,)]


def test_the_branches_of_an_if_share_their_memory():
    b = FlowBuilder("main")
    x, c = b.param("ptr", "x"), b.param("i64", "c")
    n, zero, blocks = b.const(100), b.const(0.0), []
    for _ in range(2):
        with b.block() as block:
            t = b.alloc(b.const(800), 800)
            b.kernel(flip, [x, x, zero, t, n], extent=n)
        blocks.append(block)
    b.if_(c, *blocks)
    _, memory = plan(F.Program(b.finish()))
    assert len(memory.storages) == 2 and memory.peak == memory.lower_bound == 832


def test_a_loop_owns_two_buffers_for_what_it_hands_on():
    b = FlowBuilder("main")
    x, iterations = b.param("ptr", "x"), b.param("i64", "iterations")
    n = b.const(8)
    loop = b.while_([iterations, x])
    with loop.cond:
        loop.cond.results(b.arith("gt", loop.params[0], b.const(0)))
    with loop.body:
        t = b.alloc(b.const(64), 64)
        b.kernel(flip, [loop.params[1], x, b.const(0.0), t, n], extent=n)
        loop.body.results(b.arith("sub", loop.params[0], b.const(1)), t)
    value = b.load(loop.end()[1], D.float64)
    _, memory = plan(F.Program(b.finish((value,))))
    assert [s.size for s in memory.storages] == [64, 64]
    assert memory.storages[0].start == memory.storages[1].start and memory.peak == 128


@pytest.mark.parametrize("how", ["returned", "stored", "tape"])
def test_a_pointer_that_outlives_its_storage_is_refused(how):
    b = FlowBuilder("main")
    cell = b.param("ptr", "cell")
    t = b.alloc(b.const(64), 64)
    if how == "stored":
        b.store(cell, t, D.int64)
    elif how == "tape":
        b.push(b.tape(), t)
    with pytest.raises(InternalError, match="a pointer to a storage"):
        plan(F.Program(b.finish((t,) if how == "returned" else ())))


@pytest.mark.parametrize("size", [800, None], ids=["planned", "dynamic"])
@pytest.mark.parametrize("printer", PRINTERS)
def test_verify_fills_dead_storage_with_nan(printer, size):
    b = FlowBuilder("main")
    x = b.param("ptr", "x")
    n, t = b.const(100), b.alloc(b.const(800), size)
    b.kernel(flip, [x, x, b.const(0.0), t, n], extent=n)
    seen = []
    b.python(lambda pointer: seen.append(pointer), [t])
    b.python(lambda: seen.append(np.ctypeslib.as_array(
        (np.ctypeslib.ctypes.c_double * 100).from_address(seen[0])).copy()))
    executable = Executable(F.Program(b.finish()), printer, verify=True)
    x = np.ones(100)
    executable.run([x.ctypes.data])
    assert np.isnan(seen[1]).all()
    assert [event[0] for event in executable.trace] == ["alloc", "kill"]
    assert {event[3] for event in executable.trace} == {800}


@pytest.mark.parametrize("printer", PRINTERS)
def test_verify_finds_an_allocation_larger_than_planned(printer):
    b = FlowBuilder("main")
    n = b.param("i64", "n")
    b.alloc(n, 64)
    executable = Executable(F.Program(b.finish()), printer, verify=True)
    executable.run([64])
    with pytest.raises(InternalError, match="more bytes than were planned"):
        executable.run([65])


def test_dynamic_storage_is_reused_and_does_not_pile_up():
    b = FlowBuilder("main")
    x, iterations, nbytes = b.param("ptr", "x"), b.param("i64", "iterations"), b.param("i64", "nbytes")
    loop = b.while_([iterations])
    with loop.cond:
        loop.cond.results(b.arith("gt", loop.params[0], b.const(0)))
    with loop.body:
        t = b.alloc(nbytes)
        b.copy(t, x, nbytes)
        loop.body.results(b.arith("sub", loop.params[0], b.const(1)))
    executable = Executable(F.Program(b.finish()))
    x = np.zeros(1 << 20, np.uint8)
    contexts = executable._local
    for nbytes in (1 << 20, 1 << 10, 1 << 20, 1 << 4):
        executable.run([x.ctypes.data, 1000, nbytes])
    (context,) = contexts.free
    assert context.array[R.POOL_TOTAL] < 3 << 20


def test_a_thousand_tuples_of_sizes_take_bounded_memory_and_give_right_results():
    def f(x, y):
        return ops.softmax(x @ y, -1) + x.sum(-1, keepdims=True)
    jitted = ms.jit(f, dynamic=1, fullgraph=True)
    rng, right = np.random.default_rng(0), []
    for n in range(1000):
        rows, inner, columns = 2 + n // 100, 20 + n // 10 % 10, 40 + n % 10
        x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, inner), (inner, columns)))
        z = np.exp(x @ y - (x @ y).max(-1, keepdims=True))
        wanted = z / z.sum(-1, keepdims=True) + x.sum(-1, keepdims=True)
        right.append(np.allclose(jitted(Tensor(x), Tensor(y)).asnumpy(), wanted, atol=1e-5))
        layout = jitted.compiled.latest().executable.plan.layouts.latest()
        assert layout.peak == layout.lower_bound
    assert all(right) and len(jitted.compiled.variants) == 1


def test_a_plan_forgets_the_sizes_that_came_longest_ago(monkeypatch):
    monkeypatch.setattr(memory_plan, "MOST_OFFSETS", 600)
    _, memory = plan(chain([1, 2, 3] * 10))
    first = memory.layout((1,))
    for n in range(1, 50):
        assert memory.layout((n,)).sizes[:3] == (8 * n, 16 * n, 24 * n) and memory.layout((1,)) is first
    assert len(memory.layouts) == memory.most == 20
    assert memory.layout((1,)) is first and (2,) not in memory.layouts and (49,) in memory.layouts
    assert memory.peak == first.peak                         # of the sizes that were asked for last


def test_a_run_remembers_the_sizes_that_came_last(monkeypatch):
    monkeypatch.setattr(memory_plan, "MOST_LAYOUTS", 16)
    executable = Executable(chain([1, 2, 3]))
    for n in (100, *range(1, 60), 45, 3):                    # the arena is large enough from the first run on
        x, out = np.arange(float(n)), np.zeros(n)
        executable.run([x.ctypes.data, out.ctypes.data, n])
        wanted = x
        for _ in range(4):
            wanted = wanted[::-1] * 0.5 + x
        np.testing.assert_array_equal(out, wanted)
    instances = executable._local.free[0].instances
    assert list(instances) == list(executable.plan.layouts) == [(n,) for n in (44, *range(46, 60), 45, 3)][1:]
