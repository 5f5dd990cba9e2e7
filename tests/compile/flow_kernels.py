"""Small kernels in LLVM IR, and a reference interpreter of Flows that never reuses a storage."""
import ctypes
import math

import numpy as np

from mindlite.backend.kernel import Kernel
from mindlite.backend.machine_code import compile_ir
from mindlite.compile import flow as F
from mindlite.compile.printers.python import to_bits, wrap
from mindlite.compile.printers.runtime import runtime

TEXT = """
; out[i] = a[n - 1 - i] * s + b[i], args: a, b, s, out, n; wrong results where out is a
define i64 @flip(ptr %args, i64 %begin, i64 %end) {
entry:
  %p1 = getelementptr i64, ptr %args, i64 1
  %p2 = getelementptr i64, ptr %args, i64 2
  %p3 = getelementptr i64, ptr %args, i64 3
  %a = load ptr, ptr %args
  %b = load ptr, ptr %p1
  %s = load double, ptr %p2
  %out = load ptr, ptr %p3
  %p4 = getelementptr i64, ptr %args, i64 4
  %n = load i64, ptr %p4
  %top = sub i64 %n, 1
  br label %head
head:
  %i = phi i64 [%begin, %entry], [%next, %body]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %mirrored = sub i64 %top, %i
  %ap = getelementptr double, ptr %a, i64 %mirrored
  %bp = getelementptr double, ptr %b, i64 %i
  %op = getelementptr double, ptr %out, i64 %i
  %x = load double, ptr %ap
  %y = load double, ptr %bp
  %m = fmul double %x, %s
  %z = fadd double %m, %y
  store double %z, ptr %op
  %next = add i64 %i, 1
  br label %head
done:
  ret i64 0
}
; *counter += 1, args: counter, status to return
define i64 @count(ptr %args, i64 %begin, i64 %end) {
  %counter = load ptr, ptr %args
  %p1 = getelementptr i64, ptr %args, i64 1
  %status = load i64, ptr %p1
  %old = load i64, ptr %counter
  %new = add i64 %old, 1
  store i64 %new, ptr %counter
  ret i64 %status
}
; *out = handle, args: handle, out
define i64 @show_handle(ptr %args, i64 %begin, i64 %end) {
  %handle = load i64, ptr %args
  %p1 = getelementptr i64, ptr %args, i64 1
  %out = load ptr, ptr %p1
  store i64 %handle, ptr %out
  ret i64 0
}
; out[i] = number of the chunk's first item, args: out; 7 if a chunk holds item 13 and args[1] is set
define i64 @chunks(ptr %args, i64 %begin, i64 %end) {
entry:
  %out = load ptr, ptr %args
  %p1 = getelementptr i64, ptr %args, i64 1
  %fails = load i64, ptr %p1
  br label %head
head:
  %i = phi i64 [%begin, %entry], [%next, %body]
  %bad = phi i64 [0, %entry], [%bad_now, %body]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %op = getelementptr i64, ptr %out, i64 %i
  %old = load i64, ptr %op
  %value = add i64 %old, 1
  store i64 %value, ptr %op
  %thirteen = icmp eq i64 %i, 13
  %seen = select i1 %thirteen, i64 %fails, i64 0
  %bad_now = or i64 %bad, %seen
  %next = add i64 %i, 1
  br label %head
done:
  ret i64 %bad
}
"""

_code = compile_ir(TEXT, passes=1)


def kernel(name, **fields):
    """One of the kernels above."""
    return Kernel(name, _code.address(name), keep=_code, **fields)


flip = kernel("flip")
count = kernel("count", errors=("the counter is unwell",))

_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Failed(Exception):
    """A Check that failed: its message."""


