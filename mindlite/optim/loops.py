"""What passes over loops share: how often a loop turns, and its graphs with more operands than they had."""
import contextlib

from ..common.location import Origin
from ..mindir.builder import building
from ..mindir.constraints import collecting
from ..mindir.control import make_tuple
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.primitive import current_interpreter
from ..ops.scalar import scalar_binary, scalar_compare


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
    """(the body's parameter that counts the turns, its first value, how many turns there are); (None, 0, 0) where they
    are not known."""
    body, test = loop.attrs["body"], loop.attrs["cond"]
    asked = test.outputs[0]
    if getattr(asked, "fn", None) is not scalar_compare or asked.attrs["op"] != "<" or asked.args[0] not in test.parameters:
        return None, 0, 0
    number = test.parameters.index(asked.args[0])
    first, last = (number_of(value) for value in (loop.args[number], asked.args[1]))
    if number >= len(body.outputs) or first is None or last is None:
        return None, 0, 0
    parameter = body.parameters[number]
    return (parameter, first, last - first) if ahead_of(body.outputs[number], parameter) == 1 else (None, 0, 0)


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


def widened(source, fixed, replaced=None):
    """A copy of a loop's graph with one more parameter, behind all others, for each node of `fixed`.

    replaced : {node: function(env, the new parameters) -> the node that stands for it}; env: {old node: new node}
    """
    target = FuncGraph(source.name, source.origin)
    env = {p: target.add_parameter(p.name, p.abstract, p.origin, p.default) for p in source.parameters}
    more = [target.add_parameter(getattr(value.fn, "name", "fixed"), value.abstract, value.origin) for value in fixed]
    for node in source.nodes:
        if replaced and node in replaced:
            with building(target, node.origin), collecting():
                env[node] = replaced[node](env, more)
        else:
            env[node] = CNode(target, node.fn, [env.get(a, a) for a in node.args], node.attrs, node.abstract, node.origin)
            target.nodes.append(env[node])
    target.set_outputs([env.get(o, o) for o in source.outputs], make_tuple)
    return target
