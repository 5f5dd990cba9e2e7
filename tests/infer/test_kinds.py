"""Every kind of value through every fold: a row of KINDS is all that a kind needs, also one that only this file knows."""
from collections import namedtuple

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import Refusal
from mindlite.infer.evaluator import Evaluator
from mindlite.infer.kinds import (KINDS, LEAF, Kind, data_in, has_nodes, kind_of, leaves, maker, map_parts, parts_of, remade,
                                  skeleton, walk, zipped)
from mindlite.infer.loops import Plan
from mindlite.infer.merging import Merge, convert, fill
from mindlite.infer.messages import taken_apart
from mindlite.infer.program import stands_in
from mindlite.infer.recursion import filled, pattern_of
from mindlite.infer.region import Region
from mindlite.infer.sharing import flatten
from mindlite.infer.transforms import replace_leaves
from mindlite.infer.values import (BoundMethod, ByExit, Conflict, Formatted, Lives, MadeException, Mixed, Range, Unsure)
from mindlite.infer.widening import Widening, flat_like
from mindlite.mindir.abstract import AbstractScalar


class Interval:
    """A kind that inference has never seen."""

    def __init__(self, low, high):
        self.low, self.high = low, high


INTERVAL = Kind(lambda v: (v.low, v.high), lambda v, parts: Interval(*parts), lambda v, parts: tuple(parts))
# {kind: (a value of it, of a function that gives a fresh part of a type; what Python has where all are 3, 0.5 and True)}
SAMPLES = {
    tuple: (lambda new: (new(int), (new(float), "a")), (3, (0.5, "a"))),
    slice: (lambda new: slice(new(int), None, new(int)), slice(3, None, 3)),
    Range: (lambda new: Range(0, new(int), new(int)), range(0, 3, 3)),
    Formatted: (lambda new: Formatted(["a", (new(int), "03", ""), (new(float), "", "r")]), "a0030.5"),
    BoundMethod: (lambda new: BoundMethod(None, new(int), "bit_length"), 3 .bit_length),
    Unsure: (lambda new: Unsure("a", new(bool), (new(int), 1)), (3, 1)),
    Mixed: (lambda new: Mixed({int: (new(bool), new(int)), float: (new(bool), new(float))}), 3),
    Interval: (lambda new: Interval(new(int), 4), (3, 4)),
    MadeException: (lambda new: MadeException(ValueError, (new(int), "a"), {}), None),
    Lives: (lambda new: Lives(a=new(int), b=2), None),
    ByExit: (lambda new: ByExit(Refusal("by exit"), {"a": new(int)}), None),
    list: (lambda new: [new(int), 2], None),
    dict: (lambda new: {"a": new(int)}, None),
}
NOW = {int: 3, float: 0.5, bool: True}
WHOLE = (list, dict, ByExit)                     # that are never merged: containers of Python's, and what is a Conflict
AT_RUN_TIME = [cls for cls in SAMPLES if SAMPLES[cls][1] is not None]


@pytest.fixture(autouse=True)
def one_kind_more(monkeypatch):
    monkeypatch.setitem(KINDS, Interval, INTERVAL)


@pytest.fixture
def ev():
    made = Evaluator()
    made.after = ({}, {})
    return made


def fresh(ev):
    return lambda kind: ev.tracer.graph.add_parameter("n", AbstractScalar(kind))


def alike(a, b):
    """Is it the same value, whatever objects it is made of?"""
    if kind_of(a) is LEAF:
        return a is b or not isinstance(a, Interval) and a == b
    return type(a) is type(b) and kind_of(a).frame(a) == kind_of(b).frame(b) and all(map(alike, parts_of(a), parts_of(b)))


def nodes_in(value):
    return [leaf for leaf in leaves(value) if hasattr(leaf, "abstract")]


def test_every_kind_has_a_sample_here():
    assert set(KINDS) == set(SAMPLES)


each_kind = pytest.mark.parametrize("cls", SAMPLES, ids=lambda cls: cls.__name__)
each_merged_kind = pytest.mark.parametrize("cls", [cls for cls in SAMPLES if cls not in WHOLE], ids=lambda cls: cls.__name__)
each_kind_of_python = pytest.mark.parametrize("cls", AT_RUN_TIME, ids=lambda cls: cls.__name__)


