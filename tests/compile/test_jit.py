"""Calling a compiled function: what is compiled when, and that a call does what the Python function does."""
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import ops
from mindlite.common.dim import Symbol
from mindlite.common.errors import GraphSyntaxError, ShapeError
from mindlite.common.events import counting
from mindlite.common.tensor import Parameter, Tensor
from mindlite.compile.jit import MAX_SHAPE_VARIANTS, JitFunction

FACTOR = 2
WEIGHTS = Tensor(np.array([1.0, 2.0], np.float32))


def tensor(*values, dtype=np.float32):
    return Tensor(np.array(values, dtype))


def rows(n, columns=3, seed=0):
    return Tensor(np.random.default_rng(seed + n).normal(size=(n, columns)).astype(np.float32))


def assert_same(got, want):
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want):
            assert_same(g, w)
    elif isinstance(want, Tensor):
        assert got.dtype is want.dtype and got.shape == want.shape
        got, want = (x.asnumpy().astype(np.float64) for x in (got, want))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    else:
        assert type(got) is type(want) and got == want


# ------------------------------------------------------------------ variants

def test_a_second_call_of_the_same_kind_compiles_nothing():
    f = JitFunction(lambda x: ops.tanh(x) * 2)
    with counting() as counts:
        for seed in range(4):
            f(rows(3, seed=seed))
    assert counts["compile"] == 1 and [v.reason.text for v in f.variants] == ["first call"]
    assert f.variants[0].calls >= 1


def test_every_variant_has_its_reason():
    f = JitFunction(lambda x, flag: x * 2 if flag else x)
    f(tensor(1.0), True)
    f(tensor(1.0, dtype=np.float64), True)
    f(tensor(1.0), "yes")
    reasons = [v.reason.text for v in f.variants]
    assert reasons[0] == "first call" and "f32[1] -> f64[1]" in reasons[1] and len(reasons) == 3
    text = f.explain()
    assert all(reason in text for reason in reasons)


def test_the_explanation_tells_which_library_kernels_there_are_and_why():
    f = JitFunction(lambda x, w: ops.matmul(ops.relu(ops.matmul(x, w)), w))
    f(rows(4), Tensor(np.ones((3, 3), np.float32)))
    kernel = next(k for k in f.kernels() if k.why)
    assert f"    {kernel.name}, 2 launch(es): {kernel.why}\n" in f.explain(details=True) and kernel.name.startswith("matmul_f32")


def test_a_size_that_changes_is_open_from_the_second_call():
    f = JitFunction(lambda x: ops.softmax(x).sum(0))
    for n in (3, 5, 7, 2, 9):
        x = rows(n)
        assert_same(f(x), ops.softmax(x).sum(0))
    assert [[type(s) for s in v.signature[1][1].shape] for v in f.variants] == [[int, int], [Symbol, int]]


@pytest.mark.parametrize("first", [1, 0, 4])
def test_results_are_right_for_0_rows_and_1_row_too(first):
    def f(x):
        return x.sum(0), x * x.shape[0], x.reshape((-1,)), x.shape
    compiled = JitFunction(f)
    for n in (first, 3, 0, 1, 6):
        assert_same(compiled(rows(n)), f(rows(n)))


def test_broadcasting_is_right_whichever_sizes_came_first():
    def f(x, y):
        return x + y
    for order in [(3, 3), (1, 4), (5, 1), (7, 7)], [(1, 1), (4, 4), (1, 6), (6, 1)]:
        compiled = JitFunction(f)
        for a, b in order:
            assert_same(compiled(rows(a), rows(b)), f(rows(a), rows(b)))
        with pytest.raises(ValueError, match="differ|broadcast|fit"):
            compiled(rows(3), rows(4))


def test_there_are_few_variants_by_shape():
    f = JitFunction(lambda x: x * 2)
    shape = [2, 2, 2, 2, 2, 2]
    for axis in range(6):
        shape[axis] += 1
        assert f(Tensor(np.ones(shape, np.float32))).shape == tuple(shape)
    f(Tensor(np.ones([9] * 6, np.float32)))
    assert len(f.variants) <= MAX_SHAPE_VARIANTS + 1


def test_a_branch_on_a_size_is_right_for_every_size():
    def f(x):
        if x.shape[0] > 4:
            return x * 2
        return x * 3
    compiled = JitFunction(f)
    for n in (3, 5, 4, 8, 1):
        assert_same(compiled(rows(n)), f(rows(n)))


