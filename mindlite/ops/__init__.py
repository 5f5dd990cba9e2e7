"""Every operator. One family per file; one block per operator: signature, docstring, rules."""
# flake8: noqa: F401
import importlib
import sys
import types
from typing import TYPE_CHECKING

from . import dlpack, evaluate, later, methods
from .activation import (celu, gelu, gelu_erf, gelu_tanh, glu, hardsigmoid, hardswish, hardtanh, log_softmax,
                         logsigmoid, mish, prelu, relu, relu6, selu, silu, softmax, softmin, softshrink, softsign,
                         swish, tanhshrink, threshold)
from .arithmetic import (abs, absolute, add, addcdiv, addcmul, ceil, clamp, clip, clip_by_value, div,
                         divide, floor, floor_div, floor_divide, floor_mod, fmod, frac, hypot, lerp,
                         maximum, minimum, mod, mul, multiply, neg, negative, pow, power, reciprocal,
                         remainder, round, sign, square, sub, subtract, true_divide, trunc)
from .complex_numbers import (angle, conj, imag, make_complex as complex, polar, real, view_as_real)
from .creation import (arange, empty, eye, full, full_like, linspace, logspace, one_hot, ones,
                       ones_like, tril, triu, zeros, zeros_like)
from .elementary import (acos, acosh, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin,
                         asinh, atan, atan2, atanh, cos, cosh, erf, erfc, exp, exp2, expm1, log, log10,
                         log1p, log2, logaddexp, rsqrt, sigmoid, sin, sinh, sqrt, tan, tanh)
from .logic import (bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift,
                    bitwise_xor, eq, equal, ge, greater, greater_equal, gt, isclose, isfinite, isinf,
                    isnan, le, less, less_equal, logical_and, logical_not, logical_or, logical_xor, lt,
                    masked_fill, nan_to_num, ne, not_equal, select, where)
from .moments import logsumexp, mean, std, std_mean, var, var_mean
from .reduction import all, amax, amin, any, argmax, argmin, count_nonzero, max, min, prod, sum
from .scan import cummax, cummin, cumprod, cumsum, logcumsumexp
from .sort import argsort, argwhere, msort, nonzero, sort, topk, unique
from . import array_methods, filling_methods, tensor_methods
from .stacking import (atleast_1d, atleast_2d, atleast_3d, block_diag, column_stack, dsplit, dstack, hsplit, hstack,
                       row_stack, tensor_split, vsplit, vstack)
from .structure import (broadcast_tensors, cat, chunk, concat, expand_dims, flatten, flip, fliplr,
                        flipud, meshgrid, moveaxis, movedim, narrow, pad, permute, ravel,
                        roll, split, squeeze, stack, swapaxes, swapdims, tile,
                        unbind, unflatten, unsqueeze, unstack)
from .lookup import (embedding, gather, gather_d, gather_elements, index_add, index_select, scatter_nd,
                     tensor_scatter_add, tensor_scatter_elements, tensor_scatter_update)
from .getitem import getitem, setitem, strided_slice
from .linalg import (addmm, addmv, baddbmm, bias_add, bmm, dense, dot, linear, matmul, mm, mv, outer,
                     tensor_dot)
from .decomposition import (cholesky, cholesky_inverse, cholesky_solve, det, logdet, matrix_solve, slogdet, solve,
                            solve_triangular)
from .einsum import einsum
from .products import (addbmm, addr, bidense, cdist, cross, dist, ger, kron, matrix_band_part, pdist, ptp, trapz,
                       vander, vecdot)
from .segments import sparse_segment_mean, unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum
from .singular import svd
from .special import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, digamma, erfinv, lgamma, polygamma
from .nn_conv import conv1d, conv2d, conv2d_transpose
from .conv3d import conv3d, conv3d_transpose
from .nn_pool import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from .nn_norm import (batch_norm, batch_norm_train, group_norm, instance_norm, l2_normalize, layer_norm,
                      layer_norm_from_axis, rms_norm)
from .random import (bernoulli, dropout, dropout1d, dropout2d, dropout3d, gumbel, multinomial, normal, rand, rand_like, randint, randn, randn_like,
                     randperm, shuffle, standard_normal, uniform)
