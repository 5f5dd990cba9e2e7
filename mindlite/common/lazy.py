"""Modules that are imported, and attributes that are made, when they are used first: what most programs do not need, or not
at once.

    llvm = LazyModule("llvmlite.binding")          llvm.parse_assembly(..) imports it
    class KeptPlan(LazyAttributes, Plan)     kept.storages is what kept.find(), a dict of attributes, has under this name
"""
from __future__ import annotations

import importlib
import sys
from typing import Any

from .annotations import Function
from .locks import new_lock


class LazyModule:
    """A module by its name; its attributes are the module's."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        name = self.__name__
        module = sys.modules.get(name)
        if module is None or getattr(module.__spec__, "_initializing", False):     # another thread is importing it: waited for
            module = importlib.import_module(name)
        return getattr(module, attribute)


class LazyAttributes:
    """Base of objects some of whose attributes are there from the start, `known`, and the others when one of them is asked for.

    find : () -> a dict of them
    """

    def __init__(self, find: Function, **known: Any) -> None:
        self.__dict__.update(known, find=find)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "find" not in self.__dict__:
            raise AttributeError(name)
        with _lock:                              # once, whoever asks
            if self.find is not None:
                self.__dict__.update(self.find(), find=None)
        return object.__getattribute__(self, name)


_lock = new_lock()
