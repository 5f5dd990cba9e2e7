"""A run that is killed and goes on gives the bits of one that was not; a file of another training changes nothing."""
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import mindlite as ms
from mindlite import amp, dataset, nn, ops
from mindlite.common.errors import ArgumentError, FileFormatError, ValueRangeError
from mindlite.train import load_state, save_state

PROGRAM = """
import os, sys
import numpy as np
import mindlite as ms
from mindlite import amp, dataset, nn
from mindlite.common.config import config
from mindlite.train import Callback, Model, SaveState, load_state
config.set(mode=int(sys.argv[2]), progress=False)
ms.set_seed(11)
random = np.random.default_rng(0)
x, y = random.normal(size=(24, 3)).astype(np.float32), random.normal(size=(24, 1)).astype(np.float32)
data = dataset.NumpySlicesDataset((x, y), shuffle=True).batch(4)
net = nn.SequentialCell(nn.Dense(3, 8), nn.Dropout(p=0.5), nn.Dense(8, 1))
manager = amp.DynamicLossScaleManager(1024, 2, 5)
model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), nn.CosineDecayLR(0.001, 0.1, 18)), loss_scale_manager=manager)
state = load_state(sys.argv[1] + "/run.ckpt", network=model.train_network, scaler=manager, dataset=data)

calls, last_call = 0, int(sys.argv[4])
def count(frame, event, argument):                   # every call and return of a function, Python's or C's
    global calls
    calls += 1
    if calls == last_call:
        os.kill(os.getpid(), 9)

class Kill(Callback):
    def on_train_step_end(self, run_context):
        sys.setprofile(count)
        step = (run_context.original_args().cur_epoch_num - 1) * 6 + (run_context.original_args().cur_step_num - 1) % 6 + 1
        print(step, flush=True)
        if step == int(sys.argv[3]):
            os.kill(os.getpid(), 9)
if state is None or state["epoch"] < 3:
    model.train(3, data, callbacks=[Kill(), SaveState(sys.argv[1] + "/run.ckpt", 1)] if int(sys.argv[3]) % 2 else
                [SaveState(sys.argv[1] + "/run.ckpt", 2), Kill()], initial_epoch=state["epoch"] if state else 0)
sys.setprofile(None)
print("calls", calls)
with open(sys.argv[1] + "/end", "wb") as stream:
    for p in model.train_network.get_parameters():
        stream.write(p.name.encode() + p.asnumpy().tobytes())
    stream.write(repr((manager.loss_scale, manager.cur_iter)).encode())
"""


def start(folder, mode, kill, calls=0):
    """Run the program. kill : after which step it kills itself; calls : after how many calls of functions, from the end of its
    first step on; -1, 0: not at all"""
    return subprocess.run([sys.executable, "-c", PROGRAM, str(folder), str(mode), str(kill), str(calls)], capture_output=True,
                          text=True, env={**os.environ, "MINDLITE_COMPILE_WORKERS": "0"})


