"""A decoder of text that generates: rotary places, grouped queries, RMS norm, a cache of keys, beam search, penalties, nucleus
sampling with prescribed draws; tied weights, gradient accumulation."""
import numpy as np
from fixed import fill, show, totals

import mindspore as ms
from mindspore import Parameter, Tensor, mint, nn, ops


class Config:
    vocab_size, hidden, heads, kv_heads, layers, inner, max_length = 24, 16, 4, 2, 2, 32, 16

    def __init__(self, **kwargs):
        for key, value in kwargs.items():
            setattr(self, key, value)


class RMSNorm(nn.Cell):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = Parameter(ops.ones((size,), ms.float32))
        self.variance_epsilon = eps

    def construct(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(ms.float32)
        variance = hidden_states.pow(2).mean(-1, keep_dims=True)
        return self.weight * (hidden_states * ops.rsqrt(variance + self.variance_epsilon)).to(input_dtype)


def rotate_half(x):
    x1, x2 = ops.chunk(x, 2, axis=-1)
    return ops.cat((-x2, x1), axis=-1)


def repeat_kv(x, times):
    batch, heads, length, size = x.shape
    if times == 1:
        return x
    return x[:, :, None, :, :].broadcast_to((batch, heads, times, length, size)).reshape(batch, heads * times, length, size)


class Attention(nn.Cell):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.config, self.layer_idx = config, layer_idx
        self.size = config.hidden // config.heads
        self.q_proj = nn.Dense(config.hidden, config.heads * self.size, has_bias=False)
        self.k_proj = nn.Dense(config.hidden, config.kv_heads * self.size, has_bias=False)
        self.v_proj = nn.Dense(config.hidden, config.kv_heads * self.size, has_bias=False)
        self.o_proj = nn.Dense(config.heads * self.size, config.hidden, has_bias=False)
        angles = np.outer(np.arange(config.max_length), 1.0 / 100 ** (np.arange(0, self.size, 2) / self.size))
        angles = np.concatenate([angles, angles], -1).astype(np.float32)
        self.cos, self.sin = Tensor(np.cos(angles)), Tensor(np.sin(angles))

    def construct(self, x, mask, positions, past=None):
        batch, length, _ = x.shape
        q = self.q_proj(x).view(batch, length, self.config.heads, self.size).swapaxes(1, 2)
        k = self.k_proj(x).view(batch, length, self.config.kv_heads, self.size).swapaxes(1, 2)
        v = self.v_proj(x).view(batch, length, self.config.kv_heads, self.size).swapaxes(1, 2)
        cos, sin = self.cos[positions].unsqueeze(0).unsqueeze(0), self.sin[positions].unsqueeze(0).unsqueeze(0)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        if past is not None:
            k, v = ops.cat((past[0], k), 2), ops.cat((past[1], v), 2)
        present = (k, v)
        times = self.config.heads // self.config.kv_heads
        scores = mint.matmul(q, repeat_kv(k, times).swapaxes(2, 3)) / self.size ** 0.5
        scores = ops.softmax(scores.masked_fill(mask, -1e9), axis=-1)
        out = ops.matmul(scores, repeat_kv(v, times))
        return self.o_proj(out.swapaxes(1, 2).reshape(batch, length, -1)), present


class Layer(nn.Cell):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = Attention(config, layer_idx)
        self.gate_proj = nn.Dense(config.hidden, config.inner, has_bias=False)
        self.up_proj = nn.Dense(config.hidden, config.inner, has_bias=False)
        self.down_proj = nn.Dense(config.inner, config.hidden, has_bias=False)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(config.hidden), RMSNorm(config.hidden)

    def construct(self, x, mask, positions, past=None):
        out, present = self.self_attn(self.input_layernorm(x), mask, positions, past)
        x = x + out
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(ops.silu(self.gate_proj(h)) * self.up_proj(h)), present


class CausalLM(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden, padding_idx=0)
        self.layers = nn.CellList([Layer(config, i) for i in range(config.layers)])
        self.norm = RMSNorm(config.hidden)
        self.lm_head = nn.Dense(config.hidden, config.vocab_size, has_bias=False)
        self.lm_head.weight = self.embed_tokens.embedding_table

    def construct(self, ids, past=None, labels=None):
        start = 0 if past is None else past[0][0].shape[2]
        length = ids.shape[1]
        positions = ops.arange(start, start + length)
        mask = ops.triu(ops.ones((length, start + length), ms.float32), diagonal=start + 1).bool()
        x, presents = self.embed_tokens(ids), ()
        for i, layer in enumerate(self.layers):
            x, present = layer(x, mask, positions, None if past is None else past[i])
            presents += (present,)
        logits = self.lm_head(self.norm(x))
        if labels is None:
            return logits, presents
        shifted = logits[..., :-1, :].reshape(-1, self.config.vocab_size)
        return ops.cross_entropy(shifted, labels[..., 1:].reshape(-1), ignore_index=0), logits


net = CausalLM(Config(inner=24))
fill(net, scale=0.4)
show("tied", [net.lm_head.weight is net.embed_tokens.embedding_table, len(net.trainable_params())])
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.01, beta2=0.95)
text = np.random.RandomState(1).randint(1, 24, (4, 2, 8)).astype(np.int32)
text[0, 1, 6:] = 0


