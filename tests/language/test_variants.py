"""When a compiled function is compiled again: what it read is seen to change, numbers that vary become variables."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.compile.jit import JitFunction


class Holder:
    """An object with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


factor = 2.0
table = [1.0, 2.0]


def x():
    return Tensor(np.ones(3))


def value(out):
    return out.asnumpy().tolist()


def test_a_changed_global_is_seen_and_the_reason_told():
    global factor
    f = JitFunction(lambda x: x * factor)
    factor = 2.0
    assert value(f(x())) == [2.0] * 3
    factor = 5.0
    assert value(f(x())) == [5.0] * 3 and "factor changed" in f.explain()
    factor = 2.0


def test_a_changed_attribute_is_seen_and_an_unchanged_one_compiles_nothing():
    holder = Holder(n=2)
    f = JitFunction(lambda x: x * holder.n)
    assert value(f(x())) == value(f(x())) == [2.0] * 3 and len(f.variants) == 1
    holder.n = 3
    assert value(f(x())) == [3.0] * 3
    assert "Holder.n changed" in f.explain()


def test_an_attribute_that_comes_into_being_is_seen():
    holder = Holder()
    f = JitFunction(lambda x: x * getattr(holder, "n", 1))
    assert value(f(x())) == [1.0] * 3
    holder.n = 4
    assert value(f(x())) == [4.0] * 3


def test_a_changed_closure_cell_is_seen():
    n = 2

    def multiply(x):
        return x * n
    f = JitFunction(multiply)
    assert value(f(x())) == [2.0] * 3
    n = 7
    assert value(f(x())) == [7.0] * 3


def test_a_changed_default_argument_is_seen():
    def multiply(x, n=2):
        return x * n
    f, g = JitFunction(multiply), JitFunction(lambda x: multiply(x))
    assert value(f(x())) == value(g(x())) == [2.0] * 3
    multiply.__defaults__ = (3,)
    assert value(f(x())) == value(g(x())) == [3.0] * 3


def test_what_a_list_outside_holds_is_seen_to_change():
    f = JitFunction(lambda x: x * sum(table) + len(table))
    assert value(f(x())) == [5.0] * 3
    table.append(4.0)
    assert value(f(x())) == [10.0] * 3
    table[0] = 0.0
    assert value(f(x())) == [9.0] * 3
    table[:] = [1.0, 2.0]
    assert value(f(x())) == [5.0] * 3


