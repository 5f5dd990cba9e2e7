"""Operands of the pieces (pieces.py), drawn by a random generator: a draw is a function of it and of a number of elements.

    DRAWS["axis"](rng, 9300)     ->     {"x": f32[3, 31, 100], "axis": 1}
"""
import math

import numpy as np

LAST = (1, 2, 3, 7, 16, 31, 64, 100, 255, 256, 1000, 1024, 4097, 32000, 100000)


def shape_of(rng, elements, rank=None):
    """A shape of about so many elements: leading axes of 1, last axes of 1 to 100,000, odd numbers and powers of two."""
    rank = rank or int(rng.integers(1, 5))
    if rank == 1:
        return (elements,)
    last = min(int(rng.choice(LAST)), elements)
    rest, left = [], max(1, elements // last)
    for _ in range(rank - 2):
        size = 1 if rng.random() < 0.25 else int(round(math.exp(rng.uniform(0, math.log(left)))))
        rest.append(size)
        left = max(1, left // size)
    return (*(int(i) for i in rng.permutation([*rest, left])), last)


def normal(rng, *shape):
    """float32 numbers of the normal distribution."""
    return rng.standard_normal(shape, np.float32)


def between(rng, low, high, *shape):
    """float32 numbers, uniform."""
    return rng.uniform(low, high, shape).astype(np.float32)


def whole(rng, count, *shape):
    """int32 numbers below count."""
    return rng.integers(0, count, shape).astype(np.int32)


def of_elements(make, count=1):
    """A draw of `count` operands of one shape; the second and later ones may be rows, columns or single elements."""
    def draw(rng, n):
        shape = shape_of(rng, n)
        found = {"x": make(rng, *shape)}
        for name in "yzw"[:count - 1]:
            axis = int(rng.integers(0, len(shape)))
            part = [shape, shape, shape, shape[-1:], (*shape[:axis], 1, *shape[axis + 1:]), (1,)][int(rng.integers(0, 6))]
            found[name] = make(rng, *part)
        return found
    return draw


def along_axis(rng, n, make=normal):
    """x and one of its axes: the first, a middle or the last one."""
    shape = shape_of(rng, n)
    return {"x": make(rng, *shape), "axis": int(rng.integers(0, len(shape)))}


def along_last(rng, n):
    """x and weights for its last axis, which has at least 2 elements."""
    last = min(max(2, int(rng.choice(LAST[1:]))), n)
    rows = max(1, n // last)
    lead = (rows,) if rng.random() < 0.6 else (max(1, rows // 7), min(rows, 7))
    return {"x": normal(rng, *lead, last), "g": between(rng, 0.5, 1.5, last), "b": normal(rng, last), "size": last}


def two_axes(rng, n):
    """x of at least two axes, its permutation and its sizes."""
    shape = shape_of(rng, n, int(rng.integers(2, 5)))
    return {"x": normal(rng, *shape), "rank": len(shape), "order": tuple(int(i) for i in rng.permutation(len(shape))),
            "shape": shape, "first": shape[0], "last": shape[-1]}


def product(rng, n, batched=False):
    """a [.., m, k], b [.., k, n] and c [.., m, n]."""
    side = max(1, int(math.sqrt(n)) // (4 if n > 1 << 19 else 1))
    m, k, c = (max(1, int(side * math.exp(rng.uniform(-1, 1)))) for _ in range(3))
    lead = (int(rng.integers(2, 17)),) if batched else ()
    if batched:
        m, k, c = (max(1, int(size / math.sqrt(lead[0]))) for size in (m, k, c))
    return {"a": normal(rng, *lead, m, k), "b": normal(rng, *lead, k, c), "c": normal(rng, *lead, m, c),
            "v": normal(rng, *lead, k), "t": normal(rng, *lead, c, k)}


def square(rng, n):
    """s: a matrix that is symmetric and positive, of at most 256 rows; b: right sides."""
    size = max(1, min(256, int(math.sqrt(n))))
    a = normal(rng, size, size)
    return {"s": (a @ a.T / size + np.eye(size, dtype=np.float32)), "b": normal(rng, size, max(1, size // 3))}


def triangles(rng, n):
    """s: lower triangles [batch, m, m] whose diagonals are not near 0; b: right sides [batch, m, k]."""
    size = max(1, min(int(rng.choice([3, 8, 17, 32, 64])), int(math.sqrt(n))))
    batch = max(1, n // (size * size))
    s = np.tril(normal(rng, batch, size, size)) / size + 2 * np.eye(size, dtype=np.float32)
    return {"s": s, "b": normal(rng, batch, size, max(1, size // 3))}


def small_numbers(rng, n):
    """x: bytes, m: booleans, u and v: complex numbers, all of one shape; one of its axes."""
    shape = shape_of(rng, n)
    u, v = (normal(rng, *shape) + np.complex64(1j) * normal(rng, *shape) for _ in range(2))
    return {"x": rng.integers(-100, 100, shape).astype(np.int8), "m": rng.random(shape) < 0.5, "u": u, "v": v,
            "axis": int(rng.integers(0, len(shape)))}


def picture(rng, n):
    """x [N, C, H, W] with kernels: w of 3 x 3, p of 1 x 1, d depthwise, g grouped by 4; gain and shift of channels."""
    channels = int(rng.choice([4, 8, 12, 32, 64]))
    side = int(rng.choice([5, 8, 14, 28, 31, 56]))
    while channels * side * side > max(n, 100) and (channels > 4 or side > 5):
        channels, side = max(4, channels // 2 // 4 * 4), max(5, side // 2)
    batch, out = max(1, n // (channels * side * side) // (4 if n > 1 << 19 else 1)), int(rng.choice([4, 8, 20, 64]))
    return {"x": normal(rng, batch, channels, side, side), "w": normal(rng, out, channels, 3, 3) / 9,
            "p": normal(rng, out, channels, 1, 1) / 3, "d": normal(rng, channels, 1, 3, 3) / 3,
            "g": normal(rng, 4 * (out // 4), channels // 4, 3, 3) / 5, "gain": between(rng, 0.5, 1.5, channels),
            "shift": normal(rng, channels), "mean": normal(rng, channels), "variance": between(rng, 0.5, 1.5, channels),
            "channels": channels, "side": side, "batch": batch, "line": normal(rng, batch, channels, side * side),
            "l": normal(rng, out, channels, 3) / 4, "up": normal(rng, channels, out, 3, 3) / 9,
            "plane": between(rng, 0.5, 1.5, side, side), "grid": between(rng, -1, 1, batch, side, side, 2)}


def classes(rng, n):
    """Logits x [rows, classes], labels, targets of both forms."""
    count = int(rng.choice([2, 10, 100, 1000, 32000]))
    count = min(count, max(2, n))
    rows = max(1, n // count)
    return {"x": normal(rng, rows, count), "y": between(rng, 0, 1, rows, count), "labels": whole(rng, count, rows),
            "rows": rows, "count": count, "signs": np.sign(normal(rng, rows, count)) + 0}


def table(rng, n):
    """x [rows, columns], indices of rows, new rows, and an index for each element."""
    columns = int(rng.choice([1, 3, 16, 64, 100, 256]))
    rows = max(2, n // columns)
    count = max(1, int(rows * rng.uniform(0.3, 1.6)))
    return {"x": normal(rng, rows, columns), "i": whole(rng, rows, count), "rows": normal(rng, count, columns),
        "number": rows,
            "e": whole(rng, rows, rows, columns), "bags": whole(rng, rows, max(1, count // 4), 4),
            "edges": np.sort(normal(rng, rows)), "j": whole(rng, rows, count), "apart": rng.permutation(rows)[:count],
            "few": normal(rng, min(rows, count), columns), "weights": between(rng, 0, 1, count)}


def volume(rng, n):
    """x [N, C, D, H, W] with kernels w of 3 x 3 x 3; gain and shift of channels."""
    channels, side = int(rng.choice([2, 4, 8, 16])), int(rng.choice([4, 6, 9, 16]))
    while channels * side ** 3 > max(n, 200) and (channels > 2 or side > 4):
        channels, side = max(2, channels // 2), max(4, side // 2)
    batch, out = max(1, n // (channels * side ** 3) // (4 if n > 1 << 19 else 1)), int(rng.choice([2, 8, 16]))
    return {"x": normal(rng, batch, channels, side, side, side), "w": normal(rng, out, channels, 3, 3, 3) / 9,
            "up": normal(rng, channels, out, 3, 3, 3) / 9, "gain": between(rng, 0.5, 1.5, channels),
            "shift": normal(rng, channels), "side": side, "channels": channels, "batch": batch}


def sequence(rng, n):
    """x [B, L, E] with E = heads * h, weights of projections, states of cells."""
    heads, h = int(rng.choice([1, 2, 4, 8])), int(rng.choice([4, 8, 16, 32, 64]))
    while heads * h * 2 > max(n, 8) and (heads > 1 or h > 4):
        heads, h = max(1, heads // 2), max(4, h // 2)
    e, batch = heads * h, int(rng.choice([1, 2, 4, 8]))
    length = max(1, min(256, n // (e * batch)))
    batch = max(1, n // (e * length) // (8 if n > 1 << 19 else 1))
    s = 1 / math.sqrt(e)
    return {"x": normal(rng, batch, length, e), "q": normal(rng, batch, heads, length, h),
            "k": normal(rng, batch, heads, length, h), "v": normal(rng, batch, heads, length, h),
            "wq": normal(rng, e, 3 * e) * s, "wo": normal(rng, e, e) * s,
            "w1": normal(rng, e, 4 * e) * s, "w2": normal(rng, 4 * e, e) * s / 2, "w3": normal(rng, e, 4 * e) * s,
            "g": between(rng, 0.5, 1.5, e), "b": normal(rng, e), "b1": normal(rng, 4 * e), "step": normal(rng, batch, e),
            "h": normal(rng, batch, e), "c": normal(rng, batch, e), "wi": normal(rng, e, 4 * e) * s,
            "wh": normal(rng, e, 4 * e) * s, "batch": batch, "length": length, "heads": heads, "size": h, "e": e,
            "scale": h ** -0.5,
            "cos": normal(rng, length, h // 2), "sin": normal(rng, length, h // 2), "half": h // 2,
            "mask": np.triu(np.ones((length, length), bool), 1), "wg": normal(rng, e, 8) * s,
            "bias": normal(rng, heads, length, length), "seen": rng.random((batch, length)) < 0.8,
            "taps": normal(rng, e, 1, 3), "low": normal(rng, e, 4) * s, "high": normal(rng, 4, e)}


DRAWS = {
    "x": of_elements(normal), "positive": of_elements(lambda r, *s: between(r, 0.3, 3, *s)),
    "unit": of_elements(lambda r, *s: between(r, -0.9, 0.9, *s)),
    "above one": of_elements(lambda r, *s: between(r, 1.2, 3, *s)),
    "xy": of_elements(normal, 2), "positive xy": of_elements(lambda r, *s: between(r, 0.3, 3, *s), 2),
    "xyz": of_elements(normal, 3),
    "xyzw": of_elements(normal, 4), "whole xy": of_elements(lambda r, *s: whole(r, 1000, *s) + 1, 2),
    "alike": lambda r, n: (lambda s: {"x": normal(r, *s), "y": normal(r, *s), "z": between(r, 0.1, 0.9, *s)})(shape_of(r, n)),
    "axis": along_axis, "positive axis": lambda r, n: along_axis(r, n, lambda r, *s: between(r, 0.8, 1.2, *s)),
    "last": along_last, "axes": two_axes, "product": product, "products": lambda r, n: product(r, n, True), "square": square,
    "triangles": triangles, "small": small_numbers, "picture": picture, "volume": volume,
    "classes": classes, "table": table, "sequence": sequence}
