"""Frames and tracebacks at the user's lines, for calls and exceptions that do not come from Python's own frames there.

A compiled function that raises, or one that is executed construct by construct, has no frame of Python at the user's
line. A one-line code object that claims to stand there gives one (Jinja2 shows a template's lines in this way).
"""
from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any

from .location import Location, is_framework


def frame_at(location: Location) -> Any:
    """A one-entry traceback whose frame stands at the Location."""
    code = compile("raise error", location.file, "exec").replace(
        co_firstlineno=location.line, co_name=location.scope.rpartition(".")[2] or "<module>")
    try:
        exec(code, {"error": Exception()})
    except Exception as made:
        return getattr(made.__traceback__, "tb_next", None)


def passed_through(error: Any, *locations: Location | None) -> Any:
    """The exception, whose traceback gets the user's lines in place of the framework's frames on the way to what is
    below.

    locations : from the outermost call to the line itself; None where one is not known
    """
    below = users_part(error)
    for location in reversed(locations):
        if location is not None and not is_framework(location.file) and not (below and at_line(below, location)):
            below = above(frame_at(location), below)
    return error.with_traceback(below)


def users_part(error: Any) -> Any:
    """The traceback from the first of the user's frames on; None if there is none."""
    below = error.__traceback__
    while below is not None and is_framework(below.tb_frame.f_code.co_filename):
        below = below.tb_next
    return below


def above(entry: Any, below: Any) -> Any:
    """A traceback: this entry, then those of `below`."""
    return types.TracebackType(below, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)


def without_framework(error: Exception) -> Exception:
    """The exception without mindlite's frames in its traceback."""
    entries, entry = [], error.__traceback__
    while entry is not None:
        if not is_framework(entry.tb_frame.f_code.co_filename):
            entries.append(entry)
        entry = entry.tb_next
    return error.with_traceback(functools.reduce(lambda below, entry: above(entry, below), reversed(entries), None))


def at_line(entry: Any, location: Location) -> bool:
    """True for a traceback whose first frame stands at the line of the Location."""
    return (entry.tb_frame.f_code.co_filename, entry.tb_lineno) == (location.file, location.line)


@functools.lru_cache(maxsize=1024)
def _call(file: str, line: int, name: str) -> Any:
    code = compile("fn(*args, **kwargs)", file, "eval")
    return code.replace(co_firstlineno=line, co_name=name)


def call_at(location: Location | None, namespace: dict[str, Any], fn: Any, args: tuple[Any, ...], kwargs: dict) -> Any:
    """fn(*args, **kwargs) from a frame at the user's line, for those who look at their caller: warnings, logging, traces.

    namespace : the globals of the user's function
    """
    if location is None or is_framework(getattr(getattr(fn, "__code__", None), "co_filename", "")):
        return fn(*args, **kwargs)
    name = location.scope.rpartition(".")[2] or "<module>"
    return eval(_call(location.file, location.line, name), namespace, {"fn": fn, "args": args, "kwargs": kwargs})


def namespace_of(frames: Sequence[Any]) -> dict[str, Any]:
    """The globals of the innermost of these Frames whose function is the user's."""
    for frame in reversed(frames):
        if not str(frame.globals.get("__name__", "")).startswith("mindlite."):
            return frame.globals
    return {}
