"""A picture that is optimised: Gram matrices of frozen features, a content and a style loss, a total variation."""
from fixed import numbers, show

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore import Parameter, Tensor
from mindspore.common.initializer import initializer


class Features(nn.Cell):
    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for number, width in enumerate((6, 8)):
            layers += [nn.Conv2d(channels, width, 3, pad_mode="pad", padding=1, has_bias=True,
                                 weight_init=Tensor(numbers(width, channels, 3, 3, seed=number, scale=0.4)), bias_init="zeros"),
                       nn.ReLU(), nn.AvgPool2d(kernel_size=2, stride=2)]
            channels = width
        self.blocks = nn.CellList([nn.SequentialCell(layers[:3]), nn.SequentialCell(layers[3:])])

    def construct(self, x):
        found = ()
        for block in self.blocks:
            x = block(x)
            found += (x,)
        return found


def gram(x):
    n, c, h, w = x.shape
    flat = x.reshape(n, c, h * w)
    return ops.bmm(flat, flat.transpose(0, 2, 1)) / (c * h * w)


class Transfer(nn.Cell):
    def __init__(self, features, content, style):
        super().__init__()
        self.features = features
        self.image = Parameter(initializer("zeros", content.shape, ms.float32), name="image")
        self.image.set_data(content * 0.5)
        self.content = ops.stop_gradient(features(content)[-1])
        self.styles = [ops.stop_gradient(gram(part)) for part in features(style)]
        self.mse = nn.MSELoss(reduction="sum")

    def construct(self):
        found = self.features(self.image)
        loss = self.mse(found[-1], self.content)
        for part, wanted in zip(found, self.styles):
            loss = loss + 100.0 * self.mse(gram(part), wanted)
        rows = ops.abs(self.image[:, :, 1:] - self.image[:, :, :-1]).sum()
        columns = ops.abs(self.image[..., 1:] - self.image[..., :-1]).sum()
        return loss + 0.01 * (rows + columns)


features = Features()
features.set_train(False)
for weight in features.get_parameters():
    weight.requires_grad = False
net = Transfer(features, Tensor(numbers(1, 3, 16, 12, seed=5)), Tensor(numbers(1, 3, 16, 12, seed=6)))
show("trainable", [p.name for p in net.trainable_params()])
optimizer = nn.Adam([net.image], learning_rate=nn.cosine_decay_lr(0.01, 0.1, 8, 4, 2))
forward = ms.value_and_grad(lambda: net(), None, optimizer.parameters)


def step():
    loss, grads = forward()
    optimizer(grads)
    return loss


show("losses", [float(step().asnumpy()) for _ in range(6)])
picture = ops.clip_by_value(net.image, -1.0, 1.0)
show("picture", picture.mean())
show("spread", picture.asnumpy().std())
show("row", net.image[0, 1, 3])
