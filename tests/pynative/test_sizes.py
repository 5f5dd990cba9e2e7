"""Sizes that differ between visits: one derivative and one compile for all lengths, with the gradients of a walk."""
import collections
import sys
import pathlib

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common import dtype as dt
from mindlite.common.config import config
from mindlite.common.dim import Dim, Symbol, evaluate
from mindlite.common.errors import IndexRangeError, InternalError
from mindlite.common.events import counting
from mindlite.compile import known_call
from mindlite.compile.plain_call import run_graph
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import constant, typed
from mindlite.mindir.control import make_tuple
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.inline import with_sizes
from mindlite.mindir.primitive import find_primitive, infer_rule
from mindlite.ops.slicing import slice_
from mindlite.pynative import Recorded, backward, beside, functions, kernels, operation, products, walks
from mindlite.pynative.kernels import single_node
from mindlite.pynative.sizes import MOST_VISITS, Fit, Visits, common, symbols_in

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ops"))
from samples import SAMPLES  # noqa: E402
sys.path.pop(0)


@pytest.fixture
def at_once(monkeypatch):
    """What is compiled is there at once, and nothing was seen before (sizes here are in no other test: plans are kept)."""
    before = config.compile_beside
    config.set(compile_beside=False)
    monkeypatch.setattr(backward, "_structures", backward.Structures())
    monkeypatch.setattr(operation, "_families", operation.Recent())
    yield
    config.set(compile_beside=before)


def tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).uniform(0.2, 1.5, shape).astype(np.float32))


def walked(function, *args):
    """function(*args), no tape of which is walked as a compiled Flow."""
    before = backward.Kind.pays
    structures, backward._structures = backward._structures, backward.Structures()
    backward.Kind.pays = lambda self, live: False
    try:
        return function(*args)
    finally:
        backward.Kind.pays = before
        backward._structures = structures


# ---------------------------------------------------------------- patterns

def test_equal_sizes_multiples_products_and_distances_are_found():
    pattern = common([(4, 5, 256, 20, 6, 25, 5), (4, 9, 256, 36, 10, 81, 9), (4, 7, 256, 28, 8, 49, 7)])
    n = pattern[1]
    assert isinstance(n, Dim) and pattern == (4, n, 256, n * 4, n + 1, n * n, n) and len(symbols_in(pattern)) == 1
    env = Fit(pattern)((4, 11, 256, 44, 12, 121, 11))
    assert [evaluate(size, env) for size in pattern] == [4, 11, 256, 44, 12, 121, 11]


def test_sizes_that_only_seemed_to_be_in_a_relation_do_not_fit():
    pattern = common([(5, 10), (9, 18)])
    assert len(symbols_in(pattern)) == 1
    assert Fit(pattern)((7, 13)) is None
    assert len(symbols_in(common([(5, 10), (9, 18), (7, 13)]))) == 2


def test_visits_are_bounded_and_the_nearest_one_leaves_the_fewest_sizes_open():
    visits = Visits()
    for n in range(2, 100):
        visits.enter((n, 3 * n))
    assert len(visits.seen) == MOST_VISITS
    mixed = Visits()
    for sizes in ((4, 9, 36), (9, 4, 36), (4, 5, 20)):
        mixed.enter(sizes)
    pattern = mixed.nearest((4, 7, 28))
    assert pattern[0] == 4 and len(symbols_in(pattern)) == 1
    assert Visits().nearest((3,)) is None


# ---------------------------------------------------------------- derivatives

def opened(operation_, wrt):
    """(the Derivative of an Operation with a Symbol for each number among its sizes, {Symbol: number}), None for none."""
    taking, symbols = operation.Opening(), {}
    operation_.key(taking)
    pattern = tuple([symbols.setdefault(n, Symbol(lo=2)).dim for n in taking.taken])
    return operation.open_derivative(operation_, wrt, pattern), {symbol: n for n, symbol in symbols.items()}


