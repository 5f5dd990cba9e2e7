"""Compiled functions inside eager gradients: one entry on the tape, with a compiled backward of its own."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.events import counting
from mindlite.pynative.tape import Tape, recording


def tensor(*shape, seed=0, dtype=np.float64):
    return Tensor(np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype(dtype))


def f(a, b):
    return (ops.tanh(a * b) * a).sum()


def doubled(a):
    while (a * a).sum() < 50:
        a = a * 2
    return a.sum()


def close(have, want, rtol=1e-10):
    have, want = (have, want) if isinstance(have, tuple) else ((have,), (want,))
    assert len(have) == len(want)
    for x, y in zip(have, want):
        np.testing.assert_allclose(x.asnumpy(), y.asnumpy(), rtol=rtol, atol=1e-12)


def test_a_call_is_one_entry():
    tape, x, y = Tape(), tensor(3), tensor(3, seed=1)
    tape.watch(x)
    jitted = ms.jit(f)
    with recording(tape):
        jitted(x, y)
    assert len(tape.entries) == 1 and tape.entries[0].backward.graph.name.startswith("grad")


def test_its_gradient_is_that_of_the_function_itself():
    x, y, jitted = tensor(3, 2), tensor(3, 2, seed=1), ms.jit(f)
    for _ in range(3):
        close(ms.grad(jitted, (0, 1))(x, y), ms.grad(f, (0, 1))(x, y))
    close(ms.grad(lambda a: jitted(a, y) * 2 + jitted(y, a))(x), ms.grad(lambda a: f(a, y) * 2 + f(y, a))(x))


def test_its_backward_is_built_once_and_alone_needs_no_flow_around_it():
    x, y, jitted = tensor(3), tensor(3, seed=1), ms.jit(f)
    with counting() as first:
        ms.grad(jitted)(x, y)
    with counting() as then:
        ms.grad(jitted)(x, y)
        ms.grad(jitted)(x, y)
    assert first["backward_graph_build"] == 1
    assert then["backward_graph_build"] == 0 and then["backward_graph_reuse"] == 2 and then["backward_flow_build"] == 0


def test_eager_jit_eager_and_jit_eager_jit_compose():
    inner = ms.jit(lambda a: ops.exp(a) * a)

    def middle(a):
        return inner(a * 2) + a

    x = tensor(4)
    outer = ms.jit(lambda a: (middle(a) * a).sum())
    plain = ms.grad(lambda a: ((ops.exp(a * 2) * a * 2 + a) * a).sum())(x)
    close(ms.grad(outer)(x), plain)
    close(ms.grad(lambda a: (middle(a) * a).sum())(x), plain)
    close(ms.jit(ms.grad(outer))(x), plain)
    close(ms.grad(ms.jit(lambda a: ms.grad(outer)(a).sum()))(x), ms.grad(lambda a: ms.grad(outer)(a).sum())(x))


def test_gradients_of_gradients_pass_through():
    x, y, jitted = tensor(3), tensor(3, seed=1), ms.jit(f)
    want = ms.grad(lambda a: ms.grad(f)(a, y).sum())(x)
    for _ in range(3):
        close(ms.grad(lambda a: ms.grad(jitted)(a, y).sum())(x), want)
    third = ms.grad(lambda c: ms.grad(lambda a: ms.grad(jitted)(a, y).sum())(c).sum())(x)
    close(third, ms.grad(lambda c: ms.grad(lambda a: ms.grad(f)(a, y).sum())(c).sum())(x), 1e-8)


def test_a_loop_inside_is_differentiated_too():
    x, jitted = tensor(4), ms.jit(doubled)
    for _ in range(2):
        close(ms.grad(jitted)(x), ms.grad(doubled)(x))
    close(ms.grad(lambda a: ms.grad(lambda b: jitted(b) ** 2)(a).sum())(x),
          ms.grad(lambda a: ms.grad(lambda b: doubled(b) ** 2)(a).sum())(x))


def test_open_sizes_are_differentiated_at_each_size():
    jitted = ms.jit(lambda a: ops.tanh(a).sum(0), dynamic=1)
    for n in (2, 5, 3):
        x = tensor(n, 3, seed=n)
        close(ms.grad(lambda a: (jitted(a) ** 2).sum())(x), ms.grad(lambda a: (ops.tanh(a).sum(0) ** 2).sum())(x))
    assert len(jitted.variants) == 1


def test_arguments_that_are_handed_through_keep_their_gradient():
    jitted = ms.jit(lambda a, b: (a, a * b, {"b": b, "n": 3}))

    def g(a, b):
        first, second, rest = jitted(a, b)
        return (first * second * rest["b"]).sum() * rest["n"]
    x, y = tensor(3), tensor(3, seed=1)
    for _ in range(2):
        close(ms.grad(g, (0, 1))(x, y), ms.grad(lambda a, b: (a * (a * b) * b).sum() * 3, (0, 1))(x, y))


class Normalised(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm = nn.Dense(4, 3), nn.BatchNorm1d(3)

    def construct(self, x):
        return ops.relu(self.norm(self.dense(x)))


def test_what_it_assigns_is_assigned_while_a_gradient_is_made():
    x, losses, means = tensor(6, 4, dtype=np.float32), [], []
    for wrap in (lambda net: net, ms.jit):
        ms.set_seed(3)
        net = wrap(Normalised().set_train())
        grad = ms.value_and_grad(lambda a: (net(a) ** 2).sum(), None, net.trainable_params())
        for _ in range(3):
            value, grads = grad(x)
        losses.append([float(value), *[float(ops.abs(g).sum()) for g in grads]])
        means.append(net.norm.moving_mean.asnumpy())
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5, atol=1e-5)       # that of the bias before it is 0
    np.testing.assert_allclose(means[0], means[1], rtol=1e-6)
    assert np.abs(means[0]).max() > 0


def test_a_value_read_before_an_assignment_inside_is_the_old_one():
    w = ms.Parameter(Tensor(np.ones(3)), name="w")

    @ms.jit
    def step(a):
        out = a * w
        ops.assign(w, w + 1)
        return out
    x = tensor(3)
    of_x, of_w = ms.grad(lambda a: (step(a) * step(a)).sum(), 0, w)(x)       # w, then w + 1
    np.testing.assert_allclose(of_x.asnumpy(), 2 * x.array * 1 * 2)
    np.testing.assert_allclose(of_w.asnumpy(), x.array ** 2 * (2 + 1))


def test_only_the_watched_arguments_are_differentiated():
    x, y, jitted = tensor(3), tensor(3, seed=1), ms.jit(f)
    tape = Tape()
    tape.watch(y)
    with recording(tape):
        jitted(x, y)
    assert len(tape.entries[0].inputs) == 1
    with recording(Tape()) as nothing:
        jitted(x, y)
    assert nothing.entries == []


def test_python_inside_a_graph_runs_on_the_tape():
    @ms.jit
    def with_python(a):
        try:
            b = a * 2
        except ValueError:
            b = a
        return (b * a).sum()
    x = tensor(3)
    for _ in range(3):
        close(ms.grad(with_python)(x), ms.grad(lambda a: (a * 2 * a).sum())(x))


def test_mapped_functions_are_differentiated():
    x = tensor(3, 4)
    close(ms.grad(lambda a: ms.vmap(lambda row: (row ** 3).sum())(a).sum())(x), ms.grad(lambda a: (a ** 3).sum())(x))
    per_row = ms.vmap(ms.grad(lambda row: (row ** 3).sum()))(x)
    np.testing.assert_allclose(per_row.asnumpy(), 3 * x.array ** 2)


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_levels_give_the_same_gradients(level):
    x, y = tensor(3), tensor(3, seed=1)
    close(ms.grad(ms.jit(f, jit_level=level), (0, 1))(x, y), ms.grad(f, (0, 1))(x, y))


class Counter:
    sign, last = 1, None


def test_attributes_that_a_jitted_function_sets_are_set_under_a_tape_too():
    @ms.jit
    def turn(x):
        Counter.sign = -Counter.sign
        Counter.last = x * Counter.sign
        return Counter.last

    def f(x):
        turn(x)
        return turn(x) * Counter.sign + Counter.last
    for _ in range(3):
        Counter.sign = 1
        assert float(ms.grad(f)(Tensor(16.0))) == 2 and Counter.sign == 1 and float(Counter.last) == 16


def squares(value):
    """The sum of the squares of all Tensors in a value: a loss."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return sum(squares(v) for v in value)
    return (value * value).sum()


