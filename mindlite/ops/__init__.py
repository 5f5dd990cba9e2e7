"""Every operator. One family per file; one block per operator: signature, docstring, rules."""
from . import evaluate, methods  # noqa: F401
from .arithmetic import *  # noqa: F401,F403
from .basic import broadcast_to, cast, reduce_sum, reshape, transpose  # noqa: F401
from .complex_numbers import angle, conj, imag, make_complex as complex, real  # noqa: F401
from .elementary import *  # noqa: F401,F403
from .linalg import batch_matmul  # noqa: F401
from .logic import *  # noqa: F401,F403
from . import array_methods  # noqa: F401
from .structure import (broadcast_tensors, cat, chunk, concat, expand_dims, flatten, flip, fliplr, flipud,  # noqa: F401
                        meshgrid, moveaxis, movedim, narrow, pad, permute, ravel, repeat_interleave, roll, split, squeeze,
                        stack, swapaxes, swapdims, tile, unbind, unflatten, unsqueeze, unstack)
from .indexing import (dynamic_slice, dynamic_update, embedding, gather, gather_d, gather_elements, gather_nd,  # noqa: F401
                       index_add, index_select, scatter_nd, tensor_scatter_add, tensor_scatter_elements,
                       tensor_scatter_update)
from .getitem import getitem, setitem  # noqa: F401
from .linalg import (addmm, addmv, baddbmm, bias_add, bmm, dense, dot, linear, matmul, mm, mv, outer, tensor_dot)  # noqa: F401
from .einsum import einsum  # noqa: F401
from .nn_conv import conv1d, conv2d, conv2d_transpose  # noqa: F401
from .nn_pool import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d  # noqa: F401
from .nn_norm import (batch_norm, batch_norm_train, group_norm, instance_norm, l2_normalize, layer_norm,  # noqa: F401
                      layer_norm_from_axis, rms_norm)
from .random import (bernoulli, dropout, normal, rand, rand_like, randint, randn, randn_like, standard_normal,  # noqa: F401
                     uniform)
from .state import (assign, assign_add, assign_sub, depend, identity, print_, rank, shape, size, stop_gradient)  # noqa: F401
