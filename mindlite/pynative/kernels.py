"""How eager mode computes: one operator by NumPy or by a library's kernel, a typed graph compiled (walks.py: node by node).

    compute_of(operation)(*arrays, **attrs)         Compiled(graph).run(arrays)

A Compiled graph is fused, planned and loaded first, and runs as one call.
"""
import copy
import math
import threading
import time
import types
from typing import Any, ClassVar

import numpy as np

from ..backend import python_entry
from ..backend.target import current
from ..common.config import config
from ..common.dim import Symbol, lone_symbol
from ..common.errors import InternalError, Stage, user_location
from ..common.storage import DeviceArray
from ..compile.call_plan import CallPlan
from ..compile.executable import as_raised
from ..compile.kept_graphs import compile_or_restore
from ..compile.known_call import KnownCall, OpenKnownCall
from ..compile.library import FACTORED, LIBRARY, RUNNING, SCANS, TRANSFORMS
from ..compile.plain_call import run_graph
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.builder import results_of
from ..mindir.control import make_tuple
from ..mindir.graph import FuncGraph
from ..mindir.primitive import Primitive, eval_rule, kernel_rule
from ..ops.indexing import (gather_elements_axis, index_add_axis, scatter_elements_add, scatter_nd_add, scatter_nd_div,
                            scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_update)
from ..ops.basic import transpose
from ..ops.decomposition import linear_solve, triangular_system
from ..ops.linalg import batch_matmul
from ..ops.reduction import index_of_max, index_of_min
from ..ops.sort import median_along, sort_along, topk_along
from .beside import Making

# {operator: (arrays, attributes) -> [(indices, the size of the axis that they stand for)]}: kernels do not look at indices
_INDICES: dict[Primitive, Any] = {prim: lambda args, attrs: [(args[1], args[0].shape[attrs["axis"]])]
            for prim in (index_add_axis, scatter_elements_add, gather_elements_axis)}
_INDICES.update(dict.fromkeys((scatter_nd_add, scatter_nd_update, scatter_nd_max, scatter_nd_min, scatter_nd_mul,
                               scatter_nd_div), lambda args, attrs: [
    (args[1][..., d], args[0].shape[d]) for d in range(args[1].shape[-1])]))
# NumPy's small matrix products are BLAS itself; of few elements NumPy is done before a kernel is compiled
_LINES = frozenset({median_along.name, sort_along.name, topk_along.name, *SCANS, *RUNNING, *TRANSFORMS,
                    *(prim.name for prim in _INDICES)})
_MATRICES = frozenset({*FACTORED, "orthogonal_triangular", linear_solve.name, triangular_system.name})
AT_ONCE = frozenset(LIBRARY) - _LINES - _MATRICES - {batch_matmul.name}       # NumPy is slow: compiled at their first call
# {operator with windows: (its convolution's result, weights), None for a pooling}
_WINDOWS: dict[str, Any] = {
    "convolution": lambda op: (op.outs[0], op.abstracts[1]), "convolution_backward_data": lambda op: op.abstracts,
    "convolution_backward_weight": lambda op: (op.abstracts[1], op.outs[0]),
    **dict.fromkeys(("max_pooling", "max_pooling_backward", "avg_pooling", "avg_pooling_backward"))}
SPENT = 0.03                                       # seconds of NumPy that are worth a compilation beside the run
SPENT_WITH_WINDOWS = 0.01                          # the same of a convolution or pooling, whose kernel is several times as fast
OFTEN_ENOUGH = 6                                   # calls of one signature after which a plan with a kernel of all sizes pays


def is_at_once(fn):
    """True for an operator that is compiled at its first call."""
    return isinstance(fn, Primitive) and fn.name in AT_ONCE


def depends_on_sizes(prim, halves=False):
    """True for an operator that is computed in another way where there is more to compute (see `compute_of`)."""
    return is_at_once(prim) or prim in (batch_matmul, transpose, index_of_max, index_of_min) or prim.name in _LINES or (
        prim.name in _MATRICES or enough_of(prim, halves) is not None)


