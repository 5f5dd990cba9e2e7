"""mint.distributed: collectives with torch's names and manner: results are written into the tensors that are given.

    init_process_group();  all_reduce(x)  ->  x holds the sum          all_reduce(x, async_op=True)  ->  a handle with wait()

An async_op travels while the program goes on, and x holds the sum behind wait(); avg, gather and scatter are complete when they
return. They write by `ops.assign`, and have no gradients; `communication.comm_func` and `ops` have those that give new tensors.
"""
import numpy as np

from ..common.checks import check_value_type
from ..common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from ..common.ranks import WORLD, SYNONYMS, engine
from ..common.tensor import Tensor
from ..communication import create_group, get_group_rank_from_world_rank, get_world_rank_from_group_rank, init, release
from ..communication import GlobalComm, destroy_group, get_process_group_ranks as _ranks_of
from ..communication.comm_func import (Arrival, CommHandle, P2POp, batch_isend_irecv as _batch, called, exchanged, expected,
                                       fold_called, isend as _isend, when_there)
from ..communication.objects import from_bytes, to_bytes
from ..ops import assign, collectives, concat
from ..ops.composed_collectives import gather_to, scatter_from
from ..ops.define import is_array

__all__ = ["P2POp", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven", "all_gather_object", "all_reduce",
           "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list",
           "destroy_process_group", "gather", "gather_object", "get_backend", "get_global_rank", "get_group_rank",
           "get_process_group_ranks", "get_rank", "get_world_size", "init_process_group", "irecv", "is_available",
           "is_initialized", "isend", "new_group", "recv", "recv_object_list", "reduce", "reduce_scatter",
           "reduce_scatter_tensor", "reduce_scatter_tensor_uneven", "scatter", "scatter_object_list", "send", "send_object_list"]


def init_process_group(backend="hccl", init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    """`communication.init`. The launcher tells the ranks: a world_size or rank that differs is an error.

    timeout : seconds, or a datetime.timedelta
    raises  : ArgumentError for an init_method or store; ValueRangeError for another world_size or rank
    """
    if init_method is not None or store is not None:
        raise ArgumentError("init_process_group: ranks find each other through mpirun; init_method and store are left out")
    init(backend, getattr(timeout, "total_seconds", lambda: timeout)())
    for name, wanted, real in (("world_size", world_size, engine().size), ("rank", rank, engine().rank)):
        if wanted not in (-1, real):
            raise ValueRangeError(f"init_process_group: {name} is {real}, not {wanted}")


def destroy_process_group(group=None):
    """Forget a group; all of them: `communication.release`."""
    if SYNONYMS.get(group, group) == WORLD:
        release()
    else:
        destroy_group(group)


def is_available():
    """True."""
    return True


def is_initialized():
    """True between init_process_group and destroy_process_group."""
    return GlobalComm.INITED


def get_backend(group=None):
    """What joins the ranks: "mpi"."""
    engine().members(group)
    return GlobalComm.BACKEND


def get_rank(group=None):
    """This rank's number in the group, -1 if it is not in it."""
    ranks = engine().members(group)
    return ranks.index(engine().rank) if engine().rank in ranks else -1


def get_world_size(group=None):
    """How many ranks the group has, -1 if this one is not in it."""
    ranks = engine().members(group)
    return len(ranks) if engine().rank in ranks else -1


def get_process_group_ranks(group=None):
    """The ranks of a group."""
    return _ranks_of(group)


def get_global_rank(group, group_rank):
    """The number in the world of a group's rank."""
    return get_world_rank_from_group_rank(group, group_rank)


def get_group_rank(group, global_rank):
    """The number in a group of a rank of the world."""
    return get_group_rank_from_world_rank(global_rank, group)


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None):
    """Name a group of ranks (all by default); gives the name. All ranks call this in the same order."""
    ranks = list(range(engine().size)) if ranks is None else list(ranks)
    name = group_desc or "-".join(map(str, sorted(ranks)))
    create_group(name, ranks)
    return name


def _handle(async_op):
    check_value_type("async_op", async_op, bool, "a collective")
    return CommHandle() if async_op else None


def _write(name, target, value, also=None):
    """`target` becomes `value`. also: another shape that it may have

    raises : ArgumentError for what is no Tensor; DTypeError, ShapeError where it is another one than comes
    """
    _check_fits(name, target, value, also)
    assign(target, value if target.shape == value.shape else value.reshape(target.shape))


