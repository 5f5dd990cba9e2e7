"""Events are counted and handed to listeners."""
import threading

import pytest

from mindlite.common.events import counters, counting, emit, listen


def test_an_event_is_counted_and_heard():
    heard = []
    before = counters["test_event"]
    with listen(lambda event, fields: heard.append((event, fields))):
        emit("test_event", size=3)
    emit("test_event", size=4)
    assert heard == [("test_event", {"size": 3})] and counters["test_event"] == before + 2


def test_counting_counts_the_block_alone():
    emit("test_event")
    with counting() as counts:
        emit("test_event")
        emit("other_event")
        emit("test_event")
    emit("test_event")
    assert counts["test_event"] == 2 and counts["other_event"] == 1 and counts["third"] == 0


def test_blocks_of_counting_may_stand_in_each_other():
    with counting() as outer:
        emit("test_event")
        with counting() as inner:
            emit("test_event")
    assert (outer["test_event"], inner["test_event"]) == (2, 1)


def test_a_listener_leaves_with_its_block_also_after_an_error():
    heard = []

    def listener(event, fields):
        heard.append(event)
    with pytest.raises(KeyError):
        with listen(listener):
            raise KeyError
    emit("test_event")
    assert heard == []


def test_two_listeners_that_are_equal_leave_one_by_one():
    heard = []
    with listen(heard_by := (lambda event, fields: heard.append(event))):
        with listen(heard_by):
            emit("a")
        emit("b")
    assert heard == ["a", "a", "b"]


def test_a_listener_may_start_and_stop_listening():
    heard = []

    def nested(event, fields):
        with listen(lambda e, f: None):
            heard.append(event)
    with listen(nested), listen(lambda event, fields: heard.append(event)):
        emit("x")
    assert heard == ["x", "x"]


def test_events_of_several_threads_are_all_counted():
    with counting() as counts:
        threads = [threading.Thread(target=lambda: [emit("threaded") for _ in range(2000)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert counts["threaded"] == 8000
