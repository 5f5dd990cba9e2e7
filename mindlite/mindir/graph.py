"""MindIR: functions as graphs of named values (A-normal form; MindSpore's FuncGraph, CNode, ValueNode, Parameter).

    def f(x, y):                    f(%x: f32[2], %y: f32[2]) {
        return tanh(x) * y              %1 = tanh(%x) : f32[2]
                                        %2 = mul(%1, %y) : f32[2]
                                        return %2
                                    }

A FuncGraph keeps its CNodes in program order, which is also the order of effects: where MindSpore threads monad
edges, a pass here keeps effectful nodes in place. Two dialects share these classes:

*syntax*  (made by `parse`): blocks are graphs and phis their parameters, jumps are calls in tail position, closures
          are graphs with free variables. `mindir/syntax.py` lists its primitives.
*typed*   (from `infer` on): every node has an abstract; every graph is closed and its output is one `make_tuple`; control
          flow is `cond`, `while_loop` and `call`, which hold graphs in their attributes.
"""
from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ..common.dim import Dim, Shape, Size, UnknownValueError
from ..common.dtype import DType
from ..common.location import NOWHERE, Location, Origin
from .abstract import Abstract, AbstractTuple


class AnfNode:
    """A value in a graph. Fields: abstract (None before inference), origin."""
    __slots__ = ("abstract", "origin")
    abstract: Any
    origin: Origin
    __array_ufunc__ = None                   # ndarray * node is node.__rmul__, not an array of objects

    def __init__(self, abstract: Abstract | None = None, origin: Origin = NOWHERE) -> None:
        self.abstract, self.origin = abstract, origin

    # What operators ask of an array, answered from the abstract, so that rules run on nodes as on Tensors.
    @property
    def shape(self) -> Shape:
        """The sizes, a tuple of int or Dim."""
        return self.abstract.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.abstract.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.abstract.shape)

    @property
    def size(self) -> Size:
        """The number of elements, an int or a Dim."""
        return self.abstract.size

    def __bool__(self, *_: Any, **__: Any) -> Any:
        raise UnknownValueError("a value that is known at run time only decides what is computed")

    __int__ = __index__ = __float__ = __complex__ = __array__ = __bool__

    def __eq__(self, other: object) -> bool:
        """Nodes are compared by identity; whether one has the value of a number is not known.

        raises : UnknownValueError for a number
        """
        if isinstance(other, (int, float, complex, Dim)):
            raise UnknownValueError(f"whether a value that is known at run time only is {other} decides what is computed")
        return NotImplemented

    __hash__ = object.__hash__


class Parameter(AnfNode):
    """An input of a graph. Fields: graph, name; `default` holds the Tensor of an implicit input (a weight), else None."""
    __slots__ = ("graph", "name", "default")

    def __init__(self, graph: FuncGraph, name: str, abstract: Abstract | None = None, origin: Origin = NOWHERE,
                 default: Any = None) -> None:
        super().__init__(abstract, origin)
        self.graph, self.name, self.default = graph, name, default

    def __repr__(self) -> str:
        return f"%{self.name}"


class ValueNode(AnfNode):
    """A constant. `value` is any Python object; in the typed dialect a NumPy array (abstract: tensor) or a number."""
    __slots__ = ("value",)

    def __init__(self, value: Any, abstract: Abstract | None = None, origin: Origin = NOWHERE) -> None:
        super().__init__(abstract, origin)
        self.value = value

    def __repr__(self) -> str:
        return f"const({self.value!r})"


class CNode(AnfNode):
    """An application: fn is a Primitive or a FuncGraph (or, in syntax, a node), args are nodes, attrs static values."""
    __slots__ = ("graph", "fn", "args", "attrs")

    def __init__(self, graph: FuncGraph, fn: Any, args: Any = (), attrs: dict[str, Any] | None = None,
                 abstract: Abstract | None = None, origin: Origin = NOWHERE) -> None:
        super().__init__(abstract, origin)
        self.graph, self.fn, self.args, self.attrs = graph, fn, tuple(args), attrs or {}

    def __repr__(self) -> str:
        return f"%{getattr(self.fn, 'name', self.fn)}@{id(self) & 0xffff:x}"


