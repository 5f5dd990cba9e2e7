"""What a gradient is given of, and in which form: numbers, weights that are not trained, results that are handed on."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import GradientError, IndexRangeError


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"], autouse=True)
def mode(request):
    """Everything here holds in both modes."""
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


def vector(*numbers):
    return Tensor(np.array(numbers, np.float32))


def times(x, n):
    return x * n


def same(got, *want):
    np.testing.assert_array_equal(got.asnumpy(), want)


def test_a_number_is_a_constant_and_leaves_no_gap_among_the_gradients():
    x = vector(1, 2)
    assert ms.grad(times, 1)(x, 3) == () and ms.grad(times, (1,))(x, 0.5) == ()
    same(ms.grad(times, (0, 1))(x, 3), 3, 3)
    value, gradient = ms.value_and_grad(times, (0, 1))(x, 3)
    same(value, 3, 6), same(gradient, 3, 3)
    first, second = ops.GradOperation(get_all=True)(lambda a, n, b: a * n * b)(x, 3, x + 1)
    same(first, 6, 9), same(second, 3, 6)


def test_a_float_is_taken_for_a_tensor_where_one_argument_is_asked_for():
    same(ms.grad(lambda x: x ** 3)(2.0), 12), same(ms.grad(times, 1)(2.0, 5.0), 2)
    value, gradient = ms.value_and_grad(lambda x: x * x)(3.0)
    same(value, 9), same(gradient, 6)
    same(ms.grad(ms.grad(lambda x: x ** 3))(2.0), 12)


def test_numbers_that_are_settings_stay_numbers_where_all_gradients_are_asked_for():
    x = Tensor(np.arange(12, dtype=np.float32).reshape(2, 2, 3))
    gradient, = ops.GradOperation(get_all=True)(lambda a, axes: ops.diagonal(a, *axes))(x, (0, 0, 1))
    want = np.zeros((2, 2, 3))
    want[0, 0] = want[1, 1] = 1
    same(gradient, *want)


def test_a_number_beside_tensors_in_a_tuple_gets_zero():
    gradient, number = ms.grad(lambda pair: pair[0] * pair[1])((vector(1, 2), 3))
    same(gradient, 3, 3)
    assert number == 0


def test_a_gradient_of_nothing_is_an_empty_tuple():
    def f():
        return vector(1, 2) * 2
    assert ops.GradOperation()(f)() == () and ops.GradOperation(get_all=True)(f)() == ()
    assert ms.grad(times)(2, 3) == ()
    with pytest.raises(IndexRangeError, match="grad_position 0 is outside the 0 arguments"):
        ms.grad(f)()
    with pytest.raises(IndexRangeError, match="grad_position 1 is outside the 1 arguments"):
        ms.grad(lambda x: x * 2, (0, 1))(vector(1))


def test_positions_that_name_nothing_or_something_twice_are_refused():
    with pytest.raises(GradientError, match="no argument"):
        ms.grad(times, ())(vector(1), vector(2))
    with pytest.raises(GradientError, match="an argument twice"):
        ms.grad(times, (0, 0))(vector(1), vector(2))


def test_a_weight_that_is_given_as_a_result_counts_with_the_results():
    w, x = Parameter(vector(2, 3), name="w"), vector(1, 2)
    of_x, of_w = ms.grad(lambda a: (a * w, a, w), 0, w)(x)
    same(of_x, 3, 4), same(of_w, 2, 3)
    same(ms.grad(lambda a: w)(x), 0, 0)

    def doubled(a):
        ops.assign(w, w * 2)
        return a, w
    same(ms.grad(doubled, None, Parameter(vector(1, 1), name="other"))(x), 0, 0)
    same(w, 4, 6)


def test_a_weight_that_is_not_trained_gets_zeros():
    w, frozen, x = Parameter(vector(2, 3), name="w"), Parameter(vector(2, 3), name="frozen"), vector(1, 2)

    def f(a):
        return a * w * frozen
    gradient = ms.grad(f, None, [w, frozen])
    same(gradient(x)[1], 2, 6)
    frozen.requires_grad = False
    of_w, of_frozen = gradient(x)
    same(of_w, 2, 6), same(of_frozen, 0, 0)


def test_gradients_with_ids_skip_what_has_none():
    w, x = Parameter(vector(2, 3), name="w"), vector(1, 2)
    (position, gradient), ((name, of_w),) = ms.grad(lambda a, n: a * n * w, (0, 1), [w], return_ids=True)(x, 3)
    assert position == 0 and name == "w"
    same(gradient, 6, 9), same(of_w, 3, 6)


def test_the_cotangent_may_be_named_sens():
    x = vector(1, 2)
    gradient = ops.GradOperation(sens_param=True)(lambda a, n: a * a * n)
    same(gradient(x, 2, x), 4, 16)
    same(gradient(x, 2, sens=x), 4, 16)


def test_cotangents_may_stand_for_numbers_among_the_results_too():
    x = vector(1, 2)

    def f(a):
        return {"a": a * 2, "b": 2}
    same(ops.GradOperation(sens_param=True)(f)(x, f(x)), 4, 8)


class Sum(nn.Cell):
    """x + y with a gradient of its own."""

    def __init__(self, gradients):
        super().__init__()
        self.gradients = gradients

    def construct(self, x, y):
        return x + y

    def bprop(self, x, y, out, dout):
        return self.gradients


def test_a_bprop_may_give_a_gradient_before_it_is_summed_and_cast():
    whole = Tensor([[1, 2], [3, 4]], ms.int64)
    of_x, of_y = ops.GradOperation(get_all=True)(Sum((whole, whole)))(vector(1, 1), Tensor(np.ones((2, 2), np.float32)))
    same(of_x, 4, 6), same(of_y, [1, 2], [3, 4])
    assert of_x.dtype is ms.float32 and of_y.dtype is ms.float32
    with pytest.raises(GradientError, match=r"Sum.bprop gives f32\[3\] as the gradient of f32\[2\]"):
        ms.grad(Sum((vector(1, 2, 3), vector(1, 2))))(vector(1, 1), vector(1, 1))


def test_hooks_of_inputs_and_weights_are_called_in_both_modes():
    w, x = Parameter(vector(2, 3), name="w"), vector(1, 2)

    def f(a):
        return a * w
    gradient = ms.grad(f, 0, w)
    inside = ms.jit(lambda a: gradient(a))
    same(gradient(x)[1], 1, 2), same(inside(x)[1], 1, 2)
    handle = w.register_hook(lambda grad: grad * 10)
    same(gradient(x)[1], 10, 20), same(inside(x)[1], 10, 20)
    handle.remove()
    same(gradient(x)[1], 1, 2), same(inside(x)[1], 1, 2)
    x.register_hook(lambda grad: grad * 100)
    same(gradient(x)[0], 200, 300)


class Two(nn.Cell):
    """Reads b, then a; c never."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = [Parameter(vector(n), name=name) for name, n in zip("abc", (2, 3, 5))]
        self.frozen = Parameter(vector(1), name="frozen", requires_grad=False)

    def construct(self, x):
        y = x * self.b * self.frozen
        if x.sum() > 0:
            y = y * self.a * self.a
        return y


