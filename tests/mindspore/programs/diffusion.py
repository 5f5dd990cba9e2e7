"""A small denoising network: time embedding, GroupNorm, up and down, the noise schedule, sampling in a loop."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class SinusoidalPosEmb(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        half = dim // 2
        self.emb = Tensor(np.exp(np.arange(half) * -(np.log(10000) / (half - 1))), ms.float32)

    def construct(self, x):
        emb = x[:, None].astype(ms.float32) * self.emb[None, :]
        return ops.concat((ops.sin(emb), ops.cos(emb)), axis=-1)


class Block(nn.Cell):
    def __init__(self, dim, dim_out):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim_out, 3, pad_mode="pad", padding=1, has_bias=True)
        self.norm = nn.GroupNorm(2, dim_out)
        self.mlp = nn.SequentialCell(nn.SiLU(), nn.Dense(8, dim_out * 2))

    def construct(self, x, time):
        scale, shift = self.mlp(time).expand_dims(-1).expand_dims(-1).chunk(2, axis=1)
        x = self.norm(self.proj(x)) * (scale + 1) + shift
        return ops.silu(x)


class Unet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.time = nn.SequentialCell(SinusoidalPosEmb(8), nn.Dense(8, 8), nn.GELU(approximate=False), nn.Dense(8, 8))
        self.inside = Block(1, 4)
        self.down = nn.Conv2d(4, 8, 4, 2, pad_mode="pad", padding=1, has_bias=True)
        self.middle = Block(8, 8)
        self.up = nn.Conv2dTranspose(8, 4, 4, 2, pad_mode="pad", padding=1, has_bias=True)
        self.last = Block(8, 4)
        self.out = nn.Conv2d(4, 1, 1, has_bias=True)

    def construct(self, x, t):
        t = self.time(t)
        skip = self.inside(x, t)
        h = self.middle(self.down(skip), t)
        return self.out(self.last(ops.concat((self.up(h), skip), 1), t))


steps = 10
betas = np.linspace(1e-3, 0.2, steps).astype(np.float32)
alphas = np.cumprod(1 - betas)
root, rest = Tensor(np.sqrt(alphas)), Tensor(np.sqrt(1 - alphas))
net = fill(Unet(), scale=0.2)
optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)


def loss_fn(x, t, noise):
    noisy = root[t].reshape(-1, 1, 1, 1) * x + rest[t].reshape(-1, 1, 1, 1) * noise
    return ops.smooth_l1_loss(net(noisy, t), noise, beta=0.5, reduction="mean")


grad_fn = ms.value_and_grad(loss_fn, None, optimizer.parameters)
for step in range(3):
    t = Tensor(np.array([step, 9 - step, 5]), ms.int32)
    loss, grads = grad_fn(Tensor(numbers(3, 1, 8, 8, seed=step)), t, Tensor(numbers(3, 1, 8, 8, seed=30 + step)))
    optimizer(grads)
    show("loss", loss)
net.set_train(False)
x = Tensor(numbers(2, 1, 8, 8, seed=77))
for i in reversed(range(steps - 5, steps)):
    noise = net(x, ops.full((2,), i, dtype=ms.int32))
    mean = (x - float(betas[i]) / rest[i] * noise) / float(np.sqrt(1 - betas[i]))
    x = ops.clamp(mean + float(np.sqrt(betas[i])) * Tensor(numbers(2, 1, 8, 8, seed=200 + i)), -3.0, 3.0)
show("sample", x[:, :, ::3, ::3])
totals(net)
