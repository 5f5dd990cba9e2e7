"""One program in several worlds: plain Python over NumPy, PyNative mode, graph mode in its variations.

    check(program, way) -> Report            raises Difference, with the program as a file that runs, where two disagree

In each world the source is executed anew, then `f` is called with the first arguments, again with them, and with the others,
so that guards, variables and the short way of a second call take part. What a call is seen to do is compared: its result, the
text printed, the arguments afterwards, what stands outside, and how it ends.
"""
import builtins
import contextlib
import io
import itertools
import math
import pathlib
import re
import tempfile
import traceback
import warnings
from dataclasses import dataclass

import numpy as np
import plain_tensor

import mindlite as ms
import mindlite.compile.lower as lower
import mindlite.compile.passes as passes
import mindlite.optim as optim
from mindlite.common.config import config
from mindlite.common.errors import MindliteError
from mindlite.compile.jit import FallbackWarning
from mindlite.graph_kernel import CannotFuse

HEADER = ("import numpy as np\nimport mindlite as ms\nfrom mindlite import Parameter, Tensor, ops\n"
          "from mindlite.nn import Cell\n\n")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?|nan|inf")
FOLDER = tempfile.TemporaryDirectory(prefix="mindlite-fuzz-")
_numbers = itertools.count()


class Difference(AssertionError):
    """Two worlds disagree."""


@dataclass(frozen=True)
class Way:
    """How graph mode runs: printer, jit_level, kernels (False: every operator by its eval rule), the pass left out or None."""
    printer: str = "python"
    jit_level: str = "O0"
    kernels: bool = False
    without: str = ""

    @contextlib.contextmanager
    def on(self):
        """Within it functions are compiled this way, the backward graphs of PyNative mode too."""
        changes = [(optim, "PASSES", tuple(p for p in optim.PASSES if p.__name__ != self.without))]
        if not self.kernels:
            changes += [(lower, "lower_kernel", _no_kernel)]
            changes += [(passes, "cluster", _no_cluster)]
        before = [(module, name, getattr(module, name)) for module, name, _ in changes]
        switches = config.set(printer=self.printer, jit_level=self.jit_level)
        try:
            for change in changes:
                setattr(*change)
            yield
        finally:
            config.set(**switches)
            for change in before:
                setattr(*change)


def _no_cluster(graph, *_, **__):
    return graph


def _no_kernel(graph, *_, **__):
    raise CannotFuse("every operator by its eval rule")


WAYS = (Way(), Way("vm"), *(Way(without=p.__name__) for p in optim.PASSES), Way("native", "O0", True),
        Way("native", "O1", True), Way("python", "O1", True), Way("vm", "O1", True))


@dataclass
class Report:
    """How the graph world ran the program: "native", "segments", "python" (as a whole), or "raised" before it was known."""
    kind: str
    reasons: list


# ---------------------------------------------------------------- what is seen

def make(spec, tensor):
    """The argument of a description, in the world whose Tensor this is."""
    if isinstance(spec, list):
        if spec[0] == "tensor":
            return tensor(np.array(spec[3], plain_tensor.NAMES[spec[1]]).reshape(spec[2]))
        if spec[0] == "dict":
            return {k: make(v, tensor) for k, v in spec[1:]}
        items = [make(v, tensor) for v in spec[1:]]
        return items if spec[0] == "list" else tuple(items)
    return spec


def plain(value):
    """A value without Tensors, for comparison."""
    if isinstance(value, (ms.Tensor, plain_tensor.Tensor)):
        array = value.asnumpy()
        return "Tensor", str(array.dtype), array.shape, array.tolist()
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(plain, value)
    if isinstance(value, dict):
        return "dict", *[(k, plain(v)) for k, v in value.items()]
    return type(value).__name__, value


def same(a, b, loose=False):
    """Equal, floats up to rounding, texts up to the rounding of numbers in them."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        loose = loose or len(a) == 4 and a[0] == "Tensor" and a[1] == "float32"
        return len(a) == len(b) and all(same(x, y, loose) for x, y in zip(a, b))
    if isinstance(a, float):
        return a == b or math.isnan(a) and math.isnan(b) or math.isclose(a, b, rel_tol=1e-4 if loose else 1e-9,
                                                                         abs_tol=1e-5 if loose else 1e-9)
    if isinstance(a, str) and a != b:
        x, y = ("".join(NUMBER.sub("#", text).split()) for text in (a, b))
        return x == y and all(same(float(p), float(q), True) for p, q in zip(NUMBER.findall(a), NUMBER.findall(b)))
    return a == b


class World:
    """A fresh execution of the program's source. name: for messages; tensor: its Tensor class"""

    def __init__(self, name, path, source, reference_world=False):
        self.name = name
        self.namespace = dict(plain_tensor.NAMESPACE if reference_world else NAMESPACE)
        self.tensor = plain_tensor.Tensor if reference_world else ms.Tensor
        exec(compile(source, str(path), "exec"), self.namespace)

    def observe(self, function, specs):
        """What a call of `function` does, as one comparable value."""
        args, text = [make(s, self.tensor) for s in specs], io.StringIO()
        frames = ()
        with contextlib.redirect_stdout(text):
            try:
                value = function(*args)
                end = "returned", plain(value), tuple(i for i, a in enumerate(args) if a is value)
            except (MindliteError, plain_tensor.Refused) as error:
                end = "refused", str(error).split("\n")[0], type(error).__name__
                frames = (error.location.line,) if getattr(error, "location", None) else ()
            except Exception as error:
                end, frames = ("raised", type(error).__name__, str(error)), lines_of(error)
        state = self.namespace["state"]
        outside = [plain(self.namespace[k]) for k in ("G", "shared")] + [(k, plain(v)) for k, v in sorted(vars(state).items())]
        if "net" in self.namespace:
            outside += [plain(self.namespace["net"].w), plain(self.namespace["net"].calls)]
        return end, text.getvalue(), tuple(map(plain, args)), tuple(outside), frames


