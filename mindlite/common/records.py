"""dataclass, made at the first instance: declaring a hundred classes costs no import a tenth of a second.

    from ..common.records import dataclass                    @dataclass(frozen=True)  class Alloc(Instruction): ..

What `dataclasses.dataclass` writes for a class (the source of six methods, each compiled by exec) is 1 ms of work, and most
programs use few of the classes that they import. Until then `__init__`, and `__setstate__` for an instance that is read from a
file or another process, stand for it. Then `dataclasses` finds the fields, and only `__init__` is written out: the other
methods mean what those of `dataclasses` mean, as closures over the fields' names. Classes with an `__init__` of their own
are made at once.
"""
from __future__ import annotations

import dataclasses
import operator
import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .annotations import Function
from .locks import new_lock

_PENDING = "_pending_dataclass"
_lock = new_lock()

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    def dataclass(cls=None, /, *, frozen=False, eq=True):
        """As dataclasses.dataclass, for fields that are arguments of `__init__`."""
        def declare(cls):
            if any(name in cls.__dict__ for name in ("__init__", "__setstate__")):
                complete(cls.__base__)
                return dataclasses.dataclass(frozen=frozen, eq=eq)(cls)

            def __init__(self, /, *args, **kwargs):
                complete(cls)
                cls.__init__(self, *args, **kwargs)

            def __setstate__(self, state):
                complete(cls)
                self.__dict__.update(state)
            cls.__init__, cls.__setstate__ = __init__, __setstate__
            setattr(cls, _PENDING, (frozen, eq))
            return cls
        return declare if cls is None else declare(cls)


def complete(cls) -> None:
    """Make what was declared of a class and of the classes that it is based on."""
    with _lock:
        for each in reversed(cls.__mro__):
            if _PENDING in each.__dict__:
                _make(each, *each.__dict__[_PENDING])
                del each.__setstate__
                delattr(each, _PENDING)


def _make(cls, frozen: bool, eq: bool) -> None:
    if not cls.__doc__:
        cls.__doc__ = cls.__name__                           # or dataclasses would look at a signature to write one
    dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen)(cls)
    own, fields, params = cls.__dict__, dataclasses.fields(cls), cls.__dataclass_params__
    params.init, params.repr, params.eq = True, True, eq
    if "__repr__" not in own:
        cls.__repr__ = _representation([f.name for f in fields if f.repr])
    if eq and "__eq__" not in own:
        cls.__eq__ = _equality(_getter([f.name for f in fields if f.compare]))
    if eq and own.get("__hash__") is None:                   # Python puts None there for a class with an __eq__
        hashed = _getter([f.name for f in fields if (f.compare if f.hash is None else f.hash)])
        cls.__hash__ = (lambda self: hash(hashed(self))) if frozen else None
    cls.__init__ = _initialiser(cls, fields, frozen)         # last, and in one step: another thread may stand in the old one


def _getter(names: Sequence[str]) -> Any:
    """An object -> the tuple of its attributes of these names."""
    if not names:
        return lambda self: ()
    get = operator.attrgetter(*names)
    return get if len(names) > 1 else lambda self: (get(self),)


def _representation(names: Sequence[str]) -> Function:
    @reprlib.recursive_repr()
    def __repr__(self):
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"
    return __repr__


def _equality(values: Any) -> Function:
    def __eq__(self, other):
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented
    return __eq__


def _initialiser(cls, fields: tuple[Any, ...], frozen: bool) -> Function:
    """`__init__`, written out: it is called often."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_none": dataclasses.MISSING}
    arguments, lines = [], []
    for f in fields:
        name = value = f.name
        argument = name
        if f.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"], argument = f.default_factory, f"{name}=_none"
            value = f"_make_{name}() if {name} is _none else {name}"
        elif f.default is not dataclasses.MISSING:
            known[f"_default_{name}"], argument = f.default, f"{name}=_default_{name}"
        arguments.append(argument)
        lines.append(f"_set(_self, {name!r}, {value})" if frozen else f"_self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("_self.__post_init__()")
    exec(f"def __init__(_self, {', '.join(arguments)}):\n " + "\n ".join(lines or ["pass"]), known)
    made = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made
