"""An index outside of its axis is an error in every operator that takes indices, eagerly, in graphs and in gradients.

`OPERATORS` has a row for each; a test walks all functions and methods that have an operand of that kind and finds none
without a row. Nothing reads a neighbour's element, nothing is left out: a wrong label gives no finite loss.
"""
import inspect

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, numpy as mnp, ops
from mindlite.common.errors import IndexRangeError
from mindlite.mindir.primitive import PRIMITIVES, Primitive
from mindlite.ops import later, operations as P
from mindlite.ops.methods import METHODS

SIZE = 5
_rng = np.random.default_rng(5)
X = Tensor(_rng.standard_normal((SIZE, 4)).astype(np.float32))
ROWS = Tensor(_rng.standard_normal((3, 4)).astype(np.float32))
TABLE = nn.Embedding(SIZE, 4)
SIZE_OF_ALL = SIZE * 4


def column(i):
    return i.reshape(3, 1)


def spread(i):
    return ops.broadcast_to(column(i), (3, 4))


def written(x, i):
    y = x * 1
    y[i] = ROWS
    return y


def written_in_part(x, i):
    y = x * 1
    y[i, 0] = ROWS[:, 0]
    return y


# {name: (x[5, 4], i[3]) -> Tensors}; an index of -5 .. 4 is inside
FROM_THE_END = {
    "gather": lambda x, i: ops.gather(x, i, 0),
    "gather with batch_dims": lambda x, i: ops.gather(ops.stack([x[:, 0]] * 3), column(i), 1, 1),
    "gather of an axis that is not the first": lambda x, i: ops.gather(ops.swapaxes(x, 0, 1), i, 1),
    "getitem": lambda x, i: x[i],
    "getitem with others": lambda x, i: x[i, 1:],
    "getitem by one": lambda x, i: x[i[1]],
    "setitem": written,
    "setitem with others": written_in_part,
    "gather_d": lambda x, i: ops.gather_d(x, 0, spread(i)),
    "gather_elements": lambda x, i: ops.gather_elements(x, 0, spread(i)),
    "gather_nd": lambda x, i: ops.gather_nd(x, column(i)),
    "index_select": lambda x, i: ops.index_select(x, 0, i),
    "embedding": lambda x, i: ops.embedding(i, x),
    "embedding with padding_idx": lambda x, i: ops.embedding(i, x, 1),
    "nn.Embedding": lambda x, i: TABLE(i) * x[:3],
    "index_add": lambda x, i: ops.index_add(x, i, ROWS, 0),
    "index_fill": lambda x, i: ops.index_fill(x, 0, i, 2.0),
    "index_copy": lambda x, i: ops.index_copy(x, 0, i, ROWS),
    "index_put": lambda x, i: ops.index_put(x, (i,), ROWS),
    "index_put that adds": lambda x, i: ops.index_put(x, (i,), ROWS, True),
    "scatter": lambda x, i: ops.scatter(x, 0, spread(i), ROWS),
    "scatter_nd": lambda x, i: ops.scatter_nd(column(i), x[:3], (SIZE, 4)),
    "tensor_scatter_elements": lambda x, i: ops.tensor_scatter_elements(x, spread(i), ROWS, 0),
    "tensor_scatter_elements that adds": lambda x, i: ops.tensor_scatter_elements(x, spread(i), ROWS, 0, "add"),
    **{f"tensor_scatter_{word}": lambda x, i, word=word: getattr(ops, f"tensor_scatter_{word}")(x, column(i), ROWS)
       for word in ("add", "sub", "mul", "div", "max", "min", "update")},
    "take that raises": lambda x, i: x.take(i, 0, mode="raise"),
    "numpy.take that raises": lambda x, i: mnp.take(x, i, 0, "raise"),
    "numpy.take_along_axis": lambda x, i: mnp.take_along_axis(x, spread(i), 0),
    "P.Gather": lambda x, i: P.Gather()(x, i, 0),
    "csr_gather": lambda x, i: ops.csr_gather(Tensor([0, 1, 2, 3]), i, ops.swapaxes(x, 0, 1)[:3], (3, SIZE)),
}
# As above, but a negative index names nothing.
COUNTED = {
    "cross_entropy": lambda x, i: ops.cross_entropy(ops.swapaxes(x, 0, 1)[:3], i),
    "cross_entropy of pictures": lambda x, i: ops.cross_entropy(ops.swapaxes(x, 0, 1)[:3].reshape(3, SIZE, 1), column(i)),
    "nll_loss": lambda x, i: ops.nll_loss(ops.swapaxes(x, 0, 1)[:3], i, reduction="none"),
    "nll_loss of one": lambda x, i: ops.nll_loss(x[:, 0], i[1]),
    "nn.CrossEntropyLoss": lambda x, i: nn.CrossEntropyLoss()(ops.swapaxes(x, 0, 1)[:3], i),
    "nn.NLLLoss": lambda x, i: nn.NLLLoss()(ops.swapaxes(x, 0, 1)[:3], i),
    "nn.SoftmaxCrossEntropyWithLogits": lambda x, i: nn.SoftmaxCrossEntropyWithLogits(sparse=True)(
        ops.swapaxes(x, 0, 1)[:3], i),
    "sparse_softmax_cross_entropy_with_logits": lambda x, i: ops.sparse_softmax_cross_entropy_with_logits(
        ops.swapaxes(x, 0, 1)[:3], i),
    "P.SparseSoftmaxCrossEntropyWithLogits": lambda x, i: P.SparseSoftmaxCrossEntropyWithLogits()(
        ops.swapaxes(x, 0, 1)[:3], i),
    "P.SparseSoftmaxCrossEntropyWithLogits(is_grad)": lambda x, i: P.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)(
        ops.swapaxes(x, 0, 1)[:3], i),
    "P.NLLLoss": lambda x, i: P.NLLLoss()(ops.swapaxes(x, 0, 1)[:3], i, ops.ones((SIZE,)))[0],
    "multi_margin_loss": lambda x, i: ops.multi_margin_loss(ops.swapaxes(x, 0, 1)[:3], i),
    "unravel_index": lambda x, i: x.sum() * ops.unravel_index(i, (SIZE,))[0].sum(),
}
# Only the end counts: -1 ends the labels, rows of negative segments are left out.
UP_TO_THE_END = {
    "multilabel_margin_loss": lambda x, i: ops.multilabel_margin_loss(ops.swapaxes(x, 0, 1)[:3], ops.broadcast_to(
        column(i), (3, SIZE))),
    **{f"unsorted_segment_{word}": lambda x, i, word=word: getattr(ops, f"unsorted_segment_{word}")(x[:3], i, SIZE)
       for word in ("sum", "max", "min", "prod")},
}
OPERATORS = {**FROM_THE_END, **COUNTED, **UP_TO_THE_END}

