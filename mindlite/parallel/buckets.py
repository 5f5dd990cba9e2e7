"""Small all_reduces that do not wait for each other travel as one: a bucket.

    r3 = all_reduce(g3)                      g2 = matmul(..)
    g2 = matmul(..)                  ->      r3, r2 = all_reduce_coalesced(g3, g2)
    r2 = all_reduce(g2)                      w3 = w3 - r3
    w3 = w3 - r3

Boxing writes an all_reduce for each gradient. A message costs its latency however small it is, so neighbours that fold alike are
joined, in the order in which the backward makes them, to PIECE bytes and no more: a bucket begins to travel when its last
gradient is there. A collective that needs the result of another, or that another effect stands between, is in another bucket.
The copy that an in-place collective needs is the one that lays the operands side by side, and the results are parts of it.

Source: Li et al. 2020 (PyTorch Distributed, section 3.2.3), who join gradients in the reverse order of the parameters.
"""
import math
import sys

from ..common.dim import Dim
from ..common.ranks import ring_bytes, wishes
from ..common.records import dataclass
from ..mindir.abstract import AbstractTuple
from ..mindir.control import tuple_getitem
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import has_effect, size_edges
from ..ops.collectives import all_reduce, all_reduce_coalesced

PIECE = 4 << 20                                  # bytes of a bucket, at most


@dataclass(frozen=True)
class Bucket:
    """What became one collective: how many there were, what this rank sends for it, and what it would send for each."""
    count: int
    nbytes: int
    alone: int


def most_joined() -> int:
    """Bytes of a bucket at most, as the program wants it: PIECE, where it says nothing."""
    return PIECE if wishes.joined is None else wishes.joined


def join(graph: FuncGraph, most: int | None = None) -> list[Bucket]:
    """Join the all_reduces of a graph, which is changed in place; the buckets of more than one.

    most : bytes of a bucket; None: what `most_joined` says
    """
    found = [bucket for bucket in _gathered(graph, most_joined() if most is None else most) if len(bucket) > 1]
    for bucket in found:
        _write(graph, bucket)
    return [_described(bucket) for bucket in found]


def _described(bucket: list[CNode]) -> Bucket:
    count = len(bucket[0].attrs["group"])
    sizes = [_nbytes(node) for node in bucket]
    return Bucket(len(bucket), ring_bytes("all_reduce", sum(sizes), count),
                  sum([ring_bytes("all_reduce", size, count) for size in sizes]))


def _nbytes(node: CNode) -> int:
    """Bytes of the operand; more than any bucket has where a size is open."""
    abstract = node.args[0].abstract
    if any(isinstance(size, Dim) for size in abstract.shape):
        return sys.maxsize
    return math.prod(abstract.shape) * abstract.dtype.itemsize


def _gathered(graph: FuncGraph, most: int) -> list[list[CNode]]:
    """The all_reduces of the graph in lists of neighbours that may travel together."""
    buckets: list[list[CNode]] = []
    closed = True                                            # nothing more goes into the last one
    below: set = set()                                       # what needs a result of the last one
    known: dict = {}
    for node in graph.nodes:
        needs = not below.isdisjoint(node.args)
        if node.fn is all_reduce:
            last = buckets[-1] if buckets and not closed else None
            if last is not None and not needs and _alike(last[0], node) and sum(map(_nbytes, (*last, node))) <= most:
                last.append(node)
            else:
                buckets.append([node])
                below, closed = set(), False
            below.add(node)
        elif has_effect(node, known):
            closed = True
        elif needs:
            below.add(node)
    return buckets


def _alike(a: CNode, b: CNode) -> bool:
    return a.attrs == b.attrs and a.args[0].abstract.dtype == b.args[0].abstract.dtype


def _write(graph: FuncGraph, bucket: list[CNode]) -> None:
    """Put one collective where the last of the bucket stands, and behind it what stood before it and needs a result."""
    last = bucket[-1]
    joined = CNode(graph, all_reduce_coalesced, [node.args[0] for node in bucket], dict(last.attrs),
                   AbstractTuple(tuple([node.abstract for node in bucket])), last.origin)
    parts = {node: CNode(graph, tuple_getitem, [joined], {"index": k}, node.abstract, node.origin)
             for k, node in enumerate(bucket)}
    before: list[CNode] = []
    behind: list[CNode] = []
    waiting, sizes = set(bucket), size_edges(graph)
    for node in graph.nodes[:graph.nodes.index(last)]:
        if node in parts:
            continue
        if waiting.isdisjoint((*node.args, *[first for first, second in sizes if second is node])):
            before.append(node)
        else:
            waiting.add(node)
            behind.append(node)
    rest = graph.nodes[graph.nodes.index(last) + 1:]
    for node in (*behind, *rest):
        node.args = tuple([parts.get(arg, arg) for arg in node.args])
    graph.nodes[:] = [*before, joined, *parts.values(), *behind, *rest]
    graph.output.args = tuple([parts.get(arg, arg) for arg in graph.output.args])
