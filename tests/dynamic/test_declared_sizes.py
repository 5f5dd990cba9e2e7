"""What is declared of sizes (Symbol, set_inputs, enable_dynamic, input_signature) is used, and is looked at in every call."""
import inspect

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.functional.cell import compiled_cell
from mindlite.ops.elimination import eliminated


class Net(nn.Cell):
    def construct(self, x):
        return ops.tanh(x) * 2


def x_of(*shape):
    return ms.Tensor(np.random.default_rng(3).normal(size=shape).astype(np.float32))


def net_of(*shape):
    net = Net()
    net.set_inputs(ms.Tensor(shape=shape, dtype=ms.float32))
    return net, compiled_cell(net)


def test_symbol_has_the_parameters_of_mindspore():
    names = list(inspect.signature(ms.Symbol).parameters)
    assert names == ["max", "min", "divisor", "remainder", "unique"]
    assert repr(ms.Symbol(32, divisor=8, unique=True)) == "Symbol(max=32, divisor=8, unique=True)"


def test_sizes_that_a_symbol_allows_are_one_compile_and_others_an_error():
    one, two = ms.Symbol(divisor=8, remainder=1), ms.Symbol(max=32, unique=True)
    net, function = net_of(None, one, one, two, two)
    for shape in ((1, 9, 17, 32, 32), (8, 25, 9, 30, 30)):
        assert function(x_of(*shape)).shape == shape
    assert len(function.variants) == 1
    for shape, error in (((1, 8, 9, 3, 3), ValueRangeError), ((1, 1, 9, 3, 3), ValueRangeError),
                         ((1, 9, 9, 33, 33), ValueRangeError), ((1, 9, 9, 3, 4), ShapeError)):
        with pytest.raises(error, match="declared"):
            function(x_of(*shape))
    assert len(function.variants) == 1


class Jitted(Net):
    @ms.jit
    def construct(self, x):
        return ops.tanh(x) * 2


@pytest.mark.parametrize("made", [Jitted, lambda: ms.jit(Net())], ids=["decorated construct", "jit of a Cell"])
def test_set_inputs_declares_the_sizes_of_a_construct_that_is_compiled_in_pynative_mode(made):
    net = made()
    assert net(x_of(9, 2)).shape == (9, 2)                       # before anything was declared
    net.set_inputs(ms.Tensor(shape=[ms.Symbol(max=4), 2], dtype=ms.float32))
    for rows in (1, 3, 4):
        assert net(x_of(rows, 2)).shape == (rows, 2)
    assert len(net.construct.variants) == 1
    with pytest.raises(ValueRangeError, match="a size is 9, and was declared as at least 1, at most 4"):
        net(x_of(9, 2))


def test_jit_of_a_cell_keeps_the_sizes_that_were_declared_before():
    net = Net()
    net.set_inputs(ms.Tensor(shape=[None, 2], dtype=ms.float32))
    net = ms.jit(net)
    for rows in (1, 3, 4):
        net(x_of(rows, 2))
    assert len(net.construct.variants) == 1


def test_a_symbol_that_is_not_unique_may_be_another_size_on_each_axis():
    size = ms.Symbol(min=2)
    net, function = net_of(size, size)
    assert function(x_of(3, 5)).shape == (3, 5) and function(x_of(4, 4)).shape == (4, 4)
    assert len(function.variants) == 1
    with pytest.raises(ValueRangeError, match="at least 2"):
        function(x_of(1, 5))


def test_a_divisor_proves_that_a_size_divides():
    """Without it, the same reshape is looked at when a variant is chosen."""
    found = []
    for size in (ms.Symbol(divisor=16), None):
        function = ms.jit(lambda x: x.reshape(-1, 16).sum(1), fullgraph=True,
                          input_signature=ms.Tensor(shape=[size], dtype=ms.float32)).compiled
        assert function(x_of(64)).shape == (4,)
        found.append(len(function.variants[0].plan.constraints))
    assert found[0] == 0 < found[1]


@pytest.mark.parametrize("wrong, error", [
    ({"max": 3.0}, ArgumentError), ({"unique": 1}, ArgumentError), ({"min": 0}, ValueRangeError),
    ({"divisor": 0}, ValueRangeError), ({"divisor": 4, "remainder": 4}, ValueRangeError)])
def test_a_symbol_of_no_size_is_refused(wrong, error):
    with pytest.raises(error):
        ms.Symbol(**wrong)


def test_enable_dynamic_declares_arguments_by_name():
    @ms.enable_dynamic(y=ms.Tensor(shape=(None, 3), dtype=ms.float32))
    @ms.jit(fullgraph=True)
    def added(x, y):
        return x + 1, y * 2
    for n in (4, 7, 1):
        assert added(x_of(2, 3), x_of(n, 3))[1].shape == (n, 3)
    assert len(added.variants) == 1


def test_enable_dynamic_without_a_shape_has_a_graph_for_each_rank():
    @ms.enable_dynamic(y=ms.Tensor(shape=None, dtype=ms.float32))
    @ms.jit(fullgraph=True)
    def doubled(y):
        return y * 2
    for shape in ((4, 3), (7, 2), (5,), (9,), (2, 3, 4), (1, 2, 5)):
        assert doubled(x_of(*shape)).shape == shape
    assert len(doubled.variants) == 3


def test_enable_dynamic_refuses_what_it_cannot_declare():
    placeholder = ms.Tensor(shape=(None,), dtype=ms.float32)
    with pytest.raises(ArgumentError, match="above @jit"):
        ms.enable_dynamic(x=placeholder)(lambda x: x)
    with pytest.raises(ArgumentError, match="no argument 'z'"):
        ms.enable_dynamic(z=placeholder)(ms.jit(lambda x: x))
    with pytest.raises(ArgumentError, match="declared by a Tensor"):
        ms.enable_dynamic(x=3)


def test_a_gradient_that_has_to_know_a_size_is_a_graph_for_each_size():
    function = ms.jit(ms.grad(lambda x: eliminated(x)[0].sum()), dynamic=1, fullgraph=True)
    for n in (2, 3, 2):
        x = x_of(n, n) + ops.eye(n)
        assert function(x).shape == (n, n)
    assert len(function.variants) == 2
