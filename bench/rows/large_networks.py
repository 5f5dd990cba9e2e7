"""Whole training steps of two larger networks, as Cells and in PyTorch; jax has no layers of its own."""
import numpy as np
from measure import labels, normal, row

from rows.networks import mindspore_step, torch_step


def fixed(names_and_shapes):
    """Values for all parameters of a network, made of a sine, so that every framework starts with the same."""
    for number, (name, shape) in enumerate(names_and_shapes):
        size = int(np.prod(shape))
        wave = np.sin(np.arange(1, size + 1) * (0.37 + number * 0.01)).astype(np.float32).reshape(shape)
        if len(shape) > 1:
            yield wave * np.float32((2 / (size // shape[0])) ** 0.5)
        else:
            yield np.full(shape, 0 if name.endswith(("bias", "beta")) else 1, np.float32)


def trained(F, net, optimiser, x, y):
    """The training step of a network with fixed weights."""
    if F.kind == "mindspore":
        net.set_train()
        params = list(net.trainable_params())
        for p, value in zip(params, fixed([(p.name, tuple(p.shape)) for p in params])):
            p.set_data(F.array(value))
        return mindspore_step(F, net, optimiser(params), x, y)
    named = list(net.named_parameters())
    for (_, p), value in zip(named, fixed([(name, tuple(p.shape)) for name, p in named])):
        p.data = F.array(value)
    return torch_step(F, net, optimiser(net.parameters()), x, y)


def parts(F):
    """(torch.nn or nn, the base class of networks, chain(*layers), whether it is PyTorch); None for other frameworks."""
    if F.kind == "torch":
        nn = F.torch.nn
        return nn, nn.Module, nn.Sequential, True
    if F.kind == "mindspore":
        return F.nn, F.nn.Cell, lambda *layers: F.nn.SequentialCell(list(layers)), False
    return None


@row("step: ResNet-18 CIFAR, batch 32, Momentum", goal=0.95)
def resnet(F):
    found = parts(F)
    if found is None:
        return None
    nn, Base, chain, torch = found

    def conv(i, o, size, stride):
        if torch:
            return nn.Conv2d(i, o, size, stride, padding=size // 2, bias=False)
        return nn.Conv2d(i, o, size, stride, pad_mode="pad", padding=size // 2, has_bias=False)

    class Block(Base):
        """Two convolutions and the way around them."""

        def __init__(self, i, o, stride):
            super().__init__()
            self.first = chain(conv(i, o, 3, stride), nn.BatchNorm2d(o))
            self.second = chain(conv(o, o, 3, 1), nn.BatchNorm2d(o))
            self.short = chain(conv(i, o, 1, stride), nn.BatchNorm2d(o)) if stride > 1 or i != o else None
            self.relu = nn.ReLU()

        def forward(self, x):
            y = self.second(self.relu(self.first(x)))
            return self.relu(y + (x if self.short is None else self.short(x)))
        construct = forward

    class ResNet(Base):
        """He et al. 2016, with the first layer for pictures of 32 x 32."""

        def __init__(self):
            super().__init__()
            self.stem, self.relu = chain(conv(3, 64, 3, 1), nn.BatchNorm2d(64)), nn.ReLU()
            sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
                     (512, 512, 1)]
            self.blocks = chain(*(Block(*s) for s in sizes))
            self.dense = nn.Linear(512, 10) if torch else nn.Dense(512, 10)

        def forward(self, x):
            return self.dense(self.blocks(self.relu(self.stem(x))).mean((2, 3)))
        construct = forward

    def momentum(params):
        return F.torch.optim.SGD(params, 0.01, 0.9, foreach=True) if torch else nn.Momentum(params, 0.01, 0.9)
    return trained(F, ResNet(), momentum, normal(32, 3, 32, 32), labels(32, 10))


@row("step: transformer encoder LM, 4 layers, d 256, seq 128, batch 8, Adam", goal=0.6)
def transformer(F):
    found = parts(F)
    if found is None:
        return None
    nn, Base, chain, torch = found
    linear = nn.Linear if torch else nn.Dense
    softmax = F.functional.softmax if torch else F.ops.softmax

    def norm():
        return nn.LayerNorm(256) if torch else nn.LayerNorm((256,), epsilon=1e-5)

    class Layer(Base):
        """Attention and a feed-forward part, each after its normalisation."""

        def __init__(self):
            super().__init__()
            self.qkv, self.out = linear(256, 768), linear(256, 256)
            self.up, self.down = linear(256, 1024), linear(1024, 256)
            self.first, self.second, self.gelu = norm(), norm(), nn.GELU() if torch else nn.GELU(approximate=False)

        def forward(self, x):
            q, k, v = [self.qkv(self.first(x)).reshape(8, 128, 3, 8, 32)[:, :, i].swapaxes(1, 2) for i in range(3)]
            scores = softmax(F.matmul(q, k.swapaxes(2, 3)) * 32 ** -0.5, -1)
            x = x + self.out(F.matmul(scores, v).swapaxes(1, 2).reshape(8, 128, 256))
            return x + self.down(self.gelu(self.up(self.second(x))))
        construct = forward

    class Model(Base):
        """Vaswani et al. 2017, the encoder, with a row of logits for each word."""

        def __init__(self):
            super().__init__()
            self.words, self.layers = nn.Embedding(1000, 256), chain(*(Layer() for _ in range(4)))
            self.norm, self.head = norm(), linear(256, 1000)

        def forward(self, x):
            return self.head(self.norm(self.layers(self.words(x)))).reshape(8 * 128, 1000)
        construct = forward

    def adam(params):
        return F.torch.optim.Adam(params, 1e-3, fused=True) if torch else nn.Adam(params, 1e-3)
    words = np.random.default_rng(3).integers(0, 1000, (8, 128)).astype(np.int32)
    return trained(F, Model(), adam, words, labels(8 * 128, 1000))


@row("cold compile: ResNet-18", goal=1.5, cold=True)
def cold_resnet(F):
    return resnet(F)


@row("cold compile: transformer", goal=1.5, cold=True)
def cold_transformer(F):
    return transformer(F)
