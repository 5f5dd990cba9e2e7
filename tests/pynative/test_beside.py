"""Compilations beside the run: eager mode goes on meanwhile, and computes the same before and after."""
import sys
import threading
import time

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, mint, nn, ops
from mindlite.common import dtype
from mindlite.common.config import config
from mindlite.common.errors import InternalError, MindliteError
from mindlite.compile import kept_graphs
from mindlite.mindir.builder import tensor_type, typed
from mindlite.mindir.primitive import PRIMITIVES, eval_rule
from mindlite.pynative import backward, beside, kernels, native, operation, plans, walks

_rng = np.random.default_rng(5)


@pytest.fixture
def in_the_thread(monkeypatch):
    """What is seen twice is compiled beside the run; gives the idents of the threads in which something was compiled."""
    before, compiled = config.set(compile_beside=True), []
    monkeypatch.setattr(beside, "PAYS", 0)
    monkeypatch.setattr(plans, "OFTEN", 6)
    monkeypatch.setattr(plans, "OFTEN_FOR_COMPOSITES", 6)
    monkeypatch.setattr(plans, "AGAIN", 1)
    make = kernels.Compiled.__init__

    def noted(self, *args, **options):
        compiled.append(threading.get_ident())
        make(self, *args, **options)
    monkeypatch.setattr(kernels.Compiled, "__init__", noted)
    yield compiled
    beside.compiler.wait()
    config.set(**before)


def tensor(*shape):
    return Tensor(_rng.standard_normal(shape).astype(np.float32))


def a_step():
    """A training step of a recurrent network of its own, and its parameters."""
    cell, head = nn.GRUCell(7, 11), nn.Dense(11, 3)
    parameters = [*cell.trainable_params(), *head.trainable_params()]
    optimizer = nn.SGD(parameters, 0.01)

    def loss(xs, labels):
        h = ops.zeros((xs.shape[1], 11))
        for x in xs:
            h = cell(x, h)
        return ops.cross_entropy(head(h), labels)
    derive = ms.value_and_grad(loss, None, optimizer.parameters)

    def step(xs, labels):
        value, gradients = derive(xs, labels)
        optimizer(gradients)
        return float(value)
    return step


def test_nothing_is_compiled_in_the_callers_thread_after_the_first_step(in_the_thread):
    step, labels = a_step(), Tensor(np.array([0, 2, 1, 1], np.int32))
    lengths = {length: tensor(length, 4, 7) for length in (5, 9)}
    for xs in lengths.values():
        step(xs, labels)
    in_the_thread.clear()
    for _ in range(6):
        for xs in lengths.values():
            step(xs, labels)
        beside.compiler.wait()
    assert in_the_thread and threading.get_ident() not in in_the_thread


def test_a_loss_falls_alike_whether_its_backward_is_walked_or_compiled(in_the_thread):
    xs, labels, found = tensor(6, 4, 7), Tensor(np.array([0, 2, 1, 1], np.int32)), []
    for on in (True, False):
        config.set(compile_beside=on)
        ms.set_seed(3)
        step = a_step()
        losses = []
        for _ in range(8):
            losses.append(step(xs, labels))
            beside.compiler.wait()
        found.append(losses)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)
    assert found[0][-1] < found[0][0]


def test_a_backward_is_walked_until_its_flow_is_there_and_explain_says_so(in_the_thread, monkeypatch):
    held = threading.Event()
    compile_it = backward.Recipe.compile

    def slowly(self):
        held.wait(60)
        return compile_it(self)
    monkeypatch.setattr(backward.Recipe, "compile", slowly)
    x = tensor(3, 13)
    derive = ms.grad(lambda a: (ops.exp(a * 0.5) - a).sum())
    wanted = derive(x).asnumpy()
    for _ in range(3):
        np.testing.assert_allclose(derive(x).asnumpy(), wanted, rtol=1e-6)
    assert backward.ORDERED in derive.explain()
    held.set()
    beside.compiler.wait()
    for _ in range(2):
        np.testing.assert_allclose(derive(x).asnumpy(), wanted, rtol=1e-6)
    assert backward.BUILT in derive.explain() or backward.REUSED in derive.explain()


