"""mint.special: functions of elements under torch.special's names."""
from .arithmetic import erfc, exp2, expm1, log1p, sinc
from .arithmetic import round as _round
from .nn.functional import log_softmax

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]


def round(input):
    """The nearest whole number, halves to even."""
    return _round(input)
