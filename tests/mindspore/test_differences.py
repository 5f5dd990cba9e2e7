"""docs/differences.md row by row: what a row says of mindlite is tried here.

A row is named by its first cell, without backticks. A row without a check, and a check without a row, are errors.
"""
import contextlib
import inspect
import io
import pathlib
import warnings

import numpy as np
import pytest

import mindlite as ml
import mindlite.mindspore as ms
from mindlite.common.errors import ArgumentError, IndexRangeError, ValueRangeError
from mindlite.mindspore import Parameter, Tensor, mint, nn, ops
from mindlite.mindspore import numpy as mnp
from mindlite.nn.probability import bijector, distribution

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "differences.md"
P = ops.operations
CHECKS = {}


def difference(*rows):
    """The function tries what these rows say."""
    def keep(check):
        CHECKS.update(dict.fromkeys(rows, check))
        return check
    return keep


def rows_of_the_page():
    """The first cells of all tables' rows, without backticks."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [line.replace("\\|", "/").split("|")[1].strip().replace("`", "") for line in lines]
    return [cell for cell, below in zip(cells, cells[1:] + [""])
            if not cell.startswith("---") and not below.startswith("---")]


def close(value, wanted):
    np.testing.assert_allclose(value.asnumpy() if isinstance(value, Tensor) else value, wanted, rtol=1e-5)


def refused(error, call, *words):
    """The call raises the error in both modes; its text has the words and this file's name."""
    for way in (call, ml.jit(call)):
        with pytest.raises(error) as raised:
            way()
        for word in (*words, "test_differences.py"):
            assert word in str(raised.value)


# -- numbers

@difference("loss = net(x), then grad(net, weights)(x, sens) of the same x")
def two_passes():
    class Step(nn.Cell):
        def __init__(self, network):
            super().__init__()
            self.network, self.weights = network.set_grad(), ms.ParameterTuple(network.trainable_params())
            self.grad = ops.GradOperation(get_by_list=True, sens_param=True)

        def construct(self, x):
            loss = self.network(x)
            return loss, self.grad(self.network, self.weights)(x, ops.ones_like(loss))
    for mode in (lambda step: step, lambda step: ml.jit(step, fullgraph=True)):
        network = nn.BatchNorm1d(1)
        mode(Step(network).set_train())(Tensor([[1.0], [3.0]]))
        close(network.moving_mean, [0.1 * 2 + 0.9 * 0.1 * 2])


@difference("ops.Median(global_median=True)")
def place_of_the_median():
    value, place = ops.Median(global_median=True)(Tensor([[1, 7, 6], [5, 1, 3], [9, 17, 1]]))
    assert int(value) == 5 and int(place) == 3


@difference("ops.max, ops.min, argmax, argmin, Tensor.max, Tensor.min with axis=None, keepdims=True")
def axes_of_all_elements():
    x = Tensor([[1, 5], [9, -7]])
    for value in (*ops.max(x, None, True), *ops.min(x, None, True), ops.argmax(x, None, True), ops.argmin(x, None, True),
                  x.max(None, True), x.min(None, True)):
        assert value.shape == (1, 1)
    assert x.argmax_with_value(None, True)[0].shape == ()


@difference("nn.Momentum(use_nesterov=True), ApplyMomentum of the same")
def nesterov():
    for option in (False, True):
        param, accum = Parameter(Tensor([1.0]), name="w"), Parameter(Tensor([0.5]), name="a")
        P.ApplyMomentum(use_nesterov=option)(param, accum, 0.1, Tensor([2.0]), 0.9)
        close(param, [1 - 0.1 * (2 + 0.9 * 2.45 if option else 2.45)])
        other = Parameter(Tensor([1.0]), name="w")
        nn.Momentum([other], 0.1, 0.9, use_nesterov=option)((Tensor([2.0]),))
        close(other, [1 - 0.1 * (2 + 0.9 * 2 if option else 2)])


