"""One CallPlan, three interpreters: Python, generated Python and machine code decide, compute and write back alike."""
import collections

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mindlite as ms
from mindlite import Parameter, Tensor, ops
from mindlite.backend import python_entry
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import Passed
from mindlite.compile import short_plan
from mindlite.compile.guards import guard_holds, refused_by
from mindlite.infer.outside import current_value
from mindlite.compile.known_call import BRIEF_BYTES, KnownCall, OpenKnownCall
from mindlite.compile.plain_call import complete, fits, run, run_graph
from mindlite.compile.quick import MISS
from mindlite.compile.signature import Leaves, signature_of
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.pynative.kernels import Compiled

pytestmark = pytest.mark.skipif(not python_entry.available(), reason="this Python lays out its objects in another way")

FACTOR = 3


class World:
    """What a function reads and writes outside of itself."""

    def __init__(self):
        self.scale, self.mode, self.pair, self.items = 300, "plus", (1, 2), [1, 2]
        self.weight = Parameter(Tensor(np.array(2, np.float32)), name="weight")
        self.count = Parameter(Tensor(np.array(0, np.int32)), name="count")

    def shift(self, x):
        return x + 1

    def restore(self):
        """As it was made."""
        self.scale, self.mode, self.pair, self.items[:] = 300, "plus", (1, 2), [1, 2]
        self.__dict__.pop("shift", None)
        self.weight.set_data(Tensor(np.array(2, np.float32)), slice_shape=True)


def other_shift(x):
    return x - 1


# ---------------------------------------------------------------- drawn functions: some PIECES, then a FORM

def by_global(x, y, world):
    return x * FACTOR


def by_attribute(x, y, world):
    return x + world.scale


def by_text(x, y, world):
    return x + y if world.mode == "plus" else x - y


def by_tuple(x, y, world):
    return x * world.pair[1]


def by_list(x, y, world):
    return x + len(world.items)


def by_method(x, y, world):
    return world.shift(x)


def by_parameter(x, y, world):
    return x * world.weight


def counted(x, y, world):
    ops.assign(world.count, world.count + 1)
    return x


def by_size(x, y, world):
    return x + x.shape[0]


def checked(x, y, world):
    if x.sum() > 5000000:
        raise ValueError("the sum is too large")
    return x


def in_place(x, y, world):
    y[:1] = 5
    return x


PIECES = (by_global, by_attribute, by_text, by_tuple, by_list, by_method, by_parameter, counted, by_size, checked, in_place)


def plain(x, y, extra):
    return x


def two(x, y, extra):
    return x * y, x


def several(x, y, extra):
    return (x + y, (x - y).sum()), x * x


def of_other_kinds(x, y, extra):
    return [x + 1, y], x.shape[0] * 3, "text"


def by_number(x, y, extra):
    return x * extra


def by_pair(x, y, extra):
    return x + extra[0] - extra[1]


def by_name(x, y, extra):
    return x + extra["a"] * extra["b"]


def appended(x, y, extra):
    extra.append(x + y)
    extra[0] = 7
    return x


def chosen(x, y, extra):
    return x if extra == "yes" else y + x


FORMS = {plain: "none", two: "none", several: "none", of_other_kinds: "none", by_number: "number", by_pair: "pair",
         by_name: "dict", appended: "list", chosen: "text"}


def function_of(pieces, form, world, step):
    """A function of drawn parts; it reads them, `world` and `step` in the cells of its closure."""
    def function(x, y, extra=None):
        x = x + step
        for piece in pieces:
            x = piece(x, y, world)
        return form(x, y, extra)
    return function


@st.composite
def calls(draw):
    """(pieces, form, whether sizes are open, the arguments)"""
    pieces = tuple(draw(st.lists(st.sampled_from(PIECES), max_size=5)))
    form = draw(st.one_of(st.sampled_from((plain, two)), st.sampled_from(list(FORMS))))
    kind = draw(st.sampled_from(("float32", "float64", "int32")))
    shape = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))

    def array(leaf, shape=shape):
        made = np.random.default_rng(draw(st.integers(0, 9))).integers(-3, 4, shape).astype(kind)
        return {"Tensor": Tensor, "Parameter": lambda a: Parameter(Tensor(a), name="p"), "array": lambda a: a,
                "strided": lambda a: Tensor.wrap(np.stack([a, a], -1)[..., 0])}[leaf](made)
    leaf = st.sampled_from(("Tensor", "Tensor", "Tensor", "Parameter", "array", "strided"))
    x = array(draw(leaf))
    y = x if draw(st.integers(0, 4)) == 0 else array(draw(leaf), draw(st.sampled_from((shape, shape, shape[-1:]))))
    extra = {"none": lambda: None, "number": lambda: draw(st.sampled_from((2, 2.5, True, 0))),
             "pair": lambda: (array("Tensor"), array("Tensor")), "dict": lambda: {"a": array("Tensor"), "b": 2},
             "list": lambda: [array("Tensor"), 2], "text": lambda: draw(st.sampled_from(("yes", "no")))}[FORMS[form]]()
    return pieces, form, draw(st.sampled_from((0, 1))), (x, y) if extra is None else (x, y, extra)


