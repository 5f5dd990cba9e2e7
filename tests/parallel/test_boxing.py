"""Boxing: every pair of placements, on meshes of one and two axes, with uneven sizes, against NumPy; bytes as predicted."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.common.ranks import engine
from mindlite.common.sbp import Broadcast, Partial, Split
from mindlite.communication import SimWorld, get_rank
from mindlite.parallel import Layout, Mesh, Placement
from mindlite.parallel.boxing import box, parts, steps

B, S0, S1, P, MAX = Broadcast(), Split(0), Split(1), Partial(), Partial("max")
LINE = Mesh((3,), ("x",), (0, 1, 2))
SQUARE = Mesh((2, 2), ("dp", "mp"), (0, 1, 2, 3))
OBLONG = Mesh((2, 3), ("dp", "mp"), (5, 4, 3, 2, 1, 0))
ONE_AXIS = list(itertools.product([(B,), (S0,), (S1,), (P,), (MAX,)], repeat=2))
TWO_AXES = [(a, b) for a, b in itertools.product(itertools.product((B, S0, S1, P), repeat=2), repeat=2)]


def check_boxing(mesh, pairs, shape, graph=False):
    """All pairs in one world: each rank boxes its part and has what NumPy says it should have."""
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float64)

    def run():
        rank, wrong = get_rank(), []
        for have, want in pairs:
            have, want = Placement(mesh, have), Placement(mesh, want)
            mine = Tensor(parts(array, have, rank, np.random.default_rng(1)))
            before = sum(entry[1] for entry in engine().sent.values())
            change = lambda x: box(x, have, want, shape, rank)  # noqa: E731, B023
            got = (ms.jit(change, fullgraph=True) if graph else change)(mine)
            sent = sum(entry[1] for entry in engine().sent.values()) - before
            told = sum(step.nbytes for step in steps(have, want, shape, 8, rank))
            whole = box(got, want, Placement(mesh, (B,) * len(mesh.shape)), shape, rank)
            if tuple(got.shape) != want.local_shape(shape, rank) or sent != told or \
                    not np.allclose(whole.asnumpy(), array, atol=1e-12):
                wrong.append((str(have), str(want), got.shape, sent, told))
        return wrong
    assert SimWorld(len(mesh.ranks)).run(run) == [[]] * len(mesh.ranks)


@pytest.mark.parametrize("shape", [(7, 5), (6, 3), (3, 4)])
def test_every_pair_on_a_line(shape):
    check_boxing(LINE, ONE_AXIS, shape)


@pytest.mark.parametrize("mesh, shape", [(SQUARE, (7, 5)), (SQUARE, (4, 8)), (OBLONG, (7, 11))], ids=["uneven", "even", "oblong"])
def test_every_pair_on_two_axes(mesh, shape):
    check_boxing(mesh, TWO_AXES, shape)


def test_parts_that_keep_units_together():
    """Rows of three: four of them on three ranks, or two, of which the last rank has none; between two axes of a mesh as well."""
    by = Split(0, 3)
    line = list(itertools.product([(B,), (S0,), (S1,), (P,), (by,)], repeat=2))
    check_boxing(LINE, line, (12, 5))
    check_boxing(LINE, line, (6, 5))
    square = [(a, b) for a in itertools.product((B, by, S1), repeat=2) for b in itertools.product((B, by, P), repeat=2)]
    check_boxing(SQUARE, square + [(b, a) for a, b in square] + [((S0, S0), (by, by)), ((by, by), (S0, S1))], (9, 4))


def test_boxing_is_the_same_in_graphs():
    check_boxing(LINE, ONE_AXIS[:12], (7, 5), graph=True)


def test_boxing_chooses_the_cheapest_collective():
    def operators(have, want):
        return [step.operator for step in steps(Placement(LINE, (have,)), Placement(LINE, (want,)), (6, 6), 4, 0)]
    assert operators(P, S0) == ["reduce_scatter"] and operators(P, B) == ["all_reduce"]
    assert operators(S0, B) == ["all_gather"] and operators(S0, S1) == ["all_to_all"]
    assert operators(B, S1) == [""] and operators(B, P) == [""] and operators(S0, S0) == []
    assert operators(MAX, P) == ["all_reduce", ""]


def test_layouts_say_which_part_a_rank_has():
    def run():
        layout, rank = Layout((2, 2), ("dp", "mp")), get_rank()
        return [layout(*words).placement(2).bounds((8, 6), rank) for words in (
            ("dp", "None"), ("None", "mp"), ("dp", "mp"), (("dp", "mp"), "None"), ())]
    found = SimWorld(4).run(run)
    assert found[2] == [((4, 8), (0, 6)), ((0, 8), (0, 3)), ((4, 8), (0, 3)), ((4, 6), (0, 6)), ((0, 8), (0, 6))]
    assert found[3] == [((4, 8), (0, 6)), ((0, 8), (3, 6)), ((4, 8), (3, 6)), ((6, 8), (0, 6)), ((0, 8), (0, 6))]


def test_layouts_that_are_none_are_refused():
    def run():
        for error, wrong in ((ArgumentError, lambda: Layout([2, 2], ("a", "b"))),
                             (ValueRangeError, lambda: Layout((2,), ("a", "b"))),
                             (ValueRangeError, lambda: Layout((8,), ("a",))),
                             (ValueRangeError, lambda: Layout((2, 2), ("a", "a"))),
                             (ValueRangeError, lambda: Layout((2, 2), ("a", "b"))("c")),
                             (ValueRangeError, lambda: Layout((2, 2), ("a", "b"))("a", "a")),
                             (ValueRangeError, lambda: Layout((2, 2), ("a", "b"))(("b", "a"))),
                             (ValueRangeError, lambda: Layout((2, 2), ("a", "b"))("a", "b").placement(1))):
            with pytest.raises(error):
                wrong()
    SimWorld(4).run(run)
