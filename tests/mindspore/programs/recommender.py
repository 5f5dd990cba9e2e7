"""Clicks: a CSV file that becomes MindRecord; a wide and a deep part with two optimisers, embeddings, factorisation, a metric
of one's own (area under the curve), a callback that evaluates and stops, a checkpoint of the best."""
import os
import tempfile

import numpy as np
from fixed import fill, show, totals

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.mindrecord import FileReader, FileWriter
from mindspore.train import Callback, Metric, Model

folder = tempfile.mkdtemp()
random = np.random.RandomState(11)
fields, words, rows = 4, 30, 96
ids = random.randint(0, words, (rows, fields))
weights = random.standard_normal(words)
clicks = (weights[ids].sum(1) + 0.3 * random.standard_normal(rows) > 0).astype(int)
csv = os.path.join(folder, "clicks.csv")
with open(csv, "w") as stream:
    for row, click in zip(ids, clicks):
        stream.write(",".join(map(str, [click, *row, round(float(row.mean() / words), 3)])) + "\n")
table = ds.CSVDataset(csv, field_delim=",", column_defaults=[0] * (1 + fields) + [0.0],
                      column_names=["click", *[f"c{k}" for k in range(fields)], "mean"], shuffle=False)
show("table", [table.get_dataset_size(), table.get_col_names(), [str(t) for t in table.output_types()]])

path = os.path.join(folder, "clicks.mindrecord")
writer = FileWriter(path, shard_num=1, overwrite=True)
writer.add_schema({"label": {"type": "float32", "shape": [-1]}, "ids": {"type": "int32", "shape": [-1]},
                   "values": {"type": "float32", "shape": [-1]}, "name": {"type": "string"}}, "clicks")
writer.add_index(["name"])
samples = []
for number, row in enumerate(table.create_dict_iterator(num_epochs=1, output_numpy=True)):
    samples.append({"label": np.array([row["click"]], np.float32), "name": f"row{number}",
                    "ids": np.array([row[f"c{k}"] for k in range(fields)], np.int32),
                    "values": np.array([1.0] * (fields - 1) + [row["mean"]], np.float32)})
writer.write_raw_data(samples)
writer.commit()
reader = FileReader(path)
show("reader", [reader.len(), sorted(next(iter(reader.get_next()))), sorted(reader.schema())])
reader.close()


def dataset(start, count):
    data = ds.MindDataset(path, ["ids", "values", "label"], shuffle=False)
    data = data.skip(start).take(count).batch(16, drop_remainder=True)
    return data.map(lambda v: v.astype(np.float32), "values")


class WideDeep(nn.Cell):
    def __init__(self, size=5):
        super().__init__()
        self.wide_w = Parameter(Tensor(np.zeros((words, 1)), ms.float32), name="wide_w")
        self.wide_b = Parameter(Tensor(np.zeros(1), ms.float32), name="wide_b")
        self.embedding = nn.EmbeddingLookup(words, size, param_init="normal", target="DEVICE", sparse=False)
        self.deep = nn.SequentialCell(nn.Dense(fields * size, 12, activation="relu"), nn.Dense(12, 1))

    def construct(self, ids, values):
        mask = ops.expand_dims(values, 2)
        wide = ops.reduce_sum(ops.gather(self.wide_w, ids, 0) * mask, 1) + self.wide_b
        vectors = self.embedding(ids) * mask
        pairs = 0.5 * (ops.square(vectors.sum(1)) - ops.square(vectors).sum(1)).sum(1, keepdims=True)
        return wide + pairs + self.deep(vectors.reshape((ids.shape[0], -1))), self.embedding.embedding_table


class WithLoss(nn.Cell):
    def __init__(self, network, l2=1e-3):
        super().__init__(auto_prefix=False)
        self.network, self.l2 = network, l2
        self.loss = nn.BCEWithLogitsLoss()

    def construct(self, ids, values, label):
        predicted, table = self.network(ids, values)
        wide_loss = self.loss(predicted, label)
        return wide_loss, wide_loss + self.l2 * ops.reduce_sum(ops.square(table)) / 2


class TwoOptimizers(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network
        self.network.set_train()
        trained = network.trainable_params()
        self.weights_w = ParameterTuple([p for p in trained if "wide" in p.name])
        self.weights_d = ParameterTuple([p for p in trained if "wide" not in p.name])
        self.optimizer_w = nn.FTRL(self.weights_w, learning_rate=0.1, l1=1e-4, l2=1e-4, initial_accum=1.0)
        self.optimizer_d = nn.LazyAdam(self.weights_d, learning_rate=0.02, eps=1e-8)
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)

    def construct(self, ids, values, label):
        loss_w, loss_d = self.network(ids, values, label)
        one, zero = ops.ones_like(loss_w), ops.zeros_like(loss_w)
        grads_w = self.grad(self.network, self.weights_w)(ids, values, label, (one, zero))
        grads_d = self.grad(self.network, self.weights_d)(ids, values, label, (zero, one))
        return ops.depend(loss_w, self.optimizer_w(grads_w)), ops.depend(loss_d, self.optimizer_d(grads_d))


class Predict(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, ids, values, label):
        logits, _ = self.network(ids, values)
        return logits, ops.sigmoid(logits), label


class AUC(Metric):
    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self.labels, self.scores = [], []

    def update(self, *inputs):
        self.scores.extend(inputs[1].asnumpy().flatten().tolist())
        self.labels.extend(inputs[2].asnumpy().flatten().tolist())

    def eval(self):
        scores, labels = np.array(self.scores), np.array(self.labels)
        above = (scores[labels == 1][:, None] > scores[labels == 0][None]).mean()
        return float(above)


class Best(Callback):
    """Keeps the best on disk; ends the training when it has gone down twice."""

    def __init__(self, model, data, net):
        super().__init__()
        self.model, self.data, self.net, self.best, self.seen = model, data, net, -1, []

    def epoch_end(self, run_context):
        args = run_context.original_args()
        found = self.model.eval(self.data, dataset_sink_mode=False)["auc"]
        loss = args.net_outputs
        self.seen.append([args.cur_epoch_num, round(found, 4), round(float(loss[1].asnumpy()), 4), len(loss)])
        if found > self.best:
            self.best = found
            ms.save_checkpoint(self.net, os.path.join(folder, "best.ckpt"), append_dict={"epoch": args.cur_epoch_num})
        if len(self.seen) == 5:
            run_context.request_stop()


net = WideDeep()
fill(net, scale=0.2)
step = TwoOptimizers(WithLoss(net))
train, test = dataset(0, 64), dataset(64, 32)
model = Model(step)
evaluation = Model(net, eval_network=Predict(net), metrics={"auc": AUC()})
best = Best(evaluation, test, net)
model.train(8, train, callbacks=[best], dataset_sink_mode=False)
show("seen", best.seen)
totals(net)
saved = ms.load_checkpoint(os.path.join(folder, "best.ckpt"))
show("saved", [sorted(saved), int(saved["epoch"].asnumpy())])
fresh = WideDeep()
left, unused = ms.load_param_into_net(fresh, saved)
show("loaded", [left, unused])
again = Model(fresh, eval_network=Predict(fresh), metrics={"auc": AUC()}).eval(test, dataset_sink_mode=False)["auc"]
show("again", abs(again - best.best) < 1e-6)
