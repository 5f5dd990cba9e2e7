"""mint, and what `ops` and the methods of Tensors share with torch, for drawn arguments: the answers of torch 2.13 are kept in
drawn.json.gz, which `drawn_answers.py --torch PYTHON --seed kept --count 4 --keep tests/mint/drawn.json.gz` writes. With another
seed it asks torch anew."""
import gzip
import json
import pathlib

import drawn_answers
import pytest

KEPT = [json.loads(line) for line in gzip.decompress(pathlib.Path(drawn_answers.KEPT).read_bytes()).splitlines()]


def test_some_300_operators_are_drawn():
    names = {name for room, names in drawn_answers.TABLES.items() for name in names}
    assert len(names) >= 270 and sum(map(len, drawn_answers.TABLES.values())) >= 400
    assert {tuple(row[:3]) for row in KEPT} == set(drawn_answers.numbers_of(4, ()))


def test_answers_that_differ_are_told():
    wanted = {"out": [["float32", [2], [1.0, float("nan")]]], "grad": [["float32", [2], [1.0, 0.0]]]}
    assert drawn_answers.difference(wanted, wanted) == ""
    for change in ({"out": [["float32", [2], [1.01, float("nan")]]]}, {"out": [["float64", [2], [1.0, float("nan")]]]},
                   {"out": [["float32", [1, 2], [1.0, float("nan")]]]}, {"out": [["float32", [2], [1.0, 0.0]]]},
                   {"grad": [["float32", [2], [1.0, 0.5]]]}, {"out": []}):
        assert drawn_answers.difference({**wanted, **change}, wanted)
    for found, want in (({"error": "ShapeError"}, wanted), (wanted, {"error": "RuntimeError"})):
        assert drawn_answers.difference(found, want)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_drawn_calls_give_the_values_dtypes_shapes_gradients_and_refusals_of_torch():
    world, apart = drawn_answers.Mindlite(), {}
    for room, name, number, wanted in KEPT:
        if why := drawn_answers.difference(drawn_answers.answer(world, room, name, "kept", number), wanted):
            apart[room, name, number] = why
    assert not apart
