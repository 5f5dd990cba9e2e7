"""The compiled gradient of every network: three printers, one result; freed memory is not read; storage is shared."""
import pytest
from networks import CASES

import mindlite as ms
from mindlite import nn
from mindlite.common import dtype as dt
from mindlite.compile.executable import Executable
from mindlite.mindir.abstract import AbstractTensor, AbstractTuple


def compiled_step(case):
    """(the variant that a network's value_and_grad in float32 has compiled, its run-time arguments)."""
    net, weights, x, labels = case.make(dt.float32)
    criterion = nn.CrossEntropyLoss()
    step = ms.jit(ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, weights))
    variant, leaves, _ = step.compiled.select((x, labels), {})
    return variant, leaves


@pytest.fixture(scope="module", params=CASES, ids=str)
def compiled(request):
    """A network's compiled step; compiled once for all tests of this file."""
    return compiled_step(request.param)


def result_bytes(variant, leaves):
    """The bits of the loss and of all gradients."""
    loss, grads = variant.run(leaves)
    return [t.asnumpy().tobytes() for t in (loss, *grads)]


def test_the_three_printers_and_poisoned_memory_give_the_same_bits(compiled, monkeypatch):
    variant, leaves = compiled
    program = variant.compiled.lowered.program
    expected = result_bytes(variant, leaves)
    traces = []
    for printer in ("native", "vm", "python"):
        for verify in (False, True):
            executable = Executable(program, printer, verify)
            monkeypatch.setattr(variant, "executable", executable)
            assert result_bytes(variant, leaves) == expected, (printer, verify)
            assert result_bytes(variant, leaves) == expected, (printer, verify, "second run")
            if verify:
                traces.append(executable.trace)
    assert traces[0] and traces[0] == traces[1] == traces[2]


def tensors_of(graph):
    """How many tensors the nodes of a graph give."""
    def count(abstract):
        if isinstance(abstract, AbstractTuple):
            return sum(map(count, abstract.elements))
        return isinstance(abstract, AbstractTensor)
    return sum(count(node.abstract) for g in graph.reachable() for node in g.nodes)


def test_storages_are_fewer_than_tensors_and_share_memory_down_to_the_lower_bound(compiled):
    variant, _ = compiled
    plan, tensors = variant.executable.plan, tensors_of(variant.compiled.stages["optimise"])
    layout = plan.layout(())
    print(f"{len(plan.storages)} storages for {tensors} tensors, {sum(layout.sizes)} bytes at {layout.peak} of which "
          f"{layout.lower_bound} live at once")
    assert 0 < len(plan.storages) < 0.6 * tensors
    assert layout.peak < 0.9 * sum(layout.sizes)
    assert layout.lower_bound <= layout.peak <= 1.05 * layout.lower_bound
