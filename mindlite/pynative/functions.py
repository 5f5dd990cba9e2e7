"""Plans of functions in eager mode: a function of `ops` that is written in operators becomes one operation.

    ops.cross_entropy(x, labels)     seen often      ->  a plan: for these arguments one compiled kernel of the whole function
    x[1:3], ops.split(x, 2)          seen twice      ->  a plan: NumPy's slices, and what the new views are views of

`planned` (mindir/primitive.py) marks such a function; machine code looks for a plan of what was given (native_plans.py) and calls
the function where there is none. What the function writes over nodes is its graph. A graph of views alone is computed by their
eval rules; any other is compiled beside the run (beside.py) once calls have taken as long as that is worth (Karlin et al. 1988,
ski rental), checks of indices included. On a tape a planned call is one entry, whose backward comes from the graph by ad.
"""
import functools
import time
from typing import Any

import numpy as np

from ..backend import python_entry
from ..common.config import config
from ..common.dim import UnknownValueError, evaluate
from ..common.errors import InternalError, MindliteError, Stage
from ..common.locks import new_lock
from ..common.storage import elsewhere
from ..common.tensor import Tensor, lies_elsewhere
from ..common.threads import here
from ..compile.short_plan import MAX_ARRAYS
from ..infer.bounds import demand_bounds
from ..mindir.abstract import dims_in, map_dims
from ..mindir.builder import Builder, tensor_type, typed
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.inline import symbols_of_graph, with_sizes
from ..mindir.primitive import Primitive, current_interpreter, interpreting
from ..ops.views import WRITE_BACK
from . import native, plans, sharded
from .beside import Making, pays
from .interpreter import interpreter, known_operation, wrap
from .kernels import OFTEN_ENOUGH, Compiled, is_at_once
from .open_paths import ABOVE_AXES, Visit, add_path, visited
from .operation import BackwardOfSizes, GraphOperation, Opening, derivative_for, derivative_of, derived, made_for
from .sizes import Guards, symbols_in
from .plans import CALLS, FUNCTION, HOT, KERNEL, NEVER, OperatorKernel, OperatorPlan, Signature, Unplanned
from .views import view_maker
from .walks import KernelOfSizes, OpenGraph, Walk, can_walk, shows_its_sizes

TOP = native.FORMS["TOP_OF_FUNCTIONS"]
MOST_SEEN = 1 << 14                              # signatures of a function that are remembered
OFTEN_BY_PATH = 16                               # calls of one signature by an OpenPath: a plan of its own takes as long to make
MOST_CONSTANTS = 1 << 12                         # elements of arrays that a graph holds
OF_A_DERIVATIVE, OF_ITS_NODE = 2e-3, 2e-4        # seconds of writing the derivative of a function
_lock = new_lock()


class Seen:
    """What is known of one signature of a function. calls, seconds: in Python; operation: None before it is traced; plan: the
    OperatorPlan; never: it has none and gets none"""
    __slots__ = ("signature", "calls", "seconds", "operation", "making", "plan", "never")
    operation: Any
    plan: Any

    def __init__(self, signature):
        self.signature, self.calls, self.seconds, self.never = signature, 0, 0.0, False
        self.making, self.operation, self.plan = Making(), None, None

    def count_calls(self, seconds):
        """The plan, which has no kernel, has run some more times, each as long as this call of Python without what that adds."""
        words = self.plan.words
        more = int(words[CALLS]) - self.plan.counted
        self.calls, self.seconds = self.calls + more, self.seconds + more * max(seconds - plans.BY_PYTHON, 1e-6)
        self.plan.counted, words[HOT] = int(words[CALLS]), words[CALLS] + plans.AGAIN

    def walk_pays(self, nodes):
        """True once a derivative of the whole function is worth being written: a plan with a kernel needs it as well."""
        return self.seconds >= OF_A_DERIVATIVE + OF_ITS_NODE * nodes

    def pays(self):
        """True once a kernel is worth its compilation; by counts alone where a program that runs again is to compute the same."""
        if config.repeatable:                                # a kernel's bits may differ from those before it
            return False
        often = self.calls >= plans.OFTEN_FOR_COMPOSITES
        if config.compile_beside:
            return often or self.calls > 2 and pays(self.seconds, self.operation.nodes)
        return often and plans.may_compile()