def test_what_is_seen_seldom_is_not_compiled(in_the_thread, monkeypatch):
    monkeypatch.setattr(beside, "PAYS", 1e9)
    derive, x = ms.grad(lambda a: (ops.exp(a * 0.25) - a).sum()), tensor(3, 15)
    for _ in range(4):
        derive(x)
    beside.compiler.wait()
    assert backward.SELDOM in derive.explain() and not in_the_thread


def test_what_compiling_takes_is_learned_and_an_exception_moves_it_little():
    costs = beside.Costs()
    costs.learn(4, 0.2)                                      # the first one imports the compiler
    assert costs.of(4) == pytest.approx(costs.of_a_graph + 4 * costs.of_a_node)
    usual = costs.of(4)
    costs.learn(4, 16 * usual)
    assert costs.of(4) == pytest.approx(4 * usual) and costs.of(40) > costs.of(4)
    for _ in range(8):
        costs.learn(4, usual)
    assert costs.of(4) == pytest.approx(usual, rel=0.02)
    costs.learn(1, 1e3)
    costs.learn(1, 1e-6)                                     # it was there already
    assert costs.scale == costs.most


def test_the_first_compilation_of_a_process_waits_until_what_it_makes_for_all_is_worth_it_too(monkeypatch):
    now, made = [5.0], []
    monkeypatch.setattr(beside, "costs", costs := beside.Costs())
    monkeypatch.setattr(beside, "may_hold", lambda: False)
    monkeypatch.setattr(beside, "is_beside", lambda: True)
    monkeypatch.setattr(beside, "compile_beside", lambda make, nodes, asks=False: made.append(make))
    monkeypatch.setattr(beside.time, "process_time", lambda: now[0])

    def seen(is_worth):
        beside.Making().find(lambda: now[0], 1, 0.0, lambda: is_worth)
    seen(False)
    now[0] += costs.of_the_first
    seen(True)                                               # the first that would be worth it by itself
    now[0] += 0.9 * costs.of_the_first
    seen(True)
    assert not made
    now[0] += 0.2 * costs.of_the_first
    seen(True)
    assert made == [now[0]]
    costs.learn(1, 1.0)
    assert costs.first_pays()


def test_a_slow_operator_gets_its_kernel_after_fewer_calls_than_a_fast_one(monkeypatch):
    add, softmax = PRIMITIVES["add"], PRIMITIVES["softmax"]
    assert plans.often_of(add, 1e-6) == plans.often_of(add, 1.0) == plans.OFTEN            # counts alone decide
    before = config.set(compile_beside=True)
    monkeypatch.setattr(beside.costs, "scale", 1.0)
    try:
        assert plans.often_of(add, 1e-6) == plans.OFTEN and plans.often_of(softmax, 1e-6) == plans.OFTEN_FOR_COMPOSITES
        assert 1 < plans.often_of(add, 1e-3) < plans.often_of(add, 1e-4) < plans.OFTEN
    finally:
        config.set(**before)


@pytest.mark.skipif(native.installed is None, reason="objects cannot be read here")
def test_an_operator_that_is_called_often_gets_its_kernel_from_the_thread(in_the_thread):
    x = tensor(4, 61)
    wanted = ops.softmax(x, -1).asnumpy()
    for _ in range(40):
        np.testing.assert_allclose(ops.softmax(x, -1).asnumpy(), wanted, rtol=1e-5)
    beside.compiler.wait()
    for _ in range(5):
        np.testing.assert_allclose(ops.softmax(x, -1).asnumpy(), wanted, rtol=1e-5)
    assert in_the_thread and threading.get_ident() not in in_the_thread


