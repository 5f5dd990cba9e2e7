"""The cliff detector's table: its pieces run in mindlite, eager and compiled alike, and ratios are counted as they should be."""
import importlib
import pathlib
import sys

import numpy as np
import pytest

BENCH = str(pathlib.Path(__file__).resolve().parents[2] / "bench")


@pytest.fixture(scope="module")
def bench():
    """The modules of the benchmark, which are a program's and not a package's."""
    sys.path.insert(0, BENCH)
    try:
        yield {name: importlib.import_module(name) for name in ("frameworks", "pieces", "cliffs", "measure")}
    finally:
        sys.path.remove(BENCH)


def results(bench, piece, mode, seed=0):
    """What a piece gives in mindlite at its tiny size, as ndarrays."""
    F = bench["frameworks"].FRAMEWORKS["mindlite"]()
    run = bench["pieces"].row_of(piece, "tiny", None, mode, seed).make(F)
    return [F.numpy(x) for x in F.leaves(run())]


CHECKED = ("softmax", "where", "layer_norm", "index_add", "rotary", "LSTM cell", "conv2d, groups", "cross_entropy",
           "20 RNN cells")


def check(bench, piece):
    """Eager and compiled give the same, forward and backward."""
    for mode, eager in (("forward", "eager"), ("gradients", "eager gradients")):
        if mode == "forward" or piece.differentiable:
            for a, b in zip(results(bench, piece, mode), results(bench, piece, eager), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4, err_msg=piece.name)


@pytest.mark.parametrize("name", CHECKED)
def test_a_piece_is_the_same_eager_and_compiled(bench, name):
    piece, = [p for p in bench["pieces"].PIECES if p.name == name]
    check(bench, piece)


@pytest.mark.slow
def test_every_piece_is_the_same_eager_and_compiled(bench):
    for piece in bench["pieces"].PIECES:
        check(bench, piece)


def test_an_eager_row_is_called_until_nothing_more_is_compiled_for_it(bench):
    F, calls, made = bench["frameworks"].FRAMEWORKS["mindlite"](), [], [3, 3, 2, 2, 2]

    def run():
        calls.append(made[0])

    def compiled():
        return made.pop(0) if len(made) > 1 else made[0]
    F.compiled = compiled
    F.settle(run)
    most = bench["frameworks"].SETTLED[1]
    assert calls == [3] * most + [2] * most or len(calls) < 2 * most


def test_first_calls_are_told_apart_of_rows_that_settle(bench):
    measure, pieces = bench["measure"], bench["pieces"]
    pieces.register(5)
    names = {mode: next(n for n in measure.ROWS if n.startswith("softmax | tiny | float32 | ") and n.endswith(f"| {mode}"))
             for mode in ("forward", "eager")}
    assert [measure.ROWS[name].settles for name in names.values()] == [False, True]

    class Counting(bench["frameworks"].Framework):
        kind, name, settled = "mindspore", "mindlite", 0

        def settle(self, run):
            Counting.settled = len(calls)
    calls: list = []
    for name, first in ((names["eager"], measure.FIRST_EAGER_CALLS), (names["forward"], 1)):
        sampler = measure.Sampler.__new__(measure.Sampler)
        sampler.name, sampler.framework, sampler.calls = name, Counting(), 1
        sampler.run = lambda: calls.append(1) or np.zeros(2)
        calls.clear()
        Counting.settled = 0
        sampler.prepare()
        assert Counting.settled == (first if name == names["eager"] else 0) and set(sampler.first) == {"seconds", "processor"}


def test_the_table_has_at_least_250_pieces_of_different_names(bench):
    names = [p.name for p in bench["pieces"].PIECES]
    assert len(set(names)) == len(names) >= 250


def test_a_seed_draws_the_same_operands_in_every_process_and_another_seed_others(bench):
    piece = bench["pieces"].PIECES[0]
    first, again, other = (bench["pieces"].drawn(piece, "cache", seed)["x"] for seed in (1, 1, 2))
    assert first.shape == again.shape and (first == again).all()
    assert first.shape != other.shape or (first != other).any()


def test_drawn_shapes_have_about_the_elements_of_their_size(bench):
    pieces = bench["pieces"]
    for seed in range(50):
        low, high = pieces.SIZES["cache"]
        assert low / 8 <= pieces.drawn(pieces.PIECES[0], "cache", seed)["x"].size <= 2 * high


def test_a_ratio_is_by_the_best_peer_and_shares_are_counted_by_mode(bench):
    cliffs = bench["cliffs"]
    assert cliffs.ratio({"mindlite": 3.0, "jax": 2.0, "torch": 4.0}) == 1.5
    assert cliffs.ratio({"mindlite": 3.0}) is None
    found = cliffs.summary({"a | tiny | float32 | eager": 4.0, "b | tiny | float32 | eager": 1.0,
                            "c | tiny | float32 | forward": 1.5})
    assert found["eager"]["mean"] == pytest.approx(2) and found["eager"]["above"] == {"1.2": 0.5, "2": 0.5}
    assert found["forward"]["above"] == {"1.2": 1.0, "2": 0.0} and found["all"]["count"] == 3
    name = "a | tiny | float32 | eager"
    text = cliffs.report({name: 3.0}, {name: 2.5}, ({name: 7.0}, {name: 6.0}), {name: {"mindlite": 3.0, "torch": 1.0}}, {})
    assert [line.split(" | ")[2] for line in text.split("\n") if line.startswith("| eager")] == ["3.00", "7.00"]


def test_a_first_call_that_compiles_is_by_a_peer_that_compiles(bench):
    comparable, taken = bench["cliffs"].comparable, {"mindlite": 1.0, "jax": 2.0, "torch": 0.1}
    assert comparable("a | tiny | float32 | eager gradients", taken) == taken
    assert comparable("a | tiny | float32 | gradients", taken) == {"mindlite": 1.0, "jax": 2.0}
    ratios = {"a | tiny | float32 | forward": None, "b | tiny | float32 | forward": 2.0}
    assert bench["cliffs"].summary(ratios)["all"]["count"] == 1


def test_results_agree_to_a_share_of_their_magnitudes(bench):
    agree = bench["cliffs"].agree
    assert agree([[1.0, 100.0]], [[1.05, 100.0]], 1e-3) and not agree([[1.0, 100.0]], [[1.2, 100.0]], 1e-3)
    assert not agree([[1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]], 1e-3)
