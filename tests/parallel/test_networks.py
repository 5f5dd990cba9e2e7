"""The test networks under every kind of plan: losses and gradients of one rank, bytes as planned, and no rank computes all.

In float64, so that nothing but the order of sums lies between them.
"""
import itertools

import numpy as np
import pytest
from networks import CASES

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common import dtype as dt
from mindlite.common.dim import evaluate
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.nn.pipeline import Pipeline
from mindlite.parallel import Layout, shard_in_place, zero

CASE = {case.name: case for case in CASES}
BATCH_AXIS = {"transformer": 1}                  # of x; 0 elsewhere
PLANS = {                                        # name: (mesh, its names, is the batch split, are the weights)
    "data": ((2,), ("dp",), True, False), "tensor": ((2,), ("mp",), False, True), "data 3": ((3,), ("dp",), True, False),
    "both": ((2, 2), ("dp", "mp"), True, True)}
FAST = {("mlp", "data"), ("mlp", "tensor"), ("mlp", "both"), ("lenet", "data"), ("lenet", "tensor"), ("lstm", "data")}
SHARE = {"data": 0.6, "tensor": 0.8, "data 3": 0.5, "both": 0.5}         # of all points, at most
CHEAP = 1e-9, 1e-13                              # of a message, of a byte: these networks are small, and are to be split


def inputs_of(case, batch=None):
    """(the network, its weights, x, labels) in float64; batch: another number of rows than the case's."""
    net, weights, x, labels = case.make(dt.float64)
    if batch is not None:
        rng, axis = np.random.default_rng(batch), BATCH_AXIS.get(case.name, 0)
        shape = (*case.shape[:axis], batch, *case.shape[axis + 1:])
        x, labels = Tensor(rng.normal(size=shape)), Tensor(rng.integers(0, 10, batch).astype(np.int32))
    return net, weights, x, labels


def weights_split(net, mesh):
    """Place the weights: of every second layer by columns, of the others by rows, of convolutions by channels."""
    count, name = mesh.mesh.shape[-1], mesh.mesh.names[-1]
    placed = 0
    for number, param in enumerate(param for param in net.trainable_params() if len(param.shape) > 1):
        axis = number % 2 if len(param.shape) == 2 else 0
        if param.shape[axis] >= 2 * count:
            shard_in_place(param, mesh(*[name if k == axis else "None" for k in range(len(param.shape))]))
            placed += 1
    return placed


def gradients(case, plan, graph, batches=(None,)):
    """For each batch (loss, gradients) as arrays on this rank; of a graph also what was sent and planned, the share of points."""
    net, weights, _, _ = case.make(dt.float64)
    criterion, found, told = nn.CrossEntropyLoss(), [], []
    if plan is not None:
        engine().link = CHEAP
        shape, names, rows, columns = PLANS[plan]
        mesh = Layout(shape, names)
        assert not columns or weights_split(net, mesh)
    step = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, weights)
    step = ms.jit(step, fullgraph=True) if graph else step
    for batch in batches:
        _, _, x, labels = inputs_of(case, batch)
        if plan is not None and rows:
            axis = BATCH_AXIS.get(case.name, 0)
            x, labels = x.to_global(mesh(*["None"] * axis, names[0])), labels.to_global(mesh(names[0]))
        before = {name: tuple(entry) for name, entry in engine().sent.items()}
        loss, grads = step(x, labels)
        sent = {name: [a - b for a, b in zip(entry, before.get(name, (0, 0)))] for name, entry in engine().sent.items()}
        if graph and plan is not None:
            variant = step.compiled.latest()
            planned, sizes = variant.compiled.plan, dict(zip(variant.plan.symbols, variant.plan.sizes([x, labels])))
            told.append(({name: entry for name, entry in sent.items() if entry[0]},
                         {name: [calls, evaluate(nbytes, sizes)] for name, (calls, nbytes) in planned.sent.items()},
                         planned.points[0] / planned.points[1]))
        found.append([loss.asnumpy(), *[gradient.asnumpy() for gradient in grads]])
    return found, told


def compare(case, plan, graph, batches=(None,)):
    alone, _ = gradients(case, None, graph, batches)
    size = int(np.prod(PLANS[plan][0]))
    for found, told in SimWorld(size).run(gradients, case, plan, graph, batches):
        for got, want in zip(found, alone, strict=True):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
        for sent, planned, mine in told:
            assert sent == planned and planned
            assert mine < SHARE[plan]


@pytest.mark.parametrize("name, plan", [
    pytest.param(name, plan, marks=[] if (name, plan) in FAST else pytest.mark.slow) for name in CASE for plan in PLANS
    if not (name == "resnet18" and plan == "data 3")], ids=str)         # which has two rows
def test_a_network_computes_on_many_ranks_what_it_computes_on_one(name, plan):
    """As graphs; three rows on two ranks are uneven."""
    compare(CASE[name], plan, True)


@pytest.mark.parametrize("name, plan", [
    pytest.param(name, plan, marks=[] if (name, plan) == ("mlp", "both") else pytest.mark.slow)
    for name in CASE for plan in ("data", "both")], ids=str)
def test_a_network_computes_the_same_operator_by_operator(name, plan):
    compare(CASE[name], plan, False)


