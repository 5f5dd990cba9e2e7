"""grad and its kin: what they take and give, the same in eager mode, inside jit and in GRAPH_MODE."""
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import ArgumentError, GradientError, MindliteError, ShapeError, ValueRangeError
from mindlite.compile.jit import FallbackWarning


def tensor(*shape, seed=0, dtype=np.float64):
    return Tensor(np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype(dtype))


@pytest.fixture(params=["eager", "jit", "GRAPH_MODE"])
def way(request):
    """A function that makes another one run in one of the three ways."""
    if request.param == "GRAPH_MODE":
        ms.set_context(mode=ms.GRAPH_MODE)
    yield ms.jit if request.param == "jit" else lambda f: f
    ms.set_context(mode=ms.PYNATIVE_MODE)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in flat(v)]
    return [value.asnumpy() if isinstance(value, Tensor) else value]


def f(a, b):
    return (ops.sin(a) * b).sum()


def test_positions_choose_the_form_of_the_result(way):
    x, y = tensor(3), tensor(3, seed=1)
    of_x, of_y = np.cos(x.array) * y.array, np.sin(x.array)
    np.testing.assert_allclose(way(ms.grad(f))(x, y).asnumpy(), of_x)
    np.testing.assert_allclose(way(ms.grad(f, 1))(x, y).asnumpy(), of_y)
    one = way(ms.grad(f, (1,)))(x, y)
    np.testing.assert_allclose(one.asnumpy(), of_y)
    value, (second, first) = way(ms.value_and_grad(f, (1, 0)))(x, y)
    np.testing.assert_allclose(first.asnumpy(), of_x)
    np.testing.assert_allclose(second.asnumpy(), of_y)
    np.testing.assert_allclose(value.asnumpy(), f(x, y).asnumpy())


def test_weights_choose_the_form_of_the_result(way):
    w, v, x = ms.Parameter(tensor(3), name="w"), ms.Parameter(tensor(3, seed=1), name="v"), tensor(3, seed=2)

    def g(a):
        return (a * w * w * v).sum()
    of_w, of_v, of_x = 2 * x.array * w.array * v.array, x.array * w.array ** 2, w.array ** 2 * v.array
    np.testing.assert_allclose(way(ms.grad(g, None, w))(x).asnumpy(), of_w)
    np.testing.assert_allclose(flat(way(ms.grad(g, None, [w, v]))(x)), [of_w, of_v])
    np.testing.assert_allclose(flat(way(ms.grad(g, None, ms.ParameterTuple([v, w])))(x)), [of_v, of_w])
    np.testing.assert_allclose(flat(way(ms.grad(g, 0, w))(x)), [of_x, of_w])
    np.testing.assert_allclose(flat(way(ms.grad(g, (0,), (w, v)))(x)), [of_x, of_w, of_v])


def test_auxiliary_results_are_handed_through(way):
    x = tensor(3)
    grads, (more,) = way(ms.grad(lambda a: ((a * a).sum(), a + 1), has_aux=True))(x)
    np.testing.assert_allclose(grads.asnumpy(), 2 * x.array)
    np.testing.assert_allclose(more.asnumpy(), x.array + 1)
    (loss, again), grads = way(ms.value_and_grad(lambda a: ((a * a).sum(), a + 1), has_aux=True))(x)
    np.testing.assert_allclose(flat((loss, again, grads))[2], 2 * x.array)


def test_gradients_can_be_asked_for_by_name():
    w, x = ms.Parameter(tensor(3), name="w"), tensor(3, seed=1)
    gradients = ms.grad(lambda a: (a * w).sum(), 0, (w,), return_ids=True)(x)
    np.testing.assert_allclose(ms.get_grad(gradients, 0).asnumpy(), w.array)
    np.testing.assert_allclose(ms.get_grad(gradients, w).asnumpy(), x.array)
    with pytest.raises(GradientError, match="get_grad: there is no gradient of 1"):
        ms.get_grad(gradients, 1)


