"""Errors that name the user's line.

    ShapeError: matmul: the contracted sizes differ
      --> model.py:3, in Network.construct
        3 |         h = ops.matmul(x, self.weight)
          |             ^^^^^^^^^^^^^^^^^^^^^^^^^^ x: f32[32, 784], self.weight: f32[512, 784]; 784 != 512
      hint: ops.matmul(x, self.weight, transpose_b=True)

An operator raises with a message, a note and a hint; the location is known to whoever runs the user's code: in eager
mode it is the innermost frame that is not mindlite's, inference says what it is executing (`placing`). The text is the
same in both.
"""
from __future__ import annotations

import ast
import contextlib
import difflib
import gc
import os
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import replace
from dis import opname
from typing import Any

from .annotations import Function
from .config import config
from .location import Location, cell_path, is_framework
from .syntax import syntax_tree
from .tracebacks import without_framework


class MindliteError(Exception):
    """Base of mindlite's errors: message, note (what was seen, printed beside the caret), hint, location."""

    def __init__(self, message: str, *, note: str = "", hint: str = "", location: Location | None = None) -> None:
        super().__init__(message)
        self.message, self.note, self.hint = message, note, hint
        self.location = location if location is not None else _locations.where()

    @classmethod
    def without_place(cls, message: str, hint: str = "") -> Any:
        """An error that is caught more often than shown: its location is not looked for, which takes 80 us."""
        made = cls.__new__(cls, message)
        made.message, made.note, made.hint, made.location = message, "", hint, None
        return made

    def at(self, location: Location | None) -> Any:
        """The same error, placed at `location` unless it has a location already."""
        if self.location is None and location is not None:
            self.location = location
        return self

    def __str__(self) -> str:
        lines = [self.message]
        if self.location is not None:
            lines.append(self.location.show(self.note))
        elif self.note:
            lines.append(f"      {self.note}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class ShapeError(MindliteError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(MindliteError, TypeError):
    """An element type that the operator does not take."""


class ArgumentError(MindliteError, TypeError):
    """Too many, too few or unknown arguments, or an argument of the wrong kind."""


class NameTakenError(ArgumentError, KeyError):
    """A name under which nothing can be registered: it is taken, empty, or has a dot."""


class ValueRangeError(MindliteError, ValueError):
    """A value outside what the operator allows."""


class NameLookupError(MindliteError, NameError):
    """A name that is defined nowhere."""


class UndefinedNameError(NameLookupError):
    """The same, found when the function is compiled; it is raised then (config.mindspore_rules)."""


class EndlessRecursionError(MindliteError, RecursionError):
    """A function that calls itself on every path."""


class MissingAttributeError(MindliteError, AttributeError):
    """An attribute that the object does not have.

    wanted, among : its name, and () -> the names that there are; unless a hint is given it names the closest one
    """

    def __init__(self, message: str, *, wanted: str = "", among: Function | type = tuple, hint: str = "",
                 **settings: Any) -> None:
        self._hint, self._wanted, self._among = hint, wanted, among
        super().__init__(message, hint=hint, **settings)

    @property
    def hint(self) -> str:
        """What to do; sought when the error is printed, since `hasattr` raises these often."""
        if not self._hint and self._wanted:
            close = difflib.get_close_matches(self._wanted, [n for n in self._among() if n[:1] != "_"], 1, 0.7)
            self._hint, self._wanted = f"did you mean {close[0]!r}?" if close else "", ""
        return self._hint

    @hint.setter
    def hint(self, text: str) -> None:
        self._hint = text or self._hint


class IndexRangeError(MindliteError, IndexError):
    """An index outside the axis."""


class UnknownOperatorError(MindliteError, RuntimeError):
    """An operator is named that nothing computes."""


class OperandIndexError(IndexRangeError, ValueError, RuntimeError):
    """An index among an operand's numbers that is outside the axis; MindSpore's is a ValueError or a RuntimeError."""


class MaskShapeError(IndexRangeError, ShapeError):
    """A mask whose shape is not that of the axes that it selects from; NumPy's is an IndexError, MindSpore's a ValueError."""


class NotFiniteError(MindliteError, FloatingPointError):
    """NaN or infinity that an operator made out of finite operands, while set_context(check_nan=True)."""


class GraphSyntaxError(MindliteError, SyntaxError):
    """Python that graph mode refuses, or that fullgraph=True forbids to fall back."""

    def __init__(self, message: str, **fields: Any) -> None:
        MindliteError.__init__(self, message, **fields)
        self.msg = message


class Refusal(GraphSyntaxError):
    """What a graph cannot say, so that Python is to do it: the only way from a graph to Python, and `JitFunction.decide` is
    the one place that decides to go it.

    message    : the reason, one sentence;   location : the user's Location
    statements : what Python has to do, or to hold, so that the rest can be a graph (marks of `infer/sharing.py`); () where it
                 is the statement at the location, or one around it; None where no part will do
    certain    : False where Python may say something else: of what comes up on a path that the run may not take, or behind
                 effects, and of exceptions that are known when the function is compiled
    awaits     : the key of the call that has to run once, so that it is known what it gives; or None
    cause      : the error or exception that Python, too, will raise if it gets there; or None
    acts       : True where something that is seen outside comes before the cause
    """

    def __init__(self, message: str, statements: Any = (), location: Location | None = None, *,
                 certain: bool = True, awaits: tuple | None = None, cause: Any = None, acts: bool = False,
                 **fields: Any) -> None:
        super().__init__(message, location=location, **fields)
        self.statements, self.certain, self.awaits, self.cause, self.acts = statements, certain, awaits, cause, acts

    @classmethod
    def uncertain(cls, error: MindliteError) -> Refusal:
        """The refusal for an error of an operator that the run may not come to."""
        return cls(error.message, None, certain=False, cause=error, note=error.note, hint=error.hint, location=error.location)

    def error(self) -> Any:
        """The exception for a caller who wants a graph and nothing else."""
        return self.cause or GraphSyntaxError(self.message, note=self.note, hint=self.hint, location=self.location)


class FileFormatError(MindliteError, ValueError):
    """A file that is damaged, or is none of its kind."""


class GradientError(MindliteError, TypeError, RuntimeError):
    """A gradient that was asked for and does not exist: a loss that is not a scalar, an integer input."""


class OutAxesError(ValueRangeError, RuntimeError):
    """vmap: an axis of a result is none that it has; MindSpore's is a RuntimeError."""

    def __init__(self, axis: int, rank: int, **where: Any) -> None:
        super().__init__(f"The axis: {axis} in 'out_axes' is out of bounds for array of dimension [{-rank},{rank}).", **where)


class HookError(MindliteError, TypeError, RuntimeError):
    """A hook that gives what cannot stand for what it has seen."""


class DeviceError(MindliteError, RuntimeError):
    """A device that is missing here, or memory of a device that Python cannot read."""


class RankError(MindliteError, RuntimeError):
    """A rank has failed, does not come, or does something else than the others."""


class InexactError(MindliteError, OverflowError):
    """Compiled code met a number that its registers do not hold, as Python's would."""


class InternalError(MindliteError, RuntimeError):
    """A fault of mindlite itself. stage: where a program was when it came up; node: what was looked at, as text"""

    def __init__(self, message: str, *, stage: str = "", node: str = "", **fields: Any) -> None:
        super().__init__(message, **fields)
        self.stage, self.node = stage, node

    def __str__(self) -> str:
        where = ", ".join([*([f"stage {self.stage}"] if self.stage else []), *([f"node {self.node}"] if self.node else [])])
        return super().__str__() + (f"\n  in {where}" if where else "")


class Signal(Exception):
    """Base of what the rooms raise to steer themselves: no error, and nobody's fault."""


class Passed(Signal):
    """The user's own exception, `error`, on its way through mindlite: nobody on the way takes it for a fault."""

    def __init__(self, error: Any) -> None:
        super().__init__(error)
        self.error = error


class Stage:
    """with Stage("fuse"): nothing of the user's runs here, so what is no error of mindlite's is a fault of mindlite.

    where  : () -> the user's Location, if the traceback does not tell
    raises : InternalError from the exception, at the user's line, with the node that was looked at
    """
    __slots__ = ("name", "where")

    def __init__(self, name: str, where: Function | None = None) -> None:
        self.name, self.where = name, where

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: type | None, error: Exception | Refusal | None, below: Any) -> None:
        if isinstance(error, InternalError):
            complete(error, self.name, below, self.where)
        elif isinstance(error, Exception) and not isinstance(error, (MindliteError, Signal, MemoryError)):
            raise fault(error, self.name, self.where) from error


