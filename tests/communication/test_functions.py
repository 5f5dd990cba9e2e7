"""comm_func and mint.distributed: which rank is meant, what is written where, messages on their way, mistakes."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor
from mindlite.common.errors import ArgumentError, DTypeError, RankError, ShapeError, ValueRangeError
from mindlite.communication import SimWorld, comm_func, create_group, get_group_rank_from_world_rank, get_group_size, get_rank
from mindlite.ops import operations as P
from mindlite.ops.collectives import ReduceOp, all_gather, all_reduce, reduce_scatter, reduce_to
from mindlite.ops.composed_collectives import gather_to, scatter_from

dist = ms.mint.distributed
N = 3


def tensor(*values, dtype=np.float32):
    return Tensor(np.array(values, dtype))


# ---------------------------------------------------------------- whose number it is

def test_functions_name_ranks_of_the_world_and_classes_those_of_the_group():
    """As in MindSpore. Of the ranks 1 and 3: rank 1 of the world is rank 0 of the group."""
    def run():
        create_group("odd", [1, 3])
        rank = get_rank()
        if rank % 2 == 0:
            return None
        x = tensor(rank, 10 + rank)
        if rank == 1:
            comm_func.send(x, 3, "odd")
        return [y.asnumpy().tolist() for y in (
            comm_func.broadcast(x, 1, "odd"), comm_func.reduce(x, 3, group="odd"), comm_func.gather_into_tensor(x, 3, "odd"),
            comm_func.scatter_tensor(x, 3, "odd"), comm_func.recv(x, 1, "odd") if rank == 3 else x,
            comm_func.batch_isend_irecv([comm_func.P2POp("isend", x, 4 - rank, "odd"),
                                         comm_func.P2POp("irecv", x, 4 - rank, "odd")])[1],
            P.Broadcast(1, "odd")((x,))[0], P.Reduce(0, "sum", "odd")(x), P.CollectiveScatter(1, "odd")(x),
            P.CollectiveGather(0, "odd")(x))]
    _, first, _, second = SimWorld(4).run(run)
    assert first == [[1, 11], [0, 0], [0, 0, 0, 0], [3], [1, 11], [3, 13], [3, 13], [4, 24], [3], [1, 11, 3, 13]]
    assert second == [[1, 11], [4, 24], [1, 11, 3, 13], [13], [1, 11], [1, 11], [3, 13], [0, 0], [13], [3, 13]]


# ---------------------------------------------------------------- what one rank alone has

@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_what_the_other_ranks_hold_does_not_count(graph):
    """nan and inf there, the sign of zero, bool: parts of one rank are copied, not summed up with zeros."""
    def each(x, flags):
        return (scatter_from(x, root=1), comm_func.scatter_tensor(x, 1), P.CollectiveScatter(1)(x),
                scatter_from(flags, root=1), comm_func.gather_into_tensor(x, 1), reduce_to(x, root=1))

    def run():
        one = get_rank() == 1
        x = tensor(-0.0, 1, 2, np.inf, 4, 5) if one else tensor(*[np.nan] * 6)
        function = ms.jit(each, fullgraph=True) if graph else each
        parts = [y.asnumpy() for y in function(x, tensor(*[one] * 6, dtype=bool))]
        return parts, np.signbit(parts[0]).tolist()
    want = np.array([-0.0, 1, 2, np.inf, 4, 5], np.float32)
    for rank, (parts, signs) in enumerate(SimWorld(N).run(run)):
        for part in parts[:3]:
            np.testing.assert_array_equal(part, want[2 * rank:2 * rank + 2])
        assert signs == [rank == 0, False] and parts[3].tolist() == [True, True]
        if rank != 1:
            assert not parts[4].any() and not parts[5].any()


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("way", ["scatter", "gather", "class"])
def test_gradients_go_to_and_come_from_the_root(way, graph):
    """Each rank weighs what it gets by its number + 1; of a rank's loss all ranks that took part have the gradient."""
    def loss(x):
        weight = get_rank() + 1.0
        if way == "scatter":
            return (comm_func.scatter_tensor(x, 1) * weight).sum()
        gathered = comm_func.gather_into_tensor(x, 1) if way == "gather" else P.CollectiveGather(1)(x)
        return (gathered * weight).sum()

    def run():
        f = ms.grad(loss)
        return (ms.jit(f, fullgraph=True) if graph else f)(tensor(1, 2, 3)).asnumpy().tolist()
    got = SimWorld(N).run(run)
    own = [[0.0] * 3 if way == "gather" else [rank + 1.0] * 3 for rank in range(N)]
    own[1] = [0.0] * 3
    want = [[0.0] * 3, [1.0, 2.0, 3.0], [0.0] * 3] if way == "scatter" else [
        [2.0 + a for a in own[rank]] for rank in range(N)]
    assert got == want


def test_a_rank_without_a_row_has_to_go_on_with_it():
    def run():
        x = tensor(get_rank(), 7)
        got = gather_to(x, root=2)
        return got.shape, float(got.sum())
    assert SimWorld(N).run(run) == [((0,), 0), ((0,), 0), ((6,), 24)]


