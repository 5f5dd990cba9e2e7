"""shard: each rank computes its part; values and gradients are those of one process, in both modes; bytes are as planned."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import ArgumentError, RankError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.functional.shard import reshard
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.ops.collectives import synchronise
from mindlite.ops.linalg import batch_matmul
from mindlite.nn.auto_parallel import AutoParallel
from mindlite.parallel import Layout
from mindlite.parallel.machine import Machine
from mindlite.parallel.partition import choose, partition, points
from mindlite.pynative.sharded import shard_in_place

RNG = np.random.default_rng(5)


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def of(mesh, *words):
    """A Layout of the mesh called with these words; None for no wish."""
    return None if words == (None,) else mesh(*words)


# name: (function, arrays, words of the arguments, words of the result or None); "x" is the first axis of the mesh, "y" the second
PROGRAMS = {
    "rows of a product": (lambda x, w: ops.tanh(x @ w).sum(), [array(9, 6), array(6, 7)], [("x", "None"), (None,)]),
    "columns of a product": (lambda x, w: ops.tanh(x @ w).sum(), [array(9, 6), array(6, 7)], [(None,), ("None", "x")]),
    "contracted": (lambda x, w: ops.relu(x @ w).mean(), [array(5, 6), array(6, 7)], [("None", "x"), ("x", "None")]),
    "column, then row": (lambda x, v, w: (ops.gelu(x @ v) @ w).pow(2).sum(), [array(4, 5), array(5, 9), array(9, 3)],
                         [(None,), ("None", "x"), ("x", "None")]),
    "layer norm": (lambda x, g, b: (ops.layer_norm(x, (8,), g, b) * x).sum(), [array(6, 8), array(8), array(8)],
                   [("x", "None"), (None,), (None,)]),
    "softmax over what is split": (lambda x: (ops.softmax(x, -1) * x).sum(), [array(4, 9)], [("None", "x")]),
    "cross entropy": (lambda x, w: ops.cross_entropy(x @ w, Tensor(np.array([1, 0, 3, 2, 2, 1], np.int32))),
                      [array(6, 5), array(5, 4)], [("x", "None"), (None,)]),
    "attention": (lambda q, k, v: (ops.softmax(q @ k.swapaxes(-1, -2) / 2, -1) @ v).pow(2).sum(),
                  [array(4, 5, 6), array(4, 5, 6), array(4, 5, 6)], [("x", "None", "None")] * 3),
    "convolution": (lambda x, w: ops.relu(ops.conv2d(x, w)).sum(), [array(4, 2, 6, 6), array(3, 2, 3, 3)],
                    [("x", "None", "None", "None"), (None,)]),
    "batch norm": (lambda x: ((x - x.mean(0)) / ops.sqrt(x.var(0) + 1e-5)).pow(3).sum(), [array(8, 3)], [("x", "None")]),
    "largest": (lambda x: (ops.amax(x, 0) * ops.amin(x, 1).sum()).sum(), [array(7, 6)], [("x", "None")]),
    "reshape and transpose": (lambda x: (x.reshape(6, 8).T[1:7] * 2).pow(2).sum(), [array(6, 2, 4)], [("x", "None", "None")]),
    "embedding": (lambda t, w: (ops.gather(t, Tensor(np.array([0, 3, 2, 3], np.int32)), 0) @ w).tanh().sum(),
                  [array(6, 4), array(4, 4)], [("None", "x"), (None,)]),
    "branch on data": (lambda x: ops.tanh(x).sum() if x.sum() > 0 else (x * x).sum(), [np.abs(array(4, 6))], [("x", "None")]),
}


def compare(function, arrays, layouts, out, size, atol=2e-5):
    """Value and gradients with and without shard, eager and as a graph, on each of `size` ranks; the plans of the graphs."""
    wrt = tuple(range(len(arrays)))
    alone = ms.value_and_grad(function, wrt)(*map(Tensor, arrays))

    def run():
        engine().pace = 1e-8, 1e-8                           # computing is dear, so that small programs are split
        strategies = tuple(layouts())
        sharded = ms.shard(function, strategies, out)
        derived = ms.value_and_grad(sharded, wrt)
        graph = ms.jit(derived, fullgraph=True)
        args = list(map(Tensor, arrays))
        results = [derived(*args), graph(*args)]
        before = {name: list(entry) for name, entry in engine().sent.items()}
        results.append(graph(*args))
        sent = {name: [a - b for a, b in zip(entry, before.get(name, (0, 0)))] for name, entry in engine().sent.items()}
        plan = graph.compiled.latest().compiled.full.plan
        return [[value.asnumpy() for value in (r[0], *r[1])] for r in results], plan, {n: e for n, e in sent.items() if e[0]}
    plans = []
    for results, plan, sent in SimWorld(size).run(run):
        for found in results:
            for got, want in zip(found, (alone[0], *alone[1]), strict=True):
                np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-4, atol=atol)
        assert sent == plan.sent
        plans.append(plan)
    return plans


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.parametrize("size", [2, 3])
def test_values_and_gradients_are_those_of_one_process(name, size):
    function, arrays, words = PROGRAMS[name]
    if name in ("attention", "convolution") and size == 3 or name == "embedding" and size == 3:
        arrays = [np.concatenate([a, a[:2]]) if a.shape[0] == 4 and a.ndim > 2 else a for a in arrays]
    compare(function, arrays, lambda: [of(Layout((size,), ("x",)), *w) for w in words], None, size)


@pytest.mark.parametrize("words", [
    [("x", "None"), ("None", "y"), ("y", "None")], [(("x", "y"), "None"), (None,), (None,)],
    [("x", "y"), ("y", "None"), ("x", "None")],
    [("y", "None"), ("None", "x"), ("x", "y")]], ids=str)
def test_two_axes_of_a_mesh(words):
    function, arrays = PROGRAMS["column, then row"][:2]
    compare(function, [*arrays[:2], array(9, 4)], lambda: [of(Layout((2, 2), ("x", "y")), *w) for w in words], None, 4)


def test_who_has_the_whole_has_its_parts():
    """A value in rows is wanted whole, by singular values, and in columns, by products along its rows: it is gathered, and
    columns are cut from that; no second collective brings them."""
    def function(x):
        y = ops.tanh(x)
        return ops.cumprod(y, 0).sum() + ops.svd(y, compute_uv=False).sum()
    x = array(6, 4)

    def run():
        engine().pace = 1e-5, 1e-5
        step = ms.jit(ms.shard(function, (of(Layout((2,), ("x",)), "x", "None"),)), fullgraph=True)
        value = float(step(Tensor(x)))
        before = {name: list(entry) for name, entry in engine().sent.items()}
        float(step(Tensor(x)))
        sent = {name: [a - b for a, b in zip(entry, before[name])] for name, entry in engine().sent.items()}
        return value, sent, step.compiled.latest().compiled.plan
    for value, sent, plan in SimWorld(2).run(run):
        np.testing.assert_allclose(value, float(function(Tensor(x))), rtol=1e-5)
        assert sent == plan.sent == {"all_gather": [1, 48], "all_reduce": [1, 4]} and plan.exact, plan.report()
        assert any("(B) -> (S1)" in line for line in plan.report().splitlines()) and "cumulative_product" not in plan.whole


def test_each_rank_computes_its_part_alone():
    function, arrays, words = PROGRAMS["rows of a product"]
    x, w = array(64, 32), array(32, 48)
    for plan in compare(function, [x, w], lambda: [of(Layout((4,), ("x",)), *v) for v in words], None, 4, atol=1e-3):
        mine, of_all = plan.points
        assert mine < 0.3 * of_all and plan.exact


def test_the_graph_of_a_rank_holds_its_sizes_and_no_others():
    def run():
        mesh = Layout((2,), ("x",))
        graph = typed(lambda x, w: ops.reduce_sum(ops.tanh(batch_matmul(reshard(x, mesh("x", "None")), w)), axis=(0, 1),
                                                  keepdims=False),
                      AbstractTensor(ms.float32, (6, 4)), AbstractTensor(ms.float32, (4, 8)), name="f")
        local, plan = partition(graph)
        nodes = [node for node in local.nodes if isinstance(node.abstract, AbstractTensor)]
        return [(node.fn.name, tuple(node.abstract.shape)) for node in nodes], sum(map(points, local.nodes)), plan.sent
    for nodes, count, sent in SimWorld(2).run(run):
        assert nodes == [("slice", (3, 4)), ("batch_matmul", (3, 8)), ("tanh", (3, 8)), ("reduce_sum", ()), ("all_reduce", ())]
        assert sent == {"all_reduce": [1, 4]} and count == 24 + 3 * 4 * 8 + 24 + 24 + 1


def test_column_then_row_needs_one_all_reduce():
    """Megatron's split of two layers (Shoeybi et al. 2019, section 3)."""
    def run():
        mesh = Layout((2,), ("x",))
        sharded = ms.shard(lambda x, v, w: ops.relu(x @ v) @ w, (None, mesh("None", "x"), mesh("x", "None")))
        graph = ms.jit(sharded, fullgraph=True)
        graph(Tensor(array(8, 16)), Tensor(array(16, 32)), Tensor(array(32, 16)))
        return graph.compiled.latest().compiled.full.plan
    for plan in SimWorld(2).run(run):
        assert plan.sent == {"all_reduce": [1, 8 * 16 * 4]}
        assert "all_reduce" in plan.report() and "batch_matmul" in plan.report()


