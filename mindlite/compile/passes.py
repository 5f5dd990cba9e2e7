"""The passes from a typed graph to a graph of kernels, as data: what each requires, establishes and undoes.

    jit            typed -> derive -> simplify -> expand_composites -> simplify -> .. -> cluster -> kernels
    recorded jit            derived -> simplify -> expand_composites -> ..                                  without derive
    eager backward          derived, simplified -> expand_composites -> ..                                  without simplify

All three run `PIPELINE`; what one of them leaves out is an `Omission`, which says why. A pass whose requirements do not hold is
refused when a Pipeline is built, with its omissions, and again when it runs, before the pass does.
"""
from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..ad import derivative_graph
from ..backend.target import Target, target_of
from ..common.config import config
from ..common.dim import Dim
from ..common.errors import InternalError, Stage
from ..common.events import listen
from ..common.location import Location
from ..common.ranks import engine
from ..common.records import dataclass
from ..graph_kernel.accumulate import accumulate_products
from ..graph_kernel.cluster import cluster
from ..graph_kernel.epilogue import finish_convolutions, finish_products
from ..graph_kernel.expand import GRADIENTS, drop_gradients, expand_composites, expand_stages, is_composite
from ..graph_kernel.pairs import complex_as_pairs
from ..graph_kernel.widen import widen_halves
from ..mindir.control import J, Vmap
from ..mindir.graph import CNode, FuncGraph
from ..mindir.markers import expand
from ..mindir.verify import order_of_effects, verify
from ..optim import optimise
from ..parallel.layout import whole
from ..parallel.overlap import overlap
from ..parallel.partition import Ends, partition
from ..parallel.stages import skip_unread_gradients
from ..parallel.windows import read_in_place
from ..ops.sorted_search import sorted_positions
from ..optim.aligned_products import align_products
from ..optim.panels import put_in_panels
from ..vmap import vmap_graph
from .library import ATTENTION, library_rule
from .placement import kernels_on_the_cpu, place

TYPED, DERIVED, SIMPLIFIED, BASIC, FUSED = "typed", "derived", "simplified", "basic", "fused"
FACTS = {
    TYPED: "every node has a type; control flow is cond, while_loop and call",
    DERIVED: "grad and vmap have become graphs",
    SIMPLIFIED: "folded, simplified, shared",
    BASIC: "composites written out",                # but for those that a library computes, as put_in_panels makes them
    FUSED: "every node is a kernel, a call or a branch",
}


@dataclass
class Wanted:
    """For what a graph is compiled.

    level  : "O0" or "O1", see jit_level        devices: where the arguments lie, as `placement.place` takes it
    device : where the kernels run, None for the CPU
    plan   : the parallel.partition.Plan of a graph that ranks split between them: `partition` finds it
    placements: how the arguments lie on several ranks, as `devices`
    updates: [(Tensor or number of a parameter, number of the result that is written to it)]
    """
    level: str
    devices: tuple = ()
    device: Any = None
    plan: Any = None
    placements: tuple = ()
    updates: Sequence[tuple] = ()

    @property
    def target(self) -> Target:
        """The Target of the device."""
        return target_of(self.device)

    def stays(self, node: CNode) -> bool:
        """Is a composite one operator to the Target?"""
        if node.fn is sorted_positions:                      # halvings of rows of open sizes have no fixed number
            return isinstance(node.args[0].shape[-1], Dim) and "search" in self.target.library
        return node.fn.name in ATTENTION and self.target.has_attention(node.args[0].dtype, node.args[0].shape[-1])


@dataclass(frozen=True)
class Pass:
    """A transformation of one typed graph.

    name    : as `explain` and errors print it          stage: the stage of which it is a part
    run     : (graph, Wanted) -> a new graph; the one that is given stays as it is
    requires, establishes, undoes: FACTS of the graph before it, of the graph behind it, and those that it may spoil
    """
    name: str
    stage: str
    run: Callable
    requires: tuple = ()
    establishes: tuple = ()
    undoes: tuple = ()


@dataclass(frozen=True)
class Omission:
    """Names of passes that a user of a Pipeline leaves out, and why."""
    passes: frozenset
    reason: str


NOTHING = Omission(frozenset(), "")


