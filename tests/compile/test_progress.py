"""A compile that takes long says on a terminal what it does, and leaves no trace there."""
import os
import select
import sys
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.compile import pipeline, progress

pty = pytest.importorskip("pty")


def compile_something(name="step"):
    def step(x):
        return ops.softmax(x, -1) @ x
    step.__qualname__ = name
    return ms.jit(step, fullgraph=True)(Tensor(np.eye(3, dtype=np.float32)))


class Terminal:
    """A terminal in place of stderr. written: what has arrived there"""

    def __init__(self):
        self.reader, writer = pty.openpty()
        self.stderr, self.written = os.fdopen(writer, "w"), ""

    def until(self, text):
        """Read until `text` has been written."""
        while text not in self.written:
            assert select.select([self.reader], [], [], 60)[0], f"{text!r} is not in {self.written!r}"
            self.written += os.read(self.reader, 4096).decode()

    def rest(self):
        """All that has been written."""
        while select.select([self.reader], [], [], 0)[0]:
            self.written += os.read(self.reader, 4096).decode()
        return self.written

    def close(self):
        self.stderr.close()
        os.close(self.reader)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def test_a_terminal_shows_the_stages_and_the_kernels_and_is_clean_afterwards(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    assert progress.SHOWN_AFTER == 2
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0)
    monkeypatch.setattr(progress, "EVERY", 0.001)
    infer, load = pipeline.specialise, pipeline.Executable

    def slow_infer(*args, **kwargs):
        terminal.until("compiling step: infer")
        return infer(*args, **kwargs)

    def slow_load(program, printer):
        terminal.until("compiling step: load, ")
        return load(program, printer)
    monkeypatch.setattr(pipeline, "specialise", slow_infer)
    monkeypatch.setattr(pipeline, "Executable", slow_load)
    compile_something()
    written = terminal.rest()
    lines = written.split(progress.CLEAR)
    assert lines[0] == lines[-1] == "" and all(line.startswith("compiling step: ") for line in lines[1:-1])
    assert len(set(lines)) == len(lines) - 1                 # each state once, and the empty one at both ends
    assert any(line.endswith(" kernels") and " of " in line for line in lines)


def test_a_compile_that_fails_leaves_a_clean_terminal(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0)

    def fails(*args, **kwargs):
        terminal.until("compiling")
        raise MemoryError("on purpose")
    monkeypatch.setattr(pipeline, "specialise", fails)
    with pytest.raises(MemoryError):
        compile_something()
    assert terminal.rest().endswith(progress.CLEAR)


def test_of_two_compiles_at_once_one_is_shown(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0)
    with progress.Progress("outer") as outer:
        terminal.until("compiling outer")
        inner = threading.Thread(target=lambda: compile_something("inner"))
        inner.start()
        inner.join()
        outer.stage = "load"
        terminal.until("outer: load")
    assert "inner" not in terminal.rest()


def test_a_quick_compile_and_one_without_a_terminal_write_nothing(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    compile_something()
    assert terminal.rest() == ""
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0)
    with open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "stderr", nowhere)
        with progress.Progress("step") as silent:
            assert silent.thread is None
    monkeypatch.setattr(sys, "stderr", None)
    compile_something()
    assert terminal.rest() == ""
