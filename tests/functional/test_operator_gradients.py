"""The classes of gradients give what the gradient of the operator's own class gives, in both modes, also mapped."""
import numpy as np
import pytest

import mindlite
import mindlite.mindspore as ms
from mindlite.mindspore import ops
from mindlite.mindspore.ops import operations as P
from mindlite.mindspore.ops.operations import _grad_ops as G

RNG = np.random.default_rng(3)


def tensor(*shape):
    return ms.Tensor(RNG.standard_normal(shape), ms.float32)


def positive(*shape):
    return ms.Tensor(RNG.random(shape) * 0.8 + 0.1, ms.float32)


POOLING = {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 0.5, "sample_num": 2}
BOXES = ms.Tensor([[0.0, 1.0, 1.0, 6.0, 7.0], [0.0, 2.0, 0.0, 5.0, 4.0]])
ROIS = ms.Tensor(np.array([[[0.0], [1.0], [1.0], [6.0], [7.0]]], np.float32))
TARGET, OTHER, SLOPE = positive(3, 4), tensor(2, 5, 3), ms.Tensor([0.25, 0.5])
# the operator of x, x, the class of its gradient as a function of (x, out, dout)
CASES = {
    "StridedSlice": (lambda x: P.StridedSlice(begin_mask=1)(x, (1, 0, 1), (3, 4, 5), (1, 2, 2)), tensor(3, 4, 5),
                     lambda x, out, dout: G.StridedSliceGrad(begin_mask=1)(dout, (3, 4, 5), (1, 0, 1), (3, 4, 5), (1, 2, 2))),
    "Slice": (lambda x: P.Slice()(x, (0, 1), (2, 3)), tensor(3, 4), lambda x, out, dout: G.SliceGrad()(dout, x, (0, 1), (2, 3))),
    "PadV3": (lambda x: P.PadV3("reflect")(x, (1, 2, 1, 0)), tensor(2, 4, 5),
              lambda x, out, dout: G.PadV3Grad("reflect")(dout, (1, 2, 1, 0))),
    "Glu": (lambda x: ops.glu(x, 1), tensor(3, 4), lambda x, out, dout: G.GluGrad(1)(dout, x)),
    "KLDivLoss": (lambda x: P.KLDivLoss("mean")(x, TARGET), positive(3, 4),
                  lambda x, out, dout: G.KLDivLossGrad("mean")(dout, x, TARGET)),
    "BinaryCrossEntropy": (lambda x: P.BinaryCrossEntropy("none")(x, TARGET), positive(3, 4),
                           lambda x, out, dout: G.BinaryCrossEntropyGrad("none")(x, TARGET, dout)),
    "SigmoidCrossEntropyWithLogits": (lambda x: P.SigmoidCrossEntropyWithLogits()(x, TARGET), tensor(3, 4),
                                      lambda x, out, dout: G.SigmoidCrossEntropyWithLogitsGrad()(x, TARGET, dout)),
    "L2Normalize": (P.L2Normalize(1), tensor(3, 4), lambda x, out, dout: G.L2NormalizeGrad(1)(x, out, dout)),
    "LRN": (P.LRN(2, 1.0, 0.1, 0.75), tensor(2, 6, 3, 3), lambda x, out, dout: G.LRNGrad(2, 1.0, 0.1, 0.75)(dout, x, out)),
    "PReLU": (lambda x: ops.prelu(x, SLOPE), tensor(3, 2, 4), lambda x, out, dout: G.PReLUGrad()(dout, x, SLOPE)[0]),
    "SoftShrink": (P.SoftShrink(0.3), tensor(3, 4), lambda x, out, dout: G.SoftShrinkGrad(0.3)(dout, x)),
    **{f"Cdist{p}": (lambda x, p=p: P.Cdist(p)(x, OTHER), tensor(2, 4, 3),
                     lambda x, out, dout, p=p: G.CdistGrad(p)(dout, x, OTHER, out)) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))},
    "MaxPool3D": (P.MaxPool3D((1, 2, 2), (1, 2, 2)), tensor(1, 2, 2, 4, 4),
                  lambda x, out, dout: G.MaxPool3DGrad((1, 2, 2), (1, 2, 2))(x, out, dout)),
    "AvgPool2D": (lambda x: ops.avg_pool2d(x, (2, 3), (2, 1), 1, False, False), tensor(1, 2, 5, 6),
                  lambda x, out, dout: G.AvgPool2DGrad()(dout, x, (2, 3), (2, 1), 1, False, False)),
    "AvgPool2D of one": (lambda x: ops.avg_pool2d(x[None], 2, 3, 0, True, True, 3)[0], tensor(2, 6, 5),
                         lambda x, out, dout: G.AvgPool2DGrad()(dout, x, 2, 3, 0, True, True, 3)),
    "ResizeNearestNeighbor": (P.ResizeNearestNeighbor((5, 6)), tensor(1, 2, 3, 4),
                              lambda x, out, dout: G.ResizeNearestNeighborGrad()(dout, (3, 4))),
    "ROIAlign": (lambda x: P.ROIAlign(**POOLING)(x, BOXES), tensor(1, 2, 5, 5),
                 lambda x, out, dout: G.ROIAlignGrad(**POOLING)(dout, BOXES, (1, 2, 5, 5))),
    "PSROIPooling": (lambda x: P.PSROIPooling(0.5, 2, 3)(x, ROIS), tensor(1, 12, 5, 6),
                     lambda x, out, dout: G.PSROIPoolingGrad((5, 6), 0.5, 2, 3)(dout, ROIS)),
    "UpsampleNearest3D": (lambda x: ops.interpolate(x, (4, 3, 5)), tensor(1, 2, 2, 3, 4),
                          lambda x, out, dout: G.UpsampleNearest3DGrad()(dout, (1, 2, 2, 3, 4), (4, 3, 5))),
    "UpsampleTrilinear3D": (lambda x: ops.interpolate(x, (4, 3, 5), mode="trilinear"), tensor(1, 2, 2, 3, 4),
                            lambda x, out, dout: G.UpsampleTrilinear3DGrad()(dout, (1, 2, 2, 3, 4), (4, 3, 5)))}


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_as_a_class_is_the_gradient_of_the_operator_in_both_modes(name):
    operator, x, gradient = CASES[name]
    out = operator(x)
    dout = tensor(*out.shape)
    expected = mindlite.grad(lambda x: (operator(x) * dout).sum())(x).asnumpy()
    np.testing.assert_allclose(gradient(x, out, dout).asnumpy(), expected, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(mindlite.jit(gradient, fullgraph=True)(x, out, dout).asnumpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["StridedSlice", "LRN", "L2Normalize", "Cdist3.0", "SoftShrink"])
def test_a_gradient_as_a_class_is_mapped_as_a_loop_maps_it(name):
    operator, x, gradient = CASES[name]
    out = operator(x)
    xs, outs, douts = ops.stack((x, x * 2)), ops.stack((out, operator(x * 2))), tensor(2, *out.shape)
    got = mindlite.vmap(gradient)(xs, outs, douts).asnumpy()
    for k in range(2):
        np.testing.assert_allclose(got[k], gradient(xs[k], outs[k], douts[k]).asnumpy(), rtol=2e-5, atol=2e-6)


def test_the_gradient_of_a_slice_is_of_every_dtype_and_of_as_many_elements():
    got = G.StridedSliceGrad()(ms.Tensor([False, True, False]), (2, 2, 3), (1, 0, 0), (2, 1, 3), (1, 1, 1)).asnumpy()
    assert got.dtype == bool and got[1, 0].tolist() == [False, True, False] and got.sum() == 1
    got = G.SliceGrad()(ms.Tensor([[3, 4]], ms.int32), ms.Tensor(np.zeros((2, 3)), ms.int32), (1, 1), (1, 2)).asnumpy()
    assert got.tolist() == [[0, 0, 0], [0, 3, 4]]


def test_the_gradients_gradient_of_pooling_takes_what_lies_under_the_largest_elements():
    x, grad = tensor(1, 2, 4, 4), tensor(1, 2, 4, 4)
    out, places = P.MaxPoolWithArgmax(2, 2)(x)
    expected = np.take_along_axis(grad.asnumpy().reshape(1, 2, 16), places.asnumpy().reshape(1, 2, 4), 2)
    got = G.MaxPoolGradGrad(2, 2, "VALID")(x, out, grad).asnumpy()
    np.testing.assert_allclose(got.reshape(1, 2, 4), expected, rtol=1e-6)


def test_the_gradient_of_a_factor_is_that_of_the_matrix():
    a = tensor(3, 3)
    x, dout = a @ a.T + 3 * ops.eye(3), tensor(3, 3)
    expected = mindlite.grad(lambda x: (ops.cholesky(x) * dout).sum())(x).asnumpy()
    np.testing.assert_allclose(G.CholeskyGrad()(ops.cholesky(x), dout).asnumpy(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("settings, error", [
    (((5.0, 6), 0.5, 2, 3), TypeError), (((5, 0), 0.5, 2, 3), ValueError), ((5, -0.5, 2, 3), ValueError),
    ((5, 0.5, 2.0, 3), TypeError), ((5, 0.5, 2, 0), ValueError)])
def test_settings_of_the_gradient_of_pooling_by_positions_are_checked(settings, error):
    with pytest.raises(error):
        G.PSROIPoolingGrad(*settings)