# Operands of that name that are no places in an axis, or for which the documentation says what an index outside means.
NO_PLACES = {
    "tuple_getitem": "Python's number", "one_hot": "outside: a row of off_value", "take": "clips, as MindSpore's",
    **dict.fromkeys("binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss gaussian_nll_loss "
                    "hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
                    "multilabel_soft_margin_loss poisson_nll_loss smooth_l1_loss soft_margin_loss "
                    "softmax_cross_entropy_with_logits".split(), "numbers"),
    **dict.fromkeys("dsplit hsplit vsplit tensor_split".split(), "bounds of slices, as Python's"),
    **dict.fromkeys("select select_scatter inplace_add inplace_sub inplace_update".split(), "ints of Python: x[i]"),
    "ctc_loss": "tested below", "max_unpool1d": "tested below", "max_unpool2d": "tested below",
    "max_unpool3d": "tested below", "lu_solve": "tested below", "lu_unpack": "tested below",
    "reverse_sequence": "tested below", "put": "tested below", "inplace_index_add": "index_add",
    "bounded_indices": "the check itself", "gather_axis": "gather", "index_add_axis": "index_add",
    "scatter_nd_add": "tensor_scatter_add", "scatter_nd_update": "tensor_scatter_update",
    "scatter_nd_max": "tensor_scatter_max", "scatter_nd_min": "tensor_scatter_min",
    "scatter_nd_mul": "tensor_scatter_mul", "scatter_nd_div": "tensor_scatter_div",
    "scatter_elements_add": "tensor_scatter_elements that adds", "dynamic_slice": "getitem by one",
    "dynamic_update": "getitem by one", "write_slice": "setitem", "__getitem__": "getitem",
    "scatter_add": "tensor_scatter_add", "scatter_sub": "tensor_scatter_sub", "scatter_mul": "tensor_scatter_mul",
    "scatter_div": "tensor_scatter_div", "scatter_max": "tensor_scatter_max", "scatter_min": "tensor_scatter_min",
    "scatter_": "scatter", "scatter_add_": "scatter_add", "index_put_": "index_put",
    "index": "getitem", "tree_part": "the number of a part, which is known when it is compiled",
    "searchsorted": "tested below", "sparse_segment_mean": "gather; its number of rows is data's, so no graph has it",
}
PLACES = {"indices", "index", "labels", "label", "target", "targets", "segment_ids", "input_indices", "LU_pivots", "sorter",
          "indices_or_sections", "seq_lengths", "starts"}


