"""Gradients of weights as one product for all uses of a weight, where a tape is walked entry by entry.

    dw = a0.T @ b0 + a1.T @ b1 + ..      ->      dw = concat(a0, a1, ..).T @ concat(b0, b1, ..)

A cell that runs for each step of a sequence, or each node of a tree, has a few rows at a time: the product of these is a matrix
as large as the weight, which is written, read and added at each use. Here the rows wait for each other. A graph whose gradients
are such products is written once more without them, with their operands as results.
"""
import numpy as np

from ..common.dtype import dtype
from ..mindir.abstract import AbstractTensor
from ..mindir.control import make_tuple
from ..mindir.graph import CNode
from ..mindir.inline import copy_graph, drop_dead_nodes
from ..ops.linalg import batch_matmul
from .kernels import ProductKernel

LARGE = 1 << 12                                  # elements of a gradient whose products wait
_TRANSPOSED = {"transpose_a": True, "transpose_b": False}
MOST_ROWS = 512                                  # that wait for one weight


class Waiting:
    """The graph of a Backward without the products that are gradients.

    graph   : its results are the other gradients, then operands of products that it computes
    results : for each gradient ("result", its number) or ("product", a, b): operands of a.T @ b, ("given", number of a parameter)
              or ("result", number), and whether each is transposed before
    """

    def __init__(self, graph, numbers):
        outputs = [output for i, output in enumerate(graph.outputs) if i not in numbers]
        places = {id(node): ("result", i) for i, node in enumerate(outputs)}
        parameters = {id(p): ("given", i) for i, p in enumerate(graph.parameters)}

        def place(node):
            if id(node) in parameters:
                return parameters[id(node)]
            if id(node) not in places:
                places[id(node)] = "result", len(outputs)
                outputs.append(node)
            return places[id(node)]
        others = iter(range(len(outputs)))
        self.results: list[tuple] = []
        for i, node in enumerate(graph.outputs):
            if i in numbers:
                a, b = node.args
                self.results.append(("product", (place(a), not node.attrs["transpose_a"]), (place(b), node.attrs["transpose_b"])))
            else:
                self.results.append(("result", next(others)))
        self.graph = without(graph, outputs)


def without(graph, outputs):
    """A copy of a graph with other nodes as its results."""
    made: dict = {}

    def noted(target, node, args):
        made[node] = target.add_copy(node, args)
        return made[node]
    copy = copy_graph(graph, emit=noted)
    made.update(zip(graph.parameters, copy.parameters))
    copy.set_outputs([made.get(node, node) for node in outputs], make_tuple)
    return drop_dead_nodes(copy)


def waiting_of(graph):
    """The Waiting of a graph, None where no gradient is a large product of few rows."""
    numbers = {i for i, node in enumerate(graph.outputs) if is_of_few_rows(node)}
    return Waiting(graph, numbers) if numbers else None


def is_product(node):
    """True for a node that is a product of two matrices, whose sizes decide whether it waits."""
    return isinstance(node, CNode) and node.fn is batch_matmul and all([
        isinstance(a.abstract, AbstractTensor) and a.abstract.ndim == 2 and a.abstract.dtype.is_float
        and not a.abstract.dtype.is_small for a in node.args])


def are_few_rows(operands, size):
    """True for a product of so many elements whose operands, of so many, are much smaller than it is."""
    return size >= LARGE and 2 * sum(operands) <= size


def is_of_few_rows(node):
    """True for a node of known sizes that is a product which waits."""
    return is_product(node) and isinstance(node.abstract.size, int) and are_few_rows(
        [a.abstract.size for a in node.args], node.abstract.size)


class Rows:
    """The operands of products that wait: {number of a value: [(a, b), ..] of a.T @ b}."""

    def __init__(self):
        self.pairs = {}

    def enter(self, number, a, b):
        """One more product; gives the sum of them all once many rows wait, else None."""
        pairs = self.pairs.setdefault(number, [])
        pairs.append((a, b))
        return self.product(number) if sum([len(a) for a, _ in pairs]) >= MOST_ROWS else None

    def product(self, number):
        """The sum of the products of a number, an ndarray."""
        pairs = self.pairs.pop(number)
        if len(pairs) == 1:
            (a, b), = pairs
        else:
            a, b = (np.concatenate(each) for each in zip(*pairs))
        return self.sum_of_products(a, b)

    def sum_of_products(self, a, b):
        """a.T @ b; a kernel's where it is there."""
        return ProductKernel.kernel(dtype(a.dtype), False, _TRANSPOSED)(a, b, **_TRANSPOSED)
