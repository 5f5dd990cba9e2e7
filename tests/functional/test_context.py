"""set_context, and the names of the package."""
import subprocess
import sys

import pytest

import mindlite as ms
from mindlite import Tensor, nn
from mindlite.common.config import config
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.functional import hints


@pytest.fixture(autouse=True)
def as_before():
    before = {name: getattr(config, name) for name in ("mode", "device_target", "device_id", "jit_level", "threads")}
    yield
    config.set(**before)


def test_settings_can_be_read_back():
    ms.set_context(mode=ms.GRAPH_MODE, device_id=0, jit_level="O0", runtime_threads=1)
    assert ms.get_context("mode") == ms.GRAPH_MODE == config.mode and config.jit_level == "O0" and config.threads == 1
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_config={"jit_level": "O2"}, deterministic="ON")
    assert ms.get_context("mode") == ms.PYNATIVE_MODE and ms.get_context("jit_level") == "O1"
    ms.set_device("CPU")
    assert ms.get_context("device_target") == "CPU"


@pytest.mark.parametrize("settings, error", [
    ({"mode": 7}, ValueRangeError), ({"device_target": "Abacus"}, ValueRangeError),
    ({"device_id": -1}, ValueRangeError), ({"jit_level": "O7"}, ValueRangeError),
    ({"deterministic": "maybe"}, ValueRangeError), ({"colour": 1}, ArgumentError)])
def test_settings_that_mean_nothing_are_refused_and_change_nothing(settings, error):
    before = dict(config.__dict__)
    with pytest.raises(error):
        ms.set_context(runtime_threads=3, **settings)
    assert config.__dict__ == before


def test_an_unknown_setting_is_not_read():
    with pytest.raises(ArgumentError):
        ms.get_context("colour")


def test_a_setting_without_a_meaning_is_remembered():
    assert ms.get_context("max_call_depth") == 1000
    with pytest.warns(UserWarning, match="max_call_depth has no meaning"):
        ms.set_context(max_call_depth=80)
    assert ms.get_context("max_call_depth") == 80
    with pytest.warns(UserWarning):
        ms.set_context(max_call_depth=1000)


def test_mutable_takes_values_alone():
    x = Tensor([1.0])
    assert ms.mutable((x, [2, {"a": x}]))[0] is x
    with pytest.raises(ArgumentError, match="not str"):
        ms.mutable(("a",))


def test_a_mutable_tuple_may_come_with_another_length():
    jitted = ms.jit(lambda items: sum(items) + len(items), fullgraph=True)
    for count in (1, 3, 2, 3):
        items = ms.mutable((Tensor([1.0]),) * count, dynamic_len=True)
        assert jitted(items).tolist() == [2 * count]
    with pytest.raises(ArgumentError, match="tuple or list"):
        ms.mutable(Tensor([1.0]), dynamic_len=True)


def test_importing_the_package_loads_neither_compilers_nor_rooms():
    code = "import sys, mindlite; print(sorted(m for m in sys.modules if m.split('.')[0] in " \
           "('numpy', 'numba', 'llvmlite', 'sklearn') or m.startswith('mindlite.')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in {*ms.__all__, *dir(ms)}:
        assert getattr(ms, name) is not None, name
    assert ms.float32 is ms.dtype.float32 and ms.vmap is ms.functional.vmap and callable(ms.vmap)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ms.nothing
    assert "Tensor" in dir(ms)


def test_a_setting_of_mindspores_that_means_nothing_here_warns_and_changes_nothing():
    before = dict(config.__dict__)
    with pytest.warns(UserWarning, match="save_graphs"):
        ms.set_context(save_graphs=2)
    assert config.__dict__ == before


def test_hints_on_inlining_are_left_out_with_a_warning():
    def double(x):
        return x * 2
    with pytest.warns(UserWarning, match="no_inline is left out"):
        assert hints.no_inline(double) is double and hints.no_inline()(double) is double
    with pytest.warns(UserWarning, match="lazy_inline is left out"):
        assert hints.lazy_inline(attrs=["size"], policy="front")(double) is double
    for arguments in ((1,), (None, 1), (None, None, "back")):
        with pytest.raises(ArgumentError, match="lazy_inline: "):
            hints.lazy_inline(*arguments)


def test_remarks_are_kept_with_cells_and_functions():
    cell = hints.add_flags(nn.ReLU(), has_effect=True)
    assert cell.get_flags()["has_effect"] is True

    @hints.add_flags(core=1)
    def function(x):
        return x
    assert function(3) == 3 and function._flags == {"core": 1}
    with pytest.raises(ArgumentError, match="a Cell or a function"):
        hints.add_flags(2, core=1)
