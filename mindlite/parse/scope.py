"""Which variable does a name mean? Python's scopes, and which variables must live in a cell.

    def f(x):                       x : local of f
        def g(y): return x + y      x : free in g, the local of f: captured and never changed after, a plain free value
        n = 0
        def h():                    n : captured and changed after the capture (by h itself): lives in a cell
            nonlocal n
            n += 1

One walk over the tree in the order of evaluation writes down every use of a name as an Event; all questions are
asked of that list. A variable needs a cell when an inner function captures it and it is assigned after the capture:
at a later event, or at an earlier one of a loop that holds both, or by an inner function; and when the body of a `try`
or `with` assigns it and what is outside of that body reads it, because an exception may come before or after. What a
statement reads and writes (for JIT Fallback) is the list between its first and its last event.

Source: Python's reference, section 4.2 (naming and binding) and 6.2.4 (scopes of comprehensions), PEP 572 (walrus).
"""
from __future__ import annotations

from typing import Any
from collections.abc import Iterable, Iterator

import gast

from ..common.records import dataclass

# Builtins that take all items of an iterable, at once and in order: to them a generator is as good as a list.
CONSUMERS = frozenset(("sum", "min", "max", "sorted", "list", "tuple", "set", "frozenset", "dict"))
# Builtins that stop at the first item that is so.
SEARCHES = {"any": True, "all": False}
# Builtins that look at the frame of their caller when they have no more arguments than this.
FRAME = {"breakpoint": 0, "locals": 0, "globals": 0, "vars": 0, "dir": 0, "eval": 1, "exec": 1}


class Variable:
    """Fields: name; kind: local, closure (a cell of the outermost function) or global; scope; cell: lives in one."""
    __slots__ = ("name", "kind", "scope", "cell")

    def __init__(self, name: str, kind: str, scope: Any = None) -> None:
        self.name, self.kind, self.scope, self.cell = name, kind, scope, False

    def __repr__(self) -> str:
        return f"<Variable {self.name}>"


class Scope:
    """A function, class, comprehension or lazy generator: its variables, the number of
    scopes opened before it, and where its events and loops begin."""

    def __init__(self, kind: str, parent: Any, number: int, start: int, depth: int) -> None:
        self.kind, self.parent, self.number, self.start, self.depth = kind, parent, number, start, depth
        self.variables: dict[str, Variable] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()

    @property
    def function(self) -> Scope:
        """The innermost scope around this that has a frame of its own."""
        return self.parent.function if self.kind == "comprehension" else self


@dataclass(frozen=True)
class Event:
    """One use of a name: by which scope, "load" / "store" / "delete", inside which loops."""
    scope: Scope
    name: str
    kind: str
    loops: tuple


