"""Sums over the paths through a lattice: NumPy's numbers in both modes, and the loss of a sequence whose graph does not grow with
its length."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common import dtype as dt
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed
from mindlite.mindir.primitive import eval_rule
from mindlite.ops.lattice import lattice_recurrence, path_sums

SHAPES = [(1, 1, 1), (4, 2, 1), (5, 3, 2), (6, 2, 3), (9, 4, 37), (0, 2, 3), (3, 0, 3), (3, 2, 0), (2, 1, 130)]
MODES = {"eager": lambda f: f, "graph": lambda f: ms.jit(f, fullgraph=True),
         "open": lambda f: ms.jit(f, fullgraph=True, dynamic=1)}


def numbers(seed, dtype, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recurrences_have_the_bits_of_numpy_and_sums_of_paths_its_numbers(dtype, mode):
    runs = {reverse: MODES[mode](lambda a, b, c, d, reverse=reverse: lattice_recurrence(a, b, c, d, reverse=reverse))
            for reverse in (False, True)}
    sums = MODES[mode](lambda x, b: path_sums(x, b, nothing=-1e30))
    for shape in SHAPES:
        operands = [numbers(k, dtype, *shape) for k in range(4)]
        for reverse, run in runs.items():
            wanted = eval_rule[lattice_recurrence](*operands, reverse=reverse)
            np.testing.assert_array_equal(run(*map(Tensor, operands)).asnumpy(), wanted)
        scores, barrier = operands[0], np.where(numbers(5, dtype, *shape[1:]) > 0, 0, -1e30).astype(dtype)
        scores[operands[1] > 1] = -1e30                      # there is no path
        if scores.size > 30:
            scores[1, 0, 0] = np.nan
        wanted = eval_rule[path_sums](scores, barrier, nothing=-1e30)
        np.testing.assert_allclose(sums(Tensor(scores), Tensor(barrier)).asnumpy(), wanted, rtol=4e-6, atol=4e-6)


def loss_of(times, batch, length, classes, seed=0):
    """Arguments of ctc_loss: log_probs, labels, lengths of both."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(times, batch, classes))
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    lengths = rng.integers(0, length + 1, batch)
    ends = np.minimum(times, 2 * lengths + 1 + rng.integers(0, 9, batch))
    return logs, rng.integers(1, classes, (batch, length)), ends, lengths


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_the_gradient_of_the_loss_is_that_of_differences(mode):
    logs, labels, times, lengths = loss_of(11, 3, 4, 5)
    args = Tensor(labels), Tensor(times), Tensor(lengths)

    def loss(x):
        return ops.ctc_loss(x, *args, 0, "sum")[0]
    slope = MODES[mode](ms.grad(loss))(Tensor(logs)).asnumpy()
    for at in list(np.ndindex(logs.shape))[::7]:
        moved = [logs.copy(), logs.copy()]
        moved[0][at] += 1e-6
        moved[1][at] -= 1e-6
        wanted = (loss(Tensor(moved[0])).item() - loss(Tensor(moved[1])).item()) / 2e-6
        assert slope[at] == pytest.approx(wanted, abs=1e-6)


def test_the_gradient_of_a_target_that_does_not_fit_is_zero_and_finite():
    logs, labels, _, _ = loss_of(3, 2, 4, 5)
    args = Tensor(labels), Tensor(np.array([3, 3])), Tensor(np.array([4, 1]))
    for run in (MODES["eager"], MODES["graph"]):
        slope = run(ms.grad(lambda x: ops.ctc_loss(x, *args, 0, "sum", zero_infinity=True)[0]))(Tensor(logs)).asnumpy()
        assert np.isfinite(slope).all() and not slope[:, 0].any() and slope[:, 1].any()


def test_the_graph_of_the_loss_and_of_its_gradient_does_not_grow_with_the_steps():
    def nodes(times):
        types = [AbstractTensor(dt.float32, (times, 2, 7)), AbstractTensor(dt.int64, (2, 5)), AbstractTensor(dt.int64, (2,)),
                 AbstractTensor(dt.int64, (2,))]
        return len(typed(lambda x, labels, ends, lengths: ops.ctc_loss(x, labels, ends, lengths), *types).nodes)
    assert nodes(400) == nodes(12)


def test_one_compiled_loss_serves_all_numbers_of_steps():
    run = ms.jit(lambda x, labels, ends, lengths: ops.ctc_loss(x, labels, ends, lengths, 0, "none")[0], fullgraph=True, dynamic=1)
    for times, batch, length in ((7, 2, 3), (12, 3, 4), (30, 2, 6), (9, 1, 3)):
        operands = [Tensor(x) for x in loss_of(times, batch, length, 6)]
        wanted = ops.ctc_loss(*operands, 0, "none")[0].asnumpy()
        np.testing.assert_allclose(run(*operands).asnumpy(), wanted, rtol=1e-6)
    assert len(run.variants) == 1


def test_many_lattices_at_once_are_those_of_a_loop():
    many = ms.vmap(lambda x, t: path_sums(x, t, nothing=-1e30), (2, 1), 0)
    scores, barrier = numbers(1, "float64", 6, 2, 3, 5), numbers(2, "float64", 2, 3, 5)
    found = many(Tensor(scores), Tensor(barrier)).asnumpy()
    for k in range(3):
        np.testing.assert_allclose(found[k], eval_rule[path_sums](scores[:, :, k], barrier[:, k], nothing=-1e30), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_a_loss_without_labels_is_that_of_blanks_alone_and_one_of_no_rows_is_empty(mode):
    call = MODES[mode](lambda *operands: ops.ctc_loss(*operands, 0, "none")[0])

    def of(rows, labels):
        logs = ops.log_softmax(Tensor(np.random.default_rng(rows).standard_normal((4, rows, 3)).astype(np.float32)), -1)
        sizes = [Tensor(np.full(rows, size, np.int32)) for size in (4, labels)]
        return logs.asnumpy(), call(logs, Tensor(np.ones((rows, labels), np.int32)), *sizes).asnumpy()
    logs, found = of(2, 0)
    np.testing.assert_allclose(found, -logs[:, :, 0].sum(0), rtol=1e-5)
    assert of(0, 2)[1].shape == (0,)
