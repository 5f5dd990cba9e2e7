"""Frames and tracebacks at the user's lines, for calls and exceptions that do not come from Python's own frames there.

A compiled function that raises, or one that is executed construct by construct, has no frame of Python at the user's
line. A one-line code object that claims to stand there gives one (Jinja2 shows a template's lines in this way).
"""
import functools
import types

from ..common.location import is_framework


def frame_at(location):
    """A one-entry traceback whose frame stands at the Location."""
    code = compile("raise error", location.file, "exec").replace(
        co_firstlineno=location.line, co_name=location.scope.rpartition(".")[2] or "<module>")
    try:
        exec(code, {"error": Exception()})
    except Exception as made:
        return made.__traceback__.tb_next


def raised_at(error, location):
    """The exception with a traceback of that place alone."""
    return error.with_traceback(frame_at(location) if location is not None else None)


def passed_through(error, location):
    """The exception, whose traceback gets the user's line in place of the framework's frames on the way to what is
    below."""
    rest = error.__traceback__
    while rest is not None and is_framework(rest.tb_frame.f_code.co_filename):
        rest = rest.tb_next
    if location is None or rest is not None and at_line(rest, location):
        return error.with_traceback(rest)
    here = frame_at(location)
    return error.with_traceback(types.TracebackType(rest, here.tb_frame, here.tb_lasti, here.tb_lineno))


def at_line(entry, location):
    """True for a traceback whose first frame stands at the line of the Location."""
    return (entry.tb_frame.f_code.co_filename, entry.tb_lineno) == (location.file, location.line)


@functools.lru_cache(maxsize=1024)
def _call(file, line, name):
    code = compile("fn(*args, **kwargs)", file, "eval")
    return code.replace(co_firstlineno=line, co_name=name)


def call_at(location, namespace, fn, args, kwargs):
    """fn(*args, **kwargs) from a frame at the user's line, for those who look at their caller: warnings, logging, traces.

    namespace : the globals of the user's function
    """
    if location is None or is_framework(getattr(getattr(fn, "__code__", None), "co_filename", "")):
        return fn(*args, **kwargs)
    name = location.scope.rpartition(".")[2] or "<module>"
    return eval(_call(location.file, location.line, name), namespace, {"fn": fn, "args": args, "kwargs": kwargs})


def namespace_of(frames):
    """The globals of the innermost of these Frames whose function is the user's."""
    for frame in reversed(frames):
        if not str(frame.globals.get("__name__", "")).startswith("mindlite."):
            return frame.globals
    return {}
