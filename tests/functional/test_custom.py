"""Gradients of a user's own for functions and values, and derivatives as Cells."""
import functools
import json

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from mindlite.functional import Custom, HookBackward, InsertGradientOf, custom_vjp
from mindlite.functional.registration import CustomRegOp, DataType, custom_info_register


@pytest.fixture(params=["eager", "jit", "GRAPH_MODE"])
def way(request):
    """A function that makes another one run in one of the three ways."""
    if request.param == "GRAPH_MODE":
        ms.set_context(mode=ms.GRAPH_MODE)
    yield ms.jit if request.param == "jit" else lambda f: f
    ms.set_context(mode=ms.PYNATIVE_MODE)


def vector(*numbers):
    return Tensor(np.array(numbers, np.float32))


def same(got, *want):
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def test_a_function_may_have_a_gradient_that_is_written_by_hand(way):
    @custom_vjp
    def f(x, y):
        return 2 * x + y
    x, y = vector(1, 2), vector(3, 4)
    same(ms.grad(f)(x, y), 2, 2)
    f.defbwd(lambda x, y, out, dout: (5 * dout, y * dout))
    gradient = ms.grad(lambda a, b: f(a, b) * 2 + a, (0, 1))
    of_x, of_y = way(lambda a, b: gradient(a, b))(x, y)
    same(of_x, 11, 11), same(of_y, 6, 8)
    same(way(f)(x, y), 5, 8)
    with pytest.raises(ArgumentError, match="takes a function, not int"):
        custom_vjp(3)


def test_a_gradient_may_be_changed_where_it_passes(way):
    seen = InsertGradientOf(lambda dout: ops.clamp(dout, -1, 1))
    gradient = ms.grad(lambda a: seen(a) * 3 + a)
    same(way(lambda a: gradient(a))(vector(1, 2)), 2, 2)


def test_a_hook_between_operators_sees_a_tuple_of_gradients(way):
    seen = []

    def hook(gradients):
        seen.append(gradients[0].asnumpy().tolist())
        return gradients[0] * 10
    between = HookBackward(hook)
    gradient = ms.grad(lambda a: between(a * 2) * 3)
    same(way(lambda a: gradient(a))(vector(1, 2)), 60, 60)
    assert seen == [[3, 3]]
    first, second = HookBackward(lambda gradients: None)(vector(1), vector(2))
    same(first, 1), same(second, 2)


class Powers(nn.Cell):
    """Two results of two inputs."""

    def construct(self, x, y):
        return x * y, y ** 3


def test_derivatives_are_cells_too(way):
    x, y, u, v = vector(1, 2), vector(3, 4), vector(1, 1), vector(2, 2)
    (value, _), (first, second) = way(nn.Jvp(Powers()))(x, y, (u, v))
    same(value, 3, 8), same(first, 3 + 2, 4 + 4), same(second, 54, 96)
    value, tangent = way(nn.Jvp(ops.square))(x, u)
    same(value, 1, 4), same(tangent, 2, 4)
    _, (of_x, of_y) = way(nn.Vjp(Powers()))(x, y, (u, v))
    same(of_x, 3, 4), same(of_y, 1 + 54, 2 + 96)
    value, gradient = way(nn.Vjp(ops.square))(x, v)
    same(value, 1, 4), same(gradient, 4, 8)
    with pytest.raises(ArgumentError, match="Jvp: takes a function"):
        nn.Jvp(3)


@pytest.mark.python_runs("Custom calls the Python function `func`")
def test_a_python_function_of_arrays_is_an_operator_with_a_gradient(way):
    cube = Custom(lambda x: x ** 3, lambda shape: shape, lambda dtype: dtype, "pyfunc",
                  bprop=lambda x, out, dout: (3 * x * x * dout,))
    x = vector(1, 2)
    same(way(lambda a: cube(a) * 2)(x), 2, 16)
    gradient = ms.grad(lambda a: cube(a) * 2)
    same(way(lambda a: gradient(a))(x), 6, 24)
    low, high = Custom(lambda x: (x.min(), x.max()), ((), ()))(x)
    assert float(low) == 1 and float(high) == 2


