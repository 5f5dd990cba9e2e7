"""Eager mode on several ranks: an operator on sharded Tensors chooses SBPs by the rules of the graph, and boxes.

    x : f32[8, 4] (S0), w : f32[4, 6] (B)         x @ w   ->  each rank multiplies its rows      f32[8, 6] (S0)
    x : f32[8, 4] (S1), w : f32[4, 6] (S0)        x @ w   ->  an addend on each rank             f32[8, 6] (P)

An operator is a graph of one node, parted by `parallel/partition.py` with its operands where they lie; the result stays where
it is made. The program of a rank is cached by signature. A tape records the operator of whole tensors, and its backward graph is
parted in the same way: gradients are those of one process. Operands that are not sharded count as whole and equal on all ranks.
"""
import threading

import numpy as np

from ..common.dtype import DType
from ..common.errors import ArgumentError, MindliteError, user_location
from ..common.locks import new_lock
from ..common.ranks import engine
from ..common.storage import ShardedArray
from ..common.tensor import Parameter, Tensor
from ..common.threads import here
from ..mindir.abstract import AbstractTensor
from ..mindir.builder import constant
from ..mindir.graph import AnfNode
from ..mindir.primitive import infer_rule
from ..ops.collectives import placed
from ..ops.methods import method
from ..parallel.boxing import box
from ..parallel.layout import Layout, Placement, whole
from ..parallel.partition import fits
from .kernels import single_node
from .local_program import LocalProgram, placements_of, program_key
from .operation import Operation
from .settings import settings_of, hold_tensors
from .tape import paused, protect

MAX_PROGRAMS = 1 << 12
_PLAIN = (int, float, complex, str, type(None), DType)
_new, _host = Tensor.__new__, vars(Tensor)["host_array"].__get__
_operators: dict = {}
_lock = new_lock()


def compute_sharded(prim, args, attrs):
    """prim(*args, **attrs), where a Tensor among the arguments is sharded: (its Operation, a Tensor or a tuple of them).

    raises : ArgumentError for operands on two meshes; what the operator raises
    """
    values = [a.elements if isinstance(a, Tensor) else np.asarray(a) if isinstance(a, np.generic) else a for a in args]
    operation, program = _prepared(prim, values, attrs)
    results = [_wrapped(result) for result in program.run(values)]
    return operation, tuple(results) if operation.several else results[0]


def _prepared(prim, values, attrs):
    """(the Operation, the LocalProgram) of an operator for arrays and numbers."""
    key = (prim, *program_key(values), *[
        (type(v), v.dtype, v.shape) if isinstance(v, (np.ndarray, ShardedArray)) else (type(v), repr(v)) for v in values],
        *[(name, type(value), repr(value)) for name, value in attrs.items()])
    found = _operators.get(key)
    if found is None and attrs and hold_tensors(attrs.values()):
        return _prepared(prim, values, settings_of(prim, attrs))
    if found is None:
        try:
            abstracts = tuple([AbstractTensor(constant(v.part).abstract.dtype, v.shape) if isinstance(v, ShardedArray)
                               else constant(v).abstract for v in values])
            operation = Operation(prim, abstracts, attrs, infer_rule[prim](*abstracts, **attrs))
            found = operation, LocalProgram(single_node(operation), placements_of(values))
        except MindliteError as error:
            raise error.at(user_location())
        with _lock:
            if len(_operators) >= MAX_PROGRAMS:
                _operators.clear()
            _operators[key] = found
    return found


def _wrapped(result):
    if type(result) is ShardedArray:                         # Tensor.of_elements, written out
        made = _new(Tensor)
        made.away = result
        made.tape = made.init = made._shape = None
        return made
    if isinstance(result, (np.ndarray, ShardedArray)):
        return Tensor.of_elements(result)
    return Tensor.wrap(np.asarray(result)) if isinstance(result, np.generic) else result


# ---------------------------------------------------------------- calls that were made before

class ShardedCall:
    """What a call of one signature does.

    operation  : its Operation        program: its LocalProgram
    operands   : what the operation takes; None where a Tensor of the call stands
    placements : how the Tensors lie: kept, since the key has their addresses
    """
    __slots__ = ("operation", "program", "operands", "placements")

    def __init__(self, operation, program, operands, placements):
        self.operation, self.program, self.operands, self.placements = operation, program, operands, placements

    def filled(self, given):
        """The operands, with these in the places of Tensors."""
        if len(given) == len(self.operands):
            return given
        rest = iter(given)
        return [next(rest) if operand is None else operand for operand in self.operands]


