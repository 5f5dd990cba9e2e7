"""Which functions of a file become graphs, and what of them Python will run: read from the text, nothing is executed.

    train.step (line 30): native but for 2 statement(s)
       33 |     with open(path) as log:
          |     ^^^^^^^^^^^^^^^^^^^^^^^ with statements run in Python
      cost: one crossing into Python each time it is reached

Graphs are made of functions that are decorated with or given to `jit`, of `construct` in Cells, and of what those call in
the same file. Each is parsed as graph mode parses it (parse/): what the syntax dialect cannot say is an `interpret` node
or refuses the function. What depends on the types of values is not to be seen in the text; `--run` tells it.
"""
import ast
import builtins
import types
from dataclasses import dataclass, field
from typing import Any

from ..common.errors import ArgumentError, MindliteError
from ..common.location import Location
from ..common.syntax import syntax_tree
from ..infer.access import LEAVES_TENSORS
from ..infer.calls import EFFECTFUL
from ..mindir import syntax
from ..mindir.graph import CNode, FuncGraph
from ..parse.parse import parse_function

MAKERS = ("jit", "ms_function")                  # what is given to these becomes a graph
CROSSING = "one crossing into Python each time it is reached, some 10 us and copies of the Tensors that it reads"
IN_LOOP = "one crossing into Python in each iteration of the loop, some 10 us and copies of the Tensors that it reads"
WHOLE = "all of it runs in PyNative mode: a Python call for each operator, nothing is fused"
NATIVE, PARTLY, PYTHON = "native", "native but for", "in Python"


@dataclass(frozen=True)
class Finding:
    """Something that Python will run. location: a Location; why; cost: in words; whole: of the function that holds it."""
    location: Location | None
    why: str
    cost: str
    whole: bool = False


@dataclass
class FunctionReport:
    """What becomes of one function: name ("Net.construct"), file, line, findings; because: why it becomes a graph."""
    name: str
    file: str
    line: int
    because: str
    findings: list = field(default_factory=list)

    @property
    def status(self):
        """"native", "native but for" or "in Python"."""
        if any(f.whole for f in self.findings):
            return PYTHON
        return PARTLY if self.findings else NATIVE


