"""Model: a training is what its steps are by hand, in every mode; hooks come in order; what does not fit is refused."""
import math

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, amp, nn, ops
from mindlite.common.config import config
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.train import Callback, DatasetHelper, LambdaCallback, Model, ProgressBar, get_metrics

RANDOM = np.random.default_rng(3)
DATA = RANDOM.normal(size=(40, 3)).astype(np.float32)
LABEL = (DATA @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype(np.float32)


class Batches:
    """A data set of columns: batches in order, again and again, as a data set of mindlite.dataset is asked for them."""

    def __init__(self, *columns, size=8):
        self.columns, self.size, self.passes, self.resets = columns, size, 0, 0

    def get_dataset_size(self):
        return len(self.columns[0]) // self.size

    def create_tuple_iterator(self, num_epochs=-1):
        return self

    def __iter__(self):
        self.passes += 1
        for begin in range(0, self.get_dataset_size() * self.size, self.size):
            yield tuple(Tensor(column[begin:begin + self.size]) for column in self.columns)

    def reset(self):
        self.resets += 1


@pytest.fixture(autouse=True)
def quiet():
    before = config.set(progress=False)
    yield
    config.set(**before)


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = config.set(mode=request.param)
    yield request.param
    config.set(**before)


def network():
    return nn.Dense(3, 1, weight_init="zeros", bias_init="zeros")


def model_of(net, **settings):
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    return Model(net, nn.MSELoss(), optimizer, **settings)


def by_hand(epochs, steps=5):
    net = network()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)).set_train()
    data = list(Batches(DATA, LABEL))
    for number in range(epochs * steps):
        step(*data[number % 5])
    return net.weight.asnumpy()


def test_a_training_is_its_steps_by_hand(mode):
    net, data = network(), Batches(DATA, LABEL)
    model_of(net).train(3, data)
    assert np.allclose(net.weight.asnumpy(), by_hand(3), atol=1e-6) and data.passes == 3 and data.resets == 3


@pytest.mark.parametrize("sink_size", [-1, 2])
def test_steps_that_run_in_one_call_give_the_same_numbers_and_one_step_end(mode, sink_size):
    net, seen = network(), []
    note = LambdaCallback(on_train_step_end=lambda run: seen.append(run.original_args().cur_step_num))
    model_of(net).train(3, Batches(DATA, LABEL), callbacks=note, dataset_sink_mode=True, sink_size=sink_size)
    steps = 5 if sink_size == -1 else 2
    assert np.allclose(net.weight.asnumpy(), by_hand(3, steps), atol=1e-6)
    assert seen == ([steps, 2 * steps, 3 * steps] if mode == ms.GRAPH_MODE else list(range(1, 3 * steps + 1)))


def test_a_round_of_steps_is_one_graph_without_fallbacks():
    before = config.set(mode=ms.GRAPH_MODE)
    net = network()
    model = model_of(net)
    model.train(2, Batches(DATA, LABEL), dataset_sink_mode=True)
    config.set(**before)
    assert "1 graph, 2 call(s); nothing runs in Python" in model._sink.loop.explain()


def test_hooks_come_in_order_around_epochs_steps_and_the_evaluation_between_them(mode):
    calls = []

    class Note(Callback):
        def __enter__(self):
            calls.append("enter")
            return self

        def __exit__(self, *error):
            calls.append("exit")
    for when in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"):
        for kind in ("train", "eval"):
            def hook(self, run_context, name=f"{kind} {when}"):
                calls.append(name)
            setattr(Note, f"on_{kind}_{when}", hook)
    net = network()
    model_of(net, metrics={"loss"}).fit(2, Batches(DATA[:16], LABEL[:16]), Batches(DATA[:8], LABEL[:8]), valid_frequency=2,
                                        callbacks=Note())
    epoch = ["train epoch_begin"] + ["train step_begin", "train step_end"] * 2
    evaluation = ["enter", "eval begin", "eval epoch_begin", "eval step_begin", "eval step_end", "eval epoch_end", "eval end",
                  "exit"]
    plain = [c for c in calls if c not in ("enter", "exit")]
    assert plain == ["train begin", *epoch, "train epoch_end", *epoch, *evaluation[1:-1], "train epoch_end", "train end"]
    assert calls[0] == "enter" and calls[-1] == "exit"


def test_step_and_epoch_numbers_begin_where_the_training_does(mode):
    seen = []
    note = LambdaCallback(on_train_step_end=lambda run: seen.append(
        (run.original_args().cur_epoch_num, run.original_args().cur_step_num, run.original_args().batch_num)))
    model_of(network()).train(3, Batches(DATA[:16], LABEL[:16]), callbacks=[note], initial_epoch=1)
    assert seen == [(2, 1, 2), (2, 2, 2), (3, 3, 2), (3, 4, 2)]


