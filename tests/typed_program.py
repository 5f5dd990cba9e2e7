"""A user's program, which a type checker reads; nobody runs it. tests/test_annotations.py says what it must see."""
import numpy as np

import mindlite as ms
from mindlite import Tensor, nn, ops


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 4)

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(x)


@ms.jit
def double(x: Tensor) -> Tensor:
    return x * 2


@ms.jit(fullgraph=True)
def power(x: Tensor, n: int = 2) -> Tensor:
    return x ** n


x = ms.Tensor(np.ones((2, 3), np.float32))
net = Net().set_train()
reveal_type(x)                                               # noqa: F821
reveal_type(nn.Dense(3, 4)(x).sum())                         # noqa: F821
reveal_type(net)                                             # noqa: F821
reveal_type(net(x))                                          # noqa: F821
reveal_type(ms.ops.relu(x))                                  # noqa: F821
reveal_type(ops.softmax(x, -1) + ops.reshape(x, (3, 2)))     # noqa: F821
reveal_type(ops.topk(x, 2))                                  # noqa: F821
reveal_type(ops.maximum(x, 0.5))                             # noqa: F821
reveal_type(double)                                          # noqa: F821
reveal_type(double(x))                                       # noqa: F821
reveal_type(power(x, 3))                                     # noqa: F821
reveal_type(ms.jit(net))                                     # noqa: F821
reveal_type(ms.grad(double))                                 # noqa: F821
reveal_type(ms.value_and_grad(double)(x))                    # noqa: F821
reveal_type(ms.vmap(double)(x))                              # noqa: F821
nn.Dense("3", 4)
net(x, x)
double(3)
ms.jit(double, fulgraph=True)
ops.conv2d(x, x, strides=2)
ops.concat((x, x), "0")
