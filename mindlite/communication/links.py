"""What a collective costs between these ranks: alpha, the seconds of a small one, and beta, the seconds of each byte more.

    alpha, beta = measured(engine)       10 ms of all_reduces of 8 bytes, 10 ms of 1 MiB; the fastest of each counts

`init` measures. What was found first is kept in cache_dir, by machine, library and transport, so that a program of many ranks has
the same plan the next time (Machine in parallel/partition.py), until a run finds half of it or less: the machine was busy before.
All ranks have the numbers of rank 0: they must choose alike.
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
SECONDS = 0.01                                   # for each size
TRANSPORT = ("FI_", "UCX_", "MPIR_", "OMPI_MCA_", "I_MPI_")      # variables of the environment that choose the way


def set_link(engine, library=""):
    """Give an Engine its link: the one that is kept, or a measured one. All ranks call this. library: a name, for the key"""
    told = measured(engine)
    if engine.rank == 0:
        kept = _kept(library, engine.size)
        if kept is None or any(2 * new <= old for new, old in zip(told, kept)):
            told = tuple(map(min, told, kept or told))
            _keep(library, engine.size, told)
        else:
            told = kept
    found = engine.spread(np.array(told), 0, tuple(range(engine.size)))
    engine.link = float(found[0]), float(found[1])


def measured(engine):
    """(alpha, beta) between all ranks, in two digits."""
    world, fastest = tuple(range(engine.size)), []
    for nbytes in (SMALL, LARGE):
        array, best, spent, goes_on = np.zeros(nbytes // 8), np.inf, 0.0, True
        while goes_on:
            start = time.perf_counter()
            engine.fold(array, "sum", world)
            took = time.perf_counter() - start
            best, spent = min(best, took), spent + took
            goes_on = bool(engine.spread(np.array(float(spent < SECONDS)), 0, world))
        fastest.append(best)
    slope = max(fastest[1] - fastest[0], 1e-9) / (ring_bytes("all_reduce", LARGE, engine.size) - ring_bytes(
        "all_reduce", SMALL, engine.size) or LARGE)
    return tuple([float(f"{value:.1e}") for value in (fastest[0], slope)])


def _file():
    return pathlib.Path(config.cache_dir) / "links.json" if config.cache_dir else None


def _key(library, size):
    way = sorted((name, value) for name, value in os.environ.items() if name.startswith(TRANSPORT))
    return hashlib.sha256(json.dumps([platform.node(), os.cpu_count(), library, size, way]).encode()).hexdigest()[:32]


def _kept(library, size):
    """What is kept of this machine, or None."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        alpha, beta = json.loads(_file().read_text())[_key(library, size)]
        if alpha > 0 and beta > 0:
            return alpha, beta
    return None


def _keep(library, size, link):
    """Write it beside what is kept of others."""
    path = _file()
    if path is None:
        return
    told = {}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path.read_text())
        told = found if isinstance(found, dict) else {}
    told[_key(library, size)] = list(map(float, link))
    with contextlib.suppress(OSError), replacing(path, durable=False) as stream:      # a cache that cannot be written is none
        stream.write(json.dumps(told, indent=1).encode())