def test_every_operator_has_the_same_derivative_for_open_sizes():
    compared, seen = 0, set()
    for name, rows in SAMPLES.items():
        prim = find_primitive(name)
        if prim.traits & {"effect", "random", "dynamic"}:
            continue
        for args, attrs in rows:
            args, attrs = prim.prepared(args, dict(attrs))
            abstracts = tuple([constant(a).abstract for a in args])
            made = operation.Operation(prim, abstracts, attrs, infer_rule[prim](*abstracts, **attrs))
            wrt = tuple([i for i, a in enumerate(abstracts) if getattr(getattr(a, "dtype", None), "is_float", False)])
            if not wrt or not made.differentiable:
                continue
            derivative, env = opened(made, wrt)
            if derivative is None:
                continue
            own = operation.Backward(*[(w, made.seeds, s, g) for w, s, g in [made.derive(wrt)]][0])
            copy = derivative.of_sizes(made, env)
            outs = run(single_node(made), *args)
            draw = np.random.default_rng(0)
            douts = [draw.normal(size=outs[i].shape).astype(outs[i].dtype) for i in made.seeds]

            def arguments(backward_):
                return *[args[i] if kind == "in" else outs[i] for kind, i in backward_.saved], *douts
            assert own.wrt == copy.wrt, name
            walked_ = copy.operation.run([np.asarray(a) if isinstance(a, np.generic) else a for a in arguments(copy)])
            assert "graph" not in copy.__dict__ or not derivative.walks, name
            for have, as_walk, want in zip(run(copy.graph, *arguments(copy)), walked_, run(own.graph, *arguments(own))):
                for each in (have, as_walk):
                    np.testing.assert_allclose(np.asarray(each, np.float64), np.asarray(want, np.float64), rtol=1e-5, atol=1e-6,
                                               err_msg=name)
            compared += 1
            seen.add(name)
    assert len(seen) > 100 and compared > 150


def test_one_derivative_serves_all_sizes(at_once):
    for n in (5, 9, 7, 30, 12):
        with counting() as count:
            ms.grad(lambda x: (ops.softmax(x * 1.25, -1) * x).sum())(tensor(3, n, 87))
    assert count["backward_graph_build"]                     # a copy for these sizes
    assert all(len(visits.made) <= 1 for visits in operation._families.values())
    assert any(visits.made for visits in operation._families.values())


def test_rows_at_all_places_of_all_lengths_have_one_derivative(at_once, monkeypatch):
    def step(n):
        x, w = tensor(n, 4, 79, seed=n), np.arange(n, 0.0, -1)
        gradient = ms.grad(lambda a: sum(a[t].sum() * float(w[t]) for t in range(n)))(x)
        np.testing.assert_array_equal(gradient.asnumpy(), np.broadcast_to(w[:, None, None], (n, 4, 79)).astype(np.float32))
    for n in (20, 22, 25, 21):
        step(n)
    derived = []
    for where, name in ((operation, "gradients_only"), (operation.Operation, "derive")):
        monkeypatch.setattr(where, name, lambda *given, _name=name, _before=getattr(where, name): derived.append(_name)
                            or _before(*given))
    step(31), step(17)
    assert not derived


def test_a_derivative_serves_only_sizes_of_which_its_guards_hold(at_once):
    attrs = {"start": (11, 0), "sizes": (1, 7), "step": (1, 1)}
    made = operation.Operation(slice_, (AbstractTensor(dt.float32, (30, 7)),), attrs, AbstractTensor(dt.float32, (1, 7)))
    derivative, _ = opened(made, (0,))
    n, columns, first = derivative.symbols
    assert derivative.guards.hold({n: 12, columns: 7, first: 11})
    assert not derivative.guards.hold({n: 11, columns: 7, first: 11})


def test_a_copy_of_a_derivative_has_no_graph_before_it_is_walked(at_once):
    def loss(x):
        return (ops.log1p(x) * x).sum()
    for n in (5, 9, 7):
        ms.grad(loss)(tensor(n, 91))
    run = Recorded(loss, (tensor(12, 91),), {}, (0,), (), "grad")
    copies = [entry.backward for entry in run.tape.entries if isinstance(entry.backward, operation.BackwardOfSizes)]
    assert copies and all("graph" not in copy.__dict__ for copy in copies)
    assert all(copy.nodes == len(copy.graph.nodes) and copy.douts == tuple(
        [p.abstract for p in copy.graph.parameters[len(copy.saved):]]) for copy in copies)


