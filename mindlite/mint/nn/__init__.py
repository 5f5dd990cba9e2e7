"""mint.nn: layers and losses with torch's arguments, defaults and names of Parameters; `functional` has them as functions."""
# flake8: noqa: F401
from ...nn import Cell
from . import functional, stateless
from .layers import (BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, ConvTranspose2d, Dropout, Dropout2d,
                     Embedding, GroupNorm, LayerNorm, Linear, PReLU, SyncBatchNorm)
from .stateless import *

__all__ = sorted(["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Cell", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d",
                  "Dropout", "Dropout2d", "Embedding", "GroupNorm", "LayerNorm", "Linear", "PReLU", "SyncBatchNorm",
                  "functional", *stateless.__all__])
