"""Where a node of a graph comes from: the user's line, the node it was derived from, the transformation that did it."""
from __future__ import annotations

import functools
import linecache
from dataclasses import field
from typing import Any

from .records import dataclass


@dataclass(frozen=True)
class Location:
    """A span of source text; lines count from 1, columns from 0 in characters, `end_col` is exclusive.

    scope : the function that holds the line: "Block.construct"
    cell  : the place of the Cell whose code runs in the Cell that was called first: "Net.blocks.1"
    """
    file: str
    line: int
    col: int = 0
    end_line: int = 0
    end_col: int = 0
    scope: str = ""
    cell: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def source(self) -> str:
        """The text of the (first) line, without its newline; "" when it is not to be had."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def show(self, note: str = "") -> str:
        """The lines of an error that point at this place: file, line, caret, and `note` beside the caret."""
        where = f"  --> {self.file}:{self.line}" + (f", in {self.scope}" if self.scope else "") \
            + (f" ({self.cell})" if self.cell else "")
        text = self.source()
        if not text.strip():
            return where + (f"\n      {note}" if note else "")
        number = f"{self.line:>5} | "
        end = self.end_col if self.end_line in (0, self.line) and self.end_col > self.col else len(text)
        start = max(self.col, len(text) - len(text.lstrip()))
        start, end = [len(text[:column].expandtabs(4)) for column in (start, end)]
        text = text.expandtabs(4)
        caret = " " * (len(number) - 2) + "| " + " " * start + "^" * max(1, end - start)
        return "\n".join([where, number + text, caret + (f" {note}" if note else "")])


@dataclass(frozen=True)
class Origin:
    """Location of the user's line / the node this one was made of / the name of the transformation that made it."""
    location: Location | None = None
    of: Any = None
    by: str = ""

    def in_cell(self, path: str) -> Origin:
        """The same origin, in a Cell of that path."""
        here = self.location
        if here is None:
            return self
        return Origin(Location(here.file, here.line, here.col, here.end_line, here.end_col, here.scope, path),
                      self.of, self.by)

    def derive(self, by: str) -> Origin:
        """The origin of something made from this by the transformation `by`."""
        return Origin(self.location, self.of, by)


NOWHERE = Origin()


def cell_path(cells: Any) -> str:
    """The path of the last of some Cells in the first that holds it; "" where none does."""
    for outer in cells[:-1]:
        for path, cell in outer.cells_and_names():
            if path and cell is cells[-1]:
                return f"{type(outer).__name__}.{path}"
    return ""


@functools.lru_cache(maxsize=None)
def is_framework(filename: str) -> bool:
    """True for files of mindlite itself, and for the code of calls that it writes: their frames stay hidden in errors."""
    return filename.startswith((_ROOT, CALL))


CALL = "<call of "                               # how the name of such code begins
_ROOT = __file__[:__file__.rindex("common")]
