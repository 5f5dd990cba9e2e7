"""Training in fewer or cheaper steps: accumulated gradients, groups of parameters frozen by turns, centralised gradients.

    accumulate = boost.GradientAccumulation(4, optimizer)         # the optimiser runs at every fourth call
    loss = accumulate(loss, gradients)
"""
from .adasum import AdaSum  # noqa: F401
from .grad_accumulation import GradientAccumulation  # noqa: F401
from .grad_freeze import FreezeOpt, GradientFreeze, freeze_cell  # noqa: F401
from .less_bn import CommonHeadLastFN, LessBN  # noqa: F401
from .train_step import BoostTrainOneStepCell  # noqa: F401
from .optimizers import OptimizerProcess, ParameterProcess  # noqa: F401
