"""Branches of inference: from a switch between blocks to a `cond`, from a raise to a `check`.

A switch on a run-time condition executes both sides in regions of their own, up to where they meet, and merges what
they hand on (phis, return values, assigned Tensors, contents of lists). Sides that leave differently (one returns, one
goes on) also hand on a number that says how they left, and what follows is executed once, under a `cond` on that
number.

Inside a `try`, a raise is such a way to leave, with the handler as its target. Where a part of a statement may raise
(a division, a call), all that follows becomes a side of a branch (`open_side`) that ends where the region or the try
does (`closing`).
"""
from __future__ import annotations


from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..common import dtype as dt
from ..common.dim import Dim, compare
from ..common.errors import (DTypeError, IndexRangeError, InternalError, MindliteError, Refusal, ShapeError,
                             UndefinedNameError, ValueRangeError)
from ..common.location import Origin
from ..common.records import dataclass
from ..common.tensor import Tensor
from ..common.tracebacks import passed_through
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.builder import results_of
from ..mindir.control import check as check_prim, cond as cond_prim, make_tuple
from ..mindir.graph import AnfNode, CNode
from ..mindir.inline import has_effects, inline
from ..mindir.primitive import Primitive, interpreting
from ..mindir.syntax import Undefined
from ..ops.basic import cast, reshape
from ..ops.scalar import scalar_binary, scalar_cast, scalar_compare, scalar_unary, tensor_to_scalar
from ..fallback.log import Trap
from ..fallback.segment import unbound
from .evaluating import Blocks, Evaluating
from .fallback import A_BOOL, ask_python
from .merging import Merge, Slot, conflict, convert, fill, named, undefined_value, writing
from .jumps import may_wait
from .kinds import skeleton
from .messages import taken_apart
from .outside import guard_contents
from .program import by_python, raises
from .region import Region, align
from .special import call_special
from .state import NEVER, RETURN, Caught, Departs, Frame, NoResultYet, Outcome, Raises, ends_call
from .trees import is_tree, truth_of
from .values import Box, ByExit, Conflict, MadeException, Mixed, Place, Unsure, Value


OF_DATA = (DTypeError, IndexRangeError, ShapeError, ValueRangeError)       # of an operator, for these values


def each_type(ev: Evaluating, value: Value, body: Callable[[Value], Value]) -> Value:
    """body(v) for each v that a Mixed may be, on the condition that it is; what that gives, merged."""
    (given, first), *others = value.choices.values()
    if not others or given is True:
        return body(ev.tracer.read(first) if isinstance(first, AnfNode) else first)
    rest = Mixed(dict(list(value.choices.items())[1:]))
    if given is False:
        return each_type(ev, rest, body)

    def only_first():
        return Outcome({RETURN: body(ev.tracer.read(first) if isinstance(first, AnfNode) else first)})

    def one_of_the_rest():
        return Outcome({RETURN: each_type(ev, rest, body)})
    outcome = branch(ev, ev.calls.frames[-1], given, ev.tracer.origin, only_first, one_of_the_rest, ("type", "another"))
    return settle(ev, outcome).exits[RETURN]


def checked_length(ev: Evaluating, given: Value) -> Value:
    """What __len__ of a user's class gives. raises : Raises where it is no length"""
    error = ValueError("__len__() should return >= 0")
    if isinstance(given, AnfNode):
        fail_unless(ev, compare_numbers(ev, ">=", given, 0), error)
    elif isinstance(given, int) and given < 0:
        raise raises(ev, error)
    return given