@each_kind
def test_a_value_is_made_again_of_its_parts(ev, cls):
    value = SAMPLES[cls][0](fresh(ev))
    assert isinstance(value, cls) and remade(value, parts_of(value)) is value and map_parts(lambda part: part, value) is value
    parts = [object() for _ in parts_of(value)]
    made = remade(value, parts)
    assert type(made) is type(value) and all(map(lambda a, b: a is b, parts_of(made), parts))


@each_kind
def test_what_the_run_knows_is_found_in_it(ev, cls):
    value = SAMPLES[cls][0](fresh(ev))
    nodes = ev.tracer.graph.parameters
    assert nodes_in(value) == nodes == data_in((value,), {}) and has_nodes((value, 1), {}) and stands_in(ev, [value])
    assert next(walk(value)) is value and set(nodes) < set(map(id_or_node, walk(value)))


def id_or_node(value):
    return value if hasattr(value, "abstract") else id(value)


@each_merged_kind
def test_two_paths_merge_part_by_part(ev, cls):
    a, b, results = [SAMPLES[cls][0](fresh(ev)) for _ in range(3)]
    assert skeleton(a) == skeleton(b) and zipped(a, b) == list(zip(parts_of(a), parts_of(b)))
    merge = Merge(ev)
    merged = merge.value(a, b)
    result_of = dict(zip(zip(nodes_in(a), nodes_in(b)), nodes_in(results)))
    assert alike(fill(merged, [result_of[x, y] for x, y, _ in merge.slots]), results)


@pytest.mark.parametrize("cls", WHOLE)
def test_a_container_of_python_is_itself(ev, cls):
    a, b = [SAMPLES[cls][0](fresh(ev)) for _ in range(2)]
    assert zipped(a, b) is None or cls is ByExit
    assert Merge(ev).value(a, a) is a and isinstance(Merge(ev).value(a, b), Conflict)


@each_kind
def test_what_one_path_made_is_a_result_of_the_branch(ev, cls):
    region = Region("side", ev.tracer.region)
    outside = ev.tracer.enter(region)
    value = SAMPLES[cls][0](fresh(ev))
    ev.tracer.enter(outside)
    merge, results = Merge(ev), SAMPLES[cls][0](fresh(ev))
    made = fill(merge.only(value, 0), nodes_in(results))
    assert made is value if cls in (list, dict) else alike(made, results)


@each_kind
def test_a_loop_carries_it(ev, cls):
    before, after, outside = [SAMPLES[cls][0](fresh(ev)) for _ in range(3)]
    plan = Plan(ev, (before,), {}, set())
    region = Region("body", ev.tracer.region)
    plan.inside, plan.inside_carried = plan.enter(region)
    if cls in WHOLE:
        assert plan.inside == (before,) and not plan.parameters
        return
    assert len(plan.parameters) == len(nodes_in(before)) and nodes_in(plan.inside) == plan.parameters
    widening = Widening(ev, set(), True, False)
    assert alike(widening.join(before, plan.inside[0], after), before) and not widening.changed
    assert flat_like(plan.inside, (after,)) == nodes_in(after)
    assert alike(plan.outside(nodes_in(outside))[0], outside)


@each_kind_of_python
def test_python_code_is_given_what_it_is_at_run_time(ev, cls):
    value = SAMPLES[cls][0](fresh(ev))
    operands, build = flatten(ev, value)
    assert build([NOW[node.abstract.type] for node in operands]) == SAMPLES[cls][1]
    operands, build = taken_apart(ev, value)
    assert build([NOW[node.abstract.type] for node in operands]) == SAMPLES[cls][1]


@pytest.mark.parametrize("cls", [MadeException, Lives, ByExit])
def test_what_has_no_value_at_run_time_is_refused(ev, cls):
    with pytest.raises(Refusal):
        flatten(ev, SAMPLES[cls][0](fresh(ev)))[1]([3, 3])


@each_kind
def test_a_recursion_gives_it(ev, cls):
    value, results = [SAMPLES[cls][0](fresh(ev)) for _ in range(2)]
    found = []
    pattern_of(results, found)
    made = filled(pattern_of(value, []), iter(found))
    assert made is value if cls in (list, dict) else alike(made, results)


