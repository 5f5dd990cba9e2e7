"""What a Python function becomes for given kinds of arguments: graphs as they print."""
import textwrap

import numpy as np
import pytest

import mindlite as ms
from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError, MindliteError, NameLookupError, Refusal, ShapeError
from mindlite.common.tensor import Parameter
from mindlite.fallback.record import Records
from mindlite.infer.results import Container, Result
from mindlite.infer.specialise import specialise
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor
from mindlite.mindir.control import J, Vmap, call, check, cond, while_loop
from mindlite.mindir.equality import same_graph
from mindlite.mindir.printer import show
from mindlite.ops.basic import reshape

SCALE = 3


def f32(*shape):
    return AbstractTensor(dt.float32, shape)


def specialised(function, *args, **kwargs):
    try:
        return specialise(function, args, kwargs, name=function.__name__)
    except Refusal as refusal:
        raise refusal.error() from refusal


def assert_graph(function, args, text):
    assert show(specialised(function, *args).graph, source=False).strip() == textwrap.dedent(text).strip()


def nodes_of(function, *args, fn=None):
    """The nodes, everywhere in the function's graphs, that apply `fn`."""
    graph = specialised(function, *args).graph
    return [node for below in graph.reachable() for node in below.nodes if node.fn is fn]


# ------------------------------------------------------------------ what is known

def test_constants_are_computed_with():
    def f(x):
        n = 3
        return x * (n * 2 + len("ab"))
    assert_graph(f, [f32(2)], """
        graph @f(%x: f32[2]) {
          %1 = mul(%x, f32(8.0)) : f32[2]
          return %1
        }""")


def test_calls_and_closures_are_inlined():
    def f(x):
        def scaled(y, by=2):
            def inner(z):
                return z * by + x
            return inner(y)
        return scaled(x, by=4)
    assert_graph(f, [f32(2)], """
        graph @f(%x: f32[2]) {
          %1 = mul(%x, f32(4.0)) : f32[2]
          %2 = add(%1, %x) : f32[2]
          return %2
        }""")


def test_a_branch_on_what_is_known_leaves_one_side():
    def f(x):
        if x.shape[0] > 1 and x.dtype == ms.float32:
            return ops.tanh(x)
        return undefined_on_purpose(x)               # noqa: F821
    assert nodes_of(f, f32(2), fn=cond) == []
    with pytest.raises(NameLookupError, match="undefined_on_purpose"):
        specialised(f, f32(1))


def test_structures_are_taken_apart():
    def f(pair, table):
        (a, b), *rest = pair, 5
        return {"out": [a * table["scale"], b], "rest": rest}
    found = specialised(f, (f32(2), f32(3)), {"scale": 2})
    assert found.output == {"out": [Result(0), Result(1, 1)], "rest": [5]}


# ------------------------------------------------------------------ branches

def test_a_branch_becomes_a_cond_with_the_merged_values():
    def f(s, x):
        if s > 0:
            y, z = x * 2, 1
        else:
            y, z = x, 2
        return y, z
    assert_graph(f, [f32(), f32(2)], """
        graph @f(%x0: f32[], %x1: f32[2]) {
          %1 = greater(%x0, f32(0.0)) : bool[]
          %2 = cond(%1, %x1, true=@f/true, false=@f/false) : (f32[2], int)
          %3 = tuple_getitem(%2, index=0) : f32[2]
          %4 = tuple_getitem(%2, index=1) : int
          return %3, %4
        }

        graph @f/true(%c0: f32[2]) {
          %1 = mul(%c0, f32(2.0)) : f32[2]
          return %1, 1
        }

        graph @f/false(%c0: f32[2]) {
          return %c0, 2
        }""")


def test_what_is_equal_on_both_sides_stays_a_constant():
    def f(s, x):
        if s > 0:
            y, k = x * 2, 3
        else:
            y, k = x, 3
        return y, k
    found = specialised(f, f32(), f32(2))
    assert found.output == (Result(0), 3)


