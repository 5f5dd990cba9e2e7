"""Sums over the paths through a lattice, step by step: from each state to itself, to the next one and to the one behind that.

    out[t, n, s] = scores[t, n, s] + log(e^out[t-1, n, s] + e^out[t-1, n, s-1] + e^(out[t-1, n, s-2] + barrier[n, s]))

A path that there is not has the logarithm `nothing`: finite, so that no slope is NaN. The derivative is a linear recurrence
through the same lattice, whose transpose is one from the other end; so derivatives of any order are made of these two.

Source: the forward and backward variables of Graves et al. 2006, section 4.1.
"""
from __future__ import annotations

import numpy as np

from ..common import dtype as dt
from ..common.dim import dim_min
from ..common.errors import DTypeError, ShapeError
from ..mindir.constraints import require
from ..mindir.primitive import bprop_rule, eval_rule, infer_rule, jvp_rule, primitive, vmap_rule
from .arithmetic import maximum
from .basic import batched, move_batch_axis, reduce_sum, reshape
from .define import as_operand
from .elementary import exp
from .logic import where
from .sbp import sbp_rule
from .slicing import take_range, zeros_like_shape
from .structure import concat


def _prepare(args, attrs):
    return tuple(map(as_operand, args)), attrs


@primitive(prepare=_prepare, traits={"library"})
def path_sums(scores, barrier, *, nothing):
    """out[0] = scores[0], and further as the module has it; at least `nothing`.

    scores : float32 or float64 [T, N, S];   barrier : of its dtype, [N, S];   nothing : a float;   out : like scores
    """


@primitive(prepare=_prepare, traits={"library"})
def lattice_recurrence(stay, step, jump, d, *, reverse):
    """out[t, .., s] = d[t, .., s] + sum over k of w_k[t, .., s] out[t-1, .., s-k], of w = stay, step, jump for k = 0, 1, 2; what
    is outside is 0. reverse: the transpose, out[t, .., s] = d[t, .., s] + sum over k of (w_k out)[t+1, .., s+k].

    stay, step, jump, d : float32 or float64 [T, N, S];   out : like them
    """


def _check(name, x, others):
    if x.dtype not in (dt.float32, dt.float64) or any(other.dtype is not x.dtype for other, _ in others):
        raise DTypeError(f"{name}: float32 or float64 is wanted", note=f"{x}, {', '.join(str(other) for other, _ in others)}")
    for other, want in others:
        error = lambda: ShapeError(f"{name}: the operands do not fit", note=f"{x}, {other}")  # noqa: B023, E731
        if x.ndim != 3 or other.ndim != len(want):
            raise error()
        for have, size in zip(other.shape, want):
            require("==", have, size, error)


@infer_rule(path_sums)
def path_sums_infer(scores, barrier, *, nothing):
    _check("path_sums", scores, [(barrier, scores.shape[1:])])
    return scores


@infer_rule(lattice_recurrence)
def lattice_recurrence_infer(stay, step, jump, d, *, reverse):
    _check("lattice_recurrence", d, [(w, d.shape) for w in (stay, step, jump)])
    return d


@eval_rule(path_sums)
def path_sums_eval(scores, barrier, *, nothing):
    nothing = scores.dtype.type(nothing)
    out = np.maximum(scores, nothing)
    with np.errstate(all="ignore"):
        for t in range(1, len(out)):
            wide = np.full((*out.shape[1:-1], out.shape[-1] + 2), nothing)
            wide[:, 2:] = out[t - 1]
            ways = wide[:, 2:], wide[:, 1:-1], wide[:, :-2] + barrier
            most = np.maximum(np.maximum(ways[0], ways[1]), ways[2])
            total = np.exp(ways[0] - most) + np.exp(ways[1] - most) + np.exp(ways[2] - most)
            out[t] = np.maximum(scores[t] + (most + np.log(total)), nothing)
    return out


@eval_rule(lattice_recurrence)
def lattice_recurrence_eval(stay, step, jump, d, *, reverse):
    out = d.copy()
    order = range(len(out) - 1, -1, -1) if reverse else range(len(out))
    with np.errstate(all="ignore"):
        for before, t in zip(order, order[1:]):
            for k, w in enumerate((stay, step, jump)):
                last = max(out.shape[-1] - k, 0)
                if reverse:
                    out[t, :, :last] += w[before, :, k:] * out[before, :, k:]
                else:
                    out[t, :, k:] += w[t, :, k:] * out[before, :, :last]
    return out


