"""The five networks on a device whose memory Python cannot read (tests/devices/far_cpu.py): values and the number of copies."""
import numpy as np
import pytest
from far_cpu import FAR, far_cpu
from networks import CASES

import mindlite as ms
from mindlite import nn
from mindlite.common import dtype as dt
from mindlite.compile import flow as F


def networks(*quick):
    """Those that are compiled in a second or two, the others in the slow run."""
    return pytest.mark.parametrize("case", [c if c.name in quick else pytest.param(c, marks=pytest.mark.slow)
                                            for c in CASES], ids=str)


def counts_of(driver, call):
    """(what the call gives, what was counted while it ran)."""
    driver.wait()
    driver.counts.clear()
    out = call()
    return out, dict(driver.counts)


def kernels_of(jitted):
    """How often kernels are called in the latest variant's Flow, and all on the device."""
    program = jitted.variants[-1].compiled.lowered.program
    calls = [i for flow in program.all_flows() for i in F.walk(flow.body) if isinstance(i, F.CallKernel)]
    assert all(i.device == FAR for i in calls)
    return len(calls)


def has_loops(jitted):
    """True if the latest variant's Flow holds a loop."""
    program = jitted.variants[-1].compiled.lowered.program
    return any(isinstance(i, F.While) for flow in program.all_flows() for i in F.walk(flow.body))


def close(a, b):
    """The same up to the rounding of float32: threads cut work in other places."""
    scale = max(1e-3, np.abs(b).max())
    return np.abs(a - b).max() <= 1e-5 * scale


@networks("mlp", "lenet", "transformer", "lstm")
def test_forward_copies_the_input_in_and_nothing_out(case):
    net, _, x, _ = case.make(dt.float32)
    expected = ms.jit(lambda x: net(x), fullgraph=True)(x).asnumpy()
    net, weights, x, _ = case.make(dt.float32)
    with far_cpu() as driver:
        forward = ms.jit(lambda x: net(x), fullgraph=True)
        first = forward(x)
        assert first.device == "FAR:0" and all(w.device == "FAR:0" for w in weights)
        second, counts = counts_of(driver, lambda: forward(x))
        assert counts["in"] == 1 and "out" not in counts and "waits" not in counts
        assert has_loops(forward) or counts["launches"] == kernels_of(forward) > 0
        here = x.moved_to(FAR)
        third, counts = counts_of(driver, lambda: forward(here))
        assert "in" not in counts and "out" not in counts
        assert close(first.asnumpy(), expected)
        if case.name != "resnet18":                          # whose moving statistics go on
            assert np.array_equal(second.asnumpy(), first.asnumpy())
        assert np.array_equal(third.asnumpy(), second.asnumpy()) and driver.counts["out"] >= 2


@networks("mlp", "lenet", "lstm")
def test_backward_gives_the_gradients_on_the_device(case):
    def gradient():
        net, weights, x, labels = case.make(dt.float32)
        criterion = nn.CrossEntropyLoss()
        return ms.jit(ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, weights), fullgraph=True), x, labels
    function, x, labels = gradient()
    expected_loss, expected = function(x, labels)
    with far_cpu() as driver:
        function, x, labels = gradient()
        function(x, labels)
        (loss, grads), counts = counts_of(driver, lambda: function(x, labels))
        assert counts["in"] == 2 and "out" not in counts and "waits" not in counts
        assert loss.device == "FAR:0" and all(g.device == "FAR:0" for g in grads)
        assert close(loss.asnumpy(), expected_loss.asnumpy())
        for g, e in zip(grads, expected):
            assert close(g.asnumpy(), e.asnumpy())


def train(case, steps):
    """(losses, {name: array} of all parameters) after some steps of a compiled training step."""
    net, weights, x, labels = case.make(dt.float32)
    criterion, optimizer = nn.CrossEntropyLoss(), nn.Adam(weights, 1e-2, weight_decay=0.01)
    gradient = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, optimizer.parameters)

    def step(x, labels):
        loss, grads = gradient(x, labels)
        optimizer(grads)
        return loss
    step = ms.jit(step, fullgraph=True)
    losses = [steps(lambda: step(x, labels)) for _ in range(3)]
    every = [*net.get_parameters(), *optimizer.get_parameters()]
    return step, [float(loss) for loss in losses], {f"{n} {p.name}": p.asnumpy() for n, p in enumerate(every)}


