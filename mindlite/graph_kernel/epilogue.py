"""What follows a convolution and belongs into it: bias, residual and relu, in this order, each of them or not.

    %1 = convolution(%x, %w); %2 = add(%1, %b)                %4 = convolution_add_add_relu(%x, %w, %b, %r)
    %3 = add(%2, %r); %4 = relu(%3)                   ->

The node's fn is a FuncGraph of kind FINISHED, which the library does in one go: it finishes a block of pixels while it is
near. A kernel of its own would read and write the whole result once more, which takes up to a
sixth of the convolution's time. So it is done where such a kernel would be: not where a cluster reads the values anyway,
and only with what nothing else reads. Products get no epilogue: OpenBLAS would have to be called for pieces, and packs its
operand for each; bias and relu are 1 to 5 % of a product's time.
"""
from ..mindir.abstract import AbstractTensor
from ..mindir.control import make_tuple
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import clone, users_of
from ..mindir.primitive import kernel_rule
from ..ops.activation import relu
from ..ops.arithmetic import add
from ..ops.nn_conv import convolution

FINISHED = "finished"            # the kind of a FuncGraph that is a convolution with its epilogue
DTYPES = ("float32", "float64")


def finish_convolutions(graph):
    """A copy of a typed graph whose convolutions hold their epilogues; `graph` itself where none has one."""
    if not any(_chains(below) for below in graph.reachable()):
        return graph
    graph = clone(graph)
    for below in graph.reachable():
        for first, chain in _chains(below).items():
            last = chain[-1][1]
            fn, operands = _fused(first, chain)
            last.fn, last.args, last.attrs = fn, operands, {}
            inside = {first, *(node for _, node in chain[:-1])}
            below.nodes = [node for node in below.nodes if node not in inside]
    return graph


def epilogue(graph):
    """What a FuncGraph of kind FINISHED holds: (its convolution, "bias+relu" or the like)."""
    first, *rest = graph.nodes
    return first, "+".join(_step(node, value, first.abstract) for value, node in zip(graph.nodes, rest))


def _chains(graph):
    """{convolution: [(step, node), ..]} of one graph."""
    users, found = users_of(graph), {}
    taken: set = set()  # the sum of two convolutions belongs to the first
    for node in graph.nodes:
        if node.fn is not convolution or node.abstract.dtype.name not in DTYPES:
            continue
        value, order, chain = node, ["bias", *["residual"] * _makes_planes(node), "relu"], []
        while len(users.get(value, ())) == 1:
            user, = users[value]
            step = _step(user, value, node.abstract)
            if step not in order or user.abstract != node.abstract or user in taken:
                break
            order = order[order.index(step) + 1:]
            chain.append((step, user))
            value = user
        if chain and not all(_is_fused(user) for user in users.get(value, ())):
            found[node] = chain
            taken.update(user for _, user in chain)
    return found


def _is_fused(node):
    """True for what is computed by a generated kernel."""
    return node.fn in kernel_rule and "library" not in node.fn.traits


def _makes_planes(node):
    """True for windows of 1 x 1: whole planes are made one after the other. Others make some pixels of all channels at a
    time; reading a residual in such pieces took up to a tenth longer than a kernel of its own."""
    single = node.args[1].abstract.shape[2:] == (1, 1) and node.attrs["stride"] == (1, 1) and node.attrs["groups"] == 1
    return single and all(side == 0 for side in node.attrs["padding"])


def _step(user, value, made):
    """Which step `user` does to `value`, of the convolution's abstract `made`; None for something else."""
    if getattr(user, "fn", None) is relu:
        return "relu"
    if getattr(user, "fn", None) is not add:
        return None
    other = user.args[user.args[0] is value]
    if other is value or not isinstance(other.abstract, AbstractTensor) or other.abstract.dtype != made.dtype:
        return None
    if other.abstract.shape == made.shape:
        return "residual"
    lead = other.abstract.ndim - 3
    return "bias" if lead >= 0 and other.abstract.shape == (1,) * lead + (made.shape[1], 1, 1) else None


def _fused(first, chain):
    """(the FuncGraph of a convolution and what follows it, its operands: x, weight, and those of the epilogue in order)."""
    nodes = [first, *(node for _, node in chain)]
    made = FuncGraph("_".join(node.fn.name for node in nodes), first.origin, FINISHED)
    before, copy = None, None
    operands: list = []
    for node in nodes:
        args: list = []
        for arg in node.args:
            if arg is before:
                args.append(copy)
            else:
                args.append(made.add_parameter(f"x{len(operands)}", arg.abstract, arg.origin))
                operands.append(arg)
        before, copy = node, CNode(made, node.fn, args, node.attrs, node.abstract, node.origin)
        made.nodes.append(copy)
    made.set_outputs([copy], make_tuple)
    return made, operands
