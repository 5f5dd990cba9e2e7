"""mindlite.numpy gives what NumPy gives, in eager mode and inside graphs."""
import linecache

import numpy as onp
import pytest

import mindlite.numpy as mnp
from mindlite import Tensor, grad, jit

random = onp.random.default_rng(0)
DATA = {"i": random.integers(-4, 5, (2, 3)).astype(onp.int32), "f": random.standard_normal((2, 3)).astype(onp.float32),
        "g": random.uniform(0.1, 0.9, (2, 3)).astype(onp.float32), "v": random.standard_normal(5).astype(onp.float32),
        "w": random.standard_normal(3).astype(onp.float32), "n": onp.array([3, 1, 2, 1, 0], onp.int32),
        "s": onp.sort(random.standard_normal(4)).astype(onp.float32), "b": onp.array([[True, False, True], [False, False, True]]),
        "c": random.standard_normal((2, 3, 4)).astype(onp.float32),
        "x": onp.array([1.0, onp.nan, onp.inf, -onp.inf, 0.0], onp.float32)}

ELEMENTWISE = [f"np.{name}({x})" for names, x in [
    ("abs absolute fabs negative positive square sign ceil floor rint trunc fix cbrt exp expm1 exp2 sin cos tan sinh cosh "
     "tanh arctan arcsinh signbit degrees radians deg2rad rad2deg", "f"),
    ("sqrt log log2 log10 log1p arcsin arccos arctanh reciprocal", "g"), ("isnan isinf isfinite isposinf isneginf", "x"),
    ("logical_not invert bitwise_not", "b"), ("sqrt exp sin abs negative sign square invert", "i")] for name in names.split()]
ELEMENTWISE += [f"np.{name}({x})" for names, x in [
    ("add subtract multiply divide true_divide floor_divide mod remainder fmod maximum minimum hypot arctan2 logaddexp "
     "logaddexp2 copysign heaviside equal not_equal less less_equal greater greater_equal", "f, w"),
    ("add subtract multiply divide floor_divide mod remainder maximum minimum power equal less", "i, 3"),
    ("bitwise_and bitwise_or bitwise_xor gcd lcm", "i, n[:3] + 1"), ("logical_and logical_or logical_xor", "b, b[0]")]
    for name in names.split()]
