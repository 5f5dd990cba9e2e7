"""Branches, loops, joins and recursion of inference: from jumps between blocks to `cond`, `while_loop` and `call`.

A switch on a run-time condition executes both sides in regions of their own, up to where they meet. What they hand on
(phis, return values, assigned Tensors, contents of lists) is merged leaf by leaf: equal constants stay constants, the
rest becomes results of the `cond`. Sides that leave differently (one returns, one goes on) also hand on a number that
says how they left, and what follows is executed once, under a `cond` on that number.
"""
import contextlib

from ..common import dtype as dt
from ..common.dim import Dim, Symbol, compare
from ..common.errors import DTypeError, GraphSyntaxError, MindliteError, ShapeError
from ..common.tensor import Tensor
from ..mindir.abstract import Abstract, AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.builder import constant
from ..mindir.control import call as call_prim, check as check_prim, cond as cond_prim, make_tuple, tuple_getitem, \
    undefined as undefined_prim, while_loop as while_prim
from ..mindir.graph import AnfNode, FuncGraph, ValueNode
from ..mindir.inline import inline
from ..mindir.primitive import interpreting
from ..mindir import syntax
from ..mindir.syntax import Undefined
from ..ops.basic import cast, reshape, scalar_to_tensor
from ..ops.scalar import scalar_binary, scalar_cast, scalar_compare, scalar_unary, tensor_to_scalar
from .outcome import BOTTOM, LazyException, NoResultYet, Outcome, Raises, Recursion, RETURN
from .region import Region, align
from .values import Box, Conflict, Range, has_nodes, rebuild

UNROLL_AT_MOST = 4           # iterations of a constant range that are cheaper written out than as a loop with a tape
UNROLL_LIMIT = 10_000


