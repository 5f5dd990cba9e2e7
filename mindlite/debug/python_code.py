"""A typed graph as Python: a derivative, read as one would have written it.

    def loss(x):                       def grad_loss(x):
        h = ops.tanh(x)                    tanh_1 = tanh(x)                              # model.py:2
        return (h * h).sum()               add_1 = tanh_1 + tanh_1                       # model.py:3 (grad)
                                           ...

Branches and loops are Python's own again, a tape is a pair (tape below, values), a cluster is a function. The text runs:
its names are the operators and what `python_code` gives beside it, so that it is tested against the graph.
"""
import keyword
import re

import numpy as np

from ..common import dtype as dt
from ..common.dim import Dim, Symbol, lone_symbol, substitute, symbols_of
from ..common.dtype import DType
from ..common.errors import ArgumentError
from ..common.tensor import Tensor
from ..mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from ..mindir.graph import FuncGraph, ValueNode
from ..mindir.primitive import PRIMITIVES
from .target import compiled_of

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<", "less_equal": "<=", "greater": ">",
         "greater_equal": ">="}
COMMENT_COLUMN = 64
DERIVED = {"grad": "gradient of: ", "jvp": "tangent of: ", "vmap": "mapped: "}
INLINE = 8


def python(f, stage="optimise"):
    """The graph after a stage as the text of Python functions, the one asked for last.

    f      : a compiled function (see the room), or a typed FuncGraph
    raises : ArgumentError for a stage that is no typed graph, or that still holds markers of grad and vmap
    """
    return python_code(f if isinstance(f, FuncGraph) else compiled_of(f).graph(stage))[0]


def python_code(graph):
    """(text, namespace, name) of a typed graph: after exec(text, namespace) the function is namespace[name]."""
    if not isinstance(graph, FuncGraph) or any(node.abstract is None for node in graph.nodes):
        raise ArgumentError("only typed graphs can be written as Python", hint="one of transform, optimise, fuse")
    writer = Writer(graph)
    name = writer.function(graph)
    return writer.text(), {**writer.operators(), **writer.namespace}, name


class Writer:
    """texts: functions, those that are called first; namespace: constants by name; names: {graph: its function}.

    lines: the user's lines stand above what came from them, else their numbers beside it
    """

    def __init__(self, graph, lines=False):
        self.texts, self.names, self.lines = [], {}, lines
        self.variables = {fresh(p.name, ()) for g in graph.reachable() for p in g.parameters}
        self.namespace = {"Tensor": Tensor, **{d.name.rstrip("_") + "_" * (d is dt.bool_): d for d in dt.ALL}}

    def text(self):
        """What has been written."""
        return "\n\n\n".join(self.texts) + "\n"

    def operators(self):
        """{name: operator} of what the text calls."""
        called = set(re.findall(r"\b(\w+)\(", self.text()))
        return {n: prim for n, prim in PRIMITIVES.items() if n in called}

    def function(self, graph, name=None, words=None, give=None, doc=None, heads=None):
        """Write a graph as a function, once; gives its name. A recursive one calls itself by that name.

        words: names for the parameters;   give: (texts of the results) -> the text to return;   doc: its docstring;
        heads: how the parameters stand in the head: with their defaults
        """
        if graph not in self.names:
            taken = {*self.names.values(), *PRIMITIVES, *self.namespace, *self.variables}
            name = self.names[graph] = fresh(name or graph.name.rpartition(".")[2], taken)
            body = _Body(self)
            parameters = [body.name(p, word) for p, word in zip(graph.parameters,
                                                                words or [p.name for p in graph.parameters])]
            if doc is not None:
                body.write(f'"""{doc}"""')
            for p in graph.parameters:
                body.bind_sizes(p.abstract, body.names[p])
            results = body.graph(graph)
            if give is not None:
                body.write(f"return {give(results)}")
            else:
                body.write(f"return {', '.join(results)}{',' if len(results) == 1 else ''}" if results else "return ()")
            self.texts.append("\n".join([f"def {name}({', '.join(heads or parameters)}):", *body.lines]))
        return self.names[graph]

    def constant(self, value):
        """The name of an object in the namespace."""
        for name, known in self.namespace.items():
            if known is value:
                return name
        name = f"CONSTANT_{sum(1 for n in self.namespace if n.startswith('CONSTANT_'))}"
        self.namespace[name] = value
        return name


