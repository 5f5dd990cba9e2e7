"""Where CPython and NumPy keep what machine code reads of their objects: offsets in bytes, probed at run time.

    layout()["DATA"]   where an ndarray has the address of its elements        slots_of(Tensor, ("host_array",))["host_array"]

This is the only module that knows how foreign objects lie in memory. CPython promises none of it, so each offset is
confirmed on objects whose content is known. A probe reads memory through the kernel (`words_at`), which answers a wrong
address with an error, never with a crash; an address of code is used only if it lies in NumPy's own library. Where one
probe fails, on a free-threaded build, on a CPython that nobody has tried, or with the switch `native_calls` off, there is
no layout: `reason()` says why (so does `mindlite doctor`), and Python code does everything. What is allocated, counted and
called goes through the functions of CPython's and NumPy's C interfaces.
"""
import ctypes
import os
import platform
import struct
import sys
import types

import numpy as np

from ..common.config import config
from ..common.once import once

OLDEST, NEWEST = (3, 10), (3, 14)                # versions of CPython whose objects lie as `_probe` expects


class Unknown(Exception):
    """Why objects cannot be read."""


def available():
    """True where machine code may read Python objects."""
    return layout() is not None


def layout():
    """{name: offset} of the fields of objects, ndarrays, tuples, lists, slices, floats, methods; None where they are unknown."""
    return _found()[0]


def reason():
    """Why there is no layout, a sentence; "" where there is one."""
    return _found()[1]


@once
def _found():
    try:
        return _probe(), ""
    except (Unknown, OSError) as error:
        return None, str(error)


def interpreter():
    """Refuse an interpreter whose objects are not known. raises : Unknown"""
    if not config.native_calls:
        raise Unknown("switched off by MINDLITE_NATIVE_CALLS")
    if platform.python_implementation() != "CPython":
        raise Unknown(f"{platform.python_implementation()} lays out objects in a way of its own")
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or object.__basicsize__ != 16:
        raise Unknown("objects of a free-threaded or debug build lie otherwise")
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise Unknown(f"CPython {platform.python_version()} has not been tried")
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unknown("addresses have no 64 bits")


def _probe():
    """The offsets, each confirmed. raises : Unknown; OSError for an address that is none"""
    interpreter()
    head = object.__basicsize__
    if words_at(id(head), 2)[1] != id(int):
        raise Unknown("an object does not name its class where it is expected")
    found = {"TYPE": head - 8, "SIZE": head, "DOUBLE": head, "FUNCTION": head, "BOUND": head + 8, "LISTED": head + 8,
             "START": head, "ITEMS": tuple.__basicsize__, "DATA": head, "NDIM": head + 8, "SIZES": head + 16, "DESCR": head + 40,
             "FLAGS": head + 48}
    one, other = object(), object()
    pair, items, method, number = (one, other), [one], types.MethodType(words_at, one), -1.5
    items.append(other)                                      # a list that has more room than items
    array, part = np.zeros((3, 5), np.float32), slice(one, other, pair)

    def expect(what, holds):
        if not holds:
            raise Unknown(f"{what} of this Python or NumPy lies otherwise")
    expect("a tuple", words_at(id(pair) + found["SIZE"], 1) == [2] and
           words_at(id(pair) + found["ITEMS"], 2) == [id(one), id(other)])
    expect("a list", words_at(id(items) + found["SIZE"], 1) == [2] and
           words_at(words_at(id(items) + found["LISTED"], 1)[0], 2) == [id(one), id(other)])
    expect("a slice", words_at(id(part) + found["START"], 3) == [id(one), id(other), id(pair)])
    expect("a method", words_at(id(method) + found["FUNCTION"], 2) == [id(words_at), id(one)])
    expect("a float", words_at(id(number) + found["DOUBLE"], 1) == list(struct.unpack("q", struct.pack("d", number))))
    expect("an array", words_at(id(array) + found["DATA"], 1) == [array.ctypes.data] and
           words_at(id(array) + found["NDIM"], 1)[0] & 0xffffffff == 2 and
           words_at(words_at(id(array) + found["SIZES"], 1)[0], 2) == [3, 5] and
           words_at(id(array) + found["DESCR"], 1) == [id(array.dtype)] and
           all(words_at(id(a) + found["FLAGS"], 1)[0] & 0xffffffff == a.flags.num for a in (array, array[:, ::2])))
    return found


