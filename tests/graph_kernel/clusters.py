"""A few operators with rules, graphs written by hand, and a run of a cluster in NumPy and as machine code."""
import ctypes
import math
import operator
import platform

import numpy as np

from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.backend.cuda.nvptx import emit
from mindlite.backend.cuda.simulator import Simulated
from mindlite.backend.cuda.threads import refuse_libm
from mindlite.backend.target import current
from mindlite.common import dtype as dt
from mindlite.common.dim import evaluate
from mindlite.common.location import Location, Origin
from mindlite.graph_kernel import lowering
from mindlite.graph_kernel.loopnest import build
from mindlite.graph_kernel.schedule import schedule
from mindlite.mindir.abstract import AbstractScalar, AbstractTensor, AbstractTuple
from mindlite.mindir.control import make_tuple, tuple_getitem
from mindlite.mindir.graph import FuncGraph, ValueNode
from mindlite.mindir.loops import CannotFuse
from mindlite.mindir.primitive import eval_rule, infer_rule, kernel_rule, primitive
from mindlite.mindir.scalar import call, cast, elementwise_rule, logical_not, maximum, minimum, reduce, where
from run_text import run_source

SIMULATES = platform.machine() in ("x86_64", "AMD64") and platform.system() == "Linux"


def broadcast(*shapes):
    """NumPy's broadcasting for ints and Dims that are equal where they are not 1."""
    out = []
    for axis in range(-max(map(len, shapes)), 0):
        sizes = [s[axis] for s in shapes if len(s) >= -axis and not (isinstance(s[axis], int) and s[axis] == 1)]
        out.append(sizes[0] if sizes else 1)
    return tuple(out)


def elementwise(name, scalar, array, out_dtype=None):
    """A primitive test_<name> that works element by element."""
    def declaration(*xs):
        """An elementwise operator of the tests."""
    prim = primitive(declaration, name=f"test_{name}", traits={"elementwise"})

    @infer_rule(prim)
    def infer(*xs):
        tensors = [x for x in xs if isinstance(x, AbstractTensor)]
        return AbstractTensor(out_dtype or tensors[-1].dtype, broadcast(*(x.shape for x in tensors)))
    kernel_rule(prim)(elementwise_rule(scalar))

    @eval_rule(prim)
    def evaluate_(*xs):
        dtype = np.result_type(*(x for x in xs if isinstance(x, np.ndarray)))
        wide = np.float32 if dtype.itemsize == 2 and dtype.kind not in "iub" else None
        xs = [x.astype(wide) if wide and isinstance(x, np.ndarray) and x.dtype == dtype else x for x in xs]
        with np.errstate(all="ignore"):
            out = np.asarray(array(*xs))
        return out.astype(out_dtype.numpy if out_dtype else dtype, copy=False)
    return prim


add = elementwise("add", operator.add, np.add)
sub = elementwise("sub", operator.sub, np.subtract)
mul = elementwise("mul", operator.mul, np.multiply)
div = elementwise("div", operator.truediv, np.divide)
floordiv = elementwise("floordiv", operator.floordiv, np.floor_divide)
mod = elementwise("mod", operator.mod, np.mod)
neg = elementwise("neg", operator.neg, np.negative)
exp = elementwise("exp", math.exp, np.exp)
tanh = elementwise("tanh", math.tanh, np.tanh)
relu = elementwise("relu", lambda x: where(x > 0, x, 0), lambda x: np.where(x > 0, x, x.dtype.type(0)))
rsqrt_eps = elementwise("rsqrt_eps", lambda x: 1 / math.sqrt(x + 1e-5), lambda x: 1 / np.sqrt(x + x.dtype.type(1e-5)))
square = elementwise("square", lambda x: x ** 2, np.square)
maxi = elementwise("maximum", maximum, np.maximum)
mini = elementwise("minimum", minimum, np.minimum)
less = elementwise("less", operator.lt, np.less, dt.bool_)
invert = elementwise("not", logical_not, np.logical_not, dt.bool_)
select = elementwise("select", where, np.where)
scale = elementwise("scale", lambda x, s: x * s, lambda x, s: x * x.dtype.type(s))


@primitive(name="test_cast")
def cast_to(x, *, dtype):
    """x as dtype."""


infer_rule(cast_to)(lambda x, *, dtype: AbstractTensor(dtype, x.shape))
eval_rule(cast_to)(lambda x, *, dtype: x.astype(dtype.numpy))
kernel_rule(cast_to)(lambda x, out, *, dtype: lambda *i: cast(x[i], dtype))