def test_a_type_that_a_rule_gives_for_symbols_only_is_a_fault(at_once, monkeypatch):
    grad = ms.grad(lambda x: ops.atan(x).sum())
    grad(tensor(5, 89)), grad(tensor(9, 89))
    of_sizes = operation.Derivative.of_sizes

    def other(self, made, env):
        self.outs = tuple([type(out)(out.dtype, (*out.shape, 2)) for out in self.outs])
        return of_sizes(self, made, env)
    monkeypatch.setattr(operation.Derivative, "of_sizes", other)
    with pytest.raises(InternalError, match="for open sizes"):
        grad(tensor(7, 89))


# ---------------------------------------------------------------- functions

FUNCTIONS = {
    "softmax": lambda x, z: ops.softmax(x, -1) * z, "matmul": lambda x, z: ops.matmul(x, z.T), "loss": ops.mse_loss,
    "dense": lambda x, z: ops.dense(x, z), "layer norm": lambda x, z: ops.layer_norm(x, (x.shape[1],), z[0], z[-1]),
    "place": lambda x, z: x[x.shape[0] // 2 + 4] * z, "row": lambda x, z: x[-1] * z, "late": lambda x, z: x[9] * z,
    "slices": lambda x, z: x[1:] * z[:-1],
    "columns": lambda x, z: x[:, 9] * z[:, -1], "chunk": lambda x, z: ops.chunk(x, 2)[0] * z[0],
    "cat": lambda x, z: ops.cat((x, z), 1).sum(1), "stack": lambda x, z: ops.stack((x, z), 1),
    "cross entropy": lambda x, z: ops.cross_entropy(x, Tensor(np.arange(x.shape[0]) % max(1, x.shape[1]))),
    "var": lambda x, z: x.var(0) * z, "roll": lambda x, z: ops.roll(x, 1, 0) * z, "pad": lambda x, z: ops.pad(x, (1, 2)),
    "outer": lambda x, z: ops.outer(x[:, 0], z[0]), "einsum": lambda x, z: ops.einsum("ij,kj->ik", x, z),
    "flip": lambda x, z: ops.flip(x, (0,)) * z, "max": lambda x, z: x.max(0) * z}
SHAPES = [(3, 5, 3, 5), (4, 5, 4, 5), (12, 13, 12, 13), (12, 12, 12, 12), (5, 12, 5, 12), (12, 5, 1, 5), (1, 1, 1, 1),
          (2, 2, 2, 2), (0, 3, 0, 3), (11, 1, 11, 1), (10, 10, 10, 10), (14, 11, 14, 1), (3, 0, 3, 0), (13, 12, 13, 12),
          (9, 9, 9, 9), (4, 5, 4, 5)]


def found(function, x, z):
    """Gradients by x and z, or the kind of error."""
    def loss(x, z):
        out = function(x, z)
        return (out * Tensor(np.cos(np.arange(out.size, dtype=np.float64)).reshape(out.shape))).sum()
    try:
        return [loss(x, z).asnumpy(), *[g.asnumpy() for g in ms.grad(loss, (0, 1))(x, z)]]
    except InternalError:
        raise
    except ms.MindliteError as error:
        return type(error)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_lengths_that_change_gives_what_each_length_gives_by_itself(name, at_once, monkeypatch):
    for n, m, rows, columns in SHAPES:
        draw = np.random.default_rng(n)
        x, z = Tensor(draw.uniform(0.2, 1.5, (n, m))), Tensor(draw.uniform(0.2, 1.5, (rows, columns)))
        have = found(FUNCTIONS[name], x, z)
        with monkeypatch.context() as alone:
            alone.setattr(config, "repeatable", True)
            alone.setattr(backward, "_structures", backward.Structures())
            want = found(FUNCTIONS[name], x, z)
        assert isinstance(want, type) == isinstance(have, type)
        if isinstance(want, type):
            assert have is want
            continue
        for a, b in zip(have, want):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.fixture
def beside_the_run(monkeypatch):
    """Kernels of all sizes are compiled beside the run, as soon as there is one to compile; nothing was seen before."""
    before = config.set(compile_beside=True)
    monkeypatch.setattr(beside, "PAYS", 0)
    monkeypatch.setattr(backward, "_structures", backward.Structures())
    monkeypatch.setattr(operation, "_families", operation.Recent())
    yield
    beside.compiler.wait()
    config.set(**before)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_lengths_that_change_gives_the_same_by_a_kernel_of_all_lengths(name, beside_the_run, monkeypatch):
    for n, m, rows, columns in SHAPES:
        draw = np.random.default_rng(n)
        x, z = Tensor(draw.uniform(0.2, 1.5, (n, m))), Tensor(draw.uniform(0.2, 1.5, (rows, columns)))
        have = walked(found, FUNCTIONS[name], x, z)
        beside.compiler.wait()
        with monkeypatch.context() as alone:
            alone.setattr(config, "repeatable", True)
            want = walked(found, FUNCTIONS[name], x, z)
        assert isinstance(want, type) == isinstance(have, type)
        if isinstance(want, type):
            assert have is want
            continue
        for a, b in zip(have, want):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_new_lengths_cost_no_copies_of_functions_and_no_compilation_once_there_is_a_kernel(beside_the_run, monkeypatch):
    def step(n):
        x = tensor(3, n, 97, seed=n)
        value, gradient = walked(ms.value_and_grad(lambda a: (ops.softmax(ops.layer_norm(a, (97,)), 1) * a).sum()), x)
        beside.compiler.wait()
        return x, value, gradient
    for n in (20, 21, 22, 23, 24, 25):
        step(n)
    work = collections.Counter()
    for where, name in ((functions, "with_sizes"), (functions, "Walk"), (kernels.Compiled, "__init__"),
                        (functions, "open_function"), (operation, "open_derivative")):
        monkeypatch.setattr(where, name, lambda *given, _name=name, _before=getattr(where, name), **named: work.update(
            [_name]) or _before(*given, **named))
    for n in range(30, 50):
        x, value, gradient = step(n)
    assert not work
    with monkeypatch.context() as alone:
        alone.setattr(config, "repeatable", True)
        wanted = ms.value_and_grad(lambda a: (ops.softmax(ops.layer_norm(a, (97,)), 1) * a).sum())(x)
    for have, want in zip((value, gradient), wanted):
        np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=2e-5, atol=1e-6)