def test_an_early_return_is_a_branch():
    def f(s, x):
        if s > 0:
            return x
        return ops.tanh(x)
    branch, = nodes_of(f, f32(), f32(2), fn=cond)
    assert [len(branch.attrs[side].nodes) for side in ("true", "false")] == [0, 1]


def test_lists_and_dicts_go_through_branches():
    def f(s, x):
        values, table = [x], {"a": x}
        if s > 0:
            values.append(x * 2)
            table["a"] = x * 3
        else:
            values.append(x)
        return values, table
    found = specialised(f, f32(), f32(2))
    assert [type(r) for r in found.output[0]] == [Result, Result] and list(found.output[1]) == ["a"]


def test_what_differs_in_kind_is_an_object_where_it_is_used():
    def unused(s, x):
        y = "text" if s > 0 else None                # noqa: F841
        return x

    def used(s, x):
        y = "text" if s > 0 else None
        return y
    assert [str(out.abstract) for out in specialised(unused, f32(), f32(2)).graph.outputs] == ["f32[2]"]
    assert [str(out.abstract) for out in specialised(used, f32(), f32(2)).graph.outputs] == ["any"]


# ------------------------------------------------------------------ loops and recursion

def doubling(s, n):
    i = 0
    while i < n:
        s, i = s * 2, i + 1
    return s


def test_a_while_loop_is_one_node_whatever_the_number_of_turns():
    ten, many = (specialised(doubling, f32(), n).graph for n in (10, 10_000))
    assert len([n for n in ten.nodes if n.fn is while_loop]) == 1
    assert show(ten, source=False).replace("10", "N") == show(many, source=False).replace("10000", "N")


def test_a_while_loop_on_a_value_carries_what_it_changes():
    def f(s, x):
        while s < 100:
            s = s * 2
        return s, x
    loop, = nodes_of(f, f32(), f32(2), fn=while_loop)
    assert [str(a) for a in loop.abstract.elements] == ["f32[]"]


def test_short_ranges_are_written_out_and_long_ones_are_loops():
    def f(x, n):
        for _ in range(n):
            x = ops.tanh(x)
        return x
    for n, loops in ((0, 0), (4, 0), (32, 0), (33, 1), (100_000, 1)):
        assert len(nodes_of(f, f32(2), n, fn=while_loop)) == loops
    tanhs = nodes_of(f, f32(2), 4, fn=ops.tanh), nodes_of(f, f32(2), 100_000, fn=ops.tanh)
    assert [len(t) for t in tanhs] == [4, 1]
    assert specialised(f, f32(2), 0).graph.nodes == []


def test_lists_and_dicts_go_through_loops():
    def f(x, n):
        values, table = [x, 0], {"sum": x}
        for i in range(n):
            values[1] = values[1] + i
            table["sum"] = table["sum"] + values[0]
        return values, table
    loop, = nodes_of(f, f32(2), 50, fn=while_loop)
    assert {str(a) for a in loop.abstract.elements} == {"f32[2]", "int"}


def test_a_size_that_grows_in_a_loop_is_open():
    def f(x, n):
        for _ in range(n):
            x = ops.concat((x, x))
        return x
    found = specialised(f, f32(2), 40)
    shape, = [node.abstract.shape for node in found.graph.outputs]
    assert not isinstance(shape[0], int)


def test_recursion_is_a_call():
    def factorial(s):
        if s <= 1:
            return s * 1
        return s * factorial(s - 1)
    calls = nodes_of(factorial, f32(), fn=call)
    assert len(calls) == 2 and calls[0].attrs["graph"] is calls[1].attrs["graph"]


def test_recursion_on_known_numbers_is_written_out():
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)
    assert nodes_of(power, f32(2), 5, fn=call) == [] and len(nodes_of(power, f32(2), 5, fn=ops.mul)) == 5


# ------------------------------------------------------------------ effects

