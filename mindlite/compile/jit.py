"""JitFunction: a Python function that is compiled for the kinds of arguments it is called with.

    f = JitFunction(function);  f(x)  ->  signature of x -> variant (compiled once) -> native run -> Tensors

A *variant* fits all calls with the same structure, constants, dtypes and (where they are not Symbols) sizes. Sizes
become Symbols where they are declared (dynamic=1, set_inputs), and from the second call that differs only in them. What
was read at compile time (globals, closure cells, attributes) is guarded; each new variant keeps the reason for it.
"""
from __future__ import annotations

import itertools
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..backend.kernel import Kernel
from ..common.config import STRICT, config
from ..common.device import listeners
from ..common.dim import Symbol
from ..common.errors import (ArgumentError, InexactError, InternalError, MindliteError, Passed, Refusal, fault, for_user,
                             user_level, user_location)
from ..common.events import emit
from ..common.location import Location
from ..common.locks import new_lock
from ..common.recent import Recent
from ..fallback.log import Log, Trap, logging_to
from ..fallback.record import Records
from ..infer.concrete import run_concretely
from ..mindir.graph import FuncGraph
from ..infer.values import Place
from ..mindir.primitive import eager
from ..parse.parse import parse_function
from .executable import ending_of
from .explanation import explain
from .guards import changed_guard, guards_hold
from .disk_cache import compile_or_restore
from .call_plan import function_plan
from .flow import Program
from .plain_call import complete, fits, held_as_it_was, meets_hooks
from .open_call import open_call
from .quick import MISS, quick_call
from .reasons import KNOWN_NUMBER, KNOWN_OUTSIDE, Reason, differences, nearest, parameter_names, reason_of
from .signature import (Leaves, ScalarSpec, Signature, Trees, arguments_of, declared_spec, differing_trees, has_trees, lying,
                        numbers_in, open_numbers, open_sizes, places_of_trees, signature_of_call, sizes_above_zero, sizes_in,
                        sizes_that_differ, with_wider_trees)
from .variant import Variant

MAX_SHAPE_VARIANTS = 4
MAX_WAITING = 16                 # variants kept whose guards do not hold at present
MAX_QUICK_CALLS = 8              # fast paths that are tried, in each thread, before a call is looked at in full
MAX_RECORDINGS = 24              # runs of one signature that show what calls give
MAX_ASKED = 6                    # runs for the sake of one call: what a user's special method does is not looked into
MAX_REMEMBERED = 4096            # signatures whose variant is found by one look-up
alive: weakref.WeakValueDictionary[int, JitFunction] = weakref.WeakValueDictionary()     # by number, for who looks inside
_numbers = itertools.count()


def forget_fast_paths() -> None:
    """Devices have come or gone: fast paths made before do not ask where kernels run, and what ran there cannot run again."""
    for function in list(alive.values()):
        with function.lock:
            function.drop([v for v in function.variants if v.plan.device is not None])
        function.forget_calls()


listeners.append(forget_fast_paths)


class FallbackWarning(UserWarning):
    """A jitted function cannot be a graph and runs in Python as a whole."""


def _alike(a: BaseException, b: BaseException) -> bool:
    """True for exceptions that say the same; their arguments may be Tensors, which have no one truth value."""
    return type(a) is type(b) and repr(a.args) == repr(b.args)


def told(refusal: Refusal) -> Exception:
    """The exception for a caller who wants a graph and nothing else."""
    error = refusal.error()
    return error if isinstance(error, MindliteError) else Passed(error)


class _Quick(threading.local):
    """The fast paths of a thread.

    known : of known sizes (quick.py), newest first;   made: how many were tried
    open  : of open sizes (open_call.py), where many signatures came: {id of a variant: (the variant, its path or None)}
    calls : those of open sizes, then those of known sizes, most of which machine code tries before
    seen  : {(id of a variant, signature): (the variant, how often it came)}
    """

    def __init__(self) -> None:
        self.calls: tuple[Callable[[tuple], Any], ...] = ()
        self.known: tuple[Callable[[tuple], Any], ...] = ()
        self.open: dict[int, tuple[Variant, Callable[[tuple], Any] | None]] = {}
        self.made, self.seen = 0, Recent()

    def arrange(self) -> None:
        """Tell `calls` of a new one."""
        self.calls = (*(call for _, call in self.open.values() if call is not None), *self.known)


