"""Gradients in eager mode: against finite differences, against graph mode, and what the tape does on the way."""
import gc
import threading
import weakref

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import GradientError
from mindlite.common.events import counting
from mindlite.common.threads import here
from mindlite.pynative import backward
from mindlite.pynative.tape import Tape, recording


def tensor(*shape, seed=0, dtype=np.float64):
    return Tensor(np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype(dtype))


def numeric_gradient(f, arrays, number, step=1e-6):
    """Central differences of the scalar f with respect to arrays[number]."""
    out = np.zeros_like(arrays[number])
    for index in np.ndindex(out.shape):
        ends = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[number][index] += sign * step
            ends.append(float(f(*map(Tensor, moved))))
        out[index] = (ends[0] - ends[1]) / (2 * step)
    return out


def branches(a, b):
    total = a.sum() * 0
    for i in range(3):
        total = total + (a * b).sum() if i != 1 else total - ops.exp(b).mean()
    return total if float(total) > 0 else -total


FUNCTIONS = {
    "elementwise": lambda a, b: (ops.tanh(a) * b / (1 + a * a)).sum(),
    "broadcasting": lambda a, b: (a[:, :1] * b - b[0]).sum(),
    "matmul": lambda a, b: ops.matmul(a, b.T).sum() + (a @ b.swapaxes(0, 1))[0, 0],
    "softmax": lambda a, b: (ops.softmax(a, -1) * ops.log_softmax(b, 0)).sum(),
    "norms": lambda a, b: (ops.layer_norm(a, (4,), b[0], b[1], 1e-5) ** 2).sum(),
    "indexing": lambda a, b: (a[1:, ::2] * b[:2, 1:3]).sum() + a[2, 3] * b.max(),
    "several results": lambda a, b: sum(part.prod() for part in ops.split(a * b, 2, 1)),
    "unused input": lambda a, b: (a * 3).sum(),
    "used twice": lambda a, b: (a * a + a * b).sum() + ops.stop_gradient(a).sum(),
    "python control flow": branches,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_finite_differences_on_every_appearance_of_the_tape(name):
    f, arrays = FUNCTIONS[name], [tensor(3, 4).array, tensor(3, 4, seed=1).array]
    skipped = ops.stop_gradient(Tensor(np.ones((3, 4)))) if name == "used twice" else 0
    wanted = [numeric_gradient(f, arrays, 0) - np.asarray(skipped), numeric_gradient(f, arrays, 1)]
    for _ in range(3):                          # by entry, compiled, reused
        value, grads = ms.value_and_grad(f, (0, 1))(*map(Tensor, arrays))
        assert float(value) == pytest.approx(float(f(*map(Tensor, arrays))))
        for have, want in zip(grads, wanted):
            np.testing.assert_allclose(have.asnumpy(), want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "python control flow"])
def test_eager_and_graph_mode_give_the_same_gradients(name):
    f, a, b = FUNCTIONS[name], tensor(3, 4), tensor(3, 4, seed=1)
    for have, want in zip(ms.grad(f, (0, 1))(a, b), ms.jit(ms.grad(f, (0, 1)))(a, b)):
        np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=1e-10, atol=1e-12)


def test_gradients_of_gradients_go_on():
    x = tensor(5)
    derivatives = [lambda a: (ops.sin(a) * a).sum()]
    for _ in range(4):
        derivatives.append(lambda a, f=derivatives[-1]: ms.grad(f)(a).sum())
    s, c, v = np.sin(x.array), np.cos(x.array), x.array
    for _ in range(3):
        for have, want in zip([ms.grad(f)(x) for f in derivatives[:4]],
                              [v * c + s, 2 * c - v * s, -3 * s - v * c, v * s - 4 * c]):
            np.testing.assert_allclose(have.asnumpy(), want, rtol=1e-12)


