"""Operations as functions: a decorator makes the class that MindSpore's users know of a function with a signature.

    @operation(contrast_factor=number(0))
    def AdjustContrast(image: np.ndarray, /, contrast_factor: float) -> np.ndarray: ..

    AdjustContrast(1.5)(image)          what stands before "/" is data, what follows are arguments, which are checked at once

`image_operation` does the same for functions of one array (height, width[, channels]); a PIL image is taken and given back.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Iterable, Sequence

import numpy as np
from PIL import Image

from ..common import dtype as dt
from ..common.errors import ArgumentError, MindliteError, ValueRangeError
from .draws import generator

Check = Callable[[Any, str], Any]                # (value, name) -> the value that is stored
TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
INT_MAX, FLOAT_MAX = 2 ** 31 - 1, 16777216       # MindSpore's bounds


JOINED: dict[tuple[type, ...], Callable] = {}    # {classes of operations in turn: what makes one function of them, or None}
STACKED: dict[tuple[type, ...], Callable] = {}   # {(class,) or (class, class of the next): what does it of many rows at once}
CROPS: set[type] = set()                         # those of them that make arrays of one size of arrays of several


class NoOperationError(ArgumentError, ValueRangeError):
    """An element of a list of operations that cannot be called: a TypeError of some of MindSpore's, a ValueError of others."""


class DataError(MindliteError, RuntimeError):
    """Data that an operation does not take."""


class Operation:
    """Base of all operations.

    takes  : how many columns it is a function of
    random : True if it draws;  each : True if it takes one image, and of several columns each by itself, with the same draws
    many   : True if it is a function of the tuple of all columns
    """
    builtin = True
    random = each = many = False
    takes = 1
    function: Callable

    def __call__(self, *data: Any) -> Any:
        if self.many:
            return self.function(data, **self.__dict__)
        if self.each and len(data) > 1:
            return tuple(with_the_same_draws(self.function, data, self.__dict__))
        if len(data) != self.takes:
            raise DataError(f"{type(self).__name__}: The op is OneToOne, can only accept one tensor as input." if self.takes == 1
                            else f"{type(self).__name__}: it takes {self.takes} columns, not {len(data)}")
        return self.function(*data, **self.__dict__)

    def device(self, device_target: str = "CPU") -> Operation:
        """MindSpore's way to say where the operation runs: on the "CPU", as all do here. Gives the operation.

        raises : ArgumentError if it is no str, ValueRangeError for another device
        """
        if kind_of(str)(device_target, "device_target") not in ("CPU", "Ascend"):
            raise ValueRangeError("Input device_target is not within the valid set of ['CPU', 'Ascend'].")
        if device_target == "Ascend":
            raise ValueRangeError(f"{type(self).__name__}: operations on data run on the CPU", hint='device("CPU")')
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


def joins(*kinds: type) -> Callable:
    """A decorator: the function makes, of operations in turn, one function with the same results; None where it cannot.

    Where that function has an attribute `writes`, it takes `out`, where the result may be.
    """
    def register(make: Callable) -> Callable:
        JOINED[kinds] = make
        return make
    return register


def in_turn(operations: Sequence[Callable], values: tuple) -> tuple:
    """What operations one after the other make of columns."""
    for one in operations:
        result = one(*values)
        values = result if isinstance(result, tuple) else (result,)
    return values


def stacks(*kinds: type, crops: bool = False) -> Callable:
    """A decorator: the function does of many rows in one array what an operation, or two of them in turn, do of each row.

    It is called (operation.., array [rows, ...], at, out) and gives an array [rows, ...] of the same bits, or None where it
    cannot do that: then the rows go one by one. at(k) : from here on draws are those of row k;  out : where the result may be
    """
    def register(rule: Callable) -> Callable:
        STACKED[kinds] = rule
        CROPS.update(kinds if crops else ())
        return rule
    return register


def stacked_from(operations: list[Callable]) -> int:
    """From which operation on all take many rows in one array; at most one of these draws, and none before it."""
    first, drawn = len(operations), False
    while first and (type(operations[first - 1]),) in STACKED:
        if getattr(operations[first - 1], "random", False):
            if drawn or any(draws_numbers(one) for one in operations[:first - 1]):
                break
            drawn = True
        first -= 1
    return first


