"""Do the fused, threaded results of the rows equal the unfused ones of one thread? Values, gradients, and what steps make.

    python bench/agreement.py [--rows TEXT ...] [--calls 3]

Each row runs twice, in processes of their own: as it is measured, and with jit_level O0 (one kernel for each operator)
and one thread. Compared are the results of the last of some calls, and every Parameter and optimiser state that the row
has made: the largest difference by the largest magnitude of the array. A step's later results depend on its gradients.
Where a row has Parameters, the reference runs once more with each of them one ulp larger: by what comes of that two
programs of one meaning may differ. The status is 1 if a result differs by more than allowed and more than that.
Parameters are shown: an optimiser that divides a gradient by its own size, as Adam does, makes of one that is nothing but
rounding a step like any other.
"""
import argparse
import gc
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import rows
from frameworks import Mindlite
from measure import ROWS
from run import HERE, clean_environment

ALLOWED = 1e-5
REFERENCE = {"MINDLITE_JIT_LEVEL": "O0", "MINDLITE_THREADS": "1"}


def results(name, calls, moved=False):
    """{what: ndarray} of a row after that many calls; moved: with every Parameter one ulp larger before the first."""
    framework = Mindlite()
    before = {id(p) for p in parameters(framework)}
    run = ROWS[name].make(framework)
    made = sorted((p for p in parameters(framework) if id(p) not in before), key=lambda p: p.name)
    for p in made if moved else ():
        p.set_data(framework.array(np.nextafter(p.asnumpy(), np.float32(np.inf))))
    for _ in range(calls):
        value = framework.wait(run())
    found = {f"result {k}": framework.numpy(leaf) for k, leaf in enumerate(framework.leaves(value))}
    return found | {f"parameter {k} {p.name}": p.asnumpy() for k, p in enumerate(made)}


def parameters(framework):
    """All Parameters that live."""
    return [p for p in gc.get_objects() if isinstance(p, framework.ms.Parameter)]


def difference(a, b):
    """The largest difference of two arrays by the largest magnitude in the second."""
    if a.shape != b.shape:
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):             # a row that computes no numbers shows nothing
        return float("inf")
    return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-30))


def compare(name, calls):
    """[{what: difference}] from the reference of all that a row makes: as it is measured, and moved by an ulp where it
    has Parameters."""
    with tempfile.TemporaryDirectory() as folder:
        def made(file, switches, *more):
            file = pathlib.Path(folder) / file
            subprocess.run([sys.executable, __file__, "--rows", name, "--calls", str(calls), "--into", str(file), *more],
                           env={**clean_environment(), "PYTHONPATH": str(HERE.parent), **switches}, check=True)
            return np.load(file)
        reference, others = made("reference.npz", REFERENCE), [made("measured.npz", {})]
        if any(key.startswith("parameter") for key in reference.files):
            others.append(made("moved.npz", REFERENCE, "--moved"))
        for other in others:
            if other.files != reference.files:
                raise SystemExit(f"{name}: {other.files} and {reference.files} were made")
        return [{key: difference(other[key], reference[key]) for key in reference.files} for other in others]


def told(found):
    """(largest difference of a result, words about all differences)"""
    returned = max(by for what, by in found.items() if what.startswith("result"))
    worst, more = max(found, key=found.get), sum(by > ALLOWED for by in found.values())
    return returned, (f"results {returned:.1e}; of {len(found)} arrays {more} above {ALLOWED}, at most {found[worst]:.1e} "
                      f"({worst})")


def main():
    """Compare the chosen rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*", default=[""], help="parts of the rows' names")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--into", help=argparse.SUPPRESS)           # one row, in this process, into a file
    parser.add_argument("--moved", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows.load()
    if options.into:
        np.savez(options.into, **results(options.rows[0], options.calls, options.moved))
        return
    failed = False
    for name in (n for n in ROWS if not ROWS[n].cold and any(text in n for text in options.rows)):
        returned, *moved = [told(found) for found in compare(name, options.calls)]
        failed |= returned[0] > max([ALLOWED, *(by for by, _ in moved)])
        print(f"{name:70s} {returned[1]}", flush=True)
        for _, words in moved:
            print(f"{'    with Parameters one ulp larger':70s} {words}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
