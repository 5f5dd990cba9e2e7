"""Products of halves whose rows are no multiple of 16 bytes, as products of longer rows: zeros fill them, and are cut off again.

    %2 = batch_matmul(%x, %w)                    %1 = pad_slice(%w; shape=(768, 50264)); %2 = batch_matmul(%x, %1)
    # %w: f16[768, 50257]                 ->     %3 = slice(%2; sizes=(16384, 50257))

The tensor cores load 16 bytes at a time. cuBLAS multiplies a matrix with rows of 50,257 halves in the time of five with 50,264.
Padding is fused with what makes an operand, and the cut with what reads the result; neither needs a gradient, as this is done
behind the derivatives. The sum of an operand's rows, a bias's gradient, reads the padded ones, so that the others need not be
stored.
"""
from ..backend.target import Target
from ..common.dim import product
from ..mindir.graph import CNode, FuncGraph
from ..mindir.inline import clone
from ..ops.basic import reduce_sum, reshape
from ..ops.linalg import batch_matmul
from ..ops.slicing import pad_slice, slice_
from .rewrite import rebuild

DTYPES = ("float16", "bfloat16")
LEAST = 64                             # of each known size: a smaller product takes no longer than what is padded


def align_products(graph: FuncGraph, target: Target) -> FuncGraph:
    """A copy of a typed graph with such products in it; `graph` itself if there is none, or the Target does not mind."""
    multiple = target.halves_of_a_row
    if multiple == 1 or not any(_is_odd(node, multiple) for below in graph.reachable() for node in below.nodes):
        return graph
    graph = clone(graph)
    for below in reversed(graph.reachable()):
        padded = {_root(x) for node in below.nodes if _is_odd(node, multiple) for x in node.args if _is_long(x, multiple)}

        def visit(node):
            if node.fn is batch_matmul:
                return _aligned(node, multiple) if _is_odd(node, multiple) else None
            return _sum_of_rows(node, multiple) if _is_sum_of_rows(node) and _root(node.args[0]) in padded else None  # noqa: B023
        rebuild(below, visit, {batch_matmul, reduce_sum})
    return graph


def _root(x):
    """What a matrix is a reshape of, with rows of the same length."""
    while getattr(x, "fn", None) is reshape and x.args[0].abstract.shape[-1:] == x.abstract.shape[-1:]:
        x = x.args[0]
    return x


def _is_long(x, multiple: int) -> bool:
    return isinstance(x.abstract.shape[-1], int) and x.abstract.shape[-1] % multiple != 0


def _is_sum_of_rows(node: CNode) -> bool:
    return node.fn is reduce_sum and tuple(node.attrs["axis"]) == tuple(range(node.args[0].abstract.ndim - 1))


def _sum_of_rows(node: CNode, multiple: int):
    """The sum of padded rows, cut."""
    x, shape = node.args[0], node.args[0].abstract.shape
    columns = shape[-1]
    x = _padded(reshape(x, shape=(product(shape[:-1]), columns)), [product(shape[:-1]), -(-columns // multiple) * multiple])
    return reshape(slice_(reduce_sum(x, axis=(0,)), start=(0,), sizes=(columns,), step=(1,)), shape=node.abstract.shape)


def _sizes(node: CNode) -> tuple:
    """(rows, columns, what is added up) of a product with one matrix on the right."""
    a, b = (x.abstract for x in node.args)
    m = a.shape[-1] if node.attrs["transpose_a"] else product(a.shape[:-1])
    n = b.shape[-2 if node.attrs["transpose_b"] else -1]
    return m, n, b.shape[-1 if node.attrs["transpose_b"] else -2]


def _rows(node: CNode) -> tuple:
    """The lengths of the rows of the operands and of the result."""
    return tuple(x.abstract.shape[-1] for x in (*node.args, node))


def _is_odd(node: CNode, multiple: int) -> bool:
    """Is this a large product of which some rows are no multiple of so many elements?"""
    if node.fn is not batch_matmul or node.abstract.dtype.name not in DTYPES:
        return False
    a, b = (x.abstract for x in node.args)
    if b.ndim != 2 or node.attrs["transpose_a"] and a.ndim != 2:
        return False
    if any(isinstance(size, int) and size < LEAST for size in _sizes(node)):
        return False
    return any(isinstance(size, int) and size % multiple for size in _rows(node))


def _aligned(node: CNode, multiple: int):
    """The product, of operands that are padded."""
    (a, b), attrs = node.args, node.attrs
    m, n, k = _sizes(node)
    shape = node.abstract.shape
    of_a = (k, m) if attrs["transpose_a"] else (m, k)
    if tuple(a.abstract.shape) != of_a:
        a = reshape(a, shape=of_a)
    rows = {m: attrs["transpose_a"], n: True, k: not attrs["transpose_a"] or attrs["transpose_b"]}
    wide = {size: -(-size // multiple) * multiple if is_row and isinstance(size, int) else size for size, is_row in rows.items()}
    a = _padded(a, [wide[size] for size in of_a])
    b = _padded(b, [wide[size] for size in ((n, k) if attrs["transpose_b"] else (k, n))])
    out = batch_matmul(a, b, **attrs)
    if (wide[m], wide[n]) != (m, n):
        out = slice_(out, start=(0, 0), sizes=(m, n), step=(1, 1))
    return out if tuple(shape) == (m, n) else reshape(out, shape=tuple(shape))


def _padded(x, shape):
    if tuple(x.shape) == tuple(shape):
        return x
    return pad_slice(x, shape=tuple(shape), start=(0, 0), step=(1, 1), value=0)
