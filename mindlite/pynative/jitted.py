"""A compiled function called while a gradient is being made: one entry on the tape.

    f compiled:  a = tanh(x); out = a * y         recorded:   x, y -> out, a         backward:  y, a, dout -> dx, dy

The joint graph of value and gradient (ad) is parted where the cotangents come in: what the gradient reads of the first
part becomes a further result of it. Where that is no array (the tape of a loop), or gradients of gradients are being
made, the backward computes the values again from the inputs (Griewank & Walther 2008, chapter 12). Sizes that are Symbols
in the variant are Symbols in both parts: two Flows for all sizes.
"""
import dataclasses
import functools
import time

from ..ad import vjp_graph
from ..ad.activity import is_differentiable
from ..common.config import config
from ..common.dim import lone_symbol
from ..common.errors import Passed, Refusal, Stage, for_user, user_location
from ..common.events import emit, is_heard
from ..common.locks import new_lock
from ..common.recent import Recent
from ..common.storage import copied, may_share
from ..common.tensor import Tensor
from ..common.threads import here
from ..common.trees import Tree
from ..compile.call_plan import function_plan
from ..compile.executable import Executable, as_raised
from ..compile.lower import lower
from ..compile.passes import DERIVED, PIPELINE, RECORDED, Wanted, derive_graph
from ..compile.pipeline import update_targets
from ..compile.plain_call import meets_hooks, run
from ..compile.signature import arguments_of, lying
from ..fallback.log import Log, Trap, logging_to
from ..infer.results import HookOn, Result
from ..infer.specialise import specialise
from ..infer.values import Place
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTensor, symbols_of_abstract
from ..mindir.builder import constant
from ..mindir.control import check, gate, make_tuple, segment
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.inline import drop_dead_nodes, inline, symbols_used
from ..optim import optimise
from .operation import Backward, backward_of_graph
from .tape import paused

MAX_PLANS = 32                   # of one variant, each for the Parameters that Python code in it may read
_lock = new_lock()


def call_compiled(jit_function, args, kwargs):
    """jit_function(*args, **kwargs), recorded where a gradient is being made; errors get a location: the caller's."""
    start = time.perf_counter() if is_heard() else None
    try:
        if here.state.tapes:
            return call_recorded(jit_function, args, kwargs)
        return jit_function.call(args, kwargs)
    except Passed as passed:
        error = passed.error
    except Exception as raised:
        error = as_raised(raised)
    finally:
        if start is not None:
            emit("graph_call", name=jit_function.name, seconds=time.perf_counter() - start)
    raise for_user(error)


def call_recorded(jit_function, args, kwargs):
    """jit_function(*args, **kwargs) under a tape: compiled, with its own backward."""
    try:
        variant, leaves, signature = jit_function.select(args, kwargs)
        if variant is None:
            return jit_function.run_refused(signature, args, kwargs)
        if meets_hooks(variant.plan, leaves):
            return jit_function.run_with_hooks(args, kwargs)
        return run_recorded(jit_function, variant, leaves, signature, args, kwargs)
    except Passed:
        raise
    except Refusal as refusal:                               # for these sizes there is no graph
        if jit_function.fullgraph:
            raise
        value = jit_function.python(args, kwargs)
        if refusal.certain:
            jit_function.note_second_run(refusal)
        return value
    except Exception as error:
        return jit_function.decide(error, args, kwargs)


def run_recorded(jit_function, variant, leaves, signature, args, kwargs):
    """The call of a variant, as one entry on the tape."""
    values = (*leaves, *[held.tensor for held in variant.plan.held])
    if any([isinstance(x, Tensor) and x.placement is not None for x in values]):
        return in_eager_mode(jit_function, args, kwargs)     # its gradients lie where eager mode makes them
    if any([type(x) is Tree for x in values]):
        raise Refusal("a gradient taken in eager mode of a function whose argument is a tree (jit what takes the gradient)", None,
                      user_location())
    if not variant.calls_python:
        plan = plan_of(variant, jit_function, signature, args, kwargs, ())
        if not plan.has_hooks or plan.takes_hooks(leaves, jit_function):
            try:
                return plan.run(leaves)
            except Trap as trap:                             # a path on which nothing is known, of a run without Python code
                return jit_function.decide(trap, args, kwargs, Log())
        return in_eager_mode(jit_function, args, kwargs)
    weights: dict = {id(t): t for tape in here.state.tapes for t, number in tape.named.values() if number is not None}
    plan = plan_of(variant, jit_function, signature, args, kwargs, tuple(weights.values()))
    log = Log(outside=[tape for tape in here.state.tapes if not (plan.seeds and plan.watched(tape, plan.inputs(leaves)))])
    if plan.has_hooks and not plan.takes_hooks(leaves, jit_function):
        return in_eager_mode(jit_function, args, kwargs)
    if plan.can_be_parted(leaves):
        try:
            with logging_to(log):
                return plan.run(leaves)
        except Trap as trap:
            return jit_function.decide(trap, args, kwargs, log)
    return in_eager_mode(jit_function, args, kwargs)