def test_dynamic_opens_all_sizes_at_once():
    f = JitFunction(lambda x: x @ x.T, dynamic=1)
    for n, m in ((2, 3), (4, 5), (1, 1)):
        assert f(rows(n, m)).shape == (n, n)
    assert len(f.variants) == 1


def test_declared_inputs_are_open_from_the_first_call():
    f = JitFunction(lambda x: x * 2, inputs=(Tensor(shape=(None, 3), dtype=ms.float32),))
    for n in (4, 1, 6):
        assert f(rows(n)).shape == (n, 3)
    assert len(f.variants) == 1


def test_numbers_that_change_do_not_compile_for_ever():
    f = JitFunction(lambda x, k: x * k)
    for k in range(12):
        assert float(f(tensor(1.0), k)) == k
    assert len(f.variants) <= 3


def test_types_are_told_apart():
    def f(x, k):
        return x * k, k
    compiled = JitFunction(f)
    for k in (1, True, 1.0, 0.0, -0.0, 0, False):
        got = compiled(tensor(1.0), k)
        assert type(got[1]) is type(k) and str(got[1]) == str(k)


# ------------------------------------------------------------------ what was read at compile time

def test_a_changed_global_is_seen(monkeypatch):
    f = JitFunction(lambda x: x * FACTOR + WEIGHTS)
    assert f(tensor(1.0, 1.0)).tolist() == [3, 4]
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert f(tensor(1.0, 1.0)).tolist() == [6, 7]
    monkeypatch.setitem(globals(), "WEIGHTS", tensor(10.0))
    assert f(tensor(1.0, 1.0)).tolist() == [15, 15]


def test_a_changed_closure_cell_is_seen():
    factor, offsets = 2, [1]
    f = JitFunction(lambda x: x * factor + offsets[0])
    assert f(tensor(1.0)).tolist() == [3]
    factor = 5
    assert f(tensor(1.0)).tolist() == [6]
    offsets[0] = 7
    assert f(tensor(1.0)).tolist() == [12]
    offsets = [0]
    assert f(tensor(1.0)).tolist() == [5]


def test_a_changed_attribute_is_seen():
    class Settings:
        scale = 2
    settings = Settings()
    f = JitFunction(lambda x: x * settings.scale)
    assert f(tensor(1.0)).tolist() == [2]
    settings.scale = 3.5
    assert f(tensor(1.0)).tolist() == [3.5]
    Settings.scale, settings.scale = 9, 4
    assert f(tensor(1.0)).tolist() == [4]


def test_a_replaced_function_is_seen():
    def double(x):
        return x * 2
    f = JitFunction(lambda x: double(x))
    assert f(tensor(1.0)).tolist() == [2]

    def twenty_times(x):
        return x * 20
    double = twenty_times                       # noqa: F811
    assert f(tensor(1.0)).tolist() == [20]


def test_a_parameter_that_changed_its_size_is_seen():
    w = Parameter(np.ones(2, np.float32), "w")
    f = JitFunction(lambda x: x + w)
    f(tensor(1.0, 2.0))
    w.set_data(tensor(1.0, 2.0, 3.0), slice_shape=True)
    assert f(tensor(1.0, 1.0, 1.0)).tolist() == [2, 3, 4]


# ------------------------------------------------------------------ arguments and results

def test_arguments_and_results_may_be_nested():
    def f(a, pair, *, scale, names=()):
        return {"sum": a + pair[0], "items": [pair[1]["x"] * scale, len(names)], "pair": (a, None, "text")}
    args, kwargs = (tensor(1.0), (tensor(2.0), {"x": tensor(3.0)})), {"scale": 4, "names": ("p", "q")}
    got, want = JitFunction(f)(*args, **kwargs), f(*args, **kwargs)
    assert got.keys() == want.keys()
    for key in want:
        assert_same(got[key], want[key])


def test_changes_of_lists_and_dicts_reach_the_caller():
    def f(values, table, x):
        values.append(x * 2)
        values[0] = x
        table["new"] = values[-1] + 1
        del table["old"]
        return values
    compiled = JitFunction(f)
    for _ in range(2):
        values, table = [tensor(0.0)], {"old": tensor(1.0), "kept": 3}
        result = compiled(values, table, tensor(5.0))
        assert result is values and [v.tolist() for v in values] == [[5], [10]]
        assert list(table) == ["kept", "new"] and table["new"].tolist() == [11] and table["kept"] == 3


