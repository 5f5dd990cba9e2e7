"""Where the time of a row goes, kernel by kernel: the Flow runs as Python (printer "python") and each launch is timed.

    python bench/kernels.py "step: LeNet"

Prints a Markdown table: share of the kernels' time, microseconds per call (median), how often, the kernel. The launch
itself costs some 2 us more here than in native code, which the table leaves in.
"""
import argparse
import collections
import statistics
import time

import rows
from frameworks import Mindlite
from measure import ROWS

from mindlite.common.config import config
from mindlite.compile.printers.python import PythonRuntime


def timed(record):
    """Replace the Python printer's launch by one that calls record((place, name of the kernel), seconds)."""
    launch = PythonRuntime.kernel

    def kernel(self, place, *args):
        start = time.perf_counter()
        launch(self, place, *args)
        record((place, self.linked.places[place].kernel.name), time.perf_counter() - start)
    PythonRuntime.kernel = kernel


def main():
    """Profile the first row whose name holds the given text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("row", help="a part of the row's name")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--under", type=float, default=0.01, help="kernels with a smaller share are summed up")
    options = parser.parse_args()
    rows.load()
    config.set(printer="python")
    name = next(n for n in ROWS if options.row in n)
    run = ROWS[name].make(Mindlite())
    run()
    run()
    calls = []
    timed(lambda kernel, seconds: calls[-1][kernel].append(seconds))
    for _ in range(options.calls):
        calls.append(collections.defaultdict(list))
        run()
    totals = {kernel: statistics.median(sum(call[kernel]) for call in calls) for kernel in calls[-1]}
    total, launches = sum(totals.values()), sum(map(len, calls[-1].values()))
    print(f"{name}: {launches} launches of {len(totals)} kernels, {total * 1e6:.0f} us inside them\n")
    print("| share | us | launches | kernel |\n|---|---|---|---|")
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    for kernel, seconds in ordered:
        if seconds >= options.under * total:
            print(f"| {seconds / total:.0%} | {seconds * 1e6:.0f} | {len(calls[-1][kernel])} | {kernel[1]} |")
    rest = [seconds for _, seconds in ordered if seconds < options.under * total]
    print(f"| {sum(rest) / total:.0%} | {sum(rest) * 1e6:.0f} | | {len(rest)} smaller ones |")


if __name__ == "__main__":
    main()
