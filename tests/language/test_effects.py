"""print, logging, warnings and breakpoint in graphs: in their order, as often, and at the line, as in Python."""
import logging
import sys
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.fallback.log import Trap

log = logging.getLogger("mindlite.test_effects")
seen = []


def everything(x):
    print("begin", x.shape)
    seen.append("list")
    y = x + 1
    log.warning("sum %s", float(y.sum()))
    warnings.warn("watch out")
    for i in range(2):
        print("iteration", i, y[0])
        warnings.warn(f"iteration {i}")
    if y.sum() > 0:
        log.error("positive")
    print("end")
    return y * 2


def observed(call, capsys, caplog):
    """What a call does: its result, what it prints, logs and warns, each with its line."""
    caplog.clear()
    seen.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = call(Tensor(np.ones(3, np.float32))).asnumpy().tolist()
    records = [(r.levelname, r.getMessage(), r.filename, r.lineno, r.funcName) for r in caplog.records]
    return result, capsys.readouterr().out, records, [(str(w.message), w.filename, w.lineno) for w in warned], list(seen)


def test_effects_are_those_of_python_in_the_first_call_and_in_later_ones(capsys, caplog):
    expected = observed(everything, capsys, caplog)
    assert len(expected[2]) == 2 and len(expected[3]) == 3 and expected[4] == ["list"]
    jitted = ms.jit(everything)
    for _ in range(3):
        assert observed(jitted, capsys, caplog) == expected


def test_the_order_of_different_effects_is_that_of_the_program(monkeypatch):
    order = []

    class Stream:
        def write(self, text):
            order.extend(["print"] if text.strip() else [])

        def flush(self):
            pass

    class Handler(logging.Handler):
        def emit(self, record):
            order.append("log")

    def run(x):
        print("a")
        log.warning("b")
        warnings.warn("c")
        print("d")
        warnings.warn("e")
        log.warning("f")
        return x
    handler = Handler()
    monkeypatch.setattr(sys, "stdout", Stream())
    monkeypatch.setattr(warnings, "showwarning", lambda *args, **kwargs: order.append("warn"))
    log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            for call in (run, *[ms.jit(run)] * 3):
                order.clear()
                call(Tensor(np.ones(2)))
                assert order == ["print", "log", "warn", "print", "warn", "log"]
    finally:
        log.removeHandler(handler)


def test_a_warning_is_given_once_for_each_place_as_in_python():
    def run(x):
        for _ in range(3):
            warnings.warn("once for each place")
        warnings.warn("once for each place")
        return x
    counts = []
    for call in (run, ms.jit(run)):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("default")
            for _ in range(3):
                call(Tensor(np.ones(2)))
        counts.append(sorted(w.lineno for w in warned))
    assert counts[0] == counts[1] and len(counts[0]) == 2


def test_a_warning_that_is_an_error_ends_the_call_at_its_line():
    def run(x):
        y = x * 2
        warnings.warn("too bad")
        return y
    jitted = ms.jit(run)
    jitted(Tensor(np.ones(2)))
    for call in (run, jitted, jitted):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="too bad") as caught:
                call(Tensor(np.ones(2)))
        lines = [entry.lineno for entry in caught.traceback if str(entry.path) == __file__]
        assert lines[-1] + 1 == run.__code__.co_firstlineno + 2     # traceback entries of pytest count from 0
        assert not isinstance(caught.value, Trap)


def test_breakpoint_stops_at_the_line_where_local_variables_are_to_be_seen(monkeypatch):
    stops = []

    def hook(*args, **kwargs):
        frame = sys._getframe(1)
        stops.append((frame.f_code.co_filename, frame.f_lineno, float(frame.f_locals["y"].sum()), frame.f_locals["n"]))
    monkeypatch.setattr(sys, "breakpointhook", hook)

    def run(x, n):
        y = x * n
        breakpoint()
        return y + 1
    jitted = ms.jit(run)
    for call in (run, jitted, jitted, jitted):
        stops.clear()
        assert call(Tensor(np.ones(2)), 3).asnumpy().tolist() == [4.0, 4.0]
        assert stops == [(__file__, run.__code__.co_firstlineno + 2, 6.0, 3)]


def test_breakpoint_with_arguments_is_called_once_for_each_call(monkeypatch):
    calls = []
    monkeypatch.setattr(sys, "breakpointhook", lambda *args, **kwargs: calls.append((args, kwargs)))

    def run(x):
        breakpoint("here", header="stop")
        return x * 2
    jitted = ms.jit(run)
    for count in (1, 2, 3):
        jitted(Tensor(np.ones(2)))
        assert calls == [(("here",), {"header": "stop"})] * count
