"""What public model libraries take from inside MindSpore, where mindlite has the same thing or can say so honestly.

Only what mindnlp, mindcv and their kind import is here. A word of MindSpore's C++ that has no meaning without it stays missing.
"""
import enum
import gc
import logging
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import mint, ops
from ..common import dtype as dt
from ..common.checks import check_bool, check_positive_int, check_string, check_value_type
from ..common.config import config
from ..common.dtype_kinds import TensorType
from ..common.errors import ArgumentError, InternalError, MissingAttributeError, ValueRangeError
from ..common.log import logger
from ..common.seed import generator, get_seed
from ..common.tensor import Tensor
from ..dataset.operation import Operation
from ..dataset.text import NormalizeForm
from ..functional import composite
from ..functional.context import get_context
from ..functional.runtime import empty_cache
from ..nn.cell import Cell
from ..nn.layer.basic import weight_and_bias
from ..nn.layer.recurrent import gru_step, lstm_step, rnn_relu_step, rnn_step
from ..ops.operations import Operation as Primitive
from ..train import save_checkpoint


class StubTensor:
    """A result that MindSpore had not computed yet. Here a result is a Tensor at once: no object is of this class."""


class MSContext:
    """The settings of the process as MindSpore's C++ has them: `MSContext.get_instance()`."""

    @staticmethod
    def get_instance() -> "MSContext":
        """The settings."""
        return MSContext()

    def get_ascend_soc_version(self) -> str:
        """The name of the Ascend chip: "", as there is none."""
        return ""

    def get_param(self, name: Any) -> Any:
        """The setting of that name. raises : AttributeError for one that does not exist"""
        return getattr(config, str(name))


class ContextOfBackend:
    """MindSpore's choice between its back ends; here is one."""

    def set_backend_policy(self, policy: str) -> bool:
        """Whether the back end of that name is there: that of "ms" is."""
        return policy == "ms"


K_CONTEXT = ContextOfBackend()


def _get_cache_prim(cls: type) -> type:
    """The class of an operator: its objects cost a microsecond here, so none is kept."""
    return cls


def _run_op(operation: Any, name: str, args: Any) -> Any:
    """What the operation computes of the arguments."""
    return operation.function(*args, **operation.given())


def _deconv_output_length(is_valid: bool, is_same: bool, is_pad: bool, input_length: int, filter_size: int, stride_size: int,
                          dilation_size: int, padding: int) -> int:
    """The length that a transposed convolution gives along one axis.

    is_valid, is_same, is_pad : which padding it has
    padding : int, both ends together
    """
    length = input_length * stride_size
    window = filter_size + (filter_size - 1) * (dilation_size - 1)
    if is_valid:
        return length + max(window - stride_size, 0)
    return length if is_same else length - padding + window - stride_size if is_pad else 0


class _Conv(Cell):
    """Base of convolutions of one's own: it checks and keeps the settings and makes `weight` and `bias`.

    kernel_size : tuple; weight is [out_channels, in_channels / group, *kernel_size], with the channels exchanged if `transposed`
    raises      : ArgumentError, ValueRangeError
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], pad_mode: str,
                 padding: Any, dilation: tuple[int, ...], group: int, has_bias: bool, weight_init: Any, bias_init: Any,
                 data_format: str = "NCHW", transposed: bool = False, dtype: Any = dt.float32) -> None:
        super().__init__()
        self.in_channels = check_positive_int(in_channels, "in_channels", self.cls_name)
        self.out_channels = check_positive_int(out_channels, "out_channels", self.cls_name)
        self.group = check_positive_int(group, "group", self.cls_name)
        if in_channels % group or out_channels % group:
            raise ValueRangeError(f"{self.cls_name}: {in_channels} and {out_channels} channels do not split in {group} groups")
        for what, sizes in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)):
            for size in sizes:
                check_positive_int(size, what, self.cls_name)
        self.kernel_size, self.stride, self.dilation, self.padding = kernel_size, stride, dilation, padding
        self.pad_mode, self.data_format = pad_mode, check_string(data_format, ["NCHW", "NCDHW"], "format", self.cls_name)
        self.has_bias = check_bool(has_bias, "has_bias", self.cls_name)
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight, self.bias = weight_and_bias((outer, inner // group, *kernel_size), out_channels, weight_init, bias_init,
                                                 has_bias, dtype)


def _assignment(array: np.ndarray, value: Any) -> np.ndarray:
    """The array, filled with a number or with another array's elements."""
    array[...] = np.reshape(value, array.shape) if np.size(value) == array.size else value
    return array