@pytest.mark.parametrize("make", [lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1], np.asfortranarray],
                         ids=["transposed", "strided", "reversed", "fortran"])
def test_arrays_that_are_not_contiguous_are_read_right(make):
    array = make(np.arange(12, dtype=np.float32).reshape(3, 4))
    compiled = JitFunction(lambda x: ops.tanh(x) + x.sum(0))
    for _ in range(3):
        np.testing.assert_allclose(compiled(Tensor.wrap(array)).asnumpy(), np.tanh(array) + array.sum(0), rtol=1e-5)


def test_an_argument_that_is_returned_is_that_argument():
    x, w = tensor(1.0, 2.0), Parameter(np.ones(2, np.float32), "w")
    compiled = JitFunction(lambda x: (x, w, x * 1))
    for _ in range(3):
        same, weight, copy = compiled(x)
        assert same is x and weight is w and copy is not x and not np.shares_memory(copy.asnumpy(), x.asnumpy())


def test_results_do_not_share_memory_with_arguments_or_later_results():
    compiled = JitFunction(lambda x: (x.reshape((2, 2)), ops.ones_like(x), x + 0))
    x = tensor(1.0, 2.0, 3.0, 4.0)
    first = compiled(x)
    for result in first:
        result.asnumpy()[...] = 99
    second, third = compiled(x), compiled(x)
    assert x.tolist() == [1, 2, 3, 4]
    for again in (second, third):
        assert [r.tolist() for r in again] == [[[1, 2], [3, 4]], [1, 1, 1, 1], [1, 2, 3, 4]]
    assert not any(np.shares_memory(a.asnumpy(), b.asnumpy()) for a, b in zip(second, third))


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float64, ms.int32, ms.int8, ms.uint8, ms.bool_],
                         ids=lambda d: d.name)
def test_element_types_come_through(dtype):
    def f(x):
        return x + x, x * 2, x.astype(ms.float32) / 2
    x = Tensor(np.array([0, 1, 1]), dtype)
    assert_same(JitFunction(f)(x), f(x))


def test_a_number_that_is_no_number_takes_the_branch_that_python_takes():
    def f(x):
        if x > 0:
            return 1
        elif x <= 0:
            return 2
        return 3
    compiled = JitFunction(f)
    assert [compiled(Tensor(np.float32(v))) for v in (np.nan, np.inf, -np.inf, 0, np.nan)] == [3, 1, 2, 2, 3]


# ------------------------------------------------------------------ Parameters that change

def exchange(a, b, x):
    old = a * 1
    ops.assign(a, b)
    ops.assign(b, old)
    return old


def rotate_by_loop(a, b, x):
    p, q, i = a * 1, b * 1, 0
    while x.sum() > i:
        p, q, i = q, p, i + 1
    ops.assign(a, q)
    ops.assign(b, p)
    return p, q


def old_value_through_a_branch(a, b, x):
    kept = a * 1 if x.sum() > 0 else b * 1
    ops.assign(a, b + 1)
    ops.assign(b, kept)
    return kept * 1, a * 1


def exchange_on_one_side(a, b, x):
    if x.sum() > 2:
        old = a * 1
        ops.assign(a, b)
        ops.assign(b, old)
    else:
        ops.assign(b, a + 1)
    return a + b


def read_between_updates(a, b, x):
    before = a * 1
    ops.assign(a, a * 2)
    between = a * 1
    ops.assign(a, a + x)
    return before, between, a * 1


def update_in_a_loop(a, b, x):
    for i in range(6):
        ops.assign(a, a + b)
        ops.assign(b, a - b)
    return a - b


def update_by_a_permutation_of_itself(a, b, x):
    ops.assign(a, a[::-1] + b)
    ops.assign(b, b[::-1] * a)


UPDATES = [exchange, rotate_by_loop, old_value_through_a_branch, exchange_on_one_side, read_between_updates,
           update_in_a_loop, update_by_a_permutation_of_itself]


@pytest.mark.parametrize("printer", ["native", "vm", "python"])
@pytest.mark.parametrize("update", UPDATES, ids=lambda f: f.__name__)
def test_updates_of_parameters_are_those_of_python(update, printer):
    def parameters():
        return Parameter(np.array([1.0, 2.0], np.float32), "a"), Parameter(np.array([3.0, 5.0], np.float32), "b")
    for x in (tensor(1.0, 2.0), tensor(-1.0, 0.5)):
        want, got = parameters(), parameters()
        compiled = JitFunction(lambda x: update(*got, x), printer=printer)
        for _ in range(3):
            assert_same(compiled(x), update(*want, x))
            assert_same(tuple(p.value() for p in got), tuple(p.value() for p in want))