def lines_of(error):
    """The innermost line of the program in an exception's traceback, as a tuple."""
    return tuple(f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(FOLDER.name))[-1:]


NAMESPACE = {"Tensor": ms.Tensor, "Parameter": ms.Parameter, "Cell": ms.nn.Cell, "ops": ms.ops, "np": np, "ms": ms,
             "__builtins__": builtins}


def compare(program, call, one, other, first, second, exact, loose=False):
    """Raise Difference unless two observations are the same.

    exact: the texts of mindlite's errors and the lines too;   loose: float64 values may have been float32, which kernels
    round in their own way
    """
    ends = [seen[0] for seen in (one, other)]
    if not exact and ends[0][0] == ends[1][0] == "refused":
        one, other = ((("refused",), *seen[1:]) for seen in (one, other))
    if not exact:
        one, other = one[:4], other[:4]
    for what, a, b in zip(("the end", "printed", "the arguments afterwards", "outside", "the line of the traceback"), one,
                          other):
        if not same(a, b, loose):
            raise Difference(f"call {call}: {what} differs\n  {first}: {a}\n  {second}: {b}\n\n{as_file(program)}")


# ---------------------------------------------------------------- the check

def check(program, way):
    """Run the program in all worlds and compare. raises : Difference"""
    path = pathlib.Path(FOLDER.name, f"program{next(_numbers)}.py")
    source = HEADER + program.body
    path.write_text(source)
    sequence = [program.calls[0], program.calls[0], *program.calls[1:], program.calls[0]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        plain_world = World("plain Python", path, "\n" * HEADER.count("\n") + program.body, reference_world=True)
        eager = World("PyNative", path, source)
        graph = World(f"graph ({way})", path, source)
        seen = []
        single = "f32" in repr(program.calls) + program.body.replace("float32", "f32")
        with way.on():
            jitted = ms.jit(graph.namespace["f"])
            for number, specs in enumerate(sequence):
                expected = plain_world.observe(plain_world.namespace["f"], specs)
                seen.append(eager.observe(eager.namespace["f"], specs))
                compare(program, number, expected, seen[-1], plain_world.name, eager.name, False)
                compare(program, number, seen[-1], graph.observe(jitted, specs), eager.name, graph.name, True,
                        way.kernels and single)
            if program.gradient and all(s[0][0] == "returned" for s in seen):
                check_gradient(program, path, source, single)
    return report(jitted.compiled)


def check_gradient(program, path, source, loose):
    """The gradient of the sum of one result: in graph mode, and of a compiled function whose sizes are open on a tape, as in
    PyNative mode, which compiles it in a way of its own."""
    eager, graph, tape = (World(f"gradient {how}", path, source) for how in ("in PyNative", "as a graph", "on a tape"))
    derivative = derived(eager.namespace["loss"], program)
    compiled = ms.jit(derived(graph.namespace["loss"], program))
    recorded = derived(ms.jit(tape.namespace["loss"], dynamic=1), program)
    for number, specs in enumerate([program.calls[0], program.calls[-1]]):
        expected = eager.observe(derivative, specs)
        for world, function in ((graph, compiled), (tape, recorded)):
            compare(program, f"gradient {number}", expected, world.observe(function, specs), eager.name, world.name, True, loose)


def derived(loss, program):
    """The gradient of `loss`; of the second order that of the sum of the squares of the first."""
    slope = ms.grad(loss, program.gradient)
    if program.order == 1:
        return slope

    def squares(*args):
        found = slope(*args)
        return sum([(g * g).sum() for g in (found if isinstance(found, tuple) else (found,))])
    return ms.grad(squares, program.gradient)


def report(compiled):
    """How a JitFunction ran."""
    if compiled.in_python:
        return Report("python", [entry[1] for entry in compiled.in_python.values()])
    if compiled.fallbacks:
        return Report("segments", [])
    return Report("native" if compiled.variants or compiled.history else "raised", [])


def as_file(program):
    """The program as a file that runs: it prints what PyNative and graph mode do with each call."""
    calls = ",\n         ".join("(" + "".join(f"{show(s)}, " for s in specs) + ")" for specs in program.calls)
    return f'''{HEADER}{program.body}
calls = lambda: [{calls}]
if __name__ == "__main__":
    for run in f, ms.jit(f):
        for args in [calls()[0], *calls(), calls()[0]]:
            try:
                print(run, run(*args), args)
            except Exception as error:
                print(run, repr(error), args)
'''


def show(spec):
    """The source text of an argument."""
    if isinstance(spec, list):
        if spec[0] == "tensor":
            dtype = plain_tensor.NAMES[spec[1]].__name__
            return f"Tensor(np.array({spec[3]}, np.{'bool_' if dtype == 'bool' else dtype}).reshape({spec[2]}))"
        if spec[0] == "dict":
            return "{" + ", ".join(f"{k!r}: {show(v)}" for k, v in spec[1:]) + "}"
        inner = "".join(f"{show(v)}, " for v in spec[1:])
        return f"[{inner}]" if spec[0] == "list" else f"({inner})"
    return repr(spec)


__all__ = ["Difference", "FallbackWarning", "WAYS", "Way", "check"]
