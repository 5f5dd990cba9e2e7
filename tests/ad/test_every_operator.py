"""Every operator as a graph: forward and reverse mode agree after the passes, and vmap is the stack of the results."""
import numpy as np
import pytest
from samples import SAMPLES

from mindlite.ad import jvp_graph, vjp_graph
from mindlite.ad.activity import is_smooth
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor
from mindlite.mindir.builder import constant, typed
from mindlite.mindir.evaluate import run
from mindlite.mindir.primitive import find_primitive
from mindlite.optim import optimise
from mindlite.vmap import vmap_graph

CASES = [pytest.param(find_primitive(name), *row, id=f"{name}-{i}") for name, rows in SAMPLES.items()
         for i, row in enumerate(rows) if not find_primitive(name).traits & {"effect", "random"}]
# <v, Jw> of complex numbers is looked at in tests/ops; the derivative of eigenvalues is an error
REAL = [c for c in CASES if c.values[0].name not in ("complex", "eigenpairs") and not any(map(np.iscomplexobj, c.values[1]))]


def graph_of(prim, args, attrs):
    abstracts = [constant(a).abstract for a in args]
    abstracts = [AbstractScalar(a.type) if isinstance(a, AbstractScalar) else a for a in abstracts]
    return typed(lambda *xs: prim(*xs, **attrs), *abstracts, name=prim.name)


@pytest.mark.parametrize("prim, args, attrs", REAL)
def test_forward_and_reverse_mode_agree(prim, args, attrs):
    graph, random = graph_of(prim, args, attrs), np.random.default_rng(0)
    seeds = [i for i, out in enumerate(graph.outputs) if is_smooth(out.abstract)]
    wrt = [i for i, p in enumerate(graph.parameters) if is_smooth(p.abstract)]
    outs = run(graph, *args)
    cotangents = [random.normal(size=np.shape(outs[i])).astype(outs[i].dtype) for i in seeds]
    tangents = [random.normal(size=np.shape(args[i])).astype(args[i].dtype) for i in wrt]
    gradients = run(optimise(vjp_graph(graph, wrt, seeds)), *args, *cotangents)[len(outs):]
    slopes = run(optimise(jvp_graph(graph, wrt)), *args, *tangents)[len(outs):]
    np.testing.assert_allclose(sum(np.sum(c * slopes[i].astype(float)) for c, i in zip(cotangents, seeds)),
                               sum(np.sum(g * t.astype(float)) for g, t in zip(gradients, tangents)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("prim, args, attrs", [c for c in CASES if "dynamic" not in c.values[0].traits])
def test_mapping_is_stacking(prim, args, attrs):
    graph, outs = graph_of(prim, args, attrs), run(graph_of(prim, args, attrs), *args)
    axes = [0 if isinstance(p.abstract, AbstractTensor) else None for p in graph.parameters]
    operands = [a if axis is None else np.stack([a, a]) for a, axis in zip(args, axes)]
    for seen, wanted in zip(run(vmap_graph(graph, axes, [0] * len(outs), 2), *operands), outs):
        np.testing.assert_allclose(seen, np.stack([wanted, wanted]), rtol=1e-5, atol=1e-6)
