"""What stands below a Cell: Parameters, child Cells and buffers, registered by assigning them to attributes.

    net.dense = nn.Dense(3, 4)      registers a child, and names its Parameters "dense.weight", "dense.bias"
    net.scale = Parameter(..)       registers a Parameter, named "scale" unless it has a name

Values live in the instance's `__dict__`; the registries `_params`, `_cells`, `_buffers` keep the order and say what is
what, so that reading an attribute costs what it costs in Python. Every change bumps `cell_version`: a compiled graph
that read attributes compares this number first.
"""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ..common.errors import ArgumentError, MissingAttributeError, NameTakenError, user_level, user_location
from ..common.tensor import Parameter, ParameterTuple, Tensor, TensorLike


This = TypeVar("This", bound="Registry")
Listing = TypeVar("Listing", bound=Callable)
_noted: set = set()


def reads_registries(method: Listing) -> Listing:
    """Say that a method gives what the registries and the Parameters' names and `requires_grad` say: a graph knows it when it is
    compiled."""
    setattr(method, "reads_registries", True)
    return method


class Buffer(Tensor):
    """A Tensor that becomes a buffer of the Cell to whose attribute it is assigned: `self.scale = Buffer(x)`."""
    __slots__ = ()

    def __init__(self, input_data: TensorLike) -> None:
        super().__init__(input_data)


def _is_unnamed(param: Parameter) -> bool:
    """True for a Parameter whose name nobody has chosen; one in a list is called Parameter#<number>."""
    return param.name == "Parameter" or param.name.startswith("Parameter#")


