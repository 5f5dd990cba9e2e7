"""As many random programs as wanted: `make fuzz N=10000 SEED=0`.

    python tests/fuzz/random_programs.py PROGRAMS SEED [FIRST] [without,these,constructs]
    python tests/fuzz/random_programs.py minimise NUMBER SEED [without,these,constructs]

A program is determined by the seed and its number only: `case(seed, number)`. Programs are drawn independently of each
other, so that they are different ones (a program that has been there counts once), and any of them runs again on its own.
Two processes work on parts of PART programs. What differs is printed as a file that runs; nothing is minimised meanwhile,
so that what is counted is what was drawn. `minimise` gives the choices that made a program to hypothesis, whose shrinker
lowers and removes them.
"""
import collections
import contextlib
import faulthandler
import gc
import hashlib
import multiprocessing
import os
import random
import signal
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import grammar
import worlds
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes

PART, PARTS = 50, 40
SECONDS = 120                                    # of processor time, for a program that ends: most take a tenth of one
QUICK = 2 + len(worlds.optim.PASSES)             # of worlds.WAYS: those that compile no kernels
LEFT_OUT = ("views", "unbound", "mixed", "try", "with", "generator", "class", "user_exception", "cell", "star", "sets",
            "backwards", "defaults", "big", "numpy", "lambdas", "text", "chained")          # see docs/design/fuzzing.md


def drawn(choose, without=LEFT_OUT):
    """(a Program, a Way) of some choices. choose: n -> an int below n"""
    program = grammar.Grammar(choose, without).program()
    return program, worlds.WAYS[choose(len(worlds.WAYS) if choose(8) == 7 else QUICK)]


def case(seed, number, without=LEFT_OUT):
    """(a Program, a Way): the program of this number of a seed."""
    return drawn(random.Random(f"{seed}:{number}").randrange, without)


def choices_of(seed, number, without=LEFT_OUT):
    """The choices that make the program of this number, as hypothesis would draw them: one of one is none."""
    below, made = random.Random(f"{seed}:{number}").randrange, []

    def choose(n):
        chosen = below(n)
        if n > 1:
            made.append(chosen)
        return chosen
    drawn(choose, without)
    return [*made, 0]                            # one more than is read: what hypothesis finds as it left it, it leaves so


@st.composite
def cases(draw, without=LEFT_OUT):
    """(a Program, a Way), as hypothesis draws and shrinks them."""
    return drawn(lambda n: draw(st.integers(0, n - 1)) if n > 1 else 0, without)


class Kept(ExampleDatabase):
    """One example, from which hypothesis starts to shrink."""

    def __init__(self, choices):
        super().__init__()
        self.example = choices_to_bytes(choices)

    def fetch(self, key):
        """The example, whatever is asked for."""
        return iter([self.example])

    def save(self, key, value):
        """Nothing is kept."""

    def delete(self, key, value):
        """Nothing is kept."""


def minimised(seed, number, without=LEFT_OUT, phases=(Phase.reuse, Phase.shrink)):
    """The Difference of the smallest program that hypothesis makes of this one; None if the program shows none."""
    @settings(deadline=None, database=Kept(choices_of(seed, number, without)), phases=phases,
              suppress_health_check=list(HealthCheck), print_blob=False)
    @given(cases(without))
    def run(drawn_case):
        with limited():
            worlds.check(*drawn_case)
    try:
        run()
    except worlds.Difference as difference:
        return difference
    return None


# ---------------------------------------------------------------- many

class Endless(BaseException):
    """A program takes more than SECONDS. No program catches it."""


@contextlib.contextmanager
def limited():
    """raises : Endless"""
    def stop(signum, frame):
        raise Endless(f"more than {SECONDS} s")
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run_part(job):
    """([(hash of a program, how it ran)], [(its number, the text of its difference)]). Another process calls it."""
    seed, numbers, without = job
    ran, differences = [], []
    for number in numbers:
        program, way = case(seed, number, without)
        kind = "different"
        try:
            with limited():
                kind = worlds.check(program, way).kind
        except worlds.Difference as difference:
            differences.append((number, str(difference)))
        except (Exception, Endless):
            differences.append((number, f"{traceback.format_exc()}\n{worlds.as_file(program)}"))
        ran.append((hashlib.sha256(repr((program, way)).encode()).hexdigest(), kind))
    return ran, differences


def quietly():
    """What is loaded stays; a process that compiles thousands of programs collects seldom, and shows where it dies."""
    faulthandler.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def in_two_processes(jobs):
    """What run_part gives for each job, in order; every PARTS jobs the processes are new, as compiled code stays in them.

    raises : BrokenProcessPool where a process died
    """
    for start in range(0, len(jobs), PARTS):
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), quietly) as pool:
            yield from pool.map(run_part, jobs[start:start + PARTS])


def summary(kinds):
    """How programs ran, in words."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def main(programs, seed, first=0, without=LEFT_OUT):
    """Run so many programs; the exit status is 1 if some differ."""
    os.environ["MINDLITE_KEEP_FLOWS"] = "0"                  # each process compiles for itself
    stop = first + programs
    jobs = [(seed, range(start, min(start + PART, stop)), without) for start in range(first, stop, PART)]
    kinds, known, differences = collections.Counter(), set(), []
    done = first
    try:
        for (_, numbers, _), (ran, found) in zip(jobs, in_two_processes(jobs)):
            done = numbers.stop
            for key, kind in ran:
                if key not in known:
                    known.add(key)
                    kinds[kind] += 1
            for number, text in found:
                differences.append(number)
                print(f"\n--- program {number} of seed {seed}\n{text}\n")
            print(f"seed {seed}: {done - first} programs, {len(known)} different ones ({summary(kinds)}), "
                  f"{len(differences)} differences {differences}; FIRST={done} goes on", flush=True)
    except BrokenProcessPool:
        print(f"seed {seed}: a process died at one of the programs {done} to {min(done + 2 * PART, stop) - 1}")
        return 1
    return 1 if differences else 0


def command(words):
    """The command line."""
    minimising = words[0] == "minimise"
    numbers = [int(w) for w in words[minimising:] if w.isdigit()]
    without = next((tuple(w.split(",")) for w in words[1:] if not w.isdigit()), LEFT_OUT)
    if minimising:
        print(minimised(numbers[1], numbers[0], without))
        return 0
    return main(*numbers, without=without)


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
