"""NVIDIA's libraries out of a Flow, with doubles that compute what NVIDIA's manuals say: results, calls, what is missing."""
import numpy as np
import pytest
from gpus import counted, runs_here, simulated_gpus

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.backend import doctor
from mindlite.backend.cuda import nvidia
from mindlite.backend.cuda.simulated_library import SimulatedLibrary
from mindlite.common import dtype as dt
from mindlite.common.errors import DeviceError

pytestmark = runs_here
rng = np.random.default_rng(3)


def quarters(*shape):
    """Numbers of which every order of a sum gives the same."""
    return (np.round(rng.standard_normal(shape) * 4) / 4).astype(np.float32)


PRODUCTS = {
    "plain": (lambda a, b: ops.matmul(a, b), (5, 7), (7, 9)),
    "right transposed": (lambda a, b: ops.matmul(a, b.T), (5, 7), (9, 7)),
    "left transposed": (lambda a, b: ops.matmul(a.T, b), (7, 5), (7, 9)),
    "stack by matrix": (lambda a, b: ops.matmul(a, b), (2, 3, 5, 7), (7, 9)),
    "stack by stack": (lambda a, b: ops.matmul(a, b), (2, 3, 5, 7), (2, 3, 7, 9)),
    "stack by transposed stack": (lambda a, b: ops.matmul(a, ops.swapaxes(b, -1, -2)), (3, 5, 7), (3, 9, 7)),
    "matrix by stack": (lambda a, b: ops.matmul(a, b), (5, 7), (3, 7, 9)),
    "vector": (lambda a, b: ops.matmul(a, b), (7,), (7, 9)),
    "nothing in between": (lambda a, b: ops.matmul(a, b), (5, 0), (0, 9)),
    "no rows": (lambda a, b: ops.matmul(a, b), (0, 7), (7, 9)),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_products_are_cublas_and_give_the_cpus_numbers(name, dtype):
    program, *shapes = PRODUCTS[name]
    operands = [Tensor(quarters(*shape), getattr(ms, dtype)) for shape in shapes]
    want = ms.jit(program, fullgraph=True)(*operands).asnumpy()
    with simulated_gpus(nvidia=("cublasLt",)) as library:
        jitted = ms.jit(program, fullgraph=True)
        np.testing.assert_array_equal(jitted(*operands).asnumpy(), want)
        out, counts = counted(library, lambda: jitted(*operands))
        assert counts.get("blasLtMatmul", 0) == int(0 not in want.shape and 0 not in shapes[0])
        assert not {"blasLtMatmulAlgoGetHeuristic", "StreamSynchronize", "LaunchKernel"} & set(counts)
        np.testing.assert_array_equal(out.asnumpy(), want)


EPILOGUES = {
    "bias": lambda a, b, c: ops.matmul(a, b) + c,
    "bias+relu": lambda a, b, c: ops.relu(c + ops.matmul(a, b)),
    "bias+gelu": lambda a, b, c: ops.gelu(ops.matmul(a, b) + c, approximate="tanh"),
    "relu": lambda a, b, c: ops.relu(ops.matmul(a, b)),
    "gelu": lambda a, b, c: ops.gelu(ops.matmul(a, b), approximate="tanh"),
}


@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("lead, dtype", [((), "float32"), ((2, 3), "float32"), ((), "float16"), ((2,), "bfloat16")], ids=str)
def test_what_follows_a_product_is_its_epilogue_and_nothing_else_is_launched(name, lead, dtype):
    operands, others = ([Tensor(quarters(*shape), getattr(ms, dtype)) for shape in ((*lead, 5, 7), (7, 9), (9,))]
                        for _ in range(2))
    close = {"float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    reference = ms.jit(EPILOGUES[name], fullgraph=True)
    wants = [reference(*given).asnumpy() for given in (operands, others)]
    with simulated_gpus(nvidia=("cublasLt",)) as library:
        jitted = ms.jit(EPILOGUES[name], fullgraph=True)
        np.testing.assert_allclose(jitted(*operands).asnumpy(), wants[0], rtol=close, atol=close)
        out, counts = counted(library, lambda: jitted(*others))
        assert counts["blasLtMatmul"] == 1 and "LaunchKernel" not in counts
        np.testing.assert_allclose(out.asnumpy(), wants[1], rtol=close, atol=close)      # another bias, at another address


@pytest.mark.parametrize("program", [lambda a, b, c: (lambda y: (y, ops.relu(y)))(ops.matmul(a, b)),
                                     lambda a, b, c: ops.matmul(a, b) + a[:, :1],
                                     lambda a, b, c: ops.gelu(ops.matmul(a, b) + c)], ids=["read twice", "no bias", "by erf"])
def test_what_is_no_epilogue_stays_a_kernel(program):
    operands = [Tensor(quarters(*shape)) for shape in ((5, 7), (7, 9), (9,))]
    want = ms.jit(program, fullgraph=True)(*operands)
    with simulated_gpus(nvidia=("cublasLt",)) as library:
        made, counts = counted(library, lambda: ms.jit(program, fullgraph=True)(*operands))
        assert counts["LaunchKernel"] == counts["blasLtMatmul"] == 1
        for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (made, want))):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6, atol=1e-6)


