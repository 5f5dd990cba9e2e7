"""Function: forward and backward of a user's own, and the context between them."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, GradientError
from mindlite.pynative import Function


def vector(*numbers):
    return Tensor(np.array(numbers, np.float32))


def same(got, *want):
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


class Cube(Function):
    """x ** 3, with what backward needs in the context."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, dout):
        x, = ctx.saved_tensors
        return 3 * x * x * ctx.scale * dout, None


def test_a_function_has_the_gradient_that_it_says_of_any_order():
    x = vector(1, 2)

    def f(a):
        return Cube.apply(a, 2)
    same(f(x), 2, 16)
    same(ms.grad(f)(x), 6, 24)
    same(ms.grad(lambda a: ms.grad(f)(a).sum())(x), 12, 24)
    same(ms.grad(ms.jit(f))(x), 6, 24)


def test_what_is_saved_is_what_it_was_even_if_it_is_overwritten():
    def f(a):
        b = a * 1
        out = Cube.apply(b, 1)
        b.add_(100)
        return out
    same(ms.grad(f)(vector(1, 2)), 3, 12)


def make(forward, backward):
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def test_the_context_knows_which_arguments_want_a_gradient():
    seen = []

    def forward(ctx, x, y, n):
        seen.append(ctx.needs_input_grad)
        return x * y * n
    made = make(forward, lambda ctx, dout: (dout, dout, None))
    y = vector(3, 4)
    ms.grad(lambda x: made.apply(x, y, 2))(vector(1, 2))
    made.apply(y, y, 2)
    assert seen == [(True, False, False), (False, False, False)]


def test_results_without_a_gradient_get_none_and_no_cotangent_is_zeros_or_none():
    given = []

    def forward(ctx, x):
        count = ops.cast(x, ms.int32)
        ctx.mark_non_differentiable(count)
        ctx.set_materialize_grads(len(given) == 0)
        return x * 2, count, x * 3

    def backward(ctx, *douts):
        given.append(douts)
        return douts[0] * 2
    made = make(forward, backward)
    for _ in range(2):
        same(ms.grad(lambda x: made.apply(x)[0])(vector(1, 2)), 2, 2)
    same(given[0][2], 0, 0)
    assert given[1][1] is None and given[1][2] is None


def test_a_marked_result_is_a_constant_even_if_it_is_an_argument():
    def forward(ctx, x, y):
        ctx.mark_non_differentiable(x)
        return x, y * 2
    made = make(forward, lambda ctx, a, b: (None, b * 2))
    of_x, of_y = ms.grad(lambda x, y: made.apply(x, y)[0] + made.apply(x, y)[1], (0, 1))(vector(1), vector(2))
    same(of_x, 0), same(of_y, 2)


def test_an_argument_that_is_a_result_gets_the_gradient_of_the_function():
    made = make(lambda ctx, x: x, lambda ctx, dout: dout * 2)
    x = vector(1, 2)
    same(ms.grad(lambda a: made.apply(a * 1))(x), 2, 2)
    assert made.apply(x) is not x


def test_an_argument_that_is_changed_in_place_is_the_result_of_the_function():
    def forward(ctx, x, y):
        x.add_(1)
        ctx.mark_dirty(x)
        return x + y, x
    made = make(forward, lambda ctx, dout, dx: (dout * 10 + dx, dout * 2))

    def f(a, y):
        x, square = a * 1, a * a
        total, changed = made.apply(x, y)
        assert changed is x
        return total + x * 3 + square
    of_a, of_y = ms.grad(f, (0, 1))(vector(1, 2), vector(5, 6))
    same(of_a, 10 + 3 + 2, 10 + 3 + 4), same(of_y, 2, 2)
    forgetful = make(lambda ctx, x: (ctx.mark_dirty(x), x + 1)[1], lambda ctx, dout: dout)
    with pytest.raises(ArgumentError, match="marked dirty is no result"):
        forgetful.apply(vector(1))


def test_memory_that_the_function_overwrites_is_kept_for_earlier_gradients():
    def forward(ctx, x):
        x.mul_(0)
        ctx.mark_dirty(x)
        return x
    made = make(forward, lambda ctx, dout: dout)

    def f(a):
        b = a * 1
        return ops.tanh(b) + made.apply(b) + b * 0
    x = vector(0.5, 2)
    same(ms.grad(f)(x), *(1 + 1 - np.tanh(x.array) ** 2))


def test_a_gradient_is_summed_and_cast_and_one_that_does_not_fit_is_refused():
    whole = Tensor([[1, 1], [2, 2]], ms.int64)
    added = make(lambda ctx, x, y: x + y, lambda ctx, dout: (whole, whole))
    of_x, of_y = ms.grad(added.apply, (0, 1))(vector(1, 2), Tensor(np.ones((2, 2), np.float32)))
    same(of_x, 3, 3), same(of_y, [1, 1], [2, 2])
    assert of_x.dtype is ms.float32
    for backward, words in ((lambda ctx, d: d, "gives 1 gradients for 2"),
                            (lambda ctx, d: (d, 3), "is a Tensor or None"),
                            (lambda ctx, d: (vector(1, 2, 3), d), r"f32\[3\] as the gradient of f32\[2\]")):
        wrong = make(lambda ctx, x, y: x + y, backward)
        with pytest.raises(GradientError, match=words):
            ms.grad(wrong.apply)(vector(1, 2), vector(1, 2))
    with pytest.raises(GradientError, match="argument 1 is no Tensor"):
        ms.grad(make(lambda ctx, x, n: x * n, lambda ctx, d: (d, d)).apply)(vector(1, 2), 2)
