"""Tensor and Parameter: elements of one dtype, in a storage on a device. Operators and methods are attached by `ops.methods`,
one floor up.

    t.host_array      the elements as an ndarray, of a Tensor on the CPU only; elsewhere it raises DeviceError
    t.elements        the same, or the DeviceArray that stands for it elsewhere
    t.storage         buffer, device, offset, strides
"""
from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import dlpack, dtype as dt
from .device import CPU, Device, driver_of
from .declared import Symbol as DeclaredSymbol
from .dim import Symbol
from .dtype import DType, DTypeLike
from .errors import ArgumentError, DeviceError, DTypeError, MissingAttributeError, ShapeError
from .storage import DeviceArray, ShardedArray, Storage, copied, copy_on, download, elsewhere, moved, storage_of, write_on
from .tensor_states import TensorStates

if TYPE_CHECKING:
    from .tensor_methods import TensorMethods
else:
    TensorMethods = object                       # ops give them

_IN_PARTS = "the elements of this Tensor lie on several ranks, and this one has a part"
HOOKS = "_hooks"                # the attribute of a Tensor that holds its hooks; copies and files do not get it
ROOT, VIEWS = "_root", "_views"  # those of what it is a view of, and of its views (pynative/views.py); nor these


def _references(pair: tuple[object, None]) -> int:
    """How many refer to the first of a pair; how many that is at least depends on the Python (`_ALONE`): from 3.14 on a
    call borrows what it is given."""
    return sys.getrefcount(pair[0])


_ALONE = _references((object(), None))


def is_shared(tensor: Tensor) -> bool:
    """True if a write to `tensor` must be seen elsewhere: in what it is a view of, or in its views. Forgets dead ones."""
    kept = tensor.__dict__
    if ROOT in kept:
        views = kept[ROOT][0].__dict__.get(VIEWS, ())
        others = [ref for ref in views if ref() is not None and ref() is not tensor]
        if others or _references(kept[ROOT]) > _ALONE:
            return True
        del kept[ROOT]                                       # nobody else can look at the root
    if VIEWS in kept:
        kept[VIEWS][:] = [ref for ref in kept[VIEWS] if ref() is not None]
        if kept[VIEWS]:
            return True
        del kept[VIEWS]
    return False


