"""The three printers mean the same, and what the plan does to memory cannot be seen."""
import re
import struct
from unittest import mock

import numpy as np
import pytest
from flow_kernels import Reference, flip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mindlite.common import dtype as D
from mindlite.common.dim import Symbol
from mindlite.common.errors import InexactError
from mindlite.compile import flow as F
from mindlite.compile.executable import Executable
from mindlite.compile.flow_builder import FlowBuilder
from mindlite.compile.printers import launch_list, native

PRINTERS = ("native", "vm", "python")
N = Symbol("N")
INTS = st.one_of(st.integers(-5, 70), st.sampled_from([2 ** 63 - 1, -2 ** 63, 2 ** 40, -1, 0]))
FLOATS = st.one_of(st.floats(-4, 4), st.sampled_from([0.0, -0.0, 1e300, -1e19, float("inf"), float("nan"), 0.5]))


class Programs:
    """Draws a random Program: arithmetic, storages (planned and dynamic), If, While, tapes, recursion, outputs."""

    def __init__(self, draw):
        self.draw, self.budget = draw, 30

    def one(self, values):
        return self.draw(st.sampled_from(values))

    def program(self):
        b = self.b = FlowBuilder("main")
        x, y, out = b.param("ptr", "x"), b.param("ptr", "y"), b.param("ptr", "out")
        n, k, f = b.param("i64", "n", symbol=N), b.param("i64", "k"), b.param("f64", "f")
        self.nbytes, self.n = b.dim(8 * N.dim), n
        pools = ([k, b.const(3)], [f, b.const(0.5)], [x, y])
        self.statements(pools, self.draw(st.integers(3, 10)), 0)
        b.copy(out, y, self.nbytes)
        for t in pools[2][-8:]:                                # whatever is wrong with one of them shows in out
            u = b.alloc(self.nbytes, 8 * N.dim)
            self.combine(out, t, b.const(0.5), u)
            b.copy(out, u, self.nbytes)
        b.output(0, self.one(pools[2]), self.nbytes, (n,))
        entry = b.finish((*pools[0][-4:], *pools[1][-4:]))
        return F.Program(entry, {"down": recursive_flow()}, (F.OutputSpec(0, D.float64, (N.dim,)),))

    def combine(self, a, c, s, out):
        self.b.kernel(flip, [a, c, s, out, self.n], extent=self.n)

    def tensor(self, pools):
        size = 8 * N.dim if self.draw(st.booleans()) else None
        t = self.b.alloc(self.nbytes, size)
        self.combine(self.one(pools[2]), self.one(pools[2]), self.one(pools[1]), t)
        return t

    def statements(self, pools, count, depth):
        ints, floats, tensors = pools
        for _ in range(count):
            self.budget -= 1
            if self.budget < 0:
                return
            kind = self.draw(st.sampled_from(
                ["int", "float", "unary", "tensor", "tensor", "load", "store", "copy", "const", "if", "while", "while",
                 "while", "tape", "call"]
                if depth < 3 else ["int", "float", "tensor", "tensor", "load"]))
            b = self.b
            if kind == "const":
                ints.append(b.const(self.draw(INTS)))
                floats.append(b.const(self.draw(FLOATS)))
            elif kind == "int":
                ints.append(b.arith(self.one(F.INT_ARITH), self.one(ints), self.one(ints)))
            elif kind == "float":
                op = self.one(F.FLOAT_ARITH + F.FLOAT_COMPARE)
                (floats if op in F.FLOAT_ARITH else ints).append(b.arith(op, self.one(floats), self.one(floats)))
            elif kind == "unary":
                op = self.one(sorted(F.UNARY))
                source, result = F.UNARY[op]
                register = b.unary(op, self.one(floats if source == "f64" else ints))
                (floats if result == "f64" else ints).append(register)
            elif kind == "tensor":
                tensors.append(self.tensor(pools))
            elif kind == "load":
                floats.append(b.load(self.one(tensors), D.float64))
            elif kind == "store":
                t = self.tensor(pools)
                b.store(t, self.one(floats), D.float64)
                tensors.append(t)
            elif kind == "copy":
                t = b.alloc(self.nbytes, 8 * N.dim)
                b.copy(t, self.one(tensors), self.nbytes)
                tensors.append(t)
            elif kind == "if":
                self.branch(pools, depth)
            elif kind == "while":
                self.loop(pools, depth)
            elif kind == "tape":
                self.tapes(pools)
            elif kind == "call":
                t = b.alloc(self.nbytes, 8 * N.dim)
                depth_of_call = b.const(self.draw(st.integers(0, 4)))
                floats.extend(b.call("down", [self.one(tensors), t, self.n, depth_of_call], ["f64"]))
                tensors.append(t)

    def branch(self, pools, depth):
        blocks = []
        for _ in range(2):
            with self.b.block() as block:
                inner = tuple(list(pool) for pool in pools)
                self.statements(inner, self.draw(st.integers(0, 3)), depth + 1)
                block.results(*(self.one(pool) for pool in inner))
            blocks.append(block)
        for pool, dst in zip(pools, self.b.if_(self.one(pools[0]), *blocks)):
            pool.append(dst)

    def loop(self, pools, depth):
        b = self.b
        iterations = b.const(self.draw(st.integers(0, 5)))
        loop = b.while_([iterations, self.one(pools[0]), self.one(pools[1]), self.one(pools[2]), self.one(pools[2])])
        left, i, f, t, u = loop.params
        with loop.cond:
            loop.cond.results(b.arith("gt", left, b.const(0)))
        with loop.body:
            inner = (pools[0] + [i], pools[1] + [f], pools[2] + [t, u])
            self.statements(inner, self.draw(st.integers(0, 4)), depth + 1)
            inner[2].append(b.alloc(self.nbytes, 8 * N.dim))
            self.combine(self.one((t, u)), self.one(inner[2][:-1]), self.one(inner[1]), inner[2][-1])
            loop.body.results(b.arith("sub", left, b.const(1)), self.one(inner[0][-3:]), self.one(inner[1][-3:]),
                              self.one(inner[2][-4:]), self.one(inner[2][-4:]))
        _, *dsts = loop.end()
        for pool, registers in zip(pools, (dsts[:1], dsts[1:2], dsts[2:])):
            pool.extend(registers)

    def tapes(self, pools):
        b = self.b
        iterations, tape = b.const(self.draw(st.integers(0, 9))), b.tape()
        forth = b.while_([b.const(0), self.one(pools[2])])
        with forth.cond:
            forth.cond.results(b.arith("lt", forth.params[0], iterations))
        with forth.body:
            b.push(tape, forth.params[1], self.nbytes)
            b.push(tape, self.one(pools[1]))
            t = b.alloc(self.nbytes, 8 * N.dim)
            self.combine(forth.params[1], self.one(pools[2]), self.one(pools[1]), t)
            forth.body.results(b.arith("add", forth.params[0], b.const(1)), t)
        done, last = forth.end()
        back = b.while_([done, last])
        with back.cond:
            back.cond.results(b.arith("gt", back.params[0], b.const(0)))
        with back.body:
            s = b.pop(tape, "f64")
            saved = b.pop(tape)
            t = b.alloc(self.nbytes)
            self.combine(saved, back.params[1], s, t)
            back.body.results(b.arith("sub", back.params[0], b.const(1)), t)
        pools[2].append(back.end()[1])


