"""Random numbers are a function of (seed, position): Philox's own test vectors, streams, moments; effects of state."""
import numpy as np
import pytest
from scipy import special as scipy_special

import mindlite as ms
from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.common.seed import set_seed
from mindlite.common.tensor import Parameter, Tensor
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.evaluate import run
from mindlite.ops.gamma_functions import gamma_quantile_slope
from mindlite.ops.generator import Generator, default_generator
from mindlite.ops.random import generator_state, philox, random_advance, random_uniform
from mindlite.ops.state import print_values


@pytest.fixture(autouse=True)
def _same_stream_after_each_test():
    before = generator_state.asnumpy().copy()
    yield
    generator_state.asnumpy()[:] = before


@pytest.mark.parametrize("counter, key, words", [
    (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),                     # Random123's known-answer test, kat_vectors
])
def test_philox_gives_the_words_of_its_authors(counter, key, words):
    made = philox(np.array([counter], np.uint64), np.array([key], np.uint64))
    assert " ".join(f"{int(word[0]):08x}" for word in made) == words


def philox_by_the_book(counter, key):
    """Philox4x32-10 on Python ints, as section 3.3 of the paper writes it."""
    c, k = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


@pytest.mark.parametrize("counter, key", [(1, 2), (2 ** 32 + 5, 7), (2 ** 40, 2 ** 33 + 1), (12345678901, 98765432109)])
def test_philox_agrees_with_plain_integers(counter, key):
    words = philox(np.array([counter], np.uint64), np.array([key], np.uint64))
    assert [int(word[0]) for word in words] == philox_by_the_book(counter, key)


def test_a_number_depends_on_its_position_alone():
    state = np.array([5, 10])
    whole = random_uniform(state, shape=(40,), dtype=dt.float32).asnumpy()
    np.testing.assert_array_equal(random_uniform(state, shape=(4, 5), dtype=dt.float32).asnumpy().ravel(), whole[:20])
    later = random_uniform(random_advance(state, blocks=3), shape=(8,), dtype=dt.float32).asnumpy()
    np.testing.assert_array_equal(later, whole[12:20])


def test_the_same_seed_gives_the_same_stream_and_draws_do_not_repeat():
    set_seed(11)
    first, second = ops.rand(7).asnumpy(), ops.rand(7).asnumpy()
    set_seed(11)
    np.testing.assert_array_equal(ops.rand(7).asnumpy(), first)
    np.testing.assert_array_equal(ops.rand(7).asnumpy(), second)
    assert not np.intersect1d(first, second).size
    set_seed(12)
    assert not np.intersect1d(ops.rand(7).asnumpy(), first).size


def test_a_seed_of_its_own_repeats_and_leaves_the_stream_alone():
    before = generator_state.asnumpy().copy()
    np.testing.assert_array_equal(ops.uniform((3,), 0, 1, seed=4).asnumpy(), ops.uniform((3,), 0, 1, seed=4).asnumpy())
    np.testing.assert_array_equal(generator_state.asnumpy(), before)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_fill_zero_to_one_and_stay_below_one(dtype):
    set_seed(0)
    x = ops.rand(20000, dtype=dtype).asnumpy().astype(np.float64)
    assert 0 <= x.min() < 0.01 and 0.99 < x.max() < 1
    np.testing.assert_allclose([x.mean(), x.var()], [0.5, 1 / 12], atol=0.01)
    np.testing.assert_allclose(np.histogram(x, 8, (0, 1))[0] / 2500, 1, atol=0.1)


def test_normal_numbers_have_the_moments_that_were_asked_for():
    set_seed(1)
    x = ops.normal((40000,), 3.0, 2.0).asnumpy()
    np.testing.assert_allclose([x.mean(), x.std()], [3, 2], atol=0.05)
    z = (x - 3) / 2
    np.testing.assert_allclose([(z ** 3).mean(), (z ** 4).mean()], [0, 3], atol=0.15)
    assert ops.normal((3, 1, 2), Tensor(np.zeros((2, 2), np.float32)), 1.0).shape == (3, 2, 2)


def test_integers_are_spread_over_their_range():
    set_seed(2)
    x = ops.randint(-2, 3, (5000,)).asnumpy()
    assert x.dtype == np.int64
    np.testing.assert_allclose(np.bincount(x + 2) / 1000, 1, atol=0.15)
    with pytest.raises(ValueRangeError):
        ops.randint(3, 3, (1,))


def test_dropout_keeps_the_mean_and_only_when_training():
    set_seed(3)
    x = Tensor(np.ones(20000, np.float32))
    out = ops.dropout(x, 0.25).asnumpy()
    assert set(np.unique(out)) == {0, np.float32(1 / 0.75)}
    np.testing.assert_allclose(out.mean(), 1, atol=0.02)
    assert ops.dropout(x, 0.25, training=False) is x and ops.dropout(x, 1.0).asnumpy().max() == 0
    with pytest.raises(ValueRangeError):
        ops.dropout(x, 1.5)


