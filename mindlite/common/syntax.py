"""Python's parser, for one thread at a time.

CPython 3.11 keeps the depth of the syntax tree that it builds in one place for all threads: two that parse at once end in
"AST constructor recursion depth mismatch" (https://github.com/python/cpython/issues/106905). Graphs are made in the caller's
thread, in compilations beside it, and in the threads of virtual ranks.
"""
import ast

from .locks import new_lock

_one_at_a_time = new_lock()


def syntax_tree(text: str, name: str = "<unknown>") -> ast.Module:
    """The syntax tree of a text. raises : SyntaxError, ValueError as `ast.parse`"""
    with _one_at_a_time:
        return ast.parse(text, name)
