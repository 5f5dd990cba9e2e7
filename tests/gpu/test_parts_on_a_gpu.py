"""On a machine with a GPU: convolutions, rows of all lengths, copies beside work, captured calls, open sizes, eager gradients."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite import dataset as ds
from mindlite.backend.cuda.driver import libcuda
from mindlite.common.config import config
from mindlite.functional import runtime

pytestmark = pytest.mark.skipif(libcuda() is None and config.cuda != "simulator", reason="there is no NVIDIA driver")
rng = np.random.default_rng(1)
TOLERANCE = {"float64": 1e-11, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


@pytest.fixture(autouse=True)
def on_the_cpu_again():
    yield
    ms.set_context(device_target="CPU")


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def same(made, want, tolerance):
    """Arrays that agree to a part of the largest number in them."""
    for a, b in zip(leaves(made), leaves(want), strict=True):
        assert a.device == "GPU:0" and a.shape == b.shape and a.dtype == b.dtype
        a, b = (t.asnumpy().astype(np.float64) for t in (a, b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(b).max(initial=0)))


CONVOLUTIONS = {                                             # name: shapes of x and the weights, what conv2d is given
    "3 x 3": ((2, 3, 16, 15), (8, 3, 3, 3), {"pad_mode": "pad", "padding": 1}),
    "1 x 1": ((2, 64, 16, 15), (32, 64, 1, 1), {}),
    "7 x 7 with strides": ((2, 3, 33, 32), (16, 3, 7, 7), {"stride": 2, "pad_mode": "pad", "padding": 3}),
    "strides that differ": ((2, 4, 7, 6), (6, 4, 3, 2), {"stride": (2, 1), "pad_mode": "pad", "padding": (1, 1, 0, 0)}),
    "dilated": ((2, 3, 9, 8), (4, 3, 3, 3), {"dilation": (1, 2), "pad_mode": "pad", "padding": (1, 1, 2, 2)}),
    "groups": ((2, 4, 6, 6), (6, 2, 3, 3), {"groups": 2, "pad_mode": "pad", "padding": 1}),
    "depthwise": ((1, 4, 8, 8), (4, 1, 3, 3), {"groups": 4, "stride": 2, "pad_mode": "pad", "padding": 1}),
    "borders that differ": ((1, 2, 5, 5), (3, 2, 2, 2), {"pad_mode": "same"}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_convolution_and_its_gradients_give_the_cpus_numbers(name, dtype):
    x, w, facts = CONVOLUTIONS[name]
    operands = [Tensor(rng.standard_normal(shape), getattr(ms, dtype)) for shape in (x, w)]

    def program(x, w):
        return ops.conv2d(x, w, **facts), ms.grad(lambda x, w: (ops.conv2d(x, w, **facts) * 0.5).sum(), (0, 1))(x, w)
    want = ms.jit(program, fullgraph=True)(*operands)
    ms.set_context(device_target="GPU")
    jitted = ms.jit(program, fullgraph=True)
    for _ in range(4):                                       # launched, captured, replayed
        same(jitted(*operands), want, TOLERANCE[dtype])


ROWS = {
    "softmax": lambda x, g: ops.softmax(x, -1) * g,
    "log_softmax": lambda x, g: ops.log_softmax(x, -1) * g,
    "layer_norm": lambda x, g: ops.layer_norm(x, (x.shape[-1],), g, g),
    "rms_norm": lambda x, g: ops.rms_norm(x, g)[0],
    "rows less their mean": lambda x, g: (x - x.mean(-1, keep_dims=True)) * g,
}


@pytest.mark.parametrize("columns", [1, 3, 31, 64, 100, 768, 1000, 1001, 4096, 8192, 8196, 20001])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_and_their_gradients_give_the_cpus_numbers(name, dtype, columns):
    x, g = (Tensor(rng.standard_normal(shape), getattr(ms, dtype)) for shape in ((37, columns), (columns,)))

    def program(x, g):
        return ROWS[name](x, g), ms.grad(lambda x, g: (ROWS[name](x, g) * x).sum(), (0, 1))(x, g)
    want = ms.jit(program, fullgraph=True)(x, g)
    ms.set_context(device_target="GPU")
    same(ms.jit(program, fullgraph=True)(x, g), want, {"float32": 1e-4, "float64": 1e-10, "bfloat16": 5e-2}[dtype])


def test_rows_that_begin_at_any_address_give_the_cpus_numbers():
    whole = rng.standard_normal((65, 1024)).astype(np.float32)
    ms.set_context(device_target="GPU")
    x = Tensor(whole).to("GPU")
    jitted = ms.jit(lambda x: ops.softmax(x, -1), fullgraph=True, dynamic=1)
    for skip in range(1, 9):
        part = x.reshape(-1)[skip:skip + 64 * 1024].reshape(64, 1024)
        want = whole.reshape(-1)[skip:skip + 64 * 1024].reshape(64, 1024).astype(np.float64)
        want = np.exp(want - want.max(-1, keepdims=True))
        np.testing.assert_allclose(jitted(part).asnumpy(), want / want.sum(-1, keepdims=True), rtol=1e-5)


def test_copies_that_come_while_kernels_run_are_whole():
    ms.set_context(device_target="GPU")
    weight = Tensor(rng.standard_normal((2048, 2048)).astype(np.float32) / 50).to("GPU")
    heavy = ms.jit(lambda w, x: ops.matmul(ops.matmul(ops.matmul(x, w), w), w).sum() + x[0, 0], fullgraph=True)
    batches = [rng.standard_normal((512, 2048)).astype(np.float32) for _ in range(24)]
    made = [heavy(weight, Tensor(batch).to("GPU")) for batch in batches]          # more than both buffers hold
    arrays = [Tensor(batch).to("GPU") + 0.0 for batch in batches]
    for batch, array, value in zip(batches, arrays, made):
        np.testing.assert_array_equal(array.asnumpy(), batch)
        want = (batch.astype(np.float64) @ np.linalg.matrix_power(weight.asnumpy().astype(np.float64), 3)).sum() + batch[0, 0]
        np.testing.assert_allclose(float(value), want, rtol=1e-2, atol=1.0)


def test_batches_of_a_dataset_train_as_on_the_cpu():
    x, y = rng.standard_normal((600, 512)).astype(np.float32), rng.integers(0, 10, 600).astype(np.int32)
    first = [Tensor(rng.standard_normal(shape).astype(np.float32) / 20) for shape in ((64, 512), (64,), (10, 64), (10,))]
    losses = []
    for target in ("CPU", "GPU"):
        ms.set_context(device_target=target)
        net = nn.SequentialCell(nn.Dense(512, 64), nn.ReLU(), nn.Dense(64, 10))
        for parameter, value in zip(net.trainable_params(), first):
            parameter.set_data(value.to(target))
        criterion, optimizer = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-3)
        gradient = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)

        def step(x, y):
            loss, grads = gradient(x, y)
            optimizer(grads)
            return loss
        step = ms.jit(step, fullgraph=True)
        data = ds.NumpySlicesDataset((x, y), shuffle=False).batch(50)
        losses.append([float(step(*batch)) for _ in range(3) for batch in data.create_tuple_iterator()])
    np.testing.assert_allclose(*losses, rtol=1e-3, atol=1e-4)


def test_replayed_calls_take_new_numbers_and_new_addresses():
    ms.set_context(device_target="GPU")
    jitted = ms.jit(lambda x, y: (ops.softmax(ops.tanh(x) + y, -1), (x * y).sum(0)), fullgraph=True)
    kept = []
    for call in range(12):
        x, y = (rng.standard_normal((300, 400)).astype(np.float32) for _ in range(2))
        kept.append((x, y, jitted(Tensor(x).to("GPU"), Tensor(y) if call % 3 else Tensor(y).to("GPU"))))
    for x, y, (rows, sums) in kept:
        z = np.exp(np.tanh(x.astype(np.float64)) + y)
        np.testing.assert_allclose(rows.asnumpy(), z / z.sum(-1, keepdims=True), rtol=1e-4)
        np.testing.assert_allclose(sums.asnumpy(), (x.astype(np.float64) * y).sum(0), rtol=1e-4, atol=1e-3)


def test_one_variant_serves_all_lengths():
    w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((64, 64), (64,)))
    program = ms.jit(lambda x, w, b: ops.softmax(ops.matmul(x, w) + b, -1), fullgraph=True, dynamic=1)
    lengths = [int(n) for n in rng.integers(1, 700, 40)]
    inputs = [rng.standard_normal((n, 64)).astype(np.float32) for n in lengths]
    want = [ms.jit(lambda x, w, b: ops.softmax(ops.matmul(x, w) + b, -1), dynamic=1)(*map(Tensor, (x, w, b))) for x in inputs]
    ms.set_context(device_target="GPU")
    there = [Tensor(a).to("GPU") for a in (w, b)]
    made = [program(Tensor(x).to("GPU"), *there) for x in inputs]
    same(made, want, 1e-4)
    assert len(program.variants) == 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_eager_gradients_are_the_cpus(dtype):
    x, w = (Tensor(rng.standard_normal(shape), getattr(ms, dtype)) for shape in ((64, 96), (96, 32)))

    def function(x, w):
        y = ops.relu(ops.matmul(x, w))
        return (ops.softmax(y, -1) * ops.tanh(y)).sum() + ops.concat((y, y * 2), 0).mean()
    want = ms.value_and_grad(function, (0, 1))(x, w)
    ms.set_context(device_target="GPU")
    there = [t.to("GPU") for t in (x, w)]
    for _ in range(3):
        same(ms.value_and_grad(function, (0, 1))(*there), want, TOLERANCE[dtype])


def test_nothing_waits_between_steps():
    ms.set_context(device_target="GPU")
    x = Tensor(rng.standard_normal((4096, 4096)).astype(np.float32)).to("GPU")
    heavy = ms.jit(lambda x: ops.matmul(ops.matmul(x, x), ops.matmul(x, x)) * 1e-6, fullgraph=True)
    for _ in range(3):
        heavy(x)
    runtime.synchronize()
    first, last = (runtime.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(20):
        heavy(x)
    last.record()
    assert not last.query()                                  # all calls are made, and work is left
    last.synchronize()
