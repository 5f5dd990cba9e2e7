"""What the tests of derivatives share: typed graphs over float64, and derivatives by central differences."""

import numpy as np

from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.evaluate import run
from mindlite.mindir.primitive import Primitive
from mindlite.optim import optimise


def f64(*shape):
    return AbstractTensor(dt.float64, shape)


def i64(*shape):
    return AbstractTensor(dt.int64, shape)


def private(name, *inputs, traits=()):
    """A primitive that stands in no table of operators."""
    return Primitive(name, inputs, {}, traits=traits)


def numeric_jvp(graph, arrays, wrt, tangents, step=1e-6):
    """Central differences of every output of `graph` along `tangents`, one for each parameter in `wrt`."""
    def moved(sign):
        points = [np.asarray(a) for a in arrays]
        for i, t in zip(wrt, tangents):
            points[i] = points[i] + sign * step * t
        return run(graph, *points)
    return [(np.asarray(a, float) - np.asarray(b, float)) / (2 * step) for a, b in zip(moved(1), moved(-1))]


def check_vjp(derive, graph, arrays, wrt=None, seeds=None, seed=0, tolerance=1e-6):
    """The derived graph, optimised or not, gives graph's outputs; <gradient, t> is the slope of <cotangent, outputs>."""
    random = np.random.default_rng(seed)
    wrt = tuple(range(len(graph.parameters))) if wrt is None else wrt
    seeds = tuple(range(len(graph.outputs))) if seeds is None else seeds
    arrays = [np.asarray(a, p.abstract.dtype.numpy) for a, p in zip(arrays, graph.parameters)]
    derived, outs = derive(graph, wrt, seeds), run(graph, *arrays)
    cotangents = [random.normal(size=np.shape(outs[i])) for i in seeds]
    results = run(derived, *arrays, *cotangents)
    for seen, wanted in zip(results, outs):
        np.testing.assert_allclose(seen, wanted)
    for seen, wanted in zip(run(optimise(derived), *arrays, *cotangents), results):
        np.testing.assert_allclose(seen, wanted, rtol=1e-12)
    gradients = results[len(outs):]
    assert len(gradients) == len(wrt)
    for i, gradient in zip(wrt, gradients):
        assert gradient.shape == arrays[i].shape and gradient.dtype == arrays[i].dtype
    for _ in range(2):
        tangents = [random.normal(size=arrays[i].shape) for i in wrt]
        slopes = numeric_jvp(graph, arrays, wrt, tangents)
        wanted = sum(np.sum(c * slopes[i]) for c, i in zip(cotangents, seeds))
        seen = sum(np.sum(g * t) for g, t in zip(gradients, tangents))
        np.testing.assert_allclose(seen, wanted, rtol=tolerance, atol=tolerance * 10)
    return derived
