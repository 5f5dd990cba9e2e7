"""Sharded Tensors: parts in memory, eager operators that choose and box, gradients; the same numbers as one process."""
import copy
import sys

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import ArgumentError, DeviceError, RankError
from mindlite.common.ranks import engine
from mindlite.common.sbp import Broadcast, Partial, Split
from mindlite.communication import SimWorld, get_rank
from mindlite.functional.shard import reshard
from mindlite.parallel import Layout
from mindlite.pynative.sharded import from_local, shard_in_place

RNG = np.random.default_rng(7)
X, W = RNG.standard_normal((7, 4)).astype(np.float32), RNG.standard_normal((4, 6)).astype(np.float32)


def line(size=2):
    return Layout((size,), ("x",))


def test_each_rank_has_its_part_in_memory():
    def run():
        x = Tensor(X).to_global(line(3)("x"))
        part = x.to_local()
        assert x.shape == (7, 4) and x.sbp == (Split(0),) and x.nbytes == X.nbytes and x.size == 28
        assert Tensor(X).placement is None and Tensor(X).sbp is None and "(S0) on x 3" in repr(x) == str(x)
        np.testing.assert_array_equal(x.asnumpy(), X)
        np.testing.assert_array_equal(x.full_tensor().asnumpy(), X)
        assert x.full_tensor().placement is None
        return part.shape, part.nbytes
    assert SimWorld(3).run(run) == [((3, 4), 48), ((2, 4), 32), ((2, 4), 32)]


@pytest.mark.parametrize("words, have", [(("x", "None"), "(S0)"), (("None", "x"), "(S1)"), ((), "(B)")])
@pytest.mark.parametrize("again, want", [(("x", "None"), "(S0)"), (("None", "x"), "(S1)"), ((), "(B)")])
def test_resharding_keeps_the_value(words, have, again, want):
    def run():
        x = Tensor(X).to_global(line(3)(*words))
        y = reshard(x, line(3)(*again))
        assert str(x.placement) == have and str(y.placement) == want
        return y.asnumpy()
    for got in SimWorld(3).run(run):
        np.testing.assert_array_equal(got, X)


