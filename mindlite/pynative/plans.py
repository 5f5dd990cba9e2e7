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

import numpy as np

from ..backend import python_entry
from ..common import dtype as dt
from ..common.config import config
from ..common.locks import new_lock
from ..common.tensor import Parameter, Tensor
from ..common.threads import here
from ..compile.known_call import KnownCall
from ..compile.short_plan import MAX_ARRAYS, ShortPlan
from ..mindir.primitive import current_interpreter
from ..ops.views import WRITE_BACK
from . import native, sharded
from .beside import compile_beside
from .interpreter import interpreter, wrap
from .kernels import Compiled, OwnKernel, is_checked, single_node
from .tape import paused
from .views import link

A_TENSOR, AN_INT, A_FLOAT, AN_OBJECT, SOME_INTS, A_TEXT = (native.FORMS[n] for n in (
    "A_TENSOR", "AN_INT", "A_FLOAT", "AN_OBJECT", "SOME_INTS", "A_TEXT"))
OPLANS, MOST_ARGUMENTS = native.FORMS["OPLANS"], native.FORMS["MOST_ARGUMENTS"]
(COUNT, NAMED, MASK, KEYS, FUNCTION, KERNEL, CALLS, HOT, BACKWARD, RECORD, GIVEN) = range(len(native.OPLAN))
OFTEN, OFTEN_FOR_COMPOSITES = 1000, 200          # calls after which a kernel is worth its compilation
PAUSE = 5000                                     # calls by plans between two compilations that are not beside the run
AGAIN = 50                                       # calls of a plan until it is looked whether its kernel is there
TRIES = 16                                       # plans of one operation, of which each may have taken another's place
NEVER = 1 << 62
_WORD = (1 << 64) - 1
_IDENTIFIED = (type(None), bool, dt.DType)       # arguments that are the same only if they are one object
_lock = new_lock()


class Unplanned(Exception):
    """Why a call has no plan."""


class OperatorPlan:
    """The words of one plan, and all that they point to. operation: the Operation whose calls they describe"""

    def __init__(self, operation, words, keys, record, keep):
        self.operation, self.words, self.keys, self.record, self.keep = operation, words, keys, record, keep
        self.kernel = self.order = None


class Plans:
    """The plans of one operator: a table of addresses, and what stands at them."""

    def __init__(self, prim):
        self.table = np.zeros(OPLANS, np.int64)
        self.held: dict = {}
        prim.plans = int(self.table.ctypes.data)             # from here on machine code looks there

    def put(self, slot, plan):
        """A plan takes the place of another one, which a call that is under way may still read."""
        if slot in self.held:
            _former.append(self.held[slot])
        self.held[slot] = plan
        self.table[slot] = plan.words.ctypes.data


_former: collections.deque = collections.deque(maxlen=4096)
_plans: dict = {}                                # {primitive: Plans}
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
    out, operation = interpreter.perform(prim, args, attrs)
    if operation is not None:
        operation.calls += 1
        if operation.calls > 1 and operation.plans < TRIES and len(here.state.tapes) < 2:
            try:
                learn(operation, given, named, args, attrs)
            except Unplanned:
                operation.plans = TRIES
    else:
        sharded.remember(prim, given, named, args, attrs)
    return out


# ---------------------------------------------------------------- the words of a plan

def key_of(value):
    """(the words that say what an argument must be, how it counts in the hash). raises : Unplanned"""
    if isinstance(value, Tensor):
        if type(value) not in (Tensor, Parameter) or type(value.host_array) is not np.ndarray:
            raise Unplanned("a Tensor of another class or device")
        array = value.host_array
        return [A_TENSOR, id(type(value)), id(array.dtype), array.ndim, *array.shape], ("tensor", array)
    if type(value) is int:
        if not -1 << 63 <= value < 1 << 63:
            raise Unplanned("a large number")
        return [AN_INT, value], ("number", value)
    if type(value) is float:
        bits = int(np.float64(value).view(np.int64))
        return [A_FLOAT, bits], ("number", bits)
    if type(value) is tuple:
        if all(type(item) is int and -1 << 63 <= item < 1 << 63 for item in value):
            return [SOME_INTS, len(value), *value], ("tuple", value)
        raise Unplanned("a tuple of other things than numbers")
    if type(value) is str:
        return [A_TEXT, id(value)], ("text", value)
    if isinstance(value, _IDENTIFIED):
        return [AN_OBJECT, id(value)], ("object", value)
    raise Unplanned(f"an argument of class {type(value).__name__}")


def slot_of(kinds, mask):
    """The slot of a plan in the table: as `_hash_of` in native_plans.py."""
    mixed = len(kinds)
    for kind, value in kinds:
        if kind == "tensor":
            mixed = mixed * 31 + value.ndim
            for size in value.shape:
                mixed = mixed * 31 + size & _WORD
            mixed = mixed * 31 + (id(value.dtype) >> 4)
        elif kind == "tuple":
            for item in value:
                mixed = mixed * 31 + item & _WORD
        elif kind != "text":
            mixed = mixed * 31 + (value if kind == "number" else id(value) >> 4)
        mixed &= _WORD
    return (((mixed | 1) * 31 + mask) * native.FORMS["SPREAD"] & _WORD) >> native.FORMS["TOP"]


