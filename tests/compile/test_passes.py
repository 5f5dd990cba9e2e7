"""The passes as data: what may not be built, and that jit, recorded jit and the eager backward run the same ones."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.cli.main import STAGES as PRINTED
from mindlite.common.config import config
from mindlite.common.errors import InternalError
from mindlite.compile import passes
from mindlite.compile.passes import (BASIC, DERIVED, EAGER, FACTS, PIPELINE, RECORDED, SIMPLIFIED, TYPED, Omission,
                                     Pipeline, Wanted)
from mindlite.compile.pipeline import STAGES
from mindlite.graph_kernel.epilogue import FINISHED, epilogue
from mindlite.pynative import kernels


def test_a_pass_that_requires_what_no_pass_before_it_establishes_is_refused_when_the_pipeline_is_built():
    by_name = {one.name: one for one in PIPELINE.passes}
    with pytest.raises(InternalError, match="the pass cluster requires basic .composites written out., which no pass before"):
        Pipeline([by_name[name] for name in ("derive", "simplify", "cluster")])
    with pytest.raises(InternalError, match="the pass cluster requires simplified"):       # expanding undoes it
        Pipeline([by_name[name] for name in ("derive", "simplify", "expand_composites", "cluster")])
    with pytest.raises(InternalError, match="two passes of one name"):
        Pipeline([by_name["derive"], by_name["derive"]])


def test_the_same_is_refused_when_it_runs_with_less_given_or_more_left_out():
    graph = typed(lambda x: ops.tanh(x))
    with pytest.raises(InternalError, match="the pass simplify requires derived"):
        PIPELINE.run(graph, Wanted("O1"), (TYPED,), RECORDED)
    with pytest.raises(InternalError, match="the pass widen_halves requires simplified"):
        PIPELINE.run(graph, Wanted("O1"), without=[Omission(frozenset({"simplify_basic"}), "a test")])
    with pytest.raises(InternalError, match="no pass is named simpilfy"):
        PIPELINE.run(graph, Wanted("O1"), without=[Omission(frozenset({"simpilfy"}), "a test")])


def typed(f):
    compiled = ms.jit(f, fullgraph=True)
    compiled(Tensor(np.ones(3, np.float32)))
    return compiled.compiled.latest().compiled.full.stages["infer"]


def test_every_omission_says_why_and_leaves_a_pipeline_that_holds_together():
    for given, without in [((TYPED,), ()), ((DERIVED,), RECORDED), ((DERIVED, SIMPLIFIED), EAGER)]:
        for level in passes.LEVELS.values():
            assert {BASIC, SIMPLIFIED, DERIVED} <= PIPELINE.check(given, (*without, *level))
            assert all(omission.reason for omission in (*without, *level))


def test_what_is_printed_of_the_stages_is_the_pipelines():
    net = ms.jit(lambda x: ops.softmax(x), fullgraph=True)
    net(Tensor(np.ones(3, np.float32)))
    text = ms.debug.steps(net)
    for one in PIPELINE.passes:
        assert one.name in text and set(one.requires + one.establishes + one.undoes) <= FACTS.keys()
    assert STAGES == PRINTED == ("parse", "infer", *PIPELINE.stages, "plan")


# ---------------------------------------------------------------- one function, three ways

X = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
B = np.random.default_rng(2).standard_normal((1, 4, 1, 1)).astype(np.float32)


def network(x, w, b):
    return ops.relu(ops.conv2d(x, w, pad_mode="pad", padding=1) + b)


@pytest.fixture
def programs(monkeypatch):
    """The graphs that the pipeline gives, as they come: [(who ran it, graph)]"""
    made, run = [], Pipeline.run

    def record(self, graph, wanted, given=None, without=(), begins=None, seen=None):
        out = run(self, graph, wanted, given, without, begins, seen)
        made.append(({RECORDED: "recorded", EAGER: "eager"}.get(tuple(without), "jit"), out))
        return out
    monkeypatch.setattr(Pipeline, "run", record)
    return made


def launches(graph):
    """The kinds of kernel that a graph's program has: a convolution with its epilogue as "convolution+bias+relu"."""
    found = []
    for node in graph.nodes:
        fn = node.fn
        if getattr(fn, "kind", None) == FINISHED:
            found.append(f"{epilogue(fn)[0].fn.name}+{epilogue(fn)[1]}")
        elif not getattr(fn, "traits", frozenset()) & {"control", "view"}:
            found.append("fused" if hasattr(fn, "nodes") else fn.name)
    return sorted(found)


def test_jit_recorded_jit_and_the_eager_backward_fuse_and_launch_the_same(programs):
    x, w, b = Tensor(X), Tensor(W), Tensor(B)
    assert config.jit_level == "O1"
    plain = ms.jit(network, fullgraph=True)(x, w, b)
    (_, graph), = programs
    assert launches(graph) == ["convolution+bias+relu"]
    programs.clear()

    recorded = ms.jit(network, fullgraph=True)
    ms.grad(lambda b: recorded(x, w, b).sum())(b)
    forward = [graph for who, graph in programs if who == "recorded"]
    assert [launches(graph) for graph in forward] == [["convolution+bias+relu", "fused"]]      # and the mask that is saved
    assert [out.abstract.dtype.name for out in forward[0].outputs] == ["float32", "bool"]
    programs.clear()

    forward = ms.jit(network, fullgraph=True)
    forward(x, w, b)
    programs.clear()
    out, = kernels.Compiled(forward.compiled.latest().compiled.full.stages["transform"]).run([X, W, B])
    assert [launches(graph) for who, graph in programs if who == "eager"] == [["convolution+bias+relu"]]
    np.testing.assert_array_equal(out, plain.asnumpy())