class CannotLoop(Exception):
    """The body cannot be written once for all iterations; the reason is an error to show if unrolling is impossible too."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error


# ---------------------------------------------------------------- truth

def truth(ev, value):
    """The truth value: a Python bool where it is known, else a node, bool or bool[]."""
    if isinstance(value, Tensor):
        value = ev.tracer.lift(value)
    if isinstance(value, Box):
        return len(ev.store[value]) > 0 if value.kind != "cell" else True
    if isinstance(value, Dim):
        return compare_numbers(ev, "!=", value, 0)
    if not isinstance(value, AnfNode):
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


# ---------------------------------------------------------------- merging

class Merge:
    """Collects the results of a branch: `slot(a, b)` promises a value that is `a` on one side and `b` on the other."""

    def __init__(self, ev):
        self.ev, self.slots, self.seen, self.boxes = ev, [], {}, []

    def value(self, a, b):
        """The merged value; run-time parts become placeholders `Slot`."""
        ev = self.ev
        if a is b:
            return a
        if isinstance(a, Conflict) or isinstance(b, Conflict):
            return a if isinstance(a, Conflict) else b
        if isinstance(a, Undefined) or isinstance(b, Undefined):
            return a if isinstance(a, Undefined) else b
        if _is_data(a) and _is_data(b):
            return self.data(a, b)
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return rebuild(a, [self.value(x, y) for x, y in zip(a, b)])
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            return {k: self.value(a[k], b[k]) for k in a}
        if isinstance(a, Box) and isinstance(b, Box) and a.kind == b.kind:
            left, right = ev.after[0].get(a), ev.after[1].get(b)
            if left is not None and right is not None and len(left) == len(right):
                box = Box(a.kind)
                self.boxes.append((box, self.value(tuple(left), tuple(right))))
                return box
        if isinstance(a, Range) and isinstance(b, Range):
            return Range(*[self.value(x, y) for x, y in zip((a.start, a.stop, a.step), (b.start, b.stop, b.step))])
        if type(a) is type(b) and not isinstance(a, (Box, tuple, dict)):
            try:
                if a == b:
                    return a
            except Exception as error:               # a user's own __eq__ may raise anything: then they are not known to be equal
                return Conflict(_conflict(a, b, ev, error))
        return Conflict(_conflict(a, b, ev))

    def data(self, a, b):
        """Two tensors or numbers."""
        if not isinstance(a, (AnfNode, Tensor, Dim)) and not isinstance(b, (AnfNode, Tensor, Dim)) \
                and type(a) is type(b) and (a == b and repr(a) == repr(b)):
            return a
        if isinstance(a, Dim) and a == b:
            return a
        try:
            abstract = join_abstracts(_abstract(a), _abstract(b))
        except MindliteError as error:
            return Conflict(error.at(self.ev.tracer.origin.location))
        return self.slot(a, b, abstract)

    def slot(self, a, b, abstract):
        """A result of the branch, `a` or `b` being None where that side has no value."""
        key = (_key(a), _key(b))
        if key not in self.seen:
            self.seen[key] = Slot(len(self.slots), abstract)
            self.slots.append((a, b, abstract))
        return self.seen[key]

    def only(self, value, side):
        """A value that only one side has (it is used only if that side was taken): its run-time parts become slots."""
        if isinstance(value, AnfNode) or isinstance(value, Tensor):
            if isinstance(value, Tensor) or self.ev.tracer.region.can_see(value):
                return value
            return self.slot(*((value, None) if side == 0 else (None, value)), _abstract(value))
        if isinstance(value, tuple):
            return rebuild(value, [self.only(v, side) for v in value])
        if isinstance(value, dict):
            return {k: self.only(v, side) for k, v in value.items()}
        if isinstance(value, Range):
            return Range(*[self.only(v, side) for v in (value.start, value.stop, value.step)])
        if isinstance(value, Box) and value not in self.ev.store and value in self.ev.after[side]:
            box = Box(value.kind)
            self.boxes.append((box, self.only(self.ev.after[side][value], side)))
            return box
        return value


class Slot:
    """Stands for result `number` of a branch until the node exists."""
    __slots__ = ("number", "abstract")

    def __init__(self, number, abstract):
        self.number, self.abstract = number, abstract


def fill(value, results):
    """`value` with Slots replaced by the nodes of the results."""
    if isinstance(value, Slot):
        return results[value.number]
    if isinstance(value, tuple):
        return rebuild(value, [fill(v, results) for v in value])
    if isinstance(value, dict):
        return {k: fill(v, results) for k, v in value.items()}
    if isinstance(value, Range):
        return Range(*[fill(v, results) for v in (value.start, value.stop, value.step)])
    return value


def _is_data(value):
    return isinstance(value, (AnfNode, Tensor, bool, int, float, Dim))


def _key(value):
    return ("const", type(value), repr(value)) if isinstance(value, (bool, int, float, Dim)) else id(value)


def _abstract(value):
    if isinstance(value, AnfNode):
        return value.abstract
    return AbstractScalar(type(value)) if isinstance(value, (bool, float)) else constant(value).abstract


def _conflict(a, b, ev, cause=None):
    def name(v):
        return "None" if v is None else str(v.abstract) if isinstance(v, AnfNode) else type(v).__name__
    error = GraphSyntaxError(f"a variable is {name(a)} on one path and {name(b)} on another, depending on a value that is "
                             "known at run time only", location=ev.tracer.origin.location,
                             hint="give it the same type and structure on both paths")
    error.__cause__ = cause
    return error


def join_abstracts(a, b, fresh=True):
    """The abstract that covers both: equal parts stay, differing sizes become a new Symbol.

    raises : DTypeError or ShapeError where they do not fit together
    """
    if a == b:
        return a
    if isinstance(a, AbstractScalar) and isinstance(b, AbstractScalar):
        order = [bool, int, float]
        kind = max(a.type, b.type, key=order.index)
        return AbstractScalar(kind, a.dim if kind is int and a.dim == b.dim else None)
    if isinstance(a, AbstractScalar) and isinstance(b, AbstractTensor):
        a, b = b, a
    if isinstance(a, AbstractTensor) and isinstance(b, AbstractScalar):
        b = AbstractTensor(dt.promote_scalar(a.dtype, b.type()), ())
    if not (isinstance(a, AbstractTensor) and isinstance(b, AbstractTensor)):
        raise DTypeError(f"{a} on one path and {b} on another do not fit together")
    if a.dtype is not b.dtype:
        raise DTypeError(f"a tensor is {a} on one path and {b} on another", hint="cast one to the other's dtype")
    if len(a.shape) != len(b.shape):
        raise ShapeError(f"a tensor is {a} on one path and {b} on another", hint="give both the same number of axes")
    return AbstractTensor(a.dtype, tuple(x if x == y else Symbol(lo=0).dim for x, y in zip(a.shape, b.shape)))


def convert(ev, value, abstract):
    """`value` as a node of the given abstract, in the present region."""
    node = ev.tracer.lift(value)
    have = node.abstract
    with interpreting(ev.tracer):
        if isinstance(abstract, AbstractScalar):
            if isinstance(have, AbstractScalar) and have.type is not abstract.type:
                return ev.tracer.lift(scalar_cast(node, type=abstract.type))
            return node
        if isinstance(have, AbstractScalar):
            return scalar_to_tensor(node, dtype=abstract.dtype)
        if isinstance(have, AbstractTensor) and have.dtype is not abstract.dtype:
            return cast(node, dtype=abstract.dtype)
    return node


def undefined_value(ev, abstract):
    """A node of that abstract whose value is never used."""
    with interpreting(ev.tracer):
        return undefined_prim(abstract=abstract)


# ---------------------------------------------------------------- branches

def in_region(ev, frame, name, body):
    """Execute `body()` in a new region with its own layer of values; returns (region, outcome, store after)."""
    region = Region(name, ev.tracer.region)
    before, store, env = ev.tracer.enter(region), ev.tracer.store, frame.env
    ev.tracer.store, frame.env = dict(store), env.new_child()
    try:
        try:
            outcome = body()
        except Raises as raised:
            outcome = raised
        except NoResultYet:
            outcome = Outcome({})
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
                  lambda: ev.run_block(frame, true, ((), {}), inner), lambda: ev.run_block(frame, false, ((), {}), inner),
                  (true.name, false.name))


def branch(ev, frame, condition, origin, true, false, names):
    """cond: execute both sides and merge how they end, what they return and what they changed."""
    sides = [in_region(ev, frame, name, body) for name, body in zip(names, (true, false))]
    ev.tracer.origin = origin
    outcomes = [side[1] for side in sides]
    raising = [isinstance(outcome, Raises) for outcome in outcomes]
    if any(raising):                                         # a check, then the other side in line (it may raise as well)
        check_instead(ev, condition, raising[1] and not raising[0], sides[raising.index(True)][0], outcomes[raising.index(True)])
        return (false if raising[0] else true)()
    if not outcomes[0].exits or not outcomes[1].exits:       # a recursion that has no result yet: go on with the other side
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
        old = ev.store.get(key, key)
        a, b = (side[2].get(key, old) for side in sides)
        if a is b or (isinstance(key, Box) and key not in ev.store):
            continue
        if a is not old or b is not old:
            changed[key] = merge.value(a, b)
    results = emit_cond(ev, condition, sides, merge, origin)
    for box, content in merge.boxes:
        ev.store[box] = fill(content, results)
    for key, value in changed.items():
        ev.store[key] = fill(value, results)
    return Outcome({target: fill(payload, results) for target, payload in exits.items()}, fill(code, results))


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
        return _control_node(ev, cond_prim, [condition, *operands], [s[2] for s in merge.slots],
                             true=regions[0].graph, false=regions[1].graph)


def _control_node(ev, prim, operands, abstracts, **attrs):
    """Append a control node with results of the given abstracts, and the tuple_getitems that read it."""
    tracer = ev.tracer
    node = tracer.graph.add(prim, *[tracer.lift(x) for x in operands], origin=tracer.origin,
                            abstract=AbstractTuple(tuple(abstracts)), **attrs)
    return [tracer.graph.add(tuple_getitem, node, index=i, origin=tracer.origin, abstract=a) for i, a in enumerate(abstracts)]


def has_effects(graph):
    """True if a node of the graph, or of one below it, must not be dropped."""
    return any("effect" in getattr(node.fn, "traits", ()) for g in graph.reachable() for node in g.nodes)


def continue_exits(ev, frame, outcome, stops):
    """Go on from an outcome with several exits: those that are not awaited outside are executed, each once, under its number."""
    while outcome.single is None:
        todo = next((t for t in outcome.exits if t != RETURN and t not in stops), None)
        if todo is None:
            return outcome
        payload = outcome.exits[todo]
        outcome = go_round_or_leave(ev, frame, todo, outcome, lambda todo=todo, payload=payload: ev.run_block(
            frame, todo, payload, stops))
    return outcome


# ---------------------------------------------------------------- raise

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
    with interpreting(ev.tracer):
        ev.tracer.graph.add(check_prim, ev.tracer.lift(condition), *[ev.tracer.lift(x) for x in operands],
                            origin=raised.origin or ev.tracer.origin, abstract=AbstractTuple(()), error=make)


def check_instead(ev, condition, holds, region, raised):
    """Where one side of a branch only raises: a check in its place. What the side computed for the message is inlined."""
    with interpreting(ev.tracer):
        condition = tensor_to_scalar(condition) if isinstance(condition.abstract, AbstractTensor) else condition
        condition = condition if holds else scalar_unary(condition, op="not")
        region.graph.set_outputs([region.capture(x) for x in raised.operands], make_tuple)
        captured = {p: node for node, p in region.captures.items()}
        operands = inline(ev.tracer.graph, region.graph, [ev.tracer.lift(captured[p]) for p in region.graph.parameters])
    write_check(ev, condition, raised, operands)


# ---------------------------------------------------------------- loops

def run_loop(ev, frame, header, args, stops):
    """A loop of the syntax graph: written once as a `while_loop`, or unrolled where that is impossible or does not pay."""
    stops = stops | {header} | loop_exits(header)
    saved = _save(ev, frame)
    trips = static_trips(ev, frame, header, args)
    if trips is not None:
        return unroll(ev, frame, header, args, stops)
    try:
        return write_loop(ev, frame, header, args, stops)
    except CannotLoop as reason:
        _restore(ev, frame, saved)
        ev.reasons.append((header.origin.location, f"the loop is unrolled: {reason.error.args[0]}"))
        return unroll(ev, frame, header, args, stops, reason.error)


def successors(block):
    """The blocks to which a block may go next."""
    end = block.output
    if end.fn is syntax.switch:
        return [end.attrs["true"], end.attrs["false"]]
    return [end.fn] if isinstance(end.fn, FuncGraph) else []


def loop_exits(header):
    """The blocks outside the natural loop of `header` to which its blocks go (Aho et al., section 9.6). Cached."""
    known = header.transforms.get("loop_exits")
    if known is not None:
        return known
    order, predecessors, todo = [], {header: []}, [header]
    while todo:
        block = todo.pop()
        order.append(block)
        for after in successors(block):
            if after not in predecessors:
                predecessors[after] = []
                todo.append(after)
            predecessors[after].append(block)
    inside, todo = {header}, list(predecessors[header])
    while todo:
        block = todo.pop()
        if block not in inside:
            inside.add(block)
            todo.extend(predecessors[block])
    known = header.transforms["loop_exits"] = frozenset(b for block in inside for b in successors(block) if b not in inside)
    return known


def live_into(block):
    """The syntax nodes that a block, or one after it, uses without defining them: what must outlive a region. Cached."""
    known = block.transforms.get("live_into")
    if known is not None:
        return known
    used, defined, seen, todo = {}, set(), {block}, [block]
    while todo:
        here = todo.pop()
        defined.update(here.parameters, here.nodes)
        for node in [*here.nodes, here.output]:
            used.update(dict.fromkeys(a for a in node.args if not isinstance(a, ValueNode)))
        for after in here.subgraphs():
            if after not in seen:
                seen.add(after)
                todo.append(after)
    known = block.transforms["live_into"] = tuple(n for n in used if n not in defined)
    return known


def leave_to(frame, block, args):
    """The payload of a jump that may end a region: the block's arguments, and the values that it uses freely."""
    lives = {} if getattr(block, "loop", None) else {n: frame.env.get(n, Undefined("a variable")) for n in live_into(block)}
    return tuple(args), lives