def is_soon_done(operation):
    """True for a small convolution or pooling: NumPy computes it in a few ms, so its kernel may be compiled beside the run."""
    name, out, first = operation.prim.name, operation.outs[0], operation.abstracts[0]
    if name not in _WINDOWS or not first.dtype.is_float or first.dtype.is_small:
        return False
    if _WINDOWS[name] is None:
        return max(first.size, out.size) * math.prod(operation.attrs["kernel_size"]) <= current().eager_windows
    y, w = _WINDOWS[name](operation)
    of_a_window = w.size // max(w.shape[0], 1)
    return y.size * of_a_window <= current().eager_convolution and (
        y.size // max(w.shape[0], 1) * of_a_window * operation.attrs["groups"] <= current().eager_windows)


def compute_of(operation):
    """The function (*arrays, **attrs) -> array or tuple that computes an operator for one signature."""
    prim = operation.prim
    if is_at_once(prim) or _is_large(operation):
        kind = CheckedKernel if prim in _INDICES else FlatKernel if _is_flat(operation) else OwnKernel
        return kind(operation) if prim is not batch_matmul or form_of_product(operation) is None else ProductKernel(operation)
    if prim not in eval_rule:
        raise InternalError(f"{prim.name} has no eval rule")
    return eval_rule[prim]


def _is_large(operation):
    """True for what a generated kernel computes faster than NumPy."""
    prim = operation.prim
    if prim is batch_matmul:
        a = operation.abstracts[0]
        inner = a.shape[-2 if operation.attrs["transpose_a"] else -1]
        return a.dtype.is_small or (a.dtype.is_float and operation.outs[0].size * inner >= current().eager_product)
    if prim is transpose:                                      # NumPy walks across the lines, the kernel goes in squares
        return operation.outs[0].size >= current().eager_lines and operation.attrs["perm"][-1] != operation.outs[0].ndim - 1
    if prim in (index_of_max, index_of_min):                   # along the last axis NumPy has vectors as well
        return operation.abstracts[0].size >= current().eager_lines and operation.attrs["axis"] != operation.abstracts[0].ndim - 1
    abstracts = (*operation.abstracts, *operation.outs)
    enough = current().eager_lines if prim.name in _LINES else (
        current().eager_matrices if prim.name in _MATRICES else enough_of(prim, any(map(is_half, abstracts))))
    if enough is None:
        return False
    return all(isinstance(a, AbstractTensor) for a in abstracts) and max(a.size for a in abstracts) >= enough


def is_half(abstract):
    """True for a Tensor of float16 or bfloat16."""
    return isinstance(abstract, AbstractTensor) and abstract.dtype.is_float and abstract.dtype.itemsize == 2


def enough_of(prim, halves=False):
    """From how many elements on a generated kernel computes an operator, of halves if they take part; None for never."""
    if halves and "checks" not in prim.traits and ("composite" in prim.traits or prim in kernel_rule and (
            "elementwise" in prim.traits or "reduction" in prim.traits)):
        return current().eager_halves
    if "composite" in prim.traits:
        return current().eager_composites
    if "elementwise" in prim.traits and prim in kernel_rule and "checks" not in prim.traits:    # a kernel cannot raise
        return 0 if "many passes" in prim.traits else current().eager_elementwise
    return None


def _is_flat(operation):
    """True for an operator that works element by element on operands of one shape."""
    out = operation.outs[0]
    return "elementwise" in operation.prim.traits and all(
        isinstance(a, AbstractTensor) and a.shape == out.shape for a in operation.abstracts)


def is_checked(prim):
    """True for an operator whose eval rule refuses some values, of which kernels know nothing."""
    return prim in _INDICES or "checks" in prim.traits


class OwnKernel:
    """One operator as the library's or generated kernel that `compile` chooses for it.

    What NumPy does as well, or in a short time, is compiled beside the run once NumPy has taken as many seconds as that is worth,
    so that sizes which change all the time order nothing; all else is compiled at its first call (worth: None).
    """

    def __init__(self, operation):
        self.operation, self.compiled, self.making, self.spent = operation, None, Making(), 0.0
        self.worth = SPENT if not is_at_once(operation.prim) else SPENT_WITH_WINDOWS if is_soon_done(operation) else None

    def compile(self):
        """The operator as a Compiled graph."""
        with Stage("kernel", user_location):
            return Compiled(single_node(self.operation))

    def __call__(self, *arrays, **attrs):
        if self.compiled is None:
            if self.worth is None or not config.compile_beside or config.repeatable:
                self.compiled = self.compile()
            else:
                order = self.making.find(lambda: self.compile, 1, self.spent, lambda: self.spent >= self.worth)
                if order is None:
                    return self.by_numpy(arrays, attrs)
                self.compiled = order.result()
        values = self.compiled.run(arrays)
        return tuple(values) if self.operation.several else values[0]

    def by_numpy(self, arrays, attrs):
        """The operator by its eval rule, whose time of this thread counts."""
        start = time.thread_time()
        out = eval_rule[self.operation.prim](*arrays, **attrs)
        self.spent += time.thread_time() - start
        return out


class FlatKernel:
    """An operator that works element by element, for arrays of one shape: one kernel of a row of n elements serves all."""
    _of_rows: ClassVar[dict] = {}                            # {(operator, dtypes, attributes): the OwnKernel of such a row}

    def __init__(self, operation):
        prim, n = operation.prim, Symbol("n")
        key = prim, tuple([a.dtype for a in operation.abstracts]), repr(operation.attrs)
        if key not in self._of_rows:
            row = copy.copy(operation)
            row.abstracts = tuple([AbstractTensor(a.dtype, (n.dim,)) for a in operation.abstracts])
            row.outs = tuple([AbstractTensor(out.dtype, (n.dim,)) for out in operation.outs])
            self._of_rows[key] = OwnKernel(row)
        self.of_rows = self._of_rows[key]

    def __call__(self, *arrays, **attrs):
        return self.of_rows(*[a.reshape(-1) for a in arrays], **attrs).reshape(arrays[0].shape)


def form_of_product(operation):
    """(whether the operands are stacks of matrices, whether the axes before the last one of the first are rows) of a matrix
    product that one kernel of open sizes computes; None for others."""
    a, b = operation.abstracts
    if b.ndim == 2 and (a.ndim == 2 or not operation.attrs["transpose_a"]):
        return False, a.ndim != 2
    return (True, False) if a.ndim > 2 and a.shape[:-2] == b.shape[:-2] else None


class ProductKernel:
    """A matrix product: one kernel of open sizes serves all of a form. Many threads of NumPy's BLAS wait for one another where
    other programs compute too."""
    _of_forms: ClassVar[dict] = {}                           # {(dtype, stacks or not, attributes): the OwnKernel of open sizes}

    def __init__(self, operation):
        stacked, self.of_rows = form_of_product(operation)
        self.stacked, self.shape = stacked, operation.outs[0].shape
        self.of_form = self.kernel(operation.abstracts[0].dtype, stacked, operation.attrs)

    @classmethod
    def kernel(cls, dtype, stacked, attrs):
        """The OwnKernel of all sizes."""
        key = dtype, stacked, attrs["transpose_a"], attrs["transpose_b"]
        if key not in cls._of_forms:
            lead = (Symbol("b").dim,) if stacked else ()
            m, n, k = (Symbol(name).dim for name in "mnk")
            shapes = (k, m) if attrs["transpose_a"] else (m, k), (n, k) if attrs["transpose_b"] else (k, n), (m, n)
            a, b, out = (AbstractTensor(dtype, (*lead, *shape)) for shape in shapes)
            cls._of_forms[key] = OwnKernel(types.SimpleNamespace(prim=batch_matmul, abstracts=(a, b), attrs=attrs, outs=(out,),
                                                                 several=False))
        return cls._of_forms[key]

    def __call__(self, a, b, **attrs):
        if self.stacked:
            a, b = (x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:]) for x in (a, b))
        elif self.of_rows:
            a = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return self.of_form(a, b, **attrs).reshape(self.shape)


