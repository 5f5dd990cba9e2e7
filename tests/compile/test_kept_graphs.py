"""Compiled graphs of eager mode on the disk: taken where the same graph comes again, never for another one."""
import itertools
import logging

import numpy as np
import pytest

from mindlite import float32, float64, ops
from mindlite.common.config import config
from mindlite.common.dim import Symbol
from mindlite.common.events import counting
from mindlite.compile import disk_cache, kept_graphs
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.pynative.kernels import Compiled


@pytest.fixture
def disk(tmp_path):
    """A cache directory of its own, in which compiled graphs are kept."""
    before = config.set(cache_dir=str(tmp_path), keep_flows=True)
    yield tmp_path
    config.set(**before)


def graph_of(scale=2.0, axis=-1, dtype=float32, rows=None, columns=5, name="f", constant=(1.0, 2.0, 3.0, 4.0, 5.0)):
    """A graph of rows (open, if None), made anew: other nodes, other Symbols."""
    table = np.array(constant, dtype.numpy)[:columns]

    def f(x, y):
        return ops.softmax(x * scale + y, axis) @ ops.swapaxes(y, 0, 1), (x * table).sum(axis)
    rows = Symbol(lo=2).dim if rows is None else rows
    return typed(f, AbstractTensor(dtype, (rows, columns)), AbstractTensor(dtype, (rows, columns)), name=name)


def compiled(graph, level=None):
    """("compiled" or "restored", the Compiled of a graph)."""
    with counting() as count:
        made = Compiled(graph, level)
    assert count["graph_restore"] + count["graph_store"] == 1
    return ("restored" if count["graph_restore"] else "compiled"), made


def test_the_same_graph_is_compiled_once_and_then_taken_from_the_disk(disk, monkeypatch):
    way, first = compiled(graph_of())
    assert way == "compiled"
    monkeypatch.setattr(kept_graphs, "compile_graph", lambda *_: pytest.fail("it is fused and lowered again"))
    way, again = compiled(graph_of())
    assert way == "restored"
    for rows in (2, 3, 17, 64, 1000):
        x, y = np.random.default_rng(rows).standard_normal((2, rows, 5)).astype(np.float32)
        got, wanted = again.run([x, y]), first.run([x, y])
        e = np.exp(x * 2 + y - (x * 2 + y).max(-1, keepdims=True))
        np.testing.assert_allclose(got[0], e / e.sum(-1, keepdims=True) @ y.T, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got[1], (x * np.arange(1, 6)).sum(-1), rtol=1e-4, atol=1e-5)
        assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))


CHANGES = {"scale": 3.0, "axis": 0, "dtype": float64, "rows": 7, "columns": 4,
           "name": "g", "constant": (1.0, 2.0, 3.0, 4.0, 6.0)}


@pytest.mark.parametrize("what", CHANGES)
def test_a_graph_that_differs_in_one_thing_is_compiled(disk, what):
    assert compiled(graph_of())[0] == "compiled"
    assert compiled(graph_of(**{what: CHANGES[what]}))[0] == "compiled"
    assert compiled(graph_of())[0] == "restored"


def test_what_is_known_of_a_symbol_is_part_of_the_question(disk):
    facts = [{"lo": 2}, {"lo": 1}, {"lo": 2, "hi": 64}, {"lo": 16, "divisor": 16}, {"lo": 16, "divisor": 16, "remainder": 1},
             {"name": "n", "lo": 2}]
    for each in facts:
        assert compiled(graph_of(rows=Symbol(**each).dim))[0] == "compiled", each
    for each in facts:
        assert compiled(graph_of(rows=Symbol(**each).dim))[0] == "restored", each


def test_switches_and_the_level_are_part_of_the_question(disk):
    assert compiled(graph_of())[0] == compiled(graph_of(), "O0")[0] == "compiled"
    before = config.set(lanes=4)
    try:
        assert compiled(graph_of())[0] == "compiled"
    finally:
        config.set(**before)
    assert compiled(graph_of())[0] == compiled(graph_of(), "O0")[0] == "restored"


def test_which_sizes_are_equal_is_part_of_the_question(disk):
    def f(x, y):
        return x * 2.0, y * 3.0

    def graph(*shape_of):
        symbols = [Symbol(lo=2).dim for _ in range(2)]
        return typed(f, *[AbstractTensor(float32, (symbols[i],)) for i in shape_of], name="f")
    assert [compiled(graph(*which))[0] for which in ((0, 0), (0, 1), (1, 1), (1, 0))] == ["compiled"] * 2 + ["restored"] * 2


def test_a_damaged_file_is_reported_and_made_anew(disk, caplog):
    compiled(graph_of())
    file, = disk.glob("graphs-*/*/*.flow")
    content = file.read_bytes()
    for damaged in (content[:-1], content[:60], b"", content.replace(b"entry", b"Entry")):
        file.write_bytes(damaged)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert compiled(graph_of())[0] == "compiled"
        assert "damaged" in caplog.text
        assert compiled(graph_of())[0] == "restored"


def test_a_file_of_other_content_is_reported_and_made_anew(disk, caplog):
    compiled(graph_of())
    file, = disk.glob("graphs-*/*/*.flow")
    for text in ({}, {"entry": {}, "arrays": [], "tables": {"kernels": [], "locations": [], "symbols": []}}):
        assert disk_cache.write_file(file, text, [])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert compiled(graph_of())[0] == "compiled"
        assert "cannot be read" in caplog.text
        assert compiled(graph_of())[0] == "restored"


def test_without_the_switch_or_a_directory_nothing_is_kept(disk):
    for switch in ({"keep_flows": False}, {"cache_dir": ""}):
        before = config.set(**switch)
        with counting() as count:
            Compiled(graph_of())
        config.set(**before)
        assert not count["graph_store"] and not list(disk.glob("graphs-*")), switch


def test_gradients_of_a_later_process_are_those_of_the_first_one(disk):
    from mindlite import Tensor, grad
    from mindlite.pynative import backward

    def gradients(length):
        x = Tensor(np.linspace(-1, 1, 4 * length, dtype=np.float32).reshape(length, 4))
        found = grad(lambda a, b: (ops.softmax(a * b, -1) * ops.tanh(a) + a @ b.T @ b).sum(), (0, 1))(x, x + 1)
        return [each.asnumpy() for each in found]
    results, counts = [], []
    for _ in range(2):
        backward._structures.clear()
        with counting() as count:
            results.append([gradients(n) for n in (3, 5, 3, 5, 7, 9)])
        counts.append((count["backward_flow_build"], count["graph_store"], count["graph_restore"] > 0))
    assert counts[0][0] and counts[0][0] == counts[1][0] and counts[0][1] and not counts[1][1] and counts[1][2]
    for one, other in zip(*[itertools.chain(*result) for result in results], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
