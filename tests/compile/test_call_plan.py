"""One CallPlan, three interpreters: Python, generated Python and machine code do the same with drawn signatures."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.backend import python_entry
from mindlite.compile import short_plan
from mindlite.compile.call_plan import BRIEF_BYTES, KnownCall
from mindlite.compile.quick import MISS
from mindlite.mindir.builder import typed
from mindlite.mindir.abstract import AbstractTensor
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.pynative.kernels import Compiled

pytestmark = pytest.mark.skipif(not python_entry.available(), reason="this Python lays out its objects in another way")

FACTOR = 3
KINDS = ("float32", "float64", "int32")


def drawn(rng, leaf, shape, kind):
    """An array of small numbers as a Tensor, a Parameter or itself."""
    array = rng.integers(-3, 4, shape).astype(kind)
    return {"Tensor": Tensor, "Parameter": lambda x: Parameter(Tensor(x), name="p"), "array": lambda x: x}[leaf](array)


class Step(nn.Cell):
    """Reads one Parameter and writes to another."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(np.array(2.0, np.float32)), name="weight")
        self.count = Parameter(Tensor(np.array(0, np.int32)), name="count")

    def construct(self, x):
        ops.assign(self.count, self.count + 1)
        return x * self.weight


def one(x, y):
    return x * 2 + y


def several(x, y):
    return (x + y, (x - y).sum()), x * x


def no_result_of_its_own(x, y):
    return [x + 1, x], 3


def size_as_a_number(x, y):
    return x + 1, x.shape[0] * 3


def unread(x, y):
    return x - 1


def many(x, y):
    return tuple([x + y * n * FACTOR for n in range(12)])


def nested(pair, flag):
    return pair[0] + pair[1] if flag else pair[0]


FUNCTIONS = (one, several, many, no_result_of_its_own, size_as_a_number, unread, nested)


