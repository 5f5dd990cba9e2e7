"""bench/scaling.py: what a step sends is what its plan says; a prediction that is wrong ends the run."""
import importlib.util
import pathlib

import pytest

FILE = pathlib.Path(__file__).resolve().parents[2] / "bench" / "scaling.py"


@pytest.fixture(scope="module")
def scaling():
    spec = importlib.util.spec_from_file_location("scaling", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("growth", ["weak", "strong"])
def test_predictions_are_what_is_counted(scaling, growth):
    lines = list(scaling.table(["MLP"], [2], growth))
    assert len(lines) == 2 + len(scaling.WAYS)
    assert "2.68 MB in 1, 50%" in lines[2], "summed gradients send their bytes, whatever the rows"


@pytest.mark.slow
def test_a_wrong_prediction_ends_the_run(scaling, monkeypatch):
    monkeypatch.setattr(scaling, "expected", lambda step, params, count: ((1, 7), 0.5))
    with pytest.raises(SystemExit, match="predicted .1, 7., counted .1, 2678824."):
        list(scaling.table(["MLP"], [2], "weak"))
