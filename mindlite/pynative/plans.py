"""Plans of operators in eager mode: what a call of one signature does, so that machine code does it the next time.

    ops.softmax(x, -1)     seen twice      ->  a plan: for f32[32, 32] and axis=1, this function of the Tensor's array
                           seen often      ->  the plan has a kernel, which machine code calls by its address

Python goes first and teaches, as native.py has it. A plan is for what was written (classes, dtypes, sizes, numbers, names) and
for which operands have numbers on the tape; native_plans.py reads it. Its function computes as Python did; once calls have
taken longer than compiling does (Karlin et al. 1988, ski rental) the operator is compiled beside the run (beside.py), a
composite as one kernel. Where that is switched off there are PAUSE calls by plans between two compilations, so that a program
is never held up by many of them at once, and only counts decide: a program that runs again computes the same.
"""
import collections
import functools
import math
import time
from typing import Any

import numpy as np

from ..backend import python_entry
from ..common import dtype as dt
from ..common.config import config
from ..common.dim import UnknownValueError, lone_symbol
from ..common.errors import InternalError, MindliteError, Signal
from ..common.locks import new_lock
from ..common.storage import elsewhere
from ..common.tensor import Parameter, Tensor, lies_elsewhere
from ..common.threads import here
from ..compile.known_call import KnownCall
from ..compile.short_plan import MAX_ARRAYS, ShortPlan
from ..mindir.constraints import collecting
from ..mindir.primitive import current_interpreter
from ..ops.views import WRITE_BACK
from . import native, sharded
from .beside import Making, costs, may_hold
from .interpreter import interpreter, wrap
from .kernels import OFTEN_ENOUGH, Compiled, OwnKernel, is_checked, single_node
from .operation import Opening, made_for
from .sizes import symbols_in
from .tape import paused
from .views import link, view_maker

A_TENSOR, AN_INT, A_FLOAT, AN_OBJECT, SOME_VALUES, A_TEXT, A_SLICE = (native.FORMS[n] for n in (
    "A_TENSOR", "AN_INT", "A_FLOAT", "AN_OBJECT", "SOME_VALUES", "A_TEXT", "A_SLICE"))
MOST_ARGUMENTS, TOP = native.FORMS["MOST_ARGUMENTS"], native.FORMS["TOP"]
(COUNT, NAMED, MASK, KEYS, FUNCTION, KERNEL, CALLS, HOT, BACKWARD, RECORD, GIVEN) = range(len(native.OPLAN))
OFTEN, OFTEN_FOR_COMPOSITES, OFTEN_FOR_SERIES = 1000, 200, 50      # calls after which a kernel is worth its compilation, at most
BY_PYTHON = 2e-5                                 # seconds of a call that teaches, beside what the operator takes
PAUSE = 5000                                     # calls by plans between two compilations that are not beside the run
AGAIN = 50                                       # calls of a plan until it is looked whether its kernel is there
FEW_PLANS = 16                                   # of one operator, whose signatures get theirs when they come for the second time
TRIES = 16                                       # plans of one operation, of which each may have taken another's place
NEVER = 1 << 62
_WORD = (1 << 64) - 1
_IDENTIFIED = (type(None), bool, dt.DType, type(...))       # arguments that are the same only if they are one object
_lock = new_lock()


class Unplanned(Signal):
    """Why a call has no plan."""


class OperatorPlan:
    """The words of one plan, and all that they point to. operation: the Operation whose calls they describe; often: the number of
    calls after which its kernel is worth its compilation; is_walk: it is a function's without a kernel, which Python asks now and
    then how often it has run; counted: so many of its calls are known there"""
    is_walk, counted = False, 0

    def __init__(self, operation, words, keys, record, keep):
        self.operation, self.words, self.keys, self.record, self.keep = operation, words, keys, record, keep
        self.kernel, self.making, self.often = None, Making(), 0


class Plans:
    """The plans of one operator or function (owner): a table of 2 ** (64 - top) addresses, and what stands at them."""

    def __init__(self, owner, top=TOP):
        self.table, self.top = np.zeros(1 << 64 - top, np.int64), top
        self.held: dict = {}
        owner.plans = int(self.table.ctypes.data)            # from here on machine code looks there

    def put(self, slot, plan):
        """A plan takes the place of another one, which a call that is under way may still read."""
        if slot in self.held:
            _former.append(self.held[slot])
        self.held[slot] = plan
        self.table[slot] = plan.words.ctypes.data


def plans_of(owner, top=TOP):
    """The Plans of an operator or a function."""
    return _plans.get(owner) or _plans.setdefault(owner, Plans(owner, top))


_former: collections.deque = collections.deque(maxlen=4096)
_plans: dict = {}                                # {primitive or Planned: Plans}
_compiled_at = [-PAUSE]                          # how many calls by plans there had been at the last compilation