def fault(error: BaseException, stage: str, where: Function | None = None) -> Exception:
    """The InternalError for an exception that none of the user's code has raised."""
    if isinstance(error, InternalError):
        return complete(error, stage, error.__traceback__, where)
    made = InternalError(f"{type(error).__name__}: {error} (a fault of mindlite: please report it)", location=_NOWHERE)
    made.location = None
    return complete(made, stage, error.__traceback__, where)


def complete(error: Any, stage: str, below: Any, where: Function | None = None) -> Any:
    """The InternalError with its stage, the node that the innermost frame looked at, and the user's line."""
    error.stage = error.stage or stage
    node = node_in(below)
    if node is not None:
        error.node = error.node or getattr(getattr(node, "fn", node), "name", None) or str(node.fn)
    for find in (lambda: None if node is None else node.origin.location, where or user_location, _locations.where, user_location):
        if error.location is None or is_framework(error.location.file):
            error.location = find() or error.location
    return error


def is_deep(error: Any) -> bool:
    """True for a RecursionError that the depth of the user's program has caused: Python's stack was about to end."""
    if not isinstance(error, RecursionError):
        return False
    frame: types.FrameType | None = sys._getframe()
    depth, below, limit = 0, error.__traceback__, sys.getrecursionlimit() // 2
    while below is not None:
        depth, below = depth + 1, below.tb_next
    while frame is not None and depth <= limit:
        depth, frame = depth + 1, frame.f_back
    return depth > limit