def test_assignments_in_branches_and_loops_are_updates():
    w = Parameter(np.ones(2, np.float32), "w")

    def f(s, x):
        if s > 0:
            ops.assign(w, x)
        for _ in range(9):
            ops.assign(w, w + 1)
        return w * 2
    found = specialised(f, f32(), f32(2))
    (owner, number), = found.updates
    assert owner is w and [p.default for p in found.graph.parameters] == [None, None, w]
    assert str(found.graph.outputs[number].abstract) == "f32[2]"
    assert not any("assign" in n.fn.traits for g in found.graph.reachable() for n in g.nodes)
    assert w.tolist() == [1, 1]


def test_an_argument_may_be_assigned_and_assigned_to():
    def f(p, q):
        old = p * 1
        ops.assign(p, q)
        ops.assign(q, old)
    found = specialised(f, f32(2), f32(2))
    assert [owner for owner, _ in found.updates] == [0, 1]
    first, second = (found.graph.outputs[number] for _, number in found.updates)
    assert first is not second and second.fn is reshape and second.args[0].fn is ops.mul


def test_changed_containers_are_told():
    def f(values, table):
        values.append(values[0] * 2)
        return values, table
    found = specialised(f, [f32(2)], {"a": f32(3)})
    assert found.output == (Container(0), Container(1))
    assert [number for number, _ in found.changes] == [0]


def test_a_raise_under_a_condition_is_a_check():
    def f(s):
        if s > 3:
            raise ValueError(f"too big: {s}")
        return s
    test, = nodes_of(f, f32(), fn=check)
    assert str(test.args[0].abstract) == "bool" and test.origin.location.line == f.__code__.co_firstlineno + 2


def test_a_raise_that_is_certain_is_raised():
    def f(x):
        if x.ndim == 1:
            raise KeyError("one axis")
        return x
    with pytest.raises(KeyError, match="one axis"):
        specialised(f, f32(2))
    specialised(f, f32(2, 2))


# ------------------------------------------------------------------ what was assumed

def test_what_is_read_outside_is_guarded():
    offset = 4

    class Settings:
        depth = 5
    settings = Settings()

    def f(x):
        return x * SCALE + offset + settings.depth
    guards = [(name, value) for _, _, name, value in specialised(f, f32(2)).guards]
    assert ("SCALE", 3) in guards and ("depth", 5) in guards and 4 in [value for _, value in guards]


def test_sizes_that_must_be_equal_are_constraints():
    n, m = Symbol("N"), Symbol("M")
    constraint, = specialised(lambda x, y: x + y, f32(n.dim), f32(m.dim)).constraints
    assert (constraint.op, {constraint.left, constraint.right}) == ("==", {n.dim, m.dim})
    assert isinstance(constraint.error, ShapeError)
    assert specialised(lambda x, y: x + y, f32(n.dim), f32(n.dim)).constraints == []


def test_numbers_of_the_run_time_are_scalars():
    def f(x, k):
        return x * k, k + 1
    found = specialised(f, f32(2), AbstractScalar(int))
    assert [str(node.abstract) for node in found.graph.outputs] == ["f32[2]", "int"]


def test_the_same_function_gives_the_same_graph():
    assert same_graph(specialised(doubling, f32(), 10).graph, specialised(doubling, f32(), 10).graph)


# ------------------------------------------------------------------ transformations

def test_grad_is_a_marker_with_the_functions_graph():
    def f(x):
        return ms.grad(lambda y: ops.tanh(y).sum())(x)
    marker, = nodes_of(f, f32(3), fn=J)
    assert marker.attrs["mode"] == "vjp" and marker.attrs["wrt"] == (0,) and marker.attrs["seeds"] == (0,)
    assert [n.fn.name for n in marker.attrs["graph"].nodes] == ["tanh", "reduce_sum"]


def test_a_weight_that_is_named_twice_is_one_parameter_of_the_marker():
    w = Parameter(np.ones(2, np.float32), "w")

    def f(x):
        return ms.grad(lambda y: (w * y).sum(), None, [w, w])(x)
    marker, = nodes_of(f, f32(2), fn=J)
    assert len(marker.attrs["wrt"]) == 1
    assert len(specialised(f, f32(2)).output) == 2


