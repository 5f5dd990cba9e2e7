"""Optimisers, one family per file."""
from .adagrad import Adadelta, Adagrad, RMSProp  # noqa: F401
from .adam import Adam, AdaMax, AdamW, AdamWeightDecay, Lamb  # noqa: F401
from .momentum import ASGD, SGD, Momentum, Rprop  # noqa: F401
from .optimizer import Optimizer  # noqa: F401
