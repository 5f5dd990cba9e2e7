"""Methods of Tensor: what their docstrings promise of arguments, dtypes and errors, in both modes where they meet a graph."""
import inspect
import re

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError, ValueRangeError
from mindlite.mindir.primitive import Primitive
from mindlite.ops.generator import Generator
from mindlite.ops.methods import doc_of

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def both(function, *args):
    """What the function gives, the same eagerly and in a graph."""
    eager, graph = function(*args), ms.jit(function, fullgraph=True)(*args)
    np.testing.assert_allclose(eager.asnumpy(), graph.asnumpy(), rtol=1e-6)
    assert eager.dtype is graph.dtype and eager.shape == graph.shape
    return eager


def public_methods():
    return {name: getattr(Tensor, name) for name in dir(Tensor) if not name.startswith("_") and callable(getattr(Tensor, name))}


def test_a_method_that_is_an_operator_has_its_docstring():
    seen = 0
    for name, function in public_methods().items():
        found = re.search(r"Tensor\.(\w+) is the operator (\w+); `(\w+)` is the Tensor\.$", inspect.getdoc(function))
        if found:
            operator = inspect.unwrap(function)
            seen += 1
            assert inspect.getdoc(function).startswith(inspect.cleandoc(doc_of(operator)).rstrip()) or name.endswith("_"), name
            assert found[1] == name or name.endswith("_")
            assert next(iter(inspect.signature(operator).parameters)) == found[3], name
    assert seen > 200


def test_every_method_bears_its_name():
    for name, function in public_methods().items():
        assert function.__name__ not in ("call", "<lambda>"), name


def test_help_of_an_operator_and_of_a_method_reads_as_one_text():
    sub, add_, late = inspect.getdoc(ops.sub), inspect.getdoc(Tensor.add_), inspect.getdoc(Tensor.index_fill_)
    assert isinstance(ops.sub, Primitive) and sub.startswith("sub(input, other)\n\ninput - other.")
    assert add_.startswith("x.add_(..) writes what x.add(..) gives into x") and "alpha" in add_ and "input + other" in add_
    assert late.startswith("x.index_fill_(..) writes") and "index" in late
    assert list(inspect.signature(Tensor.softmax).parameters) == ["input", "axis", "dtype"]


@pytest.mark.parametrize("shape, axes", [((2, 3), (0, 1)), ((2, 3), (1, 0)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (-1, 1))])
def test_transpose_of_two_ints_exchanges_two_axes(shape, axes):
    x = Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    wanted = np.swapaxes(x.asnumpy(), *axes)
    for run in (lambda x: x.transpose(*axes), lambda x: x.transpose(dim0=axes[0], dim1=axes[1])):
        np.testing.assert_array_equal(both(run, x).asnumpy(), wanted)


def test_transpose_of_a_permutation_or_of_nothing_permutes_all_axes():
    x = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    np.testing.assert_array_equal(both(lambda x: x.transpose((2, 0, 1)), x).asnumpy(), x.asnumpy().transpose(2, 0, 1))
    np.testing.assert_array_equal(both(lambda x: x.transpose(2, 0, 1), x).asnumpy(), x.asnumpy().transpose(2, 0, 1))
    np.testing.assert_array_equal(both(lambda x: x.transpose(), x).asnumpy(), x.asnumpy().T)


def test_repeat_puts_the_whole_tensor_side_by_side():
    x = Tensor(X)
    for run in (lambda x: x.repeat(2, 3), lambda x: x.repeat((2, 3)), lambda x: x.repeat([2, 3])):
        np.testing.assert_array_equal(both(run, x).asnumpy(), np.tile(X, (2, 3)))
    np.testing.assert_array_equal(both(lambda x: x.repeat(2, 1, 3), x).asnumpy(), np.tile(X, (2, 1, 3)))
    with pytest.raises(ShapeError, match="as many numbers"):
        x.repeat(2)
    with pytest.raises(ArgumentError, match="repeat_interleave"):
        x.repeat(2, axis=1)
    with pytest.raises(ValueRangeError, match="negative"):
        x.repeat(2, -1)


