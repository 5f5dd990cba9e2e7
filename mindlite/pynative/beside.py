"""Compilations beside the run: eager mode goes on while one thread compiles what was seen often.

    order = compile_beside(lambda: Compiled(graph), nodes)        ..        if order.is_ready: run(order.result())

What is worth it is decided as in ski rental (Karlin et al. 1988): what has taken as long without being compiled as compiling will
take (`pays`). How long that is, is learned from what was compiled: kernels that are on the disk take a tenth of new ones. The
first compilation of a process takes much longer than its own kernel does (`Costs.first_pays`). What an earlier process has
compiled takes a fraction of all that (`compile/kept_graphs.py`), so the disk is asked much earlier (`Making`).

LLVM works without Python's lock; what is written in Python takes turns with the program, in short ones. A program whose runs
are to be alike to the last bit sets `compile_beside` to False (MINDLITE_COMPILE_BESIDE=0): then what is ordered is there
at once, and only counts decide when it is used.
"""
import atexit
import math
import os
import queue
import sys
import threading
import time

from ..common.config import config
from ..common.errors import InternalError, MindliteError, fault
from ..compile.kept_graphs import NotKept, may_hold, only_kept

SWITCH_INTERVAL = 5e-4                           # seconds for which Python code of one thread runs while both want to
PAYS = 1.0                                       # compile once running without has taken this share of what compiling will take
LAST = 10                                        # seconds that the end of the process waits for what is being compiled


class Costs:
    """What compiling takes in this process. scale: how many times as long as expected, None before anything was compiled;
    since: the processor time of the process when something was worth its compilation for the first time"""
    of_a_graph, of_a_node = 8e-3, 2e-3                       # seconds
    least, most = 0.2, 16.0                                  # scales
    of_the_first, of_the_first_by_disk = 0.25, 0.1           # seconds of what the first one makes, or loads, for all of them
    of_asking, of_asking_for_a_node = 1e-3, 1e-4             # seconds of looking for a graph on the disk

    def __init__(self):
        self.scale = self.since = None

    def of(self, nodes):
        """Seconds that compiling a graph of so many nodes is expected to take."""
        return (self.scale or 1.0) * (self.of_a_graph + self.of_a_node * nodes)

    def first_pays(self):
        """True if the first compilation, which imports the compiler and makes what all kernels call, is behind, or is worth it:
        the process has gone on for as long since a kernel was worth its own compilation."""
        if self.scale is not None:
            return True
        now = time.process_time()
        if self.since is None:
            self.since = now
        return now - self.since >= PAYS * (self.of_the_first_by_disk if may_hold() else self.of_the_first)

    def learn(self, nodes, seconds):
        """A graph has taken so long: the geometric mean with what was known, which one that is far off does not move much."""
        taken = seconds / (self.of_a_graph + self.of_a_node * nodes)
        if taken < 0.05:                                     # another one of open sizes served it
            return
        if self.scale is None:
            self.scale = 1.0
        else:
            self.scale = min(self.most, max(self.least, math.sqrt(self.scale * taken)))


costs = Costs()


def is_beside():
    """True if compilations are made beside the run, False if at once."""
    return config.compile_beside and not config.repeatable


def pays(seconds, nodes):
    """True for what has taken these seconds of processor time, if compiling it, so many nodes, takes no longer."""
    return seconds >= PAYS * costs.of(nodes)


def pays_to_ask(seconds, nodes):
    """True for what has taken these seconds, if it takes no longer to see whether an earlier process has compiled it."""
    return is_beside() and seconds >= PAYS * (
        costs.of_asking + costs.of_asking_for_a_node * nodes) and may_hold()


class Order:
    """Something that is being made, of so many nodes. is_ready: it is there, or it cannot be made; asks: it is only taken from
    the disk; is_there: it was"""

    def __init__(self, make, nodes, asks=False):
        self._make, self._made, self._error, self.nodes, self.is_ready = make, None, None, nodes, False
        self.asks, self.is_there = asks, True

    def run(self):
        """Make it."""
        start = time.thread_time()
        try:
            if self.asks:
                with only_kept():
                    self._made = self._make()
            else:
                self._made = self._make()
                costs.learn(self.nodes, time.thread_time() - start)
        except NotKept:
            self.is_there = False
        except BaseException as error:                       # whoever asks for the result gets it
            self._error = error
        self._make, self.is_ready = None, True

    def result(self):
        """What was made. raises : what making it raised, a fault as an InternalError; InternalError before it is ready"""
        if not self.is_ready:
            raise InternalError("the result of a compilation is asked for before it is there")
        error = self._error
        if isinstance(error, Exception) and not isinstance(error, (MindliteError, MemoryError)):
            raise fault(error, "compile") from error
        if error is not None:
            raise error
        return self._made


class Making:
    """What is made beside the run once that is worth it: looked for on the disk soon, compiled later. order: the Order, or None;
    asked: what it was looked for as, None before that"""
    __slots__ = ("order", "asked")

    def __init__(self):
        self.order = self.asked = None

    def find(self, prepare, nodes, seconds, is_worth, what=True):
        """The Order, once it is ready; None before that.

        prepare     : () -> a function without arguments that makes it        nodes : as an Order has them
        seconds     : what has been taken without it
        is_worth    : () -> bool: it is to be compiled now, be it on the disk or not
        what        : it is looked for once as each of these
        """
        if self.order is None:
            if is_worth() and (not is_beside() or costs.first_pays()):
                self.order = compile_beside(prepare(), nodes)
            elif self.asked != what and pays_to_ask(seconds, nodes):
                self.asked, self.order = what, compile_beside(prepare(), nodes, asks=True)
        order = self.order
        if order is None or not order.is_ready:
            return None
        if not order.is_there:
            self.order = None
            return None
        return order


class Compiler:
    """The thread and its orders. threads: the idents of those that have compiled, for tests"""

    def __init__(self):
        self.orders: queue.Queue = queue.Queue()
        self.thread, self.ending, self.lock, self.idents = None, False, threading.Lock(), set()

    def take(self, order):
        """Make it in the thread, which begins with the first order."""
        with self.lock:
            self.orders.put(order)
            if self.thread is None and not self.ending:
                self.thread = threading.Thread(target=self.work, name="mindlite compiles", daemon=True)
                self.thread.start()

    def work(self):
        """Make one after the other."""
        self.idents.add(threading.get_ident())
        while not self.ending:
            order = self.orders.get()
            if order is None:
                return
            before = sys.getswitchinterval()
            sys.setswitchinterval(min(before, SWITCH_INTERVAL))
            try:
                order.run()
            finally:
                sys.setswitchinterval(before)
                self.orders.task_done()

    def end(self):
        """The process ends: nothing new is begun, and what LLVM is doing is done before its code is unloaded."""
        with self.lock:
            self.ending = True
        if self.thread is not None and self.thread.is_alive():
            self.orders.put(None)
            self.thread.join(LAST)

    def wait(self):
        """Until all orders are made."""
        self.orders.join()


compiler = Compiler()


def compile_beside(make, nodes, asks=False):
    """An Order of what make() gives, of so many nodes: made by the thread, or at once where `config.compile_beside` is off."""
    order = Order(make, nodes, asks)
    if is_beside():
        compiler.take(order)
    else:
        order.run()
    return order


def _in_child():
    """A forked process has no thread, and other locks."""
    global compiler
    compiler = Compiler()


atexit.register(lambda: compiler.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
