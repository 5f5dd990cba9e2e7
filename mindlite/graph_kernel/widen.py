"""Half precision where a library has no kernels for it: products, convolutions and scans run in float32, between casts.

    %2 = convolution(%x, %w) : bf16     ->     %1 = convolution(cast(%x), cast(%w)) : f32; %2 = cast(%1) : bf16

It is what these operators mean: they add up in float32 and round once. The casts join the kernels of what stands around them.
"""
from typing import Any

from ..common.dtype import bfloat16, float16, float32
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import clone
from ..ops.basic import cast
from ..ops.linalg import batch_matmul
from ..ops.nn_conv import convolution, convolution_backward_data, convolution_backward_weight
from ..ops.scan import cumulative_logsumexp, cumulative_product, cumulative_sum, linear_recurrence

WIDENED = frozenset((batch_matmul, convolution, convolution_backward_data, convolution_backward_weight, cumulative_logsumexp,
                     cumulative_product, cumulative_sum, linear_recurrence))


def widen_halves(graph: FuncGraph) -> FuncGraph:
    """A copy of a typed graph in which those operators have float32 operands; `graph` itself where there is none."""
    if not any(_is_half(node) for below in graph.reachable() for node in below.nodes):
        return graph
    graph = clone(graph)
    for below in graph.reachable():
        nodes: list = []
        for node in below.nodes:
            if _is_half(node):
                nodes += _widened(below, node)
            nodes.append(node)
        below.nodes = nodes
    return graph


def _is_half(node: Any) -> bool:
    return node.fn in WIDENED and node.abstract.dtype in (float16, bfloat16)


def _widened(graph: FuncGraph, node: CNode) -> list:
    """The nodes that compute what `node` does, which becomes the cast of their result."""
    made = [CNode(graph, cast, [arg], {"dtype": float32}, AbstractTensor(float32, arg.abstract.shape), node.origin)
            for arg in node.args]
    wide = CNode(graph, node.fn, made, node.attrs, AbstractTensor(float32, node.abstract.shape), node.origin)
    node.fn, node.args, node.attrs = cast, (wide,), {"dtype": node.abstract.dtype}
    return [*made, wide]
