"""What a training step does in each iteration of a loop, and what it does once."""
import numpy as np

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.compile.jit import JitFunction
from mindlite.mindir.control import while_loop


def tensor(*shape, seed=0):
    return Tensor((np.random.default_rng(seed).normal(size=shape) * 0.3).astype(np.float32))


def recurrence(w, xs):
    """h = tanh(x[t] @ upper half of w + h @ lower half), 6 times"""
    h = ops.zeros((2, 4))
    for t in range(6):
        h = ops.tanh(ops.matmul(xs[t], w[:3]) + ops.matmul(h, w[3:]))
    return (h * h).sum()


def operators_in_loops(graph):
    """The names of the operators in the bodies of all loops."""
    bodies = [node.attrs["body"] for below in graph.reachable() for node in below.nodes if node.fn is while_loop]
    return [getattr(node.fn, "name", "") for body in bodies for below in body.reachable() for node in below.nodes]


def test_the_slices_of_a_weight_are_taken_once_and_not_at_each_turn():
    w, xs = tensor(7, 4), tensor(6, 2, 3, seed=1)
    jitted = JitFunction(recurrence)
    assert np.allclose(jitted(w, xs).asnumpy(), recurrence(w, xs).asnumpy(), rtol=1e-5)
    inside = operators_in_loops(jitted.graph("optimise"))
    assert "batch_matmul" in inside and "slice" not in inside


def test_the_gradient_saves_no_slice_of_a_weight():
    w, xs = tensor(7, 4), tensor(6, 2, 3, seed=1)
    jitted = JitFunction(ms.value_and_grad(recurrence, 0))
    loss, gradient = jitted(w, xs)
    _, expected = ms.value_and_grad(recurrence, 0)(w, xs)
    assert np.allclose(gradient.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-6)
    assert np.allclose(loss.asnumpy(), recurrence(w, xs).asnumpy(), rtol=1e-5)
    graph = jitted.graph("optimise")
    pushed = [a.abstract.shape for below in graph.reachable() for node in below.nodes
              if getattr(node.fn, "name", "") == "tape_push" for a in node.args[1:] if hasattr(a.abstract, "shape")]
    assert (2, 4) in pushed and (3, 4) not in pushed and (4, 4) not in pushed
