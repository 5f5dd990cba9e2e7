"""Small all_reduces that travel as one: values, the order of the backward, what is counted, what is never joined."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common import dtype as dt
from mindlite.common.errors import DTypeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.communication.simulation import SimEngine
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import building
from mindlite.mindir.control import make_tuple
from mindlite.mindir.graph import FuncGraph
from mindlite.nn.auto_parallel import AutoParallel
from mindlite.ops.collectives import all_reduce, all_reduce_coalesced
from mindlite.parallel import Layout, buckets

X = np.random.default_rng(0).standard_normal((12, 16)).astype(np.float32)
LAYERS = 6


def step_of(split):
    """(a step of a network whose rows lie in parts, the rows)."""
    ms.set_seed(1)
    net = nn.SequentialCell(*[nn.Dense(16, 16, activation=nn.Tanh()) for _ in range(LAYERS)])
    mesh = Layout((engine().size,), ("dp",))
    x = Tensor(X).to_global(mesh("dp")) if split else Tensor(X)
    grads = ms.value_and_grad(lambda x: nn.MSELoss()(net(x), x), None, net.trainable_params())
    return ms.jit(lambda x: grads(x), fullgraph=True), x


def counted():
    """(loss and gradients, what was sent in one run, the Plan)."""
    step, x = step_of(True)
    loss, grads = step(x)
    before = {name: tuple(entry) for name, entry in engine().sent.items()}
    step(x)
    sent = {name: [a - b for a, b in zip(entry, before[name])] for name, entry in engine().sent.items()}
    found = [loss.asnumpy(), *[grad.asnumpy() for grad in grads]]
    return found, {name: entry for name, entry in sent.items() if entry[0]}, step.compiled.latest().compiled.plan


@pytest.fixture
def cheap(monkeypatch):
    """Bytes that cost nothing, so that a plan splits what is this small."""
    monkeypatch.setattr(SimEngine, "link", property(lambda self: (1e-9, 1e-13), lambda self, value: None), raising=False)


@pytest.mark.parametrize("size", [2, 3])
def test_gradients_of_a_plan_travel_in_buckets_and_are_those_of_one_process(size, cheap, monkeypatch):
    monkeypatch.setattr(buckets, "PIECE", 2 * 4 * 17 * 16)               # the gradients of two layers
    step, x = step_of(False)
    loss, grads = SimWorld(1).run(lambda: step(x))[0]
    for found, sent, plan in SimWorld(size).run(counted):
        assert sent == plan.sent, "what is sent is what the plan says"
        written = sum(step.operator == "all_reduce" for *_, path in plan.boxings for step in path)
        assert sent["all_reduce"][0] == written - sum(bucket.count - 1 for bucket in plan.buckets) < written / 2
        assert all(f"{bucket.count} all_reduces travel as one: {bucket.nbytes} B" in plan.report() for bucket in plan.buckets)
        for got, want in zip(found, [loss, *grads], strict=True):
            np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_bucket_has_no_more_bytes_than_a_piece(cheap, monkeypatch):
    for piece, fewest in ((1, 13), (4 * 17 * 16, 6), (1 << 20, 1)):
        monkeypatch.setattr(buckets, "PIECE", piece)
        _, sent, plan = SimWorld(2).run(counted)[0]
        assert all(bucket.nbytes <= piece for bucket in plan.buckets)
        assert sent["all_reduce"][0] >= fewest
    assert sent["all_reduce"][0] <= 2


def test_what_travels_as_one_is_what_comm_fusion_says(cheap):
    """Said to an AutoParallel, or in the settings; the gradient of a layer has 1.4 MB."""
    def run(config, in_settings=False):
        net = nn.SequentialCell(*[nn.Dense(600, 600) for _ in range(3)])
        grads = ms.value_and_grad(lambda x: nn.MSELoss()(net(x), x), None, net.trainable_params())
        made = AutoParallel(lambda x: grads(x))
        if in_settings:
            ms.set_auto_parallel_context(comm_fusion=config)
        else:
            made.comm_fusion(config)
        made(Tensor(np.ones((512, 600), np.float32)))
        return [bucket.count for bucket in made.plan.buckets], nn.DistributedGradReducer(net.trainable_params())._pieces
    usual = SimWorld(2).run(run, None)[0][0]
    assert SimWorld(2).run(run, {"openstate": True, "allreduce": {"mode": "auto", "config": None}})[0][0] == usual != []
    assert SimWorld(2).run(run, {"openstate": False})[0][0] == []
    narrow, wide = [SimWorld(2).run(run, {"allreduce": {"mode": "size", "config": size}})[0][0] for size in (2, 64)]
    assert len(wide) == 1 and max(narrow) < wide[0] and wide[0] >= sum(usual)
    assert SimWorld(2).run(run, {"openstate": False}, True)[0] == ([], ((5,), (4,), (3,), (2,), (1,), (0,)))
    assert len(SimWorld(2).run(run, {"allreduce": {"mode": "size", "config": 64}}, True)[0][1]) == 1


def chain(x):
    """The second needs the first one's result, the third does not need the second's."""
    a = all_reduce(x)
    b = all_reduce(a * 2)
    c = all_reduce(x + 1)
    return a + b, b + c


def test_what_needs_a_result_is_not_joined_with_it():
    graph = FuncGraph("chain")
    x = graph.add_parameter("x", AbstractTensor(dt.float32, (3,)))
    with building(graph):
        graph.set_outputs(chain(x), make_tuple)
    found = buckets.join(graph)
    assert [bucket.count for bucket in found] == [2]
    names = [node.fn.name for node in graph.nodes if "collective" in getattr(node.fn, "traits", ())]
    assert names == ["all_reduce", "all_reduce_coalesced"]
    placed = {node: number for number, node in enumerate(graph.nodes)}
    assert all(placed[arg] < placed[node] for node in graph.nodes for arg in node.args if arg in placed)


def test_tensors_that_travel_as_one_have_values_and_gradients_of_each():
    def run():
        r = get_rank() + 1.0
        xs = Tensor(np.full((2, 3), r, np.float32)), Tensor(np.full(4, 10 * r, np.float32))
        sums = all_reduce_coalesced(*xs)
        tops = all_reduce_coalesced(*xs, reduction="max")
        grads = ms.grad(lambda a, b: (all_reduce_coalesced(a, b)[0] * 2).sum() + ops.sum(b), (0, 1))(*xs)
        return [x.asnumpy() for x in (*sums, *tops, *grads)], dict(engine().sent)
    for (a, b, top, other, da, db), sent in SimWorld(2).run(run):
        assert (a == 3).all() and (b == 30).all() and (top == 2).all() and (other == 20).all()
        assert (da == 4).all() and (db == 1).all() and a.shape == da.shape == (2, 3)
        assert sent["all_reduce"][0] == 4, "three calls and the gradient of one"
    with pytest.raises(DTypeError, match="different dtypes"):
        all_reduce_coalesced(Tensor(np.ones(2, np.float32)), Tensor(np.ones(2, np.float64)))
