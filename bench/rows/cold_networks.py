"""Networks whose first training step is a compilation that is felt: written once, as Cells of MindSpore and of plain jax.

The jax side has a Parts of its own: a layer declares its parameters when it is made and reads them when it is called.
"""
import types

import numpy as np
from measure import labels, normal, row

from rows.large_networks import fixed, jax_trained
from rows.networks import adam, mindspore_step

WORDS = 500


class MindSporeParts:
    """Layers and functions of what speaks MindSpore's interface."""

    def __init__(self, F):
        nn, ops = F.nn, F.ops
        self.Base, self.embedding, self.dense = nn.Cell, nn.Embedding, nn.Dense
        self.chain = lambda layers: nn.CellList(layers)
        self.norm = lambda size: nn.LayerNorm((size,), epsilon=1e-5)
        self.batch_norm, self.group_norm = nn.BatchNorm2d, lambda groups, size: nn.GroupNorm(groups, size)
        self.conv = lambda i, o, size, stride=1: nn.Conv2d(i, o, size, stride, pad_mode="pad", padding=size // 2,
                                                           has_bias=False)
        self.silu, self.gelu, self.relu, self.tanh, self.sigmoid = ops.silu, ops.gelu, ops.relu, ops.tanh, ops.sigmoid
        self.softmax, self.matmul, self.concat, self.stack = ops.softmax, ops.matmul, ops.cat, ops.stack
        self.sin, self.cos, self.where, self.array = ops.sin, ops.cos, ops.where, F.array
        self.top_values = lambda x, k: ops.topk(x, k)[0]
        self.twice = lambda x: ops.repeat_interleave(ops.repeat_interleave(x, 2, 2), 2, 3)


