"""What passes over loops share: how many iterations a loop has, and its graphs with more operands than they had."""
import contextlib

import numpy as np

from ..common.location import Origin
from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.builder import building, constant
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.primitive import current_interpreter
from ..ops.arithmetic import add, sub
from ..ops.logic import greater
from ..ops.scalar import scalar_binary, scalar_compare
from .rewrite import is_constant


def fixed_operands(loop):
    """{parameter of the body: the node outside that it is} of what a while_loop does not change."""
    body, states = loop.attrs["body"], len(loop.args) - loop.attrs["invariants"]
    return dict(zip(body.parameters[states:], loop.args[states:]))


@contextlib.contextmanager
def moved_out(inner, by):
    """Operators called inside the block stand where the visited loop stands, for its node `inner`."""
    with building(current_interpreter().graph, Origin(inner.origin.location, inner, by)), collecting():
        yield


def counter_of(loop):
    """(the body's parameter that counts the iterations, its first value, the number of iterations); (None, 0, 0) if unknown."""
    number, start, last = _asked(loop, scalar_compare)
    if number is None or loop.attrs["cond"].outputs[0].attrs["op"] != "<" or None in (number_of(start), number_of(last)):
        return None, 0, 0
    parameter = loop.attrs["body"].parameters[number]
    counts = ahead_of(loop.attrs["body"].outputs[number], parameter) == 1
    return (parameter, start.value, last.value - start.value) if counts else (None, 0, 0)


def counts_down(loop):
    """(number of the state, its first value) of a loop that counts an i64[] of known value down to 0; else (None, 0)."""
    number, start, last = _asked(loop, greater)
    if number is None or not is_constant(last, 0) or not _is_integer(start):
        return None, 0
    after, parameter = loop.attrs["body"].outputs[number], loop.attrs["body"].parameters[number]
    down = getattr(after, "fn", None) is sub and after.args[0] is parameter and is_constant(after.args[1], 1)
    return (number, int(start.value)) if down else (None, 0)


def _asked(loop, operator):
    """(number of a state, its first value, the node it is compared with) if the
    loop's condition is that operator; else (None, None, None)."""
    test = loop.attrs["cond"]
    asked = test.outputs[0]
    if getattr(asked, "fn", None) is operator and asked.args[0] in test.parameters:
        number = test.parameters.index(asked.args[0])
        if number < len(loop.attrs["body"].outputs):
            return number, loop.args[number], asked.args[1]
    return None, None, None


def final_values(loop):
    """{number of a state that each iteration adds a constant to: its value after the last iteration}, where that is known."""
    _, _, iterations = counter_of(loop)
    if iterations < 1:
        return {}
    found = {}
    for number, (p, after, first) in enumerate(zip(loop.attrs["body"].parameters, loop.attrs["body"].outputs, loop.args)):
        if number_of(first) is not None and ahead_of(after, p) is not None:
            found[number] = ValueNode(number_of(first) + ahead_of(after, p) * iterations, AbstractScalar(int))
        elif getattr(after, "fn", None) is add and after.args[0] is p and _is_integer(first) and _is_integer(after.args[1]):
            value = first.value + after.args[1].value * np.asarray(iterations, first.value.dtype)
            found[number] = constant(np.asarray(value, first.value.dtype))
    return {number: node for number, node in found.items() if node.abstract == loop.abstract.elements[number]}


def _is_integer(node):
    """True for a constant tensor of one integer, without axes."""
    return isinstance(node, ValueNode) and isinstance(node.abstract, AbstractTensor) and node.abstract.shape == () \
        and node.abstract.dtype.kind == "i"


def number_of(node):
    """The int that a node is, else None."""
    return node.value if isinstance(node, ValueNode) and type(node.value) is int else None


def ahead_of(node, parameter):
    """c where `node` is parameter + c, else None."""
    if node is parameter:
        return 0
    if getattr(node, "fn", None) is not scalar_binary or node.attrs["op"] not in ("+", "-"):
        return None
    a, b = node.args
    if node.attrs["op"] == "+" and number_of(a) is not None:
        a, b = b, a
    inner, more = ahead_of(a, parameter), number_of(b)
    return None if inner is None or more is None else inner + more if node.attrs["op"] == "+" else inner - more


def widened(source, fixed=(), replaced=None, *, before=0, states=(), without=(), after=None):
    """A copy of a loop's graph with other parameters: one more, behind all others, for each node of `fixed`.

    replaced : {node: function(env, the new parameters) -> the node that stands for it, or None: it goes}
    before   : how many states the loop has; behind them come new ones of the types `states`
    without  : numbers of the states that go, in parameters and outputs;     env : {old node: new node}
    after    : of the body: function(env, the new parameters) -> the next values of the new states
    """
    target = FuncGraph(source.name, source.origin)
    env: dict = {}
    more: list = []

    def enter(parameters):
        for p in parameters:
            env[p] = target.add_parameter(p.name, p.abstract, p.origin, p.default)
    enter(p for number, p in enumerate(source.parameters[:before]) if number not in without)
    more += [target.add_parameter("state", kind, source.origin) for kind in states]
    enter(source.parameters[before:])
    for value in fixed:
        more.append(target.add_parameter(getattr(getattr(value, "fn", None), "name", "fixed"), value.abstract, value.origin))
    for node in source.nodes:
        if replaced and node in replaced:
            if replaced[node] is not None:
                with building(target, node.origin), collecting():
                    env[node] = replaced[node](env, more)
        else:
            env[node] = target.add_copy(node, [env.get(a, a) for a in node.args])
    outputs = [env.get(o, o) for number, o in enumerate(source.outputs) if after is None or number not in without]
    if after is not None:
        with building(target, source.origin) as builder, collecting():
            outputs += [builder.lift(value) for value in after(env, more)]
    target.set_outputs(outputs, make_tuple)
    return target
