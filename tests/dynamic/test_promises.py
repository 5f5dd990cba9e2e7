"""What compilers for dynamic shapes promise (Nimble, DISC), one test for each way to promise it without keeping it.

docs/dynamic.md lists them all, with those that stand in other files.
"""
import sys

import numpy as np
import pytest

import mindlite as ms
from mindlite import nn, ops
from mindlite.common.errors import ShapeError
from mindlite.compile.flow import Alloc, CallKernel, Kill, walk
from mindlite.functional.cell import compiled_cell

RNG = np.random.default_rng(5)


def x_of(*shape):
    return ms.Tensor(RNG.normal(size=shape).astype(np.float32))


def compiled(function, **options):
    return ms.jit(function, fullgraph=True, **options).compiled


def encoder():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    layer.set_train(False)
    return layer


def layout_of(function, *args):
    """Where the intermediate results of a call of these sizes lie."""
    function(*args)
    variant, plan = function.variants[-1], function.variants[-1].executable.plan
    sizes = dict(zip(variant.plan.symbols, variant.plan.sizes([x.asnumpy() for x in args])))
    return plan.layout(tuple([sizes[symbol] for symbol in plan.symbols]))


def block(x, weight):
    """A product, a softmax and a norm, over (batch, length, 8)."""
    h = ops.softmax(ops.matmul(x, weight), -1)
    return ops.layer_norm(h + x, (8,))


WEIGHT = x_of(8, 8)


# ---------------------------------------------------------------- 1, 2, 8: one artefact, no padding, 0 and 1

def test_fifty_batches_and_lengths_are_one_compile_with_the_results_of_eager_mode():
    function = compiled(block, dynamic=1)
    for batch, length in [(0, 3), (3, 0), (1, 1), (2, 1), (1, 2), *RNG.integers(1, 40, (45, 2)).tolist()]:
        x = x_of(batch, length, 8)
        assert np.allclose(function(x, WEIGHT).asnumpy(), block(x, WEIGHT).asnumpy(), atol=1e-5), (batch, length)
    assert len(function.variants) == 1


def test_an_encoder_takes_any_batch_and_length_in_two_compiles():
    layer = encoder()
    function = compiled(layer.construct)
    for batch, length in [(2, 5), (3, 7), (1, 1), (1, 2), *RNG.integers(1, 24, (6, 2)).tolist()]:
        x = x_of(batch, length, 16)
        assert np.allclose(function(x).asnumpy(), layer(x).asnumpy(), atol=1e-4), (batch, length)
    assert len(function.variants) <= 3


def test_memory_grows_with_the_size_itself_and_not_with_a_padded_one():
    up, down = x_of(8, 64), x_of(64, 8)
    function = compiled(lambda x: ops.matmul(ops.matmul(x, up), down), dynamic=1)
    peaks = [layout_of(function, x_of(n, 8)).peak for n in (64, 65, 128)]
    assert peaks[0] < peaks[1] < 1.1 * peaks[0] and peaks[2] >= 1.9 * peaks[0]


# ---------------------------------------------------------------- 3, 4, 25: sizes that must agree

def test_equal_sizes_are_one_symbol_and_their_operators_one_kernel():
    function = compiled(lambda x, y: ops.tanh(x + y) * x, dynamic=1)
    function(x_of(5, 8), x_of(5, 8))
    (variant,) = function.variants
    assert sum(isinstance(i, CallKernel) for i in walk(variant.compiled.lowered.program.entry.body)) == 1


def test_sizes_that_do_not_agree_raise_before_any_kernel_runs_and_name_the_line():
    weight = ms.Parameter(ms.Tensor(np.zeros(1, np.float32)), name="w")

    def added(x, y):
        ops.assign(weight, weight + 1)
        return x + y                                         # the line
    function = ms.jit(lambda x, y: x + y, dynamic=1)
    function(x_of(5, 8), x_of(5, 8))
    for shapes in RNG.integers(2, 9, (20, 2)).tolist():
        if shapes[0] != shapes[1]:
            with pytest.raises(ShapeError) as error:
                function(x_of(shapes[0], 8), x_of(shapes[1], 8))
            assert "test_promises.py" in str(error.value) and "x + y" in str(error.value)


def test_what_can_never_fit_is_an_error_of_the_compiler():
    with pytest.raises(ShapeError, match="matmul"):
        compiled(ops.matmul, dynamic=1)(x_of(3, 4), x_of(5, 3))


def test_a_size_that_data_decides_and_that_does_not_fit_raises_with_the_line():
    def added(x, y):
        return ops.masked_select(x, x > 0) + y
    function = ms.jit(added, fullgraph=True)
    x = ms.Tensor(np.array([1.0, -1.0, 2.0]))
    assert function(x, ms.Tensor(np.ones(2))).shape == (2,)
    with pytest.raises(ShapeError) as error:
        function(x * x, ms.Tensor(np.ones(2)))
    assert "ops.masked_select(x, x > 0) + y" in str(error.value)


