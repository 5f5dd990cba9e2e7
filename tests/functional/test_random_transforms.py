"""Random programs under random compositions of transforms: some here, as many as asked for by `make fuzz-transforms`."""
import os
import sys

import pytest

import mindlite as ms
from mindlite.common.config import config

sys.path.insert(0, os.path.dirname(__file__))
import random_transforms as random_                                      # noqa: E402

CASES = 20


@pytest.fixture(autouse=True)
def _kernels_of_single_operators():
    level = config.jit_level
    ms.set_context(jit_level="O0")
    yield
    config.set(jit_level=level)


@pytest.mark.parametrize("chunk", range(12))
def test_python_graph_machine_code_and_differences_agree(chunk):
    for k in range(CASES):
        seed = f"tests.{chunk}.{k}"
        try:
            random_.check(seed, compiled=k == 0)
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\n{random_.report(seed)}")


def test_the_programs_and_transforms_of_the_cases_are_varied():
    cases = [random_.case(f"tests.{chunk}.{k}") for chunk in range(12) for k in range(CASES)]
    text = "".join(case[0] for case in cases)
    for word in ("while ", "for ", "break", "continue", "if ", "else:", "def f", "append", "['a']", "ms.grad", "ms.vmap",
                 "ms.jvp", "ms.vjp", "[0:2] =", "+=", "view", ".shape[0] >", "return t", "> 0."):
        assert text.count(word) > 5, word
    chains = {tuple(case[1]) for case in cases}
    assert {name for chain in chains for name in chain} == set(random_.TRANSFORMS) and len(chains) > 100


def test_a_wrong_derivative_is_found(monkeypatch):
    case = random_.case
    monkeypatch.setattr(random_, "case", lambda seed: (case(seed)[0], ["grad"], *case(seed)[2:]))
    monkeypatch.setitem(random_.TRANSFORMS, "grad",
                        lambda f: lambda x, w: ms.grad(lambda a, b: f(a, b).sum())(x, w) * 1.01)
    with pytest.raises(random_.Difference, match="differences"):
        for k in range(40):
            random_.check(k)
