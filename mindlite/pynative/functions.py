"""Plans of functions in eager mode: a function of `ops` that is written in operators becomes one operation.

    ops.cross_entropy(x, labels)     seen often      ->  a plan: for these arguments one compiled kernel of the whole function
    x[1:3], ops.split(x, 2)          seen twice      ->  a plan: NumPy's slices, and what the new views are views of

`planned` (mindir/primitive.py) marks such a function; machine code looks for a plan of what was given (native_plans.py) and calls
the function where there is none. What the function writes over nodes is its graph. A graph of views alone is computed by their
eval rules; any other is compiled beside the run (beside.py) once calls have taken as long as that is worth (Karlin et al. 1988,
ski rental), checks of indices included. On a tape a planned call is one entry, whose backward comes from the graph by ad.
"""
import time
from typing import Any

import numpy as np

from ..backend import python_entry
from ..common.config import config
from ..common.errors import DeviceError, InternalError, MindliteError
from ..common.locks import new_lock
from ..common.tensor import Tensor
from ..common.threads import here
from ..compile.short_plan import MAX_ARRAYS
from ..infer.bounds import demand_bounds
from ..mindir.builder import Builder, tensor_type, typed
from ..mindir.control import make_tuple, tuple_getitem
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.primitive import current_interpreter, interpreting
from ..ops.views import WRITE_BACK
from . import native, plans, sharded
from .beside import compile_beside
from .interpreter import interpreter, wrap
from .kernels import SPENT, Compiled, can_walk
from .operation import GraphOperation, derivative_for, derived
from .plans import FUNCTION, KERNEL, NEVER, OperatorKernel, OperatorPlan, Signature, Unplanned
from .views import view_maker

TOP = native.FORMS["TOP_OF_FUNCTIONS"]
MOST_SEEN = 1 << 14                              # signatures of a function that are remembered
ABOVE_AXES = 9                                   # a number of an argument that is less may be that of an axis
MOST_CONSTANTS = 1 << 12                         # elements of arrays that a graph holds
_lock = new_lock()


class Seen:
    """What is known of one signature of a function. calls, seconds: in Python; operation: None before it is traced; plan: the
    OperatorPlan; never: it has none and gets none"""
    __slots__ = ("signature", "calls", "seconds", "operation", "order", "plan", "never")

    def __init__(self, signature):
        self.signature, self.calls, self.seconds, self.never = signature, 0, 0.0, False
        self.operation = self.order = self.plan = None

    def pays(self):
        """True once a kernel is worth its compilation; by counts alone where a program that runs again is to compute the same."""
        if config.repeatable:                                # a kernel's bits may differ from those before it
            return False
        often = self.calls >= plans.OFTEN_FOR_COMPOSITES
        if config.compile_beside:
            return often or self.calls > 2 and self.seconds >= SPENT
        return often and plans.may_compile()


def call_and_learn(entry, *given, **named):
    """Planned.__call__ in Python; it leaves a plan behind where the same was called before."""
    if current_interpreter() is not interpreter or len(here.state.tapes) > 1:
        return entry.function(*given, **named)
    if sharded.calls and sharded.is_among(given):
        made = sharded.call_again(entry, given, named)
        return sharded.call_function(entry, given, named) if made is None else interpreter.entered(*made)
    start = time.thread_time()
    out = entry.function(*given, **named)
    seconds = time.thread_time() - start
    try:
        signature = Signature(given, named)
    except (Unplanned, DeviceError):
        return out
    key = (signature.count, *signature.kept[:signature.named], signature.mask, *signature.words)
    with _lock:
        seen = entry.seen.get(key)
        if seen is None:
            if len(entry.seen) >= MOST_SEEN:
                entry.seen.clear()
            seen = entry.seen[key] = Seen(signature)
        seen.calls += 1
        seen.seconds += seconds
        if seen.calls > 1 and not seen.never:
            try:
                learn(entry, seen, given, named, out)
            except InternalError:
                raise
            except (Unplanned, MindliteError):
                seen.never, seen.operation = True, None
    signature.tensors.clear()
    return out