def recursive_flow():
    """down(x, out, n, k): out = x * 0.5 + down(k - 1) of x * 0.5 + x, returns out[0]"""
    b = FlowBuilder("down")
    x, out, n, k = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "n"), b.param("i64", "k")
    nbytes, half = b.arith("mul", n, b.const(8)), b.const(0.5)
    with b.block() as then:
        t, u = b.alloc(nbytes), b.alloc(nbytes)
        b.kernel(flip, [x, x, half, t, n], extent=n)
        b.call("down", [t, u, n, b.arith("sub", k, b.const(1))], ["f64"])
        b.kernel(flip, [x, u, half, out, n], extent=n)
    with b.block() as other:
        b.copy(out, x, nbytes)
    b.if_(b.arith("gt", k, b.const(0)), then, other)
    return b.finish((b.load(out, D.float64),))


def bits(value):
    """A value to compare bit for bit; all NaNs are one."""
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("<d", value)
    return value


def run(executable, n, k, f):
    x, y, out = np.arange(n) * 0.25, np.linspace(-1, 1, n), np.zeros(max(n, 1))
    values, outputs = executable.run([x.ctypes.data, y.ctypes.data, out.ctypes.data, n, k, f])
    output = outputs[0] if isinstance(outputs[0], np.ndarray) else np.frombuffer(outputs[0])
    return [bits(v) for v in values], [bits(float(v)) for v in out[:n]], [bits(float(v)) for v in output]


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_programs_mean_the_same_in_every_printer_and_without_reuse_of_memory(data):
    program = Programs(data.draw).program()
    made = {(p, v): Executable(program, p, verify=v) for p in PRINTERS for v in (False, True)}
    with mock.patch.object(launch_list, "LONG", 0):
        made["lists", False] = Executable(program, "native", verify=False)
        assert "rt_launches" in made["lists", False].source()
    for n, k, f in ((3, 5, 0.25), (1, -7, float("nan")), (40, 2 ** 62, 1.5), (3, 0, -2.0)):
        expected = run(Reference(program), n, k, f)
        for executable in made.values():
            assert run(executable, n, k, f) == expected
        traces = [made[p, True].trace for p in PRINTERS]
        assert traces[0] == traces[1] == traces[2]


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("dtype", [d for d in D.ALL if d.kind != "c"], ids=str)
def test_load_and_store_convert_as_numpy_does(printer, dtype):
    b = FlowBuilder("main")
    source, target = b.param("ptr", "source"), b.param("ptr", "target")
    value = b.load(source, dtype)
    b.store(target, value, dtype)
    executable = Executable(F.Program(b.finish((value,))), printer)
    numbers = [0, 1, 3, 100] if dtype.kind == "u" else [0, 1] if dtype.kind == "b" else [0, 1, -3, 100]
    numbers += [0.1, float("inf"), -2.5e-3] if dtype.is_float else []
    for number in numbers:
        x, y = np.array([number]).astype(dtype.numpy), np.zeros(1, dtype.numpy)
        (seen,), _ = executable.run([x.ctypes.data, y.ctypes.data])
        assert (seen == x[0].item() or seen != seen and np.isnan(x[0])) and y.tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", [D.float16, D.bfloat16, D.float32, D.int8, D.uint16, D.bool_], ids=str)