class Names(gast.NodeVisitor):
    """The scopes in a function's tree.

    tree    : gast FunctionDef or Lambda, the outermost function
    closure : names of its closure cells (co_freevars)
    taken   : names of its globals; a builtin of such a name is not the one that Python brings
    scopes  : {node that opens a scope: Scope}
    """

    def __init__(self, tree: gast.AST, closure: Any, taken: Any = ()) -> None:
        self.tree, self.closure = tree, frozenset(closure)
        self.builtins = (CONSUMERS | SEARCHES.keys() | FRAME.keys()).difference(_stored_names(tree), taken, closure)
        self.scopes: dict = {}
        self.events: list = []
        self.spans: dict = {}
        self.protected: list = []                        # (first event, last, in a loop?) of what a `try` holds
        self.outside: dict = {}                          # name -> Variable, of kind closure or global
        self._scope: Any = None
        self._loops: tuple = ()
        self.visit(tree)
        self._find_cells()

    # -- questions

    def find(self, scope: Scope, name: str) -> Variable:
        """The Variable that `name` means in `scope`."""
        here = scope
        while here is not None and name not in here.globals:
            if name in here.variables and (here.kind != "class" or here is scope):
                return here.variables[name]
            if here.kind == "class" and name == "__class__" and here is not scope:
                return here.variables.setdefault(name, Variable(name, "local", here))
            here = here.parent
        kind = "closure" if name in self.closure and here is None else "global"
        return self.outside.setdefault((kind, name), Variable(name, kind))

    def uses(self, node: gast.AST) -> tuple[list, list, list, list]:
        """What the statement, pattern, lambda or generator `node` uses of the Variables outside of it.

        returns : (variables, written, deleted, globals): those that it uses, those of them that it assigns or deletes,
                  those that it deletes; all without globals, of which it has the names that it assigns or deletes
        """
        start, end, opened = self.spans[node]
        variables: dict = {}
        written: dict = {}
        deleted: dict = {}
        globals_: dict = {}
        for event in self.events[start:end]:
            variable = self.find(event.scope, event.name)
            inside = variable.scope is not None and variable.scope.number >= opened
            if variable.kind == "global" and event.kind != "load" and event.scope.number < opened:
                globals_[variable.name] = None
            if variable.kind != "global" and not inside:
                variables[variable] = None
                if event.kind != "load":
                    written[variable] = None
                if event.kind == "delete":
                    deleted[variable] = None
        return list(variables), list(written), list(deleted), list(globals_)

    def assigned_globals(self) -> set[str]:
        """The names of the globals that the function assigns or deletes."""
        return {event.name for event in self.events if event.kind != "load"
                and self.find(event.scope, event.name).kind == "global"}

    def _find_cells(self) -> None:
        captures: dict = {}
        stores: dict = {}
        loads: dict = {}
        for position, event in enumerate(self.events):
            variable = self.find(event.scope, event.name)
            if variable.kind == "local":
                captured = event.scope.function is not variable.scope.function
                if captured:
                    captures.setdefault(variable, []).append((position, event.loops))
                if event.kind != "load":
                    stores.setdefault(variable, []).append((position, event.loops, captured))
                else:
                    loads.setdefault(variable, []).append(position)
        for variable, captured in captures.items():
            depth = variable.scope.depth
            first = captured[0][0]
            loops = {loop for _, within in captured for loop in within[depth:]}
            variable.cell = any(by_inner or position > first or loops.intersection(within[depth:])
                                for position, within, by_inner in stores.get(variable, ()))
        for start, end, in_loop in self.protected:
            for variable, stored in stores.items():
                if variable.scope.start <= start and any(start <= position < end for position, _, _ in stored):
                    variable.cell |= any(in_loop or not start <= position < end for position in loads.get(variable, ()))

    # -- the walk

    def visit(self, node: gast.AST) -> None:
        """Walk `node` and remember which events it made, and how many scopes were opened before it."""
        start, opened = len(self.events), len(self.scopes)
        super().visit(node)
        if isinstance(node, (gast.stmt, gast.pattern, gast.GeneratorExp, gast.Lambda, gast.Call)):
            self.spans[node] = (start, len(self.events), opened)

    def _all(self, nodes: Iterable[gast.AST]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _use(self, name: str | None, kind: str) -> None:
        if name is None:
            return
        self.events.append(Event(self._scope, name, kind, self._loops))
        if kind != "load":
            self._own(self._scope, name)

    @staticmethod
    def _own(scope: Scope, name: str) -> None:
        if name not in scope.globals and name not in scope.nonlocals:
            scope.variables.setdefault(name, Variable(name, "local", scope))

    def _open(self, kind: str, node: gast.AST) -> None:
        self._scope = self.scopes[node] = Scope(kind, self._scope, len(self.scopes), len(self.events),
                                                 len(self._loops))

    def _close(self) -> None:
        self._scope = self._scope.parent

    def visit_Nonlocal(self, node: gast.AST) -> None:
        """A use, though nothing else may be done with the names: Python wants a variable of each around it."""
        for name in node.names:
            self._use(name, "load")

    def _in_loop(self, node: gast.AST, *parts: Any) -> None:
        outside, self._loops = self._loops, (*self._loops, node)
        for part in parts:
            self._all(part)
        self._loops = outside

    def visit_FunctionDef(self, node: gast.AST) -> None:
        """Decorators and defaults outside, the body inside, the name last."""
        arguments, outermost = node.args, node is self.tree
        body = node.body if isinstance(node.body, list) else [node.body]
        if not outermost:
            self._all(getattr(node, "decorator_list", ()))
            self._all([*arguments.defaults, *arguments.kw_defaults])
        self._open("function", node)
        _Declarations(self._scope).visit_all(body)
        for argument in arguments_of(arguments):
            self._use(argument.id, "store")
        self._all(body)
        self._close()
        if not outermost and not isinstance(node, gast.Lambda):
            self._use(node.name, "store")

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_ClassDef(self, node: gast.AST) -> None:
        """Decorators and bases outside, the body in a scope that inner functions do not see, the name last."""
        self._all([*node.decorator_list, *node.bases, *node.keywords])
        self._open("class", node)
        _Declarations(self._scope).visit_all(node.body)
        self._all(node.body)
        self._close()
        self._use(node.name, "store")

    def visit_ListComp(self, node: gast.AST) -> None:
        """The first iterable outside, all else inside, each generator a loop around what follows it."""
        self._comprehension(node, "comprehension")

    visit_SetComp = visit_DictComp = visit_ListComp

    def visit_GeneratorExp(self, node: gast.AST) -> None:
        """Lazy: a frame of its own, which captures."""
        self._comprehension(node, "generator")

    def visit_Call(self, node: gast.AST) -> None:
        """sum(f(x) for x in xs): the generator is walked as a list comprehension."""
        if not self._consumes_generator(node):
            self.generic_visit(node)
        else:
            self.visit(node.func)
            start, opened = len(self.events), len(self.scopes)
            self._comprehension(node.args[0], "comprehension")
            self.spans[node.args[0]] = (start, len(self.events), opened)

    def _consumes_generator(self, call: gast.AST) -> bool:
        """any(..), sum(..), "".join(..) of a generator only: nobody sees that it is not lazy."""
        if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], gast.GeneratorExp) \
                or any(generator.is_async for generator in call.args[0].generators):
            return False
        return getattr(call.func, "id", None) in self.builtins or getattr(call.func, "attr", None) == "join"

    def _comprehension(self, node: gast.AST, kind: str) -> None:
        self.visit(node.generators[0].iter)
        self._open(kind, node)
        outside = self._loops
        for number, generator in enumerate(node.generators):
            if number:
                self.visit(generator.iter)
            self._loops = (*self._loops, generator)
            self._all([generator.target, *generator.ifs])
        self._all([node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt])
        self._loops = outside
        self._close()

    def visit_Name(self, node: gast.AST) -> None:
        """A use; super() uses __class__ too."""
        if node.id == "super":
            self._use("__class__", "load")
        self._use(node.id, {gast.Load: "load", gast.Del: "delete"}.get(type(node.ctx), "store"))

    def visit_NamedExpr(self, node: gast.AST) -> None:
        """A walrus in a comprehension assigns in the function around it."""
        self.visit(node.value)
        owner = self._scope
        while owner.kind in ("comprehension", "generator"):
            owner = owner.parent
        self._own(owner, node.target.id)
        self.events.append(Event(self._scope, node.target.id, "store", self._loops))

    def visit_Assign(self, node: gast.AST) -> None:
        """The value first."""
        self._all([node.value, *node.targets])

    def visit_AugAssign(self, node: gast.AST) -> None:
        """A read, the value, a write."""
        if isinstance(node.target, gast.Name):
            self._use(node.target.id, "load")
        self._all([node.value, node.target])

    def visit_AnnAssign(self, node: gast.AST) -> None:
        """The annotation is not evaluated; without a value the target only becomes local."""
        if node.value is not None:
            self._all([node.value, node.target])
        elif isinstance(node.target, gast.Name):
            self._own(self._scope, node.target.id)

    def visit_For(self, node: gast.AST) -> None:
        """The iterable outside of the loop."""
        self.visit(node.iter)
        self._in_loop(node, [node.target], node.body)
        self._all(node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: gast.AST) -> None:
        """The condition inside of the loop."""
        self._in_loop(node, [node.test], node.body)
        self._all(node.orelse)

    def visit_Import(self, node: gast.AST) -> None:
        """`import a.b` assigns a."""
        for alias in node.names:
            self._use(alias.asname or alias.name.split(".")[0], "store")

    visit_ImportFrom = visit_Import

    def _protected(self, nodes: Iterable[gast.AST]) -> None:
        """Walk what stands in a `try` or `with`."""
        start = len(self.events)
        self._all(nodes)
        self.protected.append((start, len(self.events), bool(self._loops)))

    def visit_Try(self, node: gast.AST) -> None:
        """`except` protects the body, `finally` all that comes before it."""
        start = len(self.events)
        self._protected(node.body)
        self._all([*node.handlers, *node.orelse])
        if node.finalbody:
            self.protected.append((start, len(self.events), bool(self._loops)))
            self._all(node.finalbody)

    def visit_With(self, node: gast.AST) -> None:
        """A manager stands outside of what it protects, and inside of what those before it do."""
        start = len(self.events)
        for item in node.items:
            self.visit(item.context_expr)
            self._protected([item.optional_vars])
        self._all(node.body)
        self.protected.append((start, len(self.events), bool(self._loops)))

    def visit_ExceptHandler(self, node: gast.AST) -> None:
        """The exception's name is assigned, and deleted at the end."""
        name = node.name.id if isinstance(node.name, gast.Name) else node.name
        self._all([node.type])
        self._use(name, "store")
        self._all(node.body)
        self._use(name, "delete")

    def visit_MatchAs(self, node: gast.AST) -> None:
        """A capture."""
        self._all([node.pattern])
        self._use(node.name, "store")

    def visit_MatchStar(self, node: gast.AST) -> None:
        """A capture of the rest."""
        self._use(node.name, "store")

    def visit_MatchMapping(self, node: gast.AST) -> None:
        """Keys, patterns, and the capture of the rest."""
        self._all([*node.keys, *node.patterns])
        self._use(node.rest, "store")


