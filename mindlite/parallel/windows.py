"""Sums of ranks that see each other's memory: nothing moves, who reads a sum adds up what all ranks have.

    g2 = matmul(..)                            w, m2, m1 = open_window(f32[..], f32[..])
    g1 = matmul(g2, ..)                        g2 = matmul(..)                              written to m2
    r2, r1 = all_reduce_coalesced(g2, g1) ->   g1 = matmul(g2, ..)                          written to m1
    v2 = 0.9 * v2 + r2                         a2, a1, b2, b1 = read_window(w, g2, g1)      behind one barrier
                                               v2 = 0.9 * v2 + (a2 + b2)

An all_reduce copies its bytes to where others see them, reads those of all ranks and writes the sum, which its reader reads.
Here kernels and products write gradients into memory that all ranks see (compile/lower.py; what was not written there is
copied), and the additions become a part of the kernel that reads the sum: an optimiser's, for one. They are in the order of the
ranks, so all ranks have the same bits, those of an all_reduce.

Sums of a known size of LEAST bytes and more, between at most MOST ranks of one machine; others travel as they did. The memory is
twice as large as the gradients, so what is larger than LARGEST travels, too.
"""
import functools
import math

from ..common.dim import Dim
from ..common.ranks import MOST, engine
from ..mindir.builder import building
from ..mindir.control import tuple_getitem
from ..mindir.graph import AnfNode, CNode, FuncGraph
from ..ops.arithmetic import add
from ..ops.collectives import all_reduce, all_reduce_coalesced
from ..ops.rank_program import open_window, read_window

LEAST, LARGEST = 1 << 16, 1 << 26                # bytes: of one sum, of all sums of a program


def read_in_place(graph: FuncGraph) -> FuncGraph:
    """The graph, of basic operators, whose sums of near ranks are made where they are read. It is changed in place, before
    clusters are made."""
    found = [node for node in graph.nodes if node.fn in (all_reduce, all_reduce_coalesced) and _fits(node)]
    total = 0
    for node in found:
        total += sum(map(_nbytes, node.args))
        if total <= LARGEST:
            _write(graph, node)
    return graph


def _fits(node: CNode) -> bool:
    group, dtype = node.attrs["group"], node.args[0].abstract.dtype
    return (node.attrs["reduction"] == "sum" and dtype.name in ("float32", "float64") and 1 < len(group) <= MOST
            and not any(isinstance(size, Dim) for arg in node.args for size in arg.abstract.shape)
            and sum(map(_nbytes, node.args)) >= LEAST and engine().is_near(group))


def _nbytes(operand: AnfNode) -> int:
    return math.prod(operand.abstract.shape) * operand.abstract.dtype.itemsize


def _write(graph: FuncGraph, node: CNode) -> None:
    """Put open_window at the beginning, and read_window and the sums in place of an all_reduce."""
    group, count, at = node.attrs["group"], len(node.args), graph.nodes.index(node)
    before, behind = graph.nodes[:at], graph.nodes[at + 1:]
    with building(graph, node.origin):
        graph.nodes[:] = []
        window, *_ = open_window(like=tuple([x.abstract for x in node.args]), group=group)
        graph.nodes += before
        theirs = read_window(window, *node.args, group=group)
        sums = [functools.reduce(add, theirs[k::count]) for k in range(count)]
    stands: dict = {node: sums[0]} if node.fn is all_reduce else {
        one: sums[one.attrs["index"]] for one in behind if one.fn is tuple_getitem and one.args[0] is node}
    for one in (*behind, graph.output):
        one.args = tuple([stands.get(arg, arg) for arg in one.args])
    graph.nodes += [one for one in behind if one not in stands]