def call_and_learn(entry, *given, **named):
    """Planned.__call__ in Python; it leaves a plan behind where the same was called before."""
    if current_interpreter() is not interpreter or len(here.state.tapes) > 1:
        return entry.function(*given, **named)
    if sharded.calls and sharded.is_among(given):
        made = sharded.call_again(entry, given, named)
        return sharded.call_function(entry, given, named) if made is None else interpreter.entered(*made)
    visit, tensors = None, ()
    if entry.paths and not config.repeatable and not are_elsewhere(given, named):
        visit, tensors = visited(entry, given, named, path_to)
    if visit is not None and visit.calls < OFTEN_BY_PATH:
        out = computed(visit.operation, tensors)
        if out is not None:
            visit.calls += 1
            return out
    signature = signature_of(given, named)
    if signature is None:
        return entry.function(*given, **named)
    with _lock:
        key = signature.key()
        seen = entry.seen.get(key)
        if seen is None:
            if len(entry.seen) >= MOST_SEEN:
                entry.seen.clear()
            seen = entry.seen[key] = Seen(signature)
            if visit is not None:
                seen.operation, seen.calls = visit.operation, visit.calls
            elif signature.tensors and not config.repeatable:
                seen.operation = known_function(Call(entry.function, given, named, signature.tensors))
    start, operation = time.thread_time(), seen.operation
    out = None if operation is None or config.repeatable else computed(operation, signature.tensors)
    if out is None:
        out = entry.function(*given, **named)
        if operation is not None and operation.open is not None and operation.open.confirmed is None:
            operation.open.confirmed, seen.operation = operation.gives(out), None        # its operators are on the tape
            if operation.open.confirmed:
                add_path(entry, operation.call)
    seconds = time.thread_time() - start
    with _lock:
        seen.calls += 1
        seen.seconds += seconds
        if seen.calls > 1 and not seen.never:
            try:
                learn(entry, seen, given, named, out, seconds)
            except InternalError:
                raise
            except (Unplanned, MindliteError):
                seen.never, seen.operation = True, None
    signature.tensors.clear()
    return out


def path_to(entry, given, named, tensors, path, found):
    """The Visit of a call that an OpenPath has found, of sizes that are new to it; None where Python is asked this time."""
    signature = signature_of(given, named)
    seen = None if signature is None else entry.seen.get(signature.key())
    if seen is not None and (seen.operation is None or seen.operation.open is None):
        return Visit(None)                                   # its operators are on tapes
    call = Call(entry.function, given, named, tensors)
    call.family = path.family(call, found)
    with _lock:
        operation = known_function(call)
    return Visit(operation) if operation is not None and operation.open.confirmed else None


def are_elsewhere(given, named):
    """True where an argument lies elsewhere than on the CPU."""
    return elsewhere.used and (lies_elsewhere(given) or lies_elsewhere(named.values()))


def signature_of(given, named):
    """The Signature of a call; None where it can have no plan."""
    if are_elsewhere(given, named):
        return None
    try:
        return Signature(given, named)
    except Unplanned:
        return None


def computed(operation, tensors):
    """What a FunctionOperation gives that was traced for other sizes; None where the function has to be asked: it says what is
    wrong at the user's line, and for known sizes its operators stay those on the tape."""
    if operation.open is None or not operation.open.confirmed or not (operation.view or operation.walks):
        return None
    if Primitive.__call__ is not _call:                      # the user has put another one in its place
        return None
    try:
        return operation.of_tensors(tensors)
    except InternalError:
        raise
    except MindliteError:
        return None


def learn(entry, seen, given, named, out, seconds):
    """Put a plan where machine code finds it, or come nearer to one. seconds: of this call. raises : Unplanned"""
    signature = seen.signature
    if seen.operation is None:
        seen.operation = traced(entry, given, named, out)
    operation, walking = seen.operation, seen.plan is not None and seen.plan.is_walk
    if walking:
        seen.count_calls(seconds)
    if seen.plan is None or walking:
        if operation.views:
            known = operator_of(operation, tensors_of(given, named)) if operation.open is None else None
            seen.plan = plan_of(signature, known or operation, operation.view, None)
        else:
            compiled = kernel_for(seen, operation)
            if compiled is not None:
                seen.plan = compiled_plan(signature, operation, compiled, tensors_of(given, named))
            elif not walking:
                seen.plan = walking_plan(seen, operation, tensors_of(given, named))
    if seen.plan is not None:
        plans.plans_of(entry, TOP).put(signature.slot(TOP), seen.plan)


