"""New Tensors and drawn ones: the size first, a generator, a dtype, as in torch; and batch normalisation in parts.

    zeros((2, 3))     full((2,), True)     randint(3, (2, 2))     rand(2, 3, generator=g)
"""
from .. import ops
from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..ops.axes import axes_of
from ..ops.define import as_operand, dtype_of
from .define import publisher

__all__ = []
_public = publisher(globals())


# ---------------------------------------------------------------- new Tensors

def _shape(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def _on_cpu(name, device):
    if device not in (None, "CPU", "cpu"):
        raise ValueRangeError(f"{name}: there is no device {device!r} here", hint="CPU")


@_public
def zeros(size, *, dtype=None):
    """Zeros of that shape, float32 unless a dtype is given."""
    return ops.zeros(size, dtype or dt.float32)


@_public
def ones(size, *, dtype=None):
    """Ones of that shape, float32 unless a dtype is given."""
    return ops.ones(size, dtype or dt.float32)


@_public
def full(size, fill_value, *, dtype=None):
    """A Tensor filled with one number, whose kind decides: int64, float32, bool, unless a dtype is given."""
    return ops.full(size, fill_value, dtype=dtype)


@_public
def empty(*size, dtype=None, device=None, pin_memory=False):
    """A Tensor whose elements are not set; here they are zeros."""
    _on_cpu("empty", device)
    return ops.empty(_shape(size), dtype=dtype)


@_public
def zeros_like(input, *, dtype=None):
    """Zeros of input's shape, and dtype unless another is given."""
    return ops.zeros_like(input, dtype=dtype)


@_public
def ones_like(input, *, dtype=None):
    """Ones of input's shape, and dtype unless another is given."""
    return ops.ones_like(input, dtype=dtype)


@_public
def full_like(input, fill_value, *, dtype=None):
    """full of input's shape, and dtype unless another is given."""
    return ops.full_like(input, fill_value, dtype=dtype)


@_public
def empty_like(input, *, dtype=None, device=None, pin_memory=False):
    """empty of input's shape, and dtype unless another is given."""
    _on_cpu("empty_like", device)
    return ops.zeros_like(input, dtype=dtype)


@_public
def arange(start=0, end=None, step=1, *, dtype=None):
    """start, start + step, .. below end."""
    return ops.arange(start, end, step, dtype=dtype)


@_public
def linspace(start, end, steps, *, dtype=None):
    """`steps` numbers from start to end at equal distances."""
    return ops.linspace(start, end, steps, dtype=dtype)


@_public
def eye(n, m=None, dtype=None):
    """Ones on the diagonal of an n x m matrix."""
    return ops.eye(n, m, dtype)


# ---------------------------------------------------------------- random numbers: size first, a generator, a dtype

@_public
def rand(*size, generator=None, dtype=None, device=None):
    """Numbers evenly spread in [0, 1)."""
    _on_cpu("rand", device)
    return ops.rand(*size, dtype=dtype or dt.float32, seed=generator)


@_public
def randn(*size, generator=None, dtype=None, device=None):
    """Normal numbers of mean 0 and variance 1."""
    _on_cpu("randn", device)
    return ops.randn(*size, dtype=dtype or dt.float32, seed=generator)


@_public
def rand_like(input, *, dtype=None, device=None):
    """rand of input's shape, and dtype unless another is given."""
    _on_cpu("rand_like", device)
    return ops.rand_like(input, dtype=dtype)


@_public
def randn_like(input, *, dtype=None, device=None):
    """randn of input's shape, and dtype unless another is given."""
    _on_cpu("randn_like", device)
    return ops.randn_like(input, dtype=dtype)


@_public
def randint(*args, generator=None, dtype=None, device=None):
    """Integers in [low, high): randint(low, high, size), or randint(high, size); int64 unless a dtype is given."""
    _on_cpu("randint", device)
    if len(args) not in (2, 3):
        raise ArgumentError("randint: low, high and size, or high and size are wanted", note=f"{len(args)} arguments")
    low, high, size = args if len(args) == 3 else (0, *args)
    return ops.randint(low, high, size, generator, dtype=dtype or dt.int64)


@_public
def randint_like(*args, dtype=None, device=None):
    """randint of a Tensor's shape: randint_like(input, low, high), or randint_like(input, high)."""
    _on_cpu("randint_like", device)
    if len(args) not in (2, 3):
        raise ArgumentError("randint_like: a Tensor, low and high, or a Tensor and high are wanted", note=f"{len(args)} given")
    input, low, high = args if len(args) == 3 else (args[0], 0, args[1])
    input = as_operand(input)
    return ops.randint(low, high, tuple(input.shape), dtype=dtype or dtype_of(input))


@_public
def randperm(n, *, generator=None, dtype=dt.int64):
    """The numbers 0 .. n - 1 in random order."""
    return ops.randperm(n, generator, dtype=dtype)


@_public
def normal(mean=0.0, std=1.0, size=None, generator=None):
    """Normal numbers; mean and std are numbers or Tensors, size the shape where both are numbers."""
    return ops.normal(() if size is None else size, mean, std, generator)


@_public
def bernoulli(input, *, generator=None):
    """1 with the probability that stands in input, else 0."""
    return ops.bernoulli(input, input, generator)


@_public
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Numbers of classes drawn by their weights, by default each once."""
    return ops.multinomial(input, num_samples, replacement, generator)


# ---------------------------------------------------------------- batch normalisation in parts

@_public
def batch_norm_stats(input, eps):
    """(the means [C], 1 / sqrt(variance + eps)) of input[N, C, ..]"""
    axes = tuple([a for a in range(axes_of("batch_norm_stats", input, 2)) if a != 1])
    variance, mean = ops.var_mean(input, axes, 0, False)
    return mean, ops.rsqrt(variance + eps)


@_public
def batch_norm_elemt(input, weight=None, bias=None, mean=None, invstd=None, eps=1e-05):
    """(input - mean) * invstd * weight + bias, all of them [C]; eps is torch's and is in invstd already."""
    axes = axes_of("batch_norm_elemt", input, 2)
    shape = (1, input.shape[1]) + (1,) * (axes - 2)
    out = input if mean is None else input - ops.reshape(mean, shape)
    for factor in (invstd, weight):
        out = out if factor is None else out * ops.reshape(factor, shape)
    return out if bias is None else out + ops.reshape(bias, shape)


@_public
def batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean=None, running_var=None, momentum=0.1, eps=1e-05,
                                        counts=None):
    """(mean [C], invstd [C]) of all parts of a batch, whose own are mean[R, C] and invstd[R, C] of counts[R] elements; the
    running moments, if given, are written to."""
    counts = ops.reshape(counts, (-1, 1))
    total = ops.sum(counts)
    whole = ops.sum(mean * counts, 0) / total
    apart = mean - whole
    variance = ops.sum((1 / (invstd * invstd) - eps + apart * apart) * counts, 0) / total
    for running, new in ((running_mean, whole), (running_var, variance * total / (total - 1))):
        if running is not None:
            ops.assign(running, running * (1 - momentum) + new * momentum)
    return whole, ops.rsqrt(variance + eps)
