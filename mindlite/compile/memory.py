"""Which storage lives when, and where: lifetimes, packing of offsets, Kills.

    %4 = alloc  [.........]                 offset 0      64-byte steps
    %6 = alloc       [.........]            offset 4096   lives together with %4
    %8 = alloc            [.........]       offset 0      %4 is dead by then

Lifetimes do not depend on sizes. One walk gives each register the set of Allocs it may point to, another the last
use of each Alloc; positions count through If and While, and what a loop uses of its surroundings lives until the loop
ends. Sizes come with the call: for each new tuple of entry sizes the offsets are packed (`pack`) and remembered, those of the
tuples that came last.

A storage that the body of a While hands to its next iteration is *carried*: at the Alloc, up to k of the loop's parameters
may point to storages of former iterations, so k + 1 buffers always leave one free, and the Alloc takes the first to which no
parameter points. `h = f(h)` becomes a double buffer, a conditional or a swapped update is right as well, nothing is
copied.

Storages whose size has other symbols, and all of Flows that are called, are *dynamic*: taken from a pool of blocks at
run time and given back by their Kill, or at the latest when the run ends. What a PythonSegment gives never points into
a storage of the Flow: a segment that hands back what it was handed has to copy it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from ..common.device import Device
from ..common.dim import Dim, Size, Symbol, evaluate, symbols_of
from ..common.errors import InternalError
from ..common.recent import Recent
from ..common.records import dataclass
from . import flow as F

Conflicts = list[list[int]]                     # by storage: the numbers of those that live at some time together with it
Path = tuple[tuple[int, int], ...]              # (number of a block, index of an instruction) from the body inwards
ALIGNMENT = 64
MOST_LAYOUTS, FEWEST_LAYOUTS = 1024, 16         # how many tuples of sizes a plan remembers, within
MOST_OFFSETS = 1 << 16                          # this number of offsets in all: a small plan remembers more of them


@dataclass(frozen=True)
class Storage:
    """A planned storage: number, flow and register of its Alloc, size (int or Dim), start and end (inclusive), device."""
    number: int
    flow: str
    register: int
    size: Size
    start: int
    end: int
    device: Device | None = None


@dataclass(frozen=True)
class Site:
    """What an Alloc does at run time.

    first   : number of its first buffer, in traces too; planned storages count from 0, dynamic ones go on after them
    count   : number of buffers
    planned : True if the buffers are storages of the plan
    slot    : dynamic only: number of its first slot among the flow's slots
    avoid   : registers of loop parameters that may still point to one of the buffers
    """
    first: int
    count: int
    planned: bool
    slot: int
    avoid: F.Registers


@dataclass(frozen=True)
class Layout:
    """Offsets and sizes (bytes, by storage number) for one tuple of entry sizes; peak and its lower bound in bytes.

    Each device has an arena of its own, in which the offsets count; `peak` and `lower_bound` are those of the CPU's.
    elsewhere: (Device, peak, lower bound) of the others
    """
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    peak: int
    lower_bound: int
    elsewhere: tuple[tuple[Device, int, int], ...] = ()


@dataclass(eq=False)
class MemoryPlan:
    """storages, sites {(flow name, register of the Alloc): Site}, slots {flow name: number of slots}, symbols of the
    entry.

    The plan of a program without entry symbols is laid out at once, others when sizes are known.
    layouts : {sizes: Layout} of the tuples of sizes that were asked for last, as many as `most` says
    """
    storages: tuple[Storage, ...]
    sites: dict[tuple[str, int], Site]
    slots: dict[str, int]
    symbols: tuple[Symbol, ...]
    layouts: Recent = field(default_factory=Recent)
    conflicts: Conflicts | None = field(default=None, repr=False)

    @property
    def most(self) -> int:
        """How many tuples of sizes it remembers."""
        return 1 if not self.symbols else max(FEWEST_LAYOUTS, min(MOST_LAYOUTS, MOST_OFFSETS // (len(self.storages) or 1)))

    def layout(self, sizes: tuple[int, ...]) -> Layout:
        """The Layout for these values of `symbols`, a tuple of ints."""
        return self.layouts.find(sizes) or self.layouts.put(sizes, self.laid_out(sizes), self.most)

    def laid_out(self, sizes: tuple[int, ...]) -> Layout:
        """A new Layout. raises : InternalError for a storage of less than no bytes"""
        env = dict(zip(self.symbols, sizes))
        nbytes = tuple(evaluate(storage.size, env) for storage in self.storages)
        for storage, size in zip(self.storages, nbytes):
            if size < 0:
                raise InternalError(f"flow {storage.flow}: %{storage.register} would have {size} bytes",
                                    note=f"{storage.size} bytes at {env}")
        return self.packed(nbytes)

    def packed(self, nbytes: tuple[int, ...]) -> Layout:
        """The Layout for storages of these sizes: an arena for each device."""
        if self.conflicts is None:
            self.conflicts = _conflicts(self.storages)
        devices = dict.fromkeys(storage.device for storage in self.storages)
        if not devices or list(devices) == [None]:
            return pack(self.storages, nbytes, self.conflicts)
        offsets, elsewhere, here = [0] * len(self.storages), [], Layout((), nbytes, 0, 0)
        for device in devices:
            mine = [storage for storage in self.storages if storage.device == device]
            layout = pack(mine, nbytes, self.conflicts)
            for storage in mine:
                offsets[storage.number] = layout.offsets[storage.number]
            if device is None:
                here = layout
            else:
                elsewhere.append((device, layout.peak, layout.lower_bound))
        return Layout(tuple(offsets), nbytes, here.peak, here.lower_bound, tuple(elsewhere))

    def fields(self) -> tuple:
        """Its fields but for `conflicts`; with its Layout, where sizes are known."""
        if not self.symbols:
            self.layout(())
        return self.symbols, {} if self.symbols else dict(self.layouts), self.storages, self.sites, self.slots

    def _latest(self) -> Layout:
        if not self.layouts:
            if self.symbols and self.storages:
                raise InternalError("the plan has not been laid out for any sizes yet")
            self.layout(tuple(1 for _ in self.symbols))
        return self.layouts.latest()

    @property
    def peak(self) -> int:
        """Bytes of the arena, for the sizes laid out last."""
        return self._latest().peak

    @property
    def lower_bound(self) -> int:
        """The most bytes that live at once, for the sizes laid out last: no packing needs less."""
        return self._latest().lower_bound

    def __str__(self) -> str:
        layout = self.layouts.latest()
        lines = ["storage  register  lives        bytes" + ("      offset" if layout else "")]
        for s in self.storages:
            line = f"{s.number:>7}  {f'%{s.register}':>8}  {f'{s.start}..{s.end}':<11}  {str(s.size):<9}"
            lines.append((line + f"  {layout.offsets[s.number]}").rstrip() if layout else line.rstrip())
        dynamic = [(flow, register) for (flow, register), site in self.sites.items() if not site.planned]
        lines += [f"dynamic: %{register} of {flow}" for flow, register in dynamic]
        if layout:
            lines.append(f"arena {layout.peak} bytes, lower bound {layout.lower_bound}")
            lines += [f"arena on {device} {peak} bytes, lower bound {bound}" for device, peak, bound in layout.elsewhere]
        return "\n".join(lines)


# ------------------------------------------------------------------------------------------------------------ packing

MOVES = 8                        # tries, in each order, to bring down what lies on top


def _conflicts(storages: Sequence[Storage]) -> Conflicts:
    """For each storage the numbers of those that live at some time together with it."""
    together: Conflicts = [[] for _ in storages]
    active: list[Storage] = []
    for storage in sorted(storages, key=lambda s: s.start):
        active = [other for other in active if other.end >= storage.start]
        for other in active:
            together[storage.number].append(other.number)
            together[other.number].append(storage.number)
        active.append(storage)
    return together


def pack(storages: Sequence[Storage], nbytes: Sequence[int], conflicts: Conflicts) -> Layout:
    """A Layout for storages of those sizes: best fit, by breadth (`_by_breadth`); if that misses the bound, again with what
    lay on top placed first, MOVES times at most, by decreasing size and then by decreasing length of life.

    storages : some of those that are numbered from 0, the others get no offset; conflicts: as `_conflicts` gives them
    """
    sizes = [-(-n // ALIGNMENT) * ALIGNMENT for n in nbytes]
    bound = _lower_bound(storages, sizes)
    lives = {s.number: s.start - s.end for s in storages}
    best: Any = None
    for first in (lambda n: (-sizes[n], lives[n]), lambda n: (lives[n], -sizes[n])):
        ordered = _by_breadth(storages, sizes, conflicts, first)
        for _ in range(MOVES):
            offsets = _pack(ordered, sizes, conflicts)
            ends = [0 if offset < 0 else offset + size for offset, size in zip(offsets, sizes)]
            peak = max(ends, default=0)
            if best is None or peak < best.peak:
                best = Layout(tuple(offsets), tuple(nbytes), peak, bound)
            if best.peak == bound:
                return best
            ordered.sort(key=lambda n: ends[n] != peak)
    return best


def _by_breadth(storages: Sequence[Storage], sizes: Sequence[int], conflicts: Conflicts,
                first: Callable[[int], Any]) -> list[int]:
    """Numbers of the storages, grouped by the time at which they are alive, beginning with the time of most bytes,
    each group in the order of the key `first` (greedy by breadth, Pisarchyk & Lee 2020)."""
    starts = {s.number: s.start for s in storages}
    living: dict[int, list[int]] = {}                            # by time
    for number, start in starts.items():
        if start not in living:
            living[start] = [number, *(n for n in conflicts[number] if n in starts and starts[n] <= start)]
    ordered: dict[int, None] = {}
    for alive in sorted(living.values(), key=lambda alive: -sum([sizes[n] for n in alive])):
        ordered.update(dict.fromkeys(sorted([n for n in alive if n not in ordered], key=first)))
    return list(ordered)


def _pack(ordered: list[int], sizes: Sequence[int], conflicts: Conflicts) -> list[int]:
    """Offsets in that order of numbers, each in the smallest gap where it fits; -1 for other numbers."""
    offsets = [-1] * len(sizes)
    spans: list[tuple[int, int] | None] = [None] * len(sizes)                # (offset, end) of what is placed
    for number in ordered:
        size = sizes[number]
        best: int | None = None
        best_gap = top = 0
        for start, end in sorted([span for span in [spans[other] for other in conflicts[number]] if span]):
            if start > top:
                gap = start - top
                if gap >= size and (best is None or gap < best_gap):
                    best, best_gap = top, gap
            if end > top:
                top = end
        offset = offsets[number] = top if best is None else best
        if size:
            spans[number] = offset, offset + size
    return offsets


def _lower_bound(storages: Sequence[Storage], sizes: Sequence[int]) -> int:
    events = sorted([(s.start, 0, sizes[s.number]) for s in storages]
                    + [(s.end, 1, -sizes[s.number]) for s in storages])
    live = peak = 0
    for _, _, change in events:
        live += change
        peak = max(peak, live)
    return peak


# ---------------------------------------------------------------------------------------------------------- lifetimes

def plan(program: F.Program) -> tuple[F.Program, MemoryPlan]:
    """(the program with Kills, its MemoryPlan).

    raises : InternalError if a pointer to a storage gets where lifetimes cannot follow: returned, stored, on a tape
    """
    entry = program.entry
    called = {i.flow for flow in program.all_flows() for i in F.walk(flow.body) if isinstance(i, F.CallFlow)}
    symbols = tuple(entry.symbols)
    sites: dict[tuple[str, int], Site] = {}
    slots: dict[str, int] = {}
    planned_flows, dynamic = [], []
    storages: list[Storage] = []
    handed_back = _handed_back(program)
    for flow in program.all_flows():
        lives = _Lifetimes(flow, _Points(flow, handed_back))
        planned_flows.append(lives.with_kills())
        slots[flow.name] = 0
        for alloc, life in lives.lives.items():
            count = 1 + len(life.avoid)
            static = flow is entry and entry.name not in called and isinstance(alloc.size, (int, Dim)) \
                and symbols_of(alloc.size) <= set(symbols)
            if static:
                sites[flow.name, alloc.dst] = Site(len(storages), count, True, 0, life.avoid)
                for _ in range(count):
                    storages.append(Storage(len(storages), flow.name, alloc.dst, alloc.size, life.start, life.end,
                                            alloc.device))
            else:
                dynamic.append((flow.name, alloc.dst, count, slots[flow.name], life.avoid))
                slots[flow.name] += count
    number = len(storages)
    for flow_name, register, count, slot, avoid in dynamic:
        sites[flow_name, register] = Site(number, count, False, slot, avoid)
        number += count
    done = F.Program(planned_flows[0], {f.name: f for f in planned_flows[1:]}, program.outputs)
    return done, MemoryPlan(tuple(storages), sites, slots, symbols)


@dataclass
class _Life:
    start: int
    end: int
    block: int                  # the block that kills it, and after which of its instructions
    index: int
    avoid: F.Registers


def _handed_back(program: F.Program) -> dict[str, list[set[int]]]:
    """{flow name: for each returned value the numbers of the parameters into whose memory it may point}"""
    back: dict[str, list[set[int]]] = {flow.name: [set() for _ in flow.returns] for flow in program.all_flows()}
    changed = bool(program.flows)
    while changed:
        changed = False
        for flow in program.all_flows():
            points = _Points(flow, back)
            for found, register in zip(back[flow.name], flow.returned):
                new = {n for n in range(len(flow.params)) if points.registers[register] >> (points.count + n) & 1}
                changed |= not new <= found
                found |= new
    return back


@dataclass
class _Points:
    """registers[r]: the Allocs of the flow, and above them the parameters, that register r may point into, as bits."""
    flow: F.Flow
    handed_back: dict[str, list[set[int]]]

    def __post_init__(self) -> None:
        self.allocs = [i for i in F.walk(self.flow.body) if isinstance(i, F.Alloc)]
        self.count = len(self.allocs)
        self.bit = {alloc.dst: 1 << n for n, alloc in enumerate(self.allocs)}
        self.registers = [0] * len(self.flow.kinds)
        for n, param in enumerate(self.flow.params):
            if param.kind == "ptr":
                self.registers[param.register] = 1 << (self.count + n)
        self._block(self.flow.body)

    def _block(self, block: F.Block) -> None:
        points = self.registers
        for i in block.instructions:
            if isinstance(i, F.Alloc):
                points[i.dst] = self.bit[i.dst]
            elif isinstance(i, F.Arith) and F.ARITH[i.op] == ("i64", "i64") and i.op not in _COMPARISONS:
                points[i.dst] = points[i.a] | points[i.b]
            elif isinstance(i, F.Unary) and i.op in ("neg", "abs"):
                points[i.dst] = points[i.a]
            elif isinstance(i, F.If):
                self._block(i.then)
                self._block(i.other)
                for dst, a, b in zip(i.dsts, i.then.results, i.other.results):
                    points[dst] = points[a] | points[b]
            elif isinstance(i, F.While):
                self._loop(i)
            elif isinstance(i, F.CallFlow):
                for dst, parameters in zip(i.dsts, self.handed_back[i.flow]):
                    for n in parameters:
                        points[dst] |= points[i.args[n]]
            elif isinstance(i, F.Return):
                self._stays(i.values, "is returned")
            elif isinstance(i, F.Store):
                self._stays((i.value,), "is stored in memory")
            elif isinstance(i, F.TapePush) and i.nbytes is None:
                self._stays((i.value,), "is pushed on a tape")

    def _loop(self, i: F.While) -> None:
        points = self.registers
        for param, init in zip(i.params, i.inits):
            points[param] |= points[init]
        changed = True
        while changed:
            self._block(i.cond)
            self._block(i.body)
            changed = False
            for param, result in zip(i.params, i.body.results):
                changed |= bool(points[result] & ~points[param])
                points[param] |= points[result]
        for dst, param in zip(i.dsts, i.params):
            points[dst] = points[param]

    def _stays(self, registers: Sequence[int], what: str) -> None:
        if any(self.of(register) for register in registers):
            raise InternalError(f"flow {self.flow.name}: a pointer to a storage of the flow {what}",
                                hint="copy the contents, or let the caller provide the storage")

    def of(self, register: int) -> int:
        """Only the Allocs that the register may point into, as bits."""
        return self.registers[register] & ((1 << self.count) - 1)


class _Lifetimes:
    """Lifetimes of one Flow."""

    def __init__(self, flow: F.Flow, points: _Points) -> None:
        self.flow, self.points, self.allocs, self.bit = flow, points, points.allocs, points.bit
        self.positions = self.blocks = 0
        self.spans: dict[tuple[int, int], tuple[int, int, F.Instruction]] = {}   # by block and index: start, end
        self.alloc_path: dict[int, Path] = {}            # by register
        self.uses: list[tuple[int, Path]] = []           # of the storages that these bits say
        self.enclosing: dict[int, F.Registers] = {}      # alloc dst: parameters of the loops around it
        self._walk(flow.body, (), ())
        self.lives = {alloc: life for alloc, life in zip(self.allocs, self._lives())}

    def _walk(self, block: F.Block, path: Path, loop_params: tuple[int, ...]) -> None:
        """Number the positions, note where each Alloc stands and each use of a storage."""
        number = self.blocks
        self.blocks += 1
        for index, i in enumerate(block.instructions):
            start = self.positions
            self.positions += 1
            here = (*path, (number, index))
            bits = 0
            for register in (*i.reads, *i.writes):
                bits |= self.points.of(register)
            if isinstance(i, F.Alloc):
                self.alloc_path[i.dst] = here
                self.enclosing[i.dst] = loop_params
            for inner in i.blocks:
                for register in inner.results:
                    bits |= self.points.of(register)
            inside = loop_params
            if isinstance(i, F.While):
                inside = loop_params + i.params
                for register in i.params:
                    bits |= self.points.of(register)
            for inner in i.blocks:
                self._walk(inner, here, inside)
            self.spans[number, index] = (start, self.positions - 1, i)
            if bits:
                self.uses.append((bits, here))

    def _lives(self) -> Iterator[_Life]:
        depth = [len(self.alloc_path[a.dst]) - 1 for a in self.allocs]
        members: list[list[Path]] = [[] for _ in self.allocs]                    # uses, by alloc
        for bits, path in self.uses:
            while bits:
                low = bits & -bits
                n = low.bit_length() - 1
                members[n].append(path)
                bits ^= low
        for n, alloc in enumerate(self.allocs):
            own = self.alloc_path[alloc.dst]
            for path in members[n]:
                depth[n] = min(depth[n], _common_depth(own, path))
            block = own[depth[n]][0]
            index = max(path[depth[n]][1] for path in members[n])
            start = self.spans[own[-1]][0]
            for loop in own[depth[n]:-1]:
                if isinstance(self.spans[loop][2], F.While):
                    start = self.spans[loop][0]
                    break
            avoid = tuple(p for p in self.enclosing[alloc.dst] if self.points.of(p) & self.bit[alloc.dst])
            yield _Life(start, self.spans[block, index][1], block, index, avoid)

    def with_kills(self) -> F.Flow:
        """The Flow with a Kill after the last use of each Alloc."""
        kills: dict[tuple[int, int], list[F.Kill]] = {}
        for alloc, life in self.lives.items():
            kills.setdefault((life.block, life.index), []).append(F.Kill(alloc.dst))
        self.blocks = 0
        flow = self.flow
        return F.Flow(flow.name, flow.params, flow.kinds, self._rebuild(flow.body, kills), flow.symbols, flow.devices)

    def _rebuild(self, block: F.Block, kills: dict[tuple[int, int], list[F.Kill]]) -> F.Block:
        number = self.blocks
        self.blocks += 1
        instructions = []
        for index, i in enumerate(block.instructions):
            if isinstance(i, F.If):
                i = F.If(i.cond, self._rebuild(i.then, kills), self._rebuild(i.other, kills), i.dsts)
            elif isinstance(i, F.While):
                i = F.While(i.params, i.inits, self._rebuild(i.cond, kills), self._rebuild(i.body, kills), i.dsts)
            instructions.append(i)
            instructions.extend(kills.get((number, index), ()))
        return F.Block(tuple(instructions), block.results)


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _common_depth(own: Path, path: Path) -> int:
    """The depth of the innermost block in which both paths stand."""
    depth = 0
    while depth + 1 < min(len(own), len(path)) and own[depth + 1][0] == path[depth + 1][0]:
        depth += 1
    return depth
