"""The verifier of typed graphs: one graph is broken in each way, and the message names the pass, the node and the line."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.common import dtype as dt
from mindlite.common.config import config
from mindlite.common.dim import Symbol
from mindlite.common.errors import InternalError
from mindlite.compile import passes
from mindlite.compile.passes import Pass, Pipeline, Wanted
from mindlite.mindir.abstract import AbstractTensor, AbstractTuple
from mindlite.mindir.control import J, Vmap, cond, make_tuple, segment, while_loop
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.inline import clone
from mindlite.mindir.verify import verify


def program(x, w):
    y = x * w
    i = 0
    while y.sum() < 10:
        y = y * 2 + w
        i = i + 1
    if y[0] > w[0]:
        y = ops.tanh(y)
    else:
        y = y - 1
    print(y.shape[0])
    print(i)
    return ops.softmax(y).sum()


@pytest.fixture(scope="module")
def graph():
    compiled = ms.jit(program)
    compiled(Tensor(np.ones(3, np.float32)), Tensor(np.ones(3, np.float32)))
    return compiled.compiled.latest().compiled.full.stages["infer"]


def first(graph, fn):
    """The first node of a primitive (or of that name), here or below."""
    return next(n for g in graph.reachable() for n in g.nodes if n.fn is fn or getattr(n.fn, "name", "") == fn)


def another_dtype(g):
    first(g, "mul").abstract = AbstractTensor(dt.float64, (3,))


def another_size(g):
    first(g, "mul").abstract = AbstractTensor(dt.float32, (4,))


def no_type(g):
    first(g, "mul").abstract = None


def read_before_it_is_made(g):
    g.nodes.insert(0, g.nodes.pop(g.nodes.index(first(g, "softmax"))))


def a_value_of_another_graph(g):
    body = first(g, while_loop).attrs["body"]
    body.set_outputs([g.parameters[0], *body.outputs[1:]], make_tuple)


def a_size_that_nothing_has(g):
    node = first(g, "mul")
    node.abstract = AbstractTensor(dt.float32, (Symbol("s").dim * 2,))


def a_side_takes_more(g):
    first(g, cond).attrs["true"].add_parameter("more", AbstractTensor(dt.float32, ()))


def a_side_gives_another_type(g):
    side = first(g, cond).attrs["false"]
    value = side.add(ops.cast, side.outputs[0], dtype=dt.float64, abstract=AbstractTensor(dt.float64, (3,)))
    side.set_outputs([value, *side.outputs[1:]], make_tuple)


def a_body_gives_less(g):
    body = first(g, while_loop).attrs["body"]
    body.set_outputs(body.outputs[:-1], make_tuple)


def too_many_invariants(g):
    node = first(g, while_loop)
    node.attrs = {**node.attrs, "invariants": len(node.args) + 1}


def no_output(g):
    g.output = g.nodes[0]


def an_element_too_far(g):
    node = first(g, "tuple_getitem")
    node.attrs = {**node.attrs, "index": 9}


def operands_that_the_rule_refuses(g):
    node = first(g, "mul")
    node.args = (node.args[0], g.add_parameter("p", AbstractTensor(dt.float32, (5,))))


FAULTS = {
    another_dtype: "mul : f64.3.: its infer rule says f32.3., not f64.3.",
    another_size: "mul : f32.4.: its infer rule says f32.3., not f32.4.",
    no_type: "mul : None: it has no type",
    read_before_it_is_made: "softmax .*: it reads %.*, which stands behind it",
    a_value_of_another_graph: "program/while, .*: it reads %x0, which is a value of program",
    a_size_that_nothing_has: r"mul : .*: its size 2\*s is computed from s, which nothing above it has",
    a_side_takes_more: "cond : .*: its side true takes . values, not .",
    a_side_gives_another_type: "cond : .*program/false gives f64.3., not f32.3.",
    a_body_gives_less: "while_loop : .*: its body gives . values, not .",
    too_many_invariants: "while_loop : .*: it has .* invariants and .* operands",
    no_output: "program has no make_tuple as its output",
    an_element_too_far: "tuple_getitem : .* has no element 9",
    operands_that_the_rule_refuses: "mul : .*: its infer rule refuses its operands: .*broadcast",
}


def test_a_graph_that_is_right_is_let_pass(graph):
    verify(graph, "infer (stage infer)")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_named_with_its_pass_its_node_and_the_users_line(graph, fault):
    broken = clone(graph)
    fault(broken)
    with pytest.raises(InternalError, match=f"behind the pass simplify .stage optimise.: .*{FAULTS[fault]}") as caught:
        verify(broken, "simplify (stage optimise)")
    if fault not in (no_output, a_value_of_another_graph):
        assert "test_verify.py:" in str(caught.value)


def test_python_code_that_changes_places_is_a_fault(graph):
    before = passes.order_of_effects(graph)
    assert len(before) == 2
    verify(clone(graph), "simplify (stage optimise)", before)
    broken = clone(graph)
    one, other = [number for number, node in enumerate(broken.nodes) if node.fn is segment]
    broken.nodes[one], broken.nodes[other] = broken.nodes[other], broken.nodes[one]
    with pytest.raises(InternalError, match="segment : .*: it runs Python code behind code that stood behind it before"):
        verify(broken, "simplify (stage optimise)", before)


@pytest.mark.parametrize("marker", [J, Vmap], ids=lambda marker: marker.name)
def test_a_marker_behind_transform_is_a_fault(marker, monkeypatch):
    def leave(graph, wanted):
        made = clone(graph)
        attrs = {J: {"graph": empty(), "wrt": (), "seeds": (), "mode": "vjp"},
                 Vmap: {"graph": empty(), "in_axes": (), "out_axes": (), "size": 2}}[marker]
        made.add(marker, abstract=AbstractTuple(()), origin=made.nodes[0].origin, **attrs)
        return made
    monkeypatch.setattr(config, "verify_graphs", True)
    pipeline = Pipeline([Pass("derive", "transform", leave, ("typed",), ("derived",))])
    graph = FuncGraph("f")
    graph.add_parameter("x", AbstractTensor(dt.float32, (3,)))
    graph.set_outputs([graph.add(ops.tanh, graph.parameters[0], abstract=AbstractTensor(dt.float32, (3,)))], make_tuple)
    with pytest.raises(InternalError, match=f"behind the pass derive .stage transform.: {marker.name} is there"):
        pipeline.run(graph, Wanted("O1"))


def empty():
    graph = FuncGraph("g")
    graph.set_outputs([], make_tuple)
    return graph


def test_a_pass_that_breaks_a_graph_is_named_by_the_call(monkeypatch):
    fold = passes.optimise

    def broken(graph):
        made = fold(graph)
        first(made, "mul").abstract = AbstractTensor(dt.float64, (2,))
        return made
    monkeypatch.setattr(config, "verify_graphs", True)
    monkeypatch.setattr(passes, "optimise", broken)
    with pytest.raises(InternalError, match="behind the pass simplify .stage optimise.: in double, mul : f64.2.") as caught:
        ms.jit(double, fullgraph=True)(Tensor([1.0, 2.0]))
    assert "return x * x" in str(caught.value)


def double(x):
    return x * x