def _check_fits(name, target, value, also=None):
    _check_tensor(name, target)
    if target.dtype != value.dtype:
        raise DTypeError(f"{name}: {value.dtype} comes, and is written to {target.dtype}")
    if target.shape != value.shape and tuple(target.shape) != also:
        raise ShapeError(f"{name}: {list(value.shape)} comes, and is written to {list(target.shape)}")


def _written(name, target, collective, also=None):
    """`target` becomes what a collective gives, once it is there; a handle or None. raises : as _write, at once"""
    _check_fits(name, target, collective[0], also)
    return when_there(collective, lambda value: _write(name, target, value, also))


def _check_tensor(name, tensor):
    if not is_array(tensor) or isinstance(tensor, (np.ndarray, np.generic)):
        raise ArgumentError(f"{name}: takes a Tensor, not {type(tensor).__name__}")


def all_reduce(tensor, op="sum", group=None, async_op=False):
    """tensor becomes the fold of all ranks', by sum, prod, max, min or avg. raises : ArgumentError, RankError"""
    _check_tensor("all_reduce", tensor)
    return _written("all_reduce", tensor, fold_called(collectives.all_reduce, tensor, op, group, async_op))


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """output_tensor becomes all ranks' input_tensor along axis 0, or stacked, as its shape is. raises : ShapeError, RankError"""
    rows = input_tensor if input_tensor.shape else input_tensor.reshape(1)
    stacked = len(engine().members(group)), *input_tensor.shape
    return _written("all_gather_into_tensor", output_tensor, _gathered(rows, None, group, async_op), stacked)


def all_gather_into_tensor_uneven(output, input, output_split_sizes=None, group=None, async_op=False):
    """output becomes all ranks' input along axis 0, whose sizes there are output_split_sizes."""
    sizes = None if output_split_sizes is None else tuple(output_split_sizes)
    return _written("all_gather_into_tensor_uneven", output, _gathered(input, sizes, group, async_op))


def _gathered(rows, sizes, group, async_op):
    return called(collectives.all_gather, rows, async_op, axis=0, group=group, sizes=sizes, place=None)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """tensor_list[r] becomes the tensor of rank r; all have one shape. raises : ShapeError for a list of another length"""
    count = len(engine().members(group))
    _check_length("all_gather", tensor_list, count)
    for target in tensor_list:
        _check_fits("all_gather", target, tensor)

    def write(gathered):
        for place, target in enumerate(tensor_list):
            _write("all_gather", target, gathered[place])
    return when_there(_gathered(tensor.reshape((1, *tensor.shape)), None, group, async_op), write)


def reduce_scatter_tensor(output, input, op="sum", group=None, async_op=False):
    """output becomes this rank's part along axis 0 of the fold of all ranks' input, by sum, prod, max, min or avg."""
    part = _scattered(input, None, op, group, async_op)
    shape = part[0].shape
    return _written("reduce_scatter_tensor", output, part, tuple(shape[1:]) if shape[0] == 1 else None)


def reduce_scatter_tensor_uneven(output, input, input_split_sizes=None, op="sum", group=None, async_op=False):
    """output becomes this rank's part of the fold; input_split_sizes: those of the parts."""
    sizes = None if input_split_sizes is None else tuple(input_split_sizes)
    return _written("reduce_scatter_tensor_uneven", output, _scattered(input, sizes, op, group, async_op))


def _scattered(rows, sizes, op, group, async_op):
    return fold_called(collectives.reduce_scatter, rows, op, group, async_op, axis=0, sizes=sizes, place=None)


def reduce_scatter(output, input_list, op="sum", group=None, async_op=False):
    """output becomes the fold of what all ranks have at this rank's place of input_list."""
    _check_length("reduce_scatter", input_list, len(engine().members(group)))
    stacked = concat([x.reshape((1, *x.shape)) for x in input_list])
    _check_fits("reduce_scatter", output, input_list[0])
    return when_there(_scattered(stacked, None, op, group, async_op), lambda part: _write("reduce_scatter", output, part[0]))


def broadcast(tensor, src, group=None, async_op=False):
    """tensor becomes that of the rank src of the world."""
    _check_tensor("broadcast", tensor)
    return _written("broadcast", tensor, called(collectives.broadcast_from, tensor, async_op, root=get_group_rank(group, src),
                                                group=group))


def reduce(tensor, dst, op="sum", group=None, async_op=False):
    """tensor becomes the fold, on the rank dst of the world; on the others it stays."""
    root = get_group_rank(group, dst)
    _check_tensor("reduce", tensor)
    collective = fold_called(collectives.reduce_to, tensor, op, group, async_op, root=root)
    return when_there(collective, lambda total: _write("reduce", tensor, total) if get_rank(group) == root else None)


