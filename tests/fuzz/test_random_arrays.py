"""Random functions of arrays give what NumPy gives in eager mode and in graphs; more by `make fuzz-arrays`."""
import pytest
import random_arrays
from random_arrays import Difference, case, check, report, run, tabled

import mindlite as ms
from mindlite.common.config import config
from mindlite.graph_kernel import cluster, loopnest


@pytest.fixture(autouse=True)
def _compiled_at_once(tmp_path):
    before = config.set(compile_beside=False, cache_dir=str(tmp_path))
    yield
    config.set(**before)


@pytest.mark.parametrize("chunk", range(3))
def test_eager_mode_and_graphs_give_what_numpy_gives(chunk):
    for k in range(2):
        try:
            check(f"tests.{chunk}.{k}")
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error}\n{report(f'tests.{chunk}.{k}')}")


def test_the_cases_are_varied_and_a_case_is_a_file_that_runs():
    seeds = [f"tests.varied.{k}" for k in range(30)]
    cases = [one for one in map(case, seeds) if one is not None]
    assert len(cases) > 20 and len({one.text for one in cases}) == len(cases)
    text = "".join(one.text for one in cases)
    for word in ("ops.amax", ".sum(", "ops.where", "==", "[0]", "astype(ms."):
        assert word in text, word
    assert {one.lanes for one in cases} == {4, 8, 16} and {one.threads for one in cases} == {1, 2}
    compile(report(next(seed for seed in seeds if case(seed) is not None)), "found.py", "exec")
    assert len(tabled()) > 1000


def made(body, *arguments, floats=(0,), ways=()):
    """A Case of these lines, which give `out`; arguments: (shape, dtype, seed)"""
    arguments = tuple(((shape,) * 3, kind, seed) for shape, kind, seed in arguments)
    text = random_arrays.HEAD + random_arrays.source(body, ["out"], floats, arguments)
    return random_arrays.Case(text, arguments, floats, {}, ways, 8, 1)


def test_a_sum_that_is_added_up_twice_in_other_orders_and_compared_is_found(monkeypatch):
    body = ["v = ops.where(x0 > x0, x0, x0 * 0.3)", "v = v.mean(-2)", "v = ops.where(v == v.max(), v, 0.2 * v)",
            "out = ops.outer(v, v)"]
    largest = made(body, ((61, 11), "float64", 769003748))   # as it was drawn by the seed b.13
    with monkeypatch.context() as planted:
        planted.setattr(loopnest, "_refuse_sums_compared_with_their_like", lambda graph, memo: None)
        planted.setattr(cluster, "_verdicts", {})            # what was judged before, and is judged so
        with pytest.raises(Difference, match="graph"):
            run(largest)
    assert run(largest) == "compared"


def test_a_gradient_that_is_zero_in_graphs_alone_is_a_difference():
    text = "import mindlite as ms\nfrom mindlite import ops\ndef f(x0): return ops.abs(x0),\n"
    slope = "def slopes(x0, c0): return ms.grad(lambda x: (f(x)[0] * c0).sum())(x0)\n"
    made = random_arrays.Case(text + slope, (((((9, 7),) * 3, "float32", 3)),), (0,), {}, (), 8, 1)
    reference = random_arrays.Reference(made, 0)
    slopes = reference.values[1]
    reference.compare("graph", [reference.values[0], slopes * 1])
    for wrong in (slopes * 0, slopes * float("nan"), slopes * 1.001, slopes.astype(ms.float64)):
        with pytest.raises(Difference, match="result 1"):
            reference.compare("graph", [reference.values[0], wrong])
