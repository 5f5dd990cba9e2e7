"""The five networks on a simulated GPU: forward, backward and Adam in one compiled step, with the CPU's numbers."""
import importlib.util

import numpy as np
import pytest
from gpus import assembled, counted, ptxas, runs_here, simulated_gpus
from networks import CASES
from numba_simulator import compiled_text
from test_kernels import ARCHITECTURES

import mindlite as ms
from mindlite import nn
from mindlite.backend.cuda.code import ptx
from mindlite.backend.cuda.numba_source import cuda_source
from mindlite.backend.cuda.simulated_library import SIMULATED
from mindlite.backend.cuda.target import CUDA
from mindlite.common import dtype as dt
from mindlite.compile import flow as F

pytestmark = runs_here
SMALL = ("lenet", "transformer", "lstm")


def training(case, rows):
    """(a compiled step of training, the batch, Parameters of the network and the optimiser)."""
    net, weights, x, labels = case.make(dt.float32)
    criterion, optimizer = nn.CrossEntropyLoss(), nn.Adam(weights, 1e-2)
    gradient = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, optimizer.parameters)

    def step(x, labels):
        loss, grads = gradient(x, labels)
        optimizer(grads)
        return loss
    return ms.jit(step, fullgraph=True), (x[:rows], labels[:rows]), [*net.get_parameters(), *optimizer.get_parameters()]


def kernels_of(jitted):
    """The Kernels in the latest variant's Flow."""
    program = jitted.variants[-1].compiled.lowered.program
    return [i for flow in program.all_flows() for i in F.walk(flow.body) if isinstance(i, F.CallKernel)]


def with_libraries(name):
    """A case that NVIDIA's libraries compute, as far as the simulator has them."""
    case, = [c for c in CASES if c.name == name]
    marks = [] if name == "transformer" else [pytest.mark.slow]
    return pytest.param(case, tuple(SIMULATED), id=f"{name} by libraries", marks=marks)


@pytest.mark.parametrize("case, libraries", [
    *(pytest.param(c, (), id=c.name, marks=[] if c.name in SMALL else [pytest.mark.slow]) for c in CASES),
    *(with_libraries(c.name) for c in CASES)])
def test_a_network_trains_on_a_gpu_as_on_the_cpu(case, libraries):
    step, batch, parameters = training(case, 4)
    expected = [float(step(*batch)) for _ in range(2)]
    state = [p.asnumpy().copy() for p in parameters]
    with simulated_gpus(nvidia=libraries, graphs=bool(libraries)) as library:
        step, batch, parameters = training(case, 4)
        losses = [step(*batch)]
        loss, counts = counted(library, lambda: step(*batch))
        losses.append(loss)
        assert counts["MemcpyHtoD"] == 2 and "StreamSynchronize" not in counts and "MemcpyDtoH" not in counts
        on_cpu = [i for i in kernels_of(step) if i.device is None]
        assert len(on_cpu) <= 1                               # the check that labels, which come from there, are in range
        assert all(p.device == "GPU:0" for p in parameters)
        np.testing.assert_allclose([float(loss) for loss in losses], expected, rtol=2e-5)
        for p, want in zip(parameters, state):
            if libraries and p.name.endswith("in_proj_bias"):
                continue                                      # the keys' gradients are zero but for rounding, which Adam enlarges
            assert np.abs(p.asnumpy() - want).max() <= 3e-3 * max(1e-2, np.abs(want).max()), p.name
        layout = step.variants[-1].executable.plan.layout(())
        (_, peak, bound), = layout.elsewhere
        assert peak <= bound * 1.05


def training_of(case, monkeypatch):
    """(texts, nests) of all kernels of a step of training: as `code.kernel_text` gives them, and as loops."""
    nests, write = [], CUDA.write
    monkeypatch.setattr(CUDA, "write", lambda self, nest: nests.append(nest) or write(self, nest))
    with simulated_gpus() as library:
        step, batch, _ = training(case, 4)
        step(*batch)
        library.target.driver.synchronize(0)
        return library.images, nests


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_kernel_of_a_networks_training_becomes_ptx_without_local_memory(case, monkeypatch, tmp_path):
    images, _ = training_of(case, monkeypatch)
    assert len(images) >= 6
    for texts in images:
        for architecture in ARCHITECTURES:
            text = ptx(texts, architecture)
            assert f".target {architecture}" in text and ".extern" not in text and ".local" not in text
            if ptxas() is not None:
                _, stack, spills = assembled(text, architecture, tmp_path)
                assert stack <= 8 and spills <= 16            # one register, around a quotient of 64 bits (pooling)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_generated_kernel_of_a_networks_training_becomes_ptx_by_numba_cuda(case, monkeypatch, tmp_path):
    _, nests = training_of(case, monkeypatch)
    assert len(nests) >= 6
    done = set()
    for nest in nests:
        text = cuda_source(nest, plain=True)
        if text in done:
            continue
        done.add(text)
        for architecture in ARCHITECTURES:
            number = architecture.removeprefix("sm_")
            made = compiled_text(nest, (int(number[:-1]), int(number[-1])))
            assert f".target {architecture}" in made and ".extern" not in made and ".local" not in made
            if ptxas() is not None:
                assert assembled(made, architecture, tmp_path)[1:] == (0, 0)