def test_bernoulli_takes_a_probability_for_each_element():
    p = np.array([0.0, 1.0, 0.5] * 1000, np.float32)
    x = ops.bernoulli(Tensor(p), Tensor(p)).asnumpy().reshape(-1, 3)
    assert x[:, 0].max() == 0 and x[:, 1].min() == 1
    np.testing.assert_allclose(x[:, 2].mean(), 0.5, atol=0.06)


def test_a_permutation_has_every_number_once():
    set_seed(4)
    x = ops.randperm(100).asnumpy()
    assert sorted(x) == list(range(100)) and list(x) != sorted(x)
    rows = ops.shuffle(Tensor(np.arange(10.0).reshape(5, 2))).asnumpy()
    assert sorted(rows[:, 0]) == [0, 2, 4, 6, 8] and (rows[:, 1] - rows[:, 0] == 1).all()


def test_places_are_drawn_in_proportion_to_their_weights():
    set_seed(5)
    weights = np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 2.0]], np.float32)
    drawn = ops.multinomial(Tensor(weights), 4000).asnumpy()
    assert drawn.shape == (2, 4000) and (drawn[1] == 2).all()
    np.testing.assert_allclose(np.bincount(drawn[0], minlength=3) / 4000, [0.25, 0.75, 0], atol=0.03)
    once = ops.multinomial(Tensor(np.ones((50, 3), np.float32)), 3, replacement=False).asnumpy()
    np.testing.assert_array_equal(np.sort(once, -1), np.broadcast_to([0, 1, 2], (50, 3)))


def test_a_typed_graph_draws_the_eager_numbers():
    graph = typed(lambda state: random_uniform(state, shape=(3, 4), dtype=dt.float64), AbstractTensor(dt.int64, (2,)))
    state = np.array([9, 2])
    np.testing.assert_array_equal(run(graph, state)[0], random_uniform(state, shape=(3, 4), dtype=dt.float64).asnumpy())
    with pytest.raises(ShapeError):
        random_uniform(np.array([1, 2, 3]), shape=(2,), dtype=dt.float32)


# ---------------------------------------------------------------- other effects

