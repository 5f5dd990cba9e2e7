"""Calls of many sizes: the generated function for open sizes gives what the general way gives, and refuses what that refuses."""
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, ops
from mindlite.common.errors import IndexRangeError
from mindlite.compile.jit import MAX_QUICK_CALLS
from mindlite.compile.quick import MISS

rng = np.random.default_rng(3)
FACTOR = 2.0


def tensor(*shape):
    return Tensor(rng.standard_normal(shape).astype(np.float32))


def opened(function, calls):
    """A jitted function that was called with the arguments in `calls`, and its path for open sizes."""
    run = ms.jit(function, fullgraph=True, dynamic=1)
    for args in calls * 3:
        run(*args)
    (_, call), = run.compiled.quick.open.values()
    assert call is not None
    return run, call


def many(count=MAX_QUICK_CALLS + 4):
    return [tensor(k + 2, 5) for k in range(count)]


def test_one_function_serves_sizes_that_came_before_and_new_ones():
    w, b = tensor(5, 7), tensor(7)
    run, call = opened(lambda x, w, b: (ops.softmax(ops.matmul(x, w) + b, -1), x.sum(0), x.shape[0]), [(x, w, b) for x in many()])
    for n in (2, 3, 9, 300, 1, 0, 40, 3000, 2):
        x = tensor(n, 5)
        rows, sums, size = call((x, w, b))
        want = x.asnumpy().astype(np.float64) @ w.asnumpy() + b.asnumpy()
        want = np.exp(want - want.max(-1, keepdims=True))
        np.testing.assert_allclose(rows.asnumpy(), want / want.sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(sums.asnumpy(), x.asnumpy().sum(0), rtol=1e-4, atol=1e-4)
        assert size == n and type(size) is int
    assert len(run.variants) == 1 and len(run.compiled.quick.open) == 1


def test_what_does_not_fit_is_refused_and_goes_the_general_way():
    run, call = opened(lambda x, y: x * y, [(x, tensor(*x.shape)) for x in many()])
    x = tensor(4, 5)
    for args in ((x, tensor(4, 6)), (x, tensor(3, 5)), (x, x), (x, tensor(4)), (x, 2.0), (x,), (x, Tensor(np.ones((4, 5)))),
                 (x, Parameter(tensor(4, 5), name="p"))):
        assert call(args) is MISS
    np.testing.assert_array_equal(run(x, x).asnumpy(), x.asnumpy() * x.asnumpy())
    with pytest.raises(Exception, match="broadcast|shapes"):
        run(x, tensor(3, 5))


def test_an_array_of_numpy_that_is_not_contiguous_goes_the_general_way():
    run, call = opened(lambda x: ops.tanh(x) * 2.0, [(x.asnumpy(),) for x in many()])
    x = np.asfortranarray(tensor(4, 5).asnumpy())
    assert call((x.copy("C"),)) is not MISS and call((x,)) is MISS
    np.testing.assert_allclose(run(x).asnumpy(), np.tanh(x) * 2, rtol=1e-5, atol=1e-6)


def test_a_guard_that_does_not_hold_is_told_by_its_number(monkeypatch):
    run, call = opened(lambda x: x * FACTOR, [(x,) for x in many()])
    x = tensor(3, 5)
    assert call((x,)) is not MISS
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert call((x,)) is MISS and call.refused is not None
    np.testing.assert_array_equal(run(x).asnumpy(), x.asnumpy() * np.float32(3.0))


def test_a_parameter_is_read_in_each_call():
    weight = Parameter(tensor(5), name="w")
    run, call = opened(lambda x: x + weight, [(x,) for x in many()])
    x = tensor(3, 5)
    weight.set_data(tensor(5))
    np.testing.assert_array_equal(call((x,)).asnumpy(), x.asnumpy() + weight.asnumpy())


def test_a_failure_in_a_run_is_the_same_error_and_the_next_call_is_right():
    table = tensor(6, 3)
    calls = [(Tensor(np.arange(k + 1) % 6), table) for k in range(MAX_QUICK_CALLS + 4)]
    run, call = opened(lambda i, t: ops.gather(t, i, 0).sum(0), calls)
    bad = Tensor(np.array([1, 2, 6, 0]))
    with pytest.raises(IndexRangeError):
        call((bad, table))
    with pytest.raises(Exception) as general:
        ms.jit(run.compiled.function, fullgraph=True, dynamic=1)(bad, table)
    with pytest.raises(type(general.value)) as quick:
        run(bad, table)
    assert str(quick.value).split("\n")[0] == str(general.value).split("\n")[0]
    np.testing.assert_allclose(run(*calls[3]).asnumpy(), table.asnumpy()[:4].sum(0), rtol=1e-5, atol=1e-5)


def test_the_arena_may_grow_between_calls_and_no_entry_points_into_the_former_one():
    def work():                                              # in a thread of its own, whose arena is small at first
        w = tensor(5, 64)
        run, call = opened(lambda x, w: ops.matmul(ops.tanh(ops.matmul(x, w)), ops.transpose(w, (1, 0))),
                           [(x, w) for x in many()])
        other, keep = ms.jit(lambda x: ops.matmul(ops.exp(ops.matmul(x, x)), x), fullgraph=True), call.__globals__["keep"]
        x = tensor(4, 5)
        assert call((x, w)) is not MISS
        before = keep.arenas.buffers[0]
        other(tensor(700, 700) * 0.01)                       # another function needs a larger arena: this one uses it too
        assert call((x, w)) is not MISS
        assert keep.context.buffer is keep.arenas.buffers[0] is not before
        for n in (4, 3, 20000, 4, 30000, 3):
            x = tensor(n, 5)
            np.testing.assert_allclose(run(x, w).asnumpy(), np.tanh(x.asnumpy() @ w.asnumpy()) @ w.asnumpy().T, rtol=1e-4,
                                       atol=1e-4)
            buffer = keep.context.buffer
            assert buffer is keep.arenas.buffers[0] and buffer.nbytes > n * 64 * 4
            for entry in keep.ready.values():
                addresses = entry.kept[0][:2 * len(keep.executable.plan.storages):2]
                assert (addresses >= buffer.ctypes.data).all() and (addresses < buffer.ctypes.data + buffer.nbytes).all()
        done.append(True)
    done: list = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


def test_each_thread_has_its_own():
    w, wrong = tensor(5), []
    run, _ = opened(lambda x, w: x * w + w, [(x, w) for x in many()])

    def work():
        for n in [*range(1, 40)] * 4:
            x = tensor_of[n]
            if not np.array_equal(run(x, w).asnumpy(), x.asnumpy() * w.asnumpy() + w.asnumpy()):
                wrong.append(n)
    tensor_of = {n: tensor(n, 5) for n in range(1, 40)}
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_sizes_that_come_often_still_get_a_path_of_their_own():
    run, _ = opened(lambda x: x * 3.0, [(x,) for x in many()])
    x, before = tensor(77, 5), len(run.compiled.quick.known)
    made = run.compiled.quick.made
    for _ in range(256 * (3 + made // MAX_QUICK_CALLS)):
        run(x)
    assert run.compiled.quick.made > made and len(run.compiled.quick.known) >= before


def test_one_size_may_be_that_of_several_arguments_and_of_none_that_is_read():
    run, call = opened(lambda x, y, z: (y * 2.0 + z.sum(), x.shape[0] + 1), [(x, tensor(*x.shape), tensor(3)) for x in many()])
    for n in (4, 1, 0, 90):
        x, y, z = tensor(n, 5), tensor(n, 5), tensor(3)
        out, rows = run(x, y, z)
        np.testing.assert_allclose(out.asnumpy(), y.asnumpy() * 2 + z.asnumpy().sum(), rtol=1e-5, atol=1e-5)
        assert rows == n + 1
