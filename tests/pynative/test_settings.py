"""A setting of an operator (an attribute) may be given as a Tensor of one number in eager mode: each call reads it. A gradient
with respect to it is refused in words, as it would be zero; in a graph it is a number that must be known."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.pynative.interpreter import _signatures

X = np.linspace(-2, 2, 7).astype(np.float32)
CASES = {
    "leaky_relu": (lambda x, s: ops.leaky_relu(x, s), 0.5, 0.25),
    "elu": (lambda x, s: ops.elu(x, s), 0.5, 0.25),
    "softplus": (lambda x, s: ops.softplus(x, threshold=s), 1.0, 0.5),
    "layer norm": (lambda x, s: ms.mint.nn.functional.layer_norm(x, (7,), None, None, s), 0.5, 0.25),
}


@pytest.mark.parametrize("name", CASES)
def test_each_call_reads_the_tensor_with_gradients_too(name):
    function, first, second = CASES[name]
    setting, x = Tensor(np.float32(first)), Tensor(X)

    def both(s):
        return [*ms.value_and_grad(lambda x: function(x, s).sum())(x), function(x, s)]
    for _ in range(40):
        for number in (first, second):
            setting[...] = number
            for made, wanted in zip(both(setting), both(number)):
                np.testing.assert_allclose(made.asnumpy(), wanted.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
@pytest.mark.python_runs("the call whose setting a graph cannot leave open")
@pytest.mark.filterwarnings("ignore")
def test_a_gradient_with_respect_to_a_setting_is_refused_and_none_is_zero_without_a_word(name, way):
    function, number, _ = CASES[name]
    gradient = way(ms.grad(lambda s: function(Tensor(X), s).sum()))
    for _ in range(3):
        with pytest.raises(TypeError, match="is a setting, which has no gradient|known at run time only"):
            gradient(Tensor(np.float32(number)))
    assert function(Tensor(X), Tensor(np.float32(number))).shape == (7,)


def test_whole_numbers_and_detached_tensors_are_settings_under_a_gradient():
    def function(x, s):
        return ops.softplus(x, threshold=s).sum() + ops.leaky_relu(x, ops.stop_gradient(x[0] * 0 + 0.5)).sum()
    gradient = ms.grad(function)
    assert gradient(Tensor(X), Tensor(3)).shape == (7,)


def test_other_tensors_are_no_settings():
    with pytest.raises(TypeError, match=r"'alpha' is one number, not a Tensor of shape \(2,\)"):
        ops.leaky_relu(Tensor(X), Tensor([0.5, 0.25]))


def test_tensors_are_not_kept_by_their_signatures():
    ops.leaky_relu(Tensor(X), 0.375)
    before = len(_signatures)
    for _ in range(5):
        ops.leaky_relu(Tensor(X), Tensor(np.float32(0.375)))
    assert len(_signatures) == before


@pytest.mark.parametrize("fullgraph", [False, True])
def test_numbers_put_into_a_tensor_of_bools_are_true_or_false(fullgraph):
    def put(x, index):
        return ms.mint.scatter(x, 0, index, 2.5), ms.mint.scatter(x, 0, index, 0)
    x, index = Tensor([False, True]), Tensor([0])
    for run in (put, ms.jit(put, fullgraph=fullgraph)):
        assert [out.asnumpy().tolist() for out in run(x, index)] == [[True, True], [False, True]]