def fresh(word, taken):
    """A Python identifier like `word` that is not taken."""
    word = re.sub(r"\W+", "_", word, flags=re.ASCII).strip("_") or "f"
    word = f"_{word}" if word[0].isdigit() or keyword.iskeyword(word) else word
    name, count = word, 1
    while name in taken:
        count += 1
        name = f"{word}_{count}"
    return name


class _Body:
    """The lines of one function, its names {node: variable} and the symbols whose sizes are known."""

    def __init__(self, writer):
        self.writer, self.lines, self.indent, self.shown = writer, [], 1, None
        self.names, self.symbols, self.taken = {}, {}, {*PRIMITIVES, *writer.namespace, *writer.names.values()}

    def name(self, node, word):
        """A variable for a node."""
        name = fresh(word, self.taken)
        self.taken.add(name)
        self.names[node] = name
        return name

    def write(self, text, node=None):
        """Append a statement, beside it the user's line."""
        text = "    " * self.indent + text
        location = node.origin.location if node is not None else None
        if location is not None and self.writer.lines:
            self.show(location, node.origin.by)
        elif location is not None:
            file = location.file.replace("\\", "/").rpartition("/")[2]
            text = f"{text:<{COMMENT_COLUMN}}  # {file}:{location.line}" + (f" ({node.origin.by})" if node.origin.by else "")
        self.lines.append(text)

    def show(self, location, by):
        """The user's line as a comment, where it is another one than before."""
        key = location.file, location.line, by, self.indent
        if key != self.shown:
            self.shown = key
            word = DERIVED.get(by, "")
            self.lines.append("    " * self.indent + f"# {word}{location.source().strip() or location}")

    def bind_sizes(self, abstract, name):
        """`N = x.shape[0]` for the symbols that a value shows first; `N = n` for a size that is a number."""
        if isinstance(abstract, AbstractTensor):
            for axis, size in enumerate(abstract.shape):
                self.bind_symbol(lone_symbol(size), f"{name}.shape[{axis}]")
        else:
            self.bind_symbol(lone_symbol(getattr(abstract, "dim", None)), name)

    def bind_symbol(self, symbol, text):
        """Give a symbol its variable."""
        if symbol is not None and symbol not in self.symbols:
            self.symbols[symbol] = fresh(symbol.name.replace("'", "_"), self.taken)
            self.taken.add(self.symbols[symbol])
            self.write(f"{self.symbols[symbol]} = {text}")

    # ------------------------------------------------------------------------------------------------------ values

    def read(self, node, beside=None):
        """The text of an operand. beside: the abstract of what stands on the other side of an infix operator."""
        if not isinstance(node, ValueNode):
            return self.names[node]
        value = node.value.host_array if isinstance(node.value, Tensor) else node.value
        if not isinstance(value, (np.ndarray, np.generic)):
            return self.value(value)
        value = np.asarray(value)
        if value.ndim == 0 and isinstance(beside, AbstractTensor) and beside.dtype is node.abstract.dtype and \
                value.dtype.kind in "fi" and np.isfinite(value):
            return str(value.item() if value.dtype.kind == "i" else float(str(value)))
        return self.writer.constant(Tensor.wrap(value)) if value.size > INLINE or value.dtype.kind not in "fiub" or \
            not np.isfinite(value).all() else f"Tensor({value.tolist()}, {self.value(node.abstract.dtype)})"

    def value(self, value):
        """The text of a static value."""
        if isinstance(value, Dim):
            return self.size(value)
        if isinstance(value, DType):
            return self.writer.constant(value)
        if type(value) is tuple:
            return f"({', '.join(map(self.value, value))}{',' if len(value) == 1 else ''})"
        if value is None or type(value) in (bool, int, str) or (type(value) is float and np.isfinite(value)):
            return repr(value)
        return self.writer.constant(value)

    def size(self, size):
        """A Dim over the variables of its symbols."""
        if not symbols_of(size) <= self.symbols.keys():
            raise ArgumentError(f"the size {size} is not known where it is used")
        return repr(substitute(size, {s: Symbol(name, *s.bounds()).dim for s, name in self.symbols.items()}))

    # ------------------------------------------------------------------------------------------------------- nodes

    def graph(self, graph):
        """Write the nodes of a graph whose parameters have names; gives the texts of its results."""
        for node in graph.nodes:
            self.node(node)
        return [self.read(o) for o in graph.outputs]

    def node(self, node):
        """One node."""
        if isinstance(node.fn, FuncGraph):
            return self.assign(node, f"{self.writer.function(node.fn)}({', '.join(map(self.read, node.args))})", True)
        if node.fn.name in _CONTROL:
            return _CONTROL[node.fn.name](self, node)
        if "control" in node.fn.traits:
            raise ArgumentError(f"{node.fn.name} has no text in Python", location=node.origin.location)
        if node.fn.name in INFIX and len(node.args) == 2 and not node.attrs:
            a, b = node.args
            return self.assign(node, f"{self.read(a, b.abstract)} {INFIX[node.fn.name]} {self.read(b, a.abstract)}")
        attrs = [f"{k}={self.value(v)}" for k, v in node.attrs.items()]
        return self.assign(node, f"{node.fn.name}({', '.join([*map(self.read, node.args), *attrs])})")

    def assign(self, node, text, packed=False):
        """`name = text`; several results become one variable each. packed: the text gives a tuple also of one result"""
        elements = node.abstract.elements if isinstance(node.abstract, AbstractTuple) else None
        stem = "out" if isinstance(node.fn, FuncGraph) or node.fn.name == "call" else node.fn.name
        word = f"{stem}_{sum(1 for n in self.taken if n.startswith(stem + '_')) + 1}"
        if elements is None:
            self.write(f"{self.name(node, word)}{',' if packed else ''} = {text}", node)
            self.bind_sizes(node.abstract, self.names[node])
            return
        parts = self.parts(node, word)
        self.write(f"{', '.join(parts)}{',' if len(parts) == 1 else ''} = {text}" if parts else text, node)
        for part, element in zip(parts, elements):
            self.bind_sizes(element, part)

    def parts(self, node, word):
        """Variables for the results of a node, which tuple_getitem finds."""
        made = []
        for i in range(len(node.abstract.elements)):
            made.append(fresh(f"{word}_{i}", self.taken))
            self.taken.add(made[-1])
        self.names[node] = tuple(made)
        return made

    def inside(self, graph, texts, targets):
        """Write a graph one level deeper, its parameters being `texts`; its results are assigned to the targets."""
        self.indent += 1
        known = dict(self.symbols)
        start = len(self.lines)
        for p, text in zip(graph.parameters, texts):
            self.names[p] = text
            self.bind_sizes(p.abstract, text)
        results = self.graph(graph)
        if targets:
            self.write(f"{', '.join(targets)} = {', '.join(results)}")
        if len(self.lines) == start:
            self.write("pass")
        self.symbols = known
        self.indent -= 1
        return results


