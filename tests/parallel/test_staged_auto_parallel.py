"""AutoParallel with a pipeline: ranks in stages train as one process; what is said of messages and inputs is done or refused."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Model, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.dataset import NumpySlicesDataset
from mindlite.functional.zero import bytes_here
from mindlite.nn.auto_parallel import AutoParallel

RNG = np.random.default_rng(5)
X, Y = [RNG.standard_normal((16, n)).astype(np.float32) for n in (6, 4)]


def network(last_stage=0):
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(6, 8, activation=nn.Tanh()), nn.Dense(8, 4))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32)))
    net[0].pipeline_stage, net[1].pipeline_stage = 0, last_stage
    return net


def mine(array, stages):
    """The rows of a rank whose stage has others."""
    replicas = engine().size // stages
    return Tensor(array[get_rank() % replicas::replicas])


def alone():
    """(losses, Parameters) of one process."""
    net = network()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.05)).set_train()
    return [float(step(Tensor(X), Tensor(Y))) for _ in range(4)], [p.asnumpy().copy() for p in net.trainable_params()]


def parts(micro):
    """A function of a PipelineCell's loss: its mean over the micro-batches."""
    return lambda cell: (lambda x, y: cell(x, y) / micro)


def staged(way, scheduler="1f1b", rows="data_parallel", level=None):
    """(losses, Parameters of this rank's stage, bytes of the optimiser's states) of two stages of half of the ranks."""
    net, stages = network(1), 2
    cell = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2)
    optimizer = nn.Adam(net.trainable_params(), 0.05)
    if way == "cell":
        made = AutoParallel(nn.TrainOneStepCell(cell, optimizer, 0.5).set_train())
    else:                                                    # as MindSpore's pages have it, the reducer before the settings
        params = optimizer.parameters
        gradients, reduce = ms.value_and_grad(parts(2)(cell), None, params), nn.PipelineGradReducer(params)

        @ms.jit
        def train(x, y):
            loss, grads = gradients(x, y)
            optimizer(reduce(grads))
            return loss
        made = AutoParallel(train).enable_gradients_mean()
    if rows == "full_batch":
        made.enable_gradients_mean()                         # which a training step has anyway
    made.pipeline(stages, scheduler=scheduler).dataset_strategy(rows)
    if level:
        made.hsdp(threshold=0, optimizer_level=level)
    assert made.get_pipeline_stages() == 2 and ms.get_auto_parallel_context("pipeline_stages") == 1
    x, y = (Tensor(X), Tensor(Y)) if rows == "full_batch" else (mine(X, stages), mine(Y, stages))
    losses = [float(made(x, y)) / (2 if way == "cell" else 1) for _ in range(4)]
    assert ms.get_auto_parallel_context("pipeline_stages") == 1, "the settings of a call are those of the call"
    here = net[get_rank() // (engine().size // stages)].trainable_params()
    return losses, [p.full_tensor().asnumpy() if p.placement is not None else p.asnumpy() for p in here], \
        bytes_here([p for p in optimizer.get_parameters() if p.name.startswith("moment")])


@pytest.mark.parametrize("way, scheduler, rows", [("cell", "1f1b", "data_parallel"), ("function", "gpipe", "data_parallel"),
                                                  ("cell", "gpipe", "full_batch")])
def test_ranks_in_stages_train_as_one_process(way, scheduler, rows):
    losses, params = alone()
    for rank, (found, here, _) in enumerate(SimWorld(4).run(staged, way, scheduler, rows)):
        np.testing.assert_allclose(found, losses, rtol=1e-5)
        for got, wanted in zip(here, params[2 * (rank // 2):][:2], strict=True):
            np.testing.assert_allclose(got, wanted, atol=1e-5)


@pytest.mark.parametrize("way", ["cell", "function"])
def test_ranks_of_a_stage_split_the_states_of_its_optimiser(way):
    losses, _ = alone()
    whole = SimWorld(4).run(staged, way)
    split = SimWorld(4).run(staged, way, "1f1b", "data_parallel", "level1")
    for (found, _, states), (_, _, all_states) in zip(split, whole, strict=True):
        np.testing.assert_allclose(found, losses, rtol=1e-5)
        assert states == all_states // 2


def test_model_trains_in_stages_as_the_settings_say():
    def run(stages):
        if stages > 1:
            ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=stages,
                                         dataset_strategy="full_batch", pipeline_config={"pipeline_scheduler": "gpipe"})
        net, losses = network(stages - 1), []

        class Keep(ms.train.Callback):
            def on_train_step_end(self, run_context):
                losses.append(float(run_context.original_args().net_outputs))
        model = Model(nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2), optimizer=nn.Adam(net.trainable_params(), 0.05))
        rows = NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(8)
        model.train(2, rows, [Keep(), ms.train.LossMonitor(100)], dataset_sink_mode=False)
        return losses
    (one,) = SimWorld(1).run(run, 1)
    for losses in SimWorld(2).run(run, 2):
        np.testing.assert_allclose(losses, one, rtol=1e-5)


def test_a_training_step_sums_the_gradients_of_the_ranks_of_a_stage():
    """Also where no AutoParallel is around it: the ranks of a stage went on with Parameters of their own."""
    def run():
        ms.set_auto_parallel_context(pipeline_stages=2, gradients_mean=True)
        net = network(1)
        cell = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2)
        step = nn.TrainOneStepCell(cell, nn.Adam(net.trainable_params(), 0.05), 0.5).set_train()
        return [float(step(mine(X, 2), mine(Y, 2))) / 2 for _ in range(4)]
    losses, _ = alone()
    for found in SimWorld(4).run(run):
        np.testing.assert_allclose(found, losses, rtol=1e-5)


@pytest.mark.parametrize("jitted", [False, True])
def test_an_overflow_in_one_stage_is_seen_by_all(jitted):
    """Else one stage would be trained, and the other not."""
    def run():
        ms.set_auto_parallel_context(pipeline_stages=2)
        net = nn.SequentialCell(nn.Dense(6, 8, weight_init=1e-36), nn.Dense(8, 4))
        net[0].pipeline_stage, net[1].pipeline_stage = 0, 1
        before = [p.asnumpy().copy() for p in net.trainable_params()]
        cell = nn.PipelineCell(nn.WithLossCell(net, nn.MSELoss()), 2)
        manager = nn.DynamicLossScaleUpdateCell(2.0 ** 12, 2, 10)
        step = nn.TrainOneStepWithLossScaleCell(cell, nn.SGD(net.trainable_params(), 0.1), manager).set_train()
        step = ms.jit(step) if jitted else step
        _, overflow, _ = step(Tensor(np.full((16, 6), 1e36, np.float32)), Tensor(Y * 1e3))      # which stage 0 multiplies with
        held = [np.array_equal(p.asnumpy(), old) for p, old in zip(net.trainable_params(), before)]
        return bool(overflow), all(held), float(manager.last_overflow_iter)
    for overflow, held, iteration in SimWorld(2).run(run):
        assert overflow and held and iteration == 1


@pytest.mark.parametrize("call, error, text", [
    (lambda a: a.comm_fusion(3), ArgumentError, "is a dict"),
    (lambda a: a.comm_fusion({"openstate": 1}), ArgumentError, "openstate"),
    (lambda a: a.comm_fusion({"allreduce": {"mode": "index", "config": [1]}}), ValueRangeError, "no mode 'index'"),
    (lambda a: a.comm_fusion({"allgather": {"mode": "size", "config": 4}}), ValueRangeError, "allgather"),
    (lambda a: a.comm_fusion({"allreduce": {"mode": "size", "config": 0}}), ValueRangeError, "MiB"),
    (lambda a: a.comm_fusion({"broadcast": {}}), ValueRangeError, "no 'broadcast'"),
    (lambda a: a.pipeline(2.0), ArgumentError, "stages is of int"),
    (lambda a: a.pipeline(3), ValueRangeError, "3 stages of 1 ranks"),
    (lambda a: a.pipeline(interleave=True), ValueRangeError, "interleaved"),
    (lambda a: a.pipeline(scheduler="seqpipe"), ValueRangeError, "seqpipe"),
    (lambda a: a.dataset_strategy(((3, 1),)), ValueRangeError, "(3, 1)"),
    (lambda a: a.dataset_strategy(["data_parallel"]), ValueRangeError, "tuple"),
    (lambda a: ms.set_auto_parallel_context(pipeline_config={"pipeline_interleave": True}), ValueRangeError, "interleave"),
    (lambda a: ms.set_auto_parallel_context(pipeline_config={"stages": 2}), ValueRangeError, "no 'stages'"),
    (lambda a: ms.set_auto_parallel_context(parallel_optimizer_config=3), ArgumentError, "is a dict"),
    (lambda a: ms.set_auto_parallel_context(dataset_strategy=3), ValueRangeError, "dataset_strategy"),
    (lambda a: ms.set_auto_parallel_context(strategy_ckpt_save_file=3), ArgumentError, "is a str"),
    (lambda a: ms.set_auto_parallel_context(comm_fusion=[1]), ArgumentError, "is a dict")])
def test_what_there_is_not_is_refused(call, error, text):
    with pytest.raises(error) as raised:
        call(AutoParallel(network()))
    assert text in str(raised.value) and ms.get_auto_parallel_context("comm_fusion") is None


def test_stages_are_not_searched():
    def run():
        with pytest.raises(ValueRangeError, match="finds none"):
            AutoParallel(network(1), "recursive_programming").pipeline(2)
        with pytest.raises(ArgumentError, match="the network has none"):
            AutoParallel(network(1)).pipeline(2)(Tensor(X), Tensor(Y))
        layouts = AutoParallel(network(1)).pipeline(2).dataset_strategy(((2, 1), (1, 1)))
        with pytest.raises(ValueRangeError, match="no Layouts"):
            layouts(Tensor(X), Tensor(Y))
    SimWorld(2).run(run)


def test_parts_of_inputs_are_numbers_of_parts():
    """As MindSpore's dataset_strategy has them: the first input's rows are split, the second input is whole."""
    def run():
        made = AutoParallel(lambda x, w: ops.matmul(x, w)).dataset_strategy(((2, 1), (1, 1)))
        return made(Tensor(X), Tensor(X[:6].T[:, :3])).full_tensor().asnumpy(), made.explain()
    for value, text in SimWorld(2).run(run):
        np.testing.assert_allclose(value, X @ X[:6].T[:, :3], rtol=1e-5, atol=1e-5)
        assert "mesh dp 2" in text
