"""Two lowerings of fused kernels, side by side: seconds to compile, and nanoseconds an element to run, on one thread.

    python bench/kernel_lowering.py [rounds]

Both compile the same loop nests, without the disk cache; rounds are interleaved (llvm, numba, llvm, ..) and the best of
each is shown, so that other work on the machine disturbs both alike. Numba's first compilation in a process also loads
Numba's own tables: it is shown apart, as `first`.
"""
import ctypes
import math
import sys
import time

import numpy as np

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.config import config
from mindlite.backend import kernel_cache as cache
from mindlite.backend.ahead import Order
from mindlite.graph_kernel.expand import expand_composites
from mindlite.graph_kernel.loopnest import build
from mindlite.backend.printers.languages import text_of
from mindlite.graph_kernel.schedule import schedule
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import typed

ROWS, COLUMNS = 128, 512
SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def relu_chain(x, y):
    """Four elementwise operators."""
    return ops.relu(ops.relu(x * y + x) - y)


def gelu(x):
    """With the hyperbolic tangent."""
    return x * (ops.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1.0) * 0.5


def softmax(x):
    """Over rows."""
    return ops.softmax(x, axis=-1)


def layer_norm(x, gamma, beta):
    """Over rows, with scale and shift."""
    centred = x - ops.mean(x, axis=-1, keep_dims=True)
    variance = ops.mean(centred * centred, axis=-1, keep_dims=True)
    return centred * ops.rsqrt(variance + 1e-5) * gamma + beta


def adam(p, m, v, g):
    """One step, three results."""
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + g * g * 0.001
    return p - m / (ops.sqrt(v) + 1e-8) * 1e-3, m, v


def row_sums(x):
    """A sum over rows."""
    return ops.sum(x * x, dim=-1)


FULL, VECTOR = (ROWS, COLUMNS), (COLUMNS,)
KERNELS = ((relu_chain, FULL, FULL), (gelu, FULL), (softmax, FULL), (layer_norm, FULL, VECTOR, VECTOR),
           (adam, FULL, FULL, FULL, FULL), (row_sums, FULL))


def compiled(nest, lowering):
    """(seconds, object code) of a loop nest: the text, Numba where asked, LLVM."""
    before = config.set(lowering=lowering)
    start = time.perf_counter()
    code = Order(cache.request(text_of(nest))).code()
    config.set(**before)
    return time.perf_counter() - start, code


def launch(nest, code, shapes):
    """A function that runs the kernel once and gives the seconds."""
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape).astype(np.float32) for shape in shapes]
    arrays += [np.empty(o.operand.shape, o.operand.dtype.numpy) for o in nest.outputs]
    args = np.array([a.ctypes.data for a in arrays] + list(nest.sizes.values()), np.int64)
    function, address = SIGNATURE(cache.load(code, "kernel")), args.ctypes.data

    def run(keep=(arrays, args)):
        start = time.perf_counter()
        function(address, 0, nest.extent)
        return time.perf_counter() - start
    return run


def main(rounds=5):
    """Print the table."""
    config.set(cache_dir="")
    first = None
    print(f"{'kernel':<12}{'compile llvm':>14}{'numba':>9}{'ratio':>7}{'run llvm':>12}{'numba':>9}{'ratio':>7}")
    total = {"llvm": 0.0, "numba": 0.0}
    for function, *shapes in KERNELS:
        graph = expand_composites(typed(function, *(AbstractTensor(dt.float32, s) for s in shapes)))
        nest = schedule(build(graph))
        if first is None:
            first, _ = compiled(nest, "numba")
        compile_time, runs, run_time = {}, {}, {}
        for _ in range(rounds):
            for lowering in ("llvm", "numba"):
                seconds, code = compiled(nest, lowering)
                compile_time[lowering] = min(seconds, compile_time.get(lowering, seconds))
                runs[lowering] = launch(nest, code, shapes)
        for _ in range(rounds * 40):
            for lowering, run in runs.items():
                seconds = run()
                run_time[lowering] = min(seconds, run_time.get(lowering, seconds))
        for lowering in total:
            total[lowering] += compile_time[lowering]
        (a, b), (c, d) = ([t[name] for name in ("llvm", "numba")] for t in (compile_time, run_time))
        c, d = (seconds / (ROWS * COLUMNS) * 1e9 for seconds in (c, d))
        print(f"{function.__name__:<12}{a * 1e3:>11.1f} ms{b * 1e3:>6.1f} ms{b / a:>7.2f}{c:>9.3f} ns{d:>6.3f} ns{d / c:>7.2f}")
    print(f"{'all':<12}{total['llvm'] * 1e3:>11.1f} ms{total['numba'] * 1e3:>6.1f} ms{total['numba'] / total['llvm']:>7.2f}"
          f"      (the first with Numba, tables loaded: {first * 1e3:.0f} ms)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
