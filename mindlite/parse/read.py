"""Stage "read": from a Python function to its source text, its syntax tree and exact locations in the user's file.

A `def` is parsed by itself where its lines tell where it ends, else the whole text that it was compiled from; positions
are those of the file either way. Where the text comes from:

    a file, a notebook cell, IPython, a doctest, the REPL of Python 3.13     linecache
    python -c                                                                linecache (3.13) or sys.orig_argv
    python < file                                                            the file that stands at standard input
    the REPL of Python 3.10 to 3.12                                          readline's history
    exec                                                                     linecache, or `__source__` in its globals

A text that is not in linecache is put there, so that errors can show the line. Several functions may begin on one
line: then the columns of the bytecode decide (Python 3.11+), else each candidate is compiled and its code compared.
So are those from texts that are only likely to be the right ones.
"""
from __future__ import annotations

import __future__
import ast
import copy
import functools
import inspect
import linecache
import os
import re
import stat
import sys
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any

import gast

from ..common.errors import Refusal
from ..common.location import Location
from ..common.records import dataclass
from ..common.syntax import syntax_tree

_SHARED = ("<string>", "<stdin>")            # file names that many texts have
_FUTURE = __future__.annotations.compiler_flag
_PRIVATE = re.compile(r"\b__\w*[^\W_]_?\b")    # names that a class mangles
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Source:
    """tree: gast FunctionDef or Lambda, private names mangled; file (a name that linecache knows); first_line; text of
    the whole file; module: the function's `__name__` of globals; scope: its qualified name without `<locals>`;
    flags: its `from __future__` imports, as compile() takes them."""
    tree: gast.AST
    file: str
    first_line: int
    text: str
    module: str
    scope: str
    flags: int

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    def column(self, line: int, offset: int) -> int:
        """The column in characters of a byte offset in a line."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def location(self, node: gast.AST, scope: str | None = None) -> Location:
        """The Location of a tree's node."""
        return Location(self.file, node.lineno, self.column(node.lineno, node.col_offset), node.end_lineno,
                        self.column(node.end_lineno, node.end_col_offset), self.scope if scope is None else scope)

    def segment(self, node: gast.AST) -> str:
        """The text of a tree's node, its first line without indentation."""
        location = self.location(node)
        lines = self.lines[location.line - 1:location.end_line]
        lines[-1] = lines[-1][:location.end_col]
        lines[0] = lines[0][location.col:]
        return "\n".join(lines)


def read(fn: Any) -> Source:
    """The Source of a Python function, method or lambda.

    raises : Refusal if no text that it was compiled from is to be found; ArgumentError is left to the caller,
             who passes functions only
    """
    fn = getattr(fn, "__func__", fn)
    code = fn.__code__
    scope = fn.__qualname__.replace("<locals>.", "")
    for name, text, certain in _texts(fn):
        node, classes = certain and _statement(text, code), ()
        if not node:
            module = _parse(text)
            node, classes = _find(module, code, certain) if module is not None else (None, ())
        if node is not None:
            tree = gast.ast_to_gast(_mangled(node, classes[-1] if classes else ""))
            name = _register(name, text)
            return Source(tree, name, code.co_firstlineno, text, fn.__globals__.get("__name__", ""), scope,
                          code.co_flags & _FUTURE)
    raise Refusal(
        f"the source of {scope!r} is not to be found",
        location=Location(code.co_filename, code.co_firstlineno, scope=scope),
        hint="write the function to a file (and import it again if the file has changed), or give the text to `exec` "
             "as `__source__` in its globals")


# -- where the text may come from

def _texts(fn: Any) -> Iterator:
    """(file name, text, certain) of all that `fn` may have been compiled from, the likeliest first."""
    name = fn.__code__.co_filename
    linecache.checkcache(name)
    lines = linecache.getlines(name, fn.__globals__)
    if lines:
        yield name, "".join(lines), True
    if isinstance(fn.__globals__.get("__source__"), str):
        yield name, fn.__globals__["__source__"], False
    if not lines and name.startswith("<"):
        try:
            yield name, "".join(inspect.findsource(fn)[0]), False
        except OSError:                      # how inspect says that it has none either: on to what may come next
            yield from _texts_of_main(name)