@difference("nn.Adagrad(update_slots=False)")
def sums_that_stay():
    param = Parameter(Tensor([1.0]), name="w")
    step = nn.Adagrad([param], accum=4.0, learning_rate=1.0, update_slots=False)
    step((Tensor([1.0]),))
    close(param, [0.5])
    close(step.accum[0], [4.0])


@difference("nn.Adam(use_amsgrad=True, use_nesterov=True)")
def amsgrad_that_looks_ahead():
    found = []
    for option in (False, True):
        param = Parameter(Tensor([1.0]), name="w")
        nn.Adam([param], 0.1, use_amsgrad=True, use_nesterov=option)((Tensor([2.0]),))
        found.append(float(param[0]))
    np.testing.assert_allclose(found, [0.9, 1 - 0.1 * 1.9], rtol=1e-4)


@difference("gradient of nn.SeLU below zero")
def slope_of_selu():
    close(ms.grad(lambda x: nn.SeLU()(x).sum())(Tensor([-1.0])), [1.0507009873 * 1.6732632423 * np.exp(-1)])


@difference("gradient of avg_pool*d with divisor_override and ceil_mode or without count_include_pad")
def means_by_a_number():
    pool = nn.AvgPool2d(2, 3, "pad", ceil_mode=True, count_include_pad=False, divisor_override=3)
    x = Tensor(np.ones((1, 2, 4), np.float32))
    close(pool(x), [[[4 / 3, 2 / 3]]])
    close(ms.grad(lambda x: pool(x).sum())(x), [[[1 / 3, 1 / 3, 0, 1 / 3]] * 2])


@difference("gradients of nn.CTCLoss, and of nn.KLDivLoss for its labels")
def derivatives_of_losses():
    logs, labels = np.log(np.float32([[[0.5, 0.5]]])), Tensor([[0.25, 0.75]])
    ones = Tensor([1], ms.int32)
    found = ms.grad(lambda x: nn.CTCLoss()(x, Tensor([[1]], ms.int32), ones, ones))(Tensor(logs))
    close(found, [[[0, -1]]])
    close(ms.grad(lambda y: nn.KLDivLoss("sum")(Tensor([[0.0, 0.0]]), y))(labels), 1 + np.log([[0.25, 0.75]]))


@difference("MultiheadAttention with a bool key_padding_mask and an attn_mask of floats")
def keys_that_are_left_out():
    x = Tensor(np.ones((1, 2, 4), np.float32))
    left_out, scores = Tensor([[False, True]]), Tensor([[0.0, 9.0]] * 2)
    _, weights = nn.MultiheadAttention(4, 1, batch_first=True)(x, x, x, left_out, attn_mask=scores)
    close(weights, [[[1, 0], [1, 0]]])


@difference("nn.ConstantPad*d, nn.ZeroPad2d by a negative number")
def edges_that_are_cut():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3))
    close(nn.ConstantPad2d((-1, 1, 0, 0), 7.0)(x), [[[[1, 2, 7], [4, 5, 7]]]])
    close(nn.ZeroPad2d((1, -1, 0, 0))(x), [[[[0, 0, 1], [0, 3, 4]]]])


@difference("nn.ClipByNorm(axis=..) of a matrix")
def norms_along_an_axis():
    close(nn.ClipByNorm(0)(Tensor([[3.0, 0.3], [4.0, 0.4]]), Tensor(np.float32(1))), [[0.6, 0.3], [0.8, 0.4]])


@difference("metrics ROC, CosineSimilarity of several updates")
def metrics_of_all_rows():
    roc, similar = ms.train.ROC(pos_label=1), ms.train.CosineSimilarity(reduction="sum")
    for row in ([1.0, 0.0], [1.0, 1.0]):
        roc.update(Tensor(row) / 2 + row[1] / 4, Tensor([1, 0], ms.int32))
        similar.update(Tensor([row]))
    assert len(roc.eval()[0]) == 4 and similar.eval().shape == (2,)


