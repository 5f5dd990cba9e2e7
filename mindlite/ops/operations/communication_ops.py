"""MindSpore's classes of collectives: `operations.AllReduce(ReduceOp.SUM)(x)`. They part and join along axis 0."""
from ...common.errors import DTypeError, ValueRangeError
from ...common.ranks import WORLD, engine
from ..basic import reshape
from ..collectives import (ReduceOp, all_gather, all_reduce, all_to_all, broadcast_from, receive, reduce_scatter, reduce_to, send,
                           synchronise)
from ..composed_collectives import fold_by, gather_to, scatter_from
from ..define import is_array
from ..structure import concat
from .define import operation


@operation
def AllReduce(input_x, *, op=ReduceOp.SUM, group=WORLD):
    """The fold of all ranks' input_x, on each rank: `ops.all_reduce`."""
    return fold_by(all_reduce, input_x, op, group=group)


@operation
def AllGather(input_x, *, group=WORLD):
    """All ranks' input_x one after the other along axis 0."""
    return all_gather(input_x, group=group)


@operation
def ReduceScatter(input_x, *, op=ReduceOp.SUM, group=WORLD):
    """This rank's part, along axis 0, of the fold of all ranks' input_x. raises : ShapeError if the parts are not even"""
    return fold_by(reduce_scatter, input_x, op, group=group)


@operation
def Broadcast(input_x, *, root_rank, group=WORLD):
    """The tensors of rank root_rank of the group; input_x is a tuple of them. The gradients are summed on that rank."""
    one = is_array(input_x)
    sent = tuple([broadcast_from(x, root=root_rank, group=group) for x in ((input_x,) if one else input_x)])
    return sent[0] if one else sent


@operation
def AlltoAll(input_x, *, split_count, split_dim, concat_dim, group=WORLD):
    """Part r along split_dim of each rank's input_x goes to rank r, which puts them together along concat_dim.

    raises : ValueRangeError where split_count is not the number of ranks
    """
    if split_count != len(engine().members(group)):
        raise ValueRangeError(f"AlltoAll: split_count is {split_count}, and there are {len(engine().members(group))} ranks")
    return all_to_all(input_x, split_axis=split_dim, gather_axis=concat_dim, group=group)


@operation
def Reduce(input_x, *, dest_rank, op=ReduceOp.SUM, group=WORLD):
    """The fold of all ranks' input_x on rank dest_rank of the group, zeros on the others."""
    return fold_by(reduce_to, input_x, op, root=dest_rank, group=group)


@operation
def CollectiveScatter(input_x, *, src_rank=0, group=WORLD):
    """Part r, along axis 0, of the input_x of rank src_rank of the group; the others give one of the same shape, which is not
    looked at."""
    return scatter_from(input_x, root=src_rank, group=group)


@operation
def CollectiveGather(input_x, *, dest_rank, group=WORLD):
    """All ranks' input_x along axis 0 on rank dest_rank of the group; the others get their own."""
    gathered = gather_to(input_x, root=dest_rank, group=group)
    return gathered if engine().place(group) == dest_rank else concat([gathered, input_x])


@operation
def Send(input_x, *, sr_tag, dest_rank, group=WORLD, group_back=WORLD):
    """Send input_x to rank dest_rank of the group, which calls Receive with the same tag; gives input_x."""
    send(input_x, to=dest_rank, tag=sr_tag, group=group)
    return input_x


@operation
def Receive(*, sr_tag, src_rank, shape, dtype, group=WORLD, group_back=WORLD):
    """What rank src_rank of the group has sent with that tag."""
    return receive(shape=tuple(shape), dtype=dtype, source=src_rank, tag=sr_tag, group=group)


@operation
def Barrier(*, group=WORLD):
    """Wait until all ranks are here."""
    synchronise(group=group)


@operation
def NeighborExchange(input_x, *, send_rank_ids, recv_rank_ids, recv_shapes, send_shapes, recv_type, group=WORLD):
    """input_x[i] goes to rank send_rank_ids[i]; the result is the tuple of what comes from recv_rank_ids. A rank's own stays.

    raises : ValueRangeError where the counts differ; DTypeError where a tensor is not of recv_type
    """
    if len(input_x) != len(send_rank_ids) or len(recv_shapes) != len(recv_rank_ids):
        raise ValueRangeError(f"NeighborExchange: {len(input_x)} tensors for {len(send_rank_ids)} ranks, {len(recv_shapes)} "
                              f"shapes from {len(recv_rank_ids)}")
    if any(x.dtype != recv_type for x in input_x):
        raise DTypeError(f"NeighborExchange: all tensors are {recv_type}")
    mine = engine().place(group)
    own = {to: x for to, x in zip(send_rank_ids, input_x) if to == mine}
    for to, x in zip(send_rank_ids, input_x):
        if to != mine:
            send(x, to=to, tag=to, group=group)
    return tuple([reshape(own[source], shape=tuple(shape)) if source == mine else
                  receive(shape=tuple(shape), dtype=recv_type, source=source, tag=mine, group=group)
                  for source, shape in zip(recv_rank_ids, recv_shapes)])
