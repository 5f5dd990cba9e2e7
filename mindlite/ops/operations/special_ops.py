"""Special functions, Fourier transforms, factors of matrices, order, losses and random numbers as classes."""

from ...common import dtype as dt
from ...common.errors import ArgumentError
from .. import (
    abs, bernoulli, bessel_j0, bessel_j1, bessel_k0, bessel_k0e, bessel_k1, bessel_k1e, bessel_y0, bessel_y1, betainc,
    cast, cauchy, cumsum, expand_dims,
    ctc_greedy_decoder, ctc_loss, eig, eigvals, eps, fftn, flip, gamma, geqrf, igamma, igammac, ifftn, irfftn, log_normal,
    logcumsumexp, logspace, lstsq, lu_solve, lu_unpack, matrix_exp, matrix_norm, matrix_power, median,
    multi_margin_loss, multilabel_margin_loss, multinomial, mvlgamma, nanmedian, nanquantile, nextafter,
    norm, orgqr, ormqr, pdist, poisson, polar, qr, quantile, random_categorical, random_gamma, random_poisson, rfftn, shuffle,
    soft_margin_loss, solve_triangular, sort, standard_laplace, stft, triplet_margin_loss, zeros, zeta)
from .. import bartlett_window, blackman_window, hamming_window
from .. import logic
from .. import reduction as reduction_of
from ..define import as_operand, dtype_of
from ..generator import Generator
from ..structure import concat
from .define import one_stream, operation, repeats, table

globals().update(table({
    "BesselJ0": bessel_j0, "BesselJ1": bessel_j1, "BesselK0": bessel_k0, "BesselK0e": bessel_k0e, "BesselK1": bessel_k1,
    "BesselK1e": bessel_k1e, "BesselY0": bessel_y0, "BesselY1": bessel_y1, "Betainc": betainc, "ComplexAbs": abs, "Eps": eps,
    "Geqrf": geqrf, "Igamma": igamma, "Igammac": igammac, "LuSolve": lu_solve, "MatrixExp": matrix_exp,
    "NextAfter": nextafter, "Orgqr": orgqr, "Polar": polar, "Zeta": zeta,
}))


@operation
def STFT(x, window, *, n_fft, hop_length, win_length, normalized, onesided, return_complex):
    """The Fourier transform of overlapping pieces of x, which is not continued at its ends; see stft."""
    return stft(x, n_fft, hop_length, win_length, window, False, "REFLECT", normalized, onesided, return_complex)


@operation
def Mvlgamma(x, *, p):
    """The logarithm of the gamma function of p x p matrices."""
    return mvlgamma(x, p)


@operation
def CumulativeLogsumexp(x, axis, *, exclusive=False, reverse=False):
    """Logarithms of sums of exponentials of the elements up to each; exclusive: without itself; reverse: from the end."""
    axis = int(axis) % x.ndim
    if reverse:
        x = flip(x, (axis,))
    out = logcumsumexp(x, axis)
    if exclusive:
        lead = (slice(None),) * axis
        nothing = out[lead + (slice(0, 1),)] * 0 + float("-inf")
        out = concat((nothing, out[lead + (slice(0, x.shape[axis] - 1),)]), axis)
    return flip(out, (axis,)) if reverse else out


@operation
def LogSpace(start, end, *, steps=10, base=10, dtype=dt.float32):
    """`steps` powers of base with exponents from start to end."""
    return logspace(start, end, steps, base, dtype=dtype)


# ---------------------------------------------------------------- Fourier transforms and windows

@operation
def FFTWithSize(x, *, signal_ndim, inverse, real, norm="backward", onesided=True, signal_sizes=()):
    """The Fourier transform along the last signal_ndim axes; real: of real numbers, or back to them, of sizes signal_sizes."""
    axes = tuple(range(-signal_ndim, 0))
    if not real:
        return (ifftn if inverse else fftn)(x, None, axes, norm)
    if not onesided:
        return (ifftn(x, None, axes, norm).real() if inverse else fftn(x, None, axes, norm))
    return irfftn(x, tuple(signal_sizes) or None, axes, norm) if inverse else rfftn(x, None, axes, norm)