@difference("grad_centralization of a group of Parameters")
def centralised():
    param = Parameter(Tensor([[0.0, 0.0, 0.0]]), name="w")
    nn.SGD([{"params": [param], "grad_centralization": True}], 1.0)((Tensor([[1.0, 2.0, 6.0]]),))
    close(param, [[2.0, 1.0, -3.0]])


@difference("nn.FTRL, ApplyFtrl with l1 where the sum of gradients is below 0")
def ftrl():
    found = []
    for l1 in (0.0, 0.05):
        param = Parameter(Tensor([1.0, -1.0]), name="w")
        nn.FTRL([param], learning_rate=0.1, l1=l1)((Tensor([0.5, -0.5]),))
        found.append(param.asnumpy())
    assert found[0][0] > found[1][0] > 0 and found[0][1] < found[1][1] < 0


@difference("an optimiser's operator (ApplyAdagradV2) of float64 variables and a float32 rate")
def wide_variables():
    variable, sums = (Parameter(Tensor(np.array([value])), name=str(value)) for value in (0.4472826, 0.4472827))
    P.ApplyAdagradV2(0.0)(variable, sums, Tensor(3.0, ms.float32), Tensor([6.0], ms.float16))
    np.testing.assert_allclose(variable.asnumpy(), 0.4472826 - 18 / np.sqrt(36.4472827), rtol=1e-14)


@difference("ops.LSTM with more weights than it needs")
def weights_that_nobody_reads():
    x, state = Tensor(np.ones((5, 2, 10), np.float32)), Tensor(np.ones((1, 2, 2), np.float32))
    with pytest.raises(ValueError, match="w has 104 elements"):
        P.LSTM(10, 2, 1, True, False, 0.0)(x, state, state, Tensor(np.ones((112, 1, 1), np.float32)))


@difference("ops.mean, Tensor.mean of integers")
def mean_of_integers():
    value = ops.mean(Tensor([1, 2]))
    assert value.dtype == ms.float32 and float(value) == float(Tensor([1, 2]).mean()) == 1.5


@difference("ops.min, ops.max, Tensor.argmin_with_value without an axis")
def positions_of_extrema():
    x = Tensor([[3.0, 1.0], [5.0, 2.0]])
    assert int(ops.min(x)[1]) == 1 and int(ops.max(x)[1]) == 2 and int(x.argmin_with_value(axis=None)[1]) == 1


@difference("ops.aminmax with NaN")
def aminmax_of_nan():
    assert all(np.isnan(float(v)) for v in ops.aminmax(Tensor([1.0, np.nan])))


@difference("ops.sign of NaN")
def sign_of_nan():
    assert np.isnan(float(ops.sign(Tensor(np.nan)))) and float(mint.sign(Tensor(np.nan))) == 0


@difference("ops.full(size, 1.2)")
def full_of_a_fraction():
    assert ops.full((1,), 1.2).dtype == ms.float32
    close(ops.full((1,), 1.2), [1.2])


@difference("ops.CumulativeLogsumexp(exclusive=True)")
def sum_of_nothing():
    close(ops.CumulativeLogsumexp(exclusive=True)(Tensor([1.0, 2.0]), Tensor(0)), [-np.inf, 1])


@difference("SoftmaxCrossEntropyWithLogits under grad of its labels")
def derivatives_by_labels():
    logits, labels = Tensor([[1.0, 2.0]]), Tensor([[0.25, 0.5]])
    probability = np.exp([1, 2]) / np.exp([1, 2]).sum()
    by_logits, by_labels = ml.grad(lambda a, b: ops.SoftmaxCrossEntropyWithLogits()(a, b)[0].sum(), (0, 1))(logits, labels)
    close(by_labels, -np.log(probability)[None])
    close(by_logits, (0.75 * probability - [0.25, 0.5])[None])


