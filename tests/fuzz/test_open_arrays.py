"""Random functions of arrays of open sizes give what NumPy gives, at sizes not seen before; more by `make fuzz-open`."""
import open_arrays
import pytest
from open_arrays import SETS, Case, Difference, Operand, case, check, report, run, source

from mindlite.common.config import config
from mindlite.mindir.primitive import kernel_rule
from mindlite.ops import basic


@pytest.fixture(autouse=True)
def _compiled_at_once(tmp_path):
    before = config.set(compile_beside=False, cache_dir=str(tmp_path))
    yield
    config.set(**before)


@pytest.mark.parametrize("number", range(3))
def test_eager_mode_and_graphs_give_what_numpy_gives(number):
    try:
        check(f"tests.{number}")
    except Exception as error:
        pytest.fail(f"{type(error).__name__}: {error}\n{report(f'tests.{number}')}")


def test_the_cases_are_varied():
    cases = [one for one in [case(f"tests.varied.{k}") for k in range(16)] if one is not None]
    assert len(cases) > 8 and len({one.text for one in cases}) == len(cases)
    assert len({one.declared for one in cases}) > 3 and "find_primitive(" in "".join(one.text for one in cases)
    operands = [operand for one in cases for operand in one.operands]
    assert {bool(operand.held) for operand in operands} == {True, False}
    assert any("" in operand.open and any(operand.open) for operand in operands)
    assert any(0 in shape for operand in operands for shape in operand.shapes)
    assert len({name for name, _, _ in open_arrays.sampled()}) > 150


def _read_by_groups(x, out, *, shape):
    """The kernel of a reshape as it was once: what is in no group of axes is read at 0."""
    def element(*i):
        index = [0] * len(x.shape)
        for before, after in basic._joined(x.shape, shape):
            flat = basic.flatten_index([i[axis] for axis in after], [shape[axis] for axis in after])
            index[before[0]:before[-1] + 1] = basic.unflatten_index(flat, [x.shape[axis] for axis in before])
        return x[tuple(index)]
    return element


def test_a_reshape_between_sizes_that_only_fit_when_it_runs_is_found(monkeypatch):
    operands = tuple(Operand(name, ((rows, 5),) * SETS, "float32", 7, None, ("A", "B"), held)
                     for name, rows, held in (("x0", 3, ""), ("w1", 6, "Parameter")))
    lines = ["dw = ms.grad(lambda x: (x @ ops.transpose(w1, (1, 0)) ** 2).sum(), None, [w1])(x0)[0]",
             "out = ops.tanh(dw * 0.1) * 3"]
    text = open_arrays.HEAD + source(lines, ["out"], (0,), operands)
    made = Case(text, operands, (0,), 1, "dynamic", {}, (), (0,), 8, 1)
    with monkeypatch.context() as planted:
        planted.setitem(kernel_rule.rules, basic.reshape, _read_by_groups)
        with pytest.raises(Difference, match="graph"):
            run(made)
    assert run(made) == "compared"
