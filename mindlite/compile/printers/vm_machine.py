"""The register machine: machine code that runs the table of any Flow, made once and kept on disk.

    i64 vm_run(context)        CODE -> table, FRAME numbers of registers, results from RESULTS on

The table is a vector of i64: an opcode, then its operands, which are numbers of registers unless said otherwise. A
frame is the registers of one call of a Flow, then its slots for dynamic storages, then two areas for lists of values.
It is a plain switch in a loop; scalar instructions are the same IR as in native code (`scalar_ir.py`), storages the
same functions.
"""
import functools

from ...backend.launcher import launch_address
from ...backend.machine_code import compile_ir
from ...common.dtype import ALL
from .. import flow as F
from . import runtime as R
from . import scalar_ir
from .native import DECLARED

DTYPES = tuple(d for d in ALL if d.kind != "c")
# opcode: operands, for reading a table; * repeats to the end
OPERANDS = {
    "enter": "args_at results_at", "param": "dst number", "const": "dst bits", "move": "dst src", "jump": "target",
    "jump_if_zero": "cond target", "table": "dst index", "static": "dst first count nbytes place n avoid*",
    "alloc": "dst slot count nbytes first place n avoid*", "kill_static": "first count", "kill": "slot count first",
    "kernel": "number place n args*", "launch": "number place n extent cost args*",
    "callback": "place n ndsts args* dsts*",
    "call": "target frame place n ndsts args* params* dsts*", "check": "cond place n args*", "copy": "dst src nbytes",
    "tape_new": "dst place", "tape_push": "tape ptr nbytes place", "tape_push_scalar": "tape value place",
    "tape_pop": "dst tape place", "tape_pop_scalar": "dst tape place", "output": "index ptr nbytes place n dims*",
    "return": "n values*", **{f"exact_{op}": "dst a b place" for op in F.EXACT},
}
OPCODES = tuple(OPERANDS) + tuple(F.ARITH) + tuple(F.UNARY) + tuple(
    f"{word}.{d.short}" for d in DTYPES for word in ("load", "store"))
NUMBER = {name: n for n, name in enumerate(OPCODES)}

_LISTS = """
declare ptr @ml_malloc(i64)
declare void @ml_free(ptr)
define internal void @vm_gather(ptr %numbers, ptr %frame, ptr %to, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %number_p = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %number_p
  %from_p = getelementptr i64, ptr %frame, i64 %number
  %to_p = getelementptr i64, ptr %to, i64 %i
  %value = load i64, ptr %from_p
  store i64 %value, ptr %to_p
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
define internal void @vm_scatter(ptr %numbers, ptr %frame, ptr %from, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %number_p = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %number_p
  %to_p = getelementptr i64, ptr %frame, i64 %number
  %from_p = getelementptr i64, ptr %from, i64 %i
  %value = load i64, ptr %from_p
  store i64 %value, ptr %to_p
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
"""

_RUN = """
define i64 @vm_run(ptr %ctx) {
  %code_p = getelementptr i64, ptr %ctx, i64 {CODE}
  %code = load ptr, ptr %code_p
  %size_p = getelementptr i64, ptr %ctx, i64 {FRAME}
  %size = load i64, ptr %size_p
  %results_p = getelementptr i64, ptr %ctx, i64 {RESULTS}
  %results_at = load i64, ptr %results_p
  %ret = getelementptr i64, ptr %ctx, i64 %results_at
  %status = call i64 @vm_call(ptr %ctx, ptr %code, i64 0, i64 %size, ptr %ret, ptr null, ptr null, ptr null, i64 0)
  ret i64 %status
}

; a frame of `size` numbers, values of `caller` named by args moved to the registers named by params
define internal i64 @vm_call(ptr %ctx, ptr %code, i64 %pc, i64 %size, ptr %ret, ptr %caller, ptr %args, ptr %params,
i64 %n) {
entry:
  %bytes = mul i64 %size, 8
  %frame = call ptr @ml_malloc(i64 %bytes)
  %failed = icmp eq ptr %frame, null
  br i1 %failed, label %none, label %clear
none:
  %place_p = getelementptr i64, ptr %ctx, i64 {FAIL_SITE}
  store i64 -1, ptr %place_p
  ret i64 1
clear:
  call void @llvm.memset.p0.i64(ptr %frame, i8 0, i64 %bytes, i1 false)
  br label %head
head:
  %i = phi i64 [0, %clear], [%next, %body]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %run
body:
  %a = getelementptr i64, ptr %args, i64 %i
  %p = getelementptr i64, ptr %params, i64 %i
  %from = load i64, ptr %a
  %to = load i64, ptr %p
  %from_p = getelementptr i64, ptr %caller, i64 %from
  %to_p = getelementptr i64, ptr %frame, i64 %to
  %value = load i64, ptr %from_p
  store i64 %value, ptr %to_p
  %next = add i64 %i, 1
  br label %head
run:
  %status = call i64 @vm(ptr %ctx, ptr %code, i64 %pc, ptr %frame, ptr %ret)
  call void @ml_free(ptr %frame)
  ret i64 %status
}
"""


