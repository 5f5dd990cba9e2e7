"""Textual MindIR: what people read, and that it reads back as the same graph."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol, atoms_in, dim_max, dim_min, evaluate, lone_symbol
from mindlite.common.location import Location, Origin
from mindlite.common.tensor import Parameter, Tensor
from mindlite.mindir.abstract import AbstractScalar, AbstractTape, AbstractTensor, AbstractTuple
from mindlite.mindir.builder import append, building, typed
from mindlite.mindir.control import call, check, cond, make_tuple, tape_new, tape_pop, tape_push, while_loop
from mindlite.mindir.equality import difference, same_graph
from mindlite.mindir.graph import CNode, FuncGraph, ValueNode
from mindlite.mindir.printer import show, write
from mindlite.mindir.reader import read
from mindlite.mindir.tokens import ReadError
from mindlite.parse.parse import parse_function


def f32(*shape):
    return AbstractTensor(dt.float32, shape)


def branching():
    n = Symbol("N", 1, 64).dim
    rows = f32(n, 3)
    true = typed(lambda x: ops.tanh(x), rows, name="f/true")
    false = typed(lambda x: x * 2.5, rows, name="f/false")
    return typed(lambda x: append(cond, ops.reduce_sum(x) > 0, x, abstract=true.output.abstract, true=true, false=false)[0],
                 rows, name="f")


def assert_reads_back(graph):
    text = write(graph)
    again = read(text)
    assert difference(graph, again) is None
    assert write(again) == text


def test_a_graph_prints_as_a_function():
    assert show(branching()) == """\
symbols N in 1..64

graph @f(%x: f32[N, 3]) {
  %1 = reduce_sum(%x, axis=(0, 1), keepdims=False) : f32[]
  %2 = greater(%1, f32(0.0)) : bool[]
  %3 = cond(%2, %x, true=@f/true, false=@f/false) : (f32[N, 3],)
  %4 = tuple_getitem(%3, index=0) : f32[N, 3]
  return %4
}

graph @f/true(%x: f32[N, 3]) {
  %1 = tanh(%x) : f32[N, 3]
  return %1
}

graph @f/false(%x: f32[N, 3]) {
  %1 = mul(%x, f32(2.5)) : f32[N, 3]
  return %1
}
"""


def test_the_users_line_stands_beside_what_came_from_it_once():
    line = test_the_users_line_stands_beside_what_came_from_it_once.__code__.co_firstlineno
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(2))
    with building(graph, Origin(Location(__file__, line))):
        graph.set_outputs([ops.tanh(ops.tanh(x))], make_tuple)
    first, second = show(graph).splitlines()[1:3]
    name = "def test_the_users_line_stands_beside_what_came_from_it_once..."[:57] + "..."
    assert first.startswith("  %1 = tanh(%x) : f32[2]  ") and first.endswith(f"  # test_printer.py:{line}  {name}")
    assert second == "  %2 = tanh(%1) : f32[2]"
    assert "#" not in show(graph, source=False)


def test_what_a_transformation_made_says_so():
    graph = typed(ops.tanh, f32(2), name="f", origin=Origin(Location("model.py", 3)), by="vjp")
    assert "(vjp)" in show(graph)
    assert ' by "vjp"' in write(graph)


def test_a_syntax_graph_prints_its_blocks():
    def f(x):
        if x > 0:
            return x
        return -x
    assert show(parse_function(f), source=False) == """\
graph @f(%x) {
  %1 = compare(%x, 0, op=">")
  switch(%1, true=@f/true, false=@f/false, join=None)
}

block @f/true() {
  return %x
}

