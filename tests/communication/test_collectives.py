"""Collectives in simulated worlds: values, gradients, vmap, both modes; groups; what goes wrong."""
import itertools
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import RankError, ShapeError, ValueRangeError
from mindlite.common.ranks import FOLDS, engine, even_sizes, ring_bytes
from mindlite.communication import (SimWorld, create_group, destroy_group, get_group_rank_from_world_rank, get_group_size,
                                    get_local_rank, get_local_rank_size, get_process_group_ranks, get_rank,
                                    get_world_rank_from_group_rank, init)
from mindlite.communication.comm_func import (P2POp, all_to_all_single_with_output_shape, all_to_all_with_output_shape,
                                              batch_isend_irecv, gather_into_tensor, recv, scatter_tensor, send)
from mindlite.ops import operations as P
from mindlite.ops.collectives import all_gather, all_reduce, all_to_all, broadcast_from, reduce_scatter, reduce_to

N = 3


def of_rank(rank, *shape, dtype=np.float32):
    return np.random.default_rng(100 + rank).uniform(0.5, 2, shape).astype(dtype)


def everywhere(function, *shapes, modes=("Python", "graph"), size=N):
    """What function gives on each rank for Tensors of these shapes, in both modes alike."""
    def run():
        args = [Tensor(of_rank(get_rank(), *shape)) for shape in shapes]
        results = [(ms.jit(function, fullgraph=True) if mode == "graph" else function)(*args) for mode in modes]
        found = [[x.asnumpy() for x in (r if isinstance(r, tuple) else (r,))] for r in results]
        for other in found[1:]:
            for a, b in zip(found[0], other):
                np.testing.assert_array_equal(a, b)
        return found[0]
    return SimWorld(size).run(run)


@pytest.mark.parametrize("reduction", sorted(set(FOLDS) - {"any", "all"}))
def test_all_reduce_folds_what_all_ranks_have(reduction):
    want = of_rank(0, 4, 3)
    for rank in range(1, N):
        want = FOLDS[reduction](want, of_rank(rank, 4, 3))
    for (got,) in everywhere(lambda x: all_reduce(x, reduction=reduction), (4, 3)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint16, np.int64, np.bool_, np.complex64])
def test_all_reduce_takes_every_kind_of_element(dtype):
    def run():
        x = Tensor((np.arange(4) % 2 + get_rank()).astype(dtype))
        return all_reduce(x, reduction="any" if dtype is np.bool_ else "sum").asnumpy()
    parts = [(np.arange(4) % 2 + rank).astype(dtype) for rank in range(N)]
    want = np.any(parts, 0) if dtype is np.bool_ else np.sum(parts, 0).astype(dtype)
    for got in SimWorld(N).run(run):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == dtype


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_sum_beyond_the_largest_number_is_inf_without_a_warning(dtype):
    def run():
        return all_reduce(Tensor(np.full(3, np.finfo(dtype).max, dtype))).asnumpy()
    for got in SimWorld(2).run(run):
        np.testing.assert_array_equal(got, np.full(3, np.inf, dtype))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather_and_reduce_scatter_join_and_part_along_an_axis(axis):
    parts = [of_rank(rank, 3, 6) for rank in range(N)]
    total = np.sum(parts, 0)
    got = everywhere(lambda x: (all_gather(x, axis=axis), reduce_scatter(x, axis=axis)), (3, 6))
    for rank, (gathered, part) in enumerate(got):
        np.testing.assert_array_equal(gathered, np.concatenate(parts, axis))
        np.testing.assert_allclose(part, np.split(total, N, axis)[rank], rtol=1e-6)


