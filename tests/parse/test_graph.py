"""The shape of parsed graphs: names of blocks, phis, cells, interpret nodes, places, and what is refused."""
import inspect

import pytest

from mindlite.common.errors import GraphSyntaxError
from mindlite.mindir import syntax
from mindlite.mindir.graph import FuncGraph, Parameter, ValueNode
from mindlite.parse.parse import parse_function


def shape(graph):
    """{block: (names of its parameters, its terminator or the block that it jumps to)}"""
    return {block.name: ([p.name for p in block.parameters], block.output.fn.name) for block in graph.reachable()}


def nodes(graph, primitive):
    """All nodes of a primitive, in all graphs below."""
    return [node for block in graph.reachable() for node in block.nodes if node.fn is primitive]


def test_branches_are_blocks_and_phis_are_parameters():
    def f(x, unchanged):
        if x > unchanged:
            y = 1
        else:
            y = 2
        return y + unchanged
    graph = parse_function(f)
    assert shape(graph) == {"f": (["x", "unchanged"], "switch"), "f/true": ([], "f/after_if"),
                            "f/false": ([], "f/after_if"), "f/after_if": (["y"], "return")}
    switch = graph.output.attrs
    assert switch["join"].name == "f/after_if" and switch["join"].parent is graph
    assert (graph.kind, switch["true"].kind) == ("function", "block")


def test_a_branch_that_leaves_has_no_join():
    def f(x):
        if x:
            return 1
        y = x
        return y
    graph = parse_function(f)
    assert graph.output.attrs["join"] is None
    assert shape(graph) == {"f": (["x"], "switch"), "f/true": ([], "return"), "f/false": ([], "return")}


def test_loops_are_headers_with_phis_of_what_changes():
    def f(n, step):
        total = 0
        while n > 0:
            total += n
            n -= step
        for i in range(step):
            total += i
        return total
    graph = parse_function(f)
    assert shape(graph) == {
        "f": (["n", "step"], "f/while"), "f/while": (["n", "total"], "switch"), "f/while.body": ([], "f/while"),
        "f/while.after": ([], "f/for"), "f/for": (["index", "total"], "switch"), "f/for.body": ([], "f/for"),
        "f/for.after": ([], "return")}
    loops = {block.name: (block.loop, block.exit.name) for block in graph.reachable() if block.loop}
    assert loops == {"f/while": ("while", "f/while.after"), "f/for": ("for", "f/for.after")}


def test_break_and_the_normal_end_meet_after_the_loop():
    def f(n):
        while n:
            if n == 3:
                break
            n -= 1
        return n
    graph = parse_function(f)
    blocks = {block.name: block for block in graph.reachable()}
    assert blocks["f/while"].exit is blocks["f/while.after"]
    assert blocks["f/while"].output.attrs["false"] is blocks["f/while.else"]
    assert blocks["f/while.else"].output.fn is blocks["f/true"].output.fn is blocks["f/while.after"]


def test_an_endless_loop_has_no_exit():
    def f(n):
        while True:
            n += 1
            if n > 5:
                return n
    assert [block.exit for block in parse_function(f).reachable() if block.loop] == [None]


def test_a_captured_variable_that_stays_is_a_free_value():
    def f(x):
        y = x + 1

        def g(z):
            return y + z
        return g
    inner = nodes(parse_function(f), syntax.make_function)[0].attrs["graph"]
    total = inner.nodes[0]
    assert inner.name == "f.g" and inner.parent.name == "f" and inner.kind == "function"
    assert total.args[0] is inner.parent.nodes[0] and isinstance(total.args[1], Parameter)
    assert not nodes(inner.parent, syntax.cell_new)


def test_a_captured_variable_that_changes_lives_in_a_cell():
    def f(x):
        def g():
            return x + y
        y = 1
        return g
    graph = parse_function(f)
    assert [node.attrs["name"] for node in nodes(graph, syntax.cell_new)] == ["y"]
    assert [node.attrs["name"] for node in nodes(graph, syntax.cell_get)] == ["y"]


def test_checks_stand_only_where_a_variable_may_be_undefined():
    def f(x):
        if x:
            y = 1
            z = 2
        else:
            z = 3
        for i in range(3):
            z += i
        return z, y
    assert [node.attrs["name"] for node in nodes(parse_function(f), syntax.load_local)] == ["y"]


