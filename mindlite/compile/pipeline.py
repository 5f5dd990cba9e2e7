"""The road of a function, from its source to an Executable.

    parse -> infer -> transform (ad, vmap) -> optimise -> fuse -> plan -> load

`compile_function` walks it (the passes between infer and plan are `passes.PIPELINE`) and keeps what came out of every stage,
for people who want to look.
"""
from __future__ import annotations

import collections
import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any

from ..common.config import config
from ..common.device import Device, target_device
from ..common.errors import ArgumentError, Stage
from ..common.events import emit
from ..common.location import Location
from ..common.records import dataclass
from ..fallback.record import Records
from ..infer.specialise import Specialised, specialise
from ..infer.values import Place
from ..mindir.control import segment
from ..mindir.graph import FuncGraph
from ..optim import count_nodes
from ..parallel.report import Plan
from .executable import Executable
from .guards import guards_hold
from .lower import Lowered, lower
from .passes import PIPELINE, Pass, Wanted
from .printers.native import order_native
from .progress import Progress

STAGES = ("parse", "infer", *PIPELINE.stages, "plan")


@dataclass
class Compiled:
    """A function compiled for one signature.

    graph  : its parameters and outputs are what the caller gives and gets
    seconds: {stage: float}     nodes: {stage: how many}
    notes  : (Location, text) of what transformations could not do     unfused: lines on what was not fused, and why
    walked : {stage: FuncGraph; "plan": Program}, empty for what was taken from the disk
    whole  : of what was taken from the disk: () -> the same function compiled here
    not_cached: why it is not cached on the disk, "" if it is
    plan   : what ranks split between them, a parallel.partition.Plan, or None
    """
    specialised: Specialised
    lowered: Lowered
    executable: Executable
    graph: FuncGraph
    seconds: dict[str, float]
    nodes: dict[str, int] = field(default_factory=dict)
    notes: list[tuple[Location | None, str]] = field(default_factory=list)
    unfused: list[str] = field(default_factory=list)
    walked: dict[str, Any] = field(default_factory=dict)
    whole: Callable[[], Compiled] | None = None
    not_cached: str = ""
    plan: Plan | None = None

    @property
    def from_disk(self) -> bool:
        """True for what was taken from the disk."""
        return self.whole is not None

    @functools.cached_property
    def full(self) -> Compiled:
        """The same with all its stages: what was taken from the disk is compiled when somebody looks inside.

        raises : ArgumentError if it can no longer be, as what it was compiled of has changed
        """
        if self.whole is None:
            return self
        if not guards_hold(self.specialised.guards):
            raise ArgumentError("it was taken from the disk, and what it was compiled of has changed",
                                hint="call the function again, then look inside")
        return self.whole()

    @property
    def stages(self) -> dict[str, Any]:
        """{stage: FuncGraph; "plan": Program}"""
        return self.full.walked


def compile_function(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], *, name: str, **options: Any) -> Compiled:
    """Compile `function` for arguments in which Abstracts stand for run-time values.

    devices : where the Tensors among the arguments lie, in order, None for the CPU; kernels run on config.device_target
    placements: how they lie on several ranks, in order, None for what is a rank's own
    varying : Places outside of the function whose numbers are run-time values too
    """
    with Progress(name) as progress:
        return _compile(function, args, kwargs, progress, name=name, **options)


def _compile(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], progress: Progress, *, name: str,
             fullgraph: bool = False, fallbacks: Records | None = None, pure: bool = False, jit_level: str | None = None,
             printer: str | None = None, varying: Iterable[Place] = (), devices: tuple[Device | None, ...] = (),
             placements: tuple = ()) -> Compiled:
    stages: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    order_native()

    @contextlib.contextmanager
    def timed(stage: str) -> Iterator[None]:
        start, progress.stage = time.perf_counter(), stage
        with Stage(stage):
            yield
        seconds[stage] = time.perf_counter() - start
    with timed("infer"):
        specialised = specialise(function, args, kwargs, name, fullgraph, fallbacks, pure, varying=varying)
    stages["infer"], level = specialised.graph, jit_level or config.jit_level
    wanted = Wanted(level, devices, target_device(), placements=placements, updates=specialised.updates)

    def seen(one: Pass, graph: FuncGraph, took: float) -> None:
        stages[one.stage] = graph
        seconds[one.stage] = seconds.get(one.stage, 0) + took

    def begins(one: Pass) -> None:
        progress.stage = one.stage
    graph = PIPELINE.run(specialised.graph, wanted, begins=begins, seen=seen)
    with timed("plan"):
        wholes = None if wanted.plan is None else wanted.plan.wholes
        lowered = lower(graph, update_targets(specialised, graph), wanted.device, wholes)
    progress.program = lowered.program
    with timed("load"):
        executable = Executable(lowered.program, printer)
    stages["plan"] = lowered.program
    nodes = {stage: count_nodes(g) for stage, g in stages.items() if stage != "plan"}
    emit("compile", name=name, seconds=sum(seconds.values()), nodes=nodes)
    return Compiled(specialised, lowered, executable, stages["fuse"], seconds, nodes,
                    list(dict.fromkeys(stages["transform"].transforms.get("notes", ()))), alone_in(stages["fuse"]), stages,
                    plan=wanted.plan)


def alone_in(graph: FuncGraph) -> list[str]:
    """What was not fused, and why: a line for each place and reason."""
    found = collections.Counter(
        f"{node.origin.location or ''} {getattr(node.fn, 'name', node.fn)} stays unfused: {reason}"
        for node, reason in graph.transforms.get("refused", ()) if node.fn is not segment)
    return [f"{line}{f' ({count} times)' * (count > 1)}" for line, count in found.items()]


def update_targets(specialised: Specialised, graph: FuncGraph) -> list[tuple[int, int]]:
    """(number of an output, number of the parameter whose memory it is written to) for each update."""
    places = {id(p.default): i for i, p in enumerate(graph.parameters) if p.default is not None}
    return [(number, owner if isinstance(owner, int) else places[id(owner)]) for owner, number in specialised.updates]