def test_a_shape_is_given_as_ints_as_a_tuple_or_by_name():
    x = Tensor(X)
    for run in (lambda x: x.reshape(shape=(3, 2)), lambda x: x.view(shape=[3, 2]), lambda x: x.reshape((3, 2)),
                lambda x: x.reshape(3, 2)):
        assert both(run, x).shape == (3, 2)
    assert both(lambda x: x[:, :1].expand(2, 4), x).shape == both(lambda x: x[:, :1].expand((2, 4)), x).shape == (2, 4)
    assert both(lambda x: x.permute(dims=(1, 0)), x).shape == (3, 2)
    assert both(lambda x: x.tile(reps=(2, 1)), x).shape == both(lambda x: x.tile(dims=(2, 1)), x).shape == (4, 3)
    with pytest.raises(ArgumentError, match="given twice"):
        x.reshape(3, 2, shape=(3, 2))


def test_methods_in_place_refuse_a_result_that_their_dtype_cannot_hold():
    """torch refuses it, too; a number that is cut without a word is wrong."""
    for run in (lambda x: x.add_(1.5), lambda x: x.div_(2), lambda x: x.exp_(), lambda x: x.pow_(0.5), lambda x: x.sqrt_()):
        for call in (run, ms.jit(run)):
            x = Tensor([1, 2, 3])
            with pytest.raises(DTypeError, match="is not written into a Tensor of int64"):
                call(x)
            assert x.tolist() == [1, 2, 3]
    with pytest.raises(DTypeError, match="complex64 is not written into a Tensor of float32"):
        Tensor(X.copy()).mul_(1j)
    with pytest.raises(DTypeError):
        Tensor([1, 2]).normal_()
    x = Tensor(X.copy())
    assert x.add_(Tensor(1.0, ms.float64)) is x and x.dtype is ms.float32 and x.tolist()[0] == [1, 2, 3]


def test_methods_in_place_take_the_names_of_their_methods():
    x = Tensor(X.copy())
    assert x.mul_(y=2).tolist() == (X * 2).tolist() and x.clamp_(min=4).tolist() == np.maximum(X * 2, 4).tolist()


DRAWS = {"uniform_": lambda x, g: x.uniform_(0, 1, generator=g), "normal_": lambda x, g: x.normal_(0, 1, generator=g),
         "random_": lambda x, g: x.random_(0, 1000, generator=g), "bernoulli_": lambda x, g: x.bernoulli_(0.5, generator=g),
         "uniform": lambda x, g: x.uniform(0, 1, generator=g)}


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_is_drawn_from(name):
    draw = DRAWS[name]
    first, again = (draw(Tensor(np.zeros(64, np.float32)), Generator().manual_seed(7)).asnumpy().copy() for _ in range(2))
    np.testing.assert_array_equal(first, again)
    generator = Generator().manual_seed(7)
    parts = [draw(Tensor(np.zeros(64, np.float32)), generator).asnumpy().copy() for _ in range(2)]
    np.testing.assert_array_equal(parts[0], first)
    assert (parts[1] != first).any()