def forward(ids):
    loss, _ = net(ids, None, ids)
    return loss / 2


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
for step in range(2):
    total = None
    for part in range(2):
        loss, grads = grad_fn(Tensor(text[2 * step + part]))
        total = grads if total is None else tuple(ops.add(a, b) for a, b in zip(total, grads))
        show("loss", loss)
    norm = ops.sqrt(sum((ops.sum(ops.square(g)) for g in total), Tensor(0.0)))
    show("norm", norm)
    optimizer(tuple(g * ops.minimum(Tensor(1.0), 1.0 / (norm + 1e-6)) for g in total))
totals(net)


def greedy(ids, steps):
    past, new = None, ids
    for _ in range(steps):
        logits, past = net(new, past)
        new = logits[:, -1].argmax(-1, keepdims=True).astype(ms.int32)
        ids = ops.concat([ids, new], 1)
    return ids


net.set_train(False)
prompt = Tensor([[3, 7, 1], [5, 5, 9]], ms.int32)
show("greedy", greedy(prompt, 6))
whole = net(greedy(prompt, 3))[0]
ids = greedy(prompt, 3)
last = net(ids[:, -1:], net(ids[:, :-1])[1])[0][:, 0]
show("cached", float(np.abs(whole[:, -1].asnumpy() - last.asnumpy()).max()) < 1e-4)


def penalise(scores, ids, penalty):
    score = ops.gather_elements(scores, 1, ids)
    score = ops.select(score < 0, score * penalty, score / penalty)
    return ops.tensor_scatter_elements(scores, ids, score, axis=1)


def sample(ids, steps, top_k, top_p, temperature, draws):
    for step in range(steps):
        scores = penalise(net(ids)[0][:, -1, :], ids, 1.3) / temperature
        values, _ = ops.topk(scores, top_k)
        scores = scores.masked_fill(scores < values[..., -1, None], -float("inf"))
        ordered, indices = ops.sort(scores, axis=-1)
        remove = ops.cumsum(ops.softmax(ordered, -1), -1) <= (1 - top_p)
        remove[..., -1:] = False
        remove = remove.astype(ms.int32)
        scores = scores.masked_fill(ops.tensor_scatter_elements(remove, indices, remove, 1).bool(), -1e9)
        mass = ops.cumsum(ops.softmax(scores, -1), -1)
        chosen = (mass < Tensor(draws[step])[:, None]).astype(ms.int32).sum(-1, keepdims=True)
        ids = ops.cat((ids, chosen.astype(ms.int32)), 1)
    return ids


show("sampled", sample(prompt, 5, 8, 0.9, 0.8, np.random.RandomState(4).uniform(0.05, 0.95, (5, 2)).astype(np.float32)))


def beam_search(ids, steps, beams):
    ids, scores = ids.repeat_interleave(beams, 0), Tensor([0.0] + [-1e9] * (beams - 1))
    for _ in range(steps):
        logits = ops.log_softmax(net(ids)[0][:, -1], -1) + scores[:, None]
        scores, flat = ops.topk(logits.view(-1), beams)
        words = net.config.vocab_size
        ids = ops.cat((ids[flat // words], (flat % words).astype(ms.int32)[:, None]), 1)
    return ids, scores


found, scores = beam_search(prompt[:1], 4, 3)
show("beams", found)
show("scores", scores)