class JaxParts:
    """The same in jax. shapes: [(name, shape)] of what was declared; params: the arrays while a function is traced."""

    def __init__(self, F):
        jax, jnp, lax = F.jax, F.jnp, F.lax
        self.lax, self.layer_norm, self.shapes, self.params, self.seen = lax, F.layer_norm, [], None, []
        self.chain = list
        self.silu, self.gelu, self.relu, self.tanh = jax.nn.silu, F.gelu, jax.nn.relu, jnp.tanh
        self.sigmoid, self.softmax, self.matmul, self.concat = jax.nn.sigmoid, jax.nn.softmax, jnp.matmul, jnp.concatenate
        self.stack, self.sin, self.cos, self.where, self.array = jnp.stack, jnp.sin, jnp.cos, jnp.where, F.array
        self.top_values = lambda x, k: lax.top_k(x, k)[0]
        self.twice = lambda x: jnp.repeat(jnp.repeat(x, 2, 2), 2, 3)

    class Base:
        """What has `construct` and is called."""

        def __call__(self, *args):
            return self.construct(*args)

    def parameter(self, name, *shape):
        """() -> the array of a declared parameter"""
        self.shapes.append((name, shape))
        number = len(self.shapes) - 1
        return lambda: self.params[number]

    def dense(self, i, o):
        w, b = self.parameter("weight", o, i), self.parameter("bias", o)
        return lambda x: x @ w().T + b()

    def embedding(self, count, size):
        table = self.parameter("table", count, size)
        return lambda x: table()[x]

    def conv(self, i, o, size, stride=1):
        w = self.parameter("weight", o, i, size, size)
        return lambda x: self.lax.conv_general_dilated(x, w(), (stride, stride), [(size // 2, size // 2)] * 2)

    def norm(self, size):
        gamma, beta = self.parameter("gamma", size), self.parameter("beta", size)
        return lambda x: self.layer_norm(x, gamma(), beta())

    def batch_norm(self, size):
        gamma, beta = self.parameter("gamma", size), self.parameter("beta", size)

        def run(x):
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.seen += [mean, variance]
            scale = gamma() * self.lax.rsqrt(variance + 1e-5)
            return x * scale[:, None, None] + (beta() - mean * scale)[:, None, None]
        return run

    def group_norm(self, groups, size):
        gamma, beta = self.parameter("gamma", size), self.parameter("beta", size)

        def run(x):
            parts = x.reshape(x.shape[0], groups, -1)
            mean, variance = parts.mean(-1, keepdims=True), parts.var(-1, keepdims=True)
            made = ((parts - mean) * self.lax.rsqrt(variance + 1e-5)).reshape(x.shape)
            return made * gamma()[:, None, None] + beta()[:, None, None]
        return run


def first_step(F, make, x, y):
    """The training step (Adam, cross entropy) of a network: make(parts) -> a callable of x with logits [rows, classes]."""
    if F.kind == "mindspore":
        net = make(MindSporeParts(F))
        net.set_train()
        params = list(net.trainable_params())
        for p, value in zip(params, fixed([(p.name, tuple(p.shape)) for p in params])):
            p.set_data(F.array(value))
        return mindspore_step(F, net, F.nn.Adam(params, 1e-3), x, y)
    if F.kind != "jax":
        return None
    parts = JaxParts(F)
    net = make(parts)

    def forward(params, x):
        parts.params, parts.seen = list(params), []
        return net(x), parts.seen
    return jax_trained(F, forward, parts.shapes, adam, x, y)


def words(*shape):
    """int32 numbers of words."""
    return np.random.default_rng(3).integers(0, WORDS, shape).astype(np.int32)


# ---------------------------------------------------------------- networks

def heads(parts, x, layer, count):
    """Attention over the rows of x [batch, rows, size]; layer: has qkv and out; causal where layer.mask is there."""
    batch, rows, size = x.shape
    q, k, v = [layer.qkv(x)[:, :, i * size:(i + 1) * size].reshape(batch, rows, count, size // count).swapaxes(1, 2)
               for i in range(3)]
    scores = parts.matmul(q, k.swapaxes(2, 3)) * (size // count) ** -0.5
    if layer.mask is not None:
        scores = parts.where(layer.mask, scores, -1e9)
    return layer.out(parts.matmul(parts.softmax(scores, -1), v).swapaxes(1, 2).reshape(batch, rows, size))


def gpt(parts, layers, experts=0, size=128, length=64):
    """Radford et al. 2018; with experts: each token's two best of them (Shazeer et al. 2017), all computed."""
    mask = np.tril(np.ones((length, length), bool))

    class Experts(parts.Base):
        """A feed-forward part whose weights depend on the token."""

        def __init__(self):
            super().__init__()
            self.gate = parts.dense(size, experts)
            self.up = parts.chain([parts.dense(size, 2 * size) for _ in range(experts)])
            self.down = parts.chain([parts.dense(2 * size, size) for _ in range(experts)])

        def construct(self, x):
            scores = self.gate(x)
            least = parts.top_values(scores, 2)[:, :, 1:]
            weights = parts.softmax(parts.where(scores >= least, scores, -1e9), -1)
            out = 0
            for number, (up, down) in enumerate(zip(self.up, self.down)):
                out = out + weights[:, :, number:number + 1] * down(parts.gelu(up(x)))
            return out

    class Dense(parts.Base):
        """The same for all tokens."""

        def __init__(self):
            super().__init__()
            self.up, self.down = parts.dense(size, 4 * size), parts.dense(4 * size, size)

        def construct(self, x):
            return self.down(parts.gelu(self.up(x)))

    class Layer(parts.Base):
        """Attention to earlier tokens and a feed-forward part."""

        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.mask = parts.dense(size, 3 * size), parts.dense(size, size), parts.array(mask)
            self.first, self.second = parts.norm(size), parts.norm(size)
            self.feed = Experts() if experts else Dense()

        def construct(self, x):
            x = x + heads(parts, self.first(x), self, 4)
            return x + self.feed(self.second(x))

    class GPT(parts.Base):
        """Words and places in, a row of logits for each word out."""

        def __init__(self):
            super().__init__()
            self.words, self.places = parts.embedding(WORDS, size), parts.embedding(length, size)
            self.layers = parts.chain([Layer() for _ in range(layers)])
            self.norm, self.head = parts.norm(size), parts.dense(size, WORDS)
            self.range = parts.array(np.arange(length, dtype=np.int32))

        def construct(self, x):
            x = self.words(x) + self.places(self.range)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x)).reshape(-1, WORDS)
    return GPT()


def unet(parts, base=32, mults=(1, 2, 4), time=128):
    """Ho et al. 2020, small: two residual blocks a level, attention at the lowest one; the time is a number of each picture."""
    class Residual(parts.Base):
        """Two convolutions, the time between them, and the way around them."""

        def __init__(self, i, o):
            super().__init__()
            self.norm1, self.conv1 = parts.group_norm(8, i), parts.conv(i, o, 3)
            self.time, self.norm2, self.conv2 = parts.dense(time, o), parts.group_norm(8, o), parts.conv(o, o, 3)
            self.short = parts.conv(i, o, 1) if i != o else None

        def construct(self, x, t):
            y = self.conv1(parts.silu(self.norm1(x)))
            y = y + self.time(parts.silu(t))[:, :, None, None]
            y = self.conv2(parts.silu(self.norm2(y)))
            return y + (x if self.short is None else self.short(x))

    class Attention(parts.Base):
        """Pixels attend to each other."""

        def __init__(self, size):
            super().__init__()
            self.norm, self.qkv, self.out, self.mask = parts.group_norm(8, size), parts.dense(size, 3 * size), \
                parts.dense(size, size), None

        def construct(self, x):
            n, c, h, w = x.shape
            y = heads(parts, self.norm(x).reshape(n, c, h * w).swapaxes(1, 2), self, 4)
            return x + y.swapaxes(1, 2).reshape(n, c, h, w)

    class UNet(parts.Base):
        """A way down that halves the picture, one up that takes in what the way down left."""

        def __init__(self):
            super().__init__()
            sizes = [base * m for m in mults]
            self.enter = parts.conv(3, base, 3)
            self.time1, self.time2 = parts.dense(32, time), parts.dense(time, time)
            self.frequencies = parts.array(np.exp(-np.log(10000) * np.arange(16) / 16).astype(np.float32))
            down, up, left, now = [], [], [base], base
            for size in sizes:
                down += [(now, size), (size, size)]
                left += [size] * 3
                now = size
            left.pop()
            for size in reversed(sizes):
                for _ in range(3):
                    up.append((now + left.pop(), size))
                    now = size
            self.down = parts.chain([Residual(*channels) for channels in down])
            self.shrink = parts.chain([parts.conv(size, size, 3, 2) for size in sizes[:-1]])
            self.middle1, self.attention, self.middle2 = Residual(sizes[-1], sizes[-1]), Attention(sizes[-1]), \
                Residual(sizes[-1], sizes[-1])
            self.up = parts.chain([Residual(*channels) for channels in up])
            self.grow = parts.chain([parts.conv(size, size, 3) for size in sizes[:0:-1]])
            self.norm, self.leave = parts.group_norm(8, now), parts.conv(now, 3, 3)
            self.head = parts.dense(3 * 16 * 16, 10)

        def construct(self, x):
            angle = x.mean((1, 2, 3))[:, None] * self.frequencies
            t = parts.concat([parts.sin(angle), parts.cos(angle)], -1)
            t = self.time2(parts.silu(self.time1(t)))
            x = self.enter(x)
            left = [x]
            for level in range(len(mults)):
                for block in (self.down[2 * level], self.down[2 * level + 1]):
                    x = block(x, t)
                    left.append(x)
                if level + 1 < len(mults):
                    x = self.shrink[level](x)
                    left.append(x)
            x = self.middle2(self.attention(self.middle1(x, t)), t)
            for level in range(len(mults)):
                for number in range(3):
                    x = self.up[3 * level + number](parts.concat([x, left.pop()], 1), t)
                if level + 1 < len(mults):
                    x = self.grow[level](parts.twice(x))
            x = self.leave(parts.silu(self.norm(x)))
            return self.head(x.reshape(x.shape[0], -1))
    return UNet()


def seq2seq(parts, size=128, source=12, target=10):
    """Bahdanau et al. 2015: a GRU reads, another one writes, attends at each word, and is given the right word before."""
    class GRU(parts.Base):
        """One step."""

        def __init__(self, i):
            super().__init__()
            self.x, self.h = parts.dense(i, 3 * size), parts.dense(size, 3 * size)

        def construct(self, x, h):
            a, b = self.x(x), self.h(h)
            r = parts.sigmoid(a[:, :size] + b[:, :size])
            z = parts.sigmoid(a[:, size:2 * size] + b[:, size:2 * size])
            n = parts.tanh(a[:, 2 * size:] + r * b[:, 2 * size:])
            return (1 - z) * n + z * h

    class Seq2Seq(parts.Base):
        """The first words of x are the source, the others what is written."""

        def __init__(self):
            super().__init__()
            self.words, self.written = parts.embedding(WORDS, size), parts.embedding(WORDS, size)
            self.reader, self.writer = GRU(size), GRU(2 * size)
            self.query, self.key, self.score = parts.dense(size, size), parts.dense(size, size), parts.dense(size, 1)
            self.head = parts.dense(2 * size, WORDS)

        def construct(self, x):
            read, written = self.words(x[:, :source]), self.written(x[:, source:])
            h = read[:, 0] * 0
            states = []
            for step in range(source):
                h = self.reader(read[:, step], h)
                states.append(h)
            memory = parts.stack(states, 1)
            keys, out = self.key(memory), []
            for step in range(target):
                scores = self.score(parts.tanh(self.query(h)[:, None] + keys))
                context = (parts.softmax(scores, 1) * memory).sum(1)
                h = self.writer(parts.concat([written[:, step], context], -1), h)
                out.append(self.head(parts.concat([h, context], -1)))
            return parts.stack(out, 1).reshape(-1, WORDS)
    return Seq2Seq()


def resnet50(parts):
    """He et al. 2016, with the first layer for pictures of 32 x 32."""
    class Block(parts.Base):
        """Three convolutions and the way around them."""

        def __init__(self, i, middle, stride):
            super().__init__()
            o = 4 * middle
            self.conv1, self.norm1 = parts.conv(i, middle, 1), parts.batch_norm(middle)
            self.conv2, self.norm2 = parts.conv(middle, middle, 3, stride), parts.batch_norm(middle)
            self.conv3, self.norm3 = parts.conv(middle, o, 1), parts.batch_norm(o)
            self.short, self.norm4 = (parts.conv(i, o, 1, stride), parts.batch_norm(o)) if i != o else (None, None)

        def construct(self, x):
            y = parts.relu(self.norm1(self.conv1(x)))
            y = parts.relu(self.norm2(self.conv2(y)))
            y = self.norm3(self.conv3(y))
            return parts.relu(y + (x if self.short is None else self.norm4(self.short(x))))

    class ResNet(parts.Base):
        """Four stages."""

        def __init__(self):
            super().__init__()
            self.enter, self.norm = parts.conv(3, 64, 3), parts.batch_norm(64)
            blocks, now = [], 64
            for middle, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
                for number in range(count):
                    blocks.append(Block(now, middle, 1 if number else stride))
                    now = 4 * middle
            self.blocks, self.head = parts.chain(blocks), parts.dense(now, 10)

        def construct(self, x):
            x = parts.relu(self.norm(self.enter(x)))
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean((2, 3)))
    return ResNet()


NETWORKS = types.MappingProxyType({
    "UNet (DDPM), 3 levels, batch 4": (unet, {}, normal(4, 3, 16, 16), labels(4, 10), 1.0),
    "seq2seq with attention, 12 + 10 words": (seq2seq, {}, words(16, 22), labels(160, WORDS), 1.0),
    "GPT, 4 layers": (gpt, {"layers": 4}, words(4, 64), labels(256, WORDS), 1.0),
    "GPT, 12 layers": (gpt, {"layers": 12}, words(4, 64), labels(256, WORDS), 0.5),
    "mixture of 4 experts, 4 layers": (gpt, {"layers": 4, "experts": 4}, words(4, 64), labels(256, WORDS), 1.0),
    "ResNet-50": (resnet50, {}, normal(2, 3, 32, 32), labels(2, 10), 0.5),
})


def _register(name, make, options, x, y, goal):
    @row(f"cold compile: {name}", goal=goal, cold=True)
    def cold(F):
        return first_step(F, lambda parts: make(parts, **options), x, y)


for _name, _facts in NETWORKS.items():
    _register(_name, *_facts)