class _Case:
    """Writes what one opcode does: `o(k)` its k-th operand, `r(k)` the register it names, `end(n)` goes on."""

    def __init__(self, name):
        self.prefix, self.count = f"%{name.replace('.', '_')}", 0
        self.label = f"op_{name.replace('.', '_')}"
        self.lines = [f"{self.label}:"]

    def fresh(self):
        self.count += 1
        return f"{self.prefix}.{self.count}"

    def emit(self, *lines):
        self.lines.extend("  " + line for line in lines)

    def code_at(self, k):
        place, pointer = self.fresh(), self.fresh()
        self.emit(f"{place} = add i64 %pc, {k}", f"{pointer} = getelementptr i64, ptr %code, i64 {place}")
        return pointer

    def code_after(self, k, register):
        """The address of the operand number k + register."""
        place, number, pointer = self.fresh(), self.fresh(), self.fresh()
        self.emit(f"{place} = add i64 {register}, {k}", f"{number} = add i64 %pc, {place}",
                  f"{pointer} = getelementptr i64, ptr %code, i64 {number}")
        return pointer

    def o(self, k):
        pointer, value = self.code_at(k), self.fresh()
        self.emit(f"{value} = load i64, ptr {pointer}")
        return value

    def slot(self, number):
        pointer = self.fresh()
        self.emit(f"{pointer} = getelementptr i64, ptr %frame, i64 {number}")
        return pointer

    def r(self, k, kind="i64"):
        pointer, value = self.slot(self.o(k)), self.fresh()
        self.emit(f"{value} = load {kind}, ptr {pointer}")
        return value

    def pointer(self, k):
        return self.r(k, "ptr")

    def set(self, k, value, kind="i64"):
        pointer = self.slot(self.o(k))
        self.emit(f"store {kind} {value}, ptr {pointer}")

    def area(self, name):
        value, pointer = self.fresh(), self.fresh()
        self.emit(f"{value} = load i64, ptr %{name}.at", f"{pointer} = getelementptr i64, ptr %frame, i64 {value}")
        return pointer

    def gather(self, k, n, to):
        """The registers whose numbers stand from operand k on, into memory."""
        source = self.code_at(k)
        self.emit(f"call void @vm_gather(ptr {source}, ptr %frame, ptr {to}, i64 {n})")

    def context(self, place, kind="i64"):
        pointer, value = self.fresh(), self.fresh()
        self.emit(f"{pointer} = getelementptr i64, ptr %ctx, i64 {place}", f"{value} = load {kind}, ptr {pointer}")
        return value

    def fail_if(self, condition, place, status="0"):
        self.count += 1
        go_on, failed = f"{self.label}_ok{self.count}", f"{self.label}_bad{self.count}"
        self.emit(f"br i1 {condition}, label %{failed}, label %{go_on}")
        self.lines.append(f"{failed}:")
        self.emit(f"store i64 {place}, ptr %place.at", f"store i64 {status}, ptr %status.at", "br label %fail")
        self.lines.append(f"{go_on}:")

    def fail_unless_zero(self, status, place):
        bad = self.fresh()
        self.emit(f"{bad} = icmp ne i64 {status}, 0")
        self.fail_if(bad, place, status)

    def fail_if_null(self, pointer, place):
        bad = self.fresh()
        self.emit(f"{bad} = icmp eq ptr {pointer}, null")
        self.fail_if(bad, place)

    def call(self, kind, text):
        value = self.fresh()
        self.emit(f"{value} = call {kind} {text}")
        return value

    def end(self, length, more=None):
        following = self.fresh()
        self.emit(f"{following} = add i64 %pc, {length}")
        if more is not None:
            further = self.fresh()
            self.emit(f"{further} = add i64 {following}, {more}")
            following = further
        self.go(following)

    def go(self, target):
        self.emit(f"store i64 {target}, ptr %pc.at", "br label %loop")


