"""Optimisers hold the Parameters that MindSpore's hold: names, order, shapes, dtypes, and their values after three steps.

tests/nn/optimizer_states.json was written by MindSpore 2.10.0 (see optimizer_cases.py).
"""
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import mindlite as ms

sys.path.insert(0, os.path.dirname(__file__))
from optimizer_cases import STEPS, cases, gradients  # noqa: E402

WANTED = json.loads(Path(__file__).with_name("optimizer_states.json").read_text())
CASES = cases(ms)
MORE_IS_TAKEN = {"FTRL() tensor rate", "LazyAdam() decay by step", "SGD() decay by step"}
DEPARTS = {                                   # MindSpore's kernels on a CPU do not do what its documentation says there
    "Adagrad(update_slots=False)": "writes the sums all the same",
    "FTRL(l1=0.05, l2=0.01)": "adds l1 whatever the sign of z",
    "Momentum(learning_rate=0.1, momentum=0.9, use_nesterov=True)": "leaves out Nesterov's term",
    "group centralised": "centralises only where the second size is a multiple of 16",
}
COMPARED = [name for name, wanted in WANTED.items() if "values" in wanted and not any(word in name for word in DEPARTS)]
RUNS = {"eager": lambda f: f, "jit": lambda f: ms.jit(f, fullgraph=True)}


def names_of(wanted):
    return [described.split(":")[0] for described in wanted["parameters"]]


def without_unnamed(found):
    """MindSpore's AdaFactor without beta1 holds one Parameter without a name that is never used."""
    return [described for described in found if not described.startswith("Parameter$")]


def test_every_case_of_mindspore_is_tried():
    assert set(CASES) == set(WANTED)


@pytest.mark.parametrize("name", CASES)
def test_an_optimiser_holds_mindspores_parameters(name):
    wanted = WANTED[name]
    if "refused" in wanted and name not in MORE_IS_TAKEN:
        with pytest.raises((ValueError, TypeError)):
            CASES[name]()
        return
    optimizer = CASES[name]()[1]
    if "refused" in wanted:
        return
    params, names = list(optimizer.get_parameters()), names_of(wanted)
    assert [f"{p.name}: {p.dtype}{list(p.shape)}" for p in params] == without_unnamed(wanted["parameters"])
    assert [p.name for p in params if not p.requires_grad] == wanted["frozen"]
    assert [path for path, _ in optimizer.parameters_and_names()] == without_unnamed(wanted.get("parameters_and_names", names))
    assert list(optimizer.parameters_dict()) == without_unnamed(names)


@pytest.mark.parametrize("run,name", [("eager", name) for name in COMPARED]
                         + [("jit", name) for name in COMPARED if name.endswith((" plain", " group schedule"))])
def test_three_steps_leave_mindspores_values(run, name):
    optimizer = CASES[name]()[1]
    step_of = RUNS[run](optimizer)
    for step in range(STEPS):
        step_of(gradients(ms, optimizer.parameters, step))
    wanted = dict(zip(names_of(WANTED[name]), WANTED[name]["values"]))
    for param in optimizer.get_parameters():
        np.testing.assert_allclose(param.asnumpy().ravel(), wanted[param.name], rtol=2e-5, atol=1e-5, err_msg=param.name)