class Pipeline:
    """Passes in their order.

    passes : Pass, each name once
    raises : InternalError for a pass whose requirements those before it do not establish
    """

    def __init__(self, passes: Iterable[Pass], given: Iterable[str] = (TYPED,)) -> None:
        self.passes, self.given = tuple(passes), frozenset(given)
        names = [one.name for one in self.passes]
        if len(set(names)) != len(names):
            raise InternalError(f"a Pipeline has two passes of one name: {', '.join(names)}")
        self.check(self.given)

    @property
    def stages(self) -> tuple:
        """The names of the stages, in order."""
        return tuple(dict.fromkeys(one.stage for one in self.passes))

    def passes_of(self, stage: str) -> tuple:
        """The names of the passes of a stage."""
        return tuple(one.name for one in self.passes if one.stage == stage)

    def true_from(self, stage: str) -> str:
        """What is true of a graph behind a stage, as a sentence."""
        facts = dict.fromkeys(fact for one in self.passes if one.stage == stage for fact in one.establishes)
        return "; ".join(text for fact, text in FACTS.items() if fact in facts)

    def check(self, given: Iterable[str], without: Iterable[Omission] = ()) -> frozenset:
        """The facts behind all passes but those that are left out, from the facts `given`.

        raises : InternalError for a pass that is left out and does not exist, or that requires what does not hold
        """
        left = self._left_out(without)
        facts = frozenset(given)
        for one in self.passes:
            if one.name not in left:
                facts = _after(one, facts)
        return facts

    def run(self, graph: FuncGraph, wanted: Wanted, given: Iterable[str] | None = None, without: Iterable[Omission] = (),
            begins: Callable | None = None, seen: Callable | None = None) -> FuncGraph:
        """`graph` behind all passes.

        wanted : what decides on passes, and what they find out    given: the FACTS that hold of `graph` (those of the Pipeline)
        without: Omissions          begins, seen : called as (Pass,) before each pass, as (Pass, graph, seconds) behind it
        """
        left = self._left_out((*without, *LEVELS[wanted.level]))
        facts = self.given if given is None else frozenset(given)
        looks = config.verify or config.verify_graphs
        if looks:
            _look(graph, "infer" if given is None else "derive", "infer" if given is None else "transform", facts, None)
        for one in self.passes:
            if one.name in left:
                continue
            after, start = _after(one, facts), time.perf_counter()
            before = graph
            if begins is not None:
                begins(one)
            with Stage(one.stage):
                graph = one.run(graph, wanted)
            facts = after
            if looks and graph is not before:
                _look(graph, one.name, one.stage, facts, before)
            if seen is not None:
                seen(one, graph, time.perf_counter() - start)
        return graph

    def _left_out(self, without: Iterable[Omission]) -> frozenset:
        left = frozenset().union(*[omission.passes for omission in without])
        unknown = left - {one.name for one in self.passes}
        if unknown:
            raise InternalError(f"no pass is named {', '.join(sorted(unknown))}")
        return left


def _after(one: Pass, facts: frozenset) -> frozenset:
    """The facts behind a pass. raises : InternalError where it requires what does not hold"""
    missing = [fact for fact in one.requires if fact not in facts]
    if missing:
        raise InternalError(f"the pass {one.name} requires {', '.join(missing)} ({FACTS[missing[0]]}), which no pass before it "
                            "has established")
    return facts.difference(one.undoes).union(one.establishes)


def _look(graph: FuncGraph, name: str, stage: str, facts: frozenset, before: FuncGraph | None) -> None:
    """Verify a graph and its facts. raises : InternalError that names the pass and the node, at the user's line"""
    verify(graph, f"{name} (stage {stage})", None if before is None else order_of_effects(before))
    broken = broken_fact(facts, graph)
    if broken is not None:
        fact, node = broken
        raise InternalError(f"behind the pass {name} (stage {stage}): {node.fn.name} is there, and the graph counts as {fact} "
                            f"({FACTS[fact]})", location=node.origin.location)


def broken_fact(facts: Iterable[str], graph: FuncGraph) -> tuple | None:
    """(the fact, the node) of the first node, here and in the graphs below, of which one of these facts is not true."""
    tests = {DERIVED: lambda node: node.fn in (J, Vmap),
             BASIC: lambda node: is_composite(node) and library_rule(node.fn) is None or node.fn in GRADIENTS}
    asked = [(fact, tests[fact]) for fact in facts if fact in tests]
    for below in graph.reachable():
        for node in below.nodes:
            for fact, test in asked:
                if test(node):
                    return fact, node
    return None


# ---------------------------------------------------------------- the passes

NOTED = {"vmap_fallback": "vmap runs {of} element by element: {reason}", "remat_refused": "{reason}"}


def derive_graph(graph: FuncGraph) -> FuncGraph:
    """`graph` without J and Vmap markers, inner ones first; simplified before: less to differentiate and to save."""
    if any(node.fn in (J, Vmap) for below in graph.reachable() for node in below.nodes):
        graph = optimise(graph)
    with noting() as notes:
        graph = expand(graph, {J: derivative_graph, Vmap: vmap_graph})
    graph.transforms.setdefault("notes", []).extend(notes)
    return graph


@contextlib.contextmanager
def noting() -> Iterator[list[tuple[Location | None, str]]]:
    """Yield a list to which (Location, text) is added for each transformation that could not do what was wanted."""
    thread, notes = threading.get_ident(), []

    def hear(event, fields):
        if event in NOTED and threading.get_ident() == thread:
            notes.append((fields.get("location"), NOTED[event].format(**fields)))
    with listen(hear):
        yield notes


