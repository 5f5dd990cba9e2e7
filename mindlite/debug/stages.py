"""The stages of a function as text: one, all in short, or the difference between two."""
import collections
import difflib

from ..common.errors import ArgumentError
from ..compile.passes import FACTS, PIPELINE, TYPED
from ..compile.pipeline import STAGES
from ..mindir.graph import FuncGraph
from ..mindir.primitive import Primitive
from ..mindir.printer import show
from .target import compiled_of

TRUE_FROM_HERE = {
    "infer": FACTS[TYPED],
    **{stage: PIPELINE.true_from(stage) for stage in PIPELINE.stages},
    "plan": "order, lifetimes and checks are fixed",
}


def ir(f, stage="optimise", source=True, names="numbers"):
    """The text of the graph after a stage.

    f     : a compiled function (see the room), or a FuncGraph
    stage : parse, infer, transform, optimise, fuse, or plan (which gives the Flow)
    source: put the user's line beside what came from it
    names : "numbers" (%3) or "operators" (%mul, %mul:2)
    raises: ArgumentError for a function that was not called, or a stage that does not exist
    """
    graph = f if isinstance(f, FuncGraph) else compiled_of(f).graph(stage)
    return show(graph, source, names) if isinstance(graph, FuncGraph) else f"{graph}\n"


def diff(f, before="transform", after="optimise", context=2):
    """What a stage changed, as a unified diff. Nodes are named by their operators, so that what stays the same looks so.

    f      : a compiled function, or a pair of graphs       context: lines around a change
    """
    if isinstance(f, tuple):
        graphs = f
    else:
        compiled = compiled_of(f)
        graphs = compiled.graph(before), compiled.graph(after)
    for graph, stage in zip(graphs, (before, after)):
        if not isinstance(graph, FuncGraph):
            raise ArgumentError(f"diff: {stage!r} is no graph", hint="one of " + ", ".join(STAGES[:-1]))
    old, new = [show(graph, source=False, names="operators").splitlines() for graph in graphs]
    lines = list(difflib.unified_diff(old, new, before, after, lineterm="", n=context))
    return "\n".join(lines or [f"{after} changed nothing of {before}"]) + "\n"


def steps(f):
    """All stages in short: how many nodes, how long it took, which operators came and went.

    What was taken from the disk is compiled for it: a line says how long taking it took.
    """
    taken = compiled_of(f).latest().compiled
    compiled = taken.full
    lines = [f"taken from the disk in {taken.seconds['disk']:.3f} s; the stages of compiling it:"] if taken.from_disk else []
    lines.append(f"{'stage':<11}{'nodes':>6}{'seconds':>9}  what is true from here on")
    before = None
    for stage, graph in compiled.stages.items():
        counts = operators(graph) if isinstance(graph, FuncGraph) else None
        size = sum(counts.values()) if counts is not None else instructions(graph)
        lines.append(f"{stage:<11}{size:>6}{compiled.seconds.get(stage, 0):>9.3f}  {TRUE_FROM_HERE[stage]}")
        if stage in PIPELINE.stages:
            lines.append(f"{'':<28}by {', '.join(PIPELINE.passes_of(stage))}")
        if counts is not None and before is not None:
            lines += [f"{'':<28}{line}" for line in changes(before, counts)]
        before = counts
    lines.append(f"{'load':<11}{'':>6}{compiled.seconds.get('load', 0):>9.3f}  kernels are compiled or taken from the cache")
    return "\n".join(lines) + "\n"


def operators(graph):
    """Counter of the operators of a graph and those below it; a cluster counts once, by what it is: "fused"."""
    counts: collections.Counter = collections.Counter()
    clusters = {node.fn for g in graph.reachable() for node in g.nodes if isinstance(node.fn, FuncGraph)}
    for g in graph.reachable():
        if g not in clusters:
            counts.update(node.fn.name if isinstance(node.fn, Primitive) else "fused" for node in g.nodes)
    return counts


def instructions(program):
    """How many instructions the Flows of a Program have."""
    return sum(1 for line in str(program).splitlines() if line.startswith("  "))


def changes(before, after):
    """["- 3 mul, 1 sub", "+ 1 fused"]: what went and what came."""
    lines = []
    for sign, counts in (("-", before - after), ("+", after - before)):
        if counts:
            lines.append(f"{sign} " + ", ".join(f"{n} {name}" for name, n in counts.most_common(8))
                         + (f", {len(counts) - 8} more kinds" if len(counts) > 8 else ""))
    return lines
