"""The decorator jit: on functions, methods, Cells; what it gives can be looked into."""
import copy
import gc
import pickle
import types
import warnings
import weakref

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops, Tensor
from mindlite.common.errors import ArgumentError, GraphSyntaxError, ValueRangeError
from mindlite.compile.jit import FallbackWarning


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    @ms.jit
    def apply(self, x):
        """x times the factor."""
        return x * self.factor


@ms.jit
def module_level(x):
    return x + 1


class JittedNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2)

    @ms.jit
    def construct(self, x):
        return ops.relu(self.dense(x))


def test_with_and_without_arguments_it_is_a_decorator():
    @ms.jit
    def plain(x):
        """doc"""
        return x * 2

    @ms.jit(fullgraph=True, dynamic=1, jit_level="O0")
    def dressed(x):
        return x * 2
    assert plain(ones(2)).tolist() == dressed(ones(2)).tolist() == [2, 2]
    assert plain.__name__ == "plain" and plain.__doc__ == "doc" and plain.__wrapped__(ones(1)).tolist() == [2]
    dressed(ones(5))
    assert len(dressed.variants) == 1
    assert ms.jit(plain)(ones(2)).tolist() == [2, 2]


def test_methods_have_a_compiled_form_for_each_instance():
    a, b = Scaled(3.0), Scaled(4.0)
    assert a.apply(ones(1)).tolist() == [3] and b.apply(ones(1)).tolist() == [4]
    assert a.apply is a.apply and a.apply is not b.apply and a.apply.__doc__ == "x times the factor."
    a.factor = 5.0
    assert a.apply(ones(1)).tolist() == [5]
    assert isinstance(Scaled.apply, type(module_level))


def test_an_instance_is_not_kept_alive_by_its_compiled_methods():
    a = Scaled(2.0)
    a.apply(ones(1))
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_copies_and_pickles_of_an_instance_compile_for_themselves():
    net, x = JittedNet(), ones(1, 3)
    net(x)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(twin(x).asnumpy(), net(x).asnumpy())
        twin.dense.weight.set_data(ones(2, 3) * 0)
        twin.dense.bias.set_data(ones(2))
        np.testing.assert_array_equal(twin(x).asnumpy(), [[1, 1]])
    assert pickle.loads(pickle.dumps(module_level)) is module_level


def test_a_cell_and_a_class_of_cells_come_back_themselves():
    net, x = nn.Dense(3, 2), ones(1, 3)
    want = net(x).asnumpy()
    assert ms.jit(net) is net
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-6)
    assert len(net.construct.variants) == 1

    class Twice(nn.Cell):
        def construct(self, x):
            return x * 2
    assert ms.jit(Twice) is Twice
    made = Twice()
    assert made(x).tolist() == [[2, 2, 2]] and len(made.construct.variants) == 1


def test_inside_another_graph_it_is_inlined():
    @ms.jit
    def inner(x):
        return x * 3

    @ms.jit
    def outer(x):
        return inner(x) + module_level(x) + Scaled(2.0).apply(x)
    assert outer(ones(2)).tolist() == [7, 7]
    assert inner.variants == []


def test_a_function_made_inside_a_graph_may_be_jitted_there():
    def f(x):
        @ms.jit
        def inner(z):
            return z * x
        return inner(x)
    x = ones(2) * 3
    assert ms.jit(f)(x).tolist() == f(x).tolist() == [9, 9]


def test_one_can_look_inside():
    @ms.jit
    def f(x):
        return ops.tanh(x) * 2
    with pytest.raises(ArgumentError, match="has not been called yet"):
        f.graph()
    f(ones(4))
    assert "tanh" in [node.fn.name for node in f.graph("infer").nodes]
    assert len(f.kernels()) == 1 and "define" in f.source() and "f32[4]" in f.explain()
    assert repr(f).startswith("<jit ") and f.graph("parse") is not None
    with pytest.raises(ArgumentError, match="no stage"):
        f.graph("nowhere")


def test_a_fallback_is_an_error_under_fullgraph():
    def f(x):
        return x * 2 + len(np.sort(x.asnumpy()))
    assert ms.jit(f)(ones(2)).tolist() == [4, 4]
    with pytest.raises(GraphSyntaxError):
        ms.jit(f, fullgraph=True)(ones(2))
    with pytest.raises(GraphSyntaxError):
        ms.jit(f, jit_config=ms.JitConfig(jit_syntax_level="STRICT"))(ones(2))


