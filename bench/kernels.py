"""Where the time of a row goes, kernel by kernel, beside what the machine can do.

    python bench/kernels.py "step: LeNet"

The row runs as machine code and, by iterations, as Python (printer "python"), where each launch is timed by itself. Printed
are two Markdown tables: what kinds of kernels have of the processor time of the whole call, and each kernel with its
share, its processor time, the rate of what it multiplies or moves (operations of products; bytes of a generated
kernel's operands and results, each once), its sizes and the line that it comes from. Above them stand the limits (limits.py).
Processor time is that of all threads; MINDLITE_THREADS=1 leaves out what threads of one core cost each other.
"""
import argparse
import collections
import math
import statistics
import time

import limits
import rows
from frameworks import Mindlite
from measure import ROWS

from mindlite.backend.launcher import default_threads
from mindlite.common.config import config
from mindlite.compile.printers.python import PythonRuntime
from mindlite.debug.target import compiled_functions
from mindlite.mindir.abstract import AbstractTensor

PRODUCT, CONVOLUTION, GENERATED, OTHER = "matrix products", "convolutions", "generated kernels", "other library kernels"
COPY = "copies"
LIBRARY = {"matmul": PRODUCT, "panel_matmul": PRODUCT, "conv2d": CONVOLUTION, "conv2d_part": CONVOLUTION}


def kind_of(kernel):
    """What kind of kernel it is."""
    how, name = kernel.recipe[:2]
    return LIBRARY.get(name, OTHER) if how == "library" else GENERATED


def timed(record):
    """Replace the Python printer's launches and copies by ones that call
    record(place, operations, seconds, args).

    place : the instruction; the number of bytes for a copy
    """
    launch, move = PythonRuntime.kernel, PythonRuntime.copy

    def kernel(self, place, args, extent=None, cost=None):
        start = time.process_time()
        launch(self, place, args, extent, cost)
        record(self.linked.places[place], (extent or 1) * (cost or 1), time.process_time() - start, args)

    def copy(self, dst, src, nbytes):
        start = time.process_time()
        move(self, dst, src, nbytes)
        record(nbytes, 0, time.process_time() - start, ())
    PythonRuntime.kernel, PythonRuntime.copy = kernel, copy


def processor(run):
    """Seconds of processor time of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def operands():
    """{(id of an origin, id of a kernel): (bytes of the operands and results, their types)} of what was compiled."""
    found = {}
    for f in compiled_functions():
        for node, made in f.latest().compiled.full.lowered.kernels:
            abstracts = [a.abstract for a in node.args] + list(getattr(node.abstract, "elements", (node.abstract,)))
            tensors = [a for a in abstracts if isinstance(a, AbstractTensor)]
            sizes = [a.size * a.dtype.itemsize for a in tensors]
            shown = sorted({str(a) for a, size in zip(tensors, sizes) if size * 4 >= max(sizes)})
            found[id(node.origin), id(getattr(made, "kernel", made))] = sum(sizes), ", ".join(shown)
    return found


def row_of(instruction, launches, seconds, known):
    """(rate, name, operands and results, line) of a launch: rate is "98 Gflop/s" of a product or convolution, "14 GB/s"
    of what moves memory."""
    if isinstance(instruction, int):
        return f"{2 * instruction / seconds / 1e9:.1f} GB/s", COPY, f"{instruction} bytes", ""
    kernel, origin = instruction.kernel, instruction.origin
    nbytes, types = known.get((id(origin), id(kernel)), (0, ""))
    line = getattr(origin, "location", None) or ""
    kind = kind_of(kernel)
    operations = sum(n for n, _, _ in launches)
    if kind == PRODUCT:
        sizes = [args[3:] if len(args) == 7 else (1, *args[3:]) for _, _, args in launches]      # batch, m, n, k
        operations = sum(2 * math.prod(four) for four in sizes)
        types = "{} of {} x {} x {}".format(*sizes[-1])
    if kind in (PRODUCT, CONVOLUTION):
        return f"{operations / seconds / 1e9:.1f} Gflop/s", kernel.name, types, line
    return f"{nbytes / seconds / 1e9:.1f} GB/s" if nbytes else "", kernel.name, types, line


def main():
    """Profile the first row whose name holds the given text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("row", help="a part of the row's name")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--under", type=float, default=0.01, help="kernels with a smaller share are summed up")
    options = parser.parse_args()
    rows.load()
    name = next(n for n in ROWS if options.row in n)
    native = ROWS[name].make(Mindlite())
    native()
    config.set(printer="python")
    run = ROWS[name].make(Mindlite())
    run()
    calls, wholes = [], []
    timed(lambda place, *rest: calls[-1].setdefault(place, []).append(rest))
    for _ in range(options.calls):
        wholes.append(processor(native))
        calls.append({})
        run()
    seconds = {place: statistics.median(sum(launch[1] for launch in call[place]) for call in calls)
               for place in calls[-1]}
    whole, known = statistics.median(wholes), operands()
    print(f"{name}: {whole * 1e3:.2f} ms of processor time a call (least {min(wholes) * 1e3:.2f}), "
          f"{sum(map(len, calls[-1].values()))} launches, {default_threads()} threads")
    print(f"limits, of processor time: {limits.multiply_adds(True) / 1e9:.0f} Gflop/s, {limits.copies(True) / 1e9:.0f} "
          f"GB/s; of elapsed time: {limits.multiply_adds() / 1e9:.0f} Gflop/s, {limits.copies() / 1e9:.0f} GB/s\n")
    kinds = collections.Counter()
    for place, spent in seconds.items():
        kinds[COPY if isinstance(place, int) else kind_of(place.kernel)] += spent
    kinds["outside of kernels"] = whole - sum(kinds.values())
    print("| share | ms | kind |\n|---|---|---|")
    for kind, spent in kinds.most_common():
        print(f"| {spent / whole:.1%} | {spent * 1e3:.2f} | {kind} |")
    print("\n| share | us | launches | rate | kernel | operands and results | line |\n|---|---|---|---|---|---|---|")
    rest = []
    for place, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        if spent < options.under * whole:
            rest.append(spent)
            continue
        launches = calls[-1][place]
        rate, what, types, line = row_of(place, launches, spent, known)
        print(f"| {spent / whole:.1%} | {spent * 1e6:.0f} | {len(launches)} | {rate} | {what} | {types} | {line} |")
    print(f"| {sum(rest) / whole:.1%} | {sum(rest) * 1e6:.0f} | | | {len(rest)} smaller ones | | |")


if __name__ == "__main__":
    main()
