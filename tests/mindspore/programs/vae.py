"""A variational autoencoder: noise is given, the loss is a reconstruction and a divergence."""
from fixed import fill, numbers, show, totals

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore import Tensor


class VAE(nn.Cell):
    def __init__(self, size, latent):
        super(VAE, self).__init__()
        self.fc1 = nn.Dense(size, 10)
        self.fc21 = nn.Dense(10, latent)
        self.fc22 = nn.Dense(10, latent)
        self.fc3 = nn.Dense(latent, 10)
        self.fc4 = nn.Dense(10, size)
        self.relu = ops.ReLU()
        self.sigmoid = ops.Sigmoid()
        self.exp = ops.Exp()

    def encode(self, x):
        h = self.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def decode(self, z):
        return self.sigmoid(self.fc4(self.relu(self.fc3(z))))

    def construct(self, x, noise):
        mu, logvar = self.encode(x)
        z = mu + noise * self.exp(0.5 * logvar)
        return self.decode(z), mu, logvar


class VAELoss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net
        self.reduce_sum = ops.ReduceSum()
        self.log = ops.Log()

    def construct(self, x, noise):
        recon, mu, logvar = self.net(x, noise)
        bce = -self.reduce_sum(x * self.log(recon + 1e-7) + (1 - x) * self.log(1 - recon + 1e-7))
        kld = -0.5 * self.reduce_sum(1 + logvar - ops.pow(mu, 2) - ops.exp(logvar))
        return (bce + kld) / x.shape[0]


net = fill(VAE(12, 3))
train = nn.TrainOneStepCell(VAELoss(net), nn.RMSProp(net.trainable_params(), learning_rate=0.005, centered=True))
train.set_train()
for step in range(5):
    x = Tensor((numbers(7, 12, seed=step) > 0).astype("float32"))
    show("loss", train(x, Tensor(numbers(7, 3, seed=100 + step))))
recon, mu, logvar = net(x, Tensor(numbers(7, 3)))
show("mu", mu)
show("grad", ms.grad(net.decode)(mu).sum())
totals(net)
