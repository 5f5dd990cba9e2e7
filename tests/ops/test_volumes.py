"""Convolution over volumes, boxes of pictures and repeated stretches of tokens are their definitions."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.ops import operations as P

rng = np.random.default_rng(5)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def by_definition(x, w, bias, stride, ends, dilation, groups):
    """The sum over each window, window by window."""
    x = np.pad(x, ((0, 0), (0, 0), ends[:2], ends[2:4], ends[4:]))
    kernel, per_group = w.shape[2:], w.shape[0] // groups
    sizes = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], kernel, dilation, stride)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    for o in range(w.shape[0]):
        first = o // per_group * w.shape[1]
        for place in np.ndindex(*sizes):
            window = tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                           for p, s, k, d in zip(place, stride, kernel, dilation))
            out[(slice(None), o, *place)] = (x[(slice(None), slice(first, first + w.shape[1]), *window)]
                                             * w[o]).sum((1, 2, 3, 4)) + (0 if bias is None else bias[o])
    return out


CASES = [("valid", 0, 1, 1, 1, (0,) * 6), ("same", 0, (2, 1, 2), 1, 2, (0, 1, 1, 1, 0, 0)),
         ("pad", (1, 0, 2), (1, 2, 1), (2, 1, 1), 1, (1, 1, 0, 0, 2, 2)),
         ("pad", (0, 1, 1, 0, 2, 1), 1, 1, 4, (0, 1, 1, 0, 2, 1))]


@pytest.mark.parametrize("mode, padding, stride, dilation, groups, ends", CASES)
def test_a_convolution_over_volumes_is_the_sum_over_each_window(mode, padding, stride, dilation, groups, ends):
    x, w, bias = floats(2, 4, 5, 6, 4), floats(4, 4 // groups, 2, 3, 2), floats(4)
    if mode == "same":
        ends = (0, 1, 1, 1, 0, 0)
    three = [v if isinstance(v, tuple) else (v,) * 3 for v in (stride, dilation)]
    want = by_definition(x, w, bias, three[0], ends, three[1], groups)

    def f(x, w, bias):
        return ops.conv3d(x, w, bias, stride, mode, padding, dilation, groups)
    for way in (f, ms.jit(f)):
        np.testing.assert_allclose(way(*map(Tensor, (x, w, bias))).asnumpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode, padding, stride, dilation, groups, ends", CASES)
def test_the_transposed_convolution_is_the_gradient_of_the_convolution(mode, padding, stride, dilation, groups, ends):
    x, w = Tensor(floats(2, 4, 5, 6, 4)), Tensor(floats(4, 4 // groups, 2, 3, 2))
    out, pull = ms.vjp(lambda a: ops.conv3d(a, w, None, stride, mode, padding, dilation, groups), x)
    dout = Tensor(floats(*out.shape))
    want, = pull(dout)
    steps = stride if isinstance(stride, tuple) else (stride,) * 3
    back = ops.conv3d_transpose(dout, w, None, stride, mode, padding, 0, dilation, groups)
    if mode != "same":                              # what a stride steps over at the end: output_padding
        extra = tuple(n - m for n, m in zip(x.shape[2:], back.shape[2:]))
        assert all(0 <= e < s for e, s in zip(extra, steps))
        back = ops.conv3d_transpose(dout, w, None, stride, mode, padding, extra, dilation, groups)
        np.testing.assert_allclose(back.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-4)
    else:
        assert back.shape[2:] == tuple(n * s for n, s in zip(dout.shape[2:], steps))


def test_a_batch_of_volumes_and_one_of_weights_may_be_mapped():
    x, w = Tensor(floats(3, 1, 2, 3, 3, 3)), Tensor(floats(3, 2, 2, 2, 2, 2))
    made = P.Conv3DTranspose(2, 2, 2, pad_mode="pad", pad=1)
    want = np.stack([made(x[i], w[i]).asnumpy() for i in range(3)])
    np.testing.assert_allclose(ms.vmap(made)(x, w).asnumpy(), want, rtol=1e-4, atol=1e-4)
    conv = P.Conv3D(2, 2)
    np.testing.assert_allclose(ms.vmap(conv, (0, None))(x, w[0]).asnumpy(),
                               np.stack([conv(x[i], w[0]).asnumpy() for i in range(3)]), rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_a_convolution_over_volumes_is_refused():
    with pytest.raises(ShapeError, match="have 5 axes"):
        ops.conv3d(Tensor(floats(2, 4, 5, 6)), Tensor(floats(4, 4, 2, 2, 2)))
    with pytest.raises(ArgumentError, match="stride is an int or three"):
        ops.conv3d(Tensor(floats(2, 4, 5, 6, 4)), Tensor(floats(4, 4, 2, 2, 2)), stride=(1, 2))


# ---------------------------------------------------------------- boxes of pictures

def crop(image, boxes, pictures, size, value):
    """Bilinear interpolation, point by point."""
    out = np.full((len(boxes), *size, image.shape[3]), value, np.float32)
    high, wide = image.shape[1] - 1, image.shape[2] - 1
    for b, ((y1, x1, y2, x2), n) in enumerate(zip(boxes, pictures)):
        for i, j in np.ndindex(*size):
            y = y1 * high + i * (y2 - y1) * high / (size[0] - 1) if size[0] > 1 else (y1 + y2) / 2 * high
            x = x1 * wide + j * (x2 - x1) * wide / (size[1] - 1) if size[1] > 1 else (x1 + x2) / 2 * wide
            if 0 <= y <= high and 0 <= x <= wide:
                top, left = int(np.floor(y)), int(np.floor(x))
                bottom, right = int(np.ceil(y)), int(np.ceil(x))
                upper = image[n, top, left] * (1 - x + left) + image[n, top, right] * (x - left)
                lower = image[n, bottom, left] * (1 - x + left) + image[n, bottom, right] * (x - left)
                out[b, i, j] = upper * (1 - y + top) + lower * (y - top)
    return out


@pytest.mark.parametrize("size", [(4, 3), (1, 5), (6, 1)])
def test_a_cropped_box_is_interpolated_point_by_point(size):
    image, pictures = floats(2, 5, 6, 3), np.array([1, 0, 1], np.int32)
    boxes = np.array([[0.1, 0.2, 0.9, 0.8], [0, 0, 1, 1], [-0.3, 0.5, 0.4, 1.3]], np.float32)
    want = crop(image, boxes, pictures, size, -1)

    def f(image, boxes, pictures):
        return ops.crop_and_resize(image, boxes, pictures, size, extrapolation_value=-1.0)
    for way in (f, ms.jit(f)):
        got = way(Tensor(image), Tensor(boxes), Tensor(pictures))
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_the_nearest_point_of_a_cropped_box_is_a_point_of_the_picture():
    image = Tensor(floats(1, 5, 5, 1))
    whole = ops.crop_and_resize(image, Tensor([[0.0, 0, 1, 1]]), Tensor([0]), (5, 5), "nearest")
    np.testing.assert_array_equal(whole.asnumpy(), image.asnumpy())
    with pytest.raises(ValueRangeError, match="method is 'bilinear' or 'nearest'"):
        ops.crop_and_resize(image, Tensor([[0.0, 0, 1, 1]]), Tensor([0]), (5, 5), "cubic")


# ---------------------------------------------------------------- stretches of tokens

@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_token_that_would_repeat_a_stretch_is_ruled_out(size):
    tokens, scores = rng.integers(0, 4, (2, 3, 9)).astype(np.int32), floats(2, 3, 5)
    want = scores.copy()
    for b, k in np.ndindex(2, 3):
        row = tokens[b, k].tolist()
        last = row[len(row) - size + 1:]
        for i in range(len(row) - size + 1):
            if row[i:i + size - 1] == last:
                want[b, k, row[i + size - 1]] = np.finfo(np.float32).min
    made = P.NoRepeatNGram(size)
    np.testing.assert_array_equal(made(Tensor(tokens), Tensor(scores)).asnumpy(), want)
    np.testing.assert_array_equal(ms.jit(made)(Tensor(tokens), Tensor(scores)).asnumpy(), want)