def check_file(path, name=None):
    """[FunctionReport] of the functions of a file that graphs are made of, in the order of their lines.

    name   : only this function ("step", "Net.construct"), whether graphs are made of it or not
    raises : ArgumentError for a file that is no Python, or a name that it does not have
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        entries = _Functions(syntax_tree(text, path)).entries
        code = compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise ArgumentError(f"{path} is no Python: {error.msg}", location=Location(path, error.lineno or 1)) from None
    codes = {(c.co_name, c.co_firstlineno): c for c in _codes(code)}
    if name is not None:
        chosen = [e for e in entries if e.name == name or e.name.endswith("." + name)]
        if not chosen:
            raise ArgumentError(f"{path} has no function named {name!r}",
                                hint="it has " + (", ".join(e.name for e in entries) or "none"))
        for entry in chosen:
            entry.because = entry.because or "asked for"
    else:
        chosen = _reached(entries)
    reports = []
    for entry in chosen:
        function = _function(codes[entry.node.name, entry.first_line], entry)
        reports.append(FunctionReport(entry.name, path, entry.node.lineno, entry.because, findings_of(function)))
    return reports


def findings_of(function):
    """[Finding] of a function, from its text only."""
    try:
        graph = parse_function(function)
    except MindliteError as error:
        location = error.location or Location(function.__code__.co_filename, function.__code__.co_firstlineno)
        return [Finding(location, error.message, WHOLE, True)]
    blocks = graph.reachable()
    found: dict = {}
    repeated = _repeated(blocks)
    for block in blocks:
        cost = IN_LOOP if block in repeated else CROSSING
        for node in block.nodes:
            why = _why(node)
            if why:
                found.setdefault(node.origin.location, Finding(node.origin.location, why, cost))
    return sorted(found.values(), key=lambda f: (f.location.line, f.location.col))


def _why(node):
    """Why Python will run a node of the syntax dialect; "" where it will not, or the text does not tell."""
    if node.fn is syntax.interpret:
        return node.attrs["reason"]
    if node.fn is syntax.load_attr and node.attrs["name"] in LEAVES_TENSORS:
        return f"{node.attrs['name']}() leaves the Tensors"
    if node.fn is syntax.call and isinstance(node.args[0], CNode) and node.args[0].fn is syntax.load_global:
        name = node.args[0].attrs["name"]
        if getattr(builtins, name, None) in EFFECTFUL:
            return f"{name}() acts on what is outside of the graph"
    return ""


def _repeated(blocks):
    """The blocks of loops: those from which a header is reached that they are reached from."""
    below: dict = {block: set() for block in blocks}
    for block in reversed(blocks):
        below[block].update(_targets(block))
    changed = True
    while changed:
        changed = False
        for block in blocks:
            wider = below[block].union(*[below[b] for b in below[block] if b in below])
            changed |= wider != below[block]
            below[block] = wider
    return {block for block in blocks if block in below[block]}


def _targets(block):
    """The blocks that a block may jump to."""
    end = block.output
    if end is not None and end.fn is syntax.switch:
        return [end.attrs["true"], end.attrs["false"]]
    return [end.fn] if end is not None and isinstance(end.fn, FuncGraph) else []


# ---------------------------------------------------------------- the functions of a file

@dataclass
class _Entry:
    """A def: its qualified name, tree, the class that it is a method of or None, the function around it or None."""
    name: str
    node: Any
    owner: Any
    outer: Any
    because: str = ""

    @property
    def first_line(self):
        """The line of its code object: of the first decorator, if it has any."""
        return min([self.node.lineno, *[d.lineno for d in self.node.decorator_list]])


class _Functions(ast.NodeVisitor):
    """All functions of a module, with the reasons for which graphs are made of them."""

    def __init__(self, tree):
        self.classes, self.path, self.owner, self.outer = {}, [], None, None
        self.entries: list = []
        self.given = {}                                      # {name: line} of what is given to jit
        self.visit(tree)
        for entry in self.entries:
            entry.because = self.because(entry)

    def visit_ClassDef(self, node):
        self.classes[node.name] = node
        self.inside(node, owner=node, outer=None)

    def visit_FunctionDef(self, node):
        entry = _Entry(".".join([*self.path, node.name]), node, self.owner, self.outer)
        self.entries.append(entry)
        self.inside(node, owner=None, outer=entry)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Call(self, node):
        if _last(node.func) in MAKERS and node.args:
            self.given[_last(node.args[0])] = node.lineno
        self.generic_visit(node)

    def inside(self, node, owner, outer):
        before = self.owner, self.outer
        self.path.append(node.name)
        self.owner, self.outer = owner, outer
        self.generic_visit(node)
        self.path.pop()
        self.owner, self.outer = before

    def because(self, entry):
        for decorator in entry.node.decorator_list:
            if isinstance(decorator, ast.Call) and _last(decorator.func) == "partial" and decorator.args:
                decorator = decorator.args[0]
            word = _last(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if word in MAKERS:
                return f"@{word}"
        if entry.owner is not None:
            if entry.node.name == "construct" and self.is_cell(entry.owner):
                return "construct of a Cell"
        elif entry.node.name in self.given:
            return f"given to jit in line {self.given[entry.node.name]}"
        return ""

    def is_cell(self, node, seen=()):
        """Does a class come from Cell, by the names of its bases?"""
        for base in node.bases:
            name = _last(base)
            if name.endswith("Cell") or isinstance(base, ast.Attribute) and _last(base.value) == "nn":
                return True
            known = self.classes.get(name)
            if known is not None and known not in seen and self.is_cell(known, (*seen, node)):
                return True
        return False


def _last(node):
    """The last word of a dotted name, "" for what is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _reached(entries):
    """The entries that graphs are made of, and what those call by name, or as a method of the same class."""
    todo = [e for e in entries if e.because]
    while todo:
        entry = todo.pop()
        for name, mine in _calls(entry.node):
            for other in entries:
                if other.because or other.node.name != name:
                    continue
                near = other.owner is entry.owner if mine else other.owner is None and other.outer in (None, entry.outer)
                if near:
                    other.because = f"called by {entry.name}"
                    todo.append(other)
    return [e for e in entries if e.because]


