"""NumPy's functions on Tensors, under NumPy's names, as MindSpore's `mindspore.numpy` has them.

    import mindlite.numpy as mnp          mnp.sum(mnp.arange(6).reshape(2, 3), axis=0)

Each is a few lines over the operators of `ops`, so it runs in graphs, has gradients and is fused as they are. What needs
to see the elements (unique, intersect1d, setdiff1d) runs in Python.
"""
# flake8: noqa: F401
from ..common.dtype import (bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
from .algebra import (convolve, correlate, cross, digitize, dot, gradient, in1d, inner, interp, intersect1d, isin, kron,
                      matmul, matrix_power, multi_dot, outer, polyadd, polyder, polyint, polymul, polysub, polyval, ravel_multi_index,
                      searchsorted, setdiff1d, tensordot, unique, unravel_index, unwrap)
from .arrays import (arange, array, asarray, asfarray, bartlett, blackman, copy, diag, diag_indices, diagflat, e, empty,
                     empty_like, euler_gamma, eye, full, full_like, geomspace, hamming, hanning, identity, indices, inf,
                     ix_, linspace, logspace, meshgrid, mgrid, nan, newaxis, ogrid, ones, ones_like, pi, rand, randint,
                     randn, tri, tril, tril_indices, tril_indices_from, triu, triu_indices, triu_indices_from, vander,
                     zeros, zeros_like)
from .elementwise import (FUNCTIONS, around, array_equal, array_equiv, clip, divmod, isclose, isscalar, piecewise, promote_types,
                          result_type, select, where)
from .reductions import (all, amax, amin, any, argmax, argmin, average, bincount, corrcoef, count_nonzero, cov, cumprod,
                         cumsum, diff, ediff1d, histogram, histogram2d, histogram_bin_edges, histogramdd, max, mean, min, nancumsum, nanmax,
                         nanmean, nanmin, nanstd, nansum, nanvar, norm, ptp, sometrue, std, sum, trapz, var)
from .shaping import (append, apply_along_axis, apply_over_axes, argwhere, array_split, array_str, atleast_1d, atleast_2d,
                      atleast_3d, broadcast_arrays, broadcast_to, choose, column_stack, concatenate, diagonal, dsplit,
                      dstack, expand_dims, flip, fliplr, flipud, hsplit, hstack, moveaxis, pad, ravel, repeat, reshape,
                      roll, rollaxis, rot90, size, split, squeeze, stack, swapaxes, take, take_along_axis, tile, trace,
                      transpose, vsplit, vstack)

float_, int_, uint, bool = float32, int32, uint32, bool_
globals().update(FUNCTIONS)
