"""Loss and every parameter's gradient: graph mode, PyNative mode and an independent computation agree."""
import functools

import numpy as np
import pytest
from networks import CASES, FLOATS
from reference import loss_and_gradients

import mindlite as ms
from mindlite import nn

TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_float = pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)


@functools.lru_cache(maxsize=None)
def expected(case, dtype):
    """(loss, {name: gradient}) by the reference."""
    net, weights, x, labels = case.make(dtype)
    return loss_and_gradients(case.reference, {w.name: w.asnumpy() for w in weights}, x.asnumpy(), labels.asnumpy())


def check(case, dtype, weights, loss, grads):
    """Compare with the reference; a gradient's error counts against its largest element."""
    wanted_loss, wanted = expected(case, dtype)
    tolerance = TOLERANCE[dtype.name]
    assert sorted(wanted) == sorted(w.name for w in weights) and len(grads) == len(weights)
    assert loss.dtype == dtype and abs(float(loss) - wanted_loss) <= tolerance * abs(wanted_loss)
    for weight, grad in zip(weights, grads):
        want = wanted[weight.name]
        assert grad.shape == weight.shape and grad.dtype == dtype
        error, norm = np.abs(grad.asnumpy() - want).max(), np.abs(want).max()
        assert norm > 0 and error <= tolerance * norm, f"{weight.name}: {error} of {norm}"


def loss_of(net):
    """(x, labels) -> the mean cross entropy."""
    criterion = nn.CrossEntropyLoss()
    return lambda x, labels: criterion(net(x), labels)


@every_float
@every_case
def test_graph_mode_has_the_gradients_of_the_formulas(case, dtype):
    net, weights, x, labels = case.make(dtype)
    step = ms.jit(ms.value_and_grad(loss_of(net), None, weights), fullgraph=True)
    for _ in range(2):
        check(case, dtype, weights, *step(x, labels))
    assert len(step.variants) == 1


@every_float
@every_case
def test_pynative_mode_has_the_gradients_of_the_formulas(case, dtype):
    net, weights, x, labels = case.make(dtype)
    step = ms.value_and_grad(loss_of(net), None, weights)
    for _ in range(3):                                      # by operators, then by the compiled tape, made and used
        check(case, dtype, weights, *step(x, labels))


@every_case
def test_a_jitted_forward_inside_an_eager_gradient_has_the_same_gradients(case):
    dtype = FLOATS[0]
    net, weights, x, labels = case.make(dtype)
    step = ms.value_and_grad(ms.jit(loss_of(net)), None, weights)
    for _ in range(2):
        check(case, dtype, weights, *step(x, labels))
