"""Callbacks: what they print, record, stop, change and write."""
import os
import signal

import numpy as np
import pytest
from test_model import DATA, LABEL, Batches, by_hand, model_of, network, quiet  # noqa: F401

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.train import (BackupAndRestore, Callback, CheckpointConfig, EarlyStopping, FlopsUtilizationCollector,
                            History, LambdaCallback,
                            LearningRateScheduler, LossMonitor, ModelCheckpoint, OnRequestExit, ReduceLROnPlateau, RunContext,
                            TimeMonitor)
from mindlite.train.callback import RunArguments


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(callback, values, monitor="eval_loss", rate=0.1):
    """Let a callback see one epoch for each value; gives (epochs that ran, learning rates after them)."""
    net = network()
    optimizer = nn.SGD(net.trainable_params(), rate)
    args = RunArguments(train_network=net, optimizer=optimizer, cur_epoch_num=0, net_outputs=Tensor(1.0))
    context, rates = RunContext(args), []
    callback.on_train_begin(context)
    for number, value in enumerate(values):
        net.weight.set_data(Tensor(np.full((1, 3), number, np.float32)))
        args.cur_epoch_num = number + 1
        args.eval_results = {monitor: value}
        callback.on_train_epoch_end(context)
        rates.append(round(float(optimizer.learning_rate.asnumpy()), 6))
        if context.get_stop_requested():
            break
    callback.on_train_end(context)
    return len(rates), rates, net


def test_losses_are_printed_every_so_many_steps(capsys):
    model_of(network()).train(2, Batches(DATA, LABEL), callbacks=LossMonitor(2))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"epoch: {e} step: {s}" for e, s in (
        (1, 2), (1, 4), (2, 1), (2, 3), (2, 5))]
    assert float(lines[0].split(" is ")[1]) > float(lines[-1].split(" is ")[1])


def test_a_loss_that_is_not_finite_ends_the_training():
    with pytest.raises(ValueRangeError, match="epoch 1, step 1 the loss is nan"):
        model_of(network()).train(1, Batches(DATA * np.nan, LABEL), callbacks=LossMonitor())


def test_times_are_printed_for_each_epoch(capsys):
    model_of(network(), metrics={"loss"}).fit(1, Batches(DATA, LABEL), Batches(DATA, LABEL),
                                              callbacks=TimeMonitor(data_time=True))
    train, evaluation = sorted(capsys.readouterr().out.splitlines(), key=len, reverse=True)
    assert train.startswith("Train epoch time: ") and " ms, per step time: " in train and "(data time: " in train
    assert evaluation.startswith("Eval epoch time: ")


def test_a_history_is_recorded():
    history = History()
    model_of(network(), metrics={"mse"}).fit(3, Batches(DATA, LABEL), Batches(DATA, LABEL), callbacks=history)
    assert history.epoch == {"epoch": [1, 2, 3]} and list(history.history) == ["net_output", "mse"]
    assert history.history["mse"][0] > history.history["mse"][2] and len(history.history["net_output"]) == 3


def test_a_function_sets_the_learning_rate_of_each_step():
    seen = []

    def halve(rate, step):
        seen.append((round(rate, 6), step))
        return rate / 2
    net = network()
    optimizer = nn.SGD(net.trainable_params(), 0.08)
    model = ms.Model(net, nn.MSELoss(), optimizer)
    model.train(1, Batches(DATA[:24], LABEL[:24]), callbacks=LearningRateScheduler(halve))
    assert seen == [(0.08, 1), (0.04, 2), (0.02, 3)] and optimizer.learning_rate.asnumpy() == np.float32(0.01)
    groups = nn.SGD(net.trainable_params(), [0.1, 0.2])
    with pytest.raises(ArgumentError, match="no single number"):
        ms.Model(net, nn.MSELoss(), groups).train(1, Batches(DATA, LABEL), callbacks=LearningRateScheduler(halve))


def test_training_stops_when_nothing_gets_better():
    assert run(EarlyStopping(patience=2), [3, 2, 2, 2, 1])[0] == 4
    assert run(EarlyStopping(patience=2, min_delta=0.5), [3, 2.7, 2.6, 2.4, 1, 0])[0] == 3
    assert run(EarlyStopping("acc", patience=2), [0.1, 0.2, 0.2, 0.15, 0.3], "acc")[0] == 4
    assert run(EarlyStopping("acc", patience=1, mode="min"), [0.1, 0.2, 0.3], "acc")[0] == 2
    assert run(EarlyStopping(patience=2, baseline=1.0), [3, 2, 0.5])[0] == 2
    assert run(EarlyStopping(patience=1), [1, 0, 0, 5])[0] == 3                      # a value of 0 counts


def test_the_best_weights_come_back(capsys):
    epochs, _, net = run(EarlyStopping(patience=2, restore_best_weights=True, verbose=True), [3, 1, 2, 2, 0])
    assert epochs == 4 and np.array_equal(net.weight.asnumpy(), np.ones((1, 3)))
    assert "Epoch 00004: early stopping" in capsys.readouterr().out


