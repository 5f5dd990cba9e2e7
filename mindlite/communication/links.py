"""What each kind of collective costs between these ranks, and what computing costs on them.

    message, byte = shared_times(engine, ranks)      where ranks share memory: a small collective, a byte that a rank copies
    {"all_gather": (small, large), ..} = message_times(engine, ranks)      where MPI carries them: of 8 bytes and of 1 MiB
    flop, point = computed()                         of products of 64 x 64 matrices, of sums of 2 ** 20 elements

flop is the time of a floating-point operation in a product, point that of an element. The product is one that a BLAS makes in one
thread: its threads wait in a loop for each other, and where ranks fill all processors such a time says how long, not how much is
computed (measured: 256 times the price on a busy machine, which was kept then). Each kind of collective has alpha, the time
of a small one, and beta, that of each byte more that a rank sends. All ranks compute at once while they measure it, as they do in
a program; the time of the thread counts where others may want the processor, and of several times the least. Where the ranks are
on several machines, those of one machine have prices of their own: a mesh has axes within machines and axes between them
(`Engine.reach`). "fold" is a sum that travels, "all_reduce" one that compiled steps read in place (parallel/windows.py).

A plan is a choice between ways that often cost nearly the same, and one time that was measured badly would change it from run to
run. So few things are measured, and what is known is not: how many bytes each kind copies in memory that is shared (`traffic`);
that a byte between machines costs the same in each kind, unless it was clearly another (`CLEAR`). Prices are rounded to steps of
STEP around usual ones, so that a time within a factor of 2 of those is the usual price. What was found is kept in cache_dir, by
machine, number of ranks, library and transport, and not measured again (delete links.json there for that). All ranks have the
prices of rank 0: they must choose alike.
"""
import contextlib
import hashlib
import json
import math
import os
import pathlib
import platform
import statistics
import time

import numpy as np

from ..common.config import config
from ..common.files import replacing
from ..common.ranks import ring_bytes

SMALL, LARGE = 8, 1 << 20                        # bytes, for each rank
SAMPLES = 4                                      # of a kind and size
KINDS = ("fold", "all_reduce", "all_gather", "reduce_scatter", "all_to_all")
MEETINGS = {"all_to_all": 2}                     # barriers in shared memory of a kind; of others 1
COMPUTING = 0.002                                # seconds for each kind of computing
WIDTH, ELEMENTS = 64, 1 << 20                    # of the matrices, of the sums; OpenBLAS has one thread up to 64 ** 3
COPIED = 1 << 22                                 # bytes of a copy: more than the caches of a core have
USUAL = {"message": 6e-5, "copied": 1.5e-11, "byte": 5e-10, "flop": 1e-11, "point": 8e-11}      # of a small CPU
STEP, STEPS = 4, 6                               # prices are usual ones times STEP ** n, for n of -STEPS to STEPS
CLEAR = 4                                        # a kind has a price of its own if it differs so many times from the others'
SHARED = 2                                       # times that a byte costs in memory that is shared, in pages of 4 KiB
REMOTE = 4                                       # times that one costs there which another rank has just written
LEAST = 1e-8                                     # seconds of a collective between nobody
TRANSPORT = ("FI_", "UCX_", "MPIR_", "OMPI_MCA_", "I_MPI_")      # variables of the environment that choose the way


def set_link(engine, library=""):
    """Give an Engine its link, the links of kinds of collectives, and its pace: those that are kept, or measured ones. All ranks
    call this. library: a name, for the key"""
    world = tuple(range(engine.size))
    around = engine.around()
    where = {"far": world, "near": around} if around != world else {"near": world}
    count = len(where) * len(KINDS) + 1
    kept = _kept(library, engine.size, count) if engine.rank == 0 else None
    known = engine.spread(np.array(kept or [(0.0, 0.0)] * count), 0, world)
    if not known.all():
        told = [pair for ranks in where.values() for pair in prices(engine, ranks)] + [computed()]
        if engine.rank == 0:
            _keep(library, engine.size, told)
        known = engine.spread(np.array(told), 0, world)
    *found, pace = [tuple(pair) for pair in known.tolist()]
    places = [(kind, reach) for reach in where for kind in KINDS]
    engine.pace, engine.links = pace, dict(zip(places, found))
    engine.link = found[0]


def prices(engine, ranks):
    """[(alpha, beta)] of KINDS between these ranks, in steps."""
    if len(ranks) < 2:
        return [(LEAST, LEAST / LARGE)] * len(KINDS)
    if engine.is_near(ranks):
        message, copied = shared_times(engine, ranks)
        return prices_of_shared(message, copied, len(ranks))
    return prices_of_messages(message_times(engine, ranks), len(ranks))


def prices_of_shared(message, copied, count):
    """[(alpha, beta)] of KINDS between `count` ranks that share memory, by what each of them copies."""
    message, byte = in_steps(message, "message"), SHARED * in_steps(copied, "copied")
    return [(MEETINGS.get(kind, 1) * message, byte * traffic(kind, count) * LARGE / ring_bytes(_operator(kind), LARGE, count))
            for kind in KINDS]