def call_and_learn(prim, *args, **attrs):
    """Primitive.__call__ in Python; it leaves a plan behind where the same was called before."""
    top = current_interpreter()
    if sharded.calls and top is interpreter:
        made = sharded.call_again(prim, args, attrs)
        if made is not None:
            return interpreter.entered(*made)
    given, named = args, dict(attrs)                         # `prepared` fills the attributes in
    args, attrs = prim.prepared(args, attrs)
    if top is not interpreter or native.installed is None:
        return top.bind(prim, args, attrs)
    start = time.thread_time()
    out, operation = interpreter.perform(prim, args, attrs)
    if operation is not None:
        operation.calls += 1
        if operation.calls >= calls_until_plan(prim) and operation.plans < TRIES and len(here.state.tapes) < 2:
            seconds = time.thread_time() - start
            try:
                learn(operation, given, named, args, attrs, seconds)
            except Unplanned:
                operation.plans = TRIES
    elif elsewhere.sharded:
        sharded.remember(prim, given, named, args, attrs)
    return out


def calls_until_plan(prim):
    """The call of a signature that leaves a plan: the second one, later where an operator has so many that its sizes seem to
    change all the time."""
    plans = _plans.get(prim)
    return 2 if plans is None or len(plans.held) < FEW_PLANS else OFTEN_ENOUGH


# ---------------------------------------------------------------- the words of a plan

class Signature:
    """What a call was given. words: the keys of its arguments; parts: the numbers that they are in the hash; tensors: the Tensors
    among them, those in tuples and lists too; kept: what is known by its address. raises : Unplanned"""

    def __init__(self, given, named):
        self.words: list[int] = []
        self.tensors: list[Tensor] = []
        self.kept: list[Any] = list(named)
        self.count, self.named = len(given), len(named)
        self.parts = [self.count + self.named]
        if self.count + self.named > MOST_ARGUMENTS:
            raise Unplanned("many arguments")
        for value in (*given, *named.values()):
            if type(value) in (tuple, list):
                self.words += SOME_VALUES, id(type(value)), len(value)
                self.parts.append(len(value))
                for item in value:
                    self.enter(item)
            else:
                self.enter(value)
        if len(self.tensors) > MOST_ARGUMENTS:
            raise Unplanned("many Tensors")
        tape = here.state.tapes[0] if here.state.tapes else None
        self.mask = 0 if tape is None else sum([1 << i for i, t in enumerate(self.tensors) if tape.number(t) is not None])
        self.keys = np.array(self.words, np.int64)

    def enter(self, value):
        """A value that is no tuple or list."""
        if isinstance(value, Tensor):
            if type(value) not in (Tensor, Parameter) or lies_elsewhere((value,)) or type(value.host_array) is not np.ndarray:
                raise Unplanned("a Tensor of another class or device")
            array = value.host_array
            self.tensors.append(value)
            self.kept.append(array.dtype)
            self.words += A_TENSOR, id(type(value)), id(array.dtype), array.ndim, *array.shape
            self.parts += array.ndim, *array.shape, id(array.dtype) >> 4
        elif type(value) is slice:
            self.words.append(A_SLICE)
            for end in (value.start, value.stop, value.step):
                if end is not None and type(end) is not int:
                    raise Unplanned("a slice of other things than numbers")
                self.enter(end)
        elif type(value) is int:
            if not -1 << 63 <= value < 1 << 63:
                raise Unplanned("a large number")
            self.words += AN_INT, value
            self.parts.append(value)
        elif type(value) is float:
            bits = int(np.float64(value).view(np.int64))
            self.words += A_FLOAT, bits
            self.parts.append(bits)
        elif type(value) is str:
            self.words += A_TEXT, id(value)
            self.kept.append(value)
        elif isinstance(value, _IDENTIFIED):
            self.words += AN_OBJECT, id(value)
            self.parts.append(id(value) >> 4)
            self.kept.append(value)
        else:
            raise Unplanned(f"an argument of class {type(value).__name__}")

    def key(self):
        """What tells it from others, hashable."""
        return self.count, *self.kept[:self.named], self.mask, *self.words

    def slot(self, top=TOP):
        """The place of a plan in the table: as `_hash_of` in native_plans.py."""
        mixed = self.parts[0]
        for part in self.parts[1:]:
            mixed = mixed * 31 + part & _WORD
        return (((mixed * 2 + 1) * 31 + self.mask) * native.FORMS["SPREAD"] & _WORD) >> top

    def head(self, function, backward, record, hot):
        """The words of a plan of this signature, with no kernel."""
        names = map(id, self.kept[:self.named])
        return np.array([self.count, self.named, self.mask, self.keys.ctypes.data, id(function), 0, 0, hot,
                         id(backward) if backward else 0, record.ctypes.data, len(self.tensors), *names], np.int64)