SHAPES = """np.reshape(c, (4, 6))|np.ravel(c)|np.transpose(c)|np.transpose(c, (1, 0, 2))|np.swapaxes(c, 0, 2)
np.moveaxis(c, 0, 2)|np.moveaxis(c, (0, 1), (2, 0))|np.rollaxis(c, 2)|np.rollaxis(c, 0, 3)|np.expand_dims(f, 1)
np.expand_dims(f, (0, 3))|np.squeeze(f[:1])|np.squeeze(f[None], 0)|np.broadcast_to(w, (2, 3))|np.concatenate((f, g))
np.concatenate((f, g), 1)|np.concatenate((f, g), axis=None)|np.append(f, w)|np.append(f, g, 0)|np.stack((f, g), 1)
np.hstack((f, g))|np.vstack((f, w))|np.dstack((f, g))|np.column_stack((w, w))|np.tile(f, 2)|np.tile(w, (2, 2))
np.tile(f, (2, 1))|np.repeat(f, 2)|np.repeat(f, 2, 1)|np.flip(c)|np.flip(c, 1)|np.fliplr(f)|np.flipud(f)|np.roll(f, 1)
np.roll(f, 1, 1)|np.roll(f, (1, 2), (0, 1))|np.rot90(f)|np.rot90(f, 2)|np.rot90(f, 3)|np.rot90(c, 1, (1, 2))
np.take(f, n[1:])|np.take(f, n[1:4], 1)|np.take(f, n, 1, mode="clip")|np.take(f, n, 1, mode="wrap")
np.take_along_axis(f, np.argmax(f, 1)[:, None], 1)|np.choose(n[:3] % 2, (w, g[0]))|np.pad(f, 1)|np.pad(f, ((1, 2), (0, 1)))
np.pad(f, 1, constant_values=3)|np.pad(f, 1, mode="edge")|np.pad(f, 1, mode="reflect")
np.pad(f, ((0, 0), (2, 2)), mode="wrap")
np.pad(f, 1, mode="symmetric")|np.diagonal(f)|np.diagonal(c, 1, 0, 2)|np.trace(f)|np.trace(c, 1)|np.diag(w)|np.diag(f)
np.diag(w, 1)|np.diag(w, -1)|np.diagflat(f)|np.tril(f)|np.triu(f, 1)|np.split(v, (2, 3))|np.split(f, 3, 1)
np.array_split(v, 3)|np.hsplit(f, 3)|np.vsplit(f, 2)|np.dsplit(c, 2)|np.atleast_1d(w)|np.atleast_2d(w)|np.atleast_3d(f)
np.broadcast_arrays(f, w)|np.meshgrid(w, v)|np.meshgrid(w, v, indexing="ij")|np.meshgrid(w, v, sparse=True)|np.vander(w)
np.vander(w, 2, True)|np.where(b, f, g)|np.where(b, f, 0.5)|np.select((f < 0, f < 1), (f, g), 7)|np.clip(f, -0.5, 0.5)
np.clip(f, None, 0.5)|np.piecewise(f, (f < 0, f > 0.5), (-1, 1))|np.ones_like(f)|np.full_like(f, 3)|np.copy(f)"""
SUMS = """np.sum(f)|np.sum(c, 1)|np.sum(c, (0, 2))|np.sum(c, 1, keepdims=True)|np.sum(i)|np.sum(b)|np.sum(f, initial=2)
np.mean(f)|np.mean(c, 1)|np.mean(i)|np.mean(c, (0, 1), keepdims=True)|np.average(f)|np.average(f, 1, w)
np.average(f, 0, g[:, 0])
np.var(f)|np.var(c, 1)|np.var(f, ddof=1)|np.std(f)|np.std(c, (0, 2))|np.std(f, 1, ddof=1, keepdims=True)|np.amax(f)
np.amax(c, 1)|np.max(c, (0, 2), keepdims=True)|np.amin(c, 2)|np.min(f)|np.amax(f, initial=0.3)
np.amax(f, where=b, initial=-9)
np.ptp(f)|np.ptp(f, 1)|np.nansum(x[:3])|np.nanmean(x[:2])|np.nanmax(x)|np.nanmin(x)|np.nanvar(x[:2])|np.nanstd(x[:2])
np.cumsum(f)|np.cumsum(f, 1)|np.cumsum(i)|np.cumsum(b)|np.cumprod(f, 0)|np.nancumsum(x[:2])|np.argmax(f)|np.argmax(f, 1)
np.argmin(f, 0)|np.count_nonzero(i)|np.count_nonzero(i, 1)|np.all(b)|np.all(b, 1)|np.any(b, 0)|np.diff(f)|np.diff(f, axis=0)
np.diff(v, 2)|np.diff(f, prepend=0.0)|np.ediff1d(f)|np.ediff1d(f, to_end=1.0, to_begin=w)|np.cov(f)|np.cov(f, rowvar=False)
np.cov(w, g[0])|np.cov(f, bias=True)|np.cov(f, aweights=abs(w))|np.corrcoef(f)|np.histogram(f, 4)|np.histogram(f, 3, (-1, 1))
np.histogram(f, s)|np.histogram(f, 4, density=True)|np.histogram(f, 4, weights=g)|np.bincount(n)|np.bincount(n, v)
np.bincount(n, minlength=7)"""
ALGEBRA = """np.matmul(f, f.T)|np.matmul(w, f.T)|np.dot(f, w)|np.dot(f, c)
np.dot(w, w)|np.dot(f, 2.0)|np.inner(f, w)|np.inner(f, g)|np.outer(w, v)|np.tensordot(f, g)
np.tensordot(f, c, ((0, 1), (0, 1)))
np.tensordot(f, c[0], 1)|np.kron(f, g)|np.cross(w, f)|np.cross(f, g)|np.convolve(v, w)|np.convolve(v, w, "same")
np.convolve(w, v, "valid")|np.correlate(v, w)|np.correlate(v, w, "same")|np.correlate(w, v, "full")|np.isin(n, [1, 3])
np.isin(i, n, invert=True)|np.searchsorted(s, f)|np.searchsorted(s, s, "right")|np.digitize(f, s)|np.digitize(f, s[::-1])
np.digitize(f, s, True)|np.interp(f, s, s * 2 + 1)|np.interp(f, s, s * s, 7.0, 8.0)|np.ravel_multi_index((n, n), (4, 5))
np.unravel_index(n, (2, 3))|np.gradient(v)|np.gradient(c, axis=1)|np.gradient(f)|np.gradient(v, 2.0)|np.unwrap(v * 6)
np.isclose(f, f + 1e-7)|np.isclose(x, x, equal_nan=True)|np.array_equal(f, f)|np.array_equal(f, g)
np.array_equiv(f, f[None])"""
POLYNOMIALS = """np.polyadd(w, v)|np.polysub(w, v)|np.polymul(w, v)|np.polyval(w, f)|np.polyder(v)|np.polyder(v, 2)
np.polyint(v)
np.polyint(v, 2, [1.0, 2.0])"""
SEEN = "np.unique(n)|np.unique(n, return_inverse=True)|np.intersect1d(n, i)|np.setdiff1d(n, i)"
CASES = ELEMENTWISE + [case for text in (SHAPES, SUMS, ALGEBRA, POLYNOMIALS, SEEN) for line in text.split("\n")
                       for case in line.split("|") if case]