def arrive(frame, block, payload):
    """Bind the payload of `leave_to`."""
    args, lives = payload
    frame.env.update(zip(block.parameters, args))
    frame.env.update((node, value) for node, value in lives.items() if not isinstance(value, Undefined))


def _save(ev, frame):
    graph = ev.tracer.graph
    return dict(ev.tracer.store), len(graph.nodes), dict(ev.tracer.region.captures), list(graph.parameters), dict(frame.env.maps[0])


def _restore(ev, frame, saved):
    store, nodes, captures, parameters, env = saved
    ev.tracer.store = store
    graph = ev.tracer.graph
    del graph.nodes[nodes:]
    kept = [p for p in graph.parameters if p not in parameters and p.default is not None]
    ev.tracer.region.captures, graph.parameters = captures, parameters + kept
    frame.env.maps[0] = env


def static_trips(ev, frame, header, args):
    """How often a `for` runs, where that is known and it must or should be unrolled; None for a loop to write once."""
    if header.loop != "for":
        return None
    more = header.nodes[0]
    iterator = ev.read(frame, more.args[0]) if header.nodes else None
    if isinstance(iterator, range):
        return len(iterator) if len(iterator) <= UNROLL_AT_MOST else None
    if isinstance(iterator, tuple):
        return 0
    return None