@pytest.mark.parametrize("update", UPDATES, ids=lambda f: f.__name__)
def test_arguments_that_are_assigned_are_those_of_python(update):
    compiled = JitFunction(update)
    want, got = [[Parameter(np.array(v, np.float32)) for v in ([1, 2], [3, 5])] for _ in range(2)]
    for x in (tensor(1.0, 2.0), tensor(-1.0, 0.5), tensor(3.0, 3.0)):
        assert_same(compiled(*got, x), update(*want, x))
        assert_same([p.value() for p in got], [p.value() for p in want])


def test_what_is_assigned_to_an_array_that_is_not_contiguous_reaches_it():
    memory = np.arange(6, dtype=np.float32).reshape(2, 3)
    w = Parameter(np.zeros(1))
    w.array = memory.T

    def f():
        ops.assign(w, w + 1)
    compiled = JitFunction(f)
    compiled()
    compiled()
    assert memory.tolist() == [[2, 3, 4], [5, 6, 7]]


def test_an_error_in_the_middle_leaves_parameters_as_python_does():
    w = Parameter(np.ones(2, np.float32), "w")

    def f(x):
        ops.assign(w, w + 1)
        if x.sum() > 5:
            raise ValueError(f"the sum is {x.sum()}")
        return w * 1
    compiled = JitFunction(f)
    compiled(tensor(1.0))
    for count in (3, 4):
        with pytest.raises(ValueError, match="the sum is 9"):
            compiled(tensor(9.0))
        assert w.tolist() == [count, count]


def test_gradients_by_one_parameter_that_is_used_and_named_twice():
    w = Parameter(np.array([2.0, 3.0], np.float32), "w")
    grad = ms.grad(lambda x: (w * w * x).sum(), None, [w, w])
    for function in (grad, ms.jit(lambda x: grad(x))):
        assert [g.tolist() for g in function(tensor(1.0, 1.0))] == [[4, 6], [4, 6]]


# ------------------------------------------------------------------ Python inside

def test_a_fallback_runs_once_in_python_and_is_compiled_then():
    def f(x):
        y = x * 2
        return Tensor(np.sin(y.asnumpy())) + y
    compiled = JitFunction(f)
    with counting() as counts:
        for n in (1.0, 2.0, 3.0):
            assert_same(compiled(tensor(n)), f(tensor(n)))
    assert compiled.runs_in_python == 1 and counts["concrete_run"] == 1 and counts["compile"] == 1
    assert "asnumpy" in compiled.explain()


def test_fullgraph_refuses_a_fallback_at_the_users_line():
    def f(x):
        return Tensor(np.sin(x.asnumpy()))
    with pytest.raises(GraphSyntaxError, match="fullgraph=True") as caught:
        JitFunction(f, fullgraph=True)(tensor(1.0))
    assert caught.value.location.line == f.__code__.co_firstlineno + 1


def test_a_compiled_function_may_call_itself_from_its_python_part():
    def f(x, depth):
        y = x * 2
        inner = compiled(Tensor(y.asnumpy() + 1), depth - 1) if depth > 0 else y
        return Tensor(np.array(inner.asnumpy())) + y

    def reference(x, depth):
        y = x * 2
        return (reference(y + 1, depth - 1) if depth > 0 else y) + y
    compiled = JitFunction(f)
    for _ in range(3):
        np.testing.assert_allclose(compiled(tensor(1.0, 2.0), 2).asnumpy(), reference(np.array([1.0, 2.0]), 2))


def test_threads_may_call_the_same_function():
    def f(x):
        for _ in range(20):
            x = ops.tanh(x) + 0.1
        return x

    def reference(x):
        for _ in range(20):
            x = np.tanh(x) + np.float32(0.1)
        return x
    compiled, wrong = JitFunction(f), []

    def work(number):
        for iteration in range(30):
            x = np.random.default_rng(100 * number + iteration).normal(size=20 + number).astype(np.float32)
            try:
                np.testing.assert_allclose(compiled(Tensor(x)).asnumpy(), reference(x), rtol=1e-4)
            except Exception as error:
                wrong.append(error)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ------------------------------------------------------------------ printers

