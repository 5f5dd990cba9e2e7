"""Variational inference: the evidence lower bound, and its minimisation by stochastic gradients.

    loss = |decoded - x|^2 + KL(code || standard normal)                         (Kingma and Welling 2014, equation 7)
"""
from typing import Any

from ... import ops
from ...common.checks import check_positive_int
from ...common.errors import ArgumentError, ValueRangeError
from ...common.tensor import Tensor
from ..cell import Cell
from ..wrap import TrainOneStepCell
from .dpn import code_divergence


class ELBO(Cell):
    """The loss of a VAE: the sum of squares of what is decoded wrongly, and the divergence of the codes.

    latent_prior, output_prior : "Normal", the only ones there are
    data : (x as it is decoded, x, mean, standard deviation), as a VAE gives them; label : not read          out : float[]
    """

    def __init__(self, latent_prior: str = "Normal", output_prior: str = "Normal") -> None:
        super().__init__()
        for what, prior in (("latent_prior", latent_prior), ("output_prior", output_prior)):
            if prior != "Normal":
                raise ValueRangeError(f"ELBO: {what} is 'Normal', not {prior!r}")

    def construct(self, data: Any, label: Any = None) -> Tensor:
        decoded, x, mean, std = data
        return ops.sum(ops.square(decoded - x)) + ops.sum(code_divergence(mean, std))


class SVI:
    """Stochastic variational inference: the optimiser makes the loss of a network and a bound small.

    net_with_loss : a Cell of the columns of a data set that gives the loss          optimizer : an Optimizer
    """

    def __init__(self, net_with_loss: Cell, optimizer: Cell) -> None:
        if not isinstance(net_with_loss, Cell) or not isinstance(optimizer, Cell):
            raise ArgumentError("SVI: net_with_loss and optimizer are Cells")
        self.net_with_loss, self.optimizer, self._loss = net_with_loss, optimizer, 0.0

    def run(self, train_dataset: Any, epochs: int = 10) -> Cell:
        """Learn from the data set that many times. Returns the network without its loss."""
        check_positive_int(epochs, "epochs", "SVI")
        step = TrainOneStepCell(self.net_with_loss, self.optimizer).set_train()
        for _ in range(epochs):
            total, count = 0.0, 0
            for columns in train_dataset.create_tuple_iterator(num_epochs=1):
                total, count = total + float(step(*columns)), count + 1
            self._loss = total / max(count, 1)
        return getattr(self.net_with_loss, "backbone_network", self.net_with_loss)

    def get_train_loss(self) -> float:
        """The mean loss of the last epoch."""
        return self._loss
