"""Ranks as processes: the same values as in a simulated world, and an end for all when one fails."""
import json
import re
import shutil
import sys
import time

import launch
import numpy as np
import pytest

from mindlite.communication import SimWorld
from mindlite.communication.mpi import share_of_cores

PROGRAM = '''
import json
import os
import signal
import sys
import time
import warnings
import numpy as np
import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.communication import comm_func, create_group, get_group_size, get_rank, init
from mindlite.common.errors import RankError
from mindlite.ops.collectives import (all_gather, all_reduce, all_reduce_coalesced, all_to_all, broadcast_from, receive,
                                      reduce_scatter, reduce_to, send)


def beside(large, x):
    """Two collectives of megabytes, of which the second begins before the first is read."""
    total, gathered = all_reduce(large), all_gather(large)
    return (total * 2).max() + gathered[-1] * ops.tanh(x).mean()


def values():
    """Every collective, small and large, even and uneven, narrow and wide; and two steps of data-parallel training."""
    rank, size = get_rank(), get_group_size()
    x = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2) + rank)
    sizes = (3, 2, 4, 1)[:size]
    mine = Tensor(np.full((sizes[rank], 2), rank, np.float64))
    gathered = all_gather(mine, sizes=sizes)
    large = Tensor(np.arange(3 << 19, dtype=np.float32) % 1000 * (rank + 1))
    most = Tensor(np.full(300, np.finfo(np.float32).max, np.float32))
    missing = Tensor(np.array([1.0, np.nan, -np.inf, np.nan][rank:] + [2.0] * rank, np.float32))
    none = Tensor(np.zeros((0, 3), np.float32))
    turned = ms.ops.transpose(Tensor(np.arange(600, dtype=np.float32).reshape(2, 300) * (rank + 1)), (1, 0))
    create_group("last two", [size - 2, size - 1])
    create_group("first and last", [0, size - 1])
    if rank == 0:
        send(x, to=1, tag=7)
    came = receive(shape=(3, 2), dtype=ms.float32, source=0, tag=7) if rank == 1 else x
    found = [all_reduce(x), all_reduce(x, reduction="max"), all_reduce(x.astype(ms.bfloat16)).astype(ms.float32), gathered,
             reduce_scatter(gathered, sizes=sizes), broadcast_from(x, root=1), reduce_to(x, root=1), came,
             all_to_all(Tensor(np.arange(2 * size) + 10 * rank), split_axis=0, gather_axis=0), all_reduce(large).sum(),
             *[part[::40961] for part in (reduce_scatter(large), broadcast_from(large, root=1), all_gather(large),
                                          all_to_all(large, split_axis=0, gather_axis=0))],
             *[part[::977] for part in all_reduce_coalesced(large[:700], large[1:300000], large[5:9], large[7:400000])],
             all_reduce(x, group="last two") if rank >= size - 2 else x,
             all_reduce(large, group="first and last")[::40961] if rank in (0, size - 1) else x,
             all_reduce(turned), all_gather(turned), all_reduce(most), all_reduce(most[:3].astype(ms.float16)),
             *[part for reduction in ("max", "min") for part in (
                 all_reduce(missing, reduction=reduction), all_reduce(ops.tile(missing, (100,)), reduction=reduction)[:4],
                 reduce_scatter(ops.tile(missing, (100,)), reduction=reduction)[:4])],
             *[each(none) for each in (all_reduce, all_gather, reduce_scatter, broadcast_from)], *all_reduce_coalesced(none, x),
             ms.jit(ms.grad(lambda x: (all_reduce(x) * x).sum()), fullgraph=True)(x), ms.jit(beside, fullgraph=True)(large, x)]
    nearly = large + rank
    behind, handle = comm_func.irecv(large, (rank - 1) % size)         # both ways at once, more than MPI takes without a receiver
    comm_func.isend(nearly, (rank + 1) % size, tag=0)
    nearly += 1e6
    small, before = Tensor(np.zeros(2, np.float32)), Tensor(np.zeros(2, np.float32))
    handles = [ms.mint.distributed.irecv(y, (rank - 1) % size, tag=4) for y in (before, small)]
    for n in range(3):
        ms.mint.distributed.isend(Tensor(np.full(2 + n // 2, 10 * n + rank, np.float32)), (rank + 1) % size, tag=4)
    for pending in (handle, *reversed(handles)):
        pending.wait()
        assert pending.is_completed()
    found += [behind[::40961], before, small, comm_func.recv(Tensor(np.zeros(3, np.float32)), (rank - 1) % size, tag=4),
              comm_func.scatter_tensor(large if rank == 1 else large * np.nan, 1)[::40961], comm_func.gather_into_tensor(x, 1)]
    waiting = [comm_func.all_reduce(x * n, async_op=True) for n in range(3)]
    for out, handle in reversed(waiting):
        handle.wait()
        found.append(out)
    ms.set_seed(3)
    net = nn.SequentialCell(nn.Dense(2, 4), nn.Tanh(), nn.Dense(4, 1))
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, parameter_broadcast=True)
    step = ms.jit(nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9)))
    for _ in range(2):
        step(x, x.sum(1, keepdims=True))
    return [value.asnumpy().tolist() for value in found] + [
        [round(float(p.asnumpy().sum()), 4) for p in net.trainable_params()]]


def fail(how, folder):
    """Rank 1 does not do what the others do. Each writes down its process, and when that was."""
    all_reduce(Tensor([1.0]))
    with open(f"{folder}/{get_rank()}", "w") as stream:
        stream.write(f"{os.getpid()} {time.time()}")
    if get_rank() == 1:
        if how == "raise":
            raise ValueError("the reason")
        if how == "exit":
            sys.exit(3)
        if how in ("kill", "stop"):
            os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        if how == "other":
            all_gather(Tensor([1.0]))
        if how == "shape":
            all_reduce(Tensor([1.0, 2.0]))
        if how == "joined":
            all_reduce_coalesced(Tensor([[1.0]]), Tensor(np.ones(1000, np.float32)))
        if how == "parts":
            all_to_all(Tensor(np.ones(get_group_size() + 1)), split_axis=0, gather_axis=0,
                       splits=(2,) + (1,) * (get_group_size() - 1), gathers=(1,) * get_group_size())
        if how == "axes":
            all_to_all(Tensor(np.ones((get_group_size(), 2, 3))), split_axis=0, gather_axis=0)
        if how == "kind":
            receive(shape=(3,), dtype=ms.float32, source=0, tag=7)
        if how == "interrupt":
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                all_reduce(Tensor([1.0]))
            except TimeoutError:
                all_reduce(Tensor([1.0]))
        if how == "handler":
            signal.signal(signal.SIGALRM, lambda *_: all_reduce(Tensor([5.0])))
            signal.setitimer(signal.ITIMER_REAL, 0.3)
    if how == "caught":
        try:
            all_reduce(Tensor(np.ones(1 + get_rank())))
        except RankError:
            sys.exit(0)
    if how == "joined":
        all_reduce_coalesced(Tensor(np.ones(1000, np.float32)), Tensor([[1.0]]))
    if how == "parts":
        all_to_all(Tensor(np.ones(get_group_size())), split_axis=0, gather_axis=0)
    if how == "axes":
        all_to_all(Tensor(np.ones((get_group_size(), 6))), split_axis=0, gather_axis=0)
    if how == "kind" and get_rank() == 0:
        send(Tensor([1.0, 2.0]), to=1, tag=7)
    if how in ("interrupt", "handler") and get_rank() == 0:
        time.sleep(1)
    all_reduce(Tensor([1.0]))


def interrupt(*_):
    raise TimeoutError


def fork():
    """A process that is forked from a rank is none: it cannot communicate, and its end is not that of the rank."""
    all_reduce(Tensor([1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)      # Python 3.12 and later, of any process with threads that forks
        child = os.fork()
    if child == 0:
        try:
            all_reduce(Tensor([1.0]))
        except RankError as error:
            sys.exit(7 if "forked" in str(error) else 8)
        sys.exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


if __name__ == "__main__":
    init()
    if sys.argv[1:]:
        init(timeout=4)
        fail(*sys.argv[1:])
    from mindlite.common.config import config
    from mindlite.common.ranks import engine
    sys.stderr.write(f"link {engine().link}\\n")
    fork()
    mapped = [line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps")]
    assert not [name for name in mapped if name.startswith("/dev/shm/") and not name.endswith("(deleted)")], "kill -9 leaves it"
    assert any("memfd:mindlite-ranks" in name for name in mapped) == config.shared_memory
    lines = [f"rank {get_rank()}: {json.dumps(values())}\\n"]
    sys.stdout.write(lines[0])
'''
TIMEOUT = 4                                      # seconds, in the program
EXPECTED = {                                     # how rank 1 fails: what is told of it
    "raise": "ValueError: the reason", "exit": "rank 1: collective 2 of the ranks [0, 1]: the end of the program", "kill": "",
    "stop": "rank 0 waits in collective 2 of the ranks [0, 1]: fold by sum of float32[1]",
    "other": "rank 1: collective 2 of the ranks [0, 1]: gather of float32",
    "shape": "rank 1: collective 2 of the ranks [0, 1]: fold by sum of float32[2]",
    "joined": "rank 1: collective 2 of the ranks [0, 1]: fold by sum of float32[1, 1] and float32[1000]",
    "caught": "rank 1 has ended behind a failure: the ranks do not do the same",
    "parts": "rank 1: collective 2 of the ranks [0, 1]: exchange of float64, sends float64[2] and float64[1]",
    "axes": "exchange of float64, sends float64[1, 2, 3] and float64[1, 2, 3]",
    "kind": "rank 1 waits for float32[3] from rank 0, which has sent float32[2]",
    "interrupt": "rank 1 has left collective 2 of the ranks [0, 1]: fold by sum of float32[1] by TimeoutError",
    "handler": "rank 1 is in collective 2 of the ranks [0, 1]: fold by sum of float32[1]; what has interrupted it, a signal's",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    launch.needs_mpi()
    path = tmp_path_factory.mktemp("ranks") / "program.py"
    path.write_text(PROGRAM)
    return path


def simulated(program, count):
    space = {"__name__": "program"}
    exec(compile(program.read_text(), str(program), "exec"), space)
    return SimWorld(count).run(space["values"])


@pytest.mark.parametrize("memory", ["1", "0"])
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_compute_what_a_simulated_world_computes(program, count, memory, monkeypatch):
    """Through memory that they share, and through MPI's messages."""
    monkeypatch.setenv("MINDLITE_SHARED_MEMORY", memory)
    status, out, err = launch.mpirun(count, program)
    assert status == 0, err
    assert "Warning" not in err
    lines = sorted(line for line in out.splitlines() if line.startswith("rank "))
    for line, want in zip(lines, simulated(program, count), strict=True):
        for a, b in zip(json.loads(line.split(": ", 1)[1]), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", sorted(EXPECTED))
def test_a_rank_that_fails_ends_all_with_a_status_and_a_message(program, how, ranks, tmp_path):
    """All processes are gone within the timeout and a second, however the rank failed: a stopped one, too."""
    status, _, err = launch.mpirun(ranks, program, how, str(tmp_path), limit=60)
    assert status != 0
    told = EXPECTED[how].replace("[0, 1]", str(list(range(ranks))))
    assert told in err if how != "stop" or ranks == 2 else "waits in collective 2 of the ranks [0, 1, 2, 3]: fold by sum" in err
    assert how != "stop" or re.search(r"waits in .*, at \S+\.py:\d+ in fail, and the others", err)
    assert len(re.findall("^mindlite: ", err, re.MULTILINE)) <= 2 * ranks    # how it ends, what it hears of another
    assert_all_are_gone(tmp_path, ranks)


def test_a_rank_that_ends_before_init_ends_all(tmp_path):
    """By an error in its imports for one. The others wait in MPI_Init, for the timeout."""
    launch.needs_mpi()
    path = tmp_path / "early.py"
    path.write_text("""
import os
import mindlite as ms
if "1" in (os.environ.get("PMI_RANK"), os.environ.get("OMPI_COMM_WORLD_RANK")):
    raise ImportError("the reason")
ms.communication.init(timeout=2)
""")
    status, _, err = launch.mpirun(2, path, limit=60)
    assert status != 0 and "ImportError: the reason" in err
    assert re.search(r"early.py\", line 6 in <module>", err)             # where the other one waits


def assert_all_are_gone(folder, ranks):
    """Behind the timeout and a second from when the last rank has written its process and the time into a file of the folder."""
    rows = [path.read_text().split() for path in map(folder.joinpath, map(str, range(ranks))) if path.exists()]   # of who began
    end = max(float(moment) for _, moment in rows) + TIMEOUT + 1
    while (left := [rank for rank, (process, _) in enumerate(rows) if is_running(int(process))]) and time.time() < end:
        time.sleep(0.01)
    assert not left and time.time() < end, f"the ranks {left} are still there"


STOPS = """
import os, signal, sys, threading, time
import numpy as np
import mindlite as ms
from mindlite import Tensor
from mindlite.communication import get_rank, init
from mindlite.ops.collectives import all_gather
init(timeout=4)
compiled, x = ms.jit(lambda x: all_gather(x) + 1), Tensor(np.ones(1 << 20, np.float32))


def stop():
    time.sleep(0.5)
    with open(f"{sys.argv[1]}/{get_rank()}", "w") as stream:
        stream.write(f"{os.getpid()} {time.time()}")
    if get_rank() == 1:
        os.kill(os.getpid(), signal.SIGSTOP)


compiled(x)
threading.Thread(target=stop).start()
while True:
    compiled(x)
"""


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["1", "0"])
def test_a_rank_that_stops_within_a_collective_ends_all_in_time(memory, monkeypatch, tmp_path):
    """In the midst of an all_gather of many pieces, in a compiled function; the message names the line of the call."""
    launch.needs_mpi()
    monkeypatch.setenv("MINDLITE_SHARED_MEMORY", memory)
    program = tmp_path / "stops.py"
    program.write_text(STOPS)
    status, _, err = launch.mpirun(2, program, str(tmp_path), limit=60)
    assert status != 0
    assert_all_are_gone(tmp_path, 2)
    place = rf"at \S+stops\.py:{len(STOPS.splitlines())} in <module>"
    assert re.search(rf"rank 0 waits in collective .*: gather of float32.*, {place}, and the others have not come", err), err


GROUPS = """
import itertools
import numpy as np
from mindlite.common.ranks import engine
from mindlite.communication import init
init()
for count in (2, 3, 4):
    for ranks in itertools.combinations(range(4), count):
        if engine().rank in ranks:
            assert (engine().all_reduce(np.ones(1 << 20, np.float32), "sum", ranks) == count).all()
"""


@pytest.mark.slow
def test_ranks_need_no_more_named_memory_than_their_library(tmp_path):
    """In a container with a small /dev/shm: groups of ranks have megabytes in common, and none of them are there."""
    launch.needs_mpi()
    program = tmp_path / "groups.py"
    program.write_text(GROUPS)
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=48m tmpfs /dev/shm && exec "$@"', "sh"]
    if shutil.which("unshare") is None or launch.start([*inside, "true"])[0] != 0:
        pytest.skip("another /dev/shm may not be mounted here")
    status, _, err = launch.start([*inside, launch.STARTER, "-n", "4", sys.executable, str(program)])
    assert status == 0, err


ANY_ORDER = """
import itertools, sys, time
import numpy as np
from mindlite.common.ranks import FOLDS, engine, even_sizes
from mindlite.communication import init
init(timeout=60)
here, draw, pause = engine(), np.random.default_rng(int(sys.argv[1])), np.random.default_rng()
groups = [ranks for n in range(1, here.size + 1) for ranks in itertools.combinations(range(here.size), n)]

def array(rank, number, shape, dtype):
    return np.random.default_rng((rank, number)).integers(0, 4, shape).astype(dtype)

for number in range(400):
    name = draw.choice(["all_reduce", "joined", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"])
    ranks, dtype = groups[draw.integers(len(groups))], np.dtype(str(draw.choice(["f4", "f8", "f2", "i1", "i4", "u2"])))
    reduction, axis = str(draw.choice(["sum", "max", "min"])), int(draw.integers(2))
    shape = tuple(draw.integers(0, 2 ** draw.integers(1, 11, 2)))
    if here.rank not in ranks:
        continue
    time.sleep(pause.random() ** 8 * 0.02)
    place, parts = ranks.index(here.rank), [array(rank, number, shape, dtype) for rank in ranks]
    mine, sizes = parts[place], even_sizes(int(shape[axis]), len(ranks))
    total = parts[0]
    for part in parts[1:]:
        total = FOLDS[reduction](total, part)
    ends = np.cumsum((0, *sizes))
    cut = [(slice(None),) * axis + (slice(a, b),) for a, b in zip(ends, ends[1:])]
    if name == "all_reduce":
        got, want = here.all_reduce(mine, reduction, ranks), total
    elif name == "joined":
        got, want = here.all_reduce_joined([mine, mine.T], reduction, ranks), np.append(total, total.T)
    elif name == "all_gather":
        got = here.all_gather(mine[cut[place]], sizes, axis, ranks)
        want = np.concatenate([part[piece] for part, piece in zip(parts, cut)], axis)
    elif name == "reduce_scatter":
        got, want = here.reduce_scatter(mine, reduction, sizes, axis, ranks), total[cut[place]]
    elif name == "all_to_all":
        other = 1 - axis
        got = here.all_to_all(mine, sizes, axis, [shape[other]] * len(ranks), other, ranks)
        want = np.concatenate([part[cut[place]] for part in parts], other)
    elif name == "broadcast":
        got, want = here.broadcast(mine, number % len(ranks), ranks), parts[number % len(ranks)]
    else:
        got, want = mine, mine
        if place == 0 and len(ranks) > 1:
            here.send(mine, 1, number, ranks)
        if place == 1:
            got, want = here.receive(shape, dtype, 0, number, ranks), parts[0]
    assert got.shape == want.shape and got.dtype == want.dtype and (got == want).all(), (number, name, ranks, dtype, shape, axis)
"""


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["1", "0"])
def test_collectives_of_any_kind_follow_each_other_in_any_group(memory, monkeypatch, tmp_path):
    """400 drawn ones between up to three ranks: empty, even, uneven and larger than a piece; a rank may come late."""
    launch.needs_mpi()
    monkeypatch.setenv("MINDLITE_SHARED_MEMORY", memory)
    program = tmp_path / "any_order.py"
    program.write_text(ANY_ORDER)
    status, _, err = launch.mpirun(3, program, "1")
    assert status == 0, err


