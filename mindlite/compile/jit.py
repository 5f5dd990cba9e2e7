"""JitFunction: a Python function that is compiled for the kinds of arguments it is called with.

    f = JitFunction(function);  f(x)  ->  signature of x -> variant (compiled once) -> native run -> Tensors

A *variant* fits all calls with the same structure, constants, dtypes and (where they are not Symbols) sizes. Sizes
become Symbols where they are declared (dynamic=1, set_inputs), and from the second call that differs only in them. What
was read at compile time (globals, closure cells, attributes) is guarded; each new variant keeps the reason for it.
"""
import threading
import time
from dataclasses import dataclass, field

import numpy as np

from ..common import dtype as dt
from ..common.dim import Symbol, compare, evaluate
from ..common.errors import ArgumentError
from ..common.events import emit
from ..common.tensor import Parameter, Tensor
from ..infer.concrete import run_concretely
from ..infer.fallback import NeedsRecord
from ..infer.specialise import Result
from ..mindir.abstract import AbstractScalar, AbstractTensor
from .lower import lone_symbol
from .pipeline import compile_function

MAX_SHAPE_VARIANTS = 4


@dataclass(frozen=True)
class TensorSpec:
    """What a signature says of a Tensor: dtype and sizes (int, or Symbol in a variant)."""
    dtype: object
    shape: tuple

    def __str__(self):
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]"


@dataclass
class Variant:
    """One compiled form. signature: with Symbols for open sizes; reason: why it was made; calls: how often it ran."""
    signature: object
    compiled: object
    reason: str
    seconds: float
    guards: list = field(default_factory=list)
    calls: int = 0


