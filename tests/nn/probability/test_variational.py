"""Variational auto-encoders: what they give, lose and learn."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.nn.probability import dpn, infer, toolbox

_rng = np.random.default_rng(2)
CIRCLE = np.stack([np.cos(a := _rng.uniform(0, 6.28, 96)), np.sin(a), np.cos(a) / 2], -1).astype(np.float32)


class Beside(nn.Cell):
    """An encoder that reads the class, too."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(5, 8, activation="tanh")

    def construct(self, x, y):
        return self.dense(ops.concat((x, ops.cast(ops.one_hot(y, 2), x.dtype)), 1))


class Batches:
    """A data set of (x, label)."""

    def create_tuple_iterator(self, num_epochs=-1):
        return ((Tensor(x), Tensor(np.zeros(len(x), np.int32))) for x in np.split(CIRCLE, 4))


def halves():
    return nn.Dense(3, 8, activation="tanh"), nn.SequentialCell(nn.Tanh(), nn.Dense(8, 3))


def test_the_bound_is_that_of_its_formula():
    decoded, x, mean, std = (Tensor(_rng.uniform(0.3, 1.0, (4, 3)).astype(np.float32)) for _ in range(4))
    m, s = mean.asnumpy(), std.asnumpy()
    expected = ((decoded - x).asnumpy() ** 2).sum() + (0.5 * (m ** 2 + s ** 2 - 1) - np.log(s)).sum()
    for loss in (infer.ELBO(), ms.jit(infer.ELBO(), fullgraph=True)):
        np.testing.assert_allclose(loss((decoded, x, mean, std), None).asnumpy(), expected, 1e-5)
    with pytest.raises(ValueError, match="latent_prior"):
        infer.ELBO("Gamma")


def test_an_auto_encoder_learns_and_its_outliers_are_outside():
    ms.set_seed(1)
    detection = toolbox.VAEAnomalyDetection(*halves(), hidden_size=8, latent_size=2)
    vae = detection.vae
    inference = infer.SVI(nn.WithLossCell(vae, infer.ELBO()), nn.Adam(vae.trainable_params(), 0.02))
    assert inference.run(Batches(), 1) is vae
    first = inference.get_train_loss()
    inference.run(Batches(), 15)
    assert inference.get_train_loss() < 0.9 * first
    inside, outside = Tensor(CIRCLE[:1]), Tensor(np.array([[5.0, -5.0, 9.0]], np.float32))
    assert detection.predict_outlier_score(inside) < detection.predict_outlier_score(outside)
    assert detection.predict_outlier(outside, 30.0) and not detection.predict_outlier(inside, 30.0)
    assert detection.train(Batches(), 1) is vae
    assert vae.generate_sample(5, (5, 3)).shape == (5, 3) and vae.reconstruct_sample(inside).shape == (1, 3)


def test_an_auto_encoder_of_classes_in_both_modes():
    vae = dpn.ConditionalVAE(Beside(), nn.Dense(8, 3), 8, 2, 2)
    x, y = Tensor(CIRCLE[:6]), Tensor(np.array([0, 1, 1, 0, 1, 0], np.int32))
    for run in (vae, ms.jit(vae, fullgraph=True)):
        decoded, same, mean, std = run(x, y)
        assert decoded.shape == (6, 3) and mean.shape == std.shape == (6, 2) and (std.asnumpy() > 0).all()
        np.testing.assert_array_equal(same.asnumpy(), x.asnumpy())
    assert vae.generate_sample(Tensor([0, 1]), 2, (2, 3)).shape == (2, 3) and vae.reconstruct_sample(x, y).shape == (6, 3)
    with pytest.raises(TypeError, match="Cells"):
        dpn.VAE(abs, nn.ReLU(), 8, 2)
