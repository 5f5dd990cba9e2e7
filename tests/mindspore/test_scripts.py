"""What scripts for MindSpore rely on, the same in both modes."""
import numpy as np
import pytest

import mindlite.mindspore as ms
from mindlite.common import checks
from mindlite.common.config import config
from mindlite.common.errors import ArgumentError, GradientError
from mindlite.mindspore import Tensor, ops


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = config.set(mode=config.mode, mindspore_rules=False)
    ms.set_context(mode=request.param)
    yield request.param
    config.set(**before)


class Anything:
    pass


class EqualToAll:
    def __eq__(self, other):
        return "mine"


@pytest.mark.parametrize("other", [[1, 2], (1, 2), [3], ["a"], {}, {1}, None, "a", Anything()],
                         ids=lambda other: type(other).__name__)
def test_a_tensor_equals_no_container_and_no_other_object(other):
    def asked(x):
        return x == other, x != other, other == x, other != x
    x = Tensor([1, 2])
    assert asked(x) == ms.jit(asked)(x) == (False, True, False, True)


def test_a_list_made_in_a_graph_equals_no_tensor():
    def asked(x):
        return x == [x, x + 1], [x] != x, (x, 1).count("a"), [(2, 3), [1], "b", x].index(x)
    x = Tensor([1])
    assert asked(x) == ms.jit(asked)(x) == (False, True, 0, 3)


def test_what_a_users_class_says_of_equality_with_a_tensor_holds():
    def asked(x, other=EqualToAll()):
        return x == other
    assert asked(Tensor([1])) == ms.jit(asked)(Tensor([1])) == "mine"


def test_tensors_numbers_and_arrays_are_compared_element_by_element():
    def asked(x):
        return x == 1, x == np.array([1, 3]), x != Tensor([1, 2]), x == np.float32(2)
    for made in (asked(Tensor([1, 2])), ms.jit(asked)(Tensor([1, 2]))):
        assert [t.asnumpy().tolist() for t in made] == [[True, False]] * 2 + [[False, False], [False, True]]


@pytest.mark.parametrize("function", [lambda x: int(x), lambda x: (int(x), bool(x)), lambda x: x.asnumpy(), lambda x: None,
                                      lambda x: "a"], ids=["int", "tuple", "array", "None", "str"])
def test_what_gives_no_tensor_has_a_zero_gradient(mode, function):
    assert ms.grad(function)(Tensor(2.0)) == 0 and ops.GradOperation(get_all=True)(function)(Tensor(2.0)) == (0,)


def test_without_the_rules_of_mindspore_it_is_an_error():
    with pytest.raises(GradientError, match="gives int, which has no gradient"):
        ms.grad(lambda x: int(x))(Tensor(2.0))


def operator_gradients():
    """{name: (the class of a gradient called with (x, y, dout, out), the operator)}"""
    P, x = ms.ops.auto_generate, slice(0, 1)
    return {
        "FastGeLUGrad": (lambda x, y, dout, out: (P.FastGeLUGrad()(dout, x),), ops.fast_gelu, x),
        "HShrinkGrad": (lambda x, y, dout, out: (P.HShrinkGrad(0.4)(dout, x),), lambda x: ops.hardshrink(x, 0.4), x),
        "SoftmaxBackward": (lambda x, y, dout, out: (P.SoftmaxBackward()(dout, out, 1),), lambda x: ops.softmax(x, 1), x),
        "MaximumGrad": (lambda x, y, dout, out: P.MaximumGrad()(x, y, dout), ops.maximum, slice(0, 2)),
        "MinimumGrad": (lambda x, y, dout, out: P.MinimumGrad()(x, y, dout), ops.minimum, slice(0, 2))}


@pytest.mark.parametrize("name", operator_gradients())
def test_a_gradient_as_a_class_is_the_gradient_of_its_operator(mode, name):
    rng = np.random.default_rng(3)
    x, y, dout = (Tensor(rng.standard_normal((3, 4)).astype(np.float32)) for _ in range(3))
    gradient, operator, used = operator_gradients()[name]
    inputs = (x, y)[used]
    out, pull = ms.vjp(operator, *inputs)
    for made, wanted in zip(ms.jit(gradient)(x, y, dout, out), pull(dout)):
        np.testing.assert_allclose(made.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)


def test_the_class_of_layer_normalisation_gives_means_and_variances_and_its_gradient_uses_them(mode):
    P, rng = ms.ops.operations, np.random.default_rng(4)
    x, gamma, beta, dout = (Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((2, 3, 4), (3, 4), (3, 4), (2, 3, 4)))
    y, mean, variance = P.LayerNorm(1, 1)(x, gamma, beta)
    plain = x.asnumpy().reshape(2, -1)
    np.testing.assert_allclose(mean.asnumpy().ravel(), plain.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance.asnumpy().ravel(), plain.var(1), rtol=1e-5)
    normal = ((plain - plain.mean(1)[:, None]) / plain.std(1)[:, None]).reshape(2, 3, 4)
    np.testing.assert_allclose(y.asnumpy(), normal * gamma.asnumpy() + beta.asnumpy(), rtol=1e-4, atol=1e-5)
    wanted = ms.vjp(lambda *a: P.LayerNorm(1, 1)(*a)[0], x, gamma, beta)[1](dout)
    for made, want in zip(ms.ops.auto_generate.LayerNormGrad(1, 1)(x, dout, variance, mean, gamma), wanted):
        np.testing.assert_allclose(made.asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-4)


