"""Loops of inference: one `while_loop` node for all iterations, or the iterations written out.

The body is executed on what the loop carries at its start; what differs at its end is widened (a number becomes a
run-time number, a size a Symbol) and the body is executed again, until nothing changes: a fixpoint over types. Where
the types change from iteration to iteration, or where a short constant range makes it cheaper, the loop is unrolled.
"""
from __future__ import annotations

from collections.abc import Sequence

from ..common.dim import Symbol
from ..common.errors import InternalError, MindliteError, NameLookupError, Refusal
from ..common.tensor import Tensor
from ..mindir import syntax
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.control import check, make_tuple, while_loop as while_prim
from ..mindir.graph import AnfNode, CNode, FuncGraph, Parameter
from ..mindir.inline import has_effects, inline
from ..mindir.primitive import Primitive, interpreting
from ..mindir.syntax import Undefined
from ..ops.scalar import tensor_to_scalar
from .branches import compare_numbers, control_node, go_round_or_leave, in_region, leave_sides, truth, without
from .evaluating import Blocks, Evaluating
from .jumps import loop_exits
from .kinds import leaves, map_parts
from .merging import Merge, abstract_of, convert, fill, named, undefined_value, writing
from .region import Region, align
from .state import AmbiguousTarget, Frame, Outcome, Raises
from .values import Box, Conflict, Place, Value
from .widening import NOTHING, CannotLoop, Peel, Varying, Widening, flat_like, is_carried, own_sizes, type_of_state

UNROLL_AT_MOST = 4           # iterations of a constant range that are cheaper written out than as a loop with a tape
UNROLL_OPERATORS = 32        # and more of them, where so many operators are all that is written out
EXECUTE_AT_MOST = 256        # iterations over Python constants only that are executed, and leave nothing behind
UNROLL_LIMIT = 10_000
PEEL_AT_MOST = 2             # iterations


def run_loop(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks, peeled: int = 0) -> Outcome:
    """A loop of the syntax graph: one `while_loop`, or unrolled if that is impossible or
    does not pay. peeled: how many iterations have been peeled off"""
    stops = stops | {header} | loop_exits(header)
    if ev.concrete:
        outcome = ev.run_once(frame, header, args, stops)
        while header in outcome.exits:
            outcome = ev.run_once(frame, header, outcome.exits[header][0], stops)
        return outcome
    saved = _save(ev, frame)
    trips = static_trips(ev, frame, header, args)
    if trips is not None:
        return unroll(ev, frame, header, args, stops)
    done = execute_on_constants(ev, frame, header, args, stops)
    if done is not None:
        return done
    _restore(ev, frame, saved)
    done = unroll_short(ev, frame, header, args, stops)
    if done is not None:
        return done
    _restore(ev, frame, saved)
    try:
        return write_loop(ev, frame, header, args, stops, peeled < PEEL_AT_MOST)
    except Peel:
        _restore(ev, frame, saved)
        return peel(ev, frame, header, args, stops, peeled + 1)
    except CannotLoop as reason:
        _restore(ev, frame, saved)
        ev.reasons.append((header.origin.location, f"the loop is unrolled: {reason.error.args[0]}"))
        return unroll(ev, frame, header, args, stops, reason.error)


def _save(ev: Evaluating, frame: Frame) -> tuple:
    graph = ev.tracer.graph
    return (len(ev.attempts.sides), dict(ev.tracer.store), len(graph.nodes), dict(ev.tracer.region.captures),
            list(graph.parameters), dict(frame.env.own), set(ev.tracer.effects.stale))


def _restore(ev: Evaluating, frame: Frame, saved: tuple) -> None:
    sides, store, nodes, captures, parameters, env, ev.tracer.effects.stale = saved
    leave_sides(ev, sides)
    ev.tracer.store = dict(store)
    graph = ev.tracer.graph
    del graph.nodes[nodes:]
    inputs = set(ev.variables.inputs.values())
    kept = [p for p in graph.parameters if p not in parameters and (p.default is not None or p in inputs)]
    ev.tracer.region.captures, graph.parameters = dict(captures), parameters + kept
    frame.env.own = dict(env)


