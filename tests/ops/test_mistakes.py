"""What users get wrong is refused in words before anything is computed, by eager calls and by graphs alike: what is no tensor,
no number or no bool, settings outside their range, updates of a kind that the target does not hold."""
import inspect
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, mint, nn, ops
from mindlite.common.errors import ArgumentError, DTypeError, IndexRangeError, MindliteError, ShapeError, ValueRangeError
from mindlite.mint import linalg, special
from mindlite.mint.nn import functional as F

X = Tensor(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32))
ROW, INTS, Z = X[0], Tensor(np.array([1, 2, 3], np.int32)), Tensor(np.array([1j, 2], np.complex64))
PICTURE = Tensor(np.ones((1, 1, 4, 4), np.float32))
# what is given back whatever it is, takes any object, or needs a sparse tensor
ANYTHING = {"depend", "detach", "stop_gradient", "is_tensor", "place_as", "frombuffer", "cast", "scatter_nd",
            "coalesce", "coo2csr", "csr_gather", "set_context", "batch_norm_elemt", "batch_norm_gather_stats_with_counts",
            "batch_norm_stats", "print_", "barrier"}


def functions_of_tensors():
    """(name, function, how many arguments must be given) of the public functions."""
    for room in (ops, mint, F, linalg, special):
        for name in sorted(getattr(room, "__all__", None) or vars(room)):
            function = getattr(room, name)
            if name.startswith("_") or name in ANYTHING or not callable(function) or inspect.isclass(function):
                continue
            try:
                given = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
            except (TypeError, ValueError):
                continue
            given = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            if given:
                yield f"{room.__name__}.{name}", function, given


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrong", [None, "a"])
def test_what_is_no_tensor_is_refused_in_words_by_every_function(wrong):
    sizes = {"axis", "dim", "shape", "size", "k", "depth", "p"}
    accepted = []
    for name, function, given in functions_of_tensors():
        others = [X if k < 3 and other not in sizes else 1 for k, other in enumerate(given[1:])]
        try:
            function(wrong, *others)
        except MindliteError:
            continue
        except Exception as error:
            accepted.append(f"{name}: {type(error).__name__}: {error}")
        else:
            accepted.append(f"{name}: a value")
    assert not accepted


