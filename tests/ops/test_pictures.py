"""Pictures: pooling to a size, windows as columns and back, points between pixels; against loops over NumPy arrays."""
import itertools

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.common.errors import ShapeError, ValueRangeError

rng = np.random.default_rng(5)


def same(made, wanted, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(made), wanted, rtol=tolerance, atol=tolerance)


def parts(n, count):
    return [slice(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def pooled(x, sizes, reduce):
    lead = x.shape[:-len(sizes)]
    out = np.empty((*lead, *sizes))
    for place in itertools.product(*map(range, sizes)):
        window = tuple(parts(n, count)[i] for n, count, i in zip(x.shape[len(lead):], sizes, place))
        out[(..., *place)] = reduce(x[(..., *window)].reshape(*lead, -1), -1)
    return out


@pytest.mark.parametrize("sizes", [(3,), (7,), (2, 5), (4, 3), (1, 1), (3, 2, 4)], ids=str)
def test_adaptive_pooling_takes_the_maximum_and_the_mean_of_each_part(sizes):
    axes = len(sizes)
    x = rng.permutation(2 * 3 * 7 ** axes).reshape(2, 3, *(7,) * axes).astype(np.float32)
    largest, mean = getattr(ops, f"adaptive_max_pool{axes}d"), getattr(ops, f"adaptive_avg_pool{axes}d")
    for run in (lambda f: f, ms.jit):
        values, places = run(lambda t: largest(t, sizes, True))(Tensor(x))
        same(values, pooled(x, sizes, np.max))
        same(np.take_along_axis(x.reshape(2, 3, -1), places.asnumpy().reshape(2, 3, -1), -1).reshape(values.shape),
             values.asnumpy())
        same(run(lambda t: mean(t, sizes))(Tensor(x)), pooled(x, sizes, np.mean), 1e-4)


@pytest.mark.parametrize("sizes", [(3, 4), (2, 3)], ids=str)
def test_adaptive_means_of_open_sizes_have_their_gradients_in_one_graph(sizes):
    def loss(t):
        return (ops.adaptive_avg_pool2d(t, sizes) ** 2).sum()
    made, alone = [ms.jit(transform(loss), fullgraph=True, dynamic=1) for transform in (ms.value_and_grad, ms.grad)]
    for shape in ((2, 3, 7, 9), (1, 2, 8, 6), (2, 1, 5, 13)):
        x = rng.standard_normal(shape).astype(np.float32)
        wanted = np.zeros(shape)
        for place in itertools.product(*map(range, sizes)):
            window = (..., *[parts(n, count)[i] for n, count, i in zip(shape[2:], sizes, place)])
            part = x[window]
            wanted[window] += 2 * part.mean((-2, -1), keepdims=True) / part[0, 0].size
        value, gradient = made(Tensor(x))
        same(value, (pooled(x, sizes, np.mean) ** 2).sum(), 1e-4)
        same(gradient, wanted, 1e-4)
        same(alone(Tensor(x)), wanted, 1e-4)                 # the fold of gathered elements is read in a choice here


@pytest.mark.parametrize("run", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)], ids=["eager", "graph"])
def test_nan_and_inf_stay_in_the_parts_that_hold_them(run):
    x = np.ones((1, 1, 7, 7), np.float32)
    x[0, 0, 0, 0], x[0, 0, 6, 6] = np.nan, np.inf
    made = run(lambda t: ops.adaptive_avg_pool2d(t, 3))(Tensor(x)).asnumpy()[0, 0]
    assert np.isnan(made[0, 0]) and made[2, 2] == np.inf and np.isfinite(made).sum() == 7


def test_the_place_of_a_maximum_that_comes_twice_is_the_first():
    values, places = ops.adaptive_max_pool2d(Tensor(np.ones((1, 1, 5, 5), np.float32)), 2, True)
    assert places.asnumpy().tolist() == [[[[0, 2], [10, 12]]]] and (values.asnumpy() == 1).all()


