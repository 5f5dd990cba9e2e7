"""Collectives beside computation: the order of a graph, values, and that both really run at one time."""
import importlib
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import RankError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, comm_func, get_rank
from mindlite.communication.simulation import SimEngine
from mindlite.mindir.graph import FuncGraph
from mindlite.ops.collectives import all_gather, all_reduce
from mindlite.ops.rank_program import begin, finish
from mindlite.parallel import Layout, buckets, zero

overlap = importlib.import_module("mindlite.parallel.overlap")
X = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
WIDTH, LAYERS = 16, 4
CHEAP = property(lambda self: (1e-9, 1e-13), lambda self, value: None)   # messages, so that plans split what is this small


@pytest.fixture(autouse=True)
def small_ones_travel_too(monkeypatch):
    monkeypatch.setattr(overlap, "LEAST", 256)
    monkeypatch.setattr(overlap, "BRIEF", 0)


def network():
    return nn.SequentialCell(*[nn.Dense(WIDTH, WIDTH, activation=nn.Tanh()) for _ in range(LAYERS)])


def train(way):
    """The losses of three steps, and the weights."""
    ms.set_seed(1)
    if way == "data":
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    net, mesh = network(), Layout((engine().size,), ("dp",))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    x = Tensor(X).to_global(mesh("dp")) if way != "data" else Tensor(np.array_split(X, engine().size)[get_rank()])
    if way.startswith("zero"):
        zero(optimizer, mesh, level=int(way[-1]))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    run = ms.jit(lambda x: step(x, x), fullgraph=True)
    losses = [float(run(x)) for _ in range(3)]
    return losses, [param.asnumpy() for param in net.trainable_params()]


@pytest.mark.parametrize("way", ["data", "plan", "zero1", "zero3"])
@pytest.mark.parametrize("size", [2, 3])
def test_values_are_those_of_collectives_that_are_waited_for(way, size, monkeypatch):
    monkeypatch.setattr(SimEngine, "link", CHEAP, raising=False)
    monkeypatch.setattr(buckets, "PIECE", 1100)
    beside = SimWorld(size).run(train, way)
    monkeypatch.setattr(overlap, "LEAST", 1 << 40)
    waited = SimWorld(size).run(train, way)
    for (losses, weights), (wanted, others) in zip(beside, waited):
        assert losses == wanted
        for a, b in zip(weights, others):
            np.testing.assert_array_equal(a, b)


def test_gradients_travel_while_the_backward_goes_on(graphs, monkeypatch):
    """The pieces of the last layers begin before the kernels of the first layers' gradients, and are finished behind them all."""
    monkeypatch.setattr(buckets, "PIECE", 1100)              # a piece for each layer
    SimWorld(2).run(train, "data")
    nodes = next(graph.nodes for graph in graphs if any(node.fn is begin for node in graph.nodes))
    begins = [k for k, node in enumerate(nodes) if node.fn is begin]
    ends = [k for k, node in enumerate(nodes) if node.fn is finish]
    assert len(begins) == len(ends) >= LAYERS - 1
    between = [sum(isinstance(node.fn, FuncGraph) for node in nodes[a:b]) for a, b in zip(begins, begins[1:])]
    assert all(between), "each piece begins as soon as its layer's gradients are there"
    assert begins[-2] < ends[0]


