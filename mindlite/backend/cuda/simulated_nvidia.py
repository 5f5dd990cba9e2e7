"""NVIDIA's libraries on the CPU, for the simulator: the functions that are called, by what NVIDIA's manuals say that they do.

    SimulatedLibrary(nvidia=("cublasLt",))          these are installed

An object is a number; what is set of it is noted. Work is done by NumPy on the simulator's memory when the queue comes to it, so
who forgets a wait reads what was there before. Matrices are in columns, as NVIDIA has them: who calls with rows in mind gets
other numbers. What NVIDIA refuses is refused: a pointer that is not aligned as was promised, too little room, an unknown object.
"""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...common import dtype as dt
from .nvidia import CUBLAS_LT, LIBRARIES, Library, Loaded

_LT = CUBLAS_LT.constants
_INVALID, _NOT_SUPPORTED = _LT["CUBLAS_STATUS_INVALID_VALUE"], _LT["CUBLAS_STATUS_NOT_SUPPORTED"]
_TYPES = {_LT["CUDA_R_32F"]: np.dtype(np.float32), _LT["CUDA_R_64F"]: np.dtype(np.float64),
          _LT["CUDA_R_16F"]: np.dtype(np.float16), _LT["CUDA_R_16BF"]: dt.bfloat16.numpy}
_ROOM = 4096                                                 # bytes that the double's algorithm asks for