class FuncGraph:
    """A function: name, parameters, nodes (CNodes in program order), output (a node), origin.

    kind      : "function", or "block" for a part of a function between jumps (syntax dialect)
    parent    : the graph whose values this one may use freely (syntax dialect), else None
    transforms: cache of what was derived from the graph, by transformation name

    In the syntax dialect also:
    signature : of kind "function": an inspect.Signature whose parameters stand in the order of `parameters`; a default
                is its number among the defaults (those of __defaults__, then those of __kwdefaults__)
    loop      : "while" or "for" for a loop's header, else None
    exit      : of a loop's header: the block after the loop, where `break` and the normal end meet, or None
    generator : True for a generator function
    names     : of an outermost function: {global name that it reads: Location of the first use}, but for those it assigns
    left      : of an outermost function: {(place, n)} of its statements that are marked for Python: see parse_function
    """

    def __init__(self, name: str, origin: Origin = NOWHERE, kind: str = "function", parent: FuncGraph | None = None) -> None:
        self.name, self.origin, self.kind, self.parent = name, origin, kind, parent
        self.parameters: list[Parameter] = []
        self.nodes: list[CNode] = []
        self.output: Any = None
        self.transforms: dict = {}
        self.signature: inspect.Signature | None = None
        self.loop: str | None = None
        self.exit: FuncGraph | None = None
        self.generator = False
        self.names: dict[str, Location] = {}
        self.left: set[tuple] = set()

    def __repr__(self) -> str:
        return f"<FuncGraph {self.name}>"

    def add_parameter(self, name: str, abstract: Abstract | None = None, origin: Origin = NOWHERE,
                      default: Any = None) -> Parameter:
        """Append a Parameter and return it."""
        parameter = Parameter(self, name, abstract, origin, default)
        self.parameters.append(parameter)
        return parameter

    def add(self, fn: Any, *args: Any, origin: Origin = NOWHERE, abstract: Abstract | None = None, **attrs: Any) -> CNode:
        """Append a CNode and return it."""
        node = CNode(self, fn, args, attrs, abstract, origin)
        self.nodes.append(node)
        return node

    def add_copy(self, node: CNode, args: Any, origin: Origin | None = None, attrs: dict[str, Any] | None = None) -> CNode:
        """Append a copy of a node with other operands, and perhaps another origin and other attributes, and return it."""
        copy = CNode(self, node.fn, args, node.attrs if attrs is None else attrs, node.abstract,
                     node.origin if origin is None else origin)
        self.nodes.append(copy)
        return copy

    @property
    def outputs(self) -> tuple[AnfNode, ...]:
        """The results of a typed graph, a tuple of nodes: the arguments of its output's make_tuple."""
        return self.output.args

    def set_outputs(self, nodes: Any, make_tuple: Any) -> None:
        """Make `nodes` the results of a typed graph. The make_tuple is only the output, it does not stand in `nodes`."""
        self.output = CNode(self, make_tuple, nodes, {}, AbstractTuple(tuple(n.abstract for n in nodes)))

    def subgraphs(self) -> Iterator[FuncGraph]:
        """The graphs that this one's nodes hold: as fn, as an attribute, or (syntax) as a constant argument."""
        for node in self.nodes + ([self.output] if isinstance(self.output, CNode) else []):
            if type(node.fn) is FuncGraph:
                yield node.fn
            for value in node.attrs.values():
                if type(value) is FuncGraph:
                    yield value
            for arg in node.args:
                if type(arg) is ValueNode and type(arg.value) is FuncGraph:
                    yield arg.value

    def reachable(self) -> list[FuncGraph]:
        """This graph and all below it, each once, callers before callees."""
        seen, todo = {}, [self]
        while todo:
            graph = todo.pop()
            if id(graph) not in seen:
                seen[id(graph)] = graph
                todo.extend(reversed(list(graph.subgraphs())))
        return list(seen.values())