def _texts_of_main(name: str) -> Iterator:
    if name == "<string>" and "-c" in sys.orig_argv:
        following = sys.orig_argv[sys.orig_argv.index("-c") + 1:]
        if following:
            yield name, following[0], False
    if name == "<stdin>":
        status = os.fstat(0) if sys.__stdin__ is not None and not sys.__stdin__.closed else None
        if status is not None and stat.S_ISREG(status.st_mode):
            yield name, os.pread(0, status.st_size, 0).decode(errors="replace"), False
        yield from _texts_of_history()


def _texts_of_history() -> Iterator:
    """The REPL's input, statement by statement from the last: lines of readline's history that parse together."""
    readline = sys.modules.get("readline")       # a REPL without it has no history
    if readline is None:
        return
    length = readline.get_current_history_length()
    lines = [readline.get_history_item(number + 1) or "" for number in range(length)]
    for start in range(length - 1, -1, -1):
        if lines[start][:1] in ("", " ", "\t", "#") or start and lines[start - 1].startswith("@"):
            continue
        stop = start + 1
        while stop < length and lines[stop][:1] in ("", " ", "\t", ")", "]", "}"):
            stop += 1
        if lines[start].startswith("@"):
            while stop < length and lines[stop].startswith(("@", "def ", "async ", " ", "\t")):
                stop += 1
        yield "<stdin>", "\n".join(lines[start:stop]) + "\n", False


def _register(name: str, text: str) -> str:
    """The name under which linecache knows `text`: `name`, or `name` with a number where others have that name too."""
    number, candidate = 0, name
    while True:
        known = "".join(linecache.getlines(candidate))
        if known.rstrip("\n") == text.rstrip("\n"):
            return candidate
        if not known and candidate not in _SHARED and not os.path.exists(candidate):
            linecache.cache[candidate] = (len(text), None, text.splitlines(keepends=True), candidate)
            return candidate
        number += 1
        candidate = f"{name}#{number}"


@functools.lru_cache(maxsize=16)
def _parse(text: str) -> gast.AST | None:
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError):        # not Python as a whole (a REPL's fragment): not the text that was compiled
        return None


# -- which function in the text

def _statement(text: str, code: CodeType) -> gast.AST | None:
    """The `def` that begins where `code` does, parsed without the rest of its file; None if that does not tell it.

    It ends where the indentation does. Where that is wrong (a string or a bracket reaches beyond) the part does not parse.
    """
    lines = text.split("\n")
    start = code.co_firstlineno - 1
    if code.co_name == "<lambda>" or start >= len(lines):
        return None
    indent = lines[start][:len(lines[start]) - len(lines[start].lstrip())]
    if indent.strip(" "):
        return None
    stop = start
    while stop < len(lines) and lines[stop].startswith((f"{indent}@", f"{indent} ", f"{indent}#")):
        stop += 1                                # decorators come before the `def`
    stop += 1
    while stop < len(lines) and (lines[stop].strip()[:1] in ("", "#") or lines[stop].startswith(indent + " ")):
        stop += 1
    part = "\n".join(lines[start:stop])
    if _PRIVATE.search(part):                    # mangled by the name of a class that is not in this part
        return None
    module = _parse.__wrapped__(f"if 1:\n{part}" if indent else part)
    if module is None:
        return None
    block = module.body[0].body if indent else module.body
    if len(block) != 1 or not isinstance(block[0], ast.FunctionDef) or block[0].name != code.co_name \
            or _argument_names(block[0], ()) != _arguments(code):
        return None
    return ast.increment_lineno(block[0], start - bool(indent))


def _find(module: gast.AST, code: CodeType, certain: bool) -> tuple:
    """(node, names of the classes around it) of the function in `module` that became `code`, or (None, ())."""
    candidates = [(node, classes) for node, classes in _functions(module, ())
                  if _first_line(node) == code.co_firstlineno and _name(node) == code.co_name
                  and _argument_names(node, classes) == _arguments(code)]
    if candidates and not certain:
        candidates = _by_code(candidates, module, code)
    elif len(candidates) > 1:
        candidates = _by_columns(candidates, code) or _by_code(candidates, module, code)
    return candidates[0] if candidates else (None, ())


