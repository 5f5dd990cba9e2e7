"""The fallback of vmap: one element after the other.

    i, out = 0, zeros[size, ..];  while i < size:  out[i] = f(x[i], w);  i = i + 1
"""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from .. import ops
from ..common import dtype as dt
from ..common.errors import ShapeError
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.builder import append, written
from ..mindir.control import while_loop
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import inline, symbols_of_abstract
from ..mindir.primitive import Primitive
from ..ops.basic import move_batch_axis, reshape, scalar_to_tensor
from ..ops.creation import of_type
from ..ops.dynamic_slicing import dynamic_slice, dynamic_update
from ..ops.scalar import tensor_to_scalar
from .numbers import NUMBER_DTYPES

if TYPE_CHECKING:
    from ..common.dim import Size
    from .batch import Batched


def loop_over_elements(graph: FuncGraph, args: Any, dims: Any, size: Size) -> list[Batched]:
    """Run `graph`, typed for one element, for each element in turn; [(node, 0)] of its outputs, under the builder.

    raises : ShapeError for an output whose size the graph finds
    """
    found: set = set().union(*[symbols_of_abstract(node.abstract) for node in graph.nodes
                               if isinstance(node.fn, Primitive) and "dynamic" in node.fn.traits])
    for output in graph.outputs:
        if found & symbols_of_abstract(output.abstract):
            name = output.fn.name if isinstance(output, CNode) and isinstance(output.fn, Primitive) else graph.name
            what = "a number that is a size is another one" if isinstance(output.abstract, AbstractScalar) else \
                f"the result of {name} has another size"
            raise ShapeError(f"vmap: {what} for each element", location=output.origin.location, note=str(output.abstract))
    args = [move_batch_axis(x, dim) for x, dim in zip(args, dims)]
    outs = [_tensor_type(node.abstract) for node in graph.outputs]
    buffers = [AbstractTensor(out.dtype, (size,) + out.shape) for out in outs]
    count = AbstractTensor(dt.int64, ())

    def iteration(target, i, *rest):
        state, operands = rest[:len(outs)], rest[len(outs):]
        made = inline(target, graph, [x if dim is None else _element(x, i, p.abstract)
                                      for x, dim, p in zip(operands, dims, graph.parameters)])
        return [ops.add(i, 1), *[_stored(buffer, i, x, out) for buffer, x, out in zip(state, made, outs)]]

    def test(target, i, *rest):
        return [ops.less(i, size)]

    kinds = [count, *buffers, *[x.abstract for x in args]]
    names = ["i", *[f"out{k}" for k in range(len(outs))], *[p.name for p in graph.parameters]]
    made = append(while_loop, np.int64(0), *[of_type(b) for b in buffers], *args, invariants=len(args),
                  cond=written(f"{graph.name}/more", names, kinds, test, by="vmap"),
                  body=written(f"{graph.name}/element", names, kinds, iteration, by="vmap"),
                  abstract=AbstractTuple((count, *buffers)))
    return [(x, 0) for x in made[1:]]


def _tensor_type(abstract: Any) -> AbstractTensor:
    return AbstractTensor(NUMBER_DTYPES[abstract.type], ()) if isinstance(abstract, AbstractScalar) else abstract


def _element(x: Any, i: Any, abstract: Abstract) -> Any:
    """x[i] as a value of this type."""
    sizes = (1,) + x.shape[1:]
    one = reshape(dynamic_slice(x, i, *[np.int64(0)] * (x.ndim - 1), sizes=sizes), shape=x.shape[1:])
    return tensor_to_scalar(one) if isinstance(abstract, AbstractScalar) else one


def _stored(buffer: Any, i: Any, x: Any, out: Any) -> Any:
    """The buffer with x at position i."""
    if isinstance(x.abstract, AbstractScalar):
        x = scalar_to_tensor(x, dtype=out.dtype)
    return dynamic_update(buffer, reshape(x, shape=(1,) + out.shape), i, *[np.int64(0)] * len(out.shape))
