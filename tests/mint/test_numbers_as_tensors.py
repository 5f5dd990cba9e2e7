"""A number of a call may be a Tensor without axes: what eager mode computes of it, at each call, a compiled function computes
too, or Python where a graph cannot leave that number open; `fullgraph=True` says so in words."""
import re

import drawn_answers
import numpy as np
import pytest
from drawn_calls import Array, arguments_of

import mindlite as ms

OF_THE_COMPILER = re.compile("Node|Parameter|Dim|object|InternalError|Unplanned")


class World(drawn_answers.Mindlite):
    """Calls each function three times, in one of the ways."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def gradients(self, run, inputs):
        """The outputs, and no gradients."""
        run = self.way(run)
        outs = [run(*inputs) for _ in range(3)]
        told = [[self.told(p) for p in drawn_answers.parts(out)] for out in outs]
        assert repr(told[0]) == repr(told[1]) == repr(told[2])
        return outs[0], None


EAGER, JIT, GRAPH = World(lambda f: f), World(ms.jit), World(lambda f: ms.jit(f, fullgraph=True))


def with_tensors(room, name, number):
    """The arguments of a drawn call, once for each number among them, which is a Tensor there, or the first of a tuple."""
    args, settings = arguments_of(room, name, "numbers", number)
    for place, value in [*enumerate(args), *settings.items()]:
        first, rest = (value[0], value[1:]) if isinstance(value, tuple) and value else (value, None)
        if type(first) in (int, float):
            made = Array(np.asarray(first), "int64" if type(first) is int else "float32")
            at = {place: made if rest is None else (made, *rest)}
            yield tuple(at.get(k, v) for k, v in enumerate(args)), settings | (at if place in settings else {})


CALLS = [(room, name) for room, name, _ in drawn_answers.numbers_of(1, ()) if any(with_tensors(room, name, 0))]


@pytest.mark.sampled(3)
@pytest.mark.python_runs("the call whose number a graph cannot leave open")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("room, name", CALLS, ids=[f"{room}.{name}" for room, name in CALLS])
def test_a_number_may_be_a_tensor(room, name):
    for given in with_tensors(room, name, 0):
        wanted, made = (drawn_answers.answer(world, room, name, "numbers", 0, given) for world in (EAGER, JIT))
        assert not drawn_answers.difference(made, wanted)
        if "error" in wanted:
            assert not OF_THE_COMPILER.search(str(wanted))
            continue
        graph = drawn_answers.answer(GRAPH, room, name, "numbers", 0, given)
        assert "error" not in graph or not OF_THE_COMPILER.search(str(graph))


def test_enough_calls_have_numbers():
    assert len(CALLS) > 100