def truth(ev: Any, value: Any) -> Any:
    """The truth value: a Python bool where it is known, else a node, bool or bool[]."""
    if isinstance(value, Mixed):
        return each_type(ev, value, lambda v: ev.call(bool, (v,), {}))
    if ev.is_object(value):
        return ask_python(ev, bool, (value,), "the truth value of an object that Python made", A_BOOL)
    if isinstance(value, Tensor):
        value = ev.tracer.lift(value)
    if is_tree(value):
        return truth_of(ev, value)
    if isinstance(value, Box):
        return len(ev.store[value]) > 0 if value.kind != "cell" else True
    if isinstance(value, Dim):
        return compare_numbers(ev, "!=", value, 0)
    if not isinstance(value, AnfNode):
        made = call_special(ev, value, "__bool__")
        if made is not None:
            return truth(ev, made[0])
        made = None if hasattr(type(value), "__bool__") else call_special(ev, value, "__len__")
        if made is not None:
            return truth(ev, checked_length(ev, made[0]))
        guard_contents(ev, value)
        return by_python(ev, bool, value)
    with interpreting(ev.tracer):
        if isinstance(value.abstract, AbstractScalar):
            return value if value.abstract.type is bool else compare_numbers(ev, "!=", value, 0)
        if isinstance(value.abstract, AbstractTensor):
            if any(isinstance(s, int) and s != 1 for s in value.shape):
                raise ShapeError("The truth value of an array with more than one element is ambiguous.",
                                 note=str(value.abstract), hint="use x.any() or x.all()")
            node: Any = value
            node = node if node.dtype is dt.bool_ else cast(node, dtype=dt.bool_)
            return reshape(node, shape=()) if node.shape != () else node
    raise Refusal(f"the truth value of {value.abstract} is not known in a graph")


def compare_numbers(ev: Evaluating, op: str, a: Value, b: Value) -> Value:
    """a op b for numbers, Dims and scalar nodes: a bool where it is decided."""
    from_dims = [x.abstract.dim if isinstance(x, AnfNode) else x for x in (a, b)]
    if all(isinstance(x, (int, Dim)) for x in from_dims):
        known = compare(op, *from_dims)
        if known is not None:
            return known
    with interpreting(ev.tracer):
        return scalar_compare(a, b, op=op)


def in_region(ev: Evaluating, frame: Any, name: str, body: Callable[[], Outcome], certain: bool = False) -> tuple:
    """Execute `body()` in a new region with its own layer of values; returns (region, outcome, store after)."""
    region = Region(name, ev.tracer.region, certain)
    before, store, env = ev.tracer.enter(region), ev.tracer.store, frame.env
    ev.tracer.store, frame.env = dict(store), env.new_child()
    try:
        try:
            outcome: Outcome | Raises = closing(ev, body)
            ev.attempts.left_waiting |= outcome is not NEVER and may_wait(ev.store, store)
            region.finish()
        except Raises as raised:
            outcome = raised
        except NoResultYet:
            outcome = Outcome({})
        except OF_DATA as error:                             # what runs here raises it, as a `raise` in its place
            if certain:
                raise
            outcome = raises(ev, error)
        except (InternalError, Refusal, UndefinedNameError):
            raise
        except MindliteError as error:
            if certain:
                raise
            raise Refusal.uncertain(error) from error
        return region, outcome, ev.tracer.store
    finally:
        ev.tracer.store, frame.env = store, env
        ev.tracer.enter(before)


@dataclass
class Side:
    """What goes on under `condition`, in `region`; where it does not hold, `rest` is how the code ends.

    before, store : the region around it, and what the store held when it was opened
    """
    condition: Any
    rest: Outcome
    region: Region
    before: Region
    store: dict
    origin: Origin | None


def open_side(ev: Evaluating, condition: Value, rest: Value) -> None:
    """From here on everything is executed under `condition`; where that does not hold the code ends with `rest`."""
    if not isinstance(condition, AnfNode):
        if condition:
            return
        raise Departs(rest)
    tracer, region = ev.tracer, Region("goes_on", ev.tracer.region, certain=True)
    ev.attempts.sides.append(Side(condition, rest, region, tracer.enter(region), tracer.store, tracer.origin))
    tracer.store = dict(tracer.store)


def closing(ev: Evaluating, body: Callable[[], Outcome]) -> Outcome:
    """The outcome of body(), with the sides that it opened closed."""
    depth = len(ev.attempts.sides)
    try:
        try:
            outcome = body()
        except Departs as departed:
            outcome = departed.outcome
        except Raises as raised:
            if len(ev.attempts.sides) == depth:
                raise
            if not ev.attempts.around:
                raise
            outcome = to_handler(ev, raised)
        except NoResultYet:
            if len(ev.attempts.sides) == depth:
                raise
            outcome = Outcome({})
        while len(ev.attempts.sides) > depth:
            ev.tracer.region.finish()
            side, after = ev.attempts.sides.pop(), ev.tracer.store
            ev.attempts.left_waiting |= may_wait(after, side.store)
            ev.tracer.enter(side.before)
            ev.tracer.store = side.store
            if not outcome.exits and outcome is not NEVER:   # a recursion that has no result yet
                outcome = side.rest
                continue
            other = Region("raised", side.before), side.rest, dict(side.store)
            outcome = join_sides(ev, side.condition, [(side.region, outcome, after), other], side.origin)
        return outcome
    finally:
        leave_sides(ev, depth)


