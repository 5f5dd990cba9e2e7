"""The benchmark: every row in every framework that is present, interleaved, so that all see the same machine.

    python bench/run.py [--rows TEXT ...] [--rounds 15] [--peers DIR] [--out DIR] [--keep WORDS]

A peer is present if DIR/<name>/bin/python exists (make bench builds them). Each framework runs in a process of its own;
a round takes one sample from each, and the table shows medians and minima over the rounds. Ratios are mindlite's median
by the best peer's, and its processor time by the least of a peer. The results of all frameworks are compared too: a
row that computes something else is named. Written are bench.md, bench.json and bench.svg; --keep puts the JSON into
bench/history as well, under the date and these words: the result of a change that matters.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import rows
from frameworks import FRAMEWORKS
from measure import ROWS
from plot import ratio, svg

HERE = pathlib.Path(__file__).parent
IMPORT = "import, in a process of its own"
FIRST = "process to the first trained MLP step, warm cache"
MLP = "step: MLP 784-512-512-10, batch 64, Momentum"
QUIET = 0.25        # seconds before a sample: threads of the one before (OpenBLAS's, OpenMP's) look for work for a while
FIRST_STEP = """
import rows.networks
from frameworks import FRAMEWORKS
from measure import ROWS
framework = FRAMEWORKS["{name}"]()
framework.wait(ROWS["{row}"].make(framework)())
"""
PEERS = {"jax": "jax", "torch": "torch", "torch.compile": "torch", "mindspore": "mindspore"}     # and their folders
IMPORTS = {"mindlite": "import mindlite; from mindlite import nn, ops, Tensor", "jax": "import jax.numpy",
           "torch": "import torch", "mindspore": "from mindspore import nn, ops, Tensor", "numpy": "import numpy"}


def clean_environment():
    """The environment without what would make one framework slower: OPENBLAS_CORETYPE halves some images' BLAS, and
    without byte code on the disk a package is compiled by Python at each start."""
    return {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "PYTHONDONTWRITEBYTECODE")}


class Worker:
    """A process of one framework. cache: the folder for kernels, by default the user's; more: what worker.py is told as well."""

    def __init__(self, name, python, cache=None, *more):
        environment = clean_environment()
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent)])
        if cache is not None:
            environment["MINDLITE_CACHE_DIR"] = str(cache)
        self.name = name
        self.process = subprocess.Popen([python, str(HERE / "worker.py"), name, *map(str, more)], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self):
        """The next line it wrote."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of {self.name} ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, do, row=""):
        """Its answer."""
        self.process.stdin.write(json.dumps({"do": do, "row": row}) + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """{peak, versions}; the process is gone afterwards."""
        said = self.ask("end")
        self.process.wait()
        return said


def interpreters(peers):
    """{framework: its Python}, mindlite first."""
    found = {"mindlite": sys.executable}
    for name, folder in PEERS.items():
        python = pathlib.Path(peers) / folder / "bin" / "python"
        if python.exists():
            found[name] = str(python)
    return {**found, "numpy": sys.executable}


def warm(names, workers, rounds):
    """{row: {framework: {median, minimum, first}}} of the rows that are called again and again, and what differs."""
    table, differing = {}, []
    for name in names:
        ready, digests = {}, {}
        for worker in workers:
            said = worker.ask("prepare", name)
            if "absent" not in said:
                ready[worker], digests[worker.name] = said["first"]["seconds"], said["digest"]
            elif said["absent"]:
                print(f"{worker.name} cannot run {name}: {said['absent']}", flush=True)
        samples = {worker: [] for worker in ready}
        for _ in range(rounds):
            for worker in ready:
                time.sleep(QUIET)
                samples[worker].append(worker.ask("sample", name))
        table[name] = {worker.name: summary(taken) | {"first": ready[worker]} for worker, taken in samples.items()}
        if not agree(digests):
            differing.append((name, digests))
        show(name, table[name])
    return table, differing


def summary(taken):
    """{median, minimum, processor} of samples; processor: the median of the processor time of all threads."""
    seconds = [sample["seconds"] for sample in taken]
    return {"median": statistics.median(seconds), "minimum": min(seconds),
            "processor": statistics.median(sample["processor"] for sample in taken)}


def agree(digests):
    """True if the sums of all frameworks are the same to 1e-3 of the sums of magnitudes."""
    first, *others = digests.values()
    return all(len(other) == len(first) and all(abs(x - y) <= 1e-3 * (a[1] + 1e-6) for a, b in zip(first, other)
                                                for x, y in zip(a, b)) for other in others)


def cold(names, pythons, repeats=3):
    """Rows whose first call is measured, each time in a new process; mindlite also from what it left on the disk."""
    table = {}
    for name in names:
        taken = {}
        for _ in range(repeats):
            for framework, python in pythons.items():
                with tempfile.TemporaryDirectory() as folder:
                    warm_too = [f"{framework}, from the disk"] if framework == "mindlite" else []
                    for label in [framework, *warm_too]:
                        worker = Worker(framework, python, folder)
                        said = worker.ask("prepare", name)
                        worker.end()
                        if "absent" not in said:
                            taken.setdefault(label, []).append(said["first"])
        table[name] = {label: summary(samples) for label, samples in taken.items()}
        show(name, table[name])
    return table


def imports(pythons, repeats=5):
    """Seconds of importing each framework, in processes of their own."""
    taken = {name: [] for name in pythons if name in IMPORTS}
    for _ in range(repeats):
        for name in taken:
            code = f"import time; t = time.perf_counter(); {IMPORTS[name]}; print(time.perf_counter() - t)"
            taken[name].append(float(in_process(pythons[name], code)))
    return medians(taken)


def first_steps(pythons, repeats=5):
    """Seconds from the start of a process to the first trained step of the MLP; what a cache keeps is there already."""
    taken = {name: [] for name in pythons if name != "numpy"}
    for iteration in range(repeats + 1):
        for name in taken:
            begun = time.perf_counter()
            in_process(pythons[name], FIRST_STEP.format(name=name, row=MLP))
            if iteration:                                          # the first one fills the cache
                taken[name].append(time.perf_counter() - begun)
    return medians(taken)


def in_process(python, code):
    """What a program prints, run by an interpreter."""
    environment = clean_environment() | {"PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    return subprocess.run([python, "-c", code], cwd=HERE, capture_output=True, text=True, check=True, env=environment).stdout


def medians(taken):
    """{framework: {median, minimum}} of samples."""
    return {name: {"median": statistics.median(s), "minimum": min(s)} for name, s in taken.items()}


def text_of(seconds):
    """A time as people read it."""
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def show(name, measured):
    """One line while it runs."""
    print(f"{name:70s} " + "  ".join(f"{k} {text_of(m['median'])}" for k, m in measured.items()), flush=True)


def markdown(table, goals, facts, differing):
    """The table as Markdown."""
    names = list(dict.fromkeys(k for measured in table.values() for k in measured))
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    lines = ["# Benchmark", "", f"{facts['date']}, {facts['cpu']}, {facts['cores']} cores, load {facts['load']}; "
             f"{versions}. Medians of {facts['rounds']} rounds in iterations (minima in brackets). "
             "Ratio: mindlite by the best peer; CPU: the same of the processor time of all threads, which other "
             "work on the machine disturbs less.", "",
             "| work | " + " | ".join(names) + " | ratio | CPU | goal | |", "|---|" + "---|" * (len(names) + 4)]
    missed = []
    for name, measured in table.items():
        cells = [f"{text_of(measured[n]['median'])} ({text_of(measured[n]['minimum'])})" if n in measured else ""
                 for n in names]
        r, processor, goal = ratio(measured), ratio(measured, "processor"), goals.get(name)
        met = "" if r is None or goal is None else "met" if r <= goal else "missed"
        if met == "missed":
            missed.append(f"{name}: {r:.2f}, goal {goal}")
        cells += [*("" if x is None else f"{x:.2f}" for x in (r, processor)), str(goal or ""), met]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "Peak memory: " + ", ".join(f"{k} {v / 2**20:.0f} MiB" for k, v in facts["peak"].items()), ""]
    lines += ["## Missed", "", *[f"- {m}" for m in missed], ""] if missed else []
    if differing:
        lines += ["## Results that differ", "", *[f"- {name}: {digests}" for name, digests in differing], ""]
    return "\n".join(lines)


def cpu_name():
    """The processor's name."""
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main():
    """Run, print, write bench.md, bench.json and bench.svg; status 0 whatever the ratios are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*", help="only rows with one of these texts in their name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", default=str(pathlib.Path.home() / ".cache" / "mindlite" / "peers"))
    parser.add_argument("--out", default=str(HERE / "results"))
    parser.add_argument("--keep", help="keep the result in bench/history under this name")
    options = parser.parse_args()
    rows.load()
    pythons = interpreters(options.peers)
    chosen = [n for n in ROWS if not options.rows or any(text in n for text in options.rows)]
    workers = [Worker(name, python) for name, python in pythons.items()]
    table, differing = warm([n for n in chosen if not ROWS[n].cold], workers, options.rounds)
    ends = {w.name: w.end() for w in workers}
    compiling = {name: python for name, python in pythons.items() if FRAMEWORKS[name].compiles}
    table |= cold([n for n in chosen if ROWS[n].cold], compiling)
    goals = {name: ROWS[name].goal for name in chosen}
    for name, measure in ((IMPORT, imports), (FIRST, first_steps)):
        if not options.rows or any(text in name for text in options.rows):
            table[name] = measure(pythons)
            show(name, table[name])
    facts = {"date": datetime.date.today().isoformat(), "cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)),
             "load": round(os.getloadavg()[0], 1), "python": platform.python_version(), "rounds": options.rounds,
             "versions": {k: v for e in ends.values() for k, v in e["versions"].items()},
             "peak": {name: e["peak"] for name, e in ends.items()}}
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    text = markdown(table, goals, facts, differing)
    (out / "bench.md").write_text(text)
    ratios = {name: ratio(measured) for name, measured in table.items()}
    (out / "bench.svg").write_text(svg({name: r for name, r in ratios.items() if r is not None}, goals))
    result = json.dumps({"facts": facts, "rows": table, "goals": goals}, indent=1)
    (out / "bench.json").write_text(result)
    if options.keep:
        (HERE / "history").mkdir(exist_ok=True)
        name = re.sub("[^a-z0-9]+", "-", f"{facts['date']} {options.keep.lower()}")
        (HERE / "history" / f"{name}.json").write_text(result)
    print("\n" + text)


if __name__ == "__main__":
    main()
