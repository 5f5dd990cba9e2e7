"""A device whose memory Python cannot read: control flow, sizes that depend on data, Python segments, eager mode."""
import numpy as np
import pytest
from far_cpu import FAR, far_cpu

import mindlite as ms
from mindlite import Parameter, Tensor, ops
from mindlite.common.config import config
from mindlite.common.device import Device
from mindlite.common.errors import DeviceError, InternalError
from mindlite.compile import flow as F
from mindlite.compile.executable import Executable
from mindlite.compile.flow_builder import FlowBuilder

X = np.linspace(-1, 1, 12).astype(np.float32).reshape(3, 4)


@pytest.fixture(params=["native", "python", "native, verified"])
def far(request):
    before = config.set(printer=request.param.partition(",")[0], verify="verified" in request.param)
    try:
        with far_cpu() as driver:
            yield driver
    finally:
        config.set(**before)


def branch(x):
    if x.sum() > 0:
        return ops.relu(x), x.shape[0]
    return x * 2, x.shape[1]


def loop(x):
    i = 0
    while x.sum() < 100:
        x = x * 2 + 1
        i = i + 1
    return x, i


def gradient_of_a_loop(x):
    def f(x):
        for _ in range(5):
            x = ops.tanh(x) * x + ops.sin(x)
        return x.sum()
    return ms.grad(f)(x)


def recursion(x):
    def halve(x, n):
        if n == 0:
            return x
        return halve(x / 2 + 1, n - 1)
    return halve(x, x.shape[0] + 2)


def sizes_of_data(x):
    found = ops.masked_select(x, x > 0)
    return ops.tanh(found) * 2, found.shape[0]


def without_a_kernel(x):
    return ops.tanh(ops.unique(ops.floor(x))[0]) + 1


def constants(x):
    return x + Tensor(np.arange(4, dtype=np.float32)), ops.ones((2, 2), ms.float32)


def numbers(x):
    total = float(x.sum()) if False else x.sum().item()
    return x * total, ops.full((2,), total)


def views(x):
    y = x.reshape(4, 3)
    return y[1:] @ x[:, :2], x.T, y


def raises_with_a_tensor(x):
    total = x.sum()
    if total > 1000:
        raise ValueError(total)
    return ops.unique(total.reshape(1))[0]                   # the copy for the exception was made where it is raised


PROGRAMS = [raises_with_a_tensor, branch, loop, gradient_of_a_loop, recursion, sizes_of_data, without_a_kernel, constants,
            numbers, views]


def flat(value):
    return [part for v in value for part in flat(v)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_gives_there_what_it_gives_here(program, far):
    ms.set_context(device_target="CPU")
    expected = flat(ms.jit(program)(Tensor(X)))
    ms.set_context(device_target="FAR")
    compiled = ms.jit(program)
    for x in (Tensor(X), Tensor(X).to("FAR"), Tensor(X)):
        made = flat(compiled(x))
        assert len(made) == len(expected)
        for a, b in zip(made, expected):
            if isinstance(b, Tensor):
                assert a.shape == b.shape and a.dtype == b.dtype and np.allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)
            else:
                assert type(a) is type(b) and a == pytest.approx(b)
    assert far.counts["launches"] and not far.taken


def test_a_predicate_is_one_copy_out_and_a_wait(far):
    compiled = ms.jit(branch, fullgraph=True)
    x = Tensor(X).to("FAR")
    compiled(x)
    far.wait()
    far.counts.clear()
    compiled(x)
    assert (far.counts["out"], far.counts["waits"], far.counts["in"]) == (1, 1, 0)


def test_a_variant_is_for_where_its_arguments_lie_and_its_kernels_run(far):
    compiled = ms.jit(lambda x: ops.tanh(x) + 1, fullgraph=True)
    for _ in range(4):
        assert compiled(Tensor(X)).device == "FAR:0"
    for _ in range(4):
        assert compiled(Tensor(X).to("FAR")).device == "FAR:0"
    ms.set_context(device_target="CPU")
    for _ in range(4):
        assert compiled(Tensor(X)).device == "CPU"
    ms.set_context(device_target="FAR", device_id=1)
    assert compiled(Tensor(X)).device == "FAR:1" and len(compiled.variants) == 4


def test_the_fast_path_of_the_cpu_asks_where_kernels_run():
    compiled = ms.jit(lambda x: x * 3, fullgraph=True)
    for _ in range(5):
        compiled(Tensor(X))
    with far_cpu():
        assert compiled(Tensor(X)).device == "FAR:0"
        ms.set_context(device_target="CPU")
        for _ in range(5):
            assert compiled(Tensor(X)).device == "CPU"
        ms.set_context(device_target="FAR")
        assert compiled(Tensor(X)).device == "FAR:0"
    assert compiled(Tensor(X)).device == "CPU"


