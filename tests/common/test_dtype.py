"""Element types: MindSpore's names, and the type of `a + b` for every pair."""
import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import mindlite
from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.errors import DTypeError
from mindlite.common.tensor import Tensor

# MindSpore 2.x's implicit conversion, row + column, by short names; b is bool
ORDER = ("bool uint8 uint16 uint32 uint64 int4 int8 int16 int32 "
         "int64 float8_e4m3fn float8_e5m2 float16 bfloat16 float32 float64 complex64 complex128")
PROMOTION = """
b      u8     u16    u32    u64    i4     i8     i16    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
u8     u8     u16    u32    u64    i16    i16    i16    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
u16    u16    u16    u32    u64    i32    i32    i32    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
u32    u32    u32    u32    u64    i64    i64    i64    i64    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
u64    u64    u64    u64    u64    f32    f32    f32    f32    f32    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
i4     i16    i32    i64    f32    i4     i8     i16    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
i8     i16    i32    i64    f32    i8     i8     i16    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
i16    i16    i32    i64    f32    i16    i16    i16    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
i32    i32    i32    i64    f32    i32    i32    i32    i32    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
i64    i64    i64    i64    f32    i64    i64    i64    i64    i64    f8e4m3 f8e5m2 f16  bf16 f32  f64  c64  c128
f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f8e4m3 f32    f16  bf16 f32  f64  c64  c128
f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f8e5m2 f32    f8e5m2 f16  bf16 f32  f64  c64  c128
f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    f16    f16  f32  f32  f64  c64  c128
bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   bf16   f32  bf16 f32  f64  c64  c128
f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32    f32  f32  f32  f64  c64  c128
f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64    f64  f64  f64  f64  c128 c128
c64    c64    c64    c64    c64    c64    c64    c64    c64    c64    c64    c64    c64  c64  c64  c128 c64  c128
c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128   c128 c128 c128 c128 c128 c128
"""
TYPES = [dt.dtype(name) for name in ORDER.split()]
ROWS = [[dt.bool_ if name == "b" else dt.dtype(name) for name in row.split()] for row in PROMOTION.split("\n") if row]


def test_the_table_above_is_about_every_type():
    assert len(TYPES) == len(dt.ALL) == len(ROWS) and set(TYPES) == set(dt.ALL)
    assert all(len(row) == len(TYPES) for row in ROWS)


@pytest.mark.parametrize("number", range(len(TYPES)), ids=ORDER.split())
def test_promotion_of_two_tensors(number):
    for other, expected in zip(TYPES, ROWS[number]):
        assert dt.promote(TYPES[number], other) is expected, f"{TYPES[number].name} with {other.name}"


@pytest.mark.parametrize("number", range(len(TYPES)), ids=ORDER.split())
def test_addition_follows_the_table(number):
    for other, expected in zip(TYPES, ROWS[number]):
        out = Tensor(np.ones(2, TYPES[number].numpy)) + Tensor(np.ones(2, other.numpy))
        assert out.dtype is expected, f"{TYPES[number].name} with {other.name}"


@pytest.mark.parametrize("number", range(len(TYPES)), ids=ORDER.split())
def test_a_python_number_changes_the_type_only_by_its_kind(number):
    tensor = TYPES[number]
    with_int = dt.int64 if tensor is dt.bool_ else tensor
    with_float = dt.float32 if tensor.kind in "bui" else tensor
    with_complex = tensor if tensor.kind == "c" else dt.complex128 if tensor is dt.float64 else dt.complex64
    for value, expected in ((True, tensor), (2, with_int), (2.5, with_float), (2j, with_complex)):
        assert dt.promote_scalar(tensor, value) is expected, f"{tensor.name} with {value!r}"
        if not isinstance(value, bool):
            assert (Tensor(np.ones(2, tensor.numpy)) * value).dtype is expected


def test_types_print_as_mindspore_prints_them():
    assert [repr(d) for d in dt.ALL] == [
        "Bool", "UInt8", "UInt16", "UInt32", "UInt64", "Int4", "Int8", "Int16", "Int32", "Int64",
        "Float8E4M3FN", "Float8E5M2", "Float16", "BFloat16", "Float32", "Float64", "Complex64", "Complex128"]


def test_a_type_has_no_python_name():
    for d in dt.ALL:
        assert not hasattr(d, "__name__")


def test_a_type_answers_to_all_of_its_names():
    for d in dt.ALL:
        assert dt.dtype(d) is dt.dtype(d.name) is dt.dtype(d.short) is dt.dtype(d.numpy) is dt.dtype(d.numpy.type) is d
    assert [dt.dtype(t) for t in (bool, int, float, complex)] == [dt.bool_, dt.int64, dt.float32, dt.complex64]
    assert mindlite.float32 is dt.float32 and mindlite.dtype.bfloat16 is dt.bfloat16


@pytest.mark.parametrize("spec", ["float33", "", None, object, str, "datetime64", np.dtype("U3"), 3, [1]], ids=repr)
def test_what_is_no_type_is_an_error(spec):
    with pytest.raises(DTypeError, match="is no dtype"):
        dt.dtype(spec)


def test_a_type_is_one_object_also_after_copying_and_pickling():
    for d in dt.ALL:
        assert copy.deepcopy(d) is copy.copy(d) is pickle.loads(pickle.dumps(d)) is d


def test_facts_of_types():
    assert [d.bits for d in (dt.bool_, dt.int4, dt.float16, dt.bfloat16, dt.int64, dt.complex128)] == [8, 4, 16, 16, 64, 128]
    assert [d.itemsize for d in (dt.bool_, dt.bfloat16, dt.complex64)] == [1, 2, 8]
    assert [d for d in dt.ALL if d.is_float] == [
        dt.float8_e4m3fn, dt.float8_e5m2, dt.float16, dt.bfloat16, dt.float32, dt.float64]
    assert [d for d in dt.ALL if not d.is_differentiable] == [dt.bool_]


def test_bfloat16_holds_and_computes():
    x = Tensor([1.0, 2.5, -3.0], dt.bfloat16)
    assert x.asnumpy().dtype == ml_dtypes.bfloat16
    out = ops.exp(x) * 2 + x
    assert out.dtype is dt.bfloat16
    assert np.allclose(out.asnumpy().astype(np.float32), np.exp([1, 2.5, -3]) * 2 + [1, 2.5, -3], rtol=2e-2)
    assert x.astype("float32").dtype is dt.float32 and float(x[1]) == 2.5