def _functions(node: gast.AST, classes: tuple[str, ...]) -> Iterator:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield child, classes
        yield from _functions(child, (*classes, child.name) if isinstance(child, ast.ClassDef) else classes)


def _name(node: gast.AST) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _first_line(node: gast.AST) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])


def _argument_names(node: gast.AST, classes: tuple[str, ...]) -> tuple[str, ...]:
    a = node.args
    names = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return tuple(_mangle(argument.arg, classes[-1] if classes else "") for argument in names)


def _arguments(code: CodeType) -> tuple[str, ...]:
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount + stars]


def _by_columns(candidates: list, code: CodeType) -> list:
    """The candidate whose body is the smallest that holds every position of the bytecode; [] if the code has none."""
    if sys.version_info < (3, 11):
        return []
    spans = [(p[0], p[2], p[1], p[3]) for p in code.co_positions() if None not in p and (p[0], p[2]) < (p[1], p[3])]
    if not spans:
        return []
    first, last = min(span[:2] for span in spans), max(span[2:] for span in spans)
    fitting = []
    for node, classes in candidates:
        body = node.body if isinstance(node.body, list) else [node.body]
        begin = (body[0].lineno, body[0].col_offset)
        end = (body[-1].end_lineno, body[-1].end_col_offset)
        if begin <= first and last <= end:
            fitting.append((begin, end, node, classes))
    fitting.sort(key=lambda item: item[0], reverse=True)         # those that fit are nested: the innermost begins last
    return [(node, classes) for _, _, node, classes in fitting[:1]]


def _by_code(candidates: list, module: gast.AST, code: CodeType) -> list:
    """The candidate that compiles to `code`: each is given a line number of its own by which its code is known."""
    unique = 1_000_000
    for number, (node, classes) in enumerate(candidates):
        memo: dict = {}
        changed = copy.deepcopy(module, memo)
        twin = memo[id(node)]
        if getattr(twin, "decorator_list", None):
            twin = twin.decorator_list[0]
        ast.increment_lineno(twin, unique + number - twin.lineno)        # all of it: a change of line costs a NOP
        made = compile(changed, code.co_filename, "exec", dont_inherit=True)
        outermost = next((inner for inner in _codes(made) if inner.co_firstlineno == unique + number), None)
        if outermost is not None and _same(outermost, code):
            return [(node, classes)]
    return []


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _same(a: CodeType, b: CodeType) -> bool:
    """Do two codes do the same, wherever they stand?"""
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return ((a.co_name, a.co_code, a.co_names, a.co_varnames, a.co_freevars, a.co_cellvars)
                == (b.co_name, b.co_code, b.co_names, b.co_varnames, b.co_freevars, b.co_cellvars)
                and len(a.co_consts) == len(b.co_consts) and all(map(_same, a.co_consts, b.co_consts)))
    return type(a) is type(b) and repr(a) == repr(b)


# -- private names

def _mangle(name: str, owner: str) -> str:
    private = owner.strip("_") and name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{owner.lstrip('_')}{name}" if private else name


def _mangled(node: gast.AST, owner: str) -> gast.AST:
    """`node` with the private names of class `owner` written out: __x -> _Owner__x (a copy if there is a class)."""
    return _Mangle(owner).visit(copy.deepcopy(node)) if owner.strip("_") else node


class _Mangle(ast.NodeTransformer):
    FIELDS = ("id", "attr", "arg", "name", "asname", "rest", "names")

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def generic_visit(self, node: gast.AST) -> gast.AST:
        """Every field that holds names; a nested class has names of its own."""
        for field in self.FIELDS:
            value = getattr(node, field, None)
            if isinstance(value, str) and not (isinstance(node, ast.alias) and field == "name" and "." in value):
                setattr(node, field, _mangle(value, self.owner))
            elif isinstance(node, (ast.Global, ast.Nonlocal)) and field == "names":
                node.names = [_mangle(name, self.owner) for name in node.names]
        if isinstance(node, ast.ClassDef):
            return node
        return super().generic_visit(node)