def test_a_stop_that_is_requested_ends_the_epoch_and_the_training(mode):
    ends = []
    stop = LambdaCallback(on_train_step_end=lambda run: run.request_stop() if run.original_args().cur_step_num == 2 else None,
                          on_train_epoch_end=lambda run: ends.append("epoch"), on_train_end=lambda run: ends.append("end"))
    data = Batches(DATA, LABEL)
    model_of(network()).train(4, data, callbacks=stop)
    assert ends == ["epoch", "end"] and data.passes == 1


def test_metrics_are_given_in_each_form(mode):
    net = network()
    data = Batches(DATA, LABEL)
    expected = float(np.square(LABEL).mean())
    found = model_of(net, metrics={"loss", "mse"}).eval(data)
    assert found == {"loss": pytest.approx(expected), "mse": pytest.approx(expected)} and not net.training
    by_name = Model(net, nn.MSELoss(), metrics=get_metrics({"mae"})).eval(data)
    assert by_name == {"mae": pytest.approx(float(np.abs(LABEL).mean()))}
    alone = Model(net, eval_network=nn.WithEvalCell(net, nn.MSELoss()), eval_indexes=[0, 1, 2], metrics={"mse"}).eval(data)
    assert alone == {"mse": pytest.approx(expected)}

    class LossAlone(nn.Cell):
        def construct(self, data, label):
            return ops.mean(ops.square(label))
    assert Model(net, eval_network=LossAlone(), metrics={"loss"}).eval(data)["loss"] == pytest.approx(expected)


def test_what_fit_evaluated_stands_in_the_arguments_of_the_epochs_end():
    seen = []
    note = LambdaCallback(on_train_epoch_end=lambda run: seen.append(dict(run.original_args().get("eval_results", {}))))
    model_of(network(), metrics={"mse"}).fit(3, Batches(DATA, LABEL), Batches(DATA, LABEL), valid_frequency=[1, 3],
                                             callbacks=note)
    assert [sorted(results) for results in seen] == [["eval_loss", "mse"], [], ["eval_loss", "mse"]]
    assert seen[2]["mse"] < seen[0]["mse"] and seen[0]["mse"] == pytest.approx(seen[0]["eval_loss"], rel=1e-5)


def test_predict_runs_the_network_outside_training(mode):
    net = nn.SequentialCell(nn.Dense(3, 1, weight_init="ones", bias_init="zeros"), nn.Dropout(p=0.9))
    net.set_train()
    assert np.allclose(Model(net).predict(Tensor(DATA)).asnumpy(), DATA.sum(axis=1, keepdims=True), atol=1e-5)
    with pytest.raises(ValueRangeError, match="backend"):
        Model(net).predict(Tensor(DATA), backend="gpu")


@pytest.mark.parametrize("manager", [amp.FixedLossScaleManager(64.0), amp.DynamicLossScaleManager(64.0, 2, 3),
                                     amp.FixedLossScaleManager(64.0, drop_overflow_update=False)])
@pytest.mark.parametrize("sink", [False, True])
def test_a_scaled_loss_trains_to_the_same_weights(mode, manager, sink):
    net = network()
    scale = 64.0 if manager.get_update_cell() is None else 1.0
    model = Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9, loss_scale=scale),
                  loss_scale_manager=manager)
    model.train(2, Batches(DATA, LABEL), dataset_sink_mode=sink)
    assert np.allclose(net.weight.asnumpy(), by_hand(2), atol=1e-5)


def test_a_step_that_overflows_changes_no_weight_and_halves_the_scale(mode):
    net, manager = network(), amp.DynamicLossScaleManager(1024.0, 2, 100)
    broken = DATA.copy()
    broken[0, 0] = np.inf
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.05), loss_scale_manager=manager)
    model.train(1, Batches(broken[:8], LABEL[:8]))
    assert not net.weight.asnumpy().any() and manager.get_loss_scale() == 512.0
    assert model.train_network.scale_sense.asnumpy() == 512.0


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto"])
def test_numbers_of_classes_stay_whole_numbers_at_every_level(mode, level):
    net = nn.SequentialCell(nn.Dense(3, 2, weight_init="zeros", bias_init="zeros"))
    labels = (LABEL[:, 0] > 0).astype(np.int32)
    model = Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), nn.SGD(net.trainable_params(), 0.0),
                  metrics={"loss", "acc"}, amp_level=level)
    model.train(1, Batches(DATA, labels))
    assert model.eval(Batches(DATA, labels)) == {"loss": pytest.approx(math.log(2), rel=1e-3),
                                                 "acc": pytest.approx((labels == 0).mean())}


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_a_level_of_mixed_precision_trains_near_float32(mode, level):
    net = network()
    Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9), amp_level=level,
          loss_scale_manager=None).train(2, Batches(DATA, LABEL))
    assert np.allclose(net.weight.asnumpy(), by_hand(2), atol=2e-2) and net.weight.asnumpy().any()