def test_all_printers_store_numbers_that_do_not_fit_alike(dtype):
    b = FlowBuilder("main")
    target, value = b.param("ptr", "target"), b.param("f64" if dtype.is_float else "i64", "value")
    b.store(target, value, dtype)
    program = F.Program(b.finish())
    floats = [1e-8, 65519.9, 65520.0, 1e39, -1e-46, 3.1415926535, 1.00390625, 1.01171875, float("nan"), -float("inf")]
    for number in floats if dtype.is_float else [300, -300, 2 ** 40, -1]:
        seen = []
        for printer in PRINTERS:
            y = np.zeros(1, dtype.numpy)
            Executable(program, printer).run([y.ctypes.data, number])
            seen.append(b"nan" if dtype.is_float and np.isnan(y[0]) else y.tobytes())
        assert seen[0] == seen[1] == seen[2]


EDGES = [0, 1, -1, 7, -7, 63, 64, 2 ** 63 - 1, -2 ** 63]
FLOAT_EDGES = [0.0, -0.0, 1.0, -1.5, 5.5, -2.0, 1e308, 1e-320, 9.3e18, float("inf"), -float("inf"), float("nan")]


@pytest.mark.parametrize("printer", PRINTERS)
def test_every_operator_agrees_with_its_description_at_the_edges(printer):
    from flow_kernels import scalar
    b = FlowBuilder("main")
    i, j, f, g = b.param("i64", "i"), b.param("i64", "j"), b.param("f64", "f"), b.param("f64", "g")
    results, meanings = [], []
    for op, (kind, _) in F.ARITH.items():
        results.append(b.arith(op, *((i, j) if kind == "i64" else (f, g))))
        meanings.append((op, kind, 2))
    for op, (kind, _) in F.UNARY.items():
        results.append(b.unary(op, i if kind == "i64" else f))
        meanings.append((op, kind, 1))
    executable = Executable(F.Program(b.finish(results)), printer)
    for at in range(12):
        for other in range(12):
            ints, floats = (EDGES[at % 9], EDGES[other % 9]), (FLOAT_EDGES[at], FLOAT_EDGES[other])
            values, _ = executable.run([*ints, *floats])
            for value, (op, kind, count) in zip(values, meanings):
                operands = (ints if kind == "i64" else floats)[:count]
                assert bits(value) == bits(scalar(op, *operands)), (op, operands)


