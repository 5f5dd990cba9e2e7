"""Eager mode itself: signatures are checked once, slow operators run kernels, results are those of the eval rules."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError
from mindlite.mindir.primitive import PRIMITIVES, current_interpreter, eval_rule
from mindlite.pynative import interpreter, operation
from mindlite.pynative.interpreter import _signatures
from mindlite.pynative.kernels import FlatKernel, OwnKernel


def tensor(*shape, seed=0, dtype=np.float32):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def operation_of(prim, shape):
    return [o for key, o in _signatures.items() if key[0] is prim and shape in key]


@pytest.fixture(autouse=True)
def no_function_is_known(monkeypatch):
    """A function that was traced for other sizes would run as a whole, without its operators."""
    monkeypatch.setattr(operation, "_families", type(operation._families)())


def test_it_answers_when_nothing_else_is_asked():
    assert current_interpreter() is interpreter


def test_a_signature_is_made_once():
    x = tensor(7, 1723)
    x.sum(0)
    made, = operation_of(PRIMITIVES["reduce_sum"], (7, 1723))
    x.sum(0)
    assert operation_of(PRIMITIVES["reduce_sum"], (7, 1723)) == [made]


def test_attributes_that_compare_equal_are_told_apart_by_their_type():
    assert ops.full((2,), 1).dtype is ms.int64 and ops.full((2,), 1.0).dtype is ms.float32
    assert ops.full((2,), True).dtype is ms.bool_
    x = tensor(2, 3)
    assert ops.reduce_sum(x, axis=(0,), keepdims=False).shape == (3,)
    assert ops.reduce_sum(x, keepdims=True, axis=(0,)).shape == (1, 3)


def test_an_error_comes_every_time_and_names_the_line():
    x, y = tensor(3), tensor(4)
    for _ in range(2):
        with pytest.raises(ShapeError) as caught:
            x * y
        assert caught.value.location.source().strip() == "x * y" and "3 != 4" in str(caught.value)
    with pytest.raises(DTypeError):
        ops.bitwise_not(x)
    with pytest.raises(ArgumentError):
        x + object()


def test_numpy_scalars_and_lists_are_operands():
    x = tensor(2)
    np.testing.assert_allclose((x * np.float32(2)).asnumpy(), x.asnumpy() * 2)
    np.testing.assert_allclose((x + [1.0, 2.0]).asnumpy(), x.asnumpy() + np.float32([1, 2]))


def test_convolution_runs_a_kernel_and_agrees_with_its_meaning():
    x, w = tensor(2, 3, 9, 9), tensor(4, 3, 3, 3, seed=1)
    out = ops.conv2d(x, w)
    prim = PRIMITIVES["convolution"]
    operation, = operation_of(prim, (2, 3, 9, 9))
    assert isinstance(operation.compute, (FlatKernel, OwnKernel))
    want = eval_rule[prim](x.array, w.array, **operation.attrs)
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name, shape", [("erf", (80, 80)), ("softmax", (300, 300)), ("exp", (1024, 1025))])
def test_large_operands_run_generated_kernels(name, shape):
    x, prim = tensor(*shape), PRIMITIVES[name]
    out = getattr(ops, name)(x)
    operation, = operation_of(prim, shape)
    assert isinstance(operation.compute, (FlatKernel, OwnKernel))
    np.testing.assert_allclose(out.asnumpy(), eval_rule[prim](x.array, **operation.attrs), rtol=3e-6, atol=1e-7)


def test_transposed_operands_are_read_in_their_own_order():
    x = tensor(300, 301)
    np.testing.assert_allclose(ops.softmax(x.T, -1).asnumpy(), ops.softmax(Tensor(x.array.T.copy()), -1).asnumpy())


def test_products_of_sixteen_bit_floats_run_the_library():
    x = tensor(5, 6, dtype=np.float16)
    wide = x.array.astype(np.float32)
    np.testing.assert_allclose(ops.matmul(x, x.T).asnumpy(), wide @ wide.T, rtol=2e-3, atol=2e-3)
