"""Stage "parse": from a Python function to a FuncGraph of the syntax dialect.

    def f(x):               f(x):     1 = compare(x, 0; >)      switch(1, true=f/true, false=f/false, join=f/after_if)
        if x > 0:           f/true():     2 = binary(x, 1; *)   f/after_if(2)
            y = x * 1       f/false():                          f/after_if(0)
        else: y = 0         f/after_if(y):                      return y
        return y

A `Parser` walks one function's tree and keeps the block that it is writing; what each kind of tree node does stands in
tables, EXPRESSIONS, COMPREHENSIONS and STATEMENTS. Control flow is blocks, names are resolved (`scope.py`), variables
are values (`ssa.py`), and what a graph cannot say is one `interpret` node per statement (`interpret.py`). Every node
knows its location in the user's file.
"""
from __future__ import annotations

import builtins
import inspect
import weakref
from collections.abc import Iterable
from typing import Any

import gast

from ..common.errors import Refusal, UndefinedNameError
from ..common.location import Location, Origin, is_framework
from ..mindir import syntax
from ..mindir.graph import AnfNode, CNode, FuncGraph, ValueNode
from ..mindir.syntax import Undefined
from .comprehensions import COMPREHENSIONS, loops
from .expressions import EXPRESSIONS, suspend
from .interpret import interpret_statement, leave_statement, statements_around, why_left
from .read import Source, read
from .scope import Names, Scope, Variable, arguments_of
from .scope import is_generator
from .ssa import SSA
from .statements import STATEMENTS

_parsed: dict = {}                           # id(code) -> (weak reference to the code, {what is left to Python: graph})
_KINDS = ("coroutine", inspect.CO_COROUTINE), ("asynchronous generator", inspect.CO_ASYNC_GENERATOR)


def parse_function(fn: Any, marks: Any = ()) -> FuncGraph:
    """The FuncGraph (syntax dialect, kind "function") of a Python function, method or lambda; once per code object.

    marks  : {("statement", spot, n): why} the n-th statement around that spot is left to Python, where it is in fn
    raises : Refusal if fn is a coroutine function, if its source is not to be found, or if it has
             a statement that graph mode refuses
    """
    fn = getattr(fn, "__func__", fn)
    code = fn.__code__
    left = {mark[1:]: why for mark, why in marks.items() if mark[0] == "statement" and mark[1][0] == code.co_filename
            and mark[1][1] >= code.co_firstlineno} if marks else {}
    known = _parsed.get(id(code))
    if known is not None and known[0]() is code and frozenset(left) in known[1]:
        return known[1][frozenset(left)]
    for kind, flag in _KINDS:
        if code.co_flags & flag:
            spot = Location(code.co_filename, code.co_firstlineno, scope=fn.__qualname__.replace("<locals>.", ""))
            raise Refusal(f"{fn.__qualname__!r} is a {kind}, which cannot become a graph", location=spot,
                                   hint="call it from Python")
    source = read(fn)
    names = Names(source.tree, code.co_freevars, fn.__globals__)
    parser = Parser(source, source.tree, names, SSA(), None, source.scope, left)
    graph = parser.function()
    parser.ssa.finish()
    graph.left = {(spot, n) for spot, n in left if n < statements_around(parser, source.tree, spot) - 1}
    graph.names = {name: location for name, location in parser.reads.items() if name not in names.assigned_globals()}
    key = id(code)
    if known is None or known[0]() is not code:
        _parsed[key] = weakref.ref(code, lambda _: _parsed.pop(key, None)), {}
    _parsed[key][1][frozenset(left)] = graph
    return graph