@networks("lenet", "lstm")
def test_three_steps_of_training_copy_the_batch_in_and_nothing_else(case):
    _, expected_losses, expected = train(case, lambda step: step())
    with far_cpu() as driver:
        seen = []

        def counted(step):
            out, counts = counts_of(driver, step)
            seen.append(counts)
            return out
        step, losses, state = train(case, counted)
        assert [counts.get("in", 0) for counts in seen[1:]] == [2, 2]
        assert all("out" not in counts and "waits" not in counts for counts in seen[1:])
        assert np.allclose(losses, expected_losses, rtol=1e-4) and losses[2] < losses[0]
        for name, array in expected.items():
            scale = max(1e-2, np.abs(array).max())
            assert np.abs(state[name] - array).max() <= 2e-3 * scale, name
        layout = step.variants[-1].executable.plan.layout(())
        (device, peak, bound), = layout.elsewhere
        assert device == FAR and peak <= bound * 1.05 and layout.peak == layout.lower_bound


@networks("mlp", "lstm")
def test_operator_by_operator_the_network_runs_where_its_input_lies(case):
    net, _, x, _ = case.make(dt.float32)
    expected = net(x).asnumpy()
    with far_cpu() as driver:
        net, weights, x, _ = case.make(dt.float32)
        x = x.to("FAR")
        net(x)
        out, counts = counts_of(driver, lambda: net(x))
        assert out.device == "FAR:0" and counts["launches"]
        if case.name in ("mlp", "lstm"):                     # where every Parameter meets what comes from the input
            assert all(w.device == "FAR:0" for w in weights)
        assert "out" not in counts and "waits" not in counts
        assert close(out.asnumpy(), expected)


@networks("mlp", "lenet")
def test_operator_by_operator_gradients_are_made_on_the_device(case):
    def gradient(x, labels):
        return ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, weights)(x, labels)
    criterion = nn.CrossEntropyLoss()
    net, weights, x, labels = case.make(dt.float32)
    expected_loss, expected = gradient(x, labels)
    with far_cpu() as driver:
        net, weights, x, labels = case.make(dt.float32)
        x, labels = x.to("FAR"), labels.to("FAR")
        for _ in range(3):                                   # by its operators, as a Flow that is compiled, as a known one
            (loss, grads), counts = counts_of(driver, lambda: gradient(x, labels))
        assert "out" not in counts and "waits" not in counts    # in: the first cotangent, and constants
        assert loss.device == "FAR:0" and all(g.device == "FAR:0" for g in grads)
        assert close(loss.asnumpy(), expected_loss.asnumpy())
        for g, e in zip(grads, expected):
            assert close(g.asnumpy(), e.asnumpy())


@networks("mlp", "lstm")
def test_operator_by_operator_training_stays_on_the_device(case):
    def train(place):
        net, weights, x, labels = case.make(dt.float32)
        criterion, optimizer = nn.CrossEntropyLoss(), nn.Momentum(weights, 1e-2, 0.9)
        gradient = ms.value_and_grad(lambda x, labels: criterion(net(x), labels), None, optimizer.parameters)
        x, labels, losses = place(x), place(labels), []
        for _ in range(3):
            loss, grads = gradient(x, labels)
            optimizer(grads)
            losses.append(loss)
        return net, losses
    net, expected_losses = train(lambda t: t)
    expected = [p.asnumpy() for p in net.get_parameters()]
    with far_cpu():
        net, losses = train(lambda t: t.to("FAR"))
        assert all(w.device == "FAR:0" for w in net.trainable_params())
        assert np.allclose([float(loss) for loss in losses], [float(loss) for loss in expected_losses], rtol=1e-4)
        for p, e in zip(net.get_parameters(), expected):
            scale = max(1e-2, np.abs(e).max())
            assert np.abs(p.asnumpy() - e).max() <= 2e-3 * scale
