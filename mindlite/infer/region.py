"""Regions: the typed graphs that inference is writing, one inside the other.

A branch or a loop body becomes a closed graph. While it is written, a value of a graph around it that it uses becomes
a parameter, and the node outside an operand (lambda lifting on the fly).
"""
from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..common.dim import Dim, Symbol, symbols_of
from ..common.errors import InternalError, MindliteError, Refusal, Signal, fault, is_deep
from ..common.location import Origin, is_framework
from ..common.tensor import Parameter as TensorParameter, Tensor
from ..mindir import constraints
from ..mindir.abstract import Abstract, AbstractTensor, AbstractTuple, symbols_of_abstract
from ..mindir.builder import Builder, constant, tensor_type
from ..mindir.constraints import collecting
from ..mindir.control import check
from ..mindir.graph import AnfNode, FuncGraph, Parameter, ValueNode
from ..mindir.primitive import Primitive, interpreting
from ..ops.basic import reshape
from ..ops.views import WRITE_BACK, follow, write_back
from ..ops.scalar import scalar_compare
from ..ops.state import stop_gradient, stored
from .bounds import demand_bounds
from .state import Derivatives, Effects
from .kinds import map_parts
from .values import Value

# where operators are written, and what they are given: signatures, and nodes that stand for values
OPERATORS = (*(room + os.sep for room in ("ops", "common", "numpy", "nn")), *(os.path.join("mindir", file) for file in (
    "primitive.py", "graph.py")))


def of_operators(error: BaseException) -> bool:
    """True for what comes out of an operator's code, not of the interpreter under which it runs."""
    below = error.__traceback__
    if below is None or below.tb_next is None:                              # Python's own: no operand's class has the operator
        return True
    files = []
    while below is not None:
        files.append(below.tb_frame.f_code.co_filename)
        below = below.tb_next
    ours = [file for file in files if is_framework(file)]     # whoever has called what is not ours answers for it
    return not ours or any(f"{os.sep}{part}" in ours[-1] for part in OPERATORS)


class HookHandle:
    """What registering a hook on a Tensor of a graph gives. hooks: the Box of that Tensor's; region: where"""

    def __init__(self, hooks: Value, region: Region) -> None:
        self.hooks, self.region = hooks, region


class Region:
    """A graph being written. Fields: graph, parent (Region or None), captures {outer node: Parameter}.

    home   : the region on whose condition it depends whether this one is executed: its own, or, for what is executed just
             where it stands (the function that grad or vmap is given), that of the region around it
    inputs : the parameters that a derivative is taken by;   items: those that stand for one item of what is mapped
    hooks  : {node: Box of ((HookHandle, function of its gradient), ..)}
    last   : functions to call when all else is written
    sizes  : {a number of the run, and what is computed of it: the Dim that it is}; see ops.axes
    """

    def __init__(self, name: str, parent: Region | None = None, certain: bool = False) -> None:
        self.graph, self.parent = FuncGraph(name), parent
        self.captures: dict[AnfNode, Parameter] = {}
        self.home: Region = parent.home if parent is not None and certain else self
        self.inputs: set[AnfNode] = set()
        self.items: set[AnfNode] = set()
        self.hooks: dict[AnfNode, Any] = {}
        self.last: list[Callable[[], Any]] = []
        self.sizes: dict[Any, Dim] = {}

    def finish(self) -> None:
        """Write what has waited for the rest."""
        while self.last:
            self.last.pop(0)()

    def capture(self, node: Any) -> AnfNode:
        """`node` as a node of this region: itself, or the parameter that stands for it."""
        if isinstance(node, ValueNode) or node.graph is self.graph:
            return node
        if node not in self.captures:
            if self.parent is None:
                raise InternalError(f"a value of {node.graph.name} is used outside of it")
            self.parent.capture(node)
            self.captures[node] = self.graph.add_parameter(f"c{len(self.graph.parameters)}", node.abstract, node.origin)
        return self.captures[node]

    def symbols(self) -> set[Symbol]:
        """The Symbols in the sizes of what this region and those around it have."""
        return {symbol for region in self.outwards() for node in (*region.graph.parameters, *region.graph.nodes)
                for symbol in symbols_of_abstract(node.abstract)}

    def outwards(self) -> Iterator[Region]:
        """This region and those around it, from the inside out."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.parent

    def owns(self, node: Any) -> bool:
        """True if `node` belongs to this region's graph."""
        return not isinstance(node, ValueNode) and node.graph is self.graph

    def can_see(self, node: AnfNode) -> bool:
        """True if `node` belongs to this region or to one around it."""
        return isinstance(node, ValueNode) or any(region.owns(node) for region in self.outwards())


