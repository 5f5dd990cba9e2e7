"""Equations between operators. The tables are the pass: a new equation is a new row."""
from ..common import dtype as dt
from ..common.dim import compare
from ..mindir.abstract import AbstractTensor
from ..mindir.graph import CNode
from ..mindir.primitive import bind
from ..ops.basic import broadcast_to, cast, reduce_sum, reshape, transpose
from ..ops.linalg import batch_matmul
from ..ops.scan import cumulative_sum
from ..ops.state import identity
from .rewrite import Const, Rewrite, Var, by_operator, rebuild, same_type

x, y = Var("x"), Var("y")

ARITHMETIC = [
    Rewrite("mul_one", x * 1, x),
    Rewrite("one_mul", 1 * x, x),
    Rewrite("div_one", x / 1, x),
    Rewrite("add_zero", x + 0, x, kinds="biu"),                 # of floats -0 + 0 is 0: what changes nothing is -0
    Rewrite("zero_add", 0 + x, x, kinds="biu"),
    Rewrite("add_minus_zero", x + -0.0, x, kinds="f"),
    Rewrite("minus_zero_add", -0.0 + x, x, kinds="f"),
    Rewrite("sub_zero", x - 0, x, kinds="biuf"),
    Rewrite("zero_sub", 0 - x, -x, kinds="i"),                  # of floats 0 - 0 is 0, and -0 is not
    Rewrite("neg_neg", -(-x), x),
    Rewrite("sub_neg", x - (-y), x + y),
    Rewrite("add_neg", x + (-y), x - y),
    Rewrite("neg_add", (-x) + y, y - x),
    Rewrite("sub_self", x - x, Const(0), kinds="iu"),
    Rewrite("mul_zero", x * 0, Const(0), kinds="iu"),
]
_EQUATIONS = by_operator(ARITHMETIC)
SHAPES: dict = {}


def simplify_arithmetic(graph):
    """Leaves no instance of the left side of an ARITHMETIC equation."""
    def visit(node):
        for rewrite in _EQUATIONS[node.fn]:
            made = rewrite(node)
            if made is not None:
                return made
        return None
    return rebuild(graph, visit, _EQUATIONS)


def simplify_shapes(graph):
    """Leaves no operator that moves or converts elements to where they are already, and no two that one could do."""
    def visit(node):
        if "elementwise" in node.fn.traits and len(node.args) > 1:
            return drop_broadcasts(node)
        return SHAPES[node.fn](node) if node.fn in SHAPES else None
    return rebuild(graph, visit)


def rewrite(prim):
    """Enter a function of a node of `prim`, giving what stands for it or None.

    raises : ValueError if the operator has one already: two rewrites of one operator are one function
    """
    def register(function):
        if prim in SHAPES:
            raise ValueError(f"{prim.name} is rewritten by {SHAPES[prim].__name__} already: extend that function")
        SHAPES[prim] = function
        return function
    return register


def _inner(node, prim):
    """The operand's own node if it is an application of `prim`."""
    arg = node.args[0]
    return arg if isinstance(arg, CNode) and arg.fn is prim else None


@rewrite(transpose)
def transpose_twice(node):
    """transpose(transpose(x, p), q) -> transpose(x, p[q]); the identity vanishes."""
    perm, source, inner = node.attrs["perm"], node.args[0], _inner(node, transpose)
    if inner is not None:
        perm, source = tuple(inner.attrs["perm"][i] for i in perm), inner.args[0]
    if perm == tuple(range(len(perm))):
        return source
    return transpose(source, perm=perm) if inner is not None else None


@rewrite(reshape)
def reshape_twice(node):
    """reshape(reshape(x, a), b) -> reshape(x, b); to the shape that x has it vanishes."""
    inner = _inner(node, reshape)
    source = node.args[0] if inner is None else inner.args[0]
    if source.shape == node.shape:
        return source
    return same_type(node, reshape(source, shape=node.shape)) if inner is not None else None