def unroll(ev, frame, header, args, stops, because=None):
    """Execute the loop iteration by iteration; whether there is a next one must be known, unless `because` is None."""
    for _ in range(UNROLL_LIMIT):
        outcome = ev.run_once(frame, header, args, stops)
        if header not in outcome.exits:
            return outcome
        args = outcome.exits[header][0]
        if outcome.single is None:
            if because is not None:
                raise because
            return go_round_or_leave(ev, frame, header, outcome, lambda args=args: unroll(ev, frame, header, args, stops))
    raise because or GraphSyntaxError(f"a loop of more than {UNROLL_LIMIT} iterations cannot be unrolled",
                                      location=header.origin.location)


def go_round_or_leave(ev, frame, target, outcome, go_on):
    """An outcome of several exits, one of which (`target`) goes on here: a branch on the exit's number."""
    targets = list(outcome.exits)
    number, code = targets.index(target), outcome.code
    rest = {t: p for t, p in outcome.exits.items() if t is not target}

    def remaining():
        return Outcome(rest, without(ev, code, number) if len(rest) > 1 else 0)
    return branch(ev, frame, compare_numbers(ev, "==", code, number), ev.tracer.origin, go_on, remaining, (target.name, "left"))


def without(ev, code, number):
    """The number of an exit after exit `number` is taken out of the list."""
    with interpreting(ev.tracer):
        return scalar_binary(code, scalar_cast(scalar_compare(code, number, op=">"), type=int), op="-")