def test_a_parameter_moves_at_the_first_call_and_is_updated_there(far):
    w = Parameter(np.ones(4, np.float32), name="w")

    def step(x):
        w.set_data(w + x.sum(0))
        return w * 2
    compiled = ms.jit(step, fullgraph=True)
    compiled(Tensor(X))
    address = w.storage.address
    far.counts.clear()
    out = compiled(Tensor(X))
    assert w.device == "FAR:0" and w.storage.address == address and far.counts["in"] == 1 and not far.counts["out"]
    assert np.allclose(w.asnumpy(), 1 + 2 * X.sum(0)) and np.allclose(out.asnumpy(), 2 * w.asnumpy())


def test_single_operators_run_where_their_operands_lie(far):
    x = Tensor(X).to("FAR")
    far.counts.clear()
    y = ops.softmax(ops.tanh(x @ x.T) * 2.0 + 1, -1)
    z = (x[1:, ::2] + x[:2, 1:3]).sum()
    assert y.device == z.device == "FAR:0" and not far.counts["out"] and not far.counts["waits"]
    a = np.tanh(X @ X.T) * 2 + 1
    assert np.allclose(y.asnumpy(), np.exp(a) / np.exp(a).sum(-1, keepdims=True), 1e-5)
    assert float(z) == pytest.approx((X[1:, ::2] + X[:2, 1:3]).sum(), abs=1e-5)
    assert (Tensor(X) + x).device == "FAR:0" and ops.unique(ops.floor(x))[0].tolist() == [-1, 0, 1]
    x[0] = 5.0
    x[1, 2] = Tensor(7.0)
    assert x.asnumpy()[0].tolist() == [5] * 4 and x.asnumpy()[1, 2] == 7 and x.device == "FAR:0"


def test_gradients_of_single_operators_are_made_where_they_ran(far):
    def f(x, y):
        z = ops.tanh(x @ x.T) * y[:, :3]
        z[0] = z[1] * 2
        return z.sum() + ops.softmax(x, -1)[0, 1]
    here = Tensor(X), Tensor(X * 2)
    expected = [g.asnumpy() for g in ms.grad(f, (0, 1))(*here)]
    for x, y in [(t.to("FAR") for t in here), (here[0].to("FAR"), here[1]), (here[0], here[1].to("FAR"))]:
        for _ in range(3):                                   # by operators, as one Flow, as a Flow that is known
            for g, e in zip(ms.grad(f, (0, 1))(x, y), expected):
                assert np.allclose(g.asnumpy(), e, 1e-5, 1e-6)
    x = here[0].to("FAR")
    second = ms.grad(lambda x: (ms.grad(lambda x: (ops.tanh(x) * x).sum())(x) ** 2).sum())
    assert second(x).device == "FAR:0" and np.allclose(second(x).asnumpy(), second(here[0]).asnumpy(), 1e-4, 1e-5)
    value, tangent = ms.jvp(lambda x: ops.sin(x) * x, x, x)
    assert tangent.device == "FAR:0" and np.allclose(tangent.asnumpy(), (np.cos(X) * X + np.sin(X)) * X, 1e-5, 1e-6)


def test_a_gradient_of_single_operators_copies_its_first_cotangent_in_and_waits_for_nothing(far):
    seen, x = [], Tensor(X).to("FAR")
    hooked = ms.grad(lambda x: (x * 2).sum())
    gradient = ms.grad(lambda x: (ops.tanh(x) * x).sum())
    for _ in range(3):
        gradient(x), hooked(x)
    far.wait()
    far.counts.clear()
    gradient(x)
    assert (far.counts["in"], far.counts["out"], far.counts["waits"]) == (1, 0, 0)
    handle = x.register_hook(lambda g: seen.append(g.device))
    hooked(x)
    handle.remove()
    assert seen == ["FAR:0"]


def test_a_compiled_function_on_a_tape_runs_and_goes_back_where_its_arguments_lie(far):
    w = Parameter(np.linspace(0, 1, 8).astype(np.float32).reshape(4, 2), name="w")
    count = Parameter(np.zeros((), np.float32), name="count", requires_grad=False)

    def layer(x):
        count.set_data(count + 1)
        return ops.tanh(x @ w)
    compiled = ms.jit(layer, fullgraph=True)

    def gradient(layer, x):
        return ms.value_and_grad(lambda x: (layer(x) * 3).sum() + layer(x[:2]).sum(), 0, [w])(x)
    ms.set_context(device_target="CPU")
    expected, (expected_x, (expected_w,)) = gradient(layer, Tensor(X))
    ms.set_context(device_target="FAR")
    for x in (Tensor(X), Tensor(X).to("FAR")):
        for _ in range(3):
            value, (dx, (dw,)) = gradient(compiled, x)
            assert dw.device == "FAR:0" and np.allclose(value.asnumpy(), expected.asnumpy(), 1e-5)
            assert np.allclose(dx.asnumpy(), expected_x.asnumpy(), 1e-5, 1e-6)
            assert np.allclose(dw.asnumpy(), expected_w.asnumpy(), 1e-5, 1e-6)
    assert count.asnumpy() == 2 + 2 * 6 and count.device == "FAR:0"


