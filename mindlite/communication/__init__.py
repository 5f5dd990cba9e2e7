"""Who takes part in a run of many ranks: init, ranks and groups, as MindSpore's `communication`.

    mpirun -n 4 python train.py          init(); get_rank() -> 0..3; get_group_size() -> 4
    python train.py                      init(); one rank

Collectives are operators (`ops.AllReduce`), functions (`communication.comm_func`, `mint.distributed`), or written by the compiler
(`parallel`). `SimWorld(4).run(function)` gives four ranks in one process.
"""
import os

from ..common.config import config
from ..common.errors import ArgumentError, RankError, ValueRangeError
from ..common.ranks import WORLD, Alone, engine, set_process_engine
from .links import set_link
from .mpi import MpiEngine
from .simulation import SimEngine, SimWorld

__all__ = ["GlobalComm", "SimWorld", "create_group", "destroy_group", "get_comm_name", "get_group_rank_from_world_rank",
           "get_group_size", "get_local_rank", "get_local_rank_size", "get_process_group_ranks", "get_rank",
           "get_world_rank_from_group_rank", "init", "release", "RankError"]
BACKENDS = (None, "mpi", "mccl", "hccl", "nccl", "gloo")
_STARTED_BY_MPI = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS", "SLURM_MPI_TYPE")


class GlobalComm:
    """MindSpore's constants: the group of all ranks, and whether `init` was called."""
    WORLD_COMM_GROUP = WORLD
    BACKEND = "mpi"
    INITED = False


def init(backend_name=None, timeout=None):
    """Find the other ranks: those that mpirun has started with this one. Without mpirun there is one rank, and no MPI is needed.
    What a message costs between them, and computing on them, is measured the first time and kept; it decides what is split how.
    Where config.threads is not set, kernels get as many threads as this rank's share of the cores.

    backend_name : MindSpore's hccl, nccl, mccl, or mpi; MPI joins the ranks in any case, and stages what lies on a GPU
    timeout      : seconds after which a rank that waits for another ends them all; None: config.ranks_timeout
    raises       : ValueRangeError for another name; ArgumentError where mpirun has started this and mpi4py is missing
    """
    if backend_name not in BACKENDS:
        raise ValueRangeError(f"init: there is no backend {backend_name!r}", hint="leave it out")
    if timeout is not None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
            raise ValueRangeError(f"init: timeout is a positive number of seconds, not {timeout!r}")
        config.set(ranks_timeout=float(timeout))
    current = engine()
    if isinstance(current, MpiEngine):
        current.timeout = config.ranks_timeout
    elif not isinstance(current, SimEngine) and any(name in os.environ for name in _STARTED_BY_MPI):
        made = MpiEngine()
        set_link(made, made.library)
        made.numbers.clear()                                 # the program's collectives count from 1
        set_process_engine(made)
        if config.threads == 0:
            config.set(threads=made.cores)
            made.gave_threads = True
    GlobalComm.INITED = True


def release():
    """Part from the other ranks, once all of them have called this."""
    current = engine()
    if isinstance(current, MpiEngine):
        current.close()
        set_process_engine(Alone())
        if current.gave_threads:
            config.set(threads=0)
    GlobalComm.INITED = False


def get_rank(group=WORLD):
    """This rank's number in a group. raises : ValueRangeError if it is not in it"""
    return engine().place(group)


def get_group_size(group=WORLD):
    """How many ranks a group has. raises : ValueRangeError for an unknown group"""
    return len(engine().members(group))


def _local_ranks(group):
    """The ranks of the group on this machine, as the launcher tells."""
    count = next((int(os.environ[name]) for name in ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE") if name in os.environ),
                 engine().size)
    own = next((int(os.environ[name]) for name in ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK") if name in os.environ),
               engine().rank)
    first = engine().rank - own if isinstance(engine(), MpiEngine) else 0
    here = range(first, first + count) if isinstance(engine(), MpiEngine) else range(engine().size)
    return [rank for rank in engine().members(group) if rank in here]


def get_local_rank(group=WORLD):
    """This rank's number among those of the group that run on this machine."""
    engine().place(group)
    return _local_ranks(group).index(engine().rank)


def get_local_rank_size(group=WORLD):
    """How many ranks of the group run on this machine."""
    return len(_local_ranks(group))


def get_world_rank_from_group_rank(group, group_rank_id):
    """The number in the world of a group's rank. raises : ValueRangeError"""
    ranks = engine().members(group)
    if isinstance(group_rank_id, bool) or not isinstance(group_rank_id, int):
        raise ArgumentError(f"a rank is an int, not {type(group_rank_id).__name__}")
    if not 0 <= group_rank_id < len(ranks):
        raise ValueRangeError(f"there is no rank {group_rank_id} in a group of {len(ranks)}")
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id, group):
    """The number in a group of a rank of the world. raises : ArgumentError for what is no int; ValueRangeError"""
    return engine().place_of(world_rank_id, group)


def get_process_group_ranks(group=WORLD):
    """The ranks of a group, a list."""
    return list(engine().members(group))


def get_comm_name(group=WORLD):
    """The name of what joins the ranks of a group: the backend and its ranks, "mpi 0 1". raises : ValueRangeError"""
    return " ".join([GlobalComm.BACKEND, *map(str, engine().members(group))])


def create_group(group, rank_ids, options=None):
    """Give a name to some ranks; each of them calls this. options: MindSpore's, for HCCL

    raises : ArgumentError, ValueRangeError for what are no ranks, or a name that is taken
    """
    engine().create_group(group, rank_ids)


def destroy_group(group):
    """Forget a group. raises : ValueRangeError for the group of all ranks, and for one that is not there"""
    engine().destroy_group(group)
