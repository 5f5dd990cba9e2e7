"""What a step of a recurrent network computes behind its products: one operation of eager mode, one kernel where it comes often.

    lstm_gates(W x + b, U h + d, c) -> (h, c)         gru_gates(W x + b, U h + d, h) -> h

source : Hochreiter & Schmidhuber 1997, Gers et al. 2000; Cho et al. 2014
"""
from ..common.tensor import Tensor
from ..mindir.primitive import planned
from .elementary import sigmoid, tanh
from .structure import chunk


@planned
def lstm_gates(gates: Tensor, hidden: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The new (h, c). gates, hidden : [N, 4 * n], of input, forget, cell and output; c : [N, n]"""
    i, f, g, o = chunk(gates + hidden, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


@planned
def gru_gates(gates: Tensor, hidden: Tensor, h: Tensor) -> Tensor:
    """The new h. gates, hidden : [N, 3 * n], of reset, update and new; h : [N, n]"""
    r, z, n = chunk(gates, 3, -1)
    hidden_r, hidden_z, hidden_n = chunk(hidden, 3, -1)
    n = tanh(n + sigmoid(r + hidden_r) * hidden_n)
    z = sigmoid(z + hidden_z)
    return n + z * (h - n)
