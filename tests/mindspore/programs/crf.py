"""A conditional random field over an LSTM: the partition by a loop over time, masks, Viterbi."""
import numpy as np
from fixed import fill, show, totals

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore import Parameter, Tensor
from mindspore.common.initializer import Uniform, initializer


def sequence_mask(seq_length, max_length):
    range_vector = ops.arange(0, max_length, 1).astype(seq_length.dtype)
    return range_vector < seq_length.view(seq_length.shape + (1,))


def compute_score(emissions, tags, seq_ends, mask, trans, start_trans, end_trans):
    seq_length, batch_size = tags.shape
    mask = mask.astype(emissions.dtype)
    score = start_trans[tags[0]]
    score += emissions[0, ops.arange(batch_size), tags[0]]
    for i in range(1, seq_length):
        score += trans[tags[i - 1], tags[i]] * mask[i]
        score += emissions[i, ops.arange(batch_size), tags[i]] * mask[i]
    last_tags = tags[seq_ends, ops.arange(batch_size)]
    score += end_trans[last_tags]
    return score


def compute_normalizer(emissions, mask, trans, start_trans, end_trans):
    seq_length = emissions.shape[0]
    score = start_trans + emissions[0]
    for i in range(1, seq_length):
        next_score = ops.logsumexp(score.expand_dims(2) + trans + emissions[i].expand_dims(1), 1)
        score = ops.where(mask[i].expand_dims(1), next_score, score)
    return ops.logsumexp(score + end_trans, 1)


class CRF(nn.Cell):
    def __init__(self, num_tags):
        super().__init__()
        self.start_transitions = Parameter(initializer(Uniform(0.1), (num_tags,)), name="start_transitions")
        self.end_transitions = Parameter(initializer(Uniform(0.1), (num_tags,)), name="end_transitions")
        self.transitions = Parameter(initializer(Uniform(0.1), (num_tags, num_tags)), name="transitions")

    def construct(self, emissions, tags=None, seq_length=None):
        emissions = emissions.swapaxes(0, 1)
        max_length = emissions.shape[0]
        mask = sequence_mask(seq_length, max_length).swapaxes(0, 1)
        if tags is None:
            return self.decode(emissions, mask)
        numerator = compute_score(emissions, tags.swapaxes(0, 1), seq_length - 1, mask, self.transitions,
                                  self.start_transitions, self.end_transitions)
        return (compute_normalizer(emissions, mask, self.transitions, self.start_transitions, self.end_transitions)
                - numerator).sum()

    def decode(self, emissions, mask):
        score, history = self.start_transitions + emissions[0], ()
        for i in range(1, emissions.shape[0]):
            every = score.expand_dims(2) + self.transitions + emissions[i].expand_dims(1)
            indices = every.argmax(axis=1)
            history += (indices,)
            score = ops.where(mask[i].expand_dims(1), every.max(axis=1), score)
        return score + self.end_transitions, history


class Tagger(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 6)
        self.lstm = nn.LSTM(6, 4, bidirectional=True, batch_first=True)
        self.hidden2tag = nn.Dense(8, 3, "he_uniform")
        self.crf = CRF(3)

    def construct(self, inputs, seq_length, tags=None):
        outputs, _ = self.lstm(self.embedding(inputs), seq_length=seq_length)
        return self.crf(self.hidden2tag(outputs), tags, seq_length)


net = fill(Tagger())
optimizer = nn.SGD(net.trainable_params(), learning_rate=0.05, weight_decay=1e-4)
grad_fn = ms.value_and_grad(net, None, optimizer.parameters)
random = np.random.RandomState(0)
for step in range(3):
    data, tags = Tensor(random.randint(0, 12, (2, 6)), ms.int32), Tensor(random.randint(0, 3, (2, 6)), ms.int32)
    loss, grads = grad_fn(data, Tensor([6, 4], ms.int32), tags)
    optimizer(grads)
    show("loss", loss)
score, history = net(data, Tensor([6, 4], ms.int32))
show("score", score)
best = [int(score[k].argmax()) for k in range(2)]
for k, length in enumerate((6, 4)):
    path = [best[k]]
    for indices in reversed(history[:length - 1]):
        path.append(int(indices[k][path[-1]]))
    show("path", path[::-1])
totals(net)