def in_eager_mode(jit_function, args, kwargs):
    """The call in Python: its operators go on the tapes."""
    emit("jit_recorded_in_python", name=jit_function.name)
    return jit_function.python(args, kwargs)


def plan_of(variant, jit_function, signature, args, kwargs, weights):
    """The Plan of a variant; the last MAX_PLANS are remembered. weights: Parameters that Python code in it may read"""
    plans, key = variant.__dict__.setdefault("recorded", Recent()), tuple([id(w) for w in weights])
    plan = plans.get(key)
    if plan is None:
        with _lock:
            plan = plans.get(key)
            if plan is None:
                with Stage("record", user_location):
                    plan = Plan(variant, jit_function, signature, args, kwargs, weights)
                plans.put(key, plan, MAX_PLANS)              # a tape that a forgotten one is on holds it
    return plan


class Plan:
    """How a variant is recorded: its graph, whose sizes may be Symbols, and the Backward for each choice of watched inputs."""

    def __init__(self, variant, jit_function, signature, args, kwargs, weights):
        self.variant, self.name = variant, jit_function.name
        compiled = variant.compiled.full
        self.specialised, self.graph = compiled.specialised, compiled.stages["transform"]
        self.weights = weights                              # they stay alive: their ids are a key
        if weights:                                         # what Python code reads of them is a gradient too: infer again
            inside, named = arguments_of(variant.signature, args, kwargs)
            self.specialised = specialise(jit_function.function, inside, named, jit_function.name, jit_function.fullgraph,
                                          jit_function.fallbacks, signature in jit_function.pure, weights,
                                          variant.plan.places)
            self.graph = derive_graph(self.specialised.graph)
        self.updates = dict((number, owner) for owner, number in self.specialised.updates)
        results = results_in([self.specialised.output, *[content for _, content in self.specialised.changes]])
        self.seeds = tuple([i for i, node in enumerate(self.graph.outputs) if is_differentiable(node.abstract)
                            and (i in self.updates or results.get(i) is None and i in results)])
        self.made, self.refused = {}, None                  # refused: why a derivative is no graph

    def inputs(self, leaves):
        """The values of the graph's parameters."""
        arguments = iter(leaves)
        return [p.default if p.default is not None else next(arguments) for p in self.graph.parameters]

    def watched(self, tape, values):
        """Numbers of the parameters whose values (these) are watched by a tape."""
        return tuple([i for i, (p, x) in enumerate(zip(self.graph.parameters, values)) if isinstance(x, Tensor)
                      and tape.number(x) is not None and is_differentiable(p.abstract)])

    @functools.cached_property
    def has_hooks(self):
        """True if gradients pass hooks."""
        return any(node.fn is gate for graph in self.graph.reachable() for node in graph.nodes)

    @functools.cached_property
    def hooks_call_python(self):
        """True if a hook on a gradient is called by Python, where no other code is."""
        return not self.variant.calls_python and any(
            node.fn is segment for graph in self.graph.reachable() for node in graph.nodes)

    def takes_hooks(self, leaves, jit_function):
        """True unless the hooks have to be those of eager mode: the data decides whether they are called, or to compute
        values again would call them twice."""
        values = self.inputs(leaves)
        active: list = [wrt for wrt in [self.watched(tape, values) for tape in here.state.tapes] if wrt and self.seeds]
        if len(active) > 1 and self.hooks_call_python:
            return False
        try:
            for wrt in () if self.refused is not None else active:
                (self.parted if len(active) == 1 else self.again)(wrt)
        except Refusal as error:
            self.refused = error
        if self.refused is not None and active:
            if jit_function.fullgraph:
                raise self.refused
            jit_function.note_second_run(self.refused)
        return self.refused is None or not active

    def can_be_parted(self, leaves):
        """False where Python code would have to run twice: in a loop, whose tape is no value, or for several tapes."""
        watched: list = [self.watched(tape, self.inputs(leaves)) for tape in here.state.tapes]
        active = [wrt for wrt in watched if wrt and self.seeds]
        return not active or len(active) == 1 and self.parted(active[0])[0] is not None

    def run(self, leaves):
        """Run and record; gives the function's value."""
        inputs = self.inputs(leaves)
        targets = {n: leaves[owner] if isinstance(owner, int) else owner for n, owner in self.updates.items()}
        before = list(inputs)
        for target in targets.values():
            for tape in here.state.tapes:
                tape.protect(target.elements, here.state.tapes)
            for i, value in enumerate(inputs):              # the backward reads the value before the update
                if value is target or (isinstance(value, Tensor) and may_share(value.elements, target.elements)):
                    before[i] = Tensor.of_elements(copied(value.elements))
                    for tape in here.state.tapes:
                        tape.set_number(before[i], tape.number(value))
        watching = []
        for tape in here.state.tapes:
            numbers = [tape.number(value) if isinstance(value, Tensor) else None for value in before]
            watching.append((tape, numbers, self.watched(tape, before)))
        active = [wrt for _, _, wrt in watching if wrt and self.seeds]
        if not active:
            value, extra = self.variant.run(leaves), ()
        elif len(active) == 1:
            forward, backward = self.parted(active[0])
            with paused():
                value, extra = run(forward, leaves) if forward is not None else (self.variant.run(leaves), ())
        else:
            value, extra = self.variant.run(leaves), ()
        outs = [None] * len(self.graph.outputs)
        collect(self.specialised.output, value, outs)
        for target, content in self.specialised.changes:
            if results_in(content) and not isinstance(target, HookOn):
                collect(content, target.read() if isinstance(target, Place) else leaves.containers[target], outs)
        for number, target in targets.items():
            outs[number] = target
            for tape in here.state.tapes:
                tape.set_number(target, None)
        for tape, numbers, wrt in watching:
            if not wrt or not self.seeds:
                continue
            if len(active) > 1:
                backward = self.again(wrt)
            saved = [{"in": before, "out": outs, "extra": extra}[kind][i] for kind, i in backward.saved]
            tape.append(backward, [numbers[i] for i in backward.wrt], outs, saved)
        return value

    def again(self, wrt):
        """The Backward that computes values again."""
        key = "again", wrt
        if key not in self.made:
            self.made[key] = backward_of_graph(self.graph, wrt, self.seeds)
            emit("backward_graph_build", name=self.name)
        else:
            emit("backward_graph_reuse", name=self.name)
        return self.made[key]

    def parted(self, wrt):
        """(the CallPlan that gives the value and what the gradient reads, the Backward); None where that cannot be."""
        if wrt not in self.made:
            with _lock:
                found = part(vjp_graph(self.graph, wrt, self.seeds), self.graph, wrt, self.seeds, self.updates)
                if found is None:
                    self.made[wrt] = None, self.again(wrt)
                else:
                    forward, count, sources, back = found
                    backward = Backward(wrt, self.seeds, sources, back)
                    if self.variant.plan.device is None:
                        backward.operation.compile()
                    self.made[wrt] = self._forward(forward, count), backward
                    emit("backward_graph_build", name=self.name)
        else:
            emit("backward_graph_reuse", name=self.name)
        return self.made[wrt]

    def _forward(self, forward, count):
        first = len(self.graph.outputs)
        output = (self.specialised.output, tuple(Result(first + i) for i in range(count)))
        specialised = dataclasses.replace(self.specialised, graph=forward, output=output)
        wanted = Wanted(config.jit_level, lying("device", self.variant.signature), self.variant.plan.device)
        fused = PIPELINE.run(forward, wanted, (DERIVED,), RECORDED)
        lowered = lower(fused, update_targets(specialised, fused), wanted.device)
        compiled = dataclasses.replace(self.variant.compiled, specialised=specialised, lowered=lowered,
                                       graph=fused, executable=Executable(lowered.program))
        return function_plan(self.variant.signature, compiled)


