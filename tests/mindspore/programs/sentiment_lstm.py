"""An RNN over sequences of several lengths: embedding, bidirectional LSTM of two layers, masked mean, Adam with clipping."""
import numpy as np
from fixed import fill, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class RNN(nn.Cell):
    def __init__(self, words, size, hidden, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, size, padding_idx=0)
        self.rnn = nn.LSTM(size, hidden, num_layers=layers, bidirectional=True, batch_first=True)
        self.fc = nn.Dense(hidden * 2, 1)
        self.dropout = nn.Dropout(p=0.2)

    def construct(self, inputs, lengths):
        embedded = self.embedding(inputs)
        out, (hidden, cell) = self.rnn(embedded, None, lengths)
        hidden = ops.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1)
        mask = (ops.arange(inputs.shape[1]).expand_dims(0) < lengths.expand_dims(1)).astype(ms.float32).expand_dims(2)
        pooled = (out * mask).sum(1) / mask.sum(1)
        return self.fc(hidden + pooled).squeeze(1), cell.sum()


net = fill(RNN(30, 7, 5, 2))
net.set_train(False)
loss_fn = nn.BCEWithLogitsLoss()
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01)


def forward(data, lengths, label):
    logits, cell = net(data, lengths)
    return loss_fn(logits, label), cell


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)


def step(data, lengths, label):
    (loss, cell), grads = grad_fn(data, lengths, label)
    grads = ops.clip_by_global_norm(grads, 0.5)
    optimizer(grads)
    return loss, cell


random = np.random.RandomState(5)
for length in (6, 9, 6, 4):
    data = random.randint(1, 30, (4, length)).astype(np.int32)
    lengths = np.array([length, length - 1, 2, 3], np.int32)
    data[np.arange(length)[None] >= lengths[:, None]] = 0
    loss, cell = step(Tensor(data), Tensor(lengths), Tensor(np.array([1, 0, 1, 0], np.float32)))
    show(f"length {length}", [float(loss.asnumpy()), float(cell.asnumpy())])
totals(net)