def traffic(kind, count):
    """How many bytes a rank reads and writes in shared memory (communication/shared_memory.py) for each byte of the whole, where
    one that another has written counts REMOTE."""
    fetched = 1 + REMOTE * (count - 1)                       # its own, and the others'
    return {"fold": 2 + fetched + 1,                         # a copy into its area, the sum
            "all_reduce": fetched - 1,                       # the reader of the sum reads and writes anyhow
            "all_gather": (2 + fetched) / count + 1,
            "reduce_scatter": 4 + (fetched + 1) / count,     # parts are put together, and copied
            "all_to_all": 6 + fetched / count + 1}[kind]     # as before and behind, and of this rank's whole


def prices_of_messages(times, count):
    """[(alpha, beta)] of KINDS, of the (small, large) times of each: the median, or its own where that is clearly another."""
    alphas, betas = {}, {}
    for kind, (small, large) in times.items():
        alphas[kind] = min(small, large)
        betas[kind] = max(large - small, large / 4) / (ring_bytes(_operator(kind), LARGE, count) or LARGE)
    found = []
    for kind in KINDS:
        pair = []
        for all_of_them, name in ((alphas, "message"), (betas, "byte")):
            usual = statistics.median(all_of_them.values())
            own = all_of_them[kind]
            pair.append(in_steps(usual if usual / CLEAR < own < usual * CLEAR else own, name))
        found.append(tuple(pair))
    return found


def in_steps(value, name):
    """The nearest of the USUAL price times powers of STEP: two machines, or two runs, that differ little have the same."""
    usual = USUAL[name]
    most = float(STEP) ** STEPS
    return usual * float(STEP) ** round(math.log(min(max(value / usual, 1 / most), most), STEP))


def computed():
    """(flop, point) of this rank, in steps."""
    matrix, row = np.ones((WIDTH, WIDTH), np.float32), np.ones(ELEMENTS, np.float32)
    return (in_steps(least_time(lambda: matrix @ matrix) / (2 * WIDTH ** 3), "flop"),
            in_steps(least_time(lambda: np.add(row, 1, out=row)) / ELEMENTS, "point"))


def least_time(job):
    """Seconds of job() by the time of this thread, the least of several: others that want the processor are not in it."""
    job()                                                    # the first one loads a library and its threads, or finds memory
    best, begun = np.inf, time.thread_time()
    while (start := time.thread_time()) < begun + COMPUTING:
        job()
        best = min(best, time.thread_time() - start)
    return best


def shared_times(engine, ranks):
    """(seconds of a small collective between ranks that share memory, of a byte that is read or written beyond the caches)"""
    source, small = np.ones(COPIED, np.uint8), np.zeros(len(ranks))
    target = np.empty_like(source)
    return (_least_of(engine, "fold", small, ranks, time.thread_time),
            least_time(lambda: np.copyto(target, source)) / (2 * COPIED))


def message_times(engine, ranks):
    """{kind: (seconds of a small, of a large one)} between ranks that MPI joins."""
    small, large = np.zeros(len(ranks)), np.zeros(LARGE // 8)
    found = {kind: tuple([_least_of(engine, kind, array, ranks, time.perf_counter) for array in (small, large)])
             for kind in KINDS if kind != "all_reduce"}
    return {**found, "all_reduce": found["fold"]}


def _least_of(engine, kind, array, ranks, clock):
    run(engine, kind, array, ranks)                          # the first one finds memory, and libraries
    best = np.inf
    for _ in range(SAMPLES):
        start = clock()
        run(engine, kind, array, ranks)
        best = min(best, clock() - start)
    return best


def run(engine, kind, array, ranks):
    """Do one collective of a kind, of `array` on each rank: a part of it for each of the ranks, or from each."""
    parts = np.array_split(array, len(ranks))
    mine = parts[ranks.index(engine.rank)]
    if kind == "all_gather":
        engine.gather(mine, [part.shape for part in parts], ranks)
    elif kind == "reduce_scatter":
        engine.fold_parts(parts, "sum", ranks)
    elif kind == "all_to_all":
        engine.exchange(parts, [mine.shape] * len(ranks), ranks)
    else:
        engine.fold(array, "sum", ranks)


def _operator(kind):
    return "all_reduce" if kind == "fold" else kind


def _file():
    return pathlib.Path(config.cache_dir) / "links.json" if config.cache_dir else None


def _key(library, size):
    way = sorted((name, value) for name, value in os.environ.items() if name.startswith(TRANSPORT))
    model = USUAL, STEP, CLEAR, SHARED, REMOTE, WIDTH
    key = json.dumps([model, platform.node(), os.cpu_count(), library, size, way, config.shared_memory])
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _kept(library, size, count):
    """The pairs of prices, so many, that are kept of this machine, or None."""
    path = _file()
    if path is None:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = [(float(a), float(b)) for a, b in json.loads(path.read_text())[_key(library, size)]]
        if len(found) == count and min(map(min, found)) > 0:
            return found
    return None


def _keep(library, size, told):
    """Write them beside what is kept of others."""
    path = _file()
    if path is None:
        return
    everything = {}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text())
        everything = found if isinstance(found, dict) else {}
    everything[_key(library, size)] = told
    with contextlib.suppress(OSError), replacing(path, durable=False) as stream:      # a cache that cannot be written is none
        stream.write(json.dumps(everything, indent=1).encode())