def node_in(below: Any) -> Any:
    """The node, or graph, that the innermost frame of a traceback which has one holds in a variable; None without one."""
    frames = []
    while below is not None:
        frames.append(below.tb_frame)
        below = below.tb_next
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            if type(value).__name__ in ("CNode", "FuncGraph") and value.origin.location is not None:
                return value
    return None


_NOWHERE = Location("", 0)
_PYTHON = "<frozen", os.path.join(os.path.dirname(os.__file__), "multiprocessing", "")          # a forked process begins there


class _Locations(threading.local):
    def __init__(self) -> None:
        self.stack: list = []

    def where(self) -> Location | None:
        """Where the user's code is now."""
        return self.stack[-1]() if self.stack else user_location()


_locations = _Locations()


@contextlib.contextmanager
def placing(where: Function) -> Iterator[Any]:
    """Errors made inside the block, in this thread, stand at `where()`, a Location or None."""
    _locations.stack.append(where)
    try:
        yield
    finally:
        _locations.stack.pop()


def for_user(error: Exception) -> Exception:
    """The exception as it leaves compiled code: at the user's line, its traceback without mindlite's frames."""
    if isinstance(error, MindliteError):
        error.at(user_location())
    if config.show_framework_frames or isinstance(error, InternalError):
        return error
    return without_framework(error)


def user_location() -> Any:
    """The location in the user's code that is running now: the innermost frame that is not mindlite's; None if none is."""
    frame, _ = _user_frame()
    if frame is None:
        return None
    path = cell_path(_cells_around(frame))
    return replace(frame_location(frame), cell=path) if path else frame_location(frame)


def _cells_around(frame: Any) -> list:
    """The Cells that are being called, outermost first."""
    cells = []
    while frame is not None:
        if frame.f_code.co_name == "__call__" and is_framework(frame.f_code.co_filename):
            called = frame.f_locals.get("self")
            if hasattr(type(called), "cells_and_names"):
                cells.append(called)
        frame = frame.f_back
    return cells[::-1]


def user_level() -> int:
    """The `stacklevel` by which the caller of this function warns at the user's line."""
    return _user_frame()[1]


