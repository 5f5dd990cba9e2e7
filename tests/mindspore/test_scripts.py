"""What scripts for MindSpore rely on, the same in both modes."""
import numpy as np
import pytest

import mindlite.mindspore as ms
from mindlite.common.config import config
from mindlite.common.errors import GradientError
from mindlite.mindspore import Tensor, ops


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = config.set(mode=config.mode, mindspore_rules=False)
    ms.set_context(mode=request.param)
    yield request.param
    config.set(**before)


class Anything:
    pass


class EqualToAll:
    def __eq__(self, other):
        return "mine"


@pytest.mark.parametrize("other", [[1, 2], (1, 2), [3], ["a"], {}, {1}, None, "a", Anything()], ids=repr)
def test_a_tensor_equals_no_container_and_no_other_object(other):
    def asked(x):
        return x == other, x != other, other == x, other != x
    x = Tensor([1, 2])
    assert asked(x) == ms.jit(asked)(x) == (False, True, False, True)


def test_a_list_made_in_a_graph_equals_no_tensor():
    def asked(x):
        return x == [x, x + 1], [x] != x, (x, 1).count("a"), [(2, 3), [1], "b", x].index(x)
    x = Tensor([1])
    assert asked(x) == ms.jit(asked)(x) == (False, True, 0, 3)


def test_what_a_users_class_says_of_equality_with_a_tensor_holds():
    def asked(x, other=EqualToAll()):
        return x == other
    assert asked(Tensor([1])) == ms.jit(asked)(Tensor([1])) == "mine"


def test_tensors_numbers_and_arrays_are_compared_element_by_element():
    def asked(x):
        return x == 1, x == np.array([1, 3]), x != Tensor([1, 2]), x == np.float32(2)
    for made in (asked(Tensor([1, 2])), ms.jit(asked)(Tensor([1, 2]))):
        assert [t.asnumpy().tolist() for t in made] == [[True, False]] * 2 + [[False, False], [False, True]]


@pytest.mark.parametrize("function", [lambda x: int(x), lambda x: (int(x), bool(x)), lambda x: x.asnumpy(), lambda x: None,
                                      lambda x: "a"], ids=["int", "tuple", "array", "None", "str"])
def test_what_gives_no_tensor_has_a_zero_gradient(mode, function):
    assert ms.grad(function)(Tensor(2.0)) == 0 and ops.GradOperation(get_all=True)(function)(Tensor(2.0)) == (0,)


def test_without_the_rules_of_mindspore_it_is_an_error():
    with pytest.raises(GradientError, match="gives int, which has no gradient"):
        ms.grad(lambda x: int(x))(Tensor(2.0))
