"""An error in a nested Cell says which of the network's Cells it is: by its path in the Cell that was called."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, nn, ops


class Block(nn.Cell):
    def __init__(self, size):
        super().__init__()
        self.dense = nn.Dense(4, size)

    def construct(self, x):
        return ops.matmul(self.dense(x), ops.ones((4, 4), ms.float32))


class Pick(nn.Cell):
    def construct(self, x, i):
        return x[i]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.picks = nn.CellList([Pick(), Pick()])
        self.blocks = nn.SequentialCell(Block(4), Block(3))

    def construct(self, x, i):
        return self.blocks(self.picks[1](self.picks[0](x, 0), i))


def message(call, *args):
    with pytest.raises((ValueError, IndexError)) as caught:
        call(*args)
    return str(caught.value)


@pytest.mark.parametrize("i, place", [(0, "in Block.construct (Net.blocks.1)"), (5, "in Pick.construct (Net.picks.1)")])
def test_an_error_names_the_path_of_the_cell_in_both_modes_and_in_gradients(i, place):
    x = Tensor(np.ones((2, 3, 4), np.float32))
    net, inner = Net(), Net()

    def loss(x, i):
        return inner(x, i).sum()
    eager = message(net, x, i)
    assert place in eager
    calls = {"jit": ms.jit(lambda x, i: net(x, i)), "loss": loss, "grad": ms.grad(loss), "jit of grad": ms.jit(ms.grad(loss)),
             "Cell": ms.jit(Net()), "construct": ms.jit(Net().construct)}
    for name, call in calls.items():
        for again in range(2):
            assert (name, again, message(call, x, i)) == (name, again, eager)


def test_the_cell_that_is_called_itself_needs_no_path():
    assert "in Pick.construct\n" in message(Pick(), Tensor(np.ones(3, np.float32)), 5)
