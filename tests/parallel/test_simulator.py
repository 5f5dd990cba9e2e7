"""Simulations of many devices: closed forms, published figures, plans as JSON, and that they say what they are."""
import dataclasses
import json
import math

import numpy as np
import pytest

from mindlite.cli import main
from mindlite.common.errors import ValueRangeError
from mindlite.parallel.actors import Actor, ActorPlan, Register, pipeline
from mindlite.parallel.cluster import A100, DGX1, SELENE, Cluster, Link
from mindlite.parallel.forecast import Transformer, data_parallel, gpt, resnet50_buckets

EVEN = Link(0.0, 1e9)


@pytest.mark.parametrize("count", [2, 3, 8, 512])
def test_an_all_reduce_takes_what_a_ring_takes(count):
    """2 (n - 1) / n of the bytes go over each link, in 2 (n - 1) messages."""
    nbytes = 1e6
    wide = Cluster(A100, count, EVEN, Link(1.0, 1.0))
    np.testing.assert_allclose(wide.all_reduce(nbytes, range(count)), 2 * (count - 1) / count * nbytes / 1e9)
    slow = Cluster(A100, count, Link(1e-3, 1e9), Link(1.0, 1.0))
    longer = slow.all_reduce(nbytes, range(count)) - wide.all_reduce(nbytes, range(count))
    np.testing.assert_allclose(longer, 2 * (count - 1) * 1e-3)


def test_an_all_reduce_over_nodes_is_a_ring_through_all_or_a_tree():
    """A ring of n devices in nodes of g sends 2 (n - 1) / n of the bytes over the links of g devices together, or over the one in
    a node, if that is slower. Where messages cost more than bytes, a tree has 2 log2(nodes) of them between nodes."""
    cluster, nbytes = Cluster(A100, 4, Link(0.0, 1e12), EVEN), 1e6
    np.testing.assert_allclose(cluster.all_reduce(nbytes, range(12)), 2 * 11 / 12 * nbytes / 4e9)
    np.testing.assert_allclose(cluster.all_reduce(nbytes, (0, 4, 8)), 2 * 2 / 3 * nbytes / 1e9)
    slow = Cluster(A100, 4, Link(0.0, 2e9), EVEN)
    np.testing.assert_allclose(slow.all_reduce(nbytes, range(12)), 2 * 11 / 12 * nbytes / 2e9)
    far = Cluster(A100, 4, Link(1.0, 1e12), Link(10.0, 1e9))
    np.testing.assert_allclose(far.all_reduce(nbytes, range(32)), 2 * (3 * 10.0 + 3 * 1.0 + nbytes / 4e9))
    with pytest.raises(ValueRangeError, match="different numbers"):
        cluster.all_reduce(nbytes, range(6))


@pytest.mark.parametrize("stages, micro, chunks", [(2, 4, 3), (4, 8, 2), (4, 16, 4), (8, 16, 2)])
def test_interleaved_pieces_make_the_bubble_as_many_times_smaller(stages, micro, chunks):
    """Narayanan et al. 2021, section 2.2: the bubble is (S - 1) / v forwards and backwards of a stage."""
    plan = pipeline(stages, micro, forward=1 / chunks, backward=2 / chunks, chunks=chunks)
    found = plan.simulate()
    np.testing.assert_allclose(found.seconds, 3 * (micro + (stages - 1) / chunks))
    np.testing.assert_allclose(found.bubble, (stages - 1) / chunks / (micro + (stages - 1) / chunks))
    assert all(found.peaks[register.name] == register.credits for register in plan.registers)
    assert ActorPlan.from_json(plan.to_json()) == plan
    fewer = dataclasses.replace(plan, registers=(dataclasses.replace(plan.registers[0], credits=1), *plan.registers[1:]))
    with pytest.raises(ValueRangeError, match="deadlock"):
        fewer.simulate()


def test_items_on_one_link_go_one_behind_the_other():
    """Stage 0 makes three items of 2 bytes in a second each; a link of a byte a second is what stage 1 waits for."""
    plan = ActorPlan((Actor("make", 0, (), ("a",), 3), Actor("use", 1, ("a",), (), 3)), (Register("a", 9, 2),))
    assert plan.simulate().seconds == 4 and plan.simulate(lambda source, to, nbytes: nbytes).seconds == 1 + 3 * 2 + 1
    near = ActorPlan((plan.actors[0], dataclasses.replace(plan.actors[1], stage=0, stream="other")), plan.registers)
    assert near.simulate(lambda source, to, nbytes: nbytes).seconds == 4, "on one stage nothing travels"


def test_a_collective_begins_when_its_last_member_comes():
    actors = [Actor(f"make{k}", k, (), (f"g{k}",), 1, 1.0 + k) for k in range(4)]
    actors += [Actor(f"sum{k}", k, (f"g{k}",), (), 1, 10.0, "link", "sum") for k in range(4)]
    found = ActorPlan(tuple(actors), tuple([Register(f"g{k}", 1) for k in range(4)])).simulate()
    assert found.seconds == 4.0 + 10.0 and found.busy == {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}
    with pytest.raises(ValueRangeError, match="deadlock"):
        ActorPlan(tuple(actors[1:]), tuple([Register(f"g{k}", 1) for k in range(4)])).simulate()


def test_replicas_sum_their_gradients_once_behind_the_last_backward():
    found = pipeline(2, 4, replicas=3, reduce=5.0).simulate()
    assert found.seconds == 2 * (4 + 1) + 5 and [name for name, _ in found.order[4]][-1] == "R1.1"
    assert sum(name.startswith("R") for order in found.order.values() for name, _ in order) == 6


