"""What is done with probability networks: outliers are found by how badly an auto-encoder gives them back."""
from typing import Any

from ... import ops
from ...common.tensor import Tensor
from ..cell import Cell
from ..optim import Adam
from ..wrap import WithLossCell
from .dpn import VAE
from .infer import ELBO, SVI


class VAEAnomalyDetection:
    """Outliers are what a variational auto-encoder that learned other things decodes wrongly (An and Cho 2015).

    encoder, decoder : Cells          hidden_size, latent_size : int, as dpn.VAE has them
    """

    def __init__(self, encoder: Cell, decoder: Cell, hidden_size: int = 400, latent_size: int = 20) -> None:
        self.vae = VAE(encoder, decoder, hidden_size, latent_size)

    def train(self, train_dataset: Any, epochs: int = 5) -> Cell:
        """Learn from a data set of (x, label) without outliers. Returns the auto-encoder."""
        inference = SVI(WithLossCell(self.vae, ELBO()), Adam(self.vae.trainable_params(), 0.001))
        inference.run(train_dataset, epochs)
        return self.vae

    def predict_outlier_score(self, sample_x: Tensor) -> float:
        """The sum of squares of what is decoded wrongly."""
        return float(ops.sum(ops.square(self.vae.reconstruct_sample(sample_x) - sample_x)))

    def predict_outlier(self, sample_x: Tensor, threshold: float = 100.0) -> bool:
        """True where the score is above the threshold."""
        return self.predict_outlier_score(sample_x) > threshold