def _getitem(body, node):
    parts = body.names[node.args[0]]
    body.names[node] = parts[node.attrs["index"]] if isinstance(parts, tuple) else f"{parts}[{node.attrs['index']}]"


def _cond(body, node):
    pred, *operands = node.args
    texts, targets = [body.read(o) for o in operands], body.parts(node, "branch")
    body.write(f"if {body.read(pred)}:", node)
    body.inside(node.attrs["true"], texts, targets)
    body.write("else:")
    body.inside(node.attrs["false"], texts, targets)
    for target, element in zip(targets, node.abstract.elements):
        body.bind_sizes(element, target)


def _while(body, node):
    count = len(node.args) - node.attrs["invariants"]
    texts, state = [body.read(a) for a in node.args], body.parts(node, "state")
    if state:
        body.write(f"{', '.join(state)} = {', '.join(texts[:count])}", node)
    body.write("while True:", node)
    body.indent += 1
    known = dict(body.symbols)
    for p, text in zip(node.attrs["cond"].parameters, [*state, *texts[count:]]):
        body.names[p] = text
        body.bind_sizes(p.abstract, text)
    test, = body.graph(node.attrs["cond"])
    body.write(f"if not {test}:")
    body.indent += 1
    body.write("break")
    body.symbols = known
    body.indent -= 2
    body.inside(node.attrs["body"], [*state, *texts[count:]], state)
    for target, element in zip(state, node.abstract.elements):
        body.bind_sizes(element, target)