def _reduction(kind, array):
    def declaration(x, *, axis, keepdims=False):
        """A reduction of the tests."""
    prim = primitive(declaration, name=f"test_{kind}")

    @infer_rule(prim)
    def infer(x, *, axis, keepdims):
        shape = tuple(1 if a in axis else s for a, s in enumerate(x.shape) if keepdims or a not in axis)
        return AbstractTensor({"arg": dt.int64, "any": dt.bool_, "all": dt.bool_}.get(kind[:3], x.dtype), shape)

    @kernel_rule(prim)
    def kernel(x, out, *, axis, keepdims):
        def element(*i):
            def body(*r):
                kept, inner = iter(i), iter(r)
                index = []
                for a in range(len(x.shape)):
                    if a in axis and keepdims:
                        next(kept)
                    index.append(next(inner) if a in axis else next(kept))
                return x[tuple(index)]
            return reduce(kind, [x.shape[a] for a in axis], body)
        return element

    @eval_rule(prim)
    def evaluate_(x, *, axis, keepdims):
        with np.errstate(all="ignore"):
            if kind.startswith("arg"):
                kept = tuple(a for a in range(x.ndim) if a not in axis)
                flat = x.transpose(kept + axis).reshape(tuple(x.shape[a] for a in kept) + (-1,))
                shape = tuple(1 if a in axis else s for a, s in enumerate(x.shape) if keepdims or a not in axis)
                return array(flat, axis=-1).reshape(shape)
            wide = x.astype(np.float64) if kind in ("sum", "prod") and x.dtype.kind not in "iub" else x
            out = np.asarray(array(wide, axis=axis, keepdims=keepdims))
            return out.astype(bool if kind in ("any", "all") else x.dtype)
    return prim


reduce_sum = _reduction("sum", np.sum)
reduce_prod = _reduction("prod", np.prod)
reduce_max = _reduction("max", np.max)
reduce_min = _reduction("min", np.min)
reduce_any = _reduction("any", np.any)
reduce_all = _reduction("all", np.all)
argmax = _reduction("argmax", np.argmax)
argmin = _reduction("argmin", np.argmin)


@primitive(name="test_mean_factor")
def divide_by_size(x, y, *, axis):
    """y divided by the number of elements of x along axis."""


infer_rule(divide_by_size)(lambda x, y, *, axis: y)
eval_rule(divide_by_size)(lambda x, y, *, axis: (y / y.dtype.type(math.prod(x.shape[a] for a in axis))).astype(y.dtype))


@kernel_rule(divide_by_size)
def divide_by_size_kernel(x, y, out, *, axis):
    n = 1
    for a in axis:
        n = n * x.shape[a]
    return lambda *i: y[i] / n


@primitive(name="test_transpose")
def transpose(x, *, perm):
    """Axes in another order."""


infer_rule(transpose)(lambda x, *, perm: AbstractTensor(x.dtype, tuple(x.shape[p] for p in perm)))
eval_rule(transpose)(lambda x, *, perm: np.ascontiguousarray(x.transpose(perm)))
kernel_rule(transpose)(lambda x, out, *, perm: lambda *i: x[tuple(i[perm.index(a)] for a in range(len(perm)))])


@primitive(name="test_slice")
def cut(x, *, start, step, size):
    """x[start::step][:size] on the last axis."""


infer_rule(cut)(lambda x, *, start, step, size: AbstractTensor(x.dtype, x.shape[:-1] + (size,)))
eval_rule(cut)(lambda x, *, start, step, size: np.ascontiguousarray(
    x[..., [start + step * k for k in range(size)]]))
kernel_rule(cut)(lambda x, out, *, start, step, size: lambda *i: x[(*i[:-1], i[-1] * step + start)])


@primitive(name="test_pad")
def pad(x, *, before, after):
    """Zeros around the last axis."""


infer_rule(pad)(lambda x, *, before, after: AbstractTensor(x.dtype, x.shape[:-1] + (x.shape[-1] + before + after,)))
eval_rule(pad)(lambda x, *, before, after: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)]))


@kernel_rule(pad)
def pad_kernel(x, out, *, before, after):
    def element(*i):
        j = i[-1] - before
        return where((j >= 0) & (j < x.shape[-1]), x[(*i[:-1], j)], 0)
    return element


@primitive(name="test_gather")
def gather(x, index):
    """x[index] on the first axis."""


infer_rule(gather)(lambda x, index: AbstractTensor(x.dtype, index.shape + x.shape[1:]))
eval_rule(gather)(lambda x, index: x[index])
kernel_rule(gather)(lambda x, index, out: lambda *i: x[(index[i[:len(index.shape)]], *i[len(index.shape):])])


@primitive(name="test_reshape")
def reshape(x, *, shape):
    """Another shape."""


infer_rule(reshape)(lambda x, *, shape: AbstractTensor(x.dtype, shape))
eval_rule(reshape)(lambda x, *, shape: x.reshape(shape))


