"""Files of tables: what is damaged or crafted is refused before its first instruction, whatever was changed in it."""
import io
import json
import os
import random
import signal
import subprocess
import sys

import numpy as np
import pytest
from flow_kernels import flip

from mindlite.common import dtype as D
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError, MindliteError, ValueRangeError
from mindlite.compile import flow as F
from mindlite.compile.executable import Executable
from mindlite.compile.flow_builder import FlowBuilder
from mindlite.compile.printers.vm import instructions
from mindlite.compile.printers.vm_file import digest_of, read_vm

N = Symbol("n")
NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 63, 64, 65, 255, 1000, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63),
           -1, -2, -8)
FACTS = (*NUMBERS, 1 << 80, 0.5, "", "main", "i64", "ptr", None, True, [], {}, [0], "{}", "{5}", "{0.real}", "{:>99999999}")


def without_kernels():
    """Storages, loads, stores, copies, a tape, a branch, loops, a check, a call, an output; all sizes are constants."""
    inner = FlowBuilder("inner")
    a, c = inner.param("i64", "a"), inner.param("f64", "c")
    callee = inner.finish((inner.arith("mul", a, a), inner.arith("fadd", c, c)))
    b = FlowBuilder("main")
    i, f = b.param("i64", "i"), b.param("f64", "f")
    size, zero, one = b.const(64), b.const(0), b.const(1)
    x, y = b.alloc(size, 64), b.alloc(size)
    b.store(x, i, D.int64)
    b.store(b.arith("add", x, b.const(8)), f, D.float64)
    b.copy(y, x, size)
    b.check(b.arith("lt", i, b.const(1000)), "{} is too large", [i])
    z = b.alloc(b.arith("add", b.arith("mul", i, zero), size))      # one whose size is a number of the run
    b.store(z, i, D.int16)
    tape = b.tape()
    forth = b.while_([b.const(5), i])
    with forth.cond:
        forth.cond.results(b.arith("gt", forth.params[0], zero))
    with forth.body:
        b.push(tape, forth.params[1])
        forth.body.results(b.arith("sub", forth.params[0], one), b.arith("add", forth.params[1], forth.params[0]))
    _, total = forth.end()
    popped = b.pop(tape, "i64")
    b.push(tape, x, size)
    with b.block() as then:
        then.results(b.load(y, D.int64))
    with b.block() as other:
        other.results(b.exact("add", popped, b.load(b.pop(tape), D.int32)))
    chosen, = b.if_(b.arith("gt", i, b.const(3)), then, other)
    square, twice = b.call("inner", [chosen, f], ["i64", "f64"])
    b.output(0, y, size, [b.const(8)])
    last = b.load(b.arith("add", y, b.const(8)), D.float64)
    return F.Program(b.finish((square, twice, total, last)), {"inner": callee}, (F.OutputSpec(0, D.int64, (8,)),))


def with_kernels():
    """Sizes that are known when it is called, kernels, parameters that are arrays."""
    b = FlowBuilder("main")
    x, out, n = b.param("ptr", "x"), b.param("ptr", "out"), b.param("i64", "n", symbol=N)
    between = b.alloc(b.dim(8 * N.dim), 8 * N.dim)
    b.kernel(flip, [x, x, b.const(0.5), between, n], extent=n)
    b.kernel(flip, [between, x, b.const(2.0), out, n], extent=n)
    return F.Program(b.finish(()), {}, ())


def saved(program, tmp_path, verify=False):
    """(the bytes of a file, its code, its facts)"""
    path = tmp_path / "program.npz"
    Executable(program, verify=verify).save(path)
    with np.load(path) as file:
        return path.read_bytes(), file["code"], json.loads(file["facts"].tobytes())


def sealed(code, facts):
    """The bytes of a file with the digest that belongs to it."""
    facts = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    to = io.BytesIO()
    np.savez(to, code=code, facts=facts, digest=np.frombuffer(digest_of(code, facts), np.uint8))
    return to.getvalue()


def changed_fact(draw, fact):
    """The same tree with one thing in it changed, left out or doubled."""
    places = []

    def walk(node):
        for key in (range(len(node)) if isinstance(node, list) else node if isinstance(node, dict) else ()):
            places.append((node, key))
            walk(node[key])
    fact = json.loads(json.dumps(fact))
    walk(fact)
    node, key = draw.choice(places)
    how = draw.random()
    if how < 0.1:
        del node[key]
    elif how < 0.2 and isinstance(node, list):
        node.insert(key, node[key])
    else:
        node[key] = draw.choice(FACTS)
    return fact


def mutant(draw, data, code, facts):
    """A file like this one in which something is another; where that is its content, with the digest that belongs to it."""
    how = draw.random()
    if how < 0.3:
        changed = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        return bytes(changed[:draw.randrange(len(changed))] if how < 0.05 else changed)
    if how < 0.8:
        code = code.copy()
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            code[draw.randrange(len(code))] = draw.choice(NUMBERS) if draw.random() < 0.5 else draw.randint(0, len(code))
        if how < 0.4:
            at = draw.randrange(len(code))
            code = np.delete(code, at) if how < 0.35 else np.insert(code, at, draw.choice(NUMBERS))
    else:
        facts = changed_fact(draw, facts)
    return sealed(code, facts)


