"""PipelineCell over ranks: losses and gradients of one process for 20 steps, each stage on its rank, what is refused."""
import ast

import launch
import numpy as np
import pytest
from networks import CASES

import mindlite as ms
from mindlite import Symbol, Tensor, amp, nn, ops
from mindlite.common import dtype as dt
from mindlite.common.config import config
from mindlite.common.errors import GradientError, ShapeError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.communication.simulation import SimEngine
from mindlite.functional.zero import bytes_here
from mindlite.parallel import Layout, zero
from mindlite.parallel.actors import ActorPlan, pipeline
from mindlite.pynative.sharded import shard_in_place

STEPS, MICRO = 20, 2
CASE = {case.name: case for case in CASES}


class Dropped(nn.Cell):
    """Four layers and a table that is read first and compared with last; dropout, batch norm, a short cut over two stages."""

    def __init__(self, dtype):
        super().__init__()
        self.words, self.table = nn.Cell(), nn.Cell()
        shared = ms.Parameter(Tensor(np.zeros((9, 12)), dtype), name="shared")
        self.words.rows = self.table.rows = shared
        self.a, self.b, self.c = [nn.Dense(12, 12, dtype=dtype) for _ in range(3)]
        self.norm, self.drop = nn.BatchNorm1d(12, dtype=dtype), nn.Dropout(p=0.4)

    def construct(self, x):
        first = self.drop(self.a(ops.gather(self.words.rows, x, 0)))
        second = self.drop(ops.tanh(self.norm(self.b(first))))
        third = ops.relu(self.c(second)) + first
        return ops.matmul(self.drop(third), self.table.rows.T)


LAYERS = {"mlp": ("first", "second", "third"), "lenet": ("conv1", "conv2", "fc1", "fc2", "fc3"),
          "resnet18": ("conv", "norm", *[f"blocks.{k}" for k in range(8)], "fc"), "lstm": ("gates", "hidden", "head"),
          "transformer": ("encoder.layers.0", "encoder.layers.1", "head"),
          "dropped": ("words", "a", "b", "norm", "c", "table")}
STAGES = {                                       # name, stages: the stage of each of its LAYERS
    ("mlp", 2): (0, 0, 1), ("mlp", 3): (0, 1, 2), ("lenet", 2): (0, 0, 1, 1, 1), ("lenet", 4): (0, 1, 2, 2, 3),
    ("resnet18", 2): (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1), ("resnet18", 4): (0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3),
    ("lstm", 2): (0, 0, 1), ("transformer", 2): (0, 1, 1), ("transformer", 3): (0, 1, 2),
    ("dropped", 2): (0, 0, 0, 1, 1, 1), ("dropped", 4): (0, 0, 1, 1, 2, 3)}
FAST = {("mlp", 3), ("dropped", 4)}


