"""The road of a function: the only module that knows all transformations and their order.

    parse -> infer -> transform (ad, vmap) -> optimise -> fuse -> plan -> load

`compile_function` walks it and keeps what came out of every stage, for people who want to look.
"""
import collections
import contextlib
import functools
import threading
import time
from dataclasses import field

from ..ad import derivative_graph
from ..common.config import config
from ..common.errors import ArgumentError, Stage
from ..common.events import emit, listen
from ..common.records import dataclass
from ..graph_kernel.accumulate import accumulate_products
from ..graph_kernel.epilogue import finish_convolutions
from ..graph_kernel.cluster import cluster
from ..graph_kernel.expand import expand_composites
from ..infer.specialise import specialise
from ..mindir.control import J, Vmap, segment
from ..mindir.markers import expand
from ..optim import optimise
from ..optim.panels import put_in_panels
from ..vmap import vmap_graph
from .executable import Executable
from .guards import guards_hold
from .lower import lower
from .placement import kernels_on_the_cpu, place
from .printers.native import order_native

STAGES = ("parse", "infer", "transform", "optimise", "fuse", "plan")


@dataclass
class Compiled:
    """A function compiled for one signature.

    graph  : its parameters and outputs are what the caller gives and gets
    seconds: {stage: float}     nodes: {stage: how many}
    notes  : (Location, text) of what transformations could not do     alone: lines on what was not fused, and why
    walked : {stage: FuncGraph; "plan": Program}; None for what was taken from the disk
    whole  : () -> the same function compiled here;   kept: why it is not kept on the disk, "" if it is
    """
    specialised: object
    lowered: object
    executable: object
    graph: object
    seconds: dict
    nodes: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)
    alone: list = field(default_factory=list)
    walked: dict = None
    whole: object = None
    kept: str = ""

    @property
    def from_disk(self):
        """True for what was taken from the disk."""
        return self.walked is None

    @functools.cached_property
    def full(self):
        """The same with all its stages: what was taken from the disk is compiled when somebody looks inside.

        raises : ArgumentError if it can no longer be, as what it was compiled of has changed
        """
        if not self.from_disk:
            return self
        if not guards_hold(self.specialised.guards):
            raise ArgumentError("it was taken from the disk, and what it was compiled of has changed",
                                hint="call the function again, then look inside")
        return self.whole()

    @property
    def stages(self):
        """{stage: FuncGraph; "plan": Program}"""
        return self.full.walked


NOTED = {"vmap_fallback": "vmap runs {of} element by element: {reason}", "remat_refused": "{reason}"}


def derive_graph(graph):
    """`graph` without J and Vmap markers, inner ones first; simplified before: less to differentiate and to save."""
    if any(node.fn in (J, Vmap) for below in graph.reachable() for node in below.nodes):
        graph = optimise(graph)
    with noting() as notes:
        graph = expand(graph, {J: derivative_graph, Vmap: vmap_graph})
    graph.transforms.setdefault("notes", []).extend(notes)
    return graph


@contextlib.contextmanager
def noting():
    """Yield a list to which (Location, text) is added for each transformation that could not do what was wanted."""
    thread, notes = threading.get_ident(), []

    def hear(event, fields):
        if event in NOTED and threading.get_ident() == thread:
            notes.append((fields.get("location"), NOTED[event].format(**fields)))
    with listen(hear):
        yield notes


def compile_function(function, args, kwargs, *, name, fullgraph=False, fallbacks=None, harmless=False,
                     jit_level=None, printer=None, varying=(), devices=()):
    """Compile `function` for arguments in which Abstracts stand for run-time values.

    devices : where the Tensors among the arguments lie, in order, None for the CPU; kernels run on config.device_target
    varying : Places outside of the function whose numbers are run-time values too
    """
    stages, seconds = {}, {}
    order_native()

    @contextlib.contextmanager
    def timed(stage):
        start = time.perf_counter()
        with Stage(stage):
            yield
        seconds[stage] = time.perf_counter() - start
    with timed("infer"):
        specialised = specialise(function, args, kwargs, name, fullgraph, fallbacks, harmless, varying=varying)
    stages["infer"], level = specialised.graph, jit_level or config.jit_level
    with timed("transform"):
        graph = stages["transform"] = derive_graph(specialised.graph)
    with timed("optimise"):
        graph = stages["optimise"] = optimise(expand_composites(optimise(graph)))
    with timed("fuse"):
        if level != "O0":
            graph = put_in_panels(finish_convolutions(accumulate_products(graph)))
        device = place(graph, devices)
        graph = stages["fuse"] = cluster(graph, level=level, elsewhere=None if device is None else kernels_on_the_cpu)
    with timed("plan"):
        lowered = lower(graph, update_targets(specialised, graph), device)
    with timed("load"):
        executable = Executable(lowered.program, printer)
    stages["plan"] = lowered.program
    nodes = {stage: count_nodes(g) for stage, g in stages.items() if stage != "plan"}
    emit("compile", name=name, seconds=sum(seconds.values()), nodes=nodes)
    return Compiled(specialised, lowered, executable, stages["fuse"], seconds, nodes,
                    list(dict.fromkeys(stages["transform"].transforms.get("notes", ()))), alone_in(stages["fuse"]), stages)


def alone_in(graph):
    """What was not fused, and why: a line for each place and reason."""
    found = collections.Counter(
        f"{node.origin.location or ''} {getattr(node.fn, 'name', node.fn)} stays alone: {reason}"
        for node, reason in graph.transforms.get("refused", ()) if node.fn is not segment)
    return [f"{line}{f' ({count} times)' * (count > 1)}" for line, count in found.items()]


def update_targets(specialised, graph):
    """(number of an output, number of the parameter whose memory it is written to) for each update."""
    places = {id(p.default): i for i, p in enumerate(graph.parameters) if p.default is not None}
    return [(number, owner if isinstance(owner, int) else places[id(owner)]) for owner, number in specialised.updates]


def count_nodes(graph):
    """The number of nodes of a graph and all below it (in clusters too)."""
    return sum(len(g.nodes) for g in graph.reachable())
