"""Deep probability networks: variational auto-encoders.

    mean, log_var = encode(x);  z = mean + exp(log_var / 2) * normal;  decode(z)            (Kingma and Welling 2014)
"""
from typing import Any

from ... import ops
from ...common.checks import check_positive_int
from ...common.errors import ArgumentError
from ...common.tensor import Tensor
from ..cell import Cell
from ..layer.basic import Dense

Encoded = tuple[Tensor, Tensor, Tensor, Tensor]


class _AutoEncoder(Cell):
    """An encoder, a decoder, and the Dense layers of the code between them. extra : features beside the code"""

    def __init__(self, encoder: Cell, decoder: Cell, hidden_size: int, latent_size: int, extra: int = 0) -> None:
        super().__init__()
        if not isinstance(encoder, Cell) or not isinstance(decoder, Cell):
            raise ArgumentError(f"{type(self).__name__}: encoder and decoder are Cells")
        self.encoder, self.decoder = encoder, decoder
        self.hidden_size = check_positive_int(hidden_size, "hidden_size", type(self).__name__)
        self.latent_size = check_positive_int(latent_size, "latent_size", type(self).__name__)
        self.dense1, self.dense2 = Dense(hidden_size, latent_size), Dense(hidden_size, latent_size)
        self.dense3 = Dense(latent_size + extra, hidden_size)

    def _spread(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(mean, standard deviation) of the code."""
        return self.dense1(hidden), ops.exp(0.5 * self.dense2(hidden))

    def _drawn(self, mean: Tensor, std: Tensor) -> Tensor:
        return mean + std * ops.standard_normal(tuple(mean.shape), dtype=mean.dtype)

    def _codes(self, count: int) -> Tensor:
        return ops.standard_normal((check_positive_int(count, "generate_nums", type(self).__name__), self.latent_size))


class VAE(_AutoEncoder):
    """A variational auto-encoder.

    encoder, decoder : Cells, of x to float[N, hidden_size] and back
    hidden_size, latent_size : int, the features between both and the Dense layers, and of the code
    x   : what encoder takes
    out : (x as it is decoded, x, the code's mean, its standard deviation), as infer.ELBO takes them
    """

    def construct(self, x: Tensor) -> Encoded:
        mean, std = self._spread(self.encoder(x))
        return self.decoder(self.dense3(self._drawn(mean, std))), x, mean, std

    def generate_sample(self, generate_nums: int, shape: tuple[int, ...]) -> Tensor:
        """`generate_nums` new things of the shape `shape`, decoded from normal codes."""
        return ops.reshape(self.decoder(self.dense3(self._codes(generate_nums))), shape)

    def reconstruct_sample(self, x: Tensor) -> Tensor:
        """x as it is decoded from its code."""
        return self.construct(x)[0]


class ConditionalVAE(_AutoEncoder):
    """A variational auto-encoder of things of known classes (Sohn, Lee, Yan 2015).

    encoder, decoder : Cells, of (x, y) to float[N, hidden_size], and of that to x
    hidden_size, latent_size, num_classes : int
    x, y : what encoder takes; y : int[N], classes              out : as VAE's
    """

    def __init__(self, encoder: Cell, decoder: Cell, hidden_size: int, latent_size: int, num_classes: int) -> None:
        super().__init__(encoder, decoder, hidden_size, latent_size,
                         check_positive_int(num_classes, "num_classes", "ConditionalVAE"))
        self.num_classes = num_classes

    def _decoded(self, code: Tensor, y: Tensor) -> Tensor:
        marks = ops.one_hot(y, self.num_classes)
        return self.decoder(self.dense3(ops.concat((code, ops.cast(marks, code.dtype)), 1)))

    def construct(self, x: Tensor, y: Tensor) -> Encoded:
        mean, std = self._spread(self.encoder(x, y))
        return self._decoded(self._drawn(mean, std), y), x, mean, std

    def generate_sample(self, sample_y: Tensor, generate_nums: int, shape: tuple[int, ...]) -> Tensor:
        """`generate_nums` new things of the classes sample_y : int[generate_nums], of the shape `shape`."""
        return ops.reshape(self._decoded(self._codes(generate_nums), sample_y), shape)

    def reconstruct_sample(self, x: Tensor, y: Tensor) -> Tensor:
        """x as it is decoded from its code and class."""
        return self.construct(x, y)[0]


def code_divergence(mean: Tensor, std: Tensor) -> Any:
    """KL(normal of mean and std || standard normal) of each number."""
    return 0.5 * (ops.square(mean) + ops.square(std) - 1) - ops.log(std)
