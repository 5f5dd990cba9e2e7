"""Automatic differentiation of typed graphs: reverse mode (`vjp_graph`) and forward mode (`jvp_graph`)."""
from .alone import gradients_alone, tangents_alone
from .jvp import jvp_graph
from .recompute import recompute_graph
from .vjp import vjp_graph


def derivative_graph(graph, wrt, seeds, mode):
    """The graph that the marker `J` with these attributes stands for: what `mindir.markers.expand` asks of ad."""
    if mode in ("jvp", "push"):
        return (jvp_graph if mode == "jvp" else tangents_alone)(graph, wrt)
    if mode == "pull":
        return gradients_alone(graph, wrt, seeds, has_run=True)
    return (vjp_graph if mode == "vjp" else recompute_graph)(graph, wrt, seeds)
