"""Shapes, slices, gathering and scattering, creation and random numbers as classes."""
import functools

from ...common import dtype as dt
from ...common.errors import NotFiniteError, ValueRangeError
from .. import (
    addn, assign, assign_add, assign_sub, bernoulli, broadcast_to, cast, chunk, concat, depend, expand_dims, eye, flip,
    full, gather, gather_d, gather_nd, identity, index_add, masked_fill, masked_select, meshgrid, multinomial,
    one_hot, ones, ones_like, pad, permute, print_, randint, rank, repeat_interleave, reshape, scatter_nd,
    select, shape, size, sort, split, squeeze, stack, standard_normal, stop_gradient, sum, mean, tile, topk, tril,
    batch_to_space_nd, isfinite, lerp, log_softmax, swapaxes, tensor_scatter_elements, triu, uniform, unique,
    unstack, where, zeros, zeros_like)
from ..axes import as_shape
from ..creation import arange
from ..diagonal import diag, diag_part
from ..define import as_operand, cast_to, dtype_of
from ..getitem import getitem, setitem, strided_slice
from ..scatter import COMBINE
from ..summary import summarised
from .define import operation, table
from .writing import written


def _cast(x, dtype):
    return cast(as_operand(x), dtype=dtype)


def _reshape(x, shape):
    return reshape(x, shape=tuple(shape) if isinstance(shape, list) else shape)


def _broadcast(x, shape):
    return broadcast_to(x, shape=shape)


def _dtype(x):
    return x.dtype


def _transpose(x, perm):
    return permute(x, tuple(perm))


def _slice(x, begin, size):
    return getitem(x, tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size)))


def _unique(x):
    return unique(x)


def _contiguous(x):
    return x.contiguous()


def _copy(x):
    return x.copy()


def _depend(value, expression):
    return depend(value, expression)


globals().update(table({
    "Cast": _cast,
    "Reshape": _reshape, "Shape": shape, "DynamicShape": shape, "Size": size, "Rank": rank,
    "DType": _dtype, "Transpose": _transpose, "Slice": _slice, "Unique": _unique, "ExpandDims": expand_dims,
    "Tile": tile, "OnesLike": ones_like, "ZerosLike": zeros_like, "Select": select, "GatherNd": gather_nd,
    "GatherD": gather_d, "ScatterNd": scatter_nd, "MaskedFill": masked_fill, "MaskedSelect": masked_select,
    "Identity": identity, "Diag": diag, "DiagPart": diag_part, "Zeros": zeros, "Ones": ones, "Depend": _depend,
    "StopGradient": stop_gradient, "Print": print_, "Contiguous": _contiguous, "Copy": _copy,
    "RepeatInterleave": repeat_interleave,
}))


@operation
def BroadcastTo(x, *, shape):
    """x repeated to `shape`; -1 keeps a size."""
    lead = len(shape) - x.ndim
    return broadcast_to(x, shape=tuple(x.shape[i - lead] if s == -1 else s for i, s in enumerate(shape)))


@operation
def Concat(xs, *, axis=0):
    """The tensors of a tuple one after the other along `axis`."""
    return concat(xs, axis)


@operation
def Stack(xs, *, axis=0):
    """The tensors of a tuple along a new axis."""
    return stack(xs, axis)


Pack = Stack


@operation
def Unstack(x, *, axis=0, num=None):
    """The parts along `axis`, a tuple."""
    return unstack(x, axis)


@operation
def Split(x, *, axis=0, output_num=1):
    """`output_num` equal parts along `axis`."""
    return chunk(x, output_num, axis) if output_num != 1 else (x,)


@operation
def SplitV(x, *, size_splits, split_dim, num_split=None):
    """Parts of the sizes `size_splits`."""
    return split(x, list(size_splits), split_dim)


@operation
def Squeeze(x, *, axis=()):
    """x without axes of size 1."""
    return squeeze(x, None if axis == () else axis)


@operation
def Flatten(x):
    """[N, ..] -> [N, product of the rest]"""
    return reshape(x, shape=(x.shape[0], -1)) if x.ndim != 1 else reshape(x, shape=(x.shape[0], 1))


@operation
def Gather(params, indices, axis, *, batch_dims=0):
    """Slices of `params` along `axis`."""
    return gather(params, indices, axis, batch_dims)