@operation
def BartlettWindow(length, *, periodic=True, dtype=dt.float32):
    """bartlett_window of a length that is a Tensor of one known number."""
    return bartlett_window(length, periodic, dtype=dtype)


@operation
def BlackmanWindow(length, *, periodic=True, dtype=dt.float32):
    """blackman_window of a length that is a Tensor of one known number."""
    return blackman_window(length, periodic, dtype=dtype)


@operation
def HammingWindow(length, *, periodic=True, alpha=0.54, beta=0.46, dtype=dt.float32):
    """hamming_window of a length that is a Tensor of one known number."""
    return hamming_window(length, periodic, alpha, beta, dtype=dtype)


# ---------------------------------------------------------------- matrices

@operation
def Eig(x, *, compute_v=False):
    """(eigenvalues, eigenvectors), or without compute_v (eigenvalues, an empty Tensor)."""
    if compute_v:
        return eig(x)
    values = eigvals(x)
    return values, values[..., :0]


@operation
def Qr(x, *, full_matrices=False):
    """(q, r) with q r = x."""
    return qr(x, "complete" if full_matrices else "reduced")


@operation
def Ormqr(x, tau, other, *, left=True, transpose=False):
    """q other, or other q, from Householder's vectors."""
    return ormqr(x, tau, other, left, transpose)


@operation
def LuUnpack(LU_data, LU_pivots, *, unpack_data=True, unpack_pivots=True):
    """(p, l, u) from LU factors and pivots."""
    return lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


@operation
def Lstsq(x, a, *, fast=True, l2_regularizer=0.0):
    """Least squares. raises : ArgumentError for a regulariser"""
    if l2_regularizer:
        raise ArgumentError("Lstsq: l2_regularizer is 0", note=f"{l2_regularizer}")
    return lstsq(x, a)


@operation
def MatrixPower(x, *, n):
    """The n-th power of each matrix."""
    return matrix_power(x, n)


@operation
def MatrixTriangularSolve(matrix, rhs, *, lower=True, adjoint=False):
    """X with matrix X = rhs for a triangular matrix, or its transpose."""
    return solve_triangular(matrix, rhs, 1 if adjoint else 0, lower)


@operation
def NuclearNorm(x, *, dim=None, keepdim=False):
    """The sum of singular values of the matrices in the two axes `dim`; None: of a matrix."""
    return matrix_norm(x, "nuc", (0, 1) if dim is None else tuple(dim), keepdim)


@operation
def EuclideanNorm(x, axes, *, keep_dims=False):
    """The root of the sum of squares along `axes`."""
    axes = axes.tolist() if hasattr(axes, "tolist") else axes
    return norm(x, None, tuple(axes) if isinstance(axes, (list, tuple)) else axes, keep_dims)


@operation
def Pdist(x, *, p=2.0):
    """The p-norm distances of all pairs of rows."""
    return pdist(x, p)


# ---------------------------------------------------------------- order

@operation
def Median(x, *, global_median=False, axis=0, keep_dims=False, ignore_nan=False):
    """(the median along `axis`, its index), or of all elements."""
    return (nanmedian if ignore_nan else median)(x, None if global_median else axis, keep_dims)


@operation
def Quantile(x, q, *, dim=None, keep_dims=False, ignore_nan=False):
    """The quantiles q along `dim`."""
    return (nanquantile if ignore_nan else quantile)(x, q, dim, keep_dims)


@operation
def NthElement(x, n, *, reverse=False):
    """The n-th smallest (reverse: largest) element along the last axis."""
    return sort(x, -1, reverse)[0][..., int(n)]


# ---------------------------------------------------------------- losses

@operation
def CTCLossV2(log_probs, targets, input_lengths, target_lengths, *, blank=0, reduction="none", zero_infinity=False):
    """(the loss of each sequence, log_alpha); see ctc_loss."""
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


@operation
def CTCGreedyDecoder(inputs, sequence_length, *, merge_repeated=True):
    """See ctc_greedy_decoder."""
    return ctc_greedy_decoder(inputs, sequence_length, merge_repeated)


