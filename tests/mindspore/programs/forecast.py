"""A time series: windows over a signal as a dataset, causal dilated convolutions with gates, a recurrent net over the same
windows, quantiles as losses, Model.fit with callbacks that stop and lower the rate, a forecast step by step."""
import numpy as np
from fixed import fill, show, totals

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Tensor, nn, ops
from mindspore.train import Callback, EarlyStopping, LearningRateScheduler, Model, ReduceLROnPlateau

TIME = np.arange(120, dtype=np.float32)
SIGNAL = (np.sin(TIME / 5) + 0.3 * np.cos(TIME / 2) + 0.01 * TIME).astype(np.float32)


class Windows:
    def __init__(self, start, stop, width=12):
        self.values, self.width = SIGNAL[start:stop], width

    def __getitem__(self, k):
        return self.values[k:k + self.width].reshape(1, -1), self.values[k + self.width].reshape(1)

    def __len__(self):
        return len(self.values) - self.width


class Gated(nn.Cell):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
        self.filter = nn.Conv1d(channels, channels, 3, pad_mode="valid", dilation=dilation, has_bias=True)
        self.gate = nn.Conv1d(channels, channels, 3, pad_mode="valid", dilation=dilation, has_bias=True)

    def construct(self, x):
        wide = self.pad(x)
        return x + ops.tanh(self.filter(wide)) * ops.sigmoid(self.gate(wide))


class Causal(nn.Cell):
    def __init__(self, outputs=1):
        super().__init__()
        self.begin = nn.Conv1d(1, 4, 1, has_bias=True)
        self.blocks = nn.SequentialCell([Gated(4, 2 ** k) for k in range(2)])
        self.end = nn.Dense(4, outputs)

    def construct(self, x):
        return self.end(self.blocks(self.begin(x))[:, :, -1])


class Recurrent(nn.Cell):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 5, num_layers=1, batch_first=True)
        self.end = nn.Dense(5, 3)

    def construct(self, x):
        out, (h, c) = self.rnn(x.transpose(0, 2, 1))
        return self.end(out[:, -1] + 0 * h[0] * c[0])


class Seen(Callback):
    def __init__(self):
        super().__init__()
        self.rates, self.losses = [], []

    def on_train_epoch_end(self, run_context):
        args = run_context.original_args()
        self.losses.append(round(float(args.net_outputs.asnumpy()), 5))
        self.rates.append(round(float(args.optimizer.learning_rate.value().asnumpy()), 6))


def rows(start, stop, batch):
    return ds.GeneratorDataset(Windows(start, stop), ["window", "next"], shuffle=False).batch(batch, drop_remainder=True)


net = fill(Causal(), seed=21, scale=0.4)
seen = Seen()
optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
model = Model(net, nn.HuberLoss(delta=0.5), optimizer, metrics={"mae": nn.MAE(), "mse": nn.MSE()})
plateau = ReduceLROnPlateau(monitor="mse", factor=0.5, patience=1, mode="min", min_delta=10.0, cooldown=0, verbose=False)
model.fit(4, rows(0, 90, 13), rows(90, 120, 9), callbacks=[seen, plateau], dataset_sink_mode=False)
show("losses", seen.losses)
show("rates", seen.rates)
found = model.eval(rows(90, 120, 9), dataset_sink_mode=False)
show("eval", {name: round(float(value), 5) for name, value in sorted(found.items())})

net = fill(Causal(), seed=21, scale=0.4)
seen = Seen()
model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.05), metrics={"mse": nn.MSE()})
stop = EarlyStopping(monitor="mse", patience=2, mode="min", min_delta=10.0, restore_best_weights=True)
schedule = LearningRateScheduler(lambda lr, step: lr * 0.5 if step == 8 else lr)
model.fit(9, rows(0, 90, 13), rows(90, 120, 9), callbacks=[seen, stop, schedule], dataset_sink_mode=False)
show("stopped", len(seen.losses))
show("rates", seen.rates)

net = fill(Recurrent(), seed=22)
levels = Tensor(np.array([0.1, 0.5, 0.9]), ms.float32)


def quantile_loss(x, y):
    rest = y - net(x)
    return ops.maximum(levels * rest, (levels - 1) * rest).sum(-1).mean()


optimizer = nn.Adam(net.trainable_params(), nn.WarmUpLR(0.02, 3), use_nesterov=True)
grad_fn = ms.value_and_grad(quantile_loss, None, optimizer.parameters)
for x, y in rows(0, 90, 26).create_tuple_iterator(num_epochs=1):
    loss, grads = grad_fn(x, y)
    optimizer(grads)
    show("quantiles", loss)
window = SIGNAL[-12:].copy()
for _ in range(4):
    middle = net(Tensor(window.reshape(1, 1, -1)))[0, 1]
    window = np.append(window[1:], middle.asnumpy().astype(np.float32))
show("forecast", window[-4:])
totals(net)