GatherV2 = SparseGatherV2 = Gather


@operation
def EmbeddingLookup(params, indices, offset):
    """Rows of a part of a table that begins at `offset`; zeros for what is not in it."""
    places = as_operand(indices) - offset
    there = (places >= 0) & (places < params.shape[0])
    rows = gather(params, where(there, places, 0), 0)
    return where(reshape(there, tuple(there.shape) + (1,) * (params.ndim - 1)), rows, 0)


@operation
def StridedSlice(x, begin, end, strides, *, begin_mask=0, end_mask=0,
                 ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0):
    """x[begin:end:strides] by axis. Bit i of a mask: begin (end) of axis i open, all axes are there, an axis is put
    in, or it is dropped.
    """
    begin, end, strides = as_shape("begin", begin), as_shape("end", end), as_shape("strides", strides)
    return strided_slice(x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)


@operation
def OneHot(indices, depth, on_value, off_value, *, axis=-1):
    """on_value at the index, off_value elsewhere, of their dtype."""
    return one_hot(indices, depth, on_value, off_value, axis)


@operation
def Sort(x, *, axis=-1, descending=False):
    """(sorted, indices)"""
    values, indices = sort(x, axis, descending)
    return values, cast(indices, dtype=dt.int32)


@operation
def TopK(x, k, *, sorted=True):
    """(the k largest along the last axis, their indices)"""
    values, indices = topk(x, k)
    return values, cast(indices, dtype=dt.int32)


@operation
def ReverseV2(x, *, axis):
    """x turned round along the axes."""
    return flip(x, tuple(axis) if isinstance(axis, (tuple, list)) else (axis,))


@operation
def Pad(x, *, paddings):
    """Zeros before and after each axis: ((before, after), ..)."""
    return pad(x, [n for pair in reversed(paddings) for n in pair])


@operation
def Meshgrid(xs, *, indexing="xy"):
    """The grids of a tuple of vectors."""
    return meshgrid(*xs, indexing=indexing)


@operation
def Tril(x, *, diagonal=0):
    """The lower triangle."""
    return tril(x, diagonal)


@operation
def Triu(x, *, diagonal=0):
    """The upper triangle."""
    return triu(x, diagonal)


def _fill(dtype, shape, value):
    return full(shape, value, dtype=dtype)


def _fill_v2(shape, value):
    return full(shape, value, dtype=dtype_of(as_operand(value)))


def _eye(n, m, dtype):
    return eye(n, m, dtype)


def _range(start, limit, delta):
    return arange(start, limit, delta)


def _scalar_to_tensor(value, dtype=dt.float32):
    return cast_to(as_operand(value), dtype)


globals().update(table({"Fill": _fill, "FillV2": _fill_v2, "Eye": _eye, "ScalarToTensor": _scalar_to_tensor}))


@operation
def Range(start, limit, delta, *, maxlen=1000000):
    """start, start + delta, .. below limit."""
    return arange(start, limit, delta)


@operation
def IndexAdd(x, indices, y, *, axis, use_lock=True, check_index_bound=True):
    """y added to the slices of the Parameter x at `indices`; x is changed."""
    return written(x, index_add(x, indices, y, axis))


def _assign(variable, value):
    assign(variable, value)
    return variable


def _times(sequence, times):
    """The items of a tuple or list, `times` over."""
    return sequence * times


globals().update(table({"Assign": _assign, "AssignAdd": assign_add, "AssignSub": assign_sub, "SequenceAddN": addn,
                        "SequenceMul": _times}))


# ---------------------------------------------------------------- random numbers

@operation
def StandardNormal(shape, *, seed=0, seed2=0):
    """Normal numbers."""
    return standard_normal(shape, seed or None)


@operation
def UniformReal(shape, *, seed=0, seed2=0):
    """Numbers in [0, 1)."""
    return uniform(shape, 0.0, 1.0, seed or None)


@operation
def UniformInt(shape, minval, maxval, *, seed=0, seed2=0):
    """Integers in [minval, maxval)."""
    return randint(minval, maxval, shape, seed or None, dtype=dt.int32)


@operation
def Dropout(x, *, keep_prob=0.5, Seed0=0, Seed1=0):
    """(x with elements dropped, the mask)"""
    mask = cast(bernoulli(ones_like(x), keep_prob, Seed0 or None), dtype=dtype_of(x))
    return x * mask / keep_prob, mask


