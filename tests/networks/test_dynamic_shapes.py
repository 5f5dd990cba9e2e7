"""Sizes that change from call to call: few compiles, the results of eager mode, training steps too."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.common.errors import ShapeError

SIZES = (3, 5, 7, 1, 0, 64)


def network(x, weight):
    """Products, a reduction, a softmax."""
    hidden = ops.tanh(ops.matmul(x, weight))
    return ops.softmax(hidden - ops.mean(hidden, 0, True)) + ops.reduce_sum(x)


def arrays(batch, rng=np.random.default_rng(3)):
    return ms.Tensor(rng.normal(size=(batch, 8)).astype(np.float32)), ms.Tensor(np.eye(8, 4, dtype=np.float32))


@pytest.mark.parametrize("dynamic, compiles", [(0, 2), (1, 1)])
def test_any_batch_size_with_few_compiles(dynamic, compiles):
    jitted = ms.jit(network, dynamic=dynamic)
    for batch in SIZES:
        x, weight = arrays(batch)
        got, want = jitted(x, weight).asnumpy(), network(x, weight).asnumpy()
        assert got.shape == want.shape == (batch, 4) and got.dtype == want.dtype
        assert np.allclose(got, want, atol=1e-6, equal_nan=True), batch
    assert len(jitted.variants) == compiles


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_gradients_of_any_batch_size_are_those_of_eager_mode(level):
    def loss(x, weight):
        return ops.reduce_sum(network(x, weight) ** 2)
    gradient = ms.grad(loss, (0, 1))
    jitted = ms.jit(gradient, jit_level=level)
    for batch in SIZES:
        x, weight = arrays(batch)
        for got, want in zip(jitted(x, weight), gradient(x, weight)):
            assert got.shape == want.shape
            assert np.allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-5, equal_nan=True), batch
    assert len(jitted.variants) <= 2


def test_a_size_read_in_python_is_a_branch_and_not_a_compile():
    def halves(x):
        if x.shape[0] > 4:
            return x[:x.shape[0] // 2] * x.shape[0]
        return ops.concat((x, x), 0)
    jitted = ms.jit(halves, dynamic=1)
    for batch in SIZES:
        x, _ = arrays(batch)
        assert np.array_equal(jitted(x).asnumpy(), halves(x).asnumpy())
    assert len(jitted.variants) == 1


def test_a_sequence_loop_runs_for_any_length():
    def last_state(x, weight):
        h = ops.zeros((x.shape[1],), x.dtype)
        for t in range(x.shape[0]):
            h = ops.tanh(x[t] * weight + h)
        return ops.reduce_sum(h)
    step = ms.value_and_grad(last_state, (0, 1))
    jitted = ms.jit(step)
    rng = np.random.default_rng(4)
    weight = ms.Tensor(rng.normal(size=4))
    for length in (3, 5, 1, 12, 7):
        x = ms.Tensor(rng.normal(size=(length, 4)))
        (got, got_grads), (want, want_grads) = jitted(x, weight), step(x, weight)
        assert np.allclose(float(got), float(want), rtol=1e-12)
        for a, b in zip(got_grads, want_grads):
            assert a.shape == b.shape and np.allclose(a.asnumpy(), b.asnumpy(), rtol=1e-10, atol=1e-12)
    assert len(jitted.variants) <= 2


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_sizes_that_do_not_fit_leave_what_stands_behind_them_undone(mode):
    """As in Python: what comes before the error has happened once, what comes after it has not."""
    def update(x, y, before, after):
        ops.assign(before, before + 1)
        z = x + y
        ops.assign(after, after + 1)
        return z
    step = ms.jit(update, dynamic=1) if mode == "graph" else update
    before, after = (ms.Parameter(ms.Tensor(np.zeros(1, np.float32)), name=name) for name in ("before", "after"))
    x, y = arrays(4)[0], arrays(5)[0]
    step(x, x, before, after)
    with pytest.raises(ShapeError):
        step(x, y, before, after)
    assert (before.asnumpy()[0], after.asnumpy()[0]) == (2, 1)


class Net(nn.Cell):
    """A dense network with dropout-free layers and a norm."""

    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(nn.Dense(8, 16, dtype=ms.float64), nn.Tanh(),
                                        nn.LayerNorm((16,), dtype=ms.float64), nn.Dense(16, 3, dtype=ms.float64))

    def construct(self, x):
        return self.layers(x)


def training(jitted):
    """The losses and final weights of a training with another batch size in every step; how many variants it took."""
    rng = np.random.default_rng(5)
    net, criterion = Net(), nn.CrossEntropyLoss()
    for parameter in net.trainable_params():
        parameter.set_data(ms.Tensor(rng.normal(size=parameter.shape) * 0.5))
    optimizer = nn.Adam(net.trainable_params(), 1e-2)
    grad_fn = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        optimizer(grads)
        return loss
    step = ms.jit(step) if jitted else step
    losses = []
    for batch in (4, 9, 2, 1, 30, 9, 4):
        x, y = rng.normal(size=(batch, 8)), rng.integers(0, 3, batch)
        losses.append(float(step(ms.Tensor(x), ms.Tensor(y.astype(np.int32)))))
    return losses, [p.asnumpy() for p in net.trainable_params()], len(step.variants) if jitted else 0


def test_a_training_with_changing_batch_sizes_is_that_of_eager_mode_with_two_compiles():
    graph_losses, graph_weights, variants = training(jitted=True)
    eager_losses, eager_weights, _ = training(jitted=False)
    assert variants == 2
    assert np.allclose(graph_losses, eager_losses, rtol=1e-10)
    for a, b in zip(graph_weights, eager_weights):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("values", [[1.0, -2.0, 3.0], [-1.0, -2.0, -3.0]])
def test_a_size_that_depends_on_data_may_be_all_that_is_used_of_a_tensor(values):
    def count(x):
        found = ops.nonzero(x > 0)
        if found.shape[0] > 1:
            x = x + 1
        return x * found.shape[0]
    x = ms.Tensor(np.array(values))
    jitted = ms.jit(count)
    for argument in (x, -x, x):
        assert np.array_equal(jitted(argument).asnumpy(), count(argument).asnumpy())


TWO_COUNTS = [(np.array([1.0, 2.0, -1.0]), np.array([1.0, -2.0, -1.0])),
              (np.array([-1.0, -2.0, -1.0]), np.array([3.0, 2.0, 1.0]))]


def test_two_sizes_of_one_name_are_two_numbers_behind_a_branch():
    """Both are shown as `nonzero`: the second number was the first one."""
    def f(x, y):
        first, second = x[x > 0], y[y > 0]
        if x.sum() > 0:
            n, m = first.shape[0], second.shape[0]
        else:
            n, m = 0, 0
        return x * n + y * m * 100
    for arguments in TWO_COUNTS:
        got = ms.jit(f, fullgraph=True)(*map(ms.Tensor, arguments))
        np.testing.assert_array_equal(got.asnumpy(), f(*arguments))


def test_kernels_that_differ_in_sizes_of_one_name_are_two_kernels():
    """The second cluster was taken for the first one, whose text is the same."""
    def f(x, a, b):
        first, second = a[a > 0], b[b > 0]
        return [ops.tanh(x[s.shape[0]:s.shape[0] + 2] * 2) for s in (first, second)]
    x = np.arange(8) / 8
    compiled = ms.jit(f, fullgraph=True)
    for a, b in TWO_COUNTS:
        for got, counted in zip(compiled(ms.Tensor(x), ms.Tensor(a), ms.Tensor(b)), (a, b)):
            n = (counted > 0).sum()
            np.testing.assert_allclose(got.asnumpy(), np.tanh(x[n:n + 2] * 2), rtol=1e-12)


@pytest.mark.python_runs("runs again in Python: it says what is wrong")
@pytest.mark.parametrize("f", [
    lambda x: ops.glu(x[x > 0], 0), lambda x: ops.split(x[x > 0], [1, 2], 0), lambda x: ops.chunk(x[x > 0], 2, 0),
    lambda x: x[x > 0][x[:2] > 0], lambda x: ops.squeeze(x[x > 0], 0), lambda x: x[x > 0].reshape((-1, x[x > 1].shape[0])),
    lambda x: ops.roll(x[x > 0], 1, 0)], ids=["glu", "split", "chunk", "mask", "squeeze", "reshape", "roll"])
def test_what_an_operator_asks_of_a_size_is_asked_at_run_time_where_data_decides_it(f):
    """glu, split, chunk and masks gave something for sizes that they refuse: their question went unheard."""
    compiled = ms.jit(f)
    for values in ((1.0, 2.0, -1.0), (1.0, -2.0, -1.0), (-1.0, -2.0, -3.0), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 4.0)):
        x, ends = ms.Tensor(np.array(values)), []
        for function in f, compiled:
            try:
                made = function(x)
                ends.append([part.asnumpy().round(12).tolist() for part in (made if isinstance(made, tuple) else (made,))])
            except Exception as error:
                ends.append((type(error), str(error).split("\n")[0]))
        assert ends[0] == ends[1]


@pytest.mark.parametrize("f, want", [
    (lambda x: ops.softmax(x, 0), np.zeros((0, 3))), (lambda x: ops.log_softmax(x, 0), np.zeros((0, 3))),
    (lambda x: ops.logsumexp(x, 0), np.full(3, -np.inf)), (lambda x: ops.logsumexp(x), -np.inf),
    (lambda x: ops.matmul(ops.softmax(ops.matmul(x[:0] + 1, x.T)), x), np.zeros((0, 3))),
    (lambda x: ops.roll(x, 1, 0), np.zeros((0, 3))), (lambda x: ops.chunk(x, 2)[0], np.zeros((0, 3)))],
    ids=["softmax", "log_softmax", "logsumexp", "of all", "attention", "roll", "chunk"])
def test_along_an_axis_that_is_empty_a_graph_of_any_size_gives_what_eager_mode_gives(f, want):
    compiled = ms.jit(f, fullgraph=True, dynamic=1)
    for rows in 4, 0, 1, 2:
        x = ms.Tensor(np.random.default_rng(rows).normal(size=(rows, 3)))
        np.testing.assert_allclose(compiled(x).asnumpy(), f(x).asnumpy(), rtol=1e-12)
        if rows == 0:
            np.testing.assert_array_equal(f(x).asnumpy(), want)
    gradient = ms.grad(lambda x: f(x).sum())
    np.testing.assert_array_equal(gradient(ms.Tensor(np.zeros((0, 3)))).asnumpy(), np.zeros((0, 3)))


@pytest.mark.parametrize("dynamic", [0, 1])
@pytest.mark.parametrize("f", [lambda x: x.reshape(x.shape[0], -1), lambda x: x.reshape(-1, x.shape[0]),
                               lambda x: x.reshape(2 * x.shape[0], -1), lambda x: ops.reshape(x, (x.shape[0], 2, -1))])
def test_of_no_elements_nothing_is_known_of_a_size_of_minus_one(f, dynamic):
    """NumPy and PyTorch refuse it; graphs of open sizes gave what the other sizes would give."""
    compiled = ms.jit(f, dynamic=dynamic, fullgraph=True)
    for rows in 3, 4, 1, 0, 2:
        x, ends = ms.Tensor(np.ones((rows, 4))), []
        for function in f, compiled:
            try:
                ends.append(function(x).shape)
            except ms.ShapeError as error:
                ends.append(str(error).split("\n")[0])
        assert ends[0] == ends[1] and isinstance(ends[0], str) == (rows == 0)


@pytest.mark.parametrize("f", [lambda x: ops.flatten(x), lambda x: x.reshape(-1, 2, 4), lambda x: x.reshape(-1)])
def test_no_rows_keep_the_sizes_that_are_known(f):
    compiled = ms.jit(f, dynamic=1, fullgraph=True)
    for rows in 4, 2, 0:
        x = ms.Tensor(np.ones((rows, 4)))
        assert compiled(x).shape == f(x).shape