def _partition(graph: FuncGraph, wanted: Wanted) -> FuncGraph:
    skip_unread_gradients(graph)
    schedule = expand_stages(graph)
    if engine().size > 1:
        schedule = drop_gradients(schedule)                  # what is in a Cell with a gradient of its own is parted, too
    graph = graph if schedule is graph else optimise(schedule)
    graph, wanted.plan = partition(graph, ends=ends_of(graph, wanted))
    return graph if wanted.plan is None else optimise(graph)


def ends_of(graph: FuncGraph, wanted: Wanted) -> Ends:
    """How the arguments lie on several ranks, Parameters, and what is written to them."""
    given, lying = iter(wanted.placements), {}
    for p in graph.parameters:
        placement = next(given, None) if p.default is None else getattr(p.default, "placement", None)
        if placement is not None:
            lying[p] = placement
    if not lying:
        return Ends()
    of = {id(p.default): p for p in graph.parameters if p.default is not None}
    owners = [(graph.parameters[owner] if isinstance(owner, int) else of[id(owner)], number) for owner, number in wanted.updates]
    return Ends(lying, {number: lying.get(owner) or whole(next(iter(lying.values())).mesh) for owner, number in owners}, True)


def _align_products(graph: FuncGraph, wanted: Wanted) -> FuncGraph:
    aligned = align_products(graph, wanted.target)
    return graph if aligned is graph else optimise(aligned)


def _cluster(graph: FuncGraph, wanted: Wanted) -> FuncGraph:
    elsewhere = None if wanted.device is None else kernels_on_the_cpu
    return cluster(graph, level=wanted.level, target=wanted.target, elsewhere=elsewhere)


PIPELINE = Pipeline((
    Pass("derive", "transform", lambda graph, wanted: derive_graph(graph), (TYPED,), (DERIVED,), (SIMPLIFIED,)),
    Pass("simplify", "optimise", lambda graph, wanted: optimise(graph), (DERIVED,), (SIMPLIFIED,)),
    Pass("partition", "optimise", _partition, (DERIVED,)),
    Pass("expand_composites", "optimise", lambda graph, wanted: expand_composites(graph, wanted.stays), (DERIVED, SIMPLIFIED),
         (BASIC,), (SIMPLIFIED,)),
    Pass("simplify_basic", "optimise", lambda graph, wanted: optimise(graph), (BASIC,), (SIMPLIFIED,)),
    Pass("widen_halves", "fuse", lambda graph, wanted: graph if wanted.target.half_kernels else widen_halves(graph),
         (BASIC, SIMPLIFIED)),
    Pass("complex_as_pairs", "fuse", lambda graph, wanted: graph if wanted.device is not None else complex_as_pairs(graph),
         (BASIC, SIMPLIFIED)),
    Pass("accumulate_products", "fuse", lambda graph, wanted: accumulate_products(graph), (BASIC, SIMPLIFIED)),
    Pass("align_products", "fuse", _align_products, (BASIC, SIMPLIFIED)),
    Pass("finish_convolutions", "fuse", lambda graph, wanted: finish_convolutions(graph) if "finished" in wanted.target.library
         else graph, (BASIC, SIMPLIFIED)),
    Pass("finish_products", "fuse", lambda graph, wanted: finish_products(graph) if "finished products" in wanted.target.library
         else graph, (BASIC, SIMPLIFIED)),
    Pass("put_in_panels", "fuse", lambda graph, wanted: put_in_panels(graph, wanted.target), (BASIC, SIMPLIFIED)),
    Pass("place", "fuse", lambda graph, wanted: place(graph, wanted.devices, wanted.device)),
    Pass("read_in_place", "fuse", lambda graph, wanted: graph if wanted.device is not None else read_in_place(graph), (BASIC,)),
    Pass("overlap", "fuse", lambda graph, wanted: overlap(graph), (BASIC,)),
    Pass("cluster", "fuse", _cluster, (BASIC, SIMPLIFIED), (FUSED,)),
))
LEVELS = {"O0": (Omission(frozenset({"complex_as_pairs", "accumulate_products", "align_products", "finish_convolutions",
                                     "finish_products", "put_in_panels"}),
                          "jit_level O0: one kernel for each operator"),),
          "O1": ()}
# What the users of PIPELINE leave out, and why.
DERIVED_ALREADY = Omission(frozenset({"derive"}), "the graph is that of a derivative, or its markers are gone")
SIMPLE_ALREADY = Omission(frozenset({"simplify"}), "one operator, or a backward graph that was simplified when it was written")
ON_THE_CPU = Omission(frozenset({"place"}), "who compiles a graph of eager mode says where its arguments lie")
AS_THEY_ARE_CALLED = Omission(frozenset({"read_in_place"}), "when eager mode compiles depends on time, and another rank may not "
                              "have done so: collectives stay what they are")
EAGER = (DERIVED_ALREADY, SIMPLE_ALREADY, ON_THE_CPU, AS_THEY_ARE_CALLED)
RECORDED = (DERIVED_ALREADY, AS_THEY_ARE_CALLED)
