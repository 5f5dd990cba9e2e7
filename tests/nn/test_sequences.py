"""Recurrent networks and transformers against step-by-step NumPy."""
import numpy as np
import pytest

from mindlite import nn
from mindlite.common import dtype as dt
from mindlite.common.errors import ArgumentError, ShapeError, ValueRangeError
from mindlite.common.seed import set_seed
from mindlite.common.tensor import Tensor

RNG = np.random.default_rng(13)
T, N, I, H = 5, 3, 4, 2


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(a, b, state):
    h = np.tanh(a + b)
    return h, (h,)


def lstm_step(a, b, state):
    i, f, g, o = np.split(a + b, 4, 1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, (h, c)


def gru_step(a, b, state):
    (r, z, n), (br, bz, bn) = np.split(a, 3, 1), np.split(b, 3, 1)
    n, z = np.tanh(n + sigmoid(r + br) * bn), sigmoid(z + bz)
    h = (1 - z) * n + z * state[0]
    return h, (h,)


def weights(net, suffix=""):
    return [getattr(net, name + suffix).asnumpy() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def one_step(step, params, x, state):
    w, u, b, c = params
    return step(x @ w.T + b, state[0] @ u.T + c, state)


def run(step, params, x, state, backward=False, lengths=None):
    """x [T, N, I] item by item: (outputs, state)."""
    outputs = np.zeros((len(x), x.shape[1], state[0].shape[1]))
    lasts = [part.astype(np.float64) for part in state]
    for item in range(x.shape[1]):
        stop = len(x) if lengths is None else lengths[item]
        s = tuple(part[item:item + 1] for part in lasts)
        for t in reversed(range(stop)) if backward else range(stop):
            h, s = one_step(step, params, x[t, item:item + 1], s)
            outputs[t, item] = h[0]
        for part, last in zip(lasts, s):
            part[item] = last[0]
    return outputs, tuple(lasts)


@pytest.mark.parametrize("cell, step", [(nn.RNNCell, rnn_step), (nn.LSTMCell, lstm_step), (nn.GRUCell, gru_step)])
def test_a_cell_takes_one_step(cell, step):
    net, x, h, c = cell(I, H), normal(N, I), normal(N, H), normal(N, H)
    expected = one_step(step, weights(net), x, (h, c))[1]
    if cell is nn.LSTMCell:
        out = net(Tensor(x), (Tensor(h), Tensor(c)))
        assert np.allclose(out[1].asnumpy(), expected[1], atol=1e-6)
        out = out[0]
    else:
        out = net(Tensor(x), Tensor(h))
    assert np.allclose(out.asnumpy(), expected[0], atol=1e-6)


def test_relu_is_the_other_nonlinearity_of_an_rnn():
    net, x, h = nn.RNNCell(I, H, nonlinearity="relu", has_bias=False), normal(N, I), normal(N, H)
    expected = np.maximum(x @ net.weight_ih.asnumpy().T + h @ net.weight_hh.asnumpy().T, 0)
    assert np.allclose(net(Tensor(x), Tensor(h)).asnumpy(), expected, atol=1e-6)
    layer = nn.RNN(I, H, nonlinearity="relu")
    assert (layer(Tensor(normal(T, N, I)))[0].asnumpy() >= 0).all()


@pytest.mark.parametrize("kind, step", [(nn.RNN, rnn_step), (nn.LSTM, lstm_step), (nn.GRU, gru_step)])
@pytest.mark.parametrize("lengths", [None, [5, 2, 0]])
def test_two_layers_in_both_directions_are_four_runs(kind, step, lengths):
    net, x = kind(I, H, num_layers=2, bidirectional=True), normal(T, N, I)
    start = [normal(4, N, H) for _ in range(net.states)]
    hx = tuple(map(Tensor, start)) if kind is nn.LSTM else Tensor(start[0])
    out, last = net(Tensor(x), hx, None if lengths is None else Tensor(np.array(lengths, np.int32)))
    last = last if kind is nn.LSTM else (last,)
    level, finals = x, []
    for layer in range(2):
        sides = []
        for number, suffix in enumerate(("", "_reverse")):
            state = tuple(part[2 * layer + number] for part in start)
            side, final = run(step, weights(net, f"_l{layer}{suffix}"), level, state, number == 1, lengths)
            sides.append(side)
            finals.append(final)
        level = np.concatenate(sides, 2)
    assert np.allclose(out.asnumpy(), level, atol=1e-5)
    for number, part in enumerate(last):
        assert np.allclose(part.asnumpy(), [final[number] for final in finals], atol=1e-5)


def test_batch_first_swaps_axes_and_the_state_starts_at_zero():
    net, x = nn.LSTM(I, H, batch_first=True), normal(N, T, I)
    out, (h, c) = net(Tensor(x))
    expected, (h2, c2) = run(lstm_step, weights(net, "_l0"), x.transpose(1, 0, 2), (np.zeros((N, H)), np.zeros((N, H))))
    assert np.allclose(out.asnumpy(), expected.transpose(1, 0, 2), atol=1e-5)
    assert np.allclose(h.asnumpy()[0], h2, atol=1e-5) and np.allclose(c.asnumpy()[0], c2, atol=1e-5)
    assert list(net.parameters_dict()) == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]


def test_recurrent_layers_refuse_bad_arguments():
    for bad, error in ((lambda: nn.LSTM(0, 1), ValueRangeError), (lambda: nn.GRU(1, 1, dropout=1.0), ValueRangeError),
                       (lambda: nn.RNN(1, 1, nonlinearity="sin"), ValueRangeError),
                       (lambda: nn.GRU(1, 1, 1, 1), ArgumentError),
                       (lambda: nn.GRU(1, 1)(Tensor(normal(2, 1))), ShapeError)):
        with pytest.raises(error):
            bad()


# ---------------------------------------------------------------- attention

E, HEADS, S = 8, 2, 6


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(net, q, k, v, mask=None, padding=None):
    """One item and head at a time; q [T, N, E]; mask and padding are added numbers."""
    w, b = net.in_proj_weight.asnumpy(), net.in_proj_bias.asnumpy()
    q, k, v = (x @ w[i * E:(i + 1) * E].T + b[i * E:(i + 1) * E] for i, x in enumerate((q, k, v)))
    out, maps = np.zeros_like(q), np.zeros((q.shape[1], HEADS, len(q), len(k)))
    d = E // HEADS
    for n in range(q.shape[1]):
        for head in range(HEADS):
            part = slice(head * d, (head + 1) * d)
            scores = q[:, n, part] @ k[:, n, part].T / np.sqrt(d)
            if mask is not None:
                scores = scores + (mask if mask.ndim == 2 else mask[n * HEADS + head])
            if padding is not None:
                scores = scores + padding[n]
            maps[n, head] = softmax(scores)
            out[:, n, part] = maps[n, head] @ v[:, n, part]
    return out @ net.out_proj.weight.asnumpy().T + net.out_proj.bias.asnumpy(), maps


def test_attention_mixes_values_by_head_under_masks():
    net = nn.MultiheadAttention(E, HEADS)
    q, k, v = normal(T, N, E), normal(S, N, E), normal(S, N, E)
    tensors = tuple(map(Tensor, (q, k, v)))
    for shape in ((T, S), (N * HEADS, T, S)):
        mask, padding = RNG.random(shape) < 0.3, RNG.random((N, S)) < 0.3
        mask[..., 0], padding[:, 0] = False, False
        expected, maps = attention(net, q, k, v, np.where(mask, -np.inf, 0), np.where(padding, -np.inf, 0))
        out, seen = net(*tensors, attn_mask=Tensor(mask), key_padding_mask=Tensor(padding))
        assert np.allclose(out.asnumpy(), expected, atol=1e-5) and np.allclose(seen.asnumpy(), maps.mean(1), atol=1e-5)
    added = normal(T, S)
    out, seen = net(*tensors, attn_mask=Tensor(added), average_attn_weights=False)
    expected, maps = attention(net, q, k, v, added)
    assert np.allclose(out.asnumpy(), expected, atol=1e-5) and np.allclose(seen.asnumpy(), maps, atol=1e-5)
    assert net(*tensors, need_weights=False)[1] is None


def test_attention_takes_one_sequence_batches_first_and_other_sizes():
    net = nn.MultiheadAttention(E, HEADS, batch_first=True)
    x = normal(N, T, E)
    whole = net(Tensor(x), Tensor(x), Tensor(x))[0].asnumpy()
    one, seen = net(Tensor(x[0]), Tensor(x[0]), Tensor(x[0]))
    assert np.allclose(one.asnumpy(), whole[0], atol=1e-5) and seen.shape == (T, T)
    other = nn.MultiheadAttention(E, HEADS, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True, has_bias=False)
    out, seen = other(Tensor(normal(T, N, E)), Tensor(normal(S, N, 3)), Tensor(normal(S, N, 5)))
    assert out.shape == (T, N, E) and seen.shape == (N, T, S + 2)
    assert np.allclose(seen.asnumpy().sum(-1), 1, atol=1e-5)
    with pytest.raises(ValueRangeError):
        nn.MultiheadAttention(7, 2)
    with pytest.raises(ShapeError):
        net(Tensor(normal(E)), Tensor(normal(E)), Tensor(normal(E)))


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_adds_attention_and_a_network(norm_first):
    net, x = nn.TransformerEncoderLayer(E, HEADS, 16, norm_first=norm_first), normal(T, N, E)

    def norm(y):
        return (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)

    def attend(y):
        return attention(net.self_attn, y, y, y)[0]

    def feed(y):
        hidden = np.maximum(y @ net.dense1.weight.asnumpy().T + net.dense1.bias.asnumpy(), 0)
        return hidden @ net.dense2.weight.asnumpy().T + net.dense2.bias.asnumpy()
    if norm_first:
        expected = x + attend(norm(x))
        expected = expected + feed(norm(expected))
    else:
        expected = norm(x + attend(x))
        expected = norm(expected + feed(expected))
    assert np.allclose(net(Tensor(x)).asnumpy(), expected, atol=1e-4)


def test_an_encoder_stacks_copies_that_share_nothing():
    layer = nn.TransformerEncoderLayer(E, HEADS, 16)
    net, x = nn.TransformerEncoder(layer, 2, nn.LayerNorm((E,))), Tensor(normal(T, N, E))
    assert len({id(param) for param in net.get_parameters()}) == 2 * len(list(layer.get_parameters())) + 2
    assert "layers.1.self_attn.in_proj_weight" in net.parameters_dict()
    other = nn.TransformerDecoder(nn.TransformerDecoderLayer(E, HEADS, 16), 1, nn.LayerNorm((E,)))
    for one in (net, other):                                                 # the order of MindSpore's
        names = [param.name for param in one.trainable_params()]
        assert names[0] == "layers.0.self_attn.in_proj_weight" and names[-2:] == ["norm.gamma", "norm.beta"]
    expected = net.norm(net.layers[1](net.layers[0](x)))
    assert np.array_equal(net(x).asnumpy(), expected.asnumpy())


def test_a_decoder_cannot_see_what_its_mask_hides():
    set_seed(0)
    net = nn.Transformer(E, HEADS, 1, 1, 16)
    src, tgt = normal(S, N, E), normal(T, N, E)
    mask = Tensor(np.triu(np.ones((T, T), bool), 1))
    out = net(Tensor(src), Tensor(tgt), tgt_mask=mask).asnumpy()
    changed = tgt.copy()
    changed[-1] += 1
    again = net(Tensor(src), Tensor(changed), tgt_mask=mask).asnumpy()
    assert out.shape == (T, N, E) and np.allclose(out[:-1], again[:-1], atol=1e-6)
    assert not np.allclose(out[-1], again[-1], atol=1e-3)


def test_sequence_layers_drop_in_training_and_cast_under_to_float():
    set_seed(4)
    net, x = nn.TransformerEncoderLayer(E, HEADS, 16, dropout=0.5), Tensor(normal(T, N, E))
    assert np.array_equal(net(x).asnumpy(), net(x).asnumpy())
    net.set_train()
    assert not np.allclose(net(x).asnumpy(), net(x).asnumpy())
    assert net.set_train(False).to_float(dt.float16)(x).dtype is dt.float16


def test_the_lists_of_weights_of_a_recurrent_layer_can_be_set():
    net, other = (nn.LSTM(2, 3, num_layers=2, bidirectional=True) for _ in range(2))
    x = Tensor(np.random.default_rng(1).standard_normal((4, 1, 2)).astype(np.float32))
    for name in ("w_ih_list", "w_hh_list", "b_ih_list", "b_hh_list"):
        setattr(net, name, getattr(other, name))
        assert [p is q for p, q in zip(getattr(net, name), getattr(other, name))] == [True] * 4
    np.testing.assert_array_equal(net(x)[0].asnumpy(), other(x)[0].asnumpy())
    with pytest.raises(ShapeError, match="LSTM.w_ih_list: the Parameters have other shapes"):
        net.w_ih_list = list(net.w_ih_list)[:1]