class CheckedKernel(OwnKernel):
    """An operator whose kernel takes indices as they are: where one is outside, its eval rule says which."""

    def __call__(self, *arrays, **attrs):
        for indices, size in _INDICES[self.operation.prim](arrays, attrs):
            if indices.size and not (-size <= indices.min() and indices.max() < size):
                return eval_rule[self.operation.prim](*arrays, **attrs)
        return super().__call__(*arrays, **attrs)


def single_node(operation):
    """The typed graph of one operator."""
    graph = FuncGraph(operation.prim.name)
    args = [graph.add_parameter(f"x{i}", a) for i, a in enumerate(operation.abstracts)]
    outs = operation.outs
    abstract = AbstractTuple(outs) if operation.several else outs[0]
    graph.set_outputs(results_of(graph.add(operation.prim, *args, abstract=abstract, **operation.attrs)), make_tuple)
    return graph


class Compiled:
    """A typed graph as an Executable; sizes that are Symbols are read from what it is given. device: where its kernels run,
    None for the CPU"""

    def __init__(self, graph, level=None, device=None):
        self.graph, self.device = graph, device
        lowered, self.executable, ends = compile_or_restore(graph, level or config.jit_level, device)
        self.inputs, self.known = [p.abstract for p in ends.parameters], _KnownCalls()
        symbols: dict = {}
        for index, abstract in enumerate(self.inputs):
            for axis, size in enumerate(abstract.shape) if isinstance(abstract, AbstractTensor) else (
                    (None, getattr(abstract, "dim", None)),):
                if lone_symbol(size) is not None:
                    symbols.setdefault(lone_symbol(size), (index, axis))
        self.plan = CallPlan(self.executable, lowered, ends, ends.parameters, symbols)
        self.can_be_known = not self.plan.why_not_known() and all(kind == "param" for kind, _ in self.plan.results)
        if self.can_be_known:
            python_entry.prepare()

    def run(self, arrays):
        """The outputs, a list of ndarrays, DeviceArrays and numbers, for such."""
        try:
            return self.run_now(arrays)
        except Exception as error:
            found = as_raised(error)
            if found is error:
                raise
            raise found from error

    def run_now(self, arrays):
        """`run`; its exceptions are those of the run, or faults."""
        if self.can_be_known:
            known = self.known.call or self.known.learn(self, arrays)
            if known is not None:
                made = (known.aim(self.plan.sizes(arrays)) if self.plan.symbols else known).run(arrays)
                if made is not None:
                    return made
        return run_graph(self.plan, arrays)


class _KnownCalls(threading.local):
    """The KnownCall of a Compiled in a thread, from its second run on. call: it, None before"""

    def __init__(self):
        self.call, self.has_run = None, False

    def learn(self, compiled, arrays):
        """The KnownCall, None in the first run."""
        if not self.has_run:
            self.has_run = True
            return None
        plan, given = compiled.plan, [
            (python_entry.ARRAY, np.ndarray if a.device is None else DeviceArray, a.dtype.numpy, a.shape, a.device)
            for a in compiled.inputs]
        self.call = OpenKnownCall(plan, given, plan.sizes(arrays)) if plan.symbols else KnownCall(plan, given, ())
        return self.call