def test_without_weights_those_that_the_function_reads_are_taken_in_the_order_of_their_use():
    net, by_list = Two(), ops.GradOperation(get_by_list=True)
    gradients = by_list(net)(vector(1))
    same(gradients[0], 4), same(gradients[1], 12)
    assert len(gradients) == 2
    (of_input,), gradients = ops.GradOperation(get_all=True, get_by_list=True)(lambda x: net(x) * 2)(vector(1))
    same(of_input, 24), same(gradients[0], 8), same(gradients[1], 24)
    assert ops.GradOperation(get_all=True, get_by_list=True)(lambda x: x * 2)(vector(1))[1] == ()


def test_a_parameter_that_is_returned_unread_is_used_too():
    net = Two()
    (of_input,), (a,) = ops.GradOperation(get_all=True, get_by_list=True)(lambda x: net.a)(vector(1))
    same(of_input, 0), same(a, 1)
    b, a = ops.GradOperation(get_by_list=True)(lambda x: (x * net.b, [net.a]))(vector(3))
    same(b, 3), same(a, 1)


@pytest.mark.python_runs("requires_grad is assigned while the function runs")
def test_a_weight_that_the_function_excludes_from_training_while_it_runs_gets_zeros():
    net = Two()

    def excluding(x):
        out = x * net.a * net.b
        net.b.requires_grad = False
        return out
    for _ in range(2):
        net.b.requires_grad = True
        a, b = ms.grad(excluding, None, [net.a, net.b])(vector(5))
        same(a, 5 * float(net.b)), same(b, 0)
        assert not net.b.requires_grad


