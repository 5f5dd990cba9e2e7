"""Parameters that are assigned to under vmap: what they hold, and whose their gradients are."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, ops, vmap


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_a_parameter_that_was_assigned_one_value_for_all_items_is_not_mapped(mode, kind):
    p = Parameter(Tensor(np.array(1, kind)), name="p")

    def f(x):
        ops.assign(p, x.sum().astype(p.dtype))
        seen = p * 2
        ops.assign(p, Tensor(np.array(5, kind)))
        return seen, p + 0

    def run(x):
        return vmap(f, 0, (0, None))(x)
    xs = np.arange(6, dtype=np.float32).reshape(3, 2)
    seen, last = (ms.jit(run, fullgraph=True) if mode == "graph" else run)(Tensor(xs))
    np.testing.assert_array_equal(seen.asnumpy(), xs.sum(1) * 2)
    assert last.shape == () and int(last) == int(p) == 5


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_the_gradient_of_a_parameter_that_items_assign_is_the_sum_over_a_loop_of_them(mode):
    p = Parameter(Tensor(np.array(1, np.float32)), name="p")

    def f(x):
        ops.assign(p, x.sum())
        seen = p * 2
        ops.assign(p, Tensor(np.array(5, np.float32)))
        return seen + p * x.sum()

    def mapped(xs):
        return vmap(f)(xs).sum()

    def looped(xs):
        total = 0
        for n in range(3):
            total = total + f(xs[n])
        return total
    xs = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2))
    wanted = ms.grad(looped, 0, [p])(xs)
    slope = ms.grad(mapped, 0, [p])
    found = (ms.jit(slope, fullgraph=True) if mode == "graph" else slope)(xs)
    np.testing.assert_allclose(found[1][0].asnumpy(), wanted[1][0].asnumpy())
    np.testing.assert_allclose(found[0].asnumpy(), wanted[0].asnumpy())
    assert float(wanted[1][0]) == 3 * 2 + 15