def test_a_gradient_and_its_gelu_that_is_read_again_are_right():
    x, w, b = (Tensor(quarters(*shape)) for shape in ((5, 7), (7, 9), (9,)))

    def loss(x, w, b):
        return (ops.gelu(ops.matmul(x, w) + b, approximate="tanh") ** 2).sum()
    gradient = ms.value_and_grad(loss, (0, 1, 2))
    want = ms.jit(lambda *a: gradient(*a), fullgraph=True)(x, w, b)
    with simulated_gpus(nvidia=("cublasLt",)):
        made = ms.jit(lambda *a: gradient(*a), fullgraph=True)(x, w, b)
        for got, expected in zip((made[0], *made[1]), (want[0], *want[1])):
            np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=2e-5, atol=1e-5)


def test_open_sizes_have_a_plan_for_each_size_and_one_flow():
    jitted = ms.jit(lambda a, b: ops.matmul(a, b) * 2.0, fullgraph=True, dynamic=True)
    w = quarters(7, 9)
    with simulated_gpus(nvidia=("cublasLt",)) as library:
        for rows in (2, 5, 3, 2, 5, 11, 4, 6, 2):
            x = quarters(rows, 7)
            np.testing.assert_array_equal(jitted(Tensor(x), Tensor(w)).asnumpy(), x @ w * 2)
        variants = len(jitted.variants)
        _, counts = counted(library, lambda: jitted(Tensor(quarters(5, 7)), Tensor(w)))
        assert variants <= 2 and counts["blasLtMatmul"] == 1 and "blasLtMatmulAlgoGetHeuristic" not in counts


def test_each_device_has_a_plan_of_its_own():
    with simulated_gpus(nvidia=("cublasLt",)) as library:
        jitted, x = ms.jit(lambda a: ops.matmul(a, a), fullgraph=True), quarters(6, 6)
        for device in (0, 1, 0):
            ms.set_context(device_id=device)
            out = jitted(Tensor(x))
            assert out.device == f"GPU:{device}"
            np.testing.assert_array_equal(out.asnumpy(), x @ x)
        assert library.counts["cublasLtCreate"] == 2


def test_tf32_is_used_only_where_it_is_asked_for():
    x = rng.standard_normal((6, 6)).astype(np.float32)
    for tf32 in (False, True):
        with simulated_gpus(nvidia=("cublasLt",), tf32=tf32):
            error = np.abs(ms.jit(lambda a: ops.matmul(a, a), fullgraph=True)(Tensor(x)).asnumpy() - x @ x).max()
            assert (error > 1e-5) == tf32


def test_a_refusal_of_the_library_is_raised_with_its_name_and_the_users_line():
    with simulated_gpus(nvidia=("cublasLt",)) as library:
        jitted = ms.jit(lambda a: ops.matmul(a, a), fullgraph=True)
        x = Tensor(quarters(6, 6)).to("GPU")
        jitted(x)
        library.installed["cublasLt"].objects.clear()
        with pytest.raises(DeviceError, match="cublasLt: .*CUBLAS_STATUS_INVALID_VALUE"):
            jitted(x)


