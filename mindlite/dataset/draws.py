"""Random numbers of operations: a counter-based generator, placed by (seed, operation, pass, sample).

    with the seed 7, operation 3 draws for sample 12 of pass 0 from Philox(key=(7, 3), counter=(0, 0, 12, 0))

What a random operation draws depends only on that position, so that order and number of workers change nothing (the order of
rows comes from other generators: mersenne.py). Operations that
stand at one place of two branches have one number where a seed is set (`Run.stream`), Python functions never. A user's Python
function that draws from `numpy.random` or `random` gets numbers by the same rule where a seed is set: the generators behind
these modules are exchanged while it runs.

Source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011 (Philox).
"""
from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np

_MASK = 2 ** 64 - 1
_legacy: Any = np.random                 # set_bit_generator and get_bit_generator are not in its stub


class _Here(threading.local):
    """What a thread draws from.

    bits, numbers : one Philox and its Generator, which are placed anew for each sample
    lent          : a Generator for the user's functions
    position      : (seed, operation, pass, sample), None outside a pipeline;  own : the operation for the user's functions
    placed, lent_placed : True when `bits`, or `lent`, stands at `position`
    held          : (NumPy's bit generator, Python's state) while a user's function runs, else None
    """

    def __init__(self) -> None:
        self.bits = np.random.Philox(key=0)
        self.numbers = np.random.Generator(self.bits)
        self.lent = np.random.Generator(np.random.Philox(key=0))
        self.state = self.bits.state
        self.own = 0
        self.position: tuple[int, int, int, int] | None = None
        self.placed = self.lent_placed = False
        self.held: tuple | None = None


_here = _Here()
_eager: dict = {"seed": None, "numbers": None}


def begin(seed: int, operation: int, epoch: int, sample: int, own: int = 0) -> None:
    """From here on this thread draws for one sample of one operation. own : which operation it is for the user's functions"""
    _here.position, _here.own = (seed, operation, epoch, sample), own
    _here.placed = _here.lent_placed = False


def _place(bits: Any, seed: int, operation: int, epoch: int, sample: int) -> None:
    inner = _here.state["state"]
    inner["key"][:] = seed & _MASK, operation & _MASK
    inner["counter"][:] = 0, 0, sample & _MASK, epoch & _MASK
    bits.state = _here.state


def end() -> None:
    """This thread leaves the pipeline."""
    _here.position = None
    if _here.held is not None:
        numpy_bits, python_state = _here.held
        _legacy.set_bit_generator(numpy_bits)
        random.setstate(python_state)
        _here.held = None


def generator() -> np.random.Generator:
    """The generator of the present position; outside a pipeline one that goes on from call to call."""
    here = _here
    if here.position is None:
        if _eager["numbers"] is None:
            _eager["numbers"] = np.random.Generator(np.random.Philox(_eager["seed"]))
        return _eager["numbers"]
    if not here.placed:
        _place(here.bits, *here.position)
        here.placed = True
    return here.numbers


def seed_eager(seed: int | None) -> None:
    """What is drawn outside pipelines starts from `seed`; None: from the operating system."""
    _eager["seed"], _eager["numbers"] = seed, None


def lend_to_python() -> None:
    """`numpy.random` and `random` draw for the present position until `end()`."""
    here = _here
    assert here.position is not None
    if here.held is None:
        here.held = _legacy.get_bit_generator(), random.getstate()
        _legacy.set_bit_generator(here.lent.bit_generator)
    if not here.lent_placed:
        seed, _, epoch, sample = here.position
        _place(here.lent.bit_generator, seed, here.own, epoch, sample)
        here.lent_placed = True
    random.seed(int(here.lent.integers(2 ** 63)))