@pytest.mark.skipif(native.installed is None, reason="objects cannot be read here")
def test_signatures_that_differ_in_sizes_share_a_kernel_of_open_sizes(in_the_thread, monkeypatch):
    monkeypatch.setattr(operation, "_families", operation.Recent())
    monkeypatch.setattr(plans, "FEW_PLANS", 1 << 30)                     # other tests have left some
    softmax, made = PRIMITIVES["softmax"], []
    for rows in (5, 8, 2, 31, 17):
        x = tensor(rows, 59)
        wanted = np.exp(x.asnumpy()) / np.exp(x.asnumpy()).sum(-1, keepdims=True)
        for _ in range(12):
            np.testing.assert_allclose(softmax(x, axis=-1).asnumpy(), wanted, rtol=1e-5)
            beside.compiler.wait()
        made.append(len(in_the_thread))
    assert 0 < made[0] < made[1] == made[2] == made[3] == made[4]       # of the first sizes, then of all
    kernels_made = [p.kernel for p in plans.plans_of(softmax).held.values() if p.kernel is not None]
    assert {k.known.sizes for k in kernels_made if k.compiled.plan.symbols} >= {(8,), (2,), (31,), (17,)}


def test_a_large_operator_runs_by_numpy_until_its_kernel_is_there(in_the_thread, monkeypatch):
    monkeypatch.setattr(kernels, "SPENT", 0.0)
    x = Tensor(_rng.normal(size=(1, 67, 1, 1024, 1)))                      # no other test has a kernel that would do
    wanted = ops.softmax(x, 3).asnumpy()
    for _ in range(4):
        np.testing.assert_allclose(ops.softmax(x, 3).asnumpy(), wanted, rtol=1e-9)
        beside.compiler.wait()
    assert in_the_thread and threading.get_ident() not in in_the_thread


WINDOWS = {
    "convolution": (lambda x, w: mint.nn.functional.conv2d(x, w, padding=1, groups=2), (3, 4, 9, 7), (6, 2, 3, 3)),
    "transposed": (lambda x, w: mint.nn.functional.conv_transpose2d(x, w, stride=2), (2, 4, 5, 7), (4, 3, 3, 2)),
    "max pooling": (lambda x, w: ops.max_pool2d(x * w, 3, 2), (2, 3, 9, 8), (1, 3, 1, 1)),
    "avg pooling": (lambda x, w: ops.avg_pool2d(x * w, 2, 2), (2, 3, 9, 8), (1, 3, 1, 1))}


@pytest.mark.parametrize("name", WINDOWS)
def test_small_convolutions_and_poolings_run_by_numpy_until_their_kernels_are_there(name, in_the_thread, monkeypatch):
    monkeypatch.setattr(kernels, "SPENT_WITH_WINDOWS", 0.0)
    function, *shapes = WINDOWS[name]
    args = [tensor(*shape) for shape in shapes]
    derive = ms.value_and_grad(lambda x, w: (function(x, w) ** 2).sum(), (0, 1))
    value, gradients = derive(*args)
    beside.compiler.wait()
    assert in_the_thread and threading.get_ident() not in in_the_thread
    again, others = derive(*args)
    for have, want in zip((again, *others), (value, *gradients)):
        np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-4)


def test_a_convolution_of_many_windows_or_multiplications_has_its_kernel_at_the_first_call(in_the_thread):
    for shape, weight in (((1, 3, 90, 90), (2, 3, 17, 17)), ((1, 192, 24, 24), (192, 192, 3, 3))):
        in_the_thread.clear()
        mint.nn.functional.conv2d(tensor(*shape), tensor(*weight))
        assert threading.get_ident() in in_the_thread


def test_sizes_that_come_seldom_order_no_kernels_of_their_own(in_the_thread):
    for rows in range(60, 66):
        for _ in range(2):
            ops.softmax(tensor(rows, 1024), -1)
    beside.compiler.wait()
    assert len(in_the_thread) <= 1                           # the one of all sizes


