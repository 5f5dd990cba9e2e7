"""Element types: MindSpore's names, NumPy's numbers, and the promotion table.

A DType prints as MindSpore prints it (`Float32`), and short in types and errors (`f32[N, C]`).
It has no `__name__`: the parametrised tests of MindSpore rely on that.
"""
import ml_dtypes
import numpy as np

from .errors import DTypeError


class DType:
    """An element type. Fields: name ("float32"), short ("f32"), numpy (np.dtype), kind (b, u, i, f, c), bits."""
    __slots__ = ("name", "short", "numpy", "kind", "bits")

    def __init__(self, name, short, numpy, kind):
        self.name, self.short, self.kind = name, short, kind
        self.numpy = np.dtype(numpy)
        self.bits = self.numpy.itemsize * 8

    @property
    def itemsize(self):
        """Bytes of one element."""
        return self.numpy.itemsize

    @property
    def is_float(self):
        """True for float16, bfloat16, float32, float64."""
        return self.kind == "f"

    @property
    def is_differentiable(self):
        """True for numbers: floats, complex numbers, and integers, whose gradients are integers as MindSpore's are."""
        return self.kind != "b"

    def __repr__(self):
        return {"bfloat16": "BFloat16", "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32",
                "uint64": "UInt64"}.get(self.name, self.name.rstrip("_").capitalize())

    def __reduce__(self):
        return (dtype, (self.name,))

    def __deepcopy__(self, memo):
        return self


bool_ = DType("bool", "bool", np.bool_, "b")
uint8 = DType("uint8", "u8", np.uint8, "u")
uint16 = DType("uint16", "u16", np.uint16, "u")
uint32 = DType("uint32", "u32", np.uint32, "u")
uint64 = DType("uint64", "u64", np.uint64, "u")
int8 = DType("int8", "i8", np.int8, "i")
int16 = DType("int16", "i16", np.int16, "i")
int32 = DType("int32", "i32", np.int32, "i")
int64 = DType("int64", "i64", np.int64, "i")
float16 = DType("float16", "f16", np.float16, "f")
bfloat16 = DType("bfloat16", "bf16", ml_dtypes.bfloat16, "f")
float32 = DType("float32", "f32", np.float32, "f")
float64 = DType("float64", "f64", np.float64, "f")
complex64 = DType("complex64", "c64", np.complex64, "c")
complex128 = DType("complex128", "c128", np.complex128, "c")

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
       float16, bfloat16, float32, float64, complex64, complex128)
_BY_NUMPY = {d.numpy: d for d in ALL}
_BY_NAME = {d.name: d for d in ALL} | {d.short: d for d in ALL} | {"bool_": bool_}
_BY_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex64}


def dtype(spec):
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


def dtype_to_nptype(spec):
    """The NumPy scalar type of a DType: float32 -> numpy.float32."""
    return dtype(spec).numpy.type


def dtype_to_pytype(spec):
    """The Python type of a DType's kind: float32 -> float."""
    return {"b": bool, "u": int, "i": int, "f": float, "c": complex}[dtype(spec).kind]


def pytype_to_dtype(spec):
    """The DType of a Python or NumPy type: int -> int64, float -> float64 (as MindSpore says it), bool -> bool_."""
    return {int: int64, float: float64, bool: bool_}.get(spec) or dtype(spec)


def type_id_to_type(spec):
    """The DType itself: types have no separate numbers here."""
    return dtype(spec)


def promote(a, b):
    """The dtype of `a + b` for tensors: the smallest that holds both (MindSpore 2.x's implicit conversion).

    Signed with unsigned goes to the next wider signed; uint64 with a signed type to float32; integers with floats to
    the float; float16 with bfloat16 to float32; complex wins over all.
    """
    if a is b:
        return a
    return _promote(a, b)


def _promote(a, b):
    order = "buifc"
    if order.index(a.kind) > order.index(b.kind):
        a, b = b, a
    if a.kind == b.kind:
        if a.bits == b.bits:                        # float16 and bfloat16
            return float32
        return a if a.bits > b.bits else b
    if b.kind == "c":
        return complex128 if a is float64 else b
    if b.kind == "i" and a.kind == "u":
        if b.bits > a.bits:
            return b
        return {8: int16, 16: int32, 32: int64}.get(a.bits, float32)
    return b


def promote_scalar(tensor_dtype, value):
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