# ---------------------------------------------------------------- what is written where

def test_a_batch_of_messages_is_written_into_its_tensors():
    def run():
        rank, x = get_rank(), tensor(0)
        handle, = dist.batch_isend_irecv([dist.P2POp("isend", tensor(rank), (rank + 1) % N),
                                          dist.P2POp("irecv", x, (rank - 1) % N)])
        handle.wait()
        return float(x)
    assert SimWorld(N).run(run) == [2, 0, 1]


def test_counts_of_all_ranks_say_who_gets_how_many_rows():
    """Rank i sends 2 i + j rows to rank j."""
    counts = [2 * i + j for i in range(N) for j in range(N)]

    def run():
        rank = get_rank()
        rows = np.repeat(np.arange(N) + 10 * rank, counts[rank * N:rank * N + N])
        came = Tensor(np.zeros(sum(counts[rank::N]), np.int64))
        assert comm_func.all_to_all_v_c(came, Tensor(rows), counts) is None
        with pytest.raises(ShapeError, match="4 counts for 3 ranks"):
            comm_func.all_to_all_v_c(came, Tensor(rows), [1] * 4)
        return came.tolist()
    for rank, came in enumerate(SimWorld(N).run(run)):
        assert came == [10 * i + rank for i in range(N) for _ in range(2 * i + rank)]


def test_an_avg_is_the_sum_by_the_number_of_ranks():
    def run():
        x, part, first = tensor(get_rank(), 5), tensor(0), tensor(get_rank())
        dist.all_reduce(x, op="avg")
        dist.reduce_scatter_tensor(part, tensor(0, get_rank(), 9), op="avg")
        dist.reduce(first, 1, op=ReduceOp.AVG)
        return [*x.tolist(), *part.tolist(), *first.tolist(), float(P.AllReduce("avg")(tensor(get_rank()))[0]),
                float(comm_func.all_reduce(tensor(get_rank()), op="avg", async_op=True)[0][0])]
    assert SimWorld(N).run(run) == [[1, 5, [0, 1, 9][r], 1 if r == 1 else r, 1, 1] for r in range(N)]


def test_results_may_be_stacked_and_are_of_the_dtype_that_comes():
    def run():
        x, rows, flat, one = tensor(get_rank(), 1), Tensor(np.zeros((N, 2), np.float32)), tensor(*[0] * 6), tensor(0, 0, 0)
        dist.all_gather_into_tensor(rows, x)
        dist.all_gather_into_tensor(flat, x)
        dist.all_gather_into_tensor(one, Tensor(np.float32(get_rank())))
        for wrong, kind in ((Tensor(np.zeros((6, 1), np.float32)), ShapeError), (tensor(*[0] * 6, dtype=np.int32), DTypeError),
                            (np.zeros(6, np.float32), ArgumentError)):
            with pytest.raises(kind):
                dist.all_gather_into_tensor(wrong, x)
        return rows.asnumpy().ravel().tolist(), flat.tolist(), one.tolist()
    for found in SimWorld(N).run(run):
        assert found == ([0, 1, 1, 1, 2, 1], [0, 1, 1, 1, 2, 1], [0, 1, 2])


def test_objects_come_as_they_went():
    """A tuple stays a tuple, an int a key, an array an array."""
    def told(rank):
        return {"pair": (rank, 2.5), rank: [None, True, "text", b"\x00\xff", 1j], ("a", 1): {1, 2}, 2.5: frozenset([np.inf])}

    def run():
        rank, found, arrays = get_rank(), [None] * N, [None] * N
        dist.all_gather_object(found, told(rank))
        dist.all_gather_object(arrays, [np.arange(rank), np.float64(rank), tensor(rank).astype(ms.bfloat16)])
        with pytest.raises(ArgumentError, match="not object"):
            dist.all_gather_object(found, [object()])
        return found, arrays
    for found, arrays in SimWorld(N).run(run):
        assert found == [told(rank) for rank in range(N)]
        assert [type(key) for key in found[1]] == [str, int, tuple, float]
        for rank, (numbers, number, x) in enumerate(arrays):
            assert numbers.dtype == np.arange(1).dtype and numbers.tolist() == list(range(rank))
            assert type(number) is np.float64 and number == rank
            assert isinstance(x, Tensor) and x.dtype == ms.bfloat16 and float(x[0]) == rank


# ---------------------------------------------------------------- messages on their way

def test_what_is_expected_first_comes_first_whoever_is_waited_for():
    def run():
        if get_rank() == 0:
            for number in range(4):
                comm_func.isend(tensor(number), 1)
            return None
        x, later = tensor(-1), tensor(-1)
        first, second = dist.irecv(x, 0), dist.irecv(later, 0)
        third, last = comm_func.irecv(x, 0)
        second.wait()
        assert first.is_completed() and first.wait() is None and first.wait() is None
        last.wait()
        return [float(y) for y in (x, later, third, comm_func.recv(x, 0))]
    assert SimWorld(2).run(run)[1] == [0, 1, 2, 3]