def test_a_counter_that_is_read_and_assigned_compiles_once():
    holder = Holder(step=0)

    def count(x):
        holder.step += 1
        return x * holder.step
    f = JitFunction(count)
    assert [value(f(x()))[0] for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert holder.step == 5 and len(f.variants) == 1 and not f.history


def test_a_tensor_attribute_that_is_read_and_assigned_compiles_once():
    holder = Holder(state=x())

    def step(x):
        holder.state = holder.state * 0.5 + x
        return holder.state
    f = JitFunction(step)
    assert [value(f(x()))[0] for _ in range(4)] == [1.5, 1.75, 1.875, 1.9375]
    assert len(f.variants) == 1 and not f.history


def test_a_number_becomes_a_variable_after_its_second_value():
    f = JitFunction(lambda x, n: x * n)
    assert [value(f(x(), n))[0] for n in (1, 2, 3, 4, 5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert len(f.variants) == 2 and "another number: n: 1 -> 2" in f.explain()
    assert value(f(x(), 1.5)) == [1.5] * 3 and len(f.variants) == 3
    assert value(f(x(), 2.5)) == [2.5] * 3 and len(f.variants) == 4
    assert value(f(x(), 3.5)) == [3.5] * 3 and len(f.variants) == 4


def test_a_number_that_must_be_known_stays_one():
    f = JitFunction(lambda x, axis: x.sum(axis))
    data = Tensor(np.arange(6.0).reshape(2, 3))
    assert value(f(data, 0)) == [3.0, 5.0, 7.0] and value(f(data, 1)) == [3.0, 12.0]
    assert value(f(data, 0)) == [3.0, 5.0, 7.0] and not f.in_python and len(f.variants) == 2


def test_numbers_beyond_64_bits_stay_constants():
    f = JitFunction(lambda n: n + 1)
    assert [f(n) for n in (1, 2, 3, 2 ** 70, 2 ** 70 + 1)] == [2, 3, 4, 2 ** 70 + 1, 2 ** 70 + 2]


def test_dividing_by_a_variable_that_is_zero_raises_as_python_does():
    for function in (lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b):
        f = JitFunction(function)
        assert [f(a, b) for a, b in ((6, 3), (7, 2), (9, 4))] == [function(a, b) for a, b in ((6, 3), (7, 2), (9, 4))]
        with pytest.raises(ZeroDivisionError):
            f(1, 0)


def test_powers_of_variables_are_those_of_python():
    f = JitFunction(lambda a, b: a ** b)
    for a, b in ((2, 3), (3, 2), (2, -1), (5, -2), (2, 70)):
        got = f(a, b)
        assert got == a ** b and type(got) is type(a ** b)


def test_mutable_makes_a_number_a_variable_at_once():
    f = ms.jit(lambda x, n: x * n)
    assert value(f(x(), ms.mutable(2))) == [2.0] * 3 and value(f(x(), ms.mutable(3))) == [3.0] * 3
    assert len(f.variants) <= 2


# ---------------------------------------------------------------- explain

class Net(ms.nn.Cell):
    """A Cell whose arguments have names."""

    def construct(self, image, scale=1.0, *, flip=False):
        return image * scale if not flip else -image


def explained(f, *calls):
    """What `explain` says after these calls of (args, kwargs)."""
    for args, kwargs in calls:
        f(*args, **kwargs)
    return f.explain()


def tensor(*shape, dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


HELD = tensor(2)
EXPLAINED = {
    "size": ([((tensor(2, 3),), {}), ((tensor(4, 3),), {})], "another size: x.shape[0]: 2 -> 4", "jit(dynamic=1)"),
    "dtype": ([((tensor(2),), {}), ((tensor(2, dtype=np.float64),), {})], "x: f32[2] -> f64[2]", "cast x to one dtype"),
    "axes": ([((tensor(2),), {}), ((tensor(2, 2),), {})], "x: f32[2] -> f32[2, 2]", "the same number"),
    "number": ([((tensor(2), 1), {}), ((tensor(2), 2), {})], "n: 1 -> 2; it is a run-time value", "mutable(n)"),
    "type of number": ([((tensor(2), 1), {}), ((tensor(2), 1.5), {})], "n: 1 (int) -> 1.5 (float)", "one type of number"),
    "keyword": ([((tensor(2),), {"n": 1}), ((tensor(2),), {"n": 2})], "n: 1 -> 2", "mutable(n)"),
    "constant": ([((tensor(2), 1, "a"), {}), ((tensor(2), 1, "b"), {})], "o: 'a' -> 'b'", "a constant of the graph"),
    "object": ([((tensor(2), 1, Holder(v=1)), {}), ((tensor(2), 1, Holder(v=2)), {})], "o: Holder -> another Holder",
               "its identity"),
    "length": ([((tensor(2), 1, [1, 2]), {}), ((tensor(2), 1, [1, 2, 3]), {})], "o: a list of 2 -> a list of 3", "pad them"),
    "inside": ([((tensor(2), 1, {"a": (1, "p")}), {}), ((tensor(2), 1, {"a": (1, "q")}), {})], "o['a'][1]: 'p' -> 'q'",
               "o['a'][1] is a constant"),
    "same": ([((tensor(2), 1, tensor(2)), {}), ((HELD, 1, HELD), {})], "o: f32[2] -> argument 0 again", "pass a copy for o"),
    "arguments": ([((tensor(2),), {}), ((tensor(2), 1), {})], "arguments: x -> x, n", "one variant"),
}


@pytest.mark.parametrize("kind", EXPLAINED)
def test_explain_names_the_argument_what_changed_and_the_cure(kind):
    calls, change, cure = EXPLAINED[kind]
    f = JitFunction(lambda x, n=1, o=None: x * n)
    lines = explained(f, *calls).splitlines()
    because, = [line for line in lines if change in line]
    assert because.strip().startswith("because: ") and len(f.variants) == 2
    after = lines[lines.index(because) + 1:]
    assert after[0].strip().startswith("cure: ") and cure in after[0] and after[1].strip().startswith("compiled in ")


def test_explain_shows_calls_with_the_names_of_arguments():
    text = explained(JitFunction(Net()), ((tensor(2), 2.0), {"flip": True}))
    assert "variant 0: (image: f32[2], scale=2.0, flip=True)" in text and "because: first call; 1 call(s)" in text
    assert "not compiled yet" in JitFunction(lambda x: x).explain()


def test_explain_tells_what_changed_outside():
    holder = Holder(mode="a", table=[1], n=1)
    f = JitFunction(lambda x: x * holder.n + len(holder.table) if holder.mode == "a" else x)
    f(x())
    holder.table.append(2)
    f(x())
    assert "because: what a list holds changed: [1] -> [1, 2]" in f.explain()
    holder.mode = "b"
    f(x())
    assert "because: Holder.mode changed: 'a' -> 'b'" in f.explain() and "pass it as an argument" in f.explain()


def test_a_number_outside_that_changes_is_a_run_time_value_from_then_on():
    holder = Holder(rate=1.0, k=1)
    f = JitFunction(lambda x: x * holder.rate + holder.k)
    for rate, k in ((1.0, 1), (2.0, 1), (3.0, 1), (3.0, 2), (3.0, 3), (0.5, 4), (-0.0, 5)):
        holder.rate, holder.k = rate, k
        assert value(f(x())) == [rate + k] * 3
    assert len(f.variants) + len(f.history) == 3 and "Holder.rate changed: 1.0 -> 2.0; it is a run-time" in f.explain()


def test_a_number_outside_that_must_be_known_stays_a_constant():
    holder = Holder(axis=0)
    f, data = JitFunction(lambda x: x.sum(holder.axis)), Tensor(np.arange(6.0).reshape(2, 3))
    for axis in (0, 1, 0, 1):
        holder.axis = axis
        assert value(f(data)) == data.asnumpy().sum(axis).tolist()
    assert len(f.variants) + len(f.history) == 2 and not f.in_python and "it must be known" in f.explain()


def test_one_number_that_must_be_known_does_not_fix_the_others():
    f, data = JitFunction(lambda x, axis, n: x.sum(axis) * n), Tensor(np.arange(6.0).reshape(2, 3))
    for axis, n in ((0, 1.0), (1, 1.0), (1, 2.0), (1, 3.0), (1, 4.0), (0, 5.0), (0, 6.0), (0, 7.0)):
        assert value(f(data, axis, n)) == (data.asnumpy().sum(axis) * n).tolist()
    assert len(f.variants) == 4 and not f.in_python


def test_an_error_of_the_user_s_fixes_no_number():
    f = JitFunction(lambda x, y, n: x * n + y)
    f(tensor(2), tensor(2), 1)
    with pytest.raises(ms.ShapeError):
        f(tensor(2), tensor(3), 2)
    for n in (2, 3, 4):
        assert value(f(tensor(2), tensor(2), n)) == [n + 1.0] * 2
    assert len(f.variants) == 2


def test_however_many_kinds_of_arguments_come_all_are_compiled():
    f = JitFunction(lambda x, word: x * len(word))
    for n in range(40):
        assert value(f(tensor(2), "a" * n)) == [float(n)] * 2
    assert len(f.variants) == 40 and not f.in_python


def test_a_number_beside_none_becomes_a_variable_too():
    f = JitFunction(lambda x, mask, n: x * n if mask is None else x)
    for n in (1, 2, 3, 4):
        assert value(f(tensor(2), None, n)) == [float(n)] * 2
    assert len(f.variants) == 2