def same(made, want):
    if isinstance(want, (tuple, list)):
        assert isinstance(made, (tuple, list)) and len(made) == len(want)
        for a, b in zip(made, want):
            same(a, b)
        return
    want = onp.asarray(want)
    assert isinstance(made, Tensor) and tuple(made.shape) == want.shape
    kinds = {"i": "iu", "u": "iu", "f": "f", "b": "b"}[want.dtype.kind]
    assert made.asnumpy().dtype.kind in kinds or want.dtype.kind == "i" and made.asnumpy().dtype.kind == "f"     # bincount
    onp.testing.assert_allclose(made.asnumpy(), want, rtol=2e-5, atol=2e-6)


def written(text):
    """The function f_ of a text, whose source can be read."""
    scope, file = {"np": mnp}, f"<{text}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), scope)
    return scope["f_"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_result_is_numpys(case):
    if "piecewise" in case:
        want = eval(case.replace("(f < 0, f > 0.5), (-1, 1)", "[f < 0, f > 0.5], [-1, 1]"), {"np": onp}, DATA)
    else:
        want = eval(case.replace("np.degrees", "np.rad2deg"), {"np": onp}, DATA)
    names = {"np": mnp, **{name: Tensor(value) for name, value in DATA.items()}}
    same(eval(case, names), want)
    used = [name for name in DATA if name in compile(case, "", "eval").co_names]
    same(jit(written(f"def f_({', '.join(used)}):\n    return {case}"))(*[names[name] for name in used]), want)


CREATION = """np.zeros(3)|np.zeros((2, 3))|np.ones((2, 1))|np.full((2, 3), 7)|np.full(2, 0.5)|np.full((2, 3), [1, 2, 3])
np.arange(5)|np.arange(1, 7, 2)|np.arange(0.5, 2.0, 0.25)|np.linspace(0, 1, 5)|np.linspace(0, 1, 5, endpoint=False)
np.linspace(0, 1, 5, retstep=True)|np.logspace(0, 2, 3)|np.geomspace(1, 100, 3)|np.eye(3)|np.eye(2, 3, 1)
np.identity(2)|np.tri(3)|np.tri(3, 4, 1)|np.tril_indices(3)
np.triu_indices(3, 1)|np.diag_indices(3)|list(np.indices((2, 3)))|np.mgrid[0:3, 0:2]|np.ogrid[0:3, 0:2]
np.mgrid[0:1:5j]|np.ix_([1, 2], [0, 1, 3])|np.bartlett(5)|np.blackman(5)|np.hamming(5)|np.hanning(5)
np.array([[1, 2], [3, 4]])|np.array(3.5)|np.array([1], ndmin=3)
np.asarray([True, False])|np.empty((2, 2)) * 0""".replace("\n", "|").split("|")


@pytest.mark.parametrize("case", CREATION)
def test_arrays_are_made_as_numpy_makes_them(case):
    same(eval(case, {"np": mnp}), eval(case, {"np": onp}))


@pytest.mark.parametrize("case, name", [
    ("np.array([1, 2])", "Int32"), ("np.array(1.5)", "Float32"), ("np.zeros(2, int)", "Int32"), ("np.arange(3)", "Int32"),
    ("np.arange(3.0)", "Float32"), ("np.add(1, 2)", "Int32"), ("np.sqrt(4)", "Float32"), ("np.full(2, 3)", "Int32"),
    ("np.array([1, 2], np.float16)", "Float16"), ("np.sum(np.array([1, 2]), dtype=np.float32)", "Float32"),
    ("np.add([1], [2], dtype=np.float64)", "Float64"), ("np.asfarray([1])", "Float32"), ("np.ones_like([1.0], bool)", "Bool"),
    ("np.result_type(np.int32, np.float16)", None)])
def test_element_types_are_mindspores(case, name):
    made = eval(case, {"np": mnp})
    assert made is mnp.float16 if name is None else str(made.dtype) == name


def test_lists_of_tensors_become_one():
    made = mnp.array([[Tensor(1.0), Tensor(2.0)], [Tensor(3.0), 4.0]])
    same(made, onp.array([[1.0, 2.0], [3.0, 4.0]]))


def test_gradients_pass_the_functions():
    x = Tensor(DATA["f"])
    for f, want in ((lambda x: mnp.sum(mnp.square(x)), 2 * DATA["f"]),
                    (lambda x: mnp.concatenate((x, x), 1).sum(), onp.full((2, 3), 2)),
                    (lambda x: mnp.var(x), 2 * (DATA["f"] - DATA["f"].mean()) / 6)):
        onp.testing.assert_allclose(grad(f)(x).asnumpy(), want, rtol=1e-5, atol=1e-6)
        onp.testing.assert_allclose(jit(grad(f))(x).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_vectors_of_two_elements_have_a_cross_product():
    same(mnp.cross([1.0, 2.0], [3.0, 5.0]), -1.0)
    same(mnp.cross([1.0, 2.0], [3.0, 5.0, 7.0]), onp.cross([1.0, 2.0, 0.0], [3.0, 5.0, 7.0]))


def test_functions_over_an_axis():
    x = Tensor(DATA["c"])
    same(mnp.apply_along_axis(mnp.sum, 1, x), DATA["c"].sum(1))
    same(mnp.apply_along_axis(lambda r: r * 2, 0, x), DATA["c"] * 2)
    same(mnp.apply_over_axes(mnp.sum, x, (0, 2)), onp.apply_over_axes(onp.sum, DATA["c"], (0, 2)))


@pytest.mark.parametrize("call, error", [
    ("np.split(np.arange(5), 2)", ValueError), ("np.take(np.arange(3), 1, mode='nearest')", ValueError),
    ("np.cross([1, 2, 3, 4], [1, 2, 3, 4])", ValueError), ("np.tensordot(np.ones((2, 3)), np.ones((2, 3)), 1)", ValueError),
    ("np.pad([1], 1, mode='mirror')", TypeError), ("np.meshgrid([1], indexing='yx')", ValueError),
    ("np.searchsorted([1], 1, 'middle')", ValueError)])
def test_what_has_no_meaning_is_refused(call, error):
    with pytest.raises(error):
        eval(call, {"np": mnp})


@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "jit"])
def test_arrays_have_the_names_that_mindspore_gives_them(run):
    x = Tensor([1.0, 0.5])
    two = run(lambda x: [mnp.add(x1=x, x2=2), mnp.arctan2(x1=x, x2=x), mnp.divide(x, 2, Tensor([1]).dtype)])(x)
    one = run(lambda x: [mnp.sqrt(x=x), mnp.negative(a=x), mnp.logical_not(a=x), mnp.arccos(input=x)])(x)
    assert two[0].tolist() == [3, 2.5] and one[1].tolist() == [-1, -0.5] and one[2].tolist() == [False, False]
    with pytest.raises(TypeError):
        mnp.add(x, x, x, x)


