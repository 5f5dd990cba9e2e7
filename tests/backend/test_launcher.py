"""The launcher: every item once, whatever the threads; one launch at a time has the workers; forks, exits."""
import ctypes
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from mindlite.backend.launcher import launch_address, set_threads
from mindlite.backend.machine_code import c_address, compile_ir
from mindlite.backend.target import current

WORTH_IT, SPARE, WHOLE_LINE = current().parallel_from, current().spare, current().line

TEXT = """
; out[i] += 1 and out[i] += 1000 * first item of the chunk, args: out, item that fails or -1
define i64 @mark(ptr %args, i64 %begin, i64 %end) {
entry:
  %out = load ptr, ptr %args
  %p1 = getelementptr i64, ptr %args, i64 1
  %wrong = load i64, ptr %p1
  %first = mul i64 %begin, 1000
  br label %head
head:
  %i = phi i64 [%begin, %entry], [%next, %body]
  %bad = phi i64 [0, %entry], [%bad_now, %body]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %op = getelementptr i64, ptr %out, i64 %i
  %old = load i64, ptr %op
  %one = add i64 %old, 1
  %both = add i64 %one, %first
  store i64 %both, ptr %op
  %is = icmp eq i64 %i, %wrong
  %bad_now = select i1 %is, i64 7, i64 %bad
  %next = add i64 %i, 1
  br label %head
done:
  ret i64 %bad
}
"""
code = compile_ir(TEXT, passes=2)
launch = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(launch_address())


def mark(extent, cost=1, wrong=-1):
    """(status, marks of the items, first items of the chunks)"""
    out = np.zeros(extent, np.int64)
    args = np.array([out.ctypes.data, wrong])
    status = launch(code.address("mark"), args.ctypes.data, extent, cost)
    return status, out % 1000, sorted(set((out // 1000).tolist()))


@pytest.fixture(autouse=True)
def two_threads_afterwards():
    yield
    set_threads(2)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_every_item_is_done_once_and_the_cuts_are_always_the_same(threads):
    assert set_threads(threads)
    for extent in (0, 1, 2, threads, 1001, WORTH_IT // 1000 + 1):
        for cost in (1, 10 ** 6):
            status, marks, firsts = mark(extent, cost)
            assert status == 0 and (marks == 1).all()
            chunks = min(threads, extent) if extent * cost >= WORTH_IT else 1
            assert firsts == sorted({cut(extent, t, chunks) for t in range(chunks)})[:extent]


def cut(extent, t, threads):
    """Where chunk t begins."""
    step = 1
    while 2 * step <= min(extent // (SPARE * threads), WHOLE_LINE):
        step *= 2
    return extent * t // threads // step * step


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_chunks_of_many_items_begin_at_cache_lines_and_are_nearly_equal(threads):
    """64 items of at least a byte are whole lines, whatever a row of them has: no line is written by two threads."""
    assert set_threads(threads)
    for extent in (SPARE * WHOLE_LINE * threads, 20011, 123457, 200003):
        _, marks, firsts = mark(extent, WORTH_IT)
        assert (marks == 1).all() and len(firsts) == threads and all(first % 64 == 0 for first in firsts)
        sizes = np.diff([*firsts, extent])
        assert sizes.max() - sizes.min() <= sizes.max() / SPARE * 2


def test_many_launches_in_a_row_are_all_complete():
    assert set_threads(2)
    for _ in range(3000):
        status, marks, firsts = mark(100, WORTH_IT)
        assert status == 0 and (marks == 1).all() and firsts == [0, 50]


@pytest.mark.parametrize("wrong", [0, 30, 99])
def test_the_status_of_a_chunk_that_fails_is_the_result(wrong):
    assert set_threads(3)
    assert mark(100, WORTH_IT, wrong)[0] == 7
    assert mark(100, WORTH_IT)[0] == 0


def test_python_threads_that_launch_at_once_do_not_disturb_each_other():
    assert set_threads(3)
    wrong = []

    def work():
        for _ in range(300):
            status, marks, firsts = mark(100, WORTH_IT)
            if status or (marks != 1).any() or firsts not in ([0], [0, 33, 66]):
                wrong.append((status, firsts))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


CORES = """
declare i32 @ml_sched_getcpu()
declare i32 @ml_usleep(i32)
; args[item] is the core on which it began
define i64 @cores(ptr %args, i64 %begin, i64 %end) {
  %place = getelementptr i64, ptr %args, i64 %begin
  %core = call i32 @ml_sched_getcpu()
  %wide = zext i32 %core to i64
  store i64 %wide, ptr %place
  %slept = call i32 @ml_usleep(i32 30000)
  ret i64 0
}
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell where a thread is")
def test_threads_of_a_launch_that_were_put_on_one_core_take_two():
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one core")
    assert set_threads(2)
    cores = compile_ir(CORES, {f"ml_{name}": c_address(name) for name in ("sched_getcpu", "usleep")})
    mark(100, WORTH_IT)                                                  # makes the worker
    threads, found = [int(name) for name in os.listdir("/proc/self/task")], 0
    for _ in range(100):                                                 # another program may hold the second core meanwhile
        for places in ({min(allowed)}, allowed):
            for thread in threads:
                os.sched_setaffinity(thread, places)
        began = np.full(2, -1, np.int64)
        assert launch(cores.address("cores"), began.ctypes.data, 2, WORTH_IT) == 0
        found = len(set(began.tolist()))
        if found == 2:
            break
    assert found == 2 and os.sched_getaffinity(0) == allowed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_workers_of_its_own():
    assert set_threads(2)
    mark(100, WORTH_IT)
    child = os.fork()
    if child == 0:
        signal.alarm(20)                                  # a child that hangs is ended, and the test fails
        good = all(mark(100, WORTH_IT)[2] == [0, 50] for _ in range(20))
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert mark(100, WORTH_IT)[2] == [0, 50]


def test_the_interpreter_exits_while_workers_wait():
    program = (f"import sys; sys.path[:0] = {sys.path!r}\n"
               "import test_launcher as t\nt.set_threads(3)\nprint(t.mark(100, t.WORTH_IT)[2])")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                         cwd=os.path.dirname(__file__))
    assert (run.returncode, run.stdout.strip()) == (0, "[0, 33, 66]"), run.stderr