def learn(operation, given, named, args, attrs):
    """Leave a plan for the call prim(*given, **named), which is operation(*args, **attrs). raises : Unplanned"""
    prim = operation.prim
    if not prim.traits.isdisjoint(("effect", "random", "assign")) or len(given) + len(named) > MOST_ARGUMENTS:
        raise Unplanned("it does more than compute, or takes many arguments")
    if any(isinstance(value, Tensor) for value in named.values()):
        raise Unplanned("a Tensor by name")
    tensors = [(index, value) for index, value in enumerate(given) if isinstance(value, Tensor)]
    used = [a for a in args if isinstance(a, Tensor)]
    if not tensors and "creation" not in prim.traits:
        raise Unplanned("no Tensor among its operands")
    if len(used) != len(tensors) or any(a is not value for a, (_, value) in zip(used, tensors)):
        raise Unplanned("its operands are not those that were given")
    words, kinds = [], []
    for value in (*given, *named.values()):
        key, kind = key_of(value)
        words += key
        kinds.append(kind)
    tape = here.state.tapes[0] if here.state.tapes else None
    numbers = [tape.number(value) if tape is not None and isinstance(value, Tensor) else None for value in given]
    mask = sum(1 << index for index, number in enumerate(numbers) if number is not None)
    slot, keys = slot_of(kinds, mask), np.array(words, np.int64)
    with _lock:
        plans = _plans.get(prim) or _plans.setdefault(prim, Plans(prim))
        found = plans.held.get(slot)
        if found is not None and found.operation is operation and found.words[CALLS] >= found.words[HOT]:
            consider_kernel(found, args)
            return
        operation.plans += 1
        indices = [index for index, _ in tensors]
        function = function_of(operation, args, attrs)
        backward, record, kept = recorded(operation, args, tensors, mask)
        names = list(named)
        head = [len(given), len(named), mask, keys.ctypes.data, id(function), 0, 0,
                OFTEN_FOR_COMPOSITES if "composite" in prim.traits else OFTEN, id(backward) if backward else 0,
                record.ctypes.data, len(indices), *indices, *map(id, names)]
        plans.put(slot, OperatorPlan(operation, np.array(head, np.int64), keys, record,
                                     (function, backward, kept, given_objects(given, named), names, operation)))


def given_objects(given, named):
    """What a plan knows by its address, and keeps alive: no Tensors."""
    return [value for value in (*given, *named.values()) if not isinstance(value, Tensor)], [
        value.host_array.dtype for value in given if isinstance(value, Tensor)]


def recorded(operation, args, tensors, mask):
    """(the Backward, the words of an entry, what these keep alive) where operands are numbered; (None, [0], None) elsewhere."""
    nothing = None, np.zeros(1, np.int64), None
    if not mask or not operation.differentiable:
        return nothing
    positions = iter([index for index, _ in tensors])
    index_of = {i: next(positions) for i, a in enumerate(args) if isinstance(a, Tensor)}
    wrt = tuple([i for i, index in index_of.items() if mask >> index & 1 and args[i].host_array.dtype.kind != "b"])
    if not wrt:
        return nothing
    backward = operation.backward(wrt)
    if not backward.wrt:
        return nothing
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

def consider_kernel(plan, args):
    """The calls of a plan have become many: give it a kernel, now or later, if there is one."""
    calls = native.installed.planned()
    if config.repeatable or not has_kernel(plan.operation, args):          # a kernel's bits may differ from those before it
        plan.words[HOT] = NEVER
        return
    if plan.order is None and (config.compile_beside or calls - _compiled_at[0] >= PAUSE):
        _compiled_at[0] = calls
        plan.order = compile_beside(functools.partial(compiled_of, plan.operation))
    if plan.order is None or not plan.order.is_ready:
        plan.words[HOT] = plan.words[CALLS] + AGAIN
    else:
        kernel = plan.kernel = kernel_of(plan.operation, plan.order.result(), args)
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
    """An operator as a Compiled graph."""
    compute = operation.compute
    return compute.compiled if isinstance(compute, OwnKernel) and compute.compiled else Compiled(single_node(operation))


def kernel_of(operation, compiled, args):
    """The OperatorKernel of a compiled operator for Tensors like these; None where it is no run of kernels."""
    outs = [step for step in compiled.plan.steps if step[0] == "out"]
    if not compiled.can_be_known or compiled.executable.cleans_up or len(outs) != len(operation.outs) or \
            not 0 < len(args) + len(outs) <= MAX_ARRAYS:
        return None
    return OperatorKernel(operation, compiled, args)


class OperatorKernel:
    """A compiled operator as machine code calls it in this thread: a KnownCall, and the words of its ShortPlan."""

    def __init__(self, operation, compiled, args):
        self.state, self.compiled = here.state, compiled
        self.known = KnownCall(compiled.plan, [
            (python_entry.TENSOR, type(a), a.host_array.dtype, a.host_array.shape) for a in args], ())
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


if native.installed is not None:
    native.installed.teach(call_and_learn)
