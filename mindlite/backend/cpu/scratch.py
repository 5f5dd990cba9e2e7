"""Memory that a kernel works in while it runs: borrowed from a stock that is kept, so that a warm call asks the system
for none.

    memory = borrow(f, nbytes)      an address, 0 when memory is out
    give_back(f, memory)

The stock is a row of slots; whoever needs one claims it by one atomic exchange, a slot that is too small grows. As many
slots are in use as chunks run at once, times what each of them borrows, so after a few calls they are as large as they
need to be. What is larger than KEPT goes to malloc, and so does what finds no free slot. Before the memory stands the
number of its slot.
"""
import ctypes
import os

from llvmlite import ir

from ...common.locks import new_lock
from ...common.once import once
from ..target import current
from .native import I64, LIBRARIES, PTR, Module, Value, code_of

SLOTS, KEPT = 128, 1 << 23                          # two for each of the launcher's threads; bytes
AHEAD = 64                                          # bytes before the memory: its address is a multiple of 16
_lock = new_lock()


def borrow(f, nbytes):
    """The address of so many bytes, as a Value; 0 when memory is out."""
    return f.call(f.module.external("mindlite_scratch_borrow", I64, [I64]), nbytes)


def give_back(f, address):
    """What was borrowed may be borrowed again; 0 is nothing."""
    f.call(f.module.external("mindlite_scratch_give_back", ir.VoidType(), [I64]), address)


def scratch_code():
    """The machine code, loaded once: its table is the stock of this process. Threads that ask at one time get the same: of two,
    the one that nobody keeps would be unloaded under the kernels that call it."""
    with _lock:
        return _loaded()


@once
def _loaded():
    code = code_of(write_scratch, target=current())[1]
    if hasattr(os, "register_at_fork"):             # threads that had borrowed something are not in the child
        os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(code.address("all_free")))
    return code


LIBRARIES["mindlite_scratch_"] = lambda name, target: scratch_code().address(name)


def write_scratch(target):
    """The Module of `borrow`, `give_back` and `all_free`."""
    module = Module("scratch", target)
    taken, sizes, addresses = (_table(module, name) for name in ("taken", "sizes", "addresses"))
    with module.function("borrow", [I64], I64) as f:
        needed = f.parameters[0] + AHEAD
        with f.when(needed < KEPT + 1):
            for grows in (False, True):
                with f.loop(0, SLOTS, iterations="rare") as slot:
                    free = _atomic(f, taken, slot).equals(0)
                    with f.when(free if grows else free & (_read(f, sizes, slot) > needed - 1)):
                        with f.when(_claimed(f, taken, slot)):
                            _enlarge(f, taken, sizes, addresses, slot, needed)
                            f.give(_marked(f, _read(f, addresses, slot), slot))
        address = f.allocate(needed)
        with f.when(address.equals(0)):
            f.give(0)
        f.give(_marked(f, address, f.number(I64, -1)))
    with module.function("give_back", [I64]) as f:
        with f.when(f.parameters[0].equals(0)):
            f.give()
        start = f.parameters[0] - AHEAD
        slot = Value(f, f.builder.load(f.builder.inttoptr(start.ir, PTR), typ=I64, align=8))
        with f.choose(slot < 0) as (then, other):
            with then:
                f.free(start)
            with other:
                _release(f, taken, slot)
    with module.function("all_free", []) as f:
        with f.loop(0, SLOTS, iterations="rare") as slot:
            _release(f, taken, slot)
    module.written_by += [write_scratch]
    return module


def _table(module, name):
    kind = ir.ArrayType(I64, SLOTS)
    table = ir.GlobalVariable(module.ir, kind, name)
    table.linkage, table.initializer = "internal", ir.Constant(kind, None)
    return table


def _at(f, table, slot):
    return f.builder.gep(table, [slot.ir], source_etype=I64)


def _read(f, table, slot):
    """A size may be read while another thread writes it: whoever uses it has claimed the slot first, and looks again."""
    return Value(f, f.builder.load_atomic(_at(f, table, slot), "monotonic", 8, typ=I64))


def _write(f, table, slot, value):
    f.builder.atomic_rmw("xchg", _at(f, table, slot), value.ir, "monotonic")


def _atomic(f, table, slot):
    return Value(f, f.builder.load_atomic(_at(f, table, slot), "acquire", 8, typ=I64))


def _claimed(f, taken, slot):
    """True for the one thread that gets the slot."""
    pair = f.builder.cmpxchg(_at(f, taken, slot), ir.Constant(I64, 0), ir.Constant(I64, 1), "acq_rel", "acquire")
    return Value(f, f.builder.extract_value(pair, 1))


def _release(f, taken, slot):
    f.builder.atomic_rmw("xchg", _at(f, taken, slot), ir.Constant(I64, 0), "release")


def _enlarge(f, taken, sizes, addresses, slot, needed):
    """Memory for a claimed slot where it has too little; without any the slot is free again, and borrow gives 0."""
    with f.when(_read(f, sizes, slot) < needed):
        f.free(_read(f, addresses, slot))
        address = f.allocate(needed)
        there = address.differs(0)
        _write(f, addresses, slot, address)
        _write(f, sizes, slot, f.select(there, needed, f.number(I64, 0)))
        with f.when(address.equals(0)):
            _release(f, taken, slot)
            f.give(0)


def _marked(f, address, slot):
    """The address behind the mark that says which slot it is."""
    f.builder.store(slot.ir, f.builder.inttoptr(address.ir, PTR), align=8)
    return address + AHEAD