def test_weights_in_parts_are_gathered_one_ahead(graphs):
    """All could begin at once, and would lie in memory together."""
    def forward(x, a, b, c, d):
        for weight in (a, b, c, d):
            x = ops.tanh(x @ all_gather(weight))
        return x

    def run():
        parts = [Tensor(np.full((WIDTH // 2, WIDTH), n, np.float32)) for n in range(4)]
        ms.jit(forward, fullgraph=True)(Tensor(X), *parts)
    SimWorld(2).run(run)
    nodes = next(graph.nodes for graph in graphs if any(node.fn is begin for node in graph.nodes))
    ahead = most = 0
    for node in nodes:
        if node.fn is begin and node.attrs["operator"] == "all_gather":
            ahead += 1
            most = max(most, ahead)
        elif node.fn is finish and node.args[0].attrs["operator"] == "all_gather":
            ahead -= 1
    assert most == 2 and sum(node.fn is begin for node in nodes) == 3       # behind the first one there is nothing to do yet


def test_what_no_collective_needs_is_not_put_off(graphs):
    """Else all that it reads would be kept to the end: gradients of weights read what a segment has computed again."""
    def run():
        def program(x):
            found = []
            for _ in range(4):
                y = ops.tanh(x @ x)
                x = all_gather(y[:WIDTH // 2] * 0.1)
                found.append((y @ y).sum())
            return sum(found) + x.sum()
        return float(ms.jit(program, fullgraph=True)(Tensor(np.full((WIDTH, WIDTH), 0.1, np.float32))))
    assert len(set(SimWorld(2).run(run))) == 1
    nodes = next(graph.nodes for graph in graphs if any(node.fn is begin for node in graph.nodes))
    kinds = "".join("b" if node.fn is begin else "p" for node in nodes if node.fn is begin or "matmul" in node.fn.name)
    assert kinds.startswith("pbppbppbp"), kinds


def test_a_collective_beside_which_there_is_little_to_do_is_not_begun(graphs):
    """What only its readers need is fused with them; it is nothing to do meanwhile. Products are."""
    def update(v, g):
        return v * 0.9 + all_reduce(g)

    def product(v, g):
        return v @ v + all_reduce(g)

    def run(function):
        x = Tensor(np.full((WIDTH, WIDTH), get_rank() + 1, np.float32))
        return ms.jit(function, fullgraph=True)(x, x).asnumpy()[0, 0]
    assert np.allclose(SimWorld(2).run(run, update), [3.9, 4.8])
    assert not any(node.fn is begin for graph in graphs for node in graph.nodes)
    SimWorld(2).run(run, product)
    assert any(node.fn is begin for graph in graphs for node in graph.nodes)


def test_what_is_over_before_a_thread_has_woken_is_not_begun(graphs, monkeypatch):
    """A link of 1 GB/s carries 4 KiB in 4 us, one of 1 MB/s in 4 ms."""
    monkeypatch.setattr(overlap, "BRIEF", 2e-4)

    def run(beta):
        monkeypatch.setattr(engine(), "link", (1e-6, beta))
        x = Tensor(np.ones((32, 32), np.float32))
        ms.jit(lambda v, g: v @ v + all_reduce(g), fullgraph=True)(x, x)
    for beta, begun in ((1e-9, False), (1e-6, True)):
        graphs.clear()
        SimWorld(2).run(run, beta)
        assert any(node.fn is begin for graph in graphs for node in graph.nodes) == begun


def test_both_run_at_one_time(monkeypatch):
    """A collective that ends only once Python code behind it has run: were it waited for at once, it would never end."""
    reached, armed, real = [threading.Event(), threading.Event()], set(), SimEngine.fold

    def held(self, array, reduction, ranks, *owned):
        if self.rank in armed and array.size == 400 and not reached[self.rank].wait(20):
            raise AssertionError("nothing ran beside the collective")
        return real(self, array, reduction, ranks, *owned)
    monkeypatch.setattr(SimEngine, "fold", held)

    def run():
        mine = reached[get_rank()]

        def step(x):
            total = all_reduce(x)
            mine.set()
            return total + 1
        compiled, x = ms.jit(step), Tensor(np.ones(400, np.float32))
        for _ in range(3):                                   # the first call runs statement by statement
            compiled(x)
        mine.clear()
        armed.add(get_rank())
        return float(compiled(x).asnumpy()[0])
    assert SimWorld(2).run(run) == [3.0, 3.0]


def test_what_fails_beside_the_program_is_raised_where_it_is_finished():
    def run():
        later = engine().begin(lambda: engine().all_reduce(np.ones(3 + get_rank()), "sum", "world"))
        with pytest.raises(RankError, match="the ranks do not do the same"):
            later.wait()
        return True
    assert SimWorld(2, timeout=10).run(run) == [True, True]


def test_collectives_wait_for_those_that_were_begun_before():
    def run():
        first = engine().begin(lambda: engine().all_reduce(np.full(4, 1.0), "sum", "world"))
        second = engine().all_reduce(np.full(4, 2.0), "sum", "world")
        assert first.over.is_set()
        return first.wait()[0], second[0]
    assert SimWorld(3).run(run) == [(3.0, 6.0)] * 3


dist = ms.mint.distributed
PAIR = [[0, 0], [1, 1]]


def zeros(*shape):
    return Tensor(np.zeros(shape))


def into(function, *outs):
    """A function of mint.distributed as one of comm_func: x -> (what it writes to, a handle)."""
    def call(x, async_op):
        made = [zeros(*shape) for shape in outs]
        return made, function(made, x, async_op)
    return call


CALLS = {                                        # name: the function, what rank r gives, what each gets
    "all_reduce": (comm_func.all_reduce, lambda r: np.full((4, 2), 1.0 + r), np.full((4, 2), 3.0)),
    "all_gather": (comm_func.all_gather_into_tensor, lambda r: np.full((2, 2), r), np.repeat(PAIR, 2, 0)),
    "reduce_scatter": (comm_func.reduce_scatter_tensor, lambda r: np.full((4, 2), 1.0 + r), np.full((2, 2), 3.0)),
    "all_to_all": (lambda x, async_op: comm_func.all_to_all_with_output_shape([(1, 2), (2,)], [x[:1], x[1:]], async_op=async_op),
                   lambda r: np.full((2, 2), 1.0 * r), ([[0, 0]], [1, 1])),
    "all_to_all of one": (lambda x, async_op: comm_func.all_to_all_single_with_output_shape((2, 2), x, async_op=async_op),
                          lambda r: np.full((2, 2), 1.0 * r), PAIR),
    "counts of all": (into(lambda out, x, a: comm_func.all_to_all_v_c(out[0], x, [1] * 4, async_op=a), (2, 2)),
                      lambda r: np.full((2, 2), 1.0 * r), [PAIR]),
    "mint all_reduce": (lambda x, async_op: (x, dist.all_reduce(x, async_op=async_op)), lambda r: np.full(2, 1.0 + r), [3, 3]),
    "mint all_gather": (into(lambda out, x, a: dist.all_gather(out, x, async_op=a), (2,), (2,)),
                        lambda r: np.full(2, 1.0 * r), PAIR),
    "mint all_gather_into_tensor": (into(lambda out, x, a: dist.all_gather_into_tensor(out[0], x, async_op=a), (2, 2)),
                                    lambda r: np.full(2, 1.0 * r), [PAIR]),
    "mint reduce_scatter": (into(lambda out, x, a: dist.reduce_scatter(out[0], [x[:1], x[1:]], async_op=a), (1,)),
                            lambda r: np.full(2, 1.0 * r), [[1]]),
    "mint broadcast": (lambda x, async_op: (x, dist.broadcast(x, 1, async_op=async_op)), lambda r: np.full(2, 1.0 * r), [1, 1]),
    "mint all_to_all": (into(lambda out, x, a: dist.all_to_all(out, [x[:1], x[1:]], async_op=a), (1,), (1,)),
                        lambda r: np.full(2, 1.0 * r), [[0], [1]]),
    "mint all_to_all_single": (into(lambda out, x, a: dist.all_to_all_single(out[0], x, async_op=a), (2,)),
                               lambda r: np.full(2, 1.0 * r), [[0, 1]]),
    "mint barrier": (lambda x, async_op: ((), dist.barrier(async_op=async_op)), lambda r: np.zeros(1), ())}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_with_a_handle_goes_on_beside_the_program(name, monkeypatch):
    """No rank comes to the meeting before its call has returned: were it waited for, it would wait for ever."""
    function, given, wanted = CALLS[name]
    returned, real = [threading.Event(), threading.Event()], SimEngine._meet

    def held(self, ranks, what, value):
        if "end of the program" not in what and not returned[self.rank].wait(20):
            raise AssertionError("the call did not return")
        return real(self, ranks, what, value)
    monkeypatch.setattr(SimEngine, "_meet", held)

    def run():
        x = Tensor(given(get_rank()))
        out, handle = function(x, async_op=True)
        before = handle.is_completed()
        x[:] = 100                                           # it was copied
        returned[get_rank()].set()
        handle.wait()
        return before, handle.is_completed(), [y.asnumpy() for y in out] if isinstance(out, (list, tuple)) else out.asnumpy()
    for before, after, out in SimWorld(2).run(run):
        assert not before and after
        for a, b in zip(out, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_gradient_passes_a_call_with_a_handle():
    def run():
        x = Tensor(np.ones(3, np.float32))
        return ms.grad(lambda x: (comm_func.all_reduce(x, async_op=True)[0] * 2).sum())(x).asnumpy()
    assert [list(found) for found in SimWorld(2).run(run)] == [[4.0] * 3] * 2