def gather(tensor, gather_list, dst=0, group=None, async_op=False):
    """On the rank dst of the world gather_list[r] becomes the tensor of rank r; the others give None or an empty list."""
    gathered = gather_to(tensor.reshape((1, *tensor.shape)), root=get_group_rank(group, dst), group=group)
    if engine().rank == dst:
        _check_length("gather", gather_list, len(engine().members(group)))
        for place, target in enumerate(gather_list):
            _write("gather", target, gathered[place])
    return _handle(async_op)


def scatter(tensor, scatter_list, src=0, group=None, async_op=False):
    """tensor becomes what the rank src of the world has at this rank's place of scatter_list."""
    count, root = len(engine().members(group)), get_group_rank(group, src)
    if engine().rank == src:
        _check_length("scatter", scatter_list, count)
        stacked = concat([x.reshape((1, *x.shape)) for x in scatter_list])
    else:
        stacked = Tensor(np.empty((count, *tensor.shape), tensor.dtype.numpy))
    _write("scatter", tensor, scatter_from(stacked, root=root, group=group)[0])
    return _handle(async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """output_tensor_list[r] becomes what rank r has at this rank's place of input_tensor_list; shapes may differ."""
    count = len(engine().members(group))
    _check_length("all_to_all", output_tensor_list, count)
    _check_length("all_to_all", input_tensor_list, count)
    flat = [x.reshape(-1) for x in input_tensor_list]
    comes = [y.size for y in output_tensor_list]

    def write(got):
        begin = 0
        for target, size in zip(output_tensor_list, comes):
            _write("all_to_all", target, got[begin:begin + size].reshape(target.shape))
            begin += size
    return when_there(exchanged(concat(flat), [x.size for x in flat], comes, group, async_op), write)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """output becomes the parts along axis 0 that the ranks have for this one; even sizes by default."""
    return _written("all_to_all_single", output, exchanged(input, input_split_sizes, output_split_sizes, group, async_op))


def barrier(group=None, async_op=False, device_ids=None):
    """Wait until all ranks are here."""
    check_value_type("async_op", async_op, bool, "barrier")
    engine().place(group)
    if async_op:
        return CommHandle(engine().begin(lambda: engine().barrier(group)))
    collectives.synchronise(group=group)
    return None


def send(tensor, dst=0, group=None, tag=0):
    """Send to the rank dst of the world, which calls recv."""
    collectives.send(tensor, to=get_group_rank(group, dst), tag=tag, group=group)


def recv(tensor, src=0, group=None, tag=0):
    """tensor becomes what the rank src of the world has sent; gives src."""
    _check_tensor("recv", tensor)
    assign(tensor, collectives.receive(shape=tuple(tensor.shape), dtype=tensor.dtype, source=get_group_rank(group, src), tag=tag,
                                       group=group))
    return src


def isend(tensor, dst=0, group=None, tag=0):
    """send that goes on at once, and a handle; the tensor may change at once. raises : ValueRangeError as of send"""
    _check_tensor("isend", tensor)
    return _isend(tensor, dst, group, tag)


def irecv(tensor, src=0, group=None, tag=0):
    """recv that goes on at once, and a handle: tensor becomes what comes when that is waited for."""
    _check_tensor("irecv", tensor)
    return CommHandle(Arrival(expected(tensor, src, group, tag), lambda array: assign(tensor, Tensor.wrap(array))))


def batch_isend_irecv(p2p_op_list):
    """Send and receive what a list of P2POp says; the tensors of an "irecv" become what comes. Gives a list of one handle.

    raises : ArgumentError for an empty list, for one of other objects, or where a tensor is none; RankError
    """
    if not p2p_op_list or not all([isinstance(one, P2POp) and isinstance(one.tensor, Tensor) for one in p2p_op_list]):
        raise ArgumentError("batch_isend_irecv: takes a list of P2POp with Tensors")
    for one, came in zip(p2p_op_list, _batch(p2p_op_list)):
        if one.op == "irecv":
            assign(one.tensor, came)
    return [CommHandle()]


def all_gather_object(object_list, obj, group=None):
    """object_list[r] becomes the obj of rank r: None, numbers, text, bytes, arrays and Tensors, in lists, tuples, dicts and sets.
    No code travels.

    raises : ArgumentError for another object
    """
    mine = to_bytes("all_gather_object", obj)
    ranks = engine().members(group)
    _check_length("all_gather_object", object_list, len(ranks))
    sizes = tuple(engine().all_gather(np.array([mine.size]), (1,) * len(ranks), 0, group).tolist())
    got = engine().all_gather(mine, sizes, 0, group)
    ends = np.cumsum(sizes)
    object_list[:] = [from_bytes(got[end - size:end]) for size, end in zip(sizes, ends)]


def broadcast_object_list(object_list, src=0, group=None, device=None):
    """object_list becomes that of the rank src of the world. raises : ArgumentError for what `all_gather_object` does not take"""
    gathered = [None] * len(engine().members(group))
    all_gather_object(gathered, list(object_list) if engine().rank == src else [], group)
    object_list[:] = gathered[get_group_rank(group, src)]


def gather_object(obj, object_gather_list=None, dst=0, group=None):
    """object_gather_list[r] becomes the obj of rank r, on the rank dst of the world alone; others leave the list out.

    raises : ArgumentError for what `all_gather_object` does not take, and where dst has no list; ShapeError for one of another
    length
    """
    ranks, root = engine().members(group), get_group_rank(group, dst)
    mine = engine().rank == dst
    if mine:
        if not isinstance(object_gather_list, list):
            raise ArgumentError("gather_object: the rank dst gives a list", note=type(object_gather_list).__name__)
        _check_length("gather_object", object_gather_list, len(ranks))
        object_gather_list[root] = from_bytes(to_bytes("gather_object", obj))
        for place in range(len(ranks)):
            if place != root:
                object_gather_list[place] = _received(place, group)
    else:
        _deliver(to_bytes("gather_object", obj), root, group)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list, src=0, group=None):
    """The first of scatter_object_output_list becomes this rank's of scatter_object_input_list, which the rank src has.

    raises : ArgumentError for what `all_gather_object` does not take, and for an empty list of results; ShapeError for a list of
    another length
    """
    ranks, root = engine().members(group), get_group_rank(group, src)
    if not scatter_object_output_list:
        raise ArgumentError("scatter_object_list: scatter_object_output_list has no place for the object")
    if engine().rank != src:
        scatter_object_output_list[0] = _received(root, group)
        return
    _check_length("scatter_object_list", scatter_object_input_list, len(ranks))
    told = [to_bytes("scatter_object_list", value) for value in scatter_object_input_list]
    for place, message in enumerate(told):
        if place != root:
            _deliver(message, place, group)
    scatter_object_output_list[0] = from_bytes(told[root])