@difference("ops.svd")
def singular_vectors():
    a = np.array([[3, 1], [1, 2], [0, 1]], np.float32)
    s, u, v = ops.svd(Tensor(a))
    np.testing.assert_allclose(u.asnumpy() * s.asnumpy() @ v.asnumpy().T, a, atol=1e-5)
    np.testing.assert_allclose(u.asnumpy(), np.linalg.svd(a, full_matrices=False)[0], atol=1e-5)


@difference("bicubic interpolate, Upsample, ResizeBicubic")
def bicubic_weights():
    line = Tensor(np.array([0, 0, 1, 0, 0], np.float32).reshape(1, 1, 1, 5))

    def middle_weight(module):
        sizes = {"size": (1, 10), "mode": "bicubic", "align_corners": False}
        return module.interpolate(line, **sizes).asnumpy()[0, 0, 0, 4]
    quarter = 0.25                               # places 2 +- 1/4: weight of the point at distance 1/4, formula of Keys 1981
    weights = {a: (a + 2) * quarter ** 3 - (a + 3) * quarter ** 2 + 1 for a in (-0.5, -0.75)}
    close(middle_weight(mint.nn.functional), weights[-0.75])
    close(middle_weight(ml.ops), weights[-0.75])
    close(middle_weight(ops), weights[-0.5])


@difference("Gumbel.kl_loss")
def divergence_of_gumbels():
    a, b = (1.5, 2.0), (0.5, 3.0)
    x = np.linspace(-40, 200, 400001)

    def log_density(loc, scale):
        z = (x - loc) / scale
        return -z - np.exp(-z) - np.log(scale)
    p, q = log_density(*a), log_density(*b)
    integral = (np.exp(p) * (p - q)).sum() * (x[1] - x[0])
    close(distribution.Gumbel(*a).kl_loss("Gumbel", Tensor(b[0]), Tensor(b[1])), integral)


@difference("Categorical.log_prob of what is no class")
def probability_of_no_class():
    assert float(distribution.Categorical([0.5, 0.5]).log_prob(Tensor(2))) == -np.inf


@difference("compute_kl_loss of Bayesian layers")
def divergence_of_weights():
    from mindlite.nn.probability import bnn_layers
    layer = bnn_layers.DenseReparam(1, 1, has_bias=False)
    posterior, prior = layer.weight_posterior, layer.weight_prior
    (m, s), (n, t) = ((float(d("mean").sum()), float(d("sd").sum())) for d in (posterior, prior))
    close(layer.compute_kl_loss(), np.log(t / s) + (s * s + (m - n) ** 2) / (2 * t * t) - 0.5)


@difference("TransformedDistribution.cdf of a bijector that decreases")
def probability_below():
    down = bijector.ScalarAffine(-1.0, 0.0)
    normal = distribution.Normal(1.0, 1.0)
    flipped = distribution.TransformedDistribution(down, normal)              # Normal(-1, 1)
    close(flipped.cdf(Tensor(0.0)), 0.8413447)


@difference("an integer tensor beside a Python int outside of its dtype, compared")
def comparison_with_an_int_outside():
    x = Tensor([255], ms.uint8)
    for way in (lambda x: x == -1, ml.jit(lambda x: x == -1, fullgraph=True)):
        assert not bool(way(x)[0])
    close(x + 1, [0])


@difference("pieces that SentencePieceVocab learns (UNIGRAM)")
def learned_pieces():
    sentencepiece = pytest.importorskip("sentencepiece")
    lines, text = ["a network learns from data", "the data of a network", "networks learn"], ms.dataset.text
    rows = ms.dataset.NumpySlicesDataset(lines, ["text"], shuffle=False)
    vocab = text.SentencePieceVocab.from_dataset(rows, ["text"], 20, 1.0, text.SentencePieceModel.UNIGRAM, {})
    model = sentencepiece.SentencePieceProcessor(model_proto=vocab.model)
    pieces = text.SentencePieceTokenizer(vocab, text.SPieceTokenizerOutType.STRING)(np.array(lines[0]))
    assert pieces.tolist() == model.encode(lines[0], out_type=str)