def test_without_the_library_our_own_kernel_computes_and_the_doctor_says_what_is_missing(monkeypatch):
    with simulated_gpus() as library:
        _, counts = counted(library, lambda: ms.jit(lambda a: ops.matmul(a, a), fullgraph=True)(Tensor(quarters(6, 6))))
        assert counts["LaunchKernel"] == 1 and "blasLtMatmul" not in counts
    monkeypatch.setattr(doctor.driver, "libcuda", SimulatedLibrary)
    rows = {name: (state, advice) for name, state, advice in doctor.report()}
    state, advice = rows["cublasLt"]
    assert state == "missing" and "pip install nvidia-cublas-cu12" in advice and "matrix products" in advice
    state, advice = rows["cudnn"]
    assert state == "missing" and "pip install nvidia-cudnn-cu12" in advice and "convolutions" in advice
    monkeypatch.setattr(doctor.driver, "libcuda", lambda: SimulatedLibrary(nvidia=("cublasLt", "cudnn")))
    rows = dict((name, advice) for name, _, advice in doctor.report())
    assert (rows["cublasLt"], rows["cudnn"]) == ("", "")


def test_a_library_is_looked_for_in_the_wheels_first():
    assert all(place in nvidia.places(name) for name, library in nvidia.LIBRARIES.items() for place in library.files)
    assert nvidia.advice("cublasLt", "13.0") == "pip install nvidia-cublas"


def test_a_layer_trains_with_the_cpus_losses():
    losses = []
    for gpu in (False, True):
        ms.set_seed(0)
        net = nn.SequentialCell(nn.Dense(7, 16, activation="relu"), nn.Dense(16, 3))
        optimizer = nn.SGD(net.trainable_params(), 0.1)
        x, labels = Tensor(quarters(8, 7)), Tensor(np.arange(8) % 3, dt.int32)
        gradient = ms.value_and_grad(lambda x, y: nn.CrossEntropyLoss()(net(x), y), None, optimizer.parameters)

        def step(x, y):
            loss, grads = gradient(x, y)
            optimizer(grads)
            return loss
        rng.bit_generator.state = np.random.default_rng(4).bit_generator.state
        for p in net.get_parameters():
            p.set_data(Tensor(rng.standard_normal(p.shape).astype(np.float32) * 0.3))
        x = Tensor(quarters(8, 7))
        if not gpu:
            losses.append([float(ms.jit(step, fullgraph=True)(x, labels)) for _ in range(3)])
            continue
        with simulated_gpus(nvidia=("cublasLt",)) as library:
            losses.append([float(ms.jit(step, fullgraph=True)(x, labels)) for _ in range(3)])
            assert library.counts["cublasLtMatmul"] >= 9
    np.testing.assert_allclose(*losses, rtol=1e-5)


CONVOLUTIONS = {                                             # name: shapes of x and the weights, what Conv2D's function is given
    "3 x 3": ((2, 3, 6, 5), (4, 3, 3, 3), {"pad_mode": "pad", "padding": 1}),
    "1 x 1": ((2, 3, 6, 5), (4, 3, 1, 1), {}),
    "strides": ((2, 4, 7, 6), (6, 4, 3, 2), {"stride": (2, 1), "pad_mode": "pad", "padding": (1, 1, 0, 0)}),
    "dilated": ((2, 3, 9, 8), (4, 3, 3, 3), {"dilation": (1, 2), "pad_mode": "pad", "padding": (1, 1, 2, 2)}),
    "groups": ((2, 4, 6, 6), (6, 2, 3, 3), {"groups": 2, "pad_mode": "pad", "padding": 1}),
    "depthwise": ((1, 4, 8, 8), (4, 1, 3, 3), {"groups": 4, "stride": 2, "pad_mode": "pad", "padding": 1}),
}


