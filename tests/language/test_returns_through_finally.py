"""A return whose expression Python computes leaves `try` and `with` as any other: `finally` and `__exit__` come before it."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor


class Log:
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, kind, value, traceback):
        self.n += 10


log = Log()


def in_a_try(x, k):
    try:
        return x + len(str(k * 2))
    finally:
        log.n += 1


def in_a_handler(x, k):
    try:
        if k % 3 == 1:
            raise ValueError(f"k={k}")
    except ValueError as error:
        return x + len(str(error))
    finally:
        log.n += 1
    return x


def in_a_with(x, k):
    with log:
        return x + len(str(k * 2))


def in_a_loop(x, k):
    for n in range(3):
        try:
            if n == k:
                return x + len(str(k * 2))
        finally:
            log.n += 1
    return x


def that_is_overruled(x, k):
    try:
        return x + len(str(k * 2))
    finally:
        log.n += 1
        if k > 2:
            return x


@pytest.mark.parametrize("function", [in_a_try, in_a_handler, in_a_with, in_a_loop, that_is_overruled],
                         ids=lambda function: function.__name__)
def test_a_return_of_what_python_computes(function):
    found = []
    for run in function, ms.jit(function):
        log.n = 0
        found.append([(repr(run(Tensor(np.array([1.0, 2.0])), k)), log.n) for k in (0, 0, 1, 1, 4, 0, 2)])
    assert found[1] == found[0]
