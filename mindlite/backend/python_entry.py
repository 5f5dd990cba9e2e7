"""From a Python call to machine code without ctypes: a builtin function of CPython, made of LLVM IR.

    call = Entry(plan).call;  call(x, y, out)    ->  data pointers into the context, then the Flow's `run(context)`

Reading an address through `array.ctypes` costs 0.5 us an array, calling through ctypes 0.2 us and more; here both take
some 20 ns, because the code reads the fields of ndarray objects themselves. Where those lie is tried on a real array
and a real Tensor first: a Python or NumPy that lays its objects out otherwise gets `available() == False`.

A *plan* is a vector of int64:

    0 address of i64 run(ptr)   1 address of the context   2 how many arguments   3 how many items
    4 the class ndarray   5... items of WIDTH

and an item says where a pointer comes from and where it goes:

    0 kind   1 number of the argument, or address of the object   2 its class   3 descr   4 ndim   5 sizes   6 place

Kinds: TENSOR, an argument whose `array` is looked at; HELD, a Tensor that is known beforehand (a Parameter); ARRAY, an
argument that is an ndarray. The items are checked against type, descr, ndim, sizes and contiguity before anything runs.
"""
import ctypes
import functools
import platform
import re
import sys

import numpy as np

from ..common.tensor import Tensor
from .machine_code import compile_ir

TENSOR, HELD, ARRAY = 0, 1, 2
HEAD, WIDTH = 5, 7
MISFIT = -1                  # returned when the arguments are not what the plan expects: nothing has run

_API = ("PyLong_AsVoidPtr", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef",
        "Py_DecRef")