def leave_sides(ev: Evaluating, depth: int) -> None:
    """Forget the sides that were opened since `depth`."""
    if len(ev.attempts.sides) > depth:
        ev.tracer.enter(ev.attempts.sides[depth].before)
        ev.tracer.store = ev.attempts.sides[depth].store
        del ev.attempts.sides[depth:]


def to_handler(ev: Evaluating, raised: Raises) -> Any:
    """The outcome of raising inside a `try`."""
    attempt, exception = ev.attempts.around[-1], raised.exception
    if isinstance(exception, Trap):                          # Python begins the run again
        write_check(ev, False, raised)
        return NEVER
    if attempt.barrier:
        raise Refusal(f"an exception, on a condition that is known at run time only, leaves {attempt.barrier}")
    if isinstance(exception, MadeException):
        exception.origin = exception.origin or raised.origin
    else:
        ev.attempts.origins.setdefault(id(exception), (exception, raised.origin))
    key = skeleton(exception), raised.origin and raised.origin.location
    return Outcome({attempt.targets.setdefault(key, Caught(attempt)): exception})


def fail_unless(ev: Evaluating, condition: Value, exception: Value) -> None:
    """Raise the exception where `condition` does not hold: a check, or inside a `try` a way to its handler."""
    raised = Raises(exception, ev.tracer.origin)
    if ev.attempts.around:
        open_side(ev, condition, to_handler(ev, raised))
    else:
        write_check(ev, condition, raised)


def assigned(ev: Evaluating, name: str, value: Value, free: bool) -> Value:
    """What a variable holds; where it holds nothing, Python's exception is raised there. free: of a function around"""
    if isinstance(value, Unsure):
        if value.given is not True:
            fail_unless(ev, value.given, unbound(name, free))
        value = ev.tracer.read(value.value) if isinstance(value.value, AnfNode) else value.value
    elif ev.is_object(value):
        return ask_python(ev, known, (value, name, free), "a variable that may be one of several things is read")
    if isinstance(value, Conflict):
        raise value.error
    if isinstance(value, Undefined):
        ev.read_unassigned.add(name)
        raise raises(ev, unbound(name, free))                # as a `raise` there
    return value


def known(value: Value, name: str, free: bool) -> Value:
    """`value`. raises : UnboundLocalError, or NameError, if it is Undefined"""
    if isinstance(value, Undefined):
        raise unbound(name, free)
    return value


def settle(ev: Evaluating, outcome: Outcome) -> Outcome:
    """The ways out of a call that are no exceptions; on the condition that there are none, what follows goes on."""
    raising = {t: payload for t, payload in outcome.exits.items() if isinstance(t, Caught)}
    if not raising:
        return outcome
    others = [t for t in outcome.exits if t not in raising]
    if not others:
        raise Departs(outcome)
    if len(others) > 1:
        raise Refusal("how a generator goes on is known at run time only")
    number = list(outcome.exits).index(others[0])
    rest = Outcome(raising, without(ev, outcome.code, number) if len(raising) > 1 else 0)
    open_side(ev, compare_numbers(ev, "==", outcome.code, number), rest)
    choose(ev, others[0])
    return Outcome({others[0]: outcome.exits[others[0]]})


def run_switch(ev: Evaluating, frame: Frame, end: CNode, stops: Blocks) -> Outcome:
    """A two-way branch of the syntax graph."""
    try:
        condition = truth(ev, ev.defined(ev.read(frame, end.args[0]), end.origin))
    except Exception as error:
        ev.judge(error)
        raise
    true, false, join = end.attrs["true"], end.attrs["false"], end.attrs["join"]
    if not isinstance(condition, AnfNode):
        return ev.run_block(frame, true if condition else false, ((), {}), stops)
    inner = stops | {join} if join is not None else stops
    return branch(ev, frame, condition, end.origin,
                  lambda: ev.run_block(frame, true, ((), {}), inner),
                  lambda: ev.run_block(frame, false, ((), {}), inner), (true.name, false.name))


