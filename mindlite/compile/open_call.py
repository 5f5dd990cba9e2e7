"""A CallPlan of open sizes as generated Python: one function for all sizes, where calls come with many.

    def call(args):                                        # f(x, w): x is f32[n, 512] on a GPU
        ..                                                 # tests and guards, as in quick.py
        e0, e1 = args[0].elements, args[1].elements
        n, c = e0.shape
        if not (c == 512 and e0.dtype is d0 and ..): return refuse(None)
        entry = ready.get((n,))
        if entry is None or ..: entry = renew((n,))
        o0 = entry.makers[0]()
        pack(words, 136, e0.address, e1.address, n, o0.address)
        words[3] = entry.table
        status = run(address)
        ..

What depends on the sizes, the table of an instance and the makers of new arrays, is made when they come first and kept for
MAX_SIZES tuples of them. A call of sizes that came before runs some ten functions of Python, where the general way
(`plain_call.py`) runs a hundred. Once in SAMPLED calls it is MISS, so that sizes that come often get a fast path of their own.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.device import Device
from ..common.dim import Symbol, evaluate
from ..common.recent import Recent
from ..common.records import dataclass
from ..common.storage import DeviceArray, DeviceForm, address_of
from .call_plan import CallPlan
from .executable import Context, thread_arenas
from .guards import refused_by
from .printers import runtime as R
from .quick import Unfit, Writer
from .signature import TensorSpec
from .variant import Variant

MAX_SIZES = 1024                         # tuples of sizes that are kept
SAMPLED = 256                            # calls, of which one goes the general way


def open_call(variant: Variant, args: tuple) -> Any:
    """call(args) -> the function's value or MISS, for this variant with any sizes; None where there is no such path."""
    try:
        return _OpenWriter(variant.plan, args).function()
    except Unfit:
        return None


@dataclass
class Entry:
    """Of a tuple of sizes. table: the address of its instance; makers: of the new arrays; kept: what lies there"""
    table: int
    makers: list[Callable[[], Any]]
    kept: Any


class OpenCall:
    """A CallPlan of open sizes in one thread: its context, and an Entry for each tuple of sizes.

    entry_sizes : for each size by which an instance is found, the number of a Symbol of the plan, or (None, the size)
    """

    def __init__(self, plan: CallPlan, specs: list[TensorSpec]) -> None:
        """specs: of the arguments"""
        self.plan, self.executable, self.arenas = plan, plan.executable, thread_arenas()
        if self.executable.replays is not None:
            raise Unfit("a Flow that is replayed")
        entry, symbols = self.executable.linked.program.entry, list(plan.symbols)
        steps = {p.register: step for p, step in zip(entry.params, plan.steps)}
        self.entry_sizes: list[tuple[int | None, int]] = []
        for register in entry.symbols.values():
            kind, number, more, *rest = steps[register]
            if kind != "size":
                raise Unfit("a size that is no size of an array")
            size = plan.held[more].shape[rest[0]] if number is None else specs[number].shape[rest[0]]
            if isinstance(size, Symbol) and size not in plan.symbols:
                raise Unfit("a size that no argument has")
            self.entry_sizes.append((symbols.index(size), 0) if isinstance(size, Symbol) else (None, size))
        self.context, self.ready = Context(self.executable), Recent()
        self.buffer, self.version = self.context.buffer, self.arenas.version
        self.made = [(step[1], step[2], step[3], step[4]) for step in plan.steps if step[0] == "out"]
        order = {number: k for k, (number, _, _, _) in enumerate(self.made)}
        self.order = [order[index] if kind == "param" else -1 for kind, index in plan.results]

    def is_on_host(self, number: int) -> bool:
        """True if a new array is an ndarray, not a DeviceArray."""
        return self.made[number][3] is None

    def renew(self, sizes: tuple[int, ...]) -> Entry | None:
        """The Entry of these values of the plan's symbols; None where such a call does not fit."""
        plan, context, env = self.plan, self.context, dict(zip(self.plan.symbols, sizes))
        if not all(symbol.accepts(size) for symbol, size in env.items()) or not plan.allows(env):
            return None
        entry_sizes = tuple([size if number is None else sizes[number] for number, size in self.entry_sizes])
        self.arenas.depth += 1
        try:
            context.enter(entry_sizes)
        finally:
            self.arenas.depth -= 1
        if context.buffer is not self.buffer or self.arenas.version is not self.version:      # addresses of before hold no longer
            self.ready.clear()
            self.buffer, self.version = context.buffer, self.arenas.version
        makers: list[Callable[[], Any]] = []
        for _, dtype, shape, device in self.made:
            shape = tuple([evaluate(size, env) for size in shape])
            makers.append(functools.partial(np.empty, shape, dtype) if device is None else DeviceForm(device, shape, dtype).new)
        kept = context.instances.find(entry_sizes)
        return self.ready.put(sizes, Entry(int(context.array[R.TABLE]), makers, kept), MAX_SIZES)

    def failure(self) -> BaseException:
        """The exception of the run that has failed."""
        error = self.executable.failure(self.context)
        if self.executable.cleans_up:
            self.context.end()
        return error


