"""The launches of a long Flow as data: words that `rt_launches` reads, in place of 150 instructions for each launch.

    kernel 3 (%x, %12, 1024) over 512, cost 7     ->     3, extent, cost, place, 3, where %x lies, where %12 lies, where 1024 lies

What a launch takes lies in memory anyhow: an address of the arena in the instance's table, a constant array's in the links,
a parameter in the context, a number in a constant of the module. A word says where: its number times 4, and one of NUMBERS,
TABLE, LINKS, CONTEXT. An instruction that needs code of its own ends a list; registers that code computes are in none.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Collection

from llvmlite import ir

from ...backend.words import WORD
from .. import flow as F
from ..link import Linked
from ..memory import Site
from . import runtime as R

LONG = 200                      # instructions of a program from which on its launches are lists
NUMBERS, TABLE, LINKS, CONTEXT = range(4)
NO_LAUNCHER = -1                # in place of where the cost lies: the kernel is called for all items, by this thread


def is_long(linked: Linked) -> bool:
    """True for a program whose launches are lists: as code they take LLVM 0.4 ms each and Python more, and run no faster."""
    return sum(1 for flow in linked.program.all_flows() for _ in F.walk(flow.body)) > LONG


def has_lists(linked: Linked) -> bool:
    """True for a long program, whose entry uses launch lists. Its parameters are in the context,
    as nobody else calls it. Not under verify, which checks each storage."""
    called = {i.flow for flow in linked.program.all_flows() for i in F.walk(flow.body) if isinstance(i, F.CallFlow)}
    return is_long(linked) and not linked.verify and linked.program.entry.name not in called


class LaunchList:
    """The lists of a program's entry.

    linked   : the Linked;   is_small(i, literals): True for a launch that is one thread's
    where    : {register: where its word lies};   literals: {register: the number that it is}
    taken    : ids of the instructions that need no code
    runs     : {id of the instruction, or of the Block that ends, before which a list runs: (its first word, names of kernels)}
    """

    def __init__(self, module: ir.Module, linked: Linked, is_small: Callable[[F.CallKernel, dict], bool]) -> None:
        self.linked, self.flow, self.is_small = linked, linked.program.entry, is_small
        self.where = {p.register: 4 * (R.PARAMS + n) + CONTEXT for n, p in enumerate(self.flow.params)}
        self.literals: dict[int, int | float] = {}
        self.taken: set[int] = set()
        self.runs: dict[int, tuple[int, list[str]]] = {}
        self.words: list[int] = []
        self.numbers: dict[int, int] = {}
        self.begin = 0
        self.waiting: list[str] = []
        self.block(self.flow.body)
        self.launches, self.constants = (_words(module, name, words) for name, words in (
            ("launches", self.words), ("numbers", self.numbers)))

    def block(self, block: F.Block) -> None:
        """Go through the instructions of a block and of those inside."""
        for i in block.instructions:
            if self.take(i):
                self.taken.add(id(i))
                continue
            self.end(i)
            for inner in i.blocks:
                self.block(inner)
        self.end(block)

    def end(self, before: F.Instruction | F.Block) -> None:
        """The launches since the last end are a list, which runs before an instruction or the end of a Block."""
        if self.waiting:
            self.runs[id(before)] = self.begin, self.waiting
        self.begin, self.waiting = len(self.words), []

    def number(self, value: int | float) -> int:
        """Where a constant lies."""
        bits = struct.unpack("=q", struct.pack("=d", value))[0] if isinstance(value, float) else int(value)
        return 4 * self.numbers.setdefault(bits, len(self.numbers)) + NUMBERS

    def take(self, i: F.Instruction) -> bool:
        """True if an instruction needs no code; notes where what it gives lies."""
        linked = self.linked
        if isinstance(i, F.Const):
            self.literals[i.dst], self.where[i.dst] = i.value, self.number(i.value)
        elif isinstance(i, F.Data) and i.device is None:
            self.where[i.dst] = 4 * (len(linked.kernels) + linked.array_number(i.array)) + LINKS
        elif isinstance(i, F.Handle) and (index := linked.table_index(i)) is not None:
            self.where[i.dst] = 4 * index + TABLE
        elif isinstance(i, F.Alloc) and i.device is None and _is_one(linked.site(self.flow, i.dst)):
            self.where[i.dst] = 8 * linked.site(self.flow, i.dst).first + TABLE
        elif isinstance(i, F.Kill) and linked.alloc_of(self.flow, i.ptr).device is None:
            return linked.site(self.flow, i.ptr).planned
        elif isinstance(i, F.CallKernel) and i.device is None:
            return self.launch(i)
        else:
            return False
        return True

    def launch(self, i: F.CallKernel) -> bool:
        """True if a launch is in the list: all that it takes lies somewhere."""
        over = i.over
        if not all(register in self.where for register in (*i.kernel_args, *over)):
            return False
        extent = self.where[over[0]] if over else self.number(1)
        cost = self.where[over[1]] if over and not self.is_small(i, self.literals) else NO_LAUNCHER
        self.words += [self.linked.kernel_number(i.kernel), extent, cost, self.linked.place(i), len(i.kernel_args),
                       *(self.where[register] for register in i.kernel_args)]
        self.waiting.append(i.kernel.name)
        return True


def _is_one(site: Site) -> bool:
    """True for a storage that is one place in the arena."""
    return site.planned and site.count == 1


def _words(module: ir.Module, name: str, words: Collection[int]) -> ir.GlobalVariable:
    """A constant of the module."""
    made = ir.GlobalVariable(module, ir.ArrayType(WORD, len(words)), name)
    made.linkage, made.global_constant = "internal", True
    made.initializer = ir.FormattedConstant(made.value_type, f"[{', '.join(f'i64 {word}' for word in words)}]")
    return made
