"""A gradient as a Python module: what grad, jvp, vmap and their compositions made of a function, to read and to run.

    def loss(x):                       ms.ad.source(grad(loss), x)       def grad_loss(x):
        h = ops.tanh(x)                                                      # h = ops.tanh(x)
        return (h * h).sum()                                                 tanh_1 = tanh(x)
                                                                             # gradient of: return (h * h).sum()
                                                                             add_1 = tanh_1 + tanh_1
                                                                             # gradient of: h = ops.tanh(x)
                                                                             ..
                                                                             return mul_3
It is the graph after the transformations, simplified, with nothing expanded or fused, as `python_code` writes it.
"""
import functools
import inspect
import re
import textwrap
from typing import Any

import numpy as np

from .. import ad
from ..common.dtype import ALL, bool_
from ..common.errors import ArgumentError
from ..common.tensor import Tensor
from ..compile.jit import JitFunction
from ..fallback.log import Log, logging_to
from ..infer.results import Made, Result
from ..mindir.primitive import PRIMITIVES
from ..optim import optimise
from .python_code import Writer, fresh
from .target import compiled_of

MOST = 4096                                  # elements of a constant that is written out
WIDTH = 120


class Source(str):
    """The text of a module; str in every way, and:

    name      : the function in it
    inputs    : the names of its parameters: the Tensors and open numbers among the arguments, then the weights
    namespace : constants that have no text (functions of Python, large arrays), by name
    """
    name: str
    inputs: list[str]
    namespace: dict[str, Any]

    def function(self):
        """The function that the text defines, which takes Tensors. What it calls of Python is one run: recordings, in which the
        tangents of Tensors in lists and objects are found, live as long as it."""
        namespace = dict(self.namespace)
        exec(compile(self, f"<source of {self.name}>", "exec"), namespace)
        function = namespace[self.name]

        @functools.wraps(function)
        def run(*args):
            with logging_to(Log()):
                return function(*args)
        return run


def source(f, *args, **kwargs):
    """What a derived function computes, as the Source of a Python module that can be read and run.

    f      : what grad, value_and_grad, vjp.., jacfwd, vmap or jit gave
    args   : arguments of a call, for whose kinds it is written (it is not run); none: those of the latest compiled call
    result : a Source; its function takes the Tensors among the arguments, then the weights, and gives what f gives; where
             f assigns to Tensors, (what f gives, the new values). Other Tensors that f uses are constants of the module
    raises : ArgumentError where nothing was compiled and no arguments are given, or the call must run in Python
    """
    compiled = _compiled(f)
    if args or kwargs:
        variant, _, signature = compiled.select(args, kwargs)
        if variant is None:
            why = compiled.in_python.get(signature, (None, "a part of it is Python that has not run yet"))[1]
            raise ArgumentError(f"{compiled.name} has no source: {why}")
    elif not compiled.variants and compiled.in_python:
        raise ArgumentError(f"{compiled.name} has no source: {list(compiled.in_python.values())[-1][1]}")
    else:
        variant = compiled.latest()
    return _written(compiled, variant)


setattr(ad, "source", source)


def _compiled(f):
    derived = getattr(f, "derived", f)                           # grad(.., return_ids=True)
    inside = getattr(derived, "compiled", None)
    return inside if isinstance(inside, JitFunction) else compiled_of(derived)