def test_grad_operation_is_the_older_name(way):
    x, y, net = tensor(2, 3, dtype=np.float32), tensor(2, 3, seed=1, dtype=np.float32), nn.Dense(3, 2)
    first = way(ms.GradOperation()(f))(x, y)
    np.testing.assert_allclose(first.asnumpy(), np.cos(x.array) * y.array, rtol=1e-5)
    both = way(ms.GradOperation(get_all=True)(f))(x, y)
    assert len(both) == 2
    np.testing.assert_allclose(both[1].asnumpy(), np.sin(x.array), rtol=1e-5)
    weighted = way(ms.GradOperation(sens_param=True)(lambda a: a * a))(x, y)
    np.testing.assert_allclose(weighted.asnumpy(), 2 * x.array * y.array, rtol=1e-5)
    weight, bias = way(ms.GradOperation(get_by_list=True)(net, net.trainable_params()))(x)
    np.testing.assert_allclose(weight.asnumpy(), np.tile(x.array.sum(0), (2, 1)), rtol=1e-5)
    inputs, weights = way(ms.GradOperation(get_all=True, get_by_list=True)(net))(x)
    assert len(inputs) == 1 and len(weights) == 2 and bias.tolist() == [2, 2]


def test_vjp_gives_the_value_and_a_function_of_cotangents(way):
    x, v = tensor(3), tensor(3, seed=1)

    def run(a, b):
        value, back = ms.vjp(lambda c: ops.sin(c) * c, a)
        return value, back(b), back(b * 2)
    value, (once,), (twice,) = way(run)(x, v)              # a gradient for each input, as MindSpore has it
    slope = np.cos(x.array) * x.array + np.sin(x.array)
    np.testing.assert_allclose(value.asnumpy(), np.sin(x.array) * x.array)
    np.testing.assert_allclose(once.asnumpy(), slope * v.array)
    np.testing.assert_allclose(twice.asnumpy(), 2 * slope * v.array)


def test_vjp_of_several_inputs_and_weights():
    x, y, w = tensor(3), tensor(3, seed=1), ms.Parameter(tensor(3, seed=2), name="w")
    value, back, rest = ms.vjp(lambda a, b: (a * b * w, b), x, y, weights=[w], has_aux=True)
    (of_x, of_y), (of_w,) = back(Tensor(np.ones(3)))
    np.testing.assert_allclose(of_x.asnumpy(), y.array * w.array)
    np.testing.assert_allclose(of_y.asnumpy(), x.array * w.array)
    np.testing.assert_allclose(of_w.asnumpy(), x.array * y.array)
    assert rest.shape == value.shape == (3,)


def test_what_vjp_kept_is_that_of_the_time_of_the_call():
    w, x = ms.Parameter(tensor(3, 3), name="w"), tensor(2, 3, seed=1)
    before = w.asnumpy().copy()
    value, back = ms.vjp(lambda a: ops.matmul(a, w.T), x)
    ops.assign(w, w * 0)
    np.testing.assert_allclose(back(Tensor(np.ones((2, 3))))[0].asnumpy(), np.ones((2, 3)) @ before)


def test_jvp_gives_the_value_and_its_tangent(way):
    x, y, v = tensor(3), tensor(3, seed=1), tensor(3, seed=2)

    def run(a, b, c):
        return ms.jvp(lambda p, q: ops.sin(p) * q, (a, b), (c, c * 2))
    value, tangent = way(run)(x, y, v)
    np.testing.assert_allclose(value.asnumpy(), np.sin(x.array) * y.array)
    np.testing.assert_allclose(tangent.asnumpy(), np.cos(x.array) * y.array * v.array + np.sin(x.array) * 2 * v.array)


def test_forward_and_reverse_mode_mix(way):
    x, v = tensor(4), tensor(4, seed=1)

    def hessian_vector(a, b):
        return ms.jvp(ms.grad(lambda c: (c ** 3).sum()), (a,), (b,))[1]
    np.testing.assert_allclose(way(hessian_vector)(x, v).asnumpy(), 6 * x.array * v.array)
    reverse = way(ms.grad(lambda a: ms.jvp(lambda c: c ** 3, (a,), (v,))[1].sum()))(x)
    np.testing.assert_allclose(reverse.asnumpy(), 6 * x.array * v.array)


def test_vmap_maps_the_axes_that_it_is_told(way):
    x, w = tensor(5, 3), tensor(3, seed=1)
    rows = np.stack([np.sin(row) * w.array for row in x.array])
    np.testing.assert_allclose(way(ms.vmap(lambda a, b: ops.sin(a) * b, (0, None)))(x, w).asnumpy(), rows)
    np.testing.assert_allclose(way(ms.vmap(lambda a, b: ops.sin(a) * b, (0, None), 1))(x, w).asnumpy(), rows.T)
    np.testing.assert_allclose(way(ms.vmap(lambda a: a.sum(), 1))(x).asnumpy(), x.array.sum(0))


