"""Passes over control flow: what a branch or loop carries without need is taken out, what need not be repeated is done once.

    s, t = while_loop(s, t, w; ..), t never read           s = while_loop(s, w; ..)
    s, w = while_loop(s, w; c, (.., w))                     s = while_loop(s; w invariant)
    s, i = while_loop(s, 0; i < 9, (.., i + 1))             s = while_loop(..), i = 9
    a, b = cond(p, x, y; (x, y * 2), (x, y))                b = cond(p, y; ..), a = x
    cond(p, x, x; (x, y) -> x * y, ..)                      cond(p, x; x -> x * x, ..)
"""
from ..mindir.abstract import AbstractTensor, AbstractTuple, symbols_of_abstract
from ..mindir.builder import append
from ..mindir.control import cond, make_tuple, policy_of, tuple_getitem, while_loop
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import drop_dead_nodes, has_effect, inline, live_nodes, sized_results, symbols_needed
from ..mindir.primitive import current_interpreter
from .loops import final_values, fixed_operands, widened
from .rewrite import applies, rebuild

CONTROL = {cond, while_loop}


def prune_control(graph):
    """Leaves no result of a cond or while_loop that is unused or known outside, no operand that nothing in it reads, and no
    value that a cond is given twice."""
    if not applies(graph, CONTROL):
        return 0
    used = _used_results(drop_dead_nodes(graph))
    return rebuild(graph, lambda node: (_prune_cond if node.fn is cond else _prune_while)(node, used.get(node, set())), CONTROL)


def _used_results(graph):
    """{node: numbers of its results that something reads, or whose sizes something uses that has them from nowhere else}"""
    used = sized_results(graph)
    for node in graph.nodes + [graph.output]:
        for arg in node.args:
            if isinstance(arg.abstract, AbstractTuple):
                numbers = {node.attrs["index"]} if node.fn is tuple_getitem else range(len(arg.abstract.elements))
                used.setdefault(arg, set()).update(numbers)
    return used


def _narrowed(graph, outputs, constants, order, alike=()):
    """A copy of `graph` with the outputs numbered in `outputs`, parameters in `constants` replaced, others as `order`.

    alike : (number of a parameter, that of the one in `order` that it is)
    """
    target = FuncGraph(graph.name, graph.origin)
    values = dict(constants)
    for i in order:
        p = graph.parameters[i]
        values[i] = target.add_parameter(p.name, p.abstract, p.origin, p.default)
    values.update((i, values[first]) for i, first in alike if first in values)
    made = inline(target, graph, [values.get(i, p) for i, p in enumerate(graph.parameters)])
    target.set_outputs([made[i] for i in outputs], make_tuple)
    return drop_dead_nodes(target)


def _read_by(graph, outputs):
    """The numbers of the parameters that these outputs, or effects, need."""
    _, needed = live_nodes(graph, [graph.outputs[i] for i in outputs])
    return {i for i, p in enumerate(graph.parameters) if p in needed}


def _sized_by(graph, outputs, args):
    """The numbers of the parameters that have a size under a Symbol of their own, which these outputs, or effects, need."""
    own = {i: symbols_of_abstract(p.abstract) - symbols_of_abstract(a.abstract)
           for i, (p, a) in enumerate(zip(graph.parameters, args))}
    if not any(own.values()):
        return set()
    needed = symbols_needed(graph, [graph.outputs[i] for i in outputs])
    return {i for i, symbols in own.items() if symbols & needed}


def _given_again(operands, sides):
    """{number of an operand: that of an earlier one, which is the same value of the same type to both sides}"""
    first: dict = {}
    again = {}
    for i, operand in enumerate(operands):
        earlier = first.setdefault(operand, i)
        if earlier != i and not isinstance(operand, ValueNode) and all(
                side.parameters[i].abstract == side.parameters[earlier].abstract for side in sides):
            again[i] = earlier
    return again


def _filled(node, kept, made, known):
    """What stands for the node's results: the new node's for those kept, what is known, and for the rest nothing."""
    found = dict(zip(kept, made))
    found.update(known)
    return tuple([found.get(i, _UNUSED) for i in range(len(node.abstract.elements))])


_UNUSED = ValueNode(0)