# ---------------------------------------------------------------- 5, 7: the first size is no constant

HINTS = {
    "mean by a size": lambda x: x.sum() / x.shape[0],
    "arange": lambda x: ops.arange(x.shape[0]),
    "reshape": lambda x: x.reshape(x.shape[0] * x.shape[1]) + 1,
    "half": lambda x: x[: x.shape[0] // 2],
}


@pytest.mark.parametrize("name", HINTS)
def test_a_size_that_was_seen_first_stands_nowhere_in_the_code(name):
    made = []
    for first in (37, 91):
        function = compiled(HINTS[name], dynamic=1)
        function(x_of(first, 3))
        texts = [line.partition("#")[0] for kernel in function.kernels() for line in kernel.source.splitlines()
                 if '"""' not in line]
        assert texts and not any(str(first) in line for line in texts)
        made.append(texts)
        for n in (9, 1, 0) if name not in ("mean by a size",) else (9, 1):
            x = x_of(n, 3)
            assert np.allclose(function(x).asnumpy(), HINTS[name](x).asnumpy(), atol=1e-5)
        assert len(function.variants) == 1
    assert made[0] == made[1]


def test_a_branch_on_a_size_is_one_artefact_with_both_sides():
    def sides(x):
        if x.shape[0] > 16:
            return ops.tanh(x) * x.shape[0]
        return ops.exp(x) - x.shape[0]
    function = compiled(sides, dynamic=1)
    for n in (16, 17, 1, 0, 40):
        x = x_of(n, 2)
        assert np.allclose(function(x).asnumpy(), sides(x).asnumpy(), rtol=1e-5)
    assert len(function.variants) == 1
    assert any(node.fn.name == "cond" for node in function.graph("optimise").nodes)


# ---------------------------------------------------------------- 9: sizes that data decides

SELECTED = {
    "nonzero": lambda x, w: ops.matmul(ops.nonzero(x > 0).astype(ms.float32), w[:2]).sum(),
    "masked_select": lambda x, w: (ops.masked_select(x, x > 0) ** 2).sum() * w.sum(),
    "mask": lambda x, w: ops.matmul(x[x[:, 0] > 0], w).sum(),
    "masked_select of a mask that broadcasts": lambda x, w: (ops.masked_select(x, x[:1] > 0) ** 2).sum() + w.sum(),
    "unique": lambda x, w: (ops.unique(ops.round(x.reshape(-1)))[0] * w[0, 0]).sum(),
}


@pytest.mark.parametrize("name", SELECTED)
def test_what_data_selects_flows_on_in_the_graph_and_its_gradient_comes_back(name):
    step = ms.value_and_grad(SELECTED[name], (0, 1))
    function = compiled(step)
    for seed in range(4):
        x, w = x_of(9, 4), x_of(4, 3)
        (got, grads), (want, expected) = function(x, w), step(x, w)
        assert np.allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-5)
        for a, b in zip(grads, expected):
            assert np.allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
    assert len(function.variants) == 1


@pytest.mark.parametrize("name", [name for name in SELECTED if name != "unique"])
def test_no_python_runs_between_what_selects_and_what_follows(name):
    function = compiled(ms.value_and_grad(SELECTED[name], (0, 1)))
    function(x_of(9, 4), x_of(4, 3))
    assert not function.variants[0].calls_python


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int64, np.uint16, np.bool_, np.complex64])
@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2), (0, 3), (1, 1), ()])
def test_what_is_selected_is_what_numpy_selects(dtype, shape):
    x = RNG.integers(0, 2, shape).astype(dtype) * (RNG.integers(1, 3, shape) if dtype is not np.bool_ else True)
    x = np.asarray(x, dtype)
    if x.size and np.issubdtype(dtype, np.floating):
        x.flat[0], x.flat[-1] = np.nan, -0.0
    function = compiled(lambda x, mask: (ops.nonzero(x), ops.masked_select(x, mask)))
    for mask in (RNG.random(shape) < 0.5, np.ones(shape, bool), np.zeros(shape, bool)):
        places, values = function(ms.Tensor(x), ms.Tensor(np.asarray(mask)))
        assert np.array_equal(places.asnumpy(), np.argwhere(x).reshape(np.count_nonzero(x), x.ndim))
        assert np.array_equal(values.asnumpy(), x[mask].ravel(), equal_nan=dtype not in (np.bool_,) and x.dtype.kind == "f")


# ---------------------------------------------------------------- 10, 11: memory

def test_allocations_and_their_ends_are_instructions_and_any_sizes_share_one_arena():
    function = compiled(encoder().construct, dynamic=1)
    for batch, length in ((2, 5), (1, 9), (3, 16), (1, 1)):
        layout = layout_of(function, x_of(batch, length, 16))
        assert layout.peak == layout.lower_bound < sum(layout.sizes)
    variant = function.variants[-1]
    kinds = [type(i) for i in walk(variant.compiled.lowered.program.entry.body)]
    assert Alloc in kinds and kinds.count(CallKernel) > 4
    assert Kill in [type(i) for i in walk(variant.executable.linked.program.entry.body)]


