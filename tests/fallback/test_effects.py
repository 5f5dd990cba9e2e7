"""Effects of Python code, of the graph and of printing come in the program's order, each once."""
import collections
import contextlib
import io
import logging
import operator
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.compile.jit import FallbackWarning, JitFunction

COUNT, NOTES = 0, []
WEIGHT = ms.Parameter(Tensor(np.ones(2, np.float32)), name="weight")
OBJECT = type("Object", (), {})()
QUEUE = collections.deque(maxlen=3)
NESTED = [[], {}]
note = NOTES.append
logger = logging.getLogger("tests.fallback")


def begin():
    """Everything outside as it was."""
    global COUNT
    COUNT, OBJECT.n = 0, 1
    WEIGHT.set_data(Tensor(np.ones(2, np.float32)))
    for container in (NOTES, QUEUE, *NESTED):
        container.clear()


def outside():
    """What the programs change."""
    return COUNT, OBJECT.n, list(NOTES), WEIGHT.asnumpy().tolist(), [x.tolist() for x in QUEUE], len(NESTED[0]), \
        dict(NESTED[1])


def variables_before_python(x):
    global COUNT
    COUNT = COUNT + 1
    print("a", COUNT)
    note(("count", COUNT))
    OBJECT.n = OBJECT.n + 1
    eval("note(OBJECT.n)")
    eval("note(COUNT)")
    print("b", x.sum())
    return x * OBJECT.n


def an_attribute_changed_by_exec(x):
    OBJECT.n = 5
    exec("OBJECT.n = OBJECT.n + 2")
    return x * OBJECT.n


def a_global_changed_by_exec(x):
    before = COUNT
    exec("global COUNT; COUNT = COUNT + 10")
    return x * (COUNT - before)


def an_attribute_changed_by_a_library(x):
    before = OBJECT.n
    operator.methodcaller("__setattr__", "n", before + 9)(OBJECT)
    return x * OBJECT.n + before


def a_parameter_assigned_before_python_reads_it(x):
    ops.assign(WEIGHT, x)
    y = eval("WEIGHT * 2")
    return y + WEIGHT


def logging_between_prints(x):
    logger.warning("one %s", 1)
    print("between")
    logger.warning("two %s", float(x.sum()))
    return x


def containers_outside(x):
    QUEUE.append(x)
    NESTED[0].append(x)
    NESTED[1]["k"] = len(NESTED[0])
    return QUEUE[0] + NESTED[0][0] + NESTED[1]["k"]


def printing_into_a_text(x):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print("inside", x.sum())
    print("outside", x.sum(), file=text)
    return text.getvalue()


def an_exception_that_is_caught(x):
    try:
        if x.sum() > 4:
            operator.itemgetter(7)([1])
        y = 1
    except IndexError as error:
        y = 2
        note(str(error))
    return x * y


def an_exception_on_one_path(x):
    y = x * 2
    note("begun")
    if x.sum() > 4:
        eval("[1][7]")
    return y


def python_code_on_a_path_that_is_taken_late(x):
    print("before")
    note("first")
    if x.sum() > 4:
        x = eval("x * 10")
        note("late")
    return x


def another_type_late(x):
    note("before")
    v = eval("1 if x.sum() < 4 else 2.5")
    note("behind")
    return x * v


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__code__", None) and f.__code__.co_argcount == 1
            and f.__code__.co_varnames[0] == "x"]


def story(call):
    """Everything that can be seen of six calls."""
    begin()
    told = []
    for numbers in ([1, 2], [1, 2], [3, 4], [1, 2], [3, 4], [5, 6]):
        text = io.StringIO()
        handler = logging.StreamHandler(text)
        logger.addHandler(handler)
        try:
            with contextlib.redirect_stdout(text):
                made = call(Tensor(np.array(numbers, np.float32)))
            made = made.tolist() if isinstance(made, Tensor) else made
        except IndexError as error:
            made = repr(error)
        finally:
            logger.removeHandler(handler)
        told.append((made, text.getvalue(), outside()))
    return told


@pytest.mark.parametrize("program", PROGRAMS, ids=[f.__name__.replace("_", " ") for f in PROGRAMS])
def test_effects_come_in_order_and_once(program):
    jitted = JitFunction(program)
    assert story(jitted) == story(program)
    assert not jitted.in_python, jitted.explain()


def test_there_are_programs():
    assert len(PROGRAMS) == 12


class Logged(nn.Cell):
    """A Cell whose construct counts, keeps and leaves the Tensors."""

    def __init__(self):
        super().__init__()
        self.weight = ms.Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="weight")
        self.calls, self.seen = 0, []

    def construct(self, x):
        self.calls = self.calls + 1
        self.seen.append(self.calls)
        y = np.asarray(x.asnumpy()) * 2
        return self.weight * Tensor(y) + len(self.seen)


def test_a_cell_keeps_count_while_python_runs_in_it():
    plain, jitted = Logged(), Logged()
    jitted.construct = ms.jit(jitted.construct)
    for n in range(4):
        x = Tensor(np.array([n, 1.0], np.float32))
        assert plain(x).tolist() == jitted(x).tolist() and plain.seen == jitted.seen and plain.calls == jitted.calls


