"""Prices of collectives by kind and by axis of the mesh: what is measured, and what plans make of it."""
import importlib
import time
from types import SimpleNamespace

import numpy as np
import pytest

from mindlite import Tensor, nn
from mindlite.common.config import config
from mindlite.common.ranks import Alone, engine
from mindlite.communication import SimWorld, get_rank, links
from mindlite.communication.simulation import SimEngine
from mindlite.functional.plan import plan
from mindlite.parallel import Layout
from mindlite.parallel.machine import Machine, machine_here

partition = importlib.import_module("mindlite.parallel.partition")
SIZES = (16, 256, 256, 256, 256)


class Sleeping(Alone):
    """One rank whose collectives of four ranks, two on its machine, take as long as is said, {kind: seconds}, by a clock that
    nothing else moves."""
    now = 0.0

    def __init__(self, seconds, machine):
        super().__init__()
        self.size, self.seconds, self.machine = 4, seconds, machine

    def around(self):
        return self.machine

    def sleep(self, kind, ranks):
        Sleeping.now += self.seconds[kind] * (1 if len(ranks) == 2 else 8)

    def fold(self, array, reduction, ranks, owned=False, kind=""):
        self.sleep("all_reduce", ranks)
        return super().fold(array, reduction, ranks, owned, kind)

    def fold_parts(self, parts, reduction, ranks):
        self.sleep("reduce_scatter", ranks)
        return super().fold_parts(parts, reduction, ranks)

    def gather(self, array, shapes, ranks):
        self.sleep("all_gather", ranks)
        return super().gather(array, shapes, ranks)

    def exchange(self, parts, shapes, ranks):
        self.sleep("all_to_all", ranks)
        return super().exchange(parts, shapes, ranks)


def test_each_kind_has_a_price_within_machines_and_between_them(monkeypatch):
    """A kind that is clearly another has a price of its own; others have that of all."""
    monkeypatch.setattr(links, "time", SimpleNamespace(perf_counter=lambda: Sleeping.now, thread_time=time.thread_time))
    before = config.set(cache_dir="")
    try:
        seconds = {"all_reduce": 6e-4, "reduce_scatter": 8e-4, "all_gather": 5e-5, "all_to_all": 1e-2}
        made = Sleeping(seconds, (0, 1))
        links.set_link(made)
        prices = {key: alpha for key, (alpha, _) in made.links.items()}
        for reach in ("near", "far"):
            assert prices["all_gather", reach] < prices["all_reduce", reach] < prices["all_to_all", reach]
            assert prices["all_reduce", reach] == prices["reduce_scatter", reach] == prices["fold", reach]
        assert prices["fold", "near"] < prices["fold", "far"]
        assert made.link == made.links["fold", "far"]
        alone = Sleeping(seconds, (0, 1, 2, 3))
        links.set_link(alone)
        assert {reach for _, reach in alone.links} == {"near"} and alone.link == alone.links["fold", "near"]
    finally:
        config.set(**before)


SHARED_TIMES = 5.5e-5, 1.3e-11                   # of ranks that share memory: measured, on a machine without other work
MESSAGE_TIMES = {"fold": (52e-6, 1513e-6), "all_reduce": (52e-6, 1513e-6), "all_gather": (45e-6, 481e-6),
                 "reduce_scatter": (40e-6, 1656e-6), "all_to_all": (72e-6, 541e-6)}            # of such that talk MPI


def disturbed(rng, value):
    """A measured time, or several, each up to 20 % wrong."""
    if isinstance(value, dict):
        return {kind: disturbed(rng, times) for kind, times in value.items()}
    return tuple(one * rng.uniform(0.8, 1.2) for one in value)


def machine_of(found, flop, point):
    return Machine(*found[0], flop=flop, point=point, kinds=kinds(**dict(zip(links.KINDS, found))))


def test_prices_stay_where_each_time_is_a_fifth_wrong():
    rng = np.random.default_rng(3)
    shared, messages = links.prices_of_shared(*SHARED_TIMES, 2), links.prices_of_messages(MESSAGE_TIMES, 2)
    for _ in range(200):
        assert links.prices_of_shared(*disturbed(rng, SHARED_TIMES), 2) == shared
        assert links.prices_of_messages(disturbed(rng, MESSAGE_TIMES), 2) == messages
        for name, usual in (("flop", 9.7e-12), ("point", 5.5e-11)):
            assert links.in_steps(disturbed(rng, (usual,))[0], name) == links.USUAL[name]


def test_a_product_is_priced_that_one_thread_makes(monkeypatch):
    """OpenBLAS shares a product of more than 2 ** 18 multiplications among threads, which wait for each other in loops: the time
    of a thread has their waiting in it."""
    made, real = [], links.least_time
    monkeypatch.setattr(links, "least_time", lambda job: made.append(job()) or real(job))
    links.computed()
    product, _ = made[:2]
    assert product.ndim == 2 and product.size * product[0, 0] <= 1 << 18          # of ones