@pytest.mark.parametrize("dynamic", [0, 1])
def test_nine_lengths_share_one_forward_and_one_backward(dynamic):
    f = ms.jit(lambda x: (ops.tanh(x) * x).sum(), dynamic=dynamic, fullgraph=True)
    grad, lengths = ms.grad(f), range(2, 11)
    for _ in range(3):                                       # what all programs share is loaded
        ms.grad(ms.jit(lambda x: (x * x).sum()))(tensor(2))
    with counting() as first:
        for n in lengths[:2]:
            grad(tensor(n))
    with counting() as then:
        for n in lengths[2:]:
            grad(tensor(n))
    variants = 1 if dynamic else 2                           # the sizes of a first call are known, from the second on symbols
    assert len(f.compiled.variants) == variants and first["backward_graph_build"] == variants
    assert first["flow_compile"] + first["flow_load"] == 3 * variants        # without a gradient; forward, backward
    assert not any(then[event] for event in ("compile", "kernel_compile", "flow_compile", "flow_load", "backward_graph_build"))
    for n in (*lengths, 0, 1):
        close(grad(tensor(n)), ms.grad(lambda x: (ops.tanh(x) * x).sum())(tensor(n)))


def test_what_is_remembered_for_recording_does_not_grow_with_the_sizes():
    f = ms.jit(lambda x: (x * x).sum(), fullgraph=True)
    for n in range(2, 40):
        x = tensor(n)
        np.testing.assert_array_equal(ms.grad(f)(x).asnumpy(), 2 * x.asnumpy())
    assert [len(v.recorded) for v in f.compiled.variants] == [1, 1]