def _written(compiled, variant):
    made = variant.compiled.full.specialised
    graph = optimise(variant.compiled.stages["transform"])
    # constants come last: they have a default
    order = sorted(range(len(graph.parameters)), key=lambda i: _is_constant(graph.parameters[i]))
    graph.parameters = [graph.parameters[i] for i in order]
    writer = Writer(graph, lines=True)
    words, weights = _words(compiled.function, graph)
    others = {p: writer.constant(p.default) for p in graph.parameters if _is_constant(p)}

    def give(results):
        value = _structure(made.output, results, writer)
        new = [results[number] for _, number in made.updates]
        return f"{value}, ({', '.join(new)},)" if new else value
    says = [f"{word}: {p.abstract}" for word, p in zip(words, graph.parameters)]
    doc = "\n    ".join(textwrap.wrap(f"{compiled.name}, for {', '.join(says)}"
                                     + (f"; weights: {', '.join(weights)}" if weights else ""), 100))
    heads = [f"{word}={others[p]}" if p in others else word for word, p in zip(words, graph.parameters)]
    name = writer.function(graph, re.sub(r"\W+", "_", compiled.name).strip("_"), words, give, doc, heads)
    operators = sorted(writer.operators())
    constants, rest = [], {}
    for key, value in sorted(writer.namespace.items()):
        if key.startswith("CONSTANT_"):
            text = _constant(value)
            constants.append(f"{key} = {text}" if text else f"# {key} = {value!r:.80}: from Source.namespace")
            if not text:
                rest[key] = value
    text = "\n".join(_imports(writer, operators, constants)) + "\n\n\n" + writer.text()
    if constants:
        text = text.replace("\n\n\n", "\n\n" + "\n".join(constants) + "\n\n\n", 1)
    source = Source(text)
    source.name, source.namespace = name, rest
    source.inputs = [word for word, p in zip(words, graph.parameters) if not _is_constant(p)]
    return source


def _imports(writer, operators, constants):
    text = writer.text() + "\n".join(constants)
    dtypes = [d for d in (dtype.name.rstrip("_") + "_" * (dtype is bool_) for dtype in ALL)
              if re.search(rf"\b{d}\b", text)]
    lines = ["from numpy import array, inf, nan"] if "array(" in text else []
    names = [*["Tensor"] * ("Tensor(" in text), *dtypes]
    if names:
        lines.append(f"from mindlite import {', '.join(names)}")
    if operators:
        line = f"from mindlite.ops.primitives import {', '.join(operators)}"
        if len(line) > WIDTH:
            line = "from mindlite.ops.primitives import (\n" + _wrapped(operators) + ")"
        lines.append(line)
    return lines


def _wrapped(names):
    lines = ["    "]
    for name in names:
        if len(lines[-1]) + len(name) > WIDTH - 2:
            lines.append("    ")
        lines[-1] += f"{name}, "
    return "\n".join(line.rstrip() for line in lines)[:-1]


def _words(function, graph):
    """(names of the graph's parameters as the user has them, those that are weights)."""
    inner = function
    while True:
        outer = inner
        for attribute in ("function", "__wrapped__", "construct"):
            inner = getattr(inner, attribute, inner) if callable(getattr(inner, attribute, None)) else inner
        if inner is outer:
            break
    known = [p.name for p in inspect.signature(inner).parameters.values()
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    weights = []
    words: list = []
    for p in graph.parameters:
        named = re.fullmatch(r"x(\d*)(_\w+)?", p.name) if p.default is None else None
        number = int(named[1] or 0) if named else len(known)
        word = known[number] + ((named[2] if named else None) or "") if number < len(known) else p.name
        words.append(fresh(word, {*words, *PRIMITIVES}))
        if p.default is not None and not _is_constant(p):
            weights.append(word)
    return words, weights


def _is_constant(p):
    return p.default is not None and type(p.default) is Tensor


def _structure(value, results, writer):
    """The text of the function's value over the texts of the graph's results."""
    if isinstance(value, Result):
        return results[value.number]
    if type(value) is tuple:
        parts = [_structure(v, results, writer) for v in value]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if type(value) is list:
        return f"[{', '.join(_structure(v, results, writer) for v in value)}]"
    if type(value) is dict:
        return "{" + ", ".join(f"{k!r}: {_structure(v, results, writer)}" for k, v in value.items()) + "}"
    if isinstance(value, Made):
        return f"{writer.constant(value.make)}({', '.join(_structure(v, results, writer) for v in value.items)})"
    return repr(value) if value is None or type(value) in (bool, int, str) else writer.constant(value)


def _constant(value):
    """The text of a constant, "" where it has none."""
    if isinstance(value, Tensor) and value.size <= MOST:
        return f"Tensor(array({_array(value)}), {value.dtype.name})"
    if isinstance(value, float):
        return repr(value)
    return ""


def _array(value):
    return np.array2string(value.asnumpy(), separator=", ", threshold=MOST + 1, max_line_width=WIDTH,
                           floatmode="unique").replace("True", "1").replace("False", "0")