def test_gradients_that_travel_beside_the_backward_cost_what_the_last_bucket_costs():
    """Or, where the link is what is slow, what all of them cost behind the first."""
    buckets = [1e6] * 10
    for bandwidth, longest in ((1e12, lambda t: 3.0 + t), (1e6, lambda t: 1.0 + 0.2 + 10 * t)):
        cluster = Cluster(A100, 8, Link(0.0, bandwidth), EVEN)
        found = data_parallel("x", cluster, 8, 1, 3.0, buckets)
        np.testing.assert_allclose(found.seconds, longest(cluster.all_reduce(1e6, range(8))))


# Narayanan et al. 2021, table 1, as Megatron-LM's examples/sc21/run_table_1.sh runs it, and the README of Megatron-LM (175B):
# layers, width, heads, tensor, stages, devices, batch, micro-batch, pieces of a stage; TFLOP/s of a device
MEGATRON = {"1.7B": (24, 2304, 24, 1, 1, 32, 512, 16, 1, 137), "3.6B": (30, 3072, 32, 2, 1, 64, 512, 16, 1, 138),
            "7.5B": (36, 4096, 32, 4, 1, 128, 512, 16, 1, 142), "18.4B": (40, 6144, 48, 8, 1, 256, 1024, 8, 1, 135),
            "39.1B": (48, 8192, 64, 8, 2, 512, 1536, 4, 1, 138), "76.1B": (60, 10240, 80, 8, 4, 1024, 1792, 2, 3, 140),
            "174.6B": (96, 12288, 96, 8, 16, 1024, 1536, 1, 1, 138)}


@pytest.mark.parametrize("name", MEGATRON)
def test_forecasts_are_within_15_percent_of_what_megatron_reached(name):
    layers, width, heads, tensor, stages, devices, batch, micro, chunks, published = MEGATRON[name]
    model = Transformer(layers, width, heads)
    found = gpt(model, SELENE, devices, tensor, stages, batch, micro, chunks)
    assert f"{model.weights / 1e9:.1f}B" == name, "the formula of the paper gives the size that it names"
    assert abs(found.rate / 1e12 / published - 1) < 0.15
    assert json.loads(found.to_json())["simulated"] and json.loads(found.simulation.to_json())["simulated"]


@pytest.mark.parametrize("devices, published", [(8, 2969.45), (16, 5906.55), (32, 11711.18)])
def test_forecasts_are_within_15_percent_of_what_oneflow_reached(devices, published):
    """ResNet-50, 128 images a device, images a second (DLPerf report of 2020); the speed of one device is theirs."""
    buckets = resnet50_buckets()
    assert sum(buckets) == 4 * 25557032 and max(buckets) <= 10 << 20
    assert abs(data_parallel("ResNet-50", DGX1, devices, 128, 128 / 384.85, buckets).rows / published - 1) < 0.15


@pytest.mark.parametrize("devices, published", [(8, 0.417952), (16, 0.489674), (32, 0.518642)])
def test_so_are_those_of_its_small_gpt(devices, published):
    """16 layers of width 1536, 2 examples a device, seconds of a step (DLPerf report of 2021), gradients of 4 bytes."""
    gradients = [4 * 12 * 1536 ** 2] * 16 + [4 * (51200 + 2048) * 1536]
    assert abs(published / data_parallel("GPT", DGX1, devices, 2, 0.40616, gradients).seconds - 1) < 0.15


def test_the_best_product_takes_what_was_measured():
    """Its tiles fill all multiprocessors; the same with fewer inner numbers spends more of its time on writing."""
    rows, inner, columns = A100.shape
    seconds = 2 * rows * inner * columns / A100.product
    np.testing.assert_allclose(SELENE.products([A100.shape]), seconds)
    np.testing.assert_allclose(SELENE.products([(rows, 128, columns)]) - 2 * rows * columns / A100.memory,
                               max(128 / inner * (seconds - 2 * rows * columns / A100.memory),
                                   2 * 128 * (rows + columns) / A100.memory))


def test_more_devices_take_longer_where_links_are_slower():
    model = Transformer(24, 2304, 24)
    fast, slow = [gpt(model, dataclasses.replace(SELENE, between=Link(1e-5, bandwidth)), 32, 1, 4, 64)
                  for bandwidth in (25e9, 1e8)]
    assert fast.seconds < slow.seconds and fast.plan.actors[0] == slow.plan.actors[0]


def test_what_does_not_divide_is_refused(capsys):
    with pytest.raises(ValueRangeError, match="do not go"):
        gpt(Transformer(24, 2304, 24), SELENE, 30, 8, 1, 64)
    with pytest.raises(ValueRangeError, match="rounds of 4"):
        pipeline(4, 6, chunks=2)
    assert main(["simulate", "gpt-1.7b", "--devices", "30"]) == 2 and "do not go" in capsys.readouterr().err


def test_the_command_says_that_it_simulates_and_writes_the_plan(capsys, tmp_path):
    path = tmp_path / "plan.json"
    arguments = ["simulate", "gpt-1.7b", "--devices", "16", "--tensor", "1", "--stages", "4", "--batch", "32"]
    assert main([*arguments, "--plan", str(path)]) == 0
    assert capsys.readouterr().out.startswith("simulated, not measured: gpt-1.7b (1.7B) on 16 devices")
    plan = ActorPlan.from_json(path.read_text())
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["simulated"] and math.isclose(told["bubble"], plan.simulate().bubble, rel_tol=0.05)
    assert main(["simulate", "resnet-50", "--devices", "16"]) == 0