def test_a_statement_for_python_names_what_goes_in_and_out():
    shared = 0

    def f(x, unused, items):
        y = 0
        for item in items:
            class Local:
                nonlocal y, shared
                y = item + x + len(items)
                shared += 1
        return y
    (node,) = nodes(parse_function(f), syntax.interpret)
    assert sorted(node.attrs["reads"]) == ["Local", "item", "items", "shared", "x", "y"]
    assert node.attrs["writes"] == ("Local",) and set(node.attrs["cells"]) == {"item", "y", "shared"}
    assert not node.attrs["leaves"] and node.attrs["reason"] == "class statements run in Python"
    assert node.attrs["source"].startswith("class Local:\n") and node.attrs["code"].co_name == "f"
    assert node.args[node.attrs["reads"].index("shared")].fn is syntax.closure_cell


def test_every_node_points_at_what_the_user_wrote():
    def f(x, name):
        y = x.shape[0] + -name * (x
                                  < 3)
        return [a ** 2 for a in y] if f"{x}" else lambda k=x @ 1: k | y
    graph = parse_function(f)
    texts = {}
    for block in graph.reachable():
        for node in block.nodes:
            place = node.origin.location
            texts.setdefault((node.fn.name, place.scope.rpartition(".")[2]), []).append(
                place.source()[place.col:place.end_col if place.end_line == place.line else None])
    first = graph.origin.location.line
    assert texts["load_attr", "f"] == ["x.shape"] and texts["load_item", "f"] == ["x.shape[0]"]
    assert texts["unary", "f"] == ["-name"] and texts["compare", "f"] == ["x"]
    assert sorted(texts["binary", "f"]) == ["-name * (x", "a ** 2", "x @ 1", "x.shape[0] + -name * (x"]
    assert texts["binary", "<lambda>"] == ["k | y"] and texts["list_append", "f"] == ["[a ** 2 for a in y]"]
    assert {node.origin.location.line for node in nodes(graph, syntax.compare)} == {first + 1}
    assert [p.origin.location.col for p in graph.parameters] == [10, 13]


def test_the_signature_numbers_the_defaults():
    def f(a, /, b=1, *rest, c, d=2, **more):
        pass
    graph = parse_function(f)
    parameters = graph.signature.parameters
    assert list(parameters) == [p.name for p in graph.parameters] == ["a", "b", "rest", "c", "d", "more"]
    assert [p.default for p in parameters.values() if p.default is not p.empty] == [0, 1]
    assert [p.kind for p in parameters.values()] == [p.kind for p in inspect.signature(f).parameters.values()]


def test_literal_conditions_leave_one_branch():
    def f(x):
        if 0:
            x = 1
        while 0:
            x = 2
        return x
    assert not [block for block in parse_function(f).reachable() if block.name == "f/true"]


def test_a_long_function_needs_no_recursion():
    lines = ["def f(x, y):"] + ["    if x: y = y + 1"] * 1200 + ["    return y"]
    namespace = {"__source__": "\n".join(lines) + "\n"}
    exec(namespace["__source__"], namespace)
    graph = parse_function(namespace["f"])
    assert sum(len(block.parameters) for block in graph.reachable() if block.kind == "block") == 1200


def test_dead_code_is_left_out():
    def f(x):
        return x
        print(x)
    assert parse_function(f).nodes == []


def test_what_cannot_become_a_graph_is_refused_at_its_place():
    def f(x):
        return lambda: (yield x)
    with pytest.raises(GraphSyntaxError, match="lambda that yields") as caught:
        parse_function(f)
    place = caught.value.location
    assert (place.line, place.source()[place.col:place.end_col]) == (f.__code__.co_firstlineno + 1, "yield x")


def test_constants_are_value_nodes_with_a_place():
    def f():
        return -1.5
    value = parse_function(f).output.args[0]
    assert isinstance(value, ValueNode) and value.value == -1.5 and value.origin.location.col == 15


def test_jumps_give_each_phi_its_value():
    def f(a, b):
        while a:
            a, b = b, a
        return a, b
    graph = parse_function(f)
    header = graph.output.fn
    body = header.output.attrs["true"]
    assert isinstance(header, FuncGraph) and list(graph.output.args) == graph.parameters
    assert [p.name for p in header.parameters] == ["a", "b"] and list(body.output.args) == header.parameters[::-1]