def test_declared_arguments_have_open_sizes():
    @ms.jit(input_signature=Tensor(shape=[None, 2], dtype=ms.float32))
    def f(x):
        return x.sum(0)
    for n in (3, 5, 1):
        assert f(ones(n, 2)).tolist() == [n, n]
    assert len(f.variants) == 1


@pytest.mark.parametrize("arguments, error", [
    ({"jit_level": "O9"}, ValueRangeError), ({"dynamic": 2}, ValueRangeError), ({"mode": "Fast"}, ValueRangeError),
    ({"capture_mode": "none"}, ValueRangeError)])
def test_wrong_settings_are_refused(arguments, error):
    with pytest.raises(error):
        ms.jit(lambda x: x, **arguments)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ArgumentError, match="jit: takes a function"):
        ms.jit(5)
    with pytest.raises(ArgumentError, match="jit_class: takes a class"):
        ms.jit_class(5)


def test_objects_of_a_jit_class_are_used_inside_graphs():
    @ms.jit_class
    class Line:
        def __init__(self, slope, offset):
            self.slope, self.offset = slope, offset

        def at(self, x):
            return x * self.slope + self.offset

    line = Line(2.0, 1.0)
    assert ms.jit(lambda x: line.at(x))(ones(2)).tolist() == [3, 3]


def test_gradients_of_a_jitted_function_follow_numbers_that_vary():
    holder = types.SimpleNamespace(k=1.0)
    f = ms.jit(lambda x, n, y: (x * n * holder.k * y).sum())
    x = Tensor(np.ones(3, np.float32))
    for n, k in ((1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (3.0, 2.0), (4.0, 3.0), (5.0, 4.0)):
        holder.k = k
        dx, dy = ms.grad(f, (0, 2))(x, n, x)
        assert dx.asnumpy().tolist() == dy.asnumpy().tolist() == [n * k] * 3 and float(f(x, n, x)) == 3 * n * k


@pytest.mark.parametrize("f", [ops.leaky_relu, ops.hardshrink, ops.softplus, ops.elu,
                               lambda x, t: ops.layer_norm(x, (3,), None, None, t),
                               lambda x, t: ops.leaky_relu(x, t.item())],
                         ids=["leaky_relu", "hardshrink", "softplus", "elu", "layer_norm", "item"])
def test_an_option_of_an_operator_that_the_run_decides_is_left_to_python(f):
    x, jitted = Tensor([1.0, -2.0, 3.0]), ms.jit(lambda x, t: f(x, t) * 2)
    for number in (0.5, 1.5):
        t = Tensor(number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            np.testing.assert_allclose(jitted(x, t).asnumpy(), (f(x, t) * 2).asnumpy(), rtol=1e-6)
            np.testing.assert_allclose(ms.jit(ms.grad(lambda x, t: f(x, t).sum()))(x, t).asnumpy(),
                                       ms.grad(lambda x, t: f(x, t).sum())(x, t).asnumpy(), rtol=1e-6)
    with pytest.raises(GraphSyntaxError, match="known at run time only"):
        ms.jit(f, fullgraph=True)(x, Tensor(0.5))


def test_what_pad_fills_with_may_be_known_at_run_time_only():
    def padded(x, t):
        return ops.pad(x, (1, 1), "constant", t)
    x, jitted = Tensor([1.0, -2.0]), ms.jit(padded, fullgraph=True)
    for number in (0.5, 1.5):
        assert jitted(x, Tensor(number)).asnumpy().tolist() == [number, 1.0, -2.0, number]
        for call in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
            dx, dt = call(ms.grad(lambda x, t: padded(x, t).sum(), (0, 1)))(x, Tensor(number))
            assert dx.asnumpy().tolist() == [1.0, 1.0] and float(dt) == 2.0


def test_a_complex_number_fills_a_tensor_in_a_graph_too():
    f = ms.jit(lambda x: ops.full_like(x, 1j) * x)
    np.testing.assert_array_equal(f(Tensor(np.ones(3, complex))).asnumpy(), np.full(3, 1j))