calls: dict = {}                                 # {key: ShardedCall}; empty as long as nothing is sharded


def is_among(args):
    """True if one of the arguments is a sharded Tensor."""
    return any([isinstance(a, Tensor) and type(a.elements) is ShardedArray for a in args])


def call_again(prim, given, named):
    """(the Operation, its operands, a Tensor or a tuple of them) of prim(*given, **named), if an equal call was `remembered`;
    None where none was."""
    key, values, _ = _signature(prim, given, named)
    call = calls.get(key)
    if call is None:
        return None
    operation, results = call.operation, [_wrapped(result) for result in call.program.run(call.filled(values))]
    operands = call.filled([a for a in given if isinstance(a, Tensor)]) if here.state.tapes else ()
    out = tuple(results) if operation.several else results[0]
    if _within.function:
        _within.made = call, given, out
    return operation, operands, out


class _Within(threading.local):
    """function: one that is written in operators runs, and may be kept; made: (call, arguments, result) of its last operator"""
    function = False
    made: tuple | None = None


_within = _Within()


def call_function(entry, given, named):
    """entry.function(*given, **named), a function that is written in operators. One that was a single operator of its own Tensors
    is remembered, and is that operator's call the next time."""
    _within.function = True
    try:
        out, last = entry.function(*given, **named), _within.made
    finally:
        _within.function, _within.made = False, None
    key, _, placements = _signature(entry, given, named)
    if key is not None and last is not None and last[2] is out:
        tensors, used = [[a for a in each if isinstance(a, Tensor)] for each in (given, last[1])]
        if len(tensors) == len(used) and all(a is b for a, b in zip(tensors, used)):
            call = last[0]
            _keep(key, ShardedCall(call.operation, call.program, call.operands, placements))
    return out


def remember(prim, given, named, args, attrs):
    """Leave a ShardedCall for prim(*given, **named), which was prim(*args, **attrs) on prepared operands."""
    if not prim.traits.isdisjoint(("effect", "random", "assign", "collective")):
        return
    key, _, placements = _signature(prim, given, named)
    tensors, used = [[a for a in each if isinstance(a, Tensor)] for each in (given, args)]
    if key is None or len(tensors) != len(used) or any(a is not b for a, b in zip(tensors, used)):
        return
    values = [a.elements if isinstance(a, Tensor) else np.asarray(a) if isinstance(a, np.generic) else a for a in args]
    operands = [None if isinstance(a, Tensor) else value for a, value in zip(args, values)]
    operation, program = _prepared(prim, values, attrs)
    _keep(key, ShardedCall(operation, program, operands, placements))


def _keep(key, call):
    with _lock:
        if len(calls) >= MAX_PROGRAMS:
            calls.clear()
        calls[key] = call


def _signature(prim, args, attrs):
    """(the key of a call, the elements of its Tensors, how they lie); (None, ..) where not all of it can be in a key, or nothing
    is sharded. Placements count by their address, which is fast; equal ones have keys of their own."""
    ours = engine()
    key, values, placements = [prim, ours.rank, ours.size], [], []
    for a in args:
        kind = type(a)
        if kind is Tensor or kind is Parameter:
            try:
                value = _host(a)
                key += (value.dtype, value.shape)
            except AttributeError:
                value = a.away
                if type(value) is not ShardedArray:
                    return None, (), ()
                key += (id(value.placement), value.part.dtype, value.shape)
                placements.append(value.placement)
            values.append(value)
        elif not _can_be_key(a):
            return None, (), ()
        else:
            key += (kind, repr(a))
    for name, value in attrs.items():
        if not _can_be_key(value):
            return None, (), ()
        key += (name, type(value), repr(value))
    return tuple(key) if placements else None, values, placements


def _can_be_key(value):
    return isinstance(value, _PLAIN) or isinstance(value, (tuple, list)) and all([isinstance(item, _PLAIN) for item in value])


# ---------------------------------------------------------------- from one placement to another

def boxed(elements, want):
    """The elements, an ndarray that is whole on every rank or a ShardedArray, placed as `want`: a ShardedArray."""
    if not isinstance(elements, ShardedArray):
        return ShardedArray(want.part_of(elements), tuple(elements.shape), want)
    have = elements.placement
    if have == want:
        return elements
    if have.mesh != want.mesh:
        raise ArgumentError(f"a tensor on the mesh {have.mesh} cannot go to the mesh {want.mesh}",
                            hint="x.full_tensor(), then x.to_global(layout)").at(user_location())
    have.mesh.check(engine().rank)
    with paused():
        part = box(Tensor.wrap(elements.part), have, want, elements.shape, engine().rank)
    return ShardedArray(np.ascontiguousarray(part.host_array), elements.shape, want)


