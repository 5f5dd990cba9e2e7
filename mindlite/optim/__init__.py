"""Passes over typed graphs, and the pipeline that repeats them until nothing changes.

    optimise(graph)                      a new graph with the same meaning; graph itself is left as it is

A pass is a function that changes one typed graph in place, says in its docstring what it leaves true, and returns how
many nodes it replaced; it takes time linear in the graph. `optimise` works on a copy and visits the graphs below
control flow too.
"""

from ..common.records import dataclass
from ..mindir.inline import clone
from .algebra import simplify_arithmetic, simplify_shapes
from .control import hoist_invariants, prune_control
from .products import hoist_products
from .iterations import count_iterations
from .values import drop_dead, fold_constants, inline_calls, merge_equal_nodes

PASSES = (inline_calls, fold_constants, simplify_arithmetic, simplify_shapes, merge_equal_nodes, prune_control,
          hoist_invariants, hoist_products, count_iterations, drop_dead)
ROUNDS = 10


@dataclass(frozen=True)
class Step:
    """What one pass did in one round: its name, the number of nodes before and after it, how many it replaced."""
    name: str
    round: int
    before: int
    after: int
    replaced: int


def optimise(graph, passes=None, steps=None):
    """An equal graph that does less: `passes` (PASSES) are repeated, ROUNDS times at most, until none changes anything.

    steps : a list to which a Step is added for every pass that changed something, for `explain`
    """
    graph = clone(graph)
    below = graph.reachable()
    for number in range(ROUNDS):
        changed = 0
        for one in PASSES if passes is None else passes:
            before = count_nodes(graph) if steps is not None else 0
            replaced = sum([one(each) for each in reversed(below)])
            if replaced:
                changed, below = changed + replaced, graph.reachable()
                if steps is not None:
                    steps.append(Step(one.__name__, number, before, count_nodes(graph), replaced))
        if not changed:
            break
    return graph


def count_nodes(graph):
    """The number of nodes in a graph and in those below it."""
    return sum(len(below.nodes) for below in graph.reachable())