@rewrite(cast)
def cast_twice(node):
    """A cast to the same dtype vanishes, and so does one there and back through a dtype that holds every value."""
    source, inner = node.args[0], _inner(node, cast)
    if source.dtype is node.dtype:
        return source
    if inner is not None and inner.args[0].dtype is node.dtype and _holds(inner.dtype, node.dtype):
        return inner.args[0]
    return None


def _holds(wide, narrow):
    """True if `wide` has every value of the dtype `narrow`."""
    if narrow is dt.bool_:
        return wide.kind in "uifc"
    if wide is dt.float64 and narrow.kind in "ui":
        return narrow.bits <= 32
    return wide.kind == narrow.kind and wide.bits > narrow.bits


@rewrite(identity)
def identity_vanishes(node):
    """identity(x) -> x: what it was for, a value without the name of x, inference knew."""
    return node.args[0]


@rewrite(broadcast_to)
def broadcast_twice(node):
    """broadcast_to(broadcast_to(x)) -> broadcast_to(x); to the shape that x has it vanishes."""
    inner = _inner(node, broadcast_to)
    source = node.args[0] if inner is None else inner.args[0]
    if source.abstract == node.abstract:
        return source
    return broadcast_to(source, shape=node.shape) if inner is not None else None


@rewrite(reduce_sum)
def sum_of_nothing(node):
    """A sum over axes of size 1 is a reshape."""
    source = node.args[0]
    if source.dtype is node.dtype and all(compare("==", source.shape[a], 1) for a in node.attrs["axis"]):
        return reshape(source, shape=node.shape)
    return None


@rewrite(cumulative_sum)
def sum_of_one(node):
    """The running sum along an axis of size 1, and of one number, is what is there."""
    one = not node.shape or compare("==", node.shape[node.attrs["axis"]], 1) is True
    return node.args[0] if one and not node.attrs["exclusive"] and node.args[0].abstract == node.abstract else None


@rewrite(batch_matmul)
def transposed_operand(node):
    """batch_matmul(transpose(a), b) -> batch_matmul(a, b, transpose_a=True).

    Of many matrices and a contracted axis of size 1 each element is one product, a * b + 0: products begin with 0, so none is
    -0. A single matrix stays, since eager mode joins it with others.
    """
    args, attrs, changed = list(node.args), dict(node.attrs), False
    length = args[0].shape[-2 if attrs["transpose_a"] else -1]
    if node.ndim > 2 and compare("==", length, 1) is True and args[0].dtype is node.dtype:
        sides = [reshape(arg, shape=(*arg.shape[:-2], *arg.shape[:-3:-1])) if attrs[flag] else arg
                 for arg, flag in zip(args, ("transpose_a", "transpose_b"))]
        return sides[0] * sides[1] + 0 if node.dtype.kind in "fc" else sides[0] * sides[1]
    for i, flag in enumerate(("transpose_a", "transpose_b")):
        arg = args[i]
        n = arg.ndim
        if isinstance(arg, CNode) and arg.fn is transpose and arg.attrs["perm"] == (*range(n - 2), n - 1, n - 2):
            args[i], attrs[flag], changed = arg.args[0], not attrs[flag], True
    return batch_matmul(*args, **attrs) if changed else None


def drop_broadcasts(node):
    """x + broadcast_to(y) -> x + y: an elementwise operator broadcasts by itself."""
    args = [a.args[0] if isinstance(a, CNode) and a.fn is broadcast_to else a for a in node.args]
    if all(a is b for a, b in zip(args, node.args)) or not all(isinstance(a.abstract, AbstractTensor) for a in args):
        return None
    shapes = [a.shape for a in args]
    if not any(shape == node.shape for shape in shapes) or any(len(shape) > len(node.shape) for shape in shapes):
        return None
    return same_type(node, bind(node.fn, args, node.attrs))
