"""What follows a convolution or product and belongs into it: bias, residual and relu, in this order, each of them or not.

    %1 = convolution(%x, %w); %2 = add(%1, %b)                %4 = convolution_add_add_relu(%x, %w, %b, %r)
    %3 = add(%2, %r); %4 = relu(%3)                   ->

The node's fn is a FuncGraph of kind FINISHED, which the library does in one go: it finishes a block of pixels while it is
near. A kernel of its own would read and write the whole result once more, which takes up to a
sixth of the convolution's time. So it is done where such a kernel would be: not where a cluster reads the values anyway,
and only with what nothing else reads. Products get one where the Target's library has it (cuBLASLt: bias, then relu or
gelu by tanh, which is found by what it is made of). On the CPU they get none: OpenBLAS would have to be called for pieces,
and packs its operand for each; bias and relu are 1 to 5 % of a product's time.
"""
import functools

import numpy as np

from ..common.location import Origin
from ..mindir.abstract import AbstractTensor
from ..mindir.control import make_tuple
from ..mindir.graph import CNode, FuncGraph, ValueNode
from ..mindir.inline import clone, users_of
from ..mindir.primitive import kernel_rule
from ..ops.activation import gelu_tanh, relu
from ..ops.arithmetic import add, mul
from ..ops.basic import reshape
from ..ops.linalg import batch_matmul
from ..ops.nn_conv import convolution
from .expand import expand_composites

FINISHED = "finished"            # the kind of a FuncGraph that is a convolution with its epilogue
DTYPES = ("float32", "float64")
DTYPES_OF_PRODUCTS = ("float32", "float16", "bfloat16")


def finish_convolutions(graph):
    """A copy of a typed graph whose convolutions hold their epilogues; `graph` itself where none has one."""
    return _finished(graph, _chains)


def finish_products(graph):
    """The same for products: bias, relu, gelu_tanh. Nothing that only one of them reads is stored in between."""
    return _finished(graph, _chains_of_products)


def _finished(graph, chains):
    if not any(chains(below) for below in graph.reachable()):
        return graph
    graph = clone(graph)
    for below in graph.reachable():
        for first, chain in chains(below).items():
            last = chain[-1][1]
            fn, operands = _fused(first, chain)
            last.fn, last.args, last.attrs = fn, operands, {}
            inside = {first, *(node for _, node in chain[:-1])}
            below.nodes = [node for node in below.nodes if node not in inside]
    return graph


def epilogue(graph):
    """What a FuncGraph of kind FINISHED holds: (its convolution or product, "bias+relu" or the like)."""
    first, *rest = graph.nodes
    if first.fn is convolution:
        return first, "+".join(_step(node, value, first.abstract) for value, node in zip(graph.nodes, rest))
    value, steps = first, []
    for step, belongs in (("reshape", _keeps_columns), ("bias", _is_bias), ("relu", _is_relu)):
        if rest and belongs(rest[0], value):
            value, *rest = rest
            steps.append(step)
    return first, "+".join([step for step in steps if step != "reshape"] + ["gelu"] * bool(rest))


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


def _chains_of_products(graph):
    """{product of one matrix on the right: [(step, node), ..]} of one graph; a gelu is several nodes, the last its value."""
    users, found = users_of(graph), {}
    for node in graph.nodes:
        if node.fn is not batch_matmul or node.abstract.dtype.name not in DTYPES_OF_PRODUCTS or not _is_one_product(node):
            continue
        value, chain = node, []
        for step, belongs in (("reshape", _keeps_columns), ("bias", _is_bias), ("relu", _is_relu)):
            inside = users.get(value, ())
            if len(inside) == 1 and belongs(inside[0], value):
                value, = inside
                chain.append((step, value))
        chain += [("gelu", made) for made in _gelu_of(value, users) if value.fn is not relu]
        if any(step != "reshape" for step, _ in chain):
            found[node] = chain
    return found


