"""Two paths may leave Tensors of other types or ranks: Python knows no rule against it."""
import pytest

import mindlite as ms
from mindlite import Tensor, ops


def other_dtype(x):
    if x > 0:
        return x.astype(ms.int32)
    return x


def other_rank(x):
    if x > 0:
        y = x.reshape((1,))
    else:
        y = x
    return y * 2


def more_and_more(x):
    for _ in range(3):
        if x.sum() > 2:
            x = ops.stack([x, x])
    return x


def by_and(x):
    return x and Tensor([2.0, 3.0]).sum().astype(ms.int64)


@pytest.mark.filterwarnings("ignore::mindlite.compile.jit.FallbackWarning")
@pytest.mark.parametrize("function", [other_dtype, other_rank, more_and_more, by_and], ids=lambda f: f.__name__)
def test_a_function_may_give_other_types_by_its_data(function):
    jitted = ms.jit(function)
    for value in (1.0, -1.0, 5.0, 0.0):
        seen, expected = jitted(Tensor(value)), function(Tensor(value))
        assert repr(seen) == repr(expected)


@pytest.mark.parametrize("function", [other_dtype, other_rank, by_and], ids=lambda f: f.__name__)
def test_a_full_graph_says_what_does_not_fit(function):
    with pytest.raises(ms.common.errors.GraphSyntaxError, match="on one path and .* on another"):
        ms.jit(function, fullgraph=True)(Tensor(1.0))
