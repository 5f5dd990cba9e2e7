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
assert gc.get_freeze_count() > 10 * len(gc.get_objects())
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
assert gc.get_freeze_count() > 10 * len(gc.get_objects())        # what lives is frozen again
""")


def test_without_being_asked_a_complete_collection_comes_once_in_a_while_outside_of_gradients():
    run("""
node = cycle()
from mindlite import Tensor, grad, ops
from mindlite.common import garbage
seen = weakref.ref(node)
del node
gc.set_threshold(50, 2, 2)
def work(*x):
    kept = [[i] for i in range(20000)]
    return ops.sum(x[0] * x[0]) if x else None
work()
assert seen() is not None                                        # a minute has not passed
garbage.EVERY = 0.0
grad(work)(Tensor([1.0]))
assert seen() is not None                                        # a tape recorded
work()
assert seen() is None
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
before = list(gc.callbacks)
from mindlite import Tensor, nn, ops
assert gc.get_freeze_count() == 0 and gc.callbacks == before
""", MINDLITE_FREEZE="0")
