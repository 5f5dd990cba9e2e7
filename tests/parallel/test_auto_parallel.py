"""AutoParallel and plan: found placements train as one process does; what is found follows sizes, prices and memory."""
from html.parser import HTMLParser

import numpy as np
import pytest

import mindlite as ms
from mindlite import Model, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.functional.plan import plan
from mindlite.functional.zero import bytes_here
from mindlite.nn.auto_parallel import AutoParallel
from mindlite.parallel import Layout
from mindlite.parallel.machine import Machine

RNG = np.random.default_rng(2)
SMALL, WIDE = (32, 8, 8, 4), (4, 512, 1024, 512)              # rows, features: much data; much network
DATA = {sizes: [RNG.standard_normal((sizes[0], n)).astype(np.float32) for n in (sizes[1], sizes[3])] for sizes in (SMALL, WIDE)}


def training_step(sizes):
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(sizes[1], sizes[2]), nn.Tanh(), nn.Dense(sizes[2], sizes[3]))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.1))
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    return net, nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()


def train(sizes, mode, prepare=None):
    """(losses, bytes of Parameters here, the Plan's placements) of three steps."""
    net, step = training_step(sizes)
    x, y = DATA[sizes]
    found = None
    if mode is not None:
        step = AutoParallel(step, mode)
        if prepare is not None:
            prepare(step)
        rows = slice(get_rank() * sizes[0] // engine().size, (get_rank() + 1) * sizes[0] // engine().size)
        x, y = x[rows], y[rows]
    losses = [float(step(Tensor(x), Tensor(y))) for _ in range(3)]
    if mode is not None and step.found is not None:
        found = {param.name: str(placement) for param, placement in step.found.parameters.items()}
    return losses, bytes_here(net.trainable_params()), found


@pytest.mark.parametrize("sizes", [SMALL, WIDE], ids=["much data", "much network"])
@pytest.mark.parametrize("mode", ["semi_auto", "sharding_propagation", "recursive_programming"])
def test_each_mode_trains_as_one_process(sizes, mode):
    alone, whole, _ = train(sizes, None)
    for losses, here, found in SimWorld(2).run(train, sizes, mode):
        np.testing.assert_allclose(losses, alone, rtol=1e-5)
        assert here <= whole and (found is None) == (mode == "semi_auto")
        if mode == "recursive_programming" and sizes == WIDE:            # column, then row (Shoeybi et al. 2019)
            assert (found["0.weight"], found["2.weight"]) == ("(S0)", "(S1)") and here < 0.6 * whole


@pytest.mark.parametrize("way", ["model", "function"])
def test_a_network_with_its_loss_and_a_function_train_as_a_step(way):
    """Model puts the training step into the AutoParallel that it is given, with its settings, as on MindSpore's pages."""
    def run():
        net, step = training_step(SMALL)
        optimizer = step.optimizer
        if way == "model":
            wished = AutoParallel(nn.WithLossCell(net, nn.MSELoss())).hsdp(threshold=0)
            step = Model(wished, optimizer=optimizer).train_network
        else:
            grads = ms.value_and_grad(lambda x, y: nn.MSELoss()(net(x), y), None, net.trainable_params())

            def train(x, y):
                loss, found = grads(x, y)
                optimizer(found)
                return loss
            step = AutoParallel(train)
            with pytest.raises(ArgumentError, match="strategy files name Parameters"):
                named = AutoParallel(train)
                named.save_param_strategy_file("placements.json")
                named(*map(Tensor, DATA[SMALL]))
        rows = slice(get_rank() * SMALL[0] // 2, (get_rank() + 1) * SMALL[0] // 2)
        return [float(step(*[Tensor(array[rows]) for array in DATA[SMALL]])) for _ in range(3)], \
            optimizer.moments[0].placement if way == "model" else None
    alone, _, _ = train(SMALL, None)
    for losses, placement in SimWorld(2).run(run):
        np.testing.assert_allclose(losses, alone, rtol=1e-5)
        assert str(placement) == ("(S0)" if way == "model" else "None")


def test_hsdp_is_zero():
    alone, whole, _ = train(SMALL, None)
    for losses, here, _ in SimWorld(2).run(
            train, SMALL, "semi_auto", lambda step: step.hsdp(threshold=0, optimizer_level="level3")):
        np.testing.assert_allclose(losses, alone, rtol=1e-5)
        assert here == whole / 2


def test_found_placements_are_kept_in_a_file(tmp_path):
    path = str(tmp_path / "placements.json")
    first = SimWorld(2).run(train, WIDE, "recursive_programming", lambda step: step.save_param_strategy_file(path))
    again = SimWorld(2).run(train, WIDE, "semi_auto", lambda step: step.load_param_strategy_file(path))
    assert [here for _, here, _ in again] == [here for _, here, _ in first]
    np.testing.assert_allclose(again[0][0], first[0][0], rtol=1e-5)


def test_the_whole_batch_and_layouts_of_inputs():
    def run(strategy):
        layout = Layout((2,), ("dp",))
        step = AutoParallel(training_step(SMALL)[1])
        assert step.dataset_strategy("full_batch" if strategy else (layout("dp"), None)) is step
        return [float(step(*map(Tensor, DATA[SMALL]))) for _ in range(2)], step.explain()
    alone = train(SMALL, None)[0][:2]
    for strategy in (True, False):
        for losses, text in SimWorld(2).run(run, strategy):
            np.testing.assert_allclose(losses, alone, rtol=1e-5)
            assert "mesh dp 2" in text


def test_memory_is_a_constraint():
    def run():
        _, step = training_step(SMALL)
        layout, data = Layout((2,), ("dp",)), tuple(map(Tensor, DATA[SMALL]))
        free = plan(step, layout, *data, parameters="free")
        tight = plan(step, layout, *data, parameters="free", memory=int(free.memory * 0.7))
        with pytest.raises(ValueRangeError, match="bytes"):
            plan(step, layout, *data, parameters="free", memory=8)
        assert "0.weight" in tight.report() and "bytes of Parameters" in tight.report()
        return free.memory, tight.memory, free.seconds <= tight.seconds, engine().sent
    for free, tight, dearer, sent in SimWorld(2).run(run):
        assert tight <= 0.7 * free and dearer and not sent    # nothing was run


class Attention(nn.Cell):
    """Self-attention of two heads, a norm, and a number for each row."""

    def __init__(self):
        super().__init__()
        self.mixed, self.norm, self.last = nn.Dense(16, 48), nn.LayerNorm((16,)), nn.Dense(16, 1)

    def construct(self, x):
        q, k, v = [self.mixed(x).reshape(-1, 64, 3, 2, 8)[:, :, i].swapaxes(1, 2) for i in range(3)]
        mixed = ops.matmul(ops.softmax(ops.matmul(q, k.swapaxes(2, 3)), -1), v).swapaxes(1, 2).reshape(-1, 64, 16)
        return self.last(self.norm(x + mixed)).reshape(-1, 64)


MUCH_DATA = {                                    # network, the shapes of a batch and of what it should give
    "MLP": (lambda: nn.SequentialCell(nn.Dense(32, 48), nn.ReLU(), nn.Dense(48, 8)), (8192, 32), (8192, 8)),
    "convolutions": (lambda: nn.SequentialCell(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(16),
        nn.Flatten()), (256, 3, 16, 16), (256, 8)),
    "attention": (Attention, (256, 64, 16), (256, 64)),
}


@pytest.mark.parametrize("name", sorted(MUCH_DATA))
def test_of_much_data_each_rank_takes_some_and_gradients_are_added_up(name):
    """Data parallel is found: each gradient is added up once, though Adam reads it twice; beside them only numbers of statistics
    travel, and no activation does."""
    make, *shapes = MUCH_DATA[name]

    def run():
        net = make()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params())).set_train()
        found = plan(step, Layout((2,), ("dp",)), *[Tensor(np.zeros(shape, np.float32)) for shape in shapes], machine=Machine())
        return found, sum(param.nbytes for param in net.trainable_params()), found.report()
    (found, weights, report), _ = SimWorld(2).run(run)
    assert found.points[0] < 0.55 * found.points[1], report
    assert set(found.sent) == {"all_reduce"} and weights <= found.sent["all_reduce"][1] <= weights + 600, report


