"""What a collective costs between these ranks, and what computing costs on them.

    small, large = fastest(engine)       10 ms of all_reduces of 8 bytes, 10 ms of 1 MiB; the fastest of each counts
    alpha, beta = prices(small, large, engine.size)
    flop, point = computed()             5 ms of products of 256 x 256 matrices, 5 ms of sums of 2 ** 20 elements

alpha is the time of a small collective, beta that of each byte more; flop is the time of a floating-point operation in a product,
point that of an element. All ranks compute at once while they measure it, as they do in a program.

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
from ..common.ranks import ring_bytes

SMALL, LARGE = 8, 1 << 20                        # bytes
SECONDS, SAMPLES = 0.01, 5                       # for each size, at least
COMPUTING = 0.005                                # seconds for each kind of computing
WIDTH, ELEMENTS = 256, 1 << 20                   # of the matrices, of the sums
OTHERS = 1 << 22                                 # elements, 16 MiB, that a program has touched since its last collective
BOUNDS = (1e-13, 1e-9), (1e-12, 1e-8)            # of flop and point: a clock that jumps decides no plan
LEAST = 1e-8                                     # seconds of an all_reduce
TRANSPORT = ("FI_", "UCX_", "MPIR_", "OMPI_MCA_", "I_MPI_")      # variables of the environment that choose the way


def set_link(engine, library=""):
    """Give an Engine its link and its pace: those that are kept, or measured ones. All ranks call this. library: a name, for the
    key"""
    told: tuple = (fastest(engine), computed())
    if engine.rank == 0:
        kept = _kept(library, engine.size)
        if kept is None:
            _keep(library, engine.size, told)
        else:
            better = tuple([tuple(map(min, new, old)) if any(2 * n <= o for n, o in zip(new, old)) else old
                            for new, old in zip(told, kept)])
            if better != kept:
                _keep(library, engine.size, better)
            told = better
    found = engine.spread(np.array(told), 0, tuple(range(engine.size)))
    small, large, *pace = map(float, found.ravel())
    engine.link, engine.pace = prices(small, large, engine.size), tuple(pace)


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


def fastest(engine):
    """Seconds of a small and of a large all_reduce between all ranks, in two digits. As in a program, a rank does something else
    before it, which is in its caches then, and the ranks do not come at the same moment."""
    world, found, row = tuple(range(engine.size)), [], np.ones(OTHERS, np.float32)
    for nbytes in (SMALL, LARGE):
        array, best, begun, count, goes_on = np.zeros(nbytes // 8), np.inf, time.perf_counter(), 0, True
        while goes_on:
            np.add(row, 1, out=row)
            start = time.perf_counter()
            engine.fold(array, "sum", world)
            end = time.perf_counter()
            best, count = min(best, end - start), count + 1
            goes_on = bool(engine.spread(np.array(float(end - begun < SECONDS or count < SAMPLES)), 0, world))
        found.append(best)
    return tuple([max(float(f"{value:.1e}"), LEAST) for value in found])


def prices(small, large, size):
    """(alpha, beta) of the times of two all_reduces between `size` ranks."""
    alpha, sent = min(small, large), ring_bytes("all_reduce", LARGE, size) or LARGE
    return alpha, float(f"{max(large - alpha, large / 4) / sent:.1e}")       # bytes are not free, however slow the small one was


def _file():
    return pathlib.Path(config.cache_dir) / "links.json" if config.cache_dir else None


def _key(library, size):
    way = sorted((name, value) for name, value in os.environ.items() if name.startswith(TRANSPORT))
    key = json.dumps(["times", platform.node(), os.cpu_count(), library, size, way, config.shared_memory])
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _kept(library, size):
    """What is kept of this machine, or None."""
    path = _file()
    if path is None:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        (small, large), (flop, point) = json.loads(path.read_text())[_key(library, size)]
        if min(small, large, flop, point) > 0:
            return (small, large), (flop, point)
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