def test_an_adaptive_layer_keeps_an_axis_and_takes_an_open_size():
    x = rng.standard_normal((1, 2, 4, 6)).astype(np.float32)
    same(nn.AdaptiveMaxPool2d((None, 3))(Tensor(x)), pooled(x, (4, 3), np.max))
    layer = nn.AdaptiveMaxPool2d((2, 4))
    layer.construct = ms.jit(layer.construct)
    for width in (6, 5, 9):
        x = rng.standard_normal((1, 2, 4, width)).astype(np.float32)
        same(layer(Tensor(x)), pooled(x, (2, 4), np.max))
    with pytest.raises(ShapeError, match="3 or 4 axes"):
        nn.AdaptiveMaxPool2d(2)(Tensor(1.0))


def test_the_gradient_of_adaptive_max_pooling_goes_to_the_maxima():
    x = Tensor(np.array([[[1.0, 5, 2, 4, 3]]], np.float32))
    assert ms.grad(lambda t: ops.adaptive_max_pool1d(t, 2).sum())(x).asnumpy().tolist() == [[[0, 1, 0, 1, 0]]]


# ---------------------------------------------------------------- windows as columns

SETTINGS = [((2, 3), 1, 0, 1), ((3, 2), (1, 2), (1, 0), (2, 3)), (2, 2, 1, 2), ((1, 1), 1, 0, (3, 1))]


def columns(x, kernel, dilation, padding, stride):
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = (v if isinstance(v, tuple) else (v, v)
                                              for v in (kernel, dilation, padding, stride))
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    rows = range(0, x.shape[2] - (kh - 1) * dh, sh)
    return np.stack([x[:, :, r:r + (kh - 1) * dh + 1:dh, c:c + (kw - 1) * dw + 1:dw].reshape(len(x), -1)
                     for r in rows for c in range(0, x.shape[3] - (kw - 1) * dw, sw)], -1)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_unfold_gives_the_windows_as_columns_and_fold_adds_them_up_again(settings):
    x = rng.standard_normal((2, 3, 6, 7)).astype(np.float32)
    made = ops.unfold(Tensor(x), *settings)
    same(made, columns(x, *settings))
    run = ms.jit if settings is SETTINGS[0] else lambda f: f
    back = run(lambda t: ops.fold(t, (6, 7), *settings))(made)
    how_often = ops.fold(ops.unfold(ops.ones_like(Tensor(x)), *settings), (6, 7), *settings)
    same(back, x * how_often.asnumpy())
    y = rng.standard_normal(made.shape).astype(np.float32)
    same((made * Tensor(y)).sum(), float((x * ops.fold(Tensor(y), (6, 7), *settings).asnumpy()).sum()), 1e-3)


def test_fold_refuses_columns_that_do_not_fit():
    with pytest.raises(ShapeError, match="4 x 5 windows of 3 x 3 do not fit"):
        ops.fold(ops.ones((1, 9, 12)), (6, 7), 3)


# ---------------------------------------------------------------- points between the pixels

def read(picture, at, mode, border):
    """One channel at one point, by the definition."""
    if border == "border":
        at = [min(max(p, 0), n - 1) for p, n in zip(at, picture.shape)]
    corners = [[(round(p), 1.0)] if mode == "nearest" else [(int(np.floor(p)), 1 - (p - np.floor(p))),
                                                            (int(np.floor(p)) + 1, p - np.floor(p))] for p in at]
    total = 0.0
    for corner in itertools.product(*corners):
        place = tuple(i for i, _ in corner)
        if all(0 <= i < n for i, n in zip(place, picture.shape)):
            total += picture[place] * np.prod([w for _, w in corner])
    return total


@pytest.mark.parametrize("mode, border, corners", list(itertools.product(
    ("bilinear", "nearest"), ("zeros", "border"), (True, False))))
@pytest.mark.parametrize("axes", [2, 3])
def test_a_grid_reads_the_picture_at_its_points(axes, mode, border, corners):
    x = rng.standard_normal((1, 2, *(3, 4, 5)[:axes])).astype(np.float32)
    grid = rng.uniform(-1.4, 1.4, (1, *(2, 3, 2)[:axes], axes)).astype(np.float32)
    run = ms.jit(ops.grid_sample) if axes == 2 and corners else ops.grid_sample
    made = run(Tensor(x), Tensor(grid), mode, border, corners).asnumpy()
    for place in itertools.product(*map(range, grid.shape[1:-1])):
        point = grid[(0, *place)][::-1]
        at = [(p + 1) / 2 * (n - 1) if corners else ((p + 1) * n - 1) / 2 for p, n in zip(point, x.shape[2:])]
        same(made[(0, slice(None), *place)], [read(channel, at, mode, border) for channel in x[0]], 1e-4)


