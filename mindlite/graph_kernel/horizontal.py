"""Clusters that have nothing to do with one another as one kernel: one launch, one fork and join (parallel fusion).

    adam(p, m, v, g); adam(q, n, w, h); ..       ->       units  0 .. a  are items of the first, a .. a + b of the second

An optimiser updates each Parameter by a loop of its own; what a small network does between its products is tiny. Each
part stays the loop nest that it is. An item of a part counts as many units as it has operations and one, and is done
by the chunk in which its first unit lies, so chunks are equally long whatever the parts are. Equal parts are compiled once.
"""
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph, ValueNode

TOGETHER = "together"            # the kind of such a fused graph


def parts_of(graph):
    """The parts of a fused graph as [(part, parameters, outputs)], in the order of their first nodes: a
    FuncGraph with copies of its Parameters, and its Parameters and outputs in `graph`."""
    if graph.kind != TOGETHER:
        return [(graph, graph.parameters, graph.outputs)]
    leader: dict = {}

    def find(node):
        while leader[node] is not node:
            node = leader[node]
        return node
    for node in graph.nodes:
        leader[node] = node
        for arg in node.args:
            if arg in leader:
                first, second = find(arg), find(node)
                leader[second] = first
    members: dict = {}
    for node in graph.nodes:
        members.setdefault(find(node), []).append(node)
    return [_part(graph, nodes) for nodes in members.values()]


def _part(graph, nodes):
    part = FuncGraph(graph.name, graph.origin)
    env: dict = {}
    parameters: list = []
    for node in nodes:
        for arg in node.args:
            if arg not in env and not isinstance(arg, ValueNode):
                env[arg] = part.add_parameter(arg.name, arg.abstract, arg.origin)
                parameters.append(arg)
        env[node] = part.add_copy(node, [env.get(a, a) for a in node.args])
    outputs = [o for o in graph.outputs if o in env and o not in parameters]
    part.set_outputs([env[o] for o in outputs], make_tuple)
    return part, parameters, outputs