def static_trips(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value]) -> int | None:
    """How often a `for` runs, where that is known and it must or should be unrolled; None for a loop to write once."""
    if header.loop != "for":
        return None
    more = header.nodes[0]
    iterator = ev.read(frame, more.args[0]) if header.nodes else None
    if isinstance(iterator, range):
        return len(iterator) if len(iterator) <= UNROLL_AT_MOST else None
    if isinstance(iterator, (tuple, Box)):
        return 0
    return None


def execute_on_constants(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks) -> Outcome | None:
    """The outcome of a loop that computes with Python constants only, executed as Python does; None where it does not.

    A caller that gets None must restore what was saved.
    """
    graph = ev.tracer.graph
    written, sides = len(graph.nodes), len(ev.attempts.sides)
    if header.loop == "for" and not isinstance(ev.read(frame, header.nodes[0].args[0]), range) \
            or header.loop == "for" and len(ev.read(frame, header.nodes[0].args[0])) > EXECUTE_AT_MOST:
        return None
    for _ in range(EXECUTE_AT_MOST):
        if header.output.fn is syntax.switch:                # look at the condition first: a body may cost much
            saved = _save(ev, frame)
            ev.run_nodes(frame, header, args)
            if isinstance(truth(ev, ev.read(frame, header.output.args[0])), AnfNode) or len(graph.nodes) > written \
                    or len(ev.attempts.sides) > sides:
                return None
            _restore(ev, frame, saved)
        outcome = ev.run_once(frame, header, args, stops)
        if outcome.single is None or len(graph.nodes) > written or len(ev.attempts.sides) > sides:
            return None
        if header not in outcome.exits:
            return outcome
        args = outcome.exits[header][0]
    return None


def unroll_short(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks) -> Outcome | None:
    """The outcome of a `for` over a constant range whose iterations are at most UNROLL_OPERATORS operators altogether, written
    out: they become one kernel, and their gradient needs no tape. None for another loop.

    A caller that gets None must restore what was saved.
    """
    iterator = ev.read(frame, header.nodes[0].args[0]) if header.loop == "for" else None
    if not isinstance(iterator, range) or len(iterator) > UNROLL_OPERATORS or ev.tracer.remat:
        return None
    nodes = ev.tracer.graph.nodes
    written, sides, count = len(nodes), len(ev.attempts.sides), len(iterator)
    outcome = ev.run_once(frame, header, args, stops)
    iteration = nodes[written:]
    if list(outcome.exits) != [header] or len(iteration) * count > UNROLL_OPERATORS or len(ev.attempts.sides) > sides or \
            not all(_is_plain(node) for node in iteration):
        return None
    ev.reasons.append((header.origin.location,
                       f"the loop is unrolled: {count} iterations of {len(iteration)} operators are short"))
    return unroll(ev, frame, header, outcome.exits[header][0], stops)


def peel(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks, peeled: int) -> Outcome:
    """Execute the first iteration, and go on with the loop."""
    outcome = ev.run_once(frame, header, args, stops)
    if header not in outcome.exits:
        return outcome
    args = outcome.exits[header][0]

    def go_on():
        return run_loop(ev, frame, header, args, stops, peeled)
    return go_on() if outcome.single is not None else go_round_or_leave(ev, frame, header, outcome, go_on)


def _is_plain(node: CNode) -> bool:
    """True for an operator that only computes, and holds no graph."""
    return isinstance(node.fn, Primitive) and not node.fn.traits & {"effect", "control"} and \
        not any(isinstance(value, FuncGraph) for value in node.attrs.values())


