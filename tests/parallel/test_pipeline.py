"""Pipelines: the order that credits give, closed forms, deadlocks, back-pressure; the losses and gradients of one process."""
import ast
import dataclasses
import threading

import launch
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import ArgumentError, RankError, ShapeError, ValueRangeError
from mindlite.common.ranks import WORLD, engine
from mindlite.communication import SimWorld, get_rank
from mindlite.communication.simulation import SimEngine
from mindlite.nn.auto_parallel import AutoParallel
from mindlite.nn.pipeline import ACTIVATION, Pipeline
from mindlite.parallel.actors import Actor, ActorPlan, Register, pipeline


@pytest.mark.parametrize("stages, micro", [(1, 3), (2, 2), (2, 8), (4, 8), (5, 7), (8, 32)])
def test_s_minus_s_credits_have_the_ideal_bubble_and_the_least_memory(stages, micro):
    found = pipeline(stages, micro).simulate()
    assert found.seconds == 2 * (micro + stages - 1)         # Narayanan et al. 2019, section 3.2
    np.testing.assert_allclose(found.bubble, (stages - 1) / (micro + stages - 1))
    assert [found.peaks[f"s{s}"] for s in range(stages)] == [min(stages - s, micro) for s in range(stages)]


def test_other_credits_are_other_schedules():
    gpipe, serial, two = [pipeline(4, 8, schedule).simulate() for schedule in ("gpipe", "serial", (2, 2, 2, 2))]
    best = pipeline(4, 8).simulate()
    assert gpipe.seconds == best.seconds < two.seconds < serial.seconds == 4 * 8 * 2
    assert sum(gpipe.peaks[f"s{s}"] for s in range(4)) > sum(best.peaks[f"s{s}"] for s in range(4)) > 4
    assert all(serial.peaks[f"s{s}"] == 1 for s in range(4)) and best.simulated
    assert [name for name, _ in best.order[3][:4]] == ["F3", "B3", "F3", "B3"]       # one forward, one backward


def test_no_register_ever_holds_more_than_its_credits():
    plan = pipeline(3, 6, (3, 1, 2), forward=1.0, backward=5.0)
    peaks = plan.simulate().peaks
    assert all(peaks[register.name] <= register.credits for register in plan.registers)


def test_a_plan_is_json():
    plan = pipeline(3, 4)
    assert ActorPlan.from_json(plan.to_json()) == plan and '"credits": 3' in plan.to_json()


def test_a_deadlock_is_found_before_anything_runs():
    plan = ActorPlan((Actor("a", 0, ("back",), ("forth",), 2), Actor("b", 1, ("forth",), ("back",), 2)),
                     (Register("forth", 1), Register("back", 1)))
    with pytest.raises(ValueRangeError, match=r"deadlock: a \(0 of 2\), b \(0 of 2\)"):
        plan.simulate()
    short = pipeline(2, 2)
    starved = dataclasses.replace(short, registers=(*short.registers[1:], Register("s0", 0)))
    with pytest.raises(ValueRangeError, match="s0 0"):
        starved.simulate()
    with pytest.raises(ArgumentError, match="none"):
        ActorPlan((Actor("a", 0, ("x",), (), 1),), ()).simulate()


def stages_of(count, width=6):
    rng = np.random.default_rng(0)
    stages = [nn.SequentialCell(nn.Dense(width, width), nn.Tanh()) for _ in range(count)]
    for stage in stages:
        for param in stage.trainable_params():
            param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.5))
    return stages


X, Y = np.random.default_rng(1).standard_normal((2, 8, 6)).astype(np.float32)
STEPS = 20


def train_alone(count):
    """(losses, weights by stage) of one process."""
    stages = stages_of(count)
    net = nn.SequentialCell(*stages)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    grads = ms.value_and_grad(lambda x, y: nn.MSELoss()(net(x), y), None, net.trainable_params())
    losses = []
    for _ in range(STEPS):
        loss, found = grads(Tensor(X), Tensor(Y))
        optimizer(found)
        losses.append(float(loss))
    return losses, [[param.asnumpy().copy() for param in stage.trainable_params()] for stage in stages]


