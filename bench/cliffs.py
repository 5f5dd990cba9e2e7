"""The cliff detector: where mindlite is far behind its peers, over operators and pieces of networks at drawn sizes.

    python bench/cliffs.py [--sample 100] [--seed 0] [--rows TEXT ...] [--rounds 5] [--peers DIR] [--out DIR] [--keep WORDS]

The table (pieces.py) has each piece at three sizes drawn by the seed, in float32 and in one other drawn dtype, forward and
gradients of all float arguments with a cotangent that is an argument, compiled and eager. --sample takes so many of these
rows, drawn by the seed; --rows only those with one of these texts. Peers are jax (jit) and torch (eager), each in a process
of an environment of its own; samples are taken in turn, and the least time of each counts. The ratio of a row is mindlite's
time by the best peer's, in eager modes by torch's. A row above 1.2 is measured again at once, with twice as many rounds,
and the least of all counts: others may have computed in between. Printed are the geometric mean and the shares above 1.2
and 2 of each mode, by elapsed and by processor time of all threads (waiting threads of torch spin where others compute),
the rows above 2, what mindlite cannot run and what differs from a peer.

Eager rows are measured when they have *settled*: mindlite compiles beside the run what is called often, and torch does not, so a
row is called until nothing more is compiled for it. What comes before that is a table of its own: the first 20 calls of an eager
row, by torch's, and the first call of a compiled one, by jax's, each measured once. mindlite begins with an empty cache (--warm:
with the user's), jax compiles anew in each process too; what earlier rows have compiled serves later ones, as in any program.
cliffs.json has all; --keep puts it into bench/history under the date and these words.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import tempfile
import time

import numpy as np

import pieces
from measure import ROWS
from run import HERE, Worker, cpu_name, interpreters, text_of

PEERS_HERE = ("jax", "torch")
SHARES = (1.2, 2)
EXACT, NARROW = 1e-3, 3e-2                         # of the sum of magnitudes: what two results may differ by
NARROW_DTYPES = ("float16", "bfloat16")


def measured(name, workers, rounds, quiet):
    """({framework: least seconds of a call}, the same of processor time, ({framework: seconds of a first call}, the same of
    processor time), what went wrong, in words) of a row."""
    ready, digests, notes, first = [], {}, [], ({}, {})
    for worker in workers:
        said = worker.ask("prepare", name)
        if "absent" not in said:
            ready.append(worker)
            digests[worker.name] = said["digest"]
            for kept, what in zip(first, ("seconds", "processor")):
                kept[worker.name] = said["first"][what]
        elif said["absent"]:
            notes.append(f"{worker.name} cannot run it: {said['absent']}")
    least, processor = {}, {}

    def take(count):
        for _ in range(count):
            for worker in ready:
                time.sleep(quiet)
                said = worker.ask("sample", name)
                least[worker.name] = min(said["seconds"], least.get(worker.name, math.inf))
                processor[worker.name] = min(said["processor"], processor.get(worker.name, math.inf))
    if any(w.name == "mindlite" for w in ready) and len(ready) > 1:
        take(rounds)
        if ratio(least) > SHARES[0]:
            take(2 * rounds)
        tolerance = NARROW if name.split(" | ")[2] in NARROW_DTYPES else EXACT
        notes += [f"differs from {peer}: {digests['mindlite']}, {digests[peer]}" for peer in digests
                  if peer != "mindlite" and not agree(digests["mindlite"], digests[peer], tolerance)]
    for worker in workers:
        worker.ask("forget", name)
    return least, processor, first, notes


def agree(ours, theirs, tolerance):
    """True if two digests (measure.sums of each result) are the same to a tolerance; what is not finite says nothing."""
    if len(ours) != len(theirs):
        return False
    pairs = np.array(ours, float), np.array(theirs, float)
    if not np.isfinite(pairs).all():
        return True
    return bool((abs(pairs[0] - pairs[1]) <= tolerance * (pairs[1][:, 1:] + 1e-3)).all())


def ratio(least):
    """mindlite's time by the best peer's; None where there is none."""
    others = [seconds for name, seconds in least.items() if name != "mindlite"]
    return least["mindlite"] / min(others) if others and "mindlite" in least else None


def comparable(name, first):
    """Of {framework: seconds of a first call} those that did the same: of a compiled row torch has compiled nothing."""
    return first if name.split(" | ")[3].startswith("eager") else {k: v for k, v in first.items() if k != "torch"}


def summary(table):
    """{mode: {count, geometric mean, shares above}} of {row: ratio, or None}; "all" has them together."""
    found = {}
    for mode in (*pieces.MODES, "all"):
        ratios = [r for name, r in table.items() if r is not None and mode in ("all", name.split(" | ")[3])]
        if ratios:
            found[mode] = {"count": len(ratios), "mean": math.exp(sum(map(math.log, ratios)) / len(ratios)),
                           "above": {str(share): sum(r > share for r in ratios) / len(ratios) for share in SHARES}}
    return found


def modes(table, worked):
    """Lines of Markdown: means and shares by mode. worked: by processor time"""
    heads = ["geometric mean", *[f"above {share}" for share in SHARES]]
    heads += [f"{head}, processor time" for head in heads]
    lines = ["| mode | rows | " + " | ".join(heads) + " |", "|---" * 8 + "|"]
    for mode, each in summary(table).items():
        cells = [f"{by['mean']:.2f} | " + " | ".join(f"{100 * share:.0f} %" for share in by["above"].values())
                 for by in (each, summary(worked)[mode])]
        lines.append(f"| {mode} | {each['count']} | " + " | ".join(cells) + " |")
    return lines


def report(table, worked, first, times, notes):
    """The result as Markdown: tables of the modes, settled and first calls, the rows above the limit, and what went wrong.

    worked : by processor time      first : (table, worked) of first calls
    """
    lines = ["Settled:", "", *modes(table, worked), "", "First calls (of eager rows 20, of compiled ones 1), each once:", "",
             *modes(*first)]
    high = sorted(((r, name) for name, r in table.items() if r > SHARES[-1]), reverse=True)
    lines += ["", f"## Above {SHARES[-1]}", ""]
    lines += [f"- {r:.1f} ({worked[name]:.1f} by processor time)  {name}: "
              + ", ".join(f"{k} {text_of(t)}" for k, t in times[name].items()) for r, name in high]
    wrong = [(name, note) for name, said in notes.items() for note in said if note.startswith(("mindlite", "differs"))]
    lines += ["", "## What mindlite cannot run, and what differs", "", *[f"- {name}: {note}" for name, note in wrong]]
    return "\n".join(lines)


def text_of_ratio(found):
    """A ratio as text."""
    return "     -" if found is None else f"{found:6.2f}"


def chosen_rows(seed, sample, texts):
    """Names of rows: those with one of the texts, of them as many as `sample` says, drawn by the seed."""
    pieces.register(seed)
    names = [name for name in ROWS if not texts or any(text in name for text in texts)]
    if sample is None or sample >= len(names):
        return names
    picked = np.random.default_rng(seed).permutation(len(names))[:sample]
    return [names[i] for i in sorted(picked)]


def main():
    """Measure, print, write cliffs.md and cliffs.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, help="so many rows, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", nargs="*", help="only rows with one of these texts in their name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quiet", type=float, default=0.05, help="seconds before each sample, for threads that still spin")
    parser.add_argument("--peers", default=str(pathlib.Path.home() / ".cache" / "mindlite" / "peers"))
    parser.add_argument("--out", default=str(HERE / "results"))
    parser.add_argument("--warm", action="store_true", help="mindlite has the user's cache, not an empty one")
    parser.add_argument("--keep", help="keep the result in bench/history under this name")
    options = parser.parse_args()
    names = chosen_rows(options.seed, options.sample, options.rows)
    os.environ["JAX_ENABLE_X64"] = "1"
    pythons = {name: python
        for name, python in interpreters(options.peers).items() if name == "mindlite" or name in PEERS_HERE}
    with tempfile.TemporaryDirectory() as folder:
        run(options, names, pythons, None if options.warm else folder)


