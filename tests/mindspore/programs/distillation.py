"""A small network learns from a larger one: soft targets at a temperature, a frozen teacher, hints between layers, pruning
of the smallest weights by masks, adapters of low rank in place of the last layer."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Dense(8, width)
        self.norm = nn.LayerNorm((width,))
        self.act = nn.GELU(approximate=False)
        self.last = nn.Dense(width, 4)

    def construct(self, x):
        hidden = self.act(self.norm(self.first(x)))
        return self.last(hidden), hidden


class Distilled(nn.Cell):
    def __init__(self, teacher, student, temperature=3.0, alpha=0.7):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.hint = nn.Dense(6, 16, has_bias=False)
        self.temperature, self.alpha = temperature, alpha
        self.ce = nn.CrossEntropyLoss(label_smoothing=0.1)

    def construct(self, x, y):
        wanted, deep = self.teacher(x)
        wanted, deep = ops.stop_gradient(wanted), ops.stop_gradient(deep)
        logits, hidden = self.student(x)
        soft = ops.kl_div(ops.log_softmax(logits / self.temperature, axis=-1), ops.softmax(wanted / self.temperature, axis=-1),
                          reduction="batchmean") * self.temperature ** 2
        return self.alpha * soft + (1 - self.alpha) * self.ce(logits, y) + 0.1 * ops.mse_loss(self.hint(hidden), deep)


class LowRank(nn.Cell):
    """A frozen layer and a product of two thin matrices."""

    def __init__(self, layer, rank=2, scale=2.0):
        super().__init__()
        self.layer, self.scale = layer, scale
        out, into = layer.weight.shape
        self.lora_a = Parameter(Tensor(numbers(rank, into, seed=70, scale=0.3)), name="lora_a")
        self.lora_b = Parameter(ops.zeros((out, rank), ms.float32), name="lora_b")
        for p in layer.get_parameters():
            p.requires_grad = False

    def construct(self, x):
        return self.layer(x) + self.scale * ops.matmul(ops.matmul(x, self.lora_a.T), self.lora_b.T)


x = Tensor(numbers(24, 8, seed=1))
y = Tensor(np.arange(24) % 4, ms.int32)
teacher = fill(Net(16), seed=7, scale=0.5)
for p in teacher.get_parameters():
    p.requires_grad = False
student = Net(6)
net = Distilled(teacher, student)
fill(net, seed=8)
show("trainable", [p.name for p in net.trainable_params()])
optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=0.02, weight_decay=0.01)
grad_fn = ms.value_and_grad(net, None, optimizer.parameters)
for _ in range(4):
    loss, grads = grad_fn(x, y)
    optimizer(grads)
    show("loss", loss)

weight = student.first.weight
edge = np.sort(np.abs(weight.asnumpy()).ravel())[weight.size // 2]
mask = (weight.abs() > float(edge)).astype(ms.float32)
ops.assign(weight, weight * mask)
show("kept", int((weight.asnumpy() != 0).sum()))
for _ in range(2):
    loss, grads = grad_fn(x, y)
    grads = tuple(g * mask if p.name.endswith("student.first.weight") else g for p, g in zip(optimizer.parameters, grads))
    optimizer(grads)
    ops.assign(weight, weight * mask)
show("still", int((weight.asnumpy() != 0).sum()))

student.last = LowRank(student.last)
for name, p in student.parameters_and_names():
    p.requires_grad = "lora" in name
tuned = student.trainable_params()
show("adapter", [[name, list(p.shape)] for name, p in student.parameters_and_names() if p.requires_grad])
frozen = student.last.layer.weight.asnumpy().copy()
optimizer = nn.SGD(tuned, learning_rate=0.3, momentum=0.5, nesterov=False)
loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
grad_fn = ms.value_and_grad(lambda a, b: loss_fn(student(a)[0], b), None, tuned)
for _ in range(3):
    loss, grads = grad_fn(x, y)
    optimizer(grads)
    show("tuned", loss)
show("frozen", bool((student.last.layer.weight.asnumpy() == frozen).all()))
totals(student)