def test_prices_decide():
    def run():
        _, step = training_step(WIDE)
        layout, data = Layout((2,), ("dp",)), tuple(map(Tensor, DATA[WIDE]))
        plans = [plan(step, layout, *data, machine=machine) for machine in (Machine(), Machine(byte=1.0))]
        return [sum(nbytes for _, nbytes in found.sent.values()) for found in plans]
    for cheap, dear in SimWorld(2).run(run):
        assert dear < cheap or cheap == 0


@pytest.mark.parametrize("settings", [{"parallel_mode": "semi_auto_parallel", "enable_parallel_optimizer": True,
                                       "parallel_optimizer_threshold": 0},
                                      {"parallel_mode": "auto_parallel", "full_batch": True},
                                      {"parallel_mode": "auto_parallel", "search_mode": "sharding_propagation"}], ids=str)
def test_a_model_trains_on_all_ranks_as_the_settings_say(settings):
    def fit():
        net, step = training_step(SMALL)
        x, y = DATA[SMALL]
        if engine().size > 1:
            ms.set_auto_parallel_context(**settings)
            if not settings.get("full_batch"):
                half = slice(get_rank() * 16, get_rank() * 16 + 16)
                x, y = x[half], y[half]
        optimizer = step.optimizer
        model = Model(net, nn.MSELoss(), optimizer)
        data = ms.dataset.NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(len(x))
        model.train(3, data, dataset_sink_mode=True)
        here = bytes_here(optimizer.get_parameters()) - bytes_here(optimizer.parameters)
        return [param.asnumpy() for param in net.trainable_params()], here, type(model.train_network).__name__
    weights, whole, _ = fit()
    for found, here, name in SimWorld(2).run(fit):
        assert name == "AutoParallel"
        assert here < 0.7 * whole or not settings.get("enable_parallel_optimizer")
        for got, want in zip(found, weights, strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)


