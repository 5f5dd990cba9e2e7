"""Every operator. One family per file; one block per operator: signature, docstring, rules."""
# flake8: noqa: F401
import importlib
import sys
import types

from . import evaluate, later, methods
from .activation import (celu, elu, gelu, gelu_erf, gelu_tanh, glu, hardshrink, hardsigmoid, hardswish,
                         hardtanh, leaky_relu, log_softmax, logsigmoid, mish, prelu, relu, relu6, selu, silu,
                         softmax, softmin, softplus, softshrink, softsign, swish, tanhshrink, threshold)
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
from .moments import (logsumexp, mean, reduce_logsumexp, reduce_mean, reduce_norm, std, std_mean,
                      var, var_mean)
from .reduction import (all, amax, amin, any, argmax, argmin, count_nonzero, max, min, prod, reduce_all,
                        reduce_any, reduce_max, reduce_min, reduce_prod, sum)
from .scan import cummax, cummin, cumprod, cumsum, logcumsumexp
from .sort import (argsort, argwhere, masked_select, msort, nonzero, sort, topk, unique)
from .basic import broadcast_to, cast, reduce_sum, reshape, transpose
from . import array_methods, filling_methods, tensor_methods
from .stacking import (atleast_1d, atleast_2d, atleast_3d, block_diag, column_stack, dsplit, dstack, hsplit, hstack,
                       row_stack, tensor_split, vsplit, vstack)
from .structure import (broadcast_tensors, cat, chunk, concat, expand_dims, flatten, flip, fliplr,
                        flipud, meshgrid, moveaxis, movedim, narrow, pad, permute, ravel,
                        repeat_interleave, roll, split, squeeze, stack, swapaxes, swapdims, tile,
                        unbind, unflatten, unsqueeze, unstack)
from .dynamic_slicing import dynamic_slice, dynamic_update
from .indexing import gather_nd
from .lookup import (embedding, gather, gather_d, gather_elements, index_add, index_select, scatter_nd,
                     tensor_scatter_add, tensor_scatter_elements, tensor_scatter_update)
from .getitem import getitem, setitem, strided_slice
from .linalg import (addmm, addmv, baddbmm, bias_add, bmm, dense, dot, linear, matmul, mm, mv, outer,
                     tensor_dot)
from .decomposition import (cholesky, cholesky_inverse, cholesky_solve, det, inverse, logdet,
                            matrix_solve, slogdet, solve, solve_triangular)
from .einsum import einsum
from .products import (addbmm, addr, bidense, cdist, cross, dist, ger, kron, matrix_band_part, pdist, ptp, trapz,
                       vander, vecdot)
from .segments import unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum
from .singular import svd
from .special import bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, digamma, erfinv, lgamma, polygamma
from .nn_conv import conv1d, conv2d, conv2d_transpose
from .conv3d import conv3d, conv3d_transpose
from .nn_pool import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from .nn_norm import (batch_norm, batch_norm_train, group_norm, instance_norm, l2_normalize, layer_norm,
                      layer_norm_from_axis, rms_norm)
from .random import (bernoulli, dropout, dropout1d, dropout2d, dropout3d, gumbel, multinomial, normal, rand, rand_like, randint, randn, randn_like,
                     randperm, shuffle, standard_normal, uniform)
from .state import (assign, assign_add, assign_sub, depend, identity, print_, rank, shape, size,
                    stop_gradient)
from .nn_loss import (binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss,
                      cosine_similarity, cross_entropy, gaussian_nll_loss, hinge_embedding_loss,
                      huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss, nll_loss,
                      pairwise_distance, smooth_l1_loss, soft_margin_loss,
                      softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits,
                      triplet_margin_loss)
from .adaptive_pool import (adaptive_avg_pool1d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
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
from .sorted_search import searchsorted, unique_with_pad
from .scatter import (tensor_scatter_div, tensor_scatter_max, tensor_scatter_min, tensor_scatter_mul, tensor_scatter_sub)
from .tensor_methods import FUNCTIONS
from .norms import cond, matrix_norm, norm, pinv, vector_norm
from .whole_numbers import gcd, lcm, population_count
from .optim_update import (adagrad_update, adam_update, adam_weight_decay_update, adamw_update,
                           centered_rmsprop_update, lamb_update, momentum_update, rmsprop_update, sgd_update)

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
