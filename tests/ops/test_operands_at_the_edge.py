"""What operators say of operands that they do not take, and what they give for operands that are rare: numbers, large exponents,
empty axes, other forms. Each was seen while the docstrings were written."""
import math

import numpy as np
import pytest

import mindlite as ms
from mindlite import COOTensor, Tensor, ops
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError

HALF = Tensor(np.array([1.0, -2.0, 0.5], np.float16))
MATRIX = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
RUNS = pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])


@RUNS
@pytest.mark.parametrize("operator", [ops.div_no_nan, ops.mul_no_nan, ops.xdivy, ops.xlogy])
def test_a_python_number_takes_the_dtype_of_the_tensor_beside_it(run, operator):
    def on_both_sides(x):
        return operator(x, 2.0), operator(2.0, x)
    assert [out.dtype for out in run(on_both_sides)(HALF)] == [ms.float16, ms.float16]


@RUNS
def test_numbers_in_a_sum_of_products_take_the_dtype_of_the_tensor(run):
    def combine(x):
        return ops.addcmul(x, 2.0, 3.0), ops.addcdiv(x, 2.0, 4.0), ops.lerp(2.0, x, 0.5)
    outs = run(combine)(HALF)
    assert [out.dtype for out in outs] == [ms.float16] * 3
    assert [out.tolist() for out in outs] == [[7, 4, 6.5], [1.5, -1.5, 1], [1.5, 0, 1.25]]


@pytest.mark.parametrize("function, wanted", [(lambda: ops.deg2rad(180), math.pi), (lambda: ops.rad2deg(math.pi), 180),
                                              (lambda: ops.float_power(2, 3), 8), (lambda: ops.accumulate_n(3), 3),
                                              (lambda: ops.addn(np.float32(3)), 3)])
def test_a_function_of_numbers_is_a_tensor(function, wanted):
    out = function()
    assert type(out) is Tensor and out.shape == () and float(out) == pytest.approx(wanted)


@RUNS
def test_a_common_multiple_does_not_overflow_where_it_fits(run):
    out = run(ops.lcm)(Tensor(np.array([100000, 0, 0], np.int32)), Tensor(np.array([150000, 7, 0], np.int32)))
    assert out.tolist() == [300000, 0, 0] and out.dtype is ms.int32


@pytest.mark.parametrize("operator", [ops.gcd, ops.lcm])
@pytest.mark.parametrize("operand", [MATRIX, Tensor([True])])
def test_divisors_are_those_of_integers(operator, operand):
    with pytest.raises(DTypeError, match="takes integers"):
        operator(operand, operand)


@RUNS
def test_ldexp_is_finite_where_the_power_of_two_alone_is_not(run):
    wide = run(ops.ldexp)(Tensor(np.array([1.0, 3.0], np.float64)), Tensor([1000, -1000]))
    assert wide.tolist() == [2.0 ** 1000, 3 * 2.0 ** -1000]
    single = run(ops.ldexp)(Tensor(np.array([1e-30, 1.5], np.float32)), Tensor([130, -130]))
    np.testing.assert_array_equal(single.asnumpy(), np.ldexp(np.array([1e-30, 1.5], np.float32), [130, -130]))
    slope = run(ms.grad(lambda x, n: ops.ldexp(x, n).sum(), (0, 1)))(Tensor([3.0]), Tensor([4.0]))
    np.testing.assert_allclose([s.item() for s in slope], [16, 48 * math.log(2)], rtol=1e-6)


@RUNS
def test_a_float_power_of_complex_numbers_is_complex(run):
    z = np.array([1 + 2j, 3], np.complex64)
    out = run(lambda z: ops.float_power(z, 2))(Tensor(z))
    assert out.dtype is ms.complex128
    np.testing.assert_allclose(out.asnumpy(), z ** 2, rtol=1e-6)


def test_real_numbers_are_real_also_where_they_are_nan():
    assert ops.isreal(Tensor([np.nan, 1.0])).tolist() == [True, True]
    assert ops.isreal(np.array([1j, 2])).tolist() == [False, True]


@pytest.mark.parametrize("operator", [ops.copysign, ops.isclose])
def test_what_has_no_sign_or_order_is_refused_by_the_name_of_the_operator(operator):
    z = Tensor(np.array([1j], np.complex64))
    with pytest.raises(DTypeError, match=operator.__name__):
        operator(z, z)


