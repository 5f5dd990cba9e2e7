"""Collectives beside computation: each begins once its operand is there, and is finished where it is read.

    g2 = matmul(..)                      g2 = matmul(..)
    g1 = matmul(g2, ..)         ->       t2 = begin(g2, all_reduce)
    r2 = all_reduce(g2)                  g1 = matmul(g2, ..)               while g2 travels
    w2 = w - r2                          r2 = finish(t2)
                                         w2 = w - r2

The order of collectives is kept, so it is the same on all ranks; the thread that communicates does them one after the other
(`Engine.begin`). What a collective needs, and what stood before that, is computed before the rest, and who reads it comes when
nothing else is left to do. A collective of a Parameter alone could begin at once, and all would lie in memory together: it begins
when the reader of the one before it is about to run. Small ones are over before a thread has woken, and stay as they are; so do
those beside which there is little to do (`_work_beside`).

Source: Li et al. 2020 (PyTorch Distributed, section 4.2) overlap buckets of gradients with the backward in this way.
"""
import math

from ..common.dim import Dim
from ..common.ranks import engine
from ..mindir.abstract import AbstractAny, AbstractTensor
from ..mindir.control import segment, tuple_getitem
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import has_effect, size_edges
from ..ops.collectives import all_gather, all_reduce, all_reduce_coalesced, all_to_all, broadcast_from, reduce_scatter
from ..ops.rank_program import begin, finish

SPLIT = (all_reduce, all_reduce_coalesced, all_gather, reduce_scatter, all_to_all, broadcast_from)
LEAST = 1 << 16                                  # bytes of an operand that travels beside the program
BRIEF = 2e-4                                     # seconds that a collective takes at least, where the link was measured
SHARE = 0.25                                     # bytes that are computed meanwhile, by those that travel, at least


def overlap(graph: FuncGraph, least: int | None = None) -> FuncGraph:
    """The graph, of basic operators, with its large collectives begun early and finished late. It is changed in place, before
    clusters are made: kernels that were one for both sides of a collective would tie them together.

    least : bytes of the operand from which a collective is large; None: LEAST
    """
    least = LEAST if least is None else least
    large = {node for node in graph.nodes if node.fn in SPLIT and _is_large(node, least)}
    if large:
        graph.nodes[:] = _Order(graph, large).run()
        _split(graph, large)
    return graph


def _is_large(node, least):
    """True where the collective takes longer than handing it to another thread and waiting for that; the same on all ranks."""
    here, nbytes = engine(), sum(map(_nbytes, node.args))
    if nbytes < least or here.link is None:
        return nbytes >= least
    kind = "fold" if node.fn in (all_reduce, all_reduce_coalesced) else node.fn.name
    alpha, beta = here.links.get((kind, here.reach([node.attrs["group"]])), here.link)
    return alpha + nbytes * beta >= BRIEF


def _nbytes(operand):
    shape = operand.abstract.shape
    return 0 if any(isinstance(size, Dim) for size in shape) else math.prod(shape) * operand.abstract.dtype.itemsize


class _Order:
    """The nodes of a graph in another order that keeps operands, sizes and effects."""

    def __init__(self, graph, large):
        self.graph, self.large, self.done, self.order = graph, large, set(), []
        self.position = {node: number for number, node in enumerate(graph.nodes)}
        self.before = {node: {arg for arg in node.args if isinstance(arg, CNode)} for node in graph.nodes}
        self.effects = []
        last: CNode | None = None
        touched: dict = {}
        readers: dict = {}
        known: dict = {}
        for node in graph.nodes:
            acts, tensors = has_effect(node, known), [arg for arg in node.args if isinstance(arg.abstract, AbstractTensor)]
            self.before[node].update(touched[arg] for arg in tensors if arg in touched)
            if acts:
                self.before[node].update(() if last is None else (last,))
                last = node
                self.effects.append(node)
                if node not in large:                        # it may write to what others read
                    for arg in tensors:
                        touched[arg] = node
                        self.before[node].update(readers.get(arg, ()))
            for arg in tensors:
                readers.setdefault(arg, []).append(node)
        for first, second in size_edges(graph):
            self.before[second].add(first)

    def run(self):
        """The nodes, in order."""
        gathered = None                                      # the last collective of a Parameter alone
        for node in self.effects:
            if node in self.large and not any(isinstance(arg, CNode) for arg in node.args):
                if gathered is not None:
                    reader = next((n for n in self.graph.nodes if gathered in n.args), None)
                    if reader is not None and node not in self.above(reader):
                        self.emit(self.above(reader))
                gathered = node
            needed = self.above(node)
            last = max(map(self.position.__getitem__, needed), default=-1)
            self.emit(self.graph.nodes[:last + 1])           # what stood before them frees what it reads, and does not wait
            self.emit([node])
        self.emit(self.graph.nodes)
        return self.order

    def above(self, node):
        """All that must come before a node and has not come."""
        found, waiting = set(), [node]
        while waiting:
            for earlier in self.before[waiting.pop()]:
                if earlier not in found and earlier not in self.done:
                    found.add(earlier)
                    waiting.append(earlier)
        return found

    def emit(self, nodes):
        """Put nodes that have not come yet behind the others, in their old order."""
        for node in sorted(set(nodes) - self.done, key=self.position.__getitem__):
            self.done.add(node)
            self.order.append(node)


def _split(graph, large):
    """Write begin in place of each large collective, and finish before its first reader; where little runs between them, the
    collective stays."""
    nodes: list = []
    open_: dict = {}
    made: dict = {}

    def close(arg):
        began, at = open_.pop(arg)
        if _work_beside(nodes[at + 1:], graph.output) < SHARE * sum(map(_nbytes, arg.args)):
            nodes[at] = made[arg] = CNode(graph, arg.fn, arg.args, arg.attrs, arg.abstract, arg.origin)
            return
        made[arg] = CNode(graph, finish, [began], {"abstract": arg.abstract}, arg.abstract, arg.origin)
        nodes.append(made[arg])
    for node in graph.nodes:
        for arg in dict.fromkeys(node.args):
            if arg in open_:
                close(arg)
        node.args = tuple([made.get(arg, arg) for arg in node.args])
        if node in large:
            attrs = {"operator": node.fn.name, "settings": dict(node.attrs)}
            began = CNode(graph, begin, node.args, attrs, AbstractAny(), node.origin)
            open_[node] = began, len(nodes)
            nodes.append(began)
        else:
            nodes.append(node)
    for arg in list(open_):
        close(arg)
    graph.nodes[:] = nodes
    graph.output.args = tuple([made.get(arg, arg) for arg in graph.output.args])


def _work_beside(nodes, output):
    """Bytes that these nodes read and write, which stand between a collective and its reader; infinite where nobody knows: open
    sizes, Python code.

    What only nodes behind them read counts from the last library operator on: the rest would be fused with its readers. Other
    collectives do not count.
    """
    needed, work = set(output.args), 0.0
    for node in reversed(nodes):
        if node in needed or "library" in getattr(node.fn, "traits", ()) or has_effect(node, {}):
            needed.update(node.args)
            if node.fn is segment:
                return math.inf
            if node.fn not in (begin, finish, tuple_getitem, *SPLIT):
                work += sum([_bytes_or_many(value.abstract) for value in (*node.args, node)])
    return work


def _bytes_or_many(abstract):
    if not isinstance(abstract, AbstractTensor):
        return 0
    if any(isinstance(size, Dim) for size in abstract.shape):
        return math.inf
    return math.prod(abstract.shape) * abstract.dtype.itemsize