class Swapped(nn.Cell):
    """A network whose batch is the second axis of x."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x):
        return self.net(x.swapaxes(0, 1))


def network(name):
    """(the network, a network whose batch comes first, x, labels) in float64; the same on each rank."""
    rng = np.random.default_rng(7)
    if name == "dropped":
        net = Dropped(dt.float64)
        for param in net.trainable_params():
            param.set_data(Tensor(rng.standard_normal(param.shape) * 0.3))
        return net, net, Tensor(rng.integers(0, 9, 8).astype(np.int32)), Tensor(rng.integers(0, 9, 8).astype(np.int32))
    case = CASE[name]
    net = case.make(dt.float64)[0]
    axis = 1 if name == "transformer" else 0
    x = rng.standard_normal((*case.shape[:axis], 4, *case.shape[axis + 1:]))
    whole = Swapped(net) if axis else net
    return net, whole, Tensor(x.swapaxes(0, 1).copy() if axis else x), Tensor(rng.integers(0, 10, 4).astype(np.int32))


def train(name, stages, steps=STEPS, replicas=1):
    """(losses, gradients of the last step by name, all Parameters, peak) on this rank."""
    ms.set_seed(3)
    net, whole, x, labels = network(name)
    if stages > 1:
        ms.set_auto_parallel_context(pipeline_stages=stages, gradients_mean=True)
        for path, stage in zip(LAYERS[name], STAGES[name, stages]):
            net.get_sub_cell(path).pipeline_stage = stage
    if replicas > 1:
        mine = get_rank() % replicas
        x, labels = [value[mine::replicas] for value in (x, labels)]
    params = list({id(p): p for p in net.trainable_params()}.values())
    step = nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), MICRO).set_train()
    optimizer = nn.Momentum(params, 0.02, 0.9)
    gradients, reduce, losses = ms.value_and_grad(step, None, params), nn.PipelineGradReducer(params), []
    for _ in range(steps):
        loss, grads = gradients(x, labels)
        grads = reduce(grads)
        optimizer(grads)
        losses.append(float(loss))
    if stages > 1:
        mine = {id(p) for p in next(iter(step._runs.values())).weights}
        peak = next(iter(step._runs.values())).peak
        step.gather_parameters()
    else:
        mine, peak = {id(p) for p in params}, 0
    found = {p.name: grad.asnumpy() for p, grad in zip(params, grads) if id(p) in mine}
    return losses, found, {p.name: p.asnumpy().copy() for p in net.get_parameters()}, peak


@pytest.mark.parametrize("name, stages", [pytest.param(*key, marks=[] if key in FAST else pytest.mark.slow) for key in STAGES])
def test_a_network_in_stages_trains_as_in_one_process(name, stages):
    """Dropout draws the same, batch norms have the same states, each rank has the gradients of its stage."""
    losses, grads, params, _ = train(name, 1)
    found = SimWorld(stages).run(train, name, stages)
    names = [set(mine) for _, mine, _, _ in found]
    assert set().union(*names) == set(grads)
    assert sum(map(len, names)) == len(grads) + (name == "dropped"), "the shared table is in two stages, all else in one"
    for rank, (got, mine, weights, peak) in enumerate(found):
        np.testing.assert_allclose(got, losses, rtol=0, atol=1e-6)
        for key, gradient in mine.items():
            np.testing.assert_allclose(gradient, grads[key], rtol=0, atol=1e-6)
        for key, value in params.items():
            np.testing.assert_allclose(weights[key], value, rtol=0, atol=1e-6)
        assert peak == min(stages - rank, MICRO)


def test_stages_and_data_parallel_together_train_as_one_process():
    """Two stages of two ranks, each of which has every second row: gradients are the mean of both halves."""
    losses, _, params, _ = train("mlp", 1, 5)
    for got, _, weights, _ in SimWorld(4).run(train, "mlp", 2, 5, 2):
        assert len(got) == 5
        for key in params:
            assert weights[key].shape == params[key].shape
    halves = SimWorld(4).run(sums_of_halves)
    for loss, weight in halves:
        np.testing.assert_allclose(loss, halves[0][0])
        np.testing.assert_allclose(weight, halves[0][1], atol=1e-12)
    whole = sums_of_whole()
    np.testing.assert_allclose(halves[0][0], whole[0], atol=1e-6)
    np.testing.assert_allclose(halves[0][1], whole[1], atol=1e-9)


def sums_of_whole():
    """(loss, the first layer's weight behind a step) of the mean of the losses of four rows, one process."""
    net, _, x, labels = network("mlp")
    loss, grads = ms.value_and_grad(lambda x, y: nn.CrossEntropyLoss()(net(x), y), None, net.trainable_params())(x, labels)
    nn.SGD(net.trainable_params(), 0.1)(grads)
    return float(loss), net.first.weight.asnumpy()


def sums_of_halves():
    """The same of two stages of two ranks; the sum over two micro-batches is halved by the scale."""
    net, _, x, labels = network("mlp")
    ms.set_auto_parallel_context(pipeline_stages=2, gradients_mean=True)
    net.first.pipeline_stage, net.second.pipeline_stage, net.third.pipeline_stage = 0, 0, 1
    mine = get_rank() % 2
    step = nn.PipelineCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), 2).set_train()
    params = net.trainable_params()
    loss, grads = ms.value_and_grad(step, None, params)(x[mine::2], labels[mine::2])
    nn.SGD(params, 0.1)(nn.PipelineGradReducer(params, scale_sense=2.0)(grads))
    step.gather_parameters()
    return float(loss) / 2, net.first.weight.asnumpy()


