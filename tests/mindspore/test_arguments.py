"""Arguments have MindSpore's names where a script writes them by name; in both modes."""
import numpy as np
import pytest

import mindlite as ml
import mindlite.mindspore as ms
from mindlite.common.errors import ArgumentError, ValueRangeError
from mindlite.mindspore import Tensor, nn, ops

A = np.arange(6, dtype=np.float32).reshape(2, 3)
X, ROW = Tensor(A), Tensor([1.0, 2, 3])
PLACES = Tensor(np.array([[0, 1]], np.int32))
CALLS = {
    "addr": (lambda: ops.addr(x=X, vec1=Tensor([1.0, 2]), vec2=ROW), A + np.outer([1, 2], [1, 2, 3])),
    "bce": (lambda: ops.binary_cross_entropy_with_logits(input=X, target=X * 0), np.log1p(np.exp(A)).mean()),
    "logsumexp": (lambda: ops.logsumexp(X, dim=1, keepdim=True), np.log(np.exp(A).sum(1, keepdims=True))),
    "nan_to_num": (lambda: ops.nan_to_num(X / X, nan=None), np.array([[0, 1, 1], [1, 1, 1.0]])),
    "index_add": (lambda: ops.index_add(X, Tensor([0], ms.int32), X[:, :1], axis=1, use_lock=False, check_index_bound=True),
                  A + A[:, :1] * [1, 0, 0]),
    "slice": (lambda: ops.slice(input_x=X, begin=(0, 1), size=(-1, 2)), A[:, 1:]),
    "reverse": (lambda: ops.reverse(x=X, axis=[1]), A[:, ::-1]),
    "tensor_div": (lambda: ops.tensor_div(x=X, y=2.0), A / 2),
    "row_stack": (lambda: ops.row_stack(tensors=(X, X)), np.vstack([A, A])),
    "i0": (lambda: ops.i0(input=X), np.i0(A)),
    "fast_gelu": (lambda: ops.fast_gelu(x=X), A / (1 + np.exp(-1.702 * A))),
    "tensor_scatter_mul": (lambda: ops.tensor_scatter_mul(input_x=X, indices=PLACES, updates=Tensor([5.0])),
                           A * [[1, 5, 1], [1, 1, 1]]),
    "tensor_scatter_max": (lambda: ops.tensor_scatter_max(input_x=X, indices=PLACES, updates=Tensor([5.0])),
                           np.maximum(A, [[0, 5, 0], [0, 0, 0]])),
    "searchsorted": (lambda: ROW.searchsorted(v=Tensor([1.5])), np.array([1])),
    "diagonal": (lambda: X.diagonal(axis1=1, axis2=0), np.array([0, 4])),
    "Tensor.reverse": (lambda: X.reverse(axis=0), A[::-1]),
    "grid_sample": (lambda: ops.grid_sample(X.reshape(1, 1, 2, 3), ops.zeros((1, 1, 1, 2)), align_corners=None),
                    np.full((1, 1, 1, 1), 2.5)),
    "size": (lambda: X * ops.size(input_x=X) * ops.rank(input_x=X) * ops.shape(input_x=X)[0], A * 24),
    "embedding": (lambda: ops.embedding(Tensor([1]), X * 1, max_norm=None, norm_type=2.0, scale_grad_by_freq=False), A[1:]),
    "reshape": (lambda: ops.reshape(input=X, shape=(3, 2)), A.reshape(3, 2)),
    "transpose": (lambda: ops.transpose(input=X, dims=(1, 0)) + ops.transpose(X, input_perm=(1, 0)), 2 * A.T),
    "cast": (lambda: ops.cast(input=X, dtype=ms.int32) * 1.0, A),
    "broadcast_to": (lambda: ops.broadcast_to(input=ROW, shape=(2, 3)), np.array([[1.0, 2, 3]] * 2)),
    "stop_gradient": (lambda: ops.stop_gradient(value=X), A),
    "floor_div": (lambda: ops.floor_div(x=X, y=2.0) + ops.floormod(x=X, y=2.0), A // 2 + A % 2),
    "true_divide": (lambda: ops.true_divide(dividend=X, divisor=2.0), A / 2),
    "inv": (lambda: ops.inv(x=X + 1), 1 / (A + 1)),
    "mish": (lambda: ops.mish(x=X) + ops.logsigmoid(x=X), A * np.tanh(np.log1p(np.exp(A))) - np.log1p(np.exp(-A))),
    "isfinite": (lambda: ops.isfinite(input=X) * 1.0, np.ones((2, 3))),
    "range": (lambda: ops.range(start=1, end=7, step=2, maxlen=3), np.array([1, 3, 5])),
    "expand_as": (lambda: ops.type_as(input=ops.expand_as(input=ROW, other=X), other=X), np.array([[1.0, 2, 3]] * 2)),
    "ReduceSum": (lambda: ops.ReduceSum(skip_mode=True)(X, ()) + ops.ReduceSum(skip_mode=False)(X, ()), A + A.sum()),
    "NanToNum": (lambda: ops.NanToNum(nan=1.0, posinf=2.0, neginf=3.0)(Tensor([np.nan, np.inf, -np.inf])),
                 np.array([1, 2, 3])),
    "IsClose": (lambda: ops.IsClose()(Tensor([np.nan, 1.0]), Tensor([np.nan, 1.0])) * 1, np.array([0, 1])),
    "conv3d_transpose": (lambda: ops.conv3d_transpose(ops.ones((1, 1, 1, 1, 2)), ops.ones((1, 1, 1, 1, 2)), "valid", 0,
                                                      (1, 1, 2)),
                         np.ones((1, 1, 1, 1, 4))),
    "Upsample": (lambda: nn.Upsample(size=(2, 3), align_corners=None, recompute_scale_factor=None)(X.reshape(1, 1, 2, 3)),
                 A[None, None]),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_has_mindspores_name(name):
    call, wanted = CALLS[name]
    for way in (call, ml.jit(call, fullgraph=True)):
        np.testing.assert_allclose(way().asnumpy(), wanted, rtol=1e-5)


def test_dtypes_and_settings_too():
    assert ms.dtype_to_nptype(type_=ms.int32) is np.int32 and ms.pytype_to_dtype(obj=float) is ms.float64
    assert ms.get_context(attr_key="device_target") == "CPU" and ms.dtype_to_pytype(type_=ms.float16) is float
    assert (ops.scalar_add(x=2, y=3), ops.scalar_mul(x=2, y=3)) == (5, 6)


def test_an_argument_under_two_of_its_names_is_refused():
    with pytest.raises(ArgumentError, match="the argument 'perm' is given twice, as 'dims' too"):
        ops.transpose(X, perm=(1, 0), dims=(1, 0))
    with pytest.raises(ValueRangeError, match="4 numbers are more than maxlen=3"):
        ops.range(0, 4, 1, 3)