# ---------------------------------------------------------------- changes between two calls

def numpy_of(x):
    return x.asnumpy() if isinstance(x, Tensor) else x


def set_factor(function, world, args):
    globals()["FACTOR"] = 4
    return args


def equal_objects(function, world, args):
    world.scale, world.mode, world.pair = int("300"), "".join(("pl", "us")), tuple([1, 2])
    return args


def set_scale(function, world, args):
    world.scale = 5
    return args


def without_scale(function, world, args):
    del world.scale
    return args


def set_mode(function, world, args):
    world.mode = "minus"
    return args


def set_pair(function, world, args):
    world.pair = (1, 3)
    return args


def change_items(function, world, args):
    world.items.append(3)
    return args


def set_method(function, world, args):
    world.shift = other_shift
    return args


def set_weight(function, world, args):
    world.weight.set_data(Tensor(np.array(3, np.float32)))
    return args


def set_weight_of_other_size(function, world, args):
    world.weight.set_data(Tensor(np.array([3], np.float32)), slice_shape=True)
    return args


def set_step(function, step):
    function.__closure__[function.__code__.co_freevars.index("step")].cell_contents = step


def other_step(function, world, args):
    set_step(function, 2)
    return args


def nothing(function, world, args):
    return args


def other_dtype(function, world, args):
    x, y, *extra = args
    return ops.cast(x if isinstance(x, Tensor) else Tensor(x), ms.int64), y, *extra


def other_sizes(function, world, args):
    x, y, *extra = args
    return Tensor(np.ones((*x.shape[:-1], x.shape[-1] + 4), numpy_of(x).dtype)), y, *extra


def strided(function, world, args):
    x, y, *extra = args
    array = numpy_of(x)
    return Tensor.wrap(np.stack([array, array], -1)[..., 0]), y, *extra


def aliased(function, world, args):
    x, y, *extra = args
    return x, x, *extra


def large(function, world, args):
    x, y, *extra = args
    array = numpy_of(x)
    return Tensor(np.full_like(array, 1 << 23)), y, *extra


def other_extra(function, world, args):
    x, y, *extra = args
    others = {bool: lambda e: False, int: lambda e: 7, float: lambda e: 0.5, str: lambda e: "maybe", tuple: list, dict: dict,
              list: list}
    return x, y, *[others[type(e)](e) for e in extra]


CHANGES = (nothing, set_factor, equal_objects, set_scale, without_scale, set_mode, set_pair, change_items, set_method, set_weight,
           set_weight_of_other_size, other_step, other_dtype, other_sizes, strided, aliased, large, other_extra)


# ---------------------------------------------------------------- what a call does

