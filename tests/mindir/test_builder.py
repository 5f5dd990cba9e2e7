"""Writing typed graphs by running Python over nodes."""
import numpy as np
import pytest

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol, UnknownValueError
from mindlite.common.errors import ArgumentError, ShapeError
from mindlite.common.location import Location, Origin
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from mindlite.mindir.builder import append, building, constant, typed, written
from mindlite.mindir.control import cond, make_tuple, tuple_getitem
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph, ValueNode
from mindlite.mindir.primitive import is_interpreting


def f32(*shape):
    return AbstractTensor(dt.float32, shape)


def test_operators_append_typed_nodes_in_program_order():
    graph = typed(lambda x, y: ops.tanh(x) * y + 1, f32(2), f32(2), name="f")
    assert [n.fn.name for n in graph.nodes] == ["tanh", "mul", "add"]
    assert [p.name for p in graph.parameters] == ["x", "y"]
    assert all(str(n.abstract) == "f32[2]" for n in graph.nodes)
    assert graph.output.fn is make_tuple and graph.outputs == (graph.nodes[-1],)
    assert not is_interpreting()


def test_several_results_are_nodes_that_read_them():
    graph = typed(lambda x: ops.topk(x, 2), f32(4, 3))
    many = [n for n in graph.nodes if isinstance(n.abstract, AbstractTuple)]
    assert len(many) == 1 and [n.fn for n in graph.outputs] == [tuple_getitem] * len(graph.outputs)
    assert [n.attrs["index"] for n in graph.outputs] == list(range(len(many[0].abstract.elements)))


def test_the_same_function_computes_and_writes():
    def f(x, y):
        return ops.tanh(x @ y).sum(0), x.shape[0]
    x, y = np.ones((3, 2), np.float32), np.ones((2, 4), np.float32)
    graph = typed(f, f32(3, 2), f32(2, 4))
    total, rows = run(graph, x, y)
    np.testing.assert_allclose(total, f(Tensor(x), Tensor(y))[0].asnumpy(), rtol=1e-6)
    assert rows == 3


def test_sizes_that_are_open_stay_open():
    n = Symbol("N").dim
    graph = typed(lambda x: (ops.concat((x, x)), x.shape[0] * 2), f32(n, 3))
    assert str(graph.outputs[0].abstract) == "f32[2*N, 3]" and graph.outputs[1].value == 2 * n


@pytest.mark.parametrize("value, abstract", [
    (np.ones((2, 3), np.float16), "f16[2, 3]"), (Tensor([1, 2]), "i64[2]"), (np.int8(3), "i8[]"),
    (True, "bool"), (3, "int=3"), (2.5, "float"), (Symbol("N").dim * 2, "int=2*N"),
], ids=str)
def test_constants_have_their_type(value, abstract):
    node = constant(value)
    assert isinstance(node, ValueNode) and str(node.abstract) == abstract


@pytest.mark.parametrize("value", ["text", None, [1, 2], object()], ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_no_constant(value):
    with pytest.raises(ArgumentError, match="cannot take"):
        constant(value)


def test_nodes_carry_the_origin_of_their_block():
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(2))
    first, second = Origin(Location("a.py", 1)), Origin(Location("a.py", 2))
    with building(graph, first, by="test") as builder:
        a = ops.tanh(x)
        with builder.at(second):
            b = ops.tanh(a)
        c = ops.tanh(b)
    assert [n.origin.location.line for n in (a, b, c)] == [1, 2, 1] and {n.origin.by for n in (a, b, c)} == {"test"}


def test_an_error_stands_at_the_origin():
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(2, 3))
    with building(graph, Origin(Location("a.py", 7))), pytest.raises(ShapeError) as caught:
        ops.matmul(x, x)
    assert caught.value.location is not None and graph.nodes == []


def test_nodes_are_like_arrays_but_have_no_truth():
    def f(x):
        assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, dt.float32)
        with pytest.raises(TypeError, match="run time"):
            bool(x)
        return np.float32(2) * x + np.ones(3, np.float32)
    graph = typed(f, f32(2, 3))
    assert run(graph, np.ones((2, 3), np.float32))[0].tolist() == [[3] * 3] * 2


def test_control_nodes_of_a_known_type_are_appended():
    true, false = (typed(lambda x, k=k: x * k, f32(2), name=str(k)) for k in (2.0, 3.0))
    graph = typed(lambda p, x: append(cond, p, x, abstract=true.output.abstract, true=true, false=false)[0],
                  AbstractScalar(bool), f32(2))
    x = np.ones(2, np.float32)
    assert [run(graph, p, x)[0].tolist() for p in (True, False)] == [[2, 2], [3, 3]]


def test_written_gives_the_graph_to_its_writer():
    graph = written("g", ["a", "b"], [f32(2), AbstractScalar(int)], lambda graph, a, b: (a * 2, b), by="test")
    assert [p.name for p in graph.parameters] == ["a", "b"] and graph.outputs[1] is graph.parameters[1]


@pytest.mark.parametrize("number", [0, 1.5, True, 2j])
def test_whether_a_value_of_a_graph_is_a_number_is_asked_for_in_words_not_answered_by_identity(number):
    node, = typed(lambda x: x, f32()).parameters
    for ask in (lambda: node == number, lambda: number != node, lambda: node in (None, number)):
        with pytest.raises(UnknownValueError, match="known at run time only"):
            ask()
    assert node == node and node != "mean" and node in (None, node) and len({node, node}) == 1