@pytest.mark.parametrize("mode, border, corners", list(itertools.product(
    ("bilinear", "nearest"), ("zeros", "border", "reflection"), (True, False))))
@pytest.mark.parametrize("axes", [2, 3])
def test_the_gradient_as_a_class_is_that_of_the_function(axes, mode, border, corners):
    x = Tensor(rng.standard_normal((2, 2, *(3, 4, 5)[:axes])))
    grid = Tensor(rng.uniform(-1.7, 1.7, (2, *(2, 3, 2)[:axes], axes)))
    out, pull = ms.vjp(lambda x, grid: ops.grid_sample(x, grid, mode, border, corners), x, grid)
    dout = Tensor(rng.standard_normal(out.shape))
    backward = getattr(ops.operations, f"GridSampler{axes}DGrad")(mode, border, corners)
    backward = ms.jit(backward) if axes == 2 and border == "reflection" and corners else backward
    for made, wanted in zip(backward(dout, x, grid), pull(dout)):
        same(made, wanted.asnumpy())


def test_reflection_reads_the_picture_in_two_mirrors():
    x = Tensor(np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4))

    def line(corners, *points):
        grid = Tensor(np.array([[[(p, 0) for p in points]]], np.float32))
        return ops.grid_sample(x, grid, "nearest", "reflection", corners).asnumpy().ravel().tolist()

    assert line(True, 1 + 2 / 3, -1 - 4 / 3, 3 + 2 / 3) == [2, 2, 1]
    assert line(False, 1.25, 1.75, -1.25) == [3, 2, 0]


def test_the_grid_of_the_identity_gives_the_picture_again_and_has_gradients():
    x = Tensor(rng.standard_normal((2, 3, 4, 5)))
    turn = Tensor(np.array([[[1, 0, 0], [0, 1, 0]]] * 2, np.float64))
    skew = turn * 0.9 + Tensor([0.031, 0.017, 0.043])        # no point on a pixel, where the slope jumps

    def moved(theta, corners):
        return ops.grid_sample(x, ops.affine_grid(theta, x.shape, corners), align_corners=corners)

    for corners in (False, True):
        same(moved(turn, corners), x.asnumpy(), 1e-4)
        slope = ms.grad(lambda t: (moved(t, corners) ** 2).sum())(skew)
        step = np.zeros((2, 2, 3))
        step[1, 0, 2] = 1e-6
        two = [float((moved(skew + Tensor(sign * step), corners) ** 2).sum()) for sign in (1, -1)]
        same(slope.asnumpy()[1, 0, 2], (two[0] - two[1]) / 2e-6, 1e-4)


def test_grids_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="grid of as many axes"):
        ops.grid_sample(ops.ones((1, 1, 3, 3)), ops.ones((1, 3, 3, 3)))
    with pytest.raises(ValueRangeError, match="no mode 'cubic'"):
        ops.grid_sample(ops.ones((1, 1, 3, 3)), ops.ones((1, 3, 3, 2)), "cubic")


# ---------------------------------------------------------------- channels

@pytest.mark.parametrize("axes", [1, 2, 3])
def test_channels_are_dropped_as_a_whole_and_the_others_scaled(axes):
    drop = getattr(ops, f"dropout{axes}d")
    made = drop(ops.ones((40, 5, *(3,) * axes)), 0.25).asnumpy().reshape(200, -1)
    assert ((made == made[:, :1]).all(1)).all() and set(made[:, 0]) == {0.0, np.float32(1 / 0.75)}
    assert (drop(ops.ones((1, *(3,) * axes)), 0.5, False).asnumpy() == 1).all()
    with pytest.raises(ShapeError, match="axes is wanted"):
        drop(ops.ones((3,)), 0.5)


def test_dropout_of_channels_as_a_class_says_what_it_kept():
    out, kept = ops.operations.Dropout2D(keep_prob=0.5)(Tensor(np.full((50, 4, 2, 2), 3, np.int32)))
    assert out.dtype == ms.int32 and kept.dtype == ms.bool_ and set(out.asnumpy().ravel()) == {0, 6}
    assert ((out.asnumpy() != 0) == kept.asnumpy()).all()