def test_each_rank_sends_what_its_neighbours_read():
    """Two stages send activations forth and gradients back, nothing else but the loss: bytes are counted."""
    def run():
        train("mlp", 2, 1)
        return engine().sent["send"]
    first, second = SimWorld(2).run(run)
    rows, wide, header = 4, 512, 10 * 8
    assert first == second == [MICRO + 1, rows * wide * 8 + header], "the activations of 512 elements, and their shape once"


def jitted(name, stages, inner=1):
    """(losses, all Parameters) of a step that is one graph: the pipeline, the reducer and the optimiser, `inner` times."""
    ms.set_seed(3)
    net, whole, x, labels = network(name)
    ms.set_auto_parallel_context(pipeline_stages=stages, gradients_mean=True)
    for path, stage in zip(LAYERS[name], STAGES.get((name, stages), ())):
        net.get_sub_cell(path).pipeline_stage = stage
    params = list({id(p): p for p in net.trainable_params()}.values())
    cell = nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), MICRO).set_train()
    optimizer = nn.Momentum(params, 0.02, 0.9)
    gradients, reduce = ms.value_and_grad(cell, None, params), nn.PipelineGradReducer(params)

    @ms.jit(fullgraph=True)
    def step(x, labels):
        losses = []
        for _ in range(inner):
            loss, grads = gradients(x, labels)
            optimizer(reduce(grads))
            losses.append(loss)
        return losses
    losses = [float(loss) for _ in range(STEPS // inner) for loss in step(x, labels)]
    if stages > 1:
        cell.gather_parameters()
    return losses, {p.name: p.asnumpy().copy() for p in net.get_parameters()}


@pytest.mark.parametrize("name, stages, inner", [("mlp", 3, 1), ("dropped", 2, 1), ("dropped", 4, 2)])
def test_a_step_with_a_pipeline_is_one_graph(name, stages, inner):
    """Losses, weights and states are those of one process; where a graph has two steps, the second reads the weights that the
    first has assigned and that are not in memory yet, draws other numbers, and goes on from its states."""
    losses, _, params, _ = train(name, 1)
    for got, weights in SimWorld(stages).run(jitted, name, stages, inner):
        np.testing.assert_allclose(got, losses, rtol=0, atol=1e-6)
        for key, value in params.items():
            np.testing.assert_allclose(weights[key], value, rtol=0, atol=1e-6)


def test_the_schedule_of_a_stage_is_one_program(tmp_path):
    """Python is called for the messages alone, and no other network finds it on the disk. They have the order of 1F1B: the middle
    one of three stages runs two forwards ahead, then a backward before each forward."""
    def run():
        ms.set_seed(3)
        net = nn.SequentialCell(*[nn.Dense(6, 6, activation=nn.Tanh()) for _ in range(3)])
        ms.set_auto_parallel_context(pipeline_stages=3)
        for stage in range(3):
            net[stage].pipeline_stage = stage
        cell = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 4)
        step = ms.jit(ms.value_and_grad(cell, None, net.trainable_params()), fullgraph=True)
        x = Tensor(np.ones((8, 6), np.float32))
        step(x, x)
        (variant,) = step.compiled.variants
        assert cell._runs == {}, "no stage was compiled by itself"
        assert variant.compiled.not_cached == "ranks split it between them"
        called = [i.function.function.primitive.name for i, *_ in variant.executable.linked.segments.values()]
        moved = [(node.fn.name, node.attrs.get("source", node.attrs.get("to"))) for node in variant.compiled.graph.nodes
                 if node.fn.name in ("post", "receive")]
        return sorted(called), moved
    before = config.set(cache_dir=str(tmp_path), keep_flows=True)
    try:
        first, middle, last = SimWorld(3).run(run)
    finally:
        config.set(**before)
    forward, backward = [("receive", 0), ("post", 2)], [("receive", 2), ("post", 0)]
    assert middle[1] == 2 * forward + 2 * (backward + forward) + 2 * backward
    assert middle[0] == ["all_reduce", "on_rank", *["post"] * 8, *["receive"] * 8, "settle"]
    assert first[1] == 3 * [("post", 1)] + [("receive", 1), ("post", 1)] + 3 * [("receive", 1)]
    assert last[1] == 4 * [("receive", 1), ("post", 1)]


def test_batches_of_open_sizes_have_one_program():
    """And a size that does not go into the parts is refused on all ranks, before anything is sent."""
    def run(stages):
        ms.set_seed(3)
        net = nn.SequentialCell(nn.Dense(6, 5, activation=nn.Tanh()), nn.Dropout(p=0.3), nn.Dense(5, 4))
        rng = np.random.default_rng(0)
        for param in net.trainable_params():
            param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32)))
        ms.set_auto_parallel_context(pipeline_stages=stages)
        net[0].pipeline_stage, net[2].pipeline_stage = 0, stages - 1
        params = net.trainable_params()
        cell = nn.PipelineCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), 2).set_train()
        optimizer, gradients = nn.Momentum(params, 0.1, 0.9), ms.value_and_grad(cell, None, params)

        def step(x, y):
            loss, grads = gradients(x, y)
            optimizer(grads)
            return loss
        rows = Symbol(min=2)
        compiled = ms.jit(step, fullgraph=True, input_signature=(
            Tensor(shape=(rows, 6), dtype=ms.float32), Tensor(shape=(rows,), dtype=ms.int32)))
        losses = []
        for size in (4, 10, 2, 4, 64):
            x, y = rng.standard_normal((size, 6)).astype(np.float32), rng.integers(0, 4, size).astype(np.int32)
            losses.append(float(compiled(Tensor(x), Tensor(y))))
        if stages > 1:
            sent = dict(engine().sent)
            with pytest.raises(ShapeError, match="does not go into 2 equal parts"):
                compiled(Tensor(x[:7]), Tensor(y[:7]))
            assert dict(engine().sent) == sent and len(compiled.compiled.variants) == 1
        return losses
    (alone,) = SimWorld(1).run(run, 1)
    for losses in SimWorld(2).run(run, 2):
        np.testing.assert_allclose(losses, alone, rtol=1e-5)


