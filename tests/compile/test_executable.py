"""Runs: errors, Python in between, runs inside runs, tapes, outputs, files."""
import gc
import mmap
import os
import sys
import threading
import types

import numpy as np
import pytest
from flow_kernels import count, flip, kernel

import mindlite
from mindlite.backend.kernel import Kernel
from mindlite.common import dtype as D
from mindlite.common.dim import Symbol
from mindlite.common.errors import InternalError, ShapeError, ValueRangeError
from mindlite.common.events import counting
from mindlite.compile import executable
from mindlite.compile import flow as F
from mindlite.compile.executable import Executable
from mindlite.compile.flow_builder import FlowBuilder
from mindlite.compile.printers import launch_list

PRINTERS = ("native", "vm", "python")
every_printer = pytest.mark.parametrize("printer", PRINTERS)


def counted(b, counter):
    """Count a step of the program."""
    b.kernel(count, [counter, b.const(0)])


@every_printer
def test_a_failed_check_raises_its_error_with_the_values_and_nothing_runs_after_it(printer):
    b = FlowBuilder("main")
    counter, f = b.param("ptr", "counter"), b.param("f64", "f")
    counted(b, counter)
    data = b.load(counter, D.int64)
    b.check(b.arith("gt", data, b.const(5)), "{} is not more than 5 at {}", [data, f])
    counted(b, counter)
    executable = Executable(F.Program(b.finish()), printer)
    cell = np.array([1])
    with pytest.raises(ValueRangeError, match="2 is not more than 5 at 0.5"):
        executable.run([cell.ctypes.data, 0.5])
    assert cell[0] == 2
    cell[0] = 7
    executable.run([cell.ctypes.data, 0.5])
    assert cell[0] == 9


@every_printer
def test_checks_of_entry_sizes_fire_before_any_kernel(printer):
    b = FlowBuilder("main")
    counter, n = b.param("ptr", "counter"), b.param("i64", "n", symbol=Symbol("N"))
    counted(b, counter)
    with b.block() as then:
        counted(b, counter)
        b.check(b.arith("ne", b.arith("add", n, b.const(1)), b.const(11)), lambda m: ShapeError(f"n is {m}"), [n])
    with b.block() as other:
        pass
    b.if_(b.arith("gt", n, b.const(5)), then, other)
    b.check(b.arith("le", n, b.const(100)), lambda m: ShapeError(f"{m} is too many"), [n])
    executable = Executable(F.Program(b.finish()), printer)
    cell = np.array([0])
    for n, text in ((101, "101 is too many"), (10, "n is 10")):
        with pytest.raises(ShapeError, match=text):
            executable.run([cell.ctypes.data, n])
        assert cell[0] == 0
    executable.run([cell.ctypes.data, 6])
    assert cell[0] == 2


@every_printer
def test_a_kernel_that_fails_is_named_with_its_error(printer):
    b = FlowBuilder("main")
    counter, status = b.param("ptr", "counter"), b.param("i64", "status")
    b.kernel(count, [counter, status])
    counted(b, counter)
    executable = Executable(F.Program(b.finish()), printer)
    cell = np.array([0])
    with pytest.raises(InternalError, match="count failed: the counter is unwell"):
        executable.run([cell.ctypes.data, 1])
    assert cell[0] == 1


def test_a_launch_of_a_list_that_fails_is_named_and_is_the_last(monkeypatch):
    monkeypatch.setattr(launch_list, "LONG", 0)
    b = FlowBuilder("main")
    counter, status = b.param("ptr", "counter"), b.param("i64", "status")
    for said in (b.const(0), b.const(0), status, b.const(0)):
        b.kernel(count, [counter, said])
    executable = Executable(F.Program(b.finish()), "native", verify=False)
    assert executable.source().count("call i64 @\"rt_launches\"") == 1
    assert "launches of count, count, count, count" in executable.source()
    cell = np.array([0])
    executable.run([cell.ctypes.data, 0])
    assert cell[0] == 4
    with pytest.raises(InternalError, match="count failed: the counter is unwell"):
        executable.run([cell.ctypes.data, 1])
    assert cell[0] == 7