def kernel_for(seen, operation):
    """The Compiled graph of a call: that of all sizes, or one of its own; None before one is there."""
    compiled = operation.kernel()
    if compiled is not None and compiled.can_be_known:
        return compiled if seen.calls >= OFTEN_ENOUGH else None          # a plan takes as long as so many calls without
    if operation.open is not None and operation.open.kernel.is_possible and compiled is None and config.compile_beside:
        return None                                          # it will be there
    order = seen.making.find(lambda: operation.compiled, operation.nodes, seen.seconds, seen.pays)
    return None if order is None else order.result()


def tensors_of(given, named):
    """The Tensors among arguments, in the order of a Signature."""
    return [t for value in (*given, *named.values()) for t in (value if type(value) in (tuple, list) else (value,))
            if isinstance(t, Tensor)]


def emptied(value):
    """An argument with Tensor in place of each Tensor, whose elements a plan does not keep."""
    if type(value) in (tuple, list):
        return type(value)([emptied(item) for item in value])
    return Tensor if isinstance(value, Tensor) else value


def filled(value, nodes):
    """What `emptied` gave, with nodes in their places."""
    if type(value) in (tuple, list):
        return type(value)([filled(item, nodes) for item in value])
    return next(nodes) if value is Tensor else value


class Checking(Builder):
    """A Builder that writes a check before each operator that reads indices, as inference does."""

    def __init__(self, graph):
        super().__init__(graph)
        self.outer, self.iterations = {}, {}                 # as the tracer of inference has them

    def bind(self, prim, args, attrs):
        """Append the operator, its check in front of it."""
        demand_bounds(self, prim, args, attrs)
        return super().bind(prim, args, attrs)


def of_call(function, given, named):
    """The function of nodes that calls another one with them in their places."""
    def of_nodes(*nodes):
        left = iter(nodes)
        return function(*[filled(value, left) for value in given], **{name: filled(v, left) for name, v in named.items()})
    return of_nodes


class Call:
    """A call of a planned function without the elements of its Tensors, whose abstracts it has."""

    def __init__(self, function, given, named, tensors):
        self.function, self.given, self.named = function, list(map(emptied, given)), {k: emptied(v) for k, v in named.items()}
        self.abstracts = tuple(map(tensor_type, tensors))

    def key(self, opening):
        """What it is beside its sizes, hashable. Small numbers may be axes."""
        return (self.function, *[(a.dtype, opening(a.shape)) for a in self.abstracts], repr(opening(self.given, ABOVE_AXES)),
                repr(self.named))

    @functools.cached_property
    def family(self):
        """(what it is beside its sizes, the sizes)."""
        opening = Opening()
        key = self.key(opening)
        return key, tuple(opening.taken)

    def of_nodes(self):
        """The function of nodes in the places of its Tensors."""
        return of_call(self.function, self.given, self.named)

    def opened(self, opening):
        """(the abstracts of its Tensors, its arguments by position) for other sizes."""
        return tuple(map(opening, self.abstracts)), opening(self.given, ABOVE_AXES)

    def graph(self, opening=None):
        """(the graph of the function, whether it gives a tuple). opening: for other sizes

        raises : Unplanned for a function that asks for numbers of the run, as `if n < 1` does
        """
        abstracts, given = (self.abstracts, self.given) if opening is None else self.opened(opening)
        gave: list = []

        def noted(*nodes):
            gave.append(of_call(self.function, given, self.named)(*nodes))
            return gave[0]
        with Stage("trace"):
            try:
                return typed(noted, *abstracts, name=self.function.__name__), type(gave[0]) is tuple
            except UnknownValueError as error:
                raise Unplanned(str(error)) from error


class OpenStep:
    """One step of the path to a view: its attributes with sizes in place of Symbols. Most have none."""
    __slots__ = ("prim", "rest", "attrs", "open")

    def __init__(self, prim, rest, attrs):
        self.prim, self.rest, self.attrs = prim, rest, attrs
        self.open = [name for name, value in attrs.items() if dims_in(value)]

    def of_sizes(self, env):
        """The step for {Symbol: size}."""
        if not self.open:
            return self.prim, self.rest, self.attrs
        return self.prim, self.rest, {**self.attrs, **{
            name: map_dims(lambda dim: evaluate(dim, env), self.attrs[name]) for name in self.open}}