def learn(operation, given, named, args, attrs, seconds):
    """Leave a plan for the call prim(*given, **named), which is operation(*args, **attrs) and has taken so long.

    raises : Unplanned
    """
    prim = operation.prim
    if not prim.traits.isdisjoint(("effect", "random", "assign")):
        raise Unplanned("it does more than compute")
    signature = Signature(given, named)
    used = [a for a in args if isinstance(a, Tensor)]
    if not signature.tensors and "creation" not in prim.traits:
        raise Unplanned("no Tensor among its operands")
    if len(used) != len(signature.tensors) or any(a is not b for a, b in zip(used, signature.tensors)):
        raise Unplanned("its operands are not those that were given")
    slot = signature.slot()
    with _lock:
        plans = plans_of(prim)
        found = plans.held.get(slot)
        if found is not None and found.operation is operation and found.words[CALLS] >= found.words[HOT]:
            consider_kernel(found, args)
            return
        operation.plans += 1
        function = function_of(operation, args, attrs)
        backward, record, kept = recorded(operation, args, signature.mask)
        often = often_of(prim, seconds)
        words = signature.head(function, backward, record, min(often, calls_until_asking(seconds)))
        plan = OperatorPlan(operation, words, signature.keys, record, (function, backward, kept, signature.kept, operation))
        plan.often = often
        plans.put(slot, plan)


def recorded(operation, args, mask):
    """(the Backward, the words of an entry, what these keep alive) where operands are numbered; (None, [0], None) elsewhere."""
    index_of = {i: n for n, i in enumerate(i for i, a in enumerate(args) if isinstance(a, Tensor))}
    wrt = tuple([i for i, place in index_of.items() if mask >> place & 1 and args[i].host_array.dtype.kind != "b"])
    return words_of_entry(operation, args, index_of, wrt)


def recorded_inputs(operation, signature):
    """`recorded`, of an operation whose operands are the Tensors of a signature."""
    wrt = tuple([i for i, a in enumerate(operation.abstracts) if signature.mask >> i & 1 and a.dtype.kind != "b"])
    return words_of_entry(operation, (), {i: i for i in range(len(operation.abstracts))}, wrt)


def words_of_entry(operation, args, index_of, wrt):
    """As `recorded`. index_of: {number of an operand: which of the Tensors it is}; wrt: the operands that get a gradient"""
    backward = operation.backward(wrt) if wrt and operation.differentiable else None
    if backward is None or not backward.wrt:
        return None, np.zeros(1, np.int64), None
    kept, saved = [], []
    for kind, i in backward.saved:
        if kind == "out":
            saved.append(("A_RESULT", i))
        elif i in index_of:
            saved.append(("AN_ARGUMENT", index_of[i]))
        else:
            kept.append(Tensor.wrap(np.asarray(args[i])) if isinstance(args[i], (np.ndarray, np.generic)) else args[i])
            saved.append(("AN_OBJECT", id(kept[-1])))
    order = {i: n for n, i in enumerate(sorted(backward.seeds))}
    outputs = [("RESULT_NUMBER", order[i]) if i in order else ("AN_OBJECT", id(None)) for i in range(len(operation.outs))]
    return backward, native.record_of([("INPUT_NUMBER", index_of[i]) for i in backward.wrt], outputs, saved), kept


def function_of(operation, args, attrs):
    """The function of the Tensors among `args` that computes what Python computed; all else is as it is."""
    compute, prim = operation.compute, operation.prim
    if prim in WRITE_BACK and isinstance(args[0], Tensor):
        rest = args[1:]
        if any(isinstance(a, Tensor) for a in rest):
            raise Unplanned("a view whose index is a Tensor")
        if not rest:
            return view_maker(((prim, rest, attrs),))

        def view(tensor):
            made = wrap(compute(tensor.host_array, *rest, **attrs))
            link(made, tensor, prim, rest, attrs)
            return made
        return view
    if all(isinstance(a, Tensor) for a in args):
        def plain(*tensors):
            return wrap(compute(*[t.host_array for t in tensors], **attrs))
        function = plain
    else:
        pattern = [None if isinstance(a, Tensor) else a for a in args]
        indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]

        def filled(*tensors):
            arrays = pattern.copy()
            for index, tensor in zip(indices, tensors):
                arrays[index] = tensor.host_array
            return wrap(compute(*arrays, **attrs))
        function = filled
    if "composite" not in prim.traits:
        return function

    def composite(*tensors):
        if not here.state.tapes:
            return function(*tensors)
        with paused():
            return function(*tensors)
    return composite


# ---------------------------------------------------------------- kernels

