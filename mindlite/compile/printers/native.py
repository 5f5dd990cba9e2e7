"""A Flow as machine code: LLVM IR text, one function per Flow, entered once per run.

    define i64 @flow_0(ptr %ctx, ptr %ret, i64 %r0, i64 %r1)       0, or 1 with the place that failed in the context

Registers become SSA values, so If and While become branches and phis. Kernels are called by addresses that stand in a
table, with a buffer on the stack for their args: 2-4 ns a launch, and no launch where the work is known to be one
thread's. No address is in the text: the same program has the same text in every process, and its machine code is taken
from the disk. The IR needs no passes: it is what they leave.
"""
import struct

import numpy as np

from ...backend import narrow_floats
from ...backend.launcher import launch_address, launcher_code
from ...backend.target import current
from ...backend.machine_code import compile_ir, cached_code
from ...common.device import COPY, GIVE, LAUNCH, POISON, TAKE
from ...common.errors import InternalError
from .. import flow as F
from . import runtime as R
from . import scalar_ir
from .python import copy_kind

# Instructions of a program. Beyond, the code is made at level 0: level 2 takes 0.4 ms a launch, level 0 a tenth of it,
# and a chain of launches runs no faster for it; loops over scalars, where it pays, are short.
LONG = 200
COMPARED = 8                    # pointers that are compared in place to choose a storage; for more, `rt_static` is called
DECLARED = """
declare {i64, i1} @llvm.sadd.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.ssub.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @rt_floordiv(i64, i64)
declare i64 @rt_mod(i64, i64)
declare i64 @rt_shl(i64, i64)
declare i64 @rt_shr(i64, i64)
declare double @rt_fmod(double, double)
declare double @rt_ffloordiv(double, double)
declare ptr @rt_static(ptr, i64, i64, i64, ptr, i64)
declare void @rt_kill_static(ptr, i64, i64)
declare ptr @rt_alloc(ptr, ptr, i64, i64, ptr, i64, i64)
declare void @rt_kill(ptr, ptr, i64, i64)
declare ptr @rt_tape_new(ptr)
declare i64 @rt_tape_push(ptr, ptr, i64)
declare i64 @rt_tape_push_scalar(ptr, i64)
declare ptr @rt_tape_pop(ptr)
declare i64 @rt_output(ptr, i64, ptr, i64, ptr, i64)
""" + narrow_floats.DECLARATIONS


def print_native(linked):
    """The IR text of a Linked program."""
    flows = linked.program.all_flows()
    names = {flow.name: f"flow_{n}" for n, flow in enumerate(flows)}
    parts = [R.DECLARATIONS, DECLARED]
    parts += [_FlowPrinter(linked, flow, names).text() for flow in flows]
    parts.append(_entry(linked.program.entry))
    return "\n".join(parts)


def compile_native(linked, file=None):
    """(address of `i64 run(context)`, objects to keep, {place of the context: number}) of a Linked program.

    file : the name of its object code on the disk, where it is known; the text is not made then
    """
    runtime = R.runtime()
    code = file and cached_code(file, runtime.address, name="native")
    if not code:
        count = sum(1 for flow in linked.program.all_flows() for _ in F.walk(flow.body))
        code = compile_ir(print_native(linked), runtime.address, level=0 if count > LONG else 2, keep=True, name="native")
    addresses = np.array(linked.addresses() or [0], np.int64)
    places = {R.KERNELS: addresses.ctypes.data, R.LAUNCHER: launch_address()}
    return code.address("run"), (code, runtime, linked, addresses), places


def order_native():
    """Have what every native program needs compiled while Python goes on, where it is not on the disk."""
    R.runtime_code()
    launcher_code()


def _type(kind):
    return "double" if kind == "f64" else "i64"


def _entry(flow):
    lines, arguments = [], []
    for n, param in enumerate(flow.params):
        kind = _type(flow.kinds[param.register])
        lines += [f"  %p{n} = getelementptr i64, ptr %ctx, i64 {R.PARAMS + n}", f"  %v{n} = load {kind}, ptr %p{n}"]
        arguments.append(f", {kind} %v{n}")
    lines.append(f"  %ret = getelementptr i64, ptr %ctx, i64 {R.PARAMS + len(flow.params)}")
    lines.append(f"  %status = call i64 @flow_0(ptr %ctx, ptr %ret{''.join(arguments)})")
    return "\n".join(["define i64 @run(ptr %ctx) {", *lines, "  ret i64 %status", "}"])