def built_in(operation: Callable) -> bool:
    """True if nothing of the user's runs in an operation: it is one of ours, and so are those that it holds."""
    return getattr(operation, "builtin", False) and all(map(_built_in_parts, vars(operation).values()))


def _built_in_parts(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_built_in_parts, value))
    return built_in(value) if callable(value) else True


def draws_numbers(operation: Callable) -> bool:
    """True if an operation may draw: a random one, one that holds others, a function of the user's."""
    return not getattr(operation, "builtin", False) or getattr(operation, "random", True) or "transforms" in vars(operation)


def stacked_rules(operations: list[Callable], first: int) -> list[tuple[int, Callable]]:
    """What is called for the operations from `first` on, in order: (number of the operation, function of (array, at, out))."""
    rules: list[tuple[int, Callable]] = []
    k = first
    while k < len(operations):
        kinds = tuple(map(type, operations[k:k + 2]))
        count = 2 if kinds in STACKED and len(kinds) == 2 else 1
        rules.append((k, functools.partial(STACKED[kinds[:count]], *operations[k:k + count])))
        k += count
    return rules


def joined(operations: list[Callable]) -> list[tuple[int, Callable]]:
    """What is called for a list of operations, in order: (number of the operation, function)."""
    steps: list[tuple[int, Callable]] = []
    longest = max(map(len, JOINED), default=1)
    k = 0
    while k < len(operations):
        for count in range(min(longest, len(operations) - k), 1, -1):
            make = JOINED.get(tuple(map(type, operations[k:k + count])))
            made = make(*operations[k:k + count]) if make else None
            if made is not None:
                break
        else:
            count, made = 1, operations[k]
        steps.append((k, made))
        k += count
    return steps


def with_the_same_draws(function: Callable, images: Iterable, arguments: dict) -> list:
    """`function` of each image; a random one draws the same for all."""
    bits = generator().bit_generator
    state, found = bits.state, []
    for one in images:
        bits.state = state
        found.append(function(one, **arguments))
    return found


def of_frames(function: Callable) -> Callable:
    """A function of one image, made to take [.., height, width, channels] too: each image by itself, with the same draws."""
    @functools.wraps(function)
    def call(image: Any, **arguments: Any) -> Any:
        if not isinstance(image, np.ndarray) or image.ndim < 4 or not image.size:
            return function(image, **arguments)
        found = np.stack(with_the_same_draws(function, image.reshape(-1, *image.shape[-3:]), arguments))
        return found.reshape(*image.shape[:-3], *found.shape[1:])
    return call


def operation(*, random: bool = False, wrap: Callable | None = None, together: Callable | None = None, video: bool = False,
              each: bool = False, many: bool = False, **checks: Any) -> Callable:
    """A decorator that makes a class of a function: see the top of this module.

    together : called with the dict of all arguments after each has passed its own check
    video    : True if it takes [.., height, width, channels], and does with each image what it does with one
    each     : True if it takes several columns, and does the same with each, with the same draws
    many     : True if it is a function of the tuple of all columns
    """
    def make(function: Callable) -> type:
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.POSITIONAL_ONLY]
        outer = signature.replace(parameters=named, return_annotation=inspect.Signature.empty)
        unknown = set(checks) - {p.name for p in named}
        assert not unknown, f"{function.__name__} has no argument {unknown}"

        def __init__(self: Operation, *args: Any, **kwargs: Any) -> None:
            try:
                bound = outer.bind(*args, **kwargs)
            except TypeError as error:
                raise ArgumentError(f"{function.__name__}: {error}") from None
            bound.apply_defaults()
            given = set(bound.signature.bind(*args, **kwargs).arguments)
            for name, value in bound.arguments.items():
                check = checks.get(name)
                if check is not None and (name in given or value is not None):
                    value = check(value, name)
                self.__dict__[name] = value
            if together is not None:
                together(self.__dict__)
        inner = wrap(function) if wrap else function
        inner = of_frames(inner) if video else inner
        return type(function.__name__, (Operation,), {
            "__init__": __init__, "__doc__": function.__doc__, "__module__": function.__module__, "random": random,
            "each": each, "many": many, "takes": len(signature.parameters) - len(named),
            "__qualname__": function.__name__, "__signature__": outer, "function": staticmethod(inner)})
    return make


