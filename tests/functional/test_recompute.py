"""Memory for time: recomputed Cells and functions, and loops of which only some states are kept."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import ValueRangeError
from mindlite.common.events import counting
from mindlite.compile.printers.python import PythonRuntime


@pytest.fixture(params=["eager", "jit", "GRAPH_MODE"])
def way(request):
    """A function that makes another one run in one of the three ways."""
    if request.param == "GRAPH_MODE":
        ms.set_context(mode=ms.GRAPH_MODE)
    yield (lambda f: ms.jit(f, fullgraph=True)) if request.param == "jit" else lambda f: f
    ms.set_context(mode=ms.PYNATIVE_MODE)


def close(a, b, rtol=1e-9):
    if isinstance(b, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            close(x, y, rtol)
    else:
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy() if isinstance(b, Tensor) else b, rtol=rtol, atol=1e-12)


class Block(nn.Cell):
    def __init__(self, width, dropout=0.5):
        super().__init__()
        self.dense, self.drop = nn.Dense(width, width), nn.Dropout(p=dropout)

    def construct(self, x):
        return ops.tanh(self.drop(ops.exp(ops.tanh(self.dense(x)))))


def stack(recomputed, width=4, depth=3, dropout=0.5):
    blocks = [Block(width, dropout) for _ in range(depth)]
    net, rng = nn.SequentialCell(blocks), np.random.default_rng(0)
    for p in net.trainable_params():
        p.set_data(Tensor((rng.normal(size=p.shape) / width).astype(np.float32)))
    for block in blocks if recomputed else ():
        block.recompute()
    return net.set_train()


# ---------------------------------------------------------------- Cells and functions

def test_a_recomputed_cell_has_the_same_values_gradients_and_random_numbers(way):
    x, results = Tensor(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)), []
    for recomputed in (False, True):
        net = stack(recomputed)
        gradient = way(ms.value_and_grad(lambda a, net=net: net(a).sum(), 0, net.trainable_params()))
        ms.set_seed(3)
        results.append([gradient(x), gradient(x), ops.uniform((2,), Tensor(0.0), Tensor(1.0))])
    close(results[1], results[0], 1e-4)


def test_a_recomputed_function_is_computed_again_in_the_backward_graph():
    calls = {}
    for recomputed in (False, True):
        def block(x):
            return ops.sin(ops.exp(x))

        def loss(x, recomputed=recomputed):
            return (ms.recompute(block, x) if recomputed else block(x)).sum()
        step = ms.jit(ms.value_and_grad(loss), fullgraph=True)
        close(step(Tensor(np.ones(3))), [3 * np.sin(np.e), np.full(3, np.cos(np.e) * np.e)])
        nodes = [node.fn.name for g in step.graph("optimise").reachable() for node in g.nodes]
        calls[recomputed] = nodes.count("exp")
    assert calls == {False: 1, True: 2}


def test_what_a_graph_keeps_falls_with_recomputation():
    def peak(recomputed):
        net = stack(recomputed, 256, 8, 0.1)
        step = ms.jit(ms.grad(lambda a: net(a).sum(), None, net.trainable_params()), fullgraph=True)
        step(Tensor(np.ones((512, 256), np.float32)))
        return step.compiled.latest().compiled.executable.plan.layout(()).peak
    assert peak(True) < 0.7 * peak(False)


def test_effects_of_a_recomputed_function_stay_in_order_and_come_once_in_a_graph(way, capsys, request):
    def noisy(x):
        print("inside")
        return ops.sin(x)

    def loss(x):
        print("before")
        y = ms.recompute(noisy, x)
        print("behind")
        return y.sum()
    x = Tensor(np.ones(2))
    close(way(ms.grad(loss))(x), np.cos([1.0, 1.0]))
    again = ["inside"] if "eager" in request.node.name else []                    # there Python itself runs again
    assert capsys.readouterr().out.split() == ["before", "inside", "behind", *again]


def test_effects_in_a_recomputed_loop_come_once_in_a_graph(capsys):
    def noisy(x):
        while x.sum() < 20:
            print("iteration")
            x = x * x + 1
        return x
    x = Tensor(np.ones(2))
    close(ms.jit(ms.grad(lambda x: ms.recompute(noisy, x).sum()), fullgraph=True)(x), [80.0, 80.0])
    assert capsys.readouterr().out.split() == ["iteration"] * 3


def test_recomputation_and_other_transforms_take_any_order(way):
    def block(x):
        return ops.sin(x) * ops.exp(x)

    def plain(x):
        return (block(x) ** 2).sum()

    def again(x):
        return (ms.recompute(block, x) ** 2).sum()
    x = Tensor(np.linspace(0, 1, 3))
    for transform in (ms.grad, ms.jacfwd, ms.jacrev, lambda f: ms.grad(lambda a: ms.grad(f)(a).sum()),
                      lambda f: ms.jacfwd(ms.grad(f)), lambda f: lambda a: ms.jvp(f, a, a)[1],
                      lambda f: ms.vmap(ms.grad(f))):
        close(way(transform(again))(x), way(transform(plain))(x))


def test_weights_inside_a_recomputed_function_are_trained(way):
    net, x = nn.Dense(3, 2), Tensor(np.ones((4, 3), np.float32))
    gradients = way(ms.grad(lambda a: ms.recompute(net, a).sum(), None, net.trainable_params()))(x)
    close(gradients, [np.full((2, 3), 4.0), np.full(2, 4.0)], 1e-6)


# ---------------------------------------------------------------- loops

def chain(x, w, n):
    i = 0
    while i < n:
        x = ops.sin(x * w) + x
        i = i + 1
    return (x * x).sum()


def branching(x, w, n):
    total = x.sum() * 0
    for i in range(n):
        if i % 3 == 0:
            continue
        for j in range(3):
            x = ops.tanh(x * w + j)
        total = total + x.sum()
        if total > 8:
            break
    return total * x.sum()


X, W = np.linspace(0.1, 1, 4), np.linspace(0.5, 2, 4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [chain, branching])
@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 4, 7, 50])
def test_a_loop_of_which_few_states_are_kept_has_the_same_gradient(function, iterations):
    args, wrt = (Tensor(X), Tensor(W), Tensor(iterations)), (0, 1)
    want = ms.grad(function, wrt)(*args)
    with counting() as seen:
        close(ms.jit(ms.grad(function, wrt), remat="sqrt", fullgraph=True)(*args), want)
        close(ms.grad(ms.jit(function, remat="sqrt", fullgraph=True), wrt)(*args), want)
    assert seen["remat_refused"] == 0


def test_one_compile_serves_every_number_of_turns():
    gradient = ms.jit(ms.grad(chain, (0, 1)), remat="sqrt", fullgraph=True)
    for iterations in (0, 1, 5, 40):
        args = Tensor(X), Tensor(W), Tensor(iterations)
        close(gradient(*args), ms.grad(chain, (0, 1))(*args))
    assert len(gradient.variants) == 1


@pytest.mark.parametrize("name", ["second order", "forward over reverse", "vmap"])
def test_such_a_loop_can_be_transformed_further(name):
    made = {"second order": lambda f: ms.grad(lambda x, w, n: (ms.grad(f, (0, 1))(x, w, n)[1] ** 2).sum(), (0, 1)),
            "forward over reverse": lambda f: ms.jacfwd(ms.grad(f)),
            "vmap": lambda f: lambda x, w, n: ms.vmap(ms.grad(f), (0, None, None))(ops.stack([x, x * 2]), w, n)}[name]
    args = Tensor(X), Tensor(W), Tensor(5)
    close(ms.jit(made(chain), remat="sqrt")(*args), ms.jit(made(chain))(*args))


class Meter:
    """The bytes on the tapes of a run with the Python printer, and how many there were at most."""

    def __init__(self, monkeypatch):
        self.stack, self.peak = [], 0
        push, scalar, pop = PythonRuntime.push, PythonRuntime.push_scalar, PythonRuntime.pop

        def count(nbytes):
            self.stack.append(nbytes)
            self.peak = max(self.peak, sum(self.stack))
        monkeypatch.setattr(PythonRuntime, "push", lambda rt, place, tape, pointer, nbytes: (
            count(nbytes), push(rt, place, tape, pointer, nbytes))[1])
        monkeypatch.setattr(PythonRuntime, "push_scalar", lambda rt, *a: (count(8), scalar(rt, *a))[1])
        monkeypatch.setattr(PythonRuntime, "pop", lambda rt, *a: (self.stack.pop(), pop(rt, *a))[1])


def tape_bytes(iterations, remat, monkeypatch):
    with monkeypatch.context() as patch:
        meter = Meter(patch)
        step = ms.jit(ms.grad(chain), remat=remat, printer="python", fullgraph=True)
        step(Tensor(np.ones(1000) / 2), Tensor(np.ones(1000) / 2), Tensor(iterations))
        assert meter.stack == []
        return meter.peak


def test_the_tape_of_a_loop_grows_with_its_turns_and_as_their_root_with_remat(monkeypatch):
    all_of_16, all_of_400 = (tape_bytes(n, None, monkeypatch) for n in (16, 400))
    few_of_16, few_of_400 = (tape_bytes(n, "sqrt", monkeypatch) for n in (16, 400))
    assert all_of_400 == 25 * all_of_16
    assert few_of_400 < 6.5 * few_of_16 and few_of_400 < 0.2 * all_of_400
    state = 8000 + 8
    assert few_of_400 < 2.2 * (2 * 400) ** 0.5 * 2 * state


def test_a_loop_that_cannot_be_run_again_keeps_all_and_says_so():
    def f(x):
        while x.sum() < 10:
            print("iteration")
            x = x * 2
        return x.sum()
    step = ms.jit(ms.grad(f), remat="sqrt")
    close(step(Tensor(X)), ms.grad(f)(Tensor(X)))
    assert "keeps the values of every iteration: it has an effect" in step.explain()


def test_remat_is_sqrt_or_nothing():
    with pytest.raises(ValueRangeError, match="there is no remat"):
        ms.jit(chain, remat="all")


def test_the_gradient_of_the_tangent_of_a_recomputed_loop(way):
    def iterations(x):
        n = 0
        while n < 3 and (x * x).sum() < 33:
            x, n = x * ops.sin(x) + 1, n + 1
        return x

    def slope(f):
        return ms.grad(lambda x: ms.jvp(f, x, x * 2)[1].sum())
    x = Tensor(np.array([0.8, 0.6, -0.8]))
    close(way(slope(lambda x: ms.recompute(iterations, x)))(x), way(slope(iterations))(x))


def test_what_is_no_function_is_refused_by_name_in_every_mode():
    for run in (lambda f: f, ms.jit):
        with pytest.raises(ms.ArgumentError, match="recompute: takes a function or a Cell, not int"):
            run(lambda x: ms.recompute(3, x))(Tensor([1.0]))