def send_object_list(object_list, dst, group=None, device=None):
    """Send the objects of a list to the rank dst of the world.

    raises : ArgumentError for what `all_gather_object` does not take; ValueRangeError for this very rank
    """
    if dst == engine().rank:
        raise ValueRangeError(f"send_object_list: rank {dst} sends to itself")
    _deliver(to_bytes("send_object_list", list(object_list)), get_group_rank(group, dst), group)


def recv_object_list(object_list, src=0, group=None, device=None):
    """The objects of a list become those that the rank src of the world has sent; gives 0.

    raises : ShapeError where another number of them comes; ValueRangeError for this very rank
    """
    if src == engine().rank:
        raise ValueRangeError(f"recv_object_list: rank {src} receives from itself")
    found = _received(get_group_rank(group, src), group)
    _check_length("recv_object_list", object_list, len(found))
    object_list[:] = found
    return 0


OBJECT = 7100                                    # the tag of the size of an object; its bytes have the next one


def _deliver(message, to, group):
    engine().send(np.array([message.size]), to, OBJECT, group)
    engine().send(message, to, OBJECT + 1, group)


def _received(source, group):
    size, = engine().receive((1,), np.int64, source, OBJECT, group)
    return from_bytes(engine().receive((int(size),), np.uint8, source, OBJECT + 1, group))


def gather_into_tensor(output_tensor, input_tensor, dst=0, group=None, async_op=False):
    """On the rank dst of the world output_tensor becomes all ranks' input_tensor along axis 0; on the others it stays."""
    gathered = gather_to(input_tensor, root=get_group_rank(group, dst), group=group)
    if engine().rank == dst:
        _write("gather_into_tensor", output_tensor, gathered)
    return _handle(async_op)


def scatter_tensor(output_tensor, input_tensor, src=0, group=None, async_op=False):
    """output_tensor becomes this rank's even part, along axis 0, of the input_tensor of the rank src of the world."""
    part = scatter_from(input_tensor, root=get_group_rank(group, src), group=group)
    _write("scatter_tensor", output_tensor, part)
    return _handle(async_op)


def _check_length(name, tensors, count):
    check_value_type("what has a place for each rank", tensors, (list, tuple), name)
    if len(tensors) != count:
        raise ShapeError(f"{name}: a list of {len(tensors)} for {count} ranks")