def run(options, names, pythons, cache):
    """Measure these rows, print, write. cache: mindlite's folder for kernels, None for the user's"""
    workers = [Worker(name, python, cache, options.seed) for name, python in pythons.items()]
    times, notes, table, worked, first, firsts = {}, {}, {}, {}, ({}, {}), {}
    for name in names:
        times[name], processor, firsts[name], said = measured(name, workers, options.rounds, options.quiet)
        if said:
            notes[name] = said
        found = ratio(times[name])
        if found is not None:
            table[name], worked[name] = found, ratio(processor)
            for kept, taken in zip(first, firsts[name]):
                kept[name] = ratio(comparable(name, taken))
        print(f"{name:75s} {'' if found is None else f'{found:6.2f} {worked[name]:6.2f}, first {text_of_ratio(first[0][name])}'} "
              + " ".join(f"{k} {text_of(t)}" for k, t in times[name].items())
              + "".join(f"  ({note[:100]})" for note in said), flush=True)
    ends = [worker.end() for worker in workers]
    facts = {"date": datetime.date.today().isoformat(), "cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)),
             "load": round(os.getloadavg()[0], 1), "rounds": options.rounds, "seed": options.seed, "sample": options.sample,
             "versions": {k: v for end in ends for k, v in end["versions"].items()}}
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    text = report(table, worked, first, times, notes)
    (out / "cliffs.md").write_text(text + "\n")
    result = json.dumps({"facts": facts, "summary": summary(table), "ratios": table,
                         "processor": worked, "seconds": times, "first": dict(zip(("ratios", "processor"), first)),
                         "summary of first calls": summary(first[0]), "notes": notes}, indent=1)
    (out / "cliffs.json").write_text(result)
    if options.keep:
        named = re.sub("[^a-z0-9]+", "-", f"{facts['date']} cliffs {options.keep.lower()}")
        (HERE / "history" / f"{named}.json").write_text(result)
    print("\n" + text)


if __name__ == "__main__":
    main()