def flat(value):
    """A value as something that compares: structure, dtypes, shapes and bits."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(flat, value)
    if isinstance(value, Tensor):
        value = value.asnumpy()
        return str(value.dtype), value.shape, value.tobytes()
    return value


def drawn_call(seed):
    """(a function, drawn arguments for it, arguments that do not fit what was compiled for them)"""
    rng = np.random.default_rng(seed)
    function = FUNCTIONS[seed % len(FUNCTIONS)]
    shape, kind = tuple(rng.integers(0, 5, rng.integers(1, 4)).tolist()), str(rng.choice(KINDS))
    leaves = [str(n) for n in rng.choice(("Tensor", "Tensor", "Parameter", "array"), 2)]
    if function is no_result_of_its_own:
        leaves[0] = "Tensor"                                 # an array that is handed through is a Tensor of its own
    x, y = (drawn(rng, leaf, shape, kind) for leaf in leaves)
    if rng.integers(4) == 0:
        y = x
    x2, y2 = (drawn(rng, leaf, (*shape, 2), kind) for leaf in leaves)
    wide = np.zeros((*shape[:-1], shape[-1], 2), kind)[..., 0]
    other = drawn(rng, leaves[0], shape, next(k for k in KINDS if k != kind))
    misfits = [(x2, y2), (other, y)]
    if wide.size > 1:
        misfits.append((Tensor.wrap(wide), y))
    if function is nested:
        flag = bool(rng.integers(2))
        return function, ((x, y), flag), [*[(pair, flag) for pair in misfits], ((x, y), not flag), ([x, y], flag),
                                          ((x, y, x), flag)]
    return function, (x, y), misfits


def machine_calls(jitted):
    """How many calls machine code has made."""
    return sum(int(plan.words[short_plan.CALLS]) for variant in jitted.variants for plan in variant.plans)


@pytest.mark.parametrize("seed", range(36))
def test_three_interpreters_give_the_same_bits_and_refuse_the_same_arguments(seed):
    function, args, misfits = drawn_call(seed)
    f = ms.jit(function, fullgraph=True)
    arrays = any(isinstance(a, np.ndarray) for a in (args[0] if function is nested else args))
    jitted, want = f.compiled, None if arrays else flat(function(*args))
    first = flat(f(*args))
    assert want is None or first == want
    assert flat(f(*args)) == first                           # now the fast paths are known
    variant, leaves, _ = jitted.select(args, {})
    assert flat(variant.run(leaves)) == first                # Python
    for call in jitted.quick.calls:
        assert flat(call(args)) == first                     # generated Python
        for other in misfits:
            assert call(other) is MISS
    assert jitted.quick.calls or variant.slow
    before = machine_calls(jitted)
    assert flat(f(*args)) == first                           # machine code, where it can make the result
    planned = bool(variant.plans)
    assert machine_calls(jitted) == before + planned
    for other in misfits:
        assert flat(f(*other)) == flat(ms.jit(function, fullgraph=True)(*other))
    assert machine_calls(jitted) == before + planned


def test_most_drawn_signatures_have_all_three_interpreters():
    known = {"generated Python": 0, "machine code": 0}
    for seed in range(36):
        function, args, _ = drawn_call(seed)
        f = ms.jit(function, fullgraph=True)
        f(*args), f(*args)
        known["generated Python"] += bool(f.compiled.quick.calls)
        known["machine code"] += bool(f.compiled.plans)
    assert known["generated Python"] >= 24 and known["machine code"] >= 12, known


def test_each_interpreter_writes_back_to_parameters():
    net, x = Step(), Tensor(np.ones(3, np.float32))
    f = ms.jit(net.construct, fullgraph=True)
    f(x), f(x)
    variant, leaves, _ = f.compiled.select((x,), {})
    ways = [lambda: variant.run(leaves), lambda: f.compiled.quick.calls[0]((x,)), lambda: f(x)]
    for count, way in enumerate(ways, 3):
        np.testing.assert_array_equal(way().asnumpy(), [2, 2, 2])
        assert int(net.count) == count
    net.weight.set_data(Tensor(np.array(5.0, np.float32)))
    for way in ways:
        np.testing.assert_array_equal(way().asnumpy(), [5, 5, 5])


def test_a_compiled_graph_of_open_sizes_gives_the_same_by_its_plan_and_by_a_known_call():
    n, m = Symbol("n").dim, Symbol("m").dim
    graph = typed(lambda x, y: (ops.tanh(x) + y, x.sum(0), ops.concat((x, x), 0)), AbstractTensor(dt.float32, (n, m)),
                  AbstractTensor(dt.float32, (m,)))
    compiled, rng = Compiled(graph), np.random.default_rng(3)
    for rows, columns in [(2, 3), (0, 4), (1, 1), (5, 2), (3, 0), *rng.integers(0, 9, (4, 2)).tolist()]:
        x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((rows, columns), (columns,)))
        by_plan = compiled.plan.run([x, y], lambda ran: [compiled.plan.result(i, ran) for i in range(3)])
        known = KnownCall(compiled.plan, [(python_entry.ARRAY, np.ndarray, a.dtype, a.shape) for a in (x, y)],
                          compiled.plan.sizes([x, y]))
        for made in (known.run([x, y]), compiled.run([x, y]), compiled.run([x, y])):
            assert [(a.shape, a.tobytes()) for a in made] == [(a.shape, a.tobytes()) for a in by_plan]
        assert known.run([x.astype(np.float64), y]) is None and known.run([np.zeros((rows + 1, columns), np.float32), y]) is None


def test_other_threads_run_during_a_run_that_is_not_brief():
    def loop(x):
        while x.sum() < 10:
            x = x + 1
        return x
    brief = {}
    for name, function, size in (("small", one, 4), ("large", one, BRIEF_BYTES), ("loop", loop, 4)):
        f, x = ms.jit(function, fullgraph=True), Tensor(np.ones(size, np.float32))
        args = (x,) if function is loop else (x, x + 1)
        f(*args), f(*args)
        assert f.compiled.quick.calls
        brief[name] = bool(f.compiled.quick.calls[0].__globals__["keep"].entry.plan[4])
    assert brief == {"small": True, "large": False, "loop": False}