def test_a_dearer_network_changes_the_plan():
    def run():
        mesh = Layout((2,), ("x",))
        x, w = AbstractTensor(ms.float32, (64, 64)), AbstractTensor(ms.float32, (64, 64))
        graph = typed(lambda x, w: ops.relu(batch_matmul(ops.relu(batch_matmul(reshard(x, mesh("None", "x")), w)), w)),
                      x, w, name="f")
        graphs = [choose(graph, mesh.mesh, Machine(message=m, byte=b))[0] for m, b in ((0, 0), (1, 1e-3))]
        return [[str(option.outs) for option in chosen.values()] for chosen in graphs]
    cheap, dear = SimWorld(2).run(run)[0]
    assert cheap != dear


def test_relu_of_addends_waits_for_their_sum():
    def run():
        mesh = Layout((2,), ("x",))
        graph = ms.jit(ms.shard(lambda x, w: ops.relu(x @ w), (mesh("None", "x"), mesh("x", "None"))), fullgraph=True)
        x, w = np.array([[1.0, -1.0]], np.float32), np.array([[2.0, -3.0], [4.0, -5.0]], np.float32)
        return graph(Tensor(x), Tensor(w)).asnumpy()
    for got in SimWorld(2).run(run):
        np.testing.assert_array_equal(got, [[0.0, 2.0]])


