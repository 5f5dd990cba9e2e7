"""This rank's program of a typed graph that reads sharded Tensors (parallel/partition.py), for eager mode."""
from ..common.ranks import engine
from ..common.storage import ShardedArray, part_here
from ..parallel.partition import Ends, partition
from .kernels import Compiled, Walk, can_walk


class LocalProgram:
    """This rank's program of a graph; its results stay where they are made.

    placements      : how the arguments lie, None for what is whole and equal on all ranks
    operation_class : operation.Operation, which stands above this
    """

    def __init__(self, graph, placements, operation_class):
        lying = {p: placement for p, placement in zip(graph.parameters, placements) if placement is not None}
        local, self.plan = partition(graph, ends=Ends(lying, {}, True, True))
        self.runner = Walk(local, operation_class) if can_walk(local) else Compiled(local)

    def run(self, values):
        """The results, for ndarrays, ShardedArrays and numbers."""
        results = self.runner.run([part_here(value) for value in values])
        return [ShardedArray(result, *reversed(self.plan.results[number])) if number in self.plan.results else result
                for number, result in enumerate(results)]


def placements_of(values):
    """How values lie, None for those that are no ShardedArray."""
    return tuple([v.placement if isinstance(v, ShardedArray) else None for v in values])


def program_key(values):
    """What a rank's program depends on besides the graph: threads of a SimWorld share this process."""
    return engine().rank, engine().size, placements_of(values)
