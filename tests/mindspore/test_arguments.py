"""Arguments have MindSpore's names where a script writes them by name; in both modes."""
import numpy as np
import pytest

import mindlite as ml
import mindlite.mindspore as ms
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
