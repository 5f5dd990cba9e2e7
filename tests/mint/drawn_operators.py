"""More calls for drawn_calls.py: what `ops` alone has and torch has under the same name with the same meaning. Arguments that the
two name differently are positional."""
import numpy as np
from drawn_calls import (ANY, FLOATS, INTEGERS, TABLES, Array, activation, binary, call, inverted, loss, selected,
                         side_by_side, table, unary)

SMALL = ("float32", "float32", "float64", "float16", "bfloat16")
EXACT = ("float32", "float32", "float64")


def pair(dtypes=EXACT, special=0, **bounds):
    """Two tensors of the same sizes."""
    return lambda d: call(x := d.array(dtypes=dtypes, special=special, **bounds), d.like(x, special=special, **bounds))


def three(d):
    x = d.array(dtypes=SMALL, special=0)
    return call(x, d.beside(x, special=0), d.beside(x, special=0, low=0.5, high=2), **d.some(value=d.pick(2, -1, 0.5)))


def cholesky(d):
    (x,), _ = inverted(d)
    made = x.numbers @ np.swapaxes(x.numbers, -1, -2) + np.eye(x.shape[-1])
    return call(Array(made.astype(x.dtype), x.dtype), **d.some(upper=d.flag()))


def factor(solves):
    """A Cholesky factor, and what is solved with it."""
    def arguments(d):
        (x,), _ = inverted(d)
        n = x.shape[-1]
        low = Array(np.tril(x.numbers), x.dtype)
        low.numbers.flags.writeable = False                    # the gradient of the triangle that is not read is nobody's
        return call(d.array((*x.shape[:-2], n, 2), x.dtype, special=0), low) if solves else call(low)
    return arguments


def solved(d):
    (x,), _ = inverted(d)
    return call(x, d.array((*x.shape[:-1], 2), x.dtype, special=0))


def raised(d):
    (x,), _ = inverted(d)
    return call(x, d.int(-2, 4))


def whole(d):
    (x,), _ = inverted(d)
    return call(Array(x.numbers, x.dtype))                      # torch's matrix_exp refuses transposed ones


def vectors(d):
    dtype = d.pick(*SMALL)
    return call(*[d.array((d.int(0, 4),), dtype, special=0) for _ in range(2)])


def added_outer(d):
    (a, b), _ = vectors(d)
    return call(d.array((a.shape[0], b.shape[0]), a.dtype, special=0), a, b, **d.some(beta=d.pick(0.5, 2), alpha=d.pick(2, 0.5)))


def shifted(d):
    x = d.array(dtypes=INTEGERS, low=0, high=9)
    return call(x, d.beside(x, low=0, high=3))


def parted(axis):
    def arguments(d):
        x = d.array(d.shape(max(axis + 1, 2), 4), ANY)
        return call(x, d.pick(x.shape[axis] or 1, 1, (1, 2)))
    return arguments


def channels(d):
    g = d.int(1, 3)
    return call(d.array((d.int(1, 2), g * d.int(1, 2), d.int(1, 3), d.int(1, 3)), "float32"), g)


def combined(d):
    return call(d.array((d.int(0, 5),), ANY), d.int(1, 3), d.flag())


def coherent(d):
    x = d.array((d.int(2, 3), d.int(2, 4)), "float32", special=0)
    return call(x, **d.some(correction=d.int(0, 1)))


def alike(d):
    x = d.array(least=1, dtypes=EXACT, special=0)
    return call(x, d.like(x, special=0), d.axis(x, 0))


def apart_by(d):
    x = d.array(dtypes=EXACT, special=0)
    return call(x, d.like(x, special=0), d.pick(2, 1, 3, 0, float("inf")))


def rows_apart(d):
    x = d.array(d.shape(1, 2, empty=0), "float32", special=0)
    return call(x, d.like(x, special=0), **d.some(p=d.pick(1.0, 2.0, 3.0), eps=d.pick(1e-6, 0.1)))


def with_reduction(d, *args, **options):
    return call(*args, **d.some(reduction=d.pick("none", "mean", "sum"), **options))


def gaussian(d):
    x = d.array((d.int(1, 3), d.int(1, 4)), "float32", special=0)
    return with_reduction(d, x, d.like(x, special=0), d.like(x, low=0.6, high=2, special=0), full=d.flag(), eps=d.pick(1e-6, 0.5))


def signs(d, shape):
    made = d.fixed(shape, "float32")
    made.numbers = np.where(made.numbers > 0, 1, -1).astype(np.float32)
    made.numbers.flags.writeable = False
    return made