def learn(entry, seen, given, named, out):
    """Put a plan where machine code finds it, or come nearer to one. raises : Unplanned"""
    signature = seen.signature
    if seen.operation is None:
        seen.operation = FunctionOperation(entry, given, named, out)
    if seen.plan is None:
        operation = seen.operation
        if operation.views:
            seen.plan = plan_of(signature, operation, view_function(operation), None)
        elif seen.order is None:
            if seen.pays():
                seen.order = compile_beside(operation.compiled)
        if seen.plan is None and seen.order is not None and seen.order.is_ready:
            seen.plan = compiled_plan(signature, operation, seen.order.result(), tensors_of(given, named))
    if seen.plan is not None:
        plans.plans_of(entry, TOP).put(signature.slot(TOP), seen.plan)


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


class OpenFunction(GraphOperation):
    """A planned function over open sizes."""
    of_function = True

    def derive(self, wrt):
        """As of an Operation."""
        return derived(self.graph, wrt, self.seeds)


class FunctionOperation(GraphOperation):
    """A planned function for one signature. views: for each result (number of a Tensor, path), where all are views; () elsewhere

    raises : Unplanned for a function that does more than compute, or whose results are not what it gave
    """

    def __init__(self, entry, given, named, out):
        tensors = tensors_of(given, named)
        if not tensors:
            raise Unplanned("no Tensor among its operands")

        self.call = entry.function, list(map(emptied, given)), {name: emptied(v) for name, v in named.items()}
        graph = typed(of_call(*self.call), *map(tensor_type, tensors), name=entry.function.__name__)
        self.several = type(out) is tuple
        outs = out if self.several else (out,)
        if not all(type(each) is Tensor for each in outs) or len(outs) != len(graph.outputs) or not can_walk(graph):
            raise Unplanned("its results are no Tensors, or it is no run of operators")
        if any(not node.fn.traits.isdisjoint(("effect", "random", "assign")) for node in graph.nodes
               if node.fn not in (make_tuple, tuple_getitem)):
            raise Unplanned("it does more than compute")
        if any(node in graph.parameters or isinstance(node, ValueNode) for node in graph.outputs):
            raise Unplanned("it gives what it was given, or a constant")
        if any(tensor_type(each) != node.abstract for each, node in zip(outs, graph.outputs)):
            raise Unplanned("its results are others over nodes")
        if sum(a.value.size for node in graph.nodes for a in node.args
               if isinstance(a, ValueNode) and isinstance(a.value, np.ndarray)) > MOST_CONSTANTS:
            raise Unplanned("its graph holds large constants")
        super().__init__(graph)
        paths = [view_path(graph, node) for node in graph.outputs]
        self.views = paths if None not in paths else ()
        ends = [getattr(node, "fn", None) for node in graph.outputs]
        if not self.views and (any(paths) or len(outs) > 1 and any(end in WRITE_BACK for end in ends)):
            raise Unplanned("views beside other results, or views of what nobody else sees")

    def key(self, opening):
        """As of an Operation. Small numbers may be axes."""
        function, given, named = self.call
        return (function, *[(a.dtype, opening(a.shape)) for a in self.abstracts], repr(opening(given, ABOVE_AXES)), repr(named))

    def opened(self, opening):
        """The same function over other sizes."""
        abstracts = list(map(opening, self.abstracts))
        function, given, named = self.call
        graph = typed(of_call(function, opening(given, ABOVE_AXES), named), *abstracts, name=self.name)
        return OpenFunction(graph)

    def _build(self, wrt):
        derivative, env = derivative_for(self, wrt)
        return super()._build(wrt) if derivative is None else derivative.of_sizes(self, env)

    def compiled(self):
        """The function, its indices checked, as a Compiled graph."""
        graph = FuncGraph(self.name)
        nodes = [graph.add_parameter(f"x{i}", abstract) for i, abstract in enumerate(self.abstracts)]
        builder = Checking(graph)
        with interpreting(builder):
            out = of_call(*self.call)(*nodes)
            graph.set_outputs([builder.lift(each) for each in (out if self.several else (out,))], make_tuple)
        return Compiled(graph)


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


if native.installed is not None:
    native.installed.teach(plans.call_and_learn, call_and_learn)
