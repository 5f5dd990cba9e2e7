"""What a first call costs, stage by stage, beside jax: processor time of everything, with nothing on the disk.

    python bench/cold.py [--rows TEXT ...] [--rounds 3] [--peers DIR] [--profile]

Each sample is a process of its own with an empty cache and without compile workers, so that all work is done, and counted, there.
What a warm call takes is subtracted. Printed for each network: median processor time of mindlite and of jax, their ratio and its
goal; mindlite's by stage; launches and different kernels of one step, which tell whether quicker compiling has made the
program worse. --profile prints instead which functions of mindlite take the time.
"""
import argparse
import cProfile
import importlib
import json
import os
import pathlib
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
import types

import rows
from frameworks import FRAMEWORKS
from measure import ROWS, sums
from run import HERE, clean_environment


def first_call(name, row, profile=None):
    """{"compile", "step", "digest"} of a row, of mindlite also {"stages", "launches", "kernels"}; seconds of processor time."""
    framework = FRAMEWORKS[name]()
    if name == "mindlite":
        count_processor_time()
    run = ROWS[row].make(framework)
    start = time.process_time()
    if profile is not None:
        profile.enable()
    first = framework.wait(run())
    if profile is not None:
        profile.disable()
    compiled = time.process_time() - start
    digest = [sums(framework.numpy(x)) for x in framework.leaves(first)]
    warm = []
    for _ in range(3):
        start = time.process_time()
        framework.wait(run())
        warm.append(time.process_time() - start)
    facts = {"compile": max(0.0, compiled - min(warm)), "step": min(warm), "digest": digest}
    return facts | (of_mindlite() if name == "mindlite" else {})


def count_processor_time():
    """Let stages be timed by the processor's clock: others use the machine too."""
    for module in ("pipeline", "passes"):
        importlib.import_module(f"mindlite.compile.{module}").time = types.SimpleNamespace(perf_counter=time.process_time)


def of_mindlite():
    """Seconds by stage, and what one step launches, of the largest function that was compiled."""
    compiled_functions = importlib.import_module("mindlite.debug.target").compiled_functions
    found = max((f.latest().compiled for f in compiled_functions()), key=lambda c: len(c.lowered.kernels))
    made = [kernel for _, kernel in found.lowered.kernels]
    texts = {getattr(kernel, "kernel", kernel) for kernel in made}
    return {"stages": found.seconds, "launches": len(made), "kernels": len(texts)}


def sample(python, name, row):
    """`first_call` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = clean_environment() | {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]), "MINDLITE_CACHE_DIR":
                                             folder, "MINDLITE_COMPILE_WORKERS": "0"}
        said = subprocess.run([python, str(HERE / "cold.py"), "--one", name, row], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    if said.returncode:
        raise SystemExit(said.stderr)
    return json.loads(said.stdout.splitlines()[-1])


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*", help="only rows with one of these texts in their name")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=str(pathlib.Path.home() / ".cache" / "mindlite" / "peers"))
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows.load()
    if options.one:
        print(json.dumps(first_call(*options.one)))
        return
    chosen = [n for n in ROWS if ROWS[n].cold and (not options.rows or any(text in n for text in options.rows))]
    if options.profile:
        for row in chosen:
            profile = cProfile.Profile()
            first_call("mindlite", row, profile)
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
            pstats.Stats(profile).sort_stats("cumtime").print_stats(90)
        return
    jax = pathlib.Path(options.peers) / "jax" / "bin" / "python"
    pythons = {"mindlite": sys.executable} | ({"jax": str(jax)} if jax.exists() else {})
    print("| first step | mindlite | jax | ratio | goal | by stage | launches, kernels |\n|---|---|---|---|---|---|---|")
    for row in chosen:
        taken = {name: [] for name in pythons}
        for _ in range(options.rounds):
            for name, python in pythons.items():
                taken[name].append(sample(python, name, row))
        median = {name: statistics.median(s["compile"] for s in samples) for name, samples in taken.items()}
        ours = taken["mindlite"]
        stages = {stage: statistics.median(s["stages"][stage] for s in ours) for stage in ours[0]["stages"]}
        mine, theirs = median["mindlite"], median.get("jax")
        beside = f"{theirs:.2f} | {mine / theirs:.2f}" if theirs else " | "
        print(f"| {row.removeprefix('cold compile: ')} | {mine:.2f} | {beside} | {ROWS[row].goal} | "
              f"{', '.join(f'{stage} {seconds:.2f}' for stage, seconds in stages.items())} | "
              f"{ours[0]['launches']}, {ours[0]['kernels']} |", flush=True)
        digests = [samples[0]["digest"] for samples in taken.values()]
        if not all(abs(a[0] - b[0]) <= 1e-3 * a[1] + 1e-6 for other in digests[1:] for a, b in zip(digests[0], other)):
            print(f"results differ: {digests}", flush=True)


if __name__ == "__main__":
    main()