def in_stages_with_zero(level):
    """(losses, bytes of states and of Parameters here, Parameters) of two stages of two ranks, whose optimiser is split."""
    ms.set_seed(3)
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(6, 8, activation=nn.Tanh()), nn.Dense(8, 4))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32)))
    ms.set_auto_parallel_context(pipeline_stages=2, gradients_mean=True)
    net[0].pipeline_stage, net[1].pipeline_stage = 0, 1
    params, stage = net.trainable_params(), get_rank() // 2
    cell = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2).set_train()
    optimizer = nn.Adam(params, 0.01)
    if level:
        zero(optimizer, Layout((2,), ("dp",), rank_list=[2 * stage, 2 * stage + 1]), level=level)
    gradients, reduce = ms.value_and_grad(cell, None, params), nn.PipelineGradReducer(params)

    @ms.jit(fullgraph=True)
    def step(x, y):
        loss, grads = gradients(x, y)
        optimizer(reduce(grads))
        return loss
    x, y = rng.standard_normal((8, 6)).astype(np.float32), rng.standard_normal((8, 4)).astype(np.float32)
    mine = get_rank() % 2
    losses = [float(step(Tensor(x[mine::2]), Tensor(y[mine::2]))) for _ in range(4)]
    states = [p for p in optimizer.get_parameters() if p.name.startswith("moment")]
    weights = [p.full_tensor().asnumpy() if p.placement is not None else p.asnumpy() for p in net[stage].trainable_params()]
    return losses, bytes_here(states), bytes_here(params), weights