def test_vmap_is_a_marker_whose_graph_lacks_the_axis():
    def f(x, y):
        return ms.vmap(lambda a, b: a * b, (0, None), 1)(x, y)
    marker, = nodes_of(f, f32(3, 2), f32(2), fn=Vmap)
    assert [str(p.abstract) for p in marker.attrs["graph"].parameters] == ["f32[2]", "f32[2]"]
    assert marker.attrs["in_axes"] == (0, None) and marker.attrs["out_axes"] == (1,) and marker.attrs["size"] == 3


# ------------------------------------------------------------------ errors

@pytest.mark.parametrize("function, error, text, line", [
    (lambda x: ops.matmul(x, x), ShapeError, "matmul", 0),
    (lambda x: absent + x, NameLookupError, "name 'absent' is not defined", 0),                # noqa: F821
    (lambda x: x.absent, AttributeError, "no attribute 'absent'", 0),
    (lambda x: ops.tanh(x, 3), ArgumentError, "at most 1", 0),
    (lambda x: ops.reduce_sum(x, axis=5), MindliteError, "axis", 0),
    (lambda x: 1 if x > 0 else 2, ShapeError, "ambiguous", 0),
    (lambda x: (lambda a, b: a)(x), TypeError, "b", 0),
])
def test_errors_name_the_users_line(function, error, text, line):
    with pytest.raises(error, match=text) as caught:
        specialised(function, f32(2, 3))
    location = getattr(caught.value, "location", None)
    if isinstance(caught.value, MindliteError):
        assert (location.file, location.line) == (__file__, function.__code__.co_firstlineno + line)


def test_a_variable_without_a_value_on_a_path_is_named():
    def f(x, flag):
        if flag:
            y = x
        return y
    with pytest.raises(UnboundLocalError, match="'y'"):
        specialised(f, f32(2), False)


def test_a_short_loop_is_written_out_in_all_and_explained():
    def f(x):
        for _ in range(10):
            x = ops.tanh(x) * 0.5
        return x

    def longer(x):
        for _ in range(10):
            for _ in range(2):
                x = ops.tanh(x) * 0.5
        return x
    assert not nodes_of(f, f32(2), fn=while_loop)
    assert any("10 iterations of 2 operators" in reason for _, reason in specialised(f, f32(2)).reasons)
    assert len(nodes_of(longer, f32(2), fn=while_loop)) == 1


# ------------------------------------------------------------------ how often a function is inferred

@pytest.fixture
def inferred(monkeypatch):
    """[Names of the functions that were inferred, once for each time]."""
    import mindlite.infer.specialise as module
    names: list = []
    infer = module.infer

    def counted(ev, function, *args):
        names.append(function.__name__)
        return infer(ev, function, *args)
    monkeypatch.setattr(module, "infer", counted)
    return names


def test_a_function_that_a_graph_can_say_is_inferred_once(inferred):
    def f(x, n):
        items = [x]
        for i in range(n):
            items.append(items[-1] * i if x.sum() > 0 else x)
        return items[-1]
    specialised(f, f32(2), 3)
    assert inferred == ["f"]


def test_no_statements_are_looked_for_where_there_is_none(inferred):
    f = lambda n: n ** n  # noqa: E731
    with pytest.raises(MindliteError, match="exponent that is known at run time only"):
        specialised(f, AbstractScalar(int))
    assert inferred == ["<lambda>"] * 2


def test_a_statement_that_is_left_to_python_costs_one_more_inference(inferred):
    def f(n):
        if n > 1:
            if n > 2:
                n = n ** n
        return n
    records = Records()
    with pytest.raises(Refusal):
        specialise(f, (AbstractScalar(int),), {}, name="f", fallbacks=records)
    assert inferred == ["f"] * 2                              # the second time it is known what Python has to do first
