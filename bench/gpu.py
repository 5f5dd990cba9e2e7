"""Timings on a GPU beside the bandwidth of a copy there: `make bench-gpu`. No figure of it stands anywhere yet.

    elementwise 64 M     0.31 ms     0.92 of the copy's bytes per second

A time is the median of 50 runs after 5, each until the device is done. `--side 32 --runs 1` tries all rows at a small size, as
`MINDLITE_CUDA=simulator` needs it; such times mean nothing.
"""
import argparse
import statistics
import sys
import time

import numpy as np

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend.target import target_of
from mindlite.common.device import Device
from mindlite.common.errors import DeviceError

GPU = Device("GPU")
ROWS = {                                                     # name: (function, shapes, arrays that must move)
    "copy 64 M": (lambda x: x * 1.5, [(8192, 8192)], 2),
    "chain of 20, 64 M": (lambda x: _chain(x), [(8192, 8192)], 2),
    "gelu 64 M": (lambda x: ops.gelu(x), [(8192, 8192)], 2),
    "softmax 8192 x 8192": (lambda x: ops.softmax(x, axis=-1), [(8192, 8192)], 2),
    "layer_norm 8192 x 8192": (lambda x, w, b: ops.layer_norm(x, w.shape, w, b), [(8192, 8192), (8192,), (8192,)], 2),
    "transpose 8192 x 8192": (lambda x: ops.transpose(x, (1, 0)) * 1.5, [(8192, 8192)], 2),
    "column sums 8192 x 8192": (lambda x: x.sum(0), [(8192, 8192)], 1),
    "sum of 64 M": (lambda x: x.sum(), [(8192, 8192)], 1),
    "product 2048": (lambda x, y: ops.matmul(x, y), [(2048, 2048)] * 2, 3),
    "chain of 20, 1000": (lambda x: _chain(x), [(1000,)], 2),
}


def _chain(x):
    for _ in range(10):
        x = ops.tanh(x) * 1.01
    return x


def measured(call, wait, runs):
    """The median of the seconds of a call, until all work is done."""
    for _ in range(min(5, runs)):
        call()
    wait()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        wait()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main(arguments):
    """Print the table; a line that says what is missing, and status 1, without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--side", type=int, default=8192, help="the most elements of an axis")
    parser.add_argument("--runs", type=int, default=50)
    chosen = parser.parse_args(arguments)
    try:
        ms.set_context(device_target="GPU")
    except DeviceError as error:
        sys.exit(f"bench-gpu: {error.message}; {error.hint}")
    driver = target_of(GPU).driver

    def wait():
        driver.synchronize(0)
    print(driver.gpu(0).name)
    rate = None
    for name, (function, shapes, arrays) in ROWS.items():
        shapes = [tuple(min(size, chosen.side) for size in shape) for shape in shapes]
        given = [Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32)).to("GPU") for shape in shapes]
        jitted = ms.jit(function, fullgraph=True)
        seconds = measured(lambda: jitted(*given), wait, chosen.runs)
        moved = arrays * given[0].nbytes / seconds
        rate = rate or moved
        print(f"{name:<26}{seconds * 1e3:9.3f} ms{moved / rate:9.2f} of the copy's bytes per second", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
