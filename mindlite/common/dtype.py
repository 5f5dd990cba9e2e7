"""Element types: MindSpore's names, NumPy's numbers, and the promotion table.

A DType prints as MindSpore prints it (`Float32`), and short in types and errors (`f32[N, C]`). A new type is a row here;
docs/design/dtypes.md says what else it takes. It has no `__name__`: the parametrised tests of MindSpore rely on that.
"""
from __future__ import annotations

from typing import Any, Union

import ml_dtypes
import numpy as np

from .annotations import Function
from .errors import DTypeError
from .records import dataclass


@dataclass(frozen=True)
class FloatFormat:
    """How a floating type lies in memory that is no IEEE type of the CPU: a sign, exponent bits, mantissa bits.

    infinite : False for a type without infinities, whose only NaN has all bits set (the OCP specification's E4M3)
    """
    exponent: int
    mantissa: int
    bias: int
    infinite: bool = True

    def __post_init__(self) -> None:
        bits = 1 + self.exponent + self.mantissa
        top = ((1 << self.exponent) - 1) << self.mantissa    # infinity, where there is one
        facts = {"bits": bits, "sign": 1 << (bits - 1), "dropped": 23 - self.mantissa}
        facts |= {"largest": top - 1, "beyond": top, "nan": top | 1 << (self.mantissa - 1)} if self.infinite else \
            {"largest": (1 << (bits - 1)) - 2, "beyond": (1 << (bits - 1)) - 1, "nan": (1 << (bits - 1)) - 1}
        for name, number in facts.items():
            object.__setattr__(self, name, number)


class DType:
    """An element type: one row of the table below; whoever handles elements reads it there.

    name, short : "float32", "f32"                     numpy : the np.dtype of arrays
    kind        : b, u, i, f, c                        bits  : of its values; an element takes itemsize bytes
    shown       : MindSpore's name for it, "Float32"   safe  : its name in safetensors, None where that has none
    computes    : name of the dtype that arithmetic on it runs in: float32 for narrower floats, int8 for int4
    format      : the FloatFormat of floats that the CPU does not know, else None
    """
    __slots__ = ("name", "short", "numpy", "kind", "bits", "shown", "safe", "computes", "format")

    def __init__(self, name: str, short: str, numpy: type, kind: str, shown: str, safe: str | None, *,
                 computes: str | None = None, format: FloatFormat | None = None, bits: int | None = None) -> None:
        self.name, self.short, self.kind, self.shown, self.safe = name, short, kind, shown, safe
        self.numpy: Any = np.dtype(numpy)
        self.bits = bits or self.numpy.itemsize * 8
        self.computes, self.format = computes or name, format

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        """True for floating types, of any width."""
        return self.kind == "f"

    @property
    def is_small(self) -> bool:
        """True for a type that arithmetic does not run in: float16, bfloat16, the 8-bit floats, int4."""
        return self.computes != self.name

    @property
    def compute(self) -> DType:
        """The dtype that arithmetic on it runs in; each result is rounded or wrapped to the type again."""
        return _BY_NAME[self.computes]

    @property
    def limits(self) -> Any:
        """The finfo or iinfo of the type: max, min, eps, .. raises : ValueError for bool"""
        return (ml_dtypes.iinfo if self.kind in "iu" else ml_dtypes.finfo)(self.numpy)

    @property
    def is_differentiable(self) -> bool:
        """True for numbers: floats, complex numbers, and integers, whose gradients are integers as MindSpore's are."""
        return self.kind != "b"

    def __repr__(self) -> str:
        return self.shown

    def __reduce__(self) -> tuple[Function, tuple[str, ...]]:
        return (dtype, (self.name,))

    def __deepcopy__(self, memo: dict) -> DType:
        return self


DTypeLike = Union[DType, str, type, np.dtype[Any]]       # what `dtype` takes

bool_ = DType("bool", "bool", np.bool_, "b", "Bool", "BOOL")
uint8 = DType("uint8", "u8", np.uint8, "u", "UInt8", "U8")
uint16 = DType("uint16", "u16", np.uint16, "u", "UInt16", "U16")
uint32 = DType("uint32", "u32", np.uint32, "u", "UInt32", "U32")
uint64 = DType("uint64", "u64", np.uint64, "u", "UInt64", "U64")
int4 = DType("int4", "i4", ml_dtypes.int4, "i", "Int4", None, computes="int8", bits=4)
int8 = DType("int8", "i8", np.int8, "i", "Int8", "I8")
int16 = DType("int16", "i16", np.int16, "i", "Int16", "I16")
int32 = DType("int32", "i32", np.int32, "i", "Int32", "I32")
int64 = DType("int64", "i64", np.int64, "i", "Int64", "I64")
float8_e4m3fn = DType("float8_e4m3fn", "f8e4m3", ml_dtypes.float8_e4m3fn, "f", "Float8E4M3FN", "F8_E4M3",
                      computes="float32", format=FloatFormat(4, 3, 7, infinite=False))