def test_an_outer_function_may_use_values_of_the_inner_one():
    x, y = tensor(3), tensor(3, seed=1)

    def outer(a):
        inner = ms.grad(lambda b: (a * b * b).sum())(a * y)       # 2 a (a y), where a stays fixed inside
        return (inner * a).sum()
    np.testing.assert_allclose(ms.grad(outer)(x).asnumpy(), 6 * x.array ** 2 * y.array, rtol=1e-12)


def test_a_backward_graph_is_built_once_for_each_signature():
    x = tensor(7, 3)

    def f(a):
        for _ in range(5):
            a = ops.tanh(a) * 1.25
        return a.sum()
    with counting() as first:
        ms.grad(f)(x)
    with counting() as second:
        ms.grad(f)(x)
    assert 0 < first["backward_graph_build"] <= 3 and second["backward_graph_build"] == 0


def test_the_whole_backward_is_compiled_when_its_structure_comes_again():
    x = tensor(6, 2)
    grad = ms.grad(lambda a: (ops.exp(a * 0.5) - a).sum())
    counts = []
    for _ in range(4):
        with counting() as count:
            grad(x)
        counts.append((count["backward_flow_build"], count["backward_flow_reuse"]))
    assert counts == [(0, 0), (1, 0), (0, 1), (0, 1)]


def test_explain_says_how_the_tapes_of_eager_mode_were_walked():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2))
    step = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    assert "not compiled yet" in step.explain()
    for batch in (2, 2, 2, 2, 1):                            # the last batch is smaller
        step(tensor(batch, 3, dtype=np.float32))
    assert ms.debug.explain(step) == step.explain() + "\n"
    name, *ways = step.explain().split("\n")
    assert name.endswith(": 5 call(s) in eager mode; their tapes were walked")
    assert ways == ["  2 operation by operation: the first of its structure", "  1 as one Flow, compiled for it",
                    "  2 as one compiled Flow"]


def test_explain_says_why_a_tape_is_not_one_flow():
    def hooked(x):
        h = ops.tanh(x) * x
        h.register_hook(lambda dout: dout * 2)
        return (ms.recompute(ops.sin, h) if recomputed else h * h * 2).sum()
    x, recomputed = tensor(3), False
    grad = ms.grad(hooked)
    for _ in range(3):
        grad(x)
    assert grad.explain().split("\n")[1:] == [
        f"  {count} in 2 parts, {compiled} of them as a compiled Flow (gradients in Python: 0, values with hooks: 1)"
        for count, compiled in ((1, 0), (2, 2))]
    recomputed = True
    grad(x)
    assert "(gradients in Python: 1, values with hooks: 1)" in grad.explain()
    constant = ms.grad(lambda x: ops.stop_gradient(x) * 2)
    constant(x)
    assert "nothing that is asked for depends on what was watched" in constant.explain()
    inside = ms.grad(ms.jit(lambda x: (ops.sin(x) * x).sum()))
    inside(x)
    assert "as the Flow of the one compiled function on it" in inside.explain()


def test_tapes_of_different_structure_do_not_share_a_flow():
    x = tensor(4)

    def f(a, n):
        for _ in range(n):
            a = a * a
        return a.sum()
    for _ in range(3):
        for n in (1, 2, 3):
            want = 2 ** n * x.array ** (2 ** n - 1)
            np.testing.assert_allclose(ms.grad(lambda a: f(a, n))(x).asnumpy(), want, rtol=1e-12)


def test_which_saved_values_are_the_same_belongs_to_the_structure():
    x, y = tensor(4), tensor(4, seed=1)

    def f(a, p, q):
        return (a * p + a * q * a).sum()
    for _ in range(3):
        for p, q in ((y, y), (y, x), (x, y)):
            want = p.array + 2 * x.array * q.array
            np.testing.assert_allclose(ms.grad(lambda a: f(a, p, q))(x).asnumpy(), want, rtol=1e-12)