def branches(x, w):
    """Its branch hangs on a size, its numbers on two."""
    h = ops.tanh(x @ w)
    h = h * 2 if x.shape[0] > 3 else h - x.shape[1]
    return h.sum() / (x.shape[0] + 1) + (h * x.shape[1]).sum()


def iterates(x, w):
    """A loop whose count is a size, with a tape in its gradient."""
    h, i = x, 0
    while i < x.shape[1] and h.sum() < 100:
        h, i = h * ops.exp(w.sum() * 0.01) + x.sum(0), i + 1
    return h


def doubles(x, w):
    """A result of twice the rows, and one that nothing flows to."""
    return ops.concat((x, x), 0) @ w, x.reshape(-1) * 3


def structured(x, w):
    """Results in containers; one is an argument."""
    return {"rows": x * 2, "rest": [x.sum(0), ops.transpose(x, (1, 0)) + 1, w]}


@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("function", [branches, iterates, doubles, structured])
def test_batch_and_length_vary_at_once_and_gradients_are_those_of_plain_eager_and_of_a_graph(function, dynamic):
    f, rng = ms.jit(function, dynamic=dynamic, fullgraph=True), np.random.default_rng(5)
    graph = ms.jit(ms.grad(lambda x, w: squares(function(x, w)), (0, 1)), dynamic=1, fullgraph=True)
    sizes = [(2, 3), (4, 5), (0, 2), (1, 1), (2, 2), (5, 0), *rng.integers(0, 8, (4, 2)).tolist()]
    for batch, length in sizes:
        x, w = tensor(batch, length, seed=batch), tensor(length, 2, seed=length)
        want = ms.grad(lambda x, w: squares(function(x, w)), (0, 1))(x, w)
        close(ms.grad(lambda x, w: squares(f(x, w)), (0, 1))(x, w), want)
        close(graph(x, w), want)
    if function is doubles:                                  # the cotangent of a result that nothing flows to
        for batch, length in sizes:
            x, w = tensor(batch, length, seed=batch), tensor(length, 2, seed=length)
            close(ms.grad(lambda x: squares(f(x, w)[0]))(x), ms.grad(lambda x: squares(doubles(x, w)[0]))(x))
    assert len(f.compiled.variants) <= 4


def test_a_size_that_the_function_asks_for_keeps_its_guard():
    def halves(x):
        rows = ops.ones((4, x.shape[0] // 2)) @ x.reshape(x.shape[0] // 2, -1)       # holds for even sizes
        return rows if x.shape[0] == 4 else rows * 2
    f = ms.jit(halves, fullgraph=True)
    for n in (2, 6, 4, 8, 4, 2, 10):
        x = tensor(n, 3, seed=n)
        close(ms.grad(lambda x: squares(f(x)))(x), ms.grad(lambda x: squares(halves(x)))(x))
    with pytest.raises(ms.common.errors.ShapeError):
        ms.grad(lambda x: squares(f(x)))(tensor(5, 3))


def test_gradients_of_gradients_have_open_sizes_too():
    f = ms.jit(branches, dynamic=1, fullgraph=True)
    for batch, length in [(2, 3), (5, 4), (1, 1), (0, 2), (5, 4)]:
        x, w = tensor(batch, length, seed=1), tensor(length, 2, seed=2)
        close(ms.grad(lambda a: squares(ms.grad(lambda b: squares(f(b, w)))(a)))(x),
              ms.grad(lambda a: squares(ms.grad(lambda b: squares(branches(b, w)))(a)))(x))


def test_sizes_that_data_decides_differ_from_call_to_call():
    def chosen(x):
        y = x[x > 0]
        return y * y
    f = ms.jit(chosen, fullgraph=True)
    for count in (3, 2, 4, 1, 0, 4, 3, 3):
        x = Tensor(np.where(np.arange(6) < count, 2.0 + np.arange(6), -1.0))
        close(ms.grad(lambda x: (f(x) * 2).sum())(x), ms.grad(lambda x: (chosen(x) * 2).sum())(x))


def test_a_function_of_open_sizes_stands_beside_others_on_a_tape():
    f, g = ms.jit(lambda x: ops.tanh(x) * x, dynamic=1, fullgraph=True), ms.jit(lambda x: x * x, dynamic=1, fullgraph=True)

    def loss(x, one, other):
        return (other(one(x) + x) * ops.exp(-x)).sum()
    for n in (3, 5, 3, 3, 5, 1):
        x = tensor(n)
        close(ms.grad(loss)(x, f, g), ms.grad(loss)(x, f.__wrapped__, g.__wrapped__))
    told = ms.grad(loss)
    told(x, f, g)
    assert "compiled functions of open sizes: 2" in told.explain()
