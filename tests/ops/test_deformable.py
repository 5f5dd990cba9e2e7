"""deformable_conv2d against the sum of its definition; that formula agrees with MindSpore 2.10 to 4e-6 for these settings."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError

SETTINGS = [((1, 1, 1, 1), (0, 0, 0, 0), (1, 1, 1, 1), 1, 1), ((1, 1, 2, 1), (1, 2, 1, 0), (1, 1, 2, 1), 1, 2),
            ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1), 2, 2)]


def operands(strides, padding, dilations, groups, parts, scale=1.3):
    r = np.random.RandomState(0)
    rows = (6 + padding[0] + padding[1] - 2 * dilations[2] - 1) // strides[2] + 1
    columns = (5 + padding[2] + padding[3] - dilations[3] - 1) // strides[3] + 1
    return [a.astype(np.float32) for a in (r.randn(2, 4, 6, 5), r.randn(4, 4 // groups, 3, 2),
                                           r.randn(2, 3 * parts * 6, rows, columns) * scale, r.randn(4))]


def bilinear(picture, y, x):
    top, left, total = int(np.floor(y)), int(np.floor(x)), 0.0
    for i, j in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= i < picture.shape[0] and 0 <= j < picture.shape[1]:
            total += (1 - abs(y - i)) * (1 - abs(x - j)) * picture[i, j]
    return total


def by_definition(x, weight, offsets, bias, strides, padding, dilations, groups, parts):
    n, rows, columns = len(x), *offsets.shape[2:]
    moved = offsets.reshape(n, 3, parts, 3, 2, rows, columns)
    out = np.zeros((n, 4, rows, columns)) + bias[:, None, None]
    for b, o, c, i, j, y, z in np.ndindex(n, 4, 4 // groups, 3, 2, rows, columns):
        channel = o // (4 // groups) * (4 // groups) + c
        dx, dy, factor = moved[b, :, channel // (4 // parts), i, j, y, z]
        out[b, o, y, z] += weight[o, c, i, j] * factor * bilinear(
            x[b, channel], y * strides[2] - padding[0] + i * dilations[2] + dy,
            z * strides[3] - padding[2] + j * dilations[3] + dx)
    return out


@pytest.mark.parametrize("setting", SETTINGS)
def test_it_is_the_sum_of_its_definition_in_both_modes(setting):
    strides, padding, dilations, groups, parts = setting
    arrays = operands(*setting)

    def run(x, weight, offsets, bias):
        return ops.deformable_conv2d(x, weight, offsets, (3, 2), strides, padding, bias, dilations, groups, parts)

    tensors = [Tensor(a) for a in arrays]
    for way in (run, ms.jit(run, fullgraph=True)):
        np.testing.assert_allclose(way(*tensors).asnumpy(), by_definition(*arrays, *setting), rtol=1e-4, atol=1e-4)


def test_its_gradients_are_those_of_finite_differences():
    setting = SETTINGS[1]
    strides, padding, dilations, groups, parts = setting
    arrays = [a.astype(np.float64) for a in operands(*setting)]
    mark = np.random.RandomState(1).randn(*by_definition(*arrays, *setting).shape)

    def loss(x, weight, offsets, bias):
        return (ops.deformable_conv2d(x, weight, offsets, (3, 2), strides, padding, bias, dilations, groups, parts)
                * Tensor(mark)).sum()

    tensors = [Tensor(a) for a in arrays]
    slopes = ms.grad(loss, (0, 1, 2, 3))(*tensors)
    for slope, compiled in zip(slopes, ms.jit(ms.grad(loss, (0, 1, 2, 3)), fullgraph=True)(*tensors)):
        np.testing.assert_allclose(compiled.asnumpy(), slope.asnumpy(), rtol=1e-6, atol=1e-6)
    for k, (array, slope) in enumerate(zip(arrays, slopes)):
        way = np.random.RandomState(2).randn(*array.shape)
        ahead, behind = ([a if i != k else a + s * 1e-6 * way for i, a in enumerate(arrays)] for s in (1, -1))
        wanted = ((by_definition(*ahead, *setting) - by_definition(*behind, *setting)) * mark).sum() / 2e-6
        np.testing.assert_allclose((slope.asnumpy() * way).sum(), wanted, rtol=1e-4)


def test_without_offsets_it_is_a_convolution():
    x, weight, offsets, _ = operands(*SETTINGS[0])
    offsets[:, :12], offsets[:, 12:] = 0, 1
    out = ops.deformable_conv2d(Tensor(x), Tensor(weight), Tensor(offsets), (3, 2), (1, 1, 1, 1), (0, 0, 0, 0))
    np.testing.assert_allclose(out.asnumpy(), ops.conv2d(Tensor(x), Tensor(weight)).asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("change, kind", [
    ({"modulated": False}, ValueRangeError), ({"strides": (1, 1)}, ArgumentError), ({"strides": (2, 1, 1, 1)}, ValueRangeError),
    ({"padding": (1, 1, 1, 1)}, ShapeError), ({"groups": 3}, ShapeError), ({"deformable_groups": 2}, ShapeError)])
def test_what_does_not_fit_is_an_error(change, kind):
    x, weight, offsets, _ = map(Tensor, operands(*SETTINGS[0]))
    with pytest.raises(kind, match="deformable_conv2d"):
        ops.deformable_conv2d(x, weight, offsets, **{
            "kernel_size": (3, 2), "strides": (1, 1, 1, 1), "padding": (0,) * 4, **change})