def write_loop(ev, frame, header, args, stops):
    """The loop as one while_loop node: widen what it carries until one more iteration changes no type."""
    state, carried = list(args), {}
    if header.loop == "for":
        state[0] = Varying(args[0], AbstractScalar(int))     # the iteration's number is never a constant
    state = tuple(state)
    for _ in range(12):
        plan = Plan(ev, state, carried)
        body, outcome, after = plan.attempt(frame, header, stops)
        if isinstance(outcome, Raises) or header not in outcome.exits:       # it always leaves: no loop at all
            return ev.run_once(frame, header, args, stops)
        wider, wider_carried = plan.widen(outcome.exits[header][0], after)
        if wider is None:
            return plan.emit(frame, header, stops, body, outcome, after)
        state, carried = wider, wider_carried
    raise CannotLoop(GraphSyntaxError("the types of what a loop carries keep changing", location=header.origin.location))


class Plan:
    """One attempt at a loop: `state` (values of the header's parameters) and `carried` (store entries that the body changes).

    Leaves that are nodes or `Varying` numbers become parameters of the body; the rest is constant in the loop.
    """

    def __init__(self, ev, state, carried):
        self.ev, self.state, self.carried = ev, state, carried
        self.inits = []                                       # (initial value, abstract) per loop variable

    def enter(self, region):
        """The state and the carried store entries as values inside `region`."""
        self.inits, self.parameters, seen = [], [], {}

        def inside(value):
            if isinstance(value, Varying):
                key = id(value)
                initial, abstract = value.initial, value.abstract
            elif isinstance(value, (AnfNode, Tensor)) and not isinstance(value, ValueNode):
                key, initial, abstract = id(value), value, _abstract(value)
            elif isinstance(value, tuple):
                return rebuild(value, [inside(v) for v in value])
            elif isinstance(value, dict):
                return {k: inside(v) for k, v in value.items()}
            elif isinstance(value, Range):
                return Range(*[inside(v) for v in (value.start, value.stop, value.step)])
            else:
                return value
            if key not in seen or isinstance(value, Varying):
                parameter = region.graph.add_parameter(f"s{len(self.parameters)}", abstract, self.ev.tracer.origin)
                self.inits.append(initial)
                self.parameters.append(parameter)
                seen[key] = parameter
                return parameter
            # the same value twice at the start need not be the same later: a variable of its own
            parameter = region.graph.add_parameter(f"s{len(self.parameters)}", abstract, self.ev.tracer.origin)
            self.inits.append(initial)
            self.parameters.append(parameter)
            return parameter
        return tuple(inside(v) for v in self.state), {key: inside(value) for key, value in self.carried.items()}

    def attempt(self, frame, header, stops):
        """Execute one iteration in a new region. `plain` is True for a loop that is left from its header only."""
        ev, end = self.ev, header.output
        self.plain = end.fn is syntax.switch and end.attrs["false"] in loop_exits(header)

        def body():
            try:
                if not self.plain:
                    self.begin(frame)
                    return ev.run_once(frame, header, self.inside, stops)
                condition = self.test(frame, header)
                self.plain = not has_effects(ev.tracer.graph)
                if condition is False:
                    return Outcome({})
                return ev.run_block(frame, end.attrs["true"], ((), {}), stops)
            except MindliteError as error:
                if self.has_varying():
                    raise CannotLoop(error.at(ev.tracer.origin.location)) from error
                raise
        made = in_region(ev, frame, header.name, body)
        if self.plain and made[1].exits and list(made[1].exits) != [header]:
            self.plain = False
        if not self.plain:
            made = in_region(ev, frame, header.name, body)
        return made

    def begin(self, frame):
        """Make the parameters of an iteration, in the present region."""
        self.inside, self.inside_carried = self.enter(self.ev.tracer.region)
        self.ev.store.update(self.inside_carried)

    def test(self, frame, header):
        """Execute the header's nodes on fresh parameters; the truth of its condition."""
        self.begin(frame)
        self.ev.run_nodes(frame, header, self.inside)
        return truth(self.ev, self.ev.read(frame, header.output.args[0]))

    def has_varying(self):
        """True if a number was made a run-time value: then an error may be due to that."""
        return any(isinstance(v, Varying) and not isinstance(v.initial, AnfNode) for v in _flat((self.state, self.carried)))

    def widen(self, back, after):
        """The state that also covers the values at the end of the body, or None if it covers them already."""
        changed = False

        def join(outer, inner, new):
            nonlocal changed
            if isinstance(inner, Box) and inner is new:
                return outer
            if isinstance(outer, (Varying, AnfNode, Tensor)) or _is_data(outer):
                initial = outer.initial if isinstance(outer, Varying) else outer
                have = outer.abstract if isinstance(outer, Varying) else None
                if not _is_data(new):
                    raise CannotLoop(_conflict(outer if not isinstance(outer, Varying) else initial, new, self.ev))
                if new is inner:
                    return outer
                if have is None and not isinstance(outer, (AnfNode, Tensor)):
                    if type(new) is type(outer) and new == outer:
                        return outer
                    changed = True
                    return Varying(initial, _widen(_abstract(initial), _abstract(new)))
                have = have or _abstract(outer)
                wide = _widen(have, _abstract(new))
                if wide == have:
                    return outer
                changed = True
                return Varying(initial, wide)
            if isinstance(outer, tuple) and isinstance(new, tuple) and len(outer) == len(new):
                return rebuild(outer, [join(*items) for items in zip(outer, inner, new)])
            if isinstance(outer, dict) and isinstance(new, dict) and outer.keys() == new.keys():
                return {k: join(outer[k], inner[k], new[k]) for k in outer}
            if isinstance(outer, Range) and isinstance(new, Range):
                return Range(*[join(getattr(outer, f), getattr(inner, f), getattr(new, f)) for f in ("start", "stop", "step")])
            if isinstance(outer, Undefined) and _is_data(new):        # first assigned inside: no value before
                changed = True
                return Varying(outer, _abstract(new))
            if isinstance(outer, Undefined) or isinstance(new, Undefined):
                return outer if isinstance(outer, Undefined) else new
            if outer is new or (type(outer) is type(new) and not isinstance(outer, (Box, tuple, dict)) and outer == new):
                return outer
            raise CannotLoop(_conflict(outer, new, self.ev))

        try:
            state = tuple(join(*items) for items in zip(self.state, self.inside, back))
            carried = {}
            for key, value in after.items():
                if isinstance(key, Box) and key not in self.ev.store:
                    continue                                  # made inside the body
                old = self.ev.store.get(key, key if not isinstance(key, Box) else None)
                if key in self.carried:
                    carried[key] = join(self.carried[key], self.inside_carried[key], value)
                elif value is not old:
                    carried[key] = old
                    changed = True
        except MindliteError as error:
            raise CannotLoop(error.at(self.ev.tracer.origin.location)) from error
        return (state, carried) if changed else (None, None)

    def emit(self, frame, header, stops, body, outcome, after):
        """Write the while_loop for a state that no longer changes, then go on behind it."""
        ev, values = self.ev, self.next_values(outcome, header, after)
        write = self.emit_plain if self.plain else self.emit_general
        return write(frame, header, stops, body, outcome, after, values)

    def next_values(self, outcome, header, after):
        """The values of the loop's parameters for the next iteration, in order."""
        return _flat_like(self.inside, outcome.exits[header][0]) + _flat_like(
            tuple(self.inside_carried.values()), tuple(after[k] for k in self.inside_carried))

    def emit_plain(self, frame, header, stops, body, outcome, after, values):
        """while test: body. Behind it the header's nodes are executed once more, for what uses them."""
        ev, parameters, inside, inits = self.ev, self.parameters, self.inside, self.inits
        carried = self.inside_carried
        with writing(ev, body, after):
            body.graph.set_outputs([body.capture(convert(ev, v, p.abstract)) for v, p in zip(values, parameters)], make_tuple)

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
        values = self.outside(results)
        ev.run_nodes(frame, header, values)
        return ev.run_block(frame, header.output.attrs["false"], ((), {}), stops)

    def emit_general(self, frame, header, stops, body, outcome, after, values):
        """A loop that is left in several ways: it also carries whether to go on, which way it is left, and what then leaves."""
        ev = self.ev
        targets = list(outcome.exits)
        number = targets.index(header)
        exits = {t: p for t, p in outcome.exits.items() if t is not header}
        merge = Merge(ev)
        ev.after = (after, after)
        left = {t: merge.only(p, 0) for t, p in exits.items()}
        if not exits:
            raise GraphSyntaxError("the loop never ends", location=header.origin.location)
        with writing(ev, body, after):
            outputs = [convert(ev, v, p.abstract) for v, p in zip(values, self.parameters)]
            outputs += [convert(ev, value, abstract) for value, _, abstract in merge.slots]
            go_on = compare_numbers(ev, "==", outcome.code, number)
            flags = [convert(ev, go_on, AbstractScalar(bool)), ev.tracer.lift(outcome.code)]
            abstracts = [a for _, _, a in merge.slots] + [AbstractScalar(bool), AbstractScalar(int)]
            extra = [body.graph.add_parameter(f"r{i}", a) for i, a in enumerate(abstracts)]
            body.graph.set_outputs([body.capture(x) for x in (*outputs, *flags)], make_tuple)
        region = Region(f"{header.name}.test", ev.tracer.region)
        tests = [region.graph.add_parameter(p.name, p.abstract) for p in (*self.parameters, *extra)]
        region.graph.set_outputs([tests[-2]], make_tuple)
        own = [*self.parameters, *extra]
        body.graph.parameters = own + [p for p in body.graph.parameters if p not in set(own)]
        results = self.write(header, body, region, self.inits, own, [*(a for _, _, a in merge.slots), True, 0])
        slots = results[len(self.parameters):]
        self.outside(results)
        for box, content in merge.boxes:
            ev.store[box] = fill(content, slots)
        exits = {t: fill(p, slots) for t, p in left.items()}
        return Outcome(exits, without(ev, results[-1], number) if len(exits) > 1 else 0)

    def write(self, header, body, test, inits, parameters, extra):
        """Append the while_loop; its results."""
        ev = self.ev
        captured = align([body, test])
        with interpreting(ev.tracer), ev.tracer.at(header.origin):
            operands = [undefined_value(ev, p.abstract) if isinstance(v, Undefined) else convert(ev, v, p.abstract)
                        for v, p in zip(inits, parameters)]
            operands += [undefined_value(ev, x) if isinstance(x, Abstract) else x for x in extra]
            return _control_node(ev, while_prim, [*operands, *captured], [p.abstract for p in parameters],
                                 cond=test.graph, body=body.graph, invariants=len(captured))

    def outside(self, results):
        """The state behind the loop; the carried store entries are set."""
        replace = dict(zip(self.parameters, results))

        def value_of(value):
            if isinstance(value, AnfNode):
                return replace.get(value, value)
            if isinstance(value, tuple):
                return rebuild(value, [value_of(v) for v in value])
            if isinstance(value, dict):
                return {k: value_of(v) for k, v in value.items()}
            if isinstance(value, Range):
                return Range(*[value_of(v) for v in (value.start, value.stop, value.step)])
            return value
        for key, value in self.inside_carried.items():
            self.ev.store[key] = value_of(value)
        return tuple(value_of(v) for v in self.inside)


