"""Convolutions by cuDNN: its functions of NCHW tensors, with the algorithm that its heuristics put first.

    plan_convolution(gpu, cudnn, sizes, keep, dtype=float32, kind="forward")   ->   [Call("cudnnConvolutionForward", ..)]

What is decided once for each tuple of sizes: descriptors, the algorithm, its room. cuDNN 9 has these functions beside its graph
API and marks them as deprecated; they need no more than a wheel.

source: NVIDIA, cuDNN API reference, "cudnn_cnn Library"
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from ...common.dtype import DType
from ..cpu.convolution import output_sizes
from .library_call import THE_STREAM, Call, Given, Kept, host_number
from .nvidia import CudaError, I, L, Loaded

# {dtype: (cuDNN's type of the elements, in which type it computes)}
TYPES = {"float32": ("CUDNN_DATA_FLOAT", "CUDNN_DATA_FLOAT"), "float64": ("CUDNN_DATA_DOUBLE", "CUDNN_DATA_DOUBLE"),
         "float16": ("CUDNN_DATA_HALF", "CUDNN_DATA_FLOAT"), "bfloat16": ("CUDNN_DATA_BFLOAT16", "CUDNN_DATA_FLOAT")}
WORKSPACE = 256 << 20                                        # bytes that an algorithm may ask for
MOST = 16                                                    # algorithms that the heuristics are asked for


class Performance(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t, and those of the gradients, which are the same."""
    _fields_ = [("algorithm", I), ("status", I), ("time", ctypes.c_float), ("memory", L), ("determinism", I), ("math", I),
                ("reserved", I * 3)]


class Functions(NamedTuple):
    """The functions of a kind of convolution, and which of x (0), w (1), y (2) its left, right and result are."""
    heuristics: str
    workspace: str
    run: str
    arrays: tuple[int, int, int]


KINDS = {
    "forward": Functions("cudnnGetConvolutionForwardAlgorithm_v7", "cudnnGetConvolutionForwardWorkspaceSize",
                         "cudnnConvolutionForward", (0, 1, 2)),
    "backward_data": Functions("cudnnGetConvolutionBackwardDataAlgorithm_v7", "cudnnGetConvolutionBackwardDataWorkspaceSize",
                               "cudnnConvolutionBackwardData", (2, 1, 0)),
    "backward_weights": Functions("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                                  "cudnnGetConvolutionBackwardFilterWorkspaceSize", "cudnnConvolutionBackwardFilter", (0, 2, 1))}


def covers(dtype: DType, sizes: tuple) -> bool:
    """Has cuDNN this convolution? Its borders are as wide at the end of an axis as at its beginning."""
    top, bottom, left, right = sizes[9:13]
    return dtype.name in TYPES and all(isinstance(size, int) for size in sizes[9:13]) and (top, left) == (bottom, right)


def plan_convolution(gpu: Any, cudnn: Loaded, sizes: tuple, keep: Callable[[Any], None], *, dtype: DType, kind: str,
                     tf32: bool = False, deterministic: bool = True) -> list[Call]:
    """The calls of a convolution. pointers: left, right, out; sizes: the 16 of `convolution.SIZES`

    tf32          : products of float32 may round their operands to 10 bits
    deterministic : only algorithms that give the same bits each time
    raises        : CudaError where no algorithm fits
    """
    n, c, h, w, o, kh, kw, sh, sw, top, _, left, _, dh, dw, g = sizes[:16]
    shapes = (n, c, h, w), (o, c // max(g, 1), kh, kw), (n, o, *output_sizes(sizes[:16]))
    counts = [a * b * d * e for a, b, d, e in shapes]
    functions = KINDS[kind]
    result = functions.arrays[2]
    if counts[result] == 0:
        return []
    if min(counts) == 0:                                     # a sum of nothing
        return [Call("cuMemsetD8Async", (Given(2), 0, counts[result] * dtype.itemsize, THE_STREAM))]
    constants, (element, compute) = cudnn.constants, TYPES[dtype.name]

    def made(what: str, name: str, *args: int) -> int:
        handle = Kept(cudnn, f"cudnnDestroy{what}Descriptor", cudnn.asked(f"cudnnCreate{what}Descriptor"))
        keep(handle)
        cudnn.call(f"cudnnSet{name}Descriptor", handle.handle, *args)
        return handle.handle
    order = constants["CUDNN_TENSOR_NCHW"]
    described = (made("Tensor", "Tensor4d", order, constants[element], *shapes[0]),
                 made("Filter", "Filter4d", constants[element], order, *shapes[1]),
                 made("Tensor", "Tensor4d", order, constants[element], *shapes[2]))
    convolution = made("Convolution", "Convolution2d", top, left, sh, sw, dh, dw, constants["CUDNN_CROSS_CORRELATION"],
                       constants[compute])
    cudnn.call("cudnnSetConvolutionGroupCount", convolution, g)
    exact = dtype.name == "float64" or dtype.name == "float32" and not tf32
    math = "CUDNN_FMA_MATH" if exact else "CUDNN_DEFAULT_MATH" if dtype.name == "float32" else "CUDNN_TENSOR_OP_MATH"
    cudnn.call("cudnnSetConvolutionMathType", convolution, constants[math])
    handle = gpu.library_handle(cudnn, "cudnnCreate", "cudnnSetStream")
    first, second, third = (described[number] for number in functions.arrays)
    if kind == "backward_data":                              # the filter comes first
        first, second = second, first
    asked = handle, first, second, convolution, third
    algorithm = _algorithm(cudnn, functions, asked, exact, deterministic)
    nbytes = ctypes.c_size_t()
    cudnn.call(functions.workspace, *asked, algorithm, ctypes.byref(nbytes))
    room = gpu.workspace(nbytes.value) if nbytes.value else 0
    number = ctypes.c_double if dtype.name == "float64" else ctypes.c_float
    one, zero = host_number(number, 1, keep), host_number(number, 0, keep)
    pointers = [Given(1), Given(0)] if kind == "backward_data" else [Given(0), Given(1)]
    return [Call(functions.run, (handle, one, first, pointers[0], second, pointers[1], convolution, algorithm, room, nbytes.value,
                                 zero, third, Given(2)))]


def _algorithm(cudnn: Loaded, functions: Functions, asked: tuple, exact: bool, deterministic: bool) -> int:
    """The first algorithm of the heuristics that works, fits and computes as it was asked for. raises : CudaError"""
    constants, found, count = cudnn.constants, (Performance * MOST)(), I(0)
    cudnn.call(functions.heuristics, *asked, MOST, ctypes.byref(count), ctypes.byref(found))
    rounding = constants["CUDNN_TENSOR_OP_MATH"], constants["CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION"]
    for one in found[:count.value]:
        if one.status == 0 and one.memory <= WORKSPACE and not (exact and one.math in rounding) and (
                not deterministic or one.determinism == constants["CUDNN_DETERMINISTIC"]):
            return int(one.algorithm)
    raise CudaError("GPU: cudnn: there is no algorithm for this convolution")
