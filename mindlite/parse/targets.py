"""Where assignments go: names, attributes, items, and tuples of them with at most one star."""
from __future__ import annotations

from typing import Any, TYPE_CHECKING

import gast

from ..mindir import syntax
from ..mindir.graph import AnfNode

if TYPE_CHECKING:
    from .parse import Parser


def store(p: Parser, target: gast.AST, value: AnfNode) -> None:
    """Assign the node `value` to the tree `target`."""
    if isinstance(target, gast.Name):
        p.write(target.id, value, target)
    elif isinstance(target, gast.Attribute):
        p.add(syntax.store_attr, p.evaluate(target.value), value, node=target, name=target.attr)
    elif isinstance(target, gast.Subscript):
        owner = p.evaluate(target.value)
        p.add(syntax.store_item, owner, p.evaluate(target.slice), value, node=target)
    elif isinstance(target, gast.Starred):
        store(p, target.value, value)
    else:
        store_items(p, target.elts, p.add(syntax.unpack, value, node=target, **shape_of(target.elts)))


def store_items(p: Parser, targets: list[gast.AST], unpacked: AnfNode) -> None:
    """Assign the items of the tuple `unpacked` to `targets`, from left to right."""
    for number, target in enumerate(targets):
        store(p, target, item(p, unpacked, number, target))


def item(p: Parser, values: Any, number: int, node: gast.AST) -> AnfNode:
    """values[number]"""
    return p.add(syntax.load_item, values, p.constant(number, node), node=node)


def shape_of(targets: list[gast.AST], star: Any = gast.Starred) -> dict[str, Any]:
    """The attributes of `unpack`: how many before the star, whether there is one, how many after."""
    stars = [number for number, target in enumerate(targets) if isinstance(target, star)]
    before = stars[0] if stars else len(targets)
    return {"before": before, "star": bool(stars), "after": len(targets) - before - 1 if stars else 0}