def test_the_norm_that_clips_is_one_and_integers_are_scaled_as_floats():
    np.testing.assert_allclose(ops.clip_by_norm(Tensor([3, 4]), 1.0).asnumpy(), [0.6, 0.8], rtol=1e-6)
    for settings in (dict(norm_type=0), dict(norm_type=-math.inf), dict(max_norm=-1.0)):
        with pytest.raises(ValueRangeError, match="clip_by_norm: .*_norm|clip_by_norm: norm_type"):
            ops.clip_by_norm(MATRIX, **{"max_norm": 1.0, **settings})
    with pytest.raises(ArgumentError, match="clip_by_norm: at least one"):
        ops.clip_by_norm([], 1.0)


@pytest.mark.parametrize("places, sizes", [((-5,), [0, 2]), ((1, -5), [1, 0, 2]), ((5,), [2, 0])])
def test_a_cut_beyond_an_end_leaves_an_empty_part(places, sizes):
    parts, expected = ops.hsplit(MATRIX, places), np.array_split(MATRIX.asnumpy(), places, 1)
    assert [p.shape[1] for p in parts] == sizes
    for part, want in zip(parts, expected):
        np.testing.assert_array_equal(part.asnumpy(), want)


@pytest.mark.parametrize("split, error, text", [
    (lambda: ops.hsplit(Tensor(1.0), 2), ShapeError, "hsplit: a tensor without axes"),
    (lambda: ops.hsplit(MATRIX, 1.5), ArgumentError, "hsplit: a size is an int"),
    (lambda: ops.vsplit(MATRIX, 0), ArgumentError, "vsplit: at least one part"),
    (lambda: ops.tensor_split(MATRIX, 2, 5), ValueRangeError, "tensor_split: axis 5"),
    (lambda: ops.hstack([]), ArgumentError, "hstack: at least one tensor")])
def test_a_cut_that_is_none_is_refused(split, error, text):
    with pytest.raises(error, match=text):
        split()


def test_a_transform_has_as_many_axes_as_the_tensor_and_elements_along_them():
    with pytest.raises(ValueRangeError, match="fftn: axis -3"):
        ops.fftn(MATRIX, (2, 2, 2))
    with pytest.raises(ValueRangeError, match="named twice"):
        ops.fft2(MATRIX, None, (0, 0))
    for transform in (ops.fft, ops.ihfft):
        with pytest.raises(ShapeError, match="an empty axis has no transform"):
            transform(Tensor(np.zeros((2, 0), np.float32)))


def test_a_sparse_matrix_times_a_row_repeats_the_row():
    sparse = ops.dense_to_sparse_csr(MATRIX)
    for other in (Tensor([5.0, 7.0]), Tensor([[5.0], [7.0]]), Tensor(2.0)):
        np.testing.assert_array_equal(ops.csr_mul(sparse, other).to_dense().asnumpy(), (MATRIX * other).asnumpy())
    with pytest.raises(ShapeError, match="does not broadcast"):
        ops.csr_mul(sparse, Tensor(np.ones((3, 3), np.float32)))


def test_functions_of_sparse_tensors_name_the_form_that_they_take():
    sparse = ops.dense_to_sparse_csr(MATRIX)
    for call in (lambda: ops.csr_to_coo(MATRIX), lambda: ops.csr_to_dense(sparse.to_coo()), lambda: ops.csr_mm(MATRIX, MATRIX),
                 lambda: ops.csr_mv(MATRIX, MATRIX), lambda: ops.csr_mul(MATRIX, 2), lambda: ops.csr_reduce_sum(MATRIX, 1)):
        with pytest.raises(ArgumentError, match="a CSRTensor is wanted"):
            call()
    for call in (lambda: ops.csr_mm(sparse, sparse), lambda: ops.csr_mul(sparse, sparse)):
        with pytest.raises(ArgumentError, match="a Tensor is wanted, not CSRTensor"):
            call()
    with pytest.raises(ArgumentError, match="not COOTensor"):
        ops.dense_to_sparse_coo(sparse.to_coo())
    with pytest.raises(ShapeError, match="without axes"):
        ops.dense_to_sparse_coo(Tensor(1.0))
    assert isinstance(ops.csr_to_coo(sparse), COOTensor)


def test_a_count_as_bool_says_whether_there_is_one():
    assert ops.count_nonzero(MATRIX, dtype=ms.bool_).dtype is ms.bool_


@pytest.mark.parametrize("dtype", [np.int32, np.complex64])
def test_a_step_of_an_optimiser_is_for_floats(dtype):
    x = Tensor(np.ones(3, dtype))
    with pytest.raises(DTypeError, match="adam_update: parameter and state are floats"):
        ops.adam_update(x, x, x, x, 0.1, 0.9, 0.999)