from .state import assign_add, assign_sub, depend, identity, print_, rank, shape, size, stop_gradient
from .nn_loss import (binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss,
                      cosine_similarity, cross_entropy, gaussian_nll_loss, hinge_embedding_loss,
                      huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss, nll_loss,
                      pairwise_distance, smooth_l1_loss, soft_margin_loss,
                      softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits,
                      triplet_margin_loss)
from .adaptive_pool import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
                            adaptive_max_pool3d)
from .attention import scaled_dot_product_attention
from .banded import matrix_diag, matrix_diag_part, matrix_set_diag
from .combined import (accumulate_n, addn, approximate_equal, clip_by_norm, copysign, deg2rad, div_no_nan, fast_gelu,
                       float_power, heaviside, inplace_add, inplace_sub, inplace_update, is_nonzero, isneginf, isposinf,
                       isreal, ldexp, logaddexp2, logit, mul_no_nan, nanmean, nansum, positive, rad2deg, renorm, rint,
                       sgn, signbit, sinc, squared_difference, swiglu, truncate_div, truncate_mod, xdivy, xlogy)
from .diagonal import diag, diag_embed, diagonal, diagonal_scatter, trace
from .patches import affine_grid, fold, grid_sample, padding, unfold
from .pool3d import avg_pool3d, max_pool3d
from .resize import crop_and_resize, resize
from .unpool import lp_pool1d, lp_pool2d, max_unpool1d, max_unpool2d, max_unpool3d
from .repeats import repeat_interleave
from .sorted_search import searchsorted, unique_with_pad
from .scatter import (tensor_scatter_div, tensor_scatter_max, tensor_scatter_min, tensor_scatter_mul, tensor_scatter_sub)
from .tensor_methods import FUNCTIONS
from .norms import cond, matrix_norm, norm, pinv, vector_norm
from .whole_numbers import gcd, lcm, population_count

if TYPE_CHECKING:                                # an attribute may be given by its place, which their declarations do not say
    from .by_position import (adagrad_update, adam_update, adam_weight_decay_update, adamw_update, assign,
                              broadcast_to, cast, centered_rmsprop_update, dynamic_slice, dynamic_update, elu,
                              gather_nd, hardshrink, inverse, lamb_update, leaky_relu, masked_select, momentum_update,
                              reduce_all, reduce_any, reduce_logsumexp, reduce_max, reduce_mean, reduce_min,
                              reduce_norm, reduce_prod, reduce_sum, reshape, rmsprop_update, sgd_update, softplus,
                              transpose)
else:
    from .activation import elu, hardshrink, leaky_relu, softplus
    from .moments import reduce_logsumexp, reduce_mean, reduce_norm
    from .reduction import reduce_all, reduce_any, reduce_max, reduce_min, reduce_prod
    from .sort import masked_select
    from .basic import broadcast_to, cast, reduce_sum, reshape, transpose
    from .dynamic_slicing import dynamic_slice, dynamic_update
    from .indexing import gather_nd
    from .decomposition import inverse
    from .state import assign
    from .optim_update import (adagrad_update, adam_update, adam_weight_decay_update, adamw_update,
                               centered_rmsprop_update, lamb_update, momentum_update, rmsprop_update, sgd_update)