def hinged(d):
    x = d.array(dtypes="float32", special=0)
    return with_reduction(d, x, signs(d, x.shape), margin=d.pick(0.5, 2.0))


def ranked(d):
    x = d.array(dtypes="float32", special=0)
    return with_reduction(d, x, d.like(x, special=0), signs(d, x.shape), margin=d.pick(0.5, -0.5))


def one_margin(d):
    n, c = d.int(1, 4), d.int(1, 4)
    return with_reduction(d, d.array((n, c), "float32", special=0), d.indices((n,), c), p=d.pick(1, 2), margin=d.pick(0.5, 2.0))


def some_labels(d):
    n, c = d.int(1, 3), d.int(1, 4)
    target = np.stack([d.rng.permutation(c) for _ in range(n)])
    target[:, d.int(0, c - 1):] = -1
    return with_reduction(d, d.array((n, c), "float32", special=0), Array(target, "int64"))


def soft_labels(d):
    x = d.array((d.int(1, 3), d.int(1, 4)), "float32", special=0)
    return with_reduction(d, x, Array(d.fixed(x.shape, "float32", low=0, high=1).numbers.round(), "float32"))


def poisson(d):
    x = d.array(dtypes="float32", special=0, low=0.1, high=3)
    y = Array(d.rng.integers(0, 5, x.shape).astype(np.float32), "float32")
    y.numbers.flags.writeable = False
    return with_reduction(d, x, y, log_input=d.flag(), full=d.flag(), eps=d.pick(1e-8, 0.1))


def triplets(d):
    x = d.array(d.shape(1, 2, empty=0), "float32", special=0)
    return with_reduction(d, x, d.like(x, special=0), d.like(x, special=0), margin=d.pick(0.5, 2.0), p=d.pick(1, 2),
                          swap=d.flag())


def gammas(d):
    x = d.array(dtypes=EXACT, low=0.1, high=5, special=0)
    y = d.beside(x, low=0.1, high=5, special=0)
    x.numbers.flags.writeable = False                          # torch has no gradient by the first
    return call(x, y)


def index_filled(d):
    (x, axis, _), _ = selected(d)
    return call(x, axis, d.indices((d.int(0, 3),), x.shape[axis % len(x.shape)] or 1), d.pick(2, -1, 0))


def index_copied(d):
    (x, axis, _), _ = selected(d)
    n = x.shape[axis % len(x.shape)]
    index = Array(d.rng.permutation(n)[:d.int(0, n)].astype(np.int64), "int64")
    shape = [*x.shape]
    shape[axis % len(shape)] = index.shape[0]
    return call(x, axis, index, d.array(shape, x.dtype))


def filled_by_mask(d):
    x = d.array(dtypes=ANY)
    return call(x, d.beside(x, "bool"), d.pick(2, -1, 0))


def scattered_by_mask(d):
    x = d.array(dtypes=ANY)
    return call(x, d.array(x.shape, "bool"), d.like(x))


def select_scattered(d):
    (x, axis, place), _ = selected(d)
    return call(x, d.array([n for k, n in enumerate(x.shape) if k != axis % len(x.shape)], x.dtype), axis, place)


def diagonal_scattered(d):
    x = d.array(d.shape(2, 3, empty=0), ANY)
    offset = d.int(-1, 1)
    count = np.diagonal(x.numbers, offset, 0, 1).shape
    return call(x, d.array(count, x.dtype), offset)


def normed_pool(n):
    def arguments(d):
        x = d.array((d.int(1, 2), d.int(1, 2), *[d.int(4, 6) for _ in range(n)]), "float32", special=0, low=0.1, high=3)
        return call(x, d.pick(1.0, 2.0, 3.0), d.int(1, 3), **d.some(stride=d.int(1, 2), ceil_mode=d.flag()))
    return arguments


def moved(d):
    x = d.array(dtypes=ANY, least=1)
    axes = d.axes(x)
    return call(x, axes, tuple(int(a) for a in d.rng.permutation(len(x.shape))[:len(axes)]))


def ranked_by(d):
    x = d.array(least=1, dtypes=EXACT, special=0.1)
    return call(x, d.pick(0.5, 0.25, 1.0), d.axis(x, 0), d.flag())


def unshuffled(d):
    r = d.int(1, 3)
    return call(d.array((d.int(1, 2), d.int(1, 2), r * d.int(1, 2), r * d.int(1, 2)), "float32"), r)


def triangle(d):
    return call(d.int(0, 4), d.int(0, 4), d.int(-2, 2))


def unflattened(d):
    x = d.array((d.int(1, 3), 6), ANY)
    return call(x, d.pick(1, -1), d.pick((2, 3), (-1, 2), (6, 1)))


