"""Where CPython and NumPy keep what machine code reads of their objects: offsets in bytes, tried on real objects.

    layout()["DATA"]   where an ndarray has the address of its elements        slots_of(Tensor, ("host_array",))["host_array"]

CPython promises none of this, so each offset is looked at before it is used: a Python or NumPy that lays its objects out
otherwise has no layout (None), and everything goes by Python code. What is allocated, counted and called goes through
functions of CPython's and NumPy's C interfaces.
"""
import ctypes
import functools
import platform
import sys
import types

import numpy as np


def words_of(thing, count):
    """The first `count` words of an object, as ints."""
    return list((ctypes.c_int64 * count).from_address(id(thing)))


@functools.lru_cache(maxsize=None)
def layout():
    """{name: offset} of the fields of objects, ndarrays, tuples, lists, floats and methods; None where they are elsewhere."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    if platform.python_implementation() != "CPython" or not has_lock:
        return None
    if ctypes.sizeof(ctypes.c_void_p) != 8 or ctypes.sizeof(ctypes.c_long) not in (4, 8):
        return None
    head = object.__basicsize__
    array, pair, items, number = np.zeros((3, 5), np.float32), (np, ctypes), [np, ctypes], 1.5
    fields, start = words_of(array, np.ndarray.__basicsize__ // 8), head // 8
    sizes = (ctypes.c_int64 * 2).from_address(fields[start + 2])
    flags = ctypes.c_int32.from_address(id(array) + head + 48).value
    strided = ctypes.c_int32.from_address(id(array[:, ::2]) + head + 48).value
    listed, method = words_of(items, start + 2), types.MethodType(words_of, pair)
    as_expected = (words_of(array, start)[-1] == id(np.ndarray)
                   and fields[start] == array.ctypes.data and fields[start + 1] & 0xffffffff == 2
                   and tuple(sizes) == (3, 5) and fields[start + 5] == id(array.dtype)
                   and flags & 257 == 257 and not strided & 1
                   and words_of(pair, start + 3)[start:] == [2, id(np), id(ctypes)]
                   and listed[start] == 2 and list((ctypes.c_int64 * 2).from_address(listed[-1])) == [id(np), id(ctypes)]
                   and words_of(method, start + 2)[start:] == [id(words_of), id(pair)]
                   and ctypes.c_double.from_address(id(number) + head).value == 1.5)
    if not as_expected:
        return None
    return {"TYPE": head - 8, "SIZE": head, "ITEMS": head + 8, "LISTED": head + 8, "DATA": head, "NDIM": head + 8,
            "SIZES": head + 16, "DESCR": head + 40, "FLAGS": head + 48, "DOUBLE": head, "FUNCTION": head, "BOUND": head + 8}


def slots_of(owner, names):
    """{name: offset} of slots of a class, found in an instance; None where one is not where slots are."""
    made, marks = owner.__new__(owner), {name: object() for name in names}
    for name, mark in marks.items():
        setattr(made, name, mark)
    found, words = {}, words_of(made, owner.__basicsize__ // 8)
    for name, mark in marks.items():
        if words.count(id(mark)) != 1:
            return None
        found[name] = 8 * words.index(id(mark))
    return found


def array_interface(number):
    """The address of NumPy's C function `number` (its table is numpy/__multiarray_api.h), which no release moves."""
    core = getattr(np, "_core", None) or np.core
    capsule = core._multiarray_umath._ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    return (ctypes.c_int64 * (number + 1)).from_address(pointer)[number]


def ufunc_loops(ufunc):
    """[(the characters of a loop's types, the address of its code, the address of its data)] of a NumPy ufunc.

    A loop is `void loop(char **args, npy_intp *count, npy_intp *steps, void *data)` (numpy/ufuncobject.h)."""
    head = object.__basicsize__
    at = id(ufunc) + head
    counts = (ctypes.c_int32 * 3).from_address(at)
    functions, data = (ctypes.c_int64 * 2).from_address(at + 16)
    ntypes = ctypes.c_int32.from_address(at + 32).value
    types = (ctypes.c_int64.from_address(at + 48)).value
    if tuple(counts) != (ufunc.nin, ufunc.nout, ufunc.nargs) or ntypes != ufunc.ntypes or not functions or not data:
        return []
    numbers = ctypes.string_at(types, ntypes * ufunc.nargs)
    loops = []
    for i, text in enumerate(ufunc.types):
        letters = text.replace("->", "")
        if [np.dtype(letter).num for letter in letters] != list(numbers[i * ufunc.nargs:(i + 1) * ufunc.nargs]):
            return []
        address = ctypes.c_int64.from_address(functions + 8 * i).value
        if address:
            loops.append((letters, address, ctypes.c_int64.from_address(data + 8 * i).value))
    return loops


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


VARARGS_FAST, KEYWORDS, NO_ARGUMENTS, ONE_ARGUMENT = 0x80, 0x02, 0x04, 0x08
_kept = []                                       # the definitions of methods live as long as the process


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


def builtin(name, address, flags):
    """A function of CPython that is machine code."""
    method = _Method(name.encode(), address, flags, None)
    _kept.append((method, name))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.byref(method), None, None)
