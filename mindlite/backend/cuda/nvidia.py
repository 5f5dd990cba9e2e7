"""NVIDIA's libraries of kernels by address: where they lie, the functions that are called, and the constants.

    found = load("cublasLt")           a Loaded, None where it is not installed
    found.call("cublasLtCreate", out)  raises CudaError with the library's own name of what went wrong

Names, argument types and values are those of NVIDIA's headers; `tests/cuda/test_headers.py` compares all of them with the headers
of the wheels where those are installed. A library is taken from its wheel (`pip install nvidia-cublas`), else from where the
system's loader finds it.
"""
from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
from typing import Any

from ...common.errors import DeviceError
from ...common.once import once
from ...common.records import dataclass

I, L, P = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p     # int and enum, 64 bits, pointer
OK = 0


class CudaError(DeviceError):
    """A function of CUDA's driver or of a library of NVIDIA's has failed. Fields: number."""

    number = 0


@dataclass(frozen=True)
class Library:
    """A library of NVIDIA's. files: names, the newest first; wheels: of CUDA 13 and 12; header; status: how the names of its
    errors begin; functions: {name: arguments}; constants: {name: value}"""
    files: tuple[str, ...]
    wheels: tuple[str, str]
    header: tuple[str, ...]
    status: str
    functions: dict[str, tuple]
    constants: dict[str, int]


CUBLAS_LT = Library(
    ("libcublasLt.so.13", "libcublasLt.so.12"), ("nvidia-cublas", "nvidia-cublas-cu12"),
    ("cublasLt.h", "cublas_api.h", "library_types.h"), "CUBLAS_STATUS_",
    {
        "cublasLtCreate": (P,),
        "cublasLtMatmulDescCreate": (P, I, I),
        "cublasLtMatmulDescSetAttribute": (P, I, P, L),
        "cublasLtMatmulDescDestroy": (P,),
        "cublasLtMatrixLayoutCreate": (P, I, L, L, L),
        "cublasLtMatrixLayoutSetAttribute": (P, I, P, L),
        "cublasLtMatrixLayoutDestroy": (P,),
        "cublasLtMatmulPreferenceCreate": (P,),
        "cublasLtMatmulPreferenceSetAttribute": (P, I, P, L),
        "cublasLtMatmulPreferenceDestroy": (P,),
        "cublasLtMatmulAlgoGetHeuristic": (P, P, P, P, P, P, P, I, P, P),
        "cublasLtMatmul": (P, P, P, P, P, P, P, P, P, P, P, P, P, P, L, P),
    },
    {
        "CUBLAS_STATUS_NOT_INITIALIZED": 1, "CUBLAS_STATUS_ALLOC_FAILED": 3, "CUBLAS_STATUS_INVALID_VALUE": 7,
        "CUBLAS_STATUS_ARCH_MISMATCH": 8, "CUBLAS_STATUS_MAPPING_ERROR": 11, "CUBLAS_STATUS_EXECUTION_FAILED": 13,
        "CUBLAS_STATUS_INTERNAL_ERROR": 14, "CUBLAS_STATUS_NOT_SUPPORTED": 15, "CUBLAS_STATUS_LICENSE_ERROR": 16,
        "CUBLAS_OP_N": 0, "CUBLAS_OP_T": 1,
        "CUBLAS_COMPUTE_32F": 68, "CUBLAS_COMPUTE_32F_FAST_TF32": 77, "CUBLAS_COMPUTE_64F": 70,
        "CUDA_R_32F": 0, "CUDA_R_64F": 1, "CUDA_R_16F": 2, "CUDA_R_16BF": 14,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": 5, "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": 6,
        "CUBLASLT_MATMUL_DESC_TRANSA": 3, "CUBLASLT_MATMUL_DESC_TRANSB": 4, "CUBLASLT_MATMUL_DESC_EPILOGUE": 7,
        "CUBLASLT_MATMUL_DESC_BIAS_POINTER": 8,
        "CUBLASLT_EPILOGUE_DEFAULT": 1, "CUBLASLT_EPILOGUE_RELU": 2, "CUBLASLT_EPILOGUE_BIAS": 4,
        "CUBLASLT_EPILOGUE_RELU_BIAS": 6, "CUBLASLT_EPILOGUE_GELU": 32, "CUBLASLT_EPILOGUE_GELU_BIAS": 36,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": 1, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES": 5,
        "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES": 6, "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES": 7,
        "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES": 8,
    })