def operands(function):
    if isinstance(function, Primitive):
        return function.signature.parameters
    try:
        return inspect.signature(getattr(function, "__wrapped__", function)).parameters
    except (TypeError, ValueError):
        return ()


def test_every_operator_with_an_operand_of_places_has_a_row():
    later.load_all()
    public = {name: getattr(ops, name) for name in {*dir(ops), *later.FUNCTIONS} if not name.startswith("_")}
    everything = [*public.items(), *METHODS.items(),
                  *[(name, prim) for name, prim in PRIMITIVES.items() if not (prim.origin and "tests" in prim.origin[0])]]
    found = {name for name, function in everything if callable(function) and not isinstance(function, type)
             and PLACES & set(operands(function))}
    assert {"gather", "cross_entropy", "unsorted_segment_max", "scatter_elements_add"} <= found
    assert not found - OPERATORS.keys() - NO_PLACES.keys()


WAYS = {"eager": lambda f: f, "grad": ms.grad, "jit": lambda f: ms.jit(f, fullgraph=True),
        "jit of grad": lambda f: ms.jit(lambda x, i: ms.grad(f)(x, i), fullgraph=True)}


def refused(run, x, bad, dtype=np.int32):
    with pytest.raises(IndexRangeError) as raised:
        run(x, Tensor(np.array([0, bad, 1], dtype)))
    first, place = str(raised.value).split("\n")[:2]
    assert f" {bad} is outside" in first and "test_indices_outside.py" in place, raised.value


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("way", WAYS)
def test_an_index_outside_is_refused_with_its_value_and_line(way, name):
    run = WAYS[way](OPERATORS[name])
    run(X, Tensor(np.array([0, 2, 1], np.int32)))
    for bad in (SIZE, 2 ** 31 - 1) + (() if name in UP_TO_THE_END else (-SIZE - 1, -2 ** 31)) + (-1,) * (name in COUNTED):
        refused(run, X, bad)


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("name", ["gather", "gather_d", "gather_nd", "getitem", "index_add", "tensor_scatter_add",
                                  "cross_entropy", "unsorted_segment_sum", "index_copy"])
@pytest.mark.parametrize("bad", [2 ** 40, -2 ** 40])
def test_so_is_one_that_no_int32_holds(name, way, bad):
    if name not in UP_TO_THE_END or bad > 0:
        refused(WAYS[way](OPERATORS[name]), X, bad, np.int64)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", ["eager", "jit of grad"])
@pytest.mark.parametrize("name", [n for n in FROM_THE_END if n not in ("scatter_nd", "nn.Embedding")])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_narrow_indices_reach_what_they_can_of_a_long_axis(name, way, dtype):
    x = Tensor(np.arange(1200, dtype=np.float32).reshape(300, 4) / 100)
    given = np.array([127, 3, 7 if dtype == "uint8" else -100])
    narrow, wide = (WAYS[way](OPERATORS[name])(x, Tensor(given.astype(d))) for d in (dtype, "int64"))
    np.testing.assert_array_equal(narrow.asnumpy(), wide.asnumpy())


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_clips_or_counts_around_as_it_is_told_also_by_narrow_indices(mode):
    x, i = Tensor(np.arange(300)), np.array([127, -100, 3], np.int8)
    want = np.take(np.arange(300), i, mode=mode).tolist()
    assert x.take(Tensor(i), 0, mode=mode).tolist() == mnp.take(x, Tensor(i), 0, mode).tolist() == want


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_places_in_all_elements_are_refused(way):
    run = WAYS[way](lambda x, i: ops.put(x, i, ROWS[:, 0]))
    for bad in (SIZE_OF_ALL, -SIZE_OF_ALL - 1):
        refused(run, X, bad)
    assert run(X, Tensor([0, -1, 1])).asnumpy()[-1, -1] == ROWS.asnumpy()[1, 0]


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_an_item_of_a_batch_does_not_read_its_neighbour(way):
    x, i = ops.stack([X, X + 100]), np.array([[0, 1, 2], [3, 4, 0]])
    run = WAYS[way](ms.vmap(lambda x, i: ops.gather(x, i, 0)))
    np.testing.assert_array_equal(run(x, Tensor(i)).asnumpy()[1], x.asnumpy()[1][i[1]])
    i[0, 1] = SIZE
    with pytest.raises(IndexRangeError, match="index 5 is outside"):
        run(x, Tensor(i))


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_a_label_of_an_item_of_a_batch_or_of_a_size_not_known_before_is_checked(way):
    run = WAYS[way](ms.vmap(lambda x, t: ops.cross_entropy(x, t)))
    labels = np.array([[0, 1], [3, 2]], np.int32)
    run(ops.ones((2, 2, 4)), Tensor(labels))
    with pytest.raises(IndexRangeError, match="label 4 is outside 0..3"):
        run(ops.ones((2, 2, 4)), Tensor(labels + 1))
    dynamic = ms.jit(lambda x, t: ops.nll_loss(x, t), fullgraph=True, dynamic=1)
    for n in (3, 4, 6):
        dynamic(ops.ones((n, n)), Tensor(np.arange(n, dtype=np.int32)))
    with pytest.raises(IndexRangeError, match="label 5 is outside 0..4"):
        dynamic(ops.ones((5, 5)), Tensor(np.arange(5, dtype=np.int32) + 1))