def test_a_saved_value_is_that_of_the_time_of_use():
    w = ms.Parameter(Tensor(np.ones(4, np.float32)), name="w")
    x = tensor(4, dtype=np.float32)

    def f(a):
        h = a * w
        ops.assign(w, w * 2)
        return (h * w * a).sum()                # a w, 2 w and a: both reads of w count
    for run in (ms.grad(f, 0, w), ms.jit(ms.grad(f, 0, w)), ms.grad(ms.jit(f), 0, w)):
        for _ in range(2):
            w.set_data(Tensor(np.ones(4, np.float32)))
            of_x, of_w = run(x)
            np.testing.assert_allclose(of_x.asnumpy(), 4 * x.array, rtol=1e-6)
            np.testing.assert_allclose(of_w.asnumpy(), 3 * x.array ** 2, rtol=1e-6)
            np.testing.assert_array_equal(w.asnumpy(), 2)


def test_elements_that_are_written_carry_their_gradient():
    x, y = tensor(4), tensor(2, seed=1)

    def f(a, b):
        h = a * a
        h[1:3] = b * b
        return (h * a).sum()
    of_x, of_y = ms.grad(f, (0, 1))(x, y)
    b = y.array
    np.testing.assert_allclose(of_x.asnumpy(), [3 * x.array[0] ** 2, b[0] ** 2, b[1] ** 2, 3 * x.array[3] ** 2])
    np.testing.assert_allclose(of_y.asnumpy(), 2 * b * x.array[1:3])


def test_writing_into_a_tensor_that_was_saved_does_not_change_the_gradient():
    x, factor = tensor(3), Tensor(np.array([1.0, 2.0, 3.0]))

    def f(a):
        out = a * factor
        factor[0] = 100.0
        return out.sum()
    np.testing.assert_array_equal(ms.grad(f)(x).asnumpy(), [1, 2, 3])
    assert factor.tolist() == [100, 2, 3]


def test_data_that_is_set_does_not_change_what_was_saved():
    w, x = ms.Parameter(Tensor(np.ones(3)), name="w"), tensor(3)

    def f(a):
        first = a * w
        w.set_data(Tensor(np.full(3, 9.0)))
        return (first + a * w).sum()
    of_x, of_w = ms.grad(f, 0, w)(x)
    np.testing.assert_array_equal(of_x.asnumpy(), 10)
    np.testing.assert_allclose(of_w.asnumpy(), 2 * x.array)


@pytest.mark.parametrize("function", [lambda a, b: a + b, lambda a, b: (a + b).reshape(6), lambda a, b: a - (-b).reshape(2, 3),
                                      lambda a, b: ops.stack([a, b, a + b])], ids=["add", "reshape", "views", "stack"])
def test_gradients_do_not_share_memory(function):
    x, y = tensor(2, 3), tensor(2, 3, seed=1)
    for _ in range(3):
        of_x, of_y = ms.grad(function, (0, 1))(x, y)
        before = of_y.tolist()
        of_x.array[:] = 5
        assert of_y.tolist() == before


def test_a_gradient_does_not_share_memory_with_the_cotangent_that_was_given():
    x, given = tensor(2, 3), tensor(6)
    before = given.tolist()
    _, pullback = ms.vjp(lambda a: a.reshape(6), x)
    pulled = pullback(given)
    (pulled[0] if isinstance(pulled, tuple) else pulled).array[:] = 5
    assert given.tolist() == before


def test_the_same_tensor_at_two_places_has_two_gradients():
    x = tensor(3)
    of_first, of_second = ms.grad(lambda a, b: (a * b * b).sum(), (0, 1))(x, x)
    np.testing.assert_allclose(of_first.asnumpy(), x.array ** 2)
    np.testing.assert_allclose(of_second.asnumpy(), 2 * x.array ** 2)
    closure = ms.grad(lambda a: (a * x).sum())(x)
    np.testing.assert_allclose(closure.asnumpy(), x.array)


def test_weights_and_inputs_inside_containers_have_gradients():
    x, y, w = tensor(3), tensor(3, seed=1), ms.Parameter(tensor(3, seed=2), name="w")
    run = ms.grad(lambda d: (d["a"] * d["b"][0] * w).sum(), 0, [w])
    inputs, weights = run({"a": x, "b": [y, 2.0]})
    np.testing.assert_allclose(inputs["a"].asnumpy(), y.array * w.array)
    np.testing.assert_allclose(inputs["b"][0].asnumpy(), x.array * w.array)
    assert float(inputs["b"][1]) == 0.0
    np.testing.assert_allclose(weights[0].asnumpy(), x.array * y.array)


