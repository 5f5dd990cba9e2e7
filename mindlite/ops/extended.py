"""The functions of MindSpore's `mint`: the operators of this room under torch's argument names (dim, keepdim, other).

    sum(x, dim=1, keepdim=True)     mean(x, 1, dtype=float64)     add(x, y, alpha=2)
"""
from .. import ops
from ..common.dtype import float32, int64
from ..common.errors import ArgumentError
from ..common.tensor import Tensor
from ..mindir.primitive import Primitive
from .define import as_operand, cast_to, dtype_of, is_array
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


def _spread(function):
    """std, var, std_mean, var_mean of (input, dim, correction, keepdim): divided by one less than the number."""
    def call(input, dim=None, *, correction=1, keepdim=False):
        return function(input, dim, correction, keepdim)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _extremum(along, alone, combine):
    """max and min: of two Tensors, of all elements, or with the index along an axis."""
    def call(input, dim=None, keepdim=False, *, other=None):
        if other is not None or isinstance(dim, Tensor) or is_array(dim) and dim.ndim:
            return combine(input, dim if other is None else other)
        return alone(input) if dim is None else along(input, dim, keepdim)
    call.__name__, call.__doc__ = along.__name__, along.__doc__
    return call


def median(input, dim=None, keepdim=False):
    """The lower median of all elements; with a dim (the medians along it, their indices)."""
    return ops.median(input, None)[0] if dim is None else ops.median(input, dim, keepdim)


def count_nonzero(input, dim=None):
    """How many elements are not zero, along `dim` or in all; int64."""
    return ops.count_nonzero(input, () if dim is None else dim, dtype=int64)


def gather(input, dim, index):
    """out[.., i, ..] = input[.., index[.., i, ..], ..] along `dim`, element by element."""
    return ops.gather_elements(input, dim, index)


def scatter(input, dim, index, src):
    """input with src (a Tensor, or a number) written at index along `dim`, element by element."""
    return ops.scatter(input, dim, index, src)


def scatter_add(input, dim, index, src):
    """input with src added at index along `dim`, element by element."""
    return ops.tensor_scatter_elements(input, index, src, dim, "add")


def take(input, index):
    """The elements at `index` in row-major order."""
    return METHODS["take"](input, index)


def norm(input, p="fro", dim=None, keepdim=False, *, dtype=None):
    """The p-norm of the vectors along `dim` (an int or several; None: all elements)."""
    return ops.vector_norm(input, 2 if p == "fro" else p, dim, keepdim, dtype=dtype)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in rising order; with return_inverse where each element is among them, with return_counts how
    often each occurs. `sorted` : they are in any case. raises : ArgumentError for a dim"""
    if dim is not None:
        raise ArgumentError("unique: slices along an axis are not compared", hint="dim=None")
    x = as_operand(input)
    row, order = ops.sort(ops.reshape(x, (-1,)))
    values, run, counts = ops.unique_consecutive(row, True, True)
    made = [values]
    if return_inverse:
        zeros = ops.zeros_like(order)
        made.append(ops.reshape(ops.tensor_scatter_elements(zeros, order, run, 0), tuple(x.shape)))
    if return_counts:
        made.append(counts)
    return made[0] if len(made) == 1 else tuple(made)


def meshgrid(*tensors, indexing="ij"):
    """The coordinates of a grid, with rows first."""
    return ops.meshgrid(*tensors, indexing=indexing)


def where(condition, input=None, other=None):
    """input where the condition holds, else other; of the condition alone: the indices where it holds."""
    return ops.nonzero(condition, as_tuple=True) if input is None else ops.where(condition, input, other)


def silu(input, inplace=False):
    """input * sigmoid(input); inplace: written into input, which is given."""
    out = ops.silu(input)
    return ops.assign(input, out) if inplace else out


def item(input):
    """The number of a Tensor of one element."""
    return as_operand(input).item()


# ---------------------------------------------------------------- random numbers: size first, a generator, a dtype

def rand(*size, generator=None, dtype=None):
    """Numbers evenly spread in [0, 1)."""
    return ops.rand(*size, dtype=dtype or float32, seed=generator)


def randn(*size, generator=None, dtype=None):
    """Normal numbers of mean 0 and variance 1."""
    return ops.randn(*size, dtype=dtype or float32, seed=generator)


def rand_like(input, *, dtype=None):
    """rand of input's shape, and dtype unless another is given."""
    return ops.rand_like(input, dtype=dtype)


def randn_like(input, *, dtype=None):
    """randn of input's shape, and dtype unless another is given."""
    return ops.randn_like(input, dtype=dtype)


def randint(*args, generator=None, dtype=int64):
    """Integers in [low, high): randint(low, high, size), or randint(high, size)."""
    low, high, size = args if len(args) == 3 else (0, *args)
    return ops.randint(low, high, size, generator, dtype=dtype or int64)


def randint_like(input, *args, dtype=None):
    """randint of input's shape: randint_like(input, low, high), or randint_like(input, high)."""
    return ops.randint(*(args if len(args) == 2 else (0, *args)), tuple(input.shape), dtype=dtype or dtype_of(input))


def randperm(n, *, generator=None, dtype=int64):
    """The numbers 0 .. n - 1 in random order."""
    return ops.randperm(n, generator, dtype=dtype)


def normal(mean=0.0, std=1.0, size=None, generator=None):
    """Normal numbers; mean and std are numbers or Tensors, size the shape where both are numbers."""
    return ops.normal(() if size is None else size, mean, std, generator)


def bernoulli(input, *, generator=None):
    """1 with the probability that stands in input, else 0."""
    return ops.bernoulli(input, input, generator)


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """ops.multinomial, by default without replacement."""
    return ops.multinomial(input, num_samples, replacement, generator)


OWN = {
    "conv2d": _conv2d,
    "mean": _typed(ops.mean), "prod": _typed(ops.prod, True), "sum": _typed(ops.sum, True),
    "add": _scaled(1), "sub": _scaled(-1), "max": _extremum(ops.max, ops.amax, ops.maximum),
    "min": _extremum(ops.min, ops.amin, ops.minimum),
    "std": _spread(ops.std), "var": _spread(ops.var), "std_mean": _spread(ops.std_mean), "var_mean": _spread(ops.var_mean),
    "transpose": ops.swapaxes, "softmax": lambda input, dim, *, dtype=None: ops.softmax(input, dim, dtype=dtype),
    "diag": METHODS["diag"], "empty_like": ops.zeros_like, "flatten": METHODS["flatten"]}


def __getattr__(name):
    if name in OWN:
        return OWN[name]
    found = getattr(ops, name, None)
    of_tensor = found is None
    if of_tensor:
        found = METHODS.get(name)
    if name.startswith("_") or not callable(found):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = found if isinstance(found, (type, Tensor)) else \
        renaming(found, of_tensor) if isinstance(found, Primitive) or hasattr(found, "__code__") else found
    return made
