"""What each kind of collective costs between these ranks, and what computing costs on them.

    {"all_reduce": (small, large), ..} = fastest(engine, ranks)      of 8 bytes and of 1 MiB; the fastest of SAMPLES counts
    alpha, beta = prices(small, large, kind, count)
    flop, point = computed()             5 ms of products of 256 x 256 matrices, 5 ms of sums of 2 ** 20 elements

alpha is the time of a small collective, beta that of each byte more; flop is the time of a floating-point operation in a product,
point that of an element. All ranks compute at once while they measure it, as they do in a program.

Where the ranks are on several machines, those of one machine measure among themselves, too: a mesh has axes within machines and
axes between them (`Engine.reach`). The large sum of few ranks of one machine is that of compiled steps, which is read in place
(parallel/windows.py); "fold" is one that travels.

`init` measures. What was found first is kept in cache_dir, by machine, library and transport, so that a program of many ranks has
the same plan the next time (Machine in parallel/partition.py), until a run finds half of it or less: the machine was busy before.
Times are kept, not prices: a small message that was slow once would make bytes look cheap. All ranks have the numbers of rank 0:
they must choose alike.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import platform
import time

import numpy as np

from ..common.config import config
from ..common.files import replacing
from ..common.ranks import MOST, ring_bytes

SMALL, LARGE = 8, 1 << 20                        # bytes, for each rank
SAMPLES = 4                                      # of each kind and size
KINDS = ("fold", "all_reduce", "all_gather", "reduce_scatter", "all_to_all")
COMPUTING = 0.005                                # seconds for each kind of computing
WIDTH, ELEMENTS = 256, 1 << 20                   # of the matrices, of the sums
OTHERS = 1 << 19                                 # elements, 2 MiB, that a program has touched since its last collective
BOUNDS = (1e-13, 1e-9), (1e-12, 1e-8)            # of flop and point: a clock that jumps decides no plan
LEAST = 1e-8                                     # seconds of an all_reduce
TRANSPORT = ("FI_", "UCX_", "MPIR_", "OMPI_MCA_", "I_MPI_")      # variables of the environment that choose the way


def set_link(engine, library=""):
    """Give an Engine its link, the links of kinds of collectives, and its pace: those that are kept, or measured ones. All ranks
    call this. library: a name, for the key"""
    world = tuple(range(engine.size))
    around = engine.around()
    where = {"far": world, "near": around} if around != world else {"near": world}
    told = [pair for ranks in where.values() for pair in fastest(engine, ranks)] + [computed()]
    if engine.rank == 0:
        kept = _kept(library, engine.size, len(told))
        if kept is None:
            _keep(library, engine.size, told)
        else:
            better = [tuple(map(min, new, old)) if any(2 * n <= o for n, o in zip(new, old)) else old
                      for new, old in zip(told, kept)]
            if better != kept:
                _keep(library, engine.size, better)
            told = better
    *found, pace = engine.spread(np.array(told), 0, world).tolist()
    engine.pace, engine.links = tuple(pace), {}
    for number, (reach, ranks) in enumerate(where.items()):
        for kind, (small, large) in zip(KINDS, found[number * len(KINDS):]):
            engine.links[kind, reach] = prices(small, large, "all_reduce" if kind == "fold" else kind, len(ranks))
    engine.link = engine.links[KINDS[0], next(iter(where))]


def computed():
    """(flop, point) of this rank, in two digits, by the time of its thread: others that want the processor are not in it."""
    matrix, row, found = np.ones((WIDTH, WIDTH), np.float32), np.ones(ELEMENTS, np.float32), []
    for job, count in ((lambda: matrix @ matrix, 2 * WIDTH ** 3), (lambda: np.add(row, 1, out=row), ELEMENTS)):
        job()                                                # the first one loads a library and its threads
        best, begun = np.inf, time.thread_time()
        while (start := time.thread_time()) < begun + COMPUTING:
            job()
            best = min(best, time.thread_time() - start)
        found.append(best / count)
    return tuple([float(f"{min(max(value, least), most):.1e}") for value, (least, most) in zip(found, BOUNDS)])


def fastest(engine, ranks):
    """[(seconds of a small, of a large one)] of KINDS between these ranks, in two digits. As in a program, a rank does something
    else before it, which is in its caches then, and the ranks do not come at the same moment."""
    row, found = np.ones(OTHERS, np.float32), []
    for kind in KINDS:
        pair = []
        for nbytes in (SMALL, LARGE) if len(ranks) > 1 else ():
            array, best = np.zeros(nbytes // 8 * (len(ranks) if nbytes == SMALL else 1)), np.inf
            run(engine, kind, array, ranks)                  # the first one finds memory, and libraries
            for _ in range(SAMPLES):
                np.add(row, 1, out=row)
                start = time.perf_counter()
                run(engine, kind, array, ranks)
                best = min(best, time.perf_counter() - start)
            pair.append(max(float(f"{best:.1e}"), LEAST))
        found.append(tuple(pair) or (LEAST, LEAST))
    return found


def run(engine, kind, array, ranks):
    """Do one collective of a kind, of `array` on each rank: a part of it for each of the ranks, or from each."""
    parts = np.array_split(array, len(ranks))
    if kind == "all_gather":
        engine.gather(parts[ranks.index(engine.rank)], [part.shape for part in parts], ranks)
    elif kind == "reduce_scatter":
        engine.fold_parts(parts, "sum", ranks)
    elif kind == "all_to_all":
        mine = parts[ranks.index(engine.rank)].shape
        engine.exchange(parts, [mine] * len(ranks), ranks)
    elif kind == "all_reduce" and engine.is_near(ranks) and len(ranks) <= MOST and array.nbytes > SMALL * len(ranks):
        window = engine.open_window((array.shape,), array.dtype, ranks)
        theirs = engine.put_down(window, window.mine, ranks)
        for other in theirs[1:]:
            np.add(theirs[0], other, out=array)
    else:
        engine.fold(array, "sum", ranks)


def prices(small, large, kind, count):
    """(alpha, beta) of the times of two collectives of a kind between `count` ranks."""
    alpha, sent = min(small, large), ring_bytes(kind, LARGE, count) or LARGE
    return alpha, float(f"{max(large - alpha, large / 4) / sent:.1e}")       # bytes are not free, however slow the small one was


def _file():
    return pathlib.Path(config.cache_dir) / "links.json" if config.cache_dir else None


def _key(library, size):
    way = sorted((name, value) for name, value in os.environ.items() if name.startswith(TRANSPORT))
    key = json.dumps(["times of kinds", platform.node(), os.cpu_count(), library, size, way, config.shared_memory])
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _kept(library, size, count):
    """The pairs of times, so many, that are kept of this machine, or None."""
    path = _file()
    if path is None:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = [(float(a), float(b)) for a, b in json.loads(path.read_text())[_key(library, size)]]
        if len(found) == count and min(map(min, found)) > 0:
            return found
    return None


def _keep(library, size, times):
    """Write it beside what is kept of others."""
    path = _file()
    if path is None:
        return
    told = {}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text())
        told = found if isinstance(found, dict) else {}
    told[_key(library, size)] = times
    with contextlib.suppress(OSError), replacing(path, durable=False) as stream:      # a cache that cannot be written is none
        stream.write(json.dumps(told, indent=1).encode())