def test_elementwise_operators_of_all_shapes_share_a_kernel(in_the_thread, monkeypatch):
    monkeypatch.setattr(kernels, "SPENT", 0.0)
    monkeypatch.setattr(kernels.FlatKernel, "_of_rows", {})
    for shape in ((67, 1031), (1031, 71), (5, 7, 2003), (67, 1031)):
        x = tensor(*shape)
        np.testing.assert_allclose(ops.erfc(x).asnumpy(), 1 - ops.erf(x).asnumpy(), rtol=1e-4, atol=1e-5)
        beside.compiler.wait()
        assert ops.erfc(x).shape == shape
    assert in_the_thread and len(kernels.FlatKernel._of_rows) <= 2


def test_matrix_products_of_all_sizes_share_a_kernel(in_the_thread, monkeypatch):
    monkeypatch.setattr(kernels, "SPENT", 0.0)
    monkeypatch.setattr(kernels.ProductKernel, "_of_forms", {})
    for a, b in (((97, 103), (103, 107)), ((81, 120), (120, 90)), ((3, 41, 103), (103, 99)), ((2, 3, 70, 80), (2, 3, 80, 90)),
                 ((5, 90, 70), (5, 70, 91))):
        x, y = tensor(*a), tensor(*b)
        wanted = np.matmul(x.asnumpy(), y.asnumpy())
        for _ in range(3):
            np.testing.assert_allclose(ops.matmul(x, y).asnumpy(), wanted, rtol=1e-4, atol=1e-4)
            beside.compiler.wait()
    turned = kernels.ProductKernel.kernel(dtype.float32, False, {"transpose_a": True, "transpose_b": False})
    found = turned(x.asnumpy()[0], y.asnumpy()[0, :1].repeat(90, 0), transpose_a=True, transpose_b=False)
    np.testing.assert_allclose(found, x.asnumpy()[0].T @ y.asnumpy()[0, :1].repeat(90, 0), rtol=1e-4, atol=1e-4)
    for a, b in (((2, 3, 0), (0, 5)), ((0, 3, 4), (4, 5)), ((2, 0, 4, 3), (2, 0, 3, 4))):
        empty = ops.matmul(tensor(*a).astype(ms.bfloat16), tensor(*b).astype(ms.bfloat16))
        assert empty.shape == (*a[:-1], b[-1]) and not empty.astype(ms.float32).asnumpy().any()
    assert in_the_thread and {key[1] for key in kernels.ProductKernel._of_forms} == {False, True}
    assert len(kernels.ProductKernel._of_forms) == 5                       # two more of bfloat16


def test_an_order_that_fails_raises_where_its_result_is_asked_for(in_the_thread):
    def make():
        raise InternalError("it cannot be made")
    order = beside.compile_beside(make, 1)
    beside.compiler.wait()
    assert order.is_ready
    with pytest.raises(InternalError, match="cannot be made"):
        order.result()


def test_a_fault_of_what_is_made_beside_the_run_is_an_internal_error_whenever_it_is_asked_for():
    def make():
        raise KeyError("planted")
    order = beside.compile_beside(make, 1)
    beside.compiler.wait()
    for _ in range(2):
        with pytest.raises(InternalError, match="planted") as caught:
            order.result()
        assert caught.value.stage == "compile" and caught.value.location.file == __file__
        assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(MindliteError, match="of the user's"):
        refused = beside.compile_beside(_refuse, 1)
        beside.compiler.wait()
        refused.result()


def _refuse():
    raise MindliteError("of the user's")


def test_a_result_before_it_is_there_is_a_fault(in_the_thread):
    held = threading.Event()
    order = beside.compile_beside(lambda: held.wait(60), 1)
    with pytest.raises(InternalError, match="before it is there"):
        order.result()
    held.set()


