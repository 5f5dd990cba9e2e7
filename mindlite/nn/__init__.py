"""Networks: Cell, layers, losses, optimisers, learning-rate schedules."""
from .cell import Cell  # noqa: F401
from .layer.activation import (  # noqa: F401
    CELU, ELU, GELU, GLU, HShrink, HSigmoid, HSwish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU,
    ReLU6, SeLU, SiLU, Sigmoid, SoftShrink, Softmax, Softmin, Softsign, Tanh, Tanhshrink, Threshold, get_activation)
from .layer.basic import Dense, Dropout, Dropout1d, Dropout2d, Dropout3d, Flatten, Identity  # noqa: F401
from .layer.container import CellDict, CellList, SequentialCell  # noqa: F401
