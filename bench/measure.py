"""What a row of the benchmark is, and how one sample of it is taken.

    @row("tanh(x*a+b)*sigmoid(x)+x, 4M", goal=0.55)
    def fused(F):                                  # F: the framework (frameworks.py)
        x = F.array(normal(4096, 1024))
        f = F.jit(lambda x: F.tanh(x * 1.5 + 0.5) * F.sigmoid(x) + x)
        return lambda: f(x)                        # what is timed; None where the framework has no such thing
"""
import time
from dataclasses import dataclass

import numpy as np

ROWS = {}
SAMPLE = 0.03                                      # seconds that one sample takes at least
FIRST_EAGER_CALLS = 20                             # of an eager row count as its first; of a compiled one the first alone does


@dataclass(frozen=True)
class Row:
    """One line of the table. make(F): the function that is timed; goal: mindlite's time by the best peer's, at most; settles: its
    first calls are told apart, and samples begin when nothing more is compiled for it."""
    name: str
    goal: float
    make: object
    cold: bool = False
    settles: bool = False


def row(name, goal, cold=False):
    """Register a row. cold: the first call is measured, in a process of its own."""
    def register(make):
        ROWS[name] = Row(name, goal, make, cold)
        return make
    return register


def normal(*shape, seed=0):
    """float32 numbers of the normal distribution, the same for all frameworks."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def labels(count, classes):
    """int32 numbers of classes."""
    return np.random.default_rng(1).integers(0, classes, count).astype(np.int32)


class Sampler:
    """A row in one framework: warmed up, and with as many calls in a sample as fill SAMPLE."""

    def __init__(self, name, framework):
        self.name, self.framework, self.run = name, framework, ROWS[name].make(framework)
        self.calls = 1

    def prepare(self):
        """Call it some times; returns what identifies its results: the sums of each.

        Keeps `first`, the first call as a sample: with it comes compiling. Of a row that settles it is the mean of the first
        FIRST_EAGER_CALLS, as eager mode compiles what is called again and again.
        """
        framework, run, settles = self.framework, self.run, ROWS[self.name].settles
        count = FIRST_EAGER_CALLS if settles else 1
        start, worked = time.perf_counter(), time.process_time()
        for _ in range(count):
            value = framework.wait(run())
        self.first = {"seconds": (time.perf_counter() - start) / count, "processor": (time.process_time() - worked) / count}
        digest = [sums(framework.numpy(x)) for x in framework.leaves(value)]
        if settles:
            framework.settle(run)
        for _ in range(3):
            framework.wait(run())
        seconds = min(self.sample()[0], self.sample()[0])
        self.calls = max(1, min(20000, int(SAMPLE / max(seconds, 1e-7))))
        return digest

    def sample(self):
        """(seconds, seconds of processor time of all threads) per call."""
        framework, run, calls = self.framework, self.run, self.calls
        start, worked = time.perf_counter(), time.process_time()
        for _ in range(calls - 1):
            run()
        framework.wait(run())
        return (time.perf_counter() - start) / calls, (time.process_time() - worked) / calls


def sums(array):
    """[sum, sum of magnitudes] in double precision."""
    array = np.asarray(array, np.float64)
    return [float(array.sum()), float(np.abs(array).sum())]