def test_parts_may_be_uneven_and_empty():
    sizes = (3, 0, 2)

    def run():
        rank = get_rank()
        mine = Tensor(np.full((sizes[rank], 2), rank, np.float32))
        gathered = ms.jit(lambda x: all_gather(x, sizes=sizes), fullgraph=True)(mine)
        part = ms.jit(lambda x: reduce_scatter(x, sizes=sizes), fullgraph=True)(gathered)
        return gathered.asnumpy(), part.asnumpy()
    for rank, (gathered, part) in enumerate(SimWorld(N).run(run)):
        np.testing.assert_array_equal(gathered[:, 0], [0, 0, 0, 2, 2])
        np.testing.assert_array_equal(part, np.full((sizes[rank], 2), N * rank))


@pytest.mark.parametrize("split_axis, gather_axis", list(itertools.product((0, 1), (0, 1))))
def test_all_to_all_transposes_the_blocks(split_axis, gather_axis):
    blocks = [np.split(of_rank(rank, 6, 3), N, split_axis) for rank in range(N)]
    got = everywhere(lambda x: all_to_all(x, split_axis=split_axis, gather_axis=gather_axis), (6, 3))
    for rank, (mine,) in enumerate(got):
        np.testing.assert_array_equal(mine, np.concatenate([blocks[r][rank] for r in range(N)], gather_axis))


def test_broadcast_and_reduce_have_a_root():
    got = everywhere(lambda x: (broadcast_from(x, root=1), reduce_to(x, root=2)), (4,))
    for rank, (sent, total) in enumerate(got):
        np.testing.assert_array_equal(sent, of_rank(1, 4))
        np.testing.assert_allclose(total, sum(of_rank(r, 4) for r in range(N)) if rank == 2 else np.zeros(4), rtol=1e-6)


