"""Attention in shifted windows (Swin): rolls, partitions, a table of relative places, masks, merged patches."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common import initializer as weight_init


def to_2tuple(x):
    return x if isinstance(x, tuple) else (x, x)


def window_partition(x, size):
    b, h, w, c = x.shape
    x = np.reshape(x, (b, h // size, size, w // size, size, c))
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, size, size, c)


class WindowPartition(nn.Cell):
    def __init__(self, window_size):
        super().__init__()
        self.window_size = window_size

    def construct(self, x):
        b, h, w, c = x.shape
        x = ops.reshape(x, (b, h // self.window_size, self.window_size, w // self.window_size, self.window_size, c))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (b * h * w // (self.window_size ** 2), self.window_size, self.window_size, c))


class WindowReverse(nn.Cell):
    def construct(self, windows, window_size, h, w):
        b = windows.shape[0] // (h * w // window_size // window_size)
        x = ops.reshape(windows, (b, h // window_size, w // window_size, window_size, window_size, -1))
        return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (b, h, w, -1))


class RelativeBias(nn.Cell):
    def __init__(self, window_size, num_heads):
        super().__init__()
        self.window_size = window_size
        coords_h, coords_w = np.arange(window_size[0]).reshape(-1, 1), np.arange(window_size[1]).reshape(1, -1)
        coords = np.stack([coords_h.repeat(window_size[1], 1), coords_w.repeat(window_size[0], 0)]).reshape(2, -1)
        relative = np.transpose(coords[:, :, np.newaxis] - coords[:, np.newaxis, :], (1, 2, 0))
        relative[:, :, 0] += window_size[0] - 1
        relative[:, :, 1] += window_size[1] - 1
        relative[:, :, 0] *= 2 * window_size[1] - 1
        self.relative_position_index = Tensor(np.sum(relative, axis=-1).reshape(-1))
        self.relative_position_bias_table = Parameter(
            weight_init.initializer(weight_init.TruncatedNormal(.02),
                                    [(2 * window_size[0] - 1) * (2 * window_size[1] - 1), num_heads]))
        self.one_hot = nn.OneHot(axis=-1, depth=(2 * window_size[0] - 1) * (2 * window_size[1] - 1), dtype=ms.float32)
        self.index = Parameter(self.one_hot(self.relative_position_index), requires_grad=False)

    def construct(self, axis=0):
        out = ops.matmul(self.index, self.relative_position_bias_table)
        out = ops.reshape(out, (self.window_size[0] * self.window_size[1], self.window_size[0] * self.window_size[1], -1))
        return ops.expand_dims(ops.transpose(out, (2, 0, 1)), 0)


class WindowAttention(nn.Cell):
    def __init__(self, dim, window_size, num_heads):
        super().__init__()
        window_size = to_2tuple(window_size)
        self.num_heads = num_heads
        self.scale = Tensor((dim // num_heads) ** -0.5, ms.float32)
        self.relative_bias = RelativeBias(window_size, num_heads)
        self.q, self.k, self.v = nn.Dense(dim, dim, has_bias=True), nn.Dense(dim, dim), nn.Dense(dim, dim)
        self.proj, self.softmax = nn.Dense(dim, dim), nn.Softmax(axis=-1)
        self.batch_matmul = ops.BatchMatMul()

    def construct(self, x, mask=None):
        b_, n, c = x.shape
        q = ops.reshape(self.q(x), (b_, n, self.num_heads, c // self.num_heads)) * self.scale
        q = ops.transpose(q, (0, 2, 1, 3))
        k = ops.transpose(ops.reshape(self.k(x), (b_, n, self.num_heads, c // self.num_heads)), (0, 2, 3, 1))
        v = ops.transpose(ops.reshape(self.v(x), (b_, n, self.num_heads, c // self.num_heads)), (0, 2, 1, 3))
        attn = self.batch_matmul(q, k) + self.relative_bias()
        if mask is not None:
            nw, ws2, _ = mask.shape
            mask = ops.reshape(mask, (1, nw, 1, ws2, ws2))
            attn = ops.reshape(attn, (b_ // nw, nw, self.num_heads, n, n)) + mask
            attn = ops.reshape(attn, (-1, self.num_heads, n, n))
        x = ops.reshape(ops.transpose(self.batch_matmul(self.softmax(attn), v), (0, 2, 1, 3)), (b_, n, c))
        return self.proj(x)


class Roll(nn.Cell):
    def __init__(self, shift_size, shift_axis=(1, 2)):
        super().__init__()
        self.shift_size, self.shift_axis = to_2tuple(shift_size), shift_axis

    def construct(self, x):
        return ms.numpy.roll(x, self.shift_size, self.shift_axis)


class SwinBlock(nn.Cell):
    def __init__(self, dim, resolution, num_heads, window_size=2, shift_size=0, mlp_ratio=2.0):
        super().__init__()
        self.resolution, self.window_size, self.shift_size = resolution, window_size, shift_size
        self.norm1, self.norm2 = nn.LayerNorm([dim], epsilon=1e-5), nn.LayerNorm((dim,))
        self.attn = WindowAttention(dim, window_size, num_heads)
        self.mlp = nn.SequentialCell(nn.Dense(dim, int(dim * mlp_ratio)), nn.GELU(approximate=False),
                                    nn.Dense(int(dim * mlp_ratio), dim))
        self.partition, self.reverse = WindowPartition(window_size), WindowReverse()
        if shift_size > 0:
            h, w = resolution
            img_mask, count = np.zeros((1, h, w, 1)), 0
            slices = (slice(0, -window_size), slice(-window_size, -shift_size), slice(-shift_size, None))
            for rows in slices:
                for columns in slices:
                    img_mask[:, rows, columns, :] = count
                    count += 1
            windows = window_partition(img_mask, window_size).reshape(-1, window_size * window_size)
            mask = windows[:, np.newaxis] - windows[:, :, np.newaxis]
            self.attn_mask = Tensor(np.where(mask == 0, 0., -100.), dtype=ms.float32)
            self.roll_pos, self.roll_neg = Roll(shift_size), Roll(-shift_size)
        else:
            self.attn_mask = None

    def construct(self, x):
        h, w = self.resolution
        b, _, c = x.shape
        shortcut = x
        x = ops.reshape(self.norm1(x), (b, h, w, c))
        shifted = self.roll_neg(x) if self.shift_size > 0 else x
        windows = ops.reshape(self.partition(shifted), (-1, self.window_size * self.window_size, c))
        windows = self.attn(windows, mask=self.attn_mask)
        windows = ops.reshape(windows, (-1, self.window_size, self.window_size, c))
        shifted = self.reverse(windows, self.window_size, h, w)
        x = self.roll_pos(shifted) if self.shift_size > 0 else shifted
        x = shortcut + ops.reshape(x, (b, h * w, c))
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Cell):
    def __init__(self, resolution, dim):
        super().__init__()
        self.h, self.w = resolution
        self.reduction, self.norm = nn.Dense(4 * dim, 2 * dim, has_bias=False), nn.LayerNorm([4 * dim])

    def construct(self, x):
        b, _, c = x.shape
        x = x.reshape(b, self.h // 2, 2, self.w // 2, 2, c).transpose(0, 1, 3, 4, 2, 5).reshape(b, self.h * self.w // 4, 4 * c)
        return self.reduction(self.norm(x))


class Swin(nn.Cell):
    def __init__(self, size=16, patch=2, dim=8, classes=5):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=patch, stride=patch, pad_mode="pad", has_bias=True)
        self.pos = Parameter(Tensor(np.zeros((1, (size // patch) ** 2, dim)), ms.float32), name="absolute_pos_embed")
        side = size // patch
        self.blocks = nn.CellList([SwinBlock(dim, (side, side), 2, 4, 0), SwinBlock(dim, (side, side), 2, 4, 2)])
        self.merge = PatchMerging((side, side), dim)
        self.last = SwinBlock(2 * dim, (side // 2, side // 2), 4, 4, 0)
        self.norm, self.head = nn.LayerNorm([2 * dim], epsilon=1e-5), nn.Dense(2 * dim, classes)

    def construct(self, x):
        x = self.patch_embed(x)
        b, c = x.shape[:2]
        x = ops.transpose(ops.reshape(x, (b, c, -1)), (0, 2, 1)) + self.pos
        for block in self.blocks:
            x = block(x)
        x = self.norm(self.last(self.merge(x)))
        return self.head(ops.mean(ops.transpose(x, (0, 2, 1)), 2))


net = Swin()
index = {p.name: p.asnumpy().copy() for p in net.get_parameters() if p.name.endswith("relative_bias.index")}
show("index", [[name, [int(v) for v in value.argmax(-1)[:6]]] for name, value in index.items()])
fill(net)
for p in net.get_parameters():
    if p.name in index:
        p.set_data(Tensor(index[p.name]))
optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=nn.WarmUpLR(0.01, 3), beta2=0.95,
                               eps=1e-8, weight_decay=0.05)
show("decays", [p.name for p in optimizer.parameters if not p.requires_grad])


def forward(x, y):
    logits = net(x)
    return ops.cross_entropy(logits, y), logits


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)


@ms.jit
def step(x, y):
    (loss, logits), grads = grad_fn(x, y)
    optimizer(grads)
    return loss, logits.argmax(1)


for number in range(4):
    loss, guess = step(Tensor(numbers(3, 3, 16, 16, seed=number)), Tensor([0, 4, 2], ms.int32))
    show("loss", loss)
show("guess", net(Tensor(numbers(2, 3, 16, 16, seed=9))))
totals(net)
