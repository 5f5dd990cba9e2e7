"""One table of switches."""
import pathlib
import subprocess
import sys

import pytest

import mindlite
from mindlite.common.config import SWITCHES, Config, config


def test_every_switch_has_a_value_and_a_sentence():
    for switch in SWITCHES:
        assert hasattr(config, switch.name) and len(switch.doc) > 10
        assert not switch.variable or switch.variable.startswith("MINDLITE_")


def test_names_and_variables_are_unique():
    for field in ("name", "variable"):
        values = [getattr(s, field) for s in SWITCHES if getattr(s, field)]
        assert len(set(values)) == len(values)


def test_set_gives_what_was_before():
    own = Config()
    before = own.set(verify=True, threads=3)
    assert (own.verify, own.threads) == (True, 3)
    own.set(**before)
    assert {name: getattr(own, name) for name in before} == before


def test_an_unknown_switch_is_refused_and_changes_nothing():
    own = Config()
    with pytest.raises(AttributeError, match="no switch named 'thread'.*threads"):
        own.set(threads=7, thread=7)
    assert own.threads != 7
    for name in ("speed", "set", "_check"):
        with pytest.raises(AttributeError, match="no switch"):
            setattr(own, name, 1)


@pytest.mark.parametrize("text, expected", [("1", True), ("0", False), ("true", True), ("False", False), ("no", False),
                                            ("", False)])
def test_flags_are_read_from_the_environment(monkeypatch, text, expected):
    monkeypatch.setenv("MINDLITE_VERIFY", text)
    assert Config().verify is expected


def test_numbers_and_texts_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("MINDLITE_THREADS", "5")
    monkeypatch.setenv("MINDLITE_PRINTER", "vm")
    own = Config()
    assert (own.threads, own.printer) == (5, "vm")


def test_text_that_cannot_be_read_names_the_variable(monkeypatch):
    monkeypatch.setenv("MINDLITE_THREADS", "many")
    with pytest.raises(ValueError, match="MINDLITE_THREADS.*many"):
        Config()


def test_a_process_starts_with_what_its_environment_says():
    program = "from mindlite.common.config import config; print(config.jit_level)"
    out = subprocess.run([sys.executable, "-c", program], env={"MINDLITE_JIT_LEVEL": "O0", "PATH": ""},
                         capture_output=True, text=True, check=True, cwd=pathlib.Path(mindlite.__file__).parents[1])
    assert out.stdout.strip() == "O0"
