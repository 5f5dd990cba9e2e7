"""A fault of the compiler is told as one; it is not taken for something that a graph cannot say."""
import pytest

import mindlite as ms
from mindlite.common.errors import InternalError
from mindlite.compile import passes, pipeline


@pytest.mark.parametrize("module, stage", [(passes, "derive_graph"), (passes, "optimise"), (passes, "cluster"),
                                           (pipeline, "lower")])
def test_an_exception_of_a_stage_in_which_no_user_code_runs_is_an_internal_error(module, stage, monkeypatch):
    def broken(*args, **kwargs):
        raise NameError("name 'x' is not defined")
    monkeypatch.setattr(module, stage, broken)
    with pytest.raises(InternalError, match="NameError: .*a fault of mindlite"):
        ms.jit(double)(ms.Tensor([1.0, 2.0]))


def double(x):
    return x + x
