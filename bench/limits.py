"""What this machine can do at most with the launcher's threads: multiply-adds in registers, copies of large arrays.

    multiply_adds()  ->  operations a second of float32 multiply-adds (2 each) on 12 independent vectors
    copies()         ->  bytes a second, read and written, of a copy of 64 MiB into memory that was used before

Both are the best of many short runs, so that a machine which others use shows what it could do; `processor=True` gives
what a second of processor time buys, which the other threads of a core still slow down.
"""
import ctypes
import time

import numpy as np
from llvmlite import ir

from mindlite.backend.cpu.native import PTR, Module, Value, compute_type
from mindlite.backend.cpu.tile import multiply_add, tile_shape
from mindlite.backend.launcher import launch_address
from mindlite.common.dtype import float32

ITERATIONS, ITEMS, VECTORS = 20_000, 64, 12
NUMBERS = 1 << 24


def multiply_adds(processor=False, runs=30):
    """Float32 operations a second."""
    lanes = tile_shape(float32).lanes
    vector = ir.VectorType(compute_type(float32), lanes)
    module = Module("limit_of_multiply_adds")
    with module.kernel(module.name) as f:
        build = f.builder
        near = ir.Constant(vector, [0.999] * lanes)
        totals = [f.variable(vector, Value(f, ir.Constant(vector, [float(k)] * lanes))) for k in range(VECTORS)]
        with f.loop(0, (f.end - f.begin) * ITERATIONS, iterations="rare"):
            for total in totals:
                total.set(Value(f, multiply_add(module, build, total.get().ir, near, near)))
        place = f.arg(0)
        for k, total in enumerate(totals):
            to = place + (f.begin * VECTORS + k) * lanes * 4
            build.store(total.get().ir, build.inttoptr(to.ir, PTR), align=4)
    code = module.compile()
    room = np.zeros((ITEMS, VECTORS, lanes), np.float32)
    return ITEMS * ITERATIONS * VECTORS * lanes * 2 * _most(code.address(module.name), [room.ctypes.data], ITEMS, 1 << 20,
                                                       processor, runs)


def copies(processor=False, runs=30):
    """Bytes a second, read and written."""
    module = Module("limit_of_copies")
    with module.kernel(module.name) as f:
        f.copy(f.arg(1) + f.begin * 4, f.arg(0) + f.begin * 4, (f.end - f.begin) * 4)
    code = module.compile()
    source, target = np.ones(NUMBERS, np.float32), np.zeros(NUMBERS, np.float32)
    return 8 * NUMBERS * _most(code.address(module.name), [source.ctypes.data, target.ctypes.data], NUMBERS, 1,
                               processor, runs)


def _most(address, args, extent, cost, processor, runs):
    """Runs a second of a kernel: the inverse of the least time."""
    launch = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(launch_address())
    buffer = (ctypes.c_int64 * len(args))(*args)
    clock = time.process_time if processor else time.perf_counter
    least = float("inf")
    for _ in range(runs):
        start = clock()
        launch(address, ctypes.addressof(buffer), extent, cost)
        least = min(least, clock() - start)
    return 1 / least