@operation
def Multinomial(x, num_samples, *, seed=0, seed2=0, dtype=dt.int32):
    """Indices drawn with the weights x."""
    return cast(multinomial(x, num_samples, True, seed or None), dtype=dtype)


@operation
def Load(variable, state=None):
    """The variable's value."""
    return identity(variable)


@operation
def InvertPermutation(x):
    """The tuple p with p[x[i]] = i."""
    made = [0] * len(x)
    for place, value in enumerate(x):
        made[value] = place
    return tuple(made)


@operation
def GetNext(*, types, shapes, output_num, shared_name):
    """The next element of a queue that a device fills; data come to a network as arguments here, so no queue exists.

    raises : RuntimeError when it is called
    """
    raise RuntimeError(f"GetNext: there is no data queue {shared_name!r}; give the data to the network as arguments")


@operation
def Partial(function, *args):
    """functools.partial"""
    return functools.partial(function, *args)


@operation
def ScalarSummary(name, value):
    """Write a Tensor of one element under a name, if a SummaryRecord is open, at its next `record`.

    raises : ArgumentError for a name that is no string and a value that is no Tensor, ValueRangeError for an empty name,
             ShapeError for another shape
    """
    summarised("scalar", name, value)


@operation
def ImageSummary(name, value):
    """ScalarSummary, of images [N, C, H, W]: the first one is written."""
    summarised("image", name, value)


@operation
def TensorSummary(name, value):
    """ScalarSummary, of a Tensor of one axis or more: the distribution of its elements is written."""
    summarised("tensor", name, value)


@operation
def HistogramSummary(name, value):
    """ScalarSummary, of a Tensor of one axis or more: the distribution of its elements is written."""
    summarised("histogram", name, value)


def _sum_ext(x, axis=None, keep_dims=False, dtype=None):
    return sum(x, axis, keep_dims, dtype=dtype)


def _mean_ext(x, axis=None, keep_dims=False, dtype=None):
    return mean(x if dtype is None else cast(x, dtype=dtype), axis, keep_dims)


def _add_ext(x, y, alpha=1):
    return x + y * alpha


def _sub_ext(x, y, alpha=1):
    return x - y * alpha


def _inplace_add_ext(x, y, alpha=1):
    return x.add_(y, alpha=alpha)


def _inplace_sub_ext(x, y, alpha=1):
    return x.sub_(y, alpha=alpha)


globals().update(table({"SumExt": _sum_ext, "MeanExt": _mean_ext, "AddExt": _add_ext,
        "SubExt": _sub_ext, "InplaceAddExt": _inplace_add_ext, "InplaceSubExt": _inplace_sub_ext,
        "OnesLikeExt": ones_like, "ZerosLikeExt": zeros_like}))


def _writing(method):
    """The operation that is a method of Tensor which writes into it."""
    def call(x, *args):
        return getattr(x, method)(*args)
    return call


globals().update(table({name: _writing(method) for name, method in {
    "InplaceMul": "mul_", "InplaceDiv": "div_", "InplaceCopy": "copy_",
    "InplaceZero": "zero_", "InplaceFillScalar": "fill_", "InplaceFillTensor": "fill_", "InplaceExp": "exp_",
    "InplaceLog": "log_", "InplaceTanh": "tanh_", "InplaceFloor": "floor_", "InplaceReLU": "relu_",
    "InplaceMaskedFillScalar": "masked_fill_", "InplaceMaskedFillTensor": "masked_fill_"}.items()}))


# ---------------------------------------------------------------- writing at indices of Parameters

def _named(name, function):
    def made(x, indices, updates):
        return function(x, indices, updates)
    made.__name__, made.__doc__ = name, function.__doc__
    return operation(made)


def _scatter(name, combine, whole_rows):
    def call(variable, indices, updates):
        """Change the variable at `indices`; of equal indices every update counts, in their order. Returns what it holds then."""
        indices = as_operand(indices)
        if whole_rows:
            indices = expand_dims(indices, -1)
        return written(variable, combine(variable, indices, updates))
    call.__name__ = name

    def made(variable, indices, updates, *, use_locking=name.endswith("Update")):
        return call(variable, indices, updates)
    made.__name__, made.__doc__ = name, call.__doc__

    def as_function(input_x, indices, updates, use_locking=False):
        return call(input_x, indices, updates)
    as_function.__doc__ = call.__doc__
    built = operation(made)
    built.as_function = staticmethod(as_function)           # what `ops.scatter_add` is in MindSpore
    return built