@pytest.mark.parametrize("times", [SHARED_TIMES, MESSAGE_TIMES], ids=["memory", "messages"])
def test_a_plan_stays_where_each_time_is_a_fifth_wrong(times, monkeypatch):
    """Even with prices as they were measured, and not in steps."""
    rng, of = np.random.default_rng(4), links.prices_of_messages if isinstance(times, dict) else lambda pair, count: (
        links.prices_of_shared(*pair, count))
    monkeypatch.setattr(links, "in_steps", lambda value, name: value)

    def run():
        drawn = [times, *[disturbed(rng, times) for _ in range(6)]]
        plans = [found((2,), machine_of(of(one, 2), *disturbed(rng, (1e-11, 6e-11))), (64, 784, 512, 512, 10))
                 for one in drawn]
        return [(plan.sent, plan.points, plan.boxings) for plan in plans]
    first, *others = SimWorld(2).run(lambda: run() if get_rank() == 0 else None)[0]
    assert others == [first] * 6 and first[0]


def test_bytes_of_each_kind_are_those_that_ranks_copy():
    """The price of a byte follows from how often it is copied. A sum that is read in place is cheaper than one that travels; of
    many ranks each adds up all rows, and in a reduce_scatter its part of them."""
    for count in (2, 4, 8):
        price = dict(zip(links.KINDS, links.prices_of_shared(*SHARED_TIMES, count)))
        assert price["all_reduce"][1] < price["fold"][1] and (price["fold"][1] < price["reduce_scatter"][1]) == (count == 2)
        assert price["all_to_all"][0] == 2 * price["fold"][0]


def test_prices_of_kinds_are_those_of_the_machine():
    def run():
        engine().link, engine().links = (1e-3, 1e-9), {("all_gather", "near"): (2.0, 3.0)}
        here, round_ones = machine_here(), machine_here(byte=1.0)
        return (here.sending("all_gather", 2),
                here.sending("all_gather", 2, "far") == here.sending("all_reduce", 2) == 1e-3 + 2e-9,
                round_ones.sending("all_gather", 2) == 1e-3 + 2.0, here.with_free_sums().sending("all_reduce", 2))
    assert SimWorld(2).run(run) == [(8.0, True, True, 2e-9)] * 2


def step(sizes):
    net = nn.SequentialCell(*[nn.Dense(n, m, activation=nn.Tanh()) for n, m in zip(sizes[1:], sizes[2:])])
    made = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)).set_train()
    return made, [Tensor(np.zeros((sizes[0], size), np.float32)) for size in (sizes[1], sizes[-1])]


def found(mesh, machine, sizes=SIZES):
    """The plan of this rank."""
    made, data = step(sizes)
    return plan(made, Layout(mesh, tuple("ab"[:len(mesh)])), *data, machine=machine)


def kinds(**prices):
    return tuple(sorted(((kind, "near"), price) for kind, price in prices.items()))


def test_a_plan_avoids_the_kind_that_is_dear():
    """Columns, then rows (sums travel), or rows of the batch and gathered activations: what costs less."""
    dear, cheap = (1.0, 1e-3), (1e-9, 1e-13)
    settings = {"point": 1e-6, "flop": 1e-9}

    def run():
        sums = found((2,), Machine(**settings, kinds=kinds(all_reduce=cheap, all_gather=dear, reduce_scatter=dear,
                                                             all_to_all=dear)))
        others = found((2,), Machine(**settings, kinds=kinds(all_reduce=dear, all_gather=cheap, reduce_scatter=cheap,
                                                               all_to_all=cheap)))
        return sums.sent, others.sent
    for sums, others in SimWorld(2).run(run):
        assert set(sums) == {"all_reduce"} and sums["all_reduce"][1] > 1e4
        assert "all_reduce" not in others and others


@pytest.mark.parametrize("far", [0, 1])
def test_what_is_sent_most_is_sent_on_the_near_axis(far, monkeypatch):
    def reach(self, groups):
        return "far" if all(abs(a - b) == 2 - far for a, b in groups) else "near"

    def run():
        prices = {("all_reduce", "far"), ("all_gather", "far"), ("reduce_scatter", "far"), ("all_to_all", "far")}
        made = found((2, 2), Machine(point=1e-6, flop=1e-9, message=1e-9, byte=1e-12,
                                     kinds=tuple(sorted((key, (1e-3, 1e-7)) for key in prices))))
        sent = [0, 0]
        for *_, steps in made.boxings:
            for one in steps:
                sent[one.axis] += one.nbytes
        return sent
    monkeypatch.setattr(SimEngine, "reach", reach)
    sent = SimWorld(4).run(lambda: run() if get_rank() == 0 else None)[0]
    assert sent[1 - far] > 1.5 * sent[far]


def test_sums_that_travel_together_are_one_message(monkeypatch):
    """A message costs half of the step: eight sums by themselves are too dear, and all of them as one are not."""
    machine = Machine(message=1e-3, byte=1e-13, flop=3e-10, point=1e-12)

    def run():
        mine = found((2,), machine)
        monkeypatch.setattr(partition, "MESSAGES", 1e9)      # one search, in which each costs a message
        return mine, found((2,), machine)
    mine, apart = SimWorld(2).run(lambda: run() if get_rank() == 0 else None)[0]
    assert mine.points[0] < 0.6 * mine.points[1] and mine.sent["all_reduce"][0] <= 3
    assert mine.seconds < apart.seconds