@pytest.mark.parametrize("printer", PRINTERS)
@pytest.mark.parametrize("op", F.EXACT)
def test_exact_arithmetic_is_that_of_python_or_ends_the_run(printer, op):
    b = FlowBuilder("main")
    i, j = b.param("i64", "i"), b.param("i64", "j")
    executable = Executable(F.Program(b.finish([b.exact(op, i, j)])), printer)
    for a in EDGES:
        for c in EDGES:
            expected = {"add": a + c, "sub": a - c, "mul": a * c}[op]
            if -2 ** 63 <= expected < 2 ** 63:
                assert executable.run([a, c])[0] == (expected,)
            else:
                with pytest.raises(InexactError):
                    executable.run([a, c])


def test_exact_arithmetic_is_saved_with_a_program(tmp_path):
    b = FlowBuilder("main")
    i = b.param("i64", "i")
    Executable(F.Program(b.finish([b.exact("mul", i, i)]))).save(tmp_path / "square.flow")
    loaded = Executable.load(tmp_path / "square.flow", {})
    assert loaded.run([-7])[0] == (49,)
    with pytest.raises(InexactError, match="64 bits"):
        loaded.run([2 ** 32])


@pytest.mark.parametrize("known, launches", [(8, False), (1 << 30, True), (None, True)])
def test_a_launch_is_a_plain_call_of_the_kernel_where_its_work_is_known_to_be_one_threads(known, launches):
    b = FlowBuilder("main")
    x, out, n = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "n", symbol=N)
    b.kernel(flip, [x, x, b.const(0.5), out, n], extent=n if known is None else b.const(known))
    text = Executable(F.Program(b.finish(()), {}, ()), "native").source()
    assert (re.search(r'call i64 %[^(]*\([^,]*%"args", i64 0, ', text) is None) is launches


@pytest.mark.parametrize("launches, is_loop, level", [(1, False, 0), (native.FEW, False, 0), (native.FEW + 1, False, 2),
                                                      (1, True, 2)])
def test_the_code_generator_takes_its_time_for_loops_and_for_many_launches(launches, is_loop, level, monkeypatch):
    b, compile_ir, levels = FlowBuilder("main"), native.compile_ir, []
    x, out, n = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "n", symbol=N)
    for _ in range(launches):
        b.kernel(flip, [x, x, b.const(0.5), out, n], extent=b.const(8))
    if is_loop:
        loop = b.while_([b.const(3)])
        with loop.cond:
            loop.cond.results(b.arith("gt", loop.params[0], b.const(0)))
        with loop.body:
            loop.body.results(b.arith("sub", loop.params[0], b.const(1)))
        loop.end()

    def noted(*args, **options):
        levels.append(options["level"])
        return compile_ir(*args, **options)
    monkeypatch.setattr(native, "compile_ir", noted)
    Executable(F.Program(b.finish(()), {}, ()), "native")
    assert levels == [level]
