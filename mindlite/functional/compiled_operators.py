"""Compiled functions as Custom operators: of a library by its path, of LLVM IR, of Numba. No compiler is needed.

    extern "C" int add(int count, void **data, int *axes, int64_t **sizes, const char **dtypes, void *stream, void *extra)

is MindSpore's form of a function of C ("aot"): `count` arrays, the inputs and then the results, in C order; dtypes are names such
as "float32"; stream and extra are NULL; 0 says that it went well. LLVM IR ("llvm") defines one function of that form. A function
for Numba ("numba") takes the inputs and then the results, ndarrays that it writes into.

What such a function does with memory that is not its own is not seen by anybody: a wrong one ends the process.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.machine_code import c_address, compile_ir
from ..common import dtype as dt
from ..common.errors import ArgumentError
from ..common.lazy import LazyModule
from ..common.tensor import Tensor
from ..ops.axes import new_shape

llvm = LazyModule("llvmlite.binding")
numba = LazyModule("numba")

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 6)


def compiled_function(func: Any, func_type: str) -> Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], None]:
    """The function of (inputs, results) that `func` is.

    func   : "aot": "path:name";  "llvm": a text that defines one function;  "numba": a function, jitted or not
    raises : ArgumentError for a file, name or text that is none
    """
    if func_type == "numba":
        if not callable(func):
            raise ArgumentError(f"Custom: func is a function for Numba, not {type(func).__name__}")
        return _jitted(func if hasattr(func, "py_func") else numba.njit(func))
    if not isinstance(func, str):
        raise ArgumentError(f"Custom: func of func_type {func_type!r} is a str, not {type(func).__name__}")
    return _of_library(func) if func_type == "aot" else _of_text(func)


def _jitted(function: Callable[..., Any]) -> Callable[..., None]:
    def call(inputs: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        function(*inputs, *results)
    return call


def _of_library(place: str) -> Callable[..., None]:
    path, _, name = place.rpartition(":")
    if not path or not name:
        raise ArgumentError(f"Custom: func is 'path:name', not {place!r}")
    if not os.path.isfile(path):
        raise ArgumentError(f"Custom: there is no file {path}")
    try:
        library = ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        raise ArgumentError(f"Custom: {path} is no library that this process can load", note=str(error)) from None
    if not hasattr(library, name):
        raise ArgumentError(f"Custom: {path} has no function {name!r}")
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return _calling(name, address, library)


def _of_text(text: str) -> Callable[..., None]:
    try:
        functions = list(llvm.parse_assembly(text).functions)
    except RuntimeError as error:
        raise ArgumentError("Custom: LLVM does not read the text", note=str(error).strip()[:400]) from None
    defined = [f.name for f in functions if not f.is_declaration]
    if len(defined) != 1:
        raise ArgumentError(f"Custom: the text defines one function, not {len(defined)}", note=", ".join(defined))
    asked = [f.name for f in functions if f.is_declaration and not f.name.startswith("llvm.")]
    try:
        symbols = {name: c_address(name) for name in asked}
    except KeyError as error:
        raise ArgumentError(f"Custom: the C library has no function {error}") from None
    code = compile_ir(text, symbols, passes=2, name=defined[0])
    return _calling(defined[0], code.address(defined[0]), code)


def _calling(name: str, address: Any, owner: Any) -> Callable[..., None]:
    """The function of (inputs, results) that calls the address; what owns its code lives as long."""
    function = _SIGNATURE(address)

    def call(inputs: Sequence[np.ndarray], results: Sequence[np.ndarray], owner: Any = owner) -> None:
        arrays = [*inputs, *results]
        count = len(arrays)
        data = (ctypes.c_void_p * count)(*[a.ctypes.data for a in arrays])
        axes = (ctypes.c_int * count)(*[a.ndim for a in arrays])
        sizes = [(ctypes.c_int64 * max(a.ndim, 1))(*a.shape) for a in arrays]
        pointers = (ctypes.c_void_p * count)(*[ctypes.addressof(s) for s in sizes])
        names = [ctypes.create_string_buffer(a.dtype.name.encode()) for a in arrays]
        dtypes = (ctypes.c_void_p * count)(*[ctypes.addressof(n) for n in names])
        status = function(count, ctypes.addressof(data), ctypes.addressof(axes), ctypes.addressof(pointers),
                          ctypes.addressof(dtypes), None, None)
        if status:
            raise ArgumentError(f"Custom: {name} says that it failed: {status}",
                                note=", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays))
    return call


def results_of(compute: Callable[..., None], inputs: Sequence[Any], shapes: Any, dtypes: Any) -> Any:
    """The Tensor, or the tuple of them, that a compiled function gives.

    shapes, dtypes : of the result, or of each of several
    raises         : ArgumentError, ShapeError, DTypeError for others
    """
    several = isinstance(dtypes, (tuple, list))
    if several and not (isinstance(shapes, (tuple, list)) and len(shapes) == len(dtypes)):
        raise ArgumentError(f"Custom: out_shape holds a shape for each of {len(dtypes)} dtypes", note=repr(shapes)[:80])
    each = zip(shapes, dtypes) if several else [(shapes, dtypes)]
    arrays = [np.asarray((x if isinstance(x, Tensor) else Tensor(x)).asnumpy(), order="C") for x in inputs]
    results = [np.zeros(new_shape("Custom", shape), dt.dtype(dtype).numpy) for shape, dtype in each]
    compute(arrays, results)
    made = tuple([Tensor.wrap(result) for result in results])
    return made if several else made[0]