def branches(x):
    if x.sum() > 1:
        return ops.tanh(x), 1
    return x * 3, 2


def doubling(x):
    iterations = 0
    while x.sum() < 100:
        x, iterations = x * 2 + 1, iterations + 1
    return x, iterations


def early_exit(x):
    for i in range(10):
        if x.max() > 30:
            return x, i
        x = x * x + i
    return x, -1


def fibonacci(x):
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)
    return fib((x * 0).sum() + 7)


def gradient_of_a_loop(x):
    return ms.grad(lambda y: doubling(y)[0].sum())(x)


def second_derivative(x):
    return ms.grad(lambda y: ms.grad(lambda z: (z * z * ops.sin(z)).sum())(y).sum())(x)


@pytest.mark.parametrize("function", [branches, doubling, early_exit, fibonacci, gradient_of_a_loop, second_derivative],
                         ids=lambda f: f.__name__)
def test_the_printers_agree_with_each_other_and_with_python(function):
    for x in (tensor(0.5, 0.75), tensor(-0.5, 0.25, 2.0)):
        want = function(x)
        results = [JitFunction(function, printer=printer)(x) for printer in ("native", "vm", "python")]
        for result in results:
            assert_same(result, want)
        assert str(results[0]) == str(results[1]) == str(results[2])


# ------------------------------------------------------------------ large and deep

def test_a_million_iterations():
    def f(x, n):
        i = 0
        while i < n:
            i, x = i + 1, x + 1
        return x
    assert float(JitFunction(f)(Tensor(np.float32(0)), Tensor(np.int32(1_000_000)))) == 1_000_000


@pytest.mark.python_runs("by_number(x, n + 1): no path of the recursion has a result; Python raises its own error")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")      # a finaliser may meet the recursion limit
def test_recursion_without_an_end_is_an_error_not_a_crash():
    def by_value(n):
        if n <= 0:
            return n
        return by_value(n - 1) + 1

    def by_number(x, n):
        return by_number(x, n + 1)
    assert int(JitFunction(by_value)(Tensor(np.int32(50)))) == 50
    with pytest.raises((RecursionError, RuntimeError)):
        JitFunction(by_value)(Tensor(np.int32(100_000_000)))
    with pytest.raises((RecursionError, RuntimeError, GraphSyntaxError)):
        JitFunction(by_number)(tensor(1.0), 0)


# ------------------------------------------------------------------ Parameters from outside

@pytest.mark.parametrize("f", [lambda x, w: x @ w.T, lambda x, w: Tensor(w).T[1] * x.sum(),
                               lambda x, w: Tensor([w[0, 0], 2.0]) * x.sum()])
def test_what_is_made_of_a_parameter_follows_its_values_without_a_new_variant(f):
    w = Parameter(np.arange(6, dtype=np.float32).reshape(2, 3), name="w")
    g = JitFunction(lambda x: f(x, w))
    for factor in (1, 3, -2):
        w.set_data(w * factor)
        assert_same(g(rows(3)), f(rows(3), w))
    assert len(g.variants) == 1 and not g.history


@pytest.mark.parametrize("dynamic", [0, 1])
def test_sizes_of_which_one_row_broadcasts_share_a_variant(dynamic):
    def f(x, y):
        return ops.tanh(x @ y) + x[:, :1] - y[-1:].sum()
    compiled = ms.jit(f, fullgraph=True, dynamic=dynamic)
    slopes = ms.grad(ms.jit(lambda x, y: f(x, y).sum(), fullgraph=True, dynamic=dynamic), (0, 1))
    wanted = ms.grad(lambda x, y: f(x, y).sum(), (0, 1))
    random = np.random.RandomState(3)
    edges = [(1, 1, 1), (3, 1, 2), (0, 2, 5), (4, 3, 1), (4, 3, 0), (2, 7, 6)]
    for rows, inner, columns in [(2, 3, 4), *random.randint(1, 20, (20, 3)), *edges]:
        x, y = Tensor(random.randn(rows, inner)), Tensor(random.randn(inner, columns))
        np.testing.assert_allclose(compiled(x, y).asnumpy(), f(x, y).asnumpy(), atol=1e-6)
        for got, want in zip(slopes(x, y), wanted(x, y), strict=True):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), atol=1e-6)
    assert len(compiled.compiled.variants) <= 6
    with pytest.raises(ShapeError):
        compiled(Tensor(random.randn(3, 0)), Tensor(random.randn(0, 4)))
