"""Reverse mode of hooks: cotangents pass the graph that a gate holds.

    y = gate(x; bprop=h)             dx = h(dy)

    x' = port(x);  y = f(x');  y' = gate(y, token of the port; bprop=before, after=after)         a Cell with hooks

    dy = before(dy');  dx' = the gradient of f;  dx = after(dy, dx')

The gate is met first, as the sweep goes backwards; what its hooks let go on is kept for the port, which is met last.
Where nothing is differentiated by what goes through the port, `alone` runs instead, behind `before`.

In eager mode a hook is not called where nothing flows. Behind a branch a cotangent may be there as zeros although the
side that was taken does not read the value: there the data decides, and such a gradient is left to Python.
"""
from ..common.errors import GraphSyntaxError
from ..mindir.inline import inline


def unsure(node):
    """The error where a graph cannot say whether hooks are called."""
    return GraphSyntaxError("whether a gradient comes to a hook is known at run time only", location=node.origin.location)


def reverse_gate(sweep, node):
    """dx = h(dy)"""
    count, attrs = node.attrs["count"], node.attrs
    if all(sweep.cotangent(node, i) is None for i in range(count)):
        return                                               # as in eager mode, where nothing flows no hook is called
    if not sweep.sure:
        raise unsure(node)
    ties = attrs["after"] is not None                        # the last operand is the token of a port
    read = [sweep.value(x) for x in node.args[count:len(node.args) - ties]]
    douts = [sweep.cotangent_or_zeros(node, i) for i in range(count)]
    gone = inline(sweep.back, attrs["bprop"], [*douts, *read], by="grad")
    for x, dx in zip(node.args, gone):
        sweep.add(x, dx)
    if not ties:
        return
    entry = node.args[-1].args[0]
    if entry in sweep.active:
        sweep.gated[entry] = attrs["after"], gone, read
    else:
        inline(sweep.back, attrs["alone"], [*gone, *read], by="grad")


def reverse_port(sweep, node):
    """dx = after(dy, dx')"""
    if all(sweep.cotangent(node, i) is None for i in range(len(node.args))):
        return
    douts = [sweep.cotangent_or_zeros(node, i) for i in range(len(node.args))]
    if node in sweep.gated:
        if not sweep.sure:
            raise unsure(node)
        after, gone, read = sweep.gated[node]
        douts = inline(sweep.back, after, [*gone, *douts, *read], by="grad")
    for x, dx in zip(node.args, douts):
        sweep.add(x, dx)