class Tensor(TensorStates, TensorMethods):
    """An array of one element type.

    input_data : array, number, nested list, or Tensor; Python floats become float32, ints int64
    dtype      : element type; the data's own by default
    shape, init: with `init` (an Initializer) the data is made at `init_data()`; without data, `shape` may hold None for
                 sizes that are known at run time (Cell.set_inputs); with only a dtype the rank is open: (-2,)
    const_arg  : MindSpore's: a constant of the graphs that take it; every graph here takes its value at run time
    raises     : DTypeError for what is no number, ShapeError for ragged lists
    """
    __slots__ = ("host_array", "away", "tape", "_shape", "init", "__weakref__", "__dict__")
    host_array: np.ndarray
    away: Any
    tape: Any
    init: Any
    _shape: Any

    def __init__(self, input_data: Any = None, dtype: DTypeLike | None = None, shape: Any = None, init: Any = None,
                 const_arg: bool = False) -> None:
        self.tape = self.init = self._shape = None
        if input_data is None and (shape is not None or dtype is not None):
            shape = (-2,) if shape is None else (shape,) if isinstance(shape, (int, Symbol, DeclaredSymbol)) else tuple(shape)
            wanted = dt.dtype(dtype) if dtype is not None else dt.float32
            if init is None or any(not isinstance(s, int) for s in shape):
                self._shape, self.host_array = shape, np.empty((0,), wanted.numpy)
            else:
                self.init, self._shape, self.host_array = init, shape, np.empty((0,), wanted.numpy)
            return
        self.host_array = as_array(input_data, dtype)

    @classmethod
    def wrap(cls, array: np.ndarray) -> Tensor:
        """A Tensor around an ndarray, without a copy and without a check."""
        self = _new(Tensor)
        self.host_array = array
        self.tape = self.init = self._shape = None
        return self

    @classmethod
    def of_elements(cls, elements: Any) -> Tensor:
        """A Tensor around an ndarray or a DeviceArray, without a copy."""
        if isinstance(elements, np.ndarray):
            return Tensor.wrap(elements)
        self = _new(Tensor)
        self.away = elements
        self.tape = self.init = self._shape = None
        return self

    @staticmethod
    def from_numpy(array: Any) -> Tensor:
        """A Tensor that shares the memory of `array`, a contiguous ndarray; of another one it holds a copy.

        raises : ArgumentError for what is no ndarray, DTypeError for one that holds no numbers
        """
        if not isinstance(array, np.ndarray):
            raise ArgumentError(f"from_numpy takes a numpy.ndarray, not {type(array).__name__}")
        if array.dtype not in _BY_NUMPY:
            raise DTypeError(f"a Tensor cannot hold data of type {array.dtype}", hint="give an ndarray of numbers")
        return Tensor.wrap(array if array.flags.c_contiguous else np.ascontiguousarray(array))

    @property
    def elements(self) -> np.ndarray:
        """The elements: an ndarray on the CPU, elsewhere a DeviceArray, which has a dtype, a shape and a storage."""
        try:
            return _host(self)
        except AttributeError:
            return self.away

    @elements.setter
    def elements(self, elements: DeviceArray | np.ndarray) -> None:
        if isinstance(elements, np.ndarray):
            self.host_array, self.away = elements, None
            return
        self.away = elements
        try:
            del self.host_array
        except AttributeError:                               # it was elsewhere before
            return

    @property
    def data(self) -> Tensor:
        """The same elements in a Tensor of its own, through which no gradient flows."""
        return Tensor.of_elements(self.elements)

    @property
    def array(self) -> np.ndarray:
        """The elements as an ndarray, of a Tensor on the CPU. raises : DeviceError for one that lies elsewhere"""
        return self.host_array

    @array.setter
    def array(self, array: np.ndarray) -> None:
        self.host_array = array

    @property
    def storage(self) -> Storage:
        """Where the elements lie: buffer, device, offset and strides."""
        elements = self.elements
        return storage_of(elements) if isinstance(elements, np.ndarray) else elements.storage

    @property
    def device_of(self) -> Device:
        """The Device on which the elements lie."""
        elements = self.elements
        return CPU if isinstance(elements, np.ndarray) else elements.device

    @property
    def device(self) -> str:
        """The name of the device on which the elements lie: "CPU", "GPU:0"."""
        return str(self.device_of)

    @property
    def placement(self) -> Any:
        """How the elements lie on a mesh of ranks, a parallel.Placement; None for a Tensor that is this rank's own."""
        elements = self.elements
        return elements.placement if isinstance(elements, ShardedArray) else None

    @property
    def sbp(self) -> Any:
        """For each axis of the mesh Split, Broadcast or Partial; None for a Tensor that is this rank's own."""
        placement = self.placement
        return None if placement is None else placement.sbps

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, a tuple of int (None or Symbol where a placeholder leaves them open)."""
        if self._shape is not None:
            return self._shape
        try:
            return _host(self).shape
        except AttributeError:
            return self.away.shape

    @property
    def dtype(self) -> DType:
        """The element type, a DType."""
        try:
            return _BY_NUMPY[_host(self).dtype]
        except AttributeError:
            return _BY_NUMPY[self.away.dtype]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.elements.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.elements.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.elements.nbytes

    @property
    def strides(self) -> Any:
        """Bytes from one element to the next, by axis."""
        return self.elements.strides

    @property
    def has_init(self) -> bool:
        """True while the data is still to be made by `init_data`."""
        return self.init is not None

    def init_data(self) -> Any:
        """Make the data that `init` promises; returns self."""
        if self.init is not None:
            array = np.empty(self._shape, self.host_array.dtype)
            self.init(array)
            self.host_array, self._shape, self.init = array, None, None
        return self

    def assign_value(self, value: TensorLike) -> Tensor:
        """Take over the elements, shape and dtype of `value`; returns self."""
        self.init, self._shape = None, None
        self.elements = moved(as_array(value), self.device_of)
        return self

    def set_dtype(self, dtype: DTypeLike) -> Tensor:
        """Make `dtype` the element type; the elements are cast. Returns self."""
        place = self.init_data().device_of
        self.elements = moved(self.asnumpy().astype(dt.dtype(dtype).numpy), place)
        return self

    def set_const_arg(self, const_arg: bool = True) -> Tensor:
        """Say whether this is a constant argument (see `const_arg`). Returns self."""
        self.const_arg = bool(const_arg)
        return self

    def asnumpy(self) -> np.ndarray:
        """The data as an ndarray that shares memory with the Tensor; of a Tensor that is not on the CPU, a copy.

        Of a sharded one: the whole, collected from the ranks; all of them call this.
        """
        try:
            return _host(self)
        except AttributeError:
            return download(self.away)

    def numpy(self) -> np.ndarray:
        """The same as `asnumpy`."""
        return self.asnumpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.asnumpy() if dtype is None else self.asnumpy().astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        kind = dlpack.kind_of(self.away) if _is_away(self) else None
        if kind is None:
            return self.host_array.__dlpack__(**options)
        if options.get("stream") != -1:                      # whoever asks works in a stream of its own
            driver_of(self.away.device).synchronize(self.away.device.index)
        return dlpack.capsule_of(self.away, kind)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind = dlpack.kind_of(self.away) if _is_away(self) else None
        return self.host_array.__dlpack_device__() if kind is None else (kind, self.away.device.index)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not _is_away(self) or dlpack.kind_of(self.away) != dlpack.CUDA:
            raise MissingAttributeError(f"a Tensor on {self.device} has no __cuda_array_interface__")
        return dlpack.cuda_array_interface(self.away)

    def moved_to(self, place: Device) -> Tensor:
        """The Tensor on that device: itself, or a copy, which is recorded on no tape."""
        elements = moved(self.init_data().elements, place)
        return self if elements is self.elements else Tensor.of_elements(elements)

    def overwrite(self, value: Any) -> None:
        """The elements become those of `value`, a Tensor, array or number that fits, wherever either lies."""
        elements = self.elements
        value = value.elements if isinstance(value, Tensor) else value
        if isinstance(elements, ShardedArray):
            elements.write(download(value) if isinstance(value, DeviceArray) else value)
            return
        if isinstance(elements, np.ndarray):
            elements[...] = download(value) if isinstance(value, (DeviceArray, ShardedArray)) else value
            return
        if isinstance(value, DeviceArray):
            if value.dtype == elements.dtype and value.shape == elements.shape:
                copy_on(elements, value)
                return
            value = download(value)
        write_on(elements, np.ascontiguousarray(np.broadcast_to(value, elements.shape), elements.dtype))

    def move_here(self, place: Device) -> None:
        """From now on the elements of this very Tensor lie on that device."""
        elements = self.init_data().elements
        there = moved(elements, place)
        if there is not elements:
            self.elements = there

    def __array_function__(self, function: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """NumPy's functions take Tensors for their arrays: np.all(x), np.stack([x, y]) are NumPy's own."""
        return function(*_arrays_in(args), **_arrays_in(kwargs))

    def tolist(self) -> Any:
        """The data as nested Python lists, or a number."""
        return self.asnumpy().tolist()

    def item(self, *index: int) -> Any:
        """The one element as a Python number, or the element at `index`: ints, or one int that counts in row-major order."""
        if index:
            at = index[0] if isinstance(index[0], tuple) else index
            return (self[at] if len(at) > 1 else self.reshape(-1)[at[0]]).item()
        if self.size != 1:
            raise ShapeError("only a tensor of one element is a number", note=f"x: {self.dtype.short}{list(self.shape)}")
        return self.asnumpy().item()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError("The truth value of an array with more than one element is ambiguous.",
                             note=f"{self.dtype.short}{list(self.shape)}", hint="use x.any() or x.all()")
        return bool(self.asnumpy())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iub":
            raise DTypeError(f"only an integer Tensor is an index, this is {self.dtype.name}")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a Tensor without axes has no len()")
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        if name == "host_array" and _is_away(self):
            if isinstance(self.away, ShardedArray):
                raise DeviceError.without_place(_IN_PARTS, "x.asnumpy() on all ranks, or x.to_local()")
            raise DeviceError(f"the elements of this Tensor lie on {self.away.device}, where Python cannot read them",
                              note=f"{_BY_NUMPY[self.away.dtype].short}{list(self.away.shape)}",
                              hint="x.asnumpy(), or x.to('CPU')")
        raise MissingAttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")

    __hash__ = object.__hash__                               # by identity, though == compares elements

    def __repr__(self) -> str:
        if self._shape is not None:
            return f"Tensor(shape={list(self._shape)}, dtype={self.dtype!r})"
        if self.placement is not None:                       # no rank prints what lies on others
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype!r}, {self.placement} on {self.placement.mesh})"
        text = np.array2string(self.asnumpy(), separator=", ", prefix=" ")
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype!r}, value=\n{text})" if self.shape else \
            f"Tensor(shape=[], dtype={self.dtype!r}, value= {text})"

    def __str__(self) -> str:
        return str(self.asnumpy()) if self._shape is None and self.placement is None else repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else format(str(self), spec)

    def _own_attributes(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in (HOOKS, ROOT, VIEWS)}

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        made = _new(type(self))
        made.__dict__.update(self._own_attributes())
        made.tape, made.init, made._shape = None, self.init, self._shape
        made.elements = copied(self.elements)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {"array": self.init_data().asnumpy(), **self._own_attributes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.host_array = state.pop("array")
        self.tape = self.init = self._shape = None
        self.__dict__.update(state)


def _is_away(tensor: Tensor) -> bool:
    """True for a Tensor whose elements lie elsewhere than on the CPU; most have never had that slot filled."""
    try:
        return _away(tensor) is not None
    except AttributeError:
        return False


def lies_elsewhere(args: Iterable[Any]) -> bool:
    """True if the elements of a Tensor among `args` lie elsewhere than in an ndarray of this process."""
    if not elsewhere.used:
        return False
    for a in args:
        if isinstance(a, Tensor):
            try:
                _host(a)
            except AttributeError:                           # the slot is empty
                return True
    return False


TensorLike = Union[Tensor, np.ndarray, np.generic, complex, Sequence[Any]]    # an operand; Python's numbers count as complex

_new, _away, _host = Tensor.__new__, vars(Tensor)["away"].__get__, vars(Tensor)["host_array"].__get__
_BY_NUMPY = {d.numpy: d for d in dt.ALL}


def as_array(data: Any, dtype: DTypeLike | None = None) -> np.ndarray:
    """`data` as a contiguous ndarray of `dtype` (None: its own, Python floats as float32); a new array unless it fits."""
    wanted: Any = None if dtype is None else dt.dtype(dtype).numpy
    if isinstance(data, Tensor):
        return np.array(data.init_data().asnumpy(), wanted, order="C")
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data, wanted if wanted is not None else data.dtype.newbyteorder("="), order="C")
    else:
        if isinstance(data, (list, tuple)):
            data = _plain(data)
        try:
            array = np.array(data)
        except ValueError as error:
            raise ShapeError("a Tensor cannot be made of nested lists of different lengths") from error
        if wanted is None and array.dtype == np.float64 and not _holds_float64(data):
            wanted = np.float32
        elif wanted is None and array.dtype == np.complex128 and not _holds_float64(data):
            wanted = np.complex64
        if wanted is not None and array.dtype.kind in "biufc":
            array = array.astype(wanted)
    if array.dtype not in _BY_NUMPY:
        raise DTypeError(f"a Tensor cannot hold {type(data).__name__} data of type {array.dtype}",
                         hint="give numbers, a numpy.ndarray of numbers, or a Tensor")
    return array


def _plain(data: Any) -> list[Any]:
    return [_plain(x) if isinstance(x, (list, tuple)) else x.asnumpy() if isinstance(x, Tensor) else x for x in data]


def _arrays_in(value: Any) -> Any:
    """`value` with its arrays in place of the Tensors, within lists, tuples and dicts too."""
    if isinstance(value, Tensor):
        return value.asnumpy()
    if type(value) in (list, tuple):
        return type(value)(map(_arrays_in, value))
    return {k: _arrays_in(v) for k, v in value.items()} if type(value) is dict else value


def _holds_float64(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(_holds_float64(x) for x in data)
    return isinstance(data, (np.ndarray, np.generic)) and data.dtype in (np.float64, np.complex128)


_numbers = itertools.count()


class Parameter(Tensor):
    """A Tensor that is trained: name, requires_grad, layerwise_parallel, parallel_optimizer.

    default_input : array, number, Tensor or Initializer-made Tensor
    name          : "Parameter" by default; a Cell gives the dotted path of the attribute
    """
    __slots__ = ()
    # MindSpore's settings of runs on several devices: kept, and without effect on one.
    comm_fusion, cache_enable, cache_shape, sliced, inited_param = 1, False, (), False, None
    requires_aggr, init_mode = True, None        # the elements of a Parameter are there when it is made
    unique: Any = False                          # of a Parameter the setting, not the method of Tensor
    parallel_optimizer_comm_recompute, is_in_parallel = False, False
    is_init: Any = False                         # as `unique`; nothing depends on it here

    def __init__(self, default_input: Any, name: str | None = None, requires_grad: bool = True,
                 layerwise_parallel: bool = False, parallel_optimizer: bool = True,
                 storage_format: str = "") -> None:
        self.tape = self.init = self._shape = None
        if isinstance(default_input, Tensor):
            default_input.init_data()
        self.host_array = as_array(default_input)
        self.name = name if name is not None else "Parameter"
        self.requires_grad = requires_grad
        self.layerwise_parallel, self.parallel_optimizer = layerwise_parallel, parallel_optimizer
        self.storage_format = storage_format
        self.key = next(_numbers)

    def set_data(self, data: TensorLike, slice_shape: bool = False) -> Parameter:
        """Take over the values of `data`, cast to this dtype; its shape must be this shape unless `slice_shape`.

        On the CPU the elements get memory of their own: an array that `asnumpy` gave before keeps the values of before.
        raises : ShapeError; DTypeError for a Python float that a Parameter of integers is to hold
        """
        if type(data) is float and self.dtype.kind in "iu":
            raise DTypeError(f"Parameter {self.name!r} is of {self.dtype.name}, which does not hold {data}", hint="int() of it")
        array = as_array(data, self.dtype)
        elements = self.elements
        if array.shape != elements.shape:
            if not slice_shape:
                raise ShapeError(f"Parameter {self.name!r} has shape {self.shape}, the new data has {array.shape}")
            self.elements = moved(array, self.device_of)
        elif isinstance(elements, np.ndarray) and isinstance(array, np.ndarray):
            self.elements = array
        else:
            self.overwrite(array)
        return self

    @property
    def data(self) -> Parameter:
        """This Parameter."""
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Parameter:
        """Say whether this is trained; returns the Parameter."""
        self.requires_grad = bool(requires_grad)
        return self

    def add_pipeline_stage(self, stage: int) -> None:
        """Say that a stage of a pipeline uses this Parameter. raises : ArgumentError for what is no int above or equal 0"""
        if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
            raise ArgumentError(f"add_pipeline_stage: a stage is an int that is not negative, not {stage!r}")
        self.pipeline_stages = (*getattr(self, "pipeline_stages", ()), stage)

    def clone(self, init: Any = "same") -> Parameter:
        """A Parameter of its own with the same values, or with `init`: "zeros", "ones" or a number."""
        array = {"zeros": 0, "ones": 1}.get(init, init) if init != "same" else None
        made = Parameter(self.asnumpy().copy() if array is None else np.full_like(self.asnumpy(), array), self.name,
                         self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)
        return made

    def __repr__(self) -> str:
        return f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype!r}, requires_grad={self.requires_grad})"

    __str__ = __repr__


class ParameterTuple(tuple):
    """A tuple of Parameters, as `grad` takes for weights."""

    def __new__(cls, iterable: Iterable[Any]) -> ParameterTuple:
        items = tuple(iterable)
        for item in items:
            if not isinstance(item, Parameter):
                raise ArgumentError(f"a ParameterTuple holds Parameters, not {type(item).__name__}")
        return super().__new__(cls, items)

    def clone(self, prefix: str = "", init: Any = "same") -> ParameterTuple:
        """Clones of all, their names after `prefix.`"""
        made = []
        for item in self:
            copy = item.clone(init)
            copy.name = f"{prefix}.{copy.name}" if prefix else copy.name
            made.append(copy)
        return ParameterTuple(made)
