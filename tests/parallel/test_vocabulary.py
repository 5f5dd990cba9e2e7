"""Classes and words in parts: softmax, cross entropy and embeddings of which no rank has a whole row or table."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import MindliteError
from mindlite.common.ranks import engine
from mindlite.communication import SimWorld, get_group_size
from mindlite.parallel import Layout, plan

RNG = np.random.default_rng(4)
DEAR = 1e-9, 1e-6                                # seconds of a message, of a byte: tables stay in parts, small as they are
ROWS, WIDTH, CLASSES = 6, 8, 1003                # which no number of ranks divides
X, W = RNG.standard_normal((ROWS, WIDTH)).astype(np.float32), RNG.standard_normal((WIDTH, CLASSES)).astype(np.float32)
LABELS = np.array([0, 1002, 501, 502, -100, 334], np.int32)      # at the seams of parts; one that counts nothing
TABLE, WORDS = RNG.standard_normal((CLASSES, WIDTH)).astype(np.float32), np.array([[0, 501, 1002], [502, 502, -1]], np.int32)


def line():
    return Layout((get_group_size(),), ("mp",))


def cross_entropy(x, w):
    return ops.cross_entropy(x @ w, Tensor(LABELS))


def words_of(table, weight):
    return (ops.gather(table, Tensor(WORDS), 0) ** 2 * weight).sum()


def element_of(table, weight):
    return (ops.gather_elements(table, 0, Tensor(np.abs(WORDS).repeat(4, 1)[:, :WIDTH])) * weight).sum()


PROGRAMS = {"cross entropy": (cross_entropy, X, W, 1, ("None", "mp")), "words": (words_of, TABLE, X[0], 0, ("mp", "None")),
            "elements": (element_of, TABLE, X[0], 0, ("mp", "None"))}


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_values_and_gradients_are_those_of_one_process(name, size, graph):
    function, first, second, large, words = PROGRAMS[name]
    wanted = ms.value_and_grad(function, (0, 1))(Tensor(first), Tensor(second))

    def run():
        engine().link = DEAR
        operands = [Tensor(first), Tensor(second)]
        operands[large] = operands[large].to_global(line()(*words))
        step = ms.value_and_grad(function, (0, 1))
        value, grads = (ms.jit(step, fullgraph=True) if graph else step)(*operands)
        return value.asnumpy(), grads[0].asnumpy(), grads[1].asnumpy(), grads[large].placement
    for value, dx, dw, placement in SimWorld(size).run(run):
        for got, want in zip((value, dx, dw), (wanted[0], *wanted[1])):
            np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-5, atol=1e-5)
        assert not graph or str(placement) in ("(S0)", "(S1)")          # in parts, as the table


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_no_rank_sees_a_table_or_a_row_of_all_classes(name):
    """What travels are rows of the hidden size, a maximum and a sum for each; the maximum is of addends that max folds."""
    function, first, second, large, words = PROGRAMS[name]

    def run():
        engine().link = DEAR
        operands = [Tensor(first), Tensor(second)]
        operands[large] = operands[large].to_global(line()(*words))
        step = ms.jit(ms.value_and_grad(function, (0, 1)), fullgraph=True)
        step(*operands)
        found = step.compiled.latest().compiled.plan
        return [(step_.nbytes, str(before)) for _, _, before, _, path in found.boxings for step_ in path if step_.operator]
    for boxings in SimWorld(2).run(run):
        assert boxings and max(nbytes for nbytes, _ in boxings) <= 8 * WIDTH * 4
        assert name != "cross entropy" or "(P(max))" in [before for _, before in boxings]


def test_the_search_finds_both_by_itself():
    """A small network between a large table and many classes: both lie in parts, and are never gathered."""
    class Model(nn.Cell):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(60_000, 32), nn.Dense(32, 60_000, has_bias=False)

        def construct(self, x):
            return self.head(self.table(x))

    def run():
        net = Model()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params(), 0.1))
        ids = Tensor(np.arange(8, dtype=np.int32))
        found = plan(step, line(), ids, ids, parameters="free")
        return {p.name: str(placement) for p, placement in found.parameters.items()}, sum(n for _, n in found.sent.values())
    for placements, sent in SimWorld(2).run(run):
        assert placements["head.weight"] == "(S0)" and placements["table.embedding_table"] in ("(S0)", "(S1)")
        assert sent < 10_000                                 # bytes; a table has 7,680,000


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_a_word_that_no_rank_has_is_an_error_on_all(graph):
    def run():
        table = Tensor(TABLE).to_global(line()("mp", "None"))

        def read(table, words):
            return ops.gather(table, words, 0)
        with pytest.raises(MindliteError, match="1003"):
            (ms.jit(read, fullgraph=True) if graph else read)(table, Tensor(np.array([3, CLASSES], np.int32))).asnumpy()
        return True
    assert all(SimWorld(2).run(run))
