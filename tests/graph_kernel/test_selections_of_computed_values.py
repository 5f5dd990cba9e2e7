"""Whatever selects, of whatever was computed: gradients in graphs are those of eager mode, at 30 shapes.

A selection asks which value is the largest, the middle one, above another. Its gradient asks again: it compares the result with
the values, or takes them by an index. If one of them is computed a second time, in another order or with another rounding, the
answer is another one, and the gradient is zero or goes elsewhere. Each selection stands behind each producer here.
"""
import numpy as np
import pytest

import mindlite as ms
from mindlite import ops, Tensor

SELECTIONS = {
    "max": lambda s: s.max(),
    "amin": lambda s: ops.amin(s, -1),
    "norm inf": lambda s: ops.norm(s, float("inf"), -1),
    "sort": lambda s: ops.sort(s, -1)[0],
    "topk": lambda s: ops.topk(s, 1, -1)[0],
    "median": lambda s: ops.median(s, -1)[0],
    "argmax": lambda s: ops.gather_elements(s, -1, ops.argmax(s, -1, keepdims=True)),
    "cummax": lambda s: ops.cummax(s, -1)[0],
    "mask": lambda s: ops.where(s == ops.amax(s, -1, keepdims=True), s * 2, s * 0.5),
    "clamp": lambda s: ops.clamp(s, s.mean(), s.max()),
    "above the mean": lambda s: ops.relu(s - s.mean(-1, keep_dims=True)),
    "maximum": lambda s: ops.maximum(s, s.mean(-1, keep_dims=True)),
    "item of max": lambda s: s[..., ops.argmax(s.reshape(-1, s.shape[-1]).sum(0))],
    "sign": lambda s: s * ops.sign(s - s.mean(-1, keep_dims=True)),
    "pairs": lambda s: ops.amax(ops.abs(s[..., :, None] - s[..., None, :])),
    "floor": lambda s: s * ops.floor(s / s.max() * 3.3),
    "nonzero": lambda s: ops.where(s != ops.amin(s, -1, keepdims=True), s, 0.0),
}
PRODUCERS = {
    "column sums": lambda x: ops.abs(x).sum(-2),
    "row sums": lambda x: (x * x).sum(-1),
    "means": lambda x: x.mean(-2),
    "deviations": lambda x: ops.std(x, -2),
    "norms": lambda x: ops.sqrt((x * x).sum(-1) + 0.1),
    "logsumexp": lambda x: ops.logsumexp(x, -2),
    "products": lambda x: ops.prod(1 + 0.1 * x, -2),
    "a product of matrices": lambda x: x @ x.T,
    "softmax": lambda x: ops.softmax(x * 2, -1),
    "exp": lambda x: ops.exp(x * 0.7),
    "sin": lambda x: ops.sin(x * 3),
    "a quotient": lambda x: x / 3 + x / 7,
    "cumsum": lambda x: ops.cumsum(x, -1),
    "multiply and add": lambda x: x * 1.7 + x * x * 0.3,
    "normalised": lambda x: (x - x.mean(-1, keep_dims=True)) / ops.std(x, -1, keepdims=True),
    "half": lambda x: (x.astype(ms.float16) * 1.3 + x.astype(ms.float16)).astype(ms.float32),
    "half sums": lambda x: (x.astype(ms.bfloat16) * 1.7).sum(-2).astype(ms.float32),
    "all at once": lambda x: x * ops.abs(x).sum(),
}
SHAPES = [(rows, columns) for rows in (2, 8, 9, 17, 31, 63) for columns in (2, 3, 7, 16, 33)]
PAIRS = [(s, p) for s in SELECTIONS for p in PRODUCERS]
QUICK = [("max", "column sums"), ("mask", "deviations"), ("clamp", "means"), ("above the mean", "half")]


def differences(selection, producer, dynamic=1, shapes=SHAPES):
    """The shapes at which the gradient in a graph, or of a compiled function on a tape, is another than that of eager mode."""
    def f(x, c):
        found = SELECTIONS[selection](PRODUCERS[producer](x))
        return (found * c[:found.size].reshape(found.shape)).sum()
    c = Tensor(np.random.default_rng(3).uniform(0.5, 1.5, 5000).astype(np.float32))
    compiled, recorded = ms.jit(ms.grad(f), fullgraph=True, dynamic=dynamic), ms.grad(ms.jit(f, fullgraph=True, dynamic=dynamic))
    draw, wrong = np.random.default_rng(5), []
    for shape in shapes:
        x = Tensor(draw.standard_normal(shape).astype(np.float32))
        want = ms.grad(f)(x, c).asnumpy()
        for call in (compiled, recorded):
            if not np.abs(call(x, c).asnumpy() - want).max() <= 2e-3 * np.abs(want).max() + 1e-5:
                wrong.append((shape, "graph" if call is compiled else "tape"))
    return wrong


@pytest.mark.parametrize("selection, producer", QUICK)
def test_the_gradient_of_a_selection_is_that_of_eager_mode(selection, producer):
    assert differences(selection, producer, shapes=SHAPES[::3]) == []


@pytest.mark.slow
@pytest.mark.parametrize("selection, producer", PAIRS)
def test_the_gradient_of_each_selection_of_each_producer_is_that_of_eager_mode(selection, producer):
    assert differences(selection, producer) == []
    assert differences(selection, producer, dynamic=0, shapes=[(9, 7), (31, 3)]) == []
