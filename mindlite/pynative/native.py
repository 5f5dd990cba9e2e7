"""The fast path of elementwise operators in eager mode: machine code that Tensor's methods and primitives are.

    install()                 Tensor.__add__, Primitive.__call__, .. become machine code (native_code.py), when this is imported
    offer(operation)          from now on it computes this operator for this dtype, by NumPy's own loop
    learn(operation, ..)      from now on it records this signature

Python goes first and teaches: what machine code does not know, or what is no plain case, it hands to Python as if it
were not there. Methods are what they are from the first line of a program on, so that a method which a program puts in
their place stays there, and the former one comes back when it is put back. The results are NumPy's, bit for bit; each loop
is tried before it is used. Where objects cannot be read (backend/layouts.py) there is no fast path.
"""
import collections
import ctypes
import types

import numpy as np

from ..backend import layouts
from ..backend.low_python import LowModule, source_of
from ..common.locks import new_lock
from ..common.tensor import Parameter, Tensor
from ..common.threads import KEY, ThreadState
from ..compile import short_plan
from ..compile.executable import Arenas
from ..mindir.primitive import PRIMITIVES, Planned, Primitive, eval_rule
from ..ops import methods as tensor_methods
from ..ops.define import promote_operands, to_float
from .kernels import enough_of, is_half
from .tape import Entry, Tape

_NEW_FROM_DESCR = 94                             # PyArray_NewFromDescr in NumPy's table
_HEAD, _ROWS, _ROW, _PLANS, _SIZES = 5, 14, 9, 64, 6       # words
_FORMS = {"float32": 1, "float64": 2, "int32": 32, "int64": 64}
_WORTH_RELEASING = 1 << 12                       # elements from which on other threads may run meanwhile
_NEVER = 1 << 62
# plans of operators (native_plans.py, plans.py): their words, and the numbers that stand in them
OPLAN = ("COUNT", "NAMED", "MASK", "KEYS", "FUNCTION", "KERNEL", "CALLS", "HOT", "BACKWARD", "RECORD", "GIVEN")
FORMS = {"A_TENSOR": 1, "AN_INT": 2, "A_FLOAT": 3, "AN_OBJECT": 4, "SOME_VALUES": 5, "A_TEXT": 6,
         "AN_ARGUMENT": 7, "A_RESULT": 8, "INPUT_NUMBER": 9, "RESULT_NUMBER": 10, "AN_OPERAND": 11, "A_SLICE": 12,
         "MOST_ARGUMENTS": 16, "SPREAD": 0x1e3779b97f4a7c15, "TOP": 52, "TOP_OF_FUNCTIONS": 51}
_lock = new_lock()


class Installed:
    """The loaded code. operators: {primitive: its first word in the table}; rows: {(primitive, dtype)} that are known;
    calls: the calls in Python of what is called by plans."""

    def __init__(self, module, operators):
        self.module, self.operators = module, operators
        self.calls = None
        self.rows, self.plans = set(), {}
        self.former: collections.deque = collections.deque(maxlen=4096)
        self.taught: tuple = ()                              # what CALL names, which stays alive
        self.trace_tape, *self.keep = layouts.builtin("trace_tape", module.address("trace_tape"), layouts.VARARGS_FAST)

    def planned(self):
        """How many calls machine code has made by plans of operators."""
        return int(self.module.table[self.module.offset["PLANNED"]])

    def teach(self, call, call_function):
        """Machine code hands to `call` what it does not know of operators, to `call_function` what it does not of functions."""
        self.taught = call, call_function
        self.module.set("CALL", id(call))
        self.module.set("CALL_FUNCTION", id(call_function))


def install_calls(owner):
    """Make calls of objects of the class `owner`, which has plans (compile/short_plan.py), machine code."""
    if installed is not None:
        installed.calls = owner.__call__                     # it stays alive: machine code calls it
        installed.module.set("COMPILED", id(owner.__call__))
        owner.__call__ = layouts.method_descriptor(owner, "__call__", installed.module.address("call_compiled"),
                                                   layouts.VARARGS_FAST | layouts.KEYWORDS, "($self, /, *args, **kwargs)")


def trace_tape(tape, numbers):
    """(a key of the structure of a tape from the values with these numbers back, what it saved), or None if machine code
    does not know it; the Backwards must stay alive as long as the key is used."""
    return None if installed is None else installed.trace_tape(tape.entries, numbers, tape.count)


def is_plain(prim):
    """True for an operator that is one ufunc of one or two operands, brought to one dtype."""
    return ("elementwise" in prim.traits and not prim.attrs and len(prim.inputs) in (1, 2) and not prim.variadic
            and getattr(eval_rule.get(prim), "ufunc", None) is not None
            and (prim.prepare in (promote_operands, to_float) or prim.prepare is None and len(prim.inputs) == 1))


