"""What an object is, described so that another process can see whether it has the same: lists of numbers and strings.

    description = Description()
    description.of(net)  ->  ["cell", ["class", "model", "Net", ..]]
    description.of(net)  ->  ["again", 0]

An object that has an identity is entered under the next number, and comes again as that number. So two processes that
describe the same things in the same order get equal lists if and only if what they have is equal and shared alike, and
object n of the one is object n of the other. What inference reads of an object has a guard of its own (`disk_cache.py`); what
it may read out of sight is in the description: code of the users' functions and classes, whatever mindlite's own
objects hold, dtypes and sizes of Tensors. A value that cannot be described raises NotCacheable: then nothing is cached.

The idea of naming what is depended on by what was read of it: Mitchell 2012 (Shake), Bazel's action inputs.
"""
from __future__ import annotations

import enum
import functools
import linecache
import re
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any, Union

import numpy as np

from ..common.dim import Dim, Symbol
from ..common.dtype import DType
from ..common.lazy import LazyModule
from ..common.location import is_framework
from ..common.tensor import ROOT, VIEWS, Tensor
from ..infer.outside import HEAP_TYPE, from_library
from ..mindir.primitive import PRIMITIVES, Primitive
from ..mindir.syntax import Undefined

hashlib = LazyModule("hashlib")
SMALL = 64                       # elements of a Tensor that is no Parameter, which a graph may hold as numbers
STANDARD = frozenset(sys.stdlib_module_names) | {"builtins", "numpy", "ml_dtypes", "mindlite"}
OF_THIS_PROCESS = {"id", "hash"}
Json = Union[None, bool, int, float, str, list, dict[str, Any]]
PLAIN = (type(None), bool, int, float, complex, str, bytes)


class NotCacheable(Exception):
    """Something has no description. args[0]: what, for `explain`."""


def named(module: str | None, qualname: str | None) -> Any:
    """What stands under a name in a module that is loaded, None if nothing does."""
    found: Any = sys.modules.get(module or "")
    for part in (qualname or "").split("."):
        found = getattr(found, part, None)
    return found


def is_standard(module: str | None) -> bool:
    """True for modules whose version is part of every key: mindlite, NumPy, the standard library."""
    return (module or "").partition(".")[0] in STANDARD and module != "__main__"