for _name, _combine in COMBINE.items():
    globals()[f"ScatterNd{_name}"] = _scatter(f"ScatterNd{_name}", _combine, False)
    globals()[f"Scatter{_name}"] = _scatter(f"Scatter{_name}", _combine, True)
    globals()[f"TensorScatter{_name}"] = _named(f"TensorScatter{_name}", _combine)


@operation
def TensorCopySlices(x, value, begin, end, strides):
    """x with x[begin:end:strides] replaced by value, a slice for each of the first axes: a new Tensor."""
    return setitem(as_operand(x), tuple(slice(*part) for part in zip(begin, end, strides)), value)


@operation
def PadV3(x, paddings, constant_values=None, *, mode="constant", paddings_contiguous=True):
    """Elements added at the ends of axes, as `pad` does it; mode "edge" repeats the outer ones, "wrap" begins again.

    paddings            : sizes, from the last axis on
    paddings_contiguous : (before, after, before, ..); False: (before, before, .., after, after, ..)
    raises              : ArgumentError for another number of sizes, ValueRangeError for another mode
    """
    sizes, words = as_shape("PadV3", paddings), {"edge": "replicate", "wrap": "circular"}
    if not paddings_contiguous:
        half = len(sizes) // 2
        sizes = tuple(size for pair in zip(sizes[:half], sizes[half:]) for size in pair)
    return pad(x, sizes, words.get(mode, mode), constant_values)


# ---------------------------------------------------------------- by their other names, and what only checks

def _lerp(start, end, weight):
    return lerp(start, end, weight)


def _log_softmax(input, dim=None, dtype=None):
    return log_softmax(input if dtype is None else cast(input, dtype=dtype), -1 if dim is None else dim)


def _scalar_to_array(value):
    return as_operand(value)


def _blocks_to_space(x, block_shape, crops):
    sizes, ends = (tuple(as_operand(v).tolist()) for v in (block_shape, crops))
    return batch_to_space_nd(x, sizes, ends)


def _moved(input, to="CPU", blocking=True):
    return input.to(to)


def _finite(x):
    if not bool(isfinite(as_operand(x)).all()):
        raise NotFiniteError("CheckNumerics: an element is inf or nan")
    return x


globals().update(table({
    "LerpScalar": _lerp, "LogSoftmaxExt": _log_softmax, "ScalarToArray": _scalar_to_array, "BatchToSpaceNDV2": _blocks_to_space,
    "MoveTo": _moved, "CheckNumerics": _finite}))
Unpack = Unstack


@operation
def Assert(condition, input_data, *, summarize=3):
    """True. raises : AssertionError where the condition is False, with the first `summarize` numbers of each Tensor"""
    if not bool(condition):
        shown = ", ".join(str(as_operand(x).reshape((-1,))[:summarize]) for x in input_data)
        raise AssertionError(f"Assert: the condition does not hold; {shown}")
    return True


@operation
def DataFormatVecPermute(input_x, *, src_format="NHWC", dst_format="NCHW"):
    """Sizes of axes, or pairs for each, in the order of another layout. input_x : i32 or i64 [4] or [4, 2]"""
    for layout in (src_format, dst_format):
        if sorted(layout) != sorted("NHWC"):
            raise ValueRangeError(f"DataFormatVecPermute: a layout is NHWC or NCHW, not {layout!r}")
    return gather(input_x, as_operand([src_format.index(axis) for axis in dst_format]), 0)


@operation
def ScatterAddWithAxis(input_x, indices, updates, *, axis=0):
    """input_x with `updates` added at `indices` along one axis, all [..] of one rank."""
    return tensor_scatter_elements(input_x, indices, updates, axis, "add")


def _axes_exchanged(input, dim0, dim1):
    return swapaxes(input, dim0, dim1)


def _selected(input, dim, index):
    return getitem(input, (slice(None),) * (dim % input.ndim) + (index,))


globals().update(table({"TransposeView": _transpose, "TransposeExtView": _axes_exchanged, "SelectView": _selected}))
ScatterNonAliasingAdd = globals()["ScatterNdAdd"]