class _Page(HTMLParser):
    """Which tags are open, and the text of each cell."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.bars = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br") and not tag.startswith("!"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")
        if tag == "div":
            self.bars.append(dict(attrs)["style"])

    def handle_endtag(self, tag):
        while self.open.pop() != tag:                        # <p> may stay open
            pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_a_plan_is_drawn_and_two_are_compared():
    """The page has a row and a bar for each step; a diff has what one plan does and the other does not."""
    def run():
        layout, given = Layout((2,), ("dp",)), tuple(map(Tensor, DATA[SMALL]))
        plans = [plan(training_step(SMALL)[1], layout, *given, parameters="free", machine=machine)
                 for machine in (Machine(), Machine(point=1e-3))]
        page = _Page()
        page.feed(plans[1].html())
        sent = [step for *_, steps in plans[1].boxings for step in steps]
        assert len(page.bars) == len(sent) and "table" not in page.open
        assert [cell for cell in page.cells if cell in {f"{step.nbytes:,}" for step in sent}]
        assert all(param.name in page.cells for param in plans[1].parameters)
        difference = plans[0].diff(plans[1])
        assert plans[0].diff(plans[0]) == "" and "\n-mesh" in difference and "\n+mesh" in difference
        return True
    assert all(SimWorld(2).run(run))


def test_what_is_no_auto_parallel_is_refused():
    def run():
        net, layout = nn.Dense(2, 2), Layout((2,), ("dp",))
        for error, wrong in ((ArgumentError, lambda: AutoParallel(3)),
                             (ValueRangeError, lambda: AutoParallel(net, "best")),
                             (ValueRangeError, lambda: AutoParallel(net).hsdp(optimizer_level="level4")),
                             (ValueRangeError, lambda: AutoParallel(net).hsdp(shard_size=3)),
                             (ValueRangeError, lambda: AutoParallel(net).dataset_strategy("half")),
                             (ArgumentError, lambda: AutoParallel(net).hsdp()(Tensor(np.ones((2, 2), np.float32)))),
                             (ArgumentError, lambda: ms.jit(AutoParallel(net).construct)(Tensor(np.ones((2, 2), np.float32)))),
                             (ArgumentError, lambda: plan(net, 2)),
                             (ValueRangeError, lambda: plan(net, layout, parameters="any"))):
            with pytest.raises(error):
                wrong()
        return True
    assert SimWorld(2).run(run) == [True] * 2