def test_new_lengths_write_no_graphs_and_no_lines_before_there_is_a_kernel(at_once, monkeypatch):
    dense = nn.Dense(64, 65)

    def step(n):
        x = tensor(n, 64, seed=n)
        return x, *walked(ms.value_and_grad(
            lambda a: (ops.softmax(ops.layer_norm(ops.relu(dense(a)), (65,)), 1) * 2).sum(), 0, dense.trainable_params()), x)
    for n in (10, 11, 12, 13):
        step(n)
    work = collections.Counter()
    for where, name in ((functions, "with_sizes"), (operation, "with_sizes"), (walks.Code, "__init__")):
        monkeypatch.setattr(where, name, lambda *given, _name=name, _before=getattr(where, name), **named: work.update(
            [_name]) or _before(*given, **named))
    products_waited = []
    monkeypatch.setattr(products.Rows, "enter", lambda self, *given, _before=products.Rows.enter: products_waited.append(
        given[0]) or _before(self, *given))
    x, value, gradients = step(14)
    assert not work and products_waited
    with monkeypatch.context() as alone:
        alone.setattr(config, "repeatable", True)
        wanted = ms.value_and_grad(lambda a: (ops.softmax(ops.layer_norm(ops.relu(dense(a)), (65,)), 1) * 2).sum(), 0,
                                   dense.trainable_params())(x)
    for have, want in zip((value, gradients[0], *gradients[1]), (wanted[0], wanted[1][0], *wanted[1][1])):
        np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=2e-5, atol=1e-5)