class OpenFunction(GraphOperation):
    """A planned function over open sizes. guards: what has to hold of them; confirmed: it gives what the function
    gave for some sizes, None before that is known; views, walks: as of a FunctionOperation; kernel: the KernelOfSizes"""
    of_function = True

    def __init__(self, graph, several=True, guards=None, ways=((), False), compile_=None, symbols=()):
        super().__init__(graph)
        self.several, self.guards, self.confirmed, self.symbols, self.derivatives = several, guards, None, symbols, {}
        self.views, self.walks = ways
        self.paths = [(number, [OpenStep(prim, rest, attrs) for prim, rest, attrs in path]) for number, path in self.views]
        self.kernel = KernelOfSizes(compile_, len(graph.nodes), self.walks and shows_its_sizes(graph))
        self.opened = OpenGraph(graph, self.kernel) if self.walks else None

    def derive(self, wrt):
        """As of an Operation."""
        return derived(self.graph, wrt, self.seeds)

    def derivative(self, wrt):
        """The Derivative of all its sizes; None where a rule asks for their numbers."""
        if wrt not in self.derivatives:
            self.derivatives[wrt] = derivative_of(self, wrt, self.symbols)
        return self.derivatives[wrt]

    def of_sizes(self, call, env):
        """The FunctionOperation of a call. raises : Unplanned where a guard does not hold of its sizes"""
        if not self.guards.hold(env):
            raise Unplanned("a rule refuses these sizes")
        return FunctionOfSizes(call, self, env)


def open_function(call, pattern):
    """The OpenFunction of a call whose sizes are those of a pattern; None where its rules do not say it of Symbols."""
    try:
        with collecting() as assumed:
            graph, several = call.graph(Opening(iter(pattern)))
        check_graph(graph)
        ways = ways_of(graph)
    except InternalError:
        raise
    except (MindliteError, Unplanned):
        return None
    shown = set(symbols_in(pattern))
    guards = Guards(assumed, shown)
    if not guards.are_known or not symbols_of_graph(graph) <= shown:
        return None
    opened, given = call.opened(Opening(iter(pattern)))
    return OpenFunction(graph, several, guards, ways, lambda: compiled_with_checks(
        call.function.__name__, opened, of_call(call.function, given, call.named), several), symbols_in(pattern))


def known_function(call):
    """The FunctionOperation of a call whose sizes fit what was traced for others; None if there is none."""
    key, sizes = call.family
    made, env = made_for(("forward", key), sizes, lambda pattern: open_function(call, pattern))
    if made is None or made.confirmed is False:
        return None
    try:
        return made.of_sizes(call, env)
    except Unplanned:
        return None


def check_graph(graph):
    """raises : Unplanned for a function that does more than compute, whose operators have attributes which the run decides, or
    whose results are not what it gave"""
    if any(not node.fn.traits.isdisjoint(("effect", "random", "assign")) for node in graph.nodes
           if node.fn not in (make_tuple, tuple_getitem)):
        raise Unplanned("it does more than compute")
    if any(isinstance(value, AnfNode) for node in graph.nodes for value in node.attrs.values()):
        raise Unplanned("an attribute that the run decides")
    if any(node in graph.parameters or isinstance(node, ValueNode) for node in graph.outputs):
        raise Unplanned("it gives what it was given, or a constant")
    if sum(a.value.size for node in graph.nodes for a in node.args
           if isinstance(a, ValueNode) and isinstance(a.value, np.ndarray)) > MOST_CONSTANTS:
        raise Unplanned("its graph holds large constants")


def traced(entry, given, named, out):
    """The FunctionOperation of a call that gave `out`. raises : Unplanned as check_graph"""
    tensors = tensors_of(given, named)
    if not tensors:
        raise Unplanned("no Tensor among its operands")
    call = Call(entry.function, given, named, tensors)
    graph, several = call.graph()
    if not can_walk(graph):
        raise Unplanned("it is no run of operators")
    check_graph(graph)
    made = FunctionOperation(call, graph, several)
    if not made.gives(out):
        raise Unplanned("its results are no Tensors, or others over nodes")
    return made


