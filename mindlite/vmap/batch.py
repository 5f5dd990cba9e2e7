"""One graph, batched: node by node, with the position of the batch axis in every value (None where it has none)."""
from __future__ import annotations

from typing import Any, Union

from ..common.dim import Size
from ..common.events import emit as announce
from ..common.location import Origin
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from ..mindir.builder import building, results_of, typed
from ..mindir.constraints import sizes_may_be_asked
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.primitive import bind, current_interpreter, expand_rule, vmap_rule
from ..ops.basic import batched as with_batch_axis, scalar_to_tensor
from .loop import loop_over_elements
from .numbers import NUMBER_DTYPES, NUMBERS

Batched = tuple[Any, Union[int, None]]       # a value and the position of its batch axis, None where it has none


class CannotMask(Exception):
    """What depends on the mapped axis can only be run element by element; the message says what it is."""


def batched_abstract(abstract: Any, dim: int | None, size: Size) -> Abstract:
    """The abstract with a batch axis at `dim`; a number that differs between elements becomes a tensor."""
    if dim is None:
        return abstract
    if isinstance(abstract, AbstractScalar):
        return AbstractTensor(NUMBER_DTYPES[abstract.type], (size,))
    return AbstractTensor(abstract.dtype, abstract.shape[:dim] + (size,) + abstract.shape[dim:])


def as_batch(x: Any, dim: int | None, size: Size) -> Any:
    """The node with its batch axis in front, repeated where it has none; numbers become tensors."""
    if dim is None and isinstance(x.abstract, AbstractScalar):
        x = scalar_to_tensor(x, dtype=NUMBER_DTYPES[x.abstract.type])
    return with_batch_axis(x, dim, size)


class Batch:
    """The batched form of `graph`. control: rules of control flow; calls: {(graph, dims): graph}, so recursion ends."""

    def __init__(self, graph: FuncGraph, size: Size, control: dict, calls: dict) -> None:
        self.graph, self.size, self.control, self.calls = graph, size, control, calls

    def emit(self, args: Any, dims: Any) -> list:
        """Append the batched nodes to the builder's graph; [(node, dim)] of the outputs."""
        self.builder = current_interpreter()
        origin = self.builder.origin
        self.env: dict[AnfNode, Any] = dict(zip(self.graph.parameters, zip(args, dims)))
        for node in self.graph.nodes:
            self.builder.origin = Origin(node.origin.location, node, "vmap")
            self.env[node] = self._node(node)
        self.builder.origin = origin
        return [self._read(output) for output in self.graph.outputs]

    def below(self, graph: FuncGraph, dims: Any, want: Any = None) -> tuple[FuncGraph, list]:
        """(`graph` batched, its outputs' dims), batch axes in front; want: per output True where there must be one."""
        target = FuncGraph(f"vmap {graph.name}", graph.origin)
        return self.fill(target, graph, dims, want)

    def fill(self, target: FuncGraph, graph: FuncGraph, dims: Any, want: Any = None) -> tuple[FuncGraph, list]:
        """`below` into an empty graph."""
        for p, dim in zip(graph.parameters, dims):
            target.add_parameter(p.name, batched_abstract(p.abstract, dim, self.size), p.origin)
        with building(target, graph.origin, by="vmap") as builder:
            made = Batch(graph, self.size, self.control, self.calls).emit(target.parameters, dims)
            want = want or [False] * len(made)
            outs = [as_batch(builder.lift(x), dim, self.size) if dim is not None or wanted else builder.lift(x)
                    for (x, dim), wanted in zip(made, want)]
            target.set_outputs(outs, make_tuple)
        return target, [0 if dim is not None or wanted else None for (_, dim), wanted in zip(made, want)]

    def keep(self, node: CNode, args: Any) -> Any:
        """The node as it is: nothing that it reads is mapped."""
        builder = self.builder
        args = [builder.graph.add(make_tuple, *[x for x, _ in a], abstract=of.abstract) if isinstance(a, list) else a
                for a, of in zip(args, node.args)]
        copy = builder.graph.add_copy(node, args)
        return [(x, None) for x in results_of(copy)] if isinstance(node.abstract, AbstractTuple) else (copy, None)

    def _read(self, node: AnfNode) -> Any:
        if isinstance(node, ValueNode):
            return node, None
        return self.env[node]

    def _node(self, node: CNode) -> Any:
        if node.fn is tuple_getitem:
            return self._read(node.args[0])[node.attrs["index"]]
        if node.fn is make_tuple:
            return [self._read(a) for a in node.args]
        read = [self._read(a) for a in node.args]
        mapped = any(dim is not None for pair in read for _, dim in (pair if isinstance(pair, list) else [pair]))
        tapes = any(isinstance(a.abstract, AbstractTape) for a in node.args)
        if not mapped and not tapes:
            return self.keep(node, [pair if isinstance(pair, list) else pair[0] for pair in read])
        args, dims = [x for x, _ in read], [dim for _, dim in read]
        if node.fn in self.control:
            return self.control[node.fn](self, node, args, dims)
        return self._operator(node, args, dims)

    def _operator(self, node: CNode, args: Any, dims: Any) -> Batched | list[Batched]:
        prim, attrs, kinds = node.fn, node.attrs, [a.abstract for a in node.args]
        if "effect" in prim.traits and prim not in vmap_rule:
            raise CannotMask(f"{prim.name} has an effect for each element")
        if prim in NUMBERS:
            args = [as_batch(self.builder.lift(x), dim, self.size) for x, dim in zip(args, dims)]
            made = NUMBERS[prim](*args, **attrs)
            if made is None:
                raise CannotMask(f"{prim.name} of numbers that differ between elements")
            return made, 0
        if prim in vmap_rule:
            with sizes_may_be_asked(node):
                out, dim = vmap_rule[prim](args, dims, self.size, **attrs)
            if not isinstance(node.abstract, AbstractTuple):
                return self.builder.lift(out), dim
            axes = dim if isinstance(dim, (tuple, list)) else [dim] * len(out)
            return [(self.builder.lift(x), d) for x, d in zip(out, axes)]
        if prim in expand_rule:
            with sizes_may_be_asked(node):
                element = typed(lambda *xs: expand_rule[prim](*xs, **attrs), *kinds, name=prim.name)
            made = Batch(element, self.size, self.control, self.calls).emit(args, dims)
        else:
            announce("vmap_fallback", of=prim.name, location=node.origin.location, reason="there is no vmap rule")
            element = typed(lambda *xs: bind(prim, xs, attrs), *kinds, name=prim.name)
            made = loop_over_elements(element, args, dims, self.size)
        return made if isinstance(node.abstract, AbstractTuple) else made[0]