class Registry:
    """The attributes of a Cell, and the walks over everything below it."""

    def _register_nothing(self, auto_prefix: bool) -> None:
        made = self.__dict__
        made["_params"], made["_cells"], made["_buffers"] = OrderedDict(), OrderedDict(), OrderedDict()
        made["_transient"], made["_auto_prefix"], made["_param_prefix"], made["_version"] = set(), auto_prefix, "", 0

    # ---------------------------------------------------------------- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        made = self.__dict__
        descriptor = getattr(type(self), name, None)
        if hasattr(descriptor, "__set__"):
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Buffer):
            self.register_buffer(name, Tensor.of_elements(value.elements))
        elif isinstance(value, Registry):
            self._set_child(name, value)
        elif "_params" in made:
            self._set_plain(name, value)
        elif isinstance(value, ParameterTuple):
            raise self._not_initialised(name)
        else:
            made[name] = value
        if "_version" in made:
            made["_version"] += 1

    def __getattr__(self, name: str) -> Any:                              # called only where the attribute is not found
        if "_params" not in self.__dict__ and name.startswith("_") and not name.startswith("__"):
            raise self._not_initialised(name)
        error = MissingAttributeError(f"'{type(self).__name__}' object has no attribute {name!r}", wanted=name,
                                      among=lambda: dir(self))
        raise error if name.startswith("__") else error.at(user_location())      # protocols ask for dunder names often

    def __delattr__(self, name: str) -> None:
        if name not in self.__dict__:
            raise MissingAttributeError(f"'{type(self).__name__}' object has no attribute {name!r}").at(user_location())
        if isinstance(self.__dict__[name], ParameterTuple):
            self._forget_tuple(self.__dict__[name])
        del self.__dict__[name]
        for registry in (self._params, self._cells, self._buffers):
            registry.pop(name, None)
        self._touch()

    def _not_initialised(self, name: str) -> MissingAttributeError:
        return MissingAttributeError(f"{type(self).__name__}: super().__init__() has not been called",
                                     note=f"wanted by {name!r}",
                                     hint="call super().__init__() first in __init__").at(user_location())

    def _set_plain(self, name: str, value: Any) -> None:
        before: Any = self.__dict__.get(name)
        if name in self._params and isinstance(value, Tensor):
            before.set_data(value)
            return
        if name in self._params and value is not None:
            raise ArgumentError(f"{type(self).__name__}: the Parameter {name!r} cannot become {type(value).__name__}",
                                hint=f"use {name}.set_data(value), or del it first").at(user_location())
        if isinstance(before, ParameterTuple):
            self._forget_tuple(before)
        self._params.pop(name, None)
        self._cells.pop(name, None)
        if name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise ArgumentError(f"{type(self).__name__}: the buffer {name!r} takes a Tensor or None, "
                                    f"not {type(value).__name__}").at(user_location())
            self._buffers[name] = value
        self.__dict__[name] = value
        if type(value) in (list, tuple, dict):
            self._note_hidden_cells(name, value)
            for item in value.values() if isinstance(value, dict) else value:
                if isinstance(item, Parameter) and item.name == "Parameter":
                    item.name = f"Parameter#{item.key}"      # it is no Parameter of the Cell, and has a name of its own
        if isinstance(value, ParameterTuple):
            for number, param in enumerate(value):
                if _is_unnamed(param):
                    param.name = f"{name}.{number}"
                self._params[param.name] = param

    def _note_hidden_cells(self, name: str, value: Any) -> None:
        """Warn, once for each attribute of a class, of Cells in a list: their Parameters are not trained or saved."""
        items = value.values() if isinstance(value, dict) else value
        key = type(self), name
        if any(isinstance(item, Registry) for item in items) and key not in _noted \
                and not type(self).__module__.startswith("mindlite."):
            _noted.add(key)
            wanted = "CellDict" if isinstance(value, dict) else "CellList"
            warnings.warn(f"{type(self).__name__}.{name} is a {type(value).__name__} of Cells: their Parameters are not seen by "
                          f"trainable_params, optimisers and checkpoints; nn.{wanted}(..) registers them",
                          stacklevel=user_level())

    def _keep(self, name: str, value: Any) -> None:
        """Set an attribute without registering what it holds: Parameters that belong to another Cell."""
        self.__dict__[name] = value
        self._touch()

    def _forget_tuple(self, params: Iterable[Parameter]) -> None:
        gone = {id(param) for param in params}
        for key, param in list(self._params.items()):
            if id(param) in gone and self.__dict__.get(key) is not param:
                del self._params[key]

    def _set_child(self, name: str, cell: Any) -> None:
        if "_cells" not in self.__dict__:
            raise self._not_initialised(name)
        self._params.pop(name, None)
        self._buffers.pop(name, None)
        if self._auto_prefix:
            cell.update_parameters_name(name + ".")
        self._cells[name] = self.__dict__[name] = cell

    def _check_name(self, kind: str, name: Any, dots: bool = True) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"{type(self).__name__}: a {kind} name should be a string, not {name!r}")
        if not name or dots and "." in name:
            raise NameTakenError(f"{type(self).__name__}: a {kind} name is not empty and does not contain \".\": {name!r}")

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Register `child_cell` under `child_name`, which must be free. raises : ArgumentError, NameTakenError"""
        self._check_name("child", child_name)
        if not isinstance(child_cell, Registry):
            raise ArgumentError(f"{type(self).__name__}: the child {child_name!r} is a Cell, "
                                f"not {type(child_cell).__name__}")
        if child_name in self.__dict__ or hasattr(type(self), child_name):
            raise NameTakenError(f"{type(self).__name__}: {child_name!r} stands already")
        setattr(self, child_name, child_cell)

    def insert_param_to_cell(self, param_name: str, param: Parameter, check_name_contain_dot: bool = True) -> None:
        """Register `param`; it takes `param_name` unless it has a name of its own.

        raises : ArgumentError for what is no Parameter, NameTakenError for a name with a dot where that is checked
        """
        if "_params" not in self.__dict__:
            raise self._not_initialised(param_name)
        self._check_name("parameter", param_name, check_name_contain_dot)
        if not isinstance(param, Parameter):
            raise ArgumentError(f"{type(self).__name__}: {param_name!r} is a Parameter, not {type(param).__name__}")
        self._cells.pop(param_name, None)
        self._buffers.pop(param_name, None)
        if _is_unnamed(param):
            param.name = param_name
        self._params[param_name] = self.__dict__[param_name] = param
        self._touch()

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a Tensor (or None) that is state but is not trained; a persistent one stands in `state_dict`.

        raises : ArgumentError for a name that is no str and for what is no Tensor; NameTakenError for a bad or taken name
        """
        self._check_name("buffer", name)
        if name not in self._buffers and (name in self.__dict__ or hasattr(type(self), name)):
            raise NameTakenError(f"{type(self).__name__}: {name!r} stands already")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentError(f"{type(self).__name__}: the buffer {name!r} takes a Tensor or None, "
                                f"not {type(tensor).__name__}")
        self._buffers[name] = self.__dict__[name] = tensor
        self._transient.discard(name)
        if not persistent:
            self._transient.add(name)
        self._touch()

    def _touch(self) -> None:
        self.__dict__["_version"] += 1

    @property
    def cell_version(self) -> int:
        """How often attributes of this Cell (not of its children) have changed."""
        return self._version

    # ---------------------------------------------------------------- walking

    def cells(self) -> Iterable[Any]:
        """The direct children."""
        return self.name_cells().values()

    def name_cells(self) -> dict[str, Any]:
        """{name: child} of the direct children, each once."""
        found, seen = OrderedDict(), set()
        for name, cell in self._cells.items():
            if id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    @reads_registries
    def cells_and_names(self, cells: set | None = None, name_prefix: str = "") -> Iterator[tuple[str, Any]]:
        """(path, Cell) for this Cell and all below it, each once, depth first; this Cell's path is name_prefix."""
        seen = set() if cells is None else cells
        if self in seen:
            return
        seen.add(self)
        yield name_prefix, self
        for name, cell in self._cells.items():
            yield from cell.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    @reads_registries
    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(path, Parameter) of this Cell and, with `expand`, of all below; each Parameter once, by its first path."""
        seen = set()
        for path, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, param in cell._params.items():
                if id(param) not in seen:
                    seen.add(id(param))
                    yield (f"{path}.{name}" if path else name), param

    @reads_registries
    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The Parameters of this Cell and, with `expand`, of all below."""
        for _, param in self.parameters_and_names(expand=expand):
            yield param

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """{Parameter's name: Parameter}."""
        return OrderedDict((param.name, param) for param in self.get_parameters(recurse))

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Make the values of all Parameters that an initialiser promises; {Parameter: itself}, as MindSpore has it."""
        return {param: param.init_data() for param in self.get_parameters()}

    @reads_registries
    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters with requires_grad. Two of them may have one name; an optimizer of `nn` refuses them then."""
        return [param for param in self.get_parameters(recurse) if param.requires_grad]

    @reads_registries
    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters without requires_grad."""
        return [param for param in self.get_parameters(recurse) if not param.requires_grad]

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name each Parameter by `prefix` and its path from here."""
        for path, param in self.parameters_and_names(expand=recurse):
            param.name = prefix + path

    def update_cell_prefix(self) -> None:
        """Let every Cell below know its path: its `param_prefix`."""
        for path, cell in self.cells_and_names():
            cell.__dict__["_param_prefix"] = path

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this Cell and, with `recurse`, of all below."""
        for _, tensor in self.named_buffers(recurse=recurse):
            yield tensor

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(path, Tensor) of the buffers that are not None."""
        for path, cell in self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, self)]:
            for name, tensor in cell._buffers.items():
                if tensor is not None:
                    yield (f"{path}.{name}" if path else name), tensor

    def get_sub_cell(self, target: str) -> Any:
        """The Cell at the dotted path `target`; "" is this one. raises : MissingAttributeError"""
        cell = self
        for name in filter(None, target.split(".")):
            if name not in cell._cells:
                raise MissingAttributeError(f"{type(cell).__name__!r} has no attribute {name!r}: no child is named so",
                                            note=f"in {target!r}")
            cell = cell._cells[name]
        return cell

    def get_parameter(self, target: str) -> Parameter:
        """The Parameter at the dotted path `target`. raises : MissingAttributeError"""
        return self._owned("parameter", "_params", target)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path `target`. raises : MissingAttributeError"""
        return self._owned("buffer", "_buffers", target)

    def _owned(self, word: str, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        if name not in getattr(cell, kind):
            raise MissingAttributeError(f"{type(cell).__name__!r} has no attribute {name!r}: no {word} is named so",
                                        note=f"in {target!r}")
        return getattr(cell, kind)[name]

    def apply(self: This, fn: Callable[[Any], Any]) -> This:
        """Call fn(cell) on every Cell below and last on this one; returns self."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self
