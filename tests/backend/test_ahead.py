"""Object code that is ordered before it is needed: by workers, by who needs it, in any order, whatever becomes of a worker."""
import ctypes
import json
import os
import struct
import subprocess
import sys
import threading
import time

import pytest

from mindlite.backend import ahead, object_code
from mindlite.backend.ahead import Order
from mindlite.backend.machine_code import compile_ir
from mindlite.common.config import config

PADDING = "; " + "x" * ahead.PAYS + "\n"                         # as much text as makes a worker worth its start


@pytest.fixture(autouse=True)
def workers():
    """One worker may be started; none is there before and afterwards, and no order."""
    def end():
        for order in list(ahead._queue):
            order.code()
        for thread in list(ahead._workers):
            thread.join(20)
        assert not ahead._workers and not ahead._queue and not ahead._running
    end()
    before = config.set(compile_workers=1)
    yield
    config.set(**before)
    end()


def text(number, padding=""):
    return padding + f"define i64 @f(i64 %x) {{ %y = add i64 %x, {number} ret i64 %y }}"


def value(order, x):
    """f(x) of the code of an order, whoever made it."""
    code = order.code()
    engine = ahead.object_code.llvm.create_mcjit_compiler(ahead.object_code.llvm.parse_assembly(""),
                                                          object_code.target_machine())
    engine.add_object_file(object_code.llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("f"))(x)


def test_little_text_starts_no_worker_and_is_compiled_where_it_is_needed():
    orders = [Order({"text": text(n)}) for n in range(3)]
    assert not ahead._workers and [value(o, 10) for o in reversed(orders)] == [12, 11, 10]


def test_a_worker_and_this_process_make_the_same_bytes():
    request = {"text": text(5, PADDING), "passes": 3, "slp": True, "level": 3, "reloc": "pic", "codemodel": "default"}
    order = Order(request)
    assert ahead._workers
    assert order.done.wait(20)                                   # nobody here has asked for it
    assert order.answer == object_code.object_code(request) and value(order, 1) == 6


def test_many_orders_are_all_made_whoever_makes_them():
    orders = [Order({"text": text(n, PADDING)}) for n in range(12)]
    assert [value(o, 100) for o in orders] == [100 + n for n in range(12)]


def test_threads_may_wait_for_the_same_order():
    order, seen = Order({"text": text(7, PADDING)}), []
    threads = [threading.Thread(target=lambda: seen.append(order.code())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4 and len(set(seen)) == 1


@pytest.mark.parametrize("padding", ["", PADDING])
def test_what_is_wrong_with_a_text_is_raised_where_it_is_needed(padding):
    wrong, right = Order({"text": padding + "define i64 @f() { nonsense }"}), Order({"text": text(3, padding)})
    assert value(right, 1) == 4
    for _ in range(2):
        with pytest.raises(RuntimeError, match="expected instruction opcode"):
            wrong.code()
    missing = Order({"text": padding + "declare void @no_such_function_anywhere()", "closed": True})
    with pytest.raises(LookupError, match="no_such_function_anywhere"):
        missing.code()


@pytest.mark.parametrize("program", ["import sys; sys.exit(3)",
                                     "import sys; sys.stdin.buffer.read(30); sys.stdout.write('x' * 9)"])
def test_a_worker_that_ends_leaves_its_orders_to_this_process(monkeypatch, tmp_path, program):
    path = tmp_path / "broken.py"
    path.write_text(program)
    monkeypatch.setattr(object_code, "__file__", str(path))
    orders = [Order({"text": text(n, PADDING)}) for n in range(3)]
    assert [value(o, 1) for o in orders] == [1, 2, 3]


def test_a_worker_that_does_not_answer_is_not_waited_for(monkeypatch, tmp_path):
    path = tmp_path / "silent.py"
    path.write_text(f"import os, sys, time\nwhile not os.path.exists({str(tmp_path / 'end')!r}):\n    time.sleep(0.01)")
    monkeypatch.setattr(object_code, "__file__", str(path))
    monkeypatch.setattr(ahead, "PATIENCE", 0.05)
    order = Order({"text": text(6, PADDING)})
    while order in ahead._queue:                                 # until the worker has begun it
        time.sleep(0.01)
    assert value(order, 1) == 7
    (tmp_path / "end").touch()


def test_where_no_process_is_to_be_had_this_one_compiles(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert value(Order({"text": text(4, PADDING)}), 1) == 5


def test_none_is_started_where_none_is_wanted():
    config.set(compile_workers=0)
    order = Order({"text": text(4, PADDING)})
    assert not ahead._workers and value(order, 1) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_the_child_of_a_fork_compiles_for_itself():
    order = Order({"text": text(9)})
    child = os.fork()
    if child == 0:
        os._exit(0 if value(order, 1) == 10 and value(Order({"text": text(2)}), 1) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0 and value(order, 1) == 10


def test_a_worker_imports_llvmlite_alone():
    request = json.dumps({"text": text(1)}).encode()
    code = (f"import runpy, sys; runpy.run_path({object_code.__file__!r}, run_name='__main__'); "
            "print([m for m in ('mindlite', 'numpy', 'numba') if m in sys.modules], file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code], input=struct.pack("<q", len(request)) + request, capture_output=True)
    assert done.stderr.split() == [b"[]"], done.stderr
    assert done.stdout[8:9] == b"\1" and done.stdout[9:] == object_code.object_code({"text": text(1)})


FORWARDED = """
define i64 @f(ptr %a, ptr %b, ptr %c, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %next = add nsw i64 %i, 1
  %here = getelementptr double, ptr %a, i64 %i
  %behind = getelementptr double, ptr %a, i64 %next
  %beside = getelementptr double, ptr %b, i64 %i
  %out = getelementptr double, ptr %c, i64 %i
  %x = load double, ptr %here
  %y = load double, ptr %beside
  %sum = fadd double %x, %y
  store double %sum, ptr %behind
  %product = fmul double %x, %y
  store double %product, ptr %out
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}
"""


def test_a_pass_that_workers_leave_out_is_still_there_for_others_of_this_process():
    if object_code.llvm.llvm_version_info[0] < 16:
        pytest.skip("LLVM cannot leave it out")
    request = {"text": FORWARDED, "passes": 2, "slp": True, "level": 2, "reloc": "pic", "codemodel": "default"}
    before = object_code.object_code(request)
    order = Order(request | {"text": "; " + "x" * ahead.PAYS + FORWARDED})
    assert order.done.wait(20)
    assert object_code.object_code(request) == before != order.answer and order.answer


def test_code_ahead_is_loaded_when_it_is_asked_for():
    asked = []
    code = compile_ir("declare i64 @labs(i64)\n" + text(6), lambda: asked.append("symbols") or {}, ahead=True)
    assert not asked
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("f"))(1) == 7 and asked == ["symbols"]
    with pytest.raises(KeyError):
        code.address("g")