def test_a_walk_of_open_sizes_computes_each_operator_as_a_walk_of_these_sizes_does():
    n = Symbol("n", lo=2)
    graph = typed(lambda a, b: ops.reshape(ops.tanh(ops.matmul(a, b)) + ops.transpose(a, (1, 0)).sum(), (1, -1)),
                  AbstractTensor(dt.float32, (n.dim, 8)), AbstractTensor(dt.float32, (8, 5)))
    opened, kinds = walks.OpenWalk(graph), []
    for size in (3, 1 << 16):
        have, want = opened.of_sizes({n: size}), walks.Walk(with_sizes(graph, {n: size}))
        functions_ = [list(map(type, walk.function.__globals__.values())) for walk in (have, want)]
        assert functions_[0] == functions_[1] and have.is_quiet == want.is_quiet
        kinds.append(functions_[0])
        a, b = tensor(size, 8).asnumpy(), tensor(8, 5).asnumpy()
        for one, other in zip(have.run([a, b]), want.run([a, b])):
            np.testing.assert_array_equal(one, other)
    assert kinds[0] != kinds[1]                              # large operands have kernels of their own


def test_a_function_is_traced_once_for_all_lengths(at_once, monkeypatch):
    traced, once = [], functions.Call.graph
    monkeypatch.setattr(functions.Call, "graph", lambda self, *given: traced.append(self) or once(self, *given))
    for n in range(20, 40):
        ops.softmax(tensor(3, n, 93), -1)
    assert 0 < len(traced) <= 3


def test_an_index_outside_is_an_error_at_a_new_length(at_once):
    for n, t in ((20, 10), (21, 12), (22, 20), (25, 11)):
        np.testing.assert_array_equal(tensor(n, 95)[t].asnumpy(), tensor(n, 95).asnumpy()[t])
    with pytest.raises(IndexRangeError, match="index 31 is out of bounds for dimension with size 24"):
        tensor(24, 95)[31]


# ---------------------------------------------------------------- tapes

class Encoder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(44, 2, 58, dropout=0.0, batch_first=True)

    def construct(self, x):
        return (self.layer(x) ** 2).mean()


def test_lengths_share_a_compile_and_have_the_gradients_of_a_walk(at_once):
    net = Encoder()
    grad = ms.value_and_grad(net, 0, net.trainable_params())
    steps = [tensor(2, n, 44, seed=n) for n in (5, 9, 7, 20, 12, 3, 31, 17, 6, 8)]
    wanted = [walked(grad, x) for x in steps]
    for x in steps[:4]:                                      # eager plans of the operators change the structure
        for _ in range(3):
            grad(x)
    with counting() as count:
        found = [grad(x) for x in steps[::-1]][::-1]
    assert count["backward_flow_build"] <= 2
    for (loss, (of_x, of_weights)), (loss_, (of_x_, of_weights_)) in zip(found, wanted):
        np.testing.assert_allclose(loss.asnumpy(), loss_.asnumpy(), rtol=1e-5)
        for have, want in zip((of_x, *of_weights), (of_x_, *of_weights_)):
            np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=2e-4, atol=1e-5)
    patterns = [pattern for kind in backward._structures.kinds.values() for pattern, flow in kind.visits.made if flow]
    assert any(isinstance(size, Dim) for pattern in patterns for size in pattern)


def test_cotangents_of_other_sizes_share_a_compile(at_once):
    def of(x, dout):
        return ms.vjp(lambda a: ops.tanh(a * 0.75) * a, x)[1](dout)[0].asnumpy()
    built = 0
    for n in (4, 6, 9, 13, 2, 25):
        x, dout = tensor(n, 83), tensor(n, 83, seed=1)
        with counting() as count:
            found = of(x, dout)
        built += count["backward_flow_build"]
        np.testing.assert_allclose(found, walked(of, x, dout), rtol=1e-5)
    assert built == 1


def test_a_size_that_only_seemed_to_be_twice_another_one(at_once):
    def loss(a, b):
        return (ops.exp(a * 0.5).sum() * ops.tanh(b).sum())
    grad = ms.grad(loss, (0, 1))
    for n, m in ((5, 10), (9, 18), (7, 13), (6, 11), (4, 30), (8, 16)):
        args = tensor(n, 85), tensor(m, 85, seed=1)
        for have, want in zip(grad(*args), walked(grad, *args)):
            np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=1e-5)


