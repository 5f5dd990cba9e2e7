"""Sums that are made where they are read: the graph, its values, and whose memory it is."""
import ast
import importlib
import math

import launch
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.errors import RankError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_rank
from mindlite.communication.simulation import SimEngine
from mindlite.communication.windows import LINE, Windows, starts
from mindlite.ops.collectives import all_reduce, all_reduce_coalesced
from mindlite.ops.rank_program import open_window, read_window
from mindlite.parallel import Layout

windows = importlib.import_module("mindlite.parallel.windows")
X = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
F32 = np.dtype(np.float32)


@pytest.fixture
def near(monkeypatch):
    """Simulated ranks that read each other's memory, as far as programs know; small sums count."""
    monkeypatch.setattr(SimEngine, "is_near", lambda self, group: True)
    monkeypatch.setattr(windows, "LEAST", 64)


def train(way):
    """The losses of three steps, the weights, and what was sent."""
    ms.set_seed(1)
    ms.set_auto_parallel_context(parallel_mode="data_parallel" if way == "data" else "stand_alone", gradients_mean=True)
    engine().pace = 1e-6, 1e-6                               # computing is dear, so that small programs are split
    net, mesh = nn.SequentialCell(*[nn.Dense(16, 16, activation=nn.Tanh()) for _ in range(3)]), Layout((engine().size,), ("dp",))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    rows = np.tile(X, (16, 1))                               # many: gradients are smaller than activations
    x = Tensor(rows).to_global(mesh("dp")) if way != "data" else Tensor(np.array_split(rows, engine().size)[get_rank()])
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    run = ms.jit(lambda x: step(x, x), fullgraph=True)
    losses = [float(run(x)) for _ in range(3)]
    return losses, [param.asnumpy() for param in net.trainable_params()], engine().sent


@pytest.mark.parametrize("way, size", [("data", 2), ("data", 3), ("plan", 2)])
def test_values_and_bytes_are_those_of_sums_that_travel(way, size, graphs, monkeypatch):
    travelled = SimWorld(size).run(train, way)
    assert not any(node.fn in (open_window, read_window) for graph in graphs for node in graph.nodes)
    del graphs[:]
    monkeypatch.setattr(SimEngine, "is_near", lambda self, group: True)
    monkeypatch.setattr(windows, "LEAST", 64)
    read = SimWorld(size).run(train, way)
    fns = [node.fn for node in graphs[-1].nodes]
    assert read_window in fns and all_reduce_coalesced not in fns
    for (losses, weights, sent), (wanted, others, counted) in zip(read, travelled):
        assert losses == wanted and sent == counted
        for a, b in zip(weights, others):
            np.testing.assert_array_equal(a, b)


def summed(x):
    """One sum whose result is the function's, one with two readers."""
    total = all_reduce(x)
    twice = all_reduce(x * 2)
    return total, twice.max(), twice - x


def test_a_sum_may_be_a_result_and_have_several_readers(near):
    def rank():
        mine = Tensor(X + get_rank())
        return [part.asnumpy() for part in ms.jit(summed, fullgraph=True)(mine)]
    for number, (total, most, rest) in enumerate(SimWorld(2).run(rank)):
        whole = X + (X + 1)
        np.testing.assert_array_equal(total, whole)
        np.testing.assert_array_equal(rest, 2 * X + 2 * (X + 1) - (X + number))
        assert most == (2 * X + 2 * (X + 1)).max()


@pytest.mark.parametrize("change", [{"reduction": "max"}, {"rows": 1}, {"dtype": "float16"}, {"size": 5}, {"largest": 9}],
                         ids=str)
def test_other_sums_travel(change, near, graphs, monkeypatch):
    monkeypatch.setattr(windows, "LARGEST", change.get("largest", windows.LARGEST))

    def rank():
        x = Tensor(X[:change.get("rows", 8), :8 if "rows" in change else 16].astype(change.get("dtype", "float32")))
        return ms.jit(lambda x: all_reduce(x, reduction=change.get("reduction", "sum")) + 1, fullgraph=True)(x).asnumpy()
    SimWorld(change.get("size", 2)).run(rank)
    assert not any(node.fn is read_window for graph in graphs for node in graph.nodes)


def doubled(x):
    """A sum that differs between ranks, on a line of its own."""
    y = x + 1
    total = all_reduce(y)
    return total * 2


@pytest.mark.parametrize("least", [64, 1 << 20], ids=["read", "travels"])
def test_ranks_that_differ_are_told_apart_at_the_line_of_the_sum(least, near, monkeypatch):
    monkeypatch.setattr(windows, "LEAST", least)

    def rank():
        x = Tensor(X if get_rank() == 0 else X.T.copy())
        return ms.jit(doubled, fullgraph=True)(x)
    with pytest.raises(RankError) as caught:
        SimWorld(2).run(rank)
    assert "float32[8, 16]" in str(caught.value) and "float32[16, 8]" in str(caught.value)
    assert caught.value.location.source().strip() == "total = all_reduce(y)"


# ---------------------------------------------------------------- whose memory it is

def make(nbytes, shapes, dtype):
    return np.zeros((2, 2, nbytes), np.uint8)


