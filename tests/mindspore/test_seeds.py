"""Seeds as MindSpore means them: a seed begins a stream, and each draw takes its next numbers, in both modes."""
import numpy as np
import pytest

import mindlite
from mindlite import Tensor, mindspore as ms, nn
from mindlite.mindspore import ops
from mindlite.mindspore.seeded import NAMES
from mindlite.ops import operations as P

ONES, TWO = Tensor(np.ones(40, np.float32)), Tensor(2.0, mindlite.float32)
ARGUMENTS = {"choice_with_mask": (Tensor(np.ones((9, 9), bool)), 5), "dropout": (ONES,),
             "gamma": ((9,), TWO, TWO), "laplace": ((9,), TWO, TWO), "multinomial": (ONES, 9), "normal": ((9,), TWO, TWO),
             "poisson": ((9,), TWO * 50), "rand": (9,), "rand_like": (ONES,), "randint": (0, 999, (9,)), "randn": (9,),
             "random_gamma": ((9,), TWO), "random_poisson": ((9,), TWO * 50), "shuffle": (Tensor(np.arange(40)),),
             "standard_laplace": ((9,),), "standard_normal": ((9,),), "uniform": ((9,), TWO, TWO * 2)}
CLASSES = {"StandardNormal": lambda o: o((9,)), "UniformReal": lambda o: o((9,)), "StandardLaplace": lambda o: o((9,)),
           "RandomShuffle": lambda o: o(Tensor(np.arange(40))), "TruncatedNormal": lambda o: o(Tensor([9]))}


def first(values):
    return (values[0] if isinstance(values, tuple) else values).asnumpy()


@pytest.mark.parametrize("name", NAMES)
def test_the_second_draw_of_a_seed_is_another_and_set_seed_begins_again(name):
    def draw():
        return getattr(ops, name)(*ARGUMENTS[name], seed=5)
    ms.set_seed(1)
    a, b = first(draw()), first(draw())
    assert (a != b).any()
    ms.set_seed(1)
    np.testing.assert_allclose(first(ms.jit(draw, fullgraph=True)()), a, rtol=1e-5)
    np.testing.assert_allclose(first(draw()), b, rtol=1e-5)


def test_a_seed_by_position_begins_a_stream_too():
    a, b = ops.standard_normal((9,), 5), ops.standard_normal((9,), 5)
    assert (a.asnumpy() != b.asnumpy()).any()


@pytest.mark.parametrize("name", CLASSES)
def test_an_object_of_a_seed_goes_on_and_another_object_begins_again(name):
    draw, drawn = CLASSES[name], getattr(P, name)(seed=3, seed2=4)
    a, b = draw(drawn).asnumpy(), draw(drawn).asnumpy()
    assert (a != b).any()
    np.testing.assert_array_equal(draw(getattr(P, name)(seed=3, seed2=4)).asnumpy(), a)


def test_dropout_of_a_seed_drops_other_elements_in_each_step_in_both_modes():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.drop = P.Dropout(0.5, Seed0=3, Seed1=4)

        def construct(self, x):
            return self.drop(x)[0]
    eager, graph = Net(), ms.jit(Net(), fullgraph=True)
    steps = [eager(ONES).asnumpy() for _ in range(3)]
    assert (steps[0] != steps[1]).any() and (steps[1] != steps[2]).any()
    for step in steps:
        np.testing.assert_array_equal(graph(ONES).asnumpy(), step)


LOGITS = Tensor(np.linspace(0, 1, 20, dtype=np.float32).reshape(2, 10))


def pattern(draws):
    """The number of each draw's first equal."""
    draws = [draw.asnumpy().tolist() for draw in draws]
    return [draws.index(draw) for draw in draws]


@pytest.mark.parametrize("jit", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_a_seed_of_random_categoricals_call_begins_a_stream_of_its_object(jit):
    one, other = P.RandomCategorical(), P.RandomCategorical()
    draws = {(o, seed): jit(lambda x, o=o, seed=seed: o(x, 8, seed)) for o in (one, other) for seed in (7, 9)}
    assert pattern([draws[one, seed](LOGITS) for seed in (7, 7, 9, 7)]) == [0, 1, 2, 3]
    first = draws[other, 7](LOGITS)
    assert pattern([P.RandomCategorical()(LOGITS, 8, 7), first, draws[other, 7](LOGITS)]) == [0, 0, 2]


def test_multinomial_with_replacement_goes_on_until_another_seed_is_given():
    drawn = P.MultinomialWithReplacement(16, True)
    seeds = [(7, 0), (7, 0), (7, 1), (9, 0), (7, 0)]
    assert pattern([drawn(LOGITS, Tensor(seed), Tensor(offset)) for seed, offset in seeds]) == [0, 1, 2, 3, 0]


def test_bernoulli_repeats_the_numbers_of_a_seed():
    half = Tensor(np.full(64, 0.5, np.float32))
    assert pattern([ops.bernoulli(half, 0.5, seed) for seed in (7, 7, 8, None, None)]) == [0, 0, 2, 3, 4]
    seeded, free = P.Bernoulli(seed=7), P.Bernoulli()
    assert pattern([o(half, Tensor(0.5)) for o in (seeded, seeded, free, free)]) == [0, 0, 2, 3]


def test_no_dtype_is_the_default_dtype():
    assert ops.rand(2, dtype=None).dtype == ops.randn(2, dtype=None).dtype == mindlite.float32
    assert ops.randint(0, 9, (2,), dtype=None).dtype == mindlite.int64
    assert ops.randn_like(Tensor([1, 2])).dtype == mindlite.float32