def _simple(c, name):
    """The opcodes of scalars: arithmetic, load, store."""
    if name in F.ARITH:
        source, result = F.ARITH[name]
        a, b, out = c.r(2, _type(source)), c.r(3, _type(source)), c.fresh()
        c.emit(*scalar_ir.arith(name, out, a, b))
        c.set(1, out, _type(result))
        c.end(4)
    elif name in F.UNARY:
        source, result = F.UNARY[name]
        a, out = c.r(2, _type(source)), c.fresh()
        c.emit(*scalar_ir.unary(name, out, a))
        c.set(1, out, _type(result))
        c.end(3)
    else:
        word, short = name.split(".")
        dtype = next(d for d in DTYPES if d.short == short)
        kind, out = _type("f64" if dtype.is_float else "i64"), c.fresh()
        if word == "load":
            ptr = c.r(2)
            c.emit(*scalar_ir.load(dtype, out, ptr))
            c.set(1, out, kind)
        else:
            ptr, value = c.r(1), c.r(2, kind)
            c.emit(*scalar_ir.store(dtype, out, ptr, value))
        c.end(3)


def _type(kind):
    return "double" if kind == "f64" else "i64"


def _special(c, name):
    """The opcodes that are not scalar arithmetic."""
    if name == "enter":
        args, results = c.o(1), c.o(2)
        c.emit(f"store i64 {args}, ptr %args.at", f"store i64 {results}, ptr %results.at")
        c.end(3)
    elif name == "param":
        number, value = c.o(2), c.fresh()
        place, pointer = c.fresh(), c.fresh()
        c.emit(f"{place} = add i64 {number}, {R.PARAMS}", f"{pointer} = getelementptr i64, ptr %ctx, i64 {place}",
               f"{value} = load i64, ptr {pointer}")
        c.set(1, value)
        c.end(3)
    elif name == "const":
        c.set(1, c.o(2))
        c.end(3)
    elif name == "move":
        c.set(1, c.r(2))
        c.end(3)
    elif name == "jump":
        c.go(c.o(1))
    elif name == "jump_if_zero":
        condition, target, following, zero, chosen = c.r(1), c.o(2), c.fresh(), c.fresh(), c.fresh()
        c.emit(f"{following} = add i64 %pc, 3", f"{zero} = icmp eq i64 {condition}, 0",
               f"{chosen} = select i1 {zero}, i64 {target}, i64 {following}")
        c.go(chosen)
    elif name == "table":
        table, index, pointer, value = c.context(R.TABLE, "ptr"), c.o(2), c.fresh(), c.fresh()
        c.emit(f"{pointer} = getelementptr i64, ptr {table}, i64 {index}", f"{value} = load i64, ptr {pointer}")
        c.set(1, value)
        c.end(3)
    elif name in ("static", "alloc"):
        _storage(c, name)
    elif name == "kill_static":
        first, count = c.o(1), c.o(2)
        c.emit(f"call void @rt_kill_static(ptr %ctx, i64 {first}, i64 {count})")
        c.end(3)
    elif name == "kill":
        slots, count, first = c.slot(c.o(1)), c.o(2), c.o(3)
        c.emit(f"call void @rt_kill(ptr %ctx, ptr {slots}, i64 {count}, i64 {first})")
        c.end(4)
    elif name in ("kernel", "launch"):
        _kernel(c, name)
    elif name == "callback":
        place, n, ndsts, args, results = c.o(1), c.o(2), c.o(3), c.area("args"), c.area("results")
        c.gather(4, n, args)
        function = c.context(R.CALLBACK, "ptr")
        status = c.call("i64", f"{function}(i64 {place}, ptr {args}, ptr {results})")
        c.fail_unless_zero(status, place)
        dsts = c.code_after(4, n)
        c.emit(f"call void @vm_scatter(ptr {dsts}, ptr %frame, ptr {results}, i64 {ndsts})")
        both = c.fresh()
        c.emit(f"{both} = add i64 {n}, {ndsts}")
        c.end(4, both)
    elif name == "call":
        _call(c)
    elif name == "check":
        condition, place, n, bad, values = c.r(1), c.o(2), c.o(3), c.fresh(), c.fresh()
        failed, passed = "check_failed", "check_passed"
        c.emit(f"{bad} = icmp eq i64 {condition}, 0", f"br i1 {bad}, label %{failed}, label %{passed}")
        c.lines.append(f"{failed}:")
        c.emit(f"{values} = getelementptr i64, ptr %ctx, i64 {R.FAIL_VALUES}")
        c.gather(4, n, values)
        c.emit(f"store i64 {place}, ptr %place.at", "store i64 0, ptr %status.at", "br label %fail")
        c.lines.append(f"{passed}:")
        c.end(4, n)
    elif name.startswith("exact_"):
        a, b, place, out = c.r(2), c.r(3), c.o(4), c.fresh()
        c.emit(*scalar_ir.exact(name.partition("_")[2], out, a, b))
        c.fail_if(f"{out}.o", place)
        c.set(1, out)
        c.end(5)
    elif name == "copy":
        to, source, nbytes = c.pointer(1), c.pointer(2), c.call("i64", f"@llvm.smax.i64(i64 {c.r(3)}, i64 0)")
        c.emit(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {nbytes}, i1 false)")
        c.end(4)
    elif name == "tape_new":
        tape = c.call("ptr", "@rt_tape_new(ptr %ctx)")
        c.fail_if_null(tape, c.o(2))
        c.set(1, tape, "ptr")
        c.end(3)
    elif name == "tape_push":
        tape, source, nbytes, place = c.pointer(1), c.pointer(2), c.r(3), c.o(4)
        c.fail_unless_zero(c.call("i64", f"@rt_tape_push(ptr {tape}, ptr {source}, i64 {nbytes})"), place)
        c.end(5)
    elif name == "tape_push_scalar":
        tape, value, place = c.pointer(1), c.r(2), c.o(3)
        c.fail_unless_zero(c.call("i64", f"@rt_tape_push_scalar(ptr {tape}, i64 {value})"), place)
        c.end(4)
    elif name in ("tape_pop", "tape_pop_scalar"):
        tape = c.pointer(2)
        data = c.call("ptr", f"@rt_tape_pop(ptr {tape})")
        c.fail_if_null(data, c.o(3))
        if name == "tape_pop":
            c.set(1, data, "ptr")
        else:
            value = c.fresh()
            c.emit(f"{value} = load i64, ptr {data}")
            c.set(1, value)
        c.end(4)
    elif name == "output":
        index, source, nbytes, place, n, dims = c.o(1), c.pointer(2), c.r(3), c.o(4), c.o(5), c.area("args")
        c.gather(6, n, dims)
        status = c.call("i64", f"@rt_output(ptr %ctx, i64 {index}, ptr {source}, i64 {nbytes}, ptr {dims}, i64 {n})")
        c.fail_unless_zero(status, place)
        c.end(6, n)
    elif name == "return":
        c.gather(2, c.o(1), "%ret")
        c.emit("ret i64 0")


