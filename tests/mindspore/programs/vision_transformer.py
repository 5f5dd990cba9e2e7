"""A vision transformer: patches by a convolution, a class token, attention written with one projection for all three, dropped
paths, norms before; mixed pictures, a Model with amp level O0 and a loss that takes soft labels, cosine with warm-up."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Normal, initializer
from mindspore.train import LossMonitor, Model
from mindspore.dataset import GeneratorDataset, vision, transforms


class DropPath(nn.Cell):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.dropout = nn.Dropout(p=rate)

    def construct(self, x):
        if not self.training or self.rate == 0.0:
            return x
        return x * self.dropout(ops.ones((x.shape[0],) + (1,) * (x.ndim - 1), x.dtype))


class Attention(nn.Cell):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.scale = Tensor(self.head_dim ** -0.5)
        self.qkv = nn.Dense(dim, dim * 3)
        self.out = nn.Dense(dim, dim)
        self.q_matmul_k = ops.BatchMatMul(transpose_b=True)
        self.attn_matmul_v = ops.BatchMatMul()
        self.softmax = nn.Softmax(axis=-1)

    def construct(self, x):
        b, n, c = x.shape
        qkv = ops.reshape(self.qkv(x), (b, n, 3, self.heads, self.head_dim))
        q, k, v = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)), axis=0)
        attention = self.softmax(ops.mul(self.q_matmul_k(q, k), self.scale))
        out = ops.transpose(self.attn_matmul_v(attention, v), (0, 2, 1, 3))
        return self.out(ops.reshape(out, (b, n, c)))


class Block(nn.Cell):
    def __init__(self, dim, heads, drop_path):
        super().__init__()
        self.norm1 = nn.LayerNorm((dim,), epsilon=1e-6)
        self.attn = Attention(dim, heads)
        self.drop_path = DropPath(drop_path)
        self.norm2 = nn.LayerNorm([dim])
        self.mlp = nn.SequentialCell(nn.Dense(dim, dim * 2, activation="gelu"), nn.Dropout(p=0.0), nn.Dense(dim * 2, dim))

    def construct(self, x):
        x = x + self.drop_path(self.attn(self.norm1(x)))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class VisionTransformer(nn.Cell):
    def __init__(self, image=8, patch=4, dim=12, heads=3, depth=2, classes=4):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, kernel_size=patch, stride=patch, has_bias=True, pad_mode="valid")
        self.cls_token = Parameter(initializer(Normal(sigma=.02), (1, 1, dim)), name="cls", requires_grad=True)
        self.pos_embed = Parameter(initializer(Normal(.02), (1, (image // patch) ** 2 + 1, dim)), name="pos")
        self.blocks = nn.CellList([Block(dim, heads, 0.0) for _ in range(depth)])
        self.norm = nn.LayerNorm((dim,))
        self.head = nn.Dense(dim, classes)
        self.tile, self.cat = ops.Tile(), ops.Concat(1)

    def construct(self, x):
        x = self.patches(x)
        b, c, h, w = x.shape
        x = ops.transpose(ops.reshape(x, (b, c, h * w)), (0, 2, 1))
        x = self.cat((self.tile(self.cls_token, (b, 1, 1)), x)) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class SoftLoss(nn.LossBase):
    def __init__(self, smoothing=0.1, classes=4):
        super().__init__()
        self.on, self.off = 1 - smoothing, smoothing / (classes - 1)
        self.classes = classes

    def construct(self, logits, label):
        if label.ndim == 1:
            label = ops.one_hot(label, self.classes, Tensor(self.on, ms.float32), Tensor(self.off, ms.float32))
        return self.get_loss(-(ops.log_softmax(logits, 1) * label).sum(axis=1))


class Pictures:
    def __init__(self, count=24):
        self.pictures = (np.random.RandomState(2).rand(count, 10, 10, 3) * 255).astype(np.uint8)

    def __getitem__(self, k):
        return self.pictures[k], np.int32(k % 4)

    def __len__(self):
        return len(self.pictures)


rows = GeneratorDataset(Pictures(), ["image", "label"], shuffle=False)
rows = rows.map([vision.CenterCrop(8), vision.Normalize([127.0, 120.0, 110.0], [60.0, 62.0, 64.0]), vision.HWC2CHW()], "image")
rows = rows.map(transforms.TypeCast(ms.int32), "label").batch(8, drop_remainder=True)
net = fill(VisionTransformer(), seed=6, scale=0.2)
rates = nn.warmup_lr(0.01, 3, 3, 1) + nn.cosine_decay_lr(0.001, 0.01, 9, 3, 3)
show("rates", [round(rate, 6) for rate in rates])
decay = list(filter(lambda p: "bias" not in p.name and "norm" not in p.name, net.trainable_params()))
rest = list(filter(lambda p: "bias" in p.name or "norm" in p.name, net.trainable_params()))
optimizer = nn.AdamWeightDecay([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], rates)
model = Model(net, loss_fn=SoftLoss(), optimizer=optimizer, metrics={"acc"}, amp_level="O0")
model.train(3, rows, callbacks=[LossMonitor(100)], dataset_sink_mode=False)
show("eval", model.eval(rows, dataset_sink_mode=False)["acc"])
x = Tensor(numbers(2, 3, 8, 8, seed=3))
show("logits", net(x))
mixed = 0.3 * x + 0.7 * ops.flip(x, (0,))
soft = Tensor(np.array([[0.3, 0.7, 0, 0], [0.7, 0.3, 0, 0]]), ms.float32)
show("mixed", SoftLoss()(net(mixed), soft))
show("attention", ms.grad(lambda a: net(a)[:, 1].sum())(x).abs().sum((1, 2, 3)))
totals(net)
