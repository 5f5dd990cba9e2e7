"""Steps of one's own: gradients kept over several batches in Parameters, clipped by value and by norm, a rate by warm-up and
polynomial decay, groups with their own rates, moving averages of weights, rows of a MindRecord file, part of a checkpoint."""
import os
import tempfile

import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
import mindspore.dataset as ds
from mindspore import ParameterTuple, Tensor, nn, ops
from mindspore.mindrecord import FileWriter
from mindspore.nn.learning_rate_schedule import LearningRateSchedule


class WarmUpPolynomial(LearningRateSchedule):
    def __init__(self, rate, end, warm, total):
        super().__init__()
        self.warm_up = nn.WarmUpLR(rate, warm)
        self.decay = nn.PolynomialDecayLR(rate, end, total, 2.0)
        self.warm = Tensor(np.array([warm]).astype(np.float32))
        self.one = Tensor(np.array([1.0]).astype(np.float32))

    def construct(self, global_step):
        is_warm = ops.cast(ops.greater(self.warm, global_step), ms.float32)
        return (self.one - is_warm) * self.decay(global_step) + is_warm * self.warm_up(global_step)


class Accumulated(nn.Cell):
    def __init__(self, net, optimizer, every):
        super().__init__(auto_prefix=False)
        self.net = net
        self.net.set_grad()
        self.weights = optimizer.parameters
        self.optimizer = optimizer
        self.every = every
        self.grad = ops.GradOperation(get_by_list=True, sens_param=False)
        self.sums = self.weights.clone(prefix="sum", init="zeros")
        self.step = ms.Parameter(Tensor(0, ms.int32), name="step", requires_grad=False)
        self.map = ops.HyperMap()

    def construct(self, x, y):
        loss = self.net(x, y)
        grads = self.grad(self.net, self.weights)(x, y)
        done = self.map(ops.partial(ops.assign_add), self.sums, grads)
        loss = ops.depend(loss, done)
        self.step = self.step + 1
        if self.step % self.every == 0:
            self.update()
        return loss

    def update(self):
        mean = self.map(ops.partial(ops.mul, Tensor(1.0 / self.every, ms.float32)), self.sums)
        mean = ops.clip_by_global_norm(mean, 0.5)
        self.optimizer(mean)
        self.map(ops.partial(ops.assign), self.sums, self.map(ops.zeros_like, self.sums))


class Averages:
    def __init__(self, net, decay=0.8):
        self.decay, self.params = decay, ParameterTuple(net.trainable_params())
        self.kept = [p.asnumpy().copy() for p in self.params]

    def update(self):
        self.kept = [k * self.decay + p.asnumpy() * (1 - self.decay) for k, p in zip(self.kept, self.params)]


folder = tempfile.mkdtemp()
path = os.path.join(folder, "rows.mindrecord")
x, w = numbers(48, 5, seed=1), numbers(5, 2, seed=2)
y = (x @ w + 0.1 * numbers(48, 2, seed=3)).astype(np.float32)
writer = FileWriter(path, shard_num=1, overwrite=True)
schema = {"x": {"type": "float32", "shape": [5]}, "y": {"type": "float32", "shape": [2]}, "id": {"type": "int32"}}
writer.add_schema(schema, "rows")
writer.add_index(["id"])
writer.write_raw_data([{"x": a, "y": b, "id": k} for k, (a, b) in enumerate(zip(x, y))])
writer.commit()
rows = ds.MindDataset(path, columns_list=["x", "y"], shuffle=False).batch(6, drop_remainder=True)
show("rows", [rows.get_dataset_size(), rows.get_batch_size(), rows.get_col_names()])

net = fill(nn.SequentialCell(nn.Dense(5, 7), nn.SiLU(), nn.Dense(7, 2)), seed=4)
first, second = net[0].trainable_params(), net[2].trainable_params()
schedule = WarmUpPolynomial(0.2, 0.01, 3, 12)
groups = [{"params": first, "lr": schedule, "weight_decay": 0.01}, {"params": second, "lr": 0.1},
          {"order_params": net.trainable_params()}]
optimizer = nn.Momentum(groups, learning_rate=0.05, momentum=0.8)
train = Accumulated(nn.WithLossCell(net, nn.L1Loss()), optimizer, 2)
train.set_train()
averages = Averages(net)
for epoch in range(2):
    for a, b in rows.create_tuple_iterator(num_epochs=1):
        loss = train(a, b)
        averages.update()
    show("epoch", loss)
show("schedule", [float(np.ravel(schedule(Tensor(k, ms.int32)).asnumpy())[0]) for k in range(6)])
show("step", int(train.step.asnumpy()))
show("average", [float(np.abs(k).sum()) for k in averages.kept])
totals(net)

ms.save_checkpoint(train, os.path.join(folder, "train.ckpt"), append_dict={"epoch": 2})
again = fill(nn.SequentialCell(nn.Dense(5, 7), nn.SiLU(), nn.Dense(7, 2)), seed=99)
entries = ms.load_checkpoint(os.path.join(folder, "train.ckpt"))
show("entries", sorted(entries))
missing, _ = ms.load_param_into_net(again, entries)
show("missing", missing)
totals(again)
show("gradient", ops.clip_by_value(tuple(Tensor(numbers(3, seed=k)) for k in range(2)), -0.5, 0.5)[1])
