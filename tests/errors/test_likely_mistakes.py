"""What people do wrong most often is answered with what was seen and what to do, in both modes."""
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, mint, nn, ops
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from mindlite.nn import experimental, registry
from mindlite.ops import define

LOGITS = Tensor(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
FLOATS = Tensor(np.array([1, 0, 2], np.float32))
WAYS = {"eager": lambda f: f, "jit": lambda f: ms.jit(f, fullgraph=True), "grad": lambda f: ms.grad(f),
        "jit of grad": lambda f: ms.jit(lambda *args: ms.grad(f)(*args), fullgraph=True)}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


@pytest.mark.parametrize("loss", [ops.cross_entropy, ops.softmax_cross_entropy_with_logits, nn.CrossEntropyLoss(),
                                  nn.SoftmaxCrossEntropyWithLogits(reduction="mean"), ops.nll_loss,
                                  ops.sparse_softmax_cross_entropy_with_logits],
                         ids=lambda loss: getattr(loss, "__name__", type(loss).__name__))
def test_labels_of_floats_are_told_to_be_int32(loss, way):
    with pytest.raises((ShapeError, DTypeError)) as raised:
        way(lambda x, y: loss(x, y).sum())(LOGITS, FLOATS)
    assert "astype(mindlite.int32)" in str(raised.value) and "test_likely_mistakes.py" in str(raised.value)


def test_probabilities_of_the_logits_shape_are_taken():
    both = Tensor(np.eye(4, dtype=np.float32)[[1, 0, 2]])
    np.testing.assert_allclose(ops.cross_entropy(LOGITS, both).asnumpy(),
                               ops.cross_entropy(LOGITS, FLOATS.astype(ms.int32)).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("loss", [nn.BCELoss(), ops.binary_cross_entropy], ids=lambda x: getattr(x, "__name__", str(x)))
@pytest.mark.parametrize("bad", [1.5, -0.25])
def test_what_is_no_probability_is_refused_by_binary_cross_entropy(loss, bad, way):
    run = way(lambda p, y: loss(p, y))
    run(Tensor([0.0, 1.0, 0.5]), Tensor([0.0, 1.0, 1.0]))
    with pytest.raises(ValueRangeError, match=rf"hold {bad}, which is outside \[0, 1\]") as raised:
        run(Tensor([0.5, bad, 0.5]), Tensor([0.0, 1.0, 1.0]))
    assert "test_likely_mistakes.py" in str(raised.value) and "with_logits" in str(raised.value)


def test_binary_cross_entropy_checks_large_operands_too():
    p = np.full(1 << 20, 0.5, np.float32)
    p[-1] = 7
    for _ in range(2):
        with pytest.raises(ValueRangeError, match="hold 7.0"):
            ops.binary_cross_entropy(Tensor(p), Tensor(np.zeros(1 << 20, np.float32)))


@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_one_gradient_that_is_no_tuple_is_told_to_be_one(run):
    optimizer = nn.SGD([Parameter(Tensor([1.0, 2.0]), name="w")], 0.1)
    with pytest.raises(ArgumentError, match="a tuple of gradients is wanted"):
        run(lambda g: optimizer(g))(Tensor([1.0, 1.0]))


@pytest.mark.parametrize("layer, shape", [(nn.Conv2d(3, 4, 3), (1, 8, 9, 3)), (nn.BatchNorm2d(3), (2, 8, 9, 3)),
                                          (nn.BatchNorm2d(3).set_train(), (2, 8, 9, 3))],
                         ids=["conv", "norm", "norm in training"])
@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
def test_pictures_with_their_channels_last_are_recognised(layer, shape, run):
    with pytest.raises(ShapeError, match="channels") as raised:
        run(layer)(Tensor(np.zeros(shape, np.float32)))
    assert "transpose" in raised.value.hint


def test_cells_in_a_list_are_not_seen_and_a_warning_says_so_once():
    class Hidden(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers, self.sizes = [nn.Dense(2, 2)], [1, 2]
    registry._noted.clear()
    with pytest.warns(UserWarning, match=r"Hidden.layers is a list of Cells.*nn.CellList") as seen:
        assert Hidden().trainable_params() == []
        Hidden()
    assert len(seen) == 1 and seen[0].filename == __file__


def test_float64_into_a_float32_layer_is_noted_once():
    define._noted.clear()
    with pytest.warns(UserWarning, match="dense: the input is float64 and the weight float32") as seen:
        for _ in range(2):
            assert nn.Dense(2, 3)(Tensor(np.zeros((1, 2)))).dtype is ms.float64
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.Dense(2, 3)(Tensor(np.zeros((1, 2), np.float32)))


@pytest.mark.parametrize("loss", [ops.binary_cross_entropy, ops.binary_cross_entropy_with_logits, nn.BCELoss(),
                                  nn.BCEWithLogitsLoss()],
                         ids=lambda x: getattr(x, "__name__", type(x).__name__))
def test_each_prediction_has_a_target_of_its_own(loss, way):
    with pytest.raises(ShapeError, match="input and target have one shape") as raised:
        way(lambda p, y: loss(p, y))(Tensor([[0.0], [1.0], [0.5]]), Tensor([0.0, 1.0, 1.0]))
    assert "[3, 1]" in str(raised.value) and "test_likely_mistakes.py" in str(raised.value)


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(reduction="mean"), nn.HuberLoss(), ops.mse_loss],
                         ids=lambda x: getattr(x, "__name__", type(x).__name__))
def test_differences_of_a_column_and_a_row_are_taken_with_a_warning(loss, way):
    column, row = Tensor([[0.0], [1.0], [0.5]]), Tensor([0.0, 1.0, 1.0])
    with pytest.warns(UserWarning, match=r"the shapes differ and are broadcast, input \[3, 1\] and target \[3\]"):
        way(lambda x, y: loss(x, y))(column, row)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        way(lambda x, y: loss(x, y))(row, row)
        way(lambda x, y: loss(x, y))(row, Tensor(1.0))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
def test_what_is_no_weight_is_refused_by_draws(run, bad, replacement):
    draw = run(lambda w: ops.multinomial(w, 1, replacement))
    assert draw(Tensor([0.0, 2.0])).tolist() == [1]
    with pytest.raises(ValueRangeError, match=f"hold ({bad}, which|a number that) is no weight") as raised:
        draw(Tensor([bad, 2.0]))
    assert "test_likely_mistakes.py" in str(raised.value)


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
def test_a_tensor_of_chances_is_looked_at(run):
    draw = run(lambda p: ops.bernoulli(ops.zeros_like(p), p))
    assert draw(Tensor([0.0, 1.0])).tolist() == [0, 1]
    with pytest.raises(ValueRangeError, match="hold (2.0, which is|a number) outside"):
        draw(Tensor([0.0, 2.0]))


@pytest.mark.parametrize("make", [lambda p: nn.SGD(p, 0.1), lambda p: nn.Adam(p, 0.1), lambda p: mint.optim.AdamW(p, 0.1),
                                  lambda p: experimental.Adam(p, 0.1)], ids=["SGD", "Adam", "mint", "experimental"])
@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "jit"])
def test_a_gradient_has_the_shape_of_its_parameter(make, run):
    """One of [4] would be broadcast to weights [3, 4] and change all of their rows alike."""
    net = nn.Dense(4, 3)
    optimizer, before = make(net.trainable_params()), net.weight.asnumpy().copy()
    weight, bias = Tensor(np.ones((3, 4), np.float32)), Tensor(np.ones(3, np.float32))
    for wrong, error, text in [((Tensor(np.ones(4, np.float32)), bias), ShapeError, "the gradient of weight has another shape"),
                               ((bias, weight), ShapeError, "the gradient of weight has another shape"),
                               ((weight,), ArgumentError, "2 gradients are wanted, 1 were given")]:
        with pytest.raises(error, match=text):
            run(lambda *gradients: optimizer(gradients))(*wrong)
    np.testing.assert_array_equal(net.weight.asnumpy(), before)
    run(lambda *gradients: optimizer(gradients))(weight, bias)
    assert (net.weight.asnumpy() != before).all()
    with pytest.raises(ArgumentError, match="the gradient of bias is None"):
        optimizer((weight, None))