def install():
    """Make the operators' methods machine code; an Installed, or None where objects cannot be read.

    A method that is no longer mindlite's own stays what it is.
    """
    constants, new_array = layouts.layout(), layouts.available() and layouts.array_interface(_NEW_FROM_DESCR)
    if not new_array:
        return None
    slots = [layouts.slots_of(*each) for each in (
        (Tensor, ("host_array", "away", "tape", "init", "_shape")), (ThreadState, ("interpreters", "tapes")),
        (Tape, ("entries", "count", "named", "used")), (Entry, Entry.__slots__),
        (Primitive, ("native", "plans")), (Planned, ("plans",)),
        (Arenas, Arenas.__slots__), (short_plan.HasPlans, ("plans",)))]
    if any(found is None for found in slots):
        return None
    tensor, thread, tape, entry, native, function, arenas, plans = slots
    constants = {
        **constants, "ARRAY": tensor["host_array"], "AWAY": tensor["away"], "TAPE": tensor["tape"],
        "INIT": tensor["init"], "SHAPE": tensor["_shape"],
        "INTERPRETERS": thread["interpreters"], "TAPES": thread["tapes"], "ENTRIES": tape["entries"],
        "COUNT": tape["count"], "NAMED": tape["named"], "USED": tape["used"], "NATIVE": native["native"],
        "PLANS_OF": native["plans"], "PLANS_OF_FUNCTION": function["plans"],
        **{f"ENTRY_{name.upper()}": offset for name, offset in entry.items()},
        "OP_FORWARD": 0, "OP_REFLECTED": 8, "OP_INPUTS": 16, "OP_PLANS": 24, "OP_ROWS": 32, "ROW": 8 * _ROW,
        **{f"ROW_{name}": 8 * i for i, name in enumerate(("IN", "OUT", "LOOP", "DATA", "FORM", "STEP", "MADE", "LIMIT",
                                                          "TAPED"))},
        "PLANS": _PLANS, "PLAN_BACKWARD": 32, "PLAN_RECORD": 40, "PLAN_SIZES": 8 * _SIZES,
        "WORTH_RELEASING": _WORTH_RELEASING, "DEPTH": arenas["depth"], "BUFFERS": arenas["buffers"],
        "PLAN_LIST": plans["plans"],
        **{f"PLAN_{name}": 8 * getattr(short_plan, name) for name in (
            "ENTER", "ENTRY", "ARENAS", "BUFFER", "ARGUMENTS", "OUTS", "CHECKS", "TEST", "DISTINCT", "CALLS", "RESULTS", "FAILED",
            "REFUSED", "FITS", "HEAD")}, "BY_TEST": short_plan.BY_TEST,
        **{f"OPLAN_{name}": 8 * i for i, name in enumerate(OPLAN)}, **FORMS,
        "CHECK": 8 * short_plan.CHECK, "CHECK_ITEM": short_plan.ITEM, "CHECK_CELL": short_plan.CELL,
        "CHECK_METHOD": short_plan.METHOD}
    prims = [prim for prim in PRIMITIVES.values() if is_plain(prim)]
    size = _HEAD + _ROWS * _ROW
    methods = {name: (prims.index(prim) * size, prim, reflected) for name, (prim, reflected) in tensor_methods.OPERATORS.items()
               if prim in prims and getattr(Tensor.__dict__[name], "__module__", None) == tensor_methods.__name__}
    text = source_of(layouts.__file__, "array_code") + source_of(
        __file__, "native_code", "native_tape", "native_calls", "native_plans") + "".join(
        f"\n\ndef method{name}(self, other):\n    return {'_reflected' if reflected else '_method'}"
        f"(address.OPERATORS + {8 * offset}, self, {'other' if len(prim.inputs) == 2 else 0})\n"
        for name, (offset, prim, reflected) in methods.items())
    words = {**dict.fromkeys(("TENSOR", "PARAMETER", "NDARRAY", "FLOAT", "INT", "NONE", "KEY", "NEW_ARRAY", "TAPE", "ENTRY",
                              "CALL", "COMPILED", "TRUE", "OUTSIDE", "METHOD", "EXCEPTION", "TUPLE",
                              "LIST", "SLICE", "PLANNED", "TEXT", "CALL_FUNCTION"), 1),
             "OPERATORS": size * len(prims), "PLANS": _PLANS * len(prims)}
    module = LowModule(text, constants, words, "eager")
    for name, thing in dict(TENSOR=Tensor, PARAMETER=Parameter, NDARRAY=np.ndarray, FLOAT=float, INT=int, NONE=None, KEY=KEY,
                            TAPE=Tape, ENTRY=Entry, CALL=Primitive.__call__, TRUE=True, OUTSIDE=-1, METHOD=types.MethodType,
                            EXCEPTION=Exception, TUPLE=tuple, LIST=list, SLICE=slice, TEXT=str,
                            CALL_FUNCTION=Planned.__call__).items():
        module.set(name, id(thing))
    module.set("NEW_ARRAY", new_array)
    for i, prim in enumerate(prims):
        start = module.offset["OPERATORS"] + i * size
        module.table[start:start + _HEAD] = 0, 0, len(prim.inputs), module.word("PLANS") + 8 * _PLANS * i, 0
    module.keep = [Primitive.__call__, Planned.__call__]
    setattr(Planned, "__call__", layouts.method_descriptor(
        Planned, "__call__", module.address("call_function"), layouts.VARARGS_FAST | layouts.KEYWORDS,
        "($self, /, *args, **attrs)"))
    setattr(Primitive, "__call__", layouts.method_descriptor(
        Primitive, "__call__", module.address("call_primitive"), layouts.VARARGS_FAST | layouts.KEYWORDS,
        "($self, /, *args, **attrs)"))
    for i, prim in enumerate(prims):
        prim.native = module.start + 8 * (module.offset["OPERATORS"] + i * size)
    for name, (offset, prim, reflected) in methods.items():
        module.table[module.offset["OPERATORS"] + offset + reflected] = id(getattr(Tensor, name))
        module.keep.append(getattr(Tensor, name))
        two = len(prim.inputs) == 2
        setattr(Tensor, name, layouts.method_descriptor(
            Tensor, name, module.address(f"method{name}"), layouts.ONE_ARGUMENT if two else layouts.NO_ARGUMENTS,
            "($self, other, /)" if two else "($self, /)"))
    offsets = {prim: module.offset["OPERATORS"] + i * size for i, prim in enumerate(prims)}
    return Installed(module, offsets)


