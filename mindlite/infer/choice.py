"""Items by a number that is known at run time only: one of several values, or one of several functions that is called.

    y = layers[i](x)      ->      check(-2 <= i < 2);  y = cond(i == 0, x, true={layers[0]}, false={layers[1]})

The branches are written in Python: `_item` and `_called` are executed by inference as a user's functions are.
"""
from __future__ import annotations


from collections.abc import Sequence
from typing import Any

from ..common.records import dataclass
from ..mindir import syntax
from ..mindir.graph import AnfNode, CNode
from ..mindir.primitive import PRIMITIVES
from .access import is_scalar_node, is_tensor
from .branches import compare_numbers, fail_unless
from .evaluating import Evaluating
from .merging import is_data
from .values import BoundMethod, Box, Closure, Conflict, Value

CALLED = (Closure, BoundMethod)
MOST = 32                        # items; a longer list is one of Python's


@dataclass(frozen=True, eq=False)
class Chosen:
    """One of several functions; it is made where it is called."""
    index: Any
    items: tuple


def chosen_item(ev: Evaluating, node: CNode, sequence: Sequence[Value], index: AnfNode) -> Value:
    """The item of a tuple or list at an index that is known at run time only, in a tuple; () where a graph has none.

    node : the load_item; functions may be chosen where they are called and nowhere else
    """
    content = ev.store.get(sequence, ()) if isinstance(sequence, Box) and sequence.kind == "list" else sequence
    if not isinstance(content, (tuple, list)) or not 0 < len(content) <= MOST or not (is_scalar_node(index) or isinstance(
            index, AnfNode) and is_tensor(index) and index.dtype.kind in "iu" and index.ndim == 0):
        return ()
    functions = all(callable(x) or isinstance(x, CALLED) for x in content) and not any(is_data(x) for x in content)
    if functions and not only_called(node) or not functions and not all(is_data(x) for x in content):
        return ()
    index = ev.trace(PRIMITIVES["tensor_to_scalar"], (index,), {}) if is_tensor(index) else index
    if isinstance(index, AnfNode) and index.abstract.type is not int:
        return ()
    what = "list" if isinstance(sequence, (list, Box)) else "tuple"
    for op, bound in ((">=", -len(content)), ("<", len(content))):
        fail_unless(ev, compare_numbers(ev, op, index, bound), IndexError(f"{what} index out of range"))
    index = ev.call_function(_counted, (index, len(content)), {})
    if functions:
        return (Chosen(index, tuple(content)),)
    made = ev.call_function(_item, (index, tuple(content), 0), {})
    return () if isinstance(made, Conflict) else (made,)


def only_called(node: CNode) -> bool:
    """True if the value of a syntax node is called in its block, and not used in another way."""
    uses = [other for other in [*node.graph.nodes, node.graph.output] if node in getattr(other, "args", ())]
    return len(uses) == 1 and uses[0].fn is syntax.call and uses[0].args.index(node) == 0 and uses[0].args.count(node) == 1


def call_chosen(ev: Evaluating, chosen: Value, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    """The call of one of several functions."""
    return ev.call_function(_called, (chosen.index, chosen.items, 0, tuple(args),
                                      ev.new_box("dict", tuple(kwargs.items()))), {})


def _counted(index: Value, count: int) -> Value:
    return index + count if index < 0 else index


def _item(index: Value, items: Sequence[Value], at: int) -> Value:
    if len(items) == 1 or index == at:
        return items[0]
    return _item(index, items[1:], at + 1)


def _called(index: Value, functions: Sequence[Value], at: int, args: Sequence[Value], kwargs: dict[str, Any]) -> Value:
    if len(functions) == 1 or index == at:
        return functions[0](*args, **kwargs)
    return _called(index, functions[1:], at + 1, args, kwargs)