block @f/false() {
  %2 = unary(%x, op="-")
  return %2
}
"""


def test_branches_read_back():
    assert_reads_back(branching())


def test_recursive_graphs_read_back():
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(2))
    node = CNode(graph, call, (x,), {"graph": graph}, f32(2))
    graph.nodes.append(node)
    graph.set_outputs([node], make_tuple)
    assert_reads_back(graph)


def test_two_graphs_of_one_name_stay_two():
    left, right = typed(lambda x: x + 1, f32(2), name="g"), typed(lambda x: x - 1, f32(2), name="g")
    graph = typed(lambda p, x: append(cond, p, x, abstract=left.output.abstract, true=left, false=right)[0],
                  AbstractScalar(bool), f32(2), name="f")
    assert "@g:2" in write(graph)
    assert_reads_back(graph)


def test_loops_and_tapes_read_back():
    body = typed(lambda i, x: (i + 1, ops.tanh(x)), AbstractScalar(int), f32(2), name="f/while")
    test = typed(lambda i, x: i < 3, AbstractScalar(int), f32(2), name="f/while.test")

    def f(x):
        i, y = append(while_loop, 0, x, abstract=body.output.abstract, cond=test, body=body, invariants=0)
        tape = FuncGraph.add(graph, tape_new, abstract=AbstractTape())
        tape = FuncGraph.add(graph, tape_push, tape, y, abstract=AbstractTape())
        _, z = append(tape_pop, tape, abstract=AbstractTuple((AbstractTape(), f32(2))), abstracts=(f32(2),))
        return z
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(2))
    with building(graph) as builder:
        graph.set_outputs([builder.lift(f(x))], make_tuple)
    assert "abstracts=(<f32[2]>,)" in write(graph)
    assert_reads_back(graph)


def test_a_cluster_is_called_by_its_name():
    inner = typed(lambda x: ops.tanh(x) * 2, f32(4), name="fused_tanh_mul")
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(4))
    node = graph.add(inner, x, abstract=f32(4))
    graph.set_outputs([node], make_tuple)
    assert "%1 = @fused_tanh_mul(%x) : f32[4]" in show(graph)
    assert_reads_back(graph)


def test_weights_keep_name_values_and_flags():
    weight = Parameter(Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)), "dense.weight", requires_grad=False)
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(2, 3))
    w = graph.add_parameter("dense.weight", f32(3, 4), default=weight)
    with building(graph):
        graph.set_outputs([ops.matmul(x, w)], make_tuple)
    assert_reads_back(graph)
    assert read(write(graph)).parameters[1].default.requires_grad is False
    assert "from 0 to 11, mean 5.5" in show(graph)
    with pytest.raises(ReadError, match="left out"):
        read(show(graph))


@pytest.mark.parametrize("array", [
    np.float32([0.1, -0.0, np.inf, -np.inf, np.nan]), np.float64([1 / 3, 5e-324, 1e300]), np.float16([65504, 1e-7]),
    np.array([True, False]), np.array(7), np.array([2 ** 64 - 1], np.uint64), np.zeros((2, 0, 3), np.int8),
    np.complex64([1 + 2j]), np.arange(100, dtype=np.int16).reshape(10, 10), np.zeros((0, 20), np.float32),
    np.array([0x7fc00001], np.uint32).view(np.float32), np.array([1.5, 3e38], dt.bfloat16.numpy)], ids=str)
def test_constants_keep_every_bit(array):
    graph = FuncGraph("f")
    graph.set_outputs([ValueNode(array, AbstractTensor(dt.dtype(array.dtype), array.shape))], make_tuple)
    assert_reads_back(graph)


N, M = Symbol("N", 1), Symbol("M", 0, 9)


@pytest.mark.parametrize("value", [
    None, True, 3, -3, 2.5, -1e-30, 1e300, float("inf"), float("-inf"), float("nan"), -0.0, "text \"#0\" \\ \n ü", "",
    (), (1,), (1, (2, "a")), [], [1, [2.0]], {"a": (1,), 2: None}, slice(0, None, -1), 2 + 3j, b"\x00\xff", dt.float32,
    dt.bool_, (dt.bfloat16, dt.int64), f32(2, 3), AbstractScalar(int), N.dim, -N.dim, 2 * N.dim * N.dim - M.dim + 1,
    (N.dim + 1) // 4, N.dim % (2 * M.dim + 1), N.dim // (N.dim * M.dim), dim_max(N.dim, M.dim), dim_min(N.dim - 5, 7),
    (N.dim // 3) * (M.dim % 2), np.float32([1, 2]), np.arange(20), Tensor([1, 2])], ids=repr)
def test_static_values_read_back(value):
    graph = FuncGraph("f")
    x = graph.add_parameter("x", f32(N.dim, M.dim))
    node = CNode(graph, make_tuple, (x,), {}, f32(N.dim, M.dim))
    graph.nodes.append(node)
    graph.set_outputs([ValueNode(value, f32())], make_tuple)
    assert_reads_back(graph)


@pytest.mark.parametrize("name", ["batch size", "f32", "max", "2nd", "", "ü"])
def test_a_symbol_of_any_name_reads_back(name):
    one, two = Symbol(name or None, 0, 8).dim, Symbol(name or None, 1).dim
    graph = typed(lambda x, y: (ops.tanh(x), y), f32(one), f32(two), name="f")
    assert_reads_back(graph)


@pytest.mark.parametrize("name", ["grad f", "f/true", "<lambda>", "a\"b", "1", "Net.construct", ""])
def test_graphs_and_parameters_of_any_name_read_back(name):
    graph = FuncGraph(name)
    first, second = graph.add_parameter(name, f32(1)), graph.add_parameter(name, f32(1))
    with building(graph):
        graph.set_outputs([first - second], make_tuple)
    assert_reads_back(graph)


def test_what_lives_in_the_process_alone_is_refused_by_the_reader():
    graph = FuncGraph("f")
    x = graph.add_parameter("x", AbstractScalar(bool))
    graph.add(check, x, error=test_a_cluster_is_called_by_its_name, abstract=AbstractTuple(()))
    graph.set_outputs([], make_tuple)
    assert 'error=?"test_a_cluster_is_called_by_its_name"' in show(graph)
    with pytest.raises(ReadError, match="has no text"):
        read(write(graph))


@pytest.mark.parametrize("text, line, column, words", [
    ("", 1, 1, "no graph"),
    ("graph @f() {", 1, 13, "the text ends"),
    ("graph @f() {\n  return %x\n}", 2, 10, "%x is used before it is defined"),
    ("graph @f(%x: f32[2]) {\n  %1 = nonsense(%x) : f32[2]\n  return %1\n}", 2, 8, "no operator is named 'nonsense'"),
    ("graph @f(%x: f32[2]) {\n  %1 = tanh(%x, %x) : f32[2]\n  return %1\n}", 2, 8, "tanh takes 1 arrays, 2 are given"),
    ("graph @f(%x: f32[2]) {\n  %1 = tanh(%x, a=1) : f32[2]\n  return %1\n}", 2, 8, "tanh has no attribute 'a'"),
    ("graph @f(%x: f32[2]) {\n  %1 = cast(%x) : f32[2]\n  return %1\n}", 2, 8, "cast needs the attribute 'dtype'"),
    ("graph @f(%x: f33[2]) {\n  return %x\n}", 1, 14, "a type is expected, not 'f33'"),
    ("graph @f(%x: f32[K]) {\n  return %x\n}", 1, 18, "no symbol of that name"),
    ("graph @f(%x: f32[2.5]) {\n  return %x\n}", 1, 18, "a size is expected"),
    ("graph @f(%x: int, %x: int) {\n  return\n}", 1, 19, "%x is defined twice"),
    ("graph @f() {\n  return f32[3](1.0)\n}", 2, 10, "has 3 elements, 1 are given"),
    ("graph @f() {\n  return u8(256)\n}", 2, 10, "does not fit into u8"),
    ("graph @f() {\n  return f32[9](#0)\n}", 2, 17, "#0 is defined nowhere"),
    ("graph @f() {\n  return f32[9](#0)\n}\nconstants {\n  #0 = 4 bytes\n    \"AAAAAA==\"\n}", 2, 17, "needs 36"),
    ("constants {\n  #0 = 5 bytes\n    \"AAAAAA==\"\n}", 2, 3, "#0 has 4 bytes, 5 are announced"),
    ("constants {\n  #0 = 5 bytes\n    \"A\"\n}", 2, 3, "no base64"),
    ("graph @f() {\n  return\n}\ngraph @f() {\n  return\n}", 4, 7, "@f is defined twice"),
    ("graph @f(%p: bool) {\n  %1 = cond(%p, true=@g, false=@g) : ()\n  return\n}", 2, 22, "@g is defined nowhere"),
    ("graph @f() {\n  return at l1\n}", 2, 13, "the location l1 is defined nowhere"),
    ("symbols N in 5..3", 1, 9, "hold nothing"),
    ("graph @f() {\n  return 1 // 0\n}", 2, 12, "division by zero"),
    ("graph @f() {\n  return \"a\" + 1\n}", 2, 14, "between sizes only"),
    ("graph @f() {\n  return " + "(" * 5000 + "\n}", 2, 43, "levels of brackets"),
    ("graph @f() {\n  return " + "9" * 5000 + "\n}", 2, 10, "too many digits"),
    ("graph @f() {\n  return {[]: 1}\n}", 2, 11, "key of a dict"),
    ("graph @f() {\n  return \"a\\q\"\n}", 2, 10, "bad escape"),
    ("graph $f", 1, 7, "'$' does not belong here"),
    ("block @f() {\n}", 1, 1, "printed only"),
    ("whatever", 1, 1, "is expected, not 'whatever'")])
def test_malformed_text_is_refused_at_its_place(text, line, column, words):
    with pytest.raises(ReadError) as caught:
        read(text)
    assert words in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_error_shows_the_line_and_points_at_the_column():
    with pytest.raises(ReadError) as caught:
        read("graph @f() {\n  return %x\n}")
    assert str(caught.value) == "line 2, column 10: %x is used before it is defined\n      return %x\n             ^"


SIZES = st.lists(st.sampled_from([1, 2, 3, N.dim, 2 * N.dim, N.dim + M.dim]), min_size=1, max_size=3).map(tuple)
CONSTANTS = st.one_of(st.floats(width=32), st.integers(-2 ** 31, 2 ** 31 - 1), st.booleans())


@st.composite
def graphs(draw, depth=2):
    """A random typed graph: elementwise operators, constants, nested branches."""
    shape = draw(SIZES)
    graph = FuncGraph(draw(st.text(max_size=4)))
    values = [graph.add_parameter(draw(st.text(max_size=3)), f32(*shape)) for _ in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(0, 6))):
        place = draw(st.one_of(st.none(), st.builds(Location, st.text(max_size=5), st.integers(1, 99), st.integers(0, 9))))
        with building(graph, Origin(place, None, draw(st.sampled_from(["", "vjp"])))):
            kind = draw(st.integers(0, 3 if depth else 2))
            a, b = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            if kind == 0:
                values.append(ops.tanh(a))
            elif kind == 1:
                values.append(a * b)
            elif kind == 2:
                values.append(a + np.float32(draw(st.floats(width=32))))
            else:
                inner = draw(graphs(depth=depth - 1))
                if tuple(p.abstract for p in inner.parameters) == (a.abstract,) * len(inner.parameters):
                    values.append(append(cond, True, *[a] * len(inner.parameters), abstract=inner.output.abstract,
                                         true=inner, false=inner)[0])
    results = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    graph.set_outputs(results + [ValueNode(c, AbstractScalar(type(c))) for c in draw(st.lists(CONSTANTS, max_size=2))],
                      make_tuple)
    return graph


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_random_graphs_read_back(graph):
    assert_reads_back(graph)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_text_is_read_or_refused_but_never_breaks(data):
    text = write(branching())
    position = data.draw(st.integers(0, len(text) - 1))
    word = data.draw(st.sampled_from(["", "(", ")", "%", "9", "#", '"', "\n", "x", "@"]))
    damaged = text[:position] + word + text[position + 1:]
    try:
        read(damaged)
    except ReadError as error:
        assert error.line >= 1 and error.column >= 1


def test_a_change_anywhere_is_another_graph():
    graph, text = branching(), write(branching())
    for old, new in [("2.5", "2.6"), ("tanh", "exp"), ("keepdims=False", "keepdims=True"), ("N in 1..64", "N in 1..65"),
                     ("@f/true", "@f/yes"), ("f32[N, 3]", "f32[N, 4]"), ("return %4", "return %1"), ("%x: ", "%y: ")]:
        changed = text.replace(old, new)
        changed = changed.replace("(%x", "(%y").replace(", %x", ", %y") if new == "%y: " else changed
        assert changed != text and not same_graph(graph, read(changed)), (old, new)


def test_nodes_can_be_named_by_their_operators():
    text = show(typed(lambda x: (x * x) * ops.tanh(x), f32(2), name="f"), names="operators")
    assert text.splitlines()[1:4] == ["  %mul = mul(%x, %x) : f32[2]", "  %tanh = tanh(%x) : f32[2]",
                                      "  %mul:2 = mul(%mul, %tanh) : f32[2]"]


def test_parts_of_a_long_size_have_names_and_the_text_reads_back():
    """One of more than 400 atoms was shown by a number that nobody could read, the reader neither."""
    n, other = Symbol("N"), Symbol("d1", lo=0)
    size = n.dim
    for k in range(12):
        size = dim_max(dim_min(size * 2 - k, other.dim + k), (size + k) // 3)
    assert atoms_in(size) > 20_000
    graph = FuncGraph("f")
    graph.output = graph.add_parameter("x", f32(n.dim, other.dim, size))
    text = write(graph)
    assert len(text) < 2000 and "sizes {\n  d2 = max(min(2*max(" in text and "graph @f(%x: f32[N, d1, d7])" in text
    assert show(graph).startswith(text[:text.index("graph")])
    again = read(text)
    assert write(again) == text
    read_n, read_other, read_size = again.parameters[0].abstract.shape
    for a in range(1, 9):
        for b in range(9):
            assert evaluate(size, {n: a, other: b}) == evaluate(read_size, {lone_symbol(read_n): a, lone_symbol(read_other): b})


@pytest.mark.parametrize("sizes, complaint", [
    ("  d = N + 1\n  d = N + 2", "defined twice"), ("  N = 3", "defined twice"),
    ("  d = e + 1\n  e = N", "no symbol of that name"),
    ("  d = (N, 1)", "a size is expected"), ("  d = ", "a value is expected"), ("  3 = N", "word")])
def test_a_malformed_table_of_sizes_is_refused(sizes, complaint):
    with pytest.raises(ReadError, match=complaint):
        read(f"symbols N in 1..\n\nsizes {{\n{sizes}\n}}\n\ngraph @f(%x: f32[N]) {{\n  return %x\n}}\n")