def test_halves_take_turns_only_where_ranks_have_met():
    of = Windows(0, make)
    first = of.open(((3,), (2, 2)), F32)
    place = first.mine[0].ctypes.data
    assert [array.shape for array in first.mine] == [(3,), (2, 2)] and first.mine[1].ctypes.data == place + LINE
    del first                                                # the run ended before it met the others
    second = of.open(((3,), (2, 2)), F32)
    assert second.mine[0].ctypes.data == place
    theirs = second.met()
    assert len(theirs) == 4 and theirs[0] is second.mine[0]
    del second, theirs
    third = of.open(((3,), (2, 2)), F32)
    assert third.mine[0].ctypes.data != place
    third.met()
    del third
    assert of.open(((3,), (2, 2)), F32).mine[0].ctypes.data == place
    assert len(of.memories) == 1


def test_a_run_inside_of_a_run_has_memory_of_its_own():
    of = Windows(1, make)
    outer = of.open(((5,),), F32)
    inner = of.open(((5,),), F32)
    assert not np.shares_memory(outer.memory.halves, inner.memory.halves)
    del inner
    again = of.open(((5,),), F32)
    assert len(of.memories) == 2 and again.memory is not outer.memory


def test_a_larger_window_takes_the_place_of_a_smaller_one_that_nobody_uses():
    of = Windows(0, make)
    used = of.open(((5,),), F32)
    of.open(((6,),), F32)
    large = of.open(((1 << 16,),), F32)
    assert len(of.memories) == 2 and large.memory.nbytes >= 1 << 18 and used.memory in of.memories


def test_arrays_begin_at_cache_lines():
    assert starts(((3,), (), (17,)), F32) == [0, 64, 128, 256]


PROGRAM = '''
import sys
import numpy as np
import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.ranks import engine
from mindlite.communication import get_group_size, get_rank, init
from mindlite.ops.collectives import all_reduce


def train():
    rng = np.random.default_rng(0)
    net = nn.SequentialCell(nn.Dense(64, 300), nn.Tanh(), nn.Dense(300, 64))
    for param in net.trainable_params():
        param.set_data(Tensor(rng.standard_normal(param.shape).astype(np.float32) * 0.1))
    x, y = rng.standard_normal((2, 16, 64)).astype(np.float32)
    rows = slice(get_rank() * 16 // get_group_size(), (get_rank() + 1) * 16 // get_group_size())
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    run = ms.jit(lambda x, y: step(x, y), fullgraph=True)
    losses = [float(run(Tensor(x[rows]), Tensor(y[rows]))) for _ in range(6)]
    return float(np.mean(losses[-1:])), float(abs(net[0].weight.asnumpy()).sum())


def fails(x, y):
    z = all_reduce(x @ x) * 2
    if y > 0:
        raise ValueError("no positive numbers")
    return z + all_reduce(z)


if __name__ == "__main__":
    init(timeout=60)
    here = engine()
    copied, real = [], type(here).put_down

    def put_down(self, window, arrays, ranks):
        copied.append(sum([array is not mine for mine, array in zip(window.mine, arrays)]))
        return real(self, window, arrays, ranks)
    type(here).put_down = put_down
    found = train()
    x, kept = Tensor(np.full((128, 128), get_rank() + 1, np.float32)), []
    compiled = ms.jit(fails)
    values = []
    for y in (-1, 1, -1, 1, -1):
        try:
            values.append(float(compiled(x, Tensor(np.float32(y))).max()))
        except ValueError as error:
            if get_rank() == 0:
                kept.append(error)                           # its traceback knows the frames of the run
    memories = [len(one.memories) for one in here.windows.values()]
    sys.stdout.write(f"rank {get_rank()}: {(found, copied[:6], values, memories)!r}\\n")
'''


def test_processes_write_gradients_where_all_read_them(tmp_path):
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    status, out, err = launch.mpirun(2, program)
    assert status == 0, err
    lines = sorted(line for line in out.splitlines() if line.startswith("rank "))
    (first, copied, values, memories), (second, *others) = [ast.literal_eval(line.split(": ", 1)[1]) for line in lines]
    assert copied == [0] * 6 and others == [copied, values, memories]
    assert memories and max(memories) <= 2                   # one for each sum of a run
    assert first[1] == second[1]                             # the weights, in each bit
    assert values == [128 * (1 + 4) * 2 * 3] * 3
    space = {"__name__": "program"}
    exec(compile(PROGRAM, str(program), "exec"), space)
    _, weights = SimWorld(1).run(space["train"])[0]
    assert math.isclose(first[1], weights, rel_tol=1e-5)


def test_a_rank_that_holds_a_window_longer_is_told(tmp_path):
    """It would read another memory than the others write: an error on all ranks, no other numbers."""
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text('''
import numpy as np
from mindlite.communication import get_rank, init
from mindlite.common.ranks import engine
init()
here, group, x = engine(), (0, 1), np.ones((64, 512), np.float32)
larger, window = [here.open_window(((rows, 512),), x.dtype, group) for rows in (512, 64)]         # two memories
here.read_window(larger, [np.ones((512, 512), np.float32)], group)
here.read_window(window, [x], group)
kept = window if get_rank() == 0 else None
del larger, window
here.read_window(here.open_window((x.shape,), x.dtype, group), [x], group)
''')
    status, _, err = launch.mpirun(2, program)
    assert status != 0 and "do not do the same" in err and "in memory 0, half" in err and "in memory 1, half" in err, err
