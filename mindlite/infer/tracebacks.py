"""Tracebacks that show the user's lines, for exceptions that were not raised by Python's own frames there.

A compiled function that raises, or one that is executed construct by construct, has no frame of Python at the user's
line. A one-line code object that claims to stand there gives one (Jinja2 shows a template's lines in this way).
"""
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
    if location is None:
        return error.with_traceback(rest)
    here = frame_at(location)
    return error.with_traceback(types.TracebackType(rest, here.tb_frame, here.tb_lasti, here.tb_lineno))