def test_the_learning_rate_falls_when_nothing_gets_better(capsys):
    assert run(ReduceLROnPlateau(factor=0.5, patience=2, verbose=True), [3, 3, 3, 3, 3])[1] == [0.1, 0.1, 0.05, 0.05, 0.025]
    assert run(ReduceLROnPlateau(factor=0.5, patience=1, cooldown=2), [3, 3, 3, 3, 3])[1] == [0.1, 0.05, 0.05, 0.025, 0.025]
    assert run(ReduceLROnPlateau(factor=0.5, patience=1, min_lr=0.04), [3] * 5)[1] == [0.1, 0.05, 0.04, 0.04, 0.04]
    assert "Epoch 00003: the learning rate is reduced" in capsys.readouterr().out


def test_what_is_watched_must_be_there(caplog):
    assert run(EarlyStopping(patience=1), [3, 3, 3], "other")[0] == 3
    assert "no eval_loss" in caplog.text
    for error, make in ((ValueError, lambda: EarlyStopping(mode="best")), (TypeError, lambda: EarlyStopping(patience=1.5)),
                        (ValueError, lambda: ReduceLROnPlateau(factor=2.0)), (ValueError, lambda: EarlyStopping(patience=-1))):
        with pytest.raises(error):
            make()


def test_files_are_named_by_epoch_and_step_and_the_last_ones_are_kept(folder):
    net = network()
    keeper = ModelCheckpoint("net", "files", CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=3,
                                                              append_info=["epoch_num", "step_num", {"rate": 0.5}]))
    model_of(net).train(2, Batches(DATA, LABEL), callbacks=keeper)
    assert sorted(os.listdir("files")) == ["net-2_1.ckpt", "net-2_3.ckpt", "net-2_5.ckpt"]
    found = ms.load_checkpoint(keeper.latest_ckpt_file_name)
    assert {"weight", "bias", "moments.weight", "moments.bias", "learning_rate", "global_step"} <= set(found)
    assert (int(found["epoch_num"]), int(found["step_num"]), float(found["rate"])) == (2, 10, 0.5)
    assert np.array_equal(found["weight"].asnumpy(), net.weight.asnumpy())
    again = ModelCheckpoint("net", "files", CheckpointConfig(save_checkpoint_steps=100))
    model_of(network()).train(1, Batches(DATA, LABEL), callbacks=again)
    assert os.path.basename(again.latest_ckpt_file_name) == "net_1-1_5.ckpt"


def test_one_file_is_kept_for_some_minutes(monkeypatch):
    clock = iter(range(0, 10000, 20))
    monkeypatch.setattr("mindlite.train.saving.time.time", lambda: next(clock))
    config = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    model_of(network()).train(2, Batches(DATA, LABEL), callbacks=ModelCheckpoint("m", "files", config))
    assert sorted(os.listdir("files")) == ["m-1_1.ckpt", "m-1_4.ckpt", "m-2_2.ckpt", "m-2_5.ckpt"]


@pytest.mark.parametrize("settings", [dict(async_save=True), dict(format="safetensors"), dict(crc_check=True),
                                      dict(enc_key=b"0123456789abcdef")])
def test_files_are_written_as_the_settings_say(settings):
    config = CheckpointConfig(save_checkpoint_steps=5, **settings)
    keeper = ModelCheckpoint("net", "files", config)
    model_of(network()).train(1, Batches(DATA, LABEL), callbacks=keeper)
    path = keeper.latest_ckpt_file_name
    assert path.endswith(settings.get("format", "ckpt"))
    found = ms.load_checkpoint(path, crc_check="crc_check" in settings, dec_key=settings.get("enc_key"))
    assert np.allclose(found["weight"].asnumpy(), by_hand(1), atol=1e-6)


def test_names_may_come_from_functions():
    keeper = ModelCheckpoint(lambda args: f"e{args.cur_epoch_num}", lambda args: f"d{args.cur_epoch_num}",
                             CheckpointConfig(save_checkpoint_steps=5))
    model_of(network()).train(2, Batches(DATA, LABEL), callbacks=keeper)
    assert os.path.exists("d1/e1.ckpt") and os.path.exists("d2/e2.ckpt")


def test_a_training_that_fails_leaves_a_file():
    def fail(run_context):
        if run_context.original_args().cur_step_num == 3:
            raise RuntimeError("power cut")
    keeper = ModelCheckpoint("net", "files", CheckpointConfig(save_checkpoint_steps=100, exception_save=True,
                                                              append_info=["step_num"]))
    with pytest.raises(RuntimeError, match="power cut"):
        model_of(network()).train(1, Batches(DATA, LABEL), callbacks=[keeper, LambdaCallback(on_train_step_end=fail)])
    assert os.listdir("files") == ["net-1_3_breakpoint.ckpt"]
    assert int(ms.load_checkpoint("files/net-1_3_breakpoint.ckpt")["step_num"]) == 3


