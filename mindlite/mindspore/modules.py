"""Modules made of a table: an importer answers to every path in `table.MODULES`, names are looked up when asked for.

    import mindlite.mindspore.ops.functional    ->  a module with the names of the sources in the table's row

A name that mindlite does not have is missing, by an error that says so: no other namespace is asked for a relative of it.
"""
import dis
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

from ..common.errors import MissingAttributeError, user_location
from .table import CLOSED, MODULES, REFUSED

PACKAGE = __name__.rpartition(".")[0]


def exists(source):
    """True if this installation has the module, a room or a module of one."""
    parent = source.rpartition(".")[0]
    return (not parent or exists(parent)) and importlib.util.find_spec(source) is not None


class Names:
    """The names of one path of the table. path: "ops.functional"; "" is the package itself."""

    def __init__(self, path):
        self.path, (self.sources, self.renamed) = path, MODULES[path]
        self.module = f"{PACKAGE}.{path}".rstrip(".")
        depth = path.count(".") + 1 if path else 0
        self.children = {p.rsplit(".", 1)[-1] for p in MODULES if p and p.count(".") == depth
                         and (not path or p.startswith(path + "."))}

    def find(self, name):
        """The object that `name` stands for.

        raises : MissingAttributeError where mindlite has none; ImportError with the same text for `from .. import name`
        """
        if name == "__all__":
            return [n for n in self.all() if not n.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._find(name)
        if found is None:
            raise self._missing(name, sys._getframe(2))
        setattr(sys.modules[self.module], name, found)
        return found

    def _find(self, name):
        if name in self.renamed:
            home, _, path = self.renamed[name].partition(":")
            found = importlib.import_module(home)
            for part in path.split(".") if path else ():
                found = getattr(found, part)
            return found
        if name in self.children:
            return importlib.import_module(f"{self.module}.{name}")
        for source in self.sources:
            if not exists(source):
                continue
            module = importlib.import_module(source)
            if hasattr(module, name) and (not source.startswith(CLOSED) or name in module.__all__):
                return getattr(module, name)
        return None

    def _missing(self, name, asker):
        """The error for a name that is not here; asker: the frame that reads it."""
        why = f" ({REFUSED[name]})" if name in REFUSED else ""
        error = MissingAttributeError(f"module {self.module!r} has no attribute {name!r}: mindlite does not have it{why}",
                                      wanted=name, among=self.all).at(user_location())
        if asker.f_code.co_code[asker.f_lasti] != dis.opmap["IMPORT_FROM"]:
            return error
        return ImportError(f"cannot import {name!r}: {error}", name=name, path=self.module)   # Python: "unknown location"

    def all(self):
        """Every name, sorted."""
        found = {*self.renamed, *self.children}
        for source in filter(exists, self.sources):
            module = importlib.import_module(source)
            found |= {n for n in getattr(module, "__all__", None) or dir(module) if not n.startswith("_")}
        return sorted(found)


class NamesModule(types.ModuleType):
    """A module of the table."""

    def __getattr__(self, name):
        return self.__dict__["__names__"].find(name)

    def __setattr__(self, name, value):
        if isinstance(value, NamesModule) and name in self.__dict__["__names__"].renamed:
            return                           # importing a child binds it here; common.mutable is the function all the same
        super().__setattr__(name, value)

    def __dir__(self):
        return sorted({*self.__dict__, *self.__dict__["__names__"].all()})


class Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the table below this package."""

    def find_spec(self, name, path=None, target=None):
        """The spec of a module of the table, None for any other."""
        if not name.startswith(PACKAGE + ".") or name[len(PACKAGE) + 1:] not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        """The module; its names come when they are asked for."""
        made = NamesModule(spec.name, f"MindSpore's {spec.name[len(PACKAGE) + 1:]}, by names of mindlite.")
        made.__dict__["__names__"] = Names(spec.name[len(PACKAGE) + 1:])
        return made

    def exec_module(self, module):
        """Nothing is to be run."""


sys.meta_path.append(Importer())