@every_printer
def test_an_exception_of_a_python_segment_comes_out_unchanged_and_ends_the_run(printer):
    raised = KeyError("mine")

    def segment(number, real):
        if number == 3:
            raise raised
        return number + 1, real * 2

    b = FlowBuilder("main")
    counter, n, f = b.param("ptr", "counter"), b.param("i64", "n"), b.param("f64", "f")
    results = b.python(segment, [n, f], ["i64", "f64"])
    counted(b, counter)
    executable = Executable(F.Program(b.finish(results)), printer)
    cell = np.array([0])
    assert executable.run([cell.ctypes.data, 1, 0.75])[0] == (2, 1.5)
    with pytest.raises(KeyError) as caught:
        executable.run([cell.ctypes.data, 3, 0.0])
    assert caught.value is raised and cell[0] == 1


@every_printer
def test_a_run_inside_a_run_has_memory_of_its_own(printer):
    n, depth = 8, 3
    made = []

    def again(level):
        if level:
            x, out = np.full(n, float(level)), np.zeros(n)
            made[0].run([x.ctypes.data, out.ctypes.data, level - 1])
            assert out.tolist() == [level * 1.5] * n

    b = FlowBuilder("main")
    x, out, level = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "level")
    size, t = b.const(n), b.alloc(b.const(8 * n), 8 * n)
    b.kernel(flip, [x, x, b.const(0.0), t, size], extent=size)
    b.python(again, [level])
    b.kernel(flip, [t, x, b.const(0.5), out, size], extent=size)
    made.append(Executable(F.Program(b.finish()), printer, verify=True))
    for _ in range(2):
        again(depth)


