"""What a call that runs in Python gave, recorded: the types with which the code behind it is compiled.

    describe((Tensor(shape=[3]), 2.5, None, obj))  ->  (f32[3], float, None, any)
    opened(that)                                   ->  (f32[s0], float, None, any)
"""
from ..common.dim import Symbol
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractAny, AbstractScalar, AbstractTensor
from ..mindir.builder import constant
from ..mindir.syntax import Undefined


class Given:
    """What a segment gave, recorded: a constant, or the abstract of a run-time value."""
    __slots__ = ("value", "abstract")

    def __init__(self, value=None, abstract=None):
        self.value, self.abstract = value, abstract


def describe(value):
    """The record of what a segment gave: tensors and numbers by type, tuples by their items, the rest as objects."""
    if isinstance(value, Tensor):
        return Given(abstract=constant(value).abstract)
    if type(value) in (bool, int, float):
        return Given(abstract=AbstractScalar(type(value)))
    if value is None or isinstance(value, Undefined):
        return Given(value)
    if type(value) is tuple:
        return tuple(describe(v) for v in value)
    return Given(abstract=AbstractAny())


def same_kind(a, b):
    """True if two records differ in sizes at most."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(same_kind, a, b))
    x, y = a.abstract, b.abstract
    if isinstance(x, AbstractTensor) and isinstance(y, AbstractTensor):
        return x.dtype is y.dtype and x.ndim == y.ndim
    return x == y and a.value == b.value


def opened(record):
    """A record with every size replaced by a Symbol of its own."""
    if isinstance(record, tuple):
        return tuple(opened(r) for r in record)
    if isinstance(record.abstract, AbstractTensor):
        return Given(abstract=AbstractTensor(record.abstract.dtype, tuple(Symbol(lo=0).dim for _ in record.abstract.shape)))
    return record


def values_in(value, record):
    """The run-time values in what a segment gave, in the order of the record."""
    if isinstance(record, tuple):
        return [x for v, r in zip(value, record) for x in values_in(v, r)]
    return [] if record.abstract is None else [value]


def show(record):
    """A record as text."""
    if isinstance(record, tuple):
        return "(" + ", ".join(map(show, record)) + ")"
    return str(record.abstract) if record.abstract is not None else repr(record.value)
