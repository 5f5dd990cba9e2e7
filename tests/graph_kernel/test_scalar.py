"""Scalar expressions: Python's functions are recognised, equal expressions are one, dtypes promote as for tensors."""
import math
import operator

import numpy as np
import pytest

from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import InternalError
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor
from mindlite.mindir.scalar import (BinOp, Call, Cast, Const, Load, Operand, Reduce, Select, Size, as_expr, call, cast,
                                    index_var, maximum, minimum, reduce, scalar_function, where)


def element(dtype="float32"):
    return Operand("x", AbstractTensor(dt.dtype(dtype), (4,)))[index_var("i", 4)]


x, y = element(), element()


def half_of(value):
    return value * 0.5


def test_functions_of_math_and_builtins_are_recognised_by_identity():
    for function, name in [(math.tanh, "tanh"), (math.exp, "exp"), (abs, "abs"), (math.fabs, "abs"), (math.erf, "erf")]:
        assert scalar_function(function)(x) is call(name, x)
    assert scalar_function(max)(x, y) is maximum(x, y) and scalar_function(min)(x, y) is minimum(x, y)
    assert scalar_function(operator.add)(x, y) is x + y


def test_what_a_function_looks_up_is_translated_too():
    outer = math.sqrt
    assert scalar_function(lambda v: 1 / (1 + math.exp(-v)))(x) is 1 / (1 + call("exp", -x))
    assert scalar_function(lambda v: outer(max(v, 0.0)))(x) is call("sqrt", maximum(x, 0.0))
    assert scalar_function(lambda v: half_of(v) + math.pi)(x) is x * 0.5 + math.pi


def test_equal_expressions_are_one_object_and_numbers_keep_their_kind():
    assert (x + y) * 2.0 is (x + y) * 2.0
    assert as_expr(0.0) is not as_expr(-0.0) and as_expr(1) is not as_expr(1.0) and as_expr(True) is not as_expr(1)


def test_a_condition_in_python_is_an_error_that_names_where():
    with pytest.raises(TypeError, match="where"):
        scalar_function(lambda v: v if v > 0 else 0)(x)
    with pytest.raises(TypeError, match="cast"):
        float(x)


PROMOTIONS = [("float32", "int32", "float32"), ("int8", "int32", "int32"), ("uint8", "int8", "int16"),
              ("float16", "float16", "float32"), ("bfloat16", "float16", "float32"),
              ("float64", "float32", "float64"), ("bool", "int8", "int8")]


@pytest.mark.parametrize("a, b, out", PROMOTIONS)
def test_arithmetic_promotes_and_halves_compute_in_float32(a, b, out):
    assert (element(a) + element(b)).dtype is dt.dtype(out)


def test_python_numbers_take_the_dtype_of_what_they_meet():
    assert (element("int32") * 2).dtype is dt.int32 and (element("int32") * 2.5).dtype is dt.float32
    assert (element("float64") + 1).dtype is dt.float64 and (element("uint8") + 1).dtype is dt.uint8
    scalar = Operand("s", AbstractScalar(float))[()]
    assert (x * scalar).dtype is dt.float32 and isinstance((x * scalar).fields[2], Cast)


def test_bools_add_and_multiply_as_or_and_and():
    b = element("bool")
    assert (b + ~b).fields[0] == "or" and (b * b).fields[0] == "and" and (b + b).dtype is dt.bool_


def test_integer_division_is_float32_and_constants_of_indices_fold():
    assert (element("int32") / 2).dtype is dt.float32
    i = index_var("i", 9)
    assert i * 1 + 0 is i and isinstance(as_expr(3) * as_expr(4), Const) and (as_expr(3) * as_expr(4)).fields[0] == 12
    assert isinstance(i + Symbol("N").dim, BinOp) and isinstance((i + Symbol("N").dim).fields[2], Size)


def test_constants_are_rounded_and_wrapped_at_once():
    assert cast(300, "uint8").fields[0] == 44 and cast(0.1, "float16").fields[0] == float(np.float16(0.1))
    assert cast(np.nan, "int32").fields[0] is not None and isinstance(cast(np.nan, "int32"), Cast)


def test_selections_and_reductions_know_their_free_variables():
    i = index_var("i", 4)
    operand = Operand("z", AbstractTensor(dt.float16, (4, 1, 7)))
    total = reduce("sum", [1, 7], lambda a, b: operand[i, a, b])
    assert isinstance(total, Reduce) and total.free == {i} and len(total.fields[1]) == 1 and total.dtype is dt.float32
    assert isinstance(where(x > 0, x, 0), Select) and isinstance(call("isnan", x), Call)
    assert isinstance(reduce("max", [1], lambda a: operand[i, 0, a]), (Load, Cast))
    with pytest.raises(InternalError, match="axes"):
        operand[i]
    with pytest.raises(InternalError, match="no scalar function"):
        call("tanhh", x)