@operation
def MultiMarginLoss(x, target, weight=None, *, p=1, margin=1.0, reduction="mean"):
    """See multi_margin_loss."""
    return multi_margin_loss(x, target, p, margin, weight, reduction)


@operation
def MultilabelMarginLoss(x, target, *, reduction="mean"):
    """(the loss, 1 where a class is a label and 0 elsewhere); see multilabel_margin_loss."""
    x, labels = as_operand(x), as_operand(target)
    named = logic.equal(cumsum(cast(logic.less(labels, 0), dtype="int64"), -1), 0)
    chosen = logic.equal(expand_dims(labels, -1), as_operand(list(range(x.shape[-1]))))
    chosen = reduction_of.any(logic.logical_and(chosen, expand_dims(named, -1)), -2)
    return multilabel_margin_loss(x, labels, reduction), cast(chosen, dtype=dtype_of(labels))


@operation
def SoftMarginLoss(x, labels, *, reduction="mean"):
    """log(1 + exp(-labels x))"""
    return soft_margin_loss(x, labels, reduction)


@operation
def TripletMarginLoss(x, positive, negative, margin, *, p=2, swap=False, eps=1e-6, reduction="mean"):
    """See triplet_margin_loss."""
    return triplet_margin_loss(x, positive, negative, margin, p, eps, swap, reduction)


# ---------------------------------------------------------------- random numbers

def _seed(seed, other):
    """The seed of two words; 0 and 0: the global stream."""
    return seed if isinstance(seed, Generator) else seed + (other << 32) or None


@operation
def StandardLaplace(shape, *, seed=0, seed2=0):
    """Numbers of the density exp(-abs(x)) / 2."""
    return standard_laplace(shape, _seed(seed, seed2))


@operation
def Gamma(shape, alpha, beta, *, seed=0, seed2=0):
    """Numbers of the gamma distribution."""
    return gamma(shape, alpha, beta, _seed(seed, seed2))


@operation
def RandomGamma(shape, alpha, *, seed=0, seed2=0):
    """Numbers of the gamma distribution, alpha's shape behind `shape`."""
    return random_gamma(shape, alpha, _seed(seed, seed2))


@operation
def Poisson(shape, mean, *, seed=0, seed2=0):
    """Counts of Poisson's distribution, int32."""
    return cast(poisson(shape, mean, _seed(seed, seed2)), dtype=dt.int32)


@operation
def RandomPoisson(shape, rate, *, seed=0, seed2=0, dtype=dt.int64):
    """Counts of Poisson's distribution, rate's shape behind `shape`."""
    return random_poisson(shape, rate, _seed(seed, seed2), dtype)


@operation
def Cauchy(*, size, median=0.0, sigma=1.0):
    """Numbers of Cauchy's distribution."""
    return cauchy(zeros(tuple(size)), median, sigma)


@operation
def LogNormalReverse(x, *, mean=1.0, std=2.0):
    """A Tensor like x of exp(n), n normal."""
    return log_normal(x, mean, std)


@operation
@repeats
def Bernoulli(x, p, *, seed=-1, offset=0):
    """1 with probability p; seed -1: the global stream. A seed gives the same numbers in each call; `offset` has no effect."""
    return bernoulli(x, p, None if seed == -1 else seed)


@operation
def RandomShuffle(x, *, seed=0, seed2=0):
    """The slices along the first axis in random order."""
    return shuffle(x, _seed(seed, seed2))


@operation
def RandomCategorical(logits, num_sample, seed=0, *, dtype=dt.int64, streams=None):
    """Classes drawn with probabilities softmax(logits). A seed begins a stream of this object; 0: the global stream."""
    return random_categorical(logits, int(num_sample), streams.of(seed) if int(seed) else 0, dtype)


@operation
@one_stream
def MultinomialWithReplacement(x, seed, offset, *, numsamples, replacement=False, streams=None):
    """Places drawn with a chance in proportion to numbers. The draws of a seed and an offset go on until others are given;
    -1 and 0: the global stream."""
    drawn_by = None if int(seed) == -1 and int(offset) == 0 else streams.of(seed, offset)
    return multinomial(x, numsamples, replacement, drawn_by)
