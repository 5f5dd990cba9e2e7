"""Complex numbers: their parts, conjugate and angle.

The gradient of a real L by z = x + iy is dL/dx + i dL/dy (the convention of torch and TensorFlow: conjugate Wirtinger,
Kreutz-Delgado 2009), so that gradient descent is z - lr * grad. In graphs, kernels compute with pairs of their parts
(graph_kernel/pairs.py); eager mode uses NumPy.
"""
from __future__ import annotations

import numpy as np

from ..common import dtype as dt
from ..common.errors import DTypeError, ShapeError
from ..common.tensor import Tensor, TensorLike
from ..mindir.abstract import AbstractTensor
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, planned, primitive, vmap_rule
from .basic import cast, move_batch_axis, sum_to
from .creation import zeros_like
from .define import as_operand, dtype_of, elementwise, is_array, same_shape_tangent, to_float
from .elementary import atan2, cos, sin
from .sbp import letters, sbp_rule
from .structure import stack


def part_dtype(dtype):
    """The float type of the parts of a complex type; others stay."""
    return {dt.complex64: dt.float32, dt.complex128: dt.float64}.get(dtype, dtype)


def _whole_dtype(dtype):
    return dt.complex128 if dtype is dt.float64 else dt.complex64


@elementwise(scalar=None, array=np.real, accepts="c", out_dtype=part_dtype, kernel=False, name="real", sbp_linear=[{0}])
def real_part(input):
    """The real part of complex numbers."""


@elementwise(scalar=None, array=np.imag, accepts="c", out_dtype=part_dtype, kernel=False, name="imag", sbp_linear=[{0}])
def imaginary_part(input):
    """The imaginary part of complex numbers."""


@elementwise(scalar=None, array=np.conj, accepts="buifc", kernel=False, sbp_linear=[{0}])
def conj(input: TensorLike):
    """The complex conjugate; real numbers stay."""


def _parts_prepare(args, attrs):
    dtypes = {dtype_of(x) for x in args if is_array(x)}
    if len(dtypes) > 1 or any(dtype.kind != "f" for dtype in dtypes):
        raise DTypeError("complex: the parts are floats of one dtype", note=", ".join(sorted(d.name for d in dtypes)))
    if any(dtype.is_small for dtype in dtypes):
        args = tuple(cast(x, dtype=dt.float32) if is_array(x) else x for x in args)
    return to_float(args, attrs)


def _joined(x, y):
    """The complex numbers of these parts: x + 1j * y would make nan of an infinity's other part."""
    x, y = np.broadcast_arrays(x, y)
    out = np.empty(x.shape, np.complex128 if x.dtype == np.float64 else np.complex64)
    out.real, out.imag = x, y
    return out


@elementwise(scalar=None, array=_joined, accepts="f", out_dtype=_whole_dtype, kernel=False,
             prepare=_parts_prepare, name="complex", sbp_linear=[{0, 1}])
def make_complex(input: TensorLike, other: TensorLike):
    """input + i other, of two floats of one dtype, or one and a number; halves count as float32.

    raises : DTypeError for integers and two dtypes
    """


@primitive(traits={"view"})
def as_pairs(z):
    """The memory of z : complex[..] as its parts: float[.., 2]."""


@primitive(traits={"view"})
def as_complex(x):
    """The memory of x : float32 or float64 [.., 2] as complex[..]."""


@infer_rule(as_pairs)
def as_pairs_infer(z):
    if z.dtype.kind != "c":
        raise DTypeError("as_pairs: takes complex numbers", note=f"z: {z}")
    return AbstractTensor(part_dtype(z.dtype), (*z.shape, 2))


@infer_rule(as_complex)
def as_complex_infer(x):
    if x.dtype not in (dt.float32, dt.float64) or not x.shape:
        raise DTypeError("as_complex: takes pairs of float32 or float64", note=f"x: {x}")
    require("==", x.shape[-1], 2, lambda: ShapeError("as_complex: the last axis has two numbers", note=f"x: {x}"))
    return AbstractTensor(_whole_dtype(x.dtype), x.shape[:-1])