def train_piped(count, compiled, schedule):
    pipe = Pipeline(stages_of(count), nn.MSELoss(), 4, schedule, compiled)
    optimizer, losses = nn.Momentum(pipe.weights, 0.1, 0.9), []
    for _ in range(STEPS):
        loss, found = pipe(Tensor(X), Tensor(Y))
        optimizer(found)
        losses.append(float(loss))
    return losses, [param.asnumpy() for param in pipe.weights], pipe.peak


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("count, schedule", [(2, "1f1b"), (4, "1f1b"), (2, "gpipe")])
def test_stages_on_ranks_train_as_one_process(count, schedule, compiled):
    losses, weights = train_alone(count)
    for rank, (found, mine, peak) in enumerate(SimWorld(count).run(train_piped, count, compiled, schedule)):
        np.testing.assert_allclose(found, losses, rtol=0, atol=1e-6)
        for got, want in zip(mine, weights[rank], strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)
        if schedule == "1f1b":
            assert peak == min(count - rank, 4)               # the activations that are kept


class Words(nn.Cell):
    """Rows of a table."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def construct(self, x):
        return ops.gather(self.table, ops.cast(x, ms.int32), 0)


class Logits(nn.Cell):
    """The likeness to each row of the same table."""

    def __init__(self, table):
        super().__init__()
        self.table, self.dense = table, nn.Dense(6, 6, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return ops.matmul(self.dense(x), self.table.T)


def tied_stages(count):
    """The table in the first and in the last stage, one Parameter."""
    table = ms.Parameter(Tensor(np.random.default_rng(2).standard_normal((9, 6)).astype(np.float32) * 0.3), name="table")
    return [Words(table), *stages_of(count - 2), Logits(table)]


WORDS, NEXT = np.random.default_rng(3).integers(0, 9, (2, 8)).astype(np.int32)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("count", [2, 4])
def test_a_parameter_of_two_stages_stays_one(count, compiled):
    """Gradients of both are added up, so that it is the same on both ranks after any number of steps, and that of one process."""
    def train(stages, gradients, weights):
        optimizer, losses = nn.Momentum(weights, 0.1, 0.9), []
        for _ in range(STEPS):
            loss, found = gradients(Tensor(WORDS), Tensor(NEXT))
            optimizer(found)
            losses.append(float(loss))
        return losses, [stage.table.asnumpy().copy() for stage in stages if hasattr(stage, "table")]

    def piped():
        stages = tied_stages(count)
        pipe = Pipeline(stages, nn.CrossEntropyLoss(), 4, compiled=compiled)
        losses, tables = train([pipe.stage], pipe, pipe.weights)
        return losses, tables
    stages = tied_stages(count)
    net = nn.SequentialCell(*stages)
    weights = list({id(p): p for p in net.trainable_params()}.values())
    alone = ms.value_and_grad(lambda x, y: nn.CrossEntropyLoss()(net(x), y), None, ms.ParameterTuple(weights))
    losses, tables = train(stages, alone, weights)
    results = SimWorld(count).run(piped)
    for found, _ in results:
        np.testing.assert_allclose(found, losses, rtol=0, atol=2e-6)
    for found in (results[0][1], results[-1][1]):
        np.testing.assert_allclose(found[0], tables[0], rtol=0, atol=4e-6)
    np.testing.assert_array_equal(results[0][1][0], results[-1][1][0])


def test_a_sender_waits_until_its_credit_is_back():
    taken = threading.Event()

    def run():
        if get_rank() == 0:
            tickets = [engine().post(np.full(2, i, np.float32), 1, 5, WORLD) for i in range(2)]
            before = [ticket.is_over() for ticket in tickets]
            taken.set()
            tickets[0].wait()
            tickets[1].wait()
            return before, [ticket.is_over() for ticket in tickets]
        assert taken.wait(30)
        return [float(engine().receive((2,), np.float32, 0, 5, WORLD)[0]) for _ in range(2)]
    assert SimWorld(2).run(run) == [([False, False], [True, True]), [0.0, 1.0]]


def test_a_pipeline_sends_no_more_than_its_credits(monkeypatch):
    """Stage 0 could send all four micro-batches at once; it sends two, and the third when one of them was taken."""
    under_way, third, real_post, real_collect = [], threading.Event(), SimEngine.hand_over, SimEngine.collect

    def post(self, array, to, tag):
        ticket = real_post(self, array, to, tag)
        if (self.rank, tag) == (0, ACTIVATION):
            key = self.rank, to, tag
            under_way.append(self.room.handed[key] - self.room.taken.get(key, 0))
            if under_way[-1] > 2:
                third.set()
        return ticket

    def collect(self, shape, dtype, source, tag):
        if tag == ACTIVATION:
            third.wait(0.5)                                  # time enough for one more, if nobody holds it back
        return real_collect(self, shape, dtype, source, tag)
    monkeypatch.setattr(SimEngine, "hand_over", post)
    monkeypatch.setattr(SimEngine, "collect", collect)
    SimWorld(2).run(lambda: float(Pipeline(stages_of(2), nn.MSELoss(), 4, "gpipe", False)(Tensor(X), Tensor(Y))[0]))
    assert max(under_way) == 2 and len(under_way) == 4


def test_a_receiver_that_does_not_come_is_told_of():
    def run():
        if get_rank() == 0:
            engine().post(np.ones(2, np.float32), 1, 5, WORLD).wait()
    with pytest.raises(RankError, match="waits"):
        SimWorld(2, timeout=1).run(run)


@pytest.mark.parametrize("parts", [1, 4])
def test_gradients_of_parts_of_a_batch_travel_once(parts):
    def run():
        net = stages_of(1)[0]
        inside = nn.WithLossCell(net, nn.MSELoss())
        step = nn.TrainOneStepCell(nn.GradAccumulationCell(inside, parts) if parts > 1 else inside,
                                   nn.SGD(net.trainable_params(), 0.1))
        step = AutoParallel(step.set_train()).dataset_strategy("full_batch")
        step(Tensor(X), Tensor(Y))
        before = engine().sent.get("all_reduce", [0])[0]
        step(Tensor(X), Tensor(Y))
        return engine().sent.get("all_reduce", [0])[0] - before
    assert max(SimWorld(2).run(run)) <= 3        # the loss, the weight, the bias


def test_what_is_no_pipeline_is_refused():
    def run():
        for error, wrong in ((ArgumentError, lambda: Pipeline([1, 2], nn.MSELoss(), 2)),
                             (ValueRangeError, lambda: Pipeline(stages_of(3), nn.MSELoss(), 2)),
                             (ValueRangeError, lambda: Pipeline(stages_of(2), nn.MSELoss(), 2, "best")),
                             (ValueRangeError, lambda: Pipeline(stages_of(2), nn.MSELoss(), 2, (1, 0))),
                             (ShapeError, lambda: Pipeline(stages_of(2), nn.MSELoss(), 3)(Tensor(X), Tensor(Y)))):
            with pytest.raises(error):
                wrong()
        return True
    assert SimWorld(2).run(run) == [True] * 2
    with pytest.raises(ValueRangeError):
        pipeline(0, 1)


PROGRAM = '''
import sys
import numpy as np
from mindlite import Tensor, nn, ops
from mindlite.communication import get_rank, init
from mindlite.nn.pipeline import ACTIVATION, Pipeline

init()
rng = np.random.default_rng(0)
stages = [nn.Dense(600, 600), nn.Dense(600, 600)]
for stage in stages:
    stage.weight.set_data(Tensor(rng.standard_normal((600, 600)).astype(np.float32) * 0.04))
x = rng.standard_normal((512, 600)).astype(np.float32)          # messages of 300 KiB wait for their receiver
pipe = Pipeline(stages, nn.MSELoss(), 4)
losses = []
for _ in range(3):
    loss, grads = pipe(Tensor(x), Tensor(x))
    for param, grad in zip(pipe.weights, grads):
        param.set_data(param - grad)
    losses.append(float(loss))
sys.stdout.write(f"rank {get_rank()}: {losses!r}\\n")
'''


def test_two_processes_run_a_pipeline(tmp_path):
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    status, out, err = launch.mpirun(2, program)
    assert status == 0, err
    lines = [ast.literal_eval(line.split(": ", 1)[1]) for line in sorted(out.splitlines()) if line.startswith("rank ")]
    assert len(lines) == 2 and lines[0] == lines[1] and lines[0][2] < lines[0][0]