def test_the_gradient_of_the_gradient_of_layer_normalisation_as_a_class(mode):
    P, rng = ms.ops.auto_generate, np.random.default_rng(5)
    x, dout, d_dx, gamma, d_dg, d_db = (Tensor(rng.standard_normal(s)) for s in ((4, 5),) * 3 + ((5,),) * 3)

    def moments(x):
        mean = x.mean(1, True)
        return ((x - mean) ** 2).mean(1, True), mean

    def all_three(x, dout, gamma):
        results = P.LayerNormGrad(1, 1)(x, dout, *moments(x), gamma)
        return sum((d * made).sum() for d, made in zip((d_dx, d_dg, d_db), results))
    wanted = ms.grad(all_three, (0, 1, 2))(x, dout, gamma)
    for made, want in zip(P.LayerNormGradGrad(1, 1)(x, dout, *moments(x), gamma, d_dx, d_dg, d_db), wanted):
        np.testing.assert_allclose(made.asnumpy(), want.asnumpy(), rtol=1e-9, atol=1e-12)


def test_what_makes_sizes_dynamic_gives_its_operand_and_a_tensor_becomes_a_tuple_of_numbers(mode):
    P, x = ms.ops.operations._inner_ops, Tensor(np.array([3, 1, 2]))
    slope = ms.grad(lambda x: (P.ConvertToDynamic(is_dynamic_rank=True)(x) ** 2).sum())(Tensor([1.0, 2.0]))
    assert slope.tolist() == [2.0, 4.0] and not ms.ops.functional.is_sequence_value_unknown(x.shape)
    jitted = ms.jit(lambda x: ms.ops.TensorToTuple()(x), fullgraph=True)
    assert jitted(x) == ms.ops.TensorToTuple()(x) == (3, 1, 2)
    with pytest.raises(ArgumentError, match="one axis"):
        ms.ops.TensorToTuple()(Tensor([[1]]))


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_the_gradient_of_the_nll_loss_as_a_class(mode, reduction):
    logits, labels = Tensor([[-1.0, -2, -3], [-2, -1, -0.5], [-1, -1, -1]]), Tensor([2, 0, -100], ms.int32)
    weight, dout = Tensor([0.5, 1, 2]), Tensor([1.0, 3, 5]) if reduction == "none" else Tensor(2.0)
    made = ms.ops.auto_generate.NLLLossGrad(reduction)(logits, dout, labels, weight, Tensor(2.5))
    wanted = ms.vjp(lambda x: ops.nll_loss(x, labels, weight, reduction=reduction), logits)[1](dout)
    np.testing.assert_allclose(made.asnumpy(), (wanted[0] if isinstance(wanted, tuple) else wanted).asnumpy(), rtol=1e-5)


def test_mint_convolves_with_padding_by_name_and_without_a_batch(mode):
    x, w = ops.arange(32).reshape(2, 4, 4).astype(ms.float32), ops.ones((3, 2, 3, 3))
    one = ms.mint.nn.functional.conv2d(x, w, padding="same")
    assert one.shape == (3, 4, 4)
    np.testing.assert_allclose(one.asnumpy(), ms.mint.nn.functional.conv2d(x[None], w, None, 1, 1).asnumpy()[0])
    assert ms.mint.nn.functional.conv2d(x[None], w).shape == (1, 3, 2, 2)


def test_the_shape_of_a_list_is_a_type_error(mode):
    with pytest.raises(TypeError, match="a tensor is wanted, not list"):
        ops.shape([Tensor(1.0)])


def test_a_row_without_cells_is_false():
    assert not ms.nn.SequentialCell() and not ms.nn.CellList([]) and ms.nn.SequentialCell(ms.nn.ReLU())


def test_a_user_s_own_primitive_computes_by_its_call_and_keeps_its_arguments():
    class Settings(ms.ops.Primitive):
        @ms.ops.prim_attr_register
        def __init__(self, x, y=3):
            self.x = x

    class Two(ms.ops.PrimitiveWithInfer):
        @ms.ops.prim_attr_register
        def __init__(self):
            """It has none."""

        def __call__(self, x, y):
            return x * 2, y

    class Named(ms.ops.Primitive):
        def __init__(self, k):
            super().__init__("Scale")
            self.k = k

        def __call__(self, x):
            return x * self.k

    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.settings, self.two, self.scale = Settings(123), Two(), Named(4)

        def construct(self, x):
            a, b = self.two(x, x)
            return "{0.x} and {0.y}".format(self.settings), self.scale(a + b)
    net, x = Net(), ms.Tensor([1.0, 2.0])
    for run in net, ms.jit(net.construct, fullgraph=True):
        text, made = run(x)
        assert text == "123 and 3" and made.asnumpy().tolist() == [12.0, 24.0]
    assert net.scale.name == "Scale" and net.two.name == "Two"


def test_arguments_are_checked_by_type():
    @checks.args_type_check(text=str, number=int)
    def f(text, number=None):
        return text, number
    assert f("a") == ("a", None) and f("a", number=3) == ("a", 3)
    with pytest.raises(TypeError, match="number is int, not str"):
        f("a", "b")
