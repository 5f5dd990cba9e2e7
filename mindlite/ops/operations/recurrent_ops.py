"""Recurrent layers as classes, over all steps at once.

Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000
"""
from ...common.errors import ShapeError, ValueRangeError
from .. import bernoulli, concat, matmul, ones_like, reshape, sigmoid, split, stack, swapaxes, tanh, zeros
from ..define import as_operand, dtype_of
from .define import operation


def _weights(flat, inputs, hidden, layers, ways, has_bias, real):
    """For each layer and way (w_ih, w_hh, w_hr, bias) of the flat weight, which has all w_ih first, then all w_hh, and so on."""
    at = 0

    def take(*shape):
        nonlocal at
        count = 1
        for size in shape:
            count *= size
        part = reshape(flat[at:at + count], shape=shape)
        at += count
        return part
    places = [inputs if layer == 0 else real * ways for layer in range(layers) for _ in range(ways)]
    first = [take(4 * hidden, width) for width in places]
    second = [take(4 * hidden, real) for _ in places]
    projections = [take(real, hidden) if real != hidden else None for _ in places]
    biases = [take(4 * hidden) if has_bias else None for _ in places]
    if at != flat.shape[0]:
        raise ShapeError(f"LSTM: w has {at} elements", note=f"{flat.shape[0]}")
    return list(zip(first, second, projections, biases))


def _run(x, h, c, weights, backwards):
    """(outputs [T, N, real], the last h, the last c) of one layer in one direction"""
    first, second, projection, bias = weights
    steps = []
    for t in range(x.shape[0] - 1, -1, -1) if backwards else range(x.shape[0]):
        gates = matmul(x[t], swapaxes(first, 0, 1)) + matmul(h, swapaxes(second, 0, 1))
        enter, forget, new, leave = split(gates if bias is None else gates + bias, c.shape[-1], -1)
        c = sigmoid(forget) * c + sigmoid(enter) * tanh(new)
        h = sigmoid(leave) * tanh(c)
        h = h if projection is None else matmul(h, swapaxes(projection, 0, 1))
        steps.append(h)
    return stack(steps[::-1] if backwards else steps, 0), h, c


@operation
def LSTM(x, h, c, w, *, input_size, hidden_size, num_layers, has_bias, bidirectional, dropout, proj_size=0):
    """A stack of LSTM layers over a sequence: (outputs, last h, last c, and two Tensors [1] for MindSpore's space of its kernel).

    x : [T, N, input_size]; h : [layers * ways, N, real]; c : [layers * ways, N, hidden_size], real = proj_size or hidden_size
    w : the weights one after the other, [n, 1, 1]: w_ih [4 hidden, in] of each layer and way, all w_hh [4 hidden, real], with
        proj_size all w_hr, the biases [4 hidden]; the gates are in, forget, new, out
    dropout : share of a layer's outputs that the next does not get
    raises  : ShapeError, ValueRangeError
    """
    x, h, c, flat = as_operand(x), as_operand(h), as_operand(c), reshape(as_operand(w), shape=(-1,))
    ways, real = 2 if bidirectional else 1, proj_size or hidden_size
    if x.ndim != 3 or x.shape[2] != input_size or h.shape[0] != num_layers * ways:
        raise ShapeError(f"LSTM: x is [T, N, {input_size}], h is [{num_layers * ways}, N, {real}]",
                         note=f"{list(x.shape)}, {list(h.shape)}")
    if not 0 <= dropout <= 1:
        raise ValueRangeError(f"LSTM: dropout is in [0, 1], not {dropout}")
    weights = _weights(flat, input_size, hidden_size, num_layers, ways, has_bias, real)
    last_h, last_c = [], []
    for layer in range(num_layers):
        if layer and 0 < dropout < 1:
            x = x * bernoulli(ones_like(x), 1 - dropout) / (1 - dropout)
        outs = []
        for way in range(ways):
            place = layer * ways + way
            out, end, cell = _run(x, h[place], c[place], weights[place], way == 1)
            outs.append(out)
            last_h.append(end)
            last_c.append(cell)
        x = outs[0] if ways == 1 else concat(outs, -1)
    return x, stack(last_h, 0), stack(last_c, 0), zeros((1,), dtype_of(x)), zeros((1,), dtype_of(x))
