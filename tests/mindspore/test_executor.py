"""MindSpore's `_pynative_executor`: recordings that a program begins and ends itself, as mindnlp's training does."""
import numpy as np
import pytest

import mindlite.mindspore as ms
from mindlite.common.errors import ArgumentError
from mindlite.mindspore import Parameter, Tensor, ops
from mindlite.mindspore.common.api import _pynative_executor as executor

w, b, unused = (Parameter(Tensor(np.full(3, value, np.float32)), name=name)
                for value, name in ((2, "w"), (1, "b"), (0, "unused")))
x = Tensor(np.array([1, 2, 3], np.float32))


def f(x):
    return (w * x * x + b).sum()


def recorded(function, *args):
    executor.set_grad_flag(True)
    executor.new_graph(function, *args)
    value = function(*args)
    executor.end_graph(function, value, *args)
    return value


def gradient(function, operation, weights, *args, has_aux=False):
    return executor.grad(function, operation, weights, None, has_aux, *args)


def values(result):
    return [array.tolist() for array in _flat(result)]


def _flat(result):
    return [t for part in result for t in _flat(part)] if isinstance(result, (tuple, list)) else [result.asnumpy()]


@pytest.mark.parametrize("flags, weights, more", [
    ((False, True), (w, b, unused), ()), ((False, True), None, ()), ((False, True), w, ()), ((True,), None, ()), ((), None, ()),
    ((True, True), [w], ()), ((False, False, True), None, (Tensor(3.0),))])
def test_what_was_recorded_has_the_gradients_of_the_function(flags, weights, more):
    operation = ops.GradOperation(*flags)
    recorded(f, x)
    got = gradient(f, operation, weights, x, *more)
    assert values(got) == values(operation(f, weights)(x, *more)) == values(executor())


def test_only_the_first_result_counts_with_has_aux():
    def both(x):
        return f(x), x * 7
    recorded(both, x)
    assert values(gradient(both, ops.GradOperation(), None, x, has_aux=True)) == [[4, 8, 12]]


def test_a_recording_stands_in_another_one():
    def inner(x):
        recorded(f, x)
        return gradient(f, ops.GradOperation(), None, x).sum()
    assert values(ms.grad(inner)(x)) == [[4, 4, 4]]
    recorded(inner, x)
    assert values(gradient(inner, ops.GradOperation(), None, x)) == [[4, 4, 4]]


def test_an_exception_leaves_a_recording_that_the_next_one_drops():
    def fails(x):
        raise ValueError("no")
    with pytest.raises(ValueError):
        recorded(fails, x)
    assert executor.requires_grad()
    executor.new_graph(fails, x)
    executor.end_graph(fails, w * x, x)
    assert not executor.requires_grad()
    assert values(gradient(fails, ops.GradOperation(), None, x)) == [[2, 2, 2]]
    executor.new_graph(fails, x)
    executor.clear_res()
    assert not executor.requires_grad()


def test_nothing_recorded_is_an_error():
    executor.clear_res()
    with pytest.raises(ArgumentError, match="no recording is open"):
        executor.end_graph(f, x)
    with pytest.raises(ArgumentError, match="nothing was recorded"):
        gradient(f, ops.GradOperation(), None, x)


def test_arguments_forget_recordings_that_are_over():
    y = Tensor(np.ones(3, np.float32))
    for _ in range(5):
        recorded(f, y)
    assert len(y.tape) == 2


def test_training_by_recordings():
    """The loop of mindnlp's trainer: gradients are added up in an attribute of each Parameter."""
    target, rate = Tensor(np.array([1, 4, 9], np.float32)), 0.005
    weight = Parameter(Tensor(np.zeros(3, np.float32)), name="weight")

    def forward(x):
        return ((weight * x - target) ** 2).sum(), weight * 1
    losses = []
    for _ in range(40):
        loss, _ = recorded(forward, x)
        losses.append(float(loss))
        weight.grad, = gradient(forward, ops.GradOperation(False, True), (weight,), x, has_aux=True)
        weight.set_data(weight - rate * weight.grad)
    assert losses[-1] < 0.2 * losses[0]


class Weight(Tensor):
    """A class of Parameters of the program's, as mindnlp has one."""

    def __init__(self, data):
        super().__init__(data)
        self.requires_grad = True


def test_weights_of_a_class_of_the_programs_have_gradients():
    weight, operation = Weight(np.ones(3, np.float32)), ops.GradOperation(False, True)

    def product(x):
        return (weight * x).sum()
    for weights in ((weight,), None):
        recorded(product, x)
        assert values(executor.grad(product, operation, weights, None, x)) == [[1, 2, 3]]            # before there was has_aux
    weight.requires_grad = False
    recorded(product, x)
    assert values(gradient(product, operation, (weight,), x)) == [[0, 0, 0]]
    recorded(product, x)
    with pytest.raises(ArgumentError, match="weights holds Parameters"):
        gradient(product, operation, (x,), x)