LINEAR = {
    "all_reduce": lambda x: all_reduce(x), "all_gather": lambda x: all_gather(x, axis=1),
    "reduce_scatter": lambda x: reduce_scatter(x, axis=1), "broadcast_from": lambda x: broadcast_from(x, root=1),
    "all_to_all": lambda x: all_to_all(x, split_axis=1, gather_axis=0), "reduce_to": lambda x: reduce_to(x, root=2),
    "maximum": lambda x: all_reduce(x, reduction="max"), "product": lambda x: all_reduce(x, reduction="prod"),
    "part of maximum": lambda x: reduce_scatter(x, reduction="max", axis=1),
}


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_gradients_are_those_of_the_sum_over_the_ranks(name):
    function, step = LINEAR[name], 1e-2

    def losses(x):
        y = function(x)
        return (y * y).sum() / 2

    def numbers(change):
        def run():
            x = of_rank(get_rank(), 2, 3)
            if get_rank() == change[0]:
                x[change[1]] += change[2]
            return float(losses(Tensor(x)))
        return sum(SimWorld(N).run(run))
    gradients = [g for (g,) in everywhere(ms.grad(losses), (2, 3))]
    for rank, at in [(0, (0, 0)), (1, (1, 2)), (2, (0, 1))]:
        want = (numbers((rank, at, step)) - numbers((rank, at, -step))) / (2 * step)
        np.testing.assert_allclose(gradients[rank][at], want, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_forward_mode_agrees_with_reverse_mode(name):
    def run():
        rank = get_rank()
        x, v = Tensor(of_rank(rank, 2, 3)), Tensor(of_rank(rank + 9, 2, 3))
        y, tangent = ms.jvp(LINEAR[name], x, v)
        w = Tensor(of_rank(rank + 20, *y.shape))
        back = ms.grad(lambda x: (LINEAR[name](x) * w).sum())(x)
        return float((tangent * w).sum()), float((back * v).sum())
    found = SimWorld(N).run(run)
    np.testing.assert_allclose(sum(a for a, _ in found), sum(b for _, b in found), rtol=1e-4)


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_vmap_of_a_collective_is_the_stacked_loop(name):
    def run():
        xs = Tensor(of_rank(get_rank(), 4, 2, 3))
        return ms.vmap(LINEAR[name])(xs).asnumpy(), np.stack([LINEAR[name](xs[i]).asnumpy() for i in range(4)])
    for got, want in SimWorld(N).run(run):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_classes_of_mindspore_compute_the_same():
    def run():
        rank, x = get_rank(), Tensor(of_rank(get_rank(), 6, 2))
        y = P.Send(sr_tag=0, dest_rank=(rank + 1) % N)(x)
        ring = P.Receive(sr_tag=0, src_rank=(rank - 1) % N, shape=(6, 2), dtype=ms.float32)()
        P.Barrier()()
        return [z.asnumpy() for z in (
            P.AllReduce(P_MAX)(x), P.AllGather()(x), P.ReduceScatter()(x), P.Broadcast(1)((x,))[0], y, ring,
            P.AlltoAll(split_count=N, split_dim=0, concat_dim=1)(x), P.Reduce(0)(x), P.CollectiveScatter(1)(x),
            P.CollectiveGather(0)(x))]
    P_MAX = "max"
    parts = [of_rank(rank, 6, 2) for rank in range(N)]
    for rank, got in enumerate(SimWorld(N).run(run)):
        blocks = [np.split(part, N)[rank] for part in parts]
        want = [np.max(parts, 0), np.concatenate(parts), np.split(np.sum(parts, 0), N)[rank], parts[1], parts[rank],
                parts[rank - 1], np.concatenate(blocks, 1), np.sum(parts, 0) if rank == 0 else 0 * parts[0],
                np.split(parts[1], N)[rank], np.concatenate(parts) if rank == 0 else parts[rank]]
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_functions_of_comm_func_exchange_uneven_parts():
    def run():
        rank = get_rank()
        goes = [Tensor(np.full((to + 1, rank + 1), 10 * rank + to, np.float32)) for to in range(N)]
        comes, _ = all_to_all_with_output_shape([(rank + 1, source + 1) for source in range(N)], goes)
        single, _ = all_to_all_single_with_output_shape((N * (rank + 1),), Tensor(np.full(6, rank, np.float32)),
                                                        [rank + 1] * N, [1, 2, 3])
        x = Tensor(np.full(3, rank, np.float32))
        swapped = batch_isend_irecv([P2POp("irecv", x, (rank + 1) % N), P2POp("isend", x, (rank - 1) % N)])[0]
        return ([c.asnumpy() for c in comes], single.asnumpy(), swapped.asnumpy(), gather_into_tensor(x, 2).asnumpy(),
                scatter_tensor(Tensor(np.arange(N, dtype=np.float32) + rank), 1).asnumpy())
    for rank, (comes, single, swapped, gathered, scattered) in enumerate(SimWorld(N).run(run)):
        for source, c in enumerate(comes):
            np.testing.assert_array_equal(c, np.full((rank + 1, source + 1), 10 * source + rank))
        np.testing.assert_array_equal(single, np.repeat(np.arange(N), rank + 1))
        np.testing.assert_array_equal(swapped, np.full(3, (rank + 1) % N))
        np.testing.assert_array_equal(gathered, np.repeat(np.arange(N), 3) if rank == 2 else np.zeros(9))
        np.testing.assert_array_equal(scattered, [rank + 1])


def test_mint_distributed_writes_into_the_tensors_it_is_given():
    dist = ms.mint.distributed

    def run():
        dist.init_process_group()
        rank, size = dist.get_rank(), dist.get_world_size()
        x = Tensor(np.full(N, rank, np.float32))
        total, rows, part = x.copy(), [x * 0 for _ in range(size)], Tensor(np.zeros(1, np.float32))
        assert dist.all_reduce(total, async_op=True).wait() is None
        dist.all_gather(rows, x)
        dist.reduce_scatter_tensor(part, x)
        other = x.copy()
        dist.broadcast(other, 2)
        first = x.copy()
        dist.reduce(first, 0)
        dist.scatter(part * 0, [part] * N if rank == 0 else None)
        said = [None] * N
        dist.all_gather_object(said, {"rank": rank, "text": "x" * rank})
        several = [None] * get_group_size() if rank == 1 else None
        dist.gather_object({"from": rank}, several, 1)
        assert several == ([{"from": r} for r in range(get_group_size())] if rank == 1 else None)
        mine = [None]
        dist.scatter_object_list(mine, [f"for {r}" for r in range(get_group_size())] if rank == 1 else None, 1)
        assert mine == [f"for {rank}"]
        if rank == 0:
            dist.send_object_list([1, {"a": [2.5]}], 1)
        if rank == 1:
            got = [None, None]
            assert dist.recv_object_list(got, 0) == 0 and got == [1, {"a": [2.5]}]
        known = ["of rank", rank]
        dist.broadcast_object_list(known, 1)
        return [t.asnumpy() for t in (total, *rows, part, other, first)], said, known
    for rank, (found, said, known) in enumerate(SimWorld(N).run(run)):
        want = [[3] * N, *[[r] * N for r in range(N)], [3], [2] * N, [3] * N if rank == 0 else [rank] * N]
        for a, b in zip(found, want):
            np.testing.assert_array_equal(a, b)
        assert said == [{"rank": r, "text": "x" * r} for r in range(N)] and known == ["of rank", 1]


def test_objects_and_parts_go_from_one_rank_to_all_or_back():
    dist = ms.mint.distributed

    def run():
        dist.init_process_group()
        rank = dist.get_rank()
        gathered, mine, sent = [None] * N, [None], [None, None]
        dist.gather_object({"rank": rank}, gathered, dst=2)
        dist.scatter_object_list(mine, [f"for {r}" for r in range(N)] if rank == 1 else None, src=1)
        if rank == 0:
            dist.send_object_list(["text", [1, 2]], dst=2)
        elif rank == 2:
            assert dist.recv_object_list(sent, src=0) == 0
        whole, part = Tensor(np.zeros(2 * N, np.float32)), Tensor(np.zeros(2, np.float32))
        dist.gather_into_tensor(whole, Tensor(np.full(2, rank, np.float32)), dst=1)
        dist.scatter_tensor(part, Tensor(np.arange(2 * N, dtype=np.float32) + 10 * rank), src=2)
        return gathered, mine, sent, whole.asnumpy(), part.asnumpy()
    for rank, (gathered, mine, sent, whole, part) in enumerate(SimWorld(N).run(run)):
        assert gathered == ([{"rank": r} for r in range(N)] if rank == 2 else [None] * N)
        assert mine == [f"for {rank}"] and sent == (["text", [1, 2]] if rank == 2 else [None, None])
        np.testing.assert_array_equal(whole, np.repeat(np.arange(N), 2) if rank == 1 else np.zeros(2 * N))
        np.testing.assert_array_equal(part, 20 + 2 * rank + np.arange(2))


def test_groups_are_worlds_of_their_own():
    def run():
        rank = get_rank()
        create_group("even", [0, 2])
        create_group("odd", (1, 3))
        mine = "even" if rank % 2 == 0 else "odd"
        total = all_reduce(Tensor(np.float32(rank)), group=mine)
        facts = (get_rank(mine), get_group_size(mine), get_world_rank_from_group_rank(mine, 1),
                 get_group_rank_from_world_rank(rank, mine), get_process_group_ranks(mine), get_local_rank(),
                 get_local_rank_size(mine))
        with pytest.raises(ValueRangeError):
            get_rank("odd" if mine == "even" else "even")
        destroy_group(mine)
        with pytest.raises(ValueRangeError):
            get_group_size(mine)
        return float(total), facts
    for rank, (total, facts) in enumerate(SimWorld(4).run(run)):
        first = rank % 2
        assert total == 2 + 2 * first
        assert facts == (rank // 2, 2, first + 2, rank // 2, [first, first + 2], rank, 2)


def test_one_rank_needs_nobody():
    init()
    x = Tensor(np.arange(3, dtype=np.float32))
    assert (get_rank(), get_group_size()) == (0, 1)
    for got in (all_reduce(x), all_gather(x), reduce_scatter(x), broadcast_from(x), reduce_to(x)):
        np.testing.assert_array_equal(got.asnumpy(), x.asnumpy())
    with pytest.raises(ValueRangeError):
        send(x, 0)


# ---------------------------------------------------------------- what goes wrong

def test_a_rank_that_fails_ends_all_and_its_own_error_is_told():
    def run():
        if get_rank() == 1:
            raise KeyError("the reason")
        all_reduce(Tensor([1.0]))
    with pytest.raises(KeyError, match="the reason"):
        SimWorld(N).run(run)


def test_a_rank_that_ends_before_the_others_is_told_of():
    def run():
        if get_rank() != 1:
            all_reduce(Tensor([1.0]))
    with pytest.raises(RankError, match="the ranks do not do the same.*rank 1.*the end of the program"):
        SimWorld(N).run(run)


@pytest.mark.parametrize("wrong", [lambda x: all_gather(x), lambda x: all_reduce(x, reduction="max"),
                                   lambda x: all_reduce(Tensor(np.zeros(2, np.float32))), lambda x: recv(x, 0)])
def test_ranks_that_do_different_things_are_told_of(wrong):
    def run():
        x = Tensor([1.0])
        return wrong(x) if get_rank() == 1 else all_reduce(x)
    with pytest.raises(RankError, match="rank 1"):
        SimWorld(2, timeout=2).run(run)


def test_who_waits_in_vain_says_where_the_others_are():
    late = threading.Event()

    def elsewhere():
        late.wait(60)

    def run():
        elsewhere() if get_rank() == 1 else all_reduce(Tensor([1.0]))
    with pytest.raises(RankError, match="rank 1 has not come after 1 seconds; rank 1 is at .*elsewhere"):
        SimWorld(2, timeout=1).run(run)
    late.set()


def test_a_predicate_that_differs_between_ranks_is_an_error_and_no_endless_wait():
    @ms.jit(fullgraph=True)
    def step(x):
        if x.sum() > 0:
            return all_reduce(x)
        return all_gather(x).sum(0, keepdims=True)

    def run():
        return step(Tensor([1.0 - 2 * get_rank()]))
    with pytest.raises(RankError, match="the ranks do not do the same"):
        SimWorld(2).run(run)


def test_parts_that_do_not_fit_are_refused_before_anything_is_sent():
    def run():
        x = Tensor(np.zeros((4, 2), np.float32))
        for wrong in (lambda: reduce_scatter(x), lambda: reduce_scatter(x, sizes=(1, 1, 1)),
                      lambda: all_gather(x, sizes=(4, 4)), lambda: all_to_all(x, split_axis=1, gather_axis=0)):
            with pytest.raises(ShapeError):
                wrong()
        with pytest.raises(ValueRangeError):
            all_reduce(x, reduction="mean")
        return engine().sent
    assert SimWorld(N).run(run) == [{}] * N


def test_bytes_are_counted_as_a_ring_sends_them():
    def run():
        x = Tensor(np.zeros((6, 2), np.float32))
        all_reduce(x), all_gather(x), reduce_scatter(x), all_to_all(x, split_axis=0, gather_axis=1)
    world = SimWorld(N)
    world.run(run)
    assert world.sent[0] == {"all_reduce": [1, 64], "all_gather": [1, 96], "reduce_scatter": [1, 32], "all_to_all": [1, 32]}
    assert [ring_bytes("all_reduce", 48, n) for n in (1, 2, 4)] == [0, 48, 72]
    assert even_sizes(7, 3) == (3, 2, 2)


def test_a_communicating_graph_may_not_be_simplified_away():
    @ms.jit(fullgraph=True)
    def step(x):
        all_reduce(x)                                        # nobody reads it, and the other rank waits for it all the same
        return all_reduce(x) + all_reduce(x)

    def run():
        step(Tensor([1.0]))
        return engine().sent["all_reduce"][0]
    assert SimWorld(2).run(run) == [3, 3]
