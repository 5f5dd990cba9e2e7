"""`mindspore` as another name of `mindlite.mindspore`, so that programs for MindSpore run as they are.

    install()          from then on `import mindspore.nn as nn` gives the module mindlite.mindspore.nn, the very object
"""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

NAME, MEANT = "mindspore", __name__.rpartition(".")[0]


class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mindspore` and what is below it: the modules of the same path below `mindlite.mindspore`."""

    def find_spec(self, name: str, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        """The spec of an alias; None for other names, and for modules that mindlite does not have."""
        if name != NAME and not name.startswith(NAME + ".") or importlib.util.find_spec(self.meant(name)) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    @staticmethod
    def meant(name: str) -> str:
        """The name of mindlite's module."""
        return MEANT + name[len(NAME):]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The module itself; its own spec is kept for `exec_module`."""
        module = importlib.import_module(self.meant(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is executed: the module has its own spec again."""
        if module.__spec__ is not None and module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Let `mindspore` be mindlite's, before any that is installed. raises : ImportError if the other one is in use already"""
    found = sys.modules.get(NAME)
    if found is not None and found.__name__ != MEANT:
        raise ImportError(f"{NAME} has been imported from {getattr(found, '__file__', 'elsewhere')} already", name=NAME)
    if not any(isinstance(finder, Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, Alias())