@pytest.mark.parametrize("level", [1, 2, 3])
def test_zero_splits_the_optimiser_of_a_stage_between_its_ranks(level):
    """The losses and Parameters of ranks that all have everything, in half of the memory."""
    for (losses, states, held, weights), (wanted, all_states, all_held, others) in zip(
            SimWorld(4).run(in_stages_with_zero, level), SimWorld(4).run(in_stages_with_zero, 0), strict=True):
        np.testing.assert_allclose(losses, wanted, rtol=1e-5)
        for a, b in zip(weights, others, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
        assert states == all_states // 2 and held == (all_held // 2 if level == 3 else all_held)


def split_in_stages(ways, stages):
    """(losses, all Parameters, the plan) of stages whose `ways` ranks split their layers: the first by columns, the second by
    rows."""
    ms.set_seed(3)
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(*[nn.Dense(8, 8, activation=nn.Tanh()) for _ in range(4)])
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32)))
    x, y = [Tensor(rng.standard_normal((8, 8)).astype(np.float32)) for _ in range(2)]
    ms.set_auto_parallel_context(pipeline_stages=stages, full_batch=True)
    for number, layer in enumerate(net):
        layer.pipeline_stage = number * stages // 4
    params, stage = net.trainable_params(), get_rank() // ways
    if ways > 1:
        mesh = Layout((ways,), ("mp",), rank_list=list(range(stage * ways, stage * ways + ways)))
        first, second = net[2 * stage], net[2 * stage + 1]
        for param, axes in ((first.weight, ("mp", "None")), (first.bias, ("mp",)), (second.weight, ("None", "mp"))):
            shard_in_place(param, mesh(*axes))
    cell = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2).set_train()
    optimizer, gradients = nn.Momentum(params, 0.1, 0.9), ms.value_and_grad(cell, None, params)
    reduce = nn.PipelineGradReducer(params)

    @ms.jit(fullgraph=True)
    def step(x, y):
        loss, grads = gradients(x, y)
        optimizer(reduce(grads))
        return loss
    losses = [float(step(x, y)) for _ in range(3)]
    plan = step.compiled.latest().compiled.plan
    if stages > 1:
        cell.gather_parameters()
    return losses, [p.full_tensor().asnumpy() if p.placement is not None else p.asnumpy() for p in params], plan


def test_ranks_of_a_stage_split_its_layers(monkeypatch):
    """Two stages of two ranks, which get the same rows: each rank computes with its columns and rows, and has no others."""
    cheap = property(lambda self: (1e-9, 1e-13), lambda self, value: None)
    monkeypatch.setattr(SimEngine, "link", cheap, raising=False)
    losses, params, _ = SimWorld(1).run(split_in_stages, 1, 1)[0]
    for got, weights, plan in SimWorld(4).run(split_in_stages, 2, 2):
        np.testing.assert_allclose(got, losses, rtol=1e-5)
        for a, b in zip(weights, params, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
        assert plan.points[0] < 0.7 * plan.points[1] and plan.sent


def test_what_a_pipeline_assigns_is_assigned_once_where_the_step_raises_behind_it():
    """Weights, the states of the batch norm and the next random number are those of eager mode."""
    def run(graph):
        ms.set_seed(3)
        net, whole, x, labels = network("dropped")
        ms.set_auto_parallel_context(pipeline_stages=2)
        for path, stage in zip(LAYERS["dropped"], STAGES["dropped", 2]):
            net.get_sub_cell(path).pipeline_stage = stage
        params = list({id(p): p for p in net.trainable_params()}.values())
        cell = nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), MICRO).set_train()
        optimizer, gradients = nn.Momentum(params, 0.02, 0.9), ms.value_and_grad(cell, None, params)

        def step(x, labels):
            loss, grads = gradients(x, labels)
            optimizer(grads)
            if loss > 0:
                raise ValueError("enough")
            return loss
        step = ms.jit(step) if graph else step
        for _ in range(2):
            with pytest.raises(ValueError, match="enough"):
                step(x, labels)
        return [param.asnumpy() for param in net.get_parameters()], ops.rand(3).asnumpy()
    eager, graph = SimWorld(2).run(run, False), SimWorld(2).run(run, True)
    for (params, drawn), (wanted, other) in zip(graph, eager, strict=True):
        np.testing.assert_array_equal(drawn, other)
        for a, b in zip(params, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def composed(stages, graph):
    """(losses, Parameters) of four steps in half precision, with a scaled loss and layers that are computed again."""
    ms.set_seed(3)
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(8, 16), nn.Tanh(), nn.Dense(16, 16), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(16, 4))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.4))
    if stages > 1:
        ms.set_auto_parallel_context(pipeline_stages=stages, gradients_mean=True)
    net[0].pipeline_stage = net[2].pipeline_stage = 0
    net[5].pipeline_stage = stages - 1
    net[0].recompute()
    net[2].recompute()
    x, y = [Tensor(rng.standard_normal((8, size)).astype(np.float32)) for size in (8, 4)]
    net = amp.auto_mixed_precision(net, "O2")
    params, scaler = net.trainable_params(), amp.StaticLossScaler(128.0)
    cell, optimizer = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2).set_train(), nn.Adam(params, 0.01)
    gradients = ms.value_and_grad(lambda x, y: scaler.scale(cell(x, y)), None, params)
    reduce = nn.PipelineGradReducer(params)

    def step(x, y):
        loss, grads = gradients(x, y)
        optimizer(scaler.unscale(reduce(grads)))
        return scaler.unscale(loss)
    step = ms.jit(step, fullgraph=True) if graph else step
    losses = [float(step(x, y)) for _ in range(4)]
    if stages > 1:
        cell.gather_parameters()
    return losses, [param.asnumpy().astype(np.float32) for param in params]


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_half_precision_scaled_losses_and_recomputing_go_with_stages(graph):
    losses, params = composed(1, False)
    assert losses[3] < losses[0]
    for got, weights in SimWorld(2).run(composed, 2, graph):
        np.testing.assert_allclose(got, losses, rtol=1e-3)
        for a, b in zip(weights, params, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-3)


