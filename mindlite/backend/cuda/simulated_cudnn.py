"""cuDNN's convolutions on the CPU, for the simulator: what NVIDIA's reference says, by NumPy.

The heuristics name an algorithm that failed, one that adds up in any order, one that asks for a lot of room, and then the one
that is right: who takes the first gets an error.
"""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ...common import dtype as dt
from .cudnn import WORKSPACE, Performance
from .nvidia import CUDNN
from .simulated_nvidia import Refused, SimulatedNvidia, as_tf32

_C = CUDNN.constants
_BAD, _NOT_SUPPORTED = _C["CUDNN_STATUS_BAD_PARAM"], _C["CUDNN_STATUS_NOT_SUPPORTED"]
_TYPES = {_C["CUDNN_DATA_FLOAT"]: np.dtype(np.float32), _C["CUDNN_DATA_DOUBLE"]: np.dtype(np.float64),
          _C["CUDNN_DATA_HALF"]: np.dtype(np.float16), _C["CUDNN_DATA_BFLOAT16"]: dt.bfloat16.numpy}
_ROOM = 4096                                                 # bytes that the algorithm asks for
_FAILED, _ATOMIC, _LARGE, _RIGHT = range(4)                  # numbers of algorithms


class SimulatedCudnn(SimulatedNvidia):
    """cuDNN."""
    unknown = _BAD

    def cudnnCreate(self, out):
        self.make(out, kind="handle", stream=0)

    def cudnnSetStream(self, handle, stream):
        self.the(handle)["stream"] = stream

    def cudnnCreateTensorDescriptor(self, out):
        self.make(out, kind="tensor")

    def cudnnCreateFilterDescriptor(self, out):
        self.make(out, kind="filter")

    def cudnnCreateConvolutionDescriptor(self, out):
        self.make(out, kind="convolution", groups=1, math=_C["CUDNN_DEFAULT_MATH"])

    cudnnDestroyTensorDescriptor = cudnnDestroyFilterDescriptor = cudnnDestroyConvolutionDescriptor = \
        lambda self, number: self.drop(number)

    def _shape(self, number, order, type_, *sizes):
        if order != _C["CUDNN_TENSOR_NCHW"] or type_ not in _TYPES or min(sizes) <= 0:
            raise Refused(_BAD)
        self.the(number).update(type=type_, shape=sizes)

    def cudnnSetTensor4dDescriptor(self, number, order, type_, *sizes):
        self._shape(number, order, type_, *sizes)

    def cudnnSetFilter4dDescriptor(self, number, type_, order, *sizes):
        self._shape(number, order, type_, *sizes)

    def cudnnSetConvolution2dDescriptor(self, number, *facts):
        *window, mode, compute = facts
        if mode != _C["CUDNN_CROSS_CORRELATION"] or min(window[2:]) < 1 or min(window) < 0:
            raise Refused(_BAD)
        self.the(number).update(window=window, compute=compute)

    def cudnnSetConvolutionGroupCount(self, number, groups):
        self.the(number)["groups"] = groups

    def cudnnSetConvolutionMathType(self, number, math):
        self.the(number)["math"] = math

    # -- the three kinds, each with its order of descriptors

    def _described(self, x, w, y, convolution):
        """(shapes of x, w, y, the window, groups, the dtype, facts). raises : Refused where they do not fit"""
        tensors = [self.the(number) for number in (x, w, y)]
        facts = self.the(convolution)
        if [t["kind"] for t in tensors] != ["tensor", "filter", "tensor"] or len({t["type"] for t in tensors}) != 1:
            raise Refused(_BAD)
        (n, c, h, width), (o, each, kh, kw), out = (t["shape"] for t in tensors)
        top, left, sh, sw, dh, dw = facts["window"]
        made = (n, o, (h + 2 * top - dh * (kh - 1) - 1) // sh + 1, (width + 2 * left - dw * (kw - 1) - 1) // sw + 1)
        wide = _C["CUDNN_DATA_DOUBLE" if tensors[0]["type"] == _C["CUDNN_DATA_DOUBLE"] else "CUDNN_DATA_FLOAT"]
        if made != tuple(out) or each * facts["groups"] != c or o % facts["groups"] or facts["compute"] != wide:
            raise Refused(_BAD)
        return [t["shape"] for t in tensors], facts["window"], facts["groups"], _TYPES[tensors[0]["type"]], dict(facts)

    def _advice(self, described, most, count, found):
        math = described[4]["math"]
        rows = [(_FAILED, _NOT_SUPPORTED, 0, 1), (_ATOMIC, 0, 0, 0), (_LARGE, 0, WORKSPACE + 1, 1), (_RIGHT, 0, _ROOM, 1)][:most]
        results = (Performance * len(rows)).from_address(found)
        for result, (algorithm, status, memory, determinism) in zip(results, rows):
            result.algorithm, result.status, result.memory = algorithm, status, memory
            result.determinism, result.math, result.time = determinism, math, -1.0
        ctypes.c_int.from_address(count).value = len(rows)

    def cudnnGetConvolutionForwardAlgorithm_v7(self, handle, x, w, convolution, y, most, count, found):
        self._advice(self._described(x, w, y, convolution), most, count, found)

    def cudnnGetConvolutionBackwardDataAlgorithm_v7(self, handle, w, y, convolution, x, most, count, found):
        self._advice(self._described(x, w, y, convolution), most, count, found)

    def cudnnGetConvolutionBackwardFilterAlgorithm_v7(self, handle, x, y, convolution, w, most, count, found):
        self._advice(self._described(x, w, y, convolution), most, count, found)

    def _room(self, handle, first, second, convolution, third, algorithm, nbytes):
        self.the(handle)
        if algorithm != _RIGHT:
            raise Refused(_NOT_SUPPORTED)
        ctypes.c_size_t.from_address(nbytes).value = _ROOM

    cudnnGetConvolutionForwardWorkspaceSize = cudnnGetConvolutionBackwardDataWorkspaceSize = \
        cudnnGetConvolutionBackwardFilterWorkspaceSize = _room

    def cudnnConvolutionForward(self, handle, one, x, px, w, pw, convolution, algorithm, room, nbytes, zero, y, py):
        self._run("forward", handle, one, zero, (x, w, y), (px, pw, py), convolution, algorithm, room, nbytes)

    def cudnnConvolutionBackwardData(self, handle, one, w, pw, y, py, convolution, algorithm, room, nbytes, zero, x, px):
        self._run("backward_data", handle, one, zero, (x, w, y), (px, pw, py), convolution, algorithm, room, nbytes)

    def cudnnConvolutionBackwardFilter(self, handle, one, x, px, y, py, convolution, algorithm, room, nbytes, zero, w, pw):
        self._run("backward_weights", handle, one, zero, (x, w, y), (px, pw, py), convolution, algorithm, room, nbytes)

    def _run(self, kind, handle, one, zero, numbers, pointers, convolution, algorithm, room, nbytes):
        x, w, y = numbers
        shapes, window, groups, dtype, facts = self._described(x, w, y, convolution)
        number = ctypes.c_double if dtype == np.float64 else ctypes.c_float
        if algorithm != _RIGHT or nbytes < _ROOM or (number.from_address(one).value, number.from_address(zero).value) != (1, 0):
            raise Refused(_NOT_SUPPORTED)
        self.driver.real(room, nbytes)

        def run():
            x, w, y = (self.array(p, dtype, shape, _steps(shape)) for p, shape in zip(pointers, shapes))
            wide = np.float64 if dtype == np.float64 else np.float32
            exact = dtype != np.float32 or facts["math"] == _C["CUDNN_FMA_MATH"]
            of_x, of_w, of_y = (a.astype(wide) if exact else as_tf32(a) for a in (x, w, y))
            value = convolved(kind, of_x, of_w, of_y, window, groups)
            {"forward": y, "backward_data": x, "backward_weights": w}[kind][...] = value.astype(dtype)
        self.driver.later(run, self.the(handle)["stream"])


def convolved(kind: str, x: np.ndarray, w: np.ndarray, y: np.ndarray, window: list, groups: int) -> np.ndarray:
    """The result of a convolution or a gradient of it, tap by tap. window: borders, strides, dilations of both axes"""
    top, left, sh, sw, dh, dw = window
    (n, _, h, width), (o, each, kh, kw), (oh, ow) = x.shape, w.shape, y.shape[2:]
    padded = np.zeros((n, groups, each, h + 2 * top, width + 2 * left), x.dtype)
    padded[..., top:top + h, left:left + width] = 0 if kind == "backward_data" else x.reshape(n, groups, each, h, width)
    weights = np.zeros_like(w) if kind == "backward_weights" else w
    weights, out = weights.reshape(groups, o // groups, each, kh, kw), y.reshape(n, groups, o // groups, oh, ow)
    out = np.zeros_like(out) if kind == "forward" else out
    for q in range(kh):
        for r in range(kw):
            rows, columns = slice(q * dh, q * dh + (oh - 1) * sh + 1, sh), slice(r * dw, r * dw + (ow - 1) * sw + 1, sw)
            part: Any = padded[..., rows, columns]
            if kind == "forward":
                out += np.einsum("ngcyx,goc->ngoyx", part, weights[..., q, r])
            elif kind == "backward_data":
                part += np.einsum("ngoyx,goc->ngcyx", out, weights[..., q, r])
            else:
                weights[..., q, r] = np.einsum("ngcyx,ngoyx->goc", part, out)
    if kind == "forward":
        return out.reshape(y.shape)
    return weights.reshape(w.shape) if kind == "backward_weights" else \
        padded[..., top:top + h, left:left + width].reshape(x.shape)


def _steps(shape):
    """Elements from one to the next, by axis."""
    return tuple(int(np.prod(shape[axis + 1:])) for axis in range(len(shape)))
