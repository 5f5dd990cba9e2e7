"""Views: what is written to a view is seen in what it shows, and the other way round; NumPy, eager mode and graphs agree."""
import gc

import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.mindir.primitive import current_interpreter

X = np.arange(1.0, 7.0).reshape(2, 3)


def write_reshaped(a):
    b = a.reshape(3, 2)
    b[0] = 9
    return a, b


def write_below_reshaped(a):
    b = a.reshape(-1)
    a[0] = a[1] * 2
    return a, b


def write_row(a):
    b = a[0]
    b[1:] = b[0] * 5
    return a, b


def write_columns(a):
    b = a[:, 1:]
    b[:, 0] = 7
    a[1, 2] = 8
    return a, b


def write_every_second(a):
    b = a.reshape(-1)[::2]
    b[1] = -1
    return a, b


def write_transposed(a):
    b = a.T
    b[0] = b[2] * 3
    return a, b


def view_of_view(a):
    b = a.T
    c = b[1:]
    d = c.reshape(2, 2)
    d[0, 0] = 20
    b[2, 0] = 30
    return a, b, c, d


def two_views(a):
    b, c = a[0], a.reshape(-1)
    b[2] = 5
    c[0] = b[2] + 1
    return a, b, c


def index_of_index(a):
    a[1][2] = 100
    a[0][0:2][1] = 50
    return a, a[0]


def view_of_a_new_value(a):
    b = a * 2
    c = b[0]
    b = b + 1
    c[0] = 9
    return a, b, c


def augmented(a):
    b = a[0]
    b += a[1]
    return a.sum(), b * 1


def written_in_a_loop(a):
    b = a.reshape(-1)
    for i in range(6):
        b[i] = b[i] * 2 + i
    return a, b


def written_while(a):
    b = a[1]
    while b.sum() < 100:
        b[:] = b * 2
        a[0, 0] = b[1]
    return a, b


def written_in_a_branch(a):
    b = a.reshape(-1)
    if a.sum() > 3:
        b[2] = 40
    else:
        a[0] = 0
    if a.sum() < 3:
        b[2] = 41
    return a, b


def written_in_a_function(a):
    def clear(row):
        row[0] = 0
        return row
    c = clear(a[1])
    return a, c


def written_in_a_list(a):
    rows = [a[0], a[1]]
    rows[0][0] = 11
    for row in rows:
        row[1] = row[0]
    return a, rows[1]


def copies(a):
    b, c, d = a[[0, 1]], a * 1, a[a > 2]
    b[0], c[0], d[0] = 70, 71, 72
    return a, b, c


FUNCTIONS = [write_reshaped, write_below_reshaped, write_row, write_columns, write_every_second, write_transposed,
             view_of_view, two_views, index_of_index, view_of_a_new_value, written_in_a_loop, written_while,
             written_in_a_branch, written_in_a_function, written_in_a_list]


def outcome(values):
    return [np.asarray(v.asnumpy() if isinstance(v, Tensor) else v) for v in values]


@pytest.mark.parametrize("function", [*FUNCTIONS, copies], ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["eager", "jit", "GRAPH_MODE"])
def test_views_are_those_of_numpy_and_the_caller_sees_what_is_written(function, way):
    plain, tensor = X.copy(), Tensor(X.copy())
    expected = outcome(function(plain))
    if way == "GRAPH_MODE":
        ms.set_context(mode=ms.GRAPH_MODE)
    try:
        got = outcome((ms.jit(function) if way != "eager" else function)(tensor))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    for a, b in zip(got, expected):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(tensor.asnumpy(), plain)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("way", ["eager", "jit", "jit inside"])
def test_gradients_flow_through_what_is_written_to_views(function, way):
    weights = np.linspace(0.5, 2, 6)

    def loss(x, sine):
        total = 0.0
        for k, v in enumerate(function(x * 1)):
            total = total + (sine(v.reshape(-1)) * weights[:v.size]).sum() * (k + 1)
        return total

    def of_tensor(x):
        total = ops.zeros((), ms.float64)
        for k, v in enumerate(function(x * 1)):
            total = total + (ops.sin(v.reshape(-1)) * Tensor(weights[:v.size])).sum() * (k + 1)
        return total
    gradient = {"eager": ms.grad(of_tensor), "jit": ms.jit(ms.grad(of_tensor)), "jit inside": ms.grad(ms.jit(of_tensor))}[way]
    expected = np.zeros_like(X)
    for index in np.ndindex(*X.shape):
        e = np.zeros_like(X)
        e[index] = 1e-6
        expected[index] = (loss(X + e, np.sin) - loss(X - e, np.sin)) / 2e-6
    np.testing.assert_allclose(gradient(Tensor(X)).asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_view_of_a_parameter_writes_to_it():
    for wrap in (lambda f: f, ms.jit):
        w = ms.Parameter(Tensor(X.copy()), name="w")

        def clear(w=w):
            row = w[0]
            row[1] = 0
            return w.sum()
        assert float(wrap(clear)()) == 19
        np.testing.assert_array_equal(w.asnumpy()[0], [1, 0, 3])


def test_views_of_views_die_with_their_holders():
    a = Tensor(X.copy())
    for _ in range(1000):
        a[0]
    assert len(a.__dict__["_views"]) < 200


def test_an_operator_that_changes_nothing_gives_a_tensor_of_its_own():
    a = Tensor(X.copy())
    for same in (a.broadcast_to((2, 3)), a.expand_as(a), a.copy()):
        same[0] = 50
    np.testing.assert_array_equal(a.asnumpy(), X)


def test_a_view_of_what_nobody_holds_is_a_tensor_of_its_own():
    gc.collect()                                             # a tape of a test before, in the traceback of an error, saves what
    assert not current_interpreter().records                 # is written until it is collected: then views stay views
    a = Tensor(X.copy())
    for _ in range(3):
        b = (a * 2).reshape(3, 2)
        b[0] = 5
        assert "_root" not in b.__dict__
    c, d = a.T, a[0]
    del d
    a[1, 1] = 50
    assert c.asnumpy()[1, 1] == 50 and "_views" in a.__dict__
    del c
    a[1, 1] = 51
    assert "_views" not in a.__dict__ and a.asnumpy()[1, 1] == 51


def test_a_view_without_axes_is_an_array_at_each_call():
    for _ in range(6):
        x = Tensor(np.float32(2.0))
        for made in (ops.flip(x, (0,)), ops.flip(x, 0), x[...], x.reshape(1)[0], ops.flip(x.reshape(1), (0,)).reshape(())):
            assert isinstance(made.elements, np.ndarray) and made.asnumpy() == 2.0