def vandermonde(d):
    return call(d.array((d.int(0, 4),), EXACT), d.int(1, 4))


def spaced(d):
    return call(d.pick(0, 1, -1), d.pick(2, 3), d.int(1, 5), d.pick(10, 2))


def grid_of(d):
    return call(d.array((2, 2, 3), "float32", special=0), (2, 1, d.int(1, 4), d.int(1, 4)), d.flag())


def attention(d):
    b, n, m, k = (d.int(1, 4) for _ in range(4))
    lead = d.pick((b,), (b, 2))
    made = [d.array((*lead, rows, k), "float32", special=0) for rows in (n, m, m)]
    options = d.pick({}, {"is_causal": True}, {"attn_mask": d.array((n, m), "bool")}, {"attn_mask": d.fixed((n, m), "float32")})
    return call(*made, **options)


TABLES["more"] = table(
    ("absolute angle", unary(FLOATS + INTEGERS)), ("conj isposinf atleast_1d atleast_2d atleast_3d argwhere", unary(ANY)),
    ("softsign tanhshrink", activation()), ("celu", lambda d: call(d.array(dtypes=SMALL), d.pick(1.0, 0.5, 2.0))),
    ("softmin", lambda d: call(x := d.array(dtypes=EXACT), d.axis(x))),
    ("addcdiv", three), ("addr", added_outer), ("ger", vectors), ("inner", pair(least=1, most=2)),
    ("fmax fmin", binary(FLOATS, 0, False)),
    ("bitwise_left_shift bitwise_right_shift", shifted), ("true_divide subtract multiply", binary(FLOATS + INTEGERS)),
    ("broadcast_tensors", lambda d: call(x := d.array(dtypes=ANY), d.beside(x))),
    ("cartesian_prod", lambda d: call(*[d.array((d.int(0, 3),), "float32") for _ in range(d.int(1, 3))])),
    ("channel_shuffle", channels), ("cholesky", cholesky), ("cholesky_inverse", factor(False)), ("cholesky_solve", factor(True)),
    ("combinations", combined), ("complex", pair(("float32", "float64"))), ("cosine_similarity", alike), ("cov", coherent),
    ("det slogdet logdet", inverted), ("matrix_exp", whole), ("matrix_power", raised), ("solve", solved),
    ("diagflat", lambda d: call(d.array(dtypes=ANY, most=2), d.int(-2, 2))), ("dist", apart_by),
    ("vsplit", parted(0)), ("hsplit", parted(1)), ("dsplit", parted(2)), ("huber_loss", loss("any", delta=(0.5, 2.0))),
    ("hinge_embedding_loss", hinged), ("margin_ranking_loss", ranked), ("multi_margin_loss", one_margin),
    ("multilabel_margin_loss", some_labels), ("multilabel_soft_margin_loss", soft_labels), ("gaussian_nll_loss", gaussian),
    ("poisson_nll_loss", poisson), ("triplet_margin_loss", triplets), ("pairwise_distance", rows_apart),
    ("igamma igammac", gammas), ("mvlgamma", lambda d: call(d.array(dtypes=EXACT, low=2, high=5, special=0), d.int(1, 3))),
    ("polygamma", lambda d: call(d.int(0, 3), d.array(dtypes=EXACT, low=0.2, high=5, special=0))),
    ("index_fill", index_filled), ("index_copy", index_copied), ("masked_fill", filled_by_mask),
    ("masked_scatter", scattered_by_mask), ("select_scatter", select_scattered), ("diagonal_scatter", diagonal_scattered),
    ("lp_pool1d", normed_pool(1)), ("lp_pool2d", normed_pool(2)), ("movedim", moved),
    ("swapdims", lambda d: call(x := d.array(least=1), d.axis(x), d.axis(x))),
    ("msort", lambda d: call(d.array(least=1))), ("nanmean", unary(EXACT)),
    ("nanmedian", lambda d: call(x := d.array(least=1, dtypes=EXACT), d.axis(x, 0))), ("quantile nanquantile", ranked_by),
    ("pixel_unshuffle", unshuffled), ("tril_indices triu_indices", triangle), ("unflatten", unflattened),
    ("vander", vandermonde), ("logspace", spaced), ("affine_grid", grid_of),
    ("hann_window hamming_window blackman_window bartlett_window", lambda d: call(d.int(0, 6), d.flag())),
    ("view_as_real", lambda d: call(Array(np.asarray(d.rng.standard_normal(d.shape()) + 1j).astype(np.complex64), "complex64"))),
    ("scaled_dot_product_attention", attention), ("row_stack", side_by_side),
)