class Reference:
    """Runs a Program as flow.py describes it; every Alloc gives new memory, nothing is planned or freed."""

    def __init__(self, program):
        self.program, self.memory, self.outputs = program, [], {}
        self.flows = {f.name: f for f in program.all_flows()}

    def run(self, params):
        """(values, outputs as bytes)"""
        return self.flow(self.program.entry, params), self.outputs

    def flow(self, flow, params):
        env = {p.register: value for p, value in zip(flow.params, params)}
        for i in flow.body.instructions[:-1]:
            self.step(flow, env, i)
        return tuple(env[r] for r in flow.body.instructions[-1].values)

    def block(self, flow, env, block):
        for i in block.instructions:
            self.step(flow, env, i)
        return [env[r] for r in block.results]

    def new(self, nbytes):
        self.memory.append(np.full(max(nbytes, 1) + 64, 0xFF, np.uint8))
        return self.memory[-1].ctypes.data

    def step(self, flow, env, i):
        args = [env[r] for r in i.reads]
        if isinstance(i, F.Const):
            env[i.dst] = i.value
        elif isinstance(i, (F.Arith, F.Unary)):
            env[i.dst] = scalar(i.op, *args)
        elif isinstance(i, F.Load):
            assert i.dtype.name == "float64"
            env[i.dst] = ctypes.c_double.from_address(args[0]).value
        elif isinstance(i, F.Store):
            assert i.dtype.name == "float64"
            ctypes.c_double.from_address(args[0]).value = args[1]
        elif isinstance(i, F.Alloc):
            env[i.dst] = self.new(args[0])
        elif isinstance(i, F.CallKernel):
            values = np.array([to_bits(env[r]) for r in i.kernel_args], np.int64)
            end = 1 if i.extent is None else env[i.extent]
            assert _CALL(i.kernel.address)(values.ctypes.data, 0, end) == 0
        elif isinstance(i, F.CallFlow):
            env.update(zip(i.dsts, self.flow(self.flows[i.flow], args)))
        elif isinstance(i, F.If):
            env.update(zip(i.dsts, self.block(flow, env, i.then if args[0] else i.other)))
        elif isinstance(i, F.While):
            state = args
            while True:
                env.update(zip(i.params, state))
                if not self.block(flow, env, i.cond)[0]:
                    break
                state = self.block(flow, env, i.body)
            env.update(zip(i.dsts, state))
        elif isinstance(i, F.Check):
            if not args[0]:
                raise Failed(i.message.format(*args[1:]))
        elif isinstance(i, F.Copy):
            ctypes.memmove(*args)
        elif isinstance(i, F.TapeNew):
            self.memory.append([])
            env[i.dst] = len(self.memory) - 1
        elif isinstance(i, F.TapePush):
            self.memory[args[0]].append(args[1] if i.nbytes is None else ctypes.string_at(args[1], args[2]))
        elif isinstance(i, F.TapePop):
            value = self.memory[args[0]].pop()
            if not i.scalar:
                pointer = self.new(len(value))
                ctypes.memmove(pointer, value, len(value))
                value = pointer
            env[i.dst] = value
        elif isinstance(i, F.Output):
            self.outputs[i.index] = ctypes.string_at(args[0], args[1])
        else:
            raise AssertionError(i)


def scalar(op, a, b=None):
    """Arithmetic as flow.py describes it, in NumPy and Python."""
    with np.errstate(all="ignore"):
        if op in ("floordiv", "mod"):
            return wrap({"floordiv": a // b, "mod": a % b}[op]) if b else 0
        if op == "shl":
            return wrap(a << b) if 0 <= b < 64 else 0
        if op == "shr":
            return a >> b if 0 <= b < 64 else (-1 if a < 0 else 0)
        if op in ("fexp", "flog", "fsin", "fcos", "ftanh", "fpow"):
            function = getattr(runtime(), op[1:])
            return function(a) if b is None else function(a, b)
        if op in ("ffloordiv", "fmod") and b == 0:
            return float(np.float64(a) / np.float64(b)) if op == "ffloordiv" else math.nan
        if op == "fmod" and math.isinf(a) or op == "ffloordiv" and math.isinf(a):
            return math.nan
        table = {
            "add": lambda: wrap(a + b), "sub": lambda: wrap(a - b), "mul": lambda: wrap(a * b), "and": lambda: a & b,
            "or": lambda: a | b, "xor": lambda: a ^ b, "max": lambda: max(a, b), "min": lambda: min(a, b),
            "fadd": lambda: a + b, "fsub": lambda: a - b, "fmul": lambda: a * b,
            "fdiv": lambda: float(np.float64(a) / np.float64(b)), "ffloordiv": lambda: a // b, "fmod": lambda: a % b,
            "fmax": lambda: max(a, b), "fmin": lambda: min(a, b), "neg": lambda: wrap(-a), "not": lambda: int(not a),
            "abs": lambda: wrap(abs(a)), "itof": lambda: float(a), "fneg": lambda: -a, "fabs": lambda: abs(a),
            "fsqrt": lambda: float(np.sqrt(np.float64(a))),
            "ftoi": lambda: 0 if a != a else int(max(-2 ** 63, min(2 ** 63 - 1, a if math.isinf(a) else int(a)))),
            "eq": lambda: int(a == b), "ne": lambda: int(a != b), "lt": lambda: int(a < b), "le": lambda: int(a <= b),
            "gt": lambda: int(a > b), "ge": lambda: int(a >= b)}
        return table[op]() if op in table else table[op[1:]]()
