"""Eager mode: every operator runs at once on Tensors, and is recorded while a gradient is being made.

    bind(add, (x, y), {})  ->  look up the signature  ->  compute  ->  wrap  ->  record

The infer rule is asked once per signature (operator, dtypes, shapes, attributes); what it refuses is an error at the
user's line. Operators that NumPy does slowly (convolution, pooling, large operands) run kernels, chosen by signature.
"""
import functools

import numpy as np

from ..common.errors import MindliteError, Stage, user_location
from ..common.recent import Recent
from ..common.storage import DeviceArray, ShardedArray, elsewhere
from ..common.tensor import HOOKS, Parameter, Tensor, lies_elsewhere
from ..common.threads import here
from ..mindir.builder import constant
from ..mindir.primitive import eval_rule, infer_rule, set_base_interpreter
from ..ops.state import assign
from ..ops.views import WRITE_BACK, written
from .elsewhere import compute_elsewhere, has_parts
from .kernels import compute_of
from .native import learn, offer
from .operation import Operation
from .settings import settings_of, hold_tensors
from .sharded import compute_sharded
from .tape import holding, paused, protect
from .views import link

MAX_SIGNATURES = 1 << 14
_signatures = Recent()
_ARRAYS = (Tensor, np.ndarray)
_new = Tensor.__new__


class PyNative:
    """The interpreter of eager mode."""

    @property
    def records(self):
        """True while what is written may have been saved for a gradient."""
        return bool(holding())

    @staticmethod
    def watches(tensor):
        """True for a Tensor of which a gradient that is being made may depend."""
        return any(tape.number(tensor) is not None for tape in here.state.tapes)

    protect = staticmethod(protect)                         # compiled code that writes to Tensors calls it before

    def bind(self, prim, args, attrs):
        """prim(*args, **attrs) on Tensors, arrays and numbers; gives a Tensor or a tuple of them."""
        return self.perform(prim, args, attrs)[0]

    def perform(self, prim, args, attrs):
        """(what `bind` gives, the Operation; None for operands elsewhere than on the CPU, and Tensors as attributes)."""
        count = len(args)
        key: tuple | None
        if elsewhere.used and lies_elsewhere(args):
            return self.bind_elsewhere(prim, args, attrs), None
        if not attrs and count == 2 and type(args[0]) is Tensor and type(args[1]) in _ARRAYS:      # common, kept short
            b = args[1]
            a, b = arrays = [args[0].host_array, b.host_array if type(b) is Tensor else b]
            key = (prim, a.dtype, a.shape, b.dtype, b.shape)
        elif not attrs and count == 1 and type(args[0]) is Tensor:
            a, = arrays = [args[0].host_array]
            key = (prim, a.dtype, a.shape)
        else:
            arrays, key = _key_of(prim, args, attrs)
        try:
            operation = _signatures.get(key)
        except TypeError:                                   # attributes that have no hash
            operation, key = None, None
        if operation is None:
            if attrs and hold_tensors(attrs.values()):
                return self.perform(prim, args, settings_of(prim, attrs))[0], None
            operation = new_operation(prim, arrays, attrs, key)
        if not operation.offered:
            offer(operation)
        if prim is assign:
            out = self.write(*args)
            if isinstance(args[0], Tensor):
                written(args[0], self.write)
                return args[0], operation
            return out, operation
        if here.state.tapes:
            made = record(operation, args, arrays, attrs)
            if operation.is_view and isinstance(args[0], Tensor):
                link(made, args[0], prim, args[1:], attrs)
            return made, operation
        out = operation.compute(*arrays, **attrs)
        if type(out) is np.ndarray:                         # Tensor.wrap, written out
            made = _new(Tensor)
            made.host_array = out
            made.tape = made.init = made._shape = None
            if operation.is_view and isinstance(args[0], Tensor):
                link(made, args[0], prim, args[1:], attrs)
            return made, operation
        return wrap(out), operation

    def bind_elsewhere(self, prim, args, attrs):
        """`bind`, where an operand lies on another device than the CPU."""
        sharded = elsewhere.sharded and has_parts(args)
        if prim is assign and isinstance(args[0], Tensor):
            self.write_elsewhere(*args)
            written(args[0], self.write_elsewhere)
            return args[0]
        operation, out = (compute_sharded if sharded else compute_elsewhere)(prim, args, attrs)
        if here.state.tapes:
            self.entered(operation, args, out)
        if prim in WRITE_BACK and isinstance(args[0], Tensor) and not sharded:
            link(out, args[0], prim, args[1:], attrs)
        return out

    @staticmethod
    def entered(operation, args, out):
        """What the operation gave for `args`, which is on the tapes from now on."""
        if here.state.tapes and operation.differentiable:
            enter(operation, args, out if operation.several else (out,))
        return out

    def pause(self):
        """From here on operators are recorded on no tape, until `resume`."""
        here.state.before.append((here.state.tapes, here.state.paused))
        here.state.tapes, here.state.paused = (), here.state.paused + here.state.tapes

    def resume(self):
        """See `pause`."""
        here.state.tapes, here.state.paused = here.state.before.pop()

    def write(self, variable, value):
        """assign(variable, value) for this Tensor only; gives the value."""
        arrays = [a.host_array if isinstance(a, Tensor) else a for a in (variable, value)]
        if here.state.tapes:
            return record_assign((variable, value), arrays)
        protect(arrays[0])
        return wrap(eval_rule[assign](*arrays))

    @staticmethod
    def write_elsewhere(variable, value):
        """`write`, where one of the two lies on another device than the CPU; gives the variable."""
        begin_assign(variable)
        if isinstance(variable, Parameter) and isinstance(value, Tensor) and not value.device_of.is_host:
            variable.move_here(value.device_of)              # it stays there, as in a compiled function
        variable.overwrite(value)
        number_assigned(variable, value)
        return variable