@kernel_rule(reshape)
def reshape_kernel(x, out, *, shape):
    def element(*i):
        flat = 0
        for k, size in zip(i, shape):
            flat = flat * size + k
        index = []
        for size in reversed(x.shape[1:]):
            index.append(flat % size)
            flat = flat // size
        return x[(flat, *reversed(index)) if x.shape else ()]
    return element


@primitive(name="test_moments")
def moments(x):
    """Sum and sum of squares over the last axis: two results."""


infer_rule(moments)(lambda x: AbstractTuple((AbstractTensor(x.dtype, x.shape[:-1]),) * 2))
eval_rule(moments)(lambda x: (x.sum(-1, dtype=x.dtype), (x * x).sum(-1, dtype=x.dtype)))


@kernel_rule(moments)
def moments_kernel(x, out):
    return (lambda *i: reduce("sum", [x.shape[-1]], lambda r: x[(*i, r)]),
            lambda *i: reduce("sum", [x.shape[-1]], lambda r: call("pow", x[(*i, r)], 2.0)))


# ---------------------------------------------------------------- graphs

class Node:
    """A node under construction."""

    def __init__(self, writer, node):
        self.writer, self.node, self.abstract = writer, node, node.abstract


class Writer:
    """Builds a typed graph: w = Writer(x=f32[2, 3]); y = w(tanh, w.x); graph = w.graph(y)."""

    def __init__(self, name="cluster", **abstracts):
        self.made = FuncGraph(name)
        self.inputs = {n: self.made.add_parameter(n, a) for n, a in abstracts.items()}

    def __getattr__(self, name):
        return self.inputs[name]

    def __call__(self, prim, *args, line=None, **attrs):
        args = [a if hasattr(a, "abstract") else constant(a) for a in args]
        attrs = {**prim.attrs, **attrs}
        abstract = infer_rule[prim](*(a.abstract for a in args), **attrs)
        origin = Origin(Location(__file__, line)) if line else Origin()
        return self.made.add(prim, *args, abstract=abstract, origin=origin, **attrs)

    def item(self, node, index):
        return self.made.add(tuple_getitem, node, abstract=node.abstract.elements[index], index=index)

    def graph(self, *outputs):
        self.made.set_outputs(outputs, make_tuple)
        return self.made


def constant(value):
    """A ValueNode."""
    if isinstance(value, np.ndarray):
        return ValueNode(value, AbstractTensor(dt.dtype(value.dtype), value.shape))
    return ValueNode(value, AbstractScalar(type(value)))


def tensor(dtype, *shape):
    """f32[shape]"""
    return AbstractTensor(dt.dtype(dtype), shape)


def evaluate_graph(graph, inputs, env=None):
    """The results of a graph by the eval rules."""
    values = {id(p): v for p, v in zip(graph.parameters, inputs)}

    def value(node):
        if isinstance(node, ValueNode):
            return node.value
        if id(node) not in values:
            args = [value(a) for a in node.args]
            if node.fn is tuple_getitem:
                values[id(node)] = args[0][node.attrs["index"]]
            elif isinstance(node.fn, FuncGraph):
                values[id(node)] = evaluate_graph(node.fn, args, env)
                if not isinstance(node.abstract, AbstractTuple):
                    values[id(node)], = values[id(node)]
            else:
                attrs = {k: tuple(evaluate(s, env) for s in v) if k == "shape" and env else v
                         for k, v in node.attrs.items()}
                values[id(node)] = eval_rule[node.fn](*args, **attrs)
        return values[id(node)]
    return tuple(value(o) for o in graph.outputs)