@eval_rule(as_pairs)
def as_pairs_eval(z):
    z = np.ascontiguousarray(z).reshape(z.shape)
    return z[..., None].view(z.real.dtype)


@eval_rule(as_complex)
def as_complex_eval(x):
    return np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))[..., 0]


bprop_rule(as_pairs)(lambda z, out, dout: as_complex(dout))
bprop_rule(as_complex)(lambda x, out, dout: as_pairs(dout))
jvp_rule(as_pairs)(lambda primals, tangents, out: as_pairs(tangents[0]))
jvp_rule(as_complex)(lambda primals, tangents, out: as_complex(tangents[0]))
vmap_rule(as_pairs)(lambda args, dims, size: (as_pairs(move_batch_axis(args[0], dims[0])), 0))
vmap_rule(as_complex)(lambda args, dims, size: (as_complex(move_batch_axis(args[0], dims[0])), 0))


def _pairs_spec(z):
    names = letters(len(z.shape))
    return f"{names}->{names}_"


def _complex_spec(x):
    names = letters(len(x.shape) - 1)
    return f"{names}_->{names}"


sbp_rule(as_pairs, _pairs_spec, linear=[{0}])
sbp_rule(as_complex, _complex_spec, linear=[{0}])


@bprop_rule(real_part)
def real_bprop(input, out, dout):
    return make_complex(dout, 0)


@bprop_rule(imaginary_part)
def imag_bprop(input, out, dout):
    return make_complex(0, dout)


@bprop_rule(conj)
def conj_bprop(input, out, dout):
    return conj(dout) if out.dtype.is_differentiable else None


@bprop_rule(make_complex)
def complex_bprop(input, other, out, dout):
    return sum_to(real_part(dout), input.shape), sum_to(imaginary_part(dout), other.shape)


jvp_rule(real_part)(lambda primals, tangents, out: real_part(tangents[0]))
jvp_rule(imaginary_part)(lambda primals, tangents, out: imaginary_part(tangents[0]))
jvp_rule(conj)(lambda primals, tangents, out: conj(tangents[0]))


@jvp_rule(make_complex)
def complex_jvp(primals, tangents, out):
    dx, dy = (0 if t is None else t for t in tangents)
    return same_shape_tangent(make_complex(dx, dy), out) if is_array(dx) or is_array(dy) else None


def real(input: Tensor) -> Tensor:
    """The real part.

    input : Tensor or number of any dtype; a real one is given as it is
    out   : float32 of complex64, float64 of complex128
    """
    input = as_operand(input)
    return real_part(input) if dtype_of(input).kind == "c" else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part.

    input  : Tensor or number, of any dtype and shape
    out    : float32 for complex64, float64 for complex128; zeros like input for real numbers
    """
    input = as_operand(input)
    return imaginary_part(input) if dtype_of(input).kind == "c" else zeros_like(input)


@planned
def angle(input: TensorLike) -> Tensor:
    """The angle of each number in the complex plane, atan2(imag, real).

    input  : Tensor or number, of any dtype and shape
    out    : float of input's shape, in (-pi, pi]; of real numbers 0, or pi for negative ones, NaN for NaN
    """
    input = as_operand(input)
    return atan2(imaginary_part(input), real_part(input)) if dtype_of(input).kind == "c" else atan2(0, input)


@planned
def polar(abs: TensorLike, angle: TensorLike) -> Tensor:
    """The complex numbers abs (cos(angle) + i sin(angle)).

    abs, angle : floats of one dtype; they broadcast
    raises     : DTypeError for integers and two dtypes
    """
    abs, angle = _parts_prepare((as_operand(abs), as_operand(angle)), {})[0]
    return make_complex(abs * cos(angle), abs * sin(angle))


def view_as_real(input: TensorLike) -> Tensor:
    """The parts of complex numbers along a new last axis.

    input  : complex Tensor [..]
    out    : float32 or float64 [.., 2]: the real and the imaginary part
    raises : DTypeError for real numbers
    """
    return stack([real_part(input), imaginary_part(input)], -1)