class Refused(Exception):
    """A function gives a status that is not 0. Fields: number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class SimulatedNvidia:
    """One library. driver: the SimulatedLibrary in whose memory it works and whose `counts` count its calls"""

    unknown = _INVALID                                       # the status of a number that is no object's

    def __init__(self, name: str, driver: Any) -> None:
        self.name, self.driver = name, driver
        self.objects: dict[int, dict] = {}
        self.last = 0x1000
        library: Library = LIBRARIES[name]
        self._keep = {function: self._function(function, arguments) for function, arguments in library.functions.items()}
        addresses = {function: ctypes.cast(made, ctypes.c_void_p).value or 0 for function, made in self._keep.items()}
        self.loaded = Loaded(name, "simulator", addresses)

    def _function(self, name: str, arguments: tuple) -> Any:
        method = getattr(self, name)

        def called(*args: Any) -> int:
            with self.driver.lock:
                self.driver.counts[name] += 1
                try:
                    return method(*args) or 0
                except Refused as refused:
                    return refused.number
        return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(called)

    # -- objects

    def make(self, out: int, **facts: Any) -> None:
        """A new object, whose number is written to `out`."""
        self.last += 16
        self.objects[self.last] = facts
        ctypes.c_size_t.from_address(out).value = self.last

    def the(self, number: int) -> dict:
        """The facts of an object. raises : Refused for a number of none"""
        if number not in self.objects:
            raise Refused(self.unknown)
        return self.objects[number]

    def drop(self, number: int) -> None:
        """The object is destroyed."""
        if self.objects.pop(number, None) is None:
            raise Refused(self.unknown)

    def array(self, address: int, dtype: np.dtype, shape: tuple, strides: tuple) -> np.ndarray:
        """The elements at an address of a GPU. strides: in elements, not negative"""
        count = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else 0
        where = self.driver.real(address, count * dtype.itemsize)
        raw = np.ctypeslib.as_array((ctypes.c_uint8 * max(count * dtype.itemsize, 1)).from_address(where))
        return np.lib.stride_tricks.as_strided(raw[:count * dtype.itemsize].view(dtype), shape,
                                               tuple(s * dtype.itemsize for s in strides))


class SimulatedLt(SimulatedNvidia):
    """cuBLASLt."""

    def cublasLtCreate(self, out):
        self.make(out, kind="handle")

    def cublasLtMatmulDescCreate(self, out, compute, scale):
        self.make(out, kind="product", compute=compute, scale=scale)

    def cublasLtMatrixLayoutCreate(self, out, type_, rows, columns, pitch):
        self.make(out, kind="layout", type=type_, rows=rows, columns=columns, pitch=pitch)

    def cublasLtMatmulPreferenceCreate(self, out):
        self.make(out, kind="preference")

    def _set(self, number, name, value, size):
        self.the(number)[name] = int.from_bytes(ctypes.string_at(value, size), "little")

    cublasLtMatmulDescSetAttribute = cublasLtMatrixLayoutSetAttribute = cublasLtMatmulPreferenceSetAttribute = _set
    cublasLtMatmulDescDestroy = cublasLtMatrixLayoutDestroy = cublasLtMatmulPreferenceDestroy = \
        lambda self, number: self.drop(number)

    def cublasLtMatmulAlgoGetHeuristic(self, handle, product, a, b, c, d, wants, most, found, count):
        self._shapes(product, a, b, c, d)
        wanted = self.the(wants)
        aligned = [wanted.get(_LT[f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{w}_BYTES"], 256) for w in "ABCD"]
        enough = wanted.get(_LT["CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES"], 0) >= _ROOM
        ctypes.c_int.from_address(count).value = int(enough and most > 0 and self.the(handle)["kind"] == "handle")
        result = (ctypes.c_uint64 * 12).from_address(found)
        result[0], result[1], result[8] = 0xA160, max(aligned), _ROOM

    def _shapes(self, product, a, b, c, d):
        """((rows, columns, steps) of op(a) op(b), whether each is transposed). raises : Refused where they do not fit"""
        turned = [self.the(product).get(_LT[f"CUBLASLT_MATMUL_DESC_TRANS{w}"], 0) == _LT["CUBLAS_OP_T"] for w in "AB"]
        sizes = []
        for number, swap in ((a, turned[0]), (b, turned[1]), (c, False), (d, False)):
            layout = self.the(number)
            if layout["pitch"] < max(layout["rows"], 1) or layout["type"] not in _TYPES or not layout["rows"] * layout["columns"]:
                raise Refused(_INVALID)
            sizes.append((layout["rows"], layout["columns"])[::-1 if swap else 1])
        (m, k), (k2, n), of_c, of_d = sizes
        if k != k2 or of_c != (m, n) or of_d != (m, n):
            raise Refused(_INVALID)
        return (m, n, k), turned

    def cublasLtMatmul(self, handle, product, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d, algorithm, room, nbytes, stream):
        said = (ctypes.c_uint64 * 12).from_address(algorithm)
        if said[0] != 0xA160 or nbytes < _ROOM or any((p or 0) % said[1] for p in (a, b, c, d)) or not stream:
            raise Refused(_NOT_SUPPORTED)
        self.driver.real(room, nbytes)
        _, turned = self._shapes(product, of_a, of_b, of_c, of_d)
        facts = dict(self.the(product))
        layouts = [dict(self.the(number)) for number in (of_a, of_b, of_c, of_d)]
        number = ctypes.c_double if facts["scale"] == _LT["CUDA_R_64F"] else ctypes.c_float
        factor, keep = (number.from_address(p).value for p in (alpha, beta))

        def run():
            a_, b_, c_, d_ = (self._matrices(p, layout) for p, layout in zip((a, b, c, d), layouts))
            wide = np.float64 if facts["compute"] == _LT["CUBLAS_COMPUTE_64F"] else np.float32
            a_, b_ = (x.swapaxes(1, 2) if swap else x for x, swap in zip((a_, b_), turned))
            value = factor * (_rounded(a_.astype(wide), facts) @ _rounded(b_.astype(wide), facts))
            if keep:
                value = value + keep * c_.astype(wide)
            d_[:] = self._finished(value, facts, d_.dtype).astype(d_.dtype)
        return self.driver.later(run, stream)

    def _matrices(self, address, layout):
        """A stack of matrices in columns."""
        count = layout.get(_LT["CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT"], 1)
        stride = layout.get(_LT["CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET"], 0)
        return self.array(address, _TYPES[layout["type"]], (count, layout["rows"], layout["columns"]),
                          (stride, 1, layout["pitch"]))

    def _finished(self, value, facts, dtype):
        """The product with its epilogue."""
        code = facts.get(_LT["CUBLASLT_MATMUL_DESC_EPILOGUE"], _LT["CUBLASLT_EPILOGUE_DEFAULT"])
        if code & _LT["CUBLASLT_EPILOGUE_BIAS"]:
            bias = self.array(facts[_LT["CUBLASLT_MATMUL_DESC_BIAS_POINTER"]], dtype, (value.shape[1],), (1,))
            value = value + bias.astype(value.dtype)[:, None]
        if code & _LT["CUBLASLT_EPILOGUE_RELU"]:
            value = np.maximum(value, 0)
        if code & _LT["CUBLASLT_EPILOGUE_GELU"]:
            value = 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi) * (value + 0.044715 * value ** 3)))
        return value


def _rounded(x, facts):
    """x, as TensorFloat-32 where the product asks for it."""
    return as_tf32(x) if facts["compute"] == _LT["CUBLAS_COMPUTE_32F_FAST_TF32"] else x


def as_tf32(x: np.ndarray) -> np.ndarray:
    """Numbers of float32, of which TensorFloat-32 keeps 10 bits behind the point."""
    return ((x.view(np.uint32) + 0x1000) & np.uint32(0xffffe000)).view(np.float32)