@difference("gradients of the mean and the variance that ops.LayerNorm gives")
def means_of_a_layer_norm():
    x, ones = Tensor([[1.0, 2, 4]]), Tensor([1.0, 1, 1])

    def mean_and_variance(x):
        return P.LayerNorm()(x, ones, ones)[1:]
    for run in (lambda f: f, ml.jit):
        close(run(ms.grad(lambda x: mean_and_variance(x)[0].sum()))(x), [[1 / 3] * 3])
        close(run(ms.grad(lambda x: mean_and_variance(x)[1].sum()))(x), 2 / 3 * (x.asnumpy() - 7 / 3))


@difference("Parameter(3), Tensor(1 + 2j)")
def dtypes_of_numbers():
    assert Parameter(3).dtype == ms.int64 and Tensor(3).dtype == ms.int64 and Tensor(1 + 2j).dtype == ms.complex64


@difference("p.set_data(..) of another shape")
def data_of_another_shape():
    p = Parameter(Tensor([1.0, 2.0]), name="p")
    with pytest.raises(ValueError, match="has shape"):
        p.set_data(Tensor([3.0]))
    assert p.set_data(Tensor([3.0]), slice_shape=True).shape == (1,)


@difference("seeded random numbers")
def random_numbers():
    def draw():
        ms.set_seed(3)
        return ops.uniform((4,), Tensor(0.0), Tensor(1.0), seed=5)
    close(ml.jit(draw)(), draw().asnumpy())


@difference("ops.assign, assign_add in eager mode, an array from asnumpy before")
def array_of_an_assigned_parameter():
    p = Parameter(Tensor([1.0]), name="p")
    array = p.asnumpy()
    ops.assign(p, Tensor([2.0]))
    close(array, [2])


@difference("p.set_data(s), then a write to one of the two")
def parameter_and_its_data():
    p, s = Parameter(Tensor([1.0]), name="p"), Tensor([2.0])
    p.set_data(s)
    s[0] = 3.0
    close(p, [2])


@difference("old = p.data, then p.set_data(..)")
def data_of_a_parameter():
    p = Parameter(Tensor([1.0]), name="p")
    old, value = p.data, p.value()
    p.set_data(Tensor([2.0]))
    close(old, [2])
    close(value, [1])


# -- errors in place of silence

@difference("a class label outside 0..C-1 that is not ignore_index")
def labels():
    logits = Tensor(np.zeros((2, 3), np.float32))
    for labels in ([0, 3], [-1, 0]):
        refused(IndexRangeError, lambda: ops.cross_entropy(logits, Tensor(labels, ms.int32)), "3" if 3 in labels else "-1")


@difference("an index outside of its axis")
def indices():
    x, far = Tensor(np.zeros((2, 3), np.float32)), Tensor([5])
    refused(IndexRangeError, lambda: ops.gather(x, far, 0), "5")
    refused(IndexRangeError, lambda: ml.grad(lambda x: ops.gather(x, far, 0).sum())(x), "5")


@difference("Tensor.take, numpy.take, choose")
def take_clips():
    x = Tensor([1.0, 2.0])
    close(x.take(Tensor([7])), [2])
    close(mnp.take(x, Tensor([7]), mode="clip"), [2])
    refused(IndexRangeError, lambda: x.take(Tensor([7]), mode="raise"), "7")
    refused(IndexRangeError, lambda: mint.take(x, Tensor([7])), "7")


@difference("a label of the operator P.CTCLoss that is the blank")
def blank_labels():
    loss, logits = P.CTCLoss(), Tensor(np.zeros((4, 1, 3), np.float32))
    refused(IndexRangeError, lambda: loss(logits, Tensor([[0, 0]]), Tensor([2], ms.int32), Tensor([4], ms.int32)), "2")