@once
def _reader():
    """read(address, bytes) -> bytes, by the kernel. raises : OSError if the process cannot read there; Unknown"""
    if sys.platform == "win32":
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]
        kernel.ReadProcessMemory.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t, ctypes.c_void_p]
        kernel.GetCurrentProcess.restype = ctypes.c_void_p

        def read(address, size):
            buffer = ctypes.create_string_buffer(size)
            if not kernel.ReadProcessMemory(kernel.GetCurrentProcess(), address, buffer, size, None):
                raise OSError(f"there is no memory at {address:#x}")
            return buffer.raw
        return read
    write = ctypes.CDLL(None, use_errno=True).write
    write.argtypes, write.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_ssize_t

    def through_pipe(address, size):
        source, to = os.pipe()
        try:
            if write(to, address, size) != size:            # EFAULT, where reading it here would be the end
                raise OSError(f"there is no memory at {address:#x}")
            return os.read(source, size)
        finally:
            os.close(source)
            os.close(to)
    return through_pipe


def words_at(address, count):
    """`count` words at an address, as ints; at most 500. raises : OSError if the process cannot read there"""
    return list(struct.unpack(f"{count}q", _reader()(address, 8 * count)))


def slots_of(owner, names):
    """{name: offset} of slots of a class, found in an instance; None where one is not where slots are."""
    made, marks = owner.__new__(owner), {name: object() for name in names}
    for name, mark in marks.items():
        setattr(made, name, mark)
    found, words = {}, words_at(id(made), owner.__basicsize__ // 8)
    for name, mark in marks.items():
        if words.count(id(mark)) != 1:
            return None
        found[name] = 8 * words.index(id(mark))
    return found


class _Library(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("start", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]


def is_numpys(address, library=None):
    """True if an address lies in NumPy's own library, or in another extension module, as the system's loader says; False where
    it says nothing."""
    if sys.platform == "win32":
        return False
    found, core = _Library(), library or (getattr(np, "_core", None) or np.core)._multiarray_umath
    find = ctypes.CDLL(None).dladdr
    find.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Library)]
    return bool(address and find(address, ctypes.byref(found)) and found.file
                and os.path.samefile(os.fsdecode(found.file), core.__file__))


def array_interface(number):
    """The address of NumPy's C function `number` (its table is numpy/__multiarray_api.h), which no release moves; None
    where it is not to be had."""
    core = getattr(np, "_core", None) or np.core
    capsule = core._multiarray_umath._ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    address, = words_at(pointer + 8 * number, 1)
    return address if is_numpys(address) else None


def ufunc_loop(ufunc, letters, library=None):
    """(the address of the code, the address of its data) of the loop of a NumPy ufunc for the operands and results whose
    dtypes have these letters; None if there is none that can be called. library: the extension module of the ufunc

    A loop is `void loop(char **args, npy_intp *count, npy_intp *steps, void *data)` (numpy/ufuncobject.h)."""
    nin, nout, nargs, _, functions, data, ntypes, _, _, kinds = struct.unpack(
        "4i2q2i2q", _reader()(id(ufunc) + object.__basicsize__, 56))
    signatures = [text.replace("->", "") for text in ufunc.types]
    if (nin, nout, nargs, ntypes) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) or letters not in signatures:
        return None
    index = signatures.index(letters)
    try:
        numbers = list(_reader()(kinds + index * nargs, nargs))
        address, fact = words_at(functions + 8 * index, 1)[0], words_at(data + 8 * index, 1)[0] if data else 0
    except OSError:
        return None
    return (address, fact) if numbers == [np.dtype(letter).num for letter in letters] and is_numpys(
        address, library) else None


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


VARARGS_FAST, KEYWORDS, NO_ARGUMENTS, ONE_ARGUMENT = 0x80, 0x02, 0x04, 0x08
_kept: list = []                                 # the definitions of methods live as long as the process


def method_descriptor(owner, name, address, flags, signature):
    """A method of the class `owner` that is machine code, to be put into the class.

    flags : how it takes arguments, as METH_O and others of CPython say     signature : "($self, other, /)"
    """
    doc = f"{name}{signature}\n--\n\n".encode()
    method = _Method(name.encode(), address, flags, doc)
    _kept.append((method, doc))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.POINTER(_Method))(
        ("PyDescr_NewMethod", ctypes.pythonapi))
    return make(owner, ctypes.byref(method))


@once
def _new_builtin():
    """CPython's PyCFunction_NewEx. ctypes makes a class for each prototype, which costs more than a call of it."""
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi))


def builtin(name, address, flags, of=None):
    """(a function of CPython that is machine code, what must live as long as it); of: the object that the code gets first."""
    method = _Method(name.encode(), address, flags, None)
    return _new_builtin()(ctypes.byref(method), of, None), (method, name)