class JitFunction:
    """function : the Python function (or bound method, or Cell)
    fullgraph   : a fallback is an error; None: config.jit_syntax_level says it
    dynamic     : 1: all sizes of Tensor arguments are open from the start
    jit_level   : "O0" one kernel per operator, "O1" fused           printer: how the Flow runs (config.printer)
    inputs      : declared argument placeholders (set_inputs), or None
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None, fullgraph: bool | None = None, dynamic: int = 0,
                 jit_level: str | None = None, printer: str | None = None, inputs: Sequence[Any] | None = None) -> None:
        self.function, self.strict, self.dynamic = function, fullgraph, dynamic
        self.name = name or getattr(function, "__qualname__", type(function).__name__).replace("<locals>.", "")
        self.jit_level, self.printer, self.inputs = jit_level, printer, inputs
        self.variants: list[Variant] = []
        self.history: list[tuple[Variant, Reason]] = []
        self.exact, self.fallbacks, self.names = Recent(), Records(), parameter_names(function)
        self.lock, self.quick = new_lock(), _Quick()
        self.plans: list[Any] = []                       # see short_plan.HasPlans
        self.runs_in_python = 0
        self.in_python: dict[Signature, tuple[Location | None, str, bool]] = {}
        # numbers outside that are run-time values as they have changed; those (and ordinals of arguments) that cannot be
        self.varying: set[Place] = set()
        self.fixed: set[Place | int] = set()
        self.pure: set[Signature] = set()                # those that Python runs without an exception
        self.recordings: dict[Signature, int] = {}       # how often it ran to see what calls give
        self.asked: dict[Any, int] = {}                  # by the key of a call: how often that was for its sake
        self.run_twice: dict[Location | None, tuple[str, int]] = {}    # why, and how often Python ran a call again
        self.refused: dict[Location | None, tuple[str, int]] = {}      # why, and how many calls Python has made for it, once each
        self.trees = Trees()                             # which arguments are trees
        self.met_hooks = 0                               # calls that Python has run for the hooks of an argument
        self.warned: set[Any] = set()                    # signatures and locations of whose run in Python a warning was given
        alive[next(_numbers)] = self

    @property
    def fullgraph(self) -> bool:
        """True where what would run in Python is an error."""
        return config.jit_syntax_level == STRICT if self.strict is None else bool(self.strict)

    # -- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.call(args, kwargs)
        except Passed as passed:
            error = passed.error
        raise error                                          # the user's own, as it is

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call. raises : Passed with what Python code has raised; the error with which a run of compiled code has ended;
        errors of mindlite's"""
        try:
            if not kwargs:
                for call in self.quick.calls:
                    value = call(args)
                    if value is not MISS:
                        return value
            return self.run(args, kwargs)
        except Passed:
            raise
        except (Exception, Trap) as ended:
            return self.decide(ended, args, kwargs)

    def run(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call, the general way."""
        variant, leaves, signature = self.choose(args, kwargs)
        if variant is None:
            return self.run_refused(signature, args, kwargs)
        if meets_hooks(variant.plan, leaves):
            return self.run_with_hooks(args, kwargs)
        if variant.calls_others_code:
            log = Log()
            try:
                with logging_to(log):
                    return variant.run(leaves)
            except (Exception, Trap) as ended:
                return self.decide(ended, args, kwargs, log)
        value = variant.run(leaves)
        if not kwargs:
            self.learn(variant, signature, args)
        return value

    def decide(self, why: BaseException, args: tuple, kwargs: dict[str, Any], log: Log | None = None) -> Any:
        """The one place that decides whether Python makes a call that compiled code did not bring to its end.

        Variables, containers and Tensors outside are written at the end of a run, so nothing has happened yet but calls of
        Python, and what those gave stands in the log. Python makes the call where it is to say what happens, or so that what
        comes before an exception happens before it is raised.

        why    : a Trap, a Refusal, the exception with which a run ended, or an error or fault of the call
        log    : of a run that may have called Python
        raises : why, or what it stands for; Passed with what Python raises
        """
        if isinstance(why, Refusal):                         # of a function that is to be a graph
            if why.acts:
                self.python(args, kwargs)
            raise told(why) from None
        if isinstance(why, Trap):
            before = self.fallbacks.changes
            self.learn_from(why)
            try:
                return self.python(args, kwargs, log or Log())
            finally:
                self.drop_outdated(why, before)
        ending = ending_of(why)
        if ending is None and not isinstance(why, (MindliteError, MemoryError)):
            raise fault(why, "call", user_location) from why
        if ending is None or ending.begun and log is None or isinstance(why, InternalError):
            raise why
        again = why if ending.again and isinstance(why, MindliteError) else None
        acts, refuses = any(v.plan.has_effects for v in self.variants), again is not None and self.fullgraph
        if again is None and not acts:
            raise why
        if refuses and (any(v.may_act for v in self.variants) or isinstance(why, InexactError)):
            raise why                                        # else Python, which is seen to do nothing, may have a better word
        if again is not None and not refuses:
            emit("run_again", name=self.name, location=again.location)
        try:
            value = self.python(args, kwargs, log if ending.begun else None)
        except Passed as passed:
            if ending.begun and again is None and _alike(passed.error, why):
                raise why from None                          # it shows the user's lines
            raise
        if refuses:
            raise why
        if again is not None:
            self.note_second_run(again)
        return value

    def python(self, args: tuple, kwargs: dict[str, Any], log: Log | None = None) -> Any:
        """The call by Python, the one way to it. raises : Passed with what it raises

        log : construct by construct, which records what they give; calls that stand in the log are not made again
        """
        if log is not None:
            return run_concretely(self.function, args, kwargs, self.fallbacks, log)
        try:
            with eager():
                return self.function(*args, **kwargs)
        except Exception as error:
            raise Passed(error) from error

    def run_with_hooks(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call by Python: an argument by which it differentiates has hooks, which are of the run."""
        self.met_hooks += 1
        return self.python(args, kwargs)

    def drop_outdated(self, trap: Trap, before: int) -> None:
        """Remove the variants that a trap concerns, if something was learnt since
        `changes` was `before`. (Otherwise the call raises each time.)"""
        with self.lock:
            if self.fallbacks.changes != before:
                self.drop([v for v in self.variants if v.calls_python or trap.key is None
                           or trap.key in v.compiled.specialised.keys])
                self.forget_calls()

    def learn_from(self, trap: Trap) -> None:
        """The next variant knows what this one did not."""
        before = self.fallbacks.changes
        with self.lock:
            self.fallbacks.learn(trap.volatile)
            if trap.in_place:
                self.fallbacks.learn_in_place(trap.key)
            if trap.given:
                self.fallbacks.add(trap.key, trap.given[0])
            self.runs_in_python += 1
        self.drop_outdated(trap, before)
        emit("trap", name=self.name, location=trap.location)

    def drop(self, variants: Sequence[Variant]) -> None:
        """Forget these variants."""
        self.variants = [v for v in self.variants if v not in variants]
        self.exact = Recent({s: v for s, v in self.exact.items() if v not in variants})

    def note_second_run(self, error: MindliteError) -> None:
        """Remember, and tell once, that Python ran a call again."""
        self.run_twice[error.location] = error.message, self.run_twice.get(error.location, (0, 0))[1] + 1
        self.warn(error.location, f"runs again in Python: {error.message}", error.location)

    def warn(self, key: Any, text: str, location: Location | None) -> None:
        """Tell, once, of a call that Python runs."""
        if key not in self.warned:
            self.warned.add(key)
            try:
                warnings.warn(f"{self.name} {text} ({location or 'place unknown'}); fullgraph=True makes this an error",
                              FallbackWarning, stacklevel=user_level())
            except FallbackWarning as warning:                    # the user's filter makes an error of it
                raise Passed(warning) from None

    def learn(self, variant: Variant, signature: Signature, args: tuple) -> None:
        """Make the fast path for a call that came a second time; where many others have theirs, it must come more often."""
        quick, key = self.quick, (id(variant), signature)
        times = quick.seen.get(key, (variant, 0))[1] + 1
        quick.seen.put(key, (variant, times), MAX_REMEMBERED)
        if quick.made >= MAX_QUICK_CALLS and variant.plan.symbols and id(variant) not in quick.open:
            quick.open[id(variant)] = variant, open_call(variant, args)
            quick.arrange()
        if times == 2 + quick.made // MAX_QUICK_CALLS:
            quick.made += 1
            call = quick_call(variant, signature, args)
            if call is not None:
                quick.known = (call, *quick.known[:MAX_QUICK_CALLS - 1])
                quick.arrange()
                if call.short is not None:
                    self.plan(variant, call)

    def plan(self, variant: Variant, call: Any) -> None:
        """Have machine code make such calls from now on."""
        def failed(*args):
            try:
                return self.decide(call.failure(), args, {})
            except Passed as passed:
                raised = passed.error
            except Exception as error:
                raised = error
            raise for_user(raised)
        call.short.on_failure(failed)
        call.variant = variant
        variant.fast.append(call.short)
        self.plans[:0] = call.short.words, call
        self.end_plans(MAX_QUICK_CALLS)

    def forget_calls(self) -> None:
        """All calls go the general way again."""
        self.quick = _Quick()
        self.end_plans()

    def end_plans(self, beyond: int = 0) -> None:
        """Machine code makes calls by the first `beyond` plans only."""
        ended = self.plans[2 * beyond + 1::2]
        del self.plans[2 * beyond:]
        for call in ended:
            call.variant.end_plan(call.short)

    def select(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Variant | None, Leaves, Signature]:
        """See `choose`, for who makes no call. raises : what Python will raise, too, or GraphSyntaxError, with fullgraph=True"""
        try:
            return self.choose(args, kwargs)
        except Refusal as refusal:
            raise told(refusal) from None

    def choose(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Variant | None, Leaves, Signature]:
        """(the variant for a call, its run-time arguments, its signature); no variant where it must run in Python.

        raises : Refusal with fullgraph=True
        """
        signature, leaves = signature_of_call(args, kwargs, self.trees)
        variant = self.exact.get(signature)
        if variant is None or not guards_hold(variant.plan.guards) or not held_as_it_was(variant.plan):
            with self.lock:
                variant = self.find(signature)
                if variant is None:
                    trees = self.trees
                    variant = self.compile_or_leave(signature, args, kwargs)
                    if variant is None and self.trees != trees:      # arguments are trees, or are none, from now on
                        return self.choose(args, kwargs)
                    if variant is None:
                        return None, leaves, signature
                self.exact.put(signature, variant, MAX_REMEMBERED)
        variant.plan.calls += 1
        return variant, complete(variant.plan, leaves), signature

    def compile_or_leave(self, signature: Signature, args: tuple, kwargs: dict[str, Any]) -> Variant | None:
        """A new variant, or None if Python makes the call: once, to record the
        types of calls, or because a graph cannot express it."""
        if signature in self.in_python:
            return None
        if not self.trees.refused:
            before, self.trees = self.trees, Trees(self.trees.places.union(places_of_trees(signature), *[
                differing_trees(v.signature, signature, args) for v in self.variants]))
            if self.trees != before and self.trees.places != places_of_trees(signature):
                return None
        try:
            return self.compile(signature, args, kwargs)
        except Refusal as refusal:
            if has_trees(signature):
                self.trees = Trees(refused=refusal.message)
                self.drop([v for v in self.variants if has_trees(v.signature)])
                return None
            if refusal.awaits is not None:
                self.asked[refusal.awaits] = self.asked.get(refusal.awaits, 0) + 1
                self.runs_in_python += 1
                emit("concrete_run", name=self.name, reason=refusal.message)
                if self.asked[refusal.awaits] <= MAX_ASKED:
                    return None
                refusal = Refusal(f"a run does not show what a call gives: {refusal.message}", None)
            if self.fullgraph:
                raise refusal
            self.leave(signature, refusal)
        return None

    def leave(self, signature: Signature, refusal: Refusal) -> None:
        """From now on Python makes such calls. After an uncertain refusal, only if Python
        does not raise: the program's own exceptions are not hidden."""
        with self.lock:
            self.drop([v for v in self.variants if fits(v.plan, signature)])
        self.in_python[signature] = (refusal.location, f"runs in Python: {refusal.message}",
                                     refusal.certain or signature in self.pure)
        emit("python_run", name=self.name, reason=refusal.message, location=refusal.location)

    def run_refused(self, signature: Signature, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call by Python, as there is no graph: of a signature that is left to it, or once, to see what calls give."""
        if signature not in self.in_python:
            well, times = False, self.recordings.get(signature, 0) + 1
            try:
                value, well = self.python(args, kwargs, Log()), True
            finally:
                with self.lock:
                    self.fallbacks.ran(well)
            self.recordings[signature] = times
            if times > MAX_RECORDINGS:
                self.leave(signature, Refusal("a call that runs in Python was not met when it ran", None))
            return value
        location, why, certain = self.in_python[signature]
        if not certain:
            self.refused[location] = why, self.refused.get(location, (why, 0))[1] + 1
        try:
            value = self.python(args, kwargs)
        except Passed:
            self.in_python.pop(signature, None)
            raise
        if certain:
            self.warn(signature, why, location)
        else:                                                # the exception was not the user's: what raised it is left
            self.pure.add(signature)
            del self.in_python[signature]
            self.warn(location, why, location)
        return value

    def find(self, signature: Signature) -> Variant | None:
        """A variant that fits the signature and whose guards hold; those whose guards do not hold wait in `history`."""
        stale = [v for v in self.variants if not guards_hold(v.plan.guards)]
        if stale:
            self.drop(stale)
            self.history += [(v, self.note_changes(v)) for v in stale]
        for variant in self.variants:
            if fits(variant.plan, signature):
                return variant
        for entry in self.history:                           # set_train(True), set_train(False), set_train(True) ..
            if guards_hold(entry[0].plan.guards) and fits(entry[0].plan, signature):
                self.history.remove(entry)
                self.variants.append(entry[0])
                return entry[0]
        del self.history[:-MAX_WAITING]
        return None

    def note_changes(self, variant: Variant) -> Reason:
        """The Reason for which a variant no longer holds. Numbers outside that change are run-time values from now on."""
        change = changed_guard(variant.plan.guards)
        if change.place is not None and change.place not in self.fixed:
            self.varying.add(change.place)
            return Reason(f"{change}; it is a run-time value from now on", KNOWN_OUTSIDE)
        return Reason(str(change), KNOWN_OUTSIDE)

    def compile(self, signature: Signature, args: tuple, kwargs: dict[str, Any]) -> Variant:
        """Compile a variant for the signature; sizes and numbers that have changed are open where that is possible."""
        wanted, reason = self.generalise(signature)
        numbers = [n for n, s in enumerate(numbers_in(wanted)) if isinstance(s, ScalarSpec)]
        varies = bool(numbers or self.varying)
        try:
            return self.compile_for(wanted, signature, reason, args, kwargs)
        except InternalError:
            raise
        except MindliteError as error:
            if isinstance(error, Refusal) and error.awaits is not None or not varies and wanted == signature:
                raise
            why = error.message
        if not varies:       # open sizes do not work: these sizes either do, or their error says the numbers that the user knows
            return self.compile_for(signature, signature, reason.and_then("the sizes could not stay open"), args, kwargs)
        known = self.fixed, self.varying                     # a number must be known, as an axis must: one variant for each
        self.fixed, self.varying = {*self.fixed, *numbers, *self.varying}, set()
        made = None
        try:
            wanted, reason = self.generalise(signature)
            made = self.compile_for(wanted, signature, reason.and_then(f"it must be known ({why})", KNOWN_NUMBER), args, kwargs)
            return made
        finally:
            if made is None:                                 # it was not for the numbers
                self.fixed, self.varying = known

    def compile_for(self, wanted: Signature, signature: Signature, reason: Reason, args: tuple,
                    kwargs: dict[str, Any]) -> Variant:
        """Compile a variant for `wanted`, which is `signature` with open sizes and numbers."""
        start = time.perf_counter()

        def make(spec, why):
            inside_args, inside_kwargs = arguments_of(spec, args, kwargs)
            compiled = compile_or_restore(self.function, inside_args, inside_kwargs, spec, name=self.name,
                                          fullgraph=self.fullgraph, fallbacks=self.fallbacks,
                                          pure=signature in self.pure, jit_level=self.jit_level,
                                          printer=self.printer, varying=self.varying, devices=lying("device", spec),
                                          placements=lying("placement", spec))
            return Variant(function_plan(spec, compiled), compiled, why, time.perf_counter() - start)
        variant = make(wanted, reason)
        if not fits(variant.plan, signature):                      # a size was assumed that these sizes do not have
            above_zero = sizes_above_zero(wanted, signature)
            if above_zero != wanted:
                variant = make(above_zero, reason.and_then("open sizes are at least 1"))
        if not fits(variant.plan, signature):
            variant = make(signature, reason.and_then("these sizes are special"))
        self.variants.append(variant)
        emit("variant", name=self.name, reason=variant.reason.text, seconds=variant.seconds)
        return variant

    def generalise(self, signature: Signature) -> tuple[Signature, Reason]:
        """(the signature with Symbols for the sizes that should be open, the reason for compiling)."""
        declared = declared_spec(self.inputs, signature) if self.inputs is not None else signature
        if self.dynamic:
            first = self.history[-1][1] if self.history else Reason("first call")
            return open_sizes(declared, lambda path, size: True), first if not self.variants else reason_of(
                nearest([v.signature for v in self.variants], signature, self.names), "new kinds of arguments")
        if not self.variants:
            return declared, self.history[-1][1] if self.history else Reason("first call")
        for variant in self.variants:
            difference = sizes_that_differ(variant.signature, signature)
            if difference is not None:
                found = differences(variant.signature, signature, self.names)
                paths = {path for path, _, _ in difference}
                already = {path for path, size in sizes_in(variant.signature) if isinstance(size, Symbol)}
                if sum(1 for v in self.variants if sizes_that_differ(v.signature,
                                                                     signature) is not None) >= MAX_SHAPE_VARIANTS:
                    return open_sizes(signature, lambda path, size: True), reason_of(found, "too many sizes").and_then(
                        "all are open now")
                if config.repeatable:                        # which sizes came first is another in a run that goes on
                    return declared, reason_of(found, "another size").and_then("each has its own variant in repeatable runs")
                return open_sizes(signature, lambda path, size: path in paths
                                  or path in already), reason_of(found, "another size")
        for variant in reversed(self.variants):
            wider = with_wider_trees(variant.signature, signature) if has_trees(signature) else None
            if wider is not None:
                return wider, reason_of(differences(variant.signature, signature, self.names), "trees of other kinds")
        for variant in reversed(self.variants):
            opened = open_numbers(variant.signature, signature)
            if opened is None or opened == signature:
                continue
            found = differences(variant.signature, signature, self.names)
            opens = {n for n, s in enumerate(numbers_in(opened)) if isinstance(s, ScalarSpec)}
            if not opens & self.fixed:
                return opened, reason_of(found, "another number").and_then("it is a run-time value from now on")
        found = nearest([v.signature for v in self.variants], signature, self.names)
        fixed = found and all(d.kind == "number" for d in found)
        return declared, Reason(reason_of(found, "another number").text, KNOWN_NUMBER) if fixed else \
            reason_of(found, "new kinds of arguments")

    # -- looking inside

    def latest(self) -> Variant:
        """The variant compiled last. raises : ArgumentError before the first call."""
        if not self.variants:
            raise ArgumentError(f"{self.name} has not been called yet", hint="call it once, then look inside")
        return self.variants[-1]

    def graph(self, stage: str = "optimise") -> FuncGraph | Program:
        """The FuncGraph after a stage: infer, transform, optimise, fuse; or the Program after "plan"."""
        stages = self.latest().compiled.stages
        if stage == "parse":
            return parse_function(getattr(self.function, "construct", self.function))
        if stage not in stages:
            raise ArgumentError(f"there is no stage {stage!r}", hint="one of parse, " + ", ".join(stages))
        return stages[stage]

    def kernels(self, variant: Variant | None = None) -> list[Kernel]:
        """The kernels of a variant (the latest), each once, in order of first use."""
        made: dict[Kernel, None] = {}
        for _, what in (variant or self.latest()).compiled.lowered.kernels:
            kernel = getattr(what, "kernel", what)
            if hasattr(kernel, "address"):
                made[kernel] = None
        return list(made)

    def explain(self, details: bool = False) -> str:
        """What was compiled and why, and what runs in Python: see `explanation.explain`."""
        return explain(self, details)