def test_threads_run_one_executable_at_once():
    n = 64
    b = FlowBuilder("main")
    x, out, iterations = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "iterations")
    size, zero = b.const(n), b.const(0)
    first = b.alloc(b.const(8 * n), 8 * n)
    b.copy(first, x, b.const(8 * n))
    loop = b.while_([iterations, first])
    with loop.cond:
        loop.cond.results(b.arith("gt", loop.params[0], zero))
    with loop.body:
        t = b.alloc(b.const(8 * n), 8 * n)
        b.kernel(flip, [loop.params[1], x, b.const(0.0), t, size], extent=size)
        loop.body.results(b.arith("sub", loop.params[0], b.const(1)), t)
    b.copy(out, loop.end()[1], b.const(8 * n))
    executable, wrong = Executable(F.Program(b.finish())), []

    def work(number):
        for _ in range(20):
            x, out = np.full(n, float(number)), np.zeros(n)
            executable.run([x.ctypes.data, out.ctypes.data, 200])
            if (out != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@every_printer
def test_tapes_take_thousands_of_records_of_sizes_not_known_before(printer):
    b = FlowBuilder("main")
    x, iterations, popped = b.param("ptr", "x"), b.param("i64", "iterations"), b.param("i64", "popped")
    one, eight, inner = b.const(1), b.const(8), b.tape()
    tape = b.tape()
    b.push(inner, tape)                                      # a tape on a tape
    forth = b.while_([b.const(0)])
    with forth.cond:
        forth.cond.results(b.arith("lt", forth.params[0], iterations))
    with forth.body:
        (i,) = forth.params
        b.push(tape, x, b.arith("mul", b.arith("mod", i, b.const(5)), eight))
        b.push(tape, i)
        forth.body.results(b.arith("add", i, one))
    forth.end()
    other = b.pop(inner, "i64")
    back = b.while_([popped, b.const(0)])
    with back.cond:
        back.cond.results(b.arith("gt", back.params[0], b.const(0)))
    with back.body:
        left, total = back.params
        i = b.pop(other, "i64")
        b.pop(other)
        back.body.results(b.arith("sub", left, one), b.arith("add", total, i))
    executable = Executable(F.Program(b.finish(back.end()[1:])), printer)
    data = np.zeros(8)
    iterations = 300 if printer == "python" else 20000
    assert executable.run([data.ctypes.data, iterations, iterations])[0] == (iterations * (iterations - 1) // 2,)
    with pytest.raises(InternalError, match="popped more often"):
        executable.run([data.ctypes.data, 3, 4])
    assert executable.run([data.ctypes.data, 3, 3])[0] == (3,)


@every_printer
def test_outputs_of_unknown_size_own_their_memory(printer):
    b = FlowBuilder("main")
    x, n = b.param("ptr", "x"), b.param("i64", "n")
    b.output(1, x, b.arith("mul", n, b.const(4)), (n, b.const(1)))
    b.output(0, x, b.const(0), (b.const(0),))
    program = F.Program(b.finish(), {}, (F.OutputSpec(1, D.float32), F.OutputSpec(0, D.float64)))
    executable = Executable(program, printer)
    x = np.arange(6, dtype=np.float32)
    results = [executable.run([x.ctypes.data, n])[1] for n in (6, 2)]
    x[:] = -1
    del executable
    gc.collect()
    assert results[0][1].tolist() == [[0], [1], [2], [3], [4], [5]] and results[1][1].shape == (2, 1)
    assert results[0][0].shape == (0,)


@every_printer
def test_handles_are_made_once_for_an_instance_and_on_the_way_where_sizes_are_not_known(printer):
    asked = []

    def prepare(sizes):
        asked.append(sizes)
        return types.SimpleNamespace(address=1000 + sizes[0])

    show = kernel("show_handle", prepare=prepare)
    N = Symbol("N")
    b = FlowBuilder("main")
    out, _, m = b.param("ptr", "out"), b.param("i64", "n", symbol=N), b.param("i64", "m")
    b.kernel(show, [out], handle=b.handle(show, [b.dim(2 * N.dim)], (2 * N.dim,)))
    first = b.load(out, D.int64)
    b.kernel(show, [out], handle=b.handle(show, [m]))
    executable = Executable(F.Program(b.finish((first, b.load(out, D.int64)))), printer)
    cell = np.zeros(1, np.int64)
    seen = [executable.run([cell.ctypes.data, n, 5])[0] for n in (3, 3, 4)]
    assert seen == [(1006, 1005), (1006, 1005), (1008, 1005)]
    assert sorted(asked) == [(5,), (6,), (8,)]


def test_executables_of_a_thread_share_one_arena_and_follow_it_when_it_grows():
    def squares(n):
        b = FlowBuilder("main")
        x, out = b.param("ptr", "x"), b.param("ptr", "out")
        size, t = b.const(n), b.alloc(b.const(8 * n), 8 * n)
        b.kernel(flip, [x, x, b.const(0.0), t, size], extent=size)
        b.kernel(flip, [t, x, b.const(1.0), out, size], extent=size)
        return Executable(F.Program(b.finish()))

    def check(executable, n):
        x, out = np.full(n, 3.0), np.zeros(n)
        executable.run([x.ctypes.data, out.ctypes.data])
        assert (out == 6).all()
        return executable._local.free[0].buffer

    small, large = squares(4), squares(300000)
    check(small, 4)
    grown = check(large, 300000)
    assert check(small, 4) is grown and check(large, 300000) is grown


def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="how much memory a process has touched is read from /proc")
def test_a_large_arena_is_touched_by_a_thread_before_the_first_run(monkeypatch):
    monkeypatch.setattr(executable, "default_threads", lambda: 2)
    arenas, nbytes, before = executable.Arenas(), 64 << 20, resident()
    arenas.touch(nbytes)
    thread, _ = arenas.touched
    buffer = arenas.buffers[0]
    arenas.touch(nbytes)
    assert arenas.touched[0] is thread, "it is large enough already"
    arenas.depth = 0
    assert arenas.at_least(nbytes) is buffer and arenas.touched is None and not thread.is_alive()
    assert resident() - before > 0.9 * nbytes
    assert arenas.at_least(2 * nbytes) is not buffer and arenas.buffers[1] is None


def test_a_small_arena_or_one_on_one_thread_is_touched_by_the_run(monkeypatch):
    arenas = executable.Arenas()
    arenas.touch(executable.WORTH_TOUCHING - 1)
    monkeypatch.setattr(executable, "default_threads", lambda: 1)
    arenas.touch(1 << 40)
    assert arenas.touched is None and arenas.buffers == [None]


def test_an_arena_that_is_not_to_be_had_is_the_error_of_the_run(monkeypatch):
    monkeypatch.setattr(executable, "default_threads", lambda: 2)
    arenas = executable.Arenas()
    arenas.touch(1 << 60)
    arenas.depth = 0
    with pytest.raises(MemoryError):
        arenas.at_least(1 << 60)


def test_a_run_of_a_large_function_waits_until_its_arena_is_touched():
    x = np.ones((2200, 2200), np.float32)

    @mindlite.jit
    def f(x):
        y = mindlite.ops.matmul(x, x)
        return mindlite.ops.matmul(y, x).sum() + y.sum()
    assert float(f(mindlite.Tensor(x))) == pytest.approx(2200.0 ** 4 + 2200.0 ** 3, rel=1e-4)
    assert executable.thread_arenas().touched is None


@every_printer
def test_recursion_that_never_ends_is_a_recursion_error(printer):
    b = FlowBuilder("endless")
    n = b.param("i64", "n")
    (result,) = b.call("endless", [b.arith("add", n, b.const(1))], ["i64"])
    endless = b.finish((result,))
    b = FlowBuilder("main")
    program = F.Program(b.finish(b.call("endless", [b.const(0)], ["i64"])), {"endless": endless})
    executable = Executable(program, printer)
    before = sys.getrecursionlimit()
    for _ in range(2):
        with pytest.raises(RecursionError, match="endless"):
            executable.run([])
    assert sys.getrecursionlimit() == before


@every_printer
def test_recursion_is_bounded_by_the_stack_whatever_the_recursion_limit(printer):
    b = FlowBuilder("endless")
    values = [b.param("i64", "n")]
    for _ in range(200):                                     # so many values that are needed after the call
        values.append(b.arith("mul", values[-1], values[0]))
    (total,) = b.call("endless", [b.arith("add", values[0], b.const(1))], ["i64"])
    for value in values:
        total = b.arith("xor", total, value)
    endless = b.finish((total,))
    b = FlowBuilder("main")
    program = F.Program(b.finish(b.call("endless", [b.const(3)], ["i64"])), {"endless": endless})
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10 ** 6)
    try:
        executable = Executable(program, printer)
        with pytest.raises(RecursionError, match="endless"):
            executable.run([])
    finally:
        sys.setrecursionlimit(before)


