"""The zero of a tangent or cotangent space."""
import numpy as np

from ..mindir.abstract import AbstractScalar, AbstractTensor
from ..mindir.control import tape_new
from .. import ops


def zeros_like_abstract(abstract):
    """Zero of this type under the builder: a tensor of zeros, the number 0, or an empty tape."""
    if isinstance(abstract, AbstractTensor):
        zero = np.zeros((), abstract.dtype.numpy)
        return ops.broadcast_to(zero, shape=abstract.shape) if abstract.shape else zero
    if isinstance(abstract, AbstractScalar):
        return abstract.type(0)
    return tape_new()