def is_running(process):
    """True for a process that has not ended; one that has, and that nobody has asked for its status, has."""
    try:
        with open(f"/proc/{process}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_what_messages_cost_is_measured_and_the_same_on_all_ranks(program, tmp_path, monkeypatch):
    """What was found is kept; another way, TCP, has numbers of its own."""
    monkeypatch.setenv("MINDLITE_CACHE_DIR", str(tmp_path))
    found = {}
    tcp = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "MINDLITE_SHARED_MEMORY": "0"}
    for way, variables in (("memory", {}), ("again", {}), ("tcp", tcp)):
        with monkeypatch.context() as inner:
            for name, value in variables.items():
                inner.setenv(name, value)
            status, _, err = launch.mpirun(2, program)
        assert status == 0, err
        said = re.findall(r"^link \((.*), (.*)\)$", err, re.MULTILINE)
        assert len(said) == 2 and said[0] == said[1]
        found[way] = tuple(map(float, said[0]))
    assert found["again"] == found["memory"]
    assert all(0 < value < 1 for value in (*found["memory"], *found["tcp"])) and found["memory"] != found["tcp"]
    assert len(json.loads((tmp_path / "links.json").read_text())) == 2


def test_ranks_share_the_cores_of_a_machine():
    assert [share_of_cores([{0, 1}, {0, 1}], rank) for rank in (0, 1)] == [1, 1]
    assert [share_of_cores([{0, 1, 2}] * 3, rank) for rank in range(3)] == [1, 1, 1]
    assert [share_of_cores([set(range(8)), set(range(8)), {8, 9}], rank) for rank in range(3)] == [4, 4, 2]
    assert share_of_cores([{0}] * 4, 2) == 1, "more ranks than cores"