@pytest.mark.parametrize("call, error, text", [
    (lambda x: x.uniform_(2, 1), ValueRangeError, "empty"),
    (lambda x: x.random_(0.5, 3), ArgumentError, "random_"),
    (lambda x: Tensor(np.zeros(2, np.uint8)).random_(0, 300), ValueRangeError, "does not hold"),
    (lambda x: Tensor([True]).random_(), DTypeError, "not bool"),
    (lambda x: Tensor([1]).uniform(), DTypeError, "floats"),
    (lambda x: x.bernoulli_(2.0), ValueRangeError, "p is in"),
    (lambda x: x.kthvalue(0), ValueRangeError, "k is 0"),
    (lambda x: x.kthvalue(4, 1, True), ValueRangeError, "k is 4"),
    (lambda x: x.kthvalue(-1), ValueRangeError, "k is -1"),
    (lambda x: x.kthvalue(1.0), ArgumentError, "kthvalue"),
    (lambda x: x.rot90(1.5), ArgumentError, "rot90"),
    (lambda x: x.rot90(1, (0, -2)), ValueRangeError, "the same"),
    (lambda x: x.rot90(1, (0, 1, 2)), ArgumentError, "two axes"),
    (lambda x: x.diff(n=-1), ValueRangeError, "not negative"),
    (lambda x: x[0, 0].diff(), ShapeError, "diff"),
    (lambda x: x.stride(5), ValueRangeError, "stride"),
    (lambda x: x[0, 0].diag(), ShapeError, "diag"),
    (lambda x: x.flatten(0, 1, 2), ArgumentError, "flatten"),
    (lambda x: x.matrix_power(2), ShapeError, "square"),
    (lambda x: x.cov(correction=1, fweights=None).cov().reshape(1, 2, 2).cov(), ShapeError, "cov"),
    (lambda x: x.index_put(Tensor([0]), 1.0), ArgumentError, "index_put"),
    (lambda x: x.itemset(), ArgumentError, "itemset"),
    (lambda x: x.cumsum(2), ValueRangeError, "cumsum"),
    (lambda x: x.cummax(2), ValueRangeError, "cummax"),
    (lambda x: x.var(1, 0.5), ArgumentError, "var"),
    (lambda x: x[:0].median(0), ShapeError, "median: of no elements"),
    (lambda x: x[:0].quantile(0.5, 0), ShapeError, "quantile: of no elements"),
    (lambda x: x.quantile(Tensor([-0.1]), 1), IndexRangeError, "outside"),
    (lambda x: x.quantile(Tensor([1.1]), 1), IndexRangeError, "outside"),
    (lambda x: Tensor.convert_bytes_to_tensor(x.get_bytes(), (2, 2), ms.float32), ShapeError, "number of elements"),
])
def test_a_wrong_argument_is_refused_in_words(call, error, text):
    with pytest.raises(error, match=text):
        call(Tensor(X.copy()))


def test_variances_of_complex_numbers_are_real():
    z = np.array([[1 + 2j, 3, 2 - 1j], [0, 1j, -1j]], np.complex64)
    for run, wanted in ((lambda z: z.var(1), z.var(1)), (lambda z: z.var(), z.var()), (lambda z: z.std(0, 1), z.std(0, ddof=1)),
                        (lambda z: ops.var_mean(z, 1)[0], z.var(1)), (lambda z: z.cov(), np.cov(z))):
        out = both(run, Tensor(z))
        np.testing.assert_allclose(out.asnumpy(), wanted, rtol=1e-6)
    assert Tensor(z).var(1).dtype is ms.float32
    slope = ms.grad(lambda a: ops.complex(a, a * 2).var())(Tensor(X))
    np.testing.assert_allclose(slope.asnumpy(), 5 * 2 * (X - X.mean()) / X.size, rtol=1e-5)


def test_powers_of_matrices_are_made_of_squares():
    a = np.array([[2.0, 1.0], [0.0, 0.5]], np.float32)
    for n in (0, 1, 2, 5, 10, -1, -3):
        out = both(lambda x, n=n: x.matrix_power(n), Tensor(a))
        np.testing.assert_allclose(out.asnumpy(), np.linalg.matrix_power(a, n), rtol=1e-5)
    x = Tensor(a)
    assert x.matrix_power(1) is not x
    with pytest.raises(ArgumentError):
        x.matrix_power(1.5)


def test_quantiles_of_many_halves_are_at_the_right_place():
    x = Tensor(np.arange(5000, dtype=np.float16) % 2048)
    for q in (0.5, 0.999, 1.0):
        wanted = np.quantile(x.asnumpy().astype(np.float64), q)
        np.testing.assert_allclose(float(both(lambda x, q=q: x.quantile(q), x)), wanted, rtol=1e-3)


def test_running_products_of_integers_are_int64_and_sums_of_small_ones_int32():
    for dtype in ("bool", "uint8", "int8", "int16", "int32"):
        x = Tensor(np.array([100, 2, 3]).astype(dtype))
        assert both(lambda x: x.cumprod(0), x).dtype is ms.int64
        assert both(lambda x: x.cumsum(0), x).dtype is ms.int32
    assert Tensor(np.array([100, 100], np.int8)).cumprod(0).tolist() == [100, 10000]
    assert Tensor(np.array([100, 100], np.int8)).cumsum(0).tolist() == [100, 200]


