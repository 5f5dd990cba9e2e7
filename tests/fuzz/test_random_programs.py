"""Random programs do the same in plain Python, in PyNative mode and in graph mode: 150 here, more by `make fuzz`."""
import pytest
import random_programs
import worlds
from hypothesis import Phase
from random_programs import case, choices_of, drawn, minimised, run_part, summary

PROGRAMS, SEED = 150, 7


def test_random_programs_do_the_same_in_all_modes():
    ran, differences = run_part((SEED, range(PROGRAMS), random_programs.LEFT_OUT))
    assert not differences, "\n".join(f"program {number} of seed {SEED}\n{text}" for number, text in differences)
    assert len({key for key, _ in ran}) == PROGRAMS
    kinds = [kind for _, kind in ran]
    print(summary({kind: kinds.count(kind) for kind in kinds}))
    assert kinds.count("native") > PROGRAMS / 2


@pytest.fixture
def with_a_fault(monkeypatch):
    """Plain Python thinks that tanh(x) is x. Gives the number of a program that shows it."""
    monkeypatch.setattr(worlds.plain_tensor.ops, "tanh", staticmethod(lambda x: x))
    return next(number for number in range(400) if run_part((SEED, [number], random_programs.LEFT_OUT))[1])


def test_a_difference_is_found_and_shown_as_a_file_that_runs(with_a_fault):
    ran, ((number, text),) = run_part((SEED, [with_a_fault], random_programs.LEFT_OUT))
    assert number == with_a_fault and ran[0][1] == "different"
    assert "plain Python" in text and "ops.tanh(" in text
    compile(text[text.index("import numpy"):], "found.py", "exec")


def test_hypothesis_begins_to_shrink_with_the_program_that_differs(with_a_fault):
    difference = minimised(SEED, with_a_fault, phases=(Phase.reuse,))
    assert worlds.as_file(case(SEED, with_a_fault)[0]) in str(difference)


def test_the_choices_of_a_program_make_it_again():
    for number in range(20):
        choices = iter(choices_of(SEED, number))
        assert drawn(lambda n, choices=choices: next(choices) if n > 1 else 0) == case(SEED, number)
        assert list(choices) == [0]