def _key_of(prim, args, attrs):
    """(the arrays and numbers of the arguments, the key of their signature)."""
    key, arrays = [prim], []
    for a in args:
        if isinstance(a, Tensor):
            a = a.host_array
        elif isinstance(a, np.generic):
            a = np.asarray(a)
        arrays.append(a)
        if type(a) is np.ndarray:
            key += (a.dtype, a.shape)
        else:
            key += (type(a), None if type(a) is float else a)
    for pair in attrs.items():
        key += pair
        key.append(type(pair[1]))
    return arrays, tuple(key)


def new_operation(prim, arrays, attrs, key):
    """The Operation of a new signature, checked by the infer rule."""
    try:
        abstracts = tuple([constant(a).abstract for a in arrays])
        result = infer_rule[prim](*abstracts, **attrs)
    except MindliteError as error:
        raise error.at(user_location())
    with Stage("operation", user_location):
        operation = Operation(prim, abstracts, attrs, result)
        operation.compute, operation.is_view = compute_of(operation), prim in WRITE_BACK
    if key is not None:
        _signatures.put(key, operation, MAX_SIGNATURES)
    return operation


def known_operation(prim, args, attrs):
    """The Operation of a signature that was called before; None of another one."""
    try:
        return _signatures.find(_key_of(prim, args, attrs)[1])
    except TypeError:                                        # attributes that have no hash
        return None


def wrap(out):
    """Tensors of what an eval rule gave; Python numbers stay numbers."""
    if isinstance(out, tuple):
        return tuple([wrap(x) for x in out])
    if isinstance(out, (np.ndarray, np.generic)):
        return Tensor.wrap(np.asarray(out))
    return out


def record(operation, args, arrays, attrs):
    """Compute, and append an entry to every tape that knows one of the arguments."""
    if "composite" in operation.prim.traits:
        with paused():
            out = wrap(operation.compute(*arrays, **attrs))
    else:
        out = wrap(operation.compute(*arrays, **attrs))
    if operation.differentiable:
        enter(operation, args, out if operation.several else (out,))
    return out


def enter(operation, args, outs):
    """Append the operation, which gave `outs` for `args`, to the tapes that record."""
    for tape in here.state.tapes:
        numbers: list = []
        wrt: list = []
        for i, a in enumerate(args):
            number = tape.number(a) if isinstance(a, Tensor) else None
            numbers.append(number)
            if number is not None and a.elements.dtype.kind != "b":
                wrt.append(i)
        if not wrt:
            continue
        try:
            backward = operation.backward(tuple(wrt))
        except MindliteError as error:
            raise error.at(user_location())
        if len(here.state.tapes) == 1 and operation.offered:
            learn(operation, [i for i, number in enumerate(numbers) if number is not None], backward)
        if not backward.wrt:
            continue
        saved = []
        for kind, i in backward.saved:
            value = args[i] if kind == "in" else outs[i]
            saved.append(Tensor.wrap(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value)
        tape.append(backward, [numbers[i] for i in backward.wrt], outs, saved)


def record_assign(args, arrays):
    """assign while recording: what was saved of the old value is kept, and a Tensor has the new value's number.

    A Parameter keeps its own, so that its gradient is that of all its reads (`ops.state.stored`)."""
    variable, value = args
    begin_assign(variable)
    out = Tensor.wrap(eval_rule[assign](*arrays))
    number_assigned(variable, value, out)
    return out


def begin_assign(variable):
    """`variable` is about to be written."""
    if isinstance(variable, Tensor):
        protect(variable.elements)
        if type(variable) is Tensor and here.state.tapes:
            variable.__dict__.pop(HOOKS, None)              # they saw the gradient of the old value


def number_assigned(variable, value, *outs):
    """On all tapes `variable`, and `outs`, have the number of what was assigned."""
    source = variable if isinstance(variable, Parameter) else value
    for tape in here.state.tapes:
        number = tape.number(source) if isinstance(source, Tensor) else None
        for tensor in (variable, *outs):
            if isinstance(tensor, Tensor):
                tape.set_number(tensor, number)


def apply(operation, tensors):
    """Run a GraphOperation on Tensors and numbers, recording it; gives a list of Tensors and numbers."""
    values = operation.run([t.elements if isinstance(t, Tensor) else t for t in tensors])
    outs = [Tensor.of_elements(v) if isinstance(v, (np.ndarray, DeviceArray, ShardedArray)) else wrap(v) for v in values]
    if here.state.tapes and operation.differentiable:
        enter(operation, tensors, outs)
    return outs


_set_data = Parameter.set_data


@functools.wraps(_set_data)
def set_data(self, data, slice_shape=False):
    protect(self.elements)                            # what was saved stays, and so does its number
    return _set_data(self, data, slice_shape)


setattr(Parameter, "set_data", set_data)
interpreter = PyNative()
set_base_interpreter(interpreter)
