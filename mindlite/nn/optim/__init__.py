"""Optimisers, one family per file."""
from .adafactor import AdaFactor  # noqa: F401
from .adagrad import Adadelta, Adagrad, RMSProp  # noqa: F401
from .adam import Adam, AdaMax, AdamOffload, AdamW, AdamWeightDecay, Lamb, LazyAdam  # noqa: F401
from .lars import LARS  # noqa: F401
from .momentum import ASGD, SGD, Momentum, Rprop  # noqa: F401
from .optimizer import Optimizer  # noqa: F401
from .proximal import FTRL, ProximalAdagrad  # noqa: F401