@difference("ops.one_hot")
def one_hot_of_no_class():
    close(ops.one_hot(Tensor([5]), 3, Tensor(1.0), Tensor(0.0)), [[0, 0, 0]])
    refused(IndexRangeError, lambda: mint.nn.functional.one_hot(Tensor([5]), 3), "5")


@difference("a negative segment_id")
def segments():
    x = Tensor([[1.0], [2.0]])
    close(ops.unsorted_segment_sum(x, Tensor([-1, 0]), 1), [[2]])
    refused(IndexRangeError, lambda: ops.unsorted_segment_sum(x, Tensor([0, 1]), 1), "1")


@difference("BCELoss of a number outside [0, 1]")
def no_probability():
    loss = nn.BCELoss()
    refused(ValueRangeError, lambda: loss(Tensor([1.5]), Tensor([1.0])), "1.5")


@difference("BatchNorm of one value for each channel")
def variance_of_one_value():
    net = nn.BatchNorm1d(2).set_train()
    net(Tensor([[1.0, 2.0]]))
    close(net.moving_variance, [0.9, 0.9])


@difference("a list of Cells as an attribute")
def list_of_cells():
    class Net(nn.Cell):
        pass
    net = Net()
    with pytest.warns(UserWarning, match="CellList"):
        net.layers = [nn.ReLU()]


@difference("float64 into a float32 layer")
def float64_input():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert nn.Dense(2, 2)(Tensor(np.zeros((1, 2)))).dtype == ms.float64


# -- types and texts

@difference("indices of argmin, argsort, sort, topk from import mindlite")
def dtype_of_indices():
    x = Tensor([1.0, 2.0])
    for module, dtype in ((ml.ops, ms.int64), (ops, ms.int32)):
        found = module.argmin(x), module.argsort(x), module.sort(x)[1], module.topk(x, 1)[1]
        assert {indices.dtype for indices in found} == {dtype}


@difference("ops.assign and its kin")
def results_of_assignments():
    p = Parameter(Tensor([1.0]), name="p")
    assert ops.assign(p, Tensor([2.0])) is p and ops.assign_add(p, Tensor([2.0])) is p and float(p) == 4


@difference("x[[Tensor, 0]], a list of Tensors, slices or lists as an index")
def list_as_an_index():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    close(x[[Tensor(1), 0]], [[3, 4], [1, 2]])
    close(x[tuple([Tensor(1), 0])], 3)


@difference("x[[]] += 1, a mask that is False everywhere")
def empty_index():
    x = Tensor([1.0, 2.0])
    x[[]] += 1
    x[Tensor([False, False])] = 7.0
    close(x, [1, 2])


@difference("RandomChoiceWithMask, UniformCandidateSampler with a seed")
def candidates():
    drawn = ops.uniform_candidate_sampler(Tensor([[1]], ms.int64), 1, 2, True, 3, seed=4, remove_accidental_hits=True)[0]
    assert set(drawn.asnumpy()) == {0, 2}
    places, chosen = P.RandomChoiceWithMask(count=1, seed=4)(Tensor([[False, True]]))
    close(places, [[0, 1]])
    close(chosen, [True])


@difference("ops.randperm, RandpermV2, ops.log_uniform_candidate_sampler without a seed, NonDeterministicInts")
def draws_without_a_seed():
    for draw in (lambda: ops.randperm(40), lambda: P.RandpermV2()(40),
                 lambda: ops.log_uniform_candidate_sampler(Tensor([[1]], ms.int64), 1, 20, False, 9999)[0],
                 lambda: P.NonDeterministicInts()((9,))):
        assert (draw().asnumpy() != draw().asnumpy()).any()


@difference("SequentialCell.append, CellList.append")
def append():
    for cells in (nn.SequentialCell(), nn.CellList()):
        assert cells.append(nn.ReLU()) is cells