def branch(ev: Evaluating, frame: Frame, condition: Value, origin: Origin, true: Callable[[], Outcome],
           false: Callable[[], Outcome], names: Sequence[str]) -> Outcome:
    """cond: execute both sides and merge how they end, what they return and what they changed."""
    sides = [in_region(ev, frame, name, body) for name, body in zip(names, (true, false))]
    ev.tracer.move_to(origin)
    outcomes = [side[1] for side in sides]
    raising = [isinstance(outcome, Raises) for outcome in outcomes]
    # a check, then the other side in line (it may raise as well)
    if any(raising) and ev.attempts.around:
        sides = [(region, to_handler(ev, outcome) if isinstance(outcome, Raises) else outcome, store)
                 for region, outcome, store in sides]
        outcomes = [side[1] for side in sides]
    elif any(raising):
        ev.attempts.after_effects |= any(store != ev.store for (_, _, store), raises in zip(sides, raising) if raises)
        number = raising.index(True)
        region, raised, store = sides[number]
        if all(raising) or not has_effects(region.graph):
            check_instead(ev, condition, number == 1, region, raised, store)
            return (false if raising[0] else true)()
        with writing(ev, region, store):                     # what comes before the raise happens only if it does
            write_check(ev, False, raised)
        sides[number] = region, NEVER, store
        return join_sides(ev, condition, sides, origin)
    # a recursion that has no result yet: go on with the other side
    if not all(outcome.exits or outcome is NEVER for outcome in outcomes):
        if not outcomes[0].exits and not outcomes[1].exits:
            raise NoResultYet()
        return (true if outcomes[0].exits else false)()
    return join_sides(ev, condition, sides, origin)


def join_sides(ev: Evaluating, condition: Value, sides: Sequence[tuple], origin: Origin) -> Outcome:
    """The cond of two sides that are written: (region, outcome, store after) each. Returns how it ends."""
    outcomes = [side[1] for side in sides]
    ev.after = (sides[0][2], sides[1][2])
    merge = Merge(ev)
    targets = list(dict.fromkeys([*outcomes[0].exits, *outcomes[1].exits]))
    only = next((number for number in (0, 1) if outcomes[1 - number] is NEVER), None)       # the side that goes on
    if only is not None and outcomes[only] is NEVER:
        emit_cond(ev, condition, sides, merge, origin)
        return NEVER
    if len(targets) < 2:
        code = 0
    elif only is None:
        code = merge.value(*(_renumber(ev, side, targets) for side in sides))
    else:
        code = merge.only(outcomes[only].code, only)
    exits = {}
    for target in targets:
        have = [target in outcome.exits for outcome in outcomes]
        if all(have):
            exits[target] = merge.value(outcomes[0].exits[target], outcomes[1].exits[target])
            if not ends_call(target):
                for parameter, value in zip(target.parameters, exits[target][0]):
                    if isinstance(value, Conflict):
                        named(value.error, parameter.name)
            elif target == RETURN and isinstance(exits[target], Conflict):
                named(exits[target].error, "return")
        else:
            exits[target] = merge.only(outcomes[have.index(True)].exits[target], have.index(True))
    changed = {}
    for key in dict.fromkeys([*sides[0][2], *sides[1][2]]):
        if ev.made_inside(key):
            continue
        old = ev.read_place(key) if isinstance(key, Place) else ev.store.get(key, key)
        a, b = (side[2].get(key, old) for side in sides)
        if a is b:
            if a is not old:
                changed[key] = a                             # both sides leave the same
            continue
        if only is not None:
            changed[key] = merge.only((a, b)[only], only)
        elif isinstance(a, ByExit) or isinstance(b, ByExit):
            changed[key] = by_exit(merge, outcomes, targets, key, a, b)
        elif isinstance(key, Place) and isinstance(a, (Undefined, Unsure)) is not isinstance(b, (Undefined, Unsure)):
            changed[key] = one_sided(ev, merge, key, a, b, [side[0] for side in sides])
        elif a is not old or b is not old:
            changed[key] = merge.stored(key, a, b)
            if isinstance(changed[key], (Unsure, Conflict)) and len(targets) > 1:
                changed[key] = by_exit(merge, outcomes, targets, key, a, b)
            if isinstance(key, Box) and isinstance(changed[key], Conflict):
                changed[key].error.statements = key.marks
    results = emit_cond(ev, condition, sides, merge, origin)
    newest = {value.number for key, value in changed.items() if isinstance(value, Slot)
              and isinstance(key, (AnfNode, Tensor))}
    assigned = [{id(value) for key, value in side[2].items() if isinstance(key, (AnfNode, Tensor))} for side in sides]
    for number, slot in enumerate(merge.slots):
        if number not in newest and isinstance(slot[2], AbstractTensor) and any(
                ev.tracer.has_name(slot[n]) or id(slot[n]) in assigned[n] for n in (0, 1)):
            ev.tracer.choose(results[number], slot[:1], sides[0][2])
            ev.tracer.choose(results[number], slot[1:2], sides[1][2])
    for box, content in merge.boxes:
        ev.store[box] = fill(content, results)
    for key, value in changed.items():
        ev.tracer.renew(key, fill(value, results))
    return Outcome({target: fill(payload, results) for target, payload in exits.items()}, fill(code, results))