def trained(case, plan, graph, steps=20):
    """(losses, weights) of Momentum on this rank; plan: of PLANS, "zero 1" to "zero 3", or None for one process."""
    net, weights, x, labels = inputs_of(case)
    optimizer, criterion = nn.Momentum(weights, 0.01, 0.9), nn.CrossEntropyLoss()
    if plan is not None:
        engine().link = CHEAP
        level = int(plan[-1]) if plan.startswith("zero") else 0
        shape, names, rows, columns = PLANS["data" if level else plan]
        mesh = Layout(shape, names)
        assert not columns or weights_split(net, mesh)
        if level:
            zero(optimizer, mesh, level=level)
        if rows:
            axis = BATCH_AXIS.get(case.name, 0)
            x, labels = x.to_global(mesh(*["None"] * axis, names[0])), labels.to_global(mesh(names[0]))
    gradients = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, weights)

    def step(x, labels):
        loss, found = gradients(x, labels)
        optimizer(found)
        return loss
    step = ms.jit(step, fullgraph=True) if graph else step
    losses = [float(step(x, labels)) for _ in range(steps)]
    return losses, [weight.asnumpy() for weight in weights]


WAYS = ["data", "tensor", "both", "zero 1", "zero 2", "zero 3"]
QUICK = {("mlp", "zero 3", True), ("lenet", "zero 2", True)}


@pytest.mark.parametrize("name, plan, graph", [
    pytest.param(*key, marks=[] if key in QUICK else pytest.mark.slow) for key in itertools.product(CASE, WAYS, (False, True))])
def test_twenty_steps_are_those_of_one_process(name, plan, graph):
    losses, weights = trained(CASE[name], None, graph)
    size = int(np.prod(PLANS["data" if plan.startswith("zero") else plan][0]))
    for got, found in SimWorld(size).run(trained, CASE[name], plan, graph):
        np.testing.assert_allclose(got, losses, rtol=0, atol=1e-6)
        for a, b in zip(found, weights, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_batches_of_other_sizes_come_one_after_the_other(graph):
    """A step that has seen 4 rows takes 7, 5 and 9: uneven parts, and sizes that are found to be dynamic."""
    compare(CASE["mlp"], "data", graph, (4, 7, 5, 9))


@pytest.mark.slow
@pytest.mark.parametrize("plan", ["data", "both"])
@pytest.mark.parametrize("name", sorted(set(CASE) - {"mlp"}))
def test_so_they_do_with_each_network(name, plan):
    compare(CASE[name], plan, True, (4, 7, 5, 9))


class Stage(nn.Cell):
    """A part of a network, given as a function of the whole one; it has the weights of these layers alone."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.CellList(list(layers))

    def construct(self, x):
        return self.function(x)


def stages_of(name, net):
    """A network in two stages."""
    if name == "mlp":
        return [Stage(lambda x: net.relu(net.second(net.relu(net.first(x)))), net.first, net.second),
                Stage(net.third, net.third)]
    if name == "lenet":
        return [Stage(lambda x: net.pool(net.relu(net.conv2(net.pool(net.relu(net.conv1(x)))))), net.conv1, net.conv2),
                Stage(lambda x: net.fc3(net.relu(net.fc2(net.relu(net.fc1(net.flatten(x)))))), net.fc1, net.fc2, net.fc3)]
    first, second = net.encoder.layers
    return [Stage(lambda x: first(x.swapaxes(0, 1)).swapaxes(0, 1), first),
            Stage(lambda x: net.head(ops.mean(second(x.swapaxes(0, 1)), 0)), second, net.head)]


@pytest.mark.parametrize("graph", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["eager", "graph"])
@pytest.mark.parametrize("name", ["mlp", pytest.param("lenet", marks=pytest.mark.slow),
                                  pytest.param("transformer", marks=pytest.mark.slow)])
def test_a_network_in_two_stages_is_the_whole(name, graph):
    """Four rows in two micro-batches through two ranks: each has half of the gradients, of the mean over all rows."""
    case, criterion = CASE[name], nn.CrossEntropyLoss()
    net, weights, x, labels = inputs_of(case, 4)
    loss, grads = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, weights)(x, labels)
    wanted = {param.name: gradient.asnumpy() for param, gradient in zip(weights, grads)}

    def run():
        net, _, x, labels = inputs_of(case, 4)
        names = {id(param): param.name for param in net.trainable_params()}
        x = x.swapaxes(0, 1) if name == "transformer" else x
        pipe = Pipeline(stages_of(name, net), nn.CrossEntropyLoss(), 2, compiled=graph)
        loss, grads = pipe(x, labels)
        return float(loss), {names[id(param)]: gradient.asnumpy() for param, gradient in zip(pipe.weights, grads)}, get_rank()
    results = SimWorld(2).run(run)
    assert not results[0][1].keys() & results[1][1].keys()
    assert results[0][1].keys() | results[1][1].keys() == wanted.keys()
    for found, parts, _ in results:
        np.testing.assert_allclose(found, float(loss), rtol=1e-6)
        for key, gradient in parts.items():
            np.testing.assert_allclose(gradient, wanted[key], rtol=1e-8, atol=1e-9)
