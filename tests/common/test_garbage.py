"""Garbage collections: what was loaded is walked past, and no garbage is hidden by that."""
import os
import subprocess
import sys

NODES = """
import gc, weakref
class Node:
    pass
def cycle():
    node = Node()
    node.itself = node
    return node
"""


def run(code, **environment):
    """Run a program in a process of its own."""
    subprocess.run([sys.executable, "-c", NODES + code], check=True, env={**os.environ, **environment})


def test_what_was_loaded_is_no_part_of_later_collections():
    run("""
cycle()
from mindlite import Tensor, nn, ops
assert gc.get_freeze_count() > 4 * len(gc.get_objects())
gc.unfreeze()
assert not any(type(x) is Node for x in gc.get_objects())        # garbage of before is gone, not kept
""")


def test_a_collection_that_the_program_asks_for_finds_garbage_that_lived_at_import():
    run("""
node = cycle()
from mindlite import Tensor, nn, ops
seen = weakref.ref(node)
del node
gc.collect(1)
assert seen() is not None                                        # it is frozen
gc.collect()
assert seen() is None
assert gc.get_freeze_count() > 4 * len(gc.get_objects())        # what lives is frozen again
""")


def test_without_being_asked_a_complete_collection_comes_once_in_a_while_behind_gradients():
    run("""
node = cycle()
from mindlite import Tensor, grad, ops
from mindlite.common import garbage
seen = weakref.ref(node)
del node
gc.set_threshold(50, 2, 2)
def work(x):
    kept = [[i] for i in range(20000)]
    found.append(seen() is None)
    return ops.sum(x * x)
found = []
grad(work)(Tensor([1.0]))
assert seen() is not None                                        # a minute has not passed
garbage.EVERY = 0.0
grad(lambda x: grad(work)(x).sum())(Tensor([1.0]))
assert found == [False, False] and seen() is None                # the inner tape ends while the outer one records
assert gc.get_freeze_count() > 4 * len(gc.get_objects())
""")


def test_complete_collections_that_find_almost_nothing_become_seldom_and_return_with_garbage():
    run("""
from mindlite import Tensor, nn, ops
from mindlite.common import garbage
garbage.EVERY, frozen = 1e-9, garbage.frozen
waits = []
for _ in range(6):
    garbage.collect_seldom()
    waits.append(frozen.patience)
assert waits == [2, 4, 8, 16, 16, 16]
kept = [cycle() for _ in range(20000)]
gc.collect()                                                     # they are frozen
del kept
garbage.collect_seldom()
assert frozen.patience == 1
garbage.EVERY = 1e6
count = frozen.count
garbage.collect_seldom()
assert frozen.count == count                                     # not yet
""")


INTERRUPT = """
import json, signal, time
from mindlite import Tensor, nn, ops
class Interrupt(Exception):
    pass
def interrupted(number, frame):
    raise Interrupt
signal.signal(signal.SIGALRM, interrupted)
def is_interrupted(work):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        work()
        time.sleep(5)                                            # ends at once if the exception is yet to come
    except Interrupt:
        return True
"""


def test_an_interrupt_during_a_collection_is_not_lost():
    """Ctrl-C in a complete collection, in seldom ones by themselves, and in collections while C code runs."""
    run(INTERRUPT + """
kept = [[] for _ in range(1_000_000)]
for _ in range(50):                                              # on a busy machine the alarm may come before the collection
    assert is_interrupted(gc.collect)
    if gc.get_freeze_count() > 1_000_000:                        # all the same
        break
else:
    raise AssertionError("no collection was complete")
from mindlite.common import garbage
garbage.EVERY = 0.0
assert is_interrupted(garbage.collect_seldom)
text = "[" + ",".join(["[[]]"] * 300_000) + "]"
assert is_interrupted(lambda: json.loads(text))
""")


def test_other_generations_are_collected_as_before():
    run("""
from mindlite import Tensor, nn, ops
frozen = gc.get_freeze_count()
cycle()
assert gc.collect(0) >= 1 and gc.collect(generation=1) == 0 and gc.get_freeze_count() == frozen
cycle()
assert gc.collect(generation=2) >= 1
for wrong in 3, -1:
    try:
        gc.collect(wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
""")


def test_a_program_that_freezes_or_unfreezes_objects_itself_decides():
    run("""
from mindlite import Tensor, nn, ops
gc.unfreeze()
gc.collect()
assert gc.get_freeze_count() == 0
""")
    run("""
from mindlite import Tensor, nn, ops
kept = [[] for i in range(1000)]
gc.freeze()
before = gc.get_freeze_count()
gc.collect()
assert gc.get_freeze_count() == before
""")


def test_the_environment_leaves_the_collector_as_it_is():
    run("""
before = gc.collect, gc.get_threshold()
from mindlite import Tensor, nn, ops
assert gc.get_freeze_count() == 0 and (gc.collect, gc.get_threshold()) == before
""", MINDLITE_FREEZE="0")


def test_complete_collections_are_fewer_unless_the_program_has_set_their_number():
    run("""
before = gc.get_threshold()
from mindlite import Tensor, nn, ops
assert gc.get_threshold() == (*before[:2], 50 if before[2] == 10 else before[2])
""")
    run("""
gc.set_threshold(900, 12, 7)
from mindlite import Tensor, nn, ops
assert gc.get_threshold() == (900, 12, 7)
""")