def offer(operation):
    """Have machine code compute an operator for the dtype of `operation`, if it is one that it can."""
    operation.offered = True
    if installed is None or operation.prim not in installed.operators or operation.several:
        return
    prim, dtypes = operation.prim, {getattr(getattr(a, "dtype", None), "numpy", None) for a in operation.abstracts}
    dtype = dtypes.pop()
    if dtypes or dtype is None or (prim, dtype) in installed.rows or dtype.isbuiltin != 1:
        return
    made = operation.outs[0].dtype.numpy
    ufunc = eval_rule[prim].ufunc
    loop = layouts.ufunc_loop(ufunc, dtype.char * ufunc.nin + made.char)
    with _lock:
        installed.rows.add((prim, dtype))
        if loop is None or not loop_is_that_of(ufunc, loop, dtype, made):
            return
        table, start = installed.module.table, installed.operators[prim]
        rows = table[start + 4]
        if rows < _ROWS:
            row = start + _HEAD + rows * _ROW
            table[row:row + _ROW] = (id(dtype), id(made), *loop, _FORMS.get(dtype.name, 0), dtype.itemsize,
                                     made.itemsize, enough_of(prim, is_half(operation.abstracts[0])) or _NEVER,
                                     operation.differentiable and dtype.kind != "b")
            table[start + 4] = rows + 1


def loop_is_that_of(ufunc, loop, dtype, made):
    """True if the loop gives for a few elements what the ufunc gives for them."""
    first = np.arange(1, 8).astype(dtype)
    operands = [first, first[::-1].copy()][:ufunc.nin]
    with np.errstate(all="ignore"):
        wanted = ufunc(*operands)
    found = np.zeros(7, made)
    pointers = (ctypes.c_void_p * 3)(*[a.ctypes.data for a in (*operands, found)])
    steps = (ctypes.c_int64 * 3)(*[a.itemsize for a in (*operands, found)])
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(loop[0])(
        ctypes.addressof(pointers), ctypes.addressof(ctypes.c_int64(7)), ctypes.addressof(steps), loop[1] or None)
    return wanted.dtype == made and wanted.tobytes() == found.tobytes()


def learn(operation, numbered, backward):
    """Have machine code record this signature: numbered are the operands with numbers on the tape."""
    if installed is None or operation.prim not in installed.operators:
        return
    shapes = [tuple(a.shape) for a in operation.abstracts] + [()]
    mask = sum(1 << i for i in numbered)
    mixed = (mask * 31 + len(shapes[0])) * 31 + len(shapes[1])
    for size in (*shapes[0], *shapes[1]):
        mixed = mixed * 31 + size & 0xffffffffffffffff
    slot = (mixed ^ mixed >> 6 ^ mixed >> 17) & _PLANS - 1
    plan = np.zeros(_SIZES + len(shapes[0]) + len(shapes[1]), np.int64)
    plan[:4] = mask, len(shapes[0]), len(shapes[1]), id(operation.abstracts[0].dtype.numpy)
    plan[_SIZES:] = *shapes[0], *shapes[1]
    record = record_of([("INPUT_NUMBER", i) for i in backward.wrt], [("RESULT_NUMBER", 0)],
                       [("A_RESULT" if kind == "out" else "AN_OPERAND", i) for kind, i in backward.saved])
    if backward.wrt:
        plan[4:6] = id(backward), record.ctypes.data
    with _lock:
        key = operation.prim, slot
        if key in installed.plans:                           # a call that is under way may still read it
            installed.former.append(installed.plans[key])
        installed.plans[key] = plan, backward, record
        table = installed.module.table
        (ctypes.c_int64 * _PLANS).from_address(int(table[installed.operators[operation.prim] + 3]))[slot] = plan.ctypes.data


def record_of(inputs, outputs, saved):
    """The words of what an entry of a tape holds, for machine code: three runs of (one of FORMS, its value)."""
    return np.array([word for part in (inputs, outputs, saved)
                     for word in (len(part), *[word for form, value in part for word in (FORMS[form], value)])], np.int64)


installed = install()