def _moved(tensor, elements):
    """A Tensor of the same value, with its number on the tapes; the tensor itself where the elements are its own."""
    if elements is tensor.elements:
        return tensor
    made = Tensor.of_elements(elements)
    for tape in here.state.tapes:
        number = tape.number(tensor)
        if number is not None:
            tape.set_number(made, number)
    return made


def to_global(self, layout):
    """This Tensor in parts: each rank of a mesh keeps the one that `layout` gives it. Gradients pass.

    layout : a Layout that was called with a word for each axis, or a parallel.Placement. Of a Tensor that is not sharded every
             rank gives the same whole one, and nothing is sent
    out    : a Tensor of the same dtype and (whole) shape
    raises : ArgumentError for what is no layout, or where a rank would get no element
    """
    placement = layout.placement(len(self.shape)) if isinstance(layout, Layout) else layout
    if not isinstance(placement, Placement):
        raise ArgumentError(f"to_global: takes a Layout, not {type(layout).__name__}").at(user_location())
    if isinstance(self, AnfNode):
        return placed(self, placement=placement, lasting=True)
    elements = self.init_data().elements
    if not fits(placement.mesh, AbstractTensor(self.dtype, tuple(self.shape)), placement.sbps):
        raise ArgumentError(f"a tensor {self.dtype.short}{list(self.shape)} cannot lie as {placement} on the mesh "
                            f"{placement.mesh}: each rank wants an element").at(user_location())
    return _moved(self, boxed(elements, placement))


def to_local(self):
    """This rank's part of a sharded Tensor, which shares its memory and is on no tape; another Tensor itself. Not in graphs,
    which compute with whole tensors."""
    return Tensor.wrap(self.elements.part) if isinstance(self.elements, ShardedArray) else self


def full_tensor(self):
    """The whole of a sharded Tensor on every rank: a collective that all ranks of its mesh call. Gradients pass; another Tensor
    is itself."""
    if isinstance(self, AnfNode):
        return placed(self, placement=None, lasting=True)
    if not isinstance(self.elements, ShardedArray):
        return self
    return _moved(self, boxed(self.elements, whole(self.placement.mesh)).part)


def shard_in_place(tensor, layout):
    """From now on the elements of this very Tensor, which every rank has in whole, lie in parts; returns it.

    tensor : a Tensor or Parameter       layout : as `to_global` takes it       raises : ArgumentError for what is no Tensor
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"shard_in_place: takes a Tensor, not {type(tensor).__name__}").at(user_location())
    protect(tensor.init_data().elements)
    tensor.elements = to_global(tensor, layout).elements
    return tensor


def from_local(part, layout, shape=None, partial=None):
    """A sharded Tensor of the parts that the ranks have.

    part    : a Tensor, this rank's part, or its addend (see partial)
    layout  : a Layout called with a word for each axis
    shape   : of the whole; None: found from the parts, by a collective
    partial : {name of an axis of the mesh: "sum", "max", ..} of axes along which the ranks have addends
    raises  : ArgumentError where the part is not the one that the layout gives this rank; RankError where ranks have parts of
              other dtypes, or of other sizes along an axis that is whole
    """
    if not isinstance(part, Tensor) or not isinstance(layout, Layout):
        raise ArgumentError(f"from_local: takes a Tensor and a Layout, not {type(part).__name__} and {type(layout).__name__}")
    rank, placement = engine().rank, layout.placement(len(part.shape)).with_partial(partial or {})
    placement.mesh.check(rank)
    if shape is None:
        shape = placement.whole_shape(tuple(part.shape), part.dtype.short)
    want = placement.local_shape(shape, rank)
    if tuple(part.shape) != want:
        raise ArgumentError(f"from_local: rank {rank} has {list(part.shape)}; {placement} of {list(shape)} gives it {list(want)}",
                            hint="the first ranks have one element more where sizes are uneven").at(user_location())
    return Tensor.of_elements(ShardedArray(np.ascontiguousarray(part.asnumpy()), tuple(shape), placement))


for function in (to_global, full_tensor):
    method(function.__name__, function)
setattr(Tensor, "to_local", to_local)