def unroll(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks,
           because: Refusal | None = None) -> Outcome:
    """Execute the loop iteration by iteration; whether there is a next one must be known, unless `because` is None."""
    for _ in range(UNROLL_LIMIT):
        outcome = ev.run_once(frame, header, args, stops)
        if header not in outcome.exits:
            return outcome
        args = outcome.exits[header][0]
        if outcome.single is None:
            if because is not None:
                raise because
            return go_round_or_leave(ev, frame, header, outcome, lambda args=args: unroll(ev, frame, header, args,
                    stops))
    raise because or Refusal(f"a loop of more than {UNROLL_LIMIT} iterations cannot be unrolled",
                                      location=header.origin.location)


def write_loop(ev: Evaluating, frame: Frame, header: FuncGraph, args: Sequence[Value], stops: Blocks, may_peel: bool) -> Outcome:
    """The loop as one while_loop node: widen what it carries until one more iteration changes no type."""
    state = tuple(args)
    carried: dict = {}
    if header.loop == "for":
        state = (Varying(args[0], AbstractScalar(int)), *args[1:])     # the iteration's number is never a constant
    widened: set = set()
    for attempt in range(12):
        plan = Plan(ev, state, carried, widened, may_peel)
        body, outcome, after = plan.attempt(frame, header, stops)
        if attempt and isinstance(outcome, Raises) and isinstance(outcome.exception, MindliteError):
            raise CannotLoop(outcome.exception)              # only for all sizes: there was an iteration without it
        if isinstance(outcome, Raises) or header not in outcome.exits:       # it always leaves: no loop at all
            return ev.run_once(frame, header, args, stops)
        wider, wider_carried = plan.widen(outcome.exits[header][0], after, [p.name for p in header.parameters])
        if wider is None:
            return plan.emit(frame, header, stops, body, outcome, after)
        state, carried = wider, wider_carried
    raise CannotLoop(Refusal("the types of what a loop carries keep changing",
                                      location=header.origin.location))