def test_a_segments_exception_arrives_as_itself_with_the_users_frames():
    def inner(x):
        values = eval("[1, 2]")
        return x * values[5]

    def f(x):
        return inner(x) + 1
    jitted = JitFunction(f)
    for _ in range(3):
        with pytest.raises(IndexError) as caught:
            jitted(Tensor([1.0]))
        names = [entry.name for entry in caught.traceback if entry.path.name == "test_effects.py"]
        assert names[-2:] == ["f", "inner"] or names[-1] == "inner"


def test_what_a_tensor_is_decides_as_in_python_where_python_holds_it():
    def is_item(x, y):
        items = [x, y, 3]
        return 3 in items, x is items[0], x is items[1], items[2] is None

    def key(x, y):
        table = {x: 1}
        return table[x], x in table, y in table
    for function in is_item, key:
        compiled = JitFunction(function)
        for value in 1.0, 2.0, 2.0:
            x, y = Tensor(np.array([value])), Tensor(np.array([1.0]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FallbackWarning)
                assert compiled(x, y) == function(x, y)


class Twice:
    """What is assigned to `value` is doubled."""

    def __init__(self):
        self.kept = 0

    @property
    def value(self):
        return self.kept

    @value.setter
    def value(self, new):
        self.kept = new * 2


def test_a_property_is_looked_into_when_python_code_is_recorded():
    owner = Twice()

    def f(x, n):
        owner.value = n
        return x * owner.value
    compiled = JitFunction(f)
    for n in range(6):
        assert compiled(Tensor([1.0]), n) == Tensor([2.0 * n])
    assert compiled.runs_in_python < 4 and not compiled.in_python


def test_a_function_whose_runs_do_not_show_what_they_should_is_left_to_python_with_a_word():
    class Kept:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)

        def __bool__(self):
            return self.kept > 3
    owner = Kept()

    def f(x, n):
        owner.kept = n
        return x + 1 if owner else x
    compiled = JitFunction(f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in range(12):
            assert compiled(Tensor([1.0]), n) == Tensor([1.0 + (n > 3)])
    assert any("does not show" in str(w.message) for w in told if issubclass(w.category, FallbackWarning))


ITEMS, TABLE = [], {}


def deletes_an_item():
    del ITEMS[0]
    return 1.0


def takes_an_item():
    ITEMS.pop()
    return 1.0


def stores_an_item():
    ITEMS[len(TABLE) - 1] = 2
    TABLE[len(TABLE)] = 1
    return 1.0


def deletes_a_key():
    del TABLE[max(TABLE)]
    return 1.0


def counts_then_reads():
    OBJECT.n += 1
    ITEMS[OBJECT.n - 2] += 1
    return 1.0


@pytest.mark.python_runs("an object outside")
@pytest.mark.parametrize("change", [deletes_an_item, takes_an_item, stores_an_item, deletes_a_key, counts_then_reads])
def test_what_comes_before_an_exception_of_a_container_outside_has_happened_once(change):
    """A construct does it the first time as one call, then as another: the run that begins again took the later one's result for
    the first (programs s9301.1394)."""
    def f(y):
        change()
        y[::2] += 1.0
        return y * change()
    seen = []
    for function in f, ms.jit(f):
        for _ in range(2):
            begin()
            y, ITEMS[:] = Tensor([0.0, 0.0, 0.0]), [1]
            TABLE.clear()
            TABLE[0] = 0
            with pytest.raises((IndexError, ValueError, KeyError)) as caught:
                function(y)
            seen.append((type(caught.value), y.tolist(), list(ITEMS), dict(TABLE), OBJECT.n))
    assert seen == [seen[0]] * 4 and seen[0][1] == [1, 0, 1]


def raises_itself(y):
    raise ValueError("no")


def asserts(y):
    assert len(y.shape) == 2, "no matrix"


def adds_other_sizes(y):
    return y + ops.ones(4, ms.float32)


def reads_no_item(y):
    return [1, 2][5]


def divides_by_zero(y):
    return 1 // 0


def has_no_attribute(y):
    return y.nothing


def takes_no_such_argument(y):
    return ops.sum(y, nothing=1)


def raises_in_a_loop(y):
    for i in range(3):
        y[i] += i
        if i == 1:
            raise RuntimeError("at 1")


@pytest.mark.parametrize("end", [raises_itself, asserts, adds_other_sizes, reads_no_item, divides_by_zero, has_no_attribute,
                                 takes_no_such_argument, raises_in_a_loop])
def test_what_comes_before_an_exception_that_is_known_when_a_graph_is_made_has_happened(end):
    """With fullgraph=True such a call did nothing but raise."""
    def f(y):
        OBJECT.n = OBJECT.n + 1
        ops.assign(WEIGHT, WEIGHT + 1)
        y[::2] += 1.0
        return end(y)
    seen = []
    for function in f, ms.jit(f), ms.jit(f, fullgraph=True):
        for _ in range(2):
            begin()
            y = Tensor([0.0, 0.0, 0.0])
            with pytest.raises(Exception) as caught:
                function(y)
            seen.append((type(caught.value), str(caught.value).split("\n")[0], y.tolist(), outside()))
    assert seen == [seen[0]] * 6 and seen[0][2][0] == 1


def test_an_exception_before_which_nothing_happens_is_raised_without_a_run_in_python():
    def f(y):
        return ops.matmul(ops.exp(y), ops.ones((4, 4), ms.float32))
    compiled = JitFunction(f, fullgraph=True)
    compiled.python = lambda *args, **kwargs: pytest.fail("Python ran the call")
    with pytest.raises(ms.ShapeError):
        compiled(Tensor([0.0, 0.0, 0.0]))
