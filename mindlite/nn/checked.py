"""Settings of layers are of the kinds that their constructors name: `has_bias: bool` refuses "no", `eps: float` refuses None.

    Dense(3, 4, has_bias="no")      ArgumentError: Dense: has_bias is a bool, not str
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.errors import ArgumentError


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or type(value) is int and value in (0, 1)


def _is_int(value: Any) -> bool:
    return hasattr(value, "__index__")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) or getattr(value, "ndim", None) == 0


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "bool": ("a bool", _is_bool), "int": ("an int", _is_int), "float": ("a number", _is_number),
    "str": ("a str", lambda value: isinstance(value, str))}


def checked(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that looks at those of its arguments whose annotation is just bool, int, float or str.

    raises (the constructor) : ArgumentError for another type, or arguments that it does not have; None is taken where it is
                               the default
    """
    count, places = init.__code__.co_argcount, init.__code__.co_varnames
    names, defaults = places[1:count], {**dict(zip(places[:count][::-1], (init.__defaults__ or ())[::-1])),
                                        **(init.__kwdefaults__ or {})}
    kinds = {name: _KINDS[kind] for name, kind in init.__annotations__.items() if kind in _KINDS}
    if not kinds:
        return init

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **settings: Any) -> None:
        for name, value in (*zip(names, args), *settings.items()):
            if name in kinds and not kinds[name][1](value) and not (value is None and defaults.get(name, 0) is None):
                raise ArgumentError(f"{type(self).__name__}: {name} is {kinds[name][0]}, not {type(value).__name__}")
        try:
            init(self, *args, **settings)
        except TypeError as error:
            if getattr(error.__traceback__, "tb_next", None) is not None:
                raise
            raise ArgumentError(str(error)) from None        # the call itself: at the user's line, not at this one
    return construct
