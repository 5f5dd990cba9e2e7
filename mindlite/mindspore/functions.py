"""Functions that mean in MindSpore what they mean here, but whose indices are int32 there. Imported by name from the table."""
from .. import ops
from ..common import dtype as dt


def _int32(indices):
    return ops.cast(indices, dt.int32)


def argmin(input, axis=None, keepdims=False):
    """The index of the least element along `axis`, or of all: `mindlite.ops.argmin` with int32 indices."""
    return _int32(ops.argmin(input, axis, keepdims))


def argsort(input, axis=-1, descending=False):
    """The order that sorts along `axis`: `mindlite.ops.argsort` with int32 indices."""
    return _int32(ops.argsort(input, axis, descending))


def sort(input_x, axis=-1, descending=False):
    """(the elements in order along `axis`, their indices): `mindlite.ops.sort` with int32 indices."""
    values, indices = ops.sort(input_x, axis, descending)
    return values, _int32(indices)


def topk(input, k, dim=None, largest=True, sorted=True):
    """(the k largest or smallest elements along `dim`, their indices): `mindlite.ops.topk` with int32 indices."""
    values, indices = ops.topk(input, k, dim, largest, sorted)
    return values, _int32(indices)
