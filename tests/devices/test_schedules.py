"""The schedule's numbers and shapes of loops are the Target's: a far CPU with others gives the same results."""
import collections

import numpy as np
import pytest
from far_cpu import far_cpu

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.target import provide
from mindlite.mindir.loops import Fold, Lanes, Loop

TARGETS = {
    "as the CPU": {},
    "other numbers": {"lanes": 4, "tile": 48, "side": 8, "rows_at_once": 2, "literal_extent": 4, "stages_from": 1 << 9,
                      "kernel_nodes": 8, "large": 64, "launched_together": 1},
    "one column after the other": {"tiled_folds": False}, "in the order of the text": {"squares": False},
    "every iteration asks": {"cut_loops": False}, "no row waits": {"row_buffers": False},
    "loops and no more": {"tiled_folds": False, "squares": False, "cut_loops": False, "row_buffers": False, "lanes": 16}}
rng = np.random.default_rng(0)
X, Y, W = (rng.standard_normal(shape).astype(np.float32) for shape in ((37, 70), (70, 37), (70,)))


def columns(x, y, w):
    return (x * w).sum(0), ops.exp(x - x.mean(0)), (x * 2).mean(0, keepdims=True) + x


def rows(x, y, w):
    return ops.softmax(x * w, -1), ops.layer_norm(x, (70,), w, w)


def transposed(x, y, w):
    return ops.tanh(x.T) + y, x.T * 2


def pieces(x, y, w):
    return ops.concat((x * 2, ops.flip(x, (1,)), x + w), 1), ops.pad(x, (1, 2)) * 3


def whole(x, y, w):
    return (x * x).sum(), x.max() - x


def windows(x, y, w):
    return ops.avg_pool2d(x.reshape(1, 1, 37, 70), 3, 2) * 2


PROGRAMS = (columns, rows, transposed, pieces, whole, windows)


def shapes(statements, found):
    """How many statements of each kind, squares and pieces among them, stand in a body."""
    for s in statements:
        found[type(s).__name__] += 1
        if isinstance(s, Loop):
            found["squares"] += s.squares
            found["pieces"] += s.stop is not None
        if isinstance(s, (Loop, Lanes)):
            shapes(s.body, found)
        elif isinstance(s, Fold):
            shapes([inner for _, _, body in s.loops for inner in body], found)


@pytest.mark.parametrize("named", TARGETS)
def test_every_schedule_gives_what_eager_mode_gives(named, monkeypatch):
    want = [f(*map(Tensor, (X, Y, W))) for f in PROGRAMS]
    found: collections.Counter = collections.Counter()
    with far_cpu() as driver:
        target = driver.target.replace(**TARGETS[named])
        write = type(target).write

        def written(self, nest):
            shapes(nest.body, found)
            return write(self, nest)
        monkeypatch.setattr(type(target), "write", written)
        provide(target)
        for f, wanted in zip(PROGRAMS, want):
            results = ms.jit(f, fullgraph=True)(*map(Tensor, (X, Y, W)))
            for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (results, wanted))):
                assert a.device == "FAR:0"
                np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-5, atol=2e-6)
    assert bool(found["Lanes"]) == target.tiled_folds and bool(found["squares"]) == target.squares
    assert bool(found["pieces"]) == target.cut_loops
