"""Plans of operators: what machine code does with a call that was made before is what Python did the first time."""
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, ops
from mindlite.pynative import native, plans

pytestmark = pytest.mark.skipif(native.installed is None, reason="objects cannot be read here")
OFTEN = 20
_rng = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Kernels come after a few calls, without pauses between them."""
    monkeypatch.setattr(plans, "OFTEN", 4)
    monkeypatch.setattr(plans, "OFTEN_FOR_COMPOSITES", 4)
    monkeypatch.setattr(plans, "PAUSE", 0)
    monkeypatch.setattr(plans, "AGAIN", 1)


def array(*shape):
    """Numbers that no other test has the shape of: its plans are its own."""
    return _rng.standard_normal(shape).astype(np.float32)


def calls_by_plans(run):
    """(what run() gives, how many operators machine code did by plans meanwhile)."""
    before = native.installed.planned()
    return run(), native.installed.planned() - before


X, Y = Tensor(array(5, 37)), Tensor(array(5, 37))
W, G = Tensor(array(37, 6)), Tensor(array(37))
LABELS = Tensor(_rng.integers(0, 37, 5).astype(np.int32))
OPERATORS = {
    "softmax": lambda: ops.softmax(X, -1), "log_softmax": lambda: ops.log_softmax(X, 0), "gelu": lambda: ops.gelu(X),
    "sum": lambda: X.sum(1), "sum of all": lambda: X.sum(), "max": lambda: ops.amax(X, 0),
    "matmul": lambda: X @ W, "transpose": lambda: ops.permute(X, (1, 0)), "reshape": lambda: X.reshape(37, 5),
    "where": lambda: ops.where(X > 0, X, Y), "where with numbers": lambda: ops.where(X > 0, 0.5, -0.5),
    "clamp": lambda: ops.clamp(X, -0.5, 0.5), "concat": lambda: ops.cat((X, Y), 1), "stack": lambda: ops.stack((X, Y), 1),
    "slice": lambda: X[1:4, ::2], "layer_norm": lambda: ops.layer_norm(X, (37,), G, G), "cumsum": lambda: ops.cumsum(X, 1),
    "cross_entropy": lambda: ops.cross_entropy(X, LABELS), "cast": lambda: X.astype(ms.float16), "argmax": lambda: X.argmax(1),
    "gather": lambda: ops.gather(X, LABELS % 5, 0), "huber": lambda: ops.huber_loss(X, Y), "topk": lambda: ops.topk(X, 3)[0],
    "sort": lambda: ops.sort(X, 1)[1], "broadcast": lambda: ops.broadcast_to(X, (2, 5, 37)), "var": lambda: ops.var(X, 1)}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_that_is_called_often_gives_what_it_gave_the_first_time(name):
    run = OPERATORS[name]
    first = run().asnumpy()
    for _ in range(OFTEN):
        again = run()
        assert again.asnumpy().dtype == first.dtype
        np.testing.assert_allclose(again.asnumpy(), first, rtol=2e-6, atol=2e-6)
    assert calls_by_plans(run)[1] > 0


@pytest.mark.parametrize("name", OPERATORS)
def test_its_gradient_is_what_it_was_the_first_time(name):
    run = OPERATORS[name]
    weights = ops.exp(Tensor(_rng.standard_normal(run().shape).astype(np.float32)))

    def loss(x, y):
        global X, Y
        kept = X, Y
        X, Y = x, y
        try:
            return (run() * weights).sum()
        finally:
            X, Y = kept
    first = [g.asnumpy() for g in ms.grad(loss, (0, 1))(X, Y)]
    for _ in range(OFTEN):
        for again, g in zip(ms.grad(loss, (0, 1))(X, Y), first):
            np.testing.assert_allclose(again.asnumpy(), g, rtol=2e-5, atol=2e-6)


def test_a_composite_becomes_one_kernel():
    x = Tensor(array(3, 41))
    for _ in range(OFTEN):
        ops.softmax(x, -1)
    before = native.installed.planned()
    made = ops.softmax(x, -1)
    assert native.installed.planned() - before == 1          # the reductions inside it are no calls of their own
    np.testing.assert_allclose(made.asnumpy().sum(1), 1, rtol=1e-6)


@pytest.mark.parametrize("first, second", [
    (lambda x: x.sum(0), lambda x: x.sum(1)), (lambda x: ops.clamp(x, -0.5, 2.0), lambda x: ops.clamp(x, 0.5, 2.0)),
    (lambda x: ops.where(x > 0, x, 0.0), lambda x: ops.where(x > 0, x, -0.0)),
    (lambda x: x.reshape(10, 10), lambda x: x.reshape(5, 20)), (lambda x: x[1:4], lambda x: x[2:5]),
    (lambda x: x.astype(ms.float16), lambda x: x.astype(ms.float64)), (lambda x: ops.roll(x, 1, 0), lambda x: ops.roll(x, 2, 0))])
def test_attributes_and_numbers_are_part_of_the_signature(first, second):
    x = Tensor(array(10, 10))
    wanted = [f(x).asnumpy() for f in (first, second)]
    for _ in range(OFTEN):
        for f, value in zip((first, second), wanted):
            again = f(x).asnumpy()
            assert again.shape == value.shape and again.dtype == value.dtype
            np.testing.assert_allclose(again, value, rtol=2e-6)
            assert (np.signbit(again) == np.signbit(value)).all()


def test_one_and_true_are_two_signatures():
    x = Tensor(array(2, 43))
    kept, gone = ops.reduce_sum(x, axis=1, keepdims=True), ops.reduce_sum(x, axis=1, keepdims=False)
    for _ in range(OFTEN):
        assert ops.reduce_sum(x, axis=1, keepdims=True).shape == kept.shape == (2, 1)
        assert ops.reduce_sum(x, axis=1, keepdims=False).shape == gone.shape == (2,)


def test_an_operand_twice_and_two_operands_have_one_plan():
    x, y = Tensor(array(4, 29)), Tensor(array(4, 29))
    for _ in range(OFTEN):
        ops.cat((x, y), 0)
    np.testing.assert_array_equal(ops.cat((x, x), 0).asnumpy(), np.concatenate([x.asnumpy(), x.asnumpy()]))


def test_a_parameter_is_read_as_it_is_now():
    w, x = Parameter(Tensor(array(23, 3)), name="w"), Tensor(array(2, 23))
    for i in range(OFTEN):
        w.set_data(Tensor(np.full((23, 3), i, np.float32)))
        np.testing.assert_allclose((x @ w).asnumpy(), x.asnumpy() @ w.asnumpy(), rtol=1e-5, atol=1e-5)


def test_a_view_writes_into_its_root_however_often_it_was_made():
    for _ in range(OFTEN):
        a = Tensor(np.zeros((3, 31), np.float32))
        a.reshape(-1)[4:6] += 1
        assert a.asnumpy().sum() == 2 and a.asnumpy()[0, 4] == 1


def test_what_is_overwritten_after_it_was_saved_keeps_its_value_for_the_gradient():
    w = Parameter(Tensor(array(4, 19)), name="w")

    def f(x):
        y = ops.softmax(x * w, 1)
        w.set_data(Tensor(np.zeros((4, 19), np.float32)))
        return (y * y).sum()
    x, value = Tensor(array(4, 19)), w.asnumpy().copy()
    found = []
    for _ in range(OFTEN):
        w.set_data(Tensor(value))
        found.append(ms.grad(f)(x).asnumpy())
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("run, good, bad", [
    (lambda x, i: ops.gather(x, i, 0), 2, 9), (lambda x, i: ops.cross_entropy(x, i), 2, 99),
    (lambda x, i: ops.index_add(x, i, x, 0), 2, 9), (lambda x, i: x[i], 2, 9), (lambda x, i: ops.gather_elements(
        x, 0, i.reshape(1, 3)), 2, 9)])
def test_an_index_outside_is_refused_however_often_the_operator_was_called(run, good, bad):
    x, indices = Tensor(array(3, 17)), np.array([0, 1, good], np.int32)
    for _ in range(OFTEN):
        run(x, Tensor(indices))
    indices[2] = bad
    with pytest.raises(IndexError, match=str(bad)):
        run(x, Tensor(indices))


def test_a_mistake_is_told_of_as_at_the_first_call():
    x, y = Tensor(array(3, 17)), Tensor(array(17, 3))
    for _ in range(OFTEN):
        ops.matmul(x, y)
    with pytest.raises(ValueError, match="matmul"):
        ops.matmul(x, x)


def test_another_thread_computes_the_same_without_this_threads_arena():
    x = Tensor(array(6, 47))
    wanted = [ops.softmax(x, -1).asnumpy() for _ in range(OFTEN)][0]
    found = []

    def work():
        for _ in range(OFTEN):
            found.append(ops.softmax(x, -1).asnumpy())
    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(OFTEN):
        found.append(ops.softmax(x, -1).asnumpy())
    thread.join()
    assert len(found) == 2 * OFTEN
    for value in found:
        np.testing.assert_allclose(value, wanted, rtol=1e-5)


def test_random_numbers_differ_from_call_to_call():
    made = [ops.rand(3, 7).asnumpy() for _ in range(OFTEN)]
    assert len({value.tobytes() for value in made}) == OFTEN


def test_a_kernel_that_lost_its_arena_finds_the_new_one():
    x = Tensor(array(9, 53))
    wanted = [ops.layer_norm(x, (53,)).asnumpy() for _ in range(OFTEN)][0]
    big = ms.jit(lambda x: ops.cumsum(ops.softmax(x @ x.T, 0), 0) @ x)
    big(Tensor(array(700, 700)))
    for _ in range(3):
        np.testing.assert_allclose(ops.layer_norm(x, (53,)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_two_compilations_have_pauses_between_them(monkeypatch):
    monkeypatch.setattr(plans, "PAUSE", 1 << 40)
    made = []
    monkeypatch.setattr(plans, "kernel_of", lambda *args: made.append(args))
    x = Tensor(array(8, 59))
    for _ in range(OFTEN):
        ops.log_softmax(x, 1)
    assert not made


@pytest.mark.skipif(native.installed is None, reason="objects cannot be read here")
def test_neighbouring_numbers_have_places_of_their_own():
    x, slots = Tensor(np.zeros((40, 3), np.float32)), set()
    for t in range(32):
        slots.add(plans.Signature((x, t), {}).slot(native.FORMS["TOP_OF_FUNCTIONS"]))
    assert len(slots) >= 30