def _prune_cond(node, used):
    sides = [node.attrs["true"], node.attrs["false"]]
    operands = node.args[1:]
    known = {}
    for i in used:
        found = [_outside(side, side.outputs[i], operands) for side in sides]
        if found[0] is not None and found[0] is found[1] and found[0].abstract == node.abstract.elements[i]:
            known[i] = found[0]
    kept = sorted(used - known.keys())
    constants, again = {i: a for i, a in enumerate(operands) if isinstance(a, ValueNode)}, _given_again(operands, sides)
    read = set().union(*[_read_by(side, kept) | _sized_by(side, kept, operands) for side in sides]) - constants.keys()
    order = sorted({again.get(i, i) for i in read})
    if len(kept) == len(node.abstract.elements) and len(order) == len(operands):
        return None
    effects = has_effect(node)
    if not kept and not effects:
        return _filled(node, (), (), known)
    true, false = [_narrowed(side, kept, constants, order, again.items()) for side in sides]
    made = append(cond, node.args[0], *[operands[i] for i in order], true=true, false=false,
                  abstract=AbstractTuple(tuple(node.abstract.elements[i] for i in kept)))
    return _filled(node, kept, made, known)


def _outside(graph, output, operands):
    """The operand that this output of a graph hands through, None if it is made inside."""
    return operands[graph.parameters.index(output)] if output in graph.parameters else None


def _prune_while(node, used):
    test, body, k = node.attrs["cond"], node.attrs["body"], node.attrs["invariants"]
    n = len(node.args) - k
    fixed = {i for i in range(n) if body.outputs[i] is body.parameters[i]
             and body.parameters[i].abstract == node.args[i].abstract == node.abstract.elements[i]}
    ends = final_values(node)
    live = set(used) - fixed - ends.keys() | {i for i in _read_by(test, [0]) | _read_by(body, []) if i < n} - fixed
    live |= {i for i in _sized_by(test, [0], node.args[:n]) if i < n} - fixed
    while True:
        grown = live | {i for i in _read_by(body, sorted(live)) | _sized_by(body, sorted(live), node.args) if i < n} - fixed
        if grown == live:
            break
        live = grown
    kept = sorted(live)
    candidates = sorted(fixed) + list(range(n, len(node.args)))
    constants = {i: node.args[i] for i in candidates if isinstance(node.args[i], ValueNode)}
    read = _read_by(test, [0]) | _read_by(body, kept)
    invariants = [i for i in candidates if i in read and i not in constants]
    if len(kept) == n and len(invariants) == k and not used & ends.keys():
        return None
    known = {**{i: node.args[i] for i in fixed}, **ends}
    order = kept + invariants
    made: tuple = ()
    if kept or has_effect(node):
        made = append(while_loop, *[node.args[i] for i in order], cond=_narrowed(test, [0], constants, order),
                      body=_narrowed(body, kept, constants, order), invariants=len(invariants), **policy_of(node),
                      abstract=AbstractTuple(tuple(node.abstract.elements[i] for i in kept)))
    return _filled(node, kept, made, known)


# ---------------------------------------------------------------- loop-invariant code

STAYS = {"effect", "random", "control", "tape", "dynamic", "view", "creation"}


def hoist_invariants(graph):
    """Leaves no operator in a loop's body that gives the same at every iteration and nothing larger than what it reads."""
    return rebuild(graph, _hoist, {while_loop})


def _hoist(node):
    body, test, k = node.attrs["body"], node.attrs["cond"], node.attrs["invariants"]
    outside = fixed_operands(node)
    sizes = set().union(*[symbols_of_abstract(p.abstract) for p in outside if isinstance(p.abstract, AbstractTensor)])
    builder = current_interpreter()
    moved: dict = {}
    fed = {a for inner in body.nodes if "library" in inner.fn.traits for a in inner.args}
    for inner in body.nodes:
        stays = STAYS - {"view"} if inner in fed else STAYS     # a library reads memory: the view is copied, so once
        if inner.fn.traits & stays or not inner.args or not isinstance(inner.abstract, AbstractTensor):
            continue
        if not all(a in outside or a in moved or isinstance(a, ValueNode) for a in inner.args) or not symbols_of_abstract(
                inner.abstract) | symbols_of_abstract(tuple(inner.attrs.values())) <= sizes or not _keeps_size(inner):
            continue
        moved[inner] = builder.graph.add_copy(inner, [moved.get(a, outside.get(a, a)) for a in inner.args])
    if not moved:
        return None
    made = list(moved.values())
    replaced = {inner: lambda env, more, number=number: more[number] for number, inner in enumerate(moved)}
    return append(while_loop, *node.args, *made, cond=widened(test, made), body=widened(body, made, replaced),
                  invariants=k + len(made), abstract=node.abstract, **policy_of(node))


def _keeps_size(node):
    """False for what would take more memory outside than it reads: it is cheap to do again inside a fused kernel."""
    tensors = [a.abstract for a in node.args if isinstance(a.abstract, AbstractTensor)]
    return any(t.size == node.size or (isinstance(t.size, int) and isinstance(node.size, int) and t.size >= node.size)
               or "reduction" in node.fn.traits or "library" in node.fn.traits for t in tensors)
