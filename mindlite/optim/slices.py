"""The gradient of slices that fill a tensor is a concatenation.

    %1 = pad_slice(%dq; start=0); %2 = pad_slice(%dk; start=64)
    %3 = add(%1, %2)                                               ->     %3 = concatenate(%dq, %dk; axis=1) + 0

Each slice of x gives a gradient in zeros, and the sum of q, k and v = split(x) would read three tensors for each element of one.
The zero is added as it was: -0 + 0 is 0.
"""
import numpy as np

from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import users_of
from ..ops.arithmetic import add
from ..ops.slicing import pad_slice
from ..ops.structure import concatenate
from .rewrite import rebuild


def join_slices(graph: FuncGraph) -> int:
    """Leaves no sum of slices, each put into zeros, that lie side by side along one axis and fill the whole."""
    if not any(node.fn is pad_slice for node in graph.nodes):
        return 0
    users = users_of(graph)
    return rebuild(graph, lambda node: _joined(node, users), {add})


def _joined(node: CNode, users: dict):
    parts = _parts(node, node.abstract, users)
    axes = {axis for part in parts for axis, (a, b) in enumerate(zip(part.args[0].abstract.shape, node.abstract.shape)) if a != b}
    if len(parts) < 2 or len(axes) != 1:
        return None
    axis, = axes
    parts.sort(key=lambda part: part.attrs["start"][axis])
    end = 0
    for part in parts:
        start, size = part.attrs["start"], part.args[0].abstract.shape[axis]
        if not isinstance(size, int) or start != tuple(end if a == axis else 0 for a in range(len(start))):
            return None
        end += size
    if end != node.abstract.shape[axis]:
        return None
    made = concatenate(*(part.args[0] for part in parts), axis=axis)
    return made if node.abstract.dtype.kind in "ui" else add(made, np.zeros((), node.abstract.dtype.numpy))


def _parts(node, abstract, users: dict) -> list:
    """The pad_slices of which a node is the sum; [] where it is the sum of something else."""
    if not isinstance(node, CNode) or node.abstract != abstract:
        return []
    if node.fn is pad_slice:
        attrs = node.attrs
        plain = attrs["value"] == 0 and set(attrs["step"]) == {1} and all(isinstance(start, int) for start in attrs["start"])
        return [node] if plain else []
    if node.fn is not add:
        return []
    found = [_parts(arg, abstract, users) if len(users.get(arg, ())) == 1 or getattr(arg, "fn", None) is pad_slice else []
             for arg in node.args]
    return sum(found, []) if all(found) else []
