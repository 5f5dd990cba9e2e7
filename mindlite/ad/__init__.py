"""Automatic differentiation of typed graphs: reverse mode (`vjp_graph`) and forward mode (`jvp_graph`)."""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

from ..mindir.graph import FuncGraph
from .derivatives_only import gradients_only, recompute_graph, tangents_only
from .jvp import jvp_graph
from .vjp import vjp_graph

if TYPE_CHECKING:
    from .activity import Positions


def derivative_graph(graph: FuncGraph, wrt: Positions, seeds: Any, mode: str) -> FuncGraph:
    """The graph that the marker `J` with these attributes stands for: what `mindir.markers.expand` asks of ad."""
    if mode in ("jvp", "push"):
        return (jvp_graph if mode == "jvp" else tangents_only)(graph, wrt)
    if mode == "pull":
        return gradients_only(graph, wrt, seeds, has_run=True)
    return (vjp_graph if mode == "vjp" else recompute_graph)(graph, wrt, seeds)
