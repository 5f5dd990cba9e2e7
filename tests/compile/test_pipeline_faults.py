"""A fault of the compiler is told as one; it is not taken for something that a graph cannot say."""
import pytest

import mindlite as ms
from mindlite.common.errors import InternalError
from mindlite.compile import pipeline


@pytest.mark.parametrize("stage", ["derive_graph", "optimise", "cluster", "lower"])
def test_an_exception_of_a_stage_in_which_no_user_code_runs_is_an_internal_error(stage, monkeypatch):
    def broken(*args, **kwargs):
        raise NameError("name 'x' is not defined")
    monkeypatch.setattr(pipeline, stage, broken)
    with pytest.raises(InternalError, match="NameError: .*a fault of mindlite"):
        ms.jit(double)(ms.Tensor([1.0, 2.0]))


def double(x):
    return x + x