def test_the_command_line_starts_ranks(tmp_path, monkeypatch):
    """Kernels of a rank get its share of the cores, not all of them."""
    launch.needs_mpi()
    monkeypatch.setenv("MINDLITE_THREADS", "0")
    program = tmp_path / "hello.py"
    program.write_text("import mindspore as ms\nfrom mindspore.communication import init, get_rank, get_group_size\n"
                       "from mindspore import Tensor, ops\ninit()\n"
                       "total = ops.AllReduce()(Tensor([1.0 + get_rank()], ms.float32))\n"
                       "from mindlite.common.config import config\nimport os, sys\n"
                       "share = max(1, len(os.sched_getaffinity(0)) // 2)\n"
                       "sys.stdout.write(f'{get_rank()} of {get_group_size()}: {float(total)} {config.threads == share}\\n')\n")
    status, out, err = launch.start([sys.executable, "-m", "mindlite", "run", "-n", "2", str(program)])
    assert status == 0, err
    assert sorted(out.splitlines()) == ["0 of 2: 3.0 True", "1 of 2: 3.0 True"]
    status, _, err = launch.start([sys.executable, "-m", "mindlite", "msrun", "--worker_num", "2", "--local_worker_num", "1",
                                   str(program)])
    assert status == 2 and "on this machine only" in err