class FunctionOperation(GraphOperation):
    """A planned function for one signature. views: for each result (number of a Tensor, path), where all are views; () elsewhere

    walks  : it may be computed operator by operator: none of them is compiled at its first call
    nodes  : how many there are in its graph
    open   : the OpenFunction that it is made of; None
    raises : Unplanned for results of which some are views
    """
    open: Any = None

    def __init__(self, call, graph, several):
        super().__init__(graph)
        self.call, self.several, self.nodes = call, several, len(graph.nodes)
        self.views, self.walks = ways_of(graph)
        self.view = view_function(self) if self.views else None

    def family(self):
        """As of an Operation."""
        return self.call.family

    def opened(self, opening):
        """The same function over other sizes."""
        return OpenFunction(self.call.graph(opening)[0])

    def gives(self, out):
        """True if this is of the types of what the function gave."""
        outs = out if type(out) is tuple else (out,)
        return self.several is (type(out) is tuple) and len(outs) == len(self.outs) and all(
            [type(each) is Tensor and tensor_type(each) == abstract for each, abstract in zip(outs, self.outs)])

    def _build(self, wrt):
        derivative, env = derivative_for(self, wrt)
        return super()._build(wrt) if derivative is None else derivative.of_sizes(self, env)

    def of_tensors(self, tensors):
        """What the function gives for these Tensors, which is on the tapes from now on."""
        if self.view is not None:
            out = self.view(*tensors)
        else:
            outs = [Tensor.wrap(value) for value in self.values([tensor.host_array for tensor in tensors])]
            out = tuple(outs) if self.several else outs[0]
        return interpreter.entered(self, tensors, out)

    def values(self, arrays):
        """The arrays that it gives for those of its Tensors, operator by operator."""
        if self.runner is None:
            self.runner = Walk(self.graph)
        return self.runner.run(arrays)

    def attrs_of(self, node):
        """The attributes of a node of its graph, or of that of all sizes, for the sizes of this signature."""
        return node.attrs

    def kernel(self):
        """A Compiled graph for all sizes, that computes it; None where there is none, or not yet."""
        return None

    def compiled(self):
        """The function, its indices checked, as a Compiled graph."""
        return compiled_with_checks(self.name, self.abstracts, self.call.of_nodes(), self.several)


def compiled_with_checks(name, abstracts, of_nodes, several):
    """A function of nodes, its indices checked, as a Compiled graph."""
    graph = FuncGraph(name)
    nodes = [graph.add_parameter(f"x{i}", abstract) for i, abstract in enumerate(abstracts)]
    builder = Checking(graph)
    with interpreting(builder), collecting():
        out = of_nodes(*nodes)
        graph.set_outputs([builder.lift(each) for each in (out if several else (out,))], make_tuple)
    return Compiled(graph)


def ways_of(graph):
    """(for each result (number of a Tensor, path), where all are views, or (); whether it may be computed operator by operator).

    raises : Unplanned for results of which some are views, or that share their elements
    """
    paths = [view_path(graph, node) for node in graph.outputs]
    if None not in paths:
        return paths, False
    if any(paths) or len(set(map(storage, graph.outputs))) < len(paths):
        raise Unplanned("views beside other results, or results that share their elements")
    return (), can_walk(graph, open_sizes=True) and not any(is_at_once(node.fn) for node in graph.nodes)


class FunctionOfSizes(FunctionOperation):
    """A FunctionOperation that is made of an OpenFunction. Its graph is written when it is read."""

    def __init__(self, call, open_, env):
        self.call, self.open, self.env, self.name, self.nodes = call, open_, env, open_.name, len(open_.graph.nodes)
        self.several, self.seeds, self.differentiable = open_.several, open_.seeds, open_.differentiable
        self.abstracts, self.outs = call.abstracts, tuple([map_dims(lambda dim: evaluate(dim, env), out) for out in open_.outs])
        self.backwards, self.runner, self.offered, self.programs = {}, None, False, {}
        self.views = [(number, tuple([step.of_sizes(env) for step in path])) for number, path in open_.paths]
        self.walks, self.view = open_.walks, view_function(self) if self.views else None

    def _build(self, wrt):
        derivative = None if config.repeatable else self.open.derivative(wrt)
        if derivative is None or not derivative.guards.hold(self.env):
            return super()._build(wrt)
        return BackwardOfSizes(derivative, self.seeds, self.outs, tuple([self.env[s] for s in derivative.symbols]))

    @functools.cached_property
    def graph(self):
        """As of a GraphOperation."""
        return with_sizes(self.open.graph, self.env, whole=False)

    def values(self, arrays):
        """As of a FunctionOperation; by the kernel of all sizes once it is there."""
        if self.runner is None:
            self.runner = self.open.opened.of_sizes(self.env)
        return self.runner.run(arrays)

    def attrs_of(self, node):
        """As of a FunctionOperation."""
        return map_dims(lambda dim: evaluate(dim, self.env), node.attrs)

    def kernel(self):
        """As of a FunctionOperation."""
        return self.open.kernel.find()


