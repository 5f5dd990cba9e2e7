"""JitFunction: a Python function that is compiled for the kinds of arguments it is called with.

    f = JitFunction(function);  f(x)  ->  signature of x -> variant (compiled once) -> native run -> Tensors

A *variant* fits all calls with the same structure, constants, dtypes and (where they are not Symbols) sizes. Sizes
become Symbols where they are declared (dynamic=1, set_inputs), and from the second call that differs only in them. What
was read at compile time (globals, closure cells, attributes) is guarded; each new variant keeps the reason for it.
"""
import itertools
import threading
import time
import weakref

from ..common.dim import Symbol
from ..common.errors import ArgumentError
from ..common.events import emit
from ..infer.concrete import run_concretely
from ..infer.fallback import NeedsRecord
from ..parse.parse import parse_function
from .guards import changed_guard, guards_hold
from .pipeline import compile_function
from .signature import (Leaves, arguments_of, declared_spec, first_difference, open_sizes, show_signature, signature_of, sizes_in,
                        sizes_that_differ)
from .variant import Runner

MAX_SHAPE_VARIANTS = 4
alive = weakref.WeakValueDictionary()        # every JitFunction by number, for those who look inside a program
_numbers = itertools.count()


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
        alive[next(_numbers)] = self

    # -- calling

    def __call__(self, *args, **kwargs):
        variant, leaves, _ = self.select(args, kwargs)
        if variant is None:
            return run_concretely(self.function, args, kwargs, self.fallbacks)
        return variant.run(leaves)

    def select(self, args, kwargs):
        """(the variant for a call, its Tensors and numbers, its signature); no variant where it must run in Python once."""
        leaves = Leaves()
        signature = signature_of((args, tuple(kwargs.items())), leaves)
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
                        return None, leaves, signature
                self.exact[signature] = variant
        variant.calls += 1
        return variant, leaves, signature

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
        inside_args, inside_kwargs = arguments_of(wanted, args, kwargs)
        compiled = compile_function(self.function, inside_args, inside_kwargs, name=self.name, fullgraph=self.fullgraph,
                                    fallbacks=self.fallbacks, jit_level=self.jit_level, printer=self.printer)
        variant = Runner(wanted, compiled, reason, time.perf_counter() - start, compiled.specialised.guards)
        if not variant.fits(signature):                      # a size was assumed that these sizes do not have
            inside_args, inside_kwargs = arguments_of(signature, args, kwargs)
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
            return parse_function(getattr(self.function, "construct", self.function))
        if stage not in stages:
            raise ArgumentError(f"there is no stage {stage!r}", hint="one of parse, " + ", ".join(stages))
        return stages[stage]

    def kernels(self, variant=None):
        """The kernels of a variant (the latest), each once, in order of first use."""
        made = {}
        for _, what in (variant or self.latest()).compiled.lowered.kernels:
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
                      f"    kernels: {len(self.kernels(variant))}, storages: {len(plan.storages)}"]
            for location, reason in dict.fromkeys(compiled.specialised.reasons):
                lines.append(f"    {location or 'somewhere'}: {reason}")
            for node, reason in compiled.stages["fuse"].transforms.get("refused", ()):
                lines.append(f"    {node.origin.location or ''} {getattr(node.fn, 'name', node.fn)} stays alone: {reason}")
        for variant, why in self.history:
            lines.append(f"  dropped: {show_signature(variant.signature)}, because {why} changed")
        return "\n".join(lines)