class Description:
    """The objects described so far: `objects` by number, `numbers` by identity."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.digests: dict[int, str] = {}

    def enter(self, value: Any) -> int:
        """The number of an object, which is given one if it has none."""
        number = self.numbers.setdefault(id(value), len(self.objects))
        if number == len(self.objects):
            self.objects.append(value)
        return number

    def of(self, value: Any) -> Json:
        """The description of a value."""
        cls = type(value)
        if value is None or cls is int or cls is str:
            return value
        describe = VALUES.get(cls)
        if describe is not None:
            return describe(self, value)
        if id(value) in self.numbers:
            return ["again", self.numbers[id(value)]]
        self.enter(value)
        describe = OBJECTS.get(cls)
        if describe is not None:
            return describe(self, value)
        for base, describe in KINDS:
            if isinstance(value, base):
                return describe(self, value)
        return self.instance(value)

    def all(self, values: Iterable[Any]) -> list:
        """The descriptions of some values."""
        return [self.of(v) for v in values]

    # -- code

    def function(self, f: FunctionType) -> list:
        """A function of Python. The variables around it are entered, so that guards can name them."""
        ours = is_framework(f.__code__.co_filename)
        description = ["function", f.__module__, f.__qualname__, self.enter(f.__globals__)]
        if (ours or from_library(f)) and getattr(named(f.__module__, f.__qualname__), "__func__", named(
                f.__module__, f.__qualname__)) is f:
            return description
        description += [self.digest(f.__code__, f.__globals__), self.of(f.__defaults__), self.of(f.__kwdefaults__)]
        for cell in f.__closure__ or ():
            if id(cell) in self.numbers:
                description.append(["again", self.numbers[id(cell)]])
                continue
            self.enter(cell)
            try:
                content = cell.cell_contents
            except ValueError:
                description.append("empty")
                continue
            read = ours or isinstance(content, (*PLAIN, types.FunctionType))
            description.append(["cell", self.of(content)] if read else "cell")
        if not ours and not from_library(f):
            for name in sorted(_names(f.__code__)):
                value = f.__globals__.get(name)
                if isinstance(value, PLAIN) and value is not None or isinstance(value, types.FunctionType):
                    description.append([name, self.of(value)])
        return description

    def digest(self, code: CodeType, namespace: dict[str, Any] | None = None) -> str:
        """A hash of a code object, its constants, its lines, and (of a file) of the text of those lines."""
        if id(code) not in self.digests:
            if not is_framework(code.co_filename) and OF_THIS_PROCESS & set(code.co_names):
                raise NotCacheable(f"{code.co_name} asks for id() or hash(), which are this process's")
            self.enter(code)                             # alive as long as its digest is known
            parts = [code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags,
                     code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_filename, code.co_name,
                     code.co_firstlineno, list(code.co_lines()), [self._constant(c) for c in code.co_consts]]
            if namespace is not None and not code.co_filename.startswith("<"):
                linecache.checkcache(code.co_filename)
                lines = linecache.getlines(code.co_filename, namespace)
                parts.append("".join(lines[code.co_firstlineno - 1:_last_line(code)]))
            self.digests[id(code)] = hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()
        return self.digests[id(code)]

    def _constant(self, value: Any) -> str | tuple:
        if isinstance(value, types.CodeType):
            return self.digest(value)
        if isinstance(value, frozenset):
            return "frozenset", sorted(map(repr, [self._constant(x) for x in value]))
        if isinstance(value, tuple):
            return "tuple", [self._constant(v) for v in value]
        return type(value).__name__, repr(value)

    def cls(self, cls: type) -> list:
        """A class: a known one by name, a user's with the code of its methods and its plain attributes."""
        description: list = ["class", cls.__module__, cls.__qualname__]
        if not cls.__flags__ & HEAP_TYPE or is_standard(cls.__module__):
            if named(cls.__module__, cls.__qualname__) is not cls and cls.__flags__ & HEAP_TYPE:
                raise NotCacheable(f"the class {cls.__qualname__} is not to be found by its name")
            return description
        description += [self.of(type(cls)), self.all(cls.__bases__)]
        for name, value in sorted(cls.__dict__.items(), key=lambda item: item[0]):
            if name in ("__dict__", "__weakref__", "__doc__", "__annotations__", "__static_attributes__"):
                continue
            content = isinstance(value, (*PLAIN, types.FunctionType, staticmethod, classmethod, property))
            description.append([name, self.of(value) if content else type(value).__qualname__])
        return description

    # -- data

    def content(self, value: Any) -> list:
        """What a container holds."""
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise NotCacheable("an array of objects")
            return [value.dtype.name, *value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
        if isinstance(value, dict):
            return [[self.of(k), self.of(v)] for k, v in value.items()]
        return [value.hex()] if isinstance(value, bytearray) else self.all(value)

    def tensor(self, value: Tensor) -> list:
        """A Tensor: what it is; its elements only where a graph may hold them."""
        kept = value.__dict__
        if kept.get(ROOT) or any(ref() is not None for ref in kept.get(VIEWS, ())):
            raise NotCacheable("a Tensor is a view of another one, or has views")
        description = ["tensor", self.of(type(value)), value.dtype.name, self.of(tuple(value.shape)), sorted({*kept} - {VIEWS}),
                kept.get("name"), kept.get("requires_grad")]
        if type(value) is Tensor and value.size <= SMALL:
            description.append(value.init_data().host_array.tobytes().hex())
        return description

    def structure(self, cell: Any) -> list:
        """All that a Cell holds."""
        return [[name, self.of(value)] for name, value in sorted(cell.__dict__.items()) if name != "_version"]

    def instance(self, value: Any) -> list:
        """Any other object."""
        cls = type(value)
        ours = (cls.__module__ or "").startswith("mindlite.")
        if hasattr(cls, "cell_version"):
            return ["cell", self.of(cls)]
        if ours and hasattr(cls, "__mindir__"):
            return ["protocol", self.of(cls), self.of(value.__mindir__())]
        if ours:
            return ["object", self.of(cls), self.state(value)]
        if cls.__flags__ & HEAP_TYPE and not is_standard(cls.__module__) and all(
                b is object or b.__flags__ & HEAP_TYPE and (not is_standard(b.__module__) or b.__module__ == "typing")
                for b in cls.__mro__):
            description = ["instance", self.of(cls)]
            if hasattr(value, "__dict__"):
                self.enter(value.__dict__)
            return description
        raise NotCacheable(f"a {cls.__module__}.{cls.__qualname__} has no description")

    def state(self, value: Any) -> list:
        """What an object of mindlite holds."""
        held = dict(getattr(value, "__dict__", {}))
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ())
            held.update((n, getattr(value, n)) for n in ([slots] if isinstance(slots, str) else slots) if hasattr(value, n))
        held.pop("__weakref__", None)
        return [[name, self.of(held[name])] for name in sorted(held)]