def _storage(c, name):
    args = c.area("args")
    if name == "static":
        first, count, nbytes, place, n = c.o(2), c.o(3), c.r(4), c.o(5), c.o(6)
        c.gather(7, n, args)
        data = c.call("ptr", f"@rt_static(ptr %ctx, i64 {first}, i64 {count}, i64 {nbytes}, ptr {args}, i64 {n})")
    else:
        slots, count, nbytes, first, place, n = c.slot(c.o(2)), c.o(3), c.r(4), c.o(5), c.o(6), c.o(7)
        c.gather(8, n, args)
        data = c.call("ptr", f"@rt_alloc(ptr %ctx, ptr {slots}, i64 {count}, i64 {nbytes}, ptr {args}, i64 {n}, "
                      f"i64 {first})")
    c.fail_if_null(data, place)
    c.set(1, data, "ptr")
    c.end(7 if name == "static" else 8, n)


def _kernel(c, name):
    number, place, n, args = c.o(1), c.o(2), c.o(3), c.area("args")
    kernels, pointer, kernel = c.context(R.KERNELS, "ptr"), c.fresh(), c.fresh()
    c.emit(f"{pointer} = getelementptr ptr, ptr {kernels}, i64 {number}", f"{kernel} = load ptr, ptr {pointer}")
    if name == "kernel":
        c.gather(4, n, args)
        status = c.call("i64", f"{kernel}(ptr {args}, i64 0, i64 1)")
        length = 4
    else:
        extent, cost = c.r(4), c.r(5)
        c.gather(6, n, args)
        launch = c.context(R.LAUNCHER, "ptr")
        status = c.call("i64", f"{launch}(ptr {kernel}, ptr {args}, i64 {extent}, i64 {cost})")
        length = 6
    c.fail_unless_zero(status, place)
    c.end(length, n)