def storage(node: Any) -> tuple:
    """What stands for the elements that a node shows: two nodes that are views of one result have the same."""
    while isinstance(node, CNode) and node.fn in WRITE_BACK:
        node = node.args[0]
    return (node.args[0], node.attrs["index"]) if isinstance(node, CNode) and node.fn is tuple_getitem else (node, None)


def view_path(graph: FuncGraph, node: Any) -> tuple[int, tuple] | None:
    """(the number of the parameter, (primitive, rest, attributes) ..) of a node that is a view of one; None of another."""
    path: list = []
    while node not in graph.parameters:
        if not isinstance(node, CNode) or node.fn not in WRITE_BACK or len(node.args) != 1:
            return None
        path.insert(0, (node.fn, (), node.attrs))
        node = node.args[0]
    return graph.parameters.index(node), tuple(path)


def view_function(operation):
    """The function of Tensors that gives the views of them."""
    steps = [(number, view_maker(path)) for number, path in operation.views]
    if operation.several:
        return lambda *tensors: tuple([make(tensors[number]) for number, make in steps])
    (number, make), = steps
    return make if len(operation.abstracts) == 1 else lambda *tensors: make(tensors[number])


def compiled_plan(signature, operation, compiled, tensors):
    """The plan whose kernel is a compiled function. raises : Unplanned for one that gives other things than new arrays"""
    if not compiled.can_be_known:
        raise Unplanned("its results are no new arrays")

    def run(*tensors):
        values = compiled.run([tensor.host_array for tensor in tensors])
        return tuple([wrap(value) for value in values]) if operation.several else wrap(values[0])
    count = len(tensors) + len(operation.outs)
    outs = [step for step in compiled.plan.steps if step[0] == "out"]
    kernel = None
    if python_entry.available() and not compiled.executable.cleans_up and (
            len(outs) == len(operation.outs) and count <= MAX_ARRAYS):
        kernel = OperatorKernel(operation, compiled, tensors)
    return plan_of(signature, operation, run, kernel)


def walking_plan(seen, operation, tensors):
    """The plan of a call that no kernel computes yet: operator by operator, one entry on the tape. None where it does not pay."""
    signature = seen.signature
    if config.repeatable or not operation.walks:
        return None
    recorded = operation
    if signature.mask and operation.differentiable:
        recorded = operator_of(operation, tensors)
        if recorded is None:
            if not config.compile_beside or not seen.walk_pays(operation.nodes):         # counts alone decide there
                return None
            recorded = operation
    elif seen.calls < 2 * OFTEN_ENOUGH:                      # a kernel of all sizes may come
        return None

    def run(*tensors):
        if Primitive.__call__ is not _call:                  # the user has put another one in its place
            return operation.call.of_nodes()(*tensors)
        values = operation.values([tensor.host_array for tensor in tensors])
        return tuple([wrap(value) for value in values]) if operation.several else wrap(values[0])
    plan = plan_of(signature, recorded, run, None)
    plan.is_walk, plan.words[HOT] = True, plans.AGAIN
    plan.keep = *plan.keep, operation
    return plan


def operator_of(operation, tensors):
    """The Operation of an operator that is all of a function, whose derivative is known; None where there is more."""
    graph = operation.graph if operation.open is None else operation.open.graph
    if len(graph.nodes) != 1 or operation.several:
        return None
    node, = graph.nodes
    if "composite" in node.fn.traits or list(node.args) != graph.parameters or graph.outputs[0] is not node:
        return None
    return known_operation(node.fn, tensors, operation.attrs_of(node))


def plan_of(signature, operation, function, kernel):
    """The OperatorPlan of a signature of a function."""
    if kernel is not None:
        plain = function

        def function(*tensors):
            """The kernel did not run: it does so the next time."""
            kernel.renew()
            return plain(*tensors)
    backward, record, kept = plans.recorded_inputs(operation, signature)
    words = signature.head(function, backward, record, NEVER)
    plan = OperatorPlan(operation, words, signature.keys, record, (function, backward, kept, signature.kept, operation))
    plan.kernel = kernel
    if kernel is not None:
        words[FUNCTION], words[KERNEL] = id(function), kernel.words.ctypes.data
    return plan


_call = Primitive.__call__
if native.installed is not None:
    native.installed.teach(plans.call_and_learn, call_and_learn)