def test_a_run_that_is_killed_gives_the_bits_of_one_that_is_not(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    assert start(whole, ms.GRAPH_MODE, -1).returncode == 0
    assert start(broken, ms.GRAPH_MODE, 9).returncode == -9            # within the second epoch, before its step is saved
    last = start(broken, ms.GRAPH_MODE, -1)
    assert last.returncode == 0, last.stderr
    assert last.stdout.split()[0] == "9" and last.stdout.split()[-3] == "18"
    assert (whole / "end").read_bytes() == (broken / "end").read_bytes()


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_in_eager_mode(tmp_path):
    """Bit by bit: the switch `repeatable` lets the first step of a process be computed as the others are."""
    for kill in (-1, 4, 11, -1):
        folder = tmp_path / ("whole" if kill == -1 and not (tmp_path / "whole").exists() else "broken")
        folder.mkdir(exist_ok=True)
        assert start(folder, ms.PYNATIVE_MODE, kill).returncode == (0 if kill < 0 else -9)
    ends = [ms.load_checkpoint(str(tmp_path / name / "run.ckpt")) for name in ("whole", "broken")]
    assert list(ends[0]) == list(ends[1]) and int(ends[1]["epoch"]) == 3
    for name, value in ends[0].items():
        if not isinstance(value, str):
            np.testing.assert_array_equal(ends[1][name].asnumpy(), value.asnumpy(), name)


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_moment_goes_on(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    calls = int(start(whole, 0, -1).stdout.split()[-1]) // 17        # of one step and its file
    killed = [start(broken, 0, -1, int(share * calls)).returncode
              for share in (0.05, *np.random.default_rng(0).uniform(0, 3, 5))]
    assert killed.count(-9) == 6 and (broken / "run.ckpt").exists()      # within a step, a file, or between them
    assert start(broken, 0, -1).returncode == 0
    assert (whole / "end").read_bytes() == (broken / "end").read_bytes()


def parts():
    net = nn.Dense(2, 2)
    return net, nn.Adam(net.trainable_params()), amp.DynamicLossScaler(64.0, 2, 3)


def test_generators_go_on_where_they_were(tmp_path):
    ms.set_seed(5)
    net, optimizer, scaler = parts()
    ops.rand(3), np.random.rand(3), random.random()
    save_state(tmp_path / "s", network=net, optimizer=optimizer, scaler=scaler, epoch=2, step=3, note="n", best=0.5)

    def draws():
        return [ops.rand(3).asnumpy().tolist(), np.random.rand(3).tolist(), random.random(),
                nn.Dense(2, 2).weight.asnumpy().tolist()]
    expected = draws()
    draws()
    other, moments, scale = parts()
    state = load_state(tmp_path / "s", network=other, optimizer=moments, scaler=scale)
    assert state == {"epoch": 2, "step": 3, "note": "n", "best": 0.5} and draws() == expected
    assert np.array_equal(other.weight.asnumpy(), net.weight.asnumpy())


def test_a_file_of_another_training_changes_nothing(tmp_path):
    net, optimizer, scaler = parts()
    save_state(tmp_path / "s", network=net, optimizer=optimizer)
    other = nn.SequentialCell(nn.Dense(2, 2), nn.Dense(2, 3))
    before = [p.asnumpy().copy() for p in other.get_parameters()]
    with pytest.raises(FileFormatError, match="another training"):
        load_state(tmp_path / "s", network=other)
    assert all(np.array_equal(a, p.asnumpy()) for a, p in zip(before, other.get_parameters()))
    ms.save_checkpoint(net, str(tmp_path / "c.ckpt"), crc_check=True)
    with pytest.raises(FileFormatError, match="no state"):
        load_state(tmp_path / "c.ckpt", network=net)
    data = bytearray((tmp_path / "s").read_bytes())
    data[40] ^= 1
    (tmp_path / "s").write_bytes(data)
    with pytest.raises(FileFormatError):
        load_state(tmp_path / "s", network=net)
    assert load_state(tmp_path / "nowhere", network=net) is None


def test_what_cannot_go_on_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="without Parameters"):
        save_state(tmp_path / "s", scaler=3.0)
    with pytest.raises(ArgumentError, match="'x' is a list"):
        save_state(tmp_path / "s", x=[1])
    save_state(tmp_path / "s", network=nn.ReLU(), dataset=[1, 2])
    with pytest.raises(ArgumentError, match="cannot begin elsewhere"):
        load_state(tmp_path / "s", dataset=[1, 2])
    before = dataset.config.get_seed()
    dataset.config.set_seed(5489)
    shuffled = dataset.NumpySlicesDataset([1, 2, 3], shuffle=True)
    with pytest.raises(ValueRangeError, match="shuffled by chance"):
        save_state(tmp_path / "s", dataset=shuffled)
    dataset.config.set_seed(before)
