"""Hints to MindSpore's compiler about functions and Cells, and what mindlite keeps or leaves out. Results are the same."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..common.errors import ArgumentError


def lazy_inline(fn: Any = None, attrs: Any = None, policy: str | None = None) -> Any:
    """A decorator of a Cell's __init__: MindSpore compiles such Cells once and inlines them late. It warns, and is left out.

    fn     : the __init__, a function
    attrs  : str or list of str, the attributes that make two Cells of the class one
    policy : None or "front"
    raises : ArgumentError for what is no function, no such attrs, no such policy
    """
    if attrs is not None and not isinstance(attrs, (str, list)):
        raise ArgumentError(f"lazy_inline: attrs are a str or a list, not {type(attrs).__name__}")
    if policy not in (None, "front"):
        raise ArgumentError(f"lazy_inline: policy is None or 'front', not {policy!r}")
    return _left_out("lazy_inline", fn)


def no_inline(fn: Any = None) -> Any:
    """A decorator of a function that MindSpore does not inline. It warns, and is left out: functions are inlined here.

    fn     : a function
    raises : ArgumentError for what is no function
    """
    return _left_out("no_inline", fn)


def _left_out(name: str, fn: Any) -> Any:
    if fn is not None and not callable(fn):
        raise ArgumentError(f"{name}: takes a function, not {type(fn).__name__}")
    warnings.warn(f"{name} is left out: mindlite inlines by rules of its own, and results are the same", stacklevel=3)
    return fn if fn is not None else lambda function: function


def add_flags(fn: Callable | None = None, **flags: Any) -> Any:
    """Keep remarks with a Cell or a function, as `get_flags` of a Cell gives them; nothing else reads them.

    fn     : a Cell or a function, or None: then a decorator is given
    flags  : values by name
    raises : ArgumentError for what is neither a Cell nor a function
    """
    def keep(target: Any) -> Any:
        if hasattr(target, "add_flags"):
            return target.add_flags(**flags)
        if not callable(target):
            raise ArgumentError(f"add_flags: takes a Cell or a function, not {type(target).__name__}")
        target.__dict__.setdefault("_flags", {}).update(flags)
        return target
    return keep if fn is None else keep(fn)


def core(fn: Callable | None = None, **flags: Any) -> Any:
    """`add_flags` with the remark core=True beside the others."""
    return add_flags(fn, core=True, **flags)