if TYPE_CHECKING:                                # what `later` imports, and what the tables of methods name, for who reads types
    from .bessel import bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1, bessel_k1e, bessel_y0, bessel_y1
    from .blocks import (batch_to_space_nd, channel_shuffle, depth_to_space, pixel_shuffle, pixel_unshuffle, space_to_batch_nd,
                         space_to_depth)
    from .boxes import bounding_box_decode, bounding_box_encode, check_valid, iou
    from .counting import (bincount, bucketize, cartesian_prod, combinations, histc, reverse_sequence, sequence_mask,
                           tril_indices, triu_indices, unique_consecutive, unravel_index)
    from .ctc import ctc_greedy_decoder, ctc_loss
    from .distributions import (cauchy, choice_with_mask, exponential, gamma, gumbel_softmax, laplace, log_normal,
                                multinomial_with_replacement, poisson, random_categorical, random_gamma, random_poisson, rrelu,
                                standard_laplace)
    from .factors import eig, eigvals, geqrf, lstsq, lu_solve, lu_unpack, matrix_exp, orgqr, ormqr, qr
    from .filling import choose, fill, fill_diagonal, fills, index_copy, index_fill, masked_scatter, put, resized
    from .candidates import log_uniform_candidate_sampler, uniform_candidate_sampler
    from .fractional_pool import fractional_max_pool2d, fractional_max_pool3d
    from .regions import nms_with_mask, ps_roi_pooling, roi_align
    from .fourier import (fft, fft2, fftfreq, fftn, fftshift, hfft, hfft2, hfftn, ifft, ifft2, ifftn, ifftshift, ihfft, ihfft2,
                          ihfftn, irfft, irfft2, irfftn, rfft, rfft2, rfftfreq, rfftn)
    from .gamma_functions import betainc, igamma, igammac, mvlgamma, nextafter, zeta
    from .historical import (batch_dot, clip_by_global_norm, col2im, deepcopy, dyn_shape, eps, frombuffer, inplace_index_add,
                             intopk, is_tensor, lrn, mirror_pad, repeat_elements, scalar_cast,
                             scalar_to_tensor, tuple_to_array, view_as)
    from .interpolation import interpolate
    from .margin_losses import (multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, poisson_nll_loss,
                                triplet_margin_with_distance_loss)
    from .order_statistics import median, nanmedian, nanquantile, quantile
    from .signals import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window, stft
    from .sparse_functions import (coo_abs, coo_acos, coo_acosh, coo_asin, coo_asinh, coo_atan, coo_atanh, coo_ceil, coo_cos,
                                   coo_cosh, coo_exp, coo_expm1, coo_floor, coo_inv, coo_isfinite, coo_isinf, coo_isnan,
                                   coo_log, coo_log1p, coo_neg, coo_relu, coo_relu6, coo_round, coo_sigmoid, coo_sin, coo_sinh,
                                   coo_softsign, coo_sqrt, coo_square, coo_tan, coo_tanh, csr_abs, csr_acos, csr_acosh,
                                   csr_asin, csr_asinh, csr_atan, csr_atanh, csr_ceil, csr_cos, csr_cosh, csr_exp, csr_expm1,
                                   csr_floor, csr_inv, csr_isfinite, csr_isinf, csr_isnan, csr_log, csr_log1p, csr_mm, csr_mul,
                                   csr_mv, csr_neg, csr_reduce_sum, csr_relu, csr_relu6, csr_round, csr_sigmoid, csr_sin,
                                   csr_sinh, csr_softsign, csr_sqrt, csr_square, csr_tan, csr_tanh, csr_to_coo, csr_to_dense,
                                   dense_to_sparse_coo, dense_to_sparse_csr)
    from .sparse_functions import coalesce, coo2csr, csr2coo, csr_div, csr_gather, row_tensor_add
    from .tensor_methods import (_adjoint as adjoint, _allclose as allclose, _aminmax as aminmax, _cov as cov,
                                 _diagflat as diagflat, _diff as diff, _fmax as fmax, _fmin as fmin, _index_put as index_put,
                                 _inner as inner, _is_complex as is_complex, _kthvalue as kthvalue,
                                 _matrix_power as matrix_power, _numel as numel, _rot90 as rot90, _scatter as scatter,
                                 _t as t, select_scatter, slice_scatter)
    from .state import stop_gradient as detach
    from .tensor_methods import _is_floating_point as is_floating_point
    operations: types.ModuleType

globals().update({_name: _function for _name, _function in FUNCTIONS.items()
                  if isinstance(globals().get(_name), (types.NoneType, types.ModuleType))})     # ops.scatter: not the module


class _Room(types.ModuleType):
    """This module, whose room of classes, and families of `later`, are loaded when they are asked for."""

    def __getattr__(self, name):
        if name not in later.FUNCTIONS:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = later.find(name)
        setattr(self, name, found)
        return found

    def __dir__(self):
        return sorted({*self.__dict__, *later.FUNCTIONS})

    @property
    def operations(self):
        """mindlite.ops.operations"""
        return importlib.import_module(".operations", __name__)

    @operations.setter
    def operations(self, room):
        pass                                     # what the import system does after loading it


sys.modules[__name__].__class__ = _Room
