"""data_sink runs steps of training in one call, and trains as steps one by one do."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.common.events import listen
from mindlite.mindir.control import while_loop


def network():
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.ReLU(), nn.Dense(8, 3))
    optimizer, loss = nn.Adam(net.trainable_params(), 0.05), nn.CrossEntropyLoss()
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step(x, y):
        value, grads = gradient(x, y)
        optimizer(grads)
        return value
    return net, step


def batches(*sizes):
    rng = np.random.default_rng(0)
    return [(rng.standard_normal((n, 6)).astype(np.float32), rng.integers(0, 3, n).astype(np.int32)) for n in sizes]


def weights(net):
    return [p.asnumpy() for p in net.get_parameters()]


@pytest.mark.parametrize("wrap", [lambda step: step, ms.jit], ids=["function", "jit"])
@pytest.mark.parametrize("sizes", [(4,) * 5, (4, 4, 4, 2, 2), (4, 2, 4, 2)], ids=str)
def test_it_trains_as_single_steps_do_over_the_ends_of_the_data_and_over_batches_of_other_sizes(sizes, wrap):
    data, (one, step), (other, sunk) = batches(*sizes), network(), network()
    train = ms.data_sink(wrap(sunk), data, sink_size=7)
    for call in range(2):
        for i in range(7 * call, 7 * call + 7):
            loss = step(*map(Tensor, data[i % len(data)]))
        np.testing.assert_allclose(train().asnumpy(), loss.asnumpy(), 1e-5)
    for a, b in zip(weights(one), weights(other)):
        np.testing.assert_allclose(a, b, 1e-4, 1e-6)


def test_the_steps_of_a_call_are_one_loop_in_one_native_call():
    _, step = network()
    compiled = []
    with listen(lambda event, fields: compiled.append(fields["name"]) if event == "compile" else None):
        train = ms.data_sink(step, batches(*[4] * 12), sink_size=12)
        train(), train()
    assert compiled == ["steps_of.steps"]
    assert [n for below in train.loop.graph().reachable() for n in below.nodes if n.fn is while_loop]
    assert "crossing" not in train.loop.explain()


def test_one_column_and_a_step_without_result_are_taken():
    total = ms.Parameter(np.zeros(2, np.float32), name="total")

    def add(x):
        ops.assign_add(total, x)
    assert ms.data_sink(add, [np.ones(2, np.float32)], sink_size=6)() is None
    assert total.asnumpy().tolist() == [6, 6]


def test_what_cannot_be_run_is_refused_before_a_step():
    _, step = network()
    with pytest.raises(ValueRangeError, match="sink_size is a positive int, not 0"):
        ms.data_sink(step, [], sink_size=0)
    with pytest.raises(ArgumentError, match="the dataset has no batch"):
        ms.data_sink(step, [])()
    with pytest.raises(ArgumentError, match="gives its batches once only"):
        ms.data_sink(step, iter(batches(4)), sink_size=2)()
    once = ms.data_sink(step, iter(batches(4)), sink_size=2)
    for _ in range(2):                           # the second call says the same
        with pytest.raises(ArgumentError, match="gives its batches once only"):
            once()
    with pytest.raises(ArgumentError, match="a int cannot be iterated"):
        ms.data_sink(step, 3)
    with pytest.raises(ArgumentError, match="a batch has 1 columns, those before it 2"):
        ms.data_sink(step, [*batches(4), batches(4)[0][:1]], sink_size=2)()
