"""The rows of the benchmark mean the same fused on all threads as unfused on one."""
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
import rows                                                                                             # noqa: E402
from agreement import ALLOWED, compare, difference                                                      # noqa: E402

rows.load()


@pytest.mark.parametrize("name", ["step: MLP 784-512-512-10, batch 64, Momentum",
                                  "other sizes: LayerNorm forward and backward, 77 x 333"])
def test_results_and_parameters_of_a_row_are_those_of_one_kernel_for_each_operator_on_one_thread(name):
    found = compare(name, 3)[0]
    assert any(what.startswith("result") for what in found) and max(found.values()) <= ALLOWED


def test_a_difference_is_relative_to_the_largest_number_and_no_nan_agrees_with_anything():
    a = np.array([1000.0, 0.0])
    assert difference(a, a) == 0 and difference(a + [0, 1], a) == 1e-3
    assert difference(a * np.nan, a * np.nan) == difference(a, a[:1]) == float("inf")