def _init_random_uniform(a: float, b: float, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform numbers in [a, b) of the shape, from the stream of random numbers that initialisers draw of."""
    return generator().uniform(a, b, shape)


def _rnn_tanh_cell(inputs: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> Tensor:
    """One step of an RNN with tanh: the next hidden state [N, H]. w_ih : [H, I]; w_hh : [H, H]; biases : [H] or None"""
    return rnn_step(ops.dense(inputs, w_ih, b_ih), ops.dense(hidden, w_hh, b_hh), (hidden,))[0]


def _rnn_relu_cell(inputs: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> Tensor:
    """One step of an RNN with relu: the next hidden state [N, H]."""
    return rnn_relu_step(ops.dense(inputs, w_ih, b_ih), ops.dense(hidden, w_hh, b_hh), (hidden,))[0]


def _gru_cell(inputs: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> Tensor:
    """One step of a GRU: the next hidden state [N, H]. w_ih : [3 H, I]; w_hh : [3 H, H]"""
    return gru_step(ops.dense(inputs, w_ih, b_ih), ops.dense(hidden, w_hh, b_hh), (hidden,))[0]


def _lstm_cell(inputs: Tensor, hidden: tuple[Tensor, Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Any,
               b_hh: Any) -> tuple[Tensor, ...]:
    """One step of an LSTM: the next states (h, c). hidden : (h, c); w_ih : [4 H, I]; w_hh : [4 H, H]"""
    return lstm_step(ops.dense(inputs, w_ih, b_ih), ops.dense(hidden[0], w_hh, b_hh), hidden)[1]


class ParamInfo:
    """What MindSpore's C++ keeps of a Parameter: it is kept where it is set, and nothing here reads it."""
    name, requires_grad, layerwise_parallel, parallel_optimizer = "Parameter", True, False, True


def pyboost_empty(arguments: Any) -> Tensor:
    """A Tensor whose elements are not set. arguments : [sizes, dtype, device]"""
    size, dtype, device = arguments
    return mint.empty(size, dtype=dtype, device=device)


def index_add_ext_op(input: Tensor, index: Tensor, source: Tensor, dim: int, alpha: float = 1) -> Tensor:
    """input with alpha * source added at `index` along `dim`: `mint.index_add` with its arguments in another order."""
    return mint.index_add(input, dim, index, source, alpha=alpha)


def _framework_profiler_step_start() -> None:
    """Nothing: it tells the profiler of MindSpore's C++ that a step begins."""


def _framework_profiler_step_end() -> None:
    """Nothing: it tells the profiler of MindSpore's C++ that a step has ended."""


def _set_prim_op_user_data(prim: Any, key: str, value: Any) -> Any:
    """The operator: `random_cache`, which MindSpore's C++ reads here, has no meaning as no random result is kept."""
    return prim


def trace(function: Any) -> Any:
    """The function: `jit` compiles here, and it needs no other reading."""
    return function


def _of_another_device(name: str, hint: str) -> Callable[..., NoReturn]:
    """An operator of GPUs or Ascend that libraries import everywhere and call on those devices: a call is refused."""
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueRangeError(f"{name}: there is no such operator on a CPU", hint=hint)
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"raises : ValueRangeError, as a CPU has no such operator; {hint} computes the same"
    return refuse


CudnnGRU, DynamicGRUV2 = _of_another_device("CudnnGRU", "nn.GRU"), _of_another_device("DynamicGRUV2", "nn.GRU")
DynamicRNN = _of_another_device("DynamicRNN", "nn.LSTM")
flash_attention_score = _of_another_device("flash_attention_score", "ops.scaled_dot_product_attention")


def matrix_set_diag(input_x: Tensor, diagonal: Tensor, k: Any = 0, alignment: str = "RIGHT_LEFT") -> Tensor:
    """The matrices with diagonals in place of theirs: `mindlite.ops.matrix_set_diag`."""
    return ops.matrix_set_diag(input_x, diagonal, k, alignment)


# Whether an operator reads or writes an argument, how it is given, and which arguments are of one dtype.
sig_rw = enum.Enum("sig_rw", "RW_READ RW_WRITE RW_REF RW_EMPTY_DEFAULT_VALUE")
sig_kind = enum.Enum("sig_kind", "KIND_POSITIONAL_KEYWORD KIND_VAR_POSITIONAL KIND_KEYWORD_ONLY KIND_VAR_KEYWARD "
                                 "KIND_EMPTY_DEFAULT_VALUE")
sig_dtype = enum.Enum("sig_dtype", "T T1 T2 T3 T4 T5 T6 T7 T8 T9 T_EMPTY_DEFAULT_VALUE")


class Signature(NamedTuple):
    """What a class of an operator says of one argument. A user's own class is Python here: its __call__ brings the
    arguments to one dtype, and writes; mindlite reads no signature."""
    name: str
    rw: sig_rw = sig_rw.RW_READ
    kind: sig_kind = sig_kind.KIND_POSITIONAL_KEYWORD
    default: Any = sig_kind.KIND_EMPTY_DEFAULT_VALUE
    dtype: Any = sig_dtype.T_EMPTY_DEFAULT_VALUE


def make_sig(name: str = "var", rw: sig_rw = sig_rw.RW_READ, kind: sig_kind = sig_kind.KIND_POSITIONAL_KEYWORD,
             default: Any = sig_kind.KIND_EMPTY_DEFAULT_VALUE, dtype: Any = sig_dtype.T_EMPTY_DEFAULT_VALUE) -> Signature:
    """The Signature of one argument."""
    return Signature(name, rw, kind, default, dtype)


class TopTypeof(Primitive):
    """The type of a value: of a Tensor its TensorType, of a number a dtype, of None, a tuple, .. MindSpore's word for it.

    raises : ArgumentError for a value of another class
    """

    def __call__(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return TensorType(x.dtype)
        if type(x) not in _TOP_TYPES:
            raise ArgumentError(f"TopTypeof: there is no word for the class {type(x).__name__}")
        return _TOP_TYPES[type(x)]


_TOP_TYPES = {int: dt.int64, float: dt.float32, bool: dt.bool_, type(None): composite.none_type, tuple: composite.tuple_,
              list: composite.list_, dict: composite.dict_, str: composite.string}


# ---------------------------------------------------------------- data

class Implementation(enum.Enum):
    """By what an operation of a dataset is computed: C++ or Python. Here NumPy computes all of them."""
    C = 1
    PY = 2


class PyTensorOperation(Operation):
    """Base of operations on data that are Python functions: a subclass has `_execute_py`, or `execute_py`."""

    def __init__(self) -> None:
        self.transforms: list = []
        self.output_type: Any = None

    def __call__(self, *data: Any) -> Any:
        execute = getattr(self, "_execute_py", None) or getattr(self, "execute_py", None)
        if execute is None:
            raise MissingAttributeError(f"{type(self).__name__} has no _execute_py: what it computes is not said in Python")
        return execute(*data)


class TensorOperation(PyTensorOperation):
    """Base of operations that MindSpore computes in C++; here `_execute_py` of the subclass computes them."""


class TextTensorOperation(TensorOperation):
    """Base of operations on texts."""

    def __init__(self) -> None:
        super().__init__()
        self.implementation = Implementation.C


def mstype_to_detype(type_: Any) -> str | None:
    """The name of a dtype as MindSpore's data engine has it: "int32"; None stays."""
    return type_ if type_ is None else dt.dtype(type_).name.rstrip("_")


# ---------------------------------------------------------------- files

def _exec_save(ckpt_file_name: str, data_list: Any, *args: Any, **kwargs: Any) -> None:
    """Write {name: (sizes, name of the dtype, array or bytes)} as a checkpoint: `save_checkpoint`."""
    saved = []
    for name, (sizes, kind, data) in data_list.items():
        array = np.frombuffer(data, tensor_to_ms_type[kind].numpy) if isinstance(data, bytes) else np.asarray(data)
        saved.append({"name": name, "data": Tensor(array.reshape(tuple(sizes)))})
    save_checkpoint(saved, ckpt_file_name)


def _parse_ckpt_proto(ckpt_file_name: str, *args: Any) -> NoReturn:
    """raises : ValueRangeError, as a checkpoint is not read into MindSpore's message; `load_checkpoint` reads it"""
    raise ValueRangeError(f"{ckpt_file_name}: the message of a checkpoint is not given out", hint="mindspore.load_checkpoint")


def _load_map_parameter(element: Any, parameter_dict: dict) -> NoReturn:
    """raises : ValueRangeError, as there are no MapParameters"""
    raise ValueRangeError("a MapParameter is not read: mindlite has no tables that grow")


tensor_to_ms_type = {**{name: dt.dtype(name.lower()) for name in (
    "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float16", "Float32", "Float64", "BFloat16")},
    "Bool": dt.bool_}
_NUMPY_TYPE = {name: made.numpy for name, made in tensor_to_ms_type.items()} | {"str": "U"}


def tensor_to_np_type(tensor_type_str: str) -> Any:
    """The NumPy dtype for the name of a dtype in a checkpoint, as "Float32". raises : KeyError for another name"""
    return _NUMPY_TYPE[tensor_type_str]


def _get_graph_seed(op_seed: int, kernel_name: str) -> tuple[int, int]:
    """(the seed of the program, that of the operator), 0 for what is not set."""
    return get_seed() or 0, op_seed or 0


number_type = dt.ALL
DE_C_INTER_NORMALIZE_FORM = {form: form for form in NormalizeForm}


def cpu_cast(input_x: Tensor, dtype: Any) -> Tensor:
    """The Tensor in another dtype."""
    return ops.cast(input_x, dtype)


def check_input_data(*data: Any, data_class: Any) -> None:
    """Nothing. raises : ArgumentError unless the values, within tuples, lists and dicts, are of the class or one of several"""
    for item in data:
        if isinstance(item, (list, tuple)):
            check_input_data(*item, data_class=data_class)
        elif isinstance(item, dict):
            check_input_data(*item.values(), data_class=data_class)
        else:
            check_value_type("the input", item, data_class)


def check_input_dataset(*dataset: Any, dataset_type: Any) -> bool:
    """Whether there are values and all are of the type."""
    return bool(dataset) and all(isinstance(item, dataset_type) for item in dataset)


# ---------------------------------------------------------------- distributions

def set_param_type(args: dict[str, Any], hint_type: Any) -> Any:
    """The float type of a distribution's parameters.

    args      : {name: Tensor, array or number}; numbers and None say nothing
    hint_type : what holds where no Tensor or array says it
    out       : float16 of float16, float32 of all other types
    raises    : ArgumentError for Tensors and arrays of two types
    """
    found = {name: dt.dtype(value.dtype) for name, value in args.items() if isinstance(value, (Tensor, np.ndarray))}
    if len(set(found.values())) > 1:
        raise ArgumentError(f"set_param_type: the parameters are of one type, not {found}")
    kind = next(iter(found.values()), hint_type)
    return kind if kind is dt.float16 or not found else dt.float32


class _Check:
    """A check of a value's class: the value itself, or an ArgumentError that names it."""
    wanted: Any
    word: str

    def __call__(self, x: Any, name: str) -> Any:
        if isinstance(x, self.wanted):
            return x
        raise ArgumentError(f"{name} is a {self.word}, not {type(x).__name__}")


class CheckTuple(_Check):
    """The value itself, a tuple. raises : ArgumentError"""
    wanted, word = tuple, "tuple"


class CheckTensor(_Check):
    """The value itself, a Tensor. raises : ArgumentError"""
    wanted, word = Tensor, "Tensor"


# switches of passes of MindSpore's compiler: a program may set them, and nothing here reads them
NOT_SET, SET = "", "1"


# ---------------------------------------------------------------- the process

HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP = "hccl_world_group", "nccl_world_group", "mccl_world_group"
_WIDTHS = {f"{kind}{bits}": start + bits - 1 for kind, start in (("INT", 0), ("UINT", 100)) for bits in range(1, 17)}
QuantDtype = enum.Enum("QuantDtype", _WIDTHS)                                 # type: ignore[misc]
_LEVELS = {logging.DEBUG: "0", logging.INFO: "1", logging.WARNING: "2", logging.ERROR: "3", logging.CRITICAL: "4"}


def get_level() -> str:
    """The level from which on messages are shown, from "0" (debug) to "4" (critical)."""
    return _LEVELS.get(logger.getEffectiveLevel(), "2")


def get_log_config() -> dict[str, str]:
    """{name: value} of MindSpore's variables of logging: the level, and that messages go to stderr."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}


class CurrentDevice(NamedTuple):
    """Where Tensors lie: the name of the device, and its number."""
    device_target: str
    device_id: int = 0


def get_current_device() -> CurrentDevice:
    """The device of the settings."""
    name, _, number = str(get_context("device_target")).partition(":")
    return CurrentDevice(name, int(number or get_context("device_id") or 0))


def ms_memory_recycle() -> None:
    """Give memory back that nothing refers to."""
    gc.collect()
    empty_cache()


def run_check() -> None:
    """Multiply two matrices and print whether the result is right."""
    product = ops.matmul(ops.ones((2, 3), dt.float32), ops.ones((3, 2), dt.float32))
    if product.asnumpy().tolist() != [[3.0, 3.0], [3.0, 3.0]]:
        raise InternalError(f"run_check: the product of matrices of ones is {product}")
    place = get_current_device().device_target
    print(f"The result of multiplication calculation is correct, mindlite runs on platform [{place}]")


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """How deep functions may call each other while they are compiled. raises : ArgumentError, ValueRangeError below 1"""
    sys.setrecursionlimit(max(check_positive_int(recursion_limit, "recursion_limit"), sys.getrecursionlimit()))


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange what two Tensors hold: elements, shape, dtype and attributes. raises : ArgumentError for other classes"""
    check_value_type("t1", t1, Tensor, "swap_tensors")
    if type(t1) is not type(t2):
        raise ArgumentError(f"swap_tensors: both are of one class, not {type(t1).__name__} and {type(t2).__name__}")
    t1.elements, t2.elements = t2.init_data().elements, t1.init_data().elements
    one, other = dict(t1.__dict__), dict(t2.__dict__)
    for tensor, state in ((t1, other), (t2, one)):
        tensor.__dict__.clear()
        tensor.__dict__.update(state)
