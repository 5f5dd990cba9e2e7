"""What one more small kernel costs in a compiled function, for each way a Flow runs.

    python bench/launch_overhead.py [--size 16]

A chain of operators is compiled with jit_level="O0", so that each is a kernel of its own, in two lengths; the difference
of their times, divided by the difference of their lengths, is the time of one kernel with its launch, without what a
call costs. The kernels compute, so a chain of one long kernel (O1) is timed as well: what is left is the launch.
NumPy's time for one operator of the chain stands beside it. Nothing is asserted: figures depend on the machine.
"""
import argparse
import time

import numpy as np

import mindlite as ms
from mindlite import ops
from mindlite.compile.executable import Executable

SHORT, LONG = 20, 420


def chain(length):
    """A function of `length` negations and absolute values by iterations, the cheapest operators there are."""
    functions = ([ops.neg, ops.abs] * length)[:length]

    def run(x):
        for function in functions:
            x = function(x) + 1.0
        return x
    return run


def best_time(run, repeat=2000):
    """Seconds of the fastest of many calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def per_kernel(size, level, printer):
    """(seconds for one more kernel, kernels of the long chain)."""
    seconds, kernels = [], []
    for length in (SHORT, LONG):
        jitted = ms.jit(chain(length), jit_level=level)
        x = ms.Tensor(np.ones(size, np.float32))
        jitted(x)
        variant, leaves, _ = jitted.compiled.select((x,), {})
        variant.executable = Executable(variant.compiled.lowered.program, printer)
        variant.run(leaves)
        seconds.append(best_time(lambda: variant.run(leaves), 50 if printer == "python" else 2000))
        kernels.append(2 * length)
    return (seconds[1] - seconds[0]) / (kernels[1] - kernels[0]), kernels[1]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=16, help="elements of the tensor (default 16)")
    size = parser.parse_args().size
    fused, _ = per_kernel(size, "O1", "native")
    print(f"float32[{size}]; one operator inside a fused kernel: {fused * 1e9:.1f} ns")
    for printer in ("native", "vm", "python"):
        seconds, kernels = per_kernel(size, "O0", printer)
        print(f"  {printer:<7} {seconds * 1e9:8.1f} ns for each kernel and its launch ({kernels} kernels)")
    x = np.ones(size, np.float32)
    print(f"  NumPy   {best_time(lambda: [np.negative(x) for _ in range(100)], 200) / 100 * 1e9:8.1f} ns for each call")


if __name__ == "__main__":
    main()