def test_vmap_of_a_gradient_is_a_gradient_for_each_item(way):
    x, w = tensor(5, 3), tensor(3, seed=1)
    each = way(ms.vmap(ms.grad(lambda b, a: ops.tanh((a * b).sum())), (None, 0)))(w, x)
    t = np.tanh(x.array @ w.array)
    np.testing.assert_allclose(each.asnumpy(), x.array * (1 - t * t)[:, None])


# ---------------------------------------------------------------- gradients written by the user

class Tilted(nn.Cell):
    """tanh(x) * scale, with another gradient; `scale` and `slope` are captured."""

    def __init__(self):
        super().__init__()
        self.scale, self.slope = ms.Parameter(tensor(4, seed=5), name="scale"), tensor(4, seed=6)

    def construct(self, x):
        return ops.tanh(x) * self.scale

    def bprop(self, x, out, dout):
        return (dout * x * self.slope,)


class Chosen(nn.Cell):
    """Several arguments and results, one argument a number."""

    def construct(self, x, times, pair):
        return (x * times, pair[0] * x) if times > 1 else (x, pair[1])

    def bprop(self, x, times, pair, out, dout):
        return dout[0] + out[1], None, (dout[1] * 7, None)


def test_the_bprop_of_a_cell_is_its_gradient(way):
    x, cell = tensor(4), Tilted()
    of_x, of_scale = way(ms.grad(lambda a: cell(a * 2).sum(), 0, cell.scale))(x)
    np.testing.assert_allclose(of_x.asnumpy(), 4 * x.array * cell.slope.array)
    np.testing.assert_array_equal(of_scale.asnumpy(), 0)
    np.testing.assert_allclose(way(lambda a: cell(a))(x).asnumpy(), np.tanh(x.array) * cell.scale.array)


def test_the_bprop_of_a_cell_can_be_differentiated(way):
    x, cell = tensor(4), Tilted()
    second = way(ms.grad(lambda b: ms.grad(lambda a: cell(a * 2).sum())(b).sum()))(x)
    np.testing.assert_allclose(second.asnumpy(), 4 * cell.slope.array)


def test_a_bprop_sees_arguments_and_results_in_their_form(way):
    x, cell = tensor(4), Chosen()

    def f(a):
        first, second = cell(a, 3, (a * 2, a))
        return (first * second).sum()
    v = x.array                                  # dout = (2 v v, 3 v), out[1] = 2 v v
    np.testing.assert_allclose(way(ms.grad(f))(x).asnumpy(), 2 * v * v + 2 * v * v + 2 * 7 * 3 * v)


def test_backward_hooks_of_a_cell_come_and_go_in_a_graph():
    dense, x = nn.Dense(3, 2), tensor(1, 3, dtype=np.float32)
    plain = ms.grad(lambda a: dense(a).sum())(x)
    handle = dense.register_backward_hook(lambda cell, grad_input, grad_output: grad_input[0] * 10)
    jitted = ms.jit(lambda a: dense(a).sum(), fullgraph=True)
    for _ in range(3):
        np.testing.assert_allclose(ms.grad(jitted)(x).asnumpy(), 10 * plain.asnumpy(), rtol=1e-6)
    handle.remove()
    np.testing.assert_allclose(ms.grad(jitted)(x).asnumpy(), plain.asnumpy(), rtol=1e-6)


# ---------------------------------------------------------------- errors: the same text in both modes

def text_of(run):
    with pytest.raises(MindliteError) as caught:
        run()
    return type(caught.value), caught.value.message, caught.value.hint


def gives_nothing(a):
    a * 2


def gives_a_number(a):
    return 3.5


