"""The last dense layer of a network on directions alone: its input and its weights are normalised rows.

    network = boost.LessBN(network, fn_flag=True)         # the last Dense of each Cell becomes a CommonHeadLastFN
"""
from __future__ import annotations

from typing import Any

from .. import ops
from ..common import dtype as dt
from ..common.initializer import Init, initializer
from ..common.tensor import Parameter, Tensor
from ..nn import Cell, CellList, Dense, SequentialCell
from ..nn.layer.basic import flag, positive_int


class CommonHeadLastFN(Cell):
    """multiplier * (x / |x| @ (weight / |weight|)^T + bias), the norms over rows; `multiplier` is trained and begins with 1.

    in_channels, out_channels : ints
    weight_init, bias_init    : a name, a number, a Tensor or an Initializer; weight is f32[out_channels, in_channels]
    has_bias                  : bool
    x                         : float[N, in_channels]      out : like x, [N, out_channels]
    raises                    : ArgumentError, ValueRangeError for settings of other kinds
    A row shorter than 0.01 is divided by 0.01.
    """

    def __init__(self, in_channels: int, out_channels: int, weight_init: Init = "normal", bias_init: Init = "zeros",
                 has_bias: bool = True) -> None:
        super().__init__()
        shape = [positive_int("CommonHeadLastFN", name, number) for name, number in (
            ("out_channels", out_channels), ("in_channels", in_channels))]
        self.weight = Parameter(initializer(weight_init, shape), name="weight")
        self.multiplier = Parameter(Tensor([1.0], dt.float32), name="multiplier")
        self.has_bias = flag("CommonHeadLastFN", "has_bias", has_bias)
        if self.has_bias:
            self.bias = Parameter(initializer(bias_init, shape[:1]), name="bias")

    def construct(self, x: Tensor) -> Tensor:
        """The outputs."""
        weight = ops.l2_normalize(self.cast_param(self.weight), 1, 1e-4)
        out = ops.matmul(ops.l2_normalize(x, 1, 1e-4), ops.swapaxes(weight, 0, 1))
        if self.has_bias:
            out = out + self.cast_param(self.bias)
        return self.cast_param(self.multiplier) * out


class LessBN(Cell):
    """A network that is to need fewer normalisations; it is changed in place.

    network : a Cell
    fn_flag : bool: in each Cell that has Dense layers the last of them becomes a CommonHeadLastFN without bias, of the very
              weight; make the optimiser afterwards, of the Parameters that there are then
    """

    def __init__(self, network: Cell, fn_flag: bool = False) -> None:
        super().__init__()
        self.network = network
        if "less_bn" not in network.get_flags():
            network.set_boost("less_bn")
            network.add_flags(less_bn=True)
            if flag("LessBN", "fn_flag", fn_flag):
                for _, cell in list(network.cells_and_names()):
                    _normalise_last_dense(cell)

    def construct(self, *inputs: Any) -> Any:
        """What the network gives."""
        return self.network(*inputs)


def _normalise_last_dense(cell: Cell) -> None:
    names = [name for name, child in cell.name_cells().items() if isinstance(child, Dense)]
    if not names:
        return
    dense: Any = cell.name_cells()[names[-1]]
    prefix = dense.weight.name.removesuffix("weight")
    made = CommonHeadLastFN(dense.in_channels, dense.out_channels, has_bias=False)
    made.weight = dense.weight
    if isinstance(cell, (SequentialCell, CellList)):
        cell[list(cell.name_cells()).index(names[-1])] = made
    else:
        setattr(cell, names[-1], made)
    made.update_parameters_name(prefix)