@difference("x.max(0, True, initial=None), x.min(..)")
def an_initial_value_that_is_none():
    for call in (lambda x: x.max(0, True, initial=None), lambda x: x.min(0, True, initial=None)):
        values, places = call(Tensor([[2.0], [2.0]]))
        assert values.tolist() == [[2]] and places.tolist() == [[0]]


@difference("Tensor.is_contiguous() of a transpose")
def contiguous():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = ops.transpose(x, (1, 0))
    assert y.is_contiguous() and y.stride() == [2, 1]


@difference("Tensor.diag of more than one axis")
def diagonals():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.diag().tolist() == [1.0, 4.0] == mint.diag(x).tolist()
    assert ops.diag(x).shape == (2, 2, 2, 2) and ops.diag(x)[1, 0].tolist() == [[0.0, 0.0], [3.0, 0.0]]


@difference("ops.Print, ops.print_, print in graphs")
def printed():
    for way in (lambda f: f, lambda f: ml.jit(f, fullgraph=True)):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            way(lambda x: ops.print_("x:", x))(Tensor([1.0, 2.0]))
        assert out.getvalue() == "x: [1. 2.]\n"


@difference("repr of Tensors, dtypes, sparse tensors")
def texts():
    assert repr(Tensor([1.0, 2.0], ms.float32)) == "Tensor(shape=[2], dtype=Float32, value=\n[1., 2.])"


@difference("InstanceNorm*")
def instance_norm():
    norm = nn.InstanceNorm2d(2)
    norm(Tensor(np.random.default_rng(0).normal(3, 2, (2, 2, 4, 4)), ms.float32))
    assert [(p.name, p.requires_grad) for p in norm.get_parameters()] == [
        ("mean", False), ("variance", False), ("gamma", True), ("beta", True)]
    assert norm.moving_mean.asnumpy().tolist() == [0, 0] and norm.moving_variance.asnumpy().tolist() == [1, 1]


# -- arguments: what a signature lacks or has in another name

def arguments(function):
    return set(inspect.signature(function).parameters)


@difference("jit")
def levels_of_jit():
    parameters = inspect.signature(ms.jit).parameters
    assert parameters["jit_level"].default is None and parameters["fullgraph"].default is None


@difference("a size that a Symbol does not allow")
def size_of_a_symbol():
    net = ml.jit(nn.ReLU())
    net.set_inputs(Tensor(shape=[ms.Symbol(max=4)], dtype=ms.float32))
    with pytest.raises(ValueRangeError, match="a size is 5, and was declared as at least 1, at most 4"):
        net(Tensor(np.zeros(5, np.float32)))


MISSING = {"tensor": (lambda: ms.tensor, {"device"}), "RowTensor": (lambda: ms.RowTensor, {"shape", "row_tensor"}),
           "ops.csr_mm": (lambda: ops.csr_mm, {"trans_a", "trans_b", "adjoint_a", "adjoint_b"}),
           "ops.relu": (lambda: ops.relu, {"inplace"}), "nn.GraphCell": (lambda: nn.GraphCell, {"obf_random_seed"}),
           "Tensor.init_data": (lambda: Tensor.init_data, {"slice_index", "shape", "opt_shard_group"}),
           "Tensor.bernoulli": (lambda: Tensor.bernoulli, {"generator"}),
           "numpy.empty_like": (lambda: mnp.empty_like, {"prototype"})}
for _name, (_function, _missing) in MISSING.items():
    @difference(_name)
    def lacks_arguments(function=_function, missing=_missing):
        assert not arguments(function()) & missing


@pytest.mark.parametrize("row", rows_of_the_page())
def test_a_difference_is_as_the_page_says(row):
    assert row in CHECKS, "the row has no check: write one"
    CHECKS[row]()


def test_every_check_belongs_to_a_row():
    assert not set(CHECKS) - set(rows_of_the_page())


def test_a_misuse_is_told_as_an_argument_error():
    with pytest.raises(ArgumentError):
        ops.relu(Tensor([1.0]), inplace=True)