# ---------------------------------------------------------------- 19, 21: control flow

def test_a_recurrent_network_runs_any_length_in_one_loop_without_python():
    cell = nn.LSTMCell(6, 5)

    def run(xs):
        h, c = ops.zeros((1, 5)), ops.zeros((1, 5))
        for t in range(xs.shape[0]):
            h, c = cell(xs[t:t + 1], (h, c))
        return h
    function = compiled(run, dynamic=1)
    for length in (5, 60, 1, 17):
        xs = x_of(length, 6)
        assert np.allclose(function(xs).asnumpy(), run(xs).asnumpy(), atol=1e-5)
    (variant,) = function.variants
    assert not variant.calls_python and any(n.fn.name == "while_loop" for n in function.graph("optimise").nodes)
    counts = []
    for xs in (x_of(200, 6), x_of(200, 6), x_of(400, 6)):
        events: list = []
        sys.setprofile(lambda frame, event, arg, to=events: to.append(frame.f_code.co_name) if event == "call" else None)
        function(xs)
        sys.setprofile(None)
        counts.append(len(events))
    assert counts[2] < counts[0] + 20                        # functions of one call, however many steps


# ---------------------------------------------------------------- 23: training

def test_thirty_lengths_of_a_training_step_with_adamw_are_one_compile():
    def trained(jitted):
        np.random.seed(3)
        ms.set_seed(3)
        layer = encoder()
        draw = np.random.default_rng(8)
        for p in layer.trainable_params():
            p.set_data(ms.Tensor(draw.normal(size=p.shape).astype(np.float32) * 0.2))
        optimizer = nn.AdamWeightDecay(layer.trainable_params(), 1e-2, weight_decay=0.01)
        gradient = ms.value_and_grad(lambda x: (layer(x) ** 2).sum() / x.shape[0], None, optimizer.parameters)

        def step(x):
            loss, gradients = gradient(x)
            optimizer(gradients)
            return loss
        step = ms.jit(step, fullgraph=True, dynamic=1) if jitted else step
        losses = [float(step(ms.Tensor(draw.normal(size=(b, n, 16)).astype(np.float32))))
                  for b, n in zip(draw.integers(1, 4, lengths), range(1, lengths + 1))]
        return losses, step
    lengths = 30
    (got, step), (want, _) = trained(True), trained(False)
    assert np.allclose(got, want, rtol=2e-2)
    assert np.allclose(got[:6], want[:6], rtol=1e-3)
    assert len(step.compiled.variants) == 1


def test_a_cotangent_of_dynamic_shape_is_an_argument():
    def pulled(x, sens):
        out, pull = ms.vjp(lambda x: ops.tanh(x) ** 2, x)
        return out, pull(sens)
    function = compiled(pulled, dynamic=1)
    for n in (3, 7, 1, 0):
        x, sens = x_of(n, 2), x_of(n, 2)
        for a, b in zip(function(x, sens), pulled(x, sens)):
            a, b = (v[0] if isinstance(v, tuple) else v for v in (a, b))
            assert np.allclose(a.asnumpy(), b.asnumpy(), atol=1e-5)
    assert len(function.variants) == 1


# ---------------------------------------------------------------- declarations

class Scaled(nn.Cell):
    def construct(self, x):
        return ops.softmax(x * 2, 0)


def test_declared_sizes_are_open_from_the_first_call():
    net = Scaled()
    net.set_inputs(ms.Tensor(shape=[None, 3], dtype=ms.float32))
    function = compiled_cell(net)
    for n in (4, 9, 1):
        x = x_of(n, 3)
        assert np.allclose(function(x).asnumpy(), net(x).asnumpy(), atol=1e-6)
    assert len(function.variants) == 1


def test_a_rank_that_is_left_open_has_a_graph_for_each_rank_and_none_for_each_size():
    net = Scaled()
    net.set_inputs(ms.Tensor(dtype=ms.float32))
    function = compiled_cell(net)
    for shape in ((4, 3), (9, 2), (5, 2, 2), (6, 1, 3), (1, 1)):
        assert np.allclose(function(x_of(*shape)).shape, shape)
    assert len(function.variants) <= 4


# ---------------------------------------------------------------- 28: what tells calls apart

def test_which_sizes_are_equal_is_part_of_a_signature():
    function = compiled(lambda x: x + x.T, dynamic=1)
    assert function(x_of(3, 3)).shape == function(x_of(3, 3)).shape
    with pytest.raises(ShapeError):
        function(x_of(3, 4))
    assert function(x_of(5, 5)).shape == (5, 5)
