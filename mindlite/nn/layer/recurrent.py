"""Recurrent networks: cells that take one step, and layers that run a cell over a sequence.

    RNN    h' = tanh(W x + b + U h + c)                        Elman 1990
    LSTM   i, f, g, o = W x + b + U h + c                      Hochreiter & Schmidhuber 1997; Gers et al. 2000
           c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
    GRU    r, z = sigmoid(..);  n = tanh(W x + b + r (U h + c));  h' = (1 - z) n + z h          Cho et al. 2014

A layer first multiplies the whole sequence by W, one product, and then steps along time with U only. Gates stand in
one matrix, in the order above. With seq_length, an item's state rests after its length and its outputs there are zero.
"""
from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...common import dtype as dt
from ...common.dtype import DTypeLike
from ...common.errors import ArgumentError, ShapeError, ValueRangeError
from ...common.initializer import Uniform, initializer
from ...common.tensor import Parameter, ParameterTuple, Tensor
from ...ops.define import is_in_graph
from ...ops.gates import gru_gates, lstm_gates
from ..cell import Cell
from .basic import flag, positive_int


def rnn_step(gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    h = ops.tanh(gates + hidden)
    return h, (h,)


def rnn_relu_step(gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    h = ops.relu(gates + hidden)
    return h, (h,)


def lstm_step(gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    h, c = lstm_gates(gates, hidden, state[1])
    return h, (h, c)


def gru_step(gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
    h = gru_gates(gates, hidden, state[0])
    return h, (h,)


def _parameters(gates: int, input_size: int, hidden_size: int, has_bias: bool, dtype: DTypeLike) -> list:
    """W [gates * hidden, input], U [gates * hidden, hidden], b, c [gates * hidden], uniform in +-1 / sqrt(hidden)."""
    init = Uniform(1 / math.sqrt(hidden_size))
    rows = gates * hidden_size
    shapes = [(rows, input_size), (rows, hidden_size)] + [(rows,)] * (2 if has_bias else 0)
    made = [Parameter(initializer(init, shape, dtype)) for shape in shapes]
    return made if has_bias else made + [None, None]


class _StepCell(Cell):
    """One step: what RNNCell, LSTMCell and GRUCell share. `step` is the formula, `gates` the number of its gates."""
    gates, step = 1, staticmethod(rnn_step)

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = positive_int(owner, "input_size", input_size)
        self.hidden_size = positive_int(owner, "hidden_size", hidden_size)
        self.has_bias = flag(owner, "has_bias", has_bias)
        self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh = _parameters(self.gates, input_size, hidden_size,
                                                                                 has_bias, dtype)

    def next_state(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The state after x."""
        gates = ops.dense(x, self.cast_param(self.weight_ih), self.cast_param(self.bias_ih))
        hidden = ops.dense(state[0], self.cast_param(self.weight_hh), self.cast_param(self.bias_hh))
        return self.step(gates, hidden, state)[1]

    def extend_repr(self) -> str:
        return f"input_size={self.input_size}, hidden_size={self.hidden_size}, has_bias={self.has_bias}"


class RNNCell(_StepCell):
    """One step of an RNN.

    nonlinearity : "tanh" or "relu"; x : [N, input_size]; hx : [N, hidden_size]; output : the new hx
    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh",
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueRangeError(f"RNNCell: nonlinearity is tanh or relu, not {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        self.step = rnn_step if nonlinearity == "tanh" else rnn_relu_step

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self.next_state(x, (hx,))[0]


class LSTMCell(_StepCell):
    """One step of an LSTM. x : [N, input_size]; hx : (h, c), both [N, hidden_size]; output : the new (h, c).

    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    gates, step = 4, staticmethod(lstm_step)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise ArgumentError(f"LSTMCell: hx is two Tensors, (h, c), not {type(hx).__name__}")
        return self.next_state(x, hx)


class GRUCell(_StepCell):
    """One step of a GRU. x : [N, input_size]; hx : [N, hidden_size]; output : the new hx.

    has_bias : bool: with a bias
    dtype : of the Parameters, float32 by default
    """
    gates, step = 3, staticmethod(gru_step)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self.next_state(x, (hx,))[0]


class _Recurrent(Cell):
    """Layers over sequences: what RNN, LSTM and GRU share. `states` is the number of tensors in a state.

    input_size, hidden_size, num_layers : sizes
    batch_first   : x is [N, T, input_size], not [T, N, input_size]
    dropout       : probability, on the output of each layer but the last, in training
    bidirectional : a second direction from the end; outputs are joined on the last axis
    Parameters    : weight_ih_l0, weight_ih_l0_reverse, weight_ih_l1, .., weight_hh_l0, .., bias_ih_l0, .., bias_hh_l0, ..
    """
    gates, states, step = 1, 1, staticmethod(rnn_step)

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, dtype: DTypeLike = dt.float32) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = positive_int(owner, "input_size", input_size)
        self.hidden_size = positive_int(owner, "hidden_size", hidden_size)
        self.num_layers = positive_int(owner, "num_layers", num_layers)
        self.has_bias, self.batch_first = flag(owner, "has_bias", has_bias), flag(owner, "batch_first", batch_first)
        self.bidirectional = flag(owner, "bidirectional", bidirectional)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise ArgumentError(f"{owner}: dropout is a number, not {type(dropout).__name__}")
        if not 0 <= dropout < 1:
            raise ValueRangeError(f"{owner}: dropout {dropout} is outside [0, 1)")
        self.dropout = float(dropout)
        directions = ("", "_reverse") if bidirectional else ("",)
        positions = [(layer, direction) for layer in range(num_layers) for direction in directions]
        params = [_parameters(self.gates, hidden_size * len(directions) if layer else input_size, hidden_size, has_bias, dtype)
                  for layer, _ in positions]
        kinds = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
        for kind, those in zip(kinds, zip(*params)):         # all of a kind, then the next: MindSpore's order
            for (layer, direction), param in zip(positions, those):
                setattr(self, f"{kind}_l{layer}{direction}", param)
        self.param_names = tuple(tuple(f"{kind}_l{layer}{direction}" for kind in kinds) for layer, direction in positions)
        self.directions = len(directions)

    def _of_kind(self, kind: int) -> ParameterTuple:
        return ParameterTuple(getattr(self, names[kind]) for names in self.param_names if getattr(self, names[kind]) is not None)

    def _set_kind(self, kind: int, name: str, params: Any) -> None:
        names, now = [those[kind] for those in self.param_names], self._of_kind(kind)
        shapes = [list(p.shape) for p in params]
        if shapes != [list(p.shape) for p in now]:
            raise ShapeError(f"{type(self).__name__}.{name}: the Parameters have other shapes", note=f"{shapes}",
                             hint=f"{[list(p.shape) for p in now]} are wanted")
        for own, param in zip(names, params):
            setattr(self, own, param)

    @property
    def w_ih_list(self) -> ParameterTuple:
        """The weights of the inputs, of each layer and direction."""
        return self._of_kind(0)

    @w_ih_list.setter
    def w_ih_list(self, params: Any) -> None:
        self._set_kind(0, "w_ih_list", params)

    @property
    def w_hh_list(self) -> ParameterTuple:
        """The weights of the states, of each layer and direction."""
        return self._of_kind(1)

    @w_hh_list.setter
    def w_hh_list(self, params: Any) -> None:
        self._set_kind(1, "w_hh_list", params)

    @property
    def b_ih_list(self) -> ParameterTuple:
        """The biases of the inputs, of each layer and direction; empty without them."""
        return self._of_kind(2)

    @b_ih_list.setter
    def b_ih_list(self, params: Any) -> None:
        self._set_kind(2, "b_ih_list", params)

    @property
    def b_hh_list(self) -> ParameterTuple:
        """The biases of the states, of each layer and direction; empty without them."""
        return self._of_kind(3)

    @b_hh_list.setter
    def b_hh_list(self, params: Any) -> None:
        self._set_kind(3, "b_hh_list", params)

    def _weights(self, number: int) -> list:
        weights = []
        for name in self.param_names[number]:
            weights.append(self.cast_param(getattr(self, name)))
        return weights

    def _run(self, x: Tensor, state: tuple[Tensor, ...], weights: list, backward: bool,
             seq_length: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One direction of one layer: (outputs [T, N, H], last state)."""
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        gates = ops.dense(x, weight_ih, bias_ih)
        length = x.shape[0]
        # In a graph a loop, whatever the length. Eager mode joins rows quicker; nodes that Python runs over are no Tensors.
        if is_in_graph(x) and isinstance(x, Tensor) or length == 0:
            kind = dt.promote(gates.dtype, state[0].dtype)    # of the state behind a step
            state = tuple([ops.cast(part, kind) for part in state])
            whole = ops.zeros((length, x.shape[1], self.hidden_size), kind)
            for i in range(length):
                t = length - 1 - i if backward else i
                h, state = self._next(gates[t], state, weight_hh, bias_hh, t, seq_length)
                whole[t] = h
            return whole, state
        outputs = []
        for i in range(length):
            t = length - 1 - i if backward else i
            h, state = self._next(gates[t], state, weight_hh, bias_hh, t, seq_length)
            outputs.append(h)
        if backward:
            outputs = outputs[::-1]
        return ops.stack(outputs, 0), state

    def _next(self, gates: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor | None, t: int,
              seq_length: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """(the output, the state) behind step t."""
        h, new = self.step(gates, ops.dense(state[0], weight, bias), state)
        if seq_length is not None:
            live = ops.expand_dims(seq_length > t, 1)
            new = tuple([ops.where(live, after, before) for after, before in zip(new, state)])
            h = ops.where(live, h, ops.zeros_like(h))
        return h, new

    def _zero_state(self, x: Tensor) -> tuple[Tensor, ...]:
        shape = (self.num_layers * self.directions, x.shape[1], self.hidden_size)
        return (ops.zeros(shape, x.dtype),) * self.states

    def _forward(self, x: Tensor, hx: tuple[Tensor, ...] | None, seq_length: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        if ops.rank(x) != 3:
            raise ShapeError(f"{type(self).__name__}: an input of 3 axes is wanted, this has {x.ndim}")
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        hx = self._zero_state(x) if hx is None else hx
        lasts = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self.directions):
                number = layer * self.directions + direction
                state = tuple([part[number] for part in hx])
                out, last = self._run(x, state, self._weights(number), direction == 1, seq_length)
                outputs.append(out)
                lasts.append(last)
            x = outputs[0] if self.directions == 1 else ops.concat(outputs, 2)
            if self.training and self.dropout > 0 and layer < self.num_layers - 1:
                x = ops.dropout(x, self.dropout)
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        return x, tuple([ops.stack([last[part] for last in lasts], 0) for part in range(self.states)])

    def construct(self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None) -> Any:
        out, state = self._forward(x, None if hx is None else (hx,), seq_length)
        return out, state[0]

    def extend_repr(self) -> str:
        return (f"input_size={self.input_size}, hidden_size={self.hidden_size}, num_layers={self.num_layers}, "
                f"has_bias={self.has_bias}, batch_first={self.batch_first}, dropout={self.dropout}, "
                f"bidirectional={self.bidirectional}")


class RNN(_Recurrent):
    """RNN layers; nonlinearity : "tanh" or "relu", else as _Recurrent says.

    x : [T, N, input_size]; hx : [layers * directions, N, hidden_size], zeros by default; seq_length : integer [N]
    output : ([T, N, directions * hidden_size], the last hx)
    has_bias : bool: with a bias
    num_layers : int
    batch_first : bool: the batch is axis 0
    bidirectional : bool: a second direction from the end
    dropout : float, a probability, in training
    dtype : of the Parameters, float32 by default
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", has_bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 dtype: DTypeLike = dt.float32) -> None:
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueRangeError(f"RNN: nonlinearity is tanh or relu, not {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        self.step = rnn_step if nonlinearity == "tanh" else rnn_relu_step


class LSTM(_Recurrent):
    """LSTM layers.

    x : [T, N, input_size]; hx : (h, c), each [layers * directions, N, hidden_size], zeros by default
    seq_length : integer [N]; output : ([T, N, directions * hidden_size], the last (h, c))
    has_bias : bool: with a bias
    num_layers : int
    batch_first : bool: the batch is axis 0
    bidirectional : bool: a second direction from the end
    dropout : float, a probability, in training
    dtype : of the Parameters, float32 by default
    """
    gates, states, step = 4, 2, staticmethod(lstm_step)

    def construct(self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None) -> Any:
        return self._forward(x, hx, seq_length)


class GRU(_Recurrent):
    """Layers of gated recurrent units.

    x : [T, N, input_size]; hx : [layers * directions, N, hidden_size], zeros by default; seq_length : integer [N]
    output : ([T, N, directions * hidden_size], the last hx)
    input_size, hidden_size, num_layers : int
    has_bias : bool: with a bias
    batch_first : bool: the batch is axis 0
    dropout : float, a probability, in training
    bidirectional : bool: a second direction from the end
    dtype : of the Parameters, float32 by default
    raises : ValueRangeError for a dropout outside [0, 1), ShapeError for inputs that do not fit
    source : Cho et al. 2014
    """
    gates, step = 3, staticmethod(gru_step)