@pytest.mark.parametrize("call", [lambda: mnp.unique([1, 1], return_inverse=1), lambda: mnp.isin([1], [1], invert=0),
                                  lambda: mnp.intersect1d([1], [1], assume_unique=1), lambda: mnp.setdiff1d([1], [2], "yes")])
def test_a_flag_of_a_set_function_is_a_bool(call):
    with pytest.raises(TypeError, match="is bool, not"):
        call()


@pytest.mark.parametrize("call", [
    *[lambda x, name=name: getattr(mnp, name)(x, axis=2) for name in (
        "sum mean average std var amax amin max min ptp all any count_nonzero nansum nanmean nanvar nanstd nanmax nanmin "
        "argmax argmin cumsum cumprod nancumsum flip").split()],
    lambda x: mnp.amax(x, axis=(0, 0)), lambda x: mnp.transpose(x, (0, 3)), lambda x: mnp.rollaxis(x, 4),
    lambda x: mnp.diff(x, 1, 4),
    lambda x: mnp.split(x, 1, 2), lambda x: mnp.take(x, [0], 5), lambda x: mnp.take_along_axis(x, x > 9, 2),
    lambda x: mnp.rot90(x, 1, (0, 2)), lambda x: mnp.tensordot(x, x, ((0, 5), (0, 1))), lambda x: mnp.average(x, 2, x[0]),
    lambda x: mnp.apply_along_axis(mnp.sum, 2, x), lambda x: mnp.unwrap(x, axis=2)])
def test_an_axis_that_is_not_there_is_refused(call):
    with pytest.raises((ValueError, IndexError), match="axis|axes"):
        call(Tensor(DATA["f"]))


def test_keepdims_is_any_int_as_in_numpy():
    x = onp.arange(6.0, dtype=onp.float32).reshape(2, 3)
    for name in ("sum", "mean", "var", "std", "amax", "amin", "any", "all", "ptp"):
        for keepdims in (-1, 2, 0, True):
            wanted = getattr(onp, name)(x, axis=1, keepdims=keepdims)
            assert getattr(mnp, name)(Tensor(x), axis=1, keepdims=keepdims).shape == wanted.shape
