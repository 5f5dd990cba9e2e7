"""A dataclass that is made at its first instance is the one that dataclasses makes."""
import copy
import dataclasses
import pickle
import threading

import pytest

from mindlite.common.records import dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2


@dataclass(frozen=True)
class Named(Point):
    name: str = "p"
    tags: tuple = dataclasses.field(default_factory=tuple)


@dataclass
class Counter:
    start: int
    seen: list = dataclasses.field(default_factory=list, repr=False)

    def __post_init__(self):
        self.seen.append(self.start)


class Loud(Counter):
    def __init__(self, start):
        super().__init__(start + 1)


@dataclass
class Own:
    x: int

    def __init__(self, value):
        self.x = 2 * value


@dataclass(frozen=True)
class Sent:
    x: int


def test_it_is_made_at_the_first_instance_with_what_it_is_based_on():
    assert not dataclasses.is_dataclass(Named)
    made = Named(1, name="q")
    assert dataclasses.is_dataclass(Named) and dataclasses.is_dataclass(Point)
    assert (made.x, made.y, made.name, made.tags) == (1, 2, "q", ())
    assert made == Named(1, 2, "q") and hash(made) == hash(Named(1, 2, "q")) and made != Named(2)
    assert repr(Point(1)) == "Point(x=1, y=2)" and dataclasses.replace(Point(1), y=5) == Point(1, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 3
    with pytest.raises(TypeError):
        Point()
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_subclasses_and_constructors_of_ones_own_work():
    loud = Loud(1)
    assert loud.start == 2 and loud.seen == [2] and repr(Counter(5)) == "Counter(start=5)"
    assert Counter(1).seen == [1] and Own(3).x == 6 and repr(Own(3)) == "Own(x=6)"


def test_an_instance_may_come_from_elsewhere_before_one_is_made_here():
    sent = Sent.__new__(Sent)                                # as unpickling does
    sent.__setstate__({"x": 4})
    assert sent == Sent(4) and repr(sent) == "Sent(x=4)"
    assert pickle.loads(pickle.dumps(sent)) == sent and copy.deepcopy(sent) == sent


def test_threads_may_make_the_first_instances_at_once():
    for _ in range(20):
        @dataclass(frozen=True)
        class Fresh:
            a: int
            b: int = 0
        made, start = [], threading.Barrier(4)

        def work(cls=Fresh, made=made, start=start):
            start.wait()
            made.append(cls(1, b=2))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4 and all(m == Fresh(1, 2) for m in made)


def declared(dataclass, frozen, eq):
    """The same two classes, by one dataclass or the other."""
    @dataclass(frozen=frozen, eq=eq)
    class Base:
        x: object
        noted: object = dataclasses.field(default=None, compare=False)

    @dataclass(frozen=frozen, eq=eq)
    class Below(Base):
        self: object = 3
        held: list = dataclasses.field(default_factory=list, repr=False, hash=False)

        def __str__(self):
            return "below"
    return Base, Below


def behaviour(base, below):
    """What is to be seen of the instances of the two classes."""
    def outcome(work):
        try:
            return work()
        except Exception as error:
            return type(error), str(error).replace(base.__qualname__, "Base")
    one, same, other = base(1, noted=2), base(1, 5), base(2)
    outer = below([1], self=one)
    return [outcome(work) for work in (
        lambda: one == same, lambda: one != other, lambda: one == 1, lambda: base(1) == below(1),
        lambda: hash(one) == hash(same) == hash((1,)), lambda: hash(outer) == hash(outer), lambda: hash(below(1)) == hash((1, 3)),
        lambda: repr(outer), lambda: str(outer), lambda: setattr(one, "x", 5), lambda: delattr(one, "noted"),
        lambda: setattr(outer, "new", 5), lambda: one.x, lambda: outer.held is below(1).held, lambda: base(),
        lambda: base(1, 2, 3), lambda: base(y=1), lambda: below(x=1, noted=2, self=3, held=4).held,
        lambda: [f.name for f in dataclasses.fields(outer)], lambda: dataclasses.asdict(below(1)),
        lambda: dataclasses.replace(one, x=7).x, lambda: below.__match_args__,
        lambda: (base.__dataclass_params__.frozen, below.__dataclass_params__.eq))]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("eq", [False, True])
def test_it_behaves_as_the_one_of_dataclasses(frozen, eq):
    seen = behaviour(*declared(dataclass, frozen, eq))
    expected = behaviour(*declared(dataclasses.dataclass, frozen, eq))
    assert len(seen) == len(expected) == 23
    for ours, theirs in zip(seen, expected):
        assert ours == theirs
