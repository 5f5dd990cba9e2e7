"""Arguments that an operator cannot use are refused in words, not ignored, cut or counted round; and what stood beside it."""
import inspect

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, mint, ops
from mindlite.common.errors import (ArgumentError, DTypeError, IndexRangeError, InternalError, MindliteError, ShapeError,
                                    ValueRangeError)
from mindlite.mindir.primitive import Primitive

X = Tensor((np.arange(6, dtype=np.float32).reshape(2, 3) + 1) / 8)
PICTURE = Tensor(np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8))
LINE = Tensor(np.arange(8, dtype=np.float32).reshape(1, 1, 8))
IDS = Tensor(np.array([0, 1, 0], np.int32))


@pytest.mark.parametrize("call, error, text", [
    (lambda: ops.nll_loss(Tensor([[1, 2], [3, 4]]), Tensor([0, 1])), DTypeError, "nll_loss: takes floats"),
    (lambda: ops.nll_loss(X, Tensor([0, 1]), label_smoothing=2.0), ValueRangeError, "label_smoothing"),
    (lambda: ops.poisson_nll_loss(Tensor(np.ones(2, np.complex64)), X[0, :2]), DTypeError, "poisson_nll_loss"),
    (lambda: ops.solve_triangular(X[:, :2], X[:, :1], 5), ValueRangeError, "trans"),
    (lambda: ops.orgqr(X, X[:, 0].reshape(2).repeat(2)), ShapeError, "tau"),
    (lambda: ops.trapz(X, Tensor([0.0, 1.0])), ShapeError, "3 values at 2 points"),
    (lambda: ops.trapz(Tensor(1.0)), ShapeError, "trapz"),
    (lambda: ops.vander(X[0], 0), ValueRangeError, "at least 1"),
    (lambda: ops.vander(X[0], 1.5), ArgumentError, "vander"),
    (lambda: ops.trace(X.reshape(1, 2, 3)), ShapeError, "trace"),
    (lambda: ops.norm(X.reshape(1, 2, 3), 2), ShapeError, "which of the 3 axes"),
    (lambda: ops.vector_norm(X, dtype=ms.int32), DTypeError, "not int32"),
    (lambda: ops.max_pool2d(PICTURE, 2, 1, 2), ValueRangeError, "half of the window"),
    (lambda: ops.max_pool1d(LINE, 3, 2, 1, pad_mode="same"), ValueRangeError, "padding goes with"),
    (lambda: ops.avg_pool1d(LINE, 3, 2, 1, pad_mode="valid"), ValueRangeError, "padding goes with"),
    (lambda: ops.max_pool3d(PICTURE.reshape(1, 1, 4, 4, 4), 3, 2, 1, pad_mode="same"), ValueRangeError, "padding goes with"),
    (lambda: ops.max_unpool1d(LINE[:, :, :2], Tensor([[[-1, 0]]]), 2), IndexRangeError, "place -1"),
    (lambda: ops.swiglu(X), ShapeError, "no halves"),
    (lambda: ops.mirror_pad(X, [[1, 1]], "REFLECT"), ShapeError, "two numbers for each axis"),
    (lambda: ops.mirror_pad(X, [[0, 0], [-1, 0]], "REFLECT"), ValueRangeError, "not negative"),
    (lambda: ops.meshgrid(X, X[0]), ShapeError, "meshgrid"),
    (lambda: ops.multinomial(X, -1), ValueRangeError, "num_samples"),
    (lambda: ops.multinomial(Tensor(1.0), 2), ShapeError, "multinomial"),
    (lambda: ops.randn(2, dtype=ms.int32), DTypeError, "makes floats"),
    (lambda: ops.rand(-2), ShapeError, "negative"),
    (lambda: ops.randint(0, 300, (2,), dtype=ms.uint8), ValueRangeError, "uint8 does not hold"),
    (lambda: ops.randint(-1, 3, (2,), dtype=ms.uint8), ValueRangeError, "uint8 does not hold"),
    (lambda: ops.randperm(300, dtype=ms.uint8), ValueRangeError, "uint8 does not hold"),
    (lambda: ops.randperm(-1), ValueRangeError, "not negative"),
    (lambda: ops.one_hot(X, 3), DTypeError, "one_hot: indices are integers"),
    (lambda: ops.one_hot(IDS, -1), ValueRangeError, "depth"),
    (lambda: ops.pixel_shuffle(PICTURE.reshape(1, 4, 4, 4), -2), ValueRangeError, "at least 1"),
    (lambda: ops.poisson((2,), Tensor(np.ones(2, np.complex64))), DTypeError, "poisson"),
    (lambda: ops.polygamma(-1, X), ValueRangeError, "not negative"),
    (lambda: ops.put(X, IDS[:2], X[0]), ShapeError, "3 elements for 2 places"),
    (lambda: ops.renorm(X, 0, 0, 1.0), ValueRangeError, "renorm"),
    (lambda: ops.renorm(X, 2, 5, 1.0), ValueRangeError, "axis 5"),
    (lambda: ops.rfftfreq(0), ValueRangeError, "rfftfreq"),
    (lambda: ops.fftfreq(4, 0.0), ValueRangeError, "fftfreq"),
    (lambda: ops.rfftfreq(4, dtype=ms.int32), DTypeError, "makes floats"),
    (lambda: ops.rms_norm(Tensor([[1, 2]]), Tensor([1, 1])), DTypeError, "rms_norm: takes floats"),
    (lambda: ops.round(X, decimals=1.5), ArgumentError, "round"),
    (lambda: ops.strided_slice(X, (0,), (2, 2), (1, 1)), ArgumentError, "one length"),
    (lambda: ops.tensor_split(X, 2, 4), ValueRangeError, "axis 4"),
    (lambda: ops.tensor_split(X, 1.5), ArgumentError, "tensor_split"),
    (lambda: ops.tril(X, 1.5), ArgumentError, "tril"),
    (lambda: ops.triu_indices(300, 300, dtype=ms.uint8), ValueRangeError, "does not hold"),
    (lambda: ops.tril_indices(-1, 3), ValueRangeError, "negative"),
    (lambda: ops.tuple_to_array((1, 2.5)), ArgumentError, "one type"),
    (lambda: ops.unique_consecutive(X, dim=4), ValueRangeError, "axis 4"),
    (lambda: ops.unsorted_segment_max(X.T, IDS, 2.5), ArgumentError, "unsorted_segment_max"),
    (lambda: ops.unsorted_segment_min(Tensor(np.ones(3, np.complex64)), IDS, 2), DTypeError, "no order"),
    (lambda: ops.matrix_diag(Tensor(1.0)), ShapeError, "matrix_diag"),
    (lambda: ops.tile(X, (-1, 1)), ValueRangeError, "negative"),
    (lambda: ops.repeat_interleave(X, -1, 0), ValueRangeError, "negative"),
])
def test_a_wrong_argument_is_refused_in_words(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_overlapping_windows_put_their_maximum_back_once():
    """Windows that overlap give one place several times: the value stands there once, not as many times."""
    x = Tensor(np.array([[[1.0, 5.0, 2.0, 0.0]]], np.float32))
    values, places = (t.reshape(1, 1, 3) for t in ops.max_pool2d(x.reshape(1, 1, 1, 4), (1, 2), (1, 1), return_indices=True))
    assert places.tolist() == [[[1, 1, 2]]]
    out = ops.max_unpool1d(values, places, 2, 1)
    np.testing.assert_array_equal(out.asnumpy(), ms.jit(ops.max_unpool1d, fullgraph=True)(values, places, 2, 1).asnumpy())
    assert out.tolist() == [[[0.0, 5.0, 2.0, 0.0]]]


def test_slopes_below_zero_are_no_integers():
    out = ops.rrelu(Tensor([-8, 8]), 0.25, 0.25)
    assert out.dtype is ms.float32 and out.tolist() == [-2.0, 8.0]


def test_renorm_knows_the_largest_element_as_a_norm():
    x = Tensor(np.array([[3.0, -4.0], [0.1, 0.2]], np.float32))
    np.testing.assert_allclose(ops.renorm(x, float("inf"), 0, 1.0).asnumpy(), [[0.75, -1.0], [0.1, 0.2]], rtol=1e-6)


def test_a_conjugate_transpose_conjugates():
    a, b = np.array([[2 + 1j, 0], [1, 1j]], np.complex64), np.array([[1], [2j]], np.complex64)
    wanted = np.linalg.solve(a.conj().T, b)
    np.testing.assert_allclose(ops.matrix_solve(Tensor(a), Tensor(b), True).asnumpy(), wanted, rtol=1e-5)
    np.testing.assert_allclose(ops.solve_triangular(Tensor(a), Tensor(b), "C", lower=True).asnumpy(), wanted, rtol=1e-5)
    turned = ops.solve_triangular(Tensor(a), Tensor(b), "T", lower=True)
    np.testing.assert_allclose(turned.asnumpy(), np.linalg.solve(a.T, b), rtol=1e-5)


def test_integers_have_no_nan_to_be_replaced():
    for dtype in (np.bool_, np.uint8, np.int32):
        x = Tensor(np.array([1, 0], dtype))
        assert ops.nan_to_num(x, 5).dtype is x.dtype and ops.nan_to_num(x, 5).tolist() == x.tolist()


def test_the_places_of_a_number_without_axes_are_one_or_none():
    assert ops.nonzero(Tensor(2.0)).shape == (1, 0) and ops.nonzero(Tensor(0.0)).shape == (0, 0)


def test_the_largest_row_of_halves_and_of_truths():
    x = np.array([[1.0, -2.0], [3.0, 4.0], [0.5, 8.0]])
    for dtype in (ms.bfloat16, ms.float16):
        out = ops.unsorted_segment_max(Tensor(x, dtype), IDS, 2)
        assert out.dtype is dtype and out.astype(ms.float32).tolist() == [[1.0, 8.0], [3.0, 4.0]]
    truths = Tensor([[True, False], [False, False], [False, False]])
    assert ops.unsorted_segment_max(truths, IDS, 3).tolist() == [[True, False], [False, False], [False, False]]
    assert ops.unsorted_segment_min(truths, IDS, 3).tolist() == [[False, False], [False, False], [True, True]]


def test_stirlings_part_counts_above_one():
    loss = ops.poisson_nll_loss(Tensor([0.0, 0.0]), Tensor([1.0, 1.5]), full=True, reduction="none")
    np.testing.assert_allclose(loss.asnumpy(), [1.0, 1 + 1.5 * np.log(1.5) - 1.5 + 0.5 * np.log(2 * np.pi * 1.5)], rtol=1e-5)


def test_numbers_as_operands_give_tensors():
    assert isinstance(ops.rad2deg(1.0), Tensor) and isinstance(ops.deg2rad(180.0), Tensor)


def test_draws_of_bfloat16_weights_are_places():
    drawn = ops.multinomial(Tensor(np.array([[0.0, 1.0], [1.0, 0.0]]), ms.bfloat16), 3)
    assert drawn.tolist() == [[1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize("call, error", [
    (lambda: ops.dense(2.5, X), ShapeError), (lambda: ops.dense(X, 2.5), ShapeError), (lambda: ops.swiglu(2.5), ShapeError),
    (lambda: ops.cholesky_inverse(2.5), ShapeError), (lambda: ops.rms_norm(Tensor(2.5), X), ShapeError),
    (lambda: ops.tensor_scatter_div(X, 1, 2.0), ShapeError), (lambda: ops.gumbel_softmax(2.5), ShapeError),
    (lambda: ops.matrix_power(2.5, 2), ArgumentError), (lambda: ops.matrix_power(X[0], 2), ShapeError),
    (lambda: ops.embedding(IDS, "x"), ArgumentError), (lambda: ops.roll("x", 1), ArgumentError),
    (lambda: ops.flip(None, (0,)), ArgumentError), (lambda: ops.reshape("x", (1,)), ArgumentError),
    (lambda: ops.gather_nd(2.5, Tensor([[0]])), ShapeError)])
def test_an_operand_without_the_axes_that_are_read_is_refused_in_words(call, error):
    with pytest.raises(error):
        call()
    with pytest.raises(error):
        ms.jit(call, fullgraph=True)()


def test_the_inverse_of_erf_of_one_number_is_computed_in_graphs_too():
    for function in (ops.erfinv, ms.jit(lambda x: ops.erfinv(0.5) + 0 * x, fullgraph=True)):
        assert float(function(Tensor(0.5))) == pytest.approx(0.4769362762)


def walked(room):
    """{(name, arguments): a raw error} of the functions of a room for numbers and dtypes in place of tensors and settings.

    frombuffer reads Python's buffers, and Python says what is none.
    """
    found = {}
    for name in sorted(vars(room).get("__all__", dir(room))):
        function = getattr(room, name, None)
        if name.startswith("_") or name == "frombuffer" or not (inspect.isfunction(function) or isinstance(function, Primitive)):
            continue
        for given in ((2.5,), (3,), (True,), (2.5, 1), (3, 2.0), (2.0, 3.0, 1.0), (2.5, ms.float32)):
            try:
                inspect.signature(function).bind(*given)
            except TypeError:
                continue
            try:
                function(*given)
            except MindliteError as error:
                if isinstance(error, InternalError):
                    found[name, given] = str(error)
            except Exception as error:                       # whatever it is: it is no error in words
                found[name, given] = repr(error)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("room", [ops, mint], ids=["ops", "mint"])
def test_numbers_in_place_of_tensors_are_taken_or_refused_in_words(room):
    assert walked(room) == {}


def test_softmin_of_whole_numbers_does_not_wrap_around():
    for dtype in (np.uint8, np.int8, np.bool_):
        x = np.array([0, 1, 1], dtype)
        want = np.exp(-x.astype("f"))
        np.testing.assert_allclose(ops.softmin(Tensor(x)).asnumpy(), want / want.sum(), rtol=1e-6)