def test_parts_of_a_batch_add_up_to_its_gradient(mode):
    net = network()
    whole = nn.GradAccumulationCell(nn.WithLossCell(net, nn.MSELoss()), 4)
    Model(whole, optimizer=nn.Momentum(net.trainable_params(), 0.05, 0.9)).train(2, Batches(DATA, LABEL))
    assert np.allclose(net.weight.asnumpy(), by_hand(2), atol=1e-5)
    with pytest.raises(ShapeError, match="3 equal parts"):
        nn.GradAccumulationCell(nn.WithLossCell(net, nn.MSELoss()), 3)(Tensor(DATA[:8]), Tensor(LABEL[:8]))


def test_build_compiles_without_a_step():
    before = config.set(mode=ms.GRAPH_MODE)
    net = network()
    model = model_of(net, metrics={"loss"})
    model.build(Batches(DATA, LABEL), Batches(DATA, LABEL))
    config.set(**before)
    assert not net.weight.asnumpy().any()


def test_what_does_not_fit_is_refused():
    net, loss = network(), nn.MSELoss()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    for error, make in (
            (KeyError, lambda: Model(net, loss, metrics={"top1"})), (ValueError, lambda: Model(net, metrics={"loss"})),
            (TypeError, lambda: Model(net, loss, metrics=["loss"])), (TypeError, lambda: Model(net, loss, metrics={"a": None})),
            (ValueError, lambda: Model(net, eval_network=net, eval_indexes=[], metrics={"loss"})),
            (ValueError, lambda: Model(net, amp_level="O2")), (ValueError, lambda: Model(net, unknown=1)),
            (ValueError, lambda: Model(net, loss, loss_scale_manager=amp.FixedLossScaleManager())),
            (TypeError, lambda: Model(lambda x: x))):
        with pytest.raises(error):
            make()
    model, data = Model(net, loss, optimizer, metrics={"loss"}), Batches(DATA, LABEL)
    for error, call in (
            (TypeError, lambda: model.train(2, data, dataset_sink_mode="True")), (ValueError, lambda: model.train(0, data)),
            (ValueError, lambda: model.train(3, data, initial_epoch=3)), (TypeError, lambda: model.train(1.5, data)),
            (ValueError, lambda: model.train(1, data, sink_size=0)), (TypeError, lambda: model.train(1, 5)),
            (ValueError, lambda: model.train(1, Batches(DATA[:4], LABEL[:4]))),
            (ValueError, lambda: model.train(1, Batches(DATA))), (TypeError, lambda: model.train(1, data, callbacks=[3])),
            (ValueError, lambda: Model(net, loss, optimizer).eval(data)),
            (ValueError, lambda: Model(net, loss, optimizer).fit(1, data, data))):
        with pytest.raises(error):
            call()


def test_a_data_set_belongs_to_one_model():
    data, model = Batches(DATA, LABEL), model_of(network())
    model.train(1, data)
    with pytest.raises(RuntimeError, match="another Model"):
        model_of(network()).train(1, data)


def test_progress_is_a_line_an_epoch_where_nobody_looks_on(capsys):
    model_of(network()).train(2, Batches(DATA, LABEL), callbacks=ProgressBar(bar=False))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all(word in lines[0] for word in ("loss ", "lr 0.05", "5 steps", "waiting for data"))


def test_progress_is_shown_unless_losses_are_printed_or_it_is_switched_off(capsys):
    config.set(progress=True)
    model_of(network()).train(1, Batches(DATA, LABEL))
    assert "epoch 1/1" in capsys.readouterr().err
    model_of(network()).train(1, Batches(DATA, LABEL), callbacks=ms.train.LossMonitor())
    assert "epoch 1/1" not in capsys.readouterr().err


def test_only_callbacks_are_callbacks():
    with pytest.raises(ArgumentError, match="Callback"):
        LambdaCallback(on_train_end=3)


def test_a_dataset_helper_gives_the_batches_of_each_pass():
    data = ms.dataset.NumpySlicesDataset({"a": np.arange(6, dtype=np.float32)}, shuffle=False).batch(2)
    helper = DatasetHelper(data, dataset_sink_mode=False, epoch_num=2)
    for _ in range(2):
        assert [batch.tolist() for batch, in helper] == [[0, 1], [2, 3], [4, 5]]
    assert helper.sink_size() == 3 and helper.types_shapes() == ([ms.float32], [[2]])
    for arguments in ({}, {"dataset_sink_mode": False, "sink_size": 0}):
        with pytest.raises(ValueRangeError, match="DatasetHelper"):
            DatasetHelper(data, **arguments)