_FASTCALL = 0x80
_TEXT = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define ptr @enter(ptr %self, ptr %args, i64 %count) {
entry:
  %plan = call ptr @PyLong_AsVoidPtr(ptr %self)
  %context.p = getelementptr i64, ptr %plan, i64 1
  %wanted.p = getelementptr i64, ptr %plan, i64 2
  %items.p = getelementptr i64, ptr %plan, i64 3
  %run = load ptr, ptr %plan
  %context = load ptr, ptr %context.p
  %wanted = load i64, ptr %wanted.p
  %items = load i64, ptr %items.p
  %ndarray.p = getelementptr i64, ptr %plan, i64 4
  %ndarray = load i64, ptr %ndarray.p
  %arrays = alloca ptr, i64 %items
  %fits = icmp eq i64 %wanted, %count
  br i1 %fits, label %head, label %misfit
head:
  %n = phi i64 [0, %entry], [%next, %place]
  %more = icmp ult i64 %n, %items
  br i1 %more, label %item, label %go
item:
  %offset = mul i64 %n, WIDTH
  %start = add i64 %offset, HEAD
  %item.p = getelementptr i64, ptr %plan, i64 %start
  %kind = load i64, ptr %item.p
  %source.p = getelementptr i64, ptr %item.p, i64 1
  %source = load i64, ptr %source.p
  %held = icmp eq i64 %kind, 1
  br i1 %held, label %known, label %given
known:
  %object.k = inttoptr i64 %source to ptr
  br label %typed
given:
  %object.p = getelementptr ptr, ptr %args, i64 %source
  %object.g = load ptr, ptr %object.p
  br label %typed
typed:
  %object = phi ptr [%object.k, %known], [%object.g, %given]
  %type.p = getelementptr i8, ptr %object, i64 TYPE
  %type = load i64, ptr %type.p
  %type.w = getelementptr i64, ptr %item.p, i64 2
  %type.wanted = load i64, ptr %type.w
  %same.type = icmp eq i64 %type, %type.wanted
  br i1 %same.type, label %open, label %misfit
open:
  %bare = icmp eq i64 %kind, 2
  br i1 %bare, label %array, label %slot
slot:
  %slot.p = getelementptr i8, ptr %object, i64 SLOT
  %inside = load ptr, ptr %slot.p
  %empty = icmp eq ptr %inside, null
  br i1 %empty, label %misfit, label %inside.type
inside.type:
  %inside.p = getelementptr i8, ptr %inside, i64 TYPE
  %inside.t = load i64, ptr %inside.p
  %is.array = icmp eq i64 %inside.t, %ndarray
  br i1 %is.array, label %array, label %misfit
array:
  %a = phi ptr [%object, %open], [%inside, %inside.type]
  %descr.p = getelementptr i8, ptr %a, i64 DESCR
  %descr = load i64, ptr %descr.p
  %descr.w = getelementptr i64, ptr %item.p, i64 3
  %descr.wanted = load i64, ptr %descr.w
  %same.descr = icmp eq i64 %descr, %descr.wanted
  br i1 %same.descr, label %rank, label %misfit
rank:
  %ndim.p = getelementptr i8, ptr %a, i64 NDIM
  %ndim.32 = load i32, ptr %ndim.p
  %ndim = sext i32 %ndim.32 to i64
  %ndim.w = getelementptr i64, ptr %item.p, i64 4
  %ndim.wanted = load i64, ptr %ndim.w
  %same.ndim = icmp eq i64 %ndim, %ndim.wanted
  br i1 %same.ndim, label %flags, label %misfit
flags:
  %flags.p = getelementptr i8, ptr %a, i64 FLAGS
  %flags.v = load i32, ptr %flags.p
  %contiguous = and i32 %flags.v, 257
  %is.plain = icmp eq i32 %contiguous, 257
  br i1 %is.plain, label %sizes, label %misfit
sizes:
  %sizes.p = getelementptr i8, ptr %a, i64 SIZES
  %have = load ptr, ptr %sizes.p
  %want.p = getelementptr i64, ptr %item.p, i64 5
  %want = load ptr, ptr %want.p
  br label %axis
axis:
  %i = phi i64 [0, %sizes], [%i1, %equal]
  %over = icmp eq i64 %i, %ndim
  br i1 %over, label %place, label %compare
compare:
  %have.p = getelementptr i64, ptr %have, i64 %i
  %have.i = load i64, ptr %have.p
  %wanted.i.p = getelementptr i64, ptr %want, i64 %i
  %want.i = load i64, ptr %wanted.i.p
  %same.size = icmp eq i64 %have.i, %want.i
  %i1 = add i64 %i, 1
  br i1 %same.size, label %equal, label %misfit
equal:
  br label %axis
place:
  %data.p = getelementptr i8, ptr %a, i64 DATA
  %data = load i64, ptr %data.p
  %place.w = getelementptr i64, ptr %item.p, i64 6
  %place.n = load i64, ptr %place.w
  %target = getelementptr i64, ptr %context, i64 %place.n
  store i64 %data, ptr %target
  %array.p = getelementptr ptr, ptr %arrays, i64 %n
  store ptr %a, ptr %array.p
  %next = add i64 %n, 1
  br label %head
go:                                            ; the arrays live until the run ends, whatever other threads do
  br label %hold
hold:
  %h = phi i64 [0, %go], [%h1, %holding]
  %all.held = icmp eq i64 %h, %items
  br i1 %all.held, label %call, label %holding
holding:
  %held.p = getelementptr ptr, ptr %arrays, i64 %h
  %held.a = load ptr, ptr %held.p
  call void @Py_IncRef(ptr %held.a)
  %h1 = add i64 %h, 1
  br label %hold
call:
  %thread = call ptr @PyEval_SaveThread()
  %status = call i64 %run(ptr %context)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %release
release:
  %r = phi i64 [0, %call], [%r1, %releasing]
  %all.free = icmp eq i64 %r, %items
  br i1 %all.free, label %done, label %releasing
releasing:
  %free.p = getelementptr ptr, ptr %arrays, i64 %r
  %free.a = load ptr, ptr %free.p
  call void @Py_DecRef(ptr %free.a)
  %r1 = add i64 %r, 1
  br label %release
done:
  %result = call ptr @PyLong_FromLong(i64 %status)
  ret ptr %result
misfit:
  %no = call ptr @PyLong_FromLong(i64 MISFIT)
  ret ptr %no
}
"""


class _Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


def _words(thing, count):
    return list((ctypes.c_int64 * count).from_address(id(thing)))


@functools.lru_cache(maxsize=None)
def _layout():
    """Offsets in bytes: where objects hold what the code reads; None where CPython 3.10 to 3.13 has them elsewhere."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    if platform.python_implementation() != "CPython" or not has_lock:
        return None
    if ctypes.sizeof(ctypes.c_void_p) != 8 or ctypes.sizeof(ctypes.c_long) != 8:
        return None
    head = object.__basicsize__
    array = np.zeros((3, 5), np.float32)
    tensor = Tensor.wrap(array)
    inside = _words(tensor, Tensor.__basicsize__ // 8)
    fields = _words(array, np.ndarray.__basicsize__ // 8)
    start = head // 8
    sizes = (ctypes.c_int64 * 2).from_address(fields[start + 2])
    flags = ctypes.c_int32.from_address(id(array) + head + 48).value
    strided = ctypes.c_int32.from_address(id(array[:, ::2]) + head + 48).value
    as_expected = (inside.count(id(array)) == 1 and _words(tensor, start)[-1] == id(Tensor)
                   and fields[start] == array.ctypes.data and fields[start + 1] & 0xffffffff == 2
                   and tuple(sizes) == (3, 5) and fields[start + 5] == id(array.dtype)
                   and flags & 257 == 257 and not strided & 1)
    if not as_expected:
        return None
    return {"TYPE": head - 8, "SLOT": 8 * inside.index(id(array)), "DATA": head, "NDIM": head + 8, "SIZES": head + 16,
            "DESCR": head + 40, "FLAGS": head + 48}


@functools.lru_cache(maxsize=None)
def _code():
    text = _TEXT
    for word, number in {**_layout(), "WIDTH": WIDTH, "HEAD": HEAD, "MISFIT": MISFIT}.items():
        text = re.sub(rf"\b{word}\b", str(number), text)
    symbols = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _API}
    return compile_ir(text, symbols, passes=1, keep=True, name="python_entry")


def available():
    """True where calls may go this way: CPython with its lock, 64 bits, objects laid out as expected."""
    return _layout() is not None


def item(kind, source, owner, dtype, shape, place):
    """(the numbers of an item, what must be kept): the pointer of such an array goes to `place` of the context.

    source : the number of the argument, or for HELD the Tensor     owner : the class of the object
    dtype, shape : of the array, as NumPy has them
    """
    sizes = np.array(shape or (0,), np.int64)
    number = id(source) if kind == HELD else source
    return [kind, number, id(owner), id(dtype), len(shape), sizes.ctypes.data, place], (sizes, dtype, owner, source)


class Entry:
    """A plan with its builtin: `call(*args)` is 0, another status of the Flow, or MISFIT.

    run, context : addresses of the code and of its context
    count, items : how many arguments it takes, and what `item` made
    """

    def __init__(self, run, context, count, items):
        flat = [number for numbers, _ in items for number in numbers]
        self.plan = np.array([run, context, count, len(items), id(np.ndarray), *flat], np.int64)
        self.keep = [kept for _, kept in items], _code()
        self.code_address, self.number = _code().address("enter"), int(self.plan.ctypes.data)
        self.method = _Method(b"run", self.code_address, _FASTCALL, None)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p)(
            ("PyCFunction_NewEx", ctypes.pythonapi))
        self.call = make(ctypes.byref(self.method), self.number, None)