REFUSED = {
    "isclose": (lambda x: ops.isclose(x, x, rtol=-1.0), ValueRangeError, "rtol is at least 0"),
    "softshrink": (lambda x: ops.softshrink(x, -1.0), ValueRangeError, "lambd is at least 0"),
    "cosine_similarity": (lambda x: ops.cosine_similarity(x, x, eps=-1.0), ValueRangeError, "eps is at least 0"),
    "gaussian_nll_loss": (lambda x: ops.gaussian_nll_loss(x, x, x, eps=0.0), ValueRangeError, "eps is positive"),
    "triplet_margin_loss": (lambda x: ops.triplet_margin_loss(x, x, x, margin=-1.0), ValueRangeError, "margin is positive"),
    "layer_norm": (lambda x: ops.layer_norm(x, (3,), eps=-1.0), ValueRangeError, "eps is at least 0"),
    "group_norm": (lambda x: ops.group_norm(x, 3, eps="x"), ArgumentError, "eps is a number, not str"),
    "batch_norm": (lambda x: ops.batch_norm(x, None, None, training=True, eps=-1.0), ValueRangeError, "eps is at least 0"),
    "elu": (lambda x: ops.elu(x, alpha="x"), ArgumentError, "alpha is a number, not str"),
    "leaky_relu": (lambda x: ops.leaky_relu(x, alpha=(1, 2)), ArgumentError, "alpha is a number, not tuple"),
    "softplus": (lambda x: ops.softplus(x, threshold=None), ArgumentError, "threshold is a number, not NoneType"),
    "hardtanh": (lambda x: ops.hardtanh(x, "a", 1.0), ArgumentError, "min_val is a number, not str"),
    "histc": (lambda x: ops.histc(x, 2, 0.0, float("inf")), ValueRangeError, "finite"),
    "mvlgamma": (lambda x: ops.mvlgamma(x, 0), ValueRangeError, "p is at least 1"),
    "keepdims": (lambda x: ops.sum(x, 0, keepdim="x"), ArgumentError, "keepdims is a bool, not str"),
    "argmax": (lambda x: ops.argmax(x, 0, 2.5), ArgumentError, "keepdims is a bool, not float"),
    "largest": (lambda x: ops.topk(x, 1, 0, None), ArgumentError, "largest is a bool, not NoneType"),
    "ceil_mode": (lambda x: ops.avg_pool2d(PICTURE, 2, 2, 0, 2.5), ArgumentError, "ceil_mode is a bool, not float"),
    "avg_pool2d": (lambda x: ops.avg_pool2d(PICTURE, 2, 1, 2), ValueRangeError, "padding"),
    "divisor": (lambda x: F.avg_pool2d(PICTURE, 2, divisor_override=0), ValueRangeError, "divisor_override is not 0"),
    "flatten": (lambda x: ops.flatten(x[0], start_dim=2), ValueRangeError, "axis 2 is outside"),
    "median": (lambda x: ops.median(x[0, 0], 2), ValueRangeError, "axis 2 is outside"),
    "where": (lambda x: mint.where(x > 0, None, x), ArgumentError, "not NoneType"),
    "addmm": (lambda x: ops.addmm(x, x[:1, :2], x[:2]), ShapeError, "does not broadcast to the product"),
    "mint.addmv": (lambda x: mint.addmv(x[0], x[:1], x[0]), ShapeError, "does not broadcast to the product"),
    "mv": (lambda x: ops.mv(x, x), ShapeError, "a matrix and a vector"),
    "complex": (lambda x: ops.complex(x, x.astype(ms.float64)), DTypeError, "floats of one dtype"),
    "polar": (lambda x: ops.polar(x, x.astype(ms.int32)), DTypeError, "floats of one dtype"),
    "rad2deg": (lambda x: ops.rad2deg(Z), DTypeError, "real numbers"),
    "masked_fill": (lambda x: ops.masked_fill(x, x, 1.0), DTypeError, "a mask is bool, not float32"),
    "masked_select": (lambda x: ops.masked_select(x, INTS), DTypeError, "a mask is bool, not int32"),
    "index_add": (lambda x: ops.index_add(INTS, Tensor([0]), x[0, :1]), DTypeError, "int32 does not hold float32"),
    "index_copy": (lambda x: x[0].index_copy(0, Tensor([0]), Z[:1]), DTypeError, "float32 does not hold complex64"),
    "scatter": (lambda x: ops.scatter(INTS, 0, Tensor([0]), x[0, :1]), DTypeError, "int32 does not hold float32"),
    "tensor_scatter_add": (lambda x: ops.tensor_scatter_add(INTS, Tensor([[0]]), x[0, :1]), DTypeError, "does not hold"),
    "affine_grid": (lambda x: ops.affine_grid(x.reshape(1, 2, 3), (1, 1, 0, 2)), ShapeError, "at least 1"),
    "pad": (lambda x: ops.pad(x, (1, 1), "reflect", value=1.0), ValueRangeError, "takes no value"),
    "mint.add": (lambda x: mint.add(x, None), ArgumentError, "not NoneType"),
    "mint.sub": (lambda x: mint.sub(x, "a"), ArgumentError, "not str"),
    "diff": (lambda x: ops.diff(x, n=None), ArgumentError, "not NoneType"),
    "linspace": (lambda x: ops.linspace(None, 2.0, 3), ArgumentError, "start and end are numbers, not NoneType"),
    "gather": (lambda x: mint.gather(x, 0, Tensor([[5]])), IndexRangeError, "index 5 is outside"),
    "scatter_add": (lambda x: mint.scatter_add(x, 0, Tensor([[5]]), x[:1, :1]), IndexRangeError, "index 5 is outside"),
    "index_add outside": (lambda x: ops.index_add(x, Tensor([5]), x[:1]), IndexRangeError, "index 5 is outside"),
    "item": (lambda x: x.item(9), IndexRangeError, "index 9 is out of bounds"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_setting_or_operand_that_means_nothing_is_refused_alike_in_both_modes(case):
    call, error, text = case
    said = []
    for way in (call, ms.jit(lambda x: call(x), fullgraph=True)):
        with pytest.raises(error, match=text) as caught:
            way(X)
        said.append(str(caught.value).splitlines()[0])
    assert said[0] == said[1]


@pytest.mark.parametrize("call, error, text", [
    (lambda: ops.tril_indices(2.5, 2), ArgumentError, "not float"),
    (lambda: ops.triu_indices(2, 2, 0.5), ArgumentError, "not float"),
    (lambda: ops.bincount(INTS, minlength=-1), ValueRangeError, "minlength is not negative"),
    (lambda: F.one_hot(INTS, "x"), ArgumentError, "not str"),
    (lambda: nn.LSTMCell(3, 3)(X, None), ArgumentError, "hx is two Tensors"),
    (lambda: nn.ReplicationPad1d((1, 1))(ROW), ShapeError, "ReplicationPad1d"),
    (lambda: nn.ReflectionPad2d(1)(X), ShapeError, "ReflectionPad2d"),
])
def test_a_wrong_size_or_form_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("operator", [ops.assign_add, ops.assign_sub])
def test_what_is_added_in_place_has_the_shape_of_the_variable(operator):
    for way in (operator, ms.jit(lambda v, x: operator(v, x), fullgraph=True)):
        for value in (ROW, X[:1], Tensor(1.0), X.reshape(3, 2)):
            variable = ms.Parameter(X.copy(), name="v")
            with pytest.raises(ShapeError, match=f"{operator.__name__}: the shapes differ"):
                way(variable, value)
            np.testing.assert_array_equal(variable.asnumpy(), X.asnumpy())
        variable = ms.Parameter(X.copy(), name="v")
        way(variable, X)
        way(variable, 1)
        sign = 1 if operator is ops.assign_add else -1
        np.testing.assert_array_equal(variable.asnumpy(), X.asnumpy() + sign * (X.asnumpy() + 1))


def test_an_element_is_named_by_one_index_or_by_one_for_each_axis():
    for index in ((4,), (-1,), (1, 1), ((0, 2),)):
        wanted = X.asnumpy().item(*index)
        assert X.item(*index) == wanted == ms.jit(lambda x: x.item(*index), fullgraph=True)(X)


def test_no_warning_of_numpy_leaves_a_product_of_infinities():
    x = Tensor(np.array([[np.inf, 0.0], [1.0, 1.0]], np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ops.matmul(x, x).asnumpy()[0, 1])


def test_an_operator_that_nothing_computes_is_no_fault_of_ours():
    unknown = ms.ops.operations.Operation("unknown_one")
    for way in (lambda x: unknown(x), ms.jit(lambda x: unknown(x)), ms.jit(lambda x: unknown(x), fullgraph=True)):
        with pytest.raises(RuntimeError, match="Operator 'unknown_one' is invalid"):
            way(X)