def _user_frame() -> tuple[Any, int]:
    """(the innermost frame that is not mindlite's or None, how far it is from the caller's caller, which is 1)."""
    frame: types.FrameType | None = sys._getframe(2)
    level = 1
    while frame is not None and (is_framework(frame.f_code.co_filename) or frame.f_code.co_filename.startswith(_PYTHON)):
        frame, level = frame.f_back, level + 1
    return frame, level


def frame_location(frame: Any) -> Location:
    """The Location of the expression that `frame` is evaluating."""
    code = frame.f_code
    spot = Location(code.co_filename, frame.f_lineno, scope=scope_of(frame))
    if sys.version_info >= (3, 11):
        positions = next((p for i, p in enumerate(code.co_positions()) if i == frame.f_lasti // 2), None)
        if positions and positions[2] is not None:
            line, end_line, col, end_col = positions
            text = Location(code.co_filename, line).source()
            raw = text.encode()
            if raw[col:].startswith((b"if ", b"elif ", b"while ", b"assert ", b"for ")):     # 3.11, 3.12: the whole statement
                return _only_expression_on(spot)
            if raw[col:].startswith((b"[", b"{", b"(")) and end_line == line and _iterates(frame):
                col, end_col = _iterated(raw, col, end_col)              # 3.11, 3.12: the whole comprehension
            return Location(code.co_filename, line, len(raw[:col].decode(errors="replace")), end_line,
                            len(raw[:end_col].decode(errors="replace")) if end_line == line else end_col, spot.scope)
    return _only_expression_on(spot, _iterates(frame))


def _iterates(frame: Any) -> bool:
    """True for a frame that asks for an iterator, or for its next item."""
    return opname[frame.f_code.co_code[frame.f_lasti]] in ("GET_ITER", "FOR_ITER")


def _iterated(raw: bytes, col: int, end_col: int) -> tuple[int, int]:
    """The columns of what the comprehension in these columns iterates over; these, if it is none or has several loops."""
    try:
        loops = [node.iter for node in ast.walk(syntax_tree(raw[col:end_col].decode())) if isinstance(node, ast.comprehension)]
    except (SyntaxError, UnicodeDecodeError):
        return col, end_col
    if len(loops) != 1 or loops[0].end_col_offset is None:
        return col, end_col
    return col + loops[0].col_offset, col + loops[0].end_col_offset


_OPERATIONS = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.UnaryOp)


def _only_expression_on(spot: Location, iterates: bool = False) -> Location:
    """Where Python knows the line only (3.10): what a statement tests or iterates over, else the outermost call or operation
    in the line."""
    text = spot.source()
    line = text.strip()
    indent = len(text) - len(text.lstrip())
    if line.startswith("elif "):
        line, indent = line[2:], indent + 2
    for whole in (line, line + "\n  pass"):                  # a statement, or the head of one
        try:
            tree = syntax_tree(whole)
        except SyntaxError:
            continue
        tests = [node.iter if isinstance(node, ast.For) else node.test for node in tree.body
                 if isinstance(node, (ast.If, ast.While, ast.Assert, ast.For))]
        nodes = list(ast.walk(tree))
        loops = [node.iter for node in nodes if isinstance(node, ast.comprehension)] if iterates else []
        found = tests or loops or [node for kinds in (_OPERATIONS, ast.BoolOp) for node in nodes if isinstance(node, kinds)]
        for node in found[:1]:
            start, end = (len(line.encode()[:offset].decode()) for offset in (node.col_offset, node.end_col_offset))
            return Location(spot.file, spot.line, start + indent, spot.line, end + indent, spot.scope)
    return spot


def scope_of(frame: Any) -> str:
    """The qualified name of the function that `frame` runs, without `<locals>`; "" at module level."""
    code = frame.f_code
    name = getattr(code, "co_qualname", None)
    if name is None:                                         # Python 3.10: ask the function that has this code
        functions = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType)]
        name = functions[0].__qualname__ if functions else code.co_name
    return "" if name == "<module>" else name.replace("<locals>.", "")