def test_a_tensor_may_change_once_it_was_sent():
    def run():
        x, y = tensor(get_rank() + 1), tensor(0)
        handles = [dist.irecv(y, 1 - get_rank()), dist.isend(x, 1 - get_rank())]
        x[:] = 10
        for handle in handles:
            handle.wait()
        return float(y)
    assert SimWorld(2).run(run) == [2, 1]


def test_another_array_than_is_expected_is_told_of():
    def run():
        if get_rank() == 0:
            comm_func.isend(tensor(1, 2), 1)
        else:
            comm_func.irecv(tensor(1), 0)[1].wait()
    with pytest.raises(RankError, match=r"waits for float32\[1\] from rank 0, which has sent float32\[2\]"):
        SimWorld(2).run(run)


# ---------------------------------------------------------------- mistakes: the same error on all ranks, before anything travels

MISTAKES = {
    "a list as a group": (ArgumentError, lambda x: all_reduce(x, group=[0, 1])),
    "a number as a group": (ArgumentError, lambda x: dist.get_rank(1)),
    "no ranks": (ValueRangeError, lambda x: all_reduce(x, group=())),
    "ranks twice": (ValueRangeError, lambda x: all_reduce(x, group=(0, 0, 1))),
    "ranks that are not there": (ValueRangeError, lambda x: all_reduce(x, group=(-1, 0, 1, 2))),
    "a rank that is not there": (ValueRangeError, lambda x: comm_func.broadcast(x, 9)),
    "a negative rank": (ValueRangeError, lambda x: comm_func.reduce(x, -1)),
    "text as a rank": (ArgumentError, lambda x: comm_func.broadcast(x, "0")),
    "a flag as a rank": (ArgumentError, lambda x: dist.broadcast(x, True)),
    "a float as a root": (ArgumentError, lambda x: P.Broadcast(1.0)((x,))),
    "a flag in a group": (ArgumentError, lambda x: create_group("two", [False, True])),
    "text in a group": (ArgumentError, lambda x: create_group("two", ["0", "1"])),
    "text as a rank of the world": (ArgumentError, lambda x: get_group_rank_from_world_rank("1", "world")),
    "to itself": (ValueRangeError, lambda x: comm_func.send(x, get_rank())),
    "from itself": (ValueRangeError, lambda x: dist.irecv(x, get_rank())),
    "text as a tag": (ArgumentError, lambda x: comm_func.isend(x, (get_rank() + 1) % N, tag="a")),
    "text for async_op": (ArgumentError, lambda x: comm_func.all_reduce(x, async_op="yes")),
    "text for async_op of mint": (ArgumentError, lambda x: dist.broadcast(x, 0, async_op="yes")),
    "a number to write to": (ArgumentError, lambda x: dist.all_reduce(1.0)),
    "an array to write to": (ArgumentError, lambda x: dist.broadcast(np.ones(3), 0)),
    "no list of results": (ArgumentError, lambda x: dist.all_gather(x, x)),
    "a sum of bool": (DTypeError, lambda x: reduce_scatter(x > 0)),
    "a sum of bool on one rank": (DTypeError, lambda x: reduce_to(x > 0)),
    "an avg of ints": (DTypeError, lambda x: P.AllReduce("avg")(x.astype(ms.int32))),
    "a fold that is none": (ValueRangeError, lambda x: comm_func.all_reduce(x, op="mean")),
    "sizes for fewer ranks": (ShapeError, lambda x: all_gather(x, sizes=(3, 3))),
    "parts for fewer ranks": (ShapeError, lambda x: dist.all_to_all_single(x, x, [1, 1, 1], [3])),
    "parts of fewer ranks": (ShapeError, lambda x: dist.all_to_all_single(x, x, [1, 2], [1, 1, 1])),
    "parts below 0": (ShapeError, lambda x: dist.all_to_all_single(x, x, [4, -1, 0], [4, -1, 0])),
    "no axis to join along": (ShapeError, lambda x: all_gather(x.sum())),
    "no axis to part": (ShapeError, lambda x: comm_func.scatter_tensor(x.sum())),
    "parts that are not even": (ShapeError, lambda x: comm_func.scatter_tensor(x[:2])),
    "no peer": (ArgumentError, lambda x: comm_func.P2POp("isend", x, "1")),
    "a batch of nothing": (ArgumentError, lambda x: dist.batch_isend_irecv([])),
}


@pytest.fixture(scope="module")
def mistaken():
    """Of each mistake what each rank has raised, all in one world: nothing has travelled by then, so it goes on."""
    def attempt(call):
        try:
            call(tensor(1, 2, 3))
        except Exception as error:
            return error
        return None

    def run():
        found = {name: attempt(call) for name, (_, call) in MISTAKES.items()}
        assert float(all_reduce(tensor(1))[0]) == get_group_size()
        return found
    return SimWorld(N).run(run)


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_is_told_of_by_its_name(name, mistaken):
    for found in mistaken:
        assert type(found[name]) is MISTAKES[name][0], found[name]
