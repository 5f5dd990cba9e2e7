"""The fast path of calling a variant again: one generated Python function per signature, and one builtin below it.

    def call(args):                                        # step(x, y), seen before
        if not (g0["net"] is v0 and g1.training is v1): return MISS
        if arenas.depth >= 0 or variant.executable is not executable: return MISS
        if arenas.buffers[0] is not context.buffer: renew()
        o0 = empty(s0, d0)
        status = enter(*args, o0)                          # checks, takes the addresses, runs (backend/python_entry.py)
        if status: return MISS if status == -1 else fail()
        t0 = new(Tensor); t0.host_array = o0; t0.tape = t0.init = t0._shape = None
        return t0

Reading the whole signature and looping over guards and parameters costs some 20 us; this costs about one. It is a
way for arguments that are Tensors and plain constants, and for results of known size; whatever does not fit is MISS,
nothing has run, and the call goes the general way. Each thread makes its own, because the context in it belongs to one
thread.
"""
import types

import numpy as np

from ..backend import python_entry
from ..common.config import config
from ..common.device import kinds
from ..common.tensor import Parameter, Tensor
from ..infer.results import Container, Made, Result
from ..mindir.abstract import AbstractScalar
from ..mindir.syntax import Undefined
from .call_plan import KnownCall
from .guards import current_value, guard_holds, same_value
from .short_plan import ABSENT, ATTRIBUTE, CELL, ITEM, MAX_ARRAYS, METHOD, ShortPlan
from .signature import SameSpec, TensorSpec

MISS = object()
_PLAIN = (int, bool, str, bytes, type(None))
_new = Tensor.__new__


class Unfit(Exception):
    """Why a call cannot go the fast path."""


def quick_call(variant, signature, args, leaves):
    """call(args) -> the function's value or MISS, for this variant and exactly this signature.

    out : None where there is no fast path; why not stands in `variant.slow`
    """
    try:
        return _Writer(variant, signature, args, leaves).function()
    except Unfit as reason:
        variant.slow = str(reason)
        return None


