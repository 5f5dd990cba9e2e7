"""Encoder and decoder with attention: GRU cells in loops, teacher forcing, greedy decoding that ends by itself."""
import numpy as np
from fixed import fill, show, totals

import mindspore as ms
from mindspore import Tensor, nn, ops


class Encoder(nn.Cell):
    def __init__(self, words, size):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.gru = nn.GRU(size, size, batch_first=True)

    def construct(self, source):
        return self.gru(self.embedding(source))


class Decoder(nn.Cell):
    def __init__(self, words, size):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.query, self.key, self.energy = nn.Dense(size, size), nn.Dense(size, size), nn.Dense(size, 1)
        self.cell = nn.GRUCell(2 * size, size)
        self.out = nn.Dense(size, words)

    def construct(self, word, hidden, memory):
        energy = self.energy(ops.tanh(self.query(hidden).expand_dims(1) + self.key(memory)))
        weights = ops.softmax(energy.squeeze(-1), axis=-1)
        context = ops.bmm(weights.expand_dims(1), memory).squeeze(1)
        hidden = self.cell(ops.concat((self.embedding(word), context), 1), hidden)
        return self.out(hidden), hidden, weights


class Translator(nn.Cell):
    def __init__(self, words, size):
        super().__init__()
        self.encoder, self.decoder = Encoder(words, size), Decoder(words, size)

    def construct(self, source, target):
        memory, hidden = self.encoder(source)
        hidden = hidden[0]
        word, logits = target[:, 0], []
        for t in range(1, target.shape[1]):
            predicted, hidden, _ = self.decoder(word, hidden, memory)
            logits.append(predicted)
            word = target[:, t] if t % 2 == 1 else predicted.argmax(1)
        return ops.stack(logits, axis=1)


net = fill(Translator(15, 6))
criterion = nn.CrossEntropyLoss(ignore_index=0)
optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.1, momentum=0.9)


def forward(source, target):
    logits = net(source, target)
    return criterion(logits.reshape(-1, logits.shape[-1]), target[:, 1:].reshape(-1))


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
random = np.random.RandomState(2)
for _ in range(3):
    source = Tensor(random.randint(1, 15, (3, 5)).astype(np.int32))
    target = random.randint(1, 15, (3, 6)).astype(np.int32)
    target[1, 4:] = 0
    loss, grads = grad_fn(source, Tensor(target))
    optimizer(grads)
    show("loss", float(loss.asnumpy()))

net.set_train(False)
memory, hidden = net.encoder(source)
hidden, word, said = hidden[0], Tensor(np.ones(3, np.int32)), []
while len(said) < 8:
    logits, hidden, weights = net.decoder(word, hidden, memory)
    word = ops.argmax(logits, dim=1).astype(ms.int32)
    said.append(word.asnumpy().tolist())
    if (word == 2).all():
        break
show("said", said)
show("weights", weights)
totals(net)