def by_exit(merge: Merge, outcomes: Sequence[Outcome], targets: Sequence[Any], key: Any, a: Value, b: Value) -> Value:
    """What a variable or container holds for each way out of a branch, where there is no value for all of them."""
    values = {}
    for target in targets:
        given = [v.values.get(target, Conflict(v.error)) if isinstance(v, ByExit) else v for v in (a, b)]
        have = [target in outcome.exits for outcome in outcomes]
        number = have.index(True)
        values[target] = merge.stored(key, *given) if all(have) else merge.only(given[number], number)
    return ByExit(conflict(a, b, merge.ev), values)


def choose(ev: Evaluating, target: Value) -> None:
    """From here on the code is on its way to `target`."""
    for key, value in list(ev.store.items()):
        if isinstance(value, ByExit):
            ev.tracer.renew(key, value.values.get(target, Conflict(value.error)))


def one_sided(ev: Evaluating, merge: Any, place: Any, a: Value, b: Value, regions: Sequence[Region]) -> Value:
    """The value of a variable outside that only one side of a branch assigns, or leaves undeleted."""
    if not ev.made_here(place.owner):
        raise Refusal(f"{place.name!r} exists on one path only, by a value that is known at run time only",
                               hint="assign it on both paths, or before the branch")
    region = ev.objects.region_of(place.owner)
    while region is not None and region not in regions:
        region = region.parent
    if region is not None:                                   # the object is made on that side
        return merge.only(b, 1) if isinstance(a, Undefined) else merge.only(a, 0)
    return merge.unsure(a, b)


def _renumber(ev: Evaluating, side: tuple, targets: Sequence[Any]) -> Value:
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


def emit_cond(ev: Evaluating, condition: Value, sides: Sequence[tuple], merge: Merge, origin: Origin) -> Sequence[CNode]:
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


def control_node(ev: Evaluating, prim: Primitive, operands: Sequence[AnfNode], abstracts: Sequence[Abstract],
                 **attrs: Any) -> list[CNode]:
    """Append a control node with results of the given abstracts, and the tuple_getitems that read it."""
    tracer = ev.tracer
    return [*results_of(tracer.graph.add(prim, *[tracer.lift(x) for x in operands], origin=tracer.origin,
                                         abstract=AbstractTuple(tuple(abstracts)), **attrs))]


def continue_exits(ev: Evaluating, frame: Frame, outcome: Outcome, stops: Blocks) -> Outcome:
    """Go on from an outcome with several exits: each exit that does not leave the region is executed once, under its number."""
    while outcome.single is None:
        todo = next((t for t in outcome.exits if not ends_call(t) and t not in stops), None)
        if todo is None:
            return outcome
        payload = outcome.exits[todo]
        outcome = go_round_or_leave(ev, frame, todo, outcome, lambda todo=todo, payload=payload: ev.run_block(
            frame, todo, payload, stops))
    return outcome


