"""Matrix products by cuBLASLt: rows of ours are columns of theirs, so out = a b is asked for as out^T = b^T a^T.

source: NVIDIA, cuBLAS library, chapter "Using the cuBLASLt API"
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...common.dtype import DType
from .library_call import THE_STREAM, Call, Given, Kept, WhereGiven, host_number
from .nvidia import I, L, CudaError, Loaded

# {dtype: (CUDA's type of the elements, how is computed, CUDA's type of alpha and beta)}
TYPES = {"float32": ("CUDA_R_32F", "CUBLAS_COMPUTE_32F", "CUDA_R_32F"),
         "float64": ("CUDA_R_64F", "CUBLAS_COMPUTE_64F", "CUDA_R_64F"),
         "float16": ("CUDA_R_16F", "CUBLAS_COMPUTE_32F", "CUDA_R_32F"),
         "bfloat16": ("CUDA_R_16BF", "CUBLAS_COMPUTE_32F", "CUDA_R_32F")}
ALIGNED = 16                                                 # bytes, of every address that a Flow hands over
WORKSPACE = 32 << 20                                         # bytes: what NVIDIA advises for Hopper
RESULT = 96                                                  # bytes of a cublasLtMatmulHeuristicResult_t
ALGORITHM = 64                                               # those of them that are the algorithm


def covers(dtype: DType) -> bool:
    """Does cuBLASLt multiply matrices of a dtype?"""
    return dtype.name in TYPES


def plan_matmul(gpu: Any, lt: Loaded, sizes: tuple, keep: Callable[[Any], None], *, dtype: DType, transpose_a: bool,
                transpose_b: bool, batched: str, accumulate: bool, tf32: bool = False, epilogue: str = "") -> list[Call]:
    """The calls of a product. pointers: a, b, out, then bias; sizes: batch, m, n, k

    epilogue : "", "bias", "relu", "gelu" (by tanh), "bias+relu", "bias+gelu"
    """
    batch, m, n, k = sizes[:4]
    pointers = Given(0), Given(1), Given(2)
    if batch * m * n == 0 or k == 0 and accumulate:
        return []
    if k == 0 and not epilogue:
        return [Call("cuMemsetD8Async", (pointers[2], 0, batch * m * n * dtype.itemsize, THE_STREAM))]
    c, (element, compute, scale) = lt.constants, TYPES[dtype.name]
    compute = "CUBLAS_COMPUTE_32F_FAST_TF32" if tf32 and dtype.name == "float32" else compute

    def kept(create: str, destroy: str, *args: Any) -> int:
        made = Kept(lt, destroy, lt.asked(create, *args))
        keep(made)
        return made.handle

    def set_attribute(function: str, object_: int, name: str, kind: Any, value: int) -> None:
        held = kind(value)
        lt.call(function, object_, c[name], ctypes.byref(held), ctypes.sizeof(held))

    def layout(rows: int, columns: int, stride: int) -> int:
        made = kept("cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy", c[element], rows, columns, max(rows, 1))
        if batched != "none":
            for name, kind, value in (("BATCH_COUNT", ctypes.c_int32, batch), ("STRIDED_BATCH_OFFSET", ctypes.c_int64, stride)):
                set_attribute("cublasLtMatrixLayoutSetAttribute", made, f"CUBLASLT_MATRIX_LAYOUT_{name}", kind, value)
        return made
    product = kept("cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", c[compute], c[scale])
    for name, transposed in (("TRANSA", transpose_b), ("TRANSB", transpose_a)):
        set_attribute("cublasLtMatmulDescSetAttribute", product, f"CUBLASLT_MATMUL_DESC_{name}", ctypes.c_int32,
                      c["CUBLAS_OP_T" if transposed else "CUBLAS_OP_N"])
    if epilogue:
        steps = epilogue.upper().split("+")
        name = "_".join(["CUBLASLT_EPILOGUE", *(s for s in steps if s != "BIAS"), *(s for s in steps if s == "BIAS")])
        set_attribute("cublasLtMatmulDescSetAttribute", product, "CUBLASLT_MATMUL_DESC_EPILOGUE", ctypes.c_int32, c[name])
    left = layout(*((k, n) if transpose_b else (n, k)), n * k if batched in ("b", "both") else 0)
    right = layout(*((m, k) if transpose_a else (k, m)), m * k if batched in ("a", "both") else 0)
    out = layout(n, m, m * n)
    room = gpu.workspace(WORKSPACE)
    algorithm, algorithm_bytes = _algorithm(gpu, lt, keep, kept, set_attribute, (product, left, right, out, out))
    number = ctypes.c_double if scale == "CUDA_R_64F" else ctypes.c_float
    alpha, beta = host_number(number, 1, keep), host_number(number, int(accumulate), keep)
    calls = [Call("cublasLtMatmul", (
        gpu.library_handle(lt, "cublasLtCreate"), product, alpha, pointers[1], left, pointers[0], right, beta, pointers[2], out,
        pointers[2], out, algorithm, room, algorithm_bytes, THE_STREAM))]
    if "bias" in epilogue:                                   # its address is part of the description
        attribute = c["CUBLASLT_MATMUL_DESC_BIAS_POINTER"]
        calls.insert(0, Call("cublasLtMatmulDescSetAttribute", (product, attribute, WhereGiven(3), 8)))
    return calls


def _algorithm(gpu: Any, lt: Loaded, keep: Callable[[Any], None], kept: Callable[..., int], set_attribute: Callable[..., None],
               described: tuple) -> tuple[int, int]:
    """(the address of the algorithm that the library's heuristics put first, the bytes of room that it asks for)."""
    wants = kept("cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy")
    set_attribute("cublasLtMatmulPreferenceSetAttribute", wants, "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES", L, WORKSPACE)
    for which in "ABCD":
        set_attribute("cublasLtMatmulPreferenceSetAttribute", wants, f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{which}_BYTES",
                      ctypes.c_uint32, ALIGNED)
    found, count = (ctypes.c_uint8 * RESULT)(), I(0)
    lt.call("cublasLtMatmulAlgoGetHeuristic", gpu.library_handle(lt, "cublasLtCreate"), *described, wants, 1,
            ctypes.byref(found), ctypes.byref(count))
    if count.value == 0:
        raise CudaError("GPU: cublasLt: there is no algorithm for this product")
    keep(found)
    return ctypes.addressof(found), int.from_bytes(bytes(found[ALGORITHM:ALGORITHM + 8]), "little")