def _calls_python(node):
    """True for a piece of Python code, and a branch, loop or call that holds one."""
    held = [graph for value in node.attrs.values() if type(value) is FuncGraph for graph in value.reachable()]
    return node.fn is segment or any(inner.fn is segment for graph in held for inner in graph.nodes)


def part(joint, graph, wrt, seeds, updates):
    """Part the graph (*parameters, *cotangents) -> (*outputs, *gradients) where the cotangents come in.

    result: (the graph of the outputs and what is saved, how many values are saved so, the sources as Backward wants
            them, the graph (*sources, *cotangents) -> gradients), or None if a tape would have to be saved
    """
    n, outputs = len(graph.parameters), len(graph.outputs)
    reverse = joint.nodes[joint.transforms["reverse"]:]
    pullbacks = [node for node in reverse if _calls_python(node)]
    # a cotangent from a tape has the shape of its value: checks of it are left out
    late = {*joint.parameters[n:], *pullbacks, *[node for node in reverse if node.fn is check]}
    for node in joint.nodes:
        if any(a in late for a in node.args):
            late.add(node)
    ends = joint.outputs[outputs:]
    needed = {*ends, *pullbacks}                             # what Python code keeps, another pullback reads
    for node in reversed(joint.nodes):
        if node in late and node in needed:
            needed.update(node.args)
    reads = [node for node in [*joint.parameters[:n], *joint.nodes] if node in needed and node not in late]
    if any(not isinstance(node.abstract, (AbstractAny, AbstractScalar, AbstractTensor)) for node in reads):
        return None
    sources = {p: ("in", i) for i, p in enumerate(joint.parameters[:n])}
    for i, node in enumerate(joint.outputs[:outputs]):
        if i in seeds and i not in updates and not isinstance(node, ValueNode):
            sources.setdefault(node, ("out", i))
    rest = FuncGraph(joint.name)
    rest.nodes = [node for node in joint.nodes if node in late and node in needed]
    reads += [constant(symbol.dim) for symbol in sizes_between(joint, late, rest, [*reads, *joint.parameters[n:]])]
    extra = [node for node in reads if node not in sources]
    sources.update({node: ("extra", k) for k, node in enumerate(extra)})
    forward = FuncGraph(graph.name, graph.origin)
    env = [forward.add_parameter(p.name, p.abstract, p.origin, p.default) for p in joint.parameters[:n]]
    early = FuncGraph(graph.name)
    early.parameters, early.nodes = joint.parameters[:n], [node for node in joint.nodes if node not in late]
    early.set_outputs([*joint.outputs[:outputs], *extra], make_tuple)
    forward.set_outputs(inline(forward, early, env), make_tuple)
    back = FuncGraph(joint.name, graph.origin)
    made = [back.add_parameter(f"saved{i}", node.abstract) for i, node in enumerate(reads)]
    douts = [back.add_parameter(p.name, p.abstract) for p in joint.parameters[n:]]
    rest.parameters = [*reads, *joint.parameters[n:]]
    rest.set_outputs(ends, make_tuple)
    back.set_outputs(inline(back, rest, [*made, *douts]), make_tuple)
    return drop_dead_nodes(forward), len(extra), [sources[node] for node in reads], optimise(back)