@contextlib.contextmanager
def writing(ev, region, store):
    """Write into `region`, under the store that held at its end."""
    before, outside = ev.tracer.enter(region), ev.tracer.store
    ev.tracer.store = store
    try:
        with interpreting(ev.tracer):
            yield
    finally:
        ev.tracer.store = outside
        ev.tracer.enter(before)


class Varying:
    """A leaf of a loop's state that is a run-time value of `abstract` inside, and `initial` before."""
    __slots__ = ("initial", "abstract")

    def __init__(self, initial, abstract):
        self.initial, self.abstract = initial, abstract


def _flat(value, found=None):
    found = [] if found is None else found
    if isinstance(value, (tuple, list)):
        for v in value:
            _flat(v, found)
    elif isinstance(value, dict):
        for v in value.values():
            _flat(v, found)
    else:
        found.append(value)
    return found


def _flat_like(inside, value, found=None):
    """The parts of `value` that stand where `inside` has loop parameters, in order."""
    found = [] if found is None else found
    if isinstance(inside, AnfNode) and not isinstance(inside, ValueNode):
        found.append(value)
    elif isinstance(inside, tuple):
        for a, b in zip(inside, value):
            _flat_like(a, b, found)
    elif isinstance(inside, dict):
        for k in inside:
            _flat_like(inside[k], value[k], found)
    elif isinstance(inside, Range):
        for f in ("start", "stop", "step"):
            _flat_like(getattr(inside, f), getattr(value, f), found)
    return found


