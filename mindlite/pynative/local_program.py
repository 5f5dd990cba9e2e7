"""This rank's program of a typed graph that reads sharded Tensors (parallel/partition.py), for eager mode."""
from ..common.ranks import engine
from ..common.storage import ShardedArray
from ..ops.rank_program import on_rank
from ..parallel.partition import Ends, partition
from .kernels import Compiled
from .walks import Walk, can_walk


class LocalProgram:
    """This rank's program of a graph; its results stay where they are made.

    placements : how the arguments lie, None for what is whole and equal on all ranks
    """

    def __init__(self, graph, placements):
        lying = {p: placement for p, placement in zip(graph.parameters, placements) if placement is not None}
        local, self.plan = partition(graph, ends=Ends(lying, {}, True, True))
        local.nodes = [node for node in local.nodes if node.fn is not on_rank]      # the keys of these programs have the rank
        self.lying = [self.plan.results.get(number) for number in range(len(local.outputs))]
        self.runner = Walk(local) if can_walk(local) else Compiled(local)

    def run(self, values):
        """The results, for ndarrays, ShardedArrays and numbers."""
        results = self.runner.run([value.part if type(value) is ShardedArray else value for value in values])
        return [result if lies is None else ShardedArray(result, lies[1], lies[0]) for result, lies in zip(results, self.lying)]


def placements_of(values):
    """How values lie, None for those that are no ShardedArray."""
    return tuple([v.placement if isinstance(v, ShardedArray) else None for v in values])


def program_key(values):
    """What a rank's program depends on besides the graph: threads of a SimWorld share this process."""
    return engine().rank, engine().size, placements_of(values)