class Parser:
    """The state of parsing one function.

    source : Source of the outermost function        names : Names, its scopes    ssa : SSA, shared by inner functions
    outer  : Parser of the function around, or None  scope : the Scope that names are looked up in
    graph  : the function's FuncGraph                block : the block being written, None after a jump (dead code)
    cells  : {Variable: node of its cell}, shared    loops, parts : the loops, the parts of `try` around, innermost last
    reads  : {global name: Location of its first use where no `except` is around}, shared
    left   : {(spot, n): why} of the statements that are left to Python
    """

    def __init__(self, source: Source, tree: gast.AST, names: Names, ssa: SSA, outer: Parser | None, name: str,
                 left: Any) -> None:
        self.source, self.tree, self.names, self.ssa, self.outer, self.name = source, tree, names, ssa, outer, name
        self.scope, self.left = names.scopes[tree], left
        self.cells: dict = {} if outer is None else outer.cells
        self.reads: dict = {} if outer is None else outer.reads
        self.loops: list = []
        self.parts: list = []
        short = name.rpartition(".")[2].replace("<lambda>", "lambda")
        self.graph: FuncGraph = ssa.block(f"{outer.graph.name}.{short}" if outer else short, kind="function",
                                          parent=outer and outer.block, origin=self.origin(tree))
        self.block: Any = self.graph                     # None where what follows is dead

    # -- the function

    def function(self) -> FuncGraph:
        """Parse the whole function and return its graph (not finished: that is the outermost's to do)."""
        if isinstance(self.tree, gast.GeneratorExp):
            return self.generator_expression()
        self.graph.generator = is_generator(self.tree)
        for argument in arguments_of(self.tree.args):
            parameter = self.graph.add_parameter(argument.id, origin=self.origin(argument))
            self.ssa.write(self.block, self.names.find(self.scope, argument.id), parameter)
        self.graph.signature = signature_of(self.tree.args)
        self.make_cells(self.scope, self.tree)
        if isinstance(self.tree, gast.Lambda):
            value = self.evaluate(self.tree.body)
            self.end(syntax.return_, value, node=self.tree.body)
        else:
            self.execute(self.tree.body)
        if self.block is not None:
            self.end(syntax.return_, self.constant(None, self.tree), node=self.tree)
        return self.graph

    def generator_expression(self) -> FuncGraph:
        """A generator function of one argument, the first iterable."""
        self.graph.generator = True
        self.graph.signature = inspect.Signature([inspect.Parameter("iterable", inspect.Parameter.POSITIONAL_ONLY)])
        self.make_cells(self.scope, self.tree)
        iterable = self.graph.add_parameter("iterable", origin=self.origin(self.tree))
        loops(self, self.tree, iterable, lambda: suspend(self, self.tree, self.evaluate(self.tree.elt)))
        self.end(syntax.return_, self.constant(None, self.tree), node=self.tree)
        return self.graph

    def make_cells(self, scope: Scope, node: gast.AST) -> None:
        """Boxes for the variables of `scope` that need one, filled with what they are now (arguments) or Undefined."""
        for variable in scope.variables.values():
            if variable.cell:
                value = self.ssa.states[self.block].values.get(variable)
                value = self.constant(Undefined(variable.name), node) if value is None else value
                self.cells[variable] = self.add(syntax.cell_new, value, node=node, name=variable.name)

    def inner(self, tree: gast.AST, name: str) -> FuncGraph:
        """The graph of a function inside this one."""
        parser = Parser(self.source, tree, self.names, self.ssa, self, f"{self.name}.{name}", self.left)
        return parser.function()

    # -- nodes

    def origin(self, node: gast.AST) -> Origin:
        """The Origin of what comes from this tree node."""
        return Origin(self.source.location(node, self.name))

    def error(self, message: str, node: gast.AST, hint: str = "") -> Refusal:
        """A GraphSyntaxError at a tree node."""
        return Refusal(message, hint=hint, location=self.source.location(node, self.name))

    def constant(self, value: Any, node: gast.AST) -> ValueNode:
        """A ValueNode."""
        return ValueNode(value, origin=self.origin(node))

    def add(self, fn: Any, *args: Any, node: gast.AST, **attrs: Any) -> CNode:
        """A CNode at the end of the present block. (`attrs` may hold any name, so it is not built by FuncGraph.add.)"""
        made = CNode(self.block, fn, args, attrs, origin=self.origin(node))
        self.block.nodes.append(made)
        return made

    def evaluate(self, node: gast.AST) -> AnfNode:
        """Write what the expression does and return the node of its value."""
        rule = COMPREHENSIONS.get(type(node)) or EXPRESSIONS.get(type(node))
        if rule is None:
            raise self.error(f"{type(node).__name__} is not an expression that graph mode knows", node)
        return rule(self, node)

    def evaluate_all(self, nodes: Iterable[gast.AST]) -> list[AnfNode]:
        """The values of several expressions, from left to right."""
        return [self.evaluate(node) for node in nodes]

    def execute(self, statements: Iterable[gast.AST]) -> None:
        """Write what the statements do; those after a jump are dead and left out."""
        for statement in statements:
            if self.block is None:
                return
            why = why_left(self, statement) if self.left else None
            if why is not None:
                leave_statement(self, statement, why)
            else:
                STATEMENTS.get(type(statement), interpret_statement)(self, statement)

    # -- blocks

    def new_block(self, name: str, predecessors: Any, node: gast.AST, loop: Any = None) -> FuncGraph:
        """A block of this function: name "while.body" gives "f/while.body"."""
        return self.ssa.block(f"{self.graph.name}/{name}", predecessors, loop=loop, origin=self.origin(node))

    def end(self, fn: Any, *args: Any, node: gast.AST, **attrs: Any) -> None:
        """Write the terminator of the present block; what follows is dead until `block` is set."""
        self.block.output = CNode(self.block, fn, args, attrs, origin=self.origin(node))
        self.block = None

    def jump(self, target: FuncGraph, node: gast.AST) -> None:
        """End the present block, if it is alive, with a jump."""
        if self.block is not None:
            self.ssa.jump(self.block, target, self.origin(node))
            self.block = None

    def switch(self, condition: AnfNode, true: Any, false: Any, node: gast.AST) -> Any:
        """Branch to two new blocks, so named; returns them and the terminator, whose `join` may be set."""
        here = self.block
        blocks = [self.new_block(name, [here], node) for name in (true, false)]
        self.end(syntax.switch, condition, node=node, true=blocks[0], false=blocks[1], join=None)
        return (*blocks, here.output)

    def join(self, name: str, ends: list, node: gast.AST, switch: Any = None) -> None:
        """Go on in the block where `ends` meet (None among them: dead); with one end left that is the end itself."""
        ends = [end for end in ends if end is not None]
        if len(ends) > 1:
            self.block = self.new_block(name, ends, node)
            for end in ends:
                self.ssa.jump(end, self.block, self.origin(node))
            if switch is not None:
                switch.attrs["join"] = self.block
        else:
            self.block = ends[0] if ends else None

    # -- names

    def super_arguments(self) -> tuple[str, ...]:
        """What `super()` stands for here: ("__class__", name of the first argument); () where it has no meaning."""
        first = arguments_of(self.tree.args)[:1]
        return ("__class__", first[0].id) if first and self.find("__class__").kind != "global" else ()

    def find(self, name: str) -> Variable:
        """The Variable that `name` means here."""
        return self.names.find(self.scope, name)

    def read(self, name: str, node: gast.AST) -> AnfNode:
        """The value of a variable; NameError at run time if it has none."""
        variable = self.find(name)
        if variable.kind == "global":
            if not self.may_catch():
                self.reads.setdefault(name, self.source.location(node, self.name))
            return self.add(syntax.load_global, node=node, name=name)
        if variable.kind == "closure":
            return self.add(syntax.load_closure, node=node, name=name)
        free = variable.scope.function is not self.names.scopes[self.tree]
        if variable.cell:
            return self.add(syntax.cell_get, self.cells[variable], node=node, name=name, free=free)
        value = self.value_of(variable)
        return self.add(syntax.load_local, value, node=node, name=name, free=free) \
            if self.ssa.may_be_undefined(value) else value

    def may_catch(self) -> bool:
        """Is this spot in the body of a `try` with `except`, here or in a function around?"""
        return any(not part.handles and part.final is None for part in self.parts) or bool(
            self.outer and self.outer.may_catch())

    def value_of(self, variable: Any) -> Any:
        """The value of a local variable of this function or, if it is captured, of one around; it may be Undefined."""
        parser: Any = self
        while variable.scope.function is not parser.names.scopes[parser.tree]:
            parser = parser.outer
        return self.ssa.read(parser.block, variable)

    def write(self, name: str, value: Any, node: gast.AST) -> None:
        """Assign."""
        self.assign(self.find(name), value, node)

    def assign(self, variable: Any, value: Any, node: gast.AST) -> None:
        """Assign to a Variable, wherever it lives."""
        if variable.kind == "global":
            self.add(syntax.store_global, value, node=node, name=variable.name)
        elif variable.kind == "closure":
            self.add(syntax.store_closure, value, node=node, name=variable.name)
        elif variable.cell:
            self.add(syntax.cell_set, self.cells[variable], value, node=node, name=variable.name)
        else:
            self.ssa.write(self.block, variable, value)

    def delete(self, name: str, node: gast.AST) -> None:
        """del name"""
        variable = self.find(name)
        if variable.kind == "global":
            self.add(syntax.delete_global, node=node, name=name)
        else:
            self.read(name, node)
            self.assign(variable, self.constant(Undefined(name), node), node)


