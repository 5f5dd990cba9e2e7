"""Derivatives by lists and dicts that stand outside of the function: what they hold when the derivative is taken."""
import numpy as np
import pytest

import mindlite as ms


def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()


@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_a_list_or_dict_of_the_module_has_gradients_in_its_own_structure_and_is_read_anew(way):
    a, b = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])
    pair, table = [a, b], {"a": a, "b": [b]}
    gradients = way(lambda: (ms.grad(lambda z: (z[0] * z[1]).sum())(pair),
                             ms.grad(lambda d: (d["a"] * d["b"][0]).sum())(table)))
    assert plain(gradients()) == [[[3, 4], [1, 2]], {"a": [3, 4], "b": [[1, 2]]}]
    pair[0] = ms.Tensor([5.0, 6.0])
    assert plain(gradients()[0]) == [[3, 4], [5, 6]]
    pair.append(a)
    assert plain(gradients()[0]) == [[3, 4], [5, 6], [0, 0]]


@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_the_gradient_has_the_structure_that_the_argument_had_before_the_function_changed_it(way):
    def longer(values):
        values.append(1.0)
        return (values[0] ** 2).sum()
    kept = [ms.Tensor([1.0, 2.0])]
    assert plain(way(lambda: ms.grad(longer)(kept))()) == [[2, 4]]
    assert plain(way(lambda x: ms.grad(longer)([x]))(kept[0])) == [[2, 4]]
