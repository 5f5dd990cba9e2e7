"""Machine code of functions of integers, written in Python: what stands below Python calls reads as Python too.

    def rank_of(array):                                  define internal i64 @rank_of(i64 %array) {
        if load(array, at.TYPE) != this.NDARRAY:   ->      ...
            return -1
        return load32(array, at.NDIM)                    }

Every value is an integer of 64 bits; an address is one too. There are assignments, `if`, `while`, `return`, `break`,
`continue`, comparisons, `and`, `or`, `not`, arithmetic (`//` and `%` of what is not negative), and these names:

    load(p, n), store(p, n, v)   the 64 bits at p + n bytes, read or written; load32, store32: the 32 bits, signed
    stack(n)                     the address of n words that live as long as the call; not inside a loop if n is no constant
    call(f, ..)                  a call of the function at address f
    to_float(n), to_single(d)    the bits of an integer as a double; the bits of a double as a float
    at.NAME                      a number known when the code is made (an offset); of `if at.NAME` one side is written
    this.NAME                    a word of the module's table, which is filled when the code is loaded; address.NAME: where
                                 the words of a larger entry of the table begin, or a function of the same text
    api.NAME(..)                 a function of CPython, C or another library

and for words that threads share, in one total order (seq_cst): `atomic_load(p)`, `atomic_store(p, v)`, `atomic_add(p, v)` and
`atomic_or(p, v)`, which give what was there, `exchange(p, old, new)`, 1 if it was `old`, and `pause()` between two looks.

`LowModule` translates (`low_writer.py`), compiles and loads a text, or takes its machine code from the disk.
"""
import ctypes
import functools
import os

import numpy as np

from ..common.lazy import LazyModule
from .machine_code import compile_made

low_writer = LazyModule("mindlite.backend.low_writer")


class LowModule:
    """Functions of low Python as machine code.

    source     : their text
    constants  : {name: int} of `at`
    words      : {name: how many words} of the table; `offset[name]` is where an entry begins
    address_of : the address of a function of `api`; by default one of CPython
    level, ahead : as for `machine_code.compile_ir`
    """
    keep: list                               # objects that the code reads, for its maker

    def __init__(self, source, constants, words, name, address_of=None, level=2, ahead=False):
        self.offset, total = {}, 0
        for word, count in words.items():
            self.offset[word] = total
            total += count

        def make():
            text, used = low_writer.text_of(name, source, constants, self.offset, total)
            return name, text, used
        facts = name, source, constants, words
        self.code = compile_made(facts, make, address_of or _of_python, passes="few", level=level, ahead=ahead)[1]
        self.count = total

    @functools.cached_property
    def start(self):
        """Where the table begins."""
        return ctypes.CFUNCTYPE(ctypes.c_int64)(self.code.address("address_of_table"))()

    @functools.cached_property
    def table(self):
        """The table, an array."""
        return np.ctypeslib.as_array((ctypes.c_int64 * self.count).from_address(self.start))

    def set(self, name, *values):
        """Fill an entry of the table."""
        offset = self.offset[name]
        self.table[offset:offset + len(values)] = values

    def address(self, name):
        """The address of a function."""
        return self.code.address(name)

    def word(self, name):
        """The address of an entry of the table."""
        return self.start + 8 * self.offset[name]


def source_of(file, *names):
    """The texts of modules of low Python beside `file`, as one; Python itself does not load them."""
    texts = []
    for name in names:
        with open(os.path.join(os.path.dirname(file), f"{name}.py"), encoding="utf-8") as opened:
            texts.append(opened.read())
    return "\n".join(texts)


def _of_python(function):
    """The address of a function of CPython."""
    return ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value