def test_nothing_is_recorded_outside_and_nothing_kept_afterwards():
    x = tensor(3)
    kept = []

    def f(a):
        h = a * 2
        kept.append(weakref.ref(h))
        return (h * h).sum()
    ms.grad(f)(x)
    gc.collect()
    assert here.state.tapes == () and kept[0]() is None
    assert (x * x).tape is None


def test_what_a_tape_has_saved_is_let_go_as_the_walk_passes_it():
    def f(x):
        low = x * 2
        low.register_hook(lambda dout: alive.append(late() is not None))
        high = ops.exp(low)
        kept.append(weakref.ref(high))
        return (high * high).sum()

    def late():
        gc.collect()
        return kept[-1]()
    kept, alive, grad = [], [], ms.grad(f)
    for _ in range(3):                                       # operation by operation, then in compiled parts
        grad(tensor(3))
    assert alive == [False] * 3
    value, pull = ms.vjp(f, tensor(3))                       # this tape is kept for another walk
    np.testing.assert_array_equal(*[pull(ops.ones_like(value))[0].asnumpy() for _ in range(2)])
    assert alive[3:] == [True, True]


def test_an_exception_ends_the_recording():
    with pytest.raises(ZeroDivisionError):
        ms.grad(lambda a: a.sum() * (1 / 0))(tensor(3))
    assert here.state.tapes == ()


def test_only_what_the_backward_reads_is_saved():
    tape, x = Tape(), Tensor(np.ones(4))
    tape.watch(x)
    with recording(tape):
        (ops.tanh(x + 1.0) * 3.0).sum()
    saved = [len(entry.saved) for entry in tape.entries]
    assert saved == [0, 1, 1, 0]                # add: nothing; tanh: its result; mul: the 3.0; sum: nothing


def test_paused_recording_lets_no_gradient_through():
    def f(a):
        with ms.no_grad():
            factor = a * a
        return (factor * a).sum()
    x = tensor(3)
    np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), x.array ** 2)


def test_threads_have_tapes_of_their_own():
    x, w, wrong = tensor(16), ms.Parameter(tensor(16, seed=1), name="w"), []

    def work(n):
        for _ in range(30):
            of_x, of_w = ms.grad(lambda a: (ops.tanh(a * n) * w).sum(), 0, w)(x)
            t = np.tanh(x.array * n)
            if not (np.allclose(of_x.asnumpy(), w.array * n * (1 - t * t)) and np.allclose(of_w.asnumpy(), t)):
                wrong.append(n)
    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_memory_of_structures_is_bounded(monkeypatch):
    monkeypatch.setattr(backward, "MAX_STRUCTURES", 3)
    monkeypatch.setattr(backward, "_structures", type(backward._structures)())
    for n in range(6):
        ms.grad(lambda a: (a * n).sum())(tensor(n + 1))
    assert len(backward._structures) == 3


# ---------------------------------------------------------------- gradients written by the user

class Fivefold(nn.Cell):
    def construct(self, x):
        return ops.tanh(x)

    def bprop(self, x, out, dout):
        return (dout * 5 * x,)


def test_the_bprop_of_a_cell_is_its_gradient_and_can_be_differentiated():
    x, cell = tensor(4), Fivefold()
    for _ in range(2):
        np.testing.assert_allclose(ms.grad(lambda a: cell(a * 2).sum())(x).asnumpy(), 20 * x.array)
    second = ms.grad(lambda b: ms.grad(lambda a: cell(a * 2).sum())(b).sum())(x)
    np.testing.assert_allclose(second.asnumpy(), 20)