class Plan:
    """One attempt at a loop: `state` (values of the header's parameters) and `carried` (store entries that the body
    changes).

    Leaves that are nodes or `Varying` numbers become parameters of the body; the rest is constant in the loop.
    widened: the Symbols of sizes that differ from iteration to iteration, which the attempts at a loop share
    may_peel: where a number is of another type after an iteration, the first iteration may be taken out of the loop
    """

    def __init__(self, ev: Evaluating, state: tuple, carried: dict, widened: set[Symbol], may_peel: bool = False) -> None:
        self.ev, self.state, self.carried, self.widened, self.may_peel = ev, state, carried, widened, may_peel
        self.plain, self.made_before = True, set(ev.objects.known)
        self.inits: list[tuple[Value, Abstract]] = []         # (initial value, abstract) per loop variable

    def enter(self, region: Region) -> tuple:
        """The state and the carried store entries as values inside `region`."""
        self.inits = []
        self.parameters: list = []

        def inside(value):
            if isinstance(value, Varying):
                initial, abstract = value.initial, value.abstract
            elif is_carried(value):
                initial, abstract = value, abstract_of(value)
            else:                                            # nobody can read a Conflict
                return value if isinstance(value, Conflict) else map_parts(inside, value)
            # a value that stands twice in the state need not be the same later: a variable each
            parameter = region.graph.add_parameter(f"s{len(self.parameters)}", abstract, self.ev.tracer.origin)
            self.inits.append(initial)
            self.parameters.append(parameter)
            return parameter
        state, carried = tuple(inside(v) for v in self.state), {k: inside(v) for k, v in self.carried.items()}
        newest = {v for key, v in carried.items() if isinstance(key, (AnfNode, Tensor))}
        for parameter, initial in zip(self.parameters, self.inits):
            if parameter not in newest:
                self.ev.tracer.choose(parameter, [initial])
        return state, carried

    def attempt(self, frame: Frame, header: FuncGraph, stops: Blocks) -> tuple:
        """Execute one iteration in a new region. `plain` is True for a loop that is left from its header only."""
        ev, end = self.ev, header.output
        self.plain = end.fn is syntax.switch and end.attrs["false"] in loop_exits(header)

        def body():
            try:
                if not self.plain:
                    self.begin(frame)
                    return ev.run_once(frame, header, self.inside, stops)
                sides = len(ev.attempts.sides)
                condition = self.test(frame, header)
                self.plain = not has_effects(ev.tracer.graph) and len(ev.attempts.sides) == sides
                if condition is False:
                    return Outcome({})
                return ev.run_block(frame, end.attrs["true"], ((), {}), stops)
            except InternalError:
                raise
            except MindliteError as error:
                if self.has_varying() or isinstance(error, AmbiguousTarget):
                    raise CannotLoop(error.at(ev.tracer.origin.location)) from error
                raise
        made = in_region(ev, frame, header.name, body)
        if self.plain and made[1].exits and list(made[1].exits) != [header]:
            self.plain = False
        if not self.plain:
            made = in_region(ev, frame, header.name, body)
        return made

    def begin(self, frame: Frame) -> None:
        """Make the parameters of an iteration, in the present region."""
        self.inside, self.inside_carried = self.enter(self.ev.tracer.region)
        self.ev.store.update(self.inside_carried)

    def test(self, frame: Frame, header: FuncGraph) -> Value:
        """Execute the header's nodes on fresh parameters; the truth of its condition."""
        self.begin(frame)
        self.ev.run_nodes(frame, header, self.inside)
        return truth(self.ev, self.ev.read(frame, header.output.args[0]))

    def has_varying(self) -> bool:
        """True if a number was made a run-time value: then an error may be due to that."""
        return any(isinstance(v, Varying) and not isinstance(v.initial, AnfNode)
                   for v in leaves((self.state, tuple(self.carried.values()))))

    def widen(self, back: tuple, after: dict, names: Sequence[str] = ()) -> tuple:
        """The (state, carried) that also cover the values at the end of the body, or (None, None) if these cover them already.

        back, after : the values of the header's parameters at the end, and the store then
        names       : of the variables whose values `back` holds
        raises      : CannotLoop; Peel
        """
        widening = Widening(self.ev, self.widened, self.plain, self.may_peel)
        try:
            state = tuple([self.widened_variable(widening, parts, name)
                           for parts, name in zip(zip(self.state, self.inside, back), (*names, *[""] * len(back)))])
            carried = self.widened_store(widening, after)
        except InternalError:
            raise
        except MindliteError as error:
            raise CannotLoop(error.at(self.ev.tracer.origin.location)) from error
        return (state, carried) if widening.changed else (None, None)

    def widened_variable(self, widening: Widening, parts: tuple, name: str) -> Value:
        """One variable of the state, wider."""
        try:
            return widening.join(*parts)
        except CannotLoop as reason:
            named(reason.error, name)
            raise

    def widened_store(self, widening: Widening, after: dict) -> dict:
        """The store entries that the body changes, wider; with those that it changes for the first time."""
        ev, carried = self.ev, {}
        for key, value in after.items():
            if ev.made_inside(key) or isinstance(key, Place) and ev.made_here(key.owner) \
                    and id(key.owner) not in self.made_before:
                continue                                      # an object made inside the body
            old = ev.read_place(key) if isinstance(key, Place) else ev.store.get(key, None if isinstance(key, Box) else key)
            if key not in self.carried:
                if value is not old:
                    carried[key] = widening.wider(old)
                continue
            try:
                carried[key] = widening.join(self.carried[key], self.inside_carried[key], value)
            except CannotLoop as reason:
                if isinstance(key, Box):
                    reason.error.statements = key.marks
                raise
        return carried

    def emit(self, frame: Frame, header: FuncGraph, stops: Blocks, body: Region, outcome: Outcome, after: dict) -> Outcome:
        """Write the while_loop for a state that no longer changes, then go on behind it."""
        values = self.next_values(outcome, header, after)
        self.refuse_aliases(header, body, after, values)
        write = self.emit_plain if self.plain else self.emit_general
        return write(frame, header, stops, body, outcome, after, values)

    def refuse_aliases(self, header: FuncGraph, body: Region, after: dict, values: list[AnfNode]) -> None:
        """A variable that one round leaves as a Tensor that each round assigns to is another name of it in the next.

        raises : CannotLoop
        """
        tracer, used = self.ev.tracer, {a for node in body.graph.nodes for a in node.args}
        for parameter, later in zip(self.parameters, values):
            if parameter in tracer.effects.ambiguous and parameter in used and later is not parameter \
                    and isinstance(later, (AnfNode, Tensor)) and tracer.root_of(later, after)[0] in self.inside_carried:
                raise CannotLoop(AmbiguousTarget("a variable of a loop is, from its second round on, another name of a "
                                                 "Tensor that is assigned to", location=header.origin.location))

    def next_values(self, outcome: Outcome, header: FuncGraph, after: dict) -> list:
        """The values of the loop's parameters for the next iteration, in order."""
        return flat_like(self.inside, outcome.exits[header][0]) + flat_like(
            tuple(self.inside_carried.values()), tuple(after[k] for k in self.inside_carried))

    def emit_plain(self, frame: Frame, header: FuncGraph, stops: Blocks, body: Region, outcome: Outcome, after: dict,
                   values: list[AnfNode]) -> Outcome:
        """while test: body. Behind it the header's nodes are executed once more, for what uses them."""
        ev, parameters, inside, inits = self.ev, self.parameters, self.inside, self.inits
        carried = self.inside_carried
        with writing(ev, body, after):
            body.graph.set_outputs([body.capture(convert(ev, v, p.abstract)) for v, p in zip(values, parameters, strict=True)],
                                   make_tuple)

        def test():
            condition = self.test(frame, header)
            with interpreting(ev.tracer):
                condition = ev.tracer.lift(condition)
                if isinstance(condition.abstract, AbstractTensor):
                    condition = tensor_to_scalar(condition)
                ev.tracer.graph.set_outputs([ev.tracer.region.capture(condition)], make_tuple)
            return Outcome({})
        region, _, _ = in_region(ev, frame, f"{header.name}.test", test)
        results = self.write(header, body, region, inits, parameters, [])
        self.inside, self.inside_carried, self.parameters = inside, carried, parameters
        self.remember_names(results, values)
        ev.run_nodes(frame, header, self.outside(results))
        return ev.run_block(frame, header.output.attrs["false"], ((), {}), stops)

    def emit_general(self, frame: Frame, header: FuncGraph, stops: Blocks, body: Region, outcome: Outcome, after: dict,
                     values: list[AnfNode]) -> Outcome:
        """A loop with several exits: its state also includes whether to go on, the
        number of the exit, and the values of that exit."""
        ev = self.ev
        targets = list(outcome.exits)
        number = targets.index(header)
        exits = {t: p for t, p in outcome.exits.items() if t is not header}
        merge = Merge(ev)
        ev.after = (after, after)
        left = {t: merge.only(p, 0) for t, p in exits.items()}
        if not exits:
            raise Refusal("the loop never ends", location=header.origin.location)
        outside = ev.tracer.region.symbols() if merge.slots else set()
        with writing(ev, body, after):
            outputs = [convert(ev, v, p.abstract) for v, p in zip(values, self.parameters, strict=True)]
            outputs += [convert(ev, value, abstract) for value, _, abstract in merge.slots]
            go_on = compare_numbers(ev, "==", outcome.code, number)
            flags = [convert(ev, go_on, AbstractScalar(bool)), ev.tracer.lift(outcome.code)]
            known = outside - self.widened
            sizes: dict = {}
            leaving = [own_sizes(a, known, sizes) for _, _, a in merge.slots]
            abstracts = [*leaving, AbstractScalar(bool), AbstractScalar(int)]
            extra = [body.graph.add_parameter(f"r{i}", a) for i, a in enumerate(abstracts)]
            body.graph.set_outputs([body.capture(x) for x in (*outputs, *flags)], make_tuple)
        region = Region(f"{header.name}.test", ev.tracer.region)
        tests = [region.graph.add_parameter(p.name, p.abstract) for p in (*self.parameters, *extra)]
        region.graph.set_outputs([tests[-2]], make_tuple)
        own = [*self.parameters, *extra]
        body.graph.parameters = own + [p for p in body.graph.parameters if p not in set(own)]
        results = self.write(header, body, region, self.inits, own, [*leaving, True, 0])
        slots = results[len(self.parameters):]
        self.remember_names(results, values)
        for (value, _, _), node in zip(merge.slots, slots):
            if value in self.parameters or ev.tracer.has_name(value):
                ev.tracer.choose(node, [value])
        self.outside(results)
        for box, content in merge.boxes:
            ev.store[box] = fill(content, slots)
        exits = {t: fill(p, slots) for t, p in left.items()}
        return Outcome(exits, without(ev, results[-1], number) if len(exits) > 1 else 0)

    def write(self, header: FuncGraph, body: Region, test: Region, inits: Sequence[Value], parameters: list[Parameter],
              extra: Sequence[Value]) -> list[CNode]:
        """Append the while_loop; its results."""
        ev = self.ev
        captured = align([body, test])
        with interpreting(ev.tracer), ev.tracer.at(header.origin):
            operands = [self.no_value(p.abstract) if isinstance(v, Undefined) and not ev.is_object(p) else
                        convert(ev, v, p.abstract) for v, p in zip(inits, parameters)]
            operands += [self.no_value(x) if isinstance(x, Abstract) else x for x in extra]
            if self.plain and any(isinstance(v, Undefined) and v is not NOTHING or isinstance(p.abstract, AbstractTensor)
                                  and type_of_state(v) in (bool, int, float) for v, p in zip(inits, parameters)):
                self.demand_a_turn(test, [*operands, *captured])
            return control_node(ev, while_prim, [*operands, *captured], [p.abstract for p in parameters],
                                 cond=test.graph, body=body.graph, invariants=len(captured),
                                 **({"remat": ev.tracer.remat} if ev.tracer.remat else {}))

    def no_value(self, abstract: Abstract) -> AnfNode:
        """A placeholder of this type before the first iteration. Sizes that the loop computes are those of its
        results; a gradient also gives this operand a cotangent, whose sizes differ."""
        return undefined_value(self.ev, own_sizes(abstract, self.ev.tracer.region.symbols() - self.widened, {}))

    def demand_a_turn(self, test: Region, operands: list[AnfNode]) -> None:
        """Require at least one iteration, else Python runs the call: for variables that are first
        assigned in the loop and read after it, and numbers that become Tensors."""
        tracer = self.ev.tracer
        entered, = inline(tracer.graph, test.graph, [tracer.lift(x) for x in operands])
        if isinstance(entered.abstract, AbstractTensor):
            entered = tensor_to_scalar(entered)
        location = tracer.origin.location

        def error():
            return NameLookupError("a loop without iterations leaves a variable as it was before", location=location)
        tracer.graph.add(check, entered, origin=tracer.origin, abstract=AbstractTuple(()), error=error, again=True)

    def remember_names(self, results: list[CNode], values: Sequence[AnfNode]) -> None:
        """Which results may be Tensors that have other names: by their first value, or by one of a later iteration."""
        ambiguous, has_name = self.ev.tracer.effects.ambiguous, self.ev.tracer.has_name
        for parameter, result, first, later in zip(self.parameters, results, self.inits, values):
            if parameter in ambiguous and (has_name(first) or later is not parameter and has_name(later)):
                self.ev.tracer.choose(result, [first, later])

    def outside(self, results: Sequence[AnfNode]) -> tuple:
        """The state behind the loop; the carried store entries are set."""
        replace = dict(zip(self.parameters, results))

        def value_of(value):
            return replace.get(value, value) if isinstance(value, AnfNode) else map_parts(value_of, value)
        for key, value in self.inside_carried.items():
            self.ev.tracer.renew(key, value_of(value))
        return tuple(value_of(v) for v in self.inside)