class JitFunction:
    """function : the Python function (or bound method, or Cell)
    fullgraph   : a fallback is an error           dynamic  : 1: all sizes of Tensor arguments are open from the start
    jit_level   : "O0" one kernel per operator, "O1" fused           printer: how the Flow runs (config.printer)
    inputs      : declared argument placeholders (set_inputs), or None
    """

    def __init__(self, function, *, name=None, fullgraph=False, dynamic=0, jit_level=None, printer=None, inputs=None):
        self.function, self.fullgraph, self.dynamic = function, fullgraph, dynamic
        self.name = name or getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")
        self.jit_level, self.printer, self.inputs = jit_level, printer, inputs
        self.variants, self.exact, self.fallbacks, self.history = [], {}, {}, []
        self.lock = threading.RLock()
        self.runs_in_python = 0

    # -- calling

    def __call__(self, *args, **kwargs):
        leaves = []
        signature = signature_of((args, kwargs), leaves)
        variant = self.exact.get(signature)
        if variant is None or not guards_hold(variant.guards):
            with self.lock:
                variant = self.find(signature)
                if variant is None:
                    try:
                        variant = self.compile(signature, args, kwargs)
                    except NeedsRecord as reason:
                        self.runs_in_python += 1
                        emit("concrete_run", name=self.name, reason=str(reason))
                        return run_concretely(self.function, args, kwargs, self.fallbacks)
                self.exact[signature] = variant
        variant.calls += 1
        return variant.run(leaves)

    def find(self, signature):
        """A variant that fits the signature and whose guards hold; stale ones are dropped."""
        stale = [v for v in self.variants if not guards_hold(v.guards)]
        if stale:
            self.variants = [v for v in self.variants if v not in stale]
            self.exact = {s: v for s, v in self.exact.items() if v not in stale}
            self.history += [(v, changed_guard(v.guards)) for v in stale]
        for variant in self.variants:
            if variant.fits(signature):
                return variant
        return None

    def compile(self, signature, args, kwargs):
        """Compile a variant for the signature, with open sizes where the history of calls says so."""
        wanted, reason = self.generalise(signature)
        start = time.perf_counter()
        inside_args, inside_kwargs = abstract_values(wanted, (args, kwargs))
        compiled = compile_function(self.function, inside_args, inside_kwargs, name=self.name, fullgraph=self.fullgraph,
                                    fallbacks=self.fallbacks, jit_level=self.jit_level, printer=self.printer)
        variant = Runner(wanted, compiled, reason, time.perf_counter() - start, compiled.specialised.guards)
        if not variant.fits(signature):                      # a size was assumed that these sizes do not have
            inside_args, inside_kwargs = abstract_values(signature, (args, kwargs))
            compiled = compile_function(self.function, inside_args, inside_kwargs, name=self.name, fullgraph=self.fullgraph,
                                        fallbacks=self.fallbacks, jit_level=self.jit_level, printer=self.printer)
            variant = Runner(signature, compiled, f"{reason}; these sizes are special", time.perf_counter() - start,
                             compiled.specialised.guards)
        self.variants.append(variant)
        emit("variant", name=self.name, reason=variant.reason, seconds=variant.seconds)
        return variant

    def generalise(self, signature):
        """(the signature with Symbols for the sizes that should be open, the reason for compiling)."""
        declared = declared_spec(self.inputs, signature) if self.inputs is not None else signature
        if self.dynamic:
            return open_sizes(declared, lambda path, size: True), "first call" if not self.variants else "new kinds of arguments"
        if not self.variants:
            why = "first call"
            if self.history:
                why = f"{self.history[-1][1]} changed"
            return declared, why
        for variant in self.variants:
            difference = sizes_that_differ(variant.signature, signature)
            if difference is not None:
                text = ", ".join(f"{path}: {a} -> {b}" for path, a, b in difference)
                paths = {path for path, _, _ in difference}
                already = {path for path, size in sizes_in(variant.signature) if isinstance(size, Symbol)}
                if sum(1 for v in self.variants if sizes_that_differ(v.signature, signature) is not None) >= MAX_SHAPE_VARIANTS:
                    return open_sizes(signature, lambda path, size: True), f"too many sizes; all are open now ({text})"
                return open_sizes(signature, lambda path, size: path in paths or path in already), f"another size: {text}"
        return declared, "new kinds of arguments: " + first_difference(self.variants[-1].signature, signature)

    # -- looking inside

    def latest(self):
        """The variant compiled last. raises : ArgumentError before the first call."""
        if not self.variants:
            raise ArgumentError(f"{self.name} has not been called yet", hint="call it once, then look inside")
        return self.variants[-1]

    def graph(self, stage="optimise"):
        """The FuncGraph after a stage: infer, transform, optimise, fuse; or the Program after "plan"."""
        stages = self.latest().compiled.stages
        if stage == "parse":
            from ..parse.parse import parse_function
            return parse_function(getattr(self.function, "construct", self.function))
        if stage not in stages:
            raise ArgumentError(f"there is no stage {stage!r}", hint="one of parse, " + ", ".join(stages))
        return stages[stage]

    def kernels(self):
        """The kernels of the latest variant, each once, in order of first use."""
        made = {}
        for _, what in self.latest().compiled.lowered.kernels:
            kernel = getattr(what, "kernel", what)
            if hasattr(kernel, "address"):
                made[kernel] = None
        return list(made)

    def explain(self):
        """What was compiled and why, what runs in Python and why, what it costs: a text."""
        lines = [f"{self.name}: {len(self.variants)} variant(s), {self.runs_in_python} call(s) run statement by statement"]
        for number, variant in enumerate(self.variants):
            compiled = variant.compiled
            seconds = ", ".join(f"{stage} {t:.3f}" for stage, t in compiled.seconds.items())
            counts = " -> ".join(f"{stage} {n}" for stage, n in compiled.nodes.items())
            plan = compiled.executable.plan
            lines += [f"  variant {number}: {show_signature(variant.signature)}",
                      f"    because: {variant.reason}; {variant.calls} call(s)",
                      f"    compiled in {variant.seconds:.3f} s ({seconds})",
                      f"    nodes: {counts}",
                      f"    kernels: {len({id(getattr(k, 'kernel', k)) for _, k in compiled.lowered.kernels})}, storages: {plan_size(plan)}"]
            for location, reason in dict.fromkeys(compiled.specialised.reasons):
                lines.append(f"    {location or 'somewhere'}: {reason}")
            for node, reason in compiled.stages["fuse"].transforms.get("refused", ()):
                lines.append(f"    {node.origin.location or ''} {getattr(node.fn, 'name', node.fn)} stays alone: {reason}")
        for variant, why in self.history:
            lines.append(f"  dropped: {show_signature(variant.signature)}, because {why} changed")
        return "\n".join(lines)


