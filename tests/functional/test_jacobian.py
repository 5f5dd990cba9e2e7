"""jacfwd, jacrev, jet, derivative, linearize: what they take and give, in eager mode, inside jit and in GRAPH_MODE."""
import json
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError, ValueRangeError


def tensor(*shape, seed=0, dtype=np.float64):
    return Tensor(np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype(dtype))


@pytest.fixture(params=["eager", "jit", "GRAPH_MODE"])
def way(request):
    """A function that makes another one run in one of the three ways; none of them may fall back to Python."""
    if request.param == "GRAPH_MODE":
        ms.set_context(mode=ms.GRAPH_MODE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield (lambda f: ms.jit(f, fullgraph=True)) if request.param == "jit" else lambda f: f
    ms.set_context(mode=ms.PYNATIVE_MODE)


def numeric_jacobian(f, x, step=1e-6):
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        e = e.reshape(x.shape)
        columns.append((f(Tensor(x.array + e)).asnumpy() - f(Tensor(x.array - e)).asnumpy()) / (2 * step))
    return np.stack(columns, -1).reshape(columns[0].shape + x.shape)


JACOBIANS = {"jacfwd": ms.jacfwd, "jacrev": ms.jacrev}


@pytest.mark.parametrize("jacobian", JACOBIANS.values(), ids=JACOBIANS)
def test_a_jacobian_has_the_axes_of_output_and_input(way, jacobian):
    w = tensor(3, 2, seed=1)

    def f(x):
        return ops.tanh(ops.matmul(x, w)) * x.sum()
    x = tensor(2, 3)
    made = way(jacobian(f))(x)
    assert made.shape == (2, 2, 2, 3)
    np.testing.assert_allclose(made.asnumpy(), numeric_jacobian(f, x), rtol=1e-6)


@pytest.mark.parametrize("jacobian", JACOBIANS.values(), ids=JACOBIANS)
def test_positions_and_outputs_make_tuples_of_tuples(way, jacobian):
    x, y = tensor(2), tensor(3, seed=1)

    def f(a, b):
        return ops.sin(a) * b.sum(), b * b
    zeros = np.zeros
    (dxx, dxy), (dyx, dyy) = way(jacobian(f, (0, 1)))(x, y)
    np.testing.assert_allclose(dxx.asnumpy(), np.diag(np.cos(x.array) * y.array.sum()))
    np.testing.assert_allclose(dxy.asnumpy(), np.sin(x.array)[:, None] * np.ones(3))
    np.testing.assert_allclose(dyx.asnumpy(), zeros((3, 2)))
    np.testing.assert_allclose(dyy.asnumpy(), np.diag(2 * y.array))
    of_first, of_second = way(jacobian(f, (1,)))(x, y)
    np.testing.assert_allclose(of_first.asnumpy(), dxy.asnumpy())
    np.testing.assert_allclose(of_second.asnumpy(), dyy.asnumpy())


@pytest.mark.parametrize("jacobian", JACOBIANS.values(), ids=JACOBIANS)
def test_the_auxiliary_results_of_a_jacobian_are_handed_through(way, jacobian):
    x = tensor(3)
    made, aux = way(jacobian(lambda a: (a * a, a + 1), 0, True))(x)
    np.testing.assert_allclose(made.asnumpy(), np.diag(2 * x.array))
    np.testing.assert_allclose(aux.asnumpy(), x.array + 1)
    _, (first, second) = way(jacobian(lambda a: (a * a, a + 1, a - 1), 0, True))(x)
    np.testing.assert_allclose(second.asnumpy(), x.array - 1)
    with pytest.raises(ArgumentError, match="has_aux"):
        way(jacobian(lambda a: a * a, 0, True))(x)


@pytest.mark.parametrize("outer", JACOBIANS.values(), ids=JACOBIANS)
@pytest.mark.parametrize("inner", JACOBIANS.values(), ids=JACOBIANS)
def test_jacobians_of_jacobians_are_hessians_in_any_order(way, outer, inner):
    def f(x):
        return (ops.sin(x) * x[0]).sum()
    x = tensor(3)
    hessian = np.diag(-np.sin(x.array) * x.array[0])
    hessian[0] += np.cos(x.array)
    hessian[:, 0] += np.cos(x.array)
    np.testing.assert_allclose(way(outer(inner(f)))(x).asnumpy(), hessian, atol=1e-12)
    np.testing.assert_allclose(way(outer(ms.grad(f)))(x).asnumpy(), hessian, atol=1e-12)
    np.testing.assert_allclose(way(ms.grad(lambda a: inner(outer(f))(a)[0, 0]))(x).asnumpy()[0],
                               -2 * np.sin(x.array[0]) - x.array[0] * np.cos(x.array[0]) - np.sin(x.array[0]))


@pytest.mark.parametrize("jacobian", JACOBIANS.values(), ids=JACOBIANS)
def test_numbers_and_arrays_may_be_differentiated_by(way, jacobian):
    np.testing.assert_allclose(way(jacobian(lambda a: a * a * a))(2.0).asnumpy(), 12, rtol=1e-6)
    np.testing.assert_allclose(way(jacobian(lambda a: a * a))(np.array([1., 3.])).asnumpy(), np.diag([2., 6.]))


@pytest.mark.parametrize("jacobian", JACOBIANS.values(), ids=JACOBIANS)
def test_a_jacobian_says_what_is_wrong_with_its_arguments(jacobian):
    with pytest.raises(ArgumentError, match="has_aux is a bool"):
        jacobian(ops.sin, 0, 1)
    with pytest.raises(ArgumentError, match="grad_position"):
        jacobian(ops.sin, None)
    with pytest.raises(IndexRangeError, match="outside the 1 arguments"):
        jacobian(ops.sin, 1)(tensor(2))
    with pytest.raises(DTypeError, match="floats"):
        jacobian(lambda x: x * 2)(Tensor([1, 2]))
    with pytest.raises(ArgumentError, match="takes a function"):
        jacobian(3)


@pytest.mark.parametrize("jacobian", JACOBIANS.values(), ids=JACOBIANS)
def test_the_jacobian_of_a_cell_and_of_a_loop(way, jacobian):
    net = nn.Dense(3, 2)
    x = tensor(3, dtype=np.float32)
    np.testing.assert_allclose(way(jacobian(net))(x).asnumpy(), net.weight.asnumpy(), rtol=1e-6)

    def g(a):
        while a.sum() < 100:
            a = a * a + a
        return a
    x = tensor(2)
    np.testing.assert_allclose(way(jacobian(g))(x).asnumpy(), numeric_jacobian(g, x), rtol=1e-6)


def test_one_compile_gives_the_jacobian_of_any_length():
    jacobian = ms.jit(ms.jacfwd(lambda x: ops.sin(x) * x[0]), fullgraph=True)
    for n in (3, 4, 5, 6, 7):
        x = tensor(n)
        np.testing.assert_allclose(jacobian(x).asnumpy(), numeric_jacobian(lambda x: ops.sin(x) * x[0], x), rtol=1e-6)
    assert len(jacobian.variants) == 2


# ---------------------------------------------------------------- Taylor series

def test_derivative_is_the_derivative_of_that_order_of_each_element(way):
    x = tensor(3)
    for order, expected in ((1, np.cos), (2, lambda a: -np.sin(a)), (3, lambda a: -np.cos(a)), (4, np.sin)):
        value, slope = way(lambda a, order=order: ops.derivative(ops.sin, a, order))(x)
        np.testing.assert_allclose(value.asnumpy(), np.sin(x.array))
        np.testing.assert_allclose(slope.asnumpy(), expected(x.array))


def test_integers_are_differentiated_as_float32(way):
    value, slope = way(lambda a: ops.derivative(lambda t: t * t * t, a, 2))(Tensor([1, 2], ms.int32))
    assert value.dtype == slope.dtype == ms.float32
    np.testing.assert_allclose(slope.asnumpy(), [6, 12])


def test_derivatives_of_several_outputs_are_lists(way):
    x = tensor(2)
    values, slopes = way(lambda a: ops.derivative(lambda t: (t * t * t, ops.sin(t)), a, 2))(x)
    assert isinstance(values, list) and isinstance(slopes, list)
    np.testing.assert_allclose(slopes[0].asnumpy(), 6 * x.array)
    np.testing.assert_allclose(slopes[1].asnumpy(), -np.sin(x.array))


def test_a_jet_follows_a_curve_through_the_inputs(way):
    x, y = tensor(2), tensor(2, seed=1)
    series = Tensor(np.random.default_rng(2).normal(size=(2, 3, 2)))

    def f(a, b):
        return a * ops.exp(b)
    value, terms = way(lambda a, b, s: ops.jet(f, (a, b), (s[0], s[1])))(x, y, series)
    u, v = series.asnumpy()

    def on_curve(t):
        return (x.array + u[0] * t + u[1] * t**2 / 2 + u[2] * t**3 / 6) * np.exp(
            y.array + v[0] * t + v[1] * t**2 / 2 + v[2] * t**3 / 6)
    h = 1e-2
    third = (on_curve(2 * h) - 2 * on_curve(h) + 2 * on_curve(-h) - on_curve(-2 * h)) / (2 * h**3)
    second = (on_curve(h) - 2 * on_curve(0) + on_curve(-h)) / h**2
    first = (on_curve(h) - on_curve(-h)) / (2 * h)
    np.testing.assert_allclose(value.asnumpy(), on_curve(0))
    np.testing.assert_allclose(terms.asnumpy(), [first, second, third], rtol=0.02, atol=0.01)


def test_a_jet_with_the_first_derivative_alone(way):
    x = tensor(2)
    _, terms = way(lambda a: ops.jet(ops.sin, a, ops.ones_like(a)))(x)
    assert terms.shape == (1, 2)
    np.testing.assert_allclose(terms.asnumpy()[0], np.cos(x.array))


def test_what_jet_and_derivative_refuse():
    x = tensor(2)
    with pytest.raises(ValueRangeError, match="at least 1"):
        ops.derivative(ops.sin, x, 0)
    with pytest.raises(ArgumentError, match="order is an int"):
        ops.derivative(ops.sin, x, 1.5)
    with pytest.raises(ShapeError, match="shape of its primal"):
        ops.jet(ops.sin, x, tensor(2, 3))
    with pytest.raises(ArgumentError, match="both"):
        ops.jet(ops.sin, x, (x,))
    with pytest.raises(ArgumentError, match="1 primals, but 2"):
        ops.jet(ops.sin, (x,), (x, x))


# ---------------------------------------------------------------- linearize, jvp, vjp

def test_linearize_runs_the_function_once_and_gives_its_tangents(way):
    x, y = tensor(3), tensor(3, seed=1)
    u, v = tensor(3, seed=2), tensor(3, seed=3)

    def f(a, b):
        return a * ops.sin(b), b * b, a

    def both(a, b, da, db):
        value, push = ms.linearize(f, (a, b))
        return value, push((da, db)), push((db, da))
    value, first, second = way(both)(x, y, u, v)
    for out, expected in zip(value, f(x, y)):
        np.testing.assert_allclose(out.asnumpy(), expected.asnumpy())
    for tangents, (da, db) in ((first, (u, v)), (second, (v, u))):
        _, expected = ms.jvp(f, (x, y), (da, db))
        for t, e in zip(tangents, expected):
            np.testing.assert_allclose(t.asnumpy(), e.asnumpy())


def test_linearize_in_eager_mode_keeps_what_the_inputs_decide():
    calls = []

    def f(a):
        calls.append(1)
        return ops.sin(a) * a
    value, push = ms.linearize(f, tensor(3))
    for seed in (1, 2, 3):
        push(tensor(3, seed=seed))
    assert len(calls) == 1
    with pytest.raises(ShapeError, match="another shape"):
        push(tensor(4))
    with pytest.raises(ArgumentError, match="2 tangents"):
        push((tensor(3), tensor(3)))


def test_forward_mode_sees_through_code_that_must_run_in_python():
    def f(a):
        scale = json.loads("{\"k\": 3}")["k"] if float(a.sum().asnumpy()) > 0 else 1
        return ops.sin(a) * scale
    x, v = tensor(3), tensor(3, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in (lambda a, t: ms.jvp(f, a, t), ms.jit(lambda a, t: ms.jvp(f, a, t))):
            value, tangent = call(x, v)
            np.testing.assert_allclose(value.asnumpy(), 3 * np.sin(x.array))
            np.testing.assert_allclose(tangent.asnumpy(), 3 * np.cos(x.array) * v.array)


def test_a_value_from_outside_has_a_zero_tangent_and_takes_a_cotangent(way):
    x, y = tensor(2), tensor(2, seed=1)

    def run(a, b):
        _, tangents = ms.jvp(lambda t: (t * t, b), a, ops.ones_like(a))
        _, pull = ms.vjp(lambda t: (t * t, b), a)
        return tangents, pull(a, b)
    (first, second), (gradient,) = way(run)(x, y)
    np.testing.assert_allclose(first.asnumpy(), 2 * x.array)
    np.testing.assert_allclose(second.asnumpy(), 0)
    np.testing.assert_allclose(gradient.asnumpy(), 2 * x.array * x.array)


def test_a_pullback_made_in_eager_mode_can_be_mapped_and_compiled():
    x = tensor(3)
    value, pull = ms.vjp(lambda a: ops.sin(a) * a, x)
    expected = np.diag(np.cos(x.array) * x.array + np.sin(x.array))
    basis = Tensor(np.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ms.vmap(pull)(basis)[0].asnumpy(), expected)
        np.testing.assert_allclose(ms.jit(pull, fullgraph=True)(basis[1])[0].asnumpy(), expected[1])
        _, push = ms.linearize(lambda a: ops.sin(a) * a, x)
        np.testing.assert_allclose(ms.vmap(push)(basis).asnumpy(), expected)


def test_auxiliary_results_stand_alone_where_it_is_one(way):
    x = tensor(2)
    value, tangent, aux = way(lambda a: ms.jvp(lambda t: (t * t, t + 1), a, a, has_aux=True))(x)
    np.testing.assert_allclose(aux.asnumpy(), x.array + 1)
    np.testing.assert_allclose(tangent.asnumpy(), 2 * x.array * x.array)

    def pulled(a):
        value, pull, aux = ms.vjp(lambda t: (t * t, t + 1), a, has_aux=True)
        return pull(a), aux
    (gradient,), aux = way(pulled)(x)
    np.testing.assert_allclose(aux.asnumpy(), x.array + 1)
    np.testing.assert_allclose(gradient.asnumpy(), 2 * x.array * x.array)