def _call(body, node):
    name = body.writer.function(node.attrs["graph"])
    body.taken.add(name)
    body.assign(node, f"{name}({', '.join(map(body.read, node.args))})", True)


def _make_tuple(body, node):
    body.names[node] = tuple(map(body.read, node.args))


def _values(body, node):
    body.names[node] = (*map(body.read, node.args), "False")     # what hooks there were stands in the gradient


def _tape_new(body, node):
    body.write(f"{body.name(node, 'tape')} = None", node)


def _tape_push(body, node):
    tape, *values = map(body.read, node.args)
    body.write(f"{body.name(node, 'tape')} = {tape}, ({', '.join(values)}{',' if len(values) == 1 else ''})", node)


def _tape_pop(body, node):
    tape, *values = body.parts(node, "saved")
    body.write(f"{tape}, ({', '.join(values)}{',' if len(values) == 1 else ''}) = {body.read(node.args[0])}", node)
    for value, element in zip(values, node.abstract.elements[1:]):
        body.bind_sizes(element, value)


def _check(body, node):
    condition, *operands = map(body.read, node.args)
    body.write(f"if not {condition}:", node)
    body.indent += 1
    body.write(f"raise {body.writer.constant(node.attrs['error'])}({', '.join(operands)})")
    body.indent -= 1
    body.names[node] = ()


def _segment(body, node):
    body.assign(node, f"{body.writer.constant(node.attrs['function'])}({', '.join(map(body.read, node.args))})")


def _undefined(body, node):
    """Zeros, as the graph has them: a mapped branch or loop computes with what it does not choose."""
    abstract = node.abstract
    if isinstance(abstract, AbstractScalar):
        body.names[node] = repr(abstract.type(0))
    elif not isinstance(abstract, AbstractTensor):
        body.names[node] = "None"
    else:
        known = [size if symbols_of(size) <= body.symbols.keys() else 0 for size in abstract.shape]
        zero = f"Tensor({np.zeros((), abstract.dtype.numpy).item()}, {body.value(abstract.dtype)})"
        body.names[node] = f"broadcast_to({zero}, shape={body.value(tuple(known))})" if known else zero


def _scalar_binary(body, node):
    op, texts = node.attrs["op"], list(map(body.read, node.args))
    body.assign(node, f"{op}({', '.join(texts)})" if op.isalpha() else f" {op} ".join(texts))


_CONTROL = {
    "tuple_getitem": _getitem, "cond": _cond, "while_loop": _while, "call": _call, "make_tuple": _make_tuple,
    "tape_new": _tape_new, "tape_push": _tape_push, "tape_pop": _tape_pop,
    "custom_vjp": _call, "gate": _values, "port": _values, "check": _check, "segment": _segment, "undefined": _undefined,
    "scalar_binary": _scalar_binary,
    "scalar_compare": lambda body, node: body.assign(node, f" {node.attrs['op']} ".join(map(body.read, node.args))),
}