def _moved(z, k, fill=0.0):
    """z[t-1, .., s-k] at [t, .., s]."""
    one, several = dim_min(z.shape[0], 1), dim_min(z.shape[2], k)
    z = concat([zeros_like_shape(take_range(z, 0, 0, one)) + fill, take_range(z, 0, 0, z.shape[0] - one)], 0)
    return z if k == 0 else concat([zeros_like_shape(take_range(z, 2, 0, several)) + fill,
                                    take_range(z, 2, 0, z.shape[2] - several)], 2)


def _moved_back(z, k):
    """z[t+1, .., s+k] at [t, .., s]."""
    one, several = dim_min(z.shape[0], 1), dim_min(z.shape[2], k)
    z = concat([take_range(z, 0, one, z.shape[0]), zeros_like_shape(take_range(z, 0, 0, one))], 0)
    return z if k == 0 else concat([take_range(z, 2, several, z.shape[2]), zeros_like_shape(take_range(z, 2, 0, several))], 2)


def _shares(out, barrier, nothing):
    """(whether there is a path, what part of the paths to a state comes from itself, the one before, the one before that)"""
    alive = out > nothing / 2
    ways = _moved(out, 0, nothing), _moved(out, 1, nothing), _moved(out, 2, nothing) + barrier
    most = maximum(maximum(ways[0], ways[1]), ways[2])
    parts = [exp(way - most) for way in ways]
    total = parts[0] + parts[1] + parts[2]
    return alive, *(where(alive, part / total, 0) for part in parts)


@bprop_rule(path_sums)
def path_sums_bprop(scores, barrier, out, dout, *, nothing):
    alive, stay, step, jump = _shares(out, barrier, nothing)
    slope = lattice_recurrence(stay, step, jump, where(alive, dout, 0), reverse=True)
    slope = where(alive, slope, 0)
    first = take_range(slope, 0, dim_min(slope.shape[0], 1), slope.shape[0])
    return slope, reduce_sum(first * take_range(jump, 0, dim_min(slope.shape[0], 1), slope.shape[0]), axis=0, keepdims=False)


@jvp_rule(path_sums)
def path_sums_jvp(primals, tangents, out, *, nothing):
    alive, stay, step, jump = _shares(out, primals[1], nothing)
    change = zeros_like_shape(out) if tangents[0] is None else tangents[0]
    if tangents[1] is not None:
        one = dim_min(out.shape[0], 1)
        change = change + concat([zeros_like_shape(take_range(out, 0, 0, one)),
                                  take_range(jump, 0, one, out.shape[0]) * tangents[1]], 0)
    return lattice_recurrence(stay, step, jump, where(alive, change, 0), reverse=False)


@bprop_rule(lattice_recurrence)
def lattice_recurrence_bprop(stay, step, jump, d, out, dout, *, reverse):
    slope = lattice_recurrence(stay, step, jump, dout, reverse=not reverse)
    ahead, behind = (out, slope) if reverse else (slope, out)
    return *(ahead * _moved(behind, k) for k in range(3)), slope


@jvp_rule(lattice_recurrence)
def lattice_recurrence_jvp(primals, tangents, out, *, reverse):
    change = zeros_like_shape(out) if tangents[3] is None else tangents[3]
    for k, tangent in enumerate(tangents[:3]):
        if tangent is not None:
            change = change + (_moved_back(tangent * out, k) if reverse else tangent * _moved(out, k))
    return lattice_recurrence(*primals[:3], change, reverse=reverse)


def _joined(x, dim, size, axis):
    """x whose batch is part of the axis before which it stands."""
    x = move_batch_axis(batched(x, dim, size), 0, axis)
    shape = tuple(x.shape)
    return reshape(x, shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))


def _parted(out, size):
    t, many, s = out.shape
    return reshape(out, shape=(t, size, many // size, s)), 1


@vmap_rule(path_sums)
def path_sums_vmap(args, dims, size, *, nothing):
    return _parted(path_sums(_joined(args[0], dims[0], size, 1), _joined(args[1], dims[1], size, 0), nothing=nothing), size)


@vmap_rule(lattice_recurrence)
def lattice_recurrence_vmap(args, dims, size, *, reverse):
    return _parted(lattice_recurrence(*(_joined(x, dim, size, 1) for x, dim in zip(args, dims)), reverse=reverse), size)


sbp_rule(path_sums, "_n_,n_->_n_")
sbp_rule(lattice_recurrence, "_n_,_n_,_n_,_n_->_n_", linear=[{3}])