def _names(code: CodeType) -> set[str]:
    """The global names that a code object, or one inside, may read."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _last_line(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    inner = [_last_line(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return max([code.co_firstlineno, *lines, *inner])


def _builtin(description: Description, f: Any) -> list:
    owner = f.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return ["builtin", f.__module__, f.__qualname__]
    return ["bound", description.of(owner), f.__name__]


def _ufunc(description: Description, f: np.ufunc) -> list:
    if getattr(np, f.__name__, None) is not f:
        raise NotCacheable(f"the ufunc {f.__name__} is not NumPy's")
    return ["ufunc", f.__name__]


def _primitive(description: Description, prim: Any) -> list:
    name = prim.name
    if PRIMITIVES.get(name) is not prim:
        raise NotCacheable(f"an operator of one's own, {name}")
    return ["primitive", name]


def _refuse(what: str) -> Callable[[Description, Any], Json]:
    def describe(description, value):
        raise NotCacheable(what)
    return describe


# values: what is equal is the same; objects: each is itself
Describe = Callable[[Description, Any], Json]
VALUES: dict[type, Describe] = {
    bool: lambda d, v: ["bool", int(v)],
    float: lambda d, v: ["float", repr(v)],
    complex: lambda d, v: ["complex", repr(v)],
    bytes: lambda d, v: ["bytes", v.hex()],
    tuple: lambda d, v: ["tuple", *d.all(v)],
    frozenset: lambda d, v: ["frozenset", *d.all(v)],
    range: lambda d, v: ["range", v.start, v.stop, v.step],
    slice: lambda d, v: ["slice", *d.all((v.start, v.stop, v.step))],
    type(...): lambda d, v: ["..."],
    type(NotImplemented): lambda d, v: ["NotImplemented"],
    Undefined: lambda d, v: ["undefined"],
    types.MethodType: lambda d, v: ["method", d.of(v.__func__), d.of(v.__self__)],
    property: lambda d, v: ["property", *d.all((v.fget, v.fset, v.fdel))],
    staticmethod: lambda d, v: ["static", d.of(v.__func__)],
    classmethod: lambda d, v: ["classmethod", d.of(v.__func__)],
    functools.partial: lambda d, v: ["partial", *d.all((v.func, v.args, v.keywords))],
    re.Pattern: lambda d, v: ["pattern", d.of(v.pattern), v.flags],
    Symbol: _refuse("a size that is declared outside of the function"),
    Dim: _refuse("a size that is declared outside of the function"),
}
OBJECTS: dict[type, Describe] = {
    types.FunctionType: Description.function,
    types.CodeType: lambda d, v: ["code", d.digest(v)],
    types.BuiltinFunctionType: _builtin,
    np.ufunc: _ufunc,
    **{kind: lambda d, v: [type(v).__name__, *d.content(v)] for kind in (list, dict, set, OrderedDict, deque, bytearray)},
}
KINDS: tuple[tuple[type, Describe], ...] = (
    (type, Description.cls),
    (types.ModuleType, lambda d, v: ["module", v.__name__]),
    (Tensor, Description.tensor),
    (np.ndarray, lambda d, v: ["array", d.of(type(v)), *d.content(v)]),
    (np.generic, lambda d, v: ["number", v.dtype.name, v.tobytes().hex()]),
    (np.dtype, lambda d, v: ["dtype", v.name, v.str]),
    (DType, lambda d, v: ["type", v.name]),
    (Primitive, _primitive),
    (enum.Enum, lambda d, v: ["enum", d.of(type(v)), v.name, d.of(v.value)]),
    (tuple, lambda d, v: ["tuple of", d.of(type(v)), *d.all(v)]),
)