float8_e5m2 = DType("float8_e5m2", "f8e5m2", ml_dtypes.float8_e5m2, "f", "Float8E5M2", "F8_E5M2",
                    computes="float32", format=FloatFormat(5, 2, 15))
float16 = DType("float16", "f16", np.float16, "f", "Float16", "F16", computes="float32")
bfloat16 = DType("bfloat16", "bf16", ml_dtypes.bfloat16, "f", "BFloat16", "BF16", computes="float32",
                 format=FloatFormat(8, 7, 127))
float32 = DType("float32", "f32", np.float32, "f", "Float32", "F32")
float64 = DType("float64", "f64", np.float64, "f", "Float64", "F64")
complex64 = DType("complex64", "c64", np.complex64, "c", "Complex64", "C64")
complex128 = DType("complex128", "c128", np.complex128, "c", "Complex128", None)

ALL: tuple[DType, ...] = (bool_, uint8, uint16, uint32, uint64, int4, int8, int16, int32, int64, float8_e4m3fn, float8_e5m2,
       float16, bfloat16, float32, float64, complex64, complex128)
_BY_NUMPY = {d.numpy: d for d in ALL}
_BY_NAME = {d.name: d for d in ALL} | {d.short: d for d in ALL} | {"bool_": bool_, "float8_e4m3": float8_e4m3fn}
_BY_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex64}


def dtype(spec: Any) -> DType:
    """The DType that `spec` names: a DType, "float32", "f32", np.float32, np.dtype, or Python's bool/int/float/complex.

    raises : DTypeError if there is none.
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str):
        found = _BY_NAME.get(spec.lower())
    elif isinstance(spec, type) and spec in _BY_PYTHON:
        found = _BY_PYTHON[spec]
    elif spec is None:
        found = None                                        # np.dtype(None) is float64
    else:
        try:
            found = _BY_NUMPY.get(np.dtype(spec))
        except TypeError:
            found = None
    if found is None:
        raise DTypeError(f"{spec!r} is no dtype", hint="one of " + ", ".join(d.name for d in ALL))
    return found


def dtype_to_nptype(type_: DType) -> Any:
    """The NumPy scalar type of a DType: float32 -> numpy.float32."""
    return dtype(type_).numpy.type


def get_py_obj_dtype(obj: Any) -> Any:
    """The DType of a Python or NumPy number or of a Tensor: 1 -> int64, 1.5 -> float64. raises : DTypeError for what is none"""
    if isinstance(getattr(obj, "dtype", None), (DType, np.dtype)):
        return dtype(obj.dtype)
    if not isinstance(obj, (bool, int, float, complex)):
        raise DTypeError(f"get_py_obj_dtype: a number or a Tensor is wanted, not {type(obj).__name__}")
    return complex128 if isinstance(obj, complex) else pytype_to_dtype(type(obj))


def dtype_to_pytype(type_: DType) -> type:
    """The Python type of a DType's kind: float32 -> float."""
    return {"b": bool, "u": int, "i": int, "f": float, "c": complex}[dtype(type_).kind]


def pytype_to_dtype(obj: Any) -> DType:
    """The DType of a Python or NumPy type: int -> int64, float -> float64 (as MindSpore says it), bool -> bool_."""
    return {int: int64, float: float64, bool: bool_}.get(obj) or dtype(obj)


def type_id_to_type(spec: Any) -> DType:
    """The DType itself: types have no separate numbers here."""
    return dtype(spec)


def promote(a: DType, b: DType) -> DType:
    """The dtype of `a + b` for tensors: the smallest that holds both (MindSpore 2.x's implicit conversion).

    Signed with unsigned goes to the next wider signed; uint64 with a signed type to float32; integers with floats to
    the float; float16 with bfloat16 to float32; complex wins over all.
    """
    if a is b:
        return a
    return _promote(a, b)


def _promote(a: DType, b: DType) -> DType:
    order = "buifc"
    if order.index(a.kind) > order.index(b.kind):
        a, b = b, a
    if a.kind == b.kind:
        if a.bits == b.bits:                        # float16 and bfloat16; the two 8-bit floats
            return float32
        return a if a.bits > b.bits else b
    if b.kind == "c":
        return complex128 if a is float64 else b
    if b.kind == "i" and a.kind == "u":
        if b.bits > a.bits:
            return b
        return {8: int16, 16: int32, 32: int64}.get(a.bits, float32)
    return b


def promote_scalar(tensor_dtype: DType, value: Any) -> DType:
    """The dtype of `tensor op python scalar`: the tensor's own, unless the scalar's kind is higher.

    bool tensor with int: int64; integer tensor with float: float32; float with complex: complex64 or complex128.
    """
    rank = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    kind = 0 if isinstance(value, (bool, np.bool_)) else 1 if isinstance(value, (int, np.integer)) else \
        3 if isinstance(value, complex) else 2
    if kind <= rank[tensor_dtype.kind]:
        return tensor_dtype
    if kind == 3:
        return complex128 if tensor_dtype is float64 else complex64
    return {1: int64, 2: float32}[kind]