def convolution_and_gradients(facts):
    """A function of x and weights: the convolution, and gradients of both."""
    def convolve(x, w):
        return ops.conv2d(x, w, **facts)

    def program(x, w):
        out = convolve(x, w)
        return out, ms.grad(lambda x, w: (convolve(x, w) * 0.5).sum(), (0, 1))(x, w)
    return program


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_convolutions_are_cudnn_and_give_the_cpus_numbers(name, dtype):
    x, w, facts = CONVOLUTIONS[name]
    operands = [Tensor(quarters(*shape), getattr(ms, dtype)) for shape in (x, w)]
    program = convolution_and_gradients(facts)
    want = ms.jit(program, fullgraph=True)(*operands)
    with simulated_gpus(nvidia=("cudnn",)) as library:
        jitted = ms.jit(program, fullgraph=True)
        jitted(*operands)
        out, counts = counted(library, lambda: jitted(*operands))
        names = [f"dnnConvolution{kind}" for kind in ("Forward", "BackwardData", "BackwardFilter")]
        assert [counts.get(kind) for kind in names] == [1, 1, 1] and "StreamSynchronize" not in counts
        assert not any("Algorithm" in kind or "Descriptor" in kind for kind in counts)        # they are decided once
        for got, expected in zip((out[0], *out[1]), (want[0], *want[1])):
            np.testing.assert_array_equal(got.asnumpy(), expected.asnumpy())


def test_a_convolution_that_cudnn_does_not_have_is_our_own():
    x, w = Tensor(quarters(1, 2, 5, 5)), Tensor(quarters(3, 2, 2, 2))
    program = convolution_and_gradients({"pad_mode": "same"})                               # one column more on one side
    want = ms.jit(program, fullgraph=True)(x, w)
    with simulated_gpus(nvidia=("cudnn",)) as library:
        out = ms.jit(program, fullgraph=True)(x, w)
        assert not any(name.startswith("cudnnConvolution") for name in library.counts)
        for got, expected in zip((out[0], *out[1]), (want[0], *want[1])):
            np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_without_cudnn_convolutions_of_half_precision_are_kernels_too(dtype):
    x, w = (Tensor(quarters(*shape), getattr(ms, dtype)) for shape in ((2, 3, 6, 5), (4, 3, 3, 3)))
    program = convolution_and_gradients({"pad_mode": "pad", "padding": 1})
    want = ms.jit(program, fullgraph=True)(x, w)
    with simulated_gpus() as library:
        jitted = ms.jit(program, fullgraph=True)
        out = jitted(x, w)
        _, counts = counted(library, lambda: jitted(x, w))
        assert counts["LaunchKernel"] >= 3 and "StreamSynchronize" not in counts
        for got, expected in zip((out[0], *out[1]), (want[0], *want[1])):
            np.testing.assert_allclose(got.asnumpy().astype(np.float32), expected.asnumpy().astype(np.float32), rtol=1e-2)


def test_open_pictures_have_a_plan_of_cudnn_for_each_size_and_empty_ones_none():
    jitted = ms.jit(lambda x, w: ops.conv2d(x, w, pad_mode="pad", padding=1), fullgraph=True, dynamic=True)
    w = quarters(4, 3, 3, 3)
    with simulated_gpus(nvidia=("cudnn",)) as library:
        for n, size in ((1, 5), (3, 6), (2, 4), (1, 5), (0, 5), (3, 6)):
            x = quarters(n, 3, size, size + 1)
            want = ops.conv2d(Tensor(x), Tensor(w), pad_mode="pad", padding=1) if n else np.zeros((0, 4, size, size + 1))
            np.testing.assert_array_equal(jitted(Tensor(x), Tensor(w)).asnumpy(), np.asarray(want))
        assert library.counts["cudnnConvolutionForward"] == 5


def test_convolutions_round_to_tf32_only_where_it_is_asked_for():
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 6, 5), (4, 3, 3, 3)))
    want = ops.conv2d(Tensor(x), Tensor(w)).asnumpy()
    for tf32 in (False, True):
        with simulated_gpus(nvidia=("cudnn",), tf32=tf32):
            made = ms.jit(lambda x, w: ops.conv2d(x, w), fullgraph=True)(Tensor(x), Tensor(w)).asnumpy()
            assert (np.abs(made - want).max() > 1e-5) == tf32


def test_a_refusal_of_cudnn_is_raised_with_its_name():
    with simulated_gpus(nvidia=("cudnn",)) as library:
        jitted, x, w = ms.jit(lambda x, w: ops.conv2d(x, w), fullgraph=True), *(
            Tensor(quarters(*shape)).to("GPU") for shape in ((2, 3, 6, 5), (4, 3, 3, 3)))
        jitted(x, w)
        library.installed["cudnn"].objects.clear()
        with pytest.raises(DeviceError, match="cudnn: .*CUDNN_STATUS_BAD_PARAM"):
            jitted(x, w)
