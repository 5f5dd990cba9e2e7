"""Which Cells and operators of a network compute in 16 bits: auto_mixed_precision, custom_mixed_precision.

    O1    Cells and operators of the white list in 16 bits, with float32 results; all others as they are
    O2    all in 16 bits, but for Cells of the black list            O3    all in 16 bits           (results: float32)
    auto  operator by operator: AUTO.low in 16 bits, AUTO.high in float32, AUTO.widest in the widest of their operands

Cells get their dtype by `to_float`, operators by a policy (ops/autocast.py). Source: MindSpore 2.x, mindspore.amp; the sorting
of operators is that of Micikevicius et al. (2018): sums of products bear 16 bits, exponentials and sums do not.
"""
import dataclasses
import functools

from .. import nn
from ..common import dtype as dt
from ..common.errors import ArgumentError, ValueRangeError
from ..functional.autocast import WithPolicy
from ..mindir.primitive import Primitive, find_primitive
from ..ops import operations
from ..ops.autocast import Policy
from ..ops.operations import Operation


def _named(*names):
    return frozenset(map(find_primitive, names))


PRODUCTS = _named("batch_matmul", "matmul_add", "convolution", "convolution_backward_data")
AUTO = Policy(
    low=PRODUCTS,
    high=_named("acos", "asin", "cosh", "cumulative_product", "cumulative_sum", "erfinv", "exp", "exp2", "expm1", "log",
                "log10", "log1p", "log2", "log_softmax", "logsumexp", "integer_pow", "pow", "reciprocal", "reduce_norm",
                "reduce_prod", "rsqrt", "sinh", "softmax", "softplus", "standardize", "tan"),
    widest=_named("concatenate"))
LEVELS = ("O0", "O1", "O2", "O3", "auto")
WHITE_CELLS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose, nn.Dense,
               nn.LSTMCell, nn.RNNCell, nn.GRUCell)
WHITE_OPERATIONS = (operations.Conv2D, operations.Conv3D, operations.Conv2DTranspose, operations.Conv3DTranspose,
                    operations.MatMul, operations.BatchMatMul, operations.ReLU)
BLACK_CELLS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm)
_PRIMITIVES = {"Conv2D": ("convolution",), "Conv3D": ("convolution",), "Conv2DBackpropInput": ("convolution_backward_data",),
               "Conv3DTranspose": ("convolution_backward_data",),
               "MatMul": ("batch_matmul", "matmul_add"), "BatchMatMul": ("batch_matmul", "matmul_add"),
               "Dense": ("matmul_add",), "Softmax": ("softmax",), "LogSoftmax": ("log_softmax",), "Concat": ("concatenate",)}


def get_white_list():
    """The classes of Cells and operators that O1 computes in 16 bits: a list of its own.

    MindSpore's has PReLU and Ger too, which are several operators here.
    """
    return [*WHITE_CELLS, *WHITE_OPERATIONS]


def get_black_list():
    """The classes of Cells that O2 leaves in float32: a list of its own."""
    return list(BLACK_CELLS)


def auto_mixed_precision(network, amp_level="O0", dtype=dt.float16):
    """The network, which computes in `dtype` what its level says (see the module).

    network   : a Cell, which is changed; with "auto" a function too, of which another one is made
    amp_level : "O0" (nothing changes), "O1", "O2", "O3", "auto"
    dtype     : float16 or bfloat16
    result    : float32 results with O1 to O3; with "auto" what the last operators give
    raises    : ArgumentError for what is no Cell (nor, with "auto", a function); ValueRangeError for another level or dtype
    """
    if amp_level not in LEVELS:
        raise ValueRangeError(f"auto_mixed_precision: amp_level is one of {', '.join(LEVELS)}, not {amp_level!r}")
    _check_dtype("auto_mixed_precision", dtype)
    if amp_level == "auto" and not isinstance(network, nn.Cell) and callable(network):
        return WithPolicy(network, dataclasses.replace(AUTO, dtype=dtype))
    _check_cell("auto_mixed_precision", network)
    if amp_level == "auto":
        network.mix_precision(dataclasses.replace(AUTO, dtype=dtype))
    elif amp_level == "O1":
        _lower_listed(network, get_white_list(), dtype)
    elif amp_level in ("O2", "O3"):
        _lower_others(network, get_black_list() if amp_level == "O2" else [], dtype)
    return network


def custom_mixed_precision(network, *, white_list=None, black_list=None, dtype=dt.float16):
    """The network, changed: what the white list names, or all Cells but those that the black list names, in `dtype`.

    white_list : classes of Cells and of operators (ops.operations)     black_list: classes of Cells
    raises     : ArgumentError for what is no Cell, ValueRangeError unless one of the lists is given, for another dtype,
                 and for an operator that is several operators here
    """
    _check_cell("custom_mixed_precision", network)
    _check_dtype("custom_mixed_precision", dtype)
    if (white_list is None) == (black_list is None):
        raise ValueRangeError("custom_mixed_precision: give either white_list or black_list")
    if white_list is not None:
        _lower_listed(network, white_list, dtype)
    else:
        _lower_others(network, black_list, dtype)
    return network


def _lower_listed(network, white_list, dtype):
    """Cells and operators of these classes in `dtype`, their results in float32."""
    cells, operators = tuple(_cell_classes(white_list)), [c for c in white_list if not _is_cell_class(c)]
    for _, cell in network.cells_and_names():
        if isinstance(cell, cells):
            cell.to_float(dtype)
            cell.mix_precision(out_type=dt.float32)
    low = frozenset().union(*map(primitives_of, operators))
    if low:
        network.mix_precision(Policy(low=low, dtype=dtype, back=True), network.__dict__["_out_type"])


def _lower_others(network, black_list, dtype):
    """All in `dtype` but Cells of these classes, which compute in float32; the network's results are float32."""
    black = tuple(_cell_classes(black_list))
    network.to_float(dtype)
    for _, cell in network.cells_and_names():
        if isinstance(cell, black):
            cell.to_float(dt.float32)
            cell.mix_precision(out_type=dtype)
    network.mix_precision(out_type=dt.float32)


def primitives_of(operation):
    """The Primitives that a class of operators (ops.operations) stands for. raises : ValueRangeError where it is several"""
    if isinstance(operation, type) and issubclass(operation, Operation):
        function = operation.function
        if isinstance(function, functools.partial) and isinstance(function.args[0], Primitive):
            return {function.args[0]}
        if operation.__name__ in _PRIMITIVES:
            return _named(*_PRIMITIVES[operation.__name__])
    raise ValueRangeError(f"mixed precision: {getattr(operation, '__name__', operation)} is not one operator here",
                          hint="name the class of the Cell that uses it")


def _is_cell_class(value):
    return isinstance(value, type) and issubclass(value, nn.Cell)


def _cell_classes(classes):
    return [c for c in classes if _is_cell_class(c)]


def _check_cell(name, network):
    if not isinstance(network, nn.Cell):
        raise ArgumentError(f"{name}: the network is a Cell, not {type(network).__name__}")


def _check_dtype(name, dtype):
    if dtype not in (dt.float16, dt.bfloat16):
        raise ValueRangeError(f"{name}: dtype is float16 or bfloat16, not {dtype}")
