"""Elements that do not want a side of a branch, or a turn of a loop, leave no trace in values and gradients."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.common.events import counting
from mindlite.mindir.primitive import eager


def check(f, *args):
    """f in plain Python = in eager mode = compiled, finite everywhere, and nothing ran element by element or in Python."""
    with eager():
        want = f(*args).asnumpy()
    assert np.isfinite(want).all()
    with counting() as counted:
        for way in (f, ms.jit(f, fullgraph=True)):
            np.testing.assert_allclose(way(*args).asnumpy(), want, rtol=1e-6)
    assert not counted["vmap_fallback"]
    return want


def root(x, w):
    if x > 0:
        return ops.sqrt(x * w)
    return w * x


def growth(x, w):
    """Overflows where x is negative, if it is run there."""
    if x >= 0:
        return w * 2
    return w * ops.exp(-x * 50)


def reciprocal(x, w):
    while x < 10:
        w = w + 1 / (10 - x)
        x = x + 3.5
    return w * x


def slow(x, w):
    """Its loop never ends for an x that is not above 0."""
    if x > 0:
        y = x
        while y < 100:
            y = y * 2 * w
        return y
    return x * w


def inner_branch(x, w):
    if x > 0:
        if x < 3:
            return ops.log(x * (3 - x)) * w
        return ops.sqrt(x - 3) * w
    return ops.log(1 - x) * w


PROGRAMS = [root, growth, reciprocal, slow, inner_branch]


def total(f):
    return lambda x, w: ms.vmap(f, (0, None))(x, w).sum()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("x", [[0.25, -3, 5, -1], [-2, -3, -0.5, -1]], ids=["some", "nobody"])
def test_gradients_of_what_some_elements_run(f, x):
    if f is growth:
        x = np.minimum(x, 2)
    x, w = Tensor(np.array(x, np.float64)), Tensor(np.float64(1.5))
    check(lambda x, w: ms.vmap(f, (0, None))(x, w), x, w)
    check(lambda x, w: ms.grad(total(f), 0)(x, w), x, w)
    check(lambda x, w: ms.grad(total(f), 1)(x, w), x, w)
    check(lambda x, w: ms.jvp(total(f), (x, w), (x, w))[1], x, w)
    check(lambda x, w: ms.grad(lambda w: ms.grad(total(f), 0)(x, w).sum())(w), x, w)
    check(lambda x, w: ms.grad(lambda x: ms.grad(total(f), 1)(x, w))(x), x, w)


def test_branches_under_two_maps():
    x, w = Tensor(np.array([[0.25, -3], [-2, -0.5]])), Tensor(np.array([1.5, 0.75]))
    for f, axis in ((root, None), (slow, 0)):
        def twice(x, w, f=f, axis=axis):
            return ms.vmap(ms.vmap(f, (0, None)), (0, axis))(x, w if axis == 0 else w[0]).sum()
        check(lambda x, w, twice=twice: ms.grad(twice, 1)(x, w), x, w)


def test_the_last_index_of_a_loop_stays_inside():
    numbers = Tensor(np.arange(3.))

    def added(n):
        i, made = 0, Tensor(np.float64(0))
        while i < n:
            made = made + numbers[i]
            i = i + 1
        return made
    check(lambda n: ms.vmap(added)(n), Tensor([1, 3, 2]))


def test_an_index_that_only_some_elements_read():
    numbers = Tensor(np.arange(1., 4))

    def read(i):
        if i < 3:
            return numbers[i]
        return numbers[0] * 10
    check(lambda i: ms.vmap(read)(i), Tensor([1, 7, 2]))


def test_nothing_is_lent_where_all_slopes_are_constants():
    def linear(x, w):
        if x > 0:
            return x * 2 + w
        return w - x / 3
    mapped = ms.jit(lambda x, w: ms.vmap(linear, (0, None))(x, w))
    check(mapped, Tensor([1., -2]), Tensor(3.))
    names = {node.fn.name for node in mapped.compiled.graph("transform").nodes}
    assert "where" in names and "dynamic_slice" not in names


def test_a_mapped_axis_of_size_0():
    for f in (root, slow, reciprocal):
        assert ms.vmap(f, (0, None))(Tensor(np.zeros(0)), Tensor(np.float64(1.5))).shape == (0,)
