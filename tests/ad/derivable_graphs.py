"""Typed graphs that the tests of derivatives share: a branch, a loop, a loop that changes shapes, a recursion."""
import numpy as np
from derivatives import f64, i64, private

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.mindir.abstract import AbstractTuple
from mindlite.mindir.builder import building, typed
from mindlite.mindir.control import call, cond, make_tuple, tuple_getitem, while_loop
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.primitive import bprop_rule, eval_rule, infer_rule

X, Y = np.array([0.3, -0.8]), np.array([1.5, 0.4])

# two results, x / 2 and x / 4, and no jvp rule
halves = private("halves", "x")
infer_rule(halves)(lambda x: AbstractTuple((x, x)))
eval_rule(halves)(lambda x: (x / 2, x / 4))
bprop_rule(halves)(lambda x, out, dout: dout[0] / 2 + dout[1] / 4)


def branch(x_type=f64(2)):
    true = typed(lambda x, y: (ops.tanh(x) * y, y), x_type, f64(2))
    false = typed(lambda x, y: (x * 3, x * x), x_type, f64(2))
    return typed(lambda p, x, y: cond(p, x * 2, y, true=true, false=false), f64(), x_type, f64(2), name="branch")


def power(body, state=f64(2)):
    """x, i -> the state after i iterations of body(count, x, w)"""
    test = typed(lambda i, x, n, w: i < n, i64(), state, i64(), f64(2), name="test")
    iteration = typed(lambda i, x, n, w: (i + 1, body(i, x, w)), i64(), state, i64(), f64(2), name="iteration")
    return typed(lambda n, x, w: while_loop(np.int64(0), ops.tanh(x), n, w, cond=test, body=iteration, invariants=2)[1],
                 i64(), state, f64(2), name="power")


def smooth(i, x, w):
    return ops.tanh(x * w) + ops.cast(i, dtype=dt.float64) * x


def growing():
    """x -> x doubled in length n times, each time through tanh: a state whose shape changes."""
    s = Symbol("S", lo=0)
    n = Symbol("N", lo=1).dim

    def twice(i, x, m, w):
        return i + 1, ops.reshape(ops.broadcast_to(ops.reshape(ops.tanh(x) * w, shape=(1, s.dim)), shape=(2, s.dim)),
                                  shape=(2 * s.dim,)), m, w
    test = typed(lambda i, x, m, w: i < m, i64(), f64(s.dim), i64(), f64())
    iteration = typed(lambda i, x, m, w: twice(i, x, m, w)[:2], i64(), f64(s.dim), i64(), f64())
    graph = FuncGraph("growing")
    m, x, w = graph.add_parameter("m", i64()), graph.add_parameter("x", f64(n)), graph.add_parameter("w", f64())
    r = Symbol("R", lo=0).dim
    with building(graph) as builder:
        loop = graph.add(while_loop, builder.lift(np.int64(0)), x, m, w, cond=test, body=iteration, invariants=2,
                         abstract=AbstractTuple((i64(), f64(r))))
        out = graph.add(tuple_getitem, loop, index=1, abstract=f64(r))
        graph.set_outputs([ops.exp(out)], make_tuple)
    return graph


def recursive():
    """f(n, x, w) = tanh(x) if n == 0 else f(n - 1, sin-like x * w, w) * x + f(n - 1, x, w)"""
    graph = FuncGraph("f")
    n, x, w = graph.add_parameter("n", i64()), graph.add_parameter("x", f64(2)), graph.add_parameter("w", f64(2))
    result = AbstractTuple((f64(2),))

    def recurse(target, *args):
        node = target.add(call, *args, graph=graph, abstract=result)
        return target.add(tuple_getitem, node, index=0, abstract=f64(2))
    deeper = FuncGraph("f/false")
    params = [deeper.add_parameter(p.name, p.abstract) for p in graph.parameters]
    with building(deeper):
        m = params[0] - 1
        deeper.set_outputs([recurse(deeper, m, ops.tanh(params[1] * params[2]), params[2]) * params[1]
                            + recurse(deeper, m, params[1], params[2])], make_tuple)
    base = typed(lambda n, x, w: ops.tanh(x), i64(), f64(2), f64(2), name="f/true")
    with building(graph):
        graph.set_outputs(cond(n < 1, n, x, w, true=base, false=deeper), make_tuple)
    return graph