def _widen(have, new):
    """join_abstracts for loops: a size that already is a Symbol of its own stays one."""
    if isinstance(have, AbstractScalar) and isinstance(new, AbstractScalar):
        kind = max(have.type, new.type, key=[bool, int, float].index)
        return AbstractScalar(kind) if have != AbstractScalar(kind) else have
    if isinstance(have, AbstractTensor) and isinstance(new, AbstractTensor) and have.dtype is new.dtype \
            and len(have.shape) == len(new.shape):
        shape = tuple(h if h == n or _is_free(h) else Symbol(lo=0).dim for h, n in zip(have.shape, new.shape))
        return have if shape == have.shape else AbstractTensor(have.dtype, shape)
    return join_abstracts(have, new)


def _is_free(size):
    """True for a size that is one Symbol made by widening."""
    return isinstance(size, Dim) and len(size.terms) == 1 and any(
        isinstance(atom, Symbol) and atom.name.startswith("s") and atom.lo == 0 for monomial in size.terms for atom, _ in monomial)


# ---------------------------------------------------------------- recursion

class RecursiveCall:
    """A function that is being written as a graph of its own: state of its arguments, its graph, its result so far."""

    def __init__(self, state, region):
        self.state, self.region, self.result, self.calls, self.captured = state, region, BOTTOM, 0, []