def _calls(tree):
    """(name, is it a method of `self`) of what a function names or calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id, False
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr, True


def _codes(code):
    """The code objects inside of one."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def _function(code, entry):
    """A function of that code, for parsing; it is never called."""
    made = types.FunctionType(code, {"__builtins__": builtins, "__name__": "__main__"}, code.co_name, None,
                              tuple([types.CellType() for _ in code.co_freevars]))
    made.__qualname__ = entry.name
    return made


# ---------------------------------------------------------------- what ran

def check_compiled(functions):
    """[FunctionReport] of JitFunctions that have run: what inference found, with the types of the values."""
    reports = []
    for f in functions:
        code = getattr(getattr(f.function, "construct", f.function), "__code__", None)
        report = FunctionReport(f.name, code.co_filename if code else "", code.co_firstlineno if code else 0,
                                f"{len(f.variants)} variant(s) compiled in {sum(v.seconds for v in f.variants):.2f} s")
        for variant in f.variants:
            for node, made in variant.compiled.full.lowered.kernels:
                if isinstance(made, str):                    # no kernel: why it runs in Python
                    report.findings.append(Finding(node.origin.location, made, CROSSING))
        for location, why, *_ in f.in_python.values():
            report.findings.append(Finding(location, why, WHOLE, True))
        for location, (why, _) in f.refused.items():
            report.findings.append(Finding(location, why, WHOLE, True))
        if not f.variants and not f.in_python and not f.refused:
            report.findings.append(Finding(None, "it was called once, and ran statement by statement, to see what calls of "
                                           "Python give: call it twice to see it compiled", WHOLE, True))
        report.findings = list(dict.fromkeys(report.findings))
        reports.append(report)
    return reports


# ---------------------------------------------------------------- as text, as data

def show_reports(reports):
    """The reports as text that people read."""
    if not reports:
        return "no function here becomes a graph: nothing is decorated with @jit, given to jit, or the construct of a Cell\n"
    count = {status: sum(r.status == status for r in reports) for status in (NATIVE, PARTLY, PYTHON)}
    lines = [f"{len(reports)} function(s) become graphs: {count[NATIVE]} native, {count[PARTLY]} with parts in Python, "
             f"{count[PYTHON]} in Python as a whole"]
    for report in reports:
        word = {NATIVE: NATIVE, PYTHON: "runs in Python as a whole",
                PARTLY: f"native but for {len(report.findings)} place(s)"}[report.status]
        lines += ["", f"{report.name} (line {report.line}, {report.because}): {word}"]
        for finding in report.findings:
            if finding.location is None:
                lines.append(f"  {finding.why}")
            else:
                lines += finding.location.show(finding.why).splitlines()[1:] or [f"  {finding.why}"]
            lines.append(f"  cost: {finding.cost}")
    return "\n".join(lines) + "\n"


def reports_as_data(reports):
    """The reports as lists and dicts, for JSON."""
    def fields(location):
        if location is None:
            return {"file": None, "line": None, "column": None, "source": ""}
        return {"file": location.file, "line": location.line, "column": location.col, "source": location.source().strip()}
    return [{"function": r.name, "file": r.file, "line": r.line, "because": r.because, "status": r.status,
             "findings": [{**fields(f.location), "why": f.why, "cost": f.cost, "whole": f.whole} for f in r.findings]}
            for r in reports]