def execute(lowered, inputs, env=None, chunks=1):
    """The results of a Lowered by its machine code, the parallel axis cut into `chunks` pieces."""
    outs = tuple(np.full([evaluate(s, env) for s in o.abstract.shape], _POISON.get(o.abstract.dtype.kind, 1),
                         o.abstract.dtype.numpy) for o in lowered.outputs)
    args, keep = [], []
    for parameter, x in zip(lowered.inputs, inputs):
        if isinstance(parameter.abstract, AbstractScalar):
            args.append(int(np.float64(x).view(np.int64)) if parameter.abstract.type is float else int(x))
        else:
            keep.append(np.ascontiguousarray(x))
            args.append(keep[-1].ctypes.data)
    args += [o.ctypes.data for o in outs] + [evaluate(s, env) for s in lowered.sizes]
    buffer = np.array(args, np.int64)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lowered.kernel.address)
    extent = evaluate(lowered.extent, env)
    for k in range(chunks):
        assert function(buffer.ctypes.data, extent * k // chunks, extent * (k + 1) // chunks) == 0
    return outs


def simulate(nest, inputs, env=None, threads=64, blocks=3, backwards=False):
    """The results of a LoopNest as a CUDA kernel (backend/cuda), run by its simulator."""
    texts = kernel_text([emit(nest)])
    assert ".visible .entry kernel(" in ptx(texts, "sm_90")
    return run_simulated(Simulated(texts), nest, inputs, env, threads, blocks, backwards)


def run_simulated(kernel, nest, inputs, env=None, threads=64, blocks=3, backwards=False):
    """The results of a LoopNest whose kernel is simulated: its text has no sizes, so one does for all."""
    outs = tuple(np.full([evaluate(s, env) for s in o.operand.shape], _POISON.get(o.operand.dtype.kind, 1), o.operand.dtype.numpy)
                 for o in nest.outputs)
    words, keep = [evaluate(nest.extent, env), 1], []
    for operand, x in zip(nest.inputs, inputs):
        if isinstance(operand.abstract, AbstractScalar):
            words.append(int(np.float64(x).view(np.int64)) if operand.abstract.type is float else int(x))
        else:
            keep.append(np.ascontiguousarray(x))
            words.append(keep[-1].ctypes.data)
    words += [o.ctypes.data for o in outs] + [evaluate(s, env) for s in nest.sizes.values()]
    assert kernel.run(np.array(words[:kernel.words], np.int64), threads, blocks, backwards)
    return outs


_POISON = {"f": np.nan, "i": 77, "u": 77, "b": True}


def for_gpu(graph):
    """The scheduled LoopNest of a graph, its outermost loop in one piece, as threads of a GPU share it."""
    return schedule(build(graph, target=current().replace(cut_parallel=False, row_buffers=False)))


def on_gpu(nest):
    """Has a GPU code for all functions of a LoopNest?"""
    try:
        for output in nest.outputs:
            refuse_libm(output.value)
    except CannotFuse:
        return False
    return True


def sample(abstract, rng, env=None):
    """Random input of an abstract."""
    if isinstance(abstract, AbstractScalar):
        return abstract.type(rng.integers(1, 5))
    shape = tuple(evaluate(s, env) for s in abstract.shape)
    if abstract.dtype.kind == "f":
        return rng.standard_normal(shape).astype(abstract.dtype.numpy)
    return rng.integers(0, 2 if abstract.dtype.kind == "b" else 100, shape).astype(abstract.dtype.numpy)


def check(graph, inputs=None, env=None, rtol=3e-6, atol=1e-6, text=True):
    """Machine code in one and in three chunks, the text, and the CUDA kernel where there is one, agree with the eval rules;
    returns the Lowered."""
    if inputs is None:
        rng = np.random.default_rng(len(graph.nodes))
        inputs = [sample(p.abstract, rng, env) for p in graph.parameters]
    lowered = lowering(graph)
    want = evaluate_graph(graph, inputs, env)
    runs = [execute(lowered, inputs, env), execute(lowered, inputs, env, chunks=3)]
    if text:
        runs.append(run_source(lowered.nest, *inputs, sizes=env))
    if SIMULATES and on_gpu(lowered.nest):
        runs.append(simulate(lowered.nest, inputs, env, backwards=len(graph.nodes) % 2 == 1))
    for outs in runs:
        for out, expected in zip(outs, want):
            assert out.dtype == expected.dtype and out.shape == expected.shape
            narrow = out.dtype.itemsize == 2 and out.dtype.kind not in "iu"
            a, b = (x.astype(np.float32) if narrow else x for x in (out, expected))
            np.testing.assert_allclose(a, b, rtol=1e-2 if narrow else rtol, atol=1e-2 if narrow else atol)
    for one, three in zip(*runs[:2]):
        np.testing.assert_array_equal(one.view(np.uint8) if one.ndim and one.size else one,
                                      three.view(np.uint8) if one.ndim and one.size else three)
    return lowered


def softmax_graph(*shape, dtype="float32"):
    """exp(x - max) / sum over the last axis, in basic operators."""
    w = Writer("softmax", x=tensor(dtype, *shape))
    axis = (len(shape) - 1,)
    m = w(reduce_max, w.x, axis=axis, keepdims=True)
    e = w(exp, w(sub, w.x, m))
    return w.graph(w(div, e, w(reduce_sum, e, axis=axis, keepdims=True)))


def layer_norm_graph(*shape, dtype="float32"):
    """(y, mean, rstd) of layer normalisation with scale and shift."""
    last = shape[-1]
    w = Writer("layer_norm", x=tensor(dtype, *shape), gamma=tensor(dtype, last), beta=tensor(dtype, last))
    axis = (len(shape) - 1,)
    mean = w(divide_by_size, w.x, w(reduce_sum, w.x, axis=axis, keepdims=True), axis=axis)
    centred = w(sub, w.x, mean)
    var = w(divide_by_size, w.x, w(reduce_sum, w(square, centred), axis=axis, keepdims=True), axis=axis)
    rstd = w(rsqrt_eps, var)
    y = w(add, w(mul, w(mul, centred, rstd), w.gamma), w.beta)
    return w.graph(y, mean, rstd)