def go_round_or_leave(ev: Evaluating, frame: Frame, target: Any, outcome: Outcome, go_on: Callable[..., Outcome]) -> Outcome:
    """An outcome of several exits, one of which (`target`) goes on here: a branch on the exit's number."""
    targets = list(outcome.exits)
    number, code = targets.index(target), outcome.code
    rest = {t: p for t, p in outcome.exits.items() if t is not target}

    def taken():
        choose(ev, target)
        return go_on()

    def remaining():
        if len(rest) == 1:
            choose(ev, next(iter(rest)))
        return Outcome(rest, without(ev, code, number) if len(rest) > 1 else 0)
    return branch(ev, frame, compare_numbers(ev, "==", code, number), ev.tracer.origin, taken, remaining,
                  (target.name, "left"))


def without(ev: Evaluating, code: Value, number: int) -> Value:
    """The number of an exit after exit `number` is taken out of the list."""
    with interpreting(ev.tracer):
        return scalar_binary(code, scalar_cast(scalar_compare(code, number, op=">"), type=int), op="-")


def run_raise(ev: Evaluating, args: Sequence[Value], origin: Origin, again: bool = False) -> NoReturn:
    """`raise`: raised at once if it is certain; inside a branch it becomes a check, or a jump to the handler. If it is certain
    and made of run-time values, it is a check that always fails, and nothing after it is executed."""
    if not args:
        args, again = ev.attempts.handling[-1:] or [RuntimeError("No active exception to reraise")], True
    exception = args[0]
    if isinstance(exception, type) and issubclass(exception, BaseException):
        exception = ev.call(exception, (), {})
    if not isinstance(exception, (BaseException, MadeException)) and not ev.is_object(exception):
        raise raises(ev, TypeError("exceptions must derive from BaseException"))
    if again:
        origin = getattr(exception, "origin", None) or ev.attempts.origins.get(id(exception), (None, origin))[1]
    elif not isinstance(exception, AnfNode):
        if ev.attempts.handling and ev.attempts.handling[-1] is not exception and not ev.concrete:
            link(ev, exception, "__context__", ev.attempts.handling[-1])
        if len(args) == 2:
            link(ev, exception, "__cause__", ev.call(args[1], (), {}) if isinstance(args[1], type) else args[1])
    raised = Raises(exception, origin, [frame.called_at for frame in ev.calls.frames[1:]])
    if ev.concrete:
        raise Raises(passed_through(exception, origin.location), origin)
    if ev.attempts.around or ev.tracer.region is not ev.tracer.root or isinstance(exception, BaseException):
        raise raised
    write_check(ev, False, raised)
    raise Departs(NEVER)


def link(ev: Evaluating, exception: Value, name: str, value: Value) -> None:
    """Set the __cause__ or __context__ of an exception; one that is made of run-time values waits in `ev.attempts`."""
    if value is None or isinstance(value, BaseException) or isinstance(exception, MadeException):
        setattr(exception, name, value)
    else:
        ev.attempts.link(exception, name, value)


def write_check(ev: Evaluating, condition: Value, raised: Raises, operands: Sequence[AnfNode] | None = None,
                store: dict[Any, Value] | None = None) -> None:
    """Write a check that raises the exception unless `condition` holds. operands: its run-
    time parts, by default those found in it; store: see `taken_apart`"""
    parts, make = taken_apart(ev, raised.exception, store)
    origin = raised.origin or ev.tracer.origin

    def error(*values):
        return passed_through(make(values), *raised.calls, origin.location)
    with interpreting(ev.tracer):
        ev.tracer.graph.add(check_prim, ev.tracer.lift(condition), *[
            ev.tracer.lift(x) for x in (parts if operands is None else operands)],
            origin=origin, abstract=AbstractTuple(()), error=error)


def check_instead(ev: Evaluating, condition: Value, holds: bool, region: Region, raised: Raises, store: dict[Any, Value]) -> None:
    """Replace a branch of which one side (a region, with its final store) only raises by
    a check. What this side computes for the message is inlined."""
    operands, _ = taken_apart(ev, raised.exception, store)
    with interpreting(ev.tracer):
        condition = tensor_to_scalar(condition) if isinstance(condition.abstract, AbstractTensor) else condition
        condition = condition if holds else scalar_unary(condition, op="not")
        region.graph.set_outputs([region.capture(x) for x in operands], make_tuple)
        captured = {p: node for node, p in region.captures.items()}
        operands = inline(ev.tracer.graph, region.graph, [ev.tracer.lift(captured[p]) for p in region.graph.parameters])
    write_check(ev, condition, raised, operands, store)
