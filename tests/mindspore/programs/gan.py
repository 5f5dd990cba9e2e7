"""Two networks and two optimisers that train against each other."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class Generator(nn.Cell):
    def __init__(self):
        super().__init__()
        self.model = nn.SequentialCell()
        self.model.append(nn.Dense(5, 16, has_bias=False))
        self.model.append(nn.BatchNorm1d(16))
        self.model.append(nn.LeakyReLU(0.2))
        self.model.append(nn.Dense(16, 12))
        self.model.append(nn.Tanh())

    def construct(self, z):
        return self.model(z).reshape((-1, 1, 3, 4))


class Discriminator(nn.Cell):
    def __init__(self):
        super().__init__()
        self.model = nn.SequentialCell([nn.Dense(12, 10), nn.LeakyReLU(), nn.Dense(10, 1), nn.Sigmoid()])
        self.flatten = nn.Flatten()

    def construct(self, image):
        return self.model(self.flatten(image))


generator, discriminator = fill(Generator(), 1), fill(Discriminator(), 2)
loss = nn.BCELoss(reduction="mean")
optimizer_g = nn.Adam(generator.trainable_params(), learning_rate=0.01, beta1=0.5)
optimizer_d = nn.Adam(discriminator.trainable_params(), learning_rate=0.01, beta1=0.5)
optimizer_g.update_parameters_name("optim_g.")
optimizer_d.update_parameters_name("optim_d.")


def g_forward(z, valid):
    images = generator(z)
    return loss(discriminator(images), valid), images


def d_forward(real, images, valid, fake):
    return (loss(discriminator(real), valid) + loss(discriminator(images), fake)) / 2


g_grad = ms.value_and_grad(g_forward, None, optimizer_g.parameters, has_aux=True)
d_grad = ms.value_and_grad(d_forward, None, optimizer_d.parameters, has_aux=False)


def train_step(real, z):
    valid, fake = ops.ones((real.shape[0], 1), ms.float32), ops.zeros((real.shape[0], 1), ms.float32)
    (g_loss, images), g_grads = g_grad(z, valid)
    optimizer_g(g_grads)
    d_loss, d_grads = d_grad(real, images, valid, fake)
    optimizer_d(d_grads)
    return g_loss, d_loss, images


generator.set_train()
discriminator.set_train()
for step in range(4):
    g, d, images = train_step(Tensor(np.tanh(numbers(6, 1, 3, 4, seed=step))), Tensor(numbers(6, 5, seed=50 + step)))
    show("losses", [float(g.asnumpy()), float(d.asnumpy()), float(images.asnumpy().sum())])
generator.set_train(False)
show("made", generator(Tensor(numbers(2, 5, seed=9))))
totals(generator)
totals(discriminator)