def test_so_are_those_of_a_compiled_cell_inside():
    net = Two()

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w, self.net = Parameter(vector(7), name="w"), ms.jit(net)

        def construct(self, x):
            return self.net(x) * self.w
    b, a, w = ops.GradOperation(get_by_list=True)(Outer())(vector(1))
    same(b, 28), same(a, 84), same(w, 12)


def test_so_are_those_that_are_assigned_and_those_that_python_code_reads():
    net = Two()

    def assigned(x):
        net.c += 1
        return net.c * net.b * x
    c, b = ops.GradOperation(get_by_list=True)(assigned)(vector(1))
    same(c, 3), same(b, 6)

    def in_python(x):
        return eval("x * net.a", {"x": x, "net": net}) * net.b
    a, b = ops.GradOperation(get_by_list=True)(in_python)(vector(1))
    same(a, 3), same(b, 2)


def test_used_weights_of_a_gradient_inside_a_gradient():
    net = Two()

    def inner(x):
        return ops.GradOperation(get_by_list=True)(net)(x)[0]               # a * a * x
    a, = ops.GradOperation(get_by_list=True)(inner)(vector(1))[:1]
    order = [g.asnumpy().tolist() for g in ops.GradOperation(get_by_list=True)(inner)(vector(1))]
    assert [4.0] in order and order.count([0.0]) == len(order) - 1, (a, order)


def test_the_value_of_a_parameter_has_a_gradient_and_is_what_it_is_now():
    p = Parameter(vector(1, 2), name="p")
    same(ms.grad(lambda x: (p.value() * x).sum(), None, p)(vector(3, 4)), 3, 4)
    compiled = ms.jit(lambda x: p.value() + x)
    same(compiled(vector(1, 1)), 2, 3)
    p.set_data(vector(5, 6))
    same(compiled(vector(1, 1)), 6, 7)


class Steps(nn.Cell):
    def __init__(self):
        super().__init__()
        self.net = nn.Dense(3, 2)
        self.weights = ms.ParameterTuple(self.net.trainable_params())
        self.by_list = ops.GradOperation(get_by_list=True)
        self.all = ops.GradOperation(get_all=True, sens_param=True)

    def construct(self, x, sens):
        def inner(y):
            return self.net(y).sum()
        return (self.by_list(self.net, self.weights)(x), self.all(self.net)(x, sens), ops.GradOperation()(inner)(x),
                self.by_list(inner)(x), self.by_list(self.net, self.weights[0])(x))


def test_grad_operation_inside_a_graph_is_part_of_it():
    net, x, sens = Steps(), Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((2, 2), np.float32))
    want, got = net(x, sens), ms.jit(net.construct, fullgraph=True)(x, sens)
    assert [len(part) for part in want] == [len(part) for part in got] == [2, 1, 2, 2, 2]
    for a, b in zip(want, got):
        for c, d in zip(a, b) if isinstance(a, tuple) else [(a, b)]:
            np.testing.assert_allclose(c.asnumpy(), d.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("jit", [False, True])
def test_arguments_by_name_have_gradients_behind_those_by_position(jit):
    def f(x, y=None, z=2, word=""):
        return x * x * (1 if y is None else y) * z * z
    x, y, z = vector(2), vector(3), vector(5)
    every, second = ms.ops.GradOperation(get_all=True)(f), ms.grad(f, 1)

    def found(function, *args, **kwargs):
        made = ms.jit(function)(*args, **kwargs) if jit else function(*args, **kwargs)
        return [float(g) for g in (made if isinstance(made, tuple) else (made,))]
    assert found(every, x, y=y) == [48, 16] and found(every, x=x, y=y) == [48, 16]
    assert found(every, x, z=z, word="a", y=y) == [300, 120, 100]
    assert found(every, x, y, z=z) == [300, 100, 120] and found(second, x, y=y) == [16]
