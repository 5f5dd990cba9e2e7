"""x[index] and x[index] = value are NumPy's, eagerly and on nodes with symbolic sizes; gather and scatter; errors."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mindlite import jit, ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol, compare, evaluate
from mindlite.common.errors import ArgumentError, IndexRangeError, ShapeError, ValueRangeError
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.constraints import collecting
from mindlite.mindir.evaluate import run

I = np.array                                                                            # noqa: E741
X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
INDICES = [
    0, -1, (0, 1), (slice(None), 2), slice(None, None, -1), (slice(2, None, -1), slice(3, 0, -2)), (Ellipsis, 0), None,
    (None, 0, None, slice(1, 3)), I([0, 2]), [0, 2, 1], (I([0, 1]), I([1, 3])), (slice(None), I([0, 1]), I([1, 3])),
    (I([0, 1]), slice(None), I([1, 3])), (0, slice(None), I([1, 3])), (I([[0], [1]]), I([1, 3])),
    (slice(1, 3), I([[0, -1]]), slice(None, None, 2)), (None, I([0]), I([1])), (slice(5, 7),), (0, I([1, 2])),
    (I([1, 2]), 0), (0, I([1, 2]), slice(None)), np.int64(1), (Ellipsis, I([1, 2])),
    (slice(None), None, I([1, 2]), I([1, 2])),
    (0, None, I([1, 2])), (I([1, 2]), None, 0), (), Ellipsis, (I(2),), (I(1), slice(None), I([0, 1])), X > 0,
    X[:, :, 0] > 0,
    (slice(None), X[0, :, 0] > 0), (X[:, 0, 0] > -9, 0),
    True, (slice(None), True), (True, True), (Ellipsis, True), (True, None, slice(1)), (slice(1, 3), True, Ellipsis, True),
    (True, 2), (1, True), (1, slice(None), True), (I([0, 2]), True), (slice(None), I([1, 2]), slice(None), True),
    (True, I([[0], [1]]), True, slice(None)), (0, True, X[0, :, 0] > 0), (Ellipsis, True, X[0, 0] > 0),
    (Ellipsis, X[0, :, 0] > 0, slice(None)), (None, True, 1),
    ((0, 2), -1), ((0, 1, 1),), (slice(None), (0, 2)), ((True, False, True),), (((0, 1), (1, 0)), 1), (0, (1, 2), [0, 1]), ((),),
]


@pytest.mark.parametrize("index", INDICES, ids=lambda i: str(i)[:40].replace("\n", ""))
def test_reading_and_writing_are_those_of_numpy(index):
    want = X[index]
    got = Tensor(X)[index]
    np.testing.assert_array_equal(got.asnumpy(), want)
    for value in (np.random.default_rng(1).standard_normal(want.shape).astype(np.float32), 7):
        changed = X.copy()
        changed[index] = value
        np.testing.assert_array_equal(ops.setitem(Tensor(X), index, value).asnumpy(), changed)
        written = Tensor(X.copy())
        written[index] = Tensor(value) if isinstance(value, np.ndarray) else value
        np.testing.assert_array_equal(written.asnumpy(), changed)


_end = st.one_of(st.none(), st.integers(-9, 9))
_item = st.one_of(st.integers(-3, 2), st.builds(slice, _end, _end, st.sampled_from([None, 1, 2, -1, -2])), st.none(),
                  st.just(Ellipsis), st.lists(st.integers(-3, 2), min_size=2, max_size=2).map(np.array))


@given(st.lists(_item, max_size=4).map(tuple))
@settings(max_examples=150, deadline=None)
def test_random_indices_are_read_as_numpy_reads_them(index):
    try:
        want = X[:, :3, :3][index]
    except IndexError:
        with pytest.raises((IndexRangeError, ArgumentError)):
            Tensor(np.ascontiguousarray(X[:, :3, :3]))[index]
        return
    np.testing.assert_array_equal(Tensor(np.ascontiguousarray(X[:, :3, :3]))[index].asnumpy(), want)


@pytest.mark.parametrize("index", [0, -1, slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2),
                                   (Ellipsis, 0), (slice(0, 2), 1), I([0, -1])], ids=str)
def test_one_graph_with_a_symbolic_size_serves_all_sizes(index):
    n = Symbol("N", lo=2).dim
    with collecting():
        graph = typed(lambda x: x[index], AbstractTensor(dt.float32, (n, 5)))
    for size in (2, 3, 6):
        x = np.arange(size * 5, dtype=np.float32).reshape(size, 5)
        np.testing.assert_array_equal(run(graph, x)[0], x[index])


@given(_end, _end, st.sampled_from([None, 1, 2, 3, -1, -2]), st.sampled_from(["", "m", "n - m", "m - n", "-m"]))
@settings(max_examples=150, deadline=None)
def test_one_graph_reads_a_slice_of_any_size_as_python_does(start, stop, step, relative):
    """Ends may lie outside of the axis, or be sizes whose sign is not known before the run: nothing about them is assumed."""
    def index(n, m):
        first = start if relative == "" else {"m": m, "n - m": n - m, "m - n": m - n, "-m": 0 - m}[relative]
        return slice(first, stop, step), slice(stop, first, step)
    n, m = Symbol("N", lo=0), Symbol("M", lo=0)
    with collecting() as facts:
        graph = typed(lambda x, y: tuple([x[i] for i in index(*x.shape, *y.shape)]),
                      AbstractTensor(dt.float32, (n.dim,)), AbstractTensor(dt.float32, (m.dim,)))
    for size, other in ((0, 0), (0, 3), (1, 0), (1, 2), (3, 3), (4, 1), (7, 9), (12, 5)):
        x = np.arange(size, dtype=np.float32)
        assert all(compare(fact.op, *[evaluate(side, {n: size, m: other}) for side in (fact.left, fact.right)]) for fact in facts)
        for got, i in zip(run(graph, x, np.zeros(other, np.float32)), index(size, other)):
            np.testing.assert_array_equal(got, x[i])


@pytest.mark.parametrize("f", [lambda x: x[x > 0][-3:], lambda x: x[x > 0][:-2], lambda x: x[x > 0][-2::-1],
                               lambda x: x[x > 0][:-3:-1], lambda x: x[x > 0][-9:]])
def test_a_slice_of_what_data_decides_needs_no_size_and_no_second_run(f):
    compiled = jit(f, fullgraph=True)
    for values in ([1.0, 2.0, 3.0, 4.0, -1.0], [-1.0, 2.0, -3.0, -4.0, -1.0], [-1.0] * 5, [5.0, 4.0, 3.0, 2.0, 1.0]):
        x = np.array(values)
        np.testing.assert_array_equal(compiled(Tensor(x)).asnumpy(), f(x))


def test_an_index_known_at_run_time_only_reads_and_writes_one_row():
    arguments = (AbstractTensor(dt.float32, (4, 5)), AbstractScalar(int))
    read = typed(lambda x, t: x[:, t], *arguments)
    written = typed(lambda x, t: ops.setitem(x, (slice(1, 3), t), 9), *arguments)
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    for t in (0, 3, -1):
        np.testing.assert_array_equal(run(read, x, t)[0], x[:, t])
        want = x.copy()
        want[1:3, t] = 9
        np.testing.assert_array_equal(run(written, x, t)[0], want)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("bit", [True, False])
@pytest.mark.parametrize("way", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_mask_without_axes_is_a_new_axis_of_one_element_or_none(way, bit, shape):
    def write(x, mask, value):
        x = x.copy()
        x[mask] = value
        return x
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)
    tensor, mask = Tensor(x), Tensor(bit)
    np.testing.assert_array_equal(way(lambda x, mask: x[mask])(tensor, mask).asnumpy(), x[I(bit)])
    for value in (x * 2 + 1, np.float32(7)):
        np.testing.assert_array_equal(way(write)(tensor, mask, Tensor(value)).asnumpy(), write(I(x), I(bit), value))


def test_a_mask_without_axes_stands_alone():
    with pytest.raises(IndexRangeError, match="stands beside other indices"):
        Tensor(X)[:, Tensor(True)]


def test_a_tensor_without_axes_is_no_sequence():
    with pytest.raises(ValueRangeError):
        list(Tensor(1.0))
    assert [row.asnumpy().tolist() for row in Tensor(np.eye(2))] == [[1, 0], [0, 1]]


@pytest.mark.parametrize("index", [[slice(None), slice(0, 1)], [slice(1, 3)], [None, 0], [Ellipsis, 2], [slice(None), I([0, 2])]],
                         ids=str)
def test_a_list_that_holds_more_than_numbers_is_the_index_itself(index):
    def read_and_write(x):
        kept = x[index] * 1
        x[index] = 7.0
        return kept, x

    written = X.copy()
    written[tuple(index)] = 7
    for function in (read_and_write, jit(read_and_write, fullgraph=True)):
        for got, want in zip(function(Tensor(X.copy())), (X[tuple(index)], written)):
            np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("index, error", [(3, IndexRangeError), ((0, 0, 0, 0), IndexRangeError), (1.5, IndexRangeError),
                                          ("a", IndexRangeError), (I([0, 5]), IndexRangeError),
                                          ((Ellipsis, Ellipsis), IndexRangeError), (False, IndexRangeError),
                                          ((True, False), IndexRangeError), ((False, 0), IndexRangeError),
                                          ((Ellipsis, X[:, 0, 0] > 0), IndexRangeError),
                                          (np.ones((2, 4), bool), IndexRangeError)], ids=str)
def test_wrong_indices_are_errors(index, error):
    with pytest.raises(error):
        Tensor(X)[index]


def test_a_value_that_does_not_fit_is_an_error():
    with pytest.raises(ShapeError):
        ops.setitem(Tensor(X), 0, np.zeros((2, 7)))
    with pytest.raises((ShapeError, ValueError)):
        Tensor(X)[0] = np.zeros((2, 7))


def test_gather_joins_leading_axes_as_batches():
    x, i = np.arange(24.0).reshape(2, 3, 4), np.array([[0, 2], [1, 1]])
    want = np.stack([np.take(x[b], i[b], 0) for b in range(2)])
    np.testing.assert_array_equal(ops.gather(Tensor(x), Tensor(i), 1, batch_dims=1).asnumpy(), want)


def test_an_embedding_row_that_is_padding_gets_no_gradient():
    weight = Tensor(np.arange(6.0).reshape(3, 2))
    abstract = AbstractTensor(dt.float64, (3, 2))
    out = ops.embedding(Tensor(np.array([[0, 1], [1, 2]])), weight, padding_idx=1)
    np.testing.assert_array_equal(out.asnumpy(), weight.asnumpy()[[[0, 1], [1, 2]]])
    names = [n.fn.name for n in typed(lambda w: ops.embedding(np.array([1]), w, padding_idx=1), abstract).nodes]
    assert "stop_gradient" in names


def test_scattered_elements_of_a_repeated_index_are_added_or_the_last_is_kept():
    x, i, u = np.zeros((3, 2)), np.array([[0, 1], [0, 2]]), np.array([[1.0, 2], [3, 4]])
    np.testing.assert_array_equal(ops.tensor_scatter_elements(Tensor(x), i, u, 0, "add").asnumpy(),
                                  [[4, 0], [0, 2], [0, 4]])
    np.testing.assert_array_equal(ops.tensor_scatter_elements(Tensor(x), i, u, 0).asnumpy(), [[3, 0], [0, 2], [0, 4]])
    np.testing.assert_array_equal(ops.tensor_scatter_add(Tensor(x), [[0], [0]], u).asnumpy(), [[4, 6], [0, 0], [0, 0]])
    np.testing.assert_array_equal(ops.scatter_nd([[2]], [5.0], (4,)).asnumpy(), [0, 0, 5, 0])
