"""Functions that eager mode has plans of (`planned`): what a plan gives is what the function gave the first time.

Every planned function of ops has a call in CALLS; it runs as Python, by its plan, recorded, and with other elements.
"""
import gc
import inspect
import weakref

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.config import config
from mindlite.common.errors import InternalError, MindliteError, OperandIndexError
from mindlite.mindir import primitive
from mindlite.mindir.primitive import Planned
from mindlite.ops import later
from mindlite.ops.resize import weights_of
from mindlite.pynative import functions, native, plans

pytestmark = pytest.mark.skipif(native.installed is None, reason="objects cannot be read here")
CALLS = {
    "{}(x)": """deg2rad rad2deg fast_gelu frac gelu glu hardtanh isneginf isposinf selu sinc softmin softmax log_softmax
        celu signbit
        all any amax amin argmax argmin mean sum prod std_mean max min std var var_mean count_nonzero nansum nanmean median
        nanmedian matrix_norm vector_norm norm l2_normalize ptp trace flatten diagonal tril triu squeeze argsort sort unbind
        unstack nan_to_num
        logsumexp pdist t hardswish angle diag_embed cov diff aminmax fft fft2 fftn hfft hfft2 hfftn ifft ifft2 ifftn ihfft
        ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftn matrix_diag""",
    "{}(x, y)": """copysign div divide div_no_nan fmax fmin heaviside isclose logaddexp2 squared_difference xdivy xlogy
        binary_cross_entropy_with_logits soft_margin_loss huber_loss smooth_l1_loss mse_loss l1_loss kl_div
        pairwise_distance dist
        vecdot cosine_similarity softmax_cross_entropy_with_logits kron cdist mul_no_nan truncate_div ldexp""",
    "{}(p, q)": "float_power pow binary_cross_entropy", "{}(x, y, z)": "lerp addcmul",
    "{}(x, y, p)": "addcdiv gaussian_nll_loss",
    "{}(x, w)": "mm matmul", "{}(x, v)": "dense linear inner",
    "{}(x, x, x)": "scaled_dot_product_attention triplet_margin_loss",
    "{}((x, y))": "accumulate_n addn concat cat stack hstack vstack dstack column_stack",
    "{}(x, 1)": "cumsum cumprod cummax cummin logcumsumexp unsqueeze",
    "{}(x, 2)": "split chunk tensor_split topk", "{}(x, 0, 1)": "swapaxes swapdims moveaxis movedim",
    "{}(picture, 2)": "pixel_shuffle", "{}(picture, 3)": "adaptive_avg_pool2d adaptive_max_pool2d",
    "{}(b, 4)": "adaptive_max_pool1d", "{}(b, b)": "batch_dot", "{}(picture)": "lrn",
    "{}(picture, x[:, 0], y[:, 0])": "batch_norm_train instance_norm",
    "{}(x, i, 4)": "unsorted_segment_sum unsorted_segment_max unsorted_segment_min unsorted_segment_prod",
    "{}(x, i[:, None], y)": "tensor_scatter_sub tensor_scatter_max tensor_scatter_min tensor_scatter_mul tensor_scatter_div",
    "{}(picture, kernel)": "conv2d",
    "{}(picture, 2, 2)": "avg_pool2d max_pool2d", "{}(s)": "cholesky det slogdet logdet cholesky_inverse",
    "{}(s, x.T)": "solve matrix_solve",
    "{}(x, i)": "cross_entropy nll_loss multi_margin_loss", "{}(x, i, 0)": "gather", "{}(x, 0, i)": "index_select",
    "{}(x, 1, e)": "gather_elements gather_d",
    "{}(i, x)": "embedding"}