def test_a_custom_operator_keeps_what_it_promised():
    with pytest.raises(ShapeError, match="promised"):
        Custom(lambda x: x[:1], lambda shape: shape)(vector(1, 2))
    with pytest.raises(DTypeError, match="promised"):
        Custom(lambda x: x, None, ms.float64)(vector(1, 2))
    with pytest.raises(ValueRangeError, match="func_type is one of"):
        Custom(lambda x: x, func_type="hybrid")


def registered(*kinds, target="CPU", rows=(("float32", "float32"), ("float16", "float16")), **attrs):
    """A registration with one input of each kind and one output, and rows of dtypes."""
    made = CustomRegOp("twice")
    for number, kind in enumerate(kinds or ("required",)):
        made.input(number, f"x{number}", kind)
    made.output(0, "y")
    for row in rows:
        made.dtype_format(*[(name, "DefaultFormat") for name in row])
    for name, value in attrs.items():
        made.attr(name, "required", "int", value)
    return made.target(target).get_op_info()


def half(*values):
    return vector(*values).astype(ms.float16)


def test_a_registration_is_what_operands_are_held_against():
    @custom_info_register(registered())
    def twice(x):
        return x * 2
    for double in (Custom(twice), Custom(lambda x: x * 2, reg_info=registered()), Custom(lambda x: x * 2, reg_info=json.dumps(
            registered()))):
        same(double(vector(1, 2)), 2, 4)
        assert double(half(1)).dtype is ms.float16
        with pytest.raises(DTypeError, match=r"the inputs are \['float64'\]; registered are \['float32'\], \['float16'\]"):
            double(vector(1, 2).astype(ms.float64))
        with pytest.raises(ArgumentError, match="2 inputs were given, registered are 1"):
            double(vector(1), vector(1))
    with pytest.raises(DTypeError, match=r"the function gives \['float64'\]; registered are \['float32'\]"):
        Custom(lambda x: x.astype(np.float64), reg_info=registered())(vector(1))
    same(twice(vector(3)), 6)


def test_a_registration_of_another_target_is_left_out():
    for target, error in (("Ascend", None), ("CPU", DTypeError), ("UnKnown", DTypeError), (None, DTypeError)):
        call = functools.partial(Custom(lambda x: x, reg_info=[registered(target=target)]), vector(1).astype(ms.int32))
        if error is None:
            assert call().dtype is ms.int32
        else:
            with pytest.raises(error):
                call()


def test_inputs_may_be_optional_or_many():
    rows = (("float32", "", "float32"),)
    pair = Custom(lambda x, y=0: x + y, reg_info=registered("required", "optional", rows=rows))
    same(pair(vector(1)), 1), same(pair(vector(1), vector(2)), 3)
    total = Custom(lambda *xs: sum(xs), reg_info=registered("dynamic", rows=(("float32", "float32"),)))
    same(total(vector(1), vector(2), vector(4)), 7)
    with pytest.raises(DTypeError):
        total(vector(1), vector(2).astype(ms.int32))
    with pytest.raises(ArgumentError):
        pair(vector(1), vector(1), vector(1))


def test_a_registration_that_says_nothing_or_the_wrong_thing_is_refused():
    assert DataType.F32_Default == ("float32", "DefaultFormat") and DataType.I64_NCHW == ("int64", "NCHW")
    assert DataType.None_None == ("", "") and DataType.C64_Default == ("complex64", "DefaultFormat")
    for error, make in [
            (ValueRangeError, lambda: CustomRegOp(" ")), (ArgumentError, lambda: CustomRegOp(3)),
            (ArgumentError, lambda: CustomRegOp().input("x")), (ArgumentError, lambda: CustomRegOp().output(0, 1)),
            (ValueRangeError, lambda: CustomRegOp().input(0, "x", "many")), (ArgumentError, lambda: CustomRegOp().target(0)),
            (ValueRangeError, lambda: CustomRegOp().input(0).dtype_format()), (ArgumentError, lambda: CustomRegOp().attr(1)),
            (ValueRangeError, lambda: CustomRegOp().input(0).dtype_format("float32")),
            (ArgumentError, lambda: custom_info_register(3)), (ValueRangeError, lambda: custom_info_register("{")),
            (ValueRangeError, lambda: Custom(lambda x: x, reg_info=registered(axis="0")))]:
        with pytest.raises(error):
            make()
