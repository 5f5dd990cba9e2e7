"""Hooks of the debug mode: they see the rows before and after each operation of `map`.

    ds.config.set_debug_mode(True, [debug.PrintMetaDataHook()])        every `map` prints dtypes and shapes
    rows.map([vision.Decode(), MyHook(), vision.CenterCrop(100)])      one place only, in any mode
"""
from __future__ import annotations

import abc
import sys
from typing import Any, Sized

import numpy as np
from PIL import Image


class DebugHook(abc.ABC):
    """Base of hooks: `compute` sees the columns that an operation is given or gives. prev_op_name : the operation's name"""

    def __init__(self, prev_op_name: str | None = None) -> None:
        self.prev_op_name, self.is_first_op = prev_op_name, False

    def __call__(self, *args: Any) -> tuple:
        if self.prev_op_name:
            told(f"[Dataset debugger] Print the [{'INPUT' if self.is_first_op else 'OUTPUT'}] of the operation "
                 f"[{self.prev_op_name}].")
        self.compute(args)
        return args

    @abc.abstractmethod
    def compute(self, *args: Any) -> Any:
        """What is done with the tuple of columns; its result is not used."""

    def set_previous_op_name(self, prev_op_name: str) -> None:
        """The operation that comes before the hook, or after it if it is the first."""
        self.prev_op_name = prev_op_name

    def set_is_first(self, is_first_op: bool) -> None:
        """True if the hook stands before the first operation."""
        self.is_first_op = is_first_op


class PrintMetaDataHook(DebugHook):
    """Prints the dtype and the shape of each column."""

    def compute(self, *args: Any) -> Any:
        """Print one line for each column."""
        for number, column in enumerate(*args):
            if isinstance(column, np.ndarray):
                what = f"The dtype is [{column.dtype}]. The shape is [{column.shape}]."
            else:
                size = f" The shape is [{column.size}]." if isinstance(column, Image.Image) else \
                    f" The size is [{len(column)}]." if isinstance(column, Sized) else ""
                what = f"The type is [{type(column)}].{size}"
            told(f"Column {number}. {what}")
        return args


class PrintDataHook(DebugHook):
    """Prints each column."""

    def compute(self, *args: Any) -> Any:
        """Print one entry for each column."""
        for number, column in enumerate(*args):
            told(f"Column {number}. The data is [{np.asarray(column) if isinstance(column, Image.Image) else column}].")
        return args


def told(text: str) -> None:
    """A line on the standard output, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
