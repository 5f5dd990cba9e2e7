"""mint, and what `ops` and the methods of Tensors share with torch, for drawn arguments: the answers of torch 2.13 are kept in
drawn.json.gz, which `drawn_answers.py --torch PYTHON --seed kept --count 4 --keep tests/mint/drawn.json.gz` writes; those for
other dtypes, empty operands, nan and infinities in drawn_variants.json.gz (`--count 1 --variants 4`). With another seed it asks
torch anew."""
import gzip
import json

import drawn_answers
import pytest

KEPT, VARIED = ([json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
                for path in (drawn_answers.KEPT, drawn_answers.KEPT.with_name("drawn_variants.json.gz")))


def test_some_300_operators_are_drawn():
    names = {name for room, names in drawn_answers.TABLES.items() for name in names}
    assert len(names) >= 270 and sum(map(len, drawn_answers.TABLES.values())) >= 400
    assert {tuple(row[:3]) for row in KEPT} == set(drawn_answers.numbers_of(4, ()))
    assert {tuple(row[:4]) for row in VARIED} == set(drawn_answers.varied_calls(1, (), 4))


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


# where torch has another dtype, or a number that is nobody's: which of equals is the k-th, what sorts nan, an overflow of halves
OTHER = {("all", "uint8"): "bool", ("any", "uint8"): "bool", ("hardtanh", "int8"): "float32", ("hardtanh", "int64"): "float32",
         ("threshold", "int8"): "float32", ("threshold", "int64"): "float32", ("threshold", "uint8"): "float32",
         ("ldexp", "bfloat16"): "float32", ("ldexp", "float16"): "float32"}
SCALED = ("addmm addmv addbmm baddbmm").split()              # 0.5 times integers is float32, torch takes 0 for 0.5
NOBODYS = {("searchsorted", "special"), ("matrix_exp", "float16"), ("slogdet", "special"), ("quantile", "special"),
           ("multilabel_margin_loss", "special"), ("interpolate", "special"), ("sign", "special"), ("kthvalue", "int8"),
           ("kthvalue", "int64"), ("kthvalue", "uint8"), ("bincount", "complex64"), ("igammac", "special")}
# of integers and complex numbers, what layers of floats refuse
REFUSED = {"square", "sign", "logaddexp", "logsumexp", "logcumsumexp", "prelu", "conv1d", "conv2d", "conv3d", "conv_transpose2d",
           "max_pool2d", "l1_loss", "cosine_embedding_loss", "softsign", "margin_ranking_loss", "triplet_margin_loss",
           "pairwise_distance"}


def is_meant(name, variant, found, wanted):
    """Whether a difference from torch is one that mindlite means."""
    if "error" in wanted:                                    # more is taken
        return True
    if "error" in found:
        return name in REFUSED and variant in ("complex64", "int8", "uint8", "int64", "bool", "single")
    if name in SCALED and variant in ("int8", "uint8", "int64"):
        return found["out"][0][0] == "float32"
    return (name, variant) in NOBODYS or OTHER.get((name, variant)) == found["out"][0][0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_calls_with_other_dtypes_empty_and_special_operands_give_what_torch_gives():
    world, apart = drawn_answers.Mindlite(), {}
    for room, name, number, variant, wanted in VARIED:
        found = drawn_answers.answer(world, room, name, "kept", number, variant=variant)
        if variant == "special":                             # a gradient at nan is nobody's
            wanted = {**wanted, "grad": None}
        if (why := drawn_answers.difference(found, wanted)) and not is_meant(name, variant, found, wanted):
            apart[room, name, variant] = why
    assert not apart