def test_a_chain_of_kernels_runs_without_any_python_in_between():
    b = FlowBuilder("main")
    counter = b.param("ptr", "counter")
    for _ in range(400):
        counted(b, counter)
    executable = Executable(F.Program(b.finish()))
    cell, events = np.array([0]), []
    executable.run([cell.ctypes.data])
    sys.settrace(lambda frame, event, arg: events.append(frame.f_code.co_name))
    try:
        executable.run([cell.ctypes.data])
    finally:
        sys.settrace(None)
    assert cell[0] == 800 and len(events) < 10


def saved_program():
    N = Symbol("N")
    b = FlowBuilder("main")
    x, out, n, f = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "n", symbol=N), b.param("f64", "f")
    b.check(b.arith("lt", n, b.const(50)), "{} is too long", [n])
    size = b.dim(8 * N.dim)
    t, u = b.alloc(size, 8 * N.dim), b.alloc(size, 8 * (N.dim + N.dim // 3 - N.dim // 3))
    b.kernel(flip, [x, x, f, t, n], extent=n)
    b.kernel(flip, [t, x, f, u, n], extent=n)
    b.copy(out, u, size)
    b.output(0, u, size, (n,))
    return F.Program(b.finish((n, f)), {}, (F.OutputSpec(0, D.float64, (N.dim,)),))


def test_a_saved_table_runs_as_the_program_does(tmp_path):
    executable = Executable(saved_program())
    executable.save(tmp_path / "program.flow")
    Executable(saved_program(), printer="vm")                            # the register machine is compiled, once for all
    with counting() as events:
        loaded = Executable.load(tmp_path / "program.flow", {"flip": flip})
    assert not events["flow_compile"]
    x = np.linspace(0, 1, 7)
    seen = []
    for made in (executable, loaded):
        out = np.zeros(7)
        values, outputs = made.run([x.ctypes.data, out.ctypes.data, 7, 0.5])
        seen.append((values, out.tolist(), outputs[0].tolist()))
    assert seen[0] == seen[1]
    with pytest.raises(ValueRangeError, match="70 is too long"):
        loaded.run([x.ctypes.data, x.ctypes.data, 70, 0.5])


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "program.flow"
    Executable(saved_program()).save(path)
    written = path.read_bytes()
    for at in (0, len(written) // 2, len(written) - 1):
        path.write_bytes(written[:at] + b"?" + written[at + 1:])
        with pytest.raises(ValueRangeError, match="its digest is another"):
            Executable.load(path, {"flip": flip})
    path.write_bytes(b"nothing")
    with pytest.raises(ValueRangeError):
        Executable.load(path, {"flip": flip})


@pytest.mark.parametrize("instruction, text", [
    (F.Arith(1, "add", 0, 5), "no value"), (F.Const(0, 3), "twice"), (F.Arith(1, "fadd", 0, 0), "operands"),
    (F.CallFlow((), "nobody", ()), "no flow"), (F.Return(()), "last instruction"), (F.Const(1, 2.5), "its value f64")])
def test_a_program_that_is_not_well_formed_is_refused(instruction, text):
    flow = F.Flow("main", (F.Param(0, "i64", "n"),), ("i64", "i64"), F.Block((instruction, F.Return(()))))
    with pytest.raises(InternalError, match=text):
        Executable(F.Program(flow))


def test_a_flow_prints_as_text_and_each_printer_shows_its_form():
    N = Symbol("N")
    b = FlowBuilder("main")
    x, n = b.param("ptr", "x"), b.param("i64", "n", symbol=N)
    t = b.alloc(b.dim(4 * N.dim + 8), size=4 * N.dim + 8)
    loop = b.while_([n])
    with loop.cond:
        loop.cond.results(b.arith("gt", loop.params[0], b.const(0)))
    with loop.body:
        b.kernel(count, [x, t], extent=n)
        loop.body.results(b.arith("sub", loop.params[0], b.const(1)))
    b.check(n, "no {}", [n])
    program = F.Program(b.finish(loop.end()))
    assert str(program.entry) == """\
flow main(%0 x: ptr, %1 n: i64) {
  %2 = const 4
  %3 = mul %1, %2
  %4 = const 8
  %5 = add %3, %4
  %6 = alloc %5                               # 4*N + 8 bytes
  check %1 else 'no {}'(%1)
  %12 = while (%7 = %1) {
    %8 = const 0
    %9 = gt %7, %8
    test %9
  } do {
    %10 = const 1
    kernel count(%0, %6) over %1
    %11 = sub %7, %10
    next %11
  }
  return %12
}"""
    assert 'define i64 @"run"(ptr %"ctx")' in Executable(program, "native").source()
    assert "launch       number=0 place=" in Executable(program, "vm").source()
    assert "r3 = wrap(r1 * r2)" in Executable(program, "python").source()


def test_a_kernel_may_be_any_machine_code_with_the_signature():
    b = FlowBuilder("main")
    b.kernel(Kernel("count again", count.address), [b.param("ptr", "counter"), b.const(0)])
    executable = Executable(F.Program(b.finish()))
    cell = np.array([4])
    executable.run([cell.ctypes.data])
    assert cell[0] == 5


@every_printer
def test_a_constant_array_is_read_where_it_is_and_keeps_out_of_files(printer, tmp_path):
    table, n = np.arange(8.0), 8
    b = FlowBuilder("main")
    out, size = b.param("ptr", "out"), b.const(n)
    data = b.data(table)
    assert b.data(table) == data
    b.kernel(flip, [data, data, b.const(0.5), out, size], extent=size)
    executable = Executable(F.Program(b.finish()), printer)
    result = np.zeros(n)
    executable.run([result.ctypes.data])
    assert result.tolist() == (table[::-1] * 0.5 + table).tolist()
    with pytest.raises(InternalError, match="constant arrays"):
        executable.save(tmp_path / "program.flow")


def test_the_text_of_native_code_holds_no_address():
    texts = []
    for _ in range(2):
        b = FlowBuilder("main")
        out, size = b.param("ptr", "out"), b.const(8)
        data = b.data(np.arange(8.0))
        b.kernel(flip, [data, data, b.const(0.5), out, size], extent=size)
        texts.append(Executable(F.Program(b.finish()), "native").source())
    assert texts[0] == texts[1]
