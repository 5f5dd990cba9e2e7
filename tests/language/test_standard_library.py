"""What the library has in C (operator, itertools, functools, collections) means in a graph what it means in Python."""
import collections
import dataclasses
import functools
import itertools
import operator

import numpy as np
import pytest

import mindlite as ms
from mindlite.compile.jit import JitFunction

PROGRAMS, NATIVE = [], []


def program(fn):
    PROGRAMS.append(fn)
    return fn


def native(fn):
    NATIVE.append(fn)
    return program(fn)


@native
def operators(x):
    return (operator.add(x, 1), operator.mul(x, x), operator.lt(x, 3), operator.getitem([x, x + 1], 0),
            operator.not_(x is None), operator.contains([1, 2], 2), operator.is_(x, x), operator.matmul(x, x))


@native
def folded(x):
    return functools.reduce(operator.add, [x, x, x]), list(itertools.accumulate([1, 2, 3], operator.mul, initial=x))


@native
def partials(x):
    def product(a, b):
        return a * b
    first = functools.partial(lambda a, b, c=1: a - b * c, x, c=3)
    return first(2), first(x), callable(first), functools.partial(product, b=x)(x), functools.partial(max, 3)(5)


@native
def partial_imported_inside(x):
    from functools import partial
    return partial(lambda a, b: a - b, b=2.0)(x)


@native
def chains(x):
    return (list(itertools.chain([x], (1, 2))), list(itertools.chain.from_iterable([[x], [x * 2]])),
            list(itertools.islice(itertools.count(1), 2, 8, 3)), list(itertools.repeat(x, 2)),
            list(itertools.zip_longest([1, 2, 3], [x], fillvalue=0)), list(itertools.pairwise([1, 2, 3])))


@native
def chosen(x):
    return (list(itertools.starmap(lambda a, b: a * b, [(x, 1), (x, 2)])), list(itertools.compress([x, 1], [0, 1])),
            list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.filterfalse(None, [0, 1])),
            list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])))


@native
def combined(x):
    return (list(itertools.permutations([x, x + 1], 2)), list(itertools.combinations("abc", 2)),
            list(itertools.product([x], [1, 2])))


@native
def one_after_another(x):
    numbers, iterations, total = itertools.count(), itertools.cycle([1, 2, 3]), x
    for _ in range(5):
        total = total + x * next(iterations)
    first = itertools.chain([x], [x + 1])
    return next(numbers), next(numbers), next(first), list(first), list(first), total


@program
def groups(x):
    return [(key, list(group)) for key, group in itertools.groupby([1, 1, 2])], [list(t) for t in itertools.tee([x, 1])]


@native
def iterators_are_used_up(x):
    pairs, scaled = zip([1, 2], [x, x]), map(lambda v: v * x, [1, 2])
    kept, back, numbered = filter(None, [0, x.ndim, 2]), reversed([1, 2]), enumerate([5, 6])
    return (next(pairs), list(pairs), list(pairs), next(scaled), list(scaled), list(scaled), next(kept), list(kept),
            list(kept), next(back), list(back), list(back), next(numbered), list(numbered), list(numbered))


@native
def map_waits(x):
    log = []

    def scaled(v):
        log.append(v)
        return v * x
    values = map(scaled, [1, 2, 3])
    log.append("made")
    first = next(values)
    log.append("first")
    for v in map(scaled, [7, 8]):
        log.append("body")
        first = first + v
    return first, list(values), log


@native
def a_list_grows_while_it_is_numbered(x):
    values = [x, x * 2]
    for i, v in enumerate(values):
        if i < 2:
            values.append(v + 1)
    return values


@program
def defaults_made_by_reading(x):
    table = collections.defaultdict(list)
    for i in range(4):
        table[i % 2].append(x * i)
    return table[0], table[1], sorted(table), len(table)


@program
def counts(x):
    table = collections.defaultdict(int)
    for c in "hello":
        table[c] += 1
    return dict(table), collections.Counter("hello").most_common(1), x * table["l"]


@program
def queue(x):
    waiting = collections.deque([x], maxlen=2)
    waiting.append(x * 2)
    waiting.append(x * 3)
    waiting.appendleft(x)
    return list(waiting)


@dataclasses.dataclass
class State:
    hidden: ms.Tensor
    step: int = 0
    made: int = dataclasses.field(default=3, init=False)


@native
def replaced_fields(x):
    state = State(x)
    for i in range(3):
        state = dataclasses.replace(state, hidden=state.hidden * 2 + state.step, step=state.step + i)
    try:
        dataclasses.replace(state, made=4)
    except (TypeError, ValueError) as error:
        told = str(error)
    return state.hidden, state.step, state.made, told


@native
def sorted_by_what_is_known(x):
    rows = {"b": x, "a": x * 2, "c": x}
    return ([(name, row + 1) for name, row in sorted(rows.items())], sorted([(2, x), (1, 5, x), (1, 4)], reverse=True),
            sorted([("b", (2, x)), ("b", (1, x))]))


@native
def power_of_three_numbers(x):
    return pow(2, 5, 7), pow(x, 2)


def plain(value):
    """A result as Python's and NumPy's data."""
    if isinstance(value, ms.Tensor):
        return str(value.dtype), value.shape, value.asnumpy().tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [type(value), *map(plain, value)] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_a_graph_gives_what_python_gives_in_every_call(function):
    inputs = [ms.Tensor(np.array(v, np.float32)) for v in ([1, 2, 3], [1, 2, 3], [4, 5, 6])]
    compiled = JitFunction(function)
    assert [plain(compiled(x)) for x in inputs] == [plain(function(x)) for x in inputs]
    if function in NATIVE:
        assert "crossing" not in compiled.explain() and compiled.runs_in_python == 0, compiled.explain()


def test_tuples_that_run_time_values_would_order_are_refused():
    def pairs(x):
        return sorted([(1, x.sum()), (1, x.max())])[0]
    with pytest.raises(ms.common.errors.GraphSyntaxError, match=r"sorted\(\) by values that are known at run time only"):
        ms.jit(pairs, fullgraph=True)(ms.Tensor([1.0, 2.0]))
