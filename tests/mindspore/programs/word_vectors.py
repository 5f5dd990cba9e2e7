"""Words as vectors: skip-grams with negative samples that NumPy draws, an embedding each for words and contexts, neighbours."""
from collections import Counter

import numpy as np
from fixed import fill, show, totals

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Tensor, nn, ops

TEXT = ("the quick fox jumps over the lazy dog the dog sleeps and the fox runs over the hill the quick dog runs "
        "after the lazy fox and the hill sleeps").split()
counts = Counter(TEXT)
words = sorted(counts, key=lambda word: (-counts[word], word))
index = {word: number for number, word in enumerate(words)}
draws = np.random.RandomState(4)
weights = np.array([counts[word] for word in words]) ** 0.75
weights /= weights.sum()


def samples(window=2, negatives=3):
    for place, word in enumerate(TEXT):
        for other in range(max(0, place - window), min(len(TEXT), place + window + 1)):
            if other != place:
                yield index[word], index[TEXT[other]], draws.choice(len(words), negatives, p=weights).astype(np.int32)


class SkipGram(nn.Cell):
    def __init__(self, vocab, size):
        super().__init__()
        self.word = nn.Embedding(vocab, size, embedding_table="normal")
        self.context = nn.Embedding(vocab, size, True, "zeros")

    def construct(self, word, context, negative):
        v = self.word(word)
        positive = ops.sum(v * self.context(context), -1)
        u = ops.squeeze(ops.BatchMatMul()(self.context(negative), ops.expand_dims(v, 2)), 2)
        return -(ops.log(ops.sigmoid(positive)) + ops.log(ops.sigmoid(-u)).sum(1)).mean()


data = list(samples())
center = np.array([row[0] for row in data], np.int32)
context = np.array([row[1] for row in data], np.int32)
negative = np.stack([row[2] for row in data])
rows = ds.NumpySlicesDataset((center, context, negative), ["word", "context", "negative"], shuffle=False).batch(16)
show("sizes", [len(words), len(data), rows.get_dataset_size()])
net = fill(SkipGram(len(words), 6), seed=2)
optimizer = nn.Adagrad(net.trainable_params(), learning_rate=0.2)
step = nn.TrainOneStepCell(net, optimizer)
step.set_train()
for epoch in range(3):
    total = 0.0
    for word, around, wrong in rows.create_tuple_iterator(num_epochs=1):
        total += float(step(word, around, wrong).asnumpy())
    show("epoch", total)
table = ops.L2Normalize(axis=1)(net.word.embedding_table)
similar = ops.matmul(table, table.T)
values, places = ops.topk(similar, 3)
show("similar", values)
show("neighbours", places[:, 1:])
show("vector", net.word(Tensor([index["fox"]], ms.int32)))
totals(net)
