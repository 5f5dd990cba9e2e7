"""Hundreds of small kernels in one function: nothing of Python runs between them."""
import sys

import numpy as np
import pytest

import mindlite as ms
from mindlite import ops
from mindlite.compile import flow as F

STEPS = (ops.tanh, ops.sin, ops.sigmoid, ops.cos)
X = np.linspace(-1, 1, 16, dtype=np.float32)


def chain(length, *extra):
    """(a jitted chain of `length` operators that are not fused, what NumPy gives for X)."""
    functions = (STEPS * length)[:length] + extra

    def run(x):
        for function in functions:
            x = function(x)
        return x
    numpy_steps = (np.tanh, np.sin, lambda x: 1 / (1 + np.exp(-x)), np.cos)
    expected = X.astype(np.float64)
    for function in (numpy_steps * length)[:length]:
        expected = function(expected)
    return ms.jit(run, jit_level="O0"), expected


def instructions(jitted):
    """All instructions of the latest variant's Flow."""
    program = jitted.variants[-1].compiled.lowered.program
    return [i for flow in program.all_flows() for i in F.walk(flow.body)]


def events_of_a_run(jitted, monkeypatch, hook):
    """What sys.settrace or sys.setprofile (`hook`) reports while the native code of a call runs."""
    variant, leaves, _ = jitted.compiled.select((ms.Tensor(X),), {})
    executable, seen, runs = variant.executable, [], []
    entry = executable.entry

    def record(frame, event, arg):
        seen.append((event, frame.f_code.co_name, getattr(arg, "__name__", None)))
        return record

    def watched(address):
        before = getattr(sys, hook.replace("set", "get"))()
        set_hook = getattr(sys, hook)
        runs.append(address)
        set_hook(record)
        try:
            return entry(address)
        finally:
            set_hook(before)
    monkeypatch.setattr(executable, "entry", watched)
    variant.run(leaves)
    monkeypatch.undo()
    assert len(runs) == 1
    return [event for event in seen if event[2] != hook]


def test_four_hundred_operators_are_four_hundred_kernels_and_no_python_segment():
    jitted, expected = chain(400)
    assert np.allclose(jitted(ms.Tensor(X)).asnumpy(), expected, atol=1e-5)
    kinds = [type(i) for i in instructions(jitted)]
    assert kinds.count(F.CallKernel) >= 400 and F.PythonSegment not in kinds
    assert len({kernel.address for kernel in jitted.kernels()}) == len(STEPS)          # equal ones are made once


@pytest.mark.parametrize("hook", ["settrace", "setprofile"])
def test_no_python_runs_between_kernels(hook, monkeypatch):
    jitted, _ = chain(400)
    jitted(ms.Tensor(X))
    assert events_of_a_run(jitted, monkeypatch, hook) == []


def test_the_watch_sees_python_where_there_is_some(monkeypatch):
    jitted = ms.jit(lambda x: ops.tanh(ops.unique(ops.floor(x))[0]))       # unique has no kernel: its eval rule runs
    assert jitted(ms.Tensor(X)).shape == (3,)
    assert any(isinstance(i, F.PythonSegment) for i in instructions(jitted))
    assert events_of_a_run(jitted, monkeypatch, "setprofile") and events_of_a_run(jitted, monkeypatch, "settrace")


def test_a_call_of_forty_times_more_kernels_takes_no_more_python():
    counts = []
    for length in (10, 400):
        jitted, _ = chain(length)
        x, seen = ms.Tensor(X), []
        for _ in range(4):                                    # until all that is made once is made
            jitted(x)
        sys.setprofile(lambda frame, event, arg: seen.append(event))
        try:
            jitted(x)
        finally:
            sys.setprofile(None)
        counts.append(len(seen))
    assert counts[0] == counts[1] > 0
