"""Cells made of Cells: SequentialCell runs them one after the other, CellList and CellDict only hold them.

    nn.SequentialCell(nn.Dense(4, 8), nn.ReLU())        children "0" and "1", parameters "0.weight", "0.bias"
    nn.CellList([nn.Dense(4, 8)])[0](x)                 nn.CellDict({"head": nn.Dense(4, 8)})["head"](x)
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...common.errors import ArgumentError, IndexRangeError, MissingAttributeError
from ..cell import Cell


def _checked(owner: Cell, cell: Any) -> Any:
    if not isinstance(cell, Cell):
        raise ArgumentError(f"{type(owner).__name__}: holds Cells, not {type(cell).__name__}")
    return cell


class _Row(Cell):
    """What SequentialCell and CellList share: children in a row, named "0", "1", .. by their position."""

    def _set_row(self, named: Iterable[tuple[str, Cell]]) -> None:
        """Make `named`, [(name, Cell)], the children. A child that changes its name has its parameters renamed.

        The path of this Cell in a larger one is read off the names of the parameters that it has already.
        """
        prefix = self._outer_prefix()
        positions = {id(cell): name for name, cell in self._cells.items()}
        for name in list(self._cells):
            del self.__dict__[name]
        self._cells.clear()
        for name, cell in named:
            if self._auto_prefix and positions.get(id(cell)) != name:
                cell.update_parameters_name(f"{prefix}{name}.")
            positions.setdefault(id(cell), name)
            self._cells[name] = self.__dict__[name] = cell
        self.cell_list = tuple(self._cells.values())

    def _outer_prefix(self) -> str:
        """The path of this Cell in a larger one, as MindSpore reads it; checkpoints hold the names that come of it.

        The name of the first Cell's first parameter is parted at that Cell's own name: at the first place where the next
        Cell's parameter has that one's own name too, else at the last. So in a row of one Cell that has a "0" inside
        ("0.block.0.weight") a second Cell gets the path "0.block.1".
        """
        firsts = [(name, next(iter(cell.get_parameters())).name.split(".")) for name, cell in self._cells.items()
                  if any(True for _ in cell.get_parameters())][:2]
        places = [place for place, part in enumerate(firsts[0][1]) if part == firsts[0][0]] if firsts else []
        confirmed = [place for place in places if len(firsts) > 1 and firsts[1][1][place:place + 1] == [firsts[1][0]]]
        place = confirmed[0] if confirmed else places[-1] if places else 0
        return "".join(f"{part}." for part in firsts[0][1][:place]) if firsts else ""

    def _set_cells(self, cells: Iterable[Cell]) -> None:
        self._set_row([(str(number), _checked(self, cell)) for number, cell in enumerate(cells)])

    def _position(self, index: Any) -> int:
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ArgumentError(f"{type(self).__name__}: an index is an int or a slice, not {type(index).__name__}")
        index = index.__index__()
        if not -len(self) <= index < len(self):
            raise IndexRangeError(f"{type(self).__name__}: index {index} is outside a row of {len(self)}")
        return index % len(self)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cells.values())

    def __contains__(self, cell: object) -> bool:
        return any(cell is child for child in self._cells.values())

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            made: Any = type(self)
            return made(OrderedDict(list(self._cells.items())[index]) if self._keeps_names()
                        else list(self._cells.values())[index])
        return list(self._cells.values())[self._position(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        named = list(self._cells.items())
        position = self._position(index)
        named[position] = (named[position][0], _checked(self, cell))
        self._set_row(named)

    def __delitem__(self, index: int | slice) -> None:
        named = list(self._cells.items())
        if isinstance(index, slice):
            del named[index]
        else:
            del named[self._position(index)]
        if self._keeps_names():
            self._set_row(named)
        else:
            self._set_cells(cell for _, cell in named)

    def _keeps_names(self) -> bool:
        return any(not name.isdigit() for name in self._cells)

    def append(self, cell: Cell) -> Any:
        """Add `cell` at the end; returns self."""
        self._set_row([*self._cells.items(), (str(len(self)), _checked(self, cell))])
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Put `cell` before position `index`, in [-len, len]. raises : IndexRangeError"""
        position = len(self) if index == len(self) else self._position(index)
        cells = list(self._cells.values())
        self._set_cells([*cells[:position], _checked(self, cell), *cells[position:]])


