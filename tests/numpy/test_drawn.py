"""mindlite.numpy against NumPy for drawn operands, axes and options of some 200 functions: kinds of dtype, shapes, values,
refusals and the classes of their exceptions."""
import numpy as onp
import pytest
from hypothesis import given, settings, strategies as st

import mindlite.numpy as mnp
from mindlite import Tensor
from mindlite.common.errors import MindliteError

DTYPES = ("float32", "float32", "int32", "bool")


class Drawing:
    """Draws the arguments of a call from the numbers of a generator."""

    def __init__(self, seed):
        self.rng = onp.random.default_rng(seed)

    def pick(self, *options):
        """One of the options."""
        return options[self.rng.integers(len(options))]

    def int(self, low, high):
        """An int from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def flag(self, chance=0.5):
        """A bool."""
        return bool(self.rng.random() < chance)

    def array(self, shape=None, dtypes=DTYPES, least=0, most=3, low=None, high=None):
        """An array; now and then an empty one."""
        if shape is None:
            shape = [self.int(1, 4) for _ in range(self.int(least, most))]
            if shape and self.flag(0.05):
                shape[self.int(0, len(shape) - 1)] = 0
        dtype = self.pick(*dtypes)
        if dtype == "bool":
            return onp.asarray(self.rng.integers(0, 2, shape)).astype(bool)
        if dtype == "int32":
            low, high = (-5, 5) if low is None else (low, high)
            return onp.asarray(self.rng.integers(low, high + 1, shape)).astype(onp.int32)
        made = self.rng.standard_normal(shape) * 2 if low is None else self.rng.uniform(low, high, shape)
        return onp.asarray(onp.asarray(made).round(3), onp.float32)

    def beside(self, x, **bounds):
        """An array that broadcasts with x."""
        shape = [1 if self.flag(0.2) else n for n in x.shape][self.int(0, x.ndim) if self.flag(0.3) else 0:]
        return self.array(shape, (str(x.dtype),), **bounds)

    def axis(self, x):
        """An axis of x; now and then one that is not there."""
        return x.ndim + 1 if self.flag(0.05) or not x.ndim else self.int(-x.ndim, x.ndim - 1)

    def some(self, **options):
        """Each of the settings or not."""
        return {name: value for name, value in options.items() if self.flag()}


def call(*args, **options):
    """The arguments of a call."""
    return args, options


def one(**bounds):
    """A function of one array."""
    return lambda d: call(d.array(**bounds))


def two(**bounds):
    """A function of two arrays, or an array and a number."""
    def arguments(d):
        x = d.array(**bounds)
        return call(x, d.pick(2, 3) if d.flag(0.2) else d.beside(x, **{k: v for k, v in bounds.items() if k in ("low", "high")}))
    return arguments


def along(*, keepdims=False, **bounds):
    """A function that takes an axis or none."""
    def arguments(d):
        x = d.array(**bounds)
        return call(x, **d.some(axis=d.axis(x)), **(d.some(keepdims=d.flag()) if keepdims else {}))
    return arguments


def summed(d):
    x = d.array()
    axis = tuple(map(int, d.rng.permutation(x.ndim)[:d.int(1, max(x.ndim, 1))])) if d.flag(0.4) and x.ndim else d.axis(x)
    return call(x, **d.some(axis=axis), **d.some(keepdims=d.flag()))


def several(d):
    x = d.array(least=1)
    return call(tuple([x] + [d.array(x.shape, (str(x.dtype),)) for _ in range(d.int(0, 2))]))


def joined(d):
    (parts,), _ = several(d)
    return call(parts, **d.some(axis=d.axis(parts[0])))


def cut(d):
    x = d.array(least=1)
    return call(x, d.pick(d.int(1, 4), (1, 2)), **d.some(axis=d.axis(x)))


def padded(d):
    x = d.array(([d.int(3, 4)] * d.int(1, 2)), ("float32", "int32"))
    mode = d.pick("constant", "edge", "reflect", "symmetric", "wrap")
    return call(x, d.pick(d.int(0, 2), tuple((d.int(0, 2), d.int(0, 2)) for _ in x.shape)), mode=mode)


def rolled(d):
    x = d.array()
    return call(x, d.int(-5, 5), **d.some(axis=d.axis(x)))


def matrices(d):
    n = d.int(1, 3)
    lead = [d.int(1, 2)] * d.int(0, 1)
    return call(d.array([*lead, d.int(1, 3), n], ("float32", "int32")), d.array([n, d.int(1, 3)], ("float32", "int32")))


def vectors(d):
    return call(d.array([d.int(1, 5)], ("float32", "int32")), d.array([d.int(1, 5)], ("float32", "int32")))


def moved(d):
    x = d.array(least=1)
    return call(x, d.axis(x), d.axis(x))


def table(*rows):
    """{name: function of a Drawing} of (names, function)."""
    return {name: arguments for names, arguments in rows for name in names.split()}


FLOAT = {"dtypes": ("float32",)}
CALLS = table(
    ("absolute abs negative sign square isnan isinf isfinite isposinf isneginf logical_not signbit",
        one(dtypes=("float32", "int32"))),
    ("exp expm1 exp2 sin cos tan sinh cosh tanh arctan arcsinh cbrt degrees radians deg2rad rad2deg ceil floor rint trunc fix "
     "fabs positive", one(**FLOAT)),
    ("sqrt log log2 log10 log1p arcsin arccos arctanh reciprocal", one(low=0.1, high=0.9, **FLOAT)),
    ("add subtract multiply maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or "
     "logical_xor", two(dtypes=("float32", "int32"))),
    ("divide true_divide floor_divide remainder mod fmod", two(low=1, high=9, dtypes=("float32", "int32"))),
    ("power float_power", two(low=1, high=3, dtypes=("float32", "int32"))),
    ("hypot arctan2 logaddexp logaddexp2 copysign heaviside", two(**FLOAT)),
    ("gcd lcm", two(low=1, high=20, dtypes=("int32",))),
    ("bitwise_and bitwise_or bitwise_xor", two(dtypes=("int32", "bool"))),
    ("invert bitwise_not", one(dtypes=("int32", "bool"))),
    ("sum prod mean std var all any amax amin max min", summed), ("ptp", along()), ("cumsum cumprod argmax argmin", along()),
    ("nansum nanmean nanmax nanmin nanstd nanvar", along(keepdims=True, dtypes=("float32",))), ("nancumsum", along(**FLOAT)),
    ("count_nonzero", along()), ("average", along(**FLOAT)),
    ("diff", lambda d: call(x := d.array(least=1), **d.some(n=d.int(0, 2), axis=d.axis(x)))),
    ("ravel atleast_1d atleast_2d atleast_3d squeeze transpose copy ones_like zeros_like", one()),
    ("reshape", lambda d: call(x := d.array(), d.pick((-1,), tuple(x.shape[::-1]), (x.size, 1), (1, -1)))),
    ("expand_dims", lambda d: call(x := d.array(), d.axis(x))), ("swapaxes moveaxis rollaxis", moved),
    ("broadcast_to", lambda d: call(x := d.array(), (2, *x.shape))), ("concatenate", joined), ("stack", joined),
    ("hstack vstack dstack column_stack", several), ("append", lambda d: call(*two()(d)[0])),
    ("split array_split", cut), ("hsplit vsplit", lambda d: call(d.array(least=2), d.pick(2, (1, 2)))),
    ("tile", lambda d: call(d.array(), d.pick(2, (2, 1), (1, 2, 2)))), ("roll", rolled),
    ("repeat", lambda d: call(x := d.array(), d.int(0, 3), **d.some(axis=d.axis(x)))), ("flip", along()),
    ("fliplr flipud rot90", one(least=2)), ("tril triu", lambda d: call(d.array(least=2), **d.some(k=d.int(-3, 3)))),
    ("diag diagflat", lambda d: call(d.array(least=1, most=2), **d.some(k=d.int(-2, 2)))),
    ("diagonal trace", lambda d: call(d.array(least=2), **d.some(offset=d.int(-2, 2)))), ("pad", padded),
    ("take", lambda d: call(x := d.array([3, 4]), onp.asarray(d.rng.integers(0, 3, d.int(1, 3))), **d.some(axis=d.axis(x)))),
    ("where", lambda d: call((x := d.array()) > 0, x, d.beside(x))),
    ("clip", lambda d: call(d.array(**FLOAT), -1, d.pick(1, 2.5))),
    ("matmul", matrices), ("dot", matrices),
    ("inner", lambda d: call(d.array([2, 3], **FLOAT), d.array(d.pick([3], [4, 3]), **FLOAT))),
    ("outer kron", vectors), ("tensordot", lambda d: call(d.array([2, 3], **FLOAT), d.array([3, 2], **FLOAT), 1)),
    ("convolve correlate", lambda d: call(*vectors(d)[0], mode=d.pick("full", "same", "valid"))),
    ("vander", one(least=1, most=1, **FLOAT)),
    ("cross", lambda d: call(x := d.array(d.pick([3], [2, 3]), **FLOAT), d.array(x.shape, **FLOAT))),
    ("searchsorted", lambda d: call(onp.sort(d.array([d.int(1, 5)], **FLOAT)), d.array(**FLOAT),
        **d.some(side=d.pick("left", "right")))),
    ("digitize", lambda d: call(d.array(**FLOAT), onp.sort(d.array([4], **FLOAT)), **d.some(right=d.flag()))),
    ("interp", lambda d: call(d.array(**FLOAT), onp.sort(d.array([4], **FLOAT)), d.array([4], **FLOAT))),
    ("unique", one(dtypes=("int32", "bool"))), ("isin", vectors),
    ("intersect1d setdiff1d union1d setxor1d", vectors), ("isclose array_equal array_equiv", two(**FLOAT)),
    ("polyadd polysub", vectors),
    ("polymul", lambda d: call(d.array([2], low=1, high=3, **FLOAT), d.array([3], low=1, high=3, **FLOAT))),
    ("polyval", lambda d: call(d.array([3], **FLOAT), d.array(**FLOAT))),
    ("polyder polyint", lambda d: call(d.array([d.int(2, 5)], **FLOAT), d.int(0, 2))),
    ("gradient", one(least=1, most=1, **FLOAT)),
    ("ediff1d", one(least=1, **FLOAT)), ("cov corrcoef", lambda d: call(d.array([2, 4], **FLOAT), rowvar=d.flag())),
    ("eye", lambda d: call(d.int(0, 4), **d.some(M=d.int(0, 4), k=d.int(-2, 2)))),
    ("identity tri", lambda d: call(d.int(0, 4))),
    ("zeros ones", lambda d: call(tuple(d.int(0, 3) for _ in range(d.int(0, 3))))),
    ("full", lambda d: call((2, d.int(0, 3)), d.pick(2, 0.5))),
    ("full_like", lambda d: call(d.array(), d.pick(2, 1))),
    ("linspace", lambda d: call(0, d.pick(1, 2.5), d.int(1, 6), endpoint=d.flag())),
    ("arange", lambda d: call(d.int(-3, 3), d.int(0, 5), d.pick(1, 2))),
    ("logspace geomspace", lambda d: call(1, 3, d.int(1, 5))),
    ("bartlett blackman hamming hanning", lambda d: call(d.int(1, 6))),
    ("broadcast_arrays", lambda d: call(x := d.array(), d.beside(x))), ("meshgrid", vectors),
    ("unwrap", one(least=1, **FLOAT)), ("unravel_index", lambda d: call(d.array([3], ("int32",), low=0, high=5), (2, 3))),
    ("nan_to_num", one(**FLOAT)),
)
CALLS = {name: arguments for name, arguments in CALLS.items() if hasattr(mnp, name) and hasattr(onp, name)}


def given_to(value):
    """An argument as mindlite takes it."""
    return Tensor(value) if isinstance(value, onp.ndarray) else tuple(map(given_to, value)) if isinstance(value, tuple) else value


def difference(made, want, close=1e-4):
    """What differs between two results, or ''."""
    if isinstance(want, (tuple, list)):
        if not isinstance(made, (tuple, list)) or len(made) != len(want):
            return f"{type(made).__name__} for {len(want)} arrays"
        return next(filter(None, (difference(m, w, close) for m, w in zip(made, want))), "")
    want, made = onp.asarray(want), made.asnumpy() if isinstance(made, Tensor) else onp.asarray(made)
    if made.shape != want.shape:
        return f"{made.shape} for {want.shape}"
    kinds = {"i": "i", "u": "iu"}.get(want.dtype.kind, want.dtype.kind)
    if made.dtype.kind not in kinds:
        return f"{made.dtype} for {want.dtype}"
    return "" if onp.allclose(made, want, close, close / 10, equal_nan=True) else f"{made.tolist()} for {want.tolist()}"


KINDS = (ValueError, TypeError, IndexError, ZeroDivisionError)           # what both refuse with; an AxisError is two of them


def compared(name, seed):
    """(what differs for the call of this name and seed, or '', the arguments)"""
    args, options = CALLS[name](Drawing([seed, *name.encode()]))
    with onp.errstate(all="ignore"):
        try:
            want, refused = getattr(onp, name)(*args, **options), None
        except KINDS as error:
            want, refused = None, error
    try:
        made = getattr(mnp, name)(*map(given_to, args), **{key: given_to(value) for key, value in options.items()})
    except KINDS as error:
        same = any(isinstance(error, kind) and isinstance(refused, kind) for kind in KINDS)
        return ("" if same else f"refused: {error!r} for {refused!r}"), (args, options)
    return (f"{made} for {refused!r}" if refused is not None else difference(made, want)), (args, options)


def test_some_200_functions_are_drawn():
    assert len(CALLS) >= 185


def converted(x, dtype):
    """A float array in another dtype; complex numbers turn with their place."""
    if dtype != "complex64" or x.dtype.kind != "f":
        return x.astype(dtype) if x.dtype.kind == "f" or dtype == "int8" and x.dtype.kind == "i" else x
    return onp.asarray(x * onp.exp(1j * onp.arange(1, 1 + x.size).reshape(x.shape)), dtype)


def with_special(x):
    """A float array with nan, infinities and zeros in every second place."""
    if x.dtype.kind == "f":
        x = x.copy()
        x.ravel()[::2] = onp.resize([onp.nan, onp.inf, -onp.inf, 0.0, -0.0, 1e30], x.ravel()[::2].shape)
    return x


VARIANTS = {
    "complex64": lambda x: converted(x, "complex64"), "float16": lambda x: converted(x, "float16"), "special": with_special,
    "int8": lambda x: converted(x, "int8"), "empty": lambda x: x[:0],
    "single": lambda x: onp.asarray(x.ravel()[0]) if x.size else x,
}
ORDERED = set("""maximum minimum less less_equal greater greater_equal amin amax max min argmin argmax nanmax nanmin clip
    searchsorted rint ptp""".split())                            # complex numbers have no order
# what NumPy makes of float16 and int8 is float64 or float16; what is sorted of nan, and means of nothing, are nobody's
NOBODYS = {("fabs", "int8"), ("clip", "int8"), ("searchsorted", "special"), ("digitize", "special"), ("cov", "empty"),
           ("cumsum", "single"), ("nancumsum", "single"), ("polymul", "special"), ("polymul", "empty"), ("interp", "int8")}


def changed(value, change):
    """An argument with its arrays changed."""
    if isinstance(value, tuple):
        return tuple(changed(v, change) for v in value)
    return change(value) if isinstance(value, onp.ndarray) and value.ndim else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", VARIANTS)
def test_other_dtypes_empty_and_special_arrays_give_what_numpy_gives(variant):
    apart = {}
    for name in CALLS:
        args, options = CALLS[name](Drawing([7, *name.encode()]))
        args = changed(args, VARIANTS[variant])
        with onp.errstate(all="ignore"):
            try:
                want = getattr(onp, name)(*args, **options)
            except KINDS:
                want = None
        try:
            made = getattr(mnp, name)(*map(given_to, args), **options)
        except (MindliteError, ValueError) as error:
            why = str(error) if want is not None and not (variant == "complex64" and name in ORDERED) else ""
        else:
            why = difference(made, want, 1e-2 if variant in ("float16", "int8") else 1e-4) if want is not None else ""
        if why and (name, variant) not in NOBODYS:
            apart[name] = why, args, options
    assert not apart


def test_what_is_no_number_and_what_is_out_of_reach():
    assert mnp.nansum(Tensor([2 ** 24, 1])).asnumpy() == mnp.nanmax(Tensor([2 ** 24 + 1])).asnumpy() == 2 ** 24 + 1
    assert mnp.trunc(Tensor([2 ** 24 + 1])).asnumpy().tolist() == [2 ** 24 + 1]
    assert mnp.clip(Tensor(onp.array([0, 200], onp.uint8)), -1, 300).asnumpy().tolist() == [0, 200]
    for made in (mnp.nanmean(Tensor([1, 2])), mnp.average(Tensor([1, 2]))):
        assert made.asnumpy() == 1.5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=6, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2 ** 20))
def test_drawn_calls_give_what_numpy_gives(name, seed):
    why, given_arguments = compared(name, seed)
    assert not why, given_arguments