class _OpenWriter(Writer):
    def __init__(self, plan: CallPlan, args: tuple) -> None:
        super().__init__(plan, plan.signature, args)
        if not plan.symbols or any(axis is None for _, axis in plan.symbols.values()):
            raise Unfit("no open sizes, or a number is one")
        self.known = OpenCall(plan, [spec for _, _, spec in self.leaves])
        self.tests.insert(0, f"len(args) == {len(args)}")
        self.fits: list[str] = []

    def axis(self, number: int, axis: int | None) -> str:
        """The name of a size of a leaf."""
        return f"s{number}_{axis}"

    def elements(self, name: str, dtype: np.dtype, lies: Any) -> str:
        """Tests of dtype and place; gives the text of the address."""
        self.fits.append(f"{name}.dtype is {self.name('dtype', dtype)}")
        if lies is None:
            self.fits.append(f"type({name}) is ndarray and {name}.flags.c_contiguous")
            return f"address_of({name})"
        if not isinstance(lies, Device):
            raise Unfit("a part of an array")
        where = self.name("device", lies)
        self.fits.append(f"type({name}) is DeviceArray and ({name}.device is {where} or {name}.device == {where})")
        return f"{name}.address"

    def read_leaves(self) -> tuple[list[str], list[str]]:
        """(lines that name elements and sizes, texts of the addresses); tests go to `fits`."""
        lines, addresses = [], []
        open_ = {place: symbol for symbol, place in self.plan.symbols.items()}
        first: dict[Symbol, str] = {symbol: self.axis(*place) for place, symbol in open_.items()}
        for number, (path, owner, spec) in enumerate(self.leaves):
            lines += [f"e{number} = {path}" if owner is np.ndarray else f"e{number} = {path}.elements"]
            if owner is not np.ndarray:
                self.fits.append(f"type({path}) is {self.name('owner', owner)}")
            names = [self.axis(number, axis) for axis in range(len(spec.shape))]
            lines += [f"{', '.join(names)}{',' * (len(names) == 1)} = e{number}.shape" if names else f"() = e{number}.shape"]
            for name, size in zip(names, spec.shape):
                if not isinstance(size, Symbol):
                    self.fits.append(f"{name} == {size}")
                elif name != first[size]:
                    self.fits.append(f"{name} == {first[size]}")
            addresses.append(self.elements(f"e{number}", spec.dtype.numpy, spec.device))
        return lines, addresses

    def read_held(self) -> tuple[list[str], list[str]]:
        """The same for Tensors that are no arguments."""
        lines, addresses = [], []
        for number, held in enumerate(self.plan.held):
            lines += [f"h{number} = {self.name('held', held.tensor)}.elements"]
            self.fits.append(f"h{number}.shape == {held.shape!r}")
            addresses.append(self.elements(f"h{number}", held.dtype, held.lies))
        return lines, addresses

    def parameters(self, leaves: list[str], held: list[str]) -> list[str]:
        """The texts of the parameters of the Flow."""
        made, params = iter(range(len(self.known.made))), []
        for kind, number, more, *rest in self.plan.steps:
            if kind == "out":
                name = f"o{next(made)}"
                params.append(f"address_of({name})")
            elif kind == "tensor":
                params.append(leaves[number] if number is not None else held[more])
            elif kind == "size":
                params.append(self.axis(number, rest[0]) if number is not None else str(self.plan.held[more].shape[rest[0]]))
            else:
                raise Unfit("a number among the parameters")
        return params

    def function(self) -> Any:
        """The function `call`."""
        known, executable, plan = self.known, self.executable, self.plan
        lines, _, _ = self.head()
        read, leaves = self.read_leaves()
        more, held = self.read_held()
        params = self.parameters(leaves, held)
        sizes = "".join(self.axis(*place) + ", " for place in plan.symbols.values())
        lines += ["try:", *(f"    {line}" for line in (*read, *more)),
                  "except (AttributeError, ValueError):", "    return refuse(None)",
                  f"if not ({' and '.join(self.fits)}): return refuse(None)",
                  f"if not plan.calls % {SAMPLED}: return refuse(None)",
                  f"entry = ready.get(({sizes}))",
                  "if entry is None or arenas.buffers[0] is not context.buffer or arenas.version is not keep.version:",
                  f"    entry = renew(({sizes}))",
                  "    if entry is None: return refuse(None)",
                  "makers = entry.makers", *(f"o{n} = makers[{n}]()" for n in range(len(known.made))),
                  f"pack(array, {8 * R.PARAMS}, {', '.join(params)})", f"array[{R.TABLE}] = entry.table",
                  *self.entered("status = run(address)"), "if status: raise failure()"]
        context = known.context
        self.names.update(
            ready=known.ready, renew=known.renew, arenas=known.arenas, context=context, keep=known, array=context.array,
            address=context.address, run=executable.entry, pack=executable._pack.pack_into, executable=executable,
            failure=known.failure, refuse=self.refusal(), read=executable.results, DeviceArray=DeviceArray,
            ndarray=np.ndarray, address_of=address_of, refused_by=refused_by)
        text = self.define("def call(args):", [*lines, *self.end()])
        call = self.names["call"]
        call.source, call.failure, call.refused, call.short = text, known.failure, None, None
        return call
