"""Where assignments go: names, attributes, items, and tuples of them with at most one star."""
import gast

from ..mindir import syntax


def store(p, target, value):
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


def store_items(p, targets, unpacked):
    """Assign the items of the tuple `unpacked` to `targets`, from left to right."""
    for number, target in enumerate(targets):
        store(p, target, item(p, unpacked, number, target))


def item(p, values, number, node):
    """values[number]"""
    return p.add(syntax.load_item, values, p.constant(number, node), node=node)


def shape_of(targets, star=gast.Starred):
    """The attributes of `unpack`: how many before the star, whether there is one, how many after."""
    stars = [number for number, target in enumerate(targets) if isinstance(target, star)]
    before = stars[0] if stars else len(targets)
    return {"before": before, "star": bool(stars), "after": len(targets) - before - 1 if stars else 0}