def signature_of(arguments: gast.AST) -> inspect.Signature:
    """The inspect.Signature of a gast `arguments`; a default is its number among `defaults` and then `kw_defaults`."""
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    made = []
    for number, argument in enumerate(positional):
        kind = kinds.POSITIONAL_ONLY if number < len(arguments.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        made.append(kinds(argument.id, kind, default=number - first if number >= first else kinds.empty))
    if arguments.vararg is not None:
        made.append(kinds(arguments.vararg.id, kinds.VAR_POSITIONAL))
    count = len(arguments.defaults)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        made.append(kinds(argument.id, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else count))
        count += default is not None
    if arguments.kwarg is not None:
        made.append(kinds(arguments.kwarg.id, kinds.VAR_KEYWORD))
    return inspect.Signature(made)


def refuse_undefined(graph: FuncGraph, fn: Any) -> None:
    """MindSpore's rule for graph mode (config.mindspore_rules): a name that is defined nowhere is an error when the function is
    compiled. Python's, the default, is a NameError when the name is reached. Names in the body of a `try` with `except` are left
    to the run.

    graph  : the FuncGraph of `fn` (`graph.names`: {name: Location of its first use})
    raises : UndefinedNameError for a name that is no variable of the module, no builtin, and not assigned by `fn` itself
    """
    if is_framework(fn.__code__.co_filename):
        return
    known = builtins_of(fn.__globals__)
    for name, location in graph.names.items():
        if name not in fn.__globals__ and name not in known:
            begin: Any = graph.origin.location
            raise UndefinedNameError(f"The name {name!r} is not defined (in {begin.scope or graph.name} of {begin})",
                                     location=location)


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """The builtins that functions with these globals see, a dict."""
    known = namespace.get("__builtins__", builtins)
    return known if isinstance(known, dict) else vars(known)