def test_second_derivatives_and_hooks_at_lengths_that_change(at_once):
    seen = []

    def f(x):
        h = ops.tanh(x * 0.5)
        h.register_hook(lambda dout: seen.append(dout.shape))
        return (h * h * x).sum()
    second = ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum())
    plain = ms.grad(lambda x: (ms.grad(lambda a: (ops.sin(a) * a).sum())(x) ** 2).sum())
    for n in (4, 7, 5, 9, 12):
        x = tensor(n, 83)
        seen.clear()
        first = ms.grad(f)(x).asnumpy()
        assert seen == [(n, 83)]
        np.testing.assert_allclose(first, walked(ms.grad(f), x).asnumpy(), rtol=1e-5)
        for derived in (second, plain):
            np.testing.assert_allclose(derived(x).asnumpy(), walked(derived, x).asnumpy(), rtol=1e-4)


def test_what_was_saved_and_then_changed_keeps_its_old_value_at_all_lengths(at_once):
    def f(x):
        h = x * 2.0
        y = (ops.exp(h) * h).sum()
        h += 1.0
        return y
    for n in (4, 7, 5, 9):
        x = tensor(n, 83)
        np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), 2 * np.exp(2 * x.asnumpy()) * (1 + 2 * x.asnumpy()), rtol=1e-5)


def test_a_program_that_runs_again_has_derivatives_of_its_own(at_once):
    before = config.repeatable
    config.set(repeatable=True)
    try:
        for n in (5, 9, 7):
            ms.grad(lambda x: ops.erf(x).sum())(tensor(n, 83))
    finally:
        config.set(repeatable=before)
    assert not operation._families


def test_a_compiled_graph_has_one_known_call_for_all_sizes(monkeypatch):
    monkeypatch.setattr(known_call, "MAX_SIZES", 3)
    n, graph = Symbol("n"), FuncGraph("f")
    x = graph.add_parameter("x", AbstractTensor(dt.float32, (n.dim, 3)))
    graph.set_outputs([graph.add(find_primitive("exp"), x, abstract=x.abstract)], make_tuple)
    compiled, ran = kernels.Compiled(graph), []
    monkeypatch.setattr(kernels, "run_graph", lambda *given: ran.append(given) or run_graph(*given))

    def visit(size):
        value = np.random.default_rng(size).normal(size=(size, 3)).astype(np.float32)
        np.testing.assert_allclose(compiled.run([value])[0], np.exp(value), rtol=1e-5)
        return compiled.known.call
    assert visit(5) is None
    known = visit(5)
    for size in (7, 5, 0, 9, 9, 1, 5000, 2, 5):
        assert visit(size) is known and known.aimed == (size,)
    assert len(ran) == 1 and len(known.ready) <= 3
    value = np.random.default_rng(3).normal(size=(3, 6)).astype(np.float32).T        # its rows do not lie together
    np.testing.assert_allclose(compiled.run([value])[0], np.exp(value), rtol=1e-5)
    assert len(ran) == 2


def test_a_size_that_is_taken_out_of_a_call_is_no_none():
    """x[None] and x[9] are calls of two families."""
    for rows in range(10, 17):
        x = Tensor(np.arange(rows * 4.0).reshape(rows, 4).astype(np.float32))
        for index in (None, 9, (None, slice(None), 3), (9,), None, 9):
            np.testing.assert_array_equal(x[index].asnumpy(), x.asnumpy()[index])


def tangent_of_mean(x):
    return ms.jvp(lambda x: ops.mean(x, 1, True), (x,), (x,))[1]


def second_gradient_of_mean(x):
    return ms.grad(lambda x: (ms.grad(lambda x: (ops.mean(x, 1, True) ** 2).sum())(x) * x).sum())(x)


@pytest.mark.parametrize("derivative", [tangent_of_mean, second_gradient_of_mean])
def test_the_number_of_a_mean_is_known_where_no_tensor_has_that_size(derivative):
    before = config.set(compile_beside=False)
    try:
        for n in (3, 5, 1, 2, 11, 7, 13):
            x = np.arange(1.0, n + 1)[None]
            wanted = [[x.mean()]] if derivative is tangent_of_mean else np.full((1, n), 4 * x.mean() / n)
            np.testing.assert_allclose(derivative(Tensor(x)).asnumpy(), wanted)
    finally:
        config.set(**before)
