"""A fault of mindlite is shown as one: where a function of the compiler raises what it never should, whoever calls it gets an
InternalError with the stage and the user's line; never a run in Python, another number, or a program that does not end."""
import random

import pytest

from mindlite.common.errors import InternalError

from plants import KINDS, fresh, functions, planted, reached, verdict
from planted_programs import PROGRAMS, loops

DRAWN = 48


@pytest.fixture(scope="module")
def reach():
    """{name of a function: the programs that call it}"""
    return reached(PROGRAMS)


def test_the_programs_reach_most_of_what_can_fail(reach):
    assert len(reach) > 900


def test_a_fault_in_any_function_is_an_internal_error(reach):
    """Some functions, drawn by a fixed seed; `-m slow` takes all of them."""
    draw, found = random.Random(14), functions()
    names = draw.sample(sorted(reach), DRAWN)
    wrong = [verdict(name, found[name], KINDS[i % len(KINDS)], draw.choice(reach[name])) for i, name in enumerate(names)]
    assert not [text for text in wrong if text], "\n".join(filter(None, wrong))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10))
def test_a_fault_in_every_function_is_an_internal_error(reach, start):
    draw, found = random.Random(start), functions()
    wrong = [verdict(name, found[name], KINDS[(i + start) % len(KINDS)], program)
             for i, name in enumerate(sorted(reach)[start::10]) for program in draw.sample(reach[name], min(3, len(reach[name])))]
    assert not [text for text in wrong if text], "\n".join(filter(None, wrong))


def test_a_loop_that_cannot_be_written_for_a_fault_does_not_run_in_python():
    function = functions()["mindlite.infer.loops.write_loop"]
    with planted(function, TypeError) as hits, pytest.raises(InternalError, match="planted") as caught:
        loops(fresh())
    assert hits and caught.value.stage == "infer" and caught.value.location.file.endswith("planted_programs.py")
    assert caught.value.location.source().strip().startswith("while x.sum()")
