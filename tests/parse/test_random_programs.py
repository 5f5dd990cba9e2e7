"""Random nests of if, while, for, break, continue, return, del, try and inner functions on integers: graph = Python.

A program is a list of lines in a loop of `def f(a, b)`; every inner loop burns fuel, so it ends.
"""
import linecache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interpreter import run

from mindlite.mindir import syntax
from mindlite.mindir.graph import FuncGraph, ValueNode
from mindlite.mindir.syntax import Undefined
from mindlite.parse.parse import parse_function

NAMES = ("a", "b", "c", "d")
name = st.sampled_from(NAMES)
atom = st.one_of(name, st.integers(-3, 9).map(str))
expression = st.recursive(atom, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(("+", "-", "*", "<", "==", "and", "or")), inner).map(lambda t: f"({' '.join(t)})"),
    st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    st.tuples(name, inner).map(lambda t: f"({t[0]} := {t[1]})"),
    st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} < {t[1]} <= {t[2]})"),
    inner.map(lambda e: f"note({e})")), max_leaves=4)
simple = st.one_of(
    st.tuples(name, expression).map(lambda t: [f"{t[0]} = {t[1]}"]),
    st.tuples(name, expression).map(lambda t: [f"{t[0]} += {t[1]}"]),
    st.tuples(name, name, expression, expression).map(lambda t: [f"{t[0]}, {t[1]} = {t[2]}, {t[3]}"]),
    expression.map(lambda e: [f"note({e})"]),
    name.map(lambda n: [f"del {n}"]))
leaving = st.one_of(st.just(["break"]), st.just(["continue"]), expression.map(lambda e: [f"return {e}"]))


def indented(lines):
    """A block."""
    return ["    " + line for line in lines]


def compound(inner):
    """Statements that hold blocks of `inner` statements."""
    block = st.lists(st.one_of(inner, inner, leaving), min_size=1, max_size=3).map(lambda parts: sum(parts, []))
    orelse = st.one_of(st.none(), block)

    def loop(head):
        return lambda t: [head(t), *indented(["burn()", *t[1]]), *(["else:", *indented(t[2])] if t[2] else [])]
    return st.one_of(
        st.tuples(expression, block, orelse).map(
            lambda t: [f"if {t[0]}:", *indented(t[1]), *(["else:", *indented(t[2])] if t[2] else [])]),
        st.tuples(expression, block, orelse).map(loop(lambda t: f"while {t[0]}:")),
        st.tuples(st.just("True"), block, orelse).map(loop(lambda t: f"while {t[0]}:")),
        st.tuples(name, block, orelse).map(loop(lambda t: f"for {t[0]} in range(3):")),
        st.tuples(block, block).map(lambda t: ["try:", *indented(t[0]), "except NameError:", *indented(t[1])]),
        st.tuples(block, block, block, orelse).map(
            lambda t: ["try:", *indented(t[0]), "except (NameError, ZeroDivisionError) as e:", *indented(t[1]),
                       *(["else:", *indented(t[3])] if t[3] else []), "finally:", *indented(t[2])]),
        st.tuples(block, st.booleans()).map(
            lambda t: [f"with manager(note, {t[1]}) as {'abcd'[t[1]]}:", *indented(t[0])]),
        st.tuples(expression, expression).map(lambda t: [f"note({t[0]} // {t[1]})"]),
        st.tuples(name, expression).map(lambda t: [f"g = lambda x={t[0]}: note(x) + {t[1]}", "note(g())"]),
        st.tuples(name, block).map(lambda t: ["def h():", f"    nonlocal {t[0]}", f"    {t[0]} = 7",
                                              *indented(["for _ in range(1):", *indented(t[1])]), "h()"]))


statements = st.lists(st.recursive(simple, compound, max_leaves=12), min_size=1, max_size=5).map(lambda p: sum(p, []))


class Manager:
    """A context manager that notes what comes, and may swallow a NameError."""

    def __init__(self, note, swallows):
        self.note, self.swallows = note, swallows

    def __enter__(self):
        return self.note(5)

    def __exit__(self, kind, value, traceback):
        self.note(kind if kind is None or not issubclass(kind, NameError) else NameError)
        return self.swallows and isinstance(value, NameError)


class OutOfFuel(Exception):
    """A loop has run long enough."""


def compiled(lines):
    """The function of a program, its text known to linecache; None if Python refuses it."""
    text = "\n".join(["def make(note, burn):", "    def f(a, b):", "        c = 1", "        for _ in range(2):",
                      *indented(indented(indented(lines))), "        return a, b", "    return f"]) + "\n"
    linecache.cache["<random program>"] = (len(text), None, text.splitlines(keepends=True), "<random program>")
    namespace = {"manager": Manager}
    try:
        exec(compile(text, "<random program>", "exec"), namespace)
    except SyntaxError:
        return None
    return namespace["make"]


def outcome(make, through_graph):
    """(result or kind of exception, log) of the program, run by Python or through its graph."""
    log, fuel = [], [60]

    def note(value):
        log.append(value)
        return value

    def burn():
        fuel[0] -= 1
        if fuel[0] <= 0:
            raise OutOfFuel
    fn = make(note, burn)
    try:
        return (run(parse_function(fn), fn, 3, -1) if through_graph else fn(3, -1)), log
    except Exception as error:
        return (NameError if isinstance(error, NameError) else type(error)), log


def comparable(value):
    """Functions differ by identity only."""
    result, log = value
    return "function" if callable(result) and not isinstance(result, type) else result, log


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements)
def test_random_programs_do_as_graphs_what_python_does(lines):
    make = compiled(lines)
    if make is not None:
        assert comparable(outcome(make, True)) == comparable(outcome(make, False))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements)
def test_graphs_of_random_programs_are_well_formed(lines):
    make = compiled(lines)
    if make is not None:
        check(parse_function(make(None, None)))


def check(graph):
    """Uses are dominated, jumps fit their targets, Undefined stands only where it may, every node has a place."""
    graphs = graph.reachable()
    names = [g.name for g in graphs]
    assert len(set(names)) == len(names)
    for block in graphs:
        assert block.kind == "function" or block.parent is not None
        seen = set()
        for node in block.nodes:
            assert node.graph is block and node.origin.location.line > 0
            for arg in node.args:
                check_use(arg, block, seen, node.fn in (syntax.load_local, syntax.cell_new, syntax.cell_set,
                                                        syntax.interpret))
            seen.add(node)
        end = block.output
        jump = isinstance(end.fn, FuncGraph)
        assert jump or end.fn in (syntax.return_, syntax.switch, syntax.raise_, syntax.try_, syntax.yield_)
        for arg in end.args:
            check_use(arg, block, seen, jump)
        assert not jump or (end.fn.kind == "block" and len(end.args) == len(end.fn.parameters))
        if end.fn is syntax.switch:
            assert not end.attrs["true"].parameters and not end.attrs["false"].parameters
        if end.fn is syntax.try_:
            assert not end.attrs["body"].parameters and not end.attrs["handler"].parameters


def check_use(arg, block, seen, undefined_allowed):
    """`arg` may be used in `block`, where the nodes `seen` stand before."""
    if isinstance(arg, ValueNode):
        assert undefined_allowed or not isinstance(arg.value, Undefined)
        return
    above = []
    while block is not None:
        above.append(block)
        block = block.parent
    assert arg.graph in above
    if arg.graph is above[0]:
        assert arg in seen or arg in above[0].parameters
    else:
        assert arg in arg.graph.nodes or arg in arg.graph.parameters
