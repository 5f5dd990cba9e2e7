"""Sizes that are open under sharding: one compiled program of a rank serves all of them, those with empty parts too."""
import os

import launch
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops, parallel
from mindlite.common.dim import evaluate, symbols_of
from mindlite.common.errors import ShapeError
from mindlite.common.ranks import engine, even_sizes
from mindlite.common.sbp import Split
from mindlite.communication import SimWorld
from mindlite.parallel import Layout
from mindlite.parallel.machine import Machine

WIDTH, WORDS, COUNT = 8, 11, 20


def drawn(seed, count=COUNT, most=9):
    """(batch, length) of each call: the first are two sizes, then those with few rows or none, then random ones."""
    rng = np.random.default_rng(seed)
    return [(5, 4), (7, 3), (1, 4), (2, 1), (0, 6)] + [(int(rng.integers(0, most)), int(rng.integers(1, most)))
                                                     for _ in range(count - 5)]


class Encoder(nn.Cell):
    """Embedding, attention, two layers, and logits for each word: what makes axes one and divides them again."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(3)

        def weight(*shape):
            return Parameter(rng.standard_normal(shape).astype(np.float32) * 0.3)
        self.table, self.qkv, self.out = weight(WORDS, WIDTH), weight(WIDTH, 3 * WIDTH), weight(WIDTH, WIDTH)
        self.up, self.down, self.norm = weight(WIDTH, 2 * WIDTH), weight(2 * WIDTH, WIDTH), nn.LayerNorm((WIDTH,))

    def construct(self, words):
        x = ops.gather(self.table, words, 0)
        batch, length = words.shape
        query, key, value = [part.reshape(batch, length, 2, WIDTH // 2).swapaxes(1, 2)
                             for part in ops.split(self.norm(x) @ self.qkv, WIDTH, -1)]
        mixed = ops.softmax(query @ key.swapaxes(-1, -2) * 0.5, -1) @ value
        x = x + mixed.swapaxes(1, 2).reshape(batch, length, WIDTH) @ self.out
        x = x + ops.gelu(x @ self.up) @ self.down
        logits = x @ self.table.T
        return ops.cross_entropy(logits.reshape(-1, WORDS), words.reshape(-1), reduction="sum") / 100


def words_of(batch, length):
    return np.random.default_rng(100 * batch + length).integers(0, WORDS, (batch, length)).astype(np.int32)


def train_step(net):
    """A jitted function of words: the loss and the gradients of all weights."""
    return ms.jit(ms.value_and_grad(net, None, list(net.trainable_params())), fullgraph=True, dynamic=1)


def results(step, words):
    loss, grads = step(Tensor(words))
    return [loss.asnumpy(), *[grad.asnumpy() for grad in grads]]


def counted(step, call):
    """(what call() gives, {operator: [calls, bytes]} that the rank has sent in it)"""
    before = {name: list(entry) for name, entry in engine().sent.items()}
    value = call()
    sent = {name: [a - b for a, b in zip(entry, before.get(name, (0, 0)))] for name, entry in engine().sent.items()}
    return value, {name: entry for name, entry in sent.items() if entry[0]}


def planned(step, *args):
    """{operator: [calls, bytes]} that the plan says for a call with these arguments: its functions, at their sizes."""
    variant = step.compiled.latest()
    sizes = dict(zip(variant.plan.symbols, variant.plan.sizes(args)))
    return {name: [calls, evaluate(nbytes, sizes)] for name, (calls, nbytes) in variant.compiled.plan.sent.items()}


def alone(seed):
    """What one process computes."""
    step = train_step(Encoder())
    return [results(step, words_of(*call)) for call in drawn(seed)]


def run_encoder(ranks, seed, words):
    """On a rank: an Encoder whose batch is placed as `words` says; ([(results, bytes sent, bytes planned)], why each variant was
    made, the Plan)"""
    engine().pace = 1e-8, 1e-8                               # computing is dear, so that small programs are split
    net = Encoder()
    sharded = ms.shard(net, (Layout((ranks,), ("x",))(*words),))
    step = ms.jit(ms.value_and_grad(sharded, None, list(net.trainable_params())), fullgraph=True, dynamic=1)
    found = []
    for call in drawn(seed):
        given = words_of(*call)
        found.append((*counted(step, lambda: results(step, given)), planned(step, Tensor(given))))
    return found, [variant.reason.text for variant in step.compiled.variants], step.compiled.latest().compiled.plan


def check_encoder(ranks, seed, words):
    """One variant on each rank, and what one process computes; the plans."""
    plans, wanted = [], alone(seed)
    for found, reasons, plan in SimWorld(ranks).run(run_encoder, ranks, seed, words):
        assert len(reasons) == 1, reasons
        for call, (got, sent, said), want in zip(drawn(seed), found, wanted, strict=True):
            assert sent == said, call
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-6, err_msg=str(call))
        plans.append(plan)
    return plans


def test_twenty_batches_and_lengths_have_one_program():
    for plan in check_encoder(2, 0, ("x", "None")):
        mine, of_all = plan.points
        assert mine < 0.55 * of_all, plan.report()
        assert sum(count for count, _ in plan.sent.values()) <= 8, "rows stay where they are, also where axes are joined"
        assert "*s" in plan.html() and "*s" in plan.report()         # bytes are functions of sizes


def test_an_uneven_batch_of_known_size_stays_in_rows_where_axes_are_joined():
    """[7, 5, 8] -> [35, 8]: four rows of five on the first rank, three on the second."""
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((7, 5, 8)).astype(np.float32), rng.standard_normal((8, 6)).astype(np.float32)

    def joined(x, w):
        return ops.tanh((x.reshape(35, 8) @ w).reshape(7, 5, 6)).sum((0, 2))

    def run():
        engine().pace = 1e-6, 1e-6
        step = ms.jit(ms.shard(joined, (Layout((2,), ("x",))("x", "None", "None"), None)), fullgraph=True)
        value, sent = counted(step, lambda: step(Tensor(x), Tensor(w)).asnumpy())
        return value, sent, step.compiled.latest().compiled.plan
    for value, sent, plan in SimWorld(2).run(run):
        np.testing.assert_allclose(value, joined(Tensor(x), Tensor(w)).asnumpy(), rtol=1e-4, atol=1e-5)
        assert sent == plan.sent == {"all_reduce": [1, 20]} and not plan.whole, plan.report()
    assert Split(0, 5) == Split(0, unit=5) != Split(0) and even_sizes(35, 2, 5) == (20, 15)


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "words"), [(3, ("x", "None")), (4, ("x", "None")), (3, ("None", "x"))], ids=str)
def test_so_have_they_on_more_ranks_and_along_the_length(ranks, words):
    check_encoder(ranks, 1, words)


def layers(x, v, w):
    return ops.tanh(ops.relu(x @ v) @ w).sum()


def arrays(rows, middle=6):
    rng = np.random.default_rng(rows)
    return [rng.standard_normal(shape).astype(np.float32) for shape in [(rows, 5), (5, middle), (middle, 4)]]


MESHES = {"rows": ((3,), [("x", "None"), None, None]), "columns, rows": ((3,), [None, ("None", "x"), ("x", "None")]),
          "rows by two axes": ((2, 2), [(("x", "y"), "None"), None, None]),
          "rows and columns": ((2, 2), [("x", "None"), ("None", "y"), ("y", "None")])}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "rows and columns"))
                                  for name in sorted(MESHES)])
def test_uneven_small_and_empty_parts(name):
    """All sizes are open, those of the weights too; some ranks have no row, or no column."""
    shape, words = MESHES[name]
    calls = [(7, 6), (1, 5), (0, 6), (4, 1), (2, 9), (12, 8)]
    wanted = [ms.value_and_grad(layers, (0, 1, 2))(*map(Tensor, arrays(*call))) for call in calls]

    def run():
        engine().pace = 1e-8, 1e-8
        mesh = Layout(shape, ("x", "y")[:len(shape)])
        sharded = ms.shard(layers, tuple([None if of is None else mesh(*of) for of in words]))
        step = ms.jit(ms.value_and_grad(sharded, (0, 1, 2)), fullgraph=True, dynamic=1)
        found = []
        for call in calls:
            given = list(map(Tensor, arrays(*call)))
            (loss, grads), sent = counted(step, lambda: step(*given))
            found.append(([loss.asnumpy(), *[grad.asnumpy() for grad in grads]], sent, planned(step, *given)))
        return found, len(step.compiled.variants)
    for found, variants in SimWorld(int(np.prod(shape))).run(run):
        assert variants == 1
        for (got, sent, said), (loss, grads) in zip(found, wanted, strict=True):
            assert sent == said
            for a, b in zip(got, (loss, *grads), strict=True):
                np.testing.assert_allclose(a, b.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("declared", [False, True])
def test_sharded_tensors_of_any_size_share_a_program(declared):
    """Their parts are of a size that follows from that of the whole; so are those of a result that lies in parts."""
    rows = (9, 4, 12, 2, 17, 3)

    def function(x, w):
        y = ops.tanh((x @ w).reshape(-1, 2)).reshape(x.shape[0], 4)
        return y.sum(), y * 2

    def run():
        engine().pace = 1e-6, 1e-6
        signature = (Tensor(shape=[None, 5], dtype=ms.float32), None) if declared else None
        step = ms.jit(function, fullgraph=True, input_signature=signature)
        layout, found = Layout((2,), ("x",))("x", "None"), []
        for n in rows:
            x, w, _ = map(Tensor, arrays(n, 4))
            x = x.to_global(layout)
            (total, y), sent = counted(step, lambda: step(x, w))
            found.append((float(total), y.shape, y.to_local().shape, str(y.placement), sent, planned(step, x, w), y.asnumpy()))
        return found, len(step.compiled.variants)
    for rank, (found, variants) in enumerate(SimWorld(2).run(run)):
        assert variants == (1 if declared else 2)
        for n, (total, shape, part, placement, sent, said, y) in zip(rows, found, strict=True):
            want, whole = function(*map(Tensor, arrays(n, 4)[:2]))
            np.testing.assert_allclose(total, float(want), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(y, whole.asnumpy(), rtol=1e-4, atol=1e-5)
            assert (shape, part, placement) == ((n, 4), ((n + 1 - rank) // 2, 4), "(S0)")
            assert sent == said == {"all_reduce": [1, 4]}


def test_a_plan_of_any_size_gives_bytes_as_functions_of_it():
    """Before anything runs. The rows of x are in parts, and gathered for singular values."""
    def run():
        layout = Layout((2,), ("dp",))
        sharded = ms.shard(lambda x: ops.svd(ops.tanh(x), compute_uv=False), (layout("dp", "None"),))
        rows = Tensor(shape=[None, 64], dtype=ms.float32)
        found = parallel.plan(sharded, layout, rows, machine=Machine(message=0.0, point=1e-6))
        (symbol,), = [symbols_of(nbytes) for _, nbytes in found.sent.values()]
        return [{name: evaluate(nbytes, {symbol: rows}) for name, (_, nbytes) in found.sent.items()} for rows in (8, 81)]
    assert SimWorld(2).run(run) == [[{"all_gather": 8 * 64 * 4 // 2}, {"all_gather": 81 * 64 * 4 // 2}]] * 2


def test_results_of_a_size_that_data_decides_are_whole():
    def run():
        engine().pace = 1e-6, 1e-6
        x = Tensor(np.arange(10, dtype=np.float32) % 3).to_global(Layout((2,), ("x",))("x"))
        found = ms.jit(lambda x: ops.nonzero(x).astype(ms.float32) * 2, fullgraph=True, dynamic=1)(x)
        return found.placement, found.asnumpy()
    for placement, found in SimWorld(2).run(run):
        assert placement is None
        np.testing.assert_array_equal(found, 2.0 * np.argwhere(np.arange(10) % 3))


def test_eager_calls_of_a_sharded_function_share_a_program():
    """From the second size on; the first call's was known."""
    def run():
        sharded = ms.shard(layers, (Layout((2,), ("x",))("x", "None"), None, None))
        values = [[value.asnumpy() for value in (loss, *grads)] for loss, grads in (
            ms.value_and_grad(sharded, (0, 1))(*map(Tensor, arrays(rows))) for rows in (6, 3, 8, 1, 5))]
        return values, len(sharded.compiled.variants)
    for values, variants in SimWorld(2).run(run):
        assert variants == 2
        for rows, got in zip((6, 3, 8, 1, 5), values):
            loss, grads = ms.value_and_grad(layers, (0, 1))(*map(Tensor, arrays(rows)))
            for a, b in zip(got, (loss, *grads), strict=True):
                np.testing.assert_allclose(a, b.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype, sizes", [(np.float32, (6, 4, 1, 3)), (np.int32, (5, 1)), (np.uint8, (1, 4)), (np.bool_, (1, 3))])
@pytest.mark.parametrize("extremum", [ops.amax, ops.amin])
def test_a_maximum_is_split_along_rows_of_which_a_rank_may_have_none(extremum, dtype, sizes):
    """One row on two ranks: one of them has none, and gives the number that is never the result. No row is refused, as ever."""
    def run():
        engine().pace = 1e-6, 1e-6
        mesh = Layout((2,), ("x",))
        sharded = ms.shard(lambda x: (extremum(x, 0), extremum(x, (0, 1))), (mesh("x", "None"),))
        rows = Tensor(shape=[None, 4], dtype=Tensor(values(1)).dtype)
        step = ms.jit(sharded, fullgraph=True, input_signature=(rows,))
        found = [[value.asnumpy().tolist() for value in step(Tensor(values(rows)))] for rows in sizes]
        with pytest.raises(ShapeError, match="an empty axis has no extremum"):
            step(Tensor(values(0)))
        return found, len(step.compiled.variants), step.compiled.latest().compiled.plan

    def values(rows):
        drawn = np.random.default_rng(rows).integers(0, 2 if dtype is np.bool_ else 200, (rows, 4)).astype(dtype)
        return drawn if dtype in (np.uint8, np.bool_) else drawn - dtype(300 if extremum is ops.amax else -300)
    fold = np.max if extremum is ops.amax else np.min
    for found, variants, plan in SimWorld(2).run(run):
        assert found == [[fold(values(rows), 0).tolist(), fold(values(rows)).tolist()] for rows in sizes]
        assert variants == 1 and set(plan.sent) == {"all_reduce"}, plan.report()


def test_gradients_of_a_maximum_over_open_rows():
    def run():
        engine().pace = 1e-6, 1e-6
        sharded = ms.shard(lambda x: (ops.amax(x * 2, 0) ** 2).sum(), (Layout((2,), ("x",))("x", "None"),))
        step = ms.jit(ms.grad(sharded), fullgraph=True, input_signature=(Tensor(shape=[None, 3], dtype=ms.float32),))
        return [step(Tensor(arrays(rows)[0][:, :3])).asnumpy() for rows in (1, 5, 2)]
    for found in SimWorld(2).run(run):
        for rows, got in zip((1, 5, 2), found):
            wanted = ms.grad(lambda x: (ops.amax(x * 2, 0) ** 2).sum())(Tensor(arrays(rows)[0][:, :3]))
            np.testing.assert_allclose(got, wanted.asnumpy(), rtol=1e-5)


def test_a_size_that_cannot_be_parted_is_refused_at_the_users_line_before_anything_is_sent():
    """Collectives that are written by hand: all ranks know the size, so none of them sends, nor runs a kernel."""
    def run():
        def halves(x):
            total = ops.collectives.all_reduce(x * 2)
            return ops.collectives.reduce_scatter(total)             # the line that is shown
        step = ms.jit(halves, fullgraph=True, dynamic=1)
        found = [step(Tensor(np.arange(rows, dtype=np.float32))).shape for rows in (4, 6, 2)]
        before, text = {name: list(entry) for name, entry in engine().sent.items()}, ""
        try:
            step(Tensor(np.arange(5, dtype=np.float32)))
        except ShapeError as error:
            text = str(error)
        return found, len(step.compiled.variants), text, engine().sent == before
    for shapes, variants, text, nothing_sent in SimWorld(2).run(run):
        assert shapes == [(2,), (3,), (1,)] and variants == 1 and nothing_sent
        assert "an axis of 5 cannot be parted evenly between 2 ranks" in text and "the line that is shown" in text


PROGRAM = r"""
import sys
sys.path[:0] = {folders!r}
import test_open_sizes as here
from mindlite.common.ranks import engine, even_sizes
from mindlite.common.sbp import Split
from mindlite.communication import get_rank, init

if __name__ == "__main__":
    init()
    engine().link = None
    found, reasons, _ = here.run_encoder(2, 2, ("x", "None"))
    wanted = here.alone(2)
    for (got, sent, said), want in zip(found, wanted, strict=True):
        assert sent == said and sum(n for n, _ in sent.values())
        for a, b in zip(got, want, strict=True):
            here.np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-6)
    sys.stdout.write(f"rank {{get_rank()}}: {{len(found)}} calls, {{len(reasons)}} programs\n")
"""


def test_two_processes_have_one_program_for_twenty_sizes(tmp_path):
    launch.needs_mpi()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folders=[os.path.dirname(module) for module in (__file__, launch.__file__)]))
    status, out, err = launch.mpirun(2, program)
    assert status == 0, err
    assert sorted(line for line in out.splitlines() if line.startswith("rank ")) == [
        f"rank {rank}: {COUNT} calls, 1 programs" for rank in (0, 1)]