def test_a_graph_that_reads_no_gradient_runs_forwards_alone():
    """And gradients that one part of a graph reads are computed."""
    def run():
        net, whole, x, labels = network("mlp")
        ms.set_auto_parallel_context(pipeline_stages=2)
        net.first.pipeline_stage, net.second.pipeline_stage, net.third.pipeline_stage = 0, 0, 1
        cell = nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), 2)
        forwards = ms.jit(lambda x, y: cell(x, y) * 2, fullgraph=True)
        loss, sent = float(forwards(x, labels)), engine().sent.get("send", [0])[0]
        both = ms.jit(ms.value_and_grad(lambda x, y: cell(x, y) * 2, None, net.trainable_params()), fullgraph=True)
        _, grads = both(x, labels)
        eager = ms.value_and_grad(cell, None, net.trainable_params())(x, labels)[1]
        return loss, sent, [np.abs(a.asnumpy() - 2 * b.asnumpy()).max() for a, b in zip(grads, eager)]
    net, whole, x, labels = network("mlp")
    wanted = 2 * float(nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), 2)(x, labels))
    for (loss, sent, apart), messages in zip(SimWorld(2).run(run), (2, 0)):
        np.testing.assert_allclose(loss, wanted, atol=1e-6)
        assert sent == messages and max(apart) < 1e-12


def test_evaluation_runs_forwards_alone():
    def run():
        net, whole, x, labels = network("mlp")
        ms.set_auto_parallel_context(pipeline_stages=2)
        net.first.pipeline_stage, net.second.pipeline_stage, net.third.pipeline_stage = 0, 0, 1
        step = nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), 2).set_train(False)
        loss = float(step(x, labels))
        return loss, engine().sent["send"][0] if get_rank() == 0 else engine().sent.get("send", [0])[0]
    net, whole, x, labels = network("mlp")
    wanted = float(nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), 2)(x, labels))
    (loss, sent), (other, back) = SimWorld(2).run(run)
    np.testing.assert_allclose([loss, other], wanted, atol=1e-6)
    assert (sent, back) == (3, 0), "two messages and their shape; no gradient comes back"


def test_what_is_no_pipeline_of_stages_is_refused():
    def run():
        net, whole, x, labels = network("mlp")
        ms.set_auto_parallel_context(pipeline_stages=2)
        step = nn.PipelineCell(nn.WithLossCell(whole, nn.CrossEntropyLoss()), 2)
        with pytest.raises(ValueRangeError, match="no Parameter is in stage 0"):
            step(x, labels)
        net.first.pipeline_stage, net.second.pipeline_stage, net.third.pipeline_stage = 1, 0, 1
        with pytest.raises(ValueRangeError, match="of stage 0 is read in stage 1"):
            step(x, labels)
        net.first.pipeline_stage, net.third.pipeline_stage = 0, 2
        with pytest.raises(ValueRangeError, match="pipeline_stages is 2"):
            step(x, labels)
        net.third.pipeline_stage = 1
        with pytest.raises(ShapeError, match="3 does not go into 2"):
            step(x[:3], labels[:3])
        with pytest.raises(GradientError, match="none of inputs"):
            ms.grad(step)(x, labels)
        with pytest.raises(GradientError, match="none of inputs"):
            ms.jit(ms.grad(step), fullgraph=True)(x, labels)
        with pytest.raises(ShapeError, match="3 does not go into 2"):
            ms.jit(lambda x, y: step(x, y), fullgraph=True)(x[:3], labels[:3])
        with pytest.raises(ValueRangeError, match="divides the 2 ranks"):
            ms.set_auto_parallel_context(pipeline_stages=3)
        return True
    assert SimWorld(2).run(run) == [True, True]


