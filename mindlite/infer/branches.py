"""Branches of inference: from a switch between blocks to a `cond`, from a raise to a `check`.

A switch on a run-time condition executes both sides in regions of their own, up to where they meet, and merges what
they hand on (phis, return values, assigned Tensors, contents of lists). Sides that leave differently (one returns, one
goes on) also hand on a number that says how they left, and what follows is executed once, under a `cond` on that
number.
"""
from ..common import dtype as dt
from ..common.dim import Dim, compare
from ..common.errors import GraphSyntaxError, MindliteError, ShapeError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.control import check as check_prim, cond as cond_prim, make_tuple, tuple_getitem
from ..mindir.graph import AnfNode
from ..mindir.inline import inline
from ..mindir.primitive import interpreting
from ..mindir.syntax import Undefined
from ..ops.basic import cast, reshape
from ..ops.scalar import scalar_binary, scalar_cast, scalar_compare, scalar_unary, tensor_to_scalar
from .fallback import A_BOOL, ask_python
from .merging import Merge, convert, fill, undefined_value, writing
from .outcome import RETURN, LazyException, NoResultYet, Outcome, Raises
from .outside import guard_contents, method_of_class
from .region import Region, align
from .tracebacks import raised_at
from .values import Box, Conflict, Place


def truth(ev, value):
    """The truth value: a Python bool where it is known, else a node, bool or bool[]."""
    if ev.is_object(value):
        return ask_python(ev, bool, (value,), "the truth value of an object that Python made", A_BOOL)
    if isinstance(value, Tensor):
        value = ev.tracer.lift(value)
    if isinstance(value, Box):
        return len(ev.store[value]) > 0 if value.kind != "cell" else True
    if isinstance(value, Dim):
        return compare_numbers(ev, "!=", value, 0)
    if not isinstance(value, AnfNode):
        asked = method_of_class(ev, value, "__bool__") or method_of_class(ev, value, "__len__")
        if asked is not None and not ev.concrete:
            return truth(ev, ev.call(asked, (value,), {}))
        guard_contents(ev, value)
        return bool(value)
    with interpreting(ev.tracer):
        if isinstance(value.abstract, AbstractScalar):
            return value if value.abstract.type is bool else compare_numbers(ev, "!=", value, 0)
        if isinstance(value.abstract, AbstractTensor):
            if any(isinstance(s, int) and s != 1 for s in value.shape):
                raise ShapeError("the truth value of a Tensor with several elements is ambiguous",
                                 note=str(value.abstract), hint="use x.any() or x.all()")
            if value.dtype is not dt.bool_:
                value = cast(value, dtype=dt.bool_)
            return reshape(value, shape=()) if value.shape != () else value
    raise GraphSyntaxError(f"the truth value of {value.abstract} is not known in a graph")


def compare_numbers(ev, op, a, b):
    """a op b for numbers, Dims and scalar nodes: a bool where it is decided."""
    from_dims = [x.abstract.dim if isinstance(x, AnfNode) else x for x in (a, b)]
    if all(isinstance(x, (int, Dim)) for x in from_dims):
        known = compare(op, *from_dims)
        if known is not None:
            return known
    with interpreting(ev.tracer):
        return scalar_compare(a, b, op=op)


def in_region(ev, frame, name, body, certain=False):
    """Execute `body()` in a new region with its own layer of values; returns (region, outcome, store after)."""
    region = Region(name, ev.tracer.region, certain)
    before, store, env = ev.tracer.enter(region), ev.tracer.store, frame.env
    ev.tracer.store, frame.env = dict(store), env.new_child()
    try:
        try:
            outcome = body()
        except Raises as raised:
            outcome = raised
        except NoResultYet:
            outcome = Outcome({})
        except MindliteError as error:
            error.certain = error.certain and certain
            raise
        return region, outcome, ev.tracer.store
    finally:
        ev.tracer.store, frame.env = store, env
        ev.tracer.enter(before)


def run_switch(ev, frame, end, stops):
    """A two-way branch of the syntax graph."""
    condition = truth(ev, ev.defined(ev.read(frame, end.args[0]), end.origin))
    true, false, join = end.attrs["true"], end.attrs["false"], end.attrs["join"]
    if not isinstance(condition, AnfNode):
        return ev.run_block(frame, true if condition else false, ((), {}), stops)
    inner = stops | {join} if join is not None else stops
    return branch(ev, frame, condition, end.origin,
                  lambda: ev.run_block(frame, true, ((), {}), inner),
                  lambda: ev.run_block(frame, false, ((), {}), inner), (true.name, false.name))