def align(regions: list[Region]) -> list[AnfNode]:
    """Give regions that are called with the same operands the same captures; returns the outer nodes, in order."""
    order = {}
    for region in regions:
        order.update(dict.fromkeys(region.captures))
    for region in regions:
        for node in order:
            region.capture(node)
        captured = [region.captures[node] for node in order]
        others = [p for p in region.graph.parameters if p not in set(captured)]
        region.graph.parameters = others + captured
    return list(order)


class Tracer(Builder):
    """The interpreter under which operators run during inference: it writes into the innermost region.

    A Tensor that is not an argument (a weight, a global) becomes an implicit input of the outermost graph, and what a
    program assigns to it is the new value in `store` (so typed graphs have no side effects on tensors).
    """

    def __init__(self, root: Region) -> None:
        super().__init__(root.graph)
        self.region = self.root = root
        self.store: dict[Any, Value] = {}        # {Tensor, node, Box or Place: its newest value}
        self.inputs: dict[int, tuple[Tensor, Parameter]] = {}
        self.outer: dict[AnfNode, AnfNode] = {}  # {parameter of a region: the node that it stands for}
        self.containers: dict[AnfNode, Any] = {}               # {node of unknown type: the list, dict or set outside that it is}
        self.effects, self.derivatives = Effects(), Derivatives()
        # the path of the Cell whose code is executed; {the number of a loop's iteration: how many iterations there are}
        self.cell = ""
        self.iterations: dict[AnfNode, Any] = {}
        self.remat = None                        # of the loops that are written (jit's option)
        self.policy = None                       # of mixed precision: what operators cast their operands to
        self.unrecorded = 0                      # how many `no_grad` blocks are open

    def move_to(self, origin: Origin) -> None:
        """Set the origin of the next nodes. Layers are Python too: inside mindlite's files, the user's line is used."""
        here, there = self.origin.location, origin.location
        if here is None or there is None or is_framework(here.file) or not is_framework(there.file):
            self.origin = origin.in_cell(self.cell) if self.cell and there is not None else origin

    def enter(self, region: Region) -> Region:
        """Write into `region` from now on; returns the region before."""
        before, self.region = self.region, region
        self.graph = region.graph
        return before

    def has_name(self, value: Value) -> bool:
        """True for a Tensor, a node of one, or a view of them, that may be assigned to by another name in the present region."""
        if isinstance(value, AnfNode) and value in self.effects.views:
            value = self.effects.views[value][0]
        return isinstance(value, Tensor) or isinstance(value, AnfNode) and not isinstance(value, ValueNode) and (
            value in self.effects.ambiguous or self.region.can_see(value))

    def choose(self, node: AnfNode, values: Sequence[Value], store: dict | None = None) -> None:
        """`node` is one of these values: where it is assigned to, or read after one of them was, nobody knows which.

        store : the one in which the values are looked for
        """
        self.effects.choose(node, {self.root_of(v, store)[0] for v in values if isinstance(v, (AnfNode, Tensor))})

    def may_be(self, value: AnfNode, nodes: list[Parameter]) -> list:
        """The numbers of those nodes that `value` may be, or be a view of."""
        root = self.root_of(value)[0] if isinstance(value, (AnfNode, Tensor)) else None
        found = {root} | self.effects.may_be.get(root, set())
        return [number for number, node in enumerate(nodes) if node in found]

    def read(self, value: Value) -> AnfNode:
        """What a variable holds. raises : AmbiguousTarget where that is a Tensor that may have been assigned to"""
        self.effects.read(value)
        return self.current(value)

    def lift(self, value: Value) -> Any:
        """The node, in the present region, of a node, Tensor, array or number."""
        value = self.current(value)
        if isinstance(value, AnfNode):
            made = self.region.capture(value)
            if made is not value:
                self.outer[made] = value
            return made
        if isinstance(value, Tensor):
            return self.region.capture(self.input(value))
        return constant(value)

    def late(self, value: Value) -> Value:
        """`value` with a node in place of each size in it that is known at run time only: for texts, which are made then."""
        return self.lift(value) if isinstance(value, Dim) else map_parts(self.late, value)

    def current(self, value: Value) -> Value:
        """The newest value of something that may have been assigned to, itself or that of which it is a view."""
        if isinstance(value, AnfNode):
            seen = self.effects.versions.get(value, value)
        elif isinstance(value, Tensor):
            seen = value
        else:
            return value
        while (newest := self.store.get(seen, seen)) is not seen:
            seen = newest
            if not isinstance(seen, (AnfNode, Tensor)):
                return seen
        if isinstance(seen, AnfNode) and seen in self.effects.views:
            root, path, then = self.effects.views[seen]
            if self.current(root) is not then:
                with interpreting(self):
                    return follow(root, path)
        return seen

    def root_of(self, value: Value, store: dict | None = None) -> tuple[Any, tuple]:
        """(what has to be assigned to where `value` is written, the path of the view that `value` is of it)."""
        if store is not None:                                # the newest value of something there
            tensors = [key for key, newest in store.items() if newest is value and isinstance(key, (AnfNode, Tensor))]
            value = tensors[0] if tensors else value
        value = self.outer.get(value, value) if isinstance(value, AnfNode) else value
        if isinstance(value, AnfNode) and value in self.effects.views:
            return self.effects.views[value][:2]
        if value in self.effects.versions:
            return self.root_of(self.effects.versions[value])
        if id(value) not in map(id, self.store.values()):
            return value, ()
        for key in self.store:                               # the newest value of something
            if isinstance(key, (AnfNode, Tensor)) and key is not value and self.current(key) is value:
                return self.root_of(key)
        return value, ()

    def input(self, tensor: Tensor) -> Parameter:
        """The parameter of the outermost graph that stands for `tensor`."""
        known = self.inputs.get(id(tensor))
        if known is None:
            tensor.init_data()
            node = self.root.graph.add_parameter(getattr(tensor, "name", None) or f"t{len(self.inputs)}",
                                                 tensor_type(tensor), default=tensor)
            known = self.inputs[id(tensor)] = (tensor, node)
        return known[1]

    def bind(self, prim: Primitive, args: Sequence[Value], attrs: dict[str, Any]) -> Any:
        """Write the node, under the policy of mixed precision if there is one."""
        try:
            if self.policy is not None and prim in self.policy:
                return self.policy.bind(self.write, prim, args, attrs)
            return self.write(prim, args, attrs)
        except (MindliteError, Signal):
            raise
        except Exception as error:
            if is_deep(error):
                raise
            raise fault(error, "infer", lambda: self.origin.location) from error

    def typed(self, prim: Primitive, abstracts: Sequence[Abstract], attrs: dict[str, Any]) -> Abstract:
        """The typed result of an operator. raises : Refusal if its rule raises a
        Python exception, as eager mode does for such arguments"""
        try:
            return super().typed(prim, abstracts, attrs)
        except MindliteError:
            raise
        except Exception as error:
            if not of_operators(error):
                raise
            raise Refusal(f"{prim.name}: {type(error).__name__}: {error}", location=self.origin.location) from error

    def write(self, prim: Primitive, args: Any, attrs: dict[str, Any]) -> Any:
        """Write the node; `assign` changes the store instead."""
        if "assign" in prim.traits:
            made = self.assign(*args)
            return args[0] if isinstance(args[0], (Tensor, AnfNode)) else made
        for name, value in attrs.items():
            if isinstance(value, AnfNode) or type(value) is tuple and any(isinstance(v, AnfNode) for v in value):
                raise Refusal(f"{prim.name}: {name} is known at run time only")
        demand_bounds(self, prim, args, attrs)
        start, graph = len(self.graph.nodes), self.graph
        with collecting() as found:
            node: Any = super().bind(prim, args, attrs)
        if found:
            written = graph.nodes[start:]
            del graph.nodes[start:]
            for constraint in found:
                self.demand(constraint)
            graph.nodes += written
        if prim in WRITE_BACK and isinstance(args[0], (AnfNode, Tensor)) and not isinstance(args[0], ValueNode):
            root, path = self.root_of(args[0])
            self.effects.views[node] = root, (*path, (prim, args[1:], attrs)), self.current(root)
        if not self.unrecorded or "stop_gradient" in prim.traits:
            return node
        made = self.without_gradient(node)
        if prim in WRITE_BACK and node in self.effects.views:
            self.effects.views[made] = self.effects.views[node]
        return made

    def without_gradient(self, made: Value) -> Value:
        """The results of an operator inside `no_grad`."""
        if isinstance(made, tuple):
            return tuple([self.without_gradient(x) for x in made])
        smooth = isinstance(made.abstract, AbstractTensor) and made.abstract.dtype.is_differentiable
        return stop_gradient(made) if smooth else made

    def pause(self) -> None:
        """From here on gradients pass no operator, until `resume`."""
        self.unrecorded += 1

    def resume(self) -> None:
        """See `pause`."""
        self.unrecorded -= 1

    def is_of_arguments(self, constraint: constraints.Constraint) -> bool:
        """True for a fact about sizes of the arguments only. Its left side may be a node of a number of the run."""
        if isinstance(constraint.left, AnfNode):
            return False
        known = set().union(*[symbols_of_abstract(p.abstract) for p in self.root.graph.parameters])
        return symbols_of(constraint.left) | symbols_of(constraint.right) <= known

    def demand(self, constraint: constraints.Constraint) -> None:
        """Require a fact about sizes: if it is about sizes of arguments, the choice of
        a variant checks it, otherwise a check in the graph."""
        if self.is_of_arguments(constraint):
            constraints.add(constraint)
            return

        def error():
            return copy.copy(constraint.error)
        with interpreting(self):
            left = constraint.left if isinstance(constraint.left, AnfNode) else constant(constraint.left)
            holds = scalar_compare(left, constant(constraint.right), op=constraint.op)
        self.graph.add(check, holds, origin=self.origin, abstract=AbstractTuple(()), error=error,
                       again=True)

    def assign(self, target: Value, value: Value) -> Any:
        """target = value, in place: what reads `target` from now on reads `value`."""
        target = target if isinstance(target, (Tensor, AnfNode)) else self.lift(target)
        target, path = self.root_of(target)
        self.effects.assign(target)
        if path:
            with interpreting(self):
                value = write_back(target, path, value)
        made = self.lift(value)
        if isinstance(made.abstract, AbstractTensor) and (isinstance(made, Parameter) or made is value) \
                and not isinstance(made, ValueNode):
            # its value now: what is assigned may be assigned to later
            with interpreting(self):
                node: Any = made
                made = reshape(node, shape=node.shape)
            self.effects.views.pop(made, None)                       # no view, but a value
        if self.is_parameter(target):                        # gradients stay with it
            with interpreting(self):
                made = stored(self.lift(target), made)
        self.renew(target, made)
        return made

    def is_parameter(self, value: Value) -> bool:
        """True for a Parameter, and for a node that stands for one."""
        return isinstance(value, TensorParameter) or any(self.current(leaf) is self.current(value)
                                                         for leaf in self.derivatives.leaves)

    def renew(self, target: Value, value: Value) -> None:
        """A Tensor, or something else that is kept in the store, has a new value."""
        if isinstance(target, (AnfNode, Tensor)):
            before = self.current(target)
            if isinstance(before, AnfNode) and before is not target:
                self.effects.versions[before] = target
            if value is target:                              # on this way nothing was assigned to it
                self.store.pop(target, None)
                return
        self.store[target] = value