def test_second_derivatives_pass_shard():
    def function(x):
        return ops.tanh(x).pow(3).sum()
    x = array(6, 2)
    want = ms.grad(lambda x: ms.grad(function)(x).pow(2).sum())(Tensor(x)).asnumpy()

    def run():
        sharded = ms.shard(function, (Layout((2,), ("x",))("x"),))
        twice = ms.grad(lambda x: ms.grad(sharded)(x).pow(2).sum())
        return [f(Tensor(x)).asnumpy() for f in (twice, ms.jit(twice, fullgraph=True))]
    for found in SimWorld(2).run(run):
        for got in found:
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_vmap_of_a_sharded_function_keeps_its_wishes():
    xs = array(3, 4, 2)

    def run():
        sharded = ms.shard(lambda x: ops.tanh(x).sum(0), (Layout((2,), ("x",))("x"),))
        graph = ms.jit(ms.vmap(sharded), fullgraph=True)
        return graph(Tensor(xs)).asnumpy(), graph.compiled.latest().compiled.full.plan.sent
    for got, sent in SimWorld(2).run(run):
        np.testing.assert_allclose(got, np.tanh(xs).sum(1), rtol=1e-5, atol=1e-6)
        assert sent


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_a_network_trains_with_split_parameters_as_it_does_alone(graph):
    def train(plan, size):
        rng = np.random.default_rng(0)
        net = nn.SequentialCell(nn.Dense(6, 8), nn.GELU(), nn.Dense(8, 4))
        for param in net.trainable_params():
            param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.4))
        x, y = Tensor(rng.standard_normal((4, 6)).astype(np.float32)), Tensor(rng.standard_normal((4, 4)).astype(np.float32))
        model = net
        if plan:
            mesh = Layout((2, size // 2), ("dp", "mp"))
            model = net.shard((mesh("dp", "None"),), None, {"0.weight": mesh("mp", "None"), "self.0.bias": mesh("mp"),
                                                            "2.weight": mesh("None", "mp")})
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        grads = ms.value_and_grad(lambda x, y: nn.MSELoss()(model(x), y), None, net.trainable_params())

        def step(x, y):
            loss, found = grads(x, y)
            optimizer(found)
            return loss
        step = ms.jit(step) if graph else step
        losses = [float(step(x, y)) for _ in range(6)]
        return losses, [p.asnumpy().copy() for p in net.trainable_params()]
    losses, weights = train(False, 1)
    for got_losses, got in SimWorld(4).run(train, True, 4):
        np.testing.assert_allclose(got_losses, losses, rtol=1e-5)
        for a, b in zip(got, weights):
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-5)


def test_random_numbers_are_those_of_one_process():
    def draw():
        return ops.dropout(Tensor(np.ones((6, 4), np.float32)), 0.5, seed=3).asnumpy()
    alone = draw()

    def run():
        layout = Layout((2,), ("x",))("x")
        return ms.jit(ms.shard(lambda x: ops.dropout(x, 0.5, seed=3), (layout,)))(Tensor(np.ones((6, 4), np.float32))).asnumpy()
    for got in SimWorld(2).run(run):
        assert set(np.unique(got)) == {0.0, 2.0} and got.shape == alone.shape


def test_operators_take_strategies():
    def run():
        mesh = Layout((2,), ("x",))
        product = ops.operations.MatMul().shard((mesh("x", "None"), mesh("None", "None")), (mesh("x", "None"),))
        graph = ms.jit(lambda x, w: product(x, w).sum(), fullgraph=True)
        value = graph(Tensor(np.ones((4, 3), np.float32)), Tensor(np.ones((3, 2), np.float32)))
        return float(value), graph.compiled.latest().compiled.full.plan.sent
    assert SimWorld(2).run(run) == [(24.0, {"all_reduce": [1, 4]})] * 2


def test_operators_take_strategies_of_ints_for_the_mesh_of_the_program():
    """MindSpore's: into how many parts each axis goes. By columns and rows here, so addends travel."""
    def run(shape, names, *strategies):
        product = ops.operations.MatMul().shard(strategies)
        graph = ms.jit(lambda x, w: product(x, w), fullgraph=True)
        mesh = Layout(shape, names)
        x, w = Tensor(np.arange(24, dtype=np.float32).reshape(4, 6)), Tensor(np.arange(24, dtype=np.float32).reshape(6, 4))
        got = graph(x.to_global(mesh(names[0])), w)
        chosen = graph.compiled.latest().compiled.plan.chosen
        return got.asnumpy().tolist(), tuple(map(str, chosen[0][1].ins[0] + chosen[0][1].ins[1]))
    want = (np.arange(24.0).reshape(4, 6) @ np.arange(24.0).reshape(6, 4)).tolist()
    assert SimWorld(2).run(run, (2,), ("x",), (1, 2), (2, 1)) == [(want, ("S1", "S0"))] * 2
    assert SimWorld(4).run(run, (2, 2), ("x", "y"), (2, 2), (2, 1))[0][0] == want
    plain = ops.operations.MatMul().shard(((8, 1), (1, 1)))              # on one rank nobody looks at them
    x = Tensor(np.ones((2, 2), np.float32))
    assert ms.jit(lambda x: plain(x, x), fullgraph=True)(x).tolist() == [[2, 2], [2, 2]]
    for strategies, told in ((((3, 1), (1, 1)), "make 3 parts of axis 0"), (((2, 2), (1, 1)), "make 2 parts of axis 1"),
                             (((2,), (1, 1)), "for 1 axes, and the tensor has 2")):
        with pytest.raises(ValueRangeError, match=told):
            SimWorld(2).run(run, (2,), ("x",), *strategies)
    for wrong in ("dp", (1, 2), ((1, 0.5), (1, 1)), (("x", "y"), None)):
        with pytest.raises(ArgumentError, match="MatMul.shard"):
            ops.operations.MatMul().shard(wrong)


def test_strategies_of_ints_split_one_axis_between_all_ranks():
    def run():
        f = ms.jit(ms.shard(lambda x: (x * 2).sum(), ((1, 2),)), fullgraph=True)
        return float(f(Tensor(np.ones((3, 4), np.float32)))), f.compiled.latest().compiled.full.plan.sent
    assert SimWorld(2).run(run) == [(24.0, {"all_reduce": [1, 4]})] * 2


def test_what_is_no_strategy_is_refused():
    def run():
        mesh, other = Layout((2,), ("x",)), Layout((2,), ("z",))
        x = Tensor(np.ones((4, 4), np.float32))
        for error, wrong in (
                (ArgumentError, lambda: ms.shard(3, (None,))), (ArgumentError, lambda: ms.shard(ops.relu, [None])),
                (ValueRangeError, lambda: ms.shard(ops.relu, ((3, 1),))),
                (ValueRangeError, lambda: ms.shard(ops.relu, ((2, 2),))),
                (ValueRangeError, lambda: nn.Dense(2, 2).shard((None,), None, {"nothing": mesh("x")})),
                (ArgumentError, lambda: ms.shard(ops.relu, (None,), None, {"w": mesh("x")})),
                (ArgumentError, lambda: ms.jit(ms.shard(ops.add, (mesh("x"), other("z"))), fullgraph=True)(x, x)),
                (ArgumentError, lambda: ms.shard(ops.relu, (mesh("x"), None))(x)),
                (ArgumentError, lambda: ms.shard(ops.relu, (mesh("x"),), (None, None))(x)),
                (ArgumentError, lambda: ms.shard(lambda x, n: x * n, (None, mesh("x")))(x, 3)),
                (ArgumentError, lambda: mesh(["x"])), (ArgumentError, lambda: mesh(None, "x")), (ArgumentError, lambda: mesh(0)),
                (ArgumentError, lambda: Layout((), ())), (ValueRangeError, lambda: Layout((2,), ("x",), [0, 5])),
                *[(ArgumentError, lambda ranks=ranks: Layout((2,), ("x",), ranks)) for ranks in ([-1, 0], "01", 2, [0.0, 1.0])],
                (ArgumentError, lambda: shard_in_place(np.ones(4), mesh("x"))),
                (ValueRangeError, lambda: AutoParallel(nn.Dense(2, 2)).dataset_strategy(((3, 1),)))):
            with pytest.raises(error):
                wrong()
        return get_rank()
    assert SimWorld(2).run(run) == [0, 1]


def test_a_program_of_one_rank_refuses_to_run_on_another():
    made = {}

    def run():
        if get_rank() == 0:
            made["f"] = ms.jit(ms.shard(lambda x: x * 2, (Layout((2,), ("x",))("x"),)), fullgraph=True)
        synchronise()
        return made["f"](Tensor(np.ones(4, np.float32))).asnumpy()
    with pytest.raises(RankError, match="compiled for rank"):
        SimWorld(2).run(run)