class SequentialCell(_Row):
    """Runs its Cells one after the other, each on the output of the one before.

    args   : Cells; or one list or tuple of Cells; or one dict {name: Cell}
    inputs : what the first Cell takes; output: what the last one gives
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self.cell_list = ()
        if len(args) == 1 and isinstance(args[0], Mapping):
            self._set_row([(name, _checked(self, cell)) for name, cell in args[0].items()])
        elif len(args) == 1 and isinstance(args[0], (list, tuple)):
            self._set_cells(args[0])
        else:
            self._set_cells(args)

    def construct(self, x: Any) -> Any:
        for cell in self.cell_list:
            x = cell(x)
        return x


class CellList(_Row):
    """A list of Cells that registers them; it is indexed, iterated and changed as a list is, and cannot be called.

    args : Cells, or one list or tuple of them
    """
    is_ensemble = True                                        # to vmap: each Cell is called for an item of its own

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(auto_prefix=kwargs.pop("auto_prefix", True))
        if kwargs:
            raise ArgumentError(f"CellList: no argument is named {next(iter(kwargs))!r}")
        self.cell_list = ()
        self._set_cells(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)) else args)

    def extend(self, cells: Iterable[Cell]) -> Any:
        """Add all of `cells`, an iterable, at the end; returns self."""
        if not isinstance(cells, Iterable):
            raise ArgumentError(f"CellList: extend takes an iterable of Cells, not {type(cells).__name__}")
        self._set_cells([*self._cells.values(), *cells])
        return self

    __iadd__ = extend

    def construct(self, *inputs: Any) -> Any:
        raise MissingAttributeError("CellList: it holds Cells and is not called", hint="call its elements")


class CellDict(Cell):
    """A dict of Cells that registers them; keys are names, and it cannot be called.

    args : nothing, a mapping {name: Cell}, or an iterable of (name, Cell)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) > 1:
            raise ArgumentError(f"CellDict: takes one argument, not {len(args)}")
        if args:
            self.update(args[0])

    def __getitem__(self, key: str) -> Any:
        if key not in self._cells:
            raise KeyError(key)
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str) or not key or "." in key or hasattr(type(self), key) or \
                (key in self.__dict__ and key not in self._cells):
            raise ArgumentError(f"CellDict: {key!r} cannot be a key", hint="a key is a str without '.', and no method")
        setattr(self, key, _checked(self, cell))

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def clear(self) -> None:
        """Take all Cells out."""
        for key in list(self._cells):
            delattr(self, key)

    def pop(self, key: str) -> Any:
        """Take the Cell of `key` out and return it. raises : KeyError"""
        cell = self[key]
        delattr(self, key)
        return cell

    def keys(self) -> Any:
        """The names, in order."""
        return self._cells.keys()

    def values(self) -> Any:
        """The Cells, in order."""
        return self._cells.values()

    def items(self) -> Any:
        """(name, Cell) pairs, in order."""
        return self._cells.items()

    def update(self, cells: Any) -> None:
        """Take over all (name, Cell) of a mapping, CellDict or iterable of pairs."""
        if isinstance(cells, (Mapping, CellDict)):
            cells = cells.items()
        elif not isinstance(cells, Iterable):
            raise ArgumentError(f"CellDict: takes a mapping or iterable of pairs, not {type(cells).__name__}")
        for pair in cells:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise ArgumentError(f"CellDict: a (name, Cell) pair is wanted, not {pair!r}")
            self[pair[0]] = pair[1]

    def construct(self, *inputs: Any) -> Any:
        raise MissingAttributeError("CellDict: it holds Cells and is not called", hint="call its elements")