class Wrong(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return dout, dout


def wrong_bprop(a):
    return Wrong()(a)


def mismatched(a):
    return ops.matmul(a, Tensor(np.ones((7, 2))))


@pytest.mark.parametrize("function", [gives_nothing, gives_a_number, mismatched, wrong_bprop])
def test_a_loss_without_gradient_is_refused_in_the_same_words(function):
    x = tensor(2, 3)
    eager, graph = text_of(lambda: ms.grad(function)(x)), text_of(lambda: ms.jit(ms.grad(function))(x))
    assert eager == graph


@pytest.mark.parametrize("call", [
    lambda make: make(ms.grad(f, 5))(tensor(3), tensor(3)),
    lambda make: make(ms.grad(f, -1))(tensor(3), tensor(3)),
    lambda make: make(ms.grad(f, None, [tensor(3)]))(tensor(3), tensor(3))],
    ids=["outside", "negative", "no Parameter"])
def test_wrong_arguments_are_refused_in_the_same_words(call):
    assert text_of(lambda: call(lambda g: g)) == text_of(lambda: call(ms.jit))


def test_an_error_inside_names_the_users_line_in_both_modes():
    for make in (lambda g: g, ms.jit):
        with pytest.raises(ShapeError) as caught:
            make(ms.grad(mismatched))(tensor(2, 3))
        assert caught.value.location.source().strip() == "return ops.matmul(a, Tensor(np.ones((7, 2))))"


def test_an_error_of_the_gradient_itself_stands_at_the_call():
    for make in (lambda g: g, ms.jit):
        with pytest.raises(GradientError) as caught:
            make(ms.grad(gives_nothing))(tensor(2))
        assert "make(ms.grad(gives_nothing))(tensor(2))" in caught.value.location.source()


def test_what_cannot_be_differentiated_or_mapped_is_refused_at_once():
    for make in (ms.grad, ms.value_and_grad, ms.vmap, ms.GradOperation()):
        with pytest.raises(ArgumentError, match="a function or a Cell|a 'Function' or 'Cell', but got int"):
            make(3)
    for name in ("get_all", "get_by_list", "sens_param"):
        with pytest.raises(TypeError, match=f"For 'GradOperation', the '{name}' should be bool, but got int"):
            ms.GradOperation(**{name: 2})
    with pytest.raises(ValueRangeError, match="both None"):
        ms.grad(f, None)
    with pytest.raises(ArgumentError, match="in_axes holds ints"):
        ms.vmap(f, in_axes=0.5)


def test_functions_of_functions_stand_among_the_operators_too(way):
    x = tensor(3)
    assert ops.grad is ms.grad and ops.GradOperation is ms.GradOperation and ops.vmap is ms.vmap
    np.testing.assert_allclose(way(ops.grad(lambda a: (a * a).sum()))(x).asnumpy(), 2 * x.array)
    first, (second,) = way(lambda a: ops.HyperMap(ops.add)((a, (a,)), (a, (a * 2,))))(x)
    np.testing.assert_allclose(first.asnumpy(), 2 * x.array)
    np.testing.assert_allclose(second.asnumpy(), 3 * x.array)


def test_an_ensemble_of_cells_is_mapped_as_one(way):
    cells = nn.CellList([nn.Dense(3, 2) for _ in range(3)])
    x = tensor(3, 4, 3, dtype=np.float32)
    want = np.stack([cell(x[i]).asnumpy() for i, cell in enumerate(cells)])
    np.testing.assert_allclose(way(ms.vmap(cells))(x).asnumpy(), want, rtol=1e-5)
    shared = np.stack([cell(x[0]).asnumpy() for cell in cells], 1)
    np.testing.assert_allclose(way(lambda a: ms.vmap(cells, None, 1)(a))(x[0]).asnumpy(), shared, rtol=1e-5)
    grads = way(ms.grad(lambda a: ms.vmap(cells)(a).sum(), None, cells.trainable_params()))(x)
    np.testing.assert_allclose(grads[2].asnumpy(), np.tile(x.array[1].sum(0), (2, 1)), rtol=1e-4)
    with pytest.raises(ShapeError, match="3 Cells for 4 items"):
        ms.vmap(cells, 1)(x)
    with pytest.raises(ArgumentError, match="Cells of one class"):
        ms.vmap(nn.CellList([nn.Dense(3, 2), nn.ReLU()]))


def test_what_a_mapped_function_assigns_to_its_argument_is_assigned_along_the_mapped_axis(way):
    total, x = ms.Parameter(tensor(2, 3), name="total"), tensor(3, 2, seed=1)
    before = total.array.copy()
    got = way(lambda a: ms.vmap(ops.assign_add, (1, 0), 0)(total, a))(x)
    np.testing.assert_allclose(got.asnumpy(), (before + x.array.T).T)
    np.testing.assert_allclose(total.asnumpy(), before + x.array.T)
    ms.vmap(ms.vmap(ops.assign_add))(total, x.T)
    np.testing.assert_allclose(total.asnumpy(), before + 2 * x.array.T)


def test_a_function_that_takes_a_derivative_in_a_branch_is_differentiated_in_any_order(way):
    def f(x):
        if x.sum() > 0:
            x = ms.jvp(lambda t: t * t * t, x, x)[1]
        n = 0
        while n < 2:
            x, n = ms.vjp(lambda t: ops.sin(t), x)[1](x)[0], n + 1
        return x
    x = tensor(3)
    value, slope = way(lambda a: ms.jvp(f, a, a))(x)
    _, push = ms.linearize(f, x)
    inner = 3 * x.array ** 3
    once = np.cos(inner) * inner
    np.testing.assert_allclose(value.asnumpy(), np.cos(once) * once)
    np.testing.assert_allclose(push(x).asnumpy(), slope.asnumpy())


def test_results_that_are_the_same_for_all_items_are_repeated_along_their_axis(way):
    x, w = tensor(3, 2), tensor(4, seed=1)
    item, outside, number, same = way(ms.vmap(lambda a: (a * 2, w, 1.5, "word"), 0, (0, 1, 0, 0)))(x)
    np.testing.assert_allclose(item.asnumpy(), 2 * x.array)
    np.testing.assert_allclose(outside.asnumpy(), np.stack([w.array] * 3, 1))
    assert number.tolist() == [1.5] * 3 and same == "word"
    _, outside, number = way(ms.vmap(lambda a: (a * 2, w, 1.5), 0, (0, None, None)))(x)
    assert outside.shape == (4,) and number == 1.5
    for function in (lambda a: a * 2, lambda a: w):
        with pytest.raises(ValueRangeError, match="The axis: 2 in 'out_axes' is out of bounds"):
            ms.vmap(function, 0, 2)(x)


def test_gradients_pass_nothing_inside_no_grad(way):
    @ms.no_grad()
    def squared(x):
        return x * x

    def f(x):
        with ms.no_grad():
            y = ops.sin(x)
            if y.sum() > 0:
                y = y * x
            with ms.no_grad():
                z = y + x
            row = x[1:]
        return (x * y * squared(x)).sum() + (x * z).sum() + row.sum() + (x * x).sum()
    x = tensor(3)
    y = np.sin(x.array) * x.array
    np.testing.assert_allclose(way(ms.grad(f))(x).asnumpy(), y * x.array ** 2 + y + x.array + 2 * x.array)


def test_no_grad_ends_with_its_block_whatever_happens(way):
    def f(x):
        try:
            with ms.no_grad():
                raise ValueError("left")
        except ValueError:
            pass
        return (x * x).sum()
    x = tensor(3)
    np.testing.assert_allclose(way(ms.grad(f))(x).asnumpy(), 2 * x.array)


def repeated(x):
    y = x
    while y.sum() < 20.0:
        y = ops.concat([y, x * 1.1])
    return y


def doubled(x, y, times):
    return x if times == 0 else ops.concat([y, doubled(x, y, times - 1)])


def with_gradient(f):
    return lambda x: (f(x), ms.grad(f)(x))


@pytest.mark.parametrize("make", [lambda f: ms.jit(with_gradient(f), dynamic=1), lambda f: ms.jit(with_gradient(f)),
                                  lambda f: with_gradient(ms.jit(f, dynamic=1))], ids=["open", "sizes", "around jit"])
@pytest.mark.parametrize("f", [repeated, lambda x: repeated(x[x > 0.5]), lambda x: x[x > 0.5] * x.sum(),
                               lambda x: doubled(x, x[1:], 3)], ids=["loop", "loop of a choice", "choice", "recursion"])
def test_ones_are_the_cotangent_of_a_result_whose_size_the_function_makes(make, f):
    made = make(f)
    for n in (3, 4, 6):
        for got, want in zip(made(tensor(n)), with_gradient(f)(tensor(n))):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-6)


def test_what_a_function_assigns_is_assigned_once_however_often_vjp_pulls_back(way):
    count, x = ms.Parameter(Tensor(np.zeros(2)), name="count"), tensor(2)

    def counted(a):
        ops.assign_add(count, ops.ones_like(a))
        return a * a, a * 3

    def both(a):
        value, pullback = ms.vjp(counted, a)
        one, zero = ops.ones_like(a), ops.zeros_like(a)
        return value, pullback((one, zero)), pullback((zero, one))
    _, (first,), (second,) = way(both)(x)
    np.testing.assert_array_equal(count.asnumpy(), [1, 1])
    np.testing.assert_allclose(first.asnumpy(), 2 * x.array)
    np.testing.assert_array_equal(second.asnumpy(), [3, 3])


def test_a_loss_of_another_type_on_each_path_has_the_gradient_of_the_path_that_is_taken():
    def f(x):
        y = ops.sqrt(x)
        if x.sum() > 2:
            return y.sum()
        return x.sum()
    for numbers in ([4, 9], [1, 1]):
        x = Tensor(np.array(numbers))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            found = ms.jit(ms.grad(f))(x)
        assert found.asnumpy().tolist() == ms.grad(f)(x).asnumpy().tolist()
