"""What is measured on a GPU, written once for mindlite, PyTorch (eager and compiled) and jax.

    @row("gelu, 64 M, forward and backward", goal=0.95, bytes=lambda n: 6 * n * n * 4)
    def gelu(F, n):            # F: the framework (`gpu.py`), its arrays on the GPU; n: 8192, less for a try
        ...
        return run             # what is timed

Networks: attention as each framework has it as one function.
"""
import numpy as np
from measure import labels, normal
from rows.cold_networks import JaxParts, MindSporeParts
from rows.large_networks import fixed, jax_trained
from rows.networks import adam, mindspore_step, torch_step

ROWS = {}
LENGTHS = 200


def row(name, goal, bytes=None, flops=None):
    """Register a row. goal: mindlite's time by the best peer's, at most; bytes, flops: of n, that must move or be done"""
    def register(make):
        ROWS[name] = (make, goal, bytes, flops)
        return make
    return register


def chain(F, x, count):
    """Operators on an element, count of them."""
    for _ in range(count // 2):
        x = F.tanh(x) * 1.01
    return x


def differentiated(F, f, *arrays):
    """run() -> the value of f's sum and gradients for all arrays."""
    both = F.jit(F.value_and_grad(f, len(arrays)))
    return lambda: both(*arrays)


def rms_norm(F, x, gamma):
    """Zhang and Sennrich 2019."""
    if F.kind == "mindspore":
        return F.ops.rms_norm(x, gamma)[0]
    if F.kind == "torch":
        return F.functional.rms_norm(x, gamma.shape, gamma)
    return x * F.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gamma


def softmax(F, x):
    """Along the last axis."""
    return F.ops.softmax(x, -1) if F.kind == "mindspore" else F.torch.softmax(x, -1) if F.kind == "torch" else F.jax.nn.softmax(x)


def gelu_tanh(F, x):
    """GELU by tanh."""
    if F.kind == "mindspore":
        return F.ops.gelu(x, approximate="tanh")
    return F.functional.gelu(x, approximate="tanh") if F.kind == "torch" else F.jax.nn.gelu(x, approximate=True)


def relu(F, x):
    """max(x, 0)"""
    return F.ops.relu(x) if F.kind == "mindspore" else F.torch.relu(x) if F.kind == "torch" else F.jax.nn.relu(x)


@row("copy, 64 M", 1.0, bytes=lambda n: 8 * n * n)
def copy(F, n):
    """What the bandwidth is measured by."""
    x, f = F.array(normal(n, n)), F.jit(lambda x: x * 1.5)
    return lambda: f(x)


@row("20 operators, 64 M", 0.95, bytes=lambda n: 8 * n * n)
def elementwise(F, n):
    x, f = F.array(normal(n, n)), F.jit(lambda x: chain(F, x, 20))
    return lambda: f(x)


@row("gelu, 64 M, with gradient", 0.95, bytes=lambda n: 8 * n * n)
def gelu(F, n):
    return differentiated(F, lambda x: F.gelu(x).sum(), F.array(normal(n, n)))


@row("layer_norm, 64 M, with gradients", 0.95, bytes=lambda n: 12 * n * n)
def layer_norm(F, n):
    return differentiated(F, lambda x, g, b: F.layer_norm(x, g, b).sum(), *[F.array(normal(*s)) for s in ((n, n), (n,), (n,))])


@row("rms_norm, 64 M, with gradients", 0.95, bytes=lambda n: 12 * n * n)
def rms(F, n):
    return differentiated(F, lambda x, g: rms_norm(F, x, g).sum(), *[F.array(normal(*s)) for s in ((n, n), (n,))])


@row("softmax, 64 M, with gradient", 0.95, bytes=lambda n: 12 * n * n)
def softmaxes(F, n):
    w = F.array(normal(n, n, seed=1))
    return differentiated(F, lambda x: (softmax(F, x) * w).sum(), F.array(normal(n, n)))


@row("cross_entropy, 64 M, with gradient", 0.95, bytes=lambda n: 12 * n * n)
def cross_entropy(F, n):
    y = F.array(labels(n, n))
    return differentiated(F, lambda x: F.cross_entropy(x, y), F.array(normal(n, n)))


@row("Adam, 100 M", 1.0, bytes=lambda n: 28 * (n * n * 3 // 2))
def adam_step(F, n):
    """One Parameter of 1.5 n n elements."""
    shape = (n * 3 // 2, n)
    value, gradient = normal(*shape), F.array(normal(*shape, seed=1))
    if F.kind == "mindspore":
        optimiser = F.nn.Adam([F.ms.Parameter(F.array(value), name="p")], 1e-3)
        step = F.jit(lambda g: optimiser((g,)))
        return lambda: step(gradient)
    if F.kind == "torch":
        p = F.array(value).requires_grad_()
        p.grad, optimiser = gradient, F.torch.optim.Adam([p], 1e-3, fused=F.on_gpu)
        return optimiser.step
    held = [F.array(value), (F.jnp.zeros(shape), F.jnp.zeros(shape))]
    step = F.jax.jit(lambda p, g, s: adam(F.jnp, p, g, s, 1.0), donate_argnums=(0, 2))

    def run():
        held[:] = step(held[0], gradient, held[1])
        return held[0]
    return run


def product(F, n, finish):
    """A product of bfloat16 and what follows."""
    x, w, b = (F.converted(normal(*s), "bfloat16") for s in ((n, n), (n, n), (n,)))
    f = F.jit(lambda x, w, b: finish(F.matmul(x, w), b))
    return lambda: f(x, w, b)


@row("matmul, bf16, 8192", 1.02, flops=lambda n: 2 * n ** 3)
def matmul(F, n):
    return product(F, n, lambda y, b: y)


@row("matmul + bias + gelu, bf16, 8192", 1.0, flops=lambda n: 2 * n ** 3)
def matmul_gelu(F, n):
    return product(F, n, lambda y, b: gelu_tanh(F, y + b))


@row("matmul + bias + relu, bf16, 8192", 1.0, flops=lambda n: 2 * n ** 3)
def matmul_relu(F, n):
    return product(F, n, lambda y, b: relu(F, y + b))


@row("conv2d 3 x 3, 256 channels, batch 64", 1.02, flops=lambda n: 2 * 64 * 56 * 56 * 256 * 256 * 9)
def conv(F, n):
    c, batch, side = (256, 64, 56) if n >= 1024 else (4, 2, 8)
    x, w = F.array(normal(batch, c, side, side)), F.array(normal(c, c, 3, 3))
    f = F.jit(lambda x, w: F.conv2d(x, w, 1))
    return lambda: f(x, w)


@row("conv2d 3 x 3, 256 channels, batch 64, bf16", 1.02, flops=lambda n: 2 * 64 * 56 * 56 * 256 * 256 * 9)
def conv_of_halves(F, n):
    c, batch, side = (256, 64, 56) if n >= 1024 else (4, 2, 8)
    x, w = F.converted(normal(batch, c, side, side), "bfloat16"), F.converted(normal(c, c, 3, 3), "bfloat16")
    f = F.jit(lambda x, w: F.conv2d(x, w, 1))
    return lambda: f(x, w)


@row("20 operators, 1,000 elements", 0.7)
def small_chain(F, n):
    x, f = F.array(normal(1000)), F.jit(lambda x: chain(F, x, 20))
    return lambda: f(x)


@row("eager add, 1,000 elements", 1.0)
def eager_add(F, n):
    if F.name == "torch.compile":
        return None
    x, y = F.array(normal(1000)), F.array(normal(1000, seed=1))
    return lambda: x + y


@row("200 lengths, steady", 0.8)
def lengths(F, n):
    """Requests of 200 lengths, one after the other: a product, a bias and a softmax."""
    if F.kind == "jax":
        return None                                          # it compiles for each length
    size = 512 if n >= 1024 else 8
    w, b = F.array(normal(size, size)), F.array(normal(size))
    inputs = [F.array(normal(4 * k + 1 if n >= 1024 else k % 5 + 1, size)) for k in range(LENGTHS if n >= 1024 else 7)]
    f = F.jit(lambda x: softmax(F, F.matmul(x, w) + b), **F.open_sizes)
    return lambda: [f(x) for x in inputs]


# ---------------------------------------------------------------- networks

class TorchParts:
    """Layers and functions of PyTorch, as `rows.cold_networks` has those of the others."""

    def __init__(self, F):
        nn, torch = F.torch.nn, F.torch

        class Base(nn.Module):
            """What has `construct`."""

            def forward(self, *args):
                return self.construct(*args)
        self.Base, self.embedding, self.dense, self.chain = Base, nn.Embedding, nn.Linear, nn.ModuleList
        self.norm, self.batch_norm = (lambda size: nn.LayerNorm(size)), nn.BatchNorm2d
        self.conv = lambda i, o, size, stride=1: nn.Conv2d(i, o, size, stride, size // 2, bias=False)
        self.relu, self.matmul, self.softmax, self.array = torch.relu, torch.matmul, torch.softmax, F.array


def parts_of(F):
    """The layers of a framework, with attention, pooling and patches besides."""
    parts = {"mindspore": MindSporeParts, "torch": TorchParts, "jax": JaxParts}[F.kind](F)
    parts.gelu = lambda x: gelu_tanh(F, x)
    if F.kind == "torch":
        parts.attention = lambda q, k, v, causal: F.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        parts.pool = lambda x: F.functional.max_pool2d(x, 3, 2, 1)
    elif F.kind == "jax":
        def attention(q, k, v, causal):
            turned = [x.swapaxes(1, 2) for x in (q, k, v)]
            return F.jax.nn.dot_product_attention(*turned, is_causal=causal, implementation=F.attention).swapaxes(1, 2)
        parts.attention = attention
        parts.pool = lambda x: F.lax.reduce_window(x, -np.inf, F.lax.max, (1, 1, 3, 3), (1, 1, 2, 2),
                                                   ((0, 0), (0, 0), (1, 1), (1, 1)))
    else:
        parts.attention = lambda q, k, v, causal: F.ops.scaled_dot_product_attention(q, k, v, is_causal=causal)
        parts.pool = lambda x: F.ops.max_pool2d(x, 3, 2, 1)
    return parts


def transformer_layer(parts, size, heads, causal):
    """A layer whose norms stand before its parts."""
    class Layer(parts.Base):
        """Attention and a feed-forward part."""

        def __init__(self):
            super().__init__()
            self.qkv, self.out = parts.dense(size, 3 * size), parts.dense(size, size)
            self.up, self.down = parts.dense(size, 4 * size), parts.dense(4 * size, size)
            self.first, self.second = parts.norm(size), parts.norm(size)

        def construct(self, x):
            batch, rows, _ = x.shape
            y = self.qkv(self.first(x))
            q, k, v = [y[:, :, i * size:(i + 1) * size].reshape(batch, rows, heads, size // heads).swapaxes(1, 2)
                       for i in range(3)]
            y = parts.attention(q, k, v, causal).swapaxes(1, 2).reshape(batch, rows, size)
            x = x + self.out(y)
            return x + self.down(parts.gelu(self.up(self.second(x))))
    return Layer()


def gpt2(parts, layers, size, heads, length, words):
    """Radford et al. 2019."""
    class GPT(parts.Base):
        """Words in, a row of logits for each out."""

        def __init__(self):
            super().__init__()
            self.words, self.places = parts.embedding(words, size), parts.embedding(length, size)
            self.layers = parts.chain([transformer_layer(parts, size, heads, True) for _ in range(layers)])
            self.norm, self.head = parts.norm(size), parts.dense(size, words)
            self.range = parts.array(np.arange(length, dtype=np.int32))

        def construct(self, x):
            x = self.words(x) + self.places(self.range)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x)).reshape(-1, words)
    return GPT()


def vit(parts, layers, size, heads, side, patch):
    """Dosovitskiy et al. 2021, with the mean of the patches in the place of the class token."""
    class ViT(parts.Base):
        """Pictures in, logits of 1,000 classes out."""

        def __init__(self):
            super().__init__()
            self.enter, self.places = parts.dense(3 * patch * patch, size), parts.embedding((side // patch) ** 2, size)
            self.layers = parts.chain([transformer_layer(parts, size, heads, False) for _ in range(layers)])
            self.norm, self.head = parts.norm(size), parts.dense(size, 1000)
            self.range = parts.array(np.arange((side // patch) ** 2, dtype=np.int32))

        def construct(self, x):
            x = self.enter(x) + self.places(self.range)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x).mean(1))
    return ViT()


def resnet50(parts, width, counts):
    """He et al. 2016."""
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
            return parts.relu(self.norm3(self.conv3(y)) + (x if self.short is None else self.norm4(self.short(x))))

    class ResNet(parts.Base):
        """Pictures in, logits of 1,000 classes out."""

        def __init__(self):
            super().__init__()
            self.enter, self.norm = parts.conv(3, width, 7, 2), parts.batch_norm(width)
            blocks, now = [], width
            for level, count in enumerate(counts):
                for number in range(count):
                    blocks.append(Block(now, width << level, 2 if level and not number else 1))
                    now = 4 * (width << level)
            self.blocks, self.head = parts.chain(blocks), parts.dense(now, 1000)

        def construct(self, x):
            x = parts.pool(parts.relu(self.norm(self.enter(x))))
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean((2, 3)))
    return ResNet()


def training(F, make, x, y, dtype):
    """A step of Adam of a network that computes in a dtype; its parameters are float32."""
    parts = parts_of(F)
    net = make(parts)
    if F.kind == "jax":
        def forward(params, x):
            parts.params, parts.seen = [p.astype(dtype) for p in params], []
            return net(x if x.dtype.kind == "i" else x.astype(dtype)).astype("float32"), parts.seen
        return jax_trained(F, forward, parts.shapes, adam, x, y)
    if F.kind == "torch":
        net = F.placed(net)
        return torch_step(F, net, F.torch.optim.Adam(net.parameters(), 1e-3, fused=F.on_gpu), x, y)
    net.set_train()
    params = list(net.trainable_params())
    for p, value in zip(params, fixed([(p.name, tuple(p.shape)) for p in params])):
        p.set_data(F.array(value))
    net.to_float(getattr(F.ms, dtype))
    return mindspore_step(F, net, F.nn.Adam(params, 1e-3), x, y)


@row("GPT-2 small, bf16, 16 x 1024, step", 1.0, flops=lambda n: 6 * 124e6 * 16 * 1024)
def train_gpt2(F, n):
    facts, batch = ((12, 768, 12, 1024, 50257), 16) if n >= 1024 else ((1, 16, 2, 8, 50), 2)
    x = np.random.default_rng(3).integers(0, facts[-1], (batch, facts[3])).astype(np.int32)
    return training(F, lambda parts: gpt2(parts, *facts), x, labels(batch * facts[3], facts[-1]), "bfloat16")


@row("ViT-B/16, bf16, batch 64, step", 1.0, flops=lambda n: 3 * 35e9 * 64)
def train_vit(F, n):
    """The patches come as rows."""
    facts, batch = ((12, 768, 12, 224, 16), 64) if n >= 1024 else ((1, 16, 2, 8, 4), 2)
    x = normal(batch, (facts[3] // facts[4]) ** 2, 3 * facts[4] ** 2)
    return training(F, lambda parts: vit(parts, *facts), x, labels(batch, 1000), "bfloat16")


@row("ResNet-50, bf16, batch 128, step", 1.0, flops=lambda n: 3 * 8.2e9 * 128)
def train_resnet(F, n):
    (width, counts), batch, side = ((64, (3, 4, 6, 3)), 128, 224) if n >= 1024 else ((2, (1, 1)), 2, 16)
    x, y = normal(batch, 3, side, side), labels(batch, 1000)
    return training(F, lambda parts: resnet50(parts, width, counts), x, y, "bfloat16")