def plan_size(plan):
    """How many storages a plan has."""
    return len(plan.storages)


class Runner(Variant):
    """A Variant that runs: it knows where each register of the Flow's entry comes from and what each result becomes."""

    def __init__(self, signature, compiled, reason, seconds, guards):
        super().__init__(signature, compiled, reason, seconds, guards)
        specs = []
        flat_specs(signature, specs)
        self.specs = specs
        graph, lowered = compiled.stages["fuse"], compiled.lowered
        self.executable = compiled.executable
        argument = {p: i for i, p in enumerate(q for q in graph.parameters if q.default is None)}
        self.inputs = [p.default for p in graph.parameters if p.default is not None]
        self.input_shapes = [(t.array.dtype, t.array.shape) for t in self.inputs]
        where = {p: (i, None) for p, i in argument.items()}
        where.update({p: (None, k) for k, p in enumerate(q for q in graph.parameters if q.default is not None)})
        self.steps, self.outs = [], {}
        for step in lowered.parameters:
            kind = step[0]
            if kind == "out":
                self.outs[step[1]] = len(self.steps)
                abstract = graph.outputs[step[1]].abstract
                self.steps.append(("out", step[1], abstract.dtype.numpy, abstract.shape))
            else:
                self.steps.append((kind, *where[step[1]], *step[2:]))
        self.symbols = {}                                    # Symbol: (argument, axis) or (argument, None)
        for number, spec in enumerate(specs):
            for axis, size in enumerate(getattr(spec, "shape", ())):
                if isinstance(size, Symbol):
                    self.symbols.setdefault(size, (number, axis))
        self.results = lowered.outputs
        self.output = compiled.specialised.output
        self.constraints = compiled.specialised.constraints
        self.abstracts = [node.abstract for node in graph.outputs]
        self.static = all(isinstance(s, int) for step in self.steps if step[0] == "out" for s in step[3])

    def fits(self, signature):
        """True if a call with this signature may use the variant."""
        env = {}
        return matches(self.signature, signature, env) and all(
            compare(c.op, evaluate(c.left, env), evaluate(c.right, env)) for c in self.constraints
            if not unknown(c, env)) and all((t.array.dtype, t.array.shape) == s for t, s in zip(self.inputs, self.input_shapes))

    def run(self, leaves):
        """Run on the leaves (Tensors and numbers) of a call."""
        arrays = [leaf.array if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        arrays = [a if not isinstance(a, np.ndarray) or a.flags.c_contiguous else np.ascontiguousarray(a) for a in arrays]
        env = None
        params, made, keep = [], {}, []
        for step in self.steps:
            kind = step[0]
            if kind == "tensor":
                array = arrays[step[1]] if step[1] is not None else self.inputs[step[2]].array
                if not array.flags.c_contiguous:
                    array = np.ascontiguousarray(array)
                    keep.append(array)
                params.append(array.__array_interface__["data"][0])
            elif kind == "size":
                array = arrays[step[1]] if step[1] is not None else self.inputs[step[2]].array
                params.append(array.shape[step[3]])
            elif kind == "scalar":
                params.append(arrays[step[1]])
            else:
                shape = step[3]
                if not self.static:
                    if env is None:
                        env = {s: arrays[n].shape[axis] for s, (n, axis) in self.symbols.items()}
                    shape = tuple(evaluate(s, env) for s in shape)
                made[step[1]] = array = np.empty(shape, step[2])
                params.append(array.__array_interface__["data"][0])
        objects = self.compiled.lowered.keep[1]
        try:
            values, outputs = self.executable.run(params)
            return self.build(self.output, values, outputs, made, leaves, objects)
        finally:
            if objects.items:
                objects.items.clear()

    def build(self, value, values, outputs, made, leaves, objects):
        """The function's value, with results in place of Results."""
        if isinstance(value, Result):
            if value.argument is not None:
                return leaves[value.argument]
            kind, number = self.results[value.number]
            if kind == "param":
                return Tensor.wrap(made[number])
            if kind == "output":
                return Tensor.wrap(outputs[number])
            if kind == "value":
                abstract = self.abstracts[value.number]
                return abstract.type(values[number]) if isinstance(abstract, AbstractScalar) else objects.items[values[number]]
            raise ArgumentError("a new value of a Parameter cannot be a result too")
        if isinstance(value, tuple):
            items = [self.build(v, values, outputs, made, leaves, objects) for v in value]
            return value._make(items) if hasattr(value, "_make") else tuple(items)
        if type(value) is list:
            return [self.build(v, values, outputs, made, leaves, objects) for v in value]
        if type(value) is dict:
            return {k: self.build(v, values, outputs, made, leaves, objects) for k, v in value.items()}
        return value


def unknown(constraint, env):
    """True if a constraint uses Symbols that the signature does not bind (it is checked in the Flow)."""
    from ..common.dim import symbols_of
    return bool((symbols_of(constraint.left) | symbols_of(constraint.right)) - set(env))


# ---------------------------------------------------------------- signatures

@dataclass(frozen=True)
class ObjectSpec:
    """A constant that is compared by identity."""
    number: int
    keep: object = field(compare=False, hash=False, default=None)


def signature_of(value, leaves):
    """The signature of a pytree of arguments, hashable; Tensors, arrays and variable numbers are appended to `leaves`."""
    cls = type(value)
    if cls is Tensor or cls is Parameter:
        leaves.append(value)
        return TensorSpec(value.dtype, value.array.shape)
    if cls is tuple or cls is list:
        return (cls.__name__, *[signature_of(v, leaves) for v in value])
    if cls is dict:
        return ("dict", *[(k, signature_of(v, leaves)) for k, v in value.items()])
    if cls in (int, float, bool, str, type(None), complex, bytes):
        return (cls.__name__ + "=", value, repr(value)) if cls is float else (cls.__name__ + "=", value)
    if isinstance(value, Tensor):
        leaves.append(value)
        return TensorSpec(value.dtype, value.array.shape)
    if isinstance(value, np.ndarray):
        leaves.append(Tensor.wrap(np.ascontiguousarray(value)))
        return TensorSpec(dt.dtype(value.dtype), value.shape)
    if isinstance(value, tuple):
        return (ObjectSpec(id(cls), cls), *[signature_of(v, leaves) for v in value])
    return ObjectSpec(id(value), value)


def flat_specs(signature, found):
    """The TensorSpecs of a signature, in the order of the leaves."""
    if isinstance(signature, TensorSpec):
        found.append(signature)
    elif isinstance(signature, tuple):
        for part in signature:
            flat_specs(part, found)


def abstract_values(signature, value):
    """`value` with an AbstractTensor in place of each Tensor, by the signature."""
    if isinstance(signature, TensorSpec):
        return AbstractTensor(signature.dtype, tuple(s.dim if isinstance(s, Symbol) else s for s in signature.shape))
    if isinstance(value, (tuple, list)):
        items = [abstract_values(s, v) for s, v in zip(signature[1:], value)]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if type(value) is dict:
        return {k: abstract_values(s[1], v) for s, (k, v) in zip(signature[1:], value.items())}
    return value


def matches(pattern, signature, env):
    """Does a call's signature fit a variant's, Symbols standing for sizes? env collects {Symbol: size}."""
    if isinstance(pattern, TensorSpec):
        if not isinstance(signature, TensorSpec) or pattern.dtype is not signature.dtype or \
                len(pattern.shape) != len(signature.shape):
            return False
        for want, have in zip(pattern.shape, signature.shape):
            if isinstance(want, Symbol):
                lo, hi = want.bounds()
                if env.setdefault(want, have) != have or have < lo or (hi is not None and have > hi):
                    return False
            elif want != have:
                return False
        return True
    if isinstance(pattern, tuple) and isinstance(signature, tuple):
        return len(pattern) == len(signature) and all(matches(p, s, env) for p, s in zip(pattern, signature))
    return type(pattern) is type(signature) and pattern == signature


def sizes_in(signature, path="x"):
    """(path, size) of every size in a signature."""
    if isinstance(signature, TensorSpec):
        for axis, size in enumerate(signature.shape):
            yield f"{path}.shape[{axis}]", size
    elif isinstance(signature, tuple):
        for number, part in enumerate(signature):
            yield from sizes_in(part, f"{path}{number}" if path == "x" else f"{path}.{number}")


def without_sizes(signature):
    """The signature with sizes left out (the number of axes stays)."""
    if isinstance(signature, TensorSpec):
        return TensorSpec(signature.dtype, (None,) * len(signature.shape))
    return tuple(without_sizes(p) for p in signature) if isinstance(signature, tuple) else signature


def sizes_that_differ(pattern, signature):
    """[(path, size there, size here)] if the signatures differ in sizes alone, else None."""
    if without_sizes(pattern) != without_sizes(signature):
        return None
    return [(path, a, b) for (path, a), (_, b) in zip(sizes_in(pattern), sizes_in(signature))
            if not isinstance(a, Symbol) and a != b]


def open_sizes(signature, chosen, path="x", symbols=None):
    """The signature with a Symbol for each chosen size; equal sizes share one."""
    symbols = {} if symbols is None else symbols
    if isinstance(signature, TensorSpec):
        shape = []
        for axis, size in enumerate(signature.shape):
            if not isinstance(size, Symbol) and chosen(f"{path}.shape[{axis}]", size):
                if size not in symbols:
                    symbols[size] = Symbol(lo=0)
                size = symbols[size]
            shape.append(size)
        return TensorSpec(signature.dtype, tuple(shape))
    if isinstance(signature, tuple):
        return tuple(open_sizes(part, chosen, f"{path}{n}" if path == "x" else f"{path}.{n}", symbols)
                     for n, part in enumerate(signature))
    return signature


def declared_spec(inputs, signature):
    """The signature with the open sizes of placeholders (set_inputs) as Symbols."""
    symbols = {}

    def merge(placeholder, spec):
        if isinstance(spec, TensorSpec) and isinstance(placeholder, Tensor):
            if len(placeholder.shape) != len(spec.shape):
                return spec
            return TensorSpec(spec.dtype, tuple(
                symbols.setdefault((p, n) if p is None else p, p if isinstance(p, Symbol) else Symbol(lo=0))
                if not isinstance(p, int) or p == -1 else n for p, n in zip(placeholder.shape, spec.shape)))
        if isinstance(spec, tuple) and isinstance(placeholder, (tuple, list)):
            return (spec[0], *[merge(p, s) for p, s in zip(placeholder, spec[1:])], *spec[1 + len(placeholder):])
        return spec
    args, kwargs = signature[1], signature[2]
    return (signature[0], merge(tuple(inputs), args), kwargs)


def first_difference(a, b):
    """Words for the first place where two signatures differ."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        for x, y in zip(a, b):
            if x != y:
                return first_difference(x, y)
    return f"{show_signature(a)} -> {show_signature(b)}"


def show_signature(signature):
    """A signature as text."""
    if isinstance(signature, TensorSpec):
        return str(signature)
    if isinstance(signature, ObjectSpec):
        return type(signature.keep).__name__
    if isinstance(signature, tuple) and signature and isinstance(signature[0], str):
        if signature[0].endswith("="):
            return repr(signature[1])
        if signature[0] == "dict":
            return "{" + ", ".join(f"{k}: {show_signature(v)}" for k, v in signature[1:]) + "}"
        return "(" + ", ".join(show_signature(p) for p in signature[1:]) + ")"
    return str(signature)


# ---------------------------------------------------------------- guards

_MISSING = object()


def current_value(kind, owner, name):
    """What a guard would read now."""
    if kind == "item":
        return owner.get(name, _MISSING)
    if kind == "cell":
        try:
            return owner.cell_contents
        except ValueError:
            return _MISSING
    return getattr(owner, name, _MISSING)


def same_value(a, b):
    """Is what was read still the same? Objects by identity, numbers, strings and tuples of them by value."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (int, float, str, bytes, complex)):
        return a == b
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if hasattr(a, "__func__"):
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return False


def guards_hold(guards):
    """True if everything that was read at compile time is as it was."""
    for kind, owner, name, value in guards:
        if kind == "item":
            now = owner.get(name, _MISSING)
        else:
            now = current_value(kind, owner, name)
        if now is not value and not same_value(now, value):
            return False
    return True


def changed_guard(guards):
    """Words for the first guard that does not hold."""
    for kind, owner, name, value in guards:
        if not same_value(current_value(kind, owner, name), value):
            where = "" if kind == "attr" and owner is None else f"{type(owner).__name__}." if kind == "attr" else ""
            return f"{where}{name}"
    return "nothing"