OTHERS = {
    "addmm": "addmm(x, x, w)", "addmv": "addmv(x[:, 0], x, x[0])", "addr": "addr(x, x[:, 0], x[0])", "bmm": "bmm(b, b)",
    "baddbmm": "baddbmm(b, b, b)", "addbmm": "addbmm(w, b, b)", "clip_by_value": "clip_by_value(x, -0.5, 0.5)",
    "clip": "clip(x, -0.5, 0.5)", "row_stack": "row_stack((x, y))", "clamp": "clamp(x, -0.5, 0.5)",
    "logit": "logit(p / 4)", "prelu": "prelu(x, x[0, :1])", "round": "round(x)",
    "softshrink": "softshrink(x)", "swiglu": "swiglu(x)", "threshold": "threshold(x, 0.1, 20.0)",
    "bias_add": "bias_add(x, x[0])", "cosine_embedding_loss": "cosine_embedding_loss(x, y, sign(x[:, 0]))",
    "hinge_embedding_loss": "hinge_embedding_loss(x, sign(y))", "margin_ranking_loss": "margin_ranking_loss(x, y, sign(z))",
    "poisson_nll_loss": "poisson_nll_loss(x, p)", "expand_dims": "expand_dims(x, 1)", "permute": "permute(b, (2, 0, 1))",
    "narrow": "narrow(x, 1, 1, 2)", "strided_slice": "strided_slice(x, (0, 1), (3, 5), (1, 2))", "dot": "dot(x[0], y[0])",
    "outer": "outer(x[0], y[1])", "mv": "mv(x, y[0])", "tile": "tile(x, (2, 3))",
    "repeat_interleave": "repeat_interleave(x, 2, 1)",
    "flip": "flip(x, (1,))", "roll": "roll(x, 2, 1)", "pad": "pad(x, (1, 2))", "group_norm": "group_norm(picture, 2)",
    "layer_norm": "layer_norm(x, (6,), x[0], y[0])", "layer_norm_from_axis": "layer_norm_from_axis(x, x[0], y[0], 1)",
    "rms_norm": "rms_norm(x, p[0])",
    "masked_fill": "masked_fill(x, y > 0, 0.5)",
    "index_add": "index_add(x, i, y, 0)", "one_hot": "one_hot(i, 5)", "einsum": "einsum('ij,kj->ik', x, y)",
    "tensor_scatter_add": "tensor_scatter_add(x, i[:, None], y)",
    "tensor_scatter_update": "tensor_scatter_update(x, j[:, None], y)",
    "tensor_scatter_elements": "tensor_scatter_elements(x, e, y, 1, 'add')", "index_fill": "index_fill(x, 0, i, 0.5)",
    "masked_scatter": "masked_scatter(x, y > 0, z)", "conv1d": "conv1d(b, b[:, :, :2])", "avg_pool1d": "avg_pool1d(b, 2, 2)",
    "interpolate": "interpolate(picture, (8, 8))", "pixel_unshuffle": "pixel_unshuffle(picture, 2)", "getitem": "x[1:3, ::2]",
    "adaptive_avg_pool1d": "adaptive_avg_pool1d(b, 4)",
    "adaptive_avg_pool3d": "adaptive_avg_pool3d(b.reshape((1, 6, 6, 6)), (2, 4, 6))",
    "affine_grid": "affine_grid(b[:2, :2, :3], (2, 1, 4, 5))", "channel_shuffle": "channel_shuffle(picture, 2)",
    "cross": "cross(x[:, :3], y[:, :3], 1)", "depth_to_space": "depth_to_space(picture, 2)", "iou": "iou(p[:, :4], q[:3, :4])",
    "grid_sample": "grid_sample(picture, p.reshape((2, 3, 2, 2)), 'bilinear', 'zeros', True)", "trapz": "trapz(x)",
    "lp_pool1d": "lp_pool1d(b, 2.0, 2)", "lp_pool2d": "lp_pool2d(picture, 2.0, 2)", "quantile": "quantile(x, 0.3, 0)",
    "nanquantile": "nanquantile(x, 0.5, 1)", "space_to_depth": "space_to_depth(picture, 2)",
    "unfold": "unfold(picture, 2)", "reverse_sequence": "reverse_sequence(x, i, 1, 0)",
    "matrix_diag_part": "matrix_diag_part(w, 0, 0.0)", "matrix_set_diag": "matrix_set_diag(w, x[0])",
    "batch_to_space_nd": "batch_to_space_nd(picture, (2, 1), ((0, 0), (1, 0)))",
    "space_to_batch_nd": "space_to_batch_nd(picture, (2, 2), ((0, 0), (0, 0)))",
    "bounding_box_decode": "bounding_box_decode(p[:, :4], x[:, :4], (50, 60))",
    "bounding_box_encode": "bounding_box_encode(p[:, :4], q[:, :4])", "renorm": "renorm(x, 2.0, 0, 1.0)", "polar": "polar(p, x)",
    "conv3d": "conv3d(b.reshape((1, 1, 6, 6, 6)), kernel.reshape((4, 1, 3, 3, 3)))",
    "conv3d_transpose": "conv3d_transpose(b.reshape((1, 1, 6, 6, 6)), kernel.reshape((1, 4, 3, 3, 3)))",
    "conv2d_transpose": "conv2d_transpose(picture, kernel.reshape((4, 3, 3, 3)))",
    "deformable_conv2d": "deformable_conv2d(picture, kernel, tile(p, (2, 18)).reshape((2, 27, 4, 4)), (3, 3), (1, 1, 1, 1), "
                         "(0, 0, 0, 0))",
    "cholesky_solve": "cholesky_solve(x.T, s)", "solve_triangular": "solve_triangular(s, x.T)",
    "diagonal_scatter": "diagonal_scatter(w, x[0])", "index_copy": "index_copy(x, 0, j, y)",
    "fill_diagonal": "fill_diagonal(w, 0.5)", "put": "put(x, j, y[:, 1])", "intopk": "intopk(x, i, 2)",
    "tensor_dot": "tensor_dot(x, w, 1)", "scatter_nd": "scatter_nd(i[:, None], y, (5, 6))",
    "multilabel_margin_loss": "multilabel_margin_loss(x, e)", "multilabel_soft_margin_loss": "multilabel_soft_margin_loss(x, p)",
    "max_pool1d": "max_pool1d(b, 2)", "avg_pool3d": "avg_pool3d(b.reshape((1, 1, 6, 6, 6)), 2, 2)",
    "max_pool3d": "max_pool3d(b.reshape((1, 1, 6, 6, 6)), 2)", "fold": "fold(unfold(picture, 2), (6, 6), 2)",
    "bidense": "bidense(x, y, b[:3])", "matrix_band_part": "matrix_band_part(w, 1, 2)", "vander": "vander(x[0])",
    "roi_align": "roi_align(picture, concat((p[:, :1] * 0, p[:, 1:3], p[:, 3:5] + 3), 1), 2, 2, 1.0)",
    "ps_roi_pooling": "ps_roi_pooling(picture, concat((p[:, :1] * 0, p[:, 1:3], p[:, 3:5] + 3), 1).T.reshape((1, 5, 4)), 1.0, "
                      "2, 1)",
    "resize": "resize(picture, (8, 8))", "stft": "stft(x.reshape((1, 24)), 8)", "histc": "histc(x, 5)",
    "crop_and_resize": "crop_and_resize(permute(picture, (0, 2, 3, 1)), p[:, :4], i // 2, (3, 3))",
    "adaptive_max_pool3d": "adaptive_max_pool3d(b.reshape((1, 6, 6, 6)), 2)",
    "kthvalue": "kthvalue(x, 2)", "scatter": "scatter(x, 1, e, y)", "matrix_power": "matrix_power(w, 3)",
    "unravel_index": "unravel_index(i, (2, 3))",
    "max_unpool1d": "max_unpool1d(x, broadcast_to(arange(6), (4, 6)) * 2, 2)",
    "max_unpool2d": "max_unpool2d(*max_pool2d(picture, 2, 2, 0, 1, True), 2)",
    "max_unpool3d": "max_unpool3d(b.reshape((1, 1, 6, 6, 6)), arange(216).reshape((1, 1, 6, 6, 6)) * 8, 2)",
    "select_scatter": "select_scatter(x, y[0], 0, 1)", "slice_scatter": "slice_scatter(x, y[:2], 0, 1, 3)"}