def often_of(prim, seconds):
    """The number of calls after which a kernel of an operator is worth its compilation. seconds: of a call without"""
    most = OFTEN_FOR_SERIES if "many passes" in prim.traits else OFTEN_FOR_COMPOSITES if "composite" in prim.traits else OFTEN
    if not config.compile_beside:                            # counts alone decide
        return most
    return min(most, math.ceil(costs.of(1) / max(seconds - BY_PYTHON, 1e-6)))


def calls_until_asking(seconds):
    """The number of calls after which it is worth looking whether a kernel is on the disk. seconds: of a call without"""
    if not config.compile_beside or not may_hold():
        return NEVER
    return math.ceil((costs.of_asking + costs.of_asking_for_a_node) / max(seconds - BY_PYTHON, 1e-6))


def may_compile():
    """True if the last compilation that was not beside the run is long ago; from here on that was this one."""
    calls = native.installed.planned()
    if calls - _compiled_at[0] < PAUSE:
        return False
    _compiled_at[0] = calls
    return True


def consider_kernel(plan, args):
    """The calls of a plan have become many: give it a kernel, now or later, if there is one."""
    if config.repeatable or not has_kernel(plan.operation, args):          # a kernel's bits may differ from those before it
        plan.words[HOT] = NEVER
        return
    order = plan.making.find(lambda: functools.partial(compiled_of, plan.operation), 1, math.inf, lambda: (
        plan.words[CALLS] >= plan.often and (config.compile_beside or may_compile())))
    if order is None:
        plan.words[HOT] = max(plan.words[CALLS] + AGAIN, 0 if plan.making.order else plan.often)
    else:
        kernel = plan.kernel = kernel_of(plan.operation, order.result(), args)
        plan.words[HOT] = NEVER
        if kernel is not None:
            function = plan.keep[0]

            def otherwise(*tensors):
                """The kernel did not run: it does so the next time."""
                kernel.renew()
                return function(*tensors)
            plan.keep = otherwise, *plan.keep
            plan.words[FUNCTION], plan.words[KERNEL] = id(otherwise), kernel.words.ctypes.data


def has_kernel(operation, args):
    """False for views, for operands that are no Tensors, and where the eval rule may refuse a value: kernels look at no index."""
    prim = operation.prim
    if not python_entry.available() or prim in WRITE_BACK or is_checked(prim):
        return False
    if not all(isinstance(a, Tensor) for a in args):
        return False
    return not prim.traits.isdisjoint(("elementwise", "reduction")) or all(
        abstract.dtype.kind in "fc" for abstract in operation.abstracts)


def compiled_of(operation):
    """An operator as a Compiled graph; one of open sizes from the second signature on that differs in sizes only."""
    compute = operation.compute
    if isinstance(compute, OwnKernel) and compute.compiled:
        return compute.compiled
    key, sizes = operation.family()
    made, _ = made_for(("kernel", key), sizes, lambda pattern: open_kernel(operation, pattern))
    return Compiled(single_node(operation)) if made is None else made


def open_kernel(operation, pattern):
    """An operator as a Compiled graph of the sizes of a pattern; None where its rules, or its operands, do not say them."""
    try:
        with collecting() as assumed:
            opened = operation.opened(Opening(iter(pattern)))
    except InternalError:
        raise
    except (MindliteError, UnknownValueError):
        return None
    shown = {lone_symbol(size) for a in opened.abstracts for size in getattr(a, "shape", ())}
    return None if assumed or not set(symbols_in(pattern)) <= shown else Compiled(single_node(opened))


def kernel_of(operation, compiled, args):
    """The OperatorKernel of a compiled operator for Tensors like these; None where it is no run of kernels."""
    outs = [step for step in compiled.plan.steps if step[0] == "out"]
    if not compiled.can_be_known or compiled.device or compiled.executable.cleans_up or len(outs) != len(operation.outs) or \
            not 0 < len(args) + len(outs) <= MAX_ARRAYS:
        return None
    return OperatorKernel(operation, compiled, args)


class OperatorKernel:
    """A compiled operator as machine code calls it in this thread: a KnownCall, and the words of its ShortPlan."""

    def __init__(self, operation, compiled, args):
        self.state, self.compiled = here.state, compiled
        self.known = KnownCall(compiled.plan, [
            (python_entry.TENSOR, type(a), a.host_array.dtype, a.host_array.shape, None) for a in args],
            compiled.plan.sizes([a.host_array for a in args]) if compiled.plan.symbols else ())
        order = tuple(self.known.order)
        self.plan = ShortPlan(self.known, order if operation.several else order[0], (), None, False)
        self.plan.on_failure(self.fail)
        self.words = self.plan.words

    def renew(self):
        """The arena of the thread may be another one: the tables point into it from now on."""
        known = self.known
        if known.peak and here.state is self.state and known.arenas.depth < 0 and \
                known.arenas.buffers[0] is not known.context.buffer:
            known.point_into_arena()

    def fail(self, *given):
        """Raise what the run says went wrong."""
        raise self.known.failure()