def _stored_names(tree: gast.AST) -> Iterator[str]:
    """Every name that something in the tree assigns."""
    for node in gast.walk(tree):
        if isinstance(node, gast.Name) and not isinstance(node.ctx, gast.Load):
            yield node.id
        yield from filter(None, (getattr(node, field, None) for field in ("name", "asname", "rest")))


class _Declarations(gast.NodeVisitor):
    """`global` and `nonlocal` of one scope; they hold for all of it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_all(self, nodes: Iterable[gast.AST]) -> None:
        """Walk a body."""
        for node in nodes:
            self.visit(node)

    def visit_Global(self, node: gast.AST) -> None:
        """global a, b"""
        self.scope.globals.update(node.names)

    def visit_Nonlocal(self, node: gast.AST) -> None:
        """nonlocal a, b"""
        self.scope.nonlocals.update(node.names)

    def visit_FunctionDef(self, node: gast.AST) -> None:
        """Another scope."""

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef


def arguments_of(arguments: gast.AST) -> list[gast.AST]:
    """The names of a gast `arguments`, in the order of inspect.Signature."""
    return [*arguments.posonlyargs, *arguments.args, *filter(None, [arguments.vararg]), *arguments.kwonlyargs,
            *filter(None, [arguments.kwarg])]


def is_generator(node: gast.AST) -> bool:
    """Does the function `node` yield?"""
    todo = list(node.body) if isinstance(node.body, list) else [node.body]
    while todo:
        part = todo.pop()
        if isinstance(part, (gast.Yield, gast.YieldFrom)):
            return True
        if not isinstance(part, (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef)):
            todo.extend(gast.iter_child_nodes(part))
    return False