def image_operation(*, random: bool = False, pil: bool = True, video: bool = False, each: bool = False,
                    **checks: Any) -> Callable:
    """A decorator for functions of one image as an array; pil=False: the result stays an array."""
    def wrap(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(image: Any, **arguments: Any) -> Any:
            array = image_array(image, function.__name__)
            result = function(array, **arguments)
            return as_pil(result) if pil and isinstance(image, Image.Image) else result
        return call
    return operation(random=random, wrap=wrap, video=video, each=each, **checks)


def as_array(data: Any) -> np.ndarray:
    """An array of what an operation is given. raises : ArgumentError for an object that is no array"""
    array = np.asarray(data)
    if array.dtype.kind == "O":
        raise ArgumentError(f"Invalid user input. Got {type(data)}: {data}, cannot be converted into tensor.")
    return array


def image_array(image: Any, name: str) -> np.ndarray:
    """The pixels of an image. raises : ArgumentError for what is none, DataError for other ranks than 2 and 3 and no pixels"""
    if isinstance(image, Image.Image):
        return np.asarray(image)
    if not isinstance(image, np.ndarray):
        if hasattr(image, "asnumpy"):
            return image_array(image.asnumpy(), name)
        raise ArgumentError(f"Input should be NumPy or PIL image, got {type(image)}.")
    if image.ndim < 2:
        raise DataError(f"{name}: the image tensor should have at least two dimensions. You may need to perform Decode first: "
                        f"the input tensor is not in shape of <H,W> or <H,W,C>.", note=f"shape {image.shape}")
    if image.ndim > 3:
        raise DataError(f"{name}: the dimension of image tensor does not match the requirement of operator. Expecting tensor in "
                        f"dimension of (2, 3), in shape of <H, W> or <H, W, C>. But got dimension {image.ndim}.",
                        note=f"shape {image.shape}")
    if image.dtype.kind in "USO":
        raise DataError(f"{name}: Currently unsupported data type: [uint32, int64, uint64, string]", note=f"dtype: {image.dtype}")
    if not image.size:
        raise DataError(f"{name}: the image has no pixels.", note=f"shape {image.shape}")
    return image


def as_pil(array: np.ndarray) -> Image.Image:
    """A PIL image of an array (height, width[, channels])."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
    return Image.fromarray(np.ascontiguousarray(array))


# ------------------------------------------------------------------- checks of arguments

def kind_of(*kinds: type) -> Check:
    """An instance of one of the types."""
    def check(value: Any, name: str) -> Any:
        is_bool = isinstance(value, bool) and bool not in kinds
        if is_bool or not isinstance(value, kinds):          # MindSpore tells a list of types, of a bool a tuple
            shown = '""' if isinstance(value, str) and not value else value
            raise ArgumentError(f"Argument {name} with value {shown} is not of type "
                                f"{kinds if is_bool and int in kinds else list(kinds)}, but got {type(value)}.")
        return value
    return check


def within(value: Any, low: Any, high: Any, name: str, open_left: bool = False, open_right: bool = False) -> Any:
    """`value` if it lies in the interval. raises : ValueRangeError"""
    if not ((low < value if open_left else low <= value) and (value < high if open_right else value <= high)):
        raise ValueRangeError(f"Input{' ' + name if name else ''} is not within the required interval of "
                              f"{'(' if open_left else '['}{low}, {high}{')' if open_right else ']'}.")
    return value


def number(low: float = -FLOAT_MAX, high: float = FLOAT_MAX, open_left: bool = False,
           kinds: tuple[type, ...] = (float, int)) -> Check:
    """A number in an interval. kinds : its types, in the order in which MindSpore tells them"""
    def check(value: Any, name: str) -> Any:
        return within(kind_of(*kinds)(value, name), low, high, name, open_left)
    return check


real = functools.partial(number, kinds=(int, float))


def worded(word: str, *kinds: type) -> Check:
    """An instance of one of the types, refused in the words of MindSpore's operations on text."""
    def check(value: Any, name: str) -> Any:
        if not isinstance(value, kinds) or isinstance(value, bool) and bool not in kinds:
            raise ArgumentError(f"Wrong input type for {name}, should be {word}.", note=f"it is {value!r}")
        return value
    return check


def whole(low: int = -INT_MAX - 1, high: int = INT_MAX) -> Check:
    """An int in an interval."""
    def check(value: Any, name: str) -> int:
        return within(kind_of(int)(value, name), low, high, name)
    return check


probability = number(0.0, 1.0)
flag = kind_of(bool)


def optional(check: Check) -> Check:
    """None, or what `check` takes."""
    return lambda value, name: None if value is None else check(value, name)


def unnamed(check: Check) -> Check:
    """What `check` takes; an interval is told without the name of the argument, as MindSpore tells it for some operations."""
    def without(value: Any, name: str) -> Any:
        try:
            return check(value, name)
        except ValueRangeError as error:
            raise ValueRangeError(str(error).partition("\n")[0].replace(f"Input {name} ", "Input ")) from None
    return without


def either(*checks: Check) -> Check:
    """What the first check takes that does not refuse the type."""
    def check(value: Any, name: str) -> Any:
        for one in checks[:-1]:
            try:
                return one(value, name)
            except ArgumentError:
                continue
        return checks[-1](value, name)
    return check


def items(check: Check, *lengths: int) -> Check:
    """A list or tuple whose elements pass a check."""
    def check_all(value: Any, name: str) -> tuple:
        if not isinstance(value, np.ndarray):
            kind_of(list, tuple)(value, name)
        if lengths and len(value) not in lengths:
            raise ArgumentError(f"{name} should be a list or tuple of length {' or '.join(map(str, lengths))}.",
                                note=f"its length is {len(value)}")
        return tuple(check(element, f"{name}[{k}]") for k, element in enumerate(value))
    return check_all


def image_size(value: Any, name: str) -> tuple[int, int] | int:
    """An int, or (height, width). raises : ArgumentError, ValueRangeError"""
    if isinstance(value, int) and not isinstance(value, bool):
        return within(value, 1, FLOAT_MAX, "")
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError("Size should be a single integer or a list/tuple (h, w) of length 2.", note=f"it is {value!r}")
    height, width = (within(kind_of(int)(n, f"{name}[{k}]"), 1, FLOAT_MAX, "") for k, n in enumerate(value))
    return height, width


def crop_size(value: Any, name: str) -> tuple[int, int] | int:
    """The same; a wrong type is told in other words, as MindSpore's crops tell it."""
    return image_size(kind_of(int, list, tuple)(value, name), name)


def pair(size: tuple[int, int] | int) -> tuple[int, int]:
    """(height, width) of a size that may be one int."""
    return (size, size) if isinstance(size, int) else size


def dtype_of(value: Any, name: str) -> np.dtype:
    """A NumPy dtype for MindSpore's or NumPy's name of it."""
    if value in (str, np.str_, "string") or str(value) == "String":        # mindspore.string
        return np.dtype("U")
    if isinstance(value, str) and value in TYPES:
        return np.dtype(value)
    if isinstance(value, (dt.DType, type, np.dtype)) and value is not None:
        return np.dtype(bool) if value is bool else dt.dtype(value).numpy
    raise ArgumentError(f"Argument {name} with value {value} is not of type [<class 'mindspore.dtype'>], but got {type(value)}.")


def functions(value: Any, name: str = "transforms", kind: str = "transforms op") -> list[Callable]:
    """A list of operations. raises : ArgumentError for no list; ValueRangeError for an empty one, and for what is no operation"""
    kind_of(list)(value, f"{name} list")
    if not value:
        raise ValueRangeError(f"{name} list can not be empty.")
    for k, one in enumerate(value):
        if not callable(one):
            raise NoOperationError(f"{name}[{k}] is neither a {kind} nor a callable pyfunc.")
    return value