OPERATORS = {                                    # name: (function, how x and w lie, how the result lies, {collective: how many})
    "rows": (lambda x, w: x @ w, ("x", "None"), (), "(S0)", {}),
    "columns": (lambda x, w: x @ w, (), ("None", "x"), "(S1)", {}),
    "contracted": (lambda x, w: x @ w, ("None", "x"), ("x", "None"), "(P)", {}),
    "elementwise": (lambda x, w: ops.tanh(x) * 2 + 1, ("x", "None"), (), "(S0)", {}),
    "whole beside parts": (lambda x, w: x + Tensor(X), ("None", "x"), (), "(S1)", {}),
    "sum of all": (lambda x, w: x.sum(), ("x", "None"), (), "None", {"all_reduce": 1}),
    "sum over what is split": (lambda x, w: x.sum(0), ("x", "None"), (), "(P)", {}),
    "largest over what is split": (lambda x, w: ops.amax(x, 0), ("x", "None"), (), "(P(max))", {}),
    "along what is split": (lambda x, w: ops.sort(x, 0)[0], ("x", "None"), (), "(S1)", {"all_to_all": 1}),
    "several results": (lambda x, w: ops.split(x, 2, 1)[1], ("x", "None"), (), "(S0)", {}),
}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_choose_as_the_graph_does(name):
    function, x_words, w_words, want, sent = OPERATORS[name]
    alone = function(Tensor(X), Tensor(W)).asnumpy()

    def run():
        x, w = Tensor(X).to_global(line()(*x_words)), Tensor(W).to_global(line()(*w_words))
        value = function(x, w)
        assert str(value.placement) == want and tuple(value.shape) == alone.shape
        counted = {operator: calls for operator, (calls, _) in engine().sent.items()}
        return counted, value.asnumpy(), ms.jit(function, fullgraph=True)(x, w).asnumpy()
    for counted, got, graph in SimWorld(2).run(run):
        np.testing.assert_allclose(got, alone, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(graph, alone, rtol=1e-5, atol=1e-5)
        assert counted == sent


def test_relu_of_addends_waits_for_their_sum():
    def run():
        addend = Tensor(np.array([-1.0, 2.0] if get_rank() == 0 else [3.0, -4.0], np.float32))
        x = from_local(addend, line()("None"), partial={"x": "sum"})
        assert x.sbp == (Partial(),)
        return ops.relu(x).asnumpy().tolist()
    assert SimWorld(2).run(run) == [[2.0, 0.0]] * 2


def test_gradients_are_those_of_one_process():
    def function(x, w):
        return (ops.tanh(x @ w) * 2).pow(2).mean() + ops.relu(x).sum()
    alone = ms.value_and_grad(function, (0, 1))(Tensor(X), Tensor(W))

    def run():
        x, w = Tensor(X).to_global(line()("x")), Tensor(W).to_global(line()("None", "x"))
        derived, made = ms.value_and_grad(function, (0, 1)), []
        for f in (derived, ms.jit(derived, fullgraph=True), ms.value_and_grad(ms.jit(function), (0, 1))):
            value, (dx, dw) = f(x, w)
            assert dx.sbp == (Split(0),)
            made.append([value.asnumpy(), dx.asnumpy(), dw.asnumpy()])
        twice = ms.grad(lambda x: ms.grad(function)(x, w).pow(2).sum())(x)
        return made, twice.asnumpy()
    second = ms.grad(lambda x: ms.grad(function)(x, Tensor(W)).pow(2).sum())(Tensor(X)).asnumpy()
    for made, twice in SimWorld(2).run(run):
        for found in made:
            for got, want in zip(found, (alone[0], *alone[1])):
                np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(twice, second, rtol=1e-5, atol=1e-5)


def test_gradients_pass_from_one_placement_to_another():
    def run():
        def function(x):
            return (reshard(ops.tanh(x), line()("None", "x")).full_tensor() * Tensor(X)).sum()
        return [ms.grad(f)(Tensor(X)).asnumpy() for f in (function, ms.jit(function, fullgraph=True))]
    want = ms.grad(lambda x: (ops.tanh(x) * Tensor(X)).sum())(Tensor(X)).asnumpy()
    for found in SimWorld(2).run(run):
        for got in found:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_writing_to_a_sharded_parameter_changes_its_parts(graph):
    def run():
        p = shard_in_place(Parameter(Tensor(X), name="p"), line()("x"))

        def step(x):
            ops.assign(p, p * 2 + x)
            ops.assign_add(p, x)
            return p.sum()
        total = (ms.jit(step, fullgraph=True) if graph else step)(Tensor(W[:, :4].sum() + np.zeros_like(X)))
        assert p.to_local().shape == ((4, 4) if get_rank() == 0 else (3, 4)) and p.sbp == (Split(0),)
        p.set_data(Tensor(p.asnumpy() + 1))
        twin = copy.deepcopy(p)
        assert twin.sbp == p.sbp and twin.to_local().elements is not p.to_local().elements
        return float(total), twin.asnumpy()
    want = X * 2 + 2 * W[:, :4].sum()
    for total, got in SimWorld(2).run(run):
        np.testing.assert_allclose(got, want + 1, rtol=1e-5)
        np.testing.assert_allclose(total, want.sum(), rtol=1e-4)


def test_a_graph_is_compiled_anew_where_its_arguments_lie_otherwise():
    def run():
        f = ms.jit(lambda x: ops.tanh(x) * 2, fullgraph=True)
        results = [f(x) for x in (Tensor(X), Tensor(X).to_global(line()("x")), Tensor(X).to_global(line()("None", "x")))]
        assert [str(r.placement) for r in results] == ["None", "(S0)", "(S1)"] and len(f.variants) == 3
        return [r.asnumpy() for r in results]
    for found in SimWorld(2).run(run):
        for got in found:
            np.testing.assert_allclose(got, np.tanh(X) * 2, rtol=1e-5, atol=1e-6)


def test_local_batches_become_a_global_one():
    def run():
        rows = slice(0, 4) if get_rank() == 0 else slice(4, 7)
        x = from_local(Tensor(X[rows]), line()("x"))
        with pytest.raises(ArgumentError, match="gives it"):
            from_local(Tensor(X[:2]), line()("x"), shape=(7, 4))
        assert x.shape == (7, 4)
        return x.asnumpy()
    for got in SimWorld(2).run(run):
        np.testing.assert_array_equal(got, X)


def test_a_network_on_a_mesh_of_two_axes_is_that_of_one_process():
    net = nn.SequentialCell(nn.Dense(4, 6), nn.LayerNorm((6,)), nn.GELU(), nn.Dense(6, 3))
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(p.shape).astype(np.float32) for p in net.trainable_params()]

    def losses():
        mine = copy.deepcopy(net)
        for p, value in zip(mine.trainable_params(), values):
            p.set_data(Tensor(value))
        x, y = Tensor(X), Tensor(X[:, :3])
        if engine().size > 1:
            mesh = Layout((2, 2), ("dp", "mp"))
            x, y = x.to_global(mesh("dp")), y.to_global(mesh("dp"))
            for p, words in zip(mine.trainable_params(), [("mp",), ("mp",), ("mp",), ("mp",), ("None", "mp"), ()]):
                shard_in_place(p, mesh(*words))
        step = ms.value_and_grad(lambda x, y: nn.MSELoss()(mine(x), y), None, mine.trainable_params())
        value, grads = step(x, y)
        return [value.asnumpy(), *[g.asnumpy() for g in grads]]
    alone = losses()
    for found in SimWorld(4).run(losses):
        for got, want in zip(found, alone, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_what_cannot_be_sharded_is_refused():
    def run():
        mesh, other = line(), Layout((2,), ("z",))
        x = Tensor(X).to_global(mesh("x"))
        for error, wrong in ((ArgumentError, lambda: Tensor(X).to_global("x")), (ArgumentError, lambda: x.to_global(other("z"))),
                             (ArgumentError, lambda: Tensor(X[:1]).to_global(mesh("x"))),
                             (ArgumentError, lambda: x + Tensor(X).to_global(other("z"))),
                             (DeviceError, lambda: x.array), (ArgumentError, lambda: from_local(X, mesh))):
            with pytest.raises(error):
                wrong()
        assert x.to_global(mesh()).sbp == (Broadcast(),)
        return True
    assert SimWorld(2).run(run) == [True] * 2


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_ranks_draw_what_one_process_draws(graph):
    def draw():
        ms.set_seed(11)
        net = nn.Dropout(p=0.5)
        x = Tensor(np.ones((7, 4), np.float32))
        if engine().size > 1:
            x = x.to_global(line()("x"))
        f = ms.jit(lambda x: net(x) + net(x), fullgraph=True) if graph else lambda x: net(x) + net(x)
        net.set_train()
        f(x)
        return f(x).asnumpy()
    alone = draw()
    for got in SimWorld(2).run(draw):
        np.testing.assert_array_equal(got, alone)


def test_a_call_that_was_made_before_is_told_from_others_that_look_alike():
    """Plans of calls are kept by classes, numbers, dtypes and placements: what differs in one of them is another call."""
    def work():
        rows, columns = [Tensor(X).to_global(line()(*words)) for words in (("x", "None"), ("None", "x"))]
        zeros, across = Tensor(np.zeros_like(X)).to_global(rows.placement), Tensor(X.T.copy()).to_global(line()())
        for _ in range(3):
            near(rows + rows, X + X)
            near(rows + zeros, X)
            near(zeros + rows, X)
            near(columns + rows, X + X)
            near(rows + Tensor(X), X + X)
            near(rows @ across, X @ X.T)
            near(columns @ across, X @ X.T)
            near(zeros @ across, np.zeros((len(X), len(X))))
            near(rows @ Tensor(X.T.copy()), X @ X.T)
            near(rows @ across[:, 0], X @ X[0])
            near(ms.grad(lambda x: (x @ across).sum())(rows), np.broadcast_to(X.sum(0), X.shape))
            assert (rows * 2).dtype is (rows * 2.0).dtype is ms.float32 and (rows * True).shape == X.shape
            assert np.signbit((zeros * 0.0).asnumpy()).sum() == 0 and np.signbit((zeros * -0.0).asnumpy()).all()
            near(ops.sum(rows, 0), X.sum(0))
            near(ops.sum(rows, 1), X.sum(1))
            near(ops.sum(rows, (0, 1)), X.sum())
            value, grads = ms.value_and_grad(lambda x, y: (x * y + x * x).sum(), (0, 1))(rows, columns)
            near(value, (2 * X * X).sum())
            near(grads[0], 3 * X)
            near(grads[1], X)
    SimWorld(2).run(work)


def near(got, want):
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("call", [lambda x, w: x + x, lambda x, w: x @ w, lambda x, w: ops.sum(x, 1)], ids=["+", "@", "sum"])
def test_a_call_that_was_made_before_takes_few_steps_of_python(call):
    def work():
        x, w = Tensor(X).to_global(line()("x")), Tensor(X.T.copy()).to_global(line()())
        for _ in range(4):
            call(x, w)
        steps = 0

        def count(frame, event, argument):
            nonlocal steps
            steps += event == "call"
        sys.setprofile(count)
        try:
            call(x, w)
        finally:
            sys.setprofile(None)
        return steps
    assert max(SimWorld(2).run(work)) <= 34                 # once it was 180


@pytest.mark.parametrize("part", [lambda r: np.ones((2, 3 + r), np.float32),
                                  lambda r: np.ones((2, 3), (np.float32, np.int32)[r])], ids=["columns", "dtype"])
def test_parts_that_are_not_of_one_tensor_are_told_of(part):
    with pytest.raises(RankError, match=r"rank 0: .* the sizes of parts f32\[its rows, 3\]; rank 1: .* the sizes of parts"):
        SimWorld(2).run(lambda: from_local(Tensor(part(get_rank())), line()("x")))
