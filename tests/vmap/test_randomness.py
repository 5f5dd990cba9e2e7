"""Random numbers under vmap: the same for all items, different ones, or an error; alike in a graph and item by item."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.mindir.primitive import eager
from mindlite.ops.random import random_advance, random_integers, random_uniform


def item_by_item(f):
    def run(*args):
        with eager():
            return f(*args)
    return run


WAYS = [lambda f: f, ms.jit, item_by_item]


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def noisy(x):
    return x + ops.rand(4)


def rows(f, *args, seed=5):
    """f's result and the next number of the stream, in all ways, which must agree."""
    made = []
    for way in WAYS:
        ms.set_seed(seed)
        made.append((way(f)(*args).asnumpy(), float(ops.rand(1)[0])))
    for out, following in made[1:]:
        np.testing.assert_array_equal(out, made[0][0])
        assert following == made[0][1]
    return made[0][0]


def test_the_same_numbers_for_all_items_are_the_default():
    out = rows(ms.vmap(noisy), ones(3, 4))
    assert (out == out[0]).all() and len(np.unique(out)) == 4
    np.testing.assert_array_equal(out, rows(ms.vmap(noisy, randomness="same"), ones(3, 4)))


def test_different_numbers_are_a_stream_for_each_item():
    f = ms.vmap(noisy, randomness="different")
    assert len(np.unique(rows(f, ones(3, 4)))) == 12
    assert not (rows(f, ones(3, 4)) == rows(f, ones(3, 4), seed=6)).any()
    ms.set_seed(1)
    assert not (f(ones(3, 4)).asnumpy() == f(ones(3, 4)).asnumpy()).any()


def test_nested_maps_axes_and_unmapped_arguments():
    inner = ms.vmap(noisy, randomness="different")
    assert len(np.unique(rows(ms.vmap(inner, randomness="different"), ones(2, 3, 4)))) == 24
    out = rows(ms.vmap(inner), ones(2, 3, 4))
    assert (out[0] == out[1]).all() and len(np.unique(out)) == 12
    f = ms.vmap(lambda pair, w: noisy(pair[0]) * w + pair[1], in_axes=((1, None), None), out_axes=1, randomness="different")
    out = rows(f, (ones(4, 3), ones(4)), ones(4))
    assert out.shape == (4, 3) and len(np.unique(out)) == 12


def test_dropout_and_its_gradient_use_the_same_mask_in_each_item():
    dropout = nn.Dropout(p=0.5).set_train()
    values = rows(ms.vmap(lambda x: dropout(x), randomness="different"), ones(5, 16))
    slopes = rows(ms.vmap(ms.grad(lambda x: dropout(x).sum()), randomness="different"), ones(5, 16))
    np.testing.assert_array_equal(values, slopes)
    assert len({row.tobytes() for row in values}) == 5


def test_drawing_can_be_refused():
    for way in WAYS:
        with pytest.raises(ArgumentError, match="random numbers are drawn in the mapped function"):
            way(ms.vmap(noisy, randomness="error"))(ones(3, 4))
        with pytest.raises(ArgumentError, match="random numbers are drawn"):
            way(ms.vmap(noisy, randomness="error"))(ones(1, 4))
        np.testing.assert_array_equal(way(ms.vmap(lambda x: x * 2, randomness="error"))(ones(3, 4)).asnumpy(), 2)
    with pytest.raises(ValueRangeError, match="randomness is 'same', 'different' or 'error'"):
        ms.vmap(noisy, randomness="none")


@pytest.mark.parametrize("draw", [lambda s: random_uniform(s, shape=(3, 5), dtype=ms.float32),
                                  lambda s: random_uniform(s, shape=(), dtype=ms.float64),
                                  lambda s: random_integers(s, shape=(7,), low=-3, high=9, dtype=ms.int32),
                                  lambda s: random_advance(s, blocks=7)], ids=["f32", "f64", "int", "advance"])
def test_states_along_axes_draw_what_each_draws_alone(draw):
    states = np.random.default_rng(0).integers(0, 1 << 40, (2, 3, 2))
    out = draw(Tensor(states)).asnumpy()
    for place in np.ndindex(2, 3):
        np.testing.assert_array_equal(out[place], draw(Tensor(states[place])).asnumpy())
    np.testing.assert_array_equal(ms.jit(draw)(Tensor(states)).asnumpy(), out)
