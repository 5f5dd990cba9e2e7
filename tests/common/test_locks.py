"""A process that is forked while other threads compile finds every lock free, and LLVM in order."""
import os
import pathlib
import re
import signal
import threading

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.backend import object_code
from mindlite.common.config import config
from mindlite.common.locks import new_lock
from mindlite.pynative import beside

NOT_RENEWED = {"common/locks.py": "makes them", "backend/object_code.py": "a fork waits for it",
               "pynative/beside.py": "a child has another Compiler", "backend/ahead.py": "a child has another Condition",
               "backend/cuda/driver.py": "a device cannot be used after a fork",
               "backend/cuda/simulated_library.py": "as the device", "backend/cuda/simulator.py": "as the device",
               "communication/simulation.py": "ranks that are threads of one process"}

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_child(function):
    """The exit status of a forked process that calls `function`: 0 where it gives True, 2 where it does not end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, lambda *_: os._exit(2))
            signal.alarm(60)
            status = 0 if function() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_every_lock_is_one_that_a_forked_process_finds_free():
    folder = pathlib.Path(ms.__file__).parent
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")
             if re.search(r"threading\.(R?Lock|Condition)\(", path.read_text(encoding="utf-8"))}
    assert found == NOT_RENEWED.keys()


@forks
def test_a_lock_that_another_thread_holds_is_free_in_the_child():
    lock, held, done = new_lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    status = in_child(lambda: lock.acquire(blocking=False))
    done.set()
    thread.join()
    assert status == 0


@forks
def test_a_fork_waits_for_the_thread_that_is_inside_of_llvm():
    inside, forked = threading.Event(), threading.Event()

    def compile_slowly():
        with object_code.lock:
            inside.set()
            forked.wait(0.2)
    thread = threading.Thread(target=compile_slowly)
    thread.start()
    inside.wait(60)
    status = in_child(lambda: object_code.lock.acquire(blocking=False))
    forked.set()
    thread.join()
    assert status == 0
    assert object_code.lock.acquire(blocking=False)
    object_code.lock.release()


@forks
def test_processes_that_are_forked_while_a_thread_compiles_compile_for_themselves():
    before, x = config.set(compile_beside=True), Tensor(np.linspace(-1, 1, 5))

    def compiled(number):
        return np.allclose(ms.jit(lambda x: ops.tanh(x * number) + number, jit_level="O1")(x).asnumpy(),
                           np.tanh(x.asnumpy() * number) + number)
    try:
        orders = [beside.compile_beside(lambda n=n: compiled(n / 8), 1) for n in range(1, 25)]
        statuses = [in_child(lambda n=n: compiled(n + 0.5)) for n in range(6)]
        beside.compiler.wait()
    finally:
        config.set(**before)
    assert statuses == [0] * 6
    assert all(order.result() for order in orders)