def test_msrun_takes_the_line_of_mindspores_pages_and_an_exception_ends_all(tmp_path):
    """One that leaves the program ends the others at once, though they sleep; each rank has a file."""
    launch.needs_mpi()
    program, logs = tmp_path / "sleeps.py", tmp_path / "logs"
    program.write_text("import sys, time\nimport mindspore as ms\nfrom mindspore.communication import init, get_rank\ninit()\n"
                       "print('rank', get_rank(), sys.argv[1:], flush=True)\n"
                       "if get_rank() == 1:\n    raise ValueError('the reason')\ntime.sleep(300)\n")
    status, out, err = launch.start([sys.executable, "-m", "mindlite", "msrun", "--worker_num=2", "--local_worker_num=2",
                                     "--master_addr=127.0.0.1", "--master_port=8118", f"--log_dir={logs}", "--join=True",
                                     "--cluster_time_out=300", str(program), "--epochs", "3"], limit=120)
    assert status == 70 and not out and "status 70; what they wrote is in" in err
    told = [(logs / f"worker_{rank}.log").read_text() for rank in range(2)]
    assert told[0].startswith("rank 0 ['--epochs', '3']") and told[1].startswith("rank 1 ['--epochs', '3']")
    assert "line 7" in told[1] and "ValueError: the reason" in told[1] and "rank 1 ends by ValueError" in told[1]