_ALGORITHM, _WORKSPACE = (P, P, P, P, P, I, P, P), (P, P, P, P, P, I, P)     # of a kind of convolution
_CONVOLUTION = (P, P, P, P, P, P, P, I, P, L, P, P, P)
CUDNN = Library(
    ("libcudnn.so.9",), ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"), ("cudnn_graph.h", "cudnn_ops.h", "cudnn_cnn.h"),
    "CUDNN_STATUS_",
    {
        "cudnnCreate": (P,),
        "cudnnSetStream": (P, P),
        "cudnnCreateTensorDescriptor": (P,),
        "cudnnSetTensor4dDescriptor": (P, I, I, I, I, I, I),
        "cudnnDestroyTensorDescriptor": (P,),
        "cudnnCreateFilterDescriptor": (P,),
        "cudnnSetFilter4dDescriptor": (P, I, I, I, I, I, I),
        "cudnnDestroyFilterDescriptor": (P,),
        "cudnnCreateConvolutionDescriptor": (P,),
        "cudnnSetConvolution2dDescriptor": (P, I, I, I, I, I, I, I, I),
        "cudnnSetConvolutionGroupCount": (P, I),
        "cudnnSetConvolutionMathType": (P, I),
        "cudnnDestroyConvolutionDescriptor": (P,),
        "cudnnGetConvolutionForwardAlgorithm_v7": _ALGORITHM,
        "cudnnGetConvolutionForwardWorkspaceSize": _WORKSPACE,
        "cudnnConvolutionForward": _CONVOLUTION,
        "cudnnGetConvolutionBackwardDataAlgorithm_v7": _ALGORITHM,
        "cudnnGetConvolutionBackwardDataWorkspaceSize": _WORKSPACE,
        "cudnnConvolutionBackwardData": _CONVOLUTION,
        "cudnnGetConvolutionBackwardFilterAlgorithm_v7": _ALGORITHM,
        "cudnnGetConvolutionBackwardFilterWorkspaceSize": _WORKSPACE,
        "cudnnConvolutionBackwardFilter": _CONVOLUTION,
    },
    {
        "CUDNN_STATUS_NOT_INITIALIZED": 1001, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH": 1002, "CUDNN_STATUS_BAD_PARAM": 2000,
        "CUDNN_STATUS_BAD_PARAM_NULL_POINTER": 2002, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER": 2003,
        "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND": 2005, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT": 2006,
        "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH": 2008, "CUDNN_STATUS_NOT_SUPPORTED": 3000,
        "CUDNN_STATUS_NOT_SUPPORTED_SHAPE": 3002, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE": 3003,
        "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH": 3007, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE": 3009,
        "CUDNN_STATUS_INTERNAL_ERROR": 4000, "CUDNN_STATUS_EXECUTION_FAILED": 5000,
        "CUDNN_DATA_FLOAT": 0, "CUDNN_DATA_DOUBLE": 1, "CUDNN_DATA_HALF": 2, "CUDNN_DATA_BFLOAT16": 9,
        "CUDNN_TENSOR_NCHW": 0, "CUDNN_CROSS_CORRELATION": 1, "CUDNN_DETERMINISTIC": 1,
        "CUDNN_DEFAULT_MATH": 0, "CUDNN_TENSOR_OP_MATH": 1, "CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION": 2, "CUDNN_FMA_MATH": 3,
    })

LIBRARIES = {"cublasLt": CUBLAS_LT, "cudnn": CUDNN}
# What is done without them.
USES = {"cublasLt": "matrix products run as our own kernels, which are slower",
        "cudnn": "convolutions run as our own kernels, which are much slower"}


class Loaded:
    """A library that is there. name: in LIBRARIES; path; addresses: {name of a function: where it is}"""

    def __init__(self, name: str, path: str, addresses: dict[str, int]) -> None:
        self.name, self.path, self.addresses = name, path, addresses
        self.constants = LIBRARIES[name].constants
        self.functions = {function: ctypes.CFUNCTYPE(I, *arguments)(addresses[function])
                          for function, arguments in LIBRARIES[name].functions.items()}

    def call(self, function: str, *args: Any) -> None:
        """Call a function. raises : CudaError"""
        status = self.functions[function](*args)
        if status != OK:
            raise self.error(status, function)

    def asked(self, function: str, *args: Any, kind: Any = P) -> Any:
        """Call a function that writes a number of a kind to its first argument; gives it."""
        out = kind()
        self.call(function, ctypes.byref(out), *args)
        return out.value

    def error(self, status: int, doing: str) -> CudaError:
        """The exception for a status that is not 0."""
        prefix = LIBRARIES[self.name].status
        named = [name for name, value in self.constants.items() if name.startswith(prefix) and value == status]
        made = CudaError(f"GPU: {self.name}: {doing}: {named[0] if named else f'status {status}'}")
        made.number = status
        return made


def places(name: str) -> list[str]:
    """Where the files of a library may be: in the wheels of this Python, then the bare names, for the system's loader."""
    spec = importlib.util.find_spec("nvidia")
    folders = [folder for base in (spec.submodule_search_locations or () if spec else ())
               for folder in sorted(glob.glob(os.path.join(base, "*", "lib")), reverse=True)]
    files = LIBRARIES[name].files
    return [path for file in files for folder in folders if os.path.exists(path := os.path.join(folder, file))] + list(files)


@once
def load(name: str) -> Loaded | None:
    """A library of this machine; None where it is not installed, or too old to have what is called."""
    for path in places(name):
        try:
            opened = ctypes.CDLL(path)
            addresses = {function: ctypes.cast(getattr(opened, function), P).value or 0 for function in LIBRARIES[name].functions}
        except (OSError, AttributeError):
            continue
        return Loaded(name, path, addresses)
    return None


def advice(name: str, version: str) -> str:
    """The line that installs a library, for a driver of a version of CUDA, "12.8"."""
    return f"pip install {LIBRARIES[name].wheels[int(version.partition('.')[0]) < 13]}"
