"""A variable outside that is read and assigned is an input of the graph; where one block does both, inference knows at once."""
import numpy as np
import pytest

import mindlite as ms
import mindlite.infer.specialise as specialise

COUNT = 0


class Holder:
    """An object with attributes."""


class Counting(ms.nn.Cell):
    """A running mean, and how often it was called."""

    def __init__(self):
        super().__init__()
        self.calls, self.mean = 0, ms.Tensor(0.5)

    def construct(self, x):
        self.calls += 1
        self.mean = self.mean * 0.5 + x.sum() * 0.5
        return x * self.calls + self.mean


@pytest.fixture
def inferences(monkeypatch):
    """A list that grows with each inference."""
    made, infer = [], specialise.infer

    def counted(ev, *args):
        made.append(ev)
        return infer(ev, *args)
    monkeypatch.setattr(specialise, "infer", counted)
    return made


def counter_in_a_global():
    def f(x):
        global COUNT
        COUNT = COUNT + 1
        return x * COUNT
    return f


def counter_in_a_cell_of_a_closure():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count
    return f


def counter_in_an_attribute():
    holder = Holder()
    holder.n = 3

    def f(x):
        holder.n += 1
        holder.n += x.shape[0]
        return x * holder.n
    return f


def counter_in_a_callee():
    holder = Holder()
    holder.n = 2.5

    def step():
        holder.n = holder.n * 0.5 + 1
        return holder.n

    def f(x):
        return x * step() + step()
    return f


@pytest.mark.parametrize("make", [counter_in_a_global, counter_in_a_cell_of_a_closure, counter_in_an_attribute,
                                  counter_in_a_callee, Counting])
def test_a_counter_is_inferred_once(make, inferences, monkeypatch):
    monkeypatch.setitem(globals(), "COUNT", 0)
    x = ms.Tensor(np.ones(3, np.float32))
    plain = make()
    wanted = [plain(x).tolist() for _ in range(3)]
    monkeypatch.setitem(globals(), "COUNT", 0)
    compiled = ms.jit(make(), fullgraph=True)
    assert compiled(x).tolist() == wanted[0] and len(inferences) == 1
    assert [compiled(x).tolist() for _ in range(2)] == wanted[1:] and len(inferences) == 1


def test_what_the_block_does_not_come_to_assign_is_a_constant(inferences):
    holder = Holder()
    holder.n = 2

    def fails():
        holder.n = holder.n + [1, 2][5]

    def f(x):
        try:
            fails()
        except IndexError:
            pass
        return x * holder.n if holder.n > 1 else x
    x, compiled = ms.Tensor(np.ones(3)), ms.jit(f, fullgraph=True)
    assert compiled(x).tolist() == f(x).tolist() == [2, 2, 2] and len(inferences) == 2
    assert all(node.fn.name != "cond" for node in inferences[-1].tracer.root.graph.nodes)
    holder.n = 1
    assert compiled(x).tolist() == f(x).tolist() == [1, 1, 1]


def test_another_object_s_attribute_of_the_same_name_is_a_constant(inferences):
    first, second = Holder(), Holder()
    first.n, second.n = 1, 5

    def f(x):
        first.n = second.n + 1
        return x * first.n if second.n > 3 else x
    x, compiled = ms.Tensor(np.ones(2)), ms.jit(f, fullgraph=True)
    assert compiled(x).tolist() == [6, 6] and len(inferences) == 1 and first.n == 6