def call_recursive(ev, key, enter, values):
    """A call that cannot be inlined: to a graph of its own, which may call itself."""
    active = ev.recursive.get(key)
    if active is not None:
        return _call_again(ev, active, values)
    if any(k == key for k, _ in ev.calls):
        raise Recursion(key)
    state, result, captured = tuple(values), BOTTOM, []
    for _ in range(12):
        region = Region(key[0].name, ev.tracer.region)
        plan = Plan(ev, state, {})
        active = RecursiveCall(plan, region)
        active.result, active.captured = result, captured
        ev.recursive[key] = active
        before, store = ev.tracer.enter(region), ev.tracer.store
        ev.tracer.store = dict(store)
        try:
            plan.inside, _ = plan.enter(region)
            for node in captured:
                region.capture(node)
            returned = enter(list(plan.inside))
            changed = {k: v for k, v in ev.tracer.store.items() if not isinstance(k, Box) and store.get(k, k) is not v}
            if changed:
                raise GraphSyntaxError(f"{key[0].name}: a recursive function that assigns to Tensors cannot be a graph")
            wider, _ = active.wider if getattr(active, "wider", None) else (None, None)
            if wider is None:
                flat = [convert(ev, v, _abstract(v)) for v in _data_leaves(returned)]
                shape = _pattern(returned)
                abstracts = [n.abstract for n in flat]
                if result is not BOTTOM:
                    if shape != result[0]:
                        raise GraphSyntaxError(f"{key[0].name}: the recursion's results have different structures")
                    abstracts = [_widen(a, b) for a, b in zip(result[1], abstracts)]
                new = (shape, abstracts)
                region.graph.set_outputs([region.capture(convert(ev, n, a)) for n, a in zip(flat, abstracts)], make_tuple)
        finally:
            ev.tracer.store = store
            ev.tracer.enter(before)
            del ev.recursive[key]
        if wider is not None:
            state = wider
            continue
        outer = list(region.captures)
        if result is not BOTTOM and new[1] == result[1] and outer == captured:
            operands = [*plan.inits, *outer]
            inits = [convert(ev, v, p.abstract) for v, p in zip(plan.inits, plan.parameters)]
            operands = [*inits, *outer]
            with interpreting(ev.tracer):
                results = _control_node(ev, call_prim, operands, new[1], graph=region.graph)
            return _unpattern(new[0], results)
        result, captured = new, outer
    raise GraphSyntaxError(f"{key[0].name}: the types of the recursion keep changing", location=ev.tracer.origin.location)


def _call_again(ev, active, values):
    plan = active.state
    try:
        wider, _ = plan.widen(tuple(values), {})
    except CannotLoop as reason:
        raise reason.error from None
    if wider is not None:
        active.wider = (wider, None)
        return BOTTOM if active.result is BOTTOM else _unpattern(active.result[0], [
            undefined_value(ev, a) for a in active.result[1]])
    if active.result is BOTTOM:
        raise NoResultYet()
    operands = [convert(ev, v, p.abstract) for v, p in zip(_flat_like(plan.inside, tuple(values)), plan.parameters)]
    operands += [active.region.captures[node] for node in active.captured]
    with interpreting(ev.tracer):
        results = _control_node(ev, call_prim, operands, active.result[1], graph=active.region.graph)
    return _unpattern(active.result[0], results)


def _data_leaves(value, found=None):
    found = [] if found is None else found
    if _is_data(value):
        found.append(value)
    elif isinstance(value, tuple):
        for v in value:
            _data_leaves(v, found)
    return found


def _pattern(value):
    return tuple(_pattern(v) for v in value) if isinstance(value, tuple) else "*" if _is_data(value) else ("const", value)


def _unpattern(pattern, results):
    results = iter(results)

    def build(p):
        if p == "*":
            return next(results)
        if isinstance(p, tuple) and len(p) == 2 and p[0] == "const":
            return p[1]
        return tuple(build(x) for x in p)
    return build(pattern)
