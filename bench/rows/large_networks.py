"""Whole training steps of two larger networks: as Cells, in PyTorch, and in plain jax, which has no layers of its own."""
import numpy as np
from measure import labels, normal, row

from rows.networks import adam, mindspore_step, momentum, torch_step


def fixed(names_and_shapes):
    """Values for all parameters of a network (He et al. 2015 for weights), the same for every framework."""
    for number, (name, shape) in enumerate(names_and_shapes):
        if len(shape) > 1:
            yield normal(*shape, seed=number) * np.float32((2 / np.prod(shape[1:])) ** 0.5)
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


def jax_trained(F, forward, shapes, update, x, y):
    """The same in jax: parameters, optimiser's state and moving statistics donated.

    forward : (iterator over the parameters, x) -> (logits, the statistics of this batch)
    shapes  : [(name, shape)] of the parameters, in the order in which the other frameworks have them
    """
    jax, jnp = F.jax, F.jnp

    def step(params, states, moving, t, x, y):
        def loss_of(params):
            logits, seen = forward(iter(params), x)
            return F.cross_entropy(logits, y), seen
        (loss, seen), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        made = [update(jnp, p, g, s, t) for p, g, s in zip(params, grads, states)]
        moving = [0.9 * old + 0.1 * new for old, new in zip(moving, seen)]
        return loss, [m[0] for m in made], [m[1] for m in made], moving, t + 1
    step = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    params = [jnp.asarray(value) for value in fixed(shapes)]
    seen = jax.eval_shape(lambda params, x: forward(iter(params), x)[1], params, x)
    held = [params, [(jnp.zeros_like(p), jnp.zeros_like(p)) for p in params], [jnp.zeros(s.shape) for s in seen],
            jnp.float32(1)]
    x, y = F.array(x), F.array(y)

    def run():
        loss, *held[:] = step(*held, x, y)
        return loss
    return run


def jax_resnet(F):
    """ResNet-18 as functions of its parameters."""
    jax, lax, shapes = F.jax, F.lax, []

    def layer(i, o, size, stride):
        """Declare a convolution and its normalisation; what computes them: (parameters, x, statistics) -> y."""
        shapes.extend([("weight", (o, i, size, size)), ("gamma", (o,)), ("beta", (o,))])

        def run(params, x, seen):
            w, gamma, beta = next(params), next(params), next(params)
            x = lax.conv_general_dilated(x, w, (stride, stride), [(size // 2, size // 2)] * 2)
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            seen.extend([mean, variance])
            scale = gamma * lax.rsqrt(variance + 1e-5)
            return x * scale[:, None, None] + (beta - mean * scale)[:, None, None]
        return run
    stem, blocks = layer(3, 64, 3, 1), []
    for i, o, stride in ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1),
                         (256, 512, 2), (512, 512, 1)):
        blocks.append((layer(i, o, 3, stride), layer(o, o, 3, 1), layer(i, o, 1, stride) if i != o else None))
    shapes += [("weight", (10, 512)), ("bias", (10,))]

    def forward(params, x):
        seen = []
        x = jax.nn.relu(stem(params, x, seen))
        for first, second, short in blocks:
            y = second(params, jax.nn.relu(first(params, x, seen)), seen)
            x = jax.nn.relu(y + (x if short is None else short(params, x, seen)))
        return x.mean((2, 3)) @ next(params).T + next(params), seen
    return jax_trained(F, forward, shapes, momentum, normal(32, 3, 32, 32), labels(32, 10))


def jax_transformer(F, words):
    """The encoder as functions of its parameters."""
    jax, jnp = F.jax, F.jnp
    shapes = [("table", (1000, 256))]
    for _ in range(4):
        for o, i in ((768, 256), (256, 256), (1024, 256), (256, 1024)):
            shapes += [("weight", (o, i)), ("bias", (o,))]
        shapes += [("gamma", (256,)), ("beta", (256,))] * 2
    shapes += [("gamma", (256,)), ("beta", (256,)), ("weight", (1000, 256)), ("bias", (1000,))]

    def linear(x, w, b):
        return x @ w.T + b

    def forward(params, x):
        x = next(params)[x]
        for _ in range(4):
            qkv, out, up, down, first, second = [(next(params), next(params)) for _ in range(6)]
            q, k, v = [linear(F.layer_norm(x, *first), *qkv).reshape(8, 128, 3, 8, 32)[:, :, i].swapaxes(1, 2)
                       for i in range(3)]
            scores = jax.nn.softmax(jnp.matmul(q, k.swapaxes(2, 3)) * 32 ** -0.5, -1)
            x = x + linear(jnp.matmul(scores, v).swapaxes(1, 2).reshape(8, 128, 256), *out)
            x = x + linear(F.gelu(linear(F.layer_norm(x, *second), *up)), *down)
        x = F.layer_norm(x, next(params), next(params))
        return linear(x, next(params), next(params)).reshape(8 * 128, 1000), []
    return jax_trained(F, forward, shapes, adam, words, labels(8 * 128, 1000))


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
    if F.kind == "jax":
        return jax_resnet(F)
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

    def optimiser(params):
        return F.torch.optim.SGD(params, 0.01, 0.9, foreach=True) if torch else nn.Momentum(params, 0.01, 0.9)
    return trained(F, ResNet(), optimiser, normal(32, 3, 32, 32), labels(32, 10))


@row("step: transformer encoder LM, 4 layers, d 256, seq 128, batch 8, Adam", goal=0.6)
def transformer(F):
    words = np.random.default_rng(3).integers(0, 1000, (8, 128)).astype(np.int32)
    if F.kind == "jax":
        return jax_transformer(F, words)
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
            q, k, v = [self.qkv(self.first(x)).reshape(-1, 128, 3, 8, 32)[:, :, i].swapaxes(1, 2) for i in range(3)]
            scores = softmax(F.matmul(q, k.swapaxes(2, 3)) * 32 ** -0.5, -1)
            x = x + self.out(F.matmul(scores, v).swapaxes(1, 2).reshape(-1, 128, 256))
            return x + self.down(self.gelu(self.up(self.second(x))))
        construct = forward

    class Model(Base):
        """Vaswani et al. 2017, the encoder, with a row of logits for each word."""

        def __init__(self):
            super().__init__()
            self.words, self.layers = nn.Embedding(1000, 256), chain(*(Layer() for _ in range(4)))
            self.norm, self.head = norm(), linear(256, 1000)

        def forward(self, x):
            return self.head(self.norm(self.layers(self.words(x)))).reshape(-1, 1000)
        construct = forward

    def optimiser(params):
        return F.torch.optim.Adam(params, 1e-3, fused=True) if torch else nn.Adam(params, 1e-3)
    return trained(F, Model(), optimiser, words, labels(8 * 128, 1000))


@row("cold compile: ResNet-18", goal=1.0, cold=True)
def cold_resnet(F):
    return resnet(F)


@row("cold compile: transformer", goal=1.0, cold=True)
def cold_transformer(F):
    return transformer(F)
