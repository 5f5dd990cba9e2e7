"""A profiler's trace: spans with the user's lines, of the steps that a schedule says, in a file that Perfetto opens."""
import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.debug.profiler import (ExportType, Profiler, ProfilerAction, ProfilerActivity, ProfilerLevel, _ExperimentalConfig,
                                     mstx, profile, schedule, tensorboard_trace_handler)

X = Tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
compiled = ms.jit(lambda x: ops.tanh(x) * 2, fullgraph=True)


def spans(prof, kind):
    return [name for name, of_kind, *_ in prof.spans if of_kind == kind]


def test_operators_stand_in_order_with_their_lines_and_cells():
    class Block(nn.Cell):
        def construct(self, x):
            return ops.exp(ops.relu(x))

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.block = Block()

        def construct(self, x):
            return self.block(x)

    net = Net()
    with profile(record_shapes=True) as prof:
        y = net(X) + 1
    assert spans(prof, "operator") == ["relu", "exp", "add"] and y.shape == (3, 4)
    found = prof.spans[1][4]
    assert Path(found["line"].rpartition(":")[0]).name == "test_profiler.py" and found["cell"].endswith("block")
    assert prof.spans[0][4]["shapes"] == ["f32[3, 4]"] and all(spent > 0 for _, _, _, spent, _ in prof.spans)
    starts = [start for _, _, start, _, _ in prof.spans]
    assert starts == sorted(starts)


def test_a_compiled_function_stays_compiled_and_is_one_span():
    want = compiled(X).asnumpy()
    with profile() as prof:
        found = compiled(X)
    assert spans(prof, "graph") == ["<lambda>"] and not spans(prof, "operator")
    np.testing.assert_array_equal(found.asnumpy(), want)


def test_what_is_compiled_meanwhile_is_seen():
    with profile() as prof:
        ms.jit(lambda x: ops.sin(x) - 3, fullgraph=True)(X)
    assert {more["stage"] for _, kind, _, _, more in prof.spans if kind == "compile"} >= {"variant"}


def test_a_training_step_gives_the_same_numbers_and_its_gradient_is_a_span():
    def train(record):
        net = nn.Dense(4, 2, weight_init="ones", bias_init="zeros")
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        grads = ms.value_and_grad(lambda x: ops.tanh(net(x)).sum(), None, optimizer.parameters)
        prof = profile(start_profile=record)
        for _ in range(3):
            optimizer(grads(X)[1])
            prof.step()
        prof.stop()
        return net.weight.asnumpy(), prof
    (plain, _), (watched, prof) = train(False), train(True)
    np.testing.assert_array_equal(plain, watched)
    assert spans(prof, "backward") == ["backward"] * 3 and spans(prof, "step") == ["step 0", "step 1", "step 2"]


def test_a_schedule_says_which_steps_and_each_record_is_handed_over():
    ready = []
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1),
                 on_trace_ready=lambda prof: ready.append(spans(prof, "step"))) as prof:
        for _ in range(12):
            ops.exp(X)
            prof.step()
    assert ready == [["step 3", "step 4"], ["step 7", "step 8"]]
    plan = schedule(wait=1, active=2, repeat=1)
    assert [plan(k).name for k in range(4)] == ["NONE", "RECORD", "RECORD_AND_SAVE", "NONE"]
    assert plan(1) is ProfilerAction.RECORD


def test_the_files_are_a_trace_and_a_table(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path), "me")) as prof:
        ops.exp(X), ops.exp(X)
        number = mstx.range_start("outer")
        mstx.mark("here")
        mstx.range_end(number)
        prof.add_metadata("run", "7")
        prof.add_metadata_json("sizes", "[3, 4]")
    folder, = tmp_path.iterdir()
    trace = json.loads((folder / "trace_view.json").read_text())
    events = {event["name"]: event for event in trace["traceEvents"]}
    assert folder.name.startswith("me_") and trace["metadata"] == {"run": "7", "sizes": [3, 4]}
    assert events["exp"]["ph"] == "X" and events["here"]["ph"] == "i" and events["outer"]["dur"] > 0
    assert events["outer"]["ts"] <= events["here"]["ts"] <= events["outer"]["ts"] + events["outer"]["dur"]
    rows = list(csv.DictReader((folder / "op_statistic.csv").open()))
    assert [(row["kind"], row["name"], row["calls"]) for row in rows if row["kind"] == "operator"] == [("operator", "exp", "2")]


def test_mindspores_older_class_writes_where_it_is_told(tmp_path):
    prof = Profiler(output_path=str(tmp_path), profiler_level=ProfilerLevel.Level0, start_profile=False)
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        prof.analyse()
    prof.start()
    ops.exp(X)
    prof.analyse()
    assert (next(tmp_path.iterdir()) / "trace_view.json").is_file()
    assert __import__("mindlite.mindspore", fromlist=["Profiler"]).Profiler is Profiler


def test_after_the_end_nothing_is_recorded_and_an_error_ends_it_too():
    with pytest.raises(ZeroDivisionError), profile() as prof:
        1 / 0
    count = len(prof.spans)
    ops.exp(X)
    assert len(prof.spans) == count and mstx.range_start("late") == 0
    with profile() as again:
        ops.exp(X)
    assert spans(again, "operator") == ["exp"]


def test_one_records_at_a_time():
    with profile(), pytest.raises(RuntimeError, match="one profiler records at a time"):
        profile()


def test_what_is_not_recorded_is_said():
    with pytest.warns(UserWarning, match="profile_memory, NPU: not recorded"):
        profile([ProfilerActivity.CPU, ProfilerActivity.NPU], profile_memory=True, start_profile=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile([ProfilerActivity.CPU], experimental_config=_ExperimentalConfig(), start_profile=False)
    with pytest.raises(TypeError, match="data base"):
        profile(experimental_config=_ExperimentalConfig(export_type=[ExportType.Db]))


@pytest.mark.parametrize("make", [
    lambda: profile(["cpu"]), lambda: profile(schedule=3), lambda: profile(experimental_config=4), lambda: Profiler(depth=3),
    lambda: schedule(wait=1.5, active=1), lambda: tensorboard_trace_handler(4), lambda: mstx.mark("")])
def test_what_is_no_argument_is_refused(make):
    with pytest.raises(TypeError):
        make()
    with pytest.raises(ValueError):
        schedule(wait=0, active=0)