class _Writer:
    """Writes the function: `names` are its globals, `leaves` the places, classes and specs of its Tensors."""

    def __init__(self, variant, signature, args, leaves):
        self.variant, self.executable = variant, variant.executable
        why_not = variant.plan.why_not_known()
        if why_not:
            raise Unfit(why_not)
        if variant.device is not None:
            raise Unfit("it runs on another device than the host")
        if variant.differentiated:
            raise Unfit("hooks of its arguments are looked for")
        if any(isinstance(owner, int) for owner, _ in variant.compiled.specialised.updates):
            raise Unfit("an argument is assigned to, whose views follow")
        if leaves.containers or variant.compiled.specialised.changes:
            raise Unfit("lists or dicts among the arguments")
        if variant.places or variant.scalars:
            raise Unfit("variables outside of the function, or numbers that vary")
        self.names = {"config": config, "MISS": MISS, "Tensor": Tensor, "new": _new, "empty": np.empty, "variant": variant}
        self.leaves: list = []
        self.tests: list = []
        tensors = [id(value) for value in args if type(value) in (Tensor, Parameter)]
        self.flat = all(type(value) in (Tensor, Parameter, np.ndarray) for value in args) and len(set(tensors)) == len(tensors)
        self.distinct = len(tensors) > 1
        self.values = False                                 # are there numbers among the results?
        self.read(signature[1], args, "args")
        tensors = [place for place, owner, _ in self.leaves if owner is not np.ndarray]
        self.plain = not self.tests and self.flat           # machine code can see that none of them is another one
        if len(tensors) > 1:                                # none of them is another one
            self.tests.append(f"len({{{', '.join(f'id({place})' for place in tensors)}}}) == {len(tensors)}")
        shapes = [spec.shape for _, _, spec in self.leaves]
        self.known = KnownCall(variant.plan, [
            (python_entry.ARRAY if owner is np.ndarray else python_entry.TENSOR, owner, spec.dtype.numpy, spec.shape)
            for _, owner, spec in self.leaves], [shapes[n][axis] for n, axis in variant.plan.symbols.values()])

    def name(self, stem, value):
        """A name for a value in the function."""
        name = f"{stem}{len(self.names)}"
        self.names[name] = value
        return name

    def read(self, signature, value, place):
        """Tests for what a part of the arguments must be; its Tensors become arguments of the builtin."""
        if isinstance(signature, TensorSpec):
            if type(value) not in (Tensor, Parameter, np.ndarray):
                raise Unfit(f"an argument of class {type(value).__name__}")
            self.leaves.append((place, type(value), signature))
        elif isinstance(signature, SameSpec):
            self.tests.append(f"{place} is {self.leaves[signature.number][0]}")
        elif type(value) is tuple:
            if place != "args":
                self.tests.append(f"type({place}) is tuple")
            if place != "args" or not self.flat:            # the builtin counts what it is given
                self.tests.append(f"len({place}) == {len(value)}")
            for number, (inner, item) in enumerate(zip(signature[1:], value)):
                self.read(inner, item, f"{place}[{number}]")
        elif type(value) in _PLAIN:
            test = f"{place} is {self.name('c', value)}"
            if type(value) in (int, str, bytes) and value == value:
                test = f"({test} or type({place}) is {type(value).__name__} and {place} == {value!r})"
            self.tests.append(test)
        elif type(value) is float:
            if value != value or value == 0.0:
                raise Unfit("a float argument that is 0.0 or not a number")
            self.tests.append(f"type({place}) is float and {place} == {self.name('c', value)}")
        elif isinstance(value, (tuple, list, dict)):
            raise Unfit(f"an argument of class {type(value).__name__}")
        else:
            self.tests.append(f"{place} is {self.name('c', value)}")

    # -- guards

    def guard(self, kind, owner, name, value):
        """The test of one guard: what is read is the same object; equal values that are other objects are MISS."""
        if kind == "item" and isinstance(value, Undefined):
            return f"{name!r} not in {self.name('g', owner)}"
        if kind == "protocol":
            holds = f"{self.name('holds', guard_holds)}({self.name('guard', (kind, owner, name, value))})"
            return f"({self.name('g', owner)}._version == {value[0]} or {holds})"
        by_value = isinstance(value, (Undefined, list, dict, set)) or (type(value) is float and value == 0.0)
        if kind not in ("item", "cell", "attr") or by_value or (kind == "attr" and not name.isidentifier()):
            return f"{self.name('holds', guard_holds)}({self.name('guard', (kind, owner, name, value))})"
        o, v = self.name("g", owner), self.name("v", value)
        read = {"item": f"{o}[{name!r}]", "cell": f"{o}.cell_contents", "attr": f"{o}.{name}"}[kind]
        if isinstance(value, types.MethodType):
            return (f"{read}.__func__ is {self.name('f', value.__func__)} and "
                    f"{read}.__self__ is {self.name('s', value.__self__)}")
        if type(value) in (int, float, str):
            return f"({read} is {v} or type({read}) is {type(value).__name__} and {read} == {v})"
        if current_value(kind, owner, name) is not value:    # equal, and another object each time: x.shape
            return f"{self.name('same', same_value)}({read}, {v})"
        return f"{read} is {v}"

    # -- the value

    def build(self, value, lines):
        """The expression of the function's value."""
        variant = self.variant
        if isinstance(value, Result):
            if value.argument is not None:
                return self.leaf(value.argument)
            kind, number = variant.plan.results[value.number]
            if kind == "param":
                array = next(f"o{n}" for n, (output, _, _) in enumerate(self.known.made) if output == number)
                lines += [f"t{value.number} = new(Tensor)", f"t{value.number}.host_array = {array}",
                          f"t{value.number}.tape = t{value.number}.init = t{value.number}._shape = None"]
                return f"t{value.number}"
            abstract = variant.plan.abstracts[value.number]
            if kind == "value" and isinstance(abstract, AbstractScalar):
                self.values = True
                return f"{self.name('kind', abstract.type)}(values[{number}])"
            raise Unfit("a result that is no Tensor and no number")
        if type(value) is tuple:
            return "(" + "".join(self.build(v, lines) + ", " for v in value) + ")"
        if type(value) is list:
            return "[" + ", ".join(self.build(v, lines) for v in value) + "]"
        if isinstance(value, (tuple, dict, Container, Made)):
            raise Unfit(f"a result of class {type(value).__name__}")
        return self.name("c", value)

    def leaf(self, number):
        place, owner, _ = self.leaves[number]
        if owner is np.ndarray:
            raise Unfit("an array that is handed through")
        return place

    def function(self):
        """The function `call`."""
        known, executable = self.known, self.executable
        guards = [self.guard(*guard) for guard in self.variant.guards if guard_holds(guard)]
        if len(guards) != len(self.variant.guards):
            raise Unfit("a guard does not hold")
        lines, test = [], " and ".join([*self.tests, *guards])
        if test:
            lines += ["try:", f"    if not ({test}): return MISS",
                      "except (LookupError, AttributeError, ValueError, TypeError):",
                      "    return MISS                # what is gone is no longer the same: the general way sees to it"]
        if len(kinds()) > 1:
            lines += [f"if config.device_target != {config.device_target!r}: return MISS"]
        lines += ["if arenas.depth >= 0 or variant.executable is not executable: return MISS"]
        if known.peak:
            lines += ["if arenas.buffers[0] is not context.buffer: renew()"]
        lines += [f"o{n} = empty({self.name('shape', shape)}, {self.name('dtype', dtype)})"
                  for n, (_, shape, dtype) in enumerate(known.made)]
        flat = "*args" if self.flat else ", ".join(place for place, _, _ in self.leaves)
        given = ", ".join([*([flat] if flat else []), *(f"o{n}" for n in range(len(known.made)))])
        lines += [f"status = enter({given})", "if status:", "    if status == -1: return MISS", "    fail()"]
        if executable.cleans_up:
            lines += ["context.end()"]
        lines += ["variant.calls += 1"]
        results: list = []
        out = self.build(self.variant.output, results)
        if self.values:
            lines += ["values = read(context)"]
        text = "\n    ".join(["def call(args):", *lines, *results, f"return {out}"])

        def renew():
            """The arena is another one: the tables point into it from now on."""
            known.point_into_arena()
            if plan is not None:
                plan.use_buffer(known.context.buffer)

        def fail():
            """Raise what the run says went wrong."""
            raise known.failure()
        plan = self.plan(guards)
        self.names.update(enter=known.enter, executable=executable, arenas=known.arenas, context=known.context, renew=renew,
                          fail=fail, keep=known, read=executable.results)
        exec(compile(text, f"<call of {executable.name}>", "exec"), self.names)
        call = self.names["call"]
        call.source, call.variant, call.plan, call.fail = text, self.variant, plan, fail
        return call

    def plan(self, guards):
        """The same for machine code, a ShortPlan; None where that cannot make the result."""
        known, executable, output = self.known, self.executable, self.variant.output
        made = known.made
        results = output if type(output) is tuple else (output,)
        order = {number: n for n, (number, _, _) in enumerate(made)}
        if not (self.flat and all(isinstance(r, Result) and r.argument is None for r in results)) or executable.cleans_up or \
                self.values or len(self.leaves) + len(made) > MAX_ARRAYS or not 0 < len(results) == len(made):
            return None
        places = [self.variant.plan.results[r.number] for r in results]
        if sorted(number for _, number in places) != sorted(order) or any(kind != "param" for kind, _ in places):
            return None
        numbers = tuple([order[number] for _, number in places])
        checks, tests = [], [] if self.plain else [*self.tests]
        if len(kinds()) > 1:
            checks.append((ATTRIBUTE, config, "device_target", config.device_target, None))
        for guard, text in zip(self.variant.guards, guards):
            check = check_of(*guard)
            (tests if check is None else checks).append(text if check is None else check)
        test = None
        if tests:
            text = "\n    ".join(["def holds(*args):", "try:", f"    return bool({' and '.join(tests)})",
                                 "except (LookupError, AttributeError, ValueError, TypeError):", "    return False"])
            exec(compile(text, f"<test of {executable.name}>", "exec"), self.names)
            test = self.names["holds"]
        plan = ShortPlan(known, numbers if type(output) is tuple else numbers[0], checks, test, self.plain and self.distinct)
        self.variant.plans.append(plan)
        return plan


def check_of(kind, owner, name, value):
    """What machine code looks at for a guard (short_plan.CHECKS): the object that was read is read again. Whatever passes
    would pass `guard_holds`; what does not is asked of Python. None where only Python can say."""
    if kind == "item" and type(owner) is dict and not isinstance(value, (list, dict, set)):
        return ITEM, owner, name, ABSENT if isinstance(value, Undefined) else value, None
    if kind == "protocol":
        return ATTRIBUTE, owner, "_version", owner._version, None
    if kind not in ("cell", "attr") or isinstance(value, (Undefined, list, dict, set)):
        return None                                          # of these the content counts
    if isinstance(value, types.MethodType):
        return METHOD, owner, name, value.__func__, value.__self__
    if current_value(kind, owner, name) is not value:        # equal, and another object each time it is read
        return None
    return CELL if kind == "cell" else ATTRIBUTE, owner, name, value, None
