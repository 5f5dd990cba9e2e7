"""Files of programs: what is damaged or crafted is refused before its first instruction, whatever was changed in it."""
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
from mindlite.compile.printers.vm_file import FileWriter, digest_of, read_vm

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


def saved(program, tmp_path):
    """(the bytes of a file, what it says)"""
    path = tmp_path / "program.flow"
    Executable(program).save(path)
    return path.read_bytes(), json.loads(path.read_bytes().partition(b"\n")[2])


def sealed(facts):
    """The bytes of a file with the digest that belongs to it."""
    text = json.dumps(facts).encode()
    return digest_of(text) + b"\n" + text


def crafted(program, tmp_path):
    """The file of a program that nobody has checked."""
    writer = FileWriter()
    (tmp_path / "crafted.flow").write_bytes(sealed(
        {"format": 4, "verify": 0, "program": writer.write(program), **writer.tables}))
    return tmp_path / "crafted.flow"


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


def mutant(draw, data, facts):
    """A file like this one in which something is another; where that is its content, with the digest that belongs to it."""
    how = draw.random()
    if how < 0.2:
        changed = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        return bytes(changed[:draw.randrange(len(changed))] if how < 0.05 else changed)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        facts = changed_fact(draw, facts)
    return sealed(facts)


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
        which, path = number % 2, tmp_path / f"mutant{number}.flow"
        path.write_bytes(mutant(draw, *programs[which]))
        try:
            linked = read_vm(path, {"flip": flip})
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
    path = tmp_path / "p.flow"
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


def through(*ways):
    """A program whose parameters are a pointer and a number, in which these functions of (builder, pointer, number) act."""
    b = FlowBuilder("main")
    x, n = b.param("ptr", "x"), b.param("i64", "n")
    for way in ways:
        way(b, x, n)
    return F.Program(b.finish(()))


def in_a_loop(b, x, n):
    """The second iteration pushes on the tape from which the first one popped."""
    tape, size, one = b.tape(), b.const(8), b.const(1)
    b.push(tape, x, size)
    loop = b.while_([n, b.pop(tape)])
    with loop.cond:
        loop.cond.results(b.arith("gt", loop.params[0], one))
    with loop.body:
        b.load(loop.params[1], D.int64)
        b.push(tape, x, size)
        loop.body.results(b.arith("sub", loop.params[0], one), loop.params[1])
    loop.end()


def a_branch(b, x, n):
    """A pointer or a number, as the run wants."""
    with b.block() as then:
        then.results(x)
    with b.block() as other:
        other.results(n)
    either, = b.if_(n, then, other)
    b.load(either, D.int8)


UNSAFE = {
    "a store through a number": (lambda b, x, n: b.store(n, n, D.int64), "uses a number as a pointer"),
    "a load through a number": (lambda b, x, n: b.load(b.const(4096), D.int64), "uses a number as a pointer"),
    "a pointer moved by a number of the run": (lambda b, x, n: b.load(b.arith("add", x, n), D.int8), "moved by a number"),
    "a pointer that is multiplied": (lambda b, x, n: b.arith("mul", x, n), "takes a pointer and a number"),
    "more bytes than there are": (lambda b, x, n: b.copy(x, b.alloc(b.const(64), 64), b.const(65)), "takes 65 bytes of 64"),
    "bytes that are not known": (lambda b, x, n: b.copy(x, b.alloc(b.const(64), 64), n), "a number of the run bytes of 64"),
    "more bytes than are planned": (lambda b, x, n: b.alloc(b.const(65), 64), "asks for 65"),
    "a size below 0": (lambda b, x, n: b.alloc(b.const(-8)), "as a size"),
    "beyond the end": (lambda b, x, n: b.load(b.arith("add", b.alloc(b.const(8), 8), b.const(8)), D.int8), "takes 1 bytes of 0"),
    "before the start": (lambda b, x, n: b.arith("sub", b.alloc(b.const(8), 8), b.const(8)), "points 8 bytes into 8"),
    "no tape": (lambda b, x, n: b.pop(n, "i64"), "uses a number as a tape"),
    "a pointer on a tape of numbers": (lambda b, x, n: b.push(b.tape(), x), "pushes a pointer"),
    "what was popped before a push": (in_a_loop, "something else on each path"),
    "a pointer on one path": (a_branch, "something else on each path"),
    "an output of too many axes": (lambda b, x, n: b.output(0, x, b.const(8), [n] * 13), "more than 12 axes"),
    "the output -1": (lambda b, x, n: b.output(-1, x, b.const(8), ()), "no such number"),
    "a check of too many values": (lambda b, x, n: b.check(n, "{}" * 17, [n] * 17), "more than 16 values"),
    "a message that reads attributes": (lambda b, x, n: b.check(n, "{0.real}", [n]), "message"),
    "a message of other values": (lambda b, x, n: b.check(n, "{1}", [n]), "message"),
    "an array of this process": (lambda b, x, n: b.data(np.zeros(3)), "in no file|damaged|no readable"),
}


@pytest.mark.parametrize("way", UNSAFE)
def test_what_memory_is_safe_from(way, tmp_path):
    act, says = UNSAFE[way]
    with pytest.raises(ValueRangeError, match=says):
        Executable.load(crafted(through(act), tmp_path), {})


def test_what_looks_like_that_and_is_safe_is_read(tmp_path):
    program = through(lambda b, x, n: b.copy(x, b.alloc(b.const(64), 64), b.const(64)),
                      lambda b, x, n: b.load(b.arith("add", b.alloc(b.const(16), 16), b.const(8)), D.int64),
                      lambda b, x, n: b.check(n, "{} and {1}", [n, n]), lambda b, x, n: b.load(x, D.int64))
    Executable.load(crafted(program, tmp_path), {})


def test_mutated_files_give_an_error_or_a_result_and_never_a_crash(tmp_path):
    found = mutate(tmp_path, 2000, 0)
    assert found["refused"] > 1200 and found["run"] > 20, found


@pytest.mark.slow
def test_a_hundred_thousand_mutated_files_never_crash(tmp_path):
    text = ("import sys, pathlib; sys.path[:0] = sys.argv[2].split(':'); import test_vm_files as t; "
            "print(t.mutate(pathlib.Path(sys.argv[1]), 100_000, 1))")
    here = os.path.dirname(os.path.abspath(__file__))
    made = subprocess.run([sys.executable, "-c", text, str(tmp_path), here], capture_output=True, text=True)
    assert made.returncode == 0, (made.returncode, made.stderr)