def planned():
    """{name: function} of the planned functions of ops, those of families that are imported later too."""
    return {name: f for name in sorted({*vars(ops), *later.FUNCTIONS}) if inspect.isfunction(f := getattr(ops, name)) and any(
        isinstance(cell.cell_contents, Planned) for cell in (f.__closure__ or ()))}


TEXTS = {name: form.format(name) for form, names in CALLS.items() for name in names.split() if name in planned()}
TEXTS |= {name: text for name, text in OTHERS.items() if name == "getitem" or name in planned()}


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Kernels come at the third call, compiled at once."""
    monkeypatch.setattr(plans, "OFTEN_FOR_COMPOSITES", 3)
    monkeypatch.setattr(plans, "PAUSE", 0)
    monkeypatch.setattr(config, "compile_beside", False)


def operands(seed):
    """{name: Tensor} of texts."""
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return Tensor(rng.standard_normal(shape).astype(np.float32))
    a = rng.standard_normal((6, 6)).astype(np.float32)
    made = {"x": normal(4, 6), "y": normal(4, 6), "z": normal(4, 6), "w": normal(6, 6), "v": normal(6, 6), "b": normal(6,
    6, 6),
            "picture": normal(2, 4, 6, 6), "kernel": normal(3, 4, 3, 3), "s": Tensor(a @ a.T + 6 * np.eye(6,
        dtype=np.float32)),
            "i": Tensor(rng.integers(0, 4, 4)), "j": Tensor(rng.permutation(4)), "e": Tensor(rng.integers(0, 6, (4, 6)))}
    for name in "pq":
        made[name] = Tensor(rng.uniform(0.1, 0.9, (4, 6)).astype(np.float32))
    return made


def function_of(text):
    """(the function of Tensors that a text is, their names)."""
    names = [name for name in operands(0) if name in compile(text, "text", "eval").co_names]
    scope = {name: getattr(ops, name) for name in dir(ops) if not name.startswith("_")}
    return eval(f"lambda {', '.join(names)}: {text}", scope), names


def results(value):
    """The arrays of what a function gave."""
    return [part.asnumpy() for part in (value if isinstance(value, (tuple, list)) else (value,))]


def close(found, wanted):
    """Fused arithmetic differs in the last places."""
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_every_planned_function_has_a_call():
    assert not sorted(planned().keys() - TEXTS.keys())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_plan_gives_what_the_function_gave(name):
    function, names = function_of(TEXTS[name])
    given, others = [[operands(seed)[n] for n in names] for seed in (1, 2)]
    wanted, of_others = results(function(*given)), results(function(*others))
    for _ in range(6):
        close(results(function(*given)), wanted)
        close(results(function(*others)), of_others)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_plan_has_the_gradient_of_the_function(name):
    function, names = function_of(TEXTS[name])
    given = [operands(1)[n] for n in names]
    floats = tuple(i for i, t in enumerate(given) if t.dtype.kind == "f")

    def loss(*args):
        out = function(*args)
        total = 0.0
        for part in out if isinstance(out, (tuple, list)) else (out,):
            if part.dtype.kind == "f":
                total = total + (part * ops.cos(part * 0.3 + 1.0)).sum()
        return total
    if not isinstance(loss(*given), Tensor):
        return
    wanted = results(ms.grad(loss, floats)(*given))
    for _ in range(5):
        close(results(ms.grad(loss, floats)(*given)), wanted)


def test_a_function_that_decides_by_sizes_has_plans_of_fixed_ones():
    draw = np.random.default_rng(0)
    for n in (2, 6, 9, 6):                                   # twice the size each time: the sizes of a plan could be open
        x = draw.normal(size=(1, 1, 2, n)).astype(np.float32)
        for mode in "bicubic", "bilinear", "nearest":
            down, across = (weights_of(mode, have, want, False, True) for have, want in ((2, 2), (n, 2 * n)))
            made = ops.resize(Tensor(x), (2, 2 * n), mode, False, True)
            np.testing.assert_allclose(made.asnumpy(), down @ x @ across.T, rtol=1e-5, atol=1e-6)


def test_a_kernel_of_a_function_refuses_indices_that_are_outside():
    x, i = Tensor(np.ones((3, 7), np.float32)), Tensor(np.array([0, 2, 1]))
    calls = {"cross_entropy": lambda i: ops.cross_entropy(x, i), "index": lambda i: x[i], "gather": lambda i: ops.gather(x,
    i, 0),
             "pick": lambda i: x[i, i], "add": lambda i: ops.index_add(x, i, x, 0)}
    for name, call in calls.items():
        for _ in range(6):
            wanted = call(i).asnumpy()
        for wrong in (Tensor(np.array([0, 2, 7])), Tensor(np.array([0, -8, 1]))):
            with pytest.raises(OperandIndexError, match="outside"):
                call(wrong)
        np.testing.assert_array_equal(call(i).asnumpy(), wanted, err_msg=name)


def test_what_a_plan_makes_of_slices_are_views():
    x = Tensor(np.zeros((4, 5), np.float32))
    for _ in range(5):
        row, (left, right) = x[1:3, 1], ops.split(x, (2, 3), 1)
        row[0] = 7.0
        right[3] = 5.0
        assert x.asnumpy()[1, 1] == 7 and left.asnumpy()[1, 1] == 7 and (x.asnumpy()[3, 2:] == 5).all()
        x[...] = 0.0
        assert not row.asnumpy().any() and not right.asnumpy().any()


def has_plan(function):
    """Whether a planned function has left one behind."""
    entry = next(cell.cell_contents for cell in function.__closure__ if isinstance(cell.cell_contents, Planned))
    return any(seen.plan is not None for seen in entry.seen.values())


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_results_that_are_reshaped_each_by_itself_have_a_plan(name, dtype):
    f = getattr(ops, name)
    numbers = np.random.default_rng(0).integers(-9, 9, (3, 7, 5)).astype(np.float32)
    numbers[0, 2:4, 1] = np.nan if "float" in dtype else 1
    x = Tensor(numbers).astype(getattr(ms, dtype if dtype != "bool" else "bool_"))
    for axis in (0, 1, -1, None):
        kept = [part.asnumpy().astype(np.float32) for part in f(x, axis, True)]
        for _ in range(6):
            for part, wanted in zip(f(x, axis), kept, strict=True):
                assert part.shape == (() if axis is None else x.shape[:axis % 3] + x.shape[axis % 3 + 1:])
                np.testing.assert_array_equal(part.asnumpy().astype(np.float32), wanted.reshape(part.shape))
    assert has_plan(f)
    values, indices = f(x, 1)
    values[...], wanted = 0, f(x, 1)[1].asnumpy()
    np.testing.assert_array_equal(indices.asnumpy(), wanted)


@pytest.mark.parametrize("parts", [lambda y: (y.reshape(6, 4), y.reshape(24)), lambda y: (y, y.reshape(24)),
                                   lambda y: (ops.transpose(y, (1, 0)), y[1:3])], ids=["both", "one", "slice"])
def test_results_that_share_their_elements_still_do_after_many_calls(parts):
    f = primitive.planned(lambda x: parts(x * 2))
    x = Tensor(np.ones((4, 6), np.float32))
    for _ in range(8):
        first, second = f(x)
        first[...] = 5.0
        assert (second.asnumpy() == 5).all() and (x.asnumpy() == 1).all()


@pytest.mark.parametrize("first, second", [
    (lambda x: x[1:3], lambda x: x[1:4]), (lambda x: x[1], lambda x: x[1:2]), (lambda x: x[None], lambda x: x[...]),
    (lambda x: x[True], lambda x: x[1]), (lambda x: ops.stack((x, x)), lambda x: ops.stack((x, x, x))),
    (lambda x: ops.cat([x, x]), lambda x: ops.cat((x, x))), (lambda x: x[::-1], lambda x: x[::2]),
    (lambda x: ops.split(x, 2)[0], lambda x: ops.split(x, (2, 3))[0]), (lambda x: ops.var(x, 1, 1), lambda x: ops.var(x, 1,
    True))])
def test_slices_and_items_are_part_of_the_signature(first, second):
    x = Tensor(np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32))
    wanted = [f(x).asnumpy() for f in (first, second)]
    for _ in range(6):
        for f, value in zip((first, second), wanted):
            assert f(x).shape == value.shape
            np.testing.assert_allclose(f(x).asnumpy(), value, rtol=2e-6)


def test_a_signature_that_is_left_keeps_no_elements():
    x = Tensor(np.ones((3, 11), np.float32))
    ref = weakref.ref(x.asnumpy().base if x.asnumpy().base is not None else x)
    for _ in range(6):
        ops.clamp(x, 0.0, 2.0)
    del x
    gc.collect()
    assert ref() is None


def test_a_fault_in_the_making_of_a_plan_is_not_hidden(monkeypatch):
    def planted(*_):
        raise InternalError("planted")
    monkeypatch.setattr(functions, "FunctionOperation", planted)
    with pytest.raises(InternalError, match="planted"):
        for _ in range(3):
            ops.clamp(Tensor(np.ones((3, 11), np.float32)), -0.25, 0.75)


def test_an_error_of_a_call_that_has_no_plan_came_of_nothing_else():
    with pytest.raises(MindliteError) as caught:
        ops.softmax(Tensor([1.0, 2.0]), object())
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.fixture
def never_compiled(monkeypatch):
    """Nothing is worth its compilation. Gives a function that counts how often Python runs a planned one."""
    monkeypatch.setattr(config, "compile_beside", True)
    monkeypatch.setattr(functions.Seen, "pays", lambda self: False)
    monkeypatch.setattr(functions.KernelOfSizes, "find", lambda self: None)

    def counted(f):
        runs = []

        def function(*args):
            runs.append(1)
            return f(*args)
        return primitive.planned(function), runs
    return counted


@pytest.mark.parametrize("f", [
    lambda x, y: ops.reduce_sum(x, axis=(1,), keepdims=True), lambda x, y: ops.tanh(x * y) - ops.exp(x),
    lambda x, y: (ops.tanh(x), x * y)], ids=["operator", "several", "tuple"])
def test_a_call_that_is_not_compiled_has_a_plan_that_computes_it_and_its_gradient(never_compiled, monkeypatch, f):
    monkeypatch.setattr(functions, "OF_A_DERIVATIVE", 0.0)
    monkeypatch.setattr(functions, "OF_ITS_NODE", 1e-9)
    function, runs = never_compiled(f)
    x, y = (Tensor(np.random.default_rng(seed).uniform(0.2, 1.0, (3, 7)).astype(np.float32)) for seed in (0, 1))

    def loss(function):
        def run(x, y):
            out = function(x, y)
            return sum([(part * part).sum() for part in (out if isinstance(out, tuple) else (out,))])
        return run
    wanted = [part.asnumpy() for part in ms.grad(loss(f), (0, 1))(x, y)]
    for call, known in ((lambda: ms.grad(loss(function), (0, 1))(x, y), wanted), (lambda: function(x, y), results(f(x, y)))):
        for _ in range(13):
            close(results(call()), known)
        before = len(runs)
        for _ in range(plans.AGAIN // 2):
            close(results(call()), known)
        assert len(runs) <= before + 1                       # now and then Python asks how often it has run


def test_what_a_plan_without_a_kernel_refuses_is_the_error_that_python_gave(never_compiled):
    function, _ = never_compiled(lambda x, i: ops.gather(x * 2, i, 0))
    x, good, wrong = Tensor(np.ones((3, 7), np.float32)), Tensor(np.array([0, 2])), Tensor(np.array([0, 3]))
    texts = []
    for _ in range(12):
        with pytest.raises(OperandIndexError, match="outside") as caught:
            function(x, wrong)
        texts.append(str(caught.value))
        assert function(x, good).shape == (2, 7)
    assert len(set(texts)) == 1 and "test_functions.py" in texts[0]


def test_calls_by_a_plan_without_a_kernel_count_until_it_is_compiled(monkeypatch):
    monkeypatch.setattr(functions, "pays", lambda seconds, nodes: False)
    monkeypatch.setattr(plans, "OFTEN_FOR_COMPOSITES", 120)
    monkeypatch.setattr(config, "compile_beside", False)
    monkeypatch.setattr(plans, "may_compile", lambda: True)
    function = primitive.planned(lambda x: ops.tanh(x * 3) + ops.exp(x * 1.5))
    x = Tensor(np.ones((3, 13), np.float32))
    seen = next(cell.cell_contents for cell in function.__closure__ if isinstance(cell.cell_contents, Planned)).seen
    kinds = []
    for _ in range(120 + 2 * plans.AGAIN):
        function(x)
        plan = next(iter(seen.values())).plan
        kinds.append(None if plan is None else plan.is_walk)
    assert [kind for kind, after in zip(kinds, [*kinds[1:], "end"]) if kind is not after] == [None, True, False]


def test_an_attribute_that_is_a_tensor_leaves_a_call_to_python(never_compiled, monkeypatch):
    monkeypatch.setattr(functions, "OF_A_DERIVATIVE", 0.0)
    monkeypatch.setattr(functions, "OF_ITS_NODE", 1e-9)
    function, runs = never_compiled(lambda x, t: ops.layer_norm(x, (3,), None, None, t))
    x, t = Tensor(np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)), Tensor(np.float32(1e-3))
    wanted = [ms.grad(lambda x: (ops.layer_norm(x, (3,), None, None, 1e-3) ** 3).sum())(x).asnumpy()]
    for _ in range(14):
        close(results(ms.grad(lambda x: (function(x, t) ** 3).sum())(x)), wanted)
    assert len(runs) >= 14
