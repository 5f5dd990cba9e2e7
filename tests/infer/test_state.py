"""The parts of inference's state, each by itself."""
import pytest

from mindlite.infer.state import AmbiguousTarget, Effects
from mindlite.infer.evaluator import Evaluator
from mindlite.infer.state import Attempts, Calls, Fallbacks, Frame, Guards, Objects, Variables
from mindlite.fallback.record import Records


def test_the_evaluator_and_the_tracer_can_be_held_in_the_mind():
    ev = Evaluator()
    assert len(vars(ev)) <= 12 and len(vars(ev.tracer)) - len(("graph", "origin", "by")) <= 13


def test_an_exception_came_up_where_it_passed_first():
    calls, error = Calls(), ValueError()
    calls.fail(error, "inner")
    calls.fail(error, "outer")
    assert calls.place_of(error) == "inner" and calls.place_of(KeyError()) is None


def test_a_call_is_active_inside_of_its_block_alone():
    calls, tracer = Calls(), Evaluator().tracer
    with calls.inside(Frame("graph"), "f", tracer):
        assert calls.is_active("f") and not calls.is_active("g") and not calls.is_active("f", tracer.region.home)
    assert not calls.is_active("f") and not calls.frames


def test_what_is_read_behind_python_code_is_watched_too():
    guards, owner, later = Guards(), object(), {}
    guards.add("attr", owner, "a", 1)
    guards.watches.append(later)
    guards.add("attr", owner, "b", 2)
    assert [guard[2] for guard in guards.found.values()] == ["a", "b"] and [guard[2] for guard in later.values()] == ["b"]


def test_an_object_that_is_made_inside_has_no_guards():
    ev, made = Evaluator(), object()
    ev.make_object(made)
    ev.guard("attr", made, "a", 1)
    assert made in ev.objects and not ev.guards.found
    assert Objects().known == {} and ev.objects.region_of(made) is ev.tracer.region


def test_a_container_that_changes_is_not_known():
    variables, items = Variables(set()), [1]
    assert not variables.is_changed(items)
    variables.change(items)
    assert variables.is_changed(items) and not variables.is_changed([1])


def test_a_construct_asks_for_itself():
    fallback = Fallbacks(False, Records())
    with fallback.inside("call"):
        fallback.asked = "key"
        with fallback.inside("load_attr"):
            assert (fallback.construct, fallback.asked) == ("load_attr", None)
        assert (fallback.construct, fallback.asked) == ("call", "key")


def test_a_handler_handles_one_exception_more():
    attempts, error = Attempts(), ValueError()
    with attempts.inside("attempt"), attempts.handle(error):
        assert attempts.around == ["attempt"] and attempts.handling == [error]
    attempts.link(error, "__cause__", 3)
    assert not attempts.around and not attempts.handling and attempts.links_of(error) == {"__cause__": 3}


def test_nobody_knows_what_a_name_of_two_tensors_means_once_one_is_assigned_to():
    effects = Effects()
    effects.choose("a", {"x", "y"})
    effects.read("a")
    effects.assign("x")
    with pytest.raises(AmbiguousTarget):
        effects.read("a")
    with pytest.raises(AmbiguousTarget):
        effects.assign("a")
