"""Families of operators that are imported when one of their names is used: {module: (primitives, public functions)}.

Most programs use none of them, and each costs `import mindlite` a millisecond or more. Nobody sees the difference:
`mindlite.ops.fft` and `find_primitive("fourier")`, by which saved graphs name operators, import the module.
"""
import importlib

from ..mindir.primitive import HOMES

FAMILIES = {
    "bessel": ("bessel_j bessel_y bessel_k",
               "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1"),
    "blocks": ("", "batch_to_space_nd channel_shuffle depth_to_space pixel_shuffle pixel_unshuffle space_to_batch_nd "
                   "space_to_depth"),
    "assignment": ("assignment", ""),
    "boxes": ("", "bounding_box_decode bounding_box_encode check_valid iou"),
    "candidates": ("", "log_uniform_candidate_sampler uniform_candidate_sampler"),
    "collectives": ("all_gather all_reduce all_reduce_coalesced all_to_all broadcast_from placed post receive reduce_scatter "
                    "reduce_to send settle synchronise", "ReduceOp place_as"),
    "counting": ("occurrences", "bincount bucketize cartesian_prod combinations histc reverse_sequence sequence_mask "
                                "tril_indices triu_indices unique_consecutive unravel_index"),
    "deformable": ("", "deformable_conv2d"),
    "ctc": ("", "ctc_greedy_decoder ctc_loss"),
    "distributions": ("gamma_numbers", "cauchy choice_with_mask exponential gamma gumbel_softmax laplace log_normal "
                          "multinomial_with_replacement poisson random_categorical random_gamma random_poisson rrelu "
                          "standard_laplace"),
    "elimination": ("eliminated", ""),
    "factors": ("orthogonal_triangular eigenpairs matrix_exp",
                "eig eigvals geqrf lstsq lu_solve lu_unpack matrix_exp orgqr ormqr qr"),
    "filling": ("", "choose fill fill_diagonal fills index_copy index_fill masked_scatter put resized"),
    "fourier": ("fourier fourier_of_real fourier_to_real",
                "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn "
                "ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn"),
    "fractional_pool": ("", "fractional_max_pool2d fractional_max_pool3d"),
    "gamma_functions": ("incomplete_gamma gamma_quantile_slope hurwitz_zeta incomplete_beta nextafter",
                        "betainc igamma igammac mvlgamma nextafter zeta"),
    "historical": ("", "batch_dot clip_by_global_norm col2im deepcopy dyn_shape eps frombuffer inplace_index_add intopk "
                       "is_tensor lrn mirror_pad repeat_elements scalar_cast scalar_to_tensor tuple_to_array view_as"),
    "interpolation": ("", "interpolate"),
    "lattice": ("path_sums lattice_recurrence", ""),
    "margin_losses": ("", "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss "
                          "triplet_margin_with_distance_loss"),
    "regions": ("first_apart", "nms_with_mask ps_roi_pooling roi_align"),
    "symmetric": ("symmetric_eigenpairs", ""),
    "signals": ("", "bartlett_window blackman_window hamming_window hann_window kaiser_window stft"),
}
_OF_VALUES = ("abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor inv isfinite isinf isnan log log1p neg relu "
              "relu6 round sigmoid sin sinh softsign sqrt square tan tanh").split()
FAMILIES["sparse_functions"] = "", " ".join(
    [f"{form}_{name}" for form in ("coo", "csr") for name in _OF_VALUES]
    + ("coalesce coo2csr coo_add coo_concat csr2coo csr_add csr_div csr_gather csr_mm "
       "csr_mul csr_mv csr_reduce_sum csr_softmax csr_to_coo "
       "csr_to_dense dense_to_sparse_coo dense_to_sparse_csr row_tensor_add").split())
_ROOM = __name__.rpartition(".")[0]
FUNCTIONS = {name: f"{_ROOM}.{module}" for module, (_, names) in FAMILIES.items() for name in names.split()}
HOMES.update({name: f"{_ROOM}.{module}" for module, (names, _) in FAMILIES.items() for name in names.split()},
             summary_value=f"{_ROOM}.summary")               # its functions are no operators of `ops`


def find(name):
    """The public function of that name. raises : KeyError where no family has it"""
    return getattr(importlib.import_module(FUNCTIONS[name]), name)


def load_all():
    """Import every family, and where else operators are defined: for who lists all operators."""
    for module in {*FUNCTIONS.values(), *HOMES.values()}:
        importlib.import_module(module)