def branch(ev, frame, condition, origin, true, false, names):
    """cond: execute both sides and merge how they end, what they return and what they changed."""
    sides = [in_region(ev, frame, name, body) for name, body in zip(names, (true, false))]
    ev.tracer.move_to(origin)
    outcomes = [side[1] for side in sides]
    raising = [isinstance(outcome, Raises) for outcome in outcomes]
    # a check, then the other side in line (it may raise as well)
    if any(raising):
        check_instead(ev, condition, raising[1] and not raising[0], sides[raising.index(True)][0],
                      outcomes[raising.index(True)])
        return (false if raising[0] else true)()
    # a recursion that has no result yet: go on with the other side
    if not outcomes[0].exits or not outcomes[1].exits:
        if not outcomes[0].exits and not outcomes[1].exits:
            raise NoResultYet()
        return (true if outcomes[0].exits else false)()
    ev.after = (sides[0][2], sides[1][2])
    merge = Merge(ev)
    targets = list(dict.fromkeys([*outcomes[0].exits, *outcomes[1].exits]))
    code = merge.value(*(_renumber(ev, side, targets) for side in sides)) if len(targets) > 1 else 0
    exits = {}
    for target in targets:
        have = [target in outcome.exits for outcome in outcomes]
        if all(have):
            exits[target] = merge.value(outcomes[0].exits[target], outcomes[1].exits[target])
        else:
            exits[target] = merge.only(outcomes[have.index(True)].exits[target], have.index(True))
    changed = {}
    for key in dict.fromkeys([*sides[0][2], *sides[1][2]]):
        if ev.made_inside(key):
            continue
        old = ev.read_place(key) if isinstance(key, Place) else ev.store.get(key, key)
        a, b = (side[2].get(key, old) for side in sides)
        if a is b:
            continue
        if isinstance(key, Place) and isinstance(a, Undefined) is not isinstance(b, Undefined):
            changed[key] = one_sided(ev, merge, key, a, b)
        elif a is not old or b is not old:
            changed[key] = merge.value(a, b)
            if isinstance(key, Box) and isinstance(changed[key], Conflict):
                changed[key].error.marks = key.marks
    results = emit_cond(ev, condition, sides, merge, origin)
    for box, content in merge.boxes:
        ev.store[box] = fill(content, results)
    for key, value in changed.items():
        ev.store[key] = fill(value, results)
    return Outcome({target: fill(payload, results) for target, payload in exits.items()}, fill(code, results))


def one_sided(ev, merge, place, a, b):
    """The value of a variable outside that only one side of a branch assigns, or leaves undeleted."""
    if not ev.made_here(place.owner):
        raise GraphSyntaxError(f"{place.name!r} exists on one path only, by a value that is known at run time only",
                               hint="assign it on both paths, or before the branch")
    return merge.only(b, 1) if isinstance(a, Undefined) else merge.only(a, 0)


def _renumber(ev, side, targets):
    """The number, among `targets`, of the way in which a side ends: an int, or a node in the side's region."""
    region, outcome, _ = side
    own = list(outcome.exits)
    numbers = [targets.index(t) for t in own]
    if len(own) == 1:
        return numbers[0]
    if numbers == list(range(len(own))):
        return outcome.code
    with writing(ev, region, side[2]):
        total = 0
        for here, there in enumerate(numbers):               # sum of (code == here) * there
            hit = scalar_cast(scalar_compare(outcome.code, here, op="=="), type=int)
            total = scalar_binary(total, scalar_binary(hit, there, op="*"), op="+")
        return total


def emit_cond(ev, condition, sides, merge, origin):
    """Write the cond node for the slots of `merge`; returns the nodes of its results."""
    regions = [side[0] for side in sides]
    if not merge.slots and not any(has_effects(region.graph) for region in regions):
        return []
    for number, region in enumerate(regions):
        with writing(ev, region, sides[number][2]):
            outputs = [undefined_value(ev, slot[2]) if slot[number] is None else convert(ev, slot[number], slot[2])
                       for slot in merge.slots]
            region.graph.set_outputs([region.capture(ev.tracer.lift(node)) for node in outputs], make_tuple)
    operands = align(regions)
    with interpreting(ev.tracer), ev.tracer.at(origin):
        return control_node(ev, cond_prim, [condition, *operands], [s[2] for s in merge.slots],
                             true=regions[0].graph, false=regions[1].graph)