def test_assign_writes_into_the_memory_of_the_variable():
    weight = Parameter(np.zeros((2, 2), np.float32), name="w")
    memory = weight.asnumpy()
    out = ops.assign(weight, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(memory, [[1, 2], [3, 4]])
    assert out is weight
    ops.assign_add(weight, weight)
    ops.assign_sub(weight, 1.0 * np.ones((2, 2)))
    np.testing.assert_array_equal(memory, [[1, 3], [5, 7]])
    with pytest.raises(ShapeError):
        ops.assign(weight, np.zeros(3))


def test_printing_shows_values_in_order(capsys):
    ops.print_("a", 2, Tensor(np.array([1, 2])), None)
    assert capsys.readouterr().out == f"a 2 {Tensor(np.array([1, 2]))} None\n"
    graph = typed(lambda x: (print_values(x, pieces=("x is", None)), x)[1], AbstractTensor(dt.int64, ()))
    run(graph, np.int64(7))
    assert capsys.readouterr().out == "x is 7\n"


def test_sizes_and_markers():
    x = Tensor(np.ones((2, 3)))
    assert (ops.shape(x), ops.rank(x), ops.size(x)) == ((2, 3), 2, 6)
    assert ops.depend(x, 1) is x
    np.testing.assert_array_equal(ops.identity(x).asnumpy(), ops.stop_gradient(x).asnumpy())


# ---------------------------------------------------------------- optimisers' steps

def test_adams_first_step_is_the_rate_in_the_direction_of_the_gradient():
    p, g = np.array([1.0, 2.0]), np.array([0.3, -4.0])
    out, m, v = ops.adam_update(Tensor(p), Tensor(p * 0), Tensor(p * 0), Tensor(g), 0.1, 0.9, 0.999, epsilon=0.0)
    np.testing.assert_allclose(out.asnumpy(), p - 0.1 * np.sign(g))
    np.testing.assert_allclose(m.asnumpy(), 0.1 * g)
    np.testing.assert_allclose(v.asnumpy(), 0.001 * g * g)


def test_momentum_and_nesterov_are_their_formulas():
    p, a, g = (np.array([x]) for x in (1.0, 0.5, 2.0))
    accum = 0.5 * 0.9 + 2
    for nesterov, want in ((False, 1 - 0.1 * accum), (True, 1 - 0.1 * (2 + 0.9 * accum))):
        out, made = ops.momentum_update(Tensor(p), Tensor(a), Tensor(g), 0.1, 0.9, use_nesterov=nesterov)
        np.testing.assert_allclose([out.item(), made.item()], [want, accum])


def test_a_half_precision_parameter_keeps_its_dtype_and_its_state_single():
    p = Tensor(np.ones(2, np.float16))
    state = Tensor(np.zeros(2, np.float32))
    out, m, v = ops.adam_update(p, state, state, Tensor(np.ones(2, np.float16)), 0.1, 0.9, 0.99)
    assert (out.dtype, m.dtype, v.dtype) == (dt.float16, dt.float32, dt.float32)
    with pytest.raises(ShapeError):
        ops.adam_update(p, state, state, Tensor(np.ones(3)), 0.1, 0.9, 0.99)


def test_a_generator_is_a_stream_of_its_own_in_eager_mode_and_in_graphs():
    first, second = Generator().manual_seed(5), Generator().manual_seed(5)
    ms.set_seed(1)
    before = ops.rand(3).asnumpy()
    ms.set_seed(1)
    drawn = [ops.rand(4, seed=first).asnumpy(), ops.randn(3, seed=first).asnumpy(), ops.rand(2, seed=first).asnumpy()]
    np.testing.assert_array_equal(ops.rand(3).asnumpy(), before)
    uniform, normal = ms.jit(lambda: ops.rand(4, seed=second)), ms.jit(lambda: ops.randn(3, seed=second))
    np.testing.assert_array_equal(uniform().asnumpy(), drawn[0])
    np.testing.assert_allclose(normal().asnumpy(), drawn[1], rtol=1e-5)
    place = second.get_state()
    np.testing.assert_array_equal(ops.rand(2, seed=second).asnumpy(), drawn[2])
    second.set_state(place)
    np.testing.assert_array_equal(ops.rand(2, seed=second).asnumpy(), drawn[2])
    assert first.initial_seed() == 5 and len({first.seed(), first.seed()}) == 2
    with pytest.raises(ArgumentError, match="get_state gave"):
        first.set_state(3)
    with pytest.raises(ValueRangeError, match="outside"):
        first.manual_seed(-1)


def test_the_default_generator_is_the_seed_of_everything():
    default_generator.manual_seed(9)
    first = ops.rand(3).asnumpy()
    assert default_generator.initial_seed() == 9 and ms.get_seed() == 9
    ms.set_seed(9)
    state = default_generator.get_state()
    np.testing.assert_array_equal(ops.rand(3).asnumpy(), first)
    default_generator.set_state(state)
    np.testing.assert_array_equal(ops.rand(3).asnumpy(), first)


def test_a_generator_hands_out_places_of_its_stream_in_both_modes():
    eager, graph = Generator().manual_seed(3), Generator().manual_seed(3)
    hand_out = ms.jit(lambda n: graph._step(n), fullgraph=True)
    for steps in (4, 2, 1):
        assert [int(n) for n in eager._step(Tensor(steps))] == [int(n) for n in hand_out(Tensor(steps))]
    assert eager.get_state().tolist() == graph.get_state().tolist() == [3, 7]


def test_the_slope_of_a_gamma_quantile_is_that_of_scipy():
    a = np.array([0.1, 0.3, 1.0, 2.5, 40.0, 900.0])[:, None]
    level = np.array([0.001, 0.2, 0.5, 0.9, 0.9999])
    x = scipy_special.gammaincinv(a, level)
    step = 1e-5 * a
    expected = (scipy_special.gammaincinv(a + step, level) - scipy_special.gammaincinv(a - step, level)) / (2 * step)
    np.testing.assert_allclose(gamma_quantile_slope(Tensor(a), Tensor(x)).asnumpy(), expected, rtol=2e-5)


def test_gamma_numbers_move_with_their_parameter_in_every_mode():
    alpha = Tensor(np.array([0.4, 1.0, 6.0]))

    def drawn(alpha):
        return ops.random_gamma((5,), alpha, seed=3)
    x = drawn(alpha)
    slope = gamma_quantile_slope(alpha, x).asnumpy().sum(0)
    total = ms.grad(lambda alpha: drawn(alpha).sum())
    for slopes in (total, ms.jit(total, fullgraph=True)):
        np.testing.assert_allclose(slopes(alpha).asnumpy(), slope, rtol=1e-12)
    np.testing.assert_allclose(ms.jit(drawn, fullgraph=True)(alpha).asnumpy(), x.asnumpy())
    forward = ms.jvp(drawn, alpha, Tensor(np.ones(3)))[1].asnumpy()
    np.testing.assert_allclose(forward, gamma_quantile_slope(alpha, x).asnumpy())


def test_gamma_numbers_of_items_are_the_same_or_other_ones():
    alphas = Tensor(np.array([[0.5, 2.0], [0.5, 2.0]]))
    same = ms.vmap(lambda a: ops.random_gamma((4,), a))(alphas).asnumpy()
    assert same.shape == (2, 4, 2) and np.array_equal(same[0], same[1])
    for wrap in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        other = wrap(ms.vmap(lambda a: ops.random_gamma((4,), a), randomness="different"))(alphas).asnumpy()
        assert other.shape == (2, 4, 2) and not np.isclose(other[0], other[1]).any()
    assert np.isnan(ops.random_gamma((2,), Tensor([0.0, -1.0])).asnumpy()).all()