def test_a_configuration_is_checked():
    config = CheckpointConfig()
    assert (config.save_checkpoint_seconds, config.keep_checkpoint_per_n_minutes) == (None, None)
    assert config.get_checkpoint_policy()["keep_checkpoint_max"] == 5
    for error, make in (
            (TypeError, lambda: CheckpointConfig("abc")), (ValueError, lambda: CheckpointConfig(-1)),
            (ValueError, lambda: CheckpointConfig(0, 0, 0, 0)), (TypeError, lambda: CheckpointConfig(saved_network=3)),
            (ValueError, lambda: CheckpointConfig(append_info=["other"])), (TypeError, lambda: CheckpointConfig(append_info="a")),
            (TypeError, lambda: CheckpointConfig(append_info=[{"a": []}])), (ValueError, lambda: CheckpointConfig(format="x")),
            (ValueError, lambda: ModelCheckpoint("a/b")), (TypeError, lambda: ModelCheckpoint("a", config=3))):
        with pytest.raises(error):
            make()


def test_a_backup_is_where_the_next_training_begins():
    net = network()
    model_of(net).train(2, Batches(DATA, LABEL), callbacks=BackupAndRestore("backup", delete_checkpoint=False))
    other = network()
    model_of(other).train(1, Batches(DATA, LABEL), callbacks=BackupAndRestore("backup"))
    assert np.allclose(other.weight.asnumpy(), by_hand(3), atol=1e-6) and os.listdir("backup") == []


def test_a_signal_ends_the_training_after_its_step_and_the_next_one_goes_on():
    def interrupt(run_context):
        if run_context.original_args().cur_step_num == 5:
            os.kill(os.getpid(), signal.SIGUSR1)
    before = signal.getsignal(signal.SIGUSR1)
    net, steps = network(), []
    exits = OnRequestExit(save_mindir=False, file_name="n", directory="files", sig=signal.SIGUSR1)
    model_of(net).train(4, Batches(DATA, LABEL), callbacks=[exits, LambdaCallback(
        on_train_step_begin=interrupt, on_train_step_end=lambda run: steps.append(run.original_args().cur_step_num))])
    assert steps == [1, 2, 3, 4, 5] and signal.getsignal(signal.SIGUSR1) == before
    other = network()
    exits = OnRequestExit(save_mindir=False, file_name="n", directory="files", sig=signal.SIGUSR1)
    model_of(other).train(1, Batches(DATA, LABEL), callbacks=exits)
    assert np.allclose(other.weight.asnumpy(), by_hand(2), atol=1e-6)
    with pytest.raises(ValueRangeError, match="SIGKILL"):
        OnRequestExit(sig=signal.SIGKILL)


def test_a_callback_may_give_another_one_when_it_is_entered():
    seen = []

    class Inner(Callback):
        def on_train_begin(self, run_context):
            seen.append("inner")

    class Outer(Callback):
        def __enter__(self):
            return Inner()
    model_of(network()).train(1, Batches(DATA, LABEL), callbacks=[Outer()])
    assert seen == ["inner"]


def test_the_arithmetic_of_a_step_is_counted_in_its_graph(capsys, tmp_path, monkeypatch):
    """One product forward, [8, 3] x [3, 1], and one backward for the weight: 2 * 8 * 3 each."""
    monkeypatch.setenv("MA_LOG_DIR", str(tmp_path))
    collector = FlopsUtilizationCollector(5, computility=1e9, enable_ma_collector=True)
    before = ms.get_context("mode")
    try:
        ms.set_context(mode=ms.GRAPH_MODE)
        model_of(network()).train(2, Batches(DATA, LABEL), callbacks=collector)
    finally:
        ms.set_context(mode=before)
    first, *epochs = capsys.readouterr().out.splitlines()
    assert first.startswith("Full model flops is 96, ") and len(epochs) == 2 and all("mfu:" in line for line in epochs)
    assert ' 96 ' in (tmp_path / "flops_rank_0.txt").read_text() and (tmp_path / "time_step_rank_0.txt").exists()
    with pytest.raises(ValueRangeError, match="no compiled graph"):
        ms.set_context(mode=ms.PYNATIVE_MODE)
        try:
            model_of(network()).train(1, Batches(DATA, LABEL), callbacks=FlopsUtilizationCollector(5))
        finally:
            ms.set_context(mode=before)
    for settings in ({"data_size": 0}, {"data_size": 1, "computility": 0}, {"data_size": 1, "full_flops": 1}):
        with pytest.raises((ValueError, TypeError), match="FlopsUtilizationCollector"):
            FlopsUtilizationCollector(**settings)


def test_the_graph_of_a_training_is_written_once(folder):
    before = ms.get_context("mode")
    try:
        ms.set_context(mode=ms.GRAPH_MODE)
        files = ModelCheckpoint("net", str(folder), CheckpointConfig(5))
        model_of(network()).train(1, Batches(DATA, LABEL), callbacks=files)
    finally:
        ms.set_context(mode=before)
    assert "batch_matmul" in (folder / "net-graph.meta").read_text()
    os.remove(folder / "net-graph.meta")
    context = RunContext(RunArguments(cur_step_num=10, cur_epoch_num=2, batch_num=5, train_network=network(), epoch_num=2))
    files.step_end(context)                                  # the hooks without train_ in their name are its own
    assert sorted(os.listdir(folder)) == ["net-1_5.ckpt", "net-2_5.ckpt"]