def control_node(ev, prim, operands, abstracts, **attrs):
    """Append a control node with results of the given abstracts, and the tuple_getitems that read it."""
    tracer = ev.tracer
    node = tracer.graph.add(prim, *[tracer.lift(x) for x in operands], origin=tracer.origin,
                            abstract=AbstractTuple(tuple(abstracts)), **attrs)
    return [tracer.graph.add(tuple_getitem, node, index=i, origin=tracer.origin, abstract=a)
            for i, a in enumerate(abstracts)]


def has_effects(graph):
    """True if a node of the graph, or of one below it, must not be dropped."""
    return any("effect" in getattr(node.fn, "traits", ()) for g in graph.reachable() for node in g.nodes)


def continue_exits(ev, frame, outcome, stops):
    """Go on from an outcome with several exits: those that are not awaited outside are executed, each once, under its
    number."""
    while outcome.single is None:
        todo = next((t for t in outcome.exits if t != RETURN and t not in stops), None)
        if todo is None:
            return outcome
        payload = outcome.exits[todo]
        outcome = go_round_or_leave(ev, frame, todo, outcome, lambda todo=todo, payload=payload: ev.run_block(
            frame, todo, payload, stops))
    return outcome


def go_round_or_leave(ev, frame, target, outcome, go_on):
    """An outcome of several exits, one of which (`target`) goes on here: a branch on the exit's number."""
    targets = list(outcome.exits)
    number, code = targets.index(target), outcome.code
    rest = {t: p for t, p in outcome.exits.items() if t is not target}

    def remaining():
        return Outcome(rest, without(ev, code, number) if len(rest) > 1 else 0)
    return branch(ev, frame, compare_numbers(ev, "==", code, number), ev.tracer.origin, go_on, remaining,
                  (target.name, "left"))


def without(ev, code, number):
    """The number of an exit after exit `number` is taken out of the list."""
    with interpreting(ev.tracer):
        return scalar_binary(code, scalar_cast(scalar_compare(code, number, op=">"), type=int), op="-")


def run_raise(ev, args, origin):
    """`raise`: at once where it is certain to happen; inside a branch it becomes a check (see `branch`)."""
    exception = args[0] if args else RuntimeError("No active exception to reraise")
    if isinstance(exception, type) and issubclass(exception, BaseException):
        exception = exception()
    if not isinstance(exception, (BaseException, LazyException)):
        raise TypeError("exceptions must derive from BaseException")
    if len(args) == 2 and isinstance(exception, BaseException):
        exception.__cause__ = args[1]
    raised = Raises(exception, getattr(exception, "operands", ()), origin)
    if ev.tracer.region is not ev.tracer.root:
        raise raised
    if isinstance(exception, BaseException):
        raise exception
    write_check(ev, False, raised, raised.operands)
    return Outcome({RETURN: None})


def write_check(ev, condition, raised, operands):
    """Write a check that stops with the exception unless `condition` holds."""
    exception = raised.exception
    make = exception.make if isinstance(exception, LazyException) else (lambda *_, exception=exception: exception)
    location = (raised.origin or ev.tracer.origin).location

    def error(*values):
        return raised_at(make(*values), location)
    with interpreting(ev.tracer):
        ev.tracer.graph.add(check_prim, ev.tracer.lift(condition), *[ev.tracer.lift(x) for x in operands],
                            origin=raised.origin or ev.tracer.origin, abstract=AbstractTuple(()), error=error)


def check_instead(ev, condition, holds, region, raised):
    """Where one side of a branch only raises: a check in its place. What the side computed for the message is
    inlined."""
    with interpreting(ev.tracer):
        condition = tensor_to_scalar(condition) if isinstance(condition.abstract, AbstractTensor) else condition
        condition = condition if holds else scalar_unary(condition, op="not")
        region.graph.set_outputs([region.capture(x) for x in raised.operands], make_tuple)
        captured = {p: node for node, p in region.captures.items()}
        operands = inline(ev.tracer.graph, region.graph, [ev.tracer.lift(captured[p]) for p in region.graph.parameters])
    write_check(ev, condition, raised, operands)
