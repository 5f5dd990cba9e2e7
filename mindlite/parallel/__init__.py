"""From a program of whole tensors to that of one rank: placements, boxing, the choice of SBP, the rewritten graph.

    layout.py      Layout, Mesh, Placement: which part of a tensor a rank has
    boxing.py      from one placement to another, by collectives
    search.py      the cheapest choice for all operators together, exactly
    partition.py   the pass: (graph of whole tensors) -> (graph of this rank's parts, with explicit collectives)

`shard` itself, a function of functions, is in `functional/shard.py`.
"""
from .layout import Layout, Mesh, Placement  # noqa: F401