def test_what_cannot_be_said_across_devices_is_refused(far):
    x = Tensor(X).to("FAR")
    with pytest.raises(DeviceError, match="lie on FAR:0 and FAR:1"):
        x + Tensor(X).to("FAR:1")
    with pytest.raises(ValueError, match="no device 'FAR:2'|no device FAR:2"):
        x.to("FAR:2")
    assert x.to("CPU").asnumpy().tolist() == X.tolist()


def test_a_tensor_of_no_axes_has_none_there(far):
    x = Tensor(np.float32(7)).to("FAR")
    assert x.shape == () and (x * 2).shape == () and x.asnumpy() == 7


def test_the_target_of_the_device_chooses_its_kernels(far):
    chosen = far.target.chosen
    compiled = ms.jit(lambda x: [ops.tanh(x @ x.T * n) for n in range(1, 7)] + [ops.topk(x, 2)], fullgraph=True)
    compiled(Tensor(X))
    assert chosen["compiled"] and chosen["matmul"] and not chosen["topk"]      # it has none
    program = compiled.variants[-1].compiled.lowered.program
    assert {i.kernel.device for i in F.walk(program.entry.body) if isinstance(i, F.CallKernel)} == {"FAR"}
    before = dict(chosen)
    ms.set_context(device_target="CPU")
    assert np.allclose(compiled(Tensor(X))[-1][0].asnumpy(), np.sort(X)[:, :1:-1])
    assert dict(chosen) == before                            # the CPU asks the CPU's Target


def test_kernels_that_stay_on_the_cpu_are_those_of_its_target(far):
    compiled = ms.jit(lambda x, i: ops.nll_loss(ops.log_softmax(x, -1), i), fullgraph=True)
    labels = Tensor(np.array([0, 3, 1], np.int32))
    compiled(Tensor(X).to("FAR"), labels)
    program = compiled.variants[-1].compiled.lowered.program
    calls = [i for i in F.walk(program.entry.body) if isinstance(i, F.CallKernel)]
    assert {(i.device and i.device.kind, i.kernel.device) for i in calls} <= {(None, "CPU"), ("FAR", "FAR")}
    assert any(i.device == FAR for i in calls)


def test_a_failure_on_the_device_is_raised_by_who_waits(far):
    far.work.put(lambda: far.real(12345))
    x = ms.jit(lambda x: x + 1)(Tensor(X))                   # asks, and waits for nothing
    with pytest.raises(DeviceError, match="no memory at 3039"):
        x.asnumpy()


def test_a_failure_that_a_run_meets_is_raised_by_the_call(far):
    compiled = ms.jit(branch, fullgraph=True)
    x = Tensor(X).to("FAR")
    compiled(x)
    far.work.put(lambda: far.real(12345))
    with pytest.raises(DeviceError, match="no memory at 3039"):
        compiled(x)                                          # it waits for the predicate
    assert compiled(x)[1] == 4


def test_a_program_that_hands_memory_of_the_cpu_to_a_kernel_of_the_device_is_refused():
    with far_cpu():
        compiled = ms.jit(lambda x: ops.tanh(x), fullgraph=True)
        compiled(Tensor(X))
        program = compiled.variants[-1].compiled.lowered.program
        call = next(i for i in F.walk(program.entry.body) if isinstance(i, F.CallKernel))
        b = FlowBuilder("main")
        x, out = b.param("ptr", "x"), b.param("ptr", "out", device=FAR)
        b.kernel(call.kernel, [x, out, b.const(12)], b.const(12), device=FAR)
        with pytest.raises(InternalError, match="%0 points to memory of CPU, which FAR:0 cannot reach"):
            Executable(F.Program(b.finish()))


def test_the_register_machine_says_that_it_runs_on_the_cpu():
    with far_cpu(), pytest.raises(ValueError, match="the register machine runs on the CPU only"):
        ms.jit(lambda x: x + 1, printer="vm", fullgraph=True)(Tensor(X))


def test_memory_of_the_device_goes_back(far):
    compiled = ms.jit(lambda x: ops.tanh(x @ x.T), fullgraph=True)
    compiled(Tensor(X))
    far.wait()
    before = len(far.blocks)
    for _ in range(20):
        compiled(Tensor(X))
    far.wait()
    assert len(far.blocks) <= before + 1
    assert Device("FAR") == FAR


@pytest.mark.parametrize("place", ["CPU", FAR])
def test_a_setting_that_is_a_tensor_is_read_at_each_call(far, place):
    x, setting = Tensor(X), Tensor(np.float32(0.1))
    for number in (0.1, 0.2, 0.1000001):                     # the last is printed as the first
        setting[...] = number
        made = ops.leaky_relu(x.to(FAR), setting.to(place))
        assert made.asnumpy().tolist() == ops.leaky_relu(x, float(np.float32(number))).tolist()
    with pytest.raises(TypeError, match="'alpha' is a setting, which has no gradient"):
        ms.grad(lambda s: ops.leaky_relu(x.to(FAR), s).sum())(setting.to(place))
