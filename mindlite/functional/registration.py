"""What a Custom operator says of its operands: CustomRegOp, custom_info_register, DataType.

    info = CustomRegOp().input(0, "x").output(0, "y").dtype_format(DataType.F32_Default, DataType.F32_Default).get_op_info()

    @custom_info_register(info)
    def double(x): return 2 * x                  ops.Custom(double)(x): x and the result are float32, else DTypeError

Formats of memory say nothing here: the function gets ndarrays. Registrations for other targets than the CPU are left out.
"""
from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from ..common.device import name_of
from ..common.errors import ArgumentError, DTypeError, ValueRangeError
from ..common.tensor import Tensor

KINDS = ("required", "dynamic", "optional")
ANY_TARGET = (None, "UnKnown")


class DataType:
    """(dtype, format) by name, for `CustomRegOp.dtype_format`: DataType.F32_Default is ("float32", "DefaultFormat")."""


_DTYPES = {"BOOL": "bool", "I8": "int8", "U8": "uint8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
           "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
_FORMATS = {"None": "", "Default": "DefaultFormat", "5HD": "NC1HWC0", "FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ",
            "C1HWNCoC0": "C1HWNCoC0", "NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN", "NDHWC": "NDHWC",
            "ChannelLast": "ChannelLast"}
for _name, _dtype in {**_DTYPES, "C64": "complex64", "C128": "complex128", "None": ""}.items():
    for _format, _word in _FORMATS.items():
        if _name in _DTYPES or _format == "Default" or _name == _format:
            setattr(DataType, f"{_name}_{_format}", (_dtype, _word))


def _is_text(what: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"CustomRegOp: {what} is a str, not {type(value).__name__}")


class CustomRegOp:
    """The registration of a function, part by part; `get_op_info` gives it as a dict.

    op_name : str
    raises  : ArgumentError for another kind, ValueRangeError for an empty name
    """

    def __init__(self, op_name: str = "Custom") -> None:
        _is_text("op_name", op_name)
        if not op_name or not op_name.strip():
            raise ValueRangeError("CustomRegOp: op_name is empty")
        self.op_name = op_name
        self._inputs: list[dict[str, Any]] = []
        self._outputs: list[dict[str, Any]] = []
        self._attrs: list[dict[str, Any]] = []
        self._dtypes: list[tuple] = []
        self._target: str | None = "UnKnown"

    def input(self, index: int | None = None, name: str | None = None, param_type: str | None = "required",
              **kwargs: Any) -> CustomRegOp:
        """One more input. Returns self.

        index      : int, its number;      name : str
        param_type : "required", "optional", or "dynamic": any number of Tensors
        raises     : ArgumentError for another kind, ValueRangeError for another param_type
        """
        self._inputs.append(_operand(index, name, param_type, kwargs))
        return self

    def output(self, index: int | None = None, name: str | None = None, param_type: str | None = "required",
               **kwargs: Any) -> CustomRegOp:
        """One more output; as `input`."""
        self._outputs.append(_operand(index, name, param_type, kwargs))
        return self

    def attr(self, name: str | None = None, param_type: str | None = None, value_type: str | None = None,
             default_value: str | None = None, **kwargs: Any) -> CustomRegOp:
        """One more attribute of a compiled operator; `Custom` of a Python function refuses it. Returns self."""
        given = {"name": name, "paramType": param_type, "type": value_type, "defaultValue": default_value}
        for what, value in given.items():
            _is_text(what, value)
        self._attrs.append({**{what: value for what, value in given.items() if value is not None}, **kwargs})
        return self

    def dtype_format(self, *args: tuple[str, str]) -> CustomRegOp:
        """One more combination of dtypes, those of all inputs and then of all outputs. Returns self.

        args   : pairs (dtype, format), as DataType has them
        raises : ValueRangeError for another number of pairs than of inputs and outputs, and for what is no such pair
        """
        count = len(self._inputs) + len(self._outputs)
        if len(args) != count:
            raise ValueRangeError(f"CustomRegOp: dtype_format takes a pair for each input and output: {count}, not {len(args)}")
        for pair in args:
            if not isinstance(pair, tuple) or len(pair) not in (2, 3) or not all(isinstance(word, str) for word in pair):
                raise ValueRangeError(f"CustomRegOp: dtype_format takes pairs (dtype, format), not {pair!r}",
                                      hint="DataType.F32_Default")
        self._dtypes.append(args)
        return self

    def target(self, target: str | None = None) -> CustomRegOp:
        """The device for which this is said: "CPU", "GPU" or "Ascend"; None: any. Returns self."""
        _is_text("target", target)
        self._target = target
        return self

    def get_op_info(self) -> dict[str, Any]:
        """All that was said, a dict."""
        return {"op_name": self.op_name, "inputs": self._inputs, "outputs": self._outputs, "attr": self._attrs,
                "fusion_type": "", "dtype_format": self._dtypes, "target": self._target}


def _operand(index: Any, name: Any, kind: Any, more: dict[str, Any]) -> dict[str, Any]:
    if index is not None and (isinstance(index, bool) or not isinstance(index, int)):
        raise ArgumentError(f"CustomRegOp: index is an int, not {type(index).__name__}")
    _is_text("name", name)
    _is_text("param_type", kind)
    if kind is not None and kind not in KINDS:
        raise ValueRangeError(f"CustomRegOp: param_type is one of {', '.join(KINDS)}, not {kind!r}")
    given = {"index": index, "name": name, "paramType": kind}
    return {**{what: value for what, value in given.items() if value is not None}, **more}


def custom_info_register(*reg_info: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function, with registrations that `Custom` of it holds its operands against.

    reg_info : of each target a dict, as `CustomRegOp.get_op_info` gives it, or its JSON
    raises   : ArgumentError for another kind
    """
    infos = _infos(reg_info)

    def decorator(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)
        setattr(func, "reg_info", infos)
        setattr(wrapper, "reg_info", infos)
        return wrapper
    return decorator


def _infos(given: Any) -> tuple[dict[str, Any], ...]:
    made = []
    for info in given if isinstance(given, (tuple, list)) else (given,):
        try:
            info = json.loads(info) if isinstance(info, str) else info
        except json.JSONDecodeError:
            raise ValueRangeError("Custom: a registration that is a text is JSON", note=str(info)[:80]) from None
        if not isinstance(info, dict):
            raise ArgumentError(f"Custom: a registration is a dict or its JSON, not {type(info).__name__}",
                                hint="CustomRegOp()... .get_op_info()")
        made.append(info)
    return tuple(made)


class Registration:
    """What is registered for the CPU. given : reg_info of Custom, or None for that of the function"""

    def __init__(self, func: Callable[..., Any], given: Any) -> None:
        infos = getattr(func, "reg_info", ()) if given is None else _infos(given)
        self.infos = [info for info in infos if info.get("target") in (*ANY_TARGET, name_of(None))]
        if any(info.get("attr") for info in self.infos):
            raise ValueRangeError("Custom: a Python function has no registered attributes",
                                  hint="bind them: functools.partial(func, name=value)")

    def check_inputs(self, inputs: Sequence[Any]) -> list[tuple[Any, tuple]]:
        """[(registration, combination of dtypes)] that fit the inputs. raises : ArgumentError, DTypeError where none does"""
        if not self.infos:
            return []
        counted = [info for info in self.infos if _takes(info, len(inputs))]
        if not counted:
            raise ArgumentError(f"Custom: {len(inputs)} inputs were given, registered are "
                                + " or ".join(str(len(info.get("inputs", ()))) for info in self.infos))
        found = [(info, tuple(map(tuple, row))) for info in counted for row in info.get("dtype_format") or [()]]
        fitting = [(info, row) for info, row in found if not row or _fit(inputs, _kinds(info, row, len(inputs)))]
        if not fitting:
            raise DTypeError(f"Custom: the inputs are {_names(inputs)}; registered are "
                             + ", ".join(str(list(_kinds(info, row, len(inputs)))) for info, row in found))
        return fitting

    def check_outputs(self, fitting: list[tuple[Any, tuple]], outs: Sequence[Any]) -> None:
        """raises : DTypeError where the results have other dtypes than were registered for the inputs"""
        promised = [tuple(pair[0] for pair in row[len(info.get("inputs", ())):]) for info, row in fitting if row]
        if promised and not any(len(row) == len(outs) and _fit(outs, row) for row in promised):
            raise DTypeError(f"Custom: the function gives {_names(outs)}; registered are "
                             + ", ".join(str(list(row)) for row in promised))


def _takes(info: dict[str, Any], count: int) -> bool:
    kinds = [one.get("paramType", "required") for one in info.get("inputs", ())]
    return kinds.count("required") <= count and ("dynamic" in kinds or count <= len(kinds))


def _kinds(info: dict[str, Any], row: tuple, count: int) -> tuple[str, ...]:
    """The dtype of each input by a combination; a dynamic input is as many as there are beside the others."""
    inputs = info.get("inputs", ())
    more = count - len(inputs)
    made: list[str] = []
    for one, pair in zip(inputs, row):
        times = 1 + more if one.get("paramType") == "dynamic" else 1
        more = 0 if one.get("paramType") == "dynamic" else more
        made += [pair[0]] * times
    return tuple(made[:count])


def _fit(values: Sequence[Any], kinds: Sequence[str]) -> bool:
    return all(kind in ("", _kind(value)) for value, kind in zip(values, kinds))


def _kind(value: Any) -> str:
    return value.dtype.numpy.name if isinstance(value, Tensor) else str(getattr(value, "dtype", type(value).__name__))


def _names(values: Sequence[Any]) -> list[str]:
    return [_kind(value) for value in values]
