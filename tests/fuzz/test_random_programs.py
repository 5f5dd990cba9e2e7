"""Random programs do the same in plain Python, in PyNative mode and in graph mode: some here, as many as wanted by `make fuzz`.

    python tests/fuzz/test_random_programs.py PROGRAMS SEED [FIRST] [without,these,constructs]

Batches of 50 programs run in two processes; each is determined by the seed and its number, so a run goes on at the program
where the last line says. A difference is minimised by hypothesis and printed as a file that runs; the run goes on.
"""
import collections
import multiprocessing
import sys
import traceback

import grammar
import worlds
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

BATCH = 50
QUICK = 2 + len(worlds.optim.PASSES)             # of worlds.WAYS: those that compile no kernels
LEFT_OUT = ("views", "unbound", "mixed", "try", "with", "generator")         # see docs/design/fuzzing.md
SETTINGS = settings(deadline=None, database=None, phases=(Phase.generate, Phase.shrink),
                    suppress_health_check=list(HealthCheck), print_blob=False)


@st.composite
def cases(draw, without=LEFT_OUT):
    """(a Program, a Way)"""
    def choose(n):
        return draw(st.integers(0, n - 1)) if n > 1 else 0
    program = grammar.Grammar(choose, without).program()
    return program, worlds.WAYS[choose(len(worlds.WAYS) if choose(8) == 7 else QUICK)]


def test_random_programs_do_the_same_in_all_modes():
    kinds = collections.Counter()

    @settings(SETTINGS, max_examples=120, derandomize=True)
    @given(cases())
    def run(case):
        kinds[worlds.check(*case).kind] += 1
    run()
    print(summary(kinds))
    assert kinds["native"] > sum(kinds.values()) / 2


def test_a_difference_is_found_and_shown_as_a_file_that_runs(monkeypatch):
    monkeypatch.setattr(worlds.plain_tensor.ops, "tanh", staticmethod(lambda x: x))

    @settings(SETTINGS, max_examples=400, derandomize=True, phases=(Phase.generate,))
    @given(cases())
    def run(case):
        worlds.check(*case)
    try:
        run()
    except worlds.Difference as found:
        text = str(found)
    assert "plain Python" in text and "ops.tanh(" in text
    compile(text[text.index("import numpy"):], "found.py", "exec")


def summary(kinds):
    """How programs ran, in words."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def run_batch(job):
    """(number of the batch, {how it ran: how many}, the text of the first difference or None). Another process calls it."""
    number, start, without = job
    kinds, found = collections.Counter(), []

    @seed(start * 1_000_003 + number)
    @settings(SETTINGS, max_examples=BATCH)
    @given(cases(without))
    def run(case):
        report = worlds.check(*case)
        if not found:
            kinds[report.kind] += 1
    try:
        run()
    except worlds.Difference as difference:
        found.append(str(difference))
    except Exception:
        found.append(traceback.format_exc())
    return number, dict(kinds), found[0] if found else None


def main(programs, start, first=0, without=LEFT_OUT):
    """Run so many programs; the exit status is 1 if some differ."""
    jobs = [(number, start, without) for number in range(first // BATCH, -(-(first + programs) // BATCH))]
    kinds, differences = collections.Counter(), 0
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=8) as pool:
        for done, (number, seen, text) in enumerate(pool.imap(run_batch, jobs), 1):
            kinds.update(seen)
            if text is not None:
                differences += 1
                print(f"\n--- batch {number} of seed {start}\n{text}\n")
            print(f"seed {start}: {done * BATCH} of {len(jobs) * BATCH} programs ({summary(kinds)}), "
                  f"{differences} differences; FIRST={(number + 1) * BATCH} goes on", flush=True)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4]), *[tuple(words.split(",")) for words in sys.argv[4:5]]))
