"""Plant a fault: one function of mindlite raises when it is called, whoever calls it and by whatever name.

The function stays the object that it is; its code is replaced, so tables, partials and imports by name all get there.
"""
import contextlib
import functools
import importlib
import inspect
import itertools
import pkgutil
import sys
import threading
import types
import warnings

import mindlite
from mindlite.common.errors import InternalError

ROOMS = ("infer", "ad", "vmap", "optim", "graph_kernel", "compile")
KINDS = (TypeError, KeyError, AttributeError, ValueError, IndexError, AssertionError, RecursionError, StopIteration,
         NotImplementedError, ZeroDivisionError)
_numbers = itertools.count()


def functions(rooms=ROOMS):
    """{name: function} of all functions and methods of these rooms, and of what decorators have wrapped."""
    found = {}
    for room in rooms:
        package = importlib.import_module(f"mindlite.{room}")
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(info.name)
        for name, module in sorted(sys.modules.items()):
            if name.startswith(f"mindlite.{room}"):
                for value in list(vars(module).values()):
                    collect(value, module, found)
    return dict(sorted(found.items()))


def collect(value, module, found):
    """Add a function, or those of a class, that this module defines."""
    if isinstance(value, type):
        if value.__module__ == module.__name__:
            for inner in list(vars(value).values()):
                collect(inner, module, found)
        return
    if isinstance(value, property):
        for inner in (value.fget, value.fset):
            collect(inner, module, found)
        return
    if isinstance(value, (staticmethod, classmethod, functools.cached_property)):
        value = getattr(value, "__func__", None) or value.func
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, types.FunctionType) and value.__code__.co_filename == module.__file__:
        found[f"{module.__name__}.{value.__qualname__}"] = value


@contextlib.contextmanager
def planted(function, kind):
    """Inside, `function` raises `kind`. Yields a list with an entry for each time that it did."""
    hits, before = [], function.__code__

    def fault():
        hits.append(threading.current_thread())
        return kind("planted")
    scope = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        free = ", ".join(before.co_freevars)
        exec(compile(f"def make({free}):\n def planted(*args, **kwargs):\n  ({free})\n  raise 'fault'()\n return planted",
                     before.co_filename, "exec"), scope)
    code = scope["make"](*[None] * len(before.co_freevars)).__code__
    function.__code__ = code.replace(co_consts=tuple([fault if c == "fault" else c for c in code.co_consts]),
                                     co_name=before.co_name, co_firstlineno=before.co_firstlineno)
    try:
        yield hits
    finally:
        function.__code__ = before


def fresh():
    """A number that no program has been run with."""
    return 1.0 + (next(_numbers) % 4096) / 8192


def reached(programs, rooms=ROOMS):
    """{name of a function: the programs that call it}, by running them once."""
    names = {f.__code__: name for name, f in functions(rooms).items()}
    found = {}
    for program in programs:
        def see(frame, event, _, program=program):
            if event == "call" and frame.f_code in names:
                found.setdefault(names[frame.f_code], {})[program] = None
        clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            threading.setprofile(see)
            sys.setprofile(see)
            try:
                program(fresh())
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
    return {name: list(by) for name, by in found.items()}


def clear():
    """Forget what earlier runs have compiled, where a new number does not make it another."""
    for module, name in (("pynative.interpreter", "_signatures"), ("pynative.backward", "_structures")):
        getattr(importlib.import_module(f"mindlite.{module}"), name).clear()
    rooms = ("mindlite.infer.", "mindlite.ad.", "mindlite.vmap.", "mindlite.optim.")       # the others keep machine code
    for name, module in list(sys.modules.items()):
        if name.startswith(rooms):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


@contextlib.contextmanager
def faults_of_finalizers():
    """Yields a list of what is raised where no caller is: Python prints it when it gives an object back."""
    shown, before = [], sys.unraisablehook
    sys.unraisablehook = shown.append
    try:
        yield shown
    finally:
        sys.unraisablehook = before


def verdict(name, function, kind, program):
    """What is wrong where `function` raises `kind` in a program; None if all is well, "" if it was not called by
    what has a caller."""
    clear()
    with planted(function, kind) as hits, warnings.catch_warnings(record=True) as told, faults_of_finalizers() as shown:
        warnings.simplefilter("always")
        try:
            program(fresh())
            error = None
        except Exception as raised:
            error = raised
    if not hits or len(hits) == len(shown):
        return "" if error is None else f"{name}: not called, and {error!r}"
    if error is None:
        return f"{name}: {kind.__name__} in {program.__name__} was not seen; {[str(w.message)[:150] for w in told]}"
    if not isinstance(error, InternalError):
        return f"{name}: {kind.__name__} in {program.__name__} became {error!r}"
    if not error.stage or error.location is None or error.location.file.startswith(mindlite.__path__[0]):
        return f"{name}: {kind.__name__} in {program.__name__}: stage {error.stage!r}, place {error.location}"
    return None
