"""Static single assignment on the fly: variables become values; values that differ by path become blocks' parameters.

Source: Braun, Buchwald, Hack, Leissa, Mallon, Zwinkau, "Simple and Efficient Construction of Static Single
Assignment Form" (CC 2013). Blocks are graphs and phis are their parameters.

    if c: x = 1                 f: switch(c, true=f/true, false=f/false)
    else: x = 2                 f/true: jump f/after_if(1)           f/false: jump f/after_if(2)
    return x                    f/after_if(x): return x

Where Braun seals blocks and fills phis recursively, here a read in a block that may be entered in several ways
makes a phi at once and its operands are found when all edges are known: no recursion, so no limit on a function's
length. A phi is made only where a variable is read, so the form is pruned; phis that stand for one value are
removed until none is left, which is minimal for the reducible flow that Python's statements make.
"""
from __future__ import annotations

from typing import Any

from ..mindir.graph import CNode, FuncGraph, Parameter, ValueNode
from ..mindir.syntax import Undefined, load_local


class BlockState:
    """What is known of one block: its predecessors, and the values that variables have at its (present) end."""
    __slots__ = ("predecessors", "values", "phis")

    def __init__(self, predecessors: Any) -> None:
        self.predecessors = list(predecessors)
        self.values: dict = {}
        self.phis: dict = {}                             # phi -> variable, in the order of their making


class SSA:
    """The blocks of one outermost function and of all functions in it. Variables are any hashable with a `name`."""

    def __init__(self) -> None:
        self.states: dict = {}                           # block -> BlockState
        self.operands: dict = {}                         # phi -> {predecessor: value}
        self.unsure: dict = {}                           # node -> value: Undefined if that value is, or if it is None
        self.replaced: dict = {}                         # node -> the value that it turned out to be
        self.names: dict = {}

    # -- blocks

    def block(self, name: str, predecessors: Any = (), *, parent: Any = None, loop: Any = None, kind: str = "block",
              origin: Any) -> FuncGraph:
        """A new block, entered from `predecessors` by edges that the caller writes; `loop`: more of them will come."""
        if parent is None and predecessors:
            parent = self._dominator(predecessors)
        number = self.names[name] = self.names.get(name, 0) + 1
        graph = FuncGraph(name if number == 1 else f"{name}_{number}", origin, kind, parent)
        graph.loop = loop
        self.states[graph] = BlockState(predecessors)
        return graph

    def jump(self, block: FuncGraph, target: FuncGraph, origin: Any) -> None:
        """End `block` with a jump to `target`; the phis' values are filled in by `finish`."""
        block.output = CNode(block, target, (), {}, origin=origin)
        if block not in self.states[target].predecessors:
            self.states[target].predecessors.append(block)

    @staticmethod
    def _dominator(blocks: Any) -> FuncGraph:
        """The nearest block whose values all of `blocks` may use: their lowest common ancestor."""
        chain = []
        block = blocks[0]
        while block is not None:
            chain.append(block)
            block = block.parent
        for other in blocks[1:]:
            above = set()
            while other is not None:
                above.add(other)
                other = other.parent
            chain = [block for block in chain if block in above]
        return chain[0]

    # -- variables

    def write(self, block: FuncGraph, variable: Any, value: Any) -> None:
        """`variable` is `value` from here on in `block`."""
        self.states[block].values[variable] = value

    def read(self, block: FuncGraph, variable: Any) -> Any:
        """The value of `variable` at the present end of `block`; ValueNode(Undefined) if no assignment gets here."""
        path = []
        while True:
            state = self.states[block]
            if variable in state.values:
                value = state.values[variable]
                break
            path.append(block)
            if block.loop or len(state.predecessors) > 1:
                value = Parameter(block, variable.name, origin=block.origin)
                state.phis[value] = variable
                break
            if not state.predecessors:
                value = ValueNode(Undefined(variable.name), origin=block.origin)
                break
            block = state.predecessors[0]
        for block in path:
            self.states[block].values[variable] = value
        return value

    def may_be_undefined(self, value: Any) -> bool:
        """Can `value` be Undefined, as far as is known before all edges are?"""
        phi = isinstance(value, Parameter) and value.graph.kind == "block"
        return phi or value in self.unsure or self._undefined(value)

    # -- the end

    def resolve(self, value: Any) -> Any:
        """The value that `value` stands for now."""
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def finish(self) -> None:
        """Fill phis, drop the needless ones and needless checks, and write what is left into the graphs."""
        self._fill_phis()
        self._remove_trivial_phis()
        if self._remove_checks():
            self._remove_trivial_phis()
        for block, state in self.states.items():
            if block.loop and len(state.predecessors) < 2:            # nothing jumps back to it: it runs once at most
                block.loop = block.exit = None
            if block.kind == "block":
                block.parameters = [phi for phi in state.phis if phi not in self.replaced]
            block.nodes = [node for node in block.nodes if node not in self.replaced]
            for node in block.nodes:
                self._rewrite(node)
        for block in self.states:
            if isinstance(block.output.fn, FuncGraph):
                phis = block.output.fn.parameters
                block.output.args = tuple(self.resolve(self.operands[phi][block]) for phi in phis)
            else:
                self._rewrite(block.output)

    def _rewrite(self, node: Any) -> None:
        node.args = tuple(self.resolve(arg) for arg in node.args)

    def _fill_phis(self) -> None:
        """Reading at the end of a predecessor may make another phi, which is then in the same need."""
        missing: list = [None]
        while missing:
            missing = [(phi, variable, block, state) for block, state in self.states.items()
                       for phi, variable in state.phis.items() if phi not in self.operands]
            for phi, variable, block, state in missing:
                self.operands[phi] = {p: self.read(p, variable) for p in state.predecessors}

    def _remove_trivial_phis(self) -> None:
        """phi(x, x, phi) -> x, until nothing changes."""
        changed = True
        while changed:
            changed = False
            for phi, operands in self.operands.items():
                if phi in self.replaced:
                    continue
                values = {_key(value): value for value in map(self.resolve, operands.values()) if value is not phi}
                if len(values) == 1:
                    self.replaced[phi] = next(iter(values.values()))
                    changed = True

    def _remove_checks(self) -> bool:
        """Drop each load_local whose value is defined on every path; True if one was dropped."""
        sources = {phi: list(operands.values()) for phi, operands in self.operands.items() if phi not in self.replaced}
        sources.update((node, [value]) for node, value in self.unsure.items())
        unsure = {node for node, value in self.unsure.items() if value is None}
        changed = True
        while changed:
            changed = False
            for node, values in sources.items():
                if node not in unsure and any(self._undefined(v) or v in unsure for v in map(self.resolve, values)):
                    unsure.add(node)
                    changed = True
        before = len(self.replaced)
        for block in self.states:
            for node in block.nodes:
                if node.fn is load_local:
                    value = self.resolve(node.args[0])
                    if not self._undefined(value) and value not in unsure:
                        self.replaced[node] = value
        return len(self.replaced) > before

    @staticmethod
    def _undefined(value: Any) -> bool:
        return isinstance(value, ValueNode) and isinstance(value.value, Undefined)


def _key(value: Any) -> Any:
    """Two ValueNodes of one undefined variable are one value; all else is itself."""
    return value.value if isinstance(value, ValueNode) and isinstance(value.value, Undefined) else value