def test_switched_off_an_order_is_there_at_once():
    assert not config.compile_beside
    order = beside.compile_beside(threading.get_ident, 1)
    assert order.is_ready and order.result() == threading.get_ident()


def test_the_switch_interval_is_the_programs_own_when_nothing_is_compiled(in_the_thread):
    before = sys.getswitchinterval()
    seen = beside.compile_beside(sys.getswitchinterval, 1)
    beside.compiler.wait()
    deadline = time.monotonic() + 10
    while sys.getswitchinterval() != before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert seen.result() <= beside.SWITCH_INTERVAL * 1.01 and sys.getswitchinterval() == before


def test_a_parameter_that_is_trained_is_read_as_it_is_when_the_flow_runs(in_the_thread):
    w = Parameter(tensor(5, 5), name="w")
    derive, x = ms.grad(lambda a: ((a @ w) ** 2).sum()), tensor(2, 5)
    for i in range(6):
        w.set_data(Tensor(np.full((5, 5), i, np.float32)))
        y = x.asnumpy() @ w.asnumpy()
        np.testing.assert_allclose(derive(x).asnumpy(), 2 * y @ w.asnumpy().T, rtol=1e-4, atol=1e-4)
        beside.compiler.wait()


def long_chain():
    """The typed graph of several operators, and an argument for it."""
    def function(x):
        for _ in range(4):
            x = ops.tanh(x) * ops.exp(x * 0.125)
        return x
    return typed(function, tensor_type(tensor(3, 47))), tensor(3, 47).array


def test_a_part_of_tapes_that_comes_again_and_again_is_compiled_once_it_has_taken_as_long_as_that(in_the_thread, monkeypatch):
    monkeypatch.setattr(beside, "PAYS", 1e9)
    graph, x = long_chain()
    repeated = operation.GraphOperation(graph)
    wanted, = repeated.run([x])
    assert repeated.runner.making.order is None                     # one walk is no reason
    monkeypatch.setattr(beside, "PAYS", 0)
    repeated.run([x])
    beside.compiler.wait()
    assert isinstance(repeated.runner.making.order.result(), kernels.Compiled)
    np.testing.assert_allclose(repeated.run([x])[0], wanted, rtol=1e-5)


def test_a_walk_of_numpys_own_functions_gives_the_bits_of_the_eval_rules_without_warnings():
    seen = set()
    for prim in [p for p in PRIMITIVES.values() if type(getattr(eval_rule.get(p), "ufunc", None)) is np.ufunc and not p.attrs]:
        for name in ("float32", "float64", "float16", "int32", "bool"):
            operands = [np.array([[0, 1, -1, 3], [2, 0, 7, 1]]).astype(name)[:, ::step].copy() for step in (1, -1)]
            arrays = operands[:len(prim.inputs)]
            try:
                graph = typed(lambda *xs: prim(*xs), *[tensor_type(Tensor(a)) for a in arrays])
            except MindliteError:                            # it does not take such numbers
                continue
            if [node.fn for node in graph.nodes] == [prim]:
                walk = walks.Walk(graph)
                got, want = walk.run(arrays)[0], eval_rule[prim](*arrays)
                assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (prim.name, name)
                seen |= {prim.name} if walk.is_quiet else set()
    assert {"add", "mul", "div", "log", "maximum", "less", "neg"} <= seen


def test_infinity_on_a_tape_is_a_result_and_numpy_warns_of_it_where_the_program_says_so(monkeypatch):
    monkeypatch.setattr(backward.Kind, "pays", lambda self, live: False)
    x = Tensor(np.array([0.0, 2.0], np.float32))
    with np.errstate(all="raise"):
        for _ in range(4):                                   # a walk is made, then used again
            gradient = ms.grad(lambda x: (ops.log(x) * 0.5 + ops.rsqrt(x)).sum())(x)
            assert np.isinf(gradient[0]) or np.isnan(gradient[0])
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.zeros(2, np.float32)


