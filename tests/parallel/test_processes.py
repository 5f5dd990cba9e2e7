"""shard in processes: the same losses as one process, and each process computes its part."""
import ast

import launch
import numpy as np
import pytest

PROGRAM = '''
import sys
import numpy as np
import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.ranks import engine
from mindlite.communication import get_group_size, get_rank, init
from mindlite.parallel import Layout


def train(split):
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Tanh(), nn.Dense(8, 4))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.4))
    x, y = Tensor(rng.standard_normal((5, 6)).astype(np.float32)), Tensor(rng.standard_normal((5, 4)).astype(np.float32))
    model = net
    if split:
        layout = Layout((get_group_size(),), ("mp",))
        model = net.shard((None,), None, {"0.weight": layout("mp"), "0.bias": layout("mp"), "2.weight": layout("None", "mp")})
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    grads = ms.value_and_grad(lambda x, y: nn.MSELoss()(model(x), y), None, net.trainable_params())

    def step(x, y):
        loss, found = grads(x, y)
        optimizer(found)
        return loss
    step = ms.jit(step)
    losses = [float(step(x, y)) for _ in range(5)]
    plan = step.compiled.latest().compiled.plan
    return losses, None if plan is None else (plan.points[0] / plan.points[1], plan.sent == {
        name: [calls // 5, sent // 5] for name, (calls, sent) in engine().sent.items()})


if __name__ == "__main__":
    init()
    assert engine().link[0] > 0 and engine().pace[0] > 0
    engine().link, engine().pace = None, (1e-6, 1e-6)        # round prices: what a busy machine measures decides otherwise
    sys.stdout.write(f"rank {get_rank()}: {train(True)!r}\\n")
'''


def test_two_processes_train_as_one(tmp_path):
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    space = {"__name__": "program"}
    exec(compile(PROGRAM, str(program), "exec"), space)
    losses, plan = space["train"](False)
    assert plan is None
    status, out, err = launch.mpirun(2, program)
    assert status == 0, err
    lines = sorted(line for line in out.splitlines() if line.startswith("rank "))
    assert len(lines) == 2
    for line in lines:
        got, (share, counted) = ast.literal_eval(line.split(": ", 1)[1])
        np.testing.assert_allclose(got, losses, rtol=1e-5)
        assert share < 0.8 and counted                       # the optimiser runs in whole on each


MEMORY = '''
import resource
import sys
import tracemalloc
import numpy as np
import mindlite as ms
from mindlite import Tensor
from mindlite.common.config import config
from mindlite.common.ranks import engine
from mindlite.communication import get_group_size, get_rank, init
from mindlite.parallel import Layout, from_local, load_sharded_checkpoint, save_sharded_checkpoint

SIZE, WHOLE = 8192, 8192 * 8192 * 4


def peak_of(function):
    """The most bytes of new arrays while it runs."""
    tracemalloc.start()
    result = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak / WHOLE


if __name__ == "__main__":
    config.set(cache_dir="")                                # what compiles is in memory before it is measured
    init()
    rows, columns = [Layout((get_group_size(),), ("x",))(*words) for words in (("x", "None"), ("None", "x"))]
    small = from_local(Tensor(np.ones((2, 2), np.float32)), rows)
    step = ms.jit(lambda w: (w * 2 + 1).sum())
    step(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    weight = from_local(Tensor.from_numpy(np.full((SIZE // get_group_size(), SIZE), get_rank() + 1.0, np.float32)), rows)
    total = float(step(weight))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / WHOLE
    sent = sum(nbytes for _, nbytes in engine().sent.values())
    _, saving = peak_of(lambda: save_sharded_checkpoint({"weight": weight}, sys.argv[1]))
    other = from_local(Tensor(np.zeros((SIZE, SIZE // get_group_size()), np.float32)), columns)
    _, loading = peak_of(lambda: load_sharded_checkpoint(sys.argv[1], {"weight": other}))
    part = other.to_local().asnumpy()
    sys.stdout.write(f"rank {get_rank()}: {(total, grown, sent, saving, loading, float(part[0, 0]), float(part[-1, 0]))}\\n")
'''


def test_no_rank_has_the_memory_for_all(tmp_path):
    """A weight of 256 MiB on two ranks: neither computing with it nor a checkpoint needs it whole anywhere."""
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text(MEMORY)
    status, out, err = launch.mpirun(2, program, str(tmp_path / "kept"))
    assert status == 0, err
    lines = [line for line in out.splitlines() if line.startswith("rank ")]
    assert len(lines) == 2
    for line in lines:
        total, grown, sent, saving, loading, first, last = ast.literal_eval(line.split(": ", 1)[1])
        assert total == 8192 * 8192 * 4.0 and (first, last) == (1.0, 2.0)
        assert 0.45 < grown < 0.7 and 0 < sent < 100         # its half; what travels is a number
        assert saving < 0.1 and loading < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_lenet_and_a_small_gpt_train_on_ranks_as_planned(ranks):
    launch.needs_mpi()
    pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    status, out, err = launch.mpirun(ranks, launch.HERE / "examples" / "many_ranks.py", "--steps", "3", limit=500)
    assert status == 0, out + err
    assert f"LeNet-5 on {ranks} ranks" in out and f"A small GPT on {ranks} ranks" in out