def run_apart(paths, seconds=0.1):
    """Run files in a process of their own: (how many came to an end, how many had none)."""
    number = endless = 0
    while number < len(paths):
        source, to = os.pipe()
        child = os.fork()
        if child == 0:
            for path in paths[number:]:
                os.write(to, b".")
                signal.setitimer(signal.ITIMER_REAL, seconds)        # a changed loop may be one without an end
                executable = Executable.load(path, {"flip": flip})
                for arguments in ([2, 0.5], [7, -1.0], [5000, 1.0]):
                    try:
                        executable.run(arguments)
                    except (MindliteError, MemoryError, RecursionError, ValueError):
                        pass
            os._exit(0)
        os.close(to)
        with os.fdopen(source, "rb") as file:
            number += len(file.read())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGALRM), f"{paths[number - 1]} ends with {status}"
        endless += status != 0
    return len(paths) - endless, endless


def mutate(tmp_path, count, seed):
    """Make and try so many mutants: {what became of them: how many}"""
    draw, found = random.Random(seed), {"refused": 0, "run": 0, "without end": 0, "read": 0}
    programs = [saved(without_kernels(), tmp_path), saved(with_kernels(), tmp_path)]
    Executable(without_kernels(), "vm").run([2, 0.5])        # the machine is compiled before anything forks
    accepted = []
    for number in range(count):
        which, path = number % 2, tmp_path / f"mutant{number}.npz"
        path.write_bytes(mutant(draw, *programs[which]))
        try:
            linked, _ = read_vm(path, {"flip": flip})
        except (ValueRangeError, ArgumentError):
            found["refused"] += 1
            path.unlink()
            continue
        if which or [p.kind for p in linked.program.entry.params] != ["i64", "f64"]:
            found["read"] += 1                               # what its kernels read is theirs to say
            path.unlink()
            continue
        accepted.append(path)
    found["run"], found["without end"] = run_apart(accepted)
    return found


def test_programs_come_back_from_their_files(tmp_path):
    path = tmp_path / "p.npz"
    Executable(without_kernels()).save(path)
    loaded, native = Executable.load(path, {}), Executable(without_kernels(), "native")
    for arguments in ([2, 0.5], [7, -1.0]):
        (values, outputs), (wanted, others) = loaded.run(arguments), native.run(arguments)
        assert values == wanted and np.array_equal(outputs[0], others[0])
    with pytest.raises(MindliteError, match="5000 is too large"):
        loaded.run([5000, 1.0])
    Executable(with_kernels()).save(path)
    x, out = np.arange(6.0), np.zeros(6)
    Executable.load(path, {"flip": flip}).run([x.ctypes.data, out.ctypes.data, 6])
    middle = x[::-1] * 0.5 + x
    np.testing.assert_array_equal(out, middle[::-1] * 2 + x)


@pytest.mark.parametrize("opcode, operand, number, says", [
    ("store.i64", 0, 0, "uses a number as a pointer"), ("load.i64", 1, 1, "as a pointer"),
    ("jump", 0, 1, "goes to 1"), ("jump_if_zero", 1, 10 ** 6, "goes to"), ("jump_if_zero", 1, -3, "goes to"),
    ("call", 0, 0, "calls 0"), ("call", 1, 1 << 30, "makes a frame"), ("call", 3, 99, "damaged"),
    ("tape_pop_scalar", 1, 0, "as a tape"), ("static", 1, 5, "storages"), ("static", 2, 0, "storages"),
    ("alloc", 1, 0, "register|slot"),
    ("output", 0, 1, "index"), ("output", 4, 13, "damaged"), ("check", 2, 2, "list of 2"), ("param", 1, 2, "parameter"),
    ("return", 0, 3, "damaged"), ("mul", 2, 1 << 40, "register"), ("enter", 0, -1, "frame|lists")])
def test_each_kind_of_number_is_checked(tmp_path, opcode, operand, number, says):
    _, code, facts = saved(without_kernels(), tmp_path, verify=opcode == "static")
    places = [at for at, name, _ in instructions(code.tolist()) if name == opcode]
    code[places[0] + 1 + operand] = number
    (tmp_path / "m.npz").write_bytes(sealed(code, facts))
    with pytest.raises(ValueRangeError, match=says):
        Executable.load(tmp_path / "m.npz", {})


def test_a_constant_beyond_the_end_of_its_storage_is_refused(tmp_path):
    _, code, facts = saved(without_kernels(), tmp_path)
    for at, name, operands in instructions(code.tolist()):
        if name == "const" and operands[1] == 64:
            code[at + 2] = 65
    (tmp_path / "m.npz").write_bytes(sealed(code, facts))
    with pytest.raises(ValueRangeError, match="takes 65 bytes of 64|asks for 65"):
        Executable.load(tmp_path / "m.npz", {})


def test_mutated_files_give_an_error_or_a_result_and_never_a_crash(tmp_path):
    found = mutate(tmp_path, 2000, 0)
    assert found["refused"] > 1200 and found["run"] > 20


@pytest.mark.slow
def test_a_hundred_thousand_mutated_files_never_crash(tmp_path):
    text = ("import sys, pathlib; sys.path[:0] = sys.argv[2].split(':'); import test_vm_files as t; "
            "print(t.mutate(pathlib.Path(sys.argv[1]), 100_000, 1))")
    here = os.path.dirname(os.path.abspath(__file__))
    made = subprocess.run([sys.executable, "-c", text, str(tmp_path), here], capture_output=True, text=True)
    assert made.returncode == 0, (made.returncode, made.stderr)