def _call(c):
    target, size, place, n, ndsts = c.o(1), c.o(2), c.o(3), c.o(4), c.o(5)
    depth, limit, now, too_deep, depth_p = c.context(R.DEPTH), c.context(R.LIMIT), c.fresh(), c.fresh(), c.fresh()
    c.emit(f"{now} = add i64 {depth}, 1", f"{too_deep} = icmp sgt i64 {now}, {limit}")
    c.fail_if(too_deep, place)
    args, params, results, both = c.code_at(6), c.code_after(6, n), c.area("results"), c.fresh()
    c.emit(f"{depth_p} = getelementptr i64, ptr %ctx, i64 {R.DEPTH}", f"store i64 {now}, ptr {depth_p}")
    status = c.call("i64", f"@vm_call(ptr %ctx, ptr %code, i64 {target}, i64 {size}, ptr {results}, ptr %frame, "
                    f"ptr {args}, ptr {params}, i64 {n})")
    bad = c.fresh()
    c.emit(f"store i64 {depth}, ptr {depth_p}", f"{bad} = icmp ne i64 {status}, 0",
           f"br i1 {bad}, label %abort, label %called")
    c.lines.append("called:")
    c.emit(f"{both} = mul i64 {n}, 2")
    dsts, length = c.code_after(6, both), c.fresh()
    c.emit(f"call void @vm_scatter(ptr {dsts}, ptr %frame, ptr {results}, i64 {ndsts})",
           f"{length} = add i64 {both}, {ndsts}")
    c.end(6, length)


def machine_text():
    """The IR of the machine."""
    cases = []
    for name in OPCODES:
        case = _Case(name)
        if name in OPERANDS:
            _special(case, name)
        else:
            _simple(case, name)
        cases.append(case)
    switch = "\n".join(f"    i64 {n}, label %{case.label}" for n, case in enumerate(cases))
    head = "\n".join([
        "define internal i64 @vm(ptr %ctx, ptr %code, i64 %start, ptr %frame, ptr %ret) {", "entry:",
        *(f"  %{name}.at = alloca i64" for name in ("pc", "args", "results", "place", "status")),
        "  store i64 %start, ptr %pc.at", "  br label %loop", "loop:", "  %pc = load i64, ptr %pc.at",
        "  %opcode.p = getelementptr i64, ptr %code, i64 %pc", "  %opcode = load i64, ptr %opcode.p",
        "  switch i64 %opcode, label %abort [", switch, "  ]"])
    tail = "\n".join([
        "fail:", "  %place = load i64, ptr %place.at", "  %status = load i64, ptr %status.at",
        f"  %fail.p = getelementptr i64, ptr %ctx, i64 {R.FAIL_SITE}",
        f"  %fail.s = getelementptr i64, ptr %ctx, i64 {R.FAIL_STATUS}",
        "  store i64 %place, ptr %fail.p", "  store i64 %status, ptr %fail.s", "  br label %abort",
        "abort:", "  ret i64 1", "}"])
    return "\n".join([R.DECLARATIONS, DECLARED, _LISTS, R.filled(_RUN), head,
                      *("\n".join(case.lines) for case in cases), tail])


@functools.lru_cache(maxsize=None)
def machine():
    """(address of vm_run, address of the launcher, objects to keep)"""
    shared = R.runtime()
    code = compile_ir(machine_text(), shared.address, passes=2, keep=True, name="machine")
    return code.address("vm_run"), launch_address(), (code, shared)
