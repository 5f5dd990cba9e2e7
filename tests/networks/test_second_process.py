"""A program that runs again compiles nothing: machine code is kept on disk; damaged files are made again."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import mindlite

PROGRAM = '''
import json, warnings
import numpy as np
import mindlite as ms
from mindlite import nn, ops
from mindlite.common.events import counters

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.dense = nn.Conv2d(1, 4, 3, pad_mode="valid"), nn.Dense(4 * 5 * 5, 10)
        self.pool, self.flatten, self.relu = nn.MaxPool2d(2, 2), nn.Flatten(), nn.ReLU()

    def construct(self, x):
        return self.dense(self.flatten(self.pool(self.relu(self.conv(x)))))

ms.set_seed(1)
net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = nn.Adam(net.trainable_params(), 1e-2)
grad_fn = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)

def eager_step(x, y):
    loss, grads = grad_fn(x, y)
    optimizer(grads)
    return loss

step = ms.jit(eager_step)
rng = np.random.default_rng(0)
x = ms.Tensor(rng.normal(size=(4, 1, 12, 12)).astype(np.float32))
y = ms.Tensor(rng.integers(0, 10, 4).astype(np.int32))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    losses = [float(f(x, y)) for f in (eager_step,) * 3 + (step,) * 3]
print(json.dumps({"losses": losses, "counters": dict(counters), "told": [str(w.message) for w in told]}))
'''


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run PROGRAM in a process of its own; one cache directory for all calls."""
    folder = tmp_path_factory.mktemp("second_process")
    program, cache = folder / "program.py", folder / "cache"
    program.write_text(PROGRAM)
    root = str(pathlib.Path(mindlite.__file__).parents[1])

    def start():
        environment = {**os.environ, "MINDLITE_CACHE_DIR": str(cache), "PYTHONPATH": root}
        done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True,
                              timeout=900)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return start, cache


def test_the_second_process_compiles_nothing_and_a_damaged_file_is_made_again(run):
    start, cache = run
    first = start()
    losses, counters = first["losses"], first["counters"]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] and first["told"] == []
    assert counters["kernel_compile"] > 0 and counters["flow_compile"] > 0
    second = start()
    assert second["losses"] == losses and second["told"] == []
    assert second["counters"].get("kernel_compile", 0) == second["counters"].get("flow_compile", 0) == 0
    assert second["counters"]["kernel_load"] > 0 and second["counters"]["flow_load"] > 0

    files = sorted(path for path in cache.rglob("*") if path.is_file())
    assert len(files) >= counters["kernel_compile"]
    kernels = [path for path in files if "kernels-" in str(path)]
    flows = [path for path in files if path not in kernels and path.suffix == ".o"]
    cut, changed = kernels[0], flows[0]
    cut.write_bytes(cut.read_bytes()[:100])                              # half a file
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 255                                           # one byte is another one
    changed.write_bytes(data)
    third = start()
    assert third["losses"] == losses
    assert third["counters"]["kernel_compile"] == third["counters"]["flow_compile"] == 1
    assert len({*third["told"]}) == 2 and all("damaged" in text for text in third["told"])
    assert start()["told"] == []
