"""MindSpore's `experimental.optim`: optimisers with groups of settings that a program may change, as in PyTorch.

    optimizer = Adam([{"params": biases, "lr": 0.1}, {"params": weights}], lr=0.01)
    scheduler = lr_scheduler.StepLR(optimizer, 30)
    optimizer(gradients);  scheduler.step()
"""
from . import lr_scheduler  # noqa: F401
from .optimizer import Optimizer
from .optimizers import (
    ASGD, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop)

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD",
           "lr_scheduler"]