def flat(value):
    """A value as something that compares: structure, dtypes, shapes and bits."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(flat, value)
    if isinstance(value, dict):
        return "dict", *[(k, flat(v)) for k, v in value.items()]
    if isinstance(value, Tensor):
        value = value.asnumpy()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    return type(value).__name__, repr(value)


def close(a, b):
    """Are what `flat` gave of two values the same but for the order of sums?"""
    if isinstance(a, tuple) and len(a) == 3 and isinstance(a[2], bytes):
        return a[:2] == b[:2] and np.allclose(*(np.frombuffer(each[2], each[0]) for each in (a, b)), rtol=1e-5)
    return len(a) == len(b) and all(map(close, a, b)) if isinstance(a, tuple) else a == b


def tensors_of(args):
    """Arrays as Tensors around the same memory, as a compiled function takes them."""
    return [Tensor.wrap(a) if isinstance(a, np.ndarray) else a for a in args]


class State:
    """What a call may write to, to be compared and put back."""

    def __init__(self, world, args):
        self.world, self.args = world, args
        self.tensors = [t for t in (world.weight, world.count, *self.leaves(args)) if isinstance(t, (Tensor, np.ndarray))]
        self.before = [self.array(t).copy() for t in self.tensors]
        self.extra = list(args[-1]) if isinstance(args[-1], list) else None

    def leaves(self, value):
        if isinstance(value, (tuple, list)):
            return [leaf for part in value for leaf in self.leaves(part)]
        return self.leaves(list(value.values())) if isinstance(value, dict) else [value]

    def array(self, tensor):
        return tensor.array if isinstance(tensor, Tensor) else tensor

    def show(self):
        return flat([self.array(t) for t in self.tensors]), flat(self.args)

    def restore(self):
        if self.extra is not None:
            self.args[-1][:] = self.extra
        for tensor, before in zip(self.tensors, self.before):
            self.array(tensor)[...] = before


def outcome(state, call):
    """(the value or the error, what the arguments and the world hold afterwards); None where nothing has run. All is put back."""
    try:
        value = call()
        given = value if value is MISS else flat(value)
    except ValueError as error:
        given = type(error), str(error)
    after = state.show()
    state.restore()
    return None if given is MISS else (given, after)


class Interpreters:
    """The interpreters of a function that was compiled for `args`: each gives (the value, None), or (MISS, what refused)."""

    def __init__(self, jitted, args):
        self.jitted, self.compiled, self.learnt = jitted, jitted.compiled, self.signature(args)
        self.variant, = self.compiled.variants
        self.plan, self.types = self.variant.plan, [type(leaf) for leaf in args]
        self.call = self.compiled.quick.calls[0] if self.compiled.quick.calls else None
        self.short = self.call and self.call.short
        self.all = {"Python": self.by_python, **({"generated Python": self.by_generated_python} if self.call else {}),
                    **({"machine code": self.by_machine_code} if self.short else {})}

    def signature(self, args):
        return signature_of((args, ()), Leaves())

    def by_python(self, args):
        leaves = Leaves()
        if not fits(self.plan, signature_of((args, ()), leaves)):
            return MISS, "arguments"
        refused = refused_by(self.plan.guards)
        if refused is not None:
            return MISS, refused
        return self.decided(lambda: run(self.plan, complete(self.plan, leaves)), args), None

    def by_generated_python(self, args):
        value = self.decided(lambda: self.call(args), args)
        return value, self.call.refused

    def decided(self, call, args):
        """What a call gives where its errors go the way of all errors."""
        try:
            try:
                return call()
            except Exception as error:
                return self.compiled.decide(error, args, {})
        except Passed as passed:
            raise passed.error from None

    def by_machine_code(self, args):
        plans, words = list(self.jitted.plans), self.short.words
        self.jitted.plans[:] = words, self.call
        self.compiled.call = lambda args, kwargs: MISS        # what machine code leaves to Python
        before = int(words[short_plan.CALLS])
        try:
            value = self.jitted(*args)
        finally:
            del self.compiled.call
            self.jitted.plans[:] = plans
        assert (value is MISS) == (int(words[short_plan.CALLS]) == before)
        return value, self.call.refused if words[short_plan.REFUSED] == short_plan.BY_TEST else self.short.refused

    def may_refuse(self, refused, args):
        """Is it right that a fast path leaves a call to Python, which can make it?"""
        if refused is not None:                              # an equal object, and another one
            kind, owner, name, value = self.plan.guards[refused]
            return current_value(kind, owner, name) is not value
        arrays = [leaf.array if isinstance(leaf, Tensor) else leaf for leaf in State(World(), args).leaves(args)
                  if isinstance(leaf, (Tensor, np.ndarray))]
        return self.signature(args) != self.learnt or [type(a) for a in args] != self.types or \
            not all(a.flags.c_contiguous for a in arrays)


SEEN: collections.Counter = collections.Counter()


def compare(three, change, function, state):
    """All interpreters decide alike, and give and leave behind what plain Python does."""
    results = {}
    for name, interpreter in three.all.items():
        refused = []

        def call(interpreter=interpreter, refused=refused):
            value, why = interpreter(state.args)
            refused.append(why)
            return value
        results[name] = outcome(state, call), refused[0] if refused else None
    want = outcome(state, lambda: function(*tensors_of(state.args))) if results["Python"][0] is not None else None
    failing = [number for number, guard in enumerate(three.plan.guards) if not guard_holds(guard)]
    for name, (found, refused) in results.items():
        SEEN[name, "refused" if found is None else "raised" if isinstance(found[0][0], type) else "ran"] += 1
        case = name, change.__name__, refused
        if want is None:                                     # none runs it, and each names a guard that does not hold, if any
            assert found is None, case
            assert refused in failing or not failing or three.may_refuse(refused, state.args), case
        elif found is None:                                  # a fast path may leave to Python what is equal
            assert three.may_refuse(refused, state.args), case
        else:
            assert found == results["Python"][0] and close(found, want), case


READS = (by_attribute, by_text, by_global, by_tuple, by_list, by_method, by_parameter, counted, checked)
ONES = Tensor(np.ones(3, np.float32)), Tensor(np.ones(3, np.float32))


@example((READS, two, 0, ONES), [*CHANGES])
@example((READS, several, 1, ONES), [*CHANGES])
@settings(max_examples=25, deadline=None)
@given(calls(), st.lists(st.sampled_from(CHANGES), min_size=3, max_size=6))
def by_all_interpreters(drawn, changes):
    """Call a drawn function by all interpreters, between changes of what it reads and is given."""
    pieces, form, dynamic, args = drawn
    world = World()
    function = function_of(pieces, form, world, 1)
    f = ms.jit(function, fullgraph=True, dynamic=dynamic)
    state = State(world, args)
    want = outcome(state, lambda: function(*tensors_of(args)))
    for _ in range(3):
        assert close(outcome(state, lambda: f(*args)), want)
    three = Interpreters(f, args)
    for change in (nothing, *changes, nothing):
        compare(three, change, function, State(world, change(function, world, args)))
        globals()["FACTOR"] = 3
        world.restore()
        set_step(function, 1)


def test_three_interpreters_decide_compute_and_write_back_alike():
    SEEN.clear()
    by_all_interpreters()
    for name in ("Python", "generated Python", "machine code"):
        assert SEEN[name, "ran"] > 5 and SEEN[name, "refused"] > 5, SEEN


def test_an_error_of_the_run_is_the_same_by_all_interpreters():
    args, world = (Tensor(np.ones(3, np.float32)), Tensor(np.ones(3, np.float32))), World()
    function = function_of((counted, checked), plain, world, 1)
    f = ms.jit(function, fullgraph=True)
    f(*args), f(*args)
    three = Interpreters(f, args)
    assert len(three.all) == 3
    SEEN.clear()
    compare(three, large, function, State(world, large(function, world, args)))
    assert {name for name, what in SEEN if what == "raised"} == set(three.all)


def test_a_compiled_graph_of_open_sizes_gives_the_same_by_its_plan_and_by_a_known_call():
    n, m = Symbol("n").dim, Symbol("m").dim
    graph = typed(lambda x, y: (ops.tanh(x) + y, x.sum(0), ops.concat((x, x), 0)), AbstractTensor(dt.float32, (n, m)),
                  AbstractTensor(dt.float32, (m,)))
    compiled, rng = Compiled(graph), np.random.default_rng(3)
    given = [(python_entry.ARRAY, np.ndarray, a.dtype.numpy, a.shape, None) for a in compiled.inputs]
    opened, before = OpenKnownCall(compiled.plan, given, (4, 6)), None
    for rows, columns in [(2, 3), (0, 4), (1, 1), (5, 2), (3, 0), *rng.integers(0, 9, (4, 2)).tolist()]:
        x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, columns), (columns,)))
        by_plan = run_graph(compiled.plan, [x, y])
        known = KnownCall(compiled.plan, [(python_entry.ARRAY, np.ndarray, a.dtype, a.shape, None) for a in (x, y)],
                          compiled.plan.sizes([x, y]))
        if before is not None and before[0].shape != x.shape:
            assert opened.run([x, y]) is None                # it is aimed at other sizes
            assert [a.tobytes() for a in opened.run(before[:2])] == before[2]
        before = x, y, [a.tobytes() for a in by_plan]
        for made in (known.run([x, y]), opened.aim((rows, columns)).run([x, y]), compiled.run([x, y]), compiled.run([x, y])):
            assert [(a.shape, a.tobytes()) for a in made] == [(a.shape, a.tobytes()) for a in by_plan]
        assert known.run([x.astype(np.float64), y]) is None and known.run([np.zeros((rows + 1, columns), np.float32), y]) is None


def test_other_threads_run_during_a_run_that_is_not_brief():
    def loop(x):
        while x.sum() < 10:
            x = x + 1
        return x

    def add(x, y):
        return x * 2 + y
    brief = {}
    for name, function, size in (("small", add, 4), ("large", add, BRIEF_BYTES), ("loop", loop, 4)):
        f, x = ms.jit(function, fullgraph=True), Tensor(np.ones(size, np.float32))
        args = (x,) if function is loop else (x, x + 1)
        f(*args), f(*args)
        assert f.compiled.quick.calls
        brief[name] = bool(f.compiled.quick.calls[0].__globals__["keep"].entry.plan[4])
    assert brief == {"small": True, "large": False, "loop": False}
