"""What test_every_op asks of an operator: normal form, meaning, derivatives by differences, a run of its kernel."""
import ctypes
import itertools

import numpy as np

from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol, evaluate
from mindlite.common.sbp import Split
from mindlite.common.tensor import Tensor
from mindlite.mindir.abstract import AbstractTensor, AbstractTuple
from mindlite.mindir.builder import constant, typed
from mindlite.mindir.primitive import bind, eval_rule, interpreting, sbp_rule_table
from mindlite.ops.evaluate import NumpyInterpreter


class Recorder(NumpyInterpreter):
    """Computes, and remembers the last operator that was bound: the one that was called, its operands prepared."""
    last = None

    def bind(self, prim, args, attrs):
        """As NumpyInterpreter."""
        out = super().bind(prim, args, attrs)
        self.last = prim, args, attrs
        return out


def fresh(args):
    """Copies: `assign` writes into its operand."""
    return tuple(np.array(a) if isinstance(a, np.ndarray) else a for a in args)


def normal_form(prim, args, attrs):
    """(args, attrs) as rules see them: axes counted from the front, dtypes promoted."""
    with interpreting(Recorder()) as recorder:
        prim(*(Tensor.wrap(a) if isinstance(a, np.ndarray) else a for a in fresh(args)), **attrs)
    found, args, attrs = recorder.last
    assert found is prim, (found, prim)
    return tuple(a.array if isinstance(a, Tensor) else a for a in args), attrs


def meaning(prim, args, attrs):
    """The results by the eval rule, a tuple of arrays."""
    with interpreting(NumpyInterpreter()):
        out = eval_rule[prim](*fresh(args), **attrs)
    return tuple(map(np.asarray, out)) if isinstance(out, tuple) else (np.asarray(out),)


def local_meaning(prim, args, attrs, signature, shapes, first, size):
    """The results on one device: args are its parts, shapes those of its results, as a Signature of the operator's rule says.

    first, size : where its part of operand 0 begins along the axis of indices, and the size of that axis
    """
    rule = sbp_rule_table[prim]
    if rule.lookup is not None and signature.ins[0] == Split(attrs["axis"]):
        tensors = tuple(Tensor.wrap(a) if isinstance(a, np.ndarray) else a for a in fresh(args))
        with interpreting(NumpyInterpreter()):
            return (rule.lookup(tensors, attrs, first, size).asnumpy(),)
    return meaning(prim, args, rule.local(attrs, shapes) if rule.local else attrs)


def abstracts_of(args):
    """The abstract of each array or number."""
    return [constant(a).abstract for a in args]


def results_of(abstract):
    """The abstracts of the results: one, or the elements of a tuple."""
    return abstract.elements if isinstance(abstract, AbstractTuple) else (abstract,)


def with_symbols(args, known=()):
    """Abstracts with a Symbol for every size above 1 but the (operand, axis) in `known`; the sizes: {Symbol: int}."""
    env, made = {}, []
    for i, abstract in enumerate(abstracts_of(args)):
        if isinstance(abstract, AbstractTensor):
            shape = []
            for axis, size in enumerate(abstract.shape):
                if size > 1 and (i, axis) not in known:
                    symbol = Symbol()
                    env[symbol] = size
                    size = symbol.dim
                shape.append(size)
            abstract = AbstractTensor(abstract.dtype, tuple(shape))
        made.append(abstract)
    return made, env


def graph_of(prim, args, attrs):
    """The typed graph of the one operator; operands that are numbers are constants."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]

    def body(*nodes):
        nodes = iter(nodes)
        return bind(prim, tuple(next(nodes) if isinstance(a, np.ndarray) else a for a in args), attrs)
    return typed(body, *abstracts_of(arrays), name=prim.name), arrays


def is_float(array):
    """True for arrays that have derivatives which differences can show: double precision."""
    return isinstance(array, np.ndarray) and array.dtype in (np.float64, np.complex128)


def inner(a, b):
    """The real inner product of two arrays, also complex ones."""
    return float(np.sum(np.real(np.conj(a) * b)))


def random_like(array, rng):
    """A random array of the same type."""
    real = rng.standard_normal(array.shape)
    return (real + 1j * rng.standard_normal(array.shape) if array.dtype.kind == "c" else real).astype(array.dtype)


def difference(function, arrays, tangents, step=1e-6):
    """The derivative of function(*arrays) -> arrays along `tangents` (None for none), by central differences."""
    def at(h):
        return function(*(a if t is None else a + h * t for a, t in zip(arrays, tangents)))
    return [(p - m) / (2 * step) if is_float(p) else None for p, m in zip(at(step), at(-step))]


def variants(array, size):
    """`size` arrays like this one, whose values an operator takes wherever it takes these."""
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        return [array] * size if not is_float(array) else [array, array * 0.75 + 0.1, array * 0.9][:size]
    other = np.ascontiguousarray(np.flip(array) if array.dtype.kind in "fcb" else np.flip(array, 0))
    return [array, other, array * 0.5 + other * 0.5 if is_float(array) else array][:size]


def batch_axes(args):
    """Combinations of mapped axes: each operand alone, all in front, all behind; None is not mapped."""
    tensors = [i for i, a in enumerate(args) if isinstance(a, np.ndarray)]
    choices = [{i: 0} for i in tensors] + [{i: 0 for i in tensors}, {i: args[i].ndim for i in tensors}]
    seen = []
    for choice in choices:
        dims = tuple(choice.get(i) for i in range(len(args)))
        if dims not in seen and choice:
            seen.append(dims)
    return seen


def run_kernel(lowered, inputs):
    """The results of a Lowered by its machine code, in two pieces."""
    outs = [np.full(o.abstract.shape, 1, o.abstract.dtype.numpy) for o in lowered.outputs]
    inputs = [np.ascontiguousarray(x) for x in inputs]
    args = [a.ctypes.data for a in itertools.chain(inputs, outs)] + [evaluate(s, {}) for s in lowered.sizes]
    buffer = np.array(args, np.int64)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lowered.kernel.address)
    extent = evaluate(lowered.extent, {})
    for begin, end in ((0, extent // 2), (extent // 2, extent)):
        assert function(buffer.ctypes.data, begin, end) == 0
    return outs


def in_float32(args):
    """float64 operands as float32, which kernels compute mostly."""
    return tuple(a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in args)


def lower_attrs(attrs):
    """Attributes with float64 replaced alike."""
    return {name: dt.float32 if value is dt.float64 else value for name, value in attrs.items()}