def _float(value):
    return "0x" + struct.pack(">d", value).hex().upper()


class _FlowPrinter:
    def __init__(self, linked, flow, names):
        self.linked, self.flow, self.names = linked, flow, names
        self.lines, self.label, self.count = [], "entry", 0
        self.values = {p.register: f"%r{p.register}" for p in flow.params}
        self.literals = {}                              # register -> the number that it is
        self.failures = []                              # (place, status, label it comes from)
        self.aborts = False

    def fresh(self, stem):
        self.count += 1
        return f"{stem}.{self.count}"

    def emit(self, *lines):
        self.lines.extend("  " + line for line in lines)

    def start(self, label):
        self.lines.append(f"{label}:")
        self.label = label

    def value(self, register):
        return self.values[register]

    def typed(self, register):
        return f"{_type(self.flow.kinds[register])} {self.values[register]}"

    def define(self, register):
        self.values[register] = f"%r{register}"
        return self.values[register]

    def text(self):
        flow, linked = self.flow, self.linked
        scratch, slots = linked.scratch(flow), linked.plan.slots[flow.name]
        self.emit(f"%args = alloca i64, i64 {scratch}", f"%results = alloca i64, i64 {scratch}",
                  f"%table.p = getelementptr i64, ptr %ctx, i64 {R.TABLE}", "%table = load ptr, ptr %table.p",
                  f"%links.p = getelementptr i64, ptr %ctx, i64 {R.KERNELS}", "%links = load ptr, ptr %links.p",
                  f"%launch.p = getelementptr i64, ptr %ctx, i64 {R.LAUNCHER}", "%launch = load ptr, ptr %launch.p")
        if slots:
            self.emit(f"%slots = alloca i64, i64 {slots}",
                      f"call void @llvm.memset.p0.i64(ptr %slots, i8 0, i64 {8 * slots}, i1 false)")
        self.block(flow.body)
        if self.failures:
            self.start("fail")
            self.emit("%fail.place = phi i64 " + ", ".join(f"[{p}, %{label}]" for p, _, label in self.failures),
                      "%fail.status = phi i64 " + ", ".join(f"[{s}, %{label}]" for _, s, label in self.failures),
                      f"%fail.p = getelementptr i64, ptr %ctx, i64 {R.FAIL_SITE}",
                      f"%fail.s = getelementptr i64, ptr %ctx, i64 {R.FAIL_STATUS}",
                      "store i64 %fail.place, ptr %fail.p", "store i64 %fail.status, ptr %fail.s", "ret i64 1")
        if self.aborts:
            self.start("abort")
            self.emit("ret i64 1")
        params = "".join(f", {_type(flow.kinds[p.register])} %r{p.register}" for p in flow.params)
        head = f"define i64 @{self.names[flow.name]}(ptr %ctx, ptr %ret{params}) {{"
        return "\n".join([head, "entry:", *self.lines, "}"])

    def fail_if(self, condition, place, status="0"):
        """Leave for the shared end `fail` if the i1 `condition` holds."""
        go_on = self.fresh("ok")
        self.failures.append((place, status, self.label))
        self.emit(f"br i1 {condition}, label %fail, label %{go_on}")
        self.start(go_on)

    def fail_if_null(self, pointer, place):
        name = self.fresh("%null")
        self.emit(f"{name} = icmp eq ptr {pointer}, null")
        self.fail_if(name, place)

    def fail_unless_zero(self, status, place):
        name = self.fresh("%bad")
        self.emit(f"{name} = icmp ne i64 {status}, 0")
        self.fail_if(name, place, status)

    def fill(self, registers, buffer="%args"):
        """Store registers into a buffer on the stack."""
        for n, register in enumerate(registers):
            name = self.fresh("%a")
            self.emit(f"{name} = getelementptr i64, ptr {buffer}, i64 {n}", f"store {self.typed(register)}, ptr {name}")

    def read(self, registers, buffer="%results"):
        """Make registers of a buffer's numbers."""
        for n, register in enumerate(registers):
            name = self.fresh("%b")
            self.emit(f"{name} = getelementptr i64, ptr {buffer}, i64 {n}",
                      f"{self.define(register)} = load {_type(self.flow.kinds[register])}, ptr {name}")

    def pointer(self, register):
        name = self.fresh("%q")
        self.emit(f"{name} = inttoptr i64 {self.value(register)} to ptr")
        return name

    def block(self, block):
        for instruction in block.instructions:
            _EMIT[type(instruction)](self, instruction)

    # ---- one method per instruction

    def const(self, i):
        self.values[i.dst] = _float(i.value) if isinstance(i.value, float) else str(i.value)
        self.literals[i.dst] = i.value

    def link(self, stem, number, kind):
        """Load an address from the table of links."""
        name, place = self.fresh(stem), self.fresh("%n")
        self.emit(f"{place} = getelementptr i64, ptr %links, i64 {number}", f"{name} = load {kind}, ptr {place}")
        return name

    def data(self, i):
        number = len(self.linked.kernels) + self.linked.array_number(i.array, i.device)
        self.values[i.dst] = self.link("%d", number, "i64")

    def arith(self, i):
        a, b = self.value(i.a), self.value(i.b)
        self.emit(*scalar_ir.arith(i.op, self.define(i.dst), a, b))

    def exact(self, i):
        a, b = self.value(i.a), self.value(i.b)
        self.emit(*scalar_ir.exact(i.op, self.define(i.dst), a, b))
        self.fail_if(f"{self.value(i.dst)}.o", self.linked.place(i))

    def unary(self, i):
        a = self.value(i.a)
        self.emit(*scalar_ir.unary(i.op, self.define(i.dst), a))

    def load(self, i):
        ptr = self.value(i.ptr)
        self.emit(*scalar_ir.load(i.dtype, self.define(i.dst), ptr))

    def store(self, i):
        self.emit(*scalar_ir.store(i.dtype, self.fresh("%s"), self.value(i.ptr), self.value(i.value)))

    def ask(self, device, place, what, *words):
        """Call a device's driver; words: typed values, which it finds in %args."""
        linked = self.linked
        for n, word in enumerate(words):
            name = self.fresh("%a")
            self.emit(f"{name} = getelementptr i64, ptr %args, i64 {n}", f"store {word}, ptr {name}")
        number = len(linked.kernels) + len(linked.arrays) + linked.device_number(device)
        entry, status = self.link("%e", number, "ptr"), self.fresh("%k")
        self.emit(f"{status} = call i64 {entry}(i64 {what}, ptr %args, i64 {len(words)})")
        self.fail_unless_zero(status, place)

    def take(self, i, owner, nbytes):
        """Memory of a device until the run ends, or for ever (owner "i64 0"); its address."""
        self.ask(i.device, self.linked.place(i), TAKE, owner, nbytes)
        name = self.fresh("%m")
        self.emit(f"{name} = load i64, ptr %args")
        return name

    def run_itself(self):
        """The number that stands for this run."""
        name = self.fresh("%c")
        self.emit(f"{name} = ptrtoint ptr %ctx to i64")
        return f"i64 {name}"

    def copied(self, i, owner, source):
        """A copy on the device of what lies at the register `source` there; its address."""
        made = self.take(i, owner, self.typed(i.nbytes))
        self.ask(i.device, self.linked.place(i), COPY, "i64 0", f"i64 {made}", self.typed(source), self.typed(i.nbytes), "i64 2")
        return made

    def alloc(self, i):
        site, verify = self.linked.site(self.flow, i.dst), self.linked.verify
        if i.device is not None:
            self.values[i.dst] = self.chosen(site) if site.planned else self.take(i, self.run_itself(), self.typed(i.nbytes))
            return
        if site.planned and not verify and (site.count - 1) * len(site.avoid) <= COMPARED:
            self.values[i.dst] = self.chosen(site)
            return
        self.fill(site.avoid)
        name, avoid = self.fresh("%m"), f"ptr %args, i64 {len(site.avoid)}"
        if site.planned:
            self.emit(f"{name} = call ptr @rt_static(ptr %ctx, i64 {site.first}, i64 {site.count}, "
                      f"{self.typed(i.nbytes)}, {avoid})")
        else:
            slot = self.slot(site)
            self.emit(f"{name} = call ptr @rt_alloc(ptr %ctx, ptr {slot}, i64 {site.count}, {self.typed(i.nbytes)}, "
                      f"{avoid}, i64 {site.first})")
        self.fail_if_null(name, self.linked.place(i))
        self.emit(f"{self.define(i.dst)} = ptrtoint ptr {name} to i64")

    def chosen(self, site):
        """The first of a site's planned storages that none of the pointers to avoid points into, else its last."""
        options = []
        for number in range(site.first, site.first + site.count):
            place, address = self.fresh("%t"), self.fresh("%t")
            self.emit(f"{place} = getelementptr i64, ptr %table, i64 {2 * number}", f"{address} = load i64, ptr {place}")
            options.append((number, address))
        chosen = options[-1][1]
        for number, address in reversed(options[:-1]):
            place, size, free = self.fresh("%t"), self.fresh("%t"), address
            self.emit(f"{place} = getelementptr i64, ptr %table, i64 {2 * number + 1}", f"{size} = load i64, ptr {place}")
            for pointer in site.avoid:
                offset, inside, best = self.fresh("%t"), self.fresh("%t"), self.fresh("%t")
                self.emit(f"{offset} = sub i64 {self.value(pointer)}, {address}",
                          f"{inside} = icmp ult i64 {offset}, {size}",
                          f"{best} = select i1 {inside}, i64 {chosen}, i64 {free}")
                free = best
            chosen = free
        return chosen

    def slot(self, site):
        slot = self.fresh("%slot")
        self.emit(f"{slot} = getelementptr i64, ptr %slots, i64 {site.slot}")
        return slot

    def kill(self, i):
        site = self.linked.site(self.flow, i.ptr)
        alloc = self.linked.alloc_of(self.flow, i.ptr)
        if alloc.device is not None:
            self.kill_on_device(alloc, site)
        elif not site.planned:
            slot = self.slot(site)
            self.emit(f"call void @rt_kill(ptr %ctx, ptr {slot}, i64 {site.count}, i64 {site.first})")
        elif self.linked.verify:
            self.emit(f"call void @rt_kill_static(ptr %ctx, i64 {site.first}, i64 {site.count})")

    def kill_on_device(self, alloc, site):
        place = self.linked.place(alloc)
        if not site.planned and site.count == 1:             # what loops carry is given back when the run ends
            self.ask(alloc.device, place, GIVE, self.run_itself(), self.typed(alloc.dst))
        for number in range(site.first, site.first + site.count) if site.planned and self.linked.verify else ():
            words = []
            for at in (2 * number, 2 * number + 1):
                pointer, word = self.fresh("%t"), self.fresh("%t")
                self.emit(f"{pointer} = getelementptr i64, ptr %table, i64 {at}", f"{word} = load i64, ptr {pointer}")
                words.append(f"i64 {word}")
            self.ask(alloc.device, place, POISON, "i64 0", *words)

    def call_kernel(self, i):
        if i.device is not None:
            address = self.link("%g", self.linked.kernel_number(i.kernel), "i64")
            over = ("i64 -1", "i64 0") if i.extent is None else (self.typed(i.extent), self.typed(i.cost))
            self.ask(i.device, self.linked.place(i), LAUNCH, f"i64 {i.stream}", f"i64 {address}", *over,
                     *(self.typed(r) for r in i.kernel_args))
            return
        self.fill(i.kernel_args)
        status, kernel = self.fresh("%k"), self.link("%g", self.linked.kernel_number(i.kernel), "ptr")
        if i.extent is None:
            self.emit(f"{status} = call i64 {kernel}(ptr %args, i64 0, i64 1)")
        elif self.is_small(i):
            self.emit(f"{status} = call i64 {kernel}(ptr %args, i64 0, {self.typed(i.extent)})")
        else:
            self.emit(f"{status} = call i64 %launch(ptr {kernel}, ptr %args, {self.typed(i.extent)}, "
                      f"{self.typed(i.cost)})")
        self.fail_unless_zero(status, self.linked.place(i))

    def is_small(self, i):
        """True if the work of a launch is known here, and too small for a second thread."""
        extent, cost = self.literals.get(i.extent), self.literals.get(i.cost)
        return extent is not None and cost is not None and extent * cost < current().parallel_from

    def handle(self, i):
        index = self.linked.table_index(i)
        if index is None:
            self.callback(i, i.sizes, (i.dst,))
        else:
            name = self.fresh("%h")
            self.emit(f"{name} = getelementptr i64, ptr %table, i64 {index}",
                      f"{self.define(i.dst)} = load i64, ptr {name}")

    def callback(self, i, args, dsts):
        self.fill(args)
        name, function, status = self.fresh("%c"), self.fresh("%f"), self.fresh("%y")
        self.emit(f"{name} = getelementptr i64, ptr %ctx, i64 {R.CALLBACK}", f"{function} = load ptr, ptr {name}",
                  f"{status} = call i64 {function}(i64 {self.linked.place(i)}, ptr %args, ptr %results)")
        self.fail_unless_zero(status, self.linked.place(i))
        self.read(dsts)

    def python_segment(self, i):
        self.callback(i, i.args, i.dsts)

    def call_flow(self, i):
        place, depth, before, now, limit, room, too_deep = (
            self.fresh(s) for s in ("%d", "%d", "%d", "%d", "%d", "%d", "%d"))
        self.emit(f"{place} = getelementptr i64, ptr %ctx, i64 {R.DEPTH}", f"{before} = load i64, ptr {place}",
                  f"{now} = add i64 {before}, 1", f"{limit} = getelementptr i64, ptr %ctx, i64 {R.LIMIT}",
                  f"{room} = load i64, ptr {limit}", f"{too_deep} = icmp sgt i64 {now}, {room}")
        self.fail_if(too_deep, self.linked.place(i))
        args = "".join(f", {self.typed(r)}" for r in i.args)
        bad, go_on = self.fresh("%d"), self.fresh("called")
        self.emit(f"store i64 {now}, ptr {place}",
                  f"{depth} = call i64 @{self.names[i.flow]}(ptr %ctx, ptr %results{args})",
                  f"store i64 {before}, ptr {place}", f"{bad} = icmp ne i64 {depth}, 0",
                  f"br i1 {bad}, label %abort, label %{go_on}")
        self.aborts = True
        self.start(go_on)
        self.read(i.dsts)

    def if_(self, i):
        condition, then, other, end = self.fresh("%i"), self.fresh("then"), self.fresh("other"), self.fresh("end")
        self.emit(f"{condition} = icmp ne i64 {self.value(i.cond)}, 0",
                  f"br i1 {condition}, label %{then}, label %{other}")
        incoming = []
        for label, block in ((then, i.then), (other, i.other)):
            self.start(label)
            self.block(block)
            self.emit(f"br label %{end}")
            incoming.append(([self.value(r) for r in block.results], self.label))
        self.start(end)
        (a_values, a_label), (b_values, b_label) = incoming
        for dst, a, b in zip(i.dsts, a_values, b_values):
            self.emit(f"{self.define(dst)} = phi {_type(self.flow.kinds[dst])} [{a}, %{a_label}], [{b}, %{b_label}]")

    def while_(self, i):
        head, body, end = self.fresh("head"), self.fresh("body"), self.fresh("end")
        before, inits = self.label, [self.value(r) for r in i.inits]
        self.emit(f"br label %{head}")
        self.start(head)
        phis = len(self.lines)                          # the phis go here, when the body's results are known
        for param in i.params:
            self.define(param)
        self.block(i.cond)
        condition = self.fresh("%w")
        self.emit(f"{condition} = icmp ne i64 {self.value(i.cond.results[0])}, 0",
                  f"br i1 {condition}, label %{body}, label %{end}")
        self.start(body)
        self.block(i.body)
        self.emit(f"br label %{head}")
        self.lines[phis:phis] = [
            f"  %r{p} = phi {_type(self.flow.kinds[p])} [{init}, %{before}], [{self.value(r)}, %{self.label}]"
            for p, init, r in zip(i.params, inits, i.body.results)]
        self.start(end)
        for dst, param in zip(i.dsts, i.params):
            self.values[dst] = self.values[param]

    def check(self, i):
        if len(i.args) > R.MAX_VALUES:
            raise InternalError(f"a check has more than {R.MAX_VALUES} values")
        bad, label, go_on = self.fresh("%z"), self.fresh("failed"), self.fresh("checked")
        self.emit(f"{bad} = icmp eq i64 {self.value(i.cond)}, 0", f"br i1 {bad}, label %{label}, label %{go_on}")
        self.start(label)
        buffer = self.fresh("%v")
        self.emit(f"{buffer} = getelementptr i64, ptr %ctx, i64 {R.FAIL_VALUES}")
        self.fill(i.args, buffer)
        self.failures.append((self.linked.place(i), "0", label))
        self.emit("br label %fail")
        self.start(go_on)

    def copy(self, i):
        if i.to is not None or i.source is not None:
            self.ask(i.to or i.source, self.linked.place(i), COPY, f"i64 {i.stream}", self.typed(i.dst), self.typed(i.src),
                     self.typed(i.nbytes), f"i64 {copy_kind(i)}")
            return
        to, source = self.pointer(i.dst), self.pointer(i.src)
        self.emit(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, {self.typed(i.nbytes)}, i1 false)")

    def tape_new(self, i):
        name = self.fresh("%n")
        self.emit(f"{name} = call ptr @rt_tape_new(ptr %ctx)")
        self.fail_if_null(name, self.linked.place(i))
        self.emit(f"{self.define(i.dst)} = ptrtoint ptr {name} to i64")

    def tape_push(self, i):
        tape, status = self.pointer(i.tape), self.fresh("%u")
        if i.device is not None:                             # the tape holds the address of a copy
            made = self.copied(i, self.run_itself(), i.value)
            self.emit(f"{status} = call i64 @rt_tape_push_scalar(ptr {tape}, i64 {made})")
        elif i.nbytes is not None:
            source = self.pointer(i.value)
            self.emit(f"{status} = call i64 @rt_tape_push(ptr {tape}, ptr {source}, {self.typed(i.nbytes)})")
        else:
            bits = self.value(i.value)
            if self.flow.kinds[i.value] == "f64":
                bits = self.fresh("%x")
                self.emit(f"{bits} = bitcast {self.typed(i.value)} to i64")
            self.emit(f"{status} = call i64 @rt_tape_push_scalar(ptr {tape}, i64 {bits})")
        self.fail_unless_zero(status, self.linked.place(i))

    def tape_pop(self, i):
        tape, name = self.pointer(i.tape), self.fresh("%o")
        self.emit(f"{name} = call ptr @rt_tape_pop(ptr {tape})")
        self.fail_if_null(name, self.linked.place(i))
        dst = self.define(i.dst)
        self.emit(f"{dst} = load {_type(self.flow.kinds[i.dst])}, ptr {name}" if i.scalar or i.device is not None
                  else f"{dst} = ptrtoint ptr {name} to i64")

    def output(self, i):
        if len(i.dims) > R.MAX_DIMS:
            raise InternalError(f"an output has more than {R.MAX_DIMS} axes")
        source, nbytes = "%results", "i64 8"
        if i.device is None:
            source, nbytes = self.pointer(i.ptr), self.typed(i.nbytes)
        else:                                                # the record holds the address of a copy
            self.emit(f"store i64 {self.copied(i, 'i64 0', i.ptr)}, ptr %results")
        self.fill(i.dims)
        status = self.fresh("%g")
        self.emit(f"{status} = call i64 @rt_output(ptr %ctx, i64 {i.index}, ptr {source}, {nbytes}, "
                  f"ptr %args, i64 {len(i.dims)})")
        self.fail_unless_zero(status, self.linked.place(i))

    def return_(self, i):
        self.fill(i.values, "%ret")
        self.emit("ret i64 0")


_EMIT = {F.Const: _FlowPrinter.const, F.Data: _FlowPrinter.data, F.Arith: _FlowPrinter.arith,
         F.Exact: _FlowPrinter.exact, F.Unary: _FlowPrinter.unary, F.Load: _FlowPrinter.load, F.Store: _FlowPrinter.store,
         F.Alloc: _FlowPrinter.alloc, F.Kill: _FlowPrinter.kill,
         F.CallKernel: _FlowPrinter.call_kernel, F.Handle: _FlowPrinter.handle, F.CallFlow: _FlowPrinter.call_flow,
         F.If: _FlowPrinter.if_, F.While: _FlowPrinter.while_, F.Check: _FlowPrinter.check, F.Copy: _FlowPrinter.copy,
         F.TapeNew: _FlowPrinter.tape_new, F.TapePush: _FlowPrinter.tape_push, F.TapePop: _FlowPrinter.tape_pop,
         F.Output: _FlowPrinter.output, F.PythonSegment: _FlowPrinter.python_segment, F.Return: _FlowPrinter.return_}
