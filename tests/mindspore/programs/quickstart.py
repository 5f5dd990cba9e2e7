"""The first tutorial: a pipeline of transforms, value_and_grad, SGD, accuracy."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import nn
from mindspore.dataset import GeneratorDataset, transforms, vision


class Digits:
    def __init__(self, n):
        self.images = (np.abs(numbers(n, 8, 8, 1, seed=1)) * 80).astype(np.uint8)
        self.labels = (self.images.reshape(n, -1).sum(1) % 10).astype(np.int32)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]

    def __len__(self):
        return len(self.labels)


def pipeline(n, batch_size):
    dataset = GeneratorDataset(Digits(n), ["image", "label"], shuffle=False)
    dataset = dataset.map([vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.1307,), std=(0.3081,)), vision.HWC2CHW()],
                          "image")
    return dataset.map(transforms.TypeCast(ms.int32), "label").batch(batch_size)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu_sequential = nn.SequentialCell(nn.Dense(64, 32), nn.ReLU(), nn.Dense(32, 16), nn.ReLU(), nn.Dense(16, 10))

    def construct(self, x):
        return self.dense_relu_sequential(self.flatten(x))


model = fill(Network())
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(model.trainable_params(), 1e-2)


def forward_fn(data, label):
    logits = model(data)
    return loss_fn(logits, label), logits


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)


def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    optimizer(grads)
    return loss


model.set_train()
for epoch in range(2):
    losses = [float(train_step(data, label).asnumpy()) for data, label in pipeline(48, 16).create_tuple_iterator()]
    show(f"epoch {epoch}", losses)
model.set_train(False)
correct = total = 0
for data, label in pipeline(40, 16).create_tuple_iterator():
    pred = model(data)
    total += len(data)
    correct += (pred.argmax(1) == label).asnumpy().sum()
show("accuracy", [int(correct), total])
totals(model)
