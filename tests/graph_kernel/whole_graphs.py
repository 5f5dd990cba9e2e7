"""Whole graphs for tests of clusters: operators that stand between kernels, a run of what `cluster` gives, drawn graphs."""
import clusters as c
import numpy as np
from clusters import Writer, evaluate_graph, execute, tensor

from mindlite.graph_kernel import lowering
from mindlite.mindir.abstract import AbstractTuple
from mindlite.mindir.control import tuple_getitem
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.primitive import eval_rule, infer_rule, primitive


@primitive(name="test_matmul", traits={"library"})
def matmul(a, b):
    """A library operator."""


infer_rule(matmul)(lambda a, b: tensor(a.dtype, a.shape[0], b.shape[1]))
eval_rule(matmul)(np.matmul)


@primitive(name="test_write", traits={"effect"})
def write(variable, value):
    """variable[...] = value"""


infer_rule(write)(lambda variable, value: variable)


@eval_rule(write)
def write_eval(variable, value):
    variable[...] = value
    return np.array(value)


def kernels(graph):
    return [n for n in graph.nodes if isinstance(n.fn, FuncGraph)]


def run(graph, inputs):
    """The graph's results with every fused node run as machine code, in program order."""
    values = dict(zip(map(id, graph.parameters), inputs))
    for node in graph.nodes:
        args = [values[id(a)] if id(a) in values else a.value for a in node.args]
        if node.fn is tuple_getitem:
            values[id(node)] = args[0][node.attrs["index"]]
        elif isinstance(node.fn, FuncGraph):
            outs = execute(lowering(node.fn), args)
            values[id(node)] = outs if isinstance(node.abstract, AbstractTuple) else outs[0]
        else:
            values[id(node)] = eval_rule[node.fn](*args, **node.attrs)
    return tuple(values[id(o)] for o in graph.outputs)


def same(graph, clustered, inputs):
    for out, want in zip(run(clustered, [np.copy(x) for x in inputs]), evaluate_graph(graph, inputs)):
        np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)


def random_graph(rng, rows=6, columns=5, steps=14):
    """A graph of maps, folds of rows and columns, transposes and products."""
    w = Writer(x=tensor("float32", rows, columns), y=tensor("float32", columns), z=tensor("float32", rows, 1))
    values = [w.x, w.y, w.z]
    for _ in range(steps):
        kind = rng.randrange(7)
        a = rng.choice(values)
        whole = [v for v in values if v.abstract.shape == (rows, columns)]
        if kind <= 1:
            values.append(w(rng.choice([c.tanh, c.neg, c.relu]), a))
        elif kind <= 3:
            values.append(w(rng.choice([c.add, c.mul, c.sub, c.maxi]), rng.choice(whole), a))
        elif kind == 4:
            axis = rng.choice([(0,), (1,)])
            values.append(w(rng.choice([c.reduce_sum, c.reduce_max]), rng.choice(whole), axis=axis, keepdims=True))
        elif kind == 5:
            t = w(c.transpose, rng.choice(whole), perm=(1, 0))
            values.append(w(c.transpose, w(c.tanh, t), perm=(1, 0)))
        else:
            values.append(w(c.tanh, w(matmul, rng.choice(whole), w(c.transpose, rng.choice(whole), perm=(1, 0)))))
            values[-1] = w(matmul, values[-1], rng.choice(whole))
    return w.graph(*rng.sample(values[3:], 3))