def _is_one_product(node):
    """True for a product of matrices, or of a stack of them with one matrix: a bias has the columns of the whole."""
    a, b = (x.abstract for x in node.args)
    return b.ndim == 2 and a.ndim >= 2 and (a.ndim == 2 or not node.attrs["transpose_a"])


def _keeps_columns(user, value):
    """Does `user` give the product of a stack its shape back?"""
    return user.fn is reshape and user.abstract.ndim >= 1 and user.abstract.shape[-1] == value.abstract.shape[-1]


def _is_relu(user, value):
    return user.fn is relu


def _is_bias(user, value):
    """Does `user` add a row to the value?"""
    if user.fn is not add or user.abstract != value.abstract:
        return False
    other, made = user.args[user.args[0] is value], value.abstract
    return other is not value and isinstance(other.abstract, AbstractTensor) and other.abstract.dtype == made.dtype and \
        other.abstract.shape == (1,) * (other.abstract.ndim - 1) + made.shape[-1:]


def _gelu_of(value, users):
    """The nodes that compute gelu_tanh of a value, in order, where nothing else reads it or what is in between; else ()."""
    wanted, texts, found = _texts_of_gelu(value.abstract.dtype), {value: "x"}, []
    waiting = list(users.get(value, ()))
    while waiting:
        node = waiting.pop(0)
        if node in texts or not all(a in texts or _is_number(a) for a in node.args):
            continue
        text = _text(node, texts)
        if text not in wanted or node.abstract.shape != value.abstract.shape:
            continue
        texts[node] = text
        found.append(node)
        if text == wanted[-1]:
            inside = {value, *found[:-1]}
            apart = any(user not in texts for one in inside for user in users.get(one, ()))
            return () if apart else tuple(found)
        waiting += users.get(node, ())
    return ()


@functools.lru_cache(maxsize=None)
def _texts_of_gelu(dtype):
    """What gelu_tanh of an "x" is made of, each part as a text, the last is all."""
    graph = FuncGraph("gelu", Origin())
    x = graph.add_parameter("x", AbstractTensor(dtype, (2,)), graph.origin)
    graph.nodes.append(CNode(graph, gelu_tanh, [x], {}, x.abstract, x.origin))
    graph.set_outputs([graph.nodes[0]], make_tuple)
    texts: dict = {}
    for node in expand_composites(graph).nodes:
        texts[node] = _text(node, texts)
    return tuple(texts.values())


def _text(node, texts):
    """A node as a text; the order of the operands of a sum or product does not matter."""
    said = [texts.get(a, "x") if not _is_number(a) else f"{float(a.value):.6g}" for a in node.args]
    return f"{node.fn.name}({', '.join(sorted(said) if node.fn in (add, mul) else said)})"


def _is_number(node):
    """True for a constant of one element."""
    return isinstance(node, ValueNode) and np.size(node.value) == 1


def _is_fused(node):
    """True for what is computed by a generated kernel."""
    return node.fn in kernel_rule and "library" not in node.fn.traits


def _makes_planes(node):
    """True for 1 x 1 convolutions, which compute whole planes one after another. Others compute some pixels of all
    channels at a time; reading a residual in such pieces was up to a tenth slower than its own kernel."""
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
    """(the FuncGraph of a convolution or product and what follows it, its operands: x, weight, and those of the epilogue)."""
    name = "_".join(dict.fromkeys([first.fn.name, *(node.fn.name if step != "gelu" else step for step, node in chain)]))
    made = FuncGraph(name, first.origin, FINISHED)
    copies: dict = {}
    operands: list = []
    for step, node in [("", first), *chain]:
        args: list = []
        for arg in node.args:
            if arg in copies or step == "gelu":
                args.append(copies.get(arg, arg))            # a gelu has numbers besides
            else:
                args.append(made.add_parameter(f"x{len(operands)}", arg.abstract, arg.origin))
                operands.append(arg)
        copies[node] = made.add_copy(node, args)
    made.set_outputs([made.nodes[-1]], make_tuple)
    return made, operands