def test_a_label_that_is_ignored_is_no_error_and_its_weight_does_not_count():
    logits, labels = ROWS, Tensor(np.array([1, -100, 2], np.int32))
    two = ops.cross_entropy(logits[::2], labels[::2])
    np.testing.assert_allclose(ops.cross_entropy(logits, labels).asnumpy(), two.asnumpy(), rtol=1e-6)
    loss, total = P.NLLLoss(ignore_index=-100)(logits, labels, Tensor([1.0, 2.0, 3.0, 4.0]))
    assert total.item() == 5


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_large_operands_are_checked_as_small_ones(way):
    x = Tensor(np.zeros((100, 5000), np.float32))
    i = np.arange(90000) % 100
    i[70000] = 100
    run = WAYS[way](lambda x, i: ops.gather(x[:, :30], i, 0))
    with pytest.raises(IndexRangeError, match="index 100 is outside"):
        run(x, Tensor(i))


BELOW = {
    "ctc_loss": (lambda x, i: ops.ctc_loss(ops.log_softmax(ops.ones((4, 1, SIZE))), i.reshape(1, 3), Tensor([4]),
                                           Tensor([3])), SIZE),
    "max_unpool1d": (lambda x, i: ops.max_unpool1d(x[0, :3].reshape(1, 1, 3), i.reshape(1, 1, 3), 2, 2), 6),
    "max_unpool2d": (lambda x, i: ops.max_unpool2d(x[0, :3].reshape(1, 1, 1, 3), i.reshape(1, 1, 1, 3), 2, 2), 12),
    "max_unpool3d": (lambda x, i: ops.max_unpool3d(x[0, :3].reshape(1, 1, 1, 1, 3), i.reshape(1, 1, 1, 1, 3), 2, 2), 24),
    "lu_solve": (lambda x, i: ops.lu_solve(x[:3, :1], x[:3, :3] + ops.eye(3), i), 4),
    "lu_unpack": (lambda x, i: ops.lu_unpack(x[:3, :3], i)[0], 4),
    "reverse_sequence": (lambda x, i: ops.reverse_sequence(x[:3], i, 1), 5),
    "searchsorted": (lambda x, i: ops.searchsorted(ops.sort(x[0, :3])[0], x[0], sorter=i), 3),
}


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("name", BELOW)
def test_what_stands_for_places_in_other_ways_is_refused_too(name, way):
    function, first_outside = BELOW[name]
    run = WAYS[way](function)
    run(X, Tensor(np.array([1, 2, 1], np.int32)))
    with pytest.raises(IndexRangeError, match=f" {first_outside} is outside"):
        run(X, Tensor(np.array([1, first_outside, 1], np.int32)))


@pytest.mark.parametrize("kind", [IndexError, ValueError, RuntimeError])
def test_a_program_that_catches_mindspores_class_catches_ours(kind):
    write = lambda x, i: P.TensorScatterUpdate()(x, i, ROWS)                                                  # noqa: E731
    for way in (write, ms.jit(write, fullgraph=True)):
        with pytest.raises(kind, match="index 7 is outside"):
            way(X, Tensor([[0], [7], [1]]))