def test_a_plan_that_was_written_as_json_runs_on_ranks(tmp_path):
    """What a simulation was given is what `Pipeline` runs: interleaved stages of two replicas."""
    text = pipeline(2, 4, replicas=2, chunks=2).to_json()

    def run():
        rng = np.random.default_rng(0)
        stages = [nn.SequentialCell(nn.Dense(6, 6), nn.Tanh()) for _ in range(4)]
        for stage in stages:
            for param in stage.trainable_params():
                param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.5))
        x, y = rng.standard_normal((2, 16, 6)).astype(np.float32)
        if engine().size == 1:
            net = nn.SequentialCell(*stages)
            gradients = ms.value_and_grad(lambda x, y: nn.MSELoss()(net(x), y), None, net.trainable_params())
            loss, grads = gradients(Tensor(x), Tensor(y))
            return float(loss), {p.name: g.asnumpy() for p, g in zip(net.trainable_params(), grads)}, 0
        mine = slice(8 * (get_rank() % 2), 8 * (get_rank() % 2) + 8)
        names = {id(p): p.name for p in nn.SequentialCell(*stages).trainable_params()}
        pipe = nn.pipeline.Pipeline(stages, nn.MSELoss(), 4, ActorPlan.from_json(text), replicas=2)
        loss, grads = pipe(Tensor(x[mine]), Tensor(y[mine]))
        return float(loss), {names[id(p)]: g.asnumpy() for p, g in zip(pipe.weights, grads)}, pipe.peak
    loss, grads, _ = SimWorld(1).run(run)[0]
    found = SimWorld(4).run(run)
    assert set().union(*[mine for _, mine, _ in found]) == set(grads)
    for got, mine, peak in found:
        np.testing.assert_allclose(got, loss, rtol=1e-6)
        assert len(mine) == 4 and peak <= 6
        for name, gradient in mine.items():
            np.testing.assert_allclose(gradient, grads[name], atol=1e-6)


PROGRAM = '''
import sys
import numpy as np
import mindlite as ms
from mindlite import Tensor, nn
from mindlite.communication import get_group_size, get_rank, init

init()
ms.set_seed(1)
ms.set_auto_parallel_context(pipeline_stages=get_group_size())
rng = np.random.default_rng(0)
net = nn.SequentialCell(*[nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dropout(p=0.1)) for _ in range(4)])
for k, layer in enumerate(net.cells()):
    layer.pipeline_stage = k * get_group_size() // 4
    layer[0].weight.set_data(Tensor(rng.standard_normal((64, 64)).astype(np.float32) * 0.1))
x = Tensor(rng.standard_normal((32, 64)).astype(np.float32))
step = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 4)
train = nn.TrainOneStepCell(step, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
losses = [float(train(x, x)) for _ in range(5)]
sys.stdout.write(f"rank {get_rank()}: {losses!r}\\n")
'''


def test_processes_train_a_network_in_stages(tmp_path):
    """TrainOneStepCell around it, as on one rank: the same losses."""
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = {}
    for count in (1, 2):
        status, out, err = launch.mpirun(count, program)
        assert status == 0, err
        found[count] = [ast.literal_eval(line.split(": ", 1)[1]) for line in out.splitlines() if line.startswith("rank ")]
    assert len(found[2]) == 2 and found[2][0] == found[2][1] and found[1][0][4] < found[1][0][0]
    np.testing.assert_allclose(found[2][0], found[1][0], rtol=1e-5)
