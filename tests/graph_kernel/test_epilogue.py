"""Bias, residual and relu behind a convolution are part of it: the same bits, and one pass over memory less."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.graph_kernel.epilogue import FINISHED, epilogue
from mindlite.mindir.graph import FuncGraph


def normal(*shape, dtype=np.float32):
    return Tensor(np.random.default_rng(len(shape)).normal(size=shape).astype(dtype))


def conv(x, w, pad=1, stride=1, groups=1):
    return ops.conv2d(x, w, None, stride, "pad", pad, 1, groups)


def one(x, w):
    """The convolution with the first element of each window, 1 x 1."""
    return conv(x, w[:, :, :1, :1], 0)


def finished(jitted):
    """What the convolutions of a compiled function hold: "bias+relu" for each that has an epilogue."""
    return [epilogue(node.fn)[1] for graph in jitted.graph("fuse").reachable() for node in graph.nodes
            if isinstance(node.fn, FuncGraph) and node.fn.kind == FINISHED]


X, W, B, R = normal(2, 16, 9, 11), normal(20, 16, 3, 3), normal(20), normal(2, 20, 9, 11)
PROGRAMS = {
    "bias": (lambda x, w, b, r: conv(x, w) + b.reshape((1, 20, 1, 1)), ["bias"]),
    "bias of three axes": (lambda x, w, b, r: b.reshape((20, 1, 1)) + conv(x, w), ["bias"]),
    "relu": (lambda x, w, b, r: ops.relu(conv(x, w)), ["relu"]),
    "all": (lambda x, w, b, r: ops.relu(one(x, w) + b.reshape((1, 20, 1, 1)) + r), ["bias+residual+relu"]),
    "residual on the left": (lambda x, w, b, r: ops.relu(r + one(x, w)), ["residual+relu"]),
    "two convolutions": (lambda x, w, b, r: ops.relu(one(x, w) + one(x * 2, w)), ["residual+relu"]),
    "residual of larger windows": (lambda x, w, b, r: ops.relu(conv(x, w) + b.reshape((1, 20, 1, 1)) + r), []),
    "another order": (lambda x, w, b, r: ops.relu(conv(x, w)) + b.reshape((1, 20, 1, 1)), []),
    "more behind it": (lambda x, w, b, r: ops.tanh(ops.relu(conv(x, w)) * 2), []),
    "read by a cluster and by the caller": (lambda x, w, b, r: (lambda y: (y, ops.tanh(y)))(ops.relu(conv(x, w))), ["relu"]),
    "read by another convolution": (lambda x, w, b, r: one(ops.relu(one(x, w)), w[:, :1].repeat_interleave(20, 1)), ["relu"]),
    "read twice": (lambda x, w, b, r: (lambda y: ops.relu(y) + y)(conv(x, w)), []),
    "a result itself": (lambda x, w, b, r: (lambda y: (y, ops.relu(y)))(conv(x, w)), []),
    "added to itself": (lambda x, w, b, r: (lambda y: y + y)(conv(x, w)), []),
    "bias of another axis": (lambda x, w, b, r: conv(x, w) + r[0, 0], []),
    "a number": (lambda x, w, b, r: conv(x, w) + 1.5, []),
    "groups and strides": (lambda x, w, b, r: ops.relu(conv(x, w[:, :8], stride=2, groups=2) + b.reshape((20, 1, 1))),
                           ["bias+relu"]),
    "1 x 1": (lambda x, w, b, r: ops.relu(one(x, w) + b.reshape((20, 1, 1))), ["bias+relu"]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_convolution_takes_in_what_alone_reads_it_in_this_order_and_gives_the_same_bits(name, dtype):
    program, expected = PROGRAMS[name]
    operands = [Tensor(a.asnumpy().astype(dtype)) for a in (X, W, B, R)]
    jitted, plain = ms.jit(program), ms.jit(program, jit_level="O0")
    for a, b, c in zip(*(out if isinstance(out, tuple) else (out,) for out in
                         (jitted(*operands), plain(*operands), program(*operands)))):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
        np.testing.assert_allclose(a.asnumpy(), c.asnumpy(), rtol=1e-4, atol=1e-4)
    assert finished(jitted) == expected and finished(plain) == []


def test_half_precision_has_no_epilogue():
    f = ms.jit(lambda x, w: ops.relu(conv(x, w)))
    f(X.astype(ms.float16), W.astype(ms.float16))
    assert finished(f) == []


def test_gradients_through_an_epilogue_are_those_of_eager_mode():
    program, second = PROGRAMS["all"][0], normal(7, 20, 3, 3)

    def loss(x, w, b, r):
        return (conv(program(x, w, b, r), second) ** 2).sum()
    gradient = ms.jit(ms.grad(loss, (0, 1, 2, 3)))
    for a, b in zip(gradient(X, W, B, R), ms.grad(loss, (0, 1, 2, 3))(X, W, B, R)):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-2)
    assert finished(gradient) == ["bias+residual+relu"]


def test_a_parameter_that_is_the_residual_and_gets_the_result_keeps_its_old_value_until_then():
    class State(nn.Cell):
        def __init__(self):
            super().__init__()
            self.state = Parameter(R.copy(), name="state")

        def construct(self, x, w):
            self.state = ops.relu(one(x, w) + self.state)
            return self.state + 0
    results = []
    for way in (lambda net: net, ms.jit):
        net = State()
        run = way(net)
        for _ in range(3):
            run(X, W)
        results.append(net.state.asnumpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-4)


def test_sizes_known_at_run_time_only_and_turns_of_a_loop_have_epilogues_too():
    weight = normal(16, 16, 1, 1) * 0.1

    @ms.jit
    def f(x, n):
        i = 0
        while i < n:
            x = ops.relu(conv(x, weight, 0) + x)
            i = i + 1
        return x
    for shape in ((2, 16, 9, 11), (3, 16, 8, 8), (1, 16, 5, 30), (4, 16, 6, 7)):
        x = expected = normal(*shape)
        for _ in range(3):
            expected = ops.relu(conv(expected, weight, 0) + expected)
        np.testing.assert_allclose(f(x, ms.mutable(3)).asnumpy(), expected.asnumpy(), rtol=1e-3, atol=1e-3)
    assert "residual+relu" in finished(f) and len(f.variants) < 4
