"""Gradients of weights on tapes that are walked: one product for all uses, sums in place, with what compiled gradients give."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.config import config
from mindlite.pynative import backward, products
from mindlite.pynative.array_walk import Flowing

WEIGHTS = 70, 90                                 # more elements than products.LARGE


@pytest.fixture(autouse=True)
def no_flows(monkeypatch):
    """Tapes are walked, never compiled."""
    monkeypatch.setattr(backward.Kind, "pays", lambda self, live: False)


@pytest.fixture
def products_made(monkeypatch):
    """How many rows the products had."""
    made = []
    plain = products.Rows.product

    def product(self, number):
        made.append(sum(len(a) for a, _ in self.pairs[number]))
        return plain(self, number)
    monkeypatch.setattr(products.Rows, "product", product)
    return made


def tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 0.3)


def check(function, *args):
    """Gradients by all arguments equal the compiled ones."""
    def gradients(*args):
        return ms.grad(function, tuple(range(len(args))))(*args)
    found, wanted = gradients(*args), ms.jit(gradients, fullgraph=True)(*args)
    for one, other in zip(found, wanted):
        one, other = one.asnumpy(), other.asnumpy()
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4 * abs(other).max())


def test_uses_of_a_weight_share_one_product(products_made):
    def loss(w, x):
        h, turned = x[0], w.T
        for i in range(5):
            h = ops.tanh(ops.matmul(ops.tanh(ops.matmul(h + x[i], w)), turned))
        return (h * h).sum()
    check(loss, tensor(*WEIGHTS), tensor(5, 2, 70, seed=1))
    assert sorted(products_made) == [10, 10]     # of w and of w.T


def test_a_transposed_operand_waits_as_well(products_made):
    def loss(w, x):
        return sum([(ops.matmul(w, x[i]) ** 2).sum() + (ops.matmul(x[i].T, w.T) ** 2).sum() for i in range(3)])
    check(loss, tensor(*WEIGHTS), tensor(3, 90, 2, seed=1))
    assert products_made and sum(products_made) == 12


def test_a_weight_that_is_computed_has_its_gradient_before_what_it_is_made_of(products_made):
    def loss(v, x):
        w = ops.tanh(v) * 2.0
        return sum([(ops.matmul(x[i], w) ** 3).sum() for i in range(4)]) + (v * w).sum()
    check(loss, tensor(*WEIGHTS), tensor(4, 1, 70, seed=1))
    assert products_made == [4]


def test_many_rows_do_not_wait_for_the_end(products_made, monkeypatch):
    monkeypatch.setattr(products, "MOST_ROWS", 6)

    def loss(w, x):
        return sum([(ops.matmul(x[i], w) ** 2).sum() for i in range(7)])
    check(loss, tensor(*WEIGHTS), tensor(7, 2, 70, seed=1))
    assert sorted(products_made) == [2, 6, 6]


def test_products_of_many_rows_small_ones_and_of_small_dtypes_do_not_wait(products_made):
    def loss(w, x):
        return sum([(ops.matmul(x[i], w) ** 2).sum() for i in range(2)])
    check(loss, tensor(*WEIGHTS), tensor(2, 60, 70, seed=1))
    check(loss, tensor(7, 9), tensor(2, 1, 7, seed=1))
    ms.grad(loss)(tensor(*WEIGHTS).astype(ms.bfloat16), tensor(2, 1, 70).astype(ms.bfloat16))
    assert not products_made


def test_a_gradient_of_gradients_has_no_product_that_waits(products_made):
    def loss(w, x):
        return sum([(ops.matmul(x[i], w) ** 3).sum() for i in range(2)])

    def slope(w, x):
        return (ms.grad(loss)(w, x) ** 2).sum()
    w, x = tensor(*WEIGHTS), tensor(2, 1, 70, seed=1)
    found = ms.grad(slope)(w, x)
    products_made.clear()                        # those of the outer walk
    np.testing.assert_allclose(found.asnumpy(), ms.jit(ms.grad(slope), fullgraph=True)(w, x).asnumpy(), rtol=1e-3, atol=1e-4)


def test_a_program_that_runs_again_computes_as_before(products_made):
    with_products = ms.grad(lambda w, x: (ops.matmul(x[0], w) ** 2).sum())
    config.set(repeatable=True)
    try:
        with_products(tensor(*WEIGHTS), tensor(1, 1, 70, seed=1))
    finally:
        config.set(repeatable=False)
    assert not products_made


def test_a_hook_sees_the_whole_gradient_of_a_weight():
    dense, seen = nn.Dense(70, 90), []
    dense.weight.register_hook(lambda g: seen.append(g.asnumpy().copy()))

    def loss(x):
        return sum([(dense(x[i]) ** 2).sum() for i in range(3)])
    x = tensor(3, 1, 70, seed=1)
    found, = ms.grad(loss, None, [dense.weight])(x)
    wanted = sum([2 * dense(x[i]).asnumpy().T @ x[i].asnumpy() for i in range(3)])
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=2e-4, atol=2e-5)
    assert len(seen) == 1
    np.testing.assert_allclose(seen[0], wanted, rtol=2e-4, atol=2e-5)


def test_a_sum_is_written_in_place_only_where_nobody_else_has_it():
    one, two, three = tensor(70, 90), tensor(70, 90, seed=1), tensor(70, 90, seed=2)
    before = one.asnumpy().copy(), two.asnumpy().copy()
    flows = Flowing([(0, one), (1, one)])
    flows.add(0, two.array)
    made = flows[0]
    flows.add(0, three.array)
    assert flows[0] is made                      # the sum, in place
    taken = flows.take(0)
    flows.add(0, taken)
    flows.add(0, two.array)
    assert flows[0] is not taken                 # it had gone on
    np.testing.assert_array_equal(one.asnumpy(), before[0])
    np.testing.assert_array_equal(two.asnumpy(), before[1])
    np.testing.assert_array_equal(taken, before[0] + before[1] + three.asnumpy())
