"""What networks of 2023 and later are made of, for the cliff detector: draws, and lines of the table (pieces.py has the form).

    ("queries in groups", "decoder", "softmax(q @ swapaxes(repeat_interleave(k, groups, 1), -1, -2) * scale, -1)", {..}, True)

Sizes are odd on purpose: lengths, heads and classes that no vector divides.
"""
import numpy as np

from draws import between, normal, whole


def odd(rng, low, high):
    """A whole number between two, both included."""
    return int(rng.integers(low, high + 1))


def decoder(rng, n):
    """q [B, H, L, d], k and v [B, G, L, d] with G dividing H, tables of positions, slopes of heads."""
    d, group = int(rng.choice([4, 8, 20, 64])), odd(rng, 1, 3)
    heads = group * odd(rng, 1, 4)
    length = max(1, min(odd(rng, 2, 200), n // (heads * d)))
    batch = max(1, min(16, n // (heads * d * length)))
    apart = np.arange(length)[:, None] - np.arange(length)
    return {"q": normal(rng, batch, heads, length, d), "k": normal(rng, batch, group, length, d),
            "v": normal(rng, batch, group, length, d), "groups": heads // group, "scale": d ** -0.5, "half": d // 2,
            "mask": apart < 0, "apart": apart.astype(np.float32), "slopes": between(rng, 0.01, 0.5, heads), "length": length,
            "cos": normal(rng, length, d // 2), "sin": normal(rng, length, d // 2), "g": between(rng, 0.5, 1.5, d),
            "past": normal(rng, batch, group, length + 7, d), "batch": batch, "heads": heads, "d": d,
            "seen": (apart >= 0) & (apart < 1 + length // 3)}


def state_space(rng, n):
    """x and steps dt [B, L, E], a [E, N] below 0, what enters and leaves bs, cs [B, L, N], a first state h [B, E, N]."""
    states, length = int(rng.choice([4, 8, 16])), odd(rng, 3, 17)
    e = max(1, min(odd(rng, 5, 300), n // (states * length)))
    batch = max(1, min(32, n // (states * length * e)))
    return {"x": normal(rng, batch, length, e), "dt": between(rng, 0.01, 0.3, batch, length, e),
            "a": -between(rng, 0.1, 2, e, states), "bs": normal(rng, batch, length, states),
            "cs": normal(rng, batch, length, states), "h": normal(rng, batch, e, states), "length": length,
            "taps": normal(rng, e, 1, 4) / 2, "e": e, "wide": normal(rng, batch, e, length),
            "decay": between(rng, 0.7, 0.99, batch, length, e)}


def windows(rng, n):
    """x [B, side, side, C], of windows of `wide` pixels; weights and a bias for each pair of places."""
    wide, heads = int(rng.choice([3, 4, 7])), odd(rng, 1, 3)
    c = heads * int(rng.choice([4, 12, 32]))
    across = max(1, min(odd(rng, 1, 6), int((n / c) ** 0.5) // wide))
    batch = max(1, min(8, n // (c * (across * wide) ** 2)))
    return {"x": normal(rng, batch, across * wide, across * wide, c), "wide": wide, "across": across, "c": c, "batch": batch,
            "heads": heads, "d": c // heads, "wq": normal(rng, c, 3 * c) * c ** -0.5, "wo": normal(rng, c, c) * c ** -0.5,
            "bias": normal(rng, heads, wide * wide, wide * wide), "side": across * wide, "shift": wide // 2,
            "g": between(rng, 0.5, 1.5, c), "b": normal(rng, c), "pictures": normal(rng, batch, c, across * wide, across * wide),
            "stem": normal(rng, 2 * c, c, wide, wide) / wide, "dw": normal(rng, c, 1, 7, 7) / 7,
            "w1": normal(rng, c, 4 * c) * c ** -0.5, "w2": normal(rng, 4 * c, c) * c ** -0.5}


def codes(rng, n):
    """Points x [rows, d], centres c [count, d], the number of a centre for each point, another view y of the points."""
    d, count = int(rng.choice([2, 3, 17, 64])), odd(rng, 3, 130)
    rows = max(2, min(4000, n // max(d, count)))
    return {"x": normal(rng, rows, d), "c": normal(rng, count, d), "i": whole(rng, count, rows), "count": count,
            "y": normal(rng, rows, d), "rows": rows, "few": normal(rng, min(rows, 600), d), "others": normal(rng, min(rows,
            600), d),
            "places": np.arange(min(rows, 600), dtype=np.int32), "cost": between(rng, 0, 1, min(rows, 300), count)}


def vocabulary(rng, n):
    """Scores x [B, V] and y [B, beams, V] of words, sums h [B, beams] of beams, noise, values for updates."""
    words, beams = max(9, min(n, int(rng.choice([11, 97, 1003, 32000])))), odd(rng, 2, 5)
    batch = max(1, n // (words * beams))
    return {"x": normal(rng, batch, words), "y": normal(rng, batch, beams, words), "h": normal(rng, batch, beams),
            "words": words, "beams": beams, "batch": batch, "noise": between(rng, 0.01, 0.99, batch, words),
            "labels": whole(rng, words, batch), "old": normal(rng, batch), "gain": normal(rng, batch)}


def boxes(rng, n):
    """Boxes x [n, 4], y [m, 4] as corners, scores of each, distances to four sides."""
    m = max(1, min(odd(rng, 1, 200), n))
    count = max(1, min(3000, n // m))

    def corners(k):
        low = between(rng, 0, 1, k, 2)
        return np.concatenate((low, low + between(rng, 0.05, 0.5, k, 2)), 1)
    return {"x": corners(count), "y": corners(m), "paired": corners(count), "scores": between(rng, 0, 1, count)}


def rays(rng, n):
    """Densities [R, S], lengths of steps, colours [R, S, 3], points [R, S, 3]."""
    samples = odd(rng, 3, 130)
    count = max(1, n // samples // 3)
    return {"density": between(rng, 0, 2, count, samples), "far": between(rng, 0.01, 0.1, count, samples),
            "colours": between(rng, 0, 1, count, samples, 3), "points": normal(rng, count, samples, 3), "samples": samples}


def experts(rng, n):
    """x [T, E], a router, weights of experts [X, E, F], a table of vectors [X, E]."""
    e, count = int(rng.choice([4, 12, 33, 128])), odd(rng, 3, 9)
    rows = max(1, min(5000, n // (e * count)))
    f = e + e // 2
    return {"x": normal(rng, rows, e), "wg": normal(rng, e, count) * e ** -0.5, "count": count, "rows": rows,
            "w1": normal(rng, count, e, f) * e ** -0.5, "w2": normal(rng, count, f, e) * f ** -0.5,
            "table": normal(rng, count, e), "g": between(rng, 0.5, 1.5, e), "u": normal(rng, rows, e)}


def ragged(rng, n):
    """Rows x [n, c] of sequences side by side, sorted numbers of theirs, edges between rows, scores of edges."""
    c = int(rng.choice([1, 3, 16, 65]))
    rows = max(2, n // c)
    count = max(1, rows // odd(rng, 1, 30))
    return {"x": normal(rng, rows, c), "i": np.sort(whole(rng, count, rows)), "count": count, "scores": normal(rng, rows),
            "j": whole(rng, rows, rows), "base": np.zeros((count, c), np.float32), "one": np.zeros(count, np.float32),
            "ones": np.ones((count, c), np.float32)}


RECENT_DRAWS = {"decoder": decoder, "state space": state_space, "windows": windows, "codes": codes, "vocabulary": vocabulary,
                "boxes": boxes, "rays": rays, "experts": experts, "ragged": ragged}

_QUERIES = "q @ swapaxes(repeat_interleave(k, groups, 1), -1, -2) * scale"
_FOR_JAX = _QUERIES.replace("repeat_interleave", "repeat")
_WINDOWED = "{p}(x.reshape(batch, across, wide, across, wide, c), (0, 1, 3, 2, 4, 5)).reshape(-1, wide * wide, c)"
_ATTENDED = ("(lambda z: {p}(softmax(z[0] @ swapaxes(z[1], -1, -2) * 0.3 + bias, -1) @ z[2], (0, 2, 1, 3)).reshape(-1, "
             "wide * wide, c) @ wo)({p}((" + _WINDOWED + " @ wq).reshape(-1, wide * wide, 3, heads, d), (2, 0, 3, 1, 4)))")
_NORM = "(x * rsqrt((x * x).mean(-1) + 1e-6)[..., None] * g)"
_IOU = ("(lambda w, s, t: (w[..., 0] * w[..., 1]) / (s[:, None] + t - w[..., 0] * w[..., 1] + 1e-6))(relu(minimum(x[:, None, "
"2:], "
        "y[:, 2:]) - maximum(x[:, None, :2], y[:, :2])), (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]), (y[:, 2] - y[:, 0]) * "
        "(y[:, 3] - y[:, 1]))")

# (name, draw, text, {framework: its text or None}, is it differentiable)
RECENT = [
    ("queries in groups, causal", "decoder", f"softmax(where(mask, -1e4, {_QUERIES}), -1) @ repeat_interleave(v, groups, 1)",
     {"jax": f"softmax(where(mask, -1e4, {_FOR_JAX}), -1) @ repeat(v, groups, 1)"}, True),
    ("queries in groups by einsum", "decoder", "einsum('bgrqd,bgkd->bgrqk', q.reshape(batch, -1, groups, length, d), k) * scale",
     {}, True),
    ("attention of a library, causal", "decoder", "nn.functional.scaled_dot_product_attention(q, q * 0.5, q, None, 0.0, True)",
     {"mindspore": "scaled_dot_product_attention(q, q * 0.5, q, None, 0.0, True)", "jax": None}, True),
    ("slopes of heads", "decoder", f"softmax({_QUERIES} - slopes[:, None, None] * abs(apart), -1)",
     {"jax": f"softmax({_FOR_JAX} - slopes[:, None, None] * abs(apart), -1)"}, True),
    ("sliding window", "decoder", f"softmax(where(seen, {_QUERIES}, -1e4), -1)",
     {"jax": f"softmax(where(seen, {_FOR_JAX}, -1e4), -1)"}, True),
    ("rotary in pairs", "decoder", "stack((q[..., ::2] * cos - q[..., 1::2] * sin, q[..., ::2] * sin + q[..., 1::2] * cos), "
     "-1).reshape(batch, heads, length, d)", {}, True),
    ("rotary by halves", "decoder", "q * cat((cos, cos), -1) + cat((-q[..., half:], q[..., :half]), -1) * cat((sin, sin), -1)",
     {"jax": "q * concatenate((cos, cos), -1) + concatenate((-q[..., half:], q[..., :half]), -1) * concatenate((sin, sin), -1)"},
     True),
    ("norm of heads", "decoder", _NORM.replace("x", "q"), {}, True),
    ("cache and one query", "decoder", "softmax(q[:, :1, -1:] @ swapaxes(cat((past, k), 2)[:, :1], -1, -2) * scale, -1)",
     {"jax": "softmax(q[:, :1, -1:] @ swapaxes(concatenate((past, k), 2)[:, :1], -1, -2) * scale, -1)"}, True),
    ("retention", "decoder", "(q @ swapaxes(q, -1, -2) * where(mask, 0.0, exp(-slopes[:, None, None] * abs(apart)))) @ q",
    {}, True),
    ("causal linear attention", "decoder", "einsum('bhld,bhlde->bhle', q, cumsum(q[..., None] * (q * 0.5)[..., None, :], 2))",
     {}, True),
    ("selective scan, a loop", "state space", "stack(scanned(length, lambda s, t: (lambda n: (n, (n * cs[:, t, None]).sum(-1)))("
     "exp(dt[:, t, :, None] * a) * s + dt[:, t, :, None] * bs[:, t, None] * x[:, t, :, None]), h), 1)", {}, True),
    ("selective scan, discretised", "state space", "exp(dt[..., None] * a) * (dt * x)[..., None] * bs[:, :, None]", {}, True),
    ("selective scan, in logarithms", "state space", "(lambda s: (exp(s) * cumsum(exp(-s) * (dt * x)[..., None] * bs[:, :, "
    "None], "
     "1) * cs[:, :, None]).sum(-1))(cumsum(dt[..., None] * a, 1))", {}, True),
    ("gated recurrence, a loop", "state space", "stack(scanned(length, lambda s, t: (lambda n: (n, n))(decay[:, t] * s + (1 - "
     "decay[:, t]) * x[:, t]), x[:, 0]), 1)", {}, True),
    ("causal taps and silu", "state space", "silu(conv1d(pad(wide, (3, 0)), taps, None, 1, 0, 1, e))", {
        "mindspore": "silu(conv1d(pad(wide, (3, 0)), taps, None, 1, 'pad', 0, 1, e))",
        "jax": "silu(conv_general_dilated(wide, taps, (1,), [(3, 0)], feature_group_count=e))"}, True),
    ("long convolution by rfft", "state space", "irfft(rfft(wide, 2 * length) * rfft(wide[:1] * 0.1, 2 * length), "
     "2 * length)[..., :length]", {"torch": "torch.fft.irfft(torch.fft.rfft(wide, 2 * length) * torch.fft.rfft(wide[:1] * 0.1, "
                                   "2 * length), 2 * length)[..., :length]"}, True),
    ("windows", "windows", _WINDOWED.format(p="permute") + " * 2", {"jax": _WINDOWED.format(p="transpose") + " * 2"}, True),
    ("attention in windows", "windows", _ATTENDED.format(p="permute"), {"jax": _ATTENDED.format(p="transpose")}, True),
    ("shifted windows", "windows", "roll(x, (-shift, -shift), (1, 2)) * g + b", {}, True),
    ("patch embedding", "windows", "conv2d(pictures, stem, None, wide)", {
        "mindspore": "conv2d(pictures, stem, None, wide, 'valid')",
        "jax": "conv_general_dilated(pictures, stem, (wide, wide), 'VALID')"}, True),
    ("depthwise 7 x 7", "windows", "conv2d(pictures, dw, None, 1, 3, 1, c)", {
        "mindspore": "conv2d(pictures, dw, None, 1, 'pad', 3, 1, c)",
        "jax": "conv_general_dilated(pictures, dw, (1, 1), [(3, 3), (3, 3)], feature_group_count=c)"}, True),
    ("norm, widened, gelu, back", "windows", "x + gelu(layer_norm(x, (c,), g, b) @ w1) @ w2", {
        "jax": "x + gelu(((x - x.mean(-1, keepdims=True)) * rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b) @ w1, "
               "approximate=False) @ w2"}, True),
    ("adaptive norm", "windows", "layer_norm(x, (c,)) * (1 + x[:, :1, :1] * g) + x[:, -1:, -1:] * b", {
        "jax": "(x - x.mean(-1, keepdims=True)) * rsqrt(x.var(-1, keepdims=True) + 1e-5) * (1 + x[:, :1, :1] * g) + "
               "x[:, -1:, -1:] * b"}, True),
    ("global response", "windows", "(lambda n: x + g * x * (n / (n.mean(-1)[..., None] + 1e-6)) + b)(sqrt((x * x).sum((1, 2)) + "
     "1e-6)[:, None, None])", {}, True),
    ("root mean square with weights", "experts", _NORM, {}, True),
    ("swish and gate", "experts", "silu(x) * u", {}, True),
    ("two experts of all", "experts", "(lambda s: (softmax(s[0], -1)[..., None] * table[s[1]]).sum(-2))(topk(x @ wg, 2))",
     {"jax": "(lambda s: (softmax(s[0], -1)[..., None] * table[s[1]]).sum(-2))(top_k(x @ wg, 2))"}, True),
    ("all experts, weighed", "experts", "einsum('te,tef->tf', softmax(x @ wg, -1), swapaxes(silu(x @ w1) @ w2, 0, 1))", {},
    True),
    ("balance of experts", "experts", "(lambda p: (p.mean(0) * (p >= amax(p, -1)[:, None]).mean(0)).sum() * count)("
     "softmax(x @ wg, -1))", {
         "torch": "(lambda p: (p.mean(0) * (p >= amax(p, -1)[:, None]).to(p.dtype).mean(0)).sum() * count)(softmax(x @ wg, -1))",
         "mindspore": "(lambda p: (p.mean(0) * (p >= amax(p, -1)[:, None]).astype(p.dtype).mean(0)).sum() * count)("
                      "softmax(x @ wg, -1))"}, True),
    ("place among a chosen expert's", "experts", "cumsum(one_hot(argmax(x @ wg, 1), count), 0)", {
        "torch": "cumsum(nn.functional.one_hot(argmax(x @ wg, 1), count), 0)"}, False),
    ("nearest code", "codes", "argmin((x * x).sum(1)[:, None] - 2 * (x @ c.T) + (c * c).sum(1), 1)", {}, False),
    ("straight through a code", "codes", "(lambda e: x + (e - x).detach())(c[i])", {
        "mindspore": "(lambda e: x + stop_gradient(e - x))(c[i])", "jax": "(lambda e: x + stop_gradient(e - x))(c[i])"}, True),
    ("new centres", "codes", "index_add(zeros_like(c), 0, i, x) / (index_add(zeros_like(c[:, 0]), 0, i, ones_like(x[:, "
    "0]))[:, None] "
     "+ 1e-3)", {
         "mindspore": "index_add(zeros_like(c), i, x, 0) / (index_add(zeros_like(c[:, 0]), i, ones_like(x[:, 0]), 0)[:, None] "
         "+ 1e-3)",
         "jax": "zeros_like(c).at[i].add(x) / (zeros_like(c[:, 0]).at[i].add(1.0)[:, None] + 1e-3)"}, True),
    ("contrast of two views", "codes", "(lambda p, q: cross_entropy(p @ q.T / 0.1, places.long()))(few / sqrt((few * "
    "few).sum(1) + "
     "1e-6)[:, None], others / sqrt((others * others).sum(1) + 1e-6)[:, None])", {
         "mindspore": "(lambda p, q: cross_entropy(p @ q.T / 0.1, places))(few / sqrt((few * few).sum(1) + 1e-6)[:, None], "
         "others / "
                      "sqrt((others * others).sum(1) + 1e-6)[:, None])",
         "jax": "(lambda p, q: -take_along_axis(log_softmax(p @ q.T / 0.1), places[:, None], 1).mean())(few / sqrt((few * "
         "few).sum("
                "1) + 1e-6)[:, None], others / sqrt((others * others).sum(1) + 1e-6)[:, None])"}, True),
    ("redundancy of features", "codes", "(lambda z: ((z - 1) * z).sum())(((x - x.mean(0)).T @ (y - y.mean(0))) / rows)", {},
    True),
    ("Chamfer distance", "codes", "(lambda d: amin(d, 1).mean() + amin(d, 0).mean())(((few[:, None] - others[:200]) ** "
    "2).sum(-1))",
     {}, True),
    ("Sinkhorn, five steps", "codes", "steps(5, lambda z: (lambda w: w - logsumexp(w, 0))(z - logsumexp(z, 1)[:, None]), cost "
    "* 3)",
     {}, True),
    ("one-dimensional transport", "codes", "abs(sort(x, 0)[0] - sort(y, 0)[0]).mean()", {
        "jax": "abs(sort(x, 0) - sort(y, 0)).mean()"}, True),
    ("orthogonal by Newton and Schulz", "codes", "steps(3, lambda z: 1.5 * z - 0.5 * z @ (z.T @ z), c / sqrt((c * c).sum() + "
    "1e-6))",
     {}, True),
    ("likeliest continuations", "vocabulary", "topk((log_softmax(y, -1) + h[..., None]).reshape(batch, -1), beams)[1] % words", {
        "jax": "top_k((log_softmax(y, -1) + h[..., None]).reshape(batch, -1), beams)[1] % words"}, False),
    ("nucleus", "vocabulary", "(lambda s: where(cumsum(s, -1) - s < 0.9, s, 0.0))(sort(softmax(x, -1), -1, True)[0])", {
        "torch": "(lambda s: where(cumsum(s, -1) - s < 0.9, s, 0.0))(sort(softmax(x, -1), -1, True)[0])",
        "jax": "(lambda s: where(cumsum(s, -1) - s < 0.9, s, 0.0))(-sort(-softmax(x, -1), -1))"}, True),
    ("all but the best are out", "vocabulary", "where(x < topk(x, 5)[0][:, -1:], -1e4, x)", {
        "jax": "where(x < top_k(x, 5)[0][:, -1:], -1e4, x)"}, True),
    ("Gumbel and softmax", "vocabulary", "softmax((x - log(-log(noise))) / 0.7, -1)", {}, True),
    ("entropy with a z loss", "vocabulary", "(lambda z: (z - x[arange(batch), labels]).mean() + 1e-4 * (z * z).mean())("
     "logsumexp(x, -1))", {}, True),
    ("clipped policy", "vocabulary", "(lambda r: -minimum(r * gain, clamp(r, 0.8, 1.2) * gain).mean())(exp("
     "log_softmax(x, -1)[arange(batch), labels] - old))", {
         "jax": "(lambda r: -minimum(r * gain, clip(r, 0.8, 1.2) * gain).mean())(exp(log_softmax(x, -1)[arange(batch), "
         "labels] - "
                "old))"}, True),
    ("overlap of all boxes", "boxes", _IOU, {}, True),
    ("overlap of pairs", "boxes", "(lambda w, s, t: (w[:, 0] * w[:, 1]) / (s + t - w[:, 0] * w[:, 1] + "
    "1e-6))(relu(minimum(x[:, 2:], "
     "paired[:, 2:]) - maximum(x[:, :2], paired[:, :2])), (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]), (paired[:, 2] - "
     "paired[:, 0])"
     " * (paired[:, 3] - paired[:, 1]))", {}, True),
    ("corners to centres", "boxes", "cat(((x[:, :2] + x[:, 2:]) * 0.5, x[:, 2:] - x[:, :2]), -1)", {
        "jax": "concatenate(((x[:, :2] + x[:, 2:]) * 0.5, x[:, 2:] - x[:, :2]), -1)"}, True),
    ("colours along rays", "rays", "(lambda p: ((p * cumprod(1 - p + 1e-6, -1))[..., None] * colours).sum(1))(1 - "
    "exp(-density * "
     "far))", {}, True),
    ("waves of positions", "rays", "cat((points, sin(points * 3), cos(points * 3), sin(points * 9), cos(points * 9)), -1)", {
        "jax": "concatenate((points, sin(points * 3), cos(points * 3), sin(points * 9), cos(points * 9)), -1)"}, True),
    ("unit directions", "rays", "points / sqrt((points * points).sum(-1) + 1e-9)[..., None]", {}, True),
    ("whole numbers of eight bits", "experts", "(lambda s: clamp(round(x / s), -127, 127) * s)(amax(abs(x), -1)[:, None] / "
    "127 + "
     "1e-6)", {"jax": "(lambda s: clip(round(x / s), -127, 127) * s)(amax(abs(x), -1)[:, None] / 127 + 1e-6)"}, True),
    ("quantised by groups, straight through", "experts", "(lambda s: x + (clamp(round(x / s), -7, 7) * s - x).detach())("
     "amax(abs(x), 0) / 7 + 1e-6)", {
         "mindspore": "(lambda s: x + stop_gradient(clamp(round(x / s), -7, 7) * s - x))(amax(abs(x), 0) / 7 + 1e-6)",
         "jax": "(lambda s: x + stop_gradient(clip(round(x / s), -7, 7) * s - x))(amax(abs(x), 0) / 7 + 1e-6)"}, True),
    ("softmax of each segment", "ragged", "(lambda e: e / (index_add(one, 0, i, e) + 1e-6)[i])(exp(scores))", {
        "mindspore": "(lambda e: e / (index_add(one, i, e, 0) + 1e-6)[i])(exp(scores))",
        "jax": "(lambda e: e / (one.at[i].add(e) + 1e-6)[i])(exp(scores))"}, True),
    ("mean of each segment", "ragged", "index_add(base, 0, i, x) / (index_add(one, 0, i, ones_like(scores))[:, None] + 1e-6)", {
        "mindspore": "index_add(base, i, x, 0) / (index_add(one, i, ones_like(scores), 0)[:, None] + 1e-6)",
        "jax": "base.at[i].add(x) / (one.at[i].add(1.0)[:, None] + 1e-6)"}, True),
    ("product of each segment", "ragged", "index_reduce(ones, 0, i, 1 + 0.01 * x, 'prod')", {
        "torch": "ones.index_reduce(0, i, 1 + 0.01 * x, 'prod')", "mindspore": "unsorted_segment_prod(1 + 0.01 * x, i, count)",
        "jax": "ones.at[i].mul(1 + 0.01 * x)"}, True),
    ("products at indices", "ragged", "ones.index_reduce(0, i, 1 + 0.01 * x, 'prod')", {
        "mindspore": "tensor_scatter_mul(ones, i[:, None], 1 + 0.01 * x)", "jax": "ones.at[i].mul(1 + 0.01 * x)"}, True),
    ("attention along edges", "ragged", "(lambda z, e: index_add(base, 0, i, e[:, None] * x[j]) / (index_add(one, 0, i, e)[:, "
    "None] "
     "+ 1e-6))(x, exp(scores[j] - scores))", {
         "mindspore": "(lambda z, e: index_add(base, i, e[:, None] * x[j], 0) / (index_add(one, i, e, 0)[:, None] + 1e-6))(x, "
         "exp("
                      "scores[j] - scores))",
         "jax": "(lambda z, e: base.at[i].add(e[:, None] * x[j]) / (one.at[i].add(e)[:, None] + 1e-6))(x, exp(scores[j] - "
         "scores))"},
     True),
]