def sizes_between(joint, late, rest, shown):
    """The Symbols to which the first part gives values and which the rest uses, but which `shown` have not as a size."""
    def symbols(nodes):
        return {s for node in nodes for s in symbols_of_abstract(node.abstract)}
    bound = {lone_symbol(size) for node in shown if isinstance(node.abstract, AbstractTensor)
             for size in node.abstract.shape}
    known = symbols([node for node in [*joint.parameters, *joint.nodes] if node not in late])
    return sorted(symbols_used(rest) & known - bound, key=lambda s: s.number)


def results_in(pattern, found=None):
    """{number: the argument that it is, or None} of the Results in a Specialised's output."""
    found = {} if found is None else found
    if isinstance(pattern, Result):
        found[pattern.number] = pattern.argument
    elif isinstance(pattern, (tuple, list)):
        for p in pattern:
            results_in(p, found)
    elif isinstance(pattern, dict):
        for p in pattern.values():
            results_in(p, found)
    return found


def collect(pattern, value, outs):
    """Put the parts of the function's value at their numbers in `outs`, but for arguments that are handed through."""
    if isinstance(pattern, Result):
        if pattern.argument is None:
            outs[pattern.number] = value
    elif isinstance(pattern, (tuple, list)):
        for p, v in zip(pattern, value):
            collect(p, v, outs)
    elif isinstance(pattern, dict):
        for name, p in pattern.items():
            collect(p, value[name], outs)
