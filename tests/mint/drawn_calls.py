"""Calls of some 300 operators whose operands, options and special numbers are drawn: what torch and mindlite are both asked.

TABLES holds a function of a Drawing for each operator: it gives the arguments of one call. A Drawing knows the seed, so each
side draws the same. Operands are float32 mostly, and now and then float64, float16, bfloat16, integers or bools; without axes,
empty, transposed; with NaN, infinities and zeros of both signs.
"""
import zlib

import numpy as np

FLOATS = ("float32",) * 6 + ("float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int64", "uint8", "int8", "int16")
ANY = FLOATS + INTEGERS + ("bool",)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e30)


class Array:
    """A drawn operand: its numbers, the name of its dtype, whether it is handed over as the transpose of a tensor or as every
    second number of one."""

    def __init__(self, numbers, dtype, turned=False, stepped=False):
        self.numbers, self.dtype, self.turned = numbers, dtype, turned and numbers.ndim > 1
        self.stepped = stepped and numbers.ndim > 0

    @property
    def shape(self):
        """The sizes."""
        return self.numbers.shape

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)}{'T' * self.turned}{'S' * self.stepped} {self.numbers.ravel()[:12].tolist()}"


class Kind(str):
    """The name of a dtype, as an argument."""


class Drawing:
    """Draws the arguments of one call."""

    def __init__(self, *key):
        self.rng = np.random.default_rng(zlib.crc32(repr(key).encode()))

    def pick(self, *options):
        """One of the options."""
        return options[self.rng.integers(len(options))]

    def flag(self, chance=0.5):
        """A bool."""
        return bool(self.rng.random() < chance)

    def int(self, low, high):
        """An int from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def number(self):
        """A Python number."""
        return self.pick(2, 0.5, -1.5, 3, 1, 0, -1, 2.0)

    def shape(self, least=0, most=4, sizes=(1, 2, 3, 3, 4, 5), empty=0.04):
        """Sizes of least to most axes."""
        shape = [self.pick(*sizes) for _ in range(self.int(least, most))]
        if shape and self.flag(empty):
            shape[self.int(0, len(shape) - 1)] = 0
        return tuple(shape)

    def array(self, shape=None, dtypes=FLOATS, low=None, high=None, special=0.15, least=0, most=4):
        """A tensor: normal numbers, or from low to high."""
        shape = self.shape(least, most) if shape is None else tuple(shape)
        dtype = dtypes if isinstance(dtypes, str) else self.pick(*dtypes)
        if dtype == "bool":
            return Array(self.rng.integers(0, 2, shape).astype(bool), dtype, self.flag(0.2))
        if dtype in INTEGERS:
            least = (0 if dtype == "uint8" else -9) if low is None else int(low)
            made = self.rng.integers(least, 10 if high is None else max(int(high), least + 1), shape)
            return Array(np.asarray(made).astype(dtype), dtype, self.flag(0.2))
        made = np.asarray(self.rng.standard_normal(shape) * 1.5 if low is None else self.rng.uniform(low, high, shape))
        made = np.asarray(np.round(made * 64) / 64 if dtype in ("float16", "bfloat16") else made.round(3))
        if special and made.size and self.flag(special):
            for _ in range(self.int(1, 3)):
                made.ravel()[self.int(0, made.size - 1)] = self.pick(*SPECIAL)
        with np.errstate(over="ignore"):
            return Array(made.astype(np.float32 if dtype == "bfloat16" else dtype), dtype, self.flag(0.2))

    def beside(self, x, dtypes=None, special=0.15, **bounds):
        """A tensor that broadcasts with x."""
        shape = [1 if self.flag(0.2) else n for n in x.shape]
        if self.flag(0.2):
            shape = shape[self.int(0, len(shape)):]
        elif self.flag(0.1):
            shape = [2, *shape]
        return self.array(shape, x.dtype if dtypes is None else dtypes, special=special, **bounds)

    def fixed(self, *args, **bounds):
        """A tensor for which nobody asks for a gradient."""
        made = self.array(*args, special=0, **bounds)
        made.numbers.flags.writeable = False
        return made

    def like(self, x, **bounds):
        """A tensor of the dtype and sizes of x."""
        return self.array(x.shape, x.dtype, **bounds)

    def axis(self, x, wrong=0.03):
        """An axis of x, also from the end; now and then one that is not there."""
        n = max(len(x.shape), 1)
        return n + 1 if self.flag(wrong) else self.int(-n, n - 1)

    def axes(self, x, least=1):
        """Some axes of x."""
        n = len(x.shape)
        if n == 0:
            return ()
        found = self.rng.permutation(n)[:self.int(min(least, n), n)]
        return tuple(int(a) - n * self.flag(0.3) for a in found)

    def indices(self, shape, high, wrong=0.0):
        """Indices below high."""
        low, high = (-high - 1, high + 1) if self.flag(wrong) else (0, high)
        return Array(np.asarray(self.rng.integers(low, max(high, low + 1), shape)), "int64")

    def some(self, **options):
        """Each of the settings or not."""
        return {name: value for name, value in options.items() if self.flag()}


def call(*args, **settings):
    """The arguments of a call."""
    return args, settings


def unary(dtypes=ANY, **bounds):
    """A function of one tensor."""
    return lambda d: call(d.array(dtypes=dtypes, **bounds))


def binary(dtypes=ANY, mixed=0.15, numbers=True, **bounds):
    """A function of two tensors, or a tensor and a number."""
    def arguments(d):
        x = d.array(dtypes=dtypes, **bounds)
        if numbers and d.flag(0.2):
            return call(x, d.number())
        return call(x, d.beside(x, dtypes if d.flag(mixed) else None, **bounds))
    return arguments


def table(*rows):
    """{name: function of a Drawing} of (names, function)."""
    return {name: arguments for names, arguments in rows for name in names.split()}


def reduced(dtypes=ANY, several=True, whole=True, dtype=False, bounds=None, **options):
    """A sum of some kind."""
    def arguments(d):
        x = d.array(dtypes=dtypes, **(bounds or {}))
        settings = d.some(**{name: value(d) for name, value in options.items()})
        if dtype and d.flag(0.25):
            settings["dtype"] = Kind(d.pick("float32", "float64", *(["int64", "int32"] if x.dtype not in FLOATS else [])))
        if not whole or d.flag(0.75):
            settings["dim"] = d.axes(x) if several and d.flag(0.4) else d.axis(x)
            settings |= d.some(keepdim=d.flag())
        return call(x, **settings)
    return arguments


def along(dtypes=ANY, axis="dim", **options):
    """A function along one axis."""
    def arguments(d):
        x = d.array(dtypes=dtypes)
        return call(x, **{axis: d.axis(x)}, **d.some(**{name: value(d) for name, value in options.items()}))
    return arguments


def gathers(d):
    x = d.array(dtypes=ANY, least=1)
    axis = d.axis(x)
    shape = [max(1, n - d.flag(0.3)) for n in x.shape]
    shape[axis % len(shape)] = d.int(1, 4)
    return call(x, axis, d.indices(shape, x.shape[axis % len(x.shape)], 0.03))


def scatters(sources=True):
    def arguments(d):
        (x, axis, index), _ = gathers(d)
        if not sources and d.flag(0.3):
            return call(x, axis, index, d.pick(2.0, -1.0) if x.dtype != "bool" else True)
        if not sources:                                        # the order of writes to one place is nobody's
            n = x.shape[axis % len(x.shape)]
            length = min(n, index.shape[axis % len(x.shape)])
            shape = [*index.shape]
            shape[axis % len(x.shape)] = length
            ranks = np.argsort(d.rng.random([*shape[:axis % len(x.shape)], n, *shape[axis % len(x.shape) + 1:]]),
                               axis % len(x.shape))
            index = Array(np.take(ranks, range(length), axis % len(x.shape)), "int64")
        return call(x, axis, index, d.array([n + d.flag(0.2) for n in index.shape], x.dtype))
    return arguments


def matrices(batch=(0, 2), dtypes=FLOATS[:7]):
    def arguments(d):
        lead, (m, k, n) = d.shape(*batch, empty=0), [d.int(0 if d.flag(0.05) else 1, 4) for _ in range(3)]
        dtype = d.pick(*dtypes)
        return call(d.array((*lead, m, k), dtype), d.array((*lead, k, n), dtype))
    return arguments


def matmul(d):
    (x, y), _ = matrices()(d)
    if d.flag(0.2):
        x = d.array(x.shape[-1:], x.dtype)
    if d.flag(0.2):
        y = d.array(y.shape[-2:-1], y.dtype)
    return call(x, y)


def added(shapes, *scales):
    """A product that is added to something."""
    def arguments(d):
        sizes = {letter: d.int(1, 4) for letter in "bmkn"}
        dtype = d.pick("float32", "float32", "float64")
        made = [d.array([sizes[letter] for letter in word], dtype, special=0.05) for word in shapes.split()]
        if d.flag(0.2):
            made[0] = d.beside(made[0])
            made[0] = made[0] if len(made[0].shape) <= len(shapes.split()[0]) else made[1]
        return call(*made, **d.some(beta=d.pick(0, 0.5, 2), alpha=d.pick(0.5, 2)))
    return arguments


def lists(least=1, same=False):
    """A list of tensors that agree but for one axis."""
    def arguments(d):
        first = d.array(dtypes=ANY, least=least)
        axis = d.axis(first) if first.shape else 0
        parts = [first]
        for _ in range(d.int(0, 2)):
            shape = list(first.shape)
            if not same and shape:
                shape[axis % len(shape)] = d.int(0, 3)
            parts.append(d.array(shape, ANY if d.flag(0.1) else first.dtype))
        return call(parts, **d.some(dim=axis))
    return arguments


def stacked(d):
    (parts,), settings = lists(0, True)(d)
    n = len(parts[0].shape) + 1
    return call(parts, **d.some(dim=d.int(-n, n - 1)))


def side_by_side(d):
    (parts,), _ = lists(1, True)(d)
    return call(parts)


def split(d):
    x = d.array(dtypes=ANY, least=1)
    axis = d.axis(x)
    n = x.shape[axis % len(x.shape)]
    cut = d.int(0, n)
    return call(x, d.pick(d.int(1, 3), [cut, n - cut]), axis)


def shape_of(d):
    x = d.array(dtypes=ANY)
    n = x.numbers.size
    return call(x, d.pick((-1,), (n,), (1, -1), tuple(x.shape[::-1]), (n, 1, 1), (-1, n) if n else (0, 3)))


def broadcast(d):
    x = d.array(dtypes=ANY)
    shape = [d.pick(2, 3, n) if n == 1 else n for n in x.shape]
    return call(x, tuple([d.int(1, 3)] * d.flag(0.4) + [-1 if d.flag(0.1) else n for n in shape]))


def tiled(d):
    x = d.array(dtypes=ANY)
    return call(x, tuple(d.int(0 if d.flag(0.1) else 1, 3) for _ in range(d.int(max(0, len(x.shape) - 1), len(x.shape) + 1))))


def rolled(d):
    x = d.array(dtypes=ANY, least=1)
    if d.flag(0.3):
        return call(x, d.int(-4, 4))
    axes = d.axes(x)
    return call(x, tuple(d.int(-4, 4) for _ in axes), axes)


def repeated(d):
    x = d.array(dtypes=ANY, least=1)
    if d.flag(0.3):
        return call(x, d.int(0, 3))
    axis = d.axis(x)
    n = x.shape[axis % len(x.shape)]
    return call(x, d.pick(d.int(0, 3), d.indices((n,), 4)), axis)


def selected(d):
    x = d.array(dtypes=ANY, least=1)
    axis = d.axis(x)
    n = x.shape[axis % len(x.shape)]
    least = -n - d.flag(0.05)
    return call(x, axis, d.int(least, max(least, n - (not d.flag(0.05)))))


def narrowed(d):
    x = d.array(dtypes=ANY, least=1)
    axis = d.axis(x)
    n = x.shape[axis % len(x.shape)]
    start = d.int(-n, n)
    return call(x, axis, start, d.int(0, max(0, n - start % n) if n else 0))


def index_selected(d):
    x = d.array(d.shape(1, empty=0), ANY)
    axis = d.axis(x)
    return call(x, axis, d.indices((d.int(0, 4),), x.shape[axis % len(x.shape)], 0.04))


def index_added(d):
    (x, axis, index), _ = index_selected(d)
    shape = [*x.shape]
    shape[axis % len(shape)] = index.shape[0]
    return call(x, axis, index, d.array(shape, x.dtype), **d.some(alpha=d.pick(2, -1)))


def chosen(d):
    x = d.array(dtypes=ANY)
    y = d.pick(d.beside(x), d.number())
    return call(d.beside(x, "bool"), x, y)


def masked(d):
    x = d.array(dtypes=ANY)
    return call(x, d.beside(x, "bool"))


def highest(d):
    x = d.array(dtypes=FLOATS[:7], least=1, special=0)         # which of equal elements comes first is nobody's
    axis = d.axis(x, 0)
    return call(x, d.int(0, x.shape[axis]), axis, d.flag())


def kth(d):
    x = d.array(dtypes=FLOATS[:7], least=1, special=0)
    axis = d.axis(x, 0)
    return call(x, d.int(1, max(1, x.shape[axis])), axis, **d.some(keepdim=d.flag()))


def sought(d):
    n, lead = d.int(0, 5), d.shape(0, 2, empty=0)
    row = d.array((n,), "float32", special=0)
    row = Array(np.sort(row.numbers), row.dtype)
    return call(row, d.array((*lead, 3), "float32", special=0), **d.some(right=d.flag(), out_int32=d.flag()))


def ordered(d):
    x = d.array(dtypes=ANY)
    return call(x, **d.some(dim=d.axis(x), descending=d.flag()), stable=True)


def spread(d):
    x = d.array(special=0)
    settings = d.some(correction=d.pick(0, 1), keepdim=d.flag())
    return call(x, d.pick(None, d.axis(x), d.axes(x)), **settings) if d.flag(0.8) else call(x)


def lengths(d):
    x = d.array()
    settings = d.some(p=d.pick(0, 1, 2, 3, -1, 0.5, float("inf"), -float("inf")))
    return call(x, **settings, **d.some(dim=d.pick(d.axis(x), d.axes(x)), keepdim=d.flag()))


def vector_lengths(d):
    (x,), settings = lengths(d)
    if "p" in settings:
        settings["ord"] = settings.pop("p")
    return call(x, **settings)


def matrix_lengths(d):
    x = d.array(least=2, dtypes=FLOATS[:7], special=0)
    return call(x, **d.some(ord=d.pick("fro", 1, -1, float("inf"), -float("inf"), 2, "nuc"), keepdim=d.flag()))


def clamped(d):
    x = d.array(dtypes=ANY[:-1])
    low, high = d.pick(None, -1, 0.5, d.beside(x, special=0)), d.pick(1, 2.5, d.beside(x, special=0))
    if isinstance(low, Array) != isinstance(high, Array) and low is not None:
        low, high = d.beside(x, special=0), d.beside(x, special=0)      # both are tensors, or both numbers
    return call(x, low, high)


def interpolated(d):
    x = d.array()
    return call(x, d.beside(x), d.pick(0.3, 0.7, d.beside(x)))


def scaled(d):
    x = d.array(dtypes=FLOATS + INTEGERS)
    return call(x, d.beside(x), d.beside(x), **d.some(value=d.pick(2, -1)))


def differences(d):
    x = d.array(dtypes=ANY, least=1)
    return call(x, **d.some(n=d.int(0, 2), dim=d.axis(x)))


def counted(d):
    x = d.indices((d.int(0, 8),), 6)
    return call(x, **d.some(weights=d.array(x.shape, "float32"), minlength=d.int(0, 9)))


def histogram(d):
    x = d.array(dtypes=("float32",), special=0)
    low = d.int(-3, 1)
    return call(x, bins=d.int(1, 6), **d.pick({}, {"min": low, "max": low + d.int(0, 3)}))


def seen(d):
    x = d.array(d.shape(empty=0), INTEGERS[:4] + ("bool",), low=0, high=4)
    return call(x, return_inverse=d.flag(), return_counts=d.flag(), **d.some(dim=d.axis(x)))


def crossed(d):
    x = d.array([3 if d.flag(0.6) else n for n in d.shape(1, 3, empty=0)], FLOATS[:7] + INTEGERS)
    return call(x, d.like(x), **d.some(dim=d.axis(x)))


def distances(d):
    n, lead = d.int(1, 4), d.shape(0, 1, empty=0)
    return call(d.array((*lead, 3, n), "float32", special=0), d.array((*lead, 2, n), "float32", special=0),
                **d.some(p=d.pick(1.0, 2.0, 3.0, 0.0, float("inf"))))


def diagonals(least, most):
    def arguments(d):
        x = d.array(dtypes=ANY, least=least, most=most)
        return call(x, **d.some(diagonal=d.int(-3, 3)))
    return arguments


def triangular(d):
    n, k = d.int(1, 4), d.int(1, 3)
    square = d.array((n, n), "float32", special=0)
    square.numbers[...] = square.numbers * 0.3 + np.eye(n) * 2
    return call(d.array((n, k), "float32", special=0), square, d.flag(), d.flag(), d.flag())


def inverted(d):
    lead, n = d.shape(0, 2, empty=0), d.int(0 if d.flag(0.1) else 1, 4)
    x = d.array((*lead, n, n), d.pick("float32", "float64"), special=0)
    x.numbers[...] = x.numbers * 0.3 + np.eye(n) * 2
    return call(x)


EQUATIONS = (("ij,jk->ik", "ij jk"), ("ij,jk", "ij jk"), ("ij->ji", "ij"), ("ii->i", "ii"), ("ij->", "ij"), ("i,j->ij", "i j"),
             ("bij,bjk->bik", "bij bjk"), ("...i,...i->...", "bi bi"), ("ij,ij->i", "ij ij"), ("bij->bj", "bij"),
             ("ii", "ii"), ("ij,j", "ij j"), ("bi,ij,bj->b", "bi ij bj"))


def einsum(d):
    text, words = d.pick(*EQUATIONS)
    size = {letter: d.int(1, 4) for letter in "bijk"}
    return call(text, *[d.array([size[letter] for letter in word], "float32") for word in words.split()])


def filled(d):
    return call(d.shape(), **d.some(dtype=Kind(d.pick(*ANY))))


def filled_with(d):
    return call(d.shape(), d.pick(3, 1.5, True, -1), **d.some(dtype=Kind(d.pick(*FLOATS, "int32"))))


def filled_like(value=False):
    def arguments(d):
        x = d.array(dtypes=ANY)
        return call(x, *([d.pick(3, 1.5, True)] if value else []), **d.some(dtype=Kind(d.pick(*ANY))))
    return arguments


def steps(d):
    start, step = d.int(-3, 3), d.pick(1, 2, 0.5, -1)
    if d.flag(0.2):
        return call(d.int(0, 5), **d.some(dtype=Kind(d.pick("float32", "int32"))))
    return call(start, start + step * d.int(0, 5), step, **d.some(dtype=Kind(d.pick("float32", "int64"))))


def linspace(d):
    return call(d.number(), d.number(), d.int(1, 6), **d.some(dtype=Kind(d.pick("float32", "float64"))))


def identity(d):
    return call(d.int(0, 4), **d.some(m=d.int(0, 4), dtype=Kind(d.pick("float32", "int64", "bool"))))


def two_axes(d):
    x = d.array(dtypes=ANY, least=1)
    return call(x, d.axis(x), d.axis(x))


def permuted(d):
    x = d.array(dtypes=ANY)
    n = len(x.shape)
    return call(x, tuple(int(a) - n * d.flag(0.3) for a in d.rng.permutation(n)))


def unsqueezed(d):
    x = d.array(dtypes=ANY)
    n = len(x.shape) + 1
    return call(x, d.int(-n, n - 1) if d.flag(0.95) else n + 1)


def squeezed(d):
    x = d.array(dtypes=ANY)
    return call(x) if d.flag(0.3) else call(x, d.axis(x) if d.flag(0.7) or not x.shape else d.axes(x))


def flattened(d):
    x = d.array(dtypes=ANY)
    n = max(1, len(x.shape))
    return call(x, **d.some(start_dim=d.int(-n, n - 1), end_dim=d.int(-n, n - 1)))


def flipped(d):
    x = d.array(dtypes=ANY)
    return call(x, d.axes(x, 0))


def gathered_flat(d):
    x = d.array(dtypes=ANY, least=1)
    n = x.numbers.size
    return call(x, Array(np.asarray(d.rng.integers(-n, max(n, 1), d.shape(0, 2))), "int64"))


def grids(d):
    return call(*[d.array((d.int(1, 3),), "float32") for _ in range(d.int(1, 3))], indexing=d.pick("ij", "xy"))


def polar(d):
    x = d.array(dtypes=("float32", "float64"), special=0, low=0.1, high=3)
    return call(x, d.like(x, special=0))


def power(d):
    x = d.array(dtypes=ANY, special=0.1)
    if d.flag(0.4):
        return call(x, d.pick(2, 3, 0.5, 0, 1, 2.5, *([-1, -2] if x.dtype in FLOATS else [])))
    if d.flag(0.1):
        return call(d.pick(2, 0.5, 3.0), x)
    return call(x, d.beside(x, low=0 if x.dtype in INTEGERS else -2, high=3))


ELEMENTWISE = table(
    ("frac", unary(FLOATS)), ("abs sign", unary(ANY[:-1])),
    ("ceil floor neg negative round square trunc fix isfinite isinf isnan isneginf ravel clone nan_to_num "
     "logical_not", unary()),
    ("exp exp2 expm1 sin cos tan sinh cosh tanh atan arctan asinh arcsinh sigmoid erf erfc sinc rsqrt sqrt reciprocal log log2 "
     "log10 log1p acos asin arccos arcsin atanh arctanh acosh arccosh erfinv", unary()),
    ("bitwise_not", unary(INTEGERS + ("bool",))), ("t", unary(most=2)),
    ("sub", binary(ANY[:-1])), ("add mul eq ne not_equal ge gt le lt greater greater_equal less less_equal", binary()),
    ("maximum minimum", binary(numbers=False, special=0)), ("atan2 arctan2 logaddexp logaddexp2", binary(FLOATS, numbers=False)),
    ("xlogy float_power", binary(low=0.1, high=4)), ("logical_and logical_or logical_xor", binary(numbers=False)),
    ("bitwise_and bitwise_or bitwise_xor", binary(INTEGERS + ("bool",), numbers=False)),
    ("gcd", binary(INTEGERS, numbers=False)), ("pow", power),
    ("floor_divide fmod remainder", binary(FLOATS + INTEGERS, low=1, high=9)),
    ("div divide", lambda d: (binary(FLOATS)(d)[0], {} if d.flag(0.4) else {"rounding_mode": d.pick(None, "floor", "trunc")})),
    ("lerp", interpolated), ("addcmul", scaled), ("clamp clip", clamped), ("polar", polar), ("where", chosen),
    ("isclose allclose", binary(FLOATS, 0, False)), ("equal", binary(FLOATS, 0, False)),
)
REDUCTIONS = table(
    ("sum nansum", reduced(dtype=True)), ("mean", reduced(FLOATS, dtype=False)), ("prod", reduced(several=False, dtype=True)),
    ("all any", reduced(several=False)), ("amax amin", reduced(several=True)),
    ("argmax argmin", reduced(ANY[:-1], several=False)),
    ("logsumexp", reduced(FLOATS, whole=False)), ("std var std_mean var_mean", spread), ("norm", lengths),
    ("median", reduced(FLOATS[:7] + INTEGERS, several=False)), ("max min", reduced(several=False)),
    ("count_nonzero", lambda d: call(x := d.array(dtypes=ANY), **d.some(dim=d.pick(d.axis(x), d.axes(x))))),
    ("cumsum", along()), ("cumprod", lambda d: call(x := d.array(dtypes=ANY, special=0), d.axis(x))),
    ("cummax cummin", along(FLOATS + INTEGERS)), ("softmax", along(FLOATS)),
    ("sort argsort", ordered), ("topk", highest), ("kthvalue", kth), ("searchsorted", sought), ("bincount", counted),
    ("histc", histogram), ("unique", seen), ("unique_consecutive", seen), ("diff", differences),
)
SHAPES = table(
    ("gather", gathers), ("scatter", scatters(False)), ("scatter_add", scatters()), ("take", gathered_flat),
    ("index_select", index_selected), ("index_add", index_added), ("select", selected), ("narrow", narrowed),
    ("masked_select", masked), ("nonzero", unary()), ("reshape", shape_of), ("flatten", flattened), ("squeeze", squeezed),
    ("unsqueeze", unsqueezed), ("transpose swapaxes", two_axes), ("permute", permuted), ("broadcast_to", broadcast),
    ("tile", tiled), ("repeat_interleave", repeated), ("roll", rolled), ("flip", flipped), ("cat concat", lists()),
    ("stack", stacked), ("hstack dstack", side_by_side), ("split", split), ("unbind", along()),
    ("chunk", lambda d: call(x := d.array(dtypes=ANY, least=1), d.int(1, 4), d.axis(x))), ("meshgrid", grids),
    ("diag", diagonals(1, 2)), ("tril triu", diagonals(2, 4)), ("trace", unary(ANY, least=2, most=2)), ("zeros ones", filled),
    ("full", filled_with), ("zeros_like ones_like", filled_like()), ("full_like", filled_like(True)), ("arange", steps),
    ("linspace", linspace), ("eye", identity),
)
PRODUCTS = table(
    ("mm", matrices((0, 0))), ("bmm", matrices((1, 1))), ("matmul", matmul), ("addmm", added("mn mk kn")),
    ("addmv", added("m mk k")), ("addbmm", added("mn bmk bkn")), ("baddbmm", added("bmn bmk bkn")),
    ("outer", lambda d: call(x := d.array(least=1, most=1, dtypes=ANY), d.array((d.int(0, 4),), x.dtype))),
    ("dot vdot", lambda d: call(x := d.array(least=1, most=1, dtypes=FLOATS[:7] + INTEGERS), d.like(x))),
    ("mv", lambda d: call(x := d.array((d.int(1, 4), d.int(1, 4)), FLOATS[:7]), d.array(x.shape[1:], x.dtype))),
    ("cross", crossed), ("cdist", distances), ("einsum", einsum), ("triangular_solve", triangular), ("inverse", inverted),
)
SMALL_FLOATS = ("float32",) * 4 + ("float64", "bfloat16", "float16")


def activation(**options):
    return lambda d: call(d.array(dtypes=SMALL_FLOATS), **d.some(**{name: d.pick(*values) for name, values in options.items()}))


def loss(target, **options):
    def arguments(d):
        x = d.array(dtypes=("float32", "float32", "float64"), special=0, least=target == "classes", most=3)
        settings = d.some(reduction=d.pick("none", "mean", "sum"), **{name: d.pick(*values) for name, values in options.items()})
        if target in ("unit", "chances"):
            y = d.like(x, low=0.05, high=0.95, special=0)
            x = d.like(x, low=0.05, high=0.95, special=0) if target == "unit" else x
        else:
            y = d.like(x, special=0)
        return call(x, y, **settings)
    return arguments


def classes(d):
    n, c, rest = d.int(1, 4), d.int(2, 4), d.shape(0, 2, empty=0)
    x = d.array((n, c, *rest) if rest or d.flag(0.9) else (c,), "float32", special=0)
    y = d.indices((n, *rest) if len(x.shape) > 1 else (), c, 0.03)
    return call(x, y, **d.some(weight=d.fixed((c,), "float32", low=0.1, high=2), ignore_index=d.int(0, c),
                               reduction=d.pick("none", "mean", "sum")))


def cross_entropy(d):
    (x, y), settings = classes(d)
    if d.flag(0.3):
        y = d.array(x.shape, "float32", low=0.05, high=0.95, special=0)
        settings.pop("ignore_index", None)
    return call(x, y, **settings, **d.some(label_smoothing=d.pick(0.1, 0.5)))


def margins(d):
    n, m = d.int(1, 4), d.int(1, 4)
    return call(d.array((n, m), "float32", special=0), d.array((n, m), "float32", special=0),
                Array(d.rng.choice([-1, 1], n), "int64"), **d.some(margin=d.pick(0.0, 0.3, -0.5),
                                                                   reduction=d.pick("none", "sum", "mean")))


def convolution(n):
    def arguments(d):
        groups, k = d.pick(1, 1, 2), [d.int(1, 3) for _ in range(n)]
        channels, out = groups * d.int(1, 2), groups * d.int(1, 2)
        lead = (d.int(1, 2),) if d.flag(0.85) else ()
        x = d.array((*lead, channels, *[d.int(5, 7) for _ in range(n)]), "float32", special=0)
        w = d.array((out, channels // groups, *k), "float32", special=0)
        bias = d.array((out,), "float32", special=0) if d.flag() else None
        stride, dilation = d.int(1, 2), d.int(1, 2)
        padding = d.pick(0, 1, "same" if stride == 1 else 1, "valid", tuple(d.int(0, 2) for _ in range(n)))
        return call(x, w, bias, d.pick(stride, (stride,) * n), padding, dilation, groups)
    return arguments


def transposed_convolution(d):
    groups, stride = d.pick(1, 1, 2), d.int(1, 3)
    x = d.array((d.int(1, 2), groups * 2, d.int(2, 4), d.int(2, 4)), "float32", special=0)
    w = d.array((groups * 2, d.int(1, 2), d.int(1, 3), d.int(1, 3)), "float32", special=0)
    return call(x, w, None if d.flag() else d.array((w.shape[1] * groups,), "float32", special=0), stride, d.int(0, 1),
                d.int(0, stride - 1), groups, d.int(1, 2))


def pooled(n, average):
    def arguments(d):
        lead = (d.int(1, 2), d.int(1, 2)) if d.flag(0.8) else (d.int(1, 2),)
        x = d.array((*lead, *[d.int(4, 7) for _ in range(n)]), "float32", special=0 if average else 0.1)
        k = d.int(1, 3)
        settings = d.some(stride=d.int(1, 3), padding=d.int(0, k // 2), ceil_mode=d.flag())
        if average:
            settings |= d.some(count_include_pad=d.flag(), **({"divisor_override": d.int(1, 5)} if n > 1 else {}))
        else:
            settings |= d.some(dilation=d.int(1, 2), return_indices=d.flag())
        return call(x, d.pick(k, (k,) * n), **settings)
    return arguments


def adapted(n, largest=False):
    def arguments(d):
        lead = (d.int(1, 2), d.int(1, 2)) if d.flag(0.8) else (d.int(1, 2),)
        x = d.array((*lead, *[d.int(3, 7) for _ in range(n)]), "float32", special=0)
        size = d.pick(d.int(1, 4), tuple(d.int(1, 4) for _ in range(n)))
        return call(x, size, **(d.some(return_indices=d.flag()) if largest else {}))
    return arguments


def resized(d):
    n = d.pick(1, 2, 2, 3)
    x = d.array((d.int(1, 2), d.int(1, 2), *[d.int(2, 5) for _ in range(n)]), "float32", special=0)
    mode = d.pick("nearest", "nearest-exact", ("linear", "bilinear", "trilinear")[n - 1], *["bicubic"] * (n == 2), "area")
    settings = {"mode": mode}
    if mode.endswith("linear") or mode == "bicubic":
        settings |= d.some(align_corners=d.flag())
    size = {"size": tuple(d.int(1, 8) for _ in range(n))} if d.flag(0.6) else {"scale_factor": d.pick(2, 0.5, 1.5, 2.0)}
    return call(x, **size, **settings)


def sampled(d):
    x = d.array((2, d.int(1, 2), d.int(2, 4), d.int(2, 4)), "float32", special=0)
    grid = d.array((2, d.int(1, 3), d.int(1, 3), 2), "float32", low=-1.4, high=1.4, special=0)
    return call(x, grid, **d.some(mode=d.pick("bilinear", "nearest"), padding_mode=d.pick("zeros", "border", "reflection"),
                                  align_corners=d.flag()))


def padded(d):
    mode = d.pick("constant", "constant", "reflect", "replicate", "circular")
    if mode == "constant":
        x = d.array(dtypes=ANY[:-1], least=1)
        sizes = [d.int(-1 if d.flag(0.2) else 0, 2) for _ in range(2 * d.int(1, len(x.shape)))]
        return call(x, sizes, **d.some(mode=mode, value=d.pick(1.5, 2)))
    n = d.int(1, 3)
    x = d.array((d.int(1, 2), d.int(1, 2), *[d.int(3, 4) for _ in range(n)]), "float32", special=0)
    return call(x, [d.int(0, 2) for _ in range(2 * n)], mode=mode)


def unfolded(d):
    x = d.array((d.int(1, 2), d.int(1, 2), d.int(4, 6), d.int(4, 6)), "float32", special=0)
    return call(x, d.pick(2, (2, 3), 1), **d.some(dilation=d.int(1, 2), padding=d.int(0, 1), stride=d.int(1, 2)))


def folded(d):
    (k, stride, padding), size = (d.int(1, 3), d.int(1, 2), d.int(0, 1)), (d.int(4, 6), d.int(4, 6))
    counts = [(n + 2 * padding - k) // stride + 1 for n in size]
    x = d.array((d.int(1, 2), 2 * k * k, counts[0] * counts[1]), "float32", special=0)
    return call(x, size, k, 1, padding, stride)


def normed_by_batch(d):
    c = d.int(1, 3)
    x = d.array((d.int(2, 4), c, *d.shape(0, 2, empty=0)), "float32", special=0)
    scale = [d.array((c,), "float32", special=0) for _ in range(2)] if d.flag(0.6) else []
    state = d.fixed((c,), "float32"), d.fixed((c,), "float32", low=0.2, high=2)
    return call(x, *state, *scale, **d.some(training=d.flag(), eps=1e-3))


def normed_by_group(d):
    g, c = d.int(1, 3), d.int(1, 2)
    x = d.array((d.int(1, 3), g * c, *d.shape(1, 2, empty=0)), "float32", special=0)
    scale = [d.array((g * c,), "float32", special=0) for _ in range(2)] if d.flag(0.6) else []
    return call(x, g, *scale, **d.some(eps=1e-3))


def normed_by_layer(d):
    x = d.array(d.shape(1, 3, sizes=(2, 3, 4), empty=0), "float32", special=0)
    last = x.shape[d.int(0, len(x.shape) - 1):]
    scale = [d.array(last, "float32", special=0) for _ in range(d.int(0, 2))]
    return call(x, last, *scale, **d.some(eps=1e-3))


def normalized(d):
    x = d.array(least=2, dtypes=("float32", "float64"))
    return call(x, **d.some(p=d.pick(1.0, 2.0, 3.0, float("inf")), dim=d.axis(x), eps=d.pick(1e-12, 0.5)))


def embedded(d):
    w = d.array((d.int(2, 5), d.int(1, 4)), "float32", special=0)
    n = w.shape[0]
    return call(d.indices(d.shape(0, 2), n, 0.03), w, **d.some(padding_idx=d.int(-n, n - 1), scale_grad_by_freq=d.flag()))


def linear(d):
    x = d.array(least=1, dtypes=("float32", "float64"))
    out = d.int(1, 4)
    return call(x, d.array((out, x.shape[-1]), x.dtype), *([d.array((out,), x.dtype)] if d.flag() else []))


def prelu(d):
    x = d.array((d.int(1, 3), d.int(1, 3), *d.shape(0, 2, empty=0)), "float32", special=0)
    return call(x, d.array((d.pick(1, x.shape[1]),), "float32", special=0))


def shuffled(d):
    r = d.int(1, 3)
    return call(d.array((*d.shape(0, 2), r * r * d.int(1, 2), d.int(1, 3), d.int(1, 3)), "float32"), r)


FUNCTIONAL = table(
    ("relu6 selu silu mish logsigmoid sigmoid tanh", activation()),
    ("relu hardsigmoid hardswish", unary(SMALL_FLOATS, special=0)),
    ("elu", activation(alpha=(0.5, 2.0, 1))), ("gelu", activation(approximate=("none", "tanh"))),
    ("hardtanh", activation(min_val=(-2, -0.5), max_val=(0.25, 3))), ("leaky_relu", activation(negative_slope=(0.2, 0, -0.5))),
    ("softplus", activation(beta=(0.5, 2), threshold=(1, 10))), ("softshrink hardshrink", activation(lambd=(0.1, 1.0))),
    ("threshold", lambda d: call(d.array(dtypes=SMALL_FLOATS), d.pick(0.1, -1), d.pick(2, 0.5))),
    ("glu", lambda d: call(x := d.array((2, 4, *d.shape(0, 1, (2, 4))), SMALL_FLOATS), d.axis(x))),
    ("prelu", prelu), ("log_softmax softmax", along(SMALL_FLOATS)), ("linear", linear),
    ("conv1d", convolution(1)), ("conv2d", convolution(2)), ("conv3d", convolution(3)),
    ("conv_transpose2d", transposed_convolution), ("avg_pool1d", pooled(1, True)), ("avg_pool2d", pooled(2, True)),
    ("avg_pool3d", pooled(3, True)), ("max_pool2d", pooled(2, False)), ("adaptive_avg_pool1d", adapted(1)),
    ("adaptive_avg_pool2d", adapted(2)), ("adaptive_avg_pool3d", adapted(3)), ("adaptive_max_pool1d", adapted(1, True)),
    ("adaptive_max_pool2d", adapted(2, True)), ("interpolate", resized), ("grid_sample", sampled), ("pad", padded),
    ("unfold", unfolded), ("fold", folded), ("batch_norm", normed_by_batch), ("group_norm", normed_by_group),
    ("layer_norm", normed_by_layer), ("normalize", normalized), ("embedding", embedded), ("pixel_shuffle", shuffled),
    ("one_hot", lambda d: call(d.indices(d.shape(0, 2), 4, 0.05), d.pick(-1, 4, 6))),
    ("binary_cross_entropy", loss("unit")), ("binary_cross_entropy_with_logits", loss("chances")),
    ("l1_loss mse_loss", loss("any")),
    ("soft_margin_loss", lambda d: call(x := d.array(dtypes="float32", special=0), d.fixed(x.shape, "float32"),
                                        **d.some(reduction=d.pick("none", "mean", "sum")))),
    ("smooth_l1_loss", loss("any", beta=(0.5, 2.0, 0))),
    ("kl_div", lambda d: loss("any", log_target=(True,))(d) if d.flag() else loss("chances")(d)),
    ("cross_entropy", cross_entropy), ("nll_loss", classes), ("cosine_embedding_loss", margins),
)
LINALG = table(("inv", inverted), ("vector_norm", vector_lengths), ("matrix_norm", matrix_lengths))
SPECIAL_FUNCTIONS = table(("erfc exp2 expm1 log1p sinc", unary()), ("log_softmax", along(FLOATS)),
                          ("round", lambda d: call(d.array())))
# what stands in `ops` alone, and means what torch's function of the name means
OPERATORS = table(
    ("signbit rad2deg deg2rad positive isreal", unary(ANY)), ("lgamma digamma", unary(FLOATS, special=0)),
    ("logit", unary(FLOATS, low=0.05, high=0.95, special=0)),
    ("hypot copysign nextafter", binary(FLOATS[:7], 0, False, special=0)), ("heaviside", binary(FLOATS[:7], 0, False)),
    ("lcm", binary(INTEGERS[:3], 0, False)),
    ("ldexp", lambda d: call(x := d.array(None, FLOATS[:7]), d.beside(x, "int32", low=0, high=4))),
    ("fliplr flipud", unary(ANY, least=2)), ("rot90", lambda d: call(d.array(least=2), d.int(-3, 5), (0, 1))),
    ("moveaxis", lambda d: call(x := d.array(least=1), d.axis(x), d.axis(x))), ("vstack column_stack", side_by_side),
    ("diagonal", lambda d: call(d.array(least=2, dtypes=ANY), **d.some(offset=d.int(-3, 3)))),
    ("diag_embed", lambda d: call(d.array(least=1, dtypes=ANY), **d.some(offset=d.int(-2, 2)))),
    ("trapz", lambda d: call(d.array(least=1, dtypes=FLOATS[:7], special=0))),
    ("logcumsumexp", lambda d: call(x := d.array(least=1, dtypes=FLOATS[:7], special=0), d.axis(x))),
    ("kron", lambda d: call(x := d.array(dtypes=FLOATS[:7] + INTEGERS, most=1), d.array(None, x.dtype, most=1))),
    ("renorm", lambda d: call(x := d.array(least=2, dtypes=("float32",), special=0), d.pick(1.0, 2.0, 3.0),
                            d.axis(x), d.pick(0.5, 2.0))),
    ("tensor_split", lambda d: call(x := d.array(least=1, dtypes=ANY), d.pick(d.int(1, 4), (1, 3)), d.axis(x))),
    ("block_diag", lambda d: call(*[d.array(most=2, dtypes="float32") for _ in range(d.int(1, 3))])),
)
METHODS = {name: arguments for room in (ELEMENTWISE, REDUCTIONS, SHAPES, PRODUCTS) for name, arguments in room.items()
           if name not in ("zeros ones full zeros_like ones_like full_like arange linspace eye cat concat stack hstack dstack "
                           "meshgrid polar einsum cdist cross where dot vdot trace searchsorted bincount norm std_mean var_mean "
                           "triangular_solve arccos fix unique_consecutive mean std var median count_nonzero cumsum cumprod sort "
                           "argsort unique scatter scatter_add take squeeze equal allclose ravel").split()}
TABLES = {"": ELEMENTWISE | REDUCTIONS | SHAPES | PRODUCTS, "nn.functional": FUNCTIONAL, "linalg": LINALG,
          "special": SPECIAL_FUNCTIONS, "ops": OPERATORS, "Tensor": METHODS}


def converted(x, dtype):
    """The operand in another dtype: integers keep theirs unless integers are wanted; complex numbers turn with their place."""
    if x.dtype == "bool" or (x.dtype in INTEGERS and dtype not in (*INTEGERS, "bool")) or x.dtype == "complex64":
        return x
    with np.errstate(all="ignore"):
        if dtype == "complex64":
            made = (x.numbers * np.exp(1j * np.arange(1, 1 + x.numbers.size).reshape(x.shape))).astype(dtype)
        elif dtype in INTEGERS or dtype == "bool":
            made = np.nan_to_num(x.numbers, posinf=7, neginf=-7)
            made = (np.abs(made) if dtype == "uint8" else made).astype(dtype)
        else:
            made = x.numbers.astype(np.float32 if dtype == "bfloat16" else dtype)
    made = np.asarray(made)
    made.flags.writeable = x.numbers.flags.writeable
    return Array(made, dtype, x.turned, x.stepped)


def emptied(x, axis):
    """The operand with no elements along an axis, if it has the axis."""
    if len(x.shape) < max(axis + 1, -axis):
        return x
    return Array(np.take(x.numbers, range(0), axis), x.dtype, x.turned)


def made_special(x):
    """The operand with nan, infinities and zeros in some places."""
    if x.numbers.dtype.kind != "f" or not x.numbers.size:
        return x
    made = x.numbers.copy()
    made.ravel()[::2] = np.resize([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30], made.ravel()[::2].shape)
    made.flags.writeable = x.numbers.flags.writeable
    return Array(made, x.dtype, x.turned)


VARIANTS = {
    **{dtype: lambda x, dtype=dtype: converted(x, dtype)
       for dtype in ("float16", "bfloat16", "float64", "complex64", "int8", "uint8", "int64", "bool")},
    "empty": lambda x: emptied(x, 0), "hollow": lambda x: emptied(x, -1), "special": made_special,
    "single": lambda x: Array(x.numbers.ravel()[0].reshape(()), x.dtype) if x.numbers.size else x,
    "stepped": lambda x: Array(x.numbers, x.dtype, x.turned, True),
}


def varied(value, change):
    """The arguments with each operand changed."""
    if isinstance(value, dict):
        return {name: varied(v, change) for name, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(varied(v, change) for v in value)
    return change(value) if isinstance(value, Array) else value


def arguments_of(room, name, seed, number, variant=None):
    """The arguments of one drawn call; variant : what is changed in all of its operands."""
    drawn = TABLES[room][name](Drawing(room, name, seed, number))
    return varied(drawn, VARIANTS[variant]) if variant else drawn


def cotangent(shape):
    """What the gradient of an output begins with."""
    return np.cos(np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64)).reshape(shape)