@pytest.mark.parametrize("switch", [{"compile_beside": False}, {"repeatable": True}])
def test_no_part_of_a_tape_is_compiled_by_the_clock_where_only_counts_decide(switch):
    before = {name: getattr(config, name) for name in switch}
    config.set(**switch)
    try:
        graph, x = long_chain()
        walked = operation.GraphOperation(graph)
        walked.run([x])
        assert type(walked.runner) is walks.Walk
    finally:
        config.set(**before)


# ------------------------------------------------------------------ what an earlier process has compiled

@pytest.fixture
def another_process(tmp_path, monkeypatch):
    """What is on the disk is used: call it to forget what this process has compiled; from then on compiling never pays."""
    before = config.set(compile_beside=True, keep_flows=True, cache_dir=str(tmp_path))
    monkeypatch.setattr(beside, "PAYS", 0)
    made, compile_graph = [], kept_graphs.compile_graph
    monkeypatch.setattr(kept_graphs, "compile_graph", lambda graph, *rest: made.append(graph.name) or compile_graph(graph, *rest))

    def forget():
        beside.compiler.wait()
        assert made, "nothing was compiled"
        made.clear()
        backward._structures.clear()
        kept_graphs._was_there.cache_clear()
        monkeypatch.setattr(beside.Costs, "of", lambda *_: float("inf"))
        monkeypatch.setattr(plans, "OFTEN_FOR_COMPOSITES", 1 << 40)
        monkeypatch.setattr(kernels, "SPENT", float("inf"))
        return made
    yield forget
    beside.compiler.wait()
    config.set(**before)


def test_a_part_of_tapes_is_taken_from_the_disk_long_before_compiling_pays(another_process):
    graph, x = long_chain()
    first = operation.GraphOperation(graph)
    wanted = first.run([x])
    compiled, again = another_process(), operation.GraphOperation(graph)
    for _ in range(3):
        np.testing.assert_allclose(again.run([x]), wanted, rtol=1e-5)
        beside.compiler.wait()
    assert isinstance(again.runner.making.order.result(), kernels.Compiled) and not compiled


def test_what_is_not_on_the_disk_is_looked_for_once_and_walked(another_process):
    graph, x = long_chain()
    operation.GraphOperation(graph).run([x])
    compiled = another_process()
    other = typed(lambda a: ops.tanh(ops.exp(ops.tanh(ops.exp(ops.tanh(ops.exp(a)))))), tensor_type(Tensor(x)))
    again, before = operation.GraphOperation(other), beside.costs.scale
    wanted = again.run([x])
    beside.compiler.wait()
    assert again.runner.making.order.asks and not again.runner.making.order.is_there
    for _ in range(3):
        assert np.array_equal(again.run([x]), wanted)
        beside.compiler.wait()
        assert again.runner.making.order is None
    assert not compiled and beside.costs.scale == before             # to look for it says nothing of what compiling takes


def test_the_backward_of_a_tape_is_taken_from_the_disk_long_before_compiling_pays(another_process):
    x = tensor(3, 21)

    def derive():
        found = []
        gradient = ms.grad(lambda a: (ops.softmax(a * 0.75, -1) * ops.erf(a)).sum())
        for _ in range(6):
            found.append(gradient(x).asnumpy())
            beside.compiler.wait()
        return found, gradient.explain()
    wanted, _ = derive()
    compiled = another_process()
    found, explained = derive()
    assert backward.REUSED in explained and not compiled
    for one, other in zip(wanted, found):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_nothing_is_looked_for_where_the_disk_held_nothing_when_the_process_began(another_process, monkeypatch, tmp_path):
    graph, x = long_chain()
    operation.GraphOperation(graph).run([x])
    another_process()
    config.set(cache_dir=str(tmp_path / "empty"))
    again = operation.GraphOperation(graph)
    for _ in range(3):
        again.run([x])
    assert again.runner.making.order is None and again.runner.making.asked is None
