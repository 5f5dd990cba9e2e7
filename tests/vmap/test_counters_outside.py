"""A number outside of the mapped function that it changes: once for a call, whatever is mapped."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor


class Counter:
    n = 0


@pytest.mark.parametrize("of", [ms.vmap, lambda f: ms.vmap(ms.grad(f)), lambda f: ms.jit(ms.vmap(f), fullgraph=True)],
                         ids=["vmap", "of grad", "graph"])
def test_a_counter_outside_of_a_mapped_function_counts_its_calls(of):
    counter, calls = Counter(), 0

    def attribute(v):
        counter.n += 1
        return v * 2

    def variable(v):
        nonlocal calls
        calls += 1
        return v * 2
    for function in attribute, variable:
        mapped = of(function)
        for _ in range(3):
            mapped(Tensor(np.ones(5)))
    assert counter.n == calls == 3