@each_merged_kind
def test_a_derivative_is_taken_by_its_parts(ev, cls):
    value = SAMPLES[cls][0](fresh(ev))
    if cls is Mixed:
        with pytest.raises(Refusal, match="several types"):
            replace_leaves(ev, value, lambda x: x)
        return
    seen = []
    assert alike(replace_leaves(ev, value, lambda x: seen.append(x) or x), value)
    assert [x for x in seen if hasattr(x, "abstract")] == nodes_in(value)


@each_kind
def test_operators_are_given_it(ev, cls):
    value = SAMPLES[cls][0](fresh(ev))
    assert alike(ev.unbox(value), value)


def test_a_conflict_raises_its_error_where_python_makes_the_value():
    with pytest.raises(Refusal, match="of two kinds"):
        maker((1, Conflict(Refusal("of two kinds"))), lambda value: None)


def test_every_path_of_a_segment_gets_an_object(ev):
    value = SAMPLES[tuple][0](fresh(ev))
    assert ev.is_object(convert(ev, value, ms.mindir.abstract.AbstractAny()))


# ------------------------------------------------------------------ where the folds had different opinions

X = np.array([1, 2, 3, 4], np.float32)
ONE, OTHER = [1], [1]
WEIGHTS, OTHERS = {"w": Tensor(np.float32(2))}, {"w": Tensor(np.float32(3))}
Point, Size = namedtuple("Point", "a b"), namedtuple("Size", "a b")


def same_everywhere(function, *calls, fullgraph=True):
    compiled = ms.jit(function, fullgraph=fullgraph)
    for args in calls:
        args = [Tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        ONE[:], OTHER[:] = [1], [1]
        expected = repr(function(*args)), list(ONE), list(OTHER)
        ONE[:], OTHER[:] = [1], [1]
        assert (repr(compiled(*args)), list(ONE), list(OTHER)) == expected


def test_of_two_equal_lists_the_one_of_the_path_is_changed():
    def f(x):
        chosen = ONE if x.sum() > 0 else OTHER
        chosen.append(2)
        return x * len(ONE)
    same_everywhere(f, [X], [-X], [X], fullgraph=False)


def test_of_two_dicts_the_one_of_the_path_is_meant():
    def f(x):
        chosen = WEIGHTS if x.sum() > 0 else OTHERS
        return x * chosen["w"], chosen is WEIGHTS
    same_everywhere(f, [X], [-X], fullgraph=False)


def test_a_dict_from_outside_is_that_very_dict_behind_a_loop():
    def f(x, n):
        chosen, i = WEIGHTS, 0
        while i < n:
            x = x * chosen["w"]
            chosen = WEIGHTS
            i = i + 1
        return x, chosen is WEIGHTS
    same_everywhere(f, [X, 3], [X, 4], [X, 5], [X, 0])


def test_namedtuples_of_two_classes_are_two_things():
    def f(x, n):
        if n > 2:
            made = Point(x, 1)
        else:
            made = Size(x * 2, 1)
        return type(made).__name__
    same_everywhere(f, [X, 3], [X, 4], [X, 1], fullgraph=False)


@pytest.mark.parametrize("other", [2.5, None], ids=["a number", "a Tensor"])
def test_a_recursion_with_results_of_several_types_runs(other):
    def f(x, n):
        def g(k):
            if k <= 0:
                return 1
            if k == 1:
                return x.sum() if other is None else other
            return g(k - 1)
        return g(n)
    same_everywhere(f, [X, 3], [X, 4], [X, 5], [X, 0], fullgraph=False)


def test_a_range_a_slice_and_a_text_are_carried_by_a_loop():
    def f(x, n):
        i, text, items = 0, f"{x.sum()}", range(1)
        part = slice(0, 1)
        while i < n:
            i = i + 1
            text, items, part = f"{(x * i).sum()}", range(i), slice(0, i)
        total = 0
        for k in items:
            total = total + k
        return text, x[part].sum() + total
    same_everywhere(f, [X, 1], [X, 2], [X, 3], [X, 4])
