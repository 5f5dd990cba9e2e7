"""Modules that are imported when they are used first: what most programs do not need, or not at once.

    llvm = Late("llvmlite.binding")          llvm.parse_assembly(..) imports it
"""
import importlib
import sys


class Late:
    """A module by its name; its attributes are the module's."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, attribute):
        name = self.__name__
        return getattr(sys.modules.get(name) or importlib.import_module(name), attribute)