def test_a_bprop_with_the_wrong_number_of_gradients_is_refused():
    class Wrong(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return (dout,)
    with pytest.raises(GradientError, match=r"Wrong.bprop gives 1 gradients for 2 arguments"):
        ms.grad(Wrong())(tensor(3), tensor(3))


@pytest.mark.parametrize("count", [1, 3])
def test_a_bprop_gives_a_gradient_for_each_part_of_an_argument_in_both_modes(count):
    class OfTwo(nn.Cell):
        def construct(self, pair):
            return pair[0] * pair[1]

        def bprop(self, pair, out, dout):
            return (dout,) * count,
    cell = OfTwo()
    slope = ms.grad(lambda x: cell((x, x)).sum())
    for run in (slope, ms.jit(slope, fullgraph=True)):
        with pytest.raises(GradientError, match=f"OfTwo.bprop gives {count} gradients for an argument of 2 parts"):
            run(tensor(3))


def test_a_bprop_that_does_not_take_the_inputs_the_result_and_its_cotangent_is_refused_in_both_modes():
    def bprops():
        yield lambda self, out: (out, out), "at least 2 params 'out' and 'dout', but got only 1"
        yield lambda self, x, y, out: (out, out), "the forward inputs as well as the 'out' and 'dout'"
        yield lambda self, x, y, out, dout, more: (out, out), "the forward inputs as well as the 'out' and 'dout'"
        yield lambda self, *given: (given[-1], given[-1]), None
        yield lambda self, x, y, out, dout, more=2: (dout, dout * more), None
    for bprop, words in bprops():
        class Product(nn.Cell):
            def construct(self, x, y):
                return x * y
        Product.bprop = bprop
        for make in (lambda f: f, ms.jit):
            derived = make(ms.grad(Product(), (0, 1)))
            if words is None:
                np.testing.assert_array_equal(derived(tensor(3), tensor(3))[0].asnumpy(), np.ones(3))
            else:
                for expected in (TypeError, RuntimeError):
                    with pytest.raises(expected, match=words):
                        derived(tensor(3), tensor(3))


def test_backward_hooks_see_and_replace_gradients():
    dense, x, seen = nn.Dense(4, 3), tensor(1, 4, dtype=np.float32), []
    before = dense.register_backward_pre_hook(lambda cell, grads: seen.append(grads[0].shape))
    after = dense.register_backward_hook(lambda cell, grad_input, grad_output: (
        seen.append((grad_input[0].shape, grad_output[0].shape)), grad_input[0] * 10)[1])
    hooked = ms.grad(lambda a: dense(a).sum())(x)
    assert seen == [(1, 3), ((1, 4), (1, 3))]
    before.remove(), after.remove()
    np.testing.assert_allclose(hooked.asnumpy(), 10 * ms.grad(lambda a: dense(a).sum())(x).asnumpy(), rtol=1e-6)
    assert len(seen) == 2


def test_a_hook_on_a_tensor_sees_its_gradient():
    x = tensor(3)

    def f(a, keep=True):
        h = a * 2
        handle = h.register_hook(lambda grad: grad * 100)
        if not keep:
            handle.remove()
        return (h * h).sum()
    np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), 800 * x.array)
    np.testing.assert_allclose(ms.grad(f)(x, False).asnumpy(), 8 * x.array)


def test_recomputation_gives_the_same_gradients_and_random_numbers():
    dense, x, runs = nn.Dense(4, 4), tensor(2, 4, dtype=np.float32), []

    def block(a):
        runs.append(1)
        return ops.dropout(ops.tanh(dense(a)), 0.5)
    ms.set_seed(7)
    again = ms.grad(lambda a: ms.recompute(block, a * 2).sum(), 0, dense.weight)(x)
    assert len(runs) == 2
    after_again = ops.rand(3)
    ms.set_seed(7)
    once = ms.grad(lambda a: block(a * 2).sum(), 0, dense.weight)(x)
    np.testing.assert_array_equal(after_again.asnumpy(), ops.rand(3).asnumpy())
    for have, want in zip(again, once):
        np.testing.assert_array_equal(have.asnumpy(), want.asnumpy())
