"""Model.train and eval: callbacks of one's own, metrics, a schedule by steps, groups of parameters."""
import numpy as np
from fixed import fill, numbers, show, totals

import mindspore as ms
from mindspore import nn
from mindspore.dataset import NumpySlicesDataset
from mindspore.train import Callback, Model


class Losses(Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_step_end(self, run_context):
        args = run_context.original_args()
        self.seen.append([args.cur_epoch_num, args.cur_step_num, args.batch_num, round(float(args.net_outputs.asnumpy()), 5)])

    def on_train_end(self, run_context):
        show("steps", self.seen)


class StopAt(Callback):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def step_end(self, run_context):
        if run_context.original_args().cur_step_num >= self.step:
            run_context.request_stop()


x = numbers(60, 6, seed=3)
y = (x[:, :3].argmax(1)).astype(np.int32)
net = fill(nn.SequentialCell([nn.Dense(6, 12, activation="tanh"), nn.Dropout(p=0.0), nn.Dense(12, 3)]))
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
lr = nn.piecewise_constant_lr([4, 8, 100], [0.2, 0.1, 0.05])
no_decay = [p for p in net.trainable_params() if p.name.endswith("bias")]
decay = [p for p in net.trainable_params() if not p.name.endswith("bias")]
optimizer = nn.Momentum([{"params": decay, "weight_decay": 0.01}, {"params": no_decay}, {"order_params": net.trainable_params()}],
                        learning_rate=lr, momentum=0.9)
model = Model(net, loss, optimizer, metrics={"acc": nn.Accuracy(), "loss": nn.Loss(), "top2": nn.TopKCategoricalAccuracy(2)})
dataset = NumpySlicesDataset({"data": x, "label": y}, shuffle=False).batch(12)
model.train(4, dataset, callbacks=[Losses(), StopAt(13)], dataset_sink_mode=False)
result = model.eval(NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(20), dataset_sink_mode=False)
show("eval", {k: round(float(v), 6) for k, v in sorted(result.items())})
show("predict", model.predict(ms.Tensor(x[:3])))
show("lr", [round(float(v), 6) for v in lr[:10]])
totals(net)
