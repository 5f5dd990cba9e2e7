"""Automatic differentiation of typed graphs: reverse mode (`vjp_graph`) and forward mode (`jvp_graph`)."""
from .jvp import jvp_graph
from .recompute import recompute_graph
from .vjp import gradients_alone, vjp_graph  # noqa: F401


def derivative_graph(graph, wrt, seeds, mode):
    """The graph that the marker `J` with these attributes stands for: what `mindir.markers.expand` asks of ad."""
    if mode == "jvp":
        return jvp_graph(graph, wrt)
    return (vjp_graph if mode == "vjp" else recompute_graph)(graph, wrt, seeds)
