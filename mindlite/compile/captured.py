"""Which Flows a device may capture and replay: straight ones of fixed sizes, whose launches follow from their parameters alone.

    replays_of(linked)          what `common.device.Driver.replays` gives for it, None for all others
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..common.config import config
from ..common.device import Device, driver_of
from . import flow as F
from .link import Linked

FEWEST_LAUNCHES = 2          # a graph of one kernel costs more than its launch
_NUMBERS = (F.Arith, F.Exact, F.Unary)                       # what may be done with numbers that the CPU reads from memory
_STRAIGHT = (F.Const, F.Data, F.Alloc, F.Kill, F.CallKernel, F.Handle, F.Copy, F.Load, F.Check, F.Return, *_NUMBERS)


def replays_of(linked: Linked) -> Any:
    """What runs, captures and replays a program on its device; None where it has to be launched as it is each time."""
    if not config.cuda_graphs or len(linked.devices) != 1 or linked.verify or not is_straight(linked):
        return None
    if sum(isinstance(i, F.CallKernel) for i in linked.program.entry.body.instructions) < FEWEST_LAUNCHES:
        return None
    device = linked.devices[0]
    make = getattr(driver_of(device), "replays", None)
    return make(device.index) if make is not None else None


def is_straight(linked: Linked) -> bool:
    """True for a Flow without decisions, waits, calls of Python and sizes of its own.

    Numbers that it reads from memory may decide whether it fails, and nothing else: a replay has all others from its capture.
    """
    program, read = linked.program, set[int]()
    if linked.plan.symbols or program.flows or any(spec.register is None for spec in program.outputs):
        return False
    planned = {storage.register for storage in linked.plan.storages}
    for i in program.entry.body.instructions:
        if not isinstance(i, _STRAIGHT) or not read.isdisjoint(i.reads) and not isinstance(i, (*_NUMBERS, F.Check)):
            return False
        if isinstance(i, F.Alloc) and i.dst not in planned or isinstance(i, F.Handle) and i.dims is None:
            return False
        if isinstance(i, F.Copy) and i.to is None and i.source is not None:
            return False                                     # the CPU waits
        if isinstance(i, F.Load) or not read.isdisjoint(i.reads):
            read.update(i.writes)
    return bool(not program.entry.returned)


def key_of(program: F.Program, device: Device) -> Callable[[Any], Any]:
    """params -> those that a captured run depends on: numbers, and addresses on the device; of one such, itself."""
    kept = [n for n, p in enumerate(program.entry.params) if p.kind != "ptr" or p.device == device]
    return operator.itemgetter(*kept) if kept else lambda params: ()