def test_kthvalue_takes_the_smallest_first():
    x = Tensor(np.array([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]], np.float32))
    for k in (1, 2, 3):
        values, indices = x.kthvalue(k, 1, True)
        np.testing.assert_array_equal(values.asnumpy(), np.sort(x.asnumpy(), 1)[:, k - 1:k])
        np.testing.assert_array_equal(indices.asnumpy(), np.argsort(x.asnumpy(), 1)[:, k - 1:k])
    assert Tensor(2.0).kthvalue(1)[0].tolist() == 2.0 and x.kthvalue(2)[0].shape == (2,)


@pytest.mark.parametrize("offset, axis1, axis2", [(0, 0, 1), (1, 0, 1), (-1, 2, 0), (5, 1, 2)])
def test_trace_takes_the_diagonals_of_two_axes_as_numpy_does(offset, axis1, axis2):
    x = np.arange(60).reshape(3, 4, 5)
    out = both(lambda x: x.trace(offset, axis1, axis2, dtype=ms.float32), Tensor(x.astype(np.float32)))
    np.testing.assert_array_equal(out.asnumpy(), np.trace(x, offset, axis1, axis2))


@pytest.mark.parametrize("src", [(1, 5), (3, 1, 5), (1, 2, 5), (3, 2, 5, 1)])
def test_what_is_written_over_a_slice_has_its_shape(src):
    x = Tensor(np.zeros((3, 4, 5), np.float32))
    for jit in (lambda f: f, lambda f: ms.jit(f, fullgraph=True)):
        with pytest.raises(ShapeError, match="slice_scatter: src has the shape of the slice"):
            jit(lambda x, src: x.slice_scatter(src, 1, 1, 3))(x, Tensor(np.ones(src, np.float32)))
    with pytest.raises(ShapeError, match="select_scatter: src has the shape of the slice"):
        x.select_scatter(Tensor(np.ones(5, np.float32)), 1, 1)
    assert float(x.slice_scatter(Tensor(np.ones((3, 2, 5), np.float32)), 1, 1, 3).sum()) == 30


def test_a_mask_of_another_shape_is_an_index_and_a_value_error():
    x, mask = Tensor(X), Tensor([True, True, False])
    for kind in (IndexError, ValueError):
        with pytest.raises(kind, match="a mask has the shape of the axes that it selects from"):
            x[mask]
        with pytest.raises(kind, match="a mask has the shape of the axes that it selects from"):
            x[mask] = 1.0


def test_a_tensor_gives_and_takes_a_capsule_of_its_memory():
    x = Tensor(X.copy())
    y = Tensor.from_dlpack(x.to_dlpack())
    assert np.shares_memory(x.asnumpy(), y.asnumpy())
    np.testing.assert_array_equal(y.asnumpy(), X)


def test_index_reads_by_a_tuple_of_tensors():
    rows, columns = np.array([1, 0, 1]), np.array([2, 2, 0])
    np.testing.assert_array_equal(both(lambda x, i, j: x.index((i, j)), Tensor(X), Tensor(rows), Tensor(columns)).asnumpy(),
                                  X[rows, columns])
    with pytest.raises(ArgumentError, match="index: a tuple of Tensors is wanted, not Tensor"):
        Tensor(X).index(Tensor([0]))


@pytest.mark.parametrize("upper, transpose, unit", [(True, False, False), (False, True, False), (True, False, True)])
def test_triangular_solve_reads_one_triangle(upper, transpose, unit):
    a, b = np.array([[2.0, 1.0], [5.0, 3.0]]), np.array([[1.0], [4.0]])
    triangle = np.triu(a) if upper else np.tril(a)
    np.fill_diagonal(triangle, 1.0 if unit else triangle.diagonal())
    x, same = Tensor(b).triangular_solve(Tensor(a), upper, transpose, unit)
    np.testing.assert_allclose(x.asnumpy(), np.linalg.solve(triangle.T if transpose else triangle, b))
    np.testing.assert_array_equal(same.asnumpy(), a)
