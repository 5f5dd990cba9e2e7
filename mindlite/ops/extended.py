"""The functions of MindSpore's `mint`: the operators of this room under torch's argument names (dim, keepdim, other).

    sum(x, dim=1, keepdim=True)     mean(x, 1, dtype=float64)     add(x, y, alpha=2)
"""
from .. import ops
from ..common.dtype import int64
from ..common.tensor import Tensor
from ..mindir.primitive import Primitive
from .define import as_operand, cast_to
from .methods import METHODS, renaming


def _typed(function, counts=False):
    """`function` of (input, dim, keepdim, dtype); counts: integers are added and multiplied as int64."""
    def call(input, dim=None, keepdim=False, *, dtype=None):
        x = as_operand(input)
        if counts and dtype is None and x.dtype.kind in "bui":
            dtype = int64
        return function(x if dtype is None else cast_to(x, dtype), dim, keepdim)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _scaled(sign):
    def call(input, other, *, alpha=1):
        return input + other * (sign * alpha)
    return call


def _conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """ops.conv2d under torch's arguments: padding is "valid", "same" or sizes; input may have no batch axis."""
    mode, ends = (padding, 0) if isinstance(padding, str) else ("pad", padding)
    if input.ndim == 3:
        return ops.conv2d(input[None], weight, bias, stride, mode, ends, dilation, groups)[0]
    return ops.conv2d(input, weight, bias, stride, mode, ends, dilation, groups)


OWN = {
    "conv2d": _conv2d,
    "mean": _typed(ops.mean),
    "prod": _typed(ops.prod, True),
    "sum": _typed(ops.sum, True),
    "add": _scaled(1),
    "sub": _scaled(-1),
    "max": lambda input, dim=None, keepdim=False: ops.amax(input) if dim is None else ops.max(input, dim, keepdim),
    "min": lambda input, dim=None, keepdim=False: ops.amin(input) if dim is None else ops.min(input, dim, keepdim),
    "transpose": ops.swapaxes, "softmax": lambda input, dim, *, dtype=None: ops.softmax(input, dim, dtype=dtype)}


def __getattr__(name):
    if name in OWN:
        return OWN[name]
    found = getattr(ops, name, None)
    if found is None:
        found = METHODS.get(name)
    if name.startswith("_") or not callable(found):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = found if isinstance(found, (type, Tensor)) else \
        renaming(found) if isinstance(found, Primitive) or hasattr(found, "__code__") else found
    return made
