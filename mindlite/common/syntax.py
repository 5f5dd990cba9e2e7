"""Python's parser, for one thread at a time.

CPython 3.11 keeps the depth of the syntax tree that it builds in one place for all threads: two that parse at once end in
"AST constructor recursion depth mismatch" (https://github.com/python/cpython/issues/106905). Graphs are made in the caller's
thread, in compilations beside it, and in the threads of virtual ranks.
"""
import ast
import os
import threading

_one_at_a_time = threading.RLock()


def syntax_tree(text: str, name: str = "<unknown>") -> ast.Module:
    """The syntax tree of a text. raises : SyntaxError, ValueError as `ast.parse`"""
    with _one_at_a_time:
        return ast.parse(text, name)


def _in_child() -> None:
    """A forked process has none of the threads that could hold the lock."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
